//! One value for each innermost list, brought to all values of it.

use crate::kernels::{over_values, rows_of};
use crate::ragged::check_size;
use crate::{Error, Number, Ragged, RaggedShape};

impl<T: Clone + Send + Sync> Ragged<T> {
    /// In each innermost list of `shape`, as often as it has elements, the value that `per_list` has for it.
    ///
    /// ```
    /// # use ragged_core::{Ragged, RaggedShape};
    /// let shape: RaggedShape = "[[x x] [] [x]]".parse().unwrap();
    /// assert_eq!(Ragged::broadcast(shape, &[7, 8, 9])?.values(), [7, 7, 9]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one value for each list.
    pub fn broadcast(shape: RaggedShape, per_list: &[T]) -> Result<Self, Error> {
        let splits = shape.last_splits();
        check_size("the number of values for lists", splits.num_rows(), per_list.len())?;
        let mut values = Vec::with_capacity(splits.num_elements());
        for (row, value) in splits.rows().zip(per_list) {
            values.resize(row.end, value.clone());
        }
        Ok(Self::trusted(shape, values))
    }
}

impl<T: Number> Ragged<T> {
    /// x + `alpha` times the value for its list.
    ///
    /// # Errors
    /// If there is not one value for each list.
    #[doc(alias = "AddPerSublist")]
    pub fn add(&self, per_list: &[T], alpha: T) -> Result<Self, Error> {
        check_size("the number of values for lists", self.num_rows(), per_list.len())?;
        let mut values = self.values().to_vec();
        for (row, &value) in rows_of(self.shape().last_splits().as_ref()).zip(per_list) {
            let value = alpha.times(value);
            values[row].iter_mut().for_each(|x| *x = x.plus(value));
        }
        self.with_values(values)
    }

    /// The gradient of [`add`](Self::add) by the values for lists, where `self` holds those by its output (which are also
    /// the ones by its input): `alpha` times the sum of each list.
    pub fn add_grad(&self, alpha: T) -> Vec<T> {
        let mut sums = self.sum(T::ZERO);
        sums.iter_mut().for_each(|sum| *sum = sum.times(alpha));
        sums
    }

    /// In place of each value, the sum of those before it in its list.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from_lists(&[vec![1, 2, 3], vec![], vec![4, 5]])?;
    /// assert_eq!(a.exclusive_sum().values(), [0, 1, 3, 0, 4]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    #[doc(alias = "SegmentedExclusiveSum")]
    pub fn exclusive_sum(&self) -> Self {
        let mut values = vec![T::ZERO; self.num_elements()];
        over_values(self.shape().last_splits().as_ref(), &mut values[..], |splits, out| {
            let first = splits[0] as usize;
            for row in rows_of(splits) {
                let out = &mut out[row.start - first..row.end - first];
                let mut sum = T::ZERO;
                for (out, &x) in out.iter_mut().zip(&self.values()[row]) {
                    *out = sum;
                    sum = sum.plus(x);
                }
            }
        });
        Self::trusted(self.shape().clone(), values)
    }

    /// The gradient of [`exclusive_sum`](Self::exclusive_sum), where `self` holds that by its output: the sum of those
    /// after each value in its list.
    pub fn exclusive_sum_grad(&self) -> Self {
        let mut values = self.values().to_vec();
        for row in rows_of(self.shape().last_splits().as_ref()) {
            let mut sum = T::ZERO;
            for g in values[row].iter_mut().rev() {
                let own = *g;
                *g = sum;
                sum = sum.plus(own);
            }
        }
        Self::trusted(self.shape().clone(), values)
    }

    /// The same lists of numbers of another type: toward zero where that is an integer, to its nearest bound if a number is
    /// beyond, 0 for NaN.
    #[doc(alias = "to")]
    pub fn to_dtype<U: Number>(&self) -> Ragged<U> {
        self.map(|x| x.convert())
    }
}
