//! Partition of states by their futures.

use crate::support::adjacency::Adjacency;
use crate::support::ids::number;
use crate::support::interner::SliceInterner;

/// An automaton as three flat arrays; the last state is the final one, every other one has an arc.
pub(super) struct Automaton<'a> {
    /// For each state, the end of its arcs.
    pub ends: &'a [usize],
    /// The symbol of each arc, as a number.
    pub symbols: &'a [u32],
    /// The destination of each arc.
    pub dests: &'a [u32],
}

/// Assigns a number to each state. States have the same number if all their paths have the same
/// symbols and branch in the same way. The numbers are 0 to one below the second number returned.
pub(super) fn same_futures(automaton: &Automaton<'_>, acyclic: bool, deterministic: bool) -> (Vec<u32>, usize) {
    match (acyclic, deterministic) {
        (true, _) => backwards(automaton),
        (false, true) => refine(automaton),
        (false, false) => rounds(automaton),
    }
}

impl Automaton<'_> {
    fn arcs_of(&self, state: usize) -> std::ops::Range<usize> {
        state.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[state]
    }

    /// Computes the arcs of a state as a set of symbols and numbers of the destinations.
    fn signature(&self, state: usize, number_of: impl Fn(usize) -> u32, signature: &mut Vec<u64>) {
        signature.clear();
        signature.extend(
            self.arcs_of(state)
                .map(|arc| (u64::from(self.symbols[arc]) << 32) | u64::from(number_of(self.dests[arc] as usize))),
        );
        if !signature.is_sorted_by(|a, b| a < b) {
            signature.sort_unstable();
            signature.dedup();
        }
    }
}

/// Numbers states without cycles: from the end to the start, a state is new if its arcs are. The
/// states must be in topological order. O(arcs).
fn backwards(automaton: &Automaton<'_>) -> (Vec<u32>, usize) {
    let mut numbers = vec![0; automaton.ends.len()];
    let (mut register, mut signature) = (SliceInterner::new(), Vec::new());
    for state in (0..numbers.len()).rev() {
        automaton.signature(state, |dest| numbers[dest], &mut signature);
        numbers[state] = register.number(&signature).0;
    }
    (numbers, register.len())
}

/// Numbers states in rounds: states differ if their arcs lead to states that have been found to
/// differ. O(states * arcs), but seldom.
fn rounds(automaton: &Automaton<'_>) -> (Vec<u32>, usize) {
    let mut numbers = vec![0; automaton.ends.len()];
    let (mut signature, mut count) = (Vec::new(), 1);
    loop {
        let mut register = SliceInterner::new();
        let next: Vec<_> = (0..numbers.len())
            .map(|state| {
                automaton.signature(state, |dest| numbers[dest], &mut signature);
                signature.push(u64::from(numbers[state]));
                register.number(&signature).0
            })
            .collect();
        let before = std::mem::replace(&mut count, register.len());
        numbers = next;
        if before == count {
            return (numbers, count);
        }
    }
}

/// Valmari's refinement of two partitions by each other, of the states and of the arcs, of
/// deterministic automata (Information Processing Letters 112, 2012). O(arcs * log(states)).
fn refine(automaton: &Automaton<'_>) -> (Vec<u32>, usize) {
    // Initially, a set has the states with the same symbols on their arcs.
    let num_states = automaton.ends.len();
    let (mut register, mut signature) = (SliceInterner::new(), Vec::new());
    let first: Vec<_> = (0..num_states)
        .map(|state| {
            signature.clear();
            signature.extend(automaton.arcs_of(state).map(|arc| u64::from(automaton.symbols[arc])));
            signature.sort_unstable();
            register.number(&signature).0
        })
        .collect();
    let num_symbols = automaton.symbols.iter().max().map_or(0, |&most| most as usize + 1);
    let mut states = Partition::new(&first, register.len());
    let mut arcs = Partition::new(automaton.symbols, num_symbols);
    drop(register);

    let mut sources = vec![0_u32; automaton.dests.len()];
    (0..num_states).for_each(|state| sources[automaton.arcs_of(state)].fill(number(state)));
    let entering = Adjacency::new(num_states, automaton.dests.iter().map(|&dest| dest as usize));

    // All sets of states but one have to be looked at. The arcs with each symbol are known to leave
    // whole sets.
    let (mut next_states, mut next_arcs) = (1, num_symbols);
    while next_states < states.num_sets() {
        for at in states.set(next_states) {
            let state = states.elements[at] as usize;
            for &arc in entering.row(state) {
                arcs.mark(arc);
            }
        }
        arcs.split();
        next_states += 1;
        while next_arcs < arcs.num_sets() {
            for at in arcs.set(next_arcs) {
                states.mark(sources[arcs.elements[at] as usize]);
            }
            states.split();
            next_arcs += 1;
        }
    }
    let count = states.num_sets();
    (states.set_of, count)
}

/// Disjoint sets that are split into marked and unmarked elements; the smaller part becomes the new
/// set.
struct Partition {
    /// The elements set by set.
    elements: Vec<u32>,
    /// Index of each element in `elements`.
    place: Vec<u32>,
    /// The set of each element.
    set_of: Vec<u32>,
    /// Begin and end of each set.
    bounds: Vec<(u32, u32)>,
    /// Number of marked elements of each set, which are at its beginning.
    marked: Vec<u32>,
    /// The sets with marks.
    touched: Vec<u32>,
}

impl Partition {
    fn new(set_of: &[u32], num_sets: usize) -> Self {
        let sorted = Adjacency::new(num_sets, set_of.iter().map(|&set| set as usize));
        let elements = sorted.order().to_vec();
        let mut place = vec![0; elements.len()];
        elements.iter().zip(0..).for_each(|(&element, at)| place[element as usize] = at);
        let bound = |range: std::ops::Range<usize>| (number(range.start), number(range.end));
        let bounds = (0..num_sets).map(|set| bound(sorted.range(set))).collect();
        Self { elements, place, set_of: set_of.to_vec(), bounds, marked: vec![0; num_sets], touched: Vec::new() }
    }

    fn num_sets(&self) -> usize {
        self.bounds.len()
    }

    fn set(&self, set: usize) -> std::ops::Range<usize> {
        let (start, end) = self.bounds[set];
        start as usize..end as usize
    }

    #[inline]
    fn mark(&mut self, element: u32) {
        let set = self.set_of[element as usize];
        let (at, marked) = (self.place[element as usize], &mut self.marked[set as usize]);
        let border = self.bounds[set as usize].0 + *marked;
        if at < border {
            return;
        }
        if *marked == 0 {
            self.touched.push(set);
        }
        *marked += 1;
        let other = self.elements[border as usize];
        self.elements.swap(at as usize, border as usize);
        self.place[element as usize] = border;
        self.place[other as usize] = at;
    }

    fn split(&mut self) {
        while let Some(set) = self.touched.pop() {
            let (start, end) = self.bounds[set as usize];
            let border = start + std::mem::take(&mut self.marked[set as usize]);
            if border == end {
                continue;
            }
            let (stays, goes) = if border - start <= end - border {
                ((border, end), (start, border))
            } else {
                ((start, border), (border, end))
            };
            let made = number(self.bounds.len());
            self.bounds[set as usize] = stays;
            self.bounds.push(goes);
            self.marked.push(0);
            for &element in &self.elements[goes.0 as usize..goes.1 as usize] {
                self.set_of[element as usize] = made;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the definition, by pairs: `(symbol, dest)` of each state.
    fn check(arcs: &[Vec<(u32, u32)>], acyclic: bool) {
        let mut ends = Vec::new();
        let (mut symbols, mut dests) = (Vec::new(), Vec::new());
        for row in arcs {
            symbols.extend(row.iter().map(|arc| arc.0));
            dests.extend(row.iter().map(|arc| arc.1));
            ends.push(symbols.len());
        }
        let automaton = Automaton { ends: &ends, symbols: &symbols, dests: &dests };
        let (slow, count) = rounds(&automaton);
        let mut ways = vec![refine(&automaton)];
        if acyclic {
            ways.push(backwards(&automaton));
        }
        for (fast, found) in ways {
            assert_eq!(found, count);
            let pairs: std::collections::BTreeSet<_> = slow.iter().zip(&fast).collect();
            assert_eq!(pairs.len(), count, "{slow:?} {fast:?}");
        }
    }

    #[test]
    fn all_ways_find_the_same() {
        // 0 -1-> 1, 0 -2-> 2, both -1-> 3 (final).
        check(&[vec![(1, 1), (2, 2)], vec![(0, 3)], vec![(0, 3)], vec![]], true);
        check(&[vec![(1, 1), (2, 2)], vec![(0, 4)], vec![(3, 3)], vec![(0, 4)], vec![]], true);
        // Two loops that are the same, one of twice the length.
        check(&[vec![(1, 1), (2, 2)], vec![(0, 4), (1, 1)], vec![(0, 4), (1, 3)], vec![(0, 4), (1, 2)], vec![]], false);
        // Random automata.
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from((seed >> 33) % below).unwrap()
        };
        for round in 0..300_u64 {
            let (n, symbols) = (2 + round % 12, 1 + u64::from(random(3)));
            let acyclic = round % 2 == 0;
            let mut arcs: Vec<Vec<(u32, u32)>> = Vec::new();
            for state in 0..n {
                let mut row = vec![];
                for symbol in 0..=symbols {
                    let first = if acyclic { state + 1 } else { 0 };
                    if first < n && random(3) > 0 {
                        let symbol = u32::try_from(symbol).unwrap() + 1;
                        row.push((symbol, u32::try_from(first).unwrap() + random(n - first)));
                    }
                }
                if row.is_empty() || random(2) == 0 {
                    row.push((0, u32::try_from(n).unwrap()));
                }
                row.sort_unstable();
                arcs.push(row);
            }
            arcs.push(vec![]);
            check(&arcs, acyclic);
        }
    }
}
