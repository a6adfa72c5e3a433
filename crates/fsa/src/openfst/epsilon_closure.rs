//! Epsilon closure of a subset, for determinization that removes epsilons.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::core::arc::{Arc, EPSILON};
use crate::error::Error;
use crate::k2::epsilon_closure::ranks;
use crate::openfst::element::Element;
use crate::openfst::machine::Machine;
use crate::openfst::strings::Strings;
use crate::paths::distance::{ROUNDING, gains};
use crate::support::ids::{NONE, index, number};

/// Reason why a subset cannot be closed.
#[derive(Debug)]
pub(super) enum Obstacle {
    /// A state is reached with these two strings, the better one first.
    Strings(u32, u32),
    /// A cycle of arcs with label 0 costs less than nothing.
    Cycle(Error),
}

/// Follows arcs with label 0.
pub(super) struct Closure<'a> {
    fsa: usize,
    machine: Machine<'a>,
    /// `true` if the better one of two strings to a state is kept.
    disambiguate: bool,
    /// For each state, `true` if arcs with label 0 leave it, and `true` if others do.
    leaving: Vec<(bool, bool)>,
    /// An order in which arcs with label 0 lead to later states, as far as there is one.
    ranks: Vec<i32>,
    /// For each state its index in the current subset, or [`NONE`].
    places: Vec<u32>,
    /// For each member, the number of arcs by which it was reached, and `true` if it waits in the
    /// queue.
    members: Vec<(usize, bool)>,
    /// Members whose arcs are to be followed, by rank and then in the order in which they were
    /// added.
    queue: BinaryHeap<Reverse<(i32, u64, u32)>>,
}

impl<'a> Closure<'a> {
    pub(super) fn new(fsa: usize, machine: Machine<'a>, disambiguate: bool) -> Self {
        let view = machine.fsa;
        let leaving = |state| {
            let silent = view.arcs_of(state).iter().filter(|arc| arc.label == EPSILON).count();
            (silent > 0, silent < view.arcs_of(state).len())
        };
        let silent = |arc: &&Arc| arc.label == EPSILON;
        let row = |state| view.arcs_of(state).iter().filter(silent).map(|arc| index(arc.dest_state));
        Self {
            fsa,
            machine,
            disambiguate,
            leaving: (0..view.num_states()).map(leaving).collect(),
            ranks: ranks(view.num_states(), row).0,
            places: vec![NONE; view.num_states()],
            members: Vec::new(),
            queue: BinaryHeap::new(),
        }
    }

    /// Adds the states that arcs with label 0 reach, each with its best cost, and removes states
    /// that no other arcs leave. The subset is sorted by state afterwards. Every state is visited
    /// once, if those arcs form no cycles.
    pub(super) fn close(&mut self, subset: &mut Vec<Element>, strings: &mut Strings) -> Result<(), Obstacle> {
        if subset.iter().any(|element| self.leaving[element.state as usize].0) {
            let followed = self.follow(subset, strings);
            subset.iter().for_each(|element| self.places[element.state as usize] = NONE);
            followed?;
            subset.sort_unstable_by_key(|element| element.state);
        }
        subset.retain(|element| self.leaving[element.state as usize].1);
        Ok(())
    }

    fn follow(&mut self, subset: &mut Vec<Element>, strings: &mut Strings) -> Result<(), Obstacle> {
        let view = self.machine.fsa;
        self.members.clear();
        self.queue.clear();
        let mut turn = 0;
        for (at, element) in subset.iter().enumerate() {
            self.places[element.state as usize] = number(at);
            self.members.push((0, true));
            self.queue.push(Reverse((self.ranks[element.state as usize], turn, number(at))));
            turn += 1;
        }
        while let Some(Reverse((_, _, at))) = self.queue.pop() {
            let at = at as usize;
            self.members[at].1 = false;
            let (Element { state, string, cost }, steps) = (subset[at], self.members[at].0 + 1);
            if !self.leaving[state as usize].0 {
                continue;
            }
            for arc in view.arc_range(state as usize) {
                let Arc { dest_state, label, score, .. } = view.arcs()[arc];
                let cost = (cost - score).max(f32::MIN);
                if label != EPSILON || cost == f32::INFINITY {
                    continue;
                }
                let state = dest_state.cast_unsigned();
                let new = Element { state, string: strings.append(string, self.machine.output(arc)), cost };
                let place = self.places[state as usize] as usize;
                if let Some(known) = subset.get_mut(place) {
                    let better = gains(-f64::from(cost), -f64::from(known.cost), 0.0, ROUNDING);
                    if known.string != new.string && !self.disambiguate {
                        let (first, second) = if better { (new, *known) } else { (*known, new) };
                        return Err(Obstacle::Strings(first.string, second.string));
                    }
                    if !better {
                        continue;
                    }
                    // A path of more arcs than there are members went round a cycle, and gained by
                    // it.
                    if steps > subset.len() {
                        let (state, visits) = (state as usize, turn);
                        return Err(Obstacle::Cycle(Error::EndlessCycle { fsa: self.fsa, state, visits }));
                    }
                    subset[place] = new;
                    self.members[place].0 = steps;
                } else {
                    self.places[state as usize] = number(subset.len());
                    subset.push(new);
                    self.members.push((steps, false));
                }
                let place = self.places[state as usize];
                if !std::mem::replace(&mut self.members[place as usize].1, true) {
                    self.queue.push(Reverse((self.ranks[state as usize], turn, place)));
                    turn += 1;
                }
            }
        }
        Ok(())
    }
}
