//! Four lanes with AVX2 and fused multiply-add.

use std::arch::x86_64::*;

use crate::simd::avx2::Avx2;
use crate::simd::doubles::{Doubles, Lanes};
use crate::simd::sealed::Sealed;

const LANES: usize = 4;

/// The `f64` lanes of a processor with the instructions that `Avx2` proves.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct Avx2Doubles(pub(in crate::simd) Avx2);

/// Calls intrinsics: there is an `Avx2` only where the processor has the instructions.
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: `self` holds an `Avx2`, which proves that the processor has AVX2 and FMA, all
        // that these need; slices were cut to `LANES` elements before their pointer was taken, or
        // are touched through a mask of their length.
        unsafe { $e }
    };
}

/// All ones in the first `len` lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn first_lanes(len: usize) -> __m256i {
    let len = _mm256_set1_epi64x(len.min(LANES) as i64);
    _mm256_cmpgt_epi64(len, _mm256_setr_epi64x(0, 1, 2, 3))
}

impl Sealed for Avx2Doubles {}

impl Lanes<f64> for Avx2Doubles {
    const LANES: usize = LANES;
    type Vector = __m256d;

    #[inline(always)]
    fn splat(self, x: f64) -> __m256d {
        intrinsics!(_mm256_set1_pd(x))
    }
    #[inline(always)]
    fn load(self, from: &[f64]) -> __m256d {
        let from = &from[..LANES];
        intrinsics!(_mm256_loadu_pd(from.as_ptr()))
    }
    #[inline(always)]
    fn store(self, v: __m256d, to: &mut [f64]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm256_storeu_pd(to.as_mut_ptr(), v))
    }
    #[inline(always)]
    fn load_partial(self, from: &[f64], filler: __m256d) -> __m256d {
        intrinsics!({
            let mask = first_lanes(from.len());
            _mm256_blendv_pd(filler, _mm256_maskload_pd(from.as_ptr(), mask), _mm256_castsi256_pd(mask))
        })
    }
    #[inline(always)]
    fn store_partial(self, v: __m256d, to: &mut [f64]) {
        intrinsics!(_mm256_maskstore_pd(to.as_mut_ptr(), first_lanes(to.len()), v))
    }

    operations! {
        add(a: __m256d, b: __m256d) -> __m256d = _mm256_add_pd(a, b);
        sub(a: __m256d, b: __m256d) -> __m256d = _mm256_sub_pd(a, b);
        mul(a: __m256d, b: __m256d) -> __m256d = _mm256_mul_pd(a, b);
        div(a: __m256d, b: __m256d) -> __m256d = _mm256_div_pd(a, b);
        mul_add(a: __m256d, b: __m256d, c: __m256d) -> __m256d = _mm256_fmadd_pd(a, b, c);
        neg_mul_add(a: __m256d, b: __m256d, c: __m256d) -> __m256d = _mm256_fnmadd_pd(a, b, c);
        sqrt(a: __m256d) -> __m256d = _mm256_sqrt_pd(a);
        max(a: __m256d, b: __m256d) -> __m256d = _mm256_max_pd(a, b);
        min(a: __m256d, b: __m256d) -> __m256d = _mm256_min_pd(a, b);
        select_lt(a: __m256d, b: __m256d, yes: __m256d, no: __m256d) -> __m256d =
            _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_LT_OQ>(a, b));
        select_le(a: __m256d, b: __m256d, yes: __m256d, no: __m256d) -> __m256d =
            _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_LE_OQ>(a, b));
    }

    #[inline(always)]
    fn sum(self, v: __m256d) -> f64 {
        intrinsics!({
            let two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        })
    }
    #[inline(always)]
    fn max_lane(self, v: __m256d) -> f64 {
        intrinsics!({
            let two = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
            _mm_cvtsd_f64(_mm_max_sd(two, _mm_unpackhi_pd(two, two)))
        })
    }
}

impl Doubles for Avx2Doubles {
    type U64 = __m256i;

    #[inline(always)]
    fn load_f32(self, from: &[f32]) -> __m256d {
        let from = &from[..LANES];
        intrinsics!(_mm256_cvtps_pd(_mm_loadu_ps(from.as_ptr())))
    }
    #[inline(always)]
    fn load_partial_f32(self, from: &[f32]) -> __m256d {
        intrinsics!({
            let len = _mm_set1_epi32(from.len().min(LANES) as i32);
            _mm256_cvtps_pd(_mm_maskload_ps(from.as_ptr(), _mm_cmpgt_epi32(len, _mm_setr_epi32(0, 1, 2, 3))))
        })
    }

    operations! {
        splat_u64(x: u64) -> __m256i = _mm256_set1_epi64x(x.cast_signed());
        add_u64(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi64(a, b);
        sub_u64(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi64(a, b);
        and_u64(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        or_u64(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        shl_u64<const N: u32>(a: __m256i) -> __m256i =
            _mm256_sll_epi64(a, _mm_cvtsi32_si128(const { N.cast_signed() }));
        shr_u64<const N: u32>(a: __m256i) -> __m256i =
            _mm256_srl_epi64(a, _mm_cvtsi32_si128(const { N.cast_signed() }));
        bits_of(a: __m256d) -> __m256i = _mm256_castpd_si256(a);
        of_bits(a: __m256i) -> __m256d = _mm256_castsi256_pd(a);
    }
}
