//! What two FSAs both accept.

use crate::algorithms::pair_table::PairTable;
use crate::algorithms::pairs::{PairPart, WithArcMaps, map_chosen_pairs, map_pairs};
use crate::algorithms::{arc_sort, matching::for_each_match};
use crate::arc::{id, index};
use crate::parts::Part;
use crate::view::FsaView;
use crate::{Arc, EPSILON, Error, FsaVec, Fsas};

/// What label 0 means where two FSAs meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Epsilons {
    /// Nothing is taken: one side moves while the other waits, first `a`, then `b`, so that each pair of paths comes out once and
    /// totals are right in every semiring (the sequence filter of C. Allauzen, J. Schalkwyk, M. Mohri: *OpenFst*, CIAA 2007).
    #[default]
    Sequenced,
    /// Nothing is taken, and the two sides may move in any order, as in k2 with `treat_epsilons_specially=True`. Where both have epsilons, a pair of paths
    /// comes out once for each order: best paths are right, log totals are not.
    AnyOrder,
    /// A symbol like others, as in k2 with `treat_epsilons_specially=False`.
    AsSymbol,
}

/// The FSAs that accept what both `a` and `b` accept, with the sum of both scores, and the arc maps to both; where one side moves alone, the arc comes
/// from -1 on the other.
///
/// FSAs at the same place meet, a single one meets each of several. Arcs are matched in sorted order: what is not sorted is sorted first, on the side,
/// for which it is better to call [`arc_sort`] once. All states can be reached, but not all need to reach the final one: [`connect`](super::connect)
/// leaves those out. Two single FSAs give a single one. O(arcs of the result), times the logarithm of the arcs of a state at the worst.
///
/// ```
/// use fsa::algorithms::{Epsilons, intersect};
/// use fsa::{Arc, Fsa};
///
/// let a = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 1, 8, 0.0), Arc::new(1, 2, -1, 0.0)])?;
/// let b = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.25), Arc::new(1, 2, -1, 0.0)])?;
/// let (both, arc_map_a, arc_map_b) = intersect(&a, &b, Epsilons::default())?;
/// assert_eq!(both.arcs()[0], Arc::new(0, 1, 7, 0.75));
/// assert_eq!((arc_map_a, arc_map_b), (vec![0, 2], vec![0, 1]));
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::Size`] if the numbers of FSAs differ and neither is 1, [`Error::TooLarge`], and [`Error::Score`] if scores overflow.
#[doc(alias = "Intersect")]
pub fn intersect<A: Fsas, B: Fsas>(a: &A, b: &B, epsilons: Epsilons) -> Result<WithArcMaps<A::With<B>>, Error> {
    let (sorted_a, sorted_b) = (Sorted::of(a)?, Sorted::of(b)?);
    let (fsas, map_a, map_b) = map_pairs(&sorted_a.fsas, &sorted_b.fsas, |a, b| intersect_pair(a, b, epsilons))?;
    Ok((fsas, sorted_a.original(map_a), sorted_b.original(map_b)))
}

/// Each FSA of `b` with the one of `a` that `b_to_a_map` names, label 0 a symbol like others; both arc maps.
///
/// That is what k2's function of this name computes. Its choice `sorted_match_a` is not needed here, as what is not sorted is sorted first.
///
/// # Errors
/// [`Error::Size`] if the map has not one entry for each FSA of `b`, [`Error::OutOfRange`] if it names what is not there, and as [`intersect`].
#[doc(alias = "IntersectDevice")]
pub fn intersect_device<B: Fsas>(a: &FsaVec, b: &B, b_to_a_map: &[i32]) -> Result<WithArcMaps<B>, Error> {
    Error::same_size("the number of entries of b_to_a_map", b.as_vec().num_fsas(), b_to_a_map.len())?;
    let num_fsas = i64::try_from(a.num_fsas()).unwrap_or(i64::MAX);
    if let Some(&found) = b_to_a_map.iter().find(|&&i| !(0..num_fsas).contains(&i64::from(i))) {
        let (min, max, found) = (0, num_fsas - 1, found.into());
        return Err(Error::OutOfRange { what: "an entry of b_to_a_map", min, max, found });
    }
    let (sorted_a, sorted_b) = (Sorted::of(a)?, Sorted::of(b.as_vec())?);
    let choose = |i: usize| (index(b_to_a_map[i]), i);
    let meet = |a: FsaView<'_>, b: FsaView<'_>| intersect_pair(a, b, Epsilons::AsSymbol);
    let (fsas, map_a, map_b) = map_chosen_pairs(b_to_a_map.len(), &sorted_a.fsas, &sorted_b.fsas, choose, meet)?;
    Ok((b.same_kind(fsas), sorted_a.original(map_a), sorted_b.original(map_b)))
}

/// FSAs with sorted arcs, and where these were before, if elsewhere.
pub(crate) struct Sorted<F> {
    pub(crate) fsas: F,
    places: Option<Vec<i32>>,
}

impl<F: Fsas> Sorted<F> {
    pub(crate) fn of(fsas: &F) -> Result<Self, Error> {
        if fsas.as_vec().is_arc_sorted() {
            return Ok(Self { fsas: fsas.clone(), places: None });
        }
        let (fsas, places) = arc_sort(fsas)?;
        Ok(Self { fsas, places: Some(places) })
    }

    /// A map to the arcs as they were given.
    pub(crate) fn original(&self, mut map: Vec<i32>) -> Vec<i32> {
        if let Some(places) = &self.places {
            map.iter_mut().filter(|arc| **arc >= 0).for_each(|arc| *arc = places[index(*arc)]);
        }
        map
    }
}

/// A state of the result: one of each side, and whether `b` has moved alone, after which `a` must not before they have moved together.
#[derive(Clone, Copy)]
struct Pair {
    a: i32,
    b: i32,
    b_moved: bool,
}

/// The result in the making. States are numbered as they come up; the final one gets the last number in the end.
struct Meeting<'a> {
    a: FsaView<'a>,
    b: FsaView<'a>,
    states: Vec<Pair>,
    numbers: PairTable,
    made: PairPart,
}

/// Both FSAs have sorted arcs.
fn intersect_pair(a: FsaView<'_>, b: FsaView<'_>, epsilons: Epsilons) -> Result<PairPart, Error> {
    let expected = a.num_states().max(b.num_states());
    let mut meeting = Meeting {
        a,
        b,
        states: Vec::with_capacity(expected),
        numbers: PairTable::with_capacity(expected),
        made: PairPart { part: Part::with_capacity(expected, 2 * expected), map_a: vec![], map_b: vec![] },
    };
    if a.num_states() == 0 || b.num_states() == 0 {
        return Ok(meeting.made);
    }
    meeting.number(Pair { a: 0, b: 0, b_moved: false })?;
    let mut at = 0;
    while at < meeting.states.len() {
        meeting.leave(id(at), epsilons)?;
        meeting.made.part.end_state();
        at += 1;
    }
    let mut made = meeting.made;
    made.part.end_state();
    let last = Error::fit("the number of states", at)?;
    Error::fit("the number of arcs", made.part.arcs.len())?;
    made.part.arcs.iter_mut().filter(|arc| arc.dest_state < 0).for_each(|arc| arc.dest_state = last);
    // Two scores that are finite or -inf can only overflow.
    if let Some(arc) = made.part.arcs.iter().position(|arc| arc.score == f32::INFINITY) {
        return Err(Error::Score { arc, score: f32::INFINITY });
    }
    Ok(made)
}

impl Meeting<'_> {
    /// The number of a state, which is a new one if it came up for the first time.
    #[inline]
    fn number(&mut self, pair: Pair) -> Result<i32, Error> {
        let (Ok(a), Ok(b)) = (u64::try_from(pair.a), u64::try_from(pair.b)) else { return Ok(-1) };
        let next = Error::fit("the number of states", self.states.len() + 1)? - 1;
        let (number, is_new) = self.numbers.get_or_insert(a << 32 | b << 1 | u64::from(pair.b_moved), next);
        if is_new {
            self.states.push(pair);
        }
        Ok(number)
    }

    fn push(
        &mut self,
        src_state: i32,
        label: i32,
        score: f32,
        to: Pair,
        (from_a, from_b): (i32, i32),
    ) -> Result<(), Error> {
        let dest_state = if label < 0 { -1 } else { self.number(to)? };
        self.made.part.arcs.push(Arc { src_state, dest_state, label, score });
        self.made.map_a.push(from_a);
        self.made.map_b.push(from_b);
        Ok(())
    }

    /// The arcs that leave state `number`.
    fn leave(&mut self, number: i32, epsilons: Epsilons) -> Result<(), Error> {
        let from = self.states[index(number)];
        let (range_a, range_b) = (self.a.arc_range(index(from.a)), self.b.arc_range(index(from.b)));
        let (mut first_a, mut first_b) = (id(range_a.start), id(range_b.start));
        let (mut arcs_a, mut arcs_b) = (&self.a.arcs()[range_a], &self.b.arcs()[range_b]);
        if epsilons != Epsilons::AsSymbol {
            let num_epsilons = |arcs: &[Arc]| arcs.iter().take_while(|arc| arc.label == EPSILON).count();
            let (alone_a, rest_a) = arcs_a.split_at(num_epsilons(arcs_a));
            let (alone_b, rest_b) = arcs_b.split_at(num_epsilons(arcs_b));
            if !from.b_moved {
                for (arc, place) in alone_a.iter().zip(first_a..) {
                    let to = Pair { a: arc.dest_state, ..from };
                    self.push(number, EPSILON, arc.score, to, (place, -1))?;
                }
            }
            let b_moved = epsilons == Epsilons::Sequenced && !alone_a.is_empty();
            for (arc, place) in alone_b.iter().zip(first_b..) {
                let to = Pair { a: from.a, b: arc.dest_state, b_moved };
                self.push(number, EPSILON, arc.score, to, (-1, place))?;
            }
            (first_a, first_b) = (first_a + id(alone_a.len()), first_b + id(alone_b.len()));
            (arcs_a, arcs_b) = (rest_a, rest_b);
        }
        for_each_match(arcs_a, arcs_b, |i, j| {
            let (a, b) = (arcs_a[i], arcs_b[j]);
            let to = Pair { a: a.dest_state, b: b.dest_state, b_moved: false };
            self.push(number, a.label, a.score + b.score, to, (first_a + id(i), first_b + id(j)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fsa;

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
        let arcs = |epsilons| {
            let (fsa, ..) = intersect(&epsilon, &epsilon, epsilons).unwrap();
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
        let (made, map_a, map_b) = intersect(&a, &b, Epsilons::default()).unwrap();
        assert_eq!((made.labels(), map_a, map_b), (vec![3, 5, -1], vec![2, 1, 3], vec![0, 1, 3]));
        assert!(made.arcs().iter().all(|arc| arc.score == 1.0));
    }

    #[test]
    fn several_meet_one_and_what_cannot_meet_is_refused() {
        let a = fsa(3, &[(0, 1, 3), (1, 2, -1)]);
        let several = FsaVec::from_fsas(&[a.clone(), Fsa::empty(), a.clone()]).unwrap();
        let (made, map_a, map_b) = intersect(&a, &several, Epsilons::default()).unwrap();
        assert_eq!((made.num_fsas(), map_a, map_b), (3, vec![0, 1, 0, 1], vec![0, 1, 2, 3]));
        let two = FsaVec::from_fsas(&[a.clone(), a.clone()]).unwrap();
        assert!(matches!(intersect(&two, &several, Epsilons::default()), Err(Error::Size { .. })));
        let (made, map_a, _) = intersect_device(&two, &several, &[1, 0, 1]).unwrap();
        assert_eq!((made.num_fsas(), map_a), (3, vec![2, 3, 2, 3]));
        assert!(
            intersect_device(&two, &several, &[1, 0]).is_err() && intersect_device(&two, &several, &[1, 0, 2]).is_err()
        );
        let heavy = a.with_scores(&[f32::MAX, 0.0]).unwrap();
        assert!(matches!(intersect(&heavy, &heavy, Epsilons::default()), Err(Error::Score { .. })));
    }
}
