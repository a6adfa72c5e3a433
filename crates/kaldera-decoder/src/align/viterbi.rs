//! The best alignment of a transcript with CTC's rules.

use kaldera_base::setters;

use crate::align::blocks::{Trellis, best_states};
use crate::error::Error;
use crate::log_probs::LogProbs;
use crate::result::{FrameTimes, Segment};

/// Transitions that a path through the labels of a transcript may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Topology {
    /// CTC: blanks may stand between labels, and must stand between equal ones.
    #[default]
    Ctc,
    /// Each label is a state with a loop, as in a monophone HMM. No frame is a blank, and equal
    /// labels may follow each other.
    #[doc(alias = "monophone")]
    Hmm,
}

/// Options of [`forced_align`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct AlignOptions {
    /// Transitions that a path may take.
    pub topology: Topology,
    /// The blank.
    pub blank: i32,
    /// A label that matches anything at no cost, for speech that the transcript does not have. It
    /// needs no column.
    pub star: Option<i32>,
    /// A label that may stand between words and at both ends, for
    /// [`align_words`](super::align_words): silence, or the star.
    pub silence: Option<i32>,
    /// Maximum number of bytes for the scores of a block of frames; 256 MiB by default. An
    /// utterance that needs more is divided into at most 256 blocks. A block that still needs more
    /// is divided again. Each level of blocks computes all frames once more, and keeps up to 256
    /// rows of scores in addition to these bytes.
    pub max_bytes: usize,
}

setters! {
    AlignOptions:
    topology, with_topology: Topology = Topology::Ctc, "With this topology.";
    blank, with_blank: i32 = 0, "With this blank.";
    star, with_star: Option<i32> = None, "With a label that matches anything.";
    silence, with_silence: Option<i32> = None, "With a label that may stand between words.";
    max_bytes, with_max_bytes: usize = 256 << 20, "With this many bytes.";
}

/// The frames of the labels of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Alignment {
    /// The utterance.
    pub utterance: String,
    /// The blank or a label for each frame.
    pub path: Vec<i32>,
    /// The log-probability of this blank or label for each frame.
    pub path_scores: Vec<f32>,
    /// Sum of `path_scores`.
    pub score: f64,
    /// The labels with their frames, one for each label of the transcript. A confidence is the
    /// geometric mean of the probabilities of its frames.
    #[doc(alias = "merge_tokens")]
    pub tokens: Vec<Segment>,
}

impl Alignment {
    /// Sets the texts of tokens, by their labels.
    #[must_use]
    pub fn with_texts<T: Into<String>>(mut self, text: impl Fn(i32) -> T) -> Self {
        for token in &mut self.tokens {
            token.text = text(token.id).into();
        }
        self
    }

    /// Returns the words that these tokens spell, from the texts of the words and their numbers of
    /// tokens. A word has the frames from the first of its first token to the last of its last
    /// token. Its confidence is the mean of its tokens' confidences, weighted by frames.
    ///
    /// # Errors
    /// [`Error::Size`] if the numbers do not sum to the number of tokens; [`Error::EmptyPhrase`]
    /// for a word without tokens.
    pub fn words<'a>(&self, words: impl IntoIterator<Item = (&'a str, usize)>) -> Result<Vec<Segment>, Error> {
        let (mut made, mut rest) = (vec![], &self.tokens[..]);
        for (text, count) in words {
            let Some((own, others)) = rest.split_at_checked(count) else {
                let expected = self.tokens.len();
                return Err(Error::Size {
                    what: "tokens of all words",
                    expected,
                    found: (expected - rest.len()).saturating_add(count),
                });
            };
            let (Some(first), Some(last)) = (own.first(), own.last()) else {
                return Err(Error::EmptyPhrase { phrase: text.into() });
            };
            let word = word_of(text, first, last, own);
            made.push(word);
            rest = others;
        }
        if rest.is_empty() {
            return Ok(made);
        }
        let expected = self.tokens.len();
        Err(Error::Size { what: "tokens of all words", expected, found: expected - rest.len() })
    }
}

/// Makes a word from its first and its last token, with the mean confidence of its tokens by
/// frames.
pub(super) fn word_of(text: &str, first: &Segment, last: &Segment, tokens: &[Segment]) -> Segment {
    let (frames, sum) = tokens.iter().fold((0.0, 0.0), |(frames, sum), token| {
        #[expect(clippy::cast_precision_loss, reason = "utterances have fewer than 2^53 frames")]
        let count = token.frames.len() as f64;
        (frames + count, sum + count * token.confidence.unwrap_or(1.0).ln())
    });
    let mut word = first.clone();
    word.id = -1;
    word.text = text.into();
    (word.frames.end, word.end) = (last.frames.end, last.end);
    word.confidence = Some((sum / frames).exp());
    word
}

/// A transcript and the order in which its states may follow each other. State `i` is the blank
/// before label `i`, and the states after the last blank are the labels.
struct Chain<'a> {
    log_probs: LogProbs<'a>,
    columns: Vec<Option<usize>>,
    /// `None` if no frame is a blank.
    blank: Option<usize>,
    /// 0 if a label may directly follow the one before, minus infinity if both are equal.
    skip: Vec<f64>,
    emissions: Vec<f64>,
}

impl Trellis for Chain<'_> {
    /// Only the first step may begin with a label.
    fn start(&self) -> Vec<f64> {
        let mut scores = vec![f64::NEG_INFINITY; 2 * self.columns.len() + 1];
        scores[0] = 0.0;
        scores
    }

    fn step(&mut self, frame: usize, from: &[f64], to: &mut [f64]) {
        let count = self.columns.len();
        let row = self.log_probs.frame(frame);
        for (score, column) in self.emissions.iter_mut().zip(&self.columns) {
            *score = column.map_or(0.0, |column| f64::from(row[column]));
        }
        let blank = self.blank.map_or(f64::NEG_INFINITY, |blank| f64::from(row[blank]));
        let (blanks, labels) = from.split_at(count + 1);
        let (to_blanks, to_labels) = to.split_at_mut(count + 1);
        to_blanks[0] = blanks[0] + blank;
        for ((new, &own), &label) in to_blanks[1..].iter_mut().zip(&blanks[1..]).zip(labels) {
            *new = larger(own, label) + blank;
        }
        if count > 0 {
            to_labels[0] = larger(labels[0], blanks[0]) + self.emissions[0];
            let rest = to_labels[1..].iter_mut().zip(&labels[1..]).zip(&blanks[1..]).zip(labels);
            for ((((new, &own), &before), &label), (&skip, &emission)) in
                rest.zip(self.skip[1..].iter().zip(&self.emissions[1..]))
            {
                *new = larger(larger(own, before), label + skip) + emission;
            }
        }
    }

    /// If several states are equal, the path stays in its state.
    fn origin(&self, state: usize, from: &[f64]) -> usize {
        let count = self.columns.len();
        let mut candidates = [state; 3];
        if state > count {
            let label = state - count - 1;
            candidates[1] = label;
            if label > 0 && self.skip[label] == 0.0 {
                candidates[2] = state - 1;
            }
        } else if state > 0 {
            candidates[1] = count + state;
        }
        first_best(candidates, from)
    }

    fn end(&self, scores: &[f64]) -> Option<usize> {
        let count = self.columns.len();
        let best = first_best([count, 2 * count], scores);
        (scores[best] > f64::NEG_INFINITY).then_some(best)
    }
}

/// Returns the state with the best score; ties go to the first.
pub(super) fn first_best(states: impl IntoIterator<Item = usize>, scores: &[f64]) -> usize {
    let best = states.into_iter().reduce(|best, state| if scores[state] > scores[best] { state } else { best });
    best.unwrap_or_default()
}

#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Returns the best alignment of a transcript: a path through blanks and labels, in which equal
/// neighbours have a blank between them, or as [`AlignOptions::topology`] says. If several paths
/// are best, any of them is returned. O(frames × labels) time. The memory is bounded by
/// [`AlignOptions::max_bytes`] as far as that is possible.
///
/// # Errors
/// [`Error::Option`] for invalid times, [`Error::Label`] for a label without a column,
/// [`Error::BlankLabel`], [`Error::TooFewFrames`], and [`Error::NoAlignment`] if all alignments
/// have probability 0.
pub fn forced_align(
    log_probs: &LogProbs<'_>,
    targets: &[i32],
    options: &AlignOptions,
    times: &FrameTimes,
) -> Result<Alignment, Error> {
    times.check()?;
    let utterance = || log_probs.utterance().to_owned();
    let blank = log_probs.column(options.blank)?;
    if let Some(position) = targets.iter().position(|&label| label == options.blank) {
        return Err(Error::BlankLabel { utterance: utterance(), position, blank: options.blank });
    }
    let column = |&label: &i32| {
        // A star has no column, or one that is not used.
        if Some(label) == options.star { Ok(None) } else { log_probs.column(label).map(Some) }
    };
    let columns = targets.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let num_frames = log_probs.num_frames();
    let is_ctc = options.topology == Topology::Ctc;
    let repeats = targets.windows(2).filter(|pair| is_ctc && pair[0] == pair[1]).count();
    let needed = targets.len() + repeats;
    if num_frames < needed {
        return Err(Error::TooFewFrames { utterance: utterance(), num_frames, labels: targets.len(), needed });
    }
    let skip = |i: usize| {
        let follows = i > 0 && (!is_ctc || targets[i - 1] != targets[i]);
        if follows { 0.0 } else { f64::NEG_INFINITY }
    };
    let skip = (0..targets.len()).map(skip).collect();
    let count = targets.len();
    let own_blank = is_ctc.then_some(blank);
    let mut chain = Chain { log_probs: *log_probs, columns, blank: own_blank, skip, emissions: vec![0.0; count] };
    let states = best_states(&mut chain, num_frames, options.max_bytes)
        .ok_or_else(|| Error::NoAlignment { utterance: utterance(), labels: count })?;
    let label = |state: usize| {
        let place = state.checked_sub(count + 1)?;
        Some((targets[place], chain.columns[place]))
    };
    Ok(alignment(log_probs, &states, label, (options.blank, blank), times))
}

/// Makes an alignment from the state of each frame. `label` returns the label of a state and its
/// column, or `None` for a blank, which is the label `blank.0` with the column `blank.1`.
pub(super) fn alignment(
    log_probs: &LogProbs<'_>,
    states: &[usize],
    label: impl Fn(usize) -> Option<(i32, Option<usize>)>,
    blank: (i32, usize),
    times: &FrameTimes,
) -> Alignment {
    let mut made = Alignment { utterance: log_probs.utterance().into(), ..Alignment::default() };
    let mut frame = 0;
    for run in states.chunk_by(|a, b| a == b) {
        let (id, column) = label(run[0]).unwrap_or((blank.0, Some(blank.1)));
        let frames = frame..frame + run.len();
        let mut sum = 0.0;
        for frame in frames.clone() {
            let score = column.map_or(0.0, |column| log_probs.frame(frame)[column]);
            sum += f64::from(score);
            made.path.push(id);
            made.path_scores.push(score);
        }
        made.score += sum;
        if label(run[0]).is_some() {
            #[expect(clippy::cast_precision_loss, reason = "utterances have fewer than 2^53 frames")]
            let mean = sum / run.len() as f64;
            made.tokens.push(Segment::new(id, "", frames.clone(), times).with_confidence(mean.exp()));
        }
        frame = frames.end;
    }
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the best score over all strings of labels, one per frame, that collapse to the
    /// transcript.
    fn brute_force(log_probs: &LogProbs<'_>, targets: &[i32]) -> f64 {
        let (frames, tokens) = (log_probs.num_frames(), log_probs.num_tokens());
        let mut best = f64::NEG_INFINITY;
        for mut number in 0..tokens.pow(u32::try_from(frames).unwrap()) {
            let (mut sum, mut collapsed, mut last) = (0.0, vec![], 0);
            for frame in 0..frames {
                let label = i32::try_from(number % tokens).unwrap();
                number /= tokens;
                sum += f64::from(log_probs.frame(frame)[usize::try_from(label).unwrap()]);
                if label != last && label != 0 {
                    collapsed.push(label);
                }
                last = label;
            }
            if collapsed == targets {
                best = best.max(sum);
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_best_alignment_is_found_in_any_blocks(
            values in prop::collection::vec(-8.0_f32..0.0, 0..19),
            targets in prop::collection::vec(1..3_i32, 0..5),
            max_bytes in 0..400_usize,
        ) {
            let values = &values[..values.len() / 3 * 3];
            let log_probs = LogProbs::new("u", values, 3).unwrap();
            let options = AlignOptions::default().with_max_bytes(max_bytes);
            let best = brute_force(&log_probs, &targets);
            match forced_align(&log_probs, &targets, &options, &FrameTimes::default()) {
                Ok(found) => {
                    prop_assert!((found.score - best).abs() < 1e-9, "{} {}", found.score, best);
                    prop_assert_eq!(found.tokens.iter().map(|token| token.id).collect::<Vec<_>>(), targets);
                }
                Err(_) => prop_assert_eq!(best, f64::NEG_INFINITY),
            }
        }
    }

    proptest! {
        #[test]
        fn a_path_of_an_hmm_is_the_best_way_to_divide_the_frames(
            values in prop::collection::vec(-8.0_f32..0.0, 0..22),
            targets in prop::collection::vec(1..3_i32, 0..5),
        ) {
            let values = &values[..values.len() / 3 * 3];
            let log_probs = LogProbs::new("u", values, 3).unwrap();
            let frames = log_probs.num_frames();
            // All ways to divide the frames among the labels.
            let mut best = vec![f64::NEG_INFINITY; frames + 1];
            best[0] = 0.0;
            for &label in &targets {
                let own = |from: usize, to: usize| -> f64 {
                    let column = usize::try_from(label).unwrap();
                    (from..to).map(|frame| f64::from(log_probs.frame(frame)[column])).sum()
                };
                let before = best.clone();
                best = (0..=frames)
                    .map(|to| (0..to).map(|from| before[from] + own(from, to)).fold(f64::NEG_INFINITY, f64::max))
                    .collect();
            }
            let options = AlignOptions::default().with_topology(Topology::Hmm);
            match forced_align(&log_probs, &targets, &options, &FrameTimes::default()) {
                Ok(found) => {
                    prop_assert!((found.score - best[frames]).abs() < 1e-9, "{} {}", found.score, best[frames]);
                    prop_assert_eq!(found.tokens.iter().map(|token| token.id).collect::<Vec<_>>(), targets);
                }
                Err(_) => prop_assert_eq!(best[frames], f64::NEG_INFINITY),
            }
        }
    }

    #[test]
    fn impossible_transcripts_are_errors() {
        let values = [0.0, f32::NEG_INFINITY, -1.0, 0.0, f32::NEG_INFINITY, -1.0];
        let log_probs = LogProbs::new("u", &values, 3).unwrap();
        let align = |targets: &[i32]| {
            forced_align(&log_probs, targets, &AlignOptions::default(), &FrameTimes::default()).unwrap_err()
        };
        assert_eq!(align(&[2, 2]), Error::TooFewFrames { utterance: "u".into(), num_frames: 2, labels: 2, needed: 3 });
        assert_eq!(align(&[1]), Error::NoAlignment { utterance: "u".into(), labels: 1 });
        assert_eq!(align(&[3]), Error::Label { utterance: "u".into(), label: 3, num_tokens: 3 });
        assert_eq!(align(&[2, 0]), Error::BlankLabel { utterance: "u".into(), position: 1, blank: 0 });
    }

    #[test]
    fn a_star_matches_what_no_label_says() {
        let values = [-0.1, -3.0, -9.0, -3.0, -0.1, -9.0, -9.0, -9.0, -0.1];
        let log_probs = LogProbs::new("u", &values, 3).unwrap();
        let options = AlignOptions::default().with_star(Some(9));
        let found = forced_align(&log_probs, &[9, 2], &options, &FrameTimes::default()).unwrap();
        assert_eq!(found.path, [9, 9, 2]);
    }

    #[test]
    fn words_have_the_frames_of_their_tokens() {
        let values = [-9.0, 0.0, -9.0, -9.0, -9.0, 0.0, 0.0, -9.0, -9.0, -9.0, 0.0, -9.0];
        let log_probs = LogProbs::new("u", &values, 3).unwrap();
        let found = forced_align(&log_probs, &[1, 2, 1], &AlignOptions::default(), &FrameTimes::default()).unwrap();
        let words = found.words([("ab", 2), ("a", 1)]).unwrap();
        assert_eq!((words[0].frames.clone(), words[1].frames.clone()), (0..2, 3..4));
        assert!(found.words([("ab", 2)]).is_err() && found.words([("abc", 4)]).is_err());
    }
}
