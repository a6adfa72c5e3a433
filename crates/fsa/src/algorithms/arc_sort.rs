//! The arcs of each state in order.

use std::ops::Range;

use crate::arc::index;
use crate::parts::{for_each_piece, gather, identity};
use crate::{Arc, Error, FsaVec, Fsas};

/// Sorts the arcs of each state by label and then by the state that they enter ([`Arc::sort_key`]), and returns the arc map. Arcs of equal
/// keys stay in their order; FSAs that are sorted come back as they are. O(arcs), times the logarithm of the arcs of a state where these
/// are many.
///
/// ```
/// use fsa::algorithms::arc_sort;
/// use fsa::{Arc, Fsa};
///
/// let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 2, -1, 0.5), Arc::new(0, 1, 7, 0.0), Arc::new(1, 2, -1, 0.0)])?;
/// let (sorted, arc_map) = arc_sort(&fsa)?;
/// assert_eq!((sorted.labels(), arc_map), (vec![7, -1, -1], vec![1, 0, 2]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// None at present.
#[doc(alias = "ArcSort")]
pub fn arc_sort<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let all = fsas.as_vec();
    let (arcs, splits) = (all.arcs(), all.shape().row_splits(2));
    if all.is_arc_sorted() {
        return Ok((fsas.clone(), identity(arcs.len())));
    }
    let splits: &[i32] = splits.as_ref();
    let mut order = vec![0; arcs.len()];
    for_each_piece(splits, &mut order, |rows, order| order_rows(arcs, splits, rows, order));
    let sorted = all.as_ragged().with_values(gather(arcs, &order))?;
    Ok((fsas.same_kind(FsaVec::trusted(sorted)), order))
}

/// Whether the arcs of a state are in order.
fn is_sorted(arcs: &[Arc]) -> bool {
    arcs.is_sorted_by_key(Arc::sort_key)
}

/// Up to so many arcs of a state, comparing all pairs without a branch is faster than sorting.
const FEW: usize = 16;

fn order_rows(arcs: &[Arc], splits: &[i32], rows: Range<usize>, mut order: &mut [i32]) {
    let mut keyed = Vec::new();
    for row in rows {
        let first = splits[row];
        let arcs = &arcs[index(first)..index(splits[row + 1])];
        let (here, rest) = order.split_at_mut(arcs.len());
        match here.len() {
            0 | 1 => here.fill(first),
            2..=FEW => order_few(arcs, first, here),
            _ if is_sorted(arcs) => here.iter_mut().zip(first..).for_each(|(at, arc)| *at = arc),
            _ => {
                keyed.clear();
                keyed.extend(arcs.iter().map(Arc::sort_key).zip(first..));
                keyed.sort_unstable();
                here.iter_mut().zip(&keyed).for_each(|(at, &(_, arc))| *at = arc);
            }
        }
        order = rest;
    }
}

/// The rank of an arc is the number of arcs that belong before it.
fn order_few(arcs: &[Arc], first: i32, order: &mut [i32]) {
    let (mut keys, mut ranks) = ([0_u64; FEW], [0_usize; FEW]);
    for (i, arc) in arcs.iter().enumerate() {
        let key = arc.sort_key();
        let mut rank = 0;
        for (&earlier, rank_of_earlier) in keys[..i].iter().zip(&mut ranks) {
            let stays = earlier <= key;
            rank += usize::from(stays);
            *rank_of_earlier += usize::from(!stays);
        }
        (keys[i], ranks[i]) = (key, rank);
    }
    for (&rank, arc) in ranks[..arcs.len()].iter().zip(first..) {
        order[rank] = arc;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{RandomFsaOptions, random_fsa_vec};
    use crate::{Fsa, Properties};

    #[test]
    fn rows_of_all_lengths_are_sorted_and_ties_stay() {
        for seed in 0..20 {
            let options =
                RandomFsaOptions { acyclic: seed % 2 == 0, max_symbol: 9, max_num_arcs: 300, ..Default::default() };
            let fsas = random_fsa_vec(seed, 5, &options).unwrap();
            let (sorted, map) = arc_sort(&fsas).unwrap();
            assert!(sorted.properties().contains(Properties::ARC_SORTED));
            let mut naive: Vec<_> = (0..fsas.num_arcs()).collect();
            let ids = fsas.shape().row_ids(1);
            let state = fsas.shape().row_ids(2);
            naive.sort_by_key(|&i| (ids[index(state[i])], state[i], fsas.arcs()[i].sort_key()));
            assert_eq!(map.iter().map(|&i| index(i)).collect::<Vec<_>>(), naive);
            assert!(arc_sort(&sorted).unwrap().0.ptr_eq(&sorted), "nothing to do");
        }
        assert_eq!(arc_sort(&Fsa::empty()).unwrap(), (Fsa::empty(), vec![]));
    }

    #[test]
    fn a_state_with_many_arcs() {
        let arcs: Vec<_> = (0..1000).map(|i| Arc::new(0, 1, (i * 7919) % 1000, 0.0)).collect();
        let (sorted, map) = arc_sort(&Fsa::from_arcs(3, arcs.clone()).unwrap()).unwrap();
        assert_eq!(sorted.labels(), (0..1000).collect::<Vec<_>>());
        assert!(sorted.arcs().iter().zip(&map).all(|(arc, &from)| *arc == arcs[index(from)]));
    }
}
