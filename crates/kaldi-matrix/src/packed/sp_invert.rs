//! Inverse and determinant of a symmetric matrix, definite or not.

use kaldera_base::Real;

use crate::backend;
use crate::backend::log_det::LogDet;
use crate::error::Error;
use crate::matrix::Matrix;
use crate::packed::{SpCopyType, SpMatrix};

impl<T: Real> SpMatrix<T> {
    /// `self = self^-1`, by the Bunch-Kaufman decomposition. Returns the logarithm and the sign of
    /// the old determinant.
    ///
    /// ```
    /// # use kaldi_matrix::SpMatrix;
    /// let mut s = SpMatrix::from_vec(2, vec![1.0_f64, 2.0, 1.0])?;
    /// let det = s.invert()?;
    /// assert!((det.log - 3.0_f64.ln()).abs() < 1e-15 && det.sign == -1.0);
    /// assert!((s[(0, 1)] - 2.0 / 3.0).abs() < 1e-15);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::NoConvergence`] for NaN or infinite elements;
    /// [`Error::TooLarge`] for a matrix beyond LAPACK's 32-bit sizes in a build with only OpenBLAS.
    /// The matrix is then unchanged.
    #[doc(alias = "Invert")]
    #[doc(alias = "sptrf")]
    pub fn invert(&mut self) -> Result<LogDet<T>, Error> {
        let full = self.to_matrix();
        self.check_finite("invert")?;
        let mut inverse = Matrix::zeros(self.dim(), self.dim());
        let det = backend::invert_symmetric("invert", full.view(), Some(inverse.view_mut()))?;
        if det.sign == T::ZERO {
            return Err(Error::Singular { operation: "invert", shape: full.shape() });
        }
        self.copy_from_mat(&inverse, SpCopyType::Lower)?;
        Ok(det)
    }

    /// Computes [`invert`](Self::invert) in double precision.
    ///
    /// # Errors
    /// As [`invert`](Self::invert).
    #[doc(alias = "InvertDouble")]
    pub fn invert_double(&mut self) -> Result<LogDet<T>, Error> {
        let mut double = self.converted::<f64>();
        let det = double.invert()?;
        self.copy_from_sp(&double)?;
        Ok(det.converted())
    }

    /// Returns the logarithm of the absolute value of the determinant, and its sign; minus infinity
    /// and 0 for a singular matrix.
    ///
    /// # Errors
    /// As [`invert`](Self::invert), except that a singular matrix is not an error.
    #[doc(alias = "LogDet")]
    pub fn log_det(&self) -> Result<LogDet<T>, Error> {
        self.check_finite("log_det")?;
        backend::invert_symmetric("log_det", self.to_matrix().view(), None)
    }
}
