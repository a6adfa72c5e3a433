//! ARPA files.

use std::collections::HashMap;
use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;
use std::sync::Arc as Shared;

use kaldera_base::setters;

use super::layout::{MAX_ORDER, SpecialWords, check_limit, is_summable_log10};
use super::lists::{Level, NgramLists};
use super::tree::bytes_of_word;
use super::{NgramModel, foreign};
use crate::core::arc::EPSILON;
use crate::core::limits::Limits;
use crate::error::{Error, Quantity};
use crate::graphs::left_out::LeftOut;
use crate::graphs::lines::{Lines, fields, trim};
use crate::graphs::progress::{OutOfVocabulary, Progress, Step};
use crate::io::symbols::SymbolTable;
use crate::support::ids::NONE;

/// Options for reading an n-gram model.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct ArpaOptions {
    /// Word that begins sentences, `<s>`.
    pub start: String,
    /// Word that ends sentences, `</s>`.
    pub end: String,
    /// Word that stands for words that the model does not have, `<unk>`.
    pub unknown: String,
    /// Treatment of n-grams with words that are not in the table.
    pub out_of_vocabulary: OutOfVocabulary,
    /// The largest size of the model while it is read.
    pub limits: Limits,
}

setters! {
    ArpaOptions:
    start, with_start: String = "<s>".into(), "With this word at the beginning of sentences.";
    end, with_end: String = "</s>".into(), "With this word at the end of sentences.";
    unknown, with_unknown: String = "<unk>".into(), "With this word for unknown ones.";
    out_of_vocabulary, with_out_of_vocabulary: OutOfVocabulary = OutOfVocabulary::Add, "With this for other words.";
    limits, with_limits: Limits = Limits::default(), "With these limits.";
}

/// Number of n-grams that are read or written between two calls of `progress`.
const PROGRESS: u64 = 1 << 16;

/// Logarithm of a probability of zero in ARPA files.
pub(super) const LOG_ZERO: f32 = -99.0;

/// Name of the text in messages.
const WHAT: &str = "n-gram model";

impl NgramModel {
    /// Reads an ARPA file, or one of the binary files that [`from_bytes`](Self::from_bytes) and
    /// [`from_sphinx`](Self::from_sphinx) take, recognized by the first bytes. Words get labels
    /// from `words`, except for the ones that begin and end sentences. O(n-grams), and no more
    /// memory than the n-grams in the file need, whatever its header says. There may be fewer than
    /// the header counts, for instance if lines were filtered out
    /// ([`num_missing`](Self::num_missing)). `progress` is called now and then.
    ///
    /// An n-gram is skipped if the beginning of sentences is not its first word or the end is not
    /// its last one, since no sentence can have it, and if [`OutOfVocabulary`] says so. If the
    /// words before the last one of an n-gram are not an n-gram themselves, they are added with the
    /// probability that backing off gives.
    ///
    /// # Errors
    /// [`Error::Foreign`] for files of other tools, [`Error::Line`] with the line that is invalid,
    /// [`Error::NgramCount`] if there are more n-grams than the header counts, [`Error::Read`],
    /// [`Error::NgramLimit`] and [`Error::TooLarge`]; for binary files [`Error::Binary`], and the
    /// errors of [`with_labels`](Self::with_labels).
    pub fn read(
        reader: impl BufRead,
        words: &mut SymbolTable,
        options: &ArpaOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        match Content::read(reader, options.limits)? {
            Content::Text(reader) => {
                let model = Self::read_lines(reader, Some(words), options, progress)?;
                model.with_labels(words, OutOfVocabulary::Refuse, options.limits)
            }
            Content::Binary(bytes) => {
                let model = Self::from_binary(bytes, options, progress)?;
                model.with_labels(words, options.out_of_vocabulary, options.limits)
            }
        }
    }

    /// Opens the model of a file: an ARPA file or one of the binary files, as [`read`](Self::read)
    /// says, with all its words, and labels of the model's own. Use
    /// [`from_reader`](Self::from_reader) with a decoder for compressed files.
    ///
    /// ```no_run
    /// use fsa::graphs::NgramModel;
    ///
    /// let model = NgramModel::open("lm.arpa")?;
    /// println!("{} n-grams up to order {}", model.num_ngrams(), model.order());
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`] with the file, and an error of [`read`](Self::read).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Error::in_file(path.as_ref(), |file| {
            Self::from_reader(io::BufReader::new(file), &ArpaOptions::default(), &mut |_| {})
        })
    }

    /// Reads a model as [`read`](Self::read), with all its words, and labels of the model's own.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_reader(
        reader: impl BufRead,
        options: &ArpaOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        match Content::read(reader, options.limits)? {
            Content::Text(reader) => Self::read_lines(reader, None, options, progress),
            Content::Binary(bytes) => Self::from_binary(bytes, options, progress),
        }
    }

    fn from_binary(bytes: Vec<u8>, options: &ArpaOptions, progress: &mut dyn FnMut(Progress)) -> Result<Self, Error> {
        if Self::is_sphinx(&bytes) { Self::from_sphinx(&bytes, options, progress) } else { Self::from_bytes(bytes) }
    }

    fn read_lines(
        reader: impl BufRead,
        words: Option<&mut SymbolTable>,
        options: &ArpaOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let mut lines = Lines::new(WHAT, reader);
        let promised = read_counts(&mut lines)?;
        let all = promised.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let mut reading = Reading {
            options,
            table: words,
            words: Vec::new(),
            numbers: HashMap::new(),
            left_out: LeftOut::default(),
            bytes: 0,
        };
        let (mut levels, mut ngram, mut done, mut missing) = (Vec::new(), Vec::new(), 0, 0);
        for (order, &expected) in (1..).zip(&promised) {
            // The current line is the section's name: reading the counts, or the section before,
            // has stopped there.
            if section(lines.text()) != Some(order) {
                return Err(
                    lines.error("the sections must follow each other as 1-grams, 2-grams and so on", lines.text())
                );
            }
            let (mut found, mut level, mut numbers) = (0, Level::new(order), Vec::new());
            loop {
                if !lines.advance()? {
                    return Err(lines.error("the model ends before \\end\\", ""));
                }
                let text = lines.text();
                if text.is_empty() {
                    continue;
                }
                if text.starts_with('\\') && (text == "\\end\\" || section(text).is_some()) {
                    break;
                }
                found += 1;
                done += 1;
                if done % PROGRESS == 0 {
                    progress(Progress { done, of: Some(all), ..Progress::new(Step::ReadNgrams) });
                }
                let known = reading.words.len();
                let (score, backoff) = reading.parse(&lines, order, &mut ngram)?;
                if order == 1 && ngram.len() == 1 && reading.words.len() == known {
                    return Err(lines.error("an n-gram stands there twice", lines.text()));
                }
                if ngram.len() == order {
                    Error::fit(Quantity::Ngrams, level.len())?;
                    level.push(&ngram, score, backoff);
                    numbers.push(lines.number());
                }
                let of_lines = 2 * size_of::<usize>() * numbers.len();
                let taken = reading.bytes + reading.left_out.bytes() + level.bytes() + of_lines;
                check_limit(options.limits, taken, level.len())?;
            }
            if order == 1 {
                level = reading.sort_words(level);
            } else {
                let moved = level.sort(reading.words.len());
                if let Some(again) = level.repeated() {
                    let line = numbers[moved.map_or(again, |moved| moved[again] as usize)];
                    let words = level.ngram(again).iter().map(|&word| &*reading.words[word as usize]);
                    let found = words.collect::<Vec<_>>().join(" ");
                    return Err(Error::Line { what: WHAT, line, problem: "an n-gram stands there twice", found });
                }
            }
            reading.bytes += level.bytes();
            levels.push(level);
            if found > expected {
                return Err(Error::NgramCount { order, expected, found });
            }
            missing = u64::saturating_add(missing, expected - found);
        }
        if lines.text() != "\\end\\" {
            return Err(lines.error("a section of n-grams that were not counted", lines.text()));
        }
        progress(Progress { done, of: Some(all), ..Progress::new(Step::ReadNgrams) });
        let special = reading.special_words();
        let Reading { words, left_out, .. } = reading;
        let model = Self::from_lists(NgramLists { words, special, levels }, options.limits)?;
        Ok(Self { left_out, missing, ..model })
    }

    /// Writes an ARPA file, with the n-grams of each order sorted by the bytes of their words.
    /// Numbers that were read are written in as few digits as distinguish them from others; a
    /// probability of zero is -99, a weight for backing off of 1 is left out. O(n-grams).
    /// `progress` is called now and then.
    ///
    /// ```
    /// use fsa::graphs::{ArpaOptions, NgramModel};
    ///
    /// let arpa = "\\data\\\nngram 1=3\n\n\
    ///     \\1-grams:\n-0.25\t</s>\n-99\t<s>\n-1\thello\n\n\\end\\\n";
    /// let model = NgramModel::from_reader(arpa.as_bytes(), &ArpaOptions::default(), &mut |_| {})?;
    /// let mut written = Vec::new();
    /// model.write_arpa(&mut written, &mut |_| {}).unwrap();
    /// assert_eq!(String::from_utf8(written).unwrap(), arpa);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_arpa(&self, mut out: impl Write, progress: &mut dyn FnMut(Progress)) -> io::Result<()> {
        writeln!(out, "\\data\\")?;
        for order in 1..=self.order() {
            writeln!(out, "ngram {order}={}", self.num_ngrams_of(order))?;
        }
        let (view, all, mut done) = (self.view(), u64::try_from(self.num_ngrams()).ok(), 0);
        for order in 1..=self.order() {
            writeln!(out, "\n\\{order}-grams:")?;
            self.for_each_ngram(order, |node, words| {
                let ((score, _), (backoff, _)) = (view.entry(node), view.inner(node));
                write!(out, "{}", score.max(LOG_ZERO))?;
                for (at, &word) in words.iter().enumerate() {
                    write!(out, "{}{}", if at == 0 { '\t' } else { ' ' }, self.word(word))?;
                }
                if backoff != 0.0 {
                    write!(out, "\t{}", backoff.max(LOG_ZERO))?;
                }
                done += 1;
                if done % PROGRESS == 0 {
                    progress(Progress { done, of: all, ..Progress::new(Step::WriteNgrams) });
                }
                writeln!(out)
            })?;
        }
        writeln!(out, "\n\\end\\")?;
        progress(Progress { done, of: all, ..Progress::new(Step::WriteNgrams) });
        out.flush()
    }
}

/// Input, distinguished by its first bytes.
enum Content<R> {
    Text(io::Chain<io::Cursor<Vec<u8>>, R>),
    Binary(Vec<u8>),
}

impl<R: BufRead> Content<R> {
    fn read(mut reader: R, limits: Limits) -> Result<Self, Error> {
        let error = |error: io::Error| Error::Read { what: WHAT, line: 1, problem: error.to_string() };
        let mut bytes = Vec::new();
        reader.by_ref().take(foreign::LONGEST as u64).read_to_end(&mut bytes).map_err(error)?;
        foreign::refuse(&bytes)?;
        if NgramModel::is_one(&bytes) || NgramModel::is_sphinx(&bytes) {
            let limit = limits.bytes();
            reader.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes).map_err(error)?;
            check_limit(limits, bytes.len(), 0)?;
            return Ok(Self::Binary(bytes));
        }
        Ok(Self::Text(io::Cursor::new(bytes).chain(reader)))
    }
}

/// Words of a file that is being read.
struct Reading<'a> {
    options: &'a ArpaOptions,
    table: Option<&'a mut SymbolTable>,
    words: Vec<Shared<str>>,
    numbers: HashMap<Shared<str>, u32>,
    left_out: LeftOut,
    /// Bytes of words and of n-grams of lower orders.
    bytes: usize,
}

impl Reading<'_> {
    /// Returns the score and the back-off weight of the current line; its words are written to
    /// `ngram`, or none of them if it is to be skipped.
    fn parse<R: BufRead>(&mut self, lines: &Lines<R>, order: usize, ngram: &mut Vec<u32>) -> Result<(f32, f32), Error> {
        let log10 = |text: &str| {
            let is_written = |log: f32| log.is_finite() || !text.bytes().any(|byte| byte.is_ascii_digit());
            let number = text.parse::<f32>().ok().filter(|&log| is_summable_log10(log) && is_written(log));
            number.ok_or_else(|| lines.error("there should be a logarithm of a probability", text))
        };
        let mut all = fields(lines.text());
        let score = log10(all.next().unwrap_or_default())?;
        ngram.clear();
        let (mut unfit, words) = (Vec::new(), all.clone());
        for position in 0..order {
            let Some(word) = all.next() else {
                return Err(lines.error("too few words", lines.text()));
            };
            let known = self.numbers.get(word).copied();
            let is_fit = if word == self.options.start {
                position == 0
            } else if word == self.options.end {
                position + 1 == order
            } else {
                known.is_some() || self.is_wanted(lines, word)?
            };
            unfit.extend((!is_fit).then_some(word));
            ngram.push(known.unwrap_or(NONE));
        }
        let backoff = all.next().map(log10).transpose()?.unwrap_or(0.0);
        if all.next().is_some() {
            return Err(lines.error("too many words", lines.text()));
        }
        if !unfit.is_empty() {
            self.left_out.add(unfit);
            ngram.clear();
        } else if ngram.contains(&NONE) {
            for (number, word) in ngram.iter_mut().zip(words) {
                *number = self.number(word)?;
            }
        }
        Ok((score, backoff))
    }

    /// Returns `true` if n-grams may have a word that has not occurred yet.
    fn is_wanted<R: BufRead>(&self, lines: &Lines<R>, word: &str) -> Result<bool, Error> {
        let label = match &self.table {
            Some(table) => table.find(word),
            None => (word == "<eps>").then_some(EPSILON),
        };
        match (label, &self.options.out_of_vocabulary) {
            (Some(EPSILON), _) => Err(lines.error("epsilon is no word", word)),
            (None, OutOfVocabulary::Skip) if self.table.is_some() => Ok(false),
            (None, OutOfVocabulary::Refuse) if self.table.is_some() => {
                Err(lines.error("a word that the table does not have", word))
            }
            _ => Ok(true),
        }
    }

    /// Returns the number of a word, which is the next one if it has not occurred yet.
    fn number(&mut self, word: &str) -> Result<u32, Error> {
        if let Some(&number) = self.numbers.get(word) {
            return Ok(number);
        }
        if let Some(table) = &mut self.table
            && word != self.options.start
            && word != self.options.end
        {
            table.find_or_add(word)?;
        }
        let number = Error::fit(Quantity::Symbols, self.words.len())?.cast_unsigned();
        let word: Shared<str> = word.into();
        self.bytes += 2 * bytes_of_word(&word);
        self.words.push(Shared::clone(&word));
        self.numbers.insert(word, number);
        Ok(number)
    }

    /// Numbers the words in their order, so that longer n-grams need not be renumbered.
    fn sort_words(&mut self, unigrams: Level) -> Level {
        let special = self.special_words();
        let mut lists = NgramLists { words: std::mem::take(&mut self.words), special, levels: vec![unigrams] };
        lists.sort();
        self.words = lists.words;
        self.numbers = self.words.iter().cloned().zip(0..).collect();
        lists.levels.swap_remove(0)
    }

    fn special_words(&self) -> SpecialWords {
        let ArpaOptions { start, end, unknown, .. } = self.options;
        let [start, end, unknown] =
            [start, end, unknown].map(|word| self.numbers.get(word.as_str()).copied().unwrap_or(NONE));
        SpecialWords { start, end, unknown }
    }
}

/// Reads the counts of `\data\`, up to the first section's name, which stays the current line.
fn read_counts<R: BufRead>(lines: &mut Lines<R>) -> Result<Vec<u64>, Error> {
    loop {
        if !lines.advance()? {
            return Err(lines.error("there is no \\data\\", ""));
        }
        if lines.text() == "\\data\\" {
            break;
        }
    }
    let mut counts = Vec::new();
    loop {
        if !lines.advance()? {
            return Err(lines.error("the model ends before its n-grams", ""));
        }
        let text = lines.text();
        if text.is_empty() {
            continue;
        }
        if section(text).is_some() && !counts.is_empty() {
            return Ok(counts);
        }
        let count = text.strip_prefix("ngram").and_then(|rest| rest.split_once('='));
        let count = count
            .and_then(|(order, count)| Some((trim(order).parse::<usize>().ok()?, trim(count).parse::<u64>().ok()?)));
        match count {
            Some((order, _)) if order > MAX_ORDER => {
                return Err(lines.error("an n-gram model has an order of at most 100", text));
            }
            Some((order, count)) if order == counts.len() + 1 => counts.push(count),
            _ => return Err(lines.error("there should be `ngram ORDER=COUNT`, for the orders 1, 2 and so on", text)),
        }
    }
}

/// Returns the N of `\N-grams:`.
fn section(text: &str) -> Option<usize> {
    text.strip_prefix('\\')?.strip_suffix("-grams:")?.parse().ok()
}
