//! The best paths, as many as wanted, of FSAs with or without cycles.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ragged_core::{Ragged, RaggedShape, RowSplits};

use super::machine::{Machine, for_each};
use super::numbers::number;
use super::potentials::{Entering, costs_to};
use crate::arc::index;
use crate::view::FsaView;
use crate::{EPSILON, Error, FINAL, Fsas, Graph};

/// Which paths count as different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unique {
    /// All that differ in an arc.
    #[default]
    Paths,
    /// Those with different labels, epsilons left out: the best path of each string.
    Labels,
    /// Those that put out different labels, epsilons left out: the best path of each string.
    AuxLabels,
}

/// The `n` best paths of each FSA, the best first, as `[fsa][path][arc]`: places of arcs. Fewer if there are fewer.
///
/// The FSA may have cycles, epsilons, and several paths for a string: with [`Unique`] strings, those paths are followed together, and
/// what cannot become one of the `n` best is never looked at (A* with the exact distances to the final state). O(arcs * log(arcs)) for the distances,
/// and then in proportion to the paths found. Order and choice are exact up to the rounding of f32; ties are broken the same way every time.
///
/// ```
/// use fsa::{Arc, Fsa, Graph, optimize::{Unique, shortest_paths}};
///
/// // Any number of 7s, each at a cost.
/// let arcs = [Arc::new(0, 0, 7, -1.0), Arc::new(0, 0, 7, -1.5), Arc::new(0, 1, -1, 0.0)];
/// let graph = Graph::new(Fsa::from_arcs(2, arcs.to_vec())?);
/// let paths = shortest_paths(&graph, 3, Unique::Labels)?;
/// assert_eq!(paths.rows().collect::<Vec<_>>(), [&[2][..], &[0, 2], &[0, 0, 2]]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::EndlessCycle`]: there is no best path. [`Error::Attribute`] if the labels put out are lists, or are asked for and not there.
#[doc(alias = "fstshortestpath")]
pub fn shortest_paths<F: Fsas>(graph: &Graph<F>, n: usize, unique: Unique) -> Result<Ragged<i32>, Error> {
    let found = for_each(graph, |fsa, machine| {
        if unique == Unique::AuxLabels && machine.aux.is_none() {
            return Err(Error::Attribute { what: "paths with different labels put out need aux_labels" });
        }
        Search::new(fsa, machine, unique)?.map_or(Ok(vec![]), |search| search.run(n))
    })?;
    let (mut paths, mut ends, mut arcs) = (vec![0], vec![0], Vec::new());
    for (one, first) in found.iter().zip(graph.fsas().as_vec().iter().map(|fsa| fsa.first_arc())) {
        for path in one {
            for &arc in path {
                arcs.push(Error::fit("the number of arcs", first + arc as usize)?);
            }
            ends.push(Error::fit("the number of arcs of paths", arcs.len())?);
        }
        paths.push(Error::fit("the number of paths", ends.len() - 1)?);
    }
    Ok(Ragged::new(RaggedShape::new([RowSplits::new(paths)?, RowSplits::new(ends)?])?, arcs)?)
}

/// A path from the start, as its last arc and the path before it.
#[derive(Debug, Clone, Copy)]
struct Step {
    state: u32,
    /// The last arc.
    arc: u32,
    /// The place of the path before it.
    before: u32,
    /// The number of arcs.
    length: u32,
    cost: f64,
}

/// A cycle of epsilons with the sum 0 must not seem to gain something; costs are f32, and added as f64.
const ROUNDING: f64 = 1e-12;

/// Not a place.
const NONE: u32 = u32::MAX;

/// What is looked at next: the paths with the same string, which stand behind each other.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    /// The cost of the best whole path that begins so.
    cost: f64,
    /// The number of its arcs: around cycles that cost nothing, the short way comes first.
    length: u32,
    /// Where the paths stand. Later ones come first, as they are nearer to the end.
    steps: Reverse<(u32, u32)>,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.cost.total_cmp(&other.cost).then(self.length.cmp(&other.length)).then(self.steps.cmp(&other.steps))
    }
}

struct Search<'a> {
    machine: Machine<'a>,
    unique: Unique,
    last: u32,
    /// From each state to the final one.
    costs: Vec<f32>,
    /// The number of arcs of a best path from each state.
    lengths: Vec<u32>,
    steps: Vec<Step>,
    queue: BinaryHeap<Reverse<Candidate>>,
    /// For each state, its place in the group that is being made.
    place: Vec<u32>,
}

impl<'a> Search<'a> {
    /// `None` if there is no path.
    fn new(fsa: usize, machine: Machine<'a>, unique: Unique) -> Result<Option<Self>, Error> {
        let view = machine.fsa;
        let Some(last) = view.final_state() else { return Ok(None) };
        let ends: Vec<_> = (0..view.num_states()).map(|state| view.arc_range(state).end).collect();
        let entering = Entering::new(&ends, view.arcs());
        let costs = costs_to(fsa, last, &entering)?;
        if costs[0] == f32::INFINITY {
            return Ok(None);
        }
        let lengths = lengths(view, last, &entering, &costs);
        let place = vec![NONE; view.num_states()];
        Ok(Some(Self {
            machine,
            unique,
            last: number(last),
            costs,
            lengths,
            steps: Vec::new(),
            queue: BinaryHeap::new(),
            place,
        }))
    }

    fn run(mut self, n: usize) -> Result<Vec<Vec<u32>>, Error> {
        let mut found: Vec<u32> = Vec::new();
        let start = Step { state: 0, arc: NONE, before: NONE, length: 0, cost: 0.0 };
        self.group(vec![start])?;
        let mut next: Vec<(i32, Step)> = Vec::new();
        while found.len() < n
            && let Some(Reverse(candidate)) = self.queue.pop()
        {
            let Reverse((first, end)) = candidate.steps;
            if self.steps[first as usize].state == self.last {
                found.push(first);
                continue;
            }
            next.clear();
            for before in first..end {
                let step = self.steps[before as usize];
                let arcs = self.machine.fsa.arc_range(step.state as usize);
                next.extend(
                    arcs.filter_map(|arc| self.follow(step, before, arc)).filter(|(label, _)| *label != EPSILON),
                );
            }
            if self.unique == Unique::Paths {
                for (_, step) in &next {
                    self.group(vec![*step])?;
                }
                continue;
            }
            next.sort_by(|(label, a), (other, b)| {
                label.cmp(other).then(a.state.cmp(&b.state)).then(a.cost.total_cmp(&b.cost))
            });
            next.dedup_by(|(label, a), (other, b)| label == other && a.state == b.state);
            for group in next.chunk_by(|a, b| a.0 == b.0) {
                self.group(group.iter().map(|(_, step)| *step).collect())?;
            }
        }
        found.sort_by(|&a, &b| self.steps[a as usize].cost.total_cmp(&self.steps[b as usize].cost));
        Ok(found.into_iter().map(|path| self.arcs_of(path)).collect())
    }

    /// The path with one more arc, and what it counts as: [`EPSILON`] if it changes no string.
    fn follow(&self, step: Step, before: u32, arc: usize) -> Option<(i32, Step)> {
        let it = &self.machine.fsa.arcs()[arc];
        let state = it.dest_state.cast_unsigned();
        let label = match self.unique {
            _ if it.label == FINAL => FINAL,
            Unique::Paths => FINAL,
            Unique::Labels => it.label,
            Unique::AuxLabels => self.machine.output(arc),
        };
        let step = Step {
            state,
            arc: number(arc),
            before,
            length: step.length.saturating_add(1),
            cost: step.cost - f64::from(it.score),
        };
        (self.costs[state as usize] < f32::INFINITY && step.cost < f64::INFINITY).then_some((label, step))
    }

    /// Takes in paths with the same string into different states, and those that epsilons add to them.
    fn group(&mut self, mut steps: Vec<Step>) -> Result<(), Error> {
        let first = self.steps.len();
        if self.unique != Unique::Paths {
            self.add_epsilons(&mut steps, first);
        }
        self.steps.append(&mut steps);
        let end = Error::fit("the number of paths looked at", self.steps.len())?.cast_unsigned();
        let whole = self.steps[first..].iter().map(|step| {
            let state = step.state as usize;
            (step.cost + f64::from(self.costs[state]), step.length.saturating_add(self.lengths[state]))
        });
        let best = whole.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if let Some((cost, length)) = best {
            self.queue.push(Reverse(Candidate { cost, length, steps: Reverse((number(first), end)) }));
        }
        Ok(())
    }

    /// Follows epsilons, which are to stand at `first` and behind; each state keeps its best path.
    fn add_epsilons(&mut self, steps: &mut Vec<Step>, first: usize) {
        let is_epsilon = |search: &Self, arc: usize| {
            let it = &search.machine.fsa.arcs()[arc];
            let label = if search.unique == Unique::Labels { it.label } else { search.machine.output(arc) };
            it.label != FINAL && label == EPSILON
        };
        let any = |step: &Step| self.machine.fsa.arc_range(step.state as usize).any(|arc| is_epsilon(self, arc));
        if !steps.iter().any(any) {
            return;
        }
        for (at, step) in steps.iter().enumerate() {
            self.place[step.state as usize] = number(at);
        }
        let mut queue: VecDeque<usize> = (0..steps.len()).collect();
        let mut waiting = vec![true; steps.len()];
        while let Some(at) = queue.pop_front() {
            waiting[at] = false;
            let step = steps[at];
            for arc in self.machine.fsa.arc_range(step.state as usize) {
                if !is_epsilon(self, arc) {
                    continue;
                }
                let Some((_, new)) = self.follow(step, number(first + at), arc) else { continue };
                let place = self.place[new.state as usize];
                let to = if place == NONE {
                    self.place[new.state as usize] = number(steps.len());
                    steps.push(new);
                    waiting.push(false);
                    steps.len() - 1
                } else if new.cost < steps[place as usize].cost - ROUNDING * steps[place as usize].cost.abs().max(1.0) {
                    steps[place as usize] = new;
                    place as usize
                } else {
                    continue;
                };
                if !std::mem::replace(&mut waiting[to], true) {
                    queue.push_back(to);
                }
            }
        }
        steps.iter().for_each(|step| self.place[step.state as usize] = NONE);
    }

    fn arcs_of(&self, path: u32) -> Vec<u32> {
        let mut arcs = Vec::new();
        let mut step = self.steps[path as usize];
        while step.before != NONE {
            arcs.push(step.arc);
            step = self.steps[step.before as usize];
        }
        arcs.reverse();
        arcs
    }
}

/// The number of arcs of a best path from each state: a walk backwards over arcs that are on best paths.
fn lengths(view: FsaView<'_>, last: usize, entering: &Entering<'_>, costs: &[f32]) -> Vec<u32> {
    // What costs_to takes for equal.
    const NEAR: f32 = 8.0 * f32::EPSILON;
    let mut lengths = vec![NONE; costs.len()];
    lengths[last] = 0;
    let mut queue = VecDeque::from([last]);
    while let Some(state) = queue.pop_front() {
        for &arc in entering.of(state) {
            let arc = &view.arcs()[arc as usize];
            let source = index(arc.src_state);
            let through = costs[state] - arc.score;
            if lengths[source] == NONE && through - costs[source] <= NEAR * through.abs().max(costs[source].abs()) {
                lengths[source] = lengths[state] + 1;
                queue.push_back(source);
            }
        }
    }
    lengths
}
