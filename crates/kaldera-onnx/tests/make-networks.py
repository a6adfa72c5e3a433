#!/usr/bin/env python3
"""Writes small random networks, and what ONNX Runtime computes of them.

    pip install onnx onnxruntime numpy
    python3 crates/kaldera-onnx/tests/make-networks.py

Each network has the names of tensors and the metadata that an exporter writes; answers.json has utterances
of several lengths, row by row, and their log-probabilities: log-softmax in double precision of what ONNX
Runtime gives for each utterance alone.
"""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).parent / "networks"
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
WIDTH, HIDDEN, TOKENS = 8, 6, 5
random = np.random.default_rng(36)


def weights(name, *shape, dtype=np.float32):
    scale = 1 / np.sqrt(np.prod(shape[1:]) or 1)
    return numpy_helper.from_array((random.standard_normal(shape) * scale).astype(dtype), name)


def constant(name, values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def save(name, nodes, inputs, outputs, initializers, metadata):
    value = lambda v: helper.make_tensor_value_info(v[0], v[1], v[2])
    graph = helper.make_graph(nodes, name, [value(v) for v in inputs], [value(v) for v in outputs], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    model.producer_name = "make-networks.py"
    for key, text in metadata.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, text
    onnx.checker.check_model(model)
    onnx.save(model, FOLDER / f"{name}.onnx")


def halved(length, result):
    """Rows after a convolution of 3 rows with stride 2 and a row of padding at both ends."""
    return [helper.make_node("Add", [length, "one"], ["length_1"]), helper.make_node("Div", ["length_1", "two"], [result])]


def encoder(columns, result):
    """Columns [N, F, T] to scores [N, (T + 1) / 2, V]."""
    return [
        helper.make_node("Conv", [columns, "conv.weight", "conv.bias"], ["conv"], strides=[2], pads=[1, 1],
                         dilations=[1], group=1, kernel_shape=[3]),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("Transpose", ["relu"], ["hidden"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["hidden", "output.weight"], ["product"]),
        helper.make_node("Add", ["product", "output.bias"], [result]),
    ]


def encoder_weights():
    return [
        weights("conv.weight", HIDDEN, WIDTH, 3), weights("conv.bias", HIDDEN),
        weights("output.weight", HIDDEN, TOKENS), weights("output.bias", TOKENS),
        constant("one", [1]), constant("two", [2]),
    ]


def icefall():
    nodes = [helper.make_node("Transpose", ["x"], ["columns"], perm=[0, 2, 1])]
    nodes += encoder("columns", "scores") + [helper.make_node("LogSoftmax", ["scores"], ["log_probs"], axis=-1)]
    nodes += halved("x_lens", "log_probs_len")
    metadata = {"model_type": "zipformer2_ctc", "version": "1", "model_author": "k2-fsa", "comment": "non-streaming zipformer2 CTC"}
    save("icefall", nodes, [("x", FLOAT, ["N", "T", WIDTH]), ("x_lens", INT64, ["N"])],
         [("log_probs", FLOAT, ["N", "T_out", TOKENS]), ("log_probs_len", INT64, ["N"])], encoder_weights(), metadata)


def nemo():
    nodes = encoder("audio_signal", "logprobs")
    metadata = {"model_type": "EncDecCTCModelBPE", "version": "1", "model_author": "NeMo", "vocab_size": str(TOKENS),
                "normalize_type": "per_feature", "subsampling_factor": "2"}
    save("nemo", nodes + [helper.make_node("Identity", ["length"], ["unused"])],
         [("audio_signal", FLOAT, ["B", WIDTH, "T"]), ("length", INT64, ["B"])],
         [("logprobs", FLOAT, ["B", "T_out", "V"]), ("unused", INT64, ["B"])], encoder_weights(), metadata)


def samples():
    """Weights of half precision, as quantised exports have them, and no lengths."""
    nodes = [
        helper.make_node("Unsqueeze", ["waveform", "one"], ["channel"]),
        helper.make_node("Cast", ["half.weight"], ["weight"], to=FLOAT),
        helper.make_node("Conv", ["channel", "weight"], ["conv"], strides=[160], pads=[0, 0], dilations=[1], group=1,
                         kernel_shape=[200]),
        helper.make_node("Tanh", ["conv"], ["tanh"]),
        helper.make_node("Transpose", ["tanh"], ["logits"], perm=[0, 2, 1]),
    ]
    save("samples", nodes, [("waveform", FLOAT, ["N", "T"])], [("logits", FLOAT, ["N", "T_out", TOKENS])],
         [weights("half.weight", TOKENS, 1, 200, dtype=np.float16), constant("one", [1])], {})


def beside():
    """Weights in a file beside the network, whose name does not begin with its own."""
    model = onnx.load(FOLDER / "icefall.onnx")
    (FOLDER / "beside").mkdir(exist_ok=True)
    (FOLDER / "beside" / "weights.data").unlink(missing_ok=True)
    onnx.save(model, FOLDER / "beside" / "model.onnx", save_as_external_data=True, location="weights.data", size_threshold=0)


def streaming():
    """A network with a state, as streaming exports have it: refused."""
    nodes = [helper.make_node("Add", ["x", "cached_len_0"], ["log_probs"])]
    save("streaming", nodes, [("x", FLOAT, ["N", "T", WIDTH]), ("cached_len_0", FLOAT, ["N", 1, WIDTH])],
         [("log_probs", FLOAT, ["N", "T", WIDTH])], [], {"model_type": "zipformer2", "decode_chunk_len": "32"})


def answers(name, rows_of, output, lengths):
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", providers=["CPUExecutionProvider"])
    utterances = []
    for length in lengths:
        values, feed = rows_of(length)
        scores = session.run([output], feed)[0][0].astype(np.float64)
        most = scores.max(axis=1, keepdims=True)
        log_probs = scores - most - np.log(np.exp(scores - most).sum(axis=1, keepdims=True))
        utterances.append({"rows": np.round(values.ravel(), 4).tolist(), "log_probs": log_probs.ravel().tolist()})
    return utterances


def rows(length, width):
    return np.round(random.standard_normal((length, width)), 4).astype(np.float32)


def of_icefall(length):
    values = rows(length, WIDTH)
    return values, {"x": values[None], "x_lens": np.array([length])}


def of_nemo(length):
    values = rows(length, WIDTH)
    return values, {"audio_signal": np.ascontiguousarray(values.T[None]), "length": np.array([length])}


def of_samples(length):
    values = rows(length, 1)
    return values, {"waveform": values.T}


def main():
    FOLDER.mkdir(exist_ok=True)
    for network in (icefall, beside, nemo, samples, streaming):
        network()
    found = {
        "icefall": answers("icefall", of_icefall, "log_probs", (7, 1, 12)),
        "nemo": answers("nemo", of_nemo, "logprobs", (1, 9, 4)),
        "samples": answers("samples", of_samples, "logits", (200, 700)),
    }
    (FOLDER / "answers.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
