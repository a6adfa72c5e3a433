//! Intersection of two FSAs.

use kaldera_base::setters;

use crate::core::arc::Arc;
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::limits::Limits;
use crate::core::view::FsaView;
use crate::error::{Error, Operation, Quantity};
use crate::k2::arc_sort;
use crate::k2::meeting::{Epsilons, Pair, Step, for_each_step};
use crate::k2::pairs::{BuiltPair, WithArcMaps, map_chosen_pairs, map_pairs};
use crate::support::ids::{id, index};
use crate::support::pair_interner::PairInterner;

/// Options of [`intersect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct IntersectOptions {
    /// The meaning of label 0.
    pub epsilons: Epsilons,
    /// The largest size of one FSA of the result with its arc maps; by default there is none.
    pub limits: Limits,
}

setters! {
    IntersectOptions:
    epsilons, with_epsilons: Epsilons, "With this meaning of label 0.";
    limits, with_limits: Limits, "With these limits.";
}

impl From<Epsilons> for IntersectOptions {
    fn from(epsilons: Epsilons) -> Self {
        Self { epsilons, limits: Limits::default() }
    }
}

/// Intersects FSAs: the result accepts the strings that both `a` and `b` accept, with the sum of
/// both scores. Returns it with the arc maps to both; if only one side moves on an arc, the map to
/// the other holds -1.
///
/// FSAs at the same index are intersected; a single FSA is intersected with each of several. Arcs
/// are matched in sorted order. Unsorted inputs are sorted first in a copy; to avoid that, call
/// [`arc_sort`] once. All states can be reached, but not all need to reach the final one:
/// [`connect`](crate::k2::connect) removes those. Two single FSAs give a single one. O(arcs of the
/// result), times the logarithm of the arcs of a state in the worst case.
///
/// ```
/// use fsa::k2::intersect;
/// use fsa::{Arc, Fsa};
///
/// let a = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 1, 8, 0.0), Arc::new(1, 2, -1, 0.0)]
/// )?;
/// let b = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.25), Arc::new(1, 2, -1, 0.0)])?;
/// let (both, arc_map_a, arc_map_b) = intersect(&a, &b, Default::default())?;
/// assert_eq!(both.arcs()[0], Arc::new(0, 1, 7, 0.75));
/// assert_eq!((arc_map_a, arc_map_b), (vec![0, 2], vec![0, 1]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::Size`] if the numbers of FSAs differ and neither is 1, [`Error::Limit`],
/// [`Error::TooLarge`], and [`Error::Score`] if scores overflow.
#[doc(alias = "Intersect")]
pub fn intersect<A: Fsas, B: Fsas>(a: &A, b: &B, options: IntersectOptions) -> Result<WithArcMaps<A::With<B>>, Error> {
    intersect_by(a, b, |a, b| intersect_pair(a, b, options, |_| true))
}

/// Intersects FSAs with sorted arcs by `meet`.
pub(super) fn intersect_by<A: Fsas, B: Fsas>(
    a: &A,
    b: &B,
    meet: impl Fn(FsaView<'_>, FsaView<'_>) -> Result<BuiltPair, Error> + Sync,
) -> Result<WithArcMaps<A::With<B>>, Error> {
    let (sorted_a, sorted_b) = (Sorted::new(a)?, Sorted::new(b)?);
    let (fsas, map_a, map_b) = map_pairs(&sorted_a.fsas, &sorted_b.fsas, meet)?;
    Ok((fsas, sorted_a.original(map_a), sorted_b.original(map_b)))
}

/// Intersects each FSA of `b` with the FSA of `a` given by `b_to_a_map`. Label 0 is a symbol like
/// others. Returns both arc maps too.
///
/// This is k2's function of the same name. Its option `sorted_match_a` is not needed here, as
/// unsorted inputs are sorted first.
///
/// # Errors
/// [`Error::Size`] if the map does not have one entry for each FSA of `b`, [`Error::OutOfRange`] if
/// an entry is not an index of an FSA of `a`, and as [`intersect`].
#[doc(alias = "IntersectDevice")]
pub fn intersect_device<B: Fsas>(a: &FsaVec, b: &B, b_to_a_map: &[i32]) -> Result<WithArcMaps<B>, Error> {
    Error::same_size(Quantity::PairMapEntries, b.as_fsa_vec().num_fsas(), b_to_a_map.len())?;
    let num_fsas = i64::try_from(a.num_fsas()).unwrap_or(i64::MAX);
    if let Some(&found) = b_to_a_map.iter().find(|&&i| !(0..num_fsas).contains(&i64::from(i))) {
        let (min, max, found) = (0, num_fsas - 1, found.into());
        return Err(Error::OutOfRange { what: Quantity::PairMapEntry, min, max, found });
    }
    let (sorted_a, sorted_b) = (Sorted::new(a)?, Sorted::new(b.as_fsa_vec())?);
    let choose = |i: usize| (index(b_to_a_map[i]), i);
    let meet = |a: FsaView<'_>, b: FsaView<'_>| intersect_pair(a, b, Epsilons::AsSymbol.into(), |_| true);
    let (fsas, map_a, map_b) = map_chosen_pairs(b_to_a_map.len(), &sorted_a.fsas, &sorted_b.fsas, choose, meet)?;
    Ok((b.same_kind(fsas), sorted_a.original(map_a), sorted_b.original(map_b)))
}

/// FSAs with sorted arcs, and the former indexes of the arcs, if they differ.
struct Sorted<F> {
    fsas: F,
    places: Option<Vec<i32>>,
}

impl<F: Fsas> Sorted<F> {
    fn new(fsas: &F) -> Result<Self, Error> {
        if fsas.as_fsa_vec().is_arc_sorted() {
            return Ok(Self { fsas: fsas.clone(), places: None });
        }
        let (fsas, places) = arc_sort(fsas)?;
        Ok(Self { fsas, places: Some(places) })
    }

    /// Returns a map to the arcs of the unsorted FSAs.
    fn original(&self, mut map: Vec<i32>) -> Vec<i32> {
        if let Some(places) = &self.places {
            map.iter_mut().filter(|arc| **arc >= 0).for_each(|arc| *arc = places[index(*arc)]);
        }
        map
    }
}

/// Builds the result. States are numbered in the order in which they are found; the final one gets
/// the last number at the end.
struct Meeting {
    states: PairInterner,
    made: BuiltPair,
    limits: Limits,
}

/// Intersects two FSAs with sorted arcs. Arcs into pairs that are not to be kept are left out,
/// except for final ones.
pub(super) fn intersect_pair(
    a: FsaView<'_>,
    b: FsaView<'_>,
    IntersectOptions { epsilons, limits }: IntersectOptions,
    keep: impl Fn(Pair) -> bool,
) -> Result<BuiltPair, Error> {
    // The result is usually not smaller than the inputs.
    let expected = a.num_states().max(b.num_states());
    let expected = expected.min(limits.bytes() / BYTES_OF_STATE_AND_TWO_ARCS).min(limits.states());
    let mut meeting = Meeting {
        states: PairInterner::with_capacity(expected),
        made: BuiltPair {
            builder: SortedFsaBuilder::with_capacity(expected, 2 * expected),
            map_a: Vec::with_capacity(2 * expected),
            map_b: Vec::with_capacity(2 * expected),
        },
        limits,
    };
    if a.num_states() == 0 || b.num_states() == 0 {
        return Ok(meeting.made);
    }
    meeting.number(Pair::START)?;
    let mut at = 0;
    while at < meeting.states.len() {
        let src_state = id(at);
        let from = Pair::from_numbers(meeting.states.pair(src_state.cast_unsigned()));
        for_each_step((a, b), from, epsilons, |step| {
            if step.label < 0 || keep(step.to) { meeting.push(src_state, step) } else { Ok(()) }
        })?;
        meeting.made.builder.end_state();
        at += 1;
    }
    let mut made = meeting.made;
    made.builder.end_state();
    let last = Error::fit(Quantity::States, at)?;
    Error::fit(Quantity::Arcs, made.builder.arcs.len())?;
    // Two scores that are finite or -inf can only overflow.
    let overflows = |arc: &Arc| arc.score == f32::INFINITY;
    let mut infinite = false;
    for arc in &mut made.builder.arcs {
        arc.dest_state = if arc.dest_state < 0 { last } else { arc.dest_state };
        infinite |= overflows(arc);
    }
    if infinite {
        let arc = made.builder.arcs.iter().position(overflows).unwrap_or(0);
        return Err(Error::Score { arc, score: f32::INFINITY });
    }
    Ok(made)
}

/// Number of bytes of an arc and its entries in both maps.
const BYTES_OF_ARC: usize = size_of::<Arc>() + 2 * size_of::<i32>();

/// Number of bytes of a new state with its number, the end of its arcs and two arcs.
const BYTES_OF_STATE_AND_TWO_ARCS: usize = 32 + 2 * BYTES_OF_ARC;

impl Meeting {
    /// Returns the number of a state, which is a new one if the state is found for the first time.
    #[inline(always)]
    fn number(&mut self, pair: Pair) -> Result<i32, Error> {
        let (first, second) = pair.to_numbers();
        let (number, is_new) = self.states.insert(first, second)?;
        if is_new && (self.states.len().is_power_of_two() || self.states.len() > self.limits.states()) {
            self.check_limit(0)?;
        }
        Ok(number.cast_signed())
    }

    #[inline]
    fn push(&mut self, src_state: i32, step: Step) -> Result<(), Error> {
        let Step { to, label, score, from_a, from_b } = step;
        let dest_state = if label < 0 { -1 } else { self.number(to)? };
        if self.made.builder.arcs.len() == self.made.builder.arcs.capacity() {
            self.reserve()?;
        }
        self.made.builder.arcs.push(Arc { src_state, dest_state, label, score });
        self.made.map_a.push(from_a);
        self.made.map_b.push(from_b);
        Ok(())
    }

    /// Reserves memory for twice as many arcs, or for as many as the limit allows.
    #[cold]
    fn reserve(&mut self) -> Result<(), Error> {
        let arcs = self.made.builder.arcs.len();
        let allowed = (self.limits.bytes() / BYTES_OF_ARC).saturating_sub(arcs + self.bytes_of_states() / BYTES_OF_ARC);
        let more = arcs.max(64).min(allowed);
        self.check_limit(more.max(1))?;
        self.made.builder.arcs.reserve_exact(more);
        self.made.map_a.reserve_exact(more);
        self.made.map_b.reserve_exact(more);
        Ok(())
    }

    fn bytes_of_states(&self) -> usize {
        self.states.bytes_with_one_more() + self.made.builder.ends.capacity() * size_of::<usize>()
    }

    /// Checks the limit for this number of additional arcs.
    fn check_limit(&self, more: usize) -> Result<(), Error> {
        let arcs = self.made.builder.arcs.len();
        let needed = self.bytes_of_states() + (arcs + more) * BYTES_OF_ARC;
        self.limits.check(Operation::Composition, needed, self.states.len(), arcs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::Fsa;

    fn fsa(states: usize, arcs: &[(i32, i32, i32)]) -> Fsa {
        Fsa::from_arcs(
            states,
            arcs.iter().map(|&(src, dest, label)| Arc::new(src, dest, label, 0.5)).collect::<Vec<_>>(),
        )
        .unwrap()
    }

    #[test]
    fn each_order_of_epsilons_or_one() {
        let epsilon = fsa(3, &[(0, 1, 0), (1, 2, -1)]);
        let arcs = |epsilons: Epsilons| {
            let (fsa, ..) = intersect(&epsilon, &epsilon, epsilons.into()).unwrap();
            (fsa.num_states(), fsa.num_arcs())
        };
        assert_eq!(
            arcs(Epsilons::Sequenced),
            (5, 4),
            "the state after b's move is there twice: with a's move before it, and without"
        );
        assert_eq!(arcs(Epsilons::AnyOrder), (5, 5));
        assert_eq!(arcs(Epsilons::AsSymbol), (3, 2));
    }

    #[test]
    fn what_is_not_sorted_is_sorted_on_the_side() {
        let a = fsa(3, &[(0, 2, -1), (0, 1, 5), (0, 1, 3), (1, 2, -1)]);
        let b = fsa(3, &[(0, 1, 3), (0, 1, 5), (0, 1, 4), (1, 2, -1)]);
        let (made, map_a, map_b) = intersect(&a, &b, Epsilons::default().into()).unwrap();
        assert_eq!((made.labels(), map_a, map_b), (vec![3, 5, -1], vec![2, 1, 3], vec![0, 1, 3]));
        assert!(made.arcs().iter().all(|arc| arc.score == 1.0));
    }

    /// Large enough for several threads; in the second round, scores of two FSAs overflow.
    #[cfg(feature = "rayon")]
    #[test]
    fn threads_change_nothing() {
        use crate::k2::random_fsa;
        use crate::k2::random_fsa::RandomFsaOptions;

        let options = RandomFsaOptions { min_num_arcs: 200, max_num_arcs: 400, max_symbol: 5, ..Default::default() };
        let random = |first: u64| (first..first + 80).map(|seed| random_fsa(seed, &options).unwrap()).collect();
        let (mut a, mut b): (Vec<_>, Vec<_>) = (random(0), random(100));
        let heavy = |scores: [f32; 2]| fsa(3, &[(0, 1, 3), (1, 2, -1)]).with_scores(&scores).unwrap();
        for overflows in [false, true] {
            let of_both = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let (a, b) = (FsaVec::from_fsas(&a).unwrap(), FsaVec::from_fsas(&b).unwrap());
                pool.install(|| intersect(&a, &b, Epsilons::default().into()))
            };
            let alone = of_both(1);
            assert_eq!(alone.is_err(), overflows);
            assert!((2..=3).all(|threads| of_both(threads) == alone));
            for (place, scores) in [(30, [0.0, f32::MAX]), (70, [f32::MAX, 0.0])] {
                (a[place], b[place]) = (heavy(scores), heavy(scores));
            }
        }
    }

    #[test]
    fn several_meet_one_and_what_cannot_meet_is_refused() {
        let a = fsa(3, &[(0, 1, 3), (1, 2, -1)]);
        let several = FsaVec::from_fsas(&[a.clone(), Fsa::empty(), a.clone()]).unwrap();
        let (made, map_a, map_b) = intersect(&a, &several, Epsilons::default().into()).unwrap();
        assert_eq!((made.num_fsas(), map_a, map_b), (3, vec![0, 1, 0, 1], vec![0, 1, 2, 3]));
        let two = FsaVec::from_fsas(&[a.clone(), a.clone()]).unwrap();
        assert!(matches!(intersect(&two, &several, Epsilons::default().into()), Err(Error::Size { .. })));
        let (made, map_a, _) = intersect_device(&two, &several, &[1, 0, 1]).unwrap();
        assert_eq!((made.num_fsas(), map_a), (3, vec![2, 3, 2, 3]));
        assert!(
            intersect_device(&two, &several, &[1, 0]).is_err() && intersect_device(&two, &several, &[1, 0, 2]).is_err()
        );
        let heavy = a.with_scores(&[f32::MAX, 0.0]).unwrap();
        assert!(matches!(intersect(&heavy, &heavy, Epsilons::default().into()), Err(Error::Score { .. })));
    }
}
