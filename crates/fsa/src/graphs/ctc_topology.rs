//! The topology of CTC without its arcs: what they are follows from their numbers.

use std::ops::Range;

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::limits::Limits;
use crate::error::{Error, Operation, Quantity};
use crate::support::adjacency::Adjacency;
use crate::support::ids::index;

/// The topology that [`ctc_topo`](crate::graphs::ctc_topo) makes, in no memory at all: its arcs, of
/// which the standard one has as many as the square of the tokens, are told when they are
/// requested.
///
/// ```
/// use fsa::graphs::CtcTopology;
///
/// let topology = CtcTopology::new(100_000, false)?;
/// let (arc, aux_label) = topology.arc(3, 70_000);
/// assert_eq!((arc.dest_state, arc.label, aux_label), (70_000, 70_000, 70_000));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "ctc_topo")]
pub struct CtcTopology {
    max_token: i32,
    modified: bool,
}

impl CtcTopology {
    /// Of blank, 0, and the tokens 1 to `max_token`; the `modified` one does not ask for a blank
    /// between equal tokens.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn new(max_token: usize, modified: bool) -> Result<Self, Error> {
        Error::fit(Quantity::States, max_token.saturating_add(2))?;
        Ok(Self { max_token: Error::fit(Quantity::Tokens, max_token)?, modified })
    }

    /// The highest token.
    pub fn max_token(&self) -> i32 {
        self.max_token
    }

    /// Whether it does not ask for a blank between equal tokens.
    pub fn is_modified(&self) -> bool {
        self.modified
    }

    /// How many states it has: one for each token, one for blank, and the final one.
    pub fn num_states(&self) -> usize {
        index(self.max_token) + 2
    }

    /// How many arcs leave a state.
    pub fn num_arcs_of(&self, state: usize) -> usize {
        let tokens = index(self.max_token);
        match () {
            () if state > tokens => 0,
            () if !self.modified => tokens + 2,
            () if state == 0 => 2 * tokens + 2,
            () => 2,
        }
    }

    /// An arc of a state and the token that it outputs, in the order of
    /// [`ctc_topo`](crate::graphs::ctc_topo).
    ///
    /// # Panics
    /// If the state has not so many arcs, as indexing a slice does.
    pub fn arc(&self, state: usize, arc: usize) -> (Arc, i32) {
        assert!(arc < self.num_arcs_of(state), "state {state} has no arc {arc}");
        let small = |number: usize| i32::try_from(number).expect("states and arcs are counted by the tokens");
        let (state, arc, last) = (small(state), small(arc), self.max_token + 1);
        let it = |dest, label, aux_label| (Arc::new(state, dest, label, 0.0), aux_label);
        match () {
            () if !self.modified && arc == last => it(last, FINAL, FINAL),
            () if !self.modified => it(arc, arc, if arc == state { EPSILON } else { arc }),
            () if state > 0 => it(if arc == 0 { state } else { 0 }, state, EPSILON),
            () if arc <= self.max_token => it(0, arc, arc),
            () if arc - self.max_token <= self.max_token => {
                it(arc - self.max_token, arc - self.max_token, arc - self.max_token)
            }
            () => it(last, FINAL, FINAL),
        }
    }

    /// The arcs of a state, each with the token that it outputs.
    pub fn arcs_of(&self, state: usize) -> impl ExactSizeIterator<Item = (Arc, i32)> {
        let topology = *self;
        (0..self.num_arcs_of(state)).map(move |arc| topology.arc(state, arc))
    }

    /// The composition of the topology with a graph of tokens: one of frames, H o LG. The
    /// attributes of the graph come along, `aux_labels` among them; the tokens themselves become
    /// the attribute `inner_labels`, if it has a name.
    ///
    /// The graph must be free of epsilons, since 0 is blank here. If it is connected, so is the
    /// result; if the arcs of its states are in the order of their labels, they are in that of the
    /// result too. O(states + arcs of the result), with nothing but the result in memory that is as
    /// large as it; the states of the result are one for each state of the graph, and one for each
    /// state and label of arcs that enter it.
    ///
    /// # Errors
    /// [`Error::Symbol`] for a label that is no token; [`Error::Limit`]; [`Error::TooLarge`].
    pub fn compose(&self, graph: &Graph<Fsa>, inner_labels: Option<&str>, limits: Limits) -> Result<Graph<Fsa>, Error> {
        let fsa = graph.fsas();
        if let Some((position, arc)) =
            fsa.arcs().iter().enumerate().find(|(_, arc)| arc.label == EPSILON || arc.label > self.max_token)
        {
            return Err(Error::Symbol { position, symbol: arc.label, least: 1 });
        }
        let Some(last) = fsa.view().final_state() else {
            return graph.carry((fsa.clone(), vec![]));
        };
        let frames = Frames::new(fsa)?;
        let (num_states, num_arcs) = frames.sizes(fsa, self.modified);
        // Arcs, their map, and one number for each attribute.
        let num_attributes = graph.attributes().iter().count() + usize::from(inner_labels.is_some());
        let bytes = num_arcs.saturating_mul(size_of::<Arc>() + (1 + num_attributes) * size_of::<i32>());
        let bytes = bytes.saturating_add(frames.bytes());
        let within = |bytes| limits.check(Operation::ComposeTopology, bytes, num_states, num_arcs);
        within(bytes)?;
        Error::fit(Quantity::Arcs, num_arcs)?;
        let mut made = Built { arcs: Vec::with_capacity(num_arcs), arc_map: Vec::with_capacity(num_arcs) };
        for state in 0..last {
            self.arcs_after(None, state, &frames, fsa, &mut made)?;
            for entered in frames.of(state) {
                self.arcs_after(Some(entered), state, &frames, fsa, &mut made)?;
            }
        }
        debug_assert_eq!(made.arcs.len(), num_arcs);
        drop(frames);
        let lists = graph.attributes().iter().filter_map(|(name, _)| graph.attributes().lists(name));
        let elements: usize = lists.map(|lists| made.elements(lists)).sum();
        within(bytes.saturating_add(elements.saturating_mul(size_of::<i32>())))?;
        let tokens: Option<Vec<i32>> = inner_labels.map(|_| {
            made.arc_map.iter().map(|&arc| if arc < 0 { EPSILON } else { fsa.arcs()[index(arc)].label }).collect()
        });
        let composed = graph.carry((Fsa::from_arcs(num_states, made.arcs)?, made.arc_map))?;
        match inner_labels.zip(tokens) {
            None => Ok(composed),
            Some((name, tokens)) => composed.with(name, tokens),
        }
    }

    /// The arcs of a state of the result: of `state` after a blank, or after the token of one of
    /// its frames.
    fn arcs_after(
        &self,
        entered: Option<usize>,
        state: usize,
        frames: &Frames,
        fsa: &Fsa,
        made: &mut Built,
    ) -> Result<(), Error> {
        let view = fsa.view();
        let blank = frames.blanks[state];
        let (from, token) = match entered {
            None => (blank, EPSILON),
            Some(entered) => (frames.state_of(state, entered), frames.labels[entered]),
        };
        if self.modified && token != EPSILON {
            made.add(Arc::new(from, from, token, 0.0), -1);
            made.add(Arc::new(from, blank, token, 0.0), -1);
            return Ok(());
        }
        made.add(Arc::new(from, blank, EPSILON, 0.0), -1);
        let range = view.arc_range(state);
        let mut repeat = (token != EPSILON).then(|| Arc::new(from, from, token, 0.0));
        for (number, arc) in range.clone().zip(&view.arcs()[range]) {
            // The token once more goes in among the labels where it belongs.
            if repeat.is_some_and(|repeat| arc.label.cast_unsigned() >= repeat.label.cast_unsigned()) {
                made.arcs.extend(repeat.take());
                made.arc_map.push(-1);
            }
            let number = Error::fit(Quantity::Arcs, number)?;
            let dest = arc.states().1;
            match () {
                () if arc.label == FINAL => {
                    made.add(Arc { src_state: from, dest_state: frames.blanks[dest], ..*arc }, number)
                }
                () if arc.label == token => {}
                () => {
                    if self.modified {
                        made.add(Arc { src_state: from, dest_state: frames.blanks[dest], ..*arc }, number);
                    }
                    let dest_state = frames.dests[index(number)];
                    made.add(Arc { src_state: from, dest_state, ..*arc }, number);
                }
            }
        }
        if let Some(repeat) = repeat {
            made.add(repeat, -1);
        }
        Ok(())
    }
}

/// Arcs, and those of the graph that they come from.
struct Built {
    arcs: Vec<Arc>,
    arc_map: Vec<i32>,
}

impl Built {
    /// How many elements the lists of all arcs have together.
    fn elements(&self, lists: &Ragged<i32>) -> usize {
        let splits: &[i32] = lists.shape().last_splits().as_ref();
        let of_arc = |&arc: &i32| usize::try_from(arc).map_or(0, |arc| index(splits[arc + 1] - splits[arc]));
        self.arc_map.iter().map(of_arc).sum()
    }

    fn add(&mut self, arc: Arc, source: i32) {
        self.arcs.push(arc);
        self.arc_map.push(source);
    }
}

/// The states of the result: for each state of the graph, the one after a blank, and behind it one
/// for each token by which it is entered.
struct Frames {
    /// For each state, the one after a blank.
    blanks: Vec<i32>,
    /// For each state and one more, where its labels begin.
    starts: Vec<usize>,
    /// The labels of the arcs that enter a state, each once, in rising order.
    labels: Vec<i32>,
    /// For each arc of the graph, the state of the result in which its token has just been seen.
    dests: Vec<i32>,
}

impl Frames {
    fn new(fsa: &Fsa) -> Result<Self, Error> {
        let (num_states, arcs) = (fsa.num_states(), fsa.arcs());
        let by_dest = Adjacency::new(num_states, arcs.iter().map(|arc| arc.states().1));
        let mut made = Self {
            blanks: Vec::with_capacity(num_states),
            starts: Vec::with_capacity(num_states + 1),
            labels: Vec::with_capacity(num_states),
            dests: Vec::new(),
        };
        made.starts.push(0);
        let mut entering = Vec::new();
        for state in 0..num_states {
            made.blanks.push(Error::fit(Quantity::States, state + made.labels.len())?);
            entering.clear();
            entering
                .extend(by_dest.row(state).iter().map(|&arc| arcs[arc as usize].label).filter(|&label| label != FINAL));
            entering.sort_unstable();
            entering.dedup();
            made.labels.extend_from_slice(&entering);
            made.starts.push(made.labels.len());
        }
        Error::fit(Quantity::States, num_states + made.labels.len())?;
        made.dests = arcs.iter().map(|arc| made.dest(arc)).collect();
        Ok(made)
    }

    fn dest(&self, arc: &Arc) -> i32 {
        let state = arc.states().1;
        match self.labels[self.of(state)].binary_search(&arc.label) {
            Ok(place) => self.state_of(state, self.starts[state] + place),
            Err(_) => self.blanks[state],
        }
    }

    fn bytes(&self) -> usize {
        let numbers = self.blanks.capacity() + self.labels.capacity() + self.dests.capacity();
        numbers * size_of::<i32>() + self.starts.capacity() * size_of::<usize>()
    }

    /// The labels that enter a state.
    fn of(&self, state: usize) -> Range<usize> {
        self.starts[state]..self.starts[state + 1]
    }

    /// The state of the result that is `state` after the label at `entered`.
    fn state_of(&self, state: usize, entered: usize) -> i32 {
        self.blanks[state] + 1 + i32::try_from(entered - self.starts[state]).expect("states of the result are counted")
    }

    /// The numbers of states and arcs of the result.
    fn sizes(&self, fsa: &Fsa, modified: bool) -> (usize, usize) {
        let view = fsa.view();
        let mut num_arcs = 0_usize;
        for state in 0..fsa.num_states() - 1 {
            let arcs = view.arcs_of(state);
            let finals = arcs.iter().filter(|arc| arc.label == FINAL).count();
            let entered = self.of(state);
            num_arcs += 1 + finals + (arcs.len() - finals) * if modified { 2 } else { 1 };
            num_arcs += entered.len() * if modified { 2 } else { 2 + arcs.len() };
            if !modified {
                let repeats = |arc: &&Arc| self.labels[entered.clone()].binary_search(&arc.label).is_ok();
                num_arcs -= arcs.iter().filter(repeats).count();
            }
        }
        (fsa.num_states() + self.labels.len(), num_arcs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::ctc::ctc_topo;

    #[test]
    fn arcs_are_those_of_the_explicit_topology() {
        for (tokens, modified) in [(0, false), (0, true), (1, false), (1, true), (7, false), (7, true)] {
            let (topology, explicit) =
                (CtcTopology::new(tokens, modified).unwrap(), ctc_topo(tokens, modified).unwrap());
            assert_eq!(topology.num_states(), explicit.fsas().num_states());
            let arcs: Vec<_> = (0..topology.num_states()).flat_map(|state| topology.arcs_of(state)).collect();
            let expected = explicit.fsas().arcs().iter().copied().zip(explicit.aux_labels().unwrap().iter().copied());
            assert_eq!(arcs, expected.collect::<Vec<_>>(), "{tokens} tokens, modified: {modified}");
        }
    }

    #[test]
    fn labels_that_are_no_tokens_are_refused() {
        let graph = |label| {
            let arcs = vec![Arc::new(0, 1, label, 0.0), Arc::new(1, 2, FINAL, 0.0)];
            Graph::new(Fsa::from_arcs(3, arcs).unwrap())
        };
        let compose = |label| CtcTopology::new(5, false).unwrap().compose(&graph(label), None, Limits::default());
        assert!(compose(5).is_ok());
        assert_eq!(compose(6), Err(Error::Symbol { position: 0, symbol: 6, least: 1 }));
        assert_eq!(compose(0), Err(Error::Symbol { position: 0, symbol: 0, least: 1 }));
        let limited =
            CtcTopology::new(5, false).unwrap().compose(&graph(1), None, Limits::default().with_max_bytes(10));
        assert!(matches!(limited, Err(Error::Limit { operation: Operation::ComposeTopology, limit: 10, .. })));
        let empty =
            CtcTopology::new(5, false).unwrap().compose(&Graph::new(Fsa::empty()), None, Limits::default()).unwrap();
        assert_eq!(empty.fsas().num_states(), 0);
    }
}
