//! Operations that apply one value for each innermost row to all its values.

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::{combine_rows, over_each_row, repeat_rows, scan_rows};
use crate::ragged::{Ragged, check_size};
use crate::shape::RaggedShape;
use crate::value_ops::number::Number;

impl<T: Clone + Send + Sync> Ragged<T> {
    /// Repeats the value of `per_row` for each innermost row of `shape`, as often as the row has
    /// elements.
    ///
    /// ```
    /// # use ragged_core::{Ragged, RaggedShape};
    /// let shape: RaggedShape = "[[x x] [] [x]]".parse().unwrap();
    /// assert_eq!(Ragged::broadcast(shape, &[7, 8, 9])?.values(), [7, 7, 9]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one value for each row.
    pub fn broadcast(shape: RaggedShape, per_row: &[T]) -> Result<Self, Error> {
        let splits = shape.last_splits();
        check_size("the number of values for rows", splits.num_rows(), per_row.len())?;
        let values = repeat_rows(splits.as_ref(), per_row);
        Ok(Self::trusted(shape, values))
    }
}

impl<T: Number> Ragged<T> {
    /// Computes x + `alpha` times the value for its row.
    ///
    /// # Errors
    /// If there is not one value for each row.
    #[doc(alias = "AddPerSublist")]
    pub fn add(&self, per_row: &[T], alpha: T) -> Result<Self, Error> {
        check_size("the number of values for rows", self.num_rows(), per_row.len())?;
        let splits = self.shape().last_splits().as_ref();
        let plus = move |x: T, value| x.plus(alpha.times(value));
        Ok(Self::trusted(self.shape().clone(), combine_rows(splits, self.values(), per_row, plus)))
    }

    /// Computes the gradient of [`add`](Self::add) by the values for rows: `alpha` times the sum of
    /// each row. `self` holds the gradients by the output, which are also the gradients by the
    /// input.
    pub fn add_grad(&self, alpha: T) -> Vec<T> {
        let mut sums = self.sum();
        sums.iter_mut().for_each(|sum| *sum = sum.times(alpha));
        sums
    }

    /// Replaces each value by the sum of the values before it in its row, added up one by one.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from_lists(&[vec![1, 2, 3], vec![], vec![4, 5]])?;
    /// assert_eq!(a.exclusive_sum().values(), [0, 1, 3, 0, 4]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    #[doc(alias = "SegmentedExclusiveSum")]
    pub fn exclusive_sum(&self) -> Self {
        self.scanned::<false>()
    }

    /// Computes the gradient of [`exclusive_sum`](Self::exclusive_sum), where `self` holds the
    /// gradient by its output: the sum of the values after each value in its row.
    pub fn exclusive_sum_grad(&self) -> Self {
        self.scanned::<true>()
    }

    fn scanned<const BACKWARDS: bool>(&self) -> Self {
        let splits = self.shape().last_splits().as_ref();
        let sums = scan_rows::<T, BACKWARDS>(splits, self.values(), T::ZERO, T::plus);
        Self::trusted(self.shape().clone(), sums)
    }

    /// Returns the same rows with the values that `f` writes for each: it is called with the row's
    /// number, its values and room for as many.
    pub(super) fn map_rows(&self, f: impl Fn(usize, &[T], &mut [T]) + Sync) -> Self {
        let mut out = memory::zeros(self.num_elements());
        over_each_row(self.shape().last_splits().as_ref(), self.values(), &mut out, f);
        Self::trusted(self.shape().clone(), out)
    }

    /// Converts the values to another type: toward zero if that is an integer, to its nearest bound
    /// if a number is beyond, 0 for NaN.
    #[doc(alias = "to")]
    pub fn to_dtype<U: Number>(&self) -> Ragged<U> {
        self.map(|x| x.convert())
    }
}
