//! The position of the elements of a tensor in memory: shape, strides and offset.

use crate::dims::{Dims, Shape, Strides};
use crate::error::Error;

/// The index that runs fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The last index, as in C: rows are contiguous.
    #[default]
    #[doc(alias = "RowMajor")]
    C,
    /// The first index, as in Fortran: columns are contiguous.
    #[doc(alias = "ColumnMajor")]
    F,
}

/// The position of each element in a buffer: element `[i, j, ..]` is at
/// `offset + i * strides[0] + j * strides[1] + ..`.
///
/// ```text
///   buffer     0  1  2  3  4  5  6  7  8  9 10 11      shape [3, 4], strides [4, 1], offset 0
///                    ^-----                            element [0, 2]
///   reversed columns: shape [3, 4], strides [4, -1], offset 3
///   every other column: shape [3, 2], strides [4, 2], offset 0
/// ```
///
/// Offsets and strides count elements, not bytes. All offsets of a layout's elements are in
/// `0..=isize::MAX`, and the number of elements fits in an `isize`: no arithmetic with coordinates
/// that are in range can overflow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
}

impl Layout {
    /// Contiguous elements in C order: the last index runs fastest.
    ///
    /// ```
    /// use tensor_strided::Layout;
    ///
    /// let layout = Layout::contiguous([3, 4, 5, 6])?;
    /// assert_eq!(layout.strides(), [120, 30, 6, 1]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn contiguous(shape: impl AsRef<[usize]>) -> Result<Self, Error> {
        Self::ordered(shape.as_ref(), Order::C)
    }

    /// Contiguous elements in Fortran order: the first index runs fastest.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn fortran(shape: impl AsRef<[usize]>) -> Result<Self, Error> {
        Self::ordered(shape.as_ref(), Order::F)
    }

    /// Any strides, checked: all elements are at addresses that exist, though several may be at the
    /// same one.
    ///
    /// # Errors
    /// [`Error::Rank`] if there is not one stride for each axis, [`Error::TooLarge`],
    /// [`Error::OutOfRange`].
    pub fn new(shape: impl AsRef<[usize]>, strides: impl AsRef<[isize]>, offset: usize) -> Result<Self, Error> {
        let (shape, strides) = (Shape::from(shape.as_ref()), Strides::from(strides.as_ref()));
        if strides.len() != shape.len() {
            return Err(Error::Rank { what: "the strides", expected: shape.len(), found: strides.len() });
        }
        check_size(&shape)?;
        let layout = Self { shape, strides, offset };
        match layout.checked_range() {
            Some(_) => Ok(layout),
            None => Err(Error::OutOfRange { shape: layout.shape.to_vec(), strides: layout.strides.to_vec(), offset }),
        }
    }

    /// Contiguous elements in this order.
    pub(crate) fn ordered(shape: &[usize], order: Order) -> Result<Self, Error> {
        check_size(shape)?;
        Ok(Self { shape: shape.into(), strides: dense_strides(shape, order), offset: 0 })
    }

    /// Makes a layout of unchecked parts that pick elements of a valid layout.
    ///
    /// Views check once more that they stay within their buffer. This is for operations on
    /// layouts whose result cannot be wrong.
    #[inline]
    pub(crate) fn reshaped_parts(shape: Shape, strides: Strides, offset: usize) -> Self {
        debug_assert_eq!(shape.len(), strides.len());
        Self { shape, strides, offset }
    }

    /// The length of each axis.
    #[inline]
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The distance between the elements along each axis, in elements.
    #[inline]
    #[must_use]
    pub fn strides(&self) -> &Strides {
        &self.strides
    }

    /// Position of element `[0, .., 0]`, in elements from the start of the buffer.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The lengths, for view algebra that only picks among the elements.
    #[inline]
    pub(crate) fn shape_mut(&mut self) -> &mut Shape {
        &mut self.shape
    }

    /// The strides, for view algebra that only picks among the elements.
    #[inline]
    pub(crate) fn strides_mut(&mut self) -> &mut Strides {
        &mut self.strides
    }

    /// The same, so many steps of this stride further.
    #[inline]
    pub(crate) fn moved(mut self, steps: usize, stride: isize) -> Self {
        self.offset = self.offset.wrapping_add(steps.wrapping_mul(stride.cast_unsigned()));
        self
    }

    /// The number of axes.
    #[inline]
    #[must_use]
    #[doc(alias = "ndim")]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    #[doc(alias = "size")]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns `true` if some axis has length 0.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The least number of elements of a buffer that holds all of this layout. A layout without
    /// elements still has an offset, which must not be beyond the end.
    #[inline]
    #[must_use]
    pub fn min_len(&self) -> usize {
        self.checked_range().map_or(usize::MAX, |(_, end)| end)
    }

    /// The lowest offset and one past the highest; twice the offset if there are no elements.
    /// `None` on overflow or a negative offset, which a layout built with checks never has.
    #[inline]
    pub(crate) fn checked_range(&self) -> Option<(usize, usize)> {
        let start = isize::try_from(self.offset).ok()?;
        if self.is_empty() {
            return Some((self.offset, self.offset));
        }
        let (mut low, mut high) = (start, start);
        for (&n, &stride) in self.shape.iter().zip(&self.strides) {
            if n > 1 {
                let extent = isize::try_from(n - 1).ok()?.checked_mul(stride)?;
                let end = if stride < 0 { &mut low } else { &mut high };
                *end = end.checked_add(extent)?;
            }
        }
        Some((usize::try_from(low).ok()?, usize::try_from(high).ok()?.checked_add(1)?))
    }

    /// The offset of an element, `None` for a wrong number of coordinates or one that is out of
    /// range.
    ///
    /// ```
    /// use tensor_strided::Layout;
    ///
    /// let layout = Layout::contiguous([3, 4, 5, 6])?;
    /// assert_eq!(layout.offset_of([2, 2, 2, 3]), Some(315));
    /// assert_eq!(layout.offset_of([2, 4, 2, 3]), None);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn offset_of(&self, coordinate: impl AsRef<[usize]>) -> Option<usize> {
        let coordinate = coordinate.as_ref();
        let (shape, strides) = (&self.shape[..], &self.strides[..]);
        if coordinate.len() != shape.len() || strides.len() != shape.len() {
            return None;
        }
        let mut offset = self.offset;
        for axis in 0..shape.len() {
            if coordinate[axis] >= shape[axis] {
                return None;
            }
            offset = offset.wrapping_add(coordinate[axis].wrapping_mul(strides[axis].cast_unsigned()));
        }
        Some(offset)
    }

    /// The reason why [`offset_of`](Self::offset_of) returned `None`.
    #[cold]
    pub(crate) fn no_element(&self, coordinate: &[usize]) -> Error {
        if coordinate.len() != self.rank() {
            return Error::Rank { what: "the coordinate", expected: self.rank(), found: coordinate.len() };
        }
        let outside = (0..self.rank()).find(|&axis| coordinate[axis] >= self.shape[axis]).unwrap_or_default();
        Error::Index { axis: outside, index: coordinate[outside], len: self.shape[outside] }
    }

    /// Returns `true` if the elements are contiguous in C order. Axes of length 1 do not count; a
    /// layout without elements is always contiguous.
    #[must_use]
    #[doc(alias = "c_contiguous")]
    #[doc(alias = "is_standard_layout")]
    pub fn is_contiguous(&self) -> bool {
        self.is_dense(Order::C)
    }

    /// Returns `true` if the elements are contiguous in Fortran order. Axes of length 1 do not
    /// count; a layout without elements is always contiguous.
    #[must_use]
    #[doc(alias = "f_contiguous")]
    pub fn is_fortran(&self) -> bool {
        self.is_dense(Order::F)
    }

    pub(crate) fn is_dense(&self, order: Order) -> bool {
        let mut step = 1;
        let axis_is_dense = |axis: usize| {
            let n = self.shape[axis];
            let dense = n == 1 || self.strides[axis].cast_unsigned() == step;
            step *= n;
            dense
        };
        self.is_empty()
            || match order {
                Order::C => (0..self.rank()).rev().all(axis_is_dense),
                Order::F => (0..self.rank()).all(axis_is_dense),
            }
    }

    /// Returns `true` if a simple test proves that no two coordinates are the same element:
    /// sorted by stride, each step is longer than all the smaller axes together. This holds for
    /// dense layouts and for all layouts sliced, permuted, flipped, reshaped in place or taken
    /// along diagonals of them. It does not hold for strides of 0 and overlapping windows.
    pub(crate) fn is_nested(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let mut axes: Dims<(usize, usize)> = Dims::new();
        for (&n, &stride) in self.shape.iter().zip(&self.strides) {
            if n > 1 {
                let stride = stride.unsigned_abs();
                let at = axes.iter().position(|&(other, _)| other > stride).unwrap_or(axes.len());
                axes.insert(at, (stride, n - 1));
            }
        }
        let mut reach = 0;
        axes.iter().all(|&(stride, last)| {
            let free = stride > reach;
            reach += stride * last;
            free
        })
    }

    /// # Errors
    /// [`Error::Overlap`] unless [`is_nested`](Self::is_nested).
    pub(crate) fn check_nested(&self) -> Result<(), Error> {
        match self.is_nested() {
            true => Ok(()),
            false => Err(Error::Overlap { shape: self.shape.to_vec(), strides: self.strides.to_vec() }),
        }
    }
}

impl Layout {
    /// No axes and offset 0; to be overwritten.
    #[inline]
    pub(crate) fn blank() -> Self {
        Self { shape: Shape::new(), strides: Strides::new(), offset: 0 }
    }

    /// Makes this the layout of `rank` axes that `pick` picks of the axes of `from`, in place:
    /// layouts are large, and moving one that was just written costs as much as making it.
    ///
    /// Axes that `pick` leaves are kept as they are.
    ///
    /// # Errors
    /// The errors of `pick`; the layout has no meaning then.
    ///
    /// # Panics
    /// If it comes to another number of axes than `rank`.
    #[inline]
    pub(crate) fn pick_from(
        &mut self,
        from: &Self,
        rank: usize,
        pick: impl FnOnce(&mut Picker<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.shape.resize_to_write(rank);
        self.strides.resize_to_write(rank);
        let mut picker = Picker {
            from_shape: &from.shape,
            from_strides: &from.strides,
            from_axis: 0,
            shape: &mut self.shape,
            strides: &mut self.strides,
            axis: 0,
            offset: from.offset,
            is_empty: false,
        };
        pick(&mut picker)?;
        while picker.from_axis < picker.from_shape.len() {
            picker.keep();
        }
        assert_eq!(picker.axis, rank, "another number of axes was picked");
        self.offset = if picker.is_empty { from.offset } else { picker.offset };
        Ok(())
    }
}

/// Builds a layout from ranges and indexes of the axes of another one, from the first axis to the
/// last.
///
/// A position counts only where elements are left; so one that comes with an empty range may be out
/// of range, and steps may be anything where at most one element is taken.
pub(crate) struct Picker<'a> {
    from_shape: &'a [usize],
    from_strides: &'a [isize],
    /// The next axis to be picked from.
    from_axis: usize,
    shape: &'a mut [usize],
    strides: &'a mut [isize],
    /// The next axis to be made.
    axis: usize,
    offset: usize,
    is_empty: bool,
}

impl Picker<'_> {
    /// The next axis to be picked from.
    #[inline]
    pub(crate) fn next_axis(&self) -> usize {
        self.from_axis
    }

    /// The length of the next axis.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn next_len(&self) -> usize {
        self.from_shape[self.from_axis]
    }

    /// `len` entries of the next axis, from `begin` on, each `step` further.
    #[inline]
    pub(crate) fn range(&mut self, begin: isize, step: isize, len: usize) {
        self.push(len, self.from_strides[self.from_axis].wrapping_mul(step));
        self.index(begin);
    }

    /// All entries of the next axis.
    #[inline]
    pub(crate) fn keep(&mut self) {
        self.push(self.next_len(), self.from_strides[self.from_axis]);
        self.from_axis += 1;
    }

    /// One entry of the next axis, which disappears.
    #[inline]
    pub(crate) fn index(&mut self, index: isize) {
        self.offset = self.offset.wrapping_add_signed(index.wrapping_mul(self.from_strides[self.from_axis]));
        self.from_axis += 1;
    }

    /// An axis of length 1 that the other layout does not have.
    #[inline]
    pub(crate) fn new_axis(&mut self) {
        self.push(1, 0);
    }

    #[inline]
    fn push(&mut self, n: usize, stride: isize) {
        self.is_empty |= n == 0;
        (self.shape[self.axis], self.strides[self.axis]) = (n, stride);
        self.axis += 1;
    }
}

/// The offsets of all elements of a layout, in C order.
#[derive(Clone)]
pub(crate) struct Walk {
    shape: Shape,
    strides: Strides,
    /// The coordinate of the next element, and its offset.
    coordinate: Shape,
    offset: usize,
    left: usize,
}

impl Walk {
    pub(crate) fn new(layout: &Layout) -> Self {
        let coordinate = Shape::filled(0, layout.rank());
        let (shape, strides) = (layout.shape.clone(), layout.strides.clone());
        Self { shape, strides, coordinate, offset: layout.offset, left: layout.len() }
    }
}

impl Iterator for Walk {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.offset;
        for (axis, at) in self.coordinate.iter_mut().enumerate().rev() {
            let stride = self.strides[axis].cast_unsigned();
            if *at + 1 < self.shape[axis] {
                *at += 1;
                self.offset = self.offset.wrapping_add(stride);
                break;
            }
            self.offset = self.offset.wrapping_sub(stride.wrapping_mul(*at));
            *at = 0;
        }
        Some(offset)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Walk {}

/// Checks that the number of elements fits in an `isize`, even if axes of length 0 had length 1.
pub(crate) fn check_size(shape: &[usize]) -> Result<(), Error> {
    let size = shape.iter().try_fold(1_usize, |size, &n| size.checked_mul(n.max(1)));
    match size.is_some_and(|size| isize::try_from(size).is_ok()) {
        true => Ok(()),
        false => Err(Error::TooLarge { shape: shape.into() }),
    }
}

/// The layouts with fewer axes where neighbouring ones can be walked as one in each of them, in C
/// order; the shapes are equal. Without axes of length 1, but with one axis at least.
pub(crate) fn coalesce<const N: usize>(layouts: [&Layout; N]) -> [Layout; N] {
    let mut merged = layouts.map(|layout| Layout::reshaped_parts([1].into(), [1].into(), layout.offset));
    for (axis, &n) in layouts[0].shape.iter().enumerate() {
        if n == 1 {
            continue;
        }
        let goes_on = |(one, all): (&Layout, &&Layout)| {
            let (last, stride) = (one.rank() - 1, all.strides[axis]);
            one.shape[last] == 1 || one.strides[last] == stride.wrapping_mul(n.cast_signed())
        };
        let goes_on = merged.iter().zip(&layouts).all(goes_on);
        for (one, all) in merged.iter_mut().zip(&layouts) {
            let last = one.rank() - 1;
            if goes_on {
                one.shape[last] *= n;
                one.strides[last] = all.strides[axis];
            } else {
                one.shape.push(n);
                one.strides.push(all.strides[axis]);
            }
        }
    }
    merged
}

/// The strides of elements that are contiguous; the size was checked.
pub(crate) fn dense_strides(shape: &[usize], order: Order) -> Strides {
    let mut strides = Strides::filled(0, shape.len());
    let mut step = 1_isize;
    let mut visit = |axis: usize| {
        strides[axis] = step;
        step *= shape[axis].max(1).cast_signed();
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut visit),
        Order::F => (0..shape.len()).for_each(&mut visit),
    }
    strides
}
