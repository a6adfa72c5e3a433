//! Exchange of the first two axes.

use std::sync::Arc;

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::Run;
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};
use crate::shape_ops::gather::{gather_rows, indexes_of};

impl RaggedShape {
    /// Exchanges the axes 0 and 1, and returns for each new element its old index.
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let shape: RaggedShape = "[ [ [ x ] [ x x ] ] [ [ ] [ x x x ] ] ]".parse()?;
    /// let (transposed, elements) = shape.transpose()?;
    /// assert_eq!(transposed.to_string(), "[ [ [ x ] [ ] ] [ [ x x ] [ x x x ] ] ]");
    /// assert_eq!(elements, [0, 1, 2, 3, 4, 5]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// O(axes x rows of axis 1 + elements).
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] for less than 3 axes; [`Error::NotRegular`] if the rows of axis 0
    /// differ in length, which [`make_transposable`](Self::make_transposable) corrects.
    #[doc(alias = "Transpose")]
    pub fn transpose(&self) -> Result<(Self, Vec<i32>), Error> {
        let (shape, runs) = self.transpose_runs()?;
        Ok((shape, indexes_of(&runs)))
    }

    /// Same as [`transpose`](Self::transpose), with the elements as runs.
    pub(crate) fn transpose_runs(&self) -> Result<(Self, Vec<Run>), Error> {
        self.check_num_axes(3)?;
        let lists = &self.layers()[0].splits;
        let len = lists.rows().next().map_or(0, |list| list.len());
        if let Some((row, list)) = lists.rows().enumerate().find(|(_, list)| list.len() != len) {
            return Err(Error::NotRegular { axis: 1, row, expected: len, found: list.len() });
        }
        let mut entries = memory::with_capacity(lists.num_elements());
        for column in 0..len {
            entries.extend(lists.rows().map(|list| (0, (list.start + column) as i32)));
        }
        let top = Layer::new(RowSplits::regular(len, self.dim0())?);
        let (below, runs) = gather_rows(&[&self.layers()[1..]], entries.into_iter())?;
        Ok((Self::trusted([top].into_iter().chain(below)), runs))
    }

    /// Makes all rows of axis 1 as long as the longest, so that the shape can be transposed: empty
    /// rows are added to shorter ones, or elements if there are only two axes. O(new size of axis
    /// 1); layers below axis 2 are shared.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "MakeTransposable")]
    pub fn make_transposable(&self) -> Result<Self, Error> {
        let len = self.max_size(1);
        let top = RowSplits::regular(self.dim0(), len)?;
        let Some(below) = self.layers().get(1) else { return Ok(Self::trusted([Layer::new(top)])) };
        let mut splits = memory::with_capacity(top.num_elements() + 1);
        splits.push(0);
        for list in self.layers()[0].splits.rows() {
            splits.extend_from_slice(&below.splits.as_ref()[list.start + 1..=list.end]);
            let end = below.splits.as_ref()[list.end];
            splits.extend(std::iter::repeat_n(end, len - list.len()));
        }
        let padded = Layer::new(RowSplits::trusted(splits));
        Ok(Self::trusted([Layer::new(top), padded].into_iter().chain(self.layers()[2..].iter().map(Arc::clone))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_shapes_are_refused_until_mended() {
        let splits = |lengths: &[usize]| RowSplits::from_lengths(lengths.iter().copied()).unwrap();
        for (lengths, row, expected, found) in [([1, 2], 1, 1, 2), ([2, 1], 1, 2, 1)] {
            let shape = RaggedShape::new([splits(&lengths), splits(&[1, 0, 2])]).unwrap();
            assert_eq!(shape.transpose(), Err(Error::NotRegular { axis: 1, row, expected, found }));
            assert_eq!(shape.make_transposable().unwrap().transpose().unwrap().0.dim0(), 2);
        }
        assert!(RaggedShape::trivial(3).unwrap().transpose().is_err());
    }
}
