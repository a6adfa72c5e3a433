"""Ragged tensors and finite-state acceptors under k2's names: ``from kaldera import k2``.

    fsa = k2.Fsa.from_str("0 1 1 0.5\\n1 2 -1 0\\n2", acceptor=True)
    lattice = k2.intersect_dense_pruned(graph, k2.DenseFsaVec(log_probs, lengths), 20, 8, 30, 10000)
    k2.shortest_path(lattice).labels

Arrays are NumPy's. Scores are natural logarithms, larger is better; there are no gradients here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from . import _kaldera
from ._kaldera import Fsa, RaggedTensor
from .losses import _counts, _labels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "DenseFsaVec",
    "Fsa",
    "RaggedTensor",
    "add_epsilon_self_loops",
    "arc_sort",
    "cat",
    "closure",
    "compose",
    "connect",
    "create_fsa_vec",
    "ctc_graph",
    "ctc_topo",
    "determinize",
    "intersect",
    "intersect_dense",
    "intersect_dense_pruned",
    "invert",
    "linear_fsa",
    "remove_epsilon",
    "reverse",
    "shortest_path",
    "top_sort",
    "trivial_graph",
]


class DenseFsaVec:
    """Log-probabilities ``[N, T, C]`` of utterances with ``lengths`` frames; class 0 is the blank."""

    def __init__(self, log_probs: ArrayLike, lengths: Sequence[int] | None = None):
        import numpy as np

        self.log_probs = np.require(log_probs, np.float32, "CA")
        if self.log_probs.ndim != 3:
            raise ValueError(f"log_probs are [N, T, C], and this array has the shape {self.log_probs.shape}")
        number, frames, _ = self.log_probs.shape
        self.lengths = [frames] * number if lengths is None else _counts(lengths, "lengths")
        if len(self.lengths) != number or any(not 0 <= length <= frames for length in self.lengths):
            raise ValueError(f"the lengths {self.lengths} do not fit {number} utterances of {frames} frames")


def cat(tensors: Sequence[RaggedTensor], axis: int = 0) -> RaggedTensor:
    """Ragged tensors joined along an axis."""
    return _kaldera.ragged_cat(list(tensors), axis)


def create_fsa_vec(fsas: Sequence[Fsa]) -> Fsa:
    """A vector of FSAs, with the attributes that all of them have."""
    return _kaldera.create_fsa_vec(list(fsas))


def linear_fsa(labels: Any) -> Fsa:
    """An FSA that reads the labels; of a list of lists, a vector of one for each."""
    return _kaldera.linear_fsa(labels.tolist() if hasattr(labels, "tolist") else labels)


def ctc_topo(max_token: int, modified: bool = False) -> Fsa:
    """CTC's topology over the blank 0 and the tokens 1 to ``max_token``."""
    return _kaldera.ctc_topo(max_token, modified)


def ctc_graph(symbols: Any, modified: bool = False) -> Fsa:
    """All that CTC reads as each list of symbols: a vector of one FSA for each list."""
    symbols = symbols.tolist() if isinstance(symbols, RaggedTensor) else symbols
    return _kaldera.ctc_graph(_labels(symbols, None), modified)


def trivial_graph(max_token: int) -> Fsa:
    """One state that reads and writes each token from 1 to ``max_token``."""
    return _kaldera.trivial_graph(max_token)


def intersect_dense(a_fsas: Fsa, b_fsas: DenseFsaVec, output_beam: float) -> Fsa:
    """Lattices of all paths through a graph, or one for each utterance, within ``output_beam`` of the best."""
    return _kaldera.intersect_dense(a_fsas, b_fsas.log_probs, b_fsas.lengths, None, output_beam, 0, 1, False)


def intersect_dense_pruned(
    a_fsas: Fsa,
    b_fsas: DenseFsaVec,
    search_beam: float,
    output_beam: float,
    min_active_states: int,
    max_active_states: int,
    allow_partial: bool = False,
) -> Fsa:
    """Lattices by a search that keeps the best states of each frame.

    An utterance without a path has an FSA without states.
    """
    limits = min_active_states, max_active_states
    return _kaldera.intersect_dense(
        a_fsas, b_fsas.log_probs, b_fsas.lengths, search_beam, output_beam, *limits, allow_partial
    )


def shortest_path(fsa: Fsa, use_double_scores: bool = True) -> Fsa:
    """The best path of each FSA, a linear FSA. Scores are summed in double precision always."""
    del use_double_scores
    return fsa.shortest_path()


def arc_sort(fsa: Fsa) -> Fsa:
    """Arcs of each state in the order of their labels."""
    return fsa.arc_sort()


def connect(fsa: Fsa) -> Fsa:
    """The states on a path from the start to the final state."""
    return fsa.connect()


def top_sort(fsa: Fsa) -> Fsa:
    """States in topological order; only self-loops may lead back."""
    return fsa.top_sort()


def invert(fsa: Fsa) -> Fsa:
    """Labels and output labels exchanged."""
    return fsa.invert()


def reverse(fsa: Fsa) -> Fsa:
    """What reads all strings backwards."""
    return fsa.reverse()


def closure(fsa: Fsa) -> Fsa:
    """What reads any number of strings in a row."""
    return fsa.closure()


def determinize(fsa: Fsa) -> Fsa:
    """At most one arc of each label from a state; it must be free of epsilons and sorted."""
    return fsa.determinize()


def remove_epsilon(fsa: Fsa) -> Fsa:
    """The same strings with the same best scores, without arcs of label 0."""
    return fsa.remove_epsilon()


def add_epsilon_self_loops(fsa: Fsa) -> Fsa:
    """A self-loop of label 0 at each state but the final one."""
    return fsa.add_epsilon_self_loops()


def intersect(a_fsa: Fsa, b_fsa: Fsa) -> Fsa:
    """What both read; label 0 is epsilon."""
    return a_fsa.intersect(b_fsa)


def compose(a_fsa: Fsa, b_fsa: Fsa) -> Fsa:
    """Reads as ``a_fsa``, writes as ``b_fsa``: the output labels of the first are the labels of the second."""
    return a_fsa.compose(b_fsa)
