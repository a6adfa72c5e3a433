"""The autograd functions beside PyTorch's and torchaudio's, where these are installed."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import kaldera
import kaldera.torch as losses
from kaldera import k2


def batch(dtype=torch.float64):
    torch.manual_seed(0)
    logits = torch.randn(9, 3, 6, dtype=dtype, requires_grad=True)
    targets = torch.tensor([[1, 2, 2], [3, 0, 0], [5, 4, 0]])
    return logits, targets, torch.tensor([9, 7, 4]), torch.tensor([3, 1, 2])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ctc_equals_pytorchs(reduction, dtype):
    logits, targets, frames, labels = batch(dtype)
    results = []
    for function in [losses.ctc_loss, torch.nn.functional.ctc_loss]:
        loss = function(logits.log_softmax(-1), targets, frames, labels, reduction=reduction)
        weights = torch.arange(1, loss.numel() + 1, dtype=dtype).reshape(loss.shape)
        (gradient,) = torch.autograd.grad((loss * weights).sum(), logits)
        results.append((loss, gradient))
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    for ours, theirs in zip(*results):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)
    one = losses.ctc_loss(logits[:, 0].log_softmax(-1), targets[0], torch.tensor(9), torch.tensor(3))
    torch.testing.assert_close(one, losses.ctc_loss(logits[:, :1], targets[:1], [9], [3]))


@pytest.mark.parametrize("bad", [float("-inf"), float("nan")])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_of_frames_that_are_not_finite_is_as_pytorchs(bad, zero_infinity):
    logits, targets, frames, labels = batch()
    log_probs = logits.detach().log_softmax(-1)
    log_probs[3, 1] = bad
    log_probs.requires_grad_()
    options = dict(reduction="none", zero_infinity=zero_infinity)
    results = []
    for function in [losses.ctc_loss, torch.nn.functional.ctc_loss]:
        loss = function(log_probs, targets, frames, labels, **options)
        results.append((loss, *torch.autograd.grad(loss.sum(), log_probs)))
    (ours, our_gradient), (theirs, their_gradient) = results
    torch.testing.assert_close(ours, theirs, equal_nan=True)
    others = [0, 2]
    torch.testing.assert_close(our_gradient[:, others], their_gradient[:, others])
    spoilt = our_gradient[: frames[1], 1]
    assert torch.isnan(spoilt).all() if bad != bad else (spoilt == 0).all()


def test_ctc_over_graphs_equals_that_of_labels():

    logits, _, frames, labels = batch()
    symbols = [[1, 2, 2], [3], [5, 4]]
    log_probs = logits.transpose(0, 1).log_softmax(-1)
    dense = k2.DenseFsaVec(log_probs, [[i, 0, length] for i, length in enumerate(frames.tolist())])
    results = []
    for loss in [
        losses.k2_ctc_loss(k2.ctc_graph(symbols), dense, 1e3, reduction="mean", target_lengths=labels),
        losses.ctc_loss(log_probs.transpose(0, 1), sum(symbols, []), frames, labels),
    ]:
        results.append((loss, *torch.autograd.grad(loss, logits, retain_graph=True)))
    for ours, other in zip(*results):
        torch.testing.assert_close(ours, other, atol=1e-5, rtol=1e-5)
    several = losses.k2_ctc_loss(k2.ctc_graph(symbols), dense, reduction="none")
    torch.testing.assert_close(several.sum(), losses.k2_ctc_loss(k2.ctc_graph(symbols), dense))
    weights = torch.tensor([1.0, 0.5, -2.0], dtype=several.dtype)
    totals = -losses.get_tot_scores(k2.intersect_dense(k2.ctc_graph(symbols), dense, 10.0)).to(several)
    torch.testing.assert_close(several, totals, atol=1e-5, rtol=1e-5)
    for ours, other in zip(*[torch.autograd.grad((each * weights).sum(), logits, retain_graph=True) for each in (several, totals)]):
        torch.testing.assert_close(ours, other, atol=1e-5, rtol=1e-5)


def test_rnnt_equals_torchaudios():
    torchaudio = pytest.importorskip("torchaudio")
    torch.manual_seed(1)
    logits = torch.randn(2, 6, 4, 5, requires_grad=True)
    targets = torch.tensor([[1, 2, 3], [2, 1, 1]], dtype=torch.int32)
    lengths = torch.tensor([6, 4], dtype=torch.int32), torch.tensor([3, 2], dtype=torch.int32)
    for blank in [-1, 0]:
        results = []
        for function in [losses.rnnt_loss, torchaudio.functional.rnnt_loss]:
            loss = function(logits, targets, *lengths, blank=blank)
            results.append((loss, *torch.autograd.grad(loss, logits)))
        for ours, theirs in zip(*results):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_gradients_equal_differences():
    logits, targets, frames, labels = batch()
    # By logits: of log-probabilities PyTorch's gradient is that by logits too.
    assert torch.autograd.gradcheck(lambda x: losses.ctc_loss(x, targets, frames, labels, reduction="none"), logits)
    joined = torch.randn(2, 3, 3, 4, dtype=torch.float64, requires_grad=True)
    symbols = torch.tensor([[1, 2], [3, 0]])
    boundary = torch.tensor([[0, 0, 2, 3], [0, 0, 1, 2]])
    for kind in ["regular", "modified", "constrained"]:
        assert torch.autograd.gradcheck(
            lambda x: losses.k2_rnnt_loss(x, symbols, 0, boundary, kind, 0.1, "none"), joined
        )


def test_a_range_of_all_symbols_prunes_nothing():
    torch.manual_seed(2)
    am = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    lm = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    symbols = torch.tensor([[1, 2], [3, 1]])
    boundary = torch.tensor([[0, 0, 2, 5]] * 2)
    simple, grads = losses.rnnt_loss_simple(lm, am, symbols, 0, return_grad=True)
    ranges = losses.get_rnnt_prune_ranges(*grads, boundary, 3)
    assert ranges.shape == (2, 5, 3) and (ranges == torch.arange(3)).all()
    some_am, some_lm = losses.do_rnnt_pruning(am, lm, ranges)
    pruned = losses.rnnt_loss_pruned(some_am + some_lm, symbols, ranges, 0)
    torch.testing.assert_close(pruned, simple)
    for ours, theirs in zip(torch.autograd.grad(pruned, (am, lm)), torch.autograd.grad(simple, (am, lm))):
        torch.testing.assert_close(ours, theirs)
    smoothed = losses.rnnt_loss_smoothed(lm, am, symbols, 0, 0.25, 0.1)
    assert smoothed.isfinite() and smoothed != simple
    assert losses.rnnt_loss_smoothed(lm, am, symbols, 0) == losses.rnnt_loss_smoothed(lm, am, symbols, 0, 0.1, 0.1)
    narrow = losses.get_rnnt_prune_ranges(*losses.rnnt_loss_smoothed(lm, am, symbols, 0, return_grad=True)[1], boundary, 2)
    assert narrow.shape == (2, 5, 2) and narrow[:, 0, 0].tolist() == [0, 0] and narrow[:, -1, -1].tolist() == [2, 2]


def test_alignments_equal_torchaudios():
    torchaudio = pytest.importorskip("torchaudio", "2.1")
    torch.manual_seed(3)
    scores = torch.randn(1, 12, 5).log_softmax(-1)
    targets = torch.tensor([[1, 1, 3]])
    ours = losses.forced_align(scores, targets)
    theirs = torchaudio.functional.forced_align(scores, targets)
    assert ours[0].dtype == theirs[0].dtype
    torch.testing.assert_close(ours[0], theirs[0])
    torch.testing.assert_close(ours[1], theirs[1])


def test_features_of_tensors():
    audio = (torch.arange(16000) % 500).to(torch.int16)
    np.testing.assert_array_equal(kaldera.fbank(audio), kaldera.fbank(audio.numpy()))


def test_workers_of_a_data_loader_do_not_hang():
    fbank = kaldera.Fbank(dither=0)
    audio = [np.full(1600 * (i + 1), i, np.int16) for i in range(8)]
    expected = fbank.compute(audio)

    class Utterances(torch.utils.data.Dataset):
        def __len__(self):
            return len(audio)

        def __getitem__(self, i):
            return fbank.compute([audio[i]])[0]

    loader = torch.utils.data.DataLoader(Utterances(), batch_size=None, num_workers=2, timeout=60)
    for ours, theirs in zip(loader, expected):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", ["regular", "modified", "constrained"])
def test_pruned_rnnt_equals_k2s(kind):
    theirs = pytest.importorskip("k2")
    torch.manual_seed(4)
    am = torch.randn(2, 8, 5, requires_grad=True)
    lm = torch.randn(2, 5, 5, requires_grad=True)
    symbols = torch.tensor([[1, 2, 3, 4], [4, 2, 0, 0]])
    boundary = torch.tensor([[0, 0, 4, 8], [0, 0, 2, 6]])
    arguments = {"lm_only_scale": 0.25, "am_only_scale": 0.1, "boundary": boundary, "rnnt_type": kind}
    expected, (px, py) = theirs.rnnt_loss_smoothed(
        lm, am, symbols, 0, **arguments, reduction="sum", return_grad=True
    )
    found, grads = losses.rnnt_loss_smoothed(lm, am, symbols, 0, **arguments, reduction="sum", return_grad=True)
    for ours, other in zip(grads, (px, py)):
        torch.testing.assert_close(ours, other, rtol=1e-4, atol=1e-5)
    ranges = losses.get_rnnt_prune_ranges(*grads, boundary, 3)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for ours, other in zip(torch.autograd.grad(found, (am, lm)), torch.autograd.grad(expected, (am, lm))):
        torch.testing.assert_close(ours, other, rtol=1e-4, atol=1e-5)
    of_k2 = theirs.get_rnnt_prune_ranges(px, py, boundary, 3)
    for sequence, frames in enumerate(boundary[:, 3].tolist()):
        assert torch.equal(ranges[sequence, :frames], of_k2[sequence, :frames].long())
    pruned = []
    for module in [losses, theirs]:
        rows = module.do_rnnt_pruning(am, lm, of_k2)
        loss = module.rnnt_loss_pruned((rows[0] + rows[1]).tanh(), symbols, of_k2, 0, boundary, kind, reduction="sum")
        pruned.append((loss, *torch.autograd.grad(loss, (am, lm))))
    for ours, other in zip(*pruned):
        torch.testing.assert_close(ours, other, rtol=1e-4, atol=1e-5)


def test_lf_mmi_has_the_gradient_of_differences():

    torch.manual_seed(5)
    logits = torch.randn(2, 6, 4, dtype=torch.float64, requires_grad=True)
    numerators = k2.ctc_graph([[1, 2], [3]])
    denominator = k2.create_fsa_vec([k2.arc_sort(k2.ctc_topo(3))] * 2)
    segments = torch.tensor([[0, 0, 6], [1, 1, 4]], dtype=torch.int32)

    def loss(logits):
        dense = k2.DenseFsaVec(logits.float().log_softmax(-1), segments)
        totals = [losses.get_tot_scores(k2.intersect_dense(graphs, dense, 1e3)) for graphs in (numerators, denominator)]
        return (totals[1] - totals[0]).sum()

    value = loss(logits)
    (slope,) = torch.autograd.grad(value, logits)
    assert value > 0 and slope[1, 0].abs().sum() == 0 and slope[1, 5].abs().sum() == 0
    with torch.no_grad():
        for place in [(0, 0, 0), (0, 3, 2), (1, 2, 3), (1, 4, 1)]:
            step = torch.zeros_like(logits)
            step[place] = 1e-2
            assert abs((loss(logits + step) - loss(logits - step)) / 2e-2 - slope[place]) < 1e-3


def test_gradients_go_through_all_algorithms():

    text = "0 1 1 10 0.5\n0 1 0 20 0.25\n0 2 2 30 -1\n1 2 2 40 0.125\n1 3 -1 -1 0.75\n2 3 -1 -1 2\n3"
    one = k2.Fsa.from_str(text, acceptor=False)
    generator = torch.Generator().manual_seed(6)
    scores = torch.randn(one.num_arcs, generator=generator).requires_grad_()
    other = k2.arc_sort(k2.Fsa.from_str("0 0 1 0.5\n0 0 2 -0.5\n0 1 -1 0\n1"))

    def stochastic(fsa):
        fsa.set_scores_stochastic_(fsa.scores)
        return fsa

    for change, log_semiring in [
        (k2.arc_sort, True),
        (k2.connect, True),
        (k2.top_sort, True),
        (k2.invert, True),
        (stochastic, True),
        (lambda fsa: k2.remove_epsilon_self_loops(k2.add_epsilon_self_loops(fsa)), True),
        (k2.shortest_path, True),
        (k2.remove_epsilon, False),
        (lambda fsa: k2.top_sort(k2.reverse(fsa)), True),
        (lambda fsa: k2.intersect(k2.arc_sort(fsa), other), True),
        (lambda fsa: k2.compose(k2.invert(k2.arc_sort(fsa)), other), True),
        (lambda fsa: k2.create_fsa_vec([fsa, fsa])[1], True),
        (lambda fsa: k2.index_fsa(k2.create_fsa_vec([fsa]), [0, 0]), True),
        (lambda fsa: k2.union(k2.create_fsa_vec([fsa, fsa])), True),
        (lambda fsa: k2.Nbest.from_lattice(k2.create_fsa_vec([fsa]), 30).fsa, True),
        (lambda fsa: k2.Fsa.clone(fsa), False),
    ]:

        def total(values):
            fsa = one.clone()
            fsa.scores = values
            changed = change(fsa)
            totals = changed.get_tot_scores(True, log_semiring)
            return (totals * torch.arange(1, len(totals) + 1)).sum()

        (slope,) = torch.autograd.grad(total(scores), scores)
        with torch.no_grad():
            for place in range(len(scores)):
                step = torch.zeros(len(scores))
                step[place] = 1 / 128
                difference = (total(scores + step) - total(scores - step)) * 64
                assert abs(difference - slope[place]) < 2e-3, (change, place)


def test_scores_are_tensors_once_they_are_set():

    fsa = k2.Fsa.from_str("0 1 1 10 0.5\n1 2 -1 -1 0\n2", acceptor=False).requires_grad_(True)
    assert fsa.requires_grad and isinstance(fsa.labels, torch.Tensor) and isinstance(fsa.aux_labels, torch.Tensor)
    fsa.cost = torch.tensor([1.0, 2.0], requires_grad=True)
    other = fsa.detach()
    del other.aux_labels
    both = k2.intersect(fsa, other)
    both.cost.sum().backward()
    assert fsa.cost.grad.tolist() == [1, 1]
    fsa.get_tot_scores(False, True).sum().backward()
    assert fsa.grad.tolist() == [1, 1] and fsa.get_tot_scores(False, True).dtype == torch.float32
    with torch.no_grad():
        fsa.scores.add_(1)
    assert fsa.get_tot_scores(True, True).tolist() == [2.5]
    copy = pickle.loads(pickle.dumps(fsa.detach()))
    assert torch.equal(copy.scores, fsa.scores) and not copy.requires_grad
    assert fsa.to("cpu").device == fsa.device == torch.device("cpu") and fsa.is_cpu() and not fsa.is_cuda()
    rows = torch.tensor([[0, 1, 5, 0], [1, 2, -1, 0]], dtype=torch.int32)
    assert k2.Fsa(rows, torch.tensor([6, -1], dtype=torch.int32)).aux_labels.tolist() == [6, -1]


def test_lf_mmi_and_attributes_equal_k2s():
    theirs = pytest.importorskip("k2")

    torch.manual_seed(7)
    logits = torch.randn(2, 7, 5, requires_grad=True)
    segments = torch.tensor([[0, 0, 7], [1, 1, 5]], dtype=torch.int32)
    results = []
    for module in [k2, theirs]:
        graphs = module.ctc_graph([[1, 2, 2], [4]])
        denominator = module.create_fsa_vec([module.arc_sort(module.ctc_topo(4))] * 2)
        graphs.cost = torch.arange(graphs.num_arcs, dtype=torch.float32)
        graphs.tone = torch.arange(graphs.num_arcs, dtype=torch.int32)
        graphs.tone_filler = -1
        dense = module.DenseFsaVec(logits.log_softmax(-1), segments)
        totals = []
        for fsas in [module.arc_sort(graphs), denominator]:
            lattice = module.intersect_dense(fsas, dense, 1e3, frame_idx_name="frame", seqframe_idx_name="row")
            totals.append(lattice.get_tot_scores(True, True))
        loss = (totals[1] - totals[0]).sum()
        lattice = module.intersect_dense(module.arc_sort(graphs), dense, 8.0, frame_idx_name="frame")
        best = module.shortest_path(lattice, True)
        texts = [best[i].aux_labels.tolist() for i in range(2)]
        looped = module.add_epsilon_self_loops(best)
        values = [loss, *torch.autograd.grad(loss, logits), best.scores, best.cost, best.tone, best.frame]
        results.append((values + [looped.tone, looped.cost, best.labels], texts))
    for ours, other in zip(results[0][0], results[1][0]):
        torch.testing.assert_close(ours, other, rtol=1e-4, atol=1e-4)
    assert results[0][1] == results[1][1]


def test_algorithms_on_attributes_equal_k2s():
    theirs = pytest.importorskip("k2")

    text = "0 1 1 10 0.5\n0 1 0 0 0.25\n0 2 2 30 -1\n1 2 2 40 0.125\n1 3 -1 -1 0.75\n2 3 -1 -1 2\n3"
    found = []
    for module in [k2, theirs]:
        fsa = module.Fsa.from_str(text, acceptor=False)
        fsa.scores = torch.as_tensor(fsa.scores)
        fsa.cost = torch.tensor([1.0, 2, 3, 4, 5, 6])
        fsa.lists = module.RaggedTensor([[1], [], [2, 3], [4], [], [5]])
        made = []
        vec = module.create_fsa_vec([fsa, module.arc_sort(fsa)])
        plain = module.remove_epsilon(fsa)
        # Output labels of the best derivation of each string.
        made.append(sorted(zip(plain.labels.tolist(), plain.aux_labels.tolist(), plain.cost.tolist(), plain.lists.tolist())))
        for result in [
            module.arc_sort(fsa),
            module.invert(fsa),
            module.index_fsa(vec, torch.tensor([1, 0], dtype=torch.int32)),
            vec[1],
        ]:
            made.append([result.labels.tolist(), result.aux_labels.tolist(), result.scores.tolist()])
            if hasattr(result, "cost"):
                made.append([result.cost.tolist(), result.lists.tolist()])
        nbest = module.Nbest.from_lattice(module.create_fsa_vec([fsa]), 20, True, 1.0)
        made.append(sorted(zip(nbest.fsa.get_tot_scores(True, False).tolist(), nbest.total_scores().tolist()[0])))
        best = nbest.top_k(2)
        made.append([best.total_scores().tolist(), best.shape.row_splits(1).tolist()])
        graphs = nbest.build_levenshtein_graphs()
        made.append(sorted(graphs[i].num_arcs for i in range(graphs.shape[0])))
        found.append(made)
    for ours, other in zip(*found):
        assert ours == other


def test_gradients_of_graph_losses_are_those_of_the_forward_pass():
    from kaldera.torch import k2_ctc_loss

    torch.manual_seed(0)
    values = torch.randn(2, 6, 4).log_softmax(-1)
    weights = torch.tensor([1.0, -2.0])

    def slope(change):
        log_probs, graph = values.clone().requires_grad_(), k2.ctc_graph([[1, 2], [3]])
        losses = k2_ctc_loss(graph, k2.DenseFsaVec(log_probs), reduction="none")
        if change:
            with torch.no_grad():
                log_probs.mul_(0.5)
            graph.scores = graph.scores + np.arange(graph.num_arcs, dtype=np.float32)
        losses.backward(weights)
        return log_probs.grad

    torch.testing.assert_close(slope(True), slope(False))
    assert slope(False).abs().sum() > 0


def test_sums_at_no_index_are_0():

    values = torch.tensor([5.0, 6.0], requires_grad=True)
    sums = k2.ragged.index_and_sum(values, k2.RaggedTensor([[-1, 0], [-1], [1, 1]]))
    (slope,) = torch.autograd.grad(sums.sum(), values)
    assert sums.tolist() == [5, 0, 12] and slope.tolist() == [1, 2]


def test_copies_keep_gradients_and_share_no_scores():
    import copy


    fst = k2.linear_fst([1, 2], [3, 4]).requires_grad_(True)
    assert copy.deepcopy(fst).requires_grad and not k2.arc_sort(fst.detach()).requires_grad
    plain = fst.detach()
    k2.invert(plain).scores.add_(1)
    assert plain.scores.tolist() == [0, 0, 0]
    looped = k2.linear_fst_with_self_loops(fst)
    (slope,) = torch.autograd.grad(looped.scores.sum(), fst.scores)
    assert slope.tolist() == [1, 1, 1]


def test_boundaries_and_ranges_are_checked():
    logits, symbols = torch.zeros(1, 3, 2, 4), torch.tensor([[1]])
    for row in [[0, 0, -1, 3], [0, 0, 2, 3], [0, 0, 1, 4], [1, 0, 1, 3]]:
        with pytest.raises(ValueError, match=f"sequence 0, \\{row}"):
            losses.k2_rnnt_loss(logits, symbols, 0, torch.tensor([row]))
    with pytest.raises(ValueError, match=r"\[N, 4\] of 1 sequences"):
        losses.k2_rnnt_loss(logits, symbols, 0, torch.tensor([[0, 0, 1]]))
    with pytest.raises(ValueError, match="-1, below 0"):
        losses.rnnt_loss_pruned(logits, symbols, torch.tensor([[[-1, 0]] * 3]), 0)
    grads = torch.zeros(1, 1, 4), torch.zeros(1, 2, 3)
    with pytest.raises(ValueError, match="-1 can't be: expected an integer from 0"):
        losses.get_rnnt_prune_ranges(*grads, torch.tensor([[0, 0, -1, 3]]), 1)


def test_modules_are_the_functions():
    logits = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    graph, dense = k2.ctc_graph([[1, 2], [3]]), k2.DenseFsaVec(logits.log_softmax(-1))
    expected = losses.k2_ctc_loss(graph, dense, 8.0, 0.1, "mean", target_lengths=[2, 1])
    assert torch.equal(losses.CtcLoss(8.0, "mean")(graph, dense, 0.1, [2, 1]), expected)
    lattice = k2.intersect_dense(k2.ctc_topo(3), dense, 8.0)
    expected = losses.mwer_loss(lattice, [[1], [2]], 0.5, 20, 2.0, reduction="none")
    assert torch.equal(losses.MWERLoss(2.0, reduction="none")(lattice, [[1], [2]], 0.5, 20), expected)


def test_ragged_tensors_take_tensors_without_gradients():
    values = torch.arange(4.0, requires_grad=True)
    shape = k2.RaggedTensor([[0, 1], [2, 3]]).shape
    for wrong in [lambda: k2.RaggedTensor(shape, values), lambda: k2.RaggedTensor(values.reshape(2, 2))]:
        with pytest.raises(ValueError, match="ragged tensors have no gradients: pass .detach()"):
            wrong()
    tensor = k2.RaggedTensor(shape, values.detach())
    assert tensor.tolist() == k2.RaggedTensor(values.detach().reshape(2, 2)).tolist() == [[0, 1], [2, 3]]
    assert tensor[torch.tensor([1])].tolist() == [[2, 3]]
    with pytest.raises(ValueError, match="the array is bool"):
        tensor[torch.tensor([False, True])]
    with pytest.raises(ValueError, match="the array is bool"):
        tensor.index(torch.tensor([False, True]))


def test_rows_are_added_at_indexes_that_fit():
    into = torch.zeros(2)
    k2.index_add(torch.tensor([1, -1, 1]), torch.tensor([1.0, 2.0, 3.0]), into)
    assert into.tolist() == [0, 4]
    for places, match in [([1], "there are 1 indexes, and 3 values"), ([0, -2, 1], "index -2 can't be")]:
        with pytest.raises(ValueError, match=match):
            k2.index_add(torch.tensor(places), torch.tensor([1.0, 2.0, 3.0]), into)


def test_fsas_of_tensors_have_tensors():
    log_probs = torch.randn(2, 3, 4).log_softmax(-1)
    fsas = k2.convert_dense_to_fsa_vec(k2.DenseFsaVec(log_probs))
    assert isinstance(fsas.scores, torch.Tensor)
    torch.testing.assert_close(fsas[1].scores[:-1], log_probs[1].reshape(-1))


def test_fsas_on_a_device_share_nothing_with_their_sources():
    fst = k2.linear_fst([1, 2], [3, 4])
    fst.cost = torch.ones(3)
    fst.names = k2.RaggedTensor([[3], [2, 1], []])
    for source in [fst, fst.clone().requires_grad_(False)]:
        moved = source.to("cpu")
        moved.cost[:] = 5
        moved.aux_labels[:] = 7
        moved.names.sort_()
        moved.scores += 1
        assert source.cost.tolist() == [1, 1, 1] and source.aux_labels.tolist() == [3, 4, -1]
        assert source.names.tolist() == [[3], [2, 1], []] and source.scores.tolist() == [0, 0, 0]
