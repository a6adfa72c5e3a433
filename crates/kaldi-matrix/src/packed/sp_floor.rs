//! Floors of the eigenvalues of symmetric matrices, which keep them from being singular. All in
//! double precision.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::error::Error;
use crate::matrix::Trans;
use crate::packed::SpMatrix;
use crate::packed::sp_eig::SEMI_DEFINITE;

impl<T: Real> SpMatrix<T> {
    /// Raises the eigenvalues below `floor` to it, and returns their number.
    ///
    /// ```
    /// # use kaldi_matrix::SpMatrix;
    /// let mut s = SpMatrix::from_vec(2, vec![1.0_f64, 2.0, 1.0])?; // eigenvalues 3 and -1
    /// assert_eq!(s.apply_floor(0.0)?, 1);
    /// assert!((s[(0, 0)] - 1.5).abs() < 1e-14);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`eig`](Self::eig).
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor(&mut self, floor: T) -> Result<usize, Error> {
        let mut eig = self.converted::<f64>().eig()?;
        let floored = eig.values.apply_floor(floor.to_f64());
        if floored > 0 {
            self.copy_from_sp(&eig.to_sp())?;
        }
        Ok(floored)
    }

    /// Raises x' self x to at least alpha x' floor x for every x, and returns the number of
    /// directions that changed.
    ///
    /// With `alpha * floor = L L'`, the eigenvalues of L^-1 self L'^-1 below 1 are raised to 1.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `floor` has the same number of rows, [`Error::OutOfDomain`]
    /// for an `alpha` that is not positive, [`Error::NotPositiveDefinite`] for `floor`; as
    /// [`eig`](Self::eig). The matrix is then unchanged.
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor_sp(&mut self, floor: &Self, alpha: T) -> Result<usize, Error> {
        check_dim("apply_floor_sp", self.dim(), floor.dim())?;
        if alpha <= T::ZERO || alpha.is_nan() {
            return Err(Error::OutOfDomain {
                operation: "apply_floor_sp",
                parameter: "alpha",
                value: alpha.to_f64(),
                expected: "a positive number",
            });
        }
        let mut scaled = floor.converted::<f64>();
        scaled.scale(alpha.to_f64());
        let l = scaled.cholesky()?;
        let mut inverse = l.clone();
        inverse.invert()?;
        let mut seen = SpMatrix::zeros(self.dim());
        seen.add_tp2_sp(1.0, &inverse, Trans::No, &self.converted(), 0.0)?;
        let mut eig = seen.eig()?;
        let floored = eig.values.apply_floor(1.0);
        if floored > 0 {
            let mut raised = SpMatrix::<f64>::zeros(self.dim());
            raised.add_tp2_sp(1.0, &l, Trans::No, &eig.to_sp(), 0.0)?;
            self.copy_from_sp(&raised)?;
        }
        Ok(floored)
    }

    /// Raises the eigenvalues below the largest one divided by `max_cond` to that floor, and
    /// returns the number of eigenvalues at or below it; then, with `invert`, inverts the matrix.
    ///
    /// The floor is at least 1e-40, so that there is no division by zero. Kaldi's default
    /// `max_cond` is 1e5. As in Kaldi, an eigenvalue that equals the floor is counted although it
    /// does not change.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless `max_cond` is above 1; as
    /// [`sym_pos_semi_def_eig`](Self::sym_pos_semi_def_eig) with a tolerance of 0.001. The matrix
    /// is then unchanged.
    #[doc(alias = "LimitCond")]
    pub fn limit_cond(&mut self, max_cond: T, invert: bool) -> Result<usize, Error> {
        const LEAST: f64 = 1e-40;
        if max_cond <= T::ONE || max_cond.is_nan() {
            return Err(Error::OutOfDomain {
                operation: "limit_cond",
                parameter: "max_cond",
                value: max_cond.to_f64(),
                expected: "a number above 1",
            });
        }
        let mut eig = self.converted::<f64>().eig()?;
        eig.floor_at_zero("limit_cond", SEMI_DEFINITE)?;
        let floor = LEAST.max(eig.values.max() / max_cond.to_f64());
        let floored = eig.values.iter().filter(|&&x| x <= floor).count();
        for x in eig.values.iter_mut() {
            *x = if invert { 1.0 / x.max(floor) } else { x.max(floor) };
        }
        self.copy_from_sp(&eig.to_sp())?;
        Ok(floored)
    }

    /// Calls [`limit_cond`](Self::limit_cond), which always computes in double precision.
    ///
    /// # Errors
    /// As [`limit_cond`](Self::limit_cond).
    #[doc(alias = "LimitCondDouble")]
    pub fn limit_cond_double(&mut self, max_cond: T, invert: bool) -> Result<usize, Error> {
        self.limit_cond(max_cond, invert)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::packed::vec_sp_vec;
    use crate::vector::Vector;

    fn example() -> SpMatrix<f64> {
        let m = Matrix::from_fn(4, 4, |r, c| ((r * 7 + c * 5) % 11) as f64 / 4.0 - 1.0);
        let mut s = SpMatrix::zeros(4);
        s.add_mat2(1.0, &m, Trans::No, 0.0).unwrap();
        s
    }

    #[test]
    fn eigenvalues_end_above_the_floor() {
        let mut s = example();
        let floored = s.eig().unwrap().values.iter().filter(|&&x| x < 3.0).count();
        assert_eq!(s.apply_floor(3.0).unwrap(), floored);
        let least = s.eig().unwrap().values.min();
        assert!((least - 3.0).abs() < 1e-12);
        let before = s.clone();
        assert_eq!(s.apply_floor(1.0).unwrap(), 0);
        assert_eq!(s, before);
    }

    #[test]
    fn no_direction_ends_below_the_floor() {
        let mut s = example();
        let mut floor = SpMatrix::unit(4);
        floor[(2, 1)] = 0.5;
        let before = s.clone();
        assert!(s.apply_floor_sp(&floor, 2.0).unwrap() > 0);
        for seed in 0..100_u32 {
            let x = Vector::from_iter((0..4).map(|i| f64::from((seed * 37 + i * 101) % 23) - 11.0));
            let value = |s| vec_sp_vec(&x, s, &x).unwrap();
            assert!(value(&s) >= 2.0 * value(&floor) * (1.0 - 1e-12));
            assert!(value(&s) >= value(&before) - 1e-9);
        }
        assert_eq!(s.apply_floor_sp(&floor, 1.0).unwrap(), 0);
        assert!(matches!(s.apply_floor_sp(&floor, 0.0), Err(Error::OutOfDomain { .. })));
        assert!(matches!(s.apply_floor_sp(&SpMatrix::zeros(4), 1.0), Err(Error::NotPositiveDefinite { .. })));
        assert!(s.apply_floor_sp(&SpMatrix::unit(3), 1.0).is_err());
    }

    #[test]
    fn the_condition_is_limited() {
        let mut s = example();
        let mut inverse = s.clone();
        s.limit_cond(4.0, false).unwrap();
        assert!((s.cond().unwrap() - 4.0).abs() < 1e-12);
        inverse.limit_cond_double(4.0, true).unwrap();
        let mut product = Matrix::zeros(4, 4);
        product.add_sp_sp(1.0, &s, &inverse, 0.0).unwrap();
        assert!((0..4).all(|i| (product[(i, i)] - 1.0).abs() < 1e-12));
        assert!(s.limit_cond(1.0, false).is_err());
        let mut zero = SpMatrix::<f64>::zeros(2);
        assert_eq!(zero.limit_cond(1e5, true).unwrap(), 2);
        assert_eq!(zero.data()[1], 0.0);
        assert!((zero.data()[0] * 1e-40 - 1.0).abs() < 1e-12);
    }
}
