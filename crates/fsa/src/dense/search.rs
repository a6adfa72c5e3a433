//! One utterance on its way through a graph.

use super::active::{Active, Token};
use super::graph::DecodingGraph;
use super::next::Scratch;
use super::scores::Frames;
use super::trellis::Trellis;
use super::{DenseOptions, LatticePruning};
use crate::{Error, Operation};

/// Where the search is, and how it came there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Search {
    pub(super) trellis: Trellis,
    /// The states after the last frame, and some that count no more.
    pub(super) tokens: Vec<Token>,
}

/// k2 prunes so many frames at a time, [`CHUNK`], by what these and some more say of them.
const WINDOW: usize = 30;
const CHUNK: usize = 20;

impl Search {
    /// Before the first frame.
    pub(super) fn new() -> Self {
        Self { trellis: Trellis::new(), tokens: vec![Token { state: 0, score: 0.0 }] }
    }

    /// As it was when it was new, in the same memory.
    pub(super) fn restart(&mut self) {
        self.trellis.restart();
        self.tokens.clear();
        self.tokens.push(Token { state: 0, score: 0.0 });
    }

    /// The states after the last frame, by their places among the tokens.
    pub(super) fn ends(&self) -> impl Iterator<Item = (u32, u32)> {
        let entered = self.trellis.last_entered();
        (0..)
            .zip(&self.tokens)
            .filter(move |(_, token)| token.score > entered)
            .map(|(place, token)| (place, token.state))
    }

    /// Whether there is a state from which to go on.
    pub(super) fn is_alive(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Goes on by some frames; `utterance` is for errors. If no state is left, it stays where it
    /// is.
    ///
    /// # Errors
    /// [`Error::Limit`]; [`Error::Overflow`] if scores add up to plus infinity.
    pub(super) fn advance<G: DecodingGraph>(
        &mut self,
        graph: &G,
        frames: Frames<'_>,
        options: &DenseOptions,
        scratch: &mut Scratch,
        utterance: usize,
    ) -> Result<(), Error> {
        for row in frames.rows() {
            if !self.is_alive() {
                break;
            }
            self.step(graph, row, options, scratch);
            if self.trellis.last_scores().0 == f32::INFINITY {
                return Err(Error::Overflow { fsa: utterance });
            }
            if self.is_alive() {
                self.prune(options)?;
            }
            graph.check()?;
            graph.forget(&mut self.tokens, &mut self.trellis.links)?;
        }
        Ok(())
    }

    /// Goes on by one frame.
    fn step<G: DecodingGraph>(&mut self, graph: &G, row: &[f32], options: &DenseOptions, scratch: &mut Scratch) {
        let (best, _) = self.trellis.last_scores();
        let active = Active::of(&self.tokens, best, self.trellis.last_entered(), options, &mut scratch.scores);
        let mut next = scratch.next(&mut self.trellis.links, active.next_beam, options.output_beam);
        graph.follow(&self.tokens, best, active, row, &mut next);
        let best = next.best;
        let entered = next.cutoff;
        std::mem::swap(&mut self.tokens, &mut scratch.tokens);
        self.trellis.push_frame(best, entered, self.tokens.iter().map(|token| token.score));
    }

    /// Takes out the frames up to the last one with a single state on paths that can become part of
    /// the lattice: all of them go through it.
    pub(super) fn take_finished(&mut self, options: &DenseOptions) -> Option<Self> {
        if !self.is_alive() {
            return None;
        }
        self.trellis.prune(self.unpruned_from(options), options.output_beam);
        let frame = self.trellis.last_single()?;
        let state = if frame == self.trellis.last() { self.tokens[0].state } else { 0 };
        let trellis = self.trellis.take_front(frame);
        let score = trellis.last_scores().1[0];
        Some(Self { trellis, tokens: vec![Token { state, score }] })
    }

    /// Takes out paths that cannot become part of the lattice, if that is due.
    fn prune(&mut self, options: &DenseOptions) -> Result<(), Error> {
        let num_frames = self.trellis.last();
        match options.pruning {
            LatticePruning::Exact if self.trellis.has_grown() => self.trellis.prune(0, options.output_beam),
            LatticePruning::Chunkwise if num_frames >= WINDOW && (num_frames - WINDOW).is_multiple_of(CHUNK) => {
                self.trellis.prune(num_frames - WINDOW, options.output_beam);
            }
            _ => {}
        }
        let (states, arcs) = self.trellis.sizes();
        options.limits.check(Operation::DenseIntersection, self.trellis.bytes(), states, arcs)
    }

    /// From which frame on the beam of the lattice is still to be applied.
    pub(super) fn unpruned_from(&self, options: &DenseOptions) -> usize {
        let num_frames = self.trellis.last();
        match options.pruning {
            LatticePruning::Exact => 0,
            // The last window is what came after the one before last, and some of its frames.
            LatticePruning::Chunkwise if num_frames < WINDOW => 0,
            LatticePruning::Chunkwise => (num_frames - WINDOW) / CHUNK * CHUNK + CHUNK,
        }
    }
}
