#!/usr/bin/env python3
"""Writes the known answers of crates/kaldi-feat/tests/it/presets.rs: what the packages' own extractors give for signals that the test makes again.

    pip install asrfront==0.2.2 transformers==5.24.0 onnx-asr==0.12.0 onnxruntime snfa==0.3.0 librosa==0.11.0 \
        kaldi-native-fbank==1.23.0 openai-whisper==20250625 lhotse==1.33.0 torch==2.15.0 numpy
    pip install --no-deps nemo_toolkit==3.0.0 funasr==1.4.16 silero-vad==6.2.3 torch_complex omegaconf antlr4-python3-runtime==4.9.3
    python3 scripts/make-preset-answers.py > crates/kaldi-feat/tests/it/presets/answers.txt
    python3 scripts/make-preset-answers.py --compare target/release/kaldera [WAV...]

With --compare it prints a table of how far all rows of the command are from those of the packages, for these signals and for
recordings of 16 kHz, 16 bit and one channel.

Extractors are constructed with their defaults; what a model's configuration sets beside them stands here. Of NeMo, FunASR and silero-vad
the extractor's own files are imported, without what the packages import around them; NeMo's `FilterbankFeatures` is what its
`AudioToMelSpectrogramPreprocessor` calls. `onnx-asr` and `kaldi-native-fbank` have features made after NeMo's, and librosa's transform and
filters are put together in double precision as NeMo puts torch's together. Rows that an attention mask leaves out are left out, too.
Silero's rows are what its `OnnxWrapper` hands to its network.

Beside whole signals there are edges: lengths around one frame, silence, full scale, a constant. Left out are those for which a package
has an error (FunASR below 2 samples, snfa and silero below a frame, lhotse below 160) or a window of its own (FunASR below 400), and those
where NeMo divides roundings of the logarithm by 1e-5 (silence). Only transformers' extractor of Qwen3-ASR fills up what is shorter than
half a second, as Qwen's own `qwen_asr` does before Whisper's extractor.

kaldi-native-fbank's `OnlineWhisperFbank` is not here: its frames lie where Kaldi's do without `snip_edges`, half a shift, 80 samples, after
Whisper's. After 80 zeros before the signal, all but its first frames are librosa's within 2e-6 of the largest value of the frame.
"""
import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import types
import unittest.mock
import wave

import answer_signal
import asrfront
import kaldi_native_fbank as knf
import librosa
import numpy as np
import snfa.stft
import torch
import whisper as openai_whisper
from onnx_asr.preprocessors.numpy_preprocessor import GigaamPreprocessorNumpy, KaldiPreprocessorNumpy, NemoPreprocessorNumpy
from onnx_asr.preprocessors.preprocessor import OnnxPreprocessor
from transformers import Gemma4AudioFeatureExtractor, Wav2Vec2FeatureExtractor, WhisperFeatureExtractor

logging.disable(logging.WARNING)

RATE = 16000
# Of a model whose am.mvn has such numbers.
SHIFT = (-8.0 - np.arange(560) % 80 / 16).astype(np.float32)
SCALE = (0.125 + np.arange(560) % 7 / 64).astype(np.float32)


def signal(name):
    """Of so many samples; or of a kind: `clip:16000`."""
    kind, _, n = str(name).rpartition(":")
    if kind in ("silence", "constant"):
        return np.full(int(n), 0.25 if kind == "constant" else 0, np.float32)
    y = answer_signal.signal(int(n)).astype(np.float32)
    return {"": y, "clip": np.where(y < 0, np.float32(-1), np.float32(32767 / 32768)), "loud": 8 * y}[kind]


def without_init(*packages):
    """Packages whose files can be imported without what they import themselves."""
    for name in packages:
        spec = importlib.util.find_spec(name)
        module = types.ModuleType(name)
        module.__path__ = list(spec.submodule_search_locations)
        sys.modules[name] = module


def whisper(y, bins):
    extract = WhisperFeatureExtractor(feature_size=bins)
    return extract(y, sampling_rate=RATE, return_tensors="np").input_features[0].T


def gemma4(y):
    found = Gemma4AudioFeatureExtractor()([y], sampling_rate=RATE, return_tensors="np")
    features, mask = found.input_features[0], np.asarray(found.input_features_mask[0])
    assert not features[~mask].any()
    return features[mask]


def masked(extract):
    """The rows that an extractor of onnx-asr counts."""

    def run(y, columns_first):
        features, lengths = extract(y[None].copy(), np.array([len(y)], np.int64))
        rows = features[0].T if columns_first else features[0]
        assert not rows[lengths[0] :].any()
        return rows[: lengths[0]]

    return run


def parakeet(y, bins):
    from transformers import ParakeetFeatureExtractor

    found = ParakeetFeatureExtractor(feature_size=bins)(y, sampling_rate=RATE)
    return np.asarray(found.input_features[0])[np.asarray(found.attention_mask[0])]


def whisper_of_openai(y, bins, pad=False):
    return openai_whisper.log_mel_spectrogram(openai_whisper.pad_or_trim(y) if pad else y, n_mels=bins).numpy().T


def whisper_of_librosa(y, bins, pad=False):
    y = openai_whisper.pad_or_trim(y) if pad else y
    stft = librosa.stft(y.astype(np.float64), n_fft=400, hop_length=160, pad_mode="reflect")
    mel = librosa.filters.mel(sr=RATE, n_fft=400, n_mels=bins).astype(np.float64) @ np.abs(stft[:, :-1]) ** 2
    log = np.log10(np.maximum(mel, 1e-10))
    return ((np.maximum(log, log.max() - 8.0) + 4.0) / 4.0).T


def per_feature(rows):
    """NeMo's normalisation."""
    rows = rows.astype(np.float64)
    return (rows - rows.mean(0)) / (rows.std(0, ddof=1) + 1e-5)


def nemo_of_librosa(y, bins):
    y = y.astype(np.float64)
    y = np.concatenate([y[:1], y[1:] - 0.97 * y[:-1]])
    # NeMo's window is symmetric.
    stft = librosa.stft(y, n_fft=512, hop_length=160, win_length=400, window=np.hanning(400), pad_mode="constant")
    mel = librosa.filters.mel(sr=RATE, n_fft=512, n_mels=bins).astype(np.float64) @ np.abs(stft) ** 2
    return per_feature(np.log(mel + 2.0**-24)[:, : len(y) // 160].T)


def dolphin_of_librosa(y):
    """ESPnet's DefaultFrontend with the settings of Dolphin's config.yaml; librosa's window is periodic, as torch's."""
    stft = librosa.stft(y.astype(np.float64), n_fft=512, hop_length=160, win_length=400, pad_mode="reflect")
    mel = librosa.filters.mel(sr=RATE, n_fft=512, n_mels=80).astype(np.float64) @ np.abs(stft) ** 2
    return np.log(np.maximum(mel, 1e-10)).T


def medasr(y):
    from transformers import LasrFeatureExtractor

    return LasrFeatureExtractor()(y, sampling_rate=RATE).input_features[0].numpy()


def nemo_of_knf(y, bins):
    stream = knf.OnlineNemoFbank(knf.NemoFbankOptions(num_mel_bins=bins))
    stream.accept_waveform(RATE, y.tolist())
    stream.input_finished()
    return per_feature(np.array(stream.get_frames(0, stream.num_frames_ready, True)[0]))


def fbank_of_knf(y, change):
    options = knf.FbankOptions()
    options.frame_opts.dither = 0.0
    options.mel_opts.num_bins = 80
    change(options)
    stream = knf.OnlineFbank(options)
    stream.accept_waveform(RATE, y.tolist())
    stream.input_finished()
    return np.stack([stream.get_frame(i) for i in range(stream.num_frames_ready)])


def as_icefall(options):
    options.frame_opts.snip_edges = False
    options.mel_opts.high_freq = -400.0


def as_funasr(options):
    options.frame_opts.window_type = "hamming"


def nemo(bins):
    parts = "nemo.collections.asr.parts.preprocessing"
    if parts not in sys.modules:
        without_init("nemo.collections", "nemo.collections.asr", "nemo.collections.asr.parts", parts)
        # They augment and read audio.
        sys.modules[f"{parts}.perturb"] = sys.modules[f"{parts}.segment"] = unittest.mock.MagicMock()
    from nemo.collections.asr.parts.preprocessing.features import FilterbankFeatures

    extract = FilterbankFeatures(n_window_size=400, nfilt=bins).eval()

    def run(y):
        features, length = extract(torch.from_numpy(y)[None], torch.tensor([len(y)]))
        return features[0, :, : length[0]].numpy().T

    return run


def funasr(mvn=None):
    if "funasr.frontends" not in sys.modules:
        without_init("funasr", "funasr.utils", "funasr.frontends")
    from funasr.frontends.wav_frontend import WavFrontend

    extract = WavFrontend(cmvn_file=mvn, lfr_m=7, lfr_n=6, dither=0.0)
    return lambda y: extract(torch.from_numpy(y)[None], torch.tensor([len(y)]))[0][0].numpy()


def qwen3_asr(y):
    from transformers import Qwen3ASRFeatureExtractor

    # As `Qwen3ASRProcessor` calls it.
    found = Qwen3ASRFeatureExtractor()(y, sampling_rate=RATE, padding=True, truncation=False, return_attention_mask=True)
    return found.input_features[0].numpy().T[found.attention_mask[0].numpy().astype(bool)]


def lhotse(y):
    from lhotse import Fbank, FbankConfig

    return Fbank(FbankConfig(num_mel_bins=80)).extract(y, RATE)


def low_frame_rate(rows, m=7, n=6):
    """Row i has m rows from n * i on, after (m - 1) / 2 times the first; the last one is repeated."""
    rows = np.concatenate([np.repeat(rows[:1], (m - 1) // 2, 0), rows])
    places = np.minimum(np.arange(0, len(rows) - (m - 1) // 2, n)[:, None] + np.arange(m), len(rows) - 1)
    return rows[places].reshape(len(places), -1)


def silero(y, rate):
    """What silero's wrapper hands to its network."""
    from silero_vad import load_silero_vad

    rows = []

    class Session:
        def run(self, _, inputs):
            rows.append(inputs["input"][0].copy())
            return np.zeros((1, 1), np.float32), np.zeros((2, 1, 128), np.float32)

    wrapper = load_silero_vad(onnx=True)
    wrapper.session = Session()
    wrapper.audio_forward(torch.from_numpy(y)[None], rate)
    return np.stack(rows)


def write_mvn(path):
    with open(path, "w") as out:
        for name, vector in (("<AddShift>", SHIFT), ("<Rescale>", SCALE)):
            out.write(f"{name} 560 560\n<LearnRateCoef> 0 [ {' '.join(map(repr, vector.tolist()))} ]\n")


def samples_of(preset):
    extract = Wav2Vec2FeatureExtractor(do_normalize=preset == "wav2vec2")
    return lambda y: np.asarray(extract(y, sampling_rate=RATE).input_values[0])[:, None]


def snfa_mel(y):
    # The options of snfa.Aligner().
    return snfa.stft.mel_spectrogram(y.astype(np.float64), sr=RATE, n_fft=1024, hop_length=320, n_mels=80).T


def cases():
    """Preset, package, function of the signal, and the lengths of signals."""
    lengths, few = (24159, 8321, 700), (24159, 700)
    for bins, preset in ((80, "whisper-30s"), (128, "whisper-large-v3")):
        yield preset, "asrfront", lambda y, bins=bins: asrfront.whisper.log_mel(y, n_mels=bins).T, (24159, 700, 485000)
        yield preset, "transformers", lambda y, bins=bins: whisper(y, bins), (24159, 700, 485000)
        yield preset, "openai-whisper", lambda y, bins=bins: whisper_of_openai(y, bins, True), (24159, 485000)
        yield preset, "librosa", lambda y, bins=bins: whisper_of_librosa(y, bins, True), (24159, 485000)
    yield "whisper", "asrfront", lambda y: asrfront.whisper.log_mel(y, pad_or_trim=False).T, lengths
    yield "whisper", "openai-whisper", lambda y: whisper_of_openai(y, 80), few
    yield "qwen3-asr", "openai-whisper", lambda y: whisper_of_openai(y, 128), lengths[:1]
    yield "qwen3-asr", "librosa", lambda y: whisper_of_librosa(y, 128), lengths[:1]
    yield "qwen3-asr", "asrfront", lambda y: asrfront.qwen3_asr.log_mel(y).T, lengths[:2]
    yield "qwen3-asr", "transformers", qwen3_asr, lengths
    yield "sensevoice", "asrfront", asrfront.sensevoice.fbank, lengths
    yield "sensevoice", "kaldi-native-fbank", lambda y: low_frame_rate(fbank_of_knf(y * 32768, as_funasr)), few
    yield "paraformer", "asrfront-cmvn", lambda y: asrfront.sensevoice.fbank(y, cmvn=(SHIFT, SCALE)), lengths
    for bins in (80, 128):
        graph, code = OnnxPreprocessor(f"nemo{bins}", {}), NemoPreprocessorNumpy(f"nemo{bins}")
        yield f"nemo-{bins}", "onnx-asr-graph", lambda y, graph=graph: masked(graph)(y, True), lengths
        yield f"nemo-{bins}", "onnx-asr", lambda y, code=code: masked(code)(y, True), lengths
        yield f"nemo-{bins}", "librosa", lambda y, bins=bins: nemo_of_librosa(y, bins), few
        yield f"nemo-{bins}", "kaldi-native-fbank", lambda y, bins=bins: nemo_of_knf(y, bins), few
        yield f"nemo-{bins}", "transformers", lambda y, bins=bins: parakeet(y, bins), few
        yield f"nemo-{bins}", "nemo", nemo(bins), few
    for version in ("gigaam_v2", "gigaam_v3"):
        # The graph's transform in single precision is up to 0.01 from double precision; the code's is not.
        code = GigaamPreprocessorNumpy(version)
        yield version.replace("_", "-"), "onnx-asr", lambda y, code=code: masked(code)(y, True), lengths
    yield "dolphin", "librosa", dolphin_of_librosa, lengths
    yield "medasr", "transformers", medasr, lengths
    yield "gemma4", "asrfront", lambda y: asrfront.gemma4.log_mel(y)[: asrfront.gemma4.num_frames(len(y))], (*lengths, 485000)
    yield "gemma4", "transformers", gemma4, (*lengths, 485000)
    yield "zipformer", "onnx-asr", lambda y: masked(KaldiPreprocessorNumpy("kaldi"))(y, False), lengths
    yield "zipformer", "kaldi-native-fbank", lambda y: fbank_of_knf(y, as_icefall), few
    for preset in ("wav2vec2", "moonshine"):
        yield preset, "transformers", samples_of(preset), lengths
    yield "silero-vad", "silero-vad", lambda y: silero(y, 16000), lengths
    yield "silero-vad-8k", "silero-vad", lambda y: silero(y, 8000), lengths
    yield "snfa", "snfa", snfa_mel, lengths[:2]


def edges(mvn):
    """The same for signals at the edges."""
    odd = ("silence:1600", "clip:4000", "constant:1600")
    for bins, preset in ((80, "whisper-30s"), (128, "whisper-large-v3")):
        yield preset, "transformers", lambda y, bins=bins: whisper(y, bins), (1, "silence:1600", "clip:4000")
    yield "whisper", "openai-whisper", lambda y: whisper_of_openai(y, 80), (201, 319, 320, *odd)
    yield "qwen3-asr", "transformers", qwen3_asr, (0, 1, 7999, 8000, 8001, *odd)
    yield "sensevoice", "funasr", funasr(), (400, 559, 560, 24159, *odd, "loud:4000")
    yield "paraformer", "funasr-cmvn", funasr(mvn), (400, 24159, *odd)
    for bins in (80, 128):
        yield f"nemo-{bins}", "nemo", nemo(bins), (159, 160, 319, 320, 321, "clip:4000", "constant:1600", "loud:4000")
    for version in ("gigaam_v2", "gigaam_v3"):
        code = GigaamPreprocessorNumpy(version)
        sizes = (320, 321, 479, 480, 24159, *odd, "loud:4000")
        yield version.replace("_", "-"), "onnx-asr", lambda y, code=code: masked(code)(y, True), sizes
    yield "dolphin", "librosa", dolphin_of_librosa, (320, 321, 480, 24159, *odd, "loud:4000")
    yield "medasr", "transformers", medasr, (400, 559, 560, 24159, *odd, "loud:4000")
    yield "gemma4", "transformers", gemma4, (160, 161, 320, 321, 480001, *odd)
    yield "zipformer", "lhotse", lhotse, (160, 239, 240, 399, 400, 401, 24159, *odd, "loud:4000")
    yield "wav2vec2", "transformers", samples_of("wav2vec2"), (0, 1, 2, *odd)
    yield "moonshine", "transformers", samples_of("moonshine"), (0, 1, 2)
    yield "silero-vad", "silero-vad", lambda y: silero(y, 16000), (512, 513, 1024)
    yield "silero-vad-8k", "silero-vad", lambda y: silero(y, 8000), (256, 257, 512)
    yield "snfa", "snfa", snfa_mel, (1024, 1343, 1344, *odd)


def write_wav(path, y):
    with wave.open(path, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes((y * 32768).astype("<i2").tobytes())


def read_wav(path):
    with wave.open(path) as file:
        if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, RATE):
            sys.exit(f"{path}: not of one channel, 16 bit and {RATE} Hz")
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / np.float32(32768)


def compare(kaldera, recordings):
    """Prints a table of differences: largest and mean, of a preset and a package."""
    print("| preset | package | recordings | numbers | largest difference | mean |")
    print("|---|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        mvn = os.path.join(folder, "am.mvn")
        write_mvn(mvn)
        for preset, package, extract, lengths in cases():
            count, total, largest = 0, 0.0, 0.0
            signals = [signal(n) for n in lengths] + [read_wav(path) for path in recordings]
            for y in signals:
                wav, found = os.path.join(folder, "y.wav"), os.path.join(folder, "y.npz")
                write_wav(wav, y)
                options = [f"--cmvn-file={mvn}"] if package.endswith("-cmvn") else []
                if preset == "silero-vad-8k":
                    options.append("--sample-frequency=16000")
                command = [kaldera, "features", "-q", "--preset", preset, *options, "-o", found, wav]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                rows, ours = np.asarray(extract(y.copy()), np.float64), np.load(found)["y"]
                if rows.shape != ours.shape:
                    sys.exit(f"{preset}, {package}: {ours.shape} where {rows.shape} are expected")
                difference = np.abs(rows - ours)
                count, total, largest = count + rows.size, total + difference.sum(), max(largest, difference.max())
            print(f"| {preset} | {package} | {len(signals)} | {count:,} | {largest:.1e} | {total / count:.1e} |", flush=True)


def main():
    if sys.argv[1:2] == ["--compare"]:
        return compare(sys.argv[2], sys.argv[3:])
    with tempfile.TemporaryDirectory() as folder:
        write_mvn(mvn := os.path.join(folder, "am.mvn"))
        show(cases(), 8, 12)
        show(edges(mvn), 3, 6)


def show(cases, num_rows, num_columns):
    """Preset, package, signal, rows, columns, steps; then the values at the steps."""
    for preset, package, extract, names in cases:
        for name in names:
            rows = np.asarray(extract(signal(name)))
            row_step, column_step = max(1, rows.shape[0] // num_rows), max(1, rows.shape[1] // num_columns)
            print(preset, package, name, *rows.shape, row_step, column_step)
            for row in rows[::row_step, ::column_step]:
                print(" ".join(f"{x:.7g}" for x in row))


if __name__ == "__main__":
    main()
