//! The best path of each FSA, and linear FSAs of paths.

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::Arc;
use crate::core::builder::{SortedFsaBuilder, map_arcs};
use crate::core::each_fsa::for_each;
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::view::FsaView;
use crate::error::{Error, Quantity};
use crate::paths::passes::forward_best;
use crate::support::ids::index;

/// Returns the best path of each FSA as an FSA of its own, with the arc map; without states if
/// there is no path.
///
/// Scores are added in f64. Of several best paths it is the one whose last arc, seen from the end,
/// has the highest index. The FSAs must be top-sorted and without loops. O(states + arcs).
///
/// ```
/// use fsa::paths::shortest_path;
/// use fsa::{Arc, Fsa};
///
/// let fsa = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 1, 8, 0.75), Arc::new(1, 2, -1, 0.0)]
/// )?;
/// let (best, arc_map) = shortest_path(&fsa)?;
/// assert_eq!((best.labels(), arc_map), (vec![8, -1], vec![1, 2]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotTopSorted`].
#[doc(alias = "ShortestPath")]
pub fn shortest_path<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let (made, map) = map_arcs(fsas.as_fsa_vec(), |i, fsa| {
        let map = best_path(i, fsa)?;
        Ok((linear(map.iter().map(|&arc| fsa.arcs()[index(arc)]))?, map))
    })?;
    Ok((fsas.same_kind(made), map))
}

/// Returns the arcs of the best path of each FSA, `[fsa][arc]`, counted over all FSAs; none if
/// there is no path. The choice is the same as in [`shortest_path`].
///
/// # Errors
/// [`Error::NotTopSorted`].
pub fn best_paths<F: Fsas>(fsas: &F) -> Result<Ragged<i32>, Error> {
    let paths = for_each(fsas.as_fsa_vec(), |i, fsa| {
        let mut path = best_path(i, fsa)?;
        let first = Error::fit(Quantity::Arcs, fsa.first_arc())?;
        path.iter_mut().for_each(|arc| *arc += first);
        Ok(path)
    })?;
    Ok(Ragged::from_lists(&paths)?)
}

/// Returns the arcs of the best path, counted within the FSA.
fn best_path(i: usize, fsa: FsaView<'_>) -> Result<Vec<i32>, Error> {
    let (mut scores, mut last_arcs) = (vec![0.0_f64; fsa.num_states()], vec![0; fsa.num_states()]);
    forward_best(i, fsa, &mut scores, &mut last_arcs)?;
    let mut path = Vec::new();
    let mut last = last_arcs.last();
    while let Some(&arc) = last.filter(|&&arc| arc >= 0) {
        path.push(arc);
        last = last_arcs.get(fsa.arcs()[index(arc)].states().0);
    }
    path.reverse();
    Ok(path)
}

/// Returns the FSA that has these arcs one after another.
fn linear(arcs: impl ExactSizeIterator<Item = Arc>) -> Result<SortedFsaBuilder, Error> {
    let mut builder = SortedFsaBuilder::default();
    if arcs.len() > 0 {
        Error::fit(Quantity::States, arcs.len() + 1)?;
        builder.arcs.extend((0..).zip(arcs).map(|(state, arc)| Arc::new(state, state + 1, arc.label, arc.score)));
        builder.ends.extend((1..=builder.arcs.len()).chain([builder.arcs.len()]));
    }
    Ok(builder)
}

/// Returns the FSA of each path, `[path][arc]` with arcs of `fsas` counted over all, and the arc
/// map. The paths must go from a start to a final state.
pub(super) fn fsas_of_paths(fsas: &FsaVec, paths: &Ragged<i32>) -> Result<(FsaVec, Vec<i32>), Error> {
    let splits = paths.shape().last_splits();
    let (mut states, mut arc_splits, mut arcs) = (vec![0], vec![0], Vec::with_capacity(paths.num_elements()));
    Error::fit(Quantity::States, paths.num_elements() + splits.num_rows())?;
    for path in paths.rows() {
        for (state, &arc) in (0..).zip(path) {
            let Arc { label, score, .. } = fsas.arcs()[index(arc)];
            arcs.push(Arc::new(state, state + 1, label, score));
            arc_splits.push(Error::fit(Quantity::Arcs, arcs.len())?);
        }
        if !path.is_empty() {
            arc_splits.push(Error::fit(Quantity::Arcs, arcs.len())?);
        }
        states.push(Error::fit(Quantity::States, arc_splits.len() - 1)?);
    }
    let shape = RaggedShape::new([RowSplits::new(states)?, RowSplits::new(arc_splits)?])?;
    Ok((FsaVec::trusted(Ragged::new(shape, arcs)?), paths.values().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::Fsa;

    #[test]
    fn no_path_is_no_states() {
        let arc = |src, dest, label| Arc::new(src, dest, label, 1.0);
        let fsas = FsaVec::from_fsas(&[
            Fsa::from_arcs(3, vec![arc(0, 1, 3)]).unwrap(),
            Fsa::empty(),
            Fsa::from_arcs(3, vec![arc(0, 1, 3), arc(0, 2, -1), arc(1, 2, -1)]).unwrap(),
            Fsa::from_arcs(2, vec![Arc::new(0, 1, -1, f32::NEG_INFINITY)]).unwrap(),
        ])
        .unwrap();
        let (best, map) = shortest_path(&fsas).unwrap();
        assert_eq!(best.iter().map(|fsa| fsa.num_states()).collect::<Vec<_>>(), [0, 0, 3, 0]);
        assert_eq!(map, [1, 3]);
        assert_eq!(best_paths(&fsas).unwrap().rows().collect::<Vec<_>>(), [&[][..], &[], &[1, 3], &[]]);
        assert_eq!(fsas_of_paths(&fsas, &best_paths(&fsas).unwrap()).unwrap(), (best, map));
    }

    #[test]
    fn loops_and_arcs_back_are_refused() {
        let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 0, 3, 0.0), Arc::new(0, 2, -1, 0.0)]).unwrap();
        assert_eq!(
            shortest_path(&fsa).map(|_| ()),
            Err(Error::NotTopSorted { fsa: 0, arc: 0, src_state: 0, dest_state: 0 })
        );
    }
}
