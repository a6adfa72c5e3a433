//! To padded batches and back, for code that knows nothing else.

use kaldera_base::{Real, memory};
use ragged_core::RowSplits;
use tensor_strided::{Element, Shape};

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::{check_gradient, only_level};
use crate::tensor::LodTensor;

/// The data that the gradient of [`pad`] needs.
#[derive(Debug, Clone)]
pub struct PadSaved {
    shape: Shape,
    lod: Lod,
    sequences: RowSplits,
    padded_length: usize,
}

/// The sequences as `[sequences, length, ..]`, each filled up at its end with `pad_value`: one
/// value, or one row.
///
/// `padded_length` is the length; `None` is the length of the longest sequence. The returned
/// lengths are taken from the LoD.
///
/// ```
/// use lod::LodTensor;
/// use lod::sequence::pad;
///
/// let x = LodTensor::from_sequences(&[vec![1, 2, 3], vec![], vec![4]])?;
/// let (padded, _) = pad(&x, &[0], None)?;
/// assert_eq!(
///     (&padded.shape()[..], padded.values()),
///     (&[3, 3][..], &[1, 2, 3, 0, 0, 0, 4, 0, 0][..])
/// );
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NumLevels`] unless the tensor has one level; [`Error::Size`] for a padding of another
/// width; [`Error::PaddedLength`] if a sequence is longer; [`Error::TooLarge`].
#[doc(alias = "sequence_pad")]
#[doc(alias = "pad_sequence")]
pub fn pad<T: Element>(
    x: &LodTensor<T>,
    pad_value: &[T],
    padded_length: Option<usize>,
) -> Result<(LodTensor<T>, PadSaved), Error> {
    let sequences = only_level("the LoD of what is padded", x.lod())?;
    let width = x.width();
    if pad_value.len() != 1 {
        Error::check_size("the width of the padding", width, pad_value.len())?;
    }
    let longest = sequences.max_len();
    let padded_length = padded_length.unwrap_or(longest);
    if padded_length < longest {
        return Err(Error::PaddedLength { found: padded_length, longest });
    }
    let size = [sequences.num_rows(), padded_length, width].iter().try_fold(1_usize, |size, &n| size.checked_mul(n));
    let size = size.filter(|&size| size.checked_mul(size_of::<T>().max(1)).is_some_and(|n| isize::try_from(n).is_ok()));
    let size = size.ok_or(Error::TooLarge { what: "the number of padded values", size: u64::MAX })?;
    let row: Vec<T> = pad_value.iter().copied().cycle().take(width).collect();
    let mut values = memory::with_capacity(size);
    for rows in &sequences {
        let len = rows.len();
        values.extend_from_slice(x.values_of(rows));
        (len..padded_length).for_each(|_| values.extend_from_slice(&row));
    }
    let shape: Vec<usize> =
        [sequences.num_rows(), padded_length].into_iter().chain(x.shape()[1..].iter().copied()).collect();
    let out = LodTensor::from_vec(shape, values, Lod::none())?;
    Ok((out, PadSaved { shape: x.shape().clone(), lod: x.lod().clone(), sequences, padded_length }))
}

impl PadSaved {
    /// The length of each sequence.
    #[doc(alias = "Length")]
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.sequences.rows().map(|rows| rows.len())
    }

    /// The gradient of the sequences; the gradient of the padding is dropped.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let width = self.shape[1..].iter().product::<usize>();
        check_gradient(self.sequences.num_rows(), self.padded_length * width, out_grad)?;
        let mut grad = memory::with_capacity(self.shape[0] * width);
        for (i, rows) in self.sequences.rows().enumerate() {
            grad.extend_from_slice(&out_grad.row(i)[..rows.len() * width]);
        }
        LodTensor::from_vec(&self.shape, grad, self.lod.clone())
    }
}

/// The data that the gradient of [`unpad`] needs.
#[derive(Debug, Clone)]
pub struct UnpadSaved {
    shape: Shape,
    sequences: RowSplits,
}

/// Of each row of a padded batch `[sequences, length, ..]` the first `lengths[i]` steps, one
/// sequence after the other. Of `[sequences, length]`, rows of one value.
///
/// # Errors
/// [`Error::Scalar`] for less than two axes; [`Error::Size`] if there is not one length for each
/// sequence; [`Error::Part`] for one that is negative or longer than the batch;
/// [`Error::TooLarge`].
#[doc(alias = "sequence_unpad")]
#[doc(alias = "unpad_sequence")]
pub fn unpad<T: Element>(x: &LodTensor<T>, lengths: &[i64]) -> Result<(LodTensor<T>, UnpadSaved), Error> {
    let &[num_sequences, padded_length, ref row_shape @ ..] = &x.shape()[..] else { return Err(Error::Scalar) };
    Error::check_size("the number of lengths", num_sequences, lengths.len())?;
    let length_of = |(sequence, &length): (usize, &i64)| match usize::try_from(length) {
        Ok(len) if len <= padded_length => Ok(len),
        _ => Err(Error::Part { sequence, offset: 0, length, size: padded_length }),
    };
    let lengths = lengths.iter().enumerate().map(length_of).collect::<Result<Vec<_>, _>>()?;
    let sequences = RowSplits::from_lengths(lengths)?;
    let row_shape = if row_shape.is_empty() { &[1][..] } else { row_shape };
    let width = row_shape.iter().product::<usize>();
    let mut values = memory::with_capacity(sequences.num_elements() * width);
    for (i, rows) in sequences.rows().enumerate() {
        values.extend_from_slice(&x.row(i)[..rows.len() * width]);
    }
    let shape: Vec<usize> = [sequences.num_elements()].into_iter().chain(row_shape.iter().copied()).collect();
    let out = LodTensor::from_vec(shape, values, Lod::new([sequences.clone()])?)?;
    Ok((out, UnpadSaved { shape: x.shape().clone(), sequences }))
}

impl UnpadSaved {
    /// The gradient of the padded batch; zero in the padding.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let width = self.shape[2..].iter().product::<usize>();
        check_gradient(self.sequences.num_elements(), width, out_grad)?;
        let line = self.shape[1] * width;
        let mut grad = memory::zeros(self.shape[0] * line);
        for (i, rows) in self.sequences.rows().enumerate() {
            grad[i * line..][..rows.len() * width].copy_from_slice(out_grad.values_of(rows));
        }
        LodTensor::from_vec(&self.shape, grad, Lod::none())
    }
}
