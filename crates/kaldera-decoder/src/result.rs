//! Results of decoders: words and tokens with times, scores and confidences.

use std::ops::Range;

use kaldera_base::math::log_softmax;
use kaldera_base::setters;

use crate::error::Error;

/// Length of a frame of a network's output. Functions that take it refuse lengths that are not
/// finite and above 0, a subsampling of 0, and an offset that is not finite: [`Error::Option`].
///
/// ```
/// use kaldera_decoder::FrameTimes;
///
/// // Features every 10 ms, of which the network keeps one in four.
/// let times = FrameTimes::new(0.01).with_subsampling(4);
/// assert!((times.seconds(25) - 1.0).abs() < 1e-12);
/// assert!((times.with_offset(2.0).seconds(25) - 3.0).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct FrameTimes {
    /// Seconds from one frame of features to the next.
    pub frame_shift: f64,
    /// Number of frames of features per frame of output.
    pub subsampling: u32,
    /// Seconds at which the first frame begins, if the utterance is a part of a recording.
    pub offset: f64,
}

setters! {
    FrameTimes:
    subsampling, with_subsampling: u32, "With this many frames of features for a frame of output.";
    offset, with_offset: f64, "With the first frame at this time.";
}

impl Default for FrameTimes {
    /// 10 ms without subsampling.
    fn default() -> Self {
        Self::new(0.01)
    }
}

impl FrameTimes {
    /// Creates frames of this many seconds.
    pub fn new(frame_shift: f64) -> Self {
        Self { frame_shift, subsampling: 1, offset: 0.0 }
    }

    /// Refuses an invalid length or time: a frame of 0 s, or NaN.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |name, value, reason| Err(Error::Option { name, value, reason });
        if !(self.frame_shift.is_finite() && self.frame_shift > 0.0) {
            return refuse("frame_shift", self.frame_shift, "it must be finite and above 0");
        }
        if self.subsampling == 0 {
            return refuse("subsampling", 0.0, "it must be 1 or more");
        }
        if !self.offset.is_finite() {
            return refuse("offset", self.offset, "it must be finite");
        }
        Ok(())
    }

    /// Returns the time at which a frame begins.
    #[expect(clippy::cast_precision_loss, reason = "frames of 2^53 and more are not reached")]
    pub fn seconds(&self, frame: usize) -> f64 {
        self.offset + frame as f64 * self.frame_shift * f64::from(self.subsampling)
    }
}

/// A token or a word of an utterance, with its frames and times.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Segment {
    /// The number of the token or word; -1 for a word that has none.
    pub id: i32,
    /// Its text; empty if the decoder only knows numbers.
    pub text: String,
    /// Its frames; the end is exclusive.
    pub frames: Range<usize>,
    /// Seconds at which it begins.
    pub start: f64,
    /// Seconds at which it ends.
    pub end: f64,
    /// Seconds at which its frames begin and end, if `start` and `end` are the times at which it is
    /// heard: see [`Loudness`](crate::align::Loudness).
    pub peak: Option<Range<f64>>,
    /// The probability that it is right; `None` if the decoder computes none.
    pub confidence: Option<f64>,
}

impl Segment {
    /// Creates a segment of these frames.
    pub fn new(id: i32, text: impl Into<String>, frames: Range<usize>, times: &FrameTimes) -> Self {
        let (start, end) = (times.seconds(frames.start), times.seconds(frames.end));
        Self { id, text: text.into(), frames, start, end, peak: None, confidence: None }
    }

    /// Sets the confidence.
    #[must_use]
    pub fn with_confidence(mut self, confidence: f64) -> Self {
        self.confidence = Some(confidence);
        self
    }

    /// Returns the duration in seconds.
    pub fn duration(&self) -> f64 {
        self.end - self.start
    }
}

/// The parts of the score of a hypothesis: natural logarithms, larger is better.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Scores {
    /// The network's score, times its scale if the decoder has one. Depending on the decoder, it is
    /// over all alignments or of the best one.
    pub acoustic: f64,
    /// The language model's score, times its weight; for a graph, all scores of the graph.
    pub language_model: f64,
    /// Scores for each word or token: insertion, unknown words, silence.
    pub insertion: f64,
    /// The bonus of hot words.
    pub hot_words: f64,
}

impl Scores {
    /// Returns the sum, by which hypotheses are ordered, unless an option of the decoder says
    /// otherwise.
    pub fn total(&self) -> f64 {
        self.acoustic + self.extra()
    }

    /// Returns the sum without the network's score.
    pub fn extra(&self) -> f64 {
        self.language_model + self.insertion + self.hot_words
    }
}

/// A hypothesis of the tokens and words of an utterance.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Hypothesis {
    /// Its tokens, with their frames in the best alignment.
    pub tokens: Vec<Segment>,
    /// Its words; empty if the decoder does not know which tokens make a word.
    pub words: Vec<Segment>,
    /// Its scores.
    pub scores: Scores,
}

impl Hypothesis {
    /// Returns the words, with a space between two of them.
    pub fn text(&self) -> String {
        join(&self.words)
    }

    /// Returns the numbers of its tokens.
    pub fn token_ids(&self) -> Vec<i32> {
        self.tokens.iter().map(|token| token.id).collect()
    }

    /// Returns the numbers of its words.
    pub fn word_ids(&self) -> Vec<i32> {
        self.words.iter().map(|word| word.id).collect()
    }
}

fn join(segments: &[Segment]) -> String {
    segments.iter().map(|segment| &*segment.text).collect::<Vec<_>>().join(" ")
}

/// The result of an utterance: its hypotheses, the best one first.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Recognition {
    /// The utterance.
    pub utterance: String,
    /// Number of frames of the utterance.
    pub num_frames: usize,
    /// The hypotheses by falling total score; ties go to the one found first.
    pub hypotheses: Vec<Hypothesis>,
}

impl Recognition {
    /// Creates the result of these hypotheses.
    pub fn new(utterance: impl Into<String>, num_frames: usize, hypotheses: Vec<Hypothesis>) -> Self {
        Self { utterance: utterance.into(), num_frames, hypotheses }
    }

    /// Returns the best hypothesis.
    pub fn best(&self) -> Option<&Hypothesis> {
        self.hypotheses.first()
    }

    /// Returns the words of the best hypothesis, with a space between two of them.
    pub fn text(&self) -> String {
        self.best().map(Hypothesis::text).unwrap_or_default()
    }

    /// Sets a confidence for each word, or for each token if there are no words: the share of the
    /// hypotheses' probability that has the same one in overlapping frames. More hypotheses give
    /// better confidences.
    #[must_use]
    pub fn with_confidences(mut self) -> Self {
        let posteriors = self.posteriors();
        let units = |one: &Hypothesis| if one.words.is_empty() { one.tokens.clone() } else { one.words.clone() };
        let all: Vec<Vec<Segment>> = self.hypotheses.iter().map(units).collect();
        for hypothesis in &mut self.hypotheses {
            let own = if hypothesis.words.is_empty() { &mut hypothesis.tokens } else { &mut hypothesis.words };
            for unit in own {
                let same = |other: &Segment| {
                    let overlap = other.frames.start < unit.frames.end && unit.frames.start < other.frames.end;
                    overlap && other.id == unit.id && other.text == unit.text
                };
                let having = all.iter().zip(&posteriors).filter(|(others, _)| others.iter().any(same));
                unit.confidence = Some(having.map(|(_, share)| share).sum());
            }
        }
        self
    }

    /// Returns the share of each hypothesis in the probability of all hypotheses here: e to its
    /// total score, normalised.
    pub fn posteriors(&self) -> Vec<f64> {
        let mut shares: Vec<f64> = self.hypotheses.iter().map(|one| one.scores.total()).collect();
        log_softmax(&mut shares);
        shares.into_iter().map(f64::exp).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posteriors_sum_to_one() {
        let scores = |acoustic| Scores { acoustic, ..Scores::default() };
        let one = |acoustic| Hypothesis { scores: scores(acoustic), ..Hypothesis::default() };
        let result = Recognition::new("u", 3, vec![one(-1000.0), one(-1001.0)]);
        let posteriors = result.posteriors();
        assert!((posteriors.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((posteriors[0] / posteriors[1] - 1_f64.exp()).abs() < 1e-9);
    }

    #[test]
    fn confidences_are_shared_by_hypotheses_with_the_same_word() {
        let times = FrameTimes::default();
        let one = |text: &str, frames: Range<usize>| Hypothesis {
            words: vec![Segment::new(1, "a", 0..2, &times), Segment::new(-1, text, frames, &times)],
            ..Hypothesis::default()
        };
        let all = vec![one("b", 3..5), one("b", 4..6), one("b", 7..9), one("c", 3..5)];
        let result = Recognition::new("u", 9, all).with_confidences();
        let confidences =
            |i: usize| result.hypotheses[i].words.iter().map(|word| word.confidence.unwrap()).collect::<Vec<_>>();
        assert_eq!((confidences(0), confidences(2)), (vec![1.0, 0.5], vec![1.0, 0.25]));
    }
}
