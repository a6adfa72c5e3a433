//! Posteriors: the share of all paths that goes over each arc.

use kaldera_base::{Real, memory, par};

use crate::core::each_fsa::{by_arcs, for_each_with};
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::{Error, Quantity};
use crate::paths::passes::{none, real};
use crate::paths::prune;
use crate::paths::scores::{BackwardScoresSaved, ForwardScoresSaved, backward, forward};
use crate::support::threads::{share, worth};

/// Returns the logarithm of the share of all paths that goes over each arc; in the tropical
/// semiring, the score of the best path over the arc less the score of the best of all.
///
/// The result is the forward score of the state that the arc leaves, the score of the arc, and the
/// backward score of the state that it enters, less the total. -inf for arcs on no path. The FSAs
/// must be top-sorted and without loops. O(states + arcs).
///
/// ```
/// use fsa::{Arc, Fsa, Semiring};
/// use fsa::paths::arc_posteriors;
///
/// let fsa = Fsa::from_arcs(2, vec![Arc::new(0, 1, -1, 3_f32.ln()), Arc::new(0, 1, -1, 0.0)])?;
/// let shares = arc_posteriors::<f64, _>(&fsa, Semiring::Log)?;
/// assert!((shares[0].exp() - 0.75).abs() < 1e-6 && (shares[1].exp() - 0.25).abs() < 1e-6);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// As [`forward_scores`](crate::paths::forward_scores).
#[doc(alias = "get_arc_post")]
#[doc(alias = "GetArcPost")]
pub fn arc_posteriors<T: Real, F: Fsas>(fsas: &F, semiring: Semiring) -> Result<Vec<T>, Error> {
    let fsas = fsas.as_fsa_vec();
    let (forward, backward) = both(fsas, semiring)?;
    combine(fsas, &forward.0, &backward)
}

/// Returns [`arc_posteriors`], and the data that their gradient needs.
///
/// # Errors
/// As [`forward_scores`](crate::paths::forward_scores).
pub fn arc_posteriors_saved<T: Real, F: Fsas>(
    fsas: &F,
    semiring: Semiring,
) -> Result<(Vec<T>, ArcPosteriorsSaved<T>), Error> {
    let fsas = fsas.as_fsa_vec();
    let ((scores, last_arcs), backward) = both(fsas, semiring)?;
    let posteriors = combine(fsas, &scores, &backward)?;
    let forward = ForwardScoresSaved { fsas: fsas.clone(), semiring, scores, last_arcs };
    let backward = BackwardScoresSaved { fsas: fsas.clone(), semiring, scores: backward };
    Ok((posteriors, ArcPosteriorsSaved { forward, backward }))
}

type Forward<T> = (Vec<T>, Vec<i32>);

/// Returns forward and backward scores; for a single large FSA on two threads.
fn both<T: Real>(fsas: &FsaVec, semiring: Semiring) -> Result<(Forward<T>, Vec<T>), Error> {
    if fsas.num_fsas() > 1 || !worth(fsas.num_arcs()) {
        return Ok((forward(fsas, semiring)?, backward(fsas, semiring)?));
    }
    let (forward, backward) = par::join(|| forward(fsas, semiring), || backward(fsas, semiring));
    Ok((forward?, backward?))
}

fn combine<T: Real>(fsas: &FsaVec, forward: &[T], backward: &[T]) -> Result<Vec<T>, Error> {
    let mut posteriors = memory::zeros(fsas.num_arcs());
    let states = fsas.shape().row_splits(1);
    let by_pieces = fsas.num_fsas() == 1 && worth(fsas.num_arcs());
    for_each_with(fsas, by_arcs(fsas, &mut posteriors), |i, fsa, to: &mut [T]| {
        let states = states.row(i);
        of_one(fsa, &forward[states.clone()], &backward[states], to, by_pieces);
        Ok(())
    })?;
    Ok(posteriors)
}

/// Returns the total of an FSA: the mean of both directions.
fn total<T: Real>(forward: &[T], backward: &[T]) -> T {
    match (forward.last(), backward.first()) {
        (Some(&forward), Some(&backward)) => (forward + backward) * T::from_f64(0.5),
        _ => none(),
    }
}

/// Computes posteriors of one FSA; on several threads if `parallel`.
fn of_one<T: Real>(fsa: FsaView<'_>, forward: &[T], backward: &[T], to: &mut [T], parallel: bool) {
    /// Number of arcs that are worth a job.
    const PIECE: usize = 1 << 12;

    let total = total(forward, backward);
    if total == none() {
        to.fill(total);
        return;
    }
    share(parallel, to.chunks_mut(PIECE).zip(fsa.arcs().chunks(PIECE)), |(to, arcs)| {
        for (to, arc) in to.iter_mut().zip(arcs) {
            let (src, dest) = arc.states();
            *to = forward[src] + real(arc.score) + backward[dest] - total;
        }
    });
}

/// Data that the gradient of [`arc_posteriors`] needs.
#[derive(Debug, Clone)]
pub struct ArcPosteriorsSaved<T> {
    forward: ForwardScoresSaved<T>,
    backward: BackwardScoresSaved<T>,
}

impl<T: Real> ArcPosteriorsSaved<T> {
    /// Returns the gradient with respect to the scores of all arcs, given the gradient with respect
    /// to the posterior of each. 0 in FSAs without paths. O(states + arcs).
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one entry for each arc.
    pub fn backward(&self, out_grad: &[T]) -> Result<Vec<T>, Error> {
        let fsas = &self.forward.fsas;
        Error::same_size(Quantity::OutputGradients, fsas.num_arcs(), out_grad.len())?;
        let mut direct = out_grad.to_vec();
        let mut to_forward = memory::zeros::<T>(fsas.num_states());
        let mut to_backward = memory::zeros::<T>(fsas.num_states());
        for (states, fsa) in fsas.shape().row_splits(1).rows().zip(fsas.iter()) {
            let direct = &mut direct[fsa.first_arc()..][..fsa.arcs().len()];
            let scores = (&self.forward.scores[states.clone()], &self.backward.scores[states.clone()]);
            if total(scores.0, scores.1) == none() {
                direct.fill(T::ZERO);
                continue;
            }
            let (to_forward, to_backward) = (&mut to_forward[states.clone()], &mut to_backward[states]);
            let mut sum = T::ZERO;
            for (&grad, arc) in direct.iter().zip(fsa.arcs()) {
                let (src, dest) = arc.states();
                to_forward[src] += grad;
                to_backward[dest] += grad;
                sum += grad;
            }
            let half = sum * T::from_f64(0.5);
            to_forward[to_forward.len() - 1] -= half;
            to_backward[0] -= half;
        }
        let from_forward = self.forward.backward(&to_forward)?;
        let from_backward = self.backward.backward(&to_backward)?;
        for ((to, a), b) in direct.iter_mut().zip(from_forward).zip(from_backward) {
            *to += a + b;
        }
        Ok(direct)
    }
}

/// Removes the arcs over which less than the share `threshold` of all paths goes; returns the FSAs
/// and the arc map. All states stay. O(states + arcs).
///
/// # Errors
/// As [`forward_scores`](crate::paths::forward_scores).
#[doc(alias = "PruneOnArcPost")]
pub fn prune_on_arc_post<F: Fsas>(fsas: &F, threshold: f64) -> Result<(F, Vec<i32>), Error> {
    let posteriors = arc_posteriors::<f64, _>(fsas, Semiring::Log)?;
    let least = threshold.ln();
    prune::keep_arcs(fsas, |arc| posteriors[arc] >= least)
}
