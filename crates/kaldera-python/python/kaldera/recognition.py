"""Recognition with the model of a folder, alignment, and word error rates."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any, Sequence

from . import _kaldera
from .features import _each, _is_batch, _is_path, _one

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self


@dataclasses.dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        confidence = "" if self.confidence is None else f", confidence={self.confidence:.3g}"
        return f"Segment({self.text!r}, {self.start:.3f} s to {self.end:.3f} s{confidence})"


@dataclasses.dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f"Hypothesis({self.text!r}, score={self.score:.6g}, {len(self.words)} words)"


@dataclasses.dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        more = f", and {len(self.hypotheses) - 1} more hypotheses" if len(self.hypotheses) > 1 else ""
        return f"Transcript({self.key!r}, {self.text!r}, {len(self.words)} words{more})"


def _segments(parts: list) -> list[Segment]:
    return [Segment(*part) for part in parts]


def _transcript(key: str, guesses: list) -> Transcript:
    return Transcript(key, [Hypothesis(score, _segments(words), _segments(tokens)) for score, words, tokens in guesses])


class _OfFolder:
    """A class of the library that is made of a folder and options of decoding."""

    def __new__(cls, folder: str | os.PathLike, **options: Any) -> Self:
        return super().__new__(cls, folder, json.dumps(options, default=os.fspath))

    def __init__(self, folder: str | os.PathLike, **options: Any):
        self._made_of = (os.fspath(folder), options)

    def __repr__(self) -> str:
        folder, options = self._made_of
        options = "".join(f", {name}={value!r}" for name, value in options.items())
        return f"{type(self).__name__}({folder!r}{options})"

    def __reduce__(self):
        return _opened, (type(self), *self._made_of)


def _opened(kind: type, folder: str, options: dict) -> Any:
    return kind(folder, **options)


class Recognizer(_OfFolder, _kaldera.Recognizer):
    """Recognises speech with the model of a folder (``model.toml``, tokens, network ...), or of a Vosk
    or Kaldi folder as it is, which takes ``n_best``, ``acoustic_scale``, ``search_beam``, ``lattice_beam`` and
    ``max_active``.

    ``options`` change those of decoding in ``model.toml``: ``beam``, ``n_best``, ``lm_weight``,
    ``word_score``, ``symbols_per_frame``, ``hotwords``, ``hotword_weight``, ``language_model``, ``graph``,
    ``acoustic_scale``, ``search_beam``, ``lattice_beam``, ``max_active``. Hot words are texts such as ``"five nine"``
    or ``"five nine :2.5"`` with a bonus of its own; each token of others has ``hotword_weight``, 1.5 unless given, and
    with a lexicon or words that tokens spell each word. None keeps the option of ``model.toml``.

    Raises OSError for files that cannot be read, ValueError for what is wrong in them.
    """

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

        A recording is an array of samples, which times ``scale`` are on the scale of 16-bit integers,
        or the path of a file. Of an array ``[samples, channels]`` or ``[channels, samples]`` with
        several channels ``channel`` says which is taken: ``channel=0``, or ``"mean"`` for the mean of
        all; of a file it is the first, with a warning, if nothing is said. Arrays need their
        ``sample_rate`` in Hz, and files have their own; audio of another rate than the model's is
        resampled. Long recordings are cut at pauses.

        Returns a :class:`Transcript`, or a list of them.
        """
        several = _is_batch(audio)
        recordings = list(audio) if several else [audio]
        number = len(recordings)
        rates = _each("sample rates", sample_rate, number) or [None] * number
        keys = _each("keys", key, number) or [""] * number
        for i, recording in enumerate(recordings):
            recordings[i], rates[i] = self._audio(recording, rates[i], channel, scale)
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
        samples, rate = self._audio(audio, sample_rate, channel, scale)
        return _segments(self._align(samples, rate, key, scale, text))

    def stream(self, sample_rate: float | None = None, *, key: str = "") -> RecognizerStream:
        """A stream of samples of this rate in Hz, the model's if it is left out."""
        rate = self.sample_rate if sample_rate is None else sample_rate
        return RecognizerStream(self._stream(key, rate), key, rate)

    def _audio(self, recording: Any, sample_rate: float | None, channel: int | str | None, scale: float) -> tuple:
        """A recording with its channel, and its rate in Hz."""
        if _is_path(recording):
            return _one(recording, sample_rate, channel, scale, first=True)
        if sample_rate is None:
            raise ValueError(
                f"an array needs sample_rate, that of its samples in Hz: sample_rate={self.sample_rate:g} is the model's, and "
                "audio of other rates is resampled"
            )
        return (recording, channel), sample_rate


class Decoder(_OfFolder, _kaldera.Decoder):
    """Decodes log-probabilities of another program with the model of a folder, which needs no network.

    ``options`` and errors are as for :class:`Recognizer`. An array of log-probabilities is float32,
    ``[frames, outputs]``, with an output for each token, or for each line of ``network.outputs``.

    >>> decoder = Decoder("model", beam=20)                                # doctest: +SKIP
    >>> {key: decoder.decode(log_probs, key=key).text                      # doctest: +SKIP
    ...  for key, log_probs in load_ark("model/posteriors.ark")}
    """

    def decode(self, log_probs: NDArray[np.float32], *, key: str = "") -> Transcript:
        """The words of an utterance."""
        return _transcript(key, self._decode(log_probs, key))

    def align(self, log_probs: NDArray[np.float32], text: str, *, key: str = "") -> list[Segment]:
        """Where the words of ``text`` are in an utterance, with times in seconds and confidences."""
        return _segments(self._align(log_probs, key, text))


class RecognizerStream:
    """Recognition while samples come: made by :meth:`Recognizer.stream`."""

    def __init__(self, stream: _kaldera.RecognizerStream, key: str, rate: float):
        self._stream = stream
        self._key = key
        self._rate = rate

    def __repr__(self) -> str:
        return f"<RecognizerStream {self._key!r} of {self._rate:g} Hz>"

    def accept_waveform(self, audio: ArrayLike, scale: float = 1.0) -> None:
        """Takes the next samples, as few or many as there are."""
        self._stream._accept(audio, scale)

    def partial(self) -> Transcript:
        """The words so far."""
        return _transcript(self._key, self._stream._partial())

    def input_finished(self) -> Transcript:
        """Ends the stream: the words of the whole, as :meth:`Recognizer.transcribe` has them."""
        return _transcript(self._key, self._stream._finish())


class LiveRecognizer:
    """Recognition of speech without an end, as of a microphone, in utterances.

    An utterance ends at a pause, by Kaldi's endpoint rules, or by the rules of a Vosk folder. Times are in seconds from the start of
    the stream. ``sample_rate`` in Hz is the model's if it is left out.

    >>> live = LiveRecognizer(recognizer)                                  # doctest: +SKIP
    >>> for samples in microphone:                                         # doctest: +SKIP
    ...     for utterance in live.accept_waveform(samples):
    ...         print(utterance.text)
    >>> for utterance in live.input_finished():                            # doctest: +SKIP
    ...     print(utterance.text)
    """

    def __init__(self, recognizer: Recognizer, sample_rate: float | None = None):
        rate = recognizer.sample_rate if sample_rate is None else sample_rate
        self._live = recognizer._live(rate)
        self._rate = rate
        self._partial = Transcript("", [])

    def __repr__(self) -> str:
        return f"<LiveRecognizer of {self._rate:g} Hz>"

    def accept_waveform(self, audio: ArrayLike, scale: float = 1.0) -> list[Transcript]:
        """Takes the next samples, as few or many as there are: the utterances that have ended."""
        ended, so_far = self._live._accept(audio, scale)
        if so_far is not None:
            self._partial = _transcript(*so_far)
        elif ended:
            self._partial = Transcript("", [])
        return [_transcript(*utterance) for utterance in ended]

    def partial(self) -> Transcript:
        """The words so far of the utterance that has not ended."""
        return self._partial

    def input_finished(self) -> list[Transcript]:
        """Ends the stream: the last utterance, or none if nothing was said."""
        last = self._live._finish()
        return [] if last is None else [_transcript(*last)]


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
