//! Lists that are made to sum to one.

use kaldera_base::memory;

use crate::kernels::{Normal, over_values};
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
        let out_grad = self.check_gradients(out_grad)?;
        let sums = out_grad.sum(<T as Number>::ZERO);
        let mut probabilities = self.clone();
        probabilities.exp_in_place();
        Ok(probabilities.map_rows(|row, y, grad| {
            let pairs = out_grad.row(row).iter().zip(y);
            grad.iter_mut().zip(pairs).for_each(|(grad, (&g, &y))| *grad = g - y * sums[row]);
        }))
    }

    /// The gradient of [`softmax`](Self::softmax), of which `self` is the result: y (g - Σ g y).
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn softmax_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        let out_grad = self.check_gradients(out_grad)?;
        Ok(self.map_rows(|row, y, grad| {
            let pairs = || out_grad.row(row).iter().zip(y);
            let dot: T = pairs().map(|(&g, &y)| g * y).sum();
            grad.iter_mut().zip(pairs()).for_each(|(grad, (&g, &y))| *grad = y * (g - dot));
        }))
    }

    /// The gradient of [`normalize_linear`](Self::normalize_linear), of which `self` is the input: (g - Σ g x / s) / s
    /// with the sum s.
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn normalize_linear_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        let out_grad = self.check_gradients(out_grad)?;
        let sums = self.sum(<T as Number>::ZERO);
        Ok(self.map_rows(|row, x, grad| {
            let (out_grad, sum) = (out_grad.row(row), sums[row]);
            let dot: T = out_grad.iter().zip(x).map(|(&g, &x)| g * x / sum).sum();
            grad.iter_mut().zip(out_grad).for_each(|(grad, &g)| *grad = (g - dot) / sum);
        }))
    }

    /// x = e^x of all values, which are copied first if another tensor shares them.
    pub(super) fn exp_in_place(&mut self) {
        let splits = self.shape().last_splits().clone();
        over_values(splits.as_ref(), self.values_mut(), |_, _, values| T::exp_in_place(values));
    }

    fn check_gradients(&self, out_grad: &[T]) -> Result<Ragged<T>, Error> {
        check_size("the number of output gradients", self.num_elements(), out_grad.len())?;
        self.with_values(out_grad.to_vec())
    }
}
