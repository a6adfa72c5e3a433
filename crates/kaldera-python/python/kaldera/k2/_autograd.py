"""Gradients of scores, by PyTorch."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

import torch
from torch import Tensor

from .._kaldera import RaggedArc
from ._arrays import elements_and_rows


class Carry(torch.autograd.Function):
    """Scores of arcs that an algorithm has computed as sums of elements of others.

    Each source has a map: an integer array with an element or -1 for each arc, or a ``RaggedTensor``
    with a list of elements for each.
    """

    @staticmethod
    def forward(ctx: Any, scores: Any, maps: Sequence[Any], *sources: Tensor) -> Tensor:
        ctx.maps = maps
        ctx.like = [(source.shape, source.dtype, source.device) for source in sources]
        return torch.from_numpy(scores).to(sources[0].device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tuple[Any, ...]:
        grad = grad.double().cpu()
        gradients = []
        for arc_map, (shape, dtype, device) in zip(ctx.maps, ctx.like):
            elements, arcs = elements_and_rows(arc_map, grad.device)
            sums = torch.zeros(shape.numel(), dtype=torch.float64).index_add_(0, elements, grad[arcs])
            gradients.append(sums.reshape(shape).to(dtype=dtype, device=device))
        return (None, None, *gradients)


class Scores(torch.autograd.Function):
    """Scores of FSAs, states or arcs from the scores of all arcs."""

    @staticmethod
    def forward(ctx: Any, arcs: RaggedArc, what: str, double: bool, log_semiring: bool, scores: Tensor) -> Tensor:
        numbers, ctx.saved = arcs.numbers(what, log_semiring)
        ctx.like = scores.dtype, scores.device
        made = torch.from_numpy(numbers).to(scores.device)
        return made if double else made.float()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tuple[Any, ...]:
        gradient = ctx.saved.backward(grad.double().cpu().contiguous().numpy())
        dtype, device = ctx.like
        return None, None, None, None, torch.from_numpy(gradient).to(dtype=dtype, device=device)


def log_softmax_of_rows(scores: Tensor, rows: Any, highest: Any) -> Tensor:
    """Scores less the logarithm of the sum of exponentials of their row; ``highest`` is that of each row."""
    rows = torch.from_numpy(rows).long().to(scores.device)
    shifted = scores - torch.from_numpy(highest).to(scores.device)[rows]
    sums = shifted.new_zeros(len(highest)).index_add(0, rows, shifted.exp())
    return shifted - sums.log()[rows]
