//! Union of several FSAs.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::{Fsa, FsaVec, Fsas};
use crate::error::{Error, Quantity};
use crate::support::ids::id;

/// Returns one FSA that accepts every string that one of these accepts: a new start with epsilon
/// arcs to their starts, in their order, and one final state for all. Returns the arc map. FSAs
/// without states add nothing; if there are no others, the result has no states either.
/// O(states + arcs).
///
/// # Errors
/// [`Error::TooLarge`].
#[doc(alias = "Union")]
pub fn union(fsas: &FsaVec) -> Result<(Fsa, Vec<i32>), Error> {
    let parts = || fsas.iter().filter(|fsa| fsa.num_states() > 0);
    let num_parts = parts().count();
    if num_parts == 0 {
        return Ok((Fsa::empty(), vec![]));
    }
    // Each FSA loses its final state; a start and a final state are added.
    let num_states = fsas.num_states() - num_parts + 2;
    let last = Error::fit(Quantity::States, num_states)? - 1;
    Error::fit(Quantity::Arcs, fsas.num_arcs() + num_parts)?;
    let mut builder = SortedFsaBuilder::with_capacity(num_states, fsas.num_arcs() + num_parts);
    let mut map = Vec::with_capacity(fsas.num_arcs() + num_parts);
    let mut first = 1;
    for fsa in parts() {
        builder.arcs.push(Arc::new(0, first, EPSILON, 0.0));
        map.push(-1);
        first += id(fsa.num_states() - 1);
    }
    builder.end_state();
    first = 1;
    for fsa in parts() {
        let begin = builder.arcs.len();
        let moved = |arc: &Arc| {
            let dest_state = if arc.label == FINAL { last } else { arc.dest_state + first };
            Arc { src_state: arc.src_state + first, dest_state, ..*arc }
        };
        builder.arcs.extend(fsa.arcs().iter().map(moved));
        let states = 0..fsa.num_states() - 1;
        builder.ends.extend(states.map(|state| begin + fsa.arc_range(state).end));
        map.extend((id(fsa.first_arc())..).take(fsa.arcs().len()));
        first += id(fsa.num_states() - 1);
    }
    builder.end_state();
    Ok((Fsa::empty().same_kind(SortedFsaBuilder::assemble(vec![builder])?), map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_two() {
        let a = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.25)]).unwrap();
        let b = Fsa::from_arcs(2, vec![Arc::new(0, 1, -1, 2.0)]).unwrap();
        let fsas = FsaVec::from_fsas(&[Fsa::empty(), a, b]).unwrap();
        let arcs = vec![
            Arc::new(0, 1, 0, 0.0),
            Arc::new(0, 3, 0, 0.0),
            Arc::new(1, 2, 7, 0.5),
            Arc::new(2, 4, -1, 0.25),
            Arc::new(3, 4, -1, 2.0),
        ];
        assert_eq!(union(&fsas).unwrap(), (Fsa::from_arcs(5, arcs).unwrap(), vec![-1, -1, 0, 1, 2]));
        assert_eq!(union(&FsaVec::empty()).unwrap(), (Fsa::empty(), vec![]));
    }
}
