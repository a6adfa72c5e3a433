//! Sorting of the arcs of each state.

use std::ops::Range;

use crate::core::arc::Arc;
use crate::core::builder::identity;
use crate::core::fsa::{FsaVec, Fsas};
use crate::error::Error;
use crate::support::ids::{id, index};
use crate::support::slots::{Slot, SlotVec};
use crate::support::threads::{pieces, share, worth};

/// Sorts the arcs of each state by label and then by the state that they enter ([`Arc::sort_key`]),
/// and returns the arc map. Arcs of equal keys stay in their order; sorted FSAs are returned as
/// they are. O(arcs), times the logarithm of the arcs of a state if these are many.
///
/// ```
/// use fsa::k2::arc_sort;
/// use fsa::{Arc, Fsa};
///
/// let fsa = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 2, -1, 0.5), Arc::new(0, 1, 7, 0.0), Arc::new(1, 2, -1, 0.0)]
/// )?;
/// let (sorted, arc_map) = arc_sort(&fsa)?;
/// assert_eq!((sorted.labels(), arc_map), (vec![7, -1, -1], vec![1, 0, 2]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// None at present.
#[doc(alias = "ArcSort")]
pub fn arc_sort<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let all = fsas.as_fsa_vec();
    let arcs = all.arcs();
    if all.is_arc_sorted() {
        return Ok((fsas.clone(), identity(arcs.len())));
    }
    let splits: &[i32] = all.shape().row_splits(2).as_ref();
    let parallel = worth(arcs.len());
    let pieces = pieces(parallel, splits);
    let by_pieces = || pieces.iter().map(|rows| index(splits[rows.end] - splits[rows.start]));
    let (mut sorted, mut order) = (SlotVec::new(by_pieces()), SlotVec::new(by_pieces()));
    share(parallel, pieces.iter().cloned().zip(sorted.each()).zip(order.each()), |((rows, mut sorted), mut order)| {
        sort_rows(arcs, splits, rows, &mut sorted, &mut order);
    });
    let sorted = all.as_ragged().with_values(sorted.finish())?;
    Ok((fsas.same_kind(FsaVec::trusted(sorted)), order.finish()))
}

/// Returns `true` if the arcs of a state are in order.
fn is_sorted(arcs: &[Arc]) -> bool {
    arcs.is_sorted_by_key(Arc::sort_key)
}

/// Up to this number of arcs of a state, comparing all pairs without a branch is faster than
/// sorting.
const FEW: usize = 16;

/// Sorts the arcs of these rows, and writes their former indexes.
fn sort_rows(arcs: &[Arc], splits: &[i32], rows: Range<usize>, sorted: &mut Slot<'_, Arc>, order: &mut Slot<'_, i32>) {
    let mut keyed = Vec::new();
    for row in rows {
        let first = splits[row];
        let arcs = &arcs[index(first)..index(splits[row + 1])];
        match arcs.len() {
            0 => {}
            1..=FEW => {
                let places = &order_few(arcs)[..arcs.len()];
                sorted.extend(places.iter().map(|&place| arcs[usize::from(place)]));
                order.extend(places.iter().map(|&place| first + i32::from(place)));
            }
            _ if is_sorted(arcs) => {
                sorted.extend(arcs.iter().copied());
                order.extend((0..arcs.len()).map(|place| first + id(place)));
            }
            _ => {
                keyed.clear();
                keyed.extend(arcs.iter().map(Arc::sort_key).zip(0..));
                keyed.sort_unstable();
                sorted.extend(keyed.iter().map(|&(_, place)| arcs[index(place)]));
                order.extend(keyed.iter().map(|&(_, place)| first + place));
            }
        }
    }
}

/// Returns for each place the arc that belongs there: the rank of an arc is the number of arcs that
/// belong before it.
fn order_few(arcs: &[Arc]) -> [u8; FEW] {
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
    let mut order = [0; FEW];
    for (&rank, arc) in ranks[..arcs.len()].iter().zip(0..) {
        order[rank] = arc;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::Fsa;
    use crate::core::properties::Properties;
    use crate::k2::random_fsa::{RandomFsaOptions, random_fsa_vec};

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
