"""Losses on NumPy arrays, each with its gradient.

Batches are padded: ``[N, T, ...]`` in C order, and the number of frames of each sequence. Values
are float32 or float64, losses float64. Log-softmax is part of the losses, so that gradients are by
logits; of log-probabilities it changes nothing.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Sequence, Tuple

from . import _kaldera

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def _values(values: ArrayLike) -> NDArray:
    import numpy as np

    from .k2._arrays import floats_of

    return floats_of(np.asarray(values))


def _counts(values: Any, what: str) -> list[int]:
    """Integers from 0."""
    counts = [operator.index(value) for value in values]
    if any(count < 0 for count in counts):
        raise ValueError(f"the {what} {counts} can't be: they must be 0 or more")
    return counts


def _lengths(lengths: Sequence[int] | None, values: NDArray) -> list[int]:
    if values.ndim < 2:
        raise ValueError(f"a batch is [N, T, ...], and this array has the shape {values.shape}")
    return [values.shape[1]] * len(values) if lengths is None else _counts(lengths, "lengths")


def _labels(labels: Any, lengths: Sequence[int] | None) -> list[list[int]]:
    """A list for each sequence, from lists, a padded array, or one array of all labels."""
    lists = [[operator.index(label) for label in each] for each in _label_lists(labels, lengths)]
    for i, each in enumerate(lists):
        for label in each:
            if not -(2**31) <= label < 2**31:
                raise ValueError(f"sequence {i}: the label {label} is no 32-bit integer")
    return lists


def _label_lists(labels: Any, lengths: Sequence[int] | None) -> Any:
    import numpy as np

    if isinstance(labels, (list, tuple)) and lengths is None:
        return labels
    array = np.asarray(labels)
    if lengths is None:
        if array.ndim != 2:
            raise ValueError(f"labels of the shape {array.shape} need the number of labels of each sequence")
        return array.tolist()
    lengths = _counts(lengths, "numbers of labels")
    if array.ndim == 1:
        if sum(lengths) != len(array):
            raise ValueError(f"the numbers of labels sum to {sum(lengths)}, and there are {len(array)} labels")
        splits = np.cumsum(lengths)[:-1]
        return [part.tolist() for part in np.split(array, splits)]
    if array.ndim != 2 or len(lengths) != len(array) or any(not 0 <= n <= array.shape[1] for n in lengths):
        raise ValueError(f"labels of the shape {array.shape} do not fit the numbers of labels {lengths}")
    return [row[:n].tolist() for row, n in zip(array, lengths)]


def _finish(losses: NDArray, saved: _kaldera.LossSaved, reduction: str, threads: int | None) -> Tuple[Any, list]:
    gradients = saved.backward([1.0] * len(losses), threads)
    return (losses if reduction == "none" else float(losses[0])), gradients


def ctc_loss(
    logits: ArrayLike,
    labels: Any,
    lengths: Sequence[int] | None = None,
    label_lengths: Sequence[int] | None = None,
    *,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    threads: int | None = None,
) -> Tuple[Any, NDArray]:
    """CTC of logits ``[N, T, C]``: the loss, and its gradient ``[N, T, C]``.

    ``labels`` are a list for each sequence, or an array ``[N, S]`` or ``[sum]`` with
    ``label_lengths``. ``reduction`` is ``"mean"`` (each loss divided by its number of labels first,
    as PyTorch has it), ``"sum"`` or ``"none"``, which gives float64 ``[N]`` and the gradient of the
    sum. A sequence without alignment (too short for its labels, or with a frame of -inf everywhere) has an
    infinite loss, or 0 with ``zero_infinity``, and a gradient of 0. One with NaN or +inf has a loss and a
    gradient of NaN; the other sequences are as they are without it.
    """
    values = _values(logits)
    found = _kaldera.ctc_loss(
        values,
        _lengths(lengths, values),
        _labels(labels, label_lengths),
        blank,
        reduction,
        zero_infinity,
        threads,
    )
    loss, gradients = _finish(*found, reduction, threads)
    return loss, gradients[0]


def rnnt_loss(
    logits: ArrayLike,
    labels: Any,
    lengths: Sequence[int] | None = None,
    label_lengths: Sequence[int] | None = None,
    *,
    blank: int = 0,
    clamp: float | None = None,
    rnnt_type: str = "regular",
    delay_penalty: float = 0.0,
    reduction: str = "mean",
    threads: int | None = None,
) -> Tuple[Any, NDArray]:
    """RNN-T of a joiner's logits ``[N, T, S + 1, C]``: the loss, and its gradient.

    ``rnnt_type`` is k2's: ``regular``, ``modified`` (a symbol takes a frame), ``constrained``.
    ``"mean"`` is over sequences. Other arguments as :func:`ctc_loss`.
    """
    values = _values(logits)
    found = _kaldera.rnnt_loss(
        values,
        _lengths(lengths, values),
        _labels(labels, label_lengths),
        None,
        blank,
        rnnt_type,
        delay_penalty,
        clamp,
        reduction,
        threads,
    )
    loss, gradients = _finish(*found, reduction, threads)
    return loss, gradients[0]


def rnnt_loss_simple(
    am: ArrayLike,
    lm: ArrayLike,
    labels: Any,
    lengths: Sequence[int] | None = None,
    label_lengths: Sequence[int] | None = None,
    *,
    blank: int = 0,
    lm_only_scale: float = 0.0,
    am_only_scale: float = 0.0,
    rnnt_type: str = "regular",
    delay_penalty: float = 0.0,
    reduction: str = "mean",
    threads: int | None = None,
) -> Tuple[Any, NDArray, NDArray]:
    """RNN-T of the sums of an encoder's logits ``[N, T, C]`` and a decoder's ``[N, S + 1, C]``.

    Returns the loss and the gradients by ``am`` and ``lm``. With scales it is k2's
    ``rnnt_loss_smoothed``. Other arguments as :func:`rnnt_loss`.
    """
    values, of_decoder = _values(am), _values(lm)
    found = _kaldera.rnnt_loss_simple(
        values,
        of_decoder,
        _lengths(lengths, values),
        _labels(labels, label_lengths),
        (lm_only_scale, am_only_scale),
        blank,
        rnnt_type,
        delay_penalty,
        reduction,
        threads,
    )
    loss, gradients = _finish(*found, reduction, threads)
    return loss, gradients[0], gradients[1]


def forced_align(
    log_probs: ArrayLike,
    labels: Any,
    lengths: Sequence[int] | None = None,
    label_lengths: Sequence[int] | None = None,
    *,
    blank: int = 0,
) -> Tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The best CTC alignment of log-probabilities ``[N, T, C]`` with labels.

    Returns int32 ``[N, T]``, the label or blank of each frame, and float32 ``[N, T]``, its
    log-probability. Frames behind the end of a sequence have the blank and 0.
    """
    import numpy as np

    values = np.require(log_probs, np.float32, "CA")
    if values.ndim != 3:
        raise ValueError(f"log_probs are [N, T, C], and this array has the shape {values.shape}")
    return _kaldera.forced_align(values, _lengths(lengths, values), _labels(labels, label_lengths), blank)
