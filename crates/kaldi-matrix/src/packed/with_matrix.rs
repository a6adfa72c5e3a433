//! Operations of full matrices with packed ones: copies, sums and products.
//!
//! Products expand the packed operands, as in Kaldi; the cost is then the one of a product of full
//! matrices.

use kaldera_base::Real;

use crate::check::check_shape;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::packed::{SpMatrix, TpMatrix};
use crate::storage::{Storage, StorageMut};

/// Fills both triangles.
impl<T: Real> From<&SpMatrix<T>> for Matrix<T> {
    fn from(s: &SpMatrix<T>) -> Self {
        s.to_matrix()
    }
}

/// Writes zeros above the diagonal.
impl<T: Real> From<&TpMatrix<T>> for Matrix<T> {
    fn from(t: &TpMatrix<T>) -> Self {
        t.to_matrix()
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = s`, both triangles, from either precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for another size.
    #[doc(alias = "CopyFromSp")]
    pub fn copy_from_sp<U: Real>(&mut self, s: &SpMatrix<U>) -> Result<(), Error> {
        check_shape("copy_from_sp", square(s.dim()), self.shape())?;
        for (r, row) in s.rows().enumerate() {
            kernels::copy(row, &mut self.row_data_mut(r)[..=r]);
            for (c, &x) in row.iter().enumerate() {
                self[(c, r)] = kernels::convert(x);
            }
        }
        Ok(())
    }

    /// `self = t`, or its transpose, from either precision; zeros fill the other triangle.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for another size.
    #[doc(alias = "CopyFromTp")]
    pub fn copy_from_tp<U: Real>(&mut self, t: &TpMatrix<U>, trans: Trans) -> Result<(), Error> {
        check_shape("copy_from_tp", square(t.dim()), self.shape())?;
        self.rows_mut().for_each(|row| row.fill(T::ZERO));
        for (r, row) in t.rows().enumerate() {
            match trans {
                Trans::No => kernels::copy(row, &mut self.row_data_mut(r)[..=r]),
                Trans::Yes => row.iter().enumerate().for_each(|(c, &x)| self[(c, r)] = kernels::convert(x)),
            }
        }
        Ok(())
    }

    /// `self = self + alpha * s`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for another size.
    #[doc(alias = "AddSp")]
    pub fn add_sp(&mut self, alpha: T, s: &SpMatrix<T>) -> Result<(), Error> {
        check_shape("add_sp", square(s.dim()), self.shape())?;
        for (r, row) in s.rows().enumerate() {
            kernels::axpy(alpha, row, &mut self.row_data_mut(r)[..=r]);
            for (c, &x) in row[..r].iter().enumerate() {
                self[(c, r)] += alpha * x;
            }
        }
        Ok(())
    }

    /// `self = alpha * a op(b) + beta * self`, where `a` is symmetric.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddSpMat")]
    pub fn add_sp_mat(
        &mut self,
        alpha: T,
        a: &SpMatrix<T>,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        self.add_mat_mat(alpha, &a.to_matrix(), Trans::No, b, trans_b, beta)
    }

    /// `self = alpha * op(a) b + beta * self`, where `b` is symmetric.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddMatSp")]
    pub fn add_mat_sp(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        trans_a: Trans,
        b: &SpMatrix<T>,
        beta: T,
    ) -> Result<(), Error> {
        self.add_mat_mat(alpha, a, trans_a, &b.to_matrix(), Trans::No, beta)
    }

    /// `self = alpha * a op(b) c + beta * self`, where `a` and `c` are symmetric.
    ///
    /// # Errors
    /// [`Error::ProductMismatch`] if they cannot be multiplied, [`Error::ShapeMismatch`] if the
    /// product has another shape than this matrix.
    #[doc(alias = "AddSpMatSp")]
    pub fn add_sp_mat_sp(
        &mut self,
        alpha: T,
        a: &SpMatrix<T>,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        c: &SpMatrix<T>,
        beta: T,
    ) -> Result<(), Error> {
        let mut left = Matrix::zeros(a.dim(), b.shape().seen(trans_b).cols);
        left.add_sp_mat(T::ONE, a, b, trans_b, T::ZERO)?;
        self.add_mat_sp(alpha, &left, Trans::No, c, beta)
    }

    /// `self = alpha * op(a) op(b) + beta * self`, where `a` is lower triangular.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddTpMat")]
    pub fn add_tp_mat(
        &mut self,
        alpha: T,
        a: &TpMatrix<T>,
        trans_a: Trans,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        self.add_mat_mat(alpha, &a.to_matrix(), trans_a, b, trans_b, beta)
    }

    /// `self = alpha * op(a) op(b) + beta * self`, where `b` is lower triangular.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddMatTp")]
    pub fn add_mat_tp(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        trans_a: Trans,
        b: &TpMatrix<T>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        self.add_mat_mat(alpha, a, trans_a, &b.to_matrix(), trans_b, beta)
    }

    /// `self = alpha * op(a) op(b) + beta * self`, where both are lower triangular.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddTpTp")]
    pub fn add_tp_tp(
        &mut self,
        alpha: T,
        a: &TpMatrix<T>,
        trans_a: Trans,
        b: &TpMatrix<T>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        self.add_mat_mat(alpha, &a.to_matrix(), trans_a, &b.to_matrix(), trans_b, beta)
    }

    /// `self = alpha * a b + beta * self`, where both are symmetric.
    ///
    /// # Errors
    /// As [`add_mat_mat`](Self::add_mat_mat).
    #[doc(alias = "AddSpSp")]
    #[doc(alias = "symm")]
    pub fn add_sp_sp(&mut self, alpha: T, a: &SpMatrix<T>, b: &SpMatrix<T>, beta: T) -> Result<(), Error> {
        self.add_mat_mat(alpha, &a.to_matrix(), Trans::No, &b.to_matrix(), Trans::No, beta)
    }
}

fn square(dim: usize) -> Shape {
    Shape { rows: dim, cols: dim }
}
