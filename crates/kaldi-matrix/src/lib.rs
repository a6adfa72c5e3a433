//! Kaldi's vectors and matrices. Under construction.
#![deny(unsafe_code)]

#[cfg(feature = "openblas")]
extern crate openblas_src as _;

pub mod codec;

mod backend;
mod blas;
mod compare;
mod convert;
mod dct;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod decompositions;
mod display;
mod error;
mod kernels;
mod matrix;
mod matrix_ops;
mod storage;
mod vector;
mod vector_ops;

pub use backend::{BackendInfo, Choice, OpenBlasInfo, backend_info};
pub use dct::compute_dct_matrix;
#[cfg(any(feature = "openblas", feature = "pure"))]
pub use decompositions::{Svd, SymmetricEig};
pub use error::{Error, Shape};
pub use matrix::{Matrix, MatrixBase, SubMatrix, SubMatrixMut, Trans};
pub use storage::{Storage, StorageMut};
pub use vector::{ResizeType, SubVector, SubVectorMut, Vector, VectorBase};
pub use vector_ops::vec_vec;
