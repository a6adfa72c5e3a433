//! Padding-free RNN, LSTM and GRU on mini-batches of sequences, forward and backward.
//!
//! Sequences differ in length. Where others pad a batch to the longest, or copy it into packed steps and back, a cell of this crate
//! takes the rows as they lie in a [`LodTensor`](lod::LodTensor), sequence after sequence: at each step those sequences that are
//! that long give a row each, and the batch shrinks by itself.
//!
//! ```text
//!   x      a0 a1 a2 a3 | b0 b1 | c0 c1 c2            step 0      step 1      step 2   step 3
//!                                                    a0 c0 b0    a1 c1 b1    a2 c2    a3
//!   W x + b   all rows of some steps, one product       |           |          |        |
//!   U h'      the rows of a step, and at once       h = [gates] -> [gates] -> [gates]-> [gates]
//!             all that follows for these units          |           |          |        |
//!   y      a0 a1 a2 a3 | b0 b1 | c0 c1 c2            written where the inputs were
//! ```
//!
//! ```
//! use lod::{Lod, LodTensor};
//! use recurrent::train::uniform;
//! use recurrent::{Cell, Direction, Lstm, OutputGradients, Saved};
//!
//! // Two utterances, of 5 and 2 frames with 3 features each.
//! let x = LodTensor::from_vec([7, 3], vec![0.5; 21], Lod::from_lengths(&[[5, 2]])?)?;
//! let mut lstm = Lstm::<f32>::zeros(3, 4);
//! uniform(&mut lstm.weights, 0.5, 1);
//!
//! let (out, saved) = lstm.forward(&x, Direction::Forward, None)?;
//! assert_eq!((&out.y.shape()[..], out.last.h.num_rows()), (&[7, 4][..], 2));
//!
//! // The loss: half of the sum of the squares of all outputs, whose gradient is the outputs themselves.
//! let gradients = saved.backward(OutputGradients { y: Some(&out.y), ..Default::default() })?;
//! assert_eq!(gradients.weights.weight_hh.num_rows(), 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What there is
//! | for | see |
//! |---|---|
//! | one cell over all sequences | [`Rnn`], [`Lstm`], [`Gru`], all of them a [`Cell`] |
//! | layers, both directions, dropout | [`Stack`] |
//! | a step of one's own | [`Recurrent`], [`Step`] |
//! | streams, truncated back-propagation | [`State`], [`time_window`] |
//! | an input that is the same at all steps | [`with_static_input`] |
//! | weights of PyTorch and Paddle, files | [`weights`] |
//! | learning: losses, optimisers, initial weights | [`train`] |
//!
//! # Coming from PyTorch
//! | there | here |
//! |---|---|
//! | `nn.LSTM(i, h, num_layers, bidirectional=True)` | [`Stack::new`] with [`Lstm::zeros`] |
//! | `pack_padded_sequence`, `pad_packed_sequence` | not needed |
//! | `h0`, `c0`, `h_n`, `c_n` | [`State`], in the order of the sequences |
//! | `bias_ih`, `bias_hh` | one bias, their sum; [`GruWeights::bias_hn`] apart |
//! | `loss.backward()` | [`Saved::backward`] |
//!
//! # Coming from Paddle
//! | there | here |
//! |---|---|
//! | `dynamic_lstm`, `dynamic_lstmp` | [`Lstm`] with [`LstmWeights::peepholes`], [`LstmWeights::weight_hr`] |
//! | `dynamic_gru`, `origin_mode` | [`Gru`] with [`Reset::Before`], [`Update`] |
//! | an input that a layer before has projected | cells without `weight_ih` |
//! | `is_reverse` | [`Direction::Reverse`] |
//! | `DynamicRNN`, `RecurrentOp` | [`Recurrent`] |
//!
//! # What always holds
//! - Outputs share the LoD of the input; states are in the caller's order. Sequences of length 0 are fine, and so is a batch of none.
//! - A row's result does not depend on what stands beside it: a sequence alone, in a batch, or in windows of time with the state carried
//!   over gives the same numbers to the last bit.
//! - Nor does any result depend on the number of threads.
//! - Wrong shapes, other batches and weights that are not finite are an [`Error`] with the name of the tensor.
//!
//! # Features
//! `openblas`, `pure`, `rayon` (all on): what `kaldi-matrix` multiplies large matrices with on the way back, and several threads. The way
//! forward needs none of them.
//!
//! # When not to use it
//! There is no GPU and no automatic differentiation: a network of other layers than these wants `burn` or `candle`.

#![forbid(unsafe_code)]

mod activation;
mod cell;
mod dropout;
mod driver;
mod error;
mod gru;
mod kernels;
mod lstm;
mod parameters;
mod pass;
mod products;
mod rnn;
mod stack;
mod state;
mod static_input;
pub mod train;
mod visit;
pub mod weights;
mod window;

pub use activation::Activation;
pub use cell::{Cell, Saved};
pub use driver::{Recurrent, RecurrentGradients, RecurrentOutput, RecurrentSaved, Step, StepInputs, StepOutputs};
pub use dropout::Dropout;
pub use error::Error;
pub use gru::{Gru, GruOptions, GruSaved, GruWeights, Reset, Update};
pub use kaldi_matrix::{Matrix, Vector};
pub use lstm::{Lstm, LstmOptions, LstmSaved, LstmWeights};
pub use parameters::{Named, Parameters, visit_under, visit_under_mut};
pub use rnn::{Rnn, RnnSaved, RnnWeights};
pub use stack::{Layer, Stack, StackGradients, StackOutput, StackSaved};
pub use state::{Direction, Gradients, Output, OutputGradients, State};
pub use static_input::{with_static_input, with_static_input_backward};
pub use window::time_window;
