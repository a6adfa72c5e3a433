//! Values in the rows of a shape.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Index, IndexMut};

use kaldera_base::buffer::Buffer;
use kaldera_base::memory;

use crate::error::Error;
use crate::row_splits::{RowSplits, Rows};
use crate::shape::RaggedShape;

/// Lists of lists, of any depth, of values: a shape, and the values of all its innermost rows one
/// after another.
///
/// ```text
///   [[a b] [] [c d e]]      shape    row_splits(1) = [0, 2, 2, 5]
///                           values   [a, b, c, d, e]
/// ```
///
/// A clone shares both. [`values_mut`](Self::values_mut) copies the values first if they are
/// shared.
///
/// ```
/// use ragged_core::Ragged;
///
/// let scores = Ragged::from(vec![vec![1.0, 2.0], vec![], vec![5.0]]);
/// assert_eq!(scores.sum(), [3.0, 0.0, 5.0]);
/// assert_eq!(scores.lengths(), [2, 0, 1]);
/// assert_eq!(scores[2], [5.0]);
/// for row in &scores {
///     println!("{row:?}");
/// }
/// ```
///
/// Rows are the innermost rows, whatever the number of axes: [`rows`](Self::rows),
/// [`row`](Self::row), `ragged[i]`, iteration and [`lengths`](Self::lengths) all count them.
/// [`index0`](Self::index0) returns a row of an upper axis, or [`RaggedShape::view`] without a copy
/// of the shape.
#[doc(alias = "RaggedTensor")]
#[doc(alias = "RaggedAny")]
pub struct Ragged<T> {
    shape: RaggedShape,
    values: Buffer<T>,
}

impl<T> Ragged<T> {
    /// Puts `values` in the rows of `shape`.
    ///
    /// # Errors
    /// If there is not one value for each element of the shape.
    pub fn new(shape: RaggedShape, values: impl Into<Buffer<T>>) -> Result<Self, Error> {
        let values = values.into();
        check_size("the number of values", shape.num_elements(), values.len())?;
        Ok(Self { shape, values })
    }

    /// Creates a tensor from as many values as the shape has elements, unchecked.
    pub(crate) fn trusted(shape: RaggedShape, values: impl Into<Buffer<T>>) -> Self {
        let values = values.into();
        debug_assert_eq!(shape.num_elements(), values.len(), "values that do not fit their shape");
        Self { shape, values }
    }

    /// Makes a tensor of two axes from rows, which are copied. [`From`] takes them too, and panics
    /// where this returns an error.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more than `i32::MAX` rows or values.
    pub fn from_lists(lists: &[impl AsRef<[T]>]) -> Result<Self, Error>
    where
        T: Clone,
    {
        let splits = RowSplits::from_lengths(lists.iter().map(|list| list.as_ref().len()))?;
        let mut values = memory::with_capacity(splits.num_elements());
        lists.iter().for_each(|list| values.extend_from_slice(list.as_ref()));
        Self::new(RaggedShape::new([splits])?, values)
    }

    /// Makes a tensor of two axes from the length of each row and the values of all rows, one row
    /// after another.
    ///
    /// ```
    /// use ragged_core::Ragged;
    ///
    /// let ragged = Ragged::from_lengths([2, 0, 1], vec!['a', 'b', 'c'])?;
    /// assert_eq!(ragged.row(0), ['a', 'b']);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Size`] if the lengths do not add up to the number of values; [`Error::TooLarge`].
    #[doc(alias = "from_row_lengths")]
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>, values: impl Into<Buffer<T>>) -> Result<Self, Error> {
        Self::new(RowSplits::from_lengths(lengths)?.into(), values)
    }

    /// Returns the shape.
    #[inline]
    pub fn shape(&self) -> &RaggedShape {
        &self.shape
    }

    /// Returns the number of axes: 2 for a list of lists.
    #[inline]
    #[doc(alias = "NumAxes")]
    pub fn num_axes(&self) -> usize {
        self.shape.num_axes()
    }

    /// Returns the number of rows on the first axis.
    #[inline]
    #[doc(alias = "Dim0")]
    pub fn dim0(&self) -> usize {
        self.shape.dim0()
    }

    /// Returns the number of values.
    #[inline]
    #[doc(alias = "numel")]
    #[doc(alias = "NumElements")]
    pub fn num_elements(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of innermost rows, which a reduction turns into one value each.
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.shape.last_splits().num_rows()
    }

    /// Returns all values, row after row.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns all values for writing; they are copied first if another tensor shares them.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [T]
    where
        T: Clone,
    {
        self.values.make_mut()
    }

    /// Returns the values as a shared buffer.
    #[inline]
    pub fn buffer(&self) -> &Buffer<T> {
        &self.values
    }

    /// Returns the values of innermost row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        &self.values[self.shape.last_splits().row(i)]
    }

    /// Returns the values of innermost row `i`, if there is such a row.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&[T]> {
        (i < self.num_rows()).then(|| self.row(i))
    }

    /// Returns an iterator over the innermost rows, without allocation.
    #[inline]
    pub fn rows(&self) -> RowSlices<'_, T> {
        RowSlices { values: self.values(), rows: self.shape.last_splits().rows() }
    }

    /// Returns the length of each innermost row. O(rows).
    #[doc(alias = "row_lengths")]
    #[doc(alias = "num")]
    pub fn lengths(&self) -> Vec<usize> {
        self.shape.last_splits().lengths().collect()
    }

    /// Returns the shape and the values.
    #[inline]
    pub fn into_parts(self) -> (RaggedShape, Buffer<T>) {
        (self.shape, self.values)
    }

    /// Returns the same rows with `f` of each value.
    pub fn map<U>(&self, f: impl FnMut(&T) -> U) -> Ragged<U> {
        Ragged::trusted(self.shape.clone(), memory::collect(self.values.iter().map(f)))
    }

    /// Returns the same rows with other values.
    ///
    /// # Errors
    /// If there is not one value for each element.
    pub fn with_values<U>(&self, values: impl Into<Buffer<U>>) -> Result<Ragged<U>, Error> {
        Ragged::new(self.shape.clone(), values)
    }

    /// Returns `true` if both share the memory of shape and values.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.shape.ptr_eq(&other.shape) && self.values.ptr_eq(&other.values)
    }
}

/// Checks that a slice from the caller has the required length.
pub(crate) fn check_size(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Size { what, expected, found }) }
}

impl<T> Clone for Ragged<T> {
    fn clone(&self) -> Self {
        Self { shape: self.shape.clone(), values: self.values.clone() }
    }
}

impl<T: PartialEq> PartialEq for Ragged<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.values == other.values
    }
}

impl<T: Eq> Eq for Ragged<T> {}

/// Prints an abridged form: the middle of long splits and values is left out. `Display` prints all,
/// in k2's notation.
impl<T: fmt::Debug> fmt::Debug for Ragged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ragged").field("shape", &self.shape).field("values", &self.values).finish()
    }
}

/// A tensor of two axes without rows.
impl<T> Default for Ragged<T> {
    fn default() -> Self {
        Self { shape: RaggedShape::default(), values: Buffer::default() }
    }
}

/// `ragged[i]` is [`row`](Ragged::row)`(i)`: the values of innermost row `i`.
impl<T> Index<usize> for Ragged<T> {
    type Output = [T];

    #[inline]
    fn index(&self, i: usize) -> &[T] {
        self.row(i)
    }
}

/// Returns the values of innermost row `i` for writing; all values are copied first if another
/// tensor shares them.
impl<T: Clone> IndexMut<usize> for Ragged<T> {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut [T] {
        let row = self.shape.last_splits().row(i);
        &mut self.values.make_mut()[row]
    }
}

impl<'a, T> IntoIterator for &'a Ragged<T> {
    type Item = &'a [T];
    type IntoIter = RowSlices<'a, T>;

    #[inline]
    fn into_iter(self) -> RowSlices<'a, T> {
        self.rows()
    }
}

/// The innermost rows of a [`Ragged`], as slices of its values.
#[derive(Debug)]
pub struct RowSlices<'a, T> {
    values: &'a [T],
    /// The remaining rows.
    rows: Rows<'a>,
}

impl<T> Clone for RowSlices<'_, T> {
    fn clone(&self) -> Self {
        Self { values: self.values, rows: self.rows.clone() }
    }
}

impl<'a, T> Iterator for RowSlices<'a, T> {
    type Item = &'a [T];

    #[inline]
    fn next(&mut self) -> Option<&'a [T]> {
        self.rows.next().map(|row| &self.values[row])
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<&'a [T]> {
        self.rows.nth(n).map(|row| &self.values[row])
    }
}

impl<T> DoubleEndedIterator for RowSlices<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.rows.next_back().map(|row| &self.values[row])
    }
}

impl<T> ExactSizeIterator for RowSlices<'_, T> {}
impl<T> FusedIterator for RowSlices<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_must_fit_the_shape() {
        let shape = Ragged::from_lists(&[vec![1, 2], vec![3]]).unwrap().shape().clone();
        let wrong = Error::Size { what: "the number of values", expected: 3, found: 2 };
        assert_eq!(Ragged::new(shape, vec![1, 2]), Err(wrong));
    }

    #[test]
    fn a_clone_is_shared_until_it_is_written() {
        let a = Ragged::from_lists(&[vec![1, 2], vec![3]]).unwrap();
        let mut b = a.clone();
        assert!(a.ptr_eq(&b));
        b.values_mut()[1] = 9;
        assert_eq!((a.values(), b.values()), (&[1, 2, 3][..], &[1, 9, 3][..]));
        assert!(a.shape().ptr_eq(b.shape()) && a != b);
    }

    #[test]
    fn rows_are_slices() {
        let a = Ragged::from_lists(&[vec![1, 2], vec![], vec![3]]).unwrap();
        assert_eq!(a.rows().collect::<Vec<_>>(), [&[1, 2][..], &[], &[3]]);
        assert_eq!(a.row(2), [3]);
        assert_eq!(a.map(|x| x * 2).into_parts().1.into_vec(), [2, 4, 6]);
    }
}
