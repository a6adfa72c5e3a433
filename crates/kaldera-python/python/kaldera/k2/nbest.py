"""Several hypotheses for each utterance, as k2 and icefall have them."""

from __future__ import annotations

from .._kaldera import RaggedShape, RaggedTensor
from ._arrays import int32_of, numpy_of
from .fsa import Fsa, _followed, _scores_of
from .fsa_algo import (
    add_epsilon_self_loops,
    connect,
    index_fsa,
    intersect_device,
    invert,
    levenshtein_graph,
    remove_epsilon,
    shortest_path,
    top_sort,
)


def words_of(fsas: Fsa) -> RaggedTensor:
    """The output labels of linear FSAs, or the labels of acceptors, without 0 and -1: int32 ``[fsa][word]``."""
    words = fsas._tensor_attr.get("aux_labels")
    arcs = fsas.arcs
    shape = arcs.shape().remove_axis(1)
    if isinstance(words, RaggedTensor):
        words = words.remove_values_leq(0)
        return RaggedTensor(shape.compose(words.shape).remove_axis(1), words.values)
    words = arcs.labels() if words is None else int32_of(words, "aux_labels")
    return RaggedTensor(shape, words).remove_values_leq(0)


class Nbest:
    """For each utterance some paths: ``fsa`` is a vector of linear FSAs, ``shape`` is ``[utterance][path]``.

    ``kept_path`` are the arcs of the lattice that each path has, int32 ``[path][arc]``, where they are
    known.

    >>> lattice = Fsa.from_fsas([Fsa.from_str("0 1 7 1\\n0 1 8 0.5\\n1 2 -1 0\\n2")])
    >>> nbest = Nbest.from_lattice(lattice, num_paths=10, nbest_scale=1.0)
    >>> nbest.total_scores().tolist()
    [[1.0, 0.5]]
    """

    def __init__(self, fsa: Fsa, shape: RaggedShape, kept_path: RaggedTensor | None = None):
        if len(fsa.shape) != 3:
            raise ValueError("the paths are a vector of FSAs, and this is one FSA")
        if shape.num_axes != 2 or shape.tot_size(1) != len(fsa):
            raise ValueError(f"the shape {shape} does not fit {len(fsa)} paths")
        self.fsa = fsa
        self.shape = shape
        self.kept_path = kept_path

    def __str__(self) -> str:
        return f"Nbest(num_seqs:{self.shape.dim0}, num_fsas:{len(self.fsa)})"

    __repr__ = __str__

    @staticmethod
    def from_lattice(
        lattice: Fsa, num_paths: int, use_double_scores: bool = True, nbest_scale: float = 0.5
    ) -> Nbest:
        """Takes ``num_paths`` random paths of each FSA of a lattice whose scores are multiplied by
        ``nbest_scale`` for that, and keeps of those with the same words the first.

        Words are the output labels, or the labels of an acceptor, without 0 and -1. A smaller scale
        gives more different paths, and may miss the best. The paths have the scores of the lattice,
        with gradients, and its output labels; other attributes are left out, as in k2. Sums are in double precision always.
        """
        del use_double_scores
        words = lattice._tensor_attr.get("aux_labels")
        if words is not None and not isinstance(words, RaggedTensor):
            words = int32_of(words, "aux_labels")
        arcs, arc_map, shape = lattice.arcs.nbest(words, num_paths, nbest_scale)
        kept_path = RaggedTensor(arcs.shape().remove_axis(1), arc_map)
        paths = Fsa(arcs)
        if words is not None:
            paths.aux_labels = _followed(lattice.aux_labels, arc_map, 0)
        _scores_of(paths, [(lattice._scores, arc_map)])
        return Nbest(paths, shape, kept_path)

    def intersect(self, lats: Fsa) -> Nbest:
        """The best path of each path's intersection with the lattice of its utterance: the paths with
        the scores of both, and the attributes of both; words that both have are the lattice's.

        Labels of both are tokens, and paths are free of epsilon self-loops. A path that the lattice
        does not have is an FSA without states.
        """
        if len(lats.shape) != 3 or len(lats) != self.shape.dim0:
            raise ValueError(f"there are {self.shape.dim0} utterances, and the lattices are {lats!r}")
        paths = self.fsa.clone()
        for name in set(paths._tensor_attr) & set(lats._tensor_attr) & {"aux_labels"}:
            delattr(paths, name)
        met = intersect_device(lats, add_epsilon_self_loops(paths), self.shape.row_ids(1))
        return Nbest(remove_epsilon(shortest_path(met)), self.shape)

    def total_scores(self) -> RaggedTensor:
        """The sum of the scores of each path: float32 ``[utterance][path]``."""
        return RaggedTensor(self.shape, numpy_of(self.fsa.get_tot_scores(False, False)))

    def top_k(self, k: int) -> Nbest:
        """The ``k`` paths of each utterance with the highest total scores, from the highest down; where
        there are fewer, the last comes again. An utterance without paths is a ``ValueError``."""
        if k < 1:
            raise ValueError(f"k={k} can't be: it must be 1 or more")
        splits = self.shape.row_splits(1)
        if (splits[1:] == splits[:-1]).any():
            raise ValueError(f"some utterances have no paths: {self.shape}")
        order = self.total_scores().sort_(descending=True, need_new2old_indexes=True)
        padded = RaggedTensor(self.shape, order).pad("replicate", -1)
        if k > padded.shape[1]:
            padded = padded[:, [*range(padded.shape[1]), *[-1] * (k - padded.shape[1])]]
        shape = RaggedShape.regular_ragged_shape(self.shape.dim0, k)
        return Nbest(index_fsa(self.fsa, padded[:, :k].reshape(-1)), shape)

    def words(self) -> RaggedTensor:
        """The words of each path, int32 ``[path][word]``: its output labels, or its labels where there
        are none, without 0 and -1."""
        return words_of(self.fsa)

    def build_levenshtein_graphs(self) -> Fsa:
        """The Levenshtein graph of the words of each path: a vector of FSAs."""
        return levenshtein_graph(self.words())


def whole_lattice_rescoring(lats: Fsa, G_with_epsilon_loops: Fsa) -> Fsa:  # noqa: N803
    """Lattices with the scores of another language model: their ``lm_scores``, which are in the
    scores, are taken away, and those of the grammar, a vector of one FSA with epsilon self-loops,
    come in their place. The result is connected and top-sorted."""
    if "lm_scores" not in lats._tensor_attr:
        raise ValueError("the lattices have no lm_scores")
    if len(G_with_epsilon_loops.shape) != 3 or len(G_with_epsilon_loops) != 1:
        raise ValueError(f"the grammar is a vector of one FSA, and this is {G_with_epsilon_loops!r}")
    acoustic = lats.clone()
    acoustic.scores = acoustic.scores - acoustic.lm_scores
    del acoustic.lm_scores
    met = intersect_device(G_with_epsilon_loops, invert(acoustic), [0] * len(lats))
    return invert(top_sort(connect(met)))
