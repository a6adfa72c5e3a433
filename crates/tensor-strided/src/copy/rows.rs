//! Copies along one axis, by class of the two steps.

use std::mem::MaybeUninit;

use kaldera_base::memory::prefetch_at;

use crate::copy::axes::{Axis, Nest};
use crate::copy::lines::LINE;

/// A row of fewer elements is not worth vectors.
const SHORT: usize = 16;

/// Copies `n` elements that are `src_step` apart to targets that are `dst_step` apart.
///
/// # Safety
/// All of them can be read and written, and no target is a source.
#[inline(always)]
pub(super) unsafe fn row<T: Copy>(src: *const T, src_step: isize, dst: *mut T, dst_step: isize, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match (src_step, dst_step) {
            (1, 1) => contiguous(src, dst, n),
            (-1, 1) => steps::<T, -1, 1>(src, dst, n),
            (0, 1) => fill(src.read(), dst, n),
            (2, 1) => steps::<T, 2, 1>(src, dst, n),
            (-2, 1) => steps::<T, -2, 1>(src, dst, n),
            (3, 1) => steps::<T, 3, 1>(src, dst, n),
            (4, 1) => steps::<T, 4, 1>(src, dst, n),
            (1, 2) => steps::<T, 1, 2>(src, dst, n),
            (1, 3) => steps::<T, 1, 3>(src, dst, n),
            (1, 4) => steps::<T, 1, 4>(src, dst, n),
            _ if src_step.unsigned_abs().saturating_mul(size_of::<T>()) < LINE => any(src, src_step, dst, dst_step, n),
            _ => far(src, src_step, dst, dst_step, n),
        }
    }
}

/// Copies short rows in pieces of 16 bytes, of which the last may overlap the one before; a call
/// of `memcpy` would take longer.
///
/// # Safety
/// As for [`row`].
#[inline(always)]
unsafe fn contiguous<T: Copy>(src: *const T, dst: *mut T, n: usize) {
    const PIECE: usize = 16;
    const LONGEST: usize = 16 * PIECE;
    type Piece = MaybeUninit<[u8; PIECE]>;
    let bytes = n * size_of::<T>();
    if !(PIECE..=LONGEST).contains(&bytes) {
        // SAFETY: the caller's promise.
        return unsafe { src.copy_to_nonoverlapping(dst, n) };
    }
    let piece = |at: usize| {
        let (from, to) = (src.wrapping_byte_add(at).cast::<Piece>(), dst.wrapping_byte_add(at).cast::<Piece>());
        // SAFETY: the piece is within the row.
        unsafe { to.write_unaligned(from.read_unaligned()) };
    };
    for at in (0..bytes - PIECE + 1).step_by(PIECE) {
        piece(at);
    }
    piece(bytes - PIECE);
}

/// `n` times the same value.
///
/// # Safety
/// All targets can be written.
#[inline(always)]
pub(super) unsafe fn fill<T: Copy>(value: T, dst: *mut T, n: usize) {
    for i in 0..n {
        // SAFETY: the caller's promise.
        unsafe { dst.add(i).write(value) };
    }
}

/// Copies `n` contiguous elements, and writes `filler` after each of them. Two passes, of fillers
/// and then of elements between them, would take twice the time.
///
/// It also writes a filler after the last one, since the last element of a row, which has none
/// behind it, never comes here.
///
/// # Safety
/// All sources can be read, and the `2 * n` targets written.
#[inline(always)]
pub(super) unsafe fn pairs<T: Copy>(src: *const T, dst: *mut T, n: usize, filler: T) {
    for i in 0..n {
        // SAFETY: the caller's promise.
        unsafe { dst.cast::<[T; 2]>().add(i).write([src.add(i).read(), filler]) };
    }
}

/// Steps that the compiler knows, and so can make shuffles of.
///
/// # Safety
/// As for [`row`].
#[inline(always)]
unsafe fn steps<T: Copy, const SRC: isize, const DST: isize>(src: *const T, dst: *mut T, n: usize) {
    for i in 0..n.cast_signed() {
        // SAFETY: the caller's promise.
        unsafe { dst.offset(i * DST).write(src.offset(i * SRC).read()) };
    }
}

/// # Safety
/// As for [`row`].
#[inline(always)]
unsafe fn any<T: Copy>(mut src: *const T, src_step: isize, mut dst: *mut T, dst_step: isize, n: usize) {
    for _ in 0..n {
        // SAFETY: the caller's promise.
        unsafe { dst.write(src.read()) };
        (src, dst) = (src.wrapping_offset(src_step), dst.wrapping_offset(dst_step));
    }
}

/// Sources in a line each: all are prefetched.
///
/// # Safety
/// As for [`row`].
#[inline(always)]
unsafe fn far<T: Copy>(src: *const T, src_step: isize, dst: *mut T, dst_step: isize, n: usize) {
    const AHEAD: isize = 24;
    for i in 0..n.cast_signed() {
        prefetch_at(src.wrapping_offset(src_step.wrapping_mul(i + AHEAD)));
        // SAFETY: the caller's promise.
        unsafe { dst.offset(i * dst_step).write(src.offset(i * src_step).read()) };
    }
}

/// Copies row by row; the innermost loop is the row.
///
/// # Safety
/// As for [`super::copy`].
#[inline(always)]
pub(super) unsafe fn copy<T: Copy>(mut nest: Nest<T>) {
    let inner = nest.pop();
    let mut pairs = nest.pairs();
    while let Some((src, dst)) = pairs.next() {
        // SAFETY: the caller's promise.
        unsafe { row(src, inner.src, dst, inner.dst, inner.len) };
    }
}

/// Copies row by row, with as little besides as possible.
///
/// # Safety
/// As for [`super::copy`].
pub(super) unsafe fn copy_small<T: Copy>(axes: &[Axis], src: *const T, dst: *mut T) {
    let (outer, inner) = match *axes {
        [outer, ref inner @ ..] if inner.len() > 1 => {
            for i in 0..outer.len.cast_signed() {
                let (src, dst) = (src.wrapping_offset(i * outer.src), dst.wrapping_offset(i * outer.dst));
                // SAFETY: the caller's promise, for a step of the outer loop.
                unsafe { copy_small(inner, src, dst) };
            }
            return;
        }
        [outer, inner, ..] => (outer, inner),
        [inner] => (Axis::ONE, inner),
        [] => (Axis::ONE, Axis::ONE),
    };
    // SAFETY: the caller's promise.
    unsafe {
        match (inner.src, inner.dst) {
            (1, 1) => each_row(outer, src, dst, |src, dst| contiguous(src, dst, inner.len)),
            _ if inner.len < SHORT => {
                each_row(outer, src, dst, |src, dst| any(src, inner.src, dst, inner.dst, inner.len))
            }
            _ => each_row(outer, src, dst, |src, dst| row(src, inner.src, dst, inner.dst, inner.len)),
        }
    }
}

/// Each class of rows has its own function: in one function for all classes, the preparations of
/// every class would run before the first row.
#[inline(never)]
fn each_row<T>(outer: Axis, src: *const T, dst: *mut T, copy: impl Fn(*const T, *mut T)) {
    for i in 0..outer.len.cast_signed() {
        copy(src.wrapping_offset(i * outer.src), dst.wrapping_offset(i * outer.dst));
    }
}
