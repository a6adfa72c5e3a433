//! Integers in plain Rust: lanes of 32 bytes, which the compiler makes vectors of.

use super::Integers;

/// The integers of every processor of the target.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct PortableIntegers;

macro_rules! integers {
    ($t:ty, $lanes:literal) => {
        impl Integers<$t> for PortableIntegers {
            const LANES: usize = $lanes;
            type Vector = [$t; $lanes];

            #[inline(always)]
            fn splat(self, x: $t) -> [$t; $lanes] {
                [x; $lanes]
            }
            #[inline(always)]
            fn load_partial(self, from: &[$t], mut filler: [$t; $lanes]) -> [$t; $lanes] {
                if let Some(whole) = from.first_chunk() {
                    return *whole;
                }
                filler[..from.len()].copy_from_slice(from);
                filler
            }
            #[inline(always)]
            fn equal_partial(self, from: &[$t], x: [$t; $lanes]) -> u64 {
                let pairs = from.iter().zip(x).enumerate();
                pairs.fold(0, |same, (i, (&a, b))| same | u64::from(a == b) << i)
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
                    v = op(v, std::array::from_fn(|i| v[(i + half) % $lanes]));
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
