"""Losses as PyTorch's autograd functions; import it where torch is: ``import kaldera.torch``.

Tensors on other devices are copied to the CPU and gradients back.

| elsewhere | here |
|---|---|
| ``torch.nn.functional.ctc_loss`` | :func:`ctc_loss` |
| ``k2.ctc_loss`` | :func:`k2_ctc_loss` |
| ``torchaudio.functional.rnnt_loss`` | :func:`rnnt_loss` |
| ``k2.rnnt_loss`` | :func:`k2_rnnt_loss` |
| ``k2.rnnt_loss_smoothed``, ``rnnt_loss_simple``, ``get_rnnt_prune_ranges`` | :func:`rnnt_loss_smoothed` |
| ``k2.do_rnnt_pruning``, ``rnnt_loss_pruned`` | :func:`do_rnnt_pruning`, :func:`rnnt_loss_pruned` |
| ``torchaudio.functional.forced_align`` | :func:`forced_align` |
"""

from __future__ import annotations

from typing import Any, Tuple

import torch
from torch import Tensor

from . import _kaldera
from .losses import _counts, _labels

__all__ = [
    "ctc_loss",
    "do_rnnt_pruning",
    "forced_align",
    "k2_ctc_loss",
    "k2_rnnt_loss",
    "rnnt_loss",
    "rnnt_loss_pruned",
    "rnnt_loss_smoothed",
]


def _array(values: Tensor) -> Any:
    values = values.detach().cpu()
    return (values if values.dtype == torch.float64 else values.float()).contiguous().numpy()


def _ints(lengths: Any) -> list[int]:
    return _counts(lengths.tolist() if isinstance(lengths, Tensor) else lengths, "lengths")


def _targets(targets: Any, lengths: Any) -> list[list[int]]:
    targets = targets.detach().cpu().numpy() if isinstance(targets, Tensor) else targets
    return _labels(targets, None if lengths is None else _ints(lengths))


class _Loss(torch.autograd.Function):
    """A loss whose gradient the library computes when it is asked for."""

    @staticmethod
    def forward(ctx: Any, compute: Any, keep: list, *inputs: Tensor) -> Tensor:
        losses, saved = compute(*[_array(values) for values in inputs])
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

    Logits may be passed too, and have the same loss: log-softmax is part of it.
    """
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


class _GraphLoss(torch.autograd.Function):
    """Minus the total scores of utterances, whose gradients are kept."""

    @staticmethod
    def forward(ctx: Any, log_probs: Tensor, graph: Any, lengths: list, beam: float, penalty: float) -> Tensor:
        values = log_probs.detach().cpu().float().contiguous().numpy()
        losses, gradient = _kaldera.ctc_loss_graph(graph, values, lengths, beam, penalty)
        ctx.gradient = torch.from_numpy(gradient).to(log_probs)
        return torch.from_numpy(losses).to(log_probs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tuple[Any, ...]:
        return ctx.gradient * grad.reshape(-1, 1, 1), None, None, None, None


def k2_ctc_loss(
    decoding_graph: Any,
    log_probs: Tensor,
    lengths: Any = None,
    output_beam: float = 10.0,
    delay_penalty: float = 0.0,
    reduction: str = "sum",
    target_lengths: Any = None,
) -> Tensor:
    """``k2.ctc_loss`` of a graph of :mod:`kaldera.k2`, such as ``k2.ctc_graph(symbols)``, or one for
    each utterance; where k2 takes a ``DenseFsaVec``, this takes log-probabilities ``[N, T, C]`` and
    the number of frames of each utterance.

    ``"mean"`` divides each loss by its number of labels, ``target_lengths``, first.
    """
    number, most, _ = log_probs.shape
    frames = [most] * number if lengths is None else _ints(lengths)
    losses = _GraphLoss.apply(log_probs, decoding_graph, frames, output_beam, delay_penalty)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        raise ValueError(f"reduction='{reduction}' can't be: it must be 'none', 'mean' or 'sum'")
    if target_lengths is None:
        raise ValueError("reduction='mean' needs the target_lengths")
    return (losses / torch.tensor(_ints(target_lengths)).to(losses)).mean()


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
    begins = boundary[:, :2]
    if bool((begins != 0).any()):
        raise ValueError("boundary: sequences begin at symbol 0 and frame 0 here")
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
    s_range: int | None = None,
) -> Any:
    """``k2.rnnt_loss_smoothed`` of a decoder's logits ``[N, S + 1, C]`` and an encoder's
    ``[N, T, C]``; with scales of 0 it is ``k2.rnnt_loss_simple``.

    With ``s_range`` it returns the loss and the ranges of ``k2.get_rnnt_prune_ranges``: int64
    ``[N, T, s_range]``, for :func:`do_rnnt_pruning` and :func:`rnnt_loss_pruned`.
    """
    frames, labels = _boundary(boundary, symbols, am.shape[1])
    scales, blank, penalty = (lm_only_scale, am_only_scale), termination_symbol, delay_penalty

    def compute(by_am: Any, by_lm: Any) -> Any:
        return _kaldera.rnnt_loss_simple(
            by_am, by_lm, frames, labels, scales, blank, rnnt_type, penalty, reduction, None
        )

    loss, saved = _apply(compute, reduction, am, lm)
    if s_range is None:
        return loss
    width, begins = saved.prune_ranges(s_range)
    ranges = torch.zeros(am.shape[0], am.shape[1], dtype=torch.int64)
    for row, begin in zip(ranges, begins):
        row[: len(begin)] = torch.tensor(begin, dtype=torch.int64)
    return loss, (ranges.unsqueeze(-1) + torch.arange(width)).to(am.device)


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
    number, frames, _ = log_probs.shape
    lengths = [frames] * number if input_lengths is None else _ints(input_lengths)
    values = log_probs.detach().cpu().float().contiguous().numpy()
    path, scores = _kaldera.forced_align(values, lengths, _targets(targets, target_lengths), blank)
    labels = torch.from_numpy(path).to(dtype=targets.dtype, device=log_probs.device)
    return labels, torch.from_numpy(scores).to(dtype=log_probs.dtype, device=log_probs.device)
