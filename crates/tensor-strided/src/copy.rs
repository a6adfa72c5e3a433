//! Copies between any two layouts, at the speed of memory.
//!
//! ```text
//!   axes      shape and strides -> the fewest loops, in the order of the target
//!   rows      source and target run along the same axis: kernels by class of the two steps
//!   tiles     they run along different axes: squares of registers, in tiles
//!   writer    outputs larger than the caches, by non-temporal stores; also with filler in between
//!   lines     prefetches, non-temporal stores       bits     numbers as nothing but bits
//!   threads   parts of large copies
//! ```
//!
//! A copy of [1, 2, 4, 10] of [6, 3, 4, 10] elements comes down to two rows of 40; a reversal of
//! all axes is one loop backwards.
//!
//! No gap between elements is ever read or written: it may belong to another view, and another
//! thread.

mod axes;
#[macro_use]
mod bits;
mod lines;
mod rows;
mod threads;
mod tiles;
mod writer;

#[cfg(test)]
mod tests;

use std::ops::Range;

use kaldera_base::simd::{Kernel, Level, Simd, dispatch_at, level};

use crate::copy::axes::{Axis, MAX_RANK, Nest, simplify};
use crate::copy::bits::{Bits, is_number};
use crate::element::Element;
use crate::layout::{Order, dense_strides};
pub(crate) use kaldera_base::memory::with_capacity;

/// Outputs of this many bytes are written by non-temporal stores: they would evict all else from
/// the caches, and themselves too.
const STREAM_FROM: usize = 16 << 20;

/// Up to this many bytes, nothing is gained by tiles, threads or an instruction set that must be
/// looked up.
const SMALL: usize = 1 << 10;

/// Copies element by element from one layout to another.
///
/// # Safety
/// Both pointers are at element `[0, .., 0]`; with strides in elements, all elements of `shape` can
/// be read at `src` and written at `dst`, no two of `dst` are the same, and none of `dst` is one of
/// `src`. An empty shape is fine with any pointer.
pub(crate) unsafe fn copy<T: Element>(
    shape: &[usize],
    src: *const T,
    src_strides: &[isize],
    dst: *mut T,
    dst_strides: &[isize],
) {
    if shape.contains(&0) || size_of::<T>() == 0 {
        return;
    }
    let axis = |at: usize| Axis { len: shape[at], src: src_strides[at], dst: dst_strides[at] };
    let mut in_place = [Axis::ONE; MAX_RANK];
    let mut on_heap = Vec::new();
    let axes = if shape.len() <= MAX_RANK {
        (0..shape.len()).for_each(|at| in_place[at] = axis(at));
        &mut in_place[..shape.len()]
    } else {
        on_heap.extend((0..shape.len()).map(axis));
        &mut on_heap[..]
    };
    let (rank, src_move, dst_move) = simplify(axes);
    let (axes, src, dst) = (&axes[..rank], src.wrapping_offset(src_move), dst.wrapping_offset(dst_move));
    let bytes = axes.iter().map(|axis| axis.len).product::<usize>() * size_of::<T>();
    // SAFETY: the caller's promise; the loops visit the same pairs.
    unsafe {
        match bytes <= SMALL {
            true => rows::copy_small(axes, src, dst),
            false => copy_axes(axes, src, dst, bytes >= STREAM_FROM),
        }
    }
}

/// All elements in C order, in fresh memory.
///
/// # Safety
/// The pointer is at element `[0, .., 0]`; with strides in elements, all elements of `shape` can be
/// read. An empty shape is fine with any pointer.
pub(crate) unsafe fn collect<T: Element>(shape: &[usize], src: *const T, src_strides: &[isize]) -> Vec<T> {
    let len = if shape.contains(&0) { 0 } else { shape.iter().product() };
    let mut out = with_capacity(len);
    let strides = dense_strides(shape, Order::C);
    // SAFETY: the caller's promise; the target has room for all elements, and afterwards holds
    // them.
    unsafe {
        copy(shape, src, src_strides, out.as_mut_ptr(), &strides);
        out.set_len(len);
    }
    out
}

/// Copies element by element into part of a buffer, and writes `filler` to all the rest of it.
///
/// # Safety
/// As for [`copy`], with `dst` at the first of the `len` elements of the buffer, all of which can
/// be written, and element `[0, .., 0]` at `offset`. The layout of the targets is within the buffer
/// and nested: sorted by stride, each step is longer than all smaller axes.
pub(crate) unsafe fn embed<T: Element>(
    shape: &[usize],
    (src, src_strides): (*const T, &[isize]),
    (dst, len): (*mut T, usize),
    (offset, dst_strides): (usize, &[isize]),
    filler: T,
) {
    let target = dst.wrapping_add(offset);
    let large = len.saturating_mul(size_of::<T>()) >= STREAM_FROM;
    if large && is_number::<T>() && shape.len() <= MAX_RANK && !shape.contains(&0) {
        let mut axes = [Axis::ONE; MAX_RANK];
        (0..shape.len()).for_each(|at| axes[at] = Axis { len: shape[at], src: src_strides[at], dst: dst_strides[at] });
        let (rank, src_move, dst_move) = simplify(&mut axes[..shape.len()]);
        let nest = Nest::new(&axes[..rank], src.wrapping_offset(src_move), target.wrapping_offset(dst_move));
        // SAFETY: the caller's promise; the loops visit the targets upwards, because their layout
        // is nested.
        unsafe { embed_nest_at(level(), nest, dst..dst.wrapping_add(len), filler) };
    } else {
        // SAFETY: the caller's promise.
        unsafe {
            rows::fill(filler, dst, len);
            copy(shape, src, src_strides, target, dst_strides);
        }
    }
}

/// # Safety
/// As for [`embed`]; `T` is a number, and the loops visit the targets upwards.
unsafe fn embed_nest_at<T: Element>(level: Level, nest: Nest<T>, Range { start, end }: Range<*mut T>, filler: T) {
    as_bits!(T, |B| {
        // SAFETY: numbers are bits.
        let filler = unsafe { (&raw const filler).cast::<B>().read() };
        dispatch_at(level, Embed { nest: nest.cast::<B>(), begin: start.cast(), end: end.cast(), filler });
    });
}

/// # Safety
/// As for [`copy`].
unsafe fn copy_axes<T: Element>(axes: &[Axis], src: *const T, dst: *mut T, stream: bool) {
    match axes {
        [outer, inner @ ..] if inner.len() >= MAX_RANK => {
            for i in 0..outer.len.cast_signed() {
                let (src, dst) = (src.wrapping_offset(i * outer.src), dst.wrapping_offset(i * outer.dst));
                // SAFETY: the caller's promise, for one step of the outermost loop.
                unsafe { copy_axes(inner, src, dst, stream) };
            }
        }
        // SAFETY: the caller's promise.
        _ => unsafe { copy_nest_at(level(), Nest::new(axes, src, dst), stream) },
    }
}

/// # Safety
/// As for [`copy`].
#[inline]
unsafe fn copy_nest_at<T: Element>(level: Level, nest: Nest<T>, stream: bool) {
    if is_number::<T>() {
        as_bits!(T, |B| threads::divide(nest.cast::<B>(), &|nest| dispatch_at(level, CopyBits { nest, stream })));
    } else {
        threads::divide(nest, &|nest| dispatch_at(level, CopyAny { nest }));
    }
}

/// The loop in which the source takes its shortest steps, if it is not the innermost one, in which
/// the target does.
#[inline(always)]
fn crossing<T>(nest: &Nest<T>) -> Option<usize> {
    let (inner, outer) = nest.axes().split_last()?;
    let step = |axis: &Axis| axis.src.unsigned_abs();
    let (at, shortest) =
        outer.iter().enumerate().rev().filter(|(_, axis)| axis.src != 0).min_by_key(|(_, axis)| step(axis))?;
    (step(shortest) < step(inner)).then_some(at)
}

/// Copies a nest of numbers. The elements must be readable and writable as [`copy`] requires.
struct CopyBits<B> {
    nest: Nest<B>,
    /// By non-temporal stores, as part of a large output.
    stream: bool,
}

impl<B: Bits> Kernel for CopyBits<B> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { nest, stream } = self;
        // SAFETY: see the struct.
        unsafe {
            match crossing(&nest) {
                Some(at) => tiles::copy_bits(s, nest, at, stream),
                None if stream && writer::suits(&nest) => writer::copy(nest),
                None => rows::copy(nest),
            }
        }
    }
}

/// Copies a nest of any elements, which must be readable and writable as [`copy`] requires.
struct CopyAny<T> {
    nest: Nest<T>,
}

impl<T: Element> Kernel for CopyAny<T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // SAFETY: see the struct.
        unsafe {
            match crossing(&self.nest) {
                Some(at) => tiles::copy(self.nest, at),
                None => rows::copy(self.nest),
            }
        }
    }
}

/// Copies a nest into a buffer that is filled besides, as [`embed`] asks.
struct Embed<B> {
    nest: Nest<B>,
    begin: *mut B,
    end: *mut B,
    filler: B,
}

impl<B: Bits> Kernel for Embed<B> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // SAFETY: see the struct.
        unsafe { writer::embed(self.nest, self.begin, self.end, self.filler) };
    }
}
