//! Copies in which the target runs along another axis than the source: transposes.

use std::mem::MaybeUninit;
use std::ops::Range;

use kaldera_base::simd::{MAX_LANES, Simd, fence};

use crate::copy::axes::{Axis, Nest};
use crate::copy::bits::Bits;
use crate::copy::lines::LINE;
use crate::copy::rows::row;

/// A tile has this many squares along each side: 64 elements of four bytes with AVX-512. So a
/// tile consists of whole lines, several per page of memory, and its source lines stay in the
/// first-level cache.
const SQUARES: usize = 4;

/// The sides of a tile that has no registers made for it.
const TILE: usize = 32;

/// Up to this, a side is short, and tiles are [`LONG`] along the other one.
const SHORT: usize = 8;
const LONG: usize = 512;

/// Takes out the innermost loop, along which the target runs, and loop `at`, along which the source
/// does; made to run upwards.
#[inline(always)]
fn planes<T>(nest: &mut Nest<T>, at: usize) -> (Axis, Axis) {
    let (p, q) = (nest.pop(), nest.remove(at));
    if q.src >= 0 {
        return (p, q);
    }
    let (src, dst) = q.reach();
    (nest.src, nest.dst) = (nest.src.wrapping_offset(src), nest.dst.wrapping_offset(dst));
    (p, Axis { len: q.len, src: q.src.wrapping_neg(), dst: q.dst.wrapping_neg() })
}

/// Copies plane by plane: the innermost loop, and loop `at`, which has the shortest steps through
/// the source.
///
/// # Safety
/// As for [`super::copy`].
#[inline(always)]
pub(super) unsafe fn copy<T: Copy>(mut nest: Nest<T>, at: usize) {
    let (p, q) = planes(&mut nest, at);
    let mut pairs = nest.pairs();
    while let Some((src, dst)) = pairs.next() {
        // SAFETY: the caller's promise.
        unsafe { plane(src, dst, p, q) };
    }
}

/// As [`copy`], with registers and non-temporal stores.
///
/// # Safety
/// As for [`super::copy`]; with `stream`, targets are aligned to the size of `T`.
#[inline(always)]
pub(super) unsafe fn copy_bits<S: Simd, T: Bits>(s: S, mut nest: Nest<T>, at: usize, stream: bool) {
    let (p, q) = planes(&mut nest, at);
    let side = Squares::side::<S, T>(s);
    let whole = p.dst == 1 && q.src == 1 && p.len >= side && q.len >= side;
    if whole && matches!(size_of::<T>(), 4 | 8) {
        let lines = side * size_of::<T>() == LINE && (q.dst.unsigned_abs() * size_of::<T>()).is_multiple_of(LINE);
        let squares = Squares { rows: p.len, cols: q.len, src_step: p.src, dst_step: q.dst, stream: stream && lines };
        let mut pairs = nest.pairs();
        while let Some((src, dst)) = pairs.next() {
            // SAFETY: the caller's promise.
            unsafe { squares.copy(s, src, dst) };
        }
        fence();
    } else {
        let mut pairs = nest.pairs();
        while let Some((src, dst)) = pairs.next() {
            // SAFETY: the caller's promise.
            unsafe { plane(src, dst, p, q) };
        }
    }
}

/// A plane in squares that fit into registers: rows of the source become columns of the target.
/// Both have rows without gaps.
#[derive(Clone, Copy)]
struct Squares {
    /// Of the source, at least a square's side.
    rows: usize,
    cols: usize,
    /// From row to row.
    src_step: isize,
    dst_step: isize,
    /// True if all rows of the target begin at the same position in a line, and are written by
    /// non-temporal stores.
    stream: bool,
}

impl Squares {
    #[inline(always)]
    fn side<S: Simd, T>(_: S) -> usize {
        S::LANES * 4 / size_of::<T>()
    }

    /// # Safety
    /// All elements can be read and written; `T` has 4 or 8 bytes.
    #[inline(always)]
    unsafe fn copy<S: Simd, T: Bits>(self, s: S, src: *const T, dst: *mut T) {
        let side = Self::side::<S, T>(s);
        let tile = SQUARES * side;
        // Rows of the target begin anywhere in a line, all at the same position. Squares that are
        // streamed begin with the next line.
        let head = if self.stream { (LINE - dst.addr() % LINE) % LINE / size_of::<T>() } else { 0 };
        for col in (0..self.cols).step_by(tile) {
            let cols = col..self.cols.min(col + tile);
            let mut row = 0;
            while row < self.rows {
                let end = if row < head { head } else { self.rows.min(row + tile) };
                // SAFETY: the caller's promise.
                unsafe { self.squares(s, src, dst, row..end, cols.clone()) };
                row = end;
            }
        }
    }

    /// # Safety
    /// As for [`copy`](Self::copy). With `stream`, a line of the target begins at the first row,
    /// unless there are fewer than a square has.
    #[inline(always)]
    unsafe fn squares<S: Simd, T: Bits>(
        self,
        s: S,
        src: *const T,
        dst: *mut T,
        rows: Range<usize>,
        cols: Range<usize>,
    ) {
        let side = Self::side::<S, T>(s);
        for row in rows.clone().step_by(side) {
            let count = side.min(rows.end - row);
            for col in cols.clone().step_by(side) {
                // Where columns are left over, the last square overlaps the one before and writes
                // the same again.
                let (row, col) = (row.cast_signed(), col.min(self.cols - side).cast_signed());
                let src = src.wrapping_offset(row * self.src_step + col);
                let dst = dst.wrapping_offset(col * self.dst_step + row);
                // SAFETY: the caller's promise.
                unsafe {
                    match (count == side, self.stream) {
                        (true, true) => self.square::<S, T, true>(s, src, dst),
                        (true, false) => self.square::<S, T, false>(s, src, dst),
                        (false, _) => self.part(s, src, dst, count),
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`copy`](Self::copy); with `STREAM`, the rows of the target begin with a line.
    #[inline(always)]
    unsafe fn square<S: Simd, T: Bits, const STREAM: bool>(self, s: S, src: *const T, dst: *mut T) {
        let mut square = [s.splat(0.0); MAX_LANES];
        let square = &mut square[..Self::side::<S, T>(s)];
        for (i, v) in square.iter_mut().enumerate() {
            // SAFETY: the caller's promise, for this row.
            *v = unsafe { self.load(s, src, i) };
        }
        Self::transpose::<S, T>(s, square);
        for (i, &v) in square.iter().enumerate() {
            // SAFETY: the caller's promise, for this row.
            let to = unsafe { self.target(dst, i, S::LANES) };
            match STREAM {
                // SAFETY: the caller's promise; `copy_bits` ends with a fence.
                true => unsafe { s.stream(v, to) },
                false => s.store_uninit(v, to),
            }
        }
    }

    /// A square of which the source has only the first `rows`.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    #[inline(always)]
    unsafe fn part<S: Simd, T: Bits>(self, s: S, src: *const T, dst: *mut T, rows: usize) {
        let mut square = [s.splat(0.0); MAX_LANES];
        let square = &mut square[..Self::side::<S, T>(s)];
        for (i, v) in square.iter_mut().enumerate().take(rows) {
            // SAFETY: the caller's promise, for this row.
            *v = unsafe { self.load(s, src, i) };
        }
        Self::transpose::<S, T>(s, square);
        for (i, &v) in square.iter().enumerate() {
            // SAFETY: the caller's promise, for this row.
            s.store_partial_uninit(v, unsafe { self.target(dst, i, rows * size_of::<T>() / 4) });
        }
    }

    /// # Safety
    /// The first side of elements of row `i` can be read.
    #[inline(always)]
    unsafe fn load<S: Simd, T: Bits>(self, s: S, src: *const T, i: usize) -> S::F32 {
        let from = src.wrapping_offset(i.cast_signed() * self.src_step).cast();
        // SAFETY: a side of elements is `LANES` times four bytes, which as bits are floats.
        s.load(unsafe { std::slice::from_raw_parts(from, S::LANES) })
    }

    /// The first elements of row `i` of the target, as four bytes each.
    ///
    /// # Safety
    /// They can be written, and no other code accesses them.
    #[inline(always)]
    unsafe fn target<'a, T>(self, dst: *mut T, i: usize, len: usize) -> &'a mut [MaybeUninit<f32>] {
        let to = dst.wrapping_offset(i.cast_signed() * self.dst_step).cast();
        // SAFETY: the caller's promise; the memory may be anything.
        unsafe { std::slice::from_raw_parts_mut(to, len) }
    }

    #[inline(always)]
    fn transpose<S: Simd, T>(s: S, square: &mut [S::F32]) {
        match size_of::<T>() {
            4 => s.transpose(square),
            _ => s.transpose_pairs(square),
        }
    }
}

/// A plane in tiles, row by row, so that lines of the source that serve several rows are still in
/// the first cache.
///
/// # Safety
/// All elements can be read and written.
#[inline(always)]
unsafe fn plane<T: Copy>(src: *const T, dst: *mut T, p: Axis, q: Axis) {
    let (along, across, long, short) = match () {
        () if p.len <= SHORT && p.len < q.len => (q, p, LONG, SHORT),
        () if q.len <= SHORT => (p, q, LONG, SHORT),
        () => (p, q, TILE, TILE),
    };
    for row0 in (0..across.len).step_by(short) {
        for begin in (0..along.len).step_by(long) {
            let n = long.min(along.len - begin);
            for at in row0..across.len.min(row0 + short) {
                let (at, begin) = (at.cast_signed(), begin.cast_signed());
                let src = src.wrapping_offset(begin * along.src + at * across.src);
                let dst = dst.wrapping_offset(begin * along.dst + at * across.dst);
                // SAFETY: the caller's promise.
                unsafe { row(src, along.src, dst, along.dst, n) };
            }
        }
    }
}
