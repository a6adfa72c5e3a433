//! Transducers: searches over the rows of an encoder, with a predictor and a joiner.

use std::path::PathBuf;
use std::sync::Arc;

use fsa::graphs::ContextGraph;
use kaldera_decoder::align::TranscriptWord;
use kaldera_decoder::ctc::CtcDecoderOptions;
use kaldera_decoder::transducer::{
    EncoderOutput, Fusion, GreedyStream, TransducerModel, TransducerOptions, TransducerStream, TransducerTopology,
    forced_align,
};
use kaldera_decoder::{Error as DecoderError, FrameTimes, HotWord, Recognition, Segment, Vocabulary};
use kaldera_network::{Error as NetworkError, Predictor, PredictorState};

use crate::Error;
use crate::recognizer::description::Model;

/// Default number of hypotheses in each frame, as in icefall.
const BEAM: usize = 4;

/// A search of a transducer.
#[derive(Debug)]
pub(super) struct TransducerSearch {
    model: Predicting,
    vocabulary: Vocabulary,
    fusion: Fusion,
    options: TransducerOptions,
    times: FrameTimes,
    /// `true` if the best token is taken at once.
    is_greedy: bool,
}

/// A predictor and a joiner in the form that a search takes.
#[derive(Debug, Clone)]
struct Predicting {
    predictor: Arc<dyn Predictor>,
    num_tokens: usize,
    durations: Vec<usize>,
    blank: i32,
}

fn of_model(error: NetworkError) -> DecoderError {
    match error {
        NetworkError::Part { part, reason } => DecoderError::Model { part, reason },
        error => DecoderError::Model { part: "joiner", reason: error.to_string() },
    }
}

impl TransducerModel for Predicting {
    type State = Arc<PredictorState>;

    fn num_tokens(&self) -> usize {
        self.num_tokens
    }

    fn blank(&self) -> i32 {
        self.blank
    }

    fn durations(&self) -> &[usize] {
        &self.durations
    }

    fn encoder_dim(&self) -> Option<usize> {
        Some(self.predictor.encoder_dim())
    }

    fn start(&self) -> Result<Self::State, DecoderError> {
        self.predictor.start().map(Arc::new).map_err(of_model)
    }

    fn advance(&self, state: &Self::State, token: i32) -> Result<Self::State, DecoderError> {
        self.predictor.advance(state, token).map(Arc::new).map_err(of_model)
    }

    fn join(&self, encoder: &[f32], state: &Self::State, scores: &mut [f32]) -> Result<(), DecoderError> {
        self.predictor.join(encoder, state, scores).map_err(of_model)
    }
}

impl Model<'_> {
    /// Makes the search of a transducer.
    pub(super) fn transducer(
        &self,
        predictor: Box<dyn Predictor>,
        vocabulary: &Vocabulary,
    ) -> Result<TransducerSearch, Error> {
        let description = &self.description;
        let options = &description.decoding;
        let idle: [(&str, Option<&PathBuf>); 5] = [
            ("graph", description.graph.as_ref()),
            ("lexicon", description.lexicon.as_ref()),
            ("language-model", description.language_model.as_ref()),
            ("decoding.graph", options.graph.as_ref()),
            ("decoding.language-model", options.language_model.as_ref()),
        ];
        if let Some((key, _)) = idle.into_iter().find(|(_, file)| file.is_some()) {
            let reason = "a transducer is decoded without it: leave it out, and give phrases that the decoder should \
                          prefer as hot words (decoding.hotwords, --hotwords); graphs, lexicons and language models \
                          are for kind = \"ctc\"";
            return Err(self.refuse(key, reason));
        }
        let unk = match description.unk {
            Some(unk) => match i32::try_from(unk).ok().filter(|_| unk < vocabulary.len()) {
                Some(unk) => Some(unk),
                None => {
                    return Err(self.refuse("unk", format!("it is {unk}, and there are {} tokens", vocabulary.len())));
                }
            },
            None => None,
        };
        let hot = match options.hot_words().is_empty() {
            true => None,
            false => {
                let hotwords = self.spelled_hotwords(|phrase| vocabulary.tokenize(phrase))?;
                let weight = options.weight_of_hot_words().unwrap_or(CtcDecoderOptions::default().hotword_weight);
                let graph = vocabulary.hot_words(hotwords, weight);
                Some(graph.map_err(|error| self.refuse("decoding.hotwords", error.to_string()))?)
            }
        };
        let (n_best, symbols_per_frame) = (options.num_hypotheses(), options.symbols_per_frame.unwrap_or(1));
        let is_greedy = options.beam.is_none() && n_best == 1 && hot.is_none();
        let has_one_token_a_frame = description.network.durations.is_empty() && symbols_per_frame == 1;
        // icefall's modified_beam_search also counts the tokens that the predictor starts with.
        let length_norm = match predictor.start() {
            Ok(state) => has_one_token_a_frame.then_some(state.tokens.len()),
            Err(error) => return Err(self.refuse("network.predictor", error.to_string())),
        };
        let search = TransducerOptions::default()
            .with_beam(if is_greedy { 1 } else { options.beam.unwrap_or(BEAM.max(n_best)) })
            .with_length_norm(length_norm)
            .with_unk(unk)
            .with_max_symbols_per_frame(symbols_per_frame)
            .with_n_best(n_best);
        let durations = description.network.durations.clone();
        TransducerSearch::new(predictor, durations, vocabulary, hot, search, is_greedy).map_err(|error| match error {
            DecoderError::Option { name, value, reason } => {
                let key = name.trim_start_matches("max_").replace('_', "-");
                self.refuse(&format!("decoding.{key}"), format!("it is {value}: {reason}"))
            }
            error => self.refuse("decoding", error.to_string()),
        })
    }
}

impl TransducerSearch {
    /// Creates a search that takes the best token at once, if `is_greedy`, or else one with a beam.
    ///
    /// # Errors
    /// [`DecoderError::Model`] if the joiner's number of scores is not the number of tokens and
    /// durations; [`DecoderError::Option`].
    pub(super) fn new(
        predictor: Box<dyn Predictor>,
        durations: Vec<usize>,
        vocabulary: &Vocabulary,
        hot: Option<ContextGraph>,
        options: TransducerOptions,
        is_greedy: bool,
    ) -> Result<Self, DecoderError> {
        options.check()?;
        let (scores, tokens) = (predictor.num_scores(), vocabulary.len());
        if scores != tokens + durations.len() {
            let reason = format!("it has {scores} scores for {tokens} tokens and {} durations", durations.len());
            return Err(DecoderError::Model { part: "joiner", reason });
        }
        let model =
            Predicting { predictor: predictor.into(), num_tokens: tokens, durations, blank: vocabulary.blank() };
        let (times, fusion) = (FrameTimes::default(), hot.map_or(Fusion::NONE, Fusion::hot_words));
        Ok(Self { model, vocabulary: vocabulary.clone(), fusion, options, times, is_greedy })
    }

    /// Returns a search with these hot words, which shares the predictor.
    pub(super) fn with_hot_words(&self, phrases: Vec<HotWord>) -> Result<Self, DecoderError> {
        let graph = self.vocabulary.hot_words(phrases, CtcDecoderOptions::default().hotword_weight)?;
        let beam = if self.is_greedy { BEAM } else { self.options.beam };
        Ok(Self {
            model: self.model.clone(),
            vocabulary: self.vocabulary.clone(),
            fusion: Fusion::hot_words(graph),
            options: self.options.clone().with_beam(beam),
            times: self.times,
            is_greedy: false,
        })
    }

    /// Sets the length of frames.
    pub(super) fn with_times(self, times: FrameTimes) -> Self {
        Self { times, ..self }
    }

    /// Returns the length of frames.
    pub(super) fn times(&self) -> &FrameTimes {
        &self.times
    }

    /// Returns the maximum number of hypotheses of an utterance.
    pub(super) fn n_best(&self) -> usize {
        self.options.n_best
    }

    /// Returns the number of values of a row of the encoder.
    pub(super) fn encoder_dim(&self) -> usize {
        self.model.predictor.encoder_dim()
    }

    fn rows<'a>(&self, utterance: &'a str, values: &'a [f32]) -> Result<EncoderOutput<'a>, DecoderError> {
        EncoderOutput::new(utterance, values, self.encoder_dim())
    }

    fn topology(&self) -> TransducerTopology {
        match (self.model.durations.is_empty(), self.options.max_symbols_per_frame) {
            (false, _) => TransducerTopology::Durations,
            (true, 1) => TransducerTopology::Modified,
            (true, _) => TransducerTopology::Regular,
        }
    }

    /// Returns the words for all rows of the encoder, with a stream of one chunk.
    pub(super) fn decode(&self, utterance: &str, values: &[f32]) -> Result<Recognition, DecoderError> {
        let mut stream = self.stream(utterance)?;
        stream.accept(utterance, values)?;
        Ok(stream.finish())
    }

    /// Creates the stream of an utterance before its first row.
    pub(super) fn stream(&self, utterance: &str) -> Result<SearchStream<'_>, DecoderError> {
        let (model, topology, options) = (&self.model, self.topology(), &self.options);
        let stream = match self.is_greedy {
            true => Running::Greedy(GreedyStream::new(utterance, model, topology, options, self.times)?),
            false => {
                Running::Beam(TransducerStream::new(utterance, model, &self.fusion, topology, options, self.times)?)
            }
        };
        Ok(SearchStream { search: self, stream })
    }

    /// Adds the texts of tokens, and words.
    fn spelled(&self, mut found: Recognition) -> Recognition {
        for hypothesis in &mut found.hypotheses {
            *hypothesis = self.vocabulary.spelled(std::mem::take(hypothesis), &self.times);
        }
        found
    }

    /// Aligns the words of a transcript; of several spellings of a word the first is used. Words
    /// overlap only if they begin in the same frame.
    pub(super) fn align(
        &self,
        utterance: &str,
        values: &[f32],
        words: &[TranscriptWord],
    ) -> Result<Vec<Segment>, DecoderError> {
        let rows = self.rows(utterance, values)?;
        let (mut tokens, mut places) = (vec![], vec![]);
        for word in words {
            if let Some(separator) = self.vocabulary.separator().filter(|_| !tokens.is_empty()) {
                tokens.push(separator);
            }
            let start = tokens.len();
            let spelling = word.pronunciations.first().filter(|spelling| !spelling.is_empty());
            tokens.extend(spelling.ok_or_else(|| DecoderError::EmptyPhrase { phrase: word.text.clone() })?);
            places.push(start..tokens.len());
        }
        let found = forced_align(&self.model, &rows, &tokens, self.topology(), &self.options, &self.times)?.tokens;
        let word = |(word, place): (&TranscriptWord, std::ops::Range<usize>)| {
            let (first, last) = (&found[place.start], &found[place.end - 1]);
            // A token that takes no frame is in one that the next word may have, too.
            let next = found.get(place.end).map_or(usize::MAX, |token| token.frames.start);
            let end = last.frames.end.min(next.max(first.frames.start + 1));
            Segment::new(-1, word.text.clone(), first.frames.start..end, &self.times)
        };
        Ok(words.iter().zip(places).map(word).collect())
    }
}

/// A search of an utterance whose rows come in chunks.
#[derive(Debug)]
pub(super) struct SearchStream<'s> {
    search: &'s TransducerSearch,
    stream: Running<'s>,
}

#[derive(Debug)]
enum Running<'s> {
    Greedy(GreedyStream<&'s Predicting>),
    Beam(TransducerStream<&'s Predicting>),
}

impl SearchStream<'_> {
    pub(super) fn accept(&mut self, utterance: &str, values: &[f32]) -> Result<(), DecoderError> {
        let rows = self.search.rows(utterance, values)?;
        match &mut self.stream {
            Running::Greedy(stream) => stream.accept(&rows),
            Running::Beam(stream) => stream.accept(&rows),
        }
    }

    pub(super) fn partial(&self) -> Recognition {
        self.search.spelled(match &self.stream {
            Running::Greedy(stream) => stream.partial(),
            Running::Beam(stream) => stream.partial(),
        })
    }

    pub(super) fn finish(self) -> Recognition {
        self.search.spelled(match self.stream {
            Running::Greedy(stream) => stream.finish(),
            Running::Beam(stream) => stream.finish(),
        })
    }
}
