//! Tensors that own their elements.

use std::ops::{Index, IndexMut};

use kaldera_base::buffer::Buffer;

use crate::coordinate::Coordinate;
use crate::dims::{Shape, Strides};
use crate::element::Element;
use crate::error::Error;
use crate::layout::{Layout, Order, dense_strides};
use crate::view::{TensorView, TensorViewMut, layout_of_all};

/// An N-d array: shared memory and a [`Layout`]. A clone copies no element; writing to shared
/// memory copies it first.
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
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let x = Tensor::from_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(x.to_string(), "[[1, 2, 3],\n [4, 5, 6]]");
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::BufferTooSmall`], also if there are too many elements.
    #[doc(alias = "from_shape_vec")]
    #[doc(alias = "array")]
    pub fn from_vec(shape: impl AsRef<[usize]>, elements: impl Into<Buffer<T>>) -> Result<Self, Error> {
        let buffer = elements.into();
        Ok(Self { layout: layout_of_all(shape.as_ref(), buffer.len())?, buffer })
    }

    /// A copy of elements in C order.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::BufferTooSmall`], also if there are too many elements.
    pub fn from_slice(shape: impl AsRef<[usize]>, elements: &[T]) -> Result<Self, Error> {
        Self::from_vec(shape, elements.to_vec())
    }

    /// The elements of `buffer` that `layout` names.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Overlap`] if two coordinates could be the same
    /// element.
    pub fn from_parts(buffer: impl Into<Buffer<T>>, layout: Layout) -> Result<Self, Error> {
        let buffer = buffer.into();
        let expected = layout.min_len();
        if expected > buffer.len() {
            return Err(Error::BufferTooSmall { expected, found: buffer.len() });
        }
        layout.check_nested()?;
        Ok(Self { buffer, layout })
    }

    /// The memory and the layout of the elements in it. Nothing is copied.
    #[must_use]
    pub fn into_parts(self) -> (Buffer<T>, Layout) {
        (self.buffer, self.layout)
    }

    /// All elements in C order: moved if they are contiguous in that order and nothing else
    /// shares the memory, else copied.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        let Self { buffer, layout } = self;
        if !layout.is_contiguous() {
            return view_of(&buffer, layout).to_vec();
        }
        let begin = if layout.is_empty() { 0 } else { layout.offset() };
        let elements = buffer.slice(begin..begin + layout.len());
        drop(buffer);
        elements.into_vec()
    }

    /// Elements in C order that are known to fit.
    pub(crate) fn from_dense(shape: &[usize], elements: Vec<T>) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), elements.len());
        let strides = dense_strides(shape, Order::C);
        Self { buffer: elements.into(), layout: Layout::reshaped_parts(shape.into(), strides, 0) }
    }

    /// Layout of the elements.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The length of each axis.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// The distance between the elements along each axis, in elements.
    #[inline]
    pub fn strides(&self) -> &Strides {
        self.layout.strides()
    }

    /// An element, `None` if the coordinate is out of range or has the wrong length.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let x = Tensor::arange(0_i64, 24, 1)?.into_shape([2, 3, 4])?;
    /// assert_eq!(x.get([1, 2, 3]), Some(&23));
    /// assert_eq!(x.get([1, 3, 3]), None);
    /// assert_eq!((x[[1, 0, 2]], x[(1, 0, 2)]), (14, 14));
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    #[inline]
    #[doc(alias = "UArray_get")]
    pub fn get(&self, coordinate: impl Coordinate) -> Option<&T> {
        self.layout.offset_of(coordinate.into_numbers()).and_then(|offset| self.buffer.get(offset))
    }

    /// An element for writing, `None` if the coordinate is out of range or has the wrong length.
    /// Shared memory is copied first.
    #[inline]
    pub fn get_mut(&mut self, coordinate: impl Coordinate) -> Option<&mut T> {
        let offset = self.layout.offset_of(coordinate.into_numbers())?;
        self.buffer.make_mut().get_mut(offset)
    }

    /// Writes one element; shared memory is copied first.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Index`].
    #[doc(alias = "UArray_set")]
    pub fn set(&mut self, coordinate: impl Coordinate, value: T) -> Result<(), Error> {
        let numbers = coordinate.into_numbers();
        let coordinate = numbers.as_ref();
        match self.get_mut(coordinate) {
            Some(element) => *element = value,
            None => return Err(self.layout.no_element(coordinate)),
        }
        Ok(())
    }

    /// All elements in C order.
    pub fn to_vec(&self) -> Vec<T> {
        self.view().to_vec()
    }

    /// All elements as a slice, if they are contiguous in C order.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.view().as_slice()
    }

    /// All elements, to be read or cut without copying.
    #[inline]
    pub fn view(&self) -> TensorView<'_, T> {
        view_of(&self.buffer, self.layout.clone())
    }

    /// A view whose layout `fill` writes, from the layout of this tensor; it picks among the
    /// elements of this tensor.
    #[inline]
    pub(crate) fn cut(
        &self,
        fill: impl FnOnce(&Layout, &mut Layout) -> Result<(), Error>,
    ) -> Result<TensorView<'_, T>, Error> {
        TensorView::cut_from(&self.buffer, &self.layout, fill)
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

/// The view of a tensor's parts.
#[inline]
fn view_of<T: Element>(buffer: &[T], layout: Layout) -> TensorView<'_, T> {
    match TensorView::new(buffer, layout) {
        Ok(view) => view,
        Err(_) => unreachable!("a tensor's layout fits its buffer"),
    }
}

impl<T: Element> TensorView<'_, T> {
    /// A tensor with its own memory, in C order. Copies the elements.
    #[doc(alias = "ascontiguousarray")]
    #[doc(alias = "contiguous")]
    #[doc(alias = "to_owned")]
    pub fn to_contiguous(&self) -> Tensor<T> {
        Tensor::from_dense(self.shape(), self.to_vec())
    }
}

macro_rules! sizes {
    ($($Type:ty)*) => {$(
        impl<T: Element> $Type {
            /// The number of axes.
            #[inline]
            #[doc(alias = "ndim")]
            pub fn rank(&self) -> usize {
                self.layout().rank()
            }

            /// The number of elements: the product of the shape.
            #[inline]
            #[doc(alias = "size")]
            #[doc(alias = "numel")]
            pub fn len(&self) -> usize {
                self.layout().len()
            }

            /// Returns `true` if there are no elements.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.layout().is_empty()
            }
        }
    )*};
}

sizes! { Tensor<T> TensorView<'_, T> TensorViewMut<'_, T> }

macro_rules! compare_and_index {
    ($($Type:ty)*) => {$(
        /// An element.
        ///
        /// # Panics
        /// If the coordinate is out of range or has the wrong length, as slices do.
        impl<T: Element, I: Coordinate> Index<I> for $Type {
            type Output = T;

            #[inline]
            fn index(&self, coordinate: I) -> &T {
                let numbers = coordinate.into_numbers();
                let coordinate = numbers.as_ref();
                match self.get(coordinate) {
                    Some(element) => element,
                    None => panic!("{}", self.layout().no_element(coordinate)),
                }
            }
        }

        /// Equal if shape and elements are; their position in memory does not matter.
        impl<T: Element + PartialEq> PartialEq for $Type {
            fn eq(&self, other: &Self) -> bool {
                self.view().equals(&other.view())
            }
        }
    )*};
}

compare_and_index! { Tensor<T> TensorView<'_, T> TensorViewMut<'_, T> }

macro_rules! index_mut {
    ($($Type:ty)*) => {$(
        /// An element for writing.
        ///
        /// # Panics
        /// If the coordinate is out of range or has the wrong length, as slices do.
        impl<T: Element, I: Coordinate> IndexMut<I> for $Type {
            #[inline]
            fn index_mut(&mut self, coordinate: I) -> &mut T {
                let numbers = coordinate.into_numbers();
                let coordinate = numbers.as_ref();
                // Checked first: a borrow that may be returned would last too long for the message.
                if self.layout().offset_of(coordinate).is_none() {
                    panic!("{}", self.layout().no_element(coordinate));
                }
                match self.get_mut(coordinate) {
                    Some(element) => element,
                    None => unreachable!("the coordinate is in range"),
                }
            }
        }
    )*};
}

index_mut! { Tensor<T> TensorViewMut<'_, T> }
