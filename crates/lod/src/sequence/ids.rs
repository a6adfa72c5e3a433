//! Sequences of ids and of lengths, which have no gradient.

use ragged_core::{Number, Ragged, RaggedShape};
use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::sequences;
use crate::tensor::LodTensor;

/// For each id the `window` ids from it on, `pad_value` beyond the end of its sequence: `[N,
/// window]`.
///
/// ```
/// use lod::LodTensor;
/// use lod::sequence::enumerate;
///
/// let x = LodTensor::from_sequences(&[vec![1, 2, 3], vec![4]])?;
/// assert_eq!(enumerate(&x, 2, 0)?.values(), [1, 2, 2, 3, 3, 0, 4, 0]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::Size`] for rows of more than one id;
/// [`Error::TooLarge`].
#[doc(alias = "sequence_enumerate")]
pub fn enumerate<T: Element>(x: &LodTensor<T>, window: usize, pad_value: T) -> Result<LodTensor<T>, Error> {
    let sequences = sequences(x)?;
    Error::check_size("the number of ids in a row", 1, x.width())?;
    let size = x.num_rows().checked_mul(window).filter(|&size| size <= isize::MAX as usize / size_of::<T>().max(1));
    let mut values = Vec::with_capacity(size.ok_or(Error::TooLarge { what: "the number of ids", size: u64::MAX })?);
    for rows in sequences {
        for row in rows.clone() {
            let there = &x.values()[row..rows.end.min(row.saturating_add(window))];
            values.extend_from_slice(there);
            values.extend(std::iter::repeat_n(pad_value, window - there.len()));
        }
    }
    LodTensor::from_vec([x.num_rows(), window], values, x.lod().clone())
}

/// The sequences without the ids that are among `tokens`; a sequence may become empty.
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::Size`] for rows of more than one id.
#[doc(alias = "sequence_erase")]
pub fn erase<T: Number>(x: &LodTensor<T>, tokens: &[T]) -> Result<LodTensor<T>, Error> {
    let sequences = sequences(x)?.clone();
    Error::check_size("the number of ids in a row", 1, x.width())?;
    let kept = Ragged::new(RaggedShape::new([sequences])?, x.buffer().clone())?.remove_values(|x| tokens.contains(x));
    let last = kept.shape().last_splits().clone();
    x.like(kept.num_elements(), kept.into_parts().1, x.lod().with_last(last)?)
}

/// For each of `lengths` as many `true` and then `false` up to `max_length`, which is the greatest
/// of them if `None`: `[.., max_length]`.
///
/// ```
/// use lod::sequence::mask;
/// use lod::{Lod, LodTensor};
///
/// let lengths = LodTensor::from_vec([2], vec![1, 3], Lod::none())?;
/// assert_eq!(mask(&lengths, None)?.values(), [true, false, false, true, true, true]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::TooLarge`].
#[doc(alias = "sequence_mask")]
pub fn mask(lengths: &LodTensor<i64>, max_length: Option<usize>) -> Result<LodTensor<bool>, Error> {
    let longest = || lengths.values().iter().copied().max().unwrap_or(0);
    let max_length = max_length.unwrap_or_else(|| usize::try_from(longest()).unwrap_or(0));
    let size = lengths.values().len().checked_mul(max_length).filter(|&size| isize::try_from(size).is_ok());
    let mut values = Vec::new();
    values
        .try_reserve_exact(size.ok_or(Error::TooLarge { what: "the size of the mask", size: u64::MAX })?)
        .map_err(|_| Error::TooLarge { what: "the size of the mask", size: size.unwrap_or(0) as u64 })?;
    for &length in lengths.values() {
        let length = usize::try_from(length).unwrap_or(0).min(max_length);
        values.extend((0..max_length).map(|j| j < length));
    }
    let shape: Vec<usize> = lengths.shape().iter().copied().chain([max_length]).collect();
    LodTensor::from_vec(shape, values, Lod::none())
}
