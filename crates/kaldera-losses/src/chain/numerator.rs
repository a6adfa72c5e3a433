//! All paths of an FSA that take a class in each frame, in logarithms.

use fsa::{FINAL, FsaView};
use kaldera_base::math::log_add;

use super::state;
use crate::error::Error;

/// Rejects labels of `classes` and above.
pub(super) fn check(sequence: usize, fsa: FsaView<'_>, classes: usize) -> Result<(), Error> {
    let is_bad = |label: i32| label != FINAL && usize::try_from(label).is_ok_and(|label| label >= classes);
    match fsa.arcs().iter().position(|arc| is_bad(arc.label)) {
        Some(position) => Err(Error::Label { sequence, position, label: fsa.arcs()[position].label, classes }),
        None => Ok(()),
    }
}

/// Returns the source, destination, class and score of each arc that takes a frame.
fn frame_arcs(fsa: FsaView<'_>) -> impl Iterator<Item = (usize, usize, usize, f64)> {
    fsa.arcs().iter().filter_map(|arc| {
        let class = usize::try_from(arc.label).ok()?;
        Some((state(arc.src_state), state(arc.dest_state), class, f64::from(arc.score)))
    })
}

/// Returns the score from each state to the end.
fn finals(fsa: FsaView<'_>) -> Vec<f64> {
    let mut finals = vec![f64::NEG_INFINITY; fsa.num_states()];
    for arc in fsa.arcs().iter().filter(|arc| arc.label == FINAL) {
        let source = state(arc.src_state);
        finals[source] = log_add(finals[source], f64::from(arc.score));
    }
    finals
}

/// Returns the sum over all paths that lead to each state, for each frame and after the last one.
fn forward(fsa: FsaView<'_>, values: &[f64], classes: usize) -> Vec<f64> {
    let num_states = fsa.num_states();
    let num_frames = values.len().checked_div(classes).unwrap_or(0);
    let mut sums = vec![f64::NEG_INFINITY; (num_frames + 1) * num_states];
    if let Some(start) = sums.first_mut() {
        *start = 0.0;
    }
    for (frame, row) in values.chunks_exact(classes.max(1)).enumerate() {
        let (before, behind) = sums.split_at_mut((frame + 1) * num_states);
        let before = &before[frame * num_states..];
        for (source, dest, class, score) in frame_arcs(fsa) {
            behind[dest] = log_add(behind[dest], before[source] + score + row[class]);
        }
    }
    sums
}

/// Returns the logarithm of the sum over all paths; -inf if there is none.
pub(super) fn total(fsa: FsaView<'_>, values: &[f64], classes: usize) -> f64 {
    total_of(fsa, &forward(fsa, values, classes))
}

fn total_of(fsa: FsaView<'_>, sums: &[f64]) -> f64 {
    let last = &sums[sums.len() - fsa.num_states()..];
    last.iter().zip(finals(fsa)).fold(f64::NEG_INFINITY, |total, (sum, score)| log_add(total, sum + score))
}

/// Adds `weight` times the posterior of each class in each frame to `to`. Returns `false` if there
/// are no paths.
pub(super) fn add_posteriors(fsa: FsaView<'_>, values: &[f64], classes: usize, weight: f64, to: &mut [f64]) -> bool {
    let sums = forward(fsa, values, classes);
    let total = total_of(fsa, &sums);
    if total == f64::NEG_INFINITY {
        return false;
    }
    let num_states = fsa.num_states();
    let mut rests = finals(fsa);
    let frames = values.chunks_exact(classes.max(1)).zip(to.chunks_exact_mut(classes.max(1)));
    for ((row, to), sums) in frames.zip(sums.chunks_exact(num_states.max(1))).rev() {
        let mut before = vec![f64::NEG_INFINITY; num_states];
        for (source, dest, class, score) in frame_arcs(fsa) {
            let rest = rests[dest] + score + row[class];
            before[source] = log_add(before[source], rest);
            to[class] += weight * (sums[source] + rest - total).exp();
        }
        rests = before;
    }
    true
}
