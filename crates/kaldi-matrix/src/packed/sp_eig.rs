//! Eigenvalues of symmetric matrices, and functions of a matrix by its eigenvalues.

use kaldera_base::Real;

use crate::decompositions::SymmetricEig;
use crate::error::{Error, Shape};
use crate::matrix::Trans;
use crate::packed::SpMatrix;

impl<T: Real> SpMatrix<T> {
    /// `self = P diag(s) P'`: eigenvalues, descending, and eigenvectors, with signs as in
    /// [`symmetric_eig`](crate::MatrixBase::symmetric_eig). Kaldi's are not sorted.
    ///
    /// # Errors
    /// As [`symmetric_eig`](crate::MatrixBase::symmetric_eig).
    #[doc(alias = "Eig")]
    pub fn eig(&self) -> Result<SymmetricEig<T>, Error> {
        self.to_matrix().symmetric_eig()
    }

    /// Computes [`eig`](Self::eig) of a matrix that is positive semi-definite up to rounding:
    /// eigenvalues below zero become zero.
    ///
    /// `tolerance` is the largest absolute value of a negative eigenvalue, relative to the largest
    /// one; Kaldi's default is 0.001.
    ///
    /// # Errors
    /// As [`eig`](Self::eig), and [`Error::NotPositiveSemiDefinite`].
    #[doc(alias = "SymPosSemiDefEig")]
    pub fn sym_pos_semi_def_eig(&self, tolerance: T) -> Result<SymmetricEig<T>, Error> {
        let mut eig = self.eig()?;
        eig.floor_at_zero("sym_pos_semi_def_eig", tolerance)?;
        Ok(eig)
    }

    /// Returns the largest absolute value of an eigenvalue; 0 for a matrix without elements.
    ///
    /// # Errors
    /// As [`eig`](Self::eig).
    #[doc(alias = "MaxAbsEig")]
    pub fn max_abs_eig(&self) -> Result<T, Error> {
        let eig = self.converted::<f64>().eig()?;
        Ok(T::from_f64(eig.values.iter().fold(0.0, |largest, x| largest.max(x.abs()))))
    }

    /// Returns the largest absolute eigenvalue divided by the smallest one; infinity if that is
    /// zero. Computed in double precision.
    ///
    /// # Errors
    /// As [`eig`](Self::eig), and [`Error::NoElements`].
    #[doc(alias = "Cond")]
    pub fn cond(&self) -> Result<T, Error> {
        if self.dim() == 0 {
            return Err(Error::NoElements { operation: "cond", shape: Shape { rows: 0, cols: 0 } });
        }
        let eig = self.converted::<f64>().eig()?;
        let (least, largest) = eig
            .values
            .iter()
            .fold((f64::INFINITY, 0.0), |(least, largest): (f64, f64), x| (least.min(x.abs()), largest.max(x.abs())));
        Ok(if least == 0.0 { T::INFINITY } else { T::from_f64(largest / least) })
    }

    /// `self = self^power`, for a positive semi-definite matrix: raises its eigenvalues to that
    /// power. Computed in double precision.
    ///
    /// ```
    /// # use kaldi_matrix::SpMatrix;
    /// let mut s = SpMatrix::from_vec(2, vec![5.0_f64, 4.0, 5.0])?;
    /// s.apply_pow(0.5)?;
    /// assert!((s[(0, 0)] - 2.0).abs() < 1e-14 && (s[(1, 0)] - 1.0).abs() < 1e-14);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sym_pos_semi_def_eig`](Self::sym_pos_semi_def_eig) with a tolerance of 0.001;
    /// [`Error::Singular`] for an eigenvalue of zero with a negative power. The matrix is then
    /// unchanged.
    #[doc(alias = "ApplyPow")]
    pub fn apply_pow(&mut self, power: T) -> Result<(), Error> {
        if power == T::ONE {
            return Ok(());
        }
        let mut eig = self.converted::<f64>().eig()?;
        eig.floor_at_zero("apply_pow", SEMI_DEFINITE)?;
        if power < T::ZERO && eig.values.iter().any(|&x| x == 0.0) {
            return Err(Error::Singular {
                operation: "apply_pow",
                shape: Shape { rows: self.dim(), cols: self.dim() },
            });
        }
        eig.values.apply_pow(power.to_f64());
        self.copy_from_sp(&eig.to_sp())
    }
}

/// Largest absolute value of a negative eigenvalue, relative to the largest one, in a matrix that
/// is treated as positive semi-definite.
pub(super) const SEMI_DEFINITE: f64 = 0.001;

impl<T: Real> SymmetricEig<T> {
    /// Returns P diag(s) P'.
    pub fn to_sp(&self) -> SpMatrix<T> {
        let mut s = SpMatrix::zeros(self.vectors.num_rows());
        s.add_mat2_vec(T::ONE, &self.vectors, Trans::No, &self.values, T::ZERO)
            .expect("the sizes are those of one matrix");
        s
    }

    /// Sets eigenvalues below zero to zero, if none is negative by more than `tolerance` times the
    /// largest.
    pub(crate) fn floor_at_zero(&mut self, operation: &'static str, tolerance: T) -> Result<(), Error> {
        let (least, largest) = (self.values.min(), self.values.max());
        // Without values both are infinite, and the condition is `false`.
        if least < T::ZERO && -least > tolerance * largest {
            return Err(Error::NotPositiveSemiDefinite { operation, least: least.to_f64(), largest: largest.to_f64() });
        }
        self.values.apply_floor(T::ZERO);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_eigenvalues() {
        let s = SpMatrix::from_vec(2, vec![5.0_f32, 4.0, 5.0]).unwrap();
        assert_eq!(s.max_abs_eig().unwrap(), 9.0);
        assert!((s.cond().unwrap() - 9.0).abs() < 1e-5);
        let mut inverse = s.clone();
        inverse.apply_pow(-1.0).unwrap();
        assert!((inverse[(0, 0)] - 5.0 / 9.0).abs() < 1e-6);
        let mut same = s.clone();
        same.apply_pow(1.0).unwrap();
        assert_eq!(same, s);
        let mut unit = s.clone();
        unit.apply_pow(0.0).unwrap();
        assert!(unit.is_unit(1e-6));
    }

    #[test]
    fn undefined_powers_are_refused() {
        let singular = SpMatrix::from_vec(2, vec![1.0_f64, 1.0, 1.0]).unwrap();
        assert!(singular.cond().unwrap() > 1e15);
        let mut zero = SpMatrix::<f64>::zeros(2);
        assert!(matches!(zero.apply_pow(-0.5), Err(Error::Singular { .. })));
        assert_eq!(zero.cond().unwrap(), f64::INFINITY);
        zero.apply_pow(0.5).unwrap();
        let mut negative = SpMatrix::from_vec(2, vec![1.0_f64, 2.0, 1.0]).unwrap();
        let error = negative.apply_pow(0.5).err().unwrap();
        assert!(matches!(error, Error::NotPositiveSemiDefinite { .. }), "{error}");
        assert!(negative.sym_pos_semi_def_eig(0.1).is_err());
        assert_eq!(negative.sym_pos_semi_def_eig(1.0).unwrap().values[1], 0.0);
        let mut nothing = SpMatrix::<f32>::zeros(0);
        nothing.apply_pow(0.5).unwrap();
        assert_eq!(nothing.max_abs_eig().unwrap(), 0.0);
        assert!(matches!(nothing.cond(), Err(Error::NoElements { .. })));
    }
}
