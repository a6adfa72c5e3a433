//! Sequences by length: the order in which a recurrent network without padding takes them.

use std::ops::Range;

use ragged_core::{Packed, RaggedShape, RowSplits};
use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::tensor::LodTensor;

/// The sequences of one level, longest first: equal ones keep their order, empty ones are last.
///
/// The order, and all indexes that follow from it, are kept in the level itself: computed once for
/// a mini-batch, however many layers, directions, gradients and tensors share it. Making a table,
/// or cloning it, counts one reference.
///
/// ```text
///   origin       sorted      step 0 1 2 3
///   xxxx    0    xxxx   0         x x x x
///   xx      1    xxx    2         x x x
///   xxx     2    xx     1         x x
/// ```
///
/// ```
/// use lod::Lod;
///
/// let table = Lod::from_lengths(&[[4, 2, 3]])?.rank_table(0)?;
/// assert_eq!(table.order(), [0, 2, 1]);
/// assert_eq!(table.sorted_sequences().collect::<Vec<_>>(), [0..4, 6..9, 4..6]);
/// assert_eq!((table.max_sequence_len(), table.active(2)), (4, 2));
/// # Ok::<(), lod::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "LoDRankTable")]
#[doc(alias = "lod_rank_table")]
#[doc(alias = "SortBySeqLen")]
#[doc(alias = "sorted_seqs")]
#[doc(alias = "SortedSeqItem")]
pub struct RankTable {
    shape: RaggedShape,
    /// A level of the shape.
    level: usize,
    /// True if each sequence is traversed from its end.
    reversed: bool,
}

impl Lod {
    /// The sequences of a level, longest first. O(1): the contents of the table are computed on
    /// first use and cached.
    ///
    /// # Errors
    /// [`Error::NoLevel`].
    pub fn rank_table(&self, level: usize) -> Result<RankTable, Error> {
        self.check_level(level)?;
        let Some(shape) = self.shape().cloned() else { return Err(Error::NoLevel { level, levels: 0 }) };
        Ok(RankTable { shape, level, reversed: false })
    }
}

/// The sequences of the coarsest level of a tensor, longest first: the document's name for
/// [`Lod::rank_table`] of level 0.
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD.
pub fn sort_by_seq_len<T: Element>(tensor: &LodTensor<T>) -> Result<RankTable, Error> {
    tensor.lod().rank_table(0)
}

impl RankTable {
    /// The same sequences traversed from their ends, for the backward direction of a network.
    /// O(1).
    #[must_use]
    #[doc(alias = "is_reverse")]
    pub fn reversed(&self) -> Self {
        Self { reversed: !self.reversed, ..self.clone() }
    }

    /// Returns `true` if each sequence is traversed from its end.
    pub fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// The LoD whose level is sorted.
    pub fn lod(&self) -> Lod {
        self.shape.clone().into()
    }

    /// The level that is sorted.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The levels above the one that is sorted.
    pub fn coarse_lod(&self) -> Lod {
        self.levels_to(self.level)
    }

    /// The levels above and the one that is sorted.
    pub(crate) fn upper_lod(&self) -> Lod {
        self.levels_to(self.level + 1)
    }

    fn levels_to(&self, end: usize) -> Lod {
        self.lod().sub_levels(0..end).unwrap_or_else(|error| unreachable!("levels that are there: {error}"))
    }

    /// The offsets of the level that is sorted.
    pub fn splits(&self) -> &RowSplits {
        self.shape.row_splits(self.level + 1)
    }

    /// The sequences side by side, without regard to direction.
    #[inline]
    pub fn packed(&self) -> Packed<'_> {
        self.shape.packed(self.level + 1)
    }

    /// The number of sequences.
    #[inline]
    pub fn num_sequences(&self) -> usize {
        self.splits().num_rows()
    }

    /// The number of entries of all sequences together.
    #[inline]
    pub fn num_entries(&self) -> usize {
        self.splits().num_elements()
    }

    /// The sequences by rank: longest first.
    #[inline]
    pub fn order(&self) -> &[i32] {
        self.packed().order()
    }

    /// The rank of each sequence.
    #[inline]
    pub fn ranks(&self) -> &[i32] {
        self.packed().ranks()
    }

    /// Each sequence, longest first, and its length.
    pub fn items(&self) -> impl ExactSizeIterator<Item = RankItem> + '_ {
        self.order().iter().map(|&index| {
            let index = index as usize;
            RankItem { index, length: self.splits().len_of(index) }
        })
    }

    /// The entries of each sequence, longest first: the document's `sorted_seqs`, with a range
    /// for its two pointers.
    pub fn sorted_sequences(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.order().iter().map(|&index| self.splits().row(index as usize))
    }

    /// The number of steps: the length of the longest sequence.
    #[inline]
    pub fn max_sequence_len(&self) -> usize {
        self.packed().num_steps()
    }

    /// The number of sequences longer than `step`; they have the first ranks.
    #[inline]
    pub fn active(&self, step: usize) -> usize {
        self.packed().active(step)
    }

    /// The entry at each packed position: step by step, in each by rank.
    #[inline]
    pub fn packed_to_entry(&self) -> &[i32] {
        if self.reversed { self.packed().reversed_entries() } else { self.packed().entries() }
    }

    /// The packed position of each entry: the inverse of
    /// [`packed_to_entry`](Self::packed_to_entry).
    #[inline]
    pub fn entry_to_packed(&self) -> &[i32] {
        if self.reversed { self.packed().reversed_positions() } else { self.packed().positions() }
    }

    /// Checks that `splits` are the offsets of the level that is sorted.
    pub(crate) fn check_splits(&self, splits: &RowSplits) -> Result<(), Error> {
        let own = self.splits();
        if own.buffer().ptr_eq(splits.buffer()) || own == splits {
            return Ok(());
        }
        Error::check_size("the number of sequences", own.num_rows(), splits.num_rows())?;
        Error::check_size("the number of their entries", own.num_elements(), splits.num_elements())?;
        let lengths = own.rows().zip(splits.rows()).map(|(own, other)| (own.len(), other.len()));
        for (sequence, (expected, found)) in lengths.enumerate() {
            if expected != found {
                return Err(Error::SequenceLength { sequence, expected, found });
            }
        }
        Ok(())
    }
}

/// A sequence of a [`RankTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "TableItem")]
pub struct RankItem {
    /// Index of the sequence in its level.
    pub index: usize,
    /// Number of entries.
    pub length: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_layer_share_what_was_computed() {
        let lod = Lod::from_lengths(&[vec![2, 1], vec![3, 5, 4]]).unwrap();
        let (one, other) = (lod.rank_table(1).unwrap(), lod.clone().rank_table(1).unwrap());
        assert_eq!(one.packed_to_entry().as_ptr(), other.packed_to_entry().as_ptr());
        assert_eq!(one.coarse_lod(), lod.without_last());
        assert_eq!(one.upper_lod(), lod);
        assert_eq!(one.items().next(), Some(RankItem { index: 1, length: 5 }));
        assert_eq!(lod.rank_table(2).unwrap_err(), Error::NoLevel { level: 2, levels: 2 });
    }

    #[test]
    fn reversing_a_table_twice_is_the_identity() {
        let table = Lod::from_lengths(&[[2, 0, 3]]).unwrap().rank_table(0).unwrap().reversed();
        assert_eq!(table.packed_to_entry(), [4, 1, 3, 0, 2]);
        assert_eq!(table.entry_to_packed(), [3, 1, 4, 2, 0]);
        assert!(!table.reversed().is_reversed());
    }
}
