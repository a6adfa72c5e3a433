//! An input that is the same at all steps of a sequence, such as a speaker's embedding.

use kaldera_base::Real;
use lod::LodTensor;

use crate::error::Error;
use crate::state::zeros;

/// Returns `[x | s]`: each row of `x`, `[rows, width]`, followed by the row of `s`,
/// `[sequences, more]`, that belongs to its sequence (of the last level).
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::with_static_input;
///
/// let x = LodTensor::from_sequences(&[vec![1.0, 2.0], vec![3.0]])?;
/// let speakers = LodTensor::from_vec([2, 1], vec![10.0, 20.0], Lod::none())?;
/// assert_eq!(with_static_input(&x, &speakers)?.values(), [1.0, 10.0, 2.0, 10.0, 3.0, 20.0]);
/// # Ok::<(), recurrent::Error>(())
/// ```
///
/// # Errors
/// [`Error::Lod`] without a level; [`Error::Shape`] unless `s` has one row for each sequence.
#[doc(alias = "static_input")]
pub fn with_static_input<T: Real>(x: &LodTensor<T>, s: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
    let last = x.lod().last().ok_or(lod::Error::NoLevel { level: 0, levels: 0 })?;
    Error::check_shape("the static input", &[last.num_rows(), s.width()], s.shape())?;
    let width = x.width() + s.width();
    let mut values = kaldera_base::memory::with_capacity(x.num_rows() * width);
    for (sequence, rows) in last.rows().enumerate() {
        for row in rows {
            values.extend_from_slice(x.row(row));
            values.extend_from_slice(s.row(sequence));
        }
    }
    Ok(LodTensor::from_vec([x.num_rows(), width], values, x.lod().clone())?)
}

/// Returns the gradients of [`with_static_input`] by `x` and by `s`, which has `more` columns,
/// given the gradient by its result.
///
/// # Errors
/// [`Error::Lod`] without a level; [`Error::Shape`] if the rows of `grad` are shorter than `more`.
pub fn with_static_input_backward<T: Real>(
    grad: &LodTensor<T>,
    more: usize,
) -> Result<(LodTensor<T>, LodTensor<T>), Error> {
    let last = grad.lod().last().ok_or(lod::Error::NoLevel { level: 0, levels: 0 })?;
    let Some(width) = grad.width().checked_sub(more) else {
        return Err(Error::Shape {
            tensor: "the gradient",
            expected: vec![grad.num_rows(), more],
            found: grad.shape().to_vec(),
        });
    };
    let mut by_x = kaldera_base::memory::with_capacity(grad.num_rows() * width);
    let mut by_s = zeros(last.num_rows(), more);
    for (by_s, rows) in by_s.rows_mut().zip(last.rows()) {
        for row in rows {
            let (x, s) = grad.row(row).split_at(width);
            by_x.extend_from_slice(x);
            by_s.iter_mut().zip(s).for_each(|(sum, &s)| *sum += s);
        }
    }
    Ok((LodTensor::from_vec([grad.num_rows(), width], by_x, grad.lod().clone())?, by_s))
}
