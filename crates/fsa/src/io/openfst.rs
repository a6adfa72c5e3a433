//! The border to OpenFst: final costs of states become arcs with the label -1 into one final state,
//! and costs turn their sign.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::semiring::Semiring;
use crate::error::{AttributeProblem, Error, Quantity};
use crate::support::ids::index;

/// What stands for the one final state until the number of states is known.
pub(super) const TO_FINAL: i32 = -1;

/// Arcs in any order, with [`TO_FINAL`] as the state that final costs lead to, as an FSA: `start`
/// and state 0 change their places, and the final state comes after the highest one. Also gives the
/// arc map. O(states + arcs).
pub(super) fn assemble(mut arcs: Vec<Arc>, start: i32, highest: i32) -> Result<(Fsa, Vec<i32>), Error> {
    let last = Error::fit(Quantity::States, index(highest) + 1)?;
    let turn = |state: i32| match state {
        TO_FINAL => last,
        0 => start,
        state if state == start => 0,
        state => state,
    };
    for arc in &mut arcs {
        arc.src_state = turn(arc.src_state);
        arc.dest_state = turn(arc.dest_state);
    }
    let mut order: Vec<i32> = (0..Error::fit(Quantity::Arcs, arcs.len())?).collect();
    if !arcs.is_sorted_by_key(|arc| arc.src_state) {
        order.sort_by_key(|&arc| arcs[index(arc)].src_state);
        arcs = order.iter().map(|&arc| arcs[index(arc)]).collect();
    }
    Ok((Fsa::from_arcs(index(last) + 1, arcs)?, order))
}

/// The score of two arcs as one.
fn plus(semiring: Semiring, a: f32, b: f32) -> f32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    match semiring {
        Semiring::Log if low > f32::NEG_INFINITY => high + (low - high).exp().ln_1p(),
        _ => high,
    }
}

/// An arc as OpenFst has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CostArc {
    pub(super) dest: i32,
    pub(super) ilabel: i32,
    pub(super) olabel: i32,
    pub(super) cost: f32,
}

/// States and arcs as OpenFst has them; the start is state 0.
#[derive(Debug, Default)]
pub(super) struct CostStates {
    /// For each state, the number of arcs up to its last one.
    ends: Vec<usize>,
    arcs: Vec<CostArc>,
    final_costs: Vec<f32>,
}

impl CostStates {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Of each state the final cost and the arcs.
    pub(super) fn iter(&self) -> impl Iterator<Item = (f32, &[CostArc])> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        let arcs = begins.zip(&self.ends).map(|(begin, &end)| &self.arcs[begin..end]);
        self.final_costs.iter().copied().zip(arcs)
    }

    fn end_state(&mut self, final_cost: f32) {
        self.ends.push(self.arcs.len());
        self.final_costs.push(final_cost);
    }
}

/// The states of a transducer, or of an acceptor, whose output labels are its input labels. Final
/// arcs become final costs, but those that put something out become arcs into one more state.
pub(super) fn states(graph: &Graph<Fsa>, semiring: Semiring) -> Result<CostStates, Error> {
    let aux_labels = match graph.attributes().get(crate::core::graph::AUX_LABELS) {
        None => None,
        Some(_) => Some(graph.aux_labels().ok_or(Error::Attribute { problem: AttributeProblem::AuxLabelLists })?),
    };
    let view = graph.fsas().view();
    let mut states = CostStates::default();
    let Some(last) = view.final_state() else { return Ok(states) };
    let last_id = Error::fit(Quantity::States, last)?;
    states.arcs.reserve(view.arcs().len());
    let mut loud_end = false;
    for state in 0..last {
        let mut final_cost = f32::INFINITY;
        for (at, arc) in view.arc_range(state).zip(view.arcs_of(state)) {
            let &Arc { dest_state: dest, label, score, .. } = arc;
            let aux_label = aux_labels.map_or(label, |aux_labels| aux_labels[at]);
            if label != FINAL {
                states.arcs.push(CostArc { dest, ilabel: label, olabel: aux_label, cost: -score });
            } else if aux_label == FINAL || aux_label == EPSILON {
                final_cost = -plus(semiring, -final_cost, score);
            } else {
                loud_end = true;
                states.arcs.push(CostArc { dest: last_id, ilabel: EPSILON, olabel: aux_label, cost: -score });
            }
        }
        states.end_state(final_cost);
    }
    if loud_end {
        states.end_state(0.0);
    }
    Ok(states)
}
