//! Operators over the sequences of a tensor, without padding: forward, and backward where there is
//! a gradient.
//!
//! Unless an operator says otherwise, a *sequence* is one of the last level, and upper levels
//! stay as they are. Sequences may be empty everywhere. A forward function returns its result
//! and, if there is a gradient, the data that its `backward` needs, owned or shared. A gradient
//! has the shape of the tensor it belongs to, and its LoD unless documented otherwise. Only the
//! shape of the gradient of an output is checked, not its LoD.
//!
//! | Paddle | here |
//! |---|---|
//! | `sequence_pool`, `sequence_first_step`, `sequence_last_step` | [`pool`] |
//! | `sequence_softmax` | [`softmax`]; of any width: [`column_softmax`] |
//! | `sequence_expand`, `sequence_expand_as` | [`expand`], [`expand_as`] |
//! | `sequence_concat`, `sequence_slice` | [`concat()`], [`slice()`] |
//! | `sequence_reverse` | [`reverse`] |
//! | `sequence_pad`, `sequence_unpad`, `sequence_mask` | [`pad`], [`unpad`], [`mask`] |
//! | `sequence_conv`, `row_conv` | [`conv`], [`row_conv`] |
//! | `sequence_reshape`, `lod_reset` | [`reshape`], [`reset`] |
//! | `sequence_scatter` | [`scatter`] |
//! | `sequence_enumerate`, `sequence_erase` | [`enumerate`], [`erase`] |
//! | `sequence_topk_avg_pooling` | [`topk_avg_pool`] |
//! | `im2sequence` | [`im2sequence`] |
//! | `split_lod_tensor`, `merge_lod_tensor` | [`split_by_mask`], [`merge_by_mask`] |
//!
//! Formulas follow Paddle 2.6.2. They are checked against its answers and, for gradients, by
//! finite differences.

mod branch;
mod conv;
mod expand;
mod ids;
mod image;
mod join;
mod pad;
mod pool;
mod reshape;
mod runs;
mod scatter;
mod softmax;
mod topk;

use kaldera_base::Real;
use ragged_core::RowSplits;

use crate::error::Error;
use crate::lod::Lod;
use crate::tensor::LodTensor;

pub use branch::{BranchSaved, merge_by_mask, split_by_mask};
pub use conv::{Context, ConvGradients, ConvSaved, RowConvSaved, conv, row_conv};
pub use expand::{expand, expand_as};
pub use ids::{enumerate, erase, mask};
pub use image::{Im2SequenceSaved, Patches, im2sequence};
pub use join::{ConcatSaved, concat, reverse, slice};
pub use pad::{PadSaved, UnpadSaved, pad, unpad};
pub use pool::{Pool, PoolSaved, pool};
pub use reshape::{ResetSaved, ReshapeSaved, reset, reshape};
pub use runs::MovedRows;
pub use scatter::{ScatterSaved, scatter};
pub use softmax::{SoftmaxSaved, column_softmax, softmax};
pub use topk::{TopkSaved, topk_avg_pool};

/// The sequences of a tensor that must have some.
fn sequences<T: tensor_strided::Element>(x: &LodTensor<T>) -> Result<&RowSplits, Error> {
    x.lod().last().ok_or(Error::NoLevel { level: 0, levels: 0 })
}

/// The sequences of a LoD that must have one level.
fn only_level(what: &'static str, lod: &Lod) -> Result<RowSplits, Error> {
    match (lod.num_levels(), lod.last()) {
        (1, Some(sequences)) => Ok(sequences.clone()),
        (found, _) => Err(Error::NumLevels { what, expected: 1, found }),
    }
}

/// The gradient of an output has its rows and its width.
fn check_gradient<T: Real>(rows: usize, width: usize, grad: &LodTensor<T>) -> Result<(), Error> {
    Error::check_size("the number of rows of the output's gradient", rows, grad.num_rows())?;
    Error::check_size("the width of the output's gradient", width, grad.width())
}

/// a += b
fn add_to<T: Real>(a: &mut [T], b: &[T]) {
    a.iter_mut().zip(b).for_each(|(a, &b)| *a += b);
}
