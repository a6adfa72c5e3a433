//! Memory of a search.

use crate::dense::active::Token;
use crate::dense::closure::Closure;
use crate::dense::next::{Last, Next};
use crate::dense::trellis::Link;

/// Memory that a search needs while it computes a frame, and that any other may use afterwards.
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
    /// For graphs of so many states.
    fn new(num_states: usize) -> Self {
        Self { slots: vec![0; num_states], tokens: vec![], scores: vec![], closure: Closure::default(), order: vec![] }
    }

    /// The same for another graph, or a new one.
    pub(super) fn of_size(scratch: Option<Self>, num_states: usize) -> Self {
        match scratch {
            Some(mut scratch) => {
                scratch.slots.resize(num_states.max(scratch.slots.len()), 0);
                scratch
            }
            None => Self::new(num_states),
        }
    }

    /// No states of a next frame yet, of which those more than `beam` below the best one are not
    /// needed, nor the links more than `output_beam` below the best one into the same state; and
    /// memory for the closure of these states.
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
