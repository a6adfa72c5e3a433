//! Kaldi's vectors and matrices. Under construction; the types, their views and their codecs are there.
#![deny(unsafe_code)]

pub mod codec;

mod compare;
mod display;
mod error;
mod matrix;
mod storage;
mod vector;

pub use error::{Error, Shape};
pub use matrix::{Matrix, MatrixBase, SubMatrix, SubMatrixMut, Trans};
pub use storage::{Storage, StorageMut};
pub use vector::{ResizeType, SubVector, SubVectorMut, Vector, VectorBase};
