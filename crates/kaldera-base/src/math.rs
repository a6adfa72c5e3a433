//! exp, log, tanh, sigmoid and friends on many numbers at once.
//!
//! The lane functions (`ln`, `exp` ... taking an `s: impl Simd`) are for `f32` and use inside a [`Kernel`]; [`double`] has
//! those for `f64`. The slice functions (`ln_in_place` ...) run one over a slice of either type with the widest instruction
//! set. Errors are bounds in units in the last place (ulp) of the result, checked by this module's tests
//! over the whole range of arguments with every instruction set.
//!
//! | function | error | where |
//! |---|---|---|
//! | `ln` | 2 ulp | all arguments; -inf for 0, NaN below 0 |
//! | `exp` | 2 ulp | all arguments; 1 in 2^149 where the result is subnormal |
//! | `tanh` | 3 ulp | all arguments |
//! | `sigmoid` | 4 ulp | all arguments; 1 in 2^149 where the result is subnormal |
//! | `sin_cos_turns` | 2^-22 absolute | one turn |
//!
//! The polynomials are our own Chebyshev fits; the ways to reduce the argument are in every textbook (J.-M. Muller,
//! *Elementary Functions*).

pub mod double;

use crate::real::Real;
use crate::simd::{Kernel, Lanes, Simd, dispatch};

/// Natural logarithm.
#[inline(always)]
pub fn ln<S: Simd>(s: S, x: S::F32) -> S::F32 {
    const TWO_POW_23: f32 = 8_388_608.0;
    // A subnormal number is scaled into the normal ones.
    let tiny = s.splat(f32::MIN_POSITIVE);
    let scaled = s.select_lt(x, tiny, s.mul(x, s.splat(TWO_POW_23)), x);
    let e0 = s.select_lt(x, tiny, s.splat(-23.0), s.splat(0.0));
    let y = ln_of_normal(s, scaled, e0);
    // Outside the positive finite numbers.
    let y = s.select_lt(s.splat(f32::MAX), x, x, y);
    let y = s.select_lt(s.splat(0.0), x, y, s.splat(f32::NAN));
    let magnitude = s.of_bits(s.and_u32(s.bits_of(x), s.splat_u32(0x7FFF_FFFF)));
    s.select_lt(magnitude, s.splat(f32::from_bits(1)), s.splat(f32::NEG_INFINITY), y)
}

/// The bits of [`ln`], of arguments that are normal numbers above 0, infinite or NaN: a floor has been put under them, say.
#[inline(always)]
pub fn ln_of_large<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let y = ln_of_normal(s, x, s.splat(0.0));
    // NaN is not below anything.
    s.select_le(x, s.splat(f32::MAX), y, x)
}

/// ln(x 2^`e0`) of positive normal numbers, without a look at what else x could be.
#[inline(always)]
pub(crate) fn ln_of_normal<S: Simd>(s: S, x: S::F32, e0: S::F32) -> S::F32 {
    const SQRT_HALF_BITS: u32 = 0x3F35_04F3;
    // x = 2^e m with m in [√½, √2).
    let bits = s.bits_of(x);
    let exponent = s.sar_u32::<23>(s.sub_u32(bits, s.splat_u32(SQRT_HALF_BITS)));
    let m = s.of_bits(s.sub_u32(bits, s.shl_u32::<23>(exponent)));
    let e = s.add(s.i32_to_f32(exponent), e0);
    // ln m = 2 atanh(r), r = (m-1)/(m+1): an odd series that starts 2r + 2r³/3. With f = m - 1, 2r = f - r f.
    let f = s.sub(m, s.splat(1.0));
    let r = s.div(f, s.add(m, s.splat(1.0)));
    let z = s.mul(r, r);
    let p = s.mul_add(s.mul_add(s.splat(0.147_900_23), z, s.splat(0.199_943_89)), z, s.splat(0.333_333_43));
    let tail = s.mul(s.mul(s.add(r, r), z), p);
    // ln 2 in two parts, the first with enough zeros at its end that e times it is exact.
    let small = s.mul_add(e, s.splat(-2.121_944_4e-4), s.sub(tail, s.mul(r, f)));
    s.add(s.mul_add(e, s.splat(0.693_359_4), f), small)
}

/// e to the power x.
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::F32) -> S::F32 {
    // Beyond these bounds the result is 0 or infinite all the same. A NaN stays. At the lower one both factors below are exactly 0: a product that
    // is rounded to 0 takes many processors a hundred times as long, and -inf is frequent.
    let x = s.min(s.splat(89.0), s.max(s.splat(-176.0), x));
    // x = n ln 2 + r, |r| <= ln 2 / 2.
    let n = s.round(s.mul(x, s.splat(std::f32::consts::LOG2_E)));
    let r = s.neg_mul_add(n, s.splat(0.693_359_4), x);
    let r = s.mul_add(n, s.splat(2.121_944_4e-4), r);
    let p = s.mul_add(s.splat(0.001_392_618_2), r, s.splat(0.008_363_178));
    let p = s.mul_add(p, r, s.splat(0.041_666_555));
    let p = s.mul_add(p, r, s.splat(0.166_665_77));
    let p = s.mul_add(p, r, s.splat(0.5));
    let y = s.add(s.mul_add(s.mul(p, r), r, r), s.splat(1.0));
    // 2^n in two factors, so that each is a normal number where the result is subnormal or just below infinity.
    let n = s.f32_to_i32(n);
    let half = s.sar_u32::<1>(n);
    let power = |n| s.of_bits(s.shl_u32::<23>(s.add_u32(n, s.splat_u32(127))));
    s.mul(s.mul(y, power(half)), power(s.sub_u32(n, half)))
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let z = s.mul(x, x);
    let p = s.mul_add(s.splat(-0.006_096_714), z, s.splat(0.020_997_18));
    let p = s.mul_add(p, z, s.splat(-0.053_850_91));
    let p = s.mul_add(p, z, s.splat(0.133_327_7));
    let p = s.mul_add(p, z, s.splat(-0.333_333_3));
    let near = s.mul_add(s.mul(p, z), x, x);
    // 1 - 2 / (e^2x + 1), which has no cancellation away from 0.
    let e = exp(s, s.add(x, x));
    let far = s.sub(s.splat(1.0), s.div(s.splat(2.0), s.add(e, s.splat(1.0))));
    s.select_lt(z, s.splat(0.390_625), near, far)
}

/// 1 / (1 + e^-x)
#[inline(always)]
pub fn sigmoid<S: Simd>(s: S, x: S::F32) -> S::F32 {
    // With e = e^-|x|, which does not overflow: e / (1 + e) below 0.
    let magnitude = s.of_bits(s.and_u32(s.bits_of(x), s.splat_u32(0x7FFF_FFFF)));
    let e = exp(s, s.sub(s.splat(0.0), magnitude));
    let one = s.splat(1.0);
    s.div(s.select_lt(x, s.splat(0.0), e, one), s.add(one, e))
}

/// Sine and cosine of `turns` whole turns (2π `turns` radians), for 0 <= `turns` <= 1.
#[inline(always)]
pub fn sin_cos_turns<S: Simd>(s: S, turns: S::F32) -> (S::F32, S::F32) {
    let quarters = s.mul(turns, s.splat(4.0));
    let nearest = s.round(quarters);
    let x = s.mul(s.sub(quarters, nearest), s.splat(std::f32::consts::FRAC_PI_2));
    let z = s.mul(x, x);
    let p = s.mul_add(s.splat(1.0 / 362_880.0), z, s.splat(-1.0 / 5_040.0));
    let p = s.mul_add(p, z, s.splat(1.0 / 120.0));
    let p = s.mul_add(p, z, s.splat(-1.0 / 6.0));
    let sin = s.mul_add(s.mul(p, z), x, x);
    let q = s.mul_add(s.splat(1.0 / 40_320.0), z, s.splat(-1.0 / 720.0));
    let q = s.mul_add(q, z, s.splat(1.0 / 24.0));
    let q = s.mul_add(q, z, s.splat(-0.5));
    let cos = s.mul_add(q, z, s.splat(1.0));
    // Each quarter turn swaps the two and changes a sign: bit 0 says swap, bit 1 of q and of q + 1 which sign.
    let quadrant = s.f32_to_i32(nearest);
    let odd = s.i32_to_f32(s.and_u32(quadrant, s.splat_u32(1)));
    let half = s.splat(0.5);
    let flip = |v, q| {
        let sign = s.shl_u32::<30>(s.and_u32(q, s.splat_u32(2)));
        s.of_bits(s.xor_u32(s.bits_of(v), sign))
    };
    (
        flip(s.select_lt(odd, half, sin, cos), quadrant),
        flip(s.select_lt(odd, half, cos, sin), s.add_u32(quadrant, s.splat_u32(1))),
    )
}

/// A slice function of a lane function: whole vectors, then the rest in a padded one.
macro_rules! in_place {
    ($(#[$doc:meta])* $name:ident, $lanes:ident) => {
        $(#[$doc])*
        pub fn $name<T: Real>(x: &mut [T]) {
            struct Map<'a, T>(&'a mut [T]);
            impl<T: Real> Kernel for Map<'_, T> {
                type Output = ();
                #[inline(always)]
                fn run<S: Simd>(self, s: S) {
                    let s = T::lanes(s);
                    let mut chunks = self.0.chunks_exact_mut(T::Lanes::<S>::LANES);
                    for chunk in &mut chunks {
                        s.store(T::$lanes(s, s.load(chunk)), chunk);
                    }
                    let rest = chunks.into_remainder();
                    if !rest.is_empty() {
                        s.store_partial(T::$lanes(s, s.load_partial(rest, s.splat(T::ONE))), rest);
                    }
                }
            }
            dispatch(Map(x));
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
    use crate::simd::{available, dispatch_at};

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
    fn slices_of_any_length_are_done_to_their_end() {
        for n in 0..40 {
            let mut x = vec![1.0_f32; n];
            exp_in_place(&mut x);
            assert!(x.iter().all(|&x| x == std::f32::consts::E), "{n}");
        }
    }
}
