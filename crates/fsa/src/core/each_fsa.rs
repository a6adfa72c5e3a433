//! Work on each FSA of a vector, on several threads where it pays.

use crate::core::fsa::FsaVec;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::threads::{for_each_job, split};

/// Runs `run` on each FSA, on several threads if it pays; the results are in the order of the FSAs.
///
/// # Errors
/// The error of the first FSA that has one.
pub(crate) fn for_each<T: Send>(
    fsas: &FsaVec,
    run: impl Fn(usize, FsaView<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    for_each_job(fsas.num_arcs(), fsas.iter(), run)
}

/// [`for_each`] in which each FSA has something of its own to write to, such as a part of the
/// output.
///
/// # Errors
/// The error of the first FSA that has one.
pub(crate) fn for_each_with<P: Send, T: Send>(
    fsas: &FsaVec,
    own: Vec<P>,
    run: impl Fn(usize, FsaView<'_>, P) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    debug_assert_eq!(own.len(), fsas.num_fsas());
    for_each_job(fsas.num_arcs(), fsas.iter().zip(own), |i, (fsa, own)| run(i, fsa, own))
}

/// Splits entries, one for each state, into the parts of the FSAs.
pub(crate) fn by_states<'a, T>(fsas: &FsaVec, entries: &'a mut [T]) -> Vec<&'a mut [T]> {
    split(entries, fsas.iter().map(|fsa| fsa.num_states()))
}

/// Splits entries, one for each arc, into the parts of the FSAs.
pub(crate) fn by_arcs<'a, T>(fsas: &FsaVec, entries: &'a mut [T]) -> Vec<&'a mut [T]> {
    split(entries, fsas.iter().map(|fsa| fsa.arcs().len()))
}
