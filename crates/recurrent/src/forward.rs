//! A pass forward of any cell: its buffers, dealt out to the sequences.

use kaldera_base::Real;
use kaldera_base::memory;
use lod::LodTensor;

use crate::error::Error;
use crate::kernels::steps;
use crate::kernels::steps::{Forward, Widths};
use crate::kernels::track::{cut, cut_mut, give, rows_mut};
use crate::pass::Batch;
use crate::state::{Direction, Output, State};

/// What there is after a pass.
#[derive(Clone, Debug)]
pub(crate) struct Pass<T: Real> {
    pub(crate) batch: Batch,
    pub(crate) x: LodTensor<T>,
    pub(crate) initial: State<T>,
    pub(crate) output: Output<T>,
    /// A row for each step if they were to be kept; else they are of no use.
    pub(crate) gates: Vec<T>,
    pub(crate) c: Vec<T>,
    pub(crate) m: Vec<T>,
}

/// A pass; with `keep`, what the way back needs of all steps is there afterwards.
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
    let (rows, sequences, table) = (batch.rows(), batch.sequences(), &batch.table);
    // Without the way back, each sequence has one row that all its steps use in turn.
    let states = if keep { rows } else { sequences };
    let mut y = memory::zeros(rows * outputs);
    let mut gates = memory::zeros(if keep { rows * width } else { 0 });
    let mut c = memory::zeros(states * cells);
    let mut m = memory::zeros(states * between);

    let mut tracks = batch.tracks();
    give(&mut tracks, cut(x.values(), table, inputs), |track| &mut track.x);
    give(&mut tracks, initial.h.rows(), |track| &mut track.h0);
    give(&mut tracks, initial.c.rows(), |track| &mut track.c0);
    give(&mut tracks, cut_mut(&mut y, table, outputs), |track| &mut track.y);
    if keep {
        give(&mut tracks, cut_mut(&mut gates, table, width), |track| &mut track.gates);
        give(&mut tracks, cut_mut(&mut c, table, cells), |track| &mut track.c);
        give(&mut tracks, cut_mut(&mut m, table, between), |track| &mut track.m);
    } else {
        give(&mut tracks, rows_mut(&mut c, sequences, cells), |track| &mut track.c);
        give(&mut tracks, rows_mut(&mut m, sequences, between), |track| &mut track.m);
    }
    steps::forward(cell, tracks, table);

    let mut last = initial.clone();
    batch.keep_last(&y, &mut last.h);
    if keep {
        batch.keep_last(&c, &mut last.c);
    } else {
        for (sequence, row) in rows_mut(&mut c, sequences, cells).into_iter().enumerate() {
            if table.splits().len_of(sequence) > 0 {
                last.c.row_data_mut(sequence).copy_from_slice(row);
            }
        }
    }
    let y = LodTensor::from_vec([rows, outputs], y, x.lod().clone())?;
    Ok(Pass { batch, x: x.clone(), initial, output: Output { y, last }, gates, c, m })
}
