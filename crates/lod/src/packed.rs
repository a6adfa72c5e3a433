//! To and from PyTorch's `PackedSequence`.

use tensor_strided::{Element, Tensor};

use crate::error::Error;
use crate::lod::Lod;
use crate::rank::RankTable;
use crate::rows;
use crate::segment::Segments;
use crate::tensor::LodTensor;

/// The parts of a `torch.nn.utils.rnn.PackedSequence`.
///
/// ```
/// use lod::{LodTensor, PackedSequence, Segments, segment_inputs};
///
/// let x = LodTensor::from_sequences(&[vec![1], vec![2, 3]])?;
/// let packed = segment_inputs(&x, &x.lod().rank_table(0)?)?.to_packed_sequence()?;
/// assert_eq!(packed.data.to_vec(), [2, 1, 3]);
/// assert_eq!((&packed.batch_sizes[..], &packed.sorted_indices[..]), (&[2, 1][..], &[1, 0][..]));
/// let segments = Segments::from_packed_sequence(&packed)?;
/// assert_eq!(lod::concat_outputs(&segments)?, x);
/// # Ok::<(), lod::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PackedSequence<T: Element> {
    /// The rows, step after step.
    pub data: Tensor<T>,
    /// Number of sequences that have each step.
    pub batch_sizes: Vec<usize>,
    /// The sequence of each rank. PyTorch leaves it out where sequences were sorted before: then it
    /// is `0, 1, 2, ..`.
    ///
    /// There may be more than `batch_sizes` starts with: sequences without rows, which PyTorch does
    /// not have.
    pub sorted_indices: Vec<i32>,
}

impl<T: Element> Segments<T> {
    /// The steps as PyTorch's parts. Nothing but the order is copied.
    ///
    /// # Errors
    /// [`Error::NumLevels`] for steps with LoD.
    pub fn to_packed_sequence(&self) -> Result<PackedSequence<T>, Error> {
        self.check_plain()?;
        let (packed, data) = (self.table().packed(), self.packed().tensor().clone());
        Ok(PackedSequence {
            data,
            batch_sizes: packed.batch_sizes().collect(),
            sorted_indices: packed.order().to_vec(),
        })
    }

    /// The steps of PyTorch's parts. Nothing is copied if sequences of equal length are in their
    /// original order. PyTorch does not promise this; otherwise rows are swapped within their
    /// steps.
    ///
    /// # Errors
    /// [`Error::BatchSizes`] if they rise; [`Error::Size`] if there is not one row for each, or
    /// less indices than the first; [`Error::Permutation`] if the indices do not name each sequence
    /// once.
    pub fn from_packed_sequence(packed: &PackedSequence<T>) -> Result<Self, Error>
    where
        T: Default,
    {
        let PackedSequence { data, batch_sizes, sorted_indices } = packed;
        let ranks = ranks_of(sorted_indices)?;
        let mut before = sorted_indices.len();
        let mut lengths = vec![0_usize; sorted_indices.len()];
        for (step, &found) in batch_sizes.iter().enumerate() {
            if found > before || found == 0 {
                return Err(Error::BatchSizes { step, before, found });
            }
            before = found;
            // Each rank belongs to a sequence, so that each sequence has a length.
            sorted_indices[..found].iter().for_each(|&sequence| lengths[sequence as usize] += 1);
        }
        let lod = Lod::from_lengths(&[lengths])?;
        let data = LodTensor::new(data.clone(), Lod::none())?;
        let table: RankTable = lod.rank_table(0)?;
        Error::check_size("the number of packed rows", table.num_entries(), data.num_rows())?;
        if table.order() == sorted_indices {
            return Self::new(&table, data);
        }
        let mut index = Vec::with_capacity(data.num_rows());
        for step in 0..table.max_sequence_len() {
            let begin = table.packed().step_offsets()[step];
            let sequences = &table.order()[..table.active(step)];
            index.extend(sequences.iter().map(|&sequence| begin + ranks[sequence as usize]));
        }
        let values = rows::gather(data.values(), data.width(), &index);
        Self::new(&table, data.like(data.num_rows(), values, Lod::none())?)
    }
}

/// The rank of each sequence.
fn ranks_of(sorted: &[i32]) -> Result<Vec<i32>, Error> {
    let size = i32::try_from(sorted.len())
        .map_err(|_| Error::TooLarge { what: "the number of sequences", size: sorted.len() as u64 })?;
    let mut ranks = vec![-1; sorted.len()];
    for ((position, &found), rank) in sorted.iter().enumerate().zip(0..size) {
        let rank_of = usize::try_from(found).ok().and_then(|sequence| ranks.get_mut(sequence));
        match rank_of {
            Some(rank_of) if *rank_of < 0 => *rank_of = rank,
            _ => return Err(Error::Permutation { position, found, size: sorted.len() }),
        }
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::segment::{concat_outputs, segment_inputs};

    #[test]
    fn rows_of_swapped_equal_sequences_are_swapped() {
        // Sequences 0 and 1 have two rows each and came in the order 1, 0; sequence 2 is empty.
        let data = Tensor::from_vec([4], vec![10, 0, 11, 1]).unwrap();
        let packed = PackedSequence { data, batch_sizes: vec![2, 2], sorted_indices: vec![1, 0, 2] };
        let x = concat_outputs(&Segments::from_packed_sequence(&packed).unwrap()).unwrap();
        assert_eq!(x, LodTensor::from_sequences(&[vec![0, 1], vec![10, 11], vec![]]).unwrap());
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let refused = |rows: usize, batch_sizes: &[usize], sorted_indices: &[i32]| {
            let data = Tensor::from_vec([rows], vec![0; rows]).unwrap();
            let (batch_sizes, sorted_indices) = (batch_sizes.to_vec(), sorted_indices.to_vec());
            Segments::from_packed_sequence(&PackedSequence { data, batch_sizes, sorted_indices }).unwrap_err()
        };
        assert_eq!(refused(3, &[1, 2], &[0, 1]), Error::BatchSizes { step: 1, before: 1, found: 2 });
        assert_eq!(refused(2, &[2, 0], &[0, 1]), Error::BatchSizes { step: 1, before: 2, found: 0 });
        assert_eq!(refused(3, &[3], &[0, 1]), Error::BatchSizes { step: 0, before: 2, found: 3 });
        assert_eq!(refused(2, &[2], &[0, 0]), Error::Permutation { position: 1, found: 0, size: 2 });
        assert_eq!(refused(2, &[2], &[0, -1]), Error::Permutation { position: 1, found: -1, size: 2 });
        assert_eq!(
            refused(4, &[2, 1], &[0, 1]),
            Error::Size { what: "the number of packed rows", expected: 3, found: 4 }
        );
    }

    proptest! {
        #[test]
        fn round_trip(lengths in prop::collection::vec(0_usize..5, 0..9)) {
            let lod = Lod::from_lengths(&[lengths]).unwrap();
            let rows = lod.num_rows().unwrap();
            let x = LodTensor::from_vec([rows, 2], (0..2 * rows).collect::<Vec<_>>(), lod).unwrap();
            let segments = segment_inputs(&x, &x.lod().rank_table(0).unwrap()).unwrap();
            let again = Segments::from_packed_sequence(&segments.to_packed_sequence().unwrap()).unwrap();
            prop_assert_eq!(again.packed(), segments.packed());
            prop_assert_eq!(concat_outputs(&again).unwrap(), x);
        }
    }
}
