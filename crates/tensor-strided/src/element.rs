//! The element types of a tensor.

/// Anything that can be copied bit by bit and sent to other threads: all numbers, `bool`, arrays
/// and structs of them.
///
/// Implemented for every such type; there is nothing to do.
pub trait Element: Copy + Send + Sync + 'static {}

impl<T: Copy + Send + Sync + 'static> Element for T {}
