//! Options of a network's layers.

use serde::{Deserialize, Serialize};

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Function {
    /// max(x, 0)
    Relu,
    /// tanh x
    Tanh,
    /// 1 / (1 + e^-x)
    Sigmoid,
    /// x / (1 + e^-x)
    #[doc(alias = "Swish")]
    Silu,
    /// e^x
    Exp,
    /// The natural logarithm.
    Ln,
}

/// A layer: its kind, its options and the prefix of the names of its tensors. The README has the
/// formula and the tensors of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LayerOptions {
    /// A mean and a variance for each column.
    #[doc(alias = "BatchNorm1d")]
    BatchNorm {
        /// Prefix of the names of its tensors.
        name: String,
        /// Added to the variance.
        #[serde(default = "epsilon")]
        epsilon: f32,
    },
    /// Mean and variance of each row.
    LayerNorm {
        /// Prefix of the names of its tensors.
        name: String,
        /// Added to the variance.
        #[serde(default = "epsilon")]
        epsilon: f32,
    },
    /// Mean and variance of each column over an utterance.
    #[doc(alias = "InstanceNorm1d")]
    UtteranceNorm {
        /// `true` if the variance becomes 1; otherwise only the mean becomes 0.
        #[serde(default = "yes")]
        variance: bool,
        /// Added to the variance.
        #[serde(default = "epsilon")]
        epsilon: f32,
    },
    /// Rows concatenated with the rows after them.
    #[doc(alias = "splice")]
    #[doc(alias = "LFR")]
    Stack {
        /// Number of rows that become one.
        frames: usize,
        /// Number of rows from the start of one window to the start of the next.
        stride: usize,
    },
    /// A matrix and a bias.
    Linear {
        /// Prefix of the names of its tensors.
        name: String,
    },
    /// A convolution over time.
    #[doc(alias = "Conv1d")]
    Conv {
        /// Prefix of the names of its tensors.
        name: String,
        /// Number of rows from the start of one window to the start of the next.
        #[serde(default = "one")]
        stride: usize,
        /// Number of rows from one row of a window to the next.
        #[serde(default = "one")]
        dilation: usize,
        /// Groups of columns with separate convolutions.
        #[serde(default = "one")]
        groups: usize,
        /// Rows of zeros before and after the utterance.
        #[serde(default)]
        padding: [usize; 2],
    },
    /// Gated recurrent units.
    Gru {
        /// Prefix of the names of its tensors.
        name: String,
    },
    /// Long short-term memory.
    Lstm {
        /// Prefix of the names of its tensors.
        name: String,
    },
    /// Recurrent units without gates.
    Rnn {
        /// Prefix of the names of its tensors.
        name: String,
        /// [`Function::Tanh`] or [`Function::Relu`].
        #[serde(default = "tanh")]
        activation: Function,
    },
    /// A function of each value.
    Activation {
        /// The function.
        function: Function,
    },
    /// Layers whose result is added to their input; both have the same number of rows and the same
    /// width.
    #[doc(alias = "skip connection")]
    Residual {
        /// The layers, in order, as in a network.
        layers: Vec<LayerOptions>,
    },
    /// The logarithm of the softmax of each row.
    LogSoftmax {},
}

fn epsilon() -> f32 {
    1e-5
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

fn tanh() -> Function {
    Function::Tanh
}

impl LayerOptions {
    /// Creates a [`BatchNorm`](Self::BatchNorm) with PyTorch's epsilon.
    pub fn batch_norm(name: impl Into<String>) -> Self {
        Self::BatchNorm { name: name.into(), epsilon: epsilon() }
    }

    /// Creates a [`LayerNorm`](Self::LayerNorm) with PyTorch's epsilon.
    pub fn layer_norm(name: impl Into<String>) -> Self {
        Self::LayerNorm { name: name.into(), epsilon: epsilon() }
    }

    /// Creates a [`UtteranceNorm`](Self::UtteranceNorm) of mean and variance.
    pub fn utterance_norm() -> Self {
        Self::UtteranceNorm { variance: true, epsilon: epsilon() }
    }

    /// Creates a [`Stack`](Self::Stack).
    pub fn stack(frames: usize, stride: usize) -> Self {
        Self::Stack { frames, stride }
    }

    /// Creates a [`Linear`](Self::Linear).
    pub fn linear(name: impl Into<String>) -> Self {
        Self::Linear { name: name.into() }
    }

    /// Creates a [`Conv`](Self::Conv) with stride, dilation and groups 1 and these rows of zeros.
    pub fn conv(name: impl Into<String>, padding: [usize; 2]) -> Self {
        Self::Conv { name: name.into(), stride: 1, dilation: 1, groups: 1, padding }
    }

    /// Creates a [`Gru`](Self::Gru).
    pub fn gru(name: impl Into<String>) -> Self {
        Self::Gru { name: name.into() }
    }

    /// Creates a [`Lstm`](Self::Lstm).
    pub fn lstm(name: impl Into<String>) -> Self {
        Self::Lstm { name: name.into() }
    }

    /// Creates a [`Residual`](Self::Residual).
    pub fn residual(layers: impl Into<Vec<Self>>) -> Self {
        Self::Residual { layers: layers.into() }
    }

    /// Returns the kind, as the description spells it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BatchNorm { .. } => "batch-norm",
            Self::LayerNorm { .. } => "layer-norm",
            Self::UtteranceNorm { .. } => "utterance-norm",
            Self::Stack { .. } => "stack",
            Self::Linear { .. } => "linear",
            Self::Conv { .. } => "conv",
            Self::Gru { .. } => "gru",
            Self::Lstm { .. } => "lstm",
            Self::Rnn { .. } => "rnn",
            Self::Activation { .. } => "activation",
            Self::Residual { .. } => "residual",
            Self::LogSoftmax {} => "log-softmax",
        }
    }
}
