//! Log-probabilities of the symbol and the blank from a joiner's row of logits, and their gradient.

use kaldera_base::Real;

use crate::error::Error;
use crate::rows::{Norm, norms, softmax};

/// Conversion of the logits of classes to probabilities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Classes {
    pub(super) width: usize,
    pub(super) blank: usize,
    /// `true` if the blank has its own sigmoid.
    pub(super) is_hat: bool,
}

impl Classes {
    /// Computes the normalizers of rows, as [`norms`].
    pub(super) fn norms<T: Real>(&self, sequence: usize, values: &[T], allow_nan: bool) -> Result<Vec<Norm<T>>, Error> {
        let all = norms(sequence, values, self.width, allow_nan)?;
        if !self.is_hat {
            return Ok(all);
        }
        // Without the blank: the classes before and after it. There may be none.
        let of = |part: &[T]| -> Result<Option<Norm<T>>, Error> {
            match part.iter().all(|&x| x == -T::INFINITY) {
                true => Ok(None),
                false => Ok(Some(norms(sequence, part, part.len(), allow_nan)?[0])),
            }
        };
        let merged = |(row, all): (&[T], Norm<T>)| match all.is_nan() {
            true => Ok(all),
            false => Ok(merged(of(&row[..self.blank])?, of(&row[self.blank + 1..])?)),
        };
        values.chunks_exact(self.width).zip(all).map(merged).collect()
    }

    /// Returns the log-probability of the blank.
    pub(super) fn blank<T: Real>(&self, row: &[T], norm: &Norm<T>) -> f64 {
        match self.is_hat {
            true => log_sigmoid(row[self.blank].to_f64()),
            false => norm.log_prob(row[self.blank]),
        }
    }

    /// Returns the log-probability of a symbol.
    pub(super) fn symbol<T: Real>(&self, row: &[T], norm: &Norm<T>, symbol: usize) -> f64 {
        match self.is_hat {
            true => log_sigmoid(-row[self.blank].to_f64()) + norm.log_prob(row[symbol]),
            false => norm.log_prob(row[symbol]),
        }
    }

    /// Computes the derivative of a loss by the logits of rows. `occupations` has for each row the
    /// weights of its symbol's and its blank's log-probability in the loss, negated; a row without
    /// a symbol has `None`.
    pub(super) fn gradient<T: Real>(&self, values: &[T], norms: &[Norm<T>], occupations: &[Occupation], to: &mut [T]) {
        let of_softmax = |o: &Occupation| if self.is_hat { o.symbol } else { o.symbol + o.blank };
        let weights: Vec<f64> = occupations.iter().map(of_softmax).collect();
        softmax(values, self.width, norms, &weights, to);
        let rows = values.chunks_exact(self.width).zip(to.chunks_exact_mut(self.width));
        for ((row, to), occupation) in rows.zip(occupations) {
            if self.is_hat {
                let sigmoid = log_sigmoid(row[self.blank].to_f64()).exp();
                to[self.blank] = T::from_f64(sigmoid * occupation.symbol - (1.0 - sigmoid) * occupation.blank);
            } else {
                to[self.blank] -= T::from_f64(occupation.blank);
            }
            if let Some(class) = occupation.class {
                to[class] -= T::from_f64(occupation.symbol);
            }
        }
    }
}

/// Occupation of the symbol and the blank of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Occupation {
    /// The class of the symbol.
    pub(super) class: Option<usize>,
    pub(super) symbol: f64,
    pub(super) blank: f64,
}

/// ln 1 / (1 + e^-x)
fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// Merges the normalizers of two parts. If no class is possible in either, all log-probabilities
/// stay minus infinity.
fn merged<T: Real>(a: Option<Norm<T>>, b: Option<Norm<T>>) -> Norm<T> {
    match (a, b) {
        (None, None) => Norm::IMPOSSIBLE,
        (Some(norm), None) | (None, Some(norm)) => norm,
        (Some(a), Some(b)) => {
            let max = if a.max > b.max { a.max } else { b.max };
            let part = |norm: Norm<T>| norm.sum * (norm.max - max).to_f64().exp();
            Norm { max, sum: part(a) + part(b) }
        }
    }
}
