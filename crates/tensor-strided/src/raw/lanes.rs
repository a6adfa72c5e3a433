//! Lanes: the elements along one axis, everything else fixed.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use crate::layout::{Layout, Walk};
use crate::raw::{Raw, RawMut};

/// The elements along one axis of a view: a pointer, a length and a stride.
pub struct Lane<'a, T> {
    start: *const T,
    len: usize,
    stride: isize,
    borrow: PhantomData<&'a T>,
}

/// The elements along one axis of a view, for writing.
pub struct LaneMut<'a, T> {
    start: *mut T,
    len: usize,
    stride: isize,
    borrow: PhantomData<&'a mut T>,
}

// SAFETY: it is a `&[T]` with gaps.
unsafe impl<T: Sync> Send for Lane<'_, T> {}
// SAFETY: it is a `&[T]` with gaps.
unsafe impl<T: Sync> Sync for Lane<'_, T> {}
// SAFETY: it is a `&mut [T]` with gaps.
unsafe impl<T: Send> Send for LaneMut<'_, T> {}
// SAFETY: it is a `&mut [T]` with gaps.
unsafe impl<T: Sync> Sync for LaneMut<'_, T> {}

impl<T> Clone for Lane<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lane<'_, T> {}

impl<'a, T> Lane<'a, T> {
    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if it has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `i`, if there is one.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&'a T> {
        // SAFETY: the view that it comes from has `len` elements here, borrowed for `'a`.
        (i < self.len).then(|| unsafe { &*self.start.offset(i.cast_signed().wrapping_mul(self.stride)) })
    }

    /// The elements as a slice, if they are contiguous.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        match (self.len, self.stride) {
            (0, _) => Some(&[]),
            // SAFETY: `len` elements that the view names, borrowed for `'a`, without gaps.
            (1, _) | (_, 1) => Some(unsafe { std::slice::from_raw_parts(self.start, self.len) }),
            _ => None,
        }
    }

    /// The elements in order.
    #[inline]
    pub fn iter(&self) -> LaneIter<'a, T> {
        LaneIter { lane: *self }
    }
}

impl<'a, T> LaneMut<'a, T> {
    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if it has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same elements for reading.
    #[inline]
    pub fn as_lane(&self) -> Lane<'_, T> {
        Lane { start: self.start, len: self.len, stride: self.stride, borrow: PhantomData }
    }

    /// Element `i`, if there is one.
    #[inline]
    pub fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        // SAFETY: the view that it comes from has `len` elements here, and `self` is borrowed for
        // this one.
        (i < self.len).then(|| unsafe { &mut *self.start.offset(i.cast_signed().wrapping_mul(self.stride)) })
    }

    /// The elements as a slice, if they are contiguous.
    #[inline]
    pub fn as_slice_mut(&mut self) -> Option<&mut [T]> {
        match (self.len, self.stride) {
            (0, _) => Some(&mut []),
            // SAFETY: `len` elements that the view names, without gaps, and `self` is borrowed for
            // them.
            (1, _) | (_, 1) => Some(unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }),
            _ => None,
        }
    }

    /// The elements in order.
    #[inline]
    pub fn iter_mut(&mut self) -> LaneIterMut<'_, T> {
        LaneIterMut { lane: LaneMut { borrow: PhantomData, ..*self } }
    }
}

impl<'a, T> IntoIterator for Lane<'a, T> {
    type Item = &'a T;
    type IntoIter = LaneIter<'a, T>;

    #[inline]
    fn into_iter(self) -> LaneIter<'a, T> {
        self.iter()
    }
}

impl<'a, T> IntoIterator for LaneMut<'a, T> {
    type Item = &'a mut T;
    type IntoIter = LaneIterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> LaneIterMut<'a, T> {
        LaneIterMut { lane: self }
    }
}

impl<T: fmt::Debug> fmt::Debug for Lane<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for LaneMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_lane().fmt(f)
    }
}

/// The elements of a [`Lane`].
#[derive(Clone, Debug)]
pub struct LaneIter<'a, T> {
    /// The remaining elements.
    lane: Lane<'a, T>,
}

/// The elements of a [`LaneMut`].
#[derive(Debug)]
pub struct LaneIterMut<'a, T> {
    /// The remaining elements.
    lane: LaneMut<'a, T>,
}

macro_rules! lane_iterator {
    ($Iter:ident, $Item:ty, |$p:ident| $deref:expr) => {
        impl<'a, T> Iterator for $Iter<'a, T> {
            type Item = $Item;

            #[inline]
            fn next(&mut self) -> Option<$Item> {
                self.lane.len = self.lane.len.checked_sub(1)?;
                let $p = self.lane.start;
                self.lane.start = $p.wrapping_offset(self.lane.stride);
                // SAFETY: one of the elements of the view, borrowed for `'a`, that was not given
                // out before.
                Some(unsafe { $deref })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.lane.len, Some(self.lane.len))
            }
        }

        impl<'a, T> DoubleEndedIterator for $Iter<'a, T> {
            #[inline]
            fn next_back(&mut self) -> Option<$Item> {
                self.lane.len = self.lane.len.checked_sub(1)?;
                let $p = self.lane.start.wrapping_offset(self.lane.len.cast_signed().wrapping_mul(self.lane.stride));
                // SAFETY: one of the elements of the view, borrowed for `'a`, that was not given
                // out before.
                Some(unsafe { $deref })
            }
        }

        impl<T> ExactSizeIterator for $Iter<'_, T> {}
        impl<T> FusedIterator for $Iter<'_, T> {}
    };
}

lane_iterator!(LaneIter, &'a T, |p| &*p);
lane_iterator!(LaneIterMut, &'a mut T, |p| &mut *p);

/// All lanes along one axis of a view, in C order of the other axes.
pub struct Lanes<'a, T> {
    base: *const T,
    lane: (usize, isize),
    walk: Walk,
    borrow: PhantomData<&'a T>,
}

/// All lanes along one axis of a view, for writing, in C order of the other axes.
pub struct LanesMut<'a, T> {
    base: *mut T,
    lane: (usize, isize),
    walk: Walk,
    borrow: PhantomData<&'a mut T>,
}

// SAFETY: it is a `&[T]` with gaps.
unsafe impl<T: Sync> Send for Lanes<'_, T> {}
// SAFETY: it is a `&[T]` with gaps.
unsafe impl<T: Sync> Sync for Lanes<'_, T> {}
// SAFETY: it is a `&mut [T]` with gaps.
unsafe impl<T: Send> Send for LanesMut<'_, T> {}
// SAFETY: it is a `&mut [T]` with gaps.
unsafe impl<T: Sync> Sync for LanesMut<'_, T> {}

/// The length and stride of an axis, and the walk over the others.
fn split_axis(layout: &Layout, axis: usize) -> ((usize, isize), Walk) {
    let mut others = layout.clone();
    let lane = (others.shape_mut().remove(axis), others.strides_mut().remove(axis));
    (lane, Walk::new(&others))
}

impl<'a, T> Raw<'a, T> {
    /// The lanes along an axis that exists.
    pub(crate) fn lanes(&self, axis: usize) -> Lanes<'a, T> {
        let (lane, walk) = split_axis(&self.layout, axis);
        Lanes { base: self.base.as_ptr(), lane, walk, borrow: PhantomData }
    }
}

impl<'a, T> RawMut<'a, T> {
    /// The lanes along an axis that exists.
    pub(crate) fn into_lanes(self, axis: usize) -> LanesMut<'a, T> {
        let (lane, walk) = split_axis(&self.layout, axis);
        LanesMut { base: self.base.as_ptr(), lane, walk, borrow: PhantomData }
    }
}

macro_rules! lanes_iterator {
    ($Iter:ident, $Lane:ident) => {
        impl<'a, T> Iterator for $Iter<'a, T> {
            type Item = $Lane<'a, T>;

            #[inline]
            fn next(&mut self) -> Option<$Lane<'a, T>> {
                let start = self.base.wrapping_add(self.walk.next()?);
                // Each lane is given out once, and lanes of a view for writing have no element in
                // common.
                Some($Lane { start, len: self.lane.0, stride: self.lane.1, borrow: PhantomData })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.walk.size_hint()
            }
        }

        impl<T> ExactSizeIterator for $Iter<'_, T> {}
        impl<T> FusedIterator for $Iter<'_, T> {}

        impl<T> fmt::Debug for $Iter<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Iter)).field("left", &self.walk.len()).finish_non_exhaustive()
            }
        }
    };
}

lanes_iterator!(Lanes, Lane);
lanes_iterator!(LanesMut, LaneMut);

impl<T> Clone for Lanes<'_, T> {
    fn clone(&self) -> Self {
        Self { walk: self.walk.clone(), ..*self }
    }
}
