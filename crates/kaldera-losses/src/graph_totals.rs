//! The total scores of lattices, and their gradient by the network's scores.

use fsa::dense::{DenseFsaVec, DenseLattices, Outcome};
use fsa::paths::{TotalScoresSaved, total_scores_saved};
use fsa::{FsaVec, Semiring};

use crate::error::Error;

/// Lattices and the logarithm of the sum over all their paths.
#[derive(Debug, Clone)]
pub(crate) struct GraphTotals {
    pub(crate) lattices: DenseLattices,
    pub(crate) totals: Vec<f64>,
    saved: TotalScoresSaved<f64>,
}

impl GraphTotals {
    /// Computes the totals of lattices. The scores are the ones that `rescore` returns.
    pub(crate) fn new(
        lattices: DenseLattices,
        rescore: impl FnOnce(&DenseLattices) -> Result<FsaVec, Error>,
    ) -> Result<Self, Error> {
        for (utterance, outcome) in lattices.outcomes().iter().enumerate() {
            if let Outcome::Failed(source) = outcome {
                return Err(Error::Utterance { utterance, source: source.clone() });
            }
        }
        let (totals, saved) = total_scores_saved::<f64, _>(&rescore(&lattices)?, Semiring::Log)?;
        Ok(Self { lattices, totals, saved })
    }

    /// Returns the derivative by the score of each of the lattices' arcs, given the derivative by
    /// each total. It is 0 for a total of minus infinity.
    pub(crate) fn by_arcs(&self, grads: &[f64]) -> Result<Vec<f64>, Error> {
        let finite = |(&grad, &total): (&f64, &f64)| if total > f64::NEG_INFINITY { grad } else { 0.0 };
        Ok(self.saved.backward(&grads.iter().zip(&self.totals).map(finite).collect::<Vec<_>>())?)
    }

    /// Returns the derivative by the network's scores.
    pub(crate) fn by_scores(&self, grads: &[f64], dense: &DenseFsaVec<'_>) -> Result<Vec<f64>, Error> {
        Ok(self.lattices.score_gradient(&self.by_arcs(grads)?, dense)?)
    }
}
