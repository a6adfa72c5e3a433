//! Going through the elements: one by one, by lanes, by entries and chunks of an axis; filling,
//! mapping, combining.

use std::fmt;
use std::iter::FusedIterator;

use crate::copy::with_capacity;
use crate::dims::Shape;
use crate::element::Element;
use crate::error::Error;
use crate::layout::{Layout, coalesce};
use crate::layout_ops::{broadcast_shapes, resolve_axis};
use crate::raw::{LaneIter, LaneIterMut, Lanes, LanesMut};
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

macro_rules! element_iterator {
    ($(#[$doc:meta])* $Iter:ident, $Lanes:ident, $LaneIter:ident, $Item:ty) => {
        $(#[$doc])*
        pub struct $Iter<'a, T> {
            lanes: $Lanes<'a, T>,
            lane: Option<$LaneIter<'a, T>>,
            left: usize,
        }

        impl<'a, T> $Iter<'a, T> {
            fn new(lanes: $Lanes<'a, T>, left: usize) -> Self {
                Self { lanes, lane: None, left }
            }
        }

        impl<'a, T> Iterator for $Iter<'a, T> {
            type Item = $Item;

            #[inline]
            fn next(&mut self) -> Option<$Item> {
                loop {
                    if let Some(item) = self.lane.as_mut().and_then(Iterator::next) {
                        self.left -= 1;
                        return Some(item);
                    }
                    self.lane = Some(self.lanes.next()?.into_iter());
                }
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.left, Some(self.left))
            }

            #[inline]
            fn fold<B, F: FnMut(B, $Item) -> B>(self, init: B, mut f: F) -> B {
                let rest = self.lane.into_iter().flatten().fold(init, &mut f);
                self.lanes.fold(rest, |all, lane| lane.into_iter().fold(all, &mut f))
            }
        }

        impl<T> ExactSizeIterator for $Iter<'_, T> {}
        impl<T> FusedIterator for $Iter<'_, T> {}

        impl<T> fmt::Debug for $Iter<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Iter)).field("left", &self.left).finish_non_exhaustive()
            }
        }
    };
}

element_iterator! {
    /// All elements of a view, in C order.
    Elements, Lanes, LaneIter, &'a T
}
element_iterator! {
    /// All elements of a view for writing, in C order.
    ElementsMut, LanesMut, LaneIterMut, &'a mut T
}

/// Consecutive parts of a view along one axis: its entries without the axis, or chunks with it.
#[derive(Clone)]
pub struct AxisIter<'a, T> {
    view: TensorView<'a, T>,
    axis: usize,
    /// Number of entries in a part; `None` for one entry without the axis.
    chunk: Option<usize>,
    at: usize,
}

impl<'a, T: Element> Iterator for AxisIter<'a, T> {
    type Item = TensorView<'a, T>;

    fn next(&mut self) -> Option<TensorView<'a, T>> {
        let (axis, len) = (self.axis.cast_signed(), self.view.shape()[self.axis]);
        let at = self.at;
        if at >= len {
            return None;
        }
        self.at = at.saturating_add(self.chunk.unwrap_or(1)).min(len);
        match self.chunk {
            None => self.view.index_axis(axis, at).ok(),
            Some(_) => self.view.narrow(axis, at..self.at).ok(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.view.shape()[self.axis] - self.at).div_ceil(self.chunk.unwrap_or(1));
        (left, Some(left))
    }
}

impl<T: Element> ExactSizeIterator for AxisIter<'_, T> {}
impl<T: Element> FusedIterator for AxisIter<'_, T> {}

/// Consecutive parts of a view along one axis, for writing: its entries without the axis, or chunks
/// with it.
pub struct AxisIterMut<'a, T> {
    /// The remaining part; `None` only while a part is split off, or if that failed.
    view: Option<TensorViewMut<'a, T>>,
    axis: usize,
    chunk: Option<usize>,
}

impl<'a, T: Element> AxisIterMut<'a, T> {
    fn left(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.shape()[self.axis])
    }
}

impl<'a, T: Element> Iterator for AxisIterMut<'a, T> {
    type Item = TensorViewMut<'a, T>;

    fn next(&mut self) -> Option<TensorViewMut<'a, T>> {
        let size = self.chunk.unwrap_or(1).min(self.left());
        if size == 0 {
            return None;
        }
        let axis = self.axis.cast_signed();
        let (part, rest) = self.view.take()?.split_at(axis, size).ok()?;
        self.view = Some(rest);
        match self.chunk {
            None => part.index_axis(axis, 0).ok(),
            Some(_) => Some(part),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left().div_ceil(self.chunk.unwrap_or(1));
        (left, Some(left))
    }
}

impl<T: Element> ExactSizeIterator for AxisIterMut<'_, T> {}
impl<T: Element> FusedIterator for AxisIterMut<'_, T> {}

fn check_chunk(size: usize) -> Result<usize, Error> {
    if size == 0 { Err(Error::Zero { what: "the size of a chunk" }) } else { Ok(size) }
}

/// Both operands as if repeated to the shape that they have together.
fn broadcast_both<'a, 'b, T: Element, U: Element>(
    a: &TensorView<'a, T>,
    b: &TensorView<'b, U>,
) -> Result<(Shape, TensorView<'a, T>, TensorView<'b, U>), Error> {
    let shape = broadcast_shapes([a.shape(), b.shape()])?;
    let [a_layout, b_layout] = coalesce([&a.layout().broadcast_to(&shape)?, &b.layout().broadcast_to(&shape)?]);
    Ok((shape, a.with_layout(a_layout), b.with_layout(b_layout)))
}

/// The last axis of a coalesced layout, which has one.
fn last_axis(layout: &Layout) -> usize {
    layout.rank() - 1
}

impl<'a, T: Element> TensorView<'a, T> {
    /// All elements in C order.
    pub fn iter(&self) -> Elements<'a, T> {
        Elements::new(self.runs(), self.layout().len())
    }

    /// All elements in C order, as few and long lanes as there can be.
    fn runs(&self) -> Lanes<'a, T> {
        let [layout] = coalesce([self.layout()]);
        let axis = last_axis(&layout);
        self.with_layout(layout).lanes_of(axis)
    }

    /// The lanes along an axis: its elements, everything else fixed, in C order of the other axes.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let x = Tensor::arange(0_i64, 6, 1)?.into_shape([2, 3])?;
    /// let columns: Vec<i64> = x.view().lanes(0)?.map(|column| column.iter().sum()).collect();
    /// assert_eq!(columns, [3, 5, 7]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Axis`].
    pub fn lanes(&self, axis: isize) -> Result<Lanes<'a, T>, Error> {
        Ok(self.lanes_of(resolve_axis(axis, self.shape().len())?))
    }

    /// The entries of an axis, each a view without it.
    ///
    /// # Errors
    /// [`Error::Axis`].
    #[doc(alias = "outer_iter")]
    #[doc(alias = "unbind")]
    pub fn axis_iter(&self, axis: isize) -> Result<AxisIter<'a, T>, Error> {
        let axis = resolve_axis(axis, self.shape().len())?;
        Ok(AxisIter { view: self.clone(), axis, chunk: None, at: 0 })
    }

    /// Chunks of `size` entries of an axis; the last one may be shorter.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Zero`].
    #[doc(alias = "split")]
    #[doc(alias = "axis_chunks_iter")]
    pub fn axis_chunks(&self, axis: isize, size: usize) -> Result<AxisIter<'a, T>, Error> {
        let axis = resolve_axis(axis, self.shape().len())?;
        Ok(AxisIter { view: self.clone(), axis, chunk: Some(check_chunk(size)?), at: 0 })
    }

    /// A tensor of the results of `f` for each element, called in C order.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let x = Tensor::arange(1_i64, 5, 1)?;
    /// assert_eq!(x.flip(0)?.map(|x| x * x).to_vec(), [16, 9, 4, 1]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    #[doc(alias = "mapv")]
    pub fn map<U: Element>(&self, mut f: impl FnMut(&T) -> U) -> Tensor<U> {
        let mut out = with_capacity(self.layout().len());
        for lane in self.runs() {
            match lane.as_slice() {
                Some(elements) => out.extend(elements.iter().map(&mut f)),
                None => out.extend(lane.iter().map(&mut f)),
            }
        }
        Tensor::from_dense(self.shape(), out)
    }

    /// As [`map`](Self::map), into memory that is there already.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if `out` has another shape.
    pub fn map_into<U: Element>(
        &self,
        out: &mut TensorViewMut<'_, U>,
        mut f: impl FnMut(&T) -> U,
    ) -> Result<(), Error> {
        if out.shape() != self.shape() {
            return Err(Error::shape_mismatch("the output", self.shape(), out.shape()));
        }
        out.zip_apply(self, |_, x| f(x))
    }

    /// `f` of each two elements at the same position, with broadcasting.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let column = Tensor::from_vec([2, 1], vec![10, 20])?;
    /// let row = Tensor::from_vec([3], vec![1, 2, 3])?;
    /// let sums = column.view().zip_map(&row.view(), |x, y| x + y)?;
    /// assert_eq!(sums.to_string(), "[[11, 12, 13],\n [21, 22, 23]]");
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Broadcast`], [`Error::TooLarge`].
    pub fn zip_map<U: Element, V: Element>(
        &self,
        other: &TensorView<'_, U>,
        mut f: impl FnMut(&T, &U) -> V,
    ) -> Result<Tensor<V>, Error> {
        let (shape, a, b) = broadcast_both(self, other)?;
        let mut out = with_capacity(a.layout().len());
        let axis = last_axis(a.layout());
        for (a, b) in a.lanes_of(axis).zip(b.lanes_of(axis)) {
            match (a.as_slice(), b.as_slice()) {
                (Some(a), Some(b)) => out.extend(a.iter().zip(b).map(|(a, b)| f(a, b))),
                _ => out.extend(a.iter().zip(b).map(|(a, b)| f(a, b))),
            }
        }
        Ok(Tensor::from_dense(&shape, out))
    }

    /// Returns `true` if shape and elements are the same.
    pub(crate) fn equals(&self, other: &TensorView<'_, T>) -> bool
    where
        T: PartialEq,
    {
        self.shape() == other.shape() && self.iter().eq(other.iter())
    }
}

impl<'a, T: Element> TensorViewMut<'a, T> {
    /// All elements in C order, to be read.
    pub fn iter(&self) -> Elements<'_, T> {
        self.view().iter()
    }

    /// All elements in C order.
    pub fn iter_mut(&mut self) -> ElementsMut<'_, T> {
        let len = self.layout().len();
        ElementsMut::new(self.view_mut().into_runs(), len)
    }

    fn into_runs(self) -> LanesMut<'a, T> {
        let [layout] = coalesce([self.layout()]);
        let axis = last_axis(&layout);
        self.with_layout(layout).into_lanes_of(axis)
    }

    /// The lanes along an axis, in C order of the other axes.
    ///
    /// # Errors
    /// [`Error::Axis`].
    pub fn lanes_mut(self, axis: isize) -> Result<LanesMut<'a, T>, Error> {
        let axis = resolve_axis(axis, self.shape().len())?;
        Ok(self.into_lanes_of(axis))
    }

    /// The entries of an axis, each a view without it.
    ///
    /// # Errors
    /// [`Error::Axis`].
    pub fn axis_iter_mut(self, axis: isize) -> Result<AxisIterMut<'a, T>, Error> {
        let axis = resolve_axis(axis, self.shape().len())?;
        Ok(AxisIterMut { view: Some(self), axis, chunk: None })
    }

    /// Chunks of `size` entries of an axis; the last one may be shorter.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Zero`].
    pub fn axis_chunks_mut(self, axis: isize, size: usize) -> Result<AxisIterMut<'a, T>, Error> {
        let axis = resolve_axis(axis, self.shape().len())?;
        Ok(AxisIterMut { view: Some(self), axis, chunk: Some(check_chunk(size)?) })
    }

    /// Overwrites each element with `f` of it, in no particular order.
    #[doc(alias = "mapv_inplace")]
    pub fn apply(&mut self, mut f: impl FnMut(&T) -> T) {
        for mut lane in self.view_mut().into_runs() {
            match lane.as_slice_mut() {
                Some(elements) => elements.iter_mut().for_each(|x| *x = f(x)),
                None => lane.into_iter().for_each(|x| *x = f(x)),
            }
        }
    }

    /// Overwrites each element with `f` of it and one of `other`; `other` is broadcast to the shape
    /// of this view.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let mut frames = Tensor::full([2, 3], 1.0)?;
    /// let window = Tensor::from_vec([3], vec![0.5, 1.0, 0.5])?;
    /// frames.view_mut().zip_apply(&window.view(), |x, w| x * w)?;
    /// assert_eq!(frames.to_vec(), [0.5, 1.0, 0.5, 0.5, 1.0, 0.5]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Broadcast`].
    #[doc(alias = "zip_mut_with")]
    pub fn zip_apply<U: Element>(
        &mut self,
        other: &TensorView<'_, U>,
        mut f: impl FnMut(&T, &U) -> T,
    ) -> Result<(), Error> {
        let [here, there] = coalesce([self.layout(), &other.layout().broadcast_to(self.shape())?]);
        let axis = last_axis(&here);
        let lanes = self.view_mut().with_layout(here).into_lanes_of(axis);
        for (mut x, y) in lanes.zip(other.with_layout(there).lanes_of(axis)) {
            match (x.as_slice_mut(), y.as_slice()) {
                (Some(x), Some(y)) => x.iter_mut().zip(y).for_each(|(x, y)| *x = f(x, y)),
                _ => x.into_iter().zip(y).for_each(|(x, y)| *x = f(x, y)),
            }
        }
        Ok(())
    }

    /// Copies `value`, broadcast to the shape of this view. Extra leading axes of length 1 are
    /// ignored, as in NumPy.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let mut x = Tensor::zeros([2, 3])?;
    /// x.view_mut().assign(&Tensor::from_vec([3], vec![1, 2, 3])?.view())?;
    /// assert_eq!(x.to_vec(), [1, 2, 3, 1, 2, 3]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Broadcast`].
    #[doc(alias = "copyto")]
    #[doc(alias = "copy_")]
    pub fn assign(&mut self, value: &TensorView<'_, T>) -> Result<(), Error> {
        let mut layout = value.layout().clone();
        while layout.rank() > self.shape().len() && layout.shape()[0] == 1 {
            layout = layout.squeeze_axis(0)?;
        }
        self.copy_from(&value.with_layout(layout.broadcast_to(self.shape())?))
    }

    /// Copies elements in C order from a slice, which must have as many.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], also if the slice has too many.
    #[doc(alias = "UArray_load")]
    pub fn load(&mut self, elements: &[T]) -> Result<(), Error> {
        self.copy_from(&TensorView::from_slice(self.shape(), elements)?)
    }
}

impl<'a, T: Element> IntoIterator for &TensorView<'a, T> {
    type Item = &'a T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

impl<T: Element> Tensor<T> {
    /// All elements in C order.
    pub fn iter(&self) -> Elements<'_, T> {
        self.view().iter()
    }

    /// All elements in C order, to be written; shared memory is copied first.
    pub fn iter_mut(&mut self) -> ElementsMut<'_, T> {
        let len = self.len();
        ElementsMut::new(self.view_mut().into_runs(), len)
    }

    /// A tensor of the results of `f` for each element. See [`TensorView::map`].
    #[doc(alias = "mapv")]
    pub fn map<U: Element>(&self, f: impl FnMut(&T) -> U) -> Tensor<U> {
        self.view().map(f)
    }
}

impl<'a, T: Element> IntoIterator for &'a Tensor<T> {
    type Item = &'a T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element> IntoIterator for &'a TensorViewMut<'_, T> {
    type Item = &'a T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element> IntoIterator for &'a mut TensorViewMut<'_, T> {
    type Item = &'a mut T;
    type IntoIter = ElementsMut<'a, T>;

    fn into_iter(self) -> ElementsMut<'a, T> {
        self.iter_mut()
    }
}

impl<'a, T: Element> IntoIterator for &'a mut Tensor<T> {
    type Item = &'a mut T;
    type IntoIter = ElementsMut<'a, T>;

    fn into_iter(self) -> ElementsMut<'a, T> {
        self.iter_mut()
    }
}

impl<T: Element> IntoIterator for Tensor<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}
