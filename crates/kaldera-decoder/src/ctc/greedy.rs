//! The best token of each frame.

use crate::error::Error;
use crate::log_probs::LogProbs;
use crate::result::{FrameTimes, Hypothesis, Scores, Segment};

/// Returns the best alignment of an utterance: the best token of each frame, with repeats merged
/// and blanks dropped. Ties go to the lower number. A token's confidence is the mean probability of
/// its frames. O(frames × tokens).
///
/// ```
/// use kaldera_decoder::{FrameTimes, LogProbs, ctc};
///
/// let values = [-0.1, -3.0, -3.0, -0.2, -0.1, -3.0, -3.0, -0.1];
/// let result = ctc::greedy(&LogProbs::new("utt-1", &values, 2)?, 0, &FrameTimes::default())?;
/// assert_eq!(result.token_ids(), [1, 1]);
/// assert_eq!(result.tokens[0].frames, 1..2);
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
///
/// # Errors
/// [`Error::Label`] if the blank has no column, [`Error::Option`] for frames without a length.
#[doc(alias = "GreedyCTCDecoder")]
#[doc(alias = "greedy_search")]
pub fn greedy(log_probs: &LogProbs<'_>, blank: i32, times: &FrameTimes) -> Result<Hypothesis, Error> {
    log_probs.column(blank)?;
    times.check()?;
    let (mut tokens, mut acoustic) = (Vec::new(), 0.0);
    let (mut last, mut start, mut sum) = (blank, 0, 0.0);
    let mut close = |token: i32, frames: std::ops::Range<usize>, sum: f64| {
        if token != blank {
            #[expect(clippy::cast_precision_loss, reason = "frames of 2^53 and more are not reached")]
            let mean = sum / frames.len() as f64;
            tokens.push(Segment::new(token, "", frames, times).with_confidence(mean));
        }
    };
    for (frame, row) in log_probs.frames().enumerate() {
        let (token, score) = best_of_row(row);
        acoustic += f64::from(score);
        if token != last {
            close(last, start..frame, sum);
            (last, start, sum) = (token, frame, 0.0);
        }
        sum += f64::from(score).exp();
    }
    close(last, start..log_probs.num_frames(), sum);
    Ok(Hypothesis { tokens, scores: Scores { acoustic, ..Scores::default() }, ..Hypothesis::default() })
}

/// Returns the largest value of a row and its index; ties go to the first.
pub(crate) fn best_of_row<T: Copy + PartialOrd + From<f32>>(row: &[T]) -> (i32, T) {
    let mut found = (0, T::from(f32::NEG_INFINITY));
    for (token, &score) in (0..).zip(row) {
        if score > found.1 {
            found = (token, score);
        }
    }
    found
}
