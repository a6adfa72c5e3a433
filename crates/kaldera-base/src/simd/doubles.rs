//! Lanes of `f64`: half as many as of `f32`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use std::fmt;

use crate::simd::numbers::Lanes;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2Doubles;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512Doubles;
pub(super) use portable::PortableDoubles;

/// The arithmetic of one instruction set on `f64`: the operations of [`Lanes`], and the bits of
/// the numbers.
///
/// Got with [`Simd::doubles`](super::Simd::doubles). A vector has half of
/// [`Simd::LANES`](super::Simd::LANES) lanes.
pub trait Doubles: Lanes<f64> {
    /// A vector of as many numbers of type `u64`.
    type U64: Copy + fmt::Debug + Send + Sync;

    /// The first `LANES` elements of `from`, as `f64`.
    fn load_f32(self, from: &[f32]) -> Self::Vector;
    /// The elements of `from`, `LANES` of them at most, as `f64`; then zeros. Reads no further.
    fn load_partial_f32(self, from: &[f32]) -> Self::Vector;

    /// Every lane `x`.
    fn splat_u64(self, x: u64) -> Self::U64;
    /// a + b, wrapping
    fn add_u64(self, a: Self::U64, b: Self::U64) -> Self::U64;
    /// a - b, wrapping
    fn sub_u64(self, a: Self::U64, b: Self::U64) -> Self::U64;
    /// a and b
    fn and_u64(self, a: Self::U64, b: Self::U64) -> Self::U64;
    /// a or b
    fn or_u64(self, a: Self::U64, b: Self::U64) -> Self::U64;
    /// a << N
    fn shl_u64<const N: u32>(self, a: Self::U64) -> Self::U64;
    /// a >> N, zeros moving in
    fn shr_u64<const N: u32>(self, a: Self::U64) -> Self::U64;
    /// The bits of each lane
    fn bits_of(self, a: Self::Vector) -> Self::U64;
    /// The numbers that have these bits
    fn of_bits(self, a: Self::U64) -> Self::Vector;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Simd, available, dispatch_at};

    struct Check;
    impl Kernel for Check {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            check_doubles(s.doubles());
            assert_eq!(<S::Doubles as Lanes<f64>>::LANES, S::LANES / 2);
        }
    }

    #[inline(always)]
    fn check_doubles<D: Doubles>(s: D) {
        let n = D::LANES;
        let a: Vec<f64> = (0..n).map(|i| i as f64 * 1.5 - 4.0).collect();
        let b: Vec<f64> = (0..n).map(|i| 3.0 - i as f64 * 0.75).collect();
        let bits: Vec<u64> =
            (0..n as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x8000_0001_0000_0001).collect();
        let (va, vb) = (s.load(&a), s.load(&b));
        let vu = s.bits_of(s.load(&bits.iter().map(|&b| f64::from_bits(b)).collect::<Vec<_>>()));
        let check = |what: &str, v: D::Vector, f: &dyn Fn(usize) -> f64| {
            let mut got = vec![0.0; n];
            s.store(v, &mut got);
            for (i, &g) in got.iter().enumerate() {
                assert_eq!(g.to_bits(), f(i).to_bits(), "{what} lane {i}: {g} for {}", f(i));
            }
        };
        check("add", s.add(va, vb), &|i| a[i] + b[i]);
        check("sub", s.sub(va, vb), &|i| a[i] - b[i]);
        check("mul", s.mul(va, vb), &|i| a[i] * b[i]);
        check("div", s.div(va, vb), &|i| a[i] / b[i]);
        // Small multiples of 1/8 have no rounding, fused or not.
        check("mul_add", s.mul_add(va, vb, va), &|i| a[i] * b[i] + a[i]);
        check("neg_mul_add", s.neg_mul_add(va, vb, va), &|i| a[i] - a[i] * b[i]);
        check("max", s.max(va, vb), &|i| a[i].max(b[i]));
        check("min", s.min(va, vb), &|i| a[i].min(b[i]));
        check("sqrt", s.sqrt(s.max(va, s.splat(0.0))), &|i| a[i].max(0.0).sqrt());
        check("select_lt", s.select_lt(va, vb, s.splat(1.0), va), &|i| if a[i] < b[i] { 1.0 } else { a[i] });
        let nan = s.splat(f64::NAN);
        check("max of NaN", s.max(nan, va), &|i| a[i]);
        check("max with NaN", s.max(va, nan), &|_| f64::NAN);
        check("min of NaN", s.min(nan, va), &|i| a[i]);
        check("select_lt of NaN", s.select_lt(nan, va, va, vb), &|i| b[i]);
        let cut = s.max(va, vb);
        check("select_le", s.select_le(cut, va, s.splat(1.0), vb), &|i| if b[i] <= a[i] { 1.0 } else { b[i] });
        check("select_le of NaN", s.select_le(va, nan, va, vb), &|i| b[i]);
        let singles: Vec<f32> = (0..=n).map(|i| i as f32 - 0.1).collect();
        check("load_f32", s.load_f32(&singles), &|i| f64::from(singles[i]));
        let f = f64::from_bits;
        let seven = s.splat_u64(0xF0F0_1234_7777_7777);
        check("bits", s.of_bits(vu), &|i| f(bits[i]));
        check("add_u64", s.of_bits(s.add_u64(vu, vu)), &|i| f(bits[i].wrapping_add(bits[i])));
        check("sub_u64", s.of_bits(s.sub_u64(seven, vu)), &|i| f(0xF0F0_1234_7777_7777_u64.wrapping_sub(bits[i])));
        check("and", s.of_bits(s.and_u64(vu, seven)), &|i| f(bits[i] & 0xF0F0_1234_7777_7777));
        check("or", s.of_bits(s.or_u64(vu, seven)), &|i| f(bits[i] | 0xF0F0_1234_7777_7777));
        check("shl", s.of_bits(s.shl_u64::<52>(vu)), &|i| f(bits[i] << 52));
        check("shr", s.of_bits(s.shr_u64::<52>(vu)), &|i| f(bits[i] >> 52));
        for len in 0..=n {
            // One element more than a vector holds changes nothing.
            let end = if len == n { n + 1 } else { len };
            let part: Vec<f64> = a.iter().copied().chain([9.0]).take(end).collect();
            check("load_partial", s.load_partial(&part, vb), &|i| if i < len { a[i] } else { b[i] });
            let wide = s.load_partial_f32(&singles[..end]);
            check("load_partial_f32", wide, &|i| if i < len { f64::from(singles[i]) } else { 0.0 });
            let mut to = vec![0.5; n + 2];
            s.store_partial(va, &mut to[..end]);
            let kept = |i| if i < len { a[i] } else { 0.5 };
            assert_eq!(to, (0..n + 2).map(kept).collect::<Vec<_>>(), "store_partial of {len}");
        }
        assert_eq!(s.sum(va), a.iter().sum::<f64>());
        assert_eq!(s.max_lane(vb), 3.0);
    }

    #[test]
    fn every_instruction_set_does_what_plain_rust_does() {
        for level in available() {
            dispatch_at(level, Check);
        }
    }
}
