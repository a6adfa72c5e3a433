//! What "all paths" and "the best path" have in common.

/// How the scores of the paths to a state become one. Along a path they add up in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Semiring {
    /// The logarithm of the sum of exponentials: all paths count, as with probabilities (k2's `log_semiring=True`).
    Log,
    /// The highest: the best path counts (k2's `log_semiring=False`).
    #[default]
    Tropical,
}
