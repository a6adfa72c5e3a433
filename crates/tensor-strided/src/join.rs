//! Several tensors made one.

use crate::dims::Shape;
use crate::element::Element;
use crate::error::Error;
use crate::layout::{Layout, check_size};
use crate::layout_ops::resolve_axis;
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

/// `tensors` concatenated along an axis.
///
/// ```
/// use tensor_strided::{Tensor, concat};
///
/// let (a, b) = (Tensor::full([2, 1], 1)?, Tensor::full([2, 2], 7)?);
/// assert_eq!(concat(&[a.view(), b.view()], -1)?.to_string(), "[[1, 7, 7],\n [1, 7, 7]]");
/// # Ok::<(), tensor_strided::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoTensors`], [`Error::Axis`], [`Error::ShapeMismatch`] if they differ along another
/// axis, [`Error::TooLarge`].
#[doc(alias = "concatenate")]
#[doc(alias = "cat")]
pub fn concat<T: Element>(tensors: &[TensorView<'_, T>], axis: isize) -> Result<Tensor<T>, Error> {
    let (shape, axis) = concat_shape(tensors, axis)?;
    // Memory that begins with copies of one element, so that no element needs a default; an empty
    // result needs none.
    let Some(first) = tensors.iter().find_map(|tensor| tensor.iter().next()) else {
        return Ok(Tensor::from_dense(&shape, Vec::new()));
    };
    let mut out = Tensor::full(&shape, *first)?;
    copy_parts(tensors, axis, out.view_mut())?;
    Ok(out)
}

/// As [`concat()`], into memory that is there already.
///
/// # Errors
/// The errors of [`concat()`], and [`Error::ShapeMismatch`] if `out` has another shape than the
/// result.
pub fn concat_into<T: Element>(
    tensors: &[TensorView<'_, T>],
    axis: isize,
    out: &mut TensorViewMut<'_, T>,
) -> Result<(), Error> {
    let (expected, axis) = concat_shape(tensors, axis)?;
    match out.shape() {
        found if *found != expected => Err(Error::shape_mismatch("the output", &expected, found)),
        _ => copy_parts(tensors, axis, out.view_mut()),
    }
}

/// All of `tensors`, which have the same shape, as the entries of a new axis.
///
/// ```
/// use tensor_strided::{Tensor, stack};
///
/// let (left, right) =
///     (Tensor::from_elements(vec![1, 2, 3]), Tensor::from_elements(vec![7, 8, 9]));
/// assert_eq!(stack(&[left.view(), right.view()], 1)?.to_string(), "[[1, 7],\n [2, 8],\n [3, 9]]");
/// # Ok::<(), tensor_strided::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoTensors`], [`Error::Axis`], [`Error::ShapeMismatch`], [`Error::TooLarge`].
pub fn stack<T: Element>(tensors: &[TensorView<'_, T>], axis: isize) -> Result<Tensor<T>, Error> {
    concat(&with_axis(tensors, axis)?, axis)
}

/// As [`stack`], into memory that is there already.
///
/// # Errors
/// The errors of [`stack`], and [`Error::ShapeMismatch`] if `out` has another shape than the
/// result.
pub fn stack_into<T: Element>(
    tensors: &[TensorView<'_, T>],
    axis: isize,
    out: &mut TensorViewMut<'_, T>,
) -> Result<(), Error> {
    concat_into(&with_axis(tensors, axis)?, axis, out)
}

fn with_axis<'a, T: Element>(tensors: &[TensorView<'a, T>], axis: isize) -> Result<Vec<TensorView<'a, T>>, Error> {
    let expected = tensors.first().ok_or(Error::NoTensors)?.shape();
    if let Some(other) = tensors.iter().find(|tensor| tensor.shape() != expected) {
        return Err(Error::shape_mismatch("each tensor", expected, other.shape()));
    }
    tensors.iter().map(|tensor| tensor.expand(axis)).collect()
}

/// The shape of the result, and the axis counted from 0.
fn concat_shape<T: Element>(tensors: &[TensorView<'_, T>], axis: isize) -> Result<(Shape, usize), Error> {
    let mut shape = tensors.first().ok_or(Error::NoTensors)?.shape().clone();
    let axis = resolve_axis(axis, shape.len())?;
    for tensor in &tensors[1..] {
        let mut expected = shape.clone();
        let found = tensor.shape();
        if found.len() == shape.len() {
            expected[axis] = found[axis];
        }
        if *found != expected {
            return Err(Error::shape_mismatch("each tensor", &expected, found));
        }
        shape[axis] = shape[axis].saturating_add(found[axis]);
    }
    check_size(&shape)?;
    Ok((shape, axis))
}

/// Copies each tensor to its part of `out`; `out` has the shape of the result.
fn copy_parts<T: Element>(
    tensors: &[TensorView<'_, T>],
    axis: usize,
    mut out: TensorViewMut<'_, T>,
) -> Result<(), Error> {
    let axis = axis.cast_signed();
    for tensor in tensors {
        let len = tensor.shape()[axis.unsigned_abs()];
        let (mut part, rest) = out.split_at(axis, len)?;
        part.copy_from(tensor)?;
        out = rest;
    }
    Ok(())
}

/// A layout is all that a repetition needs.
impl<T: Element> TensorView<'_, T> {
    /// Repeats the whole tensor `times` times along an axis.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::TooLarge`].
    #[doc(alias = "repeat")]
    pub fn tile(&self, axis: isize, times: usize) -> Result<Tensor<T>, Error> {
        let axis = resolve_axis(axis, self.shape().len())?;
        let mut repeated: Layout = self.layout().expand(axis.cast_signed())?;
        let mut shape = repeated.shape().clone();
        shape[axis] = times;
        repeated = repeated.broadcast_to(&shape)?;
        let mut merged = self.shape().clone();
        merged[axis] *= times;
        Ok(Tensor::from_dense(&merged, self.with_layout(repeated).to_vec()))
    }
}
