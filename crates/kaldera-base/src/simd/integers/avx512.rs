//! Integers with AVX-512: lanes of 64 bytes.

use std::arch::x86_64::*;

use crate::simd::avx512::Avx512;
use crate::simd::integers::Integers;
use crate::simd::sealed::Sealed;

/// The integers of a processor with the instructions that `Avx512` proves.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct Avx512Integers(pub(in crate::simd) Avx512);

impl Sealed for Avx512Integers {}

/// Calls intrinsics: there is an `Avx512` only where the processor has the instructions.
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: `self` holds an `Avx512`, which proves that the processor has AVX-512 F, BW, DQ
        // and VL, and BMI2, all that these need; slices were cut to the lanes of a vector before
        // their pointer was taken, or are touched through a mask of their length.
        unsafe { $e }
    };
}

/// The lanes of vectors of one type: the number of lanes, their mask, and the names of its
/// intrinsics.
macro_rules! integers {
    ($t:ty, $lanes:literal, $mask:ty, $set1:ident($as:ty), $load:ident, $add:ident, $min:ident, $max:ident, $equal:ident, $less:ident, $blend:ident) => {
        impl Integers<$t> for Avx512Integers {
            const LANES: usize = $lanes;
            const MASKS: bool = true;
            type Vector = __m512i;

            #[inline(always)]
            fn splat(self, x: $t) -> __m512i {
                intrinsics!($set1(x as $as))
            }
            #[inline(always)]
            fn load(self, from: &[$t]) -> __m512i {
                let from = &from[..$lanes];
                intrinsics!(_mm512_loadu_si512(from.as_ptr().cast()))
            }
            #[inline(always)]
            fn load_partial(self, from: &[$t], filler: __m512i) -> __m512i {
                intrinsics!($load(filler, self.first_lanes(from.len().min($lanes)) as $mask, from.as_ptr().cast()))
            }
            #[inline(always)]
            fn equal_partial(self, from: &[$t], x: __m512i) -> u64 {
                let all = self.first_lanes(from.len().min($lanes)) as $mask;
                intrinsics!($equal(all, $load(x, all, from.as_ptr().cast()), x)).into()
            }
            operations! {
                equal(a: __m512i, b: __m512i) -> u64 = $equal(!0, a, b).into();
                select_le(a: __m512i, b: __m512i, yes: __m512i, no: __m512i) -> __m512i = $blend($less(a, b), no, yes);
                add(a: __m512i, b: __m512i) -> __m512i = $add(a, b);
                min(a: __m512i, b: __m512i) -> __m512i = $min(a, b);
                max(a: __m512i, b: __m512i) -> __m512i = $max(a, b);
                and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
                or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
            }
            #[inline(always)]
            fn fold(self, v: __m512i, op: impl Fn(__m512i, __m512i) -> __m512i) -> $t {
                intrinsics!({
                    let mut v = op(v, _mm512_shuffle_i64x2::<0b01_00_11_10>(v, v));
                    v = op(v, _mm512_shuffle_i64x2::<0b10_11_00_01>(v, v));
                    v = op(v, _mm512_bsrli_epi128::<8>(v));
                    if $lanes > 8 {
                        v = op(v, _mm512_bsrli_epi128::<4>(v));
                    }
                    if $lanes > 16 {
                        v = op(v, _mm512_bsrli_epi128::<2>(v));
                        v = op(v, _mm512_bsrli_epi128::<1>(v));
                    }
                    // The lowest lane.
                    _mm_cvtsi128_si64(_mm512_castsi512_si128(v)) as $t
                })
            }
        }
    };
}
integers!(
    u8,
    64,
    __mmask64,
    _mm512_set1_epi8(i8),
    _mm512_mask_loadu_epi8,
    _mm512_add_epi8,
    _mm512_min_epu8,
    _mm512_max_epu8,
    _mm512_mask_cmpeq_epu8_mask,
    _mm512_cmple_epu8_mask,
    _mm512_mask_blend_epi8
);
integers!(
    i32,
    16,
    __mmask16,
    _mm512_set1_epi32(i32),
    _mm512_mask_loadu_epi32,
    _mm512_add_epi32,
    _mm512_min_epi32,
    _mm512_max_epi32,
    _mm512_mask_cmpeq_epi32_mask,
    _mm512_cmple_epi32_mask,
    _mm512_mask_blend_epi32
);
integers!(
    i64,
    8,
    __mmask8,
    _mm512_set1_epi64(i64),
    _mm512_mask_loadu_epi64,
    _mm512_add_epi64,
    _mm512_min_epi64,
    _mm512_max_epi64,
    _mm512_mask_cmpeq_epi64_mask,
    _mm512_cmple_epi64_mask,
    _mm512_mask_blend_epi64
);

impl Avx512Integers {
    /// As many ones from the lowest bit on, 64 at most.
    #[inline(always)]
    fn first_lanes(self, len: usize) -> u64 {
        intrinsics!(_bzhi_u64(u64::MAX, len as u32))
    }
}
