//! Removes states and arcs that lie on no accepted path.

use crate::core::arc::Arc;
use crate::core::builder::{FsaSlot, Size, map_arcs_if_needed};
use crate::core::fsa::Fsas;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::ids::{id, index};
use crate::support::threads::all_rows;

/// Keeps the states that the start reaches and from which the final state is reached, in their
/// order, and the arcs between them; returns the arc map. An FSA without any accepted path becomes
/// one without states. If nothing is left out of any FSA, the FSAs are returned as they are.
/// O(states + arcs).
///
/// # Errors
/// None at present.
#[doc(alias = "Connect")]
#[doc(alias = "trim")]
pub fn connect<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let plan = |_, fsa: FsaView<'_>| {
        let keep = useful_states(fsa);
        Ok(keep.contains(&false).then(|| {
            let names = names(&keep);
            (size(fsa, &names), names)
        }))
    };
    map_arcs_if_needed(fsas, plan, |_, fsa, names, place| {
        select_states(fsa, &names, place);
        Ok(())
    })
}

/// Returns the numbers of the states of `keep`, counting only these; -1 for the others.
fn names(keep: &[bool]) -> Vec<i32> {
    let mut num_kept = 0;
    let name = |&keep: &bool| {
        let name = if keep { num_kept } else { -1 };
        num_kept += i32::from(keep);
        name
    };
    keep.iter().map(name).collect()
}

/// Returns the size of the FSA of the states that have names.
fn size(fsa: FsaView<'_>, names: &[i32]) -> Size {
    let is_kept = |arc: &&Arc| names[arc.states().1] >= 0;
    let kept = || (0..names.len()).filter(|&state| names[state] >= 0);
    Size { states: kept().count(), arcs: kept().map(|state| fsa.arcs_of(state).iter().filter(is_kept).count()).sum() }
}

/// Writes the states that have names, in the order of their names, the arcs between them, and the
/// sources of these arcs. The start and the final state are among them, or none is.
fn select_states(fsa: FsaView<'_>, names: &[i32], place: &mut FsaSlot<'_, 1>) {
    for (state, &src_state) in names.iter().enumerate().filter(|&(_, &name)| name >= 0) {
        for (arc, from) in fsa.arcs_of(state).iter().zip(id(fsa.first_arc() + fsa.arc_range(state).start)..) {
            let dest_state = names[arc.states().1];
            place.push_if(dest_state >= 0, Arc { src_state, dest_state, ..*arc }, [from]);
        }
        place.end_state();
    }
}

/// Returns the states on paths from the start to the final state.
pub(crate) fn useful_states(fsa: FsaView<'_>) -> Vec<bool> {
    let Some(last) = fsa.final_state() else { return vec![] };
    let mut useful = if all(fsa.arcs(), |arc| arc.dest_state >= arc.src_state) {
        useful_of_sorted(fsa, last)
    } else {
        reaching(fsa, reached_from_start(fsa), last)
    };
    if !(useful[0] && useful[last]) {
        useful.fill(false);
    }
    useful
}

/// Quick test that every state leads to the final one: all other states have arcs, and all arcs go
/// forward.
pub(crate) fn goes_forward(fsa: FsaView<'_>) -> bool {
    let last = fsa.num_states().saturating_sub(1);
    all_rows(fsa.splits(), |states| {
        let arcs = fsa.arc_range(states.start).start..fsa.arc_range(states.end - 1).end;
        let begins = &fsa.splits()[states.start..=states.end.min(last)];
        begins.is_sorted_by(|a, b| a < b) && all(&fsa.arcs()[arcs], |arc| arc.dest_state > arc.src_state)
    })
}

/// Returns `true` if `test` holds for all arcs; tests several arcs at once.
fn all(arcs: &[Arc], test: impl Fn(&Arc) -> bool) -> bool {
    arcs.chunks(256).all(|some| some.iter().fold(true, |all, arc| all & test(arc)))
}

/// If no arc goes back, two sweeps are enough.
fn useful_of_sorted(fsa: FsaView<'_>, last: usize) -> Vec<bool> {
    let mut useful = vec![false; last + 1];
    useful[0] = true;
    for state in 0..last {
        if useful[state] {
            fsa.arcs_of(state).iter().for_each(|arc| useful[arc.states().1] = true);
        }
    }
    for state in (0..last).rev() {
        useful[state] &= fsa.arcs_of(state).iter().any(|arc| arc.states().1 > state && useful[arc.states().1]);
    }
    useful
}

/// Returns the states that the start reaches, in the order in which they are found.
fn reached_from_start(fsa: FsaView<'_>) -> Vec<i32> {
    let mut reached = vec![false; fsa.num_states()];
    reached[0] = true;
    // One place more, as each arc writes where the next new state goes, whether its own is new or
    // not: a branch would often be mispredicted.
    let mut order = vec![0; fsa.num_states() + 1];
    let (mut at, mut len) = (0, 1);
    while at < len {
        for arc in fsa.arcs_of(index(order[at])) {
            let dest = arc.states().1;
            order[len] = arc.dest_state;
            len += usize::from(!reached[dest]);
            reached[dest] = true;
        }
        at += 1;
    }
    order.truncate(len);
    order
}

/// Number of sweeps over all states without a way to the end.
const SWEEPS: usize = 2;

/// Returns for each state `true` if it is in `states` and a path through `states` leads to `last`.
///
/// Most states reach the end over one that was found later, so that sweeps back settle nearly all
/// at little cost. The rest, in the worst case everything, is settled along the reversed arcs.
fn reaching(fsa: FsaView<'_>, states: Vec<i32>, last: usize) -> Vec<bool> {
    let mut reaches = vec![false; fsa.num_states()];
    let mut open = states;
    reaches[last] = open.iter().any(|&state| index(state) == last);
    open.reverse();
    let over_any = |state: i32, reaches: &[bool]| {
        fsa.arcs_of(index(state)).iter().fold(reaches[index(state)], |any, arc| any | reaches[arc.states().1])
    };
    for _ in 0..SWEEPS {
        open.retain(|&state| {
            reaches[index(state)] = over_any(state, &reaches);
            !reaches[index(state)]
        });
    }
    // For each state the last arc that enters it from an open one, and for each such arc the one
    // before: chains that end in the first entry.
    let (mut last_arcs, mut arcs) = (vec![0; fsa.num_states()], vec![(0, 0)]);
    for &state in &open {
        for arc in fsa.arcs_of(index(state)) {
            let last_arc = &mut last_arcs[arc.states().1];
            arcs.push((state, *last_arc));
            *last_arc = arcs.len() - 1;
        }
    }
    open.retain(|&state| over_any(state, &reaches));
    open.iter().for_each(|&state| reaches[index(state)] = true);
    while let Some(state) = open.pop() {
        let mut at = last_arcs[index(state)];
        while at > 0 {
            let (source, before) = arcs[at];
            if !reaches[index(source)] {
                reaches[index(source)] = true;
                open.push(source);
            }
            at = before;
        }
    }
    reaches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::arc::FINAL;
    use crate::core::fsa::{Fsa, fsa};

    fn arc(src: i32, dest: i32, label: i32) -> Arc {
        Arc::new(src, dest, label, 0.0)
    }

    #[test]
    fn dead_ends_and_islands_go() {
        // 1 is a dead end, 3 cannot be reached, 2 loops. With the states 2 and 3 swapped, an arc
        // goes back.
        let sorted = [arc(0, 1, 5), arc(0, 2, 6), arc(2, 2, 7), arc(2, 4, -1), arc(3, 4, -1)];
        let back = [arc(0, 1, 5), arc(0, 3, 6), arc(2, 1, 1), arc(2, 4, -1), arc(3, 3, 7), arc(3, 4, -1)];
        let kept = vec![arc(0, 1, 6), arc(1, 1, 7), arc(1, 2, -1)];
        for (arcs, map) in [(&sorted[..], vec![1, 2, 3]), (&back, vec![1, 4, 5])] {
            let made = connect(&Fsa::from_arcs(5, arcs.to_vec()).unwrap()).unwrap();
            assert_eq!(made, (Fsa::from_arcs(3, kept.clone()).unwrap(), map));
            assert!(connect(&made.0).unwrap().0.into_vec().ptr_eq(&made.0.into_vec()), "nothing to do");
        }
    }

    #[test]
    fn without_a_path_nothing_stays() {
        for (states, arcs) in [(2, vec![]), (3, vec![arc(0, 1, 5), arc(1, 0, 5)]), (3, vec![arc(1, 2, -1)])] {
            assert_eq!(connect(&Fsa::from_arcs(states, arcs).unwrap()).unwrap(), (Fsa::empty(), vec![]));
        }
        assert_eq!(connect(&Fsa::empty()).unwrap(), (Fsa::empty(), vec![]));
        let looping = Fsa::from_arcs(3, vec![arc(0, 1, 5), arc(1, 1, 5)]).unwrap();
        assert_eq!(connect(&looping).unwrap().0, Fsa::empty());
    }

    /// Goes on from state to state until nothing changes.
    fn naive(fsa: FsaView<'_>) -> Vec<bool> {
        let last = fsa.num_states() - 1;
        let (mut reached, mut reaches) = (vec![false; last + 1], vec![false; last + 1]);
        (reached[0], reaches[last]) = (true, true);
        for _ in 0..=last {
            for (src, dest) in fsa.arcs().iter().map(Arc::states) {
                reached[dest] |= reached[src];
                reaches[src] |= reaches[dest];
            }
        }
        let useful: Vec<_> = reached.iter().zip(&reaches).map(|(&reached, &reaches)| reached && reaches).collect();
        if useful[0] { useful } else { vec![false; last + 1] }
    }

    #[test]
    fn a_long_way_against_the_order_in_which_states_are_found() {
        // The start leads to 1, 2, 3, ... in turn, each of which leads to the one before, and 1 to
        // the end.
        let (last, odd) = (50, |state: &i32| state % 2 == 1);
        let mut arcs: Vec<_> = (1..last).map(|state| (0, state, 1)).collect();
        arcs.extend(
            (1..last)
                .map(|state| (state, if state == 1 { last } else { state - 1 }, if state == 1 { FINAL } else { 1 })),
        );
        let whole = fsa(51, &arcs);
        assert_eq!(useful_states(whole.view()), [true; 51]);
        // From the odd ones on, only to themselves.
        arcs.iter_mut().filter(|arc| arc.0 > 30 && odd(&arc.0)).for_each(|arc| arc.1 = arc.0);
        let cut = fsa(51, &arcs);
        assert_eq!(useful_states(cut.view()), naive(cut.view()));
    }

    proptest! {
        #[test]
        fn as_the_definition_says(
            num_states in 2..40_i32, picks in prop::collection::vec((0..1000_i32, 0..1000_i32), 0..80), back in prop::bool::ANY,
        ) {
            let last = num_states - 1;
            let mut arcs: Vec<_> = picks.iter().map(|&(src, dest)| (src % last, dest % num_states)).collect();
            if !back {
                arcs.retain(|&(src, dest)| src <= dest);
            }
            arcs.sort_unstable();
            let label = |dest: i32| if dest == last { FINAL } else { 1 };
            let arcs: Vec<_> = arcs.into_iter().map(|(src, dest)| (src, dest, label(dest))).collect();
            let made = fsa(index(num_states), &arcs);
            let useful = useful_states(made.view());
            prop_assert_eq!(&useful, &naive(made.view()));
            let (connected, map) = connect(&made).unwrap();
            let is_kept = |arc: &Arc| useful[arc.states().0] && useful[arc.states().1];
            let kept: Vec<_> = (0..).zip(made.arcs()).filter(|(_, arc)| is_kept(arc)).map(|(i, _)| i).collect();
            prop_assert_eq!((connected.num_states(), map), (useful.iter().filter(|useful| **useful).count(), kept));
        }
    }
}
