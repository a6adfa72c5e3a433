//! Acoustic networks, forward only: they map features of a batch, or of a stream, to
//! log-probabilities or to the rows of a transducer's encoder.
//!
//! ```text
//!   a batch, without padding
//!     LodTensor [frames, D] --Network::log_probs--> LodTensor [frames / subsampling, tokens]
//!   a stream, which keeps a state
//!     rows of a chunk --NetworkStream::accept, finish--> rows
//!
//!   ParameterStore (safetensors) + LayerOptions --> LayerStack: convolution, linear,
//!                                                   normalisation, recurrent
//!   a transducer's predictor and joiner         --> StatelessPredictor, a Predictor
//!   a network and a token for each output       --> Merged: several outputs that are one token
//! ```
//!
//! The README has an example, the layout of the files and the formula of each layer.
//!
//! # Guarantees
//! - The result of an utterance does not depend on the rest of its batch.
//! - A stream gives the result of the whole utterance, for any chunks.
//! - A layer that does not fit the one before it, a tensor of another shape and an option out of
//!   range are errors with the names of the layer and the tensor. They occur when the network is
//!   created, not when it runs. No input makes this crate panic.
//!
//! # Features
//! `rayon` (on): sequences are divided over threads, with the same results.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod error;
mod layers;
mod merged;
mod network;
mod options;
mod predictor;
mod stack;

pub use error::Error;
pub use lod::{Lod, LodTensor};
pub use merged::{Merge, Merged};
pub use network::{Batch, Network, NetworkStream, streams_of};
pub use options::{Function, LayerOptions};
pub use predictor::{Predictor, PredictorState, StatelessPredictor};
pub use recurrent::train::ParameterStore;
pub use stack::LayerStack;
