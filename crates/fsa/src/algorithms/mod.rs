//! k2's algorithms on FSAs: sorting, trimming, closing, intersecting, composing.

mod arc_sort;
mod closure;
mod concat;
mod connect;
mod epsilon_self_loops;
mod expand_arcs;
mod fix_final_labels;
mod intersect;
mod invert;
mod matching;
mod pair_table;
mod pairs;
mod random_fsa;
mod replace_fsa;
mod reverse;
mod top_sort;
mod union;

pub use arc_sort::arc_sort;
pub use closure::closure;
pub use concat::concat;
pub use connect::connect;
pub use epsilon_self_loops::{add_epsilon_self_loops, remove_epsilon_self_loops};
pub use expand_arcs::{ExpandedArcs, expand_arcs};
pub use fix_final_labels::fix_final_labels;
pub use intersect::{Epsilons, intersect, intersect_device};
pub use invert::invert;
pub use pairs::WithArcMaps;
pub use random_fsa::{RandomFsaOptions, random_fsa, random_fsa_vec};
pub use replace_fsa::replace_fsa;
pub use reverse::reverse;
pub use top_sort::top_sort;
pub use union::union;
