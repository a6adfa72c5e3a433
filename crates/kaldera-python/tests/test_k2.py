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


def test_two_sides_add_what_is_floating():
    a = k2.Fsa.from_str("0 1 1 10 0.5\n1 2 -1 -1 0\n2", acceptor=False)
    b = k2.Fsa.from_str("0 1 1 0.25\n1 2 -1 0\n2")
    a.cost, b.cost = np.array([1, 2], np.float32), np.array([0.5, 0.25], np.float32)
    a.tone, b.tone, b.word = (np.array(values, np.int32) for values in ([1, 2], [3, 4], [8, 9]))
    met, map_a, map_b = k2.intersect(a, b, ret_arc_maps=True)
    assert map_a.tolist() == map_b.tolist() == [0, 1] and met.scores.tolist() == [0.75, 0]
    assert met.cost.tolist() == [1.5, 2.25] and met.word.tolist() == [8, 9] and not hasattr(met, "tone")
    vec = k2.create_fsa_vec([a])
    assert k2.intersect_device(vec, k2.create_fsa_vec([b, b]), [0, 0]).aux_labels.tolist() == [10, -1, 10, -1]
    composed = k2.compose(k2.invert(a), a, inner_labels="inner")
    assert composed.labels.tolist() == [10, -1] and composed.inner.tolist() == [1, -1]
    assert composed.aux_labels.tolist() == [10, -1] and composed.cost.tolist() == [2, 4]
    replaced = k2.replace_fsa(k2.create_fsa_vec([k2.linear_fsa([7])]), b, 1)
    assert replaced.labels.tolist() == [0, 7, 0, -1] and replaced.tone.tolist() == [3, 0, 0, 4]


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
    nbest = k2.Nbest.from_lattice(lattice, 20, nbest_scale=1.0)
    assert nbest.shape.row_splits(1).tolist() == [0, 2, 4] and str(nbest) == "Nbest(num_seqs:2, num_fsas:4)"
    assert nbest.words().tolist() == [[10], [20]] * 2 and nbest.kept_path.tolist() == [[0, 2], [1, 2], [3, 5], [4, 5]]
    other = k2.create_fsa_vec([k2.Fsa.from_str("0 1 1 5\n0 1 2 7\n1 2 -1 0\n2")] * 2)
    met = nbest.intersect(other)
    assert met.total_scores().tolist() == [[6, 7.5], [6, 7.5]] and met.words().tolist() == [[10], [20]] * 2
    assert met.top_k(3).total_scores().tolist() == [[7.5, 6, 6]] * 2
    graphs = nbest.build_levenshtein_graphs()
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


def test_scores_can_be_made_stochastic(tmp_path):
    fsa = k2.Fsa.from_str(TEXT)
    fsa.set_scores_stochastic_(fsa.scores)
    np.testing.assert_allclose(np.exp(fsa.scores[:2]).sum(), 1, rtol=1e-6)
    fsa.draw(tmp_path / "a.svg", "title")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    with pytest.raises(ValueError, match="a.png"):
        fsa.draw(tmp_path / "a.png")
