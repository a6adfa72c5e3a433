//! Decoders for whole utterances and for streams.

use std::fmt;
use std::sync::Arc;

use fsa::graphs::ContextGraph;
use fsa::lattice::LanguageModel;

use crate::ctc::hot_tokens::HotTokens;
use crate::ctc::lexicon::{LexiconPrefixes, SpellingTree};
use crate::ctc::options::CtcDecoderOptions;
use crate::ctc::search::{Finished, NO_WORD, Placed, Search};
use crate::ctc::tokens::TokenPrefixes;
use crate::ctc::words::{HotTexts, WordModel, WordPrefixes};
use crate::error::Error;
use crate::hot_word::HotWord;
use crate::log_probs::LogProbs;
use crate::result::{FrameTimes, Hypothesis, Recognition, Segment};
use crate::vocabulary::Vocabulary;

/// Stands for no language model; it has no values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoModel {}

impl LanguageModel for NoModel {
    type State = ();

    fn start(&self) {}

    fn step(&self, (): (), _: i32) -> Option<((), f64)> {
        match *self {}
    }

    fn end(&self, (): ()) -> Option<f64> {
        match *self {}
    }
}

/// The kind of a decoder's hypotheses.
#[derive(Debug)]
enum Kind<M: LanguageModel> {
    Tokens { model: Option<Arc<M>>, hot: Option<Arc<HotTokens>> },
    Words { model: Option<Arc<WordModel<M>>>, hot: Arc<HotTexts> },
    Lexicon { tree: Arc<SpellingTree>, model: Option<Arc<M>>, hot: Option<Arc<ContextGraph>> },
}

impl<M: LanguageModel> Clone for Kind<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Tokens { model, hot } => Self::Tokens { model: model.clone(), hot: hot.clone() },
            Self::Words { model, hot } => Self::Words { model: model.clone(), hot: Arc::clone(hot) },
            Self::Lexicon { tree, model, hot } => {
                Self::Lexicon { tree: Arc::clone(tree), model: model.clone(), hot: hot.clone() }
            }
        }
    }
}

/// Prefix beam search for the output of a network that was trained with CTC. Clones share the
/// vocabulary, the lexicon and the language model.
///
/// | made by | hypotheses are | language model | hot words |
/// |---|---|---|---|
/// | [`new`](Self::new) | any tokens | over tokens | phrases of tokens |
/// | [`with_words`](Self::with_words) | any words, of tokens | over words | words by their texts |
/// | [`with_lexicon`](Self::with_lexicon) | words of a lexicon | over words | phrases of words |
///
/// With [`CtcDecoderOptions::log_add`] the probability of a hypothesis is the sum over all its
/// alignments that the beam has kept; its tokens have the frames of the best one. A
/// [stream](Self::stream) that takes an utterance in chunks returns the same result as
/// [`decode`](Self::decode).
///
/// ```
/// use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions};
/// use kaldera_decoder::{LogProbs, Vocabulary};
///
/// let vocabulary = Vocabulary::new(["-", "a", "b", "|"], 0)?.with_separator("|")?;
/// let decoder = CtcDecoder::new(vocabulary, CtcDecoderOptions::default())?;
/// let values: Vec<f32> =
///     [[0.1, 0.7, 0.1, 0.1], [0.1, 0.2, 0.1, 0.6], [0.2, 0.1, 0.6, 0.1]].concat();
/// let values: Vec<f32> = values.iter().map(|p| p.ln()).collect();
/// let result = decoder.decode(&LogProbs::new("utt-1", &values, 4)?)?;
/// assert_eq!(result.text(), "a b");
/// assert_eq!(result.best().unwrap().words[1].frames, 2..3);
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "BeamSearchDecoderCTC")]
#[doc(alias = "CTCDecoder")]
#[doc(alias = "LexiconDecoder")]
#[doc(alias = "LexiconFreeDecoder")]
pub struct CtcDecoder<M: LanguageModel = NoModel> {
    vocabulary: Arc<Vocabulary>,
    options: Arc<CtcDecoderOptions>,
    times: FrameTimes,
    kind: Kind<M>,
}

impl<M: LanguageModel> Clone for CtcDecoder<M> {
    fn clone(&self) -> Self {
        let (vocabulary, options) = (Arc::clone(&self.vocabulary), Arc::clone(&self.options));
        Self { vocabulary, options, times: self.times, kind: self.kind.clone() }
    }
}

impl CtcDecoder<NoModel> {
    /// Creates a decoder for hypotheses of any tokens, without a language model.
    ///
    /// # Errors
    /// [`Error::Option`].
    pub fn new(vocabulary: Vocabulary, options: CtcDecoderOptions) -> Result<Self, Error> {
        Self::with_kind(vocabulary, options, Kind::Tokens { model: None, hot: None })
    }

    /// Changes the type to a decoder with a language model.
    pub fn into_model_type<M: LanguageModel>(self) -> CtcDecoder<M> {
        let Self { vocabulary, options, times, kind } = self;
        let kind = match kind {
            Kind::Tokens { hot, .. } => Kind::Tokens { model: None, hot },
            Kind::Words { hot, .. } => Kind::Words { model: None, hot },
            Kind::Lexicon { tree, hot, .. } => Kind::Lexicon { tree, model: None, hot },
        };
        CtcDecoder { vocabulary, options, times, kind }
    }
}

impl<M: LanguageModel> CtcDecoder<M> {
    fn with_kind(vocabulary: Vocabulary, options: CtcDecoderOptions, kind: Kind<M>) -> Result<Self, Error> {
        let made =
            Self { vocabulary: Arc::new(vocabulary), options: Arc::default(), times: FrameTimes::default(), kind };
        made.with_options(options)
    }

    /// Sets the options.
    ///
    /// # Errors
    /// As [`with_tokens`](Self::with_tokens).
    pub fn with_options(self, options: CtcDecoderOptions) -> Result<Self, Error> {
        options.check()?;
        let model = match &self.kind {
            Kind::Tokens { model, .. } | Kind::Lexicon { model, .. } => model.as_deref(),
            Kind::Words { model, .. } => model.as_ref().map(|of| &of.model),
        };
        if options.score_boundary && model.is_some_and(|model| !model.has_boundaries()) {
            return Err(Error::NoBoundaries);
        }
        Ok(Self { options: Arc::new(options), ..self })
    }

    /// Creates a decoder for hypotheses of any tokens with a language model over their numbers.
    ///
    /// # Errors
    /// [`Error::Option`]; [`Error::NoBoundaries`] for a model without `<s>` or `</s>`, unless
    /// [`score_boundary`](CtcDecoderOptions::score_boundary) is off.
    pub fn with_tokens(vocabulary: Vocabulary, options: CtcDecoderOptions, model: M) -> Result<Self, Error> {
        Self::with_kind(vocabulary, options, Kind::Tokens { model: Some(Arc::new(model)), hot: None })
    }

    /// Creates a decoder for hypotheses of any words that tokens spell, with pyctcdecode's scores;
    /// [`CtcDecoderOptions::pyctcdecode`] has its options. Hypotheses are compared by their texts:
    /// tokens that spell the same words are one hypothesis.
    ///
    /// # Errors
    /// As [`with_tokens`](Self::with_tokens).
    pub fn with_words(
        vocabulary: Vocabulary,
        options: CtcDecoderOptions,
        model: Option<WordModel<M>>,
    ) -> Result<Self, Error> {
        Self::with_kind(vocabulary, options, Kind::Words { model: model.map(Arc::new), hot: Arc::default() })
    }

    /// Creates a decoder for hypotheses of words of a lexicon, as in flashlight. The language model
    /// is over the numbers of the lexicon's words. If the vocabulary has a separator, it may stand
    /// between words. A lexicon whose spellings end with it makes it obligatory, without a
    /// separator in the vocabulary. Words with the same spelling are different hypotheses.
    ///
    /// With [`CtcDecoderOptions::prune_history`], hypotheses are merged if they differ only in
    /// words that the model does not look back at, as in flashlight.
    ///
    /// # Errors
    /// As [`with_tokens`](Self::with_tokens); [`Error::Label`] if the lexicon has a token that the
    /// vocabulary lacks; [`Error::BlankSpelling`] for a word that is spelled with the blank.
    pub fn with_lexicon(
        vocabulary: Vocabulary,
        options: CtcDecoderOptions,
        tree: SpellingTree,
        model: Option<M>,
    ) -> Result<Self, Error> {
        let most = tree.most_token();
        if usize::try_from(most).is_ok_and(|most| most >= vocabulary.len()) {
            return Err(Error::Label { utterance: "lexicon".into(), label: most, num_tokens: vocabulary.len() });
        }
        if let Some(word) = tree.word_with(vocabulary.blank()) {
            return Err(Error::BlankSpelling { word: word.into(), blank: vocabulary.blank() });
        }
        Self::with_kind(
            vocabulary,
            options,
            Kind::Lexicon { tree: Arc::new(tree), model: model.map(Arc::new), hot: None },
        )
    }

    /// Sets hot words: a bonus for phrases of tokens, or of words if there is a lexicon.
    ///
    /// # Errors
    /// [`Error::HotWords`] for a decoder made by [`with_words`](Self::with_words), which takes
    /// texts: [`with_hot_texts`](Self::with_hot_texts).
    pub fn with_hot_words(mut self, graph: ContextGraph) -> Result<Self, Error> {
        match &mut self.kind {
            Kind::Tokens { hot, .. } => *hot = Some(Arc::new(HotTokens::new(&graph, self.vocabulary.len()))),
            Kind::Lexicon { hot, .. } => *hot = Some(Arc::new(graph)),
            Kind::Words { .. } => return Err(Error::HotWords),
        }
        Ok(self)
    }

    /// Sets hot words by their texts. If words are spelled, each word of a phrase has the bonus, as
    /// pyctcdecode scores it. Otherwise each token, or each word of the lexicon, has the bonus as
    /// soon as it follows the phrase so far, and the bonus of a phrase is taken back if its rest
    /// does not follow. The bonus comes from the [`HotWord`], or else from
    /// [`CtcDecoderOptions::hotword_weight`].
    ///
    /// # Errors
    /// Errors of [`spell`](Self::spell), unless words are spelled.
    #[doc(alias = "hotwords")]
    pub fn with_hot_texts<T: Into<HotWord>>(mut self, phrases: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let phrases: Vec<HotWord> = phrases.into_iter().map(Into::into).collect();
        let weight = self.options.hotword_weight;
        if let Kind::Words { hot, .. } = &mut self.kind {
            *hot = Arc::new(HotTexts::new(&phrases, weight));
            return Ok(self);
        }
        let graph = graph(&phrases, weight, |text| self.spell(text))?;
        self.with_hot_words(graph)
    }

    /// Returns the numbers of a phrase in hypotheses: words of the lexicon, or else tokens.
    ///
    /// # Errors
    /// [`Error::Untokenizable`] with the unknown part, [`Error::EmptyPhrase`]; errors of
    /// [`Vocabulary::tokenize`].
    pub fn spell(&self, phrase: &str) -> Result<Vec<i32>, Error> {
        let Kind::Lexicon { tree, .. } = &self.kind else { return self.vocabulary.tokenize(phrase) };
        let word = |word: &str| {
            let unknown = || Error::Untokenizable { phrase: phrase.into(), part: word.into() };
            tree.symbols().find(word).filter(|&word| tree.spells(word)).ok_or_else(unknown)
        };
        let words = phrase.split_whitespace().map(word).collect::<Result<Vec<_>, _>>()?;
        if words.is_empty() { Err(Error::EmptyPhrase { phrase: phrase.into() }) } else { Ok(words) }
    }

    /// Sets the length of frames.
    ///
    /// # Errors
    /// [`Error::Option`] for frames without a length.
    pub fn with_times(mut self, times: FrameTimes) -> Result<Self, Error> {
        times.check()?;
        self.times = times;
        Ok(self)
    }

    /// The tokens.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The length of frames.
    pub fn times(&self) -> &FrameTimes {
        &self.times
    }

    /// The options.
    pub fn options(&self) -> &CtcDecoderOptions {
        &self.options
    }

    /// Returns the hypotheses of an utterance, the best one first. An utterance without frames has
    /// one hypothesis, of no tokens.
    ///
    /// # Errors
    /// [`Error::Columns`] if the utterance does not have a column for each token;
    /// [`Error::NothingLeft`] if a frame leaves no hypothesis.
    pub fn decode(&self, log_probs: &LogProbs<'_>) -> Result<Recognition, Error> {
        let mut stream = self.stream(log_probs.utterance());
        stream.accept(log_probs)?;
        Ok(stream.finish())
    }

    /// Creates a stream for an utterance whose frames come in chunks.
    pub fn stream(&self, utterance: &str) -> CtcStream<M> {
        let blank = usize::try_from(self.vocabulary.blank()).unwrap_or(0);
        let (vocabulary, options) = (Arc::clone(&self.vocabulary), Arc::clone(&self.options));
        let search = match &self.kind {
            Kind::Tokens { model, hot } => {
                Running::Tokens(Search::new(TokenPrefixes::new(options, model.clone(), hot.clone()), blank))
            }
            Kind::Words { model, hot } => Running::Words(Search::new(
                WordPrefixes::new(options, vocabulary, model.clone(), Arc::clone(hot)),
                blank,
            )),
            Kind::Lexicon { tree, model, hot } => {
                let lexicon = (Arc::clone(tree), self.vocabulary.separator());
                Running::Lexicon(Search::new(LexiconPrefixes::new(options, lexicon, model.clone(), hot.clone()), blank))
            }
        };
        CtcStream {
            vocabulary: Arc::clone(&self.vocabulary),
            options: Arc::clone(&self.options),
            times: self.times,
            utterance: utterance.into(),
            search,
        }
    }
}

/// Makes a graph of phrases. Each token of a phrase has the bonus of the phrase, or `weight`.
pub(crate) fn graph(
    phrases: &[HotWord],
    weight: f64,
    spell: impl Fn(&str) -> Result<Vec<i32>, Error>,
) -> Result<ContextGraph, Error> {
    let lists = phrases.iter().map(|hot| spell(&hot.phrase)).collect::<Result<Vec<_>, _>>()?;
    let scores: Vec<f32> = phrases.iter().map(|hot| crate::ids::narrow(hot.bonus.unwrap_or(weight))).collect();
    let lists = fsa::Ragged::from_lists(&lists).map_err(fsa::Error::from)?;
    Ok(ContextGraph::new(&lists, &scores)?)
}

enum Running<M: LanguageModel> {
    Tokens(Search<TokenPrefixes<M>>),
    Words(Search<WordPrefixes<M>>),
    Lexicon(Search<LexiconPrefixes<M>>),
}

impl<M: LanguageModel> Clone for Running<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Tokens(search) => Self::Tokens(search.clone()),
            Self::Words(search) => Self::Words(search.clone()),
            Self::Lexicon(search) => Self::Lexicon(search.clone()),
        }
    }
}

/// An utterance whose frames come in chunks. It shares the data of its decoder, so that it can be
/// moved to other threads and kept in maps. Clones are independent.
pub struct CtcStream<M: LanguageModel = NoModel> {
    vocabulary: Arc<Vocabulary>,
    options: Arc<CtcDecoderOptions>,
    times: FrameTimes,
    utterance: String,
    search: Running<M>,
}

impl<M: LanguageModel> Clone for CtcStream<M> {
    fn clone(&self) -> Self {
        Self {
            vocabulary: Arc::clone(&self.vocabulary),
            options: Arc::clone(&self.options),
            times: self.times,
            utterance: self.utterance.clone(),
            search: self.search.clone(),
        }
    }
}

impl<M: LanguageModel> fmt::Debug for CtcStream<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = self.num_frames();
        f.debug_struct("CtcStream")
            .field("utterance", &self.utterance)
            .field("num_frames", &frames)
            .finish_non_exhaustive()
    }
}

impl<M: LanguageModel> CtcStream<M> {
    /// Takes more frames.
    ///
    /// # Errors
    /// As [`CtcDecoder::decode`]; the stream is then in the state before the frame of the error.
    pub fn accept(&mut self, chunk: &LogProbs<'_>) -> Result<(), Error> {
        chunk.check_columns(self.vocabulary.len())?;
        let options = &self.options;
        match &mut self.search {
            Running::Tokens(search) => search.accept(chunk, options),
            Running::Words(search) => search.accept(chunk, options),
            Running::Lexicon(search) => search.accept(chunk, options),
        }
    }

    /// Returns the number of frames taken so far.
    pub fn num_frames(&self) -> usize {
        match &self.search {
            Running::Tokens(search) => search.num_frames(),
            Running::Words(search) => search.num_frames(),
            Running::Lexicon(search) => search.num_frames(),
        }
    }

    /// Returns the hypotheses so far, without the scores of the end of a sentence. More frames may
    /// follow.
    pub fn partial(&mut self) -> Recognition {
        self.result(false)
    }

    /// Returns the score of the best hypothesis so far minus the score of the best one that can end
    /// here, with the scores of the end of a sentence. It is infinite if each hypothesis is within
    /// a word of the lexicon, and 0 if there is neither a lexicon nor a language model.
    #[doc(alias = "FinalRelativeCost")]
    pub fn final_relative_cost(&mut self) -> f64 {
        match &mut self.search {
            Running::Tokens(search) => search.final_relative_cost(),
            Running::Words(search) => search.final_relative_cost(),
            Running::Lexicon(search) => search.final_relative_cost(),
        }
    }

    /// Returns the hypotheses of the utterance.
    pub fn finish(mut self) -> Recognition {
        self.result(true)
    }

    fn result(&mut self, complete: bool) -> Recognition {
        let finished = match &mut self.search {
            Running::Tokens(search) => search.finish(&self.options, complete),
            Running::Words(search) => search.finish(&self.options, complete),
            Running::Lexicon(search) => search.finish(&self.options, complete),
        };
        let hypotheses = finished.into_iter().map(|one| self.hypothesis(one)).collect();
        Recognition::new(&*self.utterance, self.num_frames(), hypotheses)
    }

    fn hypothesis(&self, finished: Finished) -> Hypothesis {
        let segment = |placed: &Placed| {
            Segment::new(placed.token, self.vocabulary.text(placed.token), placed.start..placed.end, &self.times)
        };
        let tokens = finished.tokens.iter().map(segment).collect();
        let words = match &self.search {
            Running::Lexicon(search) => self.lexicon_words(search.prefixes.tree(), &finished.tokens),
            _ => self.vocabulary.spell(&finished.tokens, &self.times),
        };
        Hypothesis { tokens, words, scores: finished.scores }
    }

    /// Returns the words that tokens end. Each word begins at its first token.
    fn lexicon_words(&self, tree: &SpellingTree, tokens: &[Placed]) -> Vec<Segment> {
        let (mut words, mut start) = (vec![], None);
        for placed in tokens {
            let is_separator = self.vocabulary.separator() == Some(placed.token) && placed.word == NO_WORD;
            if start.is_none() && is_separator || self.vocabulary.is_hidden(placed.token) {
                continue;
            }
            let first = *start.get_or_insert(placed.start);
            if placed.word != NO_WORD {
                let text = tree.symbols().get(placed.word).unwrap_or_default();
                words.push(Segment::new(placed.word, text, first..placed.end, &self.times));
                start = None;
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use fsa::io::SymbolTable;
    use proptest::prelude::*;

    use super::*;

    const TOKENS: usize = 4;

    /// The last word and the number of words, up to a few, determine the words that may follow.
    #[derive(Debug, Clone)]
    struct Model;

    impl LanguageModel for Model {
        type State = (i32, u8);

        fn start(&self) -> Self::State {
            (0, 0)
        }

        fn step(&self, (last, count): Self::State, word: i32) -> Option<(Self::State, f64)> {
            let score = -0.3 * f64::from((last * 7 + word * 3) % 5) - 0.1 * f64::from(count);
            Some(((word, (count + 1) % 3), score))
        }

        fn end(&self, (last, _): Self::State) -> Option<f64> {
            Some(-0.2 * f64::from(last % 2))
        }
    }

    fn decoders(prune_history: bool, beam: usize) -> Vec<CtcDecoder<Model>> {
        let options = || {
            let options = CtcDecoderOptions::default().with_beam_size(beam).with_n_best(beam);
            options.with_prune_history(prune_history).with_hotword_weight(1.5)
        };
        let vocabulary = || Vocabulary::new(["-", "|", "a", "b"], 0).unwrap().with_separator("|").unwrap();
        let words: SymbolTable = "<eps> 0\n<unk> 1\na 2\nb 3\nab 4\nba 5\n".parse().unwrap();
        let spellings =
            [("a", vec![2]), ("ab", vec![2, 3]), ("aa", vec![2, 2]), ("b", vec![3]), ("bab", vec![3, 2, 3])];
        let tree = SpellingTree::new(spellings, &mut SymbolTable::default()).unwrap().smeared(&Model);
        let made = [
            CtcDecoder::with_tokens(vocabulary(), options(), Model),
            CtcDecoder::with_words(vocabulary(), options(), Some(WordModel::new(Model, words, 3))),
            CtcDecoder::with_lexicon(vocabulary(), options(), tree, Some(Model)),
        ];
        made.into_iter().map(|decoder| decoder.unwrap().with_hot_texts(["ab", "b"]).unwrap()).collect()
    }

    impl<M: LanguageModel> Running<M> {
        fn set_most_nodes(&mut self, most: usize) {
            match self {
                Self::Tokens(search) => search.most_nodes = most,
                Self::Words(search) => search.most_nodes = most,
                Self::Lexicon(search) => search.most_nodes = most,
            }
        }

        fn size(&self) -> usize {
            match self {
                Self::Tokens(search) => search.size(),
                Self::Words(search) => search.size(),
                Self::Lexicon(search) => search.size(),
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_freed_changes_no_result(
            values in prop::collection::vec(-5.0_f32..0.0, 24 * TOKENS),
            beam in 1..9_usize,
            prune_history: bool,
        ) {
            let log_probs = LogProbs::new("u", &values, TOKENS).unwrap();
            for decoder in decoders(prune_history, beam) {
                let results = [usize::MAX, 0].map(|most| {
                    let mut stream = decoder.stream("u");
                    for frame in 0..log_probs.num_frames() {
                        stream.search.set_most_nodes(most);
                        stream.accept(&log_probs.slice(frame..frame + 1).unwrap()).unwrap();
                    }
                    stream.finish()
                });
                prop_assert_eq!(&results[0], &results[1]);
            }
        }
    }

    #[test]
    fn a_stream_without_end_needs_the_nodes_of_its_first_minute() {
        let minute = 50 * 60;
        let mut seed = 1_u32;
        let values: Vec<f32> = (0..minute * TOKENS)
            .map(|i| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let noise = f32::from(u16::try_from(seed >> 20).unwrap()) / 1024.0;
                if i % TOKENS == 0 { -0.1 } else { -1.0 - noise }
            })
            .collect();
        let minute = LogProbs::new("u", &values, TOKENS).unwrap();
        for decoder in decoders(false, 8) {
            let mut stream = decoder.stream("u");
            stream.search.set_most_nodes(4000);
            let mut most = [0; 15];
            for most in &mut most {
                for second in (0..minute.num_frames()).step_by(50) {
                    stream.accept(&minute.slice(second..second + 50).unwrap()).unwrap();
                    *most = stream.search.size().max(*most);
                }
            }
            let later = *most.iter().max().unwrap();
            assert!(later * 10 <= most[0] * 11, "{} nodes in a minute, {later} later", most[0]);
        }
    }
}
