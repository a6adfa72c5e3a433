//! Gathering by ragged indexes.

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::{check_indexes, picked, rows_of};
use crate::ragged::{Ragged, check_size};
use crate::value_ops::number::Number;
use crate::value_ops::select::index_select;

/// Returns the elements of `src` that `indexes` names, in the rows of `indexes`; `default` for -1.
///
/// Its gradient by `src` is [`index_add`](crate::index_add) of the output's gradient by the values
/// of `indexes`.
///
/// ```
/// use ragged_core::{Ragged, index_tensor_ragged};
///
/// let indexes = Ragged::from_lists(&[vec![2, 0], vec![-1]])?;
/// assert_eq!(index_tensor_ragged(&[5, 6, 7], &indexes, 9)?.values(), [7, 5, 9]);
/// # Ok::<(), ragged_core::Error>(())
/// ```
///
/// # Errors
/// If an index is below -1 or beyond the end of `src`.
#[doc(alias = "Index")]
pub fn index_tensor_ragged<T: Clone>(src: &[T], indexes: &Ragged<i32>, default: T) -> Result<Ragged<T>, Error> {
    indexes.with_values(index_select(src, indexes.values(), default)?)
}

/// Returns the sum of the elements of `src` that each innermost row of `indexes` names; -1 adds
/// nothing.
///
/// # Errors
/// If an index is below -1 or beyond the end of `src`.
pub fn index_and_sum<T: Number>(src: &[T], indexes: &Ragged<i32>) -> Result<Vec<T>, Error> {
    check_indexes(0, indexes.values(), src.len())?;
    let mut values = picked(src, indexes.values());
    let sum = |row: &[i32]| values.by_ref().take(row.len()).flatten().fold(T::ZERO, |sum, &x| sum.plus(x));
    Ok(indexes.rows().map(sum).collect())
}

/// Computes the gradient of [`index_and_sum`] by its source, which has `src_len` elements.
///
/// # Errors
/// If there is not one output gradient for each row, or an index is below -1 or not below
/// `src_len`.
pub fn index_and_sum_grad<T: Number>(src_len: usize, indexes: &Ragged<i32>, out_grad: &[T]) -> Result<Vec<T>, Error> {
    check_size("the number of output gradients", indexes.num_rows(), out_grad.len())?;
    check_indexes(0, indexes.values(), src_len)?;
    let mut grad: Vec<T> = memory::zeros(src_len);
    for (row, &g) in rows_of(indexes.shape().last_splits().as_ref()).zip(out_grad) {
        for i in indexes.values()[row].iter().flat_map(|&i| usize::try_from(i)) {
            grad[i] = grad[i].plus(g);
        }
    }
    Ok(grad)
}
