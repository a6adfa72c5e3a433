//! exp, log, tanh and sigmoid on many `f64` at once: the lane functions, for use inside a
//! [`Kernel`](crate::simd::Kernel).
//!
//! | function | error | where |
//! |---|---|---|
//! | `ln` | 2 ulp | all arguments; -inf for 0, NaN below 0 |
//! | `exp` | 2 ulp | all arguments; 1 in 2^1074 where the result is subnormal |
//! | `tanh` | 3 ulp | all arguments |
//! | `sigmoid` | 3 ulp | all arguments; 1 in 2^1074 where the result is subnormal |
//!
//! Against 42 digits (mpmath) the errors of 24,000 arguments were 1.1, 1.0, 2.4 and 2.2 ulp at
//! most.
//!
//! The method is the same as for `f32`, with longer polynomials, again our own Chebyshev fits. No
//! instruction set but AVX-512 converts between `f64` and 64-bit integers, so integers are read
//! off the last bits of a sum with 1.5 x 2^52.

use crate::simd::Doubles;

/// 1.5 x 2^52: a sum with it is an integer in its last bits, rounded to the nearest, ties to even.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts, the first with 21 zeros at its end, so that an exponent times it is exact.
const LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
/// Number of bits below the exponent.
const MANTISSA_BITS: u32 = 52;
/// The exponent of 1.
const BIAS: u64 = 1023;

/// The nearest integer to a number within ±2^51, ties to even.
#[inline(always)]
pub fn round<D: Doubles>(s: D, x: D::Vector) -> D::Vector {
    s.sub(s.add(x, s.splat(MAGIC)), s.splat(MAGIC))
}

/// 2^n of an integer within the range of exponents.
#[inline(always)]
pub fn power_of_2<D: Doubles>(s: D, n: D::Vector) -> D::Vector {
    let n = s.bits_of(s.add(n, s.splat(MAGIC)));
    s.of_bits(s.add_u64(s.shl_u64::<MANTISSA_BITS>(n), s.splat_u64(BIAS << MANTISSA_BITS)))
}

/// A positive normal number as m 2^e, 1 <= m < 2: m and e.
#[inline(always)]
pub fn parts<D: Doubles>(s: D, x: D::Vector) -> (D::Vector, D::Vector) {
    parts_from(s, x, 1.0)
}

/// A positive normal number as m 2^e, lowest <= m < 2 lowest: m and e.
#[inline(always)]
fn parts_from<D: Doubles>(s: D, x: D::Vector, lowest: f64) -> (D::Vector, D::Vector) {
    const TWO_POW_52: f64 = 4_503_599_627_370_496.0;
    // The exponent with its bias is not negative, and a number as the last bits of 2^52.
    let bits = s.bits_of(x);
    let bias = s.splat_u64(BIAS << MANTISSA_BITS);
    let exponent = s.shr_u64::<MANTISSA_BITS>(s.add_u64(s.sub_u64(bits, s.splat_u64(lowest.to_bits())), bias));
    let m = s.of_bits(s.add_u64(s.sub_u64(bits, s.shl_u64::<MANTISSA_BITS>(exponent)), bias));
    let e = s.of_bits(s.or_u64(exponent, s.splat_u64(TWO_POW_52.to_bits())));
    (m, s.sub(e, s.splat(TWO_POW_52 + BIAS as f64)))
}

/// A polynomial, its highest coefficient first.
#[inline(always)]
fn polynomial<D: Doubles, const N: usize>(s: D, x: D::Vector, coefficients: [f64; N]) -> D::Vector {
    let (&first, others) = coefficients.split_first().expect("a polynomial");
    others.iter().fold(s.splat(first), |p, &c| s.mul_add(p, x, s.splat(c)))
}

/// Natural logarithm.
#[inline(always)]
pub fn ln<D: Doubles>(s: D, x: D::Vector) -> D::Vector {
    const SQRT_HALF_BITS: u64 = 0x3FE6_A09E_667F_3BCD;
    const TWO_POW_52: f64 = 4_503_599_627_370_496.0;
    // A subnormal number is scaled into the normal ones.
    let tiny = s.splat(f64::MIN_POSITIVE);
    let scaled = s.select_lt(x, tiny, s.mul(x, s.splat(TWO_POW_52)), x);
    let e0 = s.select_lt(x, tiny, s.splat(-52.0), s.splat(0.0));
    let (m, e) = parts_from(s, scaled, f64::from_bits(SQRT_HALF_BITS));
    let e = s.add(e, e0);
    // ln m = 2 atanh(r), r = (m-1)/(m+1): an odd series that starts 2r + 2r³/3. With f = m - 1,
    // 2r = f - r f.
    let f = s.sub(m, s.splat(1.0));
    let r = s.div(f, s.add(m, s.splat(1.0)));
    let z = s.mul(r, r);
    let p = polynomial(
        s,
        z,
        [
            0.073_083_605_899_309_08,
            0.076_658_498_167_719_29,
            0.090_914_448_930_955_21,
            0.111_111_055_628_614_05,
            0.142_857_143_130_155_32,
            0.199_999_999_999_496_9,
            0.333_333_333_333_333_5,
        ],
    );
    let tail = s.mul(s.mul(s.add(r, r), z), p);
    let small = s.mul_add(e, s.splat(LN_2.1), s.sub(tail, s.mul(r, f)));
    let y = s.add(s.mul_add(e, s.splat(LN_2.0), f), small);
    // Outside the positive finite numbers.
    let y = s.select_lt(s.splat(f64::MAX), x, x, y);
    let y = s.select_lt(s.splat(0.0), x, y, s.splat(f64::NAN));
    let magnitude = s.of_bits(s.and_u64(s.bits_of(x), s.splat_u64(u64::MAX >> 1)));
    s.select_lt(magnitude, s.splat(f64::from_bits(1)), s.splat(f64::NEG_INFINITY), y)
}

/// x as n ln 2 + r, |r| <= ln 2 / 2, for |x| up to some thousands, and e^r - 1.
#[inline(always)]
fn reduced_exp_m1<D: Doubles>(s: D, x: D::Vector) -> (D::Vector, D::Vector) {
    let n = s.sub(s.mul_add(x, s.splat(std::f64::consts::LOG2_E), s.splat(MAGIC)), s.splat(MAGIC));
    let r = s.neg_mul_add(n, s.splat(LN_2.0), x);
    let r = s.neg_mul_add(n, s.splat(LN_2.1), r);
    let p = polynomial(
        s,
        r,
        [
            2.091_468_696_808_687_6e-9,
            2.510_521_700_472_074_5e-8,
            2.755_727_364_311_03e-7,
            2.755_725_540_020_642_2e-6,
            2.480_158_732_554_774_3e-5,
            0.000_198_412_698_748_206_27,
            0.001_388_888_888_888_374_8,
            0.008_333_333_333_326_136,
            0.041_666_666_666_666_67,
            0.166_666_666_666_666_7,
            0.5,
        ],
    );
    (n, s.mul_add(s.mul(p, r), r, r))
}

/// e to the power x.
#[inline(always)]
pub fn exp<D: Doubles>(s: D, x: D::Vector) -> D::Vector {
    // Beyond these bounds the result is 0 or infinite all the same. A NaN stays. At the lower one
    // both factors below are exactly 0: a product that is rounded to 0 takes many processors a
    // hundred times as long, and -inf is frequent.
    let x = s.min(s.splat(710.0), s.max(s.splat(-1418.0), x));
    let (n, y) = reduced_exp_m1(s, x);
    let y = s.add(y, s.splat(1.0));
    // 2^n in two factors, so that each is a normal number where the result is subnormal or just
    // below infinity.
    let half = s.sub(s.mul_add(n, s.splat(0.5), s.splat(MAGIC)), s.splat(MAGIC));
    s.mul(s.mul(y, power_of_2(s, half)), power_of_2(s, s.sub(n, half)))
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<D: Doubles>(s: D, x: D::Vector) -> D::Vector {
    let sign_bit = s.splat_u64(1 << 63);
    let sign = s.and_u64(s.bits_of(x), sign_bit);
    let magnitude = s.of_bits(s.sub_u64(s.bits_of(x), sign));
    // From 20 on the result is 1. A NaN stays.
    let magnitude = s.min(s.splat(20.0), magnitude);
    // t = e^2|x| - 1, without cancellation near 0; tanh = t / (t + 2).
    let (n, y) = reduced_exp_m1(s, s.add(magnitude, magnitude));
    let power = power_of_2(s, n);
    let t = s.mul_add(y, power, s.sub(power, s.splat(1.0)));
    let y = s.div(t, s.add(t, s.splat(2.0)));
    s.of_bits(s.or_u64(s.bits_of(y), sign))
}

/// 1 / (1 + e^-x)
#[inline(always)]
pub fn sigmoid<D: Doubles>(s: D, x: D::Vector) -> D::Vector {
    // With e = e^-|x|, which does not overflow: e / (1 + e) below 0.
    let negative = s.of_bits(s.or_u64(s.bits_of(x), s.splat_u64(1 << 63)));
    let e = exp(s, negative);
    let one = s.splat(1.0);
    s.div(s.select_lt(x, s.splat(0.0), e, one), s.add(one, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Lanes, Simd, available, dispatch_at};

    /// Numbers of all exponents and both signs, infinities and NaN, and many where the functions
    /// are not trivial.
    fn doubles() -> Vec<f64> {
        let everywhere = (0..1_u64 << 18).map(|i| f64::from_bits((i << 46) ^ i.wrapping_mul(0x9E37_79B9_7F4A)));
        let around_0 = (-400_000..400_000).map(|i| f64::from(i) / 523.7);
        let around_1 = (0..100_000).map(|i| 0.5 + f64::from(i) / 66_666.6);
        let special =
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, f64::MAX];
        let thresholds = [709.782_712_893_384, 709.782_712_893_383_9, -708.396_418_532_264_1, -745.133_219_101_941_2];
        everywhere.chain(around_0).chain(around_1).chain(special).chain(thresholds).collect()
    }

    fn ulp(x: f64) -> f64 {
        let x = x.abs().clamp(f64::MIN_POSITIVE, f64::MAX);
        f64::from_bits(x.to_bits() & (0x7FF << 52)) * f64::EPSILON
    }

    #[derive(Debug, Clone, Copy)]
    enum Function {
        Ln,
        Exp,
        Tanh,
        Sigmoid,
    }

    struct MaxError<'a>(Function, fn(f64) -> f64, &'a [f64]);

    impl Kernel for MaxError<'_> {
        type Output = (f64, f64);
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> (f64, f64) {
            let MaxError(f, exact, xs) = self;
            let s = s.doubles();
            let mut worst = (0.0_f64, 0.0);
            let mut y = [0.0; 8];
            for x in xs.chunks_exact(<S::Doubles as Lanes<f64>>::LANES) {
                let v = s.load(x);
                let v = match f {
                    Function::Ln => ln(s, v),
                    Function::Exp => exp(s, v),
                    Function::Tanh => tanh(s, v),
                    Function::Sigmoid => sigmoid(s, v),
                };
                s.store(v, &mut y);
                for (&x, &y) in x.iter().zip(&y) {
                    let right = exact(x);
                    if !right.is_finite() || !y.is_finite() || right == 0.0 {
                        assert!(right.is_nan() && y.is_nan() || right == y, "{f:?}: {y} for {right} at {x:e}");
                    } else {
                        let error = (y - right).abs() / ulp(right);
                        if error > worst.0 {
                            worst = (error, x);
                        }
                    }
                }
            }
            worst
        }
    }

    /// The platform's functions stand for the exact ones: they are good to an ulp, `tanh` to two,
    /// which the bounds allow for.
    fn check(f: Function, exact: fn(f64) -> f64, bound: f64) {
        let xs = doubles();
        for level in available() {
            let (worst, x) = dispatch_at(level, MaxError(f, exact, &xs));
            assert!(worst <= bound, "{f:?}: {worst} ulp at {x:e} with {level}");
        }
    }

    struct Parts(f64);

    impl Kernel for Parts {
        type Output = [f64; 4];
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> [f64; 4] {
            let s = s.doubles();
            let (m, e) = parts(s, s.splat(self.0));
            [m, e, power_of_2(s, e), round(s, s.splat(self.0))].map(|v| {
                let mut lanes = [0.0; 8];
                s.store(v, &mut lanes);
                lanes[0]
            })
        }
    }

    #[test]
    fn numbers_are_their_parts() {
        for level in available() {
            for (x, exponent) in [(1.0, 0.0), (1.5, 0.0), (0.75, -1.0), (40.5, 5.0), (f64::MIN_POSITIVE, -1022.0)] {
                let [m, e, power, rounded] = dispatch_at(level, Parts(x));
                assert_eq!((e, m * power, rounded), (exponent, x, x.round_ties_even()), "{x} with {level}");
            }
            assert_eq!(dispatch_at(level, Parts(f64::MAX))[..2], [2.0 - f64::EPSILON, 1023.0]);
        }
    }

    #[test]
    fn ln_is_within_its_bound() {
        check(Function::Ln, f64::ln, 1.0);
    }

    #[test]
    fn exp_is_within_its_bound() {
        check(Function::Exp, f64::exp, 1.0);
    }

    #[test]
    fn tanh_is_within_its_bound() {
        check(Function::Tanh, f64::tanh, 2.0);
    }

    #[test]
    fn sigmoid_is_within_its_bound() {
        fn exact(x: f64) -> f64 {
            let e = (-x.abs()).exp();
            if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
        }
        check(Function::Sigmoid, exact, 2.0);
    }
}
