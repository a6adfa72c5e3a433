//! Acoustic networks from ONNX files: features or samples of a batch to log-probabilities of tokens, whole or in
//! chunks; and the parts of transducers.
//!
//! ```text
//!   file.onnx --OnnxNetwork::open--> OnnxNetwork, a kaldera_network::Network
//!   decoder.onnx, joiner.onnx --OnnxPredictor::open--> OnnxPredictor, a kaldera_network::Predictor
//!             --Description::read--> names, shapes and metadata: what `kaldera model import` looks at
//!
//!   batch (LodTensor) --one utterance at a time--> Runtime --log-softmax of each row--> LodTensor [frames, tokens]
//! ```
//!
//! The runtime is [RTen](https://docs.rs/rten), pure Rust, or with the feature `ort`, where asked for,
//! the shared library of ONNX Runtime; none of their types is in a public signature.
//!
//! # What always holds
//! - An utterance of a batch has the result that it has alone: there is no padding.
//! - Each row of the result sums to 1 as probabilities, whatever the file's last operator is.
//! - A stream of a network with states gives what the whole gives, whatever its chunks are.
//! - What the file's network cannot be, such as one of a fixed length without states, is an error
//!   when the file is opened. A panic of the runtime is an error, too.
//! - A runtime reads a file after all lengths in it were checked: damage is an error, and neither a hang
//!   nor the end of the process.
//!
//! What a good file makes the runtime compute is not limited: open files that you trust as you trust programs.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod contents;
mod description;
mod error;
mod guard;
mod layout;
mod network;
mod predictor;
mod session;
mod states;
mod stream;

pub use contents::weight_files;
pub use description::{Axis, Description, Element, TensorInfo};
pub use error::Error;
pub use kaldera_network::{Batch, LodTensor, Network, NetworkStream, Predictor, PredictorState};
pub use layout::Layout;
pub use network::{OnnxNetwork, OnnxOptions};
pub use predictor::{OnnxPredictor, PredictorOptions};
pub use session::Runtime;
pub use states::Chunk;
