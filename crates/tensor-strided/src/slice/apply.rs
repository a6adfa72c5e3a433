//! Slices of tensors and views: always views themselves, of the same memory.

use crate::element::Element;
use crate::error::Error;
use crate::layout::Layout;
use crate::slice::entry::IndexEntry;
use crate::slice::index::{Checked, IndexSpec};
use crate::slice::onnx::OnnxSlice;
use crate::slice::plan::StridedSlice;
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

impl Layout {
    /// The layout of the elements that TensorFlow's `strided_slice` picks.
    ///
    /// # Errors
    /// The errors of [`StridedSlice::output_shape`].
    #[inline]
    pub fn strided_slice(&self, slice: &StridedSlice) -> Result<Self, Error> {
        sliced(|layout| layout.slice_from(self, slice))
    }

    /// The layout of the elements that an index as in Python picks.
    ///
    /// # Errors
    /// The errors of [`TensorView::index`].
    #[inline]
    pub fn index(&self, index: impl AsRef<[IndexEntry]>) -> Result<Self, Error> {
        sliced(|layout| layout.slice_from(self, &Checked::new(index.as_ref())?))
    }

    /// The layout of the elements that ONNX's Slice picks.
    ///
    /// # Errors
    /// The errors of [`OnnxSlice::output_shape`].
    #[inline]
    pub fn onnx_slice(&self, slice: &OnnxSlice) -> Result<Self, Error> {
        sliced(|layout| slice.slice_from(self, layout))
    }
}

/// The layout that `fill` makes.
#[inline]
fn sliced(fill: impl FnOnce(&mut Layout) -> Result<(), Error>) -> Result<Layout, Error> {
    let mut layout = Layout::blank();
    fill(&mut layout)?;
    Ok(layout)
}

impl<T: Element> TensorView<'_, T> {
    /// TensorFlow's `strided_slice`, as a view: no element is copied.
    ///
    /// # Errors
    /// The errors of [`StridedSlice::output_shape`].
    #[inline]
    pub fn strided_slice(&self, slice: &StridedSlice) -> Result<Self, Error> {
        self.cut(|from, layout| layout.slice_from(from, slice))
    }

    /// Copies TensorFlow's `strided_slice` into memory that is there already.
    ///
    /// # Errors
    /// The errors of [`StridedSlice::output_shape`], and [`Error::ShapeMismatch`] if `out` does
    /// not have the shape of the slice.
    pub fn strided_slice_into(&self, slice: &StridedSlice, out: &mut TensorViewMut<'_, T>) -> Result<(), Error> {
        out.copy_from(&self.strided_slice(slice)?)
    }

    /// Basic indexing as in Python and NumPy, `x[...]`, as a view: no element is copied.
    /// [`ix!`](crate::ix) writes the index.
    ///
    /// A result for which every axis has an index has rank 0, where NumPy makes a scalar of it.
    ///
    /// # Errors
    /// - [`Error::MultipleEllipses`];
    /// - [`Error::ScalarInput`], [`Error::TooManyIndices`] if more axes are taken than there
    ///   are;
    /// - then axis by axis [`Error::ZeroStride`], [`Error::IndexOutOfBounds`].
    #[inline]
    #[doc(alias = "slice")]
    #[doc(alias = "__getitem__")]
    pub fn index(&self, index: impl AsRef<[IndexEntry]>) -> Result<Self, Error> {
        self.cut(|from, layout| layout.slice_from(from, &Checked::new(index.as_ref())?))
    }

    /// [`index`](Self::index) with the text that Python has between the brackets. Returns a view:
    /// no element is copied. If you use an index many times, parse it once, as an [`IndexSpec`].
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let x = Tensor::from([[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
    /// assert_eq!(x.slice("1:3, ::-1")?.to_vec(), [6, 5, 4, 9, 8, 7]);
    /// assert_eq!(x.slice("..., -1")?.to_vec(), [3, 6, 9]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Parse`]; the errors of [`TensorView::index`].
    pub fn slice(&self, index: &str) -> Result<Self, Error> {
        self.index(IndexSpec::parse(index)?)
    }

    /// ONNX's Slice, as a view: no element is copied.
    ///
    /// # Errors
    /// The errors of [`OnnxSlice::output_shape`].
    pub fn onnx_slice(&self, slice: &OnnxSlice) -> Result<Self, Error> {
        self.cut(|from, layout| slice.slice_from(from, layout))
    }
}

impl<T: Element> TensorViewMut<'_, T> {
    /// A mutable view of the elements that TensorFlow's `strided_slice` picks.
    ///
    /// # Errors
    /// The errors of [`StridedSlice::output_shape`].
    #[inline]
    pub fn strided_slice_mut(&mut self, slice: &StridedSlice) -> Result<TensorViewMut<'_, T>, Error> {
        let layout = self.layout().strided_slice(slice)?;
        Ok(self.view_mut().with_layout(layout))
    }

    /// A mutable view of the elements that an index as in Python picks.
    ///
    /// # Errors
    /// The errors of [`TensorView::index`].
    #[inline]
    pub fn index_mut(&mut self, index: impl AsRef<[IndexEntry]>) -> Result<TensorViewMut<'_, T>, Error> {
        let layout = self.layout().index(index)?;
        Ok(self.view_mut().with_layout(layout))
    }

    /// [`index_mut`](Self::index_mut) with the text that Python has between the brackets.
    ///
    /// # Errors
    /// [`Error::Parse`]; the errors of [`TensorView::index`].
    pub fn slice_mut(&mut self, index: &str) -> Result<TensorViewMut<'_, T>, Error> {
        self.index_mut(IndexSpec::parse(index)?)
    }

    /// A mutable view of the elements that ONNX's Slice picks.
    ///
    /// # Errors
    /// The errors of [`OnnxSlice::output_shape`].
    pub fn onnx_slice_mut(&mut self, slice: &OnnxSlice) -> Result<TensorViewMut<'_, T>, Error> {
        let layout = self.layout().onnx_slice(slice)?;
        Ok(self.view_mut().with_layout(layout))
    }
}

impl<T: Element> Tensor<T> {
    /// TensorFlow's `strided_slice`, as a view: no element is copied.
    ///
    /// # Errors
    /// The errors of [`StridedSlice::output_shape`].
    #[inline]
    pub fn strided_slice(&self, slice: &StridedSlice) -> Result<TensorView<'_, T>, Error> {
        self.cut(|from, layout| layout.slice_from(from, slice))
    }

    /// A mutable view of the elements that TensorFlow's `strided_slice` picks; shared memory is
    /// copied first.
    ///
    /// # Errors
    /// The errors of [`StridedSlice::output_shape`].
    #[inline]
    pub fn strided_slice_mut(&mut self, slice: &StridedSlice) -> Result<TensorViewMut<'_, T>, Error> {
        let layout = self.layout().strided_slice(slice)?;
        Ok(self.view_mut().with_layout(layout))
    }

    /// Basic indexing as in Python and NumPy, as a view; see [`TensorView::index`].
    ///
    /// # Errors
    /// The errors of [`TensorView::index`].
    #[inline]
    pub fn index(&self, index: impl AsRef<[IndexEntry]>) -> Result<TensorView<'_, T>, Error> {
        self.cut(|from, layout| layout.slice_from(from, &Checked::new(index.as_ref())?))
    }

    /// A mutable view of the elements that an index as in Python picks; shared memory is copied
    /// first.
    ///
    /// # Errors
    /// The errors of [`TensorView::index`].
    #[inline]
    pub fn index_mut(&mut self, index: impl AsRef<[IndexEntry]>) -> Result<TensorViewMut<'_, T>, Error> {
        let layout = self.layout().index(index)?;
        Ok(self.view_mut().with_layout(layout))
    }

    /// [`index`](Self::index) with the text that Python has between the brackets. Returns a view:
    /// no element is copied. If you use an index many times, parse it once, as an [`IndexSpec`].
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let x = Tensor::from([[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
    /// assert_eq!(x.slice("1:3, ::-1")?.to_vec(), [6, 5, 4, 9, 8, 7]);
    /// assert_eq!(x.slice("..., -1")?.to_vec(), [3, 6, 9]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Parse`]; the errors of [`TensorView::index`].
    pub fn slice(&self, index: &str) -> Result<TensorView<'_, T>, Error> {
        self.index(IndexSpec::parse(index)?)
    }

    /// ONNX's Slice, as a view: no element is copied.
    ///
    /// # Errors
    /// The errors of [`OnnxSlice::output_shape`].
    pub fn onnx_slice(&self, slice: &OnnxSlice) -> Result<TensorView<'_, T>, Error> {
        self.cut(|from, layout| slice.slice_from(from, layout))
    }

    /// [`index_mut`](Self::index_mut) with the text that Python has between the brackets.
    ///
    /// # Errors
    /// [`Error::Parse`]; the errors of [`TensorView::index`].
    pub fn slice_mut(&mut self, index: &str) -> Result<TensorViewMut<'_, T>, Error> {
        self.index_mut(IndexSpec::parse(index)?)
    }

    /// A mutable view of the elements that ONNX's Slice picks; shared memory is copied first.
    ///
    /// # Errors
    /// The errors of [`OnnxSlice::output_shape`].
    pub fn onnx_slice_mut(&mut self, slice: &OnnxSlice) -> Result<TensorViewMut<'_, T>, Error> {
        let layout = self.layout().onnx_slice(slice)?;
        Ok(self.view_mut().with_layout(layout))
    }
}
