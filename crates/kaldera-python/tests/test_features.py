"""Features against their definition, and the ways to ask for them against each other."""

import os
import pickle
import subprocess
import sys
import threading
import wave

import numpy as np
import pytest

import kaldera
from recordings import aiff

RATE = 16000
# Single precision over sums of some 500 terms, then a logarithm.
TOLERANCE = 2e-3


def speech(samples=RATE, seed=0):
    """A sum of tones with noise, on the scale of 16-bit integers."""
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / RATE
    tones = sum(2000 / k * np.sin(2 * np.pi * 140 * k * time + k) for k in range(1, 9))
    return np.round(tones + rng.normal(0, 100, samples)).astype(np.int16)


def naive_fbank(samples, bins):
    """Kaldi's fbank by its definition, in double precision, without dither."""
    samples = samples.astype(np.float64)
    frames = 1 + (len(samples) - 400) // 160
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 399)) ** 0.85
    mel = lambda hz: 1127 * np.log(1 + hz / 700)
    edges = np.linspace(mel(20), mel(8000), bins + 2)
    at = mel(np.arange(256) * RATE / 512)
    left, center, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    weights = np.clip(np.minimum((at - left) / (center - left), (right - at) / (right - center)), 0, None)
    rows = []
    for t in range(frames):
        frame = samples[160 * t : 160 * t + 400]
        frame = frame - frame.mean()
        frame = frame - 0.97 * np.concatenate([frame[:1], frame[:-1]])
        power = np.abs(np.fft.rfft(frame * window, 512)[:256]) ** 2
        rows.append(np.log(np.maximum(weights @ power, np.finfo(np.float32).eps)))
    return np.array(rows)


def test_fbank_equals_its_definition():
    audio = speech()
    features = kaldera.fbank(audio, num_mel_bins=80, dither=0)
    assert features.dtype == np.float32 and features.shape == (98, 80)
    np.testing.assert_allclose(features, naive_fbank(audio, 80), atol=TOLERANCE)


@pytest.mark.parametrize("kind", ["fbank", "mfcc", "plp", "spectrogram", "log_mel", "pitch"])
def test_all_types_of_samples_have_the_same_features(kind):
    compute, audio = getattr(kaldera, kind), speech(5000)
    expected = compute(audio)
    assert expected.ndim == 2 and np.isfinite(expected).all()
    gaps = np.zeros((5000, 2), np.int16)
    gaps[:, 1] = audio
    for same in [audio.astype(np.float32), audio.astype(np.float64), audio.astype(np.int32), gaps[:, 1], audio.tolist()]:
        np.testing.assert_array_equal(compute(same), expected)
    np.testing.assert_allclose(compute(audio / 32768.0, scale=32768), expected, atol=TOLERANCE)


@pytest.mark.parametrize("kind", ["Fbank", "Mfcc", "Plp", "Spectrogram", "LogMel", "Pitch"])
def test_batches_and_streams_equal_recordings(kind):
    extractor = getattr(kaldera, kind)()
    recordings = [speech(samples, seed) for seed, samples in enumerate([4000, 100, 0, 7001, 399])]
    keys = [f"utt{i}" for i in range(5)]
    alone = [extractor.compute(audio, key=key) for audio, key in zip(recordings, keys)]
    for threads in [1, 2, None]:
        batch = extractor.compute(recordings, key=keys, threads=threads)
        assert len(batch) == 5
        for one, other in zip(batch, alone):
            np.testing.assert_array_equal(one, other)
    values, lengths = extractor.compute(recordings, key=keys, output="padded", padding_value=-7)
    assert lengths.tolist() == [len(rows) for rows in alone] and lengths.dtype == np.int64
    for rows, length, other in zip(values, lengths, alone):
        np.testing.assert_array_equal(rows[:length], other)
        assert (rows[length:] == -7).all()
    values, splits = extractor.compute(recordings, key=keys, output="flat")
    assert splits.dtype == np.int32 and splits.tolist() == [0, *np.cumsum([len(rows) for rows in alone])]
    np.testing.assert_array_equal(values, np.concatenate(alone))
    if kind == "LogMel":  # Whisper's needs the whole recording.
        return
    stream, parts = extractor.stream(key="utt3"), []
    for chunk in np.split(recordings[3], [1, 700, 701, 3000]):
        stream.accept_waveform(chunk)
        if kind != "Pitch":  # Frames of pitch that are taken early are Kaldi's first guess.
            parts.append(stream.get_frames())
    state = stream.save_state()
    stream = extractor.stream(key="utt3")
    stream.restore_state(state)
    assert not stream.is_finished
    stream.input_finished()
    parts.append(stream.get_frames())
    assert stream.is_finished and stream.num_frames_ready == len(alone[3])
    np.testing.assert_allclose(np.concatenate(parts), alone[3], atol=TOLERANCE)
    with pytest.raises(ValueError, match="finished|end"):
        stream.accept_waveform(recordings[0])


def test_empty_batches_are_empty():
    fbank = kaldera.Fbank()
    assert fbank.compute([]) == []
    values, lengths = fbank.compute([], output="padded")
    assert values.shape == (0, 0, 23) and lengths.shape == (0,)
    values, splits = fbank.compute([], output="flat")
    assert values.shape == (0, 23) and splits.tolist() == [0]
    assert kaldera.fbank(np.zeros(0, np.int16)).shape == (0, 23)


def test_options_of_all_kinds_are_kaldis():
    defaults = kaldera.Fbank().options
    assert defaults["num_mel_bins"] == 23 and defaults["window_type"] == "povey" and defaults["snip_edges"] is True
    chosen = kaldera.Fbank(8000, num_mel_bins=np.int64(40), window_type="hamming", snip_edges=np.bool_(False))
    assert (chosen.dim, chosen.sample_rate, chosen.options["snip_edges"]) == (40, 8000, False)
    assert kaldera.Mfcc(num_ceps=20).dim == 20 and kaldera.LogMel(num_mel_bins=128).dim == 128
    for name in ["num_mel_bin", "n_mels", "num_filters"]:
        with pytest.raises(ValueError, match=f"no option '{name}' \\(did you mean 'num_mel_bins'\\?\\): .*snip_edges"):
            kaldera.fbank(speech(), **{name: 80})
    with pytest.raises(ValueError, match="there is no option 'xyz': there are .*num_mel_bins"):
        kaldera.fbank(speech(), xyz=80)
    with pytest.raises(ValueError, match="num_mel_bins: '80.5' is not an integer"):
        kaldera.fbank(speech(), num_mel_bins=80.5)
    with pytest.raises(ValueError, match="dither"):
        kaldera.fbank(speech(), dither=float("nan"))


def test_configurations_are_texts_files_and_dicts(tmp_path):
    text = "# as lhotse\n--num-mel-bins=40   # bins\n--use-energy\n\n--dither=0\n"
    (tmp_path / "fbank.conf").write_text(text)
    expected = kaldera.fbank(speech(), num_mel_bins=40, use_energy=True, dither=0)
    for config in [text, tmp_path / "fbank.conf", {"num-mel-bins": 40, "use_energy": True, "dither": 0}]:
        np.testing.assert_array_equal(kaldera.Fbank(config=config).compute(speech()), expected)
        np.testing.assert_array_equal(kaldera.fbank(speech(), config=config), expected)
    with pytest.raises(ValueError, match="line 2"):
        kaldera.parse_config("--dither=0\nnum-mel-bins=40")


def test_presets_are_those_of_toolkits():
    assert kaldera.Fbank(preset="lhotse").dim == 80
    assert kaldera.log_mel(speech(), preset="whisper").shape == (100, 80)
    with pytest.raises(ValueError, match="'matlab' is not one of kaldi, torchaudio"):
        kaldera.Fbank(preset="matlab")
    with pytest.raises(ValueError, match=r"did you mean 'torchaudio'\?"):
        kaldera.Fbank(preset="torch-audio")
    with pytest.raises(ValueError, match="'whisper' has no fbank"):
        kaldera.Fbank(preset="whisper")


@pytest.mark.parametrize("kind", ["Fbank", "Mfcc", "Plp", "Spectrogram", "LogMel", "Pitch"])
def test_extractors_can_be_pickled(kind):
    extractor = getattr(kaldera, kind)(8000)
    copy = pickle.loads(pickle.dumps(extractor))
    assert type(copy) is type(extractor) and copy.options == extractor.options
    np.testing.assert_array_equal(copy.compute(speech(3000)), extractor.compute(speech(3000)))
    assert kind in repr(copy) and "8000" in repr(copy)


def test_arrays_that_are_no_audio_are_refused():
    with pytest.raises(ValueError, match=r"\[2, 100\], which may be"):
        kaldera.fbank(np.zeros((2, 100), np.int16))
    with pytest.raises(ValueError, match="complex"):
        kaldera.fbank(np.zeros(1000, np.complex64))
    with pytest.raises(ValueError, match="sample frequency mismatch"):
        kaldera.Fbank(16000).compute(speech(), 8000)
    with pytest.raises(ValueError, match="output='lists'"):
        kaldera.fbank([speech()], output="lists")
    with pytest.raises(ValueError, match="recording 1"):
        kaldera.Pitch().compute([speech(), np.full(4000, np.inf, np.float32)])


def test_audio_from_minus_one_to_one_warns():
    with pytest.warns(UserWarning, match="scale=32768"):
        kaldera.fbank((speech() / 32768).astype(np.float32))


def test_rows_after_extraction():
    features = kaldera.mfcc(speech(), dither=0)
    deltas = kaldera.add_deltas(features)
    assert deltas.shape == (98, 39)
    np.testing.assert_array_equal(deltas[:, :13], features)
    padded = np.pad(features, ((2, 2), (0, 0)), mode="edge")
    naive = sum(k * padded[2 + k : 100 + k] for k in (-2, -1, 1, 2)) / 10
    np.testing.assert_allclose(deltas[:, 13:26], naive, atol=1e-4)
    spliced = kaldera.splice(features, 1, 2)
    np.testing.assert_array_equal(spliced[5], features[4:8].reshape(-1))
    stats = kaldera.cmvn_stats([features[:50], features[50:]])
    np.testing.assert_allclose(stats[0], [*features.astype(np.float64).sum(0), 98], rtol=1e-12)
    normal = kaldera.apply_cmvn(features, norm_vars=True)
    np.testing.assert_allclose(normal.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(normal.std(0), 1, atol=1e-4)
    back = kaldera.apply_cmvn(normal, stats, norm_vars=True, reverse=True)
    np.testing.assert_allclose(back, features, atol=1e-3)
    window = kaldera.sliding_cmvn(features, center=True, cmn_window=1000)
    np.testing.assert_allclose(window, features - features.mean(0), atol=1e-4)
    voiced = kaldera.vad(np.array([[2.0], [18.0], [17.0], [3.0]]))
    assert voiced.dtype == np.bool_ and voiced.tolist() == [False, True, True, False]
    pitch = kaldera.pitch(speech())
    assert abs(np.median(pitch[:, 1]) - 140) < 3
    assert kaldera.process_pitch(pitch).shape == (len(pitch), 3)
    assert kaldera.process_pitch(pitch, add_raw_log_pitch=True).shape == (len(pitch), 4)
    with pytest.raises(ValueError, match=r"\(98,\)"):
        kaldera.add_deltas(features[:, 0])


def test_resampling_keeps_tones():
    time = np.arange(8000) / 8000
    tone = (1000 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)
    expected = 1000 * np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    for method, tolerance in [("kaldi", 10), ("polyphase", 0.2)]:
        up = kaldera.resample(tone, 8000, 16000, method=method)
        assert up.dtype == np.float32 and len(up) == 16000
        np.testing.assert_allclose(up[200:-200], expected[200:-200], atol=tolerance)
        np.testing.assert_array_equal(kaldera.resample(tone, 8000, 8000, method=method), tone)
    np.testing.assert_array_equal(kaldera.resample(tone, 8000, 16000), up)
    np.testing.assert_array_equal(up[::2], tone)  # of the samples there none changes
    with pytest.raises(ValueError, match="sinc.*polyphase.*kaldi"):
        kaldera.resample(tone, 8000, 16000, method="sinc")


def write_wav(path, channels, rate=RATE):
    channels = np.atleast_2d(channels).T
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(channels.astype("<i2").tobytes())


def test_files_and_folders(tmp_path):
    (tmp_path / "deep").mkdir()
    write_wav(tmp_path / "a.wav", speech(3000, 1))
    write_wav(tmp_path / "deep" / "b.wav", speech(4000, 2), rate=8000)
    write_wav(tmp_path / "stereo.WAV", [speech(500, 3), speech(500, 4)])
    samples, rate = kaldera.read_audio(tmp_path / "a.wav")
    assert rate == RATE and isinstance(rate, int) and samples.dtype == np.int16
    np.testing.assert_array_equal(samples, speech(3000, 1))
    both, _ = kaldera.read_audio(tmp_path / "stereo.WAV")
    assert both.shape == (500, 2)
    right, _ = kaldera.read_audio(tmp_path / "stereo.WAV", channel=1)
    np.testing.assert_array_equal(right, speech(500, 4))
    mean, _ = kaldera.read_audio(tmp_path / "stereo.WAV", channel="mean")
    np.testing.assert_array_equal(mean, both.mean(axis=1).astype(np.float32))
    found = kaldera.find_recordings(tmp_path)
    assert list(found) == ["a", "deep-b", "stereo"]
    of_paths = kaldera.fbank([found["a"], found["deep-b"]], allow_upsample=True, dither=0)
    np.testing.assert_array_equal(of_paths[0], kaldera.fbank(speech(3000, 1), dither=0))
    np.testing.assert_array_equal(
        of_paths[1], kaldera.Fbank(allow_upsample=True, dither=0).compute(speech(4000, 2), 8000)
    )
    (tmp_path / "wav.scp").write_text(f"x {found['a']}\n")
    assert kaldera.find_recordings(tmp_path) == {"x": found["a"]}
    with pytest.raises(FileNotFoundError, match="nowhere.wav"):
        kaldera.read_audio("nowhere.wav")
    (tmp_path / "bad.wav").write_bytes(b"RIFFxxxxWAVE")
    with pytest.raises((ValueError, OSError), match="bad.wav"):
        kaldera.read_audio(tmp_path / "bad.wav")


def test_folders_are_searched_for_all_formats(tmp_path):
    write_wav(tmp_path / "a.wav", speech(100))
    (tmp_path / "spk 1").mkdir()
    (tmp_path / "spk 1" / "b.aiff").write_bytes(aiff(speech(200), RATE))
    (tmp_path / "text").write_text("a three two\n")
    found = kaldera.find_recordings(tmp_path)
    assert found == {"a": str(tmp_path / "a.wav"), "spk_1-b": str(tmp_path / "spk 1" / "b.aiff")}
    np.testing.assert_array_equal(kaldera.read_audio(found["spk_1-b"])[0], speech(200))
    (tmp_path / "a.aif").write_bytes(aiff(speech(100), RATE))
    with pytest.raises(ValueError, match="a.aif: its key 'a' is that of .*a.wav"):
        kaldera.find_recordings(tmp_path)
    (tmp_path / "c.amr").write_bytes(b"#!AMR\n")
    (tmp_path / "a.aif").unlink()
    with pytest.raises(ValueError, match="c.amr: AMR, which is not read here.*ffmpeg"):
        kaldera.find_recordings(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no recordings"):
        kaldera.find_recordings(tmp_path / "empty")


def test_files_have_a_rate_and_a_scale_of_their_own(tmp_path):
    path = wav(tmp_path / "a.wav", speech(4000), 8000)
    fbank = kaldera.Fbank(8000)
    expected = fbank.compute(path)
    np.testing.assert_array_equal(fbank.compute(path, 8000), expected)
    np.testing.assert_array_equal(fbank.compute([path, speech(4000)], 8000)[0], expected)
    for compute in [
        lambda: fbank.compute(path, 16000),
        lambda: fbank.compute([path], [16000]),
        lambda: kaldera.Fbank(16000).compute([speech(400), path], 16000),
    ]:
        with pytest.raises(ValueError, match="a.wav: it has 8000 Hz, and not sample_rate=16000"):
            compute()
    for compute in [lambda: fbank.compute(path, scale=32768), lambda: kaldera.fbank([speech(400), path], 8000, scale=2)]:
        with pytest.raises(ValueError, match="a.wav: scale=.* is of arrays"):
            compute()


def test_one_channel_is_taken_or_the_mean_of_all(tmp_path):
    write_wav(tmp_path / "mono.wav", speech(3000, 1))
    write_wav(tmp_path / "stereo.wav", [speech(3000, 2), speech(3000, 3)])
    mono, stereo = tmp_path / "mono.wav", tmp_path / "stereo.wav"
    both = kaldera.read_audio(stereo)[0]
    fbank = kaldera.Fbank(dither=0)
    for compute in [lambda: fbank.compute(stereo), lambda: fbank.compute([mono, stereo]), lambda: kaldera.fbank(stereo)]:
        with pytest.raises(ValueError, match="stereo.wav: it has 2 channels: pass channel=0 for the first, or channel='mean'"):
            compute()
    for channel, samples in [(0, both[:, 0]), (1, both[:, 1]), ("mean", both.mean(axis=1, dtype=np.float32))]:
        expected = fbank.compute(samples)
        np.testing.assert_array_equal(fbank.compute(stereo, channel=channel), expected)
        np.testing.assert_array_equal(fbank.compute(both, channel=channel), expected)
        np.testing.assert_array_equal(kaldera.fbank([stereo], dither=0, channel=channel)[0], expected)
    for channel in [0, "mean"]:
        np.testing.assert_array_equal(fbank.compute([mono], channel=channel)[0], fbank.compute(mono))
    for recording in [stereo, both, mono]:
        with pytest.raises(ValueError, match="no channel 2"):
            fbank.compute(recording, channel=2)
        for wrong in ["left", -1]:
            with pytest.raises(ValueError, match=f"channel={wrong!r} can't be"):
                fbank.compute(recording, channel=wrong)


def test_audio_is_read_as_networks_take_it(tmp_path):
    channels = [speech(44100, 1), speech(44100, 2)]
    write_wav(tmp_path / "a.wav", channels, rate=44100)
    path, both = tmp_path / "a.wav", np.stack(channels, axis=1).astype(np.float32)
    expected = kaldera.resample(both.mean(axis=1), 44100, 16000)
    for source in [path, path.read_bytes(), path.open("rb")]:
        samples, rate = kaldera.read_audio(source, sample_rate=16000, mono=True)
        assert (samples.dtype, rate) == (np.float32, 16000)
        np.testing.assert_array_equal(samples, expected)
    right, rate = kaldera.read_audio(path, sample_rate=16000, channel=1)
    np.testing.assert_array_equal(right, kaldera.resample(both[:, 1], 44100, 16000))
    np.testing.assert_array_equal(kaldera.read_audio(path, sample_rate=16000, channel=1, mono=True)[0], right)
    whole, rate = kaldera.read_audio(path, sample_rate=16000)
    assert whole.shape == (16000, 2) and rate == 16000
    np.testing.assert_array_equal(whole[:, 1], right)
    np.testing.assert_array_equal(kaldera.read_audio(path, mono=True)[0], both.mean(axis=1))
    same, _ = kaldera.read_audio(path, sample_rate=44100)
    assert same.dtype == np.float32
    np.testing.assert_array_equal(same, both)
    for wrong in [-1, 0, float("nan"), 1e9]:
        with pytest.raises(ValueError, match="sample_rate=.* can't be"):
            kaldera.read_audio(path, sample_rate=wrong)
    path.write_bytes(path.read_bytes()[:50000])
    with pytest.raises(ValueError, match="a.wav: truncated"):
        kaldera.read_audio(path, sample_rate=16000, mono=True)
    part, _ = kaldera.read_audio(path, sample_rate=44100, mono=True, allow_truncated=True)
    np.testing.assert_array_equal(part, both.mean(axis=1)[: len(part)])
    assert len(part) > 12000


def low_frame_rate(rows, m=7, n=6):
    """FunASR's: m frames in a row, every n; the first one repeated before it, the last one after it."""
    rows = np.concatenate([rows[:1]] * (m // 2) + [rows] + [rows[-1:]] * m)
    count = -(-(len(rows) - m - m // 2) // n)
    return np.stack([rows[n * i : n * i + m].reshape(-1) for i in range(count)])


def test_front_ends_are_those_of_their_definitions(tmp_path):
    audio = speech(8001)
    frames = kaldera.fbank(audio, num_mel_bins=80, window_type="hamming", dither=0)
    rows = kaldera.FrontEnd("sensevoice").compute(audio)
    np.testing.assert_array_equal(rows, low_frame_rate(frames))
    for preset in ["whisper-30s", "qwen3-asr", "gemma4", "snfa"]:
        expected = kaldera.LogMel(preset=preset).compute(audio)
        np.testing.assert_array_equal(kaldera.FrontEnd(preset=preset).compute(audio), expected)
    samples = audio / 32768
    expected = (samples - samples.mean()) / np.sqrt(samples.var() + 1e-7)
    np.testing.assert_allclose(kaldera.FrontEnd("wav2vec2").compute(audio)[:, 0], expected, atol=1e-5)
    normal = kaldera.FrontEnd("nemo-80").compute(audio)
    np.testing.assert_allclose(normal.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(normal.std(axis=0, ddof=1), 1, atol=1e-2)
    shift, scale = np.arange(560) / 8 - 9, 1 / (1 + np.arange(560) / 256)
    (tmp_path / "am.mvn").write_text(
        "<Nnet>\n"
        f"<AddShift> 560 560\n<LearnRateCoef> 0 [ {' '.join(map(str, shift))} ]\n"
        f"<Rescale> 560 560\n<LearnRateCoef> 0 [ {' '.join(map(str, scale))} ]\n</Nnet>\n"
    )
    with_cmvn = kaldera.FrontEnd("sensevoice", cmvn=tmp_path / "am.mvn")
    np.testing.assert_allclose(with_cmvn.compute(audio), (rows + shift) * scale, atol=1e-4)
    copy = pickle.loads(pickle.dumps(with_cmvn))
    np.testing.assert_array_equal(copy.compute(audio), with_cmvn.compute(audio))
    assert repr(copy) == repr(with_cmvn) and repr(copy).startswith("FrontEnd('sensevoice', ") and copy.options["lfr_m"] == 7
    with pytest.raises(ValueError, match="560 columns where 80"):
        kaldera.FrontEnd("zipformer", cmvn=tmp_path / "am.mvn")


def test_batches_streams_and_files_of_front_ends_equal_recordings(tmp_path):
    front_end = kaldera.FrontEnd("sensevoice")
    recordings = [speech(samples, samples) for samples in (8000, 0, 5000)]
    alone = [front_end.compute(audio) for audio in recordings]
    assert front_end.dim == 560 and front_end.sample_rate == 16000
    values, splits = front_end.compute(recordings, output="flat")
    assert splits.tolist() == [0, *np.cumsum([len(rows) for rows in alone])]
    np.testing.assert_array_equal(values, np.concatenate(alone))
    np.testing.assert_array_equal(front_end.compute(wav(tmp_path / "a.wav", recordings[0], 16000)), alone[0])
    np.testing.assert_allclose(front_end.compute(recordings[0] / 32768, scale=32768), alone[0], atol=TOLERANCE)
    stream, parts = front_end.stream(), []
    for chunk in np.array_split(recordings[0], 7):
        stream.accept_waveform(chunk)
        parts.append(stream.get_frames())
    stream.input_finished()
    parts.append(stream.get_frames())
    np.testing.assert_array_equal(np.concatenate(parts), alone[0])
    assert stream.is_finished and stream.num_frames_ready == len(alone[0])
    for refused in [stream.save_state, lambda: stream.restore_state(b""), lambda: front_end.stream(vtln_warp=0.9)]:
        with pytest.raises(ValueError, match="front end"):
            refused()
    with pytest.raises(ValueError, match="utterance"):
        kaldera.FrontEnd("nemo-80").stream()
    with pytest.raises(ValueError, match="kaldi-asr"):
        kaldera.FrontEnd("kaldi-asr")
    with pytest.raises(ValueError, match="no option 'lfr'.*lfr_m"):
        kaldera.FrontEnd("sensevoice", lfr=7)


def test_presets_of_whole_front_ends_are_named_as_such():
    for compute, preset in [
        (kaldera.Fbank, "sensevoice"),
        (kaldera.LogMel, "nemo-80"),
        (kaldera.Fbank, "wav2vec2"),
        (kaldera.Mfcc, "silero-vad"),
    ]:
        with pytest.raises(ValueError, match=f"the preset '{preset}' is a whole front end.*FrontEnd.'{preset}'"):
            compute(preset=preset)


def test_python_runs_while_features_are_computed():
    fbank, audio = kaldera.Fbank(dither=0), speech(RATE * 5)
    expected = fbank.compute(audio)
    results = [None] * 4

    def work(i):
        results[i] = [fbank.compute(audio) for _ in range(5)]

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    for result in results:
        for rows in result:
            np.testing.assert_array_equal(rows, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_forked_workers_do_not_wait_for_threads_of_their_parent():
    script = """
import multiprocessing, sys
import numpy as np
import kaldera
audio = [np.arange(8000, dtype=np.int16) % 1000] * 8
fbank = kaldera.Fbank(dither=0)
expected = fbank.compute(audio)          # the parent's threads exist
def work(i):
    return all((a == b).all() for a, b in zip(fbank.compute(audio), expected))
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert all(pool.map_async(work, range(6)).get(60))
assert all((a == b).all() for a, b in zip(fbank.compute(audio), expected))
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr


def test_ctrl_c_ends_a_long_batch():
    script = """
import signal, threading, time, os
import numpy as np
import kaldera
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
audio = [(np.arange(16000 * 10) % 100).astype(np.int16)] * 5000
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
began = time.time()
try:
    kaldera.Pitch().compute(audio, threads=1)
    print("finished")
except KeyboardInterrupt:
    print("interrupted" if time.time() - began < 30 else "late")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n", done.stdout + done.stderr


def test_import_does_not_import_numpy_nor_torch():
    script = "import sys, kaldera; print([m for m in ('numpy', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr


def wav(path, samples, rate):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return path


def test_rates_are_those_of_the_configuration_and_of_files(tmp_path):
    audio = speech(8000)
    expected = kaldera.Fbank(8000).compute(audio)
    for same in [
        kaldera.fbank(audio, 8000),
        kaldera.fbank(audio, config="--sample-frequency=8000"),
        kaldera.fbank(audio, config={"sample_frequency": 8000}),
        kaldera.fbank(audio, sample_frequency=8000),
        kaldera.fbank(wav(tmp_path / "a.wav", audio, 8000), 8000),
    ]:
        np.testing.assert_array_equal(same, expected)
    config = {"sample_frequency": 16000, "allow_upsample": True, "dither": 0}
    at_8000 = kaldera.Fbank(config=config).compute(audio, 8000)
    np.testing.assert_array_equal(kaldera.fbank(audio, 8000, config=config), at_8000)
    with pytest.raises(ValueError, match="8000"):
        kaldera.fbank(audio, 8000, config="--sample-frequency=16000")
    both = kaldera.fbank([audio, wav(tmp_path / "b.wav", speech(8000), 16000)], 8000, config=config)
    np.testing.assert_array_equal(both[0], at_8000)
    np.testing.assert_array_equal(both[1], kaldera.Fbank(config=config).compute(speech(8000)))


def test_wrong_arguments_are_value_errors():
    audio, rows = speech(1000), np.ones((4, 2), np.float32)
    recognizer_rates = kaldera.Fbank()
    for wrong in [
        lambda: kaldera.fbank(audio, num_mel_bins=[1]),
        lambda: kaldera.fbank(audio, output="bogus"),
        lambda: kaldera.fbank([audio, audio], threads=-1),
        lambda: recognizer_rates.compute([audio, audio], [16000]),
        lambda: kaldera.splice(rows, 2**31, 0),
        lambda: kaldera.splice(rows, 10**9, 10**9),
        lambda: kaldera.splice(rows, -1, 0),
        lambda: kaldera.apply_cmvn(rows, np.zeros(6)),
        lambda: kaldera.resample(audio, -8, -8),
        lambda: kaldera.resample(audio, 0, 8),
        # A thousand samples of each.
        lambda: kaldera.resample(np.zeros(300_000, np.float32), 100, 100_000),
        lambda: kaldera.resample(np.zeros(300_000, np.float32), 100, 100_000, method="kaldi"),
    ]:
        with pytest.raises(ValueError):
            wrong()
    one = kaldera.fbank([audio], vtln_warp=np.array(1.0))[0]
    np.testing.assert_array_equal(one, kaldera.fbank(audio))


def test_plans_of_equal_options_of_other_types_are_their_own():
    kaldera.fbank(speech(1000), dither=1)
    with pytest.raises(ValueError, match="dither"):
        kaldera.fbank(speech(1000), dither=True)


def test_configurations_are_paths_or_texts(tmp_path):
    path = tmp_path / "my--fbank.conf"
    path.write_text("--num-mel-bins=40")
    assert kaldera.fbank(speech(1000), config=str(path)).shape[1] == 40
    assert kaldera.fbank(speech(1000), config="# bins\n--num-mel-bins=30").shape[1] == 30


def test_all_recordings_on_the_wrong_scale_are_noticed():
    quiet = speech(1000) / 32768
    pairs = np.zeros((1000, 2), np.float32)
    pairs[:, 0] = quiet
    for audio in [quiet, pairs[:, 0], [speech(1000), quiet]]:
        with pytest.warns(UserWarning, match="scale=32768"):
            kaldera.fbank(audio)


def test_samples_and_rows_need_no_alignment():
    audio = speech(1000)
    loose = np.frombuffer(b"\0" + audio.tobytes(), np.int16, offset=1)
    features = kaldera.fbank(audio)
    np.testing.assert_array_equal(kaldera.fbank(loose), features)
    loose = np.frombuffer(b"\0" + features.tobytes(), np.float32, offset=1).reshape(features.shape)
    np.testing.assert_array_equal(kaldera.add_deltas(loose), kaldera.add_deltas(features))


@pytest.mark.parametrize("kind", ["Fbank", "Pitch"])
def test_streams_that_ended_are_restored_ended(kind):
    extractor = getattr(kaldera, kind)()
    stream = extractor.stream()
    stream.accept_waveform(speech(4000))
    stream.input_finished()
    other = extractor.stream()
    other.restore_state(stream.save_state())
    assert other.is_finished
    np.testing.assert_array_equal(other.get_frames(), stream.get_frames())


def test_pitch_was_not_taken_beyond_its_frames():
    stream = kaldera.Pitch().stream()
    stream.accept_waveform(speech(4000))
    state = stream.save_state()
    with pytest.raises(ValueError, match="contradict"):
        stream.restore_state((10**6).to_bytes(8, "little") + state[8:])
    stream.restore_state(state)


def test_any_number_of_threads_gives_the_same():
    expected = kaldera.fbank([speech(1000)])[0]
    for threads in [10**6, 3, 2, 1]:
        np.testing.assert_array_equal(kaldera.fbank([speech(1000)], threads=threads)[0], expected)


def test_front_ends_of_models_are_presets():
    audio = speech(8321)
    rows = {preset: kaldera.FrontEnd(preset)(audio).shape for preset in ("sensevoice", "nemo-80", "wav2vec2", "silero-vad")}
    assert rows == {"sensevoice": (9, 560), "nemo-80": (52, 80), "wav2vec2": (8321, 1), "silero-vad": (17, 576)}
    assert kaldera.FrontEnd("qwen3-asr")(audio[:100]).shape == (50, 128)
    names = kaldera.presets()
    assert len(names) > 15 and names["nemo-128"].startswith("NeMo's Canary")
    assert all(kaldera.FrontEnd(name).dim > 0 for name in names)
    with pytest.raises(ValueError, match="nemo-128 is for NeMo's Canary"):
        kaldera.FrontEnd("canary")
