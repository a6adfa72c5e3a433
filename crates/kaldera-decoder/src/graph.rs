//! Decoding with a graph, and endpoint detection.
//!
//! ```text
//!   HLG --GraphRecognizer--> stream --accept---> partial result, endpoint
//!                                   |--finish--> words, times, confidences
//!                                   '--lattice-> fsa::lattice: rescoring, n best
//! ```

mod endpoint;
mod recognizer;
mod word_spellings;

pub use endpoint::{EndpointRule, EndpointRules, EndpointState};
pub use recognizer::{GraphOptions, GraphRecognizer, GraphStream};
pub use word_spellings::WordSpellings;
