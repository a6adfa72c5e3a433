//! The topology of CTC without stored arcs: they follow from their numbers.

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::graph_labels::GraphLabels;
use crate::core::limits::Limits;
use crate::error::{Error, Operation, Quantity};
use crate::graphs::ctc_states::CtcStates;
use crate::support::ids::index;

/// The topology of [`ctc_topo`](crate::graphs::ctc_topo) without stored arcs: they are computed
/// when they are requested. The standard topology has as many arcs as the square of the tokens.
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
    /// Creates the topology of blank, 0, and the tokens 1 to `max_token`; the `modified` one does
    /// not require a blank between equal tokens.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn new(max_token: usize, modified: bool) -> Result<Self, Error> {
        Error::fit(Quantity::States, max_token.saturating_add(2))?;
        Ok(Self { max_token: Error::fit(Quantity::Tokens, max_token)?, modified })
    }

    /// Returns the highest token.
    pub fn max_token(&self) -> i32 {
        self.max_token
    }

    /// Checks that there is a class for blank and for each token.
    ///
    /// # Errors
    /// [`Error::Size`].
    pub(crate) fn check_classes(&self, num_classes: usize) -> Result<(), Error> {
        let least = index(self.max_token) + 1;
        if num_classes < least {
            return Err(Error::Size { what: Quantity::Classes, expected: least, found: num_classes });
        }
        Ok(())
    }

    /// Returns `true` if it does not require a blank between equal tokens.
    pub fn is_modified(&self) -> bool {
        self.modified
    }

    /// Returns the number of states: one for each token, one for blank, and the final one.
    pub fn num_states(&self) -> usize {
        index(self.max_token) + 2
    }

    /// Returns the number of arcs that leave a state.
    pub fn num_arcs_of(&self, state: usize) -> usize {
        let tokens = index(self.max_token);
        match () {
            () if state > tokens => 0,
            () if !self.modified => tokens + 2,
            () if state == 0 => 2 * tokens + 2,
            () => 2,
        }
    }

    /// Returns an arc of a state and the token that it outputs, in the order of
    /// [`ctc_topo`](crate::graphs::ctc_topo).
    ///
    /// # Panics
    /// If the state does not have that many arcs, as indexing a slice does.
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

    /// Returns the arcs of a state, each with the token that it outputs.
    pub fn arcs_of(&self, state: usize) -> impl ExactSizeIterator<Item = (Arc, i32)> {
        let topology = *self;
        (0..self.num_arcs_of(state)).map(move |arc| topology.arc(state, arc))
    }

    /// Returns the composition of the topology with a graph of tokens: a graph of frames, H o LG.
    /// The attributes of the graph are kept, including `aux_labels`; the tokens themselves become
    /// the attribute that `inner_labels` names, if it is given.
    ///
    /// Label 0 of the graph is epsilon, as on arcs that back off. It takes no frame and does not
    /// change the last token: the same token again needs a blank between, unless the topology is
    /// the modified one. Frames that stay in a token or in blank stay before
    /// the epsilons that follow, so that each alignment of each path of the graph is one path of
    /// the result. With [`GraphLabels::Class`], in which 0 is blank, there must be no epsilons:
    /// k2's decoders know none.
    ///
    /// If the graph is connected, so is the result; if the arcs of its states are in the order of
    /// their labels, the arcs of the result are too. O(states + arcs of the result); nothing but
    /// the result takes as much memory. The result has, for each state of the graph, one state
    /// after a blank and one for each token that enters it. A state that epsilon arcs enter has one
    /// more after a blank, and one for each token before the epsilons that an arc after them takes
    /// again.
    ///
    /// ```
    /// use fsa::graphs::CtcTopology;
    /// use fsa::k2::linear_fsa;
    /// use fsa::{Graph, GraphLabels, Limits};
    ///
    /// // Token 1, an epsilon, token 1: frames 1, blank, 1.
    /// let graph = Graph::new(linear_fsa(&[1, 0, 1])?);
    /// let frames = CtcTopology::new(1, false)?
    ///     .compose(&graph, GraphLabels::ClassPlusOne, None, Limits::default())?;
    /// let path = frames.shortest_path()?;
    /// assert_eq!(path.fsas().labels(), [2, 1, 0, 2, -1]);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Symbol`] for a label that is not a token, and for epsilons if labels are classes;
    /// [`Error::Limit`]; [`Error::TooLarge`].
    pub fn compose(
        &self,
        graph: &Graph<Fsa>,
        labels: GraphLabels,
        inner_labels: Option<&str>,
        limits: Limits,
    ) -> Result<Graph<Fsa>, Error> {
        let fsa = graph.fsas();
        let least = if labels == GraphLabels::Class { 1 } else { EPSILON };
        let bad = |label: i32| (label < least && label != FINAL) || label > self.max_token;
        if let Some((position, arc)) = fsa.arcs().iter().enumerate().find(|(_, arc)| bad(arc.label)) {
            return Err(Error::Symbol { position, symbol: arc.label, least });
        }
        let Some(last) = fsa.view().final_state() else {
            return Ok(graph.carry((fsa.clone(), vec![]))?.with_graph_labels(labels));
        };
        let states = CtcStates::new(fsa, self.modified, limits)?;
        let (num_states, num_arcs) = (states.len(), states.num_arcs(fsa));
        // Arcs, their map, and one number for each attribute.
        let num_attributes = graph.attributes().iter().count() + usize::from(inner_labels.is_some());
        let bytes = num_arcs.saturating_mul(size_of::<Arc>() + (1 + num_attributes) * size_of::<i32>());
        let bytes = bytes.saturating_add(states.bytes());
        let within = |bytes| limits.check(Operation::ComposeTopology, bytes, num_states, num_arcs);
        within(bytes)?;
        Error::fit(Quantity::Arcs, num_arcs)?;
        let mut made = Built { arcs: Vec::with_capacity(num_arcs), arc_map: Vec::with_capacity(num_arcs), labels };
        for state in 0..last {
            for at in states.range(state) {
                made.arcs_of(state, at, &states, fsa)?;
            }
        }
        debug_assert_eq!(made.arcs.len(), num_arcs);
        drop(states);
        let lists = graph.attributes().iter().filter_map(|(name, _)| graph.attributes().lists(name));
        let elements: usize = lists.map(|lists| made.elements(lists)).sum();
        within(bytes.saturating_add(elements.saturating_mul(size_of::<i32>())))?;
        let tokens: Option<Vec<i32>> = inner_labels.map(|_| {
            made.arc_map.iter().map(|&arc| if arc < 0 { EPSILON } else { fsa.arcs()[index(arc)].label }).collect()
        });
        let composed = graph.carry((Fsa::from_arcs(num_states, made.arcs)?, made.arc_map))?.with_graph_labels(labels);
        match inner_labels.zip(tokens) {
            None => Ok(composed),
            Some((name, tokens)) => composed.with(name, tokens),
        }
    }
}

/// Arcs, and the arcs of the graph that they come from.
struct Built {
    arcs: Vec<Arc>,
    arc_map: Vec<i32>,
    labels: GraphLabels,
}

impl Built {
    /// Returns the number of elements of the lists of all arcs.
    fn elements(&self, lists: &Ragged<i32>) -> usize {
        let splits: &[i32] = lists.shape().last_splits().as_ref();
        let of_arc = |&arc: &i32| usize::try_from(arc).map_or(0, |arc| index(splits[arc + 1] - splits[arc]));
        self.arc_map.iter().map(of_arc).sum()
    }

    fn add(&mut self, arc: Arc, source: i32) {
        self.arcs.push(arc);
        self.arc_map.push(source);
    }

    /// Adds the arcs of the state `at` of the result, which is one of the states of `state`.
    fn arcs_of(&mut self, state: usize, at: usize, states: &CtcStates, fsa: &Fsa) -> Result<(), Error> {
        let (from, last, blank) = (Error::fit(Quantity::States, at)?, states.last(at), states.blank(state));
        let labels = self.labels;
        let stay = |dest, class| Arc::new(from, dest, labels.label_of(class), 0.0);
        if !states.goes_on(at) {
            self.add(stay(from, last), -1);
            self.add(stay(blank, last), -1);
            return Ok(());
        }
        let stays = states.stays(state, at);
        let to_blank = stays.then(|| stay(blank, EPSILON));
        let repeat = (stays && last != EPSILON).then(|| stay(from, last));
        let mut own = to_blank.into_iter().chain(repeat).peekable();
        let range = fsa.view().arc_range(state);
        for (number, arc) in range.clone().zip(&fsa.arcs()[range]) {
            let label = match arc.label {
                FINAL | EPSILON => arc.label,
                token => labels.label_of(token),
            };
            // Sorted in among the other labels.
            while let Some(own) = own.next_if(|own| own.label.cast_unsigned() <= label.cast_unsigned()) {
                self.add(own, -1);
            }
            let dest = arc.states().1;
            let moved = |dest_state| Arc { src_state: from, dest_state, label, ..*arc };
            let source = Error::fit(Quantity::Arcs, number)?;
            match arc.label {
                FINAL => self.add(moved(states.blank(dest)), source),
                EPSILON => {
                    if let Some(dest_state) = states.after_epsilon(dest, last) {
                        self.add(moved(dest_state), source);
                    }
                }
                token if token == last => {}
                _ => {
                    if states.is_modified() {
                        self.add(moved(states.blank(dest)), source);
                    }
                    self.add(moved(states.after_token(number)), source);
                }
            }
        }
        own.for_each(|own| self.add(own, -1));
        Ok(())
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
        let compose = |label| {
            CtcTopology::new(5, false).unwrap().compose(&graph(label), GraphLabels::Class, None, Limits::default())
        };
        assert!(compose(5).is_ok());
        assert_eq!(compose(6), Err(Error::Symbol { position: 0, symbol: 6, least: 1 }));
        assert_eq!(compose(0), Err(Error::Symbol { position: 0, symbol: 0, least: 1 }));
        let limited = CtcTopology::new(5, false).unwrap().compose(
            &graph(1),
            GraphLabels::Class,
            None,
            Limits::default().with_max_bytes(10),
        );
        assert!(matches!(limited, Err(Error::Limit { operation: Operation::ComposeTopology, limit: 10, .. })));
        let empty = CtcTopology::new(5, false)
            .unwrap()
            .compose(&Graph::new(Fsa::empty()), GraphLabels::Class, None, Limits::default())
            .unwrap();
        assert_eq!(empty.fsas().num_states(), 0);
    }
}
