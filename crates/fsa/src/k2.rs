//! k2's algorithms, with k2's semantics: sorting, connecting, closure, intersection, composition,
//! determinization; linear FSAs and Levenshtein graphs. Most are methods of
//! [`Graph`](crate::Graph), which carry the attributes along.

pub(crate) mod arc_sort;
pub(crate) mod closure;
pub(crate) mod compose;
pub(crate) mod concat;
pub(crate) mod connect;
pub(crate) mod determinize;
pub(crate) mod epsilon_closure;
pub(crate) mod epsilon_self_loops;
pub(crate) mod equivalence;
pub(crate) mod expand_arcs;
pub(crate) mod first_labels;
pub(crate) mod fix_final_labels;
pub(crate) mod flat;
pub(crate) mod graph_methods;
pub(crate) mod intersect;
pub(crate) mod invert;
pub(crate) mod levenshtein;
pub(crate) mod linear;
pub(crate) mod matching;
pub(crate) mod meeting;
pub(crate) mod pairs;
pub(crate) mod random_fsa;
pub(crate) mod remove_epsilon;
pub(crate) mod replace_fsa;
pub(crate) mod reverse;
pub(crate) mod top_sort;
pub(crate) mod union;

pub use arc_sort::arc_sort;
pub use closure::closure;
pub use compose::{ComposeOptions, compose};
pub use concat::concat;
pub use connect::connect;
pub use determinize::{DeterminizeOptions, WeightPushing, determinize};
pub use epsilon_self_loops::{add_epsilon_self_loops, remove_epsilon_self_loops};
pub use expand_arcs::{ExpandedArcs, expand_arcs};
pub use fix_final_labels::fix_final_labels;
pub use intersect::{IntersectOptions, intersect, intersect_device};
pub use invert::{expand_aux_labels, invert};
pub use levenshtein::{INS_DEL_SCORE_OFFSET, levenshtein_graph};
pub use linear::{linear_fsa, linear_fsas, linear_fst, linear_fsts, with_self_loops};
pub use meeting::Epsilons;
pub use pairs::WithArcMaps;
pub use random_fsa::{RandomFsaOptions, random_fsa, random_fsa_vec};
pub use remove_epsilon::{
    remove_epsilon, remove_epsilon_and_add_self_loops, remove_epsilon_log, remove_epsilon_within,
    remove_epsilon_without_map,
};
pub use replace_fsa::replace_fsa;
pub use reverse::reverse;
pub use top_sort::top_sort;
pub use union::union;
