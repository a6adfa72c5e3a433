"""The part of the module that is Rust."""

from typing import Any, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

__version__: str

_Part = tuple[str, float, float, float | None, int]
_Guess = tuple[float, list[_Part], list[_Part]]
_Given = tuple[Any, int | str | None]
_Ranges = tuple[int, list[list[int]]]

class KalderaWarning(UserWarning):
    """What was wrong with a file and could be passed over, such as a damaged part."""

class FeatureExtractor:
    """Extracts one kind of features."""

    def __new__(
        cls, kind: str, preset_name: str | None, options: dict[str, Any], cmvn: str | None = None
    ) -> Self: ...
    @property
    def dim(self) -> int: ...
    @property
    def sample_rate(self) -> float: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def _compute(
        self, recording: _Given, sample_rate: float | None, key: str, vtln_warp: float, scale: float
    ) -> NDArray[np.float32]: ...
    def _compute_batch(
        self,
        recordings: Sequence[_Given],
        sample_rates: Sequence[float] | None,
        keys: Sequence[str] | None,
        vtln_warps: Sequence[float] | None,
        scale: float,
        threads: int | None,
        output: str,
        padding_value: float,
    ) -> Any: ...
    def stream(
        self, sample_rate: float | None = None, key: str = "", vtln_warp: float = 1.0
    ) -> FeatureStream: ...

def presets() -> list[tuple[str, str, str]]: ...

class FeatureStream:
    """Features while samples come: float32 rows, the same as of the whole recording."""

    @property
    def dim(self) -> int: ...
    @property
    def is_finished(self) -> bool: ...
    @property
    def num_frames_ready(self) -> int: ...
    def accept_waveform(self, audio: ArrayLike, scale: float = 1.0) -> None: ...
    def input_finished(self) -> None: ...
    def get_frames(self) -> NDArray[np.float32]: ...
    def save_state(self) -> bytes: ...
    def restore_state(self, state: bytes) -> None: ...

class ObjectReader:
    def __new__(cls, pipes: bool, kind: str = "auto", one_pass: bool = False) -> ObjectReader: ...
    def load(self, name: str) -> Any: ...
    def load_file(self, file: Any) -> Any: ...

class TableReader:
    def __new__(cls, rspecifier: str, pipes: bool, kind: str = "auto") -> TableReader: ...
    @staticmethod
    def of_file(file: Any, is_script: bool, pipes: bool, kind: str) -> TableReader: ...
    def __iter__(self) -> Iterator[tuple[str, Any]]: ...
    def __next__(self) -> tuple[str, Any]: ...
    def close(self) -> None: ...

class ObjectWriter:
    def __new__(
        cls, wspecifier: str, compression_method: int, pipes: bool, kind: str = "auto"
    ) -> ObjectWriter: ...
    @staticmethod
    def to_files(
        archive: Any, script: Any, text: bool, compression_method: int, kind: str = "auto"
    ) -> ObjectWriter: ...
    def write(self, key: str, value: Any) -> None: ...
    def close(self) -> None: ...

class RaggedArc:
    """The arcs of an FSA, ``[state][arc]``, or of a vector of FSAs, ``[fsa][state][arc]``.

    Algorithms return new arcs with an arc map: for each arc the one that it comes from or -1, int32
    ``[arcs]``, or a ``RaggedTensor`` with several for each; None where the arcs are the same.
    """

    @staticmethod
    def from_tensor(tensor: NDArray[np.int32]) -> RaggedArc:
        """From k2's int32 ``[arcs, 4]`` of one FSA, or from the flat tensor of a vector."""

    def to_tensor(self) -> NDArray[np.int32]:
        """k2's tensor, int32: ``[arcs, 4]``, or the flat one of a vector."""

    @staticmethod
    def from_str(
        text: str, label_names: Sequence[str], list_names: Sequence[str], openfst: bool = False
    ) -> tuple[RaggedArc, dict[str, Any]]:
        """Reads k2's text, or OpenFst's: the arcs, and the further labels by name."""

    def to_str(self, attributes: dict[str, Any], openfst: bool) -> str:
        """k2's text, or OpenFst's, of one FSA."""

    def to_dot(self, attributes: dict[str, Any], title: str) -> str:
        """A drawing for Graphviz."""

    def num_axes(self) -> int:
        """2 of one FSA, 3 of a vector."""

    def dim0(self) -> int:
        """How many states one FSA has, or how many FSAs a vector."""

    def num_states(self) -> int:
        """How many states there are in all FSAs."""

    def num_elements(self) -> int:
        """How many arcs there are in all FSAs."""

    def shape(self) -> RaggedShape:
        """The lists of arcs."""

    def values(self) -> NDArray[np.int32]:
        """Source, destination, label and the bits of the score of each arc: int32 ``[arcs, 4]``."""

    def labels(self) -> NDArray[np.int32]:
        """The label of each arc: int32 ``[arcs]``."""

    def scores(self) -> NDArray[np.float32]:
        """The score of each arc: float32 ``[arcs]``."""

    def properties(self) -> int:
        """k2's property bits."""

    def with_scores(self, scores: NDArray[np.float32]) -> RaggedArc:
        """The same with other scores, float32 ``[arcs]``."""

    def with_labels(self, labels: NDArray[np.int32]) -> RaggedArc:
        """The same with other labels, int32 ``[arcs]``; -1 goes to arcs into the final state, and only there."""

    def fix_final_labels(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Labels with -1 on the arcs into the final state, and only there: int32 ``[arcs]``."""

    def scores_stochastic(self) -> NDArray[np.float32]:
        """Scores of which those that leave a state sum to 1 after exponentiation: float32 ``[arcs]``."""

    def index(self, indexes: Sequence[int]) -> tuple[RaggedArc, Any]:
        """Some FSAs of a vector."""

    def get(self, i: int) -> tuple[RaggedArc, int, int]:
        """One FSA of a vector, its first arc, and that after its last one."""

    def arc_sort(self) -> tuple[RaggedArc, Any]:
        """Arcs of each state in the order of their labels."""

    def connect(self) -> tuple[RaggedArc, Any]:
        """The states on a path from the start to the final state."""

    def top_sort(self) -> tuple[RaggedArc, Any]:
        """States in topological order."""

    def reverse(self) -> tuple[RaggedArc, Any]:
        """What reads all strings backwards."""

    def closure(self) -> tuple[RaggedArc, Any]:
        """What reads any number of strings in a row."""

    def add_epsilon_self_loops(self) -> tuple[RaggedArc, Any]:
        """A self-loop of label 0 at each state but the final one."""

    def remove_epsilon_self_loops(self) -> tuple[RaggedArc, Any]:
        """Without self-loops of label 0."""

    def remove_epsilon(self) -> tuple[RaggedArc, Any]:
        """Without arcs of label 0."""

    def remove_epsilon_and_add_self_loops(self) -> tuple[RaggedArc, Any]:
        """Without arcs of label 0, except self-loops."""

    def shortest_path(self) -> tuple[RaggedArc, Any]:
        """The best path of each FSA."""

    def prune_on_arc_post(self, threshold: float) -> tuple[RaggedArc, Any]:
        """Without arcs over which less than this share of all paths goes."""

    def determinize(self, weight_pushing: str) -> tuple[RaggedArc, Any]:
        """At most one arc of each label from a state."""

    def union(self) -> tuple[RaggedArc, Any]:
        """One FSA of all in a vector."""

    def expand(self, lists: Sequence[RaggedTensor]) -> tuple[RaggedArc, Any, list[NDArray[np.int32]]]:
        """Chains in place of arcs with lists: the arcs, their map, and one number of each list for each arc."""

    def intersect(self, other: RaggedArc, treat_epsilons_specially: bool) -> tuple[RaggedArc, Any, Any]:
        """What both read, with both arc maps."""

    def intersect_device(self, other: RaggedArc, b_to_a_map: Sequence[int]) -> tuple[RaggedArc, Any, Any]:
        """Each FSA of ``other`` with the one here that the map names, with both arc maps."""

    def replace_fsa(self, src: RaggedArc, first_symbol: int) -> tuple[RaggedArc, Any, Any]:
        """FSAs of ``src`` in place of labels, with both arc maps."""

    def compose(
        self, other: RaggedArc, aux_labels: Any, others_aux_labels: Any, treat_epsilons_specially: bool
    ) -> tuple[RaggedArc, list[Any]]:
        """The composition: arcs; both arc maps, the output labels, and those on which both met."""

    def random_paths(self, num_paths: int) -> RaggedTensor:
        """The arcs of paths: int32 ``[fsa][path][arc]``."""

    def nbest(self, aux_labels: Any, num_paths: int, scale: float) -> tuple[RaggedArc, Any, RaggedShape]:
        """Linear FSAs of paths with different words, their arc map, and ``[fsa][path]``."""

    def numbers(self, what: str, log_semiring: bool) -> tuple[NDArray[np.float64], ScoresSaved]:
        """Scores ``total`` of FSAs, ``forward`` or ``backward`` of states, ``posterior`` of arcs."""

    def to_bytes(self) -> bytes:
        """The arrays, as a ``.npz`` file."""

    @staticmethod
    def from_bytes(bytes: bytes) -> RaggedArc:
        """Arcs from what ``to_bytes`` has made."""

class ScoresSaved:
    """What the gradient of scores needs."""

    def backward(self, grad: NDArray[np.float64]) -> NDArray[np.float64]:
        """The gradient by the score of each arc, ``[arcs]``, from that by each number."""

class RaggedShape:
    """The rows of lists of lists, of any depth, without what they hold, as k2 has it.

    Made of k2's text, such as ``[ [ x x ] [ x ] ]``. Axis 0 counts the outermost rows.
    """

    def __new__(cls, text: str) -> RaggedShape: ...
    @staticmethod
    def from_row_splits(row_splits: Sequence[Sequence[int]]) -> RaggedShape:
        """From where the rows of each axis but the first end."""

    @staticmethod
    def from_row_ids(row_ids: Sequence[int]) -> RaggedShape:
        """From the row of each element, which may not fall."""

    @staticmethod
    def regular_ragged_shape(dim0: int, dim1: int) -> RaggedShape:
        """``dim0`` rows of ``dim1`` elements."""

    @property
    def num_axes(self) -> int:
        """How many axes: 2 for lists."""

    @property
    def dim0(self) -> int:
        """How many rows axis 0 has."""

    def numel(self) -> int:
        """How many elements the last axis has."""

    def tot_size(self, axis: int) -> int:
        """How many elements an axis has, over all rows."""

    def tot_sizes(self) -> list[int]:
        """How many elements each axis has."""

    def max_size(self, axis: int) -> int:
        """How many elements the longest row of an axis has."""

    def row_splits(self, axis: int) -> NDArray[np.int32]:
        """Where each row of an axis begins, and the end: int32 ``[rows + 1]``."""

    def row_ids(self, axis: int) -> NDArray[np.int32]:
        """The row of each element of an axis: int32 ``[elements]``."""

    def to(self, device: Any) -> RaggedShape:
        """The same: computations are on the CPU."""

    @property
    def device(self) -> str:
        """``"cpu"``."""

    def get_layer(self, layer: int) -> RaggedShape:
        """The two axes ``layer`` and ``layer + 1``."""

    def remove_axis(self, axis: int) -> RaggedShape:
        """Without an axis: the rows of axis 0 one after the other, or inner lists joined."""

    def compose(self, other: RaggedShape) -> RaggedShape:
        """With the axes of ``other``, whose rows are this one's elements."""

    def index(
        self, axis: int, indexes: Sequence[int], need_value_indexes: bool = True
    ) -> tuple[RaggedShape, NDArray[np.int32] | None]:
        """The rows of an axis at ``indexes``, and which elements they have: int32 ``[elements]``."""

    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> RaggedShape: ...

class RaggedTensor:
    """A list of lists, of any depth, with rows of any length, as k2 has it.

    Made of a list of lists, of k2's text, of an array with two axes or more, or of a ``RaggedShape``
    and its values; values are int32, float32 or float64. Sums and the like are over the innermost
    rows, one number for each. ``numpy.from_dlpack`` and ``torch.from_dlpack`` take the values. Only
    ``sort_`` changes a tensor.
    """

    def __new__(cls, data: Any, dtype: Any = None, device: Any = None, *, value: Any = None) -> RaggedTensor: ...
    @staticmethod
    def from_row_splits(row_splits: Sequence[Sequence[int]], values: NDArray[Any]) -> RaggedTensor:
        """From where the rows of each axis but the first end, and the values, ``[numel]``."""

    @property
    def dtype(self) -> str:
        """The name of the type of the values."""

    def to(self, dtype: Any) -> RaggedTensor:
        """The same numbers of another type; what it can't hold is a ``ValueError``."""

    def clone(self) -> RaggedTensor:
        """A copy."""

    @property
    def device(self) -> str:
        """``"cpu"``."""

    @property
    def is_cuda(self) -> bool:
        """False."""

    @property
    def shape(self) -> RaggedShape:
        """The rows without their values."""

    @property
    def num_axes(self) -> int:
        """How many axes: 2 for a list of lists."""

    @property
    def dim0(self) -> int:
        """How many rows axis 0 has."""

    def numel(self) -> int:
        """How many values there are."""

    def tot_size(self, axis: int) -> int:
        """How many elements an axis has, over all rows."""

    def __len__(self) -> int: ...
    @property
    def values(self) -> NDArray[Any]:
        """All values, a copy: ``[numel]``."""

    def to_str_simple(self) -> str:
        """``str(tensor)`` in one line."""

    def __getitem__(self, i: Any) -> Any: ...
    def index(self, indexes: Any, axis: int = 0, need_value_indexes: bool = False) -> Any:
        """The rows of an axis at ``indexes``, int32 ``[rows]``, and which values they have, int32
        ``[numel]`` or None; of a ``RaggedTensor`` of indexes one tensor alone, with one axis more."""

    def arange(self, axis: int, begin: int, end: int) -> RaggedTensor:
        """The rows of an axis from ``begin`` to before ``end``."""

    def remove_axis(self, axis: int) -> RaggedTensor:
        """Without an axis: the rows of axis 0 one after the other, or inner lists joined."""

    def remove_values_eq(self, target: float) -> RaggedTensor:
        """Without the values that equal ``target``."""

    def remove_values_leq(self, cutoff: float) -> RaggedTensor:
        """Without the values that are ``cutoff`` or less."""

    def add(self, value: Any, alpha: float) -> RaggedTensor:
        """The values of each innermost row and ``alpha`` times the row's of ``value``, ``[rows]``, of the same type."""

    def sum(self, initial_value: float = 0) -> NDArray[Any]:
        """The sum of each innermost row and ``initial_value``: ``[rows]``."""

    def max(self, initial_value: float | None = None) -> NDArray[Any]:
        """The highest value of each innermost row, ``[rows]``, ``initial_value`` if that is higher; without
        one, the lowest number of an empty row."""

    def min(self, initial_value: float | None = None) -> NDArray[Any]:
        """The lowest value of each innermost row, ``[rows]``, ``initial_value`` if that is lower; without
        one, the highest number of an empty row."""

    def argmax(self, initial_value: float | None = None) -> NDArray[np.int32]:
        """Where the highest value of each innermost row is among all values, int32 ``[rows]``, the last of
        several; -1 of an empty row, and where all are below ``initial_value``."""

    def logsumexp(self, initial_value: float = ...) -> NDArray[Any]:
        """The logarithm of the sum of exponentials of each innermost row and of ``initial_value``, -inf unless it
        is set: ``[rows]``."""

    def normalize(self, use_log: bool) -> RaggedTensor:
        """Innermost rows that sum to 1, or whose exponentials do."""

    def sort_(self, descending: bool = False, need_new2old_indexes: bool = False) -> NDArray[np.int32] | None:
        """Sorts each innermost row, in place; equal values keep their order. With
        ``need_new2old_indexes`` where each value was: int32 ``[numel]``. A ``RuntimeError`` while another
        thread computes with the tensor."""

    @staticmethod
    def cat(srcs: Sequence[RaggedTensor], axis: int) -> RaggedTensor:
        """Tensors of one type joined along an axis."""

    def unique(
        self, need_num_repeats: bool = False, need_new2old_indexes: bool = False
    ) -> tuple[RaggedTensor, RaggedTensor | None, NDArray[np.int32] | None]:
        """The different innermost rows of each list of them, each where it came first; how often each
        was there, and where among all, int32 ``[rows]``."""

    def pad(self, mode: str = "constant", padding_value: float = 0.0) -> NDArray[Any]:
        """Innermost rows of the same length, ``[rows, longest]``, filled up with ``padding_value``, or with
        their last value where ``mode`` is ``"replicate"``."""

    def tolist(self) -> list[Any]:
        """The lists of lists."""

class LossSaved:
    def backward(self, grad: Sequence[float], threads: int | None) -> list[NDArray[Any]]: ...
    def occupations(self, symbols: int, frames: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

class Decoder:
    def __new__(cls, folder: Any, options: str) -> Self: ...
    @property
    def tokens(self) -> list[str]: ...
    def _decode(self, log_probs: NDArray[np.float32], key: str) -> list[_Guess]: ...
    def _align(self, log_probs: NDArray[np.float32], key: str, transcript: str) -> list[_Part]: ...

class Recognizer:
    def __new__(cls, folder: Any, options: str) -> Self: ...
    @property
    def sample_rate(self) -> float: ...
    @property
    def tokens(self) -> list[str]: ...
    def _transcribe(
        self,
        recordings: Sequence[_Given],
        rates: Sequence[float],
        keys: Sequence[str],
        scale: float,
        threads: int | None,
    ) -> list[list[_Guess]]: ...
    def _align(self, recording: _Given, rate: float, key: str, scale: float, transcript: str) -> list[_Part]: ...
    def _stream(self, key: str, rate: float) -> RecognizerStream: ...
    def _live(self, rate: float) -> LiveRecognizer: ...

class LiveRecognizer:
    def _accept(
        self, samples: ArrayLike, scale: float
    ) -> tuple[list[tuple[str, list[_Guess]]], tuple[str, list[_Guess]] | None]: ...
    def _finish(self) -> tuple[str, list[_Guess]] | None: ...

class RecognizerStream:
    def _accept(self, samples: ArrayLike, scale: float) -> None: ...
    def _partial(self) -> list[_Guess]: ...
    def _finish(self) -> list[_Guess]: ...

def read_scp(source: Any, pipes: bool) -> dict[str, str]: ...
def save_object(path: Any, value: Any, compression_method: int, kind: str = "auto") -> None: ...
def read_audio(
    source: Any,
    allow_truncated: bool,
    channel: int | str | None = None,
    sample_rate: float | None = None,
    as_floats: bool = False,
) -> tuple[NDArray[Any], int | float]: ...
def list_recordings(folder: str) -> list[tuple[str, str]]: ...
def read_segments(name: str, pipes: bool) -> list[tuple[str, str, float, float | None, int | None]]: ...
def add_deltas(features: NDArray[np.float32], options: dict[str, Any]) -> NDArray[np.float32]: ...
def splice(features: NDArray[np.float32], left: int, right: int) -> NDArray[np.float32]: ...
def sliding_cmvn(features: NDArray[np.float32], options: dict[str, Any]) -> NDArray[np.float32]: ...
def cmvn_stats(features: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]: ...
def apply_cmvn(
    features: NDArray[np.float32], stats: NDArray[np.float64], norm_vars: bool, reverse: bool
) -> NDArray[np.float32]: ...
def vad(features: NDArray[np.float32], options: dict[str, Any]) -> NDArray[np.bool_]: ...
def process_pitch(pitch: NDArray[np.float32], key: str, options: dict[str, Any]) -> NDArray[np.float32]: ...
def resample(audio: ArrayLike, from_rate: float, to_rate: float, method: str) -> NDArray[np.float32]: ...
def ctc_loss(
    logits: NDArray[Any],
    lengths: Sequence[int],
    labels: Sequence[Sequence[int]],
    blank: int,
    reduction_name: str,
    zero_infinity: bool,
    threads: int | None,
) -> tuple[NDArray[np.float64], LossSaved]: ...
def rnnt_loss(
    logits: NDArray[Any],
    lengths: Sequence[int],
    labels: Sequence[Sequence[int]],
    ranges: _Ranges | None,
    blank: int,
    rnnt_type: str,
    delay_penalty: float,
    clamp: float | None,
    reduction_name: str,
    threads: int | None,
) -> tuple[NDArray[np.float64], LossSaved]: ...
def rnnt_loss_simple(
    am: NDArray[Any],
    lm: NDArray[Any],
    lengths: Sequence[int],
    labels: Sequence[Sequence[int]],
    scales: tuple[float, float],
    blank: int,
    rnnt_type: str,
    delay_penalty: float,
    reduction_name: str,
    threads: int | None,
) -> tuple[NDArray[np.float64], LossSaved]: ...
def forced_align(
    log_probs: NDArray[np.float32], lengths: Sequence[int], labels: Sequence[Sequence[int]], blank: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]: ...
def count_errors(
    references: Sequence[str], hypotheses: Sequence[str], characters: bool
) -> tuple[int, int, int, int]: ...
def mutual_information_recursion(
    px: NDArray[np.float64], py_: NDArray[np.float64], boundary: Sequence[Sequence[int]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def get_rnnt_prune_ranges(
    px: NDArray[np.float64], py_: NDArray[np.float64], boundary: Sequence[Sequence[int]], s_range: int
) -> _Ranges: ...
def cat_arcs(arcs: Sequence[RaggedArc]) -> RaggedArc: ...
def fsa_properties() -> dict[str, int]:
    """The bits of ``RaggedArc.properties`` by k2's names, from the lowest."""

def linear_fsa(labels: Any) -> RaggedArc: ...
def ctc_topo(max_token: int, modified: bool) -> tuple[RaggedArc, dict[str, Any]]: ...
def ctc_graph(symbols: RaggedTensor, modified: bool) -> tuple[RaggedArc, dict[str, Any]]: ...
def trivial_graph(max_token: int) -> tuple[RaggedArc, dict[str, Any]]: ...
def levenshtein_graph(symbols: RaggedTensor, ins_del_score: float) -> tuple[RaggedArc, dict[str, Any]]: ...
def levenshtein_alignment(
    refs: RaggedTensor, hyps: RaggedTensor, hyp_to_ref: Sequence[int]
) -> tuple[RaggedArc, dict[str, Any]]: ...
def intersect_dense(
    arcs: RaggedArc,
    log_probs: NDArray[np.float32],
    segments: Sequence[Sequence[int]],
    allow_truncate: int,
    search_beam: float | None,
    output_beam: float,
    min_active_states: int,
    max_active_states: int,
    allow_partial: bool,
) -> tuple[RaggedArc, list[NDArray[np.int32]], NDArray[np.int64]]: ...
def ctc_loss_graph(
    arcs: RaggedArc,
    attributes: dict[str, Any],
    log_probs: NDArray[np.float32],
    segments: Sequence[Sequence[int]],
    allow_truncate: int,
    output_beam: float,
    delay_penalty: float,
) -> tuple[NDArray[np.float64], LossSaved]: ...
def ragged_cat(tensors: list[RaggedTensor], axis: int) -> RaggedTensor: ...
def index_lists(values: NDArray[Any], indexes: RaggedTensor, default: int) -> RaggedTensor: ...
def index_and_sum(values: NDArray[Any], indexes: RaggedTensor) -> NDArray[Any]: ...
