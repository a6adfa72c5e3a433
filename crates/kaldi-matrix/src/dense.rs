//! Operations on full vectors and matrices.
//!
//! The operations are methods of [`VectorBase`](crate::VectorBase) and
//! [`MatrixBase`](crate::MatrixBase). This module has the functions that are not methods.

mod compare;
mod convert;
mod copy;
mod dct;
mod maps;
mod nnet;
pub(crate) mod ops;
mod orthogonalize;
pub(crate) mod products;
pub(crate) mod reduce;
pub(crate) mod row_kernels;
mod rows_cols;
#[cfg(feature = "serde")]
mod serde;

pub use crate::dense::dct::compute_dct_matrix;
pub use crate::dense::products::outer_product::add_outer_product_plus_minus;
pub use crate::dense::reduce::{assert_same_dim, same_dim, vec_mat_vec, vec_vec};
