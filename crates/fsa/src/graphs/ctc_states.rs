//! The states of the composition of the topology of CTC with a graph of tokens.

use std::ops::Range;

use crate::core::arc::{Arc, EPSILON};
use crate::core::fsa::Fsa;
use crate::core::limits::Limits;
use crate::error::{Error, Operation, Quantity};
use crate::support::adjacency::Adjacency;
use crate::support::ids::number;
use crate::support::pair_interner::PairInterner;

/// For each state of the graph, the states of the composition, by the token that came last.
///
/// Where tokens lead (and at the start) there is one state after a blank and one for each of these
/// tokens, in which frames may stay. Where epsilons lead there are states in which no frame can
/// stay: frames have stayed before the epsilon, so that an alignment of a path is one path. One of
/// these has no token. There is one for each token that may have come last and with which an arc
/// goes on from there, before or behind further epsilons: only then it makes a difference.
pub(super) struct CtcStates {
    /// For each state of the composition the token that came last, [`EPSILON`] for blank. The
    /// entries of a state of the graph are consecutive: blank, then tokens in rising order; then
    /// the same for the states in which no frame can stay.
    lasts: Vec<i32>,
    /// For each state of the graph and one more, the offset of its states.
    starts: Vec<u32>,
    /// For each state of the graph, the offset of the states in which no frame can stay.
    passed: Vec<u32>,
    /// States of the graph and tokens that came last before an epsilon into them, from which only
    /// that token goes on.
    dead_ends: Vec<(usize, i32)>,
    /// For each arc of the graph the state of the composition in which its token has just come.
    dests: Vec<i32>,
    modified: bool,
}

impl CtcStates {
    pub(super) fn new(fsa: &Fsa, modified: bool, limits: Limits) -> Result<Self, Error> {
        let entered = Entered::new(fsa)?;
        let (passed, dead_ends) = passed(fsa, &entered, modified, limits)?;
        let num_states = fsa.num_states();
        let mut made = Self {
            lasts: Vec::with_capacity(num_states + entered.labels.len() + passed.len()),
            starts: Vec::with_capacity(num_states + 1),
            passed: Vec::with_capacity(num_states),
            dead_ends,
            dests: Vec::new(),
            modified,
        };
        let mut passed = passed.into_iter().peekable();
        for state in 0..num_states {
            made.starts.push(number(made.lasts.len()));
            if entered.emits(state) {
                made.lasts.push(EPSILON);
                made.lasts.extend_from_slice(entered.tokens(state));
            }
            made.passed.push(number(made.lasts.len()));
            made.lasts.extend(std::iter::from_fn(|| passed.next_if(|&(at, _)| at == state)).map(|(_, last)| last));
        }
        made.starts.push(number(made.lasts.len()));
        Error::fit(Quantity::States, made.lasts.len())?;
        drop(entered);
        made.dests = fsa.arcs().iter().map(|arc| made.dest(arc)).collect();
        Ok(made)
    }

    fn dest(&self, arc: &Arc) -> i32 {
        let state = arc.states().1;
        // States that cannot be reached from the start are missing.
        let heard = self.lasts[self.emitting(state)].get(1..).unwrap_or_default();
        let place = heard.binary_search(&arc.label).map_or(0, |place| place + 1);
        (self.starts[state] + number(place)).cast_signed()
    }

    /// Returns the number of states.
    pub(super) fn len(&self) -> usize {
        self.lasts.len()
    }

    pub(super) fn bytes(&self) -> usize {
        let numbers = self.lasts.capacity() + self.starts.capacity() + self.passed.capacity() + self.dests.capacity();
        numbers * size_of::<i32>()
    }

    /// Returns the states of a state of the graph.
    pub(super) fn range(&self, state: usize) -> Range<usize> {
        self.starts[state] as usize..self.starts[state + 1] as usize
    }

    /// Returns the states in which frames may stay.
    fn emitting(&self, state: usize) -> Range<usize> {
        self.starts[state] as usize..self.passed[state] as usize
    }

    /// Returns `true` if frames may stay in a state of the composition.
    pub(super) fn stays(&self, state: usize, at: usize) -> bool {
        self.emitting(state).contains(&at)
    }

    /// Returns the token that came last in a state of the composition.
    pub(super) fn last(&self, at: usize) -> i32 {
        self.lasts[at]
    }

    /// Returns the state after a blank.
    pub(super) fn blank(&self, state: usize) -> i32 {
        self.starts[state].cast_signed()
    }

    /// Returns the destination of an arc of the graph that has a token.
    pub(super) fn after_token(&self, arc: usize) -> i32 {
        self.dests[arc]
    }

    /// Returns the destination of an epsilon that enters `state`, if `last` came last; `None` if
    /// nothing goes on from there.
    pub(super) fn after_epsilon(&self, state: usize, last: i32) -> Option<i32> {
        let first = self.passed[state];
        let place = self.lasts[first as usize..self.starts[state + 1] as usize].binary_search(&last);
        let dead = place.is_err() && self.dead_ends.binary_search(&(state, last)).is_ok();
        (!dead).then(|| (first + number(place.unwrap_or(0))).cast_signed())
    }

    /// Returns `true` if the topology is the modified one.
    pub(super) fn is_modified(&self) -> bool {
        self.modified
    }

    /// Returns `true` if the arcs of the graph leave a state of the composition. In the modified
    /// topology all tokens go to blank first.
    pub(super) fn goes_on(&self, at: usize) -> bool {
        !self.modified || self.lasts[at] == EPSILON
    }

    /// Returns the number of arcs of the composition.
    pub(super) fn num_arcs(&self, fsa: &Fsa) -> usize {
        let view = fsa.view();
        let mut num_arcs = 0_usize;
        for state in 0..fsa.num_states() - 1 {
            let arcs = view.arcs_of(state);
            let tokens = arcs.iter().filter(|arc| arc.label > EPSILON).count();
            let all = arcs.len() + if self.modified { tokens } else { 0 };
            for at in self.range(state) {
                let last = self.lasts[at];
                num_arcs += match (self.stays(state, at), last) {
                    (false, _) => 0,
                    (true, EPSILON) => 1,
                    (true, _) => 2,
                };
                if self.goes_on(at) {
                    let left_out = |arc: &&Arc| match arc.label {
                        EPSILON => self.after_epsilon(arc.states().1, last).is_none(),
                        label => label == last,
                    };
                    num_arcs += all - if last == EPSILON { 0 } else { arcs.iter().filter(left_out).count() };
                }
            }
        }
        num_arcs
    }
}

/// The tokens of the arcs that enter each state of a graph, each once, in rising order.
pub(super) struct Entered {
    starts: Vec<usize>,
    labels: Vec<i32>,
}

impl Entered {
    pub(super) fn new(fsa: &Fsa) -> Result<Self, Error> {
        let (num_states, arcs) = (fsa.num_states(), fsa.arcs());
        let by_dest = Adjacency::new(num_states, arcs.iter().map(|arc| arc.states().1));
        let mut made = Self { starts: Vec::with_capacity(num_states + 1), labels: Vec::with_capacity(num_states) };
        made.starts.push(0);
        let mut entering = Vec::new();
        for state in 0..num_states {
            entering.clear();
            let labels = by_dest.row(state).iter().map(|&arc| arcs[arc as usize].label);
            entering.extend(labels.filter(|&label| label > EPSILON));
            entering.sort_unstable();
            entering.dedup();
            made.labels.extend_from_slice(&entering);
            made.starts.push(made.labels.len());
        }
        Error::fit(Quantity::States, num_states + made.labels.len())?;
        Ok(made)
    }

    pub(super) fn tokens(&self, state: usize) -> &[i32] {
        &self.labels[self.starts[state]..self.starts[state + 1]]
    }

    /// Returns `true` if frames may stay in a state: at the start, at the end, and where tokens
    /// lead.
    pub(super) fn emits(&self, state: usize) -> bool {
        state == 0 || state + 2 == self.starts.len() || !self.tokens(state).is_empty()
    }
}

/// A state of the graph, and the token that came last before an epsilon into it.
type Passed = (usize, i32);

/// Returns the states of the graph that epsilons enter, each with the tokens that may have come
/// last and make a difference, [`EPSILON`] first; and the states from which nothing goes on. Both
/// are in rising order.
fn passed(fsa: &Fsa, entered: &Entered, modified: bool, limits: Limits) -> Result<(Vec<Passed>, Vec<Passed>), Error> {
    let view = fsa.view();
    let epsilons = |state: usize| view.arcs_of(state).iter().filter(|arc| arc.label == EPSILON);
    let dest = |arc: &Arc| arc.dest_state.cast_unsigned();
    let mut pairs = PairInterner::with_capacity(0);
    for state in (0..fsa.num_states()).filter(|&state| entered.emits(state)) {
        // Only blank goes on in the modified topology.
        let tokens = if modified { &[] } else { entered.tokens(state) };
        for arc in epsilons(state) {
            for &last in [EPSILON].iter().chain(tokens) {
                pairs.insert(dest(arc), last.cast_unsigned())?;
            }
        }
    }
    // For each epsilon arc after another one: the pair that it enters and the pair that it leaves.
    let mut ways: Vec<(u32, u32)> = Vec::new();
    let mut at = 0;
    while at < pairs.len() {
        let from = number(at);
        let (state, last) = pairs.pair(from);
        for arc in epsilons(state as usize) {
            let (to, _) = pairs.insert(dest(arc), last)?;
            ways.push((to, from));
        }
        let bytes = pairs.bytes() + pairs.len() * size_of::<Passed>() + ways.capacity() * size_of::<(u32, u32)>();
        limits.check(Operation::ComposeTopology, bytes, pairs.len(), ways.len())?;
        at += 1;
    }
    let pairs: Vec<Passed> = (0..number(pairs.len()))
        .map(|number| pairs.pair(number))
        .map(|(state, last)| (state as usize, last.cast_signed()))
        .collect();
    let before = Adjacency::new(pairs.len(), ways.iter().map(|&(to, _)| to as usize));
    // The pairs from which an arc that fulfils the condition goes on, at once or behind epsilons.
    let leading_to = |is_one: &dyn Fn(i32, &Arc) -> bool| {
        let mut leads: Vec<bool> =
            pairs.iter().map(|&(state, last)| view.arcs_of(state).iter().any(|arc| is_one(last, arc))).collect();
        let mut open: Vec<usize> = (0..pairs.len()).filter(|&pair| leads[pair]).collect();
        while let Some(to) = open.pop() {
            for &way in before.row(to) {
                let from = ways[way as usize].1 as usize;
                if !std::mem::replace(&mut leads[from], true) {
                    open.push(from);
                }
            }
        }
        leads
    };
    let needed = leading_to(&|last, arc| last != EPSILON && arc.label == last);
    let alive = leading_to(&|last, arc| arc.label != EPSILON && arc.label != last);
    let (mut made, mut dead_ends) = (Vec::new(), Vec::new());
    for (pair, (&needed, &alive)) in pairs.iter().zip(needed.iter().zip(&alive)) {
        match (pair.1, needed, alive) {
            (EPSILON, ..) | (_, true, true) => made.push(*pair),
            (_, true, false) => dead_ends.push(*pair),
            (_, false, _) => {}
        }
    }
    made.sort_unstable();
    dead_ends.sort_unstable();
    Ok((made, dead_ends))
}
