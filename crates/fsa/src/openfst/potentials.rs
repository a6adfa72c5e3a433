//! Distance of each state from the final one, in costs and in labels to be output, for weight
//! pushing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::core::arc::Arc;
use crate::core::builder::SortedFsaBuilder;
use crate::core::entering::Entering;
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::openfst::strings::{EMPTY, Strings};
use crate::paths::distance::{Direction, log_distances};
use crate::support::ids::{Ordered, narrow, number};
use crate::support::sweep::{FEW_SWEEPS, sweep};
use crate::support::walks::find_circle;

/// Returns the cost of the best path from each state to the final one, infinite if there is none.
///
/// # Errors
/// [`Error::EndlessCycle`].
pub(super) fn costs_to_final(fsa: usize, view: FsaView<'_>) -> Result<Vec<f32>, Error> {
    match view.final_state() {
        None => Ok(vec![]),
        Some(last) => costs_to(fsa, last, &Entering::of_view(view)),
    }
}

/// Returns the cost of the best path, or in the log semiring of all paths, from each state to the
/// final one, or from the start to each.
///
/// # Errors
/// [`Error::EndlessCycle`].
pub(super) fn costs(
    fsa: usize,
    builder: &SortedFsaBuilder,
    direction: Direction,
    semiring: Semiring,
) -> Result<Vec<f32>, Error> {
    let num_states = builder.ends.len();
    match (semiring, direction) {
        (Semiring::Log, _) => {
            let splits = builder.splits()?;
            let scores = log_distances(fsa, FsaView::new(&splits, &builder.arcs), direction)?;
            Ok(scores.into_iter().map(|score| narrow(0.0 - score)).collect())
        }
        (Semiring::Tropical, Direction::ToFinal) => {
            costs_to(fsa, num_states - 1, &Entering::new(num_states, &builder.arcs))
        }
        (Semiring::Tropical, Direction::FromStart) => {
            let turned: Vec<_> = (builder.arcs.iter())
                .map(|arc| Arc { src_state: arc.dest_state, dest_state: arc.src_state, ..*arc })
                .collect();
            costs_to(fsa, 0, &Entering::new(num_states, &turned))
        }
    }
}

/// Returns the cost of the best path from each state to state `target`, infinite if there is none.
/// Fastest if the numbers of the states rise along most arcs: O(states + arcs) if along all.
///
/// # Errors
/// [`Error::EndlessCycle`].
fn costs_to(fsa: usize, target: usize, entering: &Entering<'_>) -> Result<Vec<f32>, Error> {
    let mut costs = vec![f32::INFINITY; entering.num_states()];
    costs[target] = 0.0;
    let mut relax = |state: usize, changed: &mut dyn FnMut(usize)| {
        for &arc in entering.of(state) {
            let arc = &entering.arcs()[arc as usize];
            let source = arc.states().0;
            let cost = (costs[state] - arc.score).max(f32::MIN);
            if cost < costs[source] && !gained_by_rounding(cost, costs[source]) {
                costs[source] = cost;
                changed(source);
            }
        }
    };
    if sweep(target, entering.num_states(), FEW_SWEEPS, &mut relax).is_none() {
        Ok(costs)
    } else if entering.arcs().iter().all(|arc| arc.score <= 0.0) {
        Ok(nearest_first(target, entering))
    } else {
        first_to_last(fsa, target, entering)
    }
}

/// Returns the same if costs may be negative (R. Bellman, L. Ford): the states whose costs have
/// changed are visited from the first to the last.
fn first_to_last(fsa: usize, target: usize, entering: &Entering<'_>) -> Result<Vec<f32>, Error> {
    let num_states = entering.num_states();
    let (mut costs, mut via, mut queued) =
        (vec![f32::INFINITY; num_states], vec![None; num_states], vec![false; num_states]);
    costs[target] = 0.0;
    let (mut queue, mut visits) = (VecDeque::from([target]), 0);
    while let Some(state) = queue.pop_front() {
        queued[state] = false;
        visits += 1;
        if visits % num_states as u64 == 0 && find_circle(num_states, |state| via[state]).is_some() {
            return Err(Error::EndlessCycle { fsa, state, visits });
        }
        for &arc in entering.of(state) {
            let arc = &entering.arcs()[arc as usize];
            let source = arc.states().0;
            let cost = (costs[state] - arc.score).max(f32::MIN);
            if cost < costs[source] && !gained_by_rounding(cost, costs[source]) {
                (costs[source], via[source]) = (cost, Some(state));
                if !std::mem::replace(&mut queued[source], true) {
                    queue.push_back(source);
                }
            }
        }
    }
    Ok(costs)
}

/// Runs Dijkstra's algorithm, if no cost is negative. O(arcs * log(arcs)).
fn nearest_first(target: usize, entering: &Entering<'_>) -> Vec<f32> {
    let mut costs = vec![f32::INFINITY; entering.num_states()];
    costs[target] = 0.0;
    let mut queue = BinaryHeap::from([Reverse((Ordered(0.0), number(target)))]);
    while let Some(Reverse((Ordered(cost), state))) = queue.pop() {
        if cost > costs[state as usize] {
            continue;
        }
        for &arc in entering.of(state as usize) {
            let arc = &entering.arcs()[arc as usize];
            let source = arc.states().0;
            let cost = cost - arc.score;
            if cost < costs[source] {
                costs[source] = cost;
                queue.push(Reverse((Ordered(cost), number(source))));
            }
        }
    }
    costs
}

/// Returns `true` if a gain is due to rounding: a cycle with the sum 0 must not seem to gain
/// something each time round.
#[inline]
pub(super) fn gained_by_rounding(new: f32, old: f32) -> bool {
    old < f32::INFINITY && old - new <= 4.0 * f32::EPSILON * old.abs().max(new.abs())
}

/// String that is not known yet: every string begins with it.
const ALL: u32 = u32::MAX;

/// Returns the longest string that the outputs of all paths from each state to the `target` begin
/// with. All states must have such paths.
pub(super) fn strings_to(target: usize, entering: &Entering<'_>, outputs: &[u32], strings: &mut Strings) -> Vec<u32> {
    let num_states = entering.num_states();
    let mut known = vec![ALL; num_states];
    known[target] = EMPTY;
    let mut relax = |state: usize, changed: &mut dyn FnMut(usize)| {
        for &arc in entering.of(state) {
            let source = entering.arcs()[arc as usize].states().0;
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
    let left = sweep(target, num_states, usize::MAX - 1, &mut relax);
    debug_assert_eq!(left, None);
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::arc::FINAL;
    use crate::core::fsa::Fsa;

    fn costs(num_states: usize, arcs: &[(i32, i32, f32)]) -> Result<Vec<f32>, Error> {
        let last = i32::try_from(num_states).unwrap() - 1;
        let arcs =
            arcs.iter().map(|&(src, dest, score)| Arc::new(src, dest, if dest == last { FINAL } else { 1 }, score));
        costs_to_final(0, Fsa::from_arcs(num_states, arcs.collect::<Vec<_>>()).unwrap().view())
    }

    #[test]
    fn the_best_path_is_found_on_every_way() {
        assert_eq!(costs(4, &[(0, 1, -1.0), (0, 2, -5.0), (1, 2, -1.0), (2, 3, -1.0)]).unwrap(), [3.0, 2.0, 1.0, 0.0]);
        assert_eq!(costs(4, &[(0, 1, -1.0), (1, 0, 0.5), (1, 2, 1.0), (2, 3, 1.0)]).unwrap(), [-1.0, -2.0, -1.0, 0.0]);
        assert_eq!(costs(4, &[(0, 1, 0.0), (1, 0, 0.0), (2, 3, 0.0)]).unwrap()[..2], [f32::INFINITY; 2]);
        assert!(matches!(costs(3, &[(0, 1, 1.0), (1, 0, -0.5), (1, 2, 0.0)]), Err(Error::EndlessCycle { .. })));
        // A chain against the order of the states, which needs more sweeps than are made.
        let n = 60_i16;
        let mut arcs = vec![(0, i32::from(n), -1.0)];
        arcs.extend((1..=n).map(|i| (i32::from(i), if i == 1 { i32::from(n) + 1 } else { i32::from(i) - 1 }, -1.0)));
        let found = costs(usize::try_from(n).unwrap() + 2, &arcs).unwrap();
        assert_eq!((found[0], found[1]), (f32::from(n) + 1.0, 1.0));
    }
}
