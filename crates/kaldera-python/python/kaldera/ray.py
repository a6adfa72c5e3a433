"""Features and transcripts in Ray Data, or in any engine that maps batches of columns.

    corpus = ray.data.read_binary_files("corpus", include_paths=True)
    features = corpus.map_batches(
        kaldera.ray.ExtractFeatures, fn_constructor_kwargs={"kind": "fbank", "num_mel_bins": 80},
        batch_size=64, compute=ray.data.ActorPoolStrategy(size=2))

A batch is a dict of NumPy arrays. Audio is in its column ``bytes``, whole files, or in the files
that the column ``path`` names. A recording that cannot be used does not end the run: the column
``error`` says why, and is empty for the others.

The classes need nothing of Ray, and their objects can be pickled: an engine that calls functions
takes ``ExtractFeatures("fbank")`` itself. Each works on one thread, as engines run several.
"""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Mapping

from . import _kaldera
from . import features as _features
from .recognition import Recognizer, Transcript

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Batch = Mapping[str, NDArray[Any]]

_KINDS = {
    kind._kind: kind
    for kind in (
        _features.Fbank,
        _features.Mfcc,
        _features.Plp,
        _features.Spectrogram,
        _features.LogMel,
        _features.Pitch,
        _features.FrontEnd,
    )
}


class _OfRecordings:
    """What reads the recordings of batches."""

    def __init__(self, column: str | None, key: str | None, channel: int | str):
        if channel != "mean" and (isinstance(channel, str) or channel < 0):
            raise ValueError(f"channel={channel!r} can't be: it must be a number from 0, or 'mean'")
        self._column, self._key, self._channel = column, key, channel

    def _map(
        self, batch: Batch, work: Callable[[Any, float, str], Any], nothing: Any
    ) -> tuple[list[Any], dict[str, Any]]:
        """What ``work`` makes of the samples, rate and key of each recording, or ``nothing``.

        Beside it the columns of the batch without the bytes of files, and ``error``.
        """
        recordings = self._recordings(batch)
        keys = [""] * len(recordings) if self._key is None else [str(key) for key in _column(batch, self._key)]
        results, errors = [], []
        for recording, key in zip(recordings, keys):
            try:
                results.append(work(*self._read(recording), key))
                errors.append("")
            # What is wrong with one recording, and not with the program.
            except (ValueError, OSError) as error:
                results.append(nothing)
                errors.append(str(error) or type(error).__name__)
        kept = {name: column for name, column in batch.items() if column is not recordings or not _has_bytes(column)}
        return results, {**kept, "error": _objects(errors)}

    def _recordings(self, batch: Batch) -> NDArray[Any]:
        """The column of the audio."""
        if self._column is not None:
            return _column(batch, self._column)
        return batch["bytes"] if "bytes" in batch else _column(batch, "path")

    def _read(self, recording: Any) -> tuple[Any, float]:
        if isinstance(recording, (str, os.PathLike)):
            recording = Path(recording).read_bytes()
        if not isinstance(recording, bytes):
            raise ValueError(f"a recording is the bytes of a file or a path, and not {type(recording).__name__}")
        return _kaldera.read_audio(recording, False, self._channel)


class ExtractFeatures(_OfRecordings):
    """Features of recordings: the columns ``features``, float32 ``[frames, dim]``, and ``error``.

    ``kind`` is ``fbank``, ``mfcc``, ``plp``, ``spectrogram``, ``log_mel``, ``pitch``, or ``front_end``
    with the ``preset`` of a model; ``options`` and ``preset`` are those of :class:`kaldera.Fbank`, or of
    :class:`kaldera.FrontEnd`. ``column`` is that of the audio:
    ``bytes`` or ``path`` if it is left out. Of recordings with several channels the first one counts,
    or that of ``channel``, or their ``"mean"``. The column ``key`` decides the dither. A recording
    that cannot be used has no frames.
    """

    def __init__(
        self,
        kind: str = "fbank",
        *,
        column: str | None = None,
        key: str | None = None,
        channel: int | str = 0,
        preset: str | None = None,
        **options: Any,
    ):
        super().__init__(column, key, channel)
        if kind not in _KINDS:
            like = difflib.get_close_matches(kind, _KINDS, 1)
            hint = f" (did you mean '{like[0]}'?)" if like else ""
            raise ValueError(f"there are no features '{kind}'{hint}: there are {', '.join(_KINDS)}")
        self._extractor = _KINDS[kind](preset=preset, **options)

    def __call__(self, batch: Batch) -> dict[str, Any]:
        """The batch without the bytes of files, with ``features`` and ``error``."""
        import numpy as np

        def features(samples: Any, rate: float, key: str) -> Any:
            return self._extractor.compute(samples, rate, key=key)

        rows, columns = self._map(batch, features, np.empty((0, self._extractor.dim), np.float32))
        return {**columns, "features": _objects(rows)}


class Transcribe(_OfRecordings):
    """Words of recordings: the columns ``text``, ``words`` and ``error``.

    ``model`` is a model folder, which every machine must have, and ``options`` are those of
    :class:`kaldera.Recognizer`. ``words`` is a JSON list of objects with ``text``, ``start``, ``end``
    (in seconds) and ``confidence``. ``column``, ``key`` and ``channel`` are those of
    :class:`ExtractFeatures`. A recording that cannot be used has no text and no words.
    """

    def __init__(
        self,
        model: str | os.PathLike,
        *,
        column: str | None = None,
        key: str | None = None,
        channel: int | str = 0,
        **options: Any,
    ):
        super().__init__(column, key, channel)
        self._recognizer = Recognizer(model, **options)

    def __call__(self, batch: Batch) -> dict[str, Any]:
        """The batch without the bytes of files, with ``text``, ``words`` and ``error``."""

        def transcribe(samples: Any, rate: float, key: str) -> Transcript:
            return self._recognizer.transcribe(samples, rate, key=key, threads=1)

        transcripts, columns = self._map(batch, transcribe, Transcript("", []))
        texts = [transcript.text for transcript in transcripts]
        words = [json.dumps([_word(word) for word in each.words], ensure_ascii=False) for each in transcripts]
        return {**columns, "text": _objects(texts), "words": _objects(words)}


def _word(word: Any) -> dict[str, Any]:
    return {"text": word.text, "start": word.start, "end": word.end, "confidence": word.confidence}


def _column(batch: Batch, name: str) -> NDArray[Any]:
    if name not in batch:
        raise ValueError(f"the batch has no column '{name}': it has {', '.join(sorted(batch))}")
    return batch[name]


def _has_bytes(column: NDArray[Any]) -> bool:
    return any(isinstance(value, bytes) for value in column)


def _objects(values: list[Any]) -> NDArray[Any]:
    """A column of one axis, whatever the values are."""
    import numpy as np

    column = np.empty(len(values), object)
    for i, value in enumerate(values):
        column[i] = value
    return column
