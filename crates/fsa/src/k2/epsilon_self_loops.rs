//! Epsilon arcs from a state to itself, which let one side of an intersection wait for the other.

use crate::core::arc::{Arc, EPSILON};
use crate::core::builder::{Size, SortedFsaBuilder, map_arcs, map_arcs_if_needed};
use crate::core::fsa::Fsas;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::ids::id;

/// Puts an epsilon self-loop with score 0 before the arcs of each state but the final one; in the
/// arc map these are -1. O(arcs).
///
/// # Errors
/// [`Error::TooLarge`].
#[doc(alias = "AddEpsilonSelfLoops")]
pub fn add_epsilon_self_loops<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let (made, map) = map_arcs(fsas.as_fsa_vec(), |_, fsa| {
        let num_arcs = fsa.arcs().len() + fsa.num_states();
        let mut builder = SortedFsaBuilder::with_capacity(fsa.num_states(), num_arcs);
        let mut map = Vec::with_capacity(num_arcs);
        for (state, name) in (0..fsa.num_states()).zip(0..) {
            if Some(state) != fsa.final_state() {
                builder.arcs.push(Arc::new(name, name, EPSILON, 0.0));
                map.push(-1);
            }
            let range = fsa.arc_range(state);
            builder.arcs.extend_from_slice(&fsa.arcs()[range.clone()]);
            map.extend(range.map(id));
            builder.end_state();
        }
        Ok((builder, map))
    })?;
    Ok((fsas.same_kind(made), map))
}

/// Removes all epsilon arcs from a state to itself, and returns the arc map. If there are none, the
/// FSAs are returned as they are. O(arcs).
///
/// # Errors
/// None at present.
#[doc(alias = "RemoveEpsilonSelfLoops")]
pub fn remove_epsilon_self_loops<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let is_loop = |arc: &Arc| arc.label == EPSILON && arc.src_state == arc.dest_state;
    let plan = |_, fsa: FsaView<'_>| {
        let num_loops = fsa.arcs().iter().filter(|arc| is_loop(arc)).count();
        let size = Size { states: fsa.num_states(), arcs: fsa.arcs().len() - num_loops };
        Ok((num_loops > 0).then_some((size, ())))
    };
    map_arcs_if_needed(fsas, plan, |_, fsa, (), place| {
        for state in 0..fsa.num_states() {
            for (arc, from) in fsa.arcs_of(state).iter().zip(id(fsa.first_arc() + fsa.arc_range(state).start)..) {
                place.push_if(!is_loop(arc), *arc, [from]);
            }
            place.end_state();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::{Fsa, FsaVec};

    #[test]
    fn loops_come_first_and_go_again() {
        let one = Fsa::from_arcs(3, vec![Arc::new(0, 1, 0, 2.0), Arc::new(1, 2, -1, 1.0)]).unwrap();
        let none = Fsa::from_arcs(2, vec![]).unwrap();
        let fsas = FsaVec::from_fsas(&[one, Fsa::empty(), none]).unwrap();
        let (with, map) = add_epsilon_self_loops(&fsas).unwrap();
        assert_eq!(map, [-1, 0, -1, 1, -1]);
        assert_eq!(with.arcs()[2], Arc::new(1, 1, 0, 0.0));
        assert_eq!(remove_epsilon_self_loops(&with).unwrap(), (fsas.clone(), vec![1, 3]));
        assert!(remove_epsilon_self_loops(&fsas).unwrap().0.ptr_eq(&fsas));
    }
}
