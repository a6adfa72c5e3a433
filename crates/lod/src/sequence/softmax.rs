//! Softmax over the rows of each sequence.

use kaldera_base::memory;
use ragged_core::{Float, Ragged, RaggedShape};

use crate::error::Error;
use crate::sequence::{add_to, check_gradient, sequences};
use crate::tensor::LodTensor;

/// The data that the gradient of a softmax needs: its result, which is shared.
#[derive(Debug, Clone)]
pub struct SoftmaxSaved<T: Float> {
    y: LodTensor<T>,
}

/// e^x / Σ e^x over each sequence of single values.
///
/// The highest value of a sequence is subtracted first, which Paddle's CPU kernel does not do (it
/// overflows to NaN). A sequence of only -inf has zeros.
///
/// ```
/// use lod::sequence::softmax;
/// use lod::{Lod, LodTensor};
///
/// let x =
///     LodTensor::from_vec([3, 1], vec![1000.0, 1000.0, 7.0], Lod::from_lengths(&[[2, 0, 1]])?)?;
/// assert_eq!(softmax(&x)?.0.values(), [0.5, 0.5, 1.0]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD; [`Error::Size`] for rows of more or fewer values
/// than one, which [`column_softmax`] takes.
#[doc(alias = "sequence_softmax")]
pub fn softmax<T: Float>(x: &LodTensor<T>) -> Result<(LodTensor<T>, SoftmaxSaved<T>), Error> {
    let sequences = sequences(x)?.clone();
    Error::check_size("the width of a row", 1, x.width())?;
    let y = Ragged::new(RaggedShape::new([sequences])?, x.buffer().clone())?.softmax().into_parts().1;
    saved(x.like(x.num_rows(), y, x.lod().clone())?)
}

/// [`softmax`] of each column separately, for rows of any width.
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD.
pub fn column_softmax<T: Float>(x: &LodTensor<T>) -> Result<(LodTensor<T>, SoftmaxSaved<T>), Error> {
    let width = x.width();
    if width == 1 {
        return softmax(x);
    }
    let sequences = sequences(x)?;
    let zero = <T as ragged_core::Number>::ZERO;
    let mut y: Vec<T> = memory::zeros(x.values().len());
    let (mut shifts, mut sums) = (vec![zero; width], vec![zero; width]);
    for rows in sequences.rows().filter(|rows| !rows.is_empty() && width > 0) {
        let (x, y) = (x.values_of(rows.clone()), &mut y[rows.start * width..rows.end * width]);
        shifts.copy_from_slice(&x[..width]);
        for row in x.chunks_exact(width).skip(1) {
            shifts.iter_mut().zip(row).for_each(|(shift, &x)| *shift = if x > *shift { x } else { *shift });
        }
        shifts.iter_mut().filter(|shift| !shift.is_finite()).for_each(|shift| *shift = zero);
        for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            y.iter_mut().zip(x).zip(&shifts).for_each(|((y, &x), &shift)| *y = x - shift);
        }
        T::exp_in_place(y);
        sums.fill(zero);
        y.chunks_exact(width).for_each(|row| add_to(&mut sums, row));
        sums.iter_mut().filter(|sum| **sum == zero).for_each(|sum| *sum = T::from_f64(1.0));
        for row in y.chunks_exact_mut(width) {
            row.iter_mut().zip(&sums).for_each(|(y, &sum)| *y /= sum);
        }
    }
    saved(x.like(x.num_rows(), y, x.lod().clone())?)
}

fn saved<T: Float>(y: LodTensor<T>) -> Result<(LodTensor<T>, SoftmaxSaved<T>), Error> {
    Ok((y.clone(), SoftmaxSaved { y }))
}

impl<T: Float> SoftmaxSaved<T> {
    /// The gradient of the input: y (g - Σ g y), summed over each column of each sequence.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let (rows, width) = (self.y.num_rows(), self.y.width());
        check_gradient(rows, width, out_grad)?;
        let mut grad: Vec<T> = memory::zeros(rows * width);
        let mut sums = vec![<T as ragged_core::Number>::ZERO; width];
        for rows in sequences(&self.y)?.rows().filter(|rows| !rows.is_empty() && width > 0) {
            let (y, out_grad) = (self.y.values_of(rows.clone()), out_grad.values_of(rows.clone()));
            let pairs = || y.chunks_exact(width).zip(out_grad.chunks_exact(width));
            sums.fill(<T as ragged_core::Number>::ZERO);
            for (y, g) in pairs() {
                sums.iter_mut().zip(y.iter().zip(g)).for_each(|(sum, (&y, &g))| *sum += g * y);
            }
            let grad = grad[rows.start * width..rows.end * width].chunks_exact_mut(width);
            for (grad, (y, g)) in grad.zip(pairs()) {
                for (((grad, &y), &g), &sum) in grad.iter_mut().zip(y).zip(g).zip(&sums) {
                    *grad = y * (g - sum);
                }
            }
        }
        self.y.like(rows, grad, self.y.lod().clone())
    }
}
