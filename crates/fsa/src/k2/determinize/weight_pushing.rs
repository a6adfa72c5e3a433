//! Placement of the scores of undecided paths.

/// Placement of the scores of paths that are still undecided in
/// [`determinize`](crate::k2::determinize()). The score of a whole path is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WeightPushing {
    /// On the arc where they are decided: an arc has the score of the arcs that it stands for.
    #[doc(alias = "kNoWeightPushing")]
    No,
    /// As early as possible: an arc has the best of the scores that are undecided after it.
    #[doc(alias = "kTropicalWeightPushing")]
    #[default]
    Tropical,
    /// As early as possible: an arc has the logarithm of the sum of the scores that are undecided
    /// after it.
    #[doc(alias = "kLogWeightPushing")]
    Log,
}
