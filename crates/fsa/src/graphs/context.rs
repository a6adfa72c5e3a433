//! Hot words: an Aho-Corasick automaton that gives phrases a bonus, token by token.

use std::collections::VecDeque;
use std::ops::Range;

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::error::{Error, Quantity};
use crate::support::ids::index;

/// A state of a [`ContextGraph`]: the parts of phrases seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ContextState(u32);

impl ContextState {
    /// Returns its index among [`ContextGraph::states`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Effect of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextMatch {
    /// Amount added to the score; less than 0 if the token ends a match that was not complete.
    pub score: f32,
    /// The state after it.
    pub state: ContextState,
    /// Longest phrase that it ends, as index among the phrases (the last of equal ones).
    pub matched: Option<usize>,
}

/// Data of a state of a [`ContextGraph`], with the names of icefall's `ContextState`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ContextNode {
    /// The last token on the way here; -1 at the start.
    pub token: i32,
    /// The bonus of that token.
    pub token_score: f32,
    /// The bonus of all tokens on the way here.
    pub node_score: f32,
    /// The bonus of the phrases that end here.
    pub output_score: f32,
    /// The phrase that ends here, as index among the phrases.
    pub phrase: Option<usize>,
    /// The state of the longest proper suffix of the tokens that has a state.
    pub fail: ContextState,
    /// The longest proper suffix at which a phrase ends.
    pub output: Option<ContextState>,
}

/// Phrases of tokens with a bonus for each of their tokens.
///
/// Each token that goes on with a phrase adds its bonus at once, so that beams keep hypotheses that
/// may become the phrase; if they do not, all of that is taken back. Phrases may begin within
/// others and end within them: a token is always matched with the longest beginning of a phrase
/// that the last tokens are ("Efficient string matching", 1975), and a token that ends several adds
/// the bonus of all.
///
/// If phrases share their beginning, its tokens have the larger bonus of both. This is icefall's
/// `ContextGraph`, except for a bonus that a later phrase raises: there, the states after a shared
/// token keep the sum of the smaller ones.
///
/// ```
/// use fsa::graphs::ContextGraph;
/// use ragged_core::Ragged;
///
/// let phrases = Ragged::from_lists(&[vec![1, 2, 3], vec![2, 9]])?;
/// let graph = ContextGraph::new(&phrases, &[1.0, 0.5])?;
/// let mut state = graph.start();
/// let mut scores = vec![];
/// for token in [1, 2, 9, 5] {
///     let step = graph.forward_one_step(state, token, true);
///     state = step.state;
///     scores.push((step.score, step.matched));
/// }
/// // After 1 2, the 9 makes 2 9 of it, which is worth 2 x 0.5; 5 keeps nothing but that.
/// assert_eq!(scores, [(1.0, None), (1.0, None), (0.0, Some(1)), (-1.0, None)]);
/// assert_eq!(graph.finalize(state), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ContextGraph {
    /// In the order of their depths; the children of each are consecutive, in the order of their
    /// tokens. The root is the first.
    nodes: Vec<Node>,
    /// For each phrase, the least acoustic probability at which it counts as heard.
    thresholds: Vec<f32>,
}

#[derive(Debug, Clone)]
struct Node {
    token: i32,
    /// The bonus of `token`.
    token_score: f32,
    /// The bonus of all tokens up to here.
    score: f32,
    /// The bonus of the phrases that end here.
    output_score: f32,
    /// The phrase that is the path to here.
    phrase: Option<usize>,
    children: Range<u32>,
    /// The node of the longest proper suffix of the tokens that has a node.
    fail: u32,
    /// The longest proper suffix at which a phrase ends.
    output: Option<u32>,
    parent: u32,
    /// The largest amount that a token can add here.
    most_gain: f32,
}

impl Node {
    fn new(token: i32, token_score: f32, score: f32, parent: u32) -> Self {
        let (fail, output, phrase, children) = (ROOT, None, None, 0..0);
        Self { token, token_score, score, output_score: 0.0, phrase, children, fail, output, parent, most_gain: 0.0 }
    }
}

const ROOT: u32 = 0;
/// The token of the root.
const NO_TOKEN: i32 = -1;

impl ContextGraph {
    /// Creates a graph of phrases, with the bonus of each token of each phrase. Phrases without
    /// tokens are left out. O(tokens), besides the time of sorting.
    ///
    /// # Errors
    /// [`Error::Axes`] if the phrases do not have two axes, [`Error::Size`] if there is not one
    /// bonus for each, [`Error::Score`] if one is not finite, [`Error::Symbol`] for a token below
    /// 0, [`Error::TooLarge`].
    pub fn new(phrases: &Ragged<i32>, scores: &[f32]) -> Result<Self, Error> {
        if phrases.num_axes() != 2 {
            return Err(Error::Axes { what: Quantity::Phrases, expected: 2, found: phrases.num_axes() });
        }
        Error::same_size(Quantity::Scores, phrases.num_rows(), scores.len())?;
        if let Some(arc) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::Score { arc, score: scores[arc] });
        }
        if let Some(position) = phrases.values().iter().position(|&token| token < 0) {
            return Err(Error::Symbol { position, symbol: phrases.values()[position], least: 0 });
        }
        Error::fit(Quantity::States, phrases.num_elements().saturating_add(2))?;
        let thresholds = vec![1.0; phrases.num_rows()];
        let mut made = Self { nodes: vec![Node::new(NO_TOKEN, 0.0, 0.0, ROOT)], thresholds };
        made.grow(phrases, scores)?;
        made.connect();
        Ok(made)
    }

    /// Sets a threshold for each phrase, for a keyword spotter: the least mean probability of its
    /// tokens at which it counts as heard; 1 without this.
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one for each phrase.
    #[doc(alias = "ac_threshold")]
    pub fn with_thresholds(mut self, thresholds: &[f32]) -> Result<Self, Error> {
        Error::same_size(Quantity::Scores, self.thresholds.len(), thresholds.len())?;
        self.thresholds = thresholds.to_vec();
        Ok(self)
    }

    /// Returns the threshold of a phrase, given its index.
    pub fn threshold(&self, phrase: usize) -> Option<f32> {
        self.thresholds.get(phrase).copied()
    }

    /// Builds the tree.
    fn grow(&mut self, phrases: &Ragged<i32>, scores: &[f32]) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..phrases.num_rows()).collect();
        order.sort_by(|&a, &b| phrases.row(a).cmp(phrases.row(b)).then(a.cmp(&b)));
        let empty = order.iter().take_while(|&&phrase| phrases.row(phrase).is_empty()).count();
        // Nodes whose children are to be made, with their depths and the phrases that go through
        // them.
        let mut waiting = VecDeque::from([(ROOT, 0, &order[empty..])]);
        while let Some((node, depth, through)) = waiting.pop_front() {
            let ends = through.iter().take_while(|&&phrase| phrases.row(phrase).len() == depth).count();
            let parent = &mut self.nodes[node as usize];
            parent.phrase = through[..ends].last().copied();
            let score = parent.score;
            let first = number(self.nodes.len())?;
            for group in through[ends..].chunk_by(|&a, &b| phrases.row(a)[depth] == phrases.row(b)[depth]) {
                let token = phrases.row(group[0])[depth];
                let token_score = group.iter().map(|&phrase| scores[phrase]).fold(f32::NEG_INFINITY, f32::max);
                waiting.push_back((number(self.nodes.len())?, depth + 1, group));
                self.nodes.push(Node::new(token, token_score, score + token_score, node));
            }
            self.nodes[node as usize].children = first..number(self.nodes.len())?;
        }
        Ok(())
    }

    /// Finds the node from which to go on if a token does not fit. Nodes come after all that have
    /// less depth.
    fn connect(&mut self) {
        for parent in 0..self.nodes.len() {
            for child in self.nodes[parent].children.clone() {
                let token = self.nodes[child as usize].token;
                let fail = if parent == 0 { ROOT } else { self.after(self.nodes[parent].fail, token) };
                let shorter = &self.nodes[fail as usize];
                let output = if shorter.phrase.is_some() { Some(fail) } else { shorter.output };
                let outputs = output.map_or(0.0, |output| self.nodes[output as usize].output_score);
                let node = &mut self.nodes[child as usize];
                (node.fail, node.output) = (fail, output);
                node.output_score = outputs + if node.phrase.is_some() { node.score } else { 0.0 };
            }
        }
        for state in 0..self.nodes.len() {
            let node = &self.nodes[state];
            let shorter = &self.nodes[node.fail as usize];
            let elsewhere = if state == 0 { 0.0 } else { shorter.most_gain + shorter.score - node.score };
            let children = &self.nodes[node.children.start as usize..node.children.end as usize];
            let gains = children.iter().map(|child| child.token_score + child.output_score);
            self.nodes[state].most_gain = gains.fold(elsewhere, f32::max);
        }
    }

    /// Returns the node after a token: the node of the longest beginning of a phrase that the last
    /// tokens are.
    fn after(&self, mut node: u32, token: i32) -> u32 {
        loop {
            if let Some(child) = self.child(node, token) {
                return child;
            }
            if node == ROOT {
                return ROOT;
            }
            node = self.nodes[node as usize].fail;
        }
    }

    fn child(&self, node: u32, token: i32) -> Option<u32> {
        let children = &self.nodes[node as usize].children;
        let nodes = &self.nodes[children.start as usize..children.end as usize];
        let place = nodes.binary_search_by_key(&token, |node| node.token).ok()?;
        Some(children.start + u32::try_from(place).expect("children are counted so"))
    }

    /// Returns the state before the first token.
    pub fn start(&self) -> ContextState {
        ContextState(ROOT)
    }

    /// Returns the number of states.
    pub fn num_states(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the data of a state; `None` if there is no such state.
    pub fn node(&self, state: ContextState) -> Option<ContextNode> {
        let node = self.nodes.get(state.0 as usize)?;
        Some(ContextNode {
            token: node.token,
            token_score: node.token_score,
            node_score: node.score,
            output_score: node.output_score,
            phrase: node.phrase,
            fail: ContextState(node.fail),
            output: node.output.map(ContextState),
        })
    }

    /// Returns all states, the start first.
    pub fn states(&self) -> impl Iterator<Item = ContextState> {
        (0..).take(self.nodes.len()).map(ContextState)
    }

    /// Returns the tokens that go on with a phrase after a state, in increasing order, each with
    /// the state that it leads to; none if there is no such state.
    pub fn children(&self, state: ContextState) -> impl Iterator<Item = (i32, ContextState)> {
        let children = self.nodes.get(state.index()).map_or(0..0, |node| node.children.clone());
        children.map(|child| (self.nodes[child as usize].token, ContextState(child)))
    }

    /// Returns the tokens that lead from the start to a state.
    pub fn prefix(&self, state: ContextState) -> Vec<i32> {
        let mut tokens = vec![];
        let mut at = state.0;
        while let Some(node) = self.nodes.get(at as usize).filter(|_| at != ROOT) {
            tokens.push(node.token);
            at = node.parent;
        }
        tokens.reverse();
        tokens
    }

    /// Returns the largest amount that a token can add in a state, including everything that it
    /// takes back. A search may use it as a bound when it prunes.
    ///
    /// # Panics
    /// If the state is of another graph that is larger.
    pub fn most_gain(&self, state: ContextState) -> f32 {
        self.nodes[state.0 as usize].most_gain
    }

    /// Takes a token. Unless `strict` is set, matching starts anew after a complete phrase, even if
    /// it is the beginning of a longer one or contains the beginning of another; the bonus is then
    /// the bonus of only the longest phrase. O(log of the phrases), on the average over the tokens.
    ///
    /// # Panics
    /// If the state is of another graph that is larger.
    pub fn forward_one_step(&self, state: ContextState, token: i32, strict: bool) -> ContextMatch {
        let before = &self.nodes[state.0 as usize];
        let after = self.after(state.0, token);
        let node = &self.nodes[after as usize];
        // A token that goes on with the same phrase has exactly its bonus; the difference would be
        // rounded.
        let goes_on = before.children.contains(&after);
        let score = if goes_on { node.token_score } else { node.score - before.score };
        let longest = if node.phrase.is_some() { Some(after) } else { node.output };
        let matched = longest.and_then(|longest| self.nodes[longest as usize].phrase);
        match longest {
            Some(longest) if !strict && node.output_score != 0.0 => {
                let bonus = self.nodes[longest as usize].score;
                ContextMatch { score: score + bonus - node.score, state: self.start(), matched }
            }
            _ => ContextMatch { score: score + node.output_score, state: ContextState(after), matched },
        }
    }

    /// Returns the amount that the end of the utterance adds to the score: it takes back the bonus
    /// of phrases that are not complete.
    ///
    /// # Panics
    /// If the state is of another graph that is larger.
    pub fn finalize(&self, state: ContextState) -> f32 {
        0.0 - self.nodes[state.0 as usize].score
    }

    /// Returns the graph as an acceptor of all strings of the tokens 1 to `max_token`, to be
    /// intersected or composed with lattices. State 0 is the root; an epsilon arc goes back from
    /// each other state to the one of fewer tokens.
    ///
    /// Such arcs can also be taken if a token would fit. If no bonus is below 0, the score of a
    /// best path of a string is the sum that [`forward_one_step`](Self::forward_one_step),
    /// strictly, and [`finalize`](Self::finalize) give.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if a phrase has the token 0 or one above `max_token`;
    /// [`Error::TooLarge`].
    pub fn to_fsa(&self, max_token: i32) -> Result<Fsa, Error> {
        let refused = |node: &&Node| node.token > max_token || node.token == EPSILON;
        if let Some(node) = self.nodes.iter().find(refused) {
            let (found, max) = (node.token.into(), max_token.into());
            return Err(Error::OutOfRange { what: Quantity::PhraseToken, min: 1, max, found });
        }
        let last = Error::fit(Quantity::States, self.nodes.len())?;
        Error::fit(Quantity::Arcs, self.nodes.len() * 2 + index(max_token.max(0)) + 1)?;
        let mut arcs = Vec::with_capacity(self.nodes.len() * 2 + index(max_token.max(0)));
        for (state, node) in (0..).zip(&self.nodes) {
            let mut children =
                node.children.clone().map(|child| &self.nodes[child as usize]).zip(node.children.clone());
            let arc = |(child, dest): (&Node, u32)| {
                Arc::new(state, dest.cast_signed(), child.token, child.token_score + child.output_score)
            };
            if state > 0 {
                let back = self.nodes[node.fail as usize].score - node.score;
                arcs.push(Arc::new(state, node.fail.cast_signed(), EPSILON, back));
                arcs.extend(children.map(arc));
            } else {
                let mut next = children.next();
                for token in 1..=max_token {
                    if next.is_some_and(|(child, _)| child.token == token) {
                        arcs.extend(next.map(arc));
                        next = children.next();
                    } else {
                        arcs.push(Arc::new(state, state, token, 0.0));
                    }
                }
                arcs.push(Arc::new(state, last, FINAL, 0.0));
            }
        }
        Fsa::from_arcs(self.nodes.len() + 1, arcs)
    }
}

fn number(nodes: usize) -> Result<u32, Error> {
    Error::fit(Quantity::States, nodes).map(i32::cast_unsigned)
}
