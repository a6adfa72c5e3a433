"""``k2.fsa_properties``: the bits of ``Fsa.properties``."""

from __future__ import annotations

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

VALID = 0x01
NONEMPTY = 0x02
TOPSORTED = 0x04
TOPSORTED_AND_ACYCLIC = 0x08
ARC_SORTED = 0x10
ARC_SORTED_AND_DETERMINISTIC = 0x20
EPSILON_FREE = 0x40
ACCESSIBLE = 0x80
COACCESSIBLE = 0x0100
ALL = 0x01FF

#: k2's names of the bits, from the lowest.
_NAMES = (
    "Valid",
    "Nonempty",
    "TopSorted",
    "TopSortedAndAcyclic",
    "ArcSorted",
    "ArcSortedAndDeterministic",
    "EpsilonFree",
    "MaybeAccessible",
    "MaybeCoaccessible",
)


def to_str(p: int) -> str:
    """The names of property bits, as ``Fsa.properties_str`` has them.

    >>> to_str(NONEMPTY | TOPSORTED)
    '"Nonempty|TopSorted"'
    """
    return '"' + "|".join(name for i, name in enumerate(_NAMES) if p >> i & 1) + '"'
