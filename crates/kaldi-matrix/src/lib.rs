//! Kaldi's vectors and matrices, with OpenBLAS, faer or nothing underneath.
//!
//! A vector is a row of numbers; a matrix is rows of numbers at a fixed distance, the stride. Owned, borrowed and mutably
//! borrowed ones are the same type over another [`Storage`], so each operation exists once and works on all of them.
//!
//! ```text
//!                      columns                           owned       Vector<T>        Matrix<T>
//!             c0   c1   c2                               borrowed    SubVector<T>     SubMatrix<T>
//!   row 0   [ a    b    c  |  x    x    x  ]             to change   SubVectorMut<T>  SubMatrixMut<T>
//!   row 1   [ d    e    f  |  x    x    x  ]
//!   row 2   [ g    h    i  ]                             T is f32 or f64
//!           '-- stride: 6 elements --------'
//!           the gaps `x` belong to someone else; an owned matrix has none, its stride is its number of columns
//! ```
//!
//! ```
//! use kaldi_matrix::{Matrix, Trans, Vector};
//!
//! let features = Matrix::from_fn(4, 3, |frame, bin| (frame * bin) as f32);
//! let mut mean = Vector::zeros(3);
//! mean.add_row_sum_mat(1.0 / 4.0, &features, 0.0)?;
//! assert_eq!(mean.data(), [0.0, 1.5, 3.0]);
//!
//! let mut centred = features.row_range(1, 3)?.to_owned();
//! centred.add_vec_to_rows(-1.0, &mean)?;
//! let mut covariance = Matrix::zeros(3, 3);
//! covariance.add_mat_mat(1.0, &centred, Trans::Yes, &centred, Trans::No, 0.0)?;
//! assert_eq!(covariance[(1, 2)], 5.5);
//! # Ok::<(), kaldi_matrix::Error>(())
//! ```
//!
//! # What holds everywhere
//! - Sizes that disagree are an [`Error`] with both in it, and the operands are as before. Only indexing (`m[(r, c)]`,
//!   [`row`](MatrixBase::row)) panics, as slices do.
//! - With `beta` 0 the old values of a target do not count, not even NaN.
//! - Sums that are not products of matrices have a fixed order: the same numbers on every machine and at every address.
//!   Exponentials and logarithms are [`kaldera_base::math`]'s, good to a few units in the last place, where processors with
//!   fused multiply-add may differ from those without.
//!   Products depend, in their last bits, on the library underneath.
//! - An operand cannot overlap the target; the compiler sees to that.
//!
//! # What there is
//!
//! | type | what it holds | Kaldi's |
//! |---|---|---|
//! | [`Vector`], [`SubVector`], [`SubVectorMut`] | numbers in a row | `Vector`, `SubVector` |
//! | [`Matrix`], [`SubMatrix`], [`SubMatrixMut`] | rows of numbers | `Matrix`, `SubMatrix` |
//! | [`SpMatrix`], [`TpMatrix`] | the lower triangle of a symmetric or triangular matrix, packed | the same |
//! | [`SparseVector`], [`SparseMatrix`] | what is not zero, with its places | the same |
//! | [`CompressedMatrix`] | one or two bytes for each element | the same |
//! | [`GeneralMatrix`] | a full, compressed or sparse matrix | the same |
//! | [`NumpyArray`] | what a `.npy` file holds | the same |
//!
//! Beside arithmetic: singular values, eigenvalues, inverses and Cholesky factors ([`SpMatrix`] and [`MatrixBase`]), quadratic
//! problems, [`linear_cgd`] and [`OptimizeLbfgs`], Fourier transforms in Kaldi's layouts ([`real_fft`], [`complex_fft`]), random
//! numbers from a seed ([`RandomState`]), what neural networks apply to their rows, and Kaldi's files ([`codec`]).
//!
//! # Coming from Kaldi
//! Names are Kaldi's in snake case, and searching here for Kaldi's name finds ours. [`coming_from_kaldi`] lists every method of
//! Kaldi's and what is different. The first line of each method's documentation is its equation:
//!
//! | Kaldi | here |
//! |---|---|
//! | `C.AddMatMat(1.0, A, kTrans, B, kNoTrans, 0.0)` | `c.add_mat_mat(1.0, &a, Trans::Yes, &b, Trans::No, 0.0)?` |
//! | `m(r, c) += v(i)`, `m.Row(r).Scale(2.0)` | `m[(r, c)] += v[i]`, `m.row_mut(r).scale(2.0)` |
//! | `SubMatrix<float> part(m, 0, 2, 1, 3)` | `let part = m.range(0, 2, 1, 3)?` (`range_mut` to change it) |
//! | `m.Resize(r, c, kCopyData)` | `m.resize(r, c, ResizeType::CopyData)` |
//! | `m.Read(is, binary)`, `os << m` | `codec::read(&mut is)?`, `write!(os, "{m}")` |
//!
//! # ndarray, approx and serde
//! Owned arrays and views convert without copying, by `From` and `TryFrom` (a `SubMatrix` from a view needs rows without
//! gaps); `AbsDiffEq` and `RelativeEq` compare with tolerance. With the feature `serde`, vectors, matrices and options are written and
//! read. `Debug` of more than 500 elements shows the shape and the ends of rows and columns; `Display` shows all.
//!
//! # Features
//!
//! | features | products | decompositions |
//! |---|---|---|
//! | none | loops of ours | not there |
//! | `pure` | faer | faer |
//! | `openblas` | OpenBLAS | its LAPACK, through ndarray-linalg |
//! | both (default) | the faster for each operation and shape | likewise |
//!
//! With both, the environment variable `KALDERA_BACKEND=openblas` or `=pure` overrides the choice, and [`backend_info`]
//! tells what is there. All run with one thread: parallelism belongs to the caller, over utterances. OpenBLAS is a system
//! library (Debian: `libopenblas-dev`); `OPENBLAS_NUM_THREADS` changes its number of threads.
//!
//! # When not to use it
//! For arrays of more than two axes, or numbers other than `f32` and `f64`, take `ndarray`. Nothing here runs on a
//! GPU: of Kaldi's `CuMatrix` only what `Matrix` has too is there.
//!
//! # Unsafe code
//! Only the calls into OpenBLAS.

#![deny(unsafe_code)]

#[cfg(feature = "openblas")]
extern crate openblas_src as _;

pub mod codec;

#[doc = include_str!("../KALDI.md")]
pub mod coming_from_kaldi {}

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod backend;
mod blas;
mod compare;
mod compressed;
mod convert;
mod dct;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod decompositions;
mod display;
mod error;
mod fft;
mod functions;
mod general;
mod kernels;
mod matrix;
mod matrix_copy;
mod matrix_maps;
mod matrix_ops;
mod matrix_reduce;
mod matrix_vec;
mod mostly_zero;
mod nnet;
mod numpy;
mod optimization;
mod orthogonalize;
mod outer_product;
mod packed;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod pca;
mod random;
mod rows_cols;
#[cfg(feature = "serde")]
mod serde;
mod sparse;
mod storage;
mod traces;
mod vector;
mod vector_copy;
mod vector_maps;
mod vector_mat;
mod vector_ops;
mod vector_reduce;

pub use backend::{BackendInfo, Choice, OpenBlasInfo, backend_info, stop_idle_blas_threads};
pub use compressed::{CompressedMatrix, CompressionMethod};
pub use dct::compute_dct_matrix;
#[cfg(any(feature = "openblas", feature = "pure"))]
pub use decompositions::{
    GeneralEig, LogDet, Svd, SymmetricEig, attempt_complex_power, create_eigenvalue_matrix, sort_svd,
};
pub use error::{Error, Shape};
pub use fft::{
    FftScratch, SplitRadixComplexFft, SplitRadixRealFft, complex_add_product, complex_fft, complex_ft, complex_im_exp,
    complex_mul, real_fft, real_fft_inefficient, real_fft_with,
};
pub use general::{
    GeneralMatrix, GeneralMatrixType, append_general_matrix_rows, extract_row_range_with_padding,
    filter_compressed_matrix_rows, filter_general_matrix_rows, filter_matrix_rows, filter_sparse_matrix_rows,
};
pub use kaldera_base::Real;
pub use matrix::{Matrix, MatrixBase, Rows, RowsMut, SubMatrix, SubMatrixMut, Trans};
pub use matrix_reduce::{assert_same_dim, same_dim};
pub use numpy::NumpyArray;
pub use optimization::{LbfgsOptions, LinearCgdOptions, OptimizeLbfgs, linear_cgd};
pub use outer_product::add_outer_product_plus_minus;
pub use packed::{
    LowerTriangular, PackedMatrix, SpCopyType, SpMatrix, Symmetric, TpMatrix, trace_mat_sp_mat, trace_mat_sp_mat_sp,
    trace_sp_mat, trace_sp_sp, trace_sp_sp_lower, vec_sp_vec,
};
#[cfg(any(feature = "openblas", feature = "pure"))]
pub use packed::{
    SolverOptions, solve_double_quadratic_matrix_problem, solve_quadratic_matrix_problem, solve_quadratic_problem,
};
#[cfg(any(feature = "openblas", feature = "pure"))]
pub use pca::compute_pca;
pub use random::RandomState;
pub use sparse::{SparseMatrix, SparseVector, trace_mat_smat, vec_svec};
pub use storage::{Storage, StorageMut};
pub use traces::{trace_mat, trace_mat_mat, trace_mat_mat_mat, trace_mat_mat_mat_mat};
pub use vector::{ResizeType, SubVector, SubVectorMut, Vector, VectorBase};
pub use vector_reduce::{vec_mat_vec, vec_vec};

/// What threads may share.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Vector<f32>>();
    is_send_and_sync::<Matrix<f64>>();
    is_send_and_sync::<SubMatrix<'_, f32>>();
    is_send_and_sync::<SubMatrixMut<'_, f32>>();
    is_send_and_sync::<SpMatrix<f32>>();
    is_send_and_sync::<TpMatrix<f32>>();
    is_send_and_sync::<GeneralMatrix>();
    is_send_and_sync::<NumpyArray<f32>>();
    is_send_and_sync::<OptimizeLbfgs<f64>>();
    is_send_and_sync::<RandomState>();
    is_send_and_sync::<SplitRadixRealFft<f32>>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<codec::CodecError>();
};
