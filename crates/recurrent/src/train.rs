//! Training: a linear layer, layer normalisation, losses, optimizers with their schedules,
//! clipping, initializers, and a store of parameters for files.
//!
//! There is no autograd. A forward pass returns the values that its backward pass needs. The
//! gradients of a layer have the type of the layer, so that [`Parameters`](crate::Parameters)
//! serves both.
//!
//! ```text
//!   x --forward--> y --Linear--> scores --cross_entropy--> loss
//!                                                           |
//!   clip_grad_norm <--backward-- <--Linear::backward-- <----'   then Adam::step
//! ```
//!
//! - Scores of rows: [`Linear`] (PyTorch's `nn.Linear`).
//! - Losses: [`log_softmax`], [`nll_loss`], [`cross_entropy`] (`nn.LogSoftmax`, `nn.NLLLoss`,
//!   `nn.CrossEntropyLoss`).
//! - Rows of mean 0 and variance 1: [`LayerNorm`] (`nn.LayerNorm`).
//! - Optimizers: [`Sgd`], [`Adam`], [`clip_grad_norm`] (`torch.optim`, `clip_grad_norm_`).
//! - Learning rates: [`WarmUpDecay`] (`torch.optim.lr_scheduler`).
//! - Regularisation: [`Dropout`](crate::Dropout) (`nn.Dropout`).
//! - Initial values: [`uniform`], `fill_*` of [`Named`](crate::Named) (`nn.init`).
//! - Files: [`ParameterStore`] (`state_dict`, `safetensors`).
//!
//! A checkpoint is a store with the parameters and [the optimizer's state](Adam::save_moments).
//! Training then resumes to the bit.
//!
//! `examples/examples/recurrent_memory.rs` is a whole program; `examples/digits` trains a speech
//! recogniser.
//!
//! # One bias where PyTorch has two
//! PyTorch trains `bias_ih` and `bias_hh`, although a network uses only their sum. Here the sum is
//! trained. (The candidate of a GRU needs both, so this crate has both: `bias` and `bias_hn`.) Each
//! of PyTorch's biases has the gradient of the sum here, so both make the same step, and their sum
//! moves twice as far as `bias` does. The networks are equal; their training is not:
//!
//! | step | the sum in PyTorch | `bias` here | for the same step |
//! |---|---|---|---|
//! | [`Sgd`], also with momentum | -2 rate g | -rate g | double the gradient by `bias` |
//! | [`Adam`] | -2 rate m/√v | -rate m/√v | double the rate (a larger g has no effect) |
//! | decay ([`Sgd`], decoupled) | -rate decay b | -rate decay b | halve it if the rate is doubled |
//! | [`clip_grad_norm`] | counts g² twice | counts g² once | |
//!
//! A rate of its own takes an optimizer of its own, over a type whose
//! [`Parameters`](crate::Parameters) are only the biases. With the same other settings, the shorter
//! steps of biases rarely affect the trained network; they matter only in a comparison step by
//! step.

mod clip;
mod init;
mod layer_norm;
mod linear;
mod loss;
mod moments;
mod optimizer;
mod schedule;

pub use crate::weights::ParameterStore;
pub use clip::clip_grad_norm;
pub use init::uniform;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use loss::{Loss, cross_entropy, log_softmax, log_softmax_backward, nll_loss, num_correct};
pub use optimizer::{Adam, AdamOptions, Sgd, SgdOptions};
pub use schedule::WarmUpDecay;
