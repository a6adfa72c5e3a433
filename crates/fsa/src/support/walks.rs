//! Detection of cycles in walks through states.

/// Returns a state on a cycle, if there is one, of the walks that go from each of `num_states`
/// states to the one that `before` returns: such as the sources of best scores, which form a cycle
/// once a cycle makes scores better (B. Cherkassky, A. Goldberg, *Negative-cycle detection
/// algorithms*, 1999). O(states).
pub(crate) fn find_circle(num_states: usize, before: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    // For each state the walk that came to it first; a walk begins at each state in turn, and ends
    // at a state where one has been.
    let mut walks = vec![usize::MAX; num_states];
    (0..num_states).find_map(|walk| {
        let mut at = Some(walk);
        while let Some(state) = at.filter(|&state| walks[state] == usize::MAX) {
            walks[state] = walk;
            at = before(state);
        }
        at.filter(|&state| walks[state] == walk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_and_trees_are_none() {
        let of = |before: &[usize]| find_circle(before.len(), |state| before.get(before[state]).map(|_| before[state]));
        assert_eq!(of(&[9, 0, 0, 1]), None);
        assert_eq!(of(&[1, 2, 3, 1]), Some(1));
        assert_eq!(of(&[9, 1]), Some(1));
    }
}
