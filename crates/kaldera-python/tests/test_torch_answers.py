"""What the real k2 returned for recorded inputs, with gradients, where PyTorch is."""

import numpy as np
import pytest
from answers import DOUBLE, SINGLE, SLOPE, cases, fsa_of, lattices_of, numbers

torch = pytest.importorskip("torch")

from kaldera import k2
from kaldera.torch import get_rnnt_prune_ranges, joint_mutual_information_recursion, mutual_information_recursion, mwer_loss


# Where another beam leaves other paths, gradients are others.
@cases("dense", "intersect_dense", "intersect_dense_pruned", without="unpruned_tot_log")
def test_gradients_of_lattices(args, expect):
    log_probs = torch.tensor(args["log_probs"], dtype=torch.float32, requires_grad=True)
    graph = fsa_of(args["graph"]).requires_grad_(True)
    lattices = lattices_of(args, graph, log_probs)
    for log_semiring, name in [(True, "grad_log_probs"), (False, "grad_log_probs_tropical")]:
        if expect.get(name) is None:
            continue
        totals = lattices.get_tot_scores(True, log_semiring)
        sources = [log_probs, graph.scores]
        slopes = torch.autograd.grad(totals[totals.isfinite()].sum(), sources, retain_graph=True)
        np.testing.assert_allclose(slopes[0], np.array(expect[name]), atol=SLOPE)
        if log_semiring and expect.get("grad_graph_scores") is not None:
            np.testing.assert_allclose(slopes[1], np.array(expect["grad_graph_scores"]), atol=SLOPE)


@cases("dense", "dense_fsa_vec")
def test_the_matrix_of_a_tensor(args, expect):
    log_probs = torch.tensor(args["log_probs"], requires_grad=True)
    scores = k2.DenseFsaVec(log_probs, args["segments"]).scores
    np.testing.assert_array_equal(scores.detach(), numbers(expect["scores"]).astype(np.float32))
    (slope,) = torch.autograd.grad(scores[scores.isfinite()].sum(), log_probs)
    assert slope.sum() == sum(expect["duration"]) * log_probs.shape[2]


@cases("fsa_basic", "scores")
def test_gradients_of_scores(args, expect):
    fsas = fsa_of(args)
    fsas.requires_grad_(True)
    for log_semiring, name in [(True, "log"), (False, "tropical")]:
        known = expect[name]
        totals = fsas.get_tot_scores(True, log_semiring)
        weights = torch.tensor(known["tot_out_grad"], dtype=torch.float64)
        (slope,) = torch.autograd.grad(totals, fsas.scores, weights)
        np.testing.assert_allclose(slope, numbers(known["scores_grad"]), rtol=1e-5, atol=1e-5)
    known = expect["arc_post_log_grad"]
    weights = torch.tensor(known["out_grad"], dtype=torch.float64)
    (slope,) = torch.autograd.grad(fsas.get_arc_post(True, True), fsas.scores, weights)
    (found,) = [value for key, value in known.items() if key != "out_grad"]
    np.testing.assert_allclose(slope, numbers(found), rtol=1e-4, atol=1e-4)


@cases("nbest", "mwer_loss")
def test_minimum_word_error_rate(args, expect):
    lattice = fsa_of(args).requires_grad_(True)
    rest = [args[name] for name in ("nbest_scale", "num_paths", "temperature")]
    loss = mwer_loss(lattice, args["refs"], *rest, True, args["reduction"])
    np.testing.assert_allclose(loss.sum().item(), np.sum(numbers(np.ravel(expect["loss"]))), atol=SINGLE)
    (slope,) = torch.autograd.grad(loss.sum(), lattice.scores)
    np.testing.assert_allclose(slope, numbers(expect["grad"]), atol=SLOPE)


def tensors_of(args):
    found = [torch.tensor(np.array(args[name], np.float64)).requires_grad_() for name in ("px", "py")]
    return *found, torch.tensor(args["boundary"]) if args.get("boundary") is not None else None


@cases("losses", "mutual_information_recursion")
def test_mutual_information(args, expect):
    px, py, boundary = tensors_of(args)
    scores, occupations = mutual_information_recursion(px, py, boundary, return_grad=True)
    slopes = torch.autograd.grad(scores, (px, py), torch.tensor(args["out_grad"], dtype=torch.float64))
    found = {"scores": scores, "occupation_px": occupations[0], "occupation_py": occupations[1]}
    found |= {"grad_px": slopes[0], "grad_py": slopes[1]}
    for name, values in found.items():
        np.testing.assert_allclose(values.detach(), np.array(expect[name]), rtol=DOUBLE, atol=DOUBLE, err_msg=name)


@cases("losses", "joint_mutual_information_recursion")
def test_joint_mutual_information(args, expect):
    px, py, boundary = tensors_of(args)
    scores = joint_mutual_information_recursion(list(px), list(py), boundary)
    np.testing.assert_allclose(torch.stack(scores).detach(), np.array(expect["scores"]), rtol=DOUBLE, atol=DOUBLE)


@cases("losses", "get_rnnt_prune_ranges")
def test_ranges_of_pruned_transducers(args, expect):
    grads = [torch.tensor(np.array(args[name], np.float64)) for name in ("px_grad", "py_grad")]
    boundary = torch.tensor(args["boundary"])
    ranges = get_rnnt_prune_ranges(*grads, boundary, args["s_range"])
    known = torch.tensor(expect["ranges"])
    for row, other, frames in zip(ranges, known, boundary[:, 3].tolist()):
        assert torch.equal(row[:frames], other[:frames])
