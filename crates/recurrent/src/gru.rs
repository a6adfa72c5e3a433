//! Gated recurrent units.

mod backward;
mod forward;
mod weights;

use std::ops::Range;
use std::slice::from_ref;

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};
use lod::LodTensor;

use crate::cell::{Cell, Saved};
use crate::error::Error;
use crate::forward::{Pass, pass};
pub use crate::gru::weights::{Gru, GruOptions, GruWeights, Reset, Update};
use crate::kernels::sequence_buffers::{cut, cut_mut, give};
use crate::kernels::steps;
use crate::prepared::Prepared;
use crate::products::GateGradients;
use crate::state::{Direction, Gradients, Output, OutputGradients, State};

impl<T: Real> Cell<T> for Gru<T> {
    type Weights = GruWeights<T>;
    type Saved<'a> = GruSaved<'a, T>;

    fn input_size(&self) -> usize {
        self.weights.weight_ih.as_ref().map_or(3 * self.hidden_size(), Matrix::num_cols)
    }

    fn output_size(&self) -> usize {
        self.hidden_size()
    }

    fn cell_size(&self) -> usize {
        0
    }

    fn weights(&self) -> &GruWeights<T> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut GruWeights<T> {
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
    ) -> Result<(Output<T>, GruSaved<'a, T>), Error> {
        self.check()?;
        let pass = pass(&forward::Packed::new(self), x, direction, initial, true)?;
        Ok((pass.output.clone(), GruSaved { gru: self, pass }))
    }
}

/// Values of the forward pass that the backward pass of a [`Gru`] needs.
#[derive(Clone, Debug)]
pub struct GruSaved<'a, T: Real> {
    gru: &'a Gru<T>,
    /// The gates have the widths of [`Layout`]. `m` holds the reset hidden states if the reset gate
    /// is before the product.
    pass: Pass<T>,
}

impl<T: Real> Saved<T> for GruSaved<'_, T> {
    type Weights = GruWeights<T>;

    fn backward(self, grads: OutputGradients<'_, T>) -> Result<Gradients<T, GruWeights<T>>, Error> {
        let Self { gru, pass } = self;
        let Pass { batch, x, initial, output: Output { y, .. }, mut gates, m: reset, .. } = pass;
        let (weights, hidden, layout, table) = (&gru.weights, batch.outputs, gru.layout(), &batch.table);
        let reset_first = gru.options.reset == Reset::Before;
        let mut states = batch.check_gradients(&x, &grads)?;

        let mut sequences = batch.sequences();
        give(&mut sequences, cut(y.values(), table, hidden), |sequence| &mut sequence.out);
        give(&mut sequences, initial.h.rows(), |sequence| &mut sequence.h0);
        give(&mut sequences, cut_mut(&mut gates, table, layout.width()), |sequence| &mut sequence.gates);
        give(&mut sequences, states.h.rows_mut(), |sequence| &mut sequence.dh);
        if let Some(grad) = grads.y {
            give(&mut sequences, cut(grad.values(), table, hidden), |sequence| &mut sequence.grad_y);
        }
        steps::backward(&backward::Packed::new(gru), sequences, table, 3 * hidden * hidden);

        let gates = GateGradients { data: &gates, width: layout.width() };
        let (of_inputs, third) = (layout.of_inputs(), 2 * hidden..3 * hidden);
        let before = batch.before(y.values(), &initial.h);
        let weight_hh = if reset_first {
            let mut of_gates = gates.by_weights(from_ref(&(0..2 * hidden)), &before, hidden)?.into_vec();
            of_gates.extend(gates.by_weights(from_ref(&third), &reset, hidden)?.into_vec());
            Matrix::from_vec(3 * hidden, hidden, of_gates)?
        } else {
            gates.by_weights(from_ref(&(0..3 * hidden)), &before, hidden)?
        };
        let weight_ih = match &weights.weight_ih {
            Some(_) => Some(gates.by_weights(&of_inputs, x.values(), batch.inputs)?),
            None => None,
        };
        let sums = if weights.bias.is_some() || weights.bias_hn.is_some() { gates.sums() } else { Vec::new() };
        let sums_of = |columns: &[Range<usize>]| {
            Vector::from(columns.iter().flat_map(|part| sums[part.clone()].to_vec()).collect::<Vec<_>>())
        };
        let by_weights = GruWeights {
            weight_ih,
            weight_hh,
            bias: weights.bias.as_ref().map(|_| sums_of(&of_inputs)),
            bias_hn: weights.bias_hn.as_ref().map(|_| sums_of(from_ref(&third))),
        };
        let by_x = match (&weights.weight_ih, reset_first) {
            (Some(weight_ih), _) => gates.by_operand(&of_inputs, weight_ih, before)?,
            (None, true) => gates.data.to_vec(),
            (None, false) => gates.only(&of_inputs),
        };
        let x = LodTensor::from_vec([batch.num_rows(), batch.inputs], by_x, x.lod().clone())?;
        Ok(Gradients { x, initial: states, weights: by_weights })
    }
}
