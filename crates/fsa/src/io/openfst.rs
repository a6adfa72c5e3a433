//! Conversion from and to OpenFst: final costs of states become arcs with the label -1 into one
//! final state, and costs change their sign.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::{AttributeProblem, Error, Quantity};
use crate::support::ids::index;

/// Placeholder of the one final state until the number of states is known.
pub(super) const TO_FINAL: i32 = -1;

/// Assembles arcs in any order, with [`TO_FINAL`] as the destination of final costs, into an FSA:
/// `start` and state 0 are exchanged, and the final state comes after the highest one. Returns the
/// arc map too. O(states + arcs).
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

/// Returns the score of two arcs as one.
fn plus(semiring: Semiring, a: f32, b: f32) -> f32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    match semiring {
        Semiring::Log if low > f32::NEG_INFINITY => high + (low - high).exp().ln_1p(),
        _ => high,
    }
}

/// An arc in OpenFst's form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CostArc {
    pub(super) dest: i32,
    pub(super) ilabel: i32,
    pub(super) olabel: i32,
    pub(super) cost: f32,
}

/// The states of a transducer, or of an acceptor, in OpenFst's form; the start is state 0.
///
/// They are made one by one, so that a file takes no more memory than its graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct CostStates<'a> {
    view: FsaView<'a>,
    aux_labels: Option<&'a [i32]>,
    semiring: Semiring,
    /// `true` if some final arc outputs a label and so becomes an arc into one more state.
    loud_end: bool,
    /// The final state, which OpenFst does not have.
    last: i32,
}

impl<'a> CostStates<'a> {
    /// # Errors
    /// [`Error::Attribute`] if the output labels are lists; [`Error::TooLarge`].
    pub(super) fn new(graph: &'a Graph<Fsa>, semiring: Semiring) -> Result<Self, Error> {
        let aux_labels = match graph.attributes().get(AUX_LABELS) {
            None => None,
            Some(_) => Some(graph.aux_labels().ok_or(Error::Attribute { problem: AttributeProblem::AuxLabelLists })?),
        };
        let view = graph.fsas().view();
        let is_loud = |(arc, &aux): (&Arc, &i32)| arc.label == FINAL && aux != FINAL && aux != EPSILON;
        let loud_end = aux_labels.is_some_and(|aux| view.arcs().iter().zip(aux).any(is_loud));
        let last = Error::fit(Quantity::States, view.final_state().unwrap_or(0))?;
        Ok(Self { view, aux_labels, semiring, loud_end, last })
    }

    pub(super) fn num_states(&self) -> usize {
        index(self.last) + usize::from(self.loud_end)
    }

    pub(super) fn num_arcs(&self) -> usize {
        let is_final = |(at, arc): &(usize, &Arc)| {
            arc.label == FINAL && self.aux_labels.is_none_or(|aux| aux[*at] == FINAL || aux[*at] == EPSILON)
        };
        self.view.arcs().len() - self.view.arcs().iter().enumerate().filter(is_final).count()
    }

    /// Calls `take` with the final cost and the arcs of each state, one after the other.
    pub(super) fn each<E>(&self, mut take: impl FnMut(f32, &[CostArc]) -> Result<(), E>) -> Result<(), E> {
        let mut arcs = Vec::new();
        for state in 0..index(self.last) {
            arcs.clear();
            let mut final_cost = f32::INFINITY;
            for (at, arc) in self.view.arc_range(state).zip(self.view.arcs_of(state)) {
                let &Arc { dest_state: dest, label, score, .. } = arc;
                let olabel = self.aux_labels.map_or(label, |aux_labels| aux_labels[at]);
                if label != FINAL {
                    arcs.push(CostArc { dest, ilabel: label, olabel, cost: -score });
                } else if olabel == FINAL || olabel == EPSILON {
                    final_cost = -plus(self.semiring, -final_cost, score);
                } else {
                    arcs.push(CostArc { dest: self.last, ilabel: EPSILON, olabel, cost: -score });
                }
            }
            take(final_cost, &arcs)?;
        }
        if self.loud_end { take(0.0, &[]) } else { Ok(()) }
    }
}
