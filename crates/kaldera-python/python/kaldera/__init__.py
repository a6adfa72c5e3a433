"""Kaldera for Python: Kaldi's features and files, recognition and losses, without torch.

    import kaldera
    features = kaldera.fbank(samples, num_mel_bins=80)          # float32 [frames, 80]
    archive = kaldera.load_scp("feats.scp")                     # a dict that reads when it is asked

Samples are on the scale of 16-bit integers, as Kaldi has them: pass ``scale=32768`` for audio in
[-1, 1]. Options have Kaldi's names, with underscores. What is wrong with arguments is a
``ValueError``, what the system refuses an ``OSError``, and a key that is not there a ``KeyError``.

Work runs without Python's lock, batches run on all processors (``threads=N`` for fewer), and no
thread of this module outlives a fork.
"""

from typing import Any

from ._kaldera import FeatureStream, KalderaWarning, __version__
from .features import (
    Fbank,
    FrontEnd,
    LogMel,
    Mfcc,
    Pitch,
    Plp,
    Spectrogram,
    add_deltas,
    apply_cmvn,
    cmvn_stats,
    fbank,
    find_recordings,
    log_mel,
    mfcc,
    parse_config,
    pitch,
    plp,
    presets,
    process_pitch,
    read_audio,
    resample,
    sliding_cmvn,
    spectrogram,
    splice,
    vad,
)
from .files import (
    LazyTable,
    ReadHelper,
    WriteHelper,
    load_ark,
    load_mat,
    load_scp,
    load_scp_sequential,
    save_ark,
    save_mat,
)
from .losses import ctc_loss, forced_align, rnnt_loss, rnnt_loss_simple
from .recognition import (
    Decoder,
    ErrorCounts,
    Hypothesis,
    LiveRecognizer,
    Recognizer,
    RecognizerStream,
    Segment,
    Transcript,
    count_errors,
    wer,
)



def __getattr__(name: str) -> Any:
    """``kaldera.k2``, which is imported when it is asked for."""
    if name != "k2":
        raise AttributeError(f"module 'kaldera' has no attribute '{name}'")
    import importlib

    return importlib.import_module(".k2", __name__)


__all__ = [
    "Decoder",
    "ErrorCounts",
    "Fbank",
    "FeatureStream",
    "FrontEnd",
    "Hypothesis",
    "KalderaWarning",
    "LazyTable",
    "LiveRecognizer",
    "LogMel",
    "Mfcc",
    "Pitch",
    "Plp",
    "ReadHelper",
    "Recognizer",
    "RecognizerStream",
    "Segment",
    "Spectrogram",
    "Transcript",
    "WriteHelper",
    "__version__",
    "add_deltas",
    "apply_cmvn",
    "cmvn_stats",
    "count_errors",
    "ctc_loss",
    "fbank",
    "find_recordings",
    "forced_align",
    "load_ark",
    "load_mat",
    "load_scp",
    "load_scp_sequential",
    "log_mel",
    "mfcc",
    "parse_config",
    "pitch",
    "plp",
    "presets",
    "process_pitch",
    "read_audio",
    "resample",
    "rnnt_loss",
    "rnnt_loss_simple",
    "save_ark",
    "save_mat",
    "sliding_cmvn",
    "spectrogram",
    "splice",
    "vad",
    "wer",
]
