//! The Cholesky factor of a symmetric matrix, and quantities from it.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::error::Error;
use crate::kernels;
use crate::packed::{SpMatrix, TpMatrix, triangle};

impl<T: Real> SpMatrix<T> {
    /// Returns L with `self = L L'`, lower triangular with a positive diagonal.
    ///
    /// ```
    /// # use kaldi_matrix::SpMatrix;
    /// let s = SpMatrix::from_vec(2, vec![4.0_f32, 2.0, 5.0])?;
    /// assert_eq!(s.cholesky()?.data(), [2.0, 1.0, 2.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if a pivot is not positive. Kaldi continues after one that is
    /// exactly zero, and divides by it.
    #[doc(alias = "potrf")]
    pub fn cholesky(&self) -> Result<TpMatrix<T>, Error> {
        let mut l = TpMatrix::from_vec(self.dim, self.data.clone())?;
        for r in 0..self.dim {
            let (above, rest) = l.data.split_at_mut(triangle(r));
            let (row, diagonal) = rest[..=r].split_at_mut(r);
            let mut start = 0;
            for c in 0..r {
                let (left, pivot) = above[start..=start + c].split_at(c);
                row[c] = (row[c] - kernels::dot(&row[..c], left)) / pivot[0];
                start += c + 1;
            }
            let pivot = diagonal[0] - kernels::sum_of_squares(row);
            if pivot <= T::ZERO || pivot.is_nan() {
                return Err(Error::NotPositiveDefinite { operation: "cholesky", row: r, pivot: pivot.to_f64() });
            }
            diagonal[0] = pivot.sqrt();
        }
        Ok(l)
    }

    /// `true` if x' self x is positive for every nonzero x. Tested by [`cholesky`](Self::cholesky).
    ///
    /// A matrix with a pivot that is exactly zero is not; Kaldi returns `true` for it.
    #[doc(alias = "IsPosDef")]
    pub fn is_pos_def(&self) -> bool {
        self.cholesky().is_ok()
    }

    /// Returns the logarithm of the determinant of a positive definite matrix.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    #[doc(alias = "LogPosDefDet")]
    pub fn log_pos_def_det(&self) -> Result<T, Error> {
        let l = self.cholesky()?;
        Ok(T::from_f64(2.0 * l.diag().map(|x| x.to_f64().ln()).sum::<f64>()))
    }
}

impl<T: Real> TpMatrix<T> {
    /// `self = L` with `orig = L L'`; see [`SpMatrix::cholesky`].
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `orig` has the same number of rows,
    /// [`Error::NotPositiveDefinite`]; this matrix is then unchanged.
    #[doc(alias = "Cholesky")]
    pub fn cholesky(&mut self, orig: &SpMatrix<T>) -> Result<(), Error> {
        check_dim("cholesky", self.dim, orig.dim)?;
        *self = orig.cholesky()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trans;

    #[test]
    fn the_factor_squared_is_the_matrix() {
        for dim in 0..40 {
            let half =
                TpMatrix::from_fn(dim, |r, c| ((5 * r + 3 * c) % 7) as f64 / 8.0 + if r == c { 1.0 } else { 0.0 });
            let mut s = SpMatrix::zeros(dim);
            s.add_tp2(1.0, &half, Trans::No, 0.0).unwrap();
            let l = s.cholesky().unwrap();
            let log = 2.0 * l.diag().map(f64::ln).sum::<f64>();
            assert!((s.log_pos_def_det().unwrap() - log).abs() < 1e-12);
            assert!(l.data().iter().zip(half.data()).all(|(a, b)| (a - b).abs() < 1e-10), "{dim}");
        }
    }

    #[test]
    fn indefinite_matrices_are_refused() {
        let mut l = TpMatrix::unit(2);
        for (element, row) in [(1.0_f32, 1), (2.0, 1), (f32::NAN, 1)] {
            let s = SpMatrix::from_vec(2, vec![1.0, element, 1.0]).unwrap();
            assert!(matches!(l.cholesky(&s), Err(Error::NotPositiveDefinite { row: found, .. }) if found == row));
            assert!(!s.is_pos_def());
            assert!(s.log_pos_def_det().is_err());
        }
        assert_eq!(l, TpMatrix::unit(2));
        assert!(l.cholesky(&SpMatrix::zeros(3)).is_err());
        assert!(!SpMatrix::<f64>::zeros(1).is_pos_def());
        assert!(SpMatrix::<f64>::zeros(0).is_pos_def());
    }
}
