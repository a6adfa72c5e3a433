//! The search of one utterance through a graph.

use super::active::{Active, Token};
use super::closure::Endless;
use super::graph::DecodingGraph;
use super::scores::Frames;
use super::scratch::Scratch;
use super::trellis::Trellis;
use super::{DenseOptions, LatticePruning};
use crate::{Error, Operation};

/// The state of the search, and its results so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Search {
    pub(super) trellis: Trellis,
    /// The states after the last frame, and some that do not count any more.
    pub(super) tokens: Vec<Token>,
}

/// k2 prunes so many frames at a time, [`CHUNK`], by the scores of these and some more.
const WINDOW: usize = 30;
const CHUNK: usize = 20;

/// The token before the first frame; the state is the start, whatever its number.
const START: Token = Token { state: 0, score: 0.0 };

/// Returns the error of an utterance that comes to an endless cycle.
fn endless_cycle<G: DecodingGraph>(graph: &G, endless: Endless, utterance: usize) -> Error {
    let Endless { state, visits } = endless;
    Error::EndlessCycle { fsa: utterance, state: graph.name_of(state), visits }
}

impl Search {
    /// Creates a search before the first frame.
    pub(super) fn new() -> Self {
        Self { trellis: Trellis::new(), tokens: vec![START] }
    }

    /// Resets the search, and keeps its memory.
    pub(super) fn restart(&mut self) {
        self.trellis.restart();
        self.tokens.clear();
        self.tokens.push(START);
    }

    /// Follows the epsilon arcs of the start state, unless it is further than that.
    ///
    /// # Errors
    /// [`Error::EndlessCycle`].
    pub(super) fn begin<G: DecodingGraph>(
        &mut self,
        graph: &G,
        options: &DenseOptions,
        scratch: &mut Scratch,
        utterance: usize,
    ) -> Result<(), Error> {
        if self.trellis.num_frames() > 0 || self.tokens != [START] || graph.num_states() == 0 {
            return Ok(());
        }
        // It may have begun already, without getting further than the start.
        self.trellis.links.clear();
        let (mut next, closure) = scratch.next(&mut self.trellis.links, options.search_beam, options.output_beam);
        next.begin(graph.start());
        let num_closing = if graph.has_epsilons() { closure.close(graph, &mut next) } else { Ok(0) };
        let num_closing = num_closing.map_err(|endless| endless_cycle(graph, endless, utterance))?;
        let (best, entered) = (next.best, next.cutoff);
        std::mem::swap(&mut self.tokens, &mut scratch.tokens);
        self.trellis.begin(best, entered, num_closing, self.tokens.iter().map(|token| token.score));
        Ok(())
    }

    /// Returns the states after the last frame, by the index of their token.
    pub(super) fn ends(&self) -> impl Iterator<Item = (u32, u32)> {
        let entered = self.trellis.last_entered();
        (0..)
            .zip(&self.tokens)
            .filter(move |(_, token)| token.score > entered)
            .map(|(place, token)| (place, token.state))
    }

    /// Returns `true` if there is a state from which to go on.
    pub(super) fn is_alive(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Goes on by some frames; `utterance` is for errors. If no state is left, the search stays
    /// where it is.
    ///
    /// # Errors
    /// [`Error::DenseFrame`] with [`Error::Limit`]; with [`Error::Overflow`] if scores add up to
    /// plus infinity; with [`Error::EndlessCycle`].
    pub(super) fn advance<G: DecodingGraph>(
        &mut self,
        graph: &G,
        frames: Frames<'_>,
        options: &DenseOptions,
        scratch: &mut Scratch,
        utterance: usize,
    ) -> Result<(), Error> {
        let within = |frame: usize| move |error| Error::DenseFrame { utterance, frame, error: Box::new(error) };
        self.begin(graph, options, scratch, utterance).map_err(within(0))?;
        for row in frames.rows() {
            if !self.is_alive() {
                break;
            }
            let frame = self.trellis.num_frames();
            self.take(graph, row, options, scratch, utterance).map_err(within(frame))?;
        }
        Ok(())
    }

    /// Goes on by one frame, and removes paths that are not needed any more.
    fn take<G: DecodingGraph>(
        &mut self,
        graph: &G,
        row: &[f32],
        options: &DenseOptions,
        scratch: &mut Scratch,
        utterance: usize,
    ) -> Result<(), Error> {
        self.step(graph, row, options, scratch).map_err(|endless| endless_cycle(graph, endless, utterance))?;
        if self.trellis.last_scores().0 == f32::INFINITY {
            return Err(Error::Overflow { fsa: utterance });
        }
        if self.is_alive() {
            self.prune(options)?;
        }
        graph.check()?;
        graph.forget(&mut self.tokens, &mut self.trellis.links)
    }

    /// Goes on by one frame.
    fn step<G: DecodingGraph>(
        &mut self,
        graph: &G,
        row: &[f32],
        options: &DenseOptions,
        scratch: &mut Scratch,
    ) -> Result<(), Endless> {
        let (best, _) = self.trellis.last_scores();
        let active = Active::new(&self.tokens, best, self.trellis.last_entered(), options, &mut scratch.scores);
        let first_link = self.trellis.links.len();
        let (mut next, closure) = scratch.next(&mut self.trellis.links, active.next_beam, options.output_beam);
        graph.follow(&self.tokens, best, active, row, &mut next);
        let first_epsilon = next.links.len();
        let num_closing = if graph.has_epsilons() { closure.close(graph, &mut next) } else { Ok(0) };
        let (best, entered, end) = (next.best, next.cutoff, next.links.len());
        let num_closing = match num_closing {
            Ok(num_closing) => num_closing,
            Err(endless) => {
                self.trellis.links.truncate(first_link);
                return Err(endless);
            }
        };
        std::mem::swap(&mut self.tokens, &mut scratch.tokens);
        self.trellis.push_frame(
            best,
            entered,
            [first_epsilon, end - num_closing],
            self.tokens.iter().map(|token| token.score),
        );
        Ok(())
    }

    /// Removes the frames up to the last one into which all paths that can become part of the
    /// lattice lead by the same state.
    pub(super) fn take_finished(&mut self, options: &DenseOptions) -> Option<Self> {
        if !self.is_alive() {
            return None;
        }
        self.trellis.prune(self.unpruned_from(options), options.output_beam);
        let (frame, token) = self.trellis.last_single()?;
        let trellis = self.trellis.take_front(frame, token);
        let score = trellis.last_scores().1[0];
        // Its paths end as the paths of partial results do, for which the state makes no
        // difference.
        Some(Self { trellis, tokens: vec![Token { state: 0, score }] })
    }

    /// Removes paths that cannot become part of the lattice, if pruning is due.
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

    /// Returns the frame from which on the beam of the lattice is still to be applied.
    pub(super) fn unpruned_from(&self, options: &DenseOptions) -> usize {
        let num_frames = self.trellis.last();
        match options.pruning {
            LatticePruning::Exact => 0,
            // The last window has the frames after the window before last, and some of its frames.
            LatticePruning::Chunkwise if num_frames < WINDOW => 0,
            LatticePruning::Chunkwise => (num_frames - WINDOW) / CHUNK * CHUNK + CHUNK,
        }
    }
}
