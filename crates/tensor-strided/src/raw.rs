//! Memory seen through a layout: a pointer, the number of elements that may be accessed from it,
//! and their positions.
//!
//! The elements of a view that comes from elsewhere may have gaps between them that others write
//! to, so no slice over all of it may exist. Both types here keep these invariants, which are
//! checked whenever a view is made or its layout changes:
//!
//! - the layout stays within `len` elements from `base`, and each of its elements is initialised
//!   and borrowed for `'a`;
//! - for writing, no two coordinates are the same element.

#[cfg(feature = "ndarray")]
mod array;
mod lanes;

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::copy;
use crate::dims::Strides;
use crate::element::Element;
use crate::error::Error;
use crate::layout::Layout;
use crate::layout_ops::resolve_axis;

pub use lanes::{Lane, LaneIter, LaneIterMut, LaneMut, Lanes, LanesMut};

/// Elements that can be read for `'a`.
pub(crate) struct Raw<'a, T> {
    base: NonNull<T>,
    len: usize,
    layout: Layout,
    borrow: PhantomData<&'a T>,
}

/// Elements that can be read and written for `'a`, and that no other code accesses.
pub(crate) struct RawMut<'a, T> {
    base: NonNull<T>,
    len: usize,
    layout: Layout,
    borrow: PhantomData<&'a mut T>,
}

// SAFETY: it is a `&[T]` with gaps.
unsafe impl<T: Sync> Send for Raw<'_, T> {}
// SAFETY: it is a `&[T]` with gaps.
unsafe impl<T: Sync> Sync for Raw<'_, T> {}
// SAFETY: it is a `&mut [T]` with gaps.
unsafe impl<T: Send> Send for RawMut<'_, T> {}
// SAFETY: it is a `&mut [T]` with gaps.
unsafe impl<T: Sync> Sync for RawMut<'_, T> {}

impl<T> Clone for Raw<'_, T> {
    fn clone(&self) -> Self {
        Self { layout: self.layout.clone(), ..*self }
    }
}

fn check_len(layout: &Layout, len: usize) -> Result<(), Error> {
    match layout.min_len() {
        expected if expected > len => Err(Error::BufferTooSmall { expected, found: len }),
        _ => Ok(()),
    }
}

/// Panics unless `part` has the shape of `source` and names each of `len` elements at most once.
fn check_part<T>(source: &Raw<'_, T>, part: &Layout, len: usize) {
    assert_eq!(source.layout.shape(), part.shape(), "a copy between different shapes");
    assert!(part.min_len() <= len && part.is_nested(), "{part:?} was taken from {len} elements");
}

impl<'a, T> Raw<'a, T> {
    /// The elements of `data` that `layout` names.
    #[inline]
    pub(crate) fn new(data: &'a [T], layout: Layout) -> Result<Self, Error> {
        check_len(&layout, data.len())?;
        Ok(Self { base: NonNull::from(data).cast(), len: data.len(), layout, borrow: PhantomData })
    }

    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same memory with another layout, which picks among the elements of this one.
    ///
    /// # Panics
    /// If it leaves the memory: then the view algebra above is wrong.
    #[inline]
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        let raw = Self { layout, ..*self };
        raw.assert_within();
        raw
    }

    /// [`with_layout`](Self::with_layout) of the layout that `fill` writes from this one, in
    /// place: layouts are large, so this avoids a move.
    ///
    /// # Errors
    /// The errors of `fill`.
    ///
    /// # Panics
    /// As [`with_layout`](Self::with_layout).
    #[inline]
    pub(crate) fn cut(&self, fill: impl FnOnce(&Layout, &mut Layout) -> Result<(), Error>) -> Result<Self, Error> {
        let mut raw = Self { layout: Layout::blank(), ..*self };
        fill(&self.layout, &mut raw.layout)?;
        raw.assert_within();
        Ok(raw)
    }

    /// [`cut`](Self::cut) of the elements of `data` that `layout` names. `layout` itself is not
    /// checked, only the result of `fill`.
    ///
    /// # Errors
    /// The errors of `fill`.
    ///
    /// # Panics
    /// As [`with_layout`](Self::with_layout).
    #[inline]
    pub(crate) fn cut_from(
        data: &'a [T],
        layout: &Layout,
        fill: impl FnOnce(&Layout, &mut Layout) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let base = NonNull::from(data).cast();
        let mut raw = Self { base, len: data.len(), layout: Layout::blank(), borrow: PhantomData };
        fill(layout, &mut raw.layout)?;
        raw.assert_within();
        Ok(raw)
    }

    #[inline]
    fn assert_within(&self) {
        let (layout, len) = (&self.layout, self.len);
        assert!(layout.min_len() <= len, "{layout:?} was taken from a buffer of {len} elements");
    }

    /// An element, if the coordinate is in range.
    #[inline]
    pub(crate) fn get(&self, coordinate: &[usize]) -> Option<&'a T> {
        let offset = self.layout.offset_of(coordinate)?;
        // SAFETY: the coordinate is in range, so its element is one that the layout names.
        Some(unsafe { self.base.add(offset).as_ref() })
    }

    /// All elements as a slice, if they are contiguous in C order.
    #[inline]
    pub(crate) fn as_slice(&self) -> Option<&'a [T]> {
        match self.layout.len() {
            0 => Some(&[]),
            // SAFETY: `len` elements that the layout names, without gaps, borrowed for `'a`.
            len => self.layout.is_contiguous().then(|| unsafe { std::slice::from_raw_parts(self.origin(), len) }),
        }
    }

    /// Address of element `[0, .., 0]`; must not be read if there are no elements.
    #[inline]
    fn origin(&self) -> *const T {
        self.base.as_ptr().wrapping_add(self.layout.offset())
    }
}

impl<T: Element> Raw<'_, T> {
    /// All elements in C order.
    pub(crate) fn to_vec(&self) -> Vec<T> {
        // SAFETY: the layout names elements that can be read.
        unsafe { copy::collect(self.layout.shape(), self.origin(), self.layout.strides()) }
    }

    /// `len` elements: these at the positions that `part` names, `filler` at all others.
    ///
    /// # Panics
    /// If `part` has another shape, leaves the `len` elements or names one twice: then the view
    /// algebra above is wrong.
    pub(crate) fn embedded(&self, part: &Layout, len: usize, filler: T) -> Vec<T> {
        let mut out = copy::with_capacity(len);
        check_part(self, part, len);
        // SAFETY: as checked; there is room for `len` elements, all of which are written.
        unsafe {
            let (from, to) = ((self.origin(), &self.layout.strides()[..]), (part.offset(), &part.strides()[..]));
            copy::embed(part.shape(), from, (out.as_mut_ptr(), len), to, filler);
            out.set_len(len);
        }
        out
    }
}

impl<'a, T> RawMut<'a, T> {
    /// The elements of `data` that `layout` names.
    #[inline]
    pub(crate) fn new(data: &'a mut [T], layout: Layout) -> Result<Self, Error> {
        check_len(&layout, data.len())?;
        layout.check_nested()?;
        let len = data.len();
        Ok(Self { base: NonNull::from(data).cast(), len, layout, borrow: PhantomData })
    }

    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same memory with another layout, which picks among the elements of this one.
    ///
    /// # Panics
    /// If it leaves the memory or names an element twice: then the view algebra above is wrong.
    #[inline]
    pub(crate) fn with_layout(self, layout: Layout) -> Self {
        assert!(layout.min_len() <= self.len, "{layout:?} was taken from a buffer of {} elements", self.len);
        assert!(layout.is_nested(), "{layout:?} names elements twice");
        Self { layout, ..self }
    }

    /// The same elements for reading, as long as this is borrowed.
    #[inline]
    pub(crate) fn as_raw(&self) -> Raw<'_, T> {
        Raw { base: self.base, len: self.len, layout: self.layout.clone(), borrow: PhantomData }
    }

    /// The same elements for writing, as long as this is borrowed.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> RawMut<'_, T> {
        RawMut { base: self.base, len: self.len, layout: self.layout.clone(), borrow: PhantomData }
    }

    /// Splits an axis into two views without a common element: the entries before `at`, and the
    /// entries from `at` on.
    pub(crate) fn split_at(self, axis: isize, at: usize) -> Result<(Self, Self), Error> {
        let resolved = resolve_axis(axis, self.layout.rank())?;
        let before = self.layout.narrow(axis, 0..at)?;
        let after = self.layout.narrow(axis, at..self.layout.shape()[resolved])?;
        // No two coordinates are the same element, so these two have none in common.
        let part = |layout| Self { base: self.base, len: self.len, layout, borrow: PhantomData };
        Ok((part(before), part(after)))
    }

    /// An element, if the coordinate is in range.
    #[inline]
    pub(crate) fn get(&self, coordinate: &[usize]) -> Option<&T> {
        let offset = self.layout.offset_of(coordinate)?;
        // SAFETY: the coordinate is in range, so its element is one that the layout names, and
        // `self` is borrowed for it.
        Some(unsafe { self.base.add(offset).as_ref() })
    }

    /// An element, if the coordinate is in range.
    #[inline]
    pub(crate) fn get_mut(&mut self, coordinate: &[usize]) -> Option<&mut T> {
        let offset = self.layout.offset_of(coordinate)?;
        // SAFETY: the coordinate is in range, so its element is one that the layout names, and
        // `self` is borrowed for it.
        Some(unsafe { self.base.add(offset).as_mut() })
    }

    /// All elements as a slice, if they are contiguous in C order.
    #[inline]
    pub(crate) fn into_slice(self) -> Option<&'a mut [T]> {
        match self.layout.len() {
            0 => Some(&mut []),
            // SAFETY: `len` elements that the layout names, without gaps, borrowed for `'a` by this
            // view, which ends here.
            len => self.layout.is_contiguous().then(|| unsafe { std::slice::from_raw_parts_mut(self.origin(), len) }),
        }
    }

    /// Address of element `[0, .., 0]`; must not be used if there are no elements.
    #[inline]
    fn origin(&self) -> *mut T {
        self.base.as_ptr().wrapping_add(self.layout.offset())
    }
}

impl<T: Element> RawMut<'_, T> {
    /// Copies all elements of `source`, which has the same shape.
    ///
    /// # Panics
    /// If the shapes differ.
    pub(crate) fn copy_from(&mut self, source: &Raw<'_, T>) {
        assert_eq!(self.layout.shape(), source.layout.shape(), "a copy between different shapes");
        // SAFETY: both layouts name elements of these shapes; the targets are distinct, and no
        // other code can read or write them, so `source` has none of them.
        unsafe {
            copy::copy(
                self.layout.shape(),
                source.origin(),
                source.layout.strides(),
                self.origin(),
                self.layout.strides(),
            );
        }
    }

    /// Copies all elements of `source` to where `part` is within these, and writes `filler` to all
    /// others.
    ///
    /// # Panics
    /// If the shapes of both differ, or if `part` leaves this view: then the view algebra above is
    /// wrong.
    pub(crate) fn embed(&mut self, source: &Raw<'_, T>, part: Layout, filler: T) {
        let len = self.layout.len();
        if len == 0 || !self.layout.is_contiguous() {
            self.fill(filler);
            return self.reborrow().with_layout(part).copy_from(source);
        }
        let offset = part.offset().wrapping_sub(self.layout.offset());
        let part = Layout::reshaped_parts(part.shape().clone(), part.strides().clone(), offset);
        check_part(source, &part, len);
        let (from, to) = ((source.origin(), &source.layout.strides()[..]), (offset, &part.strides()[..]));
        // SAFETY: as checked; these `len` elements have no gaps, and nobody else can read or write
        // them.
        unsafe { copy::embed(part.shape(), from, (self.origin(), len), to, filler) };
    }

    /// Writes `value` to all elements.
    pub(crate) fn fill(&mut self, value: T) {
        let (shape, zeros) = (self.layout.shape(), Strides::filled(0, self.layout.rank()));
        // SAFETY: a value on the stack can be read again and again; the layout names distinct
        // elements that can be written.
        unsafe { copy::copy(shape, &raw const value, &zeros, self.origin(), self.layout.strides()) };
    }
}
