//! Backends of the products and the decompositions: OpenBLAS, faer or loops of this crate.
//!
//! The callers have checked that the shapes fit. This module handles the degenerate cases (nothing
//! to compute, or nothing to add). For the others [`choice`] selects a library, which is a
//! [`Backend`], and the generic element becomes `f32` or `f64`.

mod choice;
mod element;
#[cfg(feature = "pure")]
mod faer;
pub(crate) mod info;
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) mod log_det;
#[cfg(feature = "openblas")]
#[expect(unsafe_code, reason = "calls into a C library")]
mod openblas;
mod plain;
#[cfg(test)]
mod tests;

use kaldera_base::Real;

use crate::backend::choice::{Operation, choose};
use crate::backend::element::{by_type, mat, mat_mut, scalar, slice, slice_mut};
#[cfg(any(feature = "openblas", feature = "pure"))]
use crate::backend::log_det::LogDet;
#[cfg(any(feature = "openblas", feature = "pure"))]
use crate::error::Error;
use crate::kernels;
use crate::matrix::{SubMatrix, SubMatrixMut, Trans};

/// A matrix operand of a product: unchanged, or transposed.
type Op<'a, T> = (SubMatrix<'a, T>, Trans);

/// The computations of a library with elements of one type. The callers have checked that the
/// shapes fit.
///
/// Decompositions are `None` if the library has none, or if they do not converge.
trait Backend<T: Real> {
    /// C = alpha op(A) op(B) + beta C.
    fn gemm(&self, alpha: T, a: Op<'_, T>, b: Op<'_, T>, beta: T, c: SubMatrixMut<'_, T>);

    /// y = alpha op(A) x + beta y.
    fn gemv(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]);

    /// A += alpha x y'.
    fn ger(&self, alpha: T, x: &[T], y: &[T], a: SubMatrixMut<'_, T>);

    /// Lower triangle of C = alpha op(A) op(A)' + beta C.
    fn syrk(&self, alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, c: SubMatrixMut<'_, T>);

    /// See [`eigh`].
    #[cfg(any(feature = "openblas", feature = "pure"))]
    fn eigh(&self, _a: SubMatrix<'_, T>, _s: &mut [T], _v: SubMatrixMut<'_, T>) -> Option<()> {
        None
    }

    /// See [`svd`].
    #[cfg(any(feature = "openblas", feature = "pure"))]
    fn svd(&self, _a: SubMatrix<'_, T>, _u: SubMatrixMut<'_, T>, _s: &mut [T], _vt: SubMatrixMut<'_, T>) -> Option<()> {
        None
    }

    /// See [`singular_values`].
    #[cfg(any(feature = "openblas", feature = "pure"))]
    fn singular_values(&self, _a: SubMatrix<'_, T>, _s: &mut [T]) -> Option<()> {
        None
    }

    /// See [`invert`].
    #[cfg(any(feature = "openblas", feature = "pure"))]
    fn invert(&self, _a: SubMatrix<'_, T>, _inverse: Option<SubMatrixMut<'_, T>>) -> Option<LogDet<f64>> {
        None
    }

    /// See [`invert_symmetric`].
    #[cfg(any(feature = "openblas", feature = "pure"))]
    fn invert_symmetric(&self, _a: SubMatrix<'_, T>, _inverse: Option<SubMatrixMut<'_, T>>) -> Option<LogDet<f64>> {
        None
    }

    /// See [`eig`].
    #[cfg(any(feature = "openblas", feature = "pure"))]
    fn eig(&self, _a: SubMatrix<'_, f64>, _re: &mut [f64], _im: &mut [f64], _p: SubMatrixMut<'_, f64>) -> Option<()> {
        None
    }
}

/// C = alpha op(A) op(B) + beta C.
pub(crate) fn gemm<T: Real>(
    alpha: T,
    (a, trans_a): Op<'_, T>,
    (b, trans_b): Op<'_, T>,
    beta: T,
    mut c: SubMatrixMut<'_, T>,
) {
    let k = a.shape().seen(trans_a).cols;
    if c.is_empty() || k == 0 || alpha == T::ZERO {
        c.rows_mut().for_each(|row| kernels::scale(row, beta));
        return;
    }
    let strides = a.stride().max(b.stride()).max(c.stride());
    let library =
        choose(Operation::Gemm, c.num_rows().max(c.num_cols()).max(k)).within_i32(strides.max(c.num_rows()).max(k));
    by_type!(T is U, {
        library.backend::<U>().gemm(scalar(alpha), (mat(a), trans_a), (mat(b), trans_b), scalar(beta), mat_mut(c));
    });
}

/// y = alpha op(A) x + beta y.
pub(crate) fn gemv<T: Real>(alpha: T, a: SubMatrix<'_, T>, trans: Trans, x: &[T], beta: T, y: &mut [T]) {
    if y.is_empty() || x.is_empty() || alpha == T::ZERO {
        kernels::scale(y, beta);
        return;
    }
    let library = choose(Operation::Gemv, a.num_rows().max(a.num_cols())).within_i32(a.stride().max(a.num_rows()));
    by_type!(T is U, library.backend::<U>().gemv(scalar(alpha), mat(a), trans, slice(x), scalar(beta), slice_mut(y)));
}

/// A += alpha x y'.
pub(crate) fn ger<T: Real>(alpha: T, x: &[T], y: &[T], a: SubMatrixMut<'_, T>) {
    if a.is_empty() || alpha == T::ZERO {
        return;
    }
    let library = choose(Operation::Ger, x.len().saturating_mul(y.len())).within_i32(a.stride().max(x.len()));
    by_type!(T is U, library.backend::<U>().ger(scalar(alpha), slice(x), slice(y), mat_mut(a)));
}

/// Lower triangle of C = alpha op(A) op(A)' + beta C.
pub(crate) fn syrk<T: Real>(alpha: T, a: SubMatrix<'_, T>, trans: Trans, beta: T, mut c: SubMatrixMut<'_, T>) {
    let (n, k) = (c.num_rows(), a.shape().seen(trans).cols);
    if n == 0 || k == 0 || alpha == T::ZERO {
        c.rows_mut().enumerate().for_each(|(r, row)| kernels::scale(&mut row[..=r], beta));
        return;
    }
    let library = choose(Operation::Syrk, n.max(k)).within_i32(a.stride().max(c.stride()).max(a.num_rows()));
    by_type!(T is U, library.backend::<U>().syrk(scalar(alpha), mat(a), trans, scalar(beta), mat_mut(c)));
}

/// Decomposes a symmetric matrix into V diag(s) V'. Fills `s` with the eigenvalues, in any order,
/// and `v` with an eigenvector in each column.
///
/// The matrix must be finite and not empty, and both its triangles must be filled.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn eigh<T: Real>(a: SubMatrix<'_, T>, s: &mut [T], v: SubMatrixMut<'_, T>) -> Result<(), Error> {
    let shape = a.shape();
    let library = choose(Operation::Eigh, shape.rows).within_lapack(shape)?;
    let done = by_type!(T is U, library.backend::<U>().eigh(mat(a), slice_mut(s), mat_mut(v)));
    done.ok_or(Error::NoConvergence { operation: "symmetric_eig", shape })
}

/// Decomposes a matrix into U diag(s) V', with as many singular values as its shorter side has
/// elements, in any order.
///
/// The matrix must be finite and not empty.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn svd<T: Real>(
    a: SubMatrix<'_, T>,
    u: SubMatrixMut<'_, T>,
    s: &mut [T],
    vt: SubMatrixMut<'_, T>,
) -> Result<(), Error> {
    let shape = a.shape();
    let library = choose(Operation::Svd, shape.rows.max(shape.cols)).within_lapack(shape)?;
    let done = by_type!(T is U, library.backend::<U>().svd(mat(a), mat_mut(u), slice_mut(s), mat_mut(vt)));
    done.ok_or(Error::NoConvergence { operation: "svd", shape })
}

/// Computes the singular values of a matrix, in any order. The matrix must be finite and not empty.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn singular_values<T: Real>(a: SubMatrix<'_, T>, s: &mut [T]) -> Result<(), Error> {
    let shape = a.shape();
    let library = choose(Operation::Svd, shape.rows.max(shape.cols)).within_lapack(shape)?;
    let done = by_type!(T is U, library.backend::<U>().singular_values(mat(a), slice_mut(s)));
    done.ok_or(Error::NoConvergence { operation: "singular_values", shape })
}

/// Computes the determinant of a matrix, and its inverse if `inverse` is given and there is one.
/// The matrix must be square and finite.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn invert<T: Real>(
    operation: &'static str,
    a: SubMatrix<'_, T>,
    inverse: Option<SubMatrixMut<'_, T>>,
) -> Result<LogDet<T>, Error> {
    let shape = a.shape();
    if shape.rows == 0 {
        return Ok(LogDet { log: T::ZERO, sign: T::ONE });
    }
    let library = choose(Operation::Invert, shape.rows).within_lapack(shape)?;
    let det = by_type!(T is U, library.backend::<U>().invert(mat(a), inverse.map(mat_mut)).map(LogDet::converted));
    det.ok_or(Error::NoConvergence { operation, shape })
}

/// Computes the determinant of a symmetric matrix, and the lower triangle of its inverse if
/// `inverse` is given and there is one.
///
/// The matrix must be square and finite, and both its triangles must be filled. The values above
/// the diagonal of the target are undefined afterwards.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn invert_symmetric<T: Real>(
    operation: &'static str,
    a: SubMatrix<'_, T>,
    inverse: Option<SubMatrixMut<'_, T>>,
) -> Result<LogDet<T>, Error> {
    let shape = a.shape();
    if shape.rows == 0 {
        return Ok(LogDet { log: T::ZERO, sign: T::ONE });
    }
    let library = choose(Operation::InvertSymmetric, shape.rows).within_lapack(shape)?;
    let det =
        by_type!(T is U, library.backend::<U>().invert_symmetric(mat(a), inverse.map(mat_mut)).map(LogDet::converted));
    det.ok_or(Error::NoConvergence { operation, shape })
}

/// Computes the eigenvalues `re + i im` and the eigenvectors of a matrix, which must be square,
/// finite and not empty.
///
/// Pairs are adjacent, the value with the positive imaginary part first. Their two columns of `p`
/// are the real and the imaginary part of its eigenvector, of any length.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(crate) fn eig(
    a: SubMatrix<'_, f64>,
    re: &mut [f64],
    im: &mut [f64],
    p: SubMatrixMut<'_, f64>,
) -> Result<(), Error> {
    let shape = a.shape();
    let library = choose(Operation::Eig, shape.rows).within_lapack(shape)?;
    library.backend::<f64>().eig(a, re, im, p).ok_or(Error::NoConvergence { operation: "eig", shape })
}

/// Returns the factors of the determinant of a block diagonal matrix with blocks of one or two
/// rows. `beside(k)` is the element (k + 1, k) of a block of two that starts at k.
#[cfg(any(feature = "openblas", feature = "pure"))]
fn block_factors<'a>(
    diagonal: &'a [f64],
    beside: impl Fn(usize) -> Option<f64> + 'a,
) -> impl Iterator<Item = f64> + 'a {
    let mut second = false;
    diagonal.iter().enumerate().flat_map(move |(k, &a)| {
        if std::mem::take(&mut second) {
            return [1.0, 1.0, 1.0];
        }
        let Some(e) = beside(k) else { return [a, 1.0, 1.0] };
        second = true;
        // a b - e^2 = e (a b / e - e). No factor overflows before the determinant's logarithm does.
        [e, e, (a / e) * (diagonal[k + 1] / e) - 1.0]
    })
}
