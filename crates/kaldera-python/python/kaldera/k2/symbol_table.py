"""Symbols by number, and numbers by symbol."""

from __future__ import annotations

import numbers
import os
from typing import Any, Mapping


class SymbolTable:
    """The symbols, usually words or tokens, that the labels of automata stand for, as k2 has them.

    Symbol 0 is epsilon. Symbols are any values that can be keys of a ``dict``, except integers.

    >>> table = SymbolTable.from_str("<eps> 0\\na 1\\nb 2")
    >>> table["a"], table[2], table.add("c"), len(table), "d" in table
    (1, 'b', 3, 4, False)
    """

    def __init__(self, symbols: Mapping[int, Any] | None = None, eps: Any = "<eps>"):
        """``symbols`` by their numbers; ``eps`` is symbol 0 where they have none."""
        #: The symbol 0.
        self.eps = eps if symbols is None else symbols.get(0, eps)
        self._symbols: dict[int, Any] = {}
        self._numbers: dict[Any, int] = {}
        for number, symbol in {0: self.eps, **(symbols or {})}.items():
            if symbol in self._numbers:
                raise ValueError(f"the symbol '{symbol}' has the numbers {self._numbers[symbol]} and {number}")
            self.add(symbol, number)

    @staticmethod
    def from_str(s: str) -> SymbolTable:
        """Reads lines of a symbol and its number, between them spaces or tabs."""
        symbols: dict[int, str] = {}
        for at, line in enumerate(s.split("\n"), 1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) != 2 or not fields[1].isdecimal():
                raise ValueError(f"line {at}: a symbol and its number are expected, and this is '{line[:40]}'")
            number = int(fields[1])
            if number in symbols:
                raise ValueError(f"line {at}: the number {number} is that of '{symbols[number]}' already")
            symbols[number] = fields[0]
        return SymbolTable(symbols)

    @staticmethod
    def from_file(filename: str | os.PathLike) -> SymbolTable:
        """Reads a file, in UTF-8, as :meth:`from_str`."""
        with open(filename, encoding="utf-8-sig") as file:
            try:
                return SymbolTable.from_str(file.read())
            except ValueError as error:
                raise ValueError(f"{os.fsdecode(filename)}: {error}") from None

    def to_str(self) -> str:
        """Lines of symbols and numbers, in the order of the numbers."""
        return "".join(f"{symbol} {number}\n" for number, symbol in sorted(self._symbols.items()))

    def to_file(self, filename: str | os.PathLike) -> None:
        """Writes :meth:`to_str` into a file, in UTF-8."""
        with open(filename, "w", encoding="utf-8") as file:
            file.write(self.to_str())

    def add(self, symbol: Any, index: int | None = None) -> int:
        """The number of a symbol, which gets ``index``, or the number after the highest, if it is new."""
        if symbol in self._numbers:
            return self._numbers[symbol]
        number = max(self._symbols) + 1 if index is None else index
        if number < 0:
            raise ValueError(f"'{symbol}' can't have the number {number}: it must be 0 or more")
        if number in self._symbols:
            raise ValueError(f"'{symbol}' can't have the number {number}: it is that of '{self._symbols[number]}'")
        self._symbols[number] = symbol
        self._numbers[symbol] = number
        return number

    def get(self, k: Any) -> Any:
        """The symbol of a number, or the number of a symbol; a ``KeyError`` where there is none."""
        return self._symbols[k] if isinstance(k, numbers.Integral) else self._numbers[k]

    __getitem__ = get

    def merge(self, other: SymbolTable) -> SymbolTable:
        """A table with the symbols of both; a ``ValueError`` where they contradict each other."""
        for number, symbol in other._symbols.items():
            own = self._symbols.get(number, symbol), self._numbers.get(symbol, number)
            if own != (symbol, number):
                raise ValueError(f"'{symbol}' is {number} in one table, and the other has '{own[0]}' and {own[1]}")
        return SymbolTable({**self._symbols, **other._symbols})

    def __contains__(self, item: Any) -> bool:
        return item in (self._symbols if isinstance(item, numbers.Integral) else self._numbers)

    def __len__(self) -> int:
        return len(self._symbols)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolTable) and self._symbols == other._symbols

    __hash__ = None

    @property
    def ids(self) -> list[int]:
        """All numbers, sorted."""
        return sorted(self._symbols)

    @property
    def symbols(self) -> list[Any]:
        """All symbols, sorted."""
        return sorted(self._numbers)
