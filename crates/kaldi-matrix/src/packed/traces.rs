//! Traces of products, and quadratic forms, with symmetric matrices; all are added in double
//! precision.

use kaldera_base::Real;

use crate::check::{check_dim, check_factors, check_shape};
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::packed::SpMatrix;
use crate::storage::Storage;
use crate::vector::VectorBase;

/// `sum_i x_i y_i` in double precision.
fn dot<T: Real, U: Real>(x: &[T], y: &[U]) -> f64 {
    x.iter().zip(y).map(|(&x, &y)| x.to_f64() * y.to_f64()).sum()
}

/// `tr(a b)`, for matrices of either precision; the result has the precision of `a`.
///
/// ```
/// # use kaldi_matrix::SpMatrix;
/// # use kaldi_matrix::packed::{trace_sp_sp, trace_sp_sp_lower};
/// let a = SpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0])?;
/// assert_eq!(trace_sp_sp(&a, &a)?, 1.0 + 2.0 * 4.0 + 9.0);
/// assert_eq!(trace_sp_sp_lower(&a, &a)?, 1.0 + 4.0 + 9.0);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::DimMismatch`] unless both have the same number of rows.
#[doc(alias = "TraceSpSp")]
pub fn trace_sp_sp<T: Real, U: Real>(a: &SpMatrix<T>, b: &SpMatrix<U>) -> Result<T, Error> {
    check_dim("trace_sp_sp", a.dim(), b.dim())?;
    let diagonal: f64 = a.diag().zip(b.diag()).map(|(x, y)| x.to_f64() * y.to_f64()).sum();
    Ok(T::from_f64(2.0 * dot(a.data(), b.data()) - diagonal))
}

/// `sum_ij a(i, j) b(i, j)` over the lower triangle: as `tr(a b)`, but each pair off the diagonal
/// is counted once.
///
/// # Errors
/// [`Error::DimMismatch`] unless both have the same number of rows.
#[doc(alias = "TraceSpSpLower")]
pub fn trace_sp_sp_lower<T: Real>(a: &SpMatrix<T>, b: &SpMatrix<T>) -> Result<T, Error> {
    check_dim("trace_sp_sp_lower", a.dim(), b.dim())?;
    Ok(T::from_f64(dot(a.data(), b.data())))
}

/// `tr(a b)`.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `b` has the shape of `a`.
#[doc(alias = "TraceSpMat")]
pub fn trace_sp_mat<T: Real>(a: &SpMatrix<T>, b: &MatrixBase<impl Storage<Elem = T>>) -> Result<T, Error> {
    check_shape("trace_sp_mat", Shape { rows: a.dim(), cols: a.dim() }, b.shape())?;
    let mut trace = 0.0;
    for (r, row) in a.rows().enumerate() {
        // The row of `a` times the row and the column of `b` up to the diagonal, which is in both.
        let column: f64 = row.iter().enumerate().map(|(c, x)| x.to_f64() * b[(c, r)].to_f64()).sum();
        trace += dot(&row[..r], b.row_data(r)) + column;
    }
    Ok(T::from_f64(trace))
}

/// `tr(op(a) b op(c))`, where `b` is symmetric.
///
/// # Errors
/// [`Error::ProductMismatch`] if they cannot be multiplied, [`Error::NotSquare`] unless the product
/// is square.
#[doc(alias = "TraceMatSpMat")]
pub fn trace_mat_sp_mat<T: Real>(
    a: &MatrixBase<impl Storage<Elem = T>>,
    trans_a: Trans,
    b: &SpMatrix<T>,
    c: &MatrixBase<impl Storage<Elem = T>>,
    trans_c: Trans,
) -> Result<T, Error> {
    let operation = "trace_mat_sp_mat";
    let (left, middle, right) = (a.shape().seen(trans_a), square(b), c.shape().seen(trans_c));
    check_factors(operation, left, middle)?;
    check_factors(operation, middle, right)?;
    if left.rows != right.cols {
        return Err(Error::NotSquare { operation, found: Shape { rows: left.rows, cols: right.cols } });
    }
    let mut product = Matrix::zeros(left.rows, b.dim());
    product.add_mat_sp(T::ONE, a, trans_a, b, T::ZERO)?;
    Ok(T::from_f64(trace_of_product(&product, c, trans_c)))
}

/// `tr(op(a) b op(c) d)`, where `b` and `d` are symmetric.
///
/// # Errors
/// [`Error::ProductMismatch`] if they cannot be multiplied, [`Error::NotSquare`] unless the product
/// is square.
#[doc(alias = "TraceMatSpMatSp")]
pub fn trace_mat_sp_mat_sp<T: Real>(
    a: &MatrixBase<impl Storage<Elem = T>>,
    trans_a: Trans,
    b: &SpMatrix<T>,
    c: &MatrixBase<impl Storage<Elem = T>>,
    trans_c: Trans,
    d: &SpMatrix<T>,
) -> Result<T, Error> {
    let operation = "trace_mat_sp_mat_sp";
    let (left, right) = (a.shape().seen(trans_a), c.shape().seen(trans_c));
    check_factors(operation, left, square(b))?;
    check_factors(operation, square(b), right)?;
    check_factors(operation, right, square(d))?;
    if left.rows != d.dim() {
        return Err(Error::NotSquare { operation, found: Shape { rows: left.rows, cols: d.dim() } });
    }
    let mut first = Matrix::zeros(left.rows, b.dim());
    first.add_mat_sp(T::ONE, a, trans_a, b, T::ZERO)?;
    let mut second = Matrix::zeros(right.rows, d.dim());
    second.add_mat_sp(T::ONE, c, trans_c, d, T::ZERO)?;
    Ok(T::from_f64(trace_of_product(&first, &second, Trans::No)))
}

/// `v1' s v2`.
///
/// # Errors
/// [`Error::DimMismatch`] unless both vectors have as many elements as the matrix rows.
#[doc(alias = "VecSpVec")]
pub fn vec_sp_vec<T: Real>(
    v1: &VectorBase<impl Storage<Elem = T>>,
    s: &SpMatrix<T>,
    v2: &VectorBase<impl Storage<Elem = T>>,
) -> Result<T, Error> {
    check_dim("vec_sp_vec", s.dim(), v1.dim())?;
    check_dim("vec_sp_vec", s.dim(), v2.dim())?;
    let mut sum = 0.0;
    for (r, row) in s.rows().enumerate() {
        let (left, right) = (v1[r].to_f64(), v2[r].to_f64());
        sum += left * dot(row, v2.data()) + right * dot(&row[..r], v1.data());
    }
    Ok(T::from_f64(sum))
}

fn square<T: Real>(s: &SpMatrix<T>) -> Shape {
    Shape { rows: s.dim(), cols: s.dim() }
}

/// `tr(a op(b))`; the sizes must fit.
fn trace_of_product<T: Real>(a: &Matrix<T>, b: &MatrixBase<impl Storage<Elem = T>>, trans: Trans) -> f64 {
    match trans {
        Trans::Yes => a.rows().zip(b.rows()).map(|(x, y)| dot(x, y)).sum(),
        Trans::No => {
            let row =
                |(r, x): (usize, &[T])| x.iter().enumerate().map(|(c, x)| x.to_f64() * b[(c, r)].to_f64()).sum::<f64>();
            a.rows().enumerate().map(row).sum()
        }
    }
}
