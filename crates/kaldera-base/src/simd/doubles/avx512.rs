//! Eight lanes with AVX-512.

use std::arch::x86_64::*;

use crate::simd::avx512::Avx512;
use crate::simd::doubles::{Doubles, Lanes};
use crate::simd::sealed::Sealed;

const LANES: usize = 8;

/// The `f64` lanes of a processor with the instructions that `Avx512` proves.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct Avx512Doubles(pub(in crate::simd) Avx512);

/// Calls intrinsics: there is an `Avx512` only where the processor has the instructions.
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: `self` holds an `Avx512`, which proves that the processor has AVX-512 F, BW, DQ
        // and VL, all that these need; slices were cut to `LANES` elements before their pointer was
        // taken, or are touched through a mask of their length.
        unsafe { $e }
    };
}

/// A mask of the first `len` lanes.
#[inline(always)]
fn first_lanes(len: usize) -> __mmask8 {
    ((1_u32 << len.min(LANES)) - 1) as __mmask8
}

impl Sealed for Avx512Doubles {}

impl Lanes<f64> for Avx512Doubles {
    const LANES: usize = LANES;
    type Vector = __m512d;

    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        intrinsics!(_mm512_set1_pd(x))
    }
    #[inline(always)]
    fn load(self, from: &[f64]) -> __m512d {
        let from = &from[..LANES];
        intrinsics!(_mm512_loadu_pd(from.as_ptr()))
    }
    #[inline(always)]
    fn store(self, v: __m512d, to: &mut [f64]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm512_storeu_pd(to.as_mut_ptr(), v))
    }
    #[inline(always)]
    fn load_partial(self, from: &[f64], filler: __m512d) -> __m512d {
        intrinsics!(_mm512_mask_loadu_pd(filler, first_lanes(from.len()), from.as_ptr()))
    }
    #[inline(always)]
    fn store_partial(self, v: __m512d, to: &mut [f64]) {
        intrinsics!(_mm512_mask_storeu_pd(to.as_mut_ptr(), first_lanes(to.len()), v))
    }

    operations! {
        add(a: __m512d, b: __m512d) -> __m512d = _mm512_add_pd(a, b);
        sub(a: __m512d, b: __m512d) -> __m512d = _mm512_sub_pd(a, b);
        mul(a: __m512d, b: __m512d) -> __m512d = _mm512_mul_pd(a, b);
        div(a: __m512d, b: __m512d) -> __m512d = _mm512_div_pd(a, b);
        mul_add(a: __m512d, b: __m512d, c: __m512d) -> __m512d = _mm512_fmadd_pd(a, b, c);
        neg_mul_add(a: __m512d, b: __m512d, c: __m512d) -> __m512d = _mm512_fnmadd_pd(a, b, c);
        sqrt(a: __m512d) -> __m512d = _mm512_sqrt_pd(a);
        max(a: __m512d, b: __m512d) -> __m512d = _mm512_max_pd(a, b);
        min(a: __m512d, b: __m512d) -> __m512d = _mm512_min_pd(a, b);
        select_lt(a: __m512d, b: __m512d, yes: __m512d, no: __m512d) -> __m512d =
            _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b), no, yes);
        select_le(a: __m512d, b: __m512d, yes: __m512d, no: __m512d) -> __m512d =
            _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b), no, yes);
    }

    #[inline(always)]
    fn sum(self, v: __m512d) -> f64 {
        intrinsics!({
            let four = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd::<1>(v));
            let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        })
    }
    #[inline(always)]
    fn max_lane(self, v: __m512d) -> f64 {
        intrinsics!(_mm512_reduce_max_pd(v))
    }
}

impl Doubles for Avx512Doubles {
    type U64 = __m512i;

    #[inline(always)]
    fn load_f32(self, from: &[f32]) -> __m512d {
        let from = &from[..LANES];
        intrinsics!(_mm512_cvtps_pd(_mm256_loadu_ps(from.as_ptr())))
    }
    operations! {
        load_partial_f32(from: &[f32]) -> __m512d =
            _mm512_cvtps_pd(_mm256_maskz_loadu_ps(first_lanes(from.len()), from.as_ptr()));

        splat_u64(x: u64) -> __m512i = _mm512_set1_epi64(x.cast_signed());
        add_u64(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi64(a, b);
        sub_u64(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi64(a, b);
        and_u64(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        or_u64(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        shl_u64<const N: u32>(a: __m512i) -> __m512i = _mm512_slli_epi64::<N>(a);
        shr_u64<const N: u32>(a: __m512i) -> __m512i = _mm512_srli_epi64::<N>(a);
        bits_of(a: __m512d) -> __m512i = _mm512_castpd_si512(a);
        of_bits(a: __m512i) -> __m512d = _mm512_castsi512_pd(a);
    }
}
