//! Where scores of paths that are undecided go.

/// Where [`determinize`](crate::k2::determinize()) puts the scores of paths that are still undecided; the score of a whole
/// path is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WeightPushing {
    /// On the arc where they are decided: an arc's score is that of the arcs that it stands for.
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
