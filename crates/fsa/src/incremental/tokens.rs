//! The tokens of all frames, the links between them, and their pruning.

use std::collections::HashMap;

use crate::support::ids::{NONE, number};

/// A state of the graph that a path has reached in a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    /// Cost of the best path to it, less the offsets of the frames.
    pub(super) cost: f32,
    /// Cost of the best path over it in excess of the best path, as far as is known. 0 in the last
    /// frame.
    pub(super) extra: f32,
    /// The first of the links that leave it.
    pub(super) links: u32,
    /// The next token of its frame.
    pub(super) next: u32,
    /// The token before it on its best path.
    pub(super) back: u32,
    /// Number of tokens added before it; no other token has it.
    pub(super) number: u32,
}

/// An arc between two tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) dest: u32,
    pub(super) label: i32,
    pub(super) word: i32,
    pub(super) graph: f32,
    /// With the offset of the frame.
    pub(super) acoustic: f32,
    /// The next link of the same token.
    pub(super) next: u32,
}

/// The tokens after so many frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The newest token.
    pub(super) tokens: u32,
    must_prune_links: bool,
    must_prune_tokens: bool,
    /// Number of tokens before those that did not stay were last removed, once it was counted: the
    /// end of a stretch depends on it, as in Kaldi.
    pub(super) count: Option<u32>,
}

/// All tokens and links. The place of a removed one is used again.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    tokens: Vec<Token>,
    links: Vec<Link>,
    unused_token: u32,
    unused_link: u32,
    /// One more than there are frames.
    pub(super) frames: Vec<Frame>,
    /// For each frame, the number that was added to its acoustic costs.
    pub(super) offsets: Vec<f32>,
    /// The oldest token.
    pub(super) start: u32,
    num_added: u32,
}

/// Costs of ending in the tokens of the last frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Finals {
    /// Cost of each token whose state is final.
    pub(super) costs: HashMap<u32, f32>,
    /// Cost of the best path that ends, in excess of the best path.
    pub(super) relative: f32,
    /// Cost of the best path that ends; if there is none, of the best path.
    pub(super) best: f32,
}

impl Finals {
    /// Returns the cost of ending in a token; if there are no final states, all tokens end.
    pub(super) fn cost(&self, token: u32) -> f32 {
        if self.costs.is_empty() { 0.0 } else { self.costs.get(&token).copied().unwrap_or(f32::INFINITY) }
    }
}

impl Tokens {
    pub(super) fn new() -> Self {
        Self {
            tokens: Vec::new(),
            links: Vec::new(),
            unused_token: NONE,
            unused_link: NONE,
            frames: Vec::new(),
            offsets: Vec::new(),
            start: NONE,
            num_added: 0,
        }
    }

    /// Removes everything and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.links.clear();
        self.frames.clear();
        self.offsets.clear();
        (self.unused_token, self.unused_link, self.start) = (NONE, NONE, NONE);
    }

    pub(super) fn add_frame(&mut self) {
        self.frames.push(Frame { tokens: NONE, must_prune_links: true, must_prune_tokens: true, count: None });
    }

    /// Returns the number of frames taken.
    pub(super) fn num_frames(&self) -> usize {
        self.frames.len().saturating_sub(1)
    }

    #[inline(always)]
    pub(super) fn token(&self, token: u32) -> &Token {
        &self.tokens[token as usize]
    }

    #[inline(always)]
    pub(super) fn token_mut(&mut self, token: u32) -> &mut Token {
        &mut self.tokens[token as usize]
    }

    /// Adds a token to the last frame.
    pub(super) fn add_token(&mut self, cost: f32, back: u32) -> u32 {
        let next = self.frames.last().map_or(NONE, |frame| frame.tokens);
        let token = Token { cost, extra: 0.0, links: NONE, next, back, number: self.num_added };
        self.num_added = self.num_added.wrapping_add(1);
        let at = match self.unused_token {
            NONE => {
                self.tokens.push(token);
                number(self.tokens.len() - 1)
            }
            unused => {
                self.unused_token = std::mem::replace(&mut self.tokens[unused as usize], token).next;
                unused
            }
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.tokens = at;
        }
        at
    }

    /// Adds a link in front of the others of a token.
    #[inline]
    pub(super) fn add_link(&mut self, source: u32, mut link: Link) {
        link.next = self.tokens[source as usize].links;
        self.tokens[source as usize].links = match self.unused_link {
            NONE => {
                self.links.push(link);
                number(self.links.len() - 1)
            }
            unused => {
                self.unused_link = std::mem::replace(&mut self.links[unused as usize], link).next;
                unused
            }
        };
    }

    fn remove_link(&mut self, link: u32) {
        self.links[link as usize].next = self.unused_link;
        self.unused_link = link;
    }

    /// Removes all links that leave a token.
    pub(super) fn remove_links(&mut self, token: u32) {
        let mut link = std::mem::replace(&mut self.tokens[token as usize].links, NONE);
        while link != NONE {
            let next = self.links[link as usize].next;
            self.remove_link(link);
            link = next;
        }
    }

    /// Returns the tokens after so many frames, the newest first.
    pub(super) fn of_frame(&self, frame: usize) -> impl Iterator<Item = u32> {
        let first = self.frames.get(frame).map_or(NONE, |frame| frame.tokens);
        std::iter::successors((first != NONE).then_some(first), |&token| {
            Some(self.tokens[token as usize].next).filter(|&next| next != NONE)
        })
    }

    /// Returns the links of a token, the newest first.
    pub(super) fn links_of(&self, token: u32) -> impl Iterator<Item = &Link> {
        let get = |link: u32| self.links.get(link as usize);
        std::iter::successors(get(self.tokens[token as usize].links), move |link| get(link.next))
    }

    /// Removes the links of a token that are on no path within the beam; returns the extra cost of
    /// the best that stays, at most `extra`, and `true` if a link was removed.
    fn prune_links_of(&mut self, token: u32, mut extra: f32, beam: f32) -> (f32, bool) {
        let Token { cost, links, .. } = self.tokens[token as usize];
        let (mut before, mut link, mut removed) = (NONE, links, false);
        while link != NONE {
            let Link { dest, graph, acoustic, next, .. } = self.links[link as usize];
            let to = self.tokens[dest as usize];
            let link_extra = to.extra + (((cost + acoustic) + graph) - to.cost);
            if link_extra > beam {
                match before {
                    NONE => self.tokens[token as usize].links = next,
                    before => self.links[before as usize].next = next,
                }
                self.remove_link(link);
                removed = true;
            } else {
                // Rounding could make it less than 0.
                extra = extra.min(link_extra.max(0.0));
                before = link;
            }
            link = next;
        }
        (extra, removed)
    }

    /// Prunes the links that leave the tokens after `frame` frames. Returns `true` twice: if extra
    /// costs changed by more than `delta`, and if links were removed.
    fn prune_links(&mut self, frame: usize, beam: f32, delta: f32) -> (bool, bool) {
        let (mut any_changed, mut any_removed) = (false, false);
        loop {
            let mut changed = false;
            let mut token = self.frames[frame].tokens;
            while token != NONE {
                let (extra, removed) = self.prune_links_of(token, f32::INFINITY, beam);
                any_removed |= removed;
                let old = std::mem::replace(&mut self.tokens[token as usize].extra, extra);
                // Two infinite costs do not differ: their difference is NaN.
                changed |= (extra - old).abs() > delta;
                token = self.tokens[token as usize].next;
            }
            any_changed |= changed;
            if !changed {
                return (any_changed, any_removed);
            }
        }
    }

    /// Removes the tokens after `frame` frames from which no path within the beam goes on.
    fn prune_tokens(&mut self, frame: usize) {
        let (mut before, mut token, mut count) = (NONE, self.frames[frame].tokens, 0);
        while token != NONE {
            let Token { extra, next, .. } = self.tokens[token as usize];
            if extra == f32::INFINITY {
                match before {
                    NONE => self.frames[frame].tokens = next,
                    before => self.tokens[before as usize].next = next,
                }
                self.remove_links(token);
                self.tokens[token as usize].next = self.unused_token;
                self.unused_token = token;
            } else {
                before = token;
            }
            count += 1;
            token = next;
        }
        self.frames[frame].count = Some(count);
    }

    /// Prunes backwards from the last frame, whose tokens all stay, until extra costs change by no
    /// more than `delta`.
    #[doc(alias = "PruneActiveTokens")]
    pub(super) fn prune(&mut self, beam: f32, delta: f32) {
        let last = self.num_frames();
        if self.frames[last].count.is_none() {
            self.frames[last].count = Some(number(self.of_frame(last).count()));
        }
        for frame in (0..last).rev() {
            if self.frames[frame].must_prune_links {
                let (changed, removed) = self.prune_links(frame, beam, delta);
                if changed && frame > 0 {
                    self.frames[frame - 1].must_prune_links = true;
                }
                if removed {
                    self.frames[frame].must_prune_tokens = true;
                }
                self.frames[frame].must_prune_links = false;
            }
            if frame + 1 < last && self.frames[frame + 1].must_prune_tokens {
                self.prune_tokens(frame + 1);
                self.frames[frame + 1].must_prune_tokens = false;
            }
        }
    }

    /// Prunes all frames with the costs of ending in the tokens of the last one.
    #[doc(alias = "FinalizeDecoding")]
    pub(super) fn prune_final(&mut self, finals: &Finals, beam: f32) {
        /// Kaldi's bound for a change of costs, relative to their size.
        const DELTA: f32 = 1e-5;
        let last = self.num_frames();
        loop {
            let mut changed = false;
            let mut token = self.frames[last].tokens;
            while token != NONE {
                let Token { cost, extra: old, next, .. } = self.tokens[token as usize];
                let own = (cost + finals.cost(token)) - finals.best;
                let (mut extra, _) = self.prune_links_of(token, own, beam);
                if extra > beam {
                    extra = f32::INFINITY;
                }
                let difference = (old - extra).abs();
                let near = difference.is_finite() && difference <= DELTA * (old.abs() + extra.abs());
                changed |= !near && old != extra;
                self.tokens[token as usize].extra = extra;
                token = next;
            }
            if !changed {
                break;
            }
        }
        for frame in (0..last).rev() {
            self.prune_links(frame, beam, 0.0);
            self.prune_tokens(frame + 1);
        }
        self.prune_tokens(0);
    }
}
