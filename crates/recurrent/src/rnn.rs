//! The simplest recurrence: h = f(W x + U h' + b).

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::Activation;

/// Weights of an [`Rnn`], or gradients by them.
#[derive(Clone, Debug)]
pub struct RnnWeights<T: Real> {
    /// `[hidden, input]`. Without it, the input has been projected already and is `[rows, hidden]`.
    pub weight_ih: Option<Matrix<T>>,
    /// `[hidden, hidden]`
    pub weight_hh: Matrix<T>,
    /// `[hidden]`; PyTorch's two added.
    pub bias: Option<Vector<T>>,
}

/// An Elman network: h = f(W x + U h' + b), where h' is h of the step before.
#[derive(Clone, Debug)]
#[doc(alias = "RNNCell")]
pub struct Rnn<T: Real> {
    /// f; PyTorch has tanh and relu.
    pub activation: Activation,
    /// W, U and b.
    pub weights: RnnWeights<T>,
}
