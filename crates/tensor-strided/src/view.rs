//! Tensors that borrow their elements.

use std::fmt;

use crate::raw::{Raw, RawMut};
use crate::{Element, Error, Layout, Shape, Strides, Tensor};

/// A tensor that borrows its elements: a pointer and a [`Layout`]. To make one, or another one from it, copies no element.
pub struct TensorView<'a, T> {
    raw: Raw<'a, T>,
}

/// A tensor that borrows its elements for writing. No two of its elements are the same place.
pub struct TensorViewMut<'a, T> {
    raw: RawMut<'a, T>,
}

impl<T> Clone for TensorView<'_, T> {
    fn clone(&self) -> Self {
        Self { raw: self.raw.clone() }
    }
}

impl<'a, T: Element> TensorView<'a, T> {
    /// The elements of `data` that `layout` names.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`].
    #[inline]
    pub fn new(data: &'a [T], layout: Layout) -> Result<Self, Error> {
        Ok(Self { raw: Raw::new(data, layout)? })
    }

    /// Where the elements lie.
    #[inline]
    pub fn layout(&self) -> &Layout {
        self.raw.layout()
    }

    /// The length of each axis.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.layout().shape()
    }

    /// How far apart the elements along each axis lie, in elements.
    #[inline]
    pub fn strides(&self) -> &Strides {
        self.layout().strides()
    }

    /// The same memory with another layout, which picks among the elements of this view.
    #[inline]
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self { raw: self.raw.with_layout(layout) }
    }

    /// An element, `None` where the coordinate is out of range or has the wrong length.
    #[inline]
    pub fn get(&self, coordinate: impl AsRef<[usize]>) -> Option<&'a T> {
        self.raw.get(coordinate.as_ref())
    }

    /// All elements in C order.
    pub fn to_vec(&self) -> Vec<T> {
        self.raw.to_vec()
    }

    /// A tensor of its own in C order. Copies the elements.
    pub fn to_tensor(&self) -> Tensor<T> {
        Tensor::from_dense(self.shape(), self.to_vec())
    }
}

impl<'a, T: Element> TensorViewMut<'a, T> {
    /// The elements of `data` that `layout` names.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Overlap`] where two coordinates could be the same element.
    #[inline]
    pub fn new(data: &'a mut [T], layout: Layout) -> Result<Self, Error> {
        Ok(Self { raw: RawMut::new(data, layout)? })
    }

    /// Where the elements lie.
    #[inline]
    pub fn layout(&self) -> &Layout {
        self.raw.layout()
    }

    /// The length of each axis.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.layout().shape()
    }

    /// How far apart the elements along each axis lie, in elements.
    #[inline]
    pub fn strides(&self) -> &Strides {
        self.layout().strides()
    }

    /// The same elements for reading.
    #[inline]
    pub fn view(&self) -> TensorView<'_, T> {
        TensorView { raw: self.raw.as_raw() }
    }

    /// The same elements for writing, as long as this view is borrowed.
    #[inline]
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T> {
        TensorViewMut { raw: self.raw.reborrow() }
    }

    /// The same memory with another layout, which picks among the elements of this view, none of them twice.
    #[inline]
    pub(crate) fn with_layout(self, layout: Layout) -> Self {
        Self { raw: self.raw.with_layout(layout) }
    }

    /// An element for writing, `None` where the coordinate is out of range or has the wrong length.
    #[inline]
    pub fn get_mut(&mut self, coordinate: impl AsRef<[usize]>) -> Option<&mut T> {
        self.raw.get_mut(coordinate.as_ref())
    }

    /// Copies all elements of `source`, which must have the same shape.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`].
    pub fn copy_from(&mut self, source: &TensorView<'_, T>) -> Result<(), Error> {
        if self.shape() != source.shape() {
            let (expected, found) = (self.shape().clone(), source.shape().clone());
            return Err(Error::ShapeMismatch { what: "the source", expected, found });
        }
        self.raw.copy_from(&source.raw);
        Ok(())
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for TensorView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorView").field("layout", self.layout()).field("elements", &self.to_vec()).finish()
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for TensorViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorViewMut").field("layout", self.layout()).field("elements", &self.view().to_vec()).finish()
    }
}
