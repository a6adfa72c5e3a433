//! The steps of a pass, one after the other: what all cells go through, whatever a step of theirs is.

use kaldera_base::Real;
use kaldera_base::simd::{Kernel, Simd, dispatch};
use lod::RankTable;

use crate::kernels::track::{Chunk, Track, deal, for_each_part, lend_gates, parts, rows_of_step};

/// The widths of the rows of a cell's buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widths {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) cells: usize,
    pub(crate) gates: usize,
    /// What is between gates and outputs: [`Track::m`]. Without it, 0.
    pub(crate) between: usize,
}

/// The way forward of a cell, its weights packed. Mark the methods `#[inline(always)]`.
pub(crate) trait Forward<T: Real>: Send + Sync {
    /// The widths of its buffers.
    fn widths(&self) -> Widths;
    /// Projects the inputs of `rows` (track and step of each) into their gates.
    fn project<S: Simd>(&self, s: S, tracks: &mut [Track<'_, T>], rows: &[(usize, usize)]);
    /// A step of the tracks of `rows`.
    fn step<S: Simd>(&self, s: S, tracks: &mut [Track<'_, T>], rows: &[(usize, usize)]);
}

/// The way back through a cell, its weights packed. Mark the method `#[inline(always)]`.
pub(crate) trait Backward<T: Real>: Sync {
    /// A step of the tracks of `rows` (track and step of each, the same step).
    fn step<S: Simd>(&self, s: S, tracks: &mut [Track<'_, T>], rows: &[(usize, usize)]);
}

/// All steps of all sequences. Tracks without memory for their gates have some lent.
pub(crate) fn forward<T: Real>(cell: &impl Forward<T>, tracks: Vec<Track<'_, T>>, table: &RankTable) {
    let Widths { inputs, outputs, gates, .. } = cell.widths();
    let parts = deal(tracks, table, parts(table, gates * (outputs + inputs)));
    for_each_part(parts, |tracks| {
        let mut scratch = Vec::new();
        let mut tracks: Vec<Track<'_, T>> = tracks;
        if tracks.iter().all(|track| track.gates.is_empty()) {
            lend_gates(&mut tracks, &mut scratch, gates);
        }
        dispatch(AllForward { cell, tracks: &mut tracks });
    });
}

/// All steps of all sequences, the last first, of a cell with `weights` recurrent weights.
pub(crate) fn backward<T: Real>(cell: &impl Backward<T>, tracks: Vec<Track<'_, T>>, table: &RankTable, weights: usize) {
    let parts = deal(tracks, table, parts(table, weights));
    for_each_part(parts, |mut tracks| dispatch(AllBackward { cell, tracks: &mut tracks }));
}

struct AllForward<'p, 't, 'a, T, C> {
    cell: &'p C,
    tracks: &'t mut [Track<'a, T>],
}

impl<T: Real, C: Forward<T>> Kernel for AllForward<'_, '_, '_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { cell, tracks } = self;
        let mut begin = 0;
        while let Some(chunk) = Chunk::next(tracks, begin) {
            cell.project(s, tracks, chunk.rows());
            for step in chunk.steps.clone() {
                cell.step(s, tracks, chunk.rows_of(step));
            }
            begin = chunk.steps.end;
        }
    }
}

struct AllBackward<'p, 't, 'a, T, C> {
    cell: &'p C,
    tracks: &'t mut [Track<'a, T>],
}

impl<T: Real, C: Backward<T>> Kernel for AllBackward<'_, '_, '_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { cell, tracks } = self;
        let steps = tracks.first().map_or(0, |track| track.len);
        let mut rows = Vec::new();
        for step in (0..steps).rev() {
            rows_of_step(tracks, step, &mut rows);
            cell.step(s, tracks, &rows);
        }
    }
}
