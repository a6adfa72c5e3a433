//! Powers of matrices and of complex numbers.

use kaldera_base::Real;

use crate::decompositions::general_eig::create_eigenvalue_matrix;
use crate::error::Error;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::storage::StorageMut;

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = self^power = P D^power P^-1`, by its eigenvalues. Computed in double precision.
    ///
    /// The power may be a fraction, and a whole one is not a special case: real negative
    /// eigenvalues are rejected (Kaldi returns `false`).
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let mut m = Matrix::from_vec(2, 2, vec![4.0_f64, 5.0, 0.0, 9.0])?;
    /// m.power(0.5)?;
    /// assert!((m[(0, 0)] - 2.0).abs() < 1e-14 && (m[(0, 1)] - 1.0).abs() < 1e-14);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoRealPower`] for a negative real eigenvalue, or one of zero with a negative power;
    /// [`Error::Singular`] for a matrix without a full set of eigenvectors, or so near to one that
    /// few digits would be right (Kaldi returns its result); as [`eig`](MatrixBase::eig). The
    /// matrix is then unchanged.
    #[doc(alias = "Power")]
    pub fn power(&mut self, power: T) -> Result<(), Error> {
        /// Largest condition of P. It is the factor between the errors of the result and rounding.
        const MAX_COND: f64 = 1e10;
        let (n, power) = (self.num_rows(), power.to_f64());
        let double = Matrix::from_fn(n, self.num_cols(), |r, c| self[(r, c)].to_f64());
        let mut eig = double.eig()?;
        for i in 0..n {
            let Some((re, im)) = attempt_complex_power(eig.re[i], eig.im[i], power) else {
                return Err(Error::NoRealPower { operation: "power", power, re: eig.re[i] });
            };
            (eig.re[i], eig.im[i]) = (re, im);
        }
        if n == 0 {
            return Ok(());
        }
        if eig.p.cond()? > MAX_COND {
            return Err(Error::Singular { operation: "power", shape: self.shape() });
        }
        let d = create_eigenvalue_matrix(&eig.re, &eig.im)?;
        let mut product = Matrix::zeros(n, n);
        product.add_mat_mat(1.0, &eig.p, Trans::No, &d, Trans::No, 0.0)?;
        eig.p.invert()?;
        let mut result = Matrix::zeros(n, n);
        result.add_mat_mat(1.0, &product, Trans::No, &eig.p, Trans::No, 0.0)?;
        self.copy_from_mat(&result, Trans::No)
    }
}

/// `(re + i im)^power`, the one whose angle is `power` times the angle of `re + i im`, which is
/// between -π and π.
///
/// `None` for a real negative number, which has two powers at the same distance, and for a negative
/// power of zero. Kaldi changes the number in place and returns `false`.
///
/// ```
/// # use kaldi_matrix::decompositions::attempt_complex_power;
/// let (re, im) = attempt_complex_power(0.0_f64, 4.0, 0.5).unwrap();
/// assert!((re - 2.0_f64.sqrt()).abs() < 1e-15 && (im - 2.0_f64.sqrt()).abs() < 1e-15);
/// assert_eq!(attempt_complex_power(-1.0, 0.0, 0.5), None);
/// ```
#[doc(alias = "AttemptComplexPower")]
pub fn attempt_complex_power<T: Real>(re: T, im: T, power: T) -> Option<(T, T)> {
    let (re, im, power) = (re.to_f64(), im.to_f64(), power.to_f64());
    let size = re.hypot(im);
    if (im == 0.0 && re < 0.0) || (size == 0.0 && power < 0.0) {
        return None;
    }
    let (size, angle) = (size.powf(power), im.atan2(re) * power);
    let (sine, cosine) = angle.sin_cos();
    Some((T::from_f64(size * cosine), T::from_f64(size * sine)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_squared_is_the_matrix() {
        // Its symmetric part is positive definite, so that no eigenvalue is real and negative.
        let m = Matrix::from_fn(6, 6, |r, c| if r == c { 9.0 } else { ((r * 5 + c * 3) % 4) as f64 - 1.5 });
        let mut root = m.clone();
        root.power(0.5).unwrap();
        let mut square = Matrix::zeros(6, 6);
        square.add_mat_mat(1.0, &root, Trans::No, &root, Trans::No, 0.0).unwrap();
        assert!(square.data().iter().zip(m.data()).all(|(a, b)| (a - b).abs() < 1e-12), "{square}");
        let mut inverse = m.clone();
        inverse.power(-1.0).unwrap();
        let mut right = m.clone();
        right.invert().unwrap();
        assert!(inverse.data().iter().zip(right.data()).all(|(a, b)| (a - b).abs() < 1e-13));
    }

    #[test]
    fn without_a_real_power_nothing_changes() {
        for (data, power) in [([-1.0_f32, 0.0, 0.0, 2.0], 0.5), ([0.0; 4], -1.0), ([1.0, 1.0, 0.0, 1.0], 0.5)] {
            let mut m = Matrix::from_vec(2, 2, data.to_vec()).unwrap();
            let before = m.clone();
            let error = m.power(power).err().unwrap();
            assert!(matches!(error, Error::NoRealPower { .. } | Error::Singular { .. }), "{error}");
            assert_eq!(m, before);
        }
        let mut zero = Matrix::<f64>::zeros(2, 2);
        zero.power(0.5).unwrap();
        assert_eq!(zero.data(), [0.0; 4]);
        Matrix::<f64>::zeros(0, 0).power(0.5).unwrap();
    }
}
