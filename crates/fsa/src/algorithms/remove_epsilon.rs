//! Equivalent FSAs without epsilons.

use ragged_core::Ragged;

use crate::algorithms::add_epsilon_self_loops;
use crate::algorithms::epsilon_closure::Closures;
use crate::arc::{id, index, narrow};
use crate::parts::{Lists, Part, map_fsas};
use crate::scores::Semiring;
use crate::view::FsaView;
use crate::{Arc, EPSILON, Error, FsaVec, Fsas};

/// FSAs without epsilons that give each string the score of its best path before; and for each arc the arcs whose scores it adds up, in the order of
/// their path: epsilons and then one with a label.
///
/// A state gets the arcs of all states that epsilons lead to, its own first. States other than the start that only epsilons entered are left out;
/// more may be of no use ([`connect`](super::connect)). Arcs may stand beside others with the same label and destination. O(arcs of the
/// result and of the map), if epsilons make no cycles.
///
/// # Errors
/// [`Error::EndlessCycle`] if a cycle of epsilons has a positive score, [`Error::TooLarge`], [`Error::Score`] if scores overflow.
#[doc(alias = "RemoveEpsilon")]
#[doc(alias = "rmepsilon")]
pub fn remove_epsilon<F: Fsas>(fsas: &F) -> Result<(F, Ragged<i32>), Error> {
    remove_epsilon_within(fsas, None)
}

/// [`remove_epsilon`] with a limit: what needs more than `max_bytes` for the states and arcs of one FSA of the result, and its part of the arc map, is refused.
///
/// # Errors
/// [`Error::MemoryLimit`], and as [`remove_epsilon`].
pub fn remove_epsilon_within<F: Fsas>(fsas: &F, max_bytes: Option<usize>) -> Result<(F, Ragged<i32>), Error> {
    let max_bytes = max_bytes.unwrap_or(usize::MAX);
    let (made, lists) = all_without_epsilons(fsas.as_vec(), Semiring::Tropical, max_bytes)?;
    Ok((fsas.same_kind(made), Lists::assemble(lists)?))
}

/// FSAs without epsilons that give each string the logarithm of the sum of all its paths before. An arc stands for all ways that epsilons lead to one with
/// a label, hence there is no arc map.
///
/// # Errors
/// [`Error::EndlessCycle`] if the paths around a cycle of epsilons have no finite sum, and as [`remove_epsilon`].
pub fn remove_epsilon_log<F: Fsas>(fsas: &F) -> Result<F, Error> {
    let (made, _) = all_without_epsilons(fsas.as_vec(), Semiring::Log, usize::MAX)?;
    Ok(fsas.same_kind(made))
}

/// [`remove_epsilon`], and then an epsilon self-loop at each state but the final one, with an empty list in the arc map.
///
/// # Errors
/// As [`remove_epsilon`].
#[doc(alias = "RemoveEpsilonAndAddSelfLoops")]
pub fn remove_epsilon_and_add_self_loops<F: Fsas>(fsas: &F) -> Result<(F, Ragged<i32>), Error> {
    let (without, map) = remove_epsilon(fsas)?;
    let (with_loops, from) = add_epsilon_self_loops(&without)?;
    Ok((with_loops, map.select(0, &from)?))
}

/// The FSAs and, for [`Semiring::Tropical`], their arc maps.
fn all_without_epsilons(fsas: &FsaVec, semiring: Semiring, max_bytes: usize) -> Result<(FsaVec, Vec<Lists>), Error> {
    let (made, rest) = map_fsas(fsas, |i, fsa| {
        let (part, lists, infinite) = without_epsilons(i, fsa, semiring, max_bytes)?;
        Ok((part, (lists, infinite)))
    })?;
    let (lists, infinite): (Vec<_>, Vec<_>) = rest.into_iter().unzip();
    if infinite.contains(&true) {
        let arc = made.arcs().iter().position(|arc| arc.score == f32::INFINITY).unwrap_or(0);
        return Err(Error::Score { arc, score: f32::INFINITY });
    }
    Ok((made, lists))
}

/// With so many more arcs, and places in their lists, than there are; memory that is full grows to twice what it is.
#[cold]
fn check_limit(max_bytes: usize, part: &Part, lists: &Lists, arcs: usize, places: usize) -> Result<(), Error> {
    let grown = |len: usize, more: usize, capacity: usize| {
        if len + more <= capacity { capacity } else { (len + more).max(2 * capacity) }
    };
    let of_arcs = grown(part.arcs.len(), arcs, part.arcs.capacity()) * size_of::<Arc>()
        + grown(lists.splits.len(), arcs, lists.splits.capacity()) * size_of::<i32>();
    let of_places = grown(lists.arcs.len(), places, lists.arcs.capacity()) * size_of::<i32>();
    let needed = of_arcs + of_places + part.ends.capacity() * size_of::<usize>();
    Error::within(max_bytes, "removal of epsilons", needed, part.ends.len(), part.arcs.len())
}

/// The arcs of one FSA with labels, by the states that they leave.
struct Labelled {
    splits: Vec<usize>,
    arcs: Vec<(Arc, i32)>,
}

impl Labelled {
    fn of(fsa: FsaView<'_>) -> Self {
        let mut splits = Vec::with_capacity(fsa.num_states() + 1);
        splits.push(0);
        let mut arcs = Vec::with_capacity(fsa.arcs().len());
        for state in 0..fsa.num_states() {
            let row = fsa.arcs_of(state).iter().copied().zip(id(fsa.first_arc() + fsa.arc_range(state).start)..);
            arcs.extend(row.filter(|(arc, _)| arc.label != EPSILON));
            splits.push(arcs.len());
        }
        Self { splits, arcs }
    }
}

/// The FSA and, for [`Semiring::Tropical`], its arc map; and whether a score is infinitely good.
fn without_epsilons(
    i: usize,
    fsa: FsaView<'_>,
    semiring: Semiring,
    max_bytes: usize,
) -> Result<(Part, Lists, bool), Error> {
    let (mut lists, mut infinite) = (Lists::default(), false);
    let Some(last) = fsa.final_state() else { return Ok((Part::default(), lists, false)) };
    let labelled = Labelled::of(fsa);
    let mut names = vec![-1; last + 1];
    for (arc, _) in &labelled.arcs {
        names[arc.states().1] = 0;
    }
    (names[0], names[last]) = (0, 0);
    let mut num_kept = 0;
    for name in names.iter_mut().filter(|name| **name == 0) {
        *name = num_kept;
        num_kept += 1;
    }
    let mut part = Part::with_capacity(index(num_kept), fsa.arcs().len());
    check_limit(max_bytes, &part, &lists, 0, 0)?;
    let mut closures = Closures::new(i, fsa, semiring);
    let mut path = Vec::new();
    for (state, &src_state) in names.iter().enumerate().filter(|&(_, &name)| name >= 0) {
        for place in 0..closures.find_from(state)? {
            let (reached, score) = closures.found(place);
            let row = &labelled.arcs[labelled.splits[reached]..labelled.splits[reached + 1]];
            if row.is_empty() {
                continue;
            }
            if semiring == Semiring::Tropical {
                closures.path_to(place, &mut path);
            }
            let num_places = row.len() * (path.len() + 1);
            if part.arcs.capacity() - part.arcs.len() < row.len()
                || lists.arcs.capacity() - lists.arcs.len() < num_places
            {
                check_limit(max_bytes, &part, &lists, row.len(), num_places)?;
            }
            for &(arc, place) in row {
                let dest_state = names[arc.states().1];
                let score = narrow(score + f64::from(arc.score));
                infinite |= score == f32::INFINITY;
                part.arcs.push(Arc { src_state, dest_state, label: arc.label, score });
                if semiring == Semiring::Tropical {
                    lists.arcs.extend_from_slice(&path);
                    lists.arcs.push(place);
                    lists.splits.push(Error::fit("the number of entries of the arc map", lists.arcs.len())?);
                }
            }
        }
        part.end_state();
    }
    Error::fit("the number of arcs", part.arcs.len())?;
    Ok((part, lists, infinite))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fsa;
    use crate::fsa::fsa;

    #[test]
    fn the_best_way_of_several() {
        // 0 -> 1 -> 2 and 0 -> 2 directly, all epsilons; state 1 is entered by epsilons only.
        let before = fsa(4, &[(0, 2, 0, 1.0), (0, 1, 0, 2.0), (1, 2, 0, 4.0), (1, 2, 7, 0.5), (2, 3, -1, 0.25)]);
        let (after, map) = remove_epsilon(&before).unwrap();
        assert_eq!(after, fsa(3, &[(0, 1, 7, 2.5), (0, 2, -1, 6.25), (1, 2, -1, 0.25)]));
        assert_eq!(map.rows().collect::<Vec<_>>(), [&[1, 3][..], &[1, 2, 4], &[4]]);
        let (with_loops, map) = remove_epsilon_and_add_self_loops(&before).unwrap();
        assert_eq!((with_loops.num_arcs(), map.row(0), map.row(1)), (5, &[][..], &[1, 3][..]));
        let log = remove_epsilon_log(&before).unwrap();
        let sum = ((1.0_f64).exp() + (6.0_f64).exp()).ln() + 0.25;
        assert!((f64::from(log.arcs()[1].score) - sum).abs() < 1e-5);
        assert_eq!(remove_epsilon(&Fsa::empty()).unwrap().0, Fsa::empty());
    }

    #[test]
    fn cycles_of_epsilons() {
        let circle =
            |score| fsa(4, &[(0, 1, 0, -1.0), (1, 2, 0, score), (1, 2, 5, 0.0), (2, 1, 0, 0.0), (2, 3, -1, 0.0)]);
        let (after, map) = remove_epsilon(&circle(-0.5)).unwrap();
        assert_eq!(after.num_states(), 3);
        assert_eq!(map.rows().collect::<Vec<_>>(), [&[0, 2][..], &[0, 1, 4], &[4], &[3, 2]]);
        assert!(remove_epsilon(&circle(0.0)).is_ok());
        assert!(matches!(remove_epsilon(&circle(0.5)), Err(Error::EndlessCycle { .. })));
        // The way from 0 to 1 goes round any number of times: -1 - ln(1 - e^-0.5).
        let log = remove_epsilon_log(&circle(-0.5)).unwrap();
        let sum = -1.0 - (1.0 - (-0.5_f64).exp()).ln();
        assert!((f64::from(log.arcs()[0].score) - sum).abs() < 1e-5);
        assert!(matches!(remove_epsilon_log(&circle(0.0)), Err(Error::EndlessCycle { .. })));
        let alone = fsa(3, &[(0, 0, 0, 0.5), (0, 1, 3, 0.0), (1, 2, -1, 0.0)]);
        assert!(matches!(remove_epsilon(&alone), Err(Error::EndlessCycle { .. })));
    }
}
