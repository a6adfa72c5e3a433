"""NumPy's arrays and PyTorch's tensors by the same functions. PyTorch is not imported."""

from __future__ import annotations

import sys
from typing import Any, Tuple

from .. import _kaldera
from .._kaldera import RaggedTensor


def is_tensor(value: Any) -> bool:
    """Whether a value is PyTorch's."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def numpy_of(value: Any, dtype: Any = None) -> Any:
    """A NumPy array, in C order and the machine's byte order, of an array of any library that has
    ``__array__`` or DLPack."""
    import numpy as np

    if is_tensor(value):
        value = value.detach().cpu()
        # NumPy has no bfloat16.
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        value = np.from_dlpack(value)
    value = np.asarray(value)
    return np.require(value, dtype or value.dtype.newbyteorder("="), "CAE")


def floats_of(value: Any) -> Any:
    """As :func:`numpy_of`, float64 of float64, and float32 of other numbers."""
    array = numpy_of(value)
    return array if array.dtype == "float64" else numpy_of(array, "float32")


def int32_of(value: Any, what: str) -> Any:
    """A contiguous int32 array of integers; a ``ValueError`` says which element is none, or too large."""
    import numpy as np

    array = np.asarray(numpy_of(value))
    if array.size == 0:
        return array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be 32-bit integers, and this array is {array.dtype}, its first {array.flat[0]}")
    if array.dtype != np.int32:
        limits = np.iinfo(np.int32)
        wrong = np.argwhere((array < limits.min) | (array > limits.max))
        if len(wrong) > 0:
            at = tuple(wrong[0].tolist())
            raise ValueError(f"{what}: {array[at]} at {list(at)} is no 32-bit integer")
    return np.require(array, np.int32, "CA")


def check_cpu(device: Any) -> None:
    """A ``ValueError`` for a device that is given and is not the CPU."""
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise ValueError(f"device={device} can't be: automata are on the CPU; .to(device) moves the tensors of one")


def like(value: Any, scores: Any) -> Any:
    """An array as a tensor, where the scores are one."""
    import numpy as np

    if is_tensor(scores) and isinstance(value, np.ndarray):
        import torch

        return torch.from_numpy(value).to(scores.device)
    return value


def is_float(value: Any) -> bool:
    """Whether an array or a tensor holds floating-point numbers."""
    return value.dtype.is_floating_point if is_tensor(value) else getattr(value.dtype, "kind", "") == "f"


def index_select(src: Any, index: Any, default_value: float = 0) -> Any:
    """``src[index]`` along axis 0, and ``default_value`` where the int32 ``index`` is -1.

    ``src`` is a NumPy array, or a PyTorch tensor, which gradients go through.
    """
    import numpy as np

    if not is_tensor(src):
        index = int32_of(index, "index")
        kept = index >= 0
        if kept.all():
            return src[index]
        made = np.full((len(index), *src.shape[1:]), default_value, src.dtype)
        made[kept] = src[index[kept]]
        return made
    import torch

    index = torch.from_numpy(int32_of(index, "index")).long().to(src.device)
    kept = index >= 0
    if bool(kept.all()):
        return src.index_select(0, index)
    if len(src) == 0:
        return src.new_full((len(index), *src.shape[1:]), default_value)
    made = src.index_select(0, index.clamp(min=0))
    kept = kept.reshape(-1, *[1] * (src.dim() - 1))
    return torch.where(kept, made, torch.full_like(made, default_value))


def index_add(index: Any, value: Any, in_out: Any) -> None:
    """``in_out[index[i]] += value[i]``, in place, except where ``index[i]`` is -1."""
    import numpy as np

    index = int32_of(index, "index")
    if len(index) != len(value):
        raise ValueError(f"there are {len(index)} indexes, and {len(value)} values")
    if (index < -1).any():
        raise ValueError(f"index {index.min()} can't be: it must be -1, for none, or more")
    if is_tensor(in_out):
        elements, rows = elements_and_rows(index, in_out.device)
        in_out.index_add_(0, elements, value[rows])
    else:
        kept = index >= 0
        np.add.at(in_out, index[kept], numpy_of(value)[kept])


def index(src: Any, indexes: RaggedTensor, default_value: int = 0) -> RaggedTensor:
    """The elements of an int32 or float32 array, or the rows of a ``RaggedTensor``, at lists of indexes.

    ``default_value`` stands for an index of -1, an empty row of a ``RaggedTensor``.
    """
    if isinstance(src, RaggedTensor):
        return src.index(indexes)
    return _kaldera.index_lists(numpy_of(src), indexes, default_value)


def index_and_sum(src: Any, indexes: RaggedTensor) -> Any:
    """The sum of the elements at each list of indexes, -1 for none: ``[lists]``; gradients go through tensors."""
    if not is_tensor(src):
        return _kaldera.index_and_sum(numpy_of(src), indexes)
    elements, rows = elements_and_rows(indexes, src.device)
    sums = src.new_zeros(indexes.tot_size(indexes.num_axes - 2))
    return sums.index_add(0, rows, src.index_select(0, elements))


def elements_and_rows(indexes: Any, device: Any) -> Tuple[Any, Any]:
    """The elements that an int32 array or lists of indexes name, without -1, and the row of each, tensors."""
    import numpy as np
    import torch

    lists = isinstance(indexes, RaggedTensor)
    elements = indexes.values if lists else indexes
    rows = indexes.shape.row_ids(indexes.num_axes - 1) if lists else np.arange(len(indexes))
    kept = elements >= 0
    return torch.from_numpy(elements[kept]).long().to(device), torch.from_numpy(rows[kept]).long().to(device)


def simple_ragged_index_select(src: Any, indexes: RaggedTensor) -> Any:
    """The one element that is not 0 of those at each list of indexes, 0 where there is none.

    ``src`` are integers; several in one list that are not 0 are a ``ValueError``.
    """
    import numpy as np

    if indexes.num_axes != 2:
        raise ValueError(f"the indexes are lists, and have {indexes.num_axes} axes")
    lists = index(int32_of(src, "src"), indexes).remove_values_eq(0)
    counts = np.diff(lists.shape.row_splits(1))
    if (counts > 1).any():
        row = int(np.argmax(counts > 1))
        raise ValueError(f"list {row} has several elements that are not 0: {lists[row].tolist()}")
    return like(lists.sum(), src)


def compose_arc_maps(step1_arc_map: Any, step2_arc_map: Any) -> Any:
    """``step1_arc_map[step2_arc_map]``, int32, and -1 where that of the second step is -1."""
    return index_select(step1_arc_map, step2_arc_map, default_value=-1)
