//! Sequences and rows repeated as often as others have elements.

use ragged_core::RowSplits;
use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::runs::MovedRows;
use crate::sequence::{only_level, sequences};
use crate::tensor::LodTensor;

/// Each sequence of `x`, or each row if `x` has no LoD, as often as the sequence of level
/// `ref_level` of `y` has elements; `None` means the last level.
///
/// An empty sequence is repeated as empty ones; a sequence repeated zero times is left out. The
/// result has one level if `x` has, else none.
///
/// ```
/// use lod::sequence::expand;
/// use lod::{Lod, LodTensor};
///
/// let x = LodTensor::from_vec([3], vec!['a', 'b', 'c'], Lod::from_lengths(&[[2, 1]])?)?;
/// let (out, _) = expand(&x, &Lod::from_lengths(&[[2, 1]])?, None)?;
/// assert_eq!(out.values(), ['a', 'b', 'a', 'b', 'c']);
/// assert_eq!(out.lod().offsets(0), [0, 2, 4, 5]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NumLevels`] if `x` has more than one level; [`Error::NoLevel`]; [`Error::Size`] if
/// the level does not have one sequence for each of `x`; [`Error::TooLarge`].
#[doc(alias = "sequence_expand")]
pub fn expand<T: Element>(
    x: &LodTensor<T>,
    y: &Lod,
    ref_level: Option<usize>,
) -> Result<(LodTensor<T>, MovedRows), Error> {
    let counts = y.check_level(ref_level.unwrap_or(y.num_levels().saturating_sub(1)))?;
    match (x.lod().num_levels(), x.lod().last()) {
        (_, None) => repeated(x, RowSplits::regular(x.num_rows(), 1)?, counts, |_| Ok(Lod::none())),
        (1, Some(sequences)) => repeated(x, sequences.clone(), counts, |repeated| Lod::new([repeated])),
        (found, _) => Err(Error::NumLevels { what: "the LoD of what is expanded", expected: 1, found }),
    }
}

/// Each row of `x` as often as the sequence of `y` has elements. The result shares the LoD `y`.
///
/// # Errors
/// [`Error::NumLevels`] if `y` does not have exactly one level; [`Error::Size`] if it does not
/// have one sequence for each row.
#[doc(alias = "sequence_expand_as")]
pub fn expand_as<T: Element>(x: &LodTensor<T>, y: &Lod) -> Result<(LodTensor<T>, MovedRows), Error> {
    let counts = only_level("the LoD to expand to", y)?;
    repeated(x, RowSplits::regular(x.num_rows(), 1)?, &counts, |_| Ok(y.clone()))
}

/// The `parts` of the rows of `x`, each repeated by its entry of `counts`; `lod` makes the LoD
/// from the repeated parts.
fn repeated<T: Element>(
    x: &LodTensor<T>,
    parts: RowSplits,
    counts: &RowSplits,
    lod: impl FnOnce(RowSplits) -> Result<Lod, Error>,
) -> Result<(LodTensor<T>, MovedRows), Error> {
    Error::check_size("the number of sequences to expand by", parts.num_rows(), counts.num_rows())?;
    let runs = parts.rows().zip(counts).flat_map(|(part, count)| std::iter::repeat_n(part, count.len()));
    let moved = MovedRows::new(x, runs.collect());
    let lengths = parts.rows().zip(counts).flat_map(|(part, count)| std::iter::repeat_n(part.len(), count.len()));
    let lod = lod(RowSplits::from_lengths(lengths)?)?;
    let out = x.like(moved.rows(), moved.gather(x), lod)?;
    Ok((out, moved))
}

/// Moves rows within the sequences of `x`; an error if `x` has none.
pub(super) fn moved_within<T: Element>(
    x: &LodTensor<T>,
    runs: impl Iterator<Item = std::ops::Range<usize>>,
    last: RowSplits,
) -> Result<(LodTensor<T>, MovedRows), Error> {
    sequences(x)?;
    let moved = MovedRows::new(x, runs.collect());
    let out = x.like(moved.rows(), moved.gather(x), x.lod().with_last(last)?)?;
    Ok((out, moved))
}
