//! Vectors copied from vectors and from parts of matrices, in either precision. Matrices copied
//! from matrices and vectors, in either precision; transposing, exchanging, removing a row.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_range;
use crate::check::{check_shape, check_square};
use crate::dense::ops::update_transposed;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::storage::{Storage, StorageMut};
use crate::vector::{ResizeType, VectorBase};

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
    /// [`Error::OutOfRange`] if there is no such row, [`Error::DimMismatch`] if its length differs
    /// from this vector's.
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
    /// [`Error::OutOfRange`] if there is no such column, [`Error::DimMismatch`] if its length
    /// differs from this vector's.
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

impl<T: Real> Matrix<T> {
    /// `self = self'`, for any shape.
    #[doc(alias = "Transpose")]
    pub fn transpose(&mut self) {
        *self = self.transposed();
    }

    /// Exchanges two matrices without copying their elements.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }

    /// Removes a row; the rows below move up.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such row.
    #[doc(alias = "RemoveRow")]
    pub fn remove_row(&mut self, row: usize) -> Result<(), Error> {
        let Shape { rows, cols } = self.shape();
        check_range("rows", row, 1, rows)?;
        self.data_mut().copy_within((row + 1) * cols.., row * cols);
        self.resize(rows - 1, cols, ResizeType::CopyData);
        Ok(())
    }
}

/// Copies to the other precision: `Matrix::<f64>::from(&m)`, as Kaldi's constructors do.
impl<S: Storage<Elem = f32>> From<&MatrixBase<S>> for Matrix<f64> {
    fn from(m: &MatrixBase<S>) -> Self {
        converted(m)
    }
}

/// Copies and rounds to the other precision: `Matrix::<f32>::from(&m)`, as Kaldi's constructors do.
impl<S: Storage<Elem = f64>> From<&MatrixBase<S>> for Matrix<f32> {
    fn from(m: &MatrixBase<S>) -> Self {
        converted(m)
    }
}

fn converted<T: Real>(m: &MatrixBase<impl Storage>) -> Matrix<T> {
    let mut result = Matrix::zeros(m.num_rows(), m.num_cols());
    result.rows_mut().zip(m.rows()).for_each(|(to, from)| kernels::copy(from, to));
    result
}

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// `self'`: a copy whose rows are the columns of this matrix.
    pub fn transposed(&self) -> Matrix<T> {
        let mut result = Matrix::zeros(self.num_cols(), self.num_rows());
        update_transposed(&mut result, self.view(), |_, x| x);
        result
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = self'`, for a square matrix, in place; views cannot change their shape.
    ///
    /// # Errors
    /// [`Error::NotSquare`].
    #[doc(alias = "Transpose")]
    pub fn transpose_square(&mut self) -> Result<(), Error> {
        let n = check_square("transpose_square", self.shape())?;
        let stride = self.stride();
        let data = self.data_mut();
        for r in 0..n {
            for c in 0..r {
                data.swap(r * stride + c, c * stride + r);
            }
        }
        Ok(())
    }

    /// `self = op(m)`, in either precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "CopyFromMat")]
    pub fn copy_from_mat(&mut self, m: &MatrixBase<impl Storage>, trans: Trans) -> Result<(), Error> {
        check_shape("copy_from_mat", self.shape().seen(trans), m.shape())?;
        match trans {
            Trans::No => self.rows_mut().zip(m.rows()).for_each(|(to, from)| kernels::copy(from, to)),
            Trans::Yes => update_transposed(self, m.view(), |_, x| kernels::convert(x)),
        }
        Ok(())
    }

    /// Sets column `col` to `v`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such column, [`Error::DimMismatch`] if its length
    /// differs from `v`'s.
    #[doc(alias = "CopyColFromVec")]
    pub fn copy_col_from_vec(&mut self, v: &VectorBase<impl Storage>, col: usize) -> Result<(), Error> {
        check_range("columns", col, 1, self.num_cols())?;
        check_dim("copy_col_from_vec", self.num_rows(), v.dim())?;
        for (row, &x) in self.rows_mut().zip(v.iter()) {
            row[col] = kernels::convert(x);
        }
        Ok(())
    }

    /// Sets row `row` to `v`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such row, [`Error::DimMismatch`] if its length differs
    /// from `v`'s.
    #[doc(alias = "CopyRowFromVec")]
    pub fn copy_row_from_vec(&mut self, v: &VectorBase<impl Storage>, row: usize) -> Result<(), Error> {
        check_range("rows", row, 1, self.num_rows())?;
        self.row_mut(row).copy_from_vec(v)
    }

    /// `self(i, i) = v[i]`, in either precision; the other elements do not change, and the matrix
    /// need not be square.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` is as long as the shorter side.
    #[doc(alias = "CopyDiagFromVec")]
    pub fn copy_diag_from_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("copy_diag_from_vec", self.num_rows().min(self.num_cols()), v.dim())?;
        for (i, (row, &x)) in self.rows_mut().zip(v.iter()).enumerate() {
            row[i] = kernels::convert(x);
        }
        Ok(())
    }

    /// Copies the matrix row by row from a vector of all its elements, or every row from a vector
    /// with the length of a row.
    ///
    /// ```
    /// # use kaldi_matrix::{Matrix, Vector};
    /// let mut m = Matrix::<f32>::zeros(2, 2);
    /// m.copy_rows_from_vec(&Vector::from(vec![1.0_f32, 2.0]))?;
    /// assert_eq!(m.data(), [1.0, 2.0, 1.0, 2.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if `v` has another length.
    #[doc(alias = "CopyRowsFromVec")]
    pub fn copy_rows_from_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        let Shape { rows, cols } = self.shape();
        if v.dim() == rows * cols {
            let from = v.data().chunks(cols.max(1));
            self.rows_mut().zip(from).for_each(|(to, from)| kernels::copy(from, to));
            return Ok(());
        }
        check_dim("copy_rows_from_vec", cols, v.dim())?;
        self.rows_mut().for_each(|to| kernels::copy(v.data(), to));
        Ok(())
    }

    /// Copies the matrix column by column from a vector of all its elements, or every column from a
    /// vector with the length of a column.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if `v` has another length.
    #[doc(alias = "CopyColsFromVec")]
    pub fn copy_cols_from_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        let Shape { rows, cols } = self.shape();
        if v.dim() == rows * cols {
            for (r, row) in self.rows_mut().enumerate() {
                for (to, &x) in row.iter_mut().zip(v.data()[r..].iter().step_by(rows)) {
                    *to = kernels::convert(x);
                }
            }
            return Ok(());
        }
        check_dim("copy_cols_from_vec", rows, v.dim())?;
        for (row, &x) in self.rows_mut().zip(v.iter()) {
            row.fill(kernels::convert(x));
        }
        Ok(())
    }

    /// `self(j, i) = self(i, j)` for j < i: copies the elements below the diagonal above it.
    ///
    /// # Errors
    /// [`Error::NotSquare`].
    #[doc(alias = "CopyLowerToUpper")]
    pub fn copy_lower_to_upper(&mut self) -> Result<(), Error> {
        let n = check_square("copy_lower_to_upper", self.shape())?;
        let stride = self.stride();
        let data = self.data_mut();
        for r in 0..n {
            for c in 0..r {
                data[c * stride + r] = data[r * stride + c];
            }
        }
        Ok(())
    }

    /// `self(i, j) = self(j, i)` for j < i: copies the elements above the diagonal below it.
    ///
    /// # Errors
    /// [`Error::NotSquare`].
    #[doc(alias = "CopyUpperToLower")]
    pub fn copy_upper_to_lower(&mut self) -> Result<(), Error> {
        let n = check_square("copy_upper_to_lower", self.shape())?;
        let stride = self.stride();
        let data = self.data_mut();
        for r in 0..n {
            for c in 0..r {
                data[r * stride + c] = data[c * stride + r];
            }
        }
        Ok(())
    }
}
