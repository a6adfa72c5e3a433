//! Integers with AVX2: lanes of 32 bytes.

use std::arch::x86_64::*;

use crate::simd::avx2::Avx2;
use crate::simd::integers::Integers;
use crate::simd::sealed::Sealed;

/// The integers of a processor with the instructions that `Avx2` proves.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct Avx2Integers(pub(in crate::simd) Avx2);

impl Sealed for Avx2Integers {}

/// Calls intrinsics: there is an `Avx2` only where the processor has the instructions.
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: `self` holds an `Avx2`, which proves that the processor has AVX2 and BMI2, all
        // that these need; they load and store arrays as large as a vector, slices that were cut to
        // its lanes before their pointer was taken, or such through a mask of their length.
        unsafe { $e }
    };
}

/// The lanes of vectors of one type: the number of lanes, the names of its intrinsics, the test
/// of a above b, a bit for each lane, and whether and how a part of a vector is loaded.
macro_rules! integers {
    ($t:ty, $lanes:literal, $set1:ident($as:ty), $add:ident, $min:expr, $max:expr, $equal:ident, |$a:ident, $b:ident| $above:expr, |$same:ident| $bits:expr, $masks:literal, |$from:ident, $filler:ident| $partial:expr) => {
        impl Integers<$t> for Avx2Integers {
            const LANES: usize = $lanes;
            const MASKS: bool = $masks;
            type Vector = __m256i;

            #[inline(always)]
            fn splat(self, x: $t) -> __m256i {
                intrinsics!($set1(x as $as))
            }
            #[inline(always)]
            fn load(self, from: &[$t]) -> __m256i {
                let from = &from[..$lanes];
                intrinsics!(_mm256_loadu_si256(from.as_ptr().cast()))
            }
            #[inline(always)]
            fn load_partial(self, from: &[$t], filler: __m256i) -> __m256i {
                if !$masks && from.len() >= $lanes {
                    return Integers::<$t>::load(self, from);
                }
                let from = &from[..from.len().min($lanes)];
                let ($from, $filler) = (from, filler);
                intrinsics!($partial)
            }
            #[inline(always)]
            fn equal_partial(self, from: &[$t], x: __m256i) -> u64 {
                let all = intrinsics!(_bzhi_u32(u32::MAX, from.len().min($lanes) as u32));
                let from = Integers::<$t>::load_partial(self, from, x);
                let $same = intrinsics!($equal(from, x));
                let bits: i32 = intrinsics!($bits);
                u64::from(bits.cast_unsigned() & all)
            }
            #[inline(always)]
            fn equal(self, a: __m256i, b: __m256i) -> u64 {
                let $same = intrinsics!($equal(a, b));
                let bits: i32 = intrinsics!($bits);
                u64::from(bits.cast_unsigned())
            }
            operations! {
                select_le($a: __m256i, $b: __m256i, yes: __m256i, no: __m256i) -> __m256i =
                    _mm256_blendv_epi8(yes, no, $above);
                add(a: __m256i, b: __m256i) -> __m256i = $add(a, b);
                min(a: __m256i, b: __m256i) -> __m256i = $min(a, b);
                max(a: __m256i, b: __m256i) -> __m256i = $max(a, b);
                and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
                or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
            }
            #[inline(always)]
            fn fold(self, v: __m256i, op: impl Fn(__m256i, __m256i) -> __m256i) -> $t {
                intrinsics!({
                    let mut v = op(v, _mm256_permute2x128_si256::<1>(v, v));
                    v = op(v, _mm256_bsrli_epi128::<8>(v));
                    if $lanes > 4 {
                        v = op(v, _mm256_bsrli_epi128::<4>(v));
                    }
                    if $lanes > 8 {
                        v = op(v, _mm256_bsrli_epi128::<2>(v));
                        v = op(v, _mm256_bsrli_epi128::<1>(v));
                    }
                    // The lowest lane.
                    _mm_cvtsi128_si64(_mm256_castsi256_si128(v)) as $t
                })
            }
        }
    };
}
integers!(
    u8,
    32,
    _mm256_set1_epi8(i8),
    _mm256_add_epi8,
    _mm256_min_epu8,
    _mm256_max_epu8,
    _mm256_cmpeq_epi8,
    |a, b| _mm256_xor_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a), _mm256_set1_epi8(-1)),
    |same| _mm256_movemask_epi8(same),
    false,
    |from, filler| {
        let mut lanes = [0_u8; 32];
        _mm256_storeu_si256(lanes.as_mut_ptr().cast(), filler);
        lanes.iter_mut().zip(from).for_each(|(to, &x)| *to = x);
        _mm256_loadu_si256(lanes.as_ptr().cast())
    }
);
integers!(
    i32,
    8,
    _mm256_set1_epi32(i32),
    _mm256_add_epi32,
    _mm256_min_epi32,
    _mm256_max_epi32,
    _mm256_cmpeq_epi32,
    |a, b| _mm256_cmpgt_epi32(a, b),
    |same| _mm256_movemask_ps(_mm256_castsi256_ps(same)),
    true,
    |from, filler| {
        let len = _mm256_set1_epi32(from.len() as i32);
        let mask = _mm256_cmpgt_epi32(len, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        _mm256_blendv_epi8(filler, _mm256_maskload_epi32(from.as_ptr(), mask), mask)
    }
);
integers!(
    i64,
    4,
    _mm256_set1_epi64x(i64),
    _mm256_add_epi64,
    |a, b| _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)),
    |a, b| _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)),
    _mm256_cmpeq_epi64,
    |a, b| _mm256_cmpgt_epi64(a, b),
    |same| _mm256_movemask_pd(_mm256_castsi256_pd(same)),
    true,
    |from, filler| {
        let len = _mm256_set1_epi64x(from.len() as i64);
        let mask = _mm256_cmpgt_epi64(len, _mm256_setr_epi64x(0, 1, 2, 3));
        _mm256_blendv_epi8(filler, _mm256_maskload_epi64(from.as_ptr(), mask), mask)
    }
);
