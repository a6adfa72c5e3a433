//! Reductions of each row to one number: the trait, and its implementation for floats.

use kaldera_base::Real;
use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Lanes, MAX_LANES, Simd, dispatch};

use crate::kernels::rows::rows_of;
use crate::kernels::sort::SortKernels;

/// Number of bytes between reads and their prefetch: the processor itself prefetches no further
/// than a page of 4 KiB.
pub(super) const PREFETCH_DISTANCE: usize = 8 << 10;

/// Reductions of rows for one type of number.
pub trait RowKernels: SortKernels {
    /// Computes `initial` plus the sum of each row.
    fn sum_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [Self]);
    /// Computes the highest of `initial` and each row; NaN is passed over.
    fn max_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [Self]);
    /// Computes the lowest of `initial` and each row; NaN is passed over.
    fn min_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [Self]);
    /// Computes the position among all values of the last one that is the highest of its row, -1 if
    /// none is at least `initial`.
    fn argmax_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [i32]);
    /// Computes the position among all values of the last one that is the lowest of its row, -1 if
    /// none is at most `initial`.
    fn argmin_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [i32]);
}

/// Returns the position of the last of the best values of a row, by a plain loop. `good` returns
/// `true` if a value is as good as the best so far.
fn argbest_row<T: Copy>(row: &[T], first: usize, initial: T, good: impl Fn(T, T) -> bool) -> i32 {
    let mut best = (initial, -1);
    for (i, &x) in row.iter().enumerate() {
        if good(x, best.0) {
            best = (x, (first + i) as i32);
        }
    }
    best.1
}

macro_rules! real_rows {
    ($t:ty) => {
        impl RowKernels for $t {
            fn sum_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                dispatch(SumRows { splits, values, initial, out });
            }
            fn max_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                dispatch(MaxRows { splits, values, initial, out });
            }
            fn min_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                dispatch(MinRows { splits, values, initial, out });
            }
            fn argmax_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [i32]) {
                dispatch(BestRows::<_, false> { splits, values, initial, out });
            }
            fn argmin_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [i32]) {
                dispatch(BestRows::<_, true> { splits, values, initial, out });
            }
        }
    };
}
real_rows!(f32);
real_rows!(f64);

/// Number of vectors of a row that are read without a branch on its length.
const TOGETHER: usize = 2;

/// Applies `op` to lanes and the values of a row in these lanes; each call is `op(new, so far)`,
/// from `neutral` on.
#[inline(always)]
pub(super) fn fold_lanes<T: Real, L: Lanes<T>>(
    s: L,
    row: &[T],
    neutral: L::Vector,
    op: impl Fn(L::Vector, L::Vector) -> L::Vector,
) -> L::Vector {
    let ahead = row.as_ptr().wrapping_byte_add(PREFETCH_DISTANCE);
    let (mut a, mut b) = (neutral, neutral);
    let mut rest = row;
    for i in 0..TOGETHER {
        memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
        let part;
        (part, rest) = rest.split_at(L::LANES.min(rest.len()));
        (a, b) = (op(s.load_partial(part, neutral), b), a);
    }
    if !rest.is_empty() {
        let mut vectors = rest.chunks_exact(L::LANES);
        for (i, vector) in (TOGETHER..).zip(&mut vectors) {
            memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
            (a, b) = (op(s.load(vector), b), a);
        }
        a = op(s.load_partial(vectors.remainder(), neutral), a);
    }
    op(a, b)
}

/// Returns the highest value of a row and `initial`.
#[inline(always)]
pub(super) fn max_of_row<T: Real, L: Lanes<T>>(s: L, row: &[T], initial: T) -> T {
    s.max_lane(fold_lanes(s, row, s.splat(initial), |x, a| s.max(x, a)))
}

/// Returns the sum of a row.
#[inline(always)]
pub(super) fn sum_of_row<T: Real, L: Lanes<T>>(s: L, row: &[T]) -> T {
    s.sum(fold_lanes(s, row, s.splat(T::ZERO), |x, a| s.add(x, a)))
}

macro_rules! row_kernel {
    ($name:ident, |$s:ident, $row:ident, $initial:ident| $e:expr) => {
        struct $name<'a, T> {
            splits: &'a [i32],
            values: &'a [T],
            initial: T,
            out: &'a mut [T],
        }

        impl<T: Real> Kernel for $name<'_, T> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, s: S) {
                let Self { splits, values, initial: $initial, out } = self;
                let $s = T::lanes(s);
                for (out, row) in out.iter_mut().zip(rows_of(splits)) {
                    let $row = &values[row];
                    *out = $e;
                }
            }
        }
    };
}
row_kernel!(SumRows, |s, row, initial| initial + sum_of_row(s, row));
row_kernel!(MaxRows, |s, row, initial| max_of_row(s, row, initial));
row_kernel!(MinRows, |s, row, initial| {
    let lowest = fold_lanes(s, row, s.splat(initial), |x, a| s.min(x, a));
    -s.max_lane(s.mul(lowest, s.splat(-T::ONE)))
});

/// Finds the position of the last of the highest values of each row, or of the lowest if `LOWEST`.
struct BestRows<'a, T, const LOWEST: bool> {
    splits: &'a [i32],
    values: &'a [T],
    initial: T,
    out: &'a mut [i32],
}

impl<T: Real, const LOWEST: bool> Kernel for BestRows<'_, T, LOWEST> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { splits, values, initial, out } = self;
        for (out, row) in out.iter_mut().zip(rows_of(splits)) {
            let first = row.start;
            let row = &values[row];
            // Positions count in floats, exactly.
            *out = match row.len() > 1 << 24 {
                true if LOWEST => argbest_row(row, first, initial, |x, best| x <= best),
                true => argbest_row(row, first, initial, |x, best| x >= best),
                false => last_best::<T, _, LOWEST>(T::lanes(s), row, first, initial),
            };
        }
    }
}

/// Same as [`argbest_row`] in one pass over a row of up to 2^24 values: each lane keeps the last of
/// its highest values and its position. The lowest is the highest of the opposites.
#[inline(always)]
fn last_best<T: Real, L: Lanes<T>, const LOWEST: bool>(s: L, row: &[T], first: usize, initial: T) -> i32 {
    let minus = s.splat(-T::ONE);
    let mirror = |x| if LOWEST { s.mul(x, minus) } else { x };
    let take = |best: (L::Vector, L::Vector), x, position| (s.max(x, best.0), s.select_le(best.0, x, position, best.1));
    // NaN is not higher than anything.
    let nan = s.splat(T::from_f64(f64::NAN));
    let lanes: [T; MAX_LANES] = std::array::from_fn(|i| T::from_f64(i as f64));
    let lanes = s.load(&lanes);
    let step = s.splat(T::from_f64(L::LANES as f64));
    let nowhere = s.splat(-T::ONE);
    let none = (mirror(s.splat(initial)), nowhere);

    let ahead = row.as_ptr().wrapping_byte_add(PREFETCH_DISTANCE);
    let mut a = none;
    let mut position = lanes;
    let mut rest = row;
    for i in 0..TOGETHER {
        memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
        let part;
        (part, rest) = rest.split_at(L::LANES.min(rest.len()));
        a = take(a, mirror(s.load_partial(part, nan)), position);
        position = s.add(position, step);
    }
    if !rest.is_empty() {
        let mut vectors = rest.chunks_exact(L::LANES);
        for (i, vector) in (TOGETHER..).zip(&mut vectors) {
            memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
            a = take(a, mirror(s.load(vector)), position);
            position = s.add(position, step);
        }
        a = take(a, mirror(s.load_partial(vectors.remainder(), nan)), position);
    }
    let highest = s.splat(s.max_lane(a.0));
    let position = s.max_lane(s.select_lt(a.0, highest, nowhere, a.1)).to_f64();
    if position < 0.0 { -1 } else { (first + position as usize) as i32 }
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{available, dispatch_at};

    use super::*;

    /// Returns small whole numbers, whose sums are exact in any order, with a NaN now and then.
    fn rows() -> (Vec<i32>, Vec<f32>) {
        let mut splits = vec![0];
        for row in 0..300 {
            splits.push(splits[row] + [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200][row * 7 % 15]);
        }
        let number = |i: i32| (i.wrapping_mul(0x9E37_79B9_u32.cast_signed()) >> 26) as f32;
        let values = (0..splits[300]).map(number).collect();
        (splits, values)
    }

    #[test]
    fn every_instruction_set_reduces_as_plain_rust_does() {
        let (splits, mut values) = rows();
        for level in available() {
            for initial in [-5.0, 0.0, 20.0, f32::NEG_INFINITY, f32::INFINITY] {
                let check = |name: &str, got: &[f32], f: &dyn Fn(&[f32]) -> f32| {
                    for (row, &got) in rows_of(&splits).zip(got) {
                        let expected = f(&values[row.clone()]);
                        assert!(got == expected, "{name} {level} {initial} {row:?}: {got} {expected}");
                    }
                };
                let out = &mut vec![0.5; 300];
                dispatch_at(level, SumRows { splits: &splits, values: &values, initial, out });
                check("sum", out, &|row| initial + row.iter().sum::<f32>());
                dispatch_at(level, MaxRows { splits: &splits, values: &values, initial, out });
                check("max", out, &|row| row.iter().fold(initial, |a, &x| a.max(x)));
                dispatch_at(level, MinRows { splits: &splits, values: &values, initial, out });
                check("min", out, &|row| row.iter().fold(initial, |a, &x| a.min(x)));
            }
        }
        (0..values.len()).step_by(5).for_each(|i| values[i] = f32::NAN);
        (2..values.len()).step_by(7).for_each(|i| values[i] = f32::NEG_INFINITY);
        for level in available() {
            for initial in [-5.0, f32::MIN, f32::NEG_INFINITY, 40.0] {
                let out = &mut vec![7; 300];
                let wide: Vec<f64> = values.iter().map(|&x| x.into()).collect();
                let naive = |good: fn(f32, f32) -> bool| -> Vec<i32> {
                    rows_of(&splits).map(|row| argbest_row(&values[row.clone()], row.start, initial, good)).collect()
                };
                let expected = naive(|x, best| x >= best);
                dispatch_at(level, BestRows::<_, false> { splits: &splits, values: &values, initial, out });
                assert_eq!(*out, expected, "{level} {initial}");
                dispatch_at(
                    level,
                    BestRows::<_, false> { splits: &splits, values: &wide, initial: initial.into(), out },
                );
                assert_eq!(*out, expected, "f64, {level} {initial}");
                let expected = naive(|x, best| x <= best);
                dispatch_at(level, BestRows::<_, true> { splits: &splits, values: &values, initial, out });
                assert_eq!(*out, expected, "lowest, {level} {initial}");
                dispatch_at(
                    level,
                    BestRows::<_, true> { splits: &splits, values: &wide, initial: initial.into(), out },
                );
                assert_eq!(*out, expected, "lowest, f64, {level} {initial}");
                let out = &mut vec![0.0; 300];
                dispatch_at(level, MaxRows { splits: &splits, values: &values, initial, out });
                for (row, &got) in rows_of(&splits).zip(&*out) {
                    assert_eq!(got, values[row].iter().fold(initial, |a, &x| a.max(x)), "{level}");
                }
            }
        }
    }

    /// Checks the last highest and lowest of each row, of few different numbers, and of numbers
    /// that are all different.
    fn check_positions<T: RowKernels + Copy + PartialOrd + std::fmt::Debug>(
        numbers: impl Fn(i32) -> T,
        initials: &[T],
    ) {
        let splits = rows().0;
        let values: Vec<T> = (0..splits[300]).map(|i| numbers(i.wrapping_mul(0x9E37_79B9_u32.cast_signed()))).collect();
        for &initial in initials {
            let out = &mut vec![7; 300];
            T::argmax_rows(&splits, &values, initial, out);
            for (row, &got) in rows_of(&splits).zip(&*out) {
                let expected = argbest_row(&values[row.clone()], row.start, initial, |x, best| x >= best);
                assert_eq!(got, expected, "{initial:?} {row:?}");
            }
            T::argmin_rows(&splits, &values, initial, out);
            for (row, &got) in rows_of(&splits).zip(&*out) {
                let expected = argbest_row(&values[row.clone()], row.start, initial, |x, best| x <= best);
                assert_eq!(got, expected, "lowest, {initial:?} {row:?}");
            }
        }
    }

    #[test]
    fn argmax_is_the_last_of_equal_values() {
        check_positions(|x| f64::from(x >> 30) * 0.0, &[0.0, -0.0, f64::NAN, f64::MIN]);
        check_positions(|x| if x & 3 == 0 { f64::NAN } else { f64::from(x) }, &[f64::NEG_INFINITY, 5.0]);
        check_positions(
            |x| if x & 3 == 0 { f32::NAN } else { (x >> 29) as f32 * 0.0 },
            &[f32::NAN, 0.0, f32::NEG_INFINITY],
        );
    }
}
