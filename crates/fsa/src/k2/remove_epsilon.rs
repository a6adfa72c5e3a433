//! Equivalent FSAs without epsilons.

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON};
use crate::core::builder::{FsaSlot, ListSlot, ListSlots, Size, write_each};
use crate::core::each_fsa::for_each;
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::limits::Limits;
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::{Error, Operation, Quantity};
use crate::k2::epsilon_closure::Closures;
use crate::k2::epsilon_self_loops::add_epsilon_self_loops;
use crate::support::ids::{id, narrow};

/// Removes epsilons: each string keeps the score of its best path. Returns also for each arc the
/// arcs whose scores it adds up, in the order of their path: epsilons and then one arc with a
/// label.
///
/// A state gets the arcs of all states that epsilons lead to, its own first. States other than the
/// start that only epsilons entered are removed; further states may be dead ends
/// ([`connect`](crate::k2::connect) removes these). Several arcs may have the same label and
/// destination. O(arcs of the result and of the map), if epsilons form no cycles.
///
/// # Errors
/// [`Error::EndlessCycle`] if a cycle of epsilons has a positive score, [`Error::TooLarge`],
/// [`Error::Score`] if scores overflow.
#[doc(alias = "RemoveEpsilon")]
#[doc(alias = "rmepsilon")]
pub fn remove_epsilon<F: Fsas>(fsas: &F) -> Result<(F, Ragged<i32>), Error> {
    remove_epsilon_within(fsas, Limits::default())
}

/// Calls [`remove_epsilon`] with a limit: on the states and arcs of one FSA of the result, and its
/// part of the arc map.
///
/// # Errors
/// [`Error::Limit`], and as [`remove_epsilon`].
pub fn remove_epsilon_within<F: Fsas>(fsas: &F, limits: Limits) -> Result<(F, Ragged<i32>), Error> {
    remove_epsilon_keeping(fsas, limits, &|_| true)
}

/// Calls [`remove_epsilon_within`] with an arc map of only the arcs that `kept` selects, by their
/// indexes over all FSAs. The map can have as many entries as the cube of the states, so arcs that
/// are not needed should be left out.
///
/// # Errors
/// As [`remove_epsilon_within`].
pub(crate) fn remove_epsilon_keeping<F: Fsas>(
    fsas: &F,
    limits: Limits,
    kept: &(dyn Fn(usize) -> bool + Sync),
) -> Result<(F, Ragged<i32>), Error> {
    let plans = plans(fsas.as_fsa_vec(), Semiring::Tropical, limits, Some(kept))?;
    let mut lists = ListSlots::new(plans.iter().map(|plan| (plan.num_arcs, plan.num_entries)))?;
    let made = write(plans, lists.each().collect())?;
    Ok((fsas.same_kind(made), lists.finish()?))
}

/// Calls [`remove_epsilon_within`] without the arc map, in no more memory than the input and the
/// output.
///
/// ```
/// use fsa::k2::remove_epsilon_without_map;
/// use fsa::{Arc, Fsa, Limits};
///
/// let fsa = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 1, 0, -0.5), Arc::new(0, 1, 7, 0.0), Arc::new(1, 2, -1, -1.0)]
/// )?;
/// let without = remove_epsilon_without_map(&fsa, Limits::default())?;
/// assert_eq!(without.scores(), [0.0, -1.5, -1.0]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// As [`remove_epsilon_within`].
pub fn remove_epsilon_without_map<F: Fsas>(fsas: &F, limits: Limits) -> Result<F, Error> {
    let plans = plans(fsas.as_fsa_vec(), Semiring::Tropical, limits, None)?;
    Ok(fsas.same_kind(write(plans, vec![])?))
}

/// Removes epsilons: each string gets the logarithm of the sum of all its paths. An arc stands for
/// all paths over epsilons to an arc with a label, so there is no arc map.
///
/// # Errors
/// [`Error::EndlessCycle`] if the paths around a cycle of epsilons have no finite sum, and as
/// [`remove_epsilon_within`].
pub fn remove_epsilon_log<F: Fsas>(fsas: &F, limits: Limits) -> Result<F, Error> {
    let plans = plans(fsas.as_fsa_vec(), Semiring::Log, limits, None)?;
    Ok(fsas.same_kind(write(plans, vec![])?))
}

/// Calls [`remove_epsilon`], and then adds an epsilon self-loop at each state but the final one,
/// with an empty list in the arc map.
///
/// # Errors
/// As [`remove_epsilon`].
#[doc(alias = "RemoveEpsilonAndAddSelfLoops")]
pub fn remove_epsilon_and_add_self_loops<F: Fsas>(fsas: &F) -> Result<(F, Ragged<i32>), Error> {
    let (without, map) = remove_epsilon(fsas)?;
    let (with_loops, from) = add_epsilon_self_loops(&without)?;
    Ok((with_loops, map.select(0, &from)?))
}

/// Plans the result for each FSA.
fn plans(fsas: &FsaVec, semiring: Semiring, limits: Limits, kept: Option<ArcFilter<'_>>) -> Result<Vec<Plan>, Error> {
    for_each(fsas, |i, fsa| Plan::new(i, fsa, semiring, limits, kept))
}

/// Selects the arcs of the arc map, by their indexes over all FSAs.
type ArcFilter<'a> = &'a (dyn Fn(usize) -> bool + Sync);

/// Writes the FSAs as planned, and the lists of their arc maps if there are slots for them.
fn write(plans: Vec<Plan>, mut lists: Vec<ListSlot<'_>>) -> Result<FsaVec, Error> {
    let num_arcs = plans.iter().map(|plan| plan.num_arcs).sum();
    let sizes = plans.iter().map(|plan| Size { states: plan.num_states, arcs: plan.num_arcs }).collect();
    let mut lists = lists.drain(..);
    let plans = plans.into_iter().map(|plan| (plan, lists.next())).collect();
    let (made, []) = write_each(num_arcs, sizes, plans, |_, (plan, lists), place| match lists {
        Some(lists) => plan.write(place, lists),
        None => plan.write_without_map(place),
    })?;
    Ok(made)
}

/// Plan of an FSA without epsilons, whose size is known once all epsilon paths are.
#[derive(Default)]
struct Plan {
    labelled: Labelled,
    /// New numbers of states; -1 for states that are left out.
    names: Vec<i32>,
    num_states: usize,
    /// Without an arc map, closures are computed again when arcs are written, because they can take
    /// as much memory as the arcs.
    closures: Option<Closures>,
    /// For an arc map: the end of each remaining state's part of `reached`, the states whose arcs
    /// it takes over.
    ends: Vec<usize>,
    reached: Vec<Reached>,
    /// The epsilons of the arc map on the best paths there, as a tree for each state.
    steps: Vec<Step>,
    num_arcs: usize,
    /// Number of entries of the arc map.
    num_entries: usize,
}

/// A state that epsilons reach.
struct Reached {
    state: u32,
    /// Last step of the path, or [`NO_STEP`].
    way: u32,
    score: f64,
}

/// An epsilon on a path.
struct Step {
    /// The step before, or [`NO_STEP`].
    before: u32,
    arc: i32,
    /// Number of steps of the path up to here.
    len: u32,
}

const NO_STEP: u32 = u32::MAX;

/// The labelled arcs of one FSA by source state, with their indexes over all FSAs; -1 for arcs that
/// the arc map leaves out.
#[derive(Default)]
struct Labelled {
    splits: Vec<usize>,
    arcs: Vec<(Arc, i32)>,
}

impl Labelled {
    fn new(fsa: FsaView<'_>, kept: Option<ArcFilter<'_>>) -> Self {
        let mut splits = Vec::with_capacity(fsa.num_states() + 1);
        splits.push(0);
        let mut arcs = Vec::with_capacity(fsa.arcs().len());
        for state in 0..fsa.num_states() {
            let row = fsa.arcs_of(state).iter().zip(fsa.first_arc() + fsa.arc_range(state).start..);
            let row = row.filter(|(arc, _)| arc.label != EPSILON);
            arcs.extend(row.map(|(&arc, at)| (arc, if kept.is_some_and(|kept| kept(at)) { id(at) } else { -1 })));
            splits.push(arcs.len());
        }
        Self { splits, arcs }
    }

    fn row(&self, state: usize) -> &[(Arc, i32)] {
        &self.arcs[self.splits[state]..self.splits[state + 1]]
    }
}

impl Plan {
    fn new(
        i: usize,
        fsa: FsaView<'_>,
        semiring: Semiring,
        limits: Limits,
        kept: Option<ArcFilter<'_>>,
    ) -> Result<Self, Error> {
        let Some(last) = fsa.final_state() else { return Ok(Self::default()) };
        let labelled = Labelled::new(fsa, kept);
        let mut names = vec![-1; last + 1];
        for (arc, _) in &labelled.arcs {
            names[arc.states().1] = 0;
        }
        (names[0], names[last]) = (0, 0);
        names.iter_mut().filter(|name| **name == 0).zip(0..).for_each(|(name, new)| *name = new);
        let mut plan = Self { labelled, names, ..Self::default() };
        let mut closures = Closures::new(i, fsa, semiring);
        let mut ways = Ways::default();
        for state in (0..=last).filter(|&state| plan.names[state] >= 0) {
            let num_found = closures.find_from(state)?;
            if kept.is_some() {
                ways.clear(num_found);
            }
            for place in 0..num_found {
                let (reached, score) = closures.found(place);
                let num_arcs = plan.labelled.row(reached).len();
                if num_arcs == 0 {
                    continue;
                }
                if let Some(kept) = kept {
                    let way = ways.to(place, &closures, kept, &mut plan.steps)?;
                    let len = plan.steps.get(way as usize).map_or(0, |step| step.len as usize);
                    let named = plan.labelled.row(reached).iter().filter(|(_, arc)| *arc >= 0).count();
                    plan.num_entries = plan.num_entries.saturating_add(num_arcs.saturating_mul(len) + named);
                    plan.reached.push(Reached { state: id(reached).cast_unsigned(), way, score });
                }
                plan.num_arcs += num_arcs;
            }
            plan.num_states += 1;
            if kept.is_some() {
                plan.ends.push(plan.reached.len());
            }
            limits.check(Operation::RemoveEpsilons, plan.bytes(kept.is_some()), plan.num_states, plan.num_arcs)?;
        }
        plan.closures = kept.is_none().then_some(closures);
        Ok(plan)
    }

    /// Returns the number of bytes of the states and arcs so far, with the lists of the arc map.
    fn bytes(&self, with_map: bool) -> usize {
        let made = self.num_states * size_of::<i32>() + self.num_arcs * size_of::<Arc>();
        if !with_map {
            return made;
        }
        let lists = self.num_arcs * size_of::<i32>() + self.num_entries.saturating_mul(size_of::<i32>());
        let work = self.reached.len() * size_of::<Reached>() + self.steps.len() * size_of::<Step>();
        (made + work).saturating_add(lists)
    }

    /// Returns the arcs of a path that are in the arc map, in their order.
    fn way(&self, last: u32, way: &mut Vec<i32>) {
        way.clear();
        let mut at = last;
        while at != NO_STEP {
            let step = &self.steps[at as usize];
            way.push(step.arc);
            at = step.before;
        }
        way.reverse();
    }

    /// # Errors
    /// [`Error::Score`].
    fn write(&self, mut place: FsaSlot<'_, 0>, mut lists: ListSlot<'_>) -> Result<(), Error> {
        let (mut begin, mut steps) = (0, Vec::new());
        for (src_state, &end) in (0..).zip(&self.ends) {
            for &Reached { state, way, score } in &self.reached[begin..end] {
                self.way(way, &mut steps);
                for &(arc, from) in self.labelled.row(state as usize) {
                    place.push(self.after(src_state, score, arc, place.next_arc())?, []);
                    lists.extend(&steps);
                    if from >= 0 {
                        lists.extend(&[from]);
                    }
                    lists.end_list();
                }
            }
            begin = end;
            place.end_state();
        }
        Ok(())
    }

    /// # Errors
    /// [`Error::Score`].
    fn write_without_map(mut self, mut place: FsaSlot<'_, 0>) -> Result<(), Error> {
        let Some(mut closures) = self.closures.take() else { return Ok(()) };
        let kept = (0..self.names.len()).filter(|&state| self.names[state] >= 0);
        for (src_state, state) in (0..).zip(kept) {
            for at in 0..closures.find_from(state)? {
                let (reached, score) = closures.found(at);
                for &(arc, _) in self.labelled.row(reached) {
                    place.push(self.after(src_state, score, arc, place.next_arc())?, []);
                }
            }
            place.end_state();
        }
        Ok(())
    }

    /// Returns an arc behind a path of this score.
    fn after(&self, src_state: i32, score: f64, arc: Arc, next_arc: usize) -> Result<Arc, Error> {
        let score = narrow(score + f64::from(arc.score));
        if score == f32::INFINITY {
            return Err(Error::Score { arc: next_arc, score });
        }
        Ok(Arc { src_state, dest_state: self.names[arc.states().1], label: arc.label, score })
    }
}

/// Last steps of the paths to the states found from one state, as far as they are known.
#[derive(Default)]
struct Ways {
    /// One for each index; [`UNKNOWN`] until it is requested.
    lasts: Vec<u32>,
    open: Vec<usize>,
}

const UNKNOWN: u32 = u32::MAX - 1;

impl Ways {
    fn clear(&mut self, num_found: usize) {
        self.lasts.clear();
        self.lasts.resize(num_found, UNKNOWN);
        if let Some(first) = self.lasts.first_mut() {
            *first = NO_STEP;
        }
    }

    /// Returns the last step of the path to an index. Each index is visited once for each state at
    /// which paths begin.
    fn to(
        &mut self,
        place: usize,
        closures: &Closures,
        kept: ArcFilter<'_>,
        steps: &mut Vec<Step>,
    ) -> Result<u32, Error> {
        let mut at = place;
        // As the best paths have no cycles, the second condition only guards against rounding.
        while self.lasts[at] == UNKNOWN && self.open.len() < self.lasts.len() {
            self.open.push(at);
            at = closures.before(at).1;
        }
        let mut last = if self.lasts[at] == UNKNOWN { NO_STEP } else { self.lasts[at] };
        while let Some(at) = self.open.pop() {
            let arc = closures.before(at).0;
            if kept(arc) {
                let len = steps.get(last as usize).map_or(0, |step| step.len) + 1;
                let next = Error::fit(Quantity::Epsilons, steps.len())?.cast_unsigned();
                steps.push(Step { before: last, arc: id(arc), len });
                last = next;
            }
            self.lasts[at] = last;
        }
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::{Fsa, fsa};
    use crate::support::ids::index;

    #[test]
    fn memory_follows_the_output_where_no_map_is_wanted() {
        // Each of 3,000 states reaches all later ones over epsilons: paths have 4.5 G entries.
        let num_states = 3000;
        let step = |state: i32| [Arc::new(state, state + 1, 0, -0.25), Arc::new(state, state + 1, state + 1, -0.5)];
        let mut arcs: Vec<_> = (0..num_states - 1).flat_map(step).collect();
        arcs.push(Arc::new(num_states - 1, num_states, -1, 0.0));
        let chain = Fsa::from_arcs(index(num_states) + 1, arcs).unwrap();
        let num_arcs = index(num_states) * (index(num_states) + 1) / 2;
        let limits = Limits::default().with_max_bytes(num_arcs * size_of::<Arc>() + (1 << 20));
        assert_eq!(remove_epsilon_without_map(&chain, limits).unwrap().num_arcs(), num_arcs);
        let needed = num_arcs * (size_of::<Arc>() + size_of::<Reached>() + size_of::<i32>());
        // Only every thousandth epsilon is in the map.
        let kept = |arc: usize| arc.is_multiple_of(2000);
        let (fsa, map) = remove_epsilon_keeping(&chain, limits.with_max_bytes(4 * needed), &kept).unwrap();
        assert_eq!(
            (fsa.num_arcs(), map.row(num_states.cast_unsigned() as usize - 1)),
            (num_arcs, &[0, 2000, 4000][..])
        );
        assert!(matches!(remove_epsilon_within(&chain, limits), Err(Error::Limit { .. })));
    }

    #[test]
    fn the_best_way_of_several() {
        // 0 -> 1 -> 2 and 0 -> 2 directly, all epsilons; state 1 is entered by epsilons only.
        let before = fsa(4, &[(0, 2, 0, 1.0), (0, 1, 0, 2.0), (1, 2, 0, 4.0), (1, 2, 7, 0.5), (2, 3, -1, 0.25)]);
        let (after, map) = remove_epsilon(&before).unwrap();
        assert_eq!(after, fsa(3, &[(0, 1, 7, 2.5), (0, 2, -1, 6.25), (1, 2, -1, 0.25)]));
        assert_eq!(map.rows().collect::<Vec<_>>(), [&[1, 3][..], &[1, 2, 4], &[4]]);
        let (with_loops, map) = remove_epsilon_and_add_self_loops(&before).unwrap();
        assert_eq!((with_loops.num_arcs(), map.row(0), map.row(1)), (5, &[][..], &[1, 3][..]));
        let log = remove_epsilon_log(&before, Limits::default()).unwrap();
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
        // The path from 0 to 1 goes round any number of times: -1 - ln(1 - e^-0.5).
        let log = remove_epsilon_log(&circle(-0.5), Limits::default()).unwrap();
        let sum = -1.0 - (1.0 - (-0.5_f64).exp()).ln();
        assert!((f64::from(log.arcs()[0].score) - sum).abs() < 1e-5);
        assert!(matches!(remove_epsilon_log(&circle(0.0), Limits::default()), Err(Error::EndlessCycle { .. })));
        let alone = fsa(3, &[(0, 0, 0, 0.5), (0, 1, 3, 0.0), (1, 2, -1, 0.0)]);
        assert!(matches!(remove_epsilon(&alone), Err(Error::EndlessCycle { .. })));
    }
}
