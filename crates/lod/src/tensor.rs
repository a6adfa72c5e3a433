//! A tensor whose rows a LoD divides.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Deref, Range};

use kaldera_base::buffer::Buffer;
use ragged_core::{Ragged, RowSplits, Rows};
use tensor_strided::{Element, Tensor, TensorViewMut};

use crate::error::Error;
use crate::lod::Lod;

/// A row-major tensor and the [`Lod`] of its rows: a mini-batch of sequences, one after another,
/// without padding.
///
/// ```text
///   rows   a0 a1 a2 a3 | b0 b1 | c0 c1 c2       shape [9, ..]
///   lod    0             4       6        9     one level
/// ```
///
/// A clone copies neither values nor offsets; writing to shared values copies them first. It
/// derefs to its [`Tensor`], so all operations of a plain tensor are available. The methods here
/// keep the LoD where that makes sense.
///
/// ```
/// use lod::{Lod, LodTensor};
///
/// let x = LodTensor::from_vec(
///     [5, 2],
///     (0..10).collect::<Vec<_>>(),
///     Lod::from_lengths(&[vec![2, 0, 3]])?
/// )?;
/// assert_eq!((x.num_rows(), x.width()), (5, 2));
/// assert_eq!(x.sequence(2), [4, 5, 6, 7, 8, 9]);
/// # Ok::<(), lod::Error>(())
/// ```
pub struct LodTensor<T> {
    /// In C order without gaps; at least one axis, the first is the rows.
    tensor: Tensor<T>,
    /// Divides just these rows, or has no levels.
    lod: Lod,
}

impl<T> Clone for LodTensor<T> {
    fn clone(&self) -> Self {
        Self { tensor: self.tensor.clone(), lod: self.lod.clone() }
    }
}

impl<T> Deref for LodTensor<T> {
    type Target = Tensor<T>;

    #[inline]
    fn deref(&self) -> &Tensor<T> {
        &self.tensor
    }
}

impl<T: Element> LodTensor<T> {
    /// Makes a tensor whose rows are divided by `lod`. Nothing is copied if the elements are in C
    /// order.
    ///
    /// # Errors
    /// [`Error::Scalar`]; [`Error::Rows`] if the LoD is for another number of rows.
    pub fn new(tensor: Tensor<T>, lod: Lod) -> Result<Self, Error> {
        let found = *tensor.shape().first().ok_or(Error::Scalar)?;
        if let Some(expected) = lod.num_rows().filter(|&expected| expected != found) {
            return Err(Error::Rows { expected, found });
        }
        let tensor = if tensor.layout().is_contiguous() { tensor } else { tensor.view().to_contiguous() };
        Ok(Self { tensor, lod })
    }

    /// Values in C order, rows one after another.
    ///
    /// # Errors
    /// [`Error::Scalar`]; [`Error::Tensor`] if there is not one value for each element;
    /// [`Error::Rows`] if the LoD is for another number of rows.
    pub fn from_vec(shape: impl AsRef<[usize]>, values: impl Into<Buffer<T>>, lod: Lod) -> Result<Self, Error> {
        Self::new(Tensor::from_vec(shape, values)?, lod)
    }

    /// One sequence after the other, of single values: shape `[N]`, one level.
    ///
    /// ```
    /// let x = lod::LodTensor::from_sequences(&[vec![1, 2], vec![], vec![3]])?;
    /// assert_eq!((x.values(), x.lod().offsets(0)), (&[1, 2, 3][..], &[0, 2, 2, 3][..]));
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Number`] if there are more values than fit in 32 bits.
    pub fn from_sequences(sequences: &[impl AsRef<[T]>]) -> Result<Self, Error> {
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.as_ref().len()).collect();
        let lod = Lod::from_lengths(&[lengths])?;
        let values: Vec<T> = sequences.iter().flat_map(|sequence| sequence.as_ref()).copied().collect();
        Self::from_vec([values.len()], values, lod)
    }

    /// One sequence after the other, from the number of rows of each and the values of all rows:
    /// shape `[rows, width]`, one level.
    ///
    /// ```
    /// use lod::LodTensor;
    ///
    /// // Two utterances, of 2 frames and of 1, with 3 features each.
    /// let x =
    ///     LodTensor::from_lengths(&[2, 1], 3, vec![0.0, 0.1, 0.2, 1.0, 1.1, 1.2, 2.0, 2.1, 2.2])?;
    /// assert_eq!((x.num_rows(), x.width(), x.sequence(1)), (3, 3, &[2.0, 2.1, 2.2][..]));
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Number`] if the lengths add up to more than fits in 32 bits; [`Error::Tensor`] if
    /// there are not `width` values for each row.
    pub fn from_lengths(lengths: &[usize], width: usize, values: impl Into<Buffer<T>>) -> Result<Self, Error> {
        let lod = Lod::from_lengths(&[lengths])?;
        Self::from_vec([lod.num_rows().unwrap_or(0), width], values, lod)
    }

    /// The number of rows: the length of axis 0.
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.shape()[0]
    }

    /// The values of each row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> + DoubleEndedIterator + Clone {
        (0..self.num_rows()).map(|i| self.row(i))
    }

    /// The values of each row, to be written; copied first if others share them.
    pub fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [T]> {
        let (rows, width) = (self.num_rows(), self.width());
        let mut rest = self.values_mut();
        (0..rows).map(move |_| {
            let row;
            (row, rest) = std::mem::take(&mut rest).split_at_mut(width);
            row
        })
    }

    /// The number of values in a row: the product of the axes after the first, 1 if there are
    /// none.
    #[inline]
    pub fn width(&self) -> usize {
        self.shape()[1..].iter().product()
    }

    /// The LoD, which divides the rows.
    #[inline]
    pub fn lod(&self) -> &Lod {
        &self.lod
    }

    /// All values in C order.
    #[inline]
    pub fn values(&self) -> &[T] {
        self.tensor.as_slice().unwrap_or_else(|| unreachable!("elements in C order without gaps"))
    }

    /// All values in C order, to be written; copied first if others share them.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [T] {
        self.tensor.view_mut().into_slice().unwrap_or_else(|| unreachable!("elements in C order without gaps"))
    }

    /// The values as memory that can be shared.
    pub fn buffer(&self) -> Buffer<T> {
        let (buffer, layout) = self.tensor.clone().into_parts();
        let begin = if layout.is_empty() { 0 } else { layout.offset() };
        buffer.slice(begin..begin + layout.len())
    }

    /// The values as a tensor to be written; copied first if others share them.
    #[inline]
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T> {
        self.tensor.view_mut()
    }

    /// The tensor without its LoD.
    #[inline]
    pub fn tensor(&self) -> &Tensor<T> {
        &self.tensor
    }

    /// The values of row `i`.
    ///
    /// # Panics
    /// If there is no such row, as indexing a slice does.
    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        self.values_of(i..i + 1)
    }

    /// The values of these rows.
    ///
    /// # Panics
    /// If there are no such rows, as slicing a slice does.
    #[inline]
    pub fn values_of(&self, rows: Range<usize>) -> &[T] {
        let width = self.width();
        &self.values()[rows.start * width..rows.end * width]
    }

    /// The values of sequence `i` of the last level.
    ///
    /// # Panics
    /// If there are no levels or there is no such sequence, as indexing a slice does.
    #[inline]
    pub fn sequence(&self, i: usize) -> &[T] {
        match self.lod.last() {
            Some(last) => self.values_of(last.row(i)),
            None => panic!("sequence {i} of a tensor without LoD"),
        }
    }

    /// The number of sequences of the last level; 0 without LoD.
    #[inline]
    pub fn num_sequences(&self) -> usize {
        self.lod.last().map_or(0, RowSplits::num_rows)
    }

    /// The number of rows of each sequence of the last level; empty without LoD. O(sequences).
    #[doc(alias = "recursive_sequence_lengths")]
    pub fn lengths(&self) -> Vec<usize> {
        self.lod.last().map_or_else(Vec::new, |last| last.lengths().collect())
    }

    /// The values of each sequence of the last level, in turn; none without LoD. Allocates nothing.
    ///
    /// ```
    /// use lod::LodTensor;
    ///
    /// let x = LodTensor::from(vec![vec![1.0, 2.0], vec![], vec![5.0]]);
    /// let sums: Vec<f64> = x.sequences().map(|sequence| sequence.iter().sum()).collect();
    /// assert_eq!((x.lengths(), sums), (vec![2, 0, 1], vec![3.0, 0.0, 5.0]));
    /// ```
    pub fn sequences(&self) -> Sequences<'_, T> {
        let rows = self.lod.last().map(RowSplits::rows);
        Sequences { values: self.values(), width: self.width(), rows }
    }

    /// The sequences as rows of a ragged tensor, if there is one value to a row. Neither values nor
    /// offsets are copied.
    ///
    /// ```
    /// use lod::LodTensor;
    /// use ragged_core::Ragged;
    ///
    /// let x = LodTensor::from_sequences(&[vec![3, 1], vec![], vec![2]])?;
    /// let ragged: Ragged<i32> = x.to_ragged()?;
    /// assert_eq!(ragged.sum(), [4, 0, 2]);
    /// assert_eq!(LodTensor::from(ragged), x);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoLevel`] without LoD; [`Error::Size`] if a row does not have exactly one value.
    pub fn to_ragged(&self) -> Result<Ragged<T>, Error> {
        let shape = self.lod.shape().ok_or(Error::NoLevel { level: 0, levels: 0 })?;
        Error::check_size("the width of a row", 1, self.width())?;
        Ok(Ragged::new(shape.clone(), self.buffer())?)
    }

    /// The tensor and the LoD.
    pub fn into_parts(self) -> (Tensor<T>, Lod) {
        (self.tensor, self.lod)
    }

    /// The result of an operator on the values, with this LoD. The type of the values may change.
    ///
    /// ```
    /// let x = lod::LodTensor::from_sequences(&[vec![1, 2], vec![3]])?;
    /// let halves = x.clone().apply(|x| Ok(x.map(|&x| f64::from(x) / 2.0)))?;
    /// assert_eq!(halves.sequence(0), [0.5, 1.0]);
    /// assert!(halves.lod().ptr_eq(x.lod()));
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of the operator; [`Error::Rows`] if it changes the number of rows of a tensor
    /// with LoD.
    pub fn apply<U: Element>(
        self,
        operator: impl FnOnce(Tensor<T>) -> Result<Tensor<U>, Error>,
    ) -> Result<LodTensor<U>, Error> {
        let (tensor, lod) = self.into_parts();
        LodTensor::new(operator(tensor)?, lod)
    }

    /// The same values with another LoD. Nothing is copied.
    ///
    /// # Errors
    /// [`Error::Rows`] if the LoD is for another number of rows.
    pub fn with_lod(&self, lod: Lod) -> Result<Self, Error> {
        Self::new(self.tensor.clone(), lod)
    }

    /// A result of the same rows, or of others: `rows` rows of the same shape of a row, and a LoD
    /// for these.
    ///
    /// # Errors
    /// As [`from_vec`](Self::from_vec).
    pub fn like<U: Element>(&self, rows: usize, values: impl Into<Buffer<U>>, lod: Lod) -> Result<LodTensor<U>, Error> {
        let mut shape = self.shape().clone();
        shape[0] = rows;
        LodTensor::from_vec(shape, values, lod)
    }
}

impl<T: Element> From<Ragged<T>> for LodTensor<T> {
    /// The rows as sequences of single values: shape `[N]`, a level for each axis after the first.
    /// Nothing is copied.
    fn from(ragged: Ragged<T>) -> Self {
        let (shape, values) = ragged.into_parts();
        let tensor = Self::from_vec([values.len()], values, shape.into());
        tensor.unwrap_or_else(|error| unreachable!("a value for each element of the shape: {error}"))
    }
}

/// As [`LodTensor::to_ragged`]. Nothing is copied.
impl<T: Element> TryFrom<LodTensor<T>> for Ragged<T> {
    type Error = Error;

    fn try_from(tensor: LodTensor<T>) -> Result<Self, Error> {
        tensor.to_ragged()
    }
}

/// Rows without sequences. Nothing is copied if the elements are contiguous in C order.
///
/// # Errors
/// [`Error::Scalar`].
impl<T: Element> TryFrom<Tensor<T>> for LodTensor<T> {
    type Error = Error;

    fn try_from(tensor: Tensor<T>) -> Result<Self, Error> {
        Self::new(tensor, Lod::none())
    }
}

/// Drops the LoD. Nothing is copied.
impl<T> From<LodTensor<T>> for Tensor<T> {
    fn from(tensor: LodTensor<T>) -> Self {
        tensor.tensor
    }
}

/// One sequence after the other, of single values: shape `[N]`, one level.
///
/// # Panics
/// If there are more than `i32::MAX` sequences or values; [`LodTensor::from_sequences`] returns an
/// error then.
impl<T: Element> From<Vec<Vec<T>>> for LodTensor<T> {
    fn from(sequences: Vec<Vec<T>>) -> Self {
        Ragged::from(sequences).into()
    }
}

/// Sequences of single values: shape `[N]`, one level.
///
/// # Panics
/// If there are more than `i32::MAX` sequences or values; [`LodTensor::from_sequences`] returns an
/// error then.
impl<T: Element, S: IntoIterator<Item = T>> FromIterator<S> for LodTensor<T> {
    fn from_iter<I: IntoIterator<Item = S>>(sequences: I) -> Self {
        sequences.into_iter().collect::<Ragged<T>>().into()
    }
}

/// Sequences of rows, `x[sequence][row][column]`: shape `[rows, width]`, one level. Without rows,
/// the width is 0.
///
/// ```
/// use lod::LodTensor;
///
/// let utterances = vec![vec![vec![1.0, 2.0], vec![3.0, 4.0]], vec![], vec![vec![5.0, 6.0]]];
/// let x = LodTensor::try_from(utterances)?;
/// assert_eq!((x.lengths(), x.width(), x.row(2)), (vec![2, 0, 1], 2, &[5.0, 6.0][..]));
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::RowWidth`] if a row has another width than the first one; [`Error::Number`] for more
/// rows than fit in 32 bits.
impl<T: Element> TryFrom<Vec<Vec<Vec<T>>>> for LodTensor<T> {
    type Error = Error;

    fn try_from(sequences: Vec<Vec<Vec<T>>>) -> Result<Self, Error> {
        let expected = sequences.iter().flatten().next().map_or(0, Vec::len);
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let mut values = Vec::new();
        for (sequence, rows) in sequences.into_iter().enumerate() {
            for (row, columns) in rows.into_iter().enumerate() {
                if columns.len() != expected {
                    return Err(Error::RowWidth { sequence, row, expected, found: columns.len() });
                }
                values.extend(columns);
            }
        }
        Self::from_lengths(&lengths, expected, values)
    }
}

/// No rows and no LoD.
impl<T: Element> Default for LodTensor<T> {
    fn default() -> Self {
        Self { tensor: Tensor::default(), lod: Lod::none() }
    }
}

/// The values of each sequence of the last level, as [`LodTensor::sequences`]; single elements are
/// [`iter`](Tensor::iter)ated.
impl<'a, T: Element> IntoIterator for &'a LodTensor<T> {
    type Item = &'a [T];
    type IntoIter = Sequences<'a, T>;

    fn into_iter(self) -> Sequences<'a, T> {
        self.sequences()
    }
}

/// The sequences of a [`LodTensor`], each as the values of its rows.
#[derive(Debug, Clone)]
pub struct Sequences<'a, T> {
    values: &'a [T],
    width: usize,
    /// The rows of the sequences that are left; `None` without LoD.
    rows: Option<Rows<'a>>,
}

impl<'a, T> Sequences<'a, T> {
    fn values_of(&self, rows: Range<usize>) -> &'a [T] {
        &self.values[rows.start * self.width..rows.end * self.width]
    }
}

impl<'a, T> Iterator for Sequences<'a, T> {
    type Item = &'a [T];

    #[inline]
    fn next(&mut self) -> Option<&'a [T]> {
        let rows = self.rows.as_mut()?.next()?;
        Some(self.values_of(rows))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.rows.as_ref().map_or(0, ExactSizeIterator::len);
        (left, Some(left))
    }
}

impl<T> DoubleEndedIterator for Sequences<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let rows = self.rows.as_mut()?.next_back()?;
        Some(self.values_of(rows))
    }
}

impl<T> ExactSizeIterator for Sequences<'_, T> {}
impl<T> FusedIterator for Sequences<'_, T> {}

impl<T: Element + PartialEq> PartialEq for LodTensor<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape() && self.lod == other.lod && self.values() == other.values()
    }
}

/// Abridged: the middle of long levels and of many values is left out.
impl<T: Element + fmt::Debug> fmt::Debug for LodTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LodTensor").field("lod", &self.lod).field("tensor", &self.tensor).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lod_divides_just_the_rows() {
        let lod = Lod::from_lengths(&[[2, 1]]).unwrap();
        let wrong = LodTensor::from_vec([2, 3], vec![0; 6], lod.clone()).unwrap_err();
        assert_eq!(wrong, Error::Rows { expected: 3, found: 2 });
        assert!(matches!(LodTensor::from_vec([3, 3], vec![0; 6], lod.clone()), Err(Error::Tensor(_))));
        assert_eq!(LodTensor::new(Tensor::scalar(1), Lod::none()).unwrap_err(), Error::Scalar);
        let x = LodTensor::from_vec([3, 2], vec![0; 6], lod).unwrap();
        assert!(x.with_lod(Lod::from_lengths(&[[1, 1]]).unwrap()).is_err());
        assert!(x.with_lod(Lod::none()).unwrap().lod().is_none());
    }

    #[test]
    fn it_is_a_tensor_in_c_order_whose_memory_is_shared() {
        let columns = Tensor::from_vec([2, 3], (0..6).collect::<Vec<_>>()).unwrap();
        let x = LodTensor::new(columns.transpose().to_contiguous(), Lod::none()).unwrap();
        assert_eq!((x.values(), x.row(1)), (&[0, 3, 1, 4, 2, 5][..], &[1, 4][..]));
        let x = LodTensor::new(columns.clone(), Lod::none()).unwrap();
        assert_eq!(x.values().as_ptr(), columns.as_slice().unwrap().as_ptr());
        // Operations of a plain tensor are available.
        assert_eq!((x.get([1, 2]), x.view().transpose().shape().to_vec()), (Some(&5), vec![3, 2]));
        let mut y = x.clone();
        y.values_mut()[0] = 9;
        y.view_mut().fill(7);
        assert_eq!((x.values()[0], y.values()), (0, &[7; 6][..]));
        assert_eq!(x.buffer()[..], x.values()[..]);
        assert!(x == x.clone() && x != y);
        let (tensor, lod) = x.into_parts();
        assert_eq!((tensor.to_vec(), lod), ((0..6).collect(), Lod::none()));
    }

    #[test]
    #[should_panic(expected = "sequence 0 of a tensor without LoD")]
    fn a_tensor_without_lod_has_no_sequence() {
        let _ = LodTensor::from_vec([1], vec![1], Lod::none()).unwrap().sequence(0);
    }
}
