//! Hypotheses of words that tokens spell, any word or the words of a list: pyctcdecode's search.
//!
//! A state is the words so far and the beginning of the next one, by their texts: tokens that spell
//! the same are merged. The language model scores a word when it is complete. Before that, the word
//! costs `unk_score` if no known word begins so.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

use fsa::graphs::NgramModel;
use fsa::io::SymbolTable;
use fsa::lattice::LanguageModel;

use crate::ctc::options::CtcDecoderOptions;
use crate::ctc::search::{Frame, FrameToken, Hypothesis, NO_WORD, Prefixes, Reach};
use crate::ctc::tree::LiveNodes;
use crate::error::Error;
use crate::hash::FastMap;
use crate::hot_word::HotWord;
use crate::ids::number;
use crate::result::Scores;
use crate::vocabulary::Vocabulary;

/// A language model over words, and the words that it knows.
#[derive(Debug, Clone)]
pub struct WordModel<M> {
    /// The model.
    pub(crate) model: M,
    /// The model's words.
    pub(crate) words: SymbolTable,
    /// The word that stands for all words that the model does not know.
    pub(crate) unknown: Option<i32>,
    /// Words that count as known, sorted. `None`: there is no list, and the beginning of any word
    /// counts as unknown.
    pub(crate) unigrams: Option<Vec<String>>,
    /// Order of the model.
    pub(crate) order: usize,
}

impl<M: LanguageModel> WordModel<M> {
    /// Creates a model of this order over the words of a table; [`open`](WordModel::open) and
    /// [`from_ngrams`](WordModel::from_ngrams) know both. If the table has `<unk>` or `<UNK>`, it
    /// stands for other words. All words of the table are known.
    pub fn new(model: M, words: SymbolTable, order: usize) -> Self {
        let unknown = words.find("<unk>").or_else(|| words.find("<UNK>"));
        let mut made = Self { model, words, unknown, unigrams: None, order };
        let all: Vec<String> = made.words.iter().map(|(word, _)| word.to_owned()).collect();
        made.set_unigrams(all);
        made
    }

    /// Sets the known words: pyctcdecode's `unigrams`. Words that the model lacks are left out.
    #[must_use]
    pub fn with_unigrams<T: Into<String>>(mut self, unigrams: impl IntoIterator<Item = T>) -> Self {
        self.set_unigrams(unigrams.into_iter().map(Into::into).collect());
        self
    }

    /// Removes the list of known words: each beginning of a word counts as unknown, and each word
    /// of the model as known.
    #[must_use]
    pub fn without_unigrams(mut self) -> Self {
        self.unigrams = None;
        self
    }

    fn set_unigrams(&mut self, mut unigrams: Vec<String>) {
        unigrams.retain(|word| self.has(word));
        unigrams.sort_unstable();
        unigrams.dedup();
        self.unigrams = Some(unigrams);
    }

    fn has(&self, word: &str) -> bool {
        self.words.find(word).is_some_and(|number| number > 0 && Some(number) != self.unknown)
    }
}

impl WordModel<NgramModel> {
    /// Opens the model of a file, as [`NgramModel::open`] reads it: an ARPA file or a binary one.
    ///
    /// ```no_run
    /// use kaldera_decoder::Vocabulary;
    /// use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, WordModel};
    ///
    /// let model = WordModel::open("lm.arpa")?;
    /// let vocabulary = Vocabulary::open("tokens.txt", 0)?;
    /// let options = CtcDecoderOptions::default();
    /// let decoder = CtcDecoder::with_words(vocabulary, options, Some(model))?;
    /// # Ok::<(), kaldera_decoder::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of [`NgramModel::open`] and [`from_ngrams`](Self::from_ngrams).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_ngrams(NgramModel::open(path)?)
    }

    /// Creates a word model from a model with labels of its own, as [`NgramModel::open`] and
    /// [`NgramModel::from_reader`] make it, over its words.
    ///
    /// # Errors
    /// Errors of [`NgramModel::symbols`].
    pub fn from_ngrams(model: NgramModel) -> Result<Self, Error> {
        let (words, order) = (model.symbols()?, model.order());
        Ok(Self::new(model, words, order))
    }
}

/// Hot words by their texts, as in pyctcdecode: all words of all phrases.
#[derive(Debug, Clone, Default)]
pub(crate) struct HotTexts {
    /// All beginnings of words, including whole words.
    beginnings: HashMap<String, Beginning>,
}

#[derive(Debug, Clone, Copy)]
struct Beginning {
    /// Number of characters of the word by whose length the share is measured, and the bonus of
    /// that word.
    of_chars: usize,
    bonus: f64,
    is_word: bool,
}

impl HotTexts {
    /// Creates hot words. A beginning is measured by the length of the word that a walk through the
    /// tree of all hot words finds first, if each node has the child of the shortest word first. A
    /// word of several phrases has the largest of their bonuses.
    pub(crate) fn new(phrases: &[HotWord], weight: f64) -> Self {
        let mut all: HashMap<&str, f64> = HashMap::new();
        let mut words: Vec<&str> = vec![];
        for hot in phrases {
            let bonus = hot.bonus.unwrap_or(weight);
            for word in hot.phrase.split_whitespace() {
                words.push(word);
                all.entry(word).and_modify(|most| *most = most.max(bonus)).or_insert(bonus);
            }
        }
        words.sort_by_key(|word| word.chars().count());
        let mut first_with: HashMap<&str, &str> = HashMap::new();
        for &word in &words {
            for (start, last) in word.char_indices() {
                first_with.entry(&word[..start + last.len_utf8()]).or_insert(word);
            }
        }
        let beginning = |&text: &&str| {
            let mut word: &str = text;
            while !all.contains_key(word) {
                let longer = &first_with[word][word.len()..];
                word = &first_with[word][..word.len() + longer.chars().next().map_or(0, char::len_utf8)];
            }
            let (of_chars, is_word) = (word.chars().count(), all.contains_key(text));
            (text.to_owned(), Beginning { of_chars, bonus: all[word], is_word })
        };
        Self { beginnings: first_with.keys().map(beginning).collect() }
    }

    /// Returns the bonus of a hot word.
    fn bonus(&self, word: &str) -> Option<f64> {
        self.beginnings.get(word).filter(|of| of.is_word).map(|of| of.bonus)
    }

    /// Returns the beginning's share of the bonus, if a hot word begins so.
    #[expect(clippy::cast_precision_loss, reason = "words are short")]
    fn partial(&self, part: &str) -> Option<f64> {
        let of = self.beginnings.get(part)?;
        Some(of.bonus * part.chars().count() as f64 / of.of_chars as f64)
    }
}

/// A word after the words of another node.
#[derive(Debug, Clone)]
struct Text<L> {
    parent: u32,
    /// Spelling of the last word.
    word: u32,
    model: Option<L>,
    language_model: f64,
    insertion: f64,
    hot_words: f64,
    /// Index of the string of the last words, as many as the model looks back at.
    history: u32,
}

/// The beginning of a word.
#[derive(Debug, Clone)]
struct Spelling {
    /// Tokens may be single bytes of characters.
    bytes: Vec<u8>,
    text: String,
    /// Its scores: as unknown, or as the beginning of a hot word.
    extra: Scores,
}

/// The words so far, and the beginning of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WordState {
    text: u32,
    spelling: u32,
    /// The last token ended its word, so the next one begins another.
    closed: bool,
}

pub(crate) struct WordPrefixes<M: LanguageModel> {
    options: Arc<CtcDecoderOptions>,
    vocabulary: Arc<Vocabulary>,
    model: Option<Arc<WordModel<M>>>,
    hot: Arc<HotTexts>,
    texts: Vec<Text<M::State>>,
    next_texts: FastMap<(u32, u32), u32>,
    spellings: Vec<Spelling>,
    longer: FastMap<(u32, i32), u32>,
    by_bytes: HashMap<Vec<u8>, u32>,
    histories: FastMap<Vec<u32>, u32>,
}

impl<M: LanguageModel> Clone for WordPrefixes<M> {
    fn clone(&self) -> Self {
        Self {
            options: Arc::clone(&self.options),
            vocabulary: Arc::clone(&self.vocabulary),
            model: self.model.clone(),
            hot: Arc::clone(&self.hot),
            texts: self.texts.clone(),
            next_texts: self.next_texts.clone(),
            spellings: self.spellings.clone(),
            longer: self.longer.clone(),
            by_bytes: self.by_bytes.clone(),
            histories: self.histories.clone(),
        }
    }
}

const NOTHING: u32 = 0;
/// Number of characters above which each further character of an unknown word costs more.
const USUAL_LENGTH: usize = 6;

impl<M: LanguageModel> WordPrefixes<M> {
    pub(crate) fn new(
        options: Arc<CtcDecoderOptions>,
        vocabulary: Arc<Vocabulary>,
        model: Option<Arc<WordModel<M>>>,
        hot: Arc<HotTexts>,
    ) -> Self {
        let start =
            model.as_ref().map(|of| if options.score_boundary { of.model.start() } else { of.model.null_context() });
        let root = Text {
            parent: NOTHING,
            word: NOTHING,
            model: start,
            language_model: 0.0,
            insertion: 0.0,
            hot_words: 0.0,
            history: 0,
        };
        let empty = Spelling { bytes: vec![], text: String::new(), extra: Scores::default() };
        Self {
            options,
            vocabulary,
            model,
            hot,
            texts: vec![root],
            next_texts: FastMap::default(),
            spellings: vec![empty],
            longer: FastMap::default(),
            by_bytes: HashMap::from_iter([(vec![], NOTHING)]),
            histories: FastMap::from_iter([(vec![], 0)]),
        }
    }

    /// Returns the language model's state after a word, its score and the score of an unknown word.
    fn score(&self, of: &WordModel<M>, state: M::State, word: &str) -> (M::State, f64, f64) {
        let number = of.words.find(word).filter(|&number| number > 0);
        let listed = of
            .unigrams
            .as_ref()
            .is_none_or(|list| list.is_empty() || list.binary_search_by(|known| known.as_str().cmp(word)).is_ok());
        let known = listed && number.is_some() && number != of.unknown;
        let step = number.or(of.unknown).and_then(|number| of.model.step(state, number));
        // A model without a word for unknown ones gives them KenLM's score.
        let (next, score) = step.unwrap_or_else(|| (of.model.null_context(), -100.0 * std::f64::consts::LN_10));
        let unknown = if known { 0.0 } else { self.weighted(self.options.unk_score * std::f64::consts::LN_10) };
        (next, self.options.lm_weight * score, unknown + self.options.word_score)
    }

    /// Returns a score of the model times its weight; minus infinity forbids whatever the weight
    /// is.
    fn weighted(&self, score: f64) -> f64 {
        if score == f64::NEG_INFINITY { score } else { self.options.lm_weight * score }
    }

    /// Appends a word to the words of a node.
    fn append(&mut self, text: u32, spelling: u32) -> u32 {
        if spelling == NOTHING {
            return text;
        }
        if let Some(&known) = self.next_texts.get(&(text, spelling)) {
            return known;
        }
        let before = &self.texts[text as usize];
        let word = &self.spellings[spelling as usize].text;
        let mut node = Text { parent: text, word: spelling, ..before.clone() };
        if let (Some(of), Some(state)) = (&self.model, before.model) {
            let (next, language_model, insertion) = self.score(of, state, word);
            node.model = Some(next);
            node.language_model += language_model;
            node.insertion += insertion;
        }
        node.hot_words += self.hot.bonus(word).unwrap_or(0.0);
        if self.options.prune_history {
            node.history = self.history(spelling, text);
        }
        let number = number(self.texts.len());
        self.texts.push(node);
        self.next_texts.insert((text, spelling), number);
        number
    }

    /// Returns the number of words that the model looks back at.
    fn look_back(&self) -> usize {
        self.model.as_ref().map_or(1, |of| of.order.saturating_sub(1).max(1))
    }

    /// Returns the index of the string of the last words, which ends with this spelling after a
    /// text.
    fn history(&mut self, spelling: u32, text: u32) -> u32 {
        let mut words = vec![spelling];
        let mut at = text;
        while words.len() < self.look_back() && at != NOTHING {
            words.push(self.texts[at as usize].word);
            at = self.texts[at as usize].parent;
        }
        let next = number(self.histories.len());
        *self.histories.entry(words).or_insert(next)
    }

    /// Appends the text of a token to a spelling.
    fn spell(&mut self, spelling: u32, token: i32) -> u32 {
        if let Some(&known) = self.longer.get(&(spelling, token)) {
            return known;
        }
        let mut bytes = self.spellings[spelling as usize].bytes.clone();
        match self.vocabulary.byte(token) {
            Some(byte) if byte.is_ascii_whitespace() => {}
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(self.vocabulary.piece(token).1.as_bytes()),
        }
        let number = match self.by_bytes.entry(bytes) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let number = number(self.spellings.len());
                let bytes = place.key().clone();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let extra = partial(&self.options, self.model.as_deref(), &self.hot, &text);
                self.spellings.push(Spelling { bytes, text, extra });
                *place.insert(number)
            }
        };
        self.longer.insert((spelling, token), number);
        number
    }

    fn extra(&self, state: WordState) -> Scores {
        let text = &self.texts[state.text as usize];
        let part = &self.spellings[state.spelling as usize].extra;
        Scores {
            acoustic: 0.0,
            language_model: text.language_model,
            insertion: text.insertion + part.insertion,
            hot_words: text.hot_words + part.hot_words,
        }
    }
}

/// Returns the scores of the beginning of a word.
#[expect(clippy::cast_precision_loss, reason = "words are short")]
fn partial<M>(options: &CtcDecoderOptions, model: Option<&WordModel<M>>, hot: &HotTexts, part: &str) -> Scores {
    let mut extra = Scores::default();
    if part.is_empty() {
        return extra;
    }
    if let Some(bonus) = hot.partial(part) {
        extra.hot_words = bonus;
    } else if let Some(of) = model {
        let begins = |list: &Vec<String>| {
            let at = list.partition_point(|word| word.as_str() < part);
            list.get(at).is_some_and(|word| word.starts_with(part))
        };
        if !of.unigrams.as_ref().is_some_and(begins) {
            let length = part.chars().count();
            let longer = if length > USUAL_LENGTH { length as f64 / USUAL_LENGTH as f64 } else { 1.0 };
            extra.insertion = options.unk_score * longer;
        }
    }
    extra
}

impl<M: LanguageModel> Prefixes for WordPrefixes<M> {
    type State = WordState;

    const LAST_WINS: bool = true;
    const EARLY_CUT: bool = false;

    fn start(&mut self) -> WordState {
        WordState { text: NOTHING, spelling: NOTHING, closed: false }
    }

    fn most_gain(&self, _: WordState) -> f64 {
        f64::INFINITY
    }

    fn extend(&mut self, hypothesis: &Hypothesis<WordState>, frame: &Frame<'_>, reach: &mut Reach<'_, WordState>) {
        for &FrameToken { token, score, .. } in frame.tokens {
            if token == hypothesis.last {
                continue;
            }
            let (opens, _, closed) = self.vocabulary.piece(token);
            let WordState { mut text, mut spelling, closed: after } = hypothesis.state;
            if opens || after {
                text = self.append(text, spelling);
                spelling = NOTHING;
            }
            spelling = self.spell(spelling, token);
            let state = WordState { text, spelling, closed };
            let extra = self.extra(state);
            reach.token(hypothesis, token, f64::from(score), (state, extra, NO_WORD));
        }
    }

    fn finish(&mut self, hypothesis: &Hypothesis<WordState>, complete: bool) -> Option<(WordState, Scores, i32)> {
        let WordState { text, spelling, .. } = hypothesis.state;
        let ended = self.append(text, spelling);
        let state = WordState { text: ended, spelling: NOTHING, closed: false };
        if !complete {
            return Some((state, self.extra(state), NO_WORD));
        }
        let mut extra = self.extra(state);
        if let Some(of) = &self.model {
            // The last word is scored with the end. Without one, as in pyctcdecode, the empty word
            // is scored, which no model knows.
            let before = &self.texts[text as usize];
            if let Some(from) = before.model {
                let word = &self.spellings[spelling as usize].text;
                let (next, language_model, insertion) = self.score(of, from, word);
                let end =
                    if self.options.score_boundary { of.model.end(next).unwrap_or(f64::NEG_INFINITY) } else { 0.0 };
                extra.language_model = before.language_model + language_model + self.weighted(end);
                extra.insertion = before.insertion + insertion;
            }
        }
        Some((state, extra, NO_WORD))
    }

    fn future(&mut self, state: WordState) -> (u32, u32) {
        (self.texts[state.text as usize].history, state.spelling)
    }

    fn size(&self) -> usize {
        self.texts.len() + self.spellings.len() + self.longer.len()
    }

    fn compact(&mut self, states: &mut [WordState]) {
        let parent = |text: u32| self.texts[text as usize].parent;
        let texts =
            LiveNodes::new(parent, states.iter().map(|state| state.text)).with_ancestors(parent, self.look_back());
        let words = texts.nodes().iter().map(|&text| self.texts[text as usize].word);
        // There is no tree: the spellings in use remain, and the empty spelling.
        let spellings = states.iter().map(|state| state.spelling).chain(words).chain([NOTHING]);
        let spellings = LiveNodes::new(|_| NOTHING, spellings);
        let text_number = |old: u32| texts.number(old).unwrap_or(NOTHING);
        let spelling_number = |old: u32| spellings.number(old).unwrap_or(NOTHING);
        let renumbered = |&old: &u32| {
            let text = &self.texts[old as usize];
            Text { parent: text_number(text.parent), word: spelling_number(text.word), ..text.clone() }
        };
        self.texts = texts.nodes().iter().map(renumbered).collect();
        self.spellings = spellings.nodes().iter().map(|&old| self.spellings[old as usize].clone()).collect();
        self.longer.clear();
        self.by_bytes = self.spellings.iter().map(|spelling| spelling.bytes.clone()).zip(0..).collect();
        let following = (0..).zip(&self.texts).skip(1);
        self.next_texts = following.map(|(number, text)| ((text.parent, text.word), number)).collect();
        if self.options.prune_history {
            self.histories.clear();
            for text in 0..self.texts.len() {
                let Text { word, parent, .. } = self.texts[text];
                self.texts[text].history = self.history(word, parent);
            }
        }
        for state in states {
            (state.text, state.spelling) = (text_number(state.text), spelling_number(state.spelling));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The share by its definition: the shortest of all words that continue gives the next
    /// character, until there is a word.
    fn measured(words: &[String], part: &str) -> Option<usize> {
        let mut so_far = part.to_owned();
        loop {
            let first = words.iter().find(|hot| hot.starts_with(&so_far))?;
            if words.contains(&so_far) {
                return Some(so_far.chars().count());
            }
            so_far.push(first[so_far.len()..].chars().next()?);
        }
    }

    proptest! {
        #[test]
        fn beginnings_have_their_share_of_the_first_word(words in prop::collection::vec("[abü]{1,5}", 0..9), part in "[abü]{1,4}") {
            let hot = HotTexts::new(&words.iter().map(HotWord::from).collect::<Vec<_>>(), 2.0);
            let mut sorted = words.clone();
            sorted.sort_by_key(|word| word.chars().count());
            prop_assert_eq!(hot.bonus(&part).is_some(), words.contains(&part));
            let chars = |count: usize| f64::from(u32::try_from(count).unwrap());
            let share = measured(&sorted, &part).map(|of| 2.0 * chars(part.chars().count()) / chars(of));
            prop_assert_eq!(hot.partial(&part), share);
        }
    }
}
