//! Rows in decreasing order of length: the entries of each step, and their positions.

use std::ops::Range;

use crate::row_splits::RowSplits;
use crate::shape::RaggedShape;
use crate::step_index::StepIndex;

/// The rows of one axis side by side, as a recurrent network goes through them: entry 0 of each
/// row, then entry 1 of each row that has one, and so on. The longest row is first, so that the
/// rows that are left at a step are always the first ones.
///
/// ```text
///   rows            a0 a1 a2 a3 | b0 b1 | c0 c1 c2          splits 0 4 6 9
///
///   step            0    1    2    3
///   rank 0 (row 0)  a0   a1   a2   a3
///   rank 1 (row 2)  c0   c1   c2
///   rank 2 (row 1)  b0   b1
///
///   packed          a0 c0 b0 | a1 c1 b1 | a2 c2 | a3        step_offsets 0 3 6 8 9
/// ```
///
/// Rows of equal length keep their order, empty ones are last. All of it is computed on first use
/// and kept in the layer, for all shapes that share the layer.
///
/// ```
/// use ragged_core::{RaggedShape, RowSplits};
///
/// let shape = RaggedShape::new([RowSplits::from_lengths([4, 2, 3])?])?;
/// let packed = shape.packed(1);
/// assert_eq!(packed.order(), [0, 2, 1]);
/// assert_eq!(packed.step_offsets(), [0, 3, 6, 8, 9]);
/// assert_eq!(packed.entries(), [0, 6, 4, 1, 7, 5, 2, 8, 3]);
/// # Ok::<(), ragged_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[doc(alias = "PackedSequence")]
#[doc(alias = "LoDRankTable")]
pub struct Packed<'a> {
    splits: &'a RowSplits,
    order: &'a [i32],
    index: &'a StepIndex,
}

impl RaggedShape {
    /// Returns the rows of axis `axis`, from 1, side by side. O(rows log rows + longest row) the
    /// first time, then free.
    ///
    /// # Panics
    /// If there is no such axis, as indexing a slice does.
    pub fn packed(&self, axis: usize) -> Packed<'_> {
        let layer = self.layer_of(axis);
        Packed { splits: &layer.splits, order: layer.decreasing(), index: layer.step_index() }
    }
}

impl<'a> Packed<'a> {
    /// Returns the number of rows, including empty ones.
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.order.len()
    }

    /// Returns the rows by rank: longest first, equal ones in their order.
    #[inline]
    pub fn order(&self) -> &'a [i32] {
        self.order
    }

    /// Returns the rank of each row: the inverse of [`order`](Self::order).
    #[inline]
    #[doc(alias = "invert_permutation")]
    #[doc(alias = "unsorted_indices")]
    pub fn ranks(&self) -> &'a [i32] {
        &self.index.ranks
    }

    /// Returns the number of steps: the length of the longest row.
    #[inline]
    pub fn num_steps(&self) -> usize {
        self.index.step_offsets.len() - 1
    }

    /// Returns the start of each step in the packed order. There is one number more than steps; the
    /// last is the number of entries.
    #[inline]
    pub fn step_offsets(&self) -> &'a [i32] {
        &self.index.step_offsets
    }

    /// Returns the packed positions of step `step`; the r-th of them is for the row of rank r.
    ///
    /// # Panics
    /// If there is no such step, as indexing a slice does.
    #[inline]
    pub fn step(&self, step: usize) -> Range<usize> {
        let offsets = self.step_offsets();
        offsets[step] as usize..offsets[step + 1] as usize
    }

    /// Returns the number of rows that have an entry at step `step`, which are the first ranks. 0
    /// after the last step.
    #[inline]
    pub fn active(&self, step: usize) -> usize {
        if step < self.num_steps() { self.step(step).len() } else { 0 }
    }

    /// Returns [`active`](Self::active) of each step, as in PyTorch's `PackedSequence`.
    pub fn batch_sizes(&self) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone + 'a {
        self.step_offsets().windows(2).map(|ends| (ends[1] - ends[0]) as usize)
    }

    /// Returns the entry at each packed position. O(entries) the first time, then free.
    pub fn entries(&self) -> &'a [i32] {
        self.index.entries.get_or_init(|| self.by_step(|begin, _, step| begin + step))
    }

    /// Returns the packed position of each entry: the inverse of [`entries`](Self::entries).
    /// O(entries) the first time, then free.
    pub fn positions(&self) -> &'a [i32] {
        self.index
            .positions
            .get_or_init(|| self.by_row(|out, steps, rank| out.extend(steps.iter().map(|at| at + rank))))
    }

    /// Same as [`entries`](Self::entries), with each row from its end, for the backward direction
    /// of a network. O(entries) the first time, then free.
    pub fn reversed_entries(&self) -> &'a [i32] {
        self.index.reversed_entries.get_or_init(|| self.by_step(|_, end, step| end - 1 - step))
    }

    /// Returns the inverse of [`reversed_entries`](Self::reversed_entries). O(entries) the first
    /// time, then free.
    pub fn reversed_positions(&self) -> &'a [i32] {
        let backwards = |out: &mut Vec<i32>, steps: &[i32], rank| out.extend(steps.iter().rev().map(|at| at + rank));
        self.index.reversed_positions.get_or_init(|| self.by_row(backwards))
    }

    /// Returns for each row the packed position of its last entry, -1 for an empty row. O(rows).
    pub fn last_positions(&self) -> Vec<i32> {
        let last = |(row, &rank): (usize, &i32)| match self.splits.len_of(row).checked_sub(1) {
            Some(last) => self.step_offsets()[last] + rank,
            None => -1,
        };
        self.ranks().iter().enumerate().map(last).collect()
    }

    /// Collects `entry` of the start, the end and the step of each row that has a step, by rank;
    /// step after step.
    fn by_step(&self, entry: impl Fn(i32, i32, i32) -> i32) -> Vec<i32> {
        let splits: &[i32] = self.splits.as_ref();
        let rows: Vec<(i32, i32)> =
            self.order.iter().map(|&row| (splits[row as usize], splits[row as usize + 1])).collect();
        let mut out = kaldera_base::memory::with_capacity(self.splits.num_elements());
        for (step, active) in (0..).zip(self.batch_sizes()) {
            out.extend(rows[..active].iter().map(|&(begin, end)| entry(begin, end, step)));
        }
        out
    }

    /// Collects the output of `append` for the offsets of the steps of each row, and its rank; row
    /// after row.
    fn by_row(&self, append: impl Fn(&mut Vec<i32>, &[i32], i32)) -> Vec<i32> {
        let mut out = kaldera_base::memory::with_capacity(self.splits.num_elements());
        for (row, &rank) in self.splits.rows().zip(self.ranks()) {
            append(&mut out, &self.step_offsets()[..row.len()], rank);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn step_and_rank_give_the_position_of_every_entry(
            lengths in prop::collection::vec(0_usize..12, 0..30)
        ) {
            let shape = RaggedShape::new([RowSplits::from_lengths(lengths.iter().copied()).unwrap()]).unwrap();
            let packed = shape.packed(1);
            let mut order: Vec<usize> = (0..lengths.len()).collect();
            order.sort_by_key(|&row| std::cmp::Reverse(lengths[row]));
            let (mut entries, mut reversed, mut sizes) = (vec![], vec![], vec![]);
            for step in 0..lengths.iter().copied().max().unwrap_or(0) {
                let there: Vec<_> = order.iter().filter(|&&row| lengths[row] > step).collect();
                sizes.push(there.len());
                for &&row in &there {
                    let row = shape.row_splits(1).row(row);
                    entries.push((row.start + step) as i32);
                    reversed.push((row.end - 1 - step) as i32);
                }
            }
            prop_assert_eq!(packed.batch_sizes().collect::<Vec<_>>(), sizes);
            prop_assert_eq!(packed.entries(), entries);
            prop_assert_eq!(packed.reversed_entries(), reversed);
            for (there, back) in [
                (packed.entries(), packed.positions()),
                (packed.reversed_entries(), packed.reversed_positions()),
                (packed.order(), packed.ranks()),
            ] {
                prop_assert!((0..).zip(there).all(|(position, &entry)| back[entry as usize] == position));
            }
            for (row, last) in packed.last_positions().into_iter().enumerate() {
                let entry = usize::try_from(last).map(|last| packed.entries()[last] as usize + 1);
                let expected = (lengths[row] > 0).then(|| shape.row_splits(1).row(row).end);
                prop_assert_eq!(entry.ok(), expected);
            }
        }
    }

    #[test]
    fn shapes_that_share_a_layer_share_its_step_index() {
        let shape = RaggedShape::regular(3, 2).unwrap();
        let both = shape.compose(&RaggedShape::regular(6, 1).unwrap()).unwrap();
        assert_eq!(shape.packed(1).entries().as_ptr(), both.packed(1).entries().as_ptr());
        assert_eq!(shape.packed(1).order().as_ptr(), both.decreasing_size_order().as_ptr());
        assert_eq!(both.packed(2).num_steps(), 1);
        assert_eq!((shape.packed(1).active(1), shape.packed(1).active(2)), (3, 0));
    }
}
