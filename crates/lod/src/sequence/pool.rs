//! One row of each sequence: means, sums, maxima, first and last rows.

use kaldera_base::simd::{Kernel, Simd, dispatch};
use kaldera_base::{Real, memory};
use ragged_core::RowSplits;
use tensor_strided::Shape;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::{check_gradient, sequences};
use crate::tensor::LodTensor;

/// The function that [`pool`] computes of the rows of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Pool {
    /// Their mean.
    Average,
    /// Their sum.
    Sum,
    /// Their sum by the square root of their number.
    Sqrt,
    /// In each column the highest value, the first of equal ones.
    Max,
    /// The first row.
    First,
    /// The last row.
    Last,
}

/// The data that the gradient of [`pool`] needs.
#[derive(Debug, Clone)]
pub struct PoolSaved {
    how: Pool,
    shape: Shape,
    lod: Lod,
    sequences: RowSplits,
    max_index: Vec<i32>,
}

/// One row of each sequence; all columns are `pad_value` if a sequence is empty. The result has
/// the upper levels.
///
/// ```
/// use lod::sequence::{Pool, pool};
/// use lod::{Lod, LodTensor};
///
/// let x =
///     LodTensor::from_vec([4, 1], vec![1.0, 2.0, 6.0, 5.0], Lod::from_lengths(&[[3, 0, 1]])?)?;
/// assert_eq!(pool(&x, Pool::Average, 0.0)?.0.values(), [3.0, 0.0, 5.0]);
/// let (highest, saved) = pool(&x, Pool::Max, -1.0)?;
/// assert_eq!((highest.values(), saved.max_index()), (&[6.0, -1.0, 5.0][..], &[2, -1, 3][..]));
/// # Ok::<(), lod::Error>(())
/// ```
///
/// Each column is summed in the order of the rows. A NaN is the highest value only if all values
/// are NaN.
///
/// # Errors
/// [`Error::NoLevel`] for a tensor without LoD.
#[doc(alias = "sequence_pool")]
#[doc(alias = "sequence_first_step")]
#[doc(alias = "sequence_last_step")]
pub fn pool<T: Real>(x: &LodTensor<T>, how: Pool, pad_value: T) -> Result<(LodTensor<T>, PoolSaved), Error> {
    let sequences = sequences(x)?.clone();
    let width = x.width();
    let mut out = memory::zeros(sequences.num_rows() * width);
    let mut max_index = if how == Pool::Max { vec![-1; out.len()] } else { Vec::new() };
    dispatch(PoolRows {
        how,
        splits: &sequences,
        x: x.values(),
        width,
        pad_value,
        out: &mut out,
        index: &mut max_index,
    });
    let out = x.like(sequences.num_rows(), out, x.lod().without_last())?;
    Ok((out, PoolSaved { how, shape: x.shape().clone(), lod: x.lod().clone(), sequences, max_index }))
}

struct PoolRows<'a, T> {
    how: Pool,
    splits: &'a RowSplits,
    x: &'a [T],
    width: usize,
    pad_value: T,
    out: &'a mut [T],
    index: &'a mut [i32],
}

impl<T: Real> Kernel for PoolRows<'_, T> {
    type Output = ();

    // The compiler makes vectors of the loops over columns.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { how, splits, x, width, pad_value, out, index } = self;
        if width == 0 {
            return;
        }
        let mut indexes = index.chunks_exact_mut(width);
        for (out, rows) in out.chunks_exact_mut(width).zip(splits) {
            let index = indexes.next().unwrap_or_default();
            if rows.is_empty() {
                out.fill(pad_value);
                continue;
            }
            let len = rows.len();
            let first_row = rows.start as i32;
            let values = &x[rows.start * width..rows.end * width];
            match how {
                Pool::First => out.copy_from_slice(&values[..width]),
                Pool::Last => out.copy_from_slice(&values[values.len() - width..]),
                Pool::Max => {
                    out.copy_from_slice(&values[..width]);
                    index.fill(first_row);
                    for (row, number) in values.chunks_exact(width).zip(first_row..).skip(1) {
                        for ((out, index), &x) in out.iter_mut().zip(&mut *index).zip(row) {
                            let higher = x > *out || (out.is_nan() && !x.is_nan());
                            *index = if higher { number } else { *index };
                            *out = if higher { x } else { *out };
                        }
                    }
                }
                Pool::Sum | Pool::Average | Pool::Sqrt => {
                    for row in values.chunks_exact(width) {
                        out.iter_mut().zip(row).for_each(|(out, &x)| *out += x);
                    }
                    if how != Pool::Sum {
                        let divisor = divisor(how, len);
                        out.iter_mut().for_each(|out| *out /= divisor);
                    }
                }
            }
        }
    }
}

/// The divisor of a sum of `len` rows.
fn divisor<T: Real>(how: Pool, len: usize) -> T {
    match how {
        Pool::Average => T::from_f64(len as f64),
        Pool::Sqrt => T::from_f64((len as f64).sqrt()),
        _ => T::ONE,
    }
}

impl PoolSaved {
    /// Of [`Pool::Max`], for each column of each sequence the row that has the highest value, -1
    /// for an empty sequence. Of the others, nothing.
    #[doc(alias = "MaxIndex")]
    pub fn max_index(&self) -> &[i32] {
        &self.max_index
    }

    /// The gradient of the tensor that was pooled.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let width = self.shape[1..].iter().product::<usize>();
        check_gradient(self.sequences.num_rows(), width, out_grad)?;
        let mut grad = memory::zeros(self.shape[0] * width);
        for (i, rows) in self.sequences.rows().enumerate().filter(|(_, rows)| !rows.is_empty() && width > 0) {
            let out_grad = out_grad.row(i);
            let last = rows.end - 1;
            match self.how {
                Pool::First => grad[rows.start * width..][..width].copy_from_slice(out_grad),
                Pool::Last => grad[last * width..][..width].copy_from_slice(out_grad),
                Pool::Max => {
                    for (column, (&row, &g)) in self.max_index[i * width..].iter().zip(out_grad).enumerate() {
                        grad[row as usize * width + column] = g;
                    }
                }
                Pool::Sum | Pool::Average | Pool::Sqrt => {
                    let divisor = divisor(self.how, rows.len());
                    for row in grad[rows.start * width..rows.end * width].chunks_exact_mut(width) {
                        row.iter_mut().zip(out_grad).for_each(|(grad, &g)| *grad = g / divisor);
                    }
                }
            }
        }
        LodTensor::from_vec(&self.shape, grad, self.lod.clone())
    }
}
