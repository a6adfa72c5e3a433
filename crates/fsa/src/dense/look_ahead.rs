//! Composition of HL with G while decoding, with look-ahead of labels and weights.

mod arc_cache;
mod grammar;
mod hl;
mod shared;
mod visited;

use std::borrow::Cow;

use kaldera_base::setters;

use self::grammar::Grammar;
use self::hl::Hl;
pub(super) use self::shared::SharedVisited;
pub(super) use self::visited::Saved;
use self::visited::{Visited, VisitedArc};
use super::active::{Active, Token};
use super::ctc::{CtcArc, follow_group};
use super::graph::{DecodingGraph, EpsilonArc, GraphArc, class};
use super::intersect::intersect_one_graph;
use super::next::{Last, Next};
use super::search::Search;
use super::trellis::Link;
use super::{DenseFsaVec, DenseLattices, DenseOptions};
use crate::core::limits::Limits;
use crate::graphs::CtcTopology;
use crate::support::ids::number;
use crate::{EPSILON, Error, FINAL, Fsa, Graph};

/// Options of a [`LookAheadGraph`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct LookAheadOptions {
    /// Rule by which the grammar backs off.
    pub backing_off: Backoff,
    /// The largest size of the tables computed beforehand, and of the states that one utterance
    /// visits.
    pub limits: Limits,
    /// Bytes of `limits` that the arcs of the states visited by an utterance may take; the arcs
    /// requested last stay in any case, others are computed again. 256 MiB unless set.
    #[doc(alias = "gc_limit")]
    pub cache_bytes: usize,
}

/// Rule by which a grammar backs off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Backoff {
    /// Wherever the score is better for it, as with epsilon arcs: paths and scores are the ones of
    /// a static H o L o G.
    #[default]
    Always,
    /// Only where a state has no arc for the word: the score of a sentence is the score of the
    /// model.
    Unseen,
}

setters! {
    LookAheadOptions:
    backing_off, with_backing_off: Backoff = Backoff::default(), "With this rule for backing off.";
    limits, with_limits: Limits = Limits::default(), "With these limits.";
    cache_bytes, with_cache_bytes: usize = 256 << 20, "With at most this number of bytes for arcs.";
}

/// H o L o G, with only L and G in memory: for models whose composition does not fit. The topology
/// of CTC is as implicit as in [`CtcGraph`](super::CtcGraph).
///
/// A state is a state of L and a state of G, and exists once a path reaches it. Where a word can
/// come next, the search already knows the best score that G gives to one of the words that L
/// leaves, at every token (*look-ahead*): states without such words are left out, and the score is
/// added there and subtracted behind the word, so that beams work as in a static graph whose
/// weights are pushed. The score of a path from its start to its end is the sum of its scores in L
/// and G.
///
/// The best paths are the ones of the static composition. Lattices within the beam are too, with
/// the best score of each sequence of words; of several ways to back off to the same state of G,
/// only the best one is kept. Scores within a path differ, since they are pushed over one word
/// only, and so do the states left by a narrow search beam.
///
/// G backs off if that is better, as over epsilons in a static graph, or only for words that a
/// state lacks, which gives the score of the model ([`Backoff`]).
///
/// ```
/// use fsa::dense::{DenseFsaVec, DenseOptions, LookAheadGraph, LookAheadOptions};
/// use fsa::graphs::{ArpaOptions, CtcTopology, Lexicon, LexiconOptions, NgramModel};
/// use fsa::io::SymbolTable;
/// use fsa::Limits;
///
/// let arpa = "\\data\\\nngram 1=4\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.3 yes\n-0.4 no\n\\end\\\n";
/// let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
/// let lexicon = Lexicon::read(
///     "yes y e\nno n o\n".as_bytes(),
///     &mut tokens,
///     &mut words,
///     &LexiconOptions::default()
/// )?;
/// let model =
///     NgramModel::read(arpa.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})?;
/// let graph = LookAheadGraph::new(
///     CtcTopology::new(4, false)?,
///     &lexicon.to_minimal_graph(Limits::default())?,
///     &model.to_fsa(lexicon.backoff_word())?,
///     lexicon.backoff_word(),
///     LookAheadOptions::default(),
/// )?;
/// // Blank, e, n, o, y.
/// let scores = [-3.0_f32, -4.0, -0.5, -4.0, -1.0, -1.0, -4.0, -4.0, -0.5, -4.0];
/// let found = graph
///     .intersect_dense_pruned(&DenseFsaVec::from_frames(&scores, 5)?, &DenseOptions::default())?;
/// let best = found.graph().carry(fsa::paths::shortest_path(found.graph().fsas())?)?;
/// let spoken = best.aux_labels().unwrap().iter().filter_map(|&word| words.get(word));
/// assert_eq!(spoken.filter(|&word| word != "<eps>").collect::<Vec<_>>(), ["no"]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// C. Allauzen, M. Riley, J. Schalkwyk: *A generalized composition algorithm for weighted
/// finite-state transducers*, Interspeech 2009; S. Ortmanns, H. Ney, A. Eiden: *Language-model
/// look-ahead for large vocabulary speech recognition*, ICSLP 1996.
#[derive(Debug, Clone)]
#[doc(alias = "LookAheadComposeFilter")]
#[doc(alias = "on-the-fly composition")]
pub struct LookAheadGraph {
    pub(super) topology: CtcTopology,
    hl: Hl,
    grammar: Grammar,
    /// For each set of slots, the best score in the state reached by all backing off; NaN for sets
    /// so large that any word counts as a member.
    unigrams: Vec<f32>,
    options: LookAheadOptions,
}

impl LookAheadGraph {
    /// Creates a graph from a transducer from tokens to words, such as
    /// [`Lexicon::to_minimal_graph`](crate::graphs::Lexicon::to_minimal_graph), and an acceptor of
    /// words, such as [`NgramModel::to_fsa`](crate::graphs::NgramModel::to_fsa), whose arcs with
    /// the label `backoff` back off. Label 0 of the transducer is epsilon. Words that one of both
    /// lacks are on no path. O(arcs), times their logarithm.
    ///
    /// Any transducer is allowed, but look-ahead is the better the more it is like a tree up to its
    /// words. A state of G has at most one arc that backs off.
    ///
    /// # Errors
    /// [`Error::LookAhead`] for epsilons in a cycle, two words with no token between them, or arcs
    /// that back off in two ways or in a cycle; [`Error::Symbol`] for a label that is no token, or
    /// an epsilon of G; [`Error::Attribute`] if the transducer has not one output label for each
    /// arc; [`Error::Limit`]; [`Error::TooLarge`].
    pub fn new(
        topology: CtcTopology,
        hl: &Graph<Fsa>,
        grammar: &Fsa,
        backoff: i32,
        options: LookAheadOptions,
    ) -> Result<Self, Error> {
        let hl = Hl::new(hl, options.limits)?;
        if let Some((position, arc)) =
            hl.graph().fsas().arcs().iter().enumerate().find(|(_, arc)| arc.label > topology.max_token())
        {
            return Err(Error::Symbol { position, symbol: arc.label, least: 1 });
        }
        let left = options.limits.with_max_bytes(options.limits.bytes().saturating_sub(hl.bytes()));
        let grammar = Grammar::new(grammar, backoff, hl.words(), options.backing_off, left)?;
        let unigrams = (0..).map(|set| hl.intervals(set)).take(hl.num_sets());
        let unigrams = unigrams.map(|slots| {
            let num_slots: u32 = slots.iter().map(|slots| slots.end - slots.first).sum();
            if 2 * num_slots as usize >= hl.words().len() { f32::NAN } else { grammar.best_unigram(slots) }
        });
        let unigrams = unigrams.collect();
        Ok(Self { topology, hl, grammar, unigrams, options })
    }

    /// Returns the transducer from tokens to words, to whose arcs arc maps refer.
    pub fn graph(&self) -> &Graph<Fsa> {
        self.hl.graph()
    }

    /// Returns the number of bytes, without the states that utterances visit.
    pub fn num_bytes(&self) -> usize {
        self.hl.bytes() + self.grammar.bytes() + self.unigrams.len() * size_of::<f32>()
    }

    /// Decodes as [`intersect_dense_pruned`](super::intersect_dense_pruned).
    ///
    /// # Errors
    /// As the function; [`Error::Size`] if there are fewer classes than blank and tokens.
    pub fn intersect_dense_pruned(
        &self,
        dense: &DenseFsaVec<'_>,
        options: &DenseOptions,
    ) -> Result<DenseLattices, Error> {
        self.topology.check_classes(dense.num_classes())?;
        let of_one = || LookAhead { graph: self, visited: Cow::Owned(SharedVisited::new(self)) };
        intersect_one_graph(of_one, self.graph(), dense, options)
    }

    /// Returns the numbers of states of HL and G.
    pub(super) fn num_states(&self) -> [usize; 2] {
        [self.graph().fsas().num_states(), self.grammar.num_states()]
    }

    /// Returns the composition as far as a stream has come.
    ///
    /// # Errors
    /// [`Error::Binary`] if the stream comes from bytes and was saved from another graph.
    pub(super) fn of_stream<'a>(&'a self, visited: &'a SharedVisited, search: &Search) -> Result<LookAhead<'a>, Error> {
        visited.restore(self, search)?;
        Ok(LookAhead { graph: self, visited: Cow::Borrowed(visited) })
    }

    /// Returns the number of the first arc; the numbers of arcs of the topology are the classes
    /// that they take.
    fn first_arc(&self) -> u32 {
        self.topology.max_token().cast_unsigned() + 1
    }

    /// Returns the best score of a word that can come next behind a pair of states.
    fn potential(&self, hl: u32, grammar: u32) -> f32 {
        let set = self.hl.set_of(hl);
        let unigram = self.unigrams[set as usize];
        if unigram.is_nan() {
            return self.grammar.best_of_all(grammar);
        }
        self.grammar.best_ahead(grammar, self.hl.intervals(set), unigram)
    }
}

/// One utterance's composition.
#[derive(Debug)]
pub(super) struct LookAhead<'a> {
    graph: &'a LookAheadGraph,
    visited: Cow<'a, SharedVisited>,
}

impl LookAhead<'_> {
    /// Follows the arcs of a pair of states for all tokens in it.
    fn follow_group(&self, visited: &mut Visited, group: &mut [Last], row: &[f32], next: &mut Next<'_>) {
        let pair = group[0].of_graph;
        let blank = visited.blank(pair);
        let (first_arc, arcs) = visited.arcs(self.graph, pair);
        let arc = |at: usize| {
            let VisitedArc { dests: [dest, after_blank], .. } = arcs[at];
            CtcArc { dest, after_blank, number: first_arc + number(at) }
        };
        let scores = arcs.iter().map(|arc| (arc.label, arc.score));
        follow_group(group, (blank, 0), (scores, arc), self.graph.topology, row, next);
    }
}

impl DecodingGraph for LookAhead<'_> {
    fn num_states(&self) -> usize {
        self.visited.lock().num_states()
    }

    fn follow(&self, tokens: &[Token], best: f32, active: Active, row: &[f32], next: &mut Next<'_>) {
        let (visited, graph) = (&mut *self.visited.lock(), self.graph);
        let mut order = std::mem::take(next.order);
        order.clear();
        for (source, token) in (0..).zip(tokens) {
            if token.score > active.cutoff {
                let (of_graph, last) = (visited.pair_of(token.state), visited.last(graph, token.state));
                let before = token.score - best;
                next.reach(source, before, token.state, last.cast_unsigned(), row[class(last, 0)]);
                if graph.topology.is_modified() && last != EPSILON {
                    // It goes back to blank with the token itself before anything else.
                    next.reach(source, before, visited.blank(of_graph), last.cast_unsigned(), row[class(last, 0)]);
                    continue;
                }
                if before == 0.0 {
                    for arc in visited.arcs(graph, of_graph).1 {
                        if let Some(acoustic) = row[1..].get(class(arc.label, 1)).filter(|_| arc.label != last) {
                            next.expect(arc.score + acoustic);
                        }
                    }
                }
                order.push(Last { of_graph, source, last, before });
            }
        }
        order.sort_unstable_by_key(|last| last.of_graph);
        for group in order.chunk_by_mut(|a, b| a.of_graph == b.of_graph) {
            self.follow_group(visited, group, row, next);
        }
        *next.order = order;
    }

    fn epsilon_arcs(&self, _state: u32) -> impl Iterator<Item = EpsilonArc> {
        std::iter::empty()
    }

    fn final_arcs(&self, state: u32) -> impl Iterator<Item = (u32, f32)> {
        let (visited, graph) = (&mut *self.visited.lock(), self.graph);
        let ends = !graph.topology.is_modified() || visited.last(graph, state) == EPSILON;
        let (first, arcs) = visited.arcs(graph, visited.pair_of(state));
        let arcs = (first..).zip(arcs).filter(|(_, arc)| ends && arc.label == FINAL);
        arcs.map(|(number, arc)| (number, arc.score)).collect::<Vec<_>>().into_iter()
    }

    fn arc(&self, arc: u32) -> GraphArc {
        let of_topology = GraphArc { arc: -1, label: arc.cast_signed(), score: 0.0 };
        let found = self.visited.lock().arc(self.graph, arc);
        found.map_or(of_topology, |it| GraphArc { arc: it.arc.cast_signed(), label: it.label, score: it.score })
    }

    fn check(&self) -> Result<(), Error> {
        self.visited.lock().check()
    }

    fn forget(&self, tokens: &mut [Token], links: &mut [Link]) -> Result<(), Error> {
        self.visited.lock().forget(self.graph, tokens, links)
    }
}
