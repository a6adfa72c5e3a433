//! The loops that a copy comes down to.

use std::cmp::Reverse;
use std::ops::Range;

/// The most loops that a [`Nest`] holds.
pub(super) const MAX_RANK: usize = 8;

/// One loop: how often, and how far each step goes, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) len: usize,
    pub(super) src: isize,
    pub(super) dst: isize,
}

impl Axis {
    /// No loop at all. Its elements are contiguous.
    pub(super) const ONE: Self = Self { len: 1, src: 1, dst: 1 };

    /// The distance from the first step to the last, at the source and at the target.
    #[inline(always)]
    pub(super) fn reach(self) -> (isize, isize) {
        let last = self.len.cast_signed() - 1;
        (self.src.wrapping_mul(last), self.dst.wrapping_mul(last))
    }

    /// True if one step is as long as all the steps of `inner`, so that both are one loop.
    #[inline(always)]
    fn continues(self, inner: Self) -> bool {
        let len = inner.len.cast_signed();
        self.src == inner.src.wrapping_mul(len) && self.dst == inner.dst.wrapping_mul(len)
    }
}

/// Loops from the outermost to the innermost, over pairs of elements: one to read, one to write.
///
/// The pointers are to the first pair. They move with wrapping arithmetic, and only point to an
/// element or one step beyond.
#[derive(Debug)]
pub(super) struct Nest<T> {
    axes: [Axis; MAX_RANK],
    rank: usize,
    pub(super) src: *const T,
    pub(super) dst: *mut T,
}

impl<T> Copy for Nest<T> {}
impl<T> Clone for Nest<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: the struct holds only pointers. A caller that lets threads copy parts of it must make
// sure that they may.
unsafe impl<T: Send + Sync> Send for Nest<T> {}

impl<T> Nest<T> {
    /// At most [`MAX_RANK`] loops.
    #[inline]
    pub(super) fn new(axes: &[Axis], src: *const T, dst: *mut T) -> Self {
        let mut all = [Axis::ONE; MAX_RANK];
        all[..axes.len()].copy_from_slice(axes);
        Self { axes: all, rank: axes.len(), src, dst }
    }

    #[inline(always)]
    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes[..self.rank]
    }

    /// The number of pairs.
    pub(super) fn len(&self) -> usize {
        self.axes().iter().map(|axis| axis.len).product()
    }

    /// The same loops, over elements of another type of the same size.
    #[inline(always)]
    pub(super) fn cast<U>(self) -> Nest<U> {
        Nest { axes: self.axes, rank: self.rank, src: self.src.cast(), dst: self.dst.cast() }
    }

    /// Only these steps of one loop.
    pub(super) fn part(mut self, at: usize, steps: Range<usize>) -> Self {
        let axis = &mut self.axes[at];
        let begin = steps.start.cast_signed();
        self.src = self.src.wrapping_offset(axis.src.wrapping_mul(begin));
        self.dst = self.dst.wrapping_offset(axis.dst.wrapping_mul(begin));
        axis.len = steps.len();
        self
    }

    /// Takes a loop out.
    #[inline(always)]
    pub(super) fn remove(&mut self, at: usize) -> Axis {
        let axis = self.axes[at];
        self.axes.copy_within(at + 1..self.rank, at);
        self.rank -= 1;
        axis
    }

    /// Removes and returns the innermost loop; a single step if there is none.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Axis {
        match self.rank {
            0 => Axis::ONE,
            rank => {
                self.rank = rank - 1;
                self.axes[rank - 1]
            }
        }
    }

    /// Number of contiguous targets before there is a gap.
    #[inline(always)]
    pub(super) fn run(&self) -> usize {
        let mut run = 1;
        for axis in self.axes().iter().rev() {
            if axis.dst.cast_unsigned() != run {
                break;
            }
            run *= axis.len;
        }
        run
    }

    /// All pairs, one after the other.
    #[inline(always)]
    pub(super) fn pairs(mut self) -> Pairs<T> {
        let inner = self.pop();
        Pairs { inner, left: inner.len, pair: (self.src, self.dst), outer: self, count: [0; MAX_RANK] }
    }
}

/// Goes through the pairs of a nest.
///
/// It does not take a closure for each pair: a closure is compiled for the caller's instruction
/// set only if the compiler inlines it into the caller, and kernels are too large for that.
pub(super) struct Pairs<T> {
    inner: Axis,
    /// Number of steps left in the inner loop, and the next pair.
    left: usize,
    pair: (*const T, *mut T),
    /// The loops around it, at the first step of the inner one, and how many steps each of them has
    /// done.
    outer: Nest<T>,
    count: [usize; MAX_RANK],
}

impl<T> Pairs<T> {
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(*const T, *mut T)> {
        if self.left == 0 {
            self.next_outer()?;
        }
        self.left -= 1;
        let (src, dst) = self.pair;
        self.pair = (src.wrapping_offset(self.inner.src), dst.wrapping_offset(self.inner.dst));
        Some((src, dst))
    }

    #[inline(always)]
    fn next_outer(&mut self) -> Option<()> {
        let nest = &mut self.outer;
        for at in (0..nest.rank).rev() {
            let axis = nest.axes[at];
            self.count[at] += 1;
            if self.count[at] < axis.len {
                (nest.src, nest.dst) = (nest.src.wrapping_offset(axis.src), nest.dst.wrapping_offset(axis.dst));
                self.pair = (nest.src, nest.dst);
                self.left = self.inner.len;
                return Some(());
            }
            self.count[at] = 0;
            let (src, dst) = axis.reach();
            (nest.src, nest.dst) =
                (nest.src.wrapping_sub(src.cast_unsigned()), nest.dst.wrapping_sub(dst.cast_unsigned()));
        }
        None
    }
}

/// Rewrites loops into the fewest that visit the same pairs, in the order of the targets. No loop
/// has a single step or runs backwards through the target, the longest steps are outermost, and a
/// loop that continues an inner one is merged with it.
///
/// Returns the number of loops left, and the distance by which the first pair moved. All lengths
/// are above 0.
#[inline]
pub(super) fn simplify(axes: &mut [Axis]) -> (usize, isize, isize) {
    let (mut rank, mut src, mut dst) = (0, 0_isize, 0_isize);
    let mut is_sorted = true;
    for at in 0..axes.len() {
        let mut axis = axes[at];
        if axis.len == 1 {
            continue;
        }
        if axis.dst < 0 {
            let (src_reach, dst_reach) = axis.reach();
            (src, dst) = (src.wrapping_add(src_reach), dst.wrapping_add(dst_reach));
            (axis.src, axis.dst) = (axis.src.wrapping_neg(), axis.dst.wrapping_neg());
        }
        if rank > 0 && axes[rank - 1].continues(axis) {
            axes[rank - 1] = Axis { len: axes[rank - 1].len * axis.len, ..axis };
            continue;
        }
        is_sorted &= rank == 0 || axes[rank - 1].dst >= axis.dst;
        axes[rank] = axis;
        rank += 1;
    }
    if !is_sorted {
        // Now others may be neighbours.
        axes[..rank].sort_by_key(|axis| Reverse(axis.dst));
        rank = simplify(&mut axes[..rank]).0;
    }
    (rank, src, dst)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(all: &[(usize, isize, isize)]) -> Vec<Axis> {
        all.iter().map(|&(len, src, dst)| Axis { len, src, dst }).collect()
    }

    fn simplified(all: &[(usize, isize, isize)]) -> (Vec<Axis>, isize, isize) {
        let mut axes = axes(all);
        let (rank, src, dst) = simplify(&mut axes);
        axes.truncate(rank);
        (axes, src, dst)
    }

    #[test]
    fn contiguous_axes_merge_into_one_loop() {
        assert_eq!(simplified(&[(3, 20, 20), (1, 7, 9), (4, 5, 5), (5, 1, 1)]), (axes(&[(60, 1, 1)]), 0, 0));
        // Reversed along all axes: one loop backwards.
        assert_eq!(simplified(&[(3, -20, 20), (4, -5, 5), (5, -1, 1)]), (axes(&[(60, -1, 1)]), 0, 0));
        // The rows of a part of the columns remain a loop.
        assert_eq!(simplified(&[(3, 20, 12), (4, 5, 3), (3, 1, 1)]), (axes(&[(12, 5, 3), (3, 1, 1)]), 0, 0));
        assert_eq!(simplified(&[]), (vec![], 0, 0));
    }

    #[test]
    fn targets_are_visited_in_order() {
        assert_eq!(simplified(&[(5, 1, -1)]), (axes(&[(5, -1, 1)]), 4, -4));
        assert_eq!(simplified(&[(5, 1, 1), (3, 7, 5)]), (axes(&[(3, 7, 5), (5, 1, 1)]), 0, 0));
    }

    #[test]
    fn each_pair_is_visited_once() {
        let nest =
            Nest::<u8>::new(&axes(&[(2, 100, 12), (3, -10, 4), (4, 1, 1)]), std::ptr::null(), std::ptr::null_mut());
        let mut seen = Vec::new();
        let mut pairs = nest.pairs();
        while let Some((src, dst)) = pairs.next() {
            seen.push((src.addr().cast_signed(), dst.addr()));
        }
        let wanted = (0..24_isize).map(|i| (i / 12 * 100 - i / 4 % 3 * 10 + i % 4, i.cast_unsigned()));
        assert_eq!(seen, wanted.collect::<Vec<_>>());
        assert_eq!((nest.len(), nest.run()), (24, 24));
        assert_eq!(nest.part(1, 1..2).run(), 4);
    }
}
