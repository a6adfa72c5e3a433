"""Recognition with a model as small as can be, and with the model of digits where it is."""

import pathlib
import pickle

import numpy as np
import pytest

import kaldera

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "kaldera-digits"


def write_safetensors(path, tensors):
    """The format is a length, JSON, and bytes."""
    import json
    import struct

    header, body = {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(body), len(body) + array.nbytes]}
        body += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.fixture
def model(tmp_path):
    """Its scores are those of random weights."""
    weights = np.random.default_rng(5).normal(0, 0.02, (3, 40)).astype(np.float32)
    write_safetensors(tmp_path / "network.safetensors", {"output.weight": weights})
    (tmp_path / "tokens.txt").write_text("<blk> 0\nyes 1\nno 2\n")
    (tmp_path / "model.toml").write_text(
        """
        kind = "ctc"
        tokens = "tokens.txt"
        words = "tokens"
        features = { kind = "fbank", num-mel-bins = 40, dither = 0.0 }
        [network]
        file = "network.safetensors"
        layers = [{ kind = "linear", name = "output" }, { kind = "log-softmax" }]
        """
    )
    return tmp_path


def audio(seed=0, samples=16000):
    return np.random.default_rng(seed).normal(0, 2000, samples).astype(np.int16)


def test_a_recording_a_list_and_a_stream_have_the_same_words(model):
    recognizer = kaldera.Recognizer(model)
    assert recognizer.sample_rate == 16000 and recognizer.tokens == ["<blk>", "yes", "no"]
    recordings = [audio(seed, 3000 * seed + 100) for seed in range(10)]
    alone = [recognizer.transcribe(recording) for recording in recordings]
    assert any(transcript.text for transcript in alone)
    for threads in [1, 2, None]:
        assert recognizer.transcribe(recordings, threads=threads) == alone
    stream = recognizer.stream(key="utt")
    for chunk in np.split(recordings[9], [1, 999, 5000]):
        stream.accept_waveform(chunk)
        stream.partial()
    last = stream.input_finished()
    assert (last.key, last.text) == ("utt", alone[9].text)
    with pytest.raises(ValueError, match="finished"):
        stream.partial()
    copy = pickle.loads(pickle.dumps(recognizer))
    assert copy.transcribe(recordings) == alone


def test_options_of_decoding_are_checked(model):
    several = kaldera.Recognizer(model, beam=10, n_best=3).transcribe(audio())
    assert len(several.hypotheses) == 3
    scores = [hypothesis.score for hypothesis in several.hypotheses]
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(ValueError, match="unknown field `beams`.*n-best"):
        kaldera.Recognizer(model, beams=10)
    with pytest.raises(FileNotFoundError, match="model.toml"):
        kaldera.Recognizer(model / "nowhere")
    (model / "model.toml").write_text("kind = 'ctc'")
    with pytest.raises(ValueError, match="model.toml"):
        kaldera.Recognizer(model)


def test_words_are_aligned_in_order(model):
    words = kaldera.Recognizer(model).align(audio(), "yes no no yes")
    assert [word.text for word in words] == ["yes", "no", "no", "yes"]
    assert all(a.end <= b.start for a, b in zip(words, words[1:]))
    assert 0 <= words[0].start < words[-1].end <= 1
    with pytest.raises(ValueError, match="perhaps"):
        kaldera.Recognizer(model).align(audio(), "yes perhaps")


def test_word_error_rates_are_counted_by_hand():
    assert kaldera.wer("the cat sat", "the cat is at") == pytest.approx(2 / 3)
    counts = kaldera.count_errors(["a b c", "d"], ["a c", "e f"])
    assert (counts.correct, counts.substitutions, counts.deletions, counts.insertions) == (2, 1, 1, 1)
    assert (counts.words, counts.errors, counts.rate) == (4, 3, 0.75)
    assert kaldera.count_errors("abc", "abd", characters=True).rate == pytest.approx(1 / 3)
    assert kaldera.wer("", "") == 0 and kaldera.wer("", "a") == float("inf")
    with pytest.raises(ValueError, match="1 hypotheses for 2 references"):
        kaldera.wer(["a", "b"], ["a"])


@pytest.mark.skipif(not (DIGITS / "model").is_dir(), reason=f"the model of digits is not at {DIGITS}")
def test_the_model_of_digits_reads_its_recording():
    recognizer = kaldera.Recognizer(DIGITS / "model")
    result = recognizer.transcribe(str(DIGITS / "digits.wav"))
    assert result.text == "three two five nine"
    times = [word.start for word in result.words]
    assert times == sorted(times)
    aligned = recognizer.align(DIGITS / "digits.wav", result.text)
    assert [word.text for word in aligned] == result.text.split()


def test_a_stream_may_be_used_by_several_threads(model):
    from concurrent.futures import ThreadPoolExecutor

    stream = kaldera.Recognizer(model).stream()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: (stream.accept_waveform(audio(i, 1600)), stream.partial()), range(32)))
    assert stream.input_finished().hypotheses


def test_rates_fit_recordings(model):
    with pytest.raises(ValueError, match="1 sample rates for 2 recordings"):
        kaldera.Recognizer(model).transcribe([audio(), audio()], [16000])


def test_files_have_rates_scales_and_channels_of_their_own(model, tmp_path):
    import wave

    samples = np.stack([audio(1), audio(2)], axis=1)
    path = tmp_path / "stereo.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, 16000, len(samples), "NONE", ""))
        file.writeframes(samples.tobytes())
    recognizer = kaldera.Recognizer(model)
    for channel, alone in [(0, samples[:, 0]), (1, samples[:, 1]), ("mean", samples.mean(axis=1))]:
        expected = recognizer.transcribe(alone)
        assert recognizer.transcribe(path, channel=channel) == expected
        assert recognizer.transcribe([path, samples], channel=channel) == [expected, expected]
        words = recognizer.align(alone, "yes no")
        assert recognizer.align(path, "yes no", channel=channel) == words
    for arguments, message in [
        ({}, "it has 2 channels: pass channel=0"),
        ({"channel": 2}, "no channel 2"),
        ({"channel": 0, "sample_rate": 8000}, "it has 16000 Hz, and not sample_rate=8000"),
        ({"channel": 0, "scale": 32768}, "scale=32768 is of arrays"),
    ]:
        for use in [recognizer.transcribe, lambda path, **rest: recognizer.align(path, "yes no", **rest)]:
            with pytest.raises(ValueError, match=f"stereo.wav: .*{message}"):
                use(path, **arguments)
