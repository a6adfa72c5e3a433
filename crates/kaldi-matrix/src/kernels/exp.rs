//! Exponentials, logarithms, and functions of them.
//!
//! The functions come from [`kaldera_base::math`], whose table has their accuracy. Their last bits
//! may differ between processors with and without fused multiply-add.

use kaldera_base::kernel;
use kaldera_base::math::max_lanes;
use kaldera_base::real::{Real, Vector};
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

use crate::kernels::reduce::sum_f64_lanes;

/// Number of elements whose exponentials are added at once, while they are in the L1 cache.
const BLOCK: usize = 512;
/// The same for a buffer of the function itself, which has to be cleared first.
const OWN_BLOCK: usize = 128;

/// A function of lanes. (Not a closure: a closure is compiled for the instruction set only if it is
/// so small that the compiler inlines it.)
trait Function<T: Real> {
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S>;
}

/// e^(x - shift)
struct Exp<T> {
    shift: T,
}
impl<T: Real> Function<T> for Exp<T> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S> {
        T::exp_lanes(s, s.sub(x, s.splat(self.shift)))
    }
}

/// e^(x - shift), or 0 below `lowest`
struct ExpFrom<T> {
    shift: T,
    lowest: T,
}
impl<T: Real> Function<T> for ExpFrom<T> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S> {
        s.select_lt(x, s.splat(self.lowest), s.splat(T::ZERO), T::exp_lanes(s, s.sub(x, s.splat(self.shift))))
    }
}

/// a x
struct Scale<T>(T);
impl<T: Real> Function<T> for Scale<T> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S> {
        s.mul(x, s.splat(self.0))
    }
}

/// (x - a) - b
struct Less<T>(T, T);
impl<T: Real> Function<T> for Less<T> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S> {
        s.sub(s.sub(x, s.splat(self.0)), s.splat(self.1))
    }
}

/// e^x between two limits
struct ExpLimited<T> {
    lower: T,
    upper: T,
}
impl<T: Real> Function<T> for ExpLimited<T> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S> {
        T::exp_lanes(s, s.min(s.max(x, s.splat(self.lower)), s.splat(self.upper)))
    }
}

/// e^x below 0, else x + 1
struct ExpSpecial;
impl<T: Real> Function<T> for ExpSpecial {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S> {
        s.select_lt(x, s.splat(T::ZERO), T::exp_lanes(s, x), s.add(x, s.splat(T::ONE)))
    }
}

/// ln(1 + e^x), or x above `linear_from`
struct SoftHinge<T> {
    linear_from: T,
}
impl<T: Real> Function<T> for SoftHinge<T> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: T::Lanes<S>, x: Vector<T, S>) -> Vector<T, S> {
        let (zero, one, linear_from) = (s.splat(T::ZERO), s.splat(T::ONE), s.splat(self.linear_from));
        let e = T::exp_lanes(s, x);
        // The part of e that 1 + e loses is nearly missing in ln(1 + e) / e, too: e ln(1 + e) / ((1
        // + e) - 1) is accurate to some ulp.
        let sum = s.add(one, e);
        let kept = s.sub(sum, one);
        let log = s.select_lt(zero, kept, s.div(s.mul(e, T::ln_lanes(s, sum)), kept), e);
        s.select_lt(linear_from, x, x, log)
    }
}

/// A function of each element.
struct Each<'a, T, F>(&'a mut [T], F);
impl<T: Real, F: Function<T>> Kernel for Each<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        map_lanes::<T, S>(T::lanes(s), self.0, &self.1);
    }
}

/// x = e^x of x between two limits, for each element; NaN is treated as the lower one.
pub(crate) fn exp_limited<T: Real>(x: &mut [T], lower: T, upper: T) {
    dispatch(Each(x, ExpLimited { lower, upper }));
}

/// x = e^x below 0, else x + 1, for each element.
pub(crate) fn exp_special<T: Real>(x: &mut [T]) {
    dispatch(Each(x, ExpSpecial));
}

/// x = ln(1 + e^x), for each element; above `linear_from`, x stays.
pub(crate) fn soft_hinge<T: Real>(x: &mut [T], linear_from: T) {
    dispatch(Each(x, SoftHinge { linear_from }));
}

/// x = f(x) for each vector of elements; the last one may be partly filled.
#[inline(always)]
fn map_lanes<T: Real, S: Simd>(s: T::Lanes<S>, x: &mut [T], f: &impl Function<T>) {
    let mut chunks = x.chunks_exact_mut(T::Lanes::<S>::LANES);
    for x in &mut chunks {
        s.store(f.apply::<S>(s, s.load(x)), x);
    }
    let rest = chunks.into_remainder();
    if !rest.is_empty() {
        s.store_partial(f.apply::<S>(s, s.load_partial(rest, s.splat(T::ZERO))), rest);
    }
}

/// x = e^(x - shift) for each element; returns their sum. Soft-max over several rows uses it, with
/// their highest element as the shift.
pub(crate) fn exp_sum<T: Real>(x: &mut [T], shift: T) -> f64 {
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a mut [T], shift: T) -> f64 {
        exp_sum_lanes(s, x, shift)
    }))
}

#[inline(always)]
fn exp_sum_lanes<T: Real, S: Simd>(s: S, x: &mut [T], shift: T) -> f64 {
    let mut sum = 0.0;
    for x in x.chunks_mut(BLOCK) {
        map_lanes::<T, S>(T::lanes(s), x, &Exp { shift });
        sum += sum_f64_lanes(s, x);
    }
    sum
}

/// Returns the sum of e^(x - shift) over the elements that are not below `lowest`.
pub(crate) fn sum_exp<T: Real>(x: &[T], shift: T, lowest: T) -> f64 {
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a [T], shift: T, lowest: T) -> f64 {
        sum_exp_lanes(s, x, shift, lowest)
    }))
}

#[inline(always)]
fn sum_exp_lanes<T: Real, S: Simd>(s: S, x: &[T], shift: T, lowest: T) -> f64 {
    let mut terms = [T::ZERO; OWN_BLOCK];
    let mut sum = 0.0;
    for x in x.chunks(OWN_BLOCK) {
        let terms = &mut terms[..x.len()];
        terms.copy_from_slice(x);
        map_lanes::<T, S>(T::lanes(s), terms, &ExpFrom { shift, lowest });
        sum += sum_f64_lanes(s, terms);
    }
    sum
}

/// x = e^x / (the sum of all e^x); returns the logarithm of that sum.
///
/// Not e^(x - that logarithm), which would lose as many digits as it has before its point.
pub(crate) fn softmax_row<T: Real>(x: &mut [T]) -> T {
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a mut [T]) -> T {
        softmax_lanes(s, x)
    }))
}

#[inline(always)]
fn softmax_lanes<T: Real, S: Simd>(s: S, x: &mut [T]) -> T {
    let l = T::lanes(s);
    let shift = shift_of(max_lanes::<T, S>(l, x, |x| x));
    let sum = exp_sum_lanes(s, x, shift);
    map_lanes::<T, S>(l, x, &Scale(T::from_f64(1.0 / sum)));
    T::from_f64(shift.to_f64() + sum.ln())
}

/// x = x - ln(the sum of all e^x); returns that logarithm.
pub(crate) fn log_softmax_row<T: Real>(x: &mut [T]) -> T {
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a mut [T]) -> T {
        let l = T::lanes(s);
        let shift = shift_of(max_lanes::<T, S>(l, x, |x| x));
        let log_sum = sum_exp_lanes(s, x, shift, -T::INFINITY).ln();
        // The highest element first: the difference from it is exact if it is small.
        map_lanes::<T, S>(l, x, &Less(shift, T::from_f64(log_sum)));
        T::from_f64(shift.to_f64() + log_sum)
    }))
}

/// Returns the shift of the exponentials: the highest element, if it is finite.
#[inline(always)]
fn shift_of<T: Real>(highest: T) -> T {
    if highest.is_finite() { highest } else { T::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize) -> Vec<f64> {
        (0..len).map(|i| ((i * 7919 % 1009) as f64 - 500.0) / 40.0).collect()
    }

    /// Plain sums of many terms in double precision are not exact either.
    fn near<T: Real>(a: T, b: f64) -> bool {
        (a.to_f64() - b).abs() <= 32.0 * T::EPSILON.to_f64() * b.abs().max(1.0)
    }

    fn check<T: Real>() {
        for len in [1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64, 100, 512, 513, 1300] {
            let x: Vec<T> = numbers(len).into_iter().map(T::from_f64).collect();
            let wide: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
            let total: f64 = wide.iter().map(|x| x.exp()).sum();
            let mut y = x.clone();
            assert!(near(softmax_row(&mut y), total.ln()));
            assert!(y.iter().zip(&wide).all(|(&y, x)| near(y, x.exp() / total)));
            let mut y = x.clone();
            assert!(near(log_softmax_row(&mut y), total.ln()));
            assert!(y.iter().zip(&wide).all(|(&y, x)| near(y, x - total.ln())));
            let shift = T::from_f64(12.0);
            let few: f64 = wide.iter().filter(|&&x| x >= -3.0).map(|x| (x - 12.0).exp()).sum();
            assert!(near(T::from_f64(sum_exp(&x, shift, T::from_f64(-3.0))), few));
            let mut y = x.clone();
            assert!(near(T::from_f64(exp_sum(&mut y, shift)), total * (-12.0_f64).exp()));
            assert!(y.iter().zip(&wide).all(|(&y, x)| near(y, (x - 12.0).exp())));
        }
    }

    fn check_limits<T: Real>() {
        let x: Vec<T> =
            numbers(333).into_iter().chain([f64::NAN, -1e300, 1e300, 1e-300, -0.0]).map(T::from_f64).collect();
        let of = |change: &dyn Fn(&mut [T])| {
            let mut y = x.clone();
            change(&mut y);
            y
        };
        let limited = of(&|y| exp_limited(y, T::from_f64(-2.0), T::from_f64(3.0)));
        let special = of(&|y| exp_special(y));
        let hinge = of(&|y| soft_hinge(y, T::from_f64(10.0)));
        for (i, x) in x.iter().map(|x| x.to_f64()).enumerate() {
            let near = |a: T, b: f64| a.to_f64() == b || (a.to_f64() - b).abs() <= 8.0 * T::EPSILON.to_f64() * b.abs();
            assert!(near(limited[i], if x.is_nan() { -2.0 } else { x.clamp(-2.0, 3.0) }.exp()), "{x}");
            assert!(x.is_nan() || near(special[i], if x < 0.0 { x.exp() } else { x + 1.0 }), "{x}");
            assert!(x.is_nan() || near(hinge[i], if x > 10.0 { x } else { x.exp().ln_1p() }), "{x}");
            assert_eq!((special[i].is_nan(), hinge[i].is_nan()), (x.is_nan(), x.is_nan()));
        }
    }

    #[test]
    fn exponentials_with_limits_agree_with_their_formulas() {
        check_limits::<f32>();
        check_limits::<f64>();
    }

    #[test]
    fn singles_and_doubles_agree_with_plain_loops() {
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn infinities_and_nan_are_what_they_are_in_the_formula() {
        let inf = f32::INFINITY;
        for (mut row, expected) in [
            (vec![-inf, -inf], -inf),
            (vec![inf, 1.0], inf),
            (vec![-inf, 3.0], 3.0),
            (vec![], -inf),
            (vec![200.0], 200.0),
        ] {
            assert_eq!(softmax_row(&mut row.clone()), expected, "{row:?}");
            assert_eq!(log_softmax_row(&mut row), expected, "{row:?}");
        }
        assert!(softmax_row(&mut [f32::NAN, 1.0]).is_nan());
        let mut row = [-inf, 3.0];
        softmax_row(&mut row);
        assert_eq!(row, [0.0, 1.0]);
    }
}
