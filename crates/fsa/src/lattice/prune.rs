//! Pruning by beam.

use crate::core::arc::Arc;
use crate::error::{Error, Quantity};
use crate::lattice::container::Lattice;
use crate::paths::prune::keep_arcs;

/// Sums along different orders of arcs differ by rounding; arcs exactly on the beam stay.
const SLACK: f64 = 1e-9;

impl Lattice {
    /// Keeps the arcs of paths whose score is within `beam` of the best, and the states on them.
    /// Exact; an infinite beam keeps every arc on some path.
    ///
    /// # Errors
    /// [`Error::Beam`] for a beam that is NaN or below 0.
    #[doc(alias = "PruneLattice")]
    pub fn prune(&self, beam: f32) -> Result<Self, Error> {
        check_beam(beam)?;
        let mut keep = Vec::with_capacity(self.fsas().num_arcs());
        for i in 0..self.num_lattices() {
            let utterance = self.utterance(i);
            let (forward, backward) = (utterance.best_forward(), utterance.best_backward());
            let best = backward.first().copied().unwrap_or(f64::NEG_INFINITY);
            let least = best - f64::from(beam) - SLACK * best.abs().max(1.0);
            keep.extend(utterance.fsa.arcs().iter().enumerate().map(|(i, arc): (usize, &Arc)| {
                let (from, to) = arc.states();
                let score = forward[from] + utterance.score(i) + backward[to];
                score > f64::NEG_INFINITY && score >= least
            }));
        }
        self.keep(&keep)
    }

    fn keep(&self, keep: &[bool]) -> Result<Self, Error> {
        self.carry(keep_arcs(self.fsas(), |arc| keep[arc])?)?.connect()
    }
}

/// Checks that a beam is a number from 0 to infinity.
pub(super) fn check_beam(beam: f32) -> Result<(), Error> {
    if beam >= 0.0 { Ok(()) } else { Err(Error::Beam { what: Quantity::Beam, found: beam }) }
}
