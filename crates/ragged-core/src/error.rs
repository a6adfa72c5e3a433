//! Errors of this crate.

use crate::parse_error::ParseError;

/// The reasons for which this crate refuses an input, with the bad numbers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Row splits are empty or start with another number than 0.
    #[error("row splits must start with 0, but {}", found.map_or("they are empty".into(), |x| format!("they start with {x}")))]
    SplitsStart {
        /// The first number, if there is one.
        found: Option<i32>,
    },
    /// Row splits fall: a row would end before it begins.
    #[error("row splits must not fall, but {found} follows {before} at position {position}")]
    SplitsFall {
        /// The position of the lower number.
        position: usize,
        /// The number before it.
        before: i32,
        /// The lower number.
        found: i32,
    },
    /// Row ids fall: the elements of a row would not be together.
    #[error("row ids must not fall, but {found} follows {before} at position {position}")]
    RowIdsFall {
        /// The position of the lower number.
        position: usize,
        /// The number before it.
        before: i32,
        /// The lower number.
        found: i32,
    },
    /// There are more elements than 32-bit indexes can count.
    #[error("{what} would be {size}, but at most {} fit; split the work in parts", i32::MAX)]
    TooLarge {
        /// The quantity that is too large, such as "the number of elements".
        what: &'static str,
        /// Its value.
        size: u64,
    },
    /// The system does not give the memory.
    #[error("there is no memory for {bytes} bytes")]
    Memory {
        /// The number of bytes requested.
        bytes: u64,
    },
    /// There is no layer, or there are fewer axes than the operation needs.
    #[error("a shape of {expected} or more axes is needed, but there are {found}")]
    TooFewAxes {
        /// The least number of axes.
        expected: usize,
        /// The number of axes.
        found: usize,
    },
    /// The shape does not have the axis, or the operation does not take it.
    #[error("axis {axis} is out of range: from {min} to {max} is possible here")]
    Axis {
        /// The given axis.
        axis: usize,
        /// The first possible axis.
        min: usize,
        /// The last possible axis.
        max: usize,
    },
    /// Two layers do not fit: the elements of one must be the rows of the next.
    #[error("axis {axis} has {expected} elements, but the row splits below have {found} rows")]
    LayerMismatch {
        /// The axis between the layers.
        axis: usize,
        /// The number of elements of the upper layer.
        expected: usize,
        /// The number of rows of the lower layer.
        found: usize,
    },
    /// Counts that must be equal differ.
    #[error("{what} must be {expected}, but it is {found}")]
    Size {
        /// The quantity with the wrong size, such as "the number of values".
        what: &'static str,
        /// The required size.
        expected: usize,
        /// The actual size.
        found: usize,
    },
    /// An index is beyond the end, or negative.
    #[error("index {found} at position {position} is out of range: axis {axis} has {size} entries")]
    Index {
        /// The axis that is indexed.
        axis: usize,
        /// The position of the index among the given ones (0 if it is the only one).
        position: usize,
        /// The index.
        found: i64,
        /// The number of entries of the axis.
        size: usize,
    },
    /// A range is reversed or reaches beyond the end.
    #[error("the range {begin}..{end} is not within the {size} entries of axis {axis}")]
    Range {
        /// The axis that is cut.
        axis: usize,
        /// The start of the range.
        begin: usize,
        /// The end of the range.
        end: usize,
        /// The number of entries of the axis.
        size: usize,
    },
    /// Indexes below the first axis would change the order of the rows above.
    #[error(
        "the index at position {position} of axis {axis} goes back to an earlier list; \
         only axis 0 can be put in any order"
    )]
    IndexOrder {
        /// The axis that is indexed.
        axis: usize,
        /// The position of the index among the given ones.
        position: usize,
    },
    /// Shapes of one call must agree and do not.
    #[error("all shapes need the same {what}: shape 0 has {expected}, shape {source_index} has {found}")]
    Disagree {
        /// The property on which they must agree.
        what: &'static str,
        /// The index of the shape that differs from the first one.
        source_index: usize,
        /// The value of the first shape.
        expected: usize,
        /// The value of this shape.
        found: usize,
    },
    /// There is no shape, but at least one is needed.
    #[error("at least one source is needed")]
    NoSources,
    /// A row has another length than its neighbours, but all must be equal.
    #[error(
        "all rows of axis {axis} must have the same length: row {row} has {found} entries, the first has {expected}"
    )]
    NotRegular {
        /// The axis of the elements of the rows.
        axis: usize,
        /// The row that differs.
        row: usize,
        /// The length of the first row.
        expected: usize,
        /// The length of this row.
        found: usize,
    },
    /// A row cannot shrink by the given amount.
    #[error("row {row} has {len} elements and cannot change by {change}")]
    TooShort {
        /// The row.
        row: usize,
        /// The number of its elements.
        len: usize,
        /// The requested change of its length.
        change: i32,
    },
    /// A number of a merge map names a row that does not exist.
    #[error("the merge map is wrong at position {position}: {found} names no row; it must be row * sources + source")]
    MergeMap {
        /// The position of the number.
        position: usize,
        /// The number.
        found: u32,
    },
    /// A coordinate is outside its row.
    #[error("coordinate {found} of axis {axis} at position {position} is out of range: that row has {size} entries")]
    Coordinate {
        /// The axis of the coordinate.
        axis: usize,
        /// The position of the entry among the given ones (0 if it is the only one).
        position: usize,
        /// The coordinate.
        found: usize,
        /// The length of the row that it indexes.
        size: usize,
    },
    /// A text is not in k2's notation.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl Error {
    /// Returns `size` as it is stored, or an error that says that `what` is too large.
    #[inline]
    pub(crate) fn fit(what: &'static str, size: usize) -> Result<i32, Self> {
        i32::try_from(size).map_err(|_| Self::TooLarge { what, size: size as u64 })
    }
}
