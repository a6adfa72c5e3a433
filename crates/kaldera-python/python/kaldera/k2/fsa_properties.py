"""``k2.fsa_properties``: the bits of ``Fsa.properties``."""

from __future__ import annotations

from .. import _kaldera

__all__ = [
    "ACCESSIBLE",
    "ALL",
    "ARC_SORTED",
    "ARC_SORTED_AND_DETERMINISTIC",
    "COACCESSIBLE",
    "EPSILON_FREE",
    "NONEMPTY",
    "TOPSORTED",
    "TOPSORTED_AND_ACYCLIC",
    "VALID",
    "to_str",
]

#: The bits by k2's names, from the lowest.
_BITS = _kaldera.fsa_properties()

VALID = _BITS["Valid"]
NONEMPTY = _BITS["Nonempty"]
TOPSORTED = _BITS["TopSorted"]
TOPSORTED_AND_ACYCLIC = _BITS["TopSortedAndAcyclic"]
ARC_SORTED = _BITS["ArcSorted"]
ARC_SORTED_AND_DETERMINISTIC = _BITS["ArcSortedAndDeterministic"]
EPSILON_FREE = _BITS["EpsilonFree"]
ACCESSIBLE = _BITS["MaybeAccessible"]
COACCESSIBLE = _BITS["MaybeCoaccessible"]
ALL = sum(_BITS.values())


def to_str(p: int) -> str:
    """The names of property bits, as ``Fsa.properties_str`` has them.

    >>> to_str(NONEMPTY | TOPSORTED)
    '"Nonempty|TopSorted"'
    """
    return '"' + "|".join(name for name, bit in _BITS.items() if p & bit) + '"'
