//! Integers in plain Rust: lanes of 32 bytes, which the compiler makes vectors of.

use crate::simd::integers::Integers;
use crate::simd::sealed::Sealed;

/// The integers of every processor of the target.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct PortableIntegers;

impl Sealed for PortableIntegers {}

macro_rules! integers {
    ($t:ty, $lanes:literal) => {
        impl Integers<$t> for PortableIntegers {
            const LANES: usize = $lanes;
            const MASKS: bool = false;
            type Vector = [$t; $lanes];

            #[inline(always)]
            fn splat(self, x: $t) -> [$t; $lanes] {
                [x; $lanes]
            }
            #[inline(always)]
            fn load(self, from: &[$t]) -> [$t; $lanes] {
                *from.first_chunk().expect("a vector to load")
            }
            #[inline(always)]
            fn load_partial(self, from: &[$t], mut filler: [$t; $lanes]) -> [$t; $lanes] {
                if let Some(whole) = from.first_chunk() {
                    return *whole;
                }
                filler.iter_mut().zip(from).for_each(|(to, &x)| *to = x);
                filler
            }
            #[inline(always)]
            fn equal_partial(self, from: &[$t], x: [$t; $lanes]) -> u64 {
                let bit = |i: usize| u64::from(from[i] == x[i]) << i;
                (0..from.len().min($lanes)).fold(0, |same, i| same | bit(i))
            }
            #[inline(always)]
            fn equal(self, a: [$t; $lanes], b: [$t; $lanes]) -> u64 {
                self.equal_partial(&a, b)
            }
            #[inline(always)]
            fn select_le(
                self,
                a: [$t; $lanes],
                b: [$t; $lanes],
                yes: [$t; $lanes],
                mut no: [$t; $lanes],
            ) -> [$t; $lanes] {
                for i in 0..$lanes {
                    no[i] = if a[i] <= b[i] { yes[i] } else { no[i] };
                }
                no
            }
            #[inline(always)]
            fn add(self, a: [$t; $lanes], b: [$t; $lanes]) -> [$t; $lanes] {
                std::array::from_fn(|i| a[i].wrapping_add(b[i]))
            }
            #[inline(always)]
            fn min(self, a: [$t; $lanes], b: [$t; $lanes]) -> [$t; $lanes] {
                std::array::from_fn(|i| a[i].min(b[i]))
            }
            #[inline(always)]
            fn max(self, a: [$t; $lanes], b: [$t; $lanes]) -> [$t; $lanes] {
                std::array::from_fn(|i| a[i].max(b[i]))
            }
            #[inline(always)]
            fn and(self, a: [$t; $lanes], b: [$t; $lanes]) -> [$t; $lanes] {
                std::array::from_fn(|i| a[i] & b[i])
            }
            #[inline(always)]
            fn or(self, a: [$t; $lanes], b: [$t; $lanes]) -> [$t; $lanes] {
                std::array::from_fn(|i| a[i] | b[i])
            }
            #[inline(always)]
            fn fold(self, mut v: [$t; $lanes], op: impl Fn([$t; $lanes], [$t; $lanes]) -> [$t; $lanes]) -> $t {
                let mut half = $lanes / 2;
                while half > 0 {
                    let mut upper = v;
                    upper.copy_within(half..2 * half, 0);
                    v = op(v, upper);
                    half /= 2;
                }
                v[0]
            }
        }
    };
}
integers!(u8, 32);
integers!(i32, 8);
integers!(i64, 4);
