"""Front ends for models.py: the toolkits' own, and sherpa-onnx 2.0.1's.

A front end takes samples at 16 kHz from -1 to 1, and returns rows of features. `by_ctc` and
`by_transducer` search with either of them, for the kinds that onnx-asr does not read.
"""

from pathlib import Path
from typing import Callable

import kaldi_native_fbank
import numpy as np
import onnxruntime

EPSILON = float(np.finfo(np.float32).eps)
GUARD = 2.0**-24


def slaney(bins: int) -> np.ndarray:
    """librosa's filters of 0 to 8000 Hz for an FFT of 512, [257, bins]."""

    def mel(hertz):
        return np.where(hertz < 1000, hertz * 3 / 200, 15 + np.log(np.maximum(hertz, 1) / 1000) * 27 / np.log(6.4))

    def hertz(mels):
        return np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) * np.log(6.4) / 27))

    edges = hertz(np.linspace(0, mel(np.float64(8000)), bins + 2))
    ramps = edges[None] - np.linspace(0, 8000, 257)[:, None]
    widths = np.diff(edges)
    return np.maximum(0, np.minimum(-ramps[:, :-2] / widths[:-1], ramps[:, 2:] / widths[1:])) * 2 / (edges[2:] - edges[:-2])


def kaldi_filters(bins: int, low: float, high: float) -> np.ndarray:
    def mel(hertz):
        return 1127 * np.log1p(hertz / 700)

    edges, places = np.linspace(mel(low), mel(high), bins + 2), mel(np.linspace(0, 8000, 257))[:, None]
    rising, falling = (places - edges[:-2]) / (edges[1:-1] - edges[:-2]), (edges[2:] - places) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(rising, falling))


def power(samples: np.ndarray, window: np.ndarray) -> np.ndarray:
    frames = np.lib.stride_tricks.sliding_window_view(samples, len(window))[::160]
    return np.abs(np.fft.rfft(frames * window, 512)) ** 2


def centred(window: np.ndarray) -> np.ndarray:
    return np.pad(window, (512 - len(window)) // 2)


def of_nemo(bins: int) -> Callable:
    """NeMo's, without a normalisation."""

    def rows(samples: np.ndarray) -> np.ndarray:
        filtered = np.concatenate([samples[:1], samples[1:] - 0.97 * samples[:-1]])
        found = power(np.pad(filtered, 256), centred(np.hanning(400))) @ slaney(bins)
        return np.log(found + GUARD)[: len(samples) // 160].astype(np.float32)

    return rows


def of_dolphin(samples: np.ndarray) -> np.ndarray:
    """ESPnet's, with the settings of Dolphin's configuration."""
    found = power(np.pad(samples, 256, mode="reflect"), centred(np.hanning(401)[:-1])) @ slaney(80)
    return np.log(np.maximum(found, 1e-10)).astype(np.float32)


def of_medasr(samples: np.ndarray) -> np.ndarray:
    """The transformers' LasrFeatureExtractor."""
    return np.log(np.maximum(power(samples, np.hanning(400)) @ kaldi_filters(128, 125, 7500), 1e-5)).astype(np.float32)


def by_knf(guarded: bool = False, normalized: bool = False, **options) -> Callable:
    """Kaldi's, with other options."""
    made = kaldi_native_fbank.FbankOptions()
    made.use_log_fbank, made.frame_opts.dither = False, 0
    for name, value in options.items():
        setattr(made.mel_opts if hasattr(made.mel_opts, name) else made.frame_opts, name, value)

    def rows(samples: np.ndarray) -> np.ndarray:
        bank = kaldi_native_fbank.OnlineFbank(made)
        bank.accept_waveform(16000, samples.tolist())
        bank.input_finished()
        energies = np.stack([bank.get_frame(number) for number in range(bank.num_frames_ready)])
        found = np.log(energies + np.float32(GUARD)) if guarded else np.log(np.maximum(energies, np.float32(EPSILON)))
        return (found - found.mean(axis=0)) / (found.std(axis=0) + 1e-5) if normalized else found

    return rows


def scaled(front: Callable) -> Callable:
    """With samples as in WAV files."""
    return lambda samples: front(samples * 32768)


def standard(addend: float) -> Callable:
    """The samples, with zero mean and unit variance."""
    return lambda samples: ((samples - samples.mean()) / np.sqrt(samples.var() + addend)).astype(np.float32)


OF_WENET = scaled(by_knf(num_bins=80))


def sherpas(bins: int, **options) -> Callable:
    return by_knf(**{"snip_edges": False, "remove_dc_offset": False, "num_bins": bins, "low_freq": 0, "window_type": "hann", "high_freq": 8000} | options)


def sherpas_medasr(samples: np.ndarray) -> np.ndarray:
    """kaldi-native-fbank's Python refuses a filter that has no bin of the FFT."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, 400)[::160]
    filtered = frames - 0.97 * np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    found = np.abs(np.fft.rfft(filtered * np.hanning(400), 512)) ** 2 @ kaldi_filters(128, 125, 7500)
    return np.log(np.maximum(found, EPSILON)).astype(np.float32)


NEMO = {"is_librosa": True, "guarded": True, "normalized": True}
SHERPAS = {
    "nemo-ctc": sherpas(80, **NEMO),
    "nemo-80": sherpas(80, window_type="povey", high_freq=-400, **NEMO),
    "nemo-128": sherpas(128, window_type="povey", high_freq=-400, **NEMO),
    "nemotron": sherpas(128, is_librosa=True),
    "gigaam": sherpas(64),
    "dolphin": sherpas(80, is_librosa=True, frame_length_ms=31.25),
    "medasr": sherpas_medasr,
    "wenet": scaled(by_knf(num_bins=80, snip_edges=False, high_freq=-400)),
    "wav2vec2": standard(1e-5),
}


def tokens_of(path: Path) -> list:
    lines = [line.rpartition(" ")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    return [token.replace("\u2581", " ") if token.strip() else " " for token in lines]


def session_of(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def best_tokens(scores: np.ndarray, tokens: list, frame: float = 0.04) -> tuple:
    """Tokens and times of the best token of each frame; the blank is 0."""
    best = scores.argmax(axis=-1)
    places = np.flatnonzero((best != 0) & (np.diff(best, prepend=0) != 0))
    return [tokens[token] for token in best[places]], (places * frame).tolist()


def by_samples(folder: Path) -> Callable:
    session, tokens = session_of(folder / "plain/model.onnx"), tokens_of(folder / "sherpa/tokens.txt")
    return lambda samples: best_tokens(session.run(None, {"input_values": samples[None]})[0][0], tokens, 0.02)


def by_ctc(folder: Path, mask: bool = False, normalized: bool = False) -> Callable:
    session, tokens = session_of(folder / "model.onnx"), tokens_of(folder / "tokens.txt")
    metadata = session.get_modelmeta().custom_metadata_map
    names = [one.name for one in session.get_inputs()]

    def search(rows: np.ndarray) -> tuple:
        if normalized:
            mean, scale = (np.array(metadata[key].split(","), dtype=np.float32) for key in ("mean", "invstd"))
            rows = (rows - mean) * scale
        length = np.ones((1, len(rows)), dtype=np.int64) if mask else np.array([len(rows)])
        return best_tokens(session.run(None, {names[0]: rows[None], names[1]: length})[0][0], tokens)

    return search


def by_wenet_chunks(folder: Path) -> Callable:
    session, tokens = session_of(folder / "model-streaming.onnx"), tokens_of(folder / "tokens.txt")
    metadata = session.get_modelmeta().custom_metadata_map
    names = "chunk_size left_chunks head num_blocks output_size cnn_module_kernel right_context subsampling_factor".split()
    chunk, left, heads, blocks, width, kernel, right, factor = (int(metadata[name]) for name in names)
    required, window = chunk * left, (chunk - 1) * factor + right + 1

    def search(rows: np.ndarray) -> tuple:
        keys = np.zeros((blocks, heads, required, width // heads * 2), dtype=np.float32)
        memory, found = np.zeros((blocks, 1, width, kernel - 1), dtype=np.float32), []
        for number, start in enumerate(range(0, len(rows) - window, chunk * factor)):
            mask = np.arange(required + chunk)[None, None] >= required - number * chunk
            inputs = {
                "x": rows[None, start : start + window], "offset": np.array([required + number * chunk]), "attn_cache": keys,
                "required_cache_size": np.array([required]), "conv_cache": memory, "attn_mask": mask,
            }  # fmt: skip
            scores, keys, memory = session.run(None, inputs)
            found.append(scores[0])
        return best_tokens(np.concatenate(found), tokens)

    return search


def by_transducer(folder: Path) -> Callable:
    """Of a cache-aware transducer: greedy, 10 tokens in a frame of 80 ms at most."""
    encoder, decoder, joiner = (session_of(folder / f"{part}.onnx") for part in ("encoder", "decoder", "joiner"))
    tokens = tokens_of(folder / "tokens.txt")
    metadata = encoder.get_modelmeta().custom_metadata_map
    window, shift = int(metadata["window_size"]), int(metadata["chunk_shift"])
    shapes = [[int(metadata[f"cache_last_{name}_dim{axis}"]) for axis in (1, 2, 3)] for name in ("channel", "time")]
    targets, length, *states = (one.name for one in decoder.get_inputs())
    frame, predicted = (one.name for one in joiner.get_inputs())
    first = [np.zeros((int(metadata["pred_rnn_layers"]), 1, int(metadata["pred_hidden"])), dtype=np.float32) for _ in states]

    def predict(token: int, before: list) -> tuple:
        inputs = {targets: np.array([[token]], dtype=np.int32), length: np.array([1], dtype=np.int32), **dict(zip(states, before))}
        output, _, *after = decoder.run(None, inputs)
        return output, after

    def search(rows: np.ndarray) -> tuple:
        caches = [np.zeros([1, *shape], dtype=np.float32) for shape in shapes] + [np.zeros(1, dtype=np.int64)]
        inputs = [one.name for one in encoder.get_inputs()]
        output, state = predict(len(tokens) - 1, first)
        found, times, at = [], [], 0
        for start in range(0, len(rows) - window, shift):
            prompt = [np.array([int(metadata["auto_prompt_id"])])] if "prompt_index" in inputs else []
            feeds = [rows[None, start : start + window].transpose(0, 2, 1), np.array([window]), *caches, *prompt]
            encoded, _, *caches = encoder.run(None, dict(zip(inputs, feeds)))
            for number in range(encoded.shape[2]):
                for _ in range(10):
                    token = int(joiner.run(None, {frame: encoded[:, :, number : number + 1], predicted: output})[0].argmax())
                    if token == len(tokens) - 1:
                        break
                    found.append(tokens[token])
                    times.append(0.08 * (at + number))
                    output, state = predict(token, state)
            at += encoded.shape[2]
        kept = [(token, time) for token, time in zip(found, times) if not (token.startswith("<") and token.endswith(">") and "-" in token)]
        return [token for token, _ in kept], [time for _, time in kept]

    return search
