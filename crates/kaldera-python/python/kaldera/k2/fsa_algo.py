"""k2's algorithms. Results are new FSAs, or the FSA itself where nothing changes, with the attributes
of the arcs, and with gradients where the scores have them."""

from __future__ import annotations

import enum
from typing import Any, Sequence

from .. import _kaldera
from .._kaldera import RaggedTensor
from . import fsa_properties
from ._arrays import check_cpu, index_and_sum, int32_of, is_tensor, like, numpy_of
from .dense_fsa_vec import DenseFsaVec
from .fsa import Fsa, _followed, _scores_of, concatenated, followed, met


class DeterminizeWeightPushingType(str, enum.Enum):
    """How :func:`determinize` moves scores towards the start."""

    #: Not at all.
    kNoWeightPushing = "kNoWeightPushing"
    #: By the best score to the end.
    kTropicalWeightPushing = "kTropicalWeightPushing"
    #: By the logarithm of the sum over all paths to the end.
    kLogWeightPushing = "kLogWeightPushing"


def _lists(symbols: Any) -> RaggedTensor:
    """Lists of integers, from a ``RaggedTensor`` or lists; of an empty one, no lists."""
    if isinstance(symbols, RaggedTensor):
        return symbols
    rows = [numpy_of(row).tolist() if hasattr(row, "__array__") else list(row) for row in symbols]
    return RaggedTensor(rows, "int32")


def _arc_map(arc_map: Any, fsa: Fsa) -> Any:
    """An arc map as users get it."""
    import numpy as np

    arc_map = np.arange(fsa.num_arcs, dtype=np.int32) if arc_map is None else arc_map
    return like(arc_map, fsa._scores)


def create_fsa_vec(fsas: Sequence[Fsa]) -> Fsa:
    """A vector of single FSAs, with the attributes that all of them have.

    >>> create_fsa_vec([linear_fsa([1, 2]), linear_fsa([3])]).shape
    (2, None, None)
    """
    fsas = list(fsas)
    for i, fsa in enumerate(fsas):
        if len(fsa.shape) != 2:
            raise ValueError(f"element {i} is a vector of FSAs, and no FSA")
    return concatenated(fsas)


def cat(srcs: Sequence[Any], axis: int = 0) -> Any:
    """One vector of all FSAs of some vectors, with the attributes that all have; of ragged tensors,
    one tensor, joined along an axis."""
    srcs = list(srcs)
    if srcs and isinstance(srcs[0], RaggedTensor):
        return _kaldera.ragged_cat(srcs, axis)
    for i, src in enumerate(srcs):
        if len(src.shape) != 3:
            raise ValueError(f"element {i} is one FSA, and no vector")
    return concatenated(srcs)


def index_fsa(src: Fsa, indexes: Any) -> Fsa:
    """The FSAs of a vector at ``indexes``, int32 ``[fsas]``; one may come several times."""
    arcs, arc_map = src.arcs.index(int32_of(indexes, "indexes"))
    return followed(src, arcs, arc_map)


def linear_fsa(labels: Any, device: Any = None) -> Fsa:
    """An FSA that reads the labels; of lists of them or a ``RaggedTensor``, a vector of one for each.

    >>> linear_fsa([5, 6]).labels.tolist()
    [5, 6, -1]

    ``device`` is the CPU.
    """
    check_cpu(device)
    if not isinstance(labels, RaggedTensor) and hasattr(labels, "tolist"):
        labels = labels.tolist()
    return Fsa(_kaldera.linear_fsa(labels))


def linear_fst(labels: Any, aux_labels: Any) -> Fsa:
    """A transducer that reads the labels and writes the output labels, as many; of lists of them, a
    vector."""
    import numpy as np

    fsa = linear_fsa(labels)
    several = len(fsa.shape) == 3
    written = _lists(aux_labels) if several else _lists([aux_labels])
    read = fsa.arcs.shape().remove_axis(1) if several else None
    lengths = [fsa.num_arcs - 1] if read is None else (np.diff(read.row_splits(1)) - 1).tolist()
    if np.diff(written.shape.row_splits(1)).tolist() != lengths:
        raise ValueError(f"there are {lengths} labels, and {np.diff(written.shape.row_splits(1)).tolist()} output labels")
    rows = [[*row, -1] for row in written.tolist()]
    fsa.aux_labels = np.array([label for row in rows for label in row], np.int32)
    return fsa


def _lists_of_labels(fsas: Fsa) -> RaggedTensor:
    """The labels above 0 of each FSA."""
    shape = fsas.arcs.shape()
    if len(fsas.shape) == 2:
        shape = _kaldera.RaggedShape.regular_ragged_shape(1, shape.dim0).compose(shape)
    return RaggedTensor(shape.remove_axis(1), fsas.arcs.labels()).remove_values_leq(0)


def linear_fsa_with_self_loops(fsas: Fsa) -> Fsa:
    """Linear FSAs of the labels above 0 of linear FSAs, with a self-loop of label 0 at each state but the
    final one; scores are 0, and there are no attributes.

    >>> linear_fsa_with_self_loops(Fsa.from_str("0 1 1 5\\n1 2 0 5\\n2 3 -1 5\\n3")).labels.tolist()
    [0, 1, 0, -1]
    """
    made = add_epsilon_self_loops(linear_fsa(_lists_of_labels(fsas)))
    return made[0] if len(fsas.shape) == 2 else made


def linear_fst_with_self_loops(fsts: Fsa) -> Fsa:
    """As :func:`linear_fsa_with_self_loops` of transducers: each arc has the sum of the scores, with
    their gradients, and the list of the output labels above 0, of the arcs of label 0 before it and its own."""
    import numpy as np

    if "aux_labels" not in fsts._tensor_attr:
        raise ValueError("linear_fst_with_self_loops is for transducers, and these have no aux_labels")
    labels, aux_labels = fsts.arcs.labels(), fsts.aux_labels
    begins = np.concatenate([[1], labels[:-1] != 0])[: len(labels)]
    shape = _kaldera.RaggedShape.from_row_ids((np.cumsum(begins) - 1).astype(np.int32))
    made = linear_fsa(_lists_of_labels(fsts))
    if made.num_arcs != shape.dim0:
        raise ValueError("linear_fst_with_self_loops is for linear FSTs, and these are not linear")
    if isinstance(aux_labels, RaggedTensor):
        made.aux_labels = RaggedTensor(shape.compose(aux_labels.shape).remove_axis(1), aux_labels.values)
    else:
        made.aux_labels = RaggedTensor(shape, int32_of(aux_labels, "aux_labels"))
    made.aux_labels = made.aux_labels.remove_values_leq(0)
    made.scores = index_and_sum(fsts.scores, RaggedTensor(shape, np.arange(len(labels), dtype=np.int32)))
    made = add_epsilon_self_loops(made)
    return made[0] if len(fsts.shape) == 2 else made


def ctc_topo(max_token: int, modified: bool = False, device: Any = None) -> Fsa:
    """CTC's topology over the blank 0 and the tokens 1 to ``max_token``; ``modified`` needs no blank
    between two tokens that are the same. ``device`` is the CPU."""
    check_cpu(device)
    return Fsa._of(*_kaldera.ctc_topo(max_token, modified))


def ctc_graph(symbols: Any, modified: bool = False, device: Any = None) -> Fsa:
    """All that CTC reads as each list of symbols: a vector of one FSA for each list. ``device`` is the CPU."""
    check_cpu(device)
    return Fsa._of(*_kaldera.ctc_graph(_lists(symbols), modified))


def trivial_graph(max_token: int, device: Any = None) -> Fsa:
    """One state that reads and writes each token from 1 to ``max_token``. ``device`` is the CPU."""
    check_cpu(device)
    return Fsa._of(*_kaldera.trivial_graph(max_token))


def levenshtein_graph(symbols: Any, ins_del_score: float = -0.501, device: Any = None) -> Fsa:
    """Graphs of all edits of each list: the best path of the intersection of two of them
    (``treat_epsilons_specially=False``) has minus their edit distance as its score, and
    ``ins_del_score + 0.5`` for each insertion and deletion. Both have ``aux_labels``, the symbols: those
    of one are deleted or renamed first. ``device`` is the CPU."""
    check_cpu(device)
    return Fsa._of(*_kaldera.levenshtein_graph(_lists(symbols), ins_del_score))


def levenshtein_alignment(refs: Any, hyps: Any, hyp_to_ref_map: Any, sorted_match_ref: bool = False) -> Fsa:
    """The best alignment of each hypothesis with the reference that the map names, linear FSAs.

    ``refs`` and ``hyps`` are vectors of Levenshtein graphs, or the lists that they were made of.
    Labels are 0 where the two differ, scores 0 or -1; ``ref_labels`` and ``hyp_labels`` are what each
    has there, 0 for nothing. ``sorted_match_ref`` changes nothing here.
    """
    del sorted_match_ref
    # Lists are those that Levenshtein graphs were made of.
    refs, hyps = (_lists_of_labels(side) if isinstance(side, Fsa) else _lists(side) for side in (refs, hyps))
    return Fsa._of(*_kaldera.levenshtein_alignment(refs, hyps, int32_of(hyp_to_ref_map, "hyp_to_ref_map")))


def arc_sort(fsa: Fsa, ret_arc_map: bool = False) -> Any:
    """Arcs of each state in the order of their labels; with ``ret_arc_map`` and the arc map."""
    arcs, arc_map = fsa.arcs.arc_sort()
    made = followed(fsa, arcs, arc_map)
    return (made, _arc_map(arc_map, fsa)) if ret_arc_map else made


def connect(fsa: Fsa) -> Fsa:
    """The states on a path from the start to the final state."""
    return followed(fsa, *fsa.arcs.connect())


def top_sort(fsa: Fsa) -> Fsa:
    """States in topological order; only self-loops may lead back."""
    return followed(fsa, *fsa.arcs.top_sort())


def add_epsilon_self_loops(fsa: Fsa, ret_arc_map: bool = False) -> Any:
    """A self-loop of label 0 at each state except the final one; with ``ret_arc_map`` and the arc map."""
    arcs, arc_map = fsa.arcs.add_epsilon_self_loops()
    made = followed(fsa, arcs, arc_map)
    return (made, _arc_map(arc_map, fsa)) if ret_arc_map else made


def remove_epsilon_self_loops(fsa: Fsa) -> Fsa:
    """Without self-loops of label 0."""
    return followed(fsa, *fsa.arcs.remove_epsilon_self_loops())


def remove_epsilon(fsa: Fsa) -> Fsa:
    """The same strings with the same best scores, without arcs of label 0; integer attributes become lists."""
    return followed(fsa, *fsa.arcs.remove_epsilon())


def remove_epsilon_and_add_self_loops(fsa: Fsa, remove_filler: bool = True) -> Fsa:
    """:func:`remove_epsilon`, then :func:`add_epsilon_self_loops`; ``remove_filler=False`` keeps
    fillers in the lists. Without arcs of label 0, only the second, and attributes stay what they are."""
    if fsa.properties & fsa_properties.EPSILON_FREE:
        return add_epsilon_self_loops(fsa)
    return followed(fsa, *fsa.arcs.remove_epsilon_and_add_self_loops(), remove_filler=remove_filler)


def determinize(fsa: Fsa, weight_pushing_type: str = DeterminizeWeightPushingType.kNoWeightPushing) -> Fsa:
    """At most one arc of each label from a state; label 0 is a label as others. Integer attributes
    become lists. It must be connected.

    ``weight_pushing_type`` is a :class:`DeterminizeWeightPushingType` or its name. Gradients of scores are those without pushing.
    """
    return followed(fsa, *fsa.arcs.determinize(weight_pushing_type))


def _with_final_aux_labels(fsa: Fsa) -> Fsa:
    """With output label -1 on arcs into the final state, and only there."""
    aux_labels = fsa._tensor_attr.get("aux_labels")
    if aux_labels is not None and not isinstance(aux_labels, RaggedTensor):
        fsa._tensor_attr["aux_labels"] = fsa.arcs.fix_final_labels(int32_of(aux_labels, "aux_labels"))
    return fsa


def closure(fsa: Fsa) -> Fsa:
    """What reads any number of strings in a row."""
    return _with_final_aux_labels(followed(fsa, *fsa.arcs.closure()))


def reverse(fsa: Fsa) -> Fsa:
    """What reads all strings backwards."""
    return _with_final_aux_labels(followed(fsa, *fsa.arcs.reverse()))


def union(fsas: Fsa) -> Fsa:
    """One FSA that reads what any FSA of a vector reads."""
    return followed(fsas, *fsas.arcs.union())


def expand_ragged_attributes(
    fsas: Fsa, ret_arc_map: bool = False, ragged_attribute_names: Sequence[str] | None = None
) -> Any:
    """Chains of arcs in place of those with lists, all lists or those named, so that each arc has one
    number; with ``ret_arc_map`` and the arc map."""
    names = ragged_attribute_names
    if names is None:
        names = [name for name, value in fsas._tensor_attr.items() if isinstance(value, RaggedTensor)]
    if not names:
        return (fsas, _arc_map(None, fsas)) if ret_arc_map else fsas
    lists = [getattr(fsas, name) for name in names]
    arcs, arc_map, labels = fsas.arcs.expand(lists)
    made = Fsa(arcs)
    for name, value in fsas._tensor_attr.items():
        if name not in names:
            made._tensor_attr[name] = _followed(value, arc_map, fsas.get_filler(name))
    made._tensor_attr.update(zip(names, labels))
    made._non_tensor_attr.update(fsas._non_tensor_attr)
    _scores_of(made, [(fsas._scores, arc_map)])
    made = _with_final_aux_labels(made)
    return (made, _arc_map(arc_map, made)) if ret_arc_map else made


def invert(fsa: Fsa, ret_arc_map: bool = False) -> Any:
    """Labels and output labels exchanged; lists of output labels first become chains of arcs. With
    ``ret_arc_map`` and the arc map."""
    if "aux_labels" not in fsa._tensor_attr:
        raise ValueError("an acceptor, without aux_labels, can't be inverted")
    arc_map = None
    if isinstance(fsa.aux_labels, RaggedTensor):
        fsa, arc_map = expand_ragged_attributes(fsa, True, ["aux_labels"])
    # Nothing of the result is shared with what it is made of.
    fsa = fsa.clone()
    arcs = fsa.arcs
    made = Fsa(arcs.with_labels(int32_of(fsa.aux_labels, "aux_labels")))
    made._tensor_attr.update(fsa._tensor_attr)
    made._tensor_attr["aux_labels"] = made._arcs.fix_final_labels(arcs.labels())
    for name, value in fsa._non_tensor_attr.items():
        if name.startswith("aux_labels"):
            name = name[len("aux_") :]
        elif name.startswith("labels"):
            name = f"aux_{name}"
        made._non_tensor_attr[name] = value
    if is_tensor(fsa._scores):
        made._keep_scores(fsa._scores)
    return (made, _arc_map(arc_map, fsa)) if ret_arc_map else made


def intersect(a_fsa: Fsa, b_fsa: Fsa, treat_epsilons_specially: bool = True, ret_arc_maps: bool = False) -> Any:
    """What both read: FSAs at the same place meet, a single one meets each of several. Label 0 is
    epsilon, or a symbol with ``treat_epsilons_specially=False``. With ``ret_arc_maps`` and both arc
    maps. States may lead nowhere: see :func:`connect`."""
    arcs, map_a, map_b = a_fsa.arcs.intersect(b_fsa.arcs, treat_epsilons_specially)
    made = met(a_fsa, b_fsa, arcs, map_a, map_b)
    return (made, like(map_a, made._scores), like(map_b, made._scores)) if ret_arc_maps else made


def intersect_device(
    a_fsas: Fsa, b_fsas: Fsa, b_to_a_map: Any, sorted_match_a: bool = False, ret_arc_maps: bool = False
) -> Any:
    """Each FSA of ``b_fsas`` with that of ``a_fsas`` which the map names, int32 ``[fsas of b_fsas]``;
    label 0 is a symbol. With ``ret_arc_maps`` and both arc maps. ``sorted_match_a`` changes nothing
    here: what is not sorted is sorted."""
    del sorted_match_a
    arcs, map_a, map_b = a_fsas.arcs.intersect_device(b_fsas.arcs, int32_of(b_to_a_map, "b_to_a_map"))
    made = met(a_fsas, b_fsas, arcs, map_a, map_b)
    return (made, like(map_a, made._scores), like(map_b, made._scores)) if ret_arc_maps else made


def compose(a_fsa: Fsa, b_fsa: Fsa, treat_epsilons_specially: bool = True, inner_labels: str | None = None) -> Fsa:
    """Reads as ``a_fsa``, writes as ``b_fsa``: the output labels of the first meet the labels of the
    second. An acceptor's labels are its output labels. ``inner_labels`` names an attribute that keeps
    the labels on which they met."""
    labels = [fsa._tensor_attr.get("aux_labels") for fsa in (a_fsa, b_fsa)]
    labels = [each if each is None or isinstance(each, RaggedTensor) else int32_of(each, "aux_labels") for each in labels]
    arcs, (map_a, map_b, aux_labels, inner) = a_fsa.arcs.compose(b_fsa.arcs, *labels, treat_epsilons_specially)
    made = met(a_fsa, b_fsa, arcs, map_a, map_b, without=["aux_labels"])
    if inner_labels is not None:
        made._tensor_attr[inner_labels] = inner
    if inner_labels != "aux_labels":
        made._tensor_attr["aux_labels"] = aux_labels
    return made


def replace_fsa(src: Fsa, index: Fsa, symbol_begin_range: int = 1, ret_arc_map: bool = False) -> Any:
    """FSA ``i`` of the vector ``src`` in place of each arc of ``index`` with the label
    ``symbol_begin_range + i``; with ``ret_arc_map`` and the arc maps to ``index`` and ``src``.

    An integer attribute or one of lists, which both have, comes from where the arc comes from.
    """
    arcs, map_index, map_src = index.arcs.replace_fsa(src.arcs, symbol_begin_range)
    made = met(index, src, arcs, map_index, map_src, either=True)
    made = _with_final_aux_labels(made)
    return (made, like(map_index, made._scores), like(map_src, made._scores)) if ret_arc_map else made


def shortest_path(fsa: Fsa, use_double_scores: bool = True) -> Fsa:
    """The best path of each FSA, a linear FSA, without states where there is none. Scores are summed
    in double precision always."""
    del use_double_scores
    return followed(fsa, *fsa.arcs.shortest_path())


def random_paths(fsas: Fsa, use_double_scores: bool, num_paths: int) -> RaggedTensor:
    """``num_paths`` paths of each FSA, chosen evenly by their probabilities: the arcs, int32
    ``[fsa][path][arc]``. The choice is deterministic, as in k2's; sums are in double precision always."""
    del use_double_scores
    return fsas.arcs.random_paths(num_paths)


def prune_on_arc_post(fsas: Fsa, threshold_prob: float, use_double_scores: bool = True) -> Fsa:
    """Without the arcs over which less than the share ``threshold_prob`` of all paths goes."""
    del use_double_scores
    return followed(fsas, *fsas.arcs.prune_on_arc_post(threshold_prob))


def _intersected(
    a_fsas: Fsa,
    b_fsas: DenseFsaVec,
    beams: tuple[Any, ...],
    a_to_b_map: Any,
    seqframe_idx_name: str | None,
    frame_idx_name: str | None,
) -> Fsa:
    import numpy as np

    for name in (seqframe_idx_name, frame_idx_name):
        if name is not None and (name in a_fsas._tensor_attr or hasattr(Fsa, name)):
            raise ValueError(f"'{name}' can't name an attribute of frames: the graph has it already")
    log_probs, segments, allow_truncate = b_fsas._arguments()
    # k2 has a row more after each utterance.
    first = np.concatenate([[0], np.cumsum(b_fsas.duration + 1)]).astype(np.int32)[:-1]
    if a_to_b_map is not None:
        utterances = int32_of(a_to_b_map, "a_to_b_map").tolist()
        for position, i in enumerate(utterances):
            if not 0 <= i < len(segments):
                raise ValueError(f"a_to_b_map: there is no utterance {i} at {position}: there are {len(segments)}")
        segments, first = [segments[i] for i in utterances], first[utterances]
    arcs, (arc_map, frames), places = _kaldera.intersect_dense(
        a_fsas.arcs, log_probs, segments, allow_truncate, *beams
    )
    made = Fsa(arcs)
    ends = (arcs.labels() == -1) & (arc_map < 0)
    for name, value in a_fsas._tensor_attr.items():
        value = _followed(value, arc_map, a_fsas.get_filler(name))
        if name == "aux_labels" and not isinstance(value, RaggedTensor) and ends.any():
            # Of partial results, whose ends are no arcs of the graph.
            value = np.where(ends, np.int32(-1), numpy_of(value))
        made._tensor_attr[name] = value
    made._non_tensor_attr.update(a_fsas._non_tensor_attr)
    _scores_of(made, [(a_fsas._scores, arc_map), (b_fsas.log_probs, places)])
    if frame_idx_name is not None:
        made._tensor_attr[frame_idx_name] = frames
    if seqframe_idx_name is not None:
        utterances = arcs.shape().remove_axis(1).row_ids(1)
        made._tensor_attr[seqframe_idx_name] = np.where(frames < 0, np.int32(-1), frames + first[utterances])
    return made


def intersect_dense(
    a_fsas: Fsa,
    b_fsas: DenseFsaVec,
    output_beam: float,
    max_states: int = 15000000,
    max_arcs: int = 1073741824,
    a_to_b_map: Any = None,
    seqframe_idx_name: str | None = None,
    frame_idx_name: str | None = None,
) -> Fsa:
    """Lattices of all paths through a graph, or one for each utterance, within ``output_beam`` of the best.

    Scores have gradients to those of ``a_fsas`` and to a tensor of log-probabilities. With
    ``a_to_b_map``, int32 ``[fsas]``, each FSA meets the utterance that it names. ``frame_idx_name``
    names an attribute with the frame of each arc, int32 ``[arcs]``, ``seqframe_idx_name`` one with the
    row of ``b_fsas.scores``; -1 for arcs in no frame. ``max_states`` and ``max_arcs``, by which k2
    prunes what does not fit its memory, change nothing here: what does not fit is a ``ValueError``.
    """
    del max_states, max_arcs
    beams = (None, output_beam, 0, 1, False)
    return _intersected(a_fsas, b_fsas, beams, a_to_b_map, seqframe_idx_name, frame_idx_name)


def intersect_dense_pruned(
    a_fsas: Fsa,
    b_fsas: DenseFsaVec,
    search_beam: float,
    output_beam: float,
    min_active_states: int,
    max_active_states: int,
    seqframe_idx_name: str | None = None,
    frame_idx_name: str | None = None,
    allow_partial: bool = False,
) -> Fsa:
    """Lattices by a search that keeps the best states of each frame, those within ``search_beam`` of
    the best, but ``min_active_states`` at least and ``max_active_states`` at most.

    An utterance without a path has an FSA without states; with ``allow_partial``, paths may end in
    any state then. Gradients and names are those of :func:`intersect_dense`.
    """
    beams = (search_beam, output_beam, min_active_states, max_active_states, allow_partial)
    return _intersected(a_fsas, b_fsas, beams, None, seqframe_idx_name, frame_idx_name)
