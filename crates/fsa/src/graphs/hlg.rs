//! H o L o G: the graph that decodes frames of a network to words, from a lexicon and a language
//! model in one call.

use std::io::BufRead;

use kaldera_base::setters;

use crate::core::arc::{Arc, EPSILON};
use crate::core::attributes::Attribute;
use crate::core::fsa::Fsa;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::graph_labels::GraphLabels;
use crate::core::limits::Limits;
use crate::core::semiring::Semiring;
use crate::error::{AttributeProblem, Error, Operation, Quantity};
use crate::graphs::ctc_states::Entered;
use crate::graphs::ctc_topology::CtcTopology;
use crate::graphs::left_out::LeftOut;
use crate::graphs::lexicon::{Lexicon, LexiconOptions};
use crate::graphs::ngram::{ArpaOptions, NgramModel};
use crate::graphs::progress::{HlgGraph, HlgStep, OutOfVocabulary, Progress, Step};
use crate::io::openfst_binary::OpenFstBinary;
use crate::io::symbols::SymbolTable;
use crate::k2::compose::ComposeOptions;
use crate::k2::epsilon_closure::Closures;
use crate::k2::remove_epsilon::remove_epsilon_keeping;
use crate::openfst::determinize::DeterminizeOptions;
use crate::openfst::minimize::MinimizeOptions;
use crate::support::ids::index;

/// Options of [`make_hlg`] and [`compile_hlg`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct HlgOptions {
    /// Options for the lexicon.
    pub lexicon: LexiconOptions,
    /// Options for the language model. N-grams with words that are not in the lexicon are skipped,
    /// unless this says otherwise.
    pub arpa: ArpaOptions,
    /// Highest token of the network; the highest of the lexicon, if this is `None`. 0 is blank.
    pub max_token: Option<usize>,
    /// `true` for the modified topology of CTC, which does not require a blank between two equal
    /// tokens.
    pub modified: bool,
    /// `true` if L o G is minimized after it has been determinized. Its scores are pushed towards
    /// the start, unless a cycle of words has a score above 0, which is possible if back-off
    /// weights are above 1 (as in a large model that was reduced to few words). Scores then stay
    /// where determinization has put them, as always in Kaldi's graphs (`fstminimizeencoded`).
    pub minimize: bool,
    /// `true` if epsilons are removed, which k2's decoders require. Each history of the model then
    /// also has the arcs of the shorter histories that it backs off to: several times the arcs for
    /// a real model, a few more if words have boundaries, as arcs for all words are behind these.
    /// [`Progress::expected`] gives the size before it begins.
    ///
    /// Otherwise arcs that back off, and arcs with disambiguation symbols, are epsilons, as in
    /// OpenFst's and Kaldi's graphs.
    pub remove_epsilon: bool,
    /// Name of the attribute in which the tokens are kept in addition to the words, if they are.
    /// `tokens` in icefall.
    pub inner_labels: Option<String>,
    /// `true` for H o L o G; otherwise the result is L o G, for decoders that know their topology.
    pub topology: bool,
    /// The largest size that any step after the reading of L and G may need for its result and its
    /// work, in addition to its input.
    pub limits: Limits,
}

setters! {
    HlgOptions:
    lexicon, with_lexicon: LexiconOptions = LexiconOptions::default(), "With these options for the lexicon.";
    arpa, with_arpa: ArpaOptions = ArpaOptions::default().with_out_of_vocabulary(OutOfVocabulary::Skip),
        "With these options for the language model.";
    max_token, with_max_token: Option<usize> = None, "With this highest token.";
    modified, with_modified: bool = false, "With the modified topology, or CTC's.";
    minimize, with_minimize: bool = true, "With or without minimization.";
    remove_epsilon, with_remove_epsilon: bool = false, "With epsilons removed, or kept.";
    inner_labels, with_inner_labels: Option<String> = None, "With the tokens as this attribute.";
    topology, with_topology: bool = true, "With or without the topology.";
    limits, with_limits: Limits = Limits::default(), "With these limits.";
}

/// A decoding graph and the meaning of its labels.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hlg {
    /// Graph from tokens of frames to words. With epsilons there is one output label for each arc,
    /// 0 for none; without, the output labels are lists. [`Graph::graph_labels`] says how labels
    /// are to be read, and decoding uses it: [`GraphLabels::ClassPlusOne`] for H o L o G with
    /// epsilons, and [`GraphLabels::Class`] if epsilons were removed.
    pub graph: Graph<Fsa>,
    /// The tokens, including disambiguation symbols.
    pub tokens: SymbolTable,
    /// The words, including `#0`.
    pub words: SymbolTable,
    /// `true` for H o L o G; otherwise it is L o G, whose labels are tokens, or 0 for epsilon.
    pub topology: bool,
    /// Sizes of the graphs that were made.
    pub steps: Vec<HlgStep>,
    /// Pronunciations that were left out, and the symbols that the tables lack.
    pub pronunciations_left_out: LeftOut,
    /// Pronunciations of words that the table lacks, which are [`LexiconOptions::unknown_word`].
    pub unknown_words: LeftOut,
    /// N-grams that were left out, and the words that have no pronunciation or that the table
    /// lacks.
    pub ngrams_left_out: LeftOut,
    /// Number of n-grams that the header of the model counts but the model lacks.
    pub num_missing_ngrams: u64,
    /// Words of the lexicon that the model lacks, so that no path outputs them.
    pub words_left_out: LeftOut,
}

impl Hlg {
    /// Returns the symbols of the labels of [`graph`](Self::graph): the tokens, without
    /// disambiguation symbols, which it does not have; and `<eps>`, if 0 is epsilon.
    ///
    /// Blank is `<blk>` if the table of tokens has no name for 0 or calls it `<eps>`.
    ///
    /// # Errors
    /// [`Error::RepeatedSymbol`] if another token has that name; [`Error::TooLarge`].
    pub fn labels(&self) -> Result<SymbolTable, Error> {
        self.table(self.graph.graph_labels())
    }

    fn table(&self, of_tokens: GraphLabels) -> Result<SymbolTable, Error> {
        let mut table = SymbolTable::new(self.tokens.name());
        if of_tokens == GraphLabels::ClassPlusOne {
            table.add(EPSILON_SYMBOL, EPSILON)?;
        }
        let zero = if self.topology { BLANK } else { EPSILON_SYMBOL };
        if self.tokens.get(EPSILON).is_none() {
            table.add(zero, of_tokens.label_of(EPSILON))?;
        }
        for (symbol, token) in self.tokens.iter().filter(|(symbol, _)| !is_disambiguation(symbol)) {
            let renamed = token == EPSILON && (symbol == EPSILON_SYMBOL || !self.topology);
            Error::fit(Quantity::SymbolLabel, index(token) + 1)?;
            table.add(if renamed { zero } else { symbol }, of_tokens.label_of(token))?;
        }
        Ok(table)
    }

    /// Returns the graph as OpenFst's files have it, in which 0 is epsilon: labels are tokens + 1
    /// if the graph has the topology, so that blank is 1; an arc outputs one word at most, and
    /// lists are chains of arcs. Its tables have the symbols of the labels. With epsilons this is
    /// the graph as it is.
    ///
    /// ```
    /// use fsa::graphs::{HlgOptions, make_hlg};
    /// use fsa::io::SymbolTable;
    ///
    /// let arpa = "\\data\\\nngram 1=3\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.3 a\n\\end\\\n";
    /// let (none, mut options) = (SymbolTable::default(), HlgOptions::default());
    /// options.remove_epsilon = true;
    /// let hlg = make_hlg(
    ///     none.clone(),
    ///     none,
    ///     "a x\n".as_bytes(),
    ///     arpa.as_bytes(),
    ///     &options,
    ///     &mut |_| {}
    /// )?;
    /// assert_eq!(hlg.labels()?.to_string(), "<blk>\t0\nx\t1\n");
    /// let file = hlg.to_openfst()?;
    /// assert_eq!(file.input_symbols.unwrap().to_string(), "<eps>\t0\n<blk>\t1\nx\t2\n");
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::RepeatedSymbol`] as [`labels`](Self::labels); [`Error::TooLarge`].
    pub fn to_openfst(&self) -> Result<OpenFstBinary, Error> {
        let graph = match self.topology {
            true => self.graph.clone().into_class_plus_one()?,
            // Labels are tokens, and 0 is epsilon.
            false if self.graph.attributes().lists(AUX_LABELS).is_some() => self.graph.expand_aux_labels()?,
            false => self.graph.clone(),
        };
        let mut words = self.words.clone();
        if words.get(EPSILON).is_none() {
            words.add(EPSILON_SYMBOL, EPSILON)?;
        }
        let mut file = OpenFstBinary::new(graph);
        let tokens = self.table(if self.topology { GraphLabels::ClassPlusOne } else { GraphLabels::Class })?;
        (file.input_symbols, file.output_symbols) = (Some(tokens), Some(words));
        Ok(file)
    }
}

/// The names of label 0: as blank, and if it is no symbol.
const BLANK: &str = "<blk>";
const EPSILON_SYMBOL: &str = "<eps>";

/// Returns `true` for `#0`, `#1` and so on.
fn is_disambiguation(symbol: &str) -> bool {
    let digits = symbol.strip_prefix('#').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the decoding graph of a lexicon (`word token token ...`) and a language model (ARPA): L
/// and G are read, composed, determinized with the help of disambiguation symbols and minimized;
/// these symbols become epsilons, or are removed, and the topology of CTC, which takes no memory
/// itself, is composed with the result.
///
/// Tokens and words have the numbers of the tables; missing ones are added as [`Lexicon::read`]
/// says, so empty tables are allowed.
///
/// # Exactness
/// Each alignment of each path of L o G is one path of the result, but the model may also back off
/// if it has the n-gram, since epsilons are free to be taken: the same words then have several
/// paths. The best path (tropical) may thus be better than the model's own score of its words, if
/// backing off is cheaper than the n-gram, as for OpenFst's and k2's graphs. A total (log) counts
/// the ways of backing off in addition to the n-gram, so that it is above the model's.
/// Determinization keeps the best of several paths of L o G for the same string, and sometimes
/// rounds scores to 1/1024.
///
/// ```
/// use fsa::graphs::{HlgOptions, make_hlg};
/// use fsa::io::SymbolTable;
///
/// let lexicon = "yes Y EH S\nno N OW\n";
/// let arpa = "\\data\\\nngram 1=4\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.3 yes\n-0.4 no\n\\end\\\n";
/// let empty = SymbolTable::default();
/// let options = HlgOptions::default();
/// let hlg =
///     make_hlg(empty.clone(), empty, lexicon.as_bytes(), arpa.as_bytes(), &options, &mut |_| {})?;
/// assert_eq!(hlg.words.get(2), Some("yes"));
/// // Label 0 is epsilon, 1 blank, 2 the first token.
/// assert_eq!(hlg.labels()?.find("<blk>"), Some(1));
/// assert!(hlg.graph.aux_labels().is_some_and(|words| words.contains(&2)));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoSharedWord`] if the language model has no word of the lexicon; as [`Lexicon::read`],
/// [`NgramModel::read`], [`NgramModel::to_fsa`] and [`compile_hlg`].
#[doc(alias = "compile_hlg")]
pub fn make_hlg(
    mut tokens: SymbolTable,
    mut words: SymbolTable,
    lexicon: impl BufRead,
    arpa: impl BufRead,
    options: &HlgOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Hlg, Error> {
    progress(Progress::new(Step::ReadLexicon));
    let lexicon = Lexicon::read(lexicon, &mut tokens, &mut words, &options.lexicon)?;
    progress(Progress::new(Step::ReadNgrams));
    let model = NgramModel::read(arpa, &mut words, &options.arpa, progress)?;
    if lexicon.words().is_empty() {
        return Err(Error::NoWords);
    }
    // The unknown word is a word if a pronunciation has it.
    if !model.unknown().is_some_and(|unknown| lexicon.words().contains(&unknown)) {
        model.count_words(lexicon.words().iter().filter_map(|&word| words.get(word)))?;
    }
    let grammar = model.to_fsa(lexicon.backoff_word())?;
    let mut words_left_out = LeftOut::default();
    let mut silent: Vec<_> = lexicon.words().iter().copied().filter(|&word| !model.has_word(word)).collect();
    silent.sort_unstable();
    silent.dedup();
    silent.iter().for_each(|&word| words_left_out.add(words.get(word)));
    let (ngrams_left_out, num_missing_ngrams) = (model.left_out().clone(), model.num_missing());
    drop(model);
    let (graph, steps) = compile_hlg(&lexicon, grammar, options, progress)?;
    Ok(Hlg {
        graph,
        tokens,
        words,
        topology: options.topology,
        steps,
        pronunciations_left_out: lexicon.left_out().clone(),
        unknown_words: lexicon.unknown().clone(),
        ngrams_left_out,
        num_missing_ngrams,
        words_left_out,
    })
}

/// Does the same as [`make_hlg`] for a lexicon and a grammar in memory; the grammar backs off with
/// [`Lexicon::backoff_word`].
///
/// # Errors
/// [`Error::DeterminizeLimit`] and [`Error::Limit`] if the limit is reached, [`Error::TooLarge`],
/// [`Error::NotFunctional`] for a grammar with two paths for the same words that back off at
/// different places, [`Error::Symbol`] if the lexicon has tokens above `max_token`,
/// [`Error::NoWords`] for a graph that outputs no words.
pub fn compile_hlg(
    lexicon: &Lexicon,
    grammar: Fsa,
    options: &HlgOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Graph<Fsa>, Vec<HlgStep>), Error> {
    let limits = options.limits;
    let mut steps = Vec::new();
    let mut tell = |now: Progress| {
        steps.extend(now.made);
        progress(now);
    };
    let made = |made: HlgGraph, next: Step, graph: &Graph<Fsa>| Progress {
        made: Some(size_of_step(made, graph)),
        ..Progress::new(next)
    };
    let max_token = options.max_token.unwrap_or(index(lexicon.max_token()));
    let topology = CtcTopology::new(max_token, options.modified)?;

    let grammar = Graph::new(grammar);
    tell(made(HlgGraph::G, Step::MakeLexicon, &grammar));
    // Each assignment frees the graph before.
    let mut graph = lexicon.to_disambiguated_graph()?;
    tell(made(HlgGraph::L, Step::Compose, &graph));
    graph = graph.arc_sort()?.compose_with(&grammar, &ComposeOptions { limits, ..ComposeOptions::default() })?;
    drop(grammar);
    graph = within(limits, Operation::Connect, &graph)?.connect()?;
    tell(made(HlgGraph::Lg, Step::Determinize, &graph));

    graph = graph.determinize_openfst(&DeterminizeOptions::default().with_limits(limits))?;
    graph = within(limits, Operation::Connect, &graph)?.connect()?;
    let (mut name, after) = (HlgGraph::Determinized, if options.topology { Step::ComposeTopology } else { Step::Done });
    let after_all = if options.remove_epsilon { Step::RemoveEpsilons } else { after };
    if options.minimize {
        tell(made(name, Step::Minimize, &graph));
        graph = minimized(&graph, limits)?;
        name = HlgGraph::Minimized;
    }
    tell(made(name, after_all, &graph));
    let outputs_words = |words: &[i32]| words.iter().any(|&word| word > EPSILON && word != lexicon.backoff_word());
    if !graph.aux_labels().is_some_and(outputs_words) {
        return Err(Error::NoWords);
    }
    graph = without_disambiguation(within(limits, Operation::RemoveDisambiguation, &graph)?, lexicon)?;
    if options.remove_epsilon {
        for expected in expected_without_epsilons(&graph, options)? {
            tell(Progress { expected: Some(expected), ..Progress::new(Step::RemoveEpsilons) });
        }
        graph = without_epsilons(graph, limits)?;
        graph = within(limits, Operation::Connect, &graph)?.connect()?;
    }
    graph = within(limits, Operation::ArcSort, &graph)?.arc_sort()?;
    if options.remove_epsilon {
        tell(made(HlgGraph::EpsilonFree, after, &graph));
    }
    if options.topology {
        graph = topology.compose(&graph, options.graph_labels(), options.inner_labels.as_deref(), limits)?;
        tell(made(HlgGraph::Hlg, Step::Done, &graph));
    }
    Ok((graph, steps))
}

/// Minimizes the graph; scores are pushed if they can be.
fn minimized(graph: &Graph<Fsa>, limits: Limits) -> Result<Graph<Fsa>, Error> {
    let options = MinimizeOptions::default().with_limits(limits);
    match graph.minimize(&options) {
        Err(Error::EndlessCycle { .. }) => graph.minimize(&options.with_push_scores(false)),
        made => made,
    }
}

impl HlgOptions {
    fn graph_labels(&self) -> GraphLabels {
        if self.remove_epsilon { GraphLabels::Class } else { GraphLabels::ClassPlusOne }
    }
}

/// Returns the expected sizes of L o G and H o L o G without epsilons. The real ones are not
/// smaller, except for states and arcs that lead nowhere.
/// O(states + epsilon arcs and the arcs behind them).
fn expected_without_epsilons(graph: &Graph<Fsa>, options: &HlgOptions) -> Result<Vec<HlgStep>, Error> {
    let fsa = graph.fsas();
    let view = fsa.view();
    let entered = Entered::new(fsa)?;
    let mut closures = Closures::new(0, view, Semiring::Tropical);
    let labelled: Vec<usize> = (0..fsa.num_states())
        .map(|state| view.arcs_of(state).iter().filter(|arc| arc.label != EPSILON).count())
        .collect();
    let size = |graph| HlgStep { graph, num_states: 0, num_arcs: 0, num_bytes: 0 };
    let (mut lg, mut hlg) = (size(HlgGraph::EpsilonFree), size(HlgGraph::Hlg));
    for state in (0..fsa.num_states()).filter(|&state| entered.emits(state)) {
        let num_found = closures.find_from(state)?;
        let arcs: usize = (0..num_found).map(|place| labelled[closures.found(place).0]).sum();
        let tokens = entered.tokens(state).len();
        lg.num_states += 1;
        lg.num_arcs = lg.num_arcs.saturating_add(arcs);
        hlg.num_states += 1 + tokens;
        let of_tokens = if options.modified { arcs + 2 * tokens } else { tokens.saturating_mul(arcs + 2) };
        hlg.num_arcs = hlg.num_arcs.saturating_add(1 + arcs).saturating_add(of_tokens);
    }
    for step in [&mut lg, &mut hlg] {
        // An arc, its source in the arc map, and a list of one word.
        let of_arcs = step.num_arcs.saturating_mul(size_of::<Arc>() + 3 * size_of::<i32>());
        step.num_bytes = of_arcs.saturating_add(step.num_states * size_of::<i32>());
    }
    Ok([Some(lg), Some(hlg).filter(|_| options.topology)].into_iter().flatten().collect())
}

/// Checks the limits of an operation whose result has no more states and arcs than its input.
fn within(limits: Limits, operation: Operation, graph: &Graph<Fsa>) -> Result<&Graph<Fsa>, Error> {
    let (states, arcs) = (graph.fsas().num_states(), graph.fsas().num_arcs());
    let attributes: usize = graph.attributes().iter().map(|(_, attribute)| bytes_of(attribute)).sum();
    // Arcs, which the sort moves twice, their map and the memory of the walks.
    let of_arcs = arcs * (2 * size_of::<Arc>() + 2 * size_of::<i32>());
    limits.check(operation, of_arcs + states * 4 * size_of::<i32>() + attributes, states, arcs)?;
    Ok(graph)
}

fn size_of_step(graph: HlgGraph, made: &Graph<Fsa>) -> HlgStep {
    let (num_states, num_arcs) = (made.fsas().num_states(), made.fsas().num_arcs());
    let of_attributes: usize = made.attributes().iter().map(|(_, attribute)| bytes_of(attribute)).sum();
    let num_bytes = num_states * size_of::<i32>() + num_arcs * size_of::<Arc>() + of_attributes;
    HlgStep { graph, num_states, num_arcs, num_bytes }
}

fn bytes_of(attribute: &Attribute) -> usize {
    let numbers = match attribute {
        Attribute::Lists(lists) => lists.num_elements() + lists.num_rows(),
        Attribute::Ints { .. } | Attribute::Floats { .. } => attribute.num_arcs(),
    };
    numbers * size_of::<i32>()
}

/// Calls [`remove_epsilon_keeping`] and keeps the arcs with words.
fn without_epsilons(graph: Graph<Fsa>, limits: Limits) -> Result<Graph<Fsa>, Error> {
    let (fsa, map) = remove_epsilon_keeping(graph.fsas(), limits, &|arc| !graph.attributes().is_neutral(arc))?;
    // The words are gathered by the map, without the epsilons among them.
    let of_words = 2 * (map.num_elements() + map.num_rows()) * size_of::<i32>();
    let of_arcs = fsa.num_arcs() * size_of::<Arc>() + map.num_elements() * size_of::<i32>();
    limits.check(Operation::RemoveEpsilons, of_arcs + of_words, fsa.num_states(), fsa.num_arcs())?;
    graph.carry_ragged((fsa, map))
}

/// Replaces disambiguation symbols by epsilons, among tokens and words.
fn without_disambiguation(graph: &Graph<Fsa>, lexicon: &Lexicon) -> Result<Graph<Fsa>, Error> {
    let first = lexicon.first_disambiguation();
    let (fsa, attributes) = (graph.fsas(), graph.attributes());
    let plain = |label, first| if label >= first { EPSILON } else { label };
    let arcs: Vec<_> = fsa.arcs().iter().map(|&arc| Arc { label: plain(arc.label, first), ..arc }).collect();
    let words = attributes.ints(AUX_LABELS).ok_or(Error::Attribute { problem: AttributeProblem::WordLists })?;
    let words: Vec<_> = words.iter().map(|&word| plain(word, lexicon.backoff_word())).collect();
    Graph::new(Fsa::from_arcs(fsa.num_states(), arcs)?).with_aux_labels(Attribute::from(words))
}
