//! exp, log, tanh, sigmoid and friends on many numbers at once.
//!
//! The lane functions (`ln`, `exp` ... taking an `s: impl Simd`) are for `f32` and use inside a
//! [`Kernel`](crate::simd::Kernel); [`double`] has those for `f64`. The slice functions
//! (`ln_in_place` ...) run one over a slice of either type with the widest instruction set. Errors
//! are bounds in units in the last place (ulp) of the result, checked by this module's tests over
//! the whole range of arguments with every instruction set.
//!
//! | function | error | where |
//! |---|---|---|
//! | `ln` | 2 ulp | all arguments; -inf for 0, NaN below 0 |
//! | `exp` | 2 ulp | all arguments; 1 in 2^149 where the result is subnormal |
//! | `tanh` | 3 ulp | all arguments |
//! | `sigmoid` | 4 ulp | all arguments; 1 in 2^149 where the result is subnormal |
//! | `sin_cos_turns` | 2^-22 absolute | one turn |
//!
//! The polynomials are our own Chebyshev fits. The argument reductions are the textbook ones
//! (J.-M. Muller, *Elementary Functions*).

pub mod double;
pub(crate) mod single;

pub use single::{exp, ln, ln_of_large, sigmoid, sin_cos_turns, tanh};

use crate::kernel;
use crate::real::{Real, Vector};
use crate::simd::{Lanes, Simd, dispatch};

/// The value of the 16 bits of a floating-point number of half precision (IEEE 754).
///
/// ```
/// use kaldera_base::math::of_half;
///
/// assert_eq!(
///     [0x3c00, 0xc000, 0x7bff, 0x0001].map(of_half),
///     [1.0, -2.0, 65504.0, 2_f32.powi(-24)]
/// );
/// ```
pub fn of_half(bits: u16) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let magnitude = match exponent {
        0 => mantissa * 2_f32.powi(-24),
        31 if mantissa == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + mantissa) * 2_f32.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// ln(e^a + e^b) of two logarithms; minus infinity is the logarithm of 0.
///
/// ```
/// use kaldera_base::math::log_add;
///
/// assert_eq!(log_add(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
/// assert_eq!(log_add(-1.0, f64::NEG_INFINITY), -1.0);
/// assert!((log_add(0.0, 0.0) - 2_f64.ln()).abs() < 1e-15);
/// ```
#[inline]
#[doc(alias = "LogAdd")]
pub fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// The logarithm of the softmax of a row, in place and in double precision. Returns ln Σ e^x: minus
/// infinity for a row of minus infinities or of nothing, which stays as it is, and no finite number
/// if there is NaN or plus infinity in the row.
///
/// ```
/// use kaldera_base::math::log_softmax;
///
/// let mut row = [1000.0_f32, 1000.0];
/// assert_eq!(log_softmax(&mut row), 1000.0 + 2_f64.ln());
/// assert_eq!(row, [-std::f32::consts::LN_2; 2]);
/// ```
pub fn log_softmax<T: Real>(row: &mut [T]) -> f64 {
    let max = row.iter().map(|x| x.to_f64()).fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return max;
    }
    // Less the largest first: large values would round the logarithm of the sum away.
    let ln_sum = row.iter().map(|x| (x.to_f64() - max).exp()).sum::<f64>().ln();
    row.iter_mut().for_each(|x| *x = T::from_f64(x.to_f64() - max - ln_sum));
    max + ln_sum
}

/// Returns the largest f(x) that is not NaN; minus infinity if there is none.
#[inline(always)]
pub fn max_lanes<T: Real, S: Simd>(s: T::Lanes<S>, x: &[T], f: impl Fn(Vector<T, S>) -> Vector<T, S>) -> T {
    const VECTORS: usize = 4;
    let lanes = T::Lanes::<S>::LANES;
    let lowest = s.splat(-T::INFINITY);
    let mut most = [lowest; VECTORS];
    let mut blocks = x.chunks_exact(VECTORS * lanes);
    for block in &mut blocks {
        for (i, most) in most.iter_mut().enumerate() {
            *most = s.max(f(s.load(&block[i * lanes..])), *most);
        }
    }
    let mut all = s.max(s.max(most[0], most[1]), s.max(most[2], most[3]));
    let mut parts = blocks.remainder().chunks_exact(lanes);
    for part in &mut parts {
        all = s.max(f(s.load(part)), all);
    }
    if !parts.remainder().is_empty() {
        let rest = parts.remainder();
        all = s.max(f(s.load_partial(rest, s.splat(rest[0]))), all);
    }
    s.max_lane(all)
}

/// Returns the mean of values, and the scale by which normalisation multiplies their distance
/// from the mean: 1 / √(variance + ε), where the variance divides by the number of values. If the
/// root is 0, all values are at their mean, and the scale is 0, too.
#[must_use]
pub fn mean_and_scale(values: impl Iterator<Item = f64> + Clone, epsilon: f64) -> (f64, f64) {
    let (count, sum) = values.clone().fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    let count = count.max(1) as f64;
    let mean = sum / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let deviation = (variance + epsilon).sqrt();
    (mean, if deviation > 0.0 { 1.0 / deviation } else { 0.0 })
}

/// Defines a slice function by a lane function: whole vectors, then the rest in a padded one.
macro_rules! in_place {
    ($(#[$doc:meta])* $name:ident, $lanes:ident) => {
        $(#[$doc])*
        pub fn $name<T: Real>(x: &mut [T]) {
            dispatch(kernel!(<'a, T: Real>(s: S, x: &'a mut [T]) {
                let s = T::lanes(s);
                let mut chunks = x.chunks_exact_mut(T::Lanes::<S>::LANES);
                for chunk in &mut chunks {
                    s.store(T::$lanes(s, s.load(chunk)), chunk);
                }
                let rest = chunks.into_remainder();
                if !rest.is_empty() {
                    s.store_partial(T::$lanes(s, s.load_partial(rest, s.splat(T::ONE))), rest);
                }
            }));
        }
    };
}

in_place!(
    /// x = ln x for each element.
    ///
    /// ```
    /// let mut x = [1.0_f32, std::f32::consts::E, 0.0];
    /// kaldera_base::math::ln_in_place(&mut x);
    /// assert_eq!(x, [0.0, 1.0, f32::NEG_INFINITY]);
    /// ```
    ln_in_place, ln_lanes);
in_place!(
    /// x = e^x for each element.
    exp_in_place, exp_lanes);
in_place!(
    /// x = tanh x for each element.
    tanh_in_place, tanh_lanes);
in_place!(
    /// x = 1 / (1 + e^-x) for each element.
    sigmoid_in_place, sigmoid_lanes);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Simd, available, dispatch_at};

    /// Every 1009th float there is: all exponents, both signs, infinities and NaN.
    fn floats() -> impl Iterator<Item = f32> {
        (0..=u32::MAX).step_by(1009).map(f32::from_bits).chain([0.0, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY])
    }

    fn ulp(x: f64) -> f64 {
        let x = x.abs().clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX));
        2_f64.powi(x.log2().floor() as i32 - 23)
    }

    struct MaxError<F, G>(F, G, Vec<f32>);

    trait Lane {
        fn apply<S: Simd>(&self, s: S, x: S::F32) -> S::F32;
    }
    macro_rules! lane {
        ($($name:ident = $f:ident;)*) => {$(
            #[derive(Clone, Copy)]
            struct $name;
            impl Lane for $name {
                #[inline(always)]
                fn apply<S: Simd>(&self, s: S, x: S::F32) -> S::F32 { $f(s, x) }
            }
        )*};
    }
    lane! { Ln = ln; Exp = exp; Tanh = tanh; Sigmoid = sigmoid; }

    impl<F: Lane, G: Fn(f64) -> f64> Kernel for MaxError<F, G> {
        type Output = f64;
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> f64 {
            let MaxError(f, exact, xs) = self;
            let mut worst = 0.0_f64;
            let mut y = [0.0; 16];
            for x in xs.chunks_exact(S::LANES) {
                s.store(f.apply(s, s.load(x)), &mut y);
                for (&x, &y) in x.iter().zip(&y) {
                    let right = exact(f64::from(x));
                    let rounded = right as f32;
                    if !rounded.is_finite() || !y.is_finite() {
                        assert!(rounded.is_nan() && y.is_nan() || rounded == y, "{y} for {right} at {x:e}");
                    } else {
                        let error = (f64::from(y) - right).abs() / ulp(right);
                        assert!(error < 100.0, "{y:e} for {right:e} at {x:e}");
                        worst = worst.max(error);
                    }
                }
            }
            worst
        }
    }

    fn check<F: Lane + Copy>(f: F, exact: fn(f64) -> f64, bound: f64, keep: fn(f32) -> bool) {
        let xs: Vec<f32> = floats().filter(|&x| keep(x)).collect();
        for level in available() {
            let worst = dispatch_at(level, MaxError(f, exact, xs.clone()));
            assert!(worst <= bound, "{worst} ulp at {level}");
        }
    }

    #[test]
    fn ln_is_within_its_bound() {
        check(Ln, f64::ln, 2.0, |_| true);
    }

    #[test]
    fn exp_is_within_its_bound() {
        check(Exp, f64::exp, 2.0, |_| true);
    }

    #[test]
    fn tanh_is_within_its_bound() {
        check(Tanh, f64::tanh, 3.0, |_| true);
    }

    #[test]
    fn sigmoid_is_within_its_bound() {
        check(Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 4.0, |_| true);
    }

    struct Circle;
    impl Kernel for Circle {
        type Output = f64;
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> f64 {
            let mut worst = 0.0_f64;
            for i in 0..=1_000_000 {
                let turns = i as f32 / 1e6;
                let (sin, cos) = sin_cos_turns(s, s.splat(turns));
                let angle = f64::from(turns) * std::f64::consts::TAU;
                worst = worst.max((f64::from(s.max_lane(sin)) - angle.sin()).abs());
                worst = worst.max((f64::from(s.max_lane(cos)) - angle.cos()).abs());
            }
            worst
        }
    }

    #[test]
    fn sin_and_cos_are_within_their_bound() {
        for level in available() {
            let worst = dispatch_at(level, Circle);
            assert!(worst <= 2_f64.powi(-22), "{worst} at {level}");
        }
    }

    #[test]
    fn log_softmax_is_exact_for_large_scores() {
        let mut row = [1000.25_f32, 1000.5];
        log_softmax(&mut row);
        let exact = [0.25_f64, 0.0].map(|loss| (-loss - (-0.25_f64).exp().ln_1p()) as f32);
        assert_eq!(row, exact);
    }

    #[test]
    fn log_softmax_tells_rows_without_probabilities() {
        let inf = f64::INFINITY;
        let sum = |mut row: Vec<f64>| (log_softmax(&mut row), row);
        assert_eq!(sum(vec![]), (-inf, vec![]));
        assert_eq!(sum(vec![-inf, -inf]), (-inf, vec![-inf, -inf]));
        assert_eq!(sum(vec![-inf, 3.0]), (3.0, vec![-inf, 0.0]));
        for bad in [vec![0.0, f64::NAN], vec![f64::NAN; 2], vec![inf, 0.0], vec![inf, -inf]] {
            assert!(!sum(bad.clone()).0.is_finite(), "{bad:?}");
        }
    }

    #[test]
    fn slices_of_any_length_are_done_to_their_end() {
        for n in 0..40 {
            let mut x = vec![1.0_f32; n];
            exp_in_place(&mut x);
            assert!(x.iter().all(|&x| x == std::f32::consts::E), "{n}");
        }
    }
}
