//! The functions of [`math`](crate::math) on lanes of `f32`.

use crate::simd::Simd;

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

/// The bits of [`ln`], of arguments that are normal numbers above 0, infinite or NaN: a floor has
/// been put under them, say.
#[inline(always)]
pub fn ln_of_large<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let y = ln_of_normal(s, x, s.splat(0.0));
    // NaN is not below anything.
    s.select_le(x, s.splat(f32::MAX), y, x)
}

/// ln(x 2^`e0`) of positive normal numbers; other values of x are not handled.
#[inline(always)]
pub(crate) fn ln_of_normal<S: Simd>(s: S, x: S::F32, e0: S::F32) -> S::F32 {
    const SQRT_HALF_BITS: u32 = 0x3F35_04F3;
    // x = 2^e m with m in [√½, √2).
    let bits = s.bits_of(x);
    let exponent = s.sar_u32::<23>(s.sub_u32(bits, s.splat_u32(SQRT_HALF_BITS)));
    let m = s.of_bits(s.sub_u32(bits, s.shl_u32::<23>(exponent)));
    let e = s.add(s.i32_to_f32(exponent), e0);
    // ln m = 2 atanh(r), r = (m-1)/(m+1): an odd series that starts 2r + 2r³/3. With f = m - 1,
    // 2r = f - r f.
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
    // Beyond these bounds the result is 0 or infinite all the same. A NaN stays. At the lower one
    // both factors below are exactly 0: a product that is rounded to 0 takes many processors a
    // hundred times as long, and -inf is frequent.
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
    // 2^n in two factors, so that each is a normal number where the result is subnormal or just
    // below infinity.
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
    // Each quarter turn swaps the two and changes a sign: bit 0 decides the swap, bit 1 of q and
    // of q + 1 the signs.
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
