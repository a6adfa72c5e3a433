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
}
