//! What can be wrong with a layout or with what is asked of a tensor.

use crate::{Shape, Strides};

/// Everything that this crate refuses, with the numbers that were wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More elements than memory has addresses, whatever is in them.
    #[error("a tensor of shape {shape} has more elements than can be counted")]
    TooLarge {
        /// The shape; axes of length 0 do not make it smaller.
        shape: Shape,
    },
    /// Strides that lead before the buffer, or further than addresses go.
    #[error("shape {shape} with strides {strides} from offset {offset} leaves the range of addresses")]
    OutOfRange {
        /// The shape.
        shape: Shape,
        /// The strides, in elements.
        strides: Strides,
        /// Where the first element would be, in elements.
        offset: usize,
    },
    /// A layout that needs more elements than there are.
    #[error("the layout needs {expected} elements, but there are {found}")]
    BufferTooSmall {
        /// How many elements it needs.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Lists that must have the same number of axes.
    #[error("{what}: {expected} axes are needed, but there are {found}")]
    Rank {
        /// What has the wrong number, such as "the strides".
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A layout for writing in which two places could be the same element.
    #[error("shape {shape} with strides {strides} may lead to the same element twice, so it cannot be written through")]
    Overlap {
        /// The shape.
        shape: Shape,
        /// The strides, in elements.
        strides: Strides,
    },
    /// Shapes that must be equal.
    #[error("{what} must have the shape {expected}, but it has {found}")]
    ShapeMismatch {
        /// What has the wrong shape, such as "the output".
        what: &'static str,
        /// The right shape.
        expected: Shape,
        /// The shape found.
        found: Shape,
    },
    /// Begin, end and strides of a slice that differ in length or have more entries than masks have bits.
    #[error("begin, end and strides need the same number of entries, 31 at most, but they have {begin}, {end} and {strides}")]
    SpecLengths {
        /// The length of `begin`.
        begin: usize,
        /// The length of `end`.
        end: usize,
        /// The length of `strides`.
        strides: usize,
    },
    /// A second ellipsis, whose share of the axes nobody could tell.
    #[error("an index can have one ellipsis only")]
    MultipleEllipses,
    /// An index or a range of a tensor that has no axes.
    #[error("a scalar has no axis that an index or a range could take")]
    ScalarInput,
    /// More indexes and ranges than the tensor has axes.
    #[error("{found} axes are indexed, but there are only {rank}")]
    TooManyIndices {
        /// The number of axes that there are.
        rank: usize,
        /// How many the entries take.
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
        /// The index counted from the front, as TensorFlow reports it: of a negative one, plus the length of the axis.
        index: i64,
        /// The length of the axis.
        size: usize,
    },
    /// A gradient of another shape than what it is the gradient of.
    #[error("the gradient must have the shape {expected} of the slice, but it has {found}")]
    GradientShape {
        /// The shape of the slice.
        expected: Shape,
        /// The shape of the gradient.
        found: Shape,
    },
    /// A value that cannot be repeated to the shape of what it is assigned to.
    #[error("a value of shape {value} cannot be assigned to a slice of shape {slice}")]
    ValueShape {
        /// The shape of the value.
        value: Shape,
        /// The shape of the slice.
        slice: Shape,
    },
    /// Inputs of ONNX's Slice that differ in length.
    #[error("starts, ends, axes and steps need the same length, but they have {starts}, {ends}, {axes} and {steps}")]
    OnnxLengths {
        /// The number of starts.
        starts: usize,
        /// The number of ends.
        ends: usize,
        /// The number of axes; that of starts where they were left out.
        axes: usize,
        /// The number of steps; that of starts where they were left out.
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
    /// A text that is not an index.
    #[error(transparent)]
    Parse(#[from] crate::ParseError),
}
