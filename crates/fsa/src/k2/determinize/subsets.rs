//! The states of the result: single states of the FSA, and subsets of open paths.

use crate::support::ids::{id, index};

/// A state of the FSA on an open path. The steps of a subset have equal depth in a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) state: u32,
    /// The step before and the arc from there, or [`NONE`].
    pub(super) before: u32,
    pub(super) arc: u32,
    /// Score from the root of the tree on.
    pub(super) score: f64,
}

/// The ends of the open paths, steps `first..end`, and the last step that all of them share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subset {
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) base: u32,
    /// Score of the base, and the part of the open paths' scores behind it that is on the arcs
    /// already.
    pub(super) base_score: f64,
    pub(super) pushed: f64,
    /// Number as a state of the result.
    pub(super) number: i32,
}

/// A state of the result.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// All paths are decided: this state of the FSA.
    Single(u32),
    /// Index of a [`Subset`].
    Open(u32),
}

/// A [`State`] in half the memory: the number of a state of the FSA or, if it is negative, the
/// complement of an index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed(i32);

impl Packed {
    pub(super) fn new(state: State) -> Self {
        Self(match state {
            State::Single(state) => state.cast_signed(),
            State::Open(place) => !place.cast_signed(),
        })
    }

    #[inline]
    pub(super) fn state(self) -> State {
        if self.0 >= 0 { State::Single(self.0.cast_unsigned()) } else { State::Open((!self.0).cast_unsigned()) }
    }
}

/// States of the result to expand next, and all subsets and steps so far.
#[derive(Debug, Default)]
pub(super) struct Subsets {
    /// Number of the first of `states`; the others follow.
    pub(super) first: i32,
    pub(super) states: Vec<Packed>,
    pub(super) open: Vec<Subset>,
    pub(super) steps: Vec<Step>,
}

impl Subsets {
    pub(super) fn step(&self, number: u32) -> Step {
        self.steps[at(number)]
    }

    /// Replaces the states, which have all been expanded, by the new ones, and appends the new
    /// subsets and steps.
    pub(super) fn append(&mut self, new: &mut Self) {
        self.first += id(self.states.len());
        self.states.clear();
        std::mem::swap(&mut self.states, &mut new.states);
        append(&mut self.open, &mut new.open);
        append(&mut self.steps, &mut new.steps);
    }
}

/// Calls [`Vec::append`], or swaps the vectors if the first one is empty, so that nothing is
/// copied.
fn append<T>(known: &mut Vec<T>, new: &mut Vec<T>) {
    if known.is_empty() { std::mem::swap(known, new) } else { known.append(new) }
}

/// Returns the number of a step, a state, an arc or a subset as an index.
#[inline]
pub(super) fn at(number: u32) -> usize {
    index(number.cast_signed())
}
