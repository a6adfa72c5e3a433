//! The semirings: all paths, or the best path.

use kaldera_base::math::log_add;

use crate::support::ids::narrow;

/// Rule by which the scores of the paths to a state become one. Along a path scores are added in
/// both semirings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Semiring {
    /// The logarithm of the sum of exponentials: all paths count, as with probabilities (k2's
    /// `log_semiring=True`).
    Log,
    /// The highest score: the best path counts (k2's `log_semiring=False`).
    #[default]
    Tropical,
}

impl Semiring {
    /// Returns the cost of two paths together; costs are scores with their sign turned.
    #[inline]
    pub(crate) fn add_costs(self, a: f32, b: f32) -> f32 {
        match self {
            Self::Tropical => a.min(b),
            Self::Log => narrow(0.0 - log_add(-f64::from(a), -f64::from(b))),
        }
    }
}
