//! Acoustic networks from ONNX files: they map the features or samples of a batch to
//! log-probabilities of tokens, for whole utterances or in chunks. Also the parts of transducers.
//!
//! ```text
//!   file.onnx                 --OnnxNetwork::open----> OnnxNetwork, a kaldera_network::Network
//!                             --Description::read----> names, shapes and metadata:
//!                                                      for `kaldera model import`
//!   decoder.onnx, joiner.onnx --OnnxPredictor::open--> OnnxPredictor, a kaldera_network::Predictor
//!   decoder_joint.onnx        --OnnxDecoderJoint::open-> OnnxDecoderJoint, the same in one file
//!
//!   batch (LodTensor) --one utterance at a time--> Runtime
//!                     --log-softmax of each row--> LodTensor [frames, tokens]
//! ```
//!
//! The runtime is [RTen](https://docs.rs/rten), pure Rust. With the feature `ort` the caller can
//! choose the shared library of ONNX Runtime instead. None of their types is in a public signature.
//!
//! # Guarantees
//! - The result of an utterance does not depend on the rest of its batch: there is no padding.
//! - Each row of the result sums to 1 as probabilities, for any last operator of the file.
//! - A stream of a network with states gives the result of the whole utterance, for any chunks; up
//!   to rounding if it runs together with others.
//! - A file whose network is not supported, such as one of a fixed length without states, is an
//!   error when it is opened. A panic of the runtime is an error, too.
//! - A runtime reads a file only after all lengths in it were checked: damage is an error, and
//!   neither a hang nor the end of the process.
//!
//! The computation that a valid file asks for is not limited: trust a file before you open it, as
//! you do with a program.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod attention_cache;
mod cif;
mod contents;
mod decoder_joint;
mod description;
mod error;
mod guard;
mod layout;
mod network;
mod predictor;
mod session;
mod states;
mod stream;
mod together;

pub use contents::weight_files;
pub use decoder_joint::OnnxDecoderJoint;
pub use description::{Axis, Description, Element, TensorInfo};
pub use error::Error;
pub use kaldera_network::{Batch, LodTensor, Network, NetworkStream, Predictor, PredictorState};
pub use layout::Layout;
pub use network::{OnnxNetwork, OnnxOptions};
pub use predictor::{OnnxPredictor, PredictorOptions};
pub use session::Runtime;
pub use states::Chunk;
