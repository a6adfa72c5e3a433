//! How far each state is from the final one, in costs and in labels to be put out: what weights are pushed by.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::numbers::{Ordered, number};
use super::strings::{EMPTY, Strings};
use crate::view::FsaView;
use crate::{Arc, Error};

/// The cost of the best path from each state to the final one, infinite where there is none.
///
/// # Errors
/// [`Error::EndlessCycle`].
pub(super) fn costs_to_final(fsa: usize, view: FsaView<'_>) -> Result<Vec<f32>, Error> {
    let ends: Vec<_> = (0..view.num_states()).map(|state| view.arc_range(state).end).collect();
    match view.final_state() {
        None => Ok(vec![]),
        Some(last) => costs_to(fsa, last, &Entering::new(&ends, view.arcs())),
    }
}

/// The arcs that enter each state.
pub(super) struct Entering<'a> {
    arcs: &'a [Arc],
    splits: Vec<u32>,
    order: Vec<u32>,
}

impl<'a> Entering<'a> {
    /// O(states + arcs). `ends` has one entry for each state.
    pub(super) fn new(ends: &[usize], arcs: &'a [Arc]) -> Self {
        let mut splits = vec![0_u32; ends.len() + 2];
        // Counted two places further on, sums are the starts one place further on, and become the ends, which are the next starts.
        arcs.iter().for_each(|arc| splits[arc.states().1 + 2] += 1);
        for state in 2..splits.len() {
            splits[state] += splits[state - 1];
        }
        let mut order = vec![0; arcs.len()];
        for (arc, it) in (0..).zip(arcs) {
            let place = &mut splits[it.states().1 + 1];
            order[*place as usize] = arc;
            *place += 1;
        }
        splits.pop();
        Self { arcs, splits, order }
    }

    fn num_states(&self) -> usize {
        self.splits.len() - 1
    }

    /// Places of arcs.
    #[inline]
    pub(super) fn of(&self, state: usize) -> &[u32] {
        &self.order[self.splits[state] as usize..self.splits[state + 1] as usize]
    }
}

/// The cost of the best path from each state to state `target`, infinite where there is none. Fastest if the numbers of the states
/// rise along most arcs: O(states + arcs) if along all.
///
/// # Errors
/// [`Error::EndlessCycle`].
pub(super) fn costs_to(fsa: usize, target: usize, entering: &Entering<'_>) -> Result<Vec<f32>, Error> {
    let mut costs = vec![f32::INFINITY; entering.num_states()];
    costs[target] = 0.0;
    let mut visits = 0;
    let mut relax = |state: usize, changed: &mut dyn FnMut(usize)| {
        visits += 1;
        for &arc in entering.of(state) {
            let arc = &entering.arcs[arc as usize];
            let source = arc.states().0;
            let cost = (costs[state] - arc.score).max(f32::MIN);
            if cost < costs[source] && !gained_by_rounding(cost, costs[source]) {
                costs[source] = cost;
                changed(source);
            }
        }
    };
    let none_negative = entering.arcs.iter().all(|arc| arc.score <= 0.0);
    let most = if none_negative { FEW_SWEEPS } else { entering.num_states() };
    match sweep(target, entering.num_states(), most, &mut relax) {
        None => Ok(costs),
        Some(_) if none_negative => Ok(nearest_first(target, entering)),
        Some(state) => Err(Error::EndlessCycle { fsa, state, visits }),
    }
}

/// Where costs are not negative, a heap is the better way if it is not done after this number of sweeps.
const FEW_SWEEPS: usize = 12;

/// Goes from the last state to the first, again and again, through those that have changed since they were visited, until none has; one sweep does
/// where the numbers of states rise along the arcs. If `most` sweeps do not, a state that still changes.
fn sweep(
    target: usize,
    num_states: usize,
    most: usize,
    relax: &mut impl FnMut(usize, &mut dyn FnMut(usize)),
) -> Option<usize> {
    let mut changed = vec![false; num_states];
    changed[target] = true;
    // Nothing that changes lies above `from` in this sweep, or above `next` in the next one.
    let mut from = Some(target);
    for _ in 0..=most {
        let mut next = None;
        for state in (0..=from?).rev() {
            if std::mem::replace(&mut changed[state], false) {
                relax(state, &mut |source| {
                    changed[source] = true;
                    if source >= state {
                        next = next.max(Some(source));
                    }
                });
            }
        }
        from = next;
    }
    from
}

/// Dijkstra's algorithm, where no cost is negative. O(arcs * log(arcs)).
fn nearest_first(target: usize, entering: &Entering<'_>) -> Vec<f32> {
    let mut costs = vec![f32::INFINITY; entering.num_states()];
    costs[target] = 0.0;
    let mut queue = BinaryHeap::from([Reverse((Ordered(0.0), number(target)))]);
    while let Some(Reverse((Ordered(cost), state))) = queue.pop() {
        if cost > costs[state as usize] {
            continue;
        }
        for &arc in entering.of(state as usize) {
            let arc = &entering.arcs[arc as usize];
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

/// A cycle with the sum 0 must not seem to gain something each time round.
#[inline]
pub(super) fn gained_by_rounding(new: f32, old: f32) -> bool {
    old < f32::INFINITY && old - new <= 4.0 * f32::EPSILON * old.abs().max(new.abs())
}

/// Not yet known: every string begins with it.
const ALL: u32 = u32::MAX;

/// The longest string that all paths from each state to the `target` begin to put out. All states must have such paths.
pub(super) fn strings_to(target: usize, entering: &Entering<'_>, outputs: &[u32], strings: &mut Strings) -> Vec<u32> {
    let num_states = entering.num_states();
    let mut known = vec![ALL; num_states];
    known[target] = EMPTY;
    let mut relax = |state: usize, changed: &mut dyn FnMut(usize)| {
        for &arc in entering.of(state) {
            let source = entering.arcs[arc as usize].states().0;
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
    use crate::{FINAL, Fsa};

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
        // A chain against the order of the states, through more sweeps than are made.
        let n = 60_i16;
        let mut arcs = vec![(0, i32::from(n), -1.0)];
        arcs.extend((1..=n).map(|i| (i32::from(i), if i == 1 { i32::from(n) + 1 } else { i32::from(i) - 1 }, -1.0)));
        let found = costs(usize::try_from(n).unwrap() + 2, &arcs).unwrap();
        assert_eq!((found[0], found[1]), (f32::from(n) + 1.0, 1.0));
    }
}
