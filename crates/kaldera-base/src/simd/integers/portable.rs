//! Integers in plain Rust: lanes of 32 bytes, which the compiler makes vectors of.

use super::{Integers, Pairs};

/// The integers of every processor of the target.
#[derive(Debug, Clone, Copy)]
pub(in crate::simd) struct PortableIntegers;

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

/// The numbers that the pairs are.
#[inline(always)]
fn numbers(pairs: &[u8; 32]) -> [u16; 16] {
    let mut numbers = [0; 16];
    for (number, pair) in numbers.iter_mut().zip(pairs.as_chunks().0) {
        *number = u16::from_le_bytes(*pair);
    }
    numbers
}

/// `op` of each two pairs.
#[inline(always)]
fn each_pair(mut a: [u8; 32], b: [u8; 32], op: impl Fn(u16, u16) -> u16) -> [u8; 32] {
    for (a, b) in a.as_chunks_mut().0.iter_mut().zip(numbers(&b)) {
        *a = op(u16::from_le_bytes(*a), b).to_le_bytes();
    }
    a
}

impl Pairs for PortableIntegers {
    type Numbers = [u16; 16];

    #[inline(always)]
    fn pairs(self, high: [u8; 32], low: [u8; 32]) -> [[u8; 32]; 2] {
        let mut pairs = [[0; 32]; 2];
        for ((pair, &high), &low) in pairs.as_flattened_mut().as_chunks_mut().0.iter_mut().zip(&high).zip(&low) {
            *pair = [low, high];
        }
        pairs
    }
    #[inline(always)]
    fn min_pairs(self, a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
        each_pair(a, b, u16::min)
    }
    #[inline(always)]
    fn max_pairs(self, a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
        each_pair(a, b, u16::max)
    }
    #[inline(always)]
    fn fold_each(self, square: &mut [[u8; 32]], op: impl Fn([u8; 32], [u8; 32]) -> [u8; 32]) -> [u16; 16] {
        let square: &[[u8; 32]; 16] = (&*square).try_into().expect("a square block");
        let mut folded = [0; 16];
        for (folded, &v) in folded.iter_mut().zip(square) {
            let mut v = v;
            for half in [16, 8, 4, 2] {
                let mut upper = v;
                upper.copy_within(half..2 * half, 0);
                v = op(v, upper);
            }
            *folded = numbers(&v)[0];
        }
        folded
    }
}
