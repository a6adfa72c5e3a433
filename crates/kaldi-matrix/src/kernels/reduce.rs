//! Reductions of slices to one number.
//!
//! Sums have a fixed order: 256 bytes of partial sums, one for each position in a block, then a
//! tree over them, which adds pairs at a distance of half their number, a quarter and so on; up to
//! 8 numbers are added one after the other. The order depends only on the length, not on the
//! address, the machine or the number of threads.

use kaldera_base::kernel;
use kaldera_base::math::max_lanes;
use kaldera_base::real::{Real, Vector};
use kaldera_base::simd::{Doubles, Kernel, Lanes, Simd, dispatch};

/// Largest number of vectors of the partial sums, with the fewest lanes.
const MAX_VECTORS: usize = 8;

/// Returns the number of vectors of L for the partial sums of T.
#[inline(always)]
const fn vectors<T, L: Lanes<T>>() -> usize {
    256 / size_of::<T>() / L::LANES
}

/// Adds vector after vector: `whole(at)` and `part(at)` return the terms of the elements from `at`
/// on.
#[inline(always)]
fn add_up<T: Real, L: Lanes<T>>(
    s: L,
    len: usize,
    whole: impl Fn(usize) -> L::Vector,
    part: impl Fn(usize) -> L::Vector,
) -> T {
    let (lanes, count) = (L::LANES, vectors::<T, L>());
    if len <= lanes {
        return s.sum(part(0));
    }
    let mut sums = [s.splat(T::ZERO); MAX_VECTORS];
    let mut at = 0;
    while at + count * lanes <= len {
        for (i, sum) in sums[..count].iter_mut().enumerate() {
            *sum = s.add(*sum, whole(at + i * lanes));
        }
        at += count * lanes;
    }
    for sum in &mut sums[..count] {
        if at + lanes <= len {
            *sum = s.add(*sum, whole(at));
        } else if at < len {
            *sum = s.add(*sum, part(at));
        }
        at += lanes;
    }
    let mut half = count / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] = s.add(sums[i], sums[i + half]);
        }
        half /= 2;
    }
    s.sum(sums[0])
}

/// Returns the sum of f(x, y); f(0, 0) must be 0.
#[inline(always)]
pub(super) fn sum_lanes<T: Real, S: Simd>(
    s: T::Lanes<S>,
    x: &[T],
    y: &[T],
    f: impl Fn(Vector<T, S>, Vector<T, S>) -> Vector<T, S>,
) -> T {
    let len = x.len().min(y.len());
    let (x, y) = (&x[..len], &y[..len]);
    let zero = s.splat(T::ZERO);
    add_up(
        s,
        len,
        |at| f(s.load(&x[at..]), s.load(&y[at..])),
        |at| f(s.load_partial(&x[at..], zero), s.load_partial(&y[at..], zero)),
    )
}

/// Returns the sum of `f32` in double precision.
#[inline(always)]
fn sum_wide_lanes<D: Doubles>(s: D, x: &[f32]) -> f64 {
    add_up(s, x.len(), |at| s.load_f32(&x[at..]), |at| s.load_partial_f32(&x[at..]))
}

/// Returns the sum in double precision.
#[inline(always)]
pub(crate) fn sum_f64_lanes<T: Real, S: Simd>(s: S, x: &[T]) -> f64 {
    match (T::as_f32(x), T::as_f64(x)) {
        (Some(x), _) => sum_wide_lanes(s.doubles(), x),
        (_, Some(x)) => sum_lanes::<f64, S>(s.doubles(), x, x, |x, _| x),
        _ => unreachable!("Real is f32 or f64"),
    }
}

/// Largest number of elements that are added one after the other: a call through [`dispatch`] takes
/// longer.
const FEW: usize = 8;

pub(crate) fn sum<T: Real>(x: &[T]) -> T {
    if x.len() <= FEW {
        return x.iter().fold(T::ZERO, |sum, &x| sum + x);
    }
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a [T]) -> T {
        sum_lanes::<T, S>(T::lanes(s), x, x, |x, _| x)
    }))
}

/// Returns the sum in double precision.
pub(crate) fn sum_f64<T: Real>(x: &[T]) -> f64 {
    if x.len() <= FEW {
        return x.iter().fold(0.0, |sum, x| sum + x.to_f64());
    }
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a [T]) -> f64 {
        sum_f64_lanes(s, x)
    }))
}

pub(crate) fn sum_of_squares<T: Real>(x: &[T]) -> T {
    dot(x, x)
}

/// Returns the scalar product of two slices of one length.
pub(crate) fn dot<T: Real>(x: &[T], y: &[T]) -> T {
    if x.len() <= FEW {
        return x.iter().zip(y).fold(T::ZERO, |sum, (&x, &y)| sum + x * y);
    }
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a [T], y: &'a [T]) -> T {
        let s = T::lanes(s);
        // Not fused, so that the result is the same with each instruction set.
        sum_lanes::<T, S>(s, x, y, |x, y| s.mul(x, y))
    }))
}

/// Number of partial sums of [`sum_by`].
const PARTS: usize = 16;

/// Returns the sum of `term(x)`, for any function. The order is fixed, too, but not the same.
#[inline]
pub(crate) fn sum_by<T: Real, A: Real>(x: &[T], term: impl Fn(T) -> A) -> A {
    struct Sum<'a, T, F>(&'a [T], F);
    impl<T: Real, A: Real, F: Fn(T) -> A> Kernel for Sum<'_, T, F> {
        type Output = A;
        #[inline(always)]
        fn run<S: Simd>(self, _: S) -> A {
            let Self(x, term) = self;
            let mut sums = [A::ZERO; PARTS];
            let (blocks, rest) = x.as_chunks::<PARTS>();
            for block in blocks {
                for (sum, &x) in sums.iter_mut().zip(block) {
                    *sum += term(x);
                }
            }
            for (sum, &x) in sums.iter_mut().zip(rest) {
                *sum += term(x);
            }
            let mut half = PARTS / 2;
            while half > 0 {
                for i in 0..half {
                    let other = sums[i + half];
                    sums[i] += other;
                }
                half /= 2;
            }
            sums[0]
        }
    }
    dispatch(Sum(x, term))
}

/// Returns the smallest number that is not NaN; infinity if there is none.
pub(crate) fn min<T: Real>(x: &[T]) -> T {
    if x.len() <= FEW {
        return x.iter().fold(T::INFINITY, |least, &x| if x < least { x } else { least });
    }
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a [T]) -> T {
        let s = T::lanes(s);
        -max_lanes::<T, S>(s, x, |x| s.mul(x, s.splat(-T::ONE)))
    }))
}

/// Returns the largest number that is not NaN; minus infinity if there is none.
pub(crate) fn max<T: Real>(x: &[T]) -> T {
    if x.len() <= FEW {
        return x.iter().fold(-T::INFINITY, |most, &x| if x > most { x } else { most });
    }
    dispatch(kernel!(<'a, T: Real>(s: S, x: &'a [T]) -> T {
        max_lanes::<T, S>(T::lanes(s), x, |x| x)
    }))
}

/// Returns the index of the smallest number (the first of equal ones), and the number; none if
/// there are only NaN or no numbers.
pub(crate) fn min_index<T: Real>(x: &[T]) -> Option<(usize, T)> {
    first_of(x, min(x))
}

/// Returns the index of the largest number (the first of equal ones), and the number; none if there
/// are only NaN or no numbers.
pub(crate) fn max_index<T: Real>(x: &[T]) -> Option<(usize, T)> {
    first_of(x, max(x))
}

fn first_of<T: Real>(x: &[T], value: T) -> Option<(usize, T)> {
    struct First<'a, T>(&'a [T], T);
    impl<T: Real> Kernel for First<'_, T> {
        type Output = Option<usize>;
        #[inline(always)]
        fn run<S: Simd>(self, _: S) -> Option<usize> {
            let Self(x, value) = self;
            // The compiler vectorizes the search in a whole block without an early exit.
            const BLOCK: usize = 64;
            let (blocks, rest) = x.as_chunks::<BLOCK>();
            let found = blocks.iter().position(|block| block.iter().fold(false, |found, &x| found | (x == value)));
            let (start, block) = found.map_or((x.len() - rest.len(), rest), |i| (i * BLOCK, &blocks[i]));
            block.iter().position(|&x| x == value).map(|i| start + i)
        }
    }
    let found = if x.len() <= 2 * FEW { x.iter().position(|&x| x == value) } else { dispatch(First(x, value)) };
    found.map(|i| (i, x[i]))
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{Level, available, dispatch_at};
    use proptest::prelude::*;

    use super::*;

    struct Sums<'a, T>(&'a [T]);
    impl<T: Real> Kernel for Sums<'_, T> {
        type Output = (T, f64);
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> (T, f64) {
            (sum_lanes::<T, S>(T::lanes(s), self.0, self.0, |x, _| x), sum_f64_lanes(s, self.0))
        }
    }

    #[test]
    fn sums_of_any_length_are_right_and_the_same_at_any_address_and_with_any_instructions() {
        let all: Vec<f32> = (0_u16..400).map(|i| (f32::from(i * 7 % 31) - 14.0) / (1.0 + f32::from(i))).collect();
        for len in 0..300 {
            let x = &all[..len];
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let right: f64 = wide.iter().sum();
            assert!((f64::from(sum(x)) - right).abs() < 3e-6);
            assert!((sum_f64(x) - right).abs() < 1e-14);
            assert!((sum(&wide) - right).abs() < 1e-14);
            let squares: f64 = wide.iter().map(|x| x * x).sum();
            assert!((f64::from(dot(x, x)) - squares).abs() < 1e-4);
            assert!((dot(&wide, &wide) - squares).abs() < 1e-12);
            for shift in 1..9 {
                let moved: Vec<f32> = std::iter::repeat_n(7.0, shift).chain(x.iter().copied()).collect();
                assert_eq!(sum(&moved[shift..]), sum(x));
            }
            for level in available() {
                let portable = (dispatch_at(Level::Portable, Sums(x)), dispatch_at(Level::Portable, Sums(&wide)));
                assert_eq!(
                    (dispatch_at(level, Sums(x)), dispatch_at(level, Sums(&wide))),
                    portable,
                    "{len} with {level}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn min_and_max_equal_a_loop(
            x in prop::collection::vec(prop_oneof![-9.0_f32..9.0, Just(f32::NAN), Just(f32::INFINITY), Just(3.0)], 0..200),
        ) {
            let numbers = || x.iter().copied().enumerate().filter(|(_, x)| !x.is_nan());
            let least = numbers().reduce(|least, next| if next.1 < least.1 { next } else { least });
            let most = numbers().reduce(|most, next| if next.1 > most.1 { next } else { most });
            prop_assert_eq!(min_index(&x), least);
            prop_assert_eq!(max_index(&x), most);
            prop_assert_eq!(min(&x), least.map_or(f32::INFINITY, |(_, x)| x));
            prop_assert_eq!(max(&x), most.map_or(f32::NEG_INFINITY, |(_, x)| x));
            let wide: Vec<f64> = x.iter().map(|&x| x.into()).collect();
            prop_assert_eq!(max_index(&wide), most.map(|(i, x)| (i, x.into())));
            prop_assert_eq!(min_index(&wide), least.map(|(i, x)| (i, x.into())));
        }
    }
}
