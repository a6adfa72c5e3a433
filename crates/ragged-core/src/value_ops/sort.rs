//! Sorting within rows.

use kaldera_base::memory;

use crate::kernels::{over_values, sort_rows_with_map};
use crate::ragged::Ragged;
use crate::value_ops::number::Number;

/// The order of sorted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The lowest first.
    #[default]
    Ascending,
    /// The highest first.
    Descending,
}

impl<T: Number> Ragged<T> {
    /// Sorts each innermost row. Floats are in the order of [`f64::total_cmp`].
    ///
    /// ```
    /// # use ragged_core::{Order, Ragged};
    /// let mut a = Ragged::from_lists(&[vec![3, 1, 3, 2], vec![5, 4]])?;
    /// assert_eq!(a.sort_with_map(Order::Descending), [0, 2, 3, 1, 4, 5]);
    /// assert_eq!(a.values(), [3, 3, 2, 1, 5, 4]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    #[doc(alias = "SortSublists")]
    #[doc(alias = "sort_")]
    pub fn sort(&mut self, order: Order) {
        let splits = self.shape().last_splits().clone();
        over_values(splits.as_ref(), self.values_mut(), |_, splits, values| {
            T::sort_rows(splits, values, order == Order::Descending);
        });
    }

    /// Same as [`sort`](Self::sort), and returns the old position of each value. Equal values keep
    /// their order.
    pub fn sort_with_map(&mut self, order: Order) -> Vec<i32> {
        let splits = self.shape().last_splits().clone();
        let mut new2old = memory::zeros(self.num_elements());
        over_values(splits.as_ref(), (self.values_mut(), &mut new2old[..]), |_, splits, (values, new2old)| {
            sort_rows_with_map(splits, values, new2old, order == Order::Descending);
        });
        new2old
    }
}
