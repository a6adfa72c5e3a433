//! Conversion to and from padded batches, for code that needs them: PyTorch's `pad_sequence` and
//! its inverse.

use std::ops::Range;

use tensor_strided::{Element, Layout, Shape, Tensor};

use crate::error::Error;
use crate::lod::Lod;
use crate::tensor::LodTensor;

/// The layout of a padded batch.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(default, deny_unknown_fields, bound(deserialize = "T: Default + serde::Deserialize<'de>"))
)]
#[non_exhaustive]
pub struct Padding<T> {
    /// The value of padding. PyTorch: `padding_value`.
    pub value: T,
    /// Axis 0 is the sequences and axis 1 the steps; else it is the other way round, as is
    /// PyTorch's default.
    pub batch_first: bool,
    /// Sequences end together; else they begin together. PyTorch: `padding_side`.
    pub left: bool,
    /// Number of steps; `None`: the length of the longest sequence.
    pub total_length: Option<usize>,
}

impl<T: Default> Default for Padding<T> {
    /// PyTorch's: zeros on the right, steps first.
    fn default() -> Self {
        Self { value: T::default(), batch_first: false, left: false, total_length: None }
    }
}

impl<T> Padding<T> {
    /// Sets the value of padding.
    #[must_use]
    pub fn with_value(self, value: T) -> Self {
        Self { value, ..self }
    }

    /// With axis 0 for the sequences and axis 1 for the steps.
    #[must_use]
    pub fn with_batch_first(self, batch_first: bool) -> Self {
        Self { batch_first, ..self }
    }

    /// With sequences that end together.
    #[must_use]
    pub fn with_left(self, left: bool) -> Self {
        Self { left, ..self }
    }

    /// With this many steps.
    #[must_use]
    pub fn with_total_length(self, total_length: usize) -> Self {
        Self { total_length: Some(total_length), ..self }
    }
}

/// The sequences of the last level side by side, padded to equal length: shape `[steps, sequences,
/// ..]`, or `[sequences, steps, ..]`.
///
/// The adjoint is [`unpad_sequence`].
///
/// ```
/// use lod::{LodTensor, Padding, pad_sequence, unpad_sequence};
///
/// let x = LodTensor::from_sequences(&[vec![1, 2], vec![], vec![3]])?;
/// let padding = Padding::default().with_value(-1).with_batch_first(true);
/// let padded = pad_sequence(&x, &padding)?;
/// assert_eq!((padded.shape().to_vec(), padded.to_vec()), (vec![3, 2], vec![1, 2, -1, -1, 3, -1]));
/// assert_eq!(unpad_sequence(&padded, &[2, 0, 1], &padding)?, x);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::PaddedLength`] if `total_length` is less
/// than the longest sequence has; [`Error::Tensor`] if there would be more values than can be
/// counted.
pub fn pad_sequence<T: Element>(x: &LodTensor<T>, padding: &Padding<T>) -> Result<Tensor<T>, Error> {
    let sequences = x.lod().last().ok_or(Error::NoLevel { level: 0, levels: 0 })?;
    let longest = sequences.max_len();
    let steps = padding.total_length.unwrap_or(longest);
    if steps < longest {
        return Err(Error::PaddedLength { found: steps, longest });
    }
    let (batch, width) = (sequences.num_rows(), x.width());
    let front = if padding.batch_first { [batch, steps] } else { [steps, batch] };
    let shape: Shape = front.into_iter().chain(x.shape()[1..].iter().copied()).collect();
    let mut values = kaldera_base::memory::with_capacity(Layout::contiguous(&shape)?.len());
    values.resize(values.capacity().min(batch * steps * width), padding.value);
    for (sequence, rows) in sequences.rows().enumerate() {
        let begin = if padding.left { steps - rows.len() } else { 0 };
        copy_runs(padding, batch, steps, sequence, begin, rows, |position, rows| {
            values[position * width..][..rows.len() * width].copy_from_slice(x.values_of(rows));
        });
    }
    Ok(Tensor::from_vec(shape, values)?)
}

/// The sequences of a padded batch, of these lengths, one after the other: one level.
///
/// The adjoint is [`pad_sequence`] with zeros and the number of steps as `total_length`.
///
/// # Errors
/// [`Error::Axes`] for less than two axes; [`Error::Size`] if there is not one length for each
/// sequence; [`Error::PaddedLength`] if a length exceeds the number of steps; [`Error::Number`]
/// if there are more rows than fit.
pub fn unpad_sequence<T: Element>(
    padded: &Tensor<T>,
    lengths: &[usize],
    padding: &Padding<T>,
) -> Result<LodTensor<T>, Error> {
    let (front, row_shape) = match &padded.shape()[..] {
        [first, second, row_shape @ ..] => ([*first, *second], row_shape),
        shape => return Err(Error::Axes { expected: 2, found: shape.len() }),
    };
    let [batch, steps] = if padding.batch_first { front } else { [front[1], front[0]] };
    Error::check_size("the number of lengths", batch, lengths.len())?;
    if let Some(longest) = lengths.iter().copied().max().filter(|&longest| longest > steps) {
        return Err(Error::PaddedLength { found: steps, longest });
    }
    let lod = Lod::from_lengths(&[lengths])?;
    let sequences = lod.level(0);
    let width: usize = row_shape.iter().product();
    let source = LodTensor::new(padded.clone(), Lod::none())?;
    let mut values = kaldera_base::memory::with_capacity(sequences.num_elements() * width);
    for (sequence, rows) in sequences.rows().enumerate() {
        let begin = if padding.left { steps - rows.len() } else { 0 };
        copy_runs(padding, batch, steps, sequence, begin, rows, |position, rows| {
            values.extend_from_slice(&source.values()[position * width..][..rows.len() * width]);
        });
    }
    let shape: Shape = std::iter::once(sequences.num_elements()).chain(row_shape.iter().copied()).collect();
    LodTensor::from_vec(shape, values, lod)
}

/// Calls `copy` with the padded position of each run of rows that are contiguous there too: the
/// whole sequence, or row by row.
fn copy_runs<T>(
    padding: &Padding<T>,
    batch: usize,
    steps: usize,
    sequence: usize,
    begin: usize,
    rows: Range<usize>,
    mut copy: impl FnMut(usize, Range<usize>),
) {
    if padding.batch_first {
        return copy(sequence * steps + begin, rows);
    }
    for (step, row) in (begin..).zip(rows) {
        copy(step * batch + sequence, row..row + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_where_it_should_be(
            lengths in prop::collection::vec(0_usize..5, 0..6),
            (batch_first, left) in any::<(bool, bool)>(),
            more in prop::option::of(0_usize..3),
        ) {
            let lod = Lod::from_lengths(&[&lengths[..]]).unwrap();
            let rows = lod.num_rows().unwrap();
            let x = LodTensor::from_vec([rows, 2], (0..2 * rows as i32).collect::<Vec<_>>(), lod).unwrap();
            let longest = lengths.iter().copied().max().unwrap_or(0);
            let padding = Padding { value: -1, batch_first, left, total_length: more.map(|more| longest + more) };
            let padded = pad_sequence(&x, &padding).unwrap();
            let steps = longest + more.unwrap_or(0);
            for (i, &len) in lengths.iter().enumerate() {
                for t in 0..steps {
                    let begin = if left { steps - len } else { 0 };
                    let at = if batch_first { [i, t, 1] } else { [t, i, 1] };
                    let step = t.checked_sub(begin).filter(|&step| step < len);
                    let expected = step.map_or(-1, |step| x.sequence(i)[2 * step + 1]);
                    prop_assert_eq!(padded.get(at), Some(&expected));
                }
            }
            prop_assert_eq!(unpad_sequence(&padded, &lengths, &padding).unwrap(), x);
        }
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let x = LodTensor::from_sequences(&[vec![1, 2], vec![3]]).unwrap();
        let short = Padding { total_length: Some(1), ..Padding::default() };
        assert_eq!(pad_sequence(&x, &short), Err(Error::PaddedLength { found: 1, longest: 2 }));
        let huge = Padding { total_length: Some(usize::MAX), ..Padding::default() };
        assert!(pad_sequence(&x, &huge).is_err());
        let padding = Padding::default();
        let padded = pad_sequence(&x, &padding).unwrap();
        assert!(unpad_sequence(&padded, &[2], &padding).is_err());
        assert_eq!(unpad_sequence(&padded, &[2, 3], &padding), Err(Error::PaddedLength { found: 2, longest: 3 }));
        assert_eq!(unpad_sequence(x.tensor(), &[1], &padding), Err(Error::Axes { expected: 2, found: 1 }));
        assert!(pad_sequence(&x.with_lod(Lod::none()).unwrap(), &padding).is_err());
    }
}
