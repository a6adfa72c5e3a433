//! The log-probabilities of an utterance.

use kaldera_base::math;

use crate::error::Error;
use crate::rows::Rows;

/// The log-probabilities of an utterance, or of a chunk of it: a row per frame, a column per token.
///
/// Values are natural logarithms. They may be minus infinity, and rows need not sum to 1; NaN and
/// plus infinity are refused. Every error has the name of the utterance.
#[derive(Debug, Clone, Copy)]
pub struct LogProbs<'a>(Rows<'a>);

impl<'a> LogProbs<'a> {
    /// Creates rows of `num_tokens` values each.
    ///
    /// # Errors
    /// [`Error::NoTokens`] for rows of no values, [`Error::Rows`] if the values are not whole rows,
    /// [`Error::Value`] with the frame and the token of a value that is NaN or plus infinity.
    pub fn new(utterance: &'a str, values: &'a [f32], num_tokens: usize) -> Result<Self, Error> {
        // NaN is not below infinity either.
        Rows::new(utterance, values, num_tokens, |value| value < f32::INFINITY).map(Self)
    }

    /// Takes the rows of an array `[frames, tokens]`.
    ///
    /// ```
    /// use kaldera_decoder::LogProbs;
    /// use ndarray::array;
    ///
    /// let values = array![[-0.1_f32, -2.4], [-1.6, -0.2]];
    /// assert_eq!(LogProbs::from_array("utt-1", values.view())?.frame(1), [-1.6, -0.2]);
    /// assert!(LogProbs::from_array("utt-1", values.t()).is_err());
    /// # Ok::<(), kaldera_decoder::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Order`] unless the array is in C order.
    #[cfg(feature = "ndarray")]
    pub fn from_array(utterance: &'a str, array: ndarray::ArrayView2<'a, f32>) -> Result<Self, Error> {
        let num_tokens = array.ncols();
        let values = array.to_slice().ok_or_else(|| Error::Order { utterance: utterance.into() })?;
        Self::new(utterance, values, num_tokens)
    }

    /// Returns the name of the utterance.
    pub fn utterance(&self) -> &'a str {
        self.0.utterance
    }

    /// Returns the number of rows.
    pub fn num_frames(&self) -> usize {
        self.0.num_frames()
    }

    /// Returns the number of values of a row.
    pub fn num_tokens(&self) -> usize {
        self.0.width
    }

    /// Returns the values of all rows, one row after another.
    pub fn values(&self) -> &'a [f32] {
        self.0.values
    }

    /// Returns the rows.
    pub fn frames(&self) -> std::slice::ChunksExact<'a, f32> {
        self.0.frames()
    }

    /// Returns a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn frame(&self, frame: usize) -> &'a [f32] {
        self.0.frame(frame)
    }

    /// Returns the rows of a range of frames.
    ///
    /// # Errors
    /// [`Error::Frames`] if the range is not within the rows.
    pub fn slice(&self, frames: std::ops::Range<usize>) -> Result<Self, Error> {
        let num_frames = self.num_frames();
        if frames.start > frames.end || frames.end > num_frames {
            return Err(Error::Frames { utterance: self.utterance().into(), frames, num_frames });
        }
        let Rows { values, width, .. } = self.0;
        Ok(Self(Rows { values: &values[frames.start * width..frames.end * width], ..self.0 }))
    }

    /// Returns the column of a label, which must exist.
    pub(crate) fn column(&self, label: i32) -> Result<usize, Error> {
        usize::try_from(label).ok().filter(|&label| label < self.num_tokens()).ok_or_else(|| Error::Label {
            utterance: self.utterance().into(),
            label,
            num_tokens: self.num_tokens(),
        })
    }

    /// Checks that there is a column for each token of a decoder.
    pub(crate) fn check_columns(&self, expected: usize) -> Result<(), Error> {
        if self.num_tokens() == expected {
            return Ok(());
        }
        Err(Error::Columns { utterance: self.utterance().into(), expected, found: self.num_tokens() })
    }
}

/// Takes the logarithm of the softmax of each row in place, for a network without it at its end. A
/// row of minus infinities is unchanged.
pub fn log_softmax(values: &mut [f32], num_tokens: usize) {
    for row in values.chunks_mut(num_tokens.max(1)) {
        math::log_softmax(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named() {
        let named = |values: &[f32], num_tokens| LogProbs::new("utt-7", values, num_tokens).unwrap_err().to_string();
        assert!(named(&[0.0, f32::NAN], 1).contains("utt-7: frame 1, column 0"));
        assert!(named(&[0.0, f32::INFINITY], 2).contains("frame 0, column 1"));
        assert!(named(&[0.0; 3], 2).contains("utt-7"));
        assert!(named(&[], 0).contains("utt-7"));
        assert!(LogProbs::new("", &[f32::NEG_INFINITY], 1).is_ok());
    }

    #[test]
    fn softmax_sums_to_one() {
        let mut values = [1.0, 2.0, 3.0, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
        log_softmax(&mut values, 3);
        let sum: f32 = values[..3].iter().map(|value| value.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6);
        assert_eq!(values[3..], [f32::NEG_INFINITY; 3]);
    }
}
