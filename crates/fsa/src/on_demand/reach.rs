//! Computes the output labels that each state of a transducer can reach.

use crate::core::arc::EPSILON;
use crate::core::label_reach::LabelReach;
use crate::core::transducer::Transducer;
use crate::error::{Error, Limited, Operation, Quantity};
use crate::support::ids::{NONE, number};

type Interval = [i32; 2];

/// Number of intervals from which on those of a component are merged before all are there.
const LEAST_MERGED: usize = 1 << 16;

/// Returns the output labels that can come next behind each state, in at most `max_bytes`.
/// `final_label`, which is no label of an arc, stands for the end.
///
/// States on a cycle of epsilons reach the same labels, so the sets are computed for the strongly
/// connected components, behind those of their destinations (Tarjan). O(arcs), times the number of
/// intervals.
pub(super) fn output_reach(it: &Transducer, final_label: i32, max_bytes: usize) -> Result<LabelReach, Error> {
    let mut sets = Components::new(it, final_label, max_bytes);
    for state in 0..number(it.num_states()) {
        if sets.order[state as usize] == NONE {
            sets.visit(state)?;
        }
    }
    let (mut ends, mut intervals) = (Vec::with_capacity(it.num_states()), Vec::new());
    for &component in &sets.component {
        intervals.extend_from_slice(sets.set(component));
        sets.check(size_of_val(&intervals[..]))?;
        Error::fit(Quantity::Arcs, intervals.len())?;
        ends.push(number(intervals.len()));
    }
    intervals.shrink_to_fit();
    Ok(LabelReach::from_parts(false, final_label, ends, intervals))
}

/// Appends an interval, or extends the last one.
fn add(set: &mut Vec<Interval>, interval: Interval) {
    match set.last_mut() {
        Some(last) if last[0] <= interval[0] && interval[0] <= last[1] => last[1] = last[1].max(interval[1]),
        _ => set.push(interval),
    }
}

/// Sorts intervals and joins those that meet.
fn merge(set: &mut Vec<Interval>) {
    set.sort_unstable();
    set.dedup_by(|next, last| {
        let meets = next[0] <= last[1];
        if meets {
            last[1] = last[1].max(next[1]);
        }
        meets
    });
}

/// The components found so far, and the state of the depth-first search.
struct Components<'a> {
    it: &'a Transducer,
    final_label: i32,
    max_bytes: usize,
    /// Number of each state in the order of the visit, [`NONE`] before it.
    order: Vec<u32>,
    /// Lowest order that is known to be reached from a state and is still open.
    low: Vec<u32>,
    /// Component of each state, [`NONE`] while it is open.
    component: Vec<u32>,
    visited: u32,
    open: Vec<u32>,
    /// States on the path of the search, with the number of arcs followed.
    path: Vec<(u32, usize)>,
    /// End of each component's intervals.
    ends: Vec<usize>,
    intervals: Vec<Interval>,
}

impl<'a> Components<'a> {
    fn new(it: &'a Transducer, final_label: i32, max_bytes: usize) -> Self {
        let none = || vec![NONE; it.num_states()];
        Self {
            it,
            final_label,
            max_bytes,
            order: none(),
            low: none(),
            component: none(),
            visited: 0,
            open: Vec::new(),
            path: Vec::new(),
            ends: Vec::new(),
            intervals: Vec::new(),
        }
    }

    /// Visits all states behind one.
    fn visit(&mut self, state: u32) -> Result<(), Error> {
        self.enter(state);
        while let Some((state, done)) = self.path.last_mut() {
            let state = *state;
            let arcs = self.it.arcs(state);
            if let Some(arc) = arcs.get(*done) {
                *done += 1;
                let dest = arc.dest as usize;
                if arc.olabel != EPSILON {
                } else if self.order[dest] == NONE {
                    self.enter(arc.dest);
                } else if self.component[dest] == NONE {
                    let low = &mut self.low[state as usize];
                    *low = (*low).min(self.order[dest]);
                }
                continue;
            }
            self.path.pop();
            let low = self.low[state as usize];
            if let Some(&(parent, _)) = self.path.last() {
                let of_parent = &mut self.low[parent as usize];
                *of_parent = (*of_parent).min(low);
            }
            if low == self.order[state as usize] {
                self.close(state)?;
            }
        }
        Ok(())
    }

    fn enter(&mut self, state: u32) {
        self.order[state as usize] = self.visited;
        self.low[state as usize] = self.visited;
        self.visited += 1;
        self.open.push(state);
        self.path.push((state, 0));
    }

    /// Ends the component whose first state is this one.
    fn close(&mut self, first: u32) -> Result<(), Error> {
        let begin = self.open.iter().rposition(|&state| state == first).unwrap_or(0);
        let members = self.open.split_off(begin);
        let component = number(self.ends.len());
        members.iter().for_each(|&state| self.component[state as usize] = component);
        let mut set: Vec<Interval> = Vec::new();
        let mut most = LEAST_MERGED;
        for &state in &members {
            if self.it.final_cost(state) < f32::INFINITY {
                add(&mut set, [self.final_label, self.final_label + 1]);
            }
            for arc in self.it.arcs(state) {
                match arc.olabel {
                    EPSILON if self.component[arc.dest as usize] == component => {}
                    EPSILON => {
                        let reached = self.set(self.component[arc.dest as usize]);
                        reached.iter().for_each(|&interval| add(&mut set, interval));
                    }
                    label => add(&mut set, [label, label.saturating_add(1)]),
                }
                if set.len() > most {
                    merge(&mut set);
                    self.check(size_of_val(&set[..]))?;
                    most = most.max(2 * set.len());
                }
            }
        }
        merge(&mut set);
        self.intervals.extend(set);
        self.ends.push(self.intervals.len());
        self.check(0)
    }

    fn set(&self, component: u32) -> &[Interval] {
        let first = component.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.intervals[first..self.ends[component as usize]]
    }

    /// Checks the size with `more` bytes.
    fn check(&self, more: usize) -> Result<(), Error> {
        let needed = size_of_val(&self.intervals[..]) + more;
        if needed <= self.max_bytes {
            return Ok(());
        }
        Err(Error::Limit {
            operation: Operation::LookAhead,
            limited: Limited::Bytes,
            limit: self.max_bytes,
            needed,
            states: self.it.num_states(),
            arcs: self.it.num_arcs(),
        })
    }
}
