//! Conversion of weights: PyTorch's and Paddle's layouts, and safetensors files.
//!
//! ```text
//!   file.safetensors --ParameterStore::load--> names, shapes, --Stack::from_torch--> Stack<Lstm>
//!                    <--ParameterStore::save-- values         <--Stack::to_torch--
//!   Paddle's op inputs --LstmWeights::from_paddle, GruWeights::from_paddle--> weights
//!                      <--to_paddle of both--
//! ```
//!
//! | gates one below the other | order |
//! |---|---|
//! | this crate, PyTorch, cuDNN: LSTM | input i, forget f, candidate g, output o |
//! | Paddle: `lstm`, `lstmp` | candidate, input, forget, output |
//! | this crate, PyTorch, cuDNN: GRU | reset r, update z, candidate n |
//! | Paddle: `gru`, `gru_unit` | update, reset, candidate |
//!
//! [`from_paddle_order`] and [`to_paddle_order`] convert between the two.

mod order;
mod paddle;
mod store;
mod torch;

pub use order::{Gates, from_paddle_order, to_paddle_order};
pub use paddle::{PaddleGru, PaddleLstm};
pub use store::ParameterStore;
pub use torch::{TorchCell, TorchWeights};
