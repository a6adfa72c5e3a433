//! What a network needs to learn: a linear layer, layer normalisation, a loss, optimizers with their
//! schedules, clipping, initializers, and a store of parameters that files keep.
//!
//! There is no autograd: a forward pass returns what its backward pass needs, and the gradients of
//! a layer are the same type as the layer, so that [`Parameters`](crate::Parameters) holds for
//! both.
//!
//! ```text
//!   x --forward--> y --Linear--> scores --cross_entropy--> loss
//!                                                           |
//!   clip_grad_norm <--backward-- <--Linear::backward-- <----'   then Adam::step
//! ```
//!
//! | for | see | PyTorch's |
//! |---|---|---|
//! | scores of rows | [`Linear`] | `nn.Linear` |
//! | how wrong they are | [`log_softmax`], [`nll_loss`], [`cross_entropy`] | `nn.LogSoftmax`, `nn.NLLLoss`, `nn.CrossEntropyLoss` |
//! | rows of mean 0 and variance 1 | [`LayerNorm`] | `nn.LayerNorm` |
//! | how to become better | [`Sgd`], [`Adam`], [`clip_grad_norm`] | `torch.optim`, `clip_grad_norm_` |
//! | how fast | [`WarmUpDecay`] | `torch.optim.lr_scheduler` |
//! | no reliance on single units | [`Dropout`](crate::Dropout) | `nn.Dropout` |
//! | where to begin | [`uniform`], `fill_*` of [`Named`](crate::Named) | `nn.init` |
//! | keeping what was learnt | [`ParameterStore`] | `state_dict`, `safetensors` |
//!
//! A checkpoint is a store with the parameters and [the optimizer's state](Adam::save_moments);
//! training then resumes to the bit.
//!
//! `examples/examples/recurrent_memory.rs` is a whole program; `examples/digits` trains a
//! speech recogniser.
//!
//! # One bias where PyTorch has two
//! PyTorch trains `bias_ih` and `bias_hh`, which a network only ever adds up; here their sum is
//! trained. (Of a GRU's candidate, which has the two apart, so has this crate: `bias` and
//! `bias_hn`.) Both of PyTorch's have the gradient that the sum has here, and so both make the same
//! step: their sum goes twice as far as `bias` does. The networks are the same, the way to them is
//! not:
//!
//! | step | the sum in PyTorch | `bias` here | to go as far |
//! |---|---|---|---|
//! | [`Sgd`], also with momentum | -2 rate g | -rate g | the gradient by `bias` twice |
//! | [`Adam`] | -2 rate m/√v | -rate m/√v | twice the rate: gradients twice as large do not lengthen its steps |
//! | weight decay of [`Sgd`] or decoupled | -rate decay b | -rate decay b | with twice the rate: half the decay |
//! | [`clip_grad_norm`] | counts g² twice | counts g² once | |
//!
//! A rate of its own takes an optimizer of its own, over a type whose
//! [`Parameters`](crate::Parameters) are the biases alone. Other settings equal, the shorter steps
//! of biases rarely show in what is learnt; only a comparison step by step has to heed them.

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
