//! The weights and options of an LSTM.

use kaldera_base::{Real, setters};
use kaldi_matrix::{Matrix, Vector};

use crate::activation::Activation;
use crate::cell::Cell as _;
use crate::error::Error;
use crate::parameters;
use crate::pass::{check_bias, check_clip, check_weights};

/// Options of an [`Lstm`]. The default is PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct LstmOptions {
    /// Activation of the input, forget and output gates.
    pub gate_activation: Activation,
    /// Activation of the candidate g.
    pub candidate_activation: Activation,
    /// Activation of the cell state in the output.
    pub cell_activation: Activation,
    /// Activation of the projection; unused without a projection.
    #[doc(alias = "proj_activation")]
    pub projection_activation: Activation,
    /// Limit of the cell state, -clip..=clip; the gradient is 0 where it was cut.
    pub cell_clip: Option<f64>,
    /// Limit of the projection, likewise.
    #[doc(alias = "proj_clip")]
    pub projection_clip: Option<f64>,
}

setters! {
    LstmOptions:
    gate_activation, with_gate_activation: Activation = Activation::Sigmoid, "With these gates.";
    candidate_activation, with_candidate_activation: Activation = Activation::Tanh, "With this candidate.";
    cell_activation, with_cell_activation: Activation = Activation::Tanh, "With this cell state.";
    projection_activation, with_projection_activation: Activation = Activation::Identity, "With this projection.";
    cell_clip, with_cell_clip: Option<f64> = None, "With this limit of the cell state.";
    projection_clip, with_projection_clip: Option<f64> = None, "With this limit of the projection.";
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
    /// `[4 hidden]`; the sum of PyTorch's two biases.
    pub bias: Option<Vector<T>>,
    /// `[3, hidden]`: one row for each of the gates i, f and o. i and f see the old cell state, o
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
///   i = f(W_i x + U_i h' + p_i c' + b_i)        c = F c' + i g, limited if there is a clip
///   F = f(W_f x + U_f h' + p_f c' + b_f)        m = o s(c)
///   g = a(W_g x + U_g h'          + b_g)        h = m, or the activation of (W_hr m), limited
///   o = f(W_o x + U_o h' + p_o c  + b_o)
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "dynamic_lstm")]
#[doc(alias = "dynamic_lstmp")]
pub struct Lstm<T: Real> {
    /// Options.
    pub options: LstmOptions,
    /// W, U, b, p and W_hr.
    pub weights: LstmWeights<T>,
}

impl<T: Real> LstmWeights<T> {
    /// Creates zeros for a cell with biases, without peepholes and projection.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self {
            weight_ih: Some(Matrix::zeros(4 * hidden, inputs)),
            weight_hh: Matrix::zeros(4 * hidden, hidden),
            bias: Some(Vector::zeros(4 * hidden)),
            peepholes: None,
            weight_hr: None,
        }
    }

    /// Creates zeros for a cell with biases and a projection of its outputs.
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
    /// Creates PyTorch's LSTM with all weights zero.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self { options: LstmOptions::default(), weights: LstmWeights::zeros(inputs, hidden) }
    }

    /// Returns the number of hidden units.
    pub fn hidden_size(&self) -> usize {
        self.weights.weight_hh.num_rows() / 4
    }

    pub(super) fn check(&self) -> Result<(), Error> {
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
