"""Extractors in lhotse, beside lhotse's own and beside the command, where these are installed.

``KALDERA`` names the command.
"""

import os
import pickle
import subprocess
import wave

import numpy as np
import pytest

torch = pytest.importorskip("torch")
lhotse = pytest.importorskip("lhotse")

from lhotse.features import FeatureExtractor
from lhotse.features.base import create_default_feature_extractor
from lhotse.features.io import NumpyFilesWriter

import kaldera
import kaldera.lhotse as ours

RATE = 16000
# lhotse's filters, windows and sums of 400 terms are of single precision, and then there is a
# logarithm of energies from 1e-10.
TOLERANCE = 5e-3


def speech(samples, seed=0):
    """Tones with noise, int16."""
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / RATE
    tones = sum(3000 / k * np.sin(2 * np.pi * (120 + 20 * seed) * k * time + k) for k in range(1, 9))
    return np.round(tones + rng.normal(0, 200, samples)).astype(np.int16)


def floats(samples):
    """As lhotse loads them: [1, samples] in [-1, 1]."""
    return (samples.astype(np.float32) / 32768)[None]


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audio")
    for i, samples in enumerate([16000, 8000, 24079, 24080, 12345, 16000, 4000]):
        with wave.open(str(folder / f"utt{i}.wav"), "wb") as file:
            file.setparams((1, 2, RATE, samples, "NONE", ""))
            file.writeframes(speech(samples, i).tobytes())
    recordings = lhotse.RecordingSet.from_dir(folder, "*.wav", num_jobs=1)
    return folder, lhotse.CutSet.from_manifests(recordings=recordings)


def loaded(cuts):
    return {cut.recording_id: cut.load_features() for cut in cuts}


def same(some, others):
    return set(some) == set(others) and all(
        some[key].dtype == others[key].dtype and np.array_equal(some[key], others[key]) for key in some
    )


KINDS = [
    (ours.Fbank, "kaldera-fbank", "fbank", []),
    (ours.Mfcc, "kaldera-mfcc", "mfcc", []),
    (ours.WhisperFbank, "kaldera-whisper", "whisper", None),
]


@pytest.mark.parametrize("kind, name, command, options", KINDS)
def test_features_equal_those_of_the_command(cuts, tmp_path, kind, name, command, options):
    program = os.environ.get("KALDERA")
    if program is None:
        pytest.skip("KALDERA names no command")
    folder, cuts = cuts
    preset = [] if command == "whisper" else ["--preset", "lhotse"]
    subprocess.run(
        [program, "features", "-q", "--kind", command, *preset, "-o", tmp_path / "feats.ark", folder], check=True
    )
    theirs = dict(kaldera.load_ark(tmp_path / "feats.ark"))
    found = loaded(cuts.compute_and_store_features(kind(), tmp_path / "feats", storage_type=NumpyFilesWriter))
    if command == "whisper":
        for key, rows in found.items():
            assert not rows[len(theirs[key]) :].any() and len(rows) - len(theirs[key]) in (0, 1)
            found[key] = rows[: len(theirs[key])]
    assert same(found, theirs)


@pytest.mark.parametrize(
    "kind, theirs",
    [
        (ours.Fbank(), lambda: lhotse.Fbank()),
        (ours.Fbank(ours.FbankConfig(num_mel_bins=40)), lambda: lhotse.Fbank(lhotse.FbankConfig(num_mel_bins=40))),
        (
            ours.Fbank(ours.FbankConfig(use_energy=True, use_fft_mag=True, window_type="hamming", high_freq=0.0)),
            lambda: lhotse.Fbank(
                lhotse.FbankConfig(use_energy=True, use_fft_mag=True, window_type="hamming", high_freq=0.0)
            ),
        ),
        (ours.Mfcc(), lambda: lhotse.Mfcc()),
        (ours.Mfcc(ours.MfccConfig(num_ceps=20)), lambda: lhotse.Mfcc(lhotse.MfccConfig(num_ceps=20))),
        (ours.Spectrogram(), lambda: lhotse.LogSpectrogram(lhotse.LogSpectrogramConfig(use_energy=True))),
    ],
)
def test_features_equal_lhotses(kind, theirs):
    other = theirs()
    for seed, samples in enumerate([16000, 4000, 24079]):
        audio = floats(speech(samples, seed))
        rows, expected = kind.extract(audio, RATE), other.extract(audio, RATE)
        assert rows.shape == expected.shape and rows.dtype == np.float32
        assert kind.feature_dim(RATE) == rows.shape[1] and kind.frame_shift == other.frame_shift
        assert np.abs(rows - expected).max() < TOLERANCE


@pytest.mark.parametrize(
    "kind", [ours.Fbank, ours.Mfcc, ours.Plp, ours.Spectrogram, ours.WhisperFbank], ids=lambda kind: kind.name
)
def test_workers_batches_and_single_recordings_have_the_same_features(cuts, tmp_path, kind):
    _, cuts = cuts
    extractor = kind()
    alone = {cut.recording_id: extractor.extract(cut.load_audio(), RATE) for cut in cuts}
    stored = cuts.compute_and_store_features(extractor, tmp_path / "one", storage_type=NumpyFilesWriter)
    assert same(loaded(stored), alone)
    assert all(cut.features.type == kind.name for cut in stored)
    # Longer than what a batch may hold, and all in one.
    for seconds, collate in [(2.0, False), (600.0, True), (600.0, False)]:
        batches = cuts.compute_and_store_features_batch(
            extractor,
            tmp_path / f"batch{seconds}{collate}",
            batch_duration=seconds,
            num_workers=1,
            collate=collate,
            storage_type=NumpyFilesWriter,
        )
        assert same(loaded(batches), alone)


def test_two_processes_give_the_features_of_one(cuts, tmp_path):
    _, cuts = cuts
    extractor = ours.Fbank(ours.FbankConfig(num_mel_bins=40))
    one = cuts.compute_and_store_features(extractor, tmp_path / "one", storage_type=NumpyFilesWriter)
    two = cuts.compute_and_store_features(extractor, tmp_path / "two", num_jobs=2, storage_type=NumpyFilesWriter)
    assert same(loaded(two), loaded(one))


def test_batches_have_the_forms_of_lhotses(cuts):
    _, cuts = cuts
    audio = [floats(speech(samples, samples)) for samples in (8000, 8000, 4000)]
    mine, theirs = ours.Fbank(), lhotse.Fbank()
    padded = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(each[0]) for each in audio], batch_first=True)
    cases = [
        (audio, {}),
        (audio[:2], {}),
        (audio[:1], {}),
        (audio[0][0], {}),
        (audio[0], {}),
        (np.concatenate(audio[:2]), {}),
        ([torch.from_numpy(each) for each in audio], {}),
        ([torch.from_numpy(each) for each in audio[:2]], {}),
    ]
    for samples, more in cases:
        found, expected = (each.extract_batch(samples, RATE, **more) for each in (mine, theirs))
        assert type(found) is type(expected)
        shapes = lambda result: [rows.shape for rows in result]
        assert shapes(found) == shapes(expected)
    found = mine.extract_batch(padded, RATE, lengths=torch.tensor([8000, 8000, 4000]))
    assert all(np.array_equal(rows.numpy(), mine.extract(each, RATE)) for rows, each in zip(found, audio))
    assert mine.extract_batch([], RATE) == []


def test_configurations_are_written_and_read(tmp_path):
    extractor = ours.Mfcc(ours.MfccConfig(num_ceps=20, num_mel_bins=40, sampling_rate=8000))
    assert extractor.config.num_filters == 40
    extractor.to_yaml(tmp_path / "mfcc.yaml")
    audio = floats(speech(8000))
    expected = extractor.extract(audio, 8000)
    for again in [
        FeatureExtractor.from_yaml(tmp_path / "mfcc.yaml"),
        FeatureExtractor.from_dict(extractor.to_dict()),
        pickle.loads(pickle.dumps(extractor)),
    ]:
        assert type(again) is ours.Mfcc and again.config == extractor.config
        assert np.array_equal(again.extract(audio, 8000), expected)
    for name in ["fbank", "mfcc", "plp", "spectrogram", "whisper"]:
        assert create_default_feature_extractor(f"kaldera-{name}").name == f"kaldera-{name}"
    whisper = ours.WhisperFbank(ours.WhisperFbankConfig(num_filters=128))
    assert whisper.extract(floats(speech(16000)), RATE).shape == (100, 128)


def test_mixing_equals_lhotses(cuts):
    _, cuts = cuts
    mine, theirs = ours.Fbank, lhotse.Fbank
    a, b = (mine().extract(floats(speech(8000, seed)), RATE) for seed in (1, 2))
    np.testing.assert_allclose(mine.mix(a, b, 0.3), theirs.mix(a, b, 0.3), rtol=1e-6)
    np.testing.assert_allclose(mine.compute_energy(a), theirs.compute_energy(a), rtol=1e-6)
    np.testing.assert_allclose(mine.scale(a, 0.3), theirs.scale(a, 0.3), rtol=1e-6)
    # Energies of independent signals add up, within their correlation.
    both = mine().extract(floats(speech(8000, 1)) + floats(speech(8000, 2)), RATE)
    assert np.abs(mine.mix(a, b, 1.0) - both).mean() < 1
    with pytest.raises(ValueError, match="mix"):
        ours.Mfcc.mix(a, b, 1.0)


def test_wrong_audio_is_an_error_with_its_numbers():
    extractor = ours.Fbank()
    with pytest.raises(ValueError, match="8000 Hz for an extractor of 16000 Hz"):
        extractor.extract(floats(speech(8000)), 8000)
    with pytest.raises(ValueError, match=r"\(2, 8000\)"):
        extractor.extract(np.zeros((2, 8000), np.float32), RATE)
    with pytest.raises(TypeError):
        ours.FbankConfig(num_bins=80)
    with pytest.raises(ValueError, match="num.mel.bins"):
        ours.Fbank(ours.FbankConfig(num_filters=0))
