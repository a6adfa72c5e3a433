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
pub use view::RaggedView;
