//! Removal of values from rows.

use kaldera_base::memory;

use crate::ragged::Ragged;
use crate::row_splits::RowSplits;
use crate::shape::RaggedShape;
use crate::value_ops::number::Number;

impl<T: Copy> Ragged<T> {
    /// Returns the same rows without the values for which `remove` returns `true`; a row may become
    /// empty.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from_lists(&[vec![1, 7, 2], vec![8], vec![3]])?;
    /// let b = a.remove_values(|&x| x > 5);
    /// assert_eq!(b.rows().collect::<Vec<_>>(), [&[1, 2][..], &[], &[3]]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    pub fn remove_values(&self, mut remove: impl FnMut(&T) -> bool) -> Self {
        // Each value is written; only values that stay advance the position of the next.
        let mut values = memory::with_capacity(self.num_elements());
        values.extend_from_slice(self.values());
        let mut splits = memory::with_capacity(self.num_rows() + 1);
        splits.push(0);
        let mut end = 0;
        for row in self.rows() {
            for x in row {
                values[end] = *x;
                end += usize::from(!remove(x));
            }
            splits.push(end as i32);
        }
        values.truncate(end);
        Self::trusted(self.shape().with_last_splits(RowSplits::trusted(splits)), values)
    }
}

impl<T: Number> Ragged<T> {
    /// Returns the same rows without the values that are `cutoff` or lower.
    #[doc(alias = "RemoveValuesLeq")]
    pub fn remove_values_leq(&self, cutoff: T) -> Self {
        self.remove_values(|&x| x <= cutoff)
    }

    /// Returns the same rows without the values that equal `target`.
    #[doc(alias = "RemoveValuesEq")]
    pub fn remove_values_eq(&self, target: T) -> Self {
        self.remove_values(|&x| x == target)
    }
}

impl RaggedShape {
    /// Replaces the splits of the last layer by others of as many rows.
    pub(super) fn with_last_splits(&self, splits: RowSplits) -> Self {
        let (_, upper) = self.layers().split_last().unwrap_or_else(|| unreachable!("a shape has layers"));
        Self::trusted(upper.iter().cloned().chain([crate::shape::Layer::new(splits)]))
    }
}
