#!/usr/bin/env python3
"""Writes small random networks of WeNet, T-one and Paraformer, and the scores that ONNX Runtime finds with them.

    pip install onnx onnxruntime numpy
    python3 crates/kaldera-onnx/tests/make-kinds.py

The networks are those of benches/peers/model_kinds.py. kinds.json has the best token of each frame, or of each row, and its
log-probability, for the input of `wave`.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "benches/peers"))
sys.dont_write_bytecode = True
import model_kinds as kinds  # noqa: E402

FOLDER = HERE / "networks/kinds"
SILENCE = np.float32(-15.942385)


def wave(count: int) -> np.ndarray:
    place = np.arange(count, dtype=np.float64)
    return (0.5 * np.sin(0.37 * place + 0.001 * place * place)).astype(np.float32)


def best(scores: np.ndarray) -> dict:
    scores = scores.astype(np.float64)
    logs = scores - np.log(np.exp(scores - scores.max(-1, keepdims=True)).sum(-1, keepdims=True)) - scores.max(-1, keepdims=True)
    return {"tokens": logs.argmax(-1).tolist(), "scores": np.round(logs.max(-1), 6).tolist()}


def session(make, name: str, file: str = "model.onnx"):
    with tempfile.TemporaryDirectory() as scratch:
        make(Path(scratch) / "kind")
        found = next((Path(scratch) / "kind").rglob(file))
        shutil.copy(found, FOLDER / f"{name}.onnx")
    return onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", providers=["CPUExecutionProvider"])


def wenet() -> dict:
    network = session(kinds.wenet_streaming_ctc, "wenet", "model-streaming.onnx")
    chunk, cached, rows = 16, 64, wave(150 * 80).reshape(-1, 80)
    shapes = {of.name: [cached if isinstance(size, str) else size for size in of.shape] for of in network.get_inputs()}
    caches = {name: np.zeros(shapes[name], dtype=np.float32) for name in ("attn_cache", "conv_cache")}
    padded = np.concatenate([rows, np.full((30 + 67, 80), SILENCE, dtype=np.float32)])
    found = []
    for number, start in enumerate(range(0, len(rows) + 30, 64)):
        frames = number * chunk
        mask = np.arange(cached + chunk) >= cached - frames
        feed = {"x": padded[None, start:start + 67], "offset": np.array([cached + frames]), "attn_mask": mask[None, None]}
        scores, *next_caches = network.run(None, {**feed, "required_cache_size": np.array([cached]), **caches})
        found.append(scores[0])
        caches = dict(zip(caches, next_caches))
    return best(np.concatenate(found))


def t_one() -> dict:
    network = session(kinds.t_one, "t-one")
    samples = np.concatenate([wave(6000), np.zeros(4800 + 2400, dtype=np.float32)])
    state, found = np.zeros([1, network.get_inputs()[1].shape[1]], dtype=np.float16), []
    for start in range(0, 6000 + 4800, 2400):
        chunk = (samples[start:start + 2400] * 32767).astype(np.int32)[None, :, None]
        scores, state = network.run(None, {"signal": chunk, "state": state})
        found.append(scores[0])
    return best(np.concatenate(found))


def paraformer() -> dict:
    network = session(kinds.paraformer, "paraformer")
    rows = 4 * wave(40 * 560).reshape(1, -1, 560)
    scores, _, _, peaks = network.run(None, {"speech": rows, "speech_lengths": np.array([40], dtype=np.int32)})
    return {**best(scores[0]), "peaks": np.flatnonzero(peaks[0] > 1 - 1e-4).tolist()}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    answers = {"wenet": wenet(), "t-one": t_one(), "paraformer": paraformer()}
    for name, answer in answers.items():
        print(name, len(answer["tokens"]), sorted(set(answer["tokens"])))
    (FOLDER / "kinds.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
