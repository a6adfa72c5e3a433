//! Reductions of rows of integers, of any width, to one number.

use kaldera_base::memory;
use kaldera_base::simd::{Int, Integers, Kernel, Simd, dispatch};

use crate::kernels::reduce::{PREFETCH_DISTANCE, RowKernels};
use crate::kernels::rows::rows_of;

/// Runs a kernel with as many vectors [together](fold_row) as most rows have.
macro_rules! over {
    ($kernel:ident { $splits:ident, $values:ident, $initial:ident, $out:ident }) => {
        match vectors_of($splits, $values) {
            0..=1 => dispatch($kernel::<_, FEW> { $splits, $values, $initial, $out }),
            2..=4 => dispatch($kernel::<_, SOME> { $splits, $values, $initial, $out }),
            _ => dispatch($kernel::<_, MANY> { $splits, $values, $initial, $out }),
        }
    };
}

macro_rules! integer_rows {
    ($t:ty) => {
        impl RowKernels for $t {
            fn sum_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                over!(Sums { splits, values, initial, out });
            }
            fn max_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                over!(Maxima { splits, values, initial, out });
            }
            fn min_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                over!(Minima { splits, values, initial, out });
            }
            fn argmax_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [i32]) {
                over!(Argmaxima { splits, values, initial, out });
            }
            fn argmin_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [i32]) {
                over!(Argminima { splits, values, initial, out });
            }
        }
    };
}
integer_rows!(u8);
integer_rows!(i32);
integer_rows!(i64);

/// Computes the bits that `initial` and all values of each row have.
pub(crate) fn and_rows<T: Int>(splits: &[i32], values: &[T], initial: T, out: &mut [T]) {
    over!(Ands { splits, values, initial, out });
}

/// Computes the bits that `initial` or any value of each row has.
pub(crate) fn or_rows<T: Int>(splits: &[i32], values: &[T], initial: T, out: &mut [T]) {
    over!(Ors { splits, values, initial, out });
}

/// Defines a kernel that computes one number of each row, which begins at a position, and an
/// initial value, both of one type.
macro_rules! row_kernel {
    ($name:ident -> $out:ty, |$s:ident, $row:ident, $begin:pat_param, $initial:ident| $e:expr) => {
        struct $name<'a, T, const TOGETHER: usize> {
            splits: &'a [i32],
            values: &'a [T],
            initial: T,
            out: &'a mut [$out],
        }

        impl<T: Int, const TOGETHER: usize> Kernel for $name<'_, T, TOGETHER> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, s: S) {
                let Self { splits, values, initial: $initial, out } = self;
                let $s = T::lanes(s);
                for (out, row) in out.iter_mut().zip(rows_of(splits)) {
                    let ($begin, $row) = (row.start, &values[row]);
                    *out = $e;
                }
            }
        }
    };
}
// Only in a sum does the number of occurrences of the initial value matter.
row_kernel!(Sums -> T, |s, row, _, initial| {
    let sum = fold_row::<T, _, TOGETHER>(s, row, T::default(), |a, b| s.add(a, b));
    s.fold(s.add(sum, s.load_partial(&[initial], s.splat(T::default()))), |a, b| s.add(a, b))
});
row_kernel!(Maxima -> T, |s, row, _, initial| best_of_row::<T, _, TOGETHER, false>(s, row, initial));
row_kernel!(Minima -> T, |s, row, _, initial| best_of_row::<T, _, TOGETHER, true>(s, row, initial));
row_kernel!(Ands -> T, |s, row, _, initial| {
    s.fold(fold_row::<T, _, TOGETHER>(s, row, initial, |a, b| s.and(a, b)), |a, b| s.and(a, b))
});
row_kernel!(Ors -> T, |s, row, _, initial| {
    s.fold(fold_row::<T, _, TOGETHER>(s, row, initial, |a, b| s.or(a, b)), |a, b| s.or(a, b))
});
row_kernel!(Argmaxima -> i32, |s, row, begin, initial| {
    last_of_best::<T, _, TOGETHER, false>(s, row, initial).map_or(-1, |i| (begin + i) as i32)
});
row_kernel!(Argminima -> i32, |s, row, begin, initial| {
    last_of_best::<T, _, TOGETHER, true>(s, row, initial).map_or(-1, |i| (begin + i) as i32)
});

/// Number of vectors of a row that are read without a branch on its length, for short, longer and
/// long rows.
const FEW: usize = 2;
const SOME: usize = 4;
const MANY: usize = 8;

/// Returns the mean number of the widest vectors in a row, rounded up.
fn vectors_of<T>(splits: &[i32], _: &[T]) -> usize {
    const VECTOR: usize = 64;
    let rows = splits.len() - 1;
    ((splits[rows] - splits[0]) as usize * size_of::<T>()).div_ceil(VECTOR * rows.max(1))
}

/// Applies `op` to lanes and the values of a row in these lanes, from `neutral` on.
#[inline(always)]
fn fold_row<T: Int, L: Integers<T>, const TOGETHER: usize>(
    s: L,
    row: &[T],
    neutral: T,
    op: impl Fn(L::Vector, L::Vector) -> L::Vector,
) -> L::Vector {
    let ahead = row.as_ptr().wrapping_byte_add(PREFETCH_DISTANCE);
    let neutral = s.splat(neutral);
    let (mut a, mut b) = (neutral, neutral);
    let mut rest = row;
    let together = if L::MASKS { TOGETHER } else { 0 };
    for i in 0..together {
        memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
        let part;
        (part, rest) = rest.split_at(L::LANES.min(rest.len()));
        (a, b) = (op(s.load_partial(part, neutral), b), a);
    }
    if !rest.is_empty() {
        let mut vectors = rest.chunks_exact(L::LANES);
        for (i, vector) in (together..).zip(&mut vectors) {
            memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
            (a, b) = (op(s.load(vector), b), a);
        }
        a = op(s.load_partial(vectors.remainder(), neutral), a);
    }
    op(a, b)
}

/// Returns the higher of lanes, or the lower if `LOWEST`.
#[inline(always)]
fn better<T: Int, L: Integers<T>, const LOWEST: bool>(s: L, a: L::Vector, b: L::Vector) -> L::Vector {
    if LOWEST { s.min(a, b) } else { s.max(a, b) }
}

/// Returns `yes` if a is as good as b, or better.
#[inline(always)]
fn select_good<T: Int, L: Integers<T>, const LOWEST: bool>(
    s: L,
    [a, b]: [L::Vector; 2],
    yes: L::Vector,
    no: L::Vector,
) -> L::Vector {
    if LOWEST { s.select_le(a, b, yes, no) } else { s.select_le(b, a, yes, no) }
}

#[inline(always)]
fn best_of_row<T: Int, L: Integers<T>, const TOGETHER: usize, const LOWEST: bool>(s: L, row: &[T], initial: T) -> T {
    let better = |a, b| better::<T, L, LOWEST>(s, a, b);
    s.fold(fold_row::<T, _, TOGETHER>(s, row, initial, better), better)
}

/// Returns the last position of the highest value of `row`, or the lowest if `LOWEST`, if no
/// initial value is beyond it.
#[inline(always)]
fn last_of_best<T: Int, L: Integers<T>, const TOGETHER: usize, const LOWEST: bool>(
    s: L,
    row: &[T],
    initial: T,
) -> Option<usize> {
    /// Number of vectors that can be numbered from 1 in any type.
    const MOST: usize = 254;
    if !L::MASKS {
        let best = best_of_row::<T, L, TOGETHER, LOWEST>(s, row, initial);
        return row.iter().rposition(|&x| x == best);
    }
    if TOGETHER == FEW {
        let best = best_of_row::<T, L, TOGETHER, LOWEST>(s, row, initial);
        return last_of::<T, L, TOGETHER>(s, row, best);
    }
    let (mut best, mut last) = (initial, None);
    for (i, part) in row.chunks(MOST * L::LANES).enumerate() {
        let position;
        (best, position) = last_of_part::<T, L, TOGETHER, LOWEST>(s, part, best);
        last = position.map(|position| i * MOST * L::LANES + position).or(last);
    }
    last
}

/// Returns the last position of `x` in a row, which mostly has few vectors: another pass over these
/// takes less time than keeping their numbers.
#[inline(always)]
fn last_of<T: Int, L: Integers<T>, const TOGETHER: usize>(s: L, row: &[T], x: T) -> Option<usize> {
    let x = s.splat(x);
    // One more than its position.
    let mut last = 0;
    let mut look = |begin: usize, part: &[T]| {
        let same = s.equal_partial(part, x);
        last = if same == 0 { last } else { begin + (64 - same.leading_zeros()) as usize };
    };
    let mut rest = row;
    for i in 0..TOGETHER {
        let part;
        (part, rest) = rest.split_at(L::LANES.min(rest.len()));
        look(i * L::LANES, part);
    }
    for (i, part) in (TOGETHER..).zip(rest.chunks(L::LANES)) {
        look(i * L::LANES, part);
    }
    last.checked_sub(1)
}

/// Returns the best of the initial value and a part of a row, which is not empty, and its last
/// position there.
///
/// In one pass: each lane keeps the best of its values, and the number of the last vector that had
/// it.
#[inline(always)]
fn last_of_part<T: Int, L: Integers<T>, const TOGETHER: usize, const LOWEST: bool>(
    s: L,
    row: &[T],
    initial: T,
) -> (T, Option<usize>) {
    let worst = if LOWEST { T::MAX } else { T::MIN };
    let (none, one, filler) = (s.splat(T::default()), s.splat(T::from(1)), s.splat(worst));
    let ahead = row.as_ptr().wrapping_byte_add(PREFETCH_DISTANCE);
    let (mut best, mut last, mut number) = (s.splat(initial), none, one);
    let mut take = |x| {
        last = select_good::<T, L, LOWEST>(s, [x, best], number, last);
        best = better::<T, L, LOWEST>(s, x, best);
        number = s.add(number, one);
    };
    let mut rest = row;
    for i in 0..TOGETHER {
        memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
        let part;
        (part, rest) = rest.split_at(L::LANES.min(rest.len()));
        take(s.load_partial(part, filler));
    }
    if !rest.is_empty() {
        let mut vectors = rest.chunks_exact(L::LANES);
        for (i, vector) in (TOGETHER..).zip(&mut vectors) {
            memory::prefetch_at(ahead.wrapping_add(i * L::LANES));
            take(s.load(vector));
        }
        take(s.load_partial(vectors.remainder(), filler));
    }
    let best_of_all = s.fold(best, |a, b| better::<T, L, LOWEST>(s, a, b));
    if best_of_all == worst {
        // Unused lanes have it too; all others have it.
        return (worst, Some(row.len() - 1));
    }
    let last = select_good::<T, L, LOWEST>(s, [best, s.splat(best_of_all)], last, none);
    let number = s.fold(last, |a, b| s.max(a, b));
    let lane = 63 - s.equal(last, s.splat(number)).leading_zeros();
    let vectors_before: i64 = number.into() - 1;
    (best_of_all, usize::try_from(vectors_before).ok().map(|before| before * L::LANES + lane as usize))
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use kaldera_base::simd::{Level, available, dispatch_at};
    use proptest::prelude::*;

    use super::*;

    /// Computes `f` of each row in a loop.
    fn naive<T: Int, U>(splits: &[i32], values: &[T], f: impl Fn(usize, &[T]) -> U) -> Vec<U> {
        rows_of(splits).map(|row| f(row.start, &values[row])).collect()
    }

    /// The operations on two numbers.
    trait Ops: Int {
        fn plus(self, other: Self) -> Self;
        fn both(self, other: Self) -> Self;
        fn either(self, other: Self) -> Self;
        fn of_bits(bits: i64) -> Self;
    }

    macro_rules! ops {
        ($t:ty) => {
            impl Ops for $t {
                fn plus(self, other: Self) -> Self {
                    self.wrapping_add(other)
                }
                fn both(self, other: Self) -> Self {
                    self & other
                }
                fn either(self, other: Self) -> Self {
                    self | other
                }
                fn of_bits(bits: i64) -> Self {
                    bits as $t
                }
            }
        };
    }
    ops!(u8);
    ops!(i32);
    ops!(i64);

    fn check_at<T: Ops + Debug, const TOGETHER: usize>(level: Level, splits: &[i32], values: &[T], initial: T) {
        let out = &mut vec![initial; splits.len() - 1];
        let fold = |f: fn(T, T) -> T| naive(splits, values, |_, row| row.iter().fold(initial, |a, &x| f(a, x)));
        dispatch_at(level, Sums::<_, TOGETHER> { splits, values, initial, out });
        assert_eq!(*out, fold(T::plus), "sums, {level}");
        dispatch_at(level, Maxima::<_, TOGETHER> { splits, values, initial, out });
        assert_eq!(*out, fold(T::max), "maxima, {level}");
        dispatch_at(level, Minima::<_, TOGETHER> { splits, values, initial, out });
        assert_eq!(*out, fold(T::min), "minima, {level}");
        dispatch_at(level, Ands::<_, TOGETHER> { splits, values, initial, out });
        assert_eq!(*out, fold(T::both), "and, {level}");
        dispatch_at(level, Ors::<_, TOGETHER> { splits, values, initial, out });
        assert_eq!(*out, fold(T::either), "or, {level}");
        let out = &mut vec![7; splits.len() - 1];
        dispatch_at(level, Argmaxima::<_, TOGETHER> { splits, values, initial, out });
        let last = |first, row: &[T]| {
            let highest = row.iter().fold(initial, |a, &x| a.max(x));
            row.iter().rposition(|&x| x == highest).map_or(-1, |i| (first + i) as i32)
        };
        assert_eq!(*out, naive(splits, values, last), "argmax, {level}");
        dispatch_at(level, Argminima::<_, TOGETHER> { splits, values, initial, out });
        let last = |first, row: &[T]| {
            let lowest = row.iter().fold(initial, |a, &x| a.min(x));
            row.iter().rposition(|&x| x == lowest).map_or(-1, |i| (first + i) as i32)
        };
        assert_eq!(*out, naive(splits, values, last), "argmin, {level}");
    }

    fn check<T: Ops + Debug>(splits: &[i32], bits: &[i64], initial: i64) {
        let values: Vec<T> = bits.iter().map(|&x| T::of_bits(x)).collect();
        for level in available() {
            check_at::<T, FEW>(level, splits, &values, T::of_bits(initial));
            check_at::<T, SOME>(level, splits, &values, T::of_bits(initial));
            check_at::<T, MANY>(level, splits, &values, T::of_bits(initial));
        }
    }

    fn splits(first: i32, lengths: &[i32]) -> Vec<i32> {
        let ends = lengths.iter().scan(first, |end, len| {
            *end += len;
            Some(*end)
        });
        std::iter::once(first).chain(ends).collect()
    }

    #[test]
    fn rows_of_any_length_are_reduced() {
        let mut lengths: Vec<i32> = (0..70).collect();
        lengths.extend([
            127,
            0,
            128,
            129,
            255,
            256,
            257,
            0,
            511,
            512,
            513,
            1100,
            254 * 8,
            254 * 64,
            254 * 64 + 1,
            40_000,
        ]);
        let splits = splits(0, &lengths);
        let bits: Vec<i64> =
            (0..i64::from(splits[lengths.len()])).map(|i| i.wrapping_mul(0x1E37_79B9_7F4A_7C15)).collect();
        for initial in [0, -1, i64::MIN, i64::MAX, 77] {
            check::<u8>(&splits, &bits, initial);
            check::<i32>(&splits, &bits, initial);
            check::<i64>(&splits, &bits, initial);
        }
        check::<u8>(&[0], &[], 5);
        check::<i64>(&[3, 3, 3], &[1, 2, 3], 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn argbest_of_ties_and_ends_equals_a_loop(
            first in 0_i32..70,
            lengths in prop::collection::vec(prop_oneof![0_i32..20, 0_i32..300], 1..12),
            few in prop::collection::vec(any::<i64>(), 1..5),
            initial in any::<prop::sample::Index>(),
            seed in any::<u64>(),
        ) {
            let splits = splits(first, &lengths);
            let number = |i: u64| few[((i ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % few.len()];
            let bits: Vec<i64> = (0..splits[lengths.len()] as u64).map(number).collect();
            let initial = *initial.get(&[i64::MIN, 0, few[0], few[0].wrapping_sub(1), i64::MAX]);
            check::<u8>(&splits, &bits, initial);
            check::<i32>(&splits, &bits, initial);
            check::<i64>(&splits, &bits, initial);
        }
    }
}
