//! From entries to axes: which axis an entry takes, and which of its elements. Every way to write a slice ends here.

use crate::{Error, Layout, Shape, Strides};

/// What one entry asks of an axis that it takes. TensorFlow's indexes carry a stride, which is checked and not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// In a list of entries: all axes that no other takes. To the visitor of axes: this whole axis.
    Ellipsis,
    NewAxis,
    Index {
        index: i64,
        stride: i64,
    },
    Range {
        begin: Option<i64>,
        end: Option<i64>,
        stride: i64,
    },
}

/// A list of entries, with at most one ellipsis.
pub(super) trait Entries {
    fn len(&self) -> usize;

    fn entry(&self, at: usize) -> Entry;

    /// How many axes the entries take, the ellipsis aside.
    fn taken(&self) -> usize;
}

/// Calls `visit` with each entry and its axis, in the order of the result's axes. A new axis comes with the input's axis behind it.
///
/// # Errors
/// [`Error::TooManyIndices`], [`Error::ScalarInput`], and those of `visit`.
#[inline]
pub(super) fn visit_axes(
    entries: &impl Entries,
    rank: usize,
    mut visit: impl FnMut(usize, Entry) -> Result<(), Error>,
) -> Result<(), Error> {
    let taken = entries.taken();
    let Some(mut free) = rank.checked_sub(taken) else {
        return Err(if rank == 0 { Error::ScalarInput } else { Error::TooManyIndices { rank, found: taken } });
    };
    let mut axis = 0;
    for at in 0..entries.len() {
        match entries.entry(at) {
            Entry::Ellipsis => {
                for _ in 0..std::mem::take(&mut free) {
                    visit(axis, Entry::Ellipsis)?;
                    axis += 1;
                }
            }
            Entry::NewAxis => visit(axis, Entry::NewAxis)?,
            entry => {
                visit(axis, entry)?;
                axis += 1;
            }
        }
    }
    (axis..rank).try_for_each(|axis| visit(axis, Entry::Ellipsis))
}

/// The elements of an axis that an entry picks: `len` of them, `step` apart, from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Picked {
    /// The first element; without meaning where there is none.
    pub(super) first: usize,
    pub(super) step: i64,
    pub(super) len: usize,
}

/// The length of an axis as a signed number. Axes of layouts are never longer than `isize::MAX`.
#[inline]
pub(super) fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Begin and end of a range in an axis of length `n`, counted from the front and cut to what the axis has: to `0..=n` forwards and
/// `-1..=n - 1` backwards. Negative bounds count from the end, once. The step is not 0.
#[inline]
pub(super) fn cut(n: usize, begin: Option<i64>, end: Option<i64>, step: i64) -> (i64, i64) {
    let n = signed(n);
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let (from, to) = if step > 0 { (low, high) } else { (high, low) };
    let cut = |bound: i64| (if bound < 0 { bound + n } else { bound }).clamp(low, high);
    (begin.map_or(from, cut), end.map_or(to, cut))
}

/// What a range that was cut to its axis picks: `ceil((end - begin) / step)` elements, none if that is negative.
#[inline]
pub(super) fn pick(begin: i64, end: i64, step: i64) -> Picked {
    let distance = if step > 0 { end - begin } else { begin - end };
    let len = match (u64::try_from(distance - 1), step.unsigned_abs()) {
        (Err(_), _) => 0,
        (Ok(last), 1) => last + 1,
        (Ok(last), step) => last / step + 1,
    };
    // Where something is picked, begin is an element, and there are no more than the axis has.
    Picked { first: usize::try_from(begin).unwrap_or(0), step, len: usize::try_from(len).unwrap_or(usize::MAX) }
}

/// The range that an entry picks of an axis of length `n`.
///
/// # Errors
/// [`Error::ZeroStride`].
#[inline]
pub(super) fn range(
    axis: usize,
    n: usize,
    begin: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> Result<Picked, Error> {
    if step == 0 {
        return Err(Error::ZeroStride { axis });
    }
    let (begin, end) = cut(n, begin, end, step);
    Ok(pick(begin, end, step))
}

/// Checks the stride of an index, which only TensorFlow has.
///
/// # Errors
/// [`Error::ZeroStride`], [`Error::ShrinkStride`].
#[inline]
pub(super) fn check_index_stride(axis: usize, stride: i64) -> Result<(), Error> {
    match stride {
        0 => Err(Error::ZeroStride { axis }),
        ..0 => Err(Error::ShrinkStride { axis, stride }),
        _ => Ok(()),
    }
}

/// The element that an index picks of an axis of length `n`.
///
/// # Errors
/// Those of [`check_index_stride`], and [`Error::IndexOutOfBounds`].
#[inline]
pub(super) fn index(axis: usize, n: usize, given: i64, stride: i64) -> Result<usize, Error> {
    check_index_stride(axis, stride)?;
    let index = if given < 0 { given + signed(n) } else { given };
    match usize::try_from(index) {
        Ok(index) if index < n => Ok(index),
        _ => Err(Error::IndexOutOfBounds { axis, given, index, size: n }),
    }
}

impl Layout {
    /// The layout of what the entries pick: always of the same elements, no matter how they are picked.
    #[inline]
    pub(super) fn sliced(&self, entries: &impl Entries) -> Result<Self, Error> {
        let (mut shape, mut strides) = (Shape::new(), Strides::new());
        let mut offset = self.offset();
        let mut push = |n: usize, stride: isize| {
            shape.push(n);
            strides.push(stride);
        };
        visit_axes(entries, self.rank(), |axis, entry| {
            match entry {
                Entry::NewAxis => push(1, 0),
                Entry::Ellipsis => push(self.shape()[axis], self.strides()[axis]),
                Entry::Index { index: given, stride } => {
                    let index = index(axis, self.shape()[axis], given, stride)?;
                    offset = self.moved(offset, axis, index);
                }
                Entry::Range { begin, end, stride } => {
                    let picked = range(axis, self.shape()[axis], begin, end, stride)?;
                    offset = self.moved(offset, axis, picked.first);
                    push(picked.len, self.stepped(axis, picked));
                }
            }
            Ok(())
        })?;
        Ok(self.part(shape, strides, offset))
    }

    /// `offset`, moved to element `index` of an axis.
    #[inline]
    pub(super) fn moved(&self, offset: usize, axis: usize, index: usize) -> usize {
        // Wraps only where the layout is empty and offsets mean nothing.
        offset.wrapping_add_signed(self.strides()[axis].wrapping_mul(index.cast_signed()))
    }

    /// The stride of what is picked of an axis.
    #[inline]
    pub(super) fn stepped(&self, axis: usize, picked: Picked) -> isize {
        let stride = self.strides()[axis];
        // Of two elements or more, the step lies within the axis. Of fewer, it may be anything and has no meaning.
        if picked.len > 1 { isize::try_from(picked.step).map_or(stride, |step| stride * step) } else { stride }
    }

    /// A layout of some elements of this one. Where it has none, it begins where this one does.
    #[inline]
    pub(super) fn part(&self, shape: Shape, strides: Strides, offset: usize) -> Self {
        let offset = if shape.contains(&0) { self.offset() } else { offset };
        Self::reshaped_parts(shape, strides, offset)
    }
}
