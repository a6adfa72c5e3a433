//! The interface of graphs to the search.

use super::active::{Active, Token};
use super::next::Next;
use super::trellis::Link;
use crate::core::view::FsaView;
use crate::support::ids::{index, number};
use crate::{Arc, Error, FINAL, FsaVec, GraphLabels};

/// A graph whose arcs take one class each, or none.
pub(super) trait DecodingGraph: Sync {
    /// Returns the number of states; for a graph that is made while it is searched, the number so
    /// far.
    fn num_states(&self) -> usize;

    /// Returns the state before the first frame.
    fn start(&self) -> u32 {
        0
    }

    /// Follows the arcs with a class of all active tokens. `best`, the best of their scores, is to
    /// be subtracted from these; `row` has the scores of the frame.
    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>);

    /// Returns `true` if there may be arcs without a class.
    fn has_epsilons(&self) -> bool {
        false
    }

    /// Returns the arcs of a state without a class, always in the same order.
    fn epsilon_arcs(&self, state: u32) -> impl Iterator<Item = EpsilonArc>;

    /// Returns the arcs from a state into the final one, with their scores.
    fn final_arcs(&self, state: u32) -> impl Iterator<Item = (u32, f32)>;

    /// Returns the arc of a number.
    fn arc(&self, arc: u32) -> GraphArc;

    /// Checks that all arcs that were asked for could be computed.
    ///
    /// # Errors
    /// The error of the first arc that could not be computed.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Lets a graph that is computed on demand forget all but these tokens and links, and give its
    /// states and arcs other numbers.
    ///
    /// # Errors
    /// [`Error::Limit`]; nothing is changed then.
    fn forget(&self, _tokens: &mut [Token], _links: &mut [Link]) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the state as users know it, for errors.
    fn name_of(&self, state: u32) -> usize {
        state as usize
    }
}

/// An arc that takes no class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EpsilonArc {
    /// Number of the arc.
    pub(super) arc: u32,
    pub(super) dest: u32,
    pub(super) score: f32,
}

/// Data of an arc of the graph that a lattice needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GraphArc {
    /// Index in the FSA; -1 if it is in none.
    pub(super) arc: i32,
    pub(super) label: i32,
    pub(super) score: f32,
}

/// Stands for an arc that the graph does not have: from a state that is not final, but ends a
/// partial result.
pub(super) const NO_ARC: u32 = u32::MAX;

impl<G: DecodingGraph> DecodingGraph for &G {
    fn num_states(&self) -> usize {
        G::num_states(self)
    }

    fn start(&self) -> u32 {
        G::start(self)
    }

    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>) {
        G::follow(self, tokens, best, active, row, next);
    }

    fn has_epsilons(&self) -> bool {
        G::has_epsilons(self)
    }

    fn epsilon_arcs(&self, state: u32) -> impl Iterator<Item = EpsilonArc> {
        G::epsilon_arcs(self, state)
    }

    fn final_arcs(&self, state: u32) -> impl Iterator<Item = (u32, f32)> {
        G::final_arcs(self, state)
    }

    fn arc(&self, arc: u32) -> GraphArc {
        G::arc(self, arc)
    }

    fn check(&self) -> Result<(), Error> {
        G::check(self)
    }

    fn forget(&self, tokens: &mut [Token], links: &mut [Link]) -> Result<(), Error> {
        G::forget(self, tokens, links)
    }

    fn name_of(&self, state: u32) -> usize {
        G::name_of(self, state)
    }
}

/// An FSA as a graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExplicitGraph<'a> {
    fsa: FsaView<'a>,
    labels: GraphLabels,
    epsilons: Option<(&'a StateSet, usize)>,
}

impl DecodingGraph for ExplicitGraph<'_> {
    fn num_states(&self) -> usize {
        self.fsa.num_states()
    }

    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>) {
        let first = self.labels.label_of(0);
        // The arcs of the best token give a first estimate of the best score.
        if let Some(token) = tokens.iter().find(|token| token.score == best) {
            for arc in self.fsa.arcs_of(token.state as usize) {
                if let Some(&acoustic) = row.get(class(arc.label, first)) {
                    next.expect(arc.score + acoustic);
                }
            }
        }
        for (source, token) in (0..).zip(tokens) {
            if token.score <= active.cutoff {
                continue;
            }
            let before = token.score - best;
            let range = self.fsa.arc_range(token.state as usize);
            for (number, arc) in (number(range.start)..).zip(&self.fsa.arcs()[range]) {
                // Epsilon arcs and arcs into the final state have no class.
                if let Some(&acoustic) = row.get(class(arc.label, first)) {
                    next.reach(source, before, arc.dest_state.cast_unsigned(), number, arc.score + acoustic);
                }
            }
        }
    }

    fn has_epsilons(&self) -> bool {
        self.epsilons.is_some()
    }

    fn epsilon_arcs(&self, state: u32) -> impl Iterator<Item = EpsilonArc> {
        let state = state as usize;
        let range = match self.epsilons {
            Some((states, first)) if states.contains(first + state) => self.fsa.arc_range(state),
            _ => 0..0,
        };
        let arcs = (number(range.start)..).zip(&self.fsa.arcs()[range]);
        arcs.filter(|(_, arc)| self.labels.is_epsilon(arc.label)).map(|(number, arc)| EpsilonArc {
            arc: number,
            dest: arc.dest_state.cast_unsigned(),
            score: arc.score,
        })
    }

    fn final_arcs(&self, state: u32) -> impl Iterator<Item = (u32, f32)> {
        let range = self.fsa.arc_range(state as usize);
        let arcs = (number(range.start)..).zip(&self.fsa.arcs()[range]);
        arcs.filter(|(_, arc)| arc.label == FINAL).map(|(number, arc)| (number, arc.score))
    }

    fn arc(&self, arc: u32) -> GraphArc {
        let it = self.fsa.arcs()[arc as usize];
        GraphArc { arc: arc.cast_signed(), label: it.label, score: it.score }
    }
}

/// Returns the index of the score of a label in a row, if `first` is the label of the first class;
/// for labels below, an index behind all of them.
#[inline(always)]
pub(super) fn class(label: i32, first: i32) -> usize {
    label.wrapping_sub(first).cast_unsigned() as usize
}

/// Index of all labels of some graphs.
#[derive(Debug, Clone)]
pub(super) struct LabelIndex {
    labels: GraphLabels,
    highest: HighestLabel,
    /// The states with epsilon arcs, over all graphs, if there are any.
    epsilons: Option<StateSet>,
}

#[derive(Debug, Clone, Copy)]
struct HighestLabel {
    fsa: usize,
    arc: usize,
    /// -1 if there are no labels above it.
    label: i32,
}

impl LabelIndex {
    /// O(arcs).
    pub(super) fn new(graphs: &FsaVec, labels: GraphLabels) -> Self {
        let mut highest = HighestLabel { fsa: 0, arc: 0, label: FINAL };
        for (fsa, graph) in graphs.iter().enumerate() {
            let label = graph.arcs().iter().fold(FINAL, |most, arc| most.max(arc.label));
            if label > highest.label {
                let arc = graph.arcs().iter().position(|arc| arc.label == label).unwrap_or(0);
                highest = HighestLabel { fsa, arc, label };
            }
        }
        Self { labels, highest, epsilons: StateSet::with_epsilons(graphs, labels) }
    }

    /// Checks that a network has scores for all labels.
    pub(super) fn check(&self, num_classes: usize) -> Result<(), Error> {
        let HighestLabel { fsa, arc, label } = self.highest;
        match self.labels.class(label) {
            Some(class) if class >= num_classes => Err(Error::DenseLabel { fsa, arc, label, num_classes }),
            _ => Ok(()),
        }
    }

    /// Does the same for one of the graphs from which this was made. O(arcs).
    pub(super) fn check_one(&self, graphs: &FsaVec, fsa: usize, num_classes: usize) -> Result<(), Error> {
        let unfit = |arc: &Arc| self.labels.class(arc.label).is_some_and(|class| class >= num_classes);
        let found = graphs.fsa(fsa).arcs().iter().enumerate().find(|(_, arc)| unfit(arc));
        found.map_or(Ok(()), |(arc, it)| Err(Error::DenseLabel { fsa, arc, label: it.label, num_classes }))
    }

    /// Returns one of the graphs from which this was made.
    pub(super) fn graph<'a>(&'a self, graphs: &'a FsaVec, fsa: usize) -> ExplicitGraph<'a> {
        let first_state = graphs.shape().row_splits(1).row(fsa).start;
        let epsilons = self.epsilons.as_ref().map(|states| (states, first_state));
        ExplicitGraph { fsa: graphs.fsa(fsa), labels: self.labels, epsilons }
    }
}

/// A set of states, with one bit for each.
#[derive(Debug, Clone)]
struct StateSet {
    bits: Vec<u64>,
}

impl StateSet {
    /// Returns the states with epsilon arcs; `None` if there are none.
    fn with_epsilons(graphs: &FsaVec, labels: GraphLabels) -> Option<Self> {
        if !graphs.arcs().iter().any(|arc| labels.is_epsilon(arc.label)) {
            return None;
        }
        let mut bits = vec![0; graphs.num_states().div_ceil(64)];
        for (fsa, graph) in graphs.iter().enumerate() {
            let first = graphs.shape().row_splits(1).row(fsa).start;
            for arc in graph.arcs().iter().filter(|arc| labels.is_epsilon(arc.label)) {
                let state = first + index(arc.src_state);
                bits[state / 64] |= 1 << (state % 64);
            }
        }
        Some(Self { bits })
    }

    #[inline]
    fn contains(&self, state: usize) -> bool {
        self.bits[state / 64] >> (state % 64) & 1 == 1
    }
}
