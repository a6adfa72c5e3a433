//! Products with full matrices that are mostly zeros. The zeros are skipped, together with their
//! factors, even infinity and NaN.
//!
//! They are faster if less than about a tenth of the elements are not zero. For matrices that are
//! *stored* without their zeros, see `SparseMatrix`.

use kaldera_base::Real;

use crate::check::check_product;
use crate::error::Error;
use crate::kernels;
use crate::matrix::{MatrixBase, SubMatrix, Trans};
use crate::storage::{Storage, StorageMut};

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = alpha * op(a) op(b) + beta * self`, for an `a` that is mostly zeros.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddSmatMat")]
    pub fn add_smat_mat_dense(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        trans_a: Trans,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        check_product("add_smat_mat_dense", a.shape().seen(trans_a), b.shape().seen(trans_b), self.shape())?;
        self.rows_mut().for_each(|row| kernels::scale(row, beta));
        with_op(b.view(), trans_b, |b| {
            for (r, row) in a.rows().enumerate() {
                for (c, &x) in row.iter().enumerate().filter(|&(_, &x)| x != T::ZERO) {
                    let (to, from) = if trans_a == Trans::No { (r, c) } else { (c, r) };
                    kernels::axpy(alpha * x, b.row_data(from), self.row_data_mut(to));
                }
            }
        });
        Ok(())
    }

    /// `self = alpha * op(a) op(b) + beta * self`, for a `b` that is mostly zeros.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddMatSmat")]
    pub fn add_mat_smat_dense(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        trans_a: Trans,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        check_product("add_mat_smat_dense", a.shape().seen(trans_a), b.shape().seen(trans_b), self.shape())?;
        self.rows_mut().for_each(|row| kernels::scale(row, beta));
        let mut nonzeros = Vec::new();
        for (r, row) in b.rows().enumerate() {
            for (c, &x) in row.iter().enumerate().filter(|&(_, &x)| x != T::ZERO) {
                let (from, to) = if trans_b == Trans::No { (r, c) } else { (c, r) };
                nonzeros.push((from, to, alpha * x));
            }
        }
        with_op(a.view(), trans_a, |a| {
            for (y, row) in self.rows_mut().zip(a.rows()) {
                for &(from, to, x) in &nonzeros {
                    y[to] += x * row[from];
                }
            }
        });
        Ok(())
    }
}

/// Calls `f` with a matrix or its transpose.
fn with_op<T: Real>(m: SubMatrix<'_, T>, trans: Trans, f: impl FnOnce(SubMatrix<'_, T>)) {
    match trans {
        Trans::No => f(m),
        Trans::Yes => f(m.transposed().view()),
    }
}
