//! Runs of elements, concatenated by several threads.

use std::mem::{MaybeUninit, needs_drop};

use kaldera_base::{memory, par};

use crate::kernels::divide::{Cut, over_values};

/// Number of elements that are written at once, whatever the length of a run.
///
/// Short runs cost mispredicted branches on their lengths. So up to this number, elements have no
/// branch of their own: too many are written, and the next run overwrites them.
pub(crate) const AHEAD: usize = 32;

/// Same as [`AHEAD`], if an element costs more than an occasional mispredicted branch: a division,
/// or a read from memory that is not in the cache.
pub(crate) const FEW: usize = 16;

/// Number of elements that are worth their own task.
const TASK: usize = 1 << 16;

/// Uninitialised memory for a known number of elements, filled from the front.
pub struct Slot<'a, T> {
    elements: &'a mut [MaybeUninit<T>],
    filled: usize,
}

impl<T: Clone> Slot<'_, T> {
    /// Appends the first `len` elements of `from`, which may be longer.
    #[inline(always)]
    pub(crate) fn append(&mut self, from: &[T], len: usize) {
        /// Number of bytes from which on `memcpy` is faster.
        const LARGE: usize = 4 << 10;
        if len * size_of::<T>() < LARGE {
            return self.append_map::<FEW, T>(from, len, T::clone);
        }
        write(&from[..len], &mut self.elements[self.filled..][..len], T::clone);
        self.filled += len;
    }

    /// Same as [`append`](Self::append), with `f` applied to each element, `AT_ONCE` at a time. `f`
    /// is also called for elements beyond `len`.
    #[inline(always)]
    pub(crate) fn append_map<const AT_ONCE: usize, U>(&mut self, from: &[U], len: usize, f: impl Fn(&U) -> T) {
        let to = &mut self.elements[self.filled..];
        let mut done = 0;
        loop {
            match (from[done..].first_chunk::<AT_ONCE>(), to[done..].first_chunk_mut::<AT_ONCE>()) {
                (Some(from), Some(to)) if !needs_drop::<T>() => write_chunk(from, to, &f),
                _ => {
                    write(&from[done..len], &mut to[done..len], f);
                    break;
                }
            }
            done += AT_ONCE;
            if done >= len {
                break;
            }
        }
        self.filled += len;
    }

    /// Appends `x`.
    #[inline(always)]
    pub(crate) fn push(&mut self, x: T) {
        self.elements[self.filled].write(x);
        self.filled += 1;
    }

    /// Appends `f` of 0, 1 .. `len` - 1. `f` is also called for larger numbers.
    #[inline(always)]
    pub(crate) fn append_with(&mut self, len: usize, f: impl Fn(usize) -> T) {
        let to = &mut self.elements[self.filled..];
        let mut done = 0;
        loop {
            match to[done..].first_chunk_mut::<AHEAD>() {
                Some(to) if !needs_drop::<T>() => write_numbered(to, done, &f),
                _ => {
                    write_numbered(&mut to[done..len], done, f);
                    break;
                }
            }
            done += AHEAD;
            if done >= len {
                break;
            }
        }
        self.filled += len;
    }

    /// Appends for each value of a row the `plus` of the values before it, or behind it if
    /// `BACKWARDS`, one after the other from `sum` on.
    #[inline(always)]
    pub(crate) fn append_scan<const BACKWARDS: bool>(&mut self, row: &[T], mut sum: T, plus: impl Fn(T, T) -> T)
    where
        T: Copy,
    {
        /// Number of bytes in a cache line.
        const LINE: usize = 64;
        let to = &mut self.elements[self.filled..][..row.len()];
        if BACKWARDS {
            // The processor prefetches only forward reads and writes.
            for at in (0..size_of_val(row)).step_by(LINE) {
                memory::prefetch_at(row.as_ptr().wrapping_byte_add(at));
                memory::prefetch_at(to.as_ptr().wrapping_byte_add(at));
            }
        }
        let mut step = |i: usize| {
            to[i].write(sum);
            sum = plus(sum, row[i]);
        };
        if BACKWARDS {
            (0..row.len()).rev().for_each(&mut step)
        } else {
            (0..row.len()).for_each(&mut step)
        }
        self.filled += row.len();
    }
}

/// Reads all before it writes anything. Otherwise the compiler would go one by one, since `f` might
/// read from the memory that is written.
#[inline(always)]
fn write_chunk<T, U, const N: usize>(from: &[U; N], to: &mut [MaybeUninit<T>; N], f: impl Fn(&U) -> T) {
    let chunk: [T; N] = std::array::from_fn(|i| f(&from[i]));
    for (to, x) in to.iter_mut().zip(chunk) {
        to.write(x);
    }
}

#[inline(always)]
fn write<T, U>(from: &[U], to: &mut [MaybeUninit<T>], f: impl Fn(&U) -> T) {
    for (to, from) in to.iter_mut().zip(from) {
        to.write(f(from));
    }
}

#[inline(always)]
fn write_numbered<T>(to: &mut [MaybeUninit<T>], first: usize, f: impl Fn(usize) -> T) {
    for (i, to) in to.iter_mut().enumerate() {
        to.write(f(first + i));
    }
}

impl<T: Send> Cut for Slot<'_, T> {
    /// Cuts a slot that is still empty.
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.elements.split_at_mut(at);
        (Self { elements: left, filled: 0 }, Self { elements: right, filled: 0 })
    }
}

/// Collects the values that `fill` writes for rows. It is called with the number of the first row,
/// the splits of a part of the rows, and a slot for just their values.
pub(crate) fn collect_rows<T: Clone + Send>(
    splits: &[i32],
    fill: impl Fn(usize, &[i32], &mut Slot<'_, T>) + Sync,
) -> Vec<T> {
    let len = (splits[splits.len() - 1] - splits[0]) as usize;
    let mut vec = memory::with_capacity(len);
    let slot = Slot { elements: &mut vec.spare_capacity_mut()[..len], filled: 0 };
    over_values(splits, slot, |first_row, splits, mut slot| {
        fill(first_row, splits, &mut slot);
        assert_eq!(slot.filled, slot.elements.len(), "rows are as long as their splits say");
    });
    // SAFETY: `over_values` hands out each part of the slot, and each was filled when its call
    // returned.
    unsafe { vec.set_len(len) };
    vec
}

/// Collects the elements that `fill` writes for the runs, in the memory of `vec` if that is enough.
/// `len_of` returns the length of a run.
///
/// `fill` is called with some of the runs and a slot for just these.
pub(crate) fn collect<R: Sync, T: Clone + Send>(
    mut vec: Vec<T>,
    runs: &[R],
    len_of: impl Fn(&R) -> usize + Sync,
    fill: impl Fn(&[R], &mut Slot<'_, T>) + Sync,
) -> Vec<T> {
    vec.clear();
    let len = runs.iter().map(&len_of).sum();
    if vec.capacity() < len {
        vec = memory::with_capacity(len);
    }
    let slot = Slot { elements: &mut vec.spare_capacity_mut()[..len], filled: 0 };
    fill_parts(runs, slot, &len_of, &fill);
    // SAFETY: `fill_parts` returns only if all `len` elements were written, each part by its
    // `Slot`.
    unsafe { vec.set_len(len) };
    vec
}

fn fill_parts<R: Sync, T: Clone + Send>(
    runs: &[R],
    mut slot: Slot<'_, T>,
    len_of: &(impl Fn(&R) -> usize + Sync),
    fill: &(impl Fn(&[R], &mut Slot<'_, T>) + Sync),
) {
    if runs.len() < 2 || par::num_parts(slot.elements.len(), TASK) == 1 {
        fill(runs, &mut slot);
        assert_eq!(slot.filled, slot.elements.len(), "runs have the length that was said");
        return;
    }
    let (left, right) = runs.split_at(runs.len() / 2);
    let (left_room, right_room) = slot.cut(left.iter().map(len_of).sum());
    par::join(|| fill_parts(left, left_room, len_of, fill), || fill_parts(right, right_room, len_of, fill));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_and_long_runs_come_one_after_the_other() {
        let source: Vec<u32> = (0..100_000).collect();
        let runs: Vec<(usize, usize)> =
            (0..30_000).map(|i| (i * 7919 % 90_000, [0, 1, 15, 16, 17, 33, 200][i % 7])).collect();
        let expected: Vec<u32> = runs.iter().flat_map(|&(at, len)| source[at..at + len].to_vec()).collect();
        let follow = |runs: &[(usize, usize)], slot: &mut Slot<'_, u32>| {
            runs.iter().for_each(|&(at, len)| slot.append(&source[at..], len));
        };
        let fresh = collect(Vec::new(), &runs, |run| run.1, follow);
        assert!(fresh == expected);
        let memory = fresh.as_ptr();
        let again = collect(fresh, &runs[..9], |run| run.1, follow);
        assert_eq!((again.as_ptr(), &again[..]), (memory, &expected[..again.len()]));
    }

    #[test]
    fn values_are_dropped_exactly_once() {
        let shared = std::sync::Arc::new(5);
        let source = vec![std::sync::Arc::clone(&shared); 100];
        let runs = [(0, 3), (90, 10), (50, 0), (0, 50)];
        let all = collect(
            Vec::new(),
            &runs,
            |run| run.1,
            |runs, slot| {
                runs.iter().for_each(|&(at, len)| slot.append(&source[at..], len));
            },
        );
        assert_eq!((all.len(), std::sync::Arc::strong_count(&shared)), (63, 164));
        drop(all);
        assert_eq!(std::sync::Arc::strong_count(&shared), 101);
    }

    #[test]
    #[should_panic(expected = "the length that was said")]
    fn a_run_that_is_too_short_is_noticed() {
        collect(Vec::new(), &[4], |&len| len, |_, slot| slot.append(&[1, 2, 3], 3));
    }
}
