//! Vectors computed from matrices: sums of rows and columns, diagonals of products.
//!
//! The product of a matrix and a vector is in `products`.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::dense::row_kernels;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{MatrixBase, Trans};
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self = alpha * (sum of the rows of m) + beta * self`, in a fixed order.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless a row of `m` has the length of this vector.
    #[doc(alias = "AddRowSumMat")]
    pub fn add_row_sum_mat(&mut self, alpha: T, m: &MatrixBase<impl Storage<Elem = T>>, beta: T) -> Result<(), Error> {
        check_dim("add_row_sum_mat", m.num_cols(), self.dim())?;
        kernels::scale(self.data_mut(), beta);
        row_kernels::add_row_sum(alpha, m.view(), self.data_mut());
        Ok(())
    }

    /// `self = alpha * (sum of the columns of m) + beta * self`; each row is summed in double
    /// precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless a column of `m` has the length of this vector.
    #[doc(alias = "AddColSumMat")]
    pub fn add_col_sum_mat(&mut self, alpha: T, m: &MatrixBase<impl Storage<Elem = T>>, beta: T) -> Result<(), Error> {
        check_dim("add_col_sum_mat", m.num_rows(), self.dim())?;
        kernels::scale(self.data_mut(), beta);
        row_kernels::add_col_sum(alpha, m.view(), self.data_mut());
        Ok(())
    }

    /// `self = alpha * diag(m m') + beta * self`, or with [`Trans::Yes`] `diag(m' m)`: the squared
    /// lengths of the rows, or of the columns.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has an element for each row, or column.
    #[doc(alias = "AddDiagMat2")]
    pub fn add_diag_mat2(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_diag_mat2", m.shape().seen(trans).rows, self.dim())?;
        kernels::scale(self.data_mut(), beta);
        match trans {
            Trans::No => {
                for (y, row) in self.iter_mut().zip(m.rows()) {
                    *y += alpha * kernels::sum_of_squares(row);
                }
            }
            Trans::Yes => {
                for row in m.rows() {
                    for (y, &x) in self.iter_mut().zip(row) {
                        *y += alpha * x * x;
                    }
                }
            }
        }
        Ok(())
    }

    /// `self = alpha * diag(op(m) op(n)) + beta * self`, without the rest of the product.
    ///
    /// # Errors
    /// [`Error::ProductMismatch`] unless the product of the two is a square matrix,
    /// [`Error::DimMismatch`] unless the vector has an element for each of its rows.
    #[doc(alias = "AddDiagMatMat")]
    pub fn add_diag_mat_mat(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans_m: Trans,
        n: &MatrixBase<impl Storage<Elem = T>>,
        trans_n: Trans,
        beta: T,
    ) -> Result<(), Error> {
        let (left, right) = (m.shape().seen(trans_m), n.shape().seen(trans_n));
        if left != right.seen(Trans::Yes) {
            return Err(Error::ProductMismatch { operation: "add_diag_mat_mat", left, right });
        }
        check_dim("add_diag_mat_mat", left.rows, self.dim())?;
        kernels::scale(self.data_mut(), beta);
        match (trans_m, trans_n) {
            (Trans::No, Trans::Yes) => {
                for (y, (m, n)) in self.iter_mut().zip(m.rows().zip(n.rows())) {
                    *y += alpha * kernels::dot(m, n);
                }
            }
            (Trans::Yes, Trans::No) => {
                for (m, n) in m.rows().zip(n.rows()) {
                    for (y, (&m, &n)) in self.iter_mut().zip(m.iter().zip(n)) {
                        *y += alpha * m * n;
                    }
                }
            }
            (Trans::No, Trans::No) => self.add_rows_times_cols(alpha, m, n),
            (Trans::Yes, Trans::Yes) => self.add_rows_times_cols(alpha, n, m),
        }
        Ok(())
    }

    /// `self[i] += alpha *` row i of `m` times column i of `n`.
    fn add_rows_times_cols(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        n: &MatrixBase<impl Storage<Elem = T>>,
    ) {
        let mut col = vec![T::ZERO; n.num_rows()];
        for (i, (y, m)) in self.iter_mut().zip(m.rows()).enumerate() {
            for (x, row) in col.iter_mut().zip(n.rows()) {
                *x = row[i];
            }
            *y += alpha * kernels::dot(m, &col);
        }
    }

    /// `self = alpha * op(m) * v + beta * self`, for a `v` that is mostly zeros, which are skipped.
    ///
    /// With `beta` 0 the old values are ignored, even NaN. Elements of `m` that are multiplied by a
    /// zero of `v` are ignored, too.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the length of a vector differs from its side of the matrix.
    #[doc(alias = "AddMatSvec")]
    pub fn add_mat_svec(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        v: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        let Shape { rows, cols } = m.shape().seen(trans);
        check_dim("add_mat_svec", cols, v.dim())?;
        check_dim("add_mat_svec", rows, self.dim())?;
        kernels::scale(self.data_mut(), beta);
        match trans {
            Trans::No => {
                let nonzeros: Vec<(usize, T)> = v.iter().copied().enumerate().filter(|&(_, x)| x != T::ZERO).collect();
                for (y, row) in self.iter_mut().zip(m.rows()) {
                    let sum: f64 = nonzeros.iter().map(|&(c, x)| row[c].to_f64() * x.to_f64()).sum();
                    *y += alpha * T::from_f64(sum);
                }
            }
            Trans::Yes => {
                for (&x, row) in v.iter().zip(m.rows()).filter(|&(&x, _)| x != T::ZERO) {
                    kernels::axpy(alpha * x, row, self.data_mut());
                }
            }
        }
        Ok(())
    }
}
