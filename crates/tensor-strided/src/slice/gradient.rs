//! The gradient of a slice: the gradient is written to the elements of the slice, zeros
//! elsewhere.

use crate::dims::Shape;
use crate::element::Element;
use crate::error::Error;
use crate::layout::Layout;
use crate::slice::plan::StridedSlice;
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

impl<T: Element + Default> TensorView<'_, T> {
    /// The gradient with regard to the input of TensorFlow's `strided_slice`, if this is the
    /// gradient with regard to its output: zeros of the input's shape, in which the slice is this.
    ///
    /// ```
    /// use tensor_strided::{StridedSlice, Tensor, ix};
    ///
    /// let slice = StridedSlice::from_index(ix![..;-2])?;
    /// let dy = Tensor::from_vec([3], vec![1, 2, 3])?;
    /// assert_eq!(dy.view().strided_slice_grad(&slice, [5])?.view().to_vec(), [3, 0, 2, 0, 1]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::TooLarge`] if `input` has too many elements to be counted;
    /// - the errors of [`StridedSlice::output_shape`];
    /// - [`Error::GradientShape`] if this has not exactly the shape of the slice.
    #[doc(alias = "StridedSliceGrad")]
    pub fn strided_slice_grad(&self, slice: &StridedSlice, input: impl AsRef<[usize]>) -> Result<Tensor<T>, Error> {
        let layout = Layout::contiguous(input)?;
        let part = layout.strided_slice(slice)?;
        self.check_gradient(part.shape())?;
        Ok(Tensor::from_dense(layout.shape(), self.embedded(&part, layout.len(), T::default())))
    }

    /// [`strided_slice_grad`](Self::strided_slice_grad) into existing memory, which is
    /// overwritten. `out` has the shape of the slice's input.
    ///
    /// # Errors
    /// The errors of [`strided_slice_grad`](Self::strided_slice_grad). Nothing is written then.
    pub fn strided_slice_grad_into(&self, slice: &StridedSlice, out: &mut TensorViewMut<'_, T>) -> Result<(), Error> {
        let part = out.layout().strided_slice(slice)?;
        self.check_gradient(part.shape())?;
        out.embed(self, part, T::default());
        Ok(())
    }
}

impl<T: Element> TensorView<'_, T> {
    fn check_gradient(&self, expected: &Shape) -> Result<(), Error> {
        match self.shape() == expected {
            true => Ok(()),
            false => Err(Error::GradientShape { expected: expected.to_vec(), found: self.shape().to_vec() }),
        }
    }
}
