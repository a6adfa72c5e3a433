//! One number of each row.

use std::ops::Range;

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, MAX_LANES, Simd, dispatch};

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

fn argmax_row<T: Copy + PartialOrd>(row: &[T], first: usize, initial: T) -> i32 {
    let mut best = (initial, -1);
    for (i, &x) in row.iter().enumerate() {
        if x >= best.0 {
            best = (x, (first + i) as i32);
        }
    }
    best.1
}

macro_rules! plain_rows {
    ($t:ty, $zero:expr, $plus:expr) => {
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
                for (out, row) in out.iter_mut().zip(rows_of(splits)) {
                    *out = argmax_row(&values[row.clone()], row.start, initial);
                }
            }
        }
    };
}
plain_rows!(i64, 0, i64::wrapping_add);
plain_rows!(u8, 0, u8::wrapping_add);
plain_rows!(f64, 0.0, |a, x| a + x);

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
        for (out, row) in out.iter_mut().zip(rows_of(splits)) {
            *out = argmax_row(&values[row.clone()], row.start, initial);
        }
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
                    for part in rest.chunks(S::LANES) {
                        a = s.$lanes(s.load_partial_i32(part, neutral), a);
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
        dispatch(ArgmaxRows { splits, values, initial, out });
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
row_kernel!(ArgmaxRows, i32, |s, values, row, initial| {
    let first = row.start;
    let soon = values.get(row.start + SOON..).unwrap_or_default();
    let row = &values[row];
    // Positions count in floats, exactly.
    if row.len() > 1 << 24 { argmax_row(row, first, initial) } else { last_highest(s, row, first, initial, soon) }
});

/// Values ahead of those that are compared which are asked for: the processor itself looks no further than a page of 4 KiB.
const SOON: usize = 2048;

/// [`argmax_row`] in one go over a row of up to 2^24 values: each lane keeps the last of its highest values and where it was.
#[inline(always)]
fn last_highest<S: Simd>(s: S, row: &[f32], first: usize, initial: f32, soon: &[f32]) -> i32 {
    /// The highest value of each lane so far, and its position.
    type Best<S> = (<S as Simd>::F32, <S as Simd>::F32);
    let take = |best: Best<S>, x, position| (s.max(x, best.0), s.select_le(best.0, x, position, best.1));
    // NaN is not higher than anything.
    let nan = s.splat(f32::NAN);
    let lanes = s.i32_to_f32(s.lane_indexes());
    let step = s.splat(S::LANES as f32);
    let none = (s.splat(initial), s.splat(-1.0));

    let (head, rest) = row.split_at(S::LANES.min(row.len()));
    let (second, rest) = rest.split_at(S::LANES.min(rest.len()));
    let mut a = take(none, s.load_partial(head, nan), lanes);
    let mut position = s.add(lanes, step);
    a = take(a, s.load_partial(second, nan), position);
    if !rest.is_empty() {
        // Two chains, as in `fold_lanes`: the one that is older takes the next vector.
        let mut b = none;
        let mut vectors = rest.chunks_exact(S::LANES);
        memory::prefetch(soon, 0);
        memory::prefetch(soon, S::LANES);
        for (i, vector) in (&mut vectors).enumerate() {
            memory::prefetch(soon, (2 + i) * S::LANES);
            position = s.add(position, step);
            (a, b) = (take(b, s.load(vector), position), a);
        }
        position = s.add(position, step);
        b = take(b, s.load_partial(vectors.remainder(), nan), position);
        // The chain with the higher value in a lane has its position, the later one if both have that value.
        let (low, high) = (s.select_lt(a.0, b.0, s.splat(-1.0), a.1), s.select_lt(b.0, a.0, s.splat(-1.0), b.1));
        a = (s.max(a.0, b.0), s.max(low, high));
    }
    let highest = s.splat(s.max_lane(a.0));
    let position = s.max_lane(s.select_lt(a.0, highest, s.splat(-1.0), a.1));
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
                dispatch_at(level, ArgmaxRows { splits: &splits, values: &values, initial, out });
                for (row, &got) in rows_of(&splits).zip(&*out) {
                    assert_eq!(got, argmax_row(&values[row.clone()], row.start, initial), "{level} {initial} {row:?}");
                }
                let out = &mut vec![0.0; 300];
                dispatch_at(level, MaxRows { splits: &splits, values: &values, initial, out });
                for (row, &got) in rows_of(&splits).zip(&*out) {
                    assert_eq!(got, values[row].iter().fold(initial, |a, &x| a.max(x)), "{level}");
                }
            }
        }
    }
}
