//! From entries to axes: which axis an entry takes, and which of its elements. Every way to write a
//! slice ends here.

use crate::error::Error;
use crate::layout::Layout;

/// The request of one entry to the axis that it takes. TensorFlow's indexes carry a stride, which
/// is checked and not used.
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

/// The effect of entries on the number of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    /// Axes of the input that they take, the ellipsis aside.
    pub(super) taken: usize,
    /// New axes.
    pub(super) new: usize,
    /// Axes of the input that they take and that are gone.
    pub(super) dropped: usize,
}

/// A list of entries, with at most one ellipsis.
pub(super) trait Entries {
    fn len(&self) -> usize;

    fn entry(&self, at: usize) -> Entry;

    fn counts(&self) -> Counts;

    /// Number of axes of the input that are left for the ellipsis.
    ///
    /// # Errors
    /// [`Error::TooManyIndices`], [`Error::ScalarInput`].
    #[inline]
    fn free(&self, rank: usize) -> Result<usize, Error> {
        let found = self.counts().taken;
        match rank.checked_sub(found) {
            Some(free) => Ok(free),
            None if rank == 0 => Err(Error::ScalarInput),
            None => Err(Error::TooManyIndices { rank, found }),
        }
    }
}

/// Calls `visit` with each entry and its axis, in the order of the result's axes; for the ellipsis,
/// once with each axis of it. A new axis comes with the axis of the input behind it.
///
/// # Errors
/// The errors of [`Entries::free`] and of `visit`.
pub(super) fn visit_axes(
    entries: &impl Entries,
    rank: usize,
    mut visit: impl FnMut(usize, Entry) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut free = entries.free(rank)?;
    let mut axis = 0;
    for at in 0..=entries.len() {
        // One is implied at the end. Behind another one, nothing is left for it.
        let entry = if at < entries.len() { entries.entry(at) } else { Entry::Ellipsis };
        let times = if entry == Entry::Ellipsis { std::mem::take(&mut free) } else { 1 };
        for _ in 0..times {
            visit(axis, entry)?;
            axis += usize::from(entry != Entry::NewAxis);
        }
    }
    Ok(())
}

/// The elements of an axis that a range picks: `len` of them, `step` apart, from `first` on. Fewer
/// than two have a step of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Picked {
    pub(super) first: isize,
    pub(super) step: isize,
    pub(super) len: usize,
}

/// The length of an axis as a signed number. Axes of layouts are never longer than `isize::MAX`.
#[inline]
pub(super) fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Begin and end of a range in an axis of length `n`, counted from the front and cut to the axis:
/// to `0..=n` forwards and `-1..=n - 1` backwards. Negative bounds count from the end, once. The
/// step is not 0.
#[inline]
pub(super) fn cut(n: usize, begin: Option<i64>, end: Option<i64>, step: i64) -> (i64, i64) {
    let n = signed(n);
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let (from, to) = if step > 0 { (low, high) } else { (high, low) };
    let cut = |bound: i64| (if bound < 0 { bound + n } else { bound }).clamp(low, high);
    (begin.map_or(from, cut), end.map_or(to, cut))
}

/// The elements picked by a range that was cut to its axis: `ceil((end - begin) / step)`
/// elements, none if that is negative.
#[inline]
pub(super) fn pick(begin: i64, end: i64, step: i64) -> Picked {
    let distance = if step > 0 { end - begin } else { begin - end };
    let len = match (u64::try_from(distance - 1), step.unsigned_abs()) {
        (Err(_), _) => 0,
        (Ok(last), 1) => last + 1,
        (Ok(last), step) => last / step + 1,
    };
    // Everything fits, because the picked elements lie in an axis. If there is at most one
    // element, the step may be any number, but is not used.
    let narrow = |number: i64| isize::try_from(number).unwrap_or(isize::MAX);
    Picked {
        first: narrow(begin),
        step: if len > 1 { narrow(step) } else { 1 },
        len: usize::try_from(len).unwrap_or(usize::MAX),
    }
}

/// The range that an entry picks of an axis of length `n`.
///
/// # Errors
/// [`Error::ZeroStride`].
#[inline]
pub(super) fn range(axis: usize, n: usize, begin: Option<i64>, end: Option<i64>, step: i64) -> Result<Picked, Error> {
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

/// The element that an index picks of an axis of length `n`, counted from the front.
///
/// # Errors
/// The errors of [`check_index_stride`], and [`Error::IndexOutOfBounds`].
#[inline]
pub(super) fn index(axis: usize, n: usize, given: i64, stride: i64) -> Result<isize, Error> {
    check_index_stride(axis, stride)?;
    let index = if given < 0 { given + signed(n) } else { given };
    match isize::try_from(index) {
        Ok(found) if (0..signed(n)).contains(&index) => Ok(found),
        _ => Err(Error::IndexOutOfBounds { axis, given, index, size: n }),
    }
}

impl Layout {
    /// Makes this the layout of the elements that the entries pick from another layout.
    ///
    /// It does the same as [`visit_axes`], written out, because making a view takes only
    /// nanoseconds.
    ///
    /// # Errors
    /// The errors of [`Entries::free`], [`index`] and [`range`]; the layout has no meaning then.
    #[inline]
    pub(super) fn slice_from(&mut self, from: &Self, entries: &impl Entries) -> Result<(), Error> {
        let mut free = entries.free(from.rank())?;
        let counts = entries.counts();
        self.pick_from(from, from.rank() - counts.dropped + counts.new, |picker| {
            for at in 0..entries.len() {
                match entries.entry(at) {
                    Entry::Ellipsis => (0..std::mem::take(&mut free)).for_each(|_| picker.keep()),
                    Entry::NewAxis => picker.new_axis(),
                    Entry::Index { index: given, stride } => {
                        picker.index(index(picker.next_axis(), picker.next_len(), given, stride)?);
                    }
                    Entry::Range { begin, end, stride } => {
                        let Picked { first, step, len } =
                            range(picker.next_axis(), picker.next_len(), begin, end, stride)?;
                        picker.range(first, step, len);
                    }
                }
            }
            Ok(())
        })
    }
}
