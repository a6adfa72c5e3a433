//! What "all paths" and "the best path" have in common.

/// How the scores of the paths to a state become one. Along a path they add up in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Semiring {
    /// The logarithm of the sum of exponentials: all paths count, as with probabilities (k2's
    /// `log_semiring=True`).
    Log,
    /// The highest: the best path counts (k2's `log_semiring=False`).
    #[default]
    Tropical,
}

/// ln(e^a + e^b)
#[inline]
pub(crate) fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
