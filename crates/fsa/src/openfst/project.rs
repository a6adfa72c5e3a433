//! Projection of a transducer to an acceptor of its input or output labels.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{self, SortedFsaBuilder};
use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::error::{Error, Quantity};
use crate::openfst::machine::aux_labels;

/// The side of a transducer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Side {
    /// The input labels.
    Input,
    /// The output labels.
    Output,
}

/// Returns the acceptors of the input or the output labels of transducers, and the arc map.
/// Acceptors stay as they are.
///
/// A label that is output by an arc into the final state is put on an arc of its own, before a
/// final arc whose entry in the arc map is -1.
///
/// ```
/// use fsa::{Arc, Fsa, Graph};
/// use fsa::openfst::{Side, project};
///
/// let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?;
/// let transducer = Graph::new(fsa).with_aux_labels(vec![70, -1])?;
/// assert_eq!(project(&transducer, Side::Output)?.0.labels(), [70, -1]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::Attribute`] if the output labels are lists.
#[doc(alias = "fstproject")]
pub fn project<F: Fsas>(graph: &Graph<F>, side: Side) -> Result<(F, Vec<i32>), Error> {
    let vec = graph.fsas().as_fsa_vec();
    let (Side::Output, Some(all_aux)) = (side, aux_labels(graph)?) else {
        return Ok((graph.fsas().clone(), (0..Error::fit(Quantity::Arcs, vec.num_arcs())?).collect()));
    };
    let (made, map) = builder::map_arcs(vec, |_, fsa| {
        let aux = &all_aux[fsa.first_arc()..fsa.first_arc() + fsa.arcs().len()];
        let Some(last) = fsa.final_state() else { return Ok((SortedFsaBuilder::default(), vec![])) };
        let mut builder = SortedFsaBuilder::default();
        let one_more = fsa.arcs().iter().zip(aux).any(|(arc, &aux)| arc.label == FINAL && aux > EPSILON);
        let before = Error::fit(Quantity::States, last)?;
        let last = Error::fit(Quantity::States, last + usize::from(one_more))?;
        let mut map: Vec<i32> = (0..Error::fit(Quantity::Arcs, aux.len())?).collect();
        for state in 0..fsa.num_states() - 1 {
            for at in fsa.arc_range(state) {
                let (arc, label) = (fsa.arcs()[at], aux[at].max(EPSILON));
                builder.arcs.push(match (arc.label, label) {
                    (FINAL, EPSILON) => Arc { dest_state: last, ..arc },
                    (FINAL, _) => Arc { dest_state: before, label, ..arc },
                    _ => Arc { label, ..arc },
                });
            }
            builder.end_state();
        }
        if one_more {
            builder.arcs.push(Arc::new(before, last, FINAL, 0.0));
            builder.end_state();
            map.push(-1);
        }
        builder.end_state();
        Ok((builder, map))
    })?;
    Ok((graph.fsas().same_kind(made), map))
}
