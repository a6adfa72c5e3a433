//! One value for each value of a row, from it and one number of the row, or from the values before
//! it.

use kaldera_base::Real;
use kaldera_base::kernel;
use kaldera_base::simd::{Kernel, Lanes, Simd, dispatch};

use crate::kernels::collect::{AHEAD, FEW, Slot, collect_rows};
use crate::kernels::reduce::sum_of_row;
use crate::kernels::rows::rows_of;

/// Computes `op` of each value of each row and the number that `numbers` has for the row.
pub(crate) fn combine_rows<T: Copy + Send + Sync>(
    splits: &[i32],
    values: &[T],
    numbers: &[T],
    op: impl Fn(T, T) -> T + Copy + Sync,
) -> Vec<T> {
    collect_rows(splits, |first_row, splits, slot| {
        // Keeps the instruction set as it is: the compiler vectorizes the rows.
        dispatch(kernel!(<'a, 's, T: Copy, F: Fn(T, T) -> T>(
            _s: S,
            splits: &'a [i32],
            values: &'a [T],
            numbers: &'a [T] = &numbers[first_row..],
            op: F,
            slot: &'a mut Slot<'s, T>,
        ) {
            for (row, &number) in rows_of(splits).zip(numbers) {
                slot.append_map::<AHEAD, T>(&values[row.start..], row.len(), |&x| op(x, number));
            }
        }));
    })
}

/// Largest number of values that are added up one after the other.
const IN_ORDER: usize = 32;

/// Divides each value of each row by the sum of the row.
pub(crate) fn share_rows<T: Real>(splits: &[i32], values: &[T]) -> Vec<T> {
    collect_rows(splits, |_, splits, slot| {
        dispatch(kernel!(<'a, 's, T: Real>(
            s: S,
            splits: &'a [i32],
            values: &'a [T],
            slot: &'a mut Slot<'s, T>,
        ) {
            for row in rows_of(splits) {
                let sum = match &values[row.clone()] {
                    // In k2's order: if a sum nearly vanishes, rounding is most of it.
                    few if few.len() <= IN_ORDER => sum_in_order(T::lanes(s), few),
                    many => sum_of_row(T::lanes(s), many),
                };
                let sum = sum + T::EPSILON;
                slot.append_map::<FEW, T>(&values[row.start..], row.len(), |&x| x / sum);
            }
        }))
    })
}

/// Returns the sum of values, one after the other: sixteen at a time, with zeros after the last, so
/// that no branch depends on their number.
#[inline(always)]
fn sum_in_order<T: Real, L: Lanes<T>>(s: L, values: &[T]) -> T {
    let mut sum = T::ZERO;
    for mut rest in values.chunks(16) {
        let mut padded = [T::ZERO; 16];
        for to in padded.chunks_exact_mut(L::LANES) {
            let part;
            (part, rest) = rest.split_at(L::LANES.min(rest.len()));
            s.store(s.load_partial(part, s.splat(T::ZERO)), to);
        }
        sum = padded.iter().fold(sum, |sum, &x| sum + x);
    }
    sum
}

/// Repeats the value of `per_row` for each row, as often as the row has elements.
pub(crate) fn repeat_rows<T: Clone + Send + Sync>(splits: &[i32], per_row: &[T]) -> Vec<T> {
    collect_rows(splits, |first_row, splits, slot| {
        dispatch(kernel!(<'a, 's, T: Clone>(
            _s: S,
            splits: &'a [i32],
            per_row: &'a [T] = &per_row[first_row..],
            slot: &'a mut Slot<'s, T>,
        ) {
            for (row, value) in rows_of(splits).zip(per_row) {
                // A copy that no write could change.
                let value = value.clone();
                slot.append_with(row.len(), |_| value.clone());
            }
        }))
    })
}

/// Adds the value of `per_row` at the end of each row, or else at its start. `splits` are the
/// splits of the rows before, `longer` the splits with one more value.
pub(crate) fn grow_rows<T: Clone + Send + Sync, const AT_END: bool>(
    splits: &[i32],
    longer: &[i32],
    values: &[T],
    per_row: &[T],
) -> Vec<T> {
    collect_rows(longer, |first_row, longer, slot| {
        let rows = first_row..first_row + longer.len() - 1;
        dispatch(Grow::<T, AT_END> { splits: &splits[first_row..=rows.end], values, per_row: &per_row[rows], slot });
    })
}

struct Grow<'a, 's, T, const AT_END: bool> {
    splits: &'a [i32],
    values: &'a [T],
    per_row: &'a [T],
    slot: &'a mut Slot<'s, T>,
}

impl<T: Clone, const AT_END: bool> Kernel for Grow<'_, '_, T, AT_END> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { splits, values, per_row, slot } = self;
        for (row, value) in rows_of(splits).zip(per_row) {
            if !AT_END {
                slot.push(value.clone());
            }
            slot.append(&values[row.start..], row.len());
            if AT_END {
                slot.push(value.clone());
            }
        }
    }
}

/// Replaces each value by the sum of the values before it in its row, or behind it if `BACKWARDS`;
/// added up one by one from `zero` on.
pub(crate) fn scan_rows<T: Copy + Send + Sync, const BACKWARDS: bool>(
    splits: &[i32],
    values: &[T],
    zero: T,
    plus: impl Fn(T, T) -> T + Copy + Sync,
) -> Vec<T> {
    collect_rows(splits, |_, splits, slot| {
        for row in rows_of(splits) {
            slot.append_scan::<BACKWARDS>(&values[row], zero, plus);
        }
    })
}
