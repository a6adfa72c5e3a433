//! Large outputs, written from front to back past the caches.

use std::mem::MaybeUninit;

use super::{Simd, fenced};

/// Numbers that are being written from front to back: see [`past_caches`].
#[derive(Debug)]
pub struct PastCaches<'a> {
    rest: &'a mut [i32],
}

/// Calls `f` with a way to write `to` in whole lines past the caches, for outputs that are larger than these.
///
/// An ordinary store reads the line that it writes into: half of what goes over the bus, for nothing. What `f` does not write stays
/// as it was.
///
/// ```
/// use kaldera_base::simd::{Kernel, Simd, dispatch, past_caches};
///
/// struct Fill<'a>(&'a mut [i32]);
///
/// impl Kernel for Fill<'_> {
///     type Output = ();
///     #[inline(always)]
///     fn run<S: Simd>(self, s: S) {
///         past_caches(self.0, |out| {
///             out.append(&[7; 16][..out.until_line().min(out.left())]);
///             out.append_vectors(s, (0..out.left() / S::LANES).map(|_| s.splat_u32(7)));
///             out.append(&[7; 16][..out.left()]);
///         });
///     }
/// }
///
/// let mut to = [0; 100];
/// dispatch(Fill(&mut to));
/// assert_eq!(to, [7; 100]);
/// ```
#[inline(always)]
pub fn past_caches<R>(to: &mut [i32], f: impl FnOnce(&mut PastCaches<'_>) -> R) -> R {
    // Here, where nobody can forget it.
    fenced(|| f(&mut PastCaches { rest: to }))
}

impl PastCaches<'_> {
    /// How many numbers are still to be written.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// How many numbers go before the next line begins.
    #[inline(always)]
    pub fn until_line(&self) -> usize {
        /// Bytes of a line of the cache.
        const LINE: usize = 64;
        self.rest.as_ptr().align_offset(LINE)
    }

    #[inline(always)]
    fn take(&mut self, len: usize) -> &mut [i32] {
        let (to, rest) = std::mem::take(&mut self.rest).split_at_mut(len);
        self.rest = rest;
        to
    }

    /// Writes `from` after what was written before, through the caches: for what is less than a line.
    ///
    /// # Panics
    /// If there is no room for so many.
    #[inline(always)]
    pub fn append(&mut self, from: &[i32]) {
        self.take(from.len()).copy_from_slice(from);
    }

    /// Writes the lanes of vectors after what was written before; past the caches if a line begins there.
    ///
    /// # Panics
    /// If there is no room for so many.
    #[inline(always)]
    pub fn append_vectors<S: Simd>(&mut self, s: S, vectors: impl ExactSizeIterator<Item = S::U32>) {
        let to = self.take(vectors.len() * S::LANES);
        let aligned = to.as_ptr().addr().is_multiple_of(4 * S::LANES);
        let to = to.chunks_exact_mut(S::LANES);
        if !aligned {
            return to.zip(vectors).for_each(|(to, v)| s.store_partial_i32(v, to));
        }
        for (to, v) in to.zip(vectors) {
            // SAFETY: `LANES` numbers begin there at a multiple of their size, and get the bits of as many. `past_caches` ends with a
            // fence, before which nothing but this can have them.
            unsafe {
                let to = std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<MaybeUninit<f32>>(), S::LANES);
                s.stream(s.of_bits(v), to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, available, dispatch_at};
    use super::*;

    /// Some numbers, then vectors.
    struct Count<'a>(usize, &'a mut [i32]);
    impl Kernel for Count<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            past_caches(self.1, |out| {
                let first: Vec<i32> = (0..).take(self.0).collect();
                out.append(&first);
                let vector = |i: usize| s.add_u32(s.lane_indexes(), s.splat_u32((self.0 + i * S::LANES) as u32));
                out.append_vectors(s, (0..out.left() / S::LANES).map(vector));
                let start = out.left() as i32;
                out.append(&(0..start).map(|i| 100 - start + i).collect::<Vec<_>>());
            });
        }
    }

    #[test]
    fn numbers_go_anywhere() {
        for level in available() {
            for (begin, first) in (0..17).flat_map(|begin| (0..20).map(move |first| (begin, first))) {
                let mut to = vec![-1; begin + 100];
                dispatch_at(level, Count(first, &mut to[begin..]));
                let (before, to) = to.split_at(begin);
                assert!(before.iter().all(|&x| x == -1) && (0..100).eq(to.iter().copied()), "{level} {begin} {first}");
            }
        }
    }

    #[test]
    fn a_line_begins_where_it_is_said() {
        let mut to = [0; 40];
        past_caches(&mut to, |out| {
            out.append(&[1; 16][..out.until_line()]);
            assert_eq!(out.until_line(), 0);
            out.append(&[1; 3]);
            assert_eq!(out.until_line(), 13);
        });
    }

    #[test]
    #[should_panic]
    fn there_is_no_room_beyond_the_end() {
        past_caches(&mut [0; 3], |out| out.append(&[0; 4]));
    }
}
