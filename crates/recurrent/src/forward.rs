//! Forward pass of any cell: its buffers, distributed over the sequences.

use kaldera_base::Real;
use kaldera_base::memory;
use lod::LodTensor;

use crate::error::Error;
use crate::kernels::sequence_buffers::{cut, cut_mut, give, rows_mut};
use crate::kernels::steps;
use crate::kernels::steps::{Forward, Widths};
use crate::pass::Batch;
use crate::state::{Direction, Output, State};

/// Result of a pass.
#[derive(Clone, Debug)]
pub(crate) struct Pass<T: Real> {
    pub(crate) batch: Batch,
    pub(crate) x: LodTensor<T>,
    pub(crate) initial: State<T>,
    pub(crate) output: Output<T>,
    /// One row for each step if the rows were kept; otherwise unused.
    pub(crate) gates: Vec<T>,
    pub(crate) c: Vec<T>,
    pub(crate) m: Vec<T>,
}

/// Runs a pass; with `keep`, it keeps the values of all steps that the backward pass needs.
pub(crate) fn pass<T: Real>(
    cell: &impl Forward<T>,
    x: &LodTensor<T>,
    direction: Direction,
    initial: Option<&State<T>>,
    keep: bool,
) -> Result<Pass<T>, Error> {
    let Widths { inputs, outputs, cells, gates: width, between } = cell.widths();
    let batch = Batch::new(x, direction, [inputs, outputs, cells])?;
    let initial = batch.initial(initial)?;
    let (rows, num_sequences, table) = (batch.num_rows(), batch.num_sequences(), &batch.table);
    // Without a backward pass, each sequence has one row that all its steps reuse.
    let states = if keep { rows } else { num_sequences };
    let mut y = memory::zeros(rows * outputs);
    let mut gates = memory::zeros(if keep { rows * width } else { 0 });
    let mut c = memory::zeros(states * cells);
    let mut m = memory::zeros(states * between);

    let mut sequences = batch.sequences();
    give(&mut sequences, cut(x.values(), table, inputs), |sequence| &mut sequence.x);
    give(&mut sequences, initial.h.rows(), |sequence| &mut sequence.h0);
    give(&mut sequences, initial.c.rows(), |sequence| &mut sequence.c0);
    give(&mut sequences, cut_mut(&mut y, table, outputs), |sequence| &mut sequence.y);
    if keep {
        give(&mut sequences, cut_mut(&mut gates, table, width), |sequence| &mut sequence.gates);
        give(&mut sequences, cut_mut(&mut c, table, cells), |sequence| &mut sequence.c);
        give(&mut sequences, cut_mut(&mut m, table, between), |sequence| &mut sequence.m);
    } else {
        give(&mut sequences, rows_mut(&mut c, num_sequences, cells), |sequence| &mut sequence.c);
        give(&mut sequences, rows_mut(&mut m, num_sequences, between), |sequence| &mut sequence.m);
    }
    steps::forward(cell, sequences, table);

    let mut last = initial.clone();
    batch.keep_last(&y, &mut last.h);
    if keep {
        batch.keep_last(&c, &mut last.c);
    } else {
        for ((state, rows), row) in
            last.c.rows_mut().zip(table.splits().rows()).zip(rows_mut(&mut c, num_sequences, cells))
        {
            if !rows.is_empty() {
                state.copy_from_slice(row);
            }
        }
    }
    let y = LodTensor::from_vec([rows, outputs], y, x.lod().clone())?;
    Ok(Pass { batch, x: x.clone(), initial, output: Output { y, last }, gates, c, m })
}
