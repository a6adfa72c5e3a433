"""Kaldi's files, under kaldiio's names: archives, script files, single objects.

An object is a NumPy array: float32 or float64 matrices and vectors, compressed matrices (float32),
int32 vectors, and ``(rate, samples)`` for recordings. Commands in place of files (``gunzip -c
a.gz |``) are refused unless ``pipes=True`` says that the list can be trusted.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Tuple, Union

from . import _kaldera

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Object = Union[NDArray[Any], Tuple[float, NDArray[Any]]]


def load_mat(name: str | os.PathLike, *, pipes: bool = False) -> Any:
    """The object of a file, or of a line of a script file: ``feats.ark:123``, ``feats.ark:123[0:9]``.

    A range counts from 0, and has its last row too, as in Kaldi.
    """
    return _kaldera.ObjectReader(pipes).load(os.fsdecode(name))


def load_ark(name: str | os.PathLike, *, pipes: bool = False) -> Iterator[Tuple[str, Any]]:
    """The keys and objects of an archive, in order, one at a time."""
    return _kaldera.TableReader(f"ark:{os.fsdecode(name)}", pipes)


def load_scp_sequential(name: str | os.PathLike, *, pipes: bool = False) -> Iterator[Tuple[str, Any]]:
    """The keys and objects of a script file, in order, one at a time."""
    return _kaldera.TableReader(f"scp:{os.fsdecode(name)}", pipes)


def load_scp(name: str | os.PathLike, *, pipes: bool = False) -> LazyTable:
    """The objects that a script file lists: a mapping that reads an object when it is asked for."""
    return LazyTable(dict(_kaldera.read_scp(os.fsdecode(name), pipes)), pipes=pipes)


class LazyTable(Mapping):
    """Objects by key, read when they are asked for. It can be pickled, and read after a fork."""

    def __init__(self, files: Mapping[str, str], *, pipes: bool = False):
        self._files = files
        self._pipes = pipes
        self._reader = _kaldera.ObjectReader(pipes)
        self._process = os.getpid()

    def __getitem__(self, key: str) -> Any:
        file = self._files[key]
        if self._process != os.getpid():
            # The place in an open file is shared with the parent.
            self._reader, self._process = _kaldera.ObjectReader(self._pipes), os.getpid()
        return self._reader.load(file)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, key: object) -> bool:
        return key in self._files

    def file(self, key: str) -> str:
        """Where the object of a key is, as its line says."""
        return self._files[key]

    def __reduce__(self):
        return _lazy_table, (dict(self._files), self._pipes)

    def __repr__(self) -> str:
        return f"LazyTable of {len(self)} objects"


def _lazy_table(files: dict[str, str], pipes: bool) -> LazyTable:
    return LazyTable(files, pipes=pipes)


def _paths_of_scp(name: str | os.PathLike) -> dict[str, str]:
    files = dict(_kaldera.read_scp(os.fsdecode(name), False))
    for key, file in files.items():
        if file.endswith("|"):
            raise ValueError(f"{os.fsdecode(name)}: the command of '{key}' is not run")
    return files


def save_ark(
    ark: str | os.PathLike,
    array_dict: Mapping[str, Object] | Iterable[Tuple[str, Object]],
    scp: str | os.PathLike | None = None,
    *,
    text: bool = False,
    compression_method: int = 0,
) -> None:
    """Writes an archive, and with ``scp`` a script file that points into it.

    ``array_dict`` has keys and objects; ``compression_method`` from 1 to 7 compresses matrices as
    Kaldi does. The archive appears when it is whole: after an error there is the old one, or none.
    As text, Kaldi has ``[ ]`` for a matrix and a vector without elements: a vector is read.
    """
    ark = os.fsdecode(ark)
    items = array_dict.items() if isinstance(array_dict, Mapping) else array_dict
    with tempfile.TemporaryDirectory(dir=os.path.dirname(ark) or ".", prefix=".save_ark") as made:
        new, lines = os.path.join(made, "ark"), os.path.join(made, "scp")
        writer = _kaldera.ObjectWriter.to_files(new, None if scp is None else lines, text, compression_method)
        for key, value in items:
            writer.write(key, value)
        writer.close()
        _replace(new, ark)
        if scp is not None:
            with open(lines, encoding="utf-8") as listed:
                places = listed.read().replace(f" {new}:", f" {ark}:")
            scp = os.fsdecode(scp)
            with tempfile.TemporaryDirectory(dir=os.path.dirname(scp) or ".", prefix=".save_ark") as beside:
                lines = os.path.join(beside, "scp")
                with open(lines, "w", encoding="utf-8") as listed:
                    listed.write(places)
                _replace(lines, scp)


def _replace(new: str, old: str) -> None:
    """Gives a file that is whole its name."""
    with open(new, "rb") as file:
        os.fsync(file.fileno())
    os.replace(new, old)


def save_mat(name: str | os.PathLike, array: Object, *, compression_method: int = 0) -> None:
    """Writes one object into a file of its own, as Kaldi's ``copy-matrix`` to a file does."""
    _kaldera.save_object(os.fsdecode(name), array, compression_method)


class ReadHelper:
    """Keys and objects of what an rspecifier names: ``ark:FILE``, ``scp:FILE``, ``scp,p:FILE``.

    with ReadHelper("scp:feats.scp") as reader:
        for key, array in reader: ...
    """

    def __init__(self, rspecifier: str, *, pipes: bool = False):
        self._table = _kaldera.TableReader(rspecifier, pipes)

    def __enter__(self) -> ReadHelper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Tuple[str, Any]]:
        return iter(self._table)

    def close(self) -> None:
        """Ends the reading."""
        self._table.close()


class WriteHelper:
    """Writes objects to what a wspecifier names: ``ark:FILE``, ``ark,scp:FILE,FILE``, ``ark,t:FILE``.

    with WriteHelper("ark,scp:feats.ark,feats.scp", compression_method=2) as writer:
        writer("utt1", array)
    """

    def __init__(self, wspecifier: str, *, compression_method: int = 0, pipes: bool = False):
        self._table = _kaldera.ObjectWriter(wspecifier, compression_method, pipes)

    def __enter__(self) -> WriteHelper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, key: str, array: Object) -> None:
        self._table.write(key, array)

    def close(self) -> None:
        """Writes out what is in a buffer."""
        self._table.close()
