//! Lanes of integers, of any of three widths behind one trait.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use std::fmt;

use crate::simd::Simd;
use crate::simd::sealed::Sealed;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2Integers;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512Integers;
pub(super) use portable::PortableIntegers;

/// The arithmetic of one instruction set on vectors of `T`, which is `u8`, `i32` or `i64`.
///
/// A kernel over any [`Int`] gets it with [`Int::lanes`]:
///
/// ```
/// use kaldera_base::simd::{Int, Integers, Kernel, Simd, dispatch};
///
/// /// How often numbers have this one among them.
/// struct Count<'a, T>(&'a [T], T);
///
/// impl<T: Int> Kernel for Count<'_, T> {
///     type Output = u32;
///     #[inline(always)]
///     fn run<S: Simd>(self, s: S) -> u32 {
///         count(T::lanes(s), self.0, self.1)
///     }
/// }
///
/// #[inline(always)]
/// fn count<T: Int, L: Integers<T>>(s: L, numbers: &[T], x: T) -> u32 {
///     numbers.chunks(L::LANES).map(|part| s.equal_partial(part, s.splat(x)).count_ones()).sum()
/// }
///
/// assert_eq!(dispatch(Count(b"abracadabra", b'a')), 5);
/// assert_eq!(dispatch(Count(&[7_i64; 99], 7)), 99);
/// ```
///
/// Sealed, as [`Simd`] is.
pub trait Integers<T>: Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// Number of elements in a vector: 64 at most.
    const LANES: usize;
    /// True if the processor loads a part of a vector about as fast as a whole one.
    const MASKS: bool;
    /// A vector of `LANES` numbers.
    type Vector: Copy + fmt::Debug + Send + Sync;

    /// Every lane `x`.
    fn splat(self, x: T) -> Self::Vector;
    /// The first `LANES` elements of `from`. Panics if there are fewer.
    fn load(self, from: &[T]) -> Self::Vector;
    /// The elements of `from`, `LANES` of them at most; the lanes after its end are taken from
    /// `filler`. Reads no further.
    fn load_partial(self, from: &[T], filler: Self::Vector) -> Self::Vector;
    /// Bit i is set if element i of `from`, `LANES` of them at most, equals lane i of `x`; the
    /// bits from its end on are 0. Reads no further.
    fn equal_partial(self, from: &[T], x: Self::Vector) -> u64;

    /// Bit i is set if lane i of a equals lane i of b; the bits from `LANES` on are 0
    fn equal(self, a: Self::Vector, b: Self::Vector) -> u64;
    /// `yes` in lanes with a <= b, else `no`
    fn select_le(self, a: Self::Vector, b: Self::Vector, yes: Self::Vector, no: Self::Vector) -> Self::Vector;

    /// a + b, wrapping
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The lower of a and b
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The higher of a and b
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a and b
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a or b
    fn or(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `op`, which does the same to all lanes, of all lanes of a vector, in halves.
    fn fold(self, v: Self::Vector, op: impl Fn(Self::Vector, Self::Vector) -> Self::Vector) -> T;
}

/// An integer that vectors have lanes of: `u8`, `i32` or `i64`.
///
/// Sealed, as [`Simd`] is.
pub trait Int: Sealed + Copy + Default + Ord + From<u8> + Into<i64> + fmt::Debug + Send + Sync + 'static {
    /// The lowest number.
    const MIN: Self;
    /// The highest number.
    const MAX: Self;

    /// The lanes of an instruction set.
    fn lanes<S: Simd>(s: S) -> impl Integers<Self>;
}

macro_rules! int {
    ($t:ty) => {
        impl Sealed for $t {}

        impl Int for $t {
            const MIN: Self = <$t>::MIN;
            const MAX: Self = <$t>::MAX;

            #[inline(always)]
            fn lanes<S: Simd>(s: S) -> impl Integers<Self> {
                s.integers()
            }
        }
    };
}
int!(u8);
int!(i32);
int!(i64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, available, dispatch_at};

    struct Check;
    impl Kernel for Check {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            check(u8::lanes(s), |x| (x >> 56) as u8, u8::wrapping_add, |a, b| a & b, |a, b| a | b);
            check(i32::lanes(s), |x| (x >> 32) as i32, i32::wrapping_add, |a, b| a & b, |a, b| a | b);
            check(i64::lanes(s), |x| x as i64, i64::wrapping_add, |a, b| a & b, |a, b| a | b);
        }
    }

    #[inline(always)]
    fn check<T: Int, L: Integers<T>>(
        s: L,
        of_bits: impl Fn(u64) -> T,
        add: fn(T, T) -> T,
        and: fn(T, T) -> T,
        or: fn(T, T) -> T,
    ) {
        let n = L::LANES;
        let number = |i: u64| of_bits(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let a: Vec<T> = (0..=n as u64).map(number).collect();
        let b: Vec<T> = (50..=50 + n as u64).map(number).collect();
        let zero = s.splat(of_bits(0));
        let (va, vb) = (s.load_partial(&a, zero), s.load_partial(&b, zero));
        let check = |what: &str, v: L::Vector, f: &dyn Fn(usize) -> T| {
            for i in 0..n {
                let same = s.equal_partial(&vec![f(i); n + 1], v);
                assert_eq!(same >> i & 1, 1, "{what}, lane {i} of {n}");
            }
        };
        check("splat", s.splat(a[1]), &|_| a[1]);
        check("load", s.load(&a), &|i| a[i]);
        check("load_partial", va, &|i| a[i]);
        check("add", s.add(va, vb), &|i| add(a[i], b[i]));
        check("min", s.min(va, vb), &|i| a[i].min(b[i]));
        check("max", s.max(va, vb), &|i| a[i].max(b[i]));
        check("select_le", s.select_le(va, vb, va, zero), &|i| if a[i] <= b[i] { a[i] } else { of_bits(0) });
        check("select_le of equals", s.select_le(va, s.min(va, vb), vb, zero), &|i| {
            if a[i] <= b[i] { b[i] } else { of_bits(0) }
        });
        let lower = (0..n).filter(|&i| a[i] <= b[i]).fold(0, |same, i| same | 1 << i);
        assert_eq!(s.equal(va, s.min(va, vb)), lower);
        check("and", s.and(va, vb), &|i| and(a[i], b[i]));
        check("or", s.or(va, vb), &|i| or(a[i], b[i]));
        let fold = |op: fn(T, T) -> T| a[1..n].iter().fold(a[0], |x, &y| op(x, y));
        assert_eq!(s.fold(va, |x, y| s.add(x, y)), fold(add));
        assert_eq!(s.fold(va, |x, y| s.min(x, y)), fold(T::min));
        assert_eq!(s.fold(va, |x, y| s.max(x, y)), fold(T::max));
        assert_eq!(s.fold(va, |x, y| s.or(x, y)), fold(or));
        for len in 0..=n {
            // One element more than a vector holds changes nothing.
            let part = &a[..if len == n { n + 1 } else { len }];
            check("load_partial", s.load_partial(part, vb), &|i| if i < len { a[i] } else { b[i] });
            let all = u64::MAX.checked_shr(64 - len as u32).unwrap_or(0);
            assert_eq!(s.equal_partial(part, va), all);
            let other: Vec<T> = part.iter().enumerate().map(|(i, &x)| if i % 3 == 0 { x } else { b[i] }).collect();
            let same = (0..len).filter(|&i| other[i] == a[i]).fold(0, |same, i| same | 1 << i);
            assert_eq!(s.equal_partial(&other, va), same, "equal_partial of {len}");
        }
    }

    #[test]
    fn every_instruction_set_does_what_plain_rust_does() {
        for level in available() {
            dispatch_at(level, Check);
        }
    }
}
