//! What can be wrong with a ragged structure or with what is asked of it.

use crate::parse_error::ParseError;

/// Everything that this crate refuses, with the numbers that were wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Row splits that are empty or start with another number than 0.
    #[error("row splits must start with 0, but {}", found.map_or("they are empty".into(), |x| format!("they start with {x}")))]
    SplitsStart {
        /// The first number, if there is one.
        found: Option<i32>,
    },
    /// Row splits that fall: a row would end before it begins.
    #[error("row splits must not fall, but {found} follows {before} at position {position}")]
    SplitsFall {
        /// Where the lower number stands.
        position: usize,
        /// The number before it.
        before: i32,
        /// The lower number.
        found: i32,
    },
    /// Row ids that fall: the elements of a row would not be together.
    #[error("row ids must not fall, but {found} follows {before} at position {position}")]
    RowIdsFall {
        /// Where the lower number stands.
        position: usize,
        /// The number before it.
        before: i32,
        /// The lower number.
        found: i32,
    },
    /// More elements than indexes of 32 bits can tell apart.
    #[error("{what} would be {size}, but at most {} fit; split the work in parts", i32::MAX)]
    TooLarge {
        /// What is too large, such as "the number of elements".
        what: &'static str,
        /// How large it would be.
        size: u64,
    },
    /// Memory that the system does not give.
    #[error("there is no memory for {bytes} bytes")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// No layer, or fewer axes than the operation needs.
    #[error("a shape of {expected} or more axes is needed, but there are {found}")]
    TooFewAxes {
        /// The least number of axes.
        expected: usize,
        /// The number of axes.
        found: usize,
    },
    /// An axis that the shape does not have or that the operation does not take.
    #[error("axis {axis} is out of range: from {min} to {max} is possible here")]
    Axis {
        /// The axis that was given.
        axis: usize,
        /// The first one possible.
        min: usize,
        /// The last one possible.
        max: usize,
    },
    /// Two layers that do not fit: the elements of one must be the rows of the next.
    #[error("axis {axis} has {expected} elements, but the row splits below have {found} rows")]
    LayerMismatch {
        /// The axis between the layers.
        axis: usize,
        /// The number of elements of the upper layer.
        expected: usize,
        /// The number of rows of the lower layer.
        found: usize,
    },
    /// Counts that must be equal.
    #[error("{what} must be {expected}, but it is {found}")]
    Size {
        /// What has the wrong size, such as "the number of values".
        what: &'static str,
        /// The right size.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// An index beyond the end, or a negative one.
    #[error("index {found} at position {position} is out of range: axis {axis} has {size} entries")]
    Index {
        /// The axis that is indexed.
        axis: usize,
        /// Where the index stands among those given (0 if it is the only one).
        position: usize,
        /// The index.
        found: i64,
        /// How many entries the axis has.
        size: usize,
    },
    /// A range that is reversed or reaches beyond the end.
    #[error("the range {begin}..{end} is not within the {size} entries of axis {axis}")]
    Range {
        /// The axis that is cut.
        axis: usize,
        /// Where the range begins.
        begin: usize,
        /// Where it ends.
        end: usize,
        /// How many entries the axis has.
        size: usize,
    },
    /// Indexes below the first axis that would change the order of the rows above.
    #[error(
        "the index at position {position} of axis {axis} goes back to an earlier list; \
         only axis 0 can be put in any order"
    )]
    IndexOrder {
        /// The axis that is indexed.
        axis: usize,
        /// Where the index stands among those given.
        position: usize,
    },
    /// Shapes of one call that must agree and do not.
    #[error("all shapes need the same {what}: shape 0 has {expected}, shape {source_index} has {found}")]
    Disagree {
        /// On what they must agree.
        what: &'static str,
        /// Which shape differs from the first one.
        source_index: usize,
        /// What the first one has.
        expected: usize,
        /// What this one has.
        found: usize,
    },
    /// No shape where at least one is needed.
    #[error("at least one source is needed")]
    NoSources,
    /// A row of another length than its neighbours, where all must be equal.
    #[error(
        "all rows of axis {axis} must have the same length: row {row} has {found} entries, the first has {expected}"
    )]
    NotRegular {
        /// The axis of the elements of the rows.
        axis: usize,
        /// Which row differs.
        row: usize,
        /// The length of the first row.
        expected: usize,
        /// The length of this row.
        found: usize,
    },
    /// A row that cannot shrink as much as asked.
    #[error("row {row} has {len} elements and cannot change by {change}")]
    TooShort {
        /// Which row it is.
        row: usize,
        /// How many elements it has.
        len: usize,
        /// By how many its length was to change.
        change: i32,
    },
    /// A number of a merge map that names a row that does not exist.
    #[error("the merge map is wrong at position {position}: {found} names no row; it must be row * sources + source")]
    MergeMap {
        /// Where the number stands.
        position: usize,
        /// The number.
        found: u32,
    },
    /// A coordinate that lies in no row.
    #[error("coordinate {found} of axis {axis} at position {position} is out of range: that row has {size} entries")]
    Coordinate {
        /// The axis of the coordinate.
        axis: usize,
        /// Which of the given coordinates it belongs to (0 if there is one only).
        position: usize,
        /// The coordinate.
        found: usize,
        /// The length of the row that it indexes.
        size: usize,
    },
    /// A text that is not in k2's notation.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl Error {
    /// `size` as it is stored, or the error that says what is too large.
    #[inline]
    pub(crate) fn fit(what: &'static str, size: usize) -> Result<i32, Self> {
        i32::try_from(size).map_err(|_| Self::TooLarge { what, size: size as u64 })
    }
}
