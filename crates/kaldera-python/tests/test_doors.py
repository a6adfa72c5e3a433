"""Arrays of any order in memory, byte order and type, at every door that takes arrays.

A call with such an array gives what it gives with a copy in C order and the machine's byte order, or is
an error that says which array is expected; and other types give the same numbers, or are errors.
"""

import io
import pathlib
import re
import warnings

import numpy as np
import pytest

import kaldera
from kaldera import k2
from kaldera._kaldera import RaggedArc

from models import model  # noqa: F401, a fixture

RNG = np.random.default_rng(7)

#: Numbers that every type holds exactly, float16 too.
AUDIO = RNG.integers(-2000, 2000, 1200).astype(np.int16)
ROWS = RNG.integers(-9, 9, (12, 6)).astype(np.float32)
LOGITS = RNG.integers(-4, 4, (2, 5, 3)).astype(np.float32)
JOINED = RNG.integers(-4, 4, (2, 4, 3, 3)).astype(np.float32)
LABELS = np.array([[1, 2], [2, 1]], np.int32)
LENGTHS = np.array([5, 4], np.int32)
TWO = np.array([2, 1], np.int32)

FSA = "0 1 1 1\n0 1 2 0.5\n1 2 -1 0\n2"
ARCS = k2.Fsa.from_str(FSA).arcs.to_tensor()
VECTOR = k2.create_fsa_vec([k2.Fsa.from_str(FSA)] * 3)
SCORES = np.array([1, 3, 2], np.float32)
NUMBERS = np.array([5, 0, -1], np.int32)
INDEXES = k2.RaggedTensor([[0, 2], [], [1]])
SINGLE = k2.RaggedTensor([[0, 1], [], [2]])


def layouts(array):
    """Arrays that equal another one and are other in memory."""
    yield "Fortran", np.asfortranarray(array)
    wide = np.zeros([2 * length + 1 for length in array.shape], array.dtype)
    strided = wide[tuple(slice(1, None, 2) for _ in array.shape)]
    strided[...] = array
    yield "strided", strided
    back = tuple(slice(None, None, -1) for _ in array.shape)
    yield "reversed", array[back].copy()[back]
    yield "transposed", array.T.copy().T
    fixed = array.copy()
    fixed.setflags(write=False)
    yield "read-only", fixed
    yield "big-endian", array.astype(array.dtype.newbyteorder(">"))
    yield "big-endian Fortran", np.asfortranarray(array.astype(array.dtype.newbyteorder(">")))
    yield "unaligned", np.frombuffer(bytearray(b"x" + array.tobytes()), array.dtype, offset=1).reshape(array.shape)


def features():
    """Name, function of one array, and an array of the right type."""
    for kind in ("fbank", "mfcc", "plp", "spectrogram", "log_mel", "pitch"):
        yield kind, getattr(kaldera, kind), AUDIO
    yield "compute of a list", kaldera.Fbank().compute, [AUDIO, AUDIO[:500]]
    yield "compute padded", lambda audio: kaldera.Mfcc()([audio], output="padded"), AUDIO
    yield "compute flat", lambda audio: kaldera.Mfcc()([audio], output="flat"), AUDIO
    yield "compute scaled", lambda audio: kaldera.fbank(audio, scale=0.5), AUDIO
    yield "FrontEnd", kaldera.FrontEnd("sensevoice").compute, AUDIO
    yield "FrontEnd of samples", kaldera.FrontEnd("wav2vec2").compute, AUDIO
    for channel in (0, 1, "mean"):
        by_channel = lambda audio, channel=channel: kaldera.fbank(audio, channel=channel)
        yield f"channels last, {channel}", by_channel, AUDIO.reshape(-1, 2)
        yield f"channels first, {channel}", by_channel, AUDIO.reshape(2, -1)
    yield "one channel first", kaldera.fbank, AUDIO[None]
    yield "one channel last", kaldera.fbank, AUDIO[:, None]
    yield "stream", streamed, AUDIO
    yield "resample", lambda audio: kaldera.resample(audio, 16000, 8000), AUDIO
    yield "resample as Kaldi", lambda audio: kaldera.resample(audio, 16000, 8000, method="kaldi"), AUDIO
    yield "add_deltas", kaldera.add_deltas, ROWS
    yield "splice", kaldera.splice, ROWS
    yield "cmvn_stats", kaldera.cmvn_stats, ROWS
    yield "cmvn_stats of a list", kaldera.cmvn_stats, [ROWS, ROWS]
    yield "apply_cmvn", kaldera.apply_cmvn, ROWS
    yield "apply_cmvn by statistics", lambda stats: kaldera.apply_cmvn(ROWS, stats), kaldera.cmvn_stats(ROWS)
    yield "sliding_cmvn", kaldera.sliding_cmvn, ROWS
    yield "vad", kaldera.vad, ROWS
    yield "process_pitch", kaldera.process_pitch, np.abs(ROWS[:, :2]) * 10 + 50


def streamed(audio):
    stream = kaldera.Fbank().stream()
    stream.accept_waveform(audio)
    stream.input_finished()
    return stream.get_frames()


def files():
    def archived(**options):
        def call(value):
            file = io.BytesIO()
            kaldera.save_ark(file, {"u": value}, **options)
            return file.getvalue()

        return call

    def written(folder, value, options):
        with kaldera.WriteHelper(f"ark:{folder}/w.ark", **options) as writer:
            writer("u", value)
        return (folder / "w.ark").read_bytes()

    def saved(folder, value, options):
        kaldera.save_mat(folder / "m", value, **options)
        return (folder / "m").read_bytes()

    yield "save_ark of a vector", archived(), ROWS[0]
    yield "save_ark of integers", archived(), NUMBERS
    yield "save_ark of text", archived(text=True), ROWS
    yield "save_ark of a recording", lambda samples: archived()((8000, samples)), AUDIO
    yield "save_ark of lists", lambda row: archived(kind="int32-vector-vector")([row, row]), NUMBERS
    for method in (0, 2, 5):
        options = {"compression_method": method}
        yield f"save_ark {method}", archived(**options), ROWS
        yield f"WriteHelper {method}", lambda value, folder, o=options: written(folder, value, o), ROWS
        yield f"save_mat {method}", lambda value, folder, o=options: saved(folder, value, o), ROWS


def losses():
    ctc = lambda logits=LOGITS, labels=LABELS, lengths=LENGTHS, sizes=TWO: kaldera.ctc_loss(logits, labels, lengths, sizes)
    yield "ctc_loss", ctc, LOGITS
    yield "ctc_loss labels", lambda labels: ctc(labels=labels), LABELS
    yield "ctc_loss joined labels", lambda labels: ctc(labels=labels), np.array([1, 2, 1], np.int32)
    yield "ctc_loss lengths", lambda lengths: ctc(lengths=lengths), LENGTHS
    yield "ctc_loss label lengths", lambda sizes: ctc(sizes=sizes), TWO
    yield "rnnt_loss", lambda logits: kaldera.rnnt_loss(logits, LABELS), JOINED
    yield "rnnt_loss labels", lambda labels: kaldera.rnnt_loss(JOINED, labels), LABELS
    simple = lambda am=JOINED[:, :, 0], lm=JOINED[:, 0]: kaldera.rnnt_loss_simple(am, lm, LABELS)
    yield "rnnt_loss_simple am", lambda am: simple(am=am), JOINED[:, :, 0].copy()
    yield "rnnt_loss_simple lm", lambda lm: simple(lm=lm), JOINED[:, 0].copy()
    yield "forced_align", lambda values: kaldera.forced_align(values, LABELS), LOGITS
    yield "forced_align labels", lambda labels: kaldera.forced_align(LOGITS, labels), LABELS


def ragged():
    shape, tensor = INDEXES.shape, k2.RaggedTensor([[1.0, 2.0], [], [3.0]])
    yield "RaggedTensor", k2.RaggedTensor, ROWS
    yield "RaggedTensor of integers", k2.RaggedTensor, LABELS
    yield "RaggedTensor of a shape", lambda values: k2.RaggedTensor(shape, values), SCORES
    yield "from_row_splits", lambda values: k2.RaggedTensor.from_row_splits([[0, 2, 3]], values), SCORES
    yield "add", lambda values: tensor.add(values, 2.0), SCORES
    yield "index", lambda rows: tensor.index(rows), TWO
    yield "RaggedTensor[...]", lambda rows: tensor[rows], TWO
    yield "RaggedShape.index", lambda rows: shape.index(0, rows), TWO
    yield "from_row_ids", k2.RaggedShape.from_row_ids, np.array([0, 0, 2], np.int32)
    yield "shape from row ids", lambda ids: k2.ragged.create_ragged_shape2(row_ids=ids), np.array([0, 0, 2], np.int32)
    yield "shape from row splits", k2.ragged.create_ragged_shape2, np.array([0, 2, 3], np.int32)
    yield "ragged.index", lambda values: k2.ragged.index(values, INDEXES), SCORES
    yield "ragged.index of integers", lambda values: k2.ragged.index(values, INDEXES), NUMBERS
    yield "index_and_sum", lambda values: k2.ragged.index_and_sum(values, INDEXES), SCORES
    yield "simple_ragged_index_select", lambda src: k2.simple_ragged_index_select(src, SINGLE), NUMBERS
    yield "index_select", lambda src: k2.index_select(src, TWO), SCORES
    yield "index_select index", lambda index: k2.index_select(SCORES, index), TWO
    yield "compose_arc_maps", lambda first: k2.compose_arc_maps(first, TWO), NUMBERS
    yield "compose_arc_maps second", lambda second: k2.compose_arc_maps(NUMBERS, second), TWO
    yield "index_add index", lambda index: added(index=index), TWO
    yield "index_add value", lambda value: added(value=value), SCORES[:2].copy()


def added(index=TWO, value=SCORES[:2]):
    sums = np.zeros(3, np.float32)
    k2.index_add(index, value, sums)
    return sums


def automata():
    yield "Fsa", k2.Fsa, ARCS
    yield "Fsa of a vector", k2.Fsa, VECTOR.arcs.to_tensor()
    yield "from_dict", lambda arcs: k2.Fsa.from_dict({"arcs": arcs, "scores_filler": 0}), ARCS
    for name, values in (("scores", SCORES), ("labels", NUMBERS), ("aux_labels", NUMBERS), ("numbers", NUMBERS)):
        yield name, lambda values, name=name: changed(name, values), values
    yield "attribute of floats", lambda values: changed("weights", values), SCORES
    yield "attribute of rows", lambda values: changed("rows", values), ROWS[:3].copy()
    yield "Fsa(arcs, aux_labels)", lambda values: k2.Fsa(ARCS, values), NUMBERS
    yield "set_scores_stochastic_", stochastic, SCORES
    yield "index_fsa", lambda indexes: k2.index_fsa(VECTOR, indexes), TWO
    yield "linear_fsa", k2.linear_fsa, np.array([5, 6], np.int32)
    yield "linear_fsa of lists", k2.linear_fsa, LABELS
    yield "linear_fst", lambda labels: k2.linear_fst(labels, labels), np.array([5, 6], np.int32)
    yield "ctc_graph", lambda row: k2.ctc_graph([row, row]), TWO
    yield "levenshtein_graph", lambda row: k2.levenshtein_graph([row]), TWO
    yield "levenshtein_alignment", lambda places: k2.levenshtein_alignment([[1], [2]], [[1], [1]], places), TWO - 1
    yield "intersect_device", lambda places: k2.intersect_device(VECTOR, VECTOR, places), np.array([0, 2, 1], np.int32)
    yield "convert_attr_to_ragged_", lambda values: ragged_attribute(values), NUMBERS
    topology = k2.ctc_topo(2)
    dense = lambda values=LOGITS, segments=None: k2.DenseFsaVec(values, segments)
    yield "DenseFsaVec", lambda values: k2.intersect_dense(topology, dense(values), 10.0), LOGITS
    yield "DenseFsaVec.scores", lambda values: dense(values).scores, LOGITS
    yield "convert_dense_to_fsa_vec", lambda values: k2.convert_dense_to_fsa_vec(dense(values)), LOGITS
    segments = np.array([[0, 0, 5], [1, 1, 3]], np.int32)
    yield "segments", lambda rows: k2.intersect_dense(topology, dense(segments=rows), 10.0), segments
    two = k2.create_fsa_vec([topology, topology])
    yield "a_to_b_map", lambda places: k2.intersect_dense(two, dense(), 10.0, a_to_b_map=places), TWO - 1
    yield "get_lattice", lambda values: k2.get_lattice(values, LENGTHS, topology), LOGITS
    yield "get_lattice lengths", lambda lengths: k2.get_lattice(LOGITS, lengths, topology), LENGTHS
    arcs = k2.Fsa.from_str(FSA).arcs
    yield "RaggedArc.from_tensor", RaggedArc.from_tensor, ARCS
    yield "with_scores", lambda scores: arcs.with_scores(scores), SCORES
    yield "with_labels", lambda labels: arcs.with_labels(labels), NUMBERS
    yield "fix_final_labels", lambda labels: arcs.fix_final_labels(labels), NUMBERS
    yield "RaggedArc.index", lambda rows: VECTOR.arcs.index(rows), TWO
    yield "to_str", lambda numbers: arcs.to_str({"numbers": numbers}, False), NUMBERS
    yield "RaggedArc.compose", lambda labels: arcs.compose(arcs, labels, None, True), np.array([1, 2, -1], np.int32)
    yield "nbest", lambda labels: VECTOR.arcs.nbest(labels, 4, 1.0), np.tile(NUMBERS, 3)
    gradient = lambda slopes: VECTOR.arcs.numbers("total", True)[1].backward(slopes)
    yield "ScoresSaved.backward", gradient, np.array([1, 2, 3], np.float64)


def changed(name, values):
    fsa = k2.Fsa(ARCS)
    setattr(fsa, name, values)
    return fsa, k2.arc_sort(fsa), k2.connect(fsa), fsa.to_str(), k2.create_fsa_vec([fsa, fsa])


def ragged_attribute(values):
    fsa = k2.Fsa(ARCS)
    fsa.numbers = values
    return fsa.convert_attr_to_ragged_("numbers")


def stochastic(scores):
    fsa = k2.Fsa(ARCS)
    fsa.set_scores_stochastic_(scores)
    return fsa


def recognition(folder):
    recognizer = kaldera.Recognizer(folder)
    yield "transcribe", lambda audio: recognizer.transcribe(audio, 16000), AUDIO
    yield "transcribe a list", lambda audio: recognizer.transcribe(audio, 16000), [AUDIO, AUDIO[:500]]
    by_channel = lambda audio: recognizer.transcribe(audio, 16000, channel=1)
    yield "transcribe channels first", by_channel, AUDIO.reshape(2, -1)
    yield "align", lambda audio: recognizer.align(audio, "yes", 16000), AUDIO

    def streamed(audio):
        stream = recognizer.stream()
        stream.accept_waveform(audio)
        return stream.partial(), stream.input_finished()

    yield "recogniser's stream", streamed, AUDIO

    def live(audio):
        live = kaldera.LiveRecognizer(recognizer)
        return live.accept_waveform(audio), live.partial(), live.input_finished()

    yield "live recogniser", live, AUDIO
    decoder = kaldera.Decoder(folder)
    yield "decode", decoder.decode, -np.abs(LOGITS[0])
    yield "align log-probabilities", lambda log_probs: decoder.align(log_probs, "yes"), -np.abs(LOGITS[0])


def tensors():
    """The same arrays as tensors, where PyTorch takes their strides and byte order."""
    torch = pytest.importorskip("torch")
    import kaldera.torch as kt

    of = torch.from_numpy
    yield "torch.ctc_loss", lambda x: kt.ctc_loss(of(x).transpose(0, 1), of(LABELS), of(LENGTHS), of(TWO)), LOGITS
    yield "torch.rnnt_loss", lambda x: kt.rnnt_loss(of(x), of(LABELS), [4, 4], [2, 2], blank=0), JOINED
    simple = lambda am, lm: kt.rnnt_loss_simple(of(lm), of(am), of(LABELS).long(), 0)
    yield "torch.rnnt_loss_simple", lambda am: simple(am, JOINED[:, 0].copy()), JOINED[:, :, 0].copy()
    yield "torch.rnnt_loss_simple lm", lambda lm: simple(JOINED[:, :, 0].copy().astype(lm.dtype), lm), JOINED[:, 0].copy()
    yield "torch.forced_align", lambda x: kt.forced_align(of(x), of(LABELS)), LOGITS
    px, py = (RNG.integers(-4, 0, shape).astype(np.float64) for shape in ((2, 2, 5), (2, 3, 4)))
    yield "mutual_information px", lambda x: kt.mutual_information_recursion(of(x), of(py.astype(x.dtype))), px
    yield "k2_ctc_loss", lambda x: kt.k2_ctc_loss(k2.ctc_graph([[1], [2]]), k2.DenseFsaVec(of(x))), LOGITS
    yield "torch scores", lambda x: changed("scores", of(x)), SCORES


def plain(result):
    """What can be compared with ==."""
    if isinstance(result, np.ndarray):
        return result.tolist()
    if isinstance(result, k2.Fsa):
        attributes = [(name, plain(value)) for name, value in result.named_tensor_attr()]
        return plain(result.arcs), attributes
    if isinstance(result, RaggedArc):
        return result.to_tensor().tolist()
    if isinstance(result, k2.RaggedTensor):
        return str(result.dtype), result.tolist()
    if isinstance(result, (tuple, list)):
        return [plain(item) for item in result]
    if isinstance(result, (kaldera.Transcript, kaldera.Segment)):
        return plain(list(vars(result).values()))
    if hasattr(result, "detach"):
        return result.detach().double().tolist()
    return str(result) if isinstance(result, k2.RaggedShape) else result


def numbers(result):
    """All numbers in what `plain` gives, and the number of bytes of files."""
    if isinstance(result, (tuple, list)):
        return [number for item in result for number in numbers(item)]
    return [result] if isinstance(result, (int, float)) else []


#: What messages of a conversion say that knows nothing of the call.
UNCLEAR = re.compile("cannot be converted|can't be converted|cannot be cast|PyArray|object has no attribute|contiguous")


class Calls:
    """Calls doors, and counts."""

    def __init__(self, folder):
        self.folder, self.number, self.errors = folder, 0, 0

    def __call__(self, call, value):
        self.number += 1
        try:
            takes_folder = call.__code__.co_varnames[1:2] == ("folder",) if hasattr(call, "__code__") else False
            return plain(call(value, self.folder) if takes_folder else call(value))
        except (ValueError, TypeError, IndexError) as error:
            self.errors += 1
            assert str(error) and not UNCLEAR.search(str(error)), f"an error that is not clear: {error}"
            return type(error)


def each_way(value):
    """Names, and values that are other in memory; of a list, its first array."""
    if isinstance(value, list):
        return [(name, [array, *value[1:]]) for name, array in layouts(value[0])]
    return list(layouts(value))


DOORS = [features, files, losses, ragged, automata, recognition, tensors]


@pytest.mark.parametrize("doors", DOORS, ids=lambda doors: doors.__name__)
def test_arrays_of_any_order_and_type_are_what_they_are_in_c_order(doors, model, tmp_path, capsys):
    calls = Calls(tmp_path)
    for name, call, base in doors(model) if doors is recognition else doors():
        own = base[0] if isinstance(base, list) else base
        expected = calls(call, base)
        assert not isinstance(expected, type), f"{name}: {expected} of the right type"
        for dtype in (own.dtype, "f8", "f4", "f2", "i2", "i4", "i8"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                of_type = own.astype(dtype)
                is_exact = np.array_equal(of_type.astype(own.dtype), own)
            values = [of_type, *base[1:]] if isinstance(base, list) else of_type
            in_c_order = calls(call, values)
            for how, other in each_way(values):
                # Of the right type all, of others those that differ in kind.
                if of_type.dtype != own.dtype and how not in ("Fortran", "strided", "big-endian Fortran"):
                    continue
                if doors is tensors and (how.startswith(("reversed", "big-endian", "read-only")) or of_type.dtype.kind != "f"):
                    continue
                found = calls(call, other)
                assert found == in_c_order, f"{name} of {dtype}, {how}"
            # Files keep the type.
            if doors is not files and is_exact and not isinstance(in_c_order, type):
                # Tensors give their own type.
                error = 1e-3 if doors is tensors and dtype == "f2" else 1e-4
                np.testing.assert_allclose(
                    numbers(in_c_order), numbers(expected), rtol=error, atol=error, err_msg=f"{name} of {dtype}"
                )
        empty = own[:0]
        assert calls(call, empty) == calls(call, np.asfortranarray(empty.astype(empty.dtype.newbyteorder(">")))), name
    with capsys.disabled():
        print(f"\n{doors.__name__}: {calls.number} calls, {calls.errors} errors", end=" ")


#: Public names without an array among their arguments, or with those of a function above.
NO_ARRAYS = """ErrorCounts FeatureStream Hypothesis KalderaWarning LazyTable LogMel Pitch Plp ReadHelper Recognizer
RecognizerStream
Segment Spectrogram Transcript __version__ count_errors find_recordings load_ark load_mat load_scp load_scp_sequential
parse_config presets read_audio wer
DeterminizeWeightPushingType Nbest SymbolTable add_epsilon_self_loops cat closure compose determinize
expand_ragged_attributes fsa_properties get_aux_labels intersect intersect_dense_pruned invert
linear_fsa_with_self_loops linear_fst_with_self_loops one_best_decoding properties_to_str prune_on_arc_post
random_paths remove_epsilon remove_epsilon_and_add_self_loops remove_epsilon_self_loops replace_fsa reverse
shortest_path to_dot to_str to_str_simple to_tensor top_sort trivial_graph union whole_lattice_rescoring""".split()


def test_every_public_name_with_an_array_is_a_door():
    text = pathlib.Path(__file__).read_text(encoding="utf-8")
    names = {*kaldera.__all__, *k2.__all__} - {*NO_ARRAYS}
    missing = [name for name in names if not re.search(rf"\b(kaldera|k2)\.{name}\b|\"{name}\"", text)]
    assert not missing, f"are there arrays among the arguments of {missing}?"


def test_eight_bit_audio_is_as_in_files_and_wide_integers_warn():
    samples = AUDIO // 256 * 256
    eight = (samples // 256 + 128).astype(np.uint8)
    np.testing.assert_array_equal(kaldera.fbank(eight), kaldera.fbank(samples))
    np.testing.assert_array_equal(
        kaldera.fbank(eight.reshape(-1, 2), channel="mean"), kaldera.fbank(samples.reshape(-1, 2), channel="mean")
    )
    wide = AUDIO.astype(np.int32) << 16
    with pytest.warns(UserWarning, match="scale=1/65536"):
        kaldera.fbank(wide)
    with pytest.warns(UserWarning, match="scale=1/65536"):
        kaldera.Fbank().stream().accept_waveform(wide)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled = kaldera.fbank(wide, scale=1 / 65536)
    np.testing.assert_array_equal(scaled, kaldera.fbank(AUDIO))
    with pytest.raises(ValueError, match="8-bit"):
        kaldera.fbank(eight, scale=256)


def test_channels_are_first_or_last_where_the_shape_tells():
    stereo = AUDIO.reshape(-1, 2)
    for channel in (0, 1, "mean"):
        np.testing.assert_array_equal(kaldera.fbank(stereo.T, channel=channel), kaldera.fbank(stereo, channel=channel))
    for one in (AUDIO[None], AUDIO[:, None]):
        np.testing.assert_array_equal(kaldera.fbank(one), kaldera.fbank(AUDIO))
    with pytest.raises(ValueError, match=r"\[2, 600\].*2 channels of 600 samples.*audio\[0\].*axis=0"):
        kaldera.fbank(stereo.T)
    with pytest.raises(ValueError, match=r"\[600, 2\].*2 channels of 600 samples.*audio\[:, 0\].*axis=1"):
        kaldera.fbank(stereo)
    with pytest.raises(ValueError, match=r"at most 256 channels.*\[300, 400\]"):
        kaldera.fbank(np.zeros((300, 400), np.int16), channel=0)
    with pytest.raises(ValueError, match=r"\[2, 200\], which may be"):
        kaldera.fbank(AUDIO[:400].reshape(2, 200), channel=0)
    with pytest.raises(ValueError, match="no channel 2 among its 2"):
        kaldera.fbank(stereo.T, channel=2)
    assert kaldera.fbank(np.zeros((0, 2), np.int16), channel=1).shape == (0, 23)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite_are_refused(value):
    samples = AUDIO.astype(np.float32)
    samples[1100] = value
    for call in (
        *(getattr(kaldera, kind) for kind in ("fbank", "mfcc", "plp", "spectrogram", "log_mel", "pitch")),
        *(kaldera.FrontEnd(preset).compute for preset in kaldera.presets()),
        kaldera.Fbank().stream().accept_waveform,
        lambda audio: kaldera.resample(audio, 16000, 8000),
        lambda audio: kaldera.resample(audio, 16000, 8000, method="kaldi"),
    ):
        with pytest.raises(ValueError, match="sample 1100 .*(NaN|inf)"):
            call(samples)


def test_what_is_no_audio_is_named():
    for value, message in [(None, "not NoneType"), (b"RIFF", "not bytes: read_audio"), (np.zeros(9, "c8"), "complex64")]:
        with pytest.raises(ValueError, match=message):
            kaldera.fbank(value)
