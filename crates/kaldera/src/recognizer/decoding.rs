//! What makes words of log-probabilities.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use fsa::dense::DenseOptions;
use fsa::graphs::{ArpaOptions, NgramModel};
use fsa::io::{OpenFstBinary, OpenFstText, SymbolTable};
use fsa::{Fsa, Graph, GraphLabels};
use kaldera_base::setters;
use kaldera_decoder::align::TranscriptWord;
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, CtcStream, SpellingTree, WordModel};
use kaldera_decoder::graph::{GraphOptions, GraphRecognizer, GraphStream, WordSpellings};
use kaldera_decoder::{FrameTimes, LogProbs, Recognition, Vocabulary, WordUnits};
use kaldera_network::Predictor;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::recognizer::description::{Description, Model, ModelKind, Words};
use crate::recognizer::transducer::{SearchStream, TransducerSearch};

/// Hypotheses in each frame of a search without a graph, where the description does not say how many.
const BEAM: usize = 20;

/// How a [`Recognizer`](super::Recognizer) searches: the table `decoding` of a `model.toml`, and
/// what a program changes of it. Paths are relative to the model's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct DecodingOptions {
    /// How many hypotheses are kept in each frame. Without it, and without a language model, hot
    /// words and more than one hypothesis, the best token of each frame is taken; otherwise there are
    /// 20, and 4 of a transducer, or [`n_best`](Self::n_best) if that is more.
    pub beam: Option<usize>,
    /// How many hypotheses are returned.
    pub n_best: usize,
    /// The weight of the language model.
    pub lm_weight: f64,
    /// What each word adds.
    pub word_score: f64,
    /// How many tokens a frame may have, of a transducer.
    #[doc(alias("max_sym_per_frame", "max_symbols"))]
    pub symbols_per_frame: usize,
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
            symbols_per_frame: 1,
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
    symbols_per_frame, with_symbols_per_frame: usize, "With this many tokens in a frame of a transducer.";
    hotwords, with_hotwords: Vec<String>, "With these hot words.";
    hotword_weight, with_hotword_weight: f64, "With this bonus of a hot word.";
    language_model, with_language_model: Option<PathBuf>, "With this language model.";
    graph, with_graph: Option<PathBuf>, "With this decoding graph.";
    acoustic_scale, with_acoustic_scale: f32, "With this scale of the scores of the network.";
    search_beam, with_search_beam: f32, "With this beam of the search in a graph.";
    lattice_beam, with_lattice_beam: f32, "With this beam of hypotheses of a graph.";
    max_active, with_max_active: usize, "With this many states of a graph in a frame.";
}

/// The options that are not at their defaults and do nothing, and why.
fn without_effect(description: &Description) -> Vec<(&'static str, &'static str)> {
    const OF_GRAPH: &str = "the decoding graph decides that";
    const NO_GRAPH: &str = "there is no decoding graph";
    const NO_MODEL: &str = "there is no language model";
    let (options, plain) = (&description.decoding, DecodingOptions::default());
    let has_graph = description.graph.is_some() || options.graph.is_some();
    let has_model = description.language_model.is_some() || options.language_model.is_some();
    let all = [
        ("beam", has_graph && options.beam.is_some(), OF_GRAPH),
        ("lm-weight", has_graph && options.lm_weight != plain.lm_weight, OF_GRAPH),
        ("word-score", has_graph && options.word_score != plain.word_score, OF_GRAPH),
        (
            "n-best",
            !has_graph && options.beam.is_some_and(|beam| beam < options.n_best),
            "there are as many hypotheses as beam, which is smaller",
        ),
        ("acoustic-scale", !has_graph && options.acoustic_scale != plain.acoustic_scale, NO_GRAPH),
        ("search-beam", !has_graph && options.search_beam != plain.search_beam, NO_GRAPH),
        ("lattice-beam", !has_graph && options.lattice_beam != plain.lattice_beam, NO_GRAPH),
        ("max-active", !has_graph && options.max_active != plain.max_active, NO_GRAPH),
        ("lm-weight", !has_graph && !has_model && options.lm_weight != plain.lm_weight, NO_MODEL),
        ("word-score", !has_graph && !has_model && options.word_score != plain.word_score, NO_MODEL),
        (
            "symbols-per-frame",
            description.kind != ModelKind::Transducer && options.symbols_per_frame != plain.symbols_per_frame,
            "it is for transducers",
        ),
        (
            "hotword-weight",
            options.hotwords.is_empty() && options.hotword_weight != plain.hotword_weight,
            "there are no hot words",
        ),
    ];
    all.into_iter().filter(|(_, idle, _)| *idle).map(|(name, _, why)| (name, why)).collect()
}

/// The spellings of the lexicon, by words.
type Spellings = HashMap<String, Arc<[Vec<i32>]>>;

/// A decoder of one of the kinds.
#[derive(Debug)]
pub(super) struct Decoder {
    search: Search,
    spellings: Spellings,
    /// Values of a row of the network's output.
    columns: usize,
}

#[derive(Debug)]
enum Search {
    Ctc(Box<CtcDecoder<NgramModel>>),
    Graph(Box<GraphRecognizer>),
    Transducer(Box<TransducerSearch>),
}

/// An utterance whose frames come in chunks.
pub(super) enum DecoderStream<'d> {
    Ctc(Box<CtcStream<'d, NgramModel>>),
    Graph(&'d GraphRecognizer, Box<GraphStream>),
    Transducer(Box<SearchStream<'d>>),
}

impl Model {
    /// The decoder that the description and the options ask for, of rows of so many values; a
    /// transducer has a predictor.
    pub(super) fn decoder(
        &self,
        vocabulary: &Vocabulary,
        times: FrameTimes,
        columns: usize,
        predictor: Option<Box<dyn Predictor>>,
    ) -> Result<Decoder, Error> {
        let description = &self.description;
        let lexicon = description.lexicon.as_deref().map(|file| self.read_text("lexicon", file)).transpose()?;
        let graph = description.decoding.graph.as_ref().map(|file| ("decoding.graph", file));
        let idle = without_effect(description);
        if !idle.is_empty() {
            let idle: Vec<String> = idle.into_iter().map(|(name, why)| format!("{name} ({why})")).collect();
            tracing::warn!("options that do nothing here: {}", idle.join(", "));
        }
        // A transducer refuses a lexicon.
        let lexicon = lexicon.filter(|_| predictor.is_none());
        let spellings = lexicon.as_deref().map(|text| spellings(text, vocabulary)).transpose();
        let spellings = spellings.map_err(|error| self.refuse("lexicon", error.to_string()))?.unwrap_or_default();
        let search = match (predictor, graph.or(description.graph.as_ref().map(|file| ("graph", file)))) {
            (Some(predictor), _) => {
                Search::Transducer(Box::new(self.transducer(predictor, columns, vocabulary, times)?))
            }
            (None, Some((key, file))) => self.graph_search(key, file, vocabulary, &spellings, times)?,
            (None, None) => self.ctc_search(lexicon.as_deref(), vocabulary, times)?,
        };
        Ok(Decoder { search, spellings, columns })
    }

    fn graph_search(
        &self,
        key: &str,
        file: &std::path::Path,
        vocabulary: &Vocabulary,
        spellings: &Spellings,
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
        let numbers = spellings.iter().filter_map(|(word, spelled)| Some((words.find(word)?, Arc::clone(spelled))));
        let spellings = WordSpellings::new(numbers, vocabulary.separator());
        let recognizer = GraphRecognizer::new(graph, Some(words), graph_options).map_err(|error| failed(&error))?;
        Ok(Search::Graph(Box::new(recognizer.with_spellings(spellings))))
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
            ctc.with_beam_size(options.beam.unwrap_or(BEAM.max(options.n_best))).with_word_score(word_score)
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
    /// The words for rows of the network's output.
    pub(super) fn decode(&self, utterance: &str, rows: &[f32]) -> Result<Recognition, Error> {
        Ok(match &self.search {
            Search::Transducer(search) => search.decode(utterance, rows)?,
            Search::Ctc(decoder) => decoder.decode(&LogProbs::new(utterance, rows, self.columns)?)?,
            Search::Graph(_) if rows.is_empty() => Recognition::new(utterance, 0, vec![]),
            Search::Graph(recognizer) => recognizer.decode(&LogProbs::new(utterance, rows, self.columns)?)?,
        })
    }

    /// An utterance before its first frame.
    pub(super) fn stream(&self, utterance: &str) -> Result<DecoderStream<'_>, Error> {
        Ok(match &self.search {
            Search::Ctc(decoder) => DecoderStream::Ctc(Box::new(decoder.stream(utterance))),
            Search::Graph(recognizer) => DecoderStream::Graph(recognizer, Box::new(recognizer.stream(utterance))),
            Search::Transducer(search) => DecoderStream::Transducer(Box::new(search.stream(utterance)?)),
        })
    }

    /// The search of a transducer, if it is one.
    pub(super) fn transducer(&self) -> Option<&TransducerSearch> {
        match &self.search {
            Search::Transducer(search) => Some(search),
            Search::Ctc(_) | Search::Graph(_) => None,
        }
    }

    /// A word with all spellings of the lexicon, or what the tokens spell.
    pub(super) fn spelled(&self, vocabulary: &Vocabulary, word: &str) -> Result<TranscriptWord, Error> {
        let spellings = match (self.spellings.get(word), vocabulary.words()) {
            (Some(spellings), _) => spellings.to_vec(),
            (None, WordUnits::None) => {
                let missing = || kaldera_decoder::Error::Untokenizable { phrase: word.into(), part: word.into() };
                let number = vocabulary.number(word).filter(|&number| number != vocabulary.blank());
                vec![vec![number.ok_or_else(missing)?]]
            }
            (None, _) => vec![vocabulary.tokenize(word)?],
        };
        Ok(TranscriptWord::new(word, spellings))
    }
}

/// The spellings of words in a lexicon of lines `WORD TOKEN...`.
fn spellings(lexicon: &str, vocabulary: &Vocabulary) -> Result<Spellings, kaldera_decoder::Error> {
    let mut by_word: HashMap<String, Vec<Vec<i32>>> = HashMap::new();
    for line in lexicon.lines() {
        let mut fields = line.split_whitespace();
        let Some(word) = fields.next() else { continue };
        let unknown = |part: &str| kaldera_decoder::Error::Untokenizable { phrase: word.into(), part: part.into() };
        let spelling = fields.map(|token| vocabulary.number(token).ok_or_else(|| unknown(token)));
        let (own, spelling) = (by_word.entry(word.to_owned()).or_default(), spelling.collect::<Result<_, _>>()?);
        if !own.contains(&spelling) {
            own.push(spelling);
        }
    }
    Ok(by_word.into_iter().map(|(word, spellings)| (word, spellings.into())).collect())
}

impl DecoderStream<'_> {
    /// Takes more rows of `columns` values of the network's output.
    pub(super) fn accept(&mut self, utterance: &str, rows: &[f32], columns: usize) -> Result<(), Error> {
        match self {
            Self::Ctc(stream) => stream.accept(&LogProbs::new(utterance, rows, columns)?)?,
            Self::Graph(recognizer, stream) => {
                recognizer.accept(stream, &LogProbs::new(utterance, rows, columns)?)?;
            }
            Self::Transducer(stream) => stream.accept(utterance, rows)?,
        }
        Ok(())
    }

    pub(super) fn partial(&mut self) -> Result<Recognition, Error> {
        Ok(match self {
            Self::Ctc(stream) => stream.partial(),
            Self::Graph(recognizer, stream) => recognizer.partial(stream)?,
            Self::Transducer(stream) => stream.partial(),
        })
    }

    /// How much worse the best path that can end here is than the best one. A transducer can end
    /// anywhere.
    pub(super) fn final_relative_cost(&mut self) -> Result<f64, Error> {
        Ok(match self {
            Self::Ctc(stream) => stream.final_relative_cost(),
            Self::Graph(recognizer, stream) => recognizer.final_relative_cost(stream)?,
            Self::Transducer(_) => 0.0,
        })
    }

    pub(super) fn finish(self) -> Result<Recognition, Error> {
        Ok(match self {
            Self::Ctc(stream) => stream.finish(),
            Self::Graph(recognizer, stream) => recognizer.finish(&stream)?,
            Self::Transducer(stream) => stream.finish(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_effect_are_named() {
        let idle = |keys: &str, decoding: &str| -> Vec<&str> {
            let text =
                format!("kind = 'ctc'\ntokens = 't'\n{keys}\nnetwork = {{ file = 'n.ark' }}\n[decoding]\n{decoding}");
            without_effect(&toml::from_str(&text).unwrap()).into_iter().map(|(name, _)| name).collect()
        };
        let nothing: [&str; 0] = [];
        assert_eq!(idle("", ""), nothing);
        assert_eq!(idle("", "beam = 5\nword-score = 0.5\nlm-weight = 3.5"), ["lm-weight", "word-score"]);
        assert_eq!(idle("language-model = 'lm'", "word-score = 0.5\nlm-weight = 3.5"), nothing);
        assert_eq!(idle("", "beam = 5\nn-best = 6"), ["n-best"]);
        assert_eq!(idle("", "n-best = 60"), nothing);
        assert_eq!(idle("graph = 'g'", "beam = 5\nmax-active = 7\nlm-weight = 3.5"), ["beam", "lm-weight"]);
        assert_eq!(idle("", "acoustic-scale = 0.1\nmax-active = 7"), ["acoustic-scale", "max-active"]);
        assert_eq!(idle("", "hotword-weight = 3.25"), ["hotword-weight"]);
        assert_eq!(idle("", "hotword-weight = 3.25\nhotwords = ['a']"), nothing);
    }
}
