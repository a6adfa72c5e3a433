//! The same values in rows of another width, or in other sequences.

use kaldera_base::Real;
use ragged_core::RowSplits;
use tensor_strided::{Element, Shape};

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::{check_gradient, sequences};
use crate::tensor::LodTensor;

/// The data that the gradient of [`reshape`] needs.
#[derive(Debug, Clone)]
pub struct ReshapeSaved {
    shape: Shape,
    lod: Lod,
    rows: usize,
    width: usize,
}

/// The values of each sequence in rows of `width` values. Nothing is copied.
///
/// ```
/// use lod::sequence::reshape;
/// use lod::{Lod, LodTensor};
///
/// let x =
///     LodTensor::from_vec([3, 4], (0..12).collect::<Vec<_>>(), Lod::from_lengths(&[[2, 1]])?)?;
/// let (y, _) = reshape(&x, 2)?;
/// assert_eq!((&y.shape()[..], y.lod().offsets(0)), (&[6, 2][..], &[0, 4, 6][..]));
/// assert!(reshape(&x, 8).is_err(), "the second sequence has 4 values");
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::NotDivisible`] if a sequence does not
/// have a whole number of such rows; [`Error::TooLarge`].
#[doc(alias = "sequence_reshape")]
pub fn reshape<T: Element>(x: &LodTensor<T>, width: usize) -> Result<(LodTensor<T>, ReshapeSaved), Error> {
    let old = x.width();
    let rows_of = |(sequence, len): (usize, usize)| {
        let values = len * old;
        match values.checked_rem(width) {
            Some(0) => Ok(values / width),
            None if values == 0 => Ok(0),
            _ => Err(Error::NotDivisible { sequence, values, width }),
        }
    };
    let lengths =
        sequences(x)?.rows().map(|rows| rows.len()).enumerate().map(rows_of).collect::<Result<Vec<_>, _>>()?;
    let last = RowSplits::from_lengths(lengths)?;
    let rows = last.num_elements();
    let y = LodTensor::from_vec([rows, width], x.buffer().clone(), x.lod().with_last(last)?)?;
    Ok((y, ReshapeSaved { shape: x.shape().clone(), lod: x.lod().clone(), rows, width }))
}

impl ReshapeSaved {
    /// The gradient of the tensor as it was.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        check_gradient(self.rows, self.width, out_grad)?;
        LodTensor::from_vec(&self.shape, out_grad.buffer().clone(), self.lod.clone())
    }
}

/// The data that the gradient of [`reset`] needs.
#[derive(Debug, Clone)]
pub struct ResetSaved {
    shape: Shape,
    lod: Lod,
}

/// The same rows with the LoD `target`, or, if `append`, with the levels of `target` below those
/// that are there. Nothing is copied.
///
/// # Errors
/// [`Error::Rows`] if `target` is for another number of rows, [`Error::LevelMismatch`] if it does
/// not fit below, [`Error::Nothing`] if it has no levels or no sequences.
#[doc(alias = "lod_reset")]
pub fn reset<T: Element>(x: &LodTensor<T>, target: &Lod, append: bool) -> Result<(LodTensor<T>, ResetSaved), Error> {
    if target.is_none() || target.num_sequences(0) == 0 {
        return Err(Error::Nothing { what: "sequence in the new LoD" });
    }
    let lod = if append { x.lod().below(target)? } else { target.clone() };
    Ok((x.with_lod(lod)?, ResetSaved { shape: x.shape().clone(), lod: x.lod().clone() }))
}

impl ResetSaved {
    /// The gradient with the LoD that was there before.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        check_gradient(self.shape[0], self.shape[1..].iter().product(), out_grad)?;
        LodTensor::from_vec(&self.shape, out_grad.buffer().clone(), self.lod.clone())
    }
}
