//! Traces of products, without the other elements of the product. In double precision and a fixed
//! order.

use kaldera_base::Real;

use crate::dense::products::left_first;
use crate::error::Error;
use crate::kernels::functions;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::storage::Storage;

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// `tr(self)`, the sum of the diagonal. With `check_square` the matrix must be square.
    ///
    /// # Errors
    /// [`Error::NotSquare`].
    #[doc(alias = "Trace")]
    pub fn trace(&self, check_square: bool) -> Result<T, Error> {
        if check_square && self.num_rows() != self.num_cols() {
            return Err(Error::NotSquare { operation: "trace", found: self.shape() });
        }
        let diagonal = self.rows().enumerate().filter_map(|(i, row)| row.get(i));
        Ok(T::from_f64(diagonal.map(|x| x.to_f64()).sum()))
    }
}

/// `tr(a)`, the sum of the diagonal.
///
/// # Errors
/// [`Error::NotSquare`].
#[doc(alias = "TraceMat")]
pub fn trace_mat<T: Real>(a: &MatrixBase<impl Storage<Elem = T>>) -> Result<T, Error> {
    a.trace(true)
}

/// `tr(a op(b))`: with [`Trans::No`] `Σ a(i, j) b(j, i)`, with [`Trans::Yes`] `Σ a(i, j) b(i, j)`.
///
/// ```
/// # use kaldi_matrix::{Matrix, Trans};
/// # use kaldi_matrix::traces::trace_mat_mat;
/// let a = Matrix::from_vec(1, 2, vec![3.0_f32, 4.0])?;
/// assert_eq!(trace_mat_mat(&a, &a, Trans::Yes)?, 25.0);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::ProductMismatch`] unless the product of the two is a square matrix.
#[doc(alias = "TraceMatMat")]
pub fn trace_mat_mat<T: Real>(
    a: &MatrixBase<impl Storage<Elem = T>>,
    b: &MatrixBase<impl Storage<Elem = T>>,
    trans: Trans,
) -> Result<T, Error> {
    let (left, right) = (a.shape(), b.shape().seen(trans));
    if left != right.seen(Trans::Yes) {
        return Err(Error::ProductMismatch { operation: "trace_mat_mat", left, right });
    }
    let transposed;
    let b = match trans {
        Trans::Yes => b.view(),
        Trans::No => {
            transposed = b.transposed();
            transposed.view()
        }
    };
    Ok(T::from_f64(a.rows().zip(b.rows()).map(|(a, b)| functions::dot_f64(a, b)).sum()))
}

/// `tr(op(a) op(b) op(c))`, in the order with fewer multiplications.
///
/// # Errors
/// [`Error::ProductMismatch`] unless the product of the three is a square matrix.
#[doc(alias = "TraceMatMatMat")]
pub fn trace_mat_mat_mat<T: Real>(
    a: &MatrixBase<impl Storage<Elem = T>>,
    trans_a: Trans,
    b: &MatrixBase<impl Storage<Elem = T>>,
    trans_b: Trans,
    c: &MatrixBase<impl Storage<Elem = T>>,
    trans_c: Trans,
) -> Result<T, Error> {
    // The product of two, then the trace of its product with the third; the trace does not change
    // under a cyclic permutation.
    if left_first(a.shape().seen(trans_a), b.shape().seen(trans_b), c.shape().seen(trans_c)) {
        trace_mat_mat(&product(a, trans_a, b, trans_b)?, c, trans_c)
    } else {
        trace_mat_mat(&product(b, trans_b, c, trans_c)?, a, trans_a)
    }
}

/// `tr(op(a) op(b) op(c) op(d))`.
///
/// # Errors
/// [`Error::ProductMismatch`] unless the product of the four is a square matrix.
#[doc(alias = "TraceMatMatMatMat")]
#[expect(clippy::too_many_arguments, reason = "four operands, each with its flag, as in Kaldi")]
pub fn trace_mat_mat_mat_mat<T: Real>(
    a: &MatrixBase<impl Storage<Elem = T>>,
    trans_a: Trans,
    b: &MatrixBase<impl Storage<Elem = T>>,
    trans_b: Trans,
    c: &MatrixBase<impl Storage<Elem = T>>,
    trans_c: Trans,
    d: &MatrixBase<impl Storage<Elem = T>>,
    trans_d: Trans,
) -> Result<T, Error> {
    let ab = product(a, trans_a, b, trans_b)?;
    let cd = product(c, trans_c, d, trans_d)?;
    trace_mat_mat(&ab, &cd, Trans::No)
}

/// `op(a) op(b)`.
fn product<T: Real>(
    a: &MatrixBase<impl Storage<Elem = T>>,
    trans_a: Trans,
    b: &MatrixBase<impl Storage<Elem = T>>,
    trans_b: Trans,
) -> Result<Matrix<T>, Error> {
    let mut product = Matrix::zeros(a.shape().seen(trans_a).rows, b.shape().seen(trans_b).cols);
    product.add_mat_mat(T::ONE, a, trans_a, b, trans_b, T::ZERO)?;
    Ok(product)
}
