//! Scores of states, arcs and whole FSAs, their gradients, and the paths that they lead to.

mod alignment;
mod best_path;
mod best_paths;
mod distance;
mod matching;
mod nbest;
mod passes;
mod posteriors;
mod prune;
mod random;
mod semiring;
mod states;
mod stochastic;
mod suffixes;

pub use alignment::{HYP_LABELS, REF_LABELS, levenshtein_alignment};
pub use best_path::{best_paths, shortest_path};
pub use best_paths::{n_best_paths, n_best_strings};
pub use distance::{reverse_shortest_distance, shortest_distance};
pub use matching::{MatchingOptions, MatchingStats, get_best_matching_stats};
pub use nbest::Nbest;
pub use posteriors::{ArcPosteriorsSaved, arc_posteriors, arc_posteriors_saved, prune_on_arc_post};
pub use random::{random_paths, sample_paths};
pub use semiring::Semiring;
pub use states::{
    BackwardScoresSaved, ForwardScoresSaved, TotalScoresSaved, backward_scores, backward_scores_saved, forward_scores,
    forward_scores_saved, total_scores, total_scores_saved,
};
pub use stochastic::{set_scores_stochastic, set_scores_stochastic_backward};
