//! Gathering and concatenation of runs of elements.

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::kernels::collect::{Slot, collect};

/// Consecutive entries of one axis of one source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) source: u32,
    pub(crate) begin: i32,
    pub(crate) end: i32,
}

impl Run {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        (self.end - self.begin) as usize
    }

    /// Returns the elements from its first one on, and its length.
    #[inline(always)]
    fn slice<'a, T>(&self, sources: &[&'a [T]]) -> (&'a [T], usize) {
        (&sources[self.source as usize][self.begin as usize..], self.len())
    }
}

/// Concatenates the values of runs of elements, in the memory of `values` if that is enough.
pub(crate) fn follow<T: Clone + Send + Sync>(values: Vec<T>, sources: &[&[T]], runs: &[Run]) -> Vec<T> {
    follow_slices(values, runs, Run::len, |run| run.slice(sources))
}

/// Concatenates the elements that `slice` returns for each run, in the memory of `values` if that
/// is enough. `slice` returns a slice, which may be longer, and the number of its first elements to
/// take. `len` returns that number.
#[inline(always)]
pub(crate) fn follow_slices<'a, T: Clone + Send + Sync + 'a, R: Sync>(
    values: Vec<T>,
    runs: &[R],
    len: impl Fn(&R) -> usize + Sync,
    slice: impl Fn(&R) -> (&'a [T], usize) + Copy + Sync,
) -> Vec<T> {
    collect(values, runs, len, |runs, slot| dispatch(Follow { runs, slice, slot }))
}

struct Follow<'a, 's, T, R, F> {
    runs: &'a [R],
    slice: F,
    slot: &'a mut Slot<'s, T>,
}

impl<'v, T: Clone + 'v, R, F: Fn(&R) -> (&'v [T], usize)> Kernel for Follow<'_, '_, T, R, F> {
    type Output = ();

    /// Keeps the instruction set as it is: the compiler vectorizes the runs.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        /// Number of runs between the prefetch of one and its use.
        const DISTANCE: usize = 64;
        /// Number of elements in a cache line, or fewer.
        const LINE: usize = 16;
        /// Number of lines of a run that are prefetched: the processor prefetches the rest by
        /// itself.
        const LINES: usize = 32;
        let Self { runs, slice, slot } = self;
        for (i, run) in runs.iter().enumerate() {
            if let Some(next) = runs.get(i + DISTANCE) {
                let (next, len) = slice(next);
                memory::prefetch_l2(next, 0);
                memory::prefetch_l2(next, LINE);
                for at in (2 * LINE..len).step_by(LINE).take(LINES - 2) {
                    memory::prefetch_l2(next, at);
                }
            }
            let (values, len) = slice(run);
            slot.append(values, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks runs of both sources, whose lengths are drawn from `lengths`, some of them at the
    /// very end.
    fn check<T: Clone + Send + Sync + PartialEq>(number: impl Fn(usize) -> T, bytes: usize, lengths: &[usize]) {
        let sources: [Vec<T>; 2] = [(0..9_000).map(&number).collect(), (5_000..25_000).map(&number).collect()];
        let sources = [&sources[0][..], &sources[1][..]];
        let (mut runs, mut expected, mut state) = (vec![], vec![], 1_usize);
        while expected.len() * size_of::<T>() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (source, len) = (state >> 40 & 1, lengths[(state >> 41) % lengths.len()]);
            let most = sources[source].len() - len;
            let begin = if state >> 60 == 0 { most } else { (state >> 33) % (most + 1) };
            expected.extend_from_slice(&sources[source][begin..begin + len]);
            runs.push(Run { source: source as u32, begin: begin as i32, end: (begin + len) as i32 });
        }
        let made = follow(Vec::new(), &sources, &runs);
        assert!(made == expected, "{bytes} bytes of {lengths:?}");
        let memory = made.as_ptr();
        let again = follow(made, &sources, &runs);
        assert!(again == expected && again.as_ptr() == memory);
    }

    /// Smaller and larger than the caches.
    const SIZES: [usize; 2] = [1 << 20, 18 << 20];

    #[test]
    fn runs_of_any_length_come_one_after_the_other() {
        for bytes in SIZES {
            check(|i| i as f32, bytes, &[64, 100, 0, 300, 17, 1, 15, 16]);
            check(|i| i as i32, bytes, &[0, 1, 5, 30]);
            check(|i| i as i32, bytes, &[1200, 0, 700]);
            check(|i| i as i64, bytes, &[8_000, 3, 90]);
        }
    }

    #[test]
    fn elements_may_be_anything() {
        let lengths = [64, 100, 0, 300, 17, 1];
        for bytes in SIZES {
            check(|i| i as u8, bytes, &lengths);
            check(|i| [i as u16; 6], bytes, &lengths);
            check(|i| (i as u64, i as u8), bytes, &lengths);
            check(|i| [i as u32; 15], bytes, &lengths);
            check(|i| [i as u64; 9], bytes, &lengths);
        }
        check(|i| i.to_string(), 3 << 20, &lengths);
        let names: Vec<String> = (0..25_000).map(|i| i.to_string()).collect();
        check(|i| &names[i][..], 18 << 20, &lengths);
    }

    #[test]
    fn empty_runs_and_elements_without_size_are_copied() {
        assert!(follow::<i32>(Vec::new(), &[&[]], &[]).is_empty());
        assert!(follow(Vec::new(), &[&[1, 2]], &[Run { source: 0, begin: 2, end: 2 }]).is_empty());
        assert_eq!(follow(Vec::new(), &[&[(), ()]], &[Run { source: 0, begin: 0, end: 2 }]), [(), ()]);
    }
}
