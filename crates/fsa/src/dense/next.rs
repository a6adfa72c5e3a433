//! The states of the next frame while the arcs that lead to them are followed.

use crate::dense::active::Token;
use crate::dense::trellis::Link;
use crate::support::ids::number;

/// A token, with the data that is read again and again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    pub(super) of_graph: u32,
    pub(super) source: u32,
    pub(super) last: i32,
    /// Relative to the best score of the frame.
    pub(super) before: f32,
}

/// The states of the next frame so far, and the links into them.
pub(super) struct Next<'a> {
    /// For each state of the graph, its index among the tokens of some frame; the token at that
    /// index says whether it is of this frame. So nothing has to be cleared.
    pub(super) slots: &'a mut Vec<u32>,
    pub(super) tokens: &'a mut Vec<Token>,
    pub(super) links: &'a mut Vec<Link>,
    /// The best score so far.
    pub(super) best: f32,
    /// A score must be above this to be needed; it rises with the best score.
    pub(super) cutoff: f32,
    pub(super) beam: f32,
    pub(super) output_beam: f32,
    /// Buffer for an order of the tokens that are followed.
    pub(super) order: &'a mut Vec<Last>,
}

impl Next<'_> {
    /// Notes that some state is going to have this score.
    #[inline(always)]
    pub(super) fn expect(&mut self, score: f32) {
        if score > self.best {
            self.best = score;
            self.cutoff = (score - self.beam).next_down();
        }
    }

    /// Returns the lowest score whose links can be needed in addition to another path to the same
    /// state with the score `beside`.
    pub(super) fn candidates(&self, beside: f32) -> f32 {
        beside - self.output_beam
    }

    /// Returns `true` if a path with this score may be needed.
    #[inline(always)]
    pub(super) fn needs(&self, score: f32) -> bool {
        score > self.cutoff
    }

    /// Adds a path with the score `before` from the token `source` over an arc with the score
    /// `score` to the state `dest`. Returns `true` if it is needed; if not, no path with a lower
    /// score is.
    #[inline(always)]
    pub(super) fn reach(&mut self, source: u32, before: f32, dest: u32, arc: u32, score: f32) -> bool {
        let total = before + score;
        total > self.cutoff && self.enter(total, Link { source, dest, arc, score })
    }

    /// Adds a link, which names the state of the graph as its end.
    #[inline(always)]
    fn enter(&mut self, total: f32, link: Link) -> bool {
        self.expect(total);
        let dest = self.token_of(link.dest);
        let token = &mut self.tokens[dest as usize];
        if total > token.score {
            token.score = total;
        } else if total < token.score - self.output_beam {
            return false;
        }
        self.links.push(Link { dest, ..link });
        true
    }

    /// Returns the index of the token of a state; if there is none yet, a token with the score -inf
    /// is added.
    #[inline(always)]
    pub(super) fn token_of(&mut self, state: u32) -> u32 {
        if state as usize >= self.slots.len() {
            self.grow(state);
        }
        let slot = &mut self.slots[state as usize];
        if self.tokens.get(*slot as usize).is_none_or(|token| token.state != state) {
            *slot = number(self.tokens.len());
            self.tokens.push(Token { state, score: f32::NEG_INFINITY });
        }
        *slot
    }

    /// Returns the index of the token of a state.
    #[inline]
    pub(super) fn place_of(&self, state: u32) -> Option<u32> {
        let slot = *self.slots.get(state as usize)?;
        self.tokens.get(slot as usize).filter(|token| token.state == state).map(|_| slot)
    }

    /// Makes room for a state that a graph gets while it is searched.
    #[cold]
    fn grow(&mut self, state: u32) {
        self.slots.resize(2 * (state as usize + 1), 0);
    }

    /// Adds a path with the score `total` over `link` from a token of this frame.
    pub(super) fn enter_within(&mut self, link: Link, total: f32) {
        let token = &mut self.tokens[link.dest as usize];
        token.score = token.score.max(total);
        self.best = self.best.max(total);
        self.links.push(link);
    }

    /// Adds the first state of all, with the score 0.
    pub(super) fn begin(&mut self, state: u32) {
        self.expect(0.0);
        let start = self.token_of(state);
        self.tokens[start as usize].score = 0.0;
    }
}
