//! OpenFst's algorithms, with OpenFst's semantics: determinization, minimization, weight pushing,
//! epsilon normalization, differences.
//!
//! They take a [`Graph`](crate::Graph): an acceptor, or a transducer whose output labels are the
//! attribute [`AUX_LABELS`](crate::AUX_LABELS).
//!
//! OpenFst's final cost of a state is an arc with label -1 here. So a result has one state more
//! than OpenFst's, and one more arc for each final state of OpenFst's; otherwise the results of
//! [`determinize`] and [`minimize`] are as large as OpenFst's, state by state. Scores are costs
//! with their sign turned.
//!
//! ```
//! use fsa::{Arc, Equivalence, Fsa, Graph};
//!
//! // "a b" and "a c", each with a path of its own: the start and both ends become one state each.
//! let arcs = [(0, 1, 1), (0, 2, 1), (1, 3, 2), (2, 4, 3), (3, 5, -1), (4, 5, -1)];
//! let words = Fsa::from_arcs(
//!     6,
//!     arcs.map(|(src, dest, label)| Arc::new(src, dest, label, 0.0)).to_vec()
//! )?;
//! let smallest = Graph::new(words.clone()).optimize()?;
//! assert_eq!((smallest.fsas().num_states(), smallest.fsas().num_arcs()), (4, 4));
//! assert!(smallest.equivalent(&Graph::new(words), Equivalence::default())?);
//! # Ok::<(), fsa::Error>(())
//! ```

pub(crate) mod determinize;
pub(crate) mod difference;
mod element;
pub(crate) mod encode;
pub(crate) mod epsilon_closure;
pub(crate) mod epsilon_normalize;
pub(crate) mod equivalent;
pub(crate) mod factor;
pub(crate) mod graph_methods;
pub(crate) mod machine;
pub(crate) mod minimize;
pub(crate) mod optimize;
pub(crate) mod partition;
pub(crate) mod project;
pub(crate) mod push;
pub(crate) mod shortest_paths;
pub(crate) mod strings;
pub(crate) mod trim;

pub use determinize::{DeterminizeOptions, determinize};
pub use difference::difference;
pub use encode::{Encoder, encode};
pub use epsilon_normalize::epsilon_normalize;
pub use minimize::{MinimizeOptions, minimize};
pub use optimize::optimize;
pub use project::{Side, project};
pub use push::{PushTo, push_weights, push_weights_log};
pub use shortest_paths::{Unique, shortest_paths};
