//! Writes large outputs line by line, by non-temporal stores.
//!
//! An ordinary store reads the line that it writes into. If the output is larger than the caches,
//! this wastes one transfer in three. A streaming store of a whole line does not read, and leaves
//! the caches to the source. So the output is first assembled in a small stage, which shares its
//! position within a line with the target, and is then written in whole lines:
//!
//! ```text
//!   stage           [ . . 3 4 | 5 6 7 8 | 9 . . .   begin = 2, end = 9 with four elements
//!                                                   to a line
//!   target  . . . . [ . . 3 4 | 5 6 7 8 | 9 . . .   written at once: `3 4` by ordinary stores,
//!                                                   `5 6 7 8` streamed
//! ```

use std::mem::MaybeUninit;

use kaldera_base::simd::fence;

use crate::copy::axes::{Axis, Nest};
use crate::copy::bits::Bits;
use crate::copy::lines::{LINE, prefetch_row, stream};
use crate::copy::rows::{fill, pairs, row};

/// Bytes of the stage. With more, reading and writing take turns instead of going on at the same
/// time.
const STAGE: usize = 1024;

/// Bytes that are contiguous from which on it is worth going through the stage.
const SHORTEST_RUN: usize = 4 * LINE;

/// Distance in bytes of source by which a row is prefetched before it is read. The processor
/// itself prefetches within a row, not the next one.
const ROWS_AHEAD: usize = 6 << 10;

#[repr(C, align(64))]
struct Stage([MaybeUninit<u8>; STAGE]);

/// Writes elements from the lowest target to the highest.
struct Writer<T> {
    stage: Stage,
    /// The target of the first byte of the stage. A line begins there, possibly before the memory
    /// that can be written: hence only wrapping arithmetic on it.
    base: *mut T,
    /// The elements of the stage that are still to be written. Elements before `begin` are
    /// already at the target.
    begin: usize,
    end: usize,
}

impl<T: Bits> Writer<T> {
    const PER_LINE: usize = LINE / size_of::<T>();
    const CAPACITY: usize = STAGE / size_of::<T>();
    /// Distance in elements by which a long row is prefetched before it is read: the processor
    /// does not prefetch backwards or across gaps by itself.
    const AHEAD: usize = 2 * Self::CAPACITY;

    /// `dst` is aligned to the size of `T`.
    #[inline(always)]
    fn new(dst: *mut T) -> Self {
        let begin = dst.addr() % LINE / size_of::<T>();
        Self { stage: Stage([MaybeUninit::uninit(); STAGE]), base: dst.wrapping_sub(begin), begin, end: begin }
    }

    /// Address of the next element.
    #[inline(always)]
    fn target(&self) -> *mut T {
        self.base.wrapping_add(self.end)
    }

    /// Address in the stage of element `at`.
    #[inline(always)]
    fn staged(&mut self, at: usize) -> *mut T {
        self.stage.0.as_mut_ptr().cast::<T>().wrapping_add(at)
    }

    #[inline(always)]
    fn left(&self) -> usize {
        Self::CAPACITY - self.end
    }

    /// Marks `n` more elements as staged.
    ///
    /// # Safety
    /// They are, and there was room; their targets can be written.
    #[inline(always)]
    unsafe fn commit(&mut self, n: usize) {
        self.end += n;
        if self.end == Self::CAPACITY {
            // SAFETY: the caller's promise.
            unsafe { self.flush() };
        }
    }

    /// Continues at another target.
    ///
    /// # Safety
    /// All that was committed can be written; `dst` is aligned to the size of `T`.
    #[inline(always)]
    unsafe fn seek(&mut self, dst: *mut T) {
        if self.target() != dst {
            // SAFETY: the caller's promise.
            unsafe { self.flush_all() };
            self.begin = dst.addr() % LINE / size_of::<T>();
            (self.base, self.end) = (dst.wrapping_sub(self.begin), self.begin);
        }
    }

    /// Writes `n` elements that are `step` apart.
    ///
    /// # Safety
    /// They can be read, and their targets written.
    #[inline(always)]
    unsafe fn row(&mut self, mut src: *const T, step: isize, mut n: usize) {
        if step == 1 && n >= 2 * Self::PER_LINE {
            // SAFETY: the caller's promise.
            return unsafe { self.slice(src, n) };
        }
        while n > 0 {
            let part = n.min(self.left());
            if n > Self::AHEAD {
                prefetch_row(src.wrapping_offset(step.wrapping_mul(Self::AHEAD.cast_signed())), step, part);
            }
            // SAFETY: the caller's promise; the stage has room for this part.
            unsafe {
                row(src, step, self.staged(self.end), 1, part);
                self.commit(part);
            }
            src = src.wrapping_offset(step.wrapping_mul(part.cast_signed()));
            n -= part;
        }
    }

    /// Writes `n` contiguous elements, two lines at least: whole lines bypass the stage.
    ///
    /// # Safety
    /// As for [`row`](Self::row).
    #[inline(always)]
    unsafe fn slice(&mut self, src: *const T, n: usize) {
        let head = self.end.next_multiple_of(Self::PER_LINE) - self.end;
        let lines = (n - head) / Self::PER_LINE;
        let tail = head + lines * Self::PER_LINE;
        // SAFETY: the stage ends within a line, or at the end of one below its capacity, so that it
        // has room for the rest of the line, and then, being empty, for a tail below a line. The
        // base is moved by as much as is written there.
        unsafe {
            src.copy_to_nonoverlapping(self.staged(self.end), head);
            self.end += head;
            self.flush();
            stream(src.add(head).cast(), self.base.cast(), lines);
            self.base = self.base.wrapping_add(lines * Self::PER_LINE);
            src.add(tail).copy_to_nonoverlapping(self.staged(0), n - tail);
        }
        self.end = n - tail;
    }

    /// Writes `filler` up to the target `dst`.
    ///
    /// # Safety
    /// These targets can be written.
    #[inline(always)]
    unsafe fn fill_to(&mut self, dst: *mut T, filler: T) {
        let mut n = (dst.addr() - self.target().addr()) / size_of::<T>();
        while n > 0 {
            let part = n.min(self.left());
            // SAFETY: the caller's promise; the stage has room for this part.
            unsafe {
                fill(filler, self.staged(self.end), part);
                self.commit(part);
            }
            n -= part;
        }
    }

    /// Writes `n` elements that are `src_step` apart so that they are `dst_step` apart, with
    /// `filler` in between.
    ///
    /// # Safety
    /// As for [`row`](Self::row); the targets in between can be written as well.
    #[inline(always)]
    unsafe fn spread(&mut self, mut src: *const T, src_step: isize, dst_step: usize, mut n: usize, filler: T) {
        // The last one has no filler behind it; and a step may be longer than the stage.
        while n > 1 {
            let part = (n - 1).min(self.left() / dst_step);
            // SAFETY: the caller's promise; the stage has room for `part` times `dst_step`
            // elements.
            unsafe {
                if part == 0 {
                    self.row(src, 1, 1);
                    self.fill_to(self.target().add(dst_step - 1), filler);
                } else {
                    let to = self.staged(self.end);
                    match (src_step, dst_step) {
                        (_, 1) => row(src, src_step, to, 1, part),
                        (1, 2) => pairs(src, to, part, filler),
                        _ => {
                            fill(filler, to, part * dst_step);
                            row(src, src_step, to, dst_step.cast_signed(), part);
                        }
                    }
                    self.commit(part * dst_step);
                }
            }
            let done = part.max(1);
            src = src.wrapping_offset(src_step.wrapping_mul(done.cast_signed()));
            n -= done;
        }
        // SAFETY: the caller's promise.
        unsafe { self.row(src, 1, n) };
    }

    /// Writes the staged elements, except for an incomplete line at the end.
    ///
    /// # Safety
    /// All that was committed can be written.
    #[inline(always)]
    unsafe fn flush(&mut self) {
        let lines_end = self.end - self.end % Self::PER_LINE;
        let mut lines_begin = 0;
        if self.begin > 0 {
            if lines_end == 0 {
                return;
            }
            // The first line is shared with the memory before the target.
            lines_begin = Self::PER_LINE;
            let begin = self.begin;
            // SAFETY: the caller's promise.
            unsafe { self.staged(begin).copy_to_nonoverlapping(self.base.wrapping_add(begin), lines_begin - begin) };
            self.begin = 0;
        }
        // One pointer for both: a second borrow of the stage ends the first.
        let (stage, rest) = (self.staged(0), self.end - lines_end);
        // SAFETY: the caller's promise; the rest is shorter than a line, so it moves down without
        // overlapping itself, if it moves.
        unsafe {
            stream(
                stage.add(lines_begin).cast(),
                self.base.wrapping_add(lines_begin).cast(),
                (lines_end - lines_begin) / Self::PER_LINE,
            );
            if lines_end > 0 {
                stage.add(lines_end).copy_to_nonoverlapping(stage, rest);
            }
        }
        self.base = self.base.wrapping_add(lines_end);
        self.end = rest;
    }

    /// Writes all that is staged.
    ///
    /// # Safety
    /// As for [`flush`](Self::flush).
    #[inline(always)]
    unsafe fn flush_all(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.flush() };
        let (begin, end) = (self.begin, self.end);
        // SAFETY: the caller's promise.
        unsafe { self.staged(begin).copy_to_nonoverlapping(self.base.wrapping_add(begin), end - begin) };
        self.begin = end;
    }

    /// Writes everything, so that any thread that synchronises with this one sees it.
    ///
    /// # Safety
    /// As for [`flush`](Self::flush).
    #[inline(always)]
    unsafe fn finish(mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.flush_all() };
        fence();
    }
}

/// Returns `true` if a nest writes long enough runs for the stage.
#[inline(always)]
pub(super) fn suits<T: Bits>(nest: &Nest<T>) -> bool {
    nest.run() * size_of::<T>() >= SHORTEST_RUN
}

/// The distance from each row to the row to prefetch; 0 if there are no more rows.
#[inline(always)]
fn rows_ahead<T>(nest: &Nest<T>, inner: Axis) -> isize {
    let bytes = (inner.len * size_of::<T>()).saturating_mul(inner.src.unsigned_abs().max(1));
    let rows = (ROWS_AHEAD / bytes).clamp(1, 64).cast_signed();
    nest.axes().last().map_or(0, |axis| axis.src.wrapping_mul(rows))
}

/// Copies row by row; the innermost loop is the row, whose targets are contiguous.
///
/// # Safety
/// As for [`super::copy`]; targets are aligned to the size of `T`.
#[inline(always)]
pub(super) unsafe fn copy<T: Bits>(mut nest: Nest<T>) {
    let inner = nest.pop();
    let ahead = rows_ahead(&nest, inner);
    let mut writer = Writer::new(nest.dst);
    let mut pairs = nest.pairs();
    while let Some((src, dst)) = pairs.next() {
        if ahead != 0 {
            prefetch_row(src.wrapping_offset(ahead), inner.src, inner.len);
        }
        // SAFETY: the caller's promise.
        unsafe {
            writer.seek(dst);
            writer.row(src, inner.src, inner.len);
        }
    }
    // SAFETY: all that was committed are targets.
    unsafe { writer.finish() };
}

/// Copies row by row, and writes `filler` to everything else between `begin` and `end`.
///
/// # Safety
/// As for [`super::copy`]; all from `begin` to `end` can be written, and is aligned to the size of
/// `T`. The targets are there, and the loops visit them from the lowest to the highest.
#[inline(always)]
pub(super) unsafe fn embed<T: Bits>(mut nest: Nest<T>, begin: *mut T, end: *mut T, filler: T) {
    let inner = nest.pop();
    let ahead = rows_ahead(&nest, inner);
    let mut writer = Writer::new(begin);
    let mut pairs = nest.pairs();
    while let Some((src, dst)) = pairs.next() {
        if ahead != 0 {
            prefetch_row(src.wrapping_offset(ahead), inner.src, inner.len);
        }
        // SAFETY: the caller's promise.
        unsafe {
            writer.fill_to(dst, filler);
            writer.spread(src, inner.src, inner.dst.cast_unsigned(), inner.len, filler);
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        writer.fill_to(end, filler);
        writer.finish();
    }
}
