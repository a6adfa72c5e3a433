"""Features: fbank, MFCC, PLP, spectrogram, log-mel, pitch, and what comes after them.

NumPy is imported when it is needed: ``import kaldera`` takes a few milliseconds.
"""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Tuple, Union

from . import _kaldera

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    Recording = Union[ArrayLike, str, os.PathLike]
    Rows = NDArray[np.float32]


def parse_config(text: Union[str, os.PathLike]) -> dict[str, Any]:
    """The options of a Kaldi configuration: lines ``--name=value``, ``#`` begins a comment.

    ``text`` is a path, or the text itself if it has a newline or begins with ``--``. A name without
    a value is true.

    >>> parse_config("--num-mel-bins=80  # as lhotse\\n--use-energy")
    {'num_mel_bins': '80', 'use_energy': 'true'}
    """
    if isinstance(text, os.PathLike) or not ("\n" in text or text.lstrip().startswith("--") or text.strip() == ""):
        text = Path(text).read_text(encoding="utf-8-sig")
    options: dict[str, Any] = {}
    for number, line in enumerate(str(text).splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        if not line.startswith("--"):
            raise ValueError(f"line {number} of the configuration is '{line}': expected '--name=value'")
        name, equals, value = line[2:].partition("=")
        options[name.strip().replace("-", "_")] = value.strip() if equals else "true"
    return options


def _config(config: Mapping[str, Any] | str | os.PathLike | None) -> dict[str, Any]:
    """The options of a configuration, under Python's names."""
    if config is None:
        return {}
    config = config if isinstance(config, Mapping) else parse_config(config)
    return {name.replace("-", "_"): value for name, value in config.items()}


def _merged(
    sample_rate: float | None, config: Mapping[str, Any] | str | os.PathLike | None, options: dict[str, Any]
) -> dict[str, Any]:
    """All options: those given go before a configuration's."""
    merged = _config(config)
    if sample_rate is not None:
        merged["sample_frequency"] = sample_rate
    merged.update(options)
    return merged


def _is_path(recording: Any) -> bool:
    return isinstance(recording, (str, os.PathLike))


def _is_batch(audio: Any) -> bool:
    if not isinstance(audio, (list, tuple)):
        return False
    return not audio or _is_path(audio[0]) or hasattr(audio[0], "__len__")


class _Features(_kaldera.FeatureExtractor):
    """Extracts features: planned once, used for any number of recordings from any number of threads.

    ``options`` are Kaldi's, with underscores: ``num_mel_bins=80, snip_edges=False``, and Kaldi's defaults, but the dither is 0; ``sample_rate`` is
    ``sample_frequency``, in Hz. ``preset`` names the toolkit whose defaults they begin with:
    ``kaldi``, ``torchaudio``, ``lhotse``, ``whisper``, ``librosa``, or a model whose features are
    all that it takes: ``zipformer``, ``whisper-30s``, ``whisper-large-v3``, ``qwen3-asr``,
    ``medasr``, ``gemma4``, ``snfa`` (:class:`FrontEnd` has all). ``config`` is a dict of options, the text of a Kaldi configuration, or its
    path; options go before it.

    Raises ValueError for an option that does not exist, listing those that do, and for values that
    no features can be computed with.
    """

    _kind = ""

    def __new__(
        cls,
        sample_rate: float | None = None,
        *,
        preset: str | None = None,
        config: Mapping[str, Any] | str | os.PathLike | None = None,
        **options: Any,
    ) -> Self:
        return super().__new__(cls, cls._kind, preset, _merged(sample_rate, config, options))

    def compute(
        self,
        audio: Recording | Sequence[Recording],
        sample_rate: float | Sequence[float] | None = None,
        *,
        key: str | Sequence[str] | None = None,
        vtln_warp: float | Sequence[float] | None = None,
        scale: float = 1.0,
        channel: int | str | None = None,
        threads: int | None = None,
        output: str = "list",
        padding_value: float = 0.0,
    ) -> Any:
        """Features of a recording, float32 ``[frames, dim]``, or of a list of recordings.

        A recording is an array of samples, or the path of a file. int16 and float32 arrays are not
        copied, and samples are multiplied by ``scale``: 32768 for audio in [-1, 1], 1/65536 for 32-bit
        integers; uint8 is 8-bit audio, 0 at 128. Of a file, or an array ``[samples, channels]`` or ``[channels,
        samples]``, with several channels ``channel`` says which is taken: ``channel=0``, or ``"mean"``
        for the mean of all. The axis of the channels is that of at most 256.
        ``sample_rate`` in Hz is that of the file, or that of the options, if it is left out; audio of
        another rate than the options' needs the option ``allow_downsample`` or ``allow_upsample``, or
        :func:`read_audio` with a ``sample_rate``. ``key`` decides the dither, and ``vtln_warp`` is
        the speaker's warp factor; both may be one for each recording.

        A list is computed on ``threads`` threads (all processors by default), and the result is

        - ``output="list"``: a list of arrays,
        - ``output="padded"``: float32 ``[recordings, longest, dim]`` filled up with ``padding_value``,
          and the int64 lengths,
        - ``output="flat"``: float32 ``[all frames, dim]``, and int32 row splits.

        Do not change the arrays while another thread computes their features.
        """
        given: Any = audio
        if output not in _OUTPUTS:
            raise ValueError(f"output={output!r} can't be: it must be 'list', 'padded' or 'flat'")
        if not _is_batch(given):
            name: Any = "" if key is None else key
            warp: Any = 1.0 if vtln_warp is None else vtln_warp
            return self._compute(*_one(given, sample_rate, channel, scale), name, warp, scale)
        recordings, number = list(given), len(given)
        rates = _each("sample rates", sample_rate, number) or [None] * number
        for i, recording in enumerate(recordings):
            recordings[i], rate = _one(recording, rates[i], channel, scale)
            rates[i] = self.sample_rate if rate is None else rate
        keys, warps = _each("keys", key, number), _each("warp factors", vtln_warp, number)
        return self._compute_batch(recordings, rates, keys, warps, scale, threads, output, padding_value)

    __call__ = compute

    def __reduce__(self):
        return _restore, (type(self), self.options)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({options})"


def _one(
    recording: Any, sample_rate: Any, channel: int | str | None, scale: float, first: bool = False
) -> Tuple[Tuple[Any, Any], Any]:
    """A recording and which of its channels is taken; and its rate, none for that of the options.

    Of a file with several channels ``first`` takes the first, and warns.
    """
    if not _is_path(recording):
        return (recording, channel), sample_rate
    name = os.fsdecode(recording)
    if scale != 1:
        raise ValueError(f"{name}: scale={scale} is of arrays: what is read from files is on the scale of 16-bit integers")
    samples, rate = _kaldera.read_audio(name, False, channel)
    if sample_rate is not None and sample_rate != rate:
        raise ValueError(f"{name}: it has {rate:g} Hz, and not sample_rate={sample_rate:g}: leave sample_rate out for files")
    if samples.ndim == 1:
        return (samples, None), rate
    channels = samples.shape[1]
    if not first:
        raise ValueError(f"{name}: it has {channels} channels: pass channel=0 for the first, or channel='mean'")
    warnings.warn(f"{name} has {channels} channels; taking the first, as channel=0 does without a warning", stacklevel=4)
    return (samples, 0), rate


def _each(what: str, value: Any, number: int) -> list | None:
    """One value for each recording."""
    if value is None:
        return None
    # Arrays without axes have a length that can't be asked for.
    if isinstance(value, str) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0:
        return [value] * number
    if len(value) != number:
        raise ValueError(f"{len(value)} {what} for {number} recordings")
    return list(value)


def _restore(kind: type, options: dict[str, Any]):
    return kind(**options)


class Fbank(_Features):
    """Kaldi's log mel filterbank: ``dim`` is ``num_mel_bins``, 23 by default."""

    _kind = "fbank"


class Mfcc(_Features):
    """Kaldi's MFCC: ``dim`` is ``num_ceps``, 13 by default."""

    _kind = "mfcc"


class Plp(_Features):
    """Kaldi's PLP: ``dim`` is ``num_ceps``, 13 by default."""

    _kind = "plp"


class Spectrogram(_Features):
    """Kaldi's log power spectrogram: ``dim`` is half the padded window plus 1, 257 at 16 kHz."""

    _kind = "spectrogram"


class LogMel(_Features):
    """The log-mel spectrogram of Whisper (the default) or librosa: ``dim`` is ``num_mel_bins``, 80."""

    _kind = "log_mel"


class Pitch(_Features):
    """Kaldi's pitch: column 0 is the NCCF, column 1 the pitch in Hz. See :func:`process_pitch`.

    Frames that are taken from a stream before its end are Kaldi's first guess; taken after
    ``input_finished()``, all are those of the whole recording.
    """

    _kind = "pitch"


class FrontEnd(_Features):
    """The whole front end of a model: from samples to the rows that its network takes.

    ``preset`` is one of :func:`presets`; ``options`` are those of its features, and ``preemphasis``,
    ``lfr_m``, ``lfr_n``, ``normalize``. ``cmvn`` is the path of the ``am.mvn`` of SenseVoice and
    Paraformer. :meth:`stream` is a ``ValueError`` where rows depend on the whole recording, as those of
    Whisper and NeMo do.

    >>> import numpy as np
    >>> FrontEnd("sensevoice").compute(np.zeros(16000, np.int16)).shape
    (17, 560)
    """

    _kind = "front_end"

    def __new__(
        cls,
        preset: str,
        sample_rate: float | None = None,
        *,
        cmvn: str | os.PathLike | None = None,
        config: Mapping[str, Any] | str | os.PathLike | None = None,
        **options: Any,
    ) -> Self:
        text = None if cmvn is None else Path(cmvn).read_text()
        return cls._of(preset, text, _merged(sample_rate, config, options))

    @classmethod
    def _of(cls, preset: str, cmvn: str | None, options: dict[str, Any]) -> Self:
        front_end = _kaldera.FeatureExtractor.__new__(cls, cls._kind, preset, options, cmvn)
        front_end.preset, front_end._cmvn = preset, cmvn
        return front_end

    def __reduce__(self):
        return type(self)._of, (self.preset, self._cmvn, self.options)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"FrontEnd({self.preset!r}{options})"


def presets() -> dict[str, str]:
    """The presets by name: the models that they are for, and what differs from Kaldi's defaults.

    >>> presets()["moonshine"]
    'Moonshine: samples from -1 to 1 themselves'
    """
    return {name: f"{models}: {differences}" if models else differences for name, models, differences in _kaldera.presets()}


@functools.lru_cache(maxsize=32)
def _planned(kind: type, preset: str | None, options: tuple) -> _Features:
    return kind(preset=preset, **dict(options))


_OUTPUTS = ("list", "padded", "flat")
_COMPUTE = ("key", "vtln_warp", "scale", "channel", "threads", "output", "padding_value")


def _one_call(kind: type, audio: Any, sample_rate: float | None, preset: str | None, options: dict[str, Any]) -> Any:
    arguments = {name: options.pop(name) for name in _COMPUTE if name in options}
    merged = {} if sample_rate is None else {"sample_frequency": sample_rate}
    merged.update(_config(options.pop("config", None)))
    merged.update((name, value) for name, value in options.items() if value is not None)
    # The texts that options are read from: 1, 1.0 and True are equal, and can't tell plans apart.
    texts = ((name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in merged.items())
    planned = _planned(kind, preset, tuple(texts))
    # A file has its own rate.
    rate = lambda recording: None if _is_path(recording) else sample_rate
    rates = [rate(recording) for recording in audio] if _is_batch(audio) else rate(audio)
    return planned.compute(audio, rates, **arguments)


def fbank(
    audio: Recording | Sequence[Recording], sample_rate: float | None = None, *, preset: str | None = None, **options: Any
) -> Any:
    """Kaldi's log mel filterbank of one recording or a list: float32 ``[frames, num_mel_bins]``.

    ``options`` are Kaldi's (``num_mel_bins=80, snip_edges=False`` ...) and the arguments of
    :meth:`Fbank.compute` (``scale``, ``channel``, ``output``, ``threads`` ...). ``sample_rate`` is that of the
    samples in Hz, and of the options unless they or ``config`` have a ``sample_frequency``; without
    it samples have that of the options. A file has its own.

    >>> import numpy as np
    >>> fbank(np.zeros(16000, np.int16), num_mel_bins=80).shape
    (98, 80)
    """
    return _one_call(Fbank, audio, sample_rate, preset, options)


def mfcc(
    audio: Recording | Sequence[Recording], sample_rate: float | None = None, *, preset: str | None = None, **options: Any
) -> Any:
    """Kaldi's MFCC: float32 ``[frames, num_ceps]``. Arguments as :func:`fbank`."""
    return _one_call(Mfcc, audio, sample_rate, preset, options)


def plp(
    audio: Recording | Sequence[Recording], sample_rate: float | None = None, *, preset: str | None = None, **options: Any
) -> Any:
    """Kaldi's PLP: float32 ``[frames, num_ceps]``. Arguments as :func:`fbank`."""
    return _one_call(Plp, audio, sample_rate, preset, options)


def spectrogram(
    audio: Recording | Sequence[Recording], sample_rate: float | None = None, *, preset: str | None = None, **options: Any
) -> Any:
    """Kaldi's log power spectrogram: float32 ``[frames, frequencies]``. Arguments as :func:`fbank`."""
    return _one_call(Spectrogram, audio, sample_rate, preset, options)


def log_mel(
    audio: Recording | Sequence[Recording],
    sample_rate: float | None = None,
    *,
    preset: str | None = "whisper",
    **options: Any,
) -> Any:
    """Whisper's or librosa's log-mel spectrogram: float32 ``[frames, num_mel_bins]``.

    Frames are the rows; Whisper's own arrays are the transpose. Arguments as :func:`fbank`.
    """
    return _one_call(LogMel, audio, sample_rate, preset, options)


def pitch(audio: Recording | Sequence[Recording], sample_rate: float | None = None, **options: Any) -> Any:
    """Kaldi's pitch: float32 ``[frames, 2]``, the NCCF and the pitch in Hz. Arguments as :func:`fbank`."""
    return _one_call(Pitch, audio, sample_rate, None, options)


def _rows(features: ArrayLike) -> Rows:
    import numpy as np

    rows = np.require(features, np.float32, "CA")
    if rows.ndim != 2:
        raise ValueError(f"features are [frames, dim], and this array has the shape {rows.shape}")
    return rows


def process_pitch(pitch: ArrayLike, *, key: str = "", **options: Any) -> Rows:
    """Kaldi's features of pitch from ``[frames, 2]`` of :func:`pitch`.

    By default 3 columns: voicing, normalised log pitch, its change. ``options`` are those of
    ``process-kaldi-pitch-feats``; ``key`` decides the noise.
    """
    return _kaldera.process_pitch(_rows(pitch), key, options)


def add_deltas(features: ArrayLike, *, delta_order: int = 2, delta_window: int = 2) -> Rows:
    """Features with their deltas behind them: ``[frames, dim * (delta_order + 1)]``."""
    return _kaldera.add_deltas(_rows(features), {"delta_order": delta_order, "delta_window": delta_window})


def splice(features: ArrayLike, left_context: int = 4, right_context: int = 4) -> Rows:
    """Each frame with its neighbours: ``[frames, dim * (left_context + 1 + right_context)]``."""
    return _kaldera.splice(_rows(features), left_context, right_context)


def cmvn_stats(features: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Kaldi's statistics of one array of features or of a list of them: float64 ``[2, dim + 1]``.

    Row 0 has the sums and the count, row 1 the sums of squares.
    """
    several: list[Any] = list(features) if isinstance(features, (list, tuple)) else [features]
    return _kaldera.cmvn_stats([_rows(each) for each in several])


def apply_cmvn(
    features: ArrayLike,
    stats: ArrayLike | None = None,
    *,
    norm_vars: bool = False,
    reverse: bool = False,
) -> Rows:
    """Features of mean 0 and, with ``norm_vars``, variance 1, by ``stats`` or their own statistics.

    ``reverse=True`` gives normalised features the mean and variance of ``stats``.
    """
    import numpy as np

    rows = _rows(features)
    own = _kaldera.cmvn_stats([rows]) if stats is None else np.require(stats, np.float64, "CA")
    if own.ndim != 2:
        raise ValueError(f"statistics are [2, dim + 1], and this array has the shape {own.shape}")
    return _kaldera.apply_cmvn(rows, own, norm_vars, reverse)


def sliding_cmvn(features: ArrayLike, **options: Any) -> Rows:
    """Normalisation over a window that moves, with the options of ``apply-cmvn-sliding``."""
    return _kaldera.sliding_cmvn(_rows(features), options)


def vad(features: ArrayLike, **options: Any) -> NDArray[np.bool_]:
    """Which frames are loud, by column 0, the log energy: bool ``[frames]``.

    ``options`` are those of ``compute-vad``; ``features[vad(features)]`` are the voiced frames.
    """
    return _kaldera.vad(_rows(features), options)


def resample(
    audio: ArrayLike, from_rate: float, to_rate: float, *, method: str = "polyphase"
) -> NDArray[np.float32]:
    """Samples at another rate in Hz: float32 ``[samples]``.

    ``method="polyphase"`` has the quality of ffmpeg's default, as ``kaldera features --resample`` and the
    audio that a :class:`Recognizer` gets. ``method="kaldi"`` is Kaldi's ``LinearResample``, as the options
    ``allow_downsample`` and ``allow_upsample`` use it: a third of the taps. Rates that are no whole numbers
    are rounded by the first and cut off by the second.
    """
    return _kaldera.resample(audio, from_rate, to_rate, method)


def read_audio(
    source: Any,
    *,
    channel: int | str | None = None,
    sample_rate: float | None = None,
    mono: bool = False,
    allow_truncated: bool = False,
) -> Tuple[NDArray[np.int16] | NDArray[np.float32], int | float]:
    """The samples of an audio file, and its sample rate in Hz, an ``int`` where it is whole.

    ``source`` is a path, the file's bytes, or an open binary file. WAV, AIFF, AU, CAF, Wave64 and NIST
    SPHERE of any width, FLAC, MP3 and Ogg Vorbis are known by their contents. Samples are on the scale
    of 16-bit integers: int16 of uncompressed files of up to 16 bits, float32 of others. ``[samples]`` of
    one channel, ``[samples, channels]`` of several; ``channel=0`` takes one, ``channel="mean"`` mixes
    them. A file that ends early is a ``ValueError``, or with ``allow_truncated`` what there is.

    With ``mono=True`` there is one channel, the mean of all unless ``channel`` says which, and with a
    ``sample_rate`` in Hz the audio is resampled to it with the quality of ffmpeg's default
    (:func:`resample`); samples are then float32. ``read_audio(path, sample_rate=16000, mono=True)`` is
    what ``librosa.load`` and ``asrfront.load`` give, times 32768.
    """
    name = "audio"
    if hasattr(source, "read"):
        name, source = str(getattr(source, "name", "audio")), source.read()
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    if not isinstance(source, bytes):
        return _kaldera.read_audio(os.fsdecode(source), allow_truncated, *_conversion(channel, sample_rate, mono))
    try:
        return _kaldera.read_audio(source, allow_truncated, *_conversion(channel, sample_rate, mono))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _conversion(channel: int | str | None, sample_rate: float | None, mono: bool) -> tuple:
    """What is done to the samples of a file: channel, rate, and whether they become float32."""
    if sample_rate is not None and not 1 <= sample_rate <= 10_000_000:
        raise ValueError(f"sample_rate={sample_rate} can't be: it must be from 1 to 10000000 Hz")
    return ("mean" if mono and channel is None else channel), sample_rate, mono or sample_rate is not None


def find_recordings(folder: str | os.PathLike) -> dict[str, str]:
    """The audio files of a folder and of those in it: their paths by keys, in the order of the keys.

    The key of ``spk1/a.flac`` is ``spk1-a``, as in the command. Files of formats that are not read,
    and two files with one key, are a ``ValueError``; what is no audio is passed over. A folder with a
    ``wav.scp`` has the recordings of this list; commands in it are refused.
    """
    from .files import _paths_of_scp

    folder = Path(folder)
    if (folder / "wav.scp").is_file():
        return _paths_of_scp(folder / "wav.scp")
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    return dict(_kaldera.list_recordings(os.fspath(folder)))
