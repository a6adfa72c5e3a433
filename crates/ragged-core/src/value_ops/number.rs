//! The types of values that operations accept.

use std::fmt::Debug;

use kaldera_base::Real;
use kaldera_base::simd::Int;

use crate::kernels::{ExpKernels, RowKernels};

/// A number that rows can be reduced, sorted and padded with: `i32`, `i64`, `u8`, `f32` or `f64`.
///
/// Sums and products of integers wrap around, as in k2.
pub trait Number: RowKernels + Copy + Default + Debug + PartialEq + PartialOrd + Send + Sync + 'static {
    /// 0: the usual start of a sum.
    const ZERO: Self;
    /// The lowest finite number: the usual start of a maximum.
    const LOWEST: Self;
    /// The highest finite number: the usual start of a minimum.
    const HIGHEST: Self;

    /// Returns self + other.
    fn plus(self, other: Self) -> Self;
    /// Returns self - other.
    fn minus(self, other: Self) -> Self;
    /// Returns self times other.
    fn times(self, other: Self) -> Self;
    /// Converts the number to a `U`: toward zero if `U` is an integer, to its nearest bound if it
    /// is beyond, 0 for NaN.
    fn convert<U: Number>(self) -> U;
    /// Returns `true` if it equals fresh memory: 0, and not -0.
    #[doc(hidden)]
    fn is_zero_bits(self) -> bool;
    /// Converts from the widest types, for [`convert`](Self::convert).
    #[doc(hidden)]
    fn from_wide(integer: i64, real: f64) -> Self;
}

/// A number that can be divided and has logarithms: `f32` or `f64`.
pub trait Float: Number + Real + ExpKernels {
    /// Minus infinity: the usual start of a [`logsumexp`](crate::Ragged::logsumexp).
    const NEG_INFINITY: Self;
}

/// A number with bits: `i32`, `i64` or `u8`.
pub trait Integer: Number + Int + Eq + std::ops::BitAnd<Output = Self> + std::ops::BitOr<Output = Self> {}

macro_rules! integer {
    ($t:ty) => {
        impl Number for $t {
            const ZERO: Self = 0;
            const LOWEST: Self = <$t>::MIN;
            const HIGHEST: Self = <$t>::MAX;

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn convert<U: Number>(self) -> U {
                U::from_wide(i64::from(self), self as f64)
            }
            #[inline]
            fn is_zero_bits(self) -> bool {
                self == 0
            }
            #[inline]
            fn from_wide(integer: i64, _: f64) -> Self {
                integer.clamp(i64::from(<$t>::MIN), i64::from(<$t>::MAX)) as $t
            }
        }
        impl Integer for $t {}
    };
}
integer!(i32);
integer!(i64);
integer!(u8);

macro_rules! float {
    ($t:ty) => {
        impl Number for $t {
            const ZERO: Self = 0.0;
            const LOWEST: Self = <$t>::MIN;
            const HIGHEST: Self = <$t>::MAX;

            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn convert<U: Number>(self) -> U {
                // `as` goes toward zero, stops at the bounds and makes 0 of NaN.
                U::from_wide(self as i64, f64::from(self))
            }
            #[inline]
            fn is_zero_bits(self) -> bool {
                self.to_bits() == 0
            }
            #[inline]
            fn from_wide(_: i64, real: f64) -> Self {
                real as $t
            }
        }
        impl Float for $t {
            const NEG_INFINITY: Self = <$t>::NEG_INFINITY;
        }
    };
}
float!(f32);
float!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_goes_toward_zero_and_stops_at_the_bounds() {
        assert_eq!((-1.9_f32).convert::<i32>(), -1);
        assert_eq!(3e9_f64.convert::<i32>(), i32::MAX);
        assert_eq!((-1.0_f64).convert::<u8>(), 0);
        assert_eq!(f32::NAN.convert::<i64>(), 0);
        assert_eq!(16_777_217_i32.convert::<f32>(), 16_777_216.0);
        assert_eq!(i64::MAX.convert::<i64>(), i64::MAX);
        assert_eq!(0.1_f32.convert::<f64>(), f64::from(0.1_f32));
    }
}
