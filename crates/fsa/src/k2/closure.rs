//! Kleene closure.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{SortedFsaBuilder, map_arcs};
use crate::core::fsa::Fsas;
use crate::error::Error;
use crate::support::ids::id;

/// Returns the Kleene closure: FSAs that accept any number of their strings in a row, including
/// none. Final arcs go back to the start with label 0 instead, and a new arc, the last of the
/// start, leads from the start to the final state. Returns the arc map. O(arcs).
///
/// As in k2 this is right if no arcs enter the start. Otherwise paths that lead back to it are
/// accepted as well; the [`union`](crate::k2::union()) of a single FSA has a start that nothing
/// enters.
///
/// # Errors
/// [`Error::TooLarge`].
#[doc(alias = "Closure")]
pub fn closure<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let (made, map) = map_arcs(fsas.as_fsa_vec(), |_, fsa| {
        let num_states = fsa.num_states().max(2);
        let mut builder = SortedFsaBuilder::with_capacity(num_states, fsa.arcs().len() + 1);
        let mut map = Vec::with_capacity(fsa.arcs().len() + 1);
        for state in 0..num_states {
            if state < fsa.num_states() {
                let back = |arc: &Arc| match arc.label {
                    FINAL => Arc { dest_state: 0, label: EPSILON, ..*arc },
                    _ => *arc,
                };
                builder.arcs.extend(fsa.arcs_of(state).iter().map(back));
                map.extend(fsa.arc_range(state).map(id));
            }
            if state == 0 {
                builder.arcs.push(Arc::new(0, id(num_states - 1), FINAL, 0.0));
                map.push(-1);
            }
            builder.end_state();
        }
        Ok((builder, map))
    })?;
    Ok((fsas.same_kind(made), map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::Fsa;

    #[test]
    fn final_arcs_go_back() {
        let word = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.25)]).unwrap();
        let any = vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 2, -1, 0.0), Arc::new(1, 0, 0, 0.25)];
        assert_eq!(closure(&word).unwrap(), (Fsa::from_arcs(3, any).unwrap(), vec![0, -1, 1]));
        let nothing = Fsa::from_arcs(2, vec![Arc::new(0, 1, -1, 0.0)]).unwrap();
        assert_eq!(closure(&Fsa::empty()).unwrap(), (nothing, vec![-1]), "no repetition of nothing is something");
    }
}
