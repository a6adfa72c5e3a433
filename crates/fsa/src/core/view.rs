//! One FSA, borrowed: the input of every algorithm.

use std::ops::Range;

use kaldera_base::memory::prefetch;

use crate::core::arc::Arc;
use crate::support::adjacency::Adjacency;
use crate::support::ids::index;

/// The states and arcs of one FSA, borrowed. Copying it copies two pointers.
#[derive(Debug, Clone, Copy)]
pub struct FsaView<'a> {
    /// For each state and one more, its first arc, counted as `splits[0]` is.
    splits: &'a [i32],
    /// The arcs of this FSA.
    arcs: &'a [Arc],
}

impl<'a> FsaView<'a> {
    /// Creates a view; `all_arcs` are the arcs that `splits` counts.
    pub(crate) fn new(splits: &'a [i32], all_arcs: &'a [Arc]) -> Self {
        let arcs = index(splits[0])..index(splits[splits.len() - 1]);
        Self { splits, arcs: &all_arcs[arcs] }
    }

    /// Returns the number of states.
    #[inline]
    pub fn num_states(&self) -> usize {
        self.splits.len() - 1
    }

    /// Returns the last state, if there are states.
    #[inline]
    pub fn final_state(&self) -> Option<usize> {
        self.num_states().checked_sub(1)
    }

    /// Returns all arcs, in the order of the states that they leave.
    #[inline]
    pub fn arcs(&self) -> &'a [Arc] {
        self.arcs
    }

    /// Returns the range of the arcs of a state in [`arcs`](Self::arcs).
    ///
    /// # Panics
    /// If there is no such state.
    #[inline]
    pub fn arc_range(&self, state: usize) -> Range<usize> {
        let first = self.splits[0];
        index(self.splits[state] - first)..index(self.splits[state + 1] - first)
    }

    /// Returns the arcs that leave a state.
    ///
    /// # Panics
    /// If there is no such state.
    #[inline]
    pub fn arcs_of(&self, state: usize) -> &'a [Arc] {
        &self.arcs[self.arc_range(state)]
    }

    /// Returns the offset at which the arcs of each state begin, and the end of the last ones,
    /// counted from `splits[0]`.
    pub(crate) fn splits(&self) -> &'a [i32] {
        self.splits
    }

    /// Prefetches the memory that [`arc_range`](Self::arc_range) of a state reads.
    #[inline]
    pub(crate) fn prefetch_state(&self, state: usize) {
        prefetch(self.splits, state);
    }

    /// Groups the arcs by the state that they enter, as indexes of [`arcs`](Self::arcs). O(states +
    /// arcs).
    pub(crate) fn entering(&self) -> Adjacency {
        Adjacency::new(self.num_states(), self.arcs.iter().map(|arc| arc.states().1))
    }

    /// Returns the index of this FSA's first arc among the arcs of all FSAs of its vector, to which
    /// arc maps refer.
    #[inline]
    pub fn first_arc(&self) -> usize {
        index(self.splits[0])
    }
}
