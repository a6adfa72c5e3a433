//! Lists that are made to sum to one.

use std::ops::Range;

use kaldera_base::memory;

use crate::kernels::{Normal, blocks, over_values, rows_of};
use crate::ragged::check_size;
use crate::{Error, Float, Number, Ragged};

impl<T: Float> Ragged<T> {
    /// x - ln Σ e^x within each list: logarithms of probabilities that sum to 1, or log-softmax.
    ///
    /// A list of only -inf stays as it is (k2 makes NaN of it).
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

    /// e^x / Σ e^x within each list. A list of only -inf has zeros.
    pub fn softmax(&self) -> Self {
        self.normalized(Normal::Probability)
    }

    fn normalized(&self, normal: Normal) -> Self {
        let mut out = memory::zeros(self.num_elements());
        let splits = self.shape().last_splits().as_ref();
        over_values(splits, &mut out[..], |_, splits, out| T::normalize_rows(splits, self.values(), normal, out));
        Self::trusted(self.shape().clone(), out)
    }

    /// x / Σ x within each list.
    #[doc(alias = "NormalizePerSublist")]
    #[doc(alias = "normalize")]
    pub fn normalize_linear(&self) -> Self {
        let sums = self.sum(<T as Number>::ZERO);
        self.map_rows(|row, x, out| out.iter_mut().zip(x).for_each(|(out, &x)| *out = x / sums[row]))
    }

    /// The gradient of [`normalize_log`](Self::normalize_log), of which `self` is the result: g - e^y Σ g.
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

    /// The gradient of [`softmax`](Self::softmax), of which `self` is the result: y (g - Σ g y).
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

    /// The gradient of [`normalize_linear`](Self::normalize_linear), of which `self` is the input: (g - Σ g x / s) / s
    /// with the sum s.
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn normalize_linear_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        self.check_gradients(out_grad)?;
        let splits = self.shape().last_splits();
        Ok(self.map_rows(|row, x, grad| {
            let g = &out_grad[splits.row(row)];
            let sum = sum_of(x, x, |x, _| x);
            let dot = sum_of(g, x, |g, x| g * x) / sum;
            grad.iter_mut().zip(g).for_each(|(grad, &g)| *grad = (g - dot) / sum);
        }))
    }

    /// The same lists of what `finish` makes of the exponentials of what `exponents` writes: that is called with the number of a list, its
    /// values and room for as many, and then, when the room has their exponentials, `finish` with the positions of the values.
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

/// The sum of `f` of pairs, in sixteen chains, which the compiler makes vectors of.
fn sum_of<T: Float>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> T {
    const CHAINS: usize = 16;
    let (a, a_rest) = a.as_chunks::<CHAINS>();
    let (b, b_rest) = b.as_chunks::<CHAINS>();
    let mut chains = [<T as Number>::ZERO; CHAINS];
    for (a, b) in a.iter().zip(b) {
        chains.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (&a, &b))| *sum = *sum + f(a, b));
    }
    a_rest.iter().zip(b_rest).map(|(&a, &b)| f(a, b)).chain(chains).sum()
}
