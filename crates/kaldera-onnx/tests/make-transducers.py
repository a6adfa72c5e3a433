#!/usr/bin/env python3
"""Writes the parts of small random transducers, networks with states, and what is found with them.

    pip install onnx onnxruntime numpy
    python3 crates/kaldera-onnx/tests/make-transducers.py

Names of tensors and metadata are those of icefall's and NeMo's exports. transducers.json has the rows of
utterances, and what ONNX Runtime and the searches of this script, which share nothing with Kaldera, find:
greedy search, the sums over all alignments of the best strings, encoders that run chunk by chunk.
"""

import importlib
import json
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import compose, helper

sys.dont_write_bytecode = True
base = importlib.import_module("make-networks")

FOLDER, WIDTH, HIDDEN, TOKENS, FLOAT, INT64 = (
    base.FOLDER, base.WIDTH, base.HIDDEN, base.TOKENS, base.FLOAT, base.INT64)
INT32 = base.TensorProto.INT32
node, weights, constant, save = helper.make_node, base.weights, base.constant, base.save
base.random = np.random.default_rng(8)
BLANK, UNK, CONTEXT, DURATIONS = 0, 2, 2, 3
NEMO_WINDOW, NEMO_SHIFT = 9, 8
T, SHIFT, TAIL, SILENCE = 8, 6, 30, np.float32(np.log(np.finfo(np.float32).eps))
# Scores of random weights differ little: these make tokens of them.
SHARP = 4


def sharp(name, *shape):
    values = base.numpy_helper.to_array(weights(name, *shape)) * SHARP
    return base.numpy_helper.from_array(values.astype(np.float32), name)


def icefall():
    """As zipformer/export-onnx.py has them."""
    nodes = [node("Transpose", ["x"], ["columns"], perm=[0, 2, 1])]
    nodes += [
        node("Conv", ["columns", "conv.weight", "conv.bias"], ["conv"], strides=[2], pads=[1, 1], dilations=[1],
             group=1, kernel_shape=[3]),
        node("Relu", ["conv"], ["relu"]),
        node("Transpose", ["relu"], ["hidden"], perm=[0, 2, 1]),
        node("MatMul", ["hidden", "proj.weight"], ["encoder_out"]),
    ]
    nodes += base.halved("x_lens", "encoder_out_lens")
    metadata = {"model_type": "zipformer2", "version": "1", "model_author": "k2-fsa", "comment": "non-streaming zipformer2"}
    save("transducer/encoder-epoch-1-avg-1", nodes, [("x", FLOAT, ["N", "T", WIDTH]), ("x_lens", INT64, ["N"])],
         [("encoder_out", FLOAT, ["N", "T_out", HIDDEN]), ("encoder_out_lens", INT64, ["N"])],
         [sharp("conv.weight", HIDDEN, WIDTH, 3), weights("conv.bias", HIDDEN), sharp("proj.weight", HIDDEN, HIDDEN),
          constant("one", [1]), constant("two", [2])], metadata)
    predictor_and_joiner("transducer", "-epoch-1-avg-1")


def predictor_and_joiner(folder, suffix):
    nodes = [
        node("Clip", ["y", "zero"], ["clamped"]),
        node("GreaterOrEqual", ["y", "zero"], ["is_token"]),
        node("Cast", ["is_token"], ["mask"], to=FLOAT),
        node("Unsqueeze", ["mask", "last"], ["mask_3"]),
        node("Gather", ["embedding.weight", "clamped"], ["embedded"], axis=0),
        node("Mul", ["embedded", "mask_3"], ["masked"]),
        node("Transpose", ["masked"], ["columns"], perm=[0, 2, 1]),
        node("Conv", ["columns", "conv.weight"], ["conv"], strides=[1], pads=[0, 0], dilations=[1], group=2,
             kernel_shape=[CONTEXT]),
        node("Transpose", ["conv"], ["rows"], perm=[0, 2, 1]),
        node("Relu", ["rows"], ["relu"]),
        node("Squeeze", ["relu", "one"], ["hidden"]),
        node("Gemm", ["hidden", "decoder_proj.weight", "decoder_proj.bias"], ["decoder_out"], transB=1),
    ]
    dim = 4
    zero = base.numpy_helper.from_array(np.array(0, dtype=np.int64), "zero")
    save(f"{folder}/decoder{suffix}", nodes, [("y", INT64, ["N", CONTEXT])], [("decoder_out", FLOAT, ["N", HIDDEN])],
         [sharp("embedding.weight", TOKENS, dim), weights("conv.weight", dim, dim // 2, CONTEXT),
          weights("decoder_proj.weight", HIDDEN, dim), weights("decoder_proj.bias", HIDDEN), zero,
          constant("one", [1]), constant("last", [-1])], {"context_size": str(CONTEXT), "vocab_size": str(TOKENS)})
    nodes = [
        node("Add", ["encoder_out", "decoder_out"], ["sum"]),
        node("Tanh", ["sum"], ["tanh"]),
        node("Gemm", ["tanh", "output_linear.weight", "output_linear.bias"], ["logit"], transB=1),
    ]
    save(f"{folder}/joiner{suffix}", nodes, [("encoder_out", FLOAT, ["N", HIDDEN]), ("decoder_out", FLOAT, ["N", HIDDEN])],
         [("logit", FLOAT, ["N", TOKENS])], [sharp("output_linear.weight", TOKENS, HIDDEN), weights("output_linear.bias", TOKENS)],
         {"joiner_dim": str(HIDDEN)})


def chunked(head, counted):
    """A convolution over the rows of a chunk, one over its result and that before, and a running sum."""
    nodes = [
        node("Transpose", ["x"], ["columns"], perm=[0, 2, 1]),
        node("Conv", ["columns", "conv1.weight"], ["conv1"], strides=[2], pads=[0, 0], dilations=[1], group=1, kernel_shape=[4]),
        node("Concat", ["cached_conv1_0", "conv1"], ["with_last"], axis=2),
        node("Slice", ["with_last", "minus_one", "far", "two"], ["new_cached_conv1_0"]),
        node("Conv", ["with_last", "conv2.weight"], ["conv2"], strides=[1], pads=[0, 0], dilations=[1], group=1, kernel_shape=[2]),
        node("Transpose", ["conv2"], ["rows"], perm=[0, 2, 1]),
        node("ReduceSum", ["rows", "one"], ["sum"], keepdims=1),
        node("Transpose", ["sum"], ["sum_first"], perm=[1, 0, 2]),
        node("Add", ["cached_avg_0", "sum_first"], ["new_cached_avg_0"]),
        node("Transpose", ["cached_avg_0"], ["before"], perm=[1, 0, 2]),
        node("Mul", ["before", "little"], ["scaled"]),
        node("Add", ["rows", "scaled"], ["both"]),
        node("Cast", ["processed_lens"], ["processed"], to=FLOAT),
        node("Mul", ["processed", "little"], ["drift"]),
        node("Add", ["both", "drift"], ["drifted"]),
        node("Tanh", ["drifted"], ["tanh"]),
        node("MatMul", ["tanh", "head.weight"], [head]),
    ]
    if counted:
        nodes.append(node("Add", ["processed_lens", "three"], ["new_processed_lens"]))
    little = base.numpy_helper.from_array(np.array([0.05], dtype=np.float32), "little")
    columns = HIDDEN if head == "encoder_out" else TOKENS
    states = [("cached_conv1_0", FLOAT, ["N", HIDDEN, 1]), ("cached_avg_0", FLOAT, [1, "N", HIDDEN])]
    states += [("processed_lens", INT64, ["N"])]
    made = [("new_" + name, kind, shape) for name, kind, shape in states[:2 + counted]]
    return nodes, [("x", FLOAT, ["N", T, WIDTH])] + states, [(head, FLOAT, ["N", SHIFT // 2, columns])] + made, [
        weights("conv1.weight", HIDDEN, WIDTH, 4), sharp("conv2.weight", HIDDEN, HIDDEN, 2), sharp("head.weight", HIDDEN, columns),
        little, constant("one", [1]), constant("two", [2]), constant("minus_one", [-1]), constant("far", [1 << 30]),
        *([constant("three", [SHIFT // 2])] if counted else [])]


def streaming():
    """As zipformer/export-onnx-streaming.py has them, and a CTC network with the counter of a conformer."""
    chunk = {"version": "1", "model_author": "k2-fsa", "decode_chunk_len": str(SHIFT), "T": str(T)}
    save("streaming/encoder-epoch-1-avg-1", *chunked("encoder_out", True), {"model_type": "zipformer2", **chunk})
    predictor_and_joiner("streaming", "-epoch-1-avg-1")
    save("streaming-ctc", *chunked("log_probs", False), {"model_type": "zipformer2_ctc", **chunk})


def together():
    """Networks that run over several utterances at once; of the second one each result depends on all of them, as with
    dynamic quantization."""
    metadata = {"model_type": "zipformer2", "version": "1", "model_author": "k2-fsa", "decode_chunk_len": str(SHIFT), "T": str(T)}
    nodes, inputs, outputs, tensors = chunked("log_probs", True)
    place = next(place for place, of in enumerate(nodes) if "drifted" in of.output)
    nodes[place:place + 1] = [node("Unsqueeze", ["drift", "one"], ["drift_2"]), node("Unsqueeze", ["drift_2", "one"], ["drift_3"]),
                              node("Add", ["both", "drift_3"], ["drifted"])]
    save("streaming-together", nodes, inputs, outputs, tensors, metadata)
    of_scores = next(of for of in nodes if "log_probs" in of.output)
    of_scores.output[0] = "own"
    nodes += [node("ReduceMean", ["own"], ["mean"], axes=[0, 1, 2], keepdims=1), node("Mul", ["own", "mean"], ["log_probs"])]
    save("streaming-mixed", nodes, inputs, outputs, tensors, metadata)


def nemo_streaming():
    """A cache-aware CTC network, as sherpa-onnx's scripts/nemo/fast-conformer-hybrid-transducer-ctc have it: two axes
    of its caches are dynamic, and their sizes are in the metadata."""
    window, shift, memory = NEMO_WINDOW, NEMO_SHIFT, 3
    nodes = [
        node("Conv", ["audio_signal", "conv1.weight"], ["conv1"], strides=[2], pads=[0, 0], dilations=[1], group=1, kernel_shape=[3]),
        node("Gather", ["cache_last_time", "zero"], ["time_0"], axis=1),
        node("Concat", ["time_0", "conv1"], ["with_last"], axis=2),
        node("Conv", ["with_last", "conv2.weight"], ["conv2"], strides=[1], pads=[0, 0], dilations=[1], group=1, kernel_shape=[3]),
        node("Slice", ["with_last", "minus_two", "far", "two"], ["next_0"]),
        node("Slice", ["conv2", "minus_two", "far", "two"], ["next_1"]),
        node("Unsqueeze", ["next_0", "one"], ["next_0_4"]),
        node("Unsqueeze", ["next_1", "one"], ["next_1_4"]),
        node("Concat", ["next_0_4", "next_1_4"], ["cache_last_time_next"], axis=1),
        node("ReduceMean", ["cache_last_channel"], ["mean"], axes=[1, 2], keepdims=0),
        node("Unsqueeze", ["mean", "one"], ["mean_3"]),
        node("Transpose", ["conv2"], ["rows"], perm=[0, 2, 1]),
        node("Add", ["rows", "mean_3"], ["both"]),
        node("Cast", ["cache_last_channel_len"], ["count"], to=FLOAT),
        node("Mul", ["count", "little"], ["drift"]),
        node("Add", ["both", "drift"], ["drifted"]),
        node("Tanh", ["drifted"], ["tanh"]),
        node("MatMul", ["tanh", "head.weight"], ["logprobs"]),
        node("Slice", ["tanh", "minus_one", "far", "one"], ["last"]),
        node("Unsqueeze", ["last", "one"], ["last_4"]),
        node("Concat", ["last_4", "last_4"], ["last_of_layers"], axis=1),
        node("Slice", ["cache_last_channel", "one", "far", "two"], ["kept"]),
        node("Concat", ["kept", "last_of_layers"], ["cache_last_channel_next"], axis=2),
        node("Add", ["cache_last_channel_len", "one"], ["more"]),
        node("Min", ["more", "three"], ["cache_last_channel_next_len"]),
    ] + base.halved("length_2", "encoded_lengths")
    nodes.insert(0, node("Sub", ["length", "two"], ["length_2"]))
    a, b = "cache_last_channel_dynamic_axes_1", "cache_last_channel_dynamic_axes_2"
    c, d = "cache_last_time_dynamic_axes_1", "cache_last_time_dynamic_axes_2"
    channel, time = [a, 2, b, HIDDEN], [c, 2, HIDDEN, d]
    metadata = {"model_type": "EncDecHybridRNNTCTCBPEModel", "version": "1", "model_author": "NeMo", "vocab_size": str(TOKENS - 1),
                "window_size": str(window), "chunk_shift": str(shift), "subsampling_factor": "2", "normalize_type": "NA",
                "cache_last_channel_dim1": "2", "cache_last_channel_dim2": str(memory), "cache_last_channel_dim3": str(HIDDEN),
                "cache_last_time_dim1": "2", "cache_last_time_dim2": str(HIDDEN), "cache_last_time_dim3": "2"}
    little = base.numpy_helper.from_array(np.array([0.05], dtype=np.float32), "little")
    zero = base.numpy_helper.from_array(np.array(0, dtype=np.int64), "zero")
    save("nemo-streaming", nodes,
         [("audio_signal", FLOAT, ["B", WIDTH, "T"]), ("length", INT64, ["B"]), ("cache_last_channel", FLOAT, channel),
          ("cache_last_time", FLOAT, time), ("cache_last_channel_len", INT64, [a])],
         [("logprobs", FLOAT, ["B", "T_out", TOKENS]), ("encoded_lengths", INT64, ["B"]), ("cache_last_channel_next", FLOAT, channel),
          ("cache_last_time_next", FLOAT, time), ("cache_last_channel_next_len", INT64, [a])],
         [sharp("conv1.weight", HIDDEN, WIDTH, 3), sharp("conv2.weight", HIDDEN, HIDDEN, 3), sharp("head.weight", HIDDEN, TOKENS), little,
          zero, *(constant(name, [value]) for name, value in
                  [("one", 1), ("two", 2), ("three", memory), ("minus_one", -1), ("minus_two", -2), ("far", 1 << 30)])], metadata)


def nemo_in_chunks(rows, tail):
    """As sherpa-onnx's OnlineNeMoCtcModel runs it, with rows after the last one, whose last fills the last chunk."""
    network, names = session("nemo-streaming"), ("cache_last_channel", "cache_last_time", "cache_last_channel_len")
    states = dict(zip(names, (np.zeros((1, 2, 3, HIDDEN), dtype=np.float32), np.zeros((1, 2, HIDDEN, 2), dtype=np.float32),
                              np.zeros(1, dtype=np.int64))))
    padded = np.concatenate([rows, tail, np.repeat(tail[-1:], NEMO_WINDOW, axis=0)])
    results = []
    for start in range(0, len(rows) + len(tail), NEMO_SHIFT):
        chunk = np.ascontiguousarray(padded[start:start + NEMO_WINDOW].T[None])
        found = network.run(None, {"audio_signal": chunk, "length": np.array([NEMO_WINDOW]), **states})
        results.append(found[0][0, :int(found[1][0])])
        states = dict(zip(names, found[2:]))
    return log_softmax(np.concatenate(results))


def nemo():
    """A token-and-duration transducer, as sherpa-onnx's scripts/nemo have it."""
    nodes = [
        node("Conv", ["audio_signal", "conv.weight", "conv.bias"], ["conv"], strides=[2], pads=[1, 1], dilations=[1], group=1, kernel_shape=[3]),
        node("Tanh", ["conv"], ["outputs"]),
    ]
    nodes += base.halved("length", "encoded_lengths")
    metadata = {"model_type": "EncDecRNNTBPEModel", "version": "2", "model_author": "NeMo", "vocab_size": str(TOKENS - 1),
                "normalize_type": "per_feature", "subsampling_factor": "2", "pred_rnn_layers": "1", "pred_hidden": "4"}
    save("tdt/encoder", nodes, [("audio_signal", FLOAT, ["B", WIDTH, "T"]), ("length", INT64, ["B"])],
         [("outputs", FLOAT, ["B", HIDDEN, "T_out"]), ("encoded_lengths", INT64, ["B"])],
         [sharp("conv.weight", HIDDEN, WIDTH, 3), weights("conv.bias", HIDDEN), constant("one", [1]), constant("two", [2])], metadata)
    hidden = 4
    nodes = [
        node("Gather", ["embed.weight", "targets"], ["embedded"], axis=0),
        node("Transpose", ["embedded"], ["steps"], perm=[1, 0, 2]),
        node("LSTM", ["steps", "lstm.weight", "lstm.recurrent", "lstm.bias", "", "states.1", "onnx::LSTM_3"],
             ["all", "states", "74"], hidden_size=hidden),
        node("Squeeze", ["all", "one"], ["rows"]),
        node("Transpose", ["rows"], ["outputs"], perm=[1, 2, 0]),
        node("Identity", ["target_length"], ["prednet_lengths"]),
    ]
    embedding = base.numpy_helper.to_array(sharp("embed.weight", TOKENS, 3)).copy()
    embedding[TOKENS - 1] = 0
    save("tdt/decoder", nodes,
         [("targets", INT32, ["B", "U"]), ("target_length", INT32, ["B"]), ("states.1", FLOAT, [1, "B", hidden]), ("onnx::LSTM_3", FLOAT, [1, "B", hidden])],
         [("outputs", FLOAT, ["B", hidden, "U"]), ("prednet_lengths", INT32, ["B"]), ("states", FLOAT, [1, "B", hidden]), ("74", FLOAT, [1, "B", hidden])],
         [base.numpy_helper.from_array(embedding, "embed.weight"), weights("lstm.weight", 1, 4 * hidden, 3), weights("lstm.recurrent", 1, 4 * hidden, hidden),
          weights("lstm.bias", 1, 8 * hidden), constant("one", [1])], {})
    nodes = [
        node("Transpose", ["encoder_outputs"], ["encoder_rows"], perm=[0, 2, 1]),
        node("Transpose", ["decoder_outputs"], ["decoder_rows"], perm=[0, 2, 1]),
        node("MatMul", ["encoder_rows", "enc.weight"], ["encoder_proj"]),
        node("MatMul", ["decoder_rows", "pred.weight"], ["decoder_proj"]),
        node("Unsqueeze", ["encoder_proj", "two"], ["encoder_4"]),
        node("Unsqueeze", ["decoder_proj", "one"], ["decoder_4"]),
        node("Add", ["encoder_4", "decoder_4"], ["sum"]),
        node("Relu", ["sum"], ["relu"]),
        node("MatMul", ["relu", "joint.weight"], ["outputs"]),
    ]
    save("tdt/joiner", nodes, [("encoder_outputs", FLOAT, ["B", HIDDEN, "T"]), ("decoder_outputs", FLOAT, ["B", hidden, "U"])],
         [("outputs", FLOAT, ["B", "T", "U", TOKENS + DURATIONS])],
         [weights("enc.weight", HIDDEN, 5), sharp("pred.weight", hidden, 5), sharp("joint.weight", 5, TOKENS + DURATIONS),
          constant("one", [1]), constant("two", [2])], {})


def fused():
    """The same as NeMo exports it: the predictor and the joiner in one file, and no metadata."""
    decoder, joiner = onnx.load(FOLDER / "tdt/decoder.onnx"), onnx.load(FOLDER / "tdt/joiner.onnx")
    both = compose.merge_models(compose.add_prefix(decoder, "d/"), compose.add_prefix(joiner, "j/"),
                                io_map=[("d/outputs", "j/decoder_outputs")],
                                outputs=["j/outputs", "d/prednet_lengths", "d/states", "d/74"])
    names = {"j/encoder_outputs": "encoder_outputs", "d/targets": "targets", "d/target_length": "target_length",
             "d/states.1": "input_states_1", "d/onnx::LSTM_3": "input_states_2", "j/outputs": "outputs",
             "d/prednet_lengths": "prednet_lengths", "d/states": "output_states_1", "d/74": "output_states_2"}
    for value in (*both.graph.input, *both.graph.output):
        value.name = names[value.name]
    for of in both.graph.node:
        of.input[:], of.output[:] = [[names.get(name, name) for name in all] for all in (of.input, of.output)]
    for values in (both.graph.input, both.graph.output):
        order = sorted(values, key=lambda value: list(names.values()).index(value.name))
        del values[:]
        values.extend(order)
    onnx.checker.check_model(both)
    onnx.save(both, FOLDER / "tdt-fused/decoder_joint-model.onnx")
    encoder = onnx.load(FOLDER / "tdt/encoder.onnx")
    del encoder.metadata_props[:]
    onnx.save(encoder, FOLDER / "tdt-fused/encoder-model.onnx")


def session(name):
    return onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", providers=["CPUExecutionProvider"])


def log_softmax(scores):
    scores = scores.astype(np.float64)
    most = scores.max(axis=-1, keepdims=True)
    return scores - most - np.log(np.exp(scores - most).sum(axis=-1, keepdims=True))


class Stateless:
    """icefall's predictor and joiner: log-probabilities of tokens after others."""

    def __init__(self, folder):
        self.decoder, self.joiner = session(f"{folder}/decoder-epoch-1-avg-1"), session(f"{folder}/joiner-epoch-1-avg-1")

    def __call__(self, row, tokens):
        context = ([-1] * (CONTEXT - 1) + [BLANK] + list(tokens))[-CONTEXT:]
        output = self.decoder.run(None, {"y": np.array([context], dtype=np.int64)})[0]
        return log_softmax(self.joiner.run(None, {"encoder_out": row[None], "decoder_out": output})[0][0])


def greedy(model, rows):
    """icefall's greedy_search with one symbol a frame: <unk> counts as the blank."""
    tokens, frames = [], []
    for frame, row in enumerate(rows):
        best = int(model(row, tokens).argmax())
        if best not in (BLANK, UNK):
            tokens.append(best)
            frames.append(frame)
    return {"tokens": tokens, "frames": frames}


def all_strings(model, rows, count):
    """The strings with the largest sums over all their alignments, one token or none a frame."""
    sums = {(): 0.0}
    for row in rows:
        longer = {}
        for tokens, score in sums.items():
            for token, own in enumerate(model(row, tokens)):
                string = tokens if token in (BLANK, UNK) else tokens + (token,)
                longer[string] = np.logaddexp(longer.get(string, -np.inf), score + own)
        sums = longer
    best = sorted(sums.items(), key=lambda item: -item[1])[:count]
    return [{"tokens": list(tokens), "score": float(score)} for tokens, score in best]


def in_chunks(name, rows, counted):
    """Chunk by chunk, after 0.3 s of silence at the end and what fills the last chunk."""
    network = session(name)
    shapes = {of.name: [1 if isinstance(size, str) else size for size in of.shape] for of in network.get_inputs()}
    types = {of.name: np.int64 if "int64" in of.type else np.float32 for of in network.get_inputs()}
    states = {key: np.zeros(shape, dtype=types[key]) for key, shape in shapes.items() if key != "x"}
    outputs = [of.name for of in network.get_outputs()]
    padded = np.concatenate([rows, np.full((TAIL + 2 * T, WIDTH), SILENCE, dtype=np.float32)])
    results = []
    for start in range(0, len(rows) + TAIL, SHIFT):
        found = network.run(None, {"x": padded[None, start:start + T], **states})
        results.append(found[0][0])
        states.update({key.removeprefix("new_"): value for key, value in zip(outputs[1:], found[1:])})
        if not counted:
            states["processed_lens"] = np.array([(start + SHIFT) // 2], dtype=np.int64)
    return np.concatenate(results)


def tdt_greedy(rows, most):
    """NeMo's greedy search over tokens and durations."""
    decoder, joiner, blank = session("tdt/decoder"), session("tdt/joiner"), TOKENS - 1
    states = [np.zeros((1, 1, 4), dtype=np.float32)] * 2

    def predict(token, states):
        feed = {"targets": np.array([[token]], dtype=np.int32), "target_length": np.array([1], dtype=np.int32)}
        found = decoder.run(None, {**feed, "states.1": states[0], "onnx::LSTM_3": states[1]})
        return found[0], found[2:]

    output, states = predict(blank, states)
    tokens, frames, frame, taken = [], [], 0, 0
    while frame < len(rows):
        scores = joiner.run(None, {"encoder_outputs": rows[frame][None, :, None], "decoder_outputs": output})[0].ravel()
        token, skip = int(scores[:TOKENS].argmax()), int(scores[TOKENS:].argmax())
        if token != blank:
            tokens.append(token)
            frames.append(frame)
            output, states = predict(token, states)
            taken += 1
        if skip == 0 and (token == blank or taken >= most):
            skip = 1
        taken = 0 if skip else taken
        frame += skip
    return {"tokens": tokens, "frames": frames}


def flat(values, digits=None):
    values = np.asarray(values, dtype=np.float64).ravel()
    return (values if digits is None else np.round(values, digits)).tolist()


def main():
    for folder in ("transducer", "streaming", "tdt", "tdt-fused"):
        (FOLDER / folder).mkdir(parents=True, exist_ok=True)
    icefall(), streaming(), nemo(), fused()
    found = {}
    model, encoder = Stateless("transducer"), session("transducer/encoder-epoch-1-avg-1")
    encoded = lambda rows: encoder.run(None, {"x": rows[None], "x_lens": np.array([len(rows)])})[0][0]
    rows, short = base.rows(60, WIDTH), base.rows(9, WIDTH)
    found["transducer"] = {"rows": flat(rows, 4), "greedy": greedy(model, encoded(rows)), "short": flat(short, 4),
                           "best": all_strings(model, encoded(short), 4)}
    rows = base.rows(31, WIDTH)
    encoded = in_chunks("streaming/encoder-epoch-1-avg-1", rows, True)
    found["streaming"] = {"rows": flat(rows, 4), "encoder_out": flat(encoded), "greedy": greedy(Stateless("streaming"), encoded)}
    rows = base.rows(24, WIDTH)
    found["streaming-ctc"] = {"rows": flat(rows, 4), "log_probs": flat(log_softmax(in_chunks("streaming-ctc", rows, False)))}
    rows = base.rows(60, WIDTH)
    encoded = session("tdt/encoder").run(None, {"audio_signal": np.ascontiguousarray(rows.T[None]), "length": np.array([len(rows)])})[0][0].T
    found["tdt"] = {"rows": flat(rows, 4), "greedy": tdt_greedy(np.ascontiguousarray(encoded), 10)}
    # A generator of its own: all else stays as it is.
    base.random = np.random.default_rng(9)
    nemo_streaming()
    rows, tail = base.rows(29, WIDTH), base.rows(5, WIDTH)
    found["nemo-streaming"] = {"rows": flat(rows, 4), "tail": flat(tail, 4), "log_probs": flat(nemo_in_chunks(rows, tail))}
    base.random = np.random.default_rng(10)
    together()
    for name, answers in found.items():
        print(name, answers.get("greedy"), answers.get("best"))
    (FOLDER / "transducers.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
