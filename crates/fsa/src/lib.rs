//! k2's finite-state acceptors on a CPU, together with OpenFst's algorithms.
//!
//! An FSA is a ragged array of arcs; a batch of FSAs has one more axis. There are no objects or
//! pointers, and every pass goes over flat memory. Algorithms are functions from FSAs to FSAs and
//! an *arc map*, which holds for each new arc the old arc from which it comes. Other data of arcs
//! (the words of a transducer, scores with gradients, user data) follow by that map, and so do
//! derivatives, backwards.
//!
//! ```text
//!   Graph              FSAs and named attributes of arcs; every algorithm is a method of it
//!    |- Fsa / FsaVec   [state][arc] / [fsa][state][arc], valid by construction; made by FsaBuilder
//!    |   '- Arc        { src_state, dest_state, label, score }, 16 bytes
//!    '- Attributes     aux_labels, ...: a number, a score or a list for each arc
//! ```
//!
//! ```
//! use fsa::graphs::ctc_topo;
//! use fsa::io::K2Text;
//! use fsa::k2::{ComposeOptions, Epsilons, linear_fsa};
//! use fsa::{Graph, Semiring};
//!
//! // What three frames of a network say of the blank 0 and the tokens 1 and 2.
//! let frames = K2Text::acceptor().read(
//!     "0 1 0 -1.5\n0 1 1 -0.5\n1 2 0 -1\n1 2 2 -0.5\n2 3 0 -2\n2 3 2 -0.25\n3 4 -1 0\n4"
//! )?;
//! // All that the topology of CTC reads as the tokens 1 2, and how probable it is.
//! let graph = ctc_topo(2, false)?.compose(&Graph::new(linear_fsa(&[1, 2])?))?;
//! let blank_is_a_symbol = ComposeOptions::default().with_epsilons(Epsilons::AsSymbol);
//! let readings = frames.compose_with(&graph, &blank_is_a_symbol)?.connect()?.top_sort()?;
//! let total = readings.total_scores::<f64>(Semiring::Log)?[0];
//! let by_hand: f64 = [-0.5 - 1.0 - 0.25, -0.5 - 0.5 - 2.0, -0.5 - 0.5 - 0.25]
//!     .iter()
//!     .map(|path: &f64| path.exp())
//!     .sum();
//! assert!((total - by_hand.ln()).abs() < 1e-6);
//! assert_eq!(readings.shortest_path()?.fsas().labels(), [1, 2, 2, -1]);
//! # Ok::<(), fsa::Error>(())
//! ```
//!
//! # Modules
//! | module | holds |
//! |---|---|
//! | [`k2`] | k2's algorithms, linear FSAs and Levenshtein graphs, with k2's semantics |
//! | [`openfst`] | OpenFst's algorithms: determinization, minimization, pushing |
//! | [`dense`] | intersection with network output: lattices, exact, pruned and online |
//! | [`lattice`] | word lattices: determinization, n best, pruning, rescoring, minimum Bayes risk |
//! | [`on_demand`] | graphs for decoders, whole or composed while they search |
//! | [`paths`] | totals, posteriors, gradients in both semirings; best, n best and random paths |
//! | [`graphs`] | CTC topologies, lexicon, n-gram model, HLG, hot words |
//! | [`io`] | k2's and OpenFst's texts, OpenFst's binary files, symbol tables, arrays, drawings |
//!
//! If k2 and OpenFst have an algorithm of the same name with different results, the module is named
//! after the system:
//!
//! | | k2 | OpenFst |
//! |---|---|---|
//! | determinization | [`Graph::determinize`] | [`Graph::determinize_openfst`] |
//! | equivalence | [`Equivalence::Strings`], [`Equivalence::Random`] | [`Equivalence::Structure`] |
//! | shortest paths | [`Graph::shortest_path`] | [`Graph::n_best`] |
//! | several paths | [`Graph::random_paths`] | [`openfst::shortest_paths`] |
//! | epsilons in composition | [`AnyOrder`] | [`Sequenced`], the default |
//!
//! k2's determinization keeps attributes as lists and merges no states. OpenFst's takes
//! transducers, merges states with equal futures, and has a beam.
//!
//! [`AnyOrder`]: k2::Epsilons::AnyOrder
//! [`Sequenced`]: k2::Epsilons::Sequenced
//!
//! # Coming from elsewhere
//! Names are k2's in snake case. Searching this page for the C++ or Python spelling finds them.
//! [`paths`] has another table.
//!
//! | k2 | here |
//! |---|---|
//! | `Fsa`, `FsaVec`, `FsaOrVec` in C++ | [`Fsa`], [`FsaVec`], [`FsaOrVec`] |
//! | all of these, as parameters | [`Fsas`] |
//! | `k2.Fsa` with its attributes | [`Graph`] |
//! | `k2.Fsa.from_str`, `to_str` | [`io::K2Text`] |
//! | `as_dict`, `from_dict` | [`io::to_dict`], [`io::from_dict`] |
//! | `to_tensor` | [`io::fsa_vec_to_tensor`] |
//! | `create_fsa_vec`, `index_fsa` | [`FsaVec::from_fsas`], [`FsaVec::index`] |
//! | `cat` | [`FsaVec::cat`] |
//! | a fatal error, a stack trace | [`Error`] |
//!
//! | OpenFst | here |
//! |---|---|
//! | `StdVectorFst` with costs | `Graph<Fsa>` with scores |
//! | a final cost | an arc with label -1 into the last state |
//! | `AddState`, `AddArc`, `SetFinal` | [`FsaBuilder`] |
//! | `Compose`, `Intersect`, `RmEpsilon`, `Connect`, `ArcSort` | [`k2`] |
//! | `ComposeFst` with look-ahead | [`k2::ComposeOptions::look_ahead`] |
//! | the same with OpenFst's pushed weights | [`on_demand::Composition`] |
//! | look-ahead of labels and weights for CTC | [`dense::LookAheadGraph`] |
//! | `ConstFst`, `NGramFst` | [`Transducer`] |
//! | `Determinize`, `EpsNormalize`, `Minimize`, `Push`, `Difference`, `Project` | [`openfst`] |
//! | `Equivalent` | [`equivalent`] |
//! | `ShortestPath` | [`openfst::shortest_paths`] |
//! | `ShortestDistance` | [`paths::shortest_distance`] |
//!
//! # Guarantees
//! - State 0 is the start state and the last state is the final one. Arcs that enter it have
//!   label -1, and no other arcs have it. An [`Fsa`] that violates this cannot be built, nor one
//!   with a score that is NaN or plus infinity.
//! - The result does not depend on the number of threads, and is the same every time.
//! - Operations whose result can grow without bound have [`Limits`].
//! - No input makes this crate panic, except for an index of an FSA or a state that is out of
//!   range, in queries that document it.
//!
//! # Design
//! - An FSA follows k2, and larger scores are better. OpenFst's final costs become arcs only in
//!   [`io`], so that determinization and minimization exist once.
//! - Algorithms take and return FSAs without attributes. [`Graph`] carries output labels, other
//!   attributes and gradients along by one gather through the arc map.
//! - [`Fsa`], [`FsaVec`] and [`FsaOrVec`] share one memory layout. No algorithm recurses, because
//!   the depth is the user's data.
//! - Functions whose result can grow without bound return an error with the sizes before they
//!   allocate.
//! - Composition is written once, as the expansion of one pair of states (`k2/meeting.rs`).
//!   Look-ahead is a test that a pair must pass before it becomes a state, so results with and
//!   without it agree on all that reaches the final state.
//! - A search keeps tokens and links in flat arrays (`dense`). A link that is worse than its
//!   state's best path by more than the output beam is dropped at once; a backward pass prunes the
//!   rest when the links have doubled. Neither step can remove an arc of the final lattice. So
//!   lattices are exact, and memory is proportional to their size.
//! - Epsilon arcs are followed within a frame (`dense/closure.rs`), in rounds (Bellman and Ford)
//!   until no score improves; in the lattice they have no frame. So a graph may keep the back-off
//!   arcs of its grammar: removing them turns 2 million arcs of L o G into 19 million.
//! - [`dense::LookAheadGraph`] numbers pairs of states as the search reaches them. Potentials
//!   telescope along a path, so any look-ahead is exact. Each utterance or stream has its own pairs
//!   behind a mutex, and `forget` renumbers the pairs that tokens and links still need. The graph
//!   computes the arcs of a pair and `visited` numbers these pairs, so the two modules import each
//!   other.
//! - [`on_demand::Composition`] does not forget single states: atomic words in pages hold them, all
//!   decoders fill the pages without waiting, and a full table is dropped as a whole once each
//!   decoder has taken its live states into the next one. So a reader never meets a state that goes
//!   away, and there is no unsafe code.
//! - An n-gram model is its file: one block of bytes, in memory or mapped, which is checked when it
//!   is loaded. There is no unsafe code, and no second representation.
//!
//! # Features
//! `rayon` (on): several FSAs, and parts of a large one, on several threads, with the same result.
//! `npz`: NumPy's archives. `serde`: options, such as [`ComposeOptions`](k2::ComposeOptions) and
//! [`HlgOptions`](graphs::HlgOptions).
//!
//! # Unsafe code
//! `support/slots.rs` sets the length of a vector after several threads have filled parts of known
//! lengths. So FSAs are written once, in place: `top_sort` of a million arcs takes 7.3 ms instead
//! of 9.4, and on two threads 4.0 ms instead of 6.4.
//!
//! # When not to use it
//! For other semirings than the tropical and the log one, take `rustfst`.

#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod core;
pub mod dense;
mod equivalence;
mod error;
pub mod graphs;
pub mod incremental;
pub mod io;
pub mod k2;
pub mod lattice;
pub mod on_demand;
pub mod openfst;
pub mod paths;
mod support;

pub use crate::core::arc::{Arc, EPSILON, FINAL};
pub use crate::core::attributes::{Attribute, Attributes};
pub use crate::core::fsa::{Fsa, FsaOrVec, FsaVec, Fsas};
pub use crate::core::fsa_builder::FsaBuilder;
pub use crate::core::graph::{AUX_LABELS, Graph};
pub use crate::core::graph_labels::GraphLabels;
pub use crate::core::label_reach::LabelReach;
pub use crate::core::limits::Limits;
pub use crate::core::properties::Properties;
pub use crate::core::semiring::Semiring;
pub use crate::core::transducer::{CostArc, StateArcs, Transducer};
pub use crate::core::view::FsaView;
pub use crate::equivalence::{Equivalence, equivalent};
pub use crate::error::{AttributeProblem, Error, Limited, LookAheadProblem, Operation, Quantity, TensorProblem};
pub use ragged_core::{Buffer, Ragged, RaggedShape, Real, RowSplits, TextError};
