//! Rescoring of lattices with other language models.

use std::collections::HashMap;
use std::hash::Hash;

use crate::core::arc::{Arc, EPSILON};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::core::limits::Limits;
use crate::error::{Error, Operation};
use crate::lattice::builder::LatticeBuilder;
use crate::lattice::container::Lattice;
use crate::lattice::determinize::DeterminizeOptions;
use crate::support::ids::{id, index, narrow};

/// A language model that scores words one after another.
#[doc(alias = "DeterministicOnDemandFst")]
pub trait LanguageModel {
    /// The history of previous words.
    type State: Copy + Eq + Hash;

    /// Returns the state before the first word of a sentence.
    fn start(&self) -> Self::State;

    /// Returns the state before a word of which nothing is known, not even that it is the first;
    /// models without such a state return [`start`](Self::start).
    fn null_context(&self) -> Self::State {
        self.start()
    }

    /// Returns `true` if sentences have a beginning and an end in the model (`<s>` and `</s>`). A
    /// model without them is rejected if these are to be scored.
    fn has_boundaries(&self) -> bool {
        true
    }

    /// Returns the score of a word (a natural logarithm) and the state after it; `None` if the
    /// model has no such word.
    fn step(&self, state: Self::State, word: i32) -> Option<(Self::State, f64)>;

    /// Returns the score of the end of a sentence; `None` if no sentence ends there.
    fn end(&self, state: Self::State) -> Option<f64>;
}

/// An n-gram model as an acceptor, such as
/// [`NgramModel::to_fsa`](crate::graphs::NgramModel::to_fsa) returns, whose back-off arcs are taken
/// only if a state has no arc of the word.
#[derive(Debug, Clone)]
#[doc(alias = "BackoffDeterministicOnDemandFst")]
pub struct BackoffModel<'a> {
    fsa: &'a Fsa,
    backoff: i32,
    /// `true` if the arcs are sorted by word, with final arcs last.
    sorted: bool,
}

impl<'a> BackoffModel<'a> {
    /// Creates a model from an acceptor; its arcs with the label `backoff` back off.
    pub fn new(fsa: &'a Fsa, backoff: i32) -> Self {
        let sorted = |state| fsa.view().arcs_of(state).is_sorted_by_key(Arc::sort_key);
        Self { fsa, backoff, sorted: (0..fsa.num_states()).all(sorted) }
    }

    /// Returns the arc of a label, backing off if there is none.
    fn find(&self, mut state: usize, label: i32) -> Option<(usize, f64)> {
        let mut score = 0.0;
        // More steps than states would be a cycle of back-off arcs.
        for _ in 0..self.fsa.num_states() {
            let arcs = self.fsa.view().arcs_of(state);
            let arc_of = |label: i32| {
                if self.sorted {
                    let key = label.cast_unsigned();
                    let at = arcs.partition_point(|arc| arc.label.cast_unsigned() < key);
                    arcs.get(at).filter(|arc| arc.label == label)
                } else {
                    arcs.iter().find(|arc| arc.label == label)
                }
            };
            if let Some(arc) = arc_of(label) {
                return Some((index(arc.dest_state), score + f64::from(arc.score)));
            }
            let arc = arc_of(self.backoff)?;
            score += f64::from(arc.score);
            state = index(arc.dest_state);
        }
        None
    }
}

impl LanguageModel for BackoffModel<'_> {
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn null_context(&self) -> usize {
        let mut state = 0;
        for _ in 0..self.fsa.num_states() {
            let Some(arc) = self.fsa.view().arcs_of(state).iter().find(|arc| arc.label == self.backoff) else { break };
            state = index(arc.dest_state);
        }
        state
    }

    fn step(&self, state: usize, word: i32) -> Option<(usize, f64)> {
        if self.fsa.num_states() == 0 { None } else { self.find(state, word) }
    }

    fn end(&self, state: usize) -> Option<f64> {
        if self.fsa.num_states() == 0 { None } else { self.find(state, -1).map(|(_, score)| score) }
    }
}

/// The weighted sum of two models, such as a new one minus the one with which lattices were made. A
/// word must be a word of both.
///
/// ```
/// use fsa::graphs::{ArpaOptions, NgramModel};
/// use fsa::io::SymbolTable;
/// use fsa::lattice::{CombinedModels, LanguageModel};
///
/// let arpa = "\\data\\\nngram 1=3\n\\1-grams:\n-99 <s>\n-0.25 </s>\n-1 hello\n\\end\\\n";
/// let mut words = SymbolTable::default();
/// let model =
///     NgramModel::read(arpa.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})?;
/// let nothing = CombinedModels::new((&model, -1.0), (&model, 1.0));
/// assert_eq!(nothing.end(LanguageModel::start(&nothing)), Some(0.0));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[doc(alias = "ComposeDeterministicOnDemandFst")]
#[doc(alias = "ScaleDeterministicOnDemandFst")]
pub struct CombinedModels<'a, A, B> {
    first: (&'a A, f32),
    second: (&'a B, f32),
}

impl<'a, A: LanguageModel, B: LanguageModel> CombinedModels<'a, A, B> {
    /// Creates a model of two, each with its factor.
    pub fn new(first: (&'a A, f32), second: (&'a B, f32)) -> Self {
        Self { first, second }
    }

    fn sum(&self, first: f64, second: f64) -> f64 {
        f64::from(self.first.1) * first + f64::from(self.second.1) * second
    }
}

impl<A: LanguageModel, B: LanguageModel> LanguageModel for CombinedModels<'_, A, B> {
    type State = (A::State, B::State);

    fn start(&self) -> Self::State {
        (self.first.0.start(), self.second.0.start())
    }

    fn null_context(&self) -> Self::State {
        (self.first.0.null_context(), self.second.0.null_context())
    }

    fn has_boundaries(&self) -> bool {
        self.first.0.has_boundaries() && self.second.0.has_boundaries()
    }

    fn step(&self, state: Self::State, word: i32) -> Option<(Self::State, f64)> {
        let (first, score) = self.first.0.step(state.0, word)?;
        let (second, other) = self.second.0.step(state.1, word)?;
        Some(((first, second), self.sum(score, other)))
    }

    fn end(&self, state: Self::State) -> Option<f64> {
        Some(self.sum(self.first.0.end(state.0)?, self.second.0.end(state.1)?))
    }
}

impl Lattice {
    /// Adds `scale` times the scores of a language model, as [`rescore`](Self::rescore), and keeps
    /// one path of each word sequence: the best one if graph scores are divided by `scale`. So for
    /// a scale below 0, which removes scores, it is the path with the worst graph score, as in
    /// Kaldi. Nothing changes at the scale 0.
    ///
    /// # Errors
    /// As [`rescore`](Self::rescore) and [`determinize`](Self::determinize).
    #[doc(alias = "lattice-lmrescore-const-arpa")]
    pub fn rescore_best<M: LanguageModel>(&self, model: &M, scale: f32, limits: Limits) -> Result<Self, Error> {
        self.best_of_words(scale, limits, |lattice| lattice.rescore(model, 1.0, limits))
    }

    /// Adds `scale` times the scores of a grammar, as [`compose`](Self::compose), and keeps one
    /// path of each word sequence, as [`rescore_best`](Self::rescore_best): with the best of the
    /// grammar's ways to back off.
    ///
    /// # Errors
    /// As [`compose`](Self::compose) and [`determinize`](Self::determinize).
    #[doc(alias = "lattice-lmrescore")]
    pub fn compose_best(&self, grammar: &Graph<Fsa>, scale: f32, limits: Limits) -> Result<Self, Error> {
        self.best_of_words(scale, limits, |lattice| lattice.compose(grammar, limits))
    }

    /// Adds `scale` times the scores that `add` adds; for either sign of the scale the best path
    /// through the model is kept.
    fn best_of_words(
        &self,
        scale: f32,
        limits: Limits,
        add: impl FnOnce(Self) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        if scale == 0.0 {
            return Ok(self.clone());
        }
        let limits = Limits { max_bytes: Some(limits.bytes()), ..limits };
        let everything = DeterminizeOptions::default().with_beam(f32::INFINITY).with_limits(limits);
        add(self.scale(1.0 / scale, 1.0)?)?.determinize(&everything)?.0.scale(scale, 1.0)
    }

    /// Adds `scale` times the scores of a language model to the graph scores. A scale of -1 removes
    /// the scores of the model with which a lattice was made; interpolation is two calls, with
    /// weights that sum to 1. Paths with words that the model does not have are left out.
    ///
    /// A state of the result is a state of the lattice and one of the model, so lattices grow with
    /// the order of the model.
    ///
    /// # Errors
    /// [`Error::Limit`] above the limit; without one it is half of the memory, for each lattice.
    #[doc(alias = "lattice-lmrescore")]
    pub fn rescore<M: LanguageModel>(&self, model: &M, scale: f32, limits: Limits) -> Result<Self, Error> {
        let lattices: Result<Vec<_>, _> =
            (0..self.num_lattices()).map(|i| self.rescore_one(i, model, f64::from(scale), limits)).collect();
        Self::cat(&lattices?.iter().collect::<Vec<_>>())
    }

    /// Adds the scores of a grammar to the graph scores, as composition does: each path goes along
    /// every path of the grammar with its words as input, whose epsilons (labels 0) take no word.
    /// The words of the result are the output labels. If a grammar backs off by epsilons,
    /// [`determinize`](Self::determinize) then keeps the best path of each word sequence; use
    /// [`rescore`](Self::rescore) for true back-off.
    ///
    /// # Errors
    /// [`Error::Limit`] above the limit; without one it is half of the memory, for each lattice.
    #[doc(alias = "lattice-lmrescore")]
    #[doc(alias = "lattice-compose")]
    pub fn compose(&self, grammar: &Graph<Fsa>, limits: Limits) -> Result<Self, Error> {
        let view = grammar.fsas().view();
        let by_label = |arc: &Arc| arc.label.cast_unsigned();
        let is_sorted = (0..view.num_states()).all(|state| view.arcs_of(state).is_sorted_by_key(by_label));
        let lattices: Result<Vec<_>, _> =
            (0..self.num_lattices()).map(|i| self.compose_one(i, grammar, is_sorted, limits)).collect();
        Self::cat(&lattices?.iter().collect::<Vec<_>>())
    }

    fn compose_one(&self, i: usize, grammar: &Graph<Fsa>, is_sorted: bool, limits: Limits) -> Result<Self, Error> {
        let (utterance, view) = (self.utterance(i), grammar.fsas().view());
        let mut builder = LatticeBuilder::new();
        let Some(last) = utterance.fsa.final_state().filter(|_| grammar.fsas().num_states() > 0) else {
            return builder.build();
        };
        let aux_labels = grammar.aux_labels();
        let matching = |state: usize, label: i32| {
            let mut range = view.arc_range(state);
            if is_sorted {
                let (arcs, key) = (view.arcs_of(state), label.cast_unsigned());
                range.start += arcs.partition_point(|arc| arc.label.cast_unsigned() < key);
            }
            let may_match = move |at: &usize| !is_sorted || view.arcs()[*at].label == label;
            range.take_while(may_match).filter(move |&at| view.arcs()[at].label == label)
        };
        let output = |at: usize| aux_labels.map_or(view.arcs()[at].label, |aux_labels| aux_labels[at]);
        let (mut states, mut pairs) = (HashMap::new(), vec![(0, 0)]);
        states.insert(pairs[0], builder.add_state());
        let (mut done, mut arcs) = (0, 0_usize);
        while let Some(&(state, context)) = pairs.get(done) {
            let from = id(done);
            done += 1;
            let mut reach = |builder: &mut LatticeBuilder, pair: (usize, usize)| {
                *states.entry(pair).or_insert_with(|| {
                    pairs.push(pair);
                    builder.add_state()
                })
            };
            for arc in utterance.fsa.arc_range(state) {
                let (word, to) = (utterance.arc(arc).label, utterance.arc(arc).states().1);
                let (acoustic, alignment) = (utterance.scores(arc).1, utterance.alignment(arc));
                let graph = |at: usize| narrow(utterance.graph(arc) + f64::from(view.arcs()[at].score));
                if word == EPSILON {
                    arcs += 1;
                    let next = reach(&mut builder, (to, context));
                    builder.add_arc(from, next, EPSILON, narrow(utterance.graph(arc)), acoustic, alignment);
                    continue;
                }
                for at in matching(context, word) {
                    arcs += 1;
                    if to == last {
                        builder.add_final(from, graph(at), acoustic, alignment);
                    } else {
                        let next = reach(&mut builder, (to, index(view.arcs()[at].dest_state)));
                        builder.add_arc(from, next, output(at), graph(at), acoustic, alignment);
                    }
                }
            }
            for at in matching(context, EPSILON) {
                arcs += 1;
                let arc = view.arcs()[at];
                let next = reach(&mut builder, (state, index(arc.dest_state)));
                builder.add_arc(from, next, output(at), arc.score, 0.0, &[]);
            }
            let bytes = pairs.len() * 3 * size_of::<(usize, usize)>() + arcs * 64;
            limits.check(Operation::LatticeRescore, bytes, pairs.len(), arcs)?;
        }
        builder.build()?.connect()
    }

    fn rescore_one<M: LanguageModel>(&self, i: usize, model: &M, scale: f64, limits: Limits) -> Result<Self, Error> {
        let utterance = self.utterance(i);
        let mut builder = LatticeBuilder::new();
        let Some(last) = utterance.fsa.final_state() else { return builder.build() };
        let (mut states, mut pairs) = (HashMap::new(), vec![(0, model.start())]);
        states.insert(pairs[0], builder.add_state());
        let (mut done, mut arcs) = (0, 0_usize);
        while let Some(&(state, context)) = pairs.get(done) {
            let from = id(done);
            done += 1;
            for arc in utterance.fsa.arc_range(state) {
                let (word, to) = (utterance.arc(arc).label, utterance.arc(arc).states().1);
                let alignment = utterance.alignment(arc);
                let acoustic = utterance.scores(arc).1;
                let graph = |added: f64| narrow(utterance.graph(arc) + scale * added);
                arcs += 1;
                if to == last {
                    if let Some(score) = model.end(context) {
                        builder.add_final(from, graph(score), acoustic, alignment);
                    }
                    continue;
                }
                let step = if word == 0 { Some((context, 0.0)) } else { model.step(context, word) };
                let Some((next, score)) = step else { continue };
                let next = *states.entry((to, next)).or_insert_with(|| {
                    pairs.push((to, next));
                    builder.add_state()
                });
                builder.add_arc(from, next, word, graph(score), acoustic, alignment);
            }
            let bytes = pairs.len() * 3 * size_of::<(usize, M::State)>() + arcs * 64;
            limits.check(Operation::LatticeRescore, bytes, pairs.len(), arcs)?;
        }
        builder.build()?.connect()
    }
}
