//! Inverses and determinants.

use kaldera_base::Real;

use crate::backend;
use crate::backend::log_det::LogDet;
use crate::decompositions::check_finite;
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::storage::{Storage, StorageMut};

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// Computes the logarithm of the absolute value of the determinant, and its sign; minus
    /// infinity and 0 for a singular matrix.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let m = Matrix::from_vec(2, 2, vec![0.0_f64, 2.0, 3.0, 0.0])?;
    /// let det = m.log_det()?;
    /// assert!((det.log - 6.0_f64.ln()).abs() < 1e-15 && det.sign == -1.0);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotSquare`]; [`Error::NoConvergence`] for NaN or infinite elements;
    /// [`Error::TooLarge`] for a matrix beyond LAPACK's 32-bit sizes in a build with only OpenBLAS.
    #[doc(alias = "LogDet")]
    pub fn log_det(&self) -> Result<LogDet<T>, Error> {
        check_square("log_det", self)?;
        backend::invert("log_det", self.view(), None)
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = self^-1`. Returns the logarithm and the sign of the old determinant.
    ///
    /// For a matrix without elements they are 0 and 1.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let mut m = Matrix::from_vec(2, 2, vec![0.0_f64, 2.0, 4.0, 0.0])?;
    /// let det = m.invert()?;
    /// assert_eq!(m.data(), [0.0, 0.25, 0.5, 0.0]);
    /// assert_eq!(det.sign, -1.0);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`log_det`](Self::log_det), and [`Error::Singular`]. The matrix is then unchanged.
    #[doc(alias = "Invert")]
    #[doc(alias = "getri")]
    pub fn invert(&mut self) -> Result<LogDet<T>, Error> {
        check_square("invert", self)?;
        let mut inverse = Matrix::zeros(self.num_rows(), self.num_cols());
        let det = backend::invert("invert", self.view(), Some(inverse.view_mut()))?;
        if det.sign == T::ZERO {
            return Err(Error::Singular { operation: "invert", shape: self.shape() });
        }
        self.copy_from_mat(&inverse, Trans::No)?;
        Ok(det)
    }

    /// Computes [`invert`](Self::invert) in double precision.
    ///
    /// # Errors
    /// As [`invert`](Self::invert).
    #[doc(alias = "InvertDouble")]
    pub fn invert_double(&mut self) -> Result<LogDet<T>, Error> {
        let mut double = Matrix::from_fn(self.num_rows(), self.num_cols(), |r, c| self[(r, c)].to_f64());
        let det = double.invert()?;
        self.copy_from_mat(&double, Trans::No)?;
        Ok(det.converted())
    }
}

/// Checks that the matrix is square, and every element finite.
pub(super) fn check_square<T: Real>(
    operation: &'static str,
    m: &MatrixBase<impl Storage<Elem = T>>,
) -> Result<(), Error> {
    let Shape { rows, cols } = m.shape();
    if rows != cols {
        return Err(Error::NotSquare { operation, found: m.shape() });
    }
    check_finite(operation, m)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_singular_matrix_has_a_determinant_but_no_inverse() {
        let mut m = Matrix::from_fn(3, 3, |r, c| (r + c) as f32);
        m.row_data_mut(2).fill(0.0);
        let before = m.clone();
        assert!(matches!(m.invert(), Err(Error::Singular { .. })));
        assert!(matches!(m.invert_double(), Err(Error::Singular { .. })));
        assert_eq!(m, before);
        assert_eq!(m.log_det().unwrap(), LogDet { log: f32::NEG_INFINITY, sign: 0.0 });
    }

    #[test]
    fn nothing_has_the_determinant_one() {
        let mut m = Matrix::<f64>::zeros(0, 0);
        assert_eq!(m.invert().unwrap(), LogDet { log: 0.0, sign: 1.0 });
        assert_eq!(m.log_det().unwrap(), LogDet { log: 0.0, sign: 1.0 });
    }

    #[test]
    fn non_square_and_nan_are_refused() {
        assert!(matches!(Matrix::<f32>::zeros(2, 3).invert(), Err(Error::NotSquare { .. })));
        let nan = Matrix::from_fn(2, 2, |_, _| f64::NAN);
        assert!(matches!(nan.log_det(), Err(Error::NoConvergence { .. })));
    }

    #[test]
    fn a_determinant_beyond_the_range_has_a_logarithm() {
        let m = Matrix::from_fn(100, 100, |r, c| if r == c { 1e30_f32 } else { 0.0 });
        let det = m.log_det().unwrap();
        assert!((det.log / (100.0 * 1e30_f32.ln()) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_view_between_other_elements() {
        let mut wide = Matrix::from_fn(2, 4, |r, c| if c < 2 { (r * 2 + c) as f64 } else { 9.0 });
        wide.col_range_mut(0, 2).unwrap().invert().unwrap();
        assert_eq!(wide.data(), [-1.5, 0.5, 9.0, 9.0, 1.0, 0.0, 9.0, 9.0]);
    }
}
