//! All of an online model behind its network: graph, words, phones, options.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use fsa::incremental::{IncrementalDecoder, TransitionLabels};
use fsa::io::{SymbolTable, TransducerFile};
use fsa::lattice::Lattice;
use fsa::on_demand::{
    ComposedView, Composition, CompositionOptions, LookAheadGrammar, LookAheadLexicon, PhraseGrammar, SearchGraph,
    StaticGraph,
};
use fsa::{EPSILON, Limits, StateArcs};
use kaldera_decoder::graph::{EndpointRules, EndpointState};
use kaldi_io::lattice::{PhoneBoundaries, PhoneType};
use kaldi_io::transition_model::{Transition, TransitionModel};

use crate::error::Error;
use crate::kaldi_online::decoding_config::DecodingConfig;
use crate::kaldi_online::folder::{Layout, OnlineFolder, Part};
use crate::kaldi_online::rescoring::Rescoring;
use crate::kaldi_online::results::{self, Alternative, TimedWord};

/// Factor of the graph's costs in the lattice of a result, as Vosk has it.
const GRAPH_SCALE: f32 = 0.9;
/// Seconds of a frame of features.
const FRAME_SHIFT: f32 = 0.01;

/// The graph of a model.
#[derive(Debug)]
enum Graph {
    Static(StaticGraph),
    Composed(Composition),
}

/// A decoder's view of a graph.
#[derive(Debug)]
enum View {
    Static(StaticGraph),
    Composed(ComposedView),
}

impl SearchGraph for View {
    fn start(&mut self) -> Result<Option<u32>, fsa::Error> {
        match self {
            Self::Static(graph) => graph.start(),
            Self::Composed(graph) => graph.start(),
        }
    }

    fn arcs(&mut self, state: u32) -> StateArcs<'_> {
        match self {
            Self::Static(graph) => graph.arcs(state),
            Self::Composed(graph) => graph.arcs(state),
        }
    }

    fn renew(&mut self, states: &mut [u32]) -> Result<(), fsa::Error> {
        match self {
            Self::Static(graph) => graph.renew(states),
            Self::Composed(graph) => graph.renew(states),
        }
    }
}

/// An online model without features and network: it decodes the network's output, and rescores
/// lattices. All streams share it.
#[derive(Debug)]
pub struct DecoderModel {
    config: DecodingConfig,
    transitions: TransitionModel,
    labels: TransitionLabels,
    /// For each transition identifier, 0 included.
    is_silence: Arc<[bool]>,
    graph: Graph,
    words: SymbolTable,
    boundaries: Option<PhoneBoundaries>,
    rescoring: Option<Rescoring>,
}

impl DecoderModel {
    /// Reads the files of a folder.
    ///
    /// # Errors
    /// [`Error::ModelFile`] for a missing file, with its use; errors of reading the files.
    pub fn open(folder: &OnlineFolder) -> Result<Self, Error> {
        Self::open_with(folder, |config| config)
    }

    /// As [`open`](Self::open), with other options: `change` gets the options of the folder.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        folder: &OnlineFolder,
        change: impl FnOnce(DecodingConfig) -> DecodingConfig,
    ) -> Result<Self, Error> {
        let config = change(match folder.layout() {
            Layout::VoskV1 => DecodingConfig::vosk_v1(),
            _ => DecodingConfig::read(&folder.require(Part::DecodingConfig)?)?,
        });
        let transitions = TransitionModel::open(&folder.require(Part::AcousticModel)?)?;
        let (graph, words) = open_graph(folder, &transitions)?;
        let boundaries = match folder.find_part(Part::WordBoundary) {
            Some(_) => {
                let types = phone_types(folder)?;
                Some(PhoneBoundaries::new(transitions.clone(), types, true))
            }
            None => None,
        };
        let labels = transition_labels(&transitions);
        let is_silence = ids_of_phones(&transitions, &config.silence_phones);
        let rescoring = Rescoring::open(folder)?;
        Ok(Self { config, transitions, labels, is_silence, graph, words, boundaries, rescoring })
    }

    /// Returns the options.
    pub fn config(&self) -> &DecodingConfig {
        &self.config
    }

    /// Returns the transition model.
    pub fn transitions(&self) -> &TransitionModel {
        &self.transitions
    }

    /// Returns for each transition identifier, 0 included, `true` if its phone is silence.
    pub fn is_silence(&self) -> &Arc<[bool]> {
        &self.is_silence
    }

    /// Returns the words.
    pub fn words(&self) -> &SymbolTable {
        &self.words
    }

    /// Returns the text of a word; an unknown word has none.
    pub fn word(&self, word: i32) -> &str {
        self.words.get(word).unwrap_or_default()
    }

    /// Returns the seconds of a row of the network's output.
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    pub fn frame_shift(&self) -> f32 {
        FRAME_SHIFT * self.config.frame_subsampling_factor as f32
    }

    /// Returns a decoder before the first frame of an utterance.
    ///
    /// # Errors
    /// [`Error::Fsa`] for options without sense, or a graph that cannot be searched.
    pub fn decoder(self: &Arc<Self>) -> Result<UtteranceDecoder, Error> {
        let view = match &self.graph {
            Graph::Static(graph) => View::Static(graph.clone()),
            Graph::Composed(graph) => View::Composed(graph.view()),
        };
        self.decoder_of(view)
    }

    fn decoder_of(self: &Arc<Self>, view: View) -> Result<UtteranceDecoder, Error> {
        let decoder = IncrementalDecoder::new(self.config.search)?;
        let mut made = UtteranceDecoder { model: Arc::clone(self), view, decoder, scaled: Vec::new() };
        made.begin()?;
        Ok(made)
    }

    /// Returns a decoder with a grammar of phrases in place of the model's, and the words of the
    /// phrases that the model lacks; `None` if the graph is whole and its grammar is fixed.
    ///
    /// # Errors
    /// [`Error::Fsa`] for options without sense. Phrases without any known word are no error: no
    /// word is found then.
    pub fn phrase_decoder<'a>(
        self: &Arc<Self>,
        phrases: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<(UtteranceDecoder, Vec<String>)>, Error> {
        let Graph::Composed(graph) = &self.graph else { return Ok(None) };
        let PhraseGrammar { transducer, unknown_words, .. } = PhraseGrammar::new(phrases, &self.words)?;
        let grammar = LookAheadGrammar::new(transducer)?;
        let graph = Composition::new(Arc::clone(graph.left()), grammar.into(), CompositionOptions::default());
        Ok(Some((self.decoder_of(View::Composed(graph.view()))?, unknown_words)))
    }
}

/// Returns all transitions in order.
fn known(model: &TransitionModel) -> impl Iterator<Item = Transition> {
    (1..).map_while(|label| model.get(label))
}

/// Returns the columns and phones of transition identifiers, for an incremental decoder.
pub fn transition_labels(model: &TransitionModel) -> TransitionLabels {
    TransitionLabels::new(known(model).map(|transition| {
        let begins = transition.state == 0 && !transition.is_self_loop;
        (transition.pdf.cast_unsigned(), if begins { transition.phone } else { 0 })
    }))
}

/// Returns for each transition identifier, 0 included, `true` if its phone is one of these.
pub fn ids_of_phones(model: &TransitionModel, phones: &[i32]) -> Arc<[bool]> {
    let phones: HashSet<i32> = phones.iter().copied().collect();
    std::iter::once(false).chain(known(model).map(|transition| phones.contains(&transition.phone))).collect()
}

fn read_text(folder: &OnlineFolder, part: Part) -> Result<String, Error> {
    let path = folder.require(part)?;
    std::fs::read_to_string(&path).map_err(|error| Error::ModelFile { path: path.into(), reason: error.to_string() })
}

/// Reads the graph and its words.
fn open_graph(folder: &OnlineFolder, transitions: &TransitionModel) -> Result<(Graph, SymbolTable), Error> {
    if let Some(path) = folder.find_part(Part::Graph) {
        let TransducerFile { transducer, output_symbols, .. } = TransducerFile::open(path)?;
        let (highest, highest_word) = transducer.highest_labels();
        check_transitions(folder, Part::Graph, highest, transitions)?;
        let words = words_of(folder, Part::Graph, highest_word, output_symbols)?;
        return Ok((Graph::Static(StaticGraph::new(transducer)), words));
    }
    let whole = Part::Graph.path(folder.layout());
    if folder.find_part(Part::Lexicon).is_none() {
        let path = folder.path(Part::Lexicon);
        let reason = format!("the file is missing, and so is {whole}: one of them has the decoding graph");
        return Err(Error::ModelFile { path, reason });
    }
    let [lexicon, grammar] = [Part::Lexicon, Part::Grammar].map(|part| folder.require(part));
    let lexicon = TransducerFile::open(lexicon?)?;
    let grammar = TransducerFile::open(grammar?)?;
    let mut transducer = lexicon.transducer;
    transducer.clear_ilabels(&disambiguation(folder)?);
    check_transitions(folder, Part::Lexicon, transducer.highest_labels().0, transitions)?;
    let lexicon = match lexicon.label_reach {
        Some(reach) => LookAheadLexicon::new(transducer, reach)?,
        None => LookAheadLexicon::with_reach(transducer, Limits::default())?,
    };
    let words = words_of(folder, Part::Grammar, grammar.transducer.highest_labels().1, grammar.output_symbols)?;
    let grammar = LookAheadGrammar::new(grammar.transducer)?;
    let graph = Composition::new(lexicon.into(), grammar.into(), CompositionOptions::default());
    Ok((Graph::Composed(graph), words))
}

/// Checks that the highest input label of a part is a transition identifier.
fn check_transitions(
    folder: &OnlineFolder,
    part: Part,
    highest: i32,
    transitions: &TransitionModel,
) -> Result<(), Error> {
    let known = transitions.num_transition_ids();
    if usize::try_from(highest).is_ok_and(|highest| highest <= known) {
        return Ok(());
    }
    let [model, epsilons] = [Part::AcousticModel, Part::Disambiguation].map(|part| part.path(folder.layout()));
    let reason = format!(
        "an arc has label {highest}, but {model} has {known} transition identifiers: the files are of two models, \
         or {epsilons} lacks it"
    );
    Err(Error::ModelFile { path: folder.path(part), reason })
}

/// Returns the words of a part: its own symbols, or the file of words. They must have its highest
/// word.
fn words_of(
    folder: &OnlineFolder,
    part: Part,
    highest: i32,
    symbols: Option<SymbolTable>,
) -> Result<SymbolTable, Error> {
    let (words, table) = match symbols {
        Some(words) => (words, part),
        None => (read_text(folder, Part::Words)?.parse()?, Part::Words),
    };
    if highest != EPSILON && words.get(highest).is_none() {
        let reason =
            format!("it has no word {highest}, which {} has: the files are of two models", part.path(folder.layout()));
        return Err(Error::ModelFile { path: folder.path(table), reason });
    }
    Ok(words)
}

/// Reads the transition identifiers that become epsilons.
fn disambiguation(folder: &OnlineFolder) -> Result<Vec<i32>, Error> {
    let text = read_text(folder, Part::Disambiguation)?;
    let number = |word: &str| {
        word.parse().map_err(|_| Error::ModelFile {
            path: folder.path(Part::Disambiguation),
            reason: format!("'{word}' is no transition identifier"),
        })
    };
    text.split_whitespace().map(number).collect()
}

/// Reads the positions of phones in words.
fn phone_types(folder: &OnlineFolder) -> Result<HashMap<i32, PhoneType>, Error> {
    let text = read_text(folder, Part::WordBoundary)?;
    let mut types = HashMap::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let phone = words.next().and_then(|word| word.parse().ok());
        let kind = words.next().and_then(PhoneType::named);
        let (Some(phone), Some(kind), None) = (phone, kind, words.next()) else {
            let file = folder.path(Part::WordBoundary).display().to_string();
            let reason = format!("'{line}' is not a phone and its position, such as '7 begin'");
            return Err(Error::ConfigLine { file, line: number, reason });
        };
        types.insert(phone, kind);
    }
    Ok(types)
}

/// Decodes utterances, one after the other, from rows of a network's output.
#[derive(Debug)]
#[doc(alias = "SingleUtteranceNnet3IncrementalDecoder")]
pub struct UtteranceDecoder {
    model: Arc<DecoderModel>,
    view: View,
    decoder: IncrementalDecoder,
    scaled: Vec<f32>,
}

impl UtteranceDecoder {
    /// Begins a new utterance.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a graph that cannot be searched.
    #[doc(alias = "InitDecoding")]
    pub fn begin(&mut self) -> Result<(), Error> {
        Ok(self.decoder.begin(&mut self.view)?)
    }

    /// Takes the next rows of the network's output, `num_columns` wide. Call it without rows, too,
    /// where a chunk of audio brings none: a part of the lattice may be determinized.
    ///
    /// # Errors
    /// As [`IncrementalDecoder::advance`].
    #[doc(alias = "AdvanceDecoding")]
    pub fn advance(&mut self, rows: &[f32], num_columns: usize) -> Result<(), Error> {
        let scale = self.model.config.acoustic_scale;
        let rows = if scale == 1.0 {
            rows
        } else {
            self.scaled.clear();
            self.scaled.extend(rows.iter().map(|score| score * scale));
            &self.scaled
        };
        Ok(self.decoder.advance(&mut self.view, &self.model.labels, rows, num_columns)?)
    }

    /// Returns the decoder.
    pub fn decoder(&self) -> &IncrementalDecoder {
        &self.decoder
    }

    /// Returns the number of rows taken.
    pub fn num_frames(&self) -> usize {
        self.decoder.num_frames()
    }

    /// Returns `true` if a rule says that the utterance has ended.
    ///
    /// # Errors
    /// [`Error::Recognition`] for rules without sense.
    #[doc(alias = "EndpointDetected")]
    pub fn has_ended(&mut self) -> Result<bool, Error> {
        let model = Arc::clone(&self.model);
        Ok(self.endpoint(&model.config.endpoints)?.is_some())
    }

    /// Returns the first of these rules by which the utterance has ended.
    ///
    /// # Errors
    /// [`Error::Recognition`] for rules without sense.
    pub fn endpoint(&mut self, rules: &EndpointRules) -> Result<Option<usize>, Error> {
        let frames = self.num_frames();
        if frames == 0 {
            return Ok(None);
        }
        let is_silence = |label: i32| {
            let place = usize::try_from(label).ok();
            place.and_then(|place| self.model.is_silence.get(place)).copied().unwrap_or(false)
        };
        let silence = self.decoder.trace_back().take_while(|&(_, label)| is_silence(label)).count();
        let relative = self.decoder.final_relative_cost(&mut self.view);
        let state = EndpointState::new(frames, silence, self.model.frame_shift(), relative);
        Ok(rules.detect(&state)?)
    }

    /// Returns the words of the best path so far.
    pub fn partial(&self) -> Vec<i32> {
        self.decoder.best_path().words
    }

    /// Returns the words so far with times and confidences: of the part of the utterance whose
    /// lattice is there already.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a limit.
    pub fn partial_words(&mut self) -> Result<Vec<TimedWord>, Error> {
        let frames = self.decoder.num_frames_in_lattice();
        if frames == 0 {
            return Ok(Vec::new());
        }
        let lattice = self.decoder.lattice(&mut self.view, &self.model.labels, frames, false)?;
        results::best_words(&lattice, self.model.boundaries.as_ref())
    }

    /// Ends the utterance and returns its lattice, with the costs of the graph as they are. If the
    /// folder has a `rescore/G.carpa`, its costs take the place of the costs of `rescore/G.fst`; a
    /// lattice whose words these models lack has no state.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a limit.
    #[doc(alias = "GetLattice")]
    pub fn finish(&mut self) -> Result<Lattice, Error> {
        self.decoder.finish(&mut self.view)?;
        let frames = self.num_frames();
        let lattice = self.decoder.lattice(&mut self.view, &self.model.labels, frames, true)?;
        match &self.model.rescoring {
            Some(rescoring) => rescoring.rescore(&lattice),
            None => Ok(lattice),
        }
    }
}

impl DecoderModel {
    /// Returns the lattice of a result: costs of the graph count less.
    fn scaled(lattice: &Lattice) -> Result<Lattice, Error> {
        Ok(lattice.scale(GRAPH_SCALE, 1.0)?)
    }

    /// Returns the words of an utterance's lattice with the least expected error.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a limit.
    #[doc(alias = "MbrResult")]
    pub fn best_words(&self, lattice: &Lattice) -> Result<Vec<TimedWord>, Error> {
        results::best_words(&Self::scaled(lattice)?, self.boundaries.as_ref())
    }

    /// Returns the lattice of a result, in which each word has exactly its frames.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a limit.
    #[doc(alias = "WordAlignLattice")]
    pub fn aligned(&self, lattice: &Lattice) -> Result<Lattice, Error> {
        results::aligned(&Self::scaled(lattice)?, self.boundaries.as_ref())
    }

    /// Returns the best paths of an utterance's lattice.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a limit.
    #[doc(alias = "NbestResult")]
    pub fn alternatives(&self, lattice: &Lattice, most: usize) -> Result<Vec<Alternative>, Error> {
        results::alternatives(&Self::scaled(lattice)?, self.boundaries.as_ref(), most)
    }
}
