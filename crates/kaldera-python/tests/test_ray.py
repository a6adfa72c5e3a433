"""What Ray Data maps over batches: columns in, columns out. examples/ray runs it on a cluster."""

import io
import json
import pickle
import wave

import numpy as np
import pytest

import kaldera
import kaldera.ray
from models import model  # noqa: F401, a fixture

RATE = 16000


def samples(number, seed=0):
    return np.random.default_rng(seed).normal(0, 2000, number).astype(np.int16)


def wav(channels, rate=RATE):
    """The bytes of a WAV file of [samples, channels]."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((channels.shape[1], 2, rate, len(channels), "NONE", ""))
        writer.writeframes(channels.tobytes())
    return file.getvalue()


def column(values):
    made = np.empty(len(values), object)
    made[:] = values
    return made


@pytest.fixture
def batch():
    """Recordings of two lengths, and one that is damaged."""
    files = [wav(samples(number, number)[:, None]) for number in (8000, 4000)]
    return {"bytes": column([files[0], files[0][:700], b"", files[1]]), "key": column(["a", "b", "c", "d"])}


def test_features_are_those_of_the_recordings_and_damage_is_named(batch):
    mapped = kaldera.ray.ExtractFeatures("fbank", num_mel_bins=40, dither=0)(batch)
    assert set(mapped) == {"key", "features", "error"} and list(mapped["key"]) == ["a", "b", "c", "d"]
    for place, number in [(0, 8000), (3, 4000)]:
        expected = kaldera.fbank(samples(number, number), num_mel_bins=40, dither=0)
        assert np.array_equal(mapped["features"][place], expected) and mapped["error"][place] == ""
    for place in (1, 2):
        assert mapped["features"][place].shape == (0, 40) and mapped["error"][place]
    assert "truncated" in mapped["error"][1] or "bytes" in mapped["error"][1]


def test_paths_are_read_and_kept(batch, tmp_path):
    paths = []
    for i, data in enumerate(batch["bytes"]):
        (tmp_path / f"{i}.wav").write_bytes(data)
        paths.append(str(tmp_path / f"{i}.wav"))
    paths.append(str(tmp_path / "none.wav"))
    extract = kaldera.ray.ExtractFeatures("mfcc", dither=0)
    from_bytes, from_paths = extract(batch), extract({"path": column(paths)})
    assert list(from_paths["path"]) == paths
    assert all(np.array_equal(a, b) for a, b in zip(from_bytes["features"], from_paths["features"]))
    assert list(from_paths["error"][:4]) == list(from_bytes["error"])
    assert "none.wav" in from_paths["error"][4]
    named = kaldera.ray.ExtractFeatures("mfcc", dither=0, column="wav")({"wav": np.array(paths[:1])})
    assert np.array_equal(named["features"][0], from_bytes["features"][0]) and "wav" in named


def test_front_ends_of_models_are_a_kind(batch):
    mapped = kaldera.ray.ExtractFeatures("front_end", preset="sensevoice")(batch)
    assert np.array_equal(mapped["features"][0], kaldera.FrontEnd("sensevoice").compute(samples(8000, 8000)))
    assert mapped["features"][1].shape == (0, 560)


def test_keys_decide_the_dither(batch):
    mapped = kaldera.ray.ExtractFeatures("fbank", key="key", dither=1)(batch)
    assert np.array_equal(mapped["features"][3], kaldera.fbank(samples(4000, 4000), dither=1, key="d"))


def test_one_channel_counts_or_their_mean():
    stereo = np.stack([samples(4000, 1), samples(4000, 2)], axis=1)
    batch = {"bytes": column([wav(stereo)])}
    features = lambda audio: kaldera.fbank(audio, dither=0)
    mapped = lambda **options: kaldera.ray.ExtractFeatures(dither=0, **options)(batch)
    assert np.array_equal(mapped()["features"][0], features(stereo[:, 0].copy()))
    assert np.array_equal(mapped(channel=1)["features"][0], features(stereo[:, 1].copy()))
    assert np.array_equal(mapped(channel="mean")["features"][0], features(stereo.astype(np.float32).mean(axis=1)))
    assert "2" in mapped(channel=2)["error"][0]


def test_all_kinds_can_be_pickled_and_take_empty_batches(batch):
    for kind in ["fbank", "mfcc", "plp", "spectrogram", "log_mel", "pitch"]:
        extract = kaldera.ray.ExtractFeatures(kind)
        again = pickle.loads(pickle.dumps(extract))
        first, second = extract(batch), again(batch)
        assert all(np.array_equal(a, b) for a, b in zip(first["features"], second["features"]))
        assert list(extract({"bytes": column([])})["features"]) == []


def test_transcripts_are_those_of_the_recogniser(model, batch):  # noqa: F811
    transcribe = pickle.loads(pickle.dumps(kaldera.ray.Transcribe(model, key="key")))
    mapped = transcribe(batch)
    assert set(mapped) == {"key", "text", "words", "error"}
    recognizer = kaldera.Recognizer(model)
    for place, number in [(0, 8000), (3, 4000)]:
        expected = recognizer.transcribe(samples(number, number), 16000)
        assert mapped["text"][place] == expected.text and mapped["error"][place] == ""
        words = json.loads(mapped["words"][place])
        assert [word["text"] for word in words] == [word.text for word in expected.words]
        assert [word["start"] for word in words] == [word.start for word in expected.words]
    assert list(mapped["text"][1:3]) == ["", ""] and all(mapped["error"][1:3])


def test_wrong_columns_and_options_are_errors(batch):
    with pytest.raises(ValueError, match="no column 'path'.*key"):
        kaldera.ray.ExtractFeatures()({"key": batch["key"]})
    with pytest.raises(ValueError, match="no column 'utterance'"):
        kaldera.ray.ExtractFeatures(key="utterance")(batch)
    with pytest.raises(ValueError, match="fbank"):
        kaldera.ray.ExtractFeatures("fbnk")
    with pytest.raises(ValueError, match="channel"):
        kaldera.ray.ExtractFeatures(channel="left")
    assert "int" in kaldera.ray.ExtractFeatures(column="n")({"n": np.array([3])})["error"][0]
