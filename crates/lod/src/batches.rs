//! Mini-batches of equal work: a data set dealt out by rows, not by sequences.

use kaldera_base::random::Philox;
use kaldera_base::setters;
use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::rows;
use crate::tensor::LodTensor;

/// Rules by which a data set is divided into mini-batches.
///
/// Without padding a batch costs as much as it has rows, so that batches of as many rows as fit
/// cost the same. Sequences of similar length together are no must, as they are where short ones
/// are padded, but they keep more of a batch busy to its last step.
///
/// ```
/// use lod::Batching;
///
/// // Frames of six utterances; at most 100 frames to a batch.
/// let lengths = [60, 30, 20, 90, 40, 10];
/// assert_eq!(
///     Batching::by_rows(100).batches(&lengths)?,
///     [vec![0, 1], vec![2], vec![3], vec![4, 5]]
/// );
/// let similar = Batching::by_rows(100).with_sort_window(6);
/// assert_eq!(similar.batches(&lengths)?, [vec![3], vec![0, 4], vec![1, 2, 5]]);
/// # Ok::<(), lod::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[doc(alias = "bucket_by_sequence_length")]
#[non_exhaustive]
pub struct Batching {
    /// The most rows of a batch. A longer sequence gets its own batch.
    pub max_rows: usize,
    /// The most sequences of a batch.
    pub max_sequences: usize,
    /// Sequences are sorted by length within windows of this many consecutive sequences, so that
    /// a batch has sequences of similar length; 0 and 1 keep the order.
    pub sort_window: usize,
    /// Sequences are shuffled before, and batches after: the same way for the same number, on every
    /// machine.
    pub shuffle: Option<u64>,
}

setters! {
    Batching:
    max_rows, with_max_rows: usize, "With at most this many rows to a batch.";
    max_sequences, with_max_sequences: usize, "With at most this many sequences to a batch.";
    sort_window, with_sort_window: usize, "With sequences of similar length together, of this many consecutive ones.";
}

/// One batch of all sequences, in their order.
impl Default for Batching {
    fn default() -> Self {
        Self { max_rows: usize::MAX, max_sequences: usize::MAX, sort_window: 0, shuffle: None }
    }
}

impl Batching {
    /// In their order, as many sequences as have at most `max_rows` rows.
    pub fn by_rows(max_rows: usize) -> Self {
        Self { max_rows, ..Self::default() }
    }

    /// With sequences shuffled before, and batches after.
    #[must_use]
    pub fn with_shuffle(self, seed: u64) -> Self {
        Self { shuffle: Some(seed), ..self }
    }

    /// The sequences of each batch, for sequences of these lengths. Each is in one batch, those
    /// without rows too. O(n log n).
    ///
    /// # Errors
    /// [`Error::Nothing`] if a batch may have no rows or no sequences.
    pub fn batches(&self, lengths: &[usize]) -> Result<Vec<Vec<usize>>, Error> {
        for (what, most) in [("row to a batch", self.max_rows), ("sequence to a batch", self.max_sequences)] {
            if most == 0 {
                return Err(Error::Nothing { what });
            }
        }
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        self.shuffled(&mut order, 0);
        for window in order.chunks_mut(self.sort_window.max(1)) {
            window.sort_by_key(|&sequence| std::cmp::Reverse(lengths[sequence]));
        }
        let mut batches: Vec<Vec<usize>> = Vec::new();
        // Number of rows that the last batch can still take; `None` if its sequence was too long
        // for any.
        let mut room = None;
        for sequence in order {
            let left = room.and_then(|room: usize| room.checked_sub(lengths[sequence]));
            match batches.last_mut() {
                Some(batch) if left.is_some() && batch.len() < self.max_sequences => {
                    batch.push(sequence);
                    room = left;
                }
                _ => {
                    batches.push(vec![sequence]);
                    room = self.max_rows.checked_sub(lengths[sequence]);
                }
            }
        }
        self.shuffled(&mut batches, 1);
        Ok(batches)
    }

    /// Shuffles, if that is asked for; other streams give other orders.
    fn shuffled<T>(&self, items: &mut [T], stream: u32) {
        let Some(seed) = self.shuffle else { return };
        let random = Philox::new(seed);
        for last in (1..items.len()).rev() {
            let counter = last as u64;
            // The halves of the counter.
            let [high, low, ..] = random.block([counter as u32, (counter >> 32) as u32, stream, 0]);
            let number = u64::from(high) << 32 | u64::from(low);
            let other = (u128::from(number) * (last as u128 + 1)) >> 64;
            // At most `last`.
            items.swap(last, other as usize);
        }
    }
}

impl<T: Element + Default> LodTensor<T> {
    /// The sequences of the coarsest level that `indexes` name, in this order and any number of
    /// times; rows, without LoD.
    ///
    /// ```
    /// use lod::LodTensor;
    ///
    /// let x = LodTensor::from_sequences(&[vec![1, 2], vec![3], vec![4, 5, 6]])?;
    /// assert_eq!(x.select(&[2, 0])?, LodTensor::from_sequences(&[vec![4, 5, 6], vec![1, 2]])?);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Id`] if there is no such sequence; [`Error::TooLarge`].
    #[doc(alias = "index_select")]
    pub fn select(&self, indexes: &[usize]) -> Result<Self, Error> {
        let size = if self.lod().is_none() { self.num_rows() } else { self.lod().num_sequences(0) };
        let index_of = |(position, &index): (usize, &usize)| match i32::try_from(index) {
            Ok(stored) if index < size => Ok(stored),
            _ => Err(Error::Id { position, found: i64::try_from(index).unwrap_or(i64::MAX), size }),
        };
        let indexes: Vec<i32> = indexes.iter().enumerate().map(index_of).collect::<Result<_, _>>()?;
        let (lod, index): (Lod, Vec<i32>) = self.lod().gather(0, &indexes)?;
        self.like(index.len(), rows::gather(self.values(), self.width(), &index), lod)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_sequence_is_in_one_batch_and_no_batch_is_too_large(
            lengths in prop::collection::vec(0_usize..50, 0..60),
            max_rows in 1_usize..120,
            max_sequences in 1_usize..9,
            sort_window in 0_usize..20,
            shuffle in prop::option::of(any::<u64>()),
        ) {
            let batching = Batching { max_rows, max_sequences, sort_window, shuffle };
            let batches = batching.batches(&lengths).unwrap();
            let mut all: Vec<usize> = batches.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            for batch in &batches {
                let rows: usize = batch.iter().map(|&sequence| lengths[sequence]).sum();
                prop_assert!(batch.len() == 1 || rows <= max_rows && batch.len() <= max_sequences);
            }
            prop_assert_eq!(batching.batches(&lengths).unwrap(), batches);
        }
    }

    #[test]
    fn another_seed_is_another_order() {
        let lengths = [1; 40];
        let order = |seed| Batching { shuffle: Some(seed), ..Batching::by_rows(40) }.batches(&lengths).unwrap();
        assert_ne!(order(1), order(2));
        assert_ne!(order(1), Batching::by_rows(40).batches(&lengths).unwrap());
        assert!(Batching::by_rows(0).batches(&lengths).is_err());
        assert!(Batching { max_sequences: 0, ..Batching::by_rows(1) }.batches(&[]).is_err());
    }

    #[test]
    fn sequences_that_are_not_there_are_not_selected() {
        let x = LodTensor::from_sequences(&[vec![1, 2], vec![3]]).unwrap();
        assert_eq!(x.select(&[0, 2]), Err(Error::Id { position: 1, found: 2, size: 2 }));
        assert_eq!(x.select(&[1, 1]).unwrap().values(), [3, 3]);
        assert_eq!(x.with_lod(Lod::none()).unwrap().select(&[2]).unwrap().values(), [3]);
        assert!(x.select(&[usize::MAX]).is_err());
    }
}
