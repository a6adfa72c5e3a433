//! One entry of an index as Python writes it, and the macro [`ix!`](crate::ix) that makes lists of
//! them.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

use crate::dims::Dims;

/// One entry of an index, with Python's meaning: the text between two commas of `x[..., None,
/// 1:5:2, -1]`.
///
/// Integers and ranges convert into entries; the macro [`ix!`](crate::ix) does so for a whole list,
/// and [`IndexSpec`](crate::IndexSpec) reads them from text.
///
/// | here | in [`ix!`](crate::ix) | in Python | takes | gives |
/// |---|---|---|---|---|
/// | [`Ellipsis`](Self::Ellipsis) | `...` | `...` | the axes left by other entries | those axes |
/// | [`NewAxis`](Self::NewAxis) | `NewAxis` | `None`, `np.newaxis` | no axis | an axis of size 1 |
/// | [`Index`](Self::Index) | `-1` | `-1` | an axis | no axis |
/// | [`Range`](Self::Range) | `1..5`, `1..5;2`, `..` | `1:5`, `1:5:2`, `:` | an axis | an axis |
///
/// ```
/// use tensor_strided::IndexEntry;
///
/// assert_eq!(IndexEntry::from(1..5), IndexEntry::Range { begin: Some(1), end: Some(5), step: 1 });
/// assert_eq!(IndexEntry::stepped(.., -1), IndexEntry::Range { begin: None, end: None, step: -1 });
/// assert_eq!(IndexEntry::stepped(.., -1).to_string(), "::-1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexEntry {
    /// All axes that no other entry takes, which may be none. At most one in an index; without one,
    /// it is implied at the end.
    Ellipsis,
    /// A new axis of size 1.
    NewAxis,
    /// One element of the axis, which is removed. Negative ones count from the end; one outside
    /// of the axis is an error.
    Index(i64),
    /// Every `step`-th element from `begin` on, up to `end` and without it. Nothing in a range is
    /// out of bounds: it is cut to the axis.
    Range {
        /// The first element; negative counts from the end; `None` is the first in the direction of
        /// the step.
        begin: Option<i64>,
        /// The end of the range; negative counts from the end; `None` is beyond the last in the
        /// direction of the step.
        end: Option<i64>,
        /// The distance to the next element; negative goes backwards. 0 is an error when the index
        /// is used.
        step: i64,
    },
}

/// The entry of an index that makes a new axis of size 1, [`IndexEntry::NewAxis`]: `None` or
/// `np.newaxis` in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "newaxis")]
pub struct NewAxis;

impl IndexEntry {
    /// A range with a step: `stepped(1..5, 2)` is Python's `1:5:2`, and `stepped(.., -1)` is
    /// `::-1`.
    ///
    /// The step has Python's meaning. `stepped(1..5, -1)` goes from element 1 *down* to before
    /// element 5, so it is empty; it is not the reversed `1..5`, as it would be with the `s!` of
    /// the crate ndarray.
    #[must_use]
    pub fn stepped(range: impl IndexRange, step: impl IndexInteger) -> Self {
        let (begin, end) = range.bounds();
        Self::Range { begin, end, step: step.to_i64() }
    }
}

/// A whole axis, `:`.
impl Default for IndexEntry {
    fn default() -> Self {
        Self::stepped(.., 1)
    }
}

/// Prints it as Python does: `...`, `None`, `-1`, `1:5:2`.
impl fmt::Display for IndexEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |f: &mut fmt::Formatter<'_>, bound: Option<i64>| bound.map_or(Ok(()), |bound| write!(f, "{bound}"));
        match *self {
            Self::Ellipsis => f.write_str("..."),
            Self::NewAxis => f.write_str("None"),
            Self::Index(index) => write!(f, "{index}"),
            Self::Range { begin, end, step } => {
                bound(f, begin)?;
                f.write_str(":")?;
                bound(f, end)?;
                if step == 1 { Ok(()) } else { write!(f, ":{step}") }
            }
        }
    }
}

impl From<NewAxis> for IndexEntry {
    fn from(_: NewAxis) -> Self {
        Self::NewAxis
    }
}

/// Integers that can be used in an index or a new shape. One beyond `i64` is taken for the
/// nearest `i64`, which is beyond every axis just as well.
pub trait IndexInteger: Copy + sealed::Sealed {
    /// The number, or the nearest one of 64 bits.
    fn to_i64(self) -> i64;
}

impl Dims<i64> {
    /// Converts numbers of any width to 64 bits.
    #[inline]
    pub(super) fn widened(numbers: &[impl IndexInteger]) -> Self {
        let mut wide = Self::filled(0, numbers.len());
        wide.iter_mut().zip(numbers).for_each(|(wide, number)| *wide = number.to_i64());
        wide
    }
}

/// Ranges that can be used in an index: `a..b`, `a..`, `..b` and `..`, of any integers. Python
/// has no `a..=b`.
pub trait IndexRange: sealed::Sealed {
    /// Begin and end, `None` if left out.
    fn bounds(self) -> (Option<i64>, Option<i64>);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl sealed::Sealed for $int {}

        impl IndexInteger for $int {
            #[inline]
            fn to_i64(self) -> i64 {
                // No integer here reaches further down than an i64.
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        }

        impl From<$int> for IndexEntry {
            #[inline]
            fn from(index: $int) -> Self {
                Self::Index(index.to_i64())
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! ranges {
    ($([$($generic:ident)?] $range:ty, $name:ident => $begin:expr, $end:expr;)*) => {$(
        impl$(<$generic: IndexInteger>)? sealed::Sealed for $range {}

        impl$(<$generic: IndexInteger>)? IndexRange for $range {
            #[inline]
            fn bounds(self) -> (Option<i64>, Option<i64>) {
                let $name = self;
                ($begin, $end)
            }
        }

        impl$(<$generic: IndexInteger>)? From<$range> for IndexEntry {
            #[inline]
            fn from(range: $range) -> Self {
                Self::stepped(range, 1)
            }
        }
    )*};
}

ranges! {
    [I] Range<I>, range => Some(range.start.to_i64()), Some(range.end.to_i64());
    [I] RangeFrom<I>, range => Some(range.start.to_i64()), None;
    [I] RangeTo<I>, range => None, Some(range.end.to_i64());
    [] RangeFull, _range => None, None;
}

/// An index as Python writes it, in Rust's clothes: `ix![.., NewAxis, 1..5;2, ..;-1, 3]` is `[:,
/// None, 1:5:2, ::-1, 3]`.
///
/// | entry | Python | |
/// |---|---|---|
/// | `3`, `-1`, `i + 1` | `3`, `-1`, `i + 1` | one element; the axis is gone; outside, an error |
/// | `1..5`, `1..`, `..-1`, `..` | `1:5`, `1:`, `:-1`, `:` | a range, cut to the axis |
/// | `1..5;2`, `..;-1`, `a..b;-s` | `1:5:2`, `::-1`, `a:b:-s` | every second element; backwards |
/// | `...` | `...` | all axes that no other entry takes; without it, at the end |
/// | `NewAxis` | `None` | a new axis of size 1 |
///
/// It makes an array of [`IndexEntry`], on the stack, which
/// [`TensorView::index`](crate::TensorView::index) and its kin take. The macro cannot fail: an
/// invalid index is an error of those methods, not a panic. Steps are Python's: `5..1;-1` is `5,
/// 4, 3, 2`, where the `s!` of the crate ndarray would want `2..6;-1`.
///
/// ```
/// use tensor_strided::{IndexEntry, NewAxis, Tensor, ix};
///
/// let x = Tensor::from_vec([3, 4], (0..12).collect::<Vec<i32>>())?;
/// assert_eq!(x.index(ix![-1, ..;-1])?.to_vec(), [11, 10, 9, 8]);
/// assert_eq!(x.index(ix![..., NewAxis, 1..3])?.shape(), &[3, 1, 2]);
/// assert!(x.index(ix![3]).is_err());
///
/// let hop = 2;
/// assert_eq!(
///     ix![0, .. ; hop],
///     [IndexEntry::Index(0), IndexEntry::Range { begin: None, end: None, step: 2 }]
/// );
/// # Ok::<(), tensor_strided::Error>(())
/// ```
#[macro_export]
macro_rules! ix {
    (@entries [$($done:expr,)*]) => {{
        let entries: [$crate::IndexEntry; _] = [$($done),*];
        entries
    }};
    (@entries [$($done:expr,)*] ... $(, $($rest:tt)*)?) => {
        $crate::ix!(@entries [$($done,)* $crate::IndexEntry::Ellipsis,] $($($rest)*)?)
    };
    (@entries [$($done:expr,)*] $range:expr; $step:expr $(, $($rest:tt)*)?) => {
        $crate::ix!(@entries [$($done,)* $crate::IndexEntry::stepped($range, $step),] $($($rest)*)?)
    };
    (@entries [$($done:expr,)*] $entry:expr $(, $($rest:tt)*)?) => {
        $crate::ix!(@entries [$($done,)* $crate::IndexEntry::from($entry),] $($($rest)*)?)
    };
    ($($entries:tt)*) => {
        $crate::ix!(@entries [] $($entries)*)
    };
}
