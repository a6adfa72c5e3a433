//! Algorithms of two FSAs, run over two vectors.

use crate::core::builder::{ArcMap, SortedFsaBuilder, make_each};
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::view::FsaView;
use crate::error::{Error, Quantity};

/// Result of one pair: an FSA, and for each of its arcs the arcs of both that it comes from or -1.
pub(crate) struct BuiltPair {
    pub(crate) builder: SortedFsaBuilder,
    pub(crate) map_a: Vec<i32>,
    pub(crate) map_b: Vec<i32>,
}

/// FSAs with the arc maps to the first and to the second FSAs.
pub type WithArcMaps<F> = (F, Vec<i32>, Vec<i32>);

/// Runs `run` on each FSA of `a` with the one of `b` at the same index; a single FSA is paired with
/// each of the others. Arc maps of `run` count within the two FSAs.
///
/// # Errors
/// [`Error::Size`] if the numbers of FSAs differ and neither is 1; the errors of `run`.
pub(crate) fn map_pairs<A: Fsas, B: Fsas>(
    a: &A,
    b: &B,
    run: impl Fn(FsaView<'_>, FsaView<'_>) -> Result<BuiltPair, Error> + Sync,
) -> Result<WithArcMaps<A::With<B>>, Error> {
    let (all_a, all_b) = (a.as_fsa_vec(), b.as_fsa_vec());
    let (many_a, many_b) = (all_a.num_fsas() != 1, all_b.num_fsas() != 1);
    if many_a && many_b {
        Error::same_size(Quantity::SecondFsas, all_a.num_fsas(), all_b.num_fsas())?;
    }
    let place = |many: bool, i: usize| if many { i } else { 0 };
    let num_pairs = if many_b { all_b.num_fsas() } else { all_a.num_fsas() };
    let (fsas, map_a, map_b) =
        map_chosen_pairs(num_pairs, all_a, all_b, |i| (place(many_a, i), place(many_b, i)), run)?;
    Ok((a.common_kind(b, fsas), map_a, map_b))
}

/// Does the same as [`map_pairs`], but `choose` returns for each of `num_pairs` the indexes of both
/// FSAs.
pub(crate) fn map_chosen_pairs(
    num_pairs: usize,
    a: &FsaVec,
    b: &FsaVec,
    choose: impl Fn(usize) -> (usize, usize) + Sync,
    run: impl Fn(FsaView<'_>, FsaView<'_>) -> Result<BuiltPair, Error> + Sync,
) -> Result<WithArcMaps<FsaVec>, Error> {
    let (fsas, [map_a, map_b]) = make_each(a.num_arcs() + b.num_arcs(), 0..num_pairs, |_, i| {
        let (i_a, i_b) = choose(i);
        let (fsa_a, fsa_b) = (a.fsa(i_a), b.fsa(i_b));
        let BuiltPair { builder: SortedFsaBuilder { ends, arcs }, map_a, map_b } = run(fsa_a, fsa_b)?;
        let maps = [ArcMap::new(fsa_a, fitted(map_a)), ArcMap::new(fsa_b, fitted(map_b))];
        Ok((SortedFsaBuilder { ends: fitted(ends), arcs: fitted(arcs) }, maps))
    })?;
    Ok((fsas, map_a, map_b))
}

/// Copies a vector to memory of the right size if less than half of it is used: the rest serves the
/// next pair, for which fresh memory would cost more than this copy.
fn fitted<T: Copy>(vec: Vec<T>) -> Vec<T> {
    if vec.len() < vec.capacity() / 2 { vec.as_slice().to_vec() } else { vec }
}
