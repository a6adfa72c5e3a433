//! Parts of a tensor by sequences, and concatenation of tensors.

use std::fmt;
use std::ops::Range;

use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::tensor::LodTensor;

/// Consecutive sequences of one level of a tensor: two numbers on shared values and shared levels.
///
/// Taking it touches neither values nor offsets, however large they are, and it may outlive the
/// tensor it was taken of.
///
/// ```
/// use lod::LodTensor;
///
/// let x = LodTensor::from_sequences(&[vec![1, 2], vec![3], vec![4, 5, 6]])?;
/// let part = x.lod_slice_shared(0, 1..3)?;
/// assert_eq!((part.num_sequences(), part.row_range()), (2, 2..6));
/// assert_eq!((part.values(), part.sequence(1)), (&[3, 4, 5, 6][..], &[4, 5, 6][..]));
/// # Ok::<(), lod::Error>(())
/// ```
pub struct LodSlice<T> {
    whole: LodTensor<T>,
    level: usize,
    sequences: Range<usize>,
    rows: Range<usize>,
}

impl<T> Clone for LodSlice<T> {
    fn clone(&self) -> Self {
        let Self { whole, level, sequences, rows } = self;
        Self { whole: whole.clone(), level: *level, sequences: sequences.clone(), rows: rows.clone() }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for LodSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whole, level, sequences, rows: _ } = self;
        let mut text = f.debug_struct("LodSlice");
        text.field("lod", whole.lod()).field("level", level).field("sequences", sequences);
        text.field("values", &self.values()).finish()
    }
}

impl<T: Element> LodSlice<T> {
    /// The number of levels.
    pub fn num_levels(&self) -> usize {
        self.whole.lod().num_levels() - self.level
    }

    /// The number of sequences in its coarsest level.
    pub fn num_sequences(&self) -> usize {
        self.sequences.len()
    }

    /// The range of its rows in the tensor that it was taken from.
    pub fn row_range(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Its values in C order.
    pub fn values(&self) -> &[T] {
        self.whole.values_of(self.rows.clone())
    }

    /// The values of sequence `i` of its coarsest level. O(levels).
    ///
    /// # Panics
    /// If there is no such sequence, as indexing a slice does.
    pub fn sequence(&self, i: usize) -> &[T] {
        assert!(i < self.num_sequences(), "sequence {i} of {}", self.num_sequences());
        let sequence = self.sequences.start + i;
        match self.whole.lod().rows_of(self.level, sequence..sequence + 1) {
            Ok(rows) => self.whole.values_of(rows),
            Err(error) => unreachable!("a sequence of the part: {error}"),
        }
    }

    /// Sequences `range` of the part. O(levels).
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn slice(&self, range: Range<usize>) -> Result<Self, Error> {
        let Range { start: begin, end } = range;
        if begin > end || end > self.num_sequences() {
            return Err(Error::Range { level: self.level, begin, end, size: self.num_sequences() });
        }
        self.whole.lod_slice_shared(self.level, self.sequences.start + begin..self.sequences.start + end)
    }

    /// A tensor whose own levels are counted from 0. Values are shared. O(offsets of the part).
    ///
    /// # Errors
    /// The errors of [`LodTensor::from_vec`], none of which the part could cause.
    pub fn to_tensor(&self) -> Result<LodTensor<T>, Error> {
        let lod = self.whole.lod().slice_in_level(self.level, self.sequences.clone())?;
        self.whole.slice_rows(self.rows.clone(), lod)
    }
}

impl<T: Element> LodTensor<T> {
    /// The sequences `range` of a level with all below, as a view on the same values and levels.
    /// O(levels).
    ///
    /// # Errors
    /// [`Error::NoLevel`], [`Error::Range`].
    #[doc(alias = "LODSliceShared")]
    pub fn lod_slice_shared(&self, level: usize, range: Range<usize>) -> Result<LodSlice<T>, Error> {
        self.lod().check_level(level)?;
        let rows = self.lod().rows_of(level, range.clone())?;
        Ok(LodSlice { whole: self.clone(), level, sequences: range, rows })
    }

    /// The sequences `range` of a level with all levels below, as a separate tensor. Values are
    /// shared until one of the two is written. O(offsets of the part); the levels above are left
    /// out.
    ///
    /// ```
    /// use lod::LodTensor;
    ///
    /// let x = LodTensor::from_sequences(&[vec![1, 2], vec![3], vec![4, 5, 6]])?;
    /// assert_eq!(x.lod_slice(0, 1..3)?, LodTensor::from_sequences(&[vec![3], vec![4, 5, 6]])?);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoLevel`], [`Error::Range`].
    #[doc(alias = "LODSlice")]
    pub fn lod_slice(&self, level: usize, range: Range<usize>) -> Result<Self, Error> {
        self.lod_slice_shared(level, range)?.to_tensor()
    }

    /// At most `num_parts` parts of consecutive sequences of the coarsest level (of rows, without
    /// LoD), as Paddle deals a mini-batch to devices. All parts have the same number of
    /// sequences, and the last one also gets the remainder. If there are fewer sequences than
    /// parts, there are as many parts as sequences; without any sequences, each part is empty.
    /// Values are shared.
    ///
    /// # Errors
    /// [`Error::Nothing`] for 0 parts.
    #[doc(alias = "SplitLoDTensor")]
    pub fn split(&self, num_parts: usize) -> Result<Vec<Self>, Error> {
        if num_parts == 0 {
            return Err(Error::Nothing { what: "part" });
        }
        let batch = if self.lod().is_none() { self.num_rows() } else { self.lod().num_sequences(0) };
        let parts = if batch == 0 { num_parts } else { num_parts.min(batch) };
        let size = batch / parts;
        let part = |i: usize| {
            let end = if i + 1 == parts { batch } else { (i + 1) * size };
            let (lod, rows) = self.lod().sub_lod(0, i * size..end)?;
            self.slice_rows(rows, lod)
        };
        (0..parts).map(part).collect()
    }

    /// The sequences of all tensors, one after the other. O(values).
    ///
    /// # Errors
    /// [`Error::Nothing`] without tensors; [`Error::NumLevels`] and [`Error::RowShape`] if they
    /// have other levels or rows of another shape than the first; [`Error::TooLarge`].
    #[doc(alias = "MergeLoDTensor")]
    pub fn merge(tensors: &[impl AsRef<Self>]) -> Result<Self, Error> {
        let first = tensors.first().ok_or(Error::Nothing { what: "tensor" })?.as_ref();
        for tensor in tensors {
            first.check_row_shape(tensor.as_ref().shape())?;
        }
        let lod = Lod::concat(tensors.iter().map(|tensor| tensor.as_ref().lod()))?;
        let rows = tensors.iter().map(|tensor| tensor.as_ref().num_rows()).sum();
        let mut values = kaldera_base::memory::with_capacity(tensors.iter().map(|t| t.as_ref().values().len()).sum());
        for tensor in tensors {
            values.extend_from_slice(tensor.as_ref().values());
        }
        first.like(rows, values, lod)
    }

    /// These rows on the same values, with a LoD for them.
    pub(crate) fn slice_rows(&self, rows: Range<usize>, lod: Lod) -> Result<Self, Error> {
        let width = self.width();
        self.like(rows.len(), self.buffer().slice(rows.start * width..rows.end * width), lod)
    }

    /// Checks that the rows of `shape` have the same shape as these.
    pub(crate) fn check_row_shape(&self, shape: &[usize]) -> Result<(), Error> {
        match shape.get(1..) == self.shape().get(1..) {
            true => Ok(()),
            false => Err(Error::RowShape { expected: self.shape().to_vec(), found: shape.to_vec() }),
        }
    }
}

impl<T> AsRef<Self> for LodTensor<T> {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> LodTensor<i32> {
        let lod = Lod::from_lengths(&[vec![2, 0, 1], vec![3, 1, 2]]).unwrap();
        LodTensor::from_vec([6, 2], (0..12).collect::<Vec<_>>(), lod).unwrap()
    }

    #[test]
    fn a_shared_part_is_the_same_memory() {
        let x = batch();
        let part = x.lod_slice_shared(0, 1..3).unwrap();
        assert_eq!((part.num_levels(), part.num_sequences(), part.row_range()), (2, 2, 4..6));
        assert_eq!(part.values().as_ptr(), x.row(4).as_ptr());
        assert_eq!((part.sequence(0), part.sequence(1)), (&[][..], &[8, 9, 10, 11][..]));
        let part = part.slice(1..2).unwrap().to_tensor().unwrap();
        assert_eq!(part.lod(), &Lod::from_lengths(&[[1], [2]]).unwrap());
        assert_eq!(part.values().as_ptr(), x.row(4).as_ptr());
        assert!(x.lod_slice(0, 1..1).unwrap().values().is_empty());
        assert_eq!(x.lod_slice_shared(0, 2..4).unwrap_err(), Error::Range { level: 0, begin: 2, end: 4, size: 3 });
        assert!(x.lod_slice_shared(2, 0..0).is_err());
    }

    #[test]
    fn parts_of_a_batch_merge_to_the_batch() {
        let x = batch();
        let sizes = |n| x.split(n).unwrap().iter().map(|part| part.lod().num_sequences(0)).collect::<Vec<_>>();
        assert_eq!((sizes(1), sizes(2), sizes(3), sizes(5)), (vec![3], vec![1, 2], vec![1; 3], vec![1; 3]));
        for parts in 1..5 {
            assert_eq!(LodTensor::merge(&x.split(parts).unwrap()).unwrap(), x);
        }
        let empty = LodTensor::from_vec([0, 2], Vec::<i32>::new(), Lod::from_offsets(&[[0]]).unwrap()).unwrap();
        assert_eq!(empty.split(2).unwrap(), [empty.clone(), empty.clone()]);
        let plain = x.with_lod(Lod::none()).unwrap();
        assert_eq!(plain.split(4).unwrap().iter().map(|p| p.num_rows()).collect::<Vec<_>>(), [1, 1, 1, 3]);
        assert_eq!(x.split(0), Err(Error::Nothing { what: "part" }));
        assert!(LodTensor::merge(&[&x, &plain]).is_err());
        assert!(LodTensor::<i32>::merge(&[] as &[LodTensor<i32>]).is_err());
        let wide = LodTensor::from_vec([1, 3], vec![1, 2, 3], Lod::none()).unwrap();
        assert!(matches!(LodTensor::merge(&[&plain, &wide]), Err(Error::RowShape { .. })));
    }
}
