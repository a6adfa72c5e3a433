//! Going through states against their arcs until nothing changes any more.

use crate::core::arc::Arc;
use crate::core::view::FsaView;

/// The arcs that enter each state.
pub(crate) struct Entering<'a> {
    arcs: &'a [Arc],
    splits: Vec<u32>,
    order: Vec<u32>,
}

impl<'a> Entering<'a> {
    /// O(states + arcs). `ends` has one entry for each state.
    pub(crate) fn new(ends: &[usize], arcs: &'a [Arc]) -> Self {
        let mut splits = vec![0_u32; ends.len() + 2];
        // Counted two places further on, sums are the starts one place further on, and become the ends, which are the next starts.
        arcs.iter().for_each(|arc| splits[arc.states().1 + 2] += 1);
        for state in 2..splits.len() {
            splits[state] += splits[state - 1];
        }
        let mut order = vec![0; arcs.len()];
        for (arc, it) in (0..).zip(arcs) {
            let place = &mut splits[it.states().1 + 1];
            order[*place as usize] = arc;
            *place += 1;
        }
        splits.pop();
        Self { arcs, splits, order }
    }

    /// How many states there are.
    pub(crate) fn num_states(&self) -> usize {
        self.splits.len() - 1
    }

    /// The arcs of an FSA.
    pub(crate) fn of_view(view: FsaView<'a>) -> Self {
        let ends: Vec<_> = (0..view.num_states()).map(|state| view.arc_range(state).end).collect();
        Self::new(&ends, view.arcs())
    }

    /// All arcs.
    #[inline]
    pub(crate) fn arcs(&self) -> &'a [Arc] {
        self.arcs
    }

    /// Places of arcs.
    #[inline]
    pub(crate) fn of(&self, state: usize) -> &[u32] {
        &self.order[self.splits[state] as usize..self.splits[state + 1] as usize]
    }
}

/// If it is not done after this number of sweeps, other ways are better.
pub(crate) const FEW_SWEEPS: usize = 12;

/// Goes from the last state to the first, again and again, through those that have changed since they were visited, until none has; one sweep does
/// where the numbers of states rise along the arcs. If `most` sweeps do not, a state that still changes.
pub(crate) fn sweep(
    target: usize,
    num_states: usize,
    most: usize,
    relax: &mut impl FnMut(usize, &mut dyn FnMut(usize)),
) -> Option<usize> {
    let mut changed = vec![false; num_states];
    changed[target] = true;
    // Nothing that changes lies above `from` in this sweep, or above `next` in the next one.
    let mut from = Some(target);
    for _ in 0..=most {
        let mut next = None;
        for state in (0..=from?).rev() {
            if std::mem::replace(&mut changed[state], false) {
                relax(state, &mut |source| {
                    changed[source] = true;
                    if source >= state {
                        next = next.max(Some(source));
                    }
                });
            }
        }
        from = next;
    }
    from
}
