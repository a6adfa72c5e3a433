//! Suffixes of a text in order, and their sets by common prefixes.

use crate::support::adjacency::Adjacency;
use std::ops::Range;

/// Returns the starts of the suffixes of a text, in lexicographic order. O(n log n).
///
/// Suffixes that are sorted by their first k symbols are sorted by their first 2k with the rank of
/// the suffix that begins k symbols later (U. Manber, G. Myers, *Suffix arrays*, 1993).
pub(super) fn suffix_array(text: &[i32]) -> Vec<u32> {
    let size = text.len();
    let mut order: Vec<u32> = (0..).take(size).collect();
    order.sort_by_key(|&at| text[at as usize]);
    let mut ranks = vec![0_u32; size];
    let mut different = rank(&order, &mut ranks, |a, b| text[a] == text[b]);
    let (mut by_second, mut new_ranks) = (Vec::with_capacity(size), vec![0; size]);
    let mut known = 1;
    while different < size {
        // Sort by the suffix `known` symbols later; suffixes without one come first.
        by_second.clear();
        by_second.extend((0..).take(size).skip(size.saturating_sub(known)));
        by_second.extend(order.iter().filter(|&&at| at as usize >= known).map(|&at| at - known as u32));
        // Then, without a change of that order, by the first symbols.
        let by_first = Adjacency::new(different, by_second.iter().map(|&at: &u32| ranks[at as usize] as usize));
        order = by_first.order().iter().map(|&second| by_second[second as usize]).collect();
        let second = |at: usize| ranks.get(at + known);
        different = rank(&order, &mut new_ranks, |a, b| ranks[a] == ranks[b] && second(a) == second(b));
        std::mem::swap(&mut ranks, &mut new_ranks);
        known *= 2;
    }
    order
}

/// Numbers the suffixes by their order, with equal numbers for suffixes that are the `same`;
/// returns the number of different ones.
fn rank(order: &[u32], ranks: &mut [u32], same: impl Fn(usize, usize) -> bool) -> usize {
    let mut last = 0;
    for (i, &at) in order.iter().enumerate() {
        last += u32::from(i > 0 && !same(order[i - 1] as usize, at as usize));
        ranks[at as usize] = last;
    }
    if order.is_empty() { 0 } else { last as usize + 1 }
}

/// All suffixes that begin with the same `common` symbols: an interval of the suffix array.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    /// Number of common symbols.
    pub common: usize,
    /// Range of indexes in the suffix array.
    pub places: Range<usize>,
    /// The next larger set; the largest is its own.
    pub parent: usize,
}

/// Returns all sets of two or more suffixes, after the set of all suffixes, and for each place in
/// the text the smallest set that has its suffix.
///
/// The numbers of common symbols are found by T. Kasai and others (2001), the sets from them by M.
/// Abouelhoda, S. Kurtz, E. Ohlebusch (2004). O(n).
pub(super) fn sets(text: &[i32], order: &[u32]) -> (Vec<Set>, Vec<usize>) {
    let common = common_prefixes(text, order);
    let size = text.len();
    let mut sets = vec![Set { common: 0, places: 0..size, parent: 0 }];
    let mut of_place = vec![0; size];
    let mut open = vec![0];
    for (i, &at) in order.iter().enumerate() {
        // `common[i]` with the suffix before, and with the one after.
        let next = common.get(i + 1).copied().unwrap_or(0);
        let mut smallest = open[open.len() - 1];
        let (mut first, mut closed) = (i, None);
        while let Some(&set) = open.last().filter(|&&set| sets[set].common > next) {
            open.pop();
            sets[set].places.end = i + 1;
            first = sets[set].places.start;
            if let Some(child) = closed.replace(set) {
                let child: &mut Set = &mut sets[child];
                child.parent = set;
            }
        }
        if sets[open[open.len() - 1]].common < next {
            open.push(sets.len());
            sets.push(Set { common: next, places: first..size, parent: open[open.len() - 2] });
        }
        let top = open[open.len() - 1];
        if let Some(child) = closed {
            sets[child].parent = top;
        }
        if next > common[i] {
            smallest = top;
        }
        of_place[at as usize] = smallest;
    }
    (sets, of_place)
}

/// Returns for each suffix in order the number of first symbols that it shares with the one before.
fn common_prefixes(text: &[i32], order: &[u32]) -> Vec<usize> {
    let mut ranks = vec![0; order.len()];
    order.iter().enumerate().for_each(|(rank, &at)| ranks[at as usize] = rank);
    let mut common = vec![0; order.len()];
    let mut length = 0_usize;
    for (at, &rank) in ranks.iter().enumerate() {
        if rank == 0 {
            length = 0;
            continue;
        }
        // At least one less than the suffix before in the text has.
        let other = order[rank - 1] as usize;
        let longer = text[at + length..].iter().zip(&text[other + length..]).take_while(|(a, b)| a == b).count();
        length += longer;
        common[rank] = length;
        length = length.saturating_sub(1);
    }
    common
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shared(a: &[i32], b: &[i32]) -> usize {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }

    proptest! {
        #[test]
        fn suffixes_are_in_order_and_in_their_sets(text in prop::collection::vec(0..3, 0..40)) {
            let order = suffix_array(&text);
            prop_assert!(order.windows(2).all(|pair| text[pair[0] as usize..] < text[pair[1] as usize..]));
            let (sets, of_place) = sets(&text, &order);
            for (place, &set) in of_place.iter().enumerate() {
                let mut set = &sets[set];
                // The smallest set has all suffixes that share most; the parents share less and
                // less.
                let all = |least| (0..text.len()).filter(|&other| shared(&text[place..], &text[other..]) >= least).count();
                let others = (0..text.len()).filter(|&other| other != place);
                let most = others.map(|other| shared(&text[place..], &text[other..])).max().unwrap_or(0);
                prop_assert_eq!(set.common, most);
                loop {
                    prop_assert_eq!(set.places.len(), all(set.common));
                    prop_assert!(order[set.places.clone()].contains(&(place as u32)));
                    if set.common == 0 { break; }
                    prop_assert!(sets[set.parent].common < set.common);
                    set = &sets[set.parent];
                }
            }
        }
    }
}
