//! Kaldi's nnet3 networks: read, written, and computed over whole utterances, streams and batches
//! of streams.
//!
//! ```text
//! final.raw, final.mdl --Nnet::read, AcousticModel::read--> Nnet: components, nodes, as in a file
//!                                                             |
//!                 Network, for utterances <-------------------+--> LoopedNetwork, for streams
//!
//! features, i-vectors --Network::compute, Stream::accept--> rows of the output
//! ```
//!
//! An [`Nnet`] keeps everything of its file, so that it is written byte for byte as it was read. A
//! [`Network`] computes: in test mode, with batch norms and the like as parts of the functions
//! before them. Which rows of which node are needed is planned once for a number of
//! frames; then each node computes all its rows at once.
//!
//! ```
//! use kaldi_nnet3::{ForwardOptions, Ivectors, Matrix, Network, Nnet};
//!
//! // A file, as text: the sum of a frame's two values and those of the frame before.
//! let text = "<Nnet3> \ninput-node name=input dim=2\n\
//!     component-node name=sum component=sum input=Append(Offset(input, -1), input)\n\
//!     output-node name=output input=sum objective=linear\n\n\
//!     <NumComponents> 1 \n<ComponentName> sum <SumGroupComponent> <Sizes> [ 4 ]\n\
//!     </SumGroupComponent> \n</Nnet3> ";
//! let nnet = Nnet::read(&mut text.as_bytes())?;
//! let network = Network::new(&nnet)?;
//! assert_eq!((network.left_context(), network.right_context()), (1, 0));
//!
//! let features = Matrix::from_vec(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let output = network.compute(&features, Ivectors::None, &ForwardOptions::default())?;
//! // The frame before the first one is a copy of it.
//! assert_eq!(output, Matrix::from_vec(3, 1, vec![6.0, 10.0, 18.0])?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A stream gives the rows of the whole to the last bit if both see the same frames, for any
//! division of the features and any other streams in its batch: each sum of a product has one
//! order.
//!
//! # For users of Kaldi
//!
//! | Kaldi | here |
//! |---|---|
//! | `Nnet`, `nnet3-copy`, `nnet3-init` on a `.raw` | [`Nnet::read`], [`Nnet::write`] |
//! | `AmNnetSimple`, `nnet3-am-copy` | [`AcousticModel`], after `kaldi_io`'s `TransitionModel` |
//! | `ReadEditConfig`, `nnet3-copy --edits` | [`Nnet::edit`] |
//! | `nnet3-info`, `nnet3-am-info` | [`Nnet::info`], [`AcousticModel::info`] |
//! | `SetBatchnormTestMode`, `SetDropoutTestMode`, `CollapseModel` | [`Network::new`] |
//! | `NnetSimpleComputationOptions`, `nnet3-compute` | [`ForwardOptions`], [`Network::compute`] |
//! | `nnet3-xvector-compute` | [`Network::compute_vector`] |
//! | `DecodableNnetLoopedOnline` | [`LoopedOptions`], [`LoopedNetwork`], [`Stream`] |
//!
//! # Features
//!
//! `rayon` (default): the products of long utterances are divided among threads. Results do not
//! depend on it.

#![forbid(unsafe_code)]

mod am;
mod buffers;
mod component_info;
mod config_line;
mod descriptor;
mod edit;
mod error;
mod execute;
mod explore;
mod fields;
mod forward;
mod info;
mod layer;
mod looped;
mod network;
mod nnet;
mod plan;
mod pointwise;
mod product;
mod reader;
mod schema;
mod stream;
mod words;
mod writer;

pub use am::AcousticModel;
pub use descriptor::{Descriptor, IndexVariable};
pub use error::Error;
pub use fields::{Component, Field, Value};
pub use forward::{ForwardOptions, Ivectors, Network};
pub use kaldi_matrix::codec::CodecError;
pub use kaldi_matrix::{Matrix, MatrixBase, Storage, Vector};
pub use looped::{LoopedNetwork, LoopedOptions};
pub use nnet::{Nnet, Node, NodeKind, Objective};
pub use schema::component_types;
pub use stream::Stream;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Types that threads may share, and types that they may pass on.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Nnet>();
    is_send_and_sync::<Network>();
    is_send_and_sync::<LoopedNetwork>();
    is_send_and_sync::<Stream>();
};
