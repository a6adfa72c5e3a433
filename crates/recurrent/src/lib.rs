//! Padding-free RNN, LSTM and GRU on mini-batches of sequences, forward and backward.

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
