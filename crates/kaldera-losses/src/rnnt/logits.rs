//! What a joiner's row of logits says of the symbol and of the blank, and the gradient of that.

use kaldera_base::Real;

use crate::error::Error;
use crate::rows::{Norm, norms, softmax};

/// How classes become probabilities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Classes {
    pub(super) width: usize,
    pub(super) blank: usize,
    /// Whether the blank has a sigmoid of its own.
    pub(super) is_hat: bool,
}

impl Classes {
    /// The normalizers of rows, as [`norms`].
    pub(super) fn norms<T: Real>(&self, sequence: usize, values: &[T], allow_nan: bool) -> Result<Vec<Norm<T>>, Error> {
        let all = norms(sequence, values, self.width, allow_nan)?;
        if !self.is_hat {
            return Ok(all);
        }
        // Without the blank: the classes before it and behind it. There may be none.
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

    /// The log-probability of the blank.
    pub(super) fn blank<T: Real>(&self, row: &[T], norm: &Norm<T>) -> f64 {
        match self.is_hat {
            true => log_sigmoid(row[self.blank].to_f64()),
            false => norm.log_prob(row[self.blank]),
        }
    }

    /// The log-probability of a symbol.
    pub(super) fn symbol<T: Real>(&self, row: &[T], norm: &Norm<T>, symbol: usize) -> f64 {
        match self.is_hat {
            true => log_sigmoid(-row[self.blank].to_f64()) + norm.log_prob(row[symbol]),
            false => norm.log_prob(row[symbol]),
        }
    }

    /// The derivative of a loss by the logits of rows, where `occupations` say for each row how
    /// much its symbol's and its blank's log-probability count in the loss, negated; a row without
    /// symbol has `None`.
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

/// How often paths take the symbol and the blank of a row.
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

/// The normalizer of two parts; where neither has a class that is possible, one that leaves all
/// log-probabilities at minus infinity.
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
