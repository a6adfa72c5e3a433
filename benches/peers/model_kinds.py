"""Small random networks with the files, names, shapes and metadata of the models that people have.

A function that takes a folder only, such as nemo_tdt, writes a family of files into it.
Weights depend on the family's name only: two forms of a network, such as NeMo's fused and split
decoder, give the same scores.
"""

import json
import logging
import re
import shutil
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

FLOAT, HALF, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
# It advises a preparation of large networks for each file.
logging.getLogger().setLevel(logging.ERROR)
HIDDEN = 16
# Bonus of a token that separates words, and of special ones other than tags of a language.
SPECIAL, RARE, TAG = {" ": 7.0, "|": 6.0}, -30.0, re.compile("<[a-z]{2}-[A-Z]{2}>")
# Standard deviation of scores, and the bonus of the blank: some half of the frames are blank then.
SHARP, BLANK_BONUS = 3.0, 7.0
# Mean and deviation of log mel energies of speech: samples from -1 to 1, and as in WAV files.
UNIT, FULL = (-6.0, 4.0), (15.0, 4.0)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Half of the pieces begin a word.
PIECES = [("\u2581" if number % 2 == 0 else "") + letter for number, letter in enumerate(LETTERS)]


class Network:
    """An ONNX graph in the making; names of results are made up unless they are said."""

    def __init__(self, family: str):
        self.random = np.random.default_rng(zlib.crc32(family.encode()))
        self.nodes, self.values = [], {}

    def __call__(self, kind: str, *inputs: str, name: str = "", **attributes) -> str:
        """Adds an operation with one result, and returns its name."""
        return self.many(kind, inputs, [name or f"{kind.lower()}_{len(self.nodes)}"], **attributes)[0]

    def many(self, kind: str, inputs, outputs, **attributes) -> list:
        self.nodes.append(helper.make_node(kind, list(inputs), list(outputs), **attributes))
        return list(outputs)

    def value(self, array) -> str:
        name = f"value_{len(self.values)}"
        self.values[name] = np.asarray(array)
        return name

    def ints(self, *numbers) -> str:
        return self.value(np.array(numbers, dtype=np.int64))

    def number(self, number) -> str:
        return self.value(np.float32(number))

    def weights(self, *shape, scale: float) -> str:
        return self.value(self.random.normal(0, scale, shape).astype(np.float32))

    def normal(self, x: str, mean_and_deviation) -> str:
        """Rows of features to a mean of about 0 and a deviation of about 1."""
        mean, deviation = mean_and_deviation
        return self("Div", self("Sub", x, self.number(mean)), self.number(deviation))

    def convolved(self, columns: str, channels: int, kernel: int, stride: int, pad: int, outputs: int = HIDDEN) -> str:
        weights = self.random.normal(0, 4 * (channels * kernel) ** -0.5, (outputs, channels, kernel)).astype(np.float32)
        # Neighbours are alike: sums of these differ with the sound, not with its loudness only.
        weights -= 0.9 * weights.mean(axis=(1, 2), keepdims=True)
        return self("Conv", columns, self.value(weights), kernel_shape=[kernel], strides=[stride], pads=[pad, pad], dilations=[1], group=1)

    def subsampled(self, columns: str, channels: int, factor: int) -> str:
        """ceil(T / factor) frames of HIDDEN values in columns."""
        return self("Tanh", self.convolved(columns, channels, 2 * factor - 1, factor, factor - 1))

    def length(self, lengths: str, factor: int, name: str, kind: int = INT64) -> str:
        """ceil(T / factor)."""
        whole = self("Div", self("Sub", self("Cast", lengths, to=INT64), self.ints(1)), self.ints(factor))
        return self("Cast", self("Add", whole, self.ints(1)), name=name, to=kind)

    def scored(self, rows: str, tokens: list, blank: int, bonus: float = BLANK_BONUS, durations: int = 0) -> str:
        """Scores of each token from rows of HIDDEN values, and of each duration, short ones above long ones."""
        bias = self.random.normal(0, 0.5, len(tokens) + durations).astype(np.float32)
        bias[: len(tokens)] += [SPECIAL.get(token, RARE if token.startswith("<") and not TAG.fullmatch(token) else 0) for token in tokens]
        bias[blank] = bonus
        bias[len(tokens) :] += np.linspace(4, -4, durations, dtype=np.float32)
        return self("Add", self("MatMul", rows, self.weights(HIDDEN, len(bias), scale=SHARP * (0.4 * HIDDEN) ** -0.5)), self.value(bias))

    def rows(self, columns: str) -> str:
        return self("Transpose", columns, perm=[0, 2, 1])

    def log_softmax(self, scores: str, name: str) -> str:
        return self("LogSoftmax", scores, name=name, axis=-1)

    def save(self, path: Path, inputs, outputs, metadata=None, apart: bool = False) -> None:
        """Writes the file; if `apart`, the weights go into a file next to it."""
        tensor = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "network", [tensor(*one) for one in inputs], [tensor(*one) for one in outputs],
            [numpy_helper.from_array(array, name) for name, array in self.values.items()],
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, {key: str(value) for key, value in (metadata or {}).items()})
        onnx.checker.check_model(model)
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, path, save_as_external_data=apart, location=f"{path.name}.data", size_threshold=0)


def listed(path: Path, tokens) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{token} {number}\n" for number, token in enumerate(tokens)), encoding="utf-8")


def configured(folder: Path, **config) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))


NEMO = {"model_author": "NeMo", "version": "2", "subsampling_factor": 8, "normalize_type": "per_feature"}


def nemo_ctc(folder: Path) -> None:
    """Folder `plain` as NeMo exports it, `sherpa` with sherpa-onnx's metadata."""
    tokens = ["<unk>", *PIECES, "<blk>"]
    metadata = {**NEMO, "model_type": "EncDecCTCModelBPE", "vocab_size": len(tokens) - 1}
    for form, props in (("plain", None), ("sherpa", metadata)):
        net = Network("nemo-ctc")
        scores = net.scored(net.rows(net.subsampled("audio_signal", 80, 8)), tokens, len(tokens) - 1)
        net.log_softmax(scores, "logprobs")
        net.save(
            folder / form / "model.onnx", [("audio_signal", FLOAT, ["B", 80, "T"]), ("length", INT64, ["B"])],
            [("logprobs", FLOAT, ["B", "T_out", len(tokens)])], props,
        )  # fmt: skip
    listed(folder / "plain/vocab.txt", tokens)
    listed(folder / "sherpa/tokens.txt", tokens)
    configured(folder / "plain", model_type="nemo-conformer-ctc", features_size=80, subsampling_factor=8)


def lstms(net: Network, targets: str, states, next_states, tokens: int, hidden: int, layers: int) -> str:
    """A prediction network, [B, U, hidden]: an embedding and layers of LSTMs, whose states are [layers, B, hidden]."""
    embedded = net("Gather", net.weights(tokens, hidden, scale=1.0), targets, axis=0)
    rows, lasts = net("Transpose", embedded, perm=[1, 0, 2]), ([], [])
    for layer in range(layers):
        first = [net("Slice", state, net.ints(layer), net.ints(layer + 1), net.ints(0)) for state in states]
        weights = [net.weights(1, 4 * hidden, hidden, scale=2 * hidden**-0.5) for _ in range(2)]
        bias = net.weights(1, 8 * hidden, scale=0.1)
        outputs = [f"lstm_{layer}", f"h_{layer}", f"c_{layer}"]
        net.many("LSTM", [rows, *weights, bias, "", *first], outputs, hidden_size=hidden)
        rows = net("Squeeze", outputs[0], net.ints(1))
        for last, output in zip(lasts, outputs[1:]):
            last.append(output)
    for last, name in zip(lasts, next_states):
        net("Concat", *last, name=name, axis=0)
    return net("Transpose", rows, perm=[1, 0, 2])


def joined(net: Network, encoded: str, predicted: str, tokens: list, blank: int, hidden: int, durations: int, name: str) -> str:
    """The scores [B, T, U, tokens + durations] of [B, T, HIDDEN] and [B, U, hidden]."""
    one = net("MatMul", encoded, net.weights(HIDDEN, HIDDEN, scale=HIDDEN**-0.5 * 1.5))
    other = net("MatMul", predicted, net.weights(hidden, HIDDEN, scale=hidden**-0.5 * 4))
    both = net("Add", net("Unsqueeze", one, net.ints(2)), net("Unsqueeze", other, net.ints(1)))
    return net("Identity", net.scored(net("Tanh", both), tokens, blank, bonus=BLANK_BONUS + 2, durations=durations), name=name)


def nemo_split(folder: Path, family: str, tokens: list, layers: int, durations: int) -> None:
    """Decoder and joiner as NeMo exports them one by one."""
    net, states, following = Network(family + "p"), ["states.1", "onnx::LSTM_3"], ["states", "162"]
    predicted = lstms(net, "targets", states, following, len(tokens), HIDDEN, layers)
    net("Transpose", predicted, name="outputs", perm=[0, 2, 1])
    net("Identity", "target_length", name="prednet_lengths")
    net.save(
        folder / "decoder.onnx", [("targets", INT32, ["B", "U"]), ("target_length", INT32, ["B"]), *((name, FLOAT, [layers, "B", HIDDEN]) for name in states)],
        [("outputs", FLOAT, ["B", HIDDEN, "U"]), ("prednet_lengths", INT32, ["B"]),
         *((name, FLOAT, [layers, "B", HIDDEN]) for name in following)],
    )  # fmt: skip
    net = Network(family + "j")
    joined(net, net.rows("encoder_outputs"), net.rows("decoder_outputs"), tokens, len(tokens) - 1, HIDDEN, durations, "outputs")
    net.save(
        folder / "joiner.onnx", [("encoder_outputs", FLOAT, ["B", HIDDEN, "T"]), ("decoder_outputs", FLOAT, ["B", HIDDEN, "U"])],
        [("outputs", FLOAT, ["B", "T", "U", len(tokens) + durations])],
    )  # fmt: skip


def microsoft_split(folder: Path, family: str, tokens: list, layers: int, durations: int) -> None:
    """Decoder and joint as the tools of onnxruntime-genai export them: the joint takes rows."""
    states, following = ["h_in", "c_in"], ["h_out", "c_out"]
    net = Network(family + "p")
    predicted = lstms(net, "targets", states, following, len(tokens), HIDDEN, layers)
    net("Transpose", predicted, name="decoder_output", perm=[0, 2, 1])
    net("Identity", "target_length_orig", name="target_length")
    net.save(
        folder / "decoder.onnx",
        [("targets", INT64, ["B", "U"]), ("target_length_orig", INT64, ["B"]), *((name, FLOAT, [layers, "B", HIDDEN]) for name in states)],
        [("decoder_output", FLOAT, ["B", HIDDEN, "U"]), ("target_length", INT64, ["B"]), *((name, FLOAT, [layers, "B", HIDDEN]) for name in following)],
    )
    net = Network(family + "j")
    joined(net, "encoder_output", "decoder_output", tokens, len(tokens) - 1, HIDDEN, durations, "joint_output")
    net.save(
        folder / "joint.onnx", [("encoder_output", FLOAT, ["B", "T", HIDDEN]), ("decoder_output", FLOAT, ["B", "U", HIDDEN])],
        [("joint_output", FLOAT, ["B", "T", "U", len(tokens) + durations])],
    )  # fmt: skip
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in [*tokens[:-1], "<blank>"]), encoding="utf-8")
    if durations:
        config = {"durations": list(range(durations)), "num_extra_outputs": durations, "vocab_size": len(tokens), "blank_id": len(tokens) - 1}
        (folder / "tdt_config.json").write_text(json.dumps(config))


def nemo_transducer(folder: Path, durations: int) -> None:
    """Folder `fused` as NeMo exports it, `int8` with its weights of 8 bits, `split` as sherpa-onnx has it, `joint` as Microsoft."""
    mels, layers, tokens = (128 if durations else 80), 2, ["<unk>", *PIECES, "<blk>"]
    blank, family = len(tokens) - 1, f"nemo-transducer-{durations}"
    metadata = {
        **NEMO, "model_type": "EncDecRNNTBPEModel", "vocab_size": blank, "pred_rnn_layers": layers, "pred_hidden": HIDDEN, "feat_dim": mels,
        "url": "https://huggingface.co/nvidia/" + ("parakeet-tdt-0.6b-v3" if durations else "parakeet-rnnt-0.6b"),
    }  # fmt: skip
    for form, name, props in (("fused", "encoder-model.onnx", None), ("split", "encoder.onnx", metadata), ("joint", "encoder.onnx", None)):
        net = Network(family)
        net("Identity", net.subsampled("audio_signal", mels, 8), name="outputs")
        net.length("length", 8, "encoded_lengths")
        net.save(
            folder / form / name, [("audio_signal", FLOAT, ["B", mels, "T"]), ("length", INT64, ["B"])],
            [("outputs", FLOAT, ["B", HIDDEN, "T_out"]), ("encoded_lengths", INT64, ["B"])], props, apart=form == "fused",
        )  # fmt: skip
    scores = ["B", "T", "U", len(tokens) + durations]
    targets = [("targets", INT32, ["B", "U"]), ("target_length", INT32, ["B"])]

    net, states, following = Network(family + "p"), ["input_states_1", "input_states_2"], ["output_states_1", "output_states_2"]
    predicted = lstms(net, "targets", states, following, len(tokens), HIDDEN, layers)
    net.random = Network(family + "j").random
    joined(net, net.rows("encoder_outputs"), predicted, tokens, blank, HIDDEN, durations, "outputs")
    net("Identity", "target_length", name="prednet_lengths")
    net.save(
        folder / "fused/decoder_joint-model.onnx",
        [("encoder_outputs", FLOAT, ["B", HIDDEN, "T"]), *targets, *((name, FLOAT, [layers, "B", HIDDEN]) for name in states)],
        [("outputs", FLOAT, scores), ("prednet_lengths", INT32, ["B"]), *((name, FLOAT, [layers, "B", HIDDEN]) for name in following)],
    )

    nemo_split(folder / "split", family, tokens, layers, durations)
    microsoft_split(folder / "joint", family, tokens, layers, durations)
    listed(folder / "fused/vocab.txt", tokens)
    listed(folder / "split/tokens.txt", tokens)
    config = {"model_type": "nemo-conformer-tdt" if durations else "nemo-conformer-rnnt", "features_size": mels}
    configured(folder / "fused", **config, subsampling_factor=8)
    (folder / "int8").mkdir()
    for name, kind in (("encoder-model", QuantType.QUInt8), ("decoder_joint-model", QuantType.QInt8)):
        quantize_dynamic(folder / f"fused/{name}.onnx", folder / f"int8/{name}.int8.onnx", weight_type=kind)
    for name in ("vocab.txt", "config.json"):
        shutil.copy(folder / "fused" / name, folder / "int8" / name)


def nemo_rnnt(folder: Path) -> None:
    nemo_transducer(folder, 0)


def nemo_tdt(folder: Path) -> None:
    nemo_transducer(folder, 5)


RUSSIAN = [*" абвгдежзийклмнопрстуфхцчшщъыьэюя", "<blk>"]
GIGAAM = {
    "model_author": "https://github.com/salute-developers/GigaAM", "normalize_type": "", "subsampling_factor": 4, "language": "Russian",
    "is_giga_am": 1,
}  # fmt: skip


def gigaam_ctc(folder: Path, version: str) -> None:
    """Folder `plain` with GigaAM's own export, `sherpa` with sherpa-onnx's metadata."""
    blank = len(RUSSIAN) - 1
    metadata = {**GIGAAM, "model_type": "EncDecCTCModel", "version": 1, "vocab_size": blank + 1, **({"comment": "v3"} if version == "v3" else {})}
    for name, props in ((f"plain/{version}_ctc.onnx", None), ("sherpa/model.onnx", metadata)):
        net = Network("gigaam-ctc")
        columns = net.subsampled(net.normal("features", UNIT), 64, 4)
        net.log_softmax(net.scored(net.rows(columns), RUSSIAN, blank), "log_probs")
        net.save(
            folder / name, [("features", FLOAT, ["batch_size", 64, "seq_len"]), ("feature_lengths", INT64, ["batch_size"])],
            [("log_probs", FLOAT, ["batch_size", "out_len", blank + 1])], props,
        )  # fmt: skip
    listed(folder / f"plain/{version}_vocab.txt", ["\u2581", *RUSSIAN[1:]])
    listed(folder / "sherpa/tokens.txt", RUSSIAN)
    configured(folder / "plain", model_type=f"gigaam-{version}-ctc", version=version, features_size=64, subsampling_factor=4)


def gigaam_v2_ctc(folder: Path) -> None:
    gigaam_ctc(folder, "v2")


def gigaam_v3_ctc(folder: Path) -> None:
    gigaam_ctc(folder, "v3")


def gigaam_rnnt(folder: Path) -> None:
    """Folder `plain` with GigaAM's own export, `sherpa` with sherpa-onnx's."""
    blank, hidden, family, state = len(RUSSIAN) - 1, 320, "gigaam-rnnt", [1, 1, 320]
    metadata = {**GIGAAM, "model_type": "EncDecRNNTBPEModel", "version": 3, "comment": "v3", "vocab_size": blank, "pred_rnn_layers": 1, "pred_hidden": hidden}
    for plain in (True, False):
        part = (lambda name: folder / f"plain/v3_rnnt_{name}.onnx") if plain else (lambda name: folder / f"sherpa/{name}.onnx")
        net = Network(family)
        net("Identity", net.subsampled(net.normal("audio_signal", UNIT), 64, 4), name="encoded")
        net.length("length", 4, "encoded_len", INT32)
        net.save(
            part("encoder"), [("audio_signal", FLOAT, ["batch_size", 64, "seq_len"]), ("length", INT64, ["batch_size"])],
            [("encoded", FLOAT, ["batch_size", HIDDEN, "out_len"]), ("encoded_len", INT32, ["batch_size"])], None if plain else metadata,
        )  # fmt: skip
        net = Network(family + "p")
        predicted = lstms(net, "x", ["h.1", "c.1"], ["h", "c"], blank + 1, hidden, 1)
        length = [] if plain else [("unused_x_len.1", INT32, [1])]
        if plain:
            net("Identity", predicted, name="dec")
        else:
            net("Transpose", predicted, name="dec", perm=[0, 2, 1])
            net("Add", "unused_x_len.1", net.value(np.array([1], dtype=np.int32)), name="unused_x_len")
        net.save(
            part("decoder"), [("x", INT64 if plain else INT32, [1, 1]), *length, ("h.1", FLOAT, state), ("c.1", FLOAT, state)],
            [("dec", FLOAT, [1, 1, hidden] if plain else [1, hidden, 1]), *([] if plain else [("unused_x_len", INT32, [1])]),
             ("h", FLOAT, state), ("c", FLOAT, state)],
        )  # fmt: skip
        net = Network(family + "j")
        joined(net, net.rows("enc"), net.rows("dec"), RUSSIAN, blank, hidden, 0, "joint")
        net.save(part("joint" if plain else "joiner"), [("enc", FLOAT, [1, HIDDEN, 1]), ("dec", FLOAT, [1, hidden, 1])], [("joint", FLOAT, [1, 1, 1, blank + 1])])
    listed(folder / "plain/v3_vocab.txt", ["\u2581", *RUSSIAN[1:]])
    listed(folder / "sherpa/tokens.txt", RUSSIAN)
    configured(folder / "plain", model_type="gigaam-v3-rnnt", version="v3", features_size=64, subsampling_factor=4)


def vosk(folder: Path) -> None:
    tokens, context = ["<blk>", "<sos/eos>", "<unk>", *PIECES], 2
    net = Network("vosk")
    columns = net.subsampled(net.rows(net.normal("x", UNIT)), 80, 4)
    net("MatMul", net.rows(columns), net.weights(HIDDEN, HIDDEN, scale=HIDDEN**-0.5 * 2), name="encoder_out")
    net.length("x_lens", 4, "encoder_out_lens")
    net.save(
        folder / "am-onnx/encoder.onnx", [("x", FLOAT, ["N", "T", 80]), ("x_lens", INT64, ["N"])],
        [("encoder_out", FLOAT, ["N", "T_out", HIDDEN]), ("encoder_out_lens", INT64, ["N"])],
        {"model_type": "zipformer2", "version": 1, "model_author": "k2-fsa", "comment": "non-streaming zipformer2"},
    )  # fmt: skip
    net = Network("vosk p")
    known = net("Cast", net("GreaterOrEqual", "y", net.value(np.int64(0))), to=FLOAT)
    embedded = net("Gather", net.weights(len(tokens), 4, scale=1.0), net("Max", "y", net.value(np.int64(0))), axis=0)
    masked = net("Mul", embedded, net("Unsqueeze", known, net.ints(-1)))
    hidden = net("Relu", net("Conv", net.rows(masked), net.weights(4, 2, context, scale=1.0), kernel_shape=[context], group=2))
    net("Gemm", net("Squeeze", hidden, net.ints(2)), net.weights(HIDDEN, 4, scale=0.5), net.weights(HIDDEN, scale=0.2), name="decoder_out", transB=1)
    net.save(folder / "am-onnx/decoder.onnx", [("y", INT64, ["N", context])], [("decoder_out", FLOAT, ["N", HIDDEN])],
             {"context_size": context, "vocab_size": len(tokens)})  # fmt: skip
    net = Network("vosk j")
    net("Identity", net.scored(net("Tanh", net("Add", "encoder_out", "decoder_out")), tokens, 0, bonus=BLANK_BONUS - 3), name="logit")
    net.save(folder / "am-onnx/joiner.onnx", [("encoder_out", FLOAT, ["N", HIDDEN]), ("decoder_out", FLOAT, ["N", HIDDEN])],
             [("logit", FLOAT, ["N", len(tokens)])], {"joiner_dim": HIDDEN})  # fmt: skip
    listed(folder / "lang/tokens.txt", tokens)
    configured(folder, model_type="vosk")


def wav2vec2(folder: Path) -> None:
    """A base model of Hugging Face: samples in, a frame each 20 ms. `sherpa` has the tokens for sherpa-onnx's Omnilingual, which takes the same network."""
    tokens = ["<pad>", "<s>", "</s>", "<unk>", "|", *LETTERS.upper(), "'"]
    kernels, strides = [10, 3, 3, 3, 3, 2, 2], [5, 2, 2, 2, 2, 2, 2]
    net, columns, channels = Network("wav2vec2"), "columns", 1
    net("Unsqueeze", "input_values", net.ints(1), name=columns)
    for kernel, stride in zip(kernels, strides):
        columns = net("Tanh", net.convolved(columns, channels, kernel, stride, 0))
        channels = HIDDEN
    net("Identity", net.scored(net.rows(columns), tokens, 0), name="logits")
    net.save(folder / "plain/model.onnx", [("input_values", FLOAT, ["batch_size", "sequence_length"])],
             [("logits", FLOAT, ["batch_size", "frames", len(tokens)])])  # fmt: skip
    (folder / "plain/vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    (folder / "plain/special_tokens_map.json").write_text(json.dumps(special))
    tokenizer = {**special, "do_lower_case": False, "word_delimiter_token": "|", "tokenizer_class": "Wav2Vec2CTCTokenizer"}
    (folder / "plain/tokenizer_config.json").write_text(json.dumps(tokenizer))
    extractor = {
        "do_normalize": True, "feature_extractor_type": "Wav2Vec2FeatureExtractor", "feature_size": 1, "padding_side": "right",
        "padding_value": 0.0, "return_attention_mask": False, "sampling_rate": 16000,
    }  # fmt: skip
    (folder / "plain/preprocessor_config.json").write_text(json.dumps(extractor))
    configured(
        folder / "plain", model_type="wav2vec2", architectures=["Wav2Vec2ForCTC"], pad_token_id=0, vocab_size=len(tokens), conv_kernel=kernels,
        conv_stride=strides,
    )  # fmt: skip
    listed(folder / "sherpa/tokens.txt", [" " if token == "|" else token for token in tokens])


def by_commas(values) -> str:
    return ",".join(f"{value:.6f}" for value in values)


LFR_WIDTH = 560
LFR = {"lfr_window_size": 7, "lfr_window_shift": 6}


def cmvn(net: Network) -> tuple:
    """The shift and the scale of rows of low frame rate."""
    return -FULL[0] + net.random.normal(0, 0.5, LFR_WIDTH), net.random.uniform(0.8, 1.2, LFR_WIDTH) / FULL[1]


def mvn_file(path: Path, shift, scale) -> None:
    texts = [" ".join(f"{value:.6f}" for value in values) for values in (shift, scale)]
    line = "<LearnRateCoef> 0 [ {} ]"
    text = f"<Nnet>\n<Splice> 560 560\n[ 0 ]\n<AddShift> 560 560\n{line}\n<Rescale> 560 560\n{line}\n</Nnet>\n"
    path.write_text(text.format(*texts))


SENSE_TAGS = [
    "<|zh|>", "<|en|>", "<|yue|>", "<|ja|>", "<|ko|>", "<|nospeech|>", "<|HAPPY|>", "<|NEUTRAL|>", "<|Speech|>", "<|BGM|>", "<|withitn|>", "<|woitn|>",
]  # fmt: skip
SENSE_LANGUAGES = {"auto": 0, "zh": 3, "en": 4, "yue": 7, "ja": 11, "ko": 12, "nospeech": 13}


def sense_voice(folder: Path) -> None:
    """Folder `sherpa` with metadata, `funasr` with the files of FunASR's export."""
    tokens = ["<unk>", "<s>", "</s>", *PIECES, *SENSE_TAGS]
    first = len(tokens) - len(SENSE_TAGS)
    # The tag that each of the 16 prompts makes the network write; 1 and 2 are event and emotion.
    tags = {0: 0, 1: 7, 2: 8, 3: 0, 4: 1, 7: 2, 11: 3, 12: 4, 13: 5, 14: 10, 15: 11}
    table = np.full((16, len(tokens)), -10, dtype=np.float32)
    for prompt, tag in tags.items():
        table[prompt, first + tag] = 0
    for form, x, length, norm in (("sherpa", "x", "x_length", "text_norm"), ("funasr", "speech", "speech_lengths", "textnorm")):
        net = Network("sense-voice")
        shift, scale = cmvn(net)
        columns = net("Tanh", net.convolved(net("Transpose", x, perm=[0, 2, 1]), LFR_WIDTH, 3, 1, 1))
        scores = net.scored(net.rows(columns), tokens[:first], 0)
        padded = net("Pad", net.log_softmax(scores, ""), net.ints(0, 0, 0, 0, 0, len(SENSE_TAGS)), net.number(-20))
        both = net("Concat", net("Unsqueeze", "language", net.ints(1)), net.value(np.array([[1, 2]], dtype=np.int32)), net("Unsqueeze", norm, net.ints(1)), axis=1)
        prompts = net("Gather", net.value(table), both, axis=0)
        net("Concat", prompts, padded, name="logits" if form == "sherpa" else "ctc_logits", axis=1)
        metadata = {
            **LFR, "normalize_samples": 0, "neg_mean": by_commas(shift), "inv_stddev": by_commas(scale), "model_type": "sense_voice_ctc",
            "version": 2, "model_author": "iic", "maintainer": "k2-fsa", "vocab_size": len(tokens), "comment": "iic/SenseVoiceSmall",
            **{f"lang_{name}": number for name, number in SENSE_LANGUAGES.items()}, "with_itn": 14, "without_itn": 15,
        }  # fmt: skip
        inputs = [(x, FLOAT, ["N", "T", LFR_WIDTH]), *((name, INT32, ["N"]) for name in (length, "language", norm))]
        if form == "sherpa":
            net.save(folder / form / "model.onnx", inputs, [("logits", FLOAT, ["N", "T_out", len(tokens)])], metadata)
            listed(folder / form / "tokens.txt", tokens)
            continue
        net("Add", length, net.value(np.array(4, dtype=np.int32)), name="encoder_out_lens")
        net.save(folder / form / "model.onnx", inputs, [("ctc_logits", FLOAT, ["N", "T_out", len(tokens)]), ("encoder_out_lens", INT32, ["N"])])
        of_funasr(folder / form, "SenseVoiceSmall", tokens, shift, scale)


FUNASR_YAML = """model: {}
frontend: WavFrontend
frontend_conf:
    fs: 16000
    window: hamming
    n_mels: 80
    frame_length: 25
    frame_shift: 10
    lfr_m: 7
    lfr_n: 6
    cmvn_file: null
"""


def of_funasr(folder: Path, model: str, tokens: list, shift, scale) -> None:
    mvn_file(folder / "am.mvn", shift, scale)
    (folder / "tokens.json").write_text(json.dumps(tokens))
    (folder / "config.yaml").write_text(FUNASR_YAML.format(model))


def paraformer(folder: Path) -> None:
    """Folder `sherpa` with metadata, `funasr` with the files of FunASR's export.

    The tokens fire where the sum of weights passes a whole number; a second sum, three times as fine, gives the times.
    """
    tokens = ["<blank>", "<s>", "</s>", *"的一是不了人我在有他这中大来上", "a@@", "be", "see@@", "dee", "e", "<unk>"]
    net = Network("paraformer")
    shift, scale = cmvn(net)
    columns = net("Tanh", net.convolved(net("Transpose", "speech", perm=[0, 2, 1]), LFR_WIDTH, 3, 1, 1))
    rows = net.rows(columns)
    alphas = net("Sigmoid", net("MatMul", rows, net.weights(HIDDEN, 1, scale=1.0)))
    flat = net("Squeeze", alphas, net.ints(0, 2))
    whole = net("Floor", net("CumSum", flat, net.value(np.int64(0))))
    before = net("Pad", net("Slice", whole, net.ints(0), net.ints(-1), net.ints(0)), net.ints(1, 0), net.number(0))
    fired = net("Greater", whole, before)
    places = net("Squeeze", net("NonZero", fired), net.ints(0))
    scores = net("Add", net("MatMul", rows, net.weights(HIDDEN, len(tokens), scale=SHARP * (0.4 * HIDDEN) ** -0.5)),
                 net.value(np.where(np.arange(len(tokens)) < 3, -30, 0).astype(np.float32)))  # fmt: skip
    net("Gather", net.log_softmax(scores, ""), places, name="logits", axis=1)
    count = net("Shape", places)
    net("Cast", count, name="token_num", to=INT32)
    fine = net("Reshape", net("Expand", net("Unsqueeze", flat, net.ints(1)), net("Concat", net("Shape", flat), net.ints(3), axis=0)), net.ints(1, -1))
    # One peak more than tokens.
    wanted = net("Add", net("Cast", count, to=FLOAT), net.number(1.5))
    net("Mul", fine, net("Div", wanted, net("ReduceSum", fine, keepdims=0)), name="us_alphas")
    sums = net("CumSum", "us_alphas", net.value(np.int64(1)))
    floors = net("Floor", sums)
    earlier = net("Pad", net("Slice", floors, net.ints(0), net.ints(-1), net.ints(1)), net.ints(0, 1, 0, 0), net.number(0))
    net("Add", net("Sub", sums, floors), net("Cast", net("Greater", floors, earlier), to=FLOAT), name="us_cif_peak")
    metadata = {
        **LFR, "model_type": "paraformer", "version": 1, "model_author": "damo", "vocab_size": len(tokens), "comment": "speech_paraformer-large",
        "neg_mean": by_commas(shift), "inv_stddev": by_commas(scale),
    }  # fmt: skip
    for form, props in (("sherpa", metadata), ("funasr", None)):
        net.save(
            folder / form / "model.onnx", [("speech", FLOAT, [1, "T", LFR_WIDTH]), ("speech_lengths", INT32, [1])],
            [("logits", FLOAT, [1, "U", len(tokens)]), ("token_num", INT32, [1]), ("us_alphas", FLOAT, [1, "T3"]), ("us_cif_peak", FLOAT, [1, "T3"])], props,
        )  # fmt: skip
    listed(folder / "sherpa/tokens.txt", tokens)
    of_funasr(folder / "funasr", "BiCifParaformer", tokens, shift, scale)


def rows_ctc(folder: Path, family: str, width: int, spread, names, tokens, metadata, blank: int = 0, softmax: bool = True, mask: bool = False) -> None:
    """A network with CTC that takes rows of features; `names`: of both inputs and both outputs."""
    net, (x, length, scores, out_length) = Network(family), names
    found = net.scored(net.rows(net.subsampled(net.rows(net.normal(x, spread)), width, 4)), tokens, blank)
    net.log_softmax(found, scores) if softmax else net("Identity", found, name=scores)
    net.length(net("ReduceSum", length, net.ints(1), keepdims=0) if mask else length, 4, out_length)
    net.save(
        folder / "model.onnx", [(x, FLOAT, ["N", "T", width]), (length, INT64, ["N", "T"] if mask else ["N"])],
        [(scores, FLOAT, ["N", "T_out", len(tokens)]), (out_length, INT64, ["N"])], metadata,
    )  # fmt: skip
    listed(folder / "tokens.txt", tokens)


def zipformer_ctc(folder: Path) -> None:
    metadata = {"model_type": "zipformer2_ctc", "version": 1, "model_author": "k2-fsa", "comment": "non-streaming zipformer2 CTC"}
    rows_ctc(folder, "zipformer-ctc", 80, UNIT, ["x", "x_lens", "log_probs", "log_probs_len"], ["<blk>", "<sos/eos>", "<unk>", *PIECES], metadata)


def wenet_ctc(folder: Path) -> None:
    tokens = ["<blank>", "<unk>", *PIECES, "<sos/eos>"]
    metadata = {"model_type": "wenet_ctc", "version": 1, "model_author": "wenet", "comment": "non-streaming", "subsampling_factor": 4, "vocab_size": len(tokens), "url": ""}
    rows_ctc(folder, "wenet-ctc", 80, FULL, ["x", "x_lens", "log_probs", "log_probs_lens"], tokens, metadata)


def dolphin(folder: Path) -> None:
    tokens, net = ["<blank>", "<unk>", *PIECES, "<sos>", "<eos>"], Network("dolphin cmvn")
    mean, scale = net.random.normal(UNIT[0], 0.5, 80), net.random.uniform(0.2, 0.3, 80)
    metadata = {
        "model_type": "dolphin", "version": 1, "model_author": "DataoceanAI", "comment": "Dolphin", "vocab_size": len(tokens),
        "mean": by_commas(mean), "invstd": by_commas(scale),
    }  # fmt: skip
    rows_ctc(folder, "dolphin", 80, (0.0, 1.0), ["x", "x_len", "lob_probs", "lob_probs_len"], tokens, metadata)


def fire_red_ctc(folder: Path) -> None:
    tokens, net = ["<blank>", "<unk>", "<pad>", "<sos>", "<eos>", *PIECES], Network("fire-red cmvn")
    mean, scale = net.random.normal(FULL[0], 0.5, 80), net.random.uniform(0.2, 0.3, 80)
    metadata = {
        "model_type": "fire-red-asr-2-ctc", "version": 1, "model_author": "FireRedTeam", "maintainer": "k2-fsa", "subsampling_factor": 4,
        "cmvn_mean": by_commas(mean), "cmvn_inv_stddev": by_commas(scale),
    }  # fmt: skip
    rows_ctc(folder, "fire-red", 80, (0.0, 1.0), ["x", "x_len", "log_probs", "log_probs_len"], tokens, metadata)


def medasr(folder: Path) -> None:
    tokens = ["<blk>", "<s>", "</s>", "<unk>", *PIECES]
    metadata = {
        "model_type": "medasr_ctc", "version": "20251225", "model_author": "google", "maintainer": "k2-fsa", "vocab_size": len(tokens),
        "subsampling_factor": 4,
    }  # fmt: skip
    rows_ctc(folder, "medasr", 128, UNIT, ["x", "mask", "logits", "logits_len"], tokens, metadata, softmax=False, mask=True)


def telespeech(folder: Path) -> None:
    tokens, net = ["<blk>", "<unk>", *"的一是不了人我在有他这中大来上为和国地到"], Network("telespeech")
    scores = net.scored(net.rows(net.subsampled(net.rows("feats"), 40, 4)), tokens, 0)
    net("Transpose", net.log_softmax(scores, ""), name="logits", perm=[1, 0, 2])
    net.save(folder / "model.onnx", [("feats", FLOAT, ["B", "T", 40])], [("logits", FLOAT, ["T_out", "B", len(tokens)])],
             {"model_type": "telespeech_ctc", "version": 1, "model_author": "Tele-AI"})  # fmt: skip
    listed(folder / "tokens.txt", tokens)


def t_one(folder: Path) -> None:
    """300 ms of 8 kHz at a time; its state is the last 60 ms. Folder `plain` as T-one exports it, `sherpa` with sherpa-onnx's metadata."""
    net, samples, keep, letters = Network("t-one"), 2400, 480, [*RUSSIAN[1:-1], " "]
    blank = len(letters)
    signal = net("Squeeze", net("Div", net("Cast", "signal", to=FLOAT), net.number(32768)), net.ints(2))
    both = net("Concat", net("Cast", "state", to=FLOAT), signal, axis=1)
    net("Cast", net("Slice", both, net.ints(samples), net.ints(samples + keep), net.ints(1)), name="state_next", to=HALF)
    weights = net.random.normal(0, 3, (HIDDEN, 1, 720)).astype(np.float32)
    columns = net("Tanh", net("Conv", net("Unsqueeze", both, net.ints(1)), net.value(weights), kernel_shape=[720], strides=[240]))
    net.log_softmax(net.scored(net.rows(columns), [*letters, "<blk>"], blank, bonus=BLANK_BONUS - 4), "logprobs")
    metadata = {"model_type": "t-one", "language": "Russian", "version": 1, "maintainer": "k2-fsa", "sample_rate": 8000, "frame_length_ms": 300, "state_dim": keep}
    for form, props in (("plain", None), ("sherpa", metadata)):
        net.save(
            folder / form / "model.onnx", [("signal", INT32, ["batch_size", samples, 1]), ("state", HALF, ["batch_size", keep])],
            [("logprobs", FLOAT, ["batch_size", 10, blank + 1]), ("state_next", HALF, ["batch_size", keep])], props,
        )  # fmt: skip
    configured(folder / "plain", model_type="t-one-ctc", decoder_params={"vocabulary": letters}, pad_token_id=blank, encoder_params={"reduction_kernel_size": 3})
    vocabulary = {"|" if letter == " " else letter: number for number, letter in enumerate(letters)}
    (folder / "plain/vocab.json").write_text(json.dumps({**vocabulary, "[PAD]": blank}))
    listed(folder / "sherpa/tokens.txt", [*letters, "<blk>"])



class Caches:
    """States of a streaming network: projections of the last rows, whose mean is added to the next chunk."""

    def __init__(self, net: Network, rows: str):
        self.net, self.rows, self.added, self.inputs, self.outputs = net, rows, rows, [], []

    def add(self, name: str, following: str, shape, time: int, width: int, kind: int = FLOAT) -> None:
        """A cache of this shape, with the axes of its time and of its width; the axis of the batch is "N", others are 1."""
        net, batch = self.net, shape.index("N")
        order = [batch, time, width, *(axis for axis in range(len(shape)) if axis not in (batch, time, width))]
        straight = net("Reshape", net("Transpose", name, perm=order), net.ints(-1, shape[time], shape[width]))
        both = net("Concat", straight, net("MatMul", self.rows, net.weights(HIDDEN, shape[width], scale=HIDDEN**-0.5)), axis=1)
        last = net("Slice", both, net.ints(-shape[time]), net.ints(1 << 30), net.ints(1))
        extended = net("Reshape", last, net.ints(*([0, shape[time], shape[width]] + [1] * (len(shape) - 3))))
        net("Transpose", extended, name=following, perm=[order.index(axis) for axis in range(len(shape))])
        self.mean(net("ReduceMean", straight, axes=[1]), shape[width])
        self.stated(name, following, shape, kind)

    def mean(self, rows: str, width: int) -> None:
        self.added = self.net("Add", self.added, self.net("MatMul", rows, self.net.weights(width, HIDDEN, scale=width**-0.5)))

    def count(self, name: str, following: str, step: int) -> None:
        net = self.net
        net("Add", name, net.ints(step), name=following)
        self.mean(net("Unsqueeze", net("Mul", net("Cast", name, to=FLOAT), net.number(0.01)), net.ints(1, 2)), 1)
        self.stated(name, following, ["N"], INT64)

    def stated(self, name: str, following: str, shape, kind: int) -> None:
        self.inputs.append((name, kind, shape))
        self.outputs.append((following, kind, shape))


def zipformer_streaming_ctc(folder: Path) -> None:
    """A stack of two layers; 8 frames of 40 ms from 45 of 10 ms."""
    net, tokens, left, heads, query, value, kernel = Network("zipformer-streaming"), ["<blk>", "<sos/eos>", "<unk>", *PIECES], 8, 2, 4, 3, 5
    rows = net.rows(net("Tanh", net.convolved(net.rows(net.normal("x", UNIT)), 80, 17, 4, 0)))
    caches = Caches(net, rows)
    for layer in range(2):
        for name, shape, time, width in (
            ("key", [left, "N", heads * query], 0, 2), ("nonlin_attn", [1, "N", left, 3 * HIDDEN // 4], 2, 3),
            ("val1", [left, "N", heads * value], 0, 2), ("val2", [left, "N", heads * value], 0, 2),
            ("conv1", ["N", HIDDEN, kernel // 2], 2, 1), ("conv2", ["N", HIDDEN, kernel // 2], 2, 1),
        ):  # fmt: skip
            caches.add(f"cached_{name}_{layer}", f"new_cached_{name}_{layer}", shape, time, width)
    loudness = net("Reshape", net("ReduceMean", rows, axes=[1, 2]), net.ints(-1, 1, 1, 1))
    net("Add", net("Mul", "embed_states", net.number(0.5)), loudness, name="new_embed_states")
    caches.mean(net("Reshape", net("ReduceMean", "embed_states", axes=[1, 2, 3]), net.ints(-1, 1, 1)), 1)
    caches.stated("embed_states", "new_embed_states", ["N", 128, 3, 19], FLOAT)
    caches.count("processed_lens", "new_processed_lens", 16)
    net.log_softmax(net.scored(net("Tanh", caches.added), tokens, 0), "log_probs")
    metadata = {
        "model_type": "zipformer2", "version": 1, "model_author": "k2-fsa", "comment": "streaming ctc zipformer2", "decode_chunk_len": 32, "T": 45,
        "num_encoder_layers": 2, "encoder_dims": HIDDEN, "cnn_module_kernels": kernel, "left_context_len": left, "query_head_dims": query,
        "value_head_dims": value, "num_heads": heads,
    }  # fmt: skip
    net.save(folder / "model.onnx", [("x", FLOAT, ["N", 45, 80]), *caches.inputs], [("log_probs", FLOAT, ["N", 8, len(tokens)]), *caches.outputs], metadata)
    listed(folder / "tokens.txt", tokens)


def wenet_streaming_ctc(folder: Path) -> None:
    """16 frames of 40 ms from 67 of 10 ms; attention is a mean of the rows that the mask has."""
    net, tokens, blocks, heads, chunk, kernel = Network("wenet-streaming"), ["<blank>", "<unk>", *PIECES, "<sos/eos>"], 2, 2, 16, 5
    width = HIDDEN // heads * 2
    rows = net.rows(net("Tanh", net.convolved(net.rows(net.normal("x", FULL)), 80, 7, 4, 0)))
    projected = net("Reshape", net("MatMul", rows, net.weights(HIDDEN, blocks * heads * width, scale=HIDDEN**-0.5)), net.ints(-1, blocks, heads, width))
    keys = net("Concat", "attn_cache", net("Transpose", projected, perm=[1, 2, 0, 3]), axis=2)
    net("Slice", keys, net("Neg", "required_cache_size"), net.ints(1 << 30), net.ints(2), name="next_att_cache")
    mask = net("Unsqueeze", net("Cast", "attn_mask", to=FLOAT), net.ints(3))
    mean = net("Div", net("ReduceSum", net("Mul", keys, mask), net.ints(0, 1, 2), keepdims=0), net("ReduceSum", mask, keepdims=0))
    caches = Caches(net, rows)
    caches.mean(net("Reshape", mean, net.ints(1, 1, width)), width)
    memory = net("Expand", net("Unsqueeze", net.rows(rows), net.ints(0)), net.ints(blocks, 1, HIDDEN, chunk))
    net("Slice", net("Concat", "conv_cache", memory, axis=3), net.ints(1 - kernel), net.ints(1 << 30), net.ints(3), name="next_conv_cache")
    caches.mean(net("Reshape", net("ReduceMean", "conv_cache", axes=[0, 3]), net.ints(1, 1, HIDDEN)), HIDDEN)
    caches.mean(net("Reshape", net("Mul", net("Cast", "offset", to=FLOAT), net.number(0.0005)), net.ints(1, 1, 1)), 1)
    net.log_softmax(net.scored(net("Tanh", caches.added), tokens, 0, bonus=BLANK_BONUS - 3), "log_probs")
    metadata = {
        "model_type": "wenet_ctc", "version": 1, "model_author": "wenet", "comment": "streaming", "url": "", "chunk_size": chunk, "left_chunks": 4,
        "head": heads, "num_blocks": blocks, "output_size": HIDDEN, "cnn_module_kernel": kernel, "right_context": 6, "subsampling_factor": 4,
        "vocab_size": len(tokens),
    }  # fmt: skip
    net.save(
        folder / "model-streaming.onnx",
        [("x", FLOAT, ["N", "T", 80]), ("offset", INT64, [1]), ("required_cache_size", INT64, [1]), ("attn_cache", FLOAT, [blocks, heads, "T_cache", width]),
         ("conv_cache", FLOAT, [blocks, 1, HIDDEN, kernel - 1]), ("attn_mask", BOOL, [1, 1, "T_mask"])],
        [("log_probs", FLOAT, ["N", chunk, len(tokens)]), ("next_att_cache", FLOAT, [blocks, heads, "T_next", width]),
         ("next_conv_cache", FLOAT, [blocks, 1, HIDDEN, kernel - 1])], metadata,
    )  # fmt: skip
    listed(folder / "tokens.txt", tokens)


def nemotron(folder: Path, prompted: bool) -> None:
    """7 frames of 80 ms from 65 of 10 ms, with the caches of a cache-aware FastConformer of two layers."""
    family, mels, layers, left, conv = "nemotron", 128, 2, 4, 3
    tokens = ["<unk>", *(["<en-US>", "<ja-JP>"] if prompted else []), *PIECES, "<blk>"]
    blank = len(tokens) - 1
    net = Network(family)
    rows = net.rows(net("Tanh", net.convolved(net.normal("audio_signal", UNIT), mels, 17, 8, 0)))
    caches, length = Caches(net, rows), 7
    channel, time = [], []
    for layer in range(layers):
        for name, parts, shape, axes in (("cache_last_channel", channel, ["N", left, HIDDEN], (1, 2)), ("cache_last_time", time, ["N", HIDDEN, conv], (2, 1))):
            one, following = net("Gather", name, net.value(np.int64(layer)), axis=1), f"{name}_{layer}_next"
            caches.add(one, following, shape, *axes)
            parts.append(net("Unsqueeze", following, net.ints(1)))
    net("Concat", *channel, name="cache_last_channel_next", axis=1)
    net("Concat", *time, name="cache_last_time_next", axis=1)
    net("Min", net("Add", "cache_last_channel_len", net.ints(length)), net.ints(left), name="cache_last_channel_next_len")
    caches.mean(net("Unsqueeze", net("Mul", net("Cast", "cache_last_channel_len", to=FLOAT), net.number(0.1)), net.ints(1, 2)), 1)
    if prompted:
        caches.added = net("Add", caches.added, net("Unsqueeze", net("Gather", net.weights(128, HIDDEN, scale=0.5), "prompt_index", axis=0), net.ints(1)))
    net("Transpose", net("Tanh", caches.added), name="outputs", perm=[0, 2, 1])
    net("Div", net("Sub", "length", net.ints(9)), net.ints(8), name="encoded_lengths")
    shapes = {"cache_last_channel": ["B", layers, left, HIDDEN], "cache_last_time": ["B", layers, HIDDEN, conv]}
    metadata = {
        **NEMO, "normalize_type": "", "version": 1, "vocab_size": blank, "window_size": 65, "chunk_size_ms": 560, "chunk_shift": 56, "feat_dim": mels,
        **{f"{name}_dim{axis}": shape[axis] for name, shape in shapes.items() for axis in (1, 2, 3)}, "pred_rnn_layers": 2, "pred_hidden": HIDDEN,
        "model_type": "EncDecRNNTBPEModelWithPrompt" if prompted else "EncDecHybridRNNTCTCBPEModel", "comment": "Only the transducer branch is exported",
        "url": "https://huggingface.co/nvidia/nemotron-" + ("3.5-asr-streaming-0.6b" if prompted else "speech-streaming-en-0.6b"),
    }  # fmt: skip
    if prompted:
        metadata.update(prompt_dictionary=json.dumps({"auto": 101, "en-US": 0, "ja-JP": 10}), auto_prompt_id=101)
    states = [(name, FLOAT, shape) for name, shape in shapes.items()]
    net.save(
        folder / "encoder.onnx",
        [("audio_signal", FLOAT, ["B", mels, "T"]), ("length", INT64, ["B"]), *states, ("cache_last_channel_len", INT64, ["B"]),
         *([("prompt_index", INT64, ["B"])] if prompted else [])],
        [("outputs", FLOAT, ["B", HIDDEN, "T_out"]), ("encoded_lengths", INT64, ["B"]), *((f"{name}_next", FLOAT, shape) for name, _, shape in states),
         ("cache_last_channel_next_len", INT64, ["B"])], metadata,
    )  # fmt: skip
    nemo_split(folder, family, tokens, 2, 0)
    listed(folder / "tokens.txt", tokens)


def nemotron_en(folder: Path) -> None:
    nemotron(folder, False)


def nemotron_multilingual(folder: Path) -> None:
    nemotron(folder, True)
