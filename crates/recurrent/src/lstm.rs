//! Long short-term memory.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::Activation;

/// What kind of LSTM it is. The default is PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LstmOptions {
    /// Of the input, forget and output gates.
    pub gate_activation: Activation,
    /// Of the candidate g.
    pub candidate_activation: Activation,
    /// Of the cell state on its way to the output.
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

/// Weights of an [`Lstm`], or gradients by them. Gates are in PyTorch's order: input i, forget f, candidate g, output o.
#[derive(Clone, Debug)]
pub struct LstmWeights<T: Real> {
    /// `[4 hidden, input]`. Without it, the input has been projected already and is `[rows, 4 hidden]`.
    pub weight_ih: Option<Matrix<T>>,
    /// `[4 hidden, output]`, where output is hidden, or the rows of `weight_hr`.
    pub weight_hh: Matrix<T>,
    /// `[4 hidden]`; PyTorch's two added.
    pub bias: Option<Vector<T>>,
    /// `[3, hidden]`: the rows are those of the gates i, f and o. i and f see the old cell state, o the new one.
    pub peepholes: Option<Matrix<T>>,
    /// `[output, hidden]`: the projection of the output.
    pub weight_hr: Option<Matrix<T>>,
}

/// A long short-term memory.
///
/// With f, a, s the activations of gates, candidate and cell, h' and c' the states of the step before, p the peepholes:
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
