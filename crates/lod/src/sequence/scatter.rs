//! Updates of single columns, a sequence of them for each row.

use kaldera_base::Real;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::{check_gradient, sequences};
use crate::tensor::LodTensor;

/// The data that the gradients of [`scatter`] need; the ids are shared.
#[derive(Debug, Clone)]
pub struct ScatterSaved {
    ids: LodTensor<i64>,
    rows: usize,
    width: usize,
    x_lod: Lod,
}

/// `x` with `updates` added: the values of sequence i go to the columns of row i that `ids` names;
/// of the same column, all are added.
///
/// ```
/// use lod::sequence::scatter;
/// use lod::{Lod, LodTensor};
///
/// let x = LodTensor::from_vec([2, 3], vec![0.0; 6], Lod::none())?;
/// let ids = LodTensor::from_sequences(&[vec![2, 2], vec![0]])?;
/// let updates = LodTensor::from_sequences(&[vec![1.0, 5.0], vec![3.0]])?;
/// assert_eq!(scatter(&x, &ids, &updates)?.0.values(), [0.0, 0.0, 6.0, 3.0, 0.0, 0.0]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`] for ids without LoD; [`Error::Size`] if they have not one sequence for each
/// row, or there is not one update for each in the same sequences; [`Error::Id`] for a column that
/// is not there.
#[doc(alias = "sequence_scatter")]
pub fn scatter<T: Real>(
    x: &LodTensor<T>,
    ids: &LodTensor<i64>,
    updates: &LodTensor<T>,
) -> Result<(LodTensor<T>, ScatterSaved), Error> {
    Error::check_size("the number of sequences of ids", x.num_rows(), sequences(ids)?.num_rows())?;
    Error::check_size("the number of ids in a row", 1, ids.width())?;
    Error::check_size("the number of updates", ids.values().len(), updates.values().len())?;
    if updates.lod().last() != ids.lod().last() {
        let (expected, found) = (ids.lod().num_levels(), updates.lod().num_levels());
        return Err(Error::NumLevels { what: "the updates, divided as the ids,", expected, found });
    }
    let saved = ScatterSaved { ids: ids.clone(), rows: x.num_rows(), width: x.width(), x_lod: x.lod().clone() };
    if let Some(position) = ids.values().iter().position(|&id| usize::try_from(id).map_or(true, |id| id >= x.width())) {
        return Err(Error::Id { position, found: ids.values()[position], size: x.width() });
    }
    let mut out = x.clone();
    let values = out.values_mut();
    saved.positions().zip(updates.values()).for_each(|(position, &update)| values[position] += update);
    Ok((out, saved))
}

impl ScatterSaved {
    /// The position to which each update went.
    fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        let sequences = self.ids.lod().last().into_iter().flat_map(|splits| splits.rows()).enumerate();
        sequences
            .flat_map(move |(row, ids)| self.ids.values()[ids].iter().map(move |&id| row * self.width + id as usize))
    }

    /// The gradients of `x`, which equals the gradient of the output, and of the updates. The
    /// latter has no LoD, as in Paddle.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<(LodTensor<T>, LodTensor<T>), Error> {
        check_gradient(self.rows, self.width, out_grad)?;
        let updates: Vec<T> = self.positions().map(|position| out_grad.values()[position]).collect();
        let updates = LodTensor::from_vec(self.ids.shape(), updates, Lod::none())?;
        Ok((out_grad.with_lod(self.x_lod.clone())?, updates))
    }
}
