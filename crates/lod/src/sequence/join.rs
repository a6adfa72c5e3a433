//! Sequences joined, cut and turned around.

use kaldera_base::{Real, memory};
use ragged_core::RowSplits;
use tensor_strided::{Element, Shape};

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::expand::moved_within;
use crate::sequence::runs::MovedRows;
use crate::sequence::{check_gradient, only_level, sequences};
use crate::tensor::LodTensor;

/// The data that the gradients of [`concat()`] need.
#[derive(Debug, Clone)]
pub struct ConcatSaved {
    sources: Vec<(Shape, Lod)>,
    rows: usize,
}

/// Sequence i of the result is the i-th sequences of all sources, concatenated.
///
/// ```
/// use lod::LodTensor;
/// use lod::sequence::concat;
///
/// let (a, b) = (
///     LodTensor::from_sequences(&[vec![1, 2], vec![3]])?,
///     LodTensor::from_sequences(&[vec![7], vec![]])?
/// );
/// let (out, _) = concat(&[&a, &b])?;
/// assert_eq!((out.values(), out.lod().offsets(0)), (&[1, 2, 7, 3][..], &[0, 3, 4][..]));
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::Nothing`] without sources; [`Error::NoLevel`] for one without LoD; [`Error::Size`] or
/// [`Error::LevelMismatch`] if they do not have the same number of sequences, the same upper
/// levels or the same shape of a row; [`Error::TooLarge`].
#[doc(alias = "sequence_concat")]
pub fn concat<T: Element>(sources: &[&LodTensor<T>]) -> Result<(LodTensor<T>, ConcatSaved), Error> {
    let first = *sources.first().ok_or(Error::Nothing { what: "tensor to concatenate" })?;
    let upper = first.lod().without_last();
    let all: Vec<&RowSplits> = sources.iter().map(|source| sequences(source)).collect::<Result<_, _>>()?;
    for (source, splits) in sources.iter().zip(&all) {
        first.check_row_shape(source.shape())?;
        Error::check_size("the number of sequences", all[0].num_rows(), splits.num_rows())?;
        if source.lod().without_last() != upper {
            return Err(Error::NumLevels {
                what: "every tensor to concatenate, as the first one,",
                expected: first.lod().num_levels(),
                found: source.lod().num_levels(),
            });
        }
    }
    let rows = sources.iter().map(|source| source.num_rows()).sum::<usize>();
    let lengths = (0..all[0].num_rows()).map(|i| all.iter().map(|splits| splits.len_of(i)).sum());
    let last = RowSplits::from_lengths(lengths)?;
    let mut values = memory::with_capacity(rows * first.width());
    for i in 0..last.num_rows() {
        sources.iter().for_each(|source| values.extend_from_slice(source.sequence(i)));
    }
    let out = first.like(rows, values, first.lod().with_last(last)?)?;
    let sources = sources.iter().map(|source| (source.shape().clone(), source.lod().clone())).collect();
    Ok((out, ConcatSaved { sources, rows }))
}

impl ConcatSaved {
    /// The gradient of each source.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<Vec<LodTensor<T>>, Error> {
        let width = self.sources.first().map_or(0, |(shape, _)| shape[1..].iter().product());
        check_gradient(self.rows, width, out_grad)?;
        let mut grads: Vec<Vec<T>> =
            self.sources.iter().map(|(shape, _)| memory::with_capacity(shape[0] * width)).collect();
        let mut begin = 0;
        let num_sequences = self.sources.first().and_then(|(_, lod)| lod.last()).map_or(0, RowSplits::num_rows);
        for i in 0..num_sequences {
            for ((_, lod), grad) in self.sources.iter().zip(&mut grads) {
                let end = begin + lod.last().map_or(0, |splits| splits.len_of(i));
                grad.extend_from_slice(out_grad.values_of(begin..end));
                begin = end;
            }
        }
        let sources = self.sources.iter().zip(grads);
        sources.map(|((shape, lod), grad)| LodTensor::from_vec(shape, grad, lod.clone())).collect()
    }
}

/// Of sequence i the `lengths[i]` rows from `offsets[i]` on, which count from the sequence's begin.
///
/// ```
/// use lod::LodTensor;
/// use lod::sequence::slice;
///
/// let x = LodTensor::from_sequences(&[vec![1, 2, 3], vec![4, 5]])?;
/// assert_eq!(slice(&x, &[1, 0], &[2, 0])?.0, LodTensor::from_sequences(&[vec![2, 3], vec![]])?);
/// assert!(slice(&x, &[1, -1], &[2, 0]).is_err());
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::Size`] if there is not one number for each
/// sequence; [`Error::Part`] for rows that are not there.
#[doc(alias = "sequence_slice")]
pub fn slice<T: Element>(
    x: &LodTensor<T>,
    offsets: &[i64],
    lengths: &[i64],
) -> Result<(LodTensor<T>, MovedRows), Error> {
    let splits = sequences(x)?;
    Error::check_size("the number of offsets", splits.num_rows(), offsets.len())?;
    Error::check_size("the number of lengths", splits.num_rows(), lengths.len())?;
    let cut = |(sequence, (rows, (&offset, &length))): (usize, (std::ops::Range<usize>, (&i64, &i64)))| {
        let part = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        match part.and_then(|(offset, length)| Some((offset, offset.checked_add(length)?))) {
            Some((begin, end)) if end <= rows.len() => Ok(rows.start + begin..rows.start + end),
            _ => Err(Error::Part { sequence, offset, length, size: rows.len() }),
        }
    };
    let runs = splits.rows().zip(offsets.iter().zip(lengths)).enumerate().map(cut).collect::<Result<Vec<_>, _>>()?;
    let last = RowSplits::from_lengths(runs.iter().map(ExactSizeIterator::len))?;
    moved_within(x, runs.into_iter(), last)
}

/// Each sequence from its last row to its first.
///
/// # Errors
/// [`Error::NumLevels`] unless the tensor has one level: with more, say which is meant with
/// [`with_lod`](LodTensor::with_lod) of [`sub_levels`](Lod::sub_levels).
#[doc(alias = "sequence_reverse")]
pub fn reverse<T: Element>(x: &LodTensor<T>) -> Result<(LodTensor<T>, MovedRows), Error> {
    let splits = only_level("the LoD of what is reversed", x.lod())?;
    let runs = splits.rows().flat_map(|rows| rows.rev().map(|row| row..row + 1));
    let moved = MovedRows::new(x, runs.collect());
    Ok((x.like(x.num_rows(), moved.gather(x), x.lod().clone())?, moved))
}
