//! Matrices: owned, borrowed, mutably borrowed.

use std::iter::FusedIterator;
use std::ops::{Index, IndexMut};
use std::slice::{Chunks, ChunksMut};

use kaldera_base::Real;

use crate::check::check_range;
use crate::error::{Error, Shape};
use crate::storage::{Storage, StorageMut};
use crate::vector::{ResizeType, SubVector, SubVectorMut};

/// A matrix over some [`Storage`]; use it through [`Matrix`], [`SubMatrix`] and [`SubMatrixMut`].
///
/// The elements are stored row by row; element (r, c) is at `data()[r * stride() + c]`, and the
/// slice ends with the last element.
#[derive(Clone, Copy, Default)]
pub struct MatrixBase<S> {
    data: S,
    rows: usize,
    cols: usize,
    stride: usize,
}

/// A matrix that owns its elements, without gaps: its stride is its number of columns.
pub type Matrix<T> = MatrixBase<Vec<T>>;

/// A borrowed matrix: a slice, or a rectangle of another matrix.
pub type SubMatrix<'a, T> = MatrixBase<&'a [T]>;

/// A mutably borrowed matrix.
pub type SubMatrixMut<'a, T> = MatrixBase<&'a mut [T]>;

/// Transposition of an operand; Kaldi's `MatrixTransposeType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trans {
    /// Not transposed (`kNoTrans`).
    #[default]
    No,
    /// Transposed (`kTrans`).
    Yes,
}

impl<T: Real> Matrix<T> {
    /// Creates a matrix of `rows` by `cols` zeros.
    ///
    /// # Panics
    /// As `vec![0.0; rows * cols]`, if that is more than memory can hold.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let data = vec![T::ZERO; num_elements(rows, cols)];
        Self { data, rows, cols, stride: cols }
    }

    /// Creates a matrix from its elements, row by row, without copying.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let m = Matrix::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0_f32])?;
    /// assert_eq!(m[(1, 0)], 4.0);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DataLength`] unless there are `rows * cols` elements.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<T>) -> Result<Self, Error> {
        let expected = span(rows, cols, cols)?;
        if data.len() != expected {
            let (shape, found) = (Shape { rows, cols }, data.len());
            return Err(Error::DataLength { shape, stride: cols, expected, found });
        }
        Ok(Self { data, rows, cols, stride: cols })
    }

    /// Creates a matrix whose element at (r, c) is `f(r, c)`.
    ///
    /// # Panics
    /// As [`zeros`](Self::zeros), and if `f` does.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> T) -> Self {
        let mut data = Vec::with_capacity(num_elements(rows, cols));
        for r in 0..rows {
            data.extend((0..cols).map(|c| f(r, c)));
        }
        Self { data, rows, cols, stride: cols }
    }

    /// Changes the shape.
    ///
    /// # Panics
    /// As [`zeros`](Self::zeros), if the new shape is more than memory can hold.
    #[doc(alias = "Resize")]
    pub fn resize(&mut self, rows: usize, cols: usize, resize_type: ResizeType) {
        if resize_type == ResizeType::CopyData && cols != self.cols {
            let mut new = Self::zeros(rows, cols);
            for (to, from) in new.rows_mut().zip(self.rows()) {
                let shared = cols.min(from.len());
                to[..shared].copy_from_slice(&from[..shared]);
            }
            *self = new;
            return;
        }
        if resize_type == ResizeType::SetZero {
            self.data.clear();
        }
        self.data.resize(num_elements(rows, cols), T::ZERO);
        (self.rows, self.cols, self.stride) = (rows, cols, cols);
    }

    /// Returns the elements row by row, without copying.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

/// Returns the number of elements of an owned matrix; the allocator rejects a product beyond
/// `usize`.
fn num_elements(rows: usize, cols: usize) -> usize {
    rows.saturating_mul(cols)
}

/// Returns the number of elements from the first to the last one of a matrix.
fn span(rows: usize, cols: usize, stride: usize) -> Result<usize, Error> {
    if stride < cols {
        return Err(Error::StrideTooShort { stride, cols });
    }
    if rows == 0 || cols == 0 {
        return Ok(0);
    }
    let last_row = (rows - 1).checked_mul(stride);
    last_row.and_then(|start| start.checked_add(cols)).ok_or(Error::TooLarge { shape: Shape { rows, cols }, stride })
}

/// Returns [`span`], if it is at most `found`.
fn checked_span(rows: usize, cols: usize, stride: usize, found: usize) -> Result<usize, Error> {
    let expected = span(rows, cols, stride)?;
    if found < expected {
        return Err(Error::DataLength { shape: Shape { rows, cols }, stride, expected, found });
    }
    Ok(expected)
}

impl<'a, T: Real> SubMatrix<'a, T> {
    /// Creates a matrix in a slice: row r starts at element `r * stride`. The slice may be longer
    /// than needed.
    ///
    /// # Errors
    /// [`Error::StrideTooShort`] for a stride below `cols`, [`Error::DataLength`] if the slice is
    /// too short.
    pub fn new(data: &'a [T], rows: usize, cols: usize, stride: usize) -> Result<Self, Error> {
        let len = checked_span(rows, cols, stride, data.len())?;
        Ok(Self { data: &data[..len], rows, cols, stride })
    }

    /// Returns the elements from the first to the last, with the lifetime of their owner.
    pub fn into_slice(self) -> &'a [T] {
        self.data
    }

    /// Returns a matrix of the same shape whose elements are `f` of these, which must be as many.
    pub(crate) fn map_data<U: Real>(self, f: impl FnOnce(&'a [T]) -> &'a [U]) -> SubMatrix<'a, U> {
        SubMatrix { data: f(self.data), rows: self.rows, cols: self.cols, stride: self.stride }
    }
}

impl<'a, T: Real> SubMatrixMut<'a, T> {
    /// Creates a matrix in a slice: row r starts at element `r * stride`. The slice may be longer
    /// than needed.
    ///
    /// # Errors
    /// [`Error::StrideTooShort`] for a stride below `cols`, [`Error::DataLength`] if the slice is
    /// too short.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize, stride: usize) -> Result<Self, Error> {
        let len = checked_span(rows, cols, stride, data.len())?;
        Ok(Self { data: &mut data[..len], rows, cols, stride })
    }

    /// Returns the elements from the first to the last, with the lifetime of the borrow.
    pub fn into_slice(self) -> &'a mut [T] {
        self.data
    }

    /// Returns a matrix of the same shape whose elements are `f` of these, which must be as many.
    pub(crate) fn map_data<U: Real>(self, f: impl FnOnce(&'a mut [T]) -> &'a mut [U]) -> SubMatrixMut<'a, U> {
        SubMatrixMut { data: f(self.data), rows: self.rows, cols: self.cols, stride: self.stride }
    }
}

impl<S: Storage> MatrixBase<S> {
    /// Returns the number of rows.
    #[doc(alias = "NumRows")]
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[doc(alias = "NumCols")]
    #[inline]
    pub fn num_cols(&self) -> usize {
        self.cols
    }

    /// Returns the numbers of rows and columns.
    #[inline]
    pub fn shape(&self) -> Shape {
        Shape { rows: self.rows, cols: self.cols }
    }

    /// Returns the number of elements from the start of one row to the start of the next.
    #[doc(alias = "Stride")]
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the number of bytes from the first element to the last, including the gaps between
    /// the rows.
    #[doc(alias = "SizeInBytes")]
    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.data())
    }

    /// Returns `true` if there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0
    }

    /// Returns the elements from the first to the last, including the gaps between the rows.
    #[doc(alias = "Data")]
    #[inline]
    pub fn data(&self) -> &[S::Elem] {
        self.data.as_slice()
    }

    /// Returns the elements of one row.
    ///
    /// # Panics
    /// If there is no such row.
    #[doc(alias = "RowData")]
    #[inline]
    pub fn row_data(&self, r: usize) -> &[S::Elem] {
        assert!(r < self.rows, "row {r} of a matrix with {} rows", self.rows);
        if self.cols == 0 { &[] } else { &self.data()[r * self.stride..][..self.cols] }
    }

    /// Returns one row.
    ///
    /// # Panics
    /// If there is no such row.
    #[doc(alias = "Row")]
    #[inline]
    pub fn row(&self, r: usize) -> SubVector<'_, S::Elem> {
        self.row_data(r).into()
    }

    /// Returns the rows, top to bottom; none if there are no columns.
    #[inline]
    pub fn rows(&self) -> Rows<'_, S::Elem> {
        Rows { chunks: self.data().chunks(self.stride.max(1)), cols: self.cols }
    }

    /// Returns a view of the whole matrix.
    #[inline]
    pub fn view(&self) -> SubMatrix<'_, S::Elem> {
        SubMatrix { data: self.data(), rows: self.rows, cols: self.cols, stride: self.stride }
    }

    /// Returns a copy that owns its elements.
    pub fn to_owned(&self) -> Matrix<S::Elem> {
        let mut data = Vec::with_capacity(self.rows * self.cols);
        for row in self.rows() {
            data.extend_from_slice(row);
        }
        Matrix { data, rows: self.rows, cols: self.cols, stride: self.cols }
    }

    /// Returns a view of `num_rows` rows and `num_cols` columns whose first element is at (`row`,
    /// `col`).
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let m = Matrix::from_fn(3, 4, |r, c| (10 * r + c) as f32);
    /// let middle = m.range(1, 2, 1, 2)?;
    /// assert_eq!(middle.row(1).data(), [21.0, 22.0]);
    /// assert_eq!(middle.stride(), 4);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if it is not inside of this matrix.
    #[doc(alias = "Range")]
    pub fn range(
        &self,
        row: usize,
        num_rows: usize,
        col: usize,
        num_cols: usize,
    ) -> Result<SubMatrix<'_, S::Elem>, Error> {
        let data = self.check_rectangle(row, num_rows, col, num_cols)?;
        Ok(SubMatrix { data: &self.data()[data], rows: num_rows, cols: num_cols, stride: self.stride })
    }

    /// Returns a view of `num_rows` rows from `row` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of them exist.
    #[doc(alias = "RowRange")]
    pub fn row_range(&self, row: usize, num_rows: usize) -> Result<SubMatrix<'_, S::Elem>, Error> {
        self.range(row, num_rows, 0, self.cols)
    }

    /// Returns a view of `num_cols` columns from `col` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of them exist.
    #[doc(alias = "ColRange")]
    pub fn col_range(&self, col: usize, num_cols: usize) -> Result<SubMatrix<'_, S::Elem>, Error> {
        self.range(0, self.rows, col, num_cols)
    }

    /// Returns the part of [`data`](Self::data) that contains a rectangle.
    fn check_rectangle(
        &self,
        row: usize,
        num_rows: usize,
        col: usize,
        num_cols: usize,
    ) -> Result<std::ops::Range<usize>, Error> {
        check_range("rows", row, num_rows, self.rows)?;
        check_range("columns", col, num_cols, self.cols)?;
        if num_rows == 0 || num_cols == 0 {
            return Ok(0..0);
        }
        let start = row * self.stride + col;
        Ok(start..start + span(num_rows, num_cols, self.stride)?)
    }
}

impl<S: StorageMut> MatrixBase<S> {
    /// Returns the elements from the first to the last, including the gaps between the rows,
    /// mutably.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [S::Elem] {
        self.data.as_mut_slice()
    }

    /// Returns the elements of one row, mutably.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row_data_mut(&mut self, r: usize) -> &mut [S::Elem] {
        assert!(r < self.rows, "row {r} of a matrix with {} rows", self.rows);
        let (cols, stride) = (self.cols, self.stride);
        if cols == 0 { &mut [] } else { &mut self.data_mut()[r * stride..][..cols] }
    }

    /// Returns one row, mutably.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row_mut(&mut self, r: usize) -> SubVectorMut<'_, S::Elem> {
        self.row_data_mut(r).into()
    }

    /// Returns the rows, top to bottom, mutably; none if there are no columns.
    #[inline]
    pub fn rows_mut(&mut self) -> RowsMut<'_, S::Elem> {
        let (cols, stride) = (self.cols, self.stride);
        RowsMut { chunks: self.data_mut().chunks_mut(stride.max(1)), cols }
    }

    /// Returns a mutable view of the whole matrix.
    #[inline]
    pub fn view_mut(&mut self) -> SubMatrixMut<'_, S::Elem> {
        let (rows, cols, stride) = (self.rows, self.cols, self.stride);
        SubMatrixMut { data: self.data_mut(), rows, cols, stride }
    }

    /// Returns a mutable view of `num_rows` rows and `num_cols` columns whose first element is at
    /// (`row`, `col`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if it is not inside of this matrix.
    pub fn range_mut(
        &mut self,
        row: usize,
        num_rows: usize,
        col: usize,
        num_cols: usize,
    ) -> Result<SubMatrixMut<'_, S::Elem>, Error> {
        let data = self.check_rectangle(row, num_rows, col, num_cols)?;
        let stride = self.stride;
        Ok(SubMatrixMut { data: &mut self.data_mut()[data], rows: num_rows, cols: num_cols, stride })
    }

    /// Returns a mutable view of `num_rows` rows from `row` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of them exist.
    pub fn row_range_mut(&mut self, row: usize, num_rows: usize) -> Result<SubMatrixMut<'_, S::Elem>, Error> {
        self.range_mut(row, num_rows, 0, self.cols)
    }

    /// Returns a mutable view of `num_cols` columns from `col` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of them exist.
    pub fn col_range_mut(&mut self, col: usize, num_cols: usize) -> Result<SubMatrixMut<'_, S::Elem>, Error> {
        self.range_mut(0, self.rows, col, num_cols)
    }
}

/// Iterator over the rows of a matrix, top to bottom, as slices; none if there are no columns.
/// Created by [`MatrixBase::rows`].
#[derive(Clone, Debug)]
pub struct Rows<'a, T> {
    chunks: Chunks<'a, T>,
    cols: usize,
}

/// Iterator over the rows of a matrix, top to bottom, as mutable slices. Created by
/// [`MatrixBase::rows_mut`].
#[derive(Debug)]
pub struct RowsMut<'a, T> {
    chunks: ChunksMut<'a, T>,
    cols: usize,
}

macro_rules! impl_rows {
    ($rows:ident, $row:ty, $cols:ident, $chunk:ident => $cut:expr) => {
        impl<'a, T> Iterator for $rows<'a, T> {
            type Item = $row;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let $cols = self.cols;
                self.chunks.next().map(|$chunk| $cut)
            }

            #[inline]
            fn nth(&mut self, n: usize) -> Option<Self::Item> {
                let $cols = self.cols;
                self.chunks.nth(n).map(|$chunk| $cut)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.chunks.size_hint()
            }

            #[inline]
            fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
                let $cols = self.cols;
                self.chunks.fold(init, |folded, $chunk| f(folded, $cut))
            }
        }

        impl<T> DoubleEndedIterator for $rows<'_, T> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let $cols = self.cols;
                self.chunks.next_back().map(|$chunk| $cut)
            }
        }

        impl<T> ExactSizeIterator for $rows<'_, T> {}
        impl<T> FusedIterator for $rows<'_, T> {}
    };
}

impl_rows!(Rows, &'a [T], cols, chunk => &chunk[..cols]);
impl_rows!(RowsMut, &'a mut [T], cols, chunk => &mut chunk[..cols]);

/// Iterates over the rows, as slices.
///
/// ```
/// # use kaldi_matrix::Matrix;
/// let m = Matrix::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// for row in &m {
///     assert_eq!(row[1], row[0] + 1.0);
/// }
/// ```
impl<'a, S: Storage> IntoIterator for &'a MatrixBase<S> {
    type Item = &'a [S::Elem];
    type IntoIter = Rows<'a, S::Elem>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows()
    }
}

/// Iterates over the rows, as mutable slices.
impl<'a, S: StorageMut> IntoIterator for &'a mut MatrixBase<S> {
    type Item = &'a mut [S::Elem];
    type IntoIter = RowsMut<'a, S::Elem>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows_mut()
    }
}

/// Creates a matrix from an array of rows.
impl<T: Real, const R: usize, const C: usize> From<[[T; C]; R]> for Matrix<T> {
    fn from(rows: [[T; C]; R]) -> Self {
        Self { data: rows.into_iter().flatten().collect(), rows: R, cols: C, stride: C }
    }
}

/// Creates a matrix from a vector of rows: 0 x 0 if there is none.
///
/// ```
/// # use kaldi_matrix::Matrix;
/// let m = Matrix::try_from(vec![vec![1.0_f32, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]])?;
/// assert_eq!(m[(2, 0)], 5.0);
/// assert!(Matrix::try_from(vec![vec![1.0_f32, 2.0], vec![3.0]]).is_err());
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// Fails with [`Error::UnequalRows`] unless all rows have the same length.
impl<T: Real> TryFrom<Vec<Vec<T>>> for Matrix<T> {
    type Error = Error;

    fn try_from(rows: Vec<Vec<T>>) -> Result<Self, Error> {
        let cols = rows.first().map_or(0, Vec::len);
        if let Some((row, wrong)) = rows.iter().enumerate().find(|(_, row)| row.len() != cols) {
            return Err(Error::UnequalRows { row, expected: cols, found: wrong.len() });
        }
        Ok(Self { rows: rows.len(), cols, stride: cols, data: rows.concat() })
    }
}

/// Index (row, column); panics outside of the matrix, as a slice does.
impl<S: Storage> Index<(usize, usize)> for MatrixBase<S> {
    type Output = S::Elem;

    #[inline]
    fn index(&self, (r, c): (usize, usize)) -> &S::Elem {
        &self.row_data(r)[c]
    }
}

/// Index (row, column); panics outside of the matrix, as a slice does.
impl<S: StorageMut> IndexMut<(usize, usize)> for MatrixBase<S> {
    #[inline]
    fn index_mut(&mut self, (r, c): (usize, usize)) -> &mut S::Elem {
        &mut self.row_data_mut(r)[c]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(rows: usize, cols: usize) -> Matrix<f32> {
        Matrix::from_fn(rows, cols, |r, c| (10 * r + c) as f32)
    }

    #[test]
    fn constructors_check() {
        let error = Matrix::from_vec(2, 3, vec![0.0_f32; 5]).err().unwrap();
        let shape = Shape { rows: 2, cols: 3 };
        assert_eq!(error, Error::DataLength { shape, stride: 3, expected: 6, found: 5 });
        assert_eq!(error.to_string(), "a 2 x 3 matrix with a row stride of 3 takes 6 elements, found 5");
        assert!(Matrix::from_vec(usize::MAX, 2, vec![0.0_f32; 5]).is_err());

        let data = [0.0_f64; 10];
        assert!(SubMatrix::new(&data, 3, 2, 4).is_ok());
        assert_eq!(SubMatrix::new(&data, 3, 2, 4).unwrap().data().len(), 10);
        assert!(SubMatrix::new(&data, 3, 3, 4).is_err());
        assert_eq!(SubMatrix::new(&data, 1, 3, 2).err(), Some(Error::StrideTooShort { stride: 2, cols: 3 }));
        assert!(SubMatrix::new(&data, usize::MAX, 3, usize::MAX).is_err());
        assert!(SubMatrixMut::new(&mut [0.0_f32; 3], 2, 2, 2).is_err());
    }

    #[test]
    fn ranges_of_ranges() {
        let mut m = counting(4, 5);
        let inner = m.range(1, 3, 1, 3).unwrap();
        let inner = inner.range(1, 2, 1, 2).unwrap();
        assert_eq!(inner[(0, 0)], 22.0);
        assert_eq!(inner[(1, 1)], 33.0);
        assert_eq!(inner.rows().collect::<Vec<_>>(), [[22.0, 23.0], [32.0, 33.0]]);
        assert_eq!(inner.to_owned().data(), [22.0, 23.0, 32.0, 33.0]);
        assert!(inner.range(0, 3, 0, 1).is_err());
        assert!(inner.range(0, 1, 1, 2).is_err());
        assert_eq!(m.range(4, 0, 5, 0).unwrap().num_rows(), 0);
        assert!(m.range(usize::MAX, 2, 0, 1).is_err());
        m.range_mut(3, 1, 4, 1).unwrap()[(0, 0)] = -1.0;
        assert_eq!(m[(3, 4)], -1.0);
    }

    #[test]
    fn matrices_without_elements() {
        for (rows, cols) in [(0, 0), (0, 3), (3, 0)] {
            let m = Matrix::<f32>::zeros(rows, cols);
            assert!(m.is_empty());
            assert_eq!(m.rows().len(), 0);
            assert_eq!(m.to_owned().shape(), m.shape());
            assert_eq!(m.range(0, rows, 0, cols).unwrap().shape(), m.shape());
        }
        assert_eq!(Matrix::<f32>::zeros(3, 0).row(2).dim(), 0);
        assert_eq!(counting(3, 4).col_range(4, 0).unwrap().row(2).dim(), 0);
    }

    #[test]
    #[should_panic(expected = "row 2 of a matrix with 2 rows")]
    fn a_row_that_is_not_there() {
        counting(2, 2).row(2);
    }

    #[test]
    fn resizing_keeps_what_it_promises() {
        let mut m = counting(2, 3);
        m.resize(3, 2, ResizeType::CopyData);
        assert_eq!(m.data(), [0.0, 1.0, 10.0, 11.0, 0.0, 0.0]);
        m.resize(1, 2, ResizeType::CopyData);
        assert_eq!(m.data(), [0.0, 1.0]);
        m.resize(2, 3, ResizeType::SetZero);
        assert_eq!(m.data(), [0.0; 6]);
        m.resize(5, 4, ResizeType::Undefined);
        assert_eq!((m.num_rows(), m.num_cols(), m.stride(), m.data().len()), (5, 4, 4, 20));
    }
}
