//! The same memory as an array of `ndarray`, and back.

use std::marker::PhantomData;
use std::ptr::NonNull;

use ndarray::{ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder};

use crate::dims::{Shape, Strides};
use crate::error::Error;
use crate::layout::Layout;
use crate::raw::{Raw, RawMut};

/// The layout of an array whose element `[0, .., 0]` is at the offset that makes the lowest one
/// 0, and the number of elements that it spans.
fn layout_of(shape: &[usize], strides: &[isize]) -> (Layout, usize) {
    let below = |(&n, &stride): (&usize, &isize)| if n > 1 && stride < 0 { (n - 1) * stride.unsigned_abs() } else { 0 };
    let offset = if shape.contains(&0) { 0 } else { shape.iter().zip(strides).map(below).sum() };
    let layout = Layout::reshaped_parts(Shape::from(shape), Strides::from(strides), offset);
    let len = layout.min_len();
    (layout, len)
}

/// The lengths and the absolute strides, those that mean nothing being 0, and the axes that run
/// backwards.
fn without_signs(layout: &Layout) -> (IxDyn, IxDyn, impl Iterator<Item = Axis>) {
    let means = |n: usize| n > 1 && !layout.is_empty();
    let axes = || layout.shape().iter().zip(layout.strides());
    let strides: Vec<usize> = axes().map(|(&n, stride)| if means(n) { stride.unsigned_abs() } else { 0 }).collect();
    let backwards: Vec<usize> =
        axes().enumerate().filter(|(_, (n, stride))| means(**n) && **stride < 0).map(|(axis, _)| axis).collect();
    (IxDyn(layout.shape()), IxDyn(&strides), backwards.into_iter().map(Axis))
}

/// The offset of the lowest element.
fn lowest(layout: &Layout) -> usize {
    layout.checked_range().map_or(0, |(low, _)| low)
}

impl<'a, T> Raw<'a, T> {
    /// Borrows the elements of an array; nothing is copied.
    pub(crate) fn from_array<D: Dimension>(array: &ArrayView<'a, T, D>) -> Self {
        let (layout, len) = layout_of(array.shape(), array.strides());
        // An array's pointer is never null. It points to the first element, from which this
        // computes the lowest one.
        let lowest = array.as_ptr().wrapping_sub(layout.offset()).cast_mut();
        let base = NonNull::new(lowest).unwrap_or(NonNull::dangling());
        Self { base, len, layout, borrow: PhantomData }
    }

    /// The elements as an array; nothing is copied.
    pub(crate) fn to_array(&self) -> ArrayViewD<'a, T> {
        let (shape, strides, backwards) = without_signs(&self.layout);
        let pointer = self.base.as_ptr().wrapping_add(lowest(&self.layout));
        // SAFETY: from the lowest address on, the absolute strides lead to the same elements as
        // the layout, which can all be read for `'a`; its constructors have checked that
        // distances and the number of elements fit in an `isize`. If there are no elements, all
        // strides are 0 and the pointer is a buffer's, never null.
        let mut array = unsafe { ArrayViewD::from_shape_ptr(shape.strides(strides), pointer) };
        backwards.for_each(|axis| array.invert_axis(axis));
        array
    }
}

impl<'a, T> RawMut<'a, T> {
    /// Borrows the elements of an array; nothing is copied.
    pub(crate) fn from_array<D: Dimension>(mut array: ArrayViewMut<'a, T, D>) -> Result<Self, Error> {
        let (layout, len) = layout_of(array.shape(), array.strides());
        layout.check_nested()?;
        let lowest = array.as_mut_ptr().wrapping_sub(layout.offset());
        let base = NonNull::new(lowest).unwrap_or(NonNull::dangling());
        Ok(Self { base, len, layout, borrow: PhantomData })
    }

    /// The elements as an array; nothing is copied.
    pub(crate) fn into_array(self) -> ArrayViewMutD<'a, T> {
        let (shape, strides, backwards) = without_signs(&self.layout);
        let pointer = self.base.as_ptr().wrapping_add(lowest(&self.layout));
        // SAFETY: as in `to_array`; and this view, which ends here, has the elements for itself,
        // none of them twice.
        let mut array = unsafe { ArrayViewMutD::from_shape_ptr(shape.strides(strides), pointer) };
        backwards.for_each(|axis| array.invert_axis(axis));
        array
    }
}
