//! Errors of LoDs, of tensors that have one, and of operations on them.

use ragged_core::RowSplits;

/// Everything that this crate refuses, with the numbers that were wrong.
///
/// Levels count from 0, the coarsest.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Offsets of a level that are empty or do not start with 0.
    #[error("level {level}: offsets must start with 0, but {}", found.map_or("there are none".into(), |x| format!("they start with {x}")))]
    OffsetsStart {
        /// The level.
        level: usize,
        /// The first offset, if there is one.
        found: Option<i64>,
    },
    /// Offsets of a level that fall: a sequence would end before it begins.
    #[error("level {level}: offsets must not fall, but {found} follows {before} at position {position}")]
    OffsetsFall {
        /// The level.
        level: usize,
        /// Position of the lower number.
        position: usize,
        /// The number before it.
        before: i64,
        /// The lower number.
        found: i64,
    },
    /// An offset or a length that is negative or does not fit in 32 bits.
    #[error("level {level}: {found} at position {position} is not in 0..={}", i32::MAX)]
    Number {
        /// The level.
        level: usize,
        /// Position of the number.
        position: usize,
        /// The number; those beyond 64 bits are shown as the highest.
        found: i64,
    },
    /// Levels that do not fit each other: the entries of one level must be the sequences of the
    /// next.
    #[error("level {level} has {found} sequences, but the level above divides {expected}")]
    LevelMismatch {
        /// The lower one of the two levels.
        level: usize,
        /// Number of entries that the level above divides.
        expected: usize,
        /// Number of sequences in this level.
        found: usize,
    },
    /// A LoD that divides more or fewer rows than the tensor has.
    #[error("the LoD divides {expected} rows, but the tensor has {found}")]
    Rows {
        /// The last offset of the last level.
        expected: usize,
        /// Number of rows.
        found: usize,
    },
    /// A level that is not there.
    #[error("there is no level {level}: the LoD has {levels}")]
    NoLevel {
        /// The level that was asked for.
        level: usize,
        /// Number of levels.
        levels: usize,
    },
    /// More or fewer levels than the operation takes.
    #[error("{what} must have {expected} levels, but it has {found}")]
    NumLevels {
        /// The argument with the wrong number of levels, such as "the second LoD".
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A range that is reversed or reaches beyond the end.
    #[error("the range {begin}..{end} is not within the {size} entries of level {level}")]
    Range {
        /// The level that is cut; one more than the last stands for rows.
        level: usize,
        /// First index of the range.
        begin: usize,
        /// End of the range.
        end: usize,
        /// Number of entries.
        size: usize,
    },
    /// A sequence of another length than its counterpart.
    #[error("sequence {sequence} must have {expected} entries, but it has {found}")]
    SequenceLength {
        /// Index of the sequence.
        sequence: usize,
        /// The right length.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// Rows whose shape differs from the other rows: all axes after the first must be equal.
    #[error("rows must have the shape of those of {expected:?}, but there are those of {found:?}")]
    RowShape {
        /// A shape with the right axes after the first.
        expected: Vec<usize>,
        /// The shape found.
        found: Vec<usize>,
    },
    /// Rows of different widths, which are no tensor.
    #[error(
        "all rows must have the same width: row {row} of sequence {sequence} has {found} values, the first row has {expected}"
    )]
    RowWidth {
        /// The sequence of the row that differs.
        sequence: usize,
        /// The row, counted from the begin of its sequence.
        row: usize,
        /// The width of the first row.
        expected: usize,
        /// The width of this row.
        found: usize,
    },
    /// Counts that must be equal.
    #[error("{what} must be {expected}, but it is {found}")]
    Size {
        /// The wrong size, such as "the number of rows".
        what: &'static str,
        /// The right size.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A size that does not fit in indexes of 32 bits.
    #[error("{what} would be {size}, but at most {} fit; split the work in parts", i32::MAX)]
    TooLarge {
        /// The size that is too large, such as "the number of rows".
        what: &'static str,
        /// The size it would have.
        size: u64,
    },
    /// A scalar, which has no rows that a LoD could divide.
    #[error("a tensor without axes has no rows that a LoD could divide")]
    Scalar,
    /// Nothing where at least one is needed.
    #[error("at least one {what} is needed")]
    Nothing {
        /// The item of which at least one is needed, such as "part".
        what: &'static str,
    },
    /// A part of a sequence that is not there.
    #[error("sequence {sequence} has {size} rows, but {length} from {offset} on are wanted")]
    Part {
        /// The sequence.
        sequence: usize,
        /// The first row, counted from the begin of the sequence.
        offset: i64,
        /// Number of rows requested.
        length: i64,
        /// Number of rows in the sequence.
        size: usize,
    },
    /// A padded length that is shorter than a sequence.
    #[error("a padded length of {found} is shorter than the longest sequence, which has {longest} rows")]
    PaddedLength {
        /// The padded length.
        found: usize,
        /// The length of the longest sequence.
        longest: usize,
    },
    /// A sequence whose values cannot be divided into rows of the given width.
    #[error("the {values} values of sequence {sequence} make no whole number of rows of {width}")]
    NotDivisible {
        /// The sequence.
        sequence: usize,
        /// Number of values.
        values: usize,
        /// Number of values in a row.
        width: usize,
    },
    /// An id that names nothing.
    #[error("id {found} at position {position} is not in 0..{size}")]
    Id {
        /// Position of the id.
        position: usize,
        /// The id.
        found: i64,
        /// Number of elements.
        size: usize,
    },
    /// Another LoD than the one that is needed.
    #[error("the levels must be {expected:?}, but they are {found:?}")]
    OtherLod {
        /// The right levels.
        expected: Vec<RowSplits>,
        /// The levels found.
        found: Vec<RowSplits>,
    },
    /// A tensor with more or fewer axes than the operation takes.
    #[error("a tensor of {expected} axes is needed, but there are {found}")]
    Axes {
        /// The right number, or the least.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// Sizes of the steps of a packed batch that rise, or one that is 0.
    #[error("step {step} cannot have {found} sequences: there must be at least one, and at most {before}")]
    BatchSizes {
        /// The step.
        step: usize,
        /// Number of sequences before.
        before: usize,
        /// Number of sequences now.
        found: usize,
    },
    /// An order of sequences that names one twice, or one that is not there.
    #[error("the order of {size} sequences is wrong at position {position}: {found} is repeated or out of range")]
    Permutation {
        /// Position of the number.
        position: usize,
        /// The number.
        found: i32,
        /// Number of sequences.
        size: usize,
    },
    /// Bytes that end too early.
    #[error("{what} should be {expected} bytes, but after {found} nothing follows")]
    Truncated {
        /// The part of the data that ends too early, such as "the values".
        what: &'static str,
        /// Number of bytes announced.
        expected: u64,
        /// Number of bytes found.
        found: u64,
    },
    /// An unknown version of Paddle's format.
    #[error("version {found} of {what} is unknown; only 0 is known")]
    Version {
        /// The part that has the version: the LoD or the tensor.
        what: &'static str,
        /// The version.
        found: u32,
    },
    /// A level whose bytes are not a whole number of offsets.
    #[error("level {level} has {found} bytes, which are no whole number of offsets of 8")]
    LevelBytes {
        /// The level.
        level: usize,
        /// Number of bytes announced.
        found: u64,
    },
    /// A tensor description that is not a protobuf message with a data type.
    #[error("the description of the tensor is damaged at byte {position}")]
    Description {
        /// Position of the damage; the length of the description, if only the data type is
        /// missing.
        position: usize,
    },
    /// Values of another type.
    #[error("the values should be of type {expected}, but theirs has the number {found}")]
    DataType {
        /// The type that was asked for.
        expected: &'static str,
        /// Paddle's number of the type that is there.
        found: u64,
    },
    /// A negative length of an axis.
    #[error("the length {found} of axis {axis} is negative")]
    Dim {
        /// The axis.
        axis: usize,
        /// Its length.
        found: i64,
    },
    /// Reading or writing failed.
    #[error("{message}")]
    Io {
        /// The kind of failure.
        kind: std::io::ErrorKind,
        /// The message of the operating system.
        message: String,
    },
    /// An error of `ragged-core`.
    #[error(transparent)]
    Ragged(#[from] ragged_core::Error),
    /// An error of `tensor-strided`.
    #[error(transparent)]
    Tensor(#[from] tensor_strided::Error),
}

impl Error {
    /// Returns an error unless `found` is `expected`.
    pub(crate) fn check_size(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self::Size { what, expected, found }) }
    }
}
