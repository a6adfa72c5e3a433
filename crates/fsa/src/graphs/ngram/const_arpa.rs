//! Kaldi's `ConstArpaLm`, the file `G.carpa`: an n-gram model of numbered words.

mod arpa;
mod build;
mod file;
mod print;

use std::fmt;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc as Shared;

use kaldera_base::setters;

pub use self::file::ConstArpaForm;
use self::file::{Child, MAX_ORDER, Sections, View};
use crate::core::limits::Limits;
use crate::error::Error;
use crate::lattice::rescore::LanguageModel;

/// Kaldi's `ConstArpaLm`, the file `G.carpa` of recipes and of Vosk's folders: an n-gram model with
/// back-off whose words are the numbers of a symbol table.
///
/// Look-ups go to the bytes of the file, which are not unpacked: a `Vec<u8>`, or a file that is
/// mapped into memory. Scores are natural logarithms in single precision, the same bits as in
/// Kaldi. Lattices are [rescored](crate::lattice::Lattice::rescore_best) with it.
///
/// A word without an n-gram of order 1 counts as the unknown word where a probability is looked up,
/// in the history too; without an unknown word it is not accepted. A [state](ConstArpaState) keeps
/// the words as they are: so such a word empties the history.
///
/// ```
/// use fsa::graphs::{ConstArpa, ConstArpaOptions};
///
/// // The words 1 and 2 begin and end a sentence.
/// let arpa = "\\data\\\nngram 1=3\nngram 2=1\n\n\
///     \\1-grams:\n-99 1 -0.5\n-0.25 2\n-1 7\n\n\\2-grams:\n-0.125 1 7\n\n\\end\\\n";
/// let options = ConstArpaOptions::new(1, 2);
/// let model = ConstArpa::from_arpa(arpa.as_bytes(), &options, &mut |_, _| {})?;
/// assert_eq!(model.order(), 2);
/// // log10: -0.25 of "2", which 7 has no weight to back off to.
/// assert!((model.score(&[1, 7], 2) / std::f32::consts::LN_10 + 0.25).abs() < 1e-6);
/// assert_eq!(model.score(&[], 8), f32::NEG_INFINITY);
/// let again = ConstArpa::from_bytes(model.as_bytes().to_vec())?;
/// assert_eq!(again.score(&[1], 7), model.score(&[1], 7));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "ConstArpaLm")]
#[doc(alias = "G.carpa")]
pub struct ConstArpa {
    bytes: Shared<dyn AsRef<[u8]> + Send + Sync>,
    sections: Sections,
}

/// Options for making a model of an ARPA file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ConstArpaOptions {
    /// Number of the word that begins sentences.
    pub start: i32,
    /// Number of the word that ends sentences.
    pub end: i32,
    /// Number of the word that stands for words that the model does not have.
    pub unknown: Option<i32>,
    /// The largest distance of a state from its parent in the file, in numbers of 32 bits; larger
    /// ones go to a table. Other values than Kaldi's are for tests.
    pub max_distance: i32,
    /// The largest size of the model and of the memory for making it.
    pub limits: Limits,
}

impl ConstArpaOptions {
    /// Creates options with the numbers of the words that begin and end sentences, and without an
    /// unknown word.
    #[must_use]
    pub fn new(start: i32, end: i32) -> Self {
        Self { start, end, unknown: None, max_distance: (1 << 30) - 1, limits: Limits::default() }
    }

    /// With this word for unknown ones.
    #[must_use]
    pub fn with_unknown(mut self, unknown: impl Into<Option<i32>>) -> Self {
        self.unknown = unknown.into();
        self
    }
}

setters! {
    ConstArpaOptions:
    max_distance, with_max_distance: i32, "With this largest distance.";
    limits, with_limits: Limits, "With these limits.";
}

/// History of a model: as many of the last words as it has n-grams for, as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConstArpaState {
    len: u8,
    /// Behind `len` words all are 0.
    words: [i32; MAX_ORDER - 1],
}

impl ConstArpaState {
    const EMPTY: Self = Self { len: 0, words: [0; MAX_ORDER - 1] };

    /// Returns the words, from the oldest to the newest.
    pub fn words(&self) -> &[i32] {
        &self.words[..usize::from(self.len)]
    }

    /// Returns the last words of these and a word, at most `most` of them.
    fn push(&self, word: i32, most: usize) -> Self {
        let mut next = Self::EMPTY;
        let own = self.words();
        let kept = most.min(own.len() + 1).saturating_sub(1);
        next.words[..kept].copy_from_slice(&own[own.len() - kept..]);
        if most > 0 {
            next.words[kept] = word;
            next.len = u8::try_from(kept + 1).unwrap_or_default();
        }
        next
    }

    /// Drops the oldest word.
    fn shorten(&mut self) {
        if let Some(len) = self.len.checked_sub(1) {
            self.words.copy_within(1.., 0);
            self.words[usize::from(len)..].fill(0);
            self.len = len;
        }
    }
}

/// Formats its order and its sizes.
impl fmt::Debug for ConstArpa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.as_bytes().len();
        f.debug_struct("ConstArpa").field("order", &self.order()).field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl ConstArpa {
    /// Creates a model from the bytes of a file in either form, which are not copied. Every state
    /// is checked. O(bytes).
    ///
    /// # Errors
    /// [`Error::Binary`] for bytes that are not such a model, or one of an order above 16.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self, Error> {
        let sections = Sections::read(bytes.as_ref())?;
        Ok(Self { bytes: Shared::new(bytes), sections })
    }

    /// Reads a file into memory.
    ///
    /// # Errors
    /// [`Error::File`] with the file, and an error of [`from_bytes`](Self::from_bytes).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Error::in_file(path.as_ref(), |mut file| {
            let mut bytes = Vec::new();
            let read = io::Read::read_to_end(&mut file, &mut bytes);
            read.map_err(|error| Error::Unreadable { problem: error.to_string() })?;
            Self::from_bytes(bytes)
        })
    }

    /// Makes a model of an ARPA file whose words are numbers, with the bytes that Kaldi's
    /// `arpa-to-const-arpa` writes. `warn` is called with a line and a remark, such as one about a
    /// line of the header that says nothing. O(n-grams log n-grams).
    ///
    /// The words before the last one of an n-gram must be an n-gram themselves; an n-gram of the
    /// highest order may stand there twice; there may be fewer n-grams than the header counts.
    ///
    /// # Errors
    /// [`Error::Line`] with the line that is invalid, [`Error::NgramCount`] for more n-grams than
    /// the header counts, [`Error::OutOfRange`] for words of `options` above the last word,
    /// [`Error::SameEnds`], [`Error::Read`], [`Error::NgramLimit`] and [`Error::TooLarge`].
    #[doc(alias = "arpa-to-const-arpa")]
    #[doc(alias = "BuildConstArpaLm")]
    pub fn from_arpa(
        reader: impl BufRead,
        options: &ConstArpaOptions,
        warn: &mut dyn FnMut(usize, &str),
    ) -> Result<Self, Error> {
        let levels = arpa::read(reader, options.limits, warn)?;
        Self::from_bytes(build::build(levels, options)?)
    }

    /// Returns the bytes that it was made from; [`to_bytes`](Self::to_bytes) returns either form.
    pub fn as_bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// Returns the bytes of a file. The bytes of a model that Kaldi has written, in the form in
    /// which they were, are the same.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more than 2^31 numbers, which the old form cannot count.
    pub fn to_bytes(&self, form: ConstArpaForm) -> Result<Vec<u8>, Error> {
        file::write(&self.view(), form)
    }

    /// Returns `true` if the first bytes are the ones of a model in the form that Kaldi writes.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(file::NAMED)
    }

    /// Returns the number of words of its longest n-grams, as the header of the ARPA file counts
    /// them.
    pub fn order(&self) -> usize {
        self.sections.order
    }

    /// Returns the number of the word that begins sentences.
    #[doc(alias = "BosSymbol")]
    pub fn start_word(&self) -> i32 {
        self.sections.start
    }

    /// Returns the number of the word that ends sentences.
    #[doc(alias = "EosSymbol")]
    pub fn end_word(&self) -> i32 {
        self.sections.end
    }

    /// Returns the number of the word that stands for unknown ones, if there is one.
    #[doc(alias = "UnkSymbol")]
    pub fn unknown(&self) -> Option<i32> {
        self.sections.unknown
    }

    /// Returns the natural logarithm of the probability of a word after others; only the last
    /// ones count. It is the score of the longest n-gram, and the weights for backing off to it,
    /// added in single precision from the shortest history to the longest. -inf for a word that the
    /// model does not have, if it has no unknown word.
    #[doc(alias = "GetNgramLogprob")]
    pub fn score(&self, history: &[i32], word: i32) -> f32 {
        let view = self.view();
        let known = |word: i32| match self.sections.unknown {
            Some(unknown) if view.unigram(word).is_none() => unknown,
            _ => word,
        };
        let mut words = [0; MAX_ORDER - 1];
        let kept = history.len().min(self.order() - 1);
        for (known_word, &word) in words.iter_mut().zip(&history[history.len() - kept..]) {
            *known_word = known(word);
        }
        view.score(&words[..kept], known(word))
    }

    /// Returns `true` if the model has n-grams of these words and one more. The unknown word does
    /// not stand for others here.
    #[doc(alias = "HistoryStateExists")]
    pub fn has_history(&self, words: &[i32]) -> bool {
        let view = self.view();
        words.is_empty() || view.find(words).is_some_and(|state| view.num_children(state) > 0)
    }

    /// Writes an ARPA file as Kaldi's `ConstArpaLm::WriteArpa` does: numbers for words, natural
    /// logarithms with six digits, without weights for backing off that are 0. O(n-grams x order).
    ///
    /// # Errors
    /// The errors of `out`.
    #[doc(alias = "WriteArpa")]
    pub fn write_arpa(&self, out: impl Write) -> io::Result<()> {
        print::write_arpa(&self.view(), out)
    }

    #[inline]
    fn view(&self) -> View<'_> {
        View::new(self.as_bytes(), &self.sections)
    }
}

impl View<'_> {
    /// Returns the score of a word after a history, which is shorter than the order.
    fn score(&self, history: &[i32], word: i32) -> f32 {
        let mut backoffs = [0.0; MAX_ORDER - 1];
        let mut found = None;
        let mut steps = 0;
        for from in 0..history.len() {
            if let Some(state) = self.find(&history[from..]) {
                match self.child(state, word) {
                    Some(Child::Leaf(score)) => found = Some(score),
                    Some(Child::State(state)) => found = Some(self.log_probability(state)),
                    None => backoffs[from] = self.backoff(state),
                }
            }
            if found.is_some() {
                break;
            }
            steps += 1;
        }
        let unigram = || self.unigram(word).map_or(f32::NEG_INFINITY, |state| self.log_probability(state));
        let score = found.unwrap_or_else(unigram);
        backoffs[..steps].iter().rev().fold(score, |score, backoff| backoff + score)
    }
}

/// The on-demand FST of `ConstArpaLmDeterministicFst`: a sentence starts after the word that begins
/// sentences.
impl LanguageModel for ConstArpa {
    type State = ConstArpaState;

    fn start(&self) -> ConstArpaState {
        ConstArpaState::EMPTY.push(self.start_word(), 1)
    }

    fn null_context(&self) -> ConstArpaState {
        ConstArpaState::EMPTY
    }

    fn step(&self, state: ConstArpaState, word: i32) -> Option<(ConstArpaState, f64)> {
        let score = self.score(state.words(), word);
        if score == f32::NEG_INFINITY {
            return None;
        }
        let mut next = state.push(word, self.order() - 1);
        while !self.has_history(next.words()) {
            next.shorten();
        }
        Some((next, score.into()))
    }

    fn end(&self, state: ConstArpaState) -> Option<f64> {
        Some(self.score(state.words(), self.end_word()).into()).filter(|score| *score != f64::NEG_INFINITY)
    }
}
