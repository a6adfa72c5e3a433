//! NIST's stm and ctm files: segments and words with times.

use std::fmt;

use crate::score::align::{Aligned, Pair, PairKind, Rules, align};
use crate::score::best_path::{Costs, Step, best_path};
use crate::score::nist::field;
use crate::score::reference::{Reference, ScoreError, Word};
use crate::score::report::Scored;

/// A line of a ctm file; from segments, [`write_ctm`](crate::align::write_ctm) makes such lines.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CtmWord {
    /// The recording.
    pub file: String,
    /// The channel.
    pub channel: String,
    /// Seconds at which the word begins.
    pub start: f64,
    /// How many seconds it takes.
    pub duration: f64,
    /// The word.
    pub word: String,
    /// Its confidence.
    pub confidence: Option<f64>,
}

impl CtmWord {
    fn middle(&self) -> f64 {
        self.start + self.duration / 2.0
    }

    fn end(&self) -> f64 {
        self.start + self.duration
    }
}

/// A line of an stm file; its text is that line.
///
/// ```
/// use kaldera_decoder::score::{StmSegment, read_stm};
///
/// let segment = StmSegment::new("rec", "1", "ann", 0.5, 2.0, "the cat");
/// assert_eq!(segment.to_string(), "rec 1 ann 0.500 2.000 the cat");
/// assert_eq!(read_stm(&segment.to_string())?, [segment]);
/// # Ok::<(), kaldera_decoder::score::ScoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StmSegment {
    /// The recording.
    pub file: String,
    /// The channel.
    pub channel: String,
    /// The speaker, in lower case, as sclite has it.
    pub speaker: String,
    /// Seconds at which it begins.
    pub start: f64,
    /// Seconds at which it ends.
    pub end: f64,
    /// What is said; `IGNORE_TIME_SEGMENT_IN_SCORING` for what is not scored.
    pub text: String,
}

impl fmt::Display for StmSegment {
    /// White space in names becomes underscores, as do an empty name and the `;;` of a comment; in the
    /// text, white space becomes single spaces. A text whose first word would be read as labels has
    /// empty ones before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [file, channel, speaker] = [&self.file, &self.channel, &self.speaker].map(|name| field(name));
        let file = file.replace(";;", "__");
        let labels = if is_labels(self.text.split_whitespace().next()) { " <>" } else { "" };
        write!(f, "{file} {channel} {speaker} {:.3} {:.3}{labels}", self.start, self.end)?;
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() { Ok(()) } else { write!(f, " {text}") }
    }
}

impl StmSegment {
    /// What a speaker, whose name becomes lower case, says between two times in seconds.
    pub fn new(file: &str, channel: &str, speaker: &str, start: f64, end: f64, text: impl Into<String>) -> Self {
        let (file, channel, speaker) = (file.into(), channel.into(), speaker.to_lowercase());
        Self { file, channel, speaker, start, end, text: text.into() }
    }
}

/// Whether a word is the labels of a segment.
fn is_labels(word: Option<&str>) -> bool {
    word.is_some_and(|word| word.starts_with('<') && word.ends_with('>'))
}

/// The text of a segment that is not scored, in any case.
const IGNORED: &str = "ignore_time_segment_in_scoring";

/// Which lines are scored, where files or channels differ: `sclite -m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Keep {
    /// All: what a reference has and the hypothesis has not is missing.
    #[default]
    All,
    /// Of the reference, what the hypothesis has files and channels for: `-m ref`.
    ReducedReference,
    /// Of the hypothesis, what the reference has: `-m hyp`.
    ReducedHypothesis,
    /// Both.
    Both,
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str, Vec<&str>)> {
    let all = (1..).zip(text.lines()).map(|(number, line)| (number, line, line.split_whitespace().collect::<Vec<_>>()));
    all.filter(|(_, line, fields)| !fields.is_empty() && !line.starts_with(";;"))
}

fn seconds(field: &str) -> Option<f64> {
    field.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

/// Reads a ctm file: recording, channel, start, duration, word and perhaps a confidence.
///
/// # Errors
/// [`ScoreError::Line`].
pub fn read_ctm(text: &str) -> Result<Vec<CtmWord>, ScoreError> {
    let word = |(number, line, fields): (usize, &str, Vec<&str>)| {
        let reason = "a line is 'RECORDING CHANNEL START DURATION WORD [CONFIDENCE]'";
        let wrong = || ScoreError::Line { line: number, text: line.into(), reason };
        let [file, channel, start, duration, word, rest @ ..] = &fields[..] else { return Err(wrong()) };
        Ok(CtmWord {
            file: (*file).into(),
            channel: (*channel).into(),
            start: seconds(start).ok_or_else(wrong)?,
            duration: seconds(duration).filter(|&duration| duration >= 0.0).ok_or_else(wrong)?,
            word: (*word).into(),
            confidence: rest.first().and_then(|field| seconds(field)),
        })
    };
    lines(text).map(word).collect()
}

/// Reads an stm file: recording, channel, speaker, start, end, perhaps `<labels>`, and the text.
///
/// # Errors
/// [`ScoreError::Line`].
pub fn read_stm(text: &str) -> Result<Vec<StmSegment>, ScoreError> {
    let segment = |(number, line, fields): (usize, &str, Vec<&str>)| {
        let reason = "a line is 'RECORDING CHANNEL SPEAKER START END [<LABELS>] TEXT'";
        let wrong = || ScoreError::Line { line: number, text: line.into(), reason };
        let [file, channel, speaker, start, end, rest @ ..] = &fields[..] else { return Err(wrong()) };
        let labels = is_labels(rest.first().copied());
        let (start, end) = (seconds(start).ok_or_else(wrong)?, seconds(end).ok_or_else(wrong)?);
        if end < start {
            return Err(wrong());
        }
        Ok(StmSegment {
            file: (*file).into(),
            channel: (*channel).into(),
            speaker: speaker.to_lowercase(),
            start,
            end,
            text: rest[usize::from(labels)..].join(" "),
        })
    };
    lines(text).map(segment).collect()
}

fn same_channel(file: &str, channel: &str, other_file: &str, other_channel: &str) -> bool {
    file.eq_ignore_ascii_case(other_file) && channel.eq_ignore_ascii_case(other_channel)
}

/// Scores words by the segments of a reference. A word belongs to the first segment of its file and
/// channel that ends after its middle, those after the last segment to that one; what belongs to a
/// segment that is ignored is not scored. Segments are named by speaker and number, as sclite does.
///
/// # Errors
/// [`ScoreError::Alternatives`]; [`ScoreError::Missing`] for words of a file or channel without a
/// segment.
pub fn score_stm(segments: &[StmSegment], words: &[CtmWord], rules: &Rules, keep: Keep) -> Result<Scored, ScoreError> {
    let mut order: Vec<&StmSegment> = segments.iter().collect();
    if matches!(keep, Keep::ReducedReference | Keep::Both) {
        order.retain(|of| words.iter().any(|word| same_channel(&of.file, &of.channel, &word.file, &word.channel)));
    }
    let key = |of: &&StmSegment| (of.file.to_lowercase(), of.channel.to_lowercase());
    order.sort_by(|a, b| key(a).cmp(&key(b)).then(a.start.total_cmp(&b.start)));
    let mut own: Vec<Vec<&CtmWord>> = vec![vec![]; order.len()];
    for word in words {
        let of_channel = |of: &&StmSegment| same_channel(&of.file, &of.channel, &word.file, &word.channel);
        let fits = order.iter().position(|of| of_channel(of) && of.end > word.middle());
        match fits.or_else(|| order.iter().rposition(of_channel)) {
            Some(place) => own[place].push(word),
            None if matches!(keep, Keep::ReducedHypothesis | Keep::Both) => {}
            None => {
                let utterance = format!("{} {}", word.file, word.channel);
                return Err(ScoreError::Missing { utterance, missing: "reference" });
            }
        }
    }
    let mut made = Scored::default();
    let mut numbers: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    for (segment, mut own) in order.into_iter().zip(own) {
        if segment.text.eq_ignore_ascii_case(IGNORED) {
            continue;
        }
        own.sort_by(|a, b| a.start.total_cmp(&b.start));
        let number = numbers.entry(&segment.speaker).or_default();
        let name = format!("{}-{number:03}", segment.speaker);
        *number += 1;
        let reference = rules.reference(&name, &segment.text)?;
        let text = own.iter().map(|word| &*word.word).collect::<Vec<_>>().join(" ");
        let aligned = align(&reference, &rules.hypothesis(&text), rules);
        made.add(name, &segment.speaker, aligned);
    }
    Ok(made)
}

/// What it costs in time-mediated alignment that two words differ.
const DIFFERENT: f64 = 0.001;

/// Scores words by words, each file and channel as a whole. With `time_mediated` (`sclite -T`), two
/// words cost what their starts and ends differ by, and a word alone its duration; otherwise texts
/// alone are compared.
///
/// # Errors
/// [`ScoreError::Missing`] for a file or channel that the reference has not.
pub fn score_ctm(
    references: &[CtmWord],
    hypotheses: &[CtmWord],
    rules: &Rules,
    time_mediated: bool,
) -> Result<Scored, ScoreError> {
    let channel = |word: &CtmWord| (word.file.to_lowercase(), word.channel.to_lowercase());
    let mut channels: Vec<_> = references.iter().map(channel).collect();
    channels.sort();
    channels.dedup();
    if let Some(word) = hypotheses.iter().find(|word| channels.binary_search(&channel(word)).is_err()) {
        let utterance = format!("{} {}", word.file, word.channel);
        return Err(ScoreError::Missing { utterance, missing: "reference" });
    }
    let mut made = Scored::default();
    for of in channels {
        let own = |all: &[CtmWord]| {
            let mut own: Vec<CtmWord> = all.iter().filter(|word| channel(word) == of).cloned().collect();
            own.sort_by(|a, b| a.start.total_cmp(&b.start));
            own.iter_mut().for_each(|word| word.word = rules.fold_word(&word.word));
            own
        };
        let (left, right) = (own(references), own(hypotheses));
        let word = |word: &CtmWord| Word { text: word.word.clone(), optional: false };
        let reference = Reference::chain(left.iter().map(word));
        let aligned = if time_mediated {
            by_times(&reference, &left, &right, rules)
        } else {
            let texts: Vec<String> = right.iter().map(|word| word.word.clone()).collect();
            align(&reference, &texts, rules)
        };
        let speaker = format!("{}-{}", of.0, of.1);
        made.add(format!("{speaker}-0000"), &speaker, aligned);
    }
    Ok(made)
}

/// Words that cost what their times differ by.
struct TimeCosts<'a> {
    left: &'a [CtmWord],
    right: &'a [CtmWord],
    rules: &'a Rules,
}

impl TimeCosts<'_> {
    fn same(&self, word: usize, place: usize) -> bool {
        self.rules.same(&self.left[word].word, &self.right[place].word)
    }

    fn shown(&self, (word, place): Step) -> Pair {
        Pair {
            kind: match (word, place) {
                (Some(word), Some(place)) if self.same(word, place) => PairKind::Correct,
                (Some(_), Some(_)) => PairKind::Substitution,
                (Some(_), None) => PairKind::Deletion,
                (None, _) => PairKind::Insertion,
            },
            reference: word.map(|word| self.left[word].word.clone()),
            hypothesis: place.map(|place| self.right[place].word.clone()),
        }
    }
}

impl Costs for TimeCosts<'_> {
    type Cost = f64;

    fn pair(&self, word: usize, place: usize) -> f64 {
        let (a, b) = (&self.left[word], &self.right[place]);
        let different = if self.same(word, place) { 0.0 } else { DIFFERENT };
        (a.start - b.start).abs() + (a.end() - b.end()).abs() + different
    }

    fn deletion(&self, word: usize) -> f64 {
        self.left[word].duration
    }

    fn insertion(&self, place: usize) -> f64 {
        self.right[place].duration
    }

    fn least_gap(&self) -> Option<f64> {
        // Words may have no duration.
        None
    }
}

fn by_times(reference: &Reference, left: &[CtmWord], right: &[CtmWord], rules: &Rules) -> Aligned {
    let costs = TimeCosts { left, right, rules };
    let steps = best_path(reference, right.len(), &costs);
    Aligned::new(steps.into_iter().map(|step| costs.shown(step)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_read_again_whatever_its_names_are() {
        for (name, read) in [("", "_"), (";;", "__"), ("a b", "a_b"), ("(a)", "(a)")] {
            let segment = StmSegment::new(name, "", "", 0.0, 1.0, "x");
            let expected = StmSegment::new(read, "_", "_", 0.0, 1.0, "x");
            assert_eq!(read_stm(&segment.to_string()), Ok(vec![expected]), "{name:?}");
        }
    }

    #[test]
    fn damaged_lines_are_named() {
        assert!(matches!(read_ctm(";; x\na 1 0.5 x word"), Err(ScoreError::Line { line: 2, .. })));
        assert!(matches!(read_ctm("a 1 nan 0 word"), Err(ScoreError::Line { line: 1, .. })));
        assert!(matches!(read_stm("a 1 spk 2 1 word"), Err(ScoreError::Line { line: 1, .. })));
        assert_eq!(read_stm("a 1 spk 1 2 <o,f0> one two").unwrap()[0].text, "one two");
    }
}
