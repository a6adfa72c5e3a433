//! Assignment to a slice, by TensorFlow's rules.

use crate::dims::{Shape, Strides};
use crate::element::Element;
use crate::error::Error;
use crate::layout::Layout;
use crate::slice::plan::StridedSlice;
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

impl<T: Element> TensorViewMut<'_, T> {
    /// Writes `value` to the elements that TensorFlow's `strided_slice` picks. `value` is
    /// repeated along axes that it does not have or in which its length is 1.
    ///
    /// Extra leading axes of length 1 are ignored. A slice without elements takes a value of any
    /// shape, as in TensorFlow.
    ///
    /// ```
    /// use tensor_strided::{StridedSlice, Tensor, ix};
    ///
    /// let mut x = Tensor::from_vec([2, 4], vec![0; 8])?;
    /// let value = Tensor::from_vec([2], vec![7, 9])?;
    /// x.view_mut()
    ///     .strided_slice_assign(&StridedSlice::from_index(ix![.., ..;-2])?, &value.view())?;
    /// assert_eq!(x.view().to_vec(), [0, 9, 0, 7, 0, 9, 0, 7]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`StridedSlice::output_shape`], and [`Error::ValueShape`].
    #[doc(alias = "StridedSliceAssign")]
    #[doc(alias = "ResourceStridedSliceAssign")]
    pub fn strided_slice_assign(&mut self, slice: &StridedSlice, value: &TensorView<'_, T>) -> Result<(), Error> {
        let mut target = self.strided_slice_mut(slice)?;
        if target.layout().is_empty() {
            return Ok(());
        }
        match repeated(value.layout(), target.shape()) {
            Some(layout) => target.copy_from(&value.with_layout(layout)),
            None => Err(Error::ValueShape { value: value.shape().to_vec(), slice: target.shape().to_vec() }),
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Writes `value` to the elements that TensorFlow's `strided_slice` picks; shared memory is
    /// copied first. See [`TensorViewMut::strided_slice_assign`].
    ///
    /// To keep this one as it is, as TensorFlow's `TensorStridedSliceUpdate` does, assign to a
    /// clone of it.
    ///
    /// # Errors
    /// The errors of [`TensorViewMut::strided_slice_assign`].
    #[doc(alias = "TensorStridedSliceUpdate")]
    #[doc(alias = "tensor_strided_slice_update")]
    pub fn strided_slice_assign(&mut self, slice: &StridedSlice, value: &TensorView<'_, T>) -> Result<(), Error> {
        self.view_mut().strided_slice_assign(slice, value)
    }
}

/// `value` repeated to `shape`, if it fits: from the last axis on, lengths are equal or the
/// value's is 1, and any extra axes of the value have length 1.
fn repeated(value: &Layout, shape: &Shape) -> Option<Layout> {
    let (more, missing) = (value.rank().saturating_sub(shape.len()), shape.len().saturating_sub(value.rank()));
    if value.shape()[..more].iter().any(|&n| n != 1) {
        return None;
    }
    let mut strides = Strides::filled(0, missing);
    for (axis, &n) in (more..).zip(&shape[missing..]) {
        strides.push(match value.shape()[axis] {
            found if found == n => value.strides()[axis],
            1 => 0,
            _ => return None,
        });
    }
    Some(Layout::reshaped_parts(shape.clone(), strides, value.offset()))
}
