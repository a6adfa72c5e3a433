//! Linear prediction: from an autocorrelation to a predictor, and to its cepstrum.

use kaldera_base::kernel;
use kaldera_base::math::ln;
use kaldera_base::simd::{Simd, dispatch};

/// The least part of the error that a reflection leaves.
const LEAST_ERROR: f32 = 1e-5;

/// Computes the linear predictor of an autocorrelation at the lags from 0 on: the logarithm of the
/// energy that it leaves, and a\[1\], a\[2\] ... such that x\[t\] + Σ a\[k\] x\[t-k\] has that
/// energy. An empty autocorrelation gives 0 and no coefficients.
///
/// Silence has no predictor: the coefficients are not finite, nor are they for an autocorrelation
/// from 2^127 on. An autocorrelation below 2^-126 has fewer bits than others, and so have its
/// coefficients.
///
/// ```
/// let (log_energy, a) = kaldi_feat::compute_lpc(&[1.0, 0.5]);
/// assert_eq!(a, [-0.5]);
/// assert!((log_energy - 0.75_f32.ln()).abs() < 1e-6);
/// ```
#[doc(alias("ComputeLpc", "Durbin"))]
pub fn compute_lpc(autocorrelation: &[f32]) -> (f32, Vec<f32>) {
    dispatch(kernel!(<'a>(s: S, autocorrelation: &'a [f32]) -> (f32, Vec<f32>) {
        let Some(order) = autocorrelation.len().checked_sub(1) else { return (0.0, Vec::new()) };
        let mut autocorrelation: Vec<_> = autocorrelation.iter().map(|&x| s.splat(x)).collect();
        let (mut a, mut scratch) = (vec![s.splat(0.0); order], vec![s.splat(0.0); order]);
        let mut error = s.splat(0.0);
        linear_predictor(s, &mut autocorrelation, &mut a, &mut scratch, Some(&mut error));
        (s.max_lane(ln(s, error)), a.into_iter().map(|x| s.max_lane(x)).collect())
    }))
}

/// Computes the cepstrum, from c\[1\] on, of the all-pole filter 1 / (1 + Σ a\[k\] z^-k): as many
/// numbers as there are in `a`.
#[doc(alias = "Lpc2Cepstrum")]
pub fn lpc_to_cepstrum(a: &[f32]) -> Vec<f32> {
    dispatch(kernel!(<'a>(s: S, a: &'a [f32]) -> Vec<f32> {
        let a: Vec<_> = a.iter().map(|&x| s.splat(x)).collect();
        let mut c = a.clone();
        predictor_cepstrum(s, &a, &mut c);
        (1..).zip(c).map(|(n, x)| s.max_lane(x) / n as f32).collect()
    }))
}

/// Computes the linear predictor: a\[1\] .. a\[p\] such that the energy of x\[t\] + Σ a\[k\]
/// x\[t-k\] is smallest. Writes that energy to `error`, if it is given.
///
/// Levinson and Durbin's recursion adds up Σ a\[k\] r\[n-k\] for the next coefficient once it knows
/// the last one. Schur's recursion keeps this sum for all n to come, and the same sum with the
/// coefficients backwards, so that nothing has to wait for a sum. Both have the same coefficients;
/// the autocorrelation is overwritten.
#[doc(alias("ComputeLpc", "Durbin"))]
#[inline(always)]
pub(crate) fn linear_predictor<S: Simd>(
    s: S,
    autocorrelation: &mut [S::F32],
    a: &mut [S::F32],
    backward: &mut [S::F32],
    mut error: Option<&mut S::F32>,
) {
    let order = a.len();
    let first = autocorrelation[0];
    if let Some(error) = &mut error {
        **error = first;
    }
    let power = power_to_one(s, first);
    let mut e = s.mul(first, power);
    for x in &mut *autocorrelation {
        *x = s.mul(*x, power);
    }
    backward.copy_from_slice(&autocorrelation[..order]);
    // Number n of both is for the lags n + 1 and n.
    let forward = &mut autocorrelation[1..];
    for i in 0..order {
        let (mut last_forward, mut last_backward) = (forward[i], backward[i]);
        let reflection = s.div(last_forward, e);
        let step = SchurStep::new(s, i, e, last_forward);
        let before = s.mul(step.kept, e);
        e = s.max(s.mul(s.splat(LEAST_ERROR), before), s.neg_mul_add(step.taken, last_forward, before));
        for (f, b) in forward[i + 1..].iter_mut().zip(&mut backward[i + 1..]) {
            let (this_forward, this_backward) = (*f, *b);
            *f = step.apply(s, this_forward, this_backward);
            *b = step.apply(s, last_backward, last_forward);
            (last_forward, last_backward) = (this_forward, this_backward);
        }
        if let Some(error) = &mut error {
            **error = s.mul(**error, left_by(s, reflection));
        }
        // a[j] and a[i-1-j] change together.
        for j in 0..i / 2 {
            let (low, high) = (a[j], a[i - 1 - j]);
            a[j] = s.neg_mul_add(reflection, high, low);
            a[i - 1 - j] = s.neg_mul_add(reflection, low, high);
        }
        if i % 2 == 1 {
            a[i / 2] = s.neg_mul_add(reflection, a[i / 2], a[i / 2]);
        }
        a[i] = s.sub(s.splat(0.0), reflection);
    }
}

/// Returns the fraction of the error that a reflection leaves.
#[inline(always)]
fn left_by<S: Simd>(s: S, reflection: S::F32) -> S::F32 {
    s.max(s.splat(LEAST_ERROR), s.neg_mul_add(reflection, reflection, s.splat(1.0)))
}

/// A step of Schur's recursion: x becomes x - f / e y, with the error e and the next forward number
/// f. None of the numbers waits for a quotient: with e = m 2^n and m from 1 to 2, they become m x -
/// f 2^-n y, which is m times as much. So they grow a little if nothing is reflected, and become as
/// small as e if most is; every fourth step, all are multiplied with 2^-n.
struct SchurStep<S: Simd> {
    /// The factor of x.
    kept: S::F32,
    /// The factor of y.
    taken: S::F32,
}

/// The bits of 1, and of the exponent.
const ONE: u32 = 127 << 23;
const EXPONENT: u32 = 0xFF << 23;

/// Returns the power of 2 that brings x between 1 and 2, if x is a normal number below 2^127.
#[inline(always)]
fn power_to_one<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let exponent = s.and_u32(s.bits_of(x), s.splat_u32(EXPONENT));
    s.of_bits(s.sub_u32(s.splat_u32(2 * ONE), exponent))
}

impl<S: Simd> SchurStep<S> {
    /// Makes step `i`, from 0.
    #[inline(always)]
    fn new(s: S, i: usize, e: S::F32, f: S::F32) -> Self {
        let power = power_to_one(s, e);
        let mantissa = s.and_u32(s.bits_of(e), s.splat_u32(!EXPONENT));
        let (kept, taken) = (s.of_bits(s.or_u32(mantissa, s.splat_u32(ONE))), s.mul(power, f));
        if i % 4 == 3 {
            return Self { kept: s.mul(power, kept), taken: s.mul(power, taken) };
        }
        Self { kept, taken }
    }

    /// Returns x - f / e y, times the common factor of all numbers.
    #[inline(always)]
    fn apply(&self, s: S, x: S::F32, y: S::F32) -> S::F32 {
        s.neg_mul_add(self.taken, y, s.mul(self.kept, x))
    }
}

/// Computes n c\[n\] of the cepstrum of 1 / (1 + Σ a\[k\] z^-k): -n a\[n\] - Σ over k below n of k
/// c\[k\] a\[n-k\]. The largest k comes last: only its term has to wait for c\[k\].
#[doc(alias = "Lpc2Cepstrum")]
#[inline(always)]
pub(crate) fn predictor_cepstrum<S: Simd>(s: S, a: &[S::F32], c: &mut [S::F32]) {
    for i in 0..a.len() {
        let mut sum = s.mul(a[i], s.splat(-((i + 1) as f32)));
        for (&c, &a) in c[..i].iter().zip(a[..i].iter().rev()) {
            sum = s.neg_mul_add(a, c, sum);
        }
        c[i] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The predictor solves the normal equations.
    #[test]
    fn prediction_error_is_orthogonal_to_the_past() {
        let r = [5.0, 3.0, -1.0, 0.5];
        let (_, a) = compute_lpc(&r);
        for lag in 1..4_usize {
            let sum: f32 = r[lag] + (1..4).map(|k: usize| a[k - 1] * r[lag.abs_diff(k)]).sum::<f32>();
            assert!(sum.abs() < 1e-5, "{sum} at {lag}");
        }
        assert_eq!(compute_lpc(&[]), (0.0, vec![]));
        assert!(compute_lpc(&[0.0, 0.0]).1[0].is_nan());
    }

    /// Levinson and Durbin's recursion as in textbooks, in double precision.
    fn durbin(r: &[f64]) -> (f64, Vec<f64>) {
        let (mut error, mut a) = (r[0], Vec::new());
        for i in 0..r.len() - 1 {
            let sum: f64 = r[i + 1] + a.iter().zip(r[1..=i].iter().rev()).map(|(a, r)| a * r).sum::<f64>();
            let reflection = sum / error;
            let before = a.clone();
            for (a, other) in a.iter_mut().zip(before.iter().rev()) {
                *a -= reflection * other;
            }
            a.push(-reflection);
            error *= (1.0 - reflection * reflection).max(f64::from(LEAST_ERROR));
        }
        (error, a)
    }

    /// Returns autocorrelations of a hum that fades, as the autocorrelations of speech do.
    fn fading(order: i32) -> Vec<f32> {
        (0..=order).map(|k| 0.9_f32.powi(k) * (0.3 * k as f32).cos()).collect()
    }

    fn scaled(numbers: &[f32], factor: f32) -> Vec<f32> {
        numbers.iter().map(|x| x * factor).collect()
    }

    fn assert_is_durbins(r: &[f32], tolerance: f64) {
        let (log_error, a) = compute_lpc(r);
        let (expected_error, expected) = durbin(&r.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
        let off = (f64::from(log_error) - expected_error.ln()).abs();
        assert!(off < tolerance * expected_error.ln().abs().max(1.0), "{log_error} for {}", expected_error.ln());
        for (x, y) in a.iter().zip(expected) {
            assert!((f64::from(*x) - y).abs() < tolerance, "{x} for {y}");
        }
    }

    #[test]
    fn predictor_equals_durbins_for_normal_numbers() {
        for power in [-120, -60, 0, 60, 126] {
            let scale = 2.0_f32.powi(power);
            assert_is_durbins(&scaled(&fading(12), scale), 1e-5);
            // A constant signal is known from its last sample: the rest is the least that a
            // reflection leaves.
            assert_is_durbins(&[scale; 13], 1e-5);
        }
        // The first sample says nothing about the others.
        assert_is_durbins(&[1.0, 0.0, 0.0, 0.0], 1e-6);
    }

    #[test]
    fn the_predictor_of_extreme_numbers_has_limits() {
        // Subnormal numbers have few bits, from which no others come.
        assert_is_durbins(&scaled(&fading(12), 1e-39), 1e-3);
        // Silence, numbers from 2^127 on, and numbers that are no autocorrelation.
        let huge = 2.0_f32.powi(127);
        for r in [[0.0; 3], [huge, huge / 2.0, 0.0], [f32::INFINITY, 0.0, 0.0], [0.0, 1.0, 0.0], [f32::NAN; 3]] {
            let (_, a) = compute_lpc(&r);
            assert!(a.iter().any(|a| !a.is_finite()), "{a:?} of {r:?}");
        }
    }

    /// One pole at p has the cepstrum p^n / n.
    #[test]
    fn the_cepstrum_of_a_pole_is_known() {
        for (n, c) in (1..).zip(lpc_to_cepstrum(&[-0.5, 0.0, 0.0, 0.0])) {
            assert!((c - 0.5_f32.powi(n) / n as f32).abs() < 1e-6, "{c} at {n}");
        }
        assert!(lpc_to_cepstrum(&[]).is_empty());
    }
}
