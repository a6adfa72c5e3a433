//! Conversion from the coordinates of an entry to its position in memory, and back.

use kaldera_base::memory;

use crate::error::Error;
use crate::shape::RaggedShape;

/// Coordinates and offsets.
///
/// ```text
///   [ [ h e ] [ sh an ] [ t on g ] [ yi ] ]
///       0 1     2  3      4 5  6     7        offset
///
///   row splits lead down:   [2, 2] -> splits[2] + 2 = 4 + 2 = 6
///   row ids lead up:        6 -> row ids[6] = 2, entry 6 - splits[2] = 2
/// ```
impl RaggedShape {
    /// Returns the index of an entry in its axis: `coordinates[0]` is the row on axis 0,
    /// `coordinates[1]` the entry in it, and so on. With as many coordinates as there are axes it
    /// is the index of an element; with fewer, of an entry of an upper axis.
    ///
    /// The words and their phones in the article in which k2's authors explain ragged tensors:
    ///
    /// ```
    /// use ragged_core::{RaggedShape, RowSplits};
    ///
    /// let phones = ["h", "e", "sh", "an", "t", "on", "g", "yi"];
    /// let words = RaggedShape::new([RowSplits::new(vec![0, 2, 4, 7, 8])?])?;
    /// assert_eq!(words.offset(&[2, 2])?, 6);
    /// assert_eq!(phones[6], "g");
    /// assert_eq!(words.row_ids(1), [0, 0, 1, 1, 2, 2, 2, 3]);
    /// assert_eq!(words.coordinates(1, 6)?, [2, 2]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// And its universities of two provinces, as states and arcs of two FSAs, `china_univ_fsav`:
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let shape: RaggedShape =
    ///     "[ [ [ x x x x ] [ x ] [ x ] [ x ] [ ] ] [ [ x ] [ x ] [ x ] [ ] ] ]".parse()?;
    /// assert_eq!(shape.row_splits(1).as_ref(), [0, 5, 9]);
    /// assert_eq!(shape.row_ids(1), [0, 0, 0, 0, 0, 1, 1, 1, 1]);
    /// assert_eq!(shape.row_splits(2).as_ref(), [0, 4, 5, 6, 7, 7, 8, 9, 10, 10]);
    /// assert_eq!(shape.row_ids(2), [0, 0, 0, 0, 1, 2, 3, 5, 6, 7]);
    ///
    /// // Province 1, its city 0, the university 0 there: city 5 + 0 = 5 of all, university
    /// // 7 + 0 = 7 of all.
    /// assert_eq!(shape.offset(&[1, 0])?, 5);
    /// assert_eq!(shape.offset(&[1, 0, 0])?, 7);
    /// // University 8 of all is in city 6 of all, which is in province 1: there city 6 - 5 = 1,
    /// // university 8 - 8 = 0.
    /// assert_eq!(shape.coordinates(2, 8)?, [1, 1, 0]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// O(axes).
    ///
    /// # Errors
    /// [`Error::Axis`] for no coordinates or more than there are axes, [`Error::Coordinate`] for a
    /// coordinate outside its row.
    #[doc(alias = "operator[]")]
    pub fn offset(&self, coordinates: &[usize]) -> Result<usize, Error> {
        self.offset_at(coordinates, 0)
    }

    /// Returns the [`offset`](Self::offset) of many entries. O(axes x coordinates).
    ///
    /// # Errors
    /// As [`offset`](Self::offset), with the position of the first bad entry.
    pub fn offsets<const N: usize>(&self, coordinates: &[[usize; N]]) -> Result<Vec<usize>, Error> {
        let mut offsets = memory::with_capacity(coordinates.len());
        for (position, coordinates) in coordinates.iter().enumerate() {
            offsets.push(self.offset_at(coordinates, position)?);
        }
        Ok(offsets)
    }

    fn offset_at(&self, coordinates: &[usize], position: usize) -> Result<usize, Error> {
        let Some((&first, rest)) = coordinates.split_first() else {
            return Err(Error::Size { what: "the number of coordinates, at least,", expected: 1, found: 0 });
        };
        if rest.len() > self.layers().len() {
            return Err(Error::Axis { axis: rest.len(), min: 0, max: self.num_axes() - 1 });
        }
        if first >= self.dim0() {
            return Err(Error::Coordinate { axis: 0, position, found: first, size: self.dim0() });
        }
        let mut offset = first;
        for ((layer, &found), axis) in self.layers().iter().zip(rest).zip(1..) {
            let row = layer.splits.row(offset);
            if found >= row.len() {
                return Err(Error::Coordinate { axis, position, found, size: row.len() });
            }
            offset = row.start + found;
        }
        Ok(offset)
    }

    /// Returns the coordinates of entry `offset` of axis `axis`: `axis + 1` numbers. This reverses
    /// [`offset`](Self::offset), which has examples.
    ///
    /// O(axes), and O(elements) the first time for the row ids.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Index`].
    pub fn coordinates(&self, axis: usize, offset: usize) -> Result<Vec<usize>, Error> {
        Self::check_axis(axis, 0..=self.num_axes() - 1)?;
        let mut coordinates = vec![0; axis + 1];
        self.fill_coordinates(offset, 0, &mut coordinates)?;
        Ok(coordinates)
    }

    /// Returns the coordinates of many entries of axis `N - 1`. O(N x offsets), and O(elements) the
    /// first time for the row ids.
    ///
    /// ```
    /// use ragged_core::{RaggedShape, RowSplits};
    ///
    /// let shape = RaggedShape::new([RowSplits::new(vec![0, 2, 2, 3])?])?;
    /// assert_eq!(shape.coordinates_of::<2>(&[2, 0])?, [[2, 0], [0, 0]]);
    /// assert_eq!(shape.offsets(&[[2, 0], [0, 0]])?, [2, 0]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`coordinates`](Self::coordinates), with the position of the first bad entry.
    pub fn coordinates_of<const N: usize>(&self, offsets: &[usize]) -> Result<Vec<[usize; N]>, Error> {
        let Some(axis) = N.checked_sub(1) else {
            return Err(Error::Size { what: "the number of coordinates, at least,", expected: 1, found: 0 });
        };
        Self::check_axis(axis, 0..=self.num_axes() - 1)?;
        let mut all = memory::with_capacity(offsets.len());
        for (position, &offset) in offsets.iter().enumerate() {
            let mut coordinates = [0; N];
            self.fill_coordinates(offset, position, &mut coordinates)?;
            all.push(coordinates);
        }
        Ok(all)
    }

    fn fill_coordinates(&self, mut offset: usize, position: usize, to: &mut [usize]) -> Result<(), Error> {
        let axis = to.len() - 1;
        let size = self.tot_size(axis);
        if offset >= size {
            return Err(Error::Index { axis, position, found: i64::try_from(offset).unwrap_or(i64::MAX), size });
        }
        for (layer, coordinate) in self.layers()[..axis].iter().zip(&mut to[1..]).rev() {
            let row = layer.row_ids()[offset] as usize;
            *coordinate = offset - layer.splits.row(row).start;
            offset = row;
        }
        to[0] = offset;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_splits::RowSplits;

    #[test]
    fn coordinates_and_offsets_outside_are_refused() {
        let shape = RaggedShape::new([RowSplits::new(vec![0, 2, 2, 3]).unwrap()]).unwrap();
        assert_eq!(shape.offset(&[1, 0]), Err(Error::Coordinate { axis: 1, position: 0, found: 0, size: 0 }));
        assert_eq!(
            shape.offsets(&[[0, 1], [3, 0]]),
            Err(Error::Coordinate { axis: 0, position: 1, found: 3, size: 3 })
        );
        assert!(shape.offset(&[]).is_err() && shape.offset(&[0, 0, 0]).is_err());
        assert_eq!(shape.coordinates_of::<2>(&[0, 3]), Err(Error::Index { axis: 1, position: 1, found: 3, size: 3 }));
        assert!(shape.coordinates(2, 0).is_err() && shape.coordinates_of::<0>(&[0]).is_err());
        assert!(shape.coordinates(1, usize::MAX).is_err());
        assert_eq!(shape.coordinates(0, 2), Ok(vec![2]));
    }

    #[test]
    fn every_element_of_a_random_shape_comes_back() {
        for seed in 0..50 {
            let shape = RaggedShape::random(seed, 2..=5, 0..=60).unwrap();
            for axis in 0..shape.num_axes() {
                for offset in 0..shape.tot_size(axis) {
                    assert_eq!(shape.offset(&shape.coordinates(axis, offset).unwrap()), Ok(offset));
                }
            }
        }
    }
}
