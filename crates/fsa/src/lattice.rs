//! Lattices of words, with separate acoustic and graph scores, and an alignment on every arc.
//!
//! A [`Lattice`] is Kaldi's `CompactLattice`, as a batch over [`Graph<FsaVec>`](crate::Graph):
//!
//! ```text
//!   label             the word, or 0; -1 on arcs into the final state (Kaldi's final weights)
//!   score             graph score + acoustic score
//!   "graph_scores"    what the graph (language model, lexicon, transitions) adds
//!   "acoustic_scores" what the network adds
//!   "alignment"       the input labels of the arc, one a frame: a list for each arc
//! ```
//!
//! Scores are negated costs: a Kaldi weight `1.5,20,3_3` is the graph score -1.5, the acoustic
//! score -20 and the alignment 3 3. Sums over paths are computed in double precision from the two
//! scores, not from the single-precision score of the arc.
//!
//! ```
//! use fsa::lattice::{DeterminizeOptions, LatticeBuilder};
//!
//! let mut builder = LatticeBuilder::new();
//! let [start, end] = [builder.add_state(), builder.add_state()];
//! builder.add_arc(start, end, 7, -1.0, -2.0, &[3, 3]);
//! builder.add_arc(start, end, 7, -1.0, -4.0, &[3, 4]);
//! builder.add_arc(start, end, 8, -2.0, -1.5, &[5, 5]);
//! builder.add_final(end, 0.0, 0.0, &[]);
//! let lattice = builder.build()?;
//!
//! let best = lattice.best_path(0)?.expect("a path");
//! assert_eq!((best.words, best.alignment), (vec![7], vec![3, 3]));
//! // One path a word sequence, its best one.
//! let (lattice, _) = lattice.determinize(&DeterminizeOptions::default().with_beam(8.0))?;
//! assert_eq!(lattice.n_best(0, 10)?.len(), 2);
//! # Ok::<(), fsa::Error>(())
//! ```
//!
//! | Kaldi, icefall | here |
//! |---|---|
//! | lattices of a search | [`Lattice::from_dense`] |
//! | `CompactLattice` | [`Lattice`]; `kaldi-io` (feature `lattice`) reads and writes the archives |
//! | `DeterminizeLatticePruned` | [`Lattice::determinize`] |
//! | `CompactLatticeShortestPath`, `lattice-best-path` | [`Lattice::best_path`] |
//! | `get_texts` of the best paths | [`Lattice::texts`] |
//! | `lattice-to-nbest` | [`Lattice::n_best_paths`]; different words each: [`Lattice::n_best`] |
//! | `PruneLattice` | [`Lattice::prune`] |
//! | `ComputeCompactLatticeAlphas`, `...Betas` | [`Lattice::total_scores`] |
//! | `lattice-arc-post` | [`Lattice::arc_posteriors`] |
//! | `CompactLatticeStateTimes` | [`Lattice::state_times`] |
//! | `ScaleLattice` | [`Lattice::scale`] |
//! | `lattice-lmrescore`, with the automaton of a model | [`Lattice::compose_best`] |
//! | `lattice-lmrescore`, with true back-off | [`Lattice::rescore_best`] |
//! | `lattice-lmrescore-const-arpa` | the same, with a [`ConstArpa`](crate::graphs::ConstArpa) |
//! | `lattice-lmrescore-pruned` | [`Lattice::rescore_pruned`] with [`CombinedModels`] |
//! | `ComposeCompactLatticeDeterministic` | [`Lattice::rescore`] |
//! | `BackoffDeterministicOnDemandFst` | [`BackoffModel`] |
//! | `MinimumBayesRisk` | [`Lattice::minimum_bayes_risk`] |
//! | `WordAlignLattice`, `WordAlignLatticeLexicon` | [`Lattice::align_words`] |
//! | `lattice-union` | [`Lattice::union`] |
//! | `lattice-interp` | [`Lattice::compose_lattices`] |
//! | `lattice-oracle` | [`Lattice::oracle`] |
//! | `lattice-depth` | [`Lattice::depth`] |
//! | `lattice-depth-per-frame` | [`Lattice::depth_per_frame`] |
//!
//! Vosk's recogniser with a folder `rescore` does three steps: [`Lattice::compose_best`] with the
//! output labels of `G.fst` and the scale -1, [`Lattice::rescore`] with `G.carpa` and the scale 1,
//! [`Lattice::scale`] with 0.9 for graph scores.

mod align_words;
mod best;
mod builder;
mod compose_lattices;
mod container;
mod determinize;
mod mbr;
mod oracle;
mod passes;
mod prune;
pub(crate) mod rescore;
mod rescore_pruned;
mod trie;
mod union;
mod utterance;
mod word_boundaries;

pub use align_words::{AlignWordsOptions, WordTime};
pub use best::LatticePath;
pub use builder::LatticeBuilder;
pub use container::{ACOUSTIC_SCORES, ALIGNMENT, GRAPH_SCORES, Lattice};
pub use determinize::DeterminizeOptions;
pub use mbr::{MbrOptions, MbrResult};
pub use oracle::Oracle;
pub use rescore::{BackoffModel, CombinedModels, LanguageModel};
pub use rescore_pruned::PrunedRescoreOptions;
pub use word_boundaries::{LabelRole, LabelRoles, Stretch, Unit, WordBoundaries, WordTokens, WordsAtEnds};
