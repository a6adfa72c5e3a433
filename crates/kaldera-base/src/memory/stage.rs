//! Large results of many pieces, written past the caches.

use std::mem::MaybeUninit;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::simd::{Level, level};

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// One line, which may hold anything.
type Line = [MaybeUninit<u8>; LINE];

/// Bytes from which on what was gathered goes on its way: few, so that they are still in the first cache.
const ENOUGH: usize = 2 << 10;

/// Bytes of a piece at most.
const PIECE: usize = 4 << 10;

/// The gathered bytes, the last piece among them, and a line before them that begins where the result's does.
#[repr(C, align(64))]
struct Lines([MaybeUninit<u8>; LINE + ENOUGH + PIECE + LINE]);

/// Where the pieces of a large result are put, one behind the other: see [`staged`].
pub struct Stage<'a, T> {
    lines: &'a mut Lines,
    /// Bytes before the gathered ones, up to the first multiple of a line in the result.
    skipped: usize,
    /// Where the gathered bytes end.
    filled: usize,
    /// What is not written yet.
    to: &'a mut [MaybeUninit<u8>],
    of: std::marker::PhantomData<T>,
}

/// Calls `f` with a stage that fills `to` from the front, in whole lines past the caches: for results larger than these.
///
/// An ordinary store reads the line that it writes into, and throws another one out of the cache. Pieces are gathered in the first cache
/// until they make whole lines. What `f` puts nothing into stays as it was.
///
/// ```
/// use std::mem::MaybeUninit;
///
/// let mut to = vec![MaybeUninit::new(0); 1000];
/// kaldera_base::memory::staged(&mut to, |stage| {
///     for i in 0..300 {
///         stage.next(3).fill(MaybeUninit::new(i));
///     }
/// });
/// // SAFETY: every element was a number from the beginning.
/// let to: Vec<i32> = to.iter().map(|x| unsafe { x.assume_init() }).collect();
/// assert_eq!((to[899], to[900]), (299, 0));
/// ```
pub fn staged<T, R>(to: &mut [MaybeUninit<T>], f: impl FnOnce(&mut Stage<'_, T>) -> R) -> R {
    /// Orders what was written before all that follows, even if `f` panics. It stays here, where nobody can forget it.
    struct Fence;
    impl Drop for Fence {
        fn drop(&mut self) {
            crate::simd::fence();
        }
    }
    let bytes = size_of_val(to);
    // SAFETY: the same memory, of which nothing is said but that it may be anything.
    let to = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<MaybeUninit<u8>>(), bytes) };
    let skipped = to.as_ptr().addr() % LINE;
    let mut lines = Lines([MaybeUninit::uninit(); _]);
    let _fence = Fence;
    let mut stage = Stage { lines: &mut lines, skipped, filled: skipped, to, of: std::marker::PhantomData };
    let result = f(&mut stage);
    stage.write(stage.filled);
    result
}

impl<T> Stage<'_, T> {
    /// The most elements that a piece can have.
    pub const MOST: usize = if size_of::<T>() == 0 { usize::MAX } else { PIECE / size_of::<T>() };

    /// Room for the next `len` elements of the result. Who got it fills it; what is there when the next piece is asked for, or at the end,
    /// is what the result will hold.
    ///
    /// # Panics
    /// If these are more than [`MOST`](Self::MOST), or than the result has left, or if elements are aligned to more than 64 bytes.
    #[inline(always)]
    pub fn next(&mut self, len: usize) -> &mut [MaybeUninit<T>] {
        if self.filled - self.skipped >= ENOUGH {
            self.write(self.filled / LINE * LINE);
        }
        let bytes = len * size_of::<T>();
        assert!(align_of::<T>() <= LINE, "elements that can begin where any line does");
        assert!(len <= Self::MOST && self.filled - self.skipped + bytes <= self.to.len(), "a piece of what is left");
        let room = &mut self.lines.0[self.filled..self.filled + bytes];
        self.filled += bytes;
        // SAFETY: room for `len` elements, which may be anything. It is aligned as they are: whole elements lie between it and the
        // beginning of the result, which is as far from a line as that of the stage.
        unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), len) }
    }

    /// Writes the gathered bytes up to `end`.
    #[inline(never)]
    fn write(&mut self, end: usize) {
        let (to, rest) = std::mem::take(&mut self.to).split_at_mut(end - self.skipped);
        self.to = rest;
        // Only the first time there is something to skip, and only the last time is there less than a line at the end.
        let first = self.skipped.next_multiple_of(LINE).min(end);
        let (head, to) = to.split_at_mut(first - self.skipped);
        head.copy_from_slice(&self.lines.0[self.skipped..first]);
        let (from, from_rest) = self.lines.0[first..end].as_chunks();
        let (to, to_rest) = to.as_chunks_mut();
        copy_lines(from, to);
        to_rest.copy_from_slice(from_rest);
        // Less than a line, or a line in which nothing is left to be written: one that is copied whole has no branches.
        self.lines.0.copy_within(end..end + LINE, 0);
        (self.skipped, self.filled) = (0, self.filled - end);
    }
}

/// Copies lines past the caches. All begin at multiples of their size.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn copy_lines(from: &[Line], to: &mut [Line]) {
    let begins_line = |lines: &[Line]| lines.is_empty() || lines.as_ptr().addr().is_multiple_of(LINE);
    debug_assert!(begins_line(from) && begins_line(to));
    match level() {
        // SAFETY: this level is only where the processor has AVX-512.
        Level::Avx512 => unsafe { copy_lines_whole(from, to) },
        _ => from.iter().zip(to).for_each(|(from, to)| copy_line(from, to)),
    }
}

/// Copies lines in a vector each.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx512f")]
fn copy_lines_whole(from: &[Line], to: &mut [Line]) {
    for (from, to) in from.iter().zip(to) {
        // SAFETY: as in `copy_line`, but that the caller knows of the instructions.
        unsafe {
            std::arch::asm!(
                "vmovaps {line}, [{from}]",
                "vmovntps [{to}], {line}",
                from = in(reg) from,
                to = in(reg) to,
                line = out(zmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// Copies a line in four vectors.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn copy_line(from: &Line, to: &mut Line) {
    // SAFETY: every x86-64 has the instructions, which read one line and write another. They are not the compiler's, because a vector of
    // bytes that may be anything is not what its intrinsics take. Who may read the line is told by the fence of `staged`.
    unsafe {
        std::arch::asm!(
            "movaps {a}, [{from}]",
            "movaps {b}, [{from} + 16]",
            "movaps {c}, [{from} + 32]",
            "movaps {d}, [{from} + 48]",
            "movntps [{to}], {a}",
            "movntps [{to} + 16], {b}",
            "movntps [{to} + 32], {c}",
            "movntps [{to} + 48], {d}",
            from = in(reg) from,
            to = in(reg) to,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn copy_lines(from: &[Line], to: &mut [Line]) {
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills `to` with numbers from 0 on, in pieces of these lengths, again and again, until `len` are there.
    fn count<T: Copy>(to: &mut [MaybeUninit<T>], len: usize, pieces: &[usize], number: impl Fn(usize) -> T) {
        staged(to, |stage| {
            let mut done = 0;
            for piece in pieces.iter().cycle() {
                let piece = (*piece).min(len - done);
                for (i, to) in stage.next(piece).iter_mut().enumerate() {
                    to.write(number(done + i));
                }
                done += piece;
                if done == len {
                    break;
                }
            }
        });
    }

    fn check<T: Copy + PartialEq + std::fmt::Debug>(number: impl Fn(usize) -> T) {
        let other = number(99_999);
        for (begin, pieces) in
            [(0, &[1][..]), (1, &[3, 0, 17]), (7, &[64, 5]), (16, &[Stage::<T>::MOST, 1]), (31, &[100])]
        {
            for len in [1, 15, 16, 100, 5000] {
                let mut to = vec![MaybeUninit::new(other); begin + len + 40];
                count(&mut to[begin..begin + len + 20], len, pieces, &number);
                // SAFETY: each held a number from the beginning.
                let to: Vec<T> = to.into_iter().map(|x| unsafe { x.assume_init() }).collect();
                let expected = |i: usize| if (begin..begin + len).contains(&i) { number(i - begin) } else { other };
                assert!(to.iter().enumerate().all(|(i, &x)| x == expected(i)), "{len} in {pieces:?} from {begin} on");
            }
        }
    }

    #[test]
    fn pieces_come_one_behind_the_other_whatever_they_hold() {
        check(|i| i as u8);
        check(|i| i as u16);
        check(|i| i as f32);
        check(|i| i as i64);
        check(|i| [i as u32, 7, 9]);
        check(|i| (i as u64, i as u8));
        check(|i| Some(i as u8));
        check(|_| ());
    }

    #[test]
    fn pointers_stay_pointers() {
        let names: Vec<String> = (0..3000).map(|i| i.to_string()).collect();
        let mut to = vec![MaybeUninit::new(""); 3000];
        count(&mut to, 3000, &[7], |i| &names[i]);
        // SAFETY: each held a string from the beginning.
        assert!(to.iter().zip(&names).all(|(a, b)| unsafe { a.assume_init() } == b));
    }

    #[test]
    #[should_panic(expected = "what is left")]
    fn there_is_no_room_beyond_the_end() {
        staged(&mut [MaybeUninit::new(0); 3], |stage| stage.next(2).len() + stage.next(2).len());
    }

    #[test]
    #[should_panic(expected = "what is left")]
    fn a_piece_has_an_upper_bound() {
        staged(&mut vec![MaybeUninit::new(0); 3 * PIECE], |stage| stage.next(PIECE / 4 + 1).len());
    }
}
