//! Kaldi's vectors and matrices, computed by OpenBLAS, by faer or by loops of this crate.
//!
//! A vector is a slice of numbers; a matrix is rows of numbers at a fixed distance, the stride.
//! Owned, borrowed and mutably borrowed ones are the same type over another [`Storage`], so each
//! operation exists once and works on all of them.
//!
//! ```text
//!                      columns                        owned       Vector<T>        Matrix<T>
//!             c0   c1   c2                            borrowed    SubVector<T>     SubMatrix<T>
//!   row 0   [ a    b    c  |  x    x    x  ]          to change   SubVectorMut<T>  SubMatrixMut<T>
//!   row 1   [ d    e    f  |  x    x    x  ]
//!   row 2   [ g    h    i  ]                          T is f32 or f64
//!           '-- stride: 6 elements --------'
//!           the gaps `x` belong to someone else; an owned matrix has none, its stride is
//!           its number of columns
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
//! # Guarantees
//! - Sizes that disagree are an [`Error`] with both sizes, and the operands are unchanged. Only
//!   indexing (`m[(r, c)]`, [`row`](MatrixBase::row)) panics, as slices do.
//! - With `beta` 0 the old values of a target are ignored, even NaN.
//! - Sums other than products of matrices have a fixed order: the same numbers on every machine and
//!   at every address. Exponentials and logarithms come from [`kaldera_base::math`]. They are
//!   accurate to a few units in the last place, and may differ between processors with and without
//!   fused multiply-add. The last bits of products depend on the library.
//! - An operand cannot overlap the target; the compiler checks that.
//!
//! # Types
//!
//! | type | contents | Kaldi's |
//! |---|---|---|
//! | [`Vector`], [`SubVector`], [`SubVectorMut`] | numbers in a row | `Vector`, `SubVector` |
//! | [`Matrix`], [`SubMatrix`], [`SubMatrixMut`] | rows of numbers | `Matrix`, `SubMatrix` |
//! | [`SpMatrix`], [`TpMatrix`] | packed triangle of a symmetric or triangular matrix | the same |
//! | [`SparseVector`], [`SparseMatrix`] | nonzero elements with their indexes | the same |
//! | [`CompressedMatrix`] | one or two bytes for each element | the same |
//! | [`GeneralMatrix`] | a full, compressed or sparse matrix | the same |
//! | [`NumpyArray`] | the contents of a `.npy` file | the same |
//!
//! In addition to arithmetic, there are singular values, eigenvalues, inverses and Cholesky factors
//! ([`SpMatrix`] and [`MatrixBase`]), quadratic problems, [`optimization`], Fourier transforms in
//! Kaldi's layouts (`fft`), random numbers from a seed ([`RandomState`]), row operations of neural
//! networks, and Kaldi's files ([`codec`]).
//!
//! # Coming from Kaldi
//! Names are Kaldi's in snake case, and the search of this page finds the method for Kaldi's name.
//! [`coming_from_kaldi`] lists every method of Kaldi's and the differences. The first line of a
//! method's documentation is its equation:
//!
//! | Kaldi | here |
//! |---|---|
//! | `y.AddMatVec(1.0, M, kTrans, x, 0.0)` | `y.add_mat_vec(1.0, &m, Trans::Yes, &x, 0.0)?` |
//! | `m(r, c) += v(i)`, `m.Row(r).Scale(2.0)` | `m[(r, c)] += v[i]`, `m.row_mut(r).scale(2.0)` |
//! | `SubMatrix<float> part(m, 0, 2, 1, 3)` | `let part = m.range(0, 2, 1, 3)?`, or `range_mut` |
//! | `m.Resize(r, c, kCopyData)` | `m.resize(r, c, ResizeType::CopyData)` |
//! | `m.Read(is, binary)`, `os << m` | `codec::read(&mut is)?`, `write!(os, "{m}")` |
//!
//! # ndarray, approx and serde
//! Owned arrays and views convert without copying, by `From` and `TryFrom` (a `SubMatrix` from a
//! view needs rows without gaps). `AbsDiffEq` and `RelativeEq` compare with a tolerance. The
//! feature `serde` serializes vectors, matrices and options. `Debug` of more than 500 elements
//! shows the shape and the ends of rows and columns; `Display` shows all elements.
//!
//! # Design
//! - The crate has all of Kaldi's matrix library, one idea to a file. `dense/`, `packed/` and
//!   `sparse/` hold operations, `kernels/` loops over slices, `backend/` calls of libraries.
//! - Where Kaldi has a bug, the result here is correct, and the documentation says so. Where Kaldi
//!   leaves an order or a sign open, it is fixed here. `KALDI.md` has a row for each of Kaldi's
//!   methods. A test fails if a method has no row, or if a row names a method that does not exist.
//! - Kaldi's matrix formats are part of this crate: the bytes of a matrix depend only on the
//!   matrix, and reading them needs only `Read`. Tables (keys, script files, offsets, pipes) belong
//!   to `kaldi-io`.
//! - OpenBLAS and faer are behind one private module. No public signature has a type of theirs, and
//!   tests run both on the same inputs. Measurements decide which of them runs for an operation and
//!   a shape. The feature `rayon` (on) is passed on to faer.
//! - OpenBLAS starts a thread for each processor when it is loaded, and these threads spin. A
//!   command that is built with it ends them first. This halves the CPU time of a run over an hour
//!   of audio (0.235 s with them, 0.127 s without).
//!
//! # Features
//!
//! | features | products | decompositions |
//! |---|---|---|
//! | none | loops of this crate | not available |
//! | `pure` | faer | faer |
//! | `openblas` | OpenBLAS | its LAPACK, through ndarray-linalg |
//! | both (default) | the faster for each operation and shape | the same |
//!
//! With `openblas` and `pure`, the environment variable `KALDERA_BACKEND=openblas` or `=pure`
//! overrides the choice, and [`backend_info`] reports the libraries. All run with one thread: the
//! caller runs utterances in parallel. OpenBLAS is a system library (Debian: `libopenblas-dev`).
//! The build links the one in the folder of the environment variable `OPENBLAS_LIB_DIR`, else the
//! one that pkg-config finds, else the one that the linker finds. `OPENBLAS_NUM_THREADS` changes
//! its number of threads at run time. The feature `fft`, on by default, has the module `fft`.
//!
//! # Limits
//! For arrays of more than two axes, or numbers other than `f32` and `f64`, use `ndarray`. There is
//! no GPU support: of Kaldi's `CuMatrix` only the methods of `Matrix` are here.
//!
//! # Unsafe code
//! Only the calls into OpenBLAS.

#![deny(unsafe_code)]

pub mod codec;

#[doc = include_str!("../KALDI.md")]
pub mod coming_from_kaldi {}

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod backend;
mod check;
mod compressed;
#[cfg(any(feature = "openblas", feature = "pure"))]
pub mod decompositions;
pub mod dense;
mod display;
mod error;
#[cfg(feature = "fft")]
pub mod fft;
pub mod general;
mod kernels;
mod matrix;
mod numpy;
pub mod optimization;
pub mod packed;
mod random;
pub mod sparse;
mod storage;
pub mod traces;
mod vector;

pub use backend::info::{BackendInfo, Choice, OpenBlasInfo, backend_info, stop_idle_blas_threads};
pub use compressed::{CompressedMatrix, CompressionMethod};
#[cfg(any(feature = "openblas", feature = "pure"))]
pub use decompositions::{LogDet, Svd, SymmetricEig};
pub use dense::vec_vec;
pub use error::{Error, Shape};
pub use general::GeneralMatrix;
pub use kaldera_base::Real;
pub use matrix::{Matrix, MatrixBase, Rows, RowsMut, SubMatrix, SubMatrixMut, Trans};
pub use numpy::NumpyArray;
pub use packed::{PackedMatrix, SpCopyType, SpMatrix, TpMatrix};
pub use random::RandomState;
pub use sparse::{SparseMatrix, SparseVector};
pub use storage::{Storage, StorageMut};
pub use vector::{ResizeType, SubVector, SubVectorMut, Vector, VectorBase};

/// Types that threads may share.
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
    is_send_and_sync::<optimization::OptimizeLbfgs<f64>>();
    is_send_and_sync::<RandomState>();
    #[cfg(feature = "fft")]
    is_send_and_sync::<fft::SplitRadixRealFft<f32>>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<codec::CodecError>();
};
