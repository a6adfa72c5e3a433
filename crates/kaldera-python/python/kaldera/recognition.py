"""Recognition with the model of a folder, alignment, and word error rates."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any, Sequence

from . import _kaldera
from .features import _each, _is_batch, _one

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclasses.dataclass(frozen=True)
class Segment:
    """A word or a token, and where it is."""

    #: Its text.
    text: str
    #: Where it begins, in seconds.
    start: float
    #: Where it ends, in seconds.
    end: float
    #: How probable it is that it is right, where the decoder has computed that.
    confidence: float | None
    #: Its number; -1 for a word that has none.
    id: int


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One guess at what was said."""

    #: Its total score, a natural logarithm, in which the network's counts with the acoustic scale.
    score: float
    words: list[Segment]
    tokens: list[Segment]

    @property
    def text(self) -> str:
        """The words, with a space between two of them."""
        return " ".join(word.text for word in self.words)


@dataclasses.dataclass(frozen=True)
class Transcript:
    """What was said in a recording: hypotheses, the best one first."""

    key: str
    hypotheses: list[Hypothesis]

    @property
    def text(self) -> str:
        """The words of the best hypothesis."""
        return self.hypotheses[0].text if self.hypotheses else ""

    @property
    def words(self) -> list[Segment]:
        """The words of the best hypothesis, with their times."""
        return self.hypotheses[0].words if self.hypotheses else []

    @property
    def tokens(self) -> list[Segment]:
        """The tokens of the best hypothesis, with their times."""
        return self.hypotheses[0].tokens if self.hypotheses else []


def _segments(parts: list) -> list[Segment]:
    return [Segment(*part) for part in parts]


def _transcript(key: str, guesses: list) -> Transcript:
    return Transcript(key, [Hypothesis(score, _segments(words), _segments(tokens)) for score, words, tokens in guesses])


class Recognizer(_kaldera.Recognizer):
    """Recognises speech with the model of a folder (``model.toml``, tokens, network ...).

    ``options`` change those of decoding in ``model.toml``: ``beam``, ``n_best``, ``lm_weight``,
    ``word_score``, ``symbols_per_frame``, ``hotwords``, ``hotword_weight``, ``language_model``, ``graph``,
    ``acoustic_scale``, ``search_beam``, ``lattice_beam``, ``max_active``.

    Raises OSError for files that cannot be read, ValueError for what is wrong in them.
    """

    def __new__(cls, folder: str | os.PathLike, **options: Any):
        return super().__new__(cls, folder, json.dumps(options, default=os.fspath))

    def __init__(self, folder: str | os.PathLike, **options: Any):
        self._made_of = (os.fspath(folder), options)

    def transcribe(
        self,
        audio: Any,
        sample_rate: float | Sequence[float] | None = None,
        *,
        key: str | Sequence[str] | None = None,
        scale: float = 1.0,
        channel: int | str | None = None,
        threads: int | None = None,
    ) -> Any:
        """The words of a recording, or of each of a list on ``threads`` threads.

        A recording is an array of samples of one channel, which times ``scale`` are on the scale of
        16-bit integers, or the path of a file. Of a file, or array ``[samples, channels]``, with
        several channels ``channel`` says which is taken: ``channel=0``, or ``"mean"`` for the mean of
        all. ``sample_rate`` in Hz is that of the file, or the model's, if it is left out; audio of
        another rate than the model's is resampled. Long recordings are cut at pauses.

        Returns a :class:`Transcript`, or a list of them.
        """
        several = _is_batch(audio)
        recordings = list(audio) if several else [audio]
        number = len(recordings)
        rates = _each("sample rates", sample_rate, number) or [None] * number
        keys = _each("keys", key, number) or [""] * number
        for i, recording in enumerate(recordings):
            recordings[i], rate = _one(recording, rates[i], channel, scale)
            rates[i] = self._rate_of(rate)
        found = self._transcribe(recordings, rates, keys, scale, threads)
        transcripts = [_transcript(name, guesses) for name, guesses in zip(keys, found)]
        return transcripts if several else transcripts[0]

    def align(
        self,
        audio: Any,
        text: str,
        sample_rate: float | None = None,
        *,
        key: str = "",
        scale: float = 1.0,
        channel: int | str | None = None,
    ) -> list[Segment]:
        """Where the words of ``text`` are in a recording, with times in seconds and confidences.

        The other arguments are those of :meth:`transcribe`.
        """
        samples, rate = _one(audio, sample_rate, channel, scale)
        return _segments(self._align(samples, self._rate_of(rate), key, scale, text))

    def stream(self, sample_rate: float | None = None, *, key: str = "") -> RecognizerStream:
        """A stream of samples."""
        return RecognizerStream(self._stream(key, self._rate_of(sample_rate)), key)

    def _rate_of(self, sample_rate: float | None) -> float:
        """A sample rate in Hz, the model's for none."""
        rate = self.sample_rate if sample_rate is None else sample_rate
        if rate is None:
            raise ValueError("this model is log-probabilities of an archive, and takes no audio")
        return rate

    def __reduce__(self):
        return _opened, self._made_of


def _opened(folder: str, options: dict) -> Recognizer:
    return Recognizer(folder, **options)


class RecognizerStream:
    """Recognition while samples come: made by :meth:`Recognizer.stream`."""

    def __init__(self, stream: _kaldera.RecognizerStream, key: str):
        self._stream = stream
        self._key = key

    def accept_waveform(self, audio: ArrayLike, scale: float = 1.0) -> None:
        """Takes the next samples, as few or many as there are."""
        self._stream._accept(audio, scale)

    def partial(self) -> Transcript:
        """The words so far."""
        return _transcript(self._key, self._stream._partial())

    def input_finished(self) -> Transcript:
        """Ends the stream: the words of the whole, as :meth:`Recognizer.transcribe` has them."""
        return _transcript(self._key, self._stream._finish())


@dataclasses.dataclass(frozen=True)
class ErrorCounts:
    """How many words (or characters) are right, and of which kinds the errors are."""

    correct: int
    substitutions: int
    deletions: int
    insertions: int

    @property
    def errors(self) -> int:
        """All errors."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def words(self) -> int:
        """Words of the references."""
        return self.correct + self.substitutions + self.deletions

    @property
    def rate(self) -> float:
        """Errors per word of the references: infinite for errors without words."""
        if self.words == 0:
            return float("inf") if self.errors else 0.0
        return self.errors / self.words


def count_errors(
    references: str | Sequence[str], hypotheses: str | Sequence[str], *, characters: bool = False
) -> ErrorCounts:
    """The errors of hypotheses: of words, or of characters."""
    right, found = ([texts] if isinstance(texts, str) else list(texts) for texts in (references, hypotheses))
    if len(right) != len(found):
        raise ValueError(f"{len(found)} hypotheses for {len(right)} references")
    return ErrorCounts(*_kaldera.count_errors(right, found, characters))


def wer(references: str | Sequence[str], hypotheses: str | Sequence[str]) -> float:
    """The word error rate of one hypothesis or of all of a list together.

    >>> wer("the cat sat", "the cat is at")
    0.6666666666666666
    """
    return count_errors(references, hypotheses).rate
