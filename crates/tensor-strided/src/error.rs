//! Errors of layouts and of operations on tensors.

use crate::slice::ParseError;

/// Everything that this crate refuses, with the numbers that were wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More elements than memory has addresses, for elements of any size.
    #[error("a tensor of shape {shape:?} has more elements than can be counted")]
    TooLarge {
        /// The shape; axes of length 0 do not make it smaller.
        shape: Vec<usize>,
    },
    /// Strides that lead before the buffer, or further than addresses go.
    #[error("shape {shape:?} with strides {strides:?} from offset {offset} leaves the range of addresses")]
    OutOfRange {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
        /// Position of the first element, in elements.
        offset: usize,
    },
    /// A layout that needs more elements than there are.
    #[error("the layout needs {expected} elements, but there are {found}")]
    BufferTooSmall {
        /// Number of elements that the layout needs.
        expected: usize,
        /// Number of elements in the buffer.
        found: usize,
    },
    /// Lists that must have the same number of axes.
    #[error("{what}: {expected} axes are needed, but there are {found}")]
    Rank {
        /// The list of the wrong length, such as "the strides".
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A layout for writing in which two coordinates could be the same element.
    #[error(
        "shape {shape:?} with strides {strides:?} may lead to the same element twice, so it cannot be written through"
    )]
    Overlap {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
    },
    /// An axis to be removed that does not have exactly one entry.
    #[error("axis {axis} has {len} entries; only an axis of one can be left out")]
    NotOne {
        /// The axis, counted from 0.
        axis: usize,
        /// Its length.
        len: usize,
    },
    /// A range that is reversed or reaches beyond the end of an axis.
    #[error("the range {begin}..{end} is not within the {len} entries of axis {axis}")]
    Range {
        /// The axis, counted from 0.
        axis: usize,
        /// First index of the range.
        begin: usize,
        /// End of the range.
        end: usize,
        /// The length of the axis.
        len: usize,
    },
    /// An index beyond the end of an axis.
    #[error("index {index} is out of range: axis {axis} has {len} entries")]
    Index {
        /// The axis, counted from 0.
        axis: usize,
        /// The index.
        index: usize,
        /// The length of the axis.
        len: usize,
    },
    /// A number that must not be 0, such as the hop of windows.
    #[error("{what} must not be 0")]
    Zero {
        /// The name of the number that must not be 0.
        what: &'static str,
    },
    /// A shape that cannot be repeated to become another one.
    #[error("shape {from:?} cannot be broadcast to {to:?}")]
    Broadcast {
        /// The shape.
        from: Vec<usize>,
        /// The requested shape.
        to: Vec<usize>,
    },
    /// A shape with another number of elements, or with more than one length left open.
    #[error("{len} elements cannot have the shape {}", to.iter().map(|n| n.map_or("?".into(), |n| n.to_string())).collect::<Vec<_>>().join(", "))]
    Reshape {
        /// Number of elements.
        len: usize,
        /// The requested shape; a length left open is `None`.
        to: Vec<Option<usize>>,
    },
    /// A shape with a negative length other than -1, which stands for "whatever is left".
    #[error("the length {found} of axis {axis} is negative")]
    NegativeLength {
        /// The axis, counted from 0.
        axis: usize,
        /// The length.
        found: i64,
    },
    /// A coordinate that is out of range.
    #[error("coordinate {found} of axis {axis} at position {position} is out of range: the axis has {len} entries")]
    Coordinate {
        /// Index of the coordinate in the given list (0 if there is only one).
        position: usize,
        /// The axis, counted from 0.
        axis: usize,
        /// The coordinate.
        found: i64,
        /// The length of the axis.
        len: usize,
    },
    /// An offset that is out of range.
    #[error("offset {found} at position {position} is out of range: there are {len} elements")]
    Offset {
        /// Index of the offset in the given list (0 if there is only one).
        position: usize,
        /// The offset.
        found: i64,
        /// The number of elements.
        len: usize,
    },
    /// A sequence that never arrives, or one with more numbers than can be counted.
    #[error("no sequence of numbers goes from {start} to {stop} in steps of {step}")]
    Sequence {
        /// The requested start.
        start: String,
        /// The requested stop.
        stop: String,
        /// The requested step.
        step: String,
    },
    /// Nothing where at least one tensor is needed.
    #[error("at least one tensor is needed")]
    NoTensors,
    /// Shapes that must be equal.
    #[error("{what} must have the shape {expected:?}, but it has {found:?}")]
    ShapeMismatch {
        /// The tensor of the wrong shape, such as "the output".
        what: &'static str,
        /// The right shape.
        expected: Vec<usize>,
        /// The shape found.
        found: Vec<usize>,
    },
    /// Begin, end and strides of a slice that differ in length or have more entries than masks have
    /// bits.
    #[error(
        "begin, end and strides need the same number of entries, 31 at most, but they have {begin}, {end} and {strides}"
    )]
    SpecLengths {
        /// The length of `begin`.
        begin: usize,
        /// The length of `end`.
        end: usize,
        /// The length of `strides`.
        strides: usize,
    },
    /// A second ellipsis: the axes of each would be ambiguous.
    #[error("an index can have one ellipsis only")]
    MultipleEllipses,
    /// An index or a range of a tensor that has no axes.
    #[error("a scalar has no axis that an index or a range could take")]
    ScalarInput,
    /// More indexes and ranges than the tensor has axes.
    #[error("{found} axes are indexed, but there are only {rank}")]
    TooManyIndices {
        /// The number of axes of the input.
        rank: usize,
        /// Number of axes that the entries take.
        found: usize,
    },
    /// A step of 0, which leads nowhere.
    #[error("the stride of axis {axis} must not be 0")]
    ZeroStride {
        /// The axis of the input.
        axis: usize,
    },
    /// A single element with a negative stride, which TensorFlow refuses.
    #[error("axis {axis} is to be one element, which has no direction, but the stride is {stride}")]
    ShrinkStride {
        /// The axis of the input.
        axis: usize,
        /// The stride.
        stride: i64,
    },
    /// An index of an element that is not there.
    #[error("index {given} of axis {axis} is out of bounds: it has {size} elements")]
    IndexOutOfBounds {
        /// The axis of the input.
        axis: usize,
        /// The index as it was given.
        given: i64,
        /// The index counted from the front, as TensorFlow reports it: of a negative one, plus the
        /// length of the axis.
        index: i64,
        /// The length of the axis.
        size: usize,
    },
    /// A gradient whose shape is not the shape of the slice.
    #[error("the gradient must have the shape {expected:?} of the slice, but it has {found:?}")]
    GradientShape {
        /// The shape of the slice.
        expected: Vec<usize>,
        /// The shape of the gradient.
        found: Vec<usize>,
    },
    /// A value that cannot be broadcast to the shape of the slice that it is assigned to.
    #[error("a value of shape {value:?} cannot be assigned to a slice of shape {slice:?}")]
    ValueShape {
        /// The shape of the value.
        value: Vec<usize>,
        /// The shape of the slice.
        slice: Vec<usize>,
    },
    /// Inputs of ONNX's Slice that differ in length.
    #[error("starts, ends, axes and steps need the same length, but they have {starts}, {ends}, {axes} and {steps}")]
    OnnxLengths {
        /// The number of starts.
        starts: usize,
        /// The number of ends.
        ends: usize,
        /// The number of axes; the number of starts if axes were left out.
        axes: usize,
        /// The number of steps; the number of starts if steps were left out.
        steps: usize,
    },
    /// An axis that the tensor does not have.
    #[error("axis {axis} is out of range: there are {rank}")]
    Axis {
        /// The axis as it was given; negative counts from the end.
        axis: i64,
        /// The number of axes.
        rank: usize,
    },
    /// An axis that is named twice where once is possible.
    #[error("axis {axis} is named twice")]
    RepeatedAxis {
        /// The axis, counted from the front.
        axis: usize,
    },
    /// Rows of different lengths, which are no tensor.
    #[error("all rows must have the same length: row {row} has {found} elements, row 0 has {expected}")]
    Uneven {
        /// The first row that differs from row 0.
        row: usize,
        /// The length of row 0.
        expected: usize,
        /// The length of this row.
        found: usize,
    },
    /// A text that is not an index.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl Error {
    /// [`Error::ShapeMismatch`] of these.
    #[cold]
    pub(crate) fn shape_mismatch(what: &'static str, expected: &[usize], found: &[usize]) -> Self {
        Self::ShapeMismatch { what, expected: expected.into(), found: found.into() }
    }
}
