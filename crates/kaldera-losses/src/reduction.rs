//! The reduction of the losses of sequences, and its gradient.

use crate::error::Error;

/// Reduction of the losses of a batch; PyTorch's and k2's `reduction`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reduction {
    /// A loss for each sequence.
    None,
    /// The mean over sequences. CTC divides each loss by the number of its labels first (by 1 if it
    /// has none), as PyTorch and k2 do.
    #[default]
    Mean,
    /// The sum.
    Sum,
}

/// Loss of a sequence without any alignment: one with fewer frames than its labels need, or with a
/// probability of 0 for each alignment, such as with a frame that is minus infinity everywhere. Its
/// gradient is always 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Impossible {
    /// An infinite loss, as in PyTorch and k2.
    #[default]
    Infinite,
    /// A loss of 0: PyTorch's `zero_infinity`.
    Zero,
    /// [`Error::TooShort`].
    Error,
}

/// Reduction of the losses of a batch, and its weights.
#[derive(Debug, Clone)]
pub(crate) struct Reduced {
    /// Weight of each sequence's loss in the result.
    weights: Vec<f64>,
    reduction: Reduction,
}

impl Reduced {
    /// Reduces losses. A mean divides each of them by its entry of `lengths`, or by 1 if `lengths`
    /// is empty.
    pub(crate) fn new(losses: Vec<f64>, reduction: Reduction, lengths: &[usize]) -> (Vec<f64>, Self) {
        let divisor = |i: usize| lengths.get(i).copied().unwrap_or(1).max(1) as f64;
        let count = losses.len().max(1) as f64;
        let weights: Vec<f64> = match reduction {
            Reduction::None | Reduction::Sum => vec![1.0; losses.len()],
            Reduction::Mean => (0..losses.len()).map(|i| 1.0 / (divisor(i) * count)).collect(),
        };
        let result = match reduction {
            Reduction::None => losses,
            _ => vec![losses.iter().zip(&weights).map(|(loss, weight)| loss * weight).sum()],
        };
        (result, Self { weights, reduction })
    }

    /// Returns the derivative by each sequence's loss, given the derivative by each result.
    pub(crate) fn backward(&self, grad: &[f64]) -> Result<Vec<f64>, Error> {
        let expected = if self.reduction == Reduction::None { self.weights.len() } else { 1 };
        Error::check("the derivatives by the loss", expected, grad.len())?;
        let of = |i: usize| if self.reduction == Reduction::None { grad[i] } else { grad[0] };
        Ok(self.weights.iter().enumerate().map(|(i, weight)| weight * of(i)).collect())
    }
}

impl Impossible {
    /// Returns the loss to report for a sequence, given `loss`, which is infinite without an
    /// alignment.
    pub(crate) fn loss(
        self,
        sequence: usize,
        loss: f64,
        allow_nan: bool,
        error: impl FnOnce() -> Error,
    ) -> Result<f64, Error> {
        match self {
            _ if loss.is_nan() && allow_nan => Ok(loss),
            _ if loss.is_nan() || loss == f64::NEG_INFINITY => Err(Error::Loss { sequence, loss }),
            _ if loss < f64::INFINITY => Ok(loss),
            Self::Infinite => Ok(loss),
            Self::Zero => Ok(0.0),
            Self::Error => Err(error()),
        }
    }
}
