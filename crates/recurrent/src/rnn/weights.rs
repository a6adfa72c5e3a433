//! The weights of an Elman network.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::activation::Activation;
use crate::error::Error;
use crate::parameters;
use crate::pass::{check_bias, check_weights};

/// Weights of an [`Rnn`], or gradients by them.
#[derive(Clone, Debug)]
pub struct RnnWeights<T: Real> {
    /// `[hidden, input]`. Without it, the input has been projected already and is `[rows, hidden]`.
    pub weight_ih: Option<Matrix<T>>,
    /// `[hidden, hidden]`
    pub weight_hh: Matrix<T>,
    /// `[hidden]`; the sum of PyTorch's two biases.
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

impl<T: Real> RnnWeights<T> {
    /// Creates zeros for a cell with biases.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self {
            weight_ih: Some(Matrix::zeros(hidden, inputs)),
            weight_hh: Matrix::zeros(hidden, hidden),
            bias: Some(Vector::zeros(hidden)),
        }
    }
}

parameters! {
    impl<T: Real> Parameters<T> for RnnWeights<T> { weight_ih, weight_hh, bias }
}

parameters! {
    impl<T: Real> Parameters<T> for Rnn<T> { weights as "", .. }
}

impl<T: Real> Rnn<T> {
    /// Creates PyTorch's network with tanh and all weights zero.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self { activation: Activation::Tanh, weights: RnnWeights::zeros(inputs, hidden) }
    }

    /// Returns the number of hidden units.
    pub fn hidden_size(&self) -> usize {
        self.weights.weight_hh.num_rows()
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let (hidden, weights) = (self.hidden_size(), &self.weights);
        if hidden == 0 {
            return Err(Error::Zero { what: "the number of hidden units" });
        }
        check_weights("weight_hh", [hidden, hidden], &weights.weight_hh)?;
        if let Some(weight_ih) = &weights.weight_ih {
            check_weights("weight_ih", [hidden, weight_ih.num_cols()], weight_ih)?;
        }
        check_bias("bias", hidden, weights.bias.as_ref())
    }
}
