//! The floating-point types of the numeric crates.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::math::{double, single};
use crate::simd::{Lanes, Simd, Singles};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: Kaldi's `Real`.
///
/// Sealed, because the numeric crates choose kernels by the type and know just these two.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// Positive infinity.
    const INFINITY: Self;

    /// The nearest value of this type.
    fn from_f64(x: f64) -> Self;
    /// The same value in double precision.
    fn to_f64(self) -> f64;
    /// |x|.
    fn abs(self) -> Self;
    /// √x.
    fn sqrt(self) -> Self;
    /// e^x, by the platform's `libm`.
    fn exp(self) -> Self;
    /// Natural logarithm, by the platform's `libm`.
    fn ln(self) -> Self;
    /// x^p, by the platform's `libm`.
    fn powf(self, p: Self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Not a number.
    fn is_nan(self) -> bool;

    /// The same slice if this type is `f32`: the way from generic code to a kernel for one type.
    fn as_f32(x: &[Self]) -> Option<&[f32]>;
    /// The same slice if this type is `f32`, to be changed.
    fn as_f32_mut(x: &mut [Self]) -> Option<&mut [f32]>;
    /// The same slice if this type is `f64`.
    fn as_f64(x: &[Self]) -> Option<&[f64]>;
    /// The same slice if this type is `f64`, to be changed.
    fn as_f64_mut(x: &mut [Self]) -> Option<&mut [f64]>;
    /// The same slice if U is this type.
    fn cast_slice<U: Real>(x: &[U]) -> Option<&[Self]>;

    /// The vector operations of an instruction set on this type.
    type Lanes<S: Simd>: Lanes<Self>;
    /// It, from within a [`Kernel`](crate::simd::Kernel).
    fn lanes<S: Simd>(s: S) -> Self::Lanes<S>;
    /// Natural logarithm of each lane, as [`math`](crate::math) has it.
    fn ln_lanes<S: Simd>(s: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S>;
    /// e^x of each lane, as [`math`](crate::math) has it.
    fn exp_lanes<S: Simd>(s: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S>;
    /// tanh x of each lane, as [`math`](crate::math) has it.
    fn tanh_lanes<S: Simd>(s: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S>;
    /// 1 / (1 + e^-x) of each lane, as [`math`](crate::math) has it.
    fn sigmoid_lanes<S: Simd>(s: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S>;
}

/// A vector of numbers of type T, of an instruction set.
pub type Vector<T, S> = <<T as Real>::Lanes<S> as Lanes<T>>::Vector;

/// The type, then how its slices are seen as `f32` and as `f64` and others as its own, then its
/// lanes: their type, how they are got from `s`, and how the arguments of the functions of a
/// module are got from `l`.
macro_rules! impl_real {
    (
        $t:ty, $single:expr, $single_mut:expr, $double:expr, $double_mut:expr, $cast:ident,
        $lanes:ty, |$s:ident| $from:expr, |$l:ident| $inner:expr, $math:ident
    ) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const EPSILON: Self = <$t>::EPSILON;
            const MIN_POSITIVE: Self = <$t>::MIN_POSITIVE;
            const INFINITY: Self = <$t>::INFINITY;

            #[inline]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline]
            fn exp(self) -> Self {
                self.exp()
            }
            #[inline]
            fn ln(self) -> Self {
                self.ln()
            }
            #[inline]
            fn powf(self, p: Self) -> Self {
                self.powf(p)
            }
            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline]
            fn as_f32(x: &[Self]) -> Option<&[f32]> {
                $single(x)
            }
            #[inline]
            fn as_f32_mut(x: &mut [Self]) -> Option<&mut [f32]> {
                $single_mut(x)
            }
            #[inline]
            fn as_f64(x: &[Self]) -> Option<&[f64]> {
                $double(x)
            }
            #[inline]
            fn as_f64_mut(x: &mut [Self]) -> Option<&mut [f64]> {
                $double_mut(x)
            }
            #[inline]
            fn cast_slice<U: Real>(x: &[U]) -> Option<&[Self]> {
                U::$cast(x)
            }

            type Lanes<S: Simd> = $lanes;
            #[inline(always)]
            fn lanes<S: Simd>($s: S) -> Self::Lanes<S> {
                $from
            }
            #[inline(always)]
            fn ln_lanes<S: Simd>($l: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S> {
                $math::ln($inner, x)
            }
            #[inline(always)]
            fn exp_lanes<S: Simd>($l: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S> {
                $math::exp($inner, x)
            }
            #[inline(always)]
            fn tanh_lanes<S: Simd>($l: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S> {
                $math::tanh($inner, x)
            }
            #[inline(always)]
            fn sigmoid_lanes<S: Simd>($l: Self::Lanes<S>, x: Vector<Self, S>) -> Vector<Self, S> {
                $math::sigmoid($inner, x)
            }
        }
    };
}

impl_real!(f32, Some, Some, |_| None, |_| None, as_f32, Singles<S>, |s| Singles(s), |l| l.0, single);
impl_real!(f64, |_| None, |_| None, Some, Some, as_f64, S::Doubles, |s| s.doubles(), |l| l, double);
