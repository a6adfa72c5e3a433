//! One number of each row.

use std::ops::Range;

use kaldera_base::Real;
use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Lanes, MAX_LANES, Simd, dispatch};

use super::sort::SortKernels;

/// The rows between splits.
#[inline(always)]
pub(crate) fn rows_of(splits: &[i32]) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    splits.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
}

/// Reductions of rows for one type of number.
pub trait RowKernels: SortKernels {
    /// `initial` plus the sum of each row.
    fn sum_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [Self]);
    /// The highest of `initial` and each row; NaN is passed over.
    fn max_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [Self]);
    /// The lowest of `initial` and each row; NaN is passed over.
    fn min_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [Self]);
    /// The position among all values of the last one that is the highest of its row, -1 if none is at least `initial`.
    fn argmax_rows(splits: &[i32], values: &[Self], initial: Self, out: &mut [i32]);
}

/// Long rows in sixteen chains, which the compiler makes vectors of.
#[inline(always)]
fn fold<T: Copy>(row: &[T], initial: T, neutral: T, op: impl Fn(T, T) -> T) -> T {
    const CHAINS: usize = 16;
    if row.len() < 2 * CHAINS {
        return row.iter().fold(initial, |a, &x| op(a, x));
    }
    let (blocks, rest) = row.as_chunks::<CHAINS>();
    let mut chains = [neutral; CHAINS];
    for block in blocks {
        chains.iter_mut().zip(block).for_each(|(a, &x)| *a = op(*a, x));
    }
    chains.iter().chain(rest).fold(initial, |a, &x| op(a, x))
}

#[inline(always)]
fn fold_rows<T: Copy>(
    splits: &[i32],
    values: &[T],
    initial: T,
    neutral: T,
    out: &mut [T],
    op: impl Fn(T, T) -> T + Copy,
) {
    for (out, row) in out.iter_mut().zip(rows_of(splits)) {
        *out = fold(&values[row], initial, neutral, op);
    }
}

/// [`argmax_row`](RowKernels::argmax_rows) as a loop that one would write.
fn argmax_row<T: Copy + PartialOrd>(row: &[T], first: usize, initial: T) -> i32 {
    let mut best = (initial, -1);
    for (i, &x) in row.iter().enumerate() {
        if x >= best.0 {
            best = (x, (first + i) as i32);
        }
    }
    best.1
}

/// The last positions of what is known to be the `highest` of each row and the initial value.
struct LastOf<'a, T> {
    splits: &'a [i32],
    values: &'a [T],
    highest: &'a [T],
    out: &'a mut [i32],
}

impl<T: Copy + PartialEq> Kernel for LastOf<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for ((out, row), &highest) in self.out.iter_mut().zip(rows_of(self.splits)).zip(self.highest) {
            let first = row.start;
            *out = last_of(&self.values[row], highest).map_or(-1, |i| (first + i) as i32);
        }
    }
}

/// Where `row` has `x` for the last time: block by block, whose comparisons are vectors.
#[inline(always)]
fn last_of<T: Copy + PartialEq>(row: &[T], x: T) -> Option<usize> {
    const BLOCK: usize = 64;
    let (rest, blocks) = row.as_rchunks::<BLOCK>();
    for (i, block) in blocks.iter().enumerate().rev() {
        let here = block.iter().enumerate().fold(0, |here, (i, &y)| here | u64::from(y == x) << i);
        if here != 0 {
            return Some(rest.len() + i * BLOCK + here.ilog2() as usize);
        }
    }
    rest.iter().rposition(|&y| y == x)
}

/// [`LastOf`] vector by vector.
struct LastInts<'a> {
    splits: &'a [i32],
    values: &'a [i32],
    highest: &'a [i32],
    out: &'a mut [i32],
}

impl Kernel for LastInts<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for ((out, row), &highest) in self.out.iter_mut().zip(rows_of(self.splits)).zip(self.highest) {
            let first = row.start;
            let row = &self.values[row];
            let wanted = s.splat_u32(highest.cast_unsigned());
            // What lies beyond the end is not what is looked for.
            let other = s.splat_u32(!highest.cast_unsigned());
            let all = (1 << S::LANES) - 1;
            let here = |part: &[i32]| !s.not_equal_u32(s.load_partial_i32(part, other), wanted) & all;
            // All of the row, as the end of a search is guessed wrong.
            let vectors = row.chunks_exact(S::LANES);
            let last = (vectors.len(), here(vectors.remainder()));
            let later = |before, (i, part)| match here(part) {
                0 => before,
                here => (i, here),
            };
            let before = vectors.enumerate().fold((0, 0), later);
            let (i, here) = if last.1 == 0 { before } else { last };
            *out = here.checked_ilog2().map_or(-1, |lane| (first + i * S::LANES + lane as usize) as i32);
        }
    }
}

/// [`RowKernels::argmax_rows`] in two goes over rows that are in the first cache by then: the highest of each, and where it is.
///
/// NaN is no row's highest, and if the initial value is higher than all of a row, or NaN, it is nowhere.
fn argmax_by_max<T: RowKernels + Copy + PartialEq>(splits: &[i32], values: &[T], initial: T, out: &mut [i32]) {
    let find = |splits: &[i32], highest: &[T], out: &mut [i32]| dispatch(LastOf { splits, values, highest, out });
    argmax_by(splits, values, initial, out, find);
}

/// [`argmax_by_max`], where `find` looks for the highest values.
fn argmax_by<T: RowKernels + Copy>(
    splits: &[i32],
    values: &[T],
    initial: T,
    out: &mut [i32],
    find: impl Fn(&[i32], &[T], &mut [i32]),
) {
    /// Rows of a go at most.
    const ROWS: usize = 64;
    /// Bytes of a go, but for its last row.
    const BYTES: usize = 16 << 10;
    let mut highest = [initial; ROWS];
    let mut done = 0;
    while done < out.len() {
        let ends = &splits[done + 1..];
        let begin = splits[done];
        let bytes = |&&end: &&i32| (end - begin) as usize * size_of::<T>() <= BYTES;
        let rows = ends.iter().take(ROWS).take_while(bytes).count().max(1);
        let splits = &splits[done..=done + rows];
        let highest = &mut highest[..rows];
        T::max_rows(splits, values, initial, highest);
        find(splits, highest, &mut out[done..done + rows]);
        done += rows;
    }
}

macro_rules! plain_rows {
    ($t:ty, $zero:expr, $plus:expr, $argmax:expr) => {
        impl RowKernels for $t {
            fn sum_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                fold_rows(splits, values, initial, $zero, out, $plus);
            }
            fn max_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                fold_rows(splits, values, initial, initial, out, |a, x| if x > a { x } else { a });
            }
            fn min_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [$t]) {
                fold_rows(splits, values, initial, initial, out, |a, x| if x < a { x } else { a });
            }
            fn argmax_rows(splits: &[i32], values: &[$t], initial: $t, out: &mut [i32]) {
                $argmax(splits, values, initial, out);
            }
        }
    };
}
plain_rows!(i64, 0, i64::wrapping_add, argmax_by_max);
plain_rows!(u8, 0, u8::wrapping_add, argmax_by_max);
plain_rows!(f64, 0.0, |a, x| a + x, argmax_of_reals);

impl RowKernels for i32 {
    fn sum_rows(splits: &[i32], values: &[i32], initial: i32, out: &mut [i32]) {
        dispatch(IntSums { splits, values, initial, out });
    }
    fn max_rows(splits: &[i32], values: &[i32], initial: i32, out: &mut [i32]) {
        dispatch(IntMaxima { splits, values, initial, out });
    }
    fn min_rows(splits: &[i32], values: &[i32], initial: i32, out: &mut [i32]) {
        dispatch(IntMinima { splits, values, initial, out });
    }
    fn argmax_rows(splits: &[i32], values: &[i32], initial: i32, out: &mut [i32]) {
        let find =
            |splits: &[i32], highest: &[i32], out: &mut [i32]| dispatch(LastInts { splits, values, highest, out });
        argmax_by(splits, values, initial, out, find);
    }
}

/// A reduction of rows of `i32`: what it does to lanes, to numbers, and what changes nothing for it.
macro_rules! int_kernel {
    ($name:ident, $lanes:ident, $op:expr, |$initial:ident| $neutral:expr) => {
        struct $name<'a> {
            splits: &'a [i32],
            values: &'a [i32],
            initial: i32,
            out: &'a mut [i32],
        }

        impl Kernel for $name<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, s: S) {
                let Self { splits, values, initial: $initial, out } = self;
                let neutral = s.splat_u32($neutral.cast_unsigned());
                for (out, row) in out.iter_mut().zip(rows_of(splits)) {
                    let row = &values[row];
                    let (first, rest) = row.split_at(S::LANES.min(row.len()));
                    let (second, rest) = rest.split_at(S::LANES.min(rest.len()));
                    let mut a = s.$lanes(s.load_partial_i32(first, neutral), s.load_partial_i32(second, neutral));
                    if !rest.is_empty() {
                        // As in `fold_lanes`.
                        let mut b = neutral;
                        let mut vectors = rest.chunks_exact(S::LANES);
                        for vector in &mut vectors {
                            (a, b) = (s.$lanes(s.load_partial_i32(vector, neutral), b), a);
                        }
                        a = s.$lanes(s.load_partial_i32(vectors.remainder(), neutral), s.$lanes(a, b));
                    }
                    let mut lanes = [0; MAX_LANES];
                    s.store_partial_i32(a, &mut lanes);
                    *out = lanes[..S::LANES].iter().fold($initial, |a, &x| $op(a, x));
                }
            }
        }
    };
}
int_kernel!(IntSums, add_u32, i32::wrapping_add, |initial| 0_i32);
int_kernel!(IntMaxima, max_i32, i32::max, |initial| initial);
int_kernel!(IntMinima, min_i32, i32::min, |initial| initial);

impl RowKernels for f32 {
    fn sum_rows(splits: &[i32], values: &[f32], initial: f32, out: &mut [f32]) {
        dispatch(SumRows { splits, values, initial, out });
    }
    fn max_rows(splits: &[i32], values: &[f32], initial: f32, out: &mut [f32]) {
        dispatch(MaxRows { splits, values, initial, out });
    }
    fn min_rows(splits: &[i32], values: &[f32], initial: f32, out: &mut [f32]) {
        dispatch(MinRows { splits, values, initial, out });
    }
    fn argmax_rows(splits: &[i32], values: &[f32], initial: f32, out: &mut [i32]) {
        argmax_of_reals(splits, values, initial, out);
    }
}

/// `op` of lanes and the values of a row that fall on them; each call is `op(new, so far)`, from `neutral` on.
#[inline(always)]
pub(super) fn fold_lanes<S: Simd>(s: S, row: &[f32], neutral: S::F32, op: impl Fn(S::F32, S::F32) -> S::F32) -> S::F32 {
    let (first, rest) = row.split_at(S::LANES.min(row.len()));
    let (second, rest) = rest.split_at(S::LANES.min(rest.len()));
    let mut a = op(s.load_partial(second, neutral), op(s.load_partial(first, neutral), neutral));
    if !rest.is_empty() {
        // One loop, whose end is guessed wrong once for each row, and a last vector without a branch of its own.
        let mut b = neutral;
        let mut vectors = rest.chunks_exact(S::LANES);
        for vector in &mut vectors {
            (a, b) = (op(s.load(vector), b), a);
        }
        a = op(s.load_partial(vectors.remainder(), neutral), op(b, a));
    }
    a
}

/// The highest value of a row and `initial`.
#[inline(always)]
pub(super) fn max_of_row<S: Simd>(s: S, row: &[f32], initial: f32) -> f32 {
    s.max_lane(fold_lanes(s, row, s.splat(initial), |x, a| s.max(x, a)))
}

/// The sum of a row.
#[inline(always)]
pub(super) fn sum_of_row<S: Simd>(s: S, row: &[f32]) -> f32 {
    s.sum(fold_lanes(s, row, s.splat(0.0), |x, a| s.add(x, a)))
}

macro_rules! row_kernel {
    ($name:ident, $out:ty, |$s:ident, $values:ident, $row:ident, $initial:ident| $e:expr) => {
        struct $name<'a> {
            splits: &'a [i32],
            values: &'a [f32],
            initial: f32,
            out: &'a mut [$out],
        }

        impl Kernel for $name<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, $s: S) {
                let Self { splits, values: $values, initial: $initial, out } = self;
                for (out, $row) in out.iter_mut().zip(rows_of(splits)) {
                    *out = $e;
                }
            }
        }
    };
}
row_kernel!(SumRows, f32, |s, values, row, initial| initial + sum_of_row(s, &values[row]));
row_kernel!(MaxRows, f32, |s, values, row, initial| max_of_row(s, &values[row], initial));
row_kernel!(MinRows, f32, |s, values, row, initial| {
    let negate = |v| s.of_bits(s.xor_u32(s.bits_of(v), s.splat_u32(1 << 31)));
    let lowest = fold_lanes(s, &values[row], s.splat(initial), |x, a| s.min(x, a));
    -s.max_lane(negate(lowest))
});

/// [`RowKernels::argmax_rows`] for `f32` and `f64`.
fn argmax_of_reals<T: Real>(splits: &[i32], values: &[T], initial: T, out: &mut [i32]) {
    dispatch(ArgmaxRows { splits, values, initial, out });
}

struct ArgmaxRows<'a, T> {
    splits: &'a [i32],
    values: &'a [T],
    initial: T,
    out: &'a mut [i32],
}

impl<T: Real> Kernel for ArgmaxRows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { splits, values, initial, out } = self;
        for (out, row) in out.iter_mut().zip(rows_of(splits)) {
            let first = row.start;
            let soon = values.get(row.start + SOON..).unwrap_or_default();
            let row = &values[row];
            // Positions count in floats, exactly.
            *out = match row.len() > 1 << 24 {
                true => argmax_row(row, first, initial),
                false => last_highest(T::lanes(s), row, first, initial, soon),
            };
        }
    }
}

/// Values ahead of those that are compared which are asked for: the processor itself looks no further than a page of 4 KiB.
const SOON: usize = 2048;

/// [`argmax_row`] in one go over a row of up to 2^24 values: each lane keeps the last of its highest values and where it was.
#[inline(always)]
fn last_highest<T: Real, L: Lanes<T>>(s: L, row: &[T], first: usize, initial: T, soon: &[T]) -> i32 {
    let take = |best: (L::Vector, L::Vector), x, position| (s.max(x, best.0), s.select_le(best.0, x, position, best.1));
    // NaN is not higher than anything.
    let nan = s.splat(T::from_f64(f64::NAN));
    let lanes: [T; MAX_LANES] = std::array::from_fn(|i| T::from_f64(i as f64));
    let lanes = s.load(&lanes);
    let step = s.splat(T::from_f64(L::LANES as f64));
    let nowhere = s.splat(-T::ONE);
    let none = (s.splat(initial), nowhere);

    let (head, rest) = row.split_at(L::LANES.min(row.len()));
    let (second, rest) = rest.split_at(L::LANES.min(rest.len()));
    let mut a = take(none, s.load_partial(head, nan), lanes);
    let mut position = s.add(lanes, step);
    a = take(a, s.load_partial(second, nan), position);
    if !rest.is_empty() {
        // Two chains, as in `fold_lanes`: the one that is older takes the next vector.
        let mut b = none;
        let mut vectors = rest.chunks_exact(L::LANES);
        memory::prefetch(soon, 0);
        memory::prefetch(soon, L::LANES);
        for (i, vector) in (&mut vectors).enumerate() {
            memory::prefetch(soon, (2 + i) * L::LANES);
            position = s.add(position, step);
            (a, b) = (take(b, s.load(vector), position), a);
        }
        position = s.add(position, step);
        b = take(b, s.load_partial(vectors.remainder(), nan), position);
        // The chain with the higher value in a lane has its position, the later one if both have that value.
        let (low, high) = (s.select_lt(a.0, b.0, nowhere, a.1), s.select_lt(b.0, a.0, nowhere, b.1));
        a = (s.max(a.0, b.0), s.max(low, high));
    }
    let highest = s.splat(s.max_lane(a.0));
    let position = s.max_lane(s.select_lt(a.0, highest, nowhere, a.1)).to_f64();
    if position < 0.0 { -1 } else { (first + position as usize) as i32 }
}

#[cfg(test)]
mod tests {
    use kaldera_base::simd::{available, dispatch_at};

    use super::*;

    /// Small whole numbers, whose sums are exact in any order, with a NaN now and then.
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
        let ints: Vec<i32> = values.iter().map(|&x| (x as i32).wrapping_mul(0x0765_4321)).collect();
        for level in available() {
            for initial in [0, -7, i32::MIN, i32::MAX] {
                let check = |name: &str, got: &[i32], f: fn(i32, i32) -> i32| {
                    for (row, &got) in rows_of(&splits).zip(got) {
                        let expected = ints[row.clone()].iter().fold(initial, |a, &x| f(a, x));
                        assert_eq!(got, expected, "{name} {level} {initial} {row:?}");
                    }
                };
                let out = &mut vec![5; 300];
                dispatch_at(level, IntSums { splits: &splits, values: &ints, initial, out });
                check("sum", out, i32::wrapping_add);
                dispatch_at(level, IntMaxima { splits: &splits, values: &ints, initial, out });
                check("max", out, i32::max);
                dispatch_at(level, IntMinima { splits: &splits, values: &ints, initial, out });
                check("min", out, i32::min);
            }
        }
        (0..values.len()).step_by(5).for_each(|i| values[i] = f32::NAN);
        (2..values.len()).step_by(7).for_each(|i| values[i] = f32::NEG_INFINITY);
        for level in available() {
            for initial in [-5.0, f32::MIN, f32::NEG_INFINITY, 40.0] {
                let out = &mut vec![7; 300];
                let expected: Vec<i32> =
                    rows_of(&splits).map(|row| argmax_row(&values[row.clone()], row.start, initial)).collect();
                dispatch_at(level, ArgmaxRows { splits: &splits, values: &values, initial, out });
                assert_eq!(*out, expected, "{level} {initial}");
                let wide: Vec<f64> = values.iter().map(|&x| x.into()).collect();
                dispatch_at(level, ArgmaxRows { splits: &splits, values: &wide, initial: initial.into(), out });
                assert_eq!(*out, expected, "f64, {level} {initial}");
                let out = &mut vec![0.0; 300];
                dispatch_at(level, MaxRows { splits: &splits, values: &values, initial, out });
                for (row, &got) in rows_of(&splits).zip(&*out) {
                    assert_eq!(got, values[row].iter().fold(initial, |a, &x| a.max(x)), "{level}");
                }
            }
        }
    }

    /// The last highest of each row of few different numbers, and of numbers that are all different.
    fn check_argmax<T: RowKernels + Copy + PartialOrd + std::fmt::Debug>(numbers: impl Fn(i32) -> T, initials: &[T]) {
        let splits = rows().0;
        let values: Vec<T> = (0..splits[300]).map(|i| numbers(i.wrapping_mul(0x9E37_79B9_u32.cast_signed()))).collect();
        for &initial in initials {
            let out = &mut vec![7; 300];
            T::argmax_rows(&splits, &values, initial, out);
            for (row, &got) in rows_of(&splits).zip(&*out) {
                assert_eq!(got, argmax_row(&values[row.clone()], row.start, initial), "{initial:?} {row:?}");
            }
        }
    }

    #[test]
    fn the_last_of_the_highest_is_found() {
        check_argmax(|x| x, &[i32::MIN, 0, i32::MAX]);
        check_argmax(|x| x >> 29, &[i32::MIN, -4, 3, 4]);
        check_argmax(|x| i64::from(x) << 30, &[i64::MIN, 0, i64::MAX]);
        check_argmax(|x| i64::from(x >> 30), &[i64::MIN, 1, 2]);
        check_argmax(|x| (x >> 20) as u8, &[0, 200, 255]);
        check_argmax(|x| (x >> 30) as u8 & 1, &[0, 1, 2]);
        check_argmax(|x| f64::from(x >> 30) * 0.0, &[0.0, -0.0, f64::NAN, f64::MIN]);
        check_argmax(|x| if x & 3 == 0 { f64::NAN } else { f64::from(x) }, &[f64::NEG_INFINITY, 5.0]);
        check_argmax(
            |x| if x & 3 == 0 { f32::NAN } else { (x >> 29) as f32 * 0.0 },
            &[f32::NAN, 0.0, f32::NEG_INFINITY],
        );
    }

    #[test]
    fn every_instruction_set_finds_the_last() {
        let splits = rows().0;
        let values: Vec<i32> = (0..splits[300]).map(|i| i.wrapping_mul(0x9E37_79B9_u32.cast_signed()) >> 29).collect();
        for (level, highest) in available().flat_map(|level| [-4, 0, 3, i32::MAX].map(|highest| (level, highest))) {
            let (ints, any) = (&mut vec![7; 300], &mut vec![7; 300]);
            let highest = &vec![highest; 300];
            dispatch_at(level, LastInts { splits: &splits, values: &values, highest, out: ints });
            dispatch_at(level, LastOf { splits: &splits, values: &values, highest, out: any });
            let last = |row: Range<usize>| {
                values[row.clone()].iter().rposition(|x| x == &highest[0]).map_or(-1, |i| (row.start + i) as i32)
            };
            let expected: Vec<i32> = rows_of(&splits).map(last).collect();
            assert_eq!((&*ints, &*any), (&expected, &expected), "{level} {}", highest[0]);
        }
    }
}
