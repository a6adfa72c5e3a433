//! The weights and options of a GRU.

use std::ops::Range;

use kaldera_base::{Real, setters};
use kaldi_matrix::{Matrix, Vector};

use crate::activation::Activation;
use crate::error::Error;
use crate::parameters;
use crate::pass::{check_bias, check_weights};

/// Position of the reset gate. The two kinds of GRU are different networks: no choice of weights
/// turns one into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reset {
    /// Before the product: n = a(W_n x + U_n (r h') + b_n). Paddle's, and the first paper's.
    Before,
    /// After the product: n = a(W_n x + b_n + r (U_n h' + b_hn)). PyTorch's and cuDNN's.
    After,
}

/// Term that the update gate z scales: the old or the new state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Update {
    /// h = z h' + (1 - z) n: PyTorch's, and Paddle's with `origin_mode`.
    #[doc(alias = "origin_mode")]
    Old,
    /// h = (1 - z) h' + z n: Paddle's default.
    New,
}

/// Options of a [`Gru`]. The default is PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct GruOptions {
    /// Activation of the reset and update gates.
    pub gate_activation: Activation,
    /// Activation of the candidate n.
    pub candidate_activation: Activation,
    /// Position of the reset gate.
    pub reset: Reset,
    /// Term that the update gate scales.
    pub update: Update,
}

setters! {
    GruOptions:
    gate_activation, with_gate_activation: Activation = Activation::Sigmoid, "With these gates.";
    candidate_activation, with_candidate_activation: Activation = Activation::Tanh, "With this candidate.";
    reset, with_reset: Reset = Reset::After, "With the reset gate there.";
    update, with_update: Update = Update::Old, "With this term scaled by the update gate.";
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
    /// `[3 hidden]`; the sum of PyTorch's two biases for r and z, the input's bias for n.
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
    /// Options.
    pub options: GruOptions,
    /// W, U and the biases.
    pub weights: GruWeights<T>,
}

impl<T: Real> GruWeights<T> {
    /// Creates zeros for PyTorch's cell with biases.
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

/// Layout of the gates of a step in a row.
///
/// With the reset gate after the product, a row also holds the values that the gate scales, between
/// z and n:
///
/// ```text
///   before   r  z  n
///   after    r  z  U_n h' + b_hn  n
///            of gradients, the first three are those by U h', the first two and the last
///            those by W x
/// ```
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) hidden: usize,
    pub(super) reset: Reset,
}

impl Layout {
    /// Returns the length of a row.
    pub(super) fn width(self) -> usize {
        match self.reset {
            Reset::Before => 3 * self.hidden,
            Reset::After => 4 * self.hidden,
        }
    }

    /// Returns the offset of n.
    pub(super) fn candidate(self) -> usize {
        self.width() - self.hidden
    }

    /// Returns the offsets of r, z and n.
    pub(super) fn offsets(self) -> Vec<usize> {
        vec![0, self.hidden, self.candidate()]
    }

    /// Returns the columns of gradients by W x + b.
    pub(super) fn of_inputs(self) -> [Range<usize>; 2] {
        [0..2 * self.hidden, self.candidate()..self.width()]
    }
}

impl<T: Real> Gru<T> {
    /// Creates PyTorch's GRU with all weights zero.
    pub fn zeros(inputs: usize, hidden: usize) -> Self {
        Self { options: GruOptions::default(), weights: GruWeights::zeros(inputs, hidden) }
    }

    /// Returns the number of hidden units.
    pub fn hidden_size(&self) -> usize {
        self.weights.weight_hh.num_cols()
    }

    pub(super) fn layout(&self) -> Layout {
        Layout { hidden: self.hidden_size(), reset: self.options.reset }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
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
