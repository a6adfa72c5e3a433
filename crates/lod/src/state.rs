//! States of recurrent networks: sorted by the length of their sequences, without the states of
//! sequences that have ended.

use tensor_strided::{Element, Shape};

use crate::error::Error;
use crate::lod::Lod;
use crate::rank::RankTable;
use crate::rows;
use crate::tensor::LodTensor;

/// The initial state of a network: the rows of `boot`, one for each sequence (or its sequences, if
/// it has a LoD), in the order of the table. O(values).
///
/// ```
/// use lod::{Lod, LodTensor, init_states, shrink_state};
///
/// let table = Lod::from_lengths(&[[4, 2, 3]])?.rank_table(0)?;
/// let boot = LodTensor::from_vec([3, 1], vec![10, 20, 30], Lod::none())?;
/// let state = init_states(&boot, &table)?;
/// assert_eq!(state.values(), [10, 30, 20]);
/// // Two sequences are longer than 2.
/// assert_eq!(shrink_state(&state, &table, 2)?.values(), [10, 30]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::Size`] if there is not one row or sequence for each sequence of the table;
/// [`Error::TooLarge`].
#[doc(alias = "InitMemories")]
#[doc(alias = "boot_memories")]
#[doc(alias = "reorder_lod_tensor_by_rank")]
pub fn init_states<T: Element + Default>(boot: &LodTensor<T>, table: &RankTable) -> Result<LodTensor<T>, Error> {
    reordered(boot, table.num_sequences(), table.order())
}

/// The gradient of [`init_states`] by `boot`: rows or sequences back in the order that they had.
///
/// # Errors
/// As [`init_states`].
pub fn init_states_backward<T: Element + Default>(
    grad: &LodTensor<T>,
    table: &RankTable,
) -> Result<LodTensor<T>, Error> {
    reordered(grad, table.num_sequences(), table.ranks())
}

/// An initial state that is the same for each sequence: rows of a shape, all `value`.
///
/// # Errors
/// [`Error::Tensor`] if there would be more values than can be counted.
pub fn fill_states<T: Element>(table: &RankTable, row_shape: &[usize], value: T) -> Result<LodTensor<T>, Error> {
    let shape: Shape = std::iter::once(table.num_sequences()).chain(row_shape.iter().copied()).collect();
    LodTensor::new(tensor_strided::Tensor::full(shape, value)?, Lod::none())
}

/// The part of a state, or of any input that is the same at all steps, that is still needed at
/// step `step`: the rows (or sequences, if it has a LoD) of the sequences that are longer. Values
/// are shared. O(1) without LoD.
///
/// # Errors
/// [`Error::Range`] if the state has fewer rows or sequences than that.
#[doc(alias = "shrink_rnn_memory")]
#[doc(alias = "static_input")]
pub fn shrink_state<T: Element>(state: &LodTensor<T>, table: &RankTable, step: usize) -> Result<LodTensor<T>, Error> {
    let (active, size) = (table.active(step), entries_of(state));
    if active > size {
        return Err(Error::Range { level: 0, begin: 0, end: active, size });
    }
    let (lod, rows) = state.lod().sub_lod(0, 0..active)?;
    state.slice_rows(rows, lod)
}

/// The gradient of [`shrink_state`] with respect to a state like `state`: the gradient of its
/// result, followed by zeros for the part that was cut off.
///
/// # Errors
/// [`Error::RowShape`], [`Error::Range`] if `grad` is not the first rows of something like `state`.
pub fn shrink_state_backward<T: Element + Default>(
    grad: &LodTensor<T>,
    state: &LodTensor<T>,
) -> Result<LodTensor<T>, Error> {
    state.check_row_shape(grad.shape())?;
    if grad.num_rows() > state.num_rows() {
        return Err(Error::Range { level: 0, begin: 0, end: grad.num_rows(), size: state.num_rows() });
    }
    let mut values = kaldera_base::memory::zeros(state.values().len());
    values[..grad.values().len()].copy_from_slice(grad.values());
    state.like(state.num_rows(), values, state.lod().clone())
}

/// The number of rows, or of sequences of the coarsest level.
fn entries_of<T: Element>(tensor: &LodTensor<T>) -> usize {
    if tensor.lod().is_none() { tensor.num_rows() } else { tensor.lod().num_sequences(0) }
}

fn reordered<T: Element + Default>(
    tensor: &LodTensor<T>,
    sequences: usize,
    order: &[i32],
) -> Result<LodTensor<T>, Error> {
    let what = if tensor.lod().is_none() { "the number of rows" } else { "the number of sequences" };
    Error::check_size(what, sequences, entries_of(tensor))?;
    let (lod, index) = tensor.lod().gather(0, order)?;
    tensor.like(index.len(), rows::gather(tensor.values(), tensor.width(), &index), lod)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ragged_core::RaggedShape;

    use super::*;

    proptest! {
        #[test]
        fn states_of_nested_sequences_round_trip(seed in any::<u64>()) {
            let lod = Lod::from(RaggedShape::random(seed, 2..=3, 0..=40).unwrap());
            let rows = lod.num_rows().unwrap();
            let boot = LodTensor::from_vec([rows], (0..rows as i32).collect::<Vec<_>>(), lod.clone()).unwrap();
            let table = lod.rank_table(0).unwrap();
            let state = init_states(&boot, &table).unwrap();
            let mut expected = vec![];
            for item in table.items() {
                let part = boot.lod_slice(0, item.index..item.index + 1).unwrap();
                expected.extend_from_slice(part.values());
            }
            prop_assert_eq!(state.values(), expected);
            prop_assert_eq!(init_states_backward(&state, &table).unwrap(), boot);
            for step in 0..=table.max_sequence_len() {
                let cut = shrink_state(&state, &table, step).unwrap();
                prop_assert_eq!(cut.lod().num_sequences(0), table.active(step));
                let back = shrink_state_backward(&cut, &state).unwrap();
                prop_assert_eq!(&back.values()[..cut.num_rows()], cut.values());
                prop_assert!(back.values()[cut.num_rows()..].iter().all(|&x| x == 0) && back.lod() == state.lod());
            }
        }
    }

    #[test]
    fn a_state_of_another_batch_is_refused() {
        let table = Lod::from_lengths(&[[1, 2]]).unwrap().rank_table(0).unwrap();
        let boot = LodTensor::from_vec([3, 1], vec![1, 2, 3], Lod::none()).unwrap();
        assert_eq!(
            init_states(&boot, &table).unwrap_err(),
            Error::Size { what: "the number of rows", expected: 2, found: 3 }
        );
        let state = fill_states(&table, &[2], 0.5).unwrap();
        assert_eq!(state.values(), [0.5; 4]);
        assert_eq!(shrink_state(&state, &table, 1).unwrap().num_rows(), 1);
        let short = shrink_state(&state, &table, 1).unwrap();
        assert_eq!(shrink_state(&short, &table, 0).unwrap_err(), Error::Range { level: 0, begin: 0, end: 2, size: 1 });
        assert!(shrink_state_backward(&state, &short).is_err());
        let narrow = fill_states(&table, &[1], 0.5).unwrap();
        assert!(matches!(shrink_state_backward(&narrow, &state), Err(Error::RowShape { .. })));
        assert!(fill_states(&table, &[usize::MAX], 0).is_err());
    }
}
