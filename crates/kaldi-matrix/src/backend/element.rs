//! Conversion of the generic element to `f32` or `f64`, the types of the libraries' kernels.

use kaldera_base::Real;

use crate::matrix::{SubMatrix, SubMatrixMut};

/// A concrete element type of a generic slice.
pub(super) trait Concrete: Real {
    /// `None` unless T is this type.
    fn slice<T: Real>(x: &[T]) -> Option<&[Self]>;
    /// `None` unless T is this type.
    fn slice_mut<T: Real>(x: &mut [T]) -> Option<&mut [Self]>;
}

impl Concrete for f32 {
    fn slice<T: Real>(x: &[T]) -> Option<&[Self]> {
        T::as_f32(x)
    }
    fn slice_mut<T: Real>(x: &mut [T]) -> Option<&mut [Self]> {
        T::as_f32_mut(x)
    }
}

impl Concrete for f64 {
    fn slice<T: Real>(x: &[T]) -> Option<&[Self]> {
        T::as_f64(x)
    }
    fn slice_mut<T: Real>(x: &mut [T]) -> Option<&mut [Self]> {
        T::as_f64_mut(x)
    }
}

/// Evaluates the last argument with `$U` as another name of `$T`, which is `f32` or `f64`. The four
/// functions below convert the operands.
macro_rules! by_type {
    ($T:ident is $U:ident, $call:expr) => {
        if size_of::<$T>() == size_of::<f32>() {
            type $U = f32;
            $call
        } else {
            type $U = f64;
            $call
        }
    };
}
pub(super) use by_type;

const CHECKED: &str = "by_type! has compared the types";

pub(super) fn scalar<T: Real, U: Concrete>(x: T) -> U {
    U::from_f64(x.to_f64())
}

pub(super) fn slice<T: Real, U: Concrete>(x: &[T]) -> &[U] {
    U::slice(x).expect(CHECKED)
}

pub(super) fn slice_mut<T: Real, U: Concrete>(x: &mut [T]) -> &mut [U] {
    U::slice_mut(x).expect(CHECKED)
}

pub(super) fn mat<T: Real, U: Concrete>(m: SubMatrix<'_, T>) -> SubMatrix<'_, U> {
    m.map_data(slice)
}

pub(super) fn mat_mut<T: Real, U: Concrete>(m: SubMatrixMut<'_, T>) -> SubMatrixMut<'_, U> {
    m.map_data(slice_mut)
}
