//! Sparse vectors and matrices: only the elements that are not zero are stored, with their indexes.
//!
//! ```text
//!   0   1   2   3   4                        rows
//! [ .   a   .   .   b ]      row 0: (1, a) (4, b)          dim 5
//! [ .   .   .   .   . ]      row 1:                        dim 5
//! [ c   .   .   d   . ]      row 2: (0, c) (3, d)          dim 5
//! ```
//!
//! The indexes ascend, without duplicates.

mod matrix;
mod products;
mod vector;

pub use matrix::SparseMatrix;
pub use products::trace_mat_smat;
pub use vector::{SparseVector, vec_svec};
