//! Scores of states, arcs and whole FSAs, their gradients, and the paths that they lead to.
//!
//! ```text
//!   forward_scores[s]    start ~~~> s     the sum of all paths, or the best of them ([`Semiring`])
//!   backward_scores[s]              s ~~~> final
//!   total_scores         start ~~~~~~~~~~> final
//!   arc_posteriors[a]    start ~~> -a-> ~> final, less the total
//! ```
//!
//! Scores are f32 or f64, as requested; f64 costs little more. Functions that end in `_saved` also
//! return the data that their gradient needs. Its method `backward` takes a derivative with respect
//! to the result and returns the derivative with respect to the score of each arc. These functions
//! need FSAs whose arcs all go to later states (otherwise
//! [`Error::NotTopSorted`](crate::Error::NotTopSorted)). They use several threads for several FSAs,
//! with the same result for any number of threads. [`shortest_distance`] accepts cycles, too.
//!
//! ```
//! use fsa::{Arc, Fsa, Semiring};
//! use fsa::paths::{arc_posteriors, shortest_path, total_scores_saved};
//!
//! let fsa = Fsa::from_arcs(
//!     3,
//!     vec![Arc::new(0, 1, 5, -1.0), Arc::new(0, 1, 6, -2.0), Arc::new(1, 2, -1, 0.0)]
//! )?;
//! let (totals, saved) = total_scores_saved::<f64, _>(&fsa, Semiring::Log)?;
//! let grad = saved.backward(&[1.0])?;
//! // How the total changes with an arc is the share of all paths that goes over it.
//! for (share, log_share) in grad.iter().zip(arc_posteriors::<f64, _>(&fsa, Semiring::Log)?) {
//!     assert!((share - log_share.exp()).abs() < 1e-12);
//! }
//! assert_eq!(shortest_path(&fsa)?.0.labels(), [5, -1]);
//! # assert!(totals[0] > -1.0);
//! # Ok::<(), fsa::Error>(())
//! ```
//!
//! | k2 | here |
//! |---|---|
//! | `get_forward_scores`, `get_backward_scores` | [`forward_scores`], [`backward_scores`] |
//! | `get_tot_scores`, `get_arc_post` | [`total_scores`], [`arc_posteriors`] |
//! | `set_scores_stochastic_` | [`set_scores_stochastic`] |
//! | `prune_on_arc_post` | [`prune_on_arc_post`] |
//! | `shortest_path`, `random_paths` | [`shortest_path`], [`random_paths`] |
//! | not in k2 | [`n_best_paths`], [`n_best_strings`], [`sample_paths`] |
//! | `Nbest.from_lattice`, `top_k`, `total_scores` | [`Nbest`] |
//! | `Nbest.intersect`, `generate_nbest_list` | [`Nbest`] |
//! | `whole_lattice_rescoring` | [`rescore_lattice`] |
//! | `levenshtein_alignment` | [`levenshtein_alignment`] |
//! | `get_best_matching_stats` | [`get_best_matching_stats`] |

pub(crate) mod alignment;
pub(crate) mod best_matching;
pub(crate) mod best_path;
pub(crate) mod distance;
pub(crate) mod graph_methods;
pub(crate) mod n_best_paths;
pub(crate) mod nbest;
pub(crate) mod passes;
pub(crate) mod posteriors;
pub(crate) mod prune;
pub(crate) mod random;
pub(crate) mod scores;
pub(crate) mod stochastic;
pub(crate) mod suffixes;

pub use alignment::{HYP_LABELS, REF_LABELS, levenshtein_alignment};
pub use best_matching::{MatchingOptions, MatchingStats, get_best_matching_stats};
pub use best_path::{best_paths, shortest_path};
pub use distance::{reverse_shortest_distance, shortest_distance};
pub use n_best_paths::{n_best_paths, n_best_strings};
pub use nbest::{LM_SCORES, Nbest, rescore_lattice};
pub use posteriors::{ArcPosteriorsSaved, arc_posteriors, arc_posteriors_saved, prune_on_arc_post};
pub use random::{random_paths, sample_paths};
pub use scores::{
    BackwardScoresSaved, ForwardScoresSaved, TotalScoresSaved, backward_scores, backward_scores_saved, forward_scores,
    forward_scores_saved, total_scores, total_scores_saved,
};
pub use stochastic::{set_scores_stochastic, set_scores_stochastic_backward};
