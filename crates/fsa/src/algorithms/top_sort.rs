//! States in an order in which all arcs go forwards.

use crate::arc::{id, index};
use crate::parts::{Part, identity, map_arcs_if_needed};
use crate::view::FsaView;
use crate::{Arc, Error, Fsas};

/// Renumbers the states so that each arc goes to a later state or, as a self-loop, back to its own; returns the arc map. States that cannot be
/// reached are kept. FSAs in such an order come back as they are, if that is so of all. O(states + arcs).
///
/// The order is that of the longest way from the start, counted in arcs (A. B. Kahn, *Topological sorting of large networks*, 1962).
///
/// # Errors
/// [`Error::Cycle`] with the states of one, [`Error::StartEntered`].
#[doc(alias = "TopSort")]
pub fn top_sort<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    map_arcs_if_needed(fsas, |i, fsa| {
        if fsa.arcs().iter().all(|arc| arc.dest_state >= arc.src_state) {
            return Ok(None);
        }
        let order = order(i, fsa)?;
        Ok(Some(in_order(fsa, &order)))
    })
}

/// The states in topological order, the start first, the final state last. There are states.
pub(crate) fn order(i: usize, fsa: FsaView<'_>) -> Result<Vec<i32>, Error> {
    let states = identity(fsa.num_states());
    let last = fsa.num_states() - 1;
    // For each state the arcs that enter it from states without a place in the order.
    let mut entering = vec![0_u32; fsa.num_states()];
    for arc in fsa.arcs() {
        entering[arc.states().1] += u32::from(arc.src_state != arc.dest_state);
    }
    let start_entered = entering[0] > 0;
    let mut order = Vec::with_capacity(fsa.num_states());
    order.extend(states[..last].iter().filter(|&&state| entering[index(state)] == 0));
    let mut at = 0;
    while at < order.len() {
        for arc in fsa.arcs_of(index(order[at])) {
            if arc.src_state != arc.dest_state {
                let left = &mut entering[arc.states().1];
                *left -= 1;
                if *left == 0 && arc.states().1 != last {
                    order.push(arc.dest_state);
                }
            }
        }
        at += 1;
    }
    order.push(states[last]);
    if order.len() < fsa.num_states() {
        entering[last] = 0;
        return Err(Error::Cycle { fsa: i, states: cycle(fsa, &entering) });
    }
    if start_entered {
        let enters = |arc: &Arc| arc.dest_state == 0 && arc.src_state != 0;
        return Err(Error::StartEntered { fsa: i, arc: fsa.arcs().iter().position(enters).unwrap_or(0) });
    }
    Ok(order)
}

/// The states that wait for others each have one before them that waits: going back from any of them ends in a circle.
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

fn in_order(fsa: FsaView<'_>, order: &[i32]) -> (Part, Vec<i32>) {
    let mut names = vec![0; order.len()];
    for (&state, name) in order.iter().zip(0..) {
        names[index(state)] = name;
    }
    let mut part = Part::with_capacity(order.len(), fsa.arcs().len());
    let mut map = Vec::with_capacity(fsa.arcs().len());
    for (&state, src_state) in order.iter().zip(0..) {
        let range = fsa.arc_range(index(state));
        map.extend(range.clone().map(id));
        let renamed = |arc: &Arc| Arc { src_state, dest_state: names[arc.states().1], ..*arc };
        part.arcs.extend(fsa.arcs()[range].iter().map(renamed));
        part.end_state();
    }
    (part, map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fsa, Properties};

    fn fsa(states: usize, arcs: &[(i32, i32, i32)]) -> Fsa {
        Fsa::from_arcs(
            states,
            arcs.iter().map(|&(src, dest, label)| Arc::new(src, dest, label, 0.0)).collect::<Vec<_>>(),
        )
        .unwrap()
    }

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
