//! Decoding with lattices that are determinized while the utterance goes on, as Kaldi's online
//! programs and Vosk do.
//!
//! ```text
//!   graph: transition identifiers, words, costs -.
//!                                                |-- IncrementalDecoder -+-- best path
//!   scores of a network, row after row          -'                       '-- lattice of words
//! ```
//!
//! The search keeps the tokens and links that Kaldi's `LatticeIncrementalOnlineDecoder` keeps: the
//! same beams and the same pruning each 25 frames. States are followed in the order in which they
//! were reached; Kaldi's order depends on their numbers, and matters at the edge of the beam only.
//! From time to time a stretch of frames is determinized and appended to the lattice so far, so
//! that the lattice of an utterance is there soon after its last frame. [`dense`](crate::dense)
//! keeps exact lattices; this module keeps the paths that Kaldi keeps, on which confidences depend.
//!
//! ```
//! use fsa::incremental::{IncrementalDecoder, IncrementalOptions, TransitionLabels};
//! use fsa::on_demand::StaticGraph;
//! use fsa::{CostArc, Transducer};
//!
//! // Words 7 and 8 have the transition identifiers 1 and 2, of the columns 0 and 1.
//! let arc = |ilabel, olabel, cost| CostArc { ilabel, olabel, cost, dest: 1 };
//! let (start, end) = ([arc(1, 7, 0.5), arc(2, 8, 0.25)], [arc(1, 0, 0.0)]);
//! let states = [(f32::INFINITY, &start[..]), (0.0, &end[..])];
//! let mut graph = StaticGraph::new(Transducer::new(Some(0), states)?);
//! let labels = TransitionLabels::new([(0, 1), (1, 2)]);
//! let mut decoder = IncrementalDecoder::new(IncrementalOptions::default())?;
//! decoder.begin(&mut graph)?;
//! decoder.advance(&mut graph, &labels, &[-0.5, -2.0, -0.25, -4.0], 2)?;
//! assert_eq!(decoder.best_path().labels, [1, 1]);
//! decoder.finish(&mut graph)?;
//! let lattice = decoder.lattice(&mut graph, &labels, 2, true)?;
//! assert_eq!(lattice.best_path(0)?.expect("a path").words, [7]);
//! # Ok::<(), fsa::Error>(())
//! ```
//!
//! | Kaldi | here |
//! |---|---|
//! | `LatticeIncrementalDecoderConfig` | [`IncrementalOptions`] |
//! | `fst::StdFst`, for the search | [`SearchGraph`](crate::on_demand::SearchGraph) |
//! | `InitDecoding`, `AdvanceDecoding`, `FinalizeDecoding` | [`begin`], [`advance`], [`finish`] |
//! | `GetBestPath`, `TraceBackBestPath` | [`best_path`] |
//! | `FinalRelativeCost` | [`final_relative_cost`] |
//! | `GetLattice`, `NumFramesInLattice` | [`lattice`], [`num_frames_in_lattice`] |
//!
//! [`begin`]: IncrementalDecoder::begin
//! [`advance`]: IncrementalDecoder::advance
//! [`finish`]: IncrementalDecoder::finish
//! [`best_path`]: IncrementalDecoder::best_path
//! [`final_relative_cost`]: IncrementalDecoder::final_relative_cost
//! [`lattice`]: IncrementalDecoder::lattice
//! [`num_frames_in_lattice`]: IncrementalDecoder::num_frames_in_lattice

mod active_states;
mod appended;
mod chunk;
mod decoder;
mod labels;
mod options;
mod search;
mod tokens;

pub use decoder::{BestPath, IncrementalDecoder};
pub use labels::TransitionLabels;
pub use options::IncrementalOptions;
