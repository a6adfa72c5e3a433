//! What a network's layers are.

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

/// A layer: its kind, its options and the name that comes before those of its tensors. The README
/// has what each computes and what its tensors are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LayerOptions {
    /// A mean and a variance for each column.
    #[doc(alias = "BatchNorm1d")]
    BatchNorm {
        /// Before the names of its tensors.
        name: String,
        /// Added to the variance.
        #[serde(default = "epsilon")]
        epsilon: f32,
    },
    /// Mean and variance of each row.
    LayerNorm {
        /// Before the names of its tensors.
        name: String,
        /// Added to the variance.
        #[serde(default = "epsilon")]
        epsilon: f32,
    },
    /// Mean and variance of each column over an utterance.
    #[doc(alias = "InstanceNorm1d")]
    UtteranceNorm {
        /// Whether the variance becomes 1; the mean alone becomes 0 otherwise.
        #[serde(default = "yes")]
        variance: bool,
        /// Added to the variance.
        #[serde(default = "epsilon")]
        epsilon: f32,
    },
    /// Rows concatenated with those after them.
    #[doc(alias = "splice")]
    #[doc(alias = "LFR")]
    Stack {
        /// How many rows become one.
        frames: usize,
        /// From the first row of one to that of the next.
        stride: usize,
    },
    /// A matrix and a bias.
    Linear {
        /// Before the names of its tensors.
        name: String,
    },
    /// A convolution over time.
    #[doc(alias = "Conv1d")]
    Conv {
        /// Before the names of its tensors.
        name: String,
        /// From the first row of a window to that of the next.
        #[serde(default = "one")]
        stride: usize,
        /// From one row of a window to the next.
        #[serde(default = "one")]
        dilation: usize,
        /// Groups of columns that are convolved apart.
        #[serde(default = "one")]
        groups: usize,
        /// Rows of zeros before and after the utterance.
        #[serde(default)]
        padding: [usize; 2],
    },
    /// Gated recurrent units.
    Gru {
        /// Before the names of its tensors.
        name: String,
    },
    /// Long short-term memory.
    Lstm {
        /// Before the names of its tensors.
        name: String,
    },
    /// Recurrent units without gates.
    Rnn {
        /// Before the names of its tensors.
        name: String,
        /// [`Function::Tanh`] or [`Function::Relu`].
        #[serde(default = "tanh")]
        activation: Function,
    },
    /// A function of each value.
    Activation {
        /// Which one.
        function: Function,
    },
    /// Layers whose result is added to what they were given: rows of the same number and width.
    #[doc(alias = "skip connection")]
    Residual {
        /// One after another, as those of a network.
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
    /// [`BatchNorm`](Self::BatchNorm) with PyTorch's epsilon.
    pub fn batch_norm(name: impl Into<String>) -> Self {
        Self::BatchNorm { name: name.into(), epsilon: epsilon() }
    }

    /// [`LayerNorm`](Self::LayerNorm) with PyTorch's epsilon.
    pub fn layer_norm(name: impl Into<String>) -> Self {
        Self::LayerNorm { name: name.into(), epsilon: epsilon() }
    }

    /// [`UtteranceNorm`](Self::UtteranceNorm) of mean and variance.
    pub fn utterance_norm() -> Self {
        Self::UtteranceNorm { variance: true, epsilon: epsilon() }
    }

    /// [`Stack`](Self::Stack).
    pub fn stack(frames: usize, stride: usize) -> Self {
        Self::Stack { frames, stride }
    }

    /// [`Linear`](Self::Linear).
    pub fn linear(name: impl Into<String>) -> Self {
        Self::Linear { name: name.into() }
    }

    /// [`Conv`](Self::Conv) with stride, dilation and groups 1 and these rows of zeros.
    pub fn conv(name: impl Into<String>, padding: [usize; 2]) -> Self {
        Self::Conv { name: name.into(), stride: 1, dilation: 1, groups: 1, padding }
    }

    /// [`Gru`](Self::Gru).
    pub fn gru(name: impl Into<String>) -> Self {
        Self::Gru { name: name.into() }
    }

    /// [`Lstm`](Self::Lstm).
    pub fn lstm(name: impl Into<String>) -> Self {
        Self::Lstm { name: name.into() }
    }

    /// [`Residual`](Self::Residual).
    pub fn residual(layers: impl Into<Vec<Self>>) -> Self {
        Self::Residual { layers: layers.into() }
    }

    /// The kind, as the description spells it.
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
