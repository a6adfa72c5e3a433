//! Concatenation.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::Fsas;
use crate::error::{Error, Quantity};
use crate::k2::pairs::{BuiltPair, WithArcMaps, map_pairs};
use crate::support::ids::id;

/// Returns FSAs that accept a string of `a` followed by one of `b`: the final arcs of `a` enter the
/// start of `b` with label 0. Returns both arc maps. A single FSA is concatenated with each of
/// several on the other side. O(states + arcs).
///
/// # Errors
/// [`Error::Size`] if the numbers of FSAs differ and neither is 1; [`Error::TooLarge`].
pub fn concat<A: Fsas, B: Fsas>(a: &A, b: &B) -> Result<WithArcMaps<A::With<B>>, Error> {
    map_pairs(a, b, |a, b| {
        let (Some(first), true) = (a.final_state(), b.num_states() > 0) else {
            return Ok(BuiltPair { builder: SortedFsaBuilder::default(), map_a: vec![], map_b: vec![] });
        };
        Error::fit(Quantity::States, first + b.num_states())?;
        let (num_a, num_b) = (a.arcs().len(), b.arcs().len());
        Error::fit(Quantity::Arcs, num_a + num_b)?;
        let mut builder = SortedFsaBuilder::with_capacity(first + b.num_states(), num_a + num_b);
        // The final state of `a` has the number that the start of `b` gets.
        builder.arcs.extend(a.arcs().iter().map(|arc| match arc.label {
            FINAL => Arc { label: EPSILON, ..*arc },
            _ => *arc,
        }));
        builder.ends.extend((0..first).map(|state| a.arc_range(state).end));
        let moved =
            |arc: &Arc| Arc { src_state: arc.src_state + id(first), dest_state: arc.dest_state + id(first), ..*arc };
        builder.arcs.extend(b.arcs().iter().map(moved));
        builder.ends.extend((0..b.num_states()).map(|state| num_a + b.arc_range(state).end));
        let none = |len| std::iter::repeat_n(-1, len);
        let map_a = (0..id(num_a)).chain(none(num_b)).collect();
        let map_b = none(num_a).chain(0..id(num_b)).collect();
        Ok(BuiltPair { builder, map_a, map_b })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::{Fsa, FsaVec};

    #[test]
    fn one_before_each_of_two() {
        let a = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.25)]).unwrap();
        let b = Fsa::from_arcs(2, vec![Arc::new(0, 1, -1, 2.0)]).unwrap();
        let arcs = vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, 0, 0.25), Arc::new(2, 3, -1, 2.0)];
        let both = Fsa::from_arcs(4, arcs).unwrap();
        assert_eq!(concat(&a, &b).unwrap(), (both.clone(), vec![0, 1, -1], vec![-1, -1, 0]));
        let several = FsaVec::from_fsas(&[b, Fsa::empty()]).unwrap();
        let made = FsaVec::from_fsas(&[both, Fsa::empty()]).unwrap();
        assert_eq!(concat(&a, &several).unwrap(), (made, vec![0, 1, -1], vec![-1, -1, 0]));
        let three = FsaVec::from_fsas(&[a.clone(), a.clone(), a]).unwrap();
        assert!(matches!(concat(&several, &three), Err(Error::Size { expected: 2, found: 3, .. })));
    }
}
