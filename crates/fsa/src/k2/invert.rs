//! Exchange of input and output labels.

use ragged_core::{RaggedShape, RowSplits};

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::identity;
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::graph::{AUX_LABELS, Graph};
use crate::error::{AttributeProblem, Error};
use crate::k2::expand_arcs;
use crate::support::ids::index;

/// Exchanges the input and output labels of a transducer, and returns the arc map.
///
/// Lists of output labels become chains of arcs first ([`expand_aux_labels`]). O(states + arcs).
///
/// # Errors
/// [`Error::Attribute`] without output labels; [`Error::FinalLabel`] or [`Error::Label`] if they
/// are invalid as labels, because -1 is missing on arcs into the final state, or is on other arcs.
#[doc(alias = "Invert")]
pub fn invert<F: Fsas>(graph: &Graph<F>) -> Result<(Graph<F>, Vec<i32>), Error> {
    let (graph, arc_map) = expand_aux_labels(graph)?;
    let fsas = graph.fsas().as_fsa_vec();
    let Some(aux_labels) = graph.aux_labels() else {
        return Err(Error::Attribute { problem: AttributeProblem::NoAuxLabels });
    };
    let arcs: Vec<_> = fsas.arcs().iter().zip(aux_labels).map(|(&arc, &label)| Arc { label, ..arc }).collect();
    let labels = fsas.labels();
    let made = graph.fsas().same_kind(FsaVec::new(fsas.as_ragged().with_values(arcs)?)?);
    Ok((Graph::from_parts(made, graph.into_parts().1)?.with_aux_labels(labels)?, arc_map))
}

/// Expands lists of output labels to chains of arcs, so that each arc has one output label, and
/// returns the arc map.
///
/// As in [`expand_arcs`], the score and the label are on the first arc of a chain, -1 on the last
/// arc of a final one, whose chain gets one more arc if its list does not end with -1. The other
/// attributes follow the first arc. Graphs without lists are returned as they are.
/// O(states + arcs).
///
/// ```
/// use fsa::{Arc, Fsa, Graph, Ragged};
/// use fsa::k2::expand_aux_labels;
///
/// let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?;
/// let words = Graph::new(fsa).with_aux_labels(Ragged::from_lists(&[vec![70, 71], vec![]])?)?;
/// let (expanded, arc_map) = expand_aux_labels(&words)?;
/// assert_eq!((expanded.fsas().labels(), arc_map), (vec![7, 0, -1], vec![0, -1, 1]));
/// assert_eq!(expanded.aux_labels(), Some(&[70, 71, -1][..]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::TooLarge`].
pub fn expand_aux_labels<F: Fsas>(graph: &Graph<F>) -> Result<(Graph<F>, Vec<i32>), Error> {
    let fsas = graph.fsas().as_fsa_vec();
    let Some(lists) = graph.attributes().lists(AUX_LABELS) else {
        return Ok((graph.clone(), identity(fsas.num_arcs())));
    };
    // A final arc without -1 at the end of its list gets it.
    let mut elements = Vec::with_capacity(lists.num_elements());
    let mut lengths = Vec::with_capacity(fsas.num_arcs());
    for (arc, list) in fsas.arcs().iter().zip(lists.rows()) {
        let missing = arc.label == FINAL && list.last() != Some(&FINAL);
        elements.extend_from_slice(list);
        elements.extend(missing.then_some(FINAL));
        lengths.push(list.len() + usize::from(missing));
    }
    let shape = RaggedShape::new([RowSplits::from_lengths(lengths)?])?;
    let expanded = expand_arcs(graph.fsas(), &[&shape])?;
    let label = |&element: &i32| if element < 0 { EPSILON } else { elements[index(element)] };
    let labels: Vec<_> = expanded.list_maps[0].iter().map(label).collect();
    let rest = graph.clone().without(AUX_LABELS);
    Ok((rest.carry((expanded.fsas, expanded.arc_map.clone()))?.with_aux_labels(labels)?, expanded.arc_map))
}

#[cfg(test)]
mod tests {
    use ragged_core::Ragged;

    use super::*;
    use crate::core::fsa::Fsa;

    fn word() -> Graph<Fsa> {
        Graph::new(Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 2.0)]).unwrap())
    }

    #[test]
    fn labels_are_exchanged() {
        let (made, map) = invert(&word().with_aux_labels(vec![9, -1]).unwrap()).unwrap();
        assert_eq!((made.fsas().labels(), made.aux_labels(), map), (vec![9, -1], Some(&[7, -1][..]), vec![0, 1]));
        assert!(matches!(invert(&word()), Err(Error::Attribute { .. })));
        assert!(matches!(invert(&word().with_aux_labels(vec![9, 3]).unwrap()), Err(Error::FinalLabel { .. })));
    }

    #[test]
    fn lists_become_chains() {
        let lists = Ragged::from_lists(&[vec![], vec![4, 5]]).unwrap();
        let graph = word().with_aux_labels(lists).unwrap().with("weight", vec![0.25, 4.0]).unwrap();
        let (made, map) = invert(&graph).unwrap();
        let arcs =
            vec![Arc::new(0, 1, 0, 0.5), Arc::new(1, 2, 4, 2.0), Arc::new(2, 3, 5, 0.0), Arc::new(3, 4, -1, 0.0)];
        assert_eq!(*made.fsas(), Fsa::from_arcs(5, arcs).unwrap());
        assert_eq!((made.aux_labels(), map), (Some(&[7, 0, 0, -1][..]), vec![0, 1, -1, -1]));
        assert_eq!(made.attributes().get("weight"), Some(&vec![0.25, 4.0, 0.0, 0.0].into()));
        let middle = Ragged::from_lists(&[vec![-1, 4], vec![-1]]).unwrap();
        assert!(invert(&word().with_aux_labels(middle).unwrap()).is_err());
    }
}
