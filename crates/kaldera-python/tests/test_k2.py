"""Automata against sums over their paths, by hand and by brute force."""

import itertools
import pickle

import numpy as np
import pytest

from kaldera import k2

TEXT = "0 1 1 0.5\n0 1 2 1.5\n1 2 3 -0.25\n2 3 -1 0\n3"


def test_texts_are_k2s():
    fsa = k2.Fsa.from_str(TEXT, acceptor=True)
    assert str(fsa).split() == TEXT.split()
    assert (fsa.num_states, fsa.num_arcs, fsa.shape) == (4, 4, (4, None))
    assert fsa.arcs.tolist() == [[0, 1, 1], [0, 1, 2], [1, 2, 3], [2, 3, -1]]
    assert fsa.labels.tolist() == [1, 2, 3, -1] and fsa.scores.tolist() == [0.5, 1.5, -0.25, 0]
    assert fsa.aux_labels is None and "4 states" in repr(fsa)
    fst = k2.Fsa.from_str("0 1 7 70 0.5\n1 2 -1 -1 0\n2", acceptor=False)
    assert fst.aux_labels.tolist() == [70, -1] and k2.invert(fst).labels.tolist() == [70, -1]
    costs = k2.Fsa.from_str("0 1 7 0.5\n1 0.25", acceptor=True, openfst=True)
    assert costs.scores.tolist() == [-0.5, -0.25]
    for text in ["0 1 x 0\n1", "0 1 1 nan\n1 2 -1 0\n2"]:
        with pytest.raises(ValueError, match="line|1"):
            k2.Fsa.from_str(text)


def test_totals_posteriors_and_best_paths():
    fsa = k2.Fsa.from_str(TEXT)
    both = k2.create_fsa_vec([fsa, k2.linear_fsa([5, 6])])
    assert len(both) == 2 and both.shape == (2, None, None)
    np.testing.assert_allclose(both.get_tot_scores(True, True), [np.log(np.exp(0.25) + np.exp(1.25)), 0])
    np.testing.assert_allclose(both.get_tot_scores(log_semiring=False, use_double_scores=True), [1.25, 0])
    np.testing.assert_allclose(np.exp(fsa.get_arc_post(True, True)[:2]).sum(), 1)
    assert fsa.get_forward_scores(True, True)[0] == 0 and fsa.get_backward_scores(True, True)[-1] == 0
    best = k2.shortest_path(both)
    assert best[0].labels.tolist() == [2, 3, -1] and best[-1].labels.tolist() == [5, 6, -1]
    with pytest.raises(IndexError, match="there is no FSA 2"):
        both[2]
    with pytest.raises(TypeError):
        len(fsa)
    np.testing.assert_allclose(fsa.with_scores([0, 0, 0, 0]).get_tot_scores(True, False), [0])
    with pytest.raises(ValueError, match="3"):
        fsa.with_scores([0, 0, 0])


def test_they_can_be_pickled_and_drawn():
    fst = k2.create_fsa_vec([k2.ctc_topo(2), k2.ctc_topo(1)])
    copy = pickle.loads(pickle.dumps(fst))
    assert copy.arcs.tolist() == fst.arcs.tolist() and copy.aux_labels.tolist() == fst.aux_labels.tolist()
    assert copy.shape == fst.shape
    assert fst._repr_svg_().startswith("<svg") and "digraph" in fst.to_dot()


def test_algorithms_keep_the_language():
    a = k2.Fsa.from_str("0 1 1 1\n0 1 0 2\n1 2 2 3\n1 3 -1 0\n2 3 -1 0\n3")
    b = k2.arc_sort(k2.linear_fsa([2]))
    assert k2.shortest_path(k2.connect(k2.intersect(k2.arc_sort(a), b))).labels[-2:].tolist() == [2, -1]
    plain = k2.remove_epsilon(a)
    assert 0 not in plain.labels
    np.testing.assert_allclose(plain.get_tot_scores(True, False), a.get_tot_scores(True, False))
    np.testing.assert_allclose(k2.top_sort(k2.reverse(a)).get_tot_scores(True, False), a.get_tot_scores(True, False))
    twice = k2.Fsa.from_str("0 1 1 1\n0 2 1 2\n1 3 2 0\n2 3 3 0\n3 4 -1 0\n4")
    once = k2.determinize(k2.arc_sort(twice))
    assert once.labels.tolist().count(1) == 1
    assert k2.closure(b).num_arcs > b.num_arcs and k2.add_epsilon_self_loops(b).num_arcs == b.num_arcs + 2
    composed = k2.connect(k2.compose(k2.ctc_topo(2), k2.linear_fsa([1, 2])))
    assert set(composed.aux_labels.tolist()) <= {-1, 0, 1, 2}


def test_lattices_hold_all_alignments():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 4, 3))
    scores = (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(np.float32)
    symbols, lengths = [[1, 2], [2]], [4, 3]
    graph = k2.ctc_graph(symbols)
    totals = []
    for labels, rows, length in zip(symbols, scores, lengths):
        paths = itertools.product(range(3), repeat=length)
        fits = [path for path in paths if [c for c, _ in itertools.groupby(path) if c] == labels]
        totals.append(np.log(sum(np.exp(sum(rows[t, c] for t, c in enumerate(path))) for path in fits)))
    dense = k2.DenseFsaVec(scores, lengths)
    for lattice in [
        k2.intersect_dense(graph, dense, 100.0),
        k2.intersect_dense_pruned(graph, dense, 100.0, 100.0, 1, 10000),
    ]:
        np.testing.assert_allclose(lattice.get_tot_scores(True, True), totals, rtol=1e-6)
        assert [label for label in k2.shortest_path(lattice)[1].aux_labels if label > 0] == [2]
    one_graph = k2.intersect_dense(k2.trivial_graph(2), dense, 8.0)
    assert len(one_graph) == 2
    with pytest.raises(ValueError, match=r"\[5, 3\]"):
        k2.DenseFsaVec(scores, [5, 3])
    with pytest.raises(ValueError, match=r"\(4, 3\)"):
        k2.DenseFsaVec(scores[0])


def test_semirings_are_k2s_second_argument():
    fsa = k2.Fsa.from_str(TEXT)
    for get in [fsa.get_tot_scores, fsa.get_forward_scores, fsa.get_backward_scores, fsa.get_arc_post]:
        double = get(True, False)
        assert double.dtype == np.float64 and get(False, False).dtype == np.float32
        np.testing.assert_array_equal(get(use_double_scores=True, log_semiring=False), double)
        assert (get(True, True) != double).any()


def test_wrong_numbers_are_value_errors():
    for wrong in [
        lambda: k2.ctc_topo(-1),
        lambda: k2.linear_fsa([2**31]),
        lambda: k2.linear_fsa([[1], [2**31]]),
        lambda: k2.ctc_graph([[2**31]]),
        lambda: k2.Fsa.from_str(TEXT, acceptor=True, num_aux_labels=1),
        lambda: k2.DenseFsaVec(np.zeros((1, 2, 3)), [-1]),
    ]:
        with pytest.raises(ValueError):
            wrong()
    assert len(k2.linear_fsa([])) == 0 and len(k2.linear_fsa([[1], []])) == 2


def test_scores_that_are_no_numbers_are_refused():
    scores = np.zeros((2, 3, 3), np.float32)
    scores[1, 2, 1] = np.nan
    dense, graph = k2.DenseFsaVec(scores), k2.trivial_graph(2)
    with pytest.raises(ValueError, match="NaN"):
        k2.intersect_dense(graph, dense, 8.0)
    with pytest.raises(ValueError, match="NaN"):
        k2.intersect_dense_pruned(graph, dense, 8.0, 8.0, 1, 100)
