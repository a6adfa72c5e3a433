//! TensorFlow's way to write a slice: begin, end, strides and five masks.

use std::fmt;

use crate::dims::{Dims, Shape};
use crate::error::Error;
use crate::slice::entry::{IndexEntry, IndexInteger};
use crate::slice::resolve::{Counts, Entries, Entry, cut, index, pick, range, visit_axes};

/// More entries have no bit in a mask of 32 (TensorFlow takes one less than there are bits).
const MAX_ENTRIES: usize = 31;

/// The five masks of TensorFlow's `strided_slice`. Bit `i` belongs to entry `i`; bits past the
/// last entry are ignored, except a second ellipsis. Any pattern of bits is legal, -1 too.
///
/// ```
/// use tensor_strided::Masks;
///
/// // x[..., newaxis] in TensorFlow.
/// let masks = Masks { ellipsis: 0b01, new_axis: 0b10, ..Masks::default() };
/// # let _ = masks;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Masks {
    /// The range starts at the first element in the direction of its stride; `begin` is ignored.
    #[doc(alias = "begin_mask")]
    pub begin: i32,
    /// The range goes on beyond the last element in the direction of its stride; `end` is
    /// ignored.
    #[doc(alias = "end_mask")]
    pub end: i32,
    /// The entry stands for all axes that no other entry takes. At most one bit, anywhere.
    #[doc(alias = "ellipsis_mask")]
    pub ellipsis: i32,
    /// The entry is a new axis of size 1, unless it is the ellipsis.
    #[doc(alias = "new_axis_mask")]
    pub new_axis: i32,
    /// The entry is the element `begin` of its axis, which is removed, unless the entry is the
    /// ellipsis or a new axis.
    #[doc(alias = "shrink_axis_mask")]
    pub shrink_axis: i32,
}

/// TensorFlow's `strided_slice` as a plan: read and checked once, to be applied to any number of
/// tensors.
///
/// With up to eight entries it allocates nothing, neither when it is made nor when it is applied.
/// The [module](crate::slice) documents the rules.
///
/// ```
/// use tensor_strided::{Masks, StridedSlice, Tensor};
///
/// // x[1, ::-1]
/// let masks = Masks { begin: 0b10, end: 0b10, shrink_axis: 0b01, ..Masks::default() };
/// let slice = StridedSlice::new(&[1, 0], &[0, 0], &[1, -1], masks)?;
///
/// let x = Tensor::from_vec([3, 4], (0..12).collect::<Vec<i32>>())?;
/// assert_eq!(x.strided_slice(&slice)?.to_vec(), [7, 6, 5, 4]);
/// assert_eq!(slice.output_shape([9, 5])?, [5]);
/// # Ok::<(), tensor_strided::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "StridedSliceOp")]
pub struct StridedSlice {
    begin: Dims<i64>,
    end: Dims<i64>,
    strides: Dims<i64>,
    masks: Masks,
    counts: Counts,
}

impl StridedSlice {
    /// Makes a slice with one entry for each position of `begin`, `end` and `strides`. The masks
    /// give the kind of each entry; without masks, all entries are ranges.
    ///
    /// TensorFlow takes numbers of 32 and of 64 bits; here all integers do.
    ///
    /// # Errors
    /// - [`Error::SpecLengths`] if the three differ in length, or have 32 entries or more.
    /// - [`Error::MultipleEllipses`] if the ellipsis mask has more than one bit, even past the
    ///   entries.
    pub fn new<I: IndexInteger>(begin: &[I], end: &[I], strides: &[I], masks: Masks) -> Result<Self, Error> {
        if begin.len() != end.len() || begin.len() != strides.len() || begin.len() > MAX_ENTRIES {
            return Err(Error::SpecLengths { begin: begin.len(), end: end.len(), strides: strides.len() });
        }
        let counts = Counts::new(begin.len(), masks)?;
        Ok(Self {
            begin: Dims::widened(begin),
            end: Dims::widened(end),
            strides: Dims::widened(strides),
            masks,
            counts,
        })
    }

    /// TensorFlow's form of a Python index, as `x[1, ..., None]` in Python becomes an operation
    /// of its graph.
    ///
    /// ```
    /// use tensor_strided::{Masks, StridedSlice, ix};
    ///
    /// let slice = StridedSlice::from_index(ix![1, ..;-2, 3..])?;
    /// assert_eq!(
    ///     (slice.begin(), slice.end(), slice.strides()),
    ///     (&[1, 0, 3][..], &[2, 0, 0][..], &[1, -2, 1][..])
    /// );
    /// assert_eq!(
    ///     slice.masks(),
    ///     Masks { begin: 0b010, end: 0b110, shrink_axis: 0b001, ..Masks::default() }
    /// );
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn from_index(index: impl AsRef<[IndexEntry]>) -> Result<Self, Error> {
        let index = index.as_ref();
        let len = index.len();
        if len > MAX_ENTRIES {
            return Err(Error::SpecLengths { begin: len, end: len, strides: len });
        }
        let mut masks = Masks::default();
        let (mut begin, mut end) = (Dims::filled(0_i64, len), Dims::filled(0_i64, len));
        let mut strides = Dims::filled(1_i64, len);
        for (at, &entry) in index.iter().enumerate() {
            let bit = 1 << at;
            match entry {
                IndexEntry::Ellipsis => masks.ellipsis |= bit,
                IndexEntry::NewAxis => masks.new_axis |= bit,
                IndexEntry::Index(element) => {
                    masks.shrink_axis |= bit;
                    // TensorFlow does not look at the end; its Python writes this.
                    (begin[at], end[at]) = (element, element.saturating_add(1));
                }
                IndexEntry::Range { begin: from, end: to, step } => {
                    masks.begin |= if from.is_none() { bit } else { 0 };
                    masks.end |= if to.is_none() { bit } else { 0 };
                    (begin[at], end[at], strides[at]) = (from.unwrap_or(0), to.unwrap_or(0), step);
                }
            }
        }
        Ok(Self { begin, end, strides, masks, counts: Counts::new(len, masks)? })
    }

    /// The begin of each entry.
    #[must_use]
    pub fn begin(&self) -> &[i64] {
        &self.begin
    }

    /// The end of each entry.
    #[must_use]
    pub fn end(&self) -> &[i64] {
        &self.end
    }

    /// The stride of each entry.
    #[must_use]
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// The masks as they were given.
    #[must_use]
    pub fn masks(&self) -> Masks {
        self.masks
    }

    /// The shape of the result for an input of this shape.
    ///
    /// # Errors
    /// In this order, the first one that applies, as in TensorFlow:
    /// - [`Error::ScalarInput`], [`Error::TooManyIndices`] if more axes are taken than there
    ///   are;
    /// - then axis by axis [`Error::ZeroStride`], [`Error::ShrinkStride`],
    ///   [`Error::IndexOutOfBounds`].
    pub fn output_shape(&self, input: impl AsRef<[usize]>) -> Result<Shape, Error> {
        let input = input.as_ref();
        let mut shape = Shape::new();
        visit_axes(self, input.len(), |axis, entry| {
            match entry {
                Entry::NewAxis => shape.push(1),
                Entry::Ellipsis => shape.push(input[axis]),
                Entry::Index { index: given, stride } => _ = index(axis, input[axis], given, stride)?,
                Entry::Range { begin, end, stride } => {
                    shape.push(range(axis, input[axis], begin, end, stride)?.len);
                }
            }
            Ok(())
        })?;
        Ok(shape)
    }

    /// The effect on each axis of an input of this shape: the table that one would draw by hand.
    ///
    /// ```
    /// use tensor_strided::{Masks, SlicedAxis, StridedSlice};
    ///
    /// let slice = StridedSlice::new(
    ///     &[-3, 1],
    ///     &[99, 0],
    ///     &[2, 1],
    ///     Masks { shrink_axis: 0b10, ..Masks::default() }
    /// )?;
    /// assert_eq!(
    ///     slice.resolve([5, 4])?,
    ///     [
    ///         SlicedAxis::Range { axis: 0, begin: 2, end: 5, stride: 2, len: 2 },
    ///         SlicedAxis::Index { axis: 1, index: 1 }
    ///     ]
    /// );
    /// # Ok::<(), tensor_strided::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`output_shape`](Self::output_shape).
    pub fn resolve(&self, input: impl AsRef<[usize]>) -> Result<Vec<SlicedAxis>, Error> {
        let input = input.as_ref();
        let mut axes = Vec::with_capacity(self.len().max(input.len()));
        visit_axes(self, input.len(), |axis, entry| {
            let (begin, end, stride) = match entry {
                Entry::NewAxis => {
                    axes.push(SlicedAxis::New);
                    return Ok(());
                }
                Entry::Index { index: given, stride } => {
                    let index = index(axis, input[axis], given, stride)?.cast_unsigned();
                    axes.push(SlicedAxis::Index { axis, index });
                    return Ok(());
                }
                Entry::Ellipsis => (None, None, 1),
                Entry::Range { stride: 0, .. } => return Err(Error::ZeroStride { axis }),
                Entry::Range { begin, end, stride } => (begin, end, stride),
            };
            let (begin, end) = cut(input[axis], begin, end, stride);
            axes.push(SlicedAxis::Range { axis, begin, end, stride, len: pick(begin, end, stride).len });
            Ok(())
        })?;
        Ok(axes)
    }
}

impl Counts {
    /// # Errors
    /// [`Error::MultipleEllipses`].
    #[inline]
    fn new(len: usize, masks: Masks) -> Result<Self, Error> {
        if masks.ellipsis.count_ones() > 1 {
            return Err(Error::MultipleEllipses);
        }
        let entries = !(-1_i64 << len);
        let count = |mask: i32| (entries & i64::from(mask)).count_ones().try_into().unwrap_or(MAX_ENTRIES);
        let others = !masks.ellipsis & !masks.new_axis;
        Ok(Self {
            taken: count(others),
            new: count(!masks.ellipsis & masks.new_axis),
            dropped: count(others & masks.shrink_axis),
        })
    }
}

impl Entries for StridedSlice {
    #[inline]
    fn len(&self) -> usize {
        self.begin.len()
    }

    #[inline]
    fn counts(&self) -> Counts {
        self.counts
    }

    #[inline]
    fn entry(&self, at: usize) -> Entry {
        let has = |mask: i32| mask >> at & 1 == 1;
        let stride = self.strides[at];
        if has(self.masks.ellipsis) {
            Entry::Ellipsis
        } else if has(self.masks.new_axis) {
            Entry::NewAxis
        } else if has(self.masks.shrink_axis) {
            Entry::Index { index: self.begin[at], stride }
        } else {
            let bound = |mask, bound| if has(mask) { None } else { Some(bound) };
            Entry::Range {
                begin: bound(self.masks.begin, self.begin[at]),
                end: bound(self.masks.end, self.end[at]),
                stride,
            }
        }
    }
}

/// The effect of a slice on an axis, once the shape is known; see [`StridedSlice::resolve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlicedAxis {
    /// A new axis of size 1.
    New,
    /// One element of an axis of the input, which is thereby gone.
    Index {
        /// The axis of the input.
        axis: usize,
        /// The element, counted from the front.
        index: usize,
    },
    /// Elements of an axis of the input.
    Range {
        /// The axis of the input.
        axis: usize,
        /// The first element, counted from the front and cut to the axis; -1 or the length of the
        /// axis where there is none.
        begin: i64,
        /// The end, counted from the front and cut to the axis; -1 if a range that goes backwards
        /// takes element 0.
        end: i64,
        /// The distance from one to the next.
        stride: i64,
        /// Number of elements.
        len: usize,
    },
}

/// As Python writes it: `[None, 0:2, 2, ...]`. Strides of single elements, which Python has not,
/// are left out.
impl fmt::Display for StridedSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for at in 0..self.len() {
            let entry = match self.entry(at) {
                Entry::Ellipsis => IndexEntry::Ellipsis,
                Entry::NewAxis => IndexEntry::NewAxis,
                Entry::Index { index, .. } => IndexEntry::Index(index),
                Entry::Range { begin, end, stride } => IndexEntry::Range { begin, end, step: stride },
            };
            write!(f, "{}{entry}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}
