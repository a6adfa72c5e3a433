//! Matrices updated with vectors: one number for each row or column, or for each group of columns.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_shape;
use crate::check::group_size;
use crate::dense::ops::update_transposed;
use crate::dense::row_kernels;
use crate::error::Error;
use crate::kernels;
use crate::matrix::{MatrixBase, Trans};
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self(i, j) += alpha * v[j]`, with `v` in either precision and the arithmetic in the wider
    /// one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has the length of a row.
    #[doc(alias = "AddVecToRows")]
    #[inline]
    pub fn add_vec_to_rows(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec_to_rows", self.num_cols(), v.dim())?;
        row_kernels::add_to_rows(alpha, v.data(), self.view_mut());
        Ok(())
    }

    /// `self(i, j) += alpha * v[i]`, with `v` in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has the length of a column.
    #[doc(alias = "AddVecToCols")]
    #[inline]
    pub fn add_vec_to_cols(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec_to_cols", self.num_rows(), v.dim())?;
        row_kernels::add_to_cols(alpha, v.data(), self.view_mut());
        Ok(())
    }

    /// `self(i, j) *= v[j]`, with `v` in either precision and the arithmetic in the wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has the length of a row.
    #[doc(alias = "MulColsVec")]
    pub fn mul_cols_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("mul_cols_vec", self.num_cols(), v.dim())?;
        row_kernels::multiply_cols(v.data(), self.view_mut());
        Ok(())
    }

    /// `self(i, j) *= v[i]`, with `v` in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has the length of a column.
    #[doc(alias = "MulRowsVec")]
    pub fn mul_rows_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("mul_rows_vec", self.num_rows(), v.dim())?;
        row_kernels::multiply_rows(v.data(), self.view_mut());
        Ok(())
    }

    /// `self(i, j) *= src(i, j / group)`, with as many groups of columns as `src` has columns.
    ///
    /// # Errors
    /// [`Error::Groups`] unless the number of columns is a multiple of `src`'s,
    /// [`Error::ShapeMismatch`] if the numbers of rows differ.
    #[doc(alias = "MulRowsGroupMat")]
    pub fn mul_rows_group_mat(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        let size = group_size("mul_rows_group_mat", self.shape(), src.shape())?;
        for (row, factors) in self.rows_mut().zip(src.rows()) {
            for (group, &factor) in row.chunks_exact_mut(size).zip(factors) {
                group.iter_mut().for_each(|y| *y *= factor);
            }
        }
        Ok(())
    }

    /// `self = alpha * diag(v) op(m) + beta * self`: row i of `op(m)` times `v[i]`.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ, [`Error::DimMismatch`] unless `v` has the
    /// length of a column.
    #[doc(alias = "AddDiagVecMat")]
    pub fn add_diag_vec_mat(
        &mut self,
        alpha: T,
        v: &VectorBase<impl Storage<Elem = T>>,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_diag_vec_mat", self.num_rows(), v.dim())?;
        check_shape("add_diag_vec_mat", self.shape().seen(trans), m.shape())?;
        self.rows_mut().for_each(|row| kernels::scale(row, beta));
        match trans {
            Trans::No => {
                for (y, (&v, x)) in self.rows_mut().zip(v.iter().zip(m.rows())) {
                    kernels::axpy(alpha * v, x, y);
                }
            }
            Trans::Yes => {
                let mut scaled = m.to_owned();
                scaled.mul_cols_vec(v)?;
                update_transposed(self, scaled.view(), |y, x| y + alpha * x);
            }
        }
        Ok(())
    }

    /// `self = alpha * op(m) diag(v) + beta * self`: column j of `op(m)` times `v[j]`.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ, [`Error::DimMismatch`] unless `v` has the
    /// length of a row.
    #[doc(alias = "AddMatDiagVec")]
    pub fn add_mat_diag_vec(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        v: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_mat_diag_vec", self.num_cols(), v.dim())?;
        check_shape("add_mat_diag_vec", self.shape().seen(trans), m.shape())?;
        let transposed;
        let m = match trans {
            Trans::No => m.view(),
            Trans::Yes => {
                transposed = m.transposed();
                transposed.view()
            }
        };
        for (y, x) in self.rows_mut().zip(m.rows()) {
            kernels::scale(y, beta);
            kernels::zip_map2(y, x, v.data(), move |y, x, v| y + alpha * x * v);
        }
        Ok(())
    }
}
