//! Tensors that own their elements.

use std::fmt;

use kaldera_base::buffer::Buffer;

use crate::{Element, Error, Layout, Shape, Strides, TensorView, TensorViewMut};

/// An N-d array: shared memory and a [`Layout`]. A clone copies no element; writing to what is shared copies it first.
pub struct Tensor<T> {
    buffer: Buffer<T>,
    /// Fits the buffer and names no element twice.
    layout: Layout,
}

impl<T> Clone for Tensor<T> {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), layout: self.layout.clone() }
    }
}

impl<T: Element> Tensor<T> {
    /// Elements in C order.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::BufferTooSmall`], also where there are too many elements.
    pub fn from_vec(shape: impl AsRef<[usize]>, elements: impl Into<Buffer<T>>) -> Result<Self, Error> {
        let (layout, buffer) = (Layout::contiguous(shape)?, elements.into());
        match layout.len() {
            expected if expected != buffer.len() => Err(Error::BufferTooSmall { expected, found: buffer.len() }),
            _ => Ok(Self { buffer, layout }),
        }
    }

    /// Elements in C order that are known to fit.
    pub(crate) fn from_dense(shape: &[usize], elements: Vec<T>) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), elements.len());
        let strides = crate::layout::dense_strides(shape, crate::Order::C);
        Self { buffer: elements.into(), layout: Layout::reshaped_parts(shape.into(), strides, 0) }
    }

    /// Where the elements lie.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The length of each axis.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// How far apart the elements along each axis lie, in elements.
    #[inline]
    pub fn strides(&self) -> &Strides {
        self.layout.strides()
    }

    /// All elements, to be read or cut without copying.
    #[inline]
    pub fn view(&self) -> TensorView<'_, T> {
        match TensorView::new(&self.buffer, self.layout.clone()) {
            Ok(view) => view,
            Err(_) => unreachable!("a tensor's layout fits its buffer"),
        }
    }

    /// All elements, to be written.
    #[inline]
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T> {
        match TensorViewMut::new(self.buffer.make_mut(), self.layout.clone()) {
            Ok(view) => view,
            Err(_) => unreachable!("a tensor's layout fits its buffer and names no element twice"),
        }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor").field("layout", &self.layout).field("elements", &self.view().to_vec()).finish()
    }
}
