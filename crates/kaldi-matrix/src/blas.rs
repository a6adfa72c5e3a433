//! The products: matrices with vectors and with matrices.

use kaldera_base::Real;

use crate::backend;
use crate::error::Error;
use crate::error::Shape;
use crate::kernels;
use crate::matrix::{MatrixBase, Trans};
use crate::matrix_ops::check_shape;
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;
use crate::vector_ops::check_dim;

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self = alpha * m * v + beta * self`, or with the transpose of `m`; BLAS's gemv.
    ///
    /// With `beta` 0 the old values do not count, not even NaN.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if a vector does not fit its side of the matrix.
    #[doc(alias = "AddMatVec")]
    #[doc(alias = "gemv")]
    pub fn add_mat_vec(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        v: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        let Shape { rows, cols } = m.shape().seen(trans);
        check_dim("add_mat_vec", cols, v.dim())?;
        check_dim("add_mat_vec", rows, self.dim())?;
        backend::gemv(alpha, m.view(), trans, v.data(), beta, self.data_mut());
        Ok(())
    }

    /// `self = alpha * diag(m m') + beta * self`, or with [`Trans::Yes`] `diag(m' m)`: the squared lengths of the rows,
    /// or of the columns.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has an element for each of them.
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
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = alpha * a * b + beta * self`, each operand as it is or transposed; BLAS's gemm.
    ///
    /// With `beta` 0 the old values do not count, not even NaN.
    ///
    /// ```
    /// # use kaldi_matrix::{Matrix, Trans};
    /// let a = Matrix::from_vec(1, 2, vec![1.0_f32, 2.0])?;
    /// let mut c = Matrix::zeros(2, 2);
    /// c.add_mat_mat(1.0, &a, Trans::Yes, &a, Trans::No, 0.0)?;
    /// assert_eq!(c.data(), [1.0, 2.0, 2.0, 4.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ProductMismatch`] if `a` and `b` cannot be multiplied, [`Error::ShapeMismatch`] if the product has
    /// another shape than this matrix.
    #[doc(alias = "AddMatMat")]
    #[doc(alias = "gemm")]
    pub fn add_mat_mat(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        trans_a: Trans,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        let (left, right) = (a.shape().seen(trans_a), b.shape().seen(trans_b));
        if left.cols != right.rows {
            return Err(Error::ProductMismatch { operation: "add_mat_mat", left, right });
        }
        check_shape("add_mat_mat", Shape { rows: left.rows, cols: right.cols }, self.shape())?;
        backend::gemm(alpha, a.view(), trans_a, b.view(), trans_b, beta, self.view_mut());
        Ok(())
    }

    /// `self += alpha * v * r'`, the outer product; BLAS's ger.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if a vector does not fit its side of the matrix.
    #[doc(alias = "AddVecVec")]
    #[doc(alias = "ger")]
    pub fn add_vec_vec(
        &mut self,
        alpha: T,
        v: &VectorBase<impl Storage<Elem = T>>,
        r: &VectorBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        check_dim("add_vec_vec", self.num_rows(), v.dim())?;
        check_dim("add_vec_vec", self.num_cols(), r.dim())?;
        backend::ger(alpha, v.data(), r.data(), self.view_mut());
        Ok(())
    }

    /// The lower triangle of `self = alpha * m m' + beta * self`, or with [`Trans::Yes`] of `alpha * m' m + beta * self`;
    /// BLAS's syrk. Above the diagonal nothing changes.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless this matrix is square and as wide as the product.
    #[doc(alias = "SymAddMat2")]
    #[doc(alias = "syrk")]
    pub fn sym_add_mat2(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        beta: T,
    ) -> Result<(), Error> {
        let n = m.shape().seen(trans).rows;
        check_shape("sym_add_mat2", Shape { rows: n, cols: n }, self.shape())?;
        backend::syrk(alpha, m.view(), trans, beta, self.view_mut());
        Ok(())
    }
}
