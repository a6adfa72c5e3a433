//! The scores of a network for the frames of utterances, borrowed.

#![expect(clippy::single_range_in_vec_init, reason = "one utterance is one range of rows")]

use std::ops::Range;

use ragged_core::RowSplits;

use crate::support::ids::index;
use crate::{Error, FINAL, Quantity};

/// A part of a sequence: an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Index of the sequence.
    pub sequence: usize,
    /// First frame, counted within the sequence.
    pub start: usize,
    /// Number of frames.
    pub duration: usize,
}

/// Scores of all classes in each frame of some utterances, as linear FSAs: logarithms of
/// probabilities, mostly, but they need not be normalized.
///
/// The values are borrowed and not copied. They lie in rows, one for each frame. Each row has
/// `num_classes` values, and begins `row_stride` values behind the row before. k2's column of label
/// -1 and the additional row of each segment are implied, see [`Frames::score`].
///
/// An utterance that cannot be decoded (a segment that is too long, a score that is NaN) is refused
/// when its turn comes, without an effect on the others.
///
/// ```
/// use fsa::dense::{DenseFsaVec, Segment};
///
/// // Two sequences, padded to three frames of two classes each.
/// let values = [0.5_f32, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 0.0, 0.0];
/// let dense = DenseFsaVec::from_padded(&values, [2, 3, 2], &[3, 2])?;
/// assert_eq!(dense.utterance(1)?.row(1), [4.5, 5.0]);
/// let part = dense.with_segments(vec![Segment { sequence: 0, start: 1, duration: 2 }]);
/// assert_eq!(part.utterance(0)?.row(0), [1.5, 2.0]);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DenseFsaVec<'a> {
    values: &'a [f32],
    row_stride: usize,
    num_classes: usize,
    /// Rows of each sequence.
    sequences: Vec<Range<usize>>,
    segments: Vec<Segment>,
    frame_subsampling: usize,
    allow_truncate: usize,
}

impl<'a> DenseFsaVec<'a> {
    /// Creates scores of sequences that are ranges of rows; each is an utterance.
    ///
    /// # Errors
    /// [`Error::Size`] if the values are too few for the rows, or rows overlap.
    pub fn new(
        values: &'a [f32],
        row_stride: usize,
        num_classes: usize,
        sequences: Vec<Range<usize>>,
    ) -> Result<Self, Error> {
        if row_stride < num_classes {
            return Err(Error::Size { what: Quantity::RowStride, expected: num_classes, found: row_stride });
        }
        let num_rows = sequences.iter().map(|rows| rows.end).max().unwrap_or(0);
        let needed =
            num_rows.checked_sub(1).map_or(Some(0), |last| last.checked_mul(row_stride)?.checked_add(num_classes));
        match needed {
            Some(needed) if needed <= values.len() => {}
            _ => {
                let expected = needed.unwrap_or(usize::MAX);
                return Err(Error::Size { what: Quantity::Values, expected, found: values.len() });
            }
        }
        let segments =
            (0..).zip(&sequences).map(|(sequence, rows)| Segment { sequence, start: 0, duration: rows.len() });
        let segments = segments.collect();
        Ok(Self { values, row_stride, num_classes, sequences, segments, frame_subsampling: 1, allow_truncate: 0 })
    }

    /// Creates one utterance of all frames.
    ///
    /// # Errors
    /// [`Error::Size`] if the values are not whole rows of `num_classes`.
    pub fn from_frames(values: &'a [f32], num_classes: usize) -> Result<Self, Error> {
        let num_rows = values.len().checked_div(num_classes).unwrap_or(0);
        Error::same_size(Quantity::Values, num_rows * num_classes, values.len())?;
        Self::new(values, num_classes, num_classes, vec![0..num_rows])
    }

    /// Creates utterances that are concatenated without padding; `row_splits` gives the frames of
    /// each.
    ///
    /// # Errors
    /// [`Error::Size`] if there are not `num_classes` values for each frame.
    pub fn from_row_splits(values: &'a [f32], num_classes: usize, row_splits: &RowSplits) -> Result<Self, Error> {
        let sequences: Vec<_> = row_splits.rows().collect();
        let num_rows = sequences.last().map_or(0, |rows| rows.end);
        Error::same_size(Quantity::Values, num_rows.saturating_mul(num_classes), values.len())?;
        Self::new(values, num_classes, num_classes, sequences)
    }

    /// Creates utterances that are padded to the same length, as an array of the shape
    /// `[utterance][frame][class]`; `lengths` are numbers of frames without the padding.
    ///
    /// # Errors
    /// [`Error::Size`] if there are not as many values and lengths as the shape says. A length that
    /// is too large is an error of its utterance only.
    pub fn from_padded(values: &'a [f32], shape: [usize; 3], lengths: &[usize]) -> Result<Self, Error> {
        let [num_sequences, num_frames, num_classes] = shape;
        let size = num_sequences.saturating_mul(num_frames).saturating_mul(num_classes);
        Error::same_size(Quantity::Values, size, values.len())?;
        Error::same_size(Quantity::Lengths, num_sequences, lengths.len())?;
        let sequences = (0..num_sequences).map(|i| i * num_frames..(i + 1) * num_frames).collect();
        let segments = lengths.iter().enumerate();
        let segments = segments.map(|(sequence, &duration)| Segment { sequence, start: 0, duration }).collect();
        Ok(Self::new(values, num_classes, num_classes, sequences)?.with_segments(segments))
    }

    /// Replaces whole sequences by these utterances, in any order; several may share frames.
    #[must_use]
    pub fn with_segments(mut self, segments: Vec<Segment>) -> Self {
        self.segments = segments;
        self
    }

    /// Sets the number of frames of features for each frame of the network, which
    /// [`DenseLattices::input_frames`](super::DenseLattices::input_frames) uses; 0 counts as 1.
    #[must_use]
    pub fn with_frame_subsampling(mut self, frame_subsampling: usize) -> Self {
        self.frame_subsampling = frame_subsampling.max(1);
        self
    }

    /// Allows segments to end up to so many frames behind their sequences; they are cut at the end
    /// of the sequence. Not allowed unless this is set.
    #[must_use]
    pub fn with_allow_truncate(mut self, num_frames: usize) -> Self {
        self.allow_truncate = num_frames;
        self
    }

    /// Returns the number of utterances.
    #[inline]
    pub fn num_utterances(&self) -> usize {
        self.segments.len()
    }

    /// Returns the number of classes that have a score in each frame.
    #[inline]
    pub fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// Returns the values, of which each utterance has its part.
    #[inline]
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// Returns the utterances as parts of sequences.
    #[inline]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the number of frames of features for each frame of the network.
    #[inline]
    pub fn frame_subsampling(&self) -> usize {
        self.frame_subsampling
    }

    /// Returns the frames of an utterance.
    ///
    /// # Errors
    /// [`Error::DenseSequence`], [`Error::DenseSegment`].
    ///
    /// # Panics
    /// If there is no such utterance, as indexing a slice does.
    pub fn utterance(&self, utterance: usize) -> Result<Frames<'a>, Error> {
        let Segment { sequence, start, duration } = self.segments[utterance];
        let num_sequences = self.sequences.len();
        let rows =
            self.sequences.get(sequence).ok_or(Error::DenseSequence { utterance, sequence, num_sequences })?.clone();
        let num_frames = rows.len();
        let fits = start <= num_frames
            && start.checked_add(duration).is_some_and(|end| end <= num_frames.saturating_add(self.allow_truncate));
        if !fits {
            return Err(Error::DenseSegment { utterance, sequence, start, duration, num_frames });
        }
        let num_frames = duration.min(num_frames - start);
        let first_value = if num_frames == 0 { 0 } else { (rows.start + start) * self.row_stride };
        Ok(Frames {
            values: &self.values[first_value..],
            first_value,
            row_stride: self.row_stride,
            num_classes: self.num_classes,
            num_frames,
        })
    }

    /// Returns the number of frames of all utterances, as their segments say.
    pub(super) fn total_frames(&self) -> usize {
        self.segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.duration))
    }
}

/// The scores of one utterance.
#[derive(Debug, Clone, Copy)]
pub struct Frames<'a> {
    /// Values from the first row on.
    values: &'a [f32],
    /// Index of the first value among the values of all utterances.
    first_value: usize,
    row_stride: usize,
    num_classes: usize,
    num_frames: usize,
}

impl<'a> Frames<'a> {
    /// Returns the number of frames.
    #[inline]
    pub fn num_frames(&self) -> usize {
        self.num_frames
    }

    /// Returns the scores of a frame.
    ///
    /// # Panics
    /// If there is no such frame, as indexing a slice does.
    #[inline]
    pub fn row(&self, frame: usize) -> &'a [f32] {
        assert!(frame < self.num_frames, "frame {frame} of {}", self.num_frames);
        &self.values[frame * self.row_stride..][..self.num_classes]
    }

    /// Returns an iterator over all frames.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [f32]> + use<'a> {
        let frames = *self;
        (0..frames.num_frames).map(move |frame| frames.row(frame))
    }

    /// Returns the score that an arc with a label adds in a frame. There is one frame more than
    /// [`num_frames`](Self::num_frames): in it, the label -1 has the score 0 and all others have
    /// -inf; in the others, -1 has -inf.
    ///
    /// # Panics
    /// If there is no such frame or no such class, as indexing a slice does.
    pub fn score(&self, frame: usize, label: i32) -> f32 {
        match (frame == self.num_frames, label == FINAL) {
            (true, true) => 0.0,
            (false, false) => self.row(frame)[index(label)],
            _ => f32::NEG_INFINITY,
        }
    }

    /// Returns the index of a score among the values of all utterances.
    pub(super) fn place(&self, frame: usize, class: usize) -> usize {
        self.first_value + frame * self.row_stride + class
    }

    /// Refuses NaN and plus infinity.
    pub(super) fn check(&self, utterance: usize) -> Result<(), Error> {
        for (frame, row) in self.rows().enumerate() {
            // A comparison with NaN does not hold. Testing all scores takes less time than stopping
            // at the first bad one.
            let good = row.iter().fold(true, |good, &score| good & (score < f32::INFINITY));
            if !good {
                let is_bad = |score: f32| score.is_nan() || score == f32::INFINITY;
                let bad = row.iter().enumerate().find(|&(_, &score)| is_bad(score));
                return bad.map_or(Ok(()), |(class, &score)| Err(Error::DenseScore { utterance, frame, class, score }));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        let values = [0.0; 12];
        assert!(DenseFsaVec::new(&values, 4, 3, vec![0..3, 1..2]).is_ok());
        assert!(DenseFsaVec::new(&values[..11], 4, 3, vec![0..3]).is_ok());
        assert!(DenseFsaVec::new(&values[..10], 4, 3, vec![0..3]).is_err());
        assert!(DenseFsaVec::new(&values, 2, 3, vec![0..3]).is_err());
        assert!(DenseFsaVec::new(&values, usize::MAX, 3, vec![0..3]).is_err());
        assert!(DenseFsaVec::from_frames(&values, 5).is_err());
        assert!(DenseFsaVec::from_frames(&values, 0).is_err());
        assert_eq!(DenseFsaVec::from_frames(&[], 3).unwrap().utterance(0).unwrap().num_frames(), 0);
        assert!(DenseFsaVec::from_padded(&values, [2, 3, 2], &[3]).is_err());
        let splits = RowSplits::new(vec![0, 3, 4]).unwrap();
        assert_eq!(DenseFsaVec::from_row_splits(&values, 3, &splits).unwrap().utterance(1).unwrap().num_frames(), 1);
        assert!(DenseFsaVec::from_row_splits(&values, 2, &splits).is_err());
    }

    #[test]
    fn utterances_that_do_not_fit_are_named() {
        let values = [0.0; 12];
        let dense = DenseFsaVec::from_padded(&values, [2, 3, 2], &[3, 4]).unwrap();
        assert!(dense.utterance(0).is_ok());
        let too_long = Error::DenseSegment { utterance: 1, sequence: 1, start: 0, duration: 4, num_frames: 3 };
        assert_eq!(dense.utterance(1).unwrap_err(), too_long);
        assert_eq!(dense.clone().with_allow_truncate(1).utterance(1).unwrap().num_frames(), 3);
        let segment = |sequence, start, duration| Segment { sequence, start, duration };
        let dense =
            dense.with_segments(vec![segment(2, 0, 1), segment(0, 3, 0), segment(0, 4, 0), segment(0, 1, usize::MAX)]);
        assert_eq!(
            dense.utterance(0).unwrap_err(),
            Error::DenseSequence { utterance: 0, sequence: 2, num_sequences: 2 }
        );
        assert_eq!(dense.utterance(1).unwrap().num_frames(), 0);
        assert!(dense.utterance(2).is_err() && dense.utterance(3).is_err());
    }

    #[test]
    fn scores_that_are_none_are_named() {
        let check =
            |bad: f32| DenseFsaVec::from_frames(&[0.0, 1.0, 2.0, bad], 2).unwrap().utterance(0).unwrap().check(7);
        assert_eq!(check(3.0), Ok(()));
        assert_eq!(check(f32::NEG_INFINITY), Ok(()));
        let error = Error::DenseScore { utterance: 7, frame: 1, class: 1, score: f32::INFINITY };
        assert_eq!(check(f32::INFINITY), Err(error));
        assert!(matches!(check(f32::NAN), Err(Error::DenseScore { utterance: 7, frame: 1, class: 1, .. })));
    }
}
