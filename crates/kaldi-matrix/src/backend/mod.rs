//! Where the products and the decompositions are computed: OpenBLAS, faer or loops of ours.
//!
//! The operations above have checked that the shapes fit. Here the degenerate cases are taken off (nothing to compute, or
//! nothing to add), then [`choice`] says which library is the fastest for what is left, and the generic element becomes
//! `f32` or `f64`.

mod choice;
mod element;
#[cfg(feature = "pure")]
mod faer;
mod info;
#[cfg(feature = "openblas")]
#[expect(unsafe_code, reason = "calls into a C library")]
mod openblas;
mod plain;
#[cfg(test)]
mod tests;

use kaldera_base::Real;

use self::choice::Backend;
use self::element::{Element, by_type, mat, mat_mut, scalar, slice, slice_mut};
#[cfg(any(feature = "openblas", feature = "pure"))]
use crate::error::Error;
use crate::kernels;
use crate::matrix::{SubMatrix, SubMatrixMut, Trans};

pub use self::info::{BackendInfo, Choice, OpenBlasInfo, backend_info, stop_idle_blas_threads};

/// C = alpha op(A) op(B) + beta C.
pub(crate) fn gemm<T: Real>(
    alpha: T,
    a: SubMatrix<'_, T>,
    trans_a: Trans,
    b: SubMatrix<'_, T>,
    trans_b: Trans,
    beta: T,
    mut c: SubMatrixMut<'_, T>,
) {
    let k = a.shape().seen(trans_a).cols;
    if c.is_empty() || k == 0 || alpha == T::ZERO {
        c.rows_mut().for_each(|row| kernels::scale(row, beta));
        return;
    }
    let strides = a.stride().max(b.stride()).max(c.stride());
    let backend = choice::gemm(c.num_rows(), c.num_cols(), k).within_i32(strides.max(c.num_rows()).max(k));
    by_type!(T is U, {
        gemm_on::<U>(backend, scalar(alpha), mat(a), trans_a, mat(b), trans_b, scalar(beta), mat_mut(c));
    });
}

#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS's gemm")]
fn gemm_on<T: Element>(
    backend: Backend,
    alpha: T,
    a: SubMatrix<'_, T>,
    trans_a: Trans,
    b: SubMatrix<'_, T>,
    trans_b: Trans,
    beta: T,
    c: SubMatrixMut<'_, T>,
) {
    match backend {
        Backend::Plain => plain::gemm(alpha, a, trans_a, b, trans_b, beta, c),
        #[cfg(feature = "openblas")]
        Backend::OpenBlas => openblas::gemm(alpha, a, trans_a, b, trans_b, beta, c),
        #[cfg(feature = "pure")]
        Backend::Pure => faer::gemm(alpha, a, trans_a, b, trans_b, beta, c),
    }
}

/// y = alpha op(A) x + beta y.
pub(crate) fn gemv<T: Real>(alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]) {
    if y.is_empty() || x.is_empty() || alpha == T::ZERO {
        kernels::scale(y, beta);
        return;
    }
    let backend = choice::gemv(a.num_rows(), a.num_cols()).within_i32(a.stride().max(a.num_rows()));
    by_type!(T is U, gemv_on::<U>(backend, scalar(alpha), mat(a), trans, slice(x), scalar(beta), slice_mut(y)));
}

fn gemv_on<T: Element>(backend: Backend, alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]) {
    match backend {
        Backend::Plain => plain::gemv(alpha, a, trans, x, beta, y),
        #[cfg(feature = "openblas")]
        Backend::OpenBlas => openblas::gemv(alpha, a, trans, x, beta, y),
        #[cfg(feature = "pure")]
        Backend::Pure => faer::gemv(alpha, a, trans, x, beta, y),
    }
}

/// A += alpha x y'.
pub(crate) fn ger<T: Real>(alpha: T, x: &[T], y: &[T], a: SubMatrixMut<'_, T>) {
    if a.is_empty() || alpha == T::ZERO {
        return;
    }
    let backend = choice::ger(x.len(), y.len()).within_i32(a.stride().max(x.len()));
    by_type!(T is U, ger_on::<U>(backend, scalar(alpha), slice(x), slice(y), mat_mut(a)));
}

fn ger_on<T: Element>(backend: Backend, alpha: T, x: &[T], y: &[T], a: SubMatrixMut<'_, T>) {
    match backend {
        Backend::Plain => plain::ger(alpha, x, y, a),
        #[cfg(feature = "openblas")]
        Backend::OpenBlas => openblas::ger(alpha, x, y, a),
        #[cfg(feature = "pure")]
        Backend::Pure => faer::ger(alpha, x, y, a),
    }
}

/// The lower triangle of C = alpha op(A) op(A)' + beta C.
pub(crate) fn syrk<T: Real>(alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, mut c: SubMatrixMut<'_, T>) {
    let (n, k) = (c.num_rows(), a.shape().seen(trans).cols);
    if n == 0 || k == 0 || alpha == T::ZERO {
        c.rows_mut().enumerate().for_each(|(r, row)| kernels::scale(&mut row[..=r], beta));
        return;
    }
    let backend = choice::syrk(n, k).within_i32(a.stride().max(c.stride()).max(a.num_rows()));
    by_type!(T is U, syrk_on::<U>(backend, scalar(alpha), mat(a), trans, scalar(beta), mat_mut(c)));
}

fn syrk_on<T: Element>(backend: Backend, alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, c: SubMatrixMut<'_, T>) {
    match backend {
        Backend::Plain => plain::syrk(alpha, a, trans, beta, c),
        #[cfg(feature = "openblas")]
        Backend::OpenBlas => openblas::syrk(alpha, a, trans, beta, c),
        #[cfg(feature = "pure")]
        Backend::Pure => faer::syrk(alpha, a, trans, beta, c),
    }
}

/// A symmetric matrix as V diag(s) V'. Fills `s` with the eigenvalues, in any order, and `v` with an eigenvector in each
/// column.
///
/// The matrix is finite and not empty, and both its triangles are filled.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn eigh<T: Real>(a: SubMatrix<'_, T>, s: &mut [T], v: SubMatrixMut<'_, T>) -> Result<(), Error> {
    let shape = a.shape();
    let backend = choice::eigh(shape.rows).within_lapack(shape)?;
    let done = by_type!(T is U, eigh_on::<U>(backend, mat(a), slice_mut(s), mat_mut(v)));
    done.ok_or(Error::NoConvergence { operation: "symmetric_eig", shape })
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn eigh_on<T: Element>(backend: Backend, a: SubMatrix<'_, T>, s: &mut [T], v: SubMatrixMut<'_, T>) -> Option<()> {
    match backend {
        Backend::Plain => None,
        #[cfg(feature = "openblas")]
        Backend::OpenBlas => openblas::eigh(a, s, v),
        #[cfg(feature = "pure")]
        Backend::Pure => faer::eigh(a, s, v),
    }
}

/// A matrix as U diag(s) V', with as many singular values as its shorter side has elements, in any order.
///
/// The matrix is finite and not empty.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn svd<T: Real>(
    a: SubMatrix<'_, T>,
    u: SubMatrixMut<'_, T>,
    s: &mut [T],
    vt: SubMatrixMut<'_, T>,
) -> Result<(), Error> {
    let shape = a.shape();
    let backend = choice::svd(shape.rows, shape.cols).within_lapack(shape)?;
    let done = by_type!(T is U, svd_on::<U>(backend, mat(a), mat_mut(u), slice_mut(s), mat_mut(vt)));
    done.ok_or(Error::NoConvergence { operation: "svd", shape })
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn svd_on<T: Element>(
    backend: Backend,
    a: SubMatrix<'_, T>,
    u: SubMatrixMut<'_, T>,
    s: &mut [T],
    vt: SubMatrixMut<'_, T>,
) -> Option<()> {
    match backend {
        Backend::Plain => None,
        #[cfg(feature = "openblas")]
        Backend::OpenBlas => openblas::svd(a, u, s, vt),
        #[cfg(feature = "pure")]
        Backend::Pure => faer::svd(a, u, s, vt),
    }
}
