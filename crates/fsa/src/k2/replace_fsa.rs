//! Replacement of labels by FSAs.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::{SortedFsaBuilder, flatten, map_fsas};
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::limits::Limits;
use crate::error::{Error, Operation, Quantity};
use crate::k2::pairs::WithArcMaps;
use crate::support::ids::id;

/// Puts a copy of `src`'s FSA `i` in place of each arc of `index` with label `first_symbol` + i;
/// other arcs stay. Returns the FSAs with the arc map to `index` and the one to `src`. O(states +
/// arcs of the result).
///
/// The arc itself leads to the start of the copy with label 0 and its score; the copy's final arcs
/// lead, with label 0, to the arc's destination. The states of the copy come behind the state that
/// the arc leaves. An arc to be replaced by an FSA without states is left out.
///
/// # Errors
/// [`Error::OutOfRange`] if `first_symbol` is below 1; [`Error::Limit`] if an FSA of the result
/// needs more than half of the memory; [`Error::TooLarge`].
#[doc(alias = "ReplaceFsa")]
pub fn replace_fsa<F: Fsas>(src: &FsaVec, index: &F, first_symbol: i32) -> Result<WithArcMaps<F>, Error> {
    if first_symbol < 1 {
        let (min, max, found) = (1, i32::MAX.into(), first_symbol.into());
        return Err(Error::OutOfRange { what: Quantity::FirstSymbol, min, max, found });
    }
    let replacement = |label: i32| {
        let which = usize::try_from(label.checked_sub(first_symbol)?).ok()?;
        (which < src.num_fsas()).then(|| src.fsa(which))
    };
    let (made, maps) = map_fsas(index.as_fsa_vec(), |_, fsa| {
        let (mut next, mut num_arcs) = (0_usize, fsa.arcs().len());
        let mut names = Vec::with_capacity(fsa.num_states());
        for state in 0..fsa.num_states() {
            names.push(Error::fit(Quantity::States, next)?);
            next += 1;
            for copy in fsa.arcs_of(state).iter().filter_map(|arc| replacement(arc.label)) {
                next += copy.num_states().saturating_sub(1);
                num_arcs += copy.arcs().len();
            }
        }
        Error::fit(Quantity::States, next)?;
        Error::fit(Quantity::Arcs, num_arcs)?;
        // States and arcs with both maps, and once more for all FSAs.
        let bytes = 2 * (num_arcs * (size_of::<Arc>() + 2 * size_of::<i32>()) + next * size_of::<usize>());
        Limits::default().check(Operation::ReplaceFsa, bytes, next, num_arcs)?;
        let mut builder = SortedFsaBuilder::with_capacity(next, num_arcs);
        let (mut map_index, mut map_src) = (Vec::with_capacity(num_arcs), Vec::with_capacity(num_arcs));
        for (state, &name) in names.iter().enumerate() {
            let mut start = name + 1;
            for (arc, from) in fsa.arcs_of(state).iter().zip(fsa.arc_range(state)) {
                let dest_state = names[arc.states().1];
                match replacement(arc.label) {
                    None => builder.arcs.push(Arc { src_state: name, dest_state, ..*arc }),
                    Some(copy) if copy.num_states() == 0 => continue,
                    Some(copy) => {
                        builder.arcs.push(Arc::new(name, start, EPSILON, arc.score));
                        start += id(copy.num_states() - 1);
                    }
                }
                map_index.push(id(fsa.first_arc() + from));
                map_src.push(-1);
            }
            builder.end_state();
            start = name + 1;
            for arc in fsa.arcs_of(state) {
                let Some(copy) = replacement(arc.label) else { continue };
                let after = names[arc.states().1];
                for state in 0..copy.num_states().saturating_sub(1) {
                    builder.arcs.extend(copy.arcs_of(state).iter().map(|arc| {
                        let (dest_state, label) = match arc.label {
                            FINAL => (after, EPSILON),
                            label => (start + arc.dest_state, label),
                        };
                        Arc { src_state: start + arc.src_state, dest_state, label, ..*arc }
                    }));
                    builder.end_state();
                }
                map_index.extend(std::iter::repeat_n(-1, copy.arcs().len()));
                map_src.extend((id(copy.first_arc())..).take(copy.arcs().len()));
                start += id(copy.num_states().saturating_sub(1));
            }
        }
        Ok((builder, (map_index, map_src)))
    })?;
    let (maps_index, maps_src) = maps.into_iter().unzip();
    Ok((index.same_kind(made), flatten(maps_index), flatten(maps_src)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::Fsa;

    #[test]
    fn an_empty_replacement_takes_the_arc_away() {
        let fsa =
            Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 1, 8, 1.0), Arc::new(1, 2, -1, 2.0)]).unwrap();
        let word = Fsa::from_arcs(3, vec![Arc::new(0, 1, 3, 0.25), Arc::new(1, 2, -1, 4.0)]).unwrap();
        let src = FsaVec::from_fsas(&[Fsa::empty(), word]).unwrap();
        let arcs =
            vec![Arc::new(0, 1, 0, 1.0), Arc::new(1, 2, 3, 0.25), Arc::new(2, 3, 0, 4.0), Arc::new(3, 4, -1, 2.0)];
        let made = replace_fsa(&src, &fsa, 7).unwrap();
        assert_eq!(made, (Fsa::from_arcs(5, arcs).unwrap(), vec![1, -1, -1, 2], vec![-1, 0, 1, -1]));
        assert_eq!(replace_fsa(&src, &fsa, 9).unwrap().0, fsa);
        assert!(replace_fsa(&src, &fsa, 0).is_err());
    }
}
