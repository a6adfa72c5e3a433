//! Hypotheses of tokens: without a lexicon, with a language model over tokens and hot words.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use fsa::lattice::LanguageModel;

use crate::ctc::hot_tokens::{self, HotTokens};
use crate::ctc::options::CtcDecoderOptions;
use crate::ctc::search::{Frame, FrameToken, Hypothesis, NO_WORD, Prefixes, Reach};
use crate::ctc::tree::LiveNodes;
use crate::hash::FastMap;
use crate::result::Scores;

/// A string of tokens: one token after the string of its parent.
#[derive(Debug, Clone, Copy)]
struct Node<L> {
    parent: u32,
    token: i32,
    /// The language model's state. After a token that the model does not know, it is the model's
    /// null context.
    model: L,
    hot: u32,
    extra: Scores,
}

pub(crate) struct TokenPrefixes<M: LanguageModel> {
    strings: Strings<M>,
    hot: Option<Arc<HotTokens>>,
}

impl<M: LanguageModel> Clone for TokenPrefixes<M> {
    fn clone(&self) -> Self {
        let Strings { options, model, nodes, children } = &self.strings;
        let (options, model) = (Arc::clone(options), model.clone());
        let strings = Strings { options, model, nodes: nodes.clone(), children: children.clone() };
        Self { strings, hot: self.hot.clone() }
    }
}

/// Tree of all strings of tokens that a search has met.
struct Strings<M: LanguageModel> {
    options: Arc<CtcDecoderOptions>,
    model: Option<Arc<M>>,
    nodes: Vec<Node<Option<M::State>>>,
    children: FastMap<(u32, i32), u32>,
}

const ROOT: u32 = 0;
/// Child for a token that the language model forbids.
const FORBIDDEN: u32 = u32::MAX;

impl<M: LanguageModel> TokenPrefixes<M> {
    pub(crate) fn new(options: Arc<CtcDecoderOptions>, model: Option<Arc<M>>, hot: Option<Arc<HotTokens>>) -> Self {
        let start =
            model.as_ref().map(|model| if options.score_boundary { model.start() } else { model.null_context() });
        let root = Node { parent: ROOT, token: -1, model: start, hot: hot_tokens::START, extra: Scores::default() };
        Self { strings: Strings { options, model, nodes: vec![root], children: FastMap::default() }, hot }
    }
}

impl<M: LanguageModel> Strings<M> {
    /// Returns the most that any token can add to a hypothesis, without hot words.
    fn most_without_hot(&self) -> f64 {
        // A probability is at most 1. Larger scores of a model that is not normalised are ignored.
        let model = match self.model {
            None => 0.0,
            Some(_) if self.options.lm_weight < 0.0 => f64::INFINITY,
            Some(_) => self.options.unk_score.max(0.0),
        };
        self.options.word_score + model
    }

    /// Offers a hypothesis with one more token.
    fn offer(
        &mut self,
        hot: Option<&HotTokens>,
        hypothesis: &Hypothesis<u32>,
        (token, score): (i32, f64),
        reach: &mut Reach<'_, u32>,
    ) {
        let child = self.child(hot, hypothesis.state, token);
        if child != FORBIDDEN {
            let extra = self.nodes[child as usize].extra;
            reach.token(hypothesis, token, score, (child, extra, NO_WORD));
        }
    }

    fn child(&mut self, hot: Option<&HotTokens>, parent: u32, token: i32) -> u32 {
        match self.children.entry((parent, token)) {
            Entry::Occupied(child) => *child.get(),
            Entry::Vacant(place) => {
                let before = self.nodes[parent as usize];
                let mut node = Node { parent, token, ..before };
                node.extra.insertion += self.options.word_score;
                if let (Some(model), Some(state)) = (&self.model, before.model) {
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
                if let Some(hot) = hot {
                    let (gain, state) = hot.step(before.hot, token);
                    node.hot = state;
                    node.extra.hot_words += gain;
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

impl<M: LanguageModel> Prefixes for TokenPrefixes<M> {
    type State = u32;

    fn start(&mut self) -> u32 {
        ROOT
    }

    fn most_gain(&self, state: u32) -> f64 {
        let hot_state = self.strings.nodes[state as usize].hot;
        self.strings.most_without_hot() + self.hot.as_ref().map_or(0.0, |hot| hot.most_beside(hot_state))
    }

    fn token_gain(&self, token: i32) -> f64 {
        self.hot.as_ref().map_or(0.0, |hot| hot.start_gain(token))
    }

    fn extend(&mut self, hypothesis: &Hypothesis<u32>, frame: &Frame<'_>, reach: &mut Reach<'_, u32>) {
        let state = hypothesis.state;
        let hope = hypothesis.total + self.most_gain(state);
        let (strings, hot) = (&mut self.strings, self.hot.as_deref());
        let hot_state = strings.nodes[state as usize].hot;
        let without_hot = hypothesis.total + strings.most_without_hot();
        // Any addition to a hypothesis of the beam counts, however small.
        for token in frame.children(state).filter(|&token| token != hypothesis.last) {
            if let Some(score) = frame.score(token) {
                strings.offer(hot, hypothesis, (token, score), reach);
            }
        }
        let moves = hot.map_or(&[][..], |hot| hot.moves(hot_state));
        let is_new = |token| token != hypothesis.last && !frame.children(state).any(|child| child == token);
        for of in moves {
            let Some(score) = frame.score(of.token) else { continue };
            if without_hot + score + f64::from(of.gain) >= reach.cut() && is_new(of.token) {
                strings.offer(hot, hypothesis, (of.token, score), reach);
            }
        }
        for &FrameToken { token, score, hope: of_token } in frame.tokens {
            if hope + of_token < reach.cut() {
                break;
            }
            let score = f64::from(score);
            // Computing the exact bonus is cheaper than a node that is dropped at once.
            let bonus = hot.map_or(0.0, |hot| hot.first_gain(hot_state, token));
            if without_hot + score + bonus < reach.cut() {
                continue;
            }
            if is_new(token) && moves.iter().all(|of| of.token != token) {
                strings.offer(hot, hypothesis, (token, score), reach);
            }
        }
    }

    fn origin(&self, state: u32) -> Option<(u32, (u32, i32))> {
        let node = &self.strings.nodes[state as usize];
        (state != ROOT).then_some((state, (node.parent, node.token)))
    }

    fn finish(&mut self, hypothesis: &Hypothesis<u32>, complete: bool) -> Option<(u32, Scores, i32)> {
        let Strings { options, model, nodes, .. } = &self.strings;
        let node = &nodes[hypothesis.state as usize];
        let mut extra = node.extra;
        if let Some(hot) = &self.hot {
            extra.hot_words += hot.finalize(node.hot);
        }
        if let (true, Some(model), Some(state)) = (complete && options.score_boundary, model, node.model) {
            extra.language_model += options.lm_weight * model.end(state)?;
        }
        Some((hypothesis.state, extra, NO_WORD))
    }

    fn future(&mut self, state: u32) -> (u32, u32) {
        (state, 0)
    }

    fn size(&self) -> usize {
        self.strings.nodes.len()
    }

    fn compact(&mut self, states: &mut [u32]) {
        let Strings { nodes, children, .. } = &mut self.strings;
        let kept = LiveNodes::new(|node| nodes[node as usize].parent, states.iter().copied());
        let number = |old: u32| kept.number(old).unwrap_or(ROOT);
        let renumbered = |&old: &u32| {
            let node = nodes[old as usize];
            Node { parent: number(node.parent), ..node }
        };
        *nodes = kept.nodes().iter().map(renumbered).collect();
        let following = (0..).zip(&*nodes).skip(1);
        *children = following.map(|(number, node)| ((node.parent, node.token), number)).collect();
        states.iter_mut().for_each(|state| *state = number(*state));
    }
}
