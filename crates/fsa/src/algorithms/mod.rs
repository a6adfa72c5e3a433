//! k2's algorithms on FSAs: sorting, trimming, closing, intersecting, composing.

mod arc_sort;
mod closure;
pub(crate) mod compose;
mod concat;
mod connect;
mod determinize;
pub(crate) mod epsilon_closure;
mod epsilon_self_loops;
mod equivalence;
mod expand_arcs;
mod fix_final_labels;
mod graph_methods;
pub(crate) mod intersect;
mod invert;
mod matching;
pub(crate) mod meeting;
pub(crate) mod pairs;
mod random_fsa;
mod remove_epsilon;
mod replace_fsa;
mod reverse;
mod top_sort;
mod union;

pub use arc_sort::arc_sort;
pub use closure::closure;
pub use compose::{ComposeOptions, compose};
pub(crate) use compose::{either, merge};
pub use concat::concat;
pub use connect::connect;
pub use determinize::{WeightPushing, determinize, determinize_within};
pub use epsilon_self_loops::{add_epsilon_self_loops, remove_epsilon_self_loops};
pub use equivalence::{RandEquivalentOptions, is_equivalent, is_rand_equivalent};
pub use expand_arcs::{ExpandedArcs, expand_arcs};
pub use fix_final_labels::fix_final_labels;
pub use intersect::{Epsilons, intersect, intersect_device, intersect_within};
pub use invert::invert;
pub use pairs::WithArcMaps;
pub use random_fsa::{RandomFsaOptions, random_fsa, random_fsa_vec};
pub use remove_epsilon::{
    remove_epsilon, remove_epsilon_and_add_self_loops, remove_epsilon_log, remove_epsilon_within,
};
pub use replace_fsa::replace_fsa;
pub use reverse::reverse;
pub use top_sort::top_sort;
pub use union::union;
