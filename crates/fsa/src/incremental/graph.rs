//! The graphs that a decoder searches.

use crate::core::arc::{EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::error::{AttributeProblem, Error, Quantity};
use crate::support::ids::index;

/// An arc of a graph of transition identifiers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransitionArc {
    /// The transition identifier; 0 takes no frame.
    #[doc(alias = "ilabel")]
    pub label: i32,
    /// The word; 0 for none.
    #[doc(alias = "olabel")]
    pub word: i32,
    /// The cost: a negated score.
    pub cost: f32,
    /// The state that it enters.
    pub dest: u32,
}

/// A graph with transition identifiers and words, which may be computed while it is searched.
///
/// A decoder asks for the arcs of the states that it reaches, and always gets the same arcs of a
/// state in the same order.
pub trait TransitionGraph {
    /// Returns the start state; `None` for a graph without states.
    ///
    /// # Errors
    /// Errors of computing it.
    fn start(&mut self) -> Result<Option<u32>, Error>;

    /// Returns the arcs of a state.
    ///
    /// # Errors
    /// Errors of computing them, such as a limit.
    fn arcs(&mut self, state: u32) -> Result<impl Iterator<Item = TransitionArc>, Error>;

    /// Returns the cost of ending in a state; infinite if it is not final.
    ///
    /// # Errors
    /// Errors of computing it.
    fn final_cost(&mut self, state: u32) -> Result<f32, Error>;

    /// Returns `true` if a state has arcs with the label 0.
    ///
    /// # Errors
    /// Errors of computing them.
    fn has_epsilons(&mut self, state: u32) -> Result<bool, Error> {
        Ok(self.arcs(state)?.any(|arc| arc.label == EPSILON))
    }
}

impl<G: TransitionGraph> TransitionGraph for &mut G {
    fn start(&mut self) -> Result<Option<u32>, Error> {
        G::start(self)
    }

    fn arcs(&mut self, state: u32) -> Result<impl Iterator<Item = TransitionArc>, Error> {
        G::arcs(self, state)
    }

    fn final_cost(&mut self, state: u32) -> Result<f32, Error> {
        G::final_cost(self, state)
    }

    fn has_epsilons(&mut self, state: u32) -> Result<bool, Error> {
        G::has_epsilons(self, state)
    }
}

/// A graph in memory, such as HCLG: labels are transition identifiers, output labels words.
#[derive(Debug, Clone, Copy)]
pub struct ExplicitTransitions<'a> {
    fsa: &'a Fsa,
    words: &'a [i32],
}

impl<'a> ExplicitTransitions<'a> {
    /// Creates a view of a graph.
    ///
    /// # Errors
    /// [`Error::Attribute`] without one output label for each arc.
    pub fn new(graph: &'a Graph<Fsa>) -> Result<Self, Error> {
        let words = graph.aux_labels().ok_or(Error::Attribute { problem: AttributeProblem::NoAuxLabels })?;
        Error::same_size(Quantity::AttributeEntries, graph.fsas().num_arcs(), words.len())?;
        Ok(Self { fsa: graph.fsas(), words })
    }
}

impl TransitionGraph for ExplicitTransitions<'_> {
    fn start(&mut self) -> Result<Option<u32>, Error> {
        Ok((self.fsa.num_states() > 0).then_some(0))
    }

    fn arcs(&mut self, state: u32) -> Result<impl Iterator<Item = TransitionArc>, Error> {
        let range = self.fsa.view().arc_range(state as usize);
        let arcs = self.fsa.arcs()[range.clone()].iter().zip(&self.words[range]);
        Ok(arcs.filter(|(arc, _)| arc.label != FINAL).map(|(arc, &word)| TransitionArc {
            label: arc.label,
            word: word.max(EPSILON),
            // So that no cost is -0.
            cost: 0.0 - arc.score,
            dest: index(arc.dest_state) as u32,
        }))
    }

    fn final_cost(&mut self, state: u32) -> Result<f32, Error> {
        let arcs = self.fsa.view().arcs_of(state as usize).iter();
        let ends = arcs.filter(|arc| arc.label == FINAL).map(|arc| 0.0 - arc.score);
        Ok(ends.fold(f32::INFINITY, f32::min))
    }
}
