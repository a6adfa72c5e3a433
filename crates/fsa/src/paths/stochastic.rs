//! Scores of the arcs that leave a state as logarithms of probabilities.

use ragged_core::{Ragged, RaggedShape};

use crate::core::fsa::{FsaVec, Fsas};
use crate::error::{Error, Quantity};

/// Returns the FSAs with scores whose exponentials add up to 1 over the arcs of each state: x - ln
/// Σ e^x. O(states + arcs).
///
/// ```
/// use fsa::paths::set_scores_stochastic;
/// use fsa::{Arc, Fsa};
///
/// let fsa = Fsa::from_arcs(2, vec![Arc::new(0, 1, -1, 2.0), Arc::new(0, 1, -1, 2.0)])?;
/// assert_eq!(set_scores_stochastic(&fsa)?.scores(), [0.5_f32.ln(); 2]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// None for valid FSAs.
#[doc(alias = "set_scores_stochastic_")]
pub fn set_scores_stochastic<F: Fsas>(fsas: &F) -> Result<F, Error> {
    let vec = fsas.as_fsa_vec();
    let scores = by_state(vec, vec.scores())?.normalize_log();
    // If all scores are -inf, no sum of 1 is possible.
    let scores: Vec<_> = scores.values().iter().map(|&x| if x.is_nan() { f32::NEG_INFINITY } else { x }).collect();
    Ok(fsas.same_kind(vec.with_scores(&scores)?))
}

/// Returns the gradient of [`set_scores_stochastic`] with respect to the scores before it.
/// `stochastic` is its result, `out_grad` has an entry for each arc: g - e^y Σ g. O(states + arcs).
///
/// # Errors
/// [`Error::Size`] if `out_grad` does not have one entry for each arc.
pub fn set_scores_stochastic_backward<F: Fsas>(stochastic: &F, out_grad: &[f32]) -> Result<Vec<f32>, Error> {
    let vec = stochastic.as_fsa_vec();
    Error::same_size(Quantity::OutputGradients, vec.num_arcs(), out_grad.len())?;
    Ok(by_state(vec, vec.scores())?.normalize_log_grad(out_grad)?.values().to_vec())
}

/// Returns `values` of arcs with the axes `[state][arc]`, over all FSAs.
fn by_state(vec: &FsaVec, values: Vec<f32>) -> Result<Ragged<f32>, Error> {
    Ok(Ragged::new(RaggedShape::new([vec.shape().row_splits(2).clone()])?, values)?)
}
