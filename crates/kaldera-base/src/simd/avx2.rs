//! Eight lanes with AVX2 and fused multiply-add.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::simd::doubles::Avx2Doubles;
use crate::simd::integers::Avx2Integers;
use crate::simd::sealed::Sealed;
use crate::simd::{Kernel, Simd};

const LANES: usize = 8;

/// Proof that the processor has AVX2 and FMA, and the extensions that came with them: POPCNT,
/// BMI1, BMI2 and LZCNT.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    #[inline]
    pub(super) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt"))
        .then_some(Self(()))
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
fn with_features<K: Kernel>(s: Avx2, kernel: K) -> K::Output {
    kernel.run(s)
}

#[inline(never)]
#[target_feature(enable = "avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
fn apart_with_features<K: Kernel>(s: Avx2, kernel: K) -> K::Output {
    kernel.run(s)
}

/// Calls intrinsics: an `Avx2` exists only where [`Avx2::new`] found the instructions.
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: `self` is an `Avx2`, which proves that the processor has AVX2 and FMA, all that
        // these need; slices were cut to `LANES` elements before their pointer was taken, or are
        // touched through a mask of their length.
        unsafe { $e }
    };
}

/// All ones in the first `len` lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn first_lanes(len: usize) -> __m256i {
    let len = _mm256_set1_epi32(len.min(LANES) as i32);
    _mm256_cmpgt_epi32(len, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
}

impl Sealed for Avx2 {}

impl Simd for Avx2 {
    const LANES: usize = LANES;
    type F32 = __m256;
    type U32 = __m256i;
    type Doubles = Avx2Doubles;
    type Integers = Avx2Integers;

    #[inline(always)]
    fn doubles(self) -> Avx2Doubles {
        Avx2Doubles(self)
    }
    #[inline(always)]
    fn integers(self) -> Avx2Integers {
        Avx2Integers(self)
    }
    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        intrinsics!(with_features(self, kernel))
    }
    #[inline(always)]
    fn apart<K: Kernel>(self, kernel: K) -> K::Output {
        intrinsics!(apart_with_features(self, kernel))
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        intrinsics!(_mm256_set1_ps(x))
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        let from = &from[..LANES];
        intrinsics!(_mm256_loadu_ps(from.as_ptr()))
    }
    #[inline(always)]
    fn store(self, v: __m256, to: &mut [f32]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm256_storeu_ps(to.as_mut_ptr(), v))
    }
    #[inline(always)]
    fn load_partial(self, from: &[f32], filler: __m256) -> __m256 {
        intrinsics!({
            let mask = first_lanes(from.len());
            _mm256_blendv_ps(filler, _mm256_maskload_ps(from.as_ptr(), mask), _mm256_castsi256_ps(mask))
        })
    }
    #[inline(always)]
    fn store_partial(self, v: __m256, to: &mut [f32]) {
        intrinsics!(_mm256_maskstore_ps(to.as_mut_ptr(), first_lanes(to.len()), v))
    }
    #[inline(always)]
    fn store_uninit(self, v: __m256, to: &mut [MaybeUninit<f32>]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm256_storeu_ps(to.as_mut_ptr().cast(), v))
    }
    #[inline(always)]
    fn store_partial_uninit(self, v: __m256, to: &mut [MaybeUninit<f32>]) {
        intrinsics!(_mm256_maskstore_ps(to.as_mut_ptr().cast(), first_lanes(to.len()), v))
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m256, to: &mut [MaybeUninit<f32>]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm256_stream_ps(to.as_mut_ptr().cast(), v))
    }
    #[inline(always)]
    fn load_i16(self, from: &[i16]) -> __m256 {
        let from = &from[..LANES];
        intrinsics!(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(from.as_ptr().cast()))))
    }

    operations! {
        add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        sub(a: __m256, b: __m256) -> __m256 = _mm256_sub_ps(a, b);
        mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        div(a: __m256, b: __m256) -> __m256 = _mm256_div_ps(a, b);
        mul_add(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        neg_mul_add(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fnmadd_ps(a, b, c);
        mul_sub(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmsub_ps(a, b, c);
        sqrt(a: __m256) -> __m256 = _mm256_sqrt_ps(a);
        max(a: __m256, b: __m256) -> __m256 = _mm256_max_ps(a, b);
        min(a: __m256, b: __m256) -> __m256 = _mm256_min_ps(a, b);
        select_lt(a: __m256, b: __m256, yes: __m256, no: __m256) -> __m256 =
            _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_LT_OQ>(a, b));
        select_le(a: __m256, b: __m256, yes: __m256, no: __m256) -> __m256 =
            _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_LE_OQ>(a, b));
        round(a: __m256) -> __m256 = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
    }

    #[inline(always)]
    fn sum(self, v: __m256) -> f32 {
        intrinsics!({
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        })
    }
    #[inline(always)]
    fn max_lane(self, v: __m256) -> f32 {
        intrinsics!({
            let four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        })
    }
    #[inline(always)]
    fn transpose(self, square: &mut [__m256]) {
        let square: &mut [__m256; LANES] = square.try_into().expect("a square block");
        intrinsics!({
            // Pairs of rows, then pairs of pairs within each half, then the halves.
            let mut pairs = *square;
            for i in 0..4 {
                pairs[2 * i] = _mm256_unpacklo_ps(square[2 * i], square[2 * i + 1]);
                pairs[2 * i + 1] = _mm256_unpackhi_ps(square[2 * i], square[2 * i + 1]);
            }
            let mut fours = pairs;
            for i in 0..2 {
                for j in 0..2 {
                    let (a, b) = (pairs[4 * i + j], pairs[4 * i + 2 + j]);
                    fours[4 * i + 2 * j] = _mm256_shuffle_ps::<0b01_00_01_00>(a, b);
                    fours[4 * i + 2 * j + 1] = _mm256_shuffle_ps::<0b11_10_11_10>(a, b);
                }
            }
            for j in 0..4 {
                square[j] = _mm256_permute2f128_ps::<0x20>(fours[j], fours[4 + j]);
                square[4 + j] = _mm256_permute2f128_ps::<0x31>(fours[j], fours[4 + j]);
            }
        });
    }
    #[inline(always)]
    fn sum_each(self, square: &[__m256]) -> __m256 {
        let square: &[__m256; LANES] = square.try_into().expect("a square block");
        intrinsics!({
            // Adds the halves of vectors r and 4 + r, then twice the halves of the sums.
            let mut fours = [square[0]; 4];
            for r in 0..4 {
                let (low, high) = (square[r], square[4 + r]);
                fours[r] =
                    _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high));
            }
            let mut twos = [square[0]; 2];
            for i in 0..2 {
                let (a, b) = (fours[2 * i], fours[2 * i + 1]);
                twos[i] =
                    _mm256_add_ps(_mm256_shuffle_ps::<0b01_00_01_00>(a, b), _mm256_shuffle_ps::<0b11_10_11_10>(a, b));
            }
            let [a, b] = twos;
            _mm256_add_ps(_mm256_shuffle_ps::<0b10_00_10_00>(a, b), _mm256_shuffle_ps::<0b11_01_11_01>(a, b))
        })
    }
    #[inline(always)]
    fn sum_fours(self, [a, b, c, d]: [__m256; 4]) -> __m256 {
        intrinsics!({
            let ab = _mm256_add_ps(_mm256_shuffle_ps::<0b01_00_01_00>(a, b), _mm256_shuffle_ps::<0b11_10_11_10>(a, b));
            let cd = _mm256_add_ps(_mm256_shuffle_ps::<0b01_00_01_00>(c, d), _mm256_shuffle_ps::<0b11_10_11_10>(c, d));
            let sums =
                _mm256_add_ps(_mm256_shuffle_ps::<0b10_00_10_00>(ab, cd), _mm256_shuffle_ps::<0b11_01_11_01>(ab, cd));
            // Each half has one of each vector.
            _mm256_permutevar8x32_ps(sums, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
        })
    }
    #[inline(always)]
    fn permute(self, a: __m256, b: __m256, indexes: __m256i) -> __m256 {
        intrinsics!({
            let of_b = _mm256_castsi256_ps(_mm256_cmpgt_epi32(indexes, _mm256_set1_epi32(LANES as i32 - 1)));
            _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, indexes), _mm256_permutevar8x32_ps(b, indexes), of_b)
        })
    }
    operations! {
        permute_one(v: __m256, indexes: __m256i) -> __m256 = _mm256_permutevar8x32_ps(v, indexes);
    }
    #[inline(always)]
    fn unzip(self, a: __m256, b: __m256) -> (__m256, __m256) {
        intrinsics!({
            let even = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
            let odd = _mm256_castps_pd(_mm256_shuffle_ps::<0b11_01_11_01>(a, b));
            // The pairs are of a, b, a, b.
            (
                _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(even)),
                _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(odd)),
            )
        })
    }
    #[inline(always)]
    fn transpose_pairs(self, square: &mut [__m256]) {
        let square: &mut [__m256; LANES / 2] = square.try_into().expect("a square block");
        intrinsics!({
            // Pairs of rows within each half, then the halves.
            let [a, b, c, d] = square.map(|row| _mm256_castps_pd(row));
            let (ab, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            *square = [
                _mm256_permute2f128_pd::<0x20>(ab, cd),
                _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
                _mm256_permute2f128_pd::<0x31>(ab, cd),
                _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
            ]
            .map(|row| _mm256_castpd_ps(row));
        });
    }

    operations! {
        splat_u32(x: u32) -> __m256i = _mm256_set1_epi32(x.cast_signed());
        lane_indexes() -> __m256i = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    }
    #[inline(always)]
    fn load_partial_i32(self, from: &[i32], filler: __m256i) -> __m256i {
        intrinsics!({
            let mask = first_lanes(from.len());
            _mm256_blendv_epi8(filler, _mm256_maskload_epi32(from.as_ptr(), mask), mask)
        })
    }
    #[inline(always)]
    fn store_partial_i32(self, v: __m256i, to: &mut [i32]) {
        intrinsics!(_mm256_maskstore_epi32(to.as_mut_ptr(), first_lanes(to.len()), v))
    }
    operations! {
        min_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_min_epi32(a, b);
        max_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_max_epi32(a, b);
    }
    #[inline(always)]
    fn not_equal_u32(self, a: __m256i, b: __m256i) -> u32 {
        intrinsics!(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)))).cast_unsigned() ^ 0xFF
    }
    operations! {
        add_u32(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        sub_u32(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi32(a, b);
    }
    #[inline(always)]
    fn mul_wide_u32(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        intrinsics!({
            let even = _mm256_mul_epu32(a, b);
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            (
                _mm256_blend_epi32::<0b1010_1010>(even, _mm256_slli_epi64::<32>(odd)),
                _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd),
            )
        })
    }
    operations! {
        and_u32(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        or_u32(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        xor_u32(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        shl_u32<const N: u32>(a: __m256i) -> __m256i =
            _mm256_sll_epi32(a, _mm_cvtsi32_si128(const { N.cast_signed() }));
        shr_u32<const N: u32>(a: __m256i) -> __m256i =
            _mm256_srl_epi32(a, _mm_cvtsi32_si128(const { N.cast_signed() }));
        sar_u32<const N: u32>(a: __m256i) -> __m256i =
            _mm256_sra_epi32(a, _mm_cvtsi32_si128(const { N.cast_signed() }));
        i32_to_f32(a: __m256i) -> __m256 = _mm256_cvtepi32_ps(a);
        f32_to_i32(a: __m256) -> __m256i = _mm256_cvtps_epi32(a);
        bits_of(a: __m256) -> __m256i = _mm256_castps_si256(a);
        of_bits(a: __m256i) -> __m256 = _mm256_castsi256_ps(a);
    }
}
