//! Four lanes in plain Rust. The compiler makes SSE2 of it on x86-64 and NEON on AArch64.

use crate::simd::doubles::{Doubles, Lanes};
use crate::simd::sealed::Sealed;

const LANES: usize = 4;

/// The instruction set that every processor of the target has.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct PortableDoubles;

/// A vector of four numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Four<T>([T; LANES]);

/// Plain Rust in place of intrinsics.
macro_rules! intrinsics {
    ($e:expr) => {
        $e
    };
}

/// Lane `i` = `e`.
macro_rules! lanes {
    ($i:ident => $e:expr) => {
        Four(array_of!([0 1 2 3] $i => $e))
    };
}

impl<T: Copy> Four<T> {
    #[inline(always)]
    fn map<U>(self, mut f: impl FnMut(T) -> U) -> Four<U> {
        lanes!(i => f(self.0[i]))
    }

    #[inline(always)]
    fn zip<V>(self, other: Self, mut f: impl FnMut(T, T) -> V) -> Four<V> {
        lanes!(i => f(self.0[i], other.0[i]))
    }
}

/// a b + c: fused where that is one instruction; elsewhere a call of `libm` would cost more than
/// all the rest.
#[inline(always)]
fn mul_add(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

impl Sealed for PortableDoubles {}

impl Lanes<f64> for PortableDoubles {
    const LANES: usize = LANES;
    type Vector = Four<f64>;

    #[inline(always)]
    fn splat(self, x: f64) -> Four<f64> {
        Four([x; LANES])
    }
    #[inline(always)]
    fn load(self, from: &[f64]) -> Four<f64> {
        Four(*from.first_chunk().expect("a vector to load"))
    }
    #[inline(always)]
    fn store(self, v: Four<f64>, to: &mut [f64]) {
        *to.first_chunk_mut().expect("a vector to store") = v.0;
    }
    #[inline(always)]
    fn load_partial(self, from: &[f64], filler: Four<f64>) -> Four<f64> {
        lanes!(i => from.get(i).copied().unwrap_or(filler.0[i]))
    }
    #[inline(always)]
    fn store_partial(self, v: Four<f64>, to: &mut [f64]) {
        to.iter_mut().zip(v.0).for_each(|(to, v)| *to = v);
    }

    operations! {
        add(a: Four<f64>, b: Four<f64>) -> Four<f64> = a.zip(b, |a, b| a + b);
        sub(a: Four<f64>, b: Four<f64>) -> Four<f64> = a.zip(b, |a, b| a - b);
        mul(a: Four<f64>, b: Four<f64>) -> Four<f64> = a.zip(b, |a, b| a * b);
        div(a: Four<f64>, b: Four<f64>) -> Four<f64> = a.zip(b, |a, b| a / b);
        mul_add(a: Four<f64>, b: Four<f64>, c: Four<f64>) -> Four<f64> = lanes!(i => mul_add(a.0[i], b.0[i], c.0[i]));
        neg_mul_add(a: Four<f64>, b: Four<f64>, c: Four<f64>) -> Four<f64> =
            lanes!(i => mul_add(-a.0[i], b.0[i], c.0[i]));
        sqrt(a: Four<f64>) -> Four<f64> = a.map(f64::sqrt);
        max(a: Four<f64>, b: Four<f64>) -> Four<f64> = a.zip(b, |a, b| if a > b { a } else { b });
        min(a: Four<f64>, b: Four<f64>) -> Four<f64> = a.zip(b, |a, b| if a < b { a } else { b });
        select_lt(a: Four<f64>, b: Four<f64>, yes: Four<f64>, no: Four<f64>) -> Four<f64> =
            lanes!(i => if a.0[i] < b.0[i] { yes.0[i] } else { no.0[i] });
        select_le(a: Four<f64>, b: Four<f64>, yes: Four<f64>, no: Four<f64>) -> Four<f64> =
            lanes!(i => if a.0[i] <= b.0[i] { yes.0[i] } else { no.0[i] });
    }

    #[inline(always)]
    fn sum(self, v: Four<f64>) -> f64 {
        let [a, b, c, d] = v.0;
        (a + c) + (b + d)
    }
    #[inline(always)]
    fn max_lane(self, v: Four<f64>) -> f64 {
        v.0.into_iter().fold(v.0[0], |a, b| if a > b { a } else { b })
    }
}

impl Doubles for PortableDoubles {
    type U64 = Four<u64>;

    operations! {
        load_f32(from: &[f32]) -> Four<f64> =
            Four(from.first_chunk::<LANES>().expect("a vector to load").map(f64::from));
        load_partial_f32(from: &[f32]) -> Four<f64> = lanes!(i => from.get(i).map_or(0.0, |&x| x.into()));
    }

    #[inline(always)]
    fn splat_u64(self, x: u64) -> Four<u64> {
        Four([x; LANES])
    }
    operations! {
        add_u64(a: Four<u64>, b: Four<u64>) -> Four<u64> = a.zip(b, u64::wrapping_add);
        sub_u64(a: Four<u64>, b: Four<u64>) -> Four<u64> = a.zip(b, u64::wrapping_sub);
        and_u64(a: Four<u64>, b: Four<u64>) -> Four<u64> = a.zip(b, |a, b| a & b);
        or_u64(a: Four<u64>, b: Four<u64>) -> Four<u64> = a.zip(b, |a, b| a | b);
        shl_u64<const N: u32>(a: Four<u64>) -> Four<u64> = a.map(|a| a << N);
        shr_u64<const N: u32>(a: Four<u64>) -> Four<u64> = a.map(|a| a >> N);
        bits_of(a: Four<f64>) -> Four<u64> = a.map(f64::to_bits);
        of_bits(a: Four<u64>) -> Four<f64> = a.map(f64::from_bits);
    }
}
