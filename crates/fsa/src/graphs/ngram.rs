//! N-gram models with back-off.

mod arpa;
mod const_arpa;
mod foreign;
mod grammar;
mod interpolate;
mod labels;
mod layout;
mod lists;
mod normalize;
mod perplexity;
mod prune;
mod restrict;
mod sphinx;
mod tree;
mod walk;

use std::fmt;
use std::sync::Arc as Shared;

pub use arpa::ArpaOptions;
pub use const_arpa::{ConstArpa, ConstArpaForm, ConstArpaOptions, ConstArpaState};
pub use grammar::GrammarLabels;
pub use perplexity::Perplexity;

use self::labels::Labels;
use self::layout::{Layout, ROOT, View};
use self::lists::NgramLists;
use self::tree::Tree;
use crate::core::limits::Limits;
use crate::error::Error;
use crate::graphs::left_out::LeftOut;
use crate::graphs::progress::OutOfVocabulary;
use crate::io::symbols::SymbolTable;
use crate::lattice::rescore::LanguageModel;
use crate::support::ids::NONE;

/// An n-gram model with back-off, for graphs, decoders and rescoring.
///
/// Words have labels: the numbers that a [`SymbolTable`] gives them, or numbers of the model's own
/// ([`symbols`](Self::symbols)). `<s>` and `</s>`, which begin and end sentences, have none. Scores
/// are natural logarithms; the model keeps the base 10 logarithms of ARPA files in single
/// precision.
///
/// The n-grams are stored in a few flat arrays, with 12 bytes for one of the highest order and 20
/// for any other. A clone is cheap: it shares the memory. These bytes are also the file that
/// [`as_bytes`](Self::as_bytes) returns, and that [`from_bytes`](Self::from_bytes) uses in place,
/// such as a file that is mapped into memory.
///
/// ```
/// use fsa::graphs::{ArpaOptions, NgramModel};
/// use fsa::io::SymbolTable;
///
/// let arpa = "\\data\\\nngram 1=3\nngram 2=1\n\
///     \\1-grams:\n-99 <s> -0.5\n-0.25 </s>\n-1 hello\n\
///     \\2-grams:\n-0.125 <s> hello\n\\end\\\n";
/// let mut words = SymbolTable::default();
/// let model =
///     NgramModel::read(arpa.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})?;
/// let hello = words.find("hello").unwrap();
/// // log10: -0.125 of "<s> hello", -0.25 of "</s>"; "hello" has no weight for backing off.
/// let (state, score) = model.step(model.start(), hello);
/// assert!(((score + model.end(state)) / std::f64::consts::LN_10 - -0.375).abs() < 1e-6);
/// assert_eq!(model.score(&[hello]), score + model.end(state));
/// let grammar = model.to_fsa(fsa::EPSILON)?;
/// assert_eq!((grammar.num_states(), grammar.num_arcs()), (3, 4));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Clone)]
pub struct NgramModel {
    layout: Layout,
    bytes: Shared<dyn AsRef<[u8]> + Send + Sync>,
    labels: Shared<Labels>,
    left_out: LeftOut,
    missing: u64,
}

/// History of an n-gram model: as many of the last words as it has n-grams for. Two histories with
/// the same state give every word the same score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NgramState(u32);

/// Formats its order and its sizes.
impl fmt::Debug for NgramModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = (1..=self.order()).map(|order| self.num_ngrams_of(order)).collect();
        f.debug_struct("NgramModel").field("ngrams", &counts).field("bytes", &self.num_bytes()).finish_non_exhaustive()
    }
}

impl NgramModel {
    /// Creates a model of these n-grams, with labels of its own.
    fn from_lists(lists: NgramLists, limits: Limits) -> Result<Self, Error> {
        Self::from_tree(lists.into_tree(limits)?, limits)
    }

    fn from_tree(tree: Tree, limits: Limits) -> Result<Self, Error> {
        let (layout, bytes) = tree.finish(limits)?;
        Self::from_layout(layout, Shared::new(bytes))
    }

    fn from_layout(layout: Layout, bytes: Shared<dyn AsRef<[u8]> + Send + Sync>) -> Result<Self, Error> {
        let labels = Shared::new(Labels::own(layout.num_words())?);
        Ok(Self { layout, bytes, labels, left_out: LeftOut::default(), missing: 0 })
    }

    /// Replaces the labels by the labels of a table. `out_of_vocabulary` is the treatment of words
    /// that the table does not have: they are added to it, their n-grams are left out
    /// ([`left_out`](Self::left_out)), or they are refused. O(words), unless n-grams are left out.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] for a word that is refused, [`Error::Symbol`] for one that has a
    /// label below 1, [`Error::NgramLimit`] and [`Error::TooLarge`].
    pub fn with_labels(
        mut self,
        table: &mut SymbolTable,
        out_of_vocabulary: OutOfVocabulary,
        limits: Limits,
    ) -> Result<Self, Error> {
        if out_of_vocabulary == OutOfVocabulary::Skip {
            self = self.restrict(|word| table.find(word).is_some(), limits)?;
        }
        let mut labels = Vec::new();
        for word in 0..self.layout.num_words() {
            let text = self.word(word);
            labels.push(match out_of_vocabulary {
                _ if self.is_end(word) => None,
                OutOfVocabulary::Add => Some(table.find_or_add(text)?),
                OutOfVocabulary::Skip | OutOfVocabulary::Refuse => {
                    let label = table.find(text);
                    Some(label.ok_or_else(|| Error::MissingSymbol { symbol: text.to_owned() })?)
                }
            });
        }
        self.labels = Shared::new(Labels::of_table(&labels)?);
        Ok(self)
    }

    /// Returns the number of words of its longest n-grams.
    pub fn order(&self) -> usize {
        self.layout.order()
    }

    /// Returns the number of n-grams, including the ones that were added because longer ones need
    /// them.
    pub fn num_ngrams(&self) -> usize {
        self.layout.num_nodes() as usize - 1
    }

    /// Returns the number of n-grams of an order; 0 above its order.
    ///
    /// # Panics
    /// If `order` is 0.
    pub fn num_ngrams_of(&self, order: usize) -> usize {
        assert!(order > 0, "n-grams have one word or more");
        if order > self.order() { 0 } else { self.layout.nodes(order).len() }
    }

    /// Returns the number of words, including `<s>`, `</s>` and the unknown word.
    pub fn num_words(&self) -> usize {
        self.layout.num_words() as usize
    }

    /// Returns the number of words of an iterator that the model has; the unknown word, and the
    /// ends of sentences, do not count.
    ///
    /// # Errors
    /// [`Error::NoSharedWord`] if it has none of them, though there are words: then it is of
    /// another language, writes words in another case, or is not a model of words.
    pub fn count_words<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Result<usize, Error> {
        let is_word = |word: &str| self.find(word).is_some_and(|label| Some(label) != self.unknown());
        let (mut found, mut first, mut other_case) = (0, None, false);
        for word in words {
            if is_word(word) {
                found += 1;
            } else if found == 0 && !other_case {
                let is_own = |word: &str| is_word(word) || self.left_out.has(word);
                other_case = is_own(&word.to_lowercase()) || is_own(&word.to_uppercase());
                first = first.filter(|_| !other_case).or(Some(word));
            }
        }
        match first {
            Some(wanted) if found == 0 => {
                let special = self.layout.special;
                let special = [special.start, special.end, special.unknown];
                let own = (0..self.layout.num_words()).find(|word| !special.contains(word));
                // Words missing in a table were left out.
                let left_out = || self.left_out.symbols().find(|symbol| !symbol.starts_with('<'));
                let own = own.map(|word| self.word(word)).or_else(left_out).unwrap_or_default().to_owned();
                Err(Error::NoSharedWord { wanted: wanted.to_owned(), own, other_case })
            }
            _ => Ok(found),
        }
    }

    /// Returns the number of bytes of its n-grams and words.
    pub fn num_bytes(&self) -> usize {
        self.as_bytes().len()
    }

    /// Returns the n-grams that were left out in reading, and the words that caused it: words that
    /// the table lacks, and the ends of sentences at places where no sentence has them.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Returns the number of n-grams that the file lacks compared with its header.
    pub fn num_missing(&self) -> u64 {
        self.missing
    }

    /// Returns its words with their labels. If labels are the model's own, `<s>` and `</s>` are
    /// included, though their labels stand for no word.
    ///
    /// # Errors
    /// [`Error::RepeatedSymbol`] if a word is named `<eps>`.
    pub fn symbols(&self) -> Result<SymbolTable, Error> {
        let mut table = SymbolTable::default();
        table.add("<eps>", crate::EPSILON)?;
        for word in 0..self.layout.num_words() {
            if let Some(label) = self.labels.label(word) {
                table.add(self.word(word), label)?;
            }
        }
        Ok(table)
    }

    /// Returns the label of a word, if the model has it; `<s>` and `</s>` have none. O(log words).
    pub fn find(&self, word: &str) -> Option<i32> {
        let word = self.layout.find_word(self.as_bytes(), word).filter(|&word| !self.is_end(word))?;
        self.labels.label(word)
    }

    /// Returns `true` if it has the word of a label.
    pub fn has_word(&self, label: i32) -> bool {
        self.word_of(label).is_some()
    }

    /// Returns the label of the word that stands for unknown ones, such as `<unk>`, if there is
    /// one.
    pub fn unknown(&self) -> Option<i32> {
        let unknown = self.layout.special.unknown;
        if unknown == NONE { None } else { self.labels.label(unknown) }
    }

    /// Returns `true` if it has a word that begins sentences.
    pub fn starts_sentences(&self) -> bool {
        self.layout.special.start != NONE
    }

    /// Returns `true` if it has a word that ends sentences.
    pub fn ends_sentences(&self) -> bool {
        self.layout.special.end != NONE
    }

    /// Returns the state at the beginning of a sentence.
    pub fn start(&self) -> NgramState {
        NgramState(self.start_node())
    }

    /// Returns the state without any words before.
    pub fn empty(&self) -> NgramState {
        NgramState(ROOT)
    }

    /// Returns the state after a word, and the score of the word: the score of the longest n-gram,
    /// plus the weights for backing off to it. A label that the model has no word for counts as the
    /// [unknown](Self::unknown) word; without one, its score is -inf, and the history is empty
    /// afterwards. No state is invalid: one of another model gives a score that means nothing.
    #[inline]
    pub fn step(&self, state: NgramState, label: i32) -> (NgramState, f64) {
        let word = self.word_of(label).unwrap_or(self.layout.special.unknown);
        if word == NONE {
            return (NgramState(ROOT), f64::NEG_INFINITY);
        }
        let (next, log10) = self.view().step(self.valid(state), word);
        (NgramState(next), log10 * std::f64::consts::LN_10)
    }

    /// Returns the score of the end of a sentence; -inf if the model has none.
    pub fn end(&self, state: NgramState) -> f64 {
        match self.layout.special.end {
            NONE => f64::NEG_INFINITY,
            end => self.view().step(self.valid(state), end).1 * std::f64::consts::LN_10,
        }
    }

    /// Returns the natural logarithm of the probability of a sentence, including its end; its
    /// beginning is certain.
    pub fn score(&self, sentence: &[i32]) -> f64 {
        let mut state = self.start();
        let mut total = 0.0;
        for &word in sentence {
            let (next, score) = self.step(state, word);
            total += score;
            state = next;
        }
        total + self.end(state)
    }

    /// Returns the bytes of the model, which [`from_bytes`](Self::from_bytes) reads. They do not
    /// include labels of a table.
    pub fn as_bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// Creates a model from the bytes of another one, which are not copied: a `Vec<u8>`, or a file
    /// that is mapped into memory, such as a `memmap2::Mmap`. Every byte is checked, some gigabytes
    /// a second. Labels are the model's own; see [`with_labels`](Self::with_labels).
    ///
    /// # Errors
    /// [`Error::Binary`] for bytes that are not such a model.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self, Error> {
        let layout = Layout::read(bytes.as_ref())?;
        Self::from_layout(layout, Shared::new(bytes))
    }

    /// Returns `true` if the first bytes are the ones of a model.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(layout::MAGIC)
    }

    #[inline]
    fn view(&self) -> View<'_> {
        self.layout.view(self.as_bytes())
    }

    /// Returns a node of this model.
    #[inline]
    fn valid(&self, state: NgramState) -> u32 {
        if state.0 < self.layout.num_nodes() { state.0 } else { ROOT }
    }

    fn word(&self, word: u32) -> &str {
        self.layout.word(self.as_bytes(), word)
    }

    /// Returns the word of a label.
    #[inline]
    fn word_of(&self, label: i32) -> Option<u32> {
        self.labels.word(label).filter(|&word| !self.is_end(word))
    }

    /// Returns `true` if a word begins or ends sentences.
    #[inline]
    fn is_end(&self, word: u32) -> bool {
        word == self.layout.special.start || word == self.layout.special.end
    }

    fn start_node(&self) -> u32 {
        let start = self.layout.special.start;
        let view = self.view();
        if start != NONE && view.is_state(start + 1) { start + 1 } else { ROOT }
    }
}

/// Words missing in the model count as its unknown word; without one, they are not accepted.
impl LanguageModel for NgramModel {
    type State = NgramState;

    fn start(&self) -> NgramState {
        self.start()
    }

    fn null_context(&self) -> NgramState {
        self.empty()
    }

    fn has_boundaries(&self) -> bool {
        self.starts_sentences() && self.ends_sentences()
    }

    fn step(&self, state: NgramState, word: i32) -> Option<(NgramState, f64)> {
        Some(self.step(state, word)).filter(|(_, score)| *score > f64::NEG_INFINITY)
    }

    fn end(&self, state: NgramState) -> Option<f64> {
        Some(self.end(state)).filter(|score| *score > f64::NEG_INFINITY)
    }
}
