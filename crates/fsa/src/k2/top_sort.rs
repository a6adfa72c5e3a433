//! Topological order of states.

use crate::core::arc::Arc;
use crate::core::builder::{FsaSlot, Size, map_arcs_if_needed};
use crate::core::fsa::Fsas;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::ids::{id, index};

/// Renumbers the states so that each arc goes to a later state or, as a self-loop, back to its own;
/// returns the arc map. States that cannot be reached are kept. If all FSAs are in such an order,
/// they are returned as they are. O(states + arcs).
///
/// States are ordered by the longest path from the start, counted in arcs (A. B. Kahn, *Topological
/// sorting of large networks*, 1962).
///
/// # Errors
/// [`Error::Cycle`] with the states of a cycle, [`Error::StartEntered`].
#[doc(alias = "TopSort")]
pub fn top_sort<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let plan = |_, fsa: FsaView<'_>| {
        let is_sorted = fsa.arcs().iter().all(|arc| arc.dest_state >= arc.src_state);
        Ok((!is_sorted).then(|| (Size { states: fsa.num_states(), arcs: fsa.arcs().len() }, ())))
    };
    // The order is found only now, as the arcs are still in the cache when they are written.
    map_arcs_if_needed(fsas, plan, |i, fsa, (), place| {
        write_in_order(fsa, &order(i, fsa)?, place);
        Ok(())
    })
}

/// Returns the states in topological order, the start first, the final state last. There must be
/// states.
pub(crate) fn order(i: usize, fsa: FsaView<'_>) -> Result<Vec<i32>, Error> {
    let last = fsa.num_states() - 1;
    // For each state, the number of arcs that enter it from states without a place in the order.
    let mut entering = vec![0_u32; fsa.num_states()];
    for arc in fsa.arcs() {
        entering[arc.states().1] += u32::from(arc.src_state != arc.dest_state);
    }
    let start_entered = entering[0] > 0;
    // Each state or arc writes where the next state goes, and so one may write behind the last: a
    // branch would often be mispredicted.
    let mut order = vec![0; fsa.num_states() + 1];
    let mut len = 0;
    for (state, &entering) in (0..).zip(&entering[..last]) {
        order[len] = state;
        len += usize::from(entering == 0);
    }
    let mut at = 0;
    while at < len {
        for arc in fsa.arcs_of(index(order[at])) {
            let dest = arc.states().1;
            let is_loop = arc.src_state == arc.dest_state;
            entering[dest] -= u32::from(!is_loop);
            order[len] = arc.dest_state;
            len += usize::from(entering[dest] == 0 && !is_loop && dest != last);
        }
        at += 1;
    }
    if len < last {
        entering[last] = 0;
        return Err(Error::Cycle { fsa: i, states: cycle(fsa, &entering) });
    }
    order[last] = id(last);
    order.truncate(last + 1);
    if start_entered {
        let enters = |arc: &Arc| arc.dest_state == 0 && arc.src_state != 0;
        return Err(Error::StartEntered { fsa: i, arc: fsa.arcs().iter().position(enters).unwrap_or(0) });
    }
    Ok(order)
}

/// Returns a cycle. Each state that is left has a predecessor that is left: following predecessors
/// from any of them ends in a cycle.
fn cycle(fsa: FsaView<'_>, waiting: &[u32]) -> Vec<i32> {
    let mut before = vec![-1; waiting.len()];
    for arc in fsa.arcs().iter().filter(|arc| arc.src_state != arc.dest_state) {
        let (src, dest) = arc.states();
        if waiting[src] > 0 && waiting[dest] > 0 {
            before[dest] = arc.src_state;
        }
    }
    let Some(mut state) = before.iter().position(|&state| state >= 0) else { return vec![] };
    for _ in 0..waiting.len() {
        state = index(before[state]);
    }
    let first = state;
    let mut states = vec![before[first]];
    while states.last().is_some_and(|&state| index(state) != first) {
        states.push(before[index(states[states.len() - 1])]);
    }
    states.reverse();
    states
}

/// Writes the states in this order, and the arcs that leave them.
fn write_in_order(fsa: FsaView<'_>, order: &[i32], place: &mut FsaSlot<'_, 1>) {
    let mut names = vec![0; order.len()];
    for (&state, name) in order.iter().zip(0..) {
        names[index(state)] = name;
    }
    for (&state, src_state) in order.iter().zip(0..) {
        let range = fsa.arc_range(index(state));
        for (arc, from) in fsa.arcs()[range.clone()].iter().zip(id(fsa.first_arc() + range.start)..) {
            place.push(Arc { src_state, dest_state: names[arc.states().1], ..*arc }, [from]);
        }
        place.end_state();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::{Fsa, fsa};
    use crate::core::properties::Properties;

    #[test]
    fn arcs_go_forwards() {
        let turned = fsa(5, &[(0, 3, 1), (0, 2, 2), (1, 4, -1), (2, 2, 9), (2, 1, 3), (3, 2, 4)]);
        let (sorted, map) = top_sort(&turned).unwrap();
        assert_eq!(sorted, fsa(5, &[(0, 1, 1), (0, 2, 2), (1, 2, 4), (2, 2, 9), (2, 3, 3), (3, 4, -1)]));
        assert_eq!(map, [0, 1, 5, 3, 4, 2]);
        assert!(sorted.properties().contains(Properties::TOP_SORTED));
        assert!(top_sort(&sorted).unwrap().0.into_vec().ptr_eq(&sorted.into_vec()), "nothing to do");
        assert_eq!(top_sort(&Fsa::empty()).unwrap(), (Fsa::empty(), vec![]));
    }

    #[test]
    fn cycles_are_named() {
        let circle = fsa(6, &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 1, 1), (3, 4, 1), (4, 5, -1)]);
        let Err(Error::Cycle { fsa: 0, mut states }) = top_sort(&circle) else { panic!() };
        states.sort_unstable();
        assert_eq!(states, [1, 2, 3]);
        let Err(Error::Cycle { states, .. }) = top_sort(&fsa(4, &[(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 3, -1)])) else {
            panic!()
        };
        assert!(
            states.len() == 3 && states.iter().zip(states[1..].iter().chain(&states)).all(|(a, b)| (a + 1) % 3 == *b)
        );
        let island = fsa(4, &[(0, 3, -1), (1, 2, 1), (2, 0, 1)]);
        assert_eq!(top_sort(&island), Err(Error::StartEntered { fsa: 0, arc: 2 }));
    }
}
