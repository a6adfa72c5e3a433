//! Recurrent networks on mini-batches of sequences without padding: RNN, LSTM and GRU, forward and
//! backward, and the layers, losses and optimizers to train them.
//!
//! Utterances differ in length. In a mini-batch padded to the longest one, more than half of the
//! rows are padding, which is multiplied like the rest. Here the sequences of a [`LodTensor`]
//! advance in time together, longest first, and each step takes only the sequences that are not
//! over yet:
//!
//! ```text
//!   rows      a0 a1 a2 a3 | b0 b1 | c0 c1 c2       step 0      step 1      step 2      step 3
//!                                                  a0 c0 b0    a1 c1 b1    a2 c2       a3
//!   W x + b   of the rows of some steps at once       |           |           |           |
//!   U h       of a step's rows; as soon as the     h,c of 3 -> h,c of 3 -> h,c of 2 -> h,c of 1
//!             sums of some units are there,           |           |           |           |
//!             their gates
//!   outputs   a0 a1 a2 a3 | b0 b1 | c0 c1 c2       written where the inputs are; nothing is
//!                                                  moved or sorted
//! ```
//!
//! ```
//! use lod::{Lod, LodTensor};
//! use recurrent::train::uniform;
//! use recurrent::{Cell, Direction, Lstm, OutputGradients, Saved};
//!
//! let mut lstm = Lstm::<f32>::zeros(3, 4); // rows of 3 values in, of 4 out
//! uniform(&mut lstm, 0.5, 1);
//!
//! // Sequences of 4, 0 and 2 rows.
//! let x = LodTensor::from_vec([6, 3], vec![0.5; 18], Lod::from_lengths(&[[4, 0, 2]])?)?;
//! let (out, saved) = lstm.forward(&x, Direction::Forward, None)?;
//! assert_eq!((out.y.shape().to_vec(), out.y.lod()), (vec![6, 4], x.lod()));
//! // The state after the last step of the last sequence.
//! assert_eq!(out.last.h.row(2), out.y.row(5));
//!
//! let grads = saved.backward(OutputGradients { y: Some(&out.y), ..OutputGradients::default() })?;
//! assert_eq!((grads.x.shape(), grads.weights.weight_hh.num_rows()), (x.shape(), 16));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Contents
//! - One layer in one direction: [`Rnn`], [`Lstm`] (peepholes, projection, limits), [`Gru`] (both
//!   kinds), and their trait [`Cell`].
//! - Several layers, both directions, dropout: [`Stack`].
//! - A step of your own: [`Recurrent`], [`Step`].
//! - Streams: [`Prepared`], [`PreparedStack`], with [`State`] carried on.
//! - Gradients through a limited number of steps: [`time_window`], with [`State`] carried on.
//! - An input that is the same at all steps: [`with_static_input`].
//! - Training: [`train`].
//! - Weights of PyTorch and Paddle, files: [`weights`].
//!
//! # Coming from PyTorch
//! - `nn.RNN`, `nn.LSTM`, `nn.GRU` with `num_layers`, `bidirectional`, `dropout`: [`Stack`] of
//!   [`Rnn`], [`Lstm`], [`Gru`].
//! - A `PackedSequence` as input and output: a [`LodTensor`]. Lengths may be 0, and no sorting is
//!   needed.
//! - `h_0`, `c_0`, `h_n`, `c_n`: a [`State`] for each layer and direction, in the same order.
//! - `proj_size`: [`LstmWeights::weight_hr`].
//! - `bias_ih`, `bias_hh`: their sum, `bias`. A GRU keeps [`GruWeights::bias_hn`] apart. In
//!   training the sum [makes half the step](train#one-bias-where-pytorch-has-two).
//! - An `nn.Module` of several parts: a struct, with [`parameters!`] for its [`Parameters`].
//! - `state_dict`, a `.safetensors` file: [`Stack::from_torch`], [`Stack::to_torch`],
//!   [`train::ParameterStore`].
//! - `loss.backward()`: [`StackSaved::backward`], [`Saved::backward`]. The caller calls the
//!   backward pass explicitly.
//!
//! # Coming from Paddle
//! - `dynamic_lstm`, `dynamic_lstmp`: [`Lstm`] with [`LstmWeights::from_paddle`]. Without
//!   `weight_ih` the input is projected already, as in Paddle.
//! - `dynamic_gru`, `origin_mode`: [`Gru`] with [`GruWeights::from_paddle`], [`Reset::Before`],
//!   [`Update`].
//! - `is_reverse`: [`Direction::Reverse`].
//! - `DynamicRNN`, `recurrent`: [`Recurrent`].
//! - `static_input`, `memory`: [`with_static_input`] or [`StepInputs::statics`]; [`State`] or
//!   [`StepInputs::memories`].
//!
//! Paddle drops the gradient of the cell states; here it counts ([`OutputGradients::cells`]).
//!
//! # Guarantees
//! - A mini-batch gives the same outputs as its sequences one at a time, to the last bit. Pieces of
//!   time, with the state carried on, give the same outputs as the whole. The same holds for
//!   gradients by initial states.
//! - Results do not depend on the number of threads.
//! - Sequences and the mini-batch may be empty. The last state of an empty sequence is its initial
//!   state.
//! - Weights and states that are infinite or NaN are errors that name the tensor. No input makes
//!   this crate panic.
//!
//! # Design
//! - A time step is one row of each active sequence. No rows are copied into step order: a sequence
//!   keeps its part of each buffer, and kernels gather rows in place.
//! - The recurrent weights are packed once per pass. A panel holds the same units of all gates, so
//!   that gates are applied while the sums are in registers. Input projections are computed for
//!   many rows at once.
//! - The trait [`Parameters`] is all that optimizers, clipping, initializers and files know about a
//!   model.
//!
//! # Features
//! - `rayon` (on by default): divides sequences and directions over threads, with the same results.
//! - `serde`: serialization of options, such as [`LstmOptions`] and
//!   [`AdamOptions`](train::AdamOptions).
//! - `openblas` (a system library), `pure` (Rust: `faer`): multiply the large matrices of the
//!   backward pass. Without either, `kaldera-base` does, which is slower for wide layers.
//!
//! # Limitations
//! Networks that are not recurrent and graphics processors are out of scope: there is no autograd
//! and no device here.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod activation;
mod as_matrix;
mod cell;
mod driver;
mod dropout;
mod error;
mod forward;
mod gru;
mod kernels;
mod lstm;
mod parameters;
mod pass;
mod prepared;
mod products;
mod rnn;
mod stack;
mod state;
mod static_input;
pub mod train;
pub mod weights;
mod window;

pub use activation::Activation;
pub use as_matrix::AsMatrix;
pub use cell::{Cell, Saved};
pub use driver::{Recurrent, RecurrentGradients, RecurrentOutput, RecurrentSaved, Step, StepInputs, StepOutputs};
pub use dropout::Dropout;
pub use error::Error;
pub use gru::{Gru, GruOptions, GruSaved, GruWeights, Reset, Update};
pub use kaldera_base::Real;
pub use kaldi_matrix::{Matrix, Vector};
pub use lod::{Lod, LodTensor, Shape, Tensor};
pub use lstm::{Lstm, LstmOptions, LstmSaved, LstmWeights};
pub use parameters::{Named, Parameters, Visitor, VisitorMut, visit_part, visit_part_mut};
pub use prepared::Prepared;
pub use rnn::{Rnn, RnnSaved, RnnWeights};
pub use stack::{Layer, PreparedStack, Stack, StackGradients, StackOutput, StackSaved};
pub use state::{Direction, Gradients, Output, OutputGradients, State};
pub use static_input::{with_static_input, with_static_input_backward};
pub use window::time_window;
