//! What makes words of log-probabilities.

use std::path::PathBuf;

use fsa::dense::DenseOptions;
use fsa::graphs::{ArpaOptions, NgramModel};
use fsa::io::{OpenFstBinary, OpenFstText, SymbolTable};
use fsa::{Fsa, Graph, GraphLabels};
use kaldera_base::setters;
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, CtcStream, SpellingTree, WordModel};
use kaldera_decoder::graph::{GraphOptions, GraphRecognizer, GraphStream};
use kaldera_decoder::{FrameTimes, LogProbs, Recognition, Vocabulary, WordUnits};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::recognizer::description::{Model, Words};

/// How a [`Recognizer`](super::Recognizer) searches: the table `decoding` of a `model.toml`, and
/// what a program changes of it. Paths are relative to the model's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct DecodingOptions {
    /// How many hypotheses are kept in each frame. Without it, and without a language model, hot
    /// words and more than one hypothesis, the best token of each frame is taken; 20 otherwise.
    pub beam: Option<usize>,
    /// How many hypotheses are returned.
    pub n_best: usize,
    /// The weight of the language model.
    pub lm_weight: f64,
    /// What each word adds.
    pub word_score: f64,
    /// Phrases that are more probable than the model thinks.
    pub hotwords: Vec<String>,
    /// The bonus of a hot word.
    pub hotword_weight: f64,
    /// A language model in place of the description's.
    pub language_model: Option<PathBuf>,
    /// A decoding graph in place of the description's.
    pub graph: Option<PathBuf>,
    /// The network's scores are multiplied by this before those of a graph are added.
    pub acoustic_scale: f32,
    /// States of a graph that are worse than the best by more than this are dropped.
    pub search_beam: f32,
    /// Paths of a graph that are worse than the best by more than this are no hypotheses.
    pub lattice_beam: f32,
    /// At most so many states of a graph are kept in a frame.
    pub max_active: usize,
}

impl Default for DecodingOptions {
    fn default() -> Self {
        let (ctc, graph) = (CtcDecoderOptions::default(), DenseOptions::default());
        Self {
            beam: None,
            n_best: 1,
            lm_weight: ctc.lm_weight,
            word_score: ctc.word_score,
            hotwords: vec![],
            hotword_weight: ctc.hotword_weight,
            language_model: None,
            graph: None,
            acoustic_scale: 1.0,
            search_beam: graph.search_beam,
            lattice_beam: graph.output_beam,
            max_active: graph.max_active_states,
        }
    }
}

setters! {
    DecodingOptions:
    beam, with_beam: Option<usize>, "With this many hypotheses in each frame.";
    n_best, with_n_best: usize, "With this many hypotheses in the result.";
    lm_weight, with_lm_weight: f64, "With this weight of the language model.";
    word_score, with_word_score: f64, "With this score for each word.";
    hotwords, with_hotwords: Vec<String>, "With these hot words.";
    hotword_weight, with_hotword_weight: f64, "With this bonus of a hot word.";
    language_model, with_language_model: Option<PathBuf>, "With this language model.";
    graph, with_graph: Option<PathBuf>, "With this decoding graph.";
    acoustic_scale, with_acoustic_scale: f32, "With this scale of the scores of the network.";
    search_beam, with_search_beam: f32, "With this beam of the search in a graph.";
    lattice_beam, with_lattice_beam: f32, "With this beam of hypotheses of a graph.";
    max_active, with_max_active: usize, "With this many states of a graph in a frame.";
}

/// A decoder of one of the kinds.
#[derive(Debug)]
pub(super) struct Decoder {
    search: Search,
    /// The spellings of the lexicon, by words.
    lexicon: Option<String>,
}

#[derive(Debug)]
enum Search {
    Ctc(Box<CtcDecoder<NgramModel>>),
    Graph(Box<GraphRecognizer>),
}

/// An utterance whose frames come in chunks.
pub(super) enum DecoderStream<'d> {
    Ctc(Box<CtcStream<'d, NgramModel>>),
    Graph(&'d GraphRecognizer, Box<GraphStream>),
}

impl Model {
    /// The decoder that the description and the options ask for.
    pub(super) fn decoder(&self, vocabulary: &Vocabulary, times: FrameTimes) -> Result<Decoder, Error> {
        let description = &self.description;
        let lexicon = description.lexicon.as_deref().map(|file| self.read_text("lexicon", file)).transpose()?;
        let graph = description.decoding.graph.as_ref().map(|file| ("decoding.graph", file));
        let search = match graph.or(description.graph.as_ref().map(|file| ("graph", file))) {
            Some((key, file)) => self.graph_search(key, file, vocabulary, times)?,
            None => self.ctc_search(lexicon.as_deref(), vocabulary, times)?,
        };
        Ok(Decoder { search, lexicon })
    }

    fn graph_search(
        &self,
        key: &str,
        file: &std::path::Path,
        vocabulary: &Vocabulary,
        times: FrameTimes,
    ) -> Result<Search, Error> {
        let options = &self.description.decoding;
        if !options.hotwords.is_empty() {
            return Err(self.refuse("decoding.hotwords", "a graph has no hot words: decode without it"));
        }
        if options.language_model.is_some() {
            return Err(self.refuse("decoding.language-model", "a graph has its own: decode without it"));
        }
        let mut bytes = vec![];
        let mut reader = self.reader(key, file)?;
        std::io::Read::read_to_end(&mut reader, &mut bytes).map_err(|error| self.in_file(key, file, &error))?;
        let failed = |error: &dyn std::fmt::Display| self.in_file(key, file, error);
        let (graph, own_words): (Graph<Fsa>, Option<SymbolTable>) = if OpenFstBinary::is_one(&bytes) {
            let read = OpenFstBinary::read(&bytes).map_err(|error| failed(&error))?;
            (read.graph, read.output_symbols)
        } else {
            let text =
                std::str::from_utf8(&bytes).map_err(|_| failed(&"neither OpenFst's binary form nor its text"))?;
            (OpenFstText::default().read(text).map_err(|error| failed(&error))?, None)
        };
        let words = match &self.description.graph_words {
            Some(words) => {
                let text = self.read_text("graph-words", words)?;
                Some(text.parse().map_err(|error| self.in_file("graph-words", words, &error))?)
            }
            None => own_words,
        };
        let Some(words) = words else {
            return Err(self.refuse("graph-words", "it is missing, and the graph has no symbols: a table WORD NUMBER"));
        };
        let search = DenseOptions::default()
            .with_labels(GraphLabels::ClassPlusOne)
            .with_search_beam(options.search_beam)
            .with_output_beam(options.lattice_beam)
            .with_max_active_states(options.max_active);
        let graph_options = GraphOptions::default()
            .with_search(search)
            .with_acoustic_scale(options.acoustic_scale)
            .with_silence(vec![vocabulary.blank()])
            .with_times(times)
            .with_n_best(options.n_best);
        let recognizer = GraphRecognizer::new(graph, Some(words), graph_options).map_err(|error| failed(&error))?;
        Ok(Search::Graph(Box::new(recognizer)))
    }

    fn ctc_search(&self, lexicon: Option<&str>, vocabulary: &Vocabulary, times: FrameTimes) -> Result<Search, Error> {
        let description = &self.description;
        let options = &description.decoding;
        let model = options.language_model.as_ref().map(|file| ("decoding.language-model", file));
        let model = model.or(description.language_model.as_ref().map(|file| ("language-model", file)));
        let model = model.map(|(key, file)| {
            let reader = self.reader(key, file)?;
            let model = NgramModel::from_reader(reader, &ArpaOptions::default(), &mut |_| {});
            model.map_err(|error| self.in_file(key, file, &error))
        });
        let model = model.transpose()?;
        let plain = options.beam.is_none()
            && options.n_best == 1
            && options.hotwords.is_empty()
            && model.is_none()
            && lexicon.is_none();
        let mut ctc = CtcDecoderOptions::default()
            .with_n_best(options.n_best)
            .with_lm_weight(options.lm_weight)
            .with_hotword_weight(options.hotword_weight);
        ctc = if plain {
            // The best token of each frame.
            ctc.with_beam_size(1).with_beam_size_token(Some(1)).with_log_add(false).with_word_score(0.0)
        } else {
            let word_score = if model.is_some() { options.word_score } else { 0.0 };
            ctc.with_beam_size(options.beam.unwrap_or(20)).with_word_score(word_score)
        };
        let mut symbols = match &model {
            Some(model) => model.symbols().map_err(|error| self.refuse("language-model", error.to_string()))?,
            None => SymbolTable::default(),
        };
        let tree = match (lexicon, description.words) {
            (Some(text), _) => Some(
                SpellingTree::read(text, |token| vocabulary.number(token), &mut symbols)
                    .map_err(|error| self.refuse("lexicon", error.to_string()))?,
            ),
            // Each token is a word, spelled by itself.
            (None, Words::Tokens) => {
                let tokens = (0..).take(vocabulary.len()).filter(|&token| token != vocabulary.blank());
                let spellings = tokens.map(|token| (vocabulary.text(token), vec![token]));
                let tree = SpellingTree::new(spellings, &mut symbols);
                Some(tree.map_err(|error| self.refuse("tokens", error.to_string()))?)
            }
            (None, _) => None,
        };
        let decoder = match (tree, model) {
            (Some(tree), Some(model)) => {
                let tree = tree.smeared(&model);
                CtcDecoder::lexicon(vocabulary.clone(), ctc, tree, Some(model))
            }
            (Some(tree), None) => CtcDecoder::lexicon(vocabulary.clone(), ctc, tree, None),
            (None, model) => {
                let model = model.map(|model| {
                    let order = model.order();
                    WordModel::new(model, symbols, order)
                });
                CtcDecoder::words(vocabulary.clone(), ctc, model)
            }
        };
        let decoder = decoder.and_then(|decoder| match options.hotwords.is_empty() {
            true => Ok(decoder),
            false => decoder.with_hot_texts(&options.hotwords),
        });
        let decoder = decoder.and_then(|decoder| decoder.with_times(times));
        let decoder = decoder.map_err(|error| self.refuse("decoding", error.to_string()))?;
        Ok(Search::Ctc(Box::new(decoder)))
    }
}

impl Decoder {
    pub(super) fn decode(&self, log_probs: &LogProbs<'_>) -> Result<Recognition, Error> {
        Ok(match &self.search {
            Search::Ctc(decoder) => decoder.decode(log_probs)?,
            Search::Graph(_) if log_probs.num_frames() == 0 => Recognition::new(log_probs.utterance(), 0, vec![]),
            Search::Graph(recognizer) => recognizer.decode(log_probs)?,
        })
    }

    pub(super) fn stream(&self, utterance: &str) -> DecoderStream<'_> {
        match &self.search {
            Search::Ctc(decoder) => DecoderStream::Ctc(Box::new(decoder.stream(utterance))),
            Search::Graph(recognizer) => DecoderStream::Graph(recognizer, Box::new(recognizer.stream(utterance))),
        }
    }

    /// The tokens of a word: the first spelling of the lexicon, or what the tokens spell.
    pub(super) fn spelling(&self, vocabulary: &Vocabulary, word: &str) -> Result<Vec<i32>, Error> {
        if let Some(lexicon) = &self.lexicon {
            let mut spellings = lexicon.lines().map(|line| line.split_whitespace());
            let own = spellings.find_map(|mut fields| (fields.next() == Some(word)).then_some(fields));
            if let Some(tokens) = own {
                let unknown =
                    |part: &str| kaldera_decoder::Error::Untokenizable { phrase: word.into(), part: part.into() };
                let numbers = tokens.map(|token| vocabulary.number(token).ok_or_else(|| unknown(token)));
                return Ok(numbers.collect::<Result<_, _>>()?);
            }
        }
        match vocabulary.words() {
            WordUnits::None => {
                let missing = || kaldera_decoder::Error::Untokenizable { phrase: word.into(), part: word.into() };
                let number = vocabulary.number(word).filter(|&number| number != vocabulary.blank());
                Ok(vec![number.ok_or_else(missing)?])
            }
            _ => Ok(vocabulary.tokenize(word)?),
        }
    }
}

impl DecoderStream<'_> {
    pub(super) fn accept(&mut self, chunk: &LogProbs<'_>) -> Result<(), Error> {
        match self {
            Self::Ctc(stream) => stream.accept(chunk)?,
            Self::Graph(recognizer, stream) => recognizer.accept(stream, chunk)?,
        }
        Ok(())
    }

    pub(super) fn partial(&mut self) -> Result<Recognition, Error> {
        Ok(match self {
            Self::Ctc(stream) => stream.partial(),
            Self::Graph(recognizer, stream) => recognizer.partial(stream)?,
        })
    }

    pub(super) fn finish(self) -> Result<Recognition, Error> {
        Ok(match self {
            Self::Ctc(stream) => stream.finish(),
            Self::Graph(recognizer, stream) => recognizer.finish(&stream)?,
        })
    }
}
