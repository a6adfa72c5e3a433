//! Reversal of strings.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{SortedFsaBuilder, map_arcs};
use crate::core::fsa::Fsas;
use crate::error::{Error, Quantity};
use crate::support::adjacency::Adjacency;
use crate::support::ids::{id, index};

/// Returns FSAs that accept the reversed strings, with the same scores, and the arc map.
/// O(states + arcs).
///
/// The old final state becomes the start, left by the old final arcs with label 0; the old start
/// takes its number, and a new arc leads from it to a new final state. The other states keep their
/// numbers. Arcs that leave a state are in their old order.
///
/// # Errors
/// [`Error::TooLarge`].
#[doc(alias = "Reverse")]
pub fn reverse<F: Fsas>(fsas: &F) -> Result<(F, Vec<i32>), Error> {
    let (made, map) = map_arcs(fsas.as_fsa_vec(), |_, fsa| {
        let Some(last) = fsa.final_state() else { return Ok((SortedFsaBuilder::default(), vec![])) };
        Error::fit(Quantity::States, last + 2)?;
        let name = |state: i32| match index(state) {
            0 => id(last),
            state if state == last => 0,
            _ => state,
        };
        // The new arc stands for -1.
        let sources = fsa.arcs().iter().map(|arc| index(name(arc.dest_state))).chain([last]);
        let by_source = Adjacency::new(last + 2, sources);
        let mut builder = SortedFsaBuilder::with_capacity(last + 2, fsa.arcs().len() + 1);
        let mut map = Vec::with_capacity(fsa.arcs().len() + 1);
        for state in 0..last + 2 {
            for &from in by_source.row(state) {
                let arc = fsa.arcs().get(from as usize).map(|arc| {
                    let label = if arc.label == FINAL { EPSILON } else { arc.label };
                    Arc { src_state: id(state), dest_state: name(arc.src_state), label, ..*arc }
                });
                map.push(if arc.is_some() { from.cast_signed() } else { -1 });
                builder.arcs.push(arc.unwrap_or(Arc::new(id(last), id(last + 1), FINAL, 0.0)));
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
    fn arcs_go_back() {
        let arcs =
            vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 2, -1, 1.0), Arc::new(1, 0, 8, 2.0), Arc::new(1, 2, -1, 0.25)];
        let back = vec![
            Arc::new(0, 2, 0, 1.0),
            Arc::new(0, 1, 0, 0.25),
            Arc::new(1, 2, 7, 0.5),
            Arc::new(2, 1, 8, 2.0),
            Arc::new(2, 3, -1, 0.0),
        ];
        let made = reverse(&Fsa::from_arcs(3, arcs).unwrap()).unwrap();
        assert_eq!(made, (Fsa::from_arcs(4, back).unwrap(), vec![1, 3, 0, 2, -1]));
        assert_eq!(reverse(&Fsa::empty()).unwrap(), (Fsa::empty(), vec![]));
    }
}
