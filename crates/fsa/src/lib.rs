//! k2's finite-state acceptors on a CPU, with OpenFst's algorithms beside them.
//!
//! An FSA is a ragged array of arcs, a batch of FSAs one array more: no objects, no pointers, every pass goes over flat memory. Algorithms are
//! functions from FSAs to FSAs and an *arc map*, which says for each new arc the old one that it comes from. What else belongs to arcs (the
//! words of a transducer, scores with gradients, data of one's own) follows by that map, and so do derivatives, backwards.
//!
//! ```text
//!   Graph                FSAs and named attributes of arcs
//!    |- Fsa / FsaVec     [state][arc] / [fsa][state][arc], valid by construction
//!    |   '- Arc          { src_state, dest_state, label, score }, 16 bytes
//!    '- Attributes       aux_labels, ...: a number, a score or a list for each arc
//! ```

#![deny(unsafe_code)]

pub mod algorithms;
mod arc;
mod attributes;
pub mod builders;
mod error;
mod fsa;
mod graph;
pub mod graphs;
pub mod io;
pub mod optimize;
mod parts;
mod properties;
pub mod scores;
mod view;

pub use arc::{Arc, EPSILON, FINAL};
pub use attributes::{Attribute, Attributes};
pub use error::Error;
pub use fsa::{Fsa, FsaOrVec, FsaVec, Fsas};
pub use graph::{AUX_LABELS, Graph};
pub use properties::Properties;
pub use view::FsaView;
