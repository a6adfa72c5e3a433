//! Arcs stretched to chains, one arc for each entry of a list.

use ragged_core::RaggedShape;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{SortedFsaBuilder, map_fsas};
use crate::core::fsa::Fsas;
use crate::error::{Error, Quantity};
use crate::support::ids::{id, index};

/// Result of [`expand_arcs`].
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedArcs<F> {
    /// The FSAs with chains in place of arcs.
    pub fsas: F,
    /// For the first arc of a chain the arc that it stands for, -1 for the others.
    pub arc_map: Vec<i32>,
    /// For each of the lists' shapes and each arc, the element that it takes, or -1.
    pub list_maps: Vec<Vec<i32>>,
}

/// Puts a chain in place of each arc, as long as the longest of its lists, and at least one arc
/// long. Each of `lists` has the axes `[arc][element]` and a row for each arc.
///
/// The first arc of a chain has the score, and the label unless it is -1, which goes to the last
/// arc; all else is 0. New states come behind the one that the arc leaves.
/// O(states + arcs of the result).
///
/// # Errors
/// [`Error::Axes`] or [`Error::Size`] if lists do not have two axes and a row for each arc;
/// [`Error::TooLarge`].
#[doc(alias = "ExpandArcs")]
pub fn expand_arcs<F: Fsas>(fsas: &F, lists: &[&RaggedShape]) -> Result<ExpandedArcs<F>, Error> {
    let all = fsas.as_fsa_vec();
    for lists in lists {
        if lists.num_axes() != 2 {
            return Err(Error::Axes { what: Quantity::ArcLists, expected: 2, found: lists.num_axes() });
        }
        Error::same_size(Quantity::Lists, all.num_arcs(), lists.dim0())?;
    }
    let rows = |list: usize, arc: usize| lists[list].row_splits(1).row(arc);
    let length = |arc: usize| (0..lists.len()).map(|list| rows(list, arc).len()).max().unwrap_or(0).max(1);
    let (made, maps) = map_fsas(all, |_, fsa| {
        let first_arc = fsa.first_arc();
        let lengths: Vec<usize> = (first_arc..first_arc + fsa.arcs().len()).map(length).collect();
        let total: usize = lengths.iter().sum();
        Error::fit(Quantity::Arcs, total)?;
        Error::fit(Quantity::States, fsa.num_states() + total)?;
        let mut names = Vec::with_capacity(fsa.num_states());
        let mut next = 0;
        for state in 0..fsa.num_states() {
            names.push(next);
            next += 1 + lengths[fsa.arc_range(state)].iter().map(|length| id(length - 1)).sum::<i32>();
        }
        let mut builder = SortedFsaBuilder::with_capacity(index(next), total);
        // Each new arc's source among the arcs of this FSA, and its index in the chain.
        let mut sources = Vec::with_capacity(total);
        for (state, &name) in names.iter().enumerate() {
            let mut inner = name + 1;
            for arc in fsa.arc_range(state) {
                let Arc { label, score, .. } = fsa.arcs()[arc];
                let (dest_state, label) = match lengths[arc] {
                    1 => (names[fsa.arcs()[arc].states().1], label),
                    _ => (inner, if label == FINAL { EPSILON } else { label }),
                };
                builder.arcs.push(Arc { src_state: name, dest_state, label, score });
                sources.push((arc, 0));
                inner += id(lengths[arc] - 1);
            }
            builder.end_state();
            inner = name + 1;
            for arc in fsa.arc_range(state) {
                for step in 1..lengths[arc] {
                    let ends = step + 1 == lengths[arc];
                    let Arc { label, .. } = fsa.arcs()[arc];
                    let dest_state = if ends { names[fsa.arcs()[arc].states().1] } else { inner + 1 };
                    let label = if ends && label == FINAL { FINAL } else { EPSILON };
                    builder.arcs.push(Arc { src_state: inner, dest_state, label, score: 0.0 });
                    sources.push((arc, step));
                    builder.end_state();
                    inner += 1;
                }
            }
        }
        sources.iter_mut().for_each(|(arc, _)| *arc += first_arc);
        Ok((builder, sources))
    })?;
    let sources = maps.concat();
    let list_map = |list| {
        let element = |&(arc, step): &(usize, usize)| rows(list, arc).nth(step).map_or(-1, id);
        sources.iter().map(element).collect()
    };
    Ok(ExpandedArcs {
        fsas: fsas.same_kind(made),
        arc_map: sources.iter().map(|&(arc, step)| if step == 0 { id(arc) } else { -1 }).collect(),
        list_maps: (0..lists.len()).map(list_map).collect(),
    })
}

#[cfg(test)]
mod tests {
    use ragged_core::RowSplits;

    use super::*;
    use crate::core::fsa::Fsa;

    fn shape(lengths: &[usize]) -> RaggedShape {
        RaggedShape::new([RowSplits::from_lengths(lengths.iter().copied()).unwrap()]).unwrap()
    }

    #[test]
    fn chains_of_the_longest_list() {
        let fsa =
            Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 1, 8, 1.0), Arc::new(1, 2, -1, 2.0)]).unwrap();
        let made = expand_arcs(&fsa, &[&shape(&[0, 3, 1]), &shape(&[0, 1, 2])]).unwrap();
        let arcs = vec![
            Arc::new(0, 3, 7, 0.5),
            Arc::new(0, 1, 8, 1.0),
            Arc::new(1, 2, 0, 0.0),
            Arc::new(2, 3, 0, 0.0),
            Arc::new(3, 4, 0, 2.0),
            Arc::new(4, 5, -1, 0.0),
        ];
        assert_eq!(made.fsas, Fsa::from_arcs(6, arcs).unwrap());
        assert_eq!(made.arc_map, [0, 1, -1, -1, 2, -1]);
        assert_eq!(made.list_maps, [[-1, 0, 1, 2, 3, -1], [-1, 0, -1, -1, 1, 2]]);
        assert_eq!(expand_arcs(&fsa, &[]).unwrap().fsas, fsa);
        assert!(expand_arcs(&fsa, &[&shape(&[1])]).is_err());
    }
}
