"""Decoding in three calls, as k2 has it: a lattice, its best paths, their words."""

from __future__ import annotations

from typing import Any

from ._arrays import int32_of
from .dense_fsa_vec import DenseFsaVec
from .fsa import Fsa
from .fsa_algo import intersect_dense_pruned, shortest_path
from .nbest import words_of


def get_lattice(
    log_prob: Any,
    log_prob_len: Any,
    decoding_graph: Fsa,
    search_beam: float = 20,
    output_beam: float = 8,
    min_active_states: int = 30,
    max_active_states: int = 10000,
    subsampling_factor: int = 1,
) -> Fsa:
    """The lattice of each sequence of log-probabilities ``[N, T, C]``, of which the first ``log_prob_len``
    frames are there, int ``[N]``; the beams are those of :func:`intersect_dense_pruned`. A length may
    exceed ``T`` by ``subsampling_factor - 1``."""
    import numpy as np

    lengths = int32_of(log_prob_len, "log_prob_len")
    if lengths.shape != (len(log_prob),):
        raise ValueError(f"there are {len(log_prob)} sequences, and log_prob_len has the shape {lengths.shape}")
    segments = np.stack([np.arange(len(lengths)), np.zeros(len(lengths), np.int64), lengths], 1)
    dense = DenseFsaVec(log_prob, segments, subsampling_factor - 1)
    beams = search_beam, output_beam, min_active_states, max_active_states
    return intersect_dense_pruned(decoding_graph, dense, *beams)


def one_best_decoding(lattice: Fsa, use_double_scores: bool = True) -> Fsa:
    """The best path of each lattice: :func:`shortest_path`."""
    return shortest_path(lattice, use_double_scores)


def get_aux_labels(best_paths: Fsa) -> list[list[int]]:
    """The output labels of each linear FSA of a vector, without 0 and -1."""
    if len(best_paths.shape) != 3:
        raise ValueError(f"the paths are a vector of FSAs, and this is {best_paths!r}")
    if "aux_labels" not in best_paths._tensor_attr:
        raise ValueError("the paths have no aux_labels")
    return words_of(best_paths).tolist()
