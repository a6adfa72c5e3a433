"""``k2.ragged``: lists of lists."""

from __future__ import annotations

from typing import Any, Sequence

from .. import _kaldera
from .._kaldera import RaggedShape, RaggedTensor
from ._arrays import index, index_and_sum, int32_of

__all__ = [
    "RaggedShape",
    "RaggedTensor",
    "cat",
    "create_ragged_shape2",
    "create_ragged_tensor",
    "index",
    "index_and_sum",
    "regular_ragged_shape",
]


def cat(srcs: Sequence[RaggedTensor], axis: int = 0) -> RaggedTensor:
    """Ragged tensors joined along an axis."""
    return _kaldera.ragged_cat(list(srcs), axis)


def create_ragged_tensor(data: Any, dtype: Any = None) -> RaggedTensor:
    """A ragged tensor of a list of lists, or of k2's text."""
    return RaggedTensor(data, dtype)


def regular_ragged_shape(dim0: int, dim1: int) -> RaggedShape:
    """``dim0`` rows of ``dim1`` elements."""
    return RaggedShape.regular_ragged_shape(dim0, dim1)


def create_ragged_shape2(
    row_splits: Any = None, row_ids: Any = None, cached_tot_size: int = -1
) -> RaggedShape:
    """The shape of lists, from where they end, int32 ``[rows + 1]``, or from the row of each element,
    int32 ``[elements]``; ``cached_tot_size`` is the number of elements, where it is known.

    >>> print(create_ragged_shape2([0, 2, 2, 3]))
    [ [ x x ] [ ] [ x ] ]
    """
    if row_splits is None and row_ids is None:
        raise ValueError("a shape needs row_splits or row_ids")
    if row_splits is None:
        shape = RaggedShape.from_row_ids(int32_of(row_ids, "row_ids"))
    else:
        shape = RaggedShape.from_row_splits([int32_of(row_splits, "row_splits").tolist()])
    if cached_tot_size not in (-1, shape.numel()):
        raise ValueError(f"cached_tot_size={cached_tot_size}, and there are {shape.numel()} elements")
    return shape
