//! The first side of a look-ahead composition: tokens to words, with the words that can come next.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::attributes::Attribute;
use crate::core::fsa::Fsa;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::limits::Limits;
use crate::error::{AttributeProblem, Error, LookAheadProblem, Operation, Quantity};
use crate::k2::arc_sort;
use crate::k2::first_labels::{Interval, LabelSets};
use crate::support::ids::{NONE, id, index, number};

/// A transducer from tokens to words without epsilons among the tokens, whose start is not entered
/// again.
///
/// Each arc that outputs a word, or ends a sentence, has a *slot*. Slots are numbered in the order
/// of a depth-first search, so that the slots that can come next behind a state of a tree are one
/// interval.
#[derive(Debug, Clone)]
pub(super) struct Hl {
    graph: Graph<Fsa>,
    /// For each arc its slot, [`NONE`] if it outputs nothing.
    slots: Vec<u32>,
    /// For each slot its word, [`FINAL`] for the end.
    words: Vec<i32>,
    sets: LabelSets,
    /// Offsets in `entries`, which has for each state the tokens by which it is entered, in rising
    /// order.
    first_entries: Vec<u32>,
    entries: Vec<i32>,
    /// For each arc, the index of its token among the tokens of its destination.
    places: Vec<u32>,
}

/// A state that is reached from another over epsilons only.
#[derive(Debug, Clone, Copy)]
struct Reached {
    state: i32,
    word: i32,
    score: f32,
}

impl Hl {
    /// Creates the first side from any transducer with one output label per arc.
    ///
    /// # Errors
    /// [`Error::Attribute`] without such labels; [`Error::LookAhead`] for epsilons in a cycle, or
    /// two words with no token between them; [`Error::Limit`].
    pub(super) fn new(graph: &Graph<Fsa>, limits: Limits) -> Result<Self, Error> {
        let graph = without_epsilons(graph, limits)?;
        let (fsa, view) = (graph.fsas(), graph.fsas().view());
        let words_of_arcs = words_of(&graph)?;
        let label = |arc: usize| match (fsa.arcs()[arc].label, words_of_arcs[arc]) {
            (FINAL, _) => FINAL,
            (_, EPSILON) => EPSILON,
            _ => id(arc) + 1,
        };
        let labelled = (0..fsa.num_arcs()).map(|arc| Arc { label: label(arc), ..fsa.arcs()[arc] });
        let (acceptor, _) = arc_sort(&Fsa::from_arcs(fsa.num_states(), labelled.collect::<Vec<_>>())?)?;
        let (sets, numbers) = LabelSets::new(acceptor.view(), true, limits, 0)?;
        let slot =
            |arc: usize| Some(label(arc)).filter(|&label| label != EPSILON).and_then(|label| numbers.number(label));
        let slots: Vec<_> = (0..fsa.num_arcs()).map(|arc| slot(arc).unwrap_or(NONE)).collect();
        let mut words = vec![FINAL; numbers.len()];
        for (arc, &slot) in slots.iter().enumerate() {
            if let Some(word) = words.get_mut(slot as usize) {
                *word = if fsa.arcs()[arc].label == FINAL { FINAL } else { words_of_arcs[arc] };
            }
        }
        let tokens = fsa.arcs().iter().filter(|arc| arc.label != FINAL);
        let mut entered: Vec<_> = tokens.map(|arc| (arc.dest_state, arc.label)).collect();
        entered.sort_unstable();
        entered.dedup();
        let first = |state: i32| number(entered.partition_point(|&(dest, _)| dest < state));
        let first_entries: Vec<_> = (0..=id(view.num_states())).map(first).collect();
        let place = |arc: &Arc| {
            let place = entered.binary_search(&(arc.dest_state, arc.label)).unwrap_or(0);
            number(place) - first_entries[index(arc.dest_state)]
        };
        let places = fsa.arcs().iter().map(|arc| if arc.label == FINAL { 0 } else { place(arc) }).collect();
        let entries = entered.iter().map(|&(_, token)| token).collect();
        Ok(Self { slots, words, sets, first_entries, entries, places, graph })
    }

    /// Returns the transducer; its arcs have the same numbers.
    pub(super) fn graph(&self) -> &Graph<Fsa> {
        &self.graph
    }

    /// Returns the arcs of a state: number, arc and slot of each.
    #[inline]
    pub(super) fn arcs_of(&self, state: u32) -> impl Iterator<Item = (u32, Arc, Option<u32>)> {
        let range = self.graph.fsas().view().arc_range(state as usize);
        let slots = self.slots[range.clone()].iter().map(|&slot| Some(slot).filter(|&slot| slot != NONE));
        let arcs = &self.graph.fsas().arcs()[range.clone()];
        (number(range.start)..).zip(arcs).zip(slots).map(|((number, &arc), slot)| (number, arc, slot))
    }

    /// Returns the word of each slot.
    pub(super) fn words(&self) -> &[i32] {
        &self.words
    }

    /// Returns the tokens by which a state is entered, in rising order.
    #[inline]
    pub(super) fn entries(&self, state: u32) -> &[i32] {
        let [first, end] = [state, state + 1].map(|state| self.first_entries[state as usize] as usize);
        &self.entries[first..end]
    }

    /// Returns the index of an arc's token among [`entries`](Self::entries) of the state that it
    /// enters.
    #[inline]
    pub(super) fn place(&self, arc: u32) -> u32 {
        self.places[arc as usize]
    }

    /// Returns the set of slots that can come next behind a state.
    #[inline]
    pub(super) fn set_of(&self, state: u32) -> u32 {
        self.sets.set_of(state as usize)
    }

    /// Returns the number of sets.
    pub(super) fn num_sets(&self) -> usize {
        self.sets.num_sets()
    }

    /// Returns the slots of a set, and perhaps some more.
    #[inline]
    pub(super) fn intervals(&self, set: u32) -> &[Interval] {
        self.sets.intervals(set)
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.slots.len() + self.words.len() + self.first_entries.len() + self.entries.len();
        let (states, arcs) = (self.graph.fsas().num_states(), self.graph.fsas().num_arcs());
        (numbers + self.places.len() + states + arcs) * size_of::<u32>() + arcs * size_of::<Arc>() + self.sets.bytes()
    }
}

fn words_of(graph: &Graph<Fsa>) -> Result<&[i32], Error> {
    graph.aux_labels().ok_or(Error::Attribute { problem: AttributeProblem::WordLists })
}

/// Returns the same paths behind a new start; each arc has taken in the epsilons that follow it.
fn without_epsilons(graph: &Graph<Fsa>, limits: Limits) -> Result<Graph<Fsa>, Error> {
    let (fsa, view, words) = (graph.fsas(), graph.fsas().view(), words_of(graph)?);
    let (mut arcs, mut map, mut aux_labels) = (Vec::new(), Vec::new(), Vec::new());
    let each = size_of::<Arc>() + 2 * size_of::<i32>();
    let mut add = |arcs: &mut Vec<Arc>, source: i32, arc: usize, before: (i32, f32), after: Reached| {
        let it = fsa.arcs()[arc];
        let word = if it.label == FINAL { EPSILON } else { words[arc] };
        let all = [before.0, word, after.word];
        let mut spoken = all.into_iter().filter(|&word| word != EPSILON);
        let word = spoken.next().unwrap_or(if it.label == FINAL { FINAL } else { EPSILON });
        if spoken.next().is_some() || (it.label == FINAL && word != FINAL) {
            return Err(Error::LookAhead { state: index(it.src_state), problem: LookAheadProblem::TwoWords });
        }
        let score = before.1 + it.score + after.score;
        if score == f32::INFINITY {
            return Err(Error::Score { arc, score });
        }
        arcs.push(Arc::new(source, after.state + 1, it.label, score));
        map.push(id(arc));
        aux_labels.push(word);
        limits.check(Operation::LookAhead, 2 * arcs.len() * each, fsa.num_states(), arcs.len())
    };
    let all = Closures { fsa, words, limits, made: vec![None; fsa.num_states()], len: 0 }.all()?;
    let none = Reached { state: 0, word: EPSILON, score: 0.0 };
    // Arcs of the new start, including the arcs behind epsilons; then arcs of all others.
    let of_start = all.first().map_or(&[][..], Vec::as_slice);
    let sources = of_start.iter().map(|reached| (0, reached.state, (reached.word, reached.score)));
    let others = (0..id(fsa.num_states())).map(|state| (state + 1, state, (EPSILON, 0.0)));
    for (source, state, before) in sources.chain(others) {
        for arc in view.arc_range(index(state)) {
            let it = fsa.arcs()[arc];
            match it.label {
                EPSILON => {}
                FINAL => add(&mut arcs, source, arc, before, Reached { state: it.dest_state, ..none })?,
                _ => {
                    for &after in &all[index(it.dest_state)] {
                        add(&mut arcs, source, arc, before, after)?;
                    }
                }
            }
        }
    }
    let num_states = if fsa.num_states() == 0 { 0 } else { fsa.num_states() + 1 };
    Error::fit(Quantity::Arcs, arcs.len())?;
    let made = graph.clone().without(AUX_LABELS).carry((Fsa::from_arcs(num_states, arcs)?, map))?;
    made.with_aux_labels(Attribute::Ints { values: aux_labels.into(), filler: EPSILON })?.connect()
}

/// For each state its epsilon closure: the states, including itself, that epsilon arcs reach from
/// it and that other arcs leave.
struct Closures<'a> {
    fsa: &'a Fsa,
    words: &'a [i32],
    limits: Limits,
    made: Vec<Option<Vec<Reached>>>,
    /// Number of entries of all closures.
    len: usize,
}

impl Closures<'_> {
    fn all(mut self) -> Result<Vec<Vec<Reached>>, Error> {
        let view = self.fsa.view();
        let mut is_open = vec![false; view.num_states()];
        let mut open = Vec::new();
        for root in 0..view.num_states() {
            open.push((root, view.arc_range(root)));
            while let Some((state, arcs)) = open.last_mut() {
                let state = *state;
                is_open[state] = true;
                match arcs.find(|&arc| self.fsa.arcs()[arc].label == EPSILON).filter(|_| self.made[state].is_none()) {
                    Some(arc) => {
                        let dest = index(self.fsa.arcs()[arc].dest_state);
                        if is_open[dest] {
                            return Err(Error::LookAhead { state, problem: LookAheadProblem::EpsilonCycle });
                        }
                        open.push((dest, view.arc_range(dest)));
                    }
                    None => {
                        open.pop();
                        is_open[state] = false;
                        if self.made[state].is_none() {
                            self.made[state] = Some(self.closure_of(state)?);
                        }
                    }
                }
            }
        }
        Ok(self.made.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Returns the closure of a state, given the closures behind its epsilons.
    fn closure_of(&mut self, state: usize) -> Result<Vec<Reached>, Error> {
        let range = self.fsa.view().arc_range(state);
        let mut found = Vec::new();
        if self.fsa.arcs()[range.clone()].iter().any(|arc| arc.label != EPSILON) {
            found.push(Reached { state: id(state), word: EPSILON, score: 0.0 });
        }
        for arc in range {
            let it = self.fsa.arcs()[arc];
            let behind = self.made[index(it.dest_state)].iter().flatten().filter(|_| it.label == EPSILON);
            for reached in behind {
                let word = match (self.words[arc], reached.word) {
                    (EPSILON, word) | (word, EPSILON) => word,
                    _ => return Err(Error::LookAhead { state, problem: LookAheadProblem::TwoWords }),
                };
                found.push(Reached { state: reached.state, word, score: it.score + reached.score });
            }
        }
        // Of several ways to the same, the best one counts.
        found.sort_unstable_by(|a, b| {
            (a.state, a.word).cmp(&(b.state, b.word)).then_with(|| b.score.total_cmp(&a.score))
        });
        found.dedup_by_key(|reached| (reached.state, reached.word));
        self.len += found.len();
        let bytes = self.len * size_of::<Reached>();
        self.limits.check(Operation::LookAhead, bytes, self.made.len(), self.fsa.num_arcs())?;
        Ok(found)
    }
}
