//! Mini-batches of sequences of any depth without padding: Paddle's LoD tensors.

#![forbid(unsafe_code)]

mod error;
mod lod;
mod tensor;

pub use error::Error;
pub use lod::Lod;
pub use tensor::LodTensor;
