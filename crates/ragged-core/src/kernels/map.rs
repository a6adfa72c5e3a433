//! One value for each value of a row, from it and one number of the row, or from those before it.

use kaldera_base::Real;
use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Simd, dispatch};

use super::collect::{AHEAD, Room, collect_rows};
use super::reduce::{SOON, rows_of, sum_of_row};

/// `op` of each value of each row and the number that `numbers` has for the row.
pub(crate) fn combine_rows<T: Copy + Send + Sync>(
    splits: &[i32],
    values: &[T],
    numbers: &[T],
    op: impl Fn(T, T) -> T + Copy + Sync,
) -> Vec<T> {
    collect_rows(splits, |first_row, splits, room| {
        dispatch(Combine { splits, values, numbers: &numbers[first_row..], op, room });
    })
}

struct Combine<'a, 'r, T, F> {
    splits: &'a [i32],
    values: &'a [T],
    numbers: &'a [T],
    op: F,
    room: &'a mut Room<'r, T>,
}

impl<T: Copy, F: Fn(T, T) -> T> Kernel for Combine<'_, '_, T, F> {
    type Output = ();

    /// With the instruction set as it is: the compiler makes its vectors of the rows.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { splits, values, numbers, op, room } = self;
        for (row, &number) in rows_of(splits).zip(numbers) {
            room.append_map::<AHEAD, T>(&values[row.start..], row.len(), |&x| op(x, number));
        }
    }
}

/// Each value of each row divided by the sum of the row.
pub(crate) fn share_rows<T: Real>(splits: &[i32], values: &[T]) -> Vec<T> {
    collect_rows(splits, |_, splits, room| dispatch(Share { splits, values, room }))
}

struct Share<'a, 'r, T> {
    splits: &'a [i32],
    values: &'a [T],
    room: &'a mut Room<'r, T>,
}

impl<T: Real> Kernel for Share<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        /// Values that are divided without a branch on the length of a row: divisions take longer than a few wrong guesses.
        const FEW: usize = 16;
        let Self { splits, values, room } = self;
        for row in rows_of(splits) {
            let sum = T::ZERO + sum_of_row(T::lanes(s), &values[row.start..row.end]);
            room.append_map::<FEW, T>(&values[row.start..], row.len(), |&x| x / sum);
        }
    }
}

/// In place of each value, the sum of those before it in its row, or of those behind it if `BACKWARDS`; added up one by one from `zero` on.
pub(crate) fn scan_rows<T: Copy + Send + Sync, const BACKWARDS: bool>(
    splits: &[i32],
    values: &[T],
    zero: T,
    plus: impl Fn(T, T) -> T + Copy + Sync,
) -> Vec<T> {
    /// Rows that are added up side by side: in one, each sum waits for the one before.
    const ROWS: usize = 4;
    /// Values of a row, in the mean, from which on that is worth it.
    const LONG: usize = 32;
    collect_rows(splits, |_, splits, room| {
        let rows = splits.len() - 1;
        let mut splits = splits;
        if (splits[rows] - splits[0]) as usize >= LONG * rows {
            while let Some(ends) = splits.first_chunk::<{ ROWS + 1 }>() {
                let rows: [&[T]; ROWS] = std::array::from_fn(|i| &values[ends[i] as usize..ends[i + 1] as usize]);
                ask(rows[0].as_ptr(), ends[ROWS] - ends[0]);
                room.append_scans::<ROWS, BACKWARDS>(rows, zero, plus);
                splits = &splits[ROWS..];
            }
        }
        for row in rows_of(splits) {
            room.append_scans::<1, BACKWARDS>([&values[row]], zero, plus);
        }
    })
}

/// Asks for as many values as begin there, ahead of them.
#[inline(always)]
fn ask<T>(values: *const T, len: i32) {
    const LINE: usize = 64;
    let soon = values.wrapping_byte_add(SOON);
    for at in (0..len as usize * size_of::<T>()).step_by(LINE) {
        memory::prefetch_at(soon.wrapping_byte_add(at));
    }
}
