//! The loop over the steps of a pass, the same for all cells.

use kaldera_base::kernel;
use kaldera_base::simd::{Simd, dispatch};
use kaldera_base::{Real, par};
use lod::RankTable;

use crate::kernels::sequence_buffers::{Chunk, SequenceBuffers, distribute, lend_gates, parts, rows_of_step};

/// The widths of the rows of a cell's buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widths {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) cells: usize,
    pub(crate) gates: usize,
    /// Width of [`SequenceBuffers::m`]; 0 without it.
    pub(crate) between: usize,
}

/// Forward pass of a cell with packed weights. Mark the methods `#[inline(always)]`.
pub(crate) trait Forward<T: Real>: Send + Sync {
    /// Returns the widths of its buffers.
    fn widths(&self) -> Widths;
    /// Projects the inputs of `rows` (sequence and step of each) into their gates.
    fn project<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]);
    /// Computes a step of the sequences of `rows`.
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]);
}

/// Backward pass of a cell with packed weights. Mark the method `#[inline(always)]`.
pub(crate) trait Backward<T: Real>: Sync {
    /// Computes a step of the sequences of `rows` (sequence and step of each, the same step).
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]);
}

/// Runs all steps of all sequences. Allocates gates for the sequences if they have none.
pub(crate) fn forward<T: Real>(cell: &impl Forward<T>, sequences: Vec<SequenceBuffers<'_, T>>, table: &RankTable) {
    let Widths { inputs, outputs, gates, .. } = cell.widths();
    let parts = distribute(sequences, table, parts(table, gates * (outputs + inputs)));
    par::for_each(parts, |sequences| {
        let mut scratch = Vec::new();
        let mut sequences: Vec<SequenceBuffers<'_, T>> = sequences;
        if sequences.iter().all(|sequence| sequence.gates.is_empty()) {
            lend_gates(&mut sequences, &mut scratch, gates);
        }
        dispatch(kernel!(<'p, 't, 'a, T: Real, C: Forward<T>>(
            s: S,
            cell: &'p C,
            sequences: &'t mut [SequenceBuffers<'a, T>] = &mut sequences,
        ) {
            let mut begin = 0;
            while let Some(chunk) = Chunk::next(sequences, begin) {
                cell.project(s, sequences, chunk.rows());
                for step in chunk.steps.clone() {
                    cell.step(s, sequences, chunk.rows_of(step));
                }
                begin = chunk.steps.end;
            }
        }));
    });
}

/// Runs all steps of all sequences, the last first, of a cell with `weights` recurrent weights.
pub(crate) fn backward<T: Real>(
    cell: &impl Backward<T>,
    sequences: Vec<SequenceBuffers<'_, T>>,
    table: &RankTable,
    weights: usize,
) {
    let parts = distribute(sequences, table, parts(table, weights));
    par::for_each(parts, |mut sequences| {
        dispatch(kernel!(<'p, 't, 'a, T: Real, C: Backward<T>>(
            s: S,
            cell: &'p C,
            sequences: &'t mut [SequenceBuffers<'a, T>] = &mut sequences,
        ) {
            let steps = sequences.first().map_or(0, |sequence| sequence.len);
            let mut rows = Vec::new();
            for step in (0..steps).rev() {
                rows_of_step(sequences, step, &mut rows);
                cell.step(s, sequences, &rows);
            }
        }))
    });
}
