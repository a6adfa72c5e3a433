"""FSAs as texts, drawings and tensors, as k2 has them."""

from __future__ import annotations

from typing import Any

from .._kaldera import RaggedTensor
from ._arrays import numpy_of
from .fsa import Fsa


def to_str(fsa: Fsa, openfst: bool = False) -> str:
    """:meth:`Fsa.to_str`: k2's text, or OpenFst's, of one FSA, with its int32 attributes and lists."""
    return fsa.to_str(openfst)


def to_str_simple(fsa: Fsa, openfst: bool = False) -> str:
    """As :func:`to_str` with output labels alone, and without lists of them."""
    aux_labels = fsa._tensor_attr.get("aux_labels")
    written = {} if aux_labels is None or isinstance(aux_labels, RaggedTensor) else {"aux_labels": numpy_of(aux_labels)}
    return fsa.arcs.to_str(written, openfst)


def to_tensor(fsa: Fsa) -> Any:
    """:meth:`Fsa.arcs_as_tensor`: int32 ``[arcs, 4]`` of one FSA, a flat array of a vector."""
    return fsa.arcs_as_tensor()


def to_dot(fsa: Fsa, title: str | None = None) -> str:
    """A drawing for Graphviz, as text; ``k2.to_dot`` has it in an object of the package ``graphviz``."""
    return fsa.arcs.to_dot(fsa._printable(), title or "")
