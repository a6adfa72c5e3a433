"""Losses and scores as PyTorch's autograd functions; import it where torch is: ``import kaldera.torch``.

Tensors on other devices are copied to the CPU and gradients back.

| elsewhere | here |
|---|---|
| ``torch.nn.functional.ctc_loss`` | :func:`ctc_loss` |
| ``torchaudio.functional.rnnt_loss``, ``forced_align`` | :func:`rnnt_loss`, :func:`forced_align` |
| ``k2.ctc_loss``, ``k2.rnnt_loss`` | :func:`k2_ctc_loss`, :func:`k2_rnnt_loss` |
| ``k2.rnnt_loss_simple``, ``rnnt_loss_smoothed``, ``rnnt_loss_pruned`` | the same names |
| ``k2.get_rnnt_prune_ranges``, ``do_rnnt_pruning`` | the same names |
| ``k2.mutual_information_recursion``, ``joint_mutual_information_recursion`` | the same names |
| ``k2.mwer_loss`` | :func:`mwer_loss` |
| ``k2.CtcLoss``, ``k2.MWERLoss`` | the same names |
| ``k2.Fsa.get_tot_scores``, ``k2.intersect_dense`` ... | :mod:`kaldera.k2`, with gradients where tensors are given; :func:`get_tot_scores` |

LF-MMI is the difference of two totals::

    dense = k2.DenseFsaVec(network(features).log_softmax(-1), supervision_segments)
    scores = [get_tot_scores(k2.intersect_dense(graphs, dense, 10.0)) for graphs in (numerators, denominators)]
    (scores[1] - scores[0]).sum().backward()
"""

from __future__ import annotations

from typing import Any, Sequence, Tuple

import torch
from torch import Tensor

from . import _kaldera, k2
from .k2._arrays import floats_of, int32_of, numpy_of
from .k2._autograd import log_softmax_of_rows
from .losses import _counts, _labels

__all__ = [
    "CtcLoss",
    "MWERLoss",
    "ctc_loss",
    "do_rnnt_pruning",
    "forced_align",
    "get_rnnt_prune_ranges",
    "get_tot_scores",
    "joint_mutual_information_recursion",
    "k2_ctc_loss",
    "k2_rnnt_loss",
    "mutual_information_recursion",
    "mwer_loss",
    "rnnt_loss",
    "rnnt_loss_pruned",
    "rnnt_loss_simple",
    "rnnt_loss_smoothed",
]


def _ints(lengths: Any) -> list[int]:
    return _counts(lengths.tolist() if isinstance(lengths, Tensor) else lengths, "lengths")


def _targets(targets: Any, lengths: Any) -> list[list[int]]:
    targets = targets.detach().cpu().numpy() if isinstance(targets, Tensor) else targets
    return _labels(targets, None if lengths is None else _ints(lengths))


def _check_floats(*inputs: Tensor) -> None:
    """A TypeError for arrays that are no tensors, a ValueError for integers, whose type results could not have."""
    for values in inputs:
        if not isinstance(values, Tensor):
            raise TypeError(f"expected a tensor, not {type(values).__name__}: kaldera.ctc_loss and others take arrays")
        if not values.is_floating_point():
            raise ValueError(f"expected a tensor of floating-point numbers, not {values.dtype}")


class _Loss(torch.autograd.Function):
    """A loss whose gradient the library computes when it is asked for."""

    @staticmethod
    def forward(ctx: Any, compute: Any, keep: list, *inputs: Tensor) -> Tensor:
        losses, saved = compute(*[floats_of(values) for values in inputs])
        keep.append(saved)
        ctx.saved = saved
        ctx.like = [(values.dtype, values.device) for values in inputs]
        return torch.from_numpy(losses).to(inputs[0])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tuple[Any, ...]:
        gradients = ctx.saved.backward(grad.double().cpu().reshape(-1).tolist(), None)
        as_input = [torch.from_numpy(g).to(dtype=d, device=e) for g, (d, e) in zip(gradients, ctx.like)]
        return (None, None, *as_input)


def _apply(compute: Any, reduction: str, *inputs: Tensor) -> Tuple[Tensor, Any]:
    _check_floats(*inputs)
    keep: list = []
    losses = _Loss.apply(compute, keep, *inputs)
    return (losses if reduction == "none" else losses[0]), keep[0]


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """``torch.nn.functional.ctc_loss``: log-probabilities ``[T, N, C]`` or ``[T, C]``, targets
    ``[N, S]`` or ``[sum]``.

    Logits may be passed too, and have the same loss: log-softmax is part of it. A frame of -inf everywhere
    makes the loss of its sequence infinite, or 0 with ``zero_infinity``; NaN makes it NaN. The gradient of
    an infinite loss is 0 always, where PyTorch has NaN without ``zero_infinity``; that of NaN is NaN.
    """
    _check_floats(log_probs)
    if log_probs.dim() == 2:
        log_probs = log_probs.unsqueeze(1)
        lengths = [int(input_lengths)], [int(target_lengths)]
        targets = targets.reshape(1, -1)
        loss = ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)
        return loss.reshape(()) if reduction == "none" else loss
    labels, frames = _targets(targets, target_lengths), _ints(input_lengths)

    def compute(values: Any) -> Any:
        return _kaldera.ctc_loss(values, frames, labels, blank, reduction, zero_infinity, None)

    return _apply(compute, reduction, log_probs.transpose(0, 1))[0]


def get_tot_scores(fsas: k2.Fsa, use_double_scores: bool = True, log_semiring: bool = True) -> Tensor:
    """The logarithm of the sum over all paths of each FSA, or the best path's score, as a tensor
    ``[fsas]``, with the gradient that the scores of the arcs have: their posteriors."""
    return torch.as_tensor(fsas.get_tot_scores(use_double_scores, log_semiring))


def k2_ctc_loss(
    decoding_graph: k2.Fsa,
    dense_fsa_vec: k2.DenseFsaVec,
    output_beam: float = 10.0,
    delay_penalty: float = 0.0,
    reduction: str = "sum",
    use_double_scores: bool = True,
    target_lengths: Any = None,
) -> Tensor:
    """``k2.ctc_loss`` of a graph, such as ``k2.ctc_graph(symbols)``, or one for each utterance, and of a
    ``k2.DenseFsaVec`` over a tensor of log-probabilities: a scalar, or float32 ``[utterances]``.

    ``"mean"`` divides each loss by its number of labels, ``target_lengths``, first. Sums are in double
    precision always. The graph's scores have no gradient here.
    """
    del use_double_scores
    attributes = {}
    for name in ["aux_labels", "_is_repeat_token_"]:
        value = decoding_graph._tensor_attr.get(name)
        if value is not None:
            attributes[name] = value if isinstance(value, k2.RaggedTensor) else int32_of(value, name)

    def compute(values: Any) -> Any:
        _, segments, allow_truncate = dense_fsa_vec._arguments()
        arguments = numpy_of(values, "float32"), segments, allow_truncate
        return _kaldera.ctc_loss_graph(decoding_graph.arcs, attributes, *arguments, output_beam, delay_penalty)

    losses = _apply(compute, "none", torch.as_tensor(dense_fsa_vec.log_probs))[0]
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        raise ValueError(f"reduction='{reduction}' can't be: it must be 'none', 'mean' or 'sum'")
    if target_lengths is None:
        raise ValueError("reduction='mean' needs the target_lengths")
    return (losses / torch.tensor(_ints(target_lengths)).to(losses)).mean()


def mwer_loss(
    lattice: k2.Fsa,
    ref_texts: Any,
    nbest_scale: float = 0.5,
    num_paths: int = 200,
    temperature: float = 1.0,
    use_double_scores: bool = True,
    reduction: str = "sum",
) -> Tensor:
    """``k2.mwer_loss``: the expected number of word errors of the paths that ``k2.Nbest.from_lattice``
    takes, with the gradient by the scores of the lattice.

    ``ref_texts`` are the words of each utterance, from 1. ``reduction="none"`` gives the term of each
    path, a tensor ``[paths]`` where k2 has a ``RaggedTensor``; as in k2, a mean is over paths.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction='{reduction}' can't be: it must be 'none', 'mean' or 'sum'")
    if not temperature > 0:
        raise ValueError(f"temperature={temperature} can't be: it must be above 0")
    nbest = k2.Nbest.from_lattice(lattice, num_paths, use_double_scores, nbest_scale)
    utterances = nbest.shape.row_ids(1)
    aligned = k2.levenshtein_alignment(ref_texts, nbest.words(), utterances)
    scores = torch.as_tensor(nbest.fsa.get_tot_scores(use_double_scores, True)) / temperature
    highest = k2.RaggedTensor(nbest.shape, numpy_of(scores)).max()
    probs = log_softmax_of_rows(scores, utterances, highest).exp()
    terms = probs * torch.as_tensor(-aligned.get_tot_scores(True, False)).to(probs)
    return terms if reduction == "none" else terms.mean() if reduction == "mean" else terms.sum()


class CtcLoss(torch.nn.Module):
    """``k2.CtcLoss``: :func:`k2_ctc_loss` with options that are set once."""

    def __init__(self, output_beam: float, reduction: str = "sum", use_double_scores: bool = True):
        super().__init__()
        self.output_beam = output_beam
        self.reduction = reduction
        self.use_double_scores = use_double_scores

    def forward(
        self,
        decoding_graph: k2.Fsa,
        dense_fsa_vec: k2.DenseFsaVec,
        delay_penalty: float = 0.0,
        target_lengths: Any = None,
    ) -> Tensor:
        """The loss: a scalar, or float32 ``[utterances]`` with the reduction ``"none"``."""
        options = self.output_beam, delay_penalty, self.reduction, self.use_double_scores
        return k2_ctc_loss(decoding_graph, dense_fsa_vec, *options, target_lengths)


class MWERLoss(torch.nn.Module):
    """``k2.MWERLoss``: :func:`mwer_loss` with options that are set once."""

    def __init__(self, temperature: float = 1.0, use_double_scores: bool = True, reduction: str = "sum"):
        super().__init__()
        self.temperature = temperature
        self.use_double_scores = use_double_scores
        self.reduction = reduction

    def forward(self, lattice: k2.Fsa, ref_texts: Any, nbest_scale: float, num_paths: int) -> Tensor:
        """The loss: a scalar, or ``[paths]`` with the reduction ``"none"``."""
        options = self.temperature, self.use_double_scores, self.reduction
        return mwer_loss(lattice, ref_texts, nbest_scale, num_paths, *options)


def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Any,
    target_lengths: Any,
    blank: int = -1,
    clamp: float = -1,
    reduction: str = "mean",
    fused_log_softmax: bool = True,
) -> Tensor:
    """``torchaudio.functional.rnnt_loss``: a joiner's logits ``[N, T, S + 1, C]``.

    A negative ``blank`` counts from the last class, a negative ``clamp`` is none. Log-softmax of
    log-probabilities changes nothing, so ``fused_log_softmax=False`` has the same loss for them.
    """
    del fused_log_softmax
    blank = blank + logits.shape[-1] if blank < 0 else blank
    limit = clamp if clamp > 0 else None
    labels, frames = _targets(targets, target_lengths), _ints(logit_lengths)

    def compute(values: Any) -> Any:
        return _kaldera.rnnt_loss(values, frames, labels, None, blank, "regular", 0.0, limit, reduction, None)

    return _apply(compute, reduction, logits)[0]


def _boundary(boundary: Tensor | None, symbols: Tensor, frames: int) -> Tuple[list[int], list[list[int]]]:
    """The numbers of frames, and the symbols of each sequence, by k2's ``boundary`` [N, 4]."""
    if boundary is None:
        return [frames] * len(symbols), symbols.tolist()
    if tuple(boundary.shape) != (len(symbols), 4):
        raise ValueError(f"boundary is [N, 4] of {len(symbols)} sequences, and this one is {list(boundary.shape)}")
    for i, row in enumerate(boundary.tolist()):
        if row[:2] != [0, 0]:
            raise ValueError(f"boundary: sequence {i}, {row}, must begin at symbol 0 and frame 0 here")
        if not (0 <= row[2] <= symbols.shape[1] and 0 <= row[3] <= frames):
            raise ValueError(f"boundary: sequence {i}, {row}, is not within {symbols.shape[1]} symbols and {frames} frames")
    rows = zip(symbols.tolist(), boundary[:, 2].tolist())
    return boundary[:, 3].tolist(), [row[:number] for row, number in rows]


def k2_rnnt_loss(
    logits: Tensor,
    symbols: Tensor,
    termination_symbol: int,
    boundary: Tensor | None = None,
    rnnt_type: str = "regular",
    delay_penalty: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """``k2.rnnt_loss``: a joiner's logits ``[N, T, S + 1, C]``, symbols ``[N, S]``; ``boundary`` is
    ``[N, 4]`` with rows ``0, 0, symbols, frames``."""
    frames, labels = _boundary(boundary, symbols, logits.shape[1])
    blank, penalty = termination_symbol, delay_penalty

    def compute(values: Any) -> Any:
        return _kaldera.rnnt_loss(values, frames, labels, None, blank, rnnt_type, penalty, None, reduction, None)

    return _apply(compute, reduction, logits)[0]


def rnnt_loss_simple(
    lm: Tensor,
    am: Tensor,
    symbols: Tensor,
    termination_symbol: int,
    boundary: Tensor | None = None,
    rnnt_type: str = "regular",
    delay_penalty: float = 0.0,
    reduction: str = "mean",
    return_grad: bool = False,
) -> Any:
    """``k2.rnnt_loss_simple`` of a decoder's logits ``[N, S + 1, C]`` and an encoder's ``[N, T, C]``; with
    ``return_grad`` as :func:`rnnt_loss_smoothed`."""
    scales = (0.0, 0.0)
    return rnnt_loss_smoothed(
        lm, am, symbols, termination_symbol, *scales, boundary, rnnt_type, delay_penalty, reduction, return_grad
    )


def rnnt_loss_smoothed(
    lm: Tensor,
    am: Tensor,
    symbols: Tensor,
    termination_symbol: int,
    lm_only_scale: float = 0.1,
    am_only_scale: float = 0.1,
    boundary: Tensor | None = None,
    rnnt_type: str = "regular",
    delay_penalty: float = 0.0,
    reduction: str = "mean",
    return_grad: bool = False,
) -> Any:
    """``k2.rnnt_loss_smoothed`` of a decoder's logits ``[N, S + 1, C]`` and an encoder's ``[N, T, C]``.

    With ``return_grad`` it returns the loss and a pair of tensors for :func:`get_rnnt_prune_ranges`, how
    probable it is that a path has each arc: px, ``[N, S, T + 1]`` (``[N, S, T]`` unless the type is
    ``"regular"``), and py, ``[N, S + 1, T]``.
    """
    frames, labels = _boundary(boundary, symbols, am.shape[1])
    scales, blank, penalty = (lm_only_scale, am_only_scale), termination_symbol, delay_penalty

    def compute(by_am: Any, by_lm: Any) -> Any:
        return _kaldera.rnnt_loss_simple(
            by_am, by_lm, frames, labels, scales, blank, rnnt_type, penalty, reduction, None
        )

    loss, saved = _apply(compute, reduction, am, lm)
    if not return_grad:
        return loss
    return loss, tuple(torch.from_numpy(each).to(am) for each in saved.occupations(symbols.shape[1], am.shape[1]))


def _boundaries(boundary: Tensor | None, symbols: int, frames: int, number: int) -> list[list[int]]:
    """First symbol and frame, and those after the last, of each sequence."""
    return [[0, 0, symbols, frames]] * number if boundary is None else boundary.tolist()


class _MutualInformation(torch.autograd.Function):
    """The totals of sequences, and the occupations of their arcs."""

    @staticmethod
    def forward(ctx: Any, px: Tensor, py: Tensor, boundary: list[list[int]]) -> Tuple[Tensor, Tensor, Tensor]:
        arrays = [numpy_of(values, "float64") for values in (px, py)]
        scores, *occupations = _kaldera.mutual_information_recursion(*arrays, boundary)
        by_px, by_py = (torch.from_numpy(each).to(px) for each in occupations)
        ctx.save_for_backward(by_px, by_py)
        ctx.mark_non_differentiable(by_px, by_py)
        return torch.from_numpy(scores).to(px), by_px, by_py

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> Tuple[Any, ...]:
        by_px, by_py = ctx.saved_tensors
        return by_px * grad.reshape(-1, 1, 1), by_py * grad.reshape(-1, 1, 1), None


def mutual_information_recursion(
    px: Tensor, py: Tensor, boundary: Tensor | None = None, return_grad: bool = False
) -> Any:
    """``k2.mutual_information_recursion``: the logarithm of the sum over all paths of each sequence, ``[B]``.

    ``px`` is ``[B, S, T + 1]``, or ``[B, S, T]`` where a symbol takes a frame, ``py`` is ``[B, S + 1, T]``;
    rows of ``boundary``, ``[B, 4]``, are the first symbol and frame, and those after the last. With
    ``return_grad`` also how probable each arc is, a pair of the shapes of ``px`` and ``py``.
    """
    _check_floats(px, py)
    bounds = _boundaries(boundary, px.shape[1], py.shape[2], px.shape[0])
    scores, *occupations = _MutualInformation.apply(px, py, bounds)
    return (scores, tuple(occupations)) if return_grad else scores


def joint_mutual_information_recursion(
    px: Sequence[Tensor], py: Sequence[Tensor], boundary: Tensor | None = None
) -> Tuple[Tensor, ...]:
    """``k2.joint_mutual_information_recursion``: the totals over sums of several terms, and what each term
    adds to them, ``[B]`` each: its mean over all paths, and for the first the rest."""
    total, occupations = mutual_information_recursion(sum(px), sum(py), boundary, True)
    terms = []
    for own in list(zip(px, py))[1:]:
        parts = [torch.where(share > 0, values * share, 0 * share) for values, share in zip(own, occupations)]
        terms.append(parts[0].sum((1, 2)) + parts[1].sum((1, 2)))
    return (total - sum(terms), *terms)


def get_rnnt_prune_ranges(px_grad: Tensor, py_grad: Tensor, boundary: Tensor, s_range: int) -> Tensor:
    """``k2.get_rnnt_prune_ranges``: the numbers of symbols that are kept in each frame, int64
    ``[B, T, s_range]``, from what :func:`rnnt_loss_smoothed` returns with ``return_grad``."""
    arrays = [numpy_of(values, "float64") for values in (px_grad, py_grad)]
    width, begins = _kaldera.get_rnnt_prune_ranges(*arrays, boundary.tolist(), s_range)
    ranges = torch.zeros(px_grad.shape[0], py_grad.shape[2], dtype=torch.int64)
    for row, begin in zip(ranges, begins):
        row[: len(begin)] = torch.tensor(begin, dtype=torch.int64)
        row[len(begin) :] = begin[-1] if begin else 0
    return (ranges.unsqueeze(-1) + torch.arange(width)).to(px_grad.device)


def do_rnnt_pruning(am: Tensor, lm: Tensor, ranges: Tensor) -> Tuple[Tensor, Tensor]:
    """``k2.do_rnnt_pruning``: ``am`` and ``lm`` of the symbols in the ranges, ``[N, T, s_range, C]``
    each."""
    number, frames, width = ranges.shape
    pruned_am = am.unsqueeze(2).expand(number, frames, width, am.shape[-1])
    index = ranges.clamp(max=lm.shape[1] - 1).reshape(number, frames * width, 1).expand(-1, -1, lm.shape[-1])
    return pruned_am, torch.gather(lm, 1, index).reshape(number, frames, width, lm.shape[-1])


def rnnt_loss_pruned(
    logits: Tensor,
    symbols: Tensor,
    ranges: Tensor,
    termination_symbol: int,
    boundary: Tensor | None = None,
    rnnt_type: str = "regular",
    delay_penalty: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """``k2.rnnt_loss_pruned``: a joiner's logits ``[N, T, s_range, C]`` for the symbols in
    ``ranges``, ``[N, T, s_range]``."""
    frames, labels = _boundary(boundary, symbols, logits.shape[1])
    begins = [row[:length] for row, length in zip(ranges[:, :, 0].tolist(), frames)]
    for i, row in enumerate(begins):
        if any(begin < 0 for begin in row):
            raise ValueError(f"ranges: sequence {i} begins at symbol {min(row)}, below 0")
    chosen = (ranges.shape[2], begins)
    blank, penalty = termination_symbol, delay_penalty

    def compute(values: Any) -> Any:
        return _kaldera.rnnt_loss(values, frames, labels, chosen, blank, rnnt_type, penalty, None, reduction, None)

    return _apply(compute, reduction, logits)[0]


def forced_align(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any = None,
    target_lengths: Any = None,
    blank: int = 0,
) -> Tuple[Tensor, Tensor]:
    """``torchaudio.functional.forced_align``, of any number of sequences: ``[N, T]`` labels and
    ``[N, T]`` log-probabilities. It has no gradient, as there."""
    _check_floats(log_probs)
    number, frames, _ = log_probs.shape
    lengths = [frames] * number if input_lengths is None else _ints(input_lengths)
    values = log_probs.detach().cpu().float().contiguous().numpy()
    path, scores = _kaldera.forced_align(values, lengths, _targets(targets, target_lengths), blank)
    labels = torch.from_numpy(path).to(dtype=targets.dtype, device=log_probs.device)
    return labels, torch.from_numpy(scores).to(dtype=log_probs.dtype, device=log_probs.device)
