//! Tensors of rows as matrices, and back.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, SubMatrix};
use lod::{Lod, LodTensor};

use crate::error::Error;

/// A [`LodTensor`] as a matrix of `kaldi-matrix`, and back, without copies.
///
/// ```
/// use recurrent::{AsMatrix, LodTensor};
///
/// let x = LodTensor::from_lengths(&[2, 1], 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(x.as_matrix()?.row_data(2), [5.0, 6.0]);
/// let lod = x.lod().clone();
/// assert_eq!(LodTensor::from_matrix(x.into_matrix()?, lod)?.sequence(1), [5.0, 6.0]);
/// # Ok::<(), recurrent::Error>(())
/// ```
pub trait AsMatrix<T: Real>: Sized {
    /// Returns the rows as a view: `[rows, width]`, all axes after the first as one.
    ///
    /// # Errors
    /// [`Error::Matrix`] for more elements than a matrix counts.
    fn as_matrix(&self) -> Result<SubMatrix<'_, T>, Error>;

    /// Returns the rows as a matrix; the values are moved if nothing else shares them, else copied.
    ///
    /// # Errors
    /// As [`as_matrix`](Self::as_matrix).
    fn into_matrix(self) -> Result<Matrix<T>, Error>;

    /// Creates a tensor from the rows of a matrix, whose values are moved, and a LoD.
    ///
    /// # Errors
    /// [`Error::Lod`] if the LoD is for another number of rows.
    fn from_matrix(rows: Matrix<T>, lod: Lod) -> Result<Self, Error>;
}

impl<T: Real> AsMatrix<T> for LodTensor<T> {
    fn as_matrix(&self) -> Result<SubMatrix<'_, T>, Error> {
        Ok(SubMatrix::new(self.values(), self.num_rows(), self.width(), self.width())?)
    }

    fn into_matrix(self) -> Result<Matrix<T>, Error> {
        let (rows, width) = (self.num_rows(), self.width());
        Ok(Matrix::from_vec(rows, width, self.into_parts().0.into_vec())?)
    }

    fn from_matrix(rows: Matrix<T>, lod: Lod) -> Result<Self, Error> {
        let shape = [rows.num_rows(), rows.num_cols()];
        Ok(LodTensor::from_vec(shape, rows.into_vec(), lod)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_moved_both_ways() {
        let rows = Matrix::from_vec(2, 3, vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let start = rows.data().as_ptr();
        let x = LodTensor::from_matrix(rows, Lod::none()).unwrap();
        assert_eq!((x.values().as_ptr(), x.as_matrix().unwrap().row_data(1)), (start, &[4.0, 5.0, 6.0][..]));
        assert_eq!(x.into_matrix().unwrap().data().as_ptr(), start);
        assert!(LodTensor::from_matrix(Matrix::<f32>::zeros(2, 3), Lod::from_lengths(&[[1]]).unwrap()).is_err());
    }
}
