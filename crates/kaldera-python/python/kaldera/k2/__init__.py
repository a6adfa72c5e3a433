"""Ragged tensors and finite-state acceptors under k2's names: ``from kaldera import k2``.

    fsa = k2.Fsa.from_str("0 1 1 0.5\\n1 2 -1 0\\n2", acceptor=True)
    lattice = k2.intersect_dense_pruned(graph, k2.DenseFsaVec(log_probs, segments), 20, 8, 30, 10000)
    k2.shortest_path(lattice).labels

Arrays are NumPy's. Where scores or log-probabilities are PyTorch's tensors, results are too, and have
gradients. Scores are natural logarithms, larger is better.
"""

from .._kaldera import RaggedShape, RaggedTensor
from . import fsa_properties, ragged
from ._arrays import compose_arc_maps, index_add, index_select, simple_ragged_index_select
from .decode import get_aux_labels, get_lattice, one_best_decoding
from .dense_fsa_vec import DenseFsaVec, convert_dense_to_fsa_vec
from .fsa import Fsa
from .fsa_algo import (
    DeterminizeWeightPushingType,
    add_epsilon_self_loops,
    arc_sort,
    cat,
    closure,
    compose,
    connect,
    create_fsa_vec,
    ctc_graph,
    ctc_topo,
    determinize,
    expand_ragged_attributes,
    index_fsa,
    intersect,
    intersect_dense,
    intersect_dense_pruned,
    intersect_device,
    invert,
    levenshtein_alignment,
    levenshtein_graph,
    linear_fsa,
    linear_fsa_with_self_loops,
    linear_fst,
    linear_fst_with_self_loops,
    prune_on_arc_post,
    random_paths,
    remove_epsilon,
    remove_epsilon_and_add_self_loops,
    remove_epsilon_self_loops,
    replace_fsa,
    reverse,
    shortest_path,
    top_sort,
    trivial_graph,
    union,
)
from .fsa_properties import to_str as properties_to_str
from .nbest import Nbest, whole_lattice_rescoring
from .symbol_table import SymbolTable
from .utils import to_dot, to_str, to_str_simple, to_tensor

__all__ = [
    "DenseFsaVec",
    "DeterminizeWeightPushingType",
    "Fsa",
    "Nbest",
    "RaggedShape",
    "RaggedTensor",
    "SymbolTable",
    "add_epsilon_self_loops",
    "arc_sort",
    "cat",
    "closure",
    "compose",
    "compose_arc_maps",
    "connect",
    "convert_dense_to_fsa_vec",
    "create_fsa_vec",
    "ctc_graph",
    "ctc_topo",
    "determinize",
    "expand_ragged_attributes",
    "fsa_properties",
    "get_aux_labels",
    "get_lattice",
    "index_add",
    "index_fsa",
    "index_select",
    "intersect",
    "intersect_dense",
    "intersect_dense_pruned",
    "intersect_device",
    "invert",
    "levenshtein_alignment",
    "levenshtein_graph",
    "linear_fsa",
    "linear_fsa_with_self_loops",
    "linear_fst",
    "linear_fst_with_self_loops",
    "one_best_decoding",
    "properties_to_str",
    "prune_on_arc_post",
    "ragged",
    "random_paths",
    "remove_epsilon",
    "remove_epsilon_and_add_self_loops",
    "remove_epsilon_self_loops",
    "replace_fsa",
    "reverse",
    "shortest_path",
    "simple_ragged_index_select",
    "to_dot",
    "to_str",
    "to_str_simple",
    "to_tensor",
    "top_sort",
    "trivial_graph",
    "union",
    "whole_lattice_rescoring",
]
