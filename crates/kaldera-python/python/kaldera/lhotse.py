"""Feature extractors for lhotse, imported by those who have lhotse.

    from kaldera.lhotse import Fbank, FbankConfig       # in place of lhotse's
    extractor = Fbank(FbankConfig(num_mel_bins=80))
    cuts = cuts.compute_and_store_features(extractor, "feats", num_jobs=8)
    cuts = cuts.compute_and_store_features_batch(extractor, "feats", num_workers=2)

They are registered as ``kaldera-fbank``, ``kaldera-mfcc``, ``kaldera-plp``, ``kaldera-spectrogram``
and ``kaldera-whisper``. Values are those of ``kaldera features --preset lhotse``, bit for bit.
Configurations have lhotse's fields and defaults, except ``device``, ``norm_filters`` and
``torchaudio_compatible_mel_scale``: filters are Kaldi's.

A batch is computed on all processors, and each recording of it has the values that it has alone;
in lhotse's own extractors the last frames of the shorter ones see the zeros of the padding. Dither,
if it is asked for, is the same noise for every recording.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict, Optional, Sequence

import numpy as np
import torch
from lhotse.features.base import FeatureExtractor, register_extractor
from lhotse.utils import EPSILON, compute_num_frames_from_samples

from . import features as _features

#: lhotse's audio is in [-1, 1].
_FULL_SCALE = 32768.0

#: Kaldi's names of options that have others in lhotse.
_KALDI_NAMES = {
    "sampling_rate": "sample_frequency",
    "preemph_coeff": "preemphasis_coefficient",
    "num_filters": "num_mel_bins",
    "hop_length": "hop",
    "n_fft": "fft_size",
}


@dataclass
class _Config:
    """What all configurations have."""

    #: Hz.
    sampling_rate: int = 16000

    def to_dict(self) -> Dict[str, Any]:
        """The fields that are set, as JSON and YAML have them."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]):
        """The configuration of such a dict."""
        return cls(**data)

    def _options(self) -> Dict[str, Any]:
        """The options by Kaldi's names."""
        return {_KALDI_NAMES.get(name, name): value for name, value in self.to_dict().items()}


@dataclass
class _FramesConfig(_Config):
    """What features of Kaldi's frames have."""

    #: Seconds.
    frame_length: float = 0.025
    #: Seconds from one frame to the next.
    frame_shift: float = 0.01
    round_to_power_of_two: bool = True
    remove_dc_offset: bool = True
    preemph_coeff: float = 0.97
    window_type: str = "povey"
    dither: float = 0.0
    #: lhotse expects False: frames depend on the shift alone.
    snip_edges: bool = False
    energy_floor: float = EPSILON
    raw_energy: bool = True

    def _options(self) -> Dict[str, Any]:
        options = super()._options()
        for name in ("frame_length", "frame_shift"):
            options[name] *= 1000  # ms
        return {**options, "full_scale": 1.0}


@dataclass
class _FiltersConfig(_FramesConfig):
    """What features of mel filters have."""

    use_energy: bool = False
    #: Hz.
    low_freq: float = 20.0
    #: Hz, counted from half the sample rate if it is 0 or less.
    high_freq: float = -400.0
    num_filters: int = 23
    #: Another name of ``num_filters``.
    num_mel_bins: Optional[int] = None

    def __post_init__(self):
        if self.num_mel_bins is not None:
            self.num_filters, self.num_mel_bins = self.num_mel_bins, None


@dataclass
class FbankConfig(_FiltersConfig):
    """Options of :class:`Fbank`: those of ``lhotse.FbankConfig``."""

    num_filters: int = 80
    use_fft_mag: bool = False

    def _options(self) -> Dict[str, Any]:
        options = super()._options()
        options["use_power"] = not options.pop("use_fft_mag")
        return options


@dataclass
class MfccConfig(_FiltersConfig):
    """Options of :class:`Mfcc`: those of ``lhotse.MfccConfig``."""

    num_ceps: int = 13
    cepstral_lifter: float = 22


@dataclass
class PlpConfig(_FiltersConfig):
    """Options of :class:`Plp`."""

    lpc_order: int = 12
    num_ceps: int = 13
    compress_factor: float = 0.33333
    cepstral_lifter: int = 22
    cepstral_scale: float = 1.0


@dataclass
class SpectrogramConfig(_FramesConfig):
    """Options of :class:`Spectrogram`."""


@dataclass
class WhisperFbankConfig(_Config):
    """Options of :class:`WhisperFbank`: those of ``lhotse.WhisperFbankConfig``."""

    num_filters: int = 80
    #: Samples from one frame to the next.
    hop_length: int = 160
    #: Samples of a frame.
    n_fft: int = 400


class _Extractor(FeatureExtractor):
    """An extractor of lhotse's that computes with Kaldera's.

    ``threads`` is how many a batch is computed on: all processors if it is left out.
    """

    _kind: type
    _preset: Optional[str] = None

    def __init__(self, config: Any = None, *, threads: Optional[int] = None):
        super().__init__(config)
        self.threads = threads
        self._extractor = self._kind(preset=self._preset, **self.config._options())

    @property
    def frame_shift(self) -> float:
        """Seconds from one frame to the next."""
        return self.config.frame_shift

    def feature_dim(self, sampling_rate: int) -> int:
        """Values of a frame."""
        return self._extractor.dim

    def extract(self, samples: Any, sampling_rate: int) -> Any:
        """Features of one channel in [-1, 1], ``[samples]`` or ``[1, samples]``: float32 ``[frames, dim]``.

        A tensor gives a tensor. Raises ValueError for another sample rate than the configuration's.
        """
        self._check_rate(sampling_rate)
        channel = _channel(samples)
        rows = self._extractor.compute(channel, scale=_FULL_SCALE)
        return _like(samples, self._whole(rows, len(channel)))

    def extract_batch(self, samples: Any, sampling_rate: int, lengths: Optional[Sequence[int]] = None) -> Any:
        """Features of each of a list of recordings, or of the rows of a batch padded beyond ``lengths``.

        As lhotse has it: ``[recordings, frames, dim]`` where all have as many frames, otherwise a
        list; a list of one gives a list, an array of one its features.
        """
        self._check_rate(sampling_rate)
        is_list = isinstance(samples, (list, tuple))
        recordings = list(samples) if is_list or samples.ndim > 1 else [samples]
        if lengths is not None:
            recordings = [row[..., : int(length)] for row, length in zip(recordings, lengths)]
        channels = [_channel(recording) for recording in recordings]
        batch = self._extractor.compute(channels, scale=_FULL_SCALE, threads=self.threads)
        found = [self._whole(rows, len(channel)) for rows, channel in zip(batch, channels)]
        result = [_like(recording, rows) for recording, rows in zip(recordings, found)]
        if len(result) == 1:
            return result if is_list else result[0]
        if result and all(rows.shape == result[0].shape for rows in result):
            return torch.stack(result) if isinstance(result[0], torch.Tensor) else np.stack(result)
        return result

    def _check_rate(self, sampling_rate: int) -> None:
        if sampling_rate != self.config.sampling_rate:
            raise ValueError(
                f"audio of {sampling_rate} Hz for an extractor of {self.config.sampling_rate} Hz: resample it with "
                f"CutSet.resample({self.config.sampling_rate}), or set the sampling_rate of the configuration"
            )

    def _whole(self, rows: np.ndarray, samples: int) -> np.ndarray:
        """The rows that lhotse expects of so many samples."""
        return rows

    def __getstate__(self) -> Dict[str, Any]:
        return {"config": self.config, "threads": self.threads}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(state["config"], threads=state["threads"])


class _LogEnergies(_Extractor):
    """Features that are natural logarithms of energies can be mixed."""

    @staticmethod
    def mix(features_a: np.ndarray, features_b: np.ndarray, energy_scaling_factor_b: float) -> np.ndarray:
        """Features of the sum of two signals, the energy of the second one scaled."""
        energies = np.exp(features_a) + energy_scaling_factor_b * np.exp(features_b)
        return np.log(np.maximum(energies, EPSILON))

    @staticmethod
    def compute_energy(features: np.ndarray) -> float:
        """The sum of the energies."""
        return float(np.sum(np.exp(features)))

    @staticmethod
    def scale(features: np.ndarray, energy_scaling_factor: float) -> np.ndarray:
        """Features of a signal with its energy scaled."""
        return features + np.log(energy_scaling_factor)


@register_extractor
class Fbank(_LogEnergies):
    """Kaldi's log mel filterbank, with lhotse's defaults: 80 filters."""

    name = "kaldera-fbank"
    config_type = FbankConfig
    _kind = _features.Fbank


@register_extractor
class Mfcc(_Extractor):
    """Kaldi's MFCC, with lhotse's defaults: 13 cepstra of 23 filters."""

    name = "kaldera-mfcc"
    config_type = MfccConfig
    _kind = _features.Mfcc


@register_extractor
class Plp(_Extractor):
    """Kaldi's PLP, 13 cepstra of 23 filters; lhotse has none of its own."""

    name = "kaldera-plp"
    config_type = PlpConfig
    _kind = _features.Plp


@register_extractor
class Spectrogram(_LogEnergies):
    """Kaldi's log power spectrogram, the log energy in column 0: 257 values at 16 kHz."""

    name = "kaldera-spectrogram"
    config_type = SpectrogramConfig
    _kind = _features.Spectrogram


@register_extractor
class WhisperFbank(_Extractor):
    """Whisper's log-mel spectrogram.

    Where lhotse counts a frame more than Whisper has, that of half a shift at the end, it is zeros,
    as in ``lhotse.WhisperFbank``.
    """

    name = "kaldera-whisper"
    config_type = WhisperFbankConfig
    _kind = _features.LogMel
    _preset = "whisper"

    @property
    def frame_shift(self) -> float:
        """Seconds from one frame to the next."""
        return self.config.hop_length / self.config.sampling_rate

    def _whole(self, rows: np.ndarray, samples: int) -> np.ndarray:
        expected = compute_num_frames_from_samples(samples, self.frame_shift, self.config.sampling_rate)
        return np.pad(rows, ((0, max(0, expected - len(rows))), (0, 0)))


def _channel(samples: Any) -> np.ndarray:
    """The samples of one channel."""
    array = samples.detach().cpu().numpy() if isinstance(samples, torch.Tensor) else np.asarray(samples)
    if array.ndim > 1 and array.size == array.shape[-1]:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise ValueError(
            f"features are of one channel, and these samples have the shape {array.shape}: choose one, "
            "as MultiCut.to_mono() does"
        )
    return array


def _like(samples: Any, rows: np.ndarray) -> Any:
    """Rows as what the samples are."""
    return torch.from_numpy(rows).to(samples.device) if isinstance(samples, torch.Tensor) else rows
