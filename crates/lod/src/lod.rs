//! Levels of offsets: which rows of a tensor are a sequence, which sequences are a sequence of
//! sequences, and so on.

use std::fmt;
use std::ops::Range;

use ragged_core::{RaggedShape, RowSplits};

use crate::error::Error;

/// Levels of offsets, coarsest first: the "level of detail" of a tensor's rows.
///
/// ```text
///   two articles, of two sentences and of one; the sentences have 3, 2 and 4 words
///
///   level 0   offsets 0 2 3     lengths 2 1
///             article i is the sentences offsets[i] .. offsets[i + 1]
///   level 1   offsets 0 3 5 9   lengths 3 2 4
///             sentence i is the rows offsets[i] .. offsets[i + 1]
/// ```
///
/// It is a [`RaggedShape`] under Paddle's terms; the same memory serves both. A clone only
/// increments a reference count. Without levels it is the LoD of a plain tensor, whose rows are
/// not divided.
///
/// ```
/// use lod::Lod;
///
/// let lod = Lod::from_lengths(&[vec![2, 1], vec![3, 2, 4]])?;
/// assert_eq!(lod, Lod::from_offsets(&[vec![0, 2, 3], vec![0, 3, 5, 9]])?);
/// assert_eq!((lod.num_levels(), lod.num_sequences(0), lod.num_sequences(1)), (2, 2, 3));
/// assert_eq!(lod.element(1, 2), 5..9);
/// # Ok::<(), lod::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[doc(alias = "LoD")]
#[doc(alias = "lod_start_pos_")]
pub struct Lod {
    shape: Option<RaggedShape>,
}

impl Lod {
    /// No levels: the LoD of a plain tensor.
    pub fn none() -> Self {
        Self::default()
    }

    /// Levels from offsets that are known to be good one by one, coarsest first. O(levels).
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] if a level does not have one sequence for each entry that the
    /// level above divides.
    pub fn new(levels: impl IntoIterator<Item = RowSplits>) -> Result<Self, Error> {
        let levels: Vec<RowSplits> = levels.into_iter().collect();
        for (level, pair) in levels.windows(2).enumerate() {
            let (expected, found) = (pair[0].num_elements(), pair[1].num_rows());
            if expected != found {
                return Err(Error::LevelMismatch { level: level + 1, expected, found });
            }
        }
        let shape = if levels.is_empty() { None } else { Some(RaggedShape::new(levels)?) };
        Ok(Self { shape })
    }

    /// Levels from offsets, coarsest first. O(size).
    ///
    /// # Errors
    /// [`Error::Number`], [`Error::OffsetsStart`], [`Error::OffsetsFall`],
    /// [`Error::LevelMismatch`].
    #[doc(alias = "set_lod")]
    pub fn from_offsets<N: Copy + TryInto<i64>>(levels: &[impl AsRef<[N]>]) -> Result<Self, Error> {
        let splits = |(level, offsets): (usize, &[N])| {
            let offsets = offsets.iter().enumerate().map(|(position, &number)| number_of(level, position, number));
            splits_of(level, offsets.collect::<Result<_, _>>()?)
        };
        let levels = levels.iter().map(AsRef::as_ref).enumerate().map(splits);
        Self::new(levels.collect::<Result<Vec<_>, _>>()?)
    }

    /// Levels from the lengths of the sequences, coarsest first, as users of Paddle in Python write
    /// them. O(size).
    ///
    /// # Errors
    /// [`Error::Number`] also where lengths add up to more than fits; [`Error::LevelMismatch`].
    #[doc(alias = "set_recursive_sequence_lengths")]
    #[doc(alias = "ConvertToOffsetBasedLoD")]
    pub fn from_lengths<N: Copy + TryInto<i64>>(levels: &[impl AsRef<[N]>]) -> Result<Self, Error> {
        let splits = |(level, lengths): (usize, &[N])| {
            let mut offsets = Vec::with_capacity(lengths.len() + 1);
            let mut end = 0_i32;
            offsets.push(end);
            for (position, &len) in lengths.iter().enumerate() {
                let len = number_of(level, position, len)?;
                let found = i64::from(end) + i64::from(len);
                end = end.checked_add(len).ok_or(Error::Number { level, position, found })?;
                offsets.push(end);
            }
            splits_of(level, offsets)
        };
        let levels = levels.iter().map(AsRef::as_ref).enumerate().map(splits);
        Self::new(levels.collect::<Result<Vec<_>, _>>()?)
    }

    /// The levels as a ragged shape, `None` without levels. Nothing is copied.
    #[inline]
    pub fn shape(&self) -> Option<&RaggedShape> {
        self.shape.as_ref()
    }

    /// The number of levels.
    #[inline]
    #[doc(alias = "NumLevels")]
    #[doc(alias = "Levels")]
    pub fn num_levels(&self) -> usize {
        self.shape.as_ref().map_or(0, |shape| shape.num_axes() - 1)
    }

    /// Returns `true` if there are no levels, as for a plain tensor.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.shape.is_none()
    }

    /// The offsets of a level, with their queries.
    ///
    /// # Panics
    /// If there is no such level, as indexing a slice does.
    #[inline]
    pub fn level(&self, level: usize) -> &RowSplits {
        match &self.shape {
            Some(shape) if level + 1 < shape.num_axes() => shape.row_splits(level + 1),
            _ => panic!("there is no level {level}: the LoD has {}", self.num_levels()),
        }
    }

    /// The offsets of the last level, which divide the rows; `None` without levels.
    #[inline]
    pub fn last(&self) -> Option<&RowSplits> {
        self.shape.as_ref().map(RaggedShape::last_splits)
    }

    /// The offsets of a level: starts with 0, one more than the level has sequences.
    ///
    /// # Panics
    /// If there is no such level, as indexing a slice does.
    #[inline]
    pub fn offsets(&self, level: usize) -> &[i32] {
        self.level(level).as_ref()
    }

    /// The length of each sequence of a level. O(sequences).
    ///
    /// # Panics
    /// If there is no such level, as indexing a slice does.
    #[doc(alias = "recursive_sequence_lengths")]
    pub fn lengths(&self, level: usize) -> Vec<usize> {
        self.level(level).lengths().collect()
    }

    /// The number of sequences in a level. (The source document counts offsets, one too many.)
    ///
    /// # Panics
    /// If there is no such level, as indexing a slice does.
    #[inline]
    #[doc(alias = "NumElements")]
    #[doc(alias = "Elements")]
    pub fn num_sequences(&self, level: usize) -> usize {
        self.level(level).num_rows()
    }

    /// The entries of sequence `i` of a level: sequences of the next level, or rows.
    ///
    /// # Panics
    /// If there is no such level or sequence, as indexing a slice does.
    #[inline]
    #[doc(alias = "lod_element")]
    pub fn element(&self, level: usize, i: usize) -> Range<usize> {
        self.level(level).row(i)
    }

    /// The number of rows that the last level divides; `None` without levels, which fit any
    /// number.
    #[inline]
    pub fn num_rows(&self) -> Option<usize> {
        self.last().map(RowSplits::num_elements)
    }

    /// Returns `true` if both share the same memory, which makes them equal without a comparison.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.shape, &other.shape) {
            (Some(a), Some(b)) => a.ptr_eq(b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns the level, or an error if there is none.
    pub(crate) fn check_level(&self, level: usize) -> Result<&RowSplits, Error> {
        match level < self.num_levels() {
            true => Ok(self.level(level)),
            false => Err(Error::NoLevel { level, levels: self.num_levels() }),
        }
    }
}

impl From<RaggedShape> for Lod {
    /// The shape's axes as levels. Nothing is copied.
    fn from(shape: RaggedShape) -> Self {
        Self { shape: Some(shape) }
    }
}

/// The sequences of one level.
impl From<RowSplits> for Lod {
    fn from(level: RowSplits) -> Self {
        RaggedShape::from(level).into()
    }
}

impl fmt::Display for Lod {
    /// All offsets, as Python prints them: `[[0, 2, 3], [0, 3, 5, 9]]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.num_levels()).map(|level| self.offsets(level))).finish()
    }
}

impl fmt::Debug for Lod {
    /// As `Display`, but the middle of long levels is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.num_levels()).map(|level| self.level(level).buffer())).finish()
    }
}

/// A number of a level as it is stored.
pub(crate) fn number_of<N: TryInto<i64>>(level: usize, position: usize, number: N) -> Result<i32, Error> {
    let number = number.try_into().unwrap_or(i64::MAX);
    match i32::try_from(number) {
        Ok(stored) if stored >= 0 => Ok(stored),
        _ => Err(Error::Number { level, position, found: number }),
    }
}

/// Converts offsets to row splits, or returns the error in them.
pub(crate) fn splits_of(level: usize, offsets: Vec<i32>) -> Result<RowSplits, Error> {
    RowSplits::new(offsets).map_err(|error| match error {
        ragged_core::Error::SplitsStart { found } => Error::OffsetsStart { level, found: found.map(i64::from) },
        ragged_core::Error::SplitsFall { position, before, found } => {
            Error::OffsetsFall { level, position, before: before.into(), found: found.into() }
        }
        other => other.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_lods_are_refused_with_their_position() {
        let offsets = |levels: &[Vec<i64>]| Lod::from_offsets(levels).unwrap_err();
        assert_eq!(offsets(&[vec![0, 1], vec![1, 2]]), Error::OffsetsStart { level: 1, found: Some(1) });
        assert_eq!(offsets(&[vec![]]), Error::OffsetsStart { level: 0, found: None });
        assert_eq!(offsets(&[vec![0, 3, 2]]), Error::OffsetsFall { level: 0, position: 2, before: 3, found: 2 });
        assert_eq!(offsets(&[vec![0, -1]]), Error::Number { level: 0, position: 1, found: -1 });
        assert_eq!(offsets(&[vec![0, 1 << 31]]), Error::Number { level: 0, position: 1, found: 1 << 31 });
        assert_eq!(offsets(&[vec![0, 2], vec![0, 1]]), Error::LevelMismatch { level: 1, expected: 2, found: 1 });
        assert!(Lod::from_offsets(&[[0, u64::MAX]]).is_err());
        assert_eq!(Lod::from_lengths(&[[1, -1]]), Err(Error::Number { level: 0, position: 1, found: -1 }));
        let sum = 2 * i64::from(i32::MAX);
        assert_eq!(Lod::from_lengths(&[[i32::MAX; 2]]), Err(Error::Number { level: 0, position: 1, found: sum }));
        assert!(Lod::from_lengths(&[vec![2], vec![1]]).is_err());
    }

    #[test]
    fn no_levels_and_no_sequences_are_both_possible_and_not_the_same() {
        let (none, empty) = (Lod::none(), Lod::from_offsets(&[[0]]).unwrap());
        assert_eq!((none.num_levels(), none.num_rows(), none.is_none()), (0, None, true));
        assert_eq!((empty.num_levels(), empty.num_rows(), empty.num_sequences(0)), (1, Some(0), 0));
        assert!(none != empty && none == Lod::from_lengths::<i32>(&[] as &[Vec<i32>]).unwrap());
        assert!(none.ptr_eq(&Lod::default()) && !none.ptr_eq(&empty) && empty.ptr_eq(&empty.clone()));
        assert_eq!(Lod::from_lengths(&[vec![2, 1], vec![3, 2, 4]]).unwrap().to_string(), "[[0, 2, 3], [0, 3, 5, 9]]");
    }

    #[test]
    #[should_panic(expected = "there is no level 1: the LoD has 1")]
    fn a_level_that_is_not_there_panics() {
        let _ = Lod::from_lengths(&[[1]]).unwrap().level(1);
    }
}
