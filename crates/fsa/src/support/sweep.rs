//! Going through states again and again until nothing changes any more.

/// If it is not done after this number of sweeps, other ways are better.
pub(crate) const FEW_SWEEPS: usize = 12;

/// Goes from the last state to the first, again and again, through those that have changed since
/// they were visited, until none has; one sweep does where the numbers of states rise along the
/// arcs. If `most` sweeps do not, a state that still changes.
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
