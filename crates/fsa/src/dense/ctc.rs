//! The topology of CTC in front of a graph of tokens; no arc of the topology is stored.

use std::collections::HashSet;

use super::active::{Active, Token};
use super::graph::{DecodingGraph, EpsilonArc, GraphArc, class};
use super::intersect::intersect_one_graph;
use super::next::{Last, Next};
use super::{DenseFsaVec, DenseLattices, DenseOptions};
use crate::core::view::FsaView;
use crate::graphs::CtcTopology;
use crate::support::ids::{id, index, number};
use crate::{AUX_LABELS, EPSILON, Error, FINAL, Fsa, Graph, Quantity};

/// The composition of the topology of CTC with a graph of tokens, H o LG, made while decoding.
///
/// In addition to the graph, memory holds only a number for each of its arcs, and three for each
/// token by which a state is entered. From a state, the arcs of the graph are followed once for all
/// tokens that may have come last, so that a frame costs O(tokens), while the explicit topology has
/// their square. Paths and scores are the same as in decoding against [`CtcTopology::compose`].
///
/// The label 0 of the graph is epsilon. Such arcs are followed in the frame in which a token is
/// first taken, before it repeats or a blank comes, so that a path of the graph is one path of the
/// composition for each alignment. The token that came last stays so.
///
/// ```
/// use fsa::graphs::trivial_graph;
/// use fsa::dense::{CtcGraph, DenseFsaVec, DenseOptions};
/// use fsa::graphs::CtcTopology;
/// use fsa::paths::shortest_path;
///
/// let graph = CtcGraph::new(CtcTopology::new(2, false)?, trivial_graph(2)?, None)?;
/// let scores = [-1.5_f32, -0.5, -2.0, -1.0, -3.0, -0.5, -0.25, -2.0, -2.0];
/// let result = graph
///     .intersect_dense_pruned(&DenseFsaVec::from_frames(&scores, 3)?, &DenseOptions::default())?;
/// let best = result.graph().carry(shortest_path(result.graph().fsas())?)?;
/// assert_eq!(
///     (best.fsas().labels(), best.aux_labels()),
///     (vec![1, 2, 0, -1], Some(&[1, 2, 0, -1][..]))
/// );
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CtcGraph {
    graph: Graph<Fsa>,
    pub(super) topology: CtcTopology,
    /// The states of the composition: for each state of the graph one after a blank, and behind it
    /// one for each token by which it is entered. If epsilon arcs leave it, all of these follow
    /// once more, as states in which they may be taken.
    states: Vec<State>,
    /// For each state of the graph the one after a blank, and the number of all states.
    blanks: Vec<u32>,
    /// For each state of the graph, the offset of the states in which its epsilon arcs may be taken
    /// from the others; 0 if it has none.
    epsilon_offsets: Vec<u32>,
    /// For each arc of the graph the state in which its token has come last, and epsilon arcs may
    /// be taken.
    dests: Vec<u32>,
    has_epsilons: bool,
}

#[derive(Debug, Clone, Copy)]
struct State {
    of_graph: u32,
    /// The token that came last; 0 is blank.
    last: i32,
}

impl CtcGraph {
    /// Creates the composition. The label 0 of the graph is epsilon. If the graph has no
    /// `aux_labels`, its tokens become the `aux_labels` of the lattices; they also become the
    /// attribute that `inner_labels` names, if it is given. O(arcs log arcs), with epsilons
    /// O(states and the tokens by which they are entered).
    ///
    /// # Errors
    /// [`Error::Symbol`] for a label that is not a token; [`Error::TooLarge`].
    pub fn new(topology: CtcTopology, graph: Graph<Fsa>, inner_labels: Option<&str>) -> Result<Self, Error> {
        let arcs = graph.fsas().arcs();
        let unknown = |label: i32| label < FINAL || label > topology.max_token();
        if let Some((position, arc)) = arcs.iter().enumerate().find(|(_, arc)| unknown(arc.label)) {
            return Err(Error::Symbol { position, symbol: arc.label, least: 0 });
        }
        let has_epsilons = arcs.iter().any(|arc| arc.label == EPSILON);
        let entered = entered_by(graph.fsas());
        let num_states = graph.fsas().num_states();
        let most_states = num_states.saturating_add(entered.len()).saturating_mul(1 + usize::from(has_epsilons));
        Error::fit(Quantity::States, most_states)?;
        // One number says whether an arc was followed, and which class an arc of the topology took.
        Error::fit(Quantity::Arcs, arcs.len() + index(topology.max_token()) + 1)?;
        let (mut states, mut blanks) = (Vec::with_capacity(num_states + entered.len()), Vec::with_capacity(num_states));
        let mut epsilon_offsets = vec![0; num_states];
        let mut rest = &entered[..];
        for of_graph in 0..id(num_states) {
            let first = states.len();
            blanks.push(number(first));
            let state = |last| State { of_graph: of_graph.cast_unsigned(), last };
            states.push(state(EPSILON));
            let (tokens, others) = rest.split_at(rest.partition_point(|pair| pair.0 == of_graph));
            states.extend(tokens.iter().map(|&(_, last)| state(last)));
            rest = others;
            if graph.fsas().view().arcs_of(index(of_graph)).iter().any(|arc| arc.label == EPSILON) {
                epsilon_offsets[index(of_graph)] = number(states.len() - first);
                states.extend_from_within(first..);
            }
        }
        blanks.push(number(states.len()));
        let mut composed = Self { graph, topology, states, blanks, epsilon_offsets, dests: vec![], has_epsilons };
        let arcs = composed.graph.fsas().arcs().iter();
        composed.dests = arcs.map(|arc| composed.entered(index(arc.dest_state), arc.label)).collect();
        let graph = &composed.graph;
        let labels = graph.fsas().labels();
        let named = inner_labels.into_iter().chain(graph.attributes().get(AUX_LABELS).is_none().then_some(AUX_LABELS));
        let names: Vec<_> = named.map(str::to_owned).collect();
        composed.graph = names.iter().try_fold(graph.clone(), |graph, name| graph.with(name, labels.clone()))?;
        Ok(composed)
    }

    /// Returns the graph of tokens, to whose arcs arc maps refer.
    pub fn graph(&self) -> &Graph<Fsa> {
        &self.graph
    }

    /// Decodes as [`intersect_dense_pruned`](super::intersect_dense_pruned).
    ///
    /// # Errors
    /// As the function; [`Error::Size`] if there are fewer classes than blank and tokens.
    pub fn intersect_dense_pruned(
        &self,
        dense: &DenseFsaVec<'_>,
        options: &DenseOptions,
    ) -> Result<DenseLattices, Error> {
        self.topology.check_classes(dense.num_classes())?;
        intersect_one_graph(|| self, &self.graph, dense, options)
    }

    /// Returns the number of arcs of the graph and the topology.
    pub(super) fn num_arcs(&self) -> usize {
        self.dests.len() + index(self.topology.max_token()) + 1
    }

    fn view(&self) -> FsaView<'_> {
        self.graph.fsas().view()
    }

    /// Returns the state after a token that leads into a state of the graph, in which epsilon arcs
    /// may be taken.
    fn entered(&self, of_graph: usize, token: i32) -> u32 {
        let blank = self.blanks[of_graph];
        let states = &self.states[blank as usize..self.blanks[of_graph + 1] as usize];
        let offset = self.epsilon_offsets[of_graph];
        let states = if offset == 0 { states } else { &states[..offset as usize] };
        let place = states.binary_search_by_key(&token, |state| state.last).unwrap_or(0);
        blank + number(place) + offset
    }

    /// Returns the offset of a state from the same one in which no epsilon arcs may be taken.
    fn epsilon_offset(&self, state: u32) -> u32 {
        let of_graph = self.states[state as usize].of_graph as usize;
        let offset = self.epsilon_offsets[of_graph];
        if state - self.blanks[of_graph] < offset { 0 } else { offset }
    }

    /// Returns the state after a blank behind an arc, in which epsilon arcs may be taken.
    fn after_blank(&self, of_graph: usize) -> u32 {
        self.blanks[of_graph] + self.epsilon_offsets[of_graph]
    }

    /// Returns the number of an arc of the topology that takes a class and stays in the state of
    /// the graph.
    fn own_arc(&self, class: i32) -> u32 {
        number(self.dests.len()) + class.cast_unsigned()
    }
}

/// Returns for each state of a graph the tokens by which it is entered, with epsilon arcs behind
/// them or without: sorted pairs.
fn entered_by(graph: &Fsa) -> Vec<(i32, i32)> {
    let arcs = graph.arcs().iter().filter(|arc| arc.label > EPSILON);
    let mut entered: Vec<_> = arcs.map(|arc| (arc.dest_state, arc.label)).collect();
    entered.sort_unstable();
    entered.dedup();
    if graph.arcs().iter().all(|arc| arc.label != EPSILON) {
        return entered;
    }
    let mut found: HashSet<_> = entered.iter().copied().collect();
    let mut rest = entered;
    while let Some((state, token)) = rest.pop() {
        for arc in graph.view().arcs_of(index(state)).iter().filter(|arc| arc.label == EPSILON) {
            if found.insert((arc.dest_state, token)) {
                rest.push((arc.dest_state, token));
            }
        }
    }
    let mut entered: Vec<_> = found.into_iter().collect();
    entered.sort_unstable();
    entered
}

impl CtcGraph {
    /// Estimates the best score of the next frame from the arcs of the best token.
    fn expect(&self, of_graph: u32, last: i32, row: &[f32], next: &mut Next<'_>) {
        for arc in self.view().arcs_of(of_graph as usize) {
            if let Some(acoustic) = row[1..].get(class(arc.label, 1)).filter(|_| arc.label != last) {
                next.expect(arc.score + acoustic);
            }
        }
    }

    /// Follows the arcs of a state of the graph for all tokens in it.
    fn follow_group(&self, group: &mut [Last], row: &[f32], next: &mut Next<'_>) {
        let state = group[0].of_graph as usize;
        let range = self.view().arc_range(state);
        let first = range.start;
        let arcs = &self.view().arcs()[range];
        let arc = |at: usize| CtcArc {
            dest: self.dests[first + at],
            after_blank: self.after_blank(index(arcs[at].dest_state)),
            number: number(first + at),
        };
        let scores = arcs.iter().map(|arc| (arc.label, arc.score));
        follow_group(group, (self.blanks[state], self.own_arc(EPSILON)), (scores, arc), self.topology, row, next);
    }
}

/// Data of an arc of a graph of tokens besides its label and score.
#[derive(Debug, Clone, Copy)]
pub(super) struct CtcArc {
    /// The state whose last token is this arc's, and the state after a blank.
    pub(super) dest: u32,
    pub(super) after_blank: u32,
    pub(super) number: u32,
}

/// Follows the arcs of a state of the graph for all tokens in it. `blank` is the state after a
/// blank, and the number of the arc to it. The labels and scores of all arcs are read, and the rest
/// only of the few arcs that are needed.
pub(super) fn follow_group(
    group: &mut [Last],
    blank: (u32, u32),
    (scores, arc): (impl Iterator<Item = (i32, f32)>, impl Fn(usize) -> CtcArc),
    topology: CtcTopology,
    row: &[f32],
    next: &mut Next<'_>,
) {
    // A token far below two others, which came there by different labels, is far below one whose
    // label is not the arc's.
    let second = second_best(group);
    let candidates = next.candidates(second);
    let (mut first, mut num_candidates) = (f32::NEG_INFINITY, 0);
    for i in 0..group.len() {
        if group[i].before >= candidates {
            first = first.max(group[i].before);
            group.swap(num_candidates, i);
            num_candidates += 1;
        }
    }
    let group = &mut group[..num_candidates];
    group.sort_unstable_by(|a, b| b.before.total_cmp(&a.before).then(a.source.cmp(&b.source)));
    for from in group.iter().filter(|from| from.last != EPSILON) {
        if !next.reach(from.source, from.before, blank.0, blank.1, row[0]) {
            break;
        }
    }
    let tokens = &row[1..];
    for (at, (label, score)) in scores.enumerate() {
        let Some(&acoustic) = tokens.get(class(label, 1)) else { continue };
        let score = score + acoustic;
        if !next.needs(first + score) {
            continue;
        }
        let arc = arc(at);
        for from in group.iter().filter(|from| from.last != label) {
            let mut needed = next.reach(from.source, from.before, arc.dest, arc.number, score);
            if topology.is_modified() {
                needed |= next.reach(from.source, from.before, arc.after_blank, arc.number, score);
            }
            if !needed {
                break;
            }
        }
    }
}

/// Returns the best score of a group after another token than the best of all; -inf if there is
/// none.
fn second_best(group: &[Last]) -> f32 {
    let (mut best, mut last, mut second) = (f32::NEG_INFINITY, EPSILON, f32::NEG_INFINITY);
    for from in group {
        if from.last == last {
            best = best.max(from.before);
        } else if from.before > best {
            (second, best, last) = (best, from.before, from.last);
        } else {
            second = second.max(from.before);
        }
    }
    second
}

impl DecodingGraph for CtcGraph {
    fn num_states(&self) -> usize {
        self.states.len()
    }

    fn start(&self) -> u32 {
        self.epsilon_offsets.first().copied().unwrap_or(0)
    }

    fn has_epsilons(&self) -> bool {
        self.has_epsilons
    }

    fn epsilon_arcs(&self, state: u32) -> impl Iterator<Item = EpsilonArc> {
        let State { of_graph, last } = self.states[state as usize];
        let range = if self.epsilon_offset(state) > 0 { self.view().arc_range(of_graph as usize) } else { 0..0 };
        let arcs = (number(range.start)..).zip(&self.view().arcs()[range]);
        arcs.filter(|(_, arc)| arc.label == EPSILON).map(move |(number, arc)| EpsilonArc {
            arc: number,
            dest: self.entered(index(arc.dest_state), last),
            score: arc.score,
        })
    }

    fn name_of(&self, state: u32) -> usize {
        self.states[state as usize].of_graph as usize
    }

    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>) {
        let mut order = std::mem::take(next.order);
        order.clear();
        for (source, token) in (0..).zip(tokens) {
            if token.score > active.cutoff {
                let State { of_graph, last } = self.states[token.state as usize];
                let before = token.score - best;
                let state = token.state - self.epsilon_offset(token.state);
                next.reach(source, before, state, self.own_arc(last), row[class(last, 0)]);
                if self.topology.is_modified() && last != EPSILON {
                    // It goes back to blank with the token itself before anything else.
                    let blank = self.blanks[of_graph as usize];
                    next.reach(source, before, blank, self.own_arc(last), row[class(last, 0)]);
                    continue;
                }
                if before == 0.0 {
                    self.expect(of_graph, last, row, next);
                }
                order.push(Last { of_graph, source, last, before });
            }
        }
        order.sort_unstable_by_key(|last| last.of_graph);
        for group in order.chunk_by_mut(|a, b| a.of_graph == b.of_graph) {
            self.follow_group(group, row, next);
        }
        *next.order = order;
    }

    fn final_arcs(&self, state: u32) -> impl Iterator<Item = (u32, f32)> {
        let State { of_graph, last } = self.states[state as usize];
        let range = self.view().arc_range(of_graph as usize);
        let arcs = (number(range.start)..).zip(&self.view().arcs()[range]);
        let ends = last == EPSILON || !self.topology.is_modified();
        arcs.filter(move |(_, arc)| ends && arc.label == FINAL).map(|(number, arc)| (number, arc.score))
    }

    fn arc(&self, arc: u32) -> GraphArc {
        match self.graph.fsas().arcs().get(arc as usize) {
            Some(it) => GraphArc { arc: arc.cast_signed(), label: it.label, score: it.score },
            None => {
                let label = (arc - number(self.dests.len())).cast_signed();
                GraphArc { arc: -1, label, score: 0.0 }
            }
        }
    }
}
