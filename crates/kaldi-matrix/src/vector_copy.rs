//! Vectors copied from vectors and from parts of matrices, in either precision.

use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::MatrixBase;
use crate::storage::{Storage, StorageMut};
use crate::vector::{VectorBase, check_range};
use crate::vector_ops::check_dim;

impl<S: StorageMut> VectorBase<S> {
    /// `self = v`, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "CopyFromVec")]
    pub fn copy_from_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("copy_from_vec", self.dim(), v.dim())?;
        kernels::copy(v.data(), self.data_mut());
        Ok(())
    }

    /// `self = m.row(row)`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] without such a row, [`Error::DimMismatch`] if it is not as long as this vector.
    #[doc(alias = "CopyRowFromMat")]
    pub fn copy_row_from_mat(&mut self, m: &MatrixBase<impl Storage>, row: usize) -> Result<(), Error> {
        check_range("rows", row, 1, m.num_rows())?;
        check_dim("copy_row_from_mat", m.num_cols(), self.dim())?;
        kernels::copy(m.row_data(row), self.data_mut());
        Ok(())
    }

    /// `self` = column `col` of `m`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] without such a column, [`Error::DimMismatch`] if it is not as long as this vector.
    #[doc(alias = "CopyColFromMat")]
    pub fn copy_col_from_mat(&mut self, m: &MatrixBase<impl Storage>, col: usize) -> Result<(), Error> {
        check_range("columns", col, 1, m.num_cols())?;
        check_dim("copy_col_from_mat", m.num_rows(), self.dim())?;
        for (y, row) in self.iter_mut().zip(m.rows()) {
            *y = kernels::convert(row[col]);
        }
        Ok(())
    }

    /// `self[i] = m(i, i)`, in either precision; `m` need not be square.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector is as long as the shorter side of `m`.
    #[doc(alias = "CopyDiagFromMat")]
    pub fn copy_diag_from_mat(&mut self, m: &MatrixBase<impl Storage>) -> Result<(), Error> {
        check_dim("copy_diag_from_mat", m.num_rows().min(m.num_cols()), self.dim())?;
        for (i, (y, row)) in self.iter_mut().zip(m.rows()).enumerate() {
            *y = kernels::convert(row[i]);
        }
        Ok(())
    }

    /// `self` = the rows of `m`, one after the other, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix.
    #[doc(alias = "CopyRowsFromMat")]
    pub fn copy_rows_from_mat(&mut self, m: &MatrixBase<impl Storage>) -> Result<(), Error> {
        let Shape { rows, cols } = m.shape();
        check_dim("copy_rows_from_mat", rows * cols, self.dim())?;
        for (y, row) in self.data_mut().chunks_mut(cols.max(1)).zip(m.rows()) {
            kernels::copy(row, y);
        }
        Ok(())
    }

    /// `self` = the columns of `m`, one after the other, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix.
    #[doc(alias = "CopyColsFromMat")]
    pub fn copy_cols_from_mat(&mut self, m: &MatrixBase<impl Storage>) -> Result<(), Error> {
        let Shape { rows, cols } = m.shape();
        check_dim("copy_cols_from_mat", rows * cols, self.dim())?;
        for (c, y) in self.data_mut().chunks_mut(rows.max(1)).enumerate() {
            for (y, row) in y.iter_mut().zip(m.rows()) {
                *y = kernels::convert(row[c]);
            }
        }
        Ok(())
    }
}
