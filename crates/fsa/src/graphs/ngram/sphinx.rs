//! The binary models of pocketsphinx (`.lm.bin`).
//!
//! All numbers are little-endian:
//!
//! ```text
//! "Trie Language Model"   19 bytes
//! order                   8 bits
//! counts                  [order] x 32 bits
//! if the order is 2 or above:
//!   32 bits without a meaning
//!   tables                for each order from 2 on 2^16 scores f32, and 2^16 back-off weights f32
//!                         but for the highest order
//! unigrams                [words + 1] x (score f32, back-off weight f32, first bigram, 32 bits)
//! for each order from 2 on an array of bits, the lowest bit of a byte first:
//!   records               [count + 1] x (word, back-off weight 16 bits, score 16 bits,
//!                         first of the next order);
//!                         in the highest order (word, score 16 bits)
//!   zeros                 to full bytes, and 8 bytes more
//! bytes of words          32 bits
//! words                   each with a zero byte after it
//! ```
//!
//! A word and the number of a record have as many bits as the number of words, and of records,
//! need. Weights are indexes of the tables, which have logarithms of base 1.0001. The path to a
//! record has the words of its n-gram from the last one to the first.

use super::layout::{SpecialWords, check_limit, is_log10, number_at};
use super::lists::{Level, NgramLists, bytes_of_ngrams};
use super::tree::bytes_of_word;
use super::{ArpaOptions, NgramModel};
use crate::error::Error;
use crate::graphs::progress::{Progress, Step};
use crate::io::cursor::is_blank;
use crate::support::ids::{NONE, narrow, number};

const MAGIC: &[u8] = b"Trie Language Model";
/// Highest order of pocketsphinx.
const MAX_ORDER: usize = 5;
const TABLE: usize = 1 << 16;
/// Base of logarithms: pocketsphinx's default, which it does not write.
const BASE: f64 = 1.0001;
/// Number of records that are read between two calls of `progress`.
const PROGRESS: u64 = 1 << 16;

impl NgramModel {
    /// Returns `true` if the first bytes are the ones of pocketsphinx's binary models.
    pub fn is_sphinx(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Reads one of pocketsphinx's binary models. Labels are the model's own. `progress` is called
    /// now and then. Only the special words and the limits of `options` are used.
    ///
    /// pocketsphinx adds n-grams that longer ones need as their ends, with scores of its own, which
    /// cannot be distinguished from others.
    ///
    /// # Errors
    /// [`Error::Binary`] for bytes that are not such a model, [`Error::NgramLimit`] and
    /// [`Error::TooLarge`].
    #[doc(alias = "pocketsphinx")]
    pub fn from_sphinx(bytes: &[u8], options: &ArpaOptions, progress: &mut dyn FnMut(Progress)) -> Result<Self, Error> {
        let file = Sphinx::read(bytes)?;
        check_limit(options.limits, file.bytes_of_lists(), file.counts.iter().sum())?;
        let words: Vec<_> = file.words.iter().map(|&word| word.into()).collect();
        let find = |text: &str| file.words.iter().position(|&word| word == text).map_or(NONE, number);
        let special =
            SpecialWords { start: find(&options.start), end: find(&options.end), unknown: find(&options.unknown) };
        let (mut levels, mut left_out) = (file.levels(progress)?, crate::graphs::LeftOut::default());
        // Removes n-grams that no sentence can have.
        for (level, order) in levels.iter_mut().zip(1..) {
            let is_fit = |ngram: &[u32]| {
                let starts = ngram.iter().skip(1).all(|&word| word != special.start);
                starts && ngram[..order - 1].iter().all(|&word| word != special.end)
            };
            if level.ngrams().all(is_fit) {
                continue;
            }
            let mut fit = Level::new(order);
            for at in 0..level.len() {
                let ngram = level.ngram(at);
                if is_fit(ngram) {
                    fit.push(ngram, level.scores[at], level.backoffs[at]);
                } else {
                    let ends = ngram.iter().filter(|&&word| word == special.start || word == special.end);
                    left_out.add(ends.map(|&word| file.words[word as usize]));
                }
            }
            *level = fit;
        }
        let mut lists = NgramLists { words, special, levels };
        lists.sort();
        if lists.words.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::Binary { offset: file.word_bytes, what: "a word that is there twice" });
        }
        if lists.levels.iter().any(|level| level.repeated().is_some()) {
            return Err(Error::Binary { offset: file.unigrams, what: "an n-gram that is there twice" });
        }
        Ok(Self { left_out, ..Self::from_lists(lists, options.limits)? })
    }
}

/// Offsets of the parts of a file.
struct Sphinx<'a> {
    bytes: &'a [u8],
    counts: Vec<usize>,
    tables: usize,
    unigrams: usize,
    /// Records of the orders from 2 on.
    records: Vec<Records>,
    word_bytes: usize,
    words: Vec<&'a str>,
}

/// Offset of the records of an order, and their widths in bits.
struct Records {
    start: usize,
    word: usize,
    weights: usize,
    next: usize,
}

impl Records {
    fn width(&self) -> usize {
        self.word + self.weights + self.next
    }
}

/// Returns the number of bits that a number needs.
fn width(number: usize) -> usize {
    (usize::BITS - number.leading_zeros()) as usize
}

impl<'a> Sphinx<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let ends = Error::Binary { offset: bytes.len(), what: "the n-gram model ends too early" };
        if !bytes.starts_with(MAGIC) {
            return Err(Error::Binary { offset: 0, what: "this is none of pocketsphinx's binary n-gram models" });
        }
        let order = usize::from(*bytes.get(MAGIC.len()).ok_or_else(|| ends.clone())?);
        if order == 0 || order > MAX_ORDER {
            return Err(Error::Binary { offset: MAGIC.len(), what: "the order is not within 1 and 5" });
        }
        let mut at = MAGIC.len() + 1;
        // Sizes are numbers of 32 bits times a few; they are compared with the length before use.
        let mut section = |size: u64| {
            let start = at;
            let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size));
            at = end.filter(|&end| end <= bytes.len()).ok_or_else(|| ends.clone())?;
            Ok::<_, Error>(start)
        };
        let counts_at = section(4 * order as u64)?;
        let counts: Vec<_> = (0..order).map(|order| number_at(bytes, counts_at + 4 * order) as usize).collect();
        let mut tables = 0;
        if order > 1 {
            section(4)?;
            tables = section(4 * (TABLE * (2 * order - 3)) as u64)?;
        }
        let unigrams = section(12 * (counts[0] as u64 + 1))?;
        let mut records = Vec::new();
        for order in 1..order {
            let next = counts.get(order + 1).map(|&next| width(next));
            let weights = if next.is_some() { 32 } else { 16 };
            let mut it = Records { start: 0, word: width(counts[0]), weights, next: next.unwrap_or(0) };
            let bits = (counts[order] as u64 + 1) * it.width() as u64;
            it.start = section(bits.div_ceil(8) + 8)?;
            records.push(it);
        }
        let length = section(4)?;
        let length = number_at(bytes, length) as usize;
        let word_bytes = section(length as u64)?;
        let wrong = |what| Error::Binary { offset: word_bytes, what };
        let text = std::str::from_utf8(&bytes[word_bytes..word_bytes + length]);
        let text = text.map_err(|_| wrong("words that are not UTF-8"))?;
        let words: Vec<_> = text.split_terminator('\0').collect();
        if words.len() != counts[0] || !(text.is_empty() || text.ends_with('\0')) {
            return Err(wrong("not as many words as there are n-grams of order 1"));
        }
        if words.iter().any(|word| word.is_empty() || word.bytes().any(is_blank)) {
            return Err(wrong("an empty word, or one with blanks"));
        }
        Ok(Self { bytes, counts, tables, unigrams, records, word_bytes, words })
    }

    /// Returns the bytes of all n-grams and words.
    fn bytes_of_lists(&self) -> usize {
        let ngrams = (1..).zip(&self.counts).map(|(order, &count)| bytes_of_ngrams(order, count));
        ngrams.chain(self.words.iter().map(|word| bytes_of_word(word))).fold(0, usize::saturating_add)
    }

    /// Returns all n-grams.
    fn levels(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Level>, Error> {
        let order = self.counts.len();
        let mut levels: Vec<_> = (1..=order).map(Level::new).collect();
        let all = self.counts.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count.try_into().ok()?));
        let mut done = 0;
        for word in 0..self.counts[0] {
            let [score, backoff] =
                [0, 4].map(|at| f32::from_bits(number_at(self.bytes, self.unigrams + 12 * word + at)));
            levels[0].push(&[number(word)], self.log10(score)?, self.log10(backoff)?);
        }
        // For each order the current record, and the end of its children, from the last word on.
        let first = |word: usize| number_at(self.bytes, self.unigrams + 12 * word + 8) as usize;
        let (mut path, mut ends) = (Vec::<std::ops::Range<usize>>::new(), vec![0; order]);
        let mut children = |at: usize, start: usize, end: usize| {
            // The children of the record before end where these begin: no record is read twice.
            if start < ends[at] || end < start || end > self.counts[at + 1] {
                let offset = self.records[at].start;
                return Err(Error::Binary { offset, what: "records that are not those after the ones before" });
            }
            ends[at] = end;
            Ok(start..end)
        };
        for word in 0..self.counts[0] {
            let mut words = vec![number(word)];
            if order > 1 {
                path.push(children(0, first(word), first(word + 1))?);
            }
            while let Some(at) = path.len().checked_sub(1) {
                words.truncate(at + 1);
                let Some(record) = path[at].next() else {
                    path.pop();
                    continue;
                };
                let it = &self.records[at];
                let mut bit = record * it.width();
                let word = self.bits(it, bit, it.word);
                if word >= self.counts[0] {
                    return Err(Error::Binary { offset: it.start + bit / 8, what: "a word that there is not" });
                }
                words.push(number(word));
                bit += it.word;
                let is_last = it.weights == 16;
                let backoff = if is_last { 0.0 } else { self.table(2 * at + 1, self.bits(it, bit, 16))? };
                bit += it.weights - 16;
                let score = self.table(2 * at, self.bits(it, bit, 16))?;
                bit += 16;
                let ngram: Vec<_> = words.iter().rev().copied().collect();
                levels[at + 1].push(&ngram, score, backoff);
                done += 1;
                if done % PROGRESS == 0 {
                    progress(Progress { done, of: all, ..Progress::new(Step::ReadNgrams) });
                }
                if !is_last {
                    let [start, end] = [bit, bit + it.width()].map(|bit| self.bits(it, bit, it.next));
                    path.push(children(at + 1, start, end)?);
                }
            }
        }
        progress(Progress { done, of: all, ..Progress::new(Step::ReadNgrams) });
        Ok(levels)
    }

    /// Returns a number of up to 32 bits within the records of an order.
    fn bits(&self, records: &Records, bit: usize, width: usize) -> usize {
        let from = records.start + bit / 8;
        let eight = self.bytes.get(from..).and_then(|bytes| bytes.first_chunk());
        let value = u64::from_le_bytes(eight.copied().unwrap_or_default()) >> (bit % 8);
        usize::try_from(value & ((1 << width) - 1)).unwrap_or(usize::MAX)
    }

    /// Returns an entry of a table of weights.
    fn table(&self, table: usize, entry: usize) -> Result<f32, Error> {
        self.log10(f32::from_bits(number_at(self.bytes, self.tables + 4 * (TABLE * table + entry))))
    }

    fn log10(&self, weight: f32) -> Result<f32, Error> {
        let log10 = narrow(f64::from(weight) * BASE.log10());
        if !is_log10(log10) {
            return Err(Error::Binary { offset: self.tables, what: "a weight that is no logarithm" });
        }
        Ok(log10)
    }
}
