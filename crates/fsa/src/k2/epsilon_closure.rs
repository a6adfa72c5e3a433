//! The states that epsilons reach.

use kaldera_base::math::log_add;

use crate::core::arc::EPSILON;
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::ids::{id, index};

/// Finds for one state after another the states that epsilons reach from it, and the scores of the
/// paths.
pub(crate) struct Closures {
    /// Index of the FSA in its vector, and of its first arc among all arcs.
    fsa: usize,
    first_arc: usize,
    semiring: Semiring,
    /// The epsilon arcs of each state: their destinations, scores and indexes.
    splits: Vec<usize>,
    epsilons: Vec<Epsilon>,
    /// An order in which epsilons lead to later states, as far as there is one.
    ranks: Vec<i32>,
    acyclic: bool,
    /// The states reached from the present one, and for each state its index among them, or
    /// [`NOWHERE`].
    found: Vec<Found>,
    places: Vec<u32>,
    /// Number of visits of the last walk.
    visits: u64,
}

#[derive(Clone, Copy)]
struct Epsilon {
    dest: u32,
    arc: u32,
    score: f64,
}

#[derive(Clone, Copy)]
struct Found {
    state: u32,
    /// Last arc of the best path, and the index of its source; [`NOWHERE`] for the first state.
    arc: u32,
    before: u32,
    score: f64,
    /// In the log semiring: sum that was added since the state was last left.
    new: f64,
}

const NOWHERE: u32 = u32::MAX;
const NONE: f64 = f64::NEG_INFINITY;

/// Sums that grow by less than this part of themselves are complete.
const NEGLIGIBLE: f64 = -40.0;

/// Number of rounds after which sums around cycles that are not complete are taken as endless.
const MOST_ROUNDS: usize = 100_000;

impl Closures {
    pub(crate) fn new(i: usize, fsa: FsaView<'_>, semiring: Semiring) -> Self {
        let num_states = fsa.num_states();
        let mut splits = Vec::with_capacity(num_states + 1);
        splits.push(0);
        let mut epsilons = Vec::new();
        for state in 0..num_states {
            let row = fsa.arcs_of(state).iter().zip(id(fsa.arc_range(state).start)..);
            let row = row.filter(|(arc, _)| arc.label == EPSILON);
            epsilons.extend(row.map(|(arc, at)| Epsilon {
                dest: arc.dest_state.cast_unsigned(),
                arc: at.cast_unsigned(),
                score: arc.score.into(),
            }));
            splits.push(epsilons.len());
        }
        let places = vec![NOWHERE; num_states];
        let dest = |epsilon: &Epsilon| index(epsilon.dest.cast_signed());
        let (ranks, acyclic) = ranks(num_states, |state| epsilons[splits[state]..splits[state + 1]].iter().map(dest));
        let first_arc = fsa.first_arc();
        Self { fsa: i, first_arc, semiring, splits, epsilons, ranks, acyclic, found: vec![], places, visits: 0 }
    }

    /// Finds the states that epsilons reach from `source`, which is the first of them, and returns
    /// their number.
    ///
    /// # Errors
    /// [`Error::EndlessCycle`].
    pub(crate) fn find_from(&mut self, source: usize) -> Result<usize, Error> {
        let found = |state| Found { state, arc: NOWHERE, before: NOWHERE, score: NONE, new: NONE };
        self.found.clear();
        self.found.push(found(id(source).cast_unsigned()));
        self.places[source] = 0;
        let mut at = 0;
        while at < self.found.len() {
            let state = index(self.found[at].state.cast_signed());
            for epsilon in &self.epsilons[self.splits[state]..self.splits[state + 1]] {
                let place = &mut self.places[index(epsilon.dest.cast_signed())];
                if *place == NOWHERE {
                    *place = 0;
                    self.found.push(found(epsilon.dest));
                }
            }
            at += 1;
        }
        if self.found.len() > 2 {
            let ranks = &self.ranks;
            self.found[1..].sort_unstable_by_key(|found| ranks[index(found.state.cast_signed())]);
        }
        for (found, place) in self.found.iter().zip(0..) {
            self.places[index(found.state.cast_signed())] = place;
        }
        (self.found[0].score, self.found[0].new) = (0.0, 0.0);
        let complete = match self.semiring {
            Semiring::Tropical => self.best_ways(),
            Semiring::Log => self.all_ways(),
        };
        for found in &self.found {
            self.places[index(found.state.cast_signed())] = NOWHERE;
        }
        if !complete {
            return Err(Error::EndlessCycle { fsa: self.fsa, state: source, visits: self.visits });
        }
        Ok(self.found.len())
    }

    /// Returns the state found at this index, and the score of the best path to it, or of all
    /// paths.
    pub(crate) fn found(&self, place: usize) -> (usize, f64) {
        let Found { state, score, .. } = self.found[place];
        (index(state.cast_signed()), score)
    }

    /// One round is enough if there are no cycles; if scores still grow after as many rounds as
    /// there are states, they always will.
    fn best_ways(&mut self) -> bool {
        for round in 0..=self.found.len() {
            let mut grew = false;
            for at in 0..self.found.len() {
                let Found { state, score, .. } = self.found[at];
                let state = index(state.cast_signed());
                for epsilon in &self.epsilons[self.splits[state]..self.splits[state + 1]] {
                    let place = self.places[index(epsilon.dest.cast_signed())];
                    let dest = &mut self.found[index(place.cast_signed())];
                    let way = score + epsilon.score;
                    if way > dest.score || (dest.arc == NOWHERE && place != 0) {
                        (dest.score, dest.arc, dest.before) = (way, epsilon.arc, id(at).cast_unsigned());
                        grew = true;
                    }
                }
            }
            if self.acyclic || !grew {
                return true;
            }
            self.visits = (round as u64 + 1) * self.found.len() as u64;
        }
        false
    }

    /// Passes on the sums that were added until they no longer count (M. Mohri, *Semiring
    /// frameworks and algorithms for shortest-distance problems*, 2002).
    fn all_ways(&mut self) -> bool {
        for round in 0..MOST_ROUNDS {
            let mut passed_on = false;
            for at in 0..self.found.len() {
                let Found { state, new, .. } = self.found[at];
                if new == NONE {
                    continue;
                }
                self.found[at].new = NONE;
                let state = index(state.cast_signed());
                for epsilon in &self.epsilons[self.splits[state]..self.splits[state + 1]] {
                    let place = self.places[index(epsilon.dest.cast_signed())];
                    let dest = &mut self.found[index(place.cast_signed())];
                    let way = new + epsilon.score;
                    if way > dest.score + NEGLIGIBLE {
                        dest.score = log_add(dest.score, way);
                        dest.new = log_add(dest.new, way);
                        passed_on = true;
                    }
                }
            }
            if self.acyclic || !passed_on {
                return true;
            }
            self.visits = (round as u64 + 1) * self.found.len() as u64;
        }
        false
    }

    /// Returns the last arc of the best path to the state found at this index, counted among all
    /// arcs, and the index of its source. Not for the first index.
    pub(crate) fn before(&self, place: usize) -> (usize, usize) {
        let Found { arc, before, .. } = self.found[place];
        (self.first_arc + index(arc.cast_signed()), index(before.cast_signed()))
    }
}

/// Returns ranks such that epsilons lead to higher ones, and `true` if that holds for all; states
/// on cycles and behind them share the highest one. `row` returns the destinations of the epsilons
/// of a state. O(states + epsilons).
pub(crate) fn ranks<I: Iterator<Item = usize>>(num_states: usize, row: impl Fn(usize) -> I) -> (Vec<i32>, bool) {
    if (0..num_states).all(|state| row(state).all(|dest| dest > state)) {
        return ((0..id(num_states)).collect(), true);
    }
    let mut entering = vec![0_u32; num_states];
    (0..num_states).flat_map(&row).for_each(|dest| entering[dest] += 1);
    let mut order: Vec<usize> = (0..num_states).filter(|&state| entering[state] == 0).collect();
    let mut at = 0;
    while let Some(&state) = order.get(at) {
        at += 1;
        for dest in row(state) {
            entering[dest] -= 1;
            if entering[dest] == 0 {
                order.push(dest);
            }
        }
    }
    let mut ranks = vec![i32::MAX; num_states];
    order.iter().zip(0..).for_each(|(&state, rank)| ranks[state] = rank);
    (ranks, order.len() == num_states)
}
