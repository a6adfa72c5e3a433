//! Rows of numbers, put one behind the other past the caches.

use std::mem::MaybeUninit;

use super::{Simd, fenced};

/// Room for rows past the caches: see [`rows_past_caches`].
#[derive(Debug)]
pub struct RoomPastCaches<'a> {
    to: &'a mut [MaybeUninit<f32>],
    written: usize,
}

/// Calls `f` with room for rows, which are written in whole lines past the caches: for results that are larger than these. Returns how many numbers of
/// `to` were written, from the first on; the others stay as they were.
///
/// An ordinary store reads the line that it writes into, and throws another one out of the cache. Where a row ends amid a line, its end waits in a vector
/// for the next row.
///
/// ```
/// use std::mem::MaybeUninit;
///
/// use kaldera_base::simd::{Kernel, RoomPastCaches, Simd, dispatch, rows_past_caches};
///
/// struct Twice<'a, 'r>(&'a [f32], &'a mut RoomPastCaches<'r>);
///
/// impl Kernel for Twice<'_, '_> {
///     type Output = ();
///     #[inline(always)]
///     fn run<S: Simd>(self, s: S) {
///         let mut rows = self.1.rows(s);
///         rows.append(self.0);
///         rows.append(self.0);
///         rows.finish();
///     }
/// }
///
/// let mut to = [MaybeUninit::new(0.0); 7];
/// assert_eq!(rows_past_caches(&mut to, |room| dispatch(Twice(&[1.0, 2.0, 3.0], room))), 6);
/// // SAFETY: each was a number from the beginning.
/// assert_eq!(to.map(|x| unsafe { x.assume_init() }), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 0.0]);
/// ```
pub fn rows_past_caches(to: &mut [MaybeUninit<f32>], f: impl FnOnce(&mut RoomPastCaches<'_>)) -> usize {
    let mut room = RoomPastCaches { to, written: 0 };
    // Here, where nobody can forget it.
    fenced(|| f(&mut room));
    room.written
}

impl RoomPastCaches<'_> {
    /// The room as one for rows, with the vectors of `s`.
    #[inline(always)]
    pub fn rows<S: Simd>(&mut self, s: S) -> RowsPastCaches<'_, S> {
        let to = &mut self.to[self.written..];
        let foreign = to.as_ptr().addr() / size_of::<f32>() % S::LANES;
        RowsPastCaches {
            s,
            last: s.splat(0.0),
            pending: foreign,
            foreign,
            len: to.len(),
            to,
            written: &mut self.written,
        }
    }
}

/// Rows that are being put one behind the other.
#[derive(Debug)]
pub struct RowsPastCaches<'a, S: Simd> {
    s: S,
    /// The last `LANES` numbers of all rows so far.
    last: S::F32,
    /// How many of them are still to be written: less than `LANES`.
    pending: usize,
    /// How many of these only stand for what lies before the room in its first line.
    foreign: usize,
    /// How many numbers there was room for.
    len: usize,
    /// What is not written yet, from the pending numbers on.
    to: &'a mut [MaybeUninit<f32>],
    /// How many numbers of the room are written, once these rows are.
    written: &'a mut usize,
}

impl<S: Simd> RowsPastCaches<'_, S> {
    /// Puts `row` after the rows before.
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline(always)]
    pub fn append(&mut self, row: &[f32]) {
        assert!(row.len() <= self.to.len() - (self.pending - self.foreign), "room for a row");
        if row.len() < S::LANES {
            return self.append_short(row);
        }
        let s = self.s;
        let mut at = S::LANES - self.pending;
        self.write_line(s.load(row));
        let (to, rest) = std::mem::take(&mut self.to).split_at_mut((row.len() - at) / S::LANES * S::LANES);
        self.to = rest;
        for to in to.chunks_exact_mut(S::LANES) {
            // SAFETY: the line behind one that was written, and `rows_past_caches` ends with a fence, before which
            // nothing but this can have it.
            unsafe { s.stream(s.load(&row[at..]), to) };
            at += S::LANES;
        }
        self.pending = row.len() - at;
        self.last = s.load(&row[row.len() - S::LANES..]);
    }

    /// Writes what of the last row has waited for the next one. Without this call, no row counts as written.
    pub fn finish(mut self) {
        let line = self.window(self.last, S::LANES - self.pending);
        self.write_first(line, self.pending);
        *self.written += self.len - self.to.len();
    }

    #[inline(always)]
    fn append_short(&mut self, row: &[f32]) {
        let numbers = self.s.load_partial(row, self.last);
        let pending = self.pending + row.len();
        self.pending = if pending < S::LANES {
            pending
        } else {
            self.write_line(numbers);
            pending - S::LANES
        };
        self.last = self.window(numbers, row.len());
    }

    /// The lanes from `first` on of the last numbers, then of `next`.
    #[inline(always)]
    fn window(&self, next: S::F32, first: usize) -> S::F32 {
        let s = self.s;
        s.permute(self.last, next, s.add_u32(s.lane_indexes(), s.splat_u32(first as u32)))
    }

    /// Writes the pending numbers, and so many of `next` that they make a line.
    #[inline(always)]
    fn write_line(&mut self, next: S::F32) {
        let line = self.window(next, S::LANES - self.pending);
        if self.foreign > 0 {
            return self.write_first(line, S::LANES);
        }
        let (to, rest) = std::mem::take(&mut self.to).split_at_mut(S::LANES);
        self.to = rest;
        // SAFETY: what was written before ends with a line, and `rows_past_caches` with a fence, before which nothing but this can have it.
        unsafe { self.s.stream(line, to) };
    }

    /// Writes the lanes below `end`, without those that stand for what lies before, through the caches.
    #[cold]
    fn write_first(&mut self, line: S::F32, end: usize) {
        let s = self.s;
        let own = s.permute(line, line, s.add_u32(s.lane_indexes(), s.splat_u32(self.foreign as u32)));
        let (to, rest) = std::mem::take(&mut self.to).split_at_mut(end - self.foreign);
        s.store_partial_uninit(own, to);
        (self.foreign, self.to) = (0, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, available, dispatch, dispatch_at};
    use super::*;

    /// Rows of these lengths, again and again, of numbers from 0 on, as many as `to` has but for 20.
    struct Count<'a, 'r>(&'a [usize], &'a mut RoomPastCaches<'r>);
    impl Kernel for Count<'_, '_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let numbers: Vec<f32> = (0..self.1.to.len() - 20).map(|i| i as f32).collect();
            let mut rows = self.1.rows(s);
            let mut left = &numbers[..];
            for len in self.0.iter().cycle() {
                let (row, rest) = left.split_at((*len).min(left.len()));
                rows.append(row);
                left = rest;
                if left.is_empty() {
                    break;
                }
            }
            rows.finish();
        }
    }

    #[test]
    fn rows_come_one_behind_the_other() {
        for level in available() {
            for lengths in [&[1][..], &[3, 0, 17], &[64, 5], &[1000, 1], &[100], &[8, 16, 7, 15, 24], &[32]] {
                for (begin, len) in (0..17).flat_map(|begin| [0, 1, 15, 16, 17, 100, 3000].map(|len| (begin, len))) {
                    let mut to = vec![MaybeUninit::new(-1.0); begin + len + 20];
                    let written = rows_past_caches(&mut to[begin..], |room| dispatch_at(level, Count(lengths, room)));
                    assert_eq!(written, len);
                    // SAFETY: each was a number from the beginning.
                    let to: Vec<f32> = to.into_iter().map(|x| unsafe { x.assume_init() }).collect();
                    let number = |i: usize| if (begin..begin + len).contains(&i) { (i - begin) as f32 } else { -1.0 };
                    assert!((0..to.len()).map(number).eq(to), "{level} {lengths:?} {begin} {len}");
                }
            }
        }
    }

    #[test]
    fn any_bits_stay_as_they_are() {
        struct Copy<'a, 'r>(&'a [f32], &'a mut RoomPastCaches<'r>);
        impl Kernel for Copy<'_, '_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, s: S) {
                for half in self.0.chunks(500) {
                    let mut rows = self.1.rows(s);
                    half.chunks(21).for_each(|row| rows.append(row));
                    rows.finish();
                }
            }
        }
        let bits: Vec<u32> = (0..1000_u32).map(|i| i.wrapping_mul(0x9e37_79b9) | 0x7f80_0000).collect();
        let numbers: Vec<f32> = bits.iter().map(|&x| f32::from_bits(x)).collect();
        for level in available() {
            let mut to = vec![MaybeUninit::new(0.0); 1000];
            assert_eq!(rows_past_caches(&mut to, |room| dispatch_at(level, Copy(&numbers, room))), 1000);
            // SAFETY: each was a number from the beginning.
            assert!(to.iter().map(|x| unsafe { x.assume_init() }.to_bits()).eq(bits.iter().copied()), "{level}");
        }
    }

    struct Two<'a, 'r>(bool, &'a mut RoomPastCaches<'r>);
    impl Kernel for Two<'_, '_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let mut rows = self.1.rows(s);
            rows.append(&[1.0, 2.0]);
            rows.append(&[3.0, 4.0]);
            if self.0 {
                rows.finish();
            }
        }
    }

    #[test]
    fn what_is_not_finished_does_not_count() {
        let written = |finish| rows_past_caches(&mut [MaybeUninit::uninit(); 30], |room| dispatch(Two(finish, room)));
        assert_eq!((written(true), written(false)), (4, 0));
    }

    #[test]
    #[should_panic(expected = "room for a row")]
    fn there_is_no_room_beyond_the_end() {
        rows_past_caches(&mut [MaybeUninit::uninit(); 3], |room| dispatch(Two(true, room)));
    }
}
