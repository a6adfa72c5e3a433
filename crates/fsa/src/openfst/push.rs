//! Pushing scores, and the output labels, towards the start or the end.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{self, SortedFsaBuilder};
use crate::core::fsa::Fsas;
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::{Error, Quantity};
use crate::openfst::strings::{EMPTY, Strings};
use crate::paths::distance::{Direction, distances_of_one};
use crate::support::ids::narrow;
use crate::support::sweep::sweep;

/// Direction in which scores are pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PushTo {
    /// Each arc gets as much of the best score behind it as can be known there: the best path from
    /// every state has the score 0.
    #[default]
    Initial,
    /// The opposite, into the arcs that enter the final state: the best path from the start to
    /// every other state has the score 0.
    Final,
}

/// Returns equivalent FSAs whose scores are as early, or as late, as possible, and the arc map.
/// O(states + arcs) without cycles.
///
/// If a start state that can be entered again would have a score before it, a new start state gets
/// one arc with label 0 and this score, whose entry in the arc map is -1. Arcs that are on no path
/// from the start to the final state keep their scores.
///
/// ```
/// use fsa::{Arc, Fsa};
/// use fsa::openfst::{PushTo, push_weights};
///
/// let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 5, 0.0), Arc::new(1, 2, -1, -2.0)])?;
/// assert_eq!(push_weights(&fsa, PushTo::Initial)?.0.scores(), [-2.0, 0.0]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::EndlessCycle`]: there is no best path.
#[doc(alias = "fstpush")]
pub fn push_weights<F: Fsas>(fsas: &F, to: PushTo) -> Result<(F, Vec<i32>), Error> {
    push_weights_in(fsas, to, Semiring::Tropical)
}

/// Pushes as [`push_weights`] in the log semiring, with the sum of all paths instead of the best
/// path. If pushed to the start, the probabilities of the arcs of a state add up to 1.
///
/// # Errors
/// [`Error::EndlessCycle`]: the sum around a cycle is not finite.
pub fn push_weights_log<F: Fsas>(fsas: &F, to: PushTo) -> Result<(F, Vec<i32>), Error> {
    push_weights_in(fsas, to, Semiring::Log)
}

fn push_weights_in<F: Fsas>(fsas: &F, to: PushTo, semiring: Semiring) -> Result<(F, Vec<i32>), Error> {
    let (made, map) = builder::map_arcs(fsas.as_fsa_vec(), |i, fsa| push_one(i, fsa, to, semiring))?;
    Ok((fsas.same_kind(made), map))
}

fn push_one(
    fsa: usize,
    view: FsaView<'_>,
    to: PushTo,
    semiring: Semiring,
) -> Result<(SortedFsaBuilder, Vec<i32>), Error> {
    let ends: Vec<_> = (0..view.num_states()).map(|state| view.arc_range(state).end).collect();
    let mut builder = SortedFsaBuilder { ends, arcs: view.arcs().to_vec() };
    let mut map: Vec<i32> = (0..Error::fit(Quantity::Arcs, builder.arcs.len())?).collect();
    if builder.ends.is_empty() {
        return Ok((builder, map));
    }
    match to {
        PushTo::Initial => {
            let scores = distances_of_one(fsa, view, semiring, Direction::ToFinal)?;
            push_scores(&mut builder, &scores);
            if scores[0] != 0.0 && scores[0] > f64::NEG_INFINITY && pass_start(&mut builder, finite(scores[0]))? {
                map.insert(0, -1);
            }
        }
        PushTo::Final => {
            let scores = distances_of_one(fsa, view, semiring, Direction::FromStart)?;
            for arc in &mut builder.arcs {
                let (src, dest) = arc.states();
                let behind = if arc.label == FINAL { 0.0 } else { scores[dest] };
                if scores[src] > f64::NEG_INFINITY && arc.score > f32::NEG_INFINITY {
                    arc.score = finite(f64::from(arc.score) + scores[src] - behind);
                }
            }
        }
    }
    Ok((builder, map))
}

/// Pushes the scores of the way to the final state from behind the arcs to before them.
fn push_scores(builder: &mut SortedFsaBuilder, scores: &[f64]) {
    for arc in &mut builder.arcs {
        let (src, dest) = arc.states();
        if scores[src].min(scores[dest]) > f64::NEG_INFINITY && arc.score > f32::NEG_INFINITY {
            arc.score = finite(f64::from(arc.score) + scores[dest] - scores[src]);
        }
    }
}

/// Returns the nearest finite f32, never -0.
fn finite(score: f64) -> f32 {
    narrow(score + 0.0).clamp(f32::MIN, f32::MAX)
}

/// Adds `score` to all paths, on the arcs of the start state, or on a new arc before it if it can
/// be entered again; then returns `true`.
fn pass_start(builder: &mut SortedFsaBuilder, score: f32) -> Result<bool, Error> {
    if builder.arcs.iter().all(|arc| arc.dest_state != 0) {
        let end = builder.ends[0];
        builder.arcs[..end].iter_mut().for_each(|arc| arc.score = (arc.score + score).clamp(f32::MIN, f32::MAX));
        return Ok(false);
    }
    add_start(builder, score)?;
    Ok(true)
}

/// Adds a new start state with one arc, with label 0, to the old one.
fn add_start(builder: &mut SortedFsaBuilder, score: f32) -> Result<(), Error> {
    Error::fit(Quantity::States, builder.ends.len() + 1)?;
    Error::fit(Quantity::Arcs, builder.arcs.len() + 1)?;
    for arc in &mut builder.arcs {
        arc.src_state += 1;
        arc.dest_state += 1;
    }
    builder.arcs.insert(0, Arc::new(0, 1, EPSILON, score));
    builder.ends.iter_mut().for_each(|end| *end += 1);
    builder.ends.insert(0, 1);
    Ok(())
}

/// A trimmed machine, with the output of its arcs if it is a transducer.
#[derive(Debug)]
pub(super) struct Pushed {
    pub builder: SortedFsaBuilder,
    /// Output string of each arc.
    pub outputs: Option<Vec<u32>>,
}

/// Pushes scores and strings to the start, and returns the score and the string pushed out there;
/// scores only if there is a semiring to push them in.
pub(super) fn push_to_start(
    fsa: usize,
    work: &mut Pushed,
    strings: &mut Strings,
    semiring: Option<Semiring>,
) -> Result<(f32, u32), Error> {
    let Pushed { builder, outputs } = work;
    let weighted = |semiring: &Semiring| *semiring == Semiring::Log || builder.arcs.iter().any(|arc| arc.score != 0.0);
    let semiring = semiring.filter(weighted);
    let splits = builder.splits()?;
    let view = FsaView::new(&splits, &builder.arcs);
    let scores = semiring.map(|semiring| distances_of_one(fsa, view, semiring, Direction::ToFinal)).transpose()?;
    let known = outputs.as_ref().map(|outputs| strings_to_final(view, outputs, strings));
    let mut before = EMPTY;
    if let (Some(outputs), Some(known)) = (outputs, known) {
        for (arc, output) in builder.arcs.iter().zip(outputs) {
            let (src, dest) = arc.states();
            if known[src] != EMPTY || known[dest] != EMPTY {
                let through = strings.concat(*output, known[dest]);
                *output = strings.behind(through, known[src]);
            }
        }
        before = known[0];
    }
    let Some(scores) = scores else { return Ok((0.0, before)) };
    push_scores(builder, &scores);
    Ok((finite(scores[0]), before))
}

impl Pushed {
    /// Adds a score and a string to all paths, as [`pass_start`] does.
    pub(super) fn pass_start(&mut self, score: f32, before: u32, strings: &mut Strings) -> Result<(), Error> {
        if score == 0.0 && before == EMPTY {
            return Ok(());
        }
        let added = pass_start(&mut self.builder, score)?;
        match &mut self.outputs {
            Some(outputs) if added => outputs.insert(0, before),
            Some(outputs) => {
                let first = &mut outputs[..self.builder.ends[0]];
                first.iter_mut().for_each(|output| *output = strings.concat(before, *output));
            }
            None => {}
        }
        Ok(())
    }
}

/// Not yet known: every string begins with it.
const ALL: u32 = u32::MAX;

/// The longest string that all paths from each state to the final one begin to output. There are
/// states, and all must have such paths.
fn strings_to_final(view: FsaView<'_>, outputs: &[u32], strings: &mut Strings) -> Vec<u32> {
    let (entering, last) = (view.entering(), view.num_states() - 1);
    let mut known = vec![ALL; last + 1];
    known[last] = EMPTY;
    let mut relax = |state: usize, changed: &mut dyn FnMut(usize)| {
        for &arc in entering.row(state) {
            let source = view.arcs()[arc as usize].states().0;
            if known[source] == EMPTY {
                continue;
            }
            let through = strings.concat(outputs[arc as usize], known[state]);
            let common = if known[source] == ALL { through } else { strings.common_prefix(known[source], through) };
            if common != known[source] {
                known[source] = common;
                changed(source);
            }
        }
    };
    // Strings only become shorter, so that this ends.
    let left = sweep(last, last + 1, usize::MAX - 1, &mut relax);
    debug_assert_eq!(left, None);
    known
}
