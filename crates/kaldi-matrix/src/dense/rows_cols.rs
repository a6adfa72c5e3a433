//! Rows and columns selected by a list, copied or added.
//!
//! A list of indexes has one for each row (or column) of the result; -1 means a row of zeros.
//! Instead of Kaldi's array of pointers, which may be null, there is a slice of `Option`s.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_shape;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::MatrixBase;
use crate::storage::{Storage, StorageMut};

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self(r, c) = src(r, indexes[c])`, or 0 if the index is -1.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let src = Matrix::from_vec(1, 3, vec![1.0_f32, 2.0, 3.0])?;
    /// let mut m = Matrix::zeros(1, 4);
    /// m.copy_cols(&src, &[2, -1, 0, 0])?;
    /// assert_eq!(m.data(), [3.0, 0.0, 1.0, 1.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the numbers of rows differ, [`Error::DimMismatch`] unless there
    /// is one index for each column, [`Error::BadIndex`] for one out of range. The matrix is then
    /// unchanged.
    #[doc(alias = "CopyCols")]
    pub fn copy_cols(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, indexes: &[i32]) -> Result<(), Error> {
        let from = self.cols_of("copy_cols", src, indexes)?;
        for (y, x) in self.rows_mut().zip(src.rows()) {
            for (y, from) in y.iter_mut().zip(&from) {
                *y = from.map_or(T::ZERO, |c| x[c]);
            }
        }
        // Without columns in `src` there are no rows to iterate over.
        if src.is_empty() {
            self.set_zero();
        }
        Ok(())
    }

    /// `self(r, c) += src(r, indexes[c])`, or nothing if the index is -1.
    ///
    /// # Errors
    /// As [`copy_cols`](Self::copy_cols).
    #[doc(alias = "AddCols")]
    pub fn add_cols(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, indexes: &[i32]) -> Result<(), Error> {
        let from = self.cols_of("add_cols", src, indexes)?;
        for (y, x) in self.rows_mut().zip(src.rows()) {
            for (y, from) in y.iter_mut().zip(&from) {
                if let Some(c) = *from {
                    *y += x[c];
                }
            }
        }
        Ok(())
    }

    /// `self(r, c) = src(indexes[r], c)`, or 0 if the index is -1.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the numbers of columns differ, [`Error::DimMismatch`] unless
    /// there is one index for each row, [`Error::BadIndex`] for one out of range. The matrix is
    /// then unchanged.
    #[doc(alias = "CopyRows")]
    pub fn copy_rows(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, indexes: &[i32]) -> Result<(), Error> {
        let from = self.rows_of("copy_rows", src, indexes)?;
        for (y, from) in self.rows_mut().zip(from) {
            match from {
                Some(r) => y.copy_from_slice(src.row_data(r)),
                None => y.fill(T::ZERO),
            }
        }
        Ok(())
    }

    /// `self(r, c) += alpha * src(indexes[r], c)`, or nothing if the index is -1.
    ///
    /// # Errors
    /// As [`copy_rows`](Self::copy_rows).
    #[doc(alias = "AddRows")]
    pub fn add_rows(
        &mut self,
        alpha: T,
        src: &MatrixBase<impl Storage<Elem = T>>,
        indexes: &[i32],
    ) -> Result<(), Error> {
        let from = self.rows_of("add_rows", src, indexes)?;
        for (y, from) in self.rows_mut().zip(from) {
            if let Some(r) = from {
                kernels::axpy(alpha, src.row_data(r), y);
            }
        }
        Ok(())
    }

    /// `self(r, c) = src[r][c]`, or 0 if `src[r]` is none: [`copy_rows`](Self::copy_rows) from
    /// separate rows.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless there are as many slices as rows, each with the length of a
    /// row. The matrix is then unchanged.
    #[doc(alias = "CopyRows")]
    pub fn copy_rows_from_slices(&mut self, src: &[Option<&[T]>]) -> Result<(), Error> {
        self.check_slices("copy_rows_from_slices", src.iter().map(|row| row.map(<[T]>::len)))?;
        for (y, x) in self.rows_mut().zip(src) {
            match x {
                Some(x) => y.copy_from_slice(x),
                None => y.fill(T::ZERO),
            }
        }
        Ok(())
    }

    /// `self(r, c) += alpha * src[r][c]`, or nothing if `src[r]` is none:
    /// [`add_rows`](Self::add_rows) from separate rows.
    ///
    /// # Errors
    /// As [`copy_rows_from_slices`](Self::copy_rows_from_slices).
    #[doc(alias = "AddRows")]
    pub fn add_rows_from_slices(&mut self, alpha: T, src: &[Option<&[T]>]) -> Result<(), Error> {
        self.check_slices("add_rows_from_slices", src.iter().map(|row| row.map(<[T]>::len)))?;
        for (y, x) in self.rows_mut().zip(src) {
            if let Some(x) = x {
                kernels::axpy(alpha, x, y);
            }
        }
        Ok(())
    }

    /// Returns the source of each column.
    fn cols_of(
        &self,
        operation: &'static str,
        src: &MatrixBase<impl Storage<Elem = T>>,
        indexes: &[i32],
    ) -> Result<Vec<Option<usize>>, Error> {
        check_shape(operation, Shape { rows: self.num_rows(), cols: src.num_cols() }, src.shape())?;
        check_dim(operation, self.num_cols(), indexes.len())?;
        resolve(operation, indexes, src.num_cols())
    }

    /// Returns the source of each row.
    fn rows_of(
        &self,
        operation: &'static str,
        src: &MatrixBase<impl Storage<Elem = T>>,
        indexes: &[i32],
    ) -> Result<Vec<Option<usize>>, Error> {
        check_shape(operation, Shape { rows: src.num_rows(), cols: self.num_cols() }, src.shape())?;
        check_dim(operation, self.num_rows(), indexes.len())?;
        resolve(operation, indexes, src.num_rows())
    }
}

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// `dst(indexes[r], c) += alpha * self(r, c)`, row after row; nothing if the index is -1.
    ///
    /// If an index occurs several times, its row gets the sum.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the numbers of columns differ, [`Error::DimMismatch`] unless
    /// there is one index for each row, [`Error::BadIndex`] for one out of range. `dst` is then
    /// unchanged.
    #[doc(alias = "AddToRows")]
    pub fn add_to_rows(
        &self,
        alpha: T,
        indexes: &[i32],
        dst: &mut MatrixBase<impl StorageMut<Elem = T>>,
    ) -> Result<(), Error> {
        check_shape("add_to_rows", Shape { rows: dst.num_rows(), cols: self.num_cols() }, dst.shape())?;
        check_dim("add_to_rows", self.num_rows(), indexes.len())?;
        let to = resolve("add_to_rows", indexes, dst.num_rows())?;
        for (x, to) in self.rows().zip(to) {
            if let Some(r) = to {
                kernels::axpy(alpha, x, dst.row_data_mut(r));
            }
        }
        Ok(())
    }

    /// `dst[r][c] = self(r, c)`, for the rows with a `dst[r]`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless there are as many slices as rows, each with the length of a
    /// row. Nothing is written then.
    #[doc(alias = "CopyToRows")]
    pub fn copy_to_rows(&self, dst: &mut [Option<&mut [T]>]) -> Result<(), Error> {
        self.check_slices("copy_to_rows", dst.iter().map(|row| row.as_ref().map(|row| row.len())))?;
        for (x, y) in self.rows().zip(dst) {
            if let Some(y) = y {
                y.copy_from_slice(x);
            }
        }
        Ok(())
    }

    /// `dst[r][c] += alpha * self(r, c)`, for the rows with a `dst[r]`:
    /// [`add_to_rows`](Self::add_to_rows) to separate rows.
    ///
    /// # Errors
    /// As [`copy_to_rows`](Self::copy_to_rows).
    #[doc(alias = "AddToRows")]
    pub fn add_to_row_slices(&self, alpha: T, dst: &mut [Option<&mut [T]>]) -> Result<(), Error> {
        self.check_slices("add_to_row_slices", dst.iter().map(|row| row.as_ref().map(|row| row.len())))?;
        for (x, y) in self.rows().zip(dst) {
            if let Some(y) = y {
                kernels::axpy(alpha, x, y);
            }
        }
        Ok(())
    }

    fn check_slices(
        &self,
        operation: &'static str,
        mut lens: impl ExactSizeIterator<Item = Option<usize>>,
    ) -> Result<(), Error> {
        check_dim(operation, self.num_rows(), lens.len())?;
        lens.try_for_each(|len| len.map_or(Ok(()), |len| check_dim(operation, self.num_cols(), len)))
    }
}

/// Converts indexes, which must be below `size`; none for -1.
fn resolve(operation: &'static str, indexes: &[i32], size: usize) -> Result<Vec<Option<usize>>, Error> {
    let one = |(position, &index)| match usize::try_from(index) {
        Ok(found) if found < size => Ok(Some(found)),
        Err(_) if index == -1 => Ok(None),
        _ => Err(Error::BadIndex { operation, position, index, size }),
    };
    indexes.iter().enumerate().map(one).collect()
}
