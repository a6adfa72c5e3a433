//! Runs of elements, one after the other, by several threads.

use std::mem::{MaybeUninit, needs_drop};

use kaldera_base::memory;

use super::divide::{current_num_threads, join};

/// Elements that are written at once, whatever the length of a run.
///
/// Short runs cost what the processor guesses wrong about their lengths, so up to this many elements have no branch of their own:
/// too many are written, and the next run writes over them.
pub(crate) const AHEAD: usize = 32;

/// Elements that are worth a task of their own.
const TASK: usize = 1 << 16;

/// Room for a known number of elements, filled from the front.
pub(crate) struct Room<'a, T> {
    elements: &'a mut [MaybeUninit<T>],
    filled: usize,
}

impl<T: Clone> Room<'_, T> {
    /// Writes the first `len` elements of `from`, which may be longer, after those that are there.
    #[inline(always)]
    pub(crate) fn append(&mut self, from: &[T], len: usize) {
        let to = &mut self.elements[self.filled..];
        match (from.first_chunk::<AHEAD>(), to.first_chunk_mut::<AHEAD>()) {
            (Some(from), Some(to)) if len <= AHEAD && !needs_drop::<T>() => write(from, to),
            _ => write(&from[..len], &mut to[..len]),
        }
        self.filled += len;
    }
}

#[inline(always)]
fn write<T: Clone>(from: &[T], to: &mut [MaybeUninit<T>]) {
    for (to, from) in to.iter_mut().zip(from) {
        to.write(from.clone());
    }
}

/// What `fill` makes of the runs, which have the lengths that `len_of` says, in the memory of `vec` if that is enough.
///
/// `fill` is called with some of the runs and room for just these.
pub(crate) fn collect<R: Sync, T: Clone + Send>(
    mut vec: Vec<T>,
    runs: &[R],
    len_of: impl Fn(&R) -> usize + Sync,
    fill: impl Fn(&[R], &mut Room<'_, T>) + Sync,
) -> Vec<T> {
    vec.clear();
    let len = runs.iter().map(&len_of).sum();
    if vec.capacity() < len {
        vec = memory::with_capacity(len);
    }
    fill_parts(runs, &mut vec.spare_capacity_mut()[..len], &len_of, &fill);
    // SAFETY: `fill_parts` returns only if all `len` elements were written, each part by its `Room`.
    unsafe { vec.set_len(len) };
    vec
}

fn fill_parts<R: Sync, T: Clone + Send>(
    runs: &[R],
    elements: &mut [MaybeUninit<T>],
    len_of: &(impl Fn(&R) -> usize + Sync),
    fill: &(impl Fn(&[R], &mut Room<'_, T>) + Sync),
) {
    if elements.len() < 2 * TASK || runs.len() < 2 || current_num_threads() == 1 {
        let mut room = Room { elements, filled: 0 };
        fill(runs, &mut room);
        assert_eq!(room.filled, room.elements.len(), "runs have the length that was said");
        return;
    }
    let (left, right) = runs.split_at(runs.len() / 2);
    let (left_elements, right_elements) = elements.split_at_mut(left.iter().map(len_of).sum());
    join(|| fill_parts(left, left_elements, len_of, fill), || fill_parts(right, right_elements, len_of, fill));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_and_long_runs_come_one_after_the_other() {
        let source: Vec<u32> = (0..100_000).collect();
        let runs: Vec<(usize, usize)> =
            (0..30_000).map(|i| (i * 7919 % 90_000, [0, 1, 5, 31, 32, 33, 200][i % 7])).collect();
        let expected: Vec<u32> = runs.iter().flat_map(|&(at, len)| source[at..at + len].to_vec()).collect();
        let follow = |runs: &[(usize, usize)], room: &mut Room<'_, u32>| {
            runs.iter().for_each(|&(at, len)| room.append(&source[at..], len));
        };
        let fresh = collect(Vec::new(), &runs, |run| run.1, follow);
        assert!(fresh == expected);
        let memory = fresh.as_ptr();
        let again = collect(fresh, &runs[..9], |run| run.1, follow);
        assert_eq!((again.as_ptr(), &again[..]), (memory, &expected[..again.len()]));
    }

    #[test]
    fn what_needs_dropping_is_neither_lost_nor_dropped_twice() {
        let shared = std::sync::Arc::new(5);
        let source = vec![std::sync::Arc::clone(&shared); 100];
        let runs = [(0, 3), (90, 10), (50, 0), (0, 50)];
        let all = collect(
            Vec::new(),
            &runs,
            |run| run.1,
            |runs, room| {
                runs.iter().for_each(|&(at, len)| room.append(&source[at..], len));
            },
        );
        assert_eq!((all.len(), std::sync::Arc::strong_count(&shared)), (63, 164));
        drop(all);
        assert_eq!(std::sync::Arc::strong_count(&shared), 101);
    }

    #[test]
    #[should_panic(expected = "the length that was said")]
    fn a_run_that_is_too_short_is_noticed() {
        collect(Vec::new(), &[4], |&len| len, |_, room| room.append(&[1, 2, 3], 3));
    }
}
