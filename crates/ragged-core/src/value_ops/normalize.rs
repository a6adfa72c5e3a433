//! Lists that are made to sum to one.

use crate::kernels::{Normal, over_values, rows_of};
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
        let mut out = vec![<T as Number>::ZERO; self.num_elements()];
        let splits = self.shape().last_splits().as_ref();
        over_values(splits, &mut out[..], |splits, out| T::normalize_rows(splits, self.values(), normal, out));
        Self::trusted(self.shape().clone(), out)
    }

    /// x / Σ x within each list.
    #[doc(alias = "NormalizePerSublist")]
    #[doc(alias = "normalize")]
    pub fn normalize_linear(&self) -> Self {
        let sums = self.sum(<T as Number>::ZERO);
        let mut out = self.values().to_vec();
        for (row, sum) in rows_of(self.shape().last_splits().as_ref()).zip(sums) {
            out[row].iter_mut().for_each(|x| *x /= sum);
        }
        Self::trusted(self.shape().clone(), out)
    }

    /// The gradient of [`normalize_log`](Self::normalize_log), of which `self` is the result: g - e^y Σ g.
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn normalize_log_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        let out_grad = self.check_gradients(out_grad)?;
        let mut grad = self.values().to_vec();
        let splits = self.shape().last_splits().as_ref();
        over_values(splits, &mut grad[..], |_, grad| T::exp_in_place(grad));
        for (row, sum) in rows_of(splits).zip(out_grad.sum(<T as Number>::ZERO)) {
            let pairs = grad[row.clone()].iter_mut().zip(&out_grad.values()[row]);
            pairs.for_each(|(grad, &g)| *grad = g - *grad * sum);
        }
        self.with_values(grad)
    }

    /// The gradient of [`softmax`](Self::softmax), of which `self` is the result: y (g - Σ g y).
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn softmax_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        let out_grad = self.check_gradients(out_grad)?;
        let mut grad = out_grad.values().to_vec();
        for row in self.shape().last_splits() {
            let (grad, y) = (&mut grad[row.clone()], &self.values()[row]);
            let dot: T = grad.iter().zip(y).map(|(&g, &y)| g * y).sum();
            grad.iter_mut().zip(y).for_each(|(g, &y)| *g = y * (*g - dot));
        }
        self.with_values(grad)
    }

    /// The gradient of [`normalize_linear`](Self::normalize_linear), of which `self` is the input: (g - Σ g x / s) / s
    /// with the sum s.
    ///
    /// # Errors
    /// If there is not one output gradient for each value.
    pub fn normalize_linear_grad(&self, out_grad: &[T]) -> Result<Self, Error> {
        let out_grad = self.check_gradients(out_grad)?;
        let mut grad = out_grad.values().to_vec();
        for (row, sum) in self.shape().last_splits().rows().zip(self.sum(<T as Number>::ZERO)) {
            let (grad, x) = (&mut grad[row.clone()], &self.values()[row]);
            let dot: T = grad.iter().zip(x).map(|(&g, &x)| g * x / sum).sum();
            grad.iter_mut().for_each(|g| *g = (*g - dot) / sum);
        }
        self.with_values(grad)
    }

    fn check_gradients(&self, out_grad: &[T]) -> Result<Ragged<T>, Error> {
        check_size("the number of output gradients", self.num_elements(), out_grad.len())?;
        self.with_values(out_grad.to_vec())
    }
}
