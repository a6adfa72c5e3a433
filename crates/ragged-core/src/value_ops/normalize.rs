//! Normalisation of rows to a sum of one.

use std::ops::Range;

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::{Normal, blocks, collect_rows, over_values, rows_of, share_rows};
use crate::ragged::{Ragged, check_size};
use crate::value_ops::number::{Float, Number};

impl<T: Float> Ragged<T> {
    /// Computes x - ln Σ e^x within each row: logarithms of probabilities that sum to 1, or
    /// log-softmax.
    ///
    /// A row of only -inf stays unchanged (in k2 it becomes NaN).
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from_lists(&[vec![1.0_f64, 1.0], vec![], vec![7.0]])?;
    /// let half = 0.5_f64.ln();
    /// assert_eq!(a.normalize_log().values(), [half, half, 0.0]);
    /// assert_eq!(a.softmax().values(), [0.5, 0.5, 1.0]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    #[doc(alias = "NormalizePerSublist")]
    #[doc(alias = "normalize")]
    #[doc(alias = "log_softmax")]
    pub fn normalize_log(&self) -> Self {
        self.normalized(Normal::Log)
    }

    /// Computes e^x / Σ e^x within each row. A row of only -inf gets zeros.
    pub fn softmax(&self) -> Self {
        self.normalized(Normal::Probability)
    }

    fn normalized(&self, normal: Normal) -> Self {
        let splits = self.shape().last_splits().as_ref();
        let values = collect_rows(splits, |_, splits, slot| T::normalize_rows(splits, self.values(), normal, slot));
        Self::trusted(self.shape().clone(), values)
    }

    /// Computes x / (Σ x + ε) within each row. The machine epsilon ε is added as in k2, so that a
    /// row of zeros stays unchanged.
    #[doc(alias = "NormalizePerSublist")]
    #[doc(alias = "normalize")]
    pub fn normalize_linear(&self) -> Self {
        let values = share_rows(self.shape().last_splits().as_ref(), self.values());
        Self::trusted(self.shape().clone(), values)
    }

    /// Computes the gradient of [`normalize_log`](Self::normalize_log), whose result is `self`: g -
    /// e^y Σ g.
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn normalize_log_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        self.check_gradients(out_grad)?;
        let exponents = |_, y: &[T], to: &mut [T]| to.copy_from_slice(y);
        Ok(self.map_exponentials(exponents, |_, row, grad| {
            let g = &out_grad[row];
            let sum = sum_of(g, g, |g, _| g);
            grad.iter_mut().zip(g).for_each(|(grad, &g)| *grad = g - *grad * sum);
        }))
    }

    /// Computes the gradient of [`softmax`](Self::softmax), whose result is `self`: y (g - Σ g y).
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn softmax_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        self.check_gradients(out_grad)?;
        let splits = self.shape().last_splits();
        Ok(self.map_rows(|row, y, grad| {
            let g = &out_grad[splits.row(row)];
            let dot = sum_of(g, y, |g, y| g * y);
            grad.iter_mut().zip(g.iter().zip(y)).for_each(|(grad, (&g, &y))| *grad = y * (g - dot));
        }))
    }

    /// Computes the gradient of [`normalize_linear`](Self::normalize_linear), whose input is
    /// `self`: (g - Σ g x / s) / s with s = Σ x + ε.
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn normalize_linear_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        self.check_gradients(out_grad)?;
        let splits = self.shape().last_splits();
        Ok(self.map_rows(|row, x, grad| {
            let g = &out_grad[splits.row(row)];
            let sum = T::EPSILON + sum_of(x, x, |x, _| x);
            let dot = sum_of(g, x, |g, x| g * x) / sum;
            grad.iter_mut().zip(g).for_each(|(grad, &g)| *grad = (g - dot) / sum);
        }))
    }

    /// Returns the same rows with other values. `exponents` writes the exponents: it is called with
    /// the number of a row, its values and memory for as many. When the memory holds their
    /// exponentials, `finish` is called with the number of the row, the positions of its values and
    /// the memory.
    pub(super) fn map_exponentials(
        &self,
        exponents: impl Fn(usize, &[T], &mut [T]) + Sync,
        finish: impl Fn(usize, Range<usize>, &mut [T]) + Sync,
    ) -> Self {
        let mut out = memory::zeros(self.num_elements());
        let splits = self.shape().last_splits().as_ref();
        over_values(splits, &mut out[..], |mut row, splits, mut out| {
            for splits in blocks(splits) {
                let (first, rows) = (splits[0] as usize, splits.len() - 1);
                let block;
                (block, out) = out.split_at_mut(splits[rows] as usize - first);
                for (i, range) in (row..).zip(rows_of(splits)) {
                    exponents(i, &self.values()[range.clone()], &mut block[range.start - first..range.end - first]);
                }
                T::exp_in_place(block);
                for (i, range) in (row..).zip(rows_of(splits)) {
                    finish(i, range.clone(), &mut block[range.start - first..range.end - first]);
                }
                row += rows;
            }
        });
        Self::trusted(self.shape().clone(), out)
    }

    fn check_gradients(&self, out_grad: &[T]) -> Result<(), Error> {
        check_size("the number of output gradients", self.num_elements(), out_grad.len())
    }
}

/// Returns the sum of `f` of pairs, in sixteen chains, which the compiler vectorizes.
fn sum_of<T: Float>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> T {
    const CHAINS: usize = 16;
    let (a, a_rest) = a.as_chunks::<CHAINS>();
    let (b, b_rest) = b.as_chunks::<CHAINS>();
    let mut chains = [<T as Number>::ZERO; CHAINS];
    for (a, b) in a.iter().zip(b) {
        chains.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (&a, &b))| *sum += f(a, b));
    }
    a_rest.iter().zip(b_rest).map(|(&a, &b)| f(a, b)).chain(chains).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are k2's (1.23.4).
    #[test]
    fn normalize_of_rows_that_sum_to_zero() {
        let x = Ragged::from_lists(&[vec![0.0_f32, 0.0], vec![3.0, -3.0], vec![1e-7, 0.0], vec![]]).unwrap();
        let shares = x.normalize_linear();
        assert_eq!(shares.values()[..4], [0.0, 0.0, 25_165_824.0, -25_165_824.0]);
        assert!((shares.values()[4] - 0.456_185_07).abs() < 1e-6);
        let grad = x.normalize_linear_grad(&[1.0, 0.0, 0.0, 0.0, 1.0, 1.0]).unwrap();
        assert_eq!(grad.values()[..2], [8_388_608.0, 0.0]);
    }

    #[test]
    fn gradients_of_long_lists_are_those_of_the_formulas() {
        let lists: Vec<Vec<f64>> = [0, 1, 15, 16, 17, 0, 40, 5000, 3]
            .map(|len| (0..len).map(|i| f64::from(i * 37 % 101) / 50.0 + 0.1).collect())
            .into();
        let x = Ragged::from_lists(&lists).unwrap();
        let g: Vec<f64> = (0..x.num_elements()).map(|i| (i * 53 % 97) as f64 / 30.0 - 1.0).collect();
        let g = x.with_values(g).unwrap();
        fn dot(a: &[f64], b: &[f64]) -> f64 {
            a.iter().zip(b).map(|(a, b)| a * b).sum()
        }
        /// A formula for element i of a row, given the row and its output gradients.
        type Formula = dyn Fn(&[f64], &[f64], usize) -> f64;
        let check = |grad: Ragged<f64>, f: &Formula| {
            for (row, values) in x.rows().enumerate() {
                for (i, &got) in grad.row(row).iter().enumerate() {
                    let expected = f(values, g.row(row), i);
                    // Sums of 5000 numbers around 1, in another order.
                    assert!((got - expected).abs() <= 1e-10 * expected.abs().max(1.0), "{row} {i}: {got} {expected}");
                }
            }
        };
        check(x.normalize_log_grad(g.values()).unwrap(), &|y, g, i| g[i] - y[i].exp() * g.iter().sum::<f64>());
        check(x.softmax_grad(g.values()).unwrap(), &|y, g, i| y[i] * (g[i] - dot(g, y)));
        check(x.normalize_linear_grad(g.values()).unwrap(), &|x, g, i| {
            let sum = x.iter().sum::<f64>();
            (g[i] - dot(g, x) / sum) / sum
        });
        let (logs, per_row) = (x.logsumexp(), (0..9).map(f64::from).collect::<Vec<_>>());
        let grad = x.logsumexp_grad(&logs, &per_row).unwrap();
        for row in 0..9 {
            for (&got, &x) in grad.row(row).iter().zip(x.row(row)) {
                assert!((got - (x - logs[row]).exp() * per_row[row]).abs() <= 1e-13 * got.abs());
            }
        }
    }
}
