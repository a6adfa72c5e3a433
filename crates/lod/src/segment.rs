//! Sequences cut into time steps, and put together again.

use std::ops::Range;

use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::rank::RankTable;
use crate::rows;
use crate::tensor::LodTensor;

/// The steps of a mini-batch: at each, one entry of every sequence that is long enough, longest
/// sequence first.
///
/// All steps are in one packed buffer, one after another. The sequences still active at a step
/// are always the first rows of the batch, so a network needs no padding and no mask. If the
/// tensor has levels below the sorted one, an entry is itself a sequence, and every step has its
/// own LoD.
///
/// ```text
///   x        a0 a1 a2 a3 | b0 b1 | c0 c1 c2
///
///   step     0        1        2     3
///   packed   a0 c0 b0 | a1 c1 b1 | a2 c2 | a3
/// ```
///
/// ```
/// use lod::{LodTensor, concat_outputs, segment_inputs, sort_by_seq_len};
///
/// // The picture of the design document: xxxx, xx, xxx.
/// let x = LodTensor::from_sequences(&[vec![0, 1, 2, 3], vec![10, 11], vec![20, 21, 22]])?;
/// let table = sort_by_seq_len(&x)?;
/// let segments = segment_inputs(&x, &table)?;
/// let steps: Vec<&[i32]> = segments.steps().collect();
/// assert_eq!(steps, [&[0, 20, 10][..], &[1, 21, 11], &[2, 22], &[3]]);
/// assert_eq!(concat_outputs(&segments)?, x);
/// # Ok::<(), lod::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "PackedSequence")]
#[doc(alias = "LoDTensorArray")]
pub struct Segments<T: Element> {
    table: RankTable,
    /// The entries of the table in packed order: sequences of its coarsest level, or rows if it has
    /// no levels.
    packed: LodTensor<T>,
}

/// Cuts a tensor into its time steps. O(values), with the index of the table, which is computed
/// once per mini-batch.
///
/// The adjoint (the map of gradients) is [`concat_outputs`].
///
/// # Errors
/// [`Error::NoLevel`], [`Error::Size`], [`Error::SequenceLength`] if the table was made of a LoD
/// whose sequences have other lengths than the sequences of `x`; [`Error::TooLarge`].
#[doc(alias = "SegmentInputs")]
#[doc(alias = "SetmentInputs")]
#[doc(alias = "lod_tensor_to_array")]
#[doc(alias = "pack_padded_sequence")]
#[doc(alias = "pack_sequence")]
pub fn segment_inputs<T: Element + Default>(x: &LodTensor<T>, table: &RankTable) -> Result<Segments<T>, Error> {
    table.check_splits(x.lod().check_level(table.level())?)?;
    let below = table.level() + 1;
    let packed = if below == x.lod().num_levels() {
        let values = rows::gather(x.values(), x.width(), table.packed_to_entry());
        x.like(x.num_rows(), values, Lod::none())?
    } else {
        let (lod, rows) = x.lod().gather(below, table.packed_to_entry())?;
        x.like(rows.len(), rows::gather(x.values(), x.width(), &rows), lod)?
    };
    Ok(Segments { table: table.clone(), packed })
}

/// Puts the time steps together to sequences again: in the order they had, and with the levels
/// above.
///
/// The adjoint is [`segment_inputs`].
///
/// # Errors
/// [`Error::TooLarge`].
#[doc(alias = "ConcatOutputs")]
#[doc(alias = "array_to_lod_tensor")]
#[doc(alias = "pad_packed_sequence")]
#[doc(alias = "unpack_sequence")]
pub fn concat_outputs<T: Element + Default>(segments: &Segments<T>) -> Result<LodTensor<T>, Error> {
    let Segments { table, packed } = segments;
    if packed.lod().is_none() {
        let values = rows::gather(packed.values(), packed.width(), table.entry_to_packed());
        return packed.like(packed.num_rows(), values, table.upper_lod());
    }
    let (lower, rows) = packed.lod().gather(0, table.entry_to_packed())?;
    let values = rows::gather(packed.values(), packed.width(), &rows);
    packed.like(rows.len(), values, table.upper_lod().below(&lower)?)
}

/// As [`segment_inputs`] of rows (no levels below the table's), into memory of the caller's, which
/// spares fetching fresh pages.
///
/// # Errors
/// As [`segment_inputs`]; [`Error::NumLevels`] for levels below; [`Error::Size`] if `out` does
/// not have one element for each value.
pub fn segment_inputs_into<T: Element>(x: &LodTensor<T>, table: &RankTable, out: &mut [T]) -> Result<(), Error> {
    table.check_splits(x.lod().check_level(table.level())?)?;
    let (expected, found) = (table.level() + 1, x.lod().num_levels());
    if expected != found {
        return Err(Error::NumLevels { what: "the tensor", expected, found });
    }
    Error::check_size("the length of the output", x.values().len(), out.len())?;
    rows::gather_into(x.values(), x.width(), table.packed_to_entry(), out);
    Ok(())
}

/// As [`concat_outputs`] of rows (steps without LoD), into memory of the caller's.
///
/// # Errors
/// [`Error::NumLevels`] for steps with LoD; [`Error::Size`] if `out` does not have one element
/// for each value.
pub fn concat_outputs_into<T: Element>(segments: &Segments<T>, out: &mut [T]) -> Result<(), Error> {
    let Segments { table, packed } = segments;
    let found = packed.lod().num_levels();
    if found != 0 {
        return Err(Error::NumLevels { what: "each step", expected: 0, found });
    }
    Error::check_size("the length of the output", packed.values().len(), out.len())?;
    rows::gather_into(packed.values(), packed.width(), table.entry_to_packed(), out);
    Ok(())
}

impl<T: Element> Segments<T> {
    /// Steps that are already in packed order: the outputs of a network that runs the steps of
    /// `table`.
    ///
    /// # Errors
    /// [`Error::Size`] if it does not have one entry (a sequence of its coarsest level, or a row
    /// without levels) for each entry of the table.
    pub fn new(table: &RankTable, packed: LodTensor<T>) -> Result<Self, Error> {
        let entries = if packed.lod().is_none() { packed.num_rows() } else { packed.lod().num_sequences(0) };
        Error::check_size("the number of packed entries", table.num_entries(), entries)?;
        Ok(Self { table: table.clone(), packed })
    }

    /// Room for rows of a shape, zero: for a network to write its outputs to, step by step.
    ///
    /// # Errors
    /// [`Error::Tensor`] if there would be more values than can be counted.
    pub fn zeros(table: &RankTable, row_shape: &[usize]) -> Result<Self, Error>
    where
        T: Default,
    {
        let shape: tensor_strided::Shape =
            std::iter::once(table.num_entries()).chain(row_shape.iter().copied()).collect();
        let len = tensor_strided::Layout::contiguous(&shape)?.len();
        let packed = LodTensor::from_vec(shape, kaldera_base::memory::zeros::<T>(len), Lod::none())?;
        Ok(Self { table: table.clone(), packed })
    }

    /// Steps from one tensor each, with or without LoD.
    ///
    /// # Errors
    /// [`Error::Size`] if their number is not the number of the table's steps, or if a step does
    /// not have one entry for each sequence that is long enough; [`Error::Nothing`] without
    /// steps; the errors of [`LodTensor::merge`].
    pub fn from_steps(table: &RankTable, steps: &[impl AsRef<LodTensor<T>>]) -> Result<Self, Error> {
        Error::check_size("the number of steps", table.max_sequence_len(), steps.len())?;
        for (step, tensor) in steps.iter().enumerate() {
            let tensor = tensor.as_ref();
            let entries = if tensor.lod().is_none() { tensor.num_rows() } else { tensor.lod().num_sequences(0) };
            Error::check_size("the number of entries of a step", table.active(step), entries)?;
        }
        Ok(Self { table: table.clone(), packed: LodTensor::merge(steps)? })
    }

    /// The order of the sequences, and all indexes.
    pub fn table(&self) -> &RankTable {
        &self.table
    }

    /// All steps, concatenated. Its LoD has the levels below the sorted one.
    pub fn packed(&self) -> &LodTensor<T> {
        &self.packed
    }

    /// All steps, concatenated.
    pub fn into_packed(self) -> LodTensor<T> {
        self.packed
    }

    /// The number of steps.
    pub fn num_steps(&self) -> usize {
        self.table.max_sequence_len()
    }

    /// The packed rows of a step.
    ///
    /// # Panics
    /// If there is no such step, as indexing a slice does.
    pub fn rows_of_step(&self, step: usize) -> Range<usize> {
        let entries = self.table.packed().step(step);
        match self.packed.lod().rows_of(0, entries) {
            Ok(rows) => rows,
            Err(error) => unreachable!("entries of a step: {error}"),
        }
    }

    /// The values of a step, in the packed buffer.
    ///
    /// # Panics
    /// If there is no such step, as indexing a slice does.
    pub fn step(&self, step: usize) -> &[T] {
        self.packed.values_of(self.rows_of_step(step))
    }

    /// The values of each step in turn.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.num_steps()).map(|step| self.step(step))
    }

    /// The values of a step, to be written.
    ///
    /// # Panics
    /// If there is no such step, as indexing a slice does.
    pub fn step_mut(&mut self, step: usize) -> &mut [T] {
        self.before_and_step_mut(step).1
    }

    /// Returns the values of the step before (none for the first) and the values of a step, to be
    /// written, as a recurrence needs them.
    ///
    /// ```
    /// use lod::{LodTensor, concat_outputs, segment_inputs};
    ///
    /// // Sums from the start of each sequence: y(t) = y(t - 1) + x(t).
    /// let x = LodTensor::from_sequences(&[vec![1, 2], vec![3, 4, 5]])?;
    /// let mut sums = segment_inputs(&x, &x.lod().rank_table(0)?)?;
    /// for step in 0..sums.num_steps() {
    ///     let (before, here) = sums.before_and_step_mut(step);
    ///     here.iter_mut().zip(before).for_each(|(y, before)| *y += before);
    /// }
    /// assert_eq!(concat_outputs(&sums)?.values(), [1, 3, 3, 7, 12]);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such step, as indexing a slice does.
    pub fn before_and_step_mut(&mut self, step: usize) -> (&[T], &mut [T]) {
        let width = self.packed.width();
        let before = step.checked_sub(1).map_or(0..0, |before| self.rows_of_step(before));
        let here = self.rows_of_step(step);
        let (left, right) = self.packed.values_mut().split_at_mut(here.start * width);
        (&left[before.start * width..before.end * width], &mut right[..here.len() * width])
    }

    /// A step as a tensor with its LoD. Values are shared. O(offsets of the step).
    ///
    /// # Panics
    /// If there is no such step, as indexing a slice does.
    pub fn step_tensor(&self, step: usize) -> LodTensor<T> {
        let entries = self.table.packed().step(step);
        let part = self.packed.lod().sub_lod(0, entries).and_then(|(lod, rows)| self.packed.slice_rows(rows, lod));
        part.unwrap_or_else(|error| unreachable!("entries of a step: {error}"))
    }

    /// Checks that each entry is a row.
    pub(crate) fn check_plain(&self) -> Result<(), Error> {
        match self.packed.lod().num_levels() {
            0 => Ok(()),
            found => Err(Error::NumLevels { what: "each step", expected: 0, found }),
        }
    }
}

impl<T: Element + Default> Segments<T> {
    /// The last row of each sequence, in the order of the sequences; rows of `pad_value` for empty
    /// ones. O(sequences).
    ///
    /// On a reversed table this is the first row of each sequence, which the network sees last.
    ///
    /// # Errors
    /// [`Error::NumLevels`] for steps with LoD.
    pub fn last_steps(&self, pad_value: T) -> Result<LodTensor<T>, Error> {
        let (packed, width) = (&self.packed, self.packed.width());
        self.check_plain()?;
        let positions = self.table.packed().last_positions();
        let mut values = Vec::with_capacity(positions.len() * width);
        for position in &positions {
            match usize::try_from(*position) {
                Ok(row) => values.extend_from_slice(packed.row(row)),
                Err(_) => values.resize(values.len() + width, pad_value),
            }
        }
        packed.like(positions.len(), values, self.table.coarse_lod())
    }

    /// The gradient of [`last_steps`](Self::last_steps) with respect to the packed rows; `grad`
    /// is the gradient of its result.
    ///
    /// # Errors
    /// [`Error::Size`] if it does not have one row for each sequence.
    pub fn last_steps_backward(table: &RankTable, grad: &LodTensor<T>) -> Result<Self, Error> {
        Error::check_size("the number of gradient rows", table.num_sequences(), grad.num_rows())?;
        let mut packed = Self::zeros(table, &grad.shape()[1..])?;
        let (width, values) = (grad.width(), packed.packed.values_mut());
        for (sequence, position) in table.packed().last_positions().into_iter().enumerate() {
            if let Ok(row) = usize::try_from(position) {
                values[row * width..][..width].copy_from_slice(grad.row(sequence));
            }
        }
        Ok(packed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ragged_core::RaggedShape;

    use super::*;

    /// A tensor of three columns whose value at (row, column) is `10 row + column`.
    fn numbered(lod: Lod) -> LodTensor<i64> {
        let rows = lod.num_rows().unwrap();
        let values: Vec<i64> = (0..rows as i64).flat_map(|row| (0..3).map(move |column| 10 * row + column)).collect();
        LodTensor::from_vec([rows, 3], values, lod).unwrap()
    }

    proptest! {
        #[test]
        fn steps_are_what_a_loop_over_the_sequences_finds(seed in any::<u64>(), level in 0_usize..3, reversed in any::<bool>()) {
            let lod = Lod::from(RaggedShape::random(seed, 2..=4, 0..=60).unwrap());
            let level = level % lod.num_levels();
            let x = numbered(lod.clone());
            let table = lod.rank_table(level).unwrap();
            let table = if reversed { table.reversed() } else { table };
            let segments = segment_inputs(&x, &table).unwrap();
            prop_assert_eq!(segments.num_steps(), table.max_sequence_len());
            for step in 0..segments.num_steps() {
                let mut expected = vec![];
                let mut lengths = vec![];
                for item in table.items().filter(|item| item.length > step) {
                    let sequence = lod.element(level, item.index);
                    let entry = if reversed { sequence.end - 1 - step } else { sequence.start + step };
                    let rows = lod.rows_of(level + 1, entry..entry + 1).unwrap();
                    expected.extend_from_slice(x.values_of(rows));
                    lengths.push(lod.sub_lod(level + 1, entry..entry + 1).unwrap().0);
                }
                prop_assert_eq!(segments.step(step), &expected);
                let tensor = segments.step_tensor(step);
                prop_assert_eq!(tensor.values(), &expected);
                prop_assert_eq!(tensor.lod(), &Lod::concat(&lengths).unwrap());
            }
            prop_assert_eq!(concat_outputs(&segments).unwrap(), x);
            let steps: Vec<_> = (0..segments.num_steps()).map(|step| segments.step_tensor(step)).collect();
            if let [_, ..] = &steps[..] {
                let again = Segments::from_steps(&table, &steps).unwrap();
                prop_assert_eq!(again.packed(), segments.packed());
            }
        }

        #[test]
        fn each_is_the_adjoint_of_the_other(lengths in prop::collection::vec(0_usize..6, 0..8)) {
            let x = numbered(Lod::from_lengths(&[lengths]).unwrap());
            let table = x.lod().rank_table(0).unwrap();
            let segments = segment_inputs(&x, &table).unwrap();
            let mut grad = segments.packed().clone();
            grad.values_mut().iter_mut().enumerate().for_each(|(i, g)| *g = (i * i % 17) as i64);
            let dot = |a: &LodTensor<i64>, b: &LodTensor<i64>| -> i64 {
                a.values().iter().zip(b.values()).map(|(a, b)| a * b).sum()
            };
            let back = concat_outputs(&Segments::new(&table, grad.clone()).unwrap()).unwrap();
            prop_assert_eq!(dot(segments.packed(), &grad), dot(&x, &back));
            let last = segments.last_steps(0).unwrap();
            let mut grad = last.clone();
            grad.values_mut().iter_mut().enumerate().for_each(|(i, g)| *g = (i * i % 13) as i64);
            let back = Segments::last_steps_backward(&table, &grad).unwrap();
            prop_assert_eq!(dot(&last, &grad), dot(segments.packed(), back.packed()));
        }
    }

    #[test]
    fn memory_of_the_callers_gets_the_same() {
        let x = numbered(Lod::from_lengths(&[[4, 0, 2, 3]]).unwrap());
        let table = sort(&x);
        let segments = segment_inputs(&x, &table).unwrap();
        let mut out = vec![0; 27];
        segment_inputs_into(&x, &table, &mut out).unwrap();
        assert_eq!(out, segments.packed().values());
        concat_outputs_into(&segments, &mut out).unwrap();
        assert_eq!(out, x.values());
        assert!(segment_inputs_into(&x, &table, &mut out[1..]).is_err());
        assert!(concat_outputs_into(&segments, &mut []).is_err());
        assert_eq!(segments.last_steps(-1).unwrap().values(), [30, 31, 32, -1, -1, -1, 50, 51, 52, 80, 81, 82]);
    }

    fn sort(x: &LodTensor<i64>) -> RankTable {
        x.lod().rank_table(0).unwrap()
    }

    #[test]
    fn what_does_not_fit_the_table_is_refused() {
        let x = numbered(Lod::from_lengths(&[[2, 3]]).unwrap());
        let table = sort(&x);
        let other = numbered(Lod::from_lengths(&[[3, 2]]).unwrap());
        let wrong = Error::SequenceLength { sequence: 0, expected: 2, found: 3 };
        assert_eq!(segment_inputs(&other, &table).unwrap_err(), wrong);
        assert!(segment_inputs(&other.with_lod(Lod::none()).unwrap(), &table).is_err());
        assert!(Segments::new(&table, x.lod_slice(0, 0..1).unwrap()).is_err());
        assert!(Segments::from_steps(&table, &[&x]).is_err());
        let mut segments = Segments::<f32>::zeros(&table, &[2]).unwrap();
        segments.step_mut(2).fill(1.0);
        assert_eq!(concat_outputs(&segments).unwrap().values()[8..], [1.0, 1.0]);
        assert!(Segments::<f32>::zeros(&table, &[usize::MAX]).is_err());
        let nested = numbered(Lod::from_lengths(&[vec![2, 1], vec![1, 2, 1]]).unwrap());
        let segments = segment_inputs(&nested, &sort(&nested)).unwrap();
        assert!(segments.last_steps(0).is_err() && concat_outputs_into(&segments, &mut [0; 12]).is_err());
        assert!(segment_inputs_into(&nested, &sort(&nested), &mut [0; 12]).is_err());
    }
}
