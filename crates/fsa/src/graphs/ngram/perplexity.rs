//! Perplexity of a model on a text.

use std::fmt;

use crate::graphs::ngram::arpa::LOG_ZERO;
use crate::graphs::ngram::{NgramModel, NgramState};

/// Statistics of a model on a text: counts and sums over its sentences, as in SRILM's `ngram -ppl`.
///
/// ```
/// use fsa::graphs::{ArpaOptions, NgramModel, Perplexity};
///
/// let arpa = "\\data\\\nngram 1=4\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.5 a\n-2 <unk>\n\\end\\\n";
/// let model = NgramModel::from_reader(arpa.as_bytes(), &ArpaOptions::default(), &mut |_| {})?;
/// let mut text = Perplexity::default();
/// text.add(&model, ["a", "a", "b"]);
/// assert_eq!((text.sentences, text.words, text.unknown, text.log10), (1, 3, 1, -1.5));
/// assert!((text.perplexity() - 10_f64.powf(1.5 / 3.0)).abs() < 1e-12);
/// assert!((text.perplexity_of_words() - 10_f64.powf(1.5 / 2.0)).abs() < 1e-12);
/// assert!((text.perplexity_with_unknown() - 10_f64.powf(3.5 / 4.0)).abs() < 1e-12);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Perplexity {
    /// Number of sentences.
    pub sentences: u64,
    /// Number of words, without ends of sentences.
    pub words: u64,
    /// Number of the words that the model does not have (OOVs), including the word that stands for
    /// them.
    pub unknown: u64,
    /// Number of known words, and ends, with the probability 0.
    pub zero: u64,
    /// The base 10 logarithm of the probability of the words that are neither unknown nor of
    /// probability 0, and of the ends of sentences.
    pub log10: f64,
    /// The base 10 logarithm of the probability of the unknown words, which count as the model's
    /// unknown word; 0 if it has none.
    pub log10_unknown: f64,
}

impl Perplexity {
    /// Adds a sentence, without its beginning and its end.
    pub fn add<'a>(&mut self, model: &NgramModel, sentence: impl IntoIterator<Item = &'a str>) {
        let mut state = model.start();
        self.sentences += 1;
        for word in sentence {
            let (next, log10) = self.add_word(model, state, word);
            state = next;
            self.words += 1;
            self.add_known(log10);
        }
        self.add_known(Some(model.end(state) / std::f64::consts::LN_10));
    }

    /// Counts a word if it is unknown, and returns the score if it is known.
    fn add_word(&mut self, model: &NgramModel, state: NgramState, word: &str) -> (NgramState, Option<f64>) {
        let unknown = model.unknown();
        let label = model.find(word).filter(|&label| unknown != Some(label));
        let (next, score) = model.step(state, label.or(unknown).unwrap_or(0));
        let log10 = score / std::f64::consts::LN_10;
        if label.is_some() {
            return (next, Some(log10));
        }
        self.unknown += 1;
        if log10.is_finite() {
            self.log10_unknown += log10;
        }
        (next, None)
    }

    fn add_known(&mut self, log10: Option<f64>) {
        match log10 {
            // Weights for backing off do not turn zero into a probability.
            Some(log10) if log10 > f64::from(LOG_ZERO) => self.log10 += log10,
            Some(_) => self.zero += 1,
            None => {}
        }
    }

    /// Adds the counts and sums of another one.
    pub fn merge(&mut self, other: &Self) {
        self.sentences += other.sentences;
        self.words += other.words;
        self.unknown += other.unknown;
        self.zero += other.zero;
        self.log10 += other.log10;
        self.log10_unknown += other.log10_unknown;
    }

    /// Returns the perplexity per known word and end of a sentence: SRILM's `ppl`. Not finite if
    /// there are none.
    pub fn perplexity(&self) -> f64 {
        self.per(self.log10, (self.words + self.sentences).saturating_sub(self.unknown + self.zero))
    }

    /// Returns the perplexity per known word, without ends of sentences: SRILM's `ppl1`. Not finite
    /// if there are none.
    pub fn perplexity_of_words(&self) -> f64 {
        self.per(self.log10, self.words.saturating_sub(self.unknown + self.zero))
    }

    /// Returns [`perplexity`](Self::perplexity) with the unknown words, which count as the model's
    /// unknown word.
    pub fn perplexity_with_unknown(&self) -> f64 {
        self.per(self.log10 + self.log10_unknown, (self.words + self.sentences).saturating_sub(self.zero))
    }

    #[expect(clippy::unused_self, clippy::cast_precision_loss, reason = "counts of words are below 2^53")]
    fn per(&self, log10: f64, number: u64) -> f64 {
        10_f64.powf(-log10 / number as f64)
    }
}

/// Formats the statistics as SRILM does, except for the name of the file: `undefined` if there is
/// nothing to divide by.
impl fmt::Display for Perplexity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sentences, words, unknown, zero, log10, .. } = self;
        writeln!(f, "{sentences} sentences, {words} words, {unknown} OOVs")?;
        let shown = |ppl: f64| if ppl.is_finite() { format!("{ppl:.4}") } else { "undefined".to_owned() };
        let [ppl, ppl1] = [self.perplexity(), self.perplexity_of_words()].map(shown);
        write!(f, "{zero} zeroprobs, logprob= {log10:.4} ppl= {ppl} ppl1= {ppl1}")
    }
}
