"""Kaldi's files, under kaldiio's names: archives, script files, single objects.

An object is a NumPy array: float32 or float64 matrices and vectors, compressed matrices (float32),
int32 vectors, and ``(rate, samples)`` for recordings. A file that a list names may be audio of any
format that :func:`kaldera.read_audio` reads. Commands in place of files (``gunzip -c a.gz |``) are
refused unless ``pipes=True`` says that the list can be trusted.

The bytes of other objects do not tell what they are; ``kind`` does:

| ``kind`` | objects |
|---|---|
| ``"auto"`` | what the bytes say: the above |
| ``"matrix"``, ``"vector"`` | float32, which text has as ``[ ]`` where they are empty |
| ``"token"``, ``"token-vector"`` | ``str``, ``list[str]`` |
| ``"int32"``, ``"float"``, ``"double"``, ``"bool"`` | one number, or truth value |
| ``"int32-vector-vector"``, ``"int32-pair-vector"`` | ``list[list[int]]``, ``list[tuple[int, int]]`` |
| ``"posterior"`` | ``list[list[tuple[int, float]]]``: the pairs of each frame |
| ``"lattice"``, ``"compact-lattice"`` | a ``k2.Fsa`` of words with the attributes ``graph_scores``, ``acoustic_scores`` and ``alignment``, the transition identifiers; either kind is read |
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import ItemsView, Mapping, ValuesView
from typing import IO, TYPE_CHECKING, Any, Iterable, Iterator, Tuple, Union

from . import _kaldera

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Object = Union[NDArray[Any], Tuple[float, NDArray[Any]]]
    Path = Union[str, os.PathLike]


def _is_file(name: Any) -> bool:
    """Whether it is an open file, and no path."""
    return hasattr(name, "read") or hasattr(name, "write")


def load_mat(name: Path | IO, *, kind: str = "auto", pipes: bool = False) -> Any:
    """The object of a file, or of a line of a script file: ``feats.ark:123``, ``feats.ark:123[0:9]``.

    A range counts from 0, and has its last row too, as in Kaldi. ``name`` may be an open binary file.
    """
    reader = _kaldera.ObjectReader(pipes, kind)
    return reader.load_file(name) if _is_file(name) else reader.load(os.fsdecode(name))


def load_ark(name: Path | IO, *, kind: str = "auto", pipes: bool = False) -> Iterator[Tuple[str, Any]]:
    """The keys and objects of an archive, in order, one at a time.

    ``name`` may be an open binary file, such as a member of a tar archive; it is read ahead of the
    objects, and not closed.
    """
    if _is_file(name):
        return _kaldera.TableReader.of_file(name, False, pipes, kind)
    return _kaldera.TableReader(f"ark:{os.fsdecode(name)}", pipes, kind)


def load_scp_sequential(
    name: Path | IO,
    segments: str | os.PathLike | None = None,
    *,
    kind: str = "auto",
    pipes: bool = False,
) -> Iterator[Tuple[str, Any]]:
    """The keys and objects of a script file, in order, one at a time; ``segments`` as :func:`load_scp`."""
    if segments is not None:
        return iter(load_scp(name, segments, pipes=pipes).items())
    if _is_file(name):
        return _kaldera.TableReader.of_file(name, True, pipes, kind)
    return _kaldera.TableReader(f"scp:{os.fsdecode(name)}", pipes, kind)


def load_scp(
    name: Path | IO,
    segments: str | os.PathLike | None = None,
    *,
    kind: str = "auto",
    pipes: bool = False,
) -> LazyTable:
    """The objects that a script file, or an open one, lists: a mapping that reads an object when it is asked for.

    With a ``segments`` file of lines ``utterance recording begin end``, in seconds, and perhaps a channel,
    the script file lists recordings, and the mapping has the utterances: ``(rate, samples)``.
    """
    listed = _kaldera.read_scp(name if _is_file(name) else os.fsdecode(name), pipes)
    table = LazyTable(listed, kind=kind, pipes=pipes)
    return table if segments is None else _Utterances(table, os.fsdecode(segments))


class LazyTable(Mapping):
    """Objects by key, read when they are asked for. It can be pickled, and read after a fork.

    ``items()`` and ``values()`` read in the order of the list, each file as it is when they open it:
    they do not look whether it was written again while it is open.
    """

    def __init__(self, files: Mapping[str, str], *, kind: str = "auto", pipes: bool = False):
        self._files = files
        self._kind = kind
        self._pipes = pipes
        self._load = _kaldera.ObjectReader(pipes, kind).load

    def __getitem__(self, key: str) -> Any:
        return self._load(self._files[key])

    def items(self) -> ItemsView:
        """Keys and objects, one at a time."""
        return _Items(self)

    def values(self) -> ValuesView:
        """The objects, one at a time."""
        return _Values(self)

    def _pass(self) -> Iterator[Tuple[str, Any]]:
        """Reads all objects in order."""
        load = _kaldera.ObjectReader(self._pipes, self._kind, True).load
        return ((key, load(name)) for key, name in self._files.items())

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
        return _lazy_table, (dict(self._files), self._kind, self._pipes)

    def __repr__(self) -> str:
        return f"LazyTable of {len(self)} objects"


class _Items(ItemsView):
    def __iter__(self) -> Iterator[Tuple[str, Any]]:
        return self._mapping._pass()


class _Values(ValuesView):
    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping._pass())


def _lazy_table(files: dict[str, str], kind: str, pipes: bool) -> LazyTable:
    return LazyTable(files, kind=kind, pipes=pipes)


#: How many seconds a segment may go on after its recording, and is cut, as Kaldi's extract-segments does.
_MAX_OVERSHOOT = 0.5


class _Utterances(LazyTable):
    """Parts of recordings, read when they are asked for. The last recording is kept."""

    def __init__(self, recordings: LazyTable, segments: str):
        self._recordings = recordings
        self._name = segments
        self._last: Tuple[str, Any] = ("", None)
        lines = _kaldera.read_segments(segments, recordings._pipes)
        self._segments = {key: place for key, *place in lines}
        if len(self._segments) < len(lines):
            (key, *_) = [key for i, (key, *_) in enumerate(lines) if key in {line[0] for line in lines[:i]}]
            raise ValueError(f"{segments}: the utterance '{key}' occurs twice")
        for key, (recording, *_) in self._segments.items():
            if recording not in recordings:
                raise ValueError(f"{segments}: the recording '{recording}' of '{key}' is not in the script file")
        super().__init__({key: recordings.file(place[0]) for key, place in self._segments.items()})

    def __getitem__(self, key: str) -> Any:
        # Other threads may replace the last recording meanwhile.
        part, self._last = self._cut(key, self._last)
        return part

    def _cut(self, key: str, last: Tuple[str, Any]) -> Tuple[Any, Tuple[str, Any]]:
        """An utterance, and the name and content of its recording, which is read if it is not the last."""
        recording, begin, end, channel = self._segments[key]
        if last[0] != recording:
            last = recording, self._recordings[recording]
        if not isinstance(last[1], tuple):
            raise ValueError(f"{self._name}: '{recording}' is no recording")
        rate, samples = last[1]
        length = len(samples) / rate
        if begin >= length or (end is not None and end > length + _MAX_OVERSHOOT):
            raise ValueError(f"{self._name}: '{key}', {begin} s to {end} s, is not in '{recording}' of {length} s")
        part = samples[int(begin * rate) : None if end is None else int(end * rate)]
        if channel is not None:
            channels = 1 if part.ndim == 1 else part.shape[1]
            if channel >= channels:
                raise ValueError(f"{self._name}: '{key}': there is no channel {channel}: there are {channels}")
            part = part if part.ndim == 1 else part[:, channel]
        return (rate, part.copy()), last

    def _pass(self) -> Iterator[Tuple[str, Any]]:
        last: Tuple[str, Any] = ("", None)
        for key in self:
            part, last = self._cut(key, last)
            yield key, part

    def __reduce__(self):
        return _Utterances, (self._recordings, self._name)


def _paths_of_scp(name: str | os.PathLike) -> dict[str, str]:
    files = _kaldera.read_scp(os.fsdecode(name), False)
    for key, file in files.items():
        if file.endswith("|"):
            raise ValueError(f"{os.fsdecode(name)}: the command of '{key}' is not run")
    return files


def save_ark(
    ark: Path | IO,
    array_dict: Mapping[str, Object] | Iterable[Tuple[str, Object]],
    scp: str | os.PathLike | None = None,
    append: bool = False,
    text: bool = False,
    *,
    compression_method: int = 0,
    kind: str = "auto",
) -> None:
    """Writes an archive, and with ``scp`` a script file that points into it.

    ``array_dict`` has keys and objects; ``compression_method`` from 1 to 7 compresses matrices as
    Kaldi does. The archive appears when it is whole: after an error there is the old one, or none.
    ``append=True`` adds to both files what they have not; after an error they are as before.
    As text, Kaldi has ``[ ]`` for a matrix and a vector without elements: a vector is read, unless
    the ``kind`` is ``"matrix"``. ``ark`` may be an open binary file, to which the archive is written
    when it is whole; then there is no ``scp``.
    """
    items = array_dict.items() if isinstance(array_dict, Mapping) else array_dict
    if _is_file(ark) and scp is not None:
        raise ValueError(f"scp={scp!r}: a script file needs the path of the archive, and this is an open file")
    folder = None if _is_file(ark) else os.path.dirname(os.fsdecode(ark)) or "."
    with tempfile.TemporaryDirectory(dir=folder, prefix=".save_ark") as made:
        new, lines = os.path.join(made, "ark"), os.path.join(made, "scp")
        writer = _kaldera.ObjectWriter.to_files(new, None if scp is None else lines, text, compression_method, kind)
        for key, value in items:
            writer.write(key, value)
        writer.close()
        if _is_file(ark):
            with open(new, "rb") as archive:
                shutil.copyfileobj(archive, ark, 1 << 20)
            return
        ark = os.fsdecode(ark)
        before = os.path.getsize(ark) if append and os.path.exists(ark) else 0
        places = ""
        if scp is not None:
            with open(lines, encoding="utf-8") as listed:
                rows = [line.rpartition(f" {new}:") for line in listed.read().splitlines()]
            places = "".join(f"{key} {ark}:{int(place) + before}\n" for key, _, place in rows)
        if append:
            with _appended(ark) as archive, open(new, "rb") as added:
                shutil.copyfileobj(added, archive, 1 << 20)
                if scp is not None:
                    with _appended(scp) as listed:
                        listed.write(places.encode())
            return
        _replace(new, ark)
        if scp is not None:
            scp = os.fsdecode(scp)
            with tempfile.TemporaryDirectory(dir=os.path.dirname(scp) or ".", prefix=".save_ark") as beside:
                lines = os.path.join(beside, "scp")
                with open(lines, "w", encoding="utf-8") as listed:
                    listed.write(places)
                _replace(lines, scp)


@contextlib.contextmanager
def _appended(name: str | os.PathLike) -> Iterator[Any]:
    """A file at whose end to write; after an error it is as before."""
    is_new = not os.path.exists(name)
    with open(name, "ab") as file:
        before = file.tell()
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                file.flush()
            file.truncate(before)
            if is_new:
                os.unlink(name)
            raise


def _replace(new: str, old: str) -> None:
    """Gives a file that is whole its name."""
    with open(new, "rb") as file:
        os.fsync(file.fileno())
    os.replace(new, old)


def save_mat(
    name: str | os.PathLike, array: Object, *, compression_method: int = 0, kind: str = "auto"
) -> None:
    """Writes one object into a file of its own, as Kaldi's ``copy-matrix`` to a file does."""
    _kaldera.save_object(os.fsdecode(name), array, compression_method, kind)


class ReadHelper:
    """Keys and objects of what an rspecifier names: ``ark:FILE``, ``scp:FILE``, ``scp,p:FILE``.

    with ReadHelper("scp:feats.scp") as reader:
        for key, array in reader: ...

    With ``segments``, as :func:`load_scp`, the script file lists recordings, and there are utterances.
    """

    def __init__(
        self,
        rspecifier: str,
        segments: str | os.PathLike | None = None,
        *,
        kind: str = "auto",
        pipes: bool = False,
    ):
        self._table: Any = None
        if segments is None:
            self._table = _kaldera.TableReader(rspecifier, pipes, kind)
            return
        options, _, name = rspecifier.partition(":")
        if "scp" not in options.split(","):
            raise ValueError(f"'{rspecifier}': segments are of the recordings that a script file lists, scp:FILE")
        self._table = load_scp(name, segments, pipes=pipes)

    def __enter__(self) -> ReadHelper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Tuple[str, Any]]:
        table = self._table
        if isinstance(table, LazyTable):
            return iter(table.items())
        return iter(() if table is None else table)

    def close(self) -> None:
        """Ends the reading."""
        if isinstance(self._table, LazyTable):
            self._table = None
        else:
            self._table.close()


class WriteHelper:
    """Writes objects to what a wspecifier names: ``ark:FILE``, ``ark,scp:FILE,FILE``, ``ark,t:FILE``.

    with WriteHelper("ark,scp:feats.ark,feats.scp", compression_method=2) as writer:
        writer("utt1", array)
    """

    def __init__(
        self, wspecifier: str, compression_method: int = 0, *, kind: str = "auto", pipes: bool = False
    ):
        self._table = _kaldera.ObjectWriter(wspecifier, compression_method, pipes, kind)

    def __enter__(self) -> WriteHelper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, key: str, array: Object) -> None:
        self._table.write(key, array)

    def close(self) -> None:
        """Writes out what is in a buffer."""
        self._table.close()
