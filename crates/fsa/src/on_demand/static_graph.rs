//! A graph that is whole in memory, for decoders.

use std::sync::Arc as Shared;

use super::search_graph::SearchGraph;
use crate::core::arc::EPSILON;
use crate::core::transducer::{StateArcs, Transducer};
use crate::error::Error;
use crate::support::ids::number;

/// A whole graph, such as Kaldi's `HCLG.fst`. Clones share it.
///
/// ```
/// use fsa::on_demand::{SearchGraph, StaticGraph};
/// use fsa::{CostArc, Transducer};
///
/// let arcs = [7, 0].map(|ilabel| CostArc { ilabel, olabel: 0, cost: 0.5, dest: 1 });
/// let it = Transducer::new(Some(0), [(f32::INFINITY, &arcs[..]), (0.0, &[])])?;
/// let mut graph = StaticGraph::new(it);
/// assert_eq!((graph.start()?, graph.arcs(0).epsilons[0].ilabel), (Some(0), 0));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StaticGraph {
    inner: Shared<Inner>,
}

#[derive(Debug)]
struct Inner {
    transducer: Transducer,
    /// Number of arcs without an input label of each state.
    num_epsilons: Vec<u32>,
}

impl StaticGraph {
    /// Puts the arcs without an input label first in each state. The order stays the same
    /// otherwise.
    pub fn new(mut transducer: Transducer) -> Self {
        let num_epsilons = (0..number(transducer.num_states())).map(|state| {
            let arcs = transducer.arcs_mut(state);
            arcs.sort_by_key(|arc| arc.ilabel != EPSILON);
            number(arcs.iter().take_while(|arc| arc.ilabel == EPSILON).count())
        });
        let num_epsilons = num_epsilons.collect();
        Self { inner: Shared::new(Inner { transducer, num_epsilons }) }
    }

    /// Returns the transducer.
    pub fn transducer(&self) -> &Transducer {
        &self.inner.transducer
    }
}

impl SearchGraph for StaticGraph {
    fn start(&mut self) -> Result<Option<u32>, Error> {
        Ok(self.inner.transducer.start())
    }

    fn arcs(&mut self, state: u32) -> StateArcs<'_> {
        let Inner { transducer, num_epsilons } = &*self.inner;
        let (epsilons, emitting) = transducer.arcs(state).split_at(num_epsilons[state as usize] as usize);
        StateArcs { final_cost: transducer.final_cost(state), epsilons, emitting }
    }

    fn renew(&mut self, _states: &mut [u32]) -> Result<(), Error> {
        Ok(())
    }
}
