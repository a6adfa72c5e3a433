//! Division of rows into parts for the threads of rayon's pool. A row is never cut, so that the
//! results equal the results of one thread.

use kaldera_base::par;

use crate::kernels::rows::rows_of;

/// Number of rows and values together that are worth their own task, by default.
pub(super) const TASK: usize = 1 << 15;

/// Memory that can be cut in two: a slice, or two slices that are cut at the same position.
pub(crate) trait Cut: Send + Sized {
    /// Returns the first `at` entries, and the rest.
    fn cut(self, at: usize) -> (Self, Self);
}

impl<T: Send> Cut for &mut [T] {
    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

impl<A: Cut, B: Cut> Cut for (A, B) {
    fn cut(self, at: usize) -> (Self, Self) {
        let (a, b) = (self.0.cut(at), self.1.cut(at));
        ((a.0, b.0), (a.1, b.1))
    }
}

/// Calls `f` with the splits of parts of the rows and the part of `out`, which has one entry for
/// each row.
pub(crate) fn over_rows<O: Cut>(splits: &[i32], out: O, f: impl Fn(&[i32], O) + Sync) {
    divide(TASK, 0, splits, out, &|_, row| row, &|_, splits, out| f(splits, out));
}

/// Calls `f` with the number of the first row and the splits of parts of the rows, and the part of
/// `out`, which has one entry for each value.
pub(crate) fn over_values<O: Cut>(splits: &[i32], out: O, f: impl Fn(usize, &[i32], O) + Sync) {
    over_values_by(TASK, splits, out, f);
}

/// Same as [`over_values`], if `task` rows and values together are worth their own task.
pub(crate) fn over_values_by<O: Cut>(task: usize, splits: &[i32], out: O, f: impl Fn(usize, &[i32], O) + Sync) {
    divide(task, 0, splits, out, &|splits: &[i32], row| (splits[row] - splits[0]) as usize, &f);
}

/// Calls `f` with the number of each row, its values and the part of `out` for these; rows run on
/// several threads.
pub(crate) fn over_each_row<T: Sync, U: Send>(
    splits: &[i32],
    values: &[T],
    out: &mut [U],
    f: impl Fn(usize, &[T], &mut [U]) + Sync,
) {
    over_values(splits, out, |first_row, splits, mut out| {
        for (row, range) in (first_row..).zip(rows_of(splits)) {
            let to;
            (to, out) = out.split_at_mut(range.len());
            f(row, &values[range], to);
        }
    });
}

fn divide<O: Cut>(
    task: usize,
    first_row: usize,
    splits: &[i32],
    out: O,
    position: &(impl Fn(&[i32], usize) -> usize + Sync),
    f: &(impl Fn(usize, &[i32], O) + Sync),
) {
    let rows = splits.len() - 1;
    let work_before = |row: usize| (splits[row] - splits[0]) as usize + row;
    let work = work_before(rows);
    if rows < 2 || par::num_parts(work, task) == 1 {
        return f(first_row, splits, out);
    }
    let (mut low, mut high) = (1, rows - 1);
    while low < high {
        let middle = low.midpoint(high);
        if work_before(middle) < work / 2 { low = middle + 1 } else { high = middle }
    }
    let (left, right) = out.cut(position(splits, low));
    par::join(
        || divide(task, first_row, &splits[..=low], left, position, f),
        || divide(task, first_row + low, &splits[low..], right, position, f),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_processed_once() {
        let lengths = (0..200_000).map(|i| if i % 50_000 == 7 { 300_000 } else { i % 3 });
        let splits: Vec<i32> = std::iter::once(0)
            .chain(lengths.scan(0, |end, n| {
                *end += n;
                Some(*end)
            }))
            .collect();
        let mut sizes = vec![0; splits.len() - 1];
        over_rows(&splits, &mut sizes[..], |splits, sizes| {
            splits.windows(2).zip(sizes).for_each(|(ends, size)| *size += ends[1] - ends[0]);
        });
        assert!(sizes.iter().zip(splits.windows(2)).all(|(&size, ends)| size == ends[1] - ends[0]));
        let all = splits.clone();
        let mut positions = vec![0; splits[splits.len() - 1] as usize];
        over_values(&splits, &mut positions[..], |first_row, splits, positions| {
            assert!(all[first_row..].starts_with(splits));
            assert_eq!(positions.len(), (splits[splits.len() - 1] - splits[0]) as usize);
            (splits[0]..).zip(positions).for_each(|(i, position)| *position += i);
        });
        assert!((0..).zip(positions).all(|(i, position)| i == position));
    }
}
