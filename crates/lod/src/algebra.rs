//! Operations on levels: absolute offsets, parts, concatenation, more and fewer levels.

use std::ops::Range;

use ragged_core::RowSplits;

use crate::error::Error;
use crate::lod::{Lod, splits_of};

impl Lod {
    /// The lengths of the sequences of each level, coarsest first. O(size).
    #[doc(alias = "recursive_sequence_lengths")]
    #[doc(alias = "ConvertToLengthBasedLoD")]
    pub fn to_lengths(&self) -> Vec<Vec<usize>> {
        self.levels().map(|level| level.rows().map(|row| row.len()).collect()).collect()
    }

    /// For each level where its sequences begin and end in *rows*, not in sequences of the next
    /// level. O(size).
    ///
    /// ```
    /// let lod = lod::Lod::from_offsets(&[vec![0, 2, 3], vec![0, 3, 5, 9]])?;
    /// assert_eq!(lod.to_abs_offsets(), [vec![0, 5, 9], vec![0, 3, 5, 9]]);
    /// # Ok::<(), lod::Error>(())
    /// ```
    #[doc(alias = "ToAbsOffset")]
    pub fn to_abs_offsets(&self) -> Vec<Vec<i32>> {
        let mut levels: Vec<Vec<i32>> = self.levels().map(|level| level.as_ref().to_vec()).collect();
        for upper in (0..levels.len().saturating_sub(1)).rev() {
            let (above, below) = levels.split_at_mut(upper + 1);
            // An offset is in 0..=elements of the level below, which has one more offset than
            // elements.
            above[upper].iter_mut().for_each(|offset| *offset = below[0][*offset as usize]);
        }
        levels
    }

    /// The rows of the sequences `begin..end` of a level; one level more than the last counts rows
    /// themselves. O(levels).
    ///
    /// # Errors
    /// [`Error::NoLevel`], [`Error::Range`].
    pub fn rows_of(&self, level: usize, range: Range<usize>) -> Result<Range<usize>, Error> {
        self.check_range(level, &range)?;
        Ok(self.levels().skip(level).fold(range, |rows, level| ends_of(level, rows)))
    }

    /// The sequences `begin..end` of a level, with all levels below, counted from 0. Levels above
    /// are left out.
    ///
    /// The range may be empty, which Paddle refuses: the result then has the same number of
    /// levels, without sequences. O(size of the part); memory is shared if the part begins at 0.
    ///
    /// ```
    /// let lod = lod::Lod::from_offsets(&[vec![0, 2, 3], vec![0, 3, 5, 9]])?;
    /// assert_eq!(lod.slice_in_level(0, 1..2)?, lod::Lod::from_lengths(&[[1], [4]])?);
    /// assert_eq!(lod.slice_in_level(1, 0..2)?, lod::Lod::from_lengths(&[[3, 2]])?);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoLevel`], [`Error::Range`].
    #[doc(alias = "SliceInLevel")]
    pub fn slice_in_level(&self, level: usize, range: Range<usize>) -> Result<Self, Error> {
        self.check_level(level)?;
        self.sub_lod(level, range).map(|(lod, _)| lod)
    }

    /// As [`slice_in_level`](Self::slice_in_level), with the rows that these sequences are. One
    /// level more than the last cuts rows themselves, which leaves no levels.
    ///
    /// # Errors
    /// [`Error::NoLevel`], [`Error::Range`].
    #[doc(alias = "GetSubLoDAndAbsoluteOffset")]
    #[doc(alias = "GetFineGrainedLoDLength")]
    pub fn sub_lod(&self, level: usize, range: Range<usize>) -> Result<(Self, Range<usize>), Error> {
        let rows = self.rows_of(level, range.clone())?;
        let part = match self.shape() {
            Some(shape) if level < self.num_levels() => shape.arange(level, range.start, range.end)?.0.into(),
            _ => Self::none(),
        };
        Ok((part, rows))
    }

    /// Returns only the levels `levels`. Memory is shared. O(levels).
    ///
    /// # Errors
    /// [`Error::NoLevel`] if one of them is not there.
    pub fn sub_levels(&self, levels: Range<usize>) -> Result<Self, Error> {
        if levels.is_empty() {
            return Ok(Self::none());
        }
        self.check_level(levels.end - 1)?;
        let Some(shape) = self.shape() else { return Ok(Self::none()) };
        let shape = match levels.end < self.num_levels() {
            true => shape.decompose(levels.end)?.0,
            false => shape.clone(),
        };
        Ok(if levels.start > 0 { shape.decompose(levels.start)?.1 } else { shape }.into())
    }

    /// Returns all levels except the last, as if each sequence became one row. Memory is shared.
    /// O(levels).
    pub fn without_last(&self) -> Self {
        let kept = self.num_levels().saturating_sub(1);
        self.sub_levels(0..kept).unwrap_or_else(|error| unreachable!("levels that are there: {error}"))
    }

    /// The same upper levels with other offsets as the last level. Upper levels are shared.
    /// O(levels).
    ///
    /// Without levels, the result has only this one.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] if it does not have one sequence for each that the level above
    /// divides.
    pub fn with_last(&self, last: RowSplits) -> Result<Self, Error> {
        self.without_last().with_level_below(last)
    }

    /// One more level, which divides the rows that were the sequences' before. Levels are shared.
    /// O(levels).
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] if it does not have one sequence for each row.
    pub fn with_level_below(&self, level: RowSplits) -> Result<Self, Error> {
        self.below(&Self::new([level])?)
    }

    /// Other offsets for level `level`. The other levels are shared. O(levels).
    ///
    /// # Errors
    /// [`Error::NoLevel`]; [`Error::LevelMismatch`] if they do not fit the levels above and below.
    pub fn with_level(&self, level: usize, offsets: RowSplits) -> Result<Self, Error> {
        self.check_level(level)?;
        let lower = self.sub_levels(level + 1..self.num_levels())?;
        self.sub_levels(0..level)?.below(&Self::new([offsets])?)?.below(&lower)
    }

    /// `lower` put below these levels, which it must fit.
    pub(crate) fn below(&self, lower: &Self) -> Result<Self, Error> {
        match (self.shape(), lower.shape()) {
            (Some(upper), Some(lower)) if upper.num_elements() != lower.dim0() => {
                let (expected, found) = (upper.num_elements(), lower.dim0());
                Err(Error::LevelMismatch { level: self.num_levels(), expected, found })
            }
            (Some(upper), Some(lower)) => Ok(upper.compose(lower)?.into()),
            (Some(_), None) => Ok(self.clone()),
            (None, _) => Ok(lower.clone()),
        }
    }

    /// The sequences of all of these, one after the other. O(size).
    ///
    /// ```
    /// # use lod::Lod;
    /// let (a, b) = (Lod::from_lengths(&[[2, 1]])?, Lod::from_lengths(&[[4]])?);
    /// assert_eq!(Lod::concat([&a, &b])?, Lod::from_lengths(&[[2, 1, 4]])?);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NumLevels`] if one has more levels than the first or fewer; [`Error::TooLarge`].
    pub fn concat<'a>(lods: impl IntoIterator<Item = &'a Self>) -> Result<Self, Error> {
        let lods: Vec<&Self> = lods.into_iter().collect();
        let Some((first, rest)) = lods.split_first() else { return Ok(Self::none()) };
        let expected = first.num_levels();
        if let Some(found) = rest.iter().map(|lod| lod.num_levels()).find(|&found| found != expected) {
            return Err(Error::NumLevels { what: "every LoD", expected, found });
        }
        if rest.is_empty() {
            return Ok((*first).clone());
        }
        let level = |level: usize| {
            let sequences: usize = lods.iter().map(|lod| lod.num_sequences(level)).sum();
            let mut offsets = Vec::with_capacity(sequences + 1);
            let mut end = 0_i32;
            offsets.push(end);
            for more in lods.iter().map(|lod| lod.offsets(level)) {
                let len = more[more.len() - 1];
                let size = u64::from(end.unsigned_abs()) + u64::from(len.unsigned_abs());
                let begin = end;
                end = end.checked_add(len).ok_or(Error::TooLarge { what: "the number of elements", size })?;
                offsets.extend(more[1..].iter().map(|offset| begin + offset));
            }
            splits_of(level, offsets)
        };
        Self::new((0..expected).map(level).collect::<Result<Vec<_>, _>>()?)
    }

    /// These sequences, followed by the sequences of `other`. If there are no levels here,
    /// `other` may have any number of levels. O(size).
    ///
    /// # Errors
    /// [`Error::NumLevels`] if `other` has more levels or fewer; [`Error::TooLarge`].
    #[doc(alias = "AppendLoD")]
    pub fn append(&self, other: &Self) -> Result<Self, Error> {
        if self.is_none() {
            return Ok(other.clone());
        }
        Self::concat([self, other])
    }

    /// The sequences of level `level` in the order of `indexes`, any of them any number of times,
    /// with the levels below; and the old row of each new one. Levels above are left out. O(size of
    /// the result).
    pub(crate) fn gather(&self, level: usize, indexes: &[i32]) -> Result<(Self, Vec<i32>), Error> {
        let lower = self.sub_levels(level..self.num_levels())?;
        match lower.shape() {
            Some(shape) => {
                let (shape, rows) = shape.index(0, indexes)?;
                Ok((shape.into(), rows))
            }
            None => Ok((Self::none(), indexes.to_vec())),
        }
    }

    /// Each level in turn, coarsest first.
    pub(crate) fn levels(&self) -> impl DoubleEndedIterator<Item = &RowSplits> + ExactSizeIterator {
        (0..self.num_levels()).map(|level| self.level(level))
    }

    /// Checks that a level, or the rows below the last level, has the entries of `range`.
    fn check_range(&self, level: usize, range: &Range<usize>) -> Result<(), Error> {
        let size = match self.shape() {
            None if level == 0 => Some(range.end),
            Some(shape) if level < shape.num_axes() => Some(shape.tot_size(level)),
            _ => None,
        };
        let size = size.ok_or(Error::NoLevel { level, levels: self.num_levels() })?;
        match range.start <= range.end && range.end <= size {
            true => Ok(()),
            false => Err(Error::Range { level, begin: range.start, end: range.end, size }),
        }
    }
}

/// The elements of consecutive rows.
fn ends_of(splits: &RowSplits, rows: Range<usize>) -> Range<usize> {
    let offsets: &[i32] = splits.as_ref();
    // Offsets are never negative.
    offsets[rows.start] as usize..offsets[rows.end] as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ragged_core::RaggedShape;

    use super::*;

    fn lod(levels: &[&[i32]]) -> Lod {
        Lod::from_offsets(levels).unwrap()
    }

    #[test]
    fn the_empty_part_keeps_its_levels() {
        let lod = lod(&[&[0, 2, 3], &[0, 3, 5, 9]]);
        assert_eq!(lod.sub_lod(0, 1..1), Ok((self::lod(&[&[0], &[0]]), 5..5)));
        assert_eq!(lod.sub_lod(0, 2..2), Ok((self::lod(&[&[0], &[0]]), 9..9)));
        assert_eq!(lod.sub_lod(2, 4..6), Ok((Lod::none(), 4..6)));
    }

    #[test]
    fn parts_that_are_not_there_are_refused() {
        let lod = lod(&[&[0, 2, 3], &[0, 3, 5, 9]]);
        assert_eq!(lod.slice_in_level(0, 1..3), Err(Error::Range { level: 0, begin: 1, end: 3, size: 2 }));
        assert_eq!(lod.slice_in_level(2, 0..1), Err(Error::NoLevel { level: 2, levels: 2 }));
        assert_eq!(lod.sub_lod(2, 0..10), Err(Error::Range { level: 2, begin: 0, end: 10, size: 9 }));
        assert_eq!(lod.sub_lod(3, 0..1), Err(Error::NoLevel { level: 3, levels: 2 }));
        #[expect(clippy::reversed_empty_ranges, reason = "it is what must be refused")]
        let reversed = lod.slice_in_level(0, 2..1);
        assert_eq!(reversed, Err(Error::Range { level: 0, begin: 2, end: 1, size: 2 }));
        assert_eq!(Lod::none().sub_lod(0, 3..7), Ok((Lod::none(), 3..7)));
        assert!(lod.sub_levels(1..3).is_err());
    }

    #[test]
    fn levels_are_shared_when_some_are_taken() {
        let lod = lod(&[&[0, 2, 3], &[0, 3, 5, 9], &[0, 1, 1, 2, 3, 4, 5, 6, 7, 8]]);
        let upper = lod.without_last();
        assert_eq!(upper, self::lod(&[&[0, 2, 3], &[0, 3, 5, 9]]));
        assert!(upper.level(1).buffer().ptr_eq(lod.level(1).buffer()));
        let middle = lod.sub_levels(1..2).unwrap();
        assert!(middle.level(0).buffer().ptr_eq(lod.level(1).buffer()));
        assert_eq!(upper.with_level_below(lod.level(2).clone()).unwrap(), lod);
        assert!(upper.with_level_below(lod.level(1).clone()).is_err());
        assert_eq!(Lod::none().without_last(), Lod::none());
        assert_eq!(lod.with_last(RowSplits::regular(9, 1).unwrap()).unwrap().num_rows(), Some(9));
    }

    #[test]
    fn lods_of_other_depth_or_too_large_are_not_joined() {
        let (one, two) = (lod(&[&[0, 3]]), lod(&[&[0, 1], &[0, 3]]));
        assert_eq!(one.append(&two), Err(Error::NumLevels { what: "every LoD", expected: 1, found: 2 }));
        assert_eq!(Lod::none().append(&two), Ok(two));
        assert!(one.append(&Lod::none()).is_err());
        let large = lod(&[&[0, i32::MAX]]);
        assert_eq!(large.append(&one), Err(Error::TooLarge { what: "the number of elements", size: (1 << 31) + 2 }));
        assert_eq!(Lod::concat([]), Ok(Lod::none()));
    }

    proptest! {
        #[test]
        fn append_inverts_sub_lod(seed in any::<u64>(), at in 0.0..=1.0) {
            let whole = Lod::from(RaggedShape::random(seed, 2..=4, 0..=60).unwrap());
            let size = whole.num_sequences(0);
            let at = (at * size as f64) as usize;
            let (left, left_rows) = whole.sub_lod(0, 0..at).unwrap();
            let (right, right_rows) = whole.sub_lod(0, at..size).unwrap();
            prop_assert_eq!(left_rows.end, right_rows.start);
            prop_assert_eq!(left.num_rows(), Some(left_rows.len()));
            prop_assert_eq!(left.append(&right).unwrap(), whole);
        }

        #[test]
        fn lengths_and_offsets_are_the_same_thing(seed in any::<u64>()) {
            let lod = Lod::from(RaggedShape::random(seed, 2..=4, 0..=60).unwrap());
            prop_assert_eq!(&Lod::from_lengths(&lod.to_lengths()).unwrap(), &lod);
            let absolute = lod.to_abs_offsets();
            for (level, absolute) in absolute.iter().enumerate() {
                for (i, ends) in absolute.windows(2).enumerate() {
                    let rows = lod.rows_of(level, i..i + 1).unwrap();
                    prop_assert_eq!(rows.start as i32..rows.end as i32, ends[0]..ends[1]);
                }
            }
        }
    }
}
