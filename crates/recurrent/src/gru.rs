//! Gated recurrent units.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::Activation;

/// Where the reset gate stands: the two kinds of GRU are different networks, no weights make one the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Before the product: n = a(W_n x + U_n (r h') + b_n). Paddle's, and the first paper's.
    Before,
    /// After the product: n = a(W_n x + b_n + r (U_n h' + b_hn)). PyTorch's and cuDNN's.
    After,
}

/// What the update gate z is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// h = z h' + (1 - z) n: PyTorch's, and Paddle's with `origin_mode`.
    #[doc(alias = "origin_mode")]
    Old,
    /// h = (1 - z) h' + z n: Paddle's default.
    New,
}

/// What kind of GRU it is. The default is PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// Weights of a [`Gru`], or gradients by them. Gates are in PyTorch's order: reset r, update z, candidate n.
#[derive(Clone, Debug)]
pub struct GruWeights<T: Real> {
    /// `[3 hidden, input]`. Without it, the input has been projected already and is `[rows, 3 hidden]`.
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
