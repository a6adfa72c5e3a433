//! Algorithms work on one FSA at a time; this runs them over all, and puts the results behind each other.

use std::ops::Range;

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::arc::{id, index};
use crate::view::FsaView;
use crate::{Arc, Error, FsaVec, Fsas};

/// An FSA in the making: the arcs, and where those of each state end.
#[derive(Debug, Default, Clone)]
pub(crate) struct Part {
    /// For each state, the number of arcs up to its last one.
    pub(crate) ends: Vec<usize>,
    /// The arcs in the order of the states that they leave.
    pub(crate) arcs: Vec<Arc>,
}

impl Part {
    /// An FSA as it is.
    pub(crate) fn copy_of(fsa: FsaView<'_>) -> Self {
        let ends = (0..fsa.num_states()).map(|state| fsa.arc_range(state).end).collect();
        Self { ends, arcs: fsa.arcs().to_vec() }
    }

    /// Room for that many states and arcs.
    pub(crate) fn with_capacity(states: usize, arcs: usize) -> Self {
        Self { ends: Vec::with_capacity(states), arcs: Vec::with_capacity(arcs) }
    }

    /// Ends the arcs of a state.
    #[inline]
    pub(crate) fn end_state(&mut self) {
        self.ends.push(self.arcs.len());
    }

    /// Where the arcs of each state begin, and where the last ones end, as an [`FsaView`] has them.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn splits(&self) -> Result<Vec<i32>, Error> {
        let mut splits = Vec::with_capacity(self.ends.len() + 1);
        splits.push(0);
        for &end in &self.ends {
            splits.push(Error::fit("the number of arcs", end)?);
        }
        Ok(splits)
    }

    /// The parts as one vector. They must be valid FSAs.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn assemble(parts: Vec<Self>) -> Result<FsaVec, Error> {
        let mut states = Vec::with_capacity(parts.len() + 1);
        states.push(0);
        let num_states = parts.iter().map(|part| part.ends.len()).sum();
        let num_arcs: usize = parts.iter().map(|part| part.arcs.len()).sum();
        Error::fit("the number of states", num_states)?;
        Error::fit("the number of arcs", num_arcs)?;
        let mut arc_splits = Vec::with_capacity(num_states + 1);
        arc_splits.push(0);
        let (mut first, mut arcs) = (0, Vec::with_capacity(if parts.len() == 1 { 0 } else { num_arcs }));
        for part in parts {
            for end in part.ends {
                arc_splits.push(Error::fit("the number of arcs", first + end)?);
            }
            states.push(Error::fit("the number of states", arc_splits.len() - 1)?);
            first += part.arcs.len();
            if arcs.is_empty() {
                arcs = part.arcs;
            } else {
                arcs.extend_from_slice(&part.arcs);
            }
        }
        let shape = RaggedShape::new([RowSplits::new(states)?, RowSplits::new(arc_splits)?])?;
        Ok(FsaVec::trusted(Ragged::new(shape, arcs)?))
    }
}

/// Below this number of arcs, threads cost more than they bring.
#[cfg(feature = "rayon")]
const ARCS_FOR_THREADS: usize = 1 << 14;

/// Whether it pays to use several threads, and there are such.
pub(crate) fn large(fsas: &FsaVec) -> bool {
    #[cfg(feature = "rayon")]
    return fsas.num_arcs() >= ARCS_FOR_THREADS && rayon::current_num_threads() > 1;
    #[cfg(not(feature = "rayon"))]
    {
        let _ = fsas;
        false
    }
}

/// Runs both, at the same time if `parallel`.
pub(crate) fn join<A: Send, B: Send>(
    parallel: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "rayon")]
    if parallel {
        return rayon::join(a, b);
    }
    let _ = parallel;
    (a(), b())
}

/// `run` on each FSA, on several threads where it pays; the results are in the order of the FSAs.
///
/// # Errors
/// That of the first FSA that has one.
pub(crate) fn for_each<T: Send>(
    fsas: &FsaVec,
    run: impl Fn(usize, FsaView<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    for_each_number(fsas.num_fsas(), fsas.num_arcs(), |i| run(i, fsas.fsa(i)))
}

/// `run` on each number below `count`, on several threads where `num_arcs` to go through are worth it.
///
/// # Errors
/// That of the first number that has one.
pub(crate) fn for_each_number<T: Send>(
    count: usize,
    num_arcs: usize,
    run: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    #[cfg(feature = "rayon")]
    if count > 1 && num_arcs >= ARCS_FOR_THREADS && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        let results: Vec<_> = (0..count).into_par_iter().map(&run).collect();
        return results.into_iter().collect();
    }
    #[cfg(not(feature = "rayon"))]
    let _ = num_arcs;
    (0..count).map(run).collect()
}

/// [`for_each`] where each FSA has something of its own to write to, such as a part of the output.
///
/// # Errors
/// That of the first FSA that has one.
pub(crate) fn for_each_with<P: Send, T: Send>(
    fsas: &FsaVec,
    own: Vec<P>,
    run: impl Fn(usize, FsaView<'_>, P) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    debug_assert_eq!(own.len(), fsas.num_fsas());
    #[cfg(feature = "rayon")]
    if fsas.num_fsas() > 1 && large(fsas) {
        use rayon::prelude::*;
        let results: Vec<_> = own.into_par_iter().enumerate().map(|(i, own)| run(i, fsas.fsa(i), own)).collect();
        return results.into_iter().collect();
    }
    own.into_iter().enumerate().map(|(i, own)| run(i, fsas.fsa(i), own)).collect()
}

/// One entry for each state, as the parts of the FSAs.
pub(crate) fn by_states<'a, T>(fsas: &FsaVec, entries: &'a mut [T]) -> Vec<&'a mut [T]> {
    split(entries, fsas.iter().map(|fsa| fsa.num_states()))
}

/// One entry for each arc, as the parts of the FSAs.
pub(crate) fn by_arcs<'a, T>(fsas: &FsaVec, entries: &'a mut [T]) -> Vec<&'a mut [T]> {
    split(entries, fsas.iter().map(|fsa| fsa.arcs().len()))
}

fn split<T>(mut entries: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let each = sizes.map(|size| {
        let (part, rest) = std::mem::take(&mut entries).split_at_mut(size);
        entries = rest;
        part
    });
    each.collect()
}

/// The FSAs that `run` makes of each, with whatever else it makes.
pub(crate) fn map_fsas<T: Send>(
    fsas: &FsaVec,
    run: impl Fn(usize, FsaView<'_>) -> Result<(Part, T), Error> + Sync,
) -> Result<(FsaVec, Vec<T>), Error> {
    let (parts, rest) = for_each(fsas, run)?.into_iter().unzip();
    Ok((Part::assemble(parts)?, rest))
}

/// [`map_fsas`] for algorithms that map arcs to arcs: `run` gives for each arc the arc of its FSA that it comes from or -1, and all
/// of them come back as one arc map.
pub(crate) fn map_arcs(
    fsas: &FsaVec,
    run: impl Fn(usize, FsaView<'_>) -> Result<(Part, Vec<i32>), Error> + Sync,
) -> Result<(FsaVec, Vec<i32>), Error> {
    let (made, maps) = map_fsas(fsas, |i, fsa| {
        let (part, mut map) = run(i, fsa)?;
        debug_assert_eq!(part.arcs.len(), map.len(), "one source for each arc");
        let first = Error::fit("the number of arcs", fsa.first_arc())?;
        if first > 0 {
            map.iter_mut().filter(|arc| **arc >= 0).for_each(|arc| *arc += first);
        }
        Ok((part, map))
    })?;
    Ok((made, flatten(maps)))
}

/// [`map_arcs`] for algorithms that may find nothing to do: `run` gives `None` for an FSA that stays as it is. If all do, the very same
/// FSAs come back.
pub(crate) fn map_arcs_if_needed<F: Fsas>(
    fsas: &F,
    run: impl Fn(usize, FsaView<'_>) -> Result<Option<(Part, Vec<i32>)>, Error> + Sync,
) -> Result<(F, Vec<i32>), Error> {
    let all = fsas.as_vec();
    let made = for_each(all, |i, fsa| {
        let Some((part, mut map)) = run(i, fsa)? else { return Ok(None) };
        debug_assert_eq!(part.arcs.len(), map.len(), "one source for each arc");
        let first = Error::fit("the number of arcs", fsa.first_arc())?;
        map.iter_mut().filter(|arc| **arc >= 0).for_each(|arc| *arc += first);
        Ok(Some((part, map)))
    })?;
    if made.iter().all(Option::is_none) {
        return Ok((fsas.clone(), identity(all.num_arcs())));
    }
    let (parts, maps) = made
        .into_iter()
        .zip(all.iter())
        .map(|(made, fsa)| {
            made.unwrap_or_else(|| (Part::copy_of(fsa), identity_from(fsa.first_arc(), fsa.arcs().len())))
        })
        .unzip();
    Ok((fsas.same_kind(Part::assemble(parts)?), flatten(maps)))
}

/// The arc map of `len` arcs that each come from themselves.
pub(crate) fn identity(len: usize) -> Vec<i32> {
    identity_from(0, len)
}

/// The numbers from `first` on, `len` of them; they are places of arcs, which fit.
pub(crate) fn identity_from(first: usize, len: usize) -> Vec<i32> {
    (id(first)..).take(len).collect()
}

/// Cuts rows in pieces and runs `run` on each with the values of its rows, on several threads where it pays. `splits` counts the values
/// of the rows.
pub(crate) fn for_each_piece<T: Send>(splits: &[i32], values: &mut [T], run: impl Fn(Range<usize>, &mut [T]) + Sync) {
    let num_rows = splits.len() - 1;
    #[cfg(feature = "rayon")]
    if values.len() >= ARCS_FOR_THREADS && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        let piece = values.len().div_ceil(8 * rayon::current_num_threads());
        let (mut pieces, mut rest, mut row) = (Vec::new(), values, 0);
        while row < num_rows {
            let until = index(splits[row]) + piece;
            let end = splits.partition_point(|&split| index(split) < until).clamp(row + 1, num_rows);
            let (here, later) = rest.split_at_mut(index(splits[end] - splits[row]));
            pieces.push((row..end, here));
            (rest, row) = (later, end);
        }
        pieces.into_par_iter().for_each(|(rows, values)| run(rows, values));
        return;
    }
    run(0..num_rows, values);
}

/// The arcs at these places.
pub(crate) fn gather(arcs: &[Arc], places: &[i32]) -> Vec<Arc> {
    #[cfg(feature = "rayon")]
    if arcs.len() >= ARCS_FOR_THREADS && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        return places.par_iter().with_min_len(1 << 12).map(|&place| arcs[index(place)]).collect();
    }
    places.iter().map(|&place| arcs[index(place)]).collect()
}

/// All vectors as one; a single one is not copied.
pub(crate) fn flatten<T: Clone>(mut vectors: Vec<Vec<T>>) -> Vec<T> {
    if vectors.len() == 1 { vectors.swap_remove(0) } else { vectors.concat() }
}
