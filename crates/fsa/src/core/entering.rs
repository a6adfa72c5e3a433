//! The arcs that enter each state.

use crate::core::arc::Arc;
use crate::core::view::FsaView;
use crate::support::adjacency::Adjacency;

/// Arcs by the state that they enter.
pub(crate) struct Entering<'a> {
    arcs: &'a [Arc],
    by_dest: Adjacency,
}

impl<'a> Entering<'a> {
    /// Groups the arcs. O(states + arcs).
    pub(crate) fn new(num_states: usize, arcs: &'a [Arc]) -> Self {
        Self { arcs, by_dest: Adjacency::new(num_states, arcs.iter().map(|arc| arc.states().1)) }
    }

    /// Groups the arcs of an FSA.
    pub(crate) fn of_view(view: FsaView<'a>) -> Self {
        Self::new(view.num_states(), view.arcs())
    }

    /// Returns the number of states.
    pub(crate) fn num_states(&self) -> usize {
        self.by_dest.num_keys()
    }

    /// Returns all arcs.
    #[inline]
    pub(crate) fn arcs(&self) -> &'a [Arc] {
        self.arcs
    }

    /// Returns the arcs that enter a state, as indexes of [`arcs`](Self::arcs).
    #[inline]
    pub(crate) fn of(&self, state: usize) -> &[u32] {
        self.by_dest.row(state)
    }
}
