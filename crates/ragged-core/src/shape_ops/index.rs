//! Selection of rows: one, a range, or any by index.

use std::ops::Range;
use std::sync::Arc;

use kaldera_base::memory;

use crate::error::Error;
use crate::ids;
use crate::kernels::{Run, check_indexes};
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};
use crate::shape_ops::gather::{gather_rows, indexes_of};

impl RaggedShape {
    /// Returns the rows of axis `axis` that `indexes` name, and for each new element its old index.
    ///
    /// On axis 0 any order is possible, an index may occur again, and -1 gives an empty row. On
    /// lower axes, the rows above stay unchanged (though some may become empty), so that the
    /// indexes must not go back to an earlier row.
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let shape: RaggedShape = "[ [ x x ] [ ] [ x ] ]".parse()?;
    /// let (picked, elements) = shape.index(0, &[2, -1, 0, 2])?;
    /// assert_eq!(picked.to_string(), "[ [ x ] [ ] [ x x ] [ x ] ]");
    /// assert_eq!(elements, [2, 0, 1, 2]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// O(axes x indexes + new elements).
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Index`], [`Error::IndexOrder`], [`Error::TooLarge`].
    #[doc(alias = "Index")]
    pub fn index(&self, axis: usize, indexes: &[i32]) -> Result<(Self, Vec<i32>), Error> {
        if axis + 1 == self.num_axes() {
            return Ok((self.index_elements(indexes)?, memory::collect(indexes.iter().copied())));
        }
        let (shape, runs) = self.index_runs(axis, indexes)?;
        Ok((shape, indexes_of(&runs)))
    }

    /// Same as [`index`](Self::index), on the last axis.
    pub(crate) fn index_elements(&self, indexes: &[i32]) -> Result<Self, Error> {
        Ok(Self::trusted(self.index_above(self.num_axes() - 1, indexes)?))
    }

    /// Same as [`index`](Self::index), with the elements as runs.
    pub(crate) fn index_runs(&self, axis: usize, indexes: &[i32]) -> Result<(Self, Vec<Run>), Error> {
        let mut layers = self.index_above(axis, indexes)?;
        let (below, runs) = gather_rows(&[&self.layers()[axis..]], indexes.iter().map(|&i| (0, i)))?;
        layers.extend(below);
        Ok((Self::trusted(layers), runs))
    }

    /// Returns the layers above `axis` of the rows that `indexes` name, if there are such rows.
    fn index_above(&self, axis: usize, indexes: &[i32]) -> Result<Vec<Arc<Layer>>, Error> {
        Self::check_axis(axis, 0..=self.num_axes() - 1)?;
        Error::fit("the number of rows", indexes.len())?;
        check_indexes(axis, indexes, self.tot_size(axis))?;
        let mut layers = Vec::with_capacity(self.layers().len());
        if let Some(above) = axis.checked_sub(1) {
            layers.extend(self.layers()[..above].iter().map(Arc::clone));
            let ids = self.row_ids(axis);
            let ids = memory::collect(indexes.iter().map(|&i| ids[i as usize]));
            let splits = ids::to_splits(&ids, self.tot_size(above)).map_err(|error| match error {
                Error::RowIdsFall { position, .. } => Error::IndexOrder { axis, position },
                other => other,
            })?;
            layers.push(Layer::with_row_ids(RowSplits::trusted(splits), ids));
        }
        Ok(layers)
    }

    /// Returns row `i` of axis 0, with one axis fewer. O(its size); memory is shared if it starts
    /// at 0.
    ///
    /// [`view`](Self::view) gives access to the row without a new shape.
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] for less than 3 axes, [`Error::Index`].
    #[doc(alias = "Index")]
    pub fn index0(&self, i: usize) -> Result<Self, Error> {
        self.check_num_axes(3)?;
        self.view().row(i)?.to_shape()
    }

    /// Returns the entries `begin..end` of axis `axis`, which becomes axis 0, and the range of
    /// their elements.
    ///
    /// O(its size); memory is shared if it starts at 0. As in k2, the elements of an empty range
    /// are `begin..begin`, which is unrelated to the positions of elements and may be beyond the
    /// last.
    ///
    /// # Errors
    /// [`Error::Axis`] for the last axis, [`Error::Range`].
    #[doc(alias = "Arange")]
    pub fn arange(&self, axis: usize, begin: usize, end: usize) -> Result<(Self, Range<usize>), Error> {
        Self::check_axis(axis, 0..=self.num_axes() - 2)?;
        let size = self.tot_size(axis);
        if begin > end || end > size {
            return Err(Error::Range { axis, begin, end, size });
        }
        let mut rows = begin..end;
        let cut = |layer: &Arc<Layer>| {
            let all = rows == (0..layer.splits.num_rows());
            let made = if all { Arc::clone(layer) } else { Layer::new(layer.splits.slice(rows.clone())) };
            rows = layer.splits.elements(rows.clone());
            made
        };
        let layers: Vec<_> = self.layers()[axis..].iter().map(cut).collect();
        let elements = if begin == end { begin..end } else { rows };
        Ok((Self::trusted(layers), elements))
    }

    /// Returns the first `num_rows` rows of axis 0. Memory is shared. O(axes).
    ///
    /// # Errors
    /// [`Error::Range`].
    #[doc(alias = "Prefix")]
    pub fn prefix(&self, num_rows: usize) -> Result<Self, Error> {
        self.arange(0, 0, num_rows).map(|(shape, _)| shape)
    }

    /// Returns the [`prefix`](Self::prefix) of each of some sizes.
    ///
    /// # Errors
    /// [`Error::Range`].
    #[doc(alias = "GetPrefixes")]
    pub fn prefixes(&self, sizes: &[usize]) -> Result<Vec<Self>, Error> {
        sizes.iter().map(|&num_rows| self.prefix(num_rows)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_indexes_are_refused_with_their_numbers() {
        let shape = RaggedShape::new([RowSplits::new(vec![0, 2, 3]).unwrap()]).unwrap();
        assert_eq!(shape.index(0, &[0, 2]), Err(Error::Index { axis: 0, position: 1, found: 2, size: 2 }));
        assert_eq!(shape.index(0, &[-2]), Err(Error::Index { axis: 0, position: 0, found: -2, size: 2 }));
        assert_eq!(shape.index(1, &[-1]), Err(Error::Index { axis: 1, position: 0, found: -1, size: 3 }));
        assert_eq!(shape.index(1, &[1, 2, 0]), Err(Error::IndexOrder { axis: 1, position: 2 }));
        assert_eq!(shape.index(2, &[]), Err(Error::Axis { axis: 2, min: 0, max: 1 }));
        assert_eq!(shape.index0(0), Err(Error::TooFewAxes { expected: 3, found: 2 }));
        assert_eq!(shape.prefix(3), Err(Error::Range { axis: 0, begin: 0, end: 3, size: 2 }));
    }

    #[test]
    fn more_elements_than_fit_are_refused() {
        let shape = RaggedShape::trivial(1 << 30).unwrap();
        assert_eq!(shape.index(0, &[0, 0]), Err(Error::TooLarge { what: "the number of elements", size: 1 << 31 }));
    }

    #[test]
    fn a_prefix_shares_memory() {
        let shape = RaggedShape::regular(4, 2).unwrap();
        let splits = shape.prefix(3).unwrap().row_splits(1).buffer().as_ptr();
        assert_eq!(splits, shape.row_splits(1).buffer().as_ptr());
        assert_eq!(shape.prefixes(&[4, 0]).unwrap(), [shape.clone(), RaggedShape::empty(2).unwrap()]);
    }
}
