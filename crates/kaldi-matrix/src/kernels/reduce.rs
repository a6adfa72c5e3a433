//! Many numbers in, one out.
//!
//! Sums have a fixed order: sixteen partial sums, one for each place of a block, then a tree over these. It depends on
//! the length alone, not on the address, the machine or the number of threads.

use kaldera_base::Real;

/// Partial sums of a reduction.
const LANES: usize = 16;

/// The sum of `term(x)`.
#[inline]
pub(crate) fn sum_by<T: Real, A: Real>(x: &[T], term: impl Fn(T) -> A) -> A {
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
    sum_by(x, |x| x)
}

/// The sum in double precision.
pub(crate) fn sum_f64<T: Real>(x: &[T]) -> f64 {
    sum_by(x, T::to_f64)
}

pub(crate) fn sum_of_squares<T: Real>(x: &[T]) -> T {
    sum_by(x, |x| x * x)
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

/// The place of the smallest number, the first of equals, and the number; none if there are only NaN or nothing.
pub(crate) fn min_index<T: Real>(x: &[T]) -> Option<(usize, T)> {
    first_of(x, min(x))
}

/// The place of the largest number, the first of equals, and the number; none if there are only NaN or nothing.
pub(crate) fn max_index<T: Real>(x: &[T]) -> Option<(usize, T)> {
    first_of(x, max(x))
}

fn first_of<T: Real>(x: &[T], value: T) -> Option<(usize, T)> {
    x.iter().position(|&x| x == value).map(|i| (i, value))
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
}
