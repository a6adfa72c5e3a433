//! Decoding: intersection of graphs with the scores of a network for each frame.
//!
//! ```text
//!   network: a score per frame and class -.
//!                                         |-- intersect_dense, intersect_dense_pruned --> lattice
//!   graph: arcs whose labels are classes -'
//! ```
//!
//! A path of the result takes one class in each frame. Its score is the score of a path of the
//! graph with the same labels plus the network's scores of these classes. Paths far worse than the
//! best one are left out: [`intersect_dense`] looks at all paths and keeps those within a beam of
//! the best one, [`intersect_dense_pruned`] goes on from frame to frame with the best states only.
//! [`OnlineDecoder`] does the same for scores that come in chunks. [`LookAheadGraph`] composes a
//! lexicon and a grammar meanwhile, whose composition would not fit.
//!
//! # Epsilon arcs
//!
//! A label is a class, or a class + 1 if 0 is epsilon. Each graph says which
//! ([`Graph::graph_labels`](crate::Graph::graph_labels)); files and builders set it. In front of a
//! [`CtcGraph`], 0 is always epsilon. Arcs with epsilon are followed within a frame, until no state
//! gets a better score; costs may be negative. Exactness:
//!
//! - The best path is the best path of the graph without epsilons, if no beam cuts it off. As in
//!   Kaldi, a frame's search beam is set by its arcs with classes, and holds for the states on
//!   epsilon arcs too.
//! - A lattice has each path of the graph once, and so a total in the log semiring sums over paths,
//!   not over word sequences: a back-off path and a direct one with the same words both count, as
//!   they do for k2 and OpenFst.
//! - An epsilon cycle with a positive score is an [`Error::EndlessCycle`](crate::Error) of its
//!   utterance. Around one with a negative score, paths of a lattice go as often as the output beam
//!   allows, though within a frame not more than 32 times; around one with the score 0 never, and a
//!   lattice has no arc that would close it. [`LatticePruning::Chunkwise`] leaves all of these out.
//!
//! In a lattice, epsilon arcs are arcs of their own, with the frame -1.
//!
//! # Lattices
//!
//! An arc of a lattice has the label and the score of its arc of the graph, to which the network's
//! score is added. [`DenseLattices`] stores for each arc the arc of the graph and the frame that it
//! comes from; attributes, times and derivatives follow from these.
//!
//! ```
//! use fsa::graphs::ctc_topo;
//! use fsa::dense::{DenseFsaVec, DenseOptions, Outcome, intersect_dense_pruned};
//! use fsa::paths::shortest_path;
//!
//! // Three frames with scores of blank and two tokens.
//! let scores = [-1.5_f32, -0.5, -2.0, -1.0, -3.0, -0.5, -0.25, -2.0, -2.0];
//! let dense = DenseFsaVec::from_frames(&scores, 3)?;
//! let result = intersect_dense_pruned(&ctc_topo(2, false)?, &dense, &DenseOptions::default())?;
//! assert_eq!(result.outcomes(), [Outcome::Final]);
//! let best = result.graph().carry(shortest_path(result.graph().fsas())?)?;
//! assert_eq!(best.fsas().labels(), [1, 2, 0, -1]);
//! assert_eq!(best.aux_labels(), Some(&[1, 2, 0, -1][..]));
//! # Ok::<(), fsa::Error>(())
//! ```
//!
//! | k2 | here |
//! |---|---|
//! | `DenseFsaVec` | [`DenseFsaVec`], over memory that stays where it is |
//! | `intersect_dense` | [`intersect_dense`] |
//! | `intersect_dense_pruned` | [`intersect_dense_pruned`] |
//! | `a_to_b_map` | [`DenseFsaVec::with_segments`]; it may repeat parts of a sequence |
//! | `seqframe_idx_name`, `frame_idx_name` | [`DenseLattices::frames`] |
//! | gradients by autograd | [`DenseLattices::graph_gradient`], [`DenseLattices::score_gradient`] |
//! | `OnlineDenseIntersecter` | [`OnlineDecoder`] |

mod active;
mod closure;
mod ctc;
mod graph;
mod graph_methods;
mod intersect;
mod laps;
mod lattices;
mod look_ahead;
mod next;
mod online;
mod options;
mod output;
mod saved;
mod scores;
mod scratch;
mod search;
mod trellis;

pub use crate::core::graph_labels::GraphLabels;
pub use ctc::CtcGraph;
pub use intersect::{intersect_dense, intersect_dense_pruned};
pub use lattices::{DenseLattices, Outcome};
pub use look_ahead::{Backoff, LookAheadGraph, LookAheadOptions};
pub use online::{DecodingStream, OnlineDecoder};
pub use options::{DenseOptions, Ending, LatticePruning};
pub use scores::{DenseFsaVec, Frames, Segment};
