//! A part of a shape, without a copy.

use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;
use crate::shape::{Layer, RaggedShape};

/// Consecutive entries of one axis of a shape, with everything below them.
///
/// A view is two numbers on a borrowed shape. It copies nothing, and going down a level takes O(1).
/// Its elements are a range of the shape's elements, so that the same range cuts the values. A view
/// of elements has one axis.
///
/// ```
/// use ragged_core::RaggedShape;
///
/// let shape: RaggedShape = "[ [ [ x ] [ ] ] [ [ x x ] [ x ] [ ] ] ]".parse()?;
/// let second = shape.view().row(1)?;
/// assert_eq!((second.num_axes(), second.dim0(), second.elements()), (2, 3, 1..4));
/// let lengths: Vec<usize> = second.rows().map(|row| row.elements().len()).collect();
/// assert_eq!(lengths, [2, 1, 0]);
/// assert_eq!(second.to_shape()?.to_string(), "[ [ x x ] [ x ] [ ] ]");
/// # Ok::<(), ragged_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[doc(alias = "RaggedShapeAxis0Splitter")]
pub struct RaggedView<'a> {
    shape: &'a RaggedShape,
    axis: usize,
    begin: usize,
    end: usize,
}

impl RaggedShape {
    /// Returns a view of all of the shape, to go down into without copying. O(1).
    #[inline]
    pub fn view(&self) -> RaggedView<'_> {
        RaggedView { shape: self, axis: 0, begin: 0, end: self.dim0() }
    }
}

impl<'a> RaggedView<'a> {
    /// Returns the number of axes: 1 for elements.
    #[inline]
    pub fn num_axes(&self) -> usize {
        self.shape.num_axes() - self.axis
    }

    /// Returns the number of entries on its own axis 0.
    #[inline]
    pub fn dim0(&self) -> usize {
        self.end - self.begin
    }

    /// Returns the entries of axis `axis` of this view, counted in the whole shape. O(`axis`).
    ///
    /// # Panics
    /// If there is no such axis, as indexing a slice does.
    pub fn entries(&self, axis: usize) -> Range<usize> {
        assert!(axis < self.num_axes(), "axis {axis} is out of range: the view has {} axes", self.num_axes());
        let layers = &self.shape.layers()[self.axis..self.axis + axis];
        layers.iter().fold(self.begin..self.end, |rows, layer| layer.splits.elements(rows))
    }

    /// Returns the elements, counted in the whole shape: the range of its values. O(axes).
    #[inline]
    pub fn elements(&self) -> Range<usize> {
        self.entries(self.num_axes() - 1)
    }

    /// Returns the entries of row `i`, as a view with one axis fewer. O(1).
    ///
    /// # Errors
    /// [`Error::Index`]; [`Error::TooFewAxes`] for a view of elements.
    #[doc(alias = "Index")]
    pub fn row(&self, i: usize) -> Result<Self, Error> {
        if self.num_axes() < 2 {
            return Err(Error::TooFewAxes { expected: 2, found: 1 });
        }
        match i < self.dim0() {
            true => Ok(self.below(self.begin + i)),
            false => {
                let found = i64::try_from(i).unwrap_or(i64::MAX);
                Err(Error::Index { axis: self.axis, position: 0, found, size: self.dim0() })
            }
        }
    }

    /// Returns its entries `begin..end`. O(1).
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn range(&self, begin: usize, end: usize) -> Result<Self, Error> {
        match begin <= end && end <= self.dim0() {
            true => Ok(Self { begin: self.begin + begin, end: self.begin + end, ..*self }),
            false => Err(Error::Range { axis: self.axis, begin, end, size: self.dim0() }),
        }
    }

    /// Returns an iterator over its rows, as views with one axis fewer; none for a view of
    /// elements. Allocates nothing.
    pub fn rows(&self) -> RowViews<'a> {
        let end = if self.num_axes() < 2 { self.begin } else { self.end };
        RowViews { view: Self { end, ..*self } }
    }

    /// Creates a shape, counted from 0. O(size); memory is shared if it starts at 0.
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] for a view of elements.
    pub fn to_shape(&self) -> Result<RaggedShape, Error> {
        if self.num_axes() < 2 {
            return Err(Error::TooFewAxes { expected: 2, found: 1 });
        }
        self.shape.arange(self.axis, self.begin, self.end).map(|(shape, _)| shape)
    }

    /// Returns the entries of a row of its shape.
    #[inline]
    fn below(&self, row: usize) -> Self {
        let layer: &Arc<Layer> = &self.shape.layers()[self.axis];
        let entries = layer.splits.row(row);
        Self { shape: self.shape, axis: self.axis + 1, begin: entries.start, end: entries.end }
    }
}

/// The rows of a [`RaggedView`].
#[derive(Debug, Clone)]
pub struct RowViews<'a> {
    /// The remaining rows.
    view: RaggedView<'a>,
}

impl<'a> Iterator for RowViews<'a> {
    type Item = RaggedView<'a>;

    #[inline]
    fn next(&mut self) -> Option<RaggedView<'a>> {
        (self.view.begin < self.view.end).then(|| {
            self.view.begin += 1;
            self.view.below(self.view.begin - 1)
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.view.dim0(), Some(self.view.dim0()))
    }
}

impl DoubleEndedIterator for RowViews<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        (self.view.begin < self.view.end).then(|| {
            self.view.end -= 1;
            self.view.below(self.view.end)
        })
    }
}

impl ExactSizeIterator for RowViews<'_> {}
impl FusedIterator for RowViews<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_splits::RowSplits;

    #[test]
    fn a_view_goes_down_to_the_elements_and_no_further() {
        let splits = |numbers: &[i32]| RowSplits::new(numbers.to_vec()).unwrap();
        let shape = RaggedShape::new([splits(&[0, 2, 3]), splits(&[0, 1, 1, 4])]).unwrap();
        let inner = shape.view().row(1).unwrap().row(0).unwrap();
        assert_eq!((inner.num_axes(), inner.elements()), (1, 1..4));
        assert_eq!(inner.range(1, 3).unwrap().elements(), 2..4);
        assert_eq!(inner.rows().count(), 0);
        assert!(inner.row(0).is_err() && inner.to_shape().is_err() && inner.range(2, 4).is_err());
        assert_eq!(shape.view().row(2).unwrap_err(), Error::Index { axis: 0, position: 0, found: 2, size: 2 });
        assert_eq!(shape.view().rows().rev().map(|row| row.dim0()).collect::<Vec<_>>(), [1, 2]);
        assert!(shape.view().to_shape().unwrap().row_splits(1).buffer().ptr_eq(shape.row_splits(1).buffer()));
    }
}
