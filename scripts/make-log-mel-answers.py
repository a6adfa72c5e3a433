#!/usr/bin/env python3
"""Writes the known answers of crates/kaldi-feat/tests/it/log_mel.rs: what librosa gives for a signal that the test makes again.

    pip install librosa==0.11.0 && python3 scripts/make-log-mel-answers.py > crates/kaldi-feat/tests/it/log_mel/answers.txt

Whisper's features are librosa's transform and filters, put together as `whisper.log_mel_spectrogram` puts torch's together. The
transform is in double precision, so that the answers have no rounding of their own; `librosa` lines are librosa's own function.
"""
import librosa
import numpy as np

from answer_signal import signal


def whisper(y, n_mels, pad_to=None):
    if pad_to is not None:
        y = np.pad(y[:pad_to], (0, max(0, pad_to - len(y))))
    stft = librosa.stft(y, n_fft=400, hop_length=160, window="hann", center=True, pad_mode="reflect")
    power = np.abs(stft[:, :-1]) ** 2
    mel = librosa.filters.mel(sr=16000, n_fft=400, n_mels=n_mels).astype(np.float64) @ power
    log = np.log10(np.maximum(mel, 1e-10))
    return (np.maximum(log, log.max() - 8.0) + 4.0) / 4.0


def decibels(y, **options):
    return librosa.power_to_db(librosa.feature.melspectrogram(y=y, **options))


def show(name, n, features):
    """name, samples, filters, frames; then every 7th frame's every 5th filter."""
    print(name, n, *features.shape)
    for frame in range(0, features.shape[1], 7):
        print(" ".join(f"{x:.6f}" for x in features[::5, frame]))


for n in (24000, 24159, 700):
    y = signal(n)
    show("whisper", n, whisper(y, 80))
    show("whisper", n, whisper(y, 128))
    show("librosa", n, decibels(y, sr=16000))
    show("librosa-22050-htk-40", n, decibels(y, sr=22050, n_fft=1024, hop_length=256, n_mels=40, htk=True, norm=None))
show("whisper-30s", 24000, whisper(signal(24000), 80, 480000)[:, :300])
show("librosa-magnitude", 24000, decibels(signal(24000), sr=16000, n_fft=512, hop_length=128, win_length=400, power=1.0, fmin=50, fmax=7000, n_mels=64))
