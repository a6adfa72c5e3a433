//! Removes states and arcs that lie on no path from the start to the final state, and orders the
//! rest.

use crate::core::arc::Arc;
use crate::core::builder::SortedFsaBuilder;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::ids::{NONE, index, number};

/// States that are on a path from the start, which is the first, to the final state, which is the
/// last; the numbers rise along the arcs wherever there is no cycle. Arcs with the score -inf are
/// on no path.
#[derive(Debug, Default)]
pub(super) struct Trimmed {
    pub builder: SortedFsaBuilder,
    /// For each arc, its index in the machine.
    pub sources: Vec<u32>,
    /// `true` if no arc goes back.
    pub acyclic: bool,
}

impl Trimmed {
    /// Converts an error about one of these states to the number that the state has in the machine.
    pub(super) fn name_state(&self, view: FsaView<'_>, error: Error) -> Error {
        match error {
            Error::EndlessCycle { fsa, state, visits } => {
                let first_arc = state.checked_sub(1).map_or(0, |before| self.builder.ends[before]);
                let state = view.arcs()[self.sources[first_arc] as usize].states().0;
                Error::EndlessCycle { fsa, state, visits }
            }
            error => error,
        }
    }
}

/// Runs [`trim`] on an FSA that is being built.
pub(super) fn trim_part(builder: &SortedFsaBuilder) -> Result<Trimmed, Error> {
    Ok(trim(FsaView::new(&builder.splits()?, &builder.arcs)))
}

/// Trims an FSA; the result is empty if there is no path. O(states + arcs).
pub(super) fn trim(view: FsaView<'_>) -> Trimmed {
    let Some(last) = view.final_state() else { return Trimmed::default() };
    let DepthFirstSearch { finished, mut useful, cyclic } = search(view, last);
    if cyclic {
        useful = reach_the_end(view, last, useful);
    }
    let mut new = vec![NONE; view.num_states()];
    let order: Vec<u32> =
        finished.into_iter().rev().filter(|&state| useful[state as usize] && state as usize != last).collect();
    if order.is_empty() {
        return Trimmed::default();
    }
    order.iter().chain([&number(last)]).zip(0..).for_each(|(&state, place)| new[state as usize] = place);
    let mut made = Trimmed { acyclic: true, ..Trimmed::default() };
    for (&state, src) in order.iter().zip(0..) {
        for at in view.arc_range(state as usize) {
            let Arc { dest_state, label, score, .. } = view.arcs()[at];
            let dest = new[index(dest_state)];
            if dest != NONE && score > f32::NEG_INFINITY {
                made.acyclic &= src < dest;
                made.builder.arcs.push(Arc::new(src.cast_signed(), dest.cast_signed(), label, score));
                made.sources.push(number(at));
            }
        }
        made.builder.end_state();
    }
    made.builder.end_state();
    made
}

/// Result of a depth-first search from the start.
struct DepthFirstSearch {
    /// The states in the order in which they were left for good.
    finished: Vec<u32>,
    /// States from which the final state can be reached; if there are cycles, the states that were
    /// visited.
    useful: Vec<bool>,
    cyclic: bool,
}

fn search(view: FsaView<'_>, last: usize) -> DepthFirstSearch {
    const UNSEEN: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut seen = vec![UNSEEN; view.num_states()];
    let mut made = DepthFirstSearch { finished: Vec::new(), useful: vec![false; view.num_states()], cyclic: false };
    made.useful[last] = true;
    let mut stack = vec![(0_usize, view.arc_range(0))];
    seen[0] = OPEN;
    while let Some((state, arcs)) = stack.last_mut() {
        let state = *state;
        let Some(at) = arcs.next() else {
            seen[state] = DONE;
            made.useful[state] |= view
                .arcs_of(state)
                .iter()
                .any(|arc| arc.score > f32::NEG_INFINITY && made.useful[index(arc.dest_state)]);
            made.finished.push(number(state));
            stack.pop();
            continue;
        };
        let arc = &view.arcs()[at];
        let dest = index(arc.dest_state);
        if arc.score == f32::NEG_INFINITY {
            continue;
        }
        match seen[dest] {
            UNSEEN => {
                seen[dest] = OPEN;
                stack.push((dest, view.arc_range(dest)));
            }
            OPEN => made.cyclic = true,
            _ => {}
        }
    }
    if made.cyclic {
        made.useful.iter_mut().zip(&seen).for_each(|(useful, &seen)| *useful = seen == DONE);
    }
    made
}

/// Selects the states of `among` from which the final state can be reached.
fn reach_the_end(view: FsaView<'_>, last: usize, among: Vec<bool>) -> Vec<bool> {
    let entering = view.entering();
    let mut reached = vec![false; among.len()];
    let mut stack = Vec::new();
    if among[last] {
        reached[last] = true;
        stack.push(last);
    }
    while let Some(state) = stack.pop() {
        for &arc in entering.row(state) {
            let arc = &view.arcs()[arc as usize];
            let source = index(arc.src_state);
            if among[source] && arc.score > f32::NEG_INFINITY && !std::mem::replace(&mut reached[source], true) {
                stack.push(source);
            }
        }
    }
    reached
}
