//! The common adjoint of all operations that only move values.

use std::borrow::Borrow;

use kaldera_base::buffer::Buffer;
use kaldera_base::memory;

use crate::error::Error;
use crate::ragged::{Ragged, check_size};
use crate::shape::RaggedShape;
use crate::value_ops::number::Number;
use crate::value_ops::select::index_add;

/// Computes the gradients, by the values of each source, of an `operation` that only moves, picks,
/// repeats or removes values: `cat`, `stack`, `merge`, `append`, `transpose`, `index_ragged`,
/// `arange`, `remove_values`, `add_prefix`, `add_suffix` and combinations of these.
///
/// `operation` gets the same shapes with numbers in place of values, by which it shows the source
/// of each value; it must not depend on the numbers. A value that it inserts from elsewhere has the
/// number -1.
///
/// ```
/// use ragged_core::{Ragged, moved_grad};
///
/// let (a, b) = (
///     Ragged::from_lists(&[vec![1.0, 2.0], vec![3.0]])?,
///     Ragged::from_lists(&[vec![], vec![4.0]])?
/// );
/// assert_eq!(Ragged::cat(1, &[&a, &b])?.values(), [1.0, 2.0, 3.0, 4.0]);
/// let grads = moved_grad(
///     &[a.shape(), b.shape()],
///     &[0.1, 0.2, 0.3, 0.4],
///     |sources| Ragged::cat(1, sources)
/// )?;
/// assert_eq!((grads[0].values(), grads[1].values()), (&[0.1, 0.2, 0.3][..], &[0.4][..]));
///
/// // Values are left out by what they are, not by their numbers.
/// let positive = |x: &f64| *x > 1.5;
/// let grads = moved_grad(&[a.shape()], &[7.0, 8.0], |sources| {
///     Ok(sources[0].remove_values(|&at| !positive(&a.values()[at as usize])))
/// })?;
/// assert_eq!(grads[0].values(), [0.0, 7.0, 8.0]);
///
/// let grads = moved_grad(
///     &[a.shape()],
///     &[1.0, 2.0, 3.0, 4.0, 5.0],
///     |sources| sources[0].add_prefix(&[-1, -1])
/// )?;
/// assert_eq!(grads[0].values(), [2.0, 3.0, 5.0]);
/// # Ok::<(), ragged_core::Error>(())
/// ```
///
/// # Errors
/// The errors of `operation`; if there is not one output gradient for each value of its result, or
/// there are more than 2^31 - 1 values in all.
pub fn moved_grad<T: Number>(
    sources: &[impl Borrow<RaggedShape>],
    out_grad: &[T],
    operation: impl FnOnce(&[Ragged<i32>]) -> Result<Ragged<i32>, Error>,
) -> Result<Vec<Ragged<T>>, Error> {
    let num_values = sources.iter().map(|shape| shape.borrow().num_elements()).sum();
    let mut numbers = 0..Error::fit("the number of values", num_values)?;
    let numbered = sources.iter().map(|shape| {
        let shape = shape.borrow();
        Ragged::new(shape.clone(), memory::collect(numbers.by_ref().take(shape.num_elements())))
    });
    let moved = operation(&numbered.collect::<Result<Vec<_>, _>>()?)?;
    check_size("the number of output gradients", moved.num_elements(), out_grad.len())?;
    let mut grads = memory::zeros(num_values);
    index_add(moved.values(), out_grad, &mut grads)?;
    let grads = Buffer::from(grads);
    let mut end = 0;
    let by_source = sources.iter().map(|shape| {
        let begin = end;
        end += shape.borrow().num_elements();
        Ragged::new(shape.borrow().clone(), grads.slice(begin..end))
    });
    by_source.collect()
}
