"""Automata against sums over their paths, by hand and by brute force."""

import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from kaldera import k2

TEXT = "0 1 1 0.5\n0 1 2 1.5\n1 2 3 -0.25\n2 3 -1 0\n3"


def test_texts_are_k2s():
    fsa = k2.Fsa.from_str(TEXT, acceptor=True)
    assert str(fsa).split() == TEXT.split()
    assert (fsa.num_arcs, fsa.shape) == (4, (4, None))
    assert fsa.arcs.values()[:, :3].tolist() == [[0, 1, 1], [0, 1, 2], [1, 2, 3], [2, 3, -1]]
    assert fsa.labels.tolist() == [1, 2, 3, -1] and fsa.scores.tolist() == [0.5, 1.5, -0.25, 0]
    assert not hasattr(fsa, "aux_labels") and "4 states" in repr(fsa)
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
    fsa.scores = np.zeros(4)
    np.testing.assert_allclose(fsa.get_tot_scores(True, False), [0])
    fsa.scores[1] += 2
    fsa.scores *= 2
    np.testing.assert_allclose(fsa.get_tot_scores(True, False), [4])
    with pytest.raises(ValueError, match="3"):
        fsa.scores = [0, 0, 0]


def test_they_can_be_pickled_and_drawn():
    fst = k2.create_fsa_vec([k2.ctc_topo(2), k2.ctc_topo(1)])
    copy = pickle.loads(pickle.dumps(fst))
    assert copy.arcs.values().tolist() == fst.arcs.values().tolist() and copy.aux_labels.tolist() == fst.aux_labels.tolist()
    assert copy.shape == fst.shape
    assert "digraph" in k2.to_dot(fst)


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
    dense = k2.DenseFsaVec(scores, [[0, 0, 4], [1, 0, 3]])
    for lattice in [
        k2.intersect_dense(graph, dense, 100.0),
        k2.intersect_dense_pruned(graph, dense, 100.0, 100.0, 1, 10000),
    ]:
        np.testing.assert_allclose(lattice.get_tot_scores(True, True), totals, rtol=1e-6)
        assert [label for label in k2.shortest_path(lattice)[1].aux_labels if label > 0] == [2]
    one_graph = k2.intersect_dense(k2.trivial_graph(2), dense, 8.0)
    assert len(one_graph) == 2
    with pytest.raises(ValueError, match=r"segment 0, \[0, 0, 5\]"):
        k2.DenseFsaVec(scores, [[0, 0, 5]])
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
        lambda: k2.DenseFsaVec(np.zeros((1, 2, 3)), [[0, 0, -1]]),
        lambda: k2.DenseFsaVec(np.zeros((1, 2, 3)), [[0, 0, 1.5]]),
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


def test_attributes_follow_their_arcs():
    fsa = k2.Fsa.from_str("0 1 2 20 0.5\n0 1 1 10 1.5\n1 2 -1 -1 0\n2", num_aux_labels=1)
    fsa.tone, fsa.tone_filler = np.array([5, 6, 7], np.int32), -5
    fsa.cost = np.array([0.5, 1.0, 2.0], np.float32)
    fsa.pairs = np.arange(6.0).reshape(3, 2)
    fsa.lists = k2.RaggedTensor([[1, 2], [], [3]])
    fsa.table = {"a": 1}
    ordered, arc_map = k2.arc_sort(fsa, ret_arc_map=True)
    assert arc_map.tolist() == [1, 0, 2] and ordered.tone.tolist() == [6, 5, 7]
    assert ordered.cost.tolist() == [1, 0.5, 2] and ordered.pairs.tolist() == [[2, 3], [0, 1], [4, 5]]
    assert ordered.lists.tolist() == [[], [1, 2], [3]] and ordered.table is fsa.table
    assert k2.arc_sort(ordered) is ordered
    looped = k2.add_epsilon_self_loops(fsa)
    assert looped.labels.tolist() == [0, 2, 1, 0, -1] and looped.tone.tolist() == [-5, 5, 6, -5, 7]
    assert looped.cost.tolist() == [0, 0.5, 1, 0, 2] and looped.lists.tolist() == [[], [1, 2], [], [], [3]]
    both = k2.create_fsa_vec([fsa, ordered])
    assert both[1].tone.tolist() == [6, 5, 7] and both.lists.dim0 == 6 and both.tone_filler == -5
    assert k2.index_fsa(both, [1, 0, 1]).cost.tolist() == [1, 0.5, 2, 0.5, 1, 2, 1, 0.5, 2]
    assert pickle.loads(pickle.dumps(both)).lists == both.lists
    assert k2.Fsa.from_dict(both.as_dict()).pairs.tolist() == both.pairs.tolist()
    del fsa.tone
    with pytest.raises(AttributeError, match="'tone'"):
        fsa.tone
    for wrong in [np.zeros(2), k2.RaggedTensor([[1]])]:
        with pytest.raises(ValueError, match="3 arcs"):
            fsa.wrong = wrong
    with pytest.raises(AttributeError, match="part of every"):
        fsa.shape = 5


def test_arcs_that_come_from_several_have_sums_and_lists():
    fsa = k2.Fsa.from_str("0 1 0 1 1\n1 2 5 2 1\n2 3 -1 -1 1\n3", acceptor=False)
    fsa.cost = np.array([0.25, 0.5, 1.0], np.float32)
    fsa.lists = k2.RaggedTensor([[7], [8, 9], []])
    plain = k2.remove_epsilon(fsa)
    assert plain.labels.tolist() == [5, -1] and plain.aux_labels.tolist() == [[1, 2], []]
    assert plain.cost.tolist() == [0.75, 1] and plain.lists.tolist() == [[7, 8, 9], []]
    plain.count = np.arange(2)
    with pytest.raises(ValueError, match="count: int64"):
        k2.remove_epsilon(plain)
    fsa.convert_attr_to_ragged_("aux_labels")
    assert fsa.aux_labels.tolist() == [[1], [2], [-1]]


def test_attributes_of_two_sides_are_summed_or_refused():
    a = k2.Fsa.from_str("0 1 1 10 0.5\n1 2 -1 -1 0\n2", acceptor=False)
    b = k2.Fsa.from_str("0 1 1 0.25\n1 2 -1 0\n2")
    a.cost, b.cost = np.array([1, 2], np.float32), np.array([0.5, 0.25], np.float32)
    a.tone, b.tone, b.word = (np.array(values, np.int32) for values in ([1, 2], [3, 4], [8, 9]))
    with pytest.raises(ValueError, match="'tone' is int32 on one side and int32 on the other"):
        k2.intersect(a, b)
    b.voice = b.tone
    del b.tone
    met, map_a, map_b = k2.intersect(a, b, ret_arc_maps=True)
    assert map_a.tolist() == map_b.tolist() == [0, 1] and met.scores.tolist() == [0.75, 0]
    assert met.cost.tolist() == [1.5, 2.25] and met.word.tolist() == [8, 9] and met.voice.tolist() == [3, 4]
    vec = k2.create_fsa_vec([a])
    assert k2.intersect_device(vec, k2.create_fsa_vec([b, b]), [0, 0]).aux_labels.tolist() == [10, -1, 10, -1]
    inverted = k2.invert(a)
    del inverted.tone
    composed = k2.compose(inverted, a, inner_labels="inner")
    assert composed.labels.tolist() == [10, -1] and composed.inner.tolist() == [1, -1]
    assert composed.aux_labels.tolist() == [10, -1] and composed.cost.tolist() == [2, 4]
    word = k2.linear_fsa([7])
    word.voice, word.word = np.array([5, 6], np.int32), k2.RaggedTensor([[1], [2]])
    with pytest.raises(ValueError, match="'word' is int32 on one side and lists of int32"):
        k2.replace_fsa(k2.create_fsa_vec([word]), b, 1)
    del word.word
    replaced = k2.replace_fsa(k2.create_fsa_vec([word]), b, 1)
    assert replaced.labels.tolist() == [0, 7, 0, -1] and replaced.voice.tolist() == [3, 5, 6, 4]


def test_inversion_stretches_lists():
    fsa = k2.Fsa.from_str("0 1 5 1\n1 2 -1 0\n2")
    fsa.aux_labels = k2.RaggedTensor([[7, 8], []])
    fsa.aux_labels_sym = "words"
    inverted, arc_map = k2.invert(fsa, ret_arc_map=True)
    assert inverted.labels.tolist() == [7, 8, -1] and inverted.aux_labels.tolist() == [5, 0, -1]
    assert arc_map.tolist() == [0, -1, 1] and inverted.labels_sym == "words"
    assert k2.expand_ragged_attributes(fsa).aux_labels.tolist() == [7, 8, -1]
    with pytest.raises(ValueError, match="acceptor"):
        k2.linear_fsa([1]).invert()


def test_nbest_lists_meet_lattices():
    lattice = k2.create_fsa_vec([k2.Fsa.from_str("0 1 1 10 1\n0 1 2 20 0.5\n1 2 -1 -1 0\n2", acceptor=False)] * 2)
    lattice.lm_scores = np.arange(6, dtype=np.float32)
    nbest = k2.Nbest.from_lattice(lattice, 20, nbest_scale=1.0)
    assert nbest.shape.row_splits(1).tolist() == [0, 2, 4] and str(nbest) == "Nbest(num_seqs:2, num_fsas:4)"
    assert nbest.words().tolist() == [[10], [20]] * 2 and nbest.kept_path.tolist() == [[0, 2], [1, 2], [3, 5], [4, 5]]
    other = k2.create_fsa_vec([k2.Fsa.from_str("0 1 1 5\n0 1 2 7\n1 2 -1 0\n2")] * 2)
    met = nbest.intersect(other)
    assert not hasattr(nbest.fsa, "lm_scores") and not hasattr(met.fsa, "lm_scores")
    other.lm_scores = np.arange(6, dtype=np.float32)
    assert nbest.intersect(other).fsa.lm_scores.tolist() == [0, 2, 1, 2, 3, 5, 4, 5]
    assert met.total_scores().tolist() == [[6, 7.5], [6, 7.5]] and met.words().tolist() == [[10], [20]] * 2
    assert met.top_k(3).total_scores().tolist() == [[7.5, 6, 6]] * 2
    graphs = nbest.build_levenshtein_graphs()
    del graphs.aux_labels
    apart = k2.intersect(graphs, k2.levenshtein_graph([[10]] * 4), treat_epsilons_specially=False)
    apart = k2.shortest_path(k2.connect(apart)).get_tot_scores(True, False)
    np.testing.assert_allclose(apart, [0, -1, 0, -1], atol=0.01)
    empty = k2.Nbest.from_lattice(k2.create_fsa_vec([k2.Fsa.from_str("0 1 1 0\n2")]), 5)
    assert len(empty.fsa) == 0
    with pytest.raises(ValueError, match="no paths"):
        empty.top_k(1)
    with pytest.raises(ValueError, match="does not fit"):
        k2.Nbest(lattice, nbest.shape)


def test_lattices_name_their_frames():
    scores = np.zeros((1, 4, 3), np.float32)
    graph = k2.ctc_graph([[1], [2]])
    dense = k2.DenseFsaVec(scores, [[0, 1, 2], [0, 0, 3]])
    lattice = k2.intersect_dense(graph, dense, 10.0, seqframe_idx_name="row", frame_idx_name="frame")
    labels, rows, frames = lattice.labels, dense.scores, lattice.frame
    assert rows.shape == (7, 4) and set(frames[labels == -1].tolist()) == {2, 3}
    assert (rows[lattice.row, labels + 1] == 0).all()
    again = k2.intersect_dense(graph, k2.DenseFsaVec(scores), 10.0, a_to_b_map=[0, 0])
    assert len(again) == 2
    one = k2.ctc_graph([[1]])
    mapped = k2.intersect_dense(one, dense, 10.0, a_to_b_map=[1], seqframe_idx_name="row")
    assert sorted(set(mapped.row.tolist())) == [3, 4, 5, 6]
    for wrong in [-1, 2]:
        with pytest.raises(ValueError, match=f"no utterance {wrong} at 0: there are 2"):
            k2.intersect_dense(one, dense, 10.0, a_to_b_map=[wrong])
    for taken in ["scores", "aux_labels"]:
        with pytest.raises(ValueError, match=f"'{taken}'"):
            k2.intersect_dense(graph, dense, 10.0, frame_idx_name=taken)


def test_text_has_named_labels_and_lists():
    text = "0 1 1 5 [7 8] 0.5\n1 2 -1 -1 [] 0\n2"
    fsa = k2.Fsa.from_str(text, aux_label_names=["tone"], ragged_label_names=["words"])
    assert fsa.tone.tolist() == [5, -1] and fsa.words.tolist() == [[7, 8], []]
    again = k2.Fsa.from_str(str(fsa), aux_label_names=["tone"], ragged_label_names=["words"])
    assert again.words == fsa.words
    costs = k2.Fsa.from_openfst("0 1 7 0.5\n1 0.25")
    assert costs.scores.tolist() == [-0.5, -0.25]
    assert fsa.properties & 1 and "Valid" in fsa.properties_str
    assert fsa.arcs.shape() == k2.RaggedShape("[ [ x ] [ x ] [ ] ]")
    fsa.labels = [3, 0]
    assert fsa.labels.tolist() == [3, -1]


def test_scores_can_be_made_stochastic():
    fsa = k2.Fsa.from_str(TEXT)
    fsa.set_scores_stochastic_(fsa.scores)
    np.testing.assert_allclose(np.exp(fsa.scores[:2]).sum(), 1, rtol=1e-6)


@pytest.mark.skipif(os.name != "posix", reason="a program that is a script")
def test_graphviz_draws_if_it_is_there(tmp_path, monkeypatch):
    fsa = k2.Fsa.from_str(TEXT)
    fsa.draw(tmp_path / "a.dot", "title")
    assert (tmp_path / "a.dot").read_text().startswith("digraph")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert fsa._repr_svg_() is None
    with pytest.raises(RuntimeError, match="it is not installed; install Graphviz"):
        fsa.draw(tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()
    (tmp_path / "dot").write_text("#!/bin/sh\necho \"<svg $1\"\nexec /bin/cat\n")
    (tmp_path / "dot").chmod(0o755)
    fsa.draw(tmp_path / "a.svg", "title")
    assert (tmp_path / "a.svg").read_text().startswith("<svg -Tsvg\ndigraph")
    assert fsa._repr_svg_().startswith("<svg")
    with pytest.raises(ValueError, match="a.png"):
        fsa.draw(tmp_path / "a.png")


LINEAR = "0 1 1 10 1\n1 2 0 20 2\n2 3 0 0 4\n3 4 2 30 8\n4 5 0 40 16\n5 6 -1 -1 32\n6"


def test_linear_fsas_have_self_loops_for_epsilons():
    fst = k2.Fsa.from_str(LINEAR, acceptor=False)
    plain = k2.linear_fsa_with_self_loops(fst)
    assert plain.labels.tolist() == [0, 1, 0, 2, 0, -1] and not plain.scores.any() and not hasattr(plain, "aux_labels")
    looped = k2.linear_fst_with_self_loops(fst)
    assert looped.labels.tolist() == [0, 1, 0, 2, 0, -1] and looped.scores.tolist() == [0, 1, 0, 14, 0, 48]
    assert looped.aux_labels.tolist() == [[], [10], [], [20, 30], [], [40]] and len(looped.shape) == 2
    both = k2.linear_fst_with_self_loops(k2.create_fsa_vec([fst, k2.linear_fst([7], [8])]))
    assert len(both) == 2 and both[0].aux_labels == looped.aux_labels and both[1].aux_labels.tolist() == [[], [8], [], []]
    fst.aux_labels = k2.RaggedTensor([[1, 2], [], [3], [0], [4], [-1]])
    assert k2.linear_fst_with_self_loops(fst).aux_labels.tolist() == [[], [1, 2], [], [3], [], [4]]
    with pytest.raises(ValueError, match="linear_fst_with_self_loops is for"):
        k2.linear_fst_with_self_loops(k2.linear_fsa([1]))


def test_integers_are_exact_or_refused():
    vec = k2.create_fsa_vec([k2.linear_fsa([1])] * 2)
    arcs = vec[0].arcs.to_tensor()
    for wrong, message in [
        (lambda: k2.index_fsa(vec, [0, 2**32]), r"indexes: 4294967296 at \[1\]"),
        (lambda: k2.index_fsa(vec, [0.7]), "indexes must be 32-bit integers, and this array is float64"),
        (lambda: k2.intersect_device(vec, vec, [2**32, 0]), "b_to_a_map: 4294967296"),
        (lambda: setattr(vec, "labels", np.array([1, -1, 2**32 + 3, -1])), r"labels: 4294967299 at \[2\]"),
        (lambda: setattr(vec, "labels", [2.7] * 4), "labels must be 32-bit integers"),
        (lambda: setattr(vec, "aux_labels", np.array([2**31, 0, 0, 0])), "aux_labels: 2147483648"),
        (lambda: k2.Fsa(arcs.astype(np.int64) + 2**32), r"arcs: 4294967296 at \[0, 0\]"),
        (lambda: k2.Fsa(arcs + 0.5), "arcs must be 32-bit integers"),
        (lambda: k2.index_select(np.arange(3), np.array([0.5])), "index must be 32-bit integers"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()
    assert len(k2.index_fsa(vec, [])) == 0 and k2.Fsa(arcs.astype(np.int64)).labels.tolist() == [1, -1]


def test_output_labels_are_int32():
    for labels in [np.array([5, -1]), [5, -1]]:
        fst = k2.Fsa(k2.linear_fsa([1]).arcs.to_tensor(), labels)
        assert fst.aux_labels.dtype == np.int32 and str(fst).split()[:4] == ["0", "1", "1", "5"]
        fst.aux_labels = labels
        assert fst.aux_labels.dtype == np.int32


def test_results_share_nothing_with_their_sources():
    fst = k2.linear_fst([1, 2], [3, 4])
    fst.cost = np.ones(3, np.float32)
    inverted = k2.invert(fst)
    inverted.cost[:] = 5
    inverted.scores += 1
    assert fst.cost.tolist() == [1, 1, 1] and fst.scores.tolist() == [0, 0, 0]


def test_attributes_of_different_types_are_not_joined():
    one, other = k2.linear_fsa([1]), k2.linear_fsa([1])
    one.tone, other.tone = np.array([1, 2], np.int32), np.array([1, 2], np.int64)
    with pytest.raises(ValueError, match="tone is int32 in element 0, and int64 in element 1"):
        k2.create_fsa_vec([one, other])
    other.tone = k2.RaggedTensor([[1], [2]])
    with pytest.raises(ValueError, match="lists of int32 in element 1"):
        k2.create_fsa_vec([one, other])


def test_fsas_without_epsilons_keep_their_attributes():
    fst = k2.Fsa.from_str("0 1 5 50 1\n0 2 6 60 1\n1 3 -1 -1 0\n3", acceptor=False)
    looped = k2.remove_epsilon_and_add_self_loops(fst)
    assert looped.shape == (4, None) and looped.labels.tolist() == k2.add_epsilon_self_loops(fst).labels.tolist()
    assert isinstance(looped.aux_labels, np.ndarray)


def test_shares_of_paths_are_between_0_and_1():
    for wrong in [float("nan"), 0.0, 1.0, -1.0]:
        with pytest.raises(ValueError, match=f"threshold_prob={wrong}".replace("nan", "NaN").replace(".0", "")):
            k2.prune_on_arc_post(k2.create_fsa_vec([k2.linear_fsa([1])]), wrong)


def test_devices_are_the_cpu():
    made = [k2.ctc_topo(2, device="cpu"), k2.ctc_graph([[1]], device="cpu"), k2.trivial_graph(2, device="cpu")]
    made += [k2.levenshtein_graph([[1]], device="cpu"), k2.linear_fsa([1], device="cpu:0")]
    assert all(fsa.is_cpu() for fsa in made) and k2.DenseFsaVec(np.zeros((1, 1, 2))).is_cpu()
    lists = k2.RaggedTensor([[1], []])
    assert lists.to("cpu") == lists and lists.shape.to("cpu") == lists.shape
    for wrong in [lambda: k2.ctc_topo(2, device="cuda:0"), lambda: lists.to("cuda"), lambda: lists.shape.to("int32")]:
        with pytest.raises(ValueError, match="device"):
            wrong()


def test_kinds_of_weight_pushing_have_k2s_names():
    fsa = k2.arc_sort(k2.Fsa.from_str("0 1 1 1\n0 2 1 2\n1 3 2 0\n2 3 3 0\n3 4 -1 0\n4"))
    for kind in k2.DeterminizeWeightPushingType:
        assert k2.determinize(fsa, kind).scores.tolist() == k2.determinize(fsa, kind.value).scores.tolist()


def test_dictionaries_of_k2_have_a_version_of_labels():
    fsa = k2.linear_fsa([1])
    assert not hasattr(k2.Fsa.from_dict({**fsa.as_dict(), "labels_version": 3}), "labels_version")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_forked_workers_do_not_wait_for_threads_of_their_parent():
    script = """
import multiprocessing
import numpy as np
from kaldera import k2
rows = k2.RaggedTensor(k2.RaggedShape.regular_ragged_shape(60000, 10), np.arange(600000, dtype=np.float32))
shape, places = rows.shape, np.arange(60000, dtype=np.int32)
vec = k2.ctc_graph([[1, 2, 3] * 20] * 200)
work = [rows.sum, rows.sort_, lambda: rows.index(places), lambda: shape.index(0, places), lambda: rows.normalize(True),
        lambda: rows.argmax(), lambda: k2.cat([rows, rows]), lambda: k2.cat([vec, vec]), lambda: vec.properties,
        lambda: k2.index_fsa(vec, list(range(200))), lambda: k2.ragged.create_ragged_shape2(row_ids=rows.shape.row_ids(1)),
        lambda: k2.ctc_graph([[1, 2, 3] * 20] * 200), lambda: k2.Fsa(vec.arcs.to_tensor()), lambda: k2.linear_fsa(rows.to("int32"))]
def run(i):
    work[i]()
    return i
[each() for each in work]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(run, range(len(work))).get(60) == list(range(len(work)))
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr


def test_symbol_tables_give_numbers_and_symbols(tmp_path):
    table = k2.SymbolTable.from_str("<eps> 0\n\nb\t2\na 1\n")
    assert (table["a"], table[2], table.get(np.int64(1)), table.ids, table.symbols) == (1, "b", "a", [0, 1, 2], ["<eps>", "a", "b"])
    assert table.add("a") == 1 and table.add("c") == 3 and table.add("e", 9) == 9 and table.add("f") == 10
    assert "c" in table and 3 in table and 4 not in table and len(table) == 6
    table.to_file(tmp_path / "words.txt")
    assert k2.SymbolTable.from_file(tmp_path / "words.txt") == table and table.to_str().splitlines()[3] == "c 3"
    assert k2.SymbolTable.from_str("x 1").merge(k2.SymbolTable.from_str("y 2")).to_str() == "<eps> 0\nx 1\ny 2\n"
    assert k2.SymbolTable({0: "-", 1: ("a", "tuple")}).eps == "-" and len(k2.SymbolTable()) == 1
    with pytest.raises(KeyError):
        table["z"]
    for wrong in [
        lambda: table.add("g", 3),
        lambda: k2.SymbolTable.from_str("a 1\na 2"),
        lambda: k2.SymbolTable.from_str("a 1\nb 1"),
        lambda: k2.SymbolTable.from_str("a 1 2"),
        lambda: k2.SymbolTable.from_str("a -1"),
        lambda: k2.SymbolTable.from_str("x 1").merge(k2.SymbolTable.from_str("x 2")),
        lambda: k2.SymbolTable.from_str("x 1").merge(k2.SymbolTable.from_str("y 1")),
        lambda: k2.SymbolTable.from_str("x 1").merge(k2.SymbolTable({0: "-"})),
    ]:
        with pytest.raises(ValueError):
            wrong()


def test_decoding_takes_three_calls():
    rng = np.random.default_rng(0)
    log_probs = np.log(rng.dirichlet(np.ones(4), (2, 6))).astype(np.float32)
    lattice = k2.get_lattice(log_probs, [6, 5], k2.ctc_topo(3))
    words = k2.get_aux_labels(k2.one_best_decoding(lattice))
    for own, length, found in zip(log_probs, [6, 5], words):
        best = own[:length].argmax(1).tolist()
        assert found == [x for i, x in enumerate(best) if x and (i == 0 or x != best[i - 1])]
    assert len(k2.get_lattice(log_probs, [6, 7], k2.ctc_topo(3), subsampling_factor=2)) == 2
    assert len(k2.get_lattice(log_probs[:0], np.zeros(0, np.int32), k2.ctc_topo(3))) == 0
    lists = k2.create_fsa_vec([k2.Fsa.from_str("0 1 1 0\n1 2 -1 0\n2")])
    lists.aux_labels = k2.RaggedTensor([[5, 0, 6], [-1]])
    assert k2.get_aux_labels(lists) == [[5, 6]]
    for wrong in [
        lambda: k2.get_lattice(log_probs, [6], k2.ctc_topo(3)),
        lambda: k2.get_lattice(log_probs, [6, 7], k2.ctc_topo(3)),
        lambda: k2.get_aux_labels(lists[0]),
        lambda: k2.get_aux_labels(k2.linear_fsa([[1]])),
    ]:
        with pytest.raises(ValueError):
            wrong()


def test_functions_do_what_methods_do():
    fst = k2.Fsa.from_str("0 1 7 70 0.5\n1 2 -1 -1 0\n2", acceptor=False)
    fst.tone = np.array([1, 2], np.int32)
    assert k2.to_str(fst) == fst.to_str() != k2.to_str_simple(fst)
    assert k2.to_str_simple(fst).split()[:5] == ["0", "1", "7", "70", "0.5"]
    assert np.array_equal(k2.to_tensor(fst), fst.arcs_as_tensor())
    for fsa in [fst, k2.ctc_topo(2), k2.ctc_graph([[1, 0], []])]:
        assert k2.properties_to_str(fsa.properties) == fsa.properties_str
    fst.lists = k2.RaggedTensor([[2, 1], []])
    copy = fst.clone()
    copy.lists.sort_()
    assert copy.lists.tolist() == [[1, 2], []] and fst.lists.tolist() == [[2, 1], []]
    # Names that are not k2's are free.
    fst.num_states = 5
    assert fst.num_states == 5


def test_properties_are_k2s_bits():
    names = ["VALID", "NONEMPTY", "TOPSORTED", "TOPSORTED_AND_ACYCLIC", "ARC_SORTED", "ARC_SORTED_AND_DETERMINISTIC"]
    names += ["EPSILON_FREE", "ACCESSIBLE", "COACCESSIBLE"]
    assert [getattr(k2.fsa_properties, name) for name in names] == [1 << bit for bit in range(9)]
    assert k2.fsa_properties.ALL == 511
    assert k2.properties_to_str(0x1FF) == (
        '"Valid|Nonempty|TopSorted|TopSortedAndAcyclic|ArcSorted|ArcSortedAndDeterministic'
        '|EpsilonFree|MaybeAccessible|MaybeCoaccessible"'
    )
    assert k2.properties_to_str(0x40 | 0x1000) == '"EpsilonFree"'


def test_arc_maps_compose_and_one_of_a_list_is_selected():
    first, second = np.array([5, 6, 7], np.int32), np.array([2, -1, 0], np.int32)
    assert k2.compose_arc_maps(first, second).tolist() == [7, -1, 5]
    numbers, lists = np.array([0, 5, 0, 7], np.int32), k2.RaggedTensor([[0, 1], [2], [], [3]])
    assert k2.simple_ragged_index_select(numbers, lists).tolist() == [5, 0, 0, 7]
    with pytest.raises(ValueError, match="list 1"):
        k2.simple_ragged_index_select(numbers, k2.RaggedTensor([[0, 1], [3, 3]]))


def test_dense_fsas_become_fsas():
    log_probs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), (2, 4))).astype(np.float32)
    dense = k2.DenseFsaVec(log_probs, [[0, 0, 4], [1, 1, 2], [1, 0, 0]])
    fsas = k2.convert_dense_to_fsa_vec(dense)
    assert [fsa.shape for fsa in fsas] == [(6, None), (4, None), (2, None)] and fsas.num_arcs == 3 * 6 + 3
    np.testing.assert_allclose(fsas.get_tot_scores(True, False), [own.max(1).sum() for own in (log_probs[0], log_probs[1, 1:3], log_probs[0, :0])], rtol=1e-6)
    assert fsas.labels[:4].tolist() == [0, 1, 2, 0]
