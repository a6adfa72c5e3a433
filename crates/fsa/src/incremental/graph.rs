//! Stand-in for `on_demand`, until the branches are one.

use crate::core::arc::FINAL;
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::error::{AttributeProblem, Error};
use crate::support::ids::index;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostArc {
    pub ilabel: i32,
    pub olabel: i32,
    pub cost: f32,
    pub dest: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateArcs<'a> {
    pub final_cost: f32,
    pub epsilons: &'a [CostArc],
    pub emitting: &'a [CostArc],
}

pub trait SearchGraph {
    fn start(&mut self) -> Result<Option<u32>, Error>;
    fn arcs(&mut self, state: u32) -> StateArcs<'_>;
    fn renew(&mut self, states: &mut [u32]) -> Result<(), Error>;
}

#[derive(Debug, Clone)]
pub struct StaticGraph {
    states: Vec<(f32, Vec<CostArc>, Vec<CostArc>)>,
}

impl StaticGraph {
    pub fn new(graph: &Graph<Fsa>) -> Result<Self, Error> {
        let words = graph.aux_labels().ok_or(Error::Attribute { problem: AttributeProblem::NoAuxLabels })?;
        let mut states = vec![(f32::INFINITY, vec![], vec![]); graph.fsas().num_states()];
        for (arc, &word) in graph.fsas().arcs().iter().zip(words) {
            let cost = 0.0 - arc.score;
            let state = &mut states[index(arc.src_state)];
            let dest = index(arc.dest_state) as u32;
            let made = CostArc { ilabel: arc.label, olabel: word, cost, dest };
            match arc.label {
                FINAL => state.0 = state.0.min(cost),
                0 => state.1.push(made),
                _ => state.2.push(made),
            }
        }
        Ok(Self { states })
    }
}

impl SearchGraph for StaticGraph {
    fn start(&mut self) -> Result<Option<u32>, Error> {
        Ok((!self.states.is_empty()).then_some(0))
    }

    fn arcs(&mut self, state: u32) -> StateArcs<'_> {
        let (final_cost, epsilons, emitting) = &self.states[state as usize];
        StateArcs { final_cost: *final_cost, epsilons, emitting }
    }

    fn renew(&mut self, _states: &mut [u32]) -> Result<(), Error> {
        Ok(())
    }
}
