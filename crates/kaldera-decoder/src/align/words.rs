//! The best alignment of words that have several pronunciations.

use std::collections::HashMap;

use fsa::graphs::Lexicon;
use fsa::io::SymbolTable;

use crate::align::blocks::{Trellis, best_states};
use crate::align::viterbi::{AlignOptions, Alignment, Topology, alignment, first_best, forced_align, word_of};
use crate::error::Error;
use crate::log_probs::LogProbs;
use crate::result::{FrameTimes, Segment};
use crate::vocabulary::{MARKER, Vocabulary, WordUnits};

/// A word of a transcript and its pronunciations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TranscriptWord {
    /// Text of the word.
    pub text: String,
    /// The pronunciations, each of at least one label.
    pub pronunciations: Vec<Vec<i32>>,
}

impl TranscriptWord {
    /// A word with its pronunciations.
    pub fn new(text: impl Into<String>, pronunciations: impl IntoIterator<Item = Vec<i32>>) -> Self {
        Self { text: text.into(), pronunciations: pronunciations.into_iter().collect() }
    }
}

/// The pronunciations of a lexicon, by words.
///
/// ```
/// use fsa::graphs::{Lexicon, LexiconOptions};
/// use fsa::io::SymbolTable;
/// use kaldera_decoder::align::Pronunciations;
///
/// let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
/// let lexicon = "read r iy d\nread r eh d\na ah\n";
/// let lexicon =
///     Lexicon::read(lexicon.as_bytes(), &mut tokens, &mut words, &LexiconOptions::default())?;
/// let transcript = Pronunciations::new(&lexicon, &words).transcript("a read")?;
/// assert_eq!((transcript[0].pronunciations.len(), transcript[1].pronunciations.len()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Pronunciations {
    by_word: HashMap<String, Vec<Vec<i32>>>,
}

impl Pronunciations {
    /// Collects the pronunciations of a lexicon with its table of words. O(its tokens).
    pub fn new(lexicon: &Lexicon, words: &SymbolTable) -> Self {
        let mut made = Self::default();
        for (&word, labels) in lexicon.words().iter().zip(lexicon.tokens().rows()) {
            if let Some(text) = words.get(word) {
                made.by_word.entry(text.to_owned()).or_default().push(labels.to_vec());
            }
        }
        made
    }

    /// Returns the words of a text, as [`align_words`] takes them.
    ///
    /// # Errors
    /// [`Error::UnknownWord`] for a word that the lexicon does not have.
    pub fn transcript(&self, text: &str) -> Result<Vec<TranscriptWord>, Error> {
        let word = |word: &str| {
            let unknown = || Error::UnknownWord { text: text.into(), word: word.into() };
            let pronunciations = self.by_word.get(word).cloned().ok_or_else(unknown)?;
            Ok(TranscriptWord::new(word, pronunciations))
        };
        text.split_whitespace().map(word).collect()
    }
}

/// The frames of the words of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct WordAlignment {
    /// The labels of the pronunciations that fit best, and the silences that were found.
    pub alignment: Alignment,
    /// The words with their frames. A confidence is the geometric mean of the probabilities of the
    /// frames of its labels.
    pub words: Vec<Segment>,
    /// The index of the pronunciation that fits best, for each word.
    pub pronunciations: Vec<usize>,
}

/// A state within a label, or in the blanks after it.
struct State {
    label: Option<(i32, Option<usize>)>,
    /// The word and its pronunciation; `None` for blanks and silences.
    word: Option<(usize, usize)>,
    /// The states from which it can be reached, itself first; ties go to the first.
    before: Vec<usize>,
    /// Minimum number of frames before it and in it.
    needed: usize,
}

/// All pronunciations of a transcript: a graph whose states are in topological order.
struct Paths<'a> {
    log_probs: LogProbs<'a>,
    /// `None` if no frame is a blank; equal labels may then follow each other.
    blank: Option<usize>,
    states: Vec<State>,
    /// The states in which a path may end.
    ends: Vec<usize>,
}

impl Paths<'_> {
    fn add(&mut self, label: Option<(i32, Option<usize>)>, word: Option<(usize, usize)>, before: &[usize]) -> usize {
        let number = self.states.len();
        // A label cannot follow an equal one without a blank.
        let follows = |&&state: &&usize| label.is_none() || self.blank.is_none() || self.states[state].label != label;
        let reached: Vec<usize> = before.iter().filter(follows).copied().collect();
        let needed = reached.iter().map(|&state| self.states[state].needed).min().map_or(0, |needed| needed + 1);
        let before = std::iter::once(number).chain(reached).collect();
        self.states.push(State { label, word, before, needed });
        number
    }

    /// Adds labels one after another, with a blank between two, after any of the states `open`.
    fn chain(&mut self, labels: &[(i32, Option<usize>)], word: Option<(usize, usize)>, open: &[usize]) -> usize {
        let mut before = open.to_vec();
        for (place, &label) in labels.iter().enumerate() {
            let state = self.add(Some(label), word, &before);
            before = vec![state];
            if place + 1 < labels.len() {
                let blank = self.add(None, None, &before);
                before.insert(0, blank);
            }
        }
        before.last().copied().unwrap_or_default()
    }

    /// Returns the states after some labels: their blank, and themselves.
    fn close(&mut self, labels: &[usize]) -> Vec<usize> {
        let blank = self.add(None, None, labels);
        std::iter::once(blank).chain(labels.iter().copied()).collect()
    }

    /// Adds an optional silence after these states. Blanks come first.
    fn silence(&mut self, open: Vec<usize>, silence: Option<(i32, Option<usize>)>) -> Vec<usize> {
        let Some(silence) = silence else { return open };
        let label = self.chain(&[silence], None, &open);
        let mut all = self.close(&[label]);
        all.splice(1..1, open);
        // Ties go to a path without a silence.
        all.swap(0, 1);
        all
    }
}

impl Trellis for Paths<'_> {
    fn start(&self) -> Vec<f64> {
        let mut scores = vec![f64::NEG_INFINITY; self.states.len()];
        scores[0] = 0.0;
        scores
    }

    fn step(&mut self, frame: usize, from: &[f64], to: &mut [f64]) {
        let row = self.log_probs.frame(frame);
        for (state, new) in self.states.iter().zip(to) {
            let emission = match state.label {
                None => self.blank.map_or(f64::NEG_INFINITY, |blank| f64::from(row[blank])),
                Some((_, column)) => column.map_or(0.0, |column| f64::from(row[column])),
            };
            let best = state.before.iter().map(|&before| from[before]).fold(f64::NEG_INFINITY, f64::max);
            *new = best + emission;
        }
    }

    fn origin(&self, state: usize, from: &[f64]) -> usize {
        first_best(self.states[state].before.iter().copied(), from)
    }

    fn end(&self, scores: &[f64]) -> Option<usize> {
        let best = first_best(self.ends.iter().copied(), scores);
        (scores[best] > f64::NEG_INFINITY).then_some(best)
    }
}

/// Returns the best alignment of words over all their pronunciations, with CTC's rules or the rules
/// of [`AlignOptions::topology`], and with [`AlignOptions::silence`] between words where it fits.
/// With one pronunciation for each word and no silence, it equals the result of [`forced_align`].
/// O(frames × labels of all pronunciations) time.
///
/// ```
/// use kaldera_decoder::align::{AlignOptions, TranscriptWord, align_words};
/// use kaldera_decoder::{FrameTimes, LogProbs};
///
/// let values: Vec<f32> =
///     [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]].concat();
/// let values: Vec<f32> = values.iter().map(|p| p.ln()).collect();
/// let log_probs = LogProbs::new("utt-1", &values, 3)?;
/// let words =
///     [TranscriptWord::new("the", [vec![1, 1], vec![1, 2]]), TranscriptWord::new("a", [vec![2]])];
/// let found = align_words(&log_probs, &words, &AlignOptions::default(), &FrameTimes::default())?;
/// assert_eq!((found.pronunciations, found.alignment.path), (vec![1, 0], vec![1, 2, 0, 2]));
/// assert_eq!((found.words[0].frames.clone(), found.words[1].frames.clone()), (0..2, 3..4));
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
///
/// # Errors
/// Errors of [`forced_align`]; [`Error::EmptyPhrase`] for a word without pronunciations, or with a
/// pronunciation of no labels.
pub fn align_words(
    log_probs: &LogProbs<'_>,
    words: &[TranscriptWord],
    options: &AlignOptions,
    times: &FrameTimes,
) -> Result<WordAlignment, Error> {
    times.check()?;
    let utterance = || log_probs.utterance().to_owned();
    let blank = log_probs.column(options.blank)?;
    let column = |position: usize, label: i32| {
        if label == options.blank {
            return Err(Error::BlankLabel { utterance: utterance(), position, blank: options.blank });
        }
        let column = if Some(label) == options.star { None } else { Some(log_probs.column(label)?) };
        Ok((label, column))
    };
    let own_blank = (options.topology == Topology::Ctc).then_some(blank);
    let mut paths = Paths { log_probs: *log_probs, blank: own_blank, states: vec![], ends: vec![] };
    let silence = options.silence.map(|label| column(0, label)).transpose()?;
    let mut open = vec![paths.add(None, None, &[])];
    open = paths.silence(open, silence);
    for (place, word) in words.iter().enumerate() {
        if word.pronunciations.is_empty() || word.pronunciations.iter().any(Vec::is_empty) {
            return Err(Error::EmptyPhrase { phrase: word.text.clone() });
        }
        let mut lasts = vec![];
        for (number, labels) in word.pronunciations.iter().enumerate() {
            let labels = labels.iter().map(|&label| column(place, label)).collect::<Result<Vec<_>, _>>()?;
            lasts.push(paths.chain(&labels, Some((place, number)), &open));
        }
        open = paths.close(&lasts);
        open = paths.silence(open, silence);
    }
    let needed = open.iter().map(|&state| paths.states[state].needed).min().unwrap_or_default();
    let num_frames = log_probs.num_frames();
    let shortest = |word: &TranscriptWord| word.pronunciations.iter().map(Vec::len).min().unwrap_or_default();
    let labels = words.iter().map(shortest).sum();
    if num_frames < needed {
        return Err(Error::TooFewFrames { utterance: utterance(), num_frames, labels, needed });
    }
    paths.ends = open;
    let states = best_states(&mut paths, num_frames, options.max_bytes)
        .ok_or_else(|| Error::NoAlignment { utterance: utterance(), labels })?;
    let found = alignment(log_probs, &states, |state| paths.states[state].label, (options.blank, blank), times);
    // The runs of states that are labels are the tokens, in order.
    let runs = states.chunk_by(|a, b| a == b).map(|run| &paths.states[run[0]]);
    let said: Vec<_> = runs.filter(|state| state.label.is_some()).map(|state| state.word).zip(&found.tokens).collect();
    let mut result = WordAlignment::default();
    for tokens in said.chunk_by(|a, b| a.0 == b.0) {
        let Some((place, pronunciation)) = tokens[0].0 else { continue };
        let own: Vec<Segment> = tokens.iter().map(|(_, token)| (*token).clone()).collect();
        if let (Some(first), Some(last)) = (own.first(), own.last()) {
            result.words.push(word_of(&words[place].text, first, last, &own));
            result.pronunciations.push(pronunciation);
        }
    }
    result.alignment = found;
    Ok(result)
}

/// Returns the best alignment of a text: words between white space, in the tokens of `vocabulary`.
/// If the vocabulary has a token between words, it is a part of the transcript, and
/// [`AlignOptions::silence`] is ignored. Tokens have their texts.
///
/// ```
/// use kaldera_decoder::align::{AlignOptions, align_text};
/// use kaldera_decoder::{FrameTimes, LogProbs, Vocabulary};
///
/// let values: Vec<f32> = [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]].concat();
/// let values: Vec<f32> = values.iter().map(|p| p.ln()).collect();
/// let log_probs = LogProbs::new("utt-1", &values, 3)?;
/// let vocabulary = Vocabulary::new(["<blk>", "a", "|"], 0)?.with_separator("|")?;
/// let found = align_text(
///     &log_probs,
///     "a a",
///     &vocabulary,
///     &AlignOptions::default(),
///     &FrameTimes::new(0.02)
/// )?;
/// assert_eq!((&*found.words[1].text, found.words[1].frames.clone()), ("a", 2..3));
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
///
/// # Errors
/// Errors of [`align_words`] and of [`Vocabulary::tokenize`]; [`Error::Columns`].
pub fn align_text(
    log_probs: &LogProbs<'_>,
    text: &str,
    vocabulary: &Vocabulary,
    options: &AlignOptions,
    times: &FrameTimes,
) -> Result<WordAlignment, Error> {
    log_probs.check_columns(vocabulary.len())?;
    let options = options.clone().with_blank(vocabulary.blank());
    let texts: Vec<&str> = text.split_whitespace().collect();
    let words = words_of(&texts, vocabulary)?;
    let mut made = match vocabulary.separator() {
        None => {
            let words: Vec<_> =
                texts.iter().zip(words).map(|(text, labels)| TranscriptWord::new(*text, [labels])).collect();
            align_words(log_probs, &words, &options, times)?
        }
        Some(separator) => {
            let labels = words.join(&separator);
            let alignment = forced_align(log_probs, &labels, &options, times)?;
            // A word may have the separator among its own tokens: the word ends by their number.
            let counts = texts.iter().zip(&words).flat_map(|(text, own)| [(*text, own.len()), ("", 1)]);
            let between = alignment.words(counts.take((2 * words.len()).saturating_sub(1)))?;
            let segments = between.into_iter().step_by(2).collect();
            WordAlignment { alignment, words: segments, pronunciations: vec![0; words.len()] }
        }
    };
    made.alignment = made.alignment.with_texts(|label| vocabulary.text(label));
    Ok(made)
}

/// Returns the tokens that each word has in the text; they may differ from the tokens of the word
/// on its own. Pieces with markers are cut at each piece that opens a word. Other tokens are
/// compared with the tokens of each word on its own, and after a space.
fn words_of(texts: &[&str], vocabulary: &Vocabulary) -> Result<Vec<Vec<i32>>, Error> {
    if texts.is_empty() || vocabulary.separator().is_some() {
        return texts.iter().map(|word| vocabulary.tokenize(word)).collect();
    }
    let text = texts.join(" ");
    let whole = vocabulary.tokenize(&text)?;
    if vocabulary.words() == WordUnits::Marker {
        // A marker after other characters may begin a word within a piece, or end one.
        let inside = |token: &i32| vocabulary.text(*token).chars().skip(1).any(|c| c == MARKER);
        let cut = whole.chunk_by(|_, next| !vocabulary.piece(*next).0);
        let words: Vec<Vec<i32>> = cut.map(<[i32]>::to_vec).collect();
        if words.len() == texts.len() && !whole.iter().any(inside) {
            return Ok(words);
        }
    }
    let (mut words, mut rest) = (vec![], &whole[..]);
    for (place, word) in texts.iter().enumerate() {
        let after_space = if place > 0 { vocabulary.tokenize(&format!(" {word}")).ok() } else { None };
        let ways = after_space.into_iter().chain(vocabulary.tokenize(word).ok());
        let unknown = || Error::Untokenizable { phrase: text.clone(), part: (*word).into() };
        let own = ways.into_iter().find(|own| rest.starts_with(own)).ok_or_else(unknown)?;
        rest = &rest[own.len()..];
        words.push(own);
    }
    match rest {
        [] => Ok(words),
        [token, ..] => Err(Error::Untokenizable { phrase: text, part: vocabulary.text(*token).into() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::{ModelType, SentencePiece, Tokenizer};
    use crate::vocabulary::WordUnits;

    const TOKENS: usize = 4;

    /// Returns all label strings of a transcript, with the pronunciations that are taken.
    fn sentences(words: &[TranscriptWord], silence: Option<i32>) -> Vec<(Vec<i32>, Vec<usize>)> {
        let silences: Vec<Vec<i32>> = std::iter::once(vec![]).chain(silence.map(|label| vec![label])).collect();
        let mut all: Vec<(Vec<i32>, Vec<usize>)> = silences.iter().map(|labels| (labels.clone(), vec![])).collect();
        for word in words {
            let mut next = vec![];
            for (labels, taken) in &all {
                for (number, pronunciation) in word.pronunciations.iter().enumerate() {
                    for silence in &silences {
                        let labels = [&labels[..], pronunciation, silence].concat();
                        next.push((labels, [&taken[..], &[number]].concat()));
                    }
                }
            }
            all = next;
        }
        all
    }

    fn words() -> impl Strategy<Value = Vec<TranscriptWord>> {
        let pronunciation = prop::collection::vec(1..4_i32, 1..3);
        let word = prop::collection::vec(pronunciation, 1..4).prop_map(|all| TranscriptWord::new("w", all));
        prop::collection::vec(word, 0..4)
    }

    fn values() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(-8.0_f32..0.0, 0..12 * TOKENS)
    }

    fn collapse(path: &[i32]) -> Vec<i32> {
        let mut labels = path.to_vec();
        labels.dedup();
        labels.retain(|&label| label != 0);
        labels
    }

    proptest! {
        #[test]
        fn the_best_of_all_ways_to_say_the_words_is_found(
            values in values(),
            words in words(),
            silence in prop::option::of(1..4_i32),
            max_bytes in 0..3000_usize,
        ) {
            let values = &values[..values.len() / TOKENS * TOKENS];
            let log_probs = LogProbs::new("u", values, TOKENS).unwrap();
            let options = AlignOptions::default().with_silence(silence).with_max_bytes(max_bytes);
            let times = FrameTimes::default();
            let all = sentences(&words, silence);
            let best = all.iter().filter_map(|(labels, _)| {
                forced_align(&log_probs, labels, &AlignOptions::default(), &times).ok()
            });
            let best = best.map(|found| found.score).fold(f64::NEG_INFINITY, f64::max);
            match align_words(&log_probs, &words, &options, &times) {
                Err(_) => prop_assert_eq!(best, f64::NEG_INFINITY),
                Ok(found) => {
                    prop_assert!((found.alignment.score - best).abs() < 1e-9, "{} {}", found.alignment.score, best);
                    let labels = collapse(&found.alignment.path);
                    prop_assert!(all.contains(&(labels, found.pronunciations.clone())));
                    prop_assert_eq!(found.words.len(), words.len());
                    prop_assert!(found.words.is_sorted_by(|a, b| a.frames.end <= b.frames.start));
                }
            }
        }

        #[test]
        fn words_have_the_tokens_of_the_whole_text(
            scores in prop::array::uniform4(-90..-10_i32),
            texts in prop::collection::vec("a{1,4}|ba{0,3}", 1..5),
        ) {
            // Scores of one digit, whose sums tie but for their rounding.
            let pieces = ["▁", "a", "aa", "▁b"].iter().zip(scores);
            let lines = pieces.map(|(piece, score)| format!("{piece}\t{}\n", f64::from(score) / 10.0));
            let vocabulary = unigram(&format!("<blk>\t0\n<unk>\t0\n{}", lines.collect::<String>()));
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let words = words_of(&texts, &vocabulary).unwrap();
            prop_assert_eq!(words.concat(), vocabulary.tokenize(&texts.join(" ")).unwrap());
            for (word, text) in words.iter().zip(texts) {
                let spelled: String = word.iter().map(|&token| vocabulary.text(token)).collect();
                prop_assert_eq!(spelled, format!("▁{text}"));
            }
        }

        #[test]
        fn one_pronunciation_each_is_aligned_as_their_labels_are(
            values in values(),
            labels in prop::collection::vec(prop::collection::vec(1..4_i32, 1..3), 0..5),
            is_hmm in any::<bool>(),
        ) {
            let values = &values[..values.len() / TOKENS * TOKENS];
            let log_probs = LogProbs::new("u", values, TOKENS).unwrap();
            let topology = if is_hmm { Topology::Hmm } else { Topology::Ctc };
            let options = AlignOptions::default().with_star(Some(2)).with_topology(topology);
            let times = FrameTimes::default();
            let words: Vec<_> = labels.iter().map(|own| TranscriptWord::new("w", [own.clone()])).collect();
            let linear = forced_align(&log_probs, &labels.concat(), &options, &times);
            let found = align_words(&log_probs, &words, &options, &times);
            prop_assert_eq!(found.as_ref().map(|found| &found.alignment), linear.as_ref());
            if let (Ok(found), Ok(linear)) = (found, linear) {
                let expected = linear.words(labels.iter().map(|own| ("w", own.len()))).unwrap();
                prop_assert_eq!(found.words, expected);
            }
        }
    }

    /// Makes a vocabulary of the pieces of a unigram model as the columns of a network, with the
    /// blank at 0.
    fn unigram(pieces: &str) -> Vocabulary {
        let tokenizer = Tokenizer::from(SentencePiece::from_vocab(pieces, ModelType::Unigram).unwrap());
        tokenizer.vocabulary(0).unwrap().with_words(WordUnits::Marker).with_tokenizer(tokenizer)
    }

    #[test]
    fn a_word_may_have_the_separator_among_its_tokens() {
        let vocabulary = Vocabulary::new(["<blk>", "a", "b", "|"], 0).unwrap().with_separator("|").unwrap();
        let mut values = [-9.0_f32; 5 * 4];
        for (frame, label) in [1, 3, 2, 3, 1].into_iter().enumerate() {
            values[frame * 4 + label] = 0.0;
        }
        let log_probs = LogProbs::new("u", &values, 4).unwrap();
        let options = AlignOptions::default();
        let found = align_text(&log_probs, "a|b a", &vocabulary, &options, &FrameTimes::default()).unwrap();
        let words: Vec<_> = found.words.iter().map(|word| (&*word.text, word.frames.clone())).collect();
        assert_eq!(words, [("a|b", 0..3), ("a", 4..5)]);
        assert_eq!(align_text(&log_probs, "", &vocabulary, &options, &FrameTimes::default()).unwrap().words, []);
    }

    #[test]
    fn words_that_the_lexicon_does_not_have_are_named() {
        let error = Pronunciations::default().transcript("a b").unwrap_err();
        assert_eq!(error, Error::UnknownWord { text: "a b".into(), word: "a".into() });
    }

    #[test]
    fn times_that_are_none_are_refused() {
        let log_probs = LogProbs::new("u", &[0.0; 8], 4).unwrap();
        let (options, times) = (AlignOptions::default(), FrameTimes::new(f64::NAN));
        let words = [TranscriptWord::new("x", [vec![1]])];
        assert!(matches!(align_words(&log_probs, &words, &options, &times), Err(Error::Option { .. })));
        assert!(matches!(forced_align(&log_probs, &[1], &options, &times), Err(Error::Option { .. })));
    }

    #[test]
    fn a_text_has_the_tokens_of_its_tokenizer() {
        let vocabulary = unigram("<blk>\t0\n<unk>\t0\n▁\t-1\nab\t-1\n▁a\t-5\nb\t-5\n");
        let mut values = [-9.0_f32; 6 * 6];
        for (frame, label) in [2, 3, 0, 4, 2, 3].into_iter().enumerate() {
            values[frame * 6 + label] = 0.0;
        }
        let log_probs = LogProbs::new("u", &values, 6).unwrap();
        let align = |text| align_text(&log_probs, text, &vocabulary, &AlignOptions::default(), &FrameTimes::default());
        let found = align("ab  a ab").unwrap();
        assert_eq!(found.alignment.path, [2, 3, 0, 4, 2, 3]);
        let words: Vec<_> = found.words.iter().map(|word| (&*word.text, word.frames.clone())).collect();
        assert_eq!(words, [("ab", 0..2), ("a", 3..4), ("ab", 4..6)]);
        assert_eq!(found.alignment.tokens[0].text, "▁");
        assert!(matches!(align("ab c"), Err(Error::Untokenizable { .. })));
        assert_eq!(align("").unwrap().words, []);
    }

    #[test]
    fn words_that_cannot_be_said_are_errors() {
        let log_probs = LogProbs::new("u", &[0.0; 8], 4).unwrap();
        let align = |words: &[TranscriptWord]| {
            align_words(&log_probs, words, &AlignOptions::default(), &FrameTimes::default()).unwrap_err()
        };
        assert_eq!(align(&[TranscriptWord::new("x", [])]), Error::EmptyPhrase { phrase: "x".into() });
        assert_eq!(align(&[TranscriptWord::new("x", [vec![1], vec![]])]), Error::EmptyPhrase { phrase: "x".into() });
        let blank = Error::BlankLabel { utterance: "u".into(), position: 1, blank: 0 };
        assert_eq!(align(&[TranscriptWord::new("x", [vec![1]]), TranscriptWord::new("y", [vec![0]])]), blank);
        let long = TranscriptWord::new("x", [vec![1, 1], vec![1, 2, 3]]);
        let too_few = Error::TooFewFrames { utterance: "u".into(), num_frames: 2, labels: 2, needed: 3 };
        assert_eq!(align(&[long]), too_few);
    }
}
