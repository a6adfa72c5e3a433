//! Hypotheses of tokens: without a lexicon, with a language model over tokens and hot words.

use std::collections::hash_map::Entry;

use fsa::graphs::{ContextGraph, ContextState};
use fsa::lattice::LanguageModel;

use crate::ctc::options::CtcDecoderOptions;
use crate::ctc::search::{Frame, Hypothesis, NO_WORD, Prefixes, Reach};
use crate::hash::FastMap;
use crate::result::Scores;

/// A string of tokens, after that of another node.
#[derive(Debug, Clone, Copy)]
struct Node<L> {
    parent: u32,
    token: i32,
    /// The language model's state; `None` from a token on that it does not know, if that is
    /// allowed.
    model: L,
    hot: ContextState,
    extra: Scores,
}

/// The tree of all strings of tokens that a search has met.
pub(crate) struct TokenPrefixes<'d, M: LanguageModel> {
    options: &'d CtcDecoderOptions,
    model: Option<&'d M>,
    hot: Option<&'d ContextGraph>,
    nodes: Vec<Node<Option<M::State>>>,
    children: FastMap<(u32, i32), u32>,
}

impl<M: LanguageModel> Clone for TokenPrefixes<'_, M> {
    fn clone(&self) -> Self {
        Self { nodes: self.nodes.clone(), children: self.children.clone(), ..*self }
    }
}

const ROOT: u32 = 0;
/// A token that the language model forbids.
const FORBIDDEN: u32 = u32::MAX;

impl<'d, M: LanguageModel> TokenPrefixes<'d, M> {
    pub(crate) fn new(options: &'d CtcDecoderOptions, model: Option<&'d M>, hot: Option<&'d ContextGraph>) -> Self {
        let start = model.map(|model| if options.score_boundary { model.start() } else { model.null_context() });
        let hot_start = ContextState::default();
        let root = Node { parent: ROOT, token: -1, model: start, hot: hot_start, extra: Scores::default() };
        Self { options, model, hot, nodes: vec![root], children: FastMap::default() }
    }

    fn most_hot(&self, state: ContextState) -> f64 {
        self.hot.map_or(0.0, |hot| f64::from(hot.most_gain(state)))
    }

    fn offer(&self, hypothesis: &Hypothesis<u32>, (token, score): (i32, f64), child: u32, reach: &mut Reach<'_, u32>) {
        if child != FORBIDDEN {
            let extra = self.nodes[child as usize].extra;
            reach.token(hypothesis, token, score, (child, extra, NO_WORD));
        }
    }

    fn child(&mut self, parent: u32, token: i32) -> u32 {
        match self.children.entry((parent, token)) {
            Entry::Occupied(child) => *child.get(),
            Entry::Vacant(place) => {
                let before = self.nodes[parent as usize];
                let mut node = Node { parent, token, ..before };
                node.extra.insertion += self.options.word_score;
                if let (Some(model), Some(state)) = (self.model, before.model) {
                    match model.step(state, token) {
                        Some((state, score)) => {
                            node.model = Some(state);
                            node.extra.language_model += self.options.lm_weight * score;
                        }
                        None => {
                            node.model = Some(model.null_context());
                            node.extra.insertion += self.options.unk_score;
                        }
                    }
                }
                if let Some(hot) = self.hot {
                    let step = hot.forward_one_step(before.hot, token, true);
                    node.hot = step.state;
                    node.extra.hot_words += f64::from(step.score);
                }
                let number = u32::try_from(self.nodes.len()).unwrap_or(FORBIDDEN);
                if node.extra.insertion == f64::NEG_INFINITY || number == FORBIDDEN {
                    return *place.insert(FORBIDDEN);
                }
                self.nodes.push(node);
                *place.insert(number)
            }
        }
    }
}

impl<M: LanguageModel> Prefixes for TokenPrefixes<'_, M> {
    type State = u32;

    fn start(&mut self) -> u32 {
        ROOT
    }

    fn most_gain(&self, state: u32) -> f64 {
        // A probability is at most 1; what a model that is not normalised gives beyond is not
        // looked for.
        let model = if self.options.lm_weight < 0.0 && self.model.is_some() { f64::INFINITY } else { 0.0 };
        self.options.word_score + model + self.most_hot(self.nodes[state as usize].hot)
    }

    fn extend(&mut self, hypothesis: &Hypothesis<u32>, frame: &Frame<'_>, reach: &mut Reach<'_, u32>) {
        let state = hypothesis.state;
        let hope = hypothesis.total + self.most_gain(state);
        let hot_state = self.nodes[state as usize].hot;
        let without_hot = hope - self.most_hot(hot_state);
        // What adds to a hypothesis of the beam counts, however little it is.
        for token in frame.children(state).filter(|&token| token != hypothesis.last) {
            if let Some(score) = frame.score(token) {
                let child = self.child(state, token);
                self.offer(hypothesis, (token, score), child, reach);
            }
        }
        for &(score, token) in frame.tokens {
            let score = f64::from(score);
            if hope + score < reach.cut() {
                break;
            }
            // The exact bonus is cheaper than a node that is dropped at once.
            let bonus = self.hot.map_or(0.0, |hot| f64::from(hot.forward_one_step(hot_state, token, true).score));
            if without_hot + score + bonus < reach.cut() {
                continue;
            }
            if token != hypothesis.last && !frame.children(state).any(|child| child == token) {
                let child = self.child(state, token);
                self.offer(hypothesis, (token, score), child, reach);
            }
        }
    }

    fn origin(&self, state: u32) -> Option<(u32, (u32, i32))> {
        let node = &self.nodes[state as usize];
        (state != ROOT).then_some((state, (node.parent, node.token)))
    }

    fn finish(&mut self, hypothesis: &Hypothesis<u32>, complete: bool) -> Option<(u32, Scores, i32)> {
        let node = &self.nodes[hypothesis.state as usize];
        let mut extra = node.extra;
        if let Some(hot) = self.hot {
            extra.hot_words += f64::from(hot.finalize(node.hot));
        }
        if let (true, Some(model), Some(state)) = (complete && self.options.score_boundary, self.model, node.model) {
            extra.language_model += self.options.lm_weight * model.end(state)?;
        }
        Some((hypothesis.state, extra, NO_WORD))
    }

    fn future(&mut self, state: u32) -> (u32, u32) {
        (state, 0)
    }

    fn compact(&mut self, states: &mut dyn Iterator<Item = &mut u32>) {
        let states: Vec<&mut u32> = states.collect();
        let mut numbers = vec![FORBIDDEN; self.nodes.len()];
        numbers[ROOT as usize] = ROOT;
        for state in &states {
            let mut at = **state;
            while numbers[at as usize] == FORBIDDEN {
                numbers[at as usize] = ROOT;
                at = self.nodes[at as usize].parent;
            }
        }
        self.children.clear();
        let mut kept: u32 = 1;
        for old in 1..self.nodes.len() {
            if numbers[old] == FORBIDDEN {
                continue;
            }
            let mut node = self.nodes[old];
            node.parent = numbers[node.parent as usize];
            self.nodes[kept as usize] = node;
            self.children.insert((node.parent, node.token), kept);
            numbers[old] = kept;
            kept += 1;
        }
        self.nodes.truncate(kept as usize);
        for state in states {
            *state = numbers[*state as usize];
        }
    }
}
