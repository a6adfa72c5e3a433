//! Eight lanes in plain Rust. The compiler makes SSE2 of it on x86-64 and NEON on AArch64.

use std::mem::MaybeUninit;

use crate::simd::doubles::PortableDoubles;
use crate::simd::integers::PortableIntegers;
use crate::simd::sealed::Sealed;
use crate::simd::{Kernel, Simd};

const LANES: usize = 8;

/// The instruction set that every processor of the target has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portable;

/// A vector of eight numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Eight<T>([T; LANES]);

/// Plain Rust in place of intrinsics.
macro_rules! intrinsics {
    ($e:expr) => {
        $e
    };
}

/// Lane `i` = `e`.
macro_rules! lanes {
    ($i:ident => $e:expr) => {
        Eight(array_of!([0 1 2 3 4 5 6 7] $i => $e))
    };
}

impl<T: Copy> Eight<T> {
    #[inline(always)]
    fn map<U>(self, mut f: impl FnMut(T) -> U) -> Eight<U> {
        lanes!(i => f(self.0[i]))
    }

    #[inline(always)]
    fn zip<U: Copy, V>(self, other: Eight<U>, mut f: impl FnMut(T, U) -> V) -> Eight<V> {
        lanes!(i => f(self.0[i], other.0[i]))
    }
}

/// a b + c: fused where that is one instruction; elsewhere a call of `libm` would cost more than
/// all the rest.
#[inline(always)]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

impl Sealed for Portable {}

impl Simd for Portable {
    const LANES: usize = LANES;
    type F32 = Eight<f32>;
    type U32 = Eight<u32>;
    type Doubles = PortableDoubles;
    type Integers = PortableIntegers;

    operations! {
        doubles() -> PortableDoubles = PortableDoubles;
        integers() -> PortableIntegers = PortableIntegers;
    }
    #[inline]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
    #[inline(never)]
    fn apart<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F32 {
        Eight([x; LANES])
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::F32 {
        Eight(*from.first_chunk().expect("a vector to load"))
    }
    #[inline(always)]
    fn store(self, v: Self::F32, to: &mut [f32]) {
        *to.first_chunk_mut().expect("a vector to store") = v.0;
    }
    #[inline(always)]
    fn load_partial(self, from: &[f32], filler: Self::F32) -> Self::F32 {
        lanes!(i => from.get(i).copied().unwrap_or(filler.0[i]))
    }
    #[inline(always)]
    fn store_partial(self, v: Self::F32, to: &mut [f32]) {
        to.iter_mut().zip(v.0).for_each(|(to, v)| *to = v);
    }
    #[inline(always)]
    fn store_uninit(self, v: Self::F32, to: &mut [MaybeUninit<f32>]) {
        *to.first_chunk_mut().expect("a vector to store") = v.0.map(MaybeUninit::new);
    }
    #[inline(always)]
    fn store_partial_uninit(self, v: Self::F32, to: &mut [MaybeUninit<f32>]) {
        to.iter_mut().zip(v.0).for_each(|(to, v)| *to = MaybeUninit::new(v));
    }
    #[inline(always)]
    unsafe fn stream(self, v: Self::F32, to: &mut [MaybeUninit<f32>]) {
        self.store_uninit(v, to);
    }
    #[inline(always)]
    fn load_i16(self, from: &[i16]) -> Self::F32 {
        let from: &[i16; LANES] = from.first_chunk().expect("a vector to load");
        lanes!(i => f32::from(from[i]))
    }

    operations! {
        add(a: Self::F32, b: Self::F32) -> Self::F32 = a.zip(b, |a, b| a + b);
        sub(a: Self::F32, b: Self::F32) -> Self::F32 = a.zip(b, |a, b| a - b);
        mul(a: Self::F32, b: Self::F32) -> Self::F32 = a.zip(b, |a, b| a * b);
        div(a: Self::F32, b: Self::F32) -> Self::F32 = a.zip(b, |a, b| a / b);
        mul_add(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 = lanes!(i => mul_add(a.0[i], b.0[i], c.0[i]));
        neg_mul_add(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 =
            lanes!(i => mul_add(-a.0[i], b.0[i], c.0[i]));
        mul_sub(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 = lanes!(i => mul_add(a.0[i], b.0[i], -c.0[i]));
        sqrt(a: Self::F32) -> Self::F32 = a.map(f32::sqrt);
        max(a: Self::F32, b: Self::F32) -> Self::F32 = a.zip(b, |a, b| if a > b { a } else { b });
        min(a: Self::F32, b: Self::F32) -> Self::F32 = a.zip(b, |a, b| if a < b { a } else { b });
        select_lt(a: Self::F32, b: Self::F32, yes: Self::F32, no: Self::F32) -> Self::F32 =
            lanes!(i => if a.0[i] < b.0[i] { yes.0[i] } else { no.0[i] });
        select_le(a: Self::F32, b: Self::F32, yes: Self::F32, no: Self::F32) -> Self::F32 =
            lanes!(i => if a.0[i] <= b.0[i] { yes.0[i] } else { no.0[i] });
    }
    #[inline(always)]
    fn round(self, a: Self::F32) -> Self::F32 {
        self.i32_to_f32(self.f32_to_i32(a))
    }

    #[inline(always)]
    fn sum(self, v: Self::F32) -> f32 {
        let [a, b, c, d, e, f, g, h] = v.0;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
    #[inline(always)]
    fn max_lane(self, v: Self::F32) -> f32 {
        v.0.into_iter().fold(v.0[0], |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn transpose(self, square: &mut [Self::F32]) {
        let square: &mut [Eight<f32>; LANES] = square.try_into().expect("a square block");
        for r in 0..LANES {
            for c in 0..r {
                let upper = square[c].0[r];
                square[c].0[r] = square[r].0[c];
                square[r].0[c] = upper;
            }
        }
    }
    #[inline(always)]
    fn sum_each(self, square: &[Self::F32]) -> Self::F32 {
        let square: &[Eight<f32>; LANES] = square.try_into().expect("a square block");
        lanes!(i => self.sum(square[i]))
    }
    #[inline(always)]
    fn sum_fours(self, vectors: [Self::F32; 4]) -> Self::F32 {
        let four = |f: usize| &vectors[f / 2].0[f % 2 * 4..][..4];
        lanes!(f => (four(f)[0] + four(f)[2]) + (four(f)[1] + four(f)[3]))
    }
    operations! {
        permute(a: Self::F32, b: Self::F32, indexes: Self::U32) -> Self::F32 =
            indexes.map(|i| if i < LANES as u32 { a.0[i as usize] } else { b.0[i as usize % LANES] });
        permute_one(v: Self::F32, indexes: Self::U32) -> Self::F32 = indexes.map(|i| v.0[i as usize % LANES]);
    }
    #[inline(always)]
    fn unzip(self, a: Self::F32, b: Self::F32) -> (Self::F32, Self::F32) {
        let at = |i: usize| if i < LANES { a.0[i] } else { b.0[i - LANES] };
        (lanes!(i => at(2 * i)), lanes!(i => at(2 * i + 1)))
    }
    #[inline(always)]
    fn transpose_pairs(self, square: &mut [Self::F32]) {
        let rows: &mut [Eight<f32>; LANES / 2] = square.try_into().expect("a square block");
        let from = *rows;
        *rows = std::array::from_fn(|r| lanes!(c => from[c / 2].0[2 * r + c % 2]));
    }

    #[inline(always)]
    fn splat_u32(self, x: u32) -> Self::U32 {
        Eight([x; LANES])
    }
    operations! {
        lane_indexes() -> Self::U32 = Eight([0, 1, 2, 3, 4, 5, 6, 7]);
        load_partial_i32(from: &[i32], filler: Self::U32) -> Self::U32 =
            lanes!(i => from.get(i).map_or(filler.0[i], |x| x.cast_unsigned()));
    }
    #[inline(always)]
    fn store_partial_i32(self, v: Self::U32, to: &mut [i32]) {
        to.iter_mut().zip(v.0).for_each(|(to, v)| *to = v.cast_signed());
    }
    operations! {
        min_i32(a: Self::U32, b: Self::U32) -> Self::U32 =
            a.zip(b, |a, b| a.cast_signed().min(b.cast_signed()).cast_unsigned());
        max_i32(a: Self::U32, b: Self::U32) -> Self::U32 =
            a.zip(b, |a, b| a.cast_signed().max(b.cast_signed()).cast_unsigned());
        not_equal_u32(a: Self::U32, b: Self::U32) -> u32 =
            (0..LANES).fold(0, |mask, i| mask | u32::from(a.0[i] != b.0[i]) << i);
        add_u32(a: Self::U32, b: Self::U32) -> Self::U32 = a.zip(b, u32::wrapping_add);
        sub_u32(a: Self::U32, b: Self::U32) -> Self::U32 = a.zip(b, u32::wrapping_sub);
    }
    #[inline(always)]
    fn mul_wide_u32(self, a: Self::U32, b: Self::U32) -> (Self::U32, Self::U32) {
        let product = a.zip(b, |a, b| u64::from(a) * u64::from(b));
        (product.map(|p| p as u32), product.map(|p| (p >> 32) as u32))
    }
    operations! {
        and_u32(a: Self::U32, b: Self::U32) -> Self::U32 = a.zip(b, |a, b| a & b);
        or_u32(a: Self::U32, b: Self::U32) -> Self::U32 = a.zip(b, |a, b| a | b);
        xor_u32(a: Self::U32, b: Self::U32) -> Self::U32 = a.zip(b, |a, b| a ^ b);
        shl_u32<const N: u32>(a: Self::U32) -> Self::U32 = a.map(|a| a << N);
        shr_u32<const N: u32>(a: Self::U32) -> Self::U32 = a.map(|a| a >> N);
        sar_u32<const N: u32>(a: Self::U32) -> Self::U32 = a.map(|a| (a.cast_signed() >> N).cast_unsigned());
        i32_to_f32(a: Self::U32) -> Self::F32 = a.map(|a| a.cast_signed() as f32);
    }
    #[inline(always)]
    fn f32_to_i32(self, a: Self::F32) -> Self::U32 {
        // Adding 1.5 x 2^23 leaves no room for a fraction: the sum is rounded, ties to even. Beyond
        // 2^22 there is none.
        const MAGIC: f32 = 12_582_912.0;
        a.map(|a| if a.abs() < 4_194_304.0 { (a + MAGIC - MAGIC) as i32 } else { a as i32 }.cast_unsigned())
    }
    operations! {
        bits_of(a: Self::F32) -> Self::U32 = a.map(f32::to_bits);
        of_bits(a: Self::U32) -> Self::F32 = a.map(f32::from_bits);
    }
}
