//! NIST's stm and ctm files: segments and words with times.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use kaldera_base::text;

use crate::score::align::{Aligned, Pair, PairKind, Rules, align};
use crate::score::best_path::{Costs, Step, best_path};
use crate::score::nist::field;
use crate::score::reference::{Reference, ScoreError};
use crate::score::report::Scored;

/// A line of a ctm file; [`write_ctm`](crate::align::write_ctm) writes such lines from segments.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CtmWord {
    /// The recording.
    pub file: String,
    /// The channel.
    pub channel: String,
    /// Seconds at which the word begins; 0 for a [tag](Self::is_tag).
    pub start: f64,
    /// Duration in seconds; 0 for a [tag](Self::is_tag).
    pub duration: f64,
    /// The word.
    pub word: String,
    /// Its confidence.
    pub confidence: Option<f64>,
}

impl CtmWord {
    /// Returns `true` for a tag of alternatives: `<ALT_BEGIN>`, `<ALT>` or `<ALT_END>`.
    pub fn is_tag(&self) -> bool {
        TAGS[..3].iter().any(|tag| self.word.eq_ignore_ascii_case(tag))
    }

    fn middle(&self) -> f64 {
        self.start + self.duration / 2.0
    }

    fn end(&self) -> f64 {
        self.start + self.duration
    }
}

/// A line of an stm file; `Display` writes that line.
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
    /// The speaker, in lower case, as in sclite.
    pub speaker: String,
    /// Seconds at which it begins.
    pub start: f64,
    /// Seconds at which it ends.
    pub end: f64,
    /// The transcript; `IGNORE_TIME_SEGMENT_IN_SCORING` for a segment that is not scored.
    pub text: String,
}

impl fmt::Display for StmSegment {
    /// White space in names becomes underscores, as do an empty name and the `;;` of a comment. In
    /// the text, white space becomes single spaces. If the first word of a text could be read as
    /// labels, empty labels are written before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [file, channel, speaker] = [&self.file, &self.channel, &self.speaker].map(|name| field(name));
        let file = file.replace(";;", "__");
        let labels = if is_labels(self.text.split_ascii_whitespace().next()) { " <>" } else { "" };
        write!(f, "{file} {channel} {speaker} {:.3} {:.3}{labels}", self.start, self.end)?;
        let text = self.text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() { Ok(()) } else { write!(f, " {text}") }
    }
}

impl StmSegment {
    /// Creates a segment of a speaker between two times in seconds; the speaker's name becomes
    /// lower case.
    pub fn new(file: &str, channel: &str, speaker: &str, start: f64, end: f64, text: impl Into<String>) -> Self {
        let (file, channel, speaker) = (file.into(), channel.into(), speaker.to_lowercase());
        Self { file, channel, speaker, start, end, text: text.into() }
    }
}

/// Returns `true` if a word is the labels of a segment.
fn is_labels(word: Option<&str>) -> bool {
    word.is_some_and(|word| word.starts_with('<') && word.ends_with('>'))
}

/// Text of a segment that is not scored, in any case.
const IGNORED: &str = "ignore_time_segment_in_scoring";

/// Parts that are scored if the times of reference and hypothesis differ: `sclite -m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Keep {
    /// All: reference words without a hypothesis are missing.
    #[default]
    All,
    /// Segments of the reference that overlap the time from the start of the first word to the end
    /// of the last one in their channel: `-m ref`.
    ReducedReference,
    /// Words of the hypothesis that overlap the time from the start of the first segment to the end
    /// of the last one in their channel: `-m hyp`.
    ReducedHypothesis,
    /// Both reductions.
    Both,
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str, Vec<&str>)> {
    let all = text::lines(text).map(|(number, line)| (number, line, line.split_ascii_whitespace().collect::<Vec<_>>()));
    all.filter(|(_, line, fields)| !fields.is_empty() && !line.starts_with(";;"))
}

fn seconds(field: &str) -> Option<f64> {
    field.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

/// Reads a ctm file: recording, channel, start, duration, word and an optional confidence. A
/// reference may have alternatives, between lines `RECORDING CHANNEL * * TAG` with the tags
/// `<ALT_BEGIN>`, `<ALT>` and `<ALT_END>`.
///
/// # Errors
/// [`ScoreError::Line`], also for an unexpected tag.
pub fn read_ctm(text: &str) -> Result<Vec<CtmWord>, ScoreError> {
    let mut is_open = false;
    let mut word = |(number, line, fields): (usize, &str, Vec<&str>)| {
        let reason = "a line is 'RECORDING CHANNEL START DURATION WORD [CONFIDENCE]'";
        let wrong = || ScoreError::Line { line: number, text: line.into(), reason };
        let [file, channel, start, duration, word, rest @ ..] = &fields[..] else { return Err(wrong()) };
        if let Some(tag) = TAGS[..3].iter().position(|tag| word.eq_ignore_ascii_case(tag)) {
            if is_open == (tag == 0) {
                let reason = "<ALT_BEGIN>, <ALT> and <ALT_END> follow each other, and none is within others";
                return Err(ScoreError::Line { line: number, text: line.into(), reason });
            }
            is_open = tag != 2;
            let (file, channel, word) = ((*file).into(), (*channel).into(), (*word).into());
            return Ok(CtmWord { file, channel, start: 0.0, duration: 0.0, word, confidence: None });
        }
        Ok(CtmWord {
            file: (*file).into(),
            channel: (*channel).into(),
            start: seconds(start).ok_or_else(wrong)?,
            duration: seconds(duration).filter(|&duration| duration >= 0.0).ok_or_else(wrong)?,
            word: (*word).into(),
            confidence: rest.first().and_then(|field| seconds(field)),
        })
    };
    lines(text).map(&mut word).collect()
}

/// Reads an stm file: recording, channel, speaker, start, end, optional `<labels>`, and the text.
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

/// A recording and its channel, in lower case. The sides of a call are A and B in stm files, and 1
/// and 2 in many ctm files.
type Channel = (String, String);

fn channel(file: &str, channel: &str) -> Channel {
    let lettered = match channel {
        "1" => "a".to_owned(),
        "2" => "b".to_owned(),
        _ => channel.to_ascii_lowercase(),
    };
    (file.to_ascii_lowercase(), lettered)
}

/// Groups words by channels. Channels that are not `known` are named in `without_reference`.
fn by_channel<'w>(
    words: &'w [CtmWord],
    known: impl Fn(&Channel) -> bool,
    without_reference: &mut Vec<String>,
) -> HashMap<Channel, Vec<&'w CtmWord>> {
    let mut own: HashMap<Channel, Vec<&CtmWord>> = HashMap::new();
    for word in words {
        own.entry(channel(&word.file, &word.channel)).or_default().push(word);
    }
    let missing = own.iter().filter(|(of, _)| !known(of)).filter_map(|(_, words)| words.first());
    without_reference.extend(missing.map(|word| format!("{} {}", word.file, word.channel)));
    without_reference.sort();
    own
}

/// Scores words against the segments of a reference. A word belongs to the first segment of its
/// file and channel (1 is A, 2 is B) that ends after its middle; words after the last segment
/// belong to that one. Words of an ignored segment are not scored. Segments are named by speaker
/// and number, as in sclite. Words of a file or channel without a segment are not scored:
/// [`without_reference`](Scored::without_reference) names these.
///
/// # Errors
/// [`ScoreError::Alternatives`], also for alternatives in the hypothesis.
pub fn score_stm(segments: &[StmSegment], words: &[CtmWord], rules: &Rules, keep: Keep) -> Result<Scored, ScoreError> {
    without_alternatives(words)?;
    let (reduced_reference, reduced_hypothesis) = match keep {
        Keep::All => (false, false),
        Keep::ReducedReference => (true, false),
        Keep::ReducedHypothesis => (false, true),
        Keep::Both => (true, true),
    };
    let mut channels: BTreeMap<Channel, Vec<&StmSegment>> = BTreeMap::new();
    for segment in segments {
        channels.entry(channel(&segment.file, &segment.channel)).or_default().push(segment);
    }
    let mut made = Scored::default();
    let mut own_words = by_channel(words, |of| channels.contains_key(of), &mut made.without_reference);
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (of, mut segments) in channels {
        let mut words = own_words.remove(&of).unwrap_or_default();
        words.sort_by(|a, b| a.start.total_cmp(&b.start));
        segments.sort_by(|a, b| a.start.total_cmp(&b.start));
        if reduced_reference {
            let span = words.first().zip(words.last());
            segments.retain(|of| span.is_some_and(|(first, last)| first.start < of.end && last.end() > of.start));
        }
        if reduced_hypothesis {
            let begin = segments.iter().map(|of| of.start).fold(f64::INFINITY, f64::min);
            let end = segments.iter().map(|of| of.end).fold(f64::NEG_INFINITY, f64::max);
            words.retain(|word| word.start <= end && word.end() >= begin);
        }
        // The latest end of a segment and all segments before it.
        let mut latest = f64::NEG_INFINITY;
        let ends: Vec<f64> = segments
            .iter()
            .map(|of| {
                latest = latest.max(of.end);
                latest
            })
            .collect();
        let mut own: Vec<Vec<&CtmWord>> = vec![vec![]; segments.len()];
        for word in words {
            let place = ends.partition_point(|&end| end <= word.middle());
            if let Some(own) = own.get_mut(place.min(ends.len().saturating_sub(1))) {
                own.push(word);
            }
        }
        for (segment, own) in segments.into_iter().zip(own) {
            if segment.text.eq_ignore_ascii_case(IGNORED) {
                continue;
            }
            let number = numbers.entry(&segment.speaker).or_default();
            let name = format!("{}-{number:03}", segment.speaker);
            *number += 1;
            let reference = rules.reference(&name, &segment.text)?;
            let text = own.iter().map(|word| &*word.word).collect::<Vec<_>>().join(" ");
            let aligned = align(&reference, &rules.hypothesis(&text), rules);
            made.add(name, &segment.speaker, aligned);
        }
    }
    Ok(made)
}

/// Tags of alternatives in a ctm file, and the mark of an empty alternative.
const TAGS: [&str; 4] = ["<ALT_BEGIN>", "<ALT>", "<ALT_END>", ""];

/// Returns an error for a hypothesis with alternatives.
fn without_alternatives(words: &[CtmWord]) -> Result<(), ScoreError> {
    match words.iter().find(|word| word.is_tag()) {
        Some(tag) => Err(ScoreError::Alternatives {
            utterance: format!("{} {}", tag.file, tag.channel),
            text: tag.word.clone(),
            reason: "only a reference can have alternatives",
        }),
        None => Ok(()),
    }
}

/// Sorts words by their starts. Words between the tags of alternatives keep their order, at the
/// start of the first one.
fn in_order<'w>(words: &[&'w CtmWord]) -> Vec<&'w CtmWord> {
    let mut start = f64::NEG_INFINITY;
    let mut is_open = false;
    let key = |(place, word): (usize, &&'w CtmWord)| {
        if word.is_tag() {
            let begins = word.word.eq_ignore_ascii_case(TAGS[0]);
            let first = words[place..].iter().take_while(|word| !word.word.eq_ignore_ascii_case(TAGS[2]));
            if let Some(first) = first.into_iter().find(|word| !word.is_tag()).filter(|_| begins) {
                start = first.start;
            }
            is_open = !word.word.eq_ignore_ascii_case(TAGS[2]);
        } else if !is_open {
            start = word.start;
        }
        (start, *word)
    };
    let mut keyed: Vec<(f64, &CtmWord)> = words.iter().enumerate().map(key).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    keyed.into_iter().map(|(_, word)| word).collect()
}

/// Cost of two different words in time-mediated alignment.
const DIFFERENT: f64 = 0.001;

/// Scores words against words, each file and channel as a whole. With `time_mediated`
/// (`sclite -T`), a pair of words costs the differences of their starts and ends, and an unpaired
/// word its duration. Otherwise only texts are compared. Words of a file or channel that the
/// reference lacks are not scored: [`without_reference`](Scored::without_reference) names these.
///
/// # Errors
/// [`ScoreError::Alternatives`] for alternatives in the hypothesis.
pub fn score_ctm(
    references: &[CtmWord],
    hypotheses: &[CtmWord],
    rules: &Rules,
    time_mediated: bool,
) -> Result<Scored, ScoreError> {
    without_alternatives(hypotheses)?;
    let mut channels: BTreeMap<Channel, Vec<&CtmWord>> = BTreeMap::new();
    for word in references {
        channels.entry(channel(&word.file, &word.channel)).or_default().push(word);
    }
    let mut made = Scored::default();
    let mut own_words = by_channel(hypotheses, |of| channels.contains_key(of), &mut made.without_reference);
    for (of, words) in channels {
        let folded = |words: &[&CtmWord]| {
            let fold = |word: &&CtmWord| CtmWord { word: rules.fold_word(&word.word), ..(*word).clone() };
            in_order(words).iter().map(fold).collect::<Vec<_>>()
        };
        let speaker = format!("{}-{}", of.0, of.1);
        let (mut left, right) = (folded(&words), folded(&own_words.remove(&of).unwrap_or_default()));
        let texts = left.iter().map(|word| &*word.word);
        let reference = Reference::of_words(texts, TAGS, rules.optional_words)
            .map_err(|reason| ScoreError::Alternatives { utterance: speaker.clone(), text: TAGS[0].into(), reason })?;
        left.retain(|word| !word.is_tag());
        let aligned = if time_mediated {
            by_times(&reference, &left, &right, rules)
        } else {
            let texts: Vec<String> = right.into_iter().map(|word| word.word).collect();
            align(&reference, &texts, rules)
        };
        made.add(format!("{speaker}-0000"), &speaker, aligned);
    }
    Ok(made)
}

/// Costs by the differences of words' times.
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
    use crate::score::counts::Counts;

    #[test]
    fn a_segment_is_read_again_whatever_its_names_are() {
        for (name, read) in [("", "_"), (";;", "__"), ("a b", "a_b"), ("(a)", "(a)")] {
            let segment = StmSegment::new(name, "", "", 0.0, 1.0, "x");
            let expected = StmSegment::new(read, "_", "_", 0.0, 1.0, "x");
            assert_eq!(read_stm(&segment.to_string()), Ok(vec![expected]), "{name:?}");
        }
    }

    #[test]
    fn a_reference_may_have_alternatives() {
        let tagged = "a 1 0 0.5 yes\na 1 * * <ALT_BEGIN>\na 1 1 0.2 um\na 1 * * <ALT>\na 1 1 0.2 uh\na 1 1.2 0.2 huh\n\
                      a 1 * * <ALT>\na 1 * * <ALT_END>\na 1 2 0.5 no\n";
        let reference = read_ctm(tagged).unwrap();
        for (hypothesis, words) in [("um", 3), ("uh huh", 4), ("", 2)] {
            let texts = ["yes", hypothesis, "no"].join(" ");
            let line = |(place, word): (usize, &str)| format!("a 1 {} 0.2 {word}\n", place as f64 * 0.6);
            let hypothesis: String = texts.split_ascii_whitespace().enumerate().map(line).collect();
            let words_of_it = read_ctm(&hypothesis).unwrap();
            let counts = |mediated| {
                let rules = Rules::sclite();
                score_ctm(&reference, &words_of_it, &rules, mediated).unwrap().score.total().counts
            };
            assert_eq!((counts(false).words(), counts(false).errors()), (words, 0), "{hypothesis}");
            assert_eq!(counts(true).hypothesis_words(), words);
        }
        let error = score_ctm(&reference, &reference, &Rules::sclite(), false);
        assert!(matches!(error, Err(ScoreError::Alternatives { .. })));
        let open = &tagged[..tagged.find("a 1 * * <ALT_END>").unwrap()];
        assert!(score_ctm(&read_ctm(open).unwrap(), &[], &Rules::sclite(), false).is_err());
        for wrong in ["a 1 * * <ALT>", "a 1 * * <ALT_BEGIN>\na 1 * * <alt_begin>"] {
            assert!(matches!(read_ctm(wrong), Err(ScoreError::Line { .. })));
        }
    }

    #[test]
    fn what_is_outside_of_the_other_times_is_left_out() {
        let segments = read_stm("a 1 s 0 1 zero\na 1 s 1 2 one\na 1 s 3 4 three\nb 1 s 0 1 other\n").unwrap();
        let words = read_ctm("a 1 0.1 0.2 before\na 1 1.5 0.2 one\na 1 9 0.5 behind\nc 1 0 1 x").unwrap();
        let counts = |words: &[CtmWord], keep| {
            let scored = score_stm(&segments, words, &Rules::sclite(), keep).unwrap();
            let Counts { correct, substitutions, deletions, insertions } = scored.score.total().counts;
            (scored.without_reference, [correct, substitutions, deletions, insertions])
        };
        let c = || vec!["c 1".to_owned()];
        assert_eq!(counts(&words, Keep::All), (c(), [1, 2, 1, 0]));
        assert_eq!(counts(&words, Keep::ReducedHypothesis), (c(), [1, 1, 2, 0]));
        // The first word begins at the end of the first segment, the last one ends before the
        // third.
        assert_eq!(counts(&words[1..2], Keep::ReducedReference), (vec![], [1, 0, 0, 0]));
        assert_eq!(counts(&words, Keep::Both), (c(), [1, 1, 1, 0]));
    }

    #[test]
    fn damaged_lines_are_named() {
        assert!(matches!(read_ctm(";; x\na 1 0.5 x word"), Err(ScoreError::Line { line: 2, .. })));
        assert!(matches!(read_ctm("a 1 nan 0 word"), Err(ScoreError::Line { line: 1, .. })));
        assert!(matches!(read_stm("a 1 spk 2 1 word"), Err(ScoreError::Line { line: 1, .. })));
        assert_eq!(read_stm("a 1 spk 1 2 <o,f0> one two").unwrap()[0].text, "one two");
    }
}
