//! Random vectors and matrices, which are the same for one seed on every machine.

use std::f64::consts::TAU;

use kaldera_base::Real;
use kaldera_base::random::Philox;

use crate::error::Error;
use crate::matrix::MatrixBase;
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

/// A generator of random numbers: a seed, and the number of draws so far.
///
/// Kaldi uses the C library's generator, so its numbers depend on the machine and on all earlier
/// calls. Here they are a function of the seed and of the earlier draws: the same on every machine,
/// but not Kaldi's.
///
/// ```
/// use kaldi_matrix::{Matrix, RandomState};
/// let mut random = RandomState::new(7);
/// let mut m = Matrix::<f32>::zeros(2, 3);
/// m.set_randn(&mut random);
/// let mut again = Matrix::zeros(2, 3);
/// again.set_randn(&mut RandomState::new(7));
/// assert_eq!(m, again);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "RandGauss")]
pub struct RandomState {
    stream: Philox,
    /// Number of draws so far.
    taken: u64,
}

impl RandomState {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self { stream: Philox::for_name(seed, "kaldi-matrix"), taken: 0 }
    }

    /// Returns a number from 0 up to but not including 1; each multiple of 2⁻⁵³ is equally likely.
    #[doc(alias = "RandUniform")]
    pub fn uniform(&mut self) -> f64 {
        self.two_uniforms()[0]
    }

    /// Returns a number of the normal distribution with mean 0 and variance 1, by the Box-Muller
    /// transform in double precision.
    #[doc(alias = "RandGauss")]
    pub fn gauss(&mut self) -> f64 {
        let [u, v] = self.two_uniforms();
        // 1 - u is in (0, 1], so that its logarithm is finite.
        (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos()
    }

    /// Returns two independent numbers from the next block of the stream.
    fn two_uniforms(&mut self) -> [f64; 2] {
        let (low, high) = (self.taken & 0xFFFF_FFFF, self.taken >> 32);
        self.taken = self.taken.wrapping_add(1);
        let word = |half: u64| u32::try_from(half).expect("half of 64 bits");
        let [a, b, c, d] = self.stream.block([word(low), word(high), 0, 0]).map(u64::from);
        [(a, b), (c, d)].map(|(high, low)| (((high << 32) | low) >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self[i] ~ N(0, 1)`: normally distributed numbers with mean 0 and variance 1.
    #[doc(alias = "SetRandn")]
    pub fn set_randn(&mut self, random: &mut RandomState) {
        self.iter_mut().for_each(|x| *x = T::from_f64(random.gauss()));
    }

    /// `self[i] ~ U[0, 1)`: uniformly distributed numbers (in `f32` the largest round to 1).
    #[doc(alias = "SetRandUniform")]
    pub fn set_rand_uniform(&mut self, random: &mut RandomState) {
        self.iter_mut().for_each(|x| *x = T::from_f64(random.uniform()));
    }
}

impl<T: Real, S: Storage<Elem = T>> VectorBase<S> {
    /// Returns an index i with probability `self[i] / Σ self`.
    ///
    /// ```
    /// use kaldi_matrix::{RandomState, Vector};
    /// let weights = Vector::from(vec![0.0_f32, 3.0, 0.0]);
    /// assert_eq!(weights.rand_categorical(&mut RandomState::new(1))?, 1);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Negative`] for a negative element; [`Error::OutOfDomain`] unless the sum is
    /// positive and finite.
    #[doc(alias = "RandCategorical")]
    pub fn rand_categorical(&self, random: &mut RandomState) -> Result<usize, Error> {
        const OPERATION: &str = "rand_categorical";
        if let Some(index) = self.iter().position(|&x| x < T::ZERO) {
            return Err(Error::Negative { operation: OPERATION, index, value: self[index].to_f64() });
        }
        let sum: f64 = self.iter().map(|x| x.to_f64()).sum();
        if !(sum > 0.0 && sum.is_finite()) {
            let expected = "a positive number";
            return Err(Error::OutOfDomain { operation: OPERATION, parameter: "the sum", value: sum, expected });
        }
        let mut rest = random.uniform() * sum;
        let mut last = 0;
        for (i, x) in self.iter().map(|x| x.to_f64()).enumerate().filter(|&(_, x)| x > 0.0) {
            if rest < x {
                return Ok(i);
            }
            rest -= x;
            last = i;
        }
        // Reached only by rounding.
        Ok(last)
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self(i, j) ~ N(0, 1)`, row by row: normally distributed numbers with mean 0 and variance 1.
    #[doc(alias = "SetRandn")]
    pub fn set_randn(&mut self, random: &mut RandomState) {
        self.rows_mut().flatten().for_each(|x| *x = T::from_f64(random.gauss()));
    }

    /// `self(i, j) ~ U[0, 1)`, row by row: uniformly distributed numbers (in `f32` the largest
    /// round to 1).
    #[doc(alias = "SetRandUniform")]
    pub fn set_rand_uniform(&mut self, random: &mut RandomState) {
        self.rows_mut().flatten().for_each(|x| *x = T::from_f64(random.uniform()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;

    #[test]
    fn the_distributions_are_what_they_should_be() {
        let n = 100_000;
        let mut v = Vector::<f64>::zeros(n);
        let mut random = RandomState::new(3);
        let moment = |v: &Vector<f64>, p| v.iter().map(|x| x.powi(p)).sum::<f64>() / n as f64;
        // Five standard deviations of each estimate: the variance of x^p is E x^2p - (E x^p)^2.
        let bound = |variance: f64| 5.0 * (variance / n as f64).sqrt();
        v.set_randn(&mut random);
        assert!(moment(&v, 1).abs() < bound(1.0));
        assert!((moment(&v, 2) - 1.0).abs() < bound(2.0));
        assert!((moment(&v, 4) - 3.0).abs() < bound(96.0));
        v.set_rand_uniform(&mut random);
        assert!((moment(&v, 1) - 0.5).abs() < bound(1.0 / 12.0));
        assert!((moment(&v, 2) - 1.0 / 3.0).abs() < bound(4.0 / 45.0));
        assert!(v.iter().all(|x| (0.0..1.0).contains(x)));
    }

    #[test]
    fn categories_come_as_often_as_they_weigh() {
        let weights = Vector::from(vec![1.0_f32, 0.0, 3.0, 0.0]);
        let mut random = RandomState::new(5);
        let mut counts = [0_u32; 4];
        for _ in 0..10_000 {
            counts[weights.rand_categorical(&mut random).unwrap()] += 1;
        }
        assert_eq!((counts[1], counts[3]), (0, 0));
        assert!(counts[0].abs_diff(2500) < 217, "{counts:?}");
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        let mut random = RandomState::new(5);
        for weights in [vec![], vec![0.0_f64], vec![f64::INFINITY], vec![f64::NAN]] {
            let error = Vector::from(weights).rand_categorical(&mut random).unwrap_err();
            assert!(matches!(error, Error::OutOfDomain { parameter: "the sum", .. }));
        }
        let error = Vector::from(vec![2.0_f64, -1.0]).rand_categorical(&mut random).unwrap_err();
        assert!(matches!(error, Error::Negative { index: 1, .. }));
    }
}
