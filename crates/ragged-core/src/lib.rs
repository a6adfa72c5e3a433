//! Under construction.

#![deny(unsafe_code)]

mod convert;
mod coordinates;
mod error;
mod ids;
mod kernels;
mod ragged;
mod row_splits;
#[cfg(feature = "serde")]
mod serde_impl;
mod shape;
mod shape_ops;
mod text;
mod value_ops;
mod view;

pub use error::Error;
pub use ragged::Ragged;
pub use row_splits::{RowSplits, Rows};
pub use shape::RaggedShape;
pub use text::{Numbers, ParseError, ParseErrorKind, TextValue};
pub use value_ops::{
    Float, Integer, Number, Order, PadMode, PadSide, Padded, Unique, index_add, index_add_rows, index_and_sum,
    index_and_sum_grad, index_select, index_select_rows, index_tensor_ragged,
};
pub use shape_ops::Renumbering;
pub use view::{Lists, RaggedView};
