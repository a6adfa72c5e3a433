"""Ragged tensors against lists of lists."""

import itertools
import pickle

import numpy as np
import pytest

from kaldera import k2

LISTS = [[[1, 2], [], [3]], [], [[4, 4, 1]]]


def test_lists_and_texts_are_the_same():
    tensor = k2.RaggedTensor(LISTS)
    assert (tensor.dtype, tensor.num_axes, tensor.dim0, len(tensor), tensor.numel()) == ("int32", 3, 3, 3, 6)
    assert tensor.tolist() == LISTS and tensor.values.tolist() == [1, 2, 3, 4, 4, 1]
    assert [tensor.tot_size(axis) for axis in range(3)] == [3, 4, 6]
    assert k2.RaggedTensor("[[[1 2] [] [3]] [] [[4 4 1]]]") == tensor
    assert k2.RaggedTensor.from_row_splits([[0, 3, 3, 4], [0, 2, 2, 3, 6]], tensor.values) == tensor
    assert pickle.loads(pickle.dumps(tensor)) == tensor and "RaggedTensor" in str(tensor)
    for lists in [[], [[]], [[], [1]], [[1], [2, 3]], [[[]]]]:
        assert k2.RaggedTensor(lists).tolist() == lists
    assert k2.RaggedTensor([[1.5], []]).dtype == "float32" and k2.RaggedTensor("[[1.5]]").dtype == "float32"
    assert k2.RaggedTensor([[1]], dtype=np.float64).dtype == "float64"
    for wrong in [[1, 2], [[1], 2], [[1], [[2]]], "[[1 2]"]:
        with pytest.raises(ValueError):
            k2.RaggedTensor(wrong)
    with pytest.raises(ValueError, match="there is no axis 3"):
        tensor.tot_size(3)


def test_operations_on_rows_equal_those_on_lists():
    rng = np.random.default_rng(0)
    lists = [rng.integers(-9, 9, n).tolist() for n in rng.integers(1, 6, 20)]
    for dtype in ["int32", "float32", "float64"]:
        tensor = k2.RaggedTensor(lists, dtype)
        assert tensor.sum().tolist() == [sum(row) for row in lists]
        assert tensor.max().tolist() == [max(row) for row in lists]
        assert tensor.min().tolist() == [min(row) for row in lists]
        values = tensor.values
        assert [values[i] for i in tensor.argmax()] == [max(row) for row in lists]
        ordered = tensor.clone()
        new2old = ordered.sort_(descending=True, need_new2old_indexes=True)
        assert ordered.tolist() == [sorted(row, reverse=True) for row in lists] and tensor.tolist() == lists
        np.testing.assert_array_equal(ordered.values, values[new2old])
        assert ordered.sort_() is None and ordered.tolist() == [sorted(row) for row in lists]
        padded = tensor.pad("constant", -99)
        assert padded.shape == (20, max(map(len, lists))) and padded.dtype == np.dtype(dtype)
        assert [row[: len(own)].tolist() for row, own in zip(padded, lists)] == lists
        assert tensor.remove_values_leq(0).tolist() == [[x for x in row if x > 0] for row in lists]
        assert tensor.remove_values_eq(1).tolist() == [[x for x in row if x != 1] for row in lists]
        picked, places = tensor.index([3, 0, 3], need_value_indexes=True)
        assert picked.tolist() == [lists[3], lists[0], lists[3]] and values[places].tolist() == picked.values.tolist()
        assert tensor.arange(0, 2, 5).tolist() == lists[2:5]
        assert k2.cat([tensor, tensor], axis=0).tolist() == lists + lists
        assert k2.cat([tensor, tensor], axis=1).tolist() == [row + row for row in lists]
        assert tensor[-1].tolist() == lists[-1] and tensor[2:5] == tensor.arange(0, 2, 5) == tensor[-18:-15]
        assert tensor[np.array([3, 0], np.int32)].tolist() == [lists[3], lists[0]]
        assert tensor.sum(initial_value=5).tolist() == [sum(row) + 5 for row in lists]
        assert tensor.max(3).tolist() == [max(3, *row) for row in lists]
        assert tensor.min(-3).tolist() == [min(-3, *row) for row in lists]
        assert (tensor.argmax(3) >= 0).tolist() == [max(row) >= 3 for row in lists]
        added = tensor.add(np.arange(20, dtype=dtype), -2).tolist()
        assert added == [[value - 2 * i for value in row] for i, row in enumerate(lists)]
    floats = k2.RaggedTensor(lists, "float64")
    np.testing.assert_allclose(floats.logsumexp(2), [np.log(np.exp([2, *row]).sum()) for row in lists])
    np.testing.assert_allclose(floats.logsumexp(), [np.log(np.exp(row).sum()) for row in lists])
    np.testing.assert_allclose(np.exp(floats.normalize(True).values), np.concatenate([np.exp(r) / np.exp(r).sum() for r in lists]))
    with pytest.raises(ValueError, match="float32"):
        k2.RaggedTensor(lists).logsumexp()
    with pytest.raises(ValueError, match="different types"):
        k2.cat([floats, floats.to("int32")])


def test_axes_come_and_go():
    tensor = k2.RaggedTensor(LISTS)
    assert tensor[0].tolist() == LISTS[0]
    assert tensor.remove_axis(0).tolist() == list(itertools.chain(*LISTS))
    assert tensor.remove_axis(1).tolist() == [list(itertools.chain(*rows)) for rows in LISTS]
    with pytest.raises(ValueError, match="2"):
        tensor.remove_axis(2)
    rows, repeats, first = k2.RaggedTensor([[1, 2], [3], [1, 2]]).unique(True, True)
    assert first.tolist() == [0, 1] and rows.tolist() == [[1, 2], [3]] and repeats.values.tolist() == [2, 1]
    graph = k2.ctc_graph(k2.RaggedTensor([[1, 2], [3]]))
    assert len(graph) == 2


def test_numbers_are_kept_or_refused():
    for lists in [[[np.float32(1.5)]], [[np.float64(1.5)]]]:
        assert k2.RaggedTensor(lists).tolist() == [[1.5]]
    assert k2.RaggedTensor([[np.int64(7)]]).dtype == "int32"
    for name in [np.uint32, np.uint8, "int3232", "xint32", int]:
        with pytest.raises(ValueError, match="dtype"):
            k2.RaggedTensor([[1]], dtype=name)
    halves = k2.RaggedTensor([[1.5]])
    for wrong in [
        lambda: k2.RaggedTensor([[2**31]]),
        lambda: k2.RaggedTensor([[2**53 + 1]], dtype="float64"),
        lambda: k2.RaggedTensor([[2**24 + 1]], dtype="float32"),
        lambda: k2.RaggedTensor([[1e300]], dtype="float32"),
        lambda: k2.RaggedTensor([[float("nan")]], dtype="int32"),
        lambda: halves.to("int32"),
        lambda: k2.RaggedTensor([[2**24 + 1]]).to("float32"),
        lambda: k2.RaggedTensor([[1], []]).pad("constant", 0.5),
        lambda: k2.RaggedTensor([[1], []]).pad("constant", 2**31),
    ]:
        with pytest.raises(ValueError):
            wrong()
    assert halves.to(np.dtype("float64")).dtype == "float64"


def test_rows_of_one_length_are_made_of_arrays():
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    assert k2.RaggedTensor(array).tolist() == array.tolist() and k2.RaggedTensor(array[:, ::-1, ::2]).num_axes == 3
    assert k2.RaggedTensor(np.zeros((2, 0), np.float32)).tolist() == [[], []]
    assert k2.RaggedTensor(np.zeros((0, 2, 3), np.float32)).tolist() == []
    assert k2.RaggedTensor(array, np.float64).dtype == "float64"
    shape = k2.RaggedTensor(array).shape
    assert k2.RaggedTensor(shape, value=array.reshape(-1), device="cpu").tolist() == array.tolist()
    for wrong in [
        lambda: k2.RaggedTensor(np.zeros((2, 2), np.int64)),
        lambda: k2.RaggedTensor(np.empty((2**40, 0), np.int32)),
        lambda: k2.RaggedTensor([[1]], device="cuda:0"),
        lambda: k2.RaggedTensor([[1]], value=[1]),
        lambda: k2.RaggedTensor([[1], [2]])[::2],
        lambda: k2.RaggedTensor([[1], [2]]).max(0.5),
        lambda: k2.RaggedTensor([[1], [2]]).add(np.zeros(1, np.int32), 1),
        lambda: k2.RaggedTensor([[1], [2]]).add(np.zeros(2), 1),
    ]:
        with pytest.raises(ValueError):
            wrong()


def test_values_need_no_alignment():
    values = np.frombuffer(b"\0" + np.arange(3, dtype=np.float32).tobytes(), np.float32, offset=1)
    assert k2.RaggedTensor.from_row_splits([[0, 1, 3]], values).tolist() == [[0], [1, 2]]


def test_shapes_are_k2s():
    tensor = k2.RaggedTensor(LISTS)
    shape = tensor.shape
    assert shape == k2.RaggedShape("[ [ [ x x ] [ ] [ x ] ] [ ] [ [ x x x ] ] ]") and str(shape).count("x") == 6
    assert (shape.num_axes, shape.dim0, len(shape), shape.numel()) == (3, 3, 3, 6)
    assert shape.tot_sizes() == [3, 4, 6] and [shape.tot_size(i) for i in range(3)] == [3, 4, 6]
    assert shape.max_size(1) == 3 and shape.row_splits(1).tolist() == [0, 3, 3, 4]
    assert shape.row_ids(2).tolist() == [0, 0, 2, 3, 3, 3]
    assert shape.get_layer(0).compose(shape.get_layer(1)) == shape and str(shape[2]) == "[ [ x x x ] ]"
    assert shape.remove_axis(1).row_splits(1).tolist() == [0, 3, 3, 6]
    picked, elements = shape.index(0, [2, 0])
    assert picked.dim0 == 2 and elements.tolist() == [3, 4, 5, 0, 1, 2]
    assert shape.index(0, np.array([1], np.int32), need_value_indexes=False)[1] is None
    assert pickle.loads(pickle.dumps(shape)) == shape and shape != shape.get_layer(0)
    assert k2.RaggedTensor(shape, tensor.values) == tensor
    lists = k2.ragged.create_ragged_shape2(row_ids=[0, 0, 2])
    assert lists == k2.ragged.create_ragged_shape2([0, 2, 2, 3], cached_tot_size=3)
    assert k2.ragged.regular_ragged_shape(2, 3).row_splits(1).tolist() == [0, 3, 6]
    for wrong in [
        lambda: k2.RaggedShape("[ x ]"),
        lambda: shape.max_size(0),
        lambda: shape.get_layer(2),
        lambda: k2.RaggedTensor(shape, [1, 2]),
        lambda: k2.RaggedTensor(shape),
        lambda: k2.ragged.create_ragged_shape2(row_ids=[1, 0]),
        lambda: k2.ragged.create_ragged_shape2(row_ids=[-1, 0]),
        lambda: k2.ragged.create_ragged_shape2(row_ids=[2**31 - 2]),
        lambda: shape.tot_size(-1),
        lambda: shape.index(-1, [0]),
        lambda: shape.row_ids(-1),
        lambda: tensor.arange(0, -1, 2),
        lambda: k2.RaggedShape.regular_ragged_shape(-1, 2),
        lambda: k2.ragged.create_ragged_shape2(),
    ]:
        with pytest.raises(ValueError):
            wrong()


def test_indexing_by_lists_equals_that_of_lists():
    indexes = k2.RaggedTensor([[2, 0], [], [-1]])
    numbers = np.array([5, 6, 7], np.int32)
    assert k2.ragged.index(numbers, indexes, -9).tolist() == [[7, 5], [], [-9]]
    assert k2.ragged.index(k2.RaggedTensor([[1], [2, 3], []]), indexes).tolist() == [[[], [1]], [], [[]]]
    sums = k2.ragged.index_and_sum(numbers.astype(np.float32), k2.RaggedTensor([[2, 0], [], [1]]))
    assert sums.tolist() == [12, 0, 6] and sums.dtype == np.float32
    sums = k2.ragged.index_and_sum(numbers.astype(np.float32), k2.RaggedTensor([[-1, 0], [-1]]))
    assert sums.tolist() == [5, 0]
    into = np.zeros(2)
    k2.index_add(np.array([1, -1, 1]), np.array([1.0, 2.0, 3.0]), into)
    assert into.tolist() == [0, 4]
    for places, match in [([1], "there are 1 indexes, and 3 values"), ([0, -2, 1], "index -2 can't be")]:
        with pytest.raises(ValueError, match=match):
            k2.index_add(np.array(places), np.array([1.0, 2.0, 3.0]), into)
    assert k2.index_select(numbers, np.array([-1, 2], np.int32), -3).tolist() == [-3, 7]


def test_masks_are_no_indexes():
    tensor, mask = k2.RaggedTensor([[1], [2], [3]]), np.array([False, False, True])
    for wrong in [lambda: tensor[mask], lambda: tensor.index(mask)]:
        with pytest.raises(ValueError, match="the array is bool: numpy.flatnonzero has the places of a mask"):
            wrong()
    assert tensor[np.flatnonzero(mask)].tolist() == [[3]]


def test_values_go_through_dlpack():
    tensor = k2.RaggedTensor([[1.5], [2.5]])
    np.testing.assert_array_equal(np.from_dlpack(tensor), tensor.values)
