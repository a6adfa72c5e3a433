//! Scores of states and of whole FSAs, and their gradients.

use kaldera_base::Real;
use kaldera_base::memory;

use crate::core::each_fsa::{by_arcs, by_states, for_each_with};
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::semiring::Semiring;
use crate::error::{Error, Quantity};
use crate::paths::passes::{
    backward_best, backward_best_grad, backward_log, backward_log_grad, forward_best, forward_best_grad, forward_log,
    forward_log_grad, none,
};

/// Returns the score of all paths (or of the best one) from the start of its FSA to each state;
/// -inf if there is none, 0 at the start.
///
/// The FSAs must be top-sorted and without loops. O(states + arcs), on several threads if there are
/// several FSAs. The scores of arcs are f32, the sums are of the type T.
///
/// ```
/// use fsa::{Arc, Fsa, Semiring};
/// use fsa::paths::forward_scores;
///
/// let fsa = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 1, 7, -1.0), Arc::new(0, 1, 8, -1.0), Arc::new(1, 2, -1, 0.5)]
/// )?;
/// assert_eq!(forward_scores::<f32, _>(&fsa, Semiring::Tropical)?, [0.0, -1.0, -0.5]);
/// let both = forward_scores::<f64, _>(&fsa, Semiring::Log)?[1];
/// assert!((both - (-1.0 + 2_f64.ln())).abs() < 1e-12);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotTopSorted`]; [`Error::Overflow`] if a score is too large for T.
#[doc(alias = "get_forward_scores")]
#[doc(alias = "GetForwardScores")]
pub fn forward_scores<T: Real, F: Fsas>(fsas: &F, semiring: Semiring) -> Result<Vec<T>, Error> {
    Ok(forward(fsas.as_fsa_vec(), semiring)?.0)
}

/// Returns [`forward_scores`], and the data that their gradient needs.
///
/// # Errors
/// As [`forward_scores`].
pub fn forward_scores_saved<T: Real, F: Fsas>(
    fsas: &F,
    semiring: Semiring,
) -> Result<(Vec<T>, ForwardScoresSaved<T>), Error> {
    let fsas = fsas.as_fsa_vec().clone();
    let (scores, last_arcs) = forward::<T>(&fsas, semiring)?;
    Ok((scores.clone(), ForwardScoresSaved { fsas, semiring, scores, last_arcs }))
}

/// Returns the score of all paths (or of the best one) from each state to the final one of its FSA;
/// -inf if there is none, 0 at the final state.
///
/// The FSAs must be top-sorted and without loops. O(states + arcs).
///
/// # Errors
/// As [`forward_scores`].
#[doc(alias = "get_backward_scores")]
#[doc(alias = "GetBackwardScores")]
pub fn backward_scores<T: Real, F: Fsas>(fsas: &F, semiring: Semiring) -> Result<Vec<T>, Error> {
    backward(fsas.as_fsa_vec(), semiring)
}

/// Returns [`backward_scores`], and the data that their gradient needs.
///
/// # Errors
/// As [`forward_scores`].
pub fn backward_scores_saved<T: Real, F: Fsas>(
    fsas: &F,
    semiring: Semiring,
) -> Result<(Vec<T>, BackwardScoresSaved<T>), Error> {
    let fsas = fsas.as_fsa_vec().clone();
    let scores = backward::<T>(&fsas, semiring)?;
    Ok((scores.clone(), BackwardScoresSaved { fsas, semiring, scores }))
}

/// Returns the score of all paths (or of the best one) of each FSA; -inf if there is none.
///
/// They are summed up from the end to the start, so that in the logarithmic semiring the forward
/// score of the final state may differ in its last digit. The FSAs must be top-sorted and without
/// loops. O(states + arcs).
///
/// ```
/// use fsa::{Arc, Fsa, Semiring};
/// use fsa::paths::total_scores_saved;
///
/// let fsa = Fsa::from_arcs(2, vec![Arc::new(0, 1, -1, 1.0), Arc::new(0, 1, -1, 1.0)])?;
/// let (totals, saved) = total_scores_saved::<f64, _>(&fsa, Semiring::Log)?;
/// assert!((totals[0] - (1.0 + 2_f64.ln())).abs() < 1e-12);
/// let grad = saved.backward(&[10.0])?;
/// assert!((grad[0] - 5.0).abs() < 1e-12 && (grad[1] - 5.0).abs() < 1e-12);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// As [`forward_scores`].
#[doc(alias = "get_tot_scores")]
#[doc(alias = "GetTotScores")]
pub fn total_scores<T: Real, F: Fsas>(fsas: &F, semiring: Semiring) -> Result<Vec<T>, Error> {
    let fsas = fsas.as_fsa_vec();
    Ok(at_starts(fsas, &backward(fsas, semiring)?))
}

/// Returns [`total_scores`], and the data that their gradient needs.
///
/// # Errors
/// As [`forward_scores`].
pub fn total_scores_saved<T: Real, F: Fsas>(
    fsas: &F,
    semiring: Semiring,
) -> Result<(Vec<T>, TotalScoresSaved<T>), Error> {
    Ok(match semiring {
        Semiring::Log => {
            let (scores, saved) = backward_scores_saved(fsas, semiring)?;
            (at_starts(&saved.fsas, &scores), TotalScoresSaved(Totals::Log(saved)))
        }
        Semiring::Tropical => {
            let fsas = fsas.as_fsa_vec();
            let (scores, last_arcs) = forward::<T>(fsas, semiring)?;
            (at_ends(fsas, &scores), TotalScoresSaved(Totals::Tropical { fsas: fsas.clone(), last_arcs }))
        }
    })
}

/// Returns scores of states, and in the tropical semiring the last arc of the best path to each,
/// counted within its FSA.
pub(super) fn forward<T: Real>(fsas: &FsaVec, semiring: Semiring) -> Result<(Vec<T>, Vec<i32>), Error> {
    let mut scores = memory::zeros::<T>(fsas.num_states());
    let mut last_arcs = Vec::new();
    match semiring {
        Semiring::Log => {
            for_each_with(fsas, by_states(fsas, &mut scores), forward_log)?;
        }
        Semiring::Tropical => {
            last_arcs = memory::zeros(fsas.num_states());
            let parts = by_states(fsas, &mut scores).into_iter().zip(by_states(fsas, &mut last_arcs)).collect();
            for_each_with(fsas, parts, |i, fsa, (scores, arcs)| forward_best(i, fsa, scores, arcs))?;
        }
    }
    Ok((scores, last_arcs))
}

/// Returns scores of states.
pub(super) fn backward<T: Real>(fsas: &FsaVec, semiring: Semiring) -> Result<Vec<T>, Error> {
    let mut scores = memory::zeros::<T>(fsas.num_states());
    let parts = by_states(fsas, &mut scores);
    match semiring {
        Semiring::Log => for_each_with(fsas, parts, backward_log)?,
        Semiring::Tropical => for_each_with(fsas, parts, backward_best)?,
    };
    Ok(scores)
}

/// Returns the entry of each FSA's start; -inf for FSAs without states.
fn at_starts<T: Real>(fsas: &FsaVec, scores: &[T]) -> Vec<T> {
    fsas.shape().row_splits(1).rows().map(|states| scores[states].first().copied().unwrap_or(none())).collect()
}

/// Returns the entry of each FSA's final state; -inf for FSAs without states.
fn at_ends<T: Real>(fsas: &FsaVec, scores: &[T]) -> Vec<T> {
    fsas.shape().row_splits(1).rows().map(|states| scores[states].last().copied().unwrap_or(none())).collect()
}

/// Data that the gradient of [`forward_scores`] needs.
#[derive(Debug, Clone)]
pub struct ForwardScoresSaved<T> {
    pub(super) fsas: FsaVec,
    pub(super) semiring: Semiring,
    pub(super) scores: Vec<T>,
    /// In the tropical semiring, the last arc of the best path to each state.
    pub(super) last_arcs: Vec<i32>,
}

impl<T: Real> ForwardScoresSaved<T> {
    /// Returns the gradient with respect to the scores of all arcs, given the gradient with respect
    /// to the score of each state. In the tropical semiring the gradient of a state goes to its
    /// best entering arc, the last one if there are several. O(states + arcs).
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one entry for each state.
    pub fn backward(&self, out_grad: &[T]) -> Result<Vec<T>, Error> {
        Error::same_size(Quantity::OutputGradients, self.scores.len(), out_grad.len())?;
        spread(&self.fsas, out_grad.to_vec(), |states, fsa, grads, to| match self.semiring {
            Semiring::Log => forward_log_grad(fsa, &self.scores[states], grads, to),
            Semiring::Tropical => forward_best_grad(fsa, &self.last_arcs[states], grads, to),
        })
    }
}

/// Data that the gradient of [`backward_scores`] needs.
#[derive(Debug, Clone)]
pub struct BackwardScoresSaved<T> {
    pub(super) fsas: FsaVec,
    pub(super) semiring: Semiring,
    pub(super) scores: Vec<T>,
}

impl<T: Real> BackwardScoresSaved<T> {
    /// Returns the gradient with respect to the scores of all arcs, given the gradient with respect
    /// to the score of each state. In the tropical semiring the gradient of a state goes to its
    /// best leaving arc, the last one if there are several. O(states + arcs).
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one entry for each state.
    pub fn backward(&self, out_grad: &[T]) -> Result<Vec<T>, Error> {
        Error::same_size(Quantity::OutputGradients, self.scores.len(), out_grad.len())?;
        self.spread(out_grad.to_vec())
    }

    fn spread(&self, grads: Vec<T>) -> Result<Vec<T>, Error> {
        spread(&self.fsas, grads, |states, fsa, grads, to| match self.semiring {
            Semiring::Log => backward_log_grad(fsa, &self.scores[states], grads, to),
            Semiring::Tropical => backward_best_grad(fsa, &self.scores[states], grads, to),
        })
    }
}

/// Data that the gradient of [`total_scores`] needs.
#[derive(Debug, Clone)]
pub struct TotalScoresSaved<T>(Totals<T>);

#[derive(Debug, Clone)]
enum Totals<T> {
    Log(BackwardScoresSaved<T>),
    Tropical { fsas: FsaVec, last_arcs: Vec<i32> },
}

impl<T: Real> TotalScoresSaved<T> {
    /// Returns the gradient with respect to the scores of all arcs, given the gradient with respect
    /// to the total of each FSA: each arc's share of all paths, or all on the best path.
    /// O(states + arcs).
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one entry for each FSA.
    pub fn backward(&self, out_grad: &[T]) -> Result<Vec<T>, Error> {
        let fsas = match &self.0 {
            Totals::Log(saved) => &saved.fsas,
            Totals::Tropical { fsas, .. } => fsas,
        };
        Error::same_size(Quantity::OutputGradients, fsas.num_fsas(), out_grad.len())?;
        let mut grads = memory::zeros::<T>(fsas.num_states());
        let each = || fsas.shape().row_splits(1).rows().zip(out_grad).filter(|(states, _)| !states.is_empty());
        match &self.0 {
            Totals::Log(saved) => {
                each().for_each(|(states, &grad)| grads[states.start] = grad);
                saved.spread(grads)
            }
            Totals::Tropical { fsas, last_arcs } => {
                each().for_each(|(states, &grad)| grads[states.end - 1] = grad);
                spread(fsas, grads, |states, fsa, grads, to| forward_best_grad(fsa, &last_arcs[states], grads, to))
            }
        }
    }
}

/// Runs a gradient over each FSA: `run` takes the range of its states among the states of all FSAs,
/// the FSA, the gradient of its states, and the slice for the gradient of its arcs.
fn spread<T: Real>(
    fsas: &FsaVec,
    mut grads: Vec<T>,
    run: impl Fn(std::ops::Range<usize>, crate::core::view::FsaView<'_>, &mut [T], &mut [T]) + Sync,
) -> Result<Vec<T>, Error> {
    let mut to = memory::zeros(fsas.num_arcs());
    let parts = by_states(fsas, &mut grads).into_iter().zip(by_arcs(fsas, &mut to)).collect();
    let states = fsas.shape().row_splits(1);
    for_each_with(fsas, parts, |i, fsa, (grads, to): (&mut [T], &mut [T])| {
        run(states.row(i), fsa, grads, to);
        Ok(())
    })?;
    Ok(to)
}
