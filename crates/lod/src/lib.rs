//! Mini-batches of sequences of any depth without padding: Paddle's LoD tensors.

#![forbid(unsafe_code)]

mod algebra;
mod check;
mod error;
mod lod;
mod parts;
mod rank;
mod rows;
mod tensor;

pub use check::{check_abs_lod, check_lod};
pub use error::Error;
pub use lod::Lod;
pub use parts::LodSlice;
pub use rank::{RankItem, RankTable, sort_by_seq_len};
pub use tensor::LodTensor;
