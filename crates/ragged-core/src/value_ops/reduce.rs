//! Reductions of each innermost row to one value.
//!
//! Each reduction starts from the same value as in k2. Functions named `.._from` take another
//! initial value, k2's `initial_value`, which takes part in the reduction and is the result for an
//! empty row.

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::{and_rows, or_rows, over_rows};
use crate::ragged::{Ragged, check_size};
use crate::value_ops::number::{Float, Integer, Number};
use crate::value_ops::select::index_add;

impl<T: Number> Ragged<T> {
    /// Calls `f` to fill one entry for each innermost row, given the splits of some of them.
    fn reduce<U: Send + Clone>(&self, blank: U, f: impl Fn(&[i32], &mut [U]) + Sync) -> Vec<U> {
        let mut out = memory::collect(std::iter::repeat_n(blank, self.num_rows()));
        over_rows(self.shape().last_splits().as_ref(), &mut out[..], f);
        out
    }

    /// Returns the sum of each row, 0 for an empty one. Integers wrap around; floats are added in
    /// an order that depends only on the processor's vectors.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from(vec![vec![1, 2, 3], vec![], vec![4]]);
    /// assert_eq!(a.sum(), [6, 0, 4]);
    /// assert_eq!(a.max(), [3, i32::MIN, 4]);
    /// assert_eq!((a.argmax(), a.argmin()), (vec![2, -1, 3], vec![0, -1, 3]));
    /// // k2's initial value, which takes part in the reduction:
    /// assert_eq!((a.sum_from(10), a.min_from(2)), (vec![16, 10, 14], vec![1, 2, 2]));
    /// ```
    #[doc(alias = "SumPerSublist")]
    #[doc(alias = "SegmentedReduce")]
    pub fn sum(&self) -> Vec<T> {
        self.sum_from(T::ZERO)
    }

    /// Returns `initial` plus the sum of each row: [`sum`](Self::sum) with k2's `initial_value`.
    #[doc(alias = "SumPerSublist")]
    pub fn sum_from(&self, initial: T) -> Vec<T> {
        self.reduce(initial, |splits, out| T::sum_rows(splits, self.values(), initial, out))
    }

    /// Returns the highest value of each row. As in k2, the lowest finite number takes part, so
    /// that it is the maximum of an empty row and of a row of only -inf and NaN;
    /// [`max_from`](Self::max_from) takes another number.
    #[doc(alias = "MaxPerSublist")]
    pub fn max(&self) -> Vec<T> {
        self.max_from(T::LOWEST)
    }

    /// Returns the highest of `initial` and each row; NaN is passed over.
    #[doc(alias = "MaxPerSublist")]
    pub fn max_from(&self, initial: T) -> Vec<T> {
        self.reduce(initial, |splits, out| T::max_rows(splits, self.values(), initial, out))
    }

    /// Returns the lowest value of each row. As in k2, the highest finite number takes part, so
    /// that it is the minimum of an empty row and of a row of only inf and NaN;
    /// [`min_from`](Self::min_from) takes another number.
    #[doc(alias = "MinPerSublist")]
    pub fn min(&self) -> Vec<T> {
        self.min_from(T::HIGHEST)
    }

    /// Returns the lowest of `initial` and each row; NaN is passed over.
    #[doc(alias = "MinPerSublist")]
    pub fn min_from(&self, initial: T) -> Vec<T> {
        self.reduce(initial, |splits, out| T::min_rows(splits, self.values(), initial, out))
    }

    /// Returns the position in [`values`](Self::values) of the highest value of each row, the last
    /// one if there are several; -1 for a row that is empty or holds only -inf and NaN.
    #[doc(alias = "ArgMaxPerSublist")]
    pub fn argmax(&self) -> Vec<i32> {
        self.argmax_from(T::LOWEST)
    }

    /// Same as [`argmax`](Self::argmax), with -1 for an empty row and if all values are below
    /// `initial` or NaN.
    #[doc(alias = "ArgMaxPerSublist")]
    pub fn argmax_from(&self, initial: T) -> Vec<i32> {
        self.reduce(-1, |splits, out| T::argmax_rows(splits, self.values(), initial, out))
    }

    /// Returns the position in [`values`](Self::values) of the lowest value of each row, the last
    /// one if there are several; -1 for a row that is empty or holds only inf and NaN.
    pub fn argmin(&self) -> Vec<i32> {
        self.argmin_from(T::HIGHEST)
    }

    /// Same as [`argmin`](Self::argmin), with -1 for an empty row and if all values are above
    /// `initial` or NaN.
    pub fn argmin_from(&self, initial: T) -> Vec<i32> {
        self.reduce(-1, |splits, out| T::argmin_rows(splits, self.values(), initial, out))
    }

    /// Computes the gradient of [`sum`](Self::sum) and [`sum_from`](Self::sum_from): each value has
    /// the gradient of its row.
    ///
    /// # Errors
    /// If there is not one output gradient for each row.
    pub fn sum_grad(&self, out_grad: &[T]) -> Result<Ragged<T>, Error> {
        Ragged::broadcast(self.shape().clone(), out_grad)
    }

    /// Computes the gradient of [`max`](Self::max), given its [`argmax`](Self::argmax) with the
    /// same initial value, or of [`min`](Self::min), given its [`argmin`](Self::argmin): the
    /// gradient of a row goes to that one value.
    ///
    /// # Errors
    /// If there is not one position and one output gradient for each row, or a position is out of
    /// range.
    pub fn max_grad(&self, argmax: &[i32], out_grad: &[T]) -> Result<Ragged<T>, Error> {
        check_size("the number of positions", self.num_rows(), argmax.len())?;
        check_size("the number of output gradients", self.num_rows(), out_grad.len())?;
        let mut grad = memory::zeros(self.num_elements());
        index_add(argmax, out_grad, &mut grad)?;
        self.with_values(grad)
    }
}

impl<T: Integer> Ragged<T> {
    /// Returns the bits that all values of each row have; all bits for an empty row.
    #[doc(alias = "AndPerSublist")]
    pub fn and(&self) -> Vec<T> {
        self.and_from(T::ZERO.minus(T::from(1)))
    }

    /// Returns the bits that `initial` and all values of each row have.
    #[doc(alias = "AndPerSublist")]
    pub fn and_from(&self, initial: T) -> Vec<T> {
        self.reduce(initial, |splits, out| and_rows(splits, self.values(), initial, out))
    }

    /// Returns the bits that any value of each row has; none for an empty row.
    #[doc(alias = "OrPerSublist")]
    pub fn or(&self) -> Vec<T> {
        self.or_from(T::ZERO)
    }

    /// Returns the bits that `initial` or any value of each row has.
    #[doc(alias = "OrPerSublist")]
    pub fn or_from(&self, initial: T) -> Vec<T> {
        self.reduce(initial, |splits, out| or_rows(splits, self.values(), initial, out))
    }
}

impl<T: Float> Ragged<T> {
    /// Computes ln Σ e^x of each row, -inf for an empty one.
    ///
    /// For `f32`, e^x and ln come from [`kaldera_base::math`], each within 2 ulp; for `f64`, from
    /// the platform's `libm`.
    #[doc(alias = "LogSumPerSublist")]
    #[doc(alias = "log_sum_exp")]
    pub fn logsumexp(&self) -> Vec<T> {
        self.logsumexp_from(T::NEG_INFINITY)
    }

    /// Computes ln(e^`initial` + Σ e^x) of each row: [`logsumexp`](Self::logsumexp) with k2's
    /// `initial_value`.
    #[doc(alias = "LogSumPerSublist")]
    pub fn logsumexp_from(&self, initial: T) -> Vec<T> {
        self.reduce(initial, |splits, out| T::logsumexp_rows(splits, self.values(), initial, out))
    }

    /// Computes the gradient of [`logsumexp`](Self::logsumexp) and
    /// [`logsumexp_from`](Self::logsumexp_from), given the result: e^(x - result) times the
    /// gradient of the row.
    ///
    /// # Errors
    /// If there is not one result and one output gradient for each row.
    pub fn logsumexp_grad(&self, logsumexp: &[T], out_grad: &[T]) -> Result<Ragged<T>, Error> {
        check_size("the number of results", self.num_rows(), logsumexp.len())?;
        check_size("the number of output gradients", self.num_rows(), out_grad.len())?;
        let exponents = |row: usize, values: &[T], to: &mut [T]| {
            // If all are -inf, so are the exponents.
            let log_sum = if logsumexp[row] == T::NEG_INFINITY { <T as Number>::ZERO } else { logsumexp[row] };
            to.iter_mut().zip(values).for_each(|(to, &x)| *to = x - log_sum);
        };
        Ok(self.map_exponentials(exponents, |row, _, grad| grad.iter_mut().for_each(|y| *y *= out_grad[row])))
    }

    /// Returns the mean of each row, NaN for an empty one.
    pub fn mean(&self) -> Vec<T> {
        self.mean_or(T::from_f64(f64::NAN))
    }

    /// Returns the mean of each row, `if_empty` if it has no values.
    pub fn mean_or(&self, if_empty: T) -> Vec<T> {
        let mut means = self.sum();
        for (mean, row) in means.iter_mut().zip(self.shape().last_splits()) {
            *mean = if row.is_empty() { if_empty } else { *mean / T::from_f64(row.len() as f64) };
        }
        means
    }

    /// Computes the gradient of [`mean`](Self::mean) and [`mean_or`](Self::mean_or).
    ///
    /// # Errors
    /// If there is not one output gradient for each row.
    pub fn mean_grad(&self, out_grad: &[T]) -> Result<Ragged<T>, Error> {
        check_size("the number of output gradients", self.num_rows(), out_grad.len())?;
        let shares = self.shape().last_splits().rows().zip(out_grad);
        let shares: Vec<T> = shares.map(|(row, &g)| g / T::from_f64(row.len().max(1) as f64)).collect();
        Ragged::broadcast(self.shape().clone(), &shares)
    }
}
