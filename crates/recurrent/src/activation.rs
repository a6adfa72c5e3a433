//! The functions that a gate may apply, and their derivatives.

/// A function of one number, applied to each unit of a gate, a cell or a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Activation {
    /// x
    Identity,
    /// 1 / (1 + e^-x)
    Sigmoid,
    /// tanh x
    Tanh,
    /// max(x, 0)
    Relu,
}
