//! `f32` and `f64` lanes behind one trait, for kernels that are written once for both.

use std::fmt;

use crate::simd::Simd;
use crate::simd::sealed::Sealed;

/// The arithmetic of one instruction set on vectors of `T`, which is `f32` or `f64`.
///
/// A kernel over any [`Real`](crate::Real) gets it with [`Real::lanes`](crate::Real::lanes):
///
/// ```
/// use kaldera_base::Real;
/// use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};
///
/// /// x = √x
/// struct Sqrt<'a, T>(&'a mut [T]);
///
/// impl<T: Real> Kernel for Sqrt<'_, T> {
///     type Output = ();
///     #[inline(always)]
///     fn run<S: Simd>(self, s: S) {
///         let s = T::lanes(s);
///         for x in self.0.chunks_mut(T::Lanes::<S>::LANES) {
///             s.store_partial(s.sqrt(s.load_partial(x, s.splat(T::ZERO))), x);
///         }
///     }
/// }
///
/// let mut x = [16.0_f64; 21];
/// dispatch(Sqrt(&mut x));
/// assert_eq!(x, [4.0; 21]);
/// ```
///
/// Slices given to `load` and `store` must hold at least [`LANES`](Self::LANES) elements, which is
/// checked. Sealed, as [`Simd`] is.
pub trait Lanes<T>: Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// Number of elements in a vector: 16, 8 or 4.
    const LANES: usize;
    /// A vector of `LANES` numbers.
    type Vector: Copy + fmt::Debug + Send + Sync;

    /// Every lane `x`.
    fn splat(self, x: T) -> Self::Vector;
    /// The first `LANES` elements of `from`.
    fn load(self, from: &[T]) -> Self::Vector;
    /// Writes the first `LANES` elements of `to`.
    fn store(self, v: Self::Vector, to: &mut [T]);
    /// The elements of `from`, `LANES` of them at most; the lanes after its end are taken from
    /// `filler`. Reads no further.
    fn load_partial(self, from: &[T], filler: Self::Vector) -> Self::Vector;
    /// Writes the elements of `to`, `LANES` of them at most.
    fn store_partial(self, v: Self::Vector, to: &mut [T]);

    /// a + b
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a - b
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a b
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a / b
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a b + c, with one rounding where the processor has such an instruction
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// c - a b, with one rounding where the processor has such an instruction
    fn neg_mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// √a
    fn sqrt(self, a: Self::Vector) -> Self::Vector;
    /// a where a > b, else b; so b where either is NaN
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a where a < b, else b; so b where either is NaN
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `yes` in lanes with a < b (false for NaN), else `no`
    fn select_lt(self, a: Self::Vector, b: Self::Vector, yes: Self::Vector, no: Self::Vector) -> Self::Vector;
    /// `yes` in lanes with a <= b (false for NaN), else `no`
    fn select_le(self, a: Self::Vector, b: Self::Vector, yes: Self::Vector, no: Self::Vector) -> Self::Vector;

    /// The sum of all lanes: lane i with lane i + LANES/2, and so on in halves.
    fn sum(self, v: Self::Vector) -> T;
    /// The largest lane; no promise where one is NaN.
    fn max_lane(self, v: Self::Vector) -> T;
}

/// The `f32` lanes of an instruction set, as [`Lanes`].
#[derive(Debug, Clone, Copy)]
pub struct Singles<S>(pub S);

/// Methods that an instruction set has under the same name.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        fn $name(self, $($argument: $type),*) $(-> $result)? {
            self.0.$name($($argument),*)
        }
    )*};
}

impl<S: Simd> Sealed for Singles<S> {}

impl<S: Simd> Lanes<f32> for Singles<S> {
    const LANES: usize = S::LANES;
    type Vector = S::F32;

    forward! {
        splat(x: f32) -> S::F32;
        load(from: &[f32]) -> S::F32;
        store(v: S::F32, to: &mut [f32]);
        load_partial(from: &[f32], filler: S::F32) -> S::F32;
        store_partial(v: S::F32, to: &mut [f32]);
        add(a: S::F32, b: S::F32) -> S::F32;
        sub(a: S::F32, b: S::F32) -> S::F32;
        mul(a: S::F32, b: S::F32) -> S::F32;
        div(a: S::F32, b: S::F32) -> S::F32;
        mul_add(a: S::F32, b: S::F32, c: S::F32) -> S::F32;
        neg_mul_add(a: S::F32, b: S::F32, c: S::F32) -> S::F32;
        sqrt(a: S::F32) -> S::F32;
        max(a: S::F32, b: S::F32) -> S::F32;
        min(a: S::F32, b: S::F32) -> S::F32;
        select_lt(a: S::F32, b: S::F32, yes: S::F32, no: S::F32) -> S::F32;
        select_le(a: S::F32, b: S::F32, yes: S::F32, no: S::F32) -> S::F32;
        sum(v: S::F32) -> f32;
        max_lane(v: S::F32) -> f32;
    }
}
