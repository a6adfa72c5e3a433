//! Hot words in a search over tokens. The scores of each token in each state are computed once, so
//! that the search does not follow the failure links of the graph.

use fsa::graphs::ContextGraph;

use crate::ids::number;

/// A token that continues a phrase, its gain, and the state after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HotMove {
    pub(crate) token: i32,
    pub(crate) gain: f32,
    to: u32,
}

/// State after a token that continues no phrase: the first token of a phrase, or the start.
#[derive(Debug, Clone, Copy, Default)]
struct First {
    /// The bonus of the state, and the bonus of the phrase that ends there.
    score: f32,
    output_score: f32,
    to: u32,
}

impl First {
    /// Returns the score of the token after a state with the bonus `score`, which is taken back.
    fn gain(&self, score: f32) -> f32 {
        self.score - score + self.output_score
    }
}

/// A state of the graph.
#[derive(Debug, Clone, Copy)]
struct State {
    /// End of its moves, which begin at the end of the moves of the state before.
    end: usize,
    /// Bonus of all tokens up to here.
    score: f32,
}

/// Relative rounding of a bonus, of two single-precision operations of at most 6e-8 each.
const ROUNDING: f64 = 1e-6;

/// A [`ContextGraph`] with all moves of each state. Matching is strict: a complete phrase continues
/// if it may begin another one.
#[derive(Debug, Clone)]
pub(crate) struct HotTokens {
    states: Vec<State>,
    moves: Vec<HotMove>,
    /// By token.
    firsts: Vec<First>,
    /// Largest magnitude of their scores.
    most_score: f64,
}

/// State before the first token.
pub(crate) const START: u32 = 0;

impl HotTokens {
    /// Tokens from `num_tokens` on never occur.
    pub(crate) fn new(graph: &ContextGraph, num_tokens: usize) -> Self {
        let place = |token: i32| usize::try_from(token).ok().filter(|&token| token < num_tokens);
        let mut firsts = vec![First::default(); num_tokens];
        for (token, state) in graph.children(graph.start()) {
            if let (Some(token), Some(node)) = (place(token), graph.node(state)) {
                firsts[token] =
                    First { score: node.node_score, output_score: node.output_score, to: number(state.index()) };
            }
        }
        let most_score = firsts.iter().map(|first| f64::from(first.score.abs())).fold(0.0, f64::max);
        let mut made = Self { states: Vec::with_capacity(graph.num_states()), moves: vec![], firsts, most_score };
        let mut tokens: Vec<i32> = vec![];
        for state in graph.states() {
            let Some(node) = graph.node(state) else { continue };
            if state != graph.start() {
                // States come after all that have fewer tokens, and so after their failure links.
                tokens.clear();
                tokens.extend(graph.children(state).map(|(token, _)| token));
                tokens.extend(made.moves(number(node.fail.index())).iter().map(|of| of.token));
                tokens.retain(|&token| place(token).is_some());
                tokens.sort_unstable();
                tokens.dedup();
                made.moves.extend(tokens.iter().map(|&token| {
                    let step = graph.forward_one_step(state, token, true);
                    HotMove { token, gain: step.score, to: number(step.state.index()) }
                }));
            }
            made.states.push(State { end: made.moves.len(), score: node.node_score });
        }
        made
    }

    /// Returns the tokens that continue a phrase. All other tokens lead to the first token of a
    /// phrase, or to the start.
    pub(crate) fn moves(&self, state: u32) -> &[HotMove] {
        let state = state as usize;
        let start = if state == 0 { 0 } else { self.states[state - 1].end };
        &self.moves[start..self.states[state].end]
    }

    /// Returns the score of a token in the start state.
    pub(crate) fn start_gain(&self, token: i32) -> f64 {
        self.first(token).gain(0.0).into()
    }

    /// Returns an upper bound of the score that a token outside the moves adds to its
    /// [`start_gain`](Self::start_gain).
    pub(crate) fn most_beside(&self, state: u32) -> f64 {
        let score = f64::from(self.states[state as usize].score);
        ROUNDING * (self.most_score + score.abs()) - score
    }

    /// Returns the score of a token outside the moves.
    pub(crate) fn first_gain(&self, state: u32, token: i32) -> f64 {
        self.first(token).gain(self.states[state as usize].score).into()
    }

    fn first(&self, token: i32) -> First {
        usize::try_from(token).ok().and_then(|token| self.firsts.get(token)).copied().unwrap_or_default()
    }

    /// Returns the score of a token, and the state after it.
    pub(crate) fn step(&self, state: u32, token: i32) -> (f64, u32) {
        match self.moves(state).iter().find(|of| of.token == token) {
            Some(of) => (of.gain.into(), of.to),
            None => (self.first_gain(state, token), self.first(token).to),
        }
    }

    /// Returns the score of the end of the utterance.
    pub(crate) fn finalize(&self, state: u32) -> f64 {
        f64::from(0.0 - self.states[state as usize].score)
    }
}

#[cfg(test)]
mod tests {
    use fsa::Ragged;
    use proptest::prelude::*;

    use super::*;

    const TOKENS: i32 = 4;

    proptest! {
        #[test]
        fn every_token_adds_what_the_graph_says(
            phrases in prop::collection::vec((prop::collection::vec(0..TOKENS + 2, 1..5), -2.0_f32..4.0), 0..8),
        ) {
            let (tokens, scores): (Vec<_>, Vec<_>) = phrases.into_iter().unzip();
            let graph = ContextGraph::new(&Ragged::from_lists(&tokens).unwrap(), &scores).unwrap();
            let hot = HotTokens::new(&graph, 4);
            for state in graph.states() {
                let at = number(state.index());
                prop_assert_eq!(hot.finalize(at), f64::from(graph.finalize(state)));
                for token in 0..TOKENS {
                    let step = graph.forward_one_step(state, token, true);
                    let (gain, to) = hot.step(at, token);
                    prop_assert_eq!((gain, to), (f64::from(step.score), number(step.state.index())));
                    let first = hot.moves(at).iter().all(|of| of.token != token);
                    let most = hot.start_gain(token) + hot.most_beside(at);
                    prop_assert!(!first || gain <= most);
                }
            }
        }
    }
}
