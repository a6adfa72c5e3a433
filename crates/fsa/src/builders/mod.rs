//! k2's graph builders: linear FSAs, CTC topologies and graphs, Levenshtein graphs.

mod ctc;
mod flat;
mod levenshtein;
mod linear;

pub use ctc::{ctc_graph, ctc_topo, trivial_graph};
pub use levenshtein::{INS_DEL_SCORE_OFFSET, levenshtein_graph};
pub use linear::{linear_fsa, linear_fsas, linear_fst, linear_fsts, with_self_loops};
