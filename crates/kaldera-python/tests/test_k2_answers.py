"""What the real k2 returned for recorded inputs."""

import numpy as np
from answers import DOUBLE, SINGLE, cases, fsa_of, lattices_of, numbers

from kaldera import k2


@cases("dense", "intersect_dense", "intersect_dense_pruned")
def test_lattices(args, expect):
    lattices = lattices_of(args, fsa_of(args["graph"]), np.array(args["log_probs"], np.float32))
    tropical = lattices.get_tot_scores(True, False)
    np.testing.assert_allclose(tropical, numbers(expect["tot_tropical"]), atol=SINGLE)
    total = lattices.get_tot_scores(True, True)
    if "unpruned_tot_log" in expect:
        assert (total >= numbers(expect["tot_log"]) - 0.05).all()
    else:
        np.testing.assert_allclose(total, numbers(expect["tot_log"]), atol=SINGLE)
    best = k2.shortest_path(lattices)
    assert [fsa.labels.tolist() for fsa in best] == expect["best_labels"]


@cases("dense", "dense_fsa_vec")
def test_the_matrix_of_a_dense_fsa_vec(args, expect):
    dense = k2.DenseFsaVec(np.array(args["log_probs"], np.float32), args["segments"])
    np.testing.assert_array_equal(dense.scores, numbers(expect["scores"]).astype(np.float32))
    assert dense.duration.tolist() == expect["duration"] and dense.dim0() == len(args["segments"])


@cases("fsa_basic", "scores")
def test_scores(args, expect):
    fsas = fsa_of(args)
    for log_semiring, name in [(True, "log"), (False, "tropical")]:
        known = expect[name]
        for get, of in [("tot_scores", "tot"), ("forward_scores", "forward"), ("backward_scores", "backward"), ("arc_post", "arc_post")]:
            found = getattr(fsas, f"get_{get}")(True, log_semiring)
            np.testing.assert_allclose(found, numbers(known[of]), rtol=DOUBLE, atol=DOUBLE)


@cases("nbest", "random_paths")
def test_random_paths(args, expect):
    paths = k2.random_paths(fsa_of(args), True, args["num_paths"])
    assert [paths.shape.row_splits(axis).tolist() for axis in (1, 2)] == expect["row_splits"]
    assert paths.values.tolist() == expect["arcs"]


def words_and_scores(nbest):
    rows = zip(nbest.words().tolist(), nbest.fsa.get_tot_scores(True, False).tolist())
    splits = nbest.shape.row_splits(1)
    rows = [(*words, round(score, 3)) for words, score in rows]
    return [sorted(rows[begin:end]) for begin, end in zip(splits, splits[1:])]


@cases("nbest", "nbest_from_lattice")
def test_nbest_from_lattice(args, expect):
    nbest = k2.Nbest.from_lattice(fsa_of(args), args["num_paths"], nbest_scale=args["nbest_scale"])
    known = k2.Nbest(fsa_of({**expect, "is_vec": True}), nbest.shape)
    assert words_and_scores(nbest) == words_and_scores(known)
    assert len(nbest.build_levenshtein_graphs()) == len(nbest.fsa)


@cases("nbest", "nbest_top_k")
def test_nbest_top_k(args, expect):
    nbest = k2.Nbest.from_lattice(fsa_of(args), args["num_paths"], nbest_scale=args["nbest_scale"])
    best = nbest.top_k(args["k"])
    assert best.shape.row_splits(1).tolist() == np.array(expect["row_splits"]).reshape(-1).tolist()
    np.testing.assert_allclose(best.total_scores().values, numbers(expect["total_scores"]), atol=1e-5)


@cases("nbest", "levenshtein_alignment")
def test_levenshtein_alignments(args, expect):
    number = len(args["hyps"])
    aligned = k2.levenshtein_alignment(
        k2.levenshtein_graph([args["ref"]]), k2.levenshtein_graph(args["hyps"]), [0] * number
    )
    np.testing.assert_allclose(-aligned.get_tot_scores(True, False), expect["distance"], atol=1e-5)
