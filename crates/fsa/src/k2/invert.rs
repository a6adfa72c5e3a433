//! Input and output labels, exchanged.

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::attributes::Attribute;
use crate::core::builder::identity;
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::graph::{AUX_LABELS, Graph};
use crate::error::Error;
use crate::k2::expand_arcs;
use crate::support::ids::index;

/// Exchanges the input and output labels of a transducer, and returns the arc map.
///
/// Lists of output labels become chains of arcs ([`expand_arcs`]): the score and the former label stand on the first arc, -1 on the last one of a
/// final arc, whose chain gets one more arc if its list does not end with -1. Then the other attributes follow the first arc. O(states + arcs).
///
/// # Errors
/// [`Error::Attribute`] without output labels; [`Error::FinalLabel`] or [`Error::Label`] if they cannot be labels, because -1 does not
/// stand on the arcs into the final state, or does elsewhere.
#[doc(alias = "Invert")]
pub fn invert<F: Fsas>(graph: &Graph<F>) -> Result<(Graph<F>, Vec<i32>), Error> {
    match graph.attributes().get(AUX_LABELS) {
        Some(Attribute::Ints { values, .. }) => {
            let fsas = graph.fsas().as_fsa_vec();
            let arc_map = identity(fsas.num_arcs());
            let made =
                Graph::from_parts(graph.fsas().same_kind(with_labels(fsas, values)?), graph.attributes().clone())?;
            Ok((made.with_aux_labels(fsas.labels())?, arc_map))
        }
        Some(Attribute::Lists(lists)) => invert_lists(graph, lists),
        _ => Err(Error::Attribute { what: "only what has aux_labels of whole numbers can be inverted" }),
    }
}

/// The same arcs with other labels, which are checked.
fn with_labels(fsas: &FsaVec, labels: &[i32]) -> Result<FsaVec, Error> {
    let arcs: Vec<_> = fsas.arcs().iter().zip(labels).map(|(&arc, &label)| Arc { label, ..arc }).collect();
    FsaVec::new(fsas.as_ragged().with_values(arcs)?)
}

fn invert_lists<F: Fsas>(graph: &Graph<F>, lists: &Ragged<i32>) -> Result<(Graph<F>, Vec<i32>), Error> {
    let fsas = graph.fsas().as_fsa_vec();
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
    let former = expanded.fsas.as_fsa_vec().labels();
    let made = graph.fsas().same_kind(with_labels(expanded.fsas.as_fsa_vec(), &labels)?);
    let rest = graph.clone().without(AUX_LABELS);
    Ok((rest.carry((made, expanded.arc_map.clone()))?.with_aux_labels(former)?, expanded.arc_map))
}

#[cfg(test)]
mod tests {
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
