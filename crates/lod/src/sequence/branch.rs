//! Splits sequences in two by a mask and merges them again, for an if-else over a mini-batch.

use ragged_core::RaggedShape;
use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::runs::MovedRows;
use crate::tensor::LodTensor;

/// The data that the gradient of one branch of [`split_by_mask`] needs.
pub type BranchSaved = MovedRows;

/// The sequences of level `level` (rows, if there is no LoD) for which `mask` is true, and the
/// others, each in their order, with the levels below.
///
/// ```
/// use lod::LodTensor;
/// use lod::sequence::{merge_by_mask, split_by_mask};
///
/// let x = LodTensor::from_sequences(&[vec![1, 2], vec![3], vec![4]])?;
/// let mask = [true, false, true];
/// let ((yes, _), (no, _)) = split_by_mask(&x, &mask, 0)?;
/// assert_eq!((yes.values(), no.values()), (&[1, 2, 4][..], &[3][..]));
/// assert_eq!(merge_by_mask(&yes, &no, &mask)?, x);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`]; [`Error::Size`] if there is not one flag for each sequence.
#[doc(alias = "split_lod_tensor")]
#[expect(clippy::type_complexity, reason = "two results, each with what its gradient needs")]
pub fn split_by_mask<T: Element>(
    x: &LodTensor<T>,
    mask: &[bool],
    level: usize,
) -> Result<((LodTensor<T>, BranchSaved), (LodTensor<T>, BranchSaved)), Error> {
    let size = if x.lod().is_none() && level == 0 { x.num_rows() } else { x.lod().check_level(level)?.num_rows() };
    Error::check_size("the number of flags", size, mask.len())?;
    let branch = |wanted: bool| {
        let chosen: Vec<i32> = (0..).zip(mask).filter(|&(_, &flag)| flag == wanted).map(|(i, _)| i).collect();
        let (lod, _) = x.lod().gather(level, &chosen)?;
        let runs = chosen.iter().map(|&i| x.lod().rows_of(level, i as usize..i as usize + 1));
        let moved = MovedRows::new(x, runs.collect::<Result<_, _>>()?);
        Ok::<_, Error>((x.like(moved.rows(), moved.gather(x), lod)?, moved))
    };
    Ok((branch(true)?, branch(false)?))
}

/// The sequences of `yes` and `no` (rows, without LoD), merged by `mask`: the next one of `yes`
/// if it is true, else the next one of `no`.
///
/// # Errors
/// [`Error::Size`] if there is not one flag for each; [`Error::NumLevels`]; [`Error::RowShape`].
#[doc(alias = "merge_lod_tensor")]
pub fn merge_by_mask<T: Element>(yes: &LodTensor<T>, no: &LodTensor<T>, mask: &[bool]) -> Result<LodTensor<T>, Error> {
    yes.check_row_shape(no.shape())?;
    let (expected, found) = (yes.lod().num_levels(), no.lod().num_levels());
    if expected != found {
        return Err(Error::NumLevels { what: "both branches", expected, found });
    }
    let of = |x: &LodTensor<T>| if x.lod().is_none() { x.num_rows() } else { x.lod().num_sequences(0) };
    let wanted = mask.iter().filter(|&&flag| flag).count();
    Error::check_size("the number of flags that are set", of(yes), wanted)?;
    Error::check_size("the number of flags that are not set", of(no), mask.len() - wanted)?;
    let mut next = [0, 0];
    let mut values = Vec::with_capacity(yes.values().len() + no.values().len());
    let mut order = Vec::with_capacity(mask.len());
    for &flag in mask {
        let (branch, i) = if flag { (yes, &mut next[0]) } else { (no, &mut next[1]) };
        let rows = branch.lod().rows_of(0, *i..*i + 1)?;
        values.extend_from_slice(branch.values_of(rows));
        order.push(
            u32::try_from(2 * *i + usize::from(!flag))
                .map_err(|_| Error::TooLarge { what: "the number of sequences", size: mask.len() as u64 })?,
        );
        *i += 1;
    }
    let lod = match (yes.lod().shape(), no.lod().shape()) {
        (Some(yes), Some(no)) => RaggedShape::merge(&[yes, no], &order)?.0.into(),
        _ => Lod::none(),
    };
    yes.like(yes.num_rows() + no.num_rows(), values, lod)
}
