//! Mini-batches of sequences of any depth without padding: Paddle's LoD tensors.

#![forbid(unsafe_code)]

mod algebra;
mod check;
mod error;
mod lod;
mod memory;
mod parts;
mod rank;
mod rows;
mod segment;
pub mod sequence;
mod serialize;
mod tensor;

pub use check::{check_abs_lod, check_lod};
pub use error::Error;
pub use lod::Lod;
pub use memory::{fill_memories, init_memories, init_memories_backward, shrink_memory, shrink_memory_backward};
pub use parts::LodSlice;
pub use rank::{RankItem, RankTable, sort_by_seq_len};
pub use segment::{Segments, concat_outputs, concat_outputs_into, segment_inputs, segment_inputs_into};
pub use serialize::{AnyLodTensor, PaddleType};
pub use tensor::LodTensor;
