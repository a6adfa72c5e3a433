//! The states that a frame reaches over epsilon arcs, without a class.

use crate::dense::active::Token;
use crate::dense::graph::{DecodingGraph, EpsilonArc};
use crate::dense::next::Next;
use crate::dense::trellis::Link;

/// A gain around a cycle of epsilon arcs up to this (for scores of size 1) is taken for rounding of
/// the scores when they were written in single precision: such a cycle is one with the score 0.
const ROUNDING: f64 = 16.0 * f32::EPSILON as f64;

/// Paths of a lattice go around cycles that cost more than this; others have the score 0 but for
/// rounding, and paths around them no end.
const LEAST_COST: f64 = 1e-4;

/// Memory for [`Closure::close`].
#[derive(Debug, Default)]
pub(super) struct Closure {
    tokens: Vec<Reached>,
    /// The tokens whose arcs are to be followed in this round, and in the next one.
    queue: Vec<u32>,
    later: Vec<u32>,
    links: Vec<Link>,
    /// The links that would close a cycle.
    closing: Vec<Link>,
    /// Offset of the links of each token, and the end of the last ones.
    first_links: Vec<usize>,
    /// For each token, the number of links that enter it from tokens that are not in the order yet.
    entering: Vec<u32>,
    ready: Vec<u32>,
    /// For each token, the best score of a path from some other one.
    around: Vec<f64>,
}

/// The best way to a token.
#[derive(Debug, Clone, Copy)]
struct Reached {
    /// In double precision, so that a cycle with the score 0 gains nothing.
    score: f64,
    /// The token before it; [`NONE`] if that is one of the frame before.
    parent: u32,
    queued: bool,
}

/// Value that stands for no token.
const NONE: u32 = u32::MAX;

/// Epsilon arcs around which scores grow without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Endless {
    /// A state on the cycle.
    pub(super) state: u32,
    /// Number of times that tokens were looked at.
    pub(super) visits: u64,
}

impl Closure {
    /// Follows epsilon arcs from the tokens above the cutoff, which no longer moves, until nothing
    /// is better; adds tokens and links. Each link stands behind the links that enter its source,
    /// except for some at the end that close cycles with a score below 0. Their number is returned;
    /// no best path takes any of these.
    ///
    /// Rounds over all tokens that have become better: O(tokens + epsilon arcs) if no token has
    /// become better in two of them, which is the rule, and at most the product.
    ///
    /// # Errors
    /// A cycle with a positive score.
    pub(super) fn close<G: DecodingGraph>(&mut self, graph: &G, next: &mut Next<'_>) -> Result<usize, Endless> {
        self.relax(graph, next)?;
        self.find_links(graph, next);
        if !self.links.is_empty() {
            self.put_in_order(next);
        }
        let mut closing = std::mem::take(&mut self.closing);
        closing.retain(|link| self.cycle_score(link) < -LEAST_COST);
        self.closing = closing;
        next.links.extend_from_slice(&self.closing);
        Ok(self.closing.len())
    }

    /// Finds the best score of each token, in rounds (Bellman and Ford).
    fn relax<G: DecodingGraph>(&mut self, graph: &G, next: &mut Next<'_>) -> Result<(), Endless> {
        let cutoff = f64::from(next.cutoff);
        self.tokens.clear();
        self.queue.clear();
        for (place, token) in (0..).zip(next.tokens.iter()) {
            let queued = token.score > next.cutoff;
            self.tokens.push(Reached { score: f64::from(token.score), parent: NONE, queued });
            if queued {
                self.queue.push(place);
            }
        }
        let (mut rounds, mut visits) = (0, 0);
        while !self.queue.is_empty() {
            // The best path to a token passes each token once, and is found in as many rounds.
            if rounds > self.tokens.len() {
                return Err(Endless { state: self.on_cycle(next.tokens), visits });
            }
            rounds += 1;
            for i in 0..self.queue.len() {
                let source = self.queue[i];
                let from = &mut self.tokens[source as usize];
                from.queued = false;
                let before = from.score;
                visits += 1;
                for EpsilonArc { dest: state, score, .. } in graph.epsilon_arcs(next.tokens[source as usize].state) {
                    let total = before + f64::from(score);
                    if total <= cutoff {
                        continue;
                    }
                    let dest = next.token_of(state);
                    if dest as usize == self.tokens.len() {
                        self.tokens.push(Reached { score: f64::NEG_INFINITY, parent: NONE, queued: false });
                    }
                    let reached = &mut self.tokens[dest as usize];
                    if total > reached.score + ROUNDING * f64::from(score).abs().max(1.0) {
                        (reached.score, reached.parent) = (total, source);
                        if !std::mem::replace(&mut reached.queued, true) {
                            self.later.push(dest);
                        }
                    }
                }
            }
            self.queue.clear();
            std::mem::swap(&mut self.queue, &mut self.later);
        }
        Ok(())
    }

    /// Returns a state on a cycle, if scores still grow after so many rounds.
    fn on_cycle(&self, tokens: &[Token]) -> u32 {
        let parent = |token: u32| match self.tokens[token as usize].parent {
            NONE => token,
            parent => parent,
        };
        // As many steps back as there are tokens end on the cycle.
        let token = (0..self.tokens.len()).fold(self.queue[0], |token, _| parent(token));
        tokens[token as usize].state
    }

    /// Finds the links over epsilon arcs that can be part of a lattice, by their sources.
    fn find_links<G: DecodingGraph>(&mut self, graph: &G, next: &Next<'_>) {
        let (cutoff, beam) = (f64::from(next.cutoff), f64::from(next.output_beam));
        self.links.clear();
        self.closing.clear();
        self.first_links.clear();
        for (source, (from, token)) in (0..).zip(self.tokens.iter().zip(next.tokens.iter())) {
            self.first_links.push(self.links.len());
            if from.score <= cutoff {
                continue;
            }
            for EpsilonArc { arc, dest: state, score } in graph.epsilon_arcs(token.state) {
                let Some(dest) = next.place_of(state) else { continue };
                let (reached, total) = (&self.tokens[dest as usize], from.score + f64::from(score));
                let is_best = reached.parent == source;
                let tolerance = ROUNDING * f64::from(score).abs().max(1.0);
                if !(total > cutoff || is_best) || total + tolerance < reached.score - beam {
                    continue;
                }
                let link = Link { source, dest, arc, score };
                if dest == source {
                    self.closing.push(link);
                } else {
                    self.links.push(link);
                }
            }
        }
        self.first_links.push(self.links.len());
    }

    /// Returns the best score around a cycle over a link.
    fn cycle_score(&mut self, closing: &Link) -> f64 {
        self.around.clear();
        self.around.resize(self.tokens.len(), f64::NEG_INFINITY);
        self.around[closing.dest as usize] = 0.0;
        self.queue.clear();
        self.queue.push(closing.dest);
        let mut done = 0;
        while let Some(&source) = self.queue.get(done) {
            done += 1;
            for link in &self.links[self.first_links[source as usize]..self.first_links[source as usize + 1]] {
                let score = f64::from(link.score);
                let total = self.around[source as usize] + score;
                if total > self.around[link.dest as usize] + ROUNDING * score.abs().max(1.0) {
                    self.around[link.dest as usize] = total;
                    self.queue.push(link.dest);
                }
            }
        }
        self.around[closing.source as usize] + f64::from(closing.score)
    }

    /// Adds the links in topological order, and gives tokens their scores over them.
    fn put_in_order(&mut self, next: &mut Next<'_>) {
        self.entering.clear();
        self.entering.resize(self.tokens.len(), 0);
        self.links.iter().for_each(|link| self.entering[link.dest as usize] += 1);
        self.ready.clear();
        let num_left = self.entering.iter().filter(|&&links| links > 0).count();
        let starts = (0..).zip(&self.entering).filter(|&(_, &links)| links == 0).map(|(token, _)| token);
        self.ready.extend(starts);
        let num_starts = self.ready.len();
        let mut done = 0;
        let mut rest: Option<std::vec::IntoIter<u32>> = None;
        loop {
            while let Some(&source) = self.ready.get(done) {
                done += 1;
                let score = next.tokens[source as usize].score;
                for i in self.first_links[source as usize]..self.first_links[source as usize + 1] {
                    let link = self.links[i];
                    let left = &mut self.entering[link.dest as usize];
                    if *left == 0 {
                        // It is in the order already.
                        self.closing.push(link);
                        continue;
                    }
                    *left -= 1;
                    if *left == 0 {
                        self.ready.push(link.dest);
                    }
                    next.enter_within(link, score + link.score);
                }
            }
            if done == num_starts + num_left {
                return;
            }
            // Cycles and tokens behind them are left. The best path to the one with the fewest
            // epsilon arcs on it comes from one that is in the order.
            let rest = rest.get_or_insert_with(|| by_length(&self.tokens, &self.entering).into_iter());
            let Some(token) = rest.find(|&token| self.entering[token as usize] > 0) else { return };
            self.entering[token as usize] = 0;
            self.ready.push(token);
        }
    }
}

/// Returns the tokens that are entered by links that are not in the order yet, by the number of
/// epsilon arcs on their best paths.
fn by_length(tokens: &[Reached], entering: &[u32]) -> Vec<u32> {
    let left = (0..).zip(entering).filter(|&(_, &links)| links > 0).map(|(token, _)| token);
    let mut lengths: Vec<_> = left.map(|token| (length(tokens, token), token)).collect();
    lengths.sort_unstable();
    lengths.into_iter().map(|(_, token)| token).collect()
}

/// Returns the number of epsilon arcs on the best path to a token.
fn length(tokens: &[Reached], token: u32) -> usize {
    let before = |&token: &u32| Some(tokens[token as usize].parent).filter(|&parent| parent != NONE);
    std::iter::successors(Some(token), before).take(tokens.len()).count()
}
