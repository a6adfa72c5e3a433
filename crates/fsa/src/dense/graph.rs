//! What a search asks of a graph.

use super::active::{Active, Token};
use super::next::Next;
use super::trellis::Link;
use crate::core::view::FsaView;
use crate::support::ids::index;
use crate::{Error, FINAL, FsaVec};

/// A graph whose arcs take one class each.
pub(super) trait DecodingGraph: Sync {
    /// How many states there are.
    fn num_states(&self) -> usize;

    /// Follows the arcs of all active tokens, whose scores are to be taken less `best`, the best
    /// one of them; `row` are the scores of the frame.
    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>);

    /// The arcs from a state into the final one, with their scores.
    fn final_arcs(&self, state: u32) -> impl Iterator<Item = (u32, f32)>;

    /// What the number of an arc stands for.
    fn arc(&self, arc: u32) -> GraphArc;

    /// Whether all arcs that were asked for could be computed.
    ///
    /// # Errors
    /// That of the first one that could not.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A graph that is computed on demand may forget all but these tokens and links, and give its
    /// states and arcs other numbers.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    fn forget(&self, _tokens: &mut [Token], _links: &mut [Link]) -> Result<(), Error> {
        Ok(())
    }
}

/// What a lattice needs to know of an arc of the graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GraphArc {
    /// Its place in the FSA; -1 if it stands in none.
    pub(super) arc: i32,
    pub(super) label: i32,
    pub(super) score: f32,
}

/// In place of an arc of the graph: one from a state that is no final one, but ends a partial
/// result.
pub(super) const NO_ARC: u32 = u32::MAX;

impl<G: DecodingGraph> DecodingGraph for &G {
    fn num_states(&self) -> usize {
        G::num_states(self)
    }

    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>) {
        G::follow(self, tokens, best, active, row, next);
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
}

impl DecodingGraph for FsaView<'_> {
    fn num_states(&self) -> usize {
        FsaView::num_states(self)
    }

    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>) {
        // The arcs of the best token give a first idea of what the best score will be.
        if let Some(token) = tokens.iter().find(|token| token.score == best) {
            for arc in self.arcs_of(token.state as usize) {
                if let Some(&acoustic) = row.get(class(arc.label)) {
                    next.expect(arc.score + acoustic);
                }
            }
        }
        for (source, token) in (0..).zip(tokens) {
            if token.score <= active.cutoff {
                continue;
            }
            let before = token.score - best;
            let range = self.arc_range(token.state as usize);
            for (number, arc) in (arc_number(range.start)..).zip(&self.arcs()[range]) {
                // Arcs into the final state have no class.
                if let Some(&acoustic) = row.get(class(arc.label)) {
                    next.reach(source, before, arc.dest_state.cast_unsigned(), number, arc.score + acoustic);
                }
            }
        }
    }

    fn final_arcs(&self, state: u32) -> impl Iterator<Item = (u32, f32)> {
        let range = self.arc_range(state as usize);
        let arcs = (arc_number(range.start)..).zip(&self.arcs()[range]);
        arcs.filter(|(_, arc)| arc.label == FINAL).map(|(number, arc)| (number, arc.score))
    }

    fn arc(&self, arc: u32) -> GraphArc {
        let it = self.arcs()[arc as usize];
        GraphArc { arc: arc.cast_signed(), label: it.label, score: it.score }
    }
}

/// The number of an arc.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "arcs are counted by an i32")]
pub(super) fn arc_number(arc: usize) -> u32 {
    arc as u32
}

/// Where the score of a label stands in a row; behind all of them for that of final arcs.
#[inline(always)]
pub(super) fn class(label: i32) -> usize {
    label.cast_unsigned() as usize
}

/// The highest label of some graphs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labels {
    fsa: usize,
    arc: usize,
    /// -1 if there are no others.
    label: i32,
}

impl Labels {
    /// O(arcs).
    pub(super) fn of(graphs: &FsaVec) -> Self {
        let mut highest = Self { fsa: 0, arc: 0, label: FINAL };
        for (fsa, graph) in graphs.iter().enumerate() {
            let label = graph.arcs().iter().fold(FINAL, |most, arc| most.max(arc.label));
            if label > highest.label {
                let arc = graph.arcs().iter().position(|arc| arc.label == label).unwrap_or(0);
                highest = Self { fsa, arc, label };
            }
        }
        highest
    }

    /// Refuses labels that a network has no scores for.
    pub(super) fn check(&self, num_classes: usize) -> Result<(), Error> {
        let Self { fsa, arc, label } = *self;
        match label {
            FINAL => Ok(()),
            _ if index(label) < num_classes => Ok(()),
            _ => Err(Error::DenseLabel { fsa, arc, label, num_classes }),
        }
    }
}
