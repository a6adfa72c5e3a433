//! Mini-batches of sequences of any depth without padding: Paddle's LoD tensors.

#![forbid(unsafe_code)]

mod algebra;
mod batches;
mod chain;
mod check;
mod elementwise;
mod error;
mod lod;
mod memory;
mod packed;
mod padding;
mod parts;
mod rank;
mod rows;
mod segment;
pub mod sequence;
mod serialize;
mod share;
mod tensor;

pub use batches::Batching;
pub use chain::{LodChain, MutatesLod, Operator, with_lod_of_inputs};
pub use check::{check_abs_lod, check_lod};
pub use elementwise::{LinearGradients, linear, linear_backward};
pub use error::Error;
pub use lod::Lod;
pub use memory::{fill_memories, init_memories, init_memories_backward, shrink_memory, shrink_memory_backward};
pub use packed::PackedSequence;
pub use padding::{Padding, pad_sequence, unpad_sequence};
pub use parts::LodSlice;
pub use rank::{RankItem, RankTable, sort_by_seq_len};
pub use segment::{Segments, concat_outputs, concat_outputs_into, segment_inputs, segment_inputs_into};
pub use serialize::{AnyLodTensor, PaddleType};
pub use share::LodMut;
pub use tensor::LodTensor;
