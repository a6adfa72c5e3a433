//! Other layouts of the same elements: axes moved, reversed, merged, split, repeated, cut.

use std::ops::Range;

use crate::dims::{Dims, Shape, Strides};
use crate::error::Error;
use crate::layout::{Layout, Order, Picker, check_size, dense_strides};
use crate::slice::IndexInteger;

/// The axis that `axis` names among `rank`: negative ones count from the end.
pub(crate) fn resolve_axis(axis: isize, rank: usize) -> Result<usize, Error> {
    let resolved = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { usize::try_from(axis).ok() };
    resolved.filter(|&axis| axis < rank).ok_or_else(|| Error::Axis { axis: axis.to_i64(), rank })
}

/// The common shape to which all these shapes are broadcast: aligned at their last axes, each
/// axis has the length that is not 1.
///
/// ```
/// use tensor_strided::broadcast_shapes;
///
/// assert_eq!(broadcast_shapes([&[5, 1, 3][..], &[4, 1]])?, [5, 4, 3]);
/// assert!(broadcast_shapes([[2], [3]]).is_err());
/// # Ok::<(), tensor_strided::Error>(())
/// ```
///
/// # Errors
/// [`Error::Broadcast`] with the first shape that does not fit those before it;
/// [`Error::TooLarge`].
pub fn broadcast_shapes<S: AsRef<[usize]>>(shapes: impl IntoIterator<Item = S>) -> Result<Shape, Error> {
    let mut all = Shape::new();
    for shape in shapes {
        let shape = shape.as_ref();
        while all.len() < shape.len() {
            all.insert(0, 1);
        }
        let skip = all.len() - shape.len();
        for axis in 0..shape.len() {
            match (all[skip + axis], shape[axis]) {
                (n, m) if n == m || m == 1 => {}
                (1, m) => all[skip + axis] = m,
                _ => return Err(Error::Broadcast { from: shape.into(), to: all.to_vec() }),
            }
        }
    }
    check_size(&all)?;
    Ok(all)
}

impl Layout {
    fn with_axes(&self, axes: impl Iterator<Item = usize> + Clone) -> Self {
        let shape = axes.clone().map(|axis| self.shape()[axis]).collect();
        Self::reshaped_parts(shape, axes.map(|axis| self.strides()[axis]).collect(), self.offset())
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]`.
    ///
    /// ```
    /// use tensor_strided::Layout;
    ///
    /// let image = Layout::contiguous([480, 640, 3])?;
    /// assert_eq!(image.permute([2, 0, 1])?.shape(), [3, 480, 640]);
    /// assert_eq!(image.permute([-1, 0, 1])?.strides(), [1, 1920, 3]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Rank`] if there is not one for each axis, [`Error::Axis`],
    /// [`Error::RepeatedAxis`].
    #[doc(alias = "transpose")]
    #[doc(alias = "permuted_axes")]
    pub fn permute(&self, axes: impl AsRef<[isize]>) -> Result<Self, Error> {
        let (axes, rank) = (axes.as_ref(), self.rank());
        if axes.len() != rank {
            return Err(Error::Rank { what: "the order of axes", expected: rank, found: axes.len() });
        }
        let mut order = Shape::filled(0, rank);
        for (i, &axis) in axes.iter().enumerate() {
            order[i] = resolve_axis(axis, rank)?;
            if order[..i].contains(&order[i]) {
                return Err(Error::RepeatedAxis { axis: order[i] });
            }
        }
        Ok(self.with_axes(order.iter().copied()))
    }

    /// All axes in reverse order.
    #[must_use]
    #[doc(alias = "t")]
    #[doc(alias = "reversed_axes")]
    pub fn transpose(&self) -> Self {
        self.with_axes((0..self.rank()).rev())
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// [`Error::Axis`].
    pub fn swap_axes(&self, a: isize, b: isize) -> Result<Self, Error> {
        let (a, b) = (resolve_axis(a, self.rank())?, resolve_axis(b, self.rank())?);
        let mut layout = self.clone();
        layout.shape_mut().swap(a, b);
        layout.strides_mut().swap(a, b);
        Ok(layout)
    }

    /// One axis backwards.
    ///
    /// # Errors
    /// [`Error::Axis`].
    #[doc(alias = "invert_axis")]
    pub fn flip(&self, axis: isize) -> Result<Self, Error> {
        let axis = resolve_axis(axis, self.rank())?;
        let len = self.shape()[axis];
        Ok(self.pick_axis(axis, self.rank(), |picker| picker.range(len.cast_signed() - 1, -1, len)))
    }

    /// Without the axes of length 1.
    #[must_use]
    pub fn squeeze(&self) -> Self {
        self.with_axes((0..self.rank()).filter(|&axis| self.shape()[axis] != 1))
    }

    /// Without this axis, which must have length 1.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::NotOne`].
    pub fn squeeze_axis(&self, axis: isize) -> Result<Self, Error> {
        let axis = resolve_axis(axis, self.rank())?;
        match self.shape()[axis] {
            1 => Ok(self.with_axes((0..self.rank()).filter(|&other| other != axis))),
            len => Err(Error::NotOne { axis, len }),
        }
    }

    /// With a new axis of length 1, which will be axis `axis`.
    ///
    /// # Errors
    /// [`Error::Axis`].
    #[doc(alias = "expand_dims")]
    #[doc(alias = "unsqueeze")]
    #[doc(alias = "insert_axis")]
    pub fn expand(&self, axis: isize) -> Result<Self, Error> {
        let axis = resolve_axis(axis, self.rank() + 1)?;
        let mut layout = self.clone();
        layout.shape_mut().insert(axis, 1);
        layout.strides_mut().insert(axis, 0);
        Ok(layout)
    }

    /// The diagonals of two axes: both disappear, and a last axis appears that goes along both at
    /// once. A positive `offset` takes the diagonal that starts so much further on axis `b`, a
    /// negative one on axis `a`.
    ///
    /// ```
    /// use tensor_strided::Layout;
    ///
    /// let square = Layout::contiguous([4, 4])?;
    /// let above = square.diagonal(1, 0, 1)?;
    /// assert_eq!(
    ///     (&above.shape()[..], above.offset(), &above.strides()[..]),
    ///     (&[3][..], 1, &[5][..])
    /// );
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::RepeatedAxis`].
    #[doc(alias = "diag")]
    pub fn diagonal(&self, offset: isize, a: isize, b: isize) -> Result<Self, Error> {
        let (a, b) = (resolve_axis(a, self.rank())?, resolve_axis(b, self.rank())?);
        if a == b {
            return Err(Error::RepeatedAxis { axis: a });
        }
        let skip = offset.unsigned_abs();
        let (skip_a, skip_b) = if offset < 0 { (skip, 0) } else { (0, skip) };
        let left = |axis: usize, skip: usize| self.shape()[axis].saturating_sub(skip);
        let len = left(a, skip_a).min(left(b, skip_b));
        let mut layout = self.with_axes((0..self.rank()).filter(|&axis| axis != a && axis != b));
        layout.shape_mut().push(len);
        layout.strides_mut().push(self.strides()[a].wrapping_add(self.strides()[b]));
        if len > 0 && !self.is_empty() {
            let axis = if offset < 0 { a } else { b };
            layout = layout.moved(skip, self.strides()[axis]);
        }
        Ok(layout)
    }

    /// As if repeated to this shape: axes of length 1 become longer with stride 0, new axes appear
    /// in front.
    ///
    /// ```
    /// use tensor_strided::Layout;
    ///
    /// let bias = Layout::contiguous([80])?;
    /// assert_eq!(bias.broadcast_to([100, 80])?.strides(), [0, 1]);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Broadcast`], [`Error::TooLarge`].
    #[doc(alias = "expand")]
    #[doc(alias = "broadcast")]
    pub fn broadcast_to(&self, shape: impl AsRef<[usize]>) -> Result<Self, Error> {
        let to = shape.as_ref();
        let refuse = || Error::Broadcast { from: self.shape().to_vec(), to: to.into() };
        let new = to.len().checked_sub(self.rank()).ok_or_else(refuse)?;
        check_size(to)?;
        let mut strides = Strides::filled(0, to.len());
        for axis in 0..self.rank() {
            match self.shape()[axis] {
                n if n == to[new + axis] => strides[new + axis] = self.strides()[axis],
                1 => {}
                _ => return Err(refuse()),
            }
        }
        Ok(Self::reshaped_parts(to.into(), strides, self.offset()))
    }

    /// Windows along an axis: of `size` entries each, one every `hop` entries, as many as fit. The
    /// axis then counts the windows, and a new last axis the entries of each. Shorter axes than a
    /// window have none.
    ///
    /// ```
    /// use tensor_strided::Layout;
    ///
    /// // One second at 16 kHz in frames of 25 ms every 10 ms.
    /// let frames = Layout::contiguous([16_000])?.windows(0, 400, 160)?;
    /// assert_eq!((&frames.shape()[..], &frames.strides()[..]), (&[98, 400][..], &[160, 1][..]));
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Zero`] for windows of no entries or no hop, [`Error::TooLarge`].
    #[doc(alias = "sliding_window_view")]
    #[doc(alias = "unfold")]
    #[doc(alias = "frame")]
    pub fn windows(&self, axis: isize, size: usize, hop: usize) -> Result<Self, Error> {
        let axis = resolve_axis(axis, self.rank())?;
        if size == 0 || hop == 0 {
            return Err(Error::Zero { what: if size == 0 { "the size of a window" } else { "the hop" } });
        }
        let (len, stride) = (self.shape()[axis], self.strides()[axis]);
        let count = len.checked_sub(size).map_or(0, |rest| rest / hop + 1);
        let mut layout = self.clone();
        layout.shape_mut()[axis] = count;
        layout.strides_mut()[axis] = stride.wrapping_mul(hop.cast_signed());
        layout.shape_mut().push(size);
        layout.strides_mut().push(stride);
        check_size(layout.shape())?;
        Ok(layout)
    }

    /// The entries of a range of one axis.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Range`].
    #[doc(alias = "slice_axis")]
    pub fn narrow(&self, axis: isize, range: Range<usize>) -> Result<Self, Error> {
        let axis = resolve_axis(axis, self.rank())?;
        let len = self.shape()[axis];
        if range.start > range.end || range.end > len {
            return Err(Error::Range { axis, begin: range.start, end: range.end, len });
        }
        Ok(self.pick_axis(axis, self.rank(), |picker| picker.range(range.start.cast_signed(), 1, range.len())))
    }

    /// One entry of an axis, which disappears.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Index`].
    #[doc(alias = "select")]
    pub fn index_axis(&self, axis: isize, index: usize) -> Result<Self, Error> {
        let axis = resolve_axis(axis, self.rank())?;
        match self.shape()[axis] {
            len if index >= len => Err(Error::Index { axis, index, len }),
            _ => Ok(self.pick_axis(axis, self.rank() - 1, |picker| picker.index(index.cast_signed()))),
        }
    }

    /// The layout of `rank` axes in which `pick` decides about one axis.
    fn pick_axis(&self, axis: usize, rank: usize, pick: impl FnOnce(&mut Picker<'_>)) -> Self {
        let mut layout = Self::blank();
        let picked = layout.pick_from(self, rank, |picker| {
            (0..axis).for_each(|_| picker.keep());
            pick(picker);
            Ok(())
        });
        debug_assert!(picked.is_ok());
        layout
    }

    /// The shape that `to` asks for: as many elements, with one length left open as -1.
    pub(crate) fn resolve_shape<L: IndexInteger>(&self, to: &[L]) -> Result<Shape, Error> {
        let len = self.len();
        let mut open = None;
        let mut lengths = Dims::filled(None, to.len());
        let mut opens = 0;
        for (axis, length) in to.iter().enumerate() {
            match length.to_i64() {
                -1 => (open, opens) = (Some(axis), opens + 1),
                found => match usize::try_from(found) {
                    Ok(n) => lengths[axis] = Some(n),
                    Err(_) => return Err(Error::NegativeLength { axis, found }),
                },
            }
        }
        let known = lengths.iter().flatten().try_fold(1_usize, |size, &n| size.checked_mul(n));
        let known = if lengths.contains(&Some(0)) { Some(0) } else { known };
        let rest = match (known, open) {
            (Some(known), None) if known == len => Some(0),
            (Some(known), Some(_)) if opens == 1 && known > 0 && len.is_multiple_of(known) => Some(len / known),
            _ => None,
        };
        match rest {
            Some(rest) => {
                let shape: Shape = lengths.iter().map(|n| n.unwrap_or(rest)).collect();
                check_size(&shape)?;
                Ok(shape)
            }
            None => Err(Error::Reshape { len, to: lengths.to_vec() }),
        }
    }

    /// The same elements in another shape, read and filled in this order; `None` if only a copy
    /// can have it.
    ///
    /// One length may be -1; it is computed from the number of elements. NumPy's rules decide
    /// when no copy is needed: axes whose elements follow each other evenly can be merged and
    /// then split.
    ///
    /// ```
    /// use tensor_strided::{Layout, Order};
    ///
    /// let every_other = Layout::new([4, 6], [12, 2], 0)?;
    /// assert_eq!(every_other.reshape([24], Order::C)?.unwrap().strides(), [2]);
    /// assert_eq!(every_other.reshape([2, -1, 3], Order::C)?.unwrap().strides(), [24, 6, 2]);
    /// assert_eq!(every_other.reshape([24], Order::F)?, None);
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Reshape`] if the number of elements is another one or more than one length is
    /// open, [`Error::NegativeLength`], [`Error::TooLarge`].
    pub fn reshape<L: IndexInteger>(&self, to: impl AsRef<[L]>, order: Order) -> Result<Option<Self>, Error> {
        let shape = self.resolve_shape(to.as_ref())?;
        if self.is_empty() {
            let strides = dense_strides(&shape, order);
            return Ok(Some(Self::reshaped_parts(shape, strides, self.offset())));
        }
        let strides = match order {
            Order::C => regroup(&self.squeeze(), &shape),
            // In Fortran order, all is as in C order with the axes reversed.
            Order::F => {
                let reversed: Shape = shape.iter().rev().copied().collect();
                regroup(&self.squeeze().transpose(), &reversed).map(|strides| strides.iter().rev().copied().collect())
            }
        };
        Ok(strides.map(|strides| Self::reshaped_parts(shape, strides, self.offset())))
    }

    /// The order in which the elements are contiguous: [`Order::F`] if they are contiguous in
    /// Fortran order but not in C order, else [`Order::C`].
    ///
    /// NumPy calls this order `A`.
    #[must_use]
    pub fn natural_order(&self) -> Order {
        if self.is_fortran() && !self.is_contiguous() { Order::F } else { Order::C }
    }
}

/// The strides that elements in C order have in another shape, if they can: `from` has no axes of
/// length 0 or 1, and `to` has as many elements.
fn regroup(from: &Layout, to: &[usize]) -> Option<Strides> {
    let mut strides = Strides::filled(0, to.len());
    // The axes of `from` that are used up, from the last one on.
    let (mut axis, mut step, mut left) = (from.rank(), 1_isize, 1_usize);
    for (i, &n) in to.iter().enumerate().rev() {
        if n == 1 {
            strides[i] = step;
            continue;
        }
        if left == 1 {
            axis -= 1;
            (step, left) = (from.strides()[axis], from.shape()[axis]);
        }
        strides[i] = step;
        // This axis may need the next ones too; they must go on where these elements end.
        let mut wanted = n;
        loop {
            if left.is_multiple_of(wanted) {
                left /= wanted;
                step = step.wrapping_mul(wanted.cast_signed());
                break;
            }
            if !wanted.is_multiple_of(left) {
                // Neither holds the other: the axes must merge to be split elsewhere.
                let next = axis.checked_sub(1)?;
                let goes_on = from.strides()[next] == step.wrapping_mul(left.cast_signed());
                if !goes_on {
                    return None;
                }
                axis = next;
                left *= from.shape()[axis];
                continue;
            }
            wanted /= left;
            step = step.wrapping_mul(left.cast_signed());
            axis = axis.checked_sub(1)?;
            if from.strides()[axis] != step {
                return None;
            }
            left = from.shape()[axis];
        }
    }
    Some(strides)
}
