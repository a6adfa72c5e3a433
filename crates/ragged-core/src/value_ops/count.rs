//! Counting sorts: orders and counts of values that are small numbers.

use kaldera_base::memory;

use crate::error::Error;
use crate::ragged::{Ragged, check_size};
use crate::row_splits::RowSplits;
use crate::shape::RaggedShape;

impl Ragged<i32> {
    /// Returns the order that sorts all values, which are columns below `num_cols`, and keeps the
    /// order of equal ones. This transposes a sparse matrix of compressed rows.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let columns = Ragged::from_lists(&[vec![2, 0], vec![1, 0]])?;
    /// assert_eq!(columns.transpose_reordering(3)?, [1, 3, 2, 0]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a value is negative or not below `num_cols`.
    #[doc(alias = "GetTransposeReordering")]
    pub fn transpose_reordering(&self, num_cols: usize) -> Result<Vec<i32>, Error> {
        let size = Error::fit("the number of columns", num_cols)? as usize;
        let axis = self.num_axes() - 1;
        let mut ends = vec![0_i32; size];
        for (position, &column) in self.values().iter().enumerate() {
            match usize::try_from(column).ok().and_then(|column| ends.get_mut(column)) {
                Some(count) => *count += 1,
                None => return Err(Error::Index { axis, position, found: column.into(), size }),
            }
        }
        let mut end = 0;
        for entry in &mut ends {
            end += *entry;
            *entry = end;
        }
        let mut order = memory::zeros(self.num_elements());
        for (position, &column) in self.values().iter().enumerate().rev() {
            let end = &mut ends[column as usize];
            *end -= 1;
            order[*end as usize] = position as i32;
        }
        Ok(order)
    }

    /// Counts the occurrences of each number; row i may hold numbers of row i of `ranges`.
    ///
    /// The result has the rows of `ranges` as rows: the count of number v is its value v.
    ///
    /// # Errors
    /// If there are more than two axes or the numbers of rows differ, or a value is out of the
    /// range of its row.
    #[doc(alias = "GetCountsPartitioned")]
    pub fn counts_partitioned(&self, ranges: &RowSplits) -> Result<Self, Error> {
        check_size("the number of axes", 2, self.num_axes())?;
        check_size("the number of rows", self.dim0(), ranges.num_rows())?;
        let mut counts = memory::zeros(ranges.num_elements());
        for (from, to) in self.shape().last_splits().rows().zip(ranges) {
            for position in from {
                let found = self.values()[position];
                match usize::try_from(found) {
                    Ok(v) if to.contains(&v) => counts[v] += 1,
                    _ => return Err(Error::Index { axis: 1, position, found: found.into(), size: to.end }),
                }
            }
        }
        Self::new(RaggedShape::new([ranges.clone()])?, counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused() {
        let src = Ragged::from_lists(&[vec![1, 0], vec![3]]).unwrap();
        assert_eq!(src.transpose_reordering(3), Err(Error::Index { axis: 1, position: 2, found: 3, size: 3 }));
        let ranges = RowSplits::regular(2, 2).unwrap();
        assert_eq!(src.counts_partitioned(&ranges).map(|c| c.values().to_vec()), Ok(vec![1, 1, 0, 1]));
        let src = Ragged::from_lists(&[vec![1, 2], vec![3]]).unwrap();
        assert_eq!(src.counts_partitioned(&ranges), Err(Error::Index { axis: 1, position: 1, found: 2, size: 2 }));
    }
}
