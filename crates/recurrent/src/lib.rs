//! Recurrent networks on mini-batches of sequences without padding: RNN, LSTM and GRU, forward and backward, and what is needed to train
//! them.
//!
//! Utterances differ in length, so that of a mini-batch padded to the longest more than half is padding, which is multiplied like the rest. Here
//! the sequences of a [`LodTensor`](lod::LodTensor) go through time together, longest first, and at each step only those take part that are not
//! over yet:
//!
//! ```text
//!   step       0  1  2  3            The rows stay where they are, sequence after sequence; a step is a row of each of the first
//!   sequence a x  x  x  x   W_hh h   few. W_hh is packed once for a pass, and as soon as a sum of products is there it goes through
//!            c x  x  x      3 rows   its gate, while it is still in a register.
//!            b x  x         at step 1
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
//! assert_eq!(out.last.h.row_data(2), out.y.row(5)); // the state after the last step of the last sequence
//!
//! let grads = saved.backward(OutputGradients { y: Some(&out.y), ..OutputGradients::default() })?;
//! assert_eq!((grads.x.shape(), grads.weights.weight_hh.num_rows()), (x.shape(), 16));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What there is
//! | for | see |
//! |---|---|
//! | one layer in one direction | [`Rnn`], [`Lstm`] (peepholes, projection, limits), [`Gru`] (both kinds); what they share: [`Cell`] |
//! | layers upon layers, both directions, dropout | [`Stack`] |
//! | steps of one's own | [`Recurrent`], [`Step`] |
//! | streams, gradients through a limited number of steps | [`time_window`], with [`State`] carried on |
//! | an input that is the same at all steps | [`with_static_input`] |
//! | learning | [`train`] |
//! | weights of PyTorch and Paddle, files | [`weights`] |
//!
//! # Coming from PyTorch
//! | there | here |
//! |---|---|
//! | `nn.RNN`, `nn.LSTM`, `nn.GRU` with `num_layers`, `bidirectional`, `dropout` | [`Stack`] of [`Rnn`], [`Lstm`], [`Gru`] |
//! | a `PackedSequence` in and out | a [`LodTensor`](lod::LodTensor) in and out; lengths may be 0, and nothing has to be sorted |
//! | `h_0`, `c_0`, `h_n`, `c_n` | a [`State`] for each layer and direction, in the same order |
//! | `proj_size` | [`LstmWeights::weight_hr`] |
//! | `bias_ih`, `bias_hh` | their sum, `bias`; a GRU keeps [`GruWeights::bias_hn`] apart |
//! | `state_dict`, a `.safetensors` file | [`Stack::from_torch`], [`Stack::to_torch`], [`train::ParameterStore`] |
//! | `loss.backward()` | [`StackSaved::backward`], [`Saved::backward`]: a pass is gone back by hand |
//!
//! # Coming from Paddle
//! | there | here |
//! |---|---|
//! | `dynamic_lstm`, `dynamic_lstmp` | [`Lstm`] with [`LstmWeights::from_paddle`]; without `weight_ih` the input is projected already, as Paddle has it |
//! | `dynamic_gru`, `origin_mode` | [`Gru`] with [`GruWeights::from_paddle`], [`Reset::Before`], [`Update`] |
//! | `is_reverse` | [`Direction::Reverse`] |
//! | `DynamicRNN`, `recurrent` | [`Recurrent`] |
//! | `static_input`, `memory` | [`with_static_input`] or [`StepInputs::statics`]; [`State`] or [`StepInputs::memories`] |
//!
//! Paddle drops the gradient of the cell states; here it counts ([`OutputGradients::cells`]).
//!
//! # What always holds
//! - A mini-batch gives what its sequences give one at a time, and pieces of time give what the whole does.
//! - Results do not depend on the number of threads.
//! - Sequences may be empty, and so may the mini-batch: the last state of an empty sequence is its initial one.
//! - Weights and states that are infinite or NaN are refused by name. No input makes this crate panic.
//!
//! # Features
//! `rayon` (on): sequences and directions are divided over threads, with the same results. `openblas`, `pure` (on): what multiplies the large
//! matrices of the way back; without either it is the small product of `kaldera-base`.
//!
//! # When not to use it
//! For networks that are not recurrent, or on graphics processors: there is no autograd and no device here.
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
