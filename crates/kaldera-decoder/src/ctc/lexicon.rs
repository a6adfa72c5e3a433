//! Hypotheses of words of a lexicon: flashlight's `LexiconDecoder`.
//!
//! The spellings of all words are a tree. A hypothesis is a node of it and the words before. If the
//! language model cannot distinguish some words later, the hypothesis has their common history in
//! the model. A node counts the model's score of the likeliest word below it (smearing); at the end
//! of a word, the word's own score replaces it.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use fsa::graphs::{ContextGraph, ContextState};
use fsa::io::SymbolTable;
use fsa::lattice::LanguageModel;
use kaldera_base::text::lines;

use crate::ctc::options::CtcDecoderOptions;
use crate::ctc::search::{Frame, Hypothesis, NO_WORD, Prefixes, Reach};
use crate::ctc::tree::LiveNodes;
use crate::error::Error;
use crate::hash::FastMap;
use crate::ids::{narrow, number};
use crate::result::Scores;

/// A node of the tree of spellings.
#[derive(Debug, Clone, Default)]
struct Node {
    /// Its first child; the children of a node are adjacent, sorted by their tokens.
    first_child: u32,
    num_children: u32,
    first_word: u32,
    num_words: u32,
    token: i32,
    /// Best score that the language model gives to a word below.
    best: f32,
}

/// Words and their spellings in tokens, as a tree.
///
/// ```
/// use kaldera_decoder::ctc::SpellingTree;
///
/// let mut words = fsa::io::SymbolTable::default();
/// let tree = SpellingTree::new(
///     [("go", vec![3, 1]), ("got", vec![3, 1, 2]), ("gó", vec![3, 1])],
///     &mut words
/// )?;
/// assert_eq!((tree.num_words(), tree.num_nodes()), (3, 4));
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "Trie")]
pub struct SpellingTree {
    nodes: Vec<Node>,
    words: Vec<i32>,
    symbols: SymbolTable,
    most_token: i32,
    scored: bool,
    /// The words that have a spelling, in the order of their numbers.
    spelled: Vec<i32>,
}

impl SpellingTree {
    /// Creates the tree of these words with their tokens. A word may have several spellings, and
    /// words may share one. Words get numbers from `symbols`, from 1 on. O(tokens log words).
    ///
    /// # Errors
    /// [`Error::EmptyPhrase`] for a word without tokens, [`Error::Token`] for a token below 0.
    pub fn new<T: AsRef<str>>(
        spellings: impl IntoIterator<Item = (T, Vec<i32>)>,
        symbols: &mut SymbolTable,
    ) -> Result<Self, Error> {
        if symbols.is_empty() {
            symbols.add("<eps>", 0)?;
        }
        let mut list: Vec<(Vec<i32>, i32)> = vec![];
        for (word, tokens) in spellings {
            let word = word.as_ref();
            if tokens.is_empty() {
                return Err(Error::EmptyPhrase { phrase: word.into() });
            }
            if tokens.iter().any(|&token| token < 0) {
                return Err(Error::Token { token: word.into(), reason: "it is spelled with a token below 0" });
            }
            list.push((tokens, symbols.find_or_add(word)?));
        }
        list.sort_unstable();
        list.dedup();
        let most_token = list.iter().flat_map(|(tokens, _)| tokens).copied().max().unwrap_or(-1);
        let mut spelled: Vec<i32> = list.iter().map(|&(_, word)| word).collect();
        spelled.sort_unstable();
        spelled.dedup();
        let mut made = Self {
            nodes: vec![Node::default()],
            words: vec![],
            symbols: symbols.clone(),
            most_token,
            scored: false,
            spelled,
        };
        // Nodes whose children are still to be made, with their depths and the spellings below
        // them.
        let mut waiting = std::collections::VecDeque::from([(0, 0, &list[..])]);
        while let Some((node, depth, through)) = waiting.pop_front() {
            let ends = through.iter().take_while(|(tokens, _)| tokens.len() == depth).count();
            let (first_child, first_word) = (number(made.nodes.len()), number(made.words.len()));
            made.words.extend(through[..ends].iter().map(|&(_, word)| word));
            for group in through[ends..].chunk_by(|(a, _), (b, _)| a[depth] == b[depth]) {
                waiting.push_back((made.nodes.len(), depth + 1, group));
                made.nodes.push(Node { token: group[0].0[depth], ..Node::default() });
            }
            let num_children = number(made.nodes.len()) - first_child;
            let node: &mut Node = &mut made.nodes[node];
            (node.first_child, node.num_children) = (first_child, num_children);
            (node.first_word, node.num_words) = (first_word, number(ends));
        }
        Ok(made)
    }

    /// Reads a lexicon. Each line has a word and the tokens that spell it; `number` returns the
    /// number of a token. Empty lines are skipped.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Untokenizable`] for an unknown token.
    pub fn read(text: &str, number: impl Fn(&str) -> Option<i32>, symbols: &mut SymbolTable) -> Result<Self, Error> {
        let mut spellings = vec![];
        for (_, line) in lines(text) {
            let mut fields = line.split_ascii_whitespace();
            let Some(word) = fields.next() else { continue };
            let token = |field: &str| {
                let unknown = || Error::Untokenizable { phrase: word.into(), part: field.into() };
                number(field).ok_or_else(unknown)
            };
            spellings.push((word, fields.map(token).collect::<Result<Vec<_>, _>>()?));
        }
        Self::new(spellings, symbols)
    }

    /// Gives each node the language model's score of the likeliest word below it, as flashlight's
    /// `smear` with `SmearingMode::MAX` does. Nodes that lead only to rare words are then pruned
    /// earlier.
    #[must_use]
    #[doc(alias = "smear")]
    pub fn smeared<M: LanguageModel>(mut self, model: &M) -> Self {
        for node in (0..self.nodes.len()).rev() {
            let Node { first_child, num_children, first_word, num_words, .. } = self.nodes[node];
            let words = &self.words[first_word as usize..(first_word + num_words) as usize];
            let unigram = |&word: &i32| model.step(model.null_context(), word).map(|(_, score)| narrow(score));
            let own = words.iter().filter_map(unigram).fold(f32::NEG_INFINITY, f32::max);
            let children = &self.nodes[first_child as usize..(first_child + num_children) as usize];
            self.nodes[node].best = children.iter().map(|child| child.best).fold(own, f32::max);
        }
        // The root's own best is part of no hypothesis.
        let root = self.nodes[0].best;
        if root > f32::NEG_INFINITY {
            for node in &mut self.nodes {
                // Words that the model does not know have no score.
                node.best = if node.best == f32::NEG_INFINITY { 0.0 } else { node.best };
            }
            self.nodes[0].best = 0.0;
            self.scored = true;
        }
        self
    }

    /// Returns the number of spellings.
    pub fn num_words(&self) -> usize {
        self.words.len()
    }

    /// Returns the number of nodes of the tree, with its root.
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the words and their numbers.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// Returns the words that have a spelling, each once.
    pub fn spelled_words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.spelled.iter().map(|&word| self.symbols.get(word).unwrap_or_default())
    }

    /// Returns `true` if a word has a spelling.
    pub(crate) fn spells(&self, word: i32) -> bool {
        self.spelled.binary_search(&word).is_ok()
    }

    /// Returns the largest token of a spelling, or -1.
    pub(crate) fn most_token(&self) -> i32 {
        self.most_token
    }

    /// Returns a word that is spelled with a token.
    pub(crate) fn word_with(&self, token: i32) -> Option<&str> {
        // The root has no token.
        let mut node = &self.nodes[1..][self.nodes[1..].iter().position(|node| node.token == token)?];
        // All nodes lead to words.
        while node.num_words == 0 {
            node = self.nodes.get(node.first_child as usize)?;
        }
        self.symbols.get(*self.words.get(node.first_word as usize)?)
    }

    fn children(&self, node: u32) -> impl Iterator<Item = (u32, &Node)> {
        let node = &self.nodes[node as usize];
        let range = node.first_child..node.first_child + node.num_children;
        range.clone().zip(&self.nodes[range.start as usize..range.end as usize])
    }

    fn words(&self, node: u32) -> &[i32] {
        let node = &self.nodes[node as usize];
        &self.words[node.first_word as usize..(node.first_word + node.num_words) as usize]
    }
}

/// Some words, or all words that have the same future.
#[derive(Debug, Clone, Copy)]
struct History<L> {
    /// The history before its last word. If histories are merged, which may have several before
    /// them, it is the root.
    parent: u32,
    model: Option<L>,
    hot: ContextState,
}

/// A node of the tree of spellings after some words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LexiconState {
    node: u32,
    history: u32,
}

/// The history after a word, and the scores of the word.
#[derive(Debug, Clone, Copy)]
struct Step {
    history: u32,
    language_model: f64,
    insertion: f64,
    hot_words: f64,
}

pub(crate) struct LexiconPrefixes<M: LanguageModel> {
    tree: Arc<SpellingTree>,
    separator: Option<i32>,
    histories: Histories<M>,
}

/// The histories of a search.
struct Histories<M: LanguageModel> {
    options: Arc<CtcDecoderOptions>,
    model: Option<Arc<M>>,
    hot: Option<Arc<ContextGraph>>,
    list: Vec<History<M::State>>,
    /// Histories by the state on which their future depends; used if equal ones are merged.
    same: FastMap<(Option<M::State>, ContextState), u32>,
    steps: FastMap<(u32, i32), Option<Step>>,
}

impl<M: LanguageModel> Clone for LexiconPrefixes<M> {
    fn clone(&self) -> Self {
        let Histories { options, model, hot, list, same, steps } = &self.histories;
        let histories = Histories {
            options: Arc::clone(options),
            model: model.clone(),
            hot: hot.clone(),
            list: list.clone(),
            same: same.clone(),
            steps: steps.clone(),
        };
        Self { tree: Arc::clone(&self.tree), separator: self.separator, histories }
    }
}

const ROOT: u32 = 0;

impl<M: LanguageModel> LexiconPrefixes<M> {
    pub(crate) fn new(
        options: Arc<CtcDecoderOptions>,
        (tree, separator): (Arc<SpellingTree>, Option<i32>),
        model: Option<Arc<M>>,
        hot: Option<Arc<ContextGraph>>,
    ) -> Self {
        let start =
            model.as_ref().map(|model| if options.score_boundary { model.start() } else { model.null_context() });
        let first = History { parent: ROOT, model: start, hot: ContextState::default() };
        let same = FastMap::from_iter([((first.model, first.hot), 0)]);
        let histories = Histories { options, model, hot, list: vec![first], same, steps: FastMap::default() };
        Self { tree, separator, histories }
    }

    pub(crate) fn tree(&self) -> &SpellingTree {
        &self.tree
    }
}

impl<M: LanguageModel> Histories<M> {
    fn step(&mut self, history: u32, word: i32) -> Option<Step> {
        if let Some(&known) = self.steps.get(&(history, word)) {
            return known;
        }
        let before = self.list[history as usize];
        let parent = if self.options.prune_history { ROOT } else { history };
        let mut after = History { parent, ..before };
        let mut step = Step { history, language_model: 0.0, insertion: self.options.word_score, hot_words: 0.0 };
        let mut forbidden = false;
        if let (Some(model), Some(state)) = (&self.model, before.model) {
            match model.step(state, word) {
                Some((state, score)) => {
                    after.model = Some(state);
                    step.language_model = self.options.lm_weight * score;
                }
                None => {
                    after.model = Some(model.null_context());
                    step.insertion += self.options.unk_score;
                    forbidden = self.options.unk_score == f64::NEG_INFINITY;
                }
            }
        }
        if let Some(hot) = &self.hot {
            let matched = hot.forward_one_step(before.hot, word, true);
            after.hot = matched.state;
            step.hot_words = f64::from(matched.score);
        }
        let result = (!forbidden).then(|| {
            let next = number(self.list.len());
            step.history = if self.options.prune_history {
                match self.same.entry((after.model, after.hot)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => {
                        self.list.push(after);
                        *place.insert(next)
                    }
                }
            } else {
                self.list.push(after);
                next
            };
            step
        });
        self.steps.insert((history, word), result);
        result
    }
}

impl<M: LanguageModel> Prefixes for LexiconPrefixes<M> {
    type State = LexiconState;

    fn start(&mut self) -> LexiconState {
        LexiconState { node: ROOT, history: 0 }
    }

    fn most_gain(&self, _: LexiconState) -> f64 {
        f64::INFINITY
    }

    fn extend(
        &mut self,
        hypothesis: &Hypothesis<LexiconState>,
        frame: &Frame<'_>,
        reach: &mut Reach<'_, LexiconState>,
    ) {
        let LexiconState { node, history } = hypothesis.state;
        let (tree, histories) = (&*self.tree, &mut self.histories);
        let weight = if tree.scored { histories.options.lm_weight } else { 0.0 };
        let smeared = f64::from(tree.nodes[node as usize].best) * weight;
        let separator = self.separator.filter(|&token| node == ROOT && token != hypothesis.last);
        if let Some((separator, score)) = separator.and_then(|token| Some((token, frame.score(token)?))) {
            let mut extra = hypothesis.scores;
            extra.insertion += histories.options.sil_score;
            reach.token(hypothesis, separator, score, (hypothesis.state, extra, NO_WORD));
        }
        for (child, next) in tree.children(node).filter(|(_, next)| next.token != hypothesis.last) {
            let Some(score) = frame.score(next.token) else { continue };
            let ahead = f64::from(next.best) * weight - smeared;
            if next.num_children > 0 && hypothesis.total + score + ahead >= reach.cut() {
                let mut extra = hypothesis.scores;
                extra.language_model += ahead;
                let state = LexiconState { node: child, history };
                reach.token(hypothesis, next.token, score, (state, extra, NO_WORD));
            }
            for &word in tree.words(child) {
                let Some(step) = histories.step(history, word) else { continue };
                let mut extra = hypothesis.scores;
                extra.language_model += step.language_model - smeared;
                extra.insertion += step.insertion;
                extra.hot_words += step.hot_words;
                if hypothesis.scores.acoustic + score + extra.extra() >= reach.cut() {
                    let state = LexiconState { node: ROOT, history: step.history };
                    reach.token(hypothesis, next.token, score, (state, extra, word));
                }
            }
        }
    }

    fn finish(&mut self, hypothesis: &Hypothesis<LexiconState>, complete: bool) -> Option<(LexiconState, Scores, i32)> {
        if hypothesis.state.node != ROOT {
            // While more frames may come, the hypothesis may be within a word.
            return (!complete).then_some((hypothesis.state, hypothesis.scores, NO_WORD));
        }
        let Histories { options, model, hot, list, .. } = &self.histories;
        let history = list[hypothesis.state.history as usize];
        let mut extra = hypothesis.scores;
        if let Some(hot) = hot {
            extra.hot_words += f64::from(hot.finalize(history.hot));
        }
        if let (true, Some(model), Some(state)) = (complete && options.score_boundary, model, history.model) {
            extra.language_model += options.lm_weight * model.end(state)?;
        }
        Some((hypothesis.state, extra, NO_WORD))
    }

    fn future(&mut self, state: LexiconState) -> (u32, u32) {
        (state.history, state.node)
    }

    fn size(&self) -> usize {
        self.histories.list.len() + self.histories.steps.len()
    }

    fn compact(&mut self, states: &mut [LexiconState]) {
        let Histories { options, list, same, steps, .. } = &mut self.histories;
        let kept = LiveNodes::new(|history| list[history as usize].parent, states.iter().map(|state| state.history));
        let renumbered = |&old: &u32| {
            let history = list[old as usize];
            History { parent: kept.number(history.parent).unwrap_or(ROOT), ..history }
        };
        *list = kept.nodes().iter().map(renumbered).collect();
        same.clear();
        if options.prune_history {
            same.extend((0..).zip(&*list).map(|(number, of)| ((of.model, of.hot), number)));
        }
        // A step that is dropped is computed again.
        let kept_steps = steps.drain().filter_map(|((from, word), step)| {
            let step = step?;
            Some(((kept.number(from)?, word), Some(Step { history: kept.number(step.history)?, ..step })))
        });
        *steps = kept_steps.collect();
        for state in states {
            state.history = kept.number(state.history).unwrap_or(ROOT);
        }
    }
}
