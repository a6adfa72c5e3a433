//! The labels that can come first after each state, which look-ahead composition needs.

use crate::core::arc::EPSILON;
use crate::core::limits::Limits;
use crate::core::view::FsaView;
use crate::error::{Error, Operation};
use crate::k2::meeting::Epsilons;
use crate::k2::meeting::Pair;
use crate::support::ids::{NONE, index, number};
use crate::support::interner::{Key, SliceInterner, mix};
use crate::support::pair_interner::PairInterner;

/// For each state of one FSA, the labels (including -1 for the end) that can come first on paths
/// from it; for each state of another FSA its own labels: two states need not meet if they have
/// none in common.
#[derive(Debug, Clone)]
pub(super) struct FirstLabels {
    of_first: LabelSets,
    /// For each arc of the second FSA, the number of its label, in rising order for each state.
    of_second: Vec<u32>,
}

/// Label of an arc of the second FSA that the first one does not have.
const NOWHERE: u32 = u32::MAX;

/// Largest number of intervals of a set; with more, some labels are added, so that sets take little
/// memory and time for any FSA.
const MOST_INTERVALS: usize = 64;

impl FirstLabels {
    /// Finds the labels. Both FSAs have sorted arcs. O(states + arcs), times [`MOST_INTERVALS`] at
    /// worst.
    ///
    /// # Errors
    /// [`Error::Limit`] if it takes more bytes.
    pub(super) fn new(
        first: FsaView<'_>,
        second: FsaView<'_>,
        epsilons: Epsilons,
        limits: Limits,
    ) -> Result<Self, Error> {
        let bytes_of_second = size_of::<u32>() * second.arcs().len();
        let (of_first, labels) = LabelSets::new(first, epsilons != Epsilons::AsSymbol, limits, bytes_of_second)?;
        let label_number = |label: i32| labels.number(label).unwrap_or(NOWHERE);
        let mut of_second: Vec<_> = second.arcs().iter().map(|arc| label_number(arc.label)).collect();
        for state in 0..second.num_states() {
            of_second[second.arc_range(state)].sort_unstable();
        }
        Ok(Self { of_first, of_second })
    }

    /// Returns `true` if a pair of states may lead to the end, judged by one label ahead.
    #[inline]
    pub(super) fn may_meet(&self, pair: Pair, second: FsaView<'_>, epsilons: Epsilons) -> bool {
        let range = second.arc_range(index(pair.b));
        // After an arc with label 0 any label may come.
        if epsilons != Epsilons::AsSymbol
            && second.arcs()[range.clone()].first().is_some_and(|arc| arc.label == EPSILON)
        {
            return true;
        }
        let mut labels = &self.of_second[range];
        for interval in self.of_first.intervals(self.of_first.set_of(index(pair.a))) {
            if labels.first().is_some_and(|&label| label < interval.first) {
                labels = &labels[labels.partition_point(|&label| label < interval.first)..];
            }
            match labels.first() {
                None => return false,
                Some(&label) if label < interval.end => return true,
                Some(_) => {}
            }
        }
        false
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.of_first.bytes() + size_of::<u32>() * self.of_second.capacity()
    }
}

/// For each state of an FSA, the labels (including -1 for the end) that can come first on paths
/// from it, and possibly some more.
///
/// Labels are numbered in the order in which a depth-first search along the arcs with label 0 finds
/// them, so that the labels behind a state of a tree are consecutive and a set is an interval or a
/// few (C. Allauzen, M. Riley, J. Schalkwyk: *A generalized composition algorithm for weighted
/// finite-state transducers*, Interspeech 2009).
#[derive(Debug, Clone)]
pub(crate) struct LabelSets {
    /// For each state, its set.
    set_of: Vec<u32>,
    sets: SliceInterner<Interval>,
}

/// The numbers of labels.
#[derive(Debug)]
pub(crate) struct LabelNumbers(PairInterner);

impl LabelNumbers {
    /// Returns the number of a label, if the FSA has it.
    pub(crate) fn number(&self, label: i32) -> Option<u32> {
        self.0.find(0, label.cast_unsigned())
    }

    /// Returns the number of labels; their numbers are below this.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl LabelSets {
    /// Finds the sets. Arcs are sorted; arcs with label 0 are passed if `pass` is set. `others` are
    /// bytes that also count for the limit. O(states + arcs), times [`MOST_INTERVALS`] at worst.
    ///
    /// # Errors
    /// [`Error::Limit`] if it takes more bytes.
    pub(crate) fn new(
        fsa: FsaView<'_>,
        pass: bool,
        limits: Limits,
        others: usize,
    ) -> Result<(Self, LabelNumbers), Error> {
        let num_states = fsa.num_states();
        let limits = Limits { max_states: None, ..limits };
        let within = |bytes: usize| limits.check(Operation::LookAhead, bytes, num_states, fsa.arcs().len());
        let sets = size_of::<u32>() * num_states;
        within(3 * sets + others)?;
        let mut search = Search {
            fsa,
            pass,
            labels: PairInterner::with_capacity(0),
            seen: vec![0; num_states],
            earliest: vec![0; num_states],
            num_seen: 0,
            made: Self { set_of: vec![NONE; num_states], sets: SliceInterner::new() },
            component: Vec::new(),
            items: Vec::new(),
        };
        for state in 0..num_states {
            if search.seen[state] == 0 {
                search.run(state)?;
                within(3 * sets + search.labels.bytes_with_one_more() + search.made.sets.bytes() + others)?;
            }
        }
        Ok((search.made, LabelNumbers(search.labels)))
    }

    /// Returns the set of a state; states with the same labels have the same set.
    #[inline]
    pub(crate) fn set_of(&self, state: usize) -> u32 {
        self.set_of[state]
    }

    /// Returns the intervals of the numbers of its labels, in rising order.
    #[inline]
    pub(crate) fn intervals(&self, set: u32) -> &[Interval] {
        self.sets.get(set)
    }

    /// Returns the number of sets; their numbers are below this.
    pub(crate) fn num_sets(&self) -> usize {
        self.sets.len()
    }

    /// Returns the number of bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<u32>() * self.set_of.capacity() + self.sets.bytes()
    }
}

/// Numbers from `first` up to the one before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interval {
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl Key for Interval {
    #[inline]
    fn is(&self, other: &Self) -> bool {
        self == other
    }

    #[inline]
    fn mix(&self, hash: u64) -> u64 {
        mix(hash, (u64::from(self.first) << 32) | u64::from(self.end))
    }
}

/// Sorts intervals and merges intervals that touch; if too many are left, also merges across the
/// smallest gaps.
fn unite(items: &mut Vec<Interval>) {
    items.sort_unstable();
    close_gaps(items, 0);
    if items.len() > MOST_INTERVALS {
        let mut gaps: Vec<_> = items.windows(2).map(|pair| pair[1].first - pair[0].end).collect();
        let place = items.len() - MOST_INTERVALS - 1;
        let (_, &mut gap, _) = gaps.select_nth_unstable(place);
        close_gaps(items, gap);
    }
}

/// Merges intervals with gaps of up to this between them.
fn close_gaps(items: &mut Vec<Interval>, gap: u32) {
    items.dedup_by(|next, before| {
        let close = next.first <= before.end.saturating_add(gap);
        if close {
            before.end = before.end.max(next.end);
        }
        close
    });
}

/// R. Tarjan's search for strongly connected components (SIAM Journal on Computing 1, 1972), along
/// the arcs with label 0: the states of a component have the same set, which is complete when the
/// components behind it are.
struct Search<'a> {
    fsa: FsaView<'a>,
    /// `true` if arcs with label 0 are passed.
    pass: bool,
    labels: PairInterner,
    /// Order in which each state was first visited, from 1; 0 if it has not been visited.
    seen: Vec<u32>,
    /// The earliest open state that is known to be reachable from each state.
    earliest: Vec<u32>,
    num_seen: u32,
    made: LabelSets,
    /// States whose component is not complete.
    component: Vec<u32>,
    items: Vec<Interval>,
}

impl Search<'_> {
    fn run(&mut self, root: usize) -> Result<(), Error> {
        let mut open = vec![(root, self.enter(root)?)];
        while let Some((state, arcs)) = open.last_mut() {
            let state = *state;
            let Some(arc) = arcs.next() else {
                open.pop();
                if let Some(&(before, _)) = open.last() {
                    self.earliest[before] = self.earliest[before].min(self.earliest[state]);
                }
                if self.earliest[state] == self.seen[state] {
                    self.leave(state)?;
                }
                continue;
            };
            let dest = index(self.fsa.arcs()[arc].dest_state);
            if self.seen[dest] == 0 {
                let arcs = self.enter(dest)?;
                open.push((dest, arcs));
            } else if self.made.set_of[dest] == NONE {
                self.earliest[state] = self.earliest[state].min(self.seen[dest]);
            }
        }
        Ok(())
    }

    /// Visits a state for the first time: its labels get their numbers. Returns the range of its
    /// arcs with label 0.
    fn enter(&mut self, state: usize) -> Result<std::ops::Range<usize>, Error> {
        self.num_seen += 1;
        self.seen[state] = self.num_seen;
        self.earliest[state] = self.num_seen;
        self.component.push(number(state));
        let range = self.fsa.arc_range(state);
        let first = range.start + self.num_epsilons(state);
        for arc in &self.fsa.arcs()[first..range.end] {
            self.labels.insert(0, arc.label.cast_unsigned())?;
        }
        Ok(range.start..first)
    }

    fn num_epsilons(&self, state: usize) -> usize {
        self.fsa.arcs_of(state).iter().take_while(|arc| self.pass && arc.label == EPSILON).count()
    }

    /// Completes the component of the states that were visited since `root` was.
    fn leave(&mut self, root: usize) -> Result<(), Error> {
        let first = self.component.iter().rposition(|&state| state as usize == root).unwrap_or_default();
        self.items.clear();
        let mut only = None;
        for &state in &self.component[first..] {
            let (epsilons, others) = self.fsa.arcs_of(state as usize).split_at(self.num_epsilons(state as usize));
            for arc in epsilons {
                let set = self.made.set_of[index(arc.dest_state)];
                // Consecutive sets are often the same.
                if set != NONE && only != Some(set) {
                    only = Some(set);
                    self.items.extend_from_slice(self.made.sets.get(set));
                }
            }
            for arc in others {
                let label = self.labels.find(0, arc.label.cast_unsigned()).unwrap_or(NOWHERE);
                self.items.push(Interval { first: label, end: label.saturating_add(1) });
            }
            if self.items.len() > MOST_ITEMS {
                unite(&mut self.items);
            }
        }
        unite(&mut self.items);
        let (set, _) = self.made.sets.number(&self.items);
        for &state in &self.component[first..] {
            self.made.set_of[state as usize] = set;
        }
        self.component.truncate(first);
        Ok(())
    }
}

/// Number of intervals that are united before more are added.
const MOST_ITEMS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::core::arc::{Arc, FINAL};
    use crate::core::fsa::Fsa;
    use crate::k2::arc_sort;

    /// Any arcs between five states and the final one, including cycles.
    fn any_fsa(most_label: i32) -> impl Strategy<Value = Fsa> {
        let arc = (0..5_i32, 0..6_i32, 0..=most_label);
        prop::collection::vec(arc, 0..14).prop_map(|mut arcs| {
            arcs.sort_unstable();
            let arc = |(src, dest, label)| Arc::new(src, dest, if dest == 5 { FINAL } else { label }, 0.0);
            arc_sort(&Fsa::from_arcs(6, arcs.into_iter().map(arc).collect::<Vec<_>>()).unwrap()).unwrap().0
        })
    }

    /// Computes the labels by the definition.
    fn first_labels(fsa: &Fsa, state: i32, pass: bool) -> BTreeSet<i32> {
        let (mut seen, mut open, mut labels) = (BTreeSet::from([state]), vec![state], BTreeSet::new());
        while let Some(state) = open.pop() {
            for arc in fsa.view().arcs_of(index(state)) {
                if pass && arc.label == EPSILON {
                    if seen.insert(arc.dest_state) {
                        open.push(arc.dest_state);
                    }
                } else {
                    labels.insert(arc.label);
                }
            }
        }
        labels
    }

    proptest! {
        #[test]
        fn states_meet_if_they_have_a_label_in_common(a in any_fsa(4), b in any_fsa(5), as_symbol: bool) {
            let epsilons = if as_symbol { Epsilons::AsSymbol } else { Epsilons::Sequenced };
            let ahead = FirstLabels::new(a.view(), b.view(), epsilons, Limits::default()).unwrap();
            for (i, j) in (0..5).flat_map(|i| (0..5).map(move |j| (i, j))) {
                let of_b: BTreeSet<_> = b.view().arcs_of(index(j)).iter().map(|arc| arc.label).collect();
                let common = !first_labels(&a, i, !as_symbol).is_disjoint(&of_b);
                let expected = common || (!as_symbol && of_b.contains(&EPSILON));
                let pair = Pair { a: i, b: j, b_moved: false };
                prop_assert_eq!(ahead.may_meet(pair, b.view(), epsilons), expected, "{} {}", i, j);
            }
        }

        #[test]
        fn many_intervals_become_few_that_hold_them(
            mut starts in prop::collection::vec(0..100_000_u32, 0..300), length in 1..50_u32,
        ) {
            let mut items: Vec<_> = starts.iter().map(|&first| Interval { first, end: first + length }).collect();
            unite(&mut items);
            prop_assert!(items.len() <= MOST_INTERVALS);
            prop_assert!(items.windows(2).all(|pair| pair[0].end < pair[1].first));
            starts.sort_unstable();
            for first in starts {
                prop_assert!(items.iter().any(|it| it.first <= first && first + length <= it.end));
            }
        }
    }

    #[test]
    fn a_tree_has_one_interval_for_each_state_and_a_long_chain_no_recursion() {
        // 0 -> 1, 2 by label 0; these output two labels each.
        let arcs = [(0, 1, 0), (0, 2, 0), (1, 3, 7), (1, 3, 9), (2, 3, 8), (2, 3, 6), (3, 4, FINAL)];
        let tree = Fsa::from_arcs(5, arcs.map(|(src, dest, label)| Arc::new(src, dest, label, 0.0)).to_vec()).unwrap();
        let tree = arc_sort(&tree).unwrap().0;
        let (sets, _) = LabelSets::new(tree.view(), true, Limits::default(), 0).unwrap();
        assert!((0..4).all(|state| sets.intervals(sets.set_of(state)).len() == 1));
        let n = 200_000;
        let chain: Vec<_> = (0..n).map(|i| Arc::new(i, i + 1, if i + 1 == n { FINAL } else { 0 }, 0.0)).collect();
        let chain = Fsa::from_arcs(index(n) + 1, chain).unwrap();
        let ahead = FirstLabels::new(chain.view(), tree.view(), Epsilons::Sequenced, Limits::default()).unwrap();
        assert!(ahead.may_meet(Pair { a: 0, b: 3, b_moved: false }, tree.view(), Epsilons::Sequenced));
        assert!(!ahead.may_meet(Pair { a: 0, b: 2, b_moved: false }, tree.view(), Epsilons::Sequenced));
        let refused =
            FirstLabels::new(chain.view(), tree.view(), Epsilons::Sequenced, Limits::default().with_max_bytes(1 << 20));
        assert!(matches!(refused, Err(Error::Limit { operation: Operation::LookAhead, .. })));
    }
}
