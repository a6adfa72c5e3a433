//! Gated recurrent units.

mod backward;
mod forward;

use std::ops::Range;
use std::slice::from_ref;

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};
use lod::LodTensor;

use crate::activation::Activation;
use crate::cell::{Cell, Saved};
use crate::error::Error;
use crate::forward::{Pass, pass};
use crate::kernels::sequence_buffers::{cut, cut_mut, give};
use crate::kernels::steps;
use crate::parameters;
use crate::pass::{check_bias, check_weights};
use crate::prepared::Prepared;
use crate::products::GateGradients;
use crate::state::{Direction, Gradients, Output, OutputGradients, State};

/// Where the reset gate stands: the two kinds of GRU are different networks, no weights make one
/// the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reset {
    /// Before the product: n = a(W_n x + U_n (r h') + b_n). Paddle's, and the first paper's.
    Before,
    /// After the product: n = a(W_n x + b_n + r (U_n h' + b_hn)). PyTorch's and cuDNN's.
    After,
}

/// What the update gate z is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Update {
    /// h = z h' + (1 - z) n: PyTorch's, and Paddle's with `origin_mode`.
    #[doc(alias = "origin_mode")]
    Old,
    /// h = (1 - z) h' + z n: Paddle's default.
    New,
}

/// What kind of GRU it is. The default is PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct GruOptions {
    /// Of the reset and update gates.
    pub gate_activation: Activation,
    /// Of the candidate n.
    pub candidate_activation: Activation,
    /// Where the reset gate stands.
    pub reset: Reset,
    /// What the update gate is a share of.
    pub update: Update,
}

impl Default for GruOptions {
    fn default() -> Self {
        Self {
            gate_activation: Activation::Sigmoid,
            candidate_activation: Activation::Tanh,
            reset: Reset::After,
            update: Update::Old,
        }
    }
}

/// Weights of a [`Gru`], or gradients by them. Gates are in PyTorch's order: reset r, update z,
/// candidate n.
#[derive(Clone, Debug)]
pub struct GruWeights<T: Real> {
    /// `[3 hidden, input]`. Without it, the input has been projected already and is `[rows, 3
    /// hidden]`.
    pub weight_ih: Option<Matrix<T>>,
    /// `[3 hidden, hidden]`
    pub weight_hh: Matrix<T>,
    /// `[3 hidden]`; PyTorch's two added for r and z, that of the input for n.
    pub bias: Option<Vector<T>>,
    /// `[hidden]`: b_hn, only with [`Reset::After`].
    pub bias_hn: Option<Vector<T>>,
}

/// Gated recurrent units.
///
/// ```text
///   r = f(W_r x + U_r h' + b_r)       n: see Reset
///   z = f(W_z x + U_z h' + b_z)       h: see Update
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "dynamic_gru")]
pub struct Gru<T: Real> {
    /// What kind it is.
    pub options: GruOptions,
    /// W, U and the biases.
    pub weights: GruWeights<T>,
}

impl<T: Real> GruWeights<T> {
    /// Zeros for PyTorch's cell with biases.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self {
            weight_ih: Some(Matrix::zeros(3 * hidden, inputs)),
            weight_hh: Matrix::zeros(3 * hidden, hidden),
            bias: Some(Vector::zeros(3 * hidden)),
            bias_hn: Some(Vector::zeros(hidden)),
        }
    }
}

parameters! {
    impl<T: Real> Parameters<T> for GruWeights<T> { weight_ih, weight_hh, bias, bias_hn }
}

parameters! {
    impl<T: Real> Parameters<T> for Gru<T> { weights as "", .. }
}

/// How the gates of a step lie in a row.
///
/// With the reset gate after the product, what it scales is kept too, between those that are
/// multiplied with h' and n:
///
/// ```text
///   before   r  z  n
///   after    r  z  U_n h' + b_hn  n        of gradients, the first three are those by U h', the first two and the last those by W x
/// ```
#[derive(Debug, Clone, Copy)]
struct Layout {
    hidden: usize,
    reset: Reset,
}

impl Layout {
    /// The length of a row.
    fn width(self) -> usize {
        match self.reset {
            Reset::Before => 3 * self.hidden,
            Reset::After => 4 * self.hidden,
        }
    }

    /// Where n begins.
    fn candidate(self) -> usize {
        self.width() - self.hidden
    }

    /// Where r, z and n begin.
    fn offsets(self) -> Vec<usize> {
        vec![0, self.hidden, self.candidate()]
    }

    /// The columns of gradients by W x + b.
    fn of_inputs(self) -> [Range<usize>; 2] {
        [0..2 * self.hidden, self.candidate()..self.width()]
    }
}

impl<T: Real> Gru<T> {
    /// PyTorch's GRU, all weights zero.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self { options: GruOptions::default(), weights: GruWeights::zeros(inputs, hidden) }
    }

    /// The number of hidden units.
    pub fn hidden_size(&self) -> usize {
        self.weights.weight_hh.num_cols()
    }

    fn layout(&self) -> Layout {
        Layout { hidden: self.hidden_size(), reset: self.options.reset }
    }

    fn check(&self) -> Result<(), Error> {
        let (hidden, weights) = (self.hidden_size(), &self.weights);
        if hidden == 0 {
            return Err(Error::Zero { what: "the number of hidden units" });
        }
        check_weights("weight_hh", [3 * hidden, hidden], &weights.weight_hh)?;
        if let Some(weight_ih) = &weights.weight_ih {
            check_weights("weight_ih", [3 * hidden, weight_ih.num_cols()], weight_ih)?;
        }
        check_bias("bias", 3 * hidden, weights.bias.as_ref())?;
        if self.options.reset == Reset::Before && weights.bias_hn.is_some() {
            let because = "with the reset gate before the product, it is the same as a part of the bias";
            return Err(Error::Unused { tensor: "bias_hn", because });
        }
        check_bias("bias_hn", hidden, weights.bias_hn.as_ref())
    }
}

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

/// What the backward pass of a [`Gru`] needs of the forward pass.
#[derive(Clone, Debug)]
pub struct GruSaved<'a, T: Real> {
    gru: &'a Gru<T>,
    /// The gates have the widths that [`Layout`] says; what is between are hidden states that were
    /// reset, if that is before the product.
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
