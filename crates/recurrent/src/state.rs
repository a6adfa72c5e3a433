//! Inputs and outputs of a pass, except for weights.

use kaldera_base::Real;
use kaldera_base::memory;
use lod::{Lod, LodTensor};

/// End of each sequence that a cell begins with. Either way, outputs stay at the rows of their
/// inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[doc(alias = "is_reverse")]
pub enum Direction {
    /// From the first row to the last.
    #[default]
    Forward,
    /// From the last row to the first.
    Reverse,
}

/// Memory of a cell: one row for each sequence, in the order of the sequences in the mini-batch
/// (not by length). A clone shares the values. The rows have no LoD; a LoD is ignored.
#[derive(Clone, Debug)]
#[doc(alias = "h0")]
#[doc(alias = "boot_memories")]
pub struct State<T: Real> {
    /// `[sequences, output_size]`: the hidden state, which is also the output of the last step.
    pub h: LodTensor<T>,
    /// `[sequences, cell_size]`: the cell state of an LSTM; without columns for other cells.
    pub c: LodTensor<T>,
}

/// The result of a forward pass.
#[derive(Clone, Debug)]
pub struct Output<T: Real> {
    /// `[rows, output_size]`, with the LoD of the input: the hidden state after each step.
    pub y: LodTensor<T>,
    /// The state after the last step of each sequence; the initial one for sequences of length 0.
    #[doc(alias = "h_n")]
    pub last: State<T>,
}

/// Gradients of the loss by the results of a forward pass; `None` for a result that has no part in
/// the loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputGradients<'a, T: Real> {
    /// By [`Output::y`].
    pub y: Option<&'a LodTensor<T>>,
    /// By [`Output::last`].
    pub last: Option<&'a State<T>>,
    /// By the cell state after each step ([`LstmSaved::cells`](crate::LstmSaved::cells)); LSTM
    /// only.
    pub cells: Option<&'a LodTensor<T>>,
}

/// Gradients of the loss by the inputs of a forward pass of a cell with weights `W`.
#[derive(Clone, Debug)]
pub struct Gradients<T: Real, W> {
    /// By the input.
    pub x: LodTensor<T>,
    /// By the initial state, even if none was given.
    pub initial: State<T>,
    /// By the weights: one tensor for each tensor that the cell has.
    pub weights: W,
}

impl<T: Real> State<T> {
    /// Creates a state of zeros.
    pub fn zeros(sequences: usize, output_size: usize, cell_size: usize) -> Self {
        Self { h: zeros(sequences, output_size), c: zeros(sequences, cell_size) }
    }

    /// Creates a state from a hidden state, with a cell state of zeros.
    pub fn from_hidden(h: LodTensor<T>, cell_size: usize) -> Self {
        Self { c: zeros(h.num_rows(), cell_size), h }
    }
}

/// Returns a tensor `[rows, width]` of zeros without LoD.
pub(crate) fn zeros<T: Real>(rows: usize, width: usize) -> LodTensor<T> {
    let tensor = LodTensor::from_vec([rows, width], memory::zeros(rows * width), Lod::none());
    tensor.unwrap_or_else(|error| unreachable!("a value for each element: {error}"))
}
