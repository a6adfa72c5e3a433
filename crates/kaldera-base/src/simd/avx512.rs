//! Sixteen lanes with AVX-512.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::simd::avx2::Avx2;
use crate::simd::doubles::Avx512Doubles;
use crate::simd::integers::Avx512Integers;
use crate::simd::sealed::Sealed;
use crate::simd::{Kernel, Simd};

const LANES: usize = 16;

/// Proof that the processor has AVX-512 F, BW, DQ and VL, and all that [`Avx2`] proves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    #[inline]
    pub(super) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && Avx2::new().is_some())
        .then_some(Self(()))
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
fn with_features<K: Kernel>(s: Avx512, kernel: K) -> K::Output {
    kernel.run(s)
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt,bmi1,bmi2,lzcnt")]
fn apart_with_features<K: Kernel>(s: Avx512, kernel: K) -> K::Output {
    kernel.run(s)
}

/// Calls intrinsics: an `Avx512` exists only where [`Avx512::new`] found the instructions.
macro_rules! intrinsics {
    ($e:expr) => {
        // SAFETY: `self` is an `Avx512`, which proves that the processor has AVX-512 F, BW, DQ and
        // VL, all that these need; slices were cut to `LANES` elements before their pointer was
        // taken, or are touched through a mask of their length.
        unsafe { $e }
    };
}

/// Steps that add up the lanes of several vectors. They blend rather than shuffle where possible,
/// because processors have only one port for shuffles.
impl Avx512 {
    /// The sum of the two halves of a, then of b.
    #[inline(always)]
    fn halves(self, a: __m512, b: __m512) -> __m512 {
        intrinsics!(_mm512_add_ps(_mm512_mask_blend_ps(0xFF00, a, b), _mm512_shuffle_f32x4::<0b01_00_11_10>(a, b)))
    }

    /// In each quarter, the sum of the two halves of a, then of b.
    #[inline(always)]
    fn twos(self, a: __m512, b: __m512) -> __m512 {
        intrinsics!(_mm512_add_ps(_mm512_mask_blend_ps(0xCCCC, a, b), _mm512_shuffle_ps::<0b01_00_11_10>(a, b)))
    }

    /// In each quarter, the sums of the neighbours of a, then of b.
    #[inline(always)]
    fn ones(self, a: __m512, b: __m512) -> __m512 {
        intrinsics!(_mm512_add_ps(_mm512_shuffle_ps::<0b10_00_10_00>(a, b), _mm512_shuffle_ps::<0b11_01_11_01>(a, b)))
    }
}

/// A mask of the first `len` lanes.
#[inline(always)]
fn first_lanes(len: usize) -> __mmask16 {
    ((1_u32 << len.min(LANES)) - 1) as __mmask16
}

impl Sealed for Avx512 {}

impl Simd for Avx512 {
    const LANES: usize = LANES;
    type F32 = __m512;
    type U32 = __m512i;
    type Doubles = Avx512Doubles;
    type Integers = Avx512Integers;

    #[inline(always)]
    fn doubles(self) -> Avx512Doubles {
        Avx512Doubles(self)
    }
    #[inline(always)]
    fn integers(self) -> Avx512Integers {
        Avx512Integers(self)
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
    fn splat(self, x: f32) -> __m512 {
        intrinsics!(_mm512_set1_ps(x))
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        let from = &from[..LANES];
        intrinsics!(_mm512_loadu_ps(from.as_ptr()))
    }
    #[inline(always)]
    fn store(self, v: __m512, to: &mut [f32]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm512_storeu_ps(to.as_mut_ptr(), v))
    }
    #[inline(always)]
    fn load_partial(self, from: &[f32], filler: __m512) -> __m512 {
        intrinsics!(_mm512_mask_loadu_ps(filler, first_lanes(from.len()), from.as_ptr()))
    }
    #[inline(always)]
    fn store_partial(self, v: __m512, to: &mut [f32]) {
        intrinsics!(_mm512_mask_storeu_ps(to.as_mut_ptr(), first_lanes(to.len()), v))
    }
    #[inline(always)]
    fn store_uninit(self, v: __m512, to: &mut [MaybeUninit<f32>]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm512_storeu_ps(to.as_mut_ptr().cast(), v))
    }
    #[inline(always)]
    fn store_partial_uninit(self, v: __m512, to: &mut [MaybeUninit<f32>]) {
        intrinsics!(_mm512_mask_storeu_ps(to.as_mut_ptr().cast(), first_lanes(to.len()), v))
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m512, to: &mut [MaybeUninit<f32>]) {
        let to = &mut to[..LANES];
        intrinsics!(_mm512_stream_ps(to.as_mut_ptr().cast(), v))
    }
    #[inline(always)]
    fn load_i16(self, from: &[i16]) -> __m512 {
        let from = &from[..LANES];
        intrinsics!(_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256(from.as_ptr().cast()))))
    }

    operations! {
        add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
        mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps(a, b);
        mul_add(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        neg_mul_add(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fnmadd_ps(a, b, c);
        mul_sub(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmsub_ps(a, b, c);
        sqrt(a: __m512) -> __m512 = _mm512_sqrt_ps(a);
        max(a: __m512, b: __m512) -> __m512 = _mm512_max_ps(a, b);
        min(a: __m512, b: __m512) -> __m512 = _mm512_min_ps(a, b);
        select_lt(a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 =
            _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), no, yes);
        select_le(a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 =
            _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b), no, yes);
        round(a: __m512) -> __m512 = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
    }

    #[inline(always)]
    fn sum(self, v: __m512) -> f32 {
        intrinsics!({
            let eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        })
    }
    #[inline(always)]
    fn max_lane(self, v: __m512) -> f32 {
        intrinsics!(_mm512_reduce_max_ps(v))
    }
    #[inline(always)]
    fn transpose(self, square: &mut [__m512]) {
        let square: &mut [__m512; LANES] = square.try_into().expect("a square block");
        intrinsics!({
            // Pairs of rows, pairs of pairs within each quarter, then two rounds that move the
            // quarters.
            let mut pairs = *square;
            for i in 0..8 {
                pairs[2 * i] = _mm512_unpacklo_ps(square[2 * i], square[2 * i + 1]);
                pairs[2 * i + 1] = _mm512_unpackhi_ps(square[2 * i], square[2 * i + 1]);
            }
            let mut fours = pairs;
            for i in 0..4 {
                for j in 0..2 {
                    let (a, b) = (pairs[4 * i + j], pairs[4 * i + 2 + j]);
                    fours[4 * i + 2 * j] = _mm512_shuffle_ps::<0b01_00_01_00>(a, b);
                    fours[4 * i + 2 * j + 1] = _mm512_shuffle_ps::<0b11_10_11_10>(a, b);
                }
            }
            // Quarter q of fours[4 i + j] is column 4 q + j of rows 4 i .. 4 i + 4.
            for j in 0..4 {
                let (a, b, c, d) = (fours[j], fours[4 + j], fours[8 + j], fours[12 + j]);
                let low_top = _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b);
                let high_top = _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b);
                let low_bottom = _mm512_shuffle_f32x4::<0b10_00_10_00>(c, d);
                let high_bottom = _mm512_shuffle_f32x4::<0b11_01_11_01>(c, d);
                square[j] = _mm512_shuffle_f32x4::<0b10_00_10_00>(low_top, low_bottom);
                square[4 + j] = _mm512_shuffle_f32x4::<0b10_00_10_00>(high_top, high_bottom);
                square[8 + j] = _mm512_shuffle_f32x4::<0b11_01_11_01>(low_top, low_bottom);
                square[12 + j] = _mm512_shuffle_f32x4::<0b11_01_11_01>(high_top, high_bottom);
            }
        });
    }
    #[inline(always)]
    fn sum_each(self, square: &[__m512]) -> __m512 {
        let square: &[__m512; LANES] = square.try_into().expect("a square block");
        intrinsics!({
            // Quarter q of fours[r] is vector 4 q + r, its halves added, then the halves of those.
            let mut fours = [square[0]; 4];
            for r in 0..4 {
                let (ab, cd) = (self.halves(square[r], square[4 + r]), self.halves(square[8 + r], square[12 + r]));
                fours[r] = _mm512_add_ps(
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd),
                );
            }
            let [a, b, c, d] = fours;
            self.ones(self.twos(a, b), self.twos(c, d))
        })
    }
    #[inline(always)]
    fn sum_fours(self, [a, b, c, d]: [__m512; 4]) -> __m512 {
        intrinsics!({
            let sums = self.ones(self.twos(a, b), self.twos(c, d));
            // Each quarter has one of each vector.
            _mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), sums)
        })
    }
    operations! {
        permute(a: __m512, b: __m512, indexes: __m512i) -> __m512 = _mm512_permutex2var_ps(a, indexes, b);
        permute_one(v: __m512, indexes: __m512i) -> __m512 = _mm512_permutexvar_ps(indexes, v);
    }
    #[inline(always)]
    fn unzip(self, a: __m512, b: __m512) -> (__m512, __m512) {
        intrinsics!({
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
            (_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b))
        })
    }
    #[inline(always)]
    fn transpose_pairs(self, square: &mut [__m512]) {
        let square: &mut [__m512; LANES / 2] = square.try_into().expect("a square block");
        intrinsics!({
            // Pairs of rows within each quarter; then twice the quarters, which are the bits of the
            // row's number.
            let rows = square.map(|row| _mm512_castps_pd(row));
            let mut pairs = rows;
            for i in 0..4 {
                pairs[i] = _mm512_unpacklo_pd(rows[2 * i], rows[2 * i + 1]);
                pairs[4 + i] = _mm512_unpackhi_pd(rows[2 * i], rows[2 * i + 1]);
            }
            for odd in 0..2 {
                let [a, b, c, d] = [pairs[4 * odd], pairs[4 * odd + 1], pairs[4 * odd + 2], pairs[4 * odd + 3]];
                let (ab, ab_far) = (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xDD>(a, b));
                let (cd, cd_far) = (_mm512_shuffle_f64x2::<0x88>(c, d), _mm512_shuffle_f64x2::<0xDD>(c, d));
                square[odd] = _mm512_castpd_ps(_mm512_shuffle_f64x2::<0x88>(ab, cd));
                square[odd + 2] = _mm512_castpd_ps(_mm512_shuffle_f64x2::<0x88>(ab_far, cd_far));
                square[odd + 4] = _mm512_castpd_ps(_mm512_shuffle_f64x2::<0xDD>(ab, cd));
                square[odd + 6] = _mm512_castpd_ps(_mm512_shuffle_f64x2::<0xDD>(ab_far, cd_far));
            }
        });
    }

    operations! {
        splat_u32(x: u32) -> __m512i = _mm512_set1_epi32(x.cast_signed());
        lane_indexes() -> __m512i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        load_partial_i32(from: &[i32], filler: __m512i) -> __m512i =
            _mm512_mask_loadu_epi32(filler, first_lanes(from.len()), from.as_ptr());
    }
    #[inline(always)]
    fn store_partial_i32(self, v: __m512i, to: &mut [i32]) {
        intrinsics!(_mm512_mask_storeu_epi32(to.as_mut_ptr(), first_lanes(to.len()), v))
    }
    operations! {
        min_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_min_epi32(a, b);
        max_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_max_epi32(a, b);
        not_equal_u32(a: __m512i, b: __m512i) -> u32 = _mm512_cmpneq_epi32_mask(a, b).into();
        add_u32(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        sub_u32(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
    }
    #[inline(always)]
    fn mul_wide_u32(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        intrinsics!({
            let even = _mm512_mul_epu32(a, b);
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            let even_high = _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(even)));
            (_mm512_mullo_epi32(a, b), _mm512_mask_blend_epi32(0xAAAA, even_high, odd))
        })
    }
    operations! {
        and_u32(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        or_u32(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        xor_u32(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        shl_u32<const N: u32>(a: __m512i) -> __m512i = _mm512_slli_epi32::<N>(a);
        shr_u32<const N: u32>(a: __m512i) -> __m512i = _mm512_srli_epi32::<N>(a);
        sar_u32<const N: u32>(a: __m512i) -> __m512i = _mm512_srai_epi32::<N>(a);
        i32_to_f32(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
        f32_to_i32(a: __m512) -> __m512i = _mm512_cvtps_epi32(a);
        bits_of(a: __m512) -> __m512i = _mm512_castps_si512(a);
        of_bits(a: __m512i) -> __m512 = _mm512_castsi512_ps(a);
    }
}
