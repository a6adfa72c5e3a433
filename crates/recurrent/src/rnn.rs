//! The simplest recurrence: h = f(W x + U h' + b).

mod steps;
mod weights;

use std::slice::from_ref;

use kaldera_base::Real;
use kaldera_base::memory;
use kaldi_matrix::{Matrix, Vector};
use lod::LodTensor;

use crate::cell::{Cell, Saved};
use crate::error::Error;
use crate::forward::{Pass, pass};
use crate::kernels::sequence_buffers::{cut, cut_mut, give};
use crate::kernels::steps::backward;
use crate::prepared::Prepared;
use crate::products::GateGradients;
use crate::rnn::steps::{PackedBackward, PackedForward};
pub use crate::rnn::weights::{Rnn, RnnWeights};
use crate::state::{Direction, Gradients, Output, OutputGradients, State};

impl<T: Real> Cell<T> for Rnn<T> {
    type Weights = RnnWeights<T>;
    type Saved<'a> = RnnSaved<'a, T>;

    fn input_size(&self) -> usize {
        self.weights.weight_ih.as_ref().map_or(self.hidden_size(), Matrix::num_cols)
    }

    fn output_size(&self) -> usize {
        self.hidden_size()
    }

    fn cell_size(&self) -> usize {
        0
    }

    fn weights(&self) -> &RnnWeights<T> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut RnnWeights<T> {
        &mut self.weights
    }

    fn prepare(&self) -> Result<Prepared<T>, Error> {
        self.check()?;
        Ok(Prepared::from_packed(PackedForward::new(self)))
    }

    fn forward<'a>(
        &'a self,
        x: &LodTensor<T>,
        direction: Direction,
        initial: Option<&State<T>>,
    ) -> Result<(Output<T>, RnnSaved<'a, T>), Error> {
        self.check()?;
        // The backward pass needs only the outputs.
        let pass = pass(&PackedForward::new(self), x, direction, initial, false)?;
        Ok((pass.output.clone(), RnnSaved { rnn: self, pass }))
    }
}

/// Values of the forward pass that the backward pass of an [`Rnn`] needs.
#[derive(Clone, Debug)]
pub struct RnnSaved<'a, T: Real> {
    rnn: &'a Rnn<T>,
    pass: Pass<T>,
}

impl<T: Real> Saved<T> for RnnSaved<'_, T> {
    type Weights = RnnWeights<T>;

    fn backward(self, grads: OutputGradients<'_, T>) -> Result<Gradients<T, RnnWeights<T>>, Error> {
        let Self { rnn, pass } = self;
        let Pass { batch, x, initial, output: Output { y, .. }, .. } = pass;
        let (weights, hidden, table) = (&rnn.weights, batch.outputs, &batch.table);
        let mut states = batch.check_gradients(&x, &grads)?;
        let mut gates = memory::zeros(batch.num_rows() * hidden);

        let mut sequences = batch.sequences();
        give(&mut sequences, cut(y.values(), table, hidden), |sequence| &mut sequence.out);
        give(&mut sequences, cut_mut(&mut gates, table, hidden), |sequence| &mut sequence.gates);
        give(&mut sequences, states.h.rows_mut(), |sequence| &mut sequence.dh);
        if let Some(grad) = grads.y {
            give(&mut sequences, cut(grad.values(), table, hidden), |sequence| &mut sequence.grad_y);
        }
        backward(&PackedBackward::new(rnn), sequences, table, hidden * hidden);

        let gates = GateGradients { data: &gates, width: hidden };
        let whole = 0..hidden;
        let all = from_ref(&whole);
        let before = batch.before(y.values(), &initial.h);
        let by_weights = RnnWeights {
            weight_ih: match &weights.weight_ih {
                Some(_) => Some(gates.by_weights(all, x.values(), batch.inputs)?),
                None => None,
            },
            weight_hh: gates.by_weights(all, &before, hidden)?,
            bias: weights.bias.as_ref().map(|_| Vector::from(gates.sums())),
        };
        let by_x = match &weights.weight_ih {
            Some(weight_ih) => gates.by_operand(all, weight_ih, before)?,
            None => gates.data.to_vec(),
        };
        let x = LodTensor::from_vec([batch.num_rows(), batch.inputs], by_x, x.lod().clone())?;
        Ok(Gradients { x, initial: states, weights: by_weights })
    }
}
