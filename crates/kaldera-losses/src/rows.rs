//! Rows of logits: their normalizers, and the gradient of log-softmax.

use kaldera_base::Real;
use kaldera_base::math::max_lanes;
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

use crate::error::Error;

/// Normalizer of a row of logits x: `ln Σ e^x = max + ln sum`, with `sum = Σ e^(x - max)`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Norm<T> {
    pub(crate) max: T,
    pub(crate) sum: f64,
}

impl<T: Real> Norm<T> {
    /// Normalizer of a row with only minus infinity: all log-probabilities are minus infinity.
    pub(crate) const IMPOSSIBLE: Self = Self { max: T::ZERO, sum: 1.0 };

    /// Returns the normalizer of a row with NaN or plus infinity: all log-probabilities are NaN.
    fn nan() -> Self {
        Self { max: T::from_f64(f64::NAN), sum: f64::NAN }
    }

    /// Returns `true` if all log-probabilities are NaN.
    pub(crate) fn is_nan(&self) -> bool {
        self.sum.is_nan()
    }

    /// Returns the log-probability of a logit.
    #[inline]
    pub(crate) fn log_prob(&self, logit: T) -> f64 {
        (logit - self.max).to_f64() - self.sum.ln()
    }
}

/// Returns the normalizers of rows of `width` logits; [`Norm::IMPOSSIBLE`] for a row with only
/// minus infinity.
///
/// # Errors
/// [`Error::Logit`] for NaN and plus infinity; with `allow_nan` their normalizer is NaN.
pub(crate) fn norms<T: Real>(
    sequence: usize,
    values: &[T],
    width: usize,
    allow_nan: bool,
) -> Result<Vec<Norm<T>>, Error> {
    let mut norms = vec![Norm::default(); values.len().checked_div(width).unwrap_or(0)];
    dispatch(Norms { values, width, norms: &mut norms });
    for (row, norm) in norms.iter_mut().enumerate().filter(|(_, norm)| !norm.sum.is_finite()) {
        let values = &values[row * width..][..width];
        *norm = match values.iter().position(|x| x.is_nan() || *x == T::INFINITY) {
            None => Norm::IMPOSSIBLE,
            Some(_) if allow_nan => Norm::nan(),
            Some(class) => return Err(Error::Logit { sequence, row, class, logit: values[class].to_f64() }),
        };
    }
    Ok(norms)
}

/// Computes `to = weight e^x / Σ e^x` for each row: the term of log-softmax in a gradient whose sum
/// over the row is `-weight`.
pub(crate) fn softmax<T: Real>(values: &[T], width: usize, norms: &[Norm<T>], weights: &[f64], to: &mut [T]) {
    dispatch(Softmax { values, width, norms, weights, to });
}

struct Norms<'a, T> {
    values: &'a [T],
    width: usize,
    norms: &'a mut [Norm<T>],
}

impl<T: Real> Kernel for Norms<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let s = T::lanes(s);
        let lanes = T::Lanes::<S>::LANES;
        let lowest = s.splat(-T::INFINITY);
        for (row, norm) in self.values.chunks_exact(self.width.max(1)).zip(self.norms) {
            let max = max_lanes::<T, S>(s, row, |x| x);
            let (shift, mut sum) = (s.splat(max), s.splat(T::ZERO));
            let mut vectors = row.chunks_exact(lanes);
            for x in &mut vectors {
                sum = s.add(sum, T::exp_lanes(s, s.sub(s.load(x), shift)));
            }
            let rest = vectors.remainder();
            if !rest.is_empty() {
                sum = s.add(sum, T::exp_lanes(s, s.sub(s.load_partial(rest, lowest), shift)));
            }
            *norm = Norm { max, sum: s.sum(sum).to_f64() };
        }
    }
}

struct Softmax<'a, T> {
    values: &'a [T],
    width: usize,
    norms: &'a [Norm<T>],
    weights: &'a [f64],
    to: &'a mut [T],
}

impl<T: Real> Kernel for Softmax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let s = T::lanes(s);
        let lanes = T::Lanes::<S>::LANES;
        let width = self.width.max(1);
        let rows = self.values.chunks_exact(width).zip(self.to.chunks_exact_mut(width));
        for ((row, to), (norm, &weight)) in rows.zip(self.norms.iter().zip(self.weights)) {
            let (shift, scale) = (s.splat(norm.max), s.splat(T::from_f64(weight / norm.sum)));
            let (mut from, mut to) = (row.chunks_exact(lanes), to.chunks_exact_mut(lanes));
            for (x, y) in (&mut from).zip(&mut to) {
                s.store(s.mul(scale, T::exp_lanes(s, s.sub(s.load(x), shift))), y);
            }
            let (x, y) = (from.remainder(), to.into_remainder());
            if !x.is_empty() {
                s.store_partial(s.mul(scale, T::exp_lanes(s, s.sub(s.load_partial(x, shift), shift))), y);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn norms_and_softmax_equal_their_definition(
            x in prop::collection::vec(-40.0_f64..40.0, 1..150), weight in -2.0_f64..2.0,
        ) {
            let norm = norms(0, &x, x.len(), false).unwrap();
            let highest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let all = highest + x.iter().map(|x| (x - highest).exp()).sum::<f64>().ln();
            let mut to = vec![0.0; x.len()];
            softmax(&x, x.len(), &norm, &[weight], &mut to);
            for (&x, &y) in x.iter().zip(&to) {
                prop_assert!((norm[0].log_prob(x) - (x - all)).abs() < 1e-12);
                prop_assert!((y - weight * (x - all).exp()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn rows_without_normalizer_are_named() {
        let logit = |x: &[f32]| norms(3, x, 2, false).unwrap_err().to_string();
        assert!(logit(&[0.0, 0.0, 1.0, f32::NAN]).starts_with("sequence 3, row 1: the logit of class 1 is NaN"));
        assert!(logit(&[f32::INFINITY, 0.0]).contains("row 0: the logit of class 0 is inf"));
        assert!(norms(0, &[0.0, f32::NAN], 2, true).unwrap()[0].is_nan());
        assert_eq!(norms(0, &[f32::NEG_INFINITY, 1.0], 2, false).unwrap()[0].log_prob(1.0), 0.0);
        let none = norms(0, &[f32::NEG_INFINITY; 2], 2, false).unwrap();
        assert_eq!((none[0], none[0].log_prob(f32::NEG_INFINITY)), (Norm::IMPOSSIBLE, f64::NEG_INFINITY));
        assert!(norms::<f32>(0, &[], 0, false).unwrap().is_empty());
    }
}
