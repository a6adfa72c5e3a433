//! Operations on the values of ragged tensors, and the adjoint of each that is differentiable.
//!
//! A gradient function takes the derivatives of a loss by an operation's output and returns the
//! derivatives by its input. Any autograd can use them: this crate keeps no graph.

mod combine;
mod count;
mod gather;
mod moved;
mod normalize;
mod number;
mod pad;
mod per_row;
mod prune;
mod reduce;
mod remove;
mod select;
mod sort;
mod unique;

pub use gather::{index_and_sum, index_and_sum_grad, index_tensor_ragged};
pub use moved::moved_grad;
pub use number::{Float, Integer, Number};
pub use pad::{PadMode, PadSide, Padded};
pub use select::{index_add, index_add_rows, index_select, index_select_rows};
pub use sort::Order;
pub use unique::Unique;
