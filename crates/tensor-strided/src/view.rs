//! Tensors that borrow their elements.

#[cfg(feature = "ndarray")]
use ndarray::{ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Dimension};

use crate::coordinate::Coordinate;
use crate::dims::{Shape, Strides};
use crate::element::Element;
use crate::error::Error;
use crate::layout::Layout;
use crate::raw::{Lanes, LanesMut, Raw, RawMut};

/// A tensor that borrows its elements: a pointer and a [`Layout`]. To make one, or another one from
/// it, copies no element.
pub struct TensorView<'a, T> {
    raw: Raw<'a, T>,
}

/// A tensor that borrows its elements for writing. No two of its elements share memory.
pub struct TensorViewMut<'a, T> {
    raw: RawMut<'a, T>,
}

impl<T> Clone for TensorView<'_, T> {
    fn clone(&self) -> Self {
        Self { raw: self.raw.clone() }
    }
}

impl<'a, T: Element> TensorView<'a, T> {
    /// All elements of a slice, in C order.
    ///
    /// ```
    /// use tensor_strided::TensorView;
    ///
    /// let view = TensorView::from_slice([2, 3], &[1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(view.transpose().to_vec(), [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::BufferTooSmall`], also if there are too many elements.
    pub fn from_slice(shape: impl AsRef<[usize]>, data: &'a [T]) -> Result<Self, Error> {
        Self::new(data, layout_of_all(shape.as_ref(), data.len())?)
    }

    /// The elements of `data` that `layout` names.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`].
    #[inline]
    #[doc(alias = "as_strided")]
    pub fn new(data: &'a [T], layout: Layout) -> Result<Self, Error> {
        Ok(Self { raw: Raw::new(data, layout)? })
    }

    /// Layout of the elements.
    #[inline]
    pub fn layout(&self) -> &Layout {
        self.raw.layout()
    }

    /// The length of each axis.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.layout().shape()
    }

    /// The distance between the elements along each axis, in elements.
    #[inline]
    pub fn strides(&self) -> &Strides {
        self.layout().strides()
    }

    /// The same memory with another layout, which picks among the elements of this view.
    #[inline]
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self { raw: self.raw.with_layout(layout) }
    }

    /// The same memory with the layout that `fill` makes of this one, in place; it picks among the
    /// elements of this view.
    #[inline]
    pub(crate) fn cut(&self, fill: impl FnOnce(&Layout, &mut Layout) -> Result<(), Error>) -> Result<Self, Error> {
        Ok(Self { raw: self.raw.cut(fill)? })
    }

    /// The memory with the layout that `fill` makes of this one, in place; it picks among the
    /// elements that `layout` names.
    #[inline]
    pub(crate) fn cut_from(
        data: &'a [T],
        layout: &Layout,
        fill: impl FnOnce(&Layout, &mut Layout) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        Ok(Self { raw: Raw::cut_from(data, layout, fill)? })
    }

    /// The same view.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Self {
        self.clone()
    }

    /// An element, `None` if the coordinate is out of range or has the wrong length.
    #[inline]
    pub fn get(&self, coordinate: impl Coordinate) -> Option<&'a T> {
        self.raw.get(coordinate.into_numbers().as_ref())
    }

    /// All elements in C order.
    pub fn to_vec(&self) -> Vec<T> {
        self.raw.to_vec()
    }

    /// All elements as a slice, if they are contiguous in C order.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        self.raw.as_slice()
    }

    /// Copies all elements to `out`, which must have the same shape. See [`TensorViewMut::assign`]
    /// for broadcasting.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`].
    pub fn copy_into(&self, out: &mut TensorViewMut<'_, T>) -> Result<(), Error> {
        out.copy_from(self)
    }

    /// The lanes along an axis that exists.
    pub(crate) fn lanes_of(&self, axis: usize) -> Lanes<'a, T> {
        self.raw.lanes(axis)
    }

    /// `len` elements: these at the positions that `part`, of the same shape, names; `filler` at
    /// all others.
    pub(crate) fn embedded(&self, part: &Layout, len: usize, filler: T) -> Vec<T> {
        self.raw.embedded(part, len, filler)
    }
}

#[cfg(feature = "ndarray")]
impl<'a, T: Element> TensorView<'a, T> {
    pub(crate) fn from_array<D: Dimension>(array: &ArrayView<'a, T, D>) -> Self {
        Self { raw: Raw::from_array(array) }
    }

    pub(crate) fn to_array(&self) -> ArrayViewD<'a, T> {
        self.raw.to_array()
    }
}

#[cfg(feature = "ndarray")]
impl<'a, T: Element> TensorViewMut<'a, T> {
    pub(crate) fn from_array<D: Dimension>(array: ArrayViewMut<'a, T, D>) -> Result<Self, Error> {
        Ok(Self { raw: RawMut::from_array(array)? })
    }

    pub(crate) fn into_array(self) -> ArrayViewMutD<'a, T> {
        self.raw.into_array()
    }
}

impl<'a, T: Element> TensorViewMut<'a, T> {
    /// All elements of a slice, in C order.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::BufferTooSmall`], also if there are too many elements.
    pub fn from_slice(shape: impl AsRef<[usize]>, data: &'a mut [T]) -> Result<Self, Error> {
        let layout = layout_of_all(shape.as_ref(), data.len())?;
        Self::new(data, layout)
    }

    /// The elements of `data` that `layout` names.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Overlap`] if two coordinates could be the same
    /// element.
    #[inline]
    pub fn new(data: &'a mut [T], layout: Layout) -> Result<Self, Error> {
        Ok(Self { raw: RawMut::new(data, layout)? })
    }

    /// Layout of the elements.
    #[inline]
    pub fn layout(&self) -> &Layout {
        self.raw.layout()
    }

    /// The length of each axis.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.layout().shape()
    }

    /// The distance between the elements along each axis, in elements.
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

    /// The same memory with another layout, which picks among the elements of this view, none of
    /// them twice.
    #[inline]
    pub(crate) fn with_layout(self, layout: Layout) -> Self {
        Self { raw: self.raw.with_layout(layout) }
    }

    /// An element, `None` if the coordinate is out of range or has the wrong length.
    #[inline]
    pub fn get(&self, coordinate: impl Coordinate) -> Option<&T> {
        self.raw.get(coordinate.into_numbers().as_ref())
    }

    /// An element for writing, `None` if the coordinate is out of range or has the wrong length.
    #[inline]
    pub fn get_mut(&mut self, coordinate: impl Coordinate) -> Option<&mut T> {
        self.raw.get_mut(coordinate.into_numbers().as_ref())
    }

    /// All elements as a slice, if they are contiguous in C order.
    #[inline]
    #[must_use]
    pub fn into_slice(self) -> Option<&'a mut [T]> {
        self.raw.into_slice()
    }

    /// The lanes along an axis that exists.
    pub(crate) fn into_lanes_of(self, axis: usize) -> LanesMut<'a, T> {
        self.raw.into_lanes(axis)
    }

    /// Splits an axis into two views without a common element: the entries before `at`, and the
    /// entries from `at` on.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let mut x = Tensor::zeros([2, 5])?;
    /// let (mut left, mut right) = x.view_mut().split_at(1, 2)?;
    /// left.fill(1);
    /// right.copy_from(&Tensor::full([2, 3], 7)?.view())?;
    /// assert_eq!(x.to_vec(), [1, 1, 7, 7, 7, 1, 1, 7, 7, 7]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Range`] if the axis is shorter than `at`.
    #[doc(alias = "split")]
    pub fn split_at(self, axis: isize, at: usize) -> Result<(Self, Self), Error> {
        let (before, after) = self.raw.split_at(axis, at)?;
        Ok((Self { raw: before }, Self { raw: after }))
    }

    /// Writes `value` to all elements.
    pub fn fill(&mut self, value: T) {
        self.raw.fill(value);
    }

    /// Copies all elements of `source` to where `part`, of the same shape, is within this view;
    /// writes `filler` to all others.
    pub(crate) fn embed(&mut self, source: &TensorView<'_, T>, part: Layout, filler: T) {
        self.raw.embed(&source.raw, part, filler);
    }

    /// Copies all elements of `source`, which must have the same shape. See
    /// [`assign`](Self::assign) for broadcasting.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`].
    pub fn copy_from(&mut self, source: &TensorView<'_, T>) -> Result<(), Error> {
        if self.shape() != source.shape() {
            return Err(Error::shape_mismatch("the source", self.shape(), source.shape()));
        }
        self.raw.copy_from(&source.raw);
        Ok(())
    }
}

/// The layout of a shape in C order that has exactly so many elements.
pub(crate) fn layout_of_all(shape: &[usize], found: usize) -> Result<Layout, Error> {
    let layout = Layout::contiguous(shape)?;
    match layout.len() {
        expected if expected != found => Err(Error::BufferTooSmall { expected, found }),
        _ => Ok(layout),
    }
}
