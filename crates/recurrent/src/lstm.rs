//! Long short-term memory.

mod backward;
mod forward;

use std::slice::from_ref;

use kaldera_base::Real;
use kaldera_base::memory;
use kaldi_matrix::{Matrix, Vector};
use lod::LodTensor;

use crate::activation::Activation;
use crate::cell::{Cell, Saved};
use crate::error::Error;
use crate::forward::{Pass, pass};
use crate::kernels::sequence_buffers::{cut, cut_mut, give, rows_mut};
use crate::kernels::steps;
use crate::parameters;
use crate::pass::{check_bias, check_clip, check_weights};
use crate::prepared::Prepared;
use crate::products::{GateGradients, sum_rows};
use crate::state::{Direction, Gradients, Output, OutputGradients, State};

/// What kind of LSTM it is. The default is PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LstmOptions {
    /// Of the input, forget and output gates.
    pub gate_activation: Activation,
    /// Of the candidate g.
    pub candidate_activation: Activation,
    /// Of the cell state where the output is computed from it.
    pub cell_activation: Activation,
    /// Of the projection; without a projection it is not used.
    #[doc(alias = "proj_activation")]
    pub projection_activation: Activation,
    /// The cell state is limited to -clip..=clip; the gradient is 0 where it was cut.
    pub cell_clip: Option<f64>,
    /// The projection is limited likewise.
    #[doc(alias = "proj_clip")]
    pub projection_clip: Option<f64>,
}

impl Default for LstmOptions {
    fn default() -> Self {
        Self {
            gate_activation: Activation::Sigmoid,
            candidate_activation: Activation::Tanh,
            cell_activation: Activation::Tanh,
            projection_activation: Activation::Identity,
            cell_clip: None,
            projection_clip: None,
        }
    }
}

/// Weights of an [`Lstm`], or gradients by them. Gates are in PyTorch's order: input i, forget f,
/// candidate g, output o.
#[derive(Clone, Debug)]
pub struct LstmWeights<T: Real> {
    /// `[4 hidden, input]`. Without it, the input has been projected already and is `[rows, 4
    /// hidden]`.
    pub weight_ih: Option<Matrix<T>>,
    /// `[4 hidden, output]`, where output is hidden, or the rows of `weight_hr`.
    pub weight_hh: Matrix<T>,
    /// `[4 hidden]`; PyTorch's two added.
    pub bias: Option<Vector<T>>,
    /// `[3, hidden]`: the rows are those of the gates i, f and o. i and f see the old cell state, o
    /// the new one.
    pub peepholes: Option<Matrix<T>>,
    /// `[output, hidden]`: the projection of the output.
    pub weight_hr: Option<Matrix<T>>,
}

/// A long short-term memory.
///
/// With f, a, s the activations of gates, candidate and cell, h' and c' the states of the step
/// before, p the peepholes:
///
/// ```text
///   i = f(W_i x + U_i h' + p_i c' + b_i)        c = F c' + i g        (limited, if there is a clip)
///   F = f(W_f x + U_f h' + p_f c' + b_f)        m = o s(c)
///   g = a(W_g x + U_g h'          + b_g)        h = m, or the activation of (W_hr m), limited
///   o = f(W_o x + U_o h' + p_o c  + b_o)
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "dynamic_lstm")]
#[doc(alias = "dynamic_lstmp")]
pub struct Lstm<T: Real> {
    /// What kind it is.
    pub options: LstmOptions,
    /// W, U, b, p and W_hr.
    pub weights: LstmWeights<T>,
}

impl<T: Real> LstmWeights<T> {
    /// Zeros for a cell with biases, without peepholes and projection.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self {
            weight_ih: Some(Matrix::zeros(4 * hidden, inputs)),
            weight_hh: Matrix::zeros(4 * hidden, hidden),
            bias: Some(Vector::zeros(4 * hidden)),
            peepholes: None,
            weight_hr: None,
        }
    }

    /// Zeros for a cell with biases and a projection of its outputs.
    pub fn zeros_projected(inputs: usize, hidden: usize, outputs: usize) -> Self {
        Self {
            weight_hh: Matrix::zeros(4 * hidden, outputs),
            weight_hr: Some(Matrix::zeros(outputs, hidden)),
            ..Self::zeros(inputs, hidden)
        }
    }
}

parameters! {
    impl<T: Real> Parameters<T> for LstmWeights<T> { weight_ih, weight_hh, bias, peepholes, weight_hr }
}

parameters! {
    impl<T: Real> Parameters<T> for Lstm<T> { weights as "", .. }
}

impl<T: Real> Lstm<T> {
    /// PyTorch's LSTM, all weights zero.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self { options: LstmOptions::default(), weights: LstmWeights::zeros(inputs, hidden) }
    }

    /// The number of hidden units.
    pub fn hidden_size(&self) -> usize {
        self.weights.weight_hh.num_rows() / 4
    }

    fn check(&self) -> Result<(), Error> {
        let Self { options, weights } = self;
        let (hidden, outputs, inputs) = (self.hidden_size(), self.output_size(), self.input_size());
        if hidden == 0 || outputs == 0 {
            return Err(Error::Zero { what: "the number of hidden units and of outputs" });
        }
        check_clip("cell_clip", options.cell_clip)?;
        check_clip("projection_clip", options.projection_clip)?;
        check_weights("weight_hh", [4 * hidden, outputs], &weights.weight_hh)?;
        if let Some(weight_ih) = &weights.weight_ih {
            check_weights("weight_ih", [4 * hidden, inputs], weight_ih)?;
        }
        check_bias("bias", 4 * hidden, weights.bias.as_ref())?;
        if let Some(peepholes) = &weights.peepholes {
            check_weights("peepholes", [3, hidden], peepholes)?;
        }
        match &weights.weight_hr {
            Some(weight_hr) => check_weights("weight_hr", [outputs, hidden], weight_hr),
            None => Ok(()),
        }
    }
}

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

/// What the backward pass of an [`Lstm`] needs of the forward pass.
#[derive(Clone, Debug)]
pub struct LstmSaved<'a, T: Real> {
    lstm: &'a Lstm<T>,
    /// The gates are i, f, g, o; what is between is what is projected.
    pass: Pass<T>,
}

impl<T: Real> LstmSaved<'_, T> {
    /// The cell state after each step, `[rows, hidden]` with the LoD of the input: Paddle's output
    /// `Cell`.
    ///
    /// # Errors
    /// None that can be met: the rows are those of the input.
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

/// The gradient by the peepholes: i and f have seen the old cell state, o the new one.
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
