//! Loops over slices that the operations are made of.
//!
//! Sums have a fixed order: sixteen partial sums, one for each place of a block, then a tree over these. It depends on
//! the length alone, not on the address, the machine or the number of threads, and compilers make vectors of it.

use kaldera_base::Real;

/// Partial sums of a reduction.
const LANES: usize = 16;

/// The sum of `term(x)`.
#[inline]
fn sum_of<T: Real, A: Real>(x: &[T], term: impl Fn(T) -> A) -> A {
    let mut sums = [A::ZERO; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for block in blocks {
        for (sum, &x) in sums.iter_mut().zip(block) {
            *sum += term(x);
        }
    }
    for (sum, &x) in sums.iter_mut().zip(rest) {
        *sum += term(x);
    }
    tree(sums)
}

/// Adds neighbours of a distance of 8, 4, 2, 1.
#[inline]
fn tree<A: Real>(mut sums: [A; LANES]) -> A {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            let other = sums[i + half];
            sums[i] += other;
        }
        half /= 2;
    }
    sums[0]
}

pub(crate) fn sum<T: Real>(x: &[T]) -> T {
    sum_of(x, |x| x)
}

/// The sum in double precision.
pub(crate) fn sum_f64<T: Real>(x: &[T]) -> f64 {
    sum_of(x, T::to_f64)
}

pub(crate) fn sum_of_squares<T: Real>(x: &[T]) -> T {
    sum_of(x, |x| x * x)
}

/// The scalar product of two slices of one length.
pub(crate) fn dot<T: Real>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; LANES];
    let ((x_blocks, x_rest), (y_blocks, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        for i in 0..LANES {
            sums[i] += x[i] * y[i];
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *sum += x * y;
    }
    tree(sums)
}

/// The smallest number that is not NaN.
pub(crate) fn min<T: Real>(x: &[T]) -> T {
    x.iter().fold(T::INFINITY, |least, &x| if x < least { x } else { least })
}

/// The largest number that is not NaN.
pub(crate) fn max<T: Real>(x: &[T]) -> T {
    x.iter().fold(-T::INFINITY, |most, &x| if x > most { x } else { most })
}

/// y = beta y, where `beta` 0 means zeros, whatever was there.
pub(crate) fn scale<T: Real>(y: &mut [T], beta: T) {
    if beta == T::ZERO {
        y.fill(T::ZERO);
    } else if beta != T::ONE {
        y.iter_mut().for_each(|y| *y *= beta);
    }
}

/// y += alpha x, for slices of one length and type.
pub(crate) fn axpy<T: Real>(alpha: T, x: &[T], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += alpha * x;
    }
}

/// A number of the other precision, or the same.
#[inline]
pub(crate) fn convert<T: Real, U: Real>(x: U) -> T {
    T::from_f64(x.to_f64())
}

/// y = x, converted.
pub(crate) fn copy<T: Real, U: Real>(x: &[U], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = convert(x);
    }
}

/// y = f(y, x), computed in the wider of the two types: `f` in T, or `wide` in `f64` if only `x` is that.
#[inline]
pub(crate) fn update<T: Real, U: Real>(y: &mut [T], x: &[U], f: impl Fn(T, T) -> T, wide: impl Fn(f64, f64) -> f64) {
    if size_of::<U>() > size_of::<T>() {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = T::from_f64(wide(y.to_f64(), x.to_f64()));
        }
    } else {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = f(*y, convert(x));
        }
    }
}

/// y += alpha x, computed in the wider of the two types.
pub(crate) fn add_scaled<T: Real, U: Real>(alpha: T, x: &[U], y: &mut [T]) {
    update(y, x, |y, x| y + alpha * x, |y, x| y + alpha.to_f64() * x);
}

/// y = y x, computed in the wider of the two types.
pub(crate) fn multiply<T: Real, U: Real>(y: &mut [T], x: &[U]) {
    update(y, x, |y, x| y * x, |y, x| y * x);
}

/// Raises what is below `floor` to it, and says how many that were. NaN stays.
pub(crate) fn floor<T: Real>(x: &mut [T], floor: T) -> usize {
    let mut count = 0;
    for x in x {
        let below = *x < floor;
        count += usize::from(below);
        *x = if below { floor } else { *x };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_length_are_right_and_the_same_at_any_address() {
        let all: Vec<f32> = (0_u8..101).map(|i| 1.0 / (1.0 + f32::from(i))).collect();
        for len in 0..64 {
            let x = &all[..len];
            let right: f64 = x.iter().map(|&x| f64::from(x)).sum();
            assert!((f64::from(sum(x)) - right).abs() < 1e-6);
            assert!((sum_f64(x) - right).abs() < 1e-14);
            let squares: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            assert!((f64::from(dot(x, x)) - squares).abs() < 1e-6);
            assert_eq!(dot(x, x), sum_of_squares(x));
            for shift in 1..9 {
                let moved: Vec<f32> = std::iter::repeat_n(7.0, shift).chain(x.iter().copied()).collect();
                assert_eq!(sum(&moved[shift..]), sum(x));
            }
        }
    }

    #[test]
    fn nan_survives_the_floor() {
        let mut x = [f32::NAN, -1.0, 0.5, 1.0];
        assert_eq!(floor(&mut x, 0.5), 1);
        assert!(x[0].is_nan());
        assert_eq!(x[1..], [0.5, 0.5, 1.0]);
    }
}
