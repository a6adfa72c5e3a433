//! Rows of flat values in any order, one after the other.

use kaldera_base::memory;
use kaldera_base::simd::{Kernel, RoomPastCaches, Simd, dispatch};

use super::collect::{LINE, PLAIN_COPY, Room, Words, collect};

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

    /// The elements from its first one on, and how many it stands for.
    #[inline(always)]
    fn place<'a, T>(&self, sources: &[&'a [T]]) -> (&'a [T], usize) {
        (&sources[self.source as usize][self.begin as usize..], self.len())
    }
}

/// The values of runs of elements, one after the other, in the memory of `values` if that is enough.
pub(crate) fn follow<T: Clone + Send + Sync>(values: Vec<T>, sources: &[&[T]], runs: &[Run]) -> Vec<T> {
    follow_places(values, runs, Run::len, |run| run.place(sources))
}

/// The elements that `place` says of each run, one after the other, in the memory of `values` if that is enough: they are so many at the beginning
/// of a slice, which may be longer. `len` says how many.
#[inline(always)]
pub(crate) fn follow_places<'a, T: Clone + Send + Sync + 'a, R: Sync>(
    values: Vec<T>,
    runs: &[R],
    len: impl Fn(&R) -> usize + Sync,
    place: impl Fn(&R) -> (&'a [T], usize) + Copy + Sync,
) -> Vec<T> {
    collect(values, runs, len, |runs, room| {
        match (size_of::<T>() * room.left() / runs.len().max(1), Words::of_numbers()) {
            (mean, Some(words)) if (LONG..room.past_caches_below()).contains(&mean) => {
                room.append_words(words, |room| dispatch(WriteLong { runs, place, mean, words, room }));
            }
            _ => dispatch(WriteShort { runs, place, room }),
        }
    })
}

/// Bytes of a run, in the mean, from which on its lines are what counts.
const LONG: usize = 3 * LINE;

/// Runs that are mostly shorter than a few lines, or make a result that stays in the caches.
struct WriteShort<'a, 'r, T, R, F> {
    runs: &'a [R],
    place: F,
    room: &'a mut Room<'r, T>,
}

impl<'v, T: Clone + 'v, R, F: Fn(&R) -> (&'v [T], usize)> Kernel for WriteShort<'_, '_, T, R, F> {
    type Output = ();

    /// With the instruction set as it is: the compiler makes its vectors of the runs.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        /// Runs from which on a place is in the cache by the time that it is read.
        const SOON: usize = 64;
        /// Elements of a line of the cache, or fewer.
        const LINE: usize = 16;
        let Self { runs, place, room } = self;
        for (i, run) in runs.iter().enumerate() {
            if let Some(soon) = runs.get(i + SOON) {
                let (soon, len) = place(soon);
                memory::prefetch_l2(soon, 0);
                memory::prefetch_l2(soon, LINE);
                // Long runs are asked for whole, as far as the processor would not see for itself.
                for at in (2 * LINE..len).step_by(LINE).take(30) {
                    memory::prefetch_l2(soon, at);
                }
            }
            let (values, len) = place(run);
            room.append(values, len);
        }
    }
}

/// Runs of some lines, of `mean` bytes.
struct WriteLong<'a, 'r, T, R, F> {
    runs: &'a [R],
    place: F,
    mean: usize,
    words: Words<T>,
    room: &'a mut RoomPastCaches<'r>,
}

impl<'v, T: 'v, R, F: Fn(&R) -> (&'v [T], usize)> Kernel for WriteLong<'_, '_, T, R, F> {
    type Output = ();

    /// Some runs are asked for, then some are written. Where the two take turns run by run, rows of four lines that begin amid a line take twice as
    /// long on an AMD EPYC (Zen 4).
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { runs, place, mean, words, room } = self;
        // Lines that are asked for at a time, and how many times before they are read.
        let (at_once, ahead) = if memory::l2_has_own_buffers() { (128, 1) } else { (32, 16) };
        let group = (at_once * LINE / mean).max(1);
        let values_of = |run| {
            let (values, len) = place(run);
            &values[..len]
        };
        // Within huge runs the processor looks ahead by itself.
        let mut soon = runs.chunks(group).skip(if mean < PLAIN_COPY { ahead } else { runs.len() });
        let mut rows = room.rows(s);
        for runs in runs.chunks(group) {
            let soon = soon.next().unwrap_or_default();
            // The first lines wait for their pages.
            for run in soon {
                memory::prefetch_l2_at(values_of(run).as_ptr());
            }
            for run in soon {
                lines_of(values_of(run)).for_each(memory::prefetch_l2_at);
            }
            for run in runs {
                rows.append(words.of(values_of(run)));
            }
        }
        rows.finish();
    }
}

/// The lines in which a run lies, each once: asked for again, those on their way already would take the place of others.
#[inline(always)]
fn lines_of<T>(run: &[T]) -> impl Iterator<Item = *const u8> {
    let begin = run.as_ptr().cast::<u8>();
    let foreign = begin.addr() % LINE;
    let first = begin.wrapping_sub(foreign);
    (0..foreign + size_of_val(run)).step_by(LINE).map(move |at| first.wrapping_add(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of both sources of lengths that are drawn from `lengths`, some of them at the very end, and what they stand for.
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

    /// Through the caches and past them.
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
    fn nothing_is_made_of_nothing() {
        assert!(follow::<i32>(Vec::new(), &[&[]], &[]).is_empty());
        assert!(follow(Vec::new(), &[&[1, 2]], &[Run { source: 0, begin: 2, end: 2 }]).is_empty());
        assert_eq!(follow(Vec::new(), &[&[(), ()]], &[Run { source: 0, begin: 0, end: 2 }]), [(), ()]);
    }
}
