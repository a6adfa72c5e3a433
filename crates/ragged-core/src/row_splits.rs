//! One layer of a ragged shape: the start and the end of each row.

use std::iter::FusedIterator;
use std::ops::Range;

use kaldera_base::buffer::Buffer;
use kaldera_base::memory;

use crate::error::Error;

/// The ends of consecutive rows. They start with 0 and never fall.
///
/// ```text
///   rows      [ a b ]  [ ]  [ c d e ]
///   elements    0 1           2 3 4
///   splits    0       2    2         5      row i is splits[i] .. splits[i + 1]
/// ```
///
/// Every value is valid, so that the code below needs no checks. A clone only counts a reference.
///
/// ```
/// use ragged_core::RowSplits;
///
/// let splits = RowSplits::new(vec![0, 2, 2, 5])?;
/// assert_eq!((splits.num_rows(), splits.num_elements()), (3, 5));
/// assert_eq!(splits.row(2), 2..5);
/// assert_eq!(splits, RowSplits::from_lengths([2, 0, 3])?);
/// assert_eq!(splits, RowSplits::from_row_ids(&[0, 0, 2, 2, 2], 3)?);
/// assert!(RowSplits::new(vec![0, 2, 1]).is_err());
/// # Ok::<(), ragged_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[doc(alias = "row_splits")]
pub struct RowSplits(Buffer<i32>);

impl RowSplits {
    /// Checks the numbers and takes them. O(rows).
    ///
    /// # Errors
    /// [`Error::SplitsStart`], [`Error::SplitsFall`]; [`Error::TooLarge`] for more than `i32::MAX`
    /// rows.
    pub fn new(splits: impl Into<Buffer<i32>>) -> Result<Self, Error> {
        let splits = splits.into();
        match splits.first() {
            Some(0) => Error::fit("the number of rows", splits.len() - 1)?,
            found => return Err(Error::SplitsStart { found: found.copied() }),
        };
        match first_fall(&splits) {
            None => Ok(Self(splits)),
            Some(position) => {
                Err(Error::SplitsFall { position, before: splits[position - 1], found: splits[position] })
            }
        }
    }

    /// Wraps splits that this crate made, unchecked.
    pub(crate) fn trusted(splits: impl Into<Buffer<i32>>) -> Self {
        let splits = splits.into();
        debug_assert!(splits.first() == Some(&0) && first_fall(&splits).is_none(), "invalid row splits: {splits:?}");
        Self(splits)
    }

    /// Creates the splits of rows that have these lengths. O(rows).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the lengths add up to more than `i32::MAX`.
    #[doc(alias = "SizesToRowSplits")]
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<Self, Error> {
        let lengths = lengths.into_iter();
        let mut splits = memory::with_capacity(lengths.size_hint().0.saturating_add(1));
        splits.push(0);
        let mut end = 0_usize;
        for len in lengths {
            end = end.saturating_add(len);
            splits.push(Error::fit("the number of elements", end)?);
        }
        Error::fit("the number of rows", splits.len() - 1)?;
        Ok(Self::trusted(splits))
    }

    /// Creates the splits of `num_rows` rows; `row_ids` names the row of each element. O(rows +
    /// elements).
    ///
    /// # Errors
    /// [`Error::RowIdsFall`] if the ids fall, [`Error::Index`] if one of them is not below
    /// `num_rows`, [`Error::TooLarge`].
    #[doc(alias = "RowIdsToRowSplits")]
    pub fn from_row_ids(row_ids: &[i32], num_rows: usize) -> Result<Self, Error> {
        crate::ids::to_splits(row_ids, num_rows).map(Self::trusted)
    }

    /// Creates the splits of `num_rows` rows of `len` elements each. O(rows).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the product is above `i32::MAX`; [`Error::Memory`].
    pub fn regular(num_rows: usize, len: usize) -> Result<Self, Error> {
        let rows = Error::fit("the number of rows", num_rows)?;
        let total = u64::try_from(num_rows as u128 * len as u128).unwrap_or(u64::MAX);
        i32::try_from(total).map_err(|_| Error::TooLarge { what: "the number of elements", size: total })?;
        // With no row, or with a length that fits, the product fits.
        let len = if num_rows == 0 { 0 } else { Error::fit("the number of elements", len)? };
        let mut splits = Vec::new();
        let bytes = (u64::from(rows.cast_unsigned()) + 1) * size_of::<i32>() as u64;
        splits.try_reserve_exact(num_rows.saturating_add(1)).map_err(|_| Error::Memory { bytes })?;
        splits.extend((0..=rows).map(|row| row * len));
        Ok(Self::trusted(splits))
    }

    /// Returns the number of rows.
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the number of elements of all rows together.
    #[inline]
    pub fn num_elements(&self) -> usize {
        self.0[self.0.len() - 1] as usize
    }

    /// Returns the elements of row `i`.
    ///
    /// # Panics
    /// If there is no row `i`, as indexing a slice does.
    #[inline]
    pub fn row(&self, i: usize) -> Range<usize> {
        self.0[i] as usize..self.0[i + 1] as usize
    }

    /// Returns the number of elements of row `i`.
    ///
    /// # Panics
    /// If there is no row `i`, as indexing a slice does.
    #[inline]
    pub fn len_of(&self, i: usize) -> usize {
        self.row(i).len()
    }

    /// Returns an iterator over the numbers of elements of the rows. Allocates nothing.
    #[inline]
    #[doc(alias = "row_lengths")]
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone + '_ {
        self.rows().map(|row| row.len())
    }

    /// Returns an iterator over the elements of each row. Allocates nothing.
    #[inline]
    pub fn rows(&self) -> Rows<'_> {
        Rows { splits: &self.0 }
    }

    /// Returns the row of each element. O(rows + elements);
    /// [`RaggedShape::row_ids`](crate::RaggedShape::row_ids) keeps them.
    #[doc(alias = "RowSplitsToRowIds")]
    pub fn to_row_ids(&self) -> Vec<i32> {
        crate::ids::from_splits(&self.0)
    }

    /// Writes the row of each element into the caller's memory, which avoids fresh pages. O(rows +
    /// elements).
    ///
    /// # Errors
    /// [`Error::Size`] if `ids` does not have one entry for each element.
    pub fn row_ids_into(&self, ids: &mut [i32]) -> Result<(), Error> {
        let (expected, found) = (self.num_elements(), ids.len());
        if expected != found {
            return Err(Error::Size { what: "the length of the output for row ids", expected, found });
        }
        crate::ids::write_from_splits(&self.0, ids);
        Ok(())
    }

    /// Returns the length of the longest row; 0 without rows. O(rows).
    #[doc(alias = "MaxSize")]
    pub fn max_len(&self) -> usize {
        let longest = self.0.iter().zip(&self.0[1..]).fold(0, |longest, (begin, end)| longest.max(end - begin));
        longest as usize
    }

    /// Returns the splits as a shared buffer.
    #[inline]
    pub fn buffer(&self) -> &Buffer<i32> {
        &self.0
    }

    /// Returns the elements of consecutive rows.
    pub(crate) fn elements(&self, rows: Range<usize>) -> Range<usize> {
        self.0[rows.start] as usize..self.0[rows.end] as usize
    }

    /// Returns only the rows in `rows`, counted from 0; no copy if `rows` starts at element 0.
    pub(crate) fn slice(&self, rows: Range<usize>) -> Self {
        let part = self.0.slice(rows.start..rows.end + 1);
        match part[0] {
            0 => Self::trusted(part),
            first => Self::trusted(part.iter().map(|x| x - first).collect::<Vec<_>>()),
        }
    }
}

/// Splits without rows.
impl Default for RowSplits {
    fn default() -> Self {
        Self::trusted(vec![0])
    }
}

impl TryFrom<Vec<i32>> for RowSplits {
    type Error = Error;

    fn try_from(splits: Vec<i32>) -> Result<Self, Error> {
        Self::new(splits)
    }
}

impl AsRef<[i32]> for RowSplits {
    #[inline]
    fn as_ref(&self) -> &[i32] {
        &self.0
    }
}

/// Returns the first position with a lower number than the one before.
fn first_fall(numbers: &[i32]) -> Option<usize> {
    const BLOCK: usize = 1024;
    let (Some(after), n) = (numbers.get(1..), numbers.len()) else { return None };
    // Checks a block at a time without leaving early, which lets the compiler use vectors.
    let falls = |range: Range<usize>| {
        numbers[range.clone()].iter().zip(&after[range]).fold(false, |falls, (a, b)| falls | (a > b))
    };
    let block = (0..n - 1).step_by(BLOCK).find(|&start| falls(start..(start + BLOCK).min(n - 1)))?;
    (block..n - 1).find(|&i| numbers[i] > after[i]).map(|i| i + 1)
}

/// The rows of [`RowSplits`], as ranges of elements.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// The splits of the remaining rows: one more than there are rows.
    splits: &'a [i32],
}

impl Iterator for Rows<'_> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let &[begin, end, ..] = self.splits else { return None };
        self.splits = &self.splits[1..];
        Some(begin as usize..end as usize)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<Range<usize>> {
        self.splits = &self.splits[n.min(self.len())..];
        self.next()
    }
}

impl DoubleEndedIterator for Rows<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Range<usize>> {
        let &[.., begin, end] = self.splits else { return None };
        self.splits = &self.splits[..self.splits.len() - 1];
        Some(begin as usize..end as usize)
    }
}

impl ExactSizeIterator for Rows<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.splits.len() - 1
    }
}

impl FusedIterator for Rows<'_> {}

impl<'a> IntoIterator for &'a RowSplits {
    type Item = Range<usize>;
    type IntoIter = Rows<'a>;

    fn into_iter(self) -> Rows<'a> {
        self.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_splits_are_refused_with_their_numbers() {
        assert_eq!(RowSplits::new(vec![]), Err(Error::SplitsStart { found: None }));
        assert_eq!(RowSplits::new(vec![1, 2]), Err(Error::SplitsStart { found: Some(1) }));
        assert_eq!(RowSplits::new(vec![0, 3, 2]), Err(Error::SplitsFall { position: 2, before: 3, found: 2 }));
        assert_eq!(RowSplits::new(vec![0, -1]), Err(Error::SplitsFall { position: 1, before: 0, found: -1 }));
        let mut long: Vec<i32> = (0..5000).collect();
        long[4321] = 7;
        assert_eq!(RowSplits::new(long), Err(Error::SplitsFall { position: 4321, before: 4320, found: 7 }));
    }

    #[test]
    fn sizes_beyond_32_bits_are_refused() {
        let too_many = Error::TooLarge { what: "the number of elements", size: 1 << 31 };
        assert_eq!(RowSplits::from_lengths([1 << 30, 1 << 30]), Err(too_many.clone()));
        assert_eq!(RowSplits::regular(1 << 11, 1 << 20), Err(too_many));
        assert!(RowSplits::regular(usize::MAX, usize::MAX).is_err());
        assert!(RowSplits::from_lengths([usize::MAX, usize::MAX]).is_err());
        assert_eq!(RowSplits::regular(0, usize::MAX).map(|s| s.num_elements()), Ok(0));
    }

    #[test]
    fn rows_come_from_both_ends() {
        let splits = RowSplits::from_lengths([2, 0, 3]).unwrap();
        assert_eq!(splits.rows().collect::<Vec<_>>(), [0..2, 2..2, 2..5]);
        assert_eq!(splits.rows().rev().collect::<Vec<_>>(), [2..5, 2..2, 0..2]);
        assert_eq!(splits.rows().nth(2), Some(2..5));
        assert_eq!(splits.rows().nth(7), None);
        assert_eq!(splits.rows().len(), 3);
        assert_eq!(splits.max_len(), 3);
    }

    #[test]
    fn row_ids_go_where_there_is_room_for_them() {
        let splits = RowSplits::from_lengths([2, 0, 1]).unwrap();
        let mut ids = [7; 3];
        splits.row_ids_into(&mut ids).unwrap();
        assert_eq!(ids, [0, 0, 2]);
        assert!(splits.row_ids_into(&mut [0; 4]).is_err());
    }

    #[test]
    fn no_rows_are_valid() {
        let none = RowSplits::new(vec![0]).unwrap();
        assert_eq!((none.num_rows(), none.num_elements(), none.max_len()), (0, 0, 0));
        assert_eq!(none.rows().next(), None);
        assert_eq!(none.rows().nth(3), None);
    }
}
