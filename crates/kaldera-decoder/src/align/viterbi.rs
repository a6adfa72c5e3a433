//! The best alignment of a transcript with CTC's rules.

use crate::error::Error;
use crate::log_probs::LogProbs;
use crate::result::{FrameTimes, Segment};

/// Options of [`forced_align`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct AlignOptions {
    /// The blank.
    pub blank: i32,
    /// A label that matches anything at no cost: what has been said where the transcript has gaps.
    /// It needs no column.
    pub star: Option<i32>,
    /// How many bytes the backward pass may take: 256 MiB. An utterance that needs more is computed
    /// twice, in blocks of frames, with memory that grows with the square root of its frames.
    pub max_bytes: usize,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self { blank: 0, star: None, max_bytes: 256 << 20 }
    }
}

impl AlignOptions {
    /// With this blank.
    #[must_use]
    pub fn with_blank(mut self, blank: i32) -> Self {
        self.blank = blank;
        self
    }

    /// With a label that matches anything.
    #[must_use]
    pub fn with_star(mut self, star: Option<i32>) -> Self {
        self.star = star;
        self
    }

    /// With this many bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }
}

/// Where the labels of a transcript are.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Alignment {
    /// The utterance.
    pub utterance: String,
    /// For each frame the blank or a label.
    pub path: Vec<i32>,
    /// For each frame the log-probability of that.
    pub path_scores: Vec<f32>,
    /// Their sum.
    pub score: f64,
    /// The labels with their frames, one for each of the transcript; a confidence is the geometric
    /// mean of the probabilities of its frames.
    #[doc(alias = "merge_tokens")]
    pub tokens: Vec<Segment>,
}

impl Alignment {
    /// The words whose tokens these are, by their texts and numbers of tokens: each from its first
    /// token's first frame to its last token's last one. A confidence is the mean of its tokens' by
    /// frames.
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
            let (frames, sum) = own.iter().fold((0.0, 0.0), |(frames, sum), token| {
                #[expect(clippy::cast_precision_loss, reason = "utterances have fewer than 2^53 frames")]
                let count = token.frames.len() as f64;
                (frames + count, sum + count * token.confidence.unwrap_or(1.0).ln())
            });
            let mut word = first.clone();
            word.id = -1;
            word.text = text.into();
            (word.frames.end, word.end) = (last.frames.end, last.end);
            word.confidence = Some((sum / frames).exp());
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

/// How the best path comes into a state: from itself, from the state before, or, past a blank, from
/// the label before that.
const STAY: u8 = 0;
const STEP: u8 = 1;
const SKIP: u8 = 2;

/// The scores of all states of the trellis in a frame: `blanks[i]` before label `i`, `labels[i]`
/// within it.
#[derive(Clone)]
struct Column {
    blanks: Vec<f64>,
    labels: Vec<f64>,
}

/// A transcript and what may follow what in it.
struct Trellis<'a> {
    log_probs: LogProbs<'a>,
    targets: &'a [i32],
    columns: Vec<Option<usize>>,
    blank: usize,
    /// 0 where a label may follow the one before at once, minus infinity where these are equal.
    skip: Vec<f64>,
}

impl Trellis<'_> {
    fn num_states(&self) -> usize {
        2 * self.targets.len() + 1
    }

    /// Before the first frame; only its first step may begin with a label.
    fn start(&self) -> Column {
        let count = self.targets.len();
        let mut column = Column { blanks: vec![f64::NEG_INFINITY; count + 1], labels: vec![f64::NEG_INFINITY; count] };
        column.blanks[0] = 0.0;
        column
    }

    /// The emissions of all labels in a frame.
    fn emissions(&self, frame: usize, scores: &mut [f64]) -> f64 {
        let row = self.log_probs.frame(frame);
        for (score, column) in scores.iter_mut().zip(&self.columns) {
            *score = column.map_or(0.0, |column| f64::from(row[column]));
        }
        f64::from(row[self.blank])
    }

    /// From a frame to the next.
    fn step(&self, from: &Column, to: &mut Column, emissions: &[f64], blank: f64) {
        let count = self.targets.len();
        let (blanks, labels) = (&from.blanks[..=count], &from.labels[..count]);
        to.blanks[0] = blanks[0] + blank;
        for ((new, &own), &label) in to.blanks[1..].iter_mut().zip(&blanks[1..]).zip(labels) {
            *new = larger(own, label) + blank;
        }
        if count > 0 {
            to.labels[0] = larger(labels[0], blanks[0]) + emissions[0];
            let rest = to.labels[1..].iter_mut().zip(&labels[1..]).zip(&blanks[1..]).zip(labels);
            for ((((new, &own), &before), &label), (&skip, &emission)) in
                rest.zip(self.skip[1..].iter().zip(&emissions[1..]))
            {
                *new = larger(larger(own, before), label + skip) + emission;
            }
        }
    }

    /// The same, and how the best path came: of equal ones, the one that stays.
    fn step_with_origins(&self, from: &Column, to: &mut Column, emissions: &[f64], blank: f64, origins: &mut [u8]) {
        self.step(from, to, emissions, blank);
        let count = self.targets.len();
        let (of_blanks, of_labels) = origins.split_at_mut(count + 1);
        of_blanks[0] = STAY;
        for ((origin, &own), &label) in of_blanks[1..].iter_mut().zip(&from.blanks[1..]).zip(&from.labels) {
            *origin = u8::from(label > own);
        }
        if count > 0 {
            of_labels[0] = u8::from(from.blanks[0] > from.labels[0]);
            let rest = of_labels[1..].iter_mut().zip(&from.labels[1..]).zip(&from.blanks[1..]).zip(&from.labels);
            for ((((origin, &own), &before), &label), &skip) in rest.zip(&self.skip[1..]) {
                let best = larger(own, before);
                let came = u8::from(before > own);
                *origin = if label + skip > best { SKIP } else { came };
            }
        }
    }
}

#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The best alignment of a transcript: a path through blanks and labels, in which equal neighbours
/// have a blank between them. Where several are best, any of them. O(frames × labels) time; the
/// memory is bounded by [`AlignOptions::max_bytes`] as far as that is possible.
///
/// # Errors
/// [`Error::Label`] for a label without a column, [`Error::BlankLabel`], [`Error::TooFewFrames`],
/// and [`Error::NoAlignment`] if all alignments have probability 0.
pub fn forced_align(
    log_probs: &LogProbs<'_>,
    targets: &[i32],
    options: &AlignOptions,
    times: &FrameTimes,
) -> Result<Alignment, Error> {
    let utterance = || log_probs.utterance().to_owned();
    let blank = log_probs.column(options.blank)?;
    if let Some(position) = targets.iter().position(|&label| label == options.blank) {
        return Err(Error::BlankLabel { utterance: utterance(), position, blank: options.blank });
    }
    let column = |&label: &i32| {
        // A star has no column of its own, or one that is not looked at.
        if Some(label) == options.star { Ok(None) } else { log_probs.column(label).map(Some) }
    };
    let columns = targets.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let num_frames = log_probs.num_frames();
    let repeats = targets.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let needed = targets.len() + repeats;
    if num_frames < needed {
        return Err(Error::TooFewFrames { utterance: utterance(), num_frames, labels: targets.len(), needed });
    }
    let skip = |i: usize| if i > 0 && targets[i - 1] != targets[i] { 0.0 } else { f64::NEG_INFINITY };
    let skip = (0..targets.len()).map(skip).collect();
    let trellis = Trellis { log_probs: *log_probs, targets, columns, blank, skip };
    let states = best_states(&trellis, num_frames, options.max_bytes)
        .ok_or_else(|| Error::NoAlignment { utterance: utterance(), labels: targets.len() })?;
    Ok(alignment(&trellis, &states, options.blank, times))
}

/// For each frame the state of the best path: a blank's number, or the number of blanks and a
/// label's.
fn best_states(trellis: &Trellis<'_>, num_frames: usize, max_bytes: usize) -> Option<Vec<u32>> {
    let (states, count) = (trellis.num_states(), trellis.targets.len());
    // Blocks of so many frames that their origins, and a column for each block, take least.
    let whole = states.saturating_mul(num_frames) <= max_bytes;
    let block = if whole { num_frames } else { (num_frames.isqrt() * 3).max(1) }.max(1);
    let (mut column, mut next) = (trellis.start(), trellis.start());
    let mut emissions = vec![0.0; count];
    let mut kept = vec![];
    let last_block = num_frames.saturating_sub(1) / block * block;
    for frame in 0..last_block {
        if frame % block == 0 {
            kept.push(column.clone());
        }
        let blank = trellis.emissions(frame, &mut emissions);
        trellis.step(&column, &mut next, &emissions, blank);
        std::mem::swap(&mut column, &mut next);
    }
    kept.push(column);
    let mut path = vec![0_u32; num_frames];
    let mut origins = vec![0_u8; states * block];
    let mut state = None;
    for (number, mut column) in kept.into_iter().enumerate().rev() {
        let frames = number * block..((number + 1) * block).min(num_frames);
        for (frame, origins) in frames.clone().zip(origins.chunks_exact_mut(states)) {
            let blank = trellis.emissions(frame, &mut emissions);
            trellis.step_with_origins(&column, &mut next, &emissions, blank, origins);
            std::mem::swap(&mut column, &mut next);
        }
        let mut at = match state {
            Some(state) => state,
            None => {
                let blank = column.blanks[count];
                let label = column.labels.last().copied().unwrap_or(f64::NEG_INFINITY);
                if blank.max(label) == f64::NEG_INFINITY {
                    return None;
                }
                if label > blank { count + count } else { count }
            }
        };
        for frame in frames.clone().rev() {
            path[frame] = u32::try_from(at).unwrap_or(u32::MAX);
            let origin = origins[(frame - frames.start) * states + at];
            at = match (at <= count, origin) {
                (_, STAY) => at,
                // From the label before a blank.
                (true, _) => count + at,
                // From the blank before a label, or the label before that.
                (false, STEP) => at - count - 1,
                (false, _) => at - 1,
            };
        }
        state = Some(at);
    }
    Some(path)
}

fn alignment(trellis: &Trellis<'_>, states: &[u32], blank: i32, times: &FrameTimes) -> Alignment {
    let count = trellis.targets.len();
    let mut made = Alignment { utterance: trellis.log_probs.utterance().into(), ..Alignment::default() };
    let mut open: Option<(usize, usize, f64)> = None;
    let mut close = |open: &mut Option<(usize, usize, f64)>, end: usize| {
        if let Some((label, start, sum)) = open.take() {
            #[expect(clippy::cast_precision_loss, reason = "utterances have fewer than 2^53 frames")]
            let mean = sum / (end - start) as f64;
            let token = Segment::new(trellis.targets[label], "", start..end, times);
            made.tokens.push(token.with_confidence(mean.exp()));
        }
    };
    for (frame, &state) in states.iter().enumerate() {
        let row = trellis.log_probs.frame(frame);
        let label = (state as usize).checked_sub(count + 1);
        let score = match label {
            None => row[trellis.blank],
            Some(label) => trellis.columns[label].map_or(0.0, |column| row[column]),
        };
        if open.is_some_and(|(now, _, _)| Some(now) != label) {
            close(&mut open, frame);
        }
        if let Some(label) = label {
            let (_, _, sum) = open.get_or_insert((label, frame, 0.0));
            *sum += f64::from(score);
        }
        made.path.push(label.map_or(blank, |label| trellis.targets[label]));
        made.path_scores.push(score);
        made.score += f64::from(score);
    }
    close(&mut open, states.len());
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The best score over all strings of labels, one a frame, that collapse to the transcript.
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
            max_bytes in 0..40_usize,
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
