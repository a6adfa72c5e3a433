//! Scores of states, arcs and whole FSAs, their gradients, and the paths that they lead to.

mod passes;
mod posteriors;
mod prune;
mod semiring;
mod states;
mod stochastic;

pub use posteriors::{ArcPosteriorsSaved, arc_posteriors, arc_posteriors_saved, prune_on_arc_post};
pub use semiring::Semiring;
pub use states::{
    BackwardScoresSaved, ForwardScoresSaved, TotalScoresSaved, backward_scores, backward_scores_saved, forward_scores,
    forward_scores_saved, total_scores, total_scores_saved,
};
pub use stochastic::{set_scores_stochastic, set_scores_stochastic_backward};
