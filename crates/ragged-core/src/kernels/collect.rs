//! Runs of elements, one after the other, by several threads.

use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};

use kaldera_base::memory;
use kaldera_base::simd::{RoomPastCaches, Simd, rows_past_caches};

use super::divide::{self, Cut, current_num_threads, join, over_values_by};

/// Elements that are written at once, whatever the length of a run.
///
/// Short runs cost what the processor guesses wrong about their lengths, so up to this many elements have no branch of their own:
/// too many are written, and the next run writes over them.
pub(crate) const AHEAD: usize = 32;

/// As [`AHEAD`], where an element costs more than a wrong guess now and then: what is divided, or read from places that are not in the cache.
pub(crate) const FEW: usize = 16;

/// Elements that are worth a task of their own.
const TASK: usize = 1 << 16;

/// Bytes of a result from which on it goes past the caches, if its runs are long: it would fill them, and nothing of it would be left there
/// for who reads it next.
const LARGE: usize = 16 << 20;

/// Bytes of a run, in the mean, from which on it is one of the plain copies that the C library is made for; these go through the caches into fresh
/// memory, which is still there from being cleared.
pub(crate) const PLAIN_COPY: usize = 6 << 10;

/// Room for a known number of elements, filled from the front.
pub struct Room<'a, T> {
    elements: &'a mut [MaybeUninit<T>],
    filled: usize,
    /// Bytes of a run below which it goes past the caches, if it is some lines long.
    past_caches_below: usize,
}

impl<T: Clone> Room<'_, T> {
    /// Writes the first `len` elements of `from`, which may be longer, after those that are there.
    #[inline(always)]
    pub(crate) fn append(&mut self, from: &[T], len: usize) {
        /// Bytes of which the C library makes quicker work.
        const HUGE: usize = 4 << 10;
        if len * size_of::<T>() < HUGE {
            return self.append_map::<FEW, T>(from, len, T::clone);
        }
        write(&from[..len], &mut self.elements[self.filled..][..len], T::clone);
        self.filled += len;
    }

    /// As [`append`](Self::append), of what `f` makes of each. It may be called more than once for an element, and for some of the `AT_ONCE` that
    /// follow the first.
    #[inline(always)]
    pub(crate) fn append_map<const AT_ONCE: usize, U>(&mut self, from: &[U], len: usize, f: impl Fn(&U) -> T) {
        let to = &mut self.elements[self.filled..];
        match (from.first_chunk::<AT_ONCE>(), to.first_chunk_mut::<AT_ONCE>()) {
            (Some(from), Some(to)) if len <= AT_ONCE && !needs_drop::<T>() => write_whole(from, to, f),
            _ if len > AT_ONCE && fits_lines::<T>() => write_long(&from[..len], &mut to[..len], f),
            _ => write(&from[..len], &mut to[..len], f),
        }
        self.filled += len;
    }

    /// Writes `x` after the elements that are there.
    #[inline(always)]
    pub(crate) fn push(&mut self, x: T) {
        self.elements[self.filled].write(x);
        self.filled += 1;
    }

    /// Writes `f` of 0, 1 .. `len` - 1 after the elements that are there. It may be called more than once for a number, and for some more.
    #[inline(always)]
    pub(crate) fn append_with(&mut self, len: usize, f: impl Fn(usize) -> T) {
        let to = &mut self.elements[self.filled..];
        match to.first_chunk_mut::<AHEAD>() {
            Some(to) if len <= AHEAD && !needs_drop::<T>() => write_numbered(to, 0, f),
            _ if len <= AHEAD || needs_drop::<T>() => write_numbered(&mut to[..len], 0, f),
            _ => match size_of::<T>() {
                4 => write_pieces::<T, AHEAD>(&mut to[..len], f),
                _ => write_numbered(&mut to[..len], 0, f),
            },
        }
        self.filled += len;
    }

    /// Writes, in place of each value of a row, what `plus` makes of those before it, or behind it if `BACKWARDS`, one after the other
    /// from `sum` on.
    #[inline(always)]
    pub(crate) fn append_scan<const BACKWARDS: bool>(&mut self, row: &[T], mut sum: T, plus: impl Fn(T, T) -> T)
    where
        T: Copy,
    {
        let to = &mut self.elements[self.filled..][..row.len()];
        if BACKWARDS {
            // The processor foresees what is read and written forwards alone.
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

    /// Bytes of a run below which it goes past the caches, if it is some lines long.
    pub(crate) fn past_caches_below(&self) -> usize {
        self.past_caches_below
    }

    /// How many elements there is still room for.
    pub(crate) fn left(&self) -> usize {
        self.elements.len() - self.filled
    }

    /// Calls `f` with room past the caches for the words of what comes after the elements that are there.
    pub(crate) fn append_words(&mut self, words: Words<T>, f: impl FnOnce(&mut RoomPastCaches<'_>)) {
        self.filled += rows_past_caches(words.of_uninit(&mut self.elements[self.filled..]), f) / Words::<T>::EACH;
    }
}

impl<'a> Room<'a, i32> {
    /// Room in place of numbers.
    pub(crate) fn over(numbers: &'a mut [i32]) -> Self {
        let numbers: *mut [i32] = numbers;
        // SAFETY: the same memory, lent for as long. Nothing but numbers is written there.
        let elements = unsafe { &mut *(numbers as *mut [MaybeUninit<i32>]) };
        Self { elements, filled: 0, past_caches_below: 0 }
    }

    /// Writes the lanes of vectors after the elements that are there.
    ///
    /// # Panics
    /// If there is no room for so many.
    #[inline(always)]
    pub(crate) fn append_vectors<S: Simd>(&mut self, s: S, vectors: impl ExactSizeIterator<Item = S::U32>) {
        let words = Words(PhantomData).of_uninit(&mut self.elements[self.filled..][..vectors.len() * S::LANES]);
        for (to, v) in words.chunks_exact_mut(S::LANES).zip(vectors) {
            s.store_uninit(s.of_bits(v), to);
            self.filled += S::LANES;
        }
    }
}

/// Proof that elements are numbers of one or two words of 32 bits, which may be copied as such.
pub(crate) struct Words<T>(PhantomData<T>);

impl<T> Clone for Words<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Words<T> {}

impl<T> Words<T> {
    /// Words of an element.
    const EACH: usize = size_of::<T>() / size_of::<f32>();

    /// `None` if they are anything else.
    pub(crate) fn of_numbers() -> Option<Self> {
        use std::any::TypeId;
        let numbers: [TypeId; 6] = [
            TypeId::of::<f32>(),
            TypeId::of::<i32>(),
            TypeId::of::<u32>(),
            TypeId::of::<f64>(),
            TypeId::of::<i64>(),
            TypeId::of::<u64>(),
        ];
        numbers.contains(&typeid::of::<T>()).then_some(Self(PhantomData))
    }

    /// The words of `values`.
    #[inline(always)]
    pub(crate) fn of(self, values: &[T]) -> &[f32] {
        // SAFETY: the same memory, which holds numbers without gaps, at least as aligned; any 32 bits are an `f32`.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len() * Self::EACH) }
    }

    #[inline(always)]
    fn of_uninit(self, values: &mut [MaybeUninit<T>]) -> &mut [MaybeUninit<f32>] {
        // SAFETY: as above; any bits may be written there that make numbers, and what makes a part of one is no number yet.
        unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len() * Self::EACH) }
    }
}

/// Whether lines can be made of several elements, and each be written twice.
const fn fits_lines<T>() -> bool {
    0 < size_of::<T>() && size_of::<T>() <= LINE && align_of::<T>() <= LINE && !needs_drop::<T>()
}

/// Bytes of a line of the cache.
pub(crate) const LINE: usize = 64;

/// Writes `f` of what makes some lines, or nearly lines where elements do not fill them.
#[inline(always)]
fn write_long<T, U>(from: &[U], to: &mut [MaybeUninit<T>], f: impl Fn(&U) -> T) {
    match LINE / size_of::<T>() {
        64.. if from.len() < 64 => write_lines::<T, U, 32>(from, to, f),
        64.. => write_lines::<T, U, 64>(from, to, f),
        32.. => write_lines::<T, U, 32>(from, to, f),
        16.. => write_lines::<T, U, 16>(from, to, f),
        8.. => write_lines::<T, U, 8>(from, to, f),
        4.. => write_lines::<T, U, 4>(from, to, f),
        2.. => write_lines::<T, U, 2>(from, to, f),
        _ => write_lines::<T, U, 1>(from, to, f),
    }
}

/// Writes some lines of `N` elements; the last one is not shorter, but writes some elements again.
#[inline(always)]
fn write_lines<T, U, const N: usize>(from: &[U], to: &mut [MaybeUninit<T>], f: impl Fn(&U) -> T) {
    assert_eq!(from.len(), to.len(), "room for the run");
    if from.len() < N {
        return write(from, to, f);
    }
    let last = from.len() - N;
    for begin in (0..from.len()).step_by(N) {
        let begin = begin.min(last);
        // SAFETY: both have `last + N` elements, and `begin` is at most `last`.
        let (from, to) = unsafe { (from.get_unchecked(begin..begin + N), to.get_unchecked_mut(begin..begin + N)) };
        if let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut()) {
            write_whole(from, to, &f);
        }
    }
}

/// All is read before anything is written. Else the compiler would go one by one, since what `f` reads might lie where it writes.
#[inline(always)]
fn write_whole<T, U, const N: usize>(from: &[U; N], to: &mut [MaybeUninit<T>; N], f: impl Fn(&U) -> T) {
    let whole: [T; N] = std::array::from_fn(|i| f(&from[i]));
    for (to, x) in to.iter_mut().zip(whole) {
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

/// As [`write_numbered`], `N` elements at a time, of which there are more; the last ones are not fewer, but some again.
#[inline(always)]
fn write_pieces<T, const N: usize>(to: &mut [MaybeUninit<T>], f: impl Fn(usize) -> T) {
    let last = to.len() - N;
    for begin in (0..to.len()).step_by(N) {
        let begin = begin.min(last);
        let piece = to[begin..].first_chunk_mut::<N>();
        write_numbered(piece.unwrap_or_else(|| unreachable!("more than a piece")), begin, &f);
    }
}

impl<T: Send> Cut for Room<'_, T> {
    /// Of room in which nothing is yet.
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.elements.split_at_mut(at);
        let part = |elements| Self { elements, filled: 0, past_caches_below: self.past_caches_below };
        (part(left), part(right))
    }
}

/// What `fill` makes of rows: called with the number of the first row and the splits of parts of them, and room for just their values.
pub(crate) fn collect_rows<T: Clone + Send>(
    splits: &[i32],
    fill: impl Fn(usize, &[i32], &mut Room<'_, T>) + Sync,
) -> Vec<T> {
    collect_rows_by(divide::TASK, splits, fill)
}

/// [`collect_rows`] where `task` rows and values together are worth a task of their own.
pub(crate) fn collect_rows_by<T: Clone + Send>(
    task: usize,
    splits: &[i32],
    fill: impl Fn(usize, &[i32], &mut Room<'_, T>) + Sync,
) -> Vec<T> {
    let len = (splits[splits.len() - 1] - splits[0]) as usize;
    let mut vec = memory::with_capacity(len);
    let room = Room { elements: &mut vec.spare_capacity_mut()[..len], filled: 0, past_caches_below: 0 };
    over_values_by(task, splits, room, |first_row, splits, mut room| {
        fill(first_row, splits, &mut room);
        assert_eq!(room.filled, room.elements.len(), "rows are as long as their splits say");
    });
    // SAFETY: `over_values_by` hands out each part of the room, and each was filled when its call came back.
    unsafe { vec.set_len(len) };
    vec
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
    let fresh = vec.capacity() < len;
    if fresh {
        vec = memory::with_capacity(len);
    }
    let past_caches_below = match len * size_of::<T>() >= LARGE {
        true if fresh => PLAIN_COPY,
        true => usize::MAX,
        false => 0,
    };
    let room = Room { elements: &mut vec.spare_capacity_mut()[..len], filled: 0, past_caches_below };
    fill_parts(runs, room, &len_of, &fill);
    // SAFETY: `fill_parts` returns only if all `len` elements were written, each part by its `Room`.
    unsafe { vec.set_len(len) };
    vec
}

fn fill_parts<R: Sync, T: Clone + Send>(
    runs: &[R],
    mut room: Room<'_, T>,
    len_of: &(impl Fn(&R) -> usize + Sync),
    fill: &(impl Fn(&[R], &mut Room<'_, T>) + Sync),
) {
    if room.elements.len() < 2 * TASK || runs.len() < 2 || current_num_threads() == 1 {
        fill(runs, &mut room);
        assert_eq!(room.filled, room.elements.len(), "runs have the length that was said");
        return;
    }
    let (left, right) = runs.split_at(runs.len() / 2);
    let (left_room, right_room) = room.cut(left.iter().map(len_of).sum());
    join(|| fill_parts(left, left_room, len_of, fill), || fill_parts(right, right_room, len_of, fill));
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
