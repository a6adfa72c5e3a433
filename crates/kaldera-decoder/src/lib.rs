//! From a network's log-probabilities to words, with times and confidences.

#![forbid(unsafe_code)]

pub mod align;
pub mod ctc;
mod error;
pub mod graph;
mod hash;
mod log_probs;
mod result;
pub mod score;
pub mod transducer;
mod vocabulary;

pub use error::Error;
pub use log_probs::{LogProbs, log_softmax};
pub use result::{FrameTimes, Hypothesis, Recognition, Scores, Segment};
pub use vocabulary::{Vocabulary, WordUnits};
