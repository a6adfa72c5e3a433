//! From entries to axes: which axis an entry takes, and which of its elements. Every way to write a slice ends here.

use crate::layout::Picker;
use crate::{Error, Layout};

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

/// The elements of an axis that a range picks: `len` of them, `step` apart, from `first` on. Fewer than two have a step of 1.
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
    // Everything fits: what is picked lies in an axis. Where it is at most one element, the step may be any number, but leads nowhere.
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
/// Those of [`check_index_stride`], and [`Error::IndexOutOfBounds`].
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
    /// Where the elements lie that the entries pick.
    #[inline]
    pub(super) fn sliced(&self, entries: &impl Entries) -> Result<Self, Error> {
        let mut picker = Picker::new(self);
        visit_axes(entries, self.rank(), |axis, entry| {
            match entry {
                Entry::NewAxis => picker.new_axis(),
                Entry::Ellipsis => picker.keep(),
                Entry::Index { index: given, stride } => {
                    picker.index(index(axis, picker.next_len(), given, stride)?);
                }
                Entry::Range { begin, end, stride } => {
                    let Picked { first, step, len } = range(axis, picker.next_len(), begin, end, stride)?;
                    picker.range(first, step, len);
                }
            }
            Ok(())
        })?;
        Ok(picker.finish())
    }
}
