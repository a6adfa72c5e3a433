//! Scores of states in graphs of any kind, with cycles.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use kaldera_base::math::log_add;

use crate::core::arc::Arc;
use crate::core::each_fsa::{by_states, for_each_with};
use crate::core::fsa::Fsas;
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::paths::passes::{backward_best, backward_log, best_leaving, forward_best, forward_log};
use crate::support::adjacency::Grouped;
use crate::support::ids::number;
use crate::support::sweep::{FEW_SWEEPS, sweep};
use crate::support::walks::find_circle;

/// Returns the score of all paths, or of the best one, from the start of its FSA to each state;
/// -inf if there is none. Cycles are allowed.
///
/// States are visited in the order of their strongly connected components, and so the states of an
/// FSA without cycles just once. Within a component of several states the best scores are found
/// from the highest down if no score is above 0 (E. W. Dijkstra), else from the first found to the
/// last; sums of all paths go round until they change by no more than `delta`, and self-loops are
/// summed up exactly (M. Mohri, *Semiring frameworks and algorithms for shortest-distance
/// problems*, 2002). O(states + arcs) without cycles; with cycles, times the number of rounds.
///
/// ```
/// use fsa::{Arc, Fsa, Semiring};
/// use fsa::paths::shortest_distance;
///
/// let half = 0.5_f32.ln();
/// let fsa = Fsa::from_arcs(2, vec![Arc::new(0, 0, 7, half), Arc::new(0, 1, -1, half)])?;
/// let scores = shortest_distance(&fsa, Semiring::Log, 1e-9)?;
/// assert!((scores[0] - 2_f64.ln()).abs() < 1e-6 && scores[1].abs() < 1e-6);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::EndlessCycle`] if there is a cycle around which the best score rises, or the sum does
/// not converge; it is found with bounded work.
#[doc(alias = "ShortestDistance")]
pub fn shortest_distance<F: Fsas>(fsas: &F, semiring: Semiring, delta: f64) -> Result<Vec<f64>, Error> {
    distances(fsas, semiring, delta, Direction::FromStart)
}

/// Returns the score of all paths, or of the best one, from each state to the final one of its FSA;
/// otherwise as [`shortest_distance`].
///
/// # Errors
/// As [`shortest_distance`].
pub fn reverse_shortest_distance<F: Fsas>(fsas: &F, semiring: Semiring, delta: f64) -> Result<Vec<f64>, Error> {
    distances(fsas, semiring, delta, Direction::ToFinal)
}

fn distances<F: Fsas>(fsas: &F, semiring: Semiring, delta: f64, direction: Direction) -> Result<Vec<f64>, Error> {
    let fsas = fsas.as_fsa_vec();
    let mut scores = vec![f64::NEG_INFINITY; fsas.num_states()];
    for_each_with(fsas, by_states(fsas, &mut scores), |i, fsa, scores| {
        of_one(i, fsa, semiring, delta, direction, 0.0, scores)
    })?;
    Ok(scores)
}

/// Direction of a pass over the states of one FSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    FromStart,
    ToFinal,
}

/// The score of all paths, or of the best one, from the start to each state of one FSA, or from
/// each to the final one, for scores that were rounded: a cycle with the sum 0 gains nothing.
///
/// # Errors
/// [`Error::EndlessCycle`].
pub(crate) fn distances_of_one(
    i: usize,
    fsa: FsaView<'_>,
    semiring: Semiring,
    direction: Direction,
) -> Result<Vec<f64>, Error> {
    /// Single precision, in which the sums end up, has no digits below this.
    const DELTA: f64 = 1e-9;
    let mut scores = vec![f64::NEG_INFINITY; fsa.num_states()];
    of_one(i, fsa, semiring, DELTA, direction, ROUNDING, &mut scores)?;
    Ok(scores)
}

/// The relative error of sums of scores that were rounded.
pub(crate) const ROUNDING: f64 = 4.0 * f32::EPSILON as f64;

/// Returns `true` if a score is above the one before, by more than `rounding` times the largest of
/// both and of the score of the last arc: around a level cycle the sum may end near 0.
#[inline]
pub(crate) fn gains(score: f64, before: f64, last_arc: f64, rounding: f64) -> bool {
    let largest = score.abs().max(before.abs()).max(last_arc.abs());
    score > before && (before == f64::NEG_INFINITY || score - before > rounding * largest)
}

fn of_one(
    i: usize,
    fsa: FsaView<'_>,
    semiring: Semiring,
    delta: f64,
    direction: Direction,
    rounding: f64,
    scores: &mut [f64],
) -> Result<(), Error> {
    if goes_on(fsa) {
        return match (direction, semiring) {
            (Direction::FromStart, Semiring::Log) => forward_log(i, fsa, scores),
            (Direction::FromStart, Semiring::Tropical) => forward_best(i, fsa, scores, &mut vec![-1; fsa.num_states()]),
            (Direction::ToFinal, Semiring::Log) => backward_log(i, fsa, scores),
            (Direction::ToFinal, Semiring::Tropical) => backward_best(i, fsa, scores),
        };
    }
    if (direction, semiring) == (Direction::ToFinal, Semiring::Tropical) {
        if best_in_few_sweeps(fsa, rounding, scores).is_some() {
            return Ok(());
        }
        scores.fill(f64::NEG_INFINITY);
    }
    let links = links(fsa, direction);
    let start = if direction == Direction::FromStart { 0 } else { fsa.num_states() - 1 };
    Search::new(i, &links, rounding, scores).run(start, semiring, delta)
}

/// Returns `true` if all arcs go to later states.
fn goes_on(fsa: FsaView<'_>) -> bool {
    fsa.arcs().iter().all(|arc| arc.dest_state > arc.src_state)
}

/// Returns the best score from each state to the final one, and the first arc of a best path;
/// [`NO_ARC`] at the final state and if there is no path. The arcs never lead round a cycle.
pub(super) fn best_to_final(i: usize, fsa: FsaView<'_>) -> Result<(Vec<f64>, Vec<u32>), Error> {
    let mut scores = vec![f64::NEG_INFINITY; fsa.num_states()];
    let Some(last) = fsa.final_state() else { return Ok((scores, vec![])) };
    if goes_on(fsa) {
        backward_best(i, fsa, &mut scores)?;
        let best = |state| best_leaving(fsa, state, &scores).map_or(NO_ARC, number);
        let via = (0..=last).map(best).collect();
        return Ok((scores, via));
    }
    if let Some(via) = best_in_few_sweeps(fsa, 0.0, &mut scores) {
        return Ok((scores, via));
    }
    scores.fill(f64::NEG_INFINITY);
    let links = links(fsa, Direction::ToFinal);
    let mut search = Search::new(i, &links, 0.0, &mut scores);
    search.run(last, Semiring::Tropical, 0.0)?;
    let via = search.via.into_iter().map(|(_, arc)| arc).collect();
    Ok((scores, via))
}

/// [`best_to_final`] by going through the states from the last to the first, again and again, which
/// is quickest where arcs mostly lead to later states; `None` if that takes long, as it does with
/// some cycles.
fn best_in_few_sweeps(fsa: FsaView<'_>, rounding: f64, scores: &mut [f64]) -> Option<Vec<u32>> {
    let last = fsa.final_state()?;
    let mut via = vec![NO_ARC; scores.len()];
    scores[last] = 0.0;
    let entering = fsa.entering();
    let mut relax = |state: usize, changed: &mut dyn FnMut(usize)| {
        for &at in entering.row(state) {
            let arc = &fsa.arcs()[at as usize];
            let (source, score) = (arc.states().0, scores[state] + f64::from(arc.score));
            if gains(score, scores[source], f64::from(arc.score), rounding) {
                (scores[source], via[source]) = (score, at);
                changed(source);
            }
        }
    };
    let left = sweep(last, fsa.num_states(), FEW_SWEEPS, &mut relax);
    left.is_none().then_some(via)
}

/// Stands for no arc.
pub(super) const NO_ARC: u32 = u32::MAX;

/// A way from one state to another, in the direction of the search.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    to: u32,
    arc: u32,
    score: f32,
}

/// The arcs of each state in the direction of the search.
fn links(fsa: FsaView<'_>, direction: Direction) -> Grouped<Link> {
    let link = |(arc, it): (u32, &Arc)| {
        let (src, dest) = it.states();
        let (from, to) = if direction == Direction::FromStart { (src, dest) } else { (dest, src) };
        (from, Link { to: number(to), arc, score: it.score })
    };
    Grouped::group(fsa.num_states(), (0..).zip(fsa.arcs()).map(link))
}

/// Changes below this are never waited for: sums of logarithms have no more digits.
const LEAST_DELTA: f64 = 1e-14;
/// A sum that has not converged after so many visits to states, and [`MOST_VISITS_EACH`] for each
/// state, counts as endless.
const MOST_VISITS: u64 = 1_000_000;
const MOST_VISITS_EACH: u64 = 10_000;

/// Search through one FSA.
struct Search<'a> {
    fsa: usize,
    links: &'a Grouped<Link>,
    /// The share of a score by which a better one has to be above it.
    rounding: f64,
    scores: &'a mut [f64],
    /// For each state, the source and the arc of its best score.
    via: Vec<(u32, u32)>,
    /// For each state the number of its component, in the order in which components are found.
    components: Vec<u32>,
    /// For each state its index in its component.
    places: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(fsa: usize, links: &'a Grouped<Link>, rounding: f64, scores: &'a mut [f64]) -> Self {
        let via = vec![(0, NO_ARC); scores.len()];
        let (components, places) = (vec![UNSEEN; scores.len()], vec![0; scores.len()]);
        Self { fsa, links, rounding, scores, via, components, places }
    }

    fn run(&mut self, start: usize, semiring: Semiring, delta: f64) -> Result<(), Error> {
        let (states, ends) = self.find_components(start);
        self.scores[start] = 0.0;
        let mut end = states.len();
        // Components that are reached last are closed first.
        for &first in ends.iter().rev().skip(1) {
            let component = &states[first..end];
            end = first;
            match (semiring, component) {
                (Semiring::Tropical, &[state]) => self.check_loops(state)?,
                (Semiring::Tropical, _) => self.best_within(component)?,
                (Semiring::Log, &[state]) => self.scores[state] += self.loops(state)?,
                (Semiring::Log, _) => self.sum_within(component, delta.max(LEAST_DELTA))?,
            }
            for &state in component {
                for link in self.links.row(state) {
                    if !self.stays(state, link) {
                        self.reach(semiring, state, link);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the paths over `link` to the score of its end.
    fn reach(&mut self, semiring: Semiring, from: usize, link: &Link) -> bool {
        let score = self.scores[from] + f64::from(link.score);
        let to = &mut self.scores[link.to as usize];
        match semiring {
            Semiring::Log => *to = log_add(*to, score),
            Semiring::Tropical if gains(score, *to, f64::from(link.score), self.rounding) => {
                *to = score;
                self.via[link.to as usize] = (number(from), link.arc);
                return true;
            }
            Semiring::Tropical => {}
        }
        false
    }

    fn endless(&self, state: usize, visits: u64) -> Error {
        Error::EndlessCycle { fsa: self.fsa, state, visits }
    }

    /// Checks that the loops of a state do not make its score better.
    fn check_loops(&self, state: usize) -> Result<(), Error> {
        let rounding = self.rounding * self.scores[state].max(f64::MIN).abs();
        let rises = |link: &Link| link.to as usize == state && f64::from(link.score) > rounding;
        if self.links.row(state).iter().any(rises) { Err(self.endless(state, 1)) } else { Ok(()) }
    }

    /// Returns the score added by going round the loops of a state any number of times: -ln(1 - Σ
    /// e^score).
    fn loops(&self, state: usize) -> Result<f64, Error> {
        let loops = self.links.row(state).iter().filter(|link| link.to as usize == state);
        let sum = loops.fold(f64::NEG_INFINITY, |sum, link| log_add(sum, f64::from(link.score)));
        if sum < 0.0 { Ok(-(-sum.exp()).ln_1p()) } else { Err(self.endless(state, 1)) }
    }

    /// Returns `true` if a link from a state stays in its component.
    #[inline]
    fn stays(&self, state: usize, link: &Link) -> bool {
        self.components[link.to as usize] == self.components[state]
    }

    /// Computes the best scores within a component; other components have led to some of its
    /// states.
    fn best_within(&mut self, component: &[usize]) -> Result<(), Error> {
        let links = self.links;
        let rises = |&state: &usize| links.row(state).iter().any(|link| link.score > 0.0 && self.stays(state, link));
        let rises = component.iter().any(rises);
        let reached = component.iter().copied().filter(|&state| self.scores[state] > f64::NEG_INFINITY);
        if rises {
            let queue = reached.collect();
            return self.first_to_last(component, queue);
        }
        let mut heap: BinaryHeap<_> = reached.map(|state| Best(self.scores[state], state)).collect();
        while let Some(Best(score, state)) = heap.pop() {
            if score < self.scores[state] {
                continue;
            }
            for link in links.row(state) {
                if self.stays(state, link) && self.reach(Semiring::Tropical, state, link) {
                    heap.push(Best(self.scores[link.to as usize], link.to as usize));
                }
            }
        }
        Ok(())
    }

    /// Does the same if scores may rise on the way: visits the states whose scores changed, from
    /// the first to the last.
    fn first_to_last(&mut self, component: &[usize], mut queue: VecDeque<usize>) -> Result<(), Error> {
        let links = self.links;
        let mut queued = vec![false; component.len()];
        queue.iter().for_each(|&state| queued[self.places[state] as usize] = true);
        let mut visits = 0;
        while let Some(state) = queue.pop_front() {
            queued[self.places[state] as usize] = false;
            visits += 1;
            if visits % component.len() as u64 == 0 {
                self.check_ways(component, visits)?;
            }
            for link in links.row(state) {
                let to = link.to as usize;
                if self.stays(state, link)
                    && self.reach(Semiring::Tropical, state, link)
                    && !std::mem::replace(&mut queued[self.places[to] as usize], true)
                {
                    queue.push_back(to);
                }
            }
        }
        Ok(())
    }

    /// Checks that the links of the best scores do not form a cycle, as they do once a cycle makes
    /// scores better.
    fn check_ways(&self, component: &[usize], visits: u64) -> Result<(), Error> {
        let before = |at: usize| {
            let (before, arc) = self.via[component[at]];
            let stays = arc != NO_ARC && self.components[before as usize] == self.components[component[at]];
            stays.then(|| self.places[before as usize] as usize)
        };
        find_circle(component.len(), before).map_or(Ok(()), |at| Err(self.endless(component[at], visits)))
    }

    /// Computes the sums of all paths within a component; other components have led to some of its
    /// states.
    fn sum_within(&mut self, component: &[usize], delta: f64) -> Result<(), Error> {
        let links = self.links;
        let most = MOST_VISITS + MOST_VISITS_EACH * component.len() as u64;
        let around = component.iter().map(|&state| self.loops(state)).collect::<Result<Vec<_>, _>>()?;
        // Score that has arrived at a state and has not been passed on.
        let mut waiting: Vec<_> = component.iter().map(|&state| self.scores[state]).collect();
        component.iter().for_each(|&state| self.scores[state] = f64::NEG_INFINITY);
        let mut queued: Vec<_> = waiting.iter().map(|&score| score > f64::NEG_INFINITY).collect();
        let mut queue: VecDeque<_> = (0..component.len()).filter(|&at| queued[at]).collect();
        let mut visits = 0;
        while let Some(at) = queue.pop_front() {
            queued[at] = false;
            let state = component[at];
            visits += 1;
            if visits > most {
                return Err(self.endless(state, visits));
            }
            let going = std::mem::replace(&mut waiting[at], f64::NEG_INFINITY) + around[at];
            self.scores[state] = log_add(self.scores[state], going);
            for link in links.row(state) {
                let to = link.to as usize;
                if to == state || !self.stays(state, link) {
                    continue;
                }
                let next = self.places[to] as usize;
                waiting[next] = log_add(waiting[next], going + f64::from(link.score));
                // A change up to `delta` is not passed on until more arrives.
                let change = log_add(self.scores[to], waiting[next] + around[next]) - self.scores[to];
                if change > delta && !std::mem::replace(&mut queued[next], true) {
                    queue.push_back(next);
                }
            }
        }
        for (at, &state) in component.iter().enumerate() {
            self.scores[state] = log_add(self.scores[state], waiting[at] + around[at]);
        }
        Ok(())
    }

    /// Returns the strongly connected components of the states that can be reached: the states of
    /// each consecutively, and where they end. A component comes after the components that it
    /// reaches (R. Tarjan, 1972).
    fn find_components(&mut self, start: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut states, mut ends) = (Vec::new(), vec![0]);
        // For each state its time of discovery, and the earliest discovered state that it leads
        // back to.
        let (mut found, mut earliest) = (vec![UNSEEN; self.scores.len()], vec![0; self.scores.len()]);
        let (mut open, mut path, mut time) = (Vec::new(), Vec::new(), 0);
        let mut entered = Some(start);
        loop {
            if let Some(state) = entered.take() {
                (found[state], earliest[state]) = (time, time);
                time += 1;
                open.push(state);
                path.push((state, 0));
            }
            let Some((state, next)) = path.last_mut() else { return (states, ends) };
            let state = *state;
            if let Some(link) = self.links.row(state).get(*next) {
                *next += 1;
                let to = link.to as usize;
                if found[to] == UNSEEN {
                    entered = Some(to);
                } else if self.components[to] == UNSEEN {
                    earliest[state] = earliest[state].min(found[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                earliest[before] = earliest[before].min(earliest[state]);
            }
            if earliest[state] == found[state] {
                while let Some(member) = open.pop() {
                    self.components[member] = number(ends.len());
                    self.places[member] = number(states.len() - ends[ends.len() - 1]);
                    states.push(member);
                    if member == state {
                        break;
                    }
                }
                ends.push(states.len());
            }
        }
    }
}

/// Number of a component that is not known yet.
const UNSEEN: u32 = u32::MAX;

/// A state in the order of scores.
#[derive(Debug, PartialEq)]
struct Best(f64, usize);

impl Eq for Best {}

impl PartialOrd for Best {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Best {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then_with(|| other.1.cmp(&self.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::Fsa;

    fn fsa(num_states: usize, arcs: &[(i32, i32, f32)]) -> Fsa {
        let last = i32::try_from(num_states).unwrap() - 1;
        let arcs = arcs.iter().map(|&(src, dest, score)| Arc::new(src, dest, if dest == last { -1 } else { 1 }, score));
        Fsa::from_arcs(num_states, arcs.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn cycles_that_rise_are_told() {
        // The cycle 1 -> 2 -> 1 adds a quarter.
        let rising = fsa(4, &[(0, 1, 0.0), (1, 2, -1.0), (1, 3, 0.0), (2, 1, 1.25)]);
        for distance in [shortest_distance::<Fsa>, reverse_shortest_distance] {
            for semiring in [Semiring::Tropical, Semiring::Log] {
                assert!(
                    matches!(distance(&rising, semiring, 1e-9), Err(Error::EndlessCycle { fsa: 0, .. })),
                    "{semiring:?}"
                );
            }
        }
        let rising = fsa(3, &[(0, 1, 0.0), (1, 1, 0.5), (1, 2, 0.0)]);
        assert!(matches!(
            shortest_distance(&rising, Semiring::Tropical, 0.0),
            Err(Error::EndlessCycle { state: 1, .. })
        ));
        // A cycle without gain is fine for the best score, but not for the sum.
        let level = fsa(4, &[(0, 1, 0.0), (1, 2, -1.25), (1, 3, 0.0), (2, 1, 1.25)]);
        assert_eq!(shortest_distance(&level, Semiring::Tropical, 0.0).unwrap(), [0.0, 0.0, -1.25, 0.0]);
        assert!(shortest_distance(&level, Semiring::Log, 0.0).is_err());
        // States that are not reached do not matter.
        let apart = fsa(4, &[(0, 3, 0.5), (1, 2, 1.0), (2, 1, 1.0)]);
        let inf = f64::NEG_INFINITY;
        assert_eq!(shortest_distance(&apart, Semiring::Tropical, 0.0).unwrap(), [0.0, inf, inf, 0.5]);
        assert_eq!(reverse_shortest_distance(&apart, Semiring::Log, 0.0).unwrap(), [0.5, inf, inf, 0.0]);
    }

    #[test]
    fn the_best_path_is_found_on_every_way() {
        let to_final = |num_states: usize, arcs: &[(i32, i32, f32)]| {
            distances_of_one(0, fsa(num_states, arcs).view(), Semiring::Tropical, Direction::ToFinal)
        };
        let inf = f64::NEG_INFINITY;
        let found = to_final(4, &[(0, 1, -1.0), (0, 2, -5.0), (1, 2, -1.0), (2, 3, -1.0)]);
        assert_eq!(found.unwrap(), [-3.0, -2.0, -1.0, 0.0]);
        let found = to_final(4, &[(0, 1, -1.0), (1, 0, 0.5), (1, 2, 1.0), (2, 3, 1.0)]);
        assert_eq!(found.unwrap(), [1.0, 2.0, 1.0, 0.0]);
        assert_eq!(to_final(4, &[(0, 1, 0.0), (1, 0, 0.0), (2, 3, 0.0)]).unwrap()[..2], [inf; 2]);
        assert!(matches!(to_final(3, &[(0, 1, 1.0), (1, 0, -0.5), (1, 2, 0.0)]), Err(Error::EndlessCycle { .. })));
        // A cycle whose sum is 0 but for rounding.
        let level = fsa(5, &[(0, 1, 1.0), (1, 2, -0.1), (1, 4, 5.0), (2, 3, -0.2), (3, 1, 0.3)]);
        assert!(f64::from(0.3_f32) - f64::from(0.1_f32) - f64::from(0.2_f32) > 0.0);
        for direction in [Direction::ToFinal, Direction::FromStart] {
            let found = distances_of_one(0, level.view(), Semiring::Tropical, direction).unwrap();
            assert_eq!(found[1], if direction == Direction::ToFinal { 5.0 } else { 1.0 });
        }
        assert!(reverse_shortest_distance(&level, Semiring::Tropical, 0.0).is_err());
        // A chain against the order of the states, through more sweeps than are made.
        let n = 60_i16;
        let mut arcs = vec![(0, i32::from(n), -1.0)];
        arcs.extend((1..=n).map(|i| (i32::from(i), if i == 1 { i32::from(n) + 1 } else { i32::from(i) - 1 }, -1.0)));
        let found = to_final(usize::try_from(n).unwrap() + 2, &arcs).unwrap();
        assert_eq!((found[0], found[1]), (-f64::from(n) - 1.0, -1.0));
    }

    #[test]
    fn no_states_have_no_scores() {
        assert_eq!(shortest_distance(&Fsa::empty(), Semiring::Log, 0.0), Ok(vec![]));
        let inf = f64::NEG_INFINITY;
        assert_eq!(reverse_shortest_distance(&fsa(2, &[]), Semiring::Tropical, 0.0), Ok(vec![inf, 0.0]));
    }
}
