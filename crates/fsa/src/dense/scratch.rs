//! Buffers of a search.

use crate::dense::active::Token;
use crate::dense::closure::Closure;
use crate::dense::next::{Last, Next};
use crate::dense::trellis::Link;

/// Buffers that a search needs while it computes a frame, and that any other may use afterwards.
#[derive(Debug)]
pub(super) struct Scratch {
    /// See [`Next`].
    slots: Vec<u32>,
    pub(super) tokens: Vec<Token>,
    pub(super) scores: Vec<f32>,
    pub(super) closure: Closure,
    order: Vec<Last>,
}

impl Scratch {
    /// Creates buffers for graphs of so many states.
    fn new(num_states: usize) -> Self {
        Self { slots: vec![0; num_states], tokens: vec![], scores: vec![], closure: Closure::default(), order: vec![] }
    }

    /// Returns the same buffers for another graph, or new ones.
    pub(super) fn of_size(scratch: Option<Self>, num_states: usize) -> Self {
        match scratch {
            Some(mut scratch) => {
                scratch.slots.resize(num_states.max(scratch.slots.len()), 0);
                scratch
            }
            None => Self::new(num_states),
        }
    }

    /// Returns a next frame without states, and buffers for the closure of its states. States more
    /// than `beam` below the best one are not needed, nor links more than `output_beam` below the
    /// best one into the same state.
    pub(super) fn next<'a>(
        &'a mut self,
        links: &'a mut Vec<Link>,
        beam: f32,
        output_beam: f32,
    ) -> (Next<'a>, &'a mut Closure) {
        self.tokens.clear();
        let (best, cutoff) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        let Self { slots, tokens, order, closure, .. } = self;
        (Next { slots, tokens, links, best, cutoff, beam, output_beam, order }, closure)
    }
}
