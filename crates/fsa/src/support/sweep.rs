//! Sweeps over states until nothing changes.

/// Number of sweeps after which other methods are better.
pub(crate) const FEW_SWEEPS: usize = 12;

/// Goes from the last state to the first, again and again, through the states that have changed
/// since they were visited, until none has; one sweep is enough if the numbers of states rise along
/// the arcs. If `most` sweeps are not enough, a state that still changes is returned.
pub(crate) fn sweep(
    target: usize,
    num_states: usize,
    most: usize,
    relax: &mut impl FnMut(usize, &mut dyn FnMut(usize)),
) -> Option<usize> {
    let mut changed = vec![false; num_states];
    changed[target] = true;
    // No state that changes is above `from` in this sweep, or above `next` in the next one.
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
