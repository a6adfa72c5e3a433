//! Long short-term memory.

mod backward;
mod forward;
mod weights;

use std::slice::from_ref;

use kaldera_base::Real;
use kaldera_base::memory;
use kaldi_matrix::{Matrix, Vector};
use lod::LodTensor;

use crate::cell::{Cell, Saved};
use crate::error::Error;
use crate::forward::{Pass, pass};
use crate::kernels::sequence_buffers::{cut, cut_mut, give, rows_mut};
use crate::kernels::steps;
pub use crate::lstm::weights::{Lstm, LstmOptions, LstmWeights};
use crate::prepared::Prepared;
use crate::products::{GateGradients, sum_rows};
use crate::state::{Direction, Gradients, Output, OutputGradients, State};

impl<T: Real> Cell<T> for Lstm<T> {
    type Weights = LstmWeights<T>;
    type Saved<'a> = LstmSaved<'a, T>;

    fn input_size(&self) -> usize {
        self.weights.weight_ih.as_ref().map_or(self.weights.weight_hh.num_rows(), Matrix::num_cols)
    }

    fn output_size(&self) -> usize {
        self.weights.weight_hr.as_ref().map_or(self.hidden_size(), Matrix::num_rows)
    }

    fn cell_size(&self) -> usize {
        self.hidden_size()
    }

    fn weights(&self) -> &LstmWeights<T> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut LstmWeights<T> {
        &mut self.weights
    }

    fn prepare(&self) -> Result<Prepared<T>, Error> {
        self.check()?;
        Ok(Prepared::from_packed(forward::Packed::new(self)))
    }

    fn forward<'a>(
        &'a self,
        x: &LodTensor<T>,
        direction: Direction,
        initial: Option<&State<T>>,
    ) -> Result<(Output<T>, LstmSaved<'a, T>), Error> {
        self.check()?;
        let pass = pass(&forward::Packed::new(self), x, direction, initial, true)?;
        Ok((pass.output.clone(), LstmSaved { lstm: self, pass }))
    }
}

/// Values of the forward pass that the backward pass of an [`Lstm`] needs.
#[derive(Clone, Debug)]
pub struct LstmSaved<'a, T: Real> {
    lstm: &'a Lstm<T>,
    /// The gates are i, f, g, o; `m` holds the values before the projection.
    pass: Pass<T>,
}

impl<T: Real> LstmSaved<'_, T> {
    /// Returns the cell state after each step, `[rows, hidden]` with the LoD of the input: Paddle's
    /// output `Cell`.
    ///
    /// # Errors
    /// None in practice: the rows are the rows of the input.
    pub fn cells(&self) -> Result<LodTensor<T>, Error> {
        let Pass { batch, x, c, .. } = &self.pass;
        Ok(LodTensor::from_vec([batch.num_rows(), batch.cells], c.clone(), x.lod().clone())?)
    }
}

impl<T: Real> Saved<T> for LstmSaved<'_, T> {
    type Weights = LstmWeights<T>;

    fn backward(self, grads: OutputGradients<'_, T>) -> Result<Gradients<T, LstmWeights<T>>, Error> {
        let Self { lstm, pass } = self;
        let Pass { batch, x, initial, output: Output { y, .. }, mut gates, mut c, m } = pass;
        let weights = &lstm.weights;
        let (hidden, outputs, table) = (batch.cells, batch.outputs, &batch.table);
        let mut states = batch.check_gradients(&x, &grads)?;
        let projected = weights.weight_hr.is_some();
        let mut dm = vec![T::ZERO; if projected { batch.num_sequences() * hidden } else { 0 }];
        let mut dr = memory::zeros(if projected { batch.num_rows() * outputs } else { 0 });

        let mut sequences = batch.sequences();
        give(&mut sequences, cut(y.values(), table, outputs), |sequence| &mut sequence.out);
        give(&mut sequences, initial.c.rows(), |sequence| &mut sequence.c0);
        give(&mut sequences, cut_mut(&mut gates, table, 4 * hidden), |sequence| &mut sequence.gates);
        give(&mut sequences, cut_mut(&mut c, table, hidden), |sequence| &mut sequence.c);
        give(&mut sequences, states.h.rows_mut(), |sequence| &mut sequence.dh);
        give(&mut sequences, states.c.rows_mut(), |sequence| &mut sequence.dc);
        if let Some(grad) = grads.y {
            give(&mut sequences, cut(grad.values(), table, outputs), |sequence| &mut sequence.grad_y);
        }
        if let Some(grad) = grads.cells {
            give(&mut sequences, cut(grad.values(), table, hidden), |sequence| &mut sequence.grad_cells);
        }
        if projected {
            give(&mut sequences, rows_mut(&mut dm, batch.num_sequences(), hidden), |sequence| &mut sequence.dm);
            give(&mut sequences, cut_mut(&mut dr, table, outputs), |sequence| &mut sequence.dr);
        }
        steps::backward(&backward::Packed::new(lstm), sequences, table, 4 * hidden * outputs);

        let gates = GateGradients { data: &gates, width: 4 * hidden };
        let whole = 0..4 * hidden;
        let all = from_ref(&whole);
        let before = batch.before(y.values(), &initial.h);
        let by_weights = LstmWeights {
            weight_ih: match &weights.weight_ih {
                Some(_) => Some(gates.by_weights(all, x.values(), batch.inputs)?),
                None => None,
            },
            weight_hh: gates.by_weights(all, &before, outputs)?,
            bias: weights.bias.as_ref().map(|_| Vector::from(gates.sums())),
            peepholes: match &weights.peepholes {
                Some(_) => Some(by_peepholes(gates, &c, &batch.before(&c, &initial.c), hidden)?),
                None => None,
            },
            weight_hr: match projected {
                true => {
                    Some(GateGradients { data: &dr, width: outputs }.by_weights(from_ref(&(0..outputs)), &m, hidden)?)
                }
                false => None,
            },
        };
        let by_x = match &weights.weight_ih {
            Some(weight_ih) => gates.by_operand(all, weight_ih, before)?,
            None => gates.data.to_vec(),
        };
        let x = LodTensor::from_vec([batch.num_rows(), batch.inputs], by_x, x.lod().clone())?;
        Ok(Gradients { x, initial: states, weights: by_weights })
    }
}

/// Returns the gradient by the peepholes: i and f have seen the old cell state, o the new one.
fn by_peepholes<T: Real>(gates: GateGradients<'_, T>, c: &[T], old: &[T], hidden: usize) -> Result<Matrix<T>, Error> {
    let sums = sum_rows(3 * hidden, gates.data.len() / gates.width, |sums, row| {
        let (c, old) = (&c[row * hidden..][..hidden], &old[row * hidden..][..hidden]);
        for (sums, (gate, seen)) in sums.chunks_exact_mut(hidden).zip([(0, old), (1, old), (3, c)]) {
            let gate = &gates.data[row * gates.width + gate * hidden..][..hidden];
            sums.iter_mut().zip(gate.iter().zip(seen)).for_each(|(sum, (&gate, &seen))| *sum += gate * seen);
        }
    });
    Ok(Matrix::from_vec(3, hidden, sums)?)
}
