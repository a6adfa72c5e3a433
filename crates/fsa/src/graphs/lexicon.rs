//! Lexicons: the tokens of words, as text and as a transducer from tokens to words.

use std::collections::BTreeSet;
use std::io::BufRead;

use ragged_core::Ragged;

use crate::core::arc::EPSILON;
use crate::core::fsa::Fsa;
use crate::core::fsa_builder::FsaBuilder;
use crate::core::graph::Graph;
use crate::error::{Error, Quantity};
use crate::graphs::left_out::LeftOut;
use crate::graphs::lines::{Lines, fields, split_first};
use crate::graphs::progress::OutOfVocabulary;
use crate::io::symbols::SymbolTable;

/// Symbol that backs off in a grammar, and goes through a lexicon unchanged.
pub const BACKOFF_SYMBOL: &str = "#0";

/// Options for reading a lexicon.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct LexiconOptions {
    /// `true` if the second field of each line is the probability of the pronunciation. `None`: it
    /// is, if in all lines it is a number above 0 and up to 1 that is written with a point.
    pub probabilities: Option<bool>,
    /// Treatment of words that are not in the table of words.
    pub words: OutOfVocabulary,
    /// Word that replaces words which the table lacks (`<UNK>`); `words` then has no effect on
    /// them. `None`: no replacement.
    pub unknown_word: Option<String>,
    /// Treatment of pronunciations with tokens that are not in the table of tokens.
    pub tokens: OutOfVocabulary,
    /// A token that may stand before the first word and after each one.
    pub silence: Option<Silence>,
    /// A token that stands once between two words. Silence comes before the boundary.
    pub word_boundary: Option<WordBoundary>,
}

/// A token that may stand between words.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Silence {
    /// Its name: "SIL".
    pub token: String,
    /// Probability; 0.5 in Kaldi. Above 0 and below 1.
    pub probability: f32,
}

/// A token that stands exactly once between two words, for networks that mark the boundaries of
/// words.
///
/// ```
/// use fsa::graphs::{Lexicon, LexiconOptions, WordBoundary};
///
/// let mut options = LexiconOptions::default();
/// // Not after the last word.
/// options.word_boundary = Some(WordBoundary { at_end: false, ..WordBoundary::new("<wb>") });
/// let (mut tokens, mut words) = ("<blk> 0\n<wb> 1\nY 2\n".parse()?, Default::default());
/// let lexicon = Lexicon::read("yes Y\n".as_bytes(), &mut tokens, &mut words, &options)?;
/// assert_eq!(lexicon.word_boundary_token(), Some(1));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct WordBoundary {
    /// Its name: `<wb>`.
    pub token: String,
    /// `true` if one may also stand before the first word.
    pub at_start: bool,
    /// `true` if one may also stand after the last word.
    pub at_end: bool,
}

impl WordBoundary {
    /// Creates a boundary that may also stand at the start and at the end.
    pub fn new(token: impl Into<String>) -> Self {
        Self { token: token.into(), at_start: true, at_end: true }
    }
}

/// Words with their pronunciations.
///
/// ```
/// use fsa::graphs::{Lexicon, LexiconOptions};
/// use fsa::io::SymbolTable;
///
/// let text = "read R IY D\nreed R IY D\nrid R IH D\n";
/// let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
/// let lexicon =
///     Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &LexiconOptions::default())?;
/// assert_eq!(lexicon.num_pronunciations(), 3);
/// // Words that sound the same end in #1 and #2, and nothing else needs that; #0 goes through.
/// let graph = lexicon.to_disambiguated_graph()?;
/// assert_eq!(lexicon.num_disambiguations(), 3);
/// assert_eq!(graph.fsas().num_arcs(), 4 + 4 + 3 + 1 + 1);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lexicon {
    words: Vec<i32>,
    /// Logarithms of the probabilities.
    scores: Vec<f32>,
    /// For each pronunciation its tokens, from 1.
    tokens: Ragged<i32>,
    /// For each pronunciation the K of #K, 0 for none.
    disambiguations: Vec<usize>,
    /// The tokens #0, #1, ..., one more than is needed for words if there is silence.
    disambiguation_tokens: Vec<i32>,
    /// The word `#0`.
    backoff_word: i32,
    silence: Option<(i32, f32)>,
    word_boundary: Option<Boundary>,
    left_out: LeftOut,
    unknown: LeftOut,
}

impl Lexicon {
    /// Reads lines `word token token ...`, or with the probability of the pronunciation after the
    /// word. O(size of the text).
    ///
    /// Words and tokens get their numbers from the tables. New ones are added in alphabetical
    /// order, then `#0`, `#1`, ... to the tokens as far as they are needed, and `#0` to the words.
    /// All of these must come after all other symbols, so that everything from `#0` on can be
    /// removed after determinization.
    ///
    /// # Errors
    /// [`Error::Line`] with the line that is invalid, [`Error::Read`], [`Error::MissingSymbol`] if
    /// the token of the silence or the word boundary is missing, [`Error::SymbolOrder`].
    pub fn read(
        reader: impl BufRead,
        tokens: &mut SymbolTable,
        words: &mut SymbolTable,
        options: &LexiconOptions,
    ) -> Result<Self, Error> {
        let text = Text::read(reader, options.probabilities)?;
        let unknown_word = match &options.unknown_word {
            None => None,
            Some(symbol) => Some(words.find(symbol).ok_or_else(|| Error::MissingSymbol { symbol: symbol.clone() })?),
        };
        if unknown_word.is_none() {
            add_missing(words, options.words, text.lines.iter().map(|line| line.word.as_str()))?;
        }
        let silence_token = options.silence.as_ref().map(|silence| silence.token.as_str());
        let own_tokens =
            silence_token.into_iter().chain(options.word_boundary.as_ref().map(|boundary| boundary.token.as_str()));
        add_missing(tokens, options.tokens, text.lines.iter().flat_map(Line::tokens).chain(own_tokens))?;
        let mut read = Entries::default();
        for line in &text.lines {
            read.add(line, tokens, words, unknown_word, options)?;
        }
        let own_token = |symbol: &String| {
            let id = tokens.find(symbol).filter(|&id| id > EPSILON);
            id.ok_or_else(|| Error::MissingSymbol { symbol: symbol.clone() })
        };
        let word_boundary = match &options.word_boundary {
            None => None,
            Some(WordBoundary { token, at_start, at_end }) => {
                Some(Boundary { token: own_token(token)?, at_start: *at_start, at_end: *at_end })
            }
        };
        let silence = match &options.silence {
            None => None,
            Some(Silence { token, probability }) => {
                if !(*probability > 0.0 && *probability < 1.0) {
                    return Err(Error::Probability {
                        what: Quantity::SilenceProbability,
                        found: (*probability).into(),
                    });
                }
                Some((own_token(token)?, *probability))
            }
        };
        let pronunciations = Ragged::from_lists(&read.tokens)?;
        let disambiguations = disambiguate(&pronunciations);
        let most = disambiguations.iter().copied().max().unwrap_or(0) + usize::from(silence.is_some());
        let disambiguation_tokens =
            (0..=most).map(|k| tokens.find_or_add(&format!("#{k}"))).collect::<Result<Vec<_>, _>>()?;
        let backoff_word = words.find_or_add(BACKOFF_SYMBOL)?;
        check_order("words", read.words.iter().copied().max().unwrap_or(EPSILON), backoff_word)?;
        let lexicon = Self {
            words: read.words,
            scores: read.scores,
            tokens: pronunciations,
            disambiguations,
            disambiguation_tokens,
            backoff_word,
            silence,
            word_boundary,
            left_out: read.left_out,
            unknown: read.unknown,
        };
        check_order("tokens", lexicon.max_token(), lexicon.first_disambiguation())?;
        Ok(lexicon)
    }

    /// Returns the lines that were left out, and the symbols missing in the tables that caused it.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Returns the lines whose words the table lacks; they count as
    /// [`LexiconOptions::unknown_word`].
    pub fn unknown(&self) -> &LeftOut {
        &self.unknown
    }

    /// Returns the number of pronunciations.
    pub fn num_pronunciations(&self) -> usize {
        self.words.len()
    }

    /// Returns the word of each pronunciation.
    pub fn words(&self) -> &[i32] {
        &self.words
    }

    /// Returns the tokens of each pronunciation, from 1 on.
    pub fn tokens(&self) -> &Ragged<i32> {
        &self.tokens
    }

    /// Returns the token of silence, epsilon if there is none.
    pub fn silence_token(&self) -> i32 {
        self.silence.map_or(EPSILON, |(token, _)| token)
    }

    /// Returns the token between words, if there is one.
    pub fn word_boundary_token(&self) -> Option<i32> {
        self.word_boundary.map(|boundary| boundary.token)
    }

    /// Returns the highest token, except disambiguation symbols.
    pub fn max_token(&self) -> i32 {
        let own = self.word_boundary_token().into_iter().chain(self.silence.map(|(token, _)| token));
        self.tokens.values().iter().copied().chain(own).fold(EPSILON, i32::max)
    }

    /// Returns the number of tokens `#0`, `#1`, ... that it uses.
    pub fn num_disambiguations(&self) -> usize {
        self.disambiguation_tokens.len()
    }

    /// Returns the least of the tokens `#0`, `#1`, ...; all other tokens of the lexicon are below
    /// it.
    pub fn first_disambiguation(&self) -> i32 {
        self.disambiguation_tokens.iter().copied().min().expect("#0 is always there")
    }

    /// Returns the word `#0`; all other words of the lexicon are below it.
    pub fn backoff_word(&self) -> i32 {
        self.backoff_word
    }

    /// Returns L: from any sequence of pronunciations to the words. Each word is output by its
    /// first arc, which has its pronunciation's score. O(tokens).
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "make_lexicon_fst")]
    #[doc(alias = "lexicon_to_fst")]
    pub fn to_graph(&self) -> Result<Graph<Fsa>, Error> {
        self.graph(false)
    }

    /// Returns L with the tokens `#1`, `#2`, ... after pronunciations that are shared by several
    /// words or are the beginning of others, and with `#0` from token to word between words, so
    /// that it can be determinized with any grammar. After optional silence there is one more such
    /// token. If there are word boundaries, `#0` comes before them.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "L_disambig")]
    #[doc(alias = "add_disambig_symbols")]
    pub fn to_disambiguated_graph(&self) -> Result<Graph<Fsa>, Error> {
        self.graph(true)
    }

    fn graph(&self, disambiguated: bool) -> Result<Graph<Fsa>, Error> {
        let symbols = |entry: usize| {
            let last = Some(self.disambiguations[entry]).filter(|&k| disambiguated && k > 0);
            let last = last.map(|k| self.disambiguation_tokens[k]);
            let tokens = self.tokens.row(entry);
            // A word must be output somewhere.
            let none = tokens.is_empty() && last.is_none();
            tokens.iter().copied().chain(last).chain(none.then_some(EPSILON))
        };
        let mut made = FsaBuilder::new();
        let start = made.add_state();
        let own_start = self.silence.is_some() || self.word_boundary.is_some();
        // The state after a word, which is final.
        let between = if own_start { made.add_state() } else { start };
        let (spoken, silent) = self.silence.map_or((0.0, 0.0), |(_, p)| ((1.0 - p).ln(), p.ln()));
        let disambiguation = self.disambiguation_tokens.last().copied().filter(|_| disambiguated);
        let silence = self.silence.map(|(token, _)| add_silence(&mut made, token, disambiguation, between));
        // The state before the first word and a boundary before it.
        let mut opening = between;
        let mut ready = between;
        if let Some(Boundary { token, at_start, at_end }) = self.word_boundary {
            ready = made.add_state();
            opening = if self.silence.is_some() { made.add_state() } else { start };
            made.add_transducer_arc(between, ready, token, EPSILON, 0.0);
            made.add_transducer_arc(opening, ready, EPSILON, EPSILON, 0.0);
            if at_start {
                made.add_transducer_arc(opening, ready, token, EPSILON, 0.0);
            }
            if at_end {
                let ended = made.add_state();
                made.add_transducer_arc(between, ended, token, EPSILON, 0.0);
                made.add_final(ended, 0.0);
            }
        }
        if let (Some((token, _)), Some(silence)) = (self.silence, silence) {
            let first =
                if opening == between { silence } else { add_silence(&mut made, token, disambiguation, opening) };
            made.add_transducer_arc(start, opening, EPSILON, EPSILON, spoken);
            made.add_transducer_arc(start, first, EPSILON, EPSILON, silent);
        }
        for (entry, (&word, &score)) in self.words.iter().zip(&self.scores).enumerate() {
            let count = symbols(entry).count();
            let mut state = ready;
            for (i, token) in symbols(entry).enumerate() {
                let (word, score) = if i == 0 { (word, score) } else { (EPSILON, 0.0) };
                if i + 1 < count {
                    let next = made.add_state();
                    made.add_transducer_arc(state, next, token, word, score);
                    state = next;
                } else {
                    made.add_transducer_arc(state, between, token, word, score + spoken);
                    if let Some(silence) = silence {
                        made.add_transducer_arc(state, silence, token, word, score + silent);
                    }
                }
            }
        }
        let ends = [Some(between), Some(opening).filter(|&opening| opening != between)];
        for end in ends.into_iter().flatten() {
            if disambiguated {
                made.add_transducer_arc(end, end, self.disambiguation_tokens[0], self.backoff_word, 0.0);
            }
            made.add_final(end, 0.0);
        }
        made.build_graph()
    }
}

/// A [`WordBoundary`] with numbers.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    token: i32,
    at_start: bool,
    at_end: bool,
}

/// Adds a state from which silence leads to `to`, with a symbol after it if there is one.
fn add_silence(made: &mut FsaBuilder, token: i32, disambiguation: Option<i32>, to: i32) -> i32 {
    let silence = made.add_state();
    match disambiguation {
        None => made.add_transducer_arc(silence, to, token, EPSILON, 0.0),
        Some(disambiguation) => {
            let heard = made.add_state();
            made.add_transducer_arc(silence, heard, token, EPSILON, 0.0);
            made.add_transducer_arc(heard, to, disambiguation, EPSILON, 0.0);
        }
    }
    silence
}

/// A line of a lexicon.
struct Line {
    number: usize,
    word: String,
    probability: Option<f32>,
    tokens: String,
}

impl Line {
    fn tokens(&self) -> impl Iterator<Item = &str> {
        fields(&self.tokens)
    }

    fn error(&self, problem: &'static str, found: &str) -> Error {
        Error::Line { what: "lexicon", line: self.number, problem, found: found.to_owned() }
    }
}

/// All lines that are not empty.
struct Text {
    lines: Vec<Line>,
}

impl Text {
    fn read(reader: impl BufRead, probabilities: Option<bool>) -> Result<Self, Error> {
        let mut reader = Lines::new("lexicon", reader);
        let mut lines = Vec::new();
        while reader.advance()? {
            let text = reader.text();
            let (word, rest) = split_first(text);
            if !word.is_empty() {
                let number = reader.number();
                lines.push(Line { number, word: word.into(), probability: None, tokens: rest.into() });
            }
        }
        let present = probabilities.unwrap_or_else(|| {
            let certain = |line: &Line| parse_probability(line.tokens().next()?).filter(|_| line.tokens.contains('.'));
            !lines.is_empty() && lines.iter().all(|line| certain(line).is_some())
        });
        for line in lines.iter_mut().filter(|_| present) {
            let (first, rest) = split_first(&line.tokens);
            let probability = parse_probability(first);
            line.probability = Some(probability.ok_or_else(|| {
                line.error("there should be a probability above 0 and up to 1 after the word", first)
            })?);
            line.tokens = rest.into();
        }
        Ok(Self { lines })
    }
}

fn parse_probability(text: &str) -> Option<f32> {
    text.parse().ok().filter(|&p| p > 0.0 && p <= 1.0)
}

/// Entries of a lexicon as numbers.
#[derive(Default)]
struct Entries {
    words: Vec<i32>,
    scores: Vec<f32>,
    tokens: Vec<Vec<i32>>,
    left_out: LeftOut,
    unknown: LeftOut,
}

impl Entries {
    fn add(
        &mut self,
        line: &Line,
        tokens: &SymbolTable,
        words: &SymbolTable,
        unknown_word: Option<i32>,
        options: &LexiconOptions,
    ) -> Result<(), Error> {
        let mut left_out = |what: OutOfVocabulary, problem, symbol: &str| match what {
            OutOfVocabulary::Skip => {
                self.left_out.add([symbol]);
                Ok(())
            }
            _ => Err(line.error(problem, symbol)),
        };
        let word = match (words.find(&line.word), unknown_word) {
            (Some(word), _) => word,
            (None, Some(word)) => {
                self.unknown.add([&*line.word]);
                word
            }
            (None, None) => return left_out(options.words, "a word that the table of words does not have", &line.word),
        };
        let mut pronunciation = Vec::new();
        for token in line.tokens() {
            match tokens.find(token) {
                None => return left_out(options.tokens, "a token that the table of tokens does not have", token),
                Some(id) if id <= EPSILON => return Err(line.error("epsilon is no token", token)),
                Some(id) => pronunciation.push(id),
            }
        }
        if word <= EPSILON {
            return Err(line.error("epsilon is no word", &line.word));
        }
        self.words.push(word);
        self.scores.push(line.probability.map_or(0.0, f32::ln));
        self.tokens.push(pronunciation);
        Ok(())
    }
}

/// Gives numbers to the symbols that have none, in alphabetical order; 0 is epsilon.
fn add_missing<'a>(
    table: &mut SymbolTable,
    what: OutOfVocabulary,
    symbols: impl Iterator<Item = &'a str>,
) -> Result<(), Error> {
    if what == OutOfVocabulary::Add {
        let missing: BTreeSet<_> = symbols.filter(|symbol| table.find(symbol).is_none()).collect();
        for symbol in missing {
            table.find_or_add(symbol)?;
        }
    }
    Ok(())
}

fn check_order(what: &'static str, highest: i32, disambiguation: i32) -> Result<(), Error> {
    if highest < disambiguation { Ok(()) } else { Err(Error::SymbolOrder { what, highest, disambiguation }) }
}

/// Returns for each pronunciation the K of the symbol #K that it needs behind it: none if no other
/// one is the same or begins with it, else 1, 2, ... among the same ones. Pronunciations without
/// tokens have numbers of their own, 1, 2, ..., and the others come after these.
fn disambiguate(pronunciations: &Ragged<i32>) -> Vec<usize> {
    // In alphabetical order, pronunciations that begin with another one come right behind it.
    let mut order: Vec<usize> = (0..pronunciations.num_rows()).collect();
    order.sort_by(|&a, &b| pronunciations.row(a).cmp(pronunciations.row(b)).then(a.cmp(&b)));
    let num_empty = order.iter().take_while(|&&entry| pronunciations.row(entry).is_empty()).count();
    let mut symbols = vec![0; order.len()];
    let (mut same, mut before) = (0, None);
    for (i, &entry) in order.iter().enumerate() {
        let tokens = pronunciations.row(entry);
        let repeats = before == Some(tokens);
        let begins = order.get(i + 1).is_some_and(|&next| pronunciations.row(next).starts_with(tokens));
        same = if repeats { same + 1 } else { 1 };
        if repeats || begins || tokens.is_empty() {
            symbols[entry] = same + if tokens.is_empty() { 0 } else { num_empty };
        }
        before = Some(tokens);
    }
    symbols
}
