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
    for options in [{"num_mel_bin": 80}, {"mel_bins": 80}]:
        with pytest.raises(ValueError, match="there is no option .*: there are .*num_mel_bins"):
            kaldera.fbank(speech(), **options)
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
    with pytest.raises(ValueError, match="no preset 'matlab': there are kaldi, torchaudio"):
        kaldera.Fbank(preset="matlab")
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
    with pytest.raises(ValueError, match=r"one axis.*\[2, 100\]"):
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
    assert rate == RATE and samples.dtype == np.int16
    np.testing.assert_array_equal(samples, speech(3000, 1))
    both, _ = kaldera.read_audio(tmp_path / "stereo.WAV")
    assert both.shape == (500, 2)
    right, _ = kaldera.read_audio(tmp_path / "stereo.WAV", channel=1)
    np.testing.assert_array_equal(right, speech(500, 4))
    mean, _ = kaldera.read_audio(tmp_path / "stereo.WAV", channel="mean")
    np.testing.assert_array_equal(mean, both.mean(axis=1).astype(np.float32))
    found = kaldera.find_recordings(tmp_path)
    assert sorted(found) == ["a", "b", "stereo"]
    of_paths = kaldera.fbank([found["a"], found["b"]], allow_upsample=True, dither=0)
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
