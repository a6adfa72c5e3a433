//! Decoders, which make words of log-probabilities.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsa::dense::DenseOptions;
use fsa::graphs::{ArpaOptions, ContextGraph, NgramModel};
use fsa::io::{GraphFile, SymbolTable};
use fsa::{Fsa, Graph};
use kaldera_base::text::lines;
use kaldera_decoder::align::{AlignOptions, Topology, TranscriptWord, align_words};
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, CtcStream, SpellingTree, WordModel};
use kaldera_decoder::graph::{GraphOptions, GraphRecognizer, GraphStream, WordSpellings};
use kaldera_decoder::transducer::TransducerOptions;
use kaldera_decoder::{
    Error as DecoderError, FrameTimes, HotWord, LogProbs, Recognition, Segment, Vocabulary, WordUnits,
};
use kaldera_network::{Merge, Predictor};
use kaldi_feat::options::{OptionSet, Registry};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::recognizer::description::{Description, Model, ModelKind, Words};
use crate::recognizer::transducer::{SearchStream, TransducerSearch};

/// Default number of hypotheses in each frame of a search without a graph.
const BEAM: usize = 20;

/// Defines the options of decoding, each in one place: its field, its setter, and for an option of
/// the command its name and its help.
macro_rules! decoding_options {
    ($($(#[$attribute:meta])* $field:ident, $setter:ident: $type:ty $(, $name:literal, $help:literal)?;)*) => {
        /// Options of the search of a [`Recognizer`](super::Recognizer): the table `decoding` of a
        /// `model.toml`, with the changes of a program. `None` is the default. Paths are relative
        /// to the model's folder.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
        #[non_exhaustive]
        pub struct DecodingOptions {
            $($(#[$attribute])* pub $field: Option<$type>,)*
        }

        impl DecodingOptions {
            $(#[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
            #[must_use]
            pub fn $setter(mut self, $field: $type) -> Self {
                self.$field = Some($field);
                self
            })*

            /// Replaces the options that `changes` has.
            #[must_use]
            pub fn with_changes(self, changes: Self) -> Self {
                Self { $($field: changes.$field.or(self.$field),)* }
            }
        }

        /// The options of `kaldera transcribe`, except the hot words, which are in a file.
        impl OptionSet for DecodingOptions {
            fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
                $($(registry.add($name, &mut self.$field, $help);)?)*
            }
        }
    };
}

decoding_options! {
    /// Number of hypotheses that are kept in each frame. The default is 20, and 4 for a transducer,
    /// or [`n_best`](Self::n_best) if that is more. For one hypothesis without a language model,
    /// lexicon and hot words, the default takes the best token of each frame.
    beam, with_beam: usize, "beam", "Number of hypotheses kept in each frame";
    /// Number of hypotheses that are returned. The default is 1.
    n_best, with_n_best: usize, "nbest", "Number of hypotheses";
    /// Weight of the language model. The default is the weight of [`CtcDecoderOptions`].
    lm_weight, with_lm_weight: f64, "lm-weight", "Weight of the language model";
    /// Score of each word. The default is the score of [`CtcDecoderOptions`].
    word_score, with_word_score: f64, "word-score", "Score added for each word";
    /// Maximum number of tokens of a frame, for a transducer. The default is 1.
    #[doc(alias("max_sym_per_frame", "max_symbols"))]
    symbols_per_frame, with_symbols_per_frame: usize;
    /// Phrases that are more probable than the model assumes. Phrases that cannot be spelled are
    /// left out with a warning.
    #[serde(with = "hotword_lines")]
    hotwords, with_hotwords: Vec<HotWord>;
    /// Bonus of each token of a hot word that has none of its own. If words are spelled, or come
    /// from a lexicon, it is the bonus of each word. The default is 1.5, also for NaN.
    hotword_weight, with_hotword_weight: f64,
        "hotword-weight", "Bonus of each token of a hot word, or of each word if words are spelled";
    /// A language model in place of the description's.
    language_model, with_language_model: PathBuf,
        "lm", "Language model: ARPA, binary, or either compressed with gzip";
    /// A decoding graph in place of the description's.
    graph, with_graph: PathBuf,
        "graph", "Decoding graph (HLG): OpenFst's binary form or text, or k2's text";
    /// Factor of the network's scores before the scores of a graph are added. The default is 1.
    acoustic_scale, with_acoustic_scale: f32, "acoustic-scale", "Scale of the network's scores, with a graph";
    /// States of a graph that are worse than the best by more than this are dropped. The default
    /// is the beam of [`DenseOptions`].
    search_beam, with_search_beam: f32;
    /// Paths of a graph that are worse than the best by more than this are no hypotheses. The
    /// default is the beam of [`DenseOptions`].
    lattice_beam, with_lattice_beam: f32;
    /// Maximum number of states of a graph that are kept in a frame. The default is the number
    /// of [`DenseOptions`].
    max_active, with_max_active: usize, "max-active", "Number of states of a graph kept in each frame";
}

impl DecodingOptions {
    /// Returns the number of hypotheses that are returned.
    pub(super) fn num_hypotheses(&self) -> usize {
        self.n_best.unwrap_or(1)
    }

    /// Returns the hot words; none by default.
    pub(super) fn hot_words(&self) -> &[HotWord] {
        self.hotwords.as_deref().unwrap_or_default()
    }

    /// Returns the bonus of hot words that was given; scripts give NaN for the default.
    pub(super) fn weight_of_hot_words(&self) -> Option<f64> {
        self.hotword_weight.filter(|weight| !weight.is_nan())
    }
}

/// Hot words as the lines that [`HotWord`] reads.
mod hotword_lines {
    use kaldera_decoder::HotWord;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(words: &Option<Vec<HotWord>>, serializer: S) -> Result<S::Ok, S::Error> {
        let lines = words.as_ref().map(|words| words.iter().cloned().map(String::from).collect::<Vec<_>>());
        lines.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<HotWord>>, D::Error> {
        let lines = Option::<Vec<String>>::deserialize(deserializer)?;
        let words = lines.map(|lines| lines.iter().map(|line| line.parse().map_err(D::Error::custom)).collect());
        words.transpose()
    }
}

/// Returns the options that are set and have no effect, with the reasons.
fn without_effect(description: &Description) -> Vec<(&'static str, &'static str)> {
    const OF_GRAPH: &str = "the decoding graph decides that";
    const NO_GRAPH: &str = "there is no decoding graph";
    const NO_MODEL: &str = "there is no language model";
    let options = &description.decoding;
    let has_graph = description.graph.is_some() || options.graph.is_some();
    let has_model = description.language_model.is_some() || options.language_model.is_some();
    let all = [
        ("beam", has_graph && options.beam.is_some(), OF_GRAPH),
        ("lm-weight", has_graph && options.lm_weight.is_some(), OF_GRAPH),
        ("word-score", has_graph && options.word_score.is_some(), OF_GRAPH),
        (
            "n-best",
            !has_graph && options.beam.is_some_and(|beam| beam < options.num_hypotheses()),
            "there are as many hypotheses as beam, which is smaller",
        ),
        ("acoustic-scale", !has_graph && options.acoustic_scale.is_some(), NO_GRAPH),
        ("search-beam", !has_graph && options.search_beam.is_some(), NO_GRAPH),
        ("lattice-beam", !has_graph && options.lattice_beam.is_some(), NO_GRAPH),
        ("max-active", !has_graph && options.max_active.is_some(), NO_GRAPH),
        ("lm-weight", !has_graph && !has_model && options.lm_weight.is_some(), NO_MODEL),
        ("word-score", !has_graph && !has_model && options.word_score.is_some(), NO_MODEL),
        (
            "symbols-per-frame",
            description.kind != ModelKind::Transducer && options.symbols_per_frame.is_some(),
            "it is for transducers",
        ),
        (
            "hotword-weight",
            options.hot_words().is_empty() && options.hotword_weight.is_some(),
            "there are no hot words",
        ),
    ];
    all.into_iter().filter(|(_, idle, _)| *idle).map(|(name, _, why)| (name, why)).collect()
}

/// The spellings of the lexicon, by words.
type Spellings = HashMap<String, Arc<[Vec<i32>]>>;

/// The decoder of a [`Recognizer`](super::Recognizer), for its [`new`](super::Recognizer::new), or
/// by itself, for log-probabilities that another program computed.
///
/// ```
/// use kaldera::recognizer::AnyDecoder;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// std::fs::write(folder.join("tokens.txt"), "<blk> 0\nyes 1\nno 2\n")?;
/// let description = "kind = \"ctc\"\ntokens = \"tokens.txt\"\nframe-shift = 0.04";
/// std::fs::write(folder.join("model.toml"), description)?;
/// let decoder = AnyDecoder::open(folder, 3, |options| options)?;
/// let log_probs = [-0.1, -3.0, -3.0, -3.0, -3.0, -0.1_f32];
/// assert_eq!(decoder.decode("utt-1", &log_probs)?.text(), "no");
/// assert_eq!(decoder.align("utt-1", &log_probs, "no")?[0].start, 0.04);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// | decoder | conversion |
/// |---|---|
/// | of a model folder | [`open`](Self::open) |
/// | [`CtcDecoder`] | `into()` |
/// | [`GraphRecognizer`] | [`from_graph`](Self::from_graph) |
/// | a transducer's [`Predictor`] | [`from_predictor`](Self::from_predictor) |
#[derive(Debug)]
pub struct AnyDecoder {
    search: Search,
    vocabulary: Vocabulary,
    spellings: Arc<Spellings>,
    topology: Topology,
    /// The outputs that are one token, if the network has not merged them.
    merge: Option<Merge>,
    /// The files that it, and the rest of its recogniser, were read from.
    files: Vec<PathBuf>,
}

#[derive(Debug)]
enum Search {
    Ctc(Box<CtcDecoder<NgramModel>>),
    Graph(Box<GraphRecognizer>),
    Transducer(Box<TransducerSearch>),
}

/// An utterance whose frames come in chunks.
pub(super) enum DecoderStream<'d> {
    Ctc(Box<CtcStream<NgramModel>>),
    Graph(&'d GraphRecognizer, Box<GraphStream>),
    Transducer(Box<SearchStream<'d>>),
}

impl Model<'_> {
    /// Makes the decoder of rows of `columns` values for the description and the options; a
    /// transducer has a predictor.
    pub(super) fn decoder(
        &self,
        columns: usize,
        times: FrameTimes,
        predictor: Option<Box<dyn Predictor>>,
    ) -> Result<AnyDecoder, Error> {
        let description = &self.description;
        let durations = description.network.durations.len();
        let merge = self.merge(columns)?;
        let merged = merge.as_ref().map_or(columns, Merge::num_tokens);
        let scores = predictor.as_ref().map_or(merged, |predictor| predictor.num_scores() - durations);
        let vocabulary = self.vocabulary(scores)?;
        let lexicon = description.lexicon.as_deref().map(|file| self.read_text("lexicon", file)).transpose()?;
        let graph = description.decoding.graph.as_ref().map(|file| ("decoding.graph", file));
        let idle = without_effect(description);
        if !idle.is_empty() {
            let idle: Vec<String> = idle.into_iter().map(|(name, why)| format!("{name} ({why})")).collect();
            tracing::warn!("options that do nothing here: {}", idle.join(", "));
        }
        // A transducer refuses a lexicon.
        let lexicon = lexicon.filter(|_| predictor.is_none());
        let spellings = match (&description.lexicon, lexicon.as_deref()) {
            (Some(file), Some(text)) => {
                spellings(text, &vocabulary).map_err(|reason| self.in_file("lexicon", file, &reason))?
            }
            _ => Spellings::new(),
        };
        let search = match (predictor, graph.or(description.graph.as_ref().map(|file| ("graph", file)))) {
            (Some(predictor), _) => Search::Transducer(Box::new(self.transducer(predictor, &vocabulary)?)),
            (None, Some((key, file))) => self.graph_search(key, file, &vocabulary, &spellings)?,
            (None, None) => self.ctc_search(lexicon.as_deref(), &vocabulary)?,
        };
        let topology = self.topology();
        let spellings = Arc::new(spellings);
        let decoder = AnyDecoder { spellings, topology, merge, ..AnyDecoder::from_search(search, vocabulary) };
        decoder.check_columns(columns).map_err(|error| self.refuse("network", error.to_string()))?;
        decoder.with_times(times).map_err(|error| self.refuse("frame-shift", error.to_string()))
    }

    fn graph_search(
        &self,
        key: &str,
        file: &Path,
        vocabulary: &Vocabulary,
        spellings: &Spellings,
    ) -> Result<Search, Error> {
        let options = &self.description.decoding;
        if !options.hot_words().is_empty() {
            return Err(self.refuse("decoding.hotwords", "a graph has no hot words: decode without it"));
        }
        if options.language_model.is_some() {
            return Err(self.refuse("decoding.language-model", "a graph has its own: decode without it"));
        }
        let mut bytes = vec![];
        let mut reader = self.reader(key, file)?;
        std::io::Read::read_to_end(&mut reader, &mut bytes).map_err(|error| self.in_file(key, file, &error))?;
        let failed = |error: &dyn std::fmt::Display| self.in_file(key, file, error);
        let read = GraphFile::read(&bytes).map_err(|error| failed(&error))?;
        let described = self.description.graph_words.as_ref().map(|words| self.table("graph-words", words));
        // The description's table belongs to the description's own graph.
        let (own, other) = match key {
            "graph" => (described.transpose()?, read.output_symbols),
            _ => (read.output_symbols, described.transpose()?),
        };
        let words = match own {
            Some(words) => Some(words),
            None => self.table_beside(key, file, "words")?.or(other),
        };
        let Some(words) = words else {
            let reason = format!(
                "it is missing, and the graph has no symbols: a table WORD NUMBER, here or in {}",
                beside(&self.path(file), "words").display()
            );
            return Err(self.refuse("graph-words", reason));
        };
        let tokens = match read.input_symbols {
            Some(tokens) => Some(tokens),
            None => self.table_beside(key, file, "tokens")?,
        };
        if tokens.is_none() {
            tracing::warn!(
                "{}: it has no table of tokens, and none is in {}: its labels are taken for the numbers of the model's tokens",
                self.path(file).display(),
                beside(file, "tokens").display()
            );
        }
        let graph = of_model(read.graph, tokens.as_ref(), vocabulary).map_err(|reason| failed(&reason))?;
        let graph = graph.into_class_plus_one().map_err(|error| failed(&error))?;
        check_words(&graph, &words).map_err(|reason| failed(&reason))?;
        let mut search = DenseOptions::default();
        search.search_beam = options.search_beam.unwrap_or(search.search_beam);
        search.output_beam = options.lattice_beam.unwrap_or(search.output_beam);
        search.max_active_states = options.max_active.unwrap_or(search.max_active_states);
        let graph_options = GraphOptions::default()
            .with_search(search)
            .with_acoustic_scale(options.acoustic_scale.unwrap_or(1.0))
            .with_silence(vec![vocabulary.blank()])
            .with_n_best(options.num_hypotheses());
        let numbers = spellings.iter().filter_map(|(word, spelled)| Some((words.find(word)?, Arc::clone(spelled))));
        let numbers: Vec<_> = numbers.collect();
        if numbers.is_empty() && !spellings.is_empty() {
            return Err(self.refuse("lexicon", "it has no word of the graph"));
        }
        let spellings = WordSpellings::new(numbers, vocabulary.separator());
        let recognizer = GraphRecognizer::new(graph, Some(words), graph_options).map_err(|error| failed(&error))?;
        Ok(Search::Graph(Box::new(recognizer.with_spellings(spellings))))
    }

    fn ctc_search(&self, lexicon: Option<&str>, vocabulary: &Vocabulary) -> Result<Search, Error> {
        let description = &self.description;
        let options = &description.decoding;
        let model = options.language_model.as_ref().map(|file| ("decoding.language-model", file));
        let model = model.or(description.language_model.as_ref().map(|file| ("language-model", file)));
        let of_model = |error: &dyn std::fmt::Display| match model {
            Some((key, file)) => self.in_file(key, file, error),
            None => self.refuse("decoding", error.to_string()),
        };
        let model = model.map(|(key, file)| {
            let reader = self.reader(key, file)?;
            let model = NgramModel::from_reader(reader, &ArpaOptions::default(), &mut |_| {});
            model.map_err(|error| of_model(&error))
        });
        let model = model.transpose()?;
        let plain = options.beam.is_none()
            && options.num_hypotheses() == 1
            && options.hot_words().is_empty()
            && model.is_none()
            && lexicon.is_none();
        let mut ctc = CtcDecoderOptions::default().with_n_best(options.num_hypotheses());
        ctc.lm_weight = options.lm_weight.unwrap_or(ctc.lm_weight);
        ctc.hotword_weight = options.weight_of_hot_words().unwrap_or(ctc.hotword_weight);
        ctc = if plain {
            // The best token of each frame.
            ctc.with_beam_size(1).with_beam_size_token(Some(1)).with_log_add(false).with_word_score(0.0)
        } else {
            let word_score = if model.is_some() { options.word_score.unwrap_or(ctc.word_score) } else { 0.0 };
            ctc.with_beam_size(options.beam.unwrap_or(BEAM.max(options.num_hypotheses()))).with_word_score(word_score)
        };
        let mut symbols = match &model {
            Some(model) => model.symbols().map_err(|error| of_model(&error))?,
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
        if let Some(model) = &model {
            match &tree {
                Some(tree) => check_known(model, tree),
                None => check_spelled(model, vocabulary),
            }
            .map_err(|reason| of_model(&reason))?;
        }
        let decoder = match (tree, model) {
            (Some(tree), Some(model)) => {
                let tree = tree.smeared(&model);
                CtcDecoder::with_lexicon(vocabulary.clone(), ctc, tree, Some(model))
            }
            (Some(tree), None) => CtcDecoder::with_lexicon(vocabulary.clone(), ctc, tree, None),
            (None, model) => {
                let model = model.map(|model| {
                    let order = model.order();
                    WordModel::new(model, symbols, order)
                });
                CtcDecoder::with_words(vocabulary.clone(), ctc, model)
            }
        };
        let failed = |error: DecoderError| self.refuse("decoding", error.to_string());
        let mut decoder = decoder.map_err(failed)?;
        if !options.hot_words().is_empty() {
            let hotwords = self.spelled_hotwords(|phrase| decoder.spell(phrase))?;
            decoder = decoder.with_hot_texts(hotwords).map_err(failed)?;
        }
        Ok(Search::Ctc(Box::new(decoder)))
    }

    /// Returns the hot words that can be spelled. A warning counts and names the others.
    pub(super) fn spelled_hotwords(
        &self,
        spell: impl Fn(&str) -> Result<Vec<i32>, DecoderError>,
    ) -> Result<Vec<HotWord>, Error> {
        let all = self.description.decoding.hot_words();
        let (mut spelled, mut refused) = (vec![], vec![]);
        for hot in all {
            match spell(&hot.phrase) {
                Ok(_) => spelled.push(hot.clone()),
                Err(error) => refused.push(match &hot.place {
                    Some(place) => format!("{place}: {error}"),
                    None => error.to_string(),
                }),
            }
        }
        let more = if refused.len() > SHOWN { format!("; and {} more", refused.len() - SHOWN) } else { String::new() };
        let named = refused.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
        if spelled.is_empty() {
            return Err(self.refuse("decoding.hotwords", format!("none can be used: {named}{more}")));
        }
        if !refused.is_empty() {
            tracing::warn!("{} of {} hot words are left out: {named}{more}", refused.len(), all.len());
        }
        Ok(spelled)
    }

    fn table(&self, key: &str, file: &Path) -> Result<SymbolTable, Error> {
        self.read_text(key, file)?.parse().map_err(|error| self.in_file(key, file, &error))
    }

    /// Returns the table that `kaldera fst make-hlg` writes next to a graph, if it exists.
    fn table_beside(&self, key: &str, graph: &Path, kind: &str) -> Result<Option<SymbolTable>, Error> {
        let file = beside(graph, kind);
        if self.has(&file) { self.table(key, &file).map(Some) } else { Ok(None) }
    }
}

/// Number of items that a message names.
const SHOWN: usize = 5;

/// The problem of a transducer where log-probabilities are needed.
pub(super) const NO_LOG_PROBS: &str =
    "the scores of a transducer depend on the tokens before: it has no log-probabilities of frames";

/// Names that exporters give to the blank.
const BLANKS: [&str; 5] = ["<blk>", "<blank>", "<eps>", "[blank]", "<pad>"];

/// Tables that `kaldera fst make-hlg` writes next to a graph.
pub(super) const TABLES: [&str; 2] = ["tokens", "words"];

/// Returns the file of a table next to a graph.
pub(super) fn beside(graph: &Path, kind: &str) -> PathBuf {
    let mut name = graph.as_os_str().to_owned();
    name.push(format!(".{kind}.txt"));
    name.into()
}

/// Returns a graph with the model's tokens as its labels: the tokens that its table names, or,
/// without a table, the tokens of the same numbers.
fn of_model(graph: Graph<Fsa>, table: Option<&SymbolTable>, vocabulary: &Vocabulary) -> Result<Graph<Fsa>, String> {
    let labels = graph.graph_labels();
    let token = |label: i32, class: usize| {
        let Some(table) = table else {
            let number = i32::try_from(class).ok().filter(|_| class < vocabulary.len());
            return number.ok_or_else(|| {
                format!(
                    "it has the label {label}, which is token {class}, and the model has {} tokens",
                    vocabulary.len()
                )
            });
        };
        let name =
            table.get(label).ok_or_else(|| format!("its table of tokens has no label {label}, which it uses"))?;
        // The topology of CTC calls its class 0 blank, even if the model's blank has another name.
        let blank = (class == 0 && BLANKS.contains(&name)).then_some(vocabulary.blank());
        vocabulary.number(name).or(blank).ok_or_else(|| format!("it has the token '{name}', which the model lacks"))
    };
    let (mut known, mut arcs) = (HashMap::new(), graph.fsas().arcs().to_vec());
    for arc in &mut arcs {
        let Some(class) = labels.class(arc.label) else { continue };
        let found = match known.get(&arc.label) {
            Some(&found) => found,
            None => {
                let found = labels.label_of(token(arc.label, class)?);
                known.insert(arc.label, found);
                found
            }
        };
        arc.label = found;
    }
    if known.iter().all(|(label, found)| label == found) {
        return Ok(graph);
    }
    let (fsa, attributes) = graph.into_parts();
    let made = Fsa::from_arcs(fsa.num_states(), arcs).and_then(|fsa| Graph::from_parts(fsa, attributes));
    made.map_err(|error| error.to_string())
}

/// Checks that a graph has words, and that the table has all of them.
fn check_words(graph: &Graph<Fsa>, words: &SymbolTable) -> Result<(), String> {
    let mut used: Vec<i32> = graph.aux_labels().unwrap_or_default().iter().copied().filter(|&word| word > 0).collect();
    used.sort_unstable();
    used.dedup();
    if used.is_empty() {
        return Err(fsa::Error::NoWords.to_string());
    }
    match used.iter().find(|&&word| words.get(word).is_none()) {
        Some(word) => Err(format!("its table of words has no label {word}, which it puts out")),
        None => Ok(()),
    }
}

/// Checks that a language model has words of a lexicon; if these are few, a warning counts them.
fn check_known(model: &NgramModel, tree: &SpellingTree) -> Result<(), String> {
    let known = model.count_words(tree.spelled_words()).map_err(|error| error.to_string())?;
    let all = tree.spelled_words().len();
    if known < all.div_ceil(2) {
        tracing::warn!(
            "the language model has {known} of the {all} words that tokens or the lexicon spell: no other is found"
        );
    }
    Ok(())
}

/// Checks that the words of a language model can be spelled with the tokens; if few can, a warning
/// counts them.
fn check_spelled(model: &NgramModel, vocabulary: &Vocabulary) -> Result<(), String> {
    /// Number of words that are enough to judge a model.
    const LOOKED_AT: usize = 10_000;
    let symbols = model.symbols().map_err(|error| error.to_string())?;
    let is_word = |word: &str| model.find(word).is_some_and(|label| Some(label) != model.unknown());
    let words: Vec<&str> = symbols.iter().map(|(word, _)| word).filter(|word| is_word(word)).collect();
    let looked_at = words.iter().step_by(words.len() / LOOKED_AT + 1);
    let all = looked_at.len();
    let is_spelled = |word: &str| vocabulary.tokenize(word).is_ok();
    let missing: Vec<&str> = looked_at.copied().filter(|word| !is_spelled(word)).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let in_case = |word: &&&str| is_spelled(&word.to_lowercase()) || is_spelled(&word.to_uppercase());
    let (example, case) = match missing.iter().find(in_case) {
        Some(word) => (word, ", as they differ from the tokens in case: write the model in their case"),
        None => (first, ""),
    };
    if missing.len() == all {
        return Err(format!(
            "no word of the language model, such as '{example}', can be spelled with the tokens{case}"
        ));
    }
    let spelled = all - missing.len();
    if spelled < all.div_ceil(2) {
        tracing::warn!(
            "{spelled} of {all} words of the language model can be spelled with the tokens, and others, such as '{example}', cannot{case}"
        );
    }
    Ok(())
}

impl From<CtcDecoder<NgramModel>> for AnyDecoder {
    fn from(decoder: CtcDecoder<NgramModel>) -> Self {
        let vocabulary = decoder.vocabulary().clone();
        Self::from_search(Search::Ctc(Box::new(decoder)), vocabulary)
    }
}

impl From<CtcDecoder> for AnyDecoder {
    fn from(decoder: CtcDecoder) -> Self {
        decoder.into_model_type::<NgramModel>().into()
    }
}

impl AnyDecoder {
    /// Opens the decoder of a model's folder without its network, for log-probabilities of
    /// `num_outputs` outputs; with `None`, of one output for each token, or for each line of
    /// `network.outputs`. Outputs that the description merges are merged. `change` gets the options
    /// of decoding of the description.
    ///
    /// # Errors
    /// [`Error::ModelFile`] and [`Error::ModelKey`] with the wrong file and key, also for a
    /// transducer, which has no log-probabilities of frames.
    pub fn open(
        folder: impl AsRef<Path>,
        num_outputs: impl Into<Option<usize>>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        Self::read(Model::open(folder.as_ref(), false)?, num_outputs, change)
    }

    /// As [`open`](Self::open), for a folder whose description names files outside it. Use it only
    /// for descriptions of your own: such a file may be any that you can read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_outside(
        folder: impl AsRef<Path>,
        num_outputs: impl Into<Option<usize>>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        Self::read(Model::open(folder.as_ref(), true)?, num_outputs, change)
    }

    /// As [`open`](Self::open), for files that `read` returns by name, such as in a browser. See
    /// [`Recognizer::from_files`](super::Recognizer::from_files).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_files(
        read: impl Fn(&str) -> io::Result<Vec<u8>>,
        num_outputs: impl Into<Option<usize>>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        Self::read(Model::from_files(&read)?, num_outputs, change)
    }

    fn read(
        mut model: Model<'_>,
        num_outputs: impl Into<Option<usize>>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        model.description.decoding = change(std::mem::take(&mut model.description.decoding));
        if model.description.kind == ModelKind::Transducer {
            return Err(model.refuse("kind", NO_LOG_PROBS));
        }
        let num_outputs = num_outputs.into().map_or_else(|| model.num_outputs(), Ok)?;
        let decoder = model.decoder(num_outputs, model.times_of_archive()?, model.predictor()?)?;
        Ok(decoder.with_files(model.files_of_decoder()))
    }

    fn from_search(search: Search, vocabulary: Vocabulary) -> Self {
        Self { search, vocabulary, spellings: Arc::default(), topology: Topology::Ctc, merge: None, files: vec![] }
    }

    /// Makes a search in a decoding graph, whose input labels are the tokens of this vocabulary.
    pub fn from_graph(recognizer: GraphRecognizer, vocabulary: Vocabulary) -> Self {
        Self::from_search(Search::Graph(Box::new(recognizer)), vocabulary)
    }

    /// Makes a search over the rows of a transducer's encoder, which is the
    /// [`Network`](kaldera_network::Network) of the recogniser. `durations` are the numbers of
    /// frames that a token of a TDT transducer may take; empty for others. A beam of 1 without hot
    /// words is the greedy search.
    ///
    /// # Errors
    /// [`Error::Recognition`] if the joiner's number of scores is not the number of tokens and
    /// durations, and for options that the search refuses.
    pub fn from_predictor(
        vocabulary: Vocabulary,
        predictor: impl Predictor + 'static,
        durations: Vec<usize>,
        hot_words: Option<ContextGraph>,
        options: TransducerOptions,
    ) -> Result<Self, Error> {
        let is_greedy = options.beam == 1 && hot_words.is_none();
        let predictor = Box::new(predictor);
        let search = TransducerSearch::new(predictor, durations, &vocabulary, hot_words, options, is_greedy)?;
        Ok(Self::from_search(Search::Transducer(Box::new(search)), vocabulary))
    }

    /// Returns an error for a hot word that cannot be spelled.
    pub(super) fn check_hot_word(&self, phrase: &str) -> Result<(), Error> {
        match &self.search {
            Search::Ctc(decoder) => decoder.spell(phrase)?,
            Search::Graph(_) => return Err(Error::GraphHotWords),
            Search::Transducer(_) => self.vocabulary.tokenize(phrase)?,
        };
        Ok(())
    }

    /// Returns a decoder with these hot words in place of its own, which shares everything else.
    pub(super) fn with_hot_words(&self, phrases: Vec<HotWord>) -> Result<Self, Error> {
        let search = match &self.search {
            Search::Ctc(decoder) => {
                let (mut decoder, options) = (CtcDecoder::clone(decoder), decoder.options());
                if options.beam_size_token == Some(1) {
                    // The best token of each frame has no rival that a bonus could lift.
                    let weight = options.hotword_weight;
                    let options = CtcDecoderOptions::default().with_beam_size(BEAM).with_word_score(0.0);
                    decoder = decoder.with_options(options.with_hotword_weight(weight))?;
                }
                Search::Ctc(Box::new(decoder.with_hot_texts(phrases)?))
            }
            Search::Graph(_) => return Err(Error::GraphHotWords),
            Search::Transducer(search) => Search::Transducer(Box::new(search.with_hot_words(phrases)?)),
        };
        Ok(Self {
            search,
            vocabulary: self.vocabulary.clone(),
            spellings: Arc::clone(&self.spellings),
            topology: self.topology,
            // The network of a recogniser has merged its outputs.
            merge: None,
            files: self.files.clone(),
        })
    }

    /// Sets the length of frames.
    pub(super) fn with_times(mut self, times: FrameTimes) -> Result<Self, DecoderError> {
        self.search = match self.search {
            Search::Ctc(decoder) => Search::Ctc(Box::new(decoder.with_times(times)?)),
            Search::Graph(recognizer) => Search::Graph(Box::new(recognizer.with_times(times)?)),
            Search::Transducer(search) => Search::Transducer(Box::new(search.with_times(times))),
        };
        Ok(self)
    }

    /// Sets the files that the recogniser was read from.
    pub(super) fn with_files(self, files: Vec<PathBuf>) -> Self {
        Self { files, ..self }
    }

    /// Returns the files that it was read from. They determine the words, and no output may replace
    /// them.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the network's tokens.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Returns the length of frames of the network's output.
    pub fn times(&self) -> &FrameTimes {
        match &self.search {
            Search::Ctc(decoder) => decoder.times(),
            Search::Graph(recognizer) => &recognizer.options().times,
            Search::Transducer(search) => search.times(),
        }
    }

    /// Returns the number of values in a row of log-probabilities, or of a transducer's encoder.
    pub fn num_outputs(&self) -> usize {
        match (&self.merge, self.transducer()) {
            (Some(merge), _) => merge.num_outputs(),
            (None, Some(transducer)) => transducer.encoder_dim(),
            (None, None) => self.vocabulary.len(),
        }
    }

    pub(super) fn topology(&self) -> Topology {
        self.topology
    }

    /// Returns the maximum number of hypotheses of an utterance.
    pub fn n_best(&self) -> usize {
        match &self.search {
            Search::Ctc(decoder) => decoder.options().n_best,
            Search::Graph(recognizer) => recognizer.options().n_best,
            Search::Transducer(search) => search.n_best(),
        }
    }

    /// Takes the merge of outputs, for a network that does it.
    pub(super) fn take_merge(&mut self) -> Option<Merge> {
        self.merge.take()
    }

    /// Refuses a network whose rows are not the decoder's.
    pub(super) fn check_columns(&self, found: usize) -> Result<(), Error> {
        if let Some(merge) = &self.merge {
            return Ok(merge.check_outputs(found)?);
        }
        let utterance = "the network".to_owned();
        match (self.transducer().map(TransducerSearch::encoder_dim), self.vocabulary.len()) {
            (Some(expected), _) if expected != found => {
                Err(DecoderError::EncoderDim { utterance, expected, found }.into())
            }
            (None, expected) if expected != found => Err(DecoderError::Columns { utterance, expected, found }.into()),
            _ => Ok(()),
        }
    }

    /// Returns the words for log-probabilities, row by row, or for rows of a transducer's encoder.
    /// Words have the times of their frames.
    ///
    /// # Errors
    /// [`Error::Recognition`] for values that are no rows; errors of the search.
    pub fn decode(&self, utterance: &str, log_probs: &[f32]) -> Result<Recognition, Error> {
        let (rows, columns) = (self.of_tokens(utterance, log_probs)?, self.vocabulary.len());
        let rows = &*rows;
        Ok(match &self.search {
            Search::Transducer(search) => search.decode(utterance, rows)?,
            Search::Ctc(decoder) => decoder.decode(&LogProbs::new(utterance, rows, columns)?)?,
            Search::Graph(_) if rows.is_empty() => Recognition::new(utterance, 0, vec![]),
            Search::Graph(recognizer) => recognizer.decode(&LogProbs::new(utterance, rows, columns)?)?,
        })
    }

    /// Aligns the words of a transcript, as [`Recognizer::align`](super::Recognizer::align), with
    /// log-probabilities, row by row, or with rows of a transducer's encoder. Words have the times
    /// of their frames.
    ///
    /// # Errors
    /// [`Error::Recognition`] for a word that the tokens cannot spell, and for an utterance that is
    /// too short for its transcript.
    pub fn align(&self, utterance: &str, log_probs: &[f32], transcript: &str) -> Result<Vec<Segment>, Error> {
        Ok(self.align_frames(utterance, log_probs, transcript)?.0)
    }

    /// Returns the words of [`align`](Self::align), and the number of frames.
    pub(super) fn align_frames(
        &self,
        utterance: &str,
        log_probs: &[f32],
        transcript: &str,
    ) -> Result<(Vec<Segment>, usize), Error> {
        let rows = self.of_tokens(utterance, log_probs)?;
        let words = transcript.split_whitespace().map(|word| self.spelled(word));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        if let Some(transducer) = self.transducer() {
            return Ok((transducer.align(utterance, &rows, &words)?, rows.len() / transducer.encoder_dim()));
        }
        let log_probs = LogProbs::new(utterance, &rows, self.vocabulary.len())?;
        let options = AlignOptions::default()
            .with_topology(self.topology)
            .with_blank(self.vocabulary.blank())
            .with_silence(self.vocabulary.separator());
        Ok((align_words(&log_probs, &words, &options, self.times())?.words, log_probs.num_frames()))
    }

    /// Returns the log-probabilities of tokens, as the outputs of some networks are merged.
    ///
    /// # Errors
    /// [`Error::Network`] for values that cannot be merged.
    pub fn of_tokens<'r>(&self, utterance: &str, log_probs: &'r [f32]) -> Result<Cow<'r, [f32]>, Error> {
        Ok(match &self.merge {
            Some(merge) => merge.rows(utterance, log_probs)?.into(),
            None => log_probs.into(),
        })
    }

    /// Creates the stream of an utterance before its first frame.
    pub(super) fn stream(&self, utterance: &str) -> Result<DecoderStream<'_>, Error> {
        Ok(match &self.search {
            Search::Ctc(decoder) => DecoderStream::Ctc(Box::new(decoder.stream(utterance))),
            Search::Graph(recognizer) => DecoderStream::Graph(recognizer, Box::new(recognizer.stream(utterance))),
            Search::Transducer(search) => DecoderStream::Transducer(Box::new(search.stream(utterance)?)),
        })
    }

    /// Returns the search of a transducer, if it is one.
    pub(super) fn transducer(&self) -> Option<&TransducerSearch> {
        match &self.search {
            Search::Transducer(search) => Some(search),
            Search::Ctc(_) | Search::Graph(_) => None,
        }
    }

    /// Returns a word with all spellings of the lexicon, or with the spelling in tokens.
    fn spelled(&self, word: &str) -> Result<TranscriptWord, Error> {
        let vocabulary = &self.vocabulary;
        let spellings = match (self.spellings.get(word), vocabulary.words()) {
            (Some(spellings), _) => spellings.to_vec(),
            (None, WordUnits::None) => {
                let missing = || DecoderError::Untokenizable { phrase: word.into(), part: word.into() };
                let number = vocabulary.number(word).filter(|&number| number != vocabulary.blank());
                vec![vec![number.ok_or_else(missing)?]]
            }
            (None, _) => vec![vocabulary.tokenize(word)?],
        };
        Ok(TranscriptWord::new(word, spellings))
    }
}

/// Reads the spellings of words in a lexicon of lines `WORD TOKEN...`.
fn spellings(lexicon: &str, vocabulary: &Vocabulary) -> Result<Spellings, String> {
    let mut by_word: HashMap<String, Vec<Vec<i32>>> = HashMap::new();
    for (number, line) in lines(lexicon) {
        let mut fields = line.split_ascii_whitespace();
        let Some(word) = fields.next() else { continue };
        let unknown = |part: &str| format!("line {number}, '{word}': there is no token '{part}'");
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

    /// Returns the score of the best path minus the score of the best path that can end here. A
    /// transducer can end anywhere.
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
    fn changes_replace_options_and_leave_others() {
        let described: DecodingOptions = toml::from_str("beam = 5\nhotwords = ['a :2.5']\ngraph = 'g'").unwrap();
        let (hotwords, mut changes) = (described.hotwords.clone(), DecodingOptions::default().with_hotwords(vec![]));
        assert_eq!(hotwords.as_ref().map(|words| words[0].bonus), Some(Some(2.5)));
        struct Given<'g>(&'g [(&'g str, &'g str)]);
        impl<'a> Registry<'a> for Given<'_> {
            fn add(
                &mut self,
                name: &'static str,
                value: &'a mut dyn kaldi_feat::options::OptionValue,
                _doc: &'static str,
            ) {
                self.0.iter().filter(|given| given.0 == name).for_each(|given| value.set(given.1).unwrap());
            }
        }
        changes.register(&mut Given(&[("beam", "7"), ("lm", "x.arpa"), ("lm-weight", "0.5")]));
        let expected = described.clone().with_beam(7).with_language_model("x.arpa".into()).with_lm_weight(0.5);
        assert_eq!(described.clone().with_changes(changes), expected.with_hotwords(vec![]));
        assert_eq!(described.clone().with_changes(DecodingOptions::default()), described);
    }

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
