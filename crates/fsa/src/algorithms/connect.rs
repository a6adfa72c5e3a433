//! Leaving out what no accepted path meets.

use crate::arc::{id, index};
use crate::parts::{Part, map_arcs_if_needed};
use crate::view::FsaView;
use crate::{Arc, Error, Fsas};

/// Keeps the states that the start reaches and from which the final state is reached, in their order, and the arcs between them; returns
/// the arc map. An FSA without any accepted path becomes one without states. FSAs of which nothing is left out come back as they are, if that
/// is so of all. O(states + arcs).
///
/// # Errors
/// None at present.
#[doc(alias = "Connect")]
#[doc(alias = "trim")]
pub fn connect<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    map_arcs_if_needed(fsas, |_, fsa| {
        let keep = useful_states(fsa);
        if !keep.contains(&false) {
            return Ok(None);
        }
        Ok(Some(select_states(fsa, &keep)))
    })
}

/// The states of `keep`, renumbered in their order, the arcs between them, and where these come from. The start and the final state are among
/// them, or nothing is.
pub(crate) fn select_states(fsa: FsaView<'_>, keep: &[bool]) -> (Part, Vec<i32>) {
    let mut num_kept = 0;
    let names: Vec<i32> = keep
        .iter()
        .map(|&keep| {
            let name = if keep { num_kept } else { -1 };
            num_kept += i32::from(keep);
            name
        })
        .collect();
    let mut part = Part::with_capacity(index(num_kept), fsa.arcs().len());
    let mut map = Vec::with_capacity(fsa.arcs().len());
    for (state, &src_state) in names.iter().enumerate().filter(|&(_, &name)| name >= 0) {
        let range = fsa.arc_range(state);
        for (arc, from) in fsa.arcs()[range.clone()].iter().zip(range) {
            let dest_state = names[arc.states().1];
            if dest_state >= 0 {
                part.arcs.push(Arc { src_state, dest_state, ..*arc });
                map.push(id(from));
            }
        }
        part.end_state();
    }
    (part, map)
}

/// The states on paths from the start to the final state.
pub(crate) fn useful_states(fsa: FsaView<'_>) -> Vec<bool> {
    let Some(last) = fsa.final_state() else { return vec![] };
    let mut useful = if fsa.arcs().iter().all(|arc| arc.dest_state >= arc.src_state) {
        useful_of_sorted(fsa, last)
    } else {
        let mut reached = reached_from_start(fsa, last);
        let reaches = reaching(fsa, last);
        reached.iter_mut().zip(reaches).for_each(|(reached, reaches)| *reached &= reaches);
        reached
    };
    if !(useful[0] && useful[last]) {
        useful.fill(false);
    }
    useful
}

/// If no arc goes back, two sweeps do.
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

fn reached_from_start(fsa: FsaView<'_>, last: usize) -> Vec<bool> {
    let mut reached = vec![false; last + 1];
    reached[0] = true;
    let mut open = vec![0];
    while let Some(state) = open.pop() {
        for arc in fsa.arcs_of(state) {
            let dest = arc.states().1;
            if !reached[dest] {
                reached[dest] = true;
                open.push(dest);
            }
        }
    }
    reached
}

/// The states from which `last` is reached, along the arcs turned round.
fn reaching(fsa: FsaView<'_>, last: usize) -> Vec<bool> {
    let mut next = vec![0_u32; last + 2];
    for arc in fsa.arcs() {
        next[arc.states().1 + 1] += 1;
    }
    for state in 1..next.len() {
        next[state] += next[state - 1];
    }
    let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    let mut sources = vec![0_i32; fsa.arcs().len()];
    for arc in fsa.arcs() {
        let at = &mut next[arc.states().1];
        sources[place(*at)] = arc.src_state;
        *at += 1;
    }
    // Each entry now is where the sources of its state end.
    let mut reaches = vec![false; last + 1];
    reaches[last] = true;
    let mut open = vec![last];
    while let Some(state) = open.pop() {
        let first = state.checked_sub(1).map_or(0, |before| place(next[before]));
        for &src in &sources[first..place(next[state])] {
            let src = index(src);
            if !reaches[src] {
                reaches[src] = true;
                open.push(src);
            }
        }
    }
    reaches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fsa;

    fn arc(src: i32, dest: i32, label: i32) -> Arc {
        Arc::new(src, dest, label, 0.0)
    }

    #[test]
    fn dead_ends_and_islands_go() {
        // 1 is a dead end, 3 cannot be reached, 2 loops. With the states 2 and 3 swapped, an arc goes back.
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
}
