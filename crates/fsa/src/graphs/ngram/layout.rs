//! The bytes of an n-gram model, which are the same in memory and in a file.
//!
//! All numbers are little-endian and of 32 bits, unless another size is given. Logarithms are of
//! base 10.
//!
//! ```text
//! 0   "KALDNGRM", 8 bytes
//! 8   version, 1
//! 12  order: the number of words of the longest n-grams
//! 16  start, end, unknown: the words <s>, </s> and <unk>, or 2^32 - 1 where there is no such word
//! 28  bytes of all words, one after another
//! 32  checksum of all other bytes, 64 bits
//! 40  for each order the number of n-grams; every word is an n-gram of order 1
//!     -- each of the following begins at a multiple of 8, after zeros
//!     word starts    [words + 1]       where the words begin among their bytes;
//!                                      words are sorted by their bytes
//!     word bytes                       UTF-8
//!     inner          [M + 1] x (back-off weight f32, first child)
//!     last words     [N]               the last word of each node
//!     entries        [N] x (score f32, suffix)
//! ```
//!
//! A node is an n-gram; node 0 is the n-gram of no words. They are numbered by order, and within an
//! order by their words: so the children of a node, its n-grams with one word more, are consecutive
//! and sorted, and the children of node `i` end where the children of `i + 1` begin. M nodes are
//! not of the highest order; N are all. The suffix of a node is the node of as many of its last
//! words as make a difference to the following words: it has children or a back-off weight, or no
//! words.

use std::ops::Range;

use crate::core::limits::Limits;
use crate::error::{Error, Quantity};
use crate::io::cursor::is_blank;
use crate::support::ids::NONE;

/// First bytes of a file.
pub(super) const MAGIC: &[u8; 8] = b"KALDNGRM";
const VERSION: u32 = 1;
/// Number of bytes before the numbers of n-grams.
const HEADER: usize = 40;
/// Highest order of an n-gram model.
pub(super) const MAX_ORDER: usize = 100;

/// Node of no words.
pub(super) const ROOT: u32 = 0;

/// Words with a special meaning, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpecialWords {
    /// The beginning of a sentence.
    pub(super) start: u32,
    /// The end of a sentence.
    pub(super) end: u32,
    /// Word that stands for words that the model does not have.
    pub(super) unknown: u32,
}

impl SpecialWords {
    /// Returns the words with other numbers.
    pub(super) fn map(self, renumber: impl Fn(u32) -> u32) -> Self {
        let map = |word| if word == NONE { NONE } else { renumber(word) };
        Self { start: map(self.start), end: map(self.end), unknown: map(self.unknown) }
    }
}

/// The largest absolute value of a logarithm in a model, except for the logarithm of zero: a sum
/// over the words of an n-gram, as a natural logarithm, is then within single precision.
const LARGEST: f32 = f32::MAX / 256.0;

/// Returns `true` if a number can be a logarithm of a probability, or a weight for backing off.
pub(super) fn is_log10(number: f32) -> bool {
    number.abs() <= LARGEST || number == f32::NEG_INFINITY
}

/// Returns `true` if a number is one, and sums of as many as an n-gram has words are too.
pub(super) fn is_summable_log10(number: f32) -> bool {
    const MOST_WORDS: f32 = 128.0;
    const { assert!(MAX_ORDER < 128) };
    is_log10(number) && is_log10(number * MOST_WORDS)
}

/// Checks that a model, or its input, is within the limit.
///
/// # Errors
/// [`Error::NgramLimit`].
pub(super) fn check_limit(limits: Limits, needed: usize, ngrams: usize) -> Result<(), Error> {
    let limit = limits.bytes();
    if needed > limit { Err(Error::NgramLimit { limit, needed, ngrams }) } else { Ok(()) }
}

/// Offsets of the sections of a model.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// First node of each order, from 0 on, and the number of nodes.
    starts: Vec<u32>,
    pub(super) special: SpecialWords,
    word_starts: Range<usize>,
    word_bytes: Range<usize>,
    inner: Range<usize>,
    last_words: Range<usize>,
    entries: Range<usize>,
}

impl Layout {
    /// Returns the layout of a model with so many n-grams of each order, which fits into memory.
    pub(super) fn new(counts: &[u32], word_bytes: usize, special: SpecialWords) -> Result<Self, Error> {
        let mut starts = vec![0, 1];
        for &count in counts {
            let last = starts[starts.len() - 1];
            let next = u32::checked_add(last, count).filter(|&next| next < NONE);
            let size = u64::from(last) + u64::from(count);
            starts.push(next.ok_or(Error::TooLarge { what: Quantity::Ngrams, size })?);
        }
        let nodes = u64::from(starts[starts.len() - 1]);
        let num_inner = u64::from(starts[starts.len() - 2]) + 1;
        let num_words = u64::from(counts.first().copied().unwrap_or(0)) + 1;
        let mut at = HEADER as u64 + 4 * counts.len() as u64;
        let mut section = |bytes: u64| {
            let start = at.next_multiple_of(8);
            at = start + bytes;
            let place = |at: u64| usize::try_from(at).map_err(|_| Error::TooLarge { what: Quantity::Ngrams, size: at });
            Ok::<_, Error>(place(start)?..place(at)?)
        };
        Ok(Self {
            word_starts: section(4 * num_words)?,
            word_bytes: section(word_bytes as u64)?,
            inner: section(8 * num_inner)?,
            last_words: section(4 * nodes)?,
            entries: section(8 * nodes)?,
            starts,
            special,
        })
    }

    pub(super) fn order(&self) -> usize {
        self.starts.len() - 2
    }

    /// Returns the nodes of an order.
    pub(super) fn nodes(&self, order: usize) -> Range<u32> {
        self.starts[order]..self.starts[order + 1]
    }

    /// Returns the number of nodes.
    pub(super) fn num_nodes(&self) -> u32 {
        self.starts[self.starts.len() - 1]
    }

    pub(super) fn num_words(&self) -> u32 {
        self.nodes(1).end - 1
    }

    fn len(&self) -> usize {
        self.entries.end
    }

    /// Returns the sections within the bytes of the model.
    #[inline]
    pub(super) fn view<'a>(&self, bytes: &'a [u8]) -> View<'a> {
        View {
            inner: bytes[self.inner.clone()].as_chunks().0,
            last_words: bytes[self.last_words.clone()].as_chunks().0,
            entries: bytes[self.entries.clone()].as_chunks().0,
        }
    }

    /// Returns a word; the number must be valid.
    pub(super) fn word<'a>(&self, bytes: &'a [u8], word: u32) -> &'a str {
        let at = |word: u32| number_at(bytes, self.word_starts.start + 4 * word as usize) as usize;
        let range = at(word)..at(word + 1);
        std::str::from_utf8(&bytes[self.word_bytes.clone()][range]).unwrap_or_default()
    }

    /// Returns the number of a word.
    pub(super) fn find_word(&self, bytes: &[u8], text: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.num_words());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.word(bytes, middle).cmp(text) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// The sections of a model.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    inner: &'a [[u8; 8]],
    last_words: &'a [[u8; 4]],
    entries: &'a [[u8; 8]],
}

impl View<'_> {
    /// Returns the back-off weight of a node, and its children.
    #[inline]
    pub(super) fn inner(&self, node: u32) -> (f32, Range<u32>) {
        let node = node as usize;
        match self.inner.get(node..node + 2) {
            Some([one, next]) => {
                let ((backoff, first), (_, end)) = (pair(one), pair(next));
                (backoff, first..end)
            }
            _ => (0.0, 0..0),
        }
    }

    /// Returns the score and the suffix of a node.
    #[inline]
    pub(super) fn entry(&self, node: u32) -> (f32, u32) {
        pair(&self.entries[node as usize])
    }

    /// Returns the last word of a node.
    #[inline]
    pub(super) fn last_word(&self, node: u32) -> u32 {
        u32::from_le_bytes(self.last_words[node as usize])
    }

    /// Returns the child of this word among the children of a node, which the caller has from
    /// [`inner`](Self::inner).
    #[inline]
    pub(super) fn find(&self, children: Range<u32>, word: u32) -> Option<u32> {
        let words = &self.last_words[children.start as usize..children.end as usize];
        let at = words.partition_point(|&it| u32::from_le_bytes(it) < word);
        let found = *words.get(at)?;
        // Nodes have 32 bits.
        #[expect(clippy::cast_possible_truncation, reason = "it is less than the number of children")]
        (u32::from_le_bytes(found) == word).then_some(children.start + at as u32)
    }

    /// Returns `true` if the following words can depend on all the words of a node.
    #[inline]
    pub(super) fn is_state(&self, node: u32) -> bool {
        let (backoff, children) = self.inner(node);
        node == ROOT || backoff != 0.0 || !children.is_empty()
    }

    /// Returns the state after a word, and the logarithm of its probability.
    #[inline]
    pub(super) fn step(&self, mut node: u32, word: u32) -> (u32, f64) {
        let mut total = 0.0;
        loop {
            let (backoff, children) = self.inner(node);
            let found = if node == ROOT { Some(word + 1) } else { self.find(children, word) };
            if let Some(found) = found {
                let (score, suffix) = self.entry(found);
                let next = if self.is_state(found) { found } else { suffix };
                return (next, total + f64::from(score));
            }
            total += f64::from(backoff);
            node = self.entry(node).1;
        }
    }
}

#[inline]
fn pair(bytes: &[u8; 8]) -> (f32, u32) {
    let [a, b, c, d, e, f, g, h] = *bytes;
    (f32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// Returns the number at an offset, 0 beyond the end.
pub(super) fn number_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Sections of a model that is being built.
pub(super) struct Sections<'a> {
    pub(super) words: &'a [std::sync::Arc<str>],
    pub(super) counts: &'a [u32],
    pub(super) special: SpecialWords,
    /// Back-off weights of the nodes below the highest order.
    pub(super) backoffs: &'a [f32],
    /// First children of the nodes below the highest order, and the number of nodes.
    pub(super) first_children: &'a [u32],
    pub(super) last_words: &'a [u32],
    pub(super) scores: &'a [f32],
    pub(super) suffixes: &'a [u32],
}

impl Sections<'_> {
    /// Returns the bytes of the model; `others` more bytes are in memory.
    pub(super) fn write(&self, others: usize, limits: Limits) -> Result<(Layout, Vec<u8>), Error> {
        let word_bytes = self.words.iter().map(|word| word.len()).sum();
        let layout = Layout::new(self.counts, word_bytes, self.special)?;
        check_limit(limits, others.saturating_add(layout.len()), layout.num_nodes() as usize)?;
        let mut out = Vec::with_capacity(layout.len());
        let SpecialWords { start, end, unknown } = self.special;
        let order = Error::fit(Quantity::Order, self.counts.len())?.cast_unsigned();
        let bytes = Error::fit(Quantity::StringLength, word_bytes)?.cast_unsigned();
        out.extend(MAGIC);
        let header = [VERSION, order, start, end, unknown, bytes, 0, 0];
        header.iter().chain(self.counts).for_each(|number| out.extend(number.to_le_bytes()));
        align(&mut out);
        let mut at = 0_u32;
        for word in self.words {
            out.extend(at.to_le_bytes());
            at += Error::fit(Quantity::StringLength, word.len())?.cast_unsigned();
        }
        out.extend(at.to_le_bytes());
        align(&mut out);
        self.words.iter().for_each(|word| out.extend(word.as_bytes()));
        align(&mut out);
        let backoffs = self.backoffs.iter().chain(&[0.0]);
        for (backoff, first) in backoffs.zip(self.first_children) {
            out.extend(backoff.to_le_bytes());
            out.extend(first.to_le_bytes());
        }
        self.last_words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        align(&mut out);
        for (score, suffix) in self.scores.iter().zip(self.suffixes) {
            out.extend(score.to_le_bytes());
            out.extend(suffix.to_le_bytes());
        }
        debug_assert_eq!(out.len(), layout.len());
        let sum = checksum(&out);
        out[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
        Ok((layout, out))
    }
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Returns the checksum over all bytes except its own.
fn checksum(bytes: &[u8]) -> u64 {
    sum(&bytes[..HEADER - 8]).wrapping_add(sum(&bytes[HEADER..]))
}

/// Returns a sum that changes with any eight bytes: four lanes of multiplication and rotation, and
/// their mix.
fn sum(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = [1_u64, 2, 3, 4].map(|lane| lane.wrapping_mul(ODD));
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    for block in blocks.iter().chain([&last]) {
        for (lane, eight) in lanes.iter_mut().zip(block.as_chunks().0) {
            *lane = (*lane ^ u64::from_le_bytes(*eight)).wrapping_mul(ODD).rotate_left(29);
        }
    }
    lanes.iter().fold(bytes.len() as u64, |sum, lane| (sum ^ lane).wrapping_mul(ODD).rotate_left(31))
}

impl Layout {
    /// Checks all bytes of a file: look-ups in the result are safe. O(bytes).
    ///
    /// # Errors
    /// [`Error::Binary`], with the offset of the first error.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let wrong = |offset: usize, what: &'static str| Err(Error::Binary { offset, what });
        if bytes.len() < HEADER {
            return wrong(bytes.len(), "the n-gram model ends within its header");
        }
        if !bytes.starts_with(MAGIC) {
            return wrong(0, "this is no n-gram model of this format");
        }
        if number_at(bytes, 8) != VERSION {
            return wrong(8, "a version of the format that this program does not know: it knows version 1");
        }
        let order = number_at(bytes, 12) as usize;
        if order == 0 || order > MAX_ORDER {
            return wrong(12, "the order of the n-gram model is not within 1 and 100");
        }
        let special =
            SpecialWords { start: number_at(bytes, 16), end: number_at(bytes, 20), unknown: number_at(bytes, 24) };
        let counts: Vec<_> = (0..order).map(|order| number_at(bytes, HEADER + 4 * order)).collect();
        let layout = Self::new(&counts, number_at(bytes, 28) as usize, special)?;
        if bytes.len() != layout.len() {
            return wrong(bytes.len(), "the n-gram model has not the length that its header says");
        }
        let sum = bytes[HEADER - 8..].first_chunk().map_or(0, |sum| u64::from_le_bytes(*sum));
        if sum != checksum(bytes) {
            return wrong(HEADER - 8, "the n-gram model is damaged: its checksum is another one");
        }
        let num_words = layout.num_words();
        if [special.start, special.end, special.unknown].iter().any(|&word| word != NONE && word >= num_words) {
            return wrong(16, "a word that there is not");
        }
        layout.check_words(bytes)?;
        layout.check_nodes(bytes)?;
        Ok(layout)
    }

    /// Checks that words are sorted, each one once.
    fn check_words(&self, bytes: &[u8]) -> Result<(), Error> {
        let error = |offset: usize, what: &'static str| Error::Binary { offset, what };
        let starts = bytes[self.word_starts.clone()].as_chunks::<4>().0;
        let text = &bytes[self.word_bytes.clone()];
        let mut before: Option<&[u8]> = None;
        for (at, ends) in starts.windows(2).enumerate() {
            let offset = self.word_starts.start + 4 * at;
            let [from, to] = [ends[0], ends[1]].map(|end| u32::from_le_bytes(end) as usize);
            let word =
                text.get(from..to).ok_or_else(|| error(offset, "a word that is not among the bytes of words"))?;
            if std::str::from_utf8(word).is_err() {
                return Err(error(offset, "a word that is not UTF-8"));
            }
            if word.is_empty() || word.iter().any(|&byte| is_blank(byte)) {
                return Err(error(offset, "a word that is empty or has blanks"));
            }
            if before.is_some_and(|before| before >= word) {
                return Err(error(offset, "words that are not sorted"));
            }
            before = Some(word);
        }
        let ends = starts.last().map(|&end| u32::from_le_bytes(end) as usize);
        if ends != Some(text.len()) || starts.first().is_some_and(|&first| first != [0; 4]) {
            return Err(error(self.word_starts.start, "words that are not all of the bytes of words"));
        }
        Ok(())
    }

    /// Checks that look-ups end, and that their results are nodes.
    fn check_nodes(&self, bytes: &[u8]) -> Result<(), Error> {
        let view = self.view(bytes);
        let num_words = self.num_words();
        let inner_error = |node: u32, what| Error::Binary { offset: self.inner.start + 8 * node as usize, what };
        let entry_error = |node: u32, what| Error::Binary { offset: self.entries.start + 8 * node as usize, what };
        let mut next = 1;
        for order in 0..=self.order() {
            for node in self.nodes(order) {
                let (score, suffix) = view.entry(node);
                if !is_log10(score) {
                    return Err(entry_error(node, "a score that is no logarithm of a probability"));
                }
                // Suffixes are of a lower order, so that backing off ends.
                if suffix >= self.nodes(order.max(1)).start || !view.is_state(suffix) {
                    return Err(entry_error(node, "a suffix of no lower order, or one that is no state"));
                }
                if order == self.order() {
                    continue;
                }
                let (backoff, children) = view.inner(node);
                if !is_log10(backoff) {
                    return Err(inner_error(node, "a weight for backing off that is no logarithm"));
                }
                if children.start != next || children.end < next || children.end > self.nodes(order + 1).end {
                    return Err(inner_error(node, "children that do not follow those of the node before"));
                }
                next = children.end;
                let mut least = 0;
                for child in children {
                    let word = view.last_word(child);
                    if word < least || word >= num_words {
                        let offset = self.last_words.start + 4 * child as usize;
                        return Err(Error::Binary { offset, what: "children that are not sorted, or no words" });
                    }
                    least = word + 1;
                }
            }
            if order < self.order() && next != self.nodes(order + 1).end {
                return Err(inner_error(self.nodes(order).end, "n-grams that are children of none"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{ArpaOptions, NgramModel};

    const ARPA: &str = "\\data\\\nngram 1=5\nngram 2=3\nngram 3=2\n\\1-grams:\n-99 <s> -0.5\n-1 </s>\n-0.5 a -0.25\n-0.7 b 0.1\n-2 <unk>\n\
        \\2-grams:\n-0.1 <s> a -0.2\n-0.2 a b -0.1\n-0.4 b b\n\\3-grams:\n-0.05 <s> a b\n-0.3 a b b\n\\end\\\n";

    /// Damage that a checksum does not reveal, as somebody may have made a new one: look-ups in the
    /// model that is read end, and stay within the bytes.
    #[test]
    fn a_valid_checksum_does_not_make_a_valid_model() {
        let model = NgramModel::from_reader(ARPA.as_bytes(), &ArpaOptions::default(), &mut |_| {}).unwrap();
        let bytes = model.as_bytes();
        let (mut refused, mut read) = (0, 0);
        for at in 0..bytes.len() {
            for change in [1, 2, 8, 0x40, 0x80, 0xff] {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= change;
                let sum = checksum(&damaged);
                damaged[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
                let Ok(model) = NgramModel::from_bytes(damaged) else {
                    refused += 1;
                    continue;
                };
                read += 1;
                for label in -1..=7 {
                    let (state, _) = model.step(model.start(), label);
                    for label in -1..=7 {
                        let (state, score) = model.step(state, label);
                        assert!(!score.is_nan() && !model.end(state).is_nan());
                    }
                }
                let (mut out, label) = (Vec::new(), i32::MAX);
                model.write_arpa(&mut out, &mut |_| {}).unwrap();
                let _ = (model.to_fsa(label), model.symbols(), model.normalize(Limits::default()));
            }
        }
        assert!(refused > 500 && read > 100, "{refused} {read}");
    }
}
