//! What a network needs to learn: a linear layer, a loss, optimisers, clipping, initialisers, and a store of parameters that files keep.
//!
//! There is no autograd: a forward pass returns what its backward pass needs, and the gradients of a layer are the same type as the layer, so
//! that [`Parameters`](crate::Parameters) holds for both.
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
//! | how to become better | [`Sgd`], [`Adam`], [`clip_grad_norm`] | `torch.optim`, `clip_grad_norm_` |
//! | where to begin | [`uniform`], `fill_*` of [`Named`](crate::Named) | `nn.init` |
//! | keeping what was learnt | [`ParameterStore`] | `state_dict`, `safetensors` |
//!
//! `examples/examples/recurrent_memory.rs` is a whole program.

mod clip;
mod init;
mod linear;
mod loss;
mod optimizer;

pub use crate::weights::ParameterStore;
pub use clip::clip_grad_norm;
pub use init::uniform;
pub use linear::Linear;
pub use loss::{Loss, cross_entropy, log_softmax, log_softmax_backward, nll_loss, num_correct};
pub use optimizer::{Adam, AdamOptions, Sgd, SgdOptions};
