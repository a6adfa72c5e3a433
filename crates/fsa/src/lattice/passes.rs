//! Total scores, posteriors and times.

use crate::error::Error;
use crate::lattice::container::Lattice;
use crate::lattice::utterance::Utterance;

impl Lattice {
    /// Returns for each lattice the log-sum of the scores of all its paths, -inf if there is none.
    #[doc(alias = "GetTotalScore")]
    pub fn total_scores(&self) -> Vec<f64> {
        let total = |i| self.utterance(i).log_backward().first().copied().unwrap_or(f64::NEG_INFINITY);
        (0..self.num_lattices()).map(total).collect()
    }

    /// Returns for each arc of all lattices the share of all paths that goes over it, from 0 to 1.
    pub fn arc_posteriors(&self) -> Vec<f64> {
        (0..self.num_lattices()).flat_map(|i| posteriors(&self.utterance(i))).collect()
    }

    /// Returns for each state of lattice `i` its frame, `None` if the start does not lead there.
    ///
    /// # Errors
    /// If there is no such lattice.
    #[doc(alias = "CompactLatticeStateTimes")]
    pub fn state_times(&self, i: usize) -> Result<Vec<Option<usize>>, Error> {
        self.check_index(i)?;
        Ok(self.utterance(i).times())
    }

    /// Returns the depth of lattice `i`, which is the mean number of arcs that cross a frame, and
    /// its number of frames. (0, 0) without frames.
    ///
    /// # Errors
    /// If there is no such lattice.
    #[doc(alias = "CompactLatticeDepth")]
    pub fn depth(&self, i: usize) -> Result<(f64, usize), Error> {
        self.check_index(i)?;
        let utterance = self.utterance(i);
        let frames = utterance.times().into_iter().flatten().max().unwrap_or(0);
        let labels: usize = (0..utterance.fsa.arcs().len()).map(|arc| utterance.alignment(arc).len()).sum();
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        Ok((if frames == 0 { 0.0 } else { labels as f64 / frames as f64 }, frames))
    }

    /// Returns for each frame of lattice `i` the number of arcs that cross it.
    ///
    /// # Errors
    /// If there is no such lattice.
    #[doc(alias = "CompactLatticeDepthPerFrame")]
    pub fn depth_per_frame(&self, i: usize) -> Result<Vec<usize>, Error> {
        self.check_index(i)?;
        let utterance = self.utterance(i);
        let times = utterance.times();
        // One more arc at its first frame, one less behind its last.
        let mut changes = vec![0_isize; times.iter().copied().flatten().max().unwrap_or(0) + 1];
        for (at, arc) in utterance.fsa.arcs().iter().enumerate() {
            let Some(time) = times[arc.states().0] else { continue };
            let end = time + utterance.alignment(at).len();
            // Where paths disagree about a state's time, an arc may end behind the last frame.
            let behind = end.min(changes.len() - 1);
            changes[time] += 1;
            changes[behind] -= 1;
        }
        changes.pop();
        let mut depth = 0;
        let sums = changes.into_iter().map(|change| {
            depth += change;
            usize::try_from(depth).unwrap_or(0)
        });
        Ok(sums.collect())
    }
}

/// Returns the posterior of each arc of one lattice.
fn posteriors(utterance: &Utterance<'_>) -> Vec<f64> {
    let (forward, backward) = (utterance.log_forward(), utterance.log_backward());
    let total = backward.first().copied().unwrap_or(f64::NEG_INFINITY);
    let through = |(i, arc): (usize, &crate::Arc)| {
        let (from, to) = arc.states();
        let score = forward[from] + utterance.score(i) + backward[to];
        if total == f64::NEG_INFINITY || score == f64::NEG_INFINITY { 0.0 } else { (score - total).exp() }
    };
    utterance.fsa.arcs().iter().enumerate().map(through).collect()
}
