//! Element-wise functions of slices.
//!
//! The loops are plain; [`dispatch`] compiles them for each instruction set, and the compiler
//! vectorizes them. Nothing is fused, so that the results are the same with each instruction set. A
//! closure that uses a number should `move` it: through a reference, it is read again for each
//! element.

use kaldera_base::Real;
use kaldera_base::kernel;
use kaldera_base::simd::dispatch;

/// x = f(x) for each element.
#[inline]
pub(crate) fn map<T: Real>(x: &mut [T], f: impl Fn(T) -> T) {
    dispatch(kernel!(<'a, T: Real, F: Fn(T) -> T>(_s: S, x: &'a mut [T], f: F) {
        for x in x {
            *x = f(*x);
        }
    }));
}

/// y = f(y, x) for each element of two slices of one length.
#[inline]
pub(crate) fn zip_map<T: Real, U: Real>(y: &mut [T], x: &[U], f: impl Fn(T, U) -> T) {
    dispatch(kernel!(<'a, T: Real, U: Real, F: Fn(T, U) -> T>(_s: S, y: &'a mut [T], x: &'a [U], f: F) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = f(*y, x);
        }
    }));
}

/// y = f(y, a, b) for each element of three slices of one length.
#[inline]
pub(crate) fn zip_map2<T: Real>(y: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T, T) -> T) {
    dispatch(kernel!(<'a, T: Real, F: Fn(T, T, T) -> T>(_s: S, y: &'a mut [T], a: &'a [T], b: &'a [T], f: F) {
        for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
            *y = f(*y, a, b);
        }
    }));
}

/// y = beta y; with `beta` 0 zeros, for any old values.
pub(crate) fn scale<T: Real>(y: &mut [T], beta: T) {
    if beta == T::ZERO {
        y.fill(T::ZERO);
    } else if beta != T::ONE {
        map(y, move |y| y * beta);
    }
}

/// y += alpha x, for slices of one length and type.
pub(crate) fn axpy<T: Real>(alpha: T, x: &[T], y: &mut [T]) {
    zip_map(y, x, move |y, x| y + alpha * x);
}

/// Converts a number to the other precision, or the same.
#[inline]
pub(crate) fn convert<T: Real, U: Real>(x: U) -> T {
    T::from_f64(x.to_f64())
}

/// y = x, converted.
pub(crate) fn copy<T: Real, U: Real>(x: &[U], y: &mut [T]) {
    zip_map(y, x, |_, x| convert(x));
}

/// y = f(y, x), computed in the wider of the two types: `f` in T, or `wide` in `f64` if only `x` is
/// `f64`.
#[inline]
pub(crate) fn update<T: Real, U: Real>(y: &mut [T], x: &[U], f: impl Fn(T, T) -> T, wide: impl Fn(f64, f64) -> f64) {
    if size_of::<U>() > size_of::<T>() {
        zip_map(y, x, move |y, x| T::from_f64(wide(y.to_f64(), x.to_f64())));
    } else {
        zip_map(y, x, move |y, x| f(y, convert(x)));
    }
}

/// y += alpha x, computed in the wider of the two types.
pub(crate) fn add_scaled<T: Real, U: Real>(alpha: T, x: &[U], y: &mut [T]) {
    update(y, x, move |y, x| y + alpha * x, move |y, x| y + alpha.to_f64() * x);
}

/// y = y x, computed in the wider of the two types.
pub(crate) fn multiply<T: Real, U: Real>(y: &mut [T], x: &[U]) {
    update(y, x, |y, x| y * x, |y, x| y * x);
}

/// Raises the elements below `floor` to it, and returns their number. NaN stays.
pub(crate) fn floor<T: Real>(x: &mut [T], floor: T) -> usize {
    limit(x, move |x| x < floor, floor)
}

/// Lowers the elements above `ceiling` to it, and returns their number. NaN stays.
pub(crate) fn ceiling<T: Real>(x: &mut [T], ceiling: T) -> usize {
    limit(x, move |x| x > ceiling, ceiling)
}

/// Replaces the elements for which `beyond` is `true` with `limit`, and returns their number.
#[inline]
fn limit<T: Real>(x: &mut [T], beyond: impl Fn(T) -> bool, limit: T) -> usize {
    dispatch(kernel!(<'a, T: Real, F: Fn(T) -> bool>(_s: S, x: &'a mut [T], beyond: F, limit: T) -> usize {
        let mut total = 0;
        // Counters of the same width as the numbers give better vectors.
        for x in x.chunks_mut(1 << 16) {
            let mut count = 0_u32;
            for x in x {
                count += u32::from(beyond(*x));
                *x = if beyond(*x) { limit } else { *x };
            }
            total += count as usize;
        }
        total
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_survives_the_limits() {
        let mut x = [f32::NAN, -1.0, 0.5, 1.0];
        assert_eq!(floor(&mut x, 0.5), 1);
        assert!(x[0].is_nan());
        assert_eq!(x[1..], [0.5, 0.5, 1.0]);
        assert_eq!(ceiling(&mut x, 0.25), 3);
        assert!(x[0].is_nan());
        assert_eq!(x[1..], [0.25; 3]);
    }
}
