//! The best paths and the best strings, exactly.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::EPSILON;
use crate::core::each_fsa::for_each;
use crate::core::fsa::Fsas;
use crate::core::limits::Limits;
use crate::core::view::FsaView;
use crate::error::{Error, Operation, Quantity};
use crate::paths::distance::{NO_ARC, best_to_final};
use crate::support::ids::number;

/// Returns the `n` best paths of each FSA, from the best down: `[fsa][path][arc]`, with arcs
/// counted over all FSAs.
///
/// There are fewer if an FSA has fewer paths. Cycles are allowed. A path follows an earlier one,
/// leaves it once, and continues with the best path from there, so its cost is the length of its
/// new part (as J. Y. Yen, 1971, with the best scores to the final state known beforehand).
/// O(states + arcs + n × length of the paths × log n); in addition to the paths, memory for n
/// continuations.
///
/// ```
/// use fsa::paths::n_best_paths;
/// use fsa::{Arc, Fsa};
///
/// let fsa = Fsa::from_arcs(
///     3,
///     vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 1, 8, 0.75), Arc::new(1, 2, -1, 0.0)]
/// )?;
/// assert_eq!(n_best_paths(&fsa, 10)?.rows().collect::<Vec<_>>(), [[1, 2], [0, 2]]);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// [`Error::EndlessCycle`] if a cycle makes scores better; [`Error::Limit`] if paths need half of
/// the memory; [`Error::TooLarge`].
#[doc(alias = "ShortestPath")]
#[doc(alias = "fstshortestpath")]
pub fn n_best_paths<F: Fsas>(fsas: &F, n: usize) -> Result<Ragged<i32>, Error> {
    collect(fsas, |i, fsa| best_paths(i, fsa, n))
}

/// Returns the best path of each of the `n` best strings of each FSA, from the best string down:
/// `[fsa][path][arc]`, with arcs counted over all FSAs.
///
/// `labels` has an entry for each arc, for example its output label; 0 and below do not count. Each
/// string occurs once, with the score of its best path, while several of the [`n_best_paths`] may
/// have the same string. Strings are extended label by label, each with the states that it leads to
/// and the best scores there. This determinizes the FSA as far as needed, in the order of the best
/// score that can still be reached (M. Mohri, M. Riley, *An efficient algorithm for the
/// n-best-strings problem*, 2002).
///
/// # Errors
/// [`Error::EndlessCycle`] if a cycle makes scores better; [`Error::Size`] if there is not one
/// label for each arc; [`Error::Limit`] if paths need more than half of the memory;
/// [`Error::TooLarge`].
pub fn n_best_strings<F: Fsas>(fsas: &F, labels: &[i32], n: usize) -> Result<Ragged<i32>, Error> {
    Error::same_size(Quantity::Labels, fsas.as_fsa_vec().num_arcs(), labels.len())?;
    collect(fsas, |i, fsa| Strings::new(i, fsa, &labels[fsa.first_arc()..][..fsa.arcs().len()])?.best(n))
}

/// Returns the paths that `run` finds for each FSA, with their arcs counted over all.
fn collect<F: Fsas>(
    fsas: &F,
    run: impl Fn(usize, FsaView<'_>) -> Result<Paths, Error> + Sync,
) -> Result<Ragged<i32>, Error> {
    let mut found = for_each(fsas.as_fsa_vec(), run)?.into_iter();
    let (mut paths, mut splits, mut arcs) = (vec![0], vec![0], Vec::new());
    for fsa in fsas.as_fsa_vec().iter() {
        let first = Error::fit(Quantity::Arcs, fsa.first_arc())?;
        let own = found.next().unwrap_or_default();
        for end in own.ends {
            splits.push(Error::fit(Quantity::PathArcs, arcs.len() + end)?);
        }
        arcs.extend(own.arcs.into_iter().map(|arc| first + arc.cast_signed()));
        paths.push(Error::fit(Quantity::Paths, splits.len() - 1)?);
    }
    let shape = RaggedShape::new([RowSplits::new(paths)?, RowSplits::new(splits)?])?;
    Ok(Ragged::new(shape, arcs)?)
}

/// Concatenated paths.
#[derive(Debug, Default)]
struct Paths {
    arcs: Vec<u32>,
    ends: Vec<usize>,
}

impl Paths {
    /// Returns the index of the first arc of a path.
    fn start(&self, path: usize) -> usize {
        path.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// Checks that the paths, a copy for all FSAs, and `others` are within the default limit.
    fn check(&self, others: usize) -> Result<(), Error> {
        let of_paths = 2 * (self.arcs.capacity() * size_of::<u32>() + self.ends.capacity() * size_of::<usize>());
        Limits::default().check(Operation::ShortestPaths, of_paths + others, self.ends.len(), self.arcs.len())
    }
}

/// An item with a score; of two with the same score, the one made first is higher.
#[derive(Debug, Clone, Copy)]
struct Ranked<T> {
    score: f64,
    number: u64,
    it: T,
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.number.cmp(&self.number))
    }
}

/// Highest entries so far, and the number of entries that will still be requested.
struct Queue<T> {
    heap: BinaryHeap<Ranked<T>>,
    made: u64,
    wanted: usize,
}

impl<T> Queue<T> {
    fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Ranked<T>>()
    }

    fn new(wanted: usize) -> Self {
        Self { heap: BinaryHeap::new(), made: 0, wanted }
    }

    fn push(&mut self, score: f64, it: T) {
        if score > f64::NEG_INFINITY {
            self.heap.push(Ranked { score, number: self.made, it });
            self.made += 1;
        }
    }

    /// Removes and returns the best entry. One less will be requested.
    fn pop(&mut self) -> Option<Ranked<T>> {
        // If each entry taken is a wanted one, entries below the `wanted` best cannot be requested.
        if self.heap.len() > self.wanted.saturating_mul(4).saturating_add(1024) {
            let mut all = std::mem::take(&mut self.heap).into_vec();
            all.select_nth_unstable_by(self.wanted, |a, b| b.cmp(a));
            all.truncate(self.wanted);
            self.heap = all.into();
        }
        self.wanted -= usize::from(self.wanted != usize::MAX && self.wanted > 0);
        self.heap.pop()
    }
}

/// A path that leaves another one.
#[derive(Debug, Clone, Copy)]
struct Branch {
    /// Path that it leaves.
    path: usize,
    /// Number of arcs before it leaves.
    after: usize,
    /// Score of those arcs.
    score: f64,
    state: usize,
    /// Rank of the arc by which it leaves, in the order of the best score over each arc.
    rank: usize,
}

/// Arcs of a state in the order of the best path that goes on over them.
struct Order<'a> {
    fsa: FsaView<'a>,
    /// For each state the best score to the final one.
    rest: Vec<f64>,
    /// For each state its arc on the best path.
    best: Vec<u32>,
    arcs: Vec<u32>,
    sorted: Vec<bool>,
}

impl<'a> Order<'a> {
    fn new(i: usize, fsa: FsaView<'a>) -> Result<Self, Error> {
        let (rest, best) = best_to_final(i, fsa)?;
        let sorted = vec![false; fsa.num_states()];
        Ok(Self { fsa, rest, best, arcs: (0..).take(fsa.arcs().len()).collect(), sorted })
    }

    /// Returns the best score of a path that goes on over this arc.
    fn over(&self, arc: u32) -> f64 {
        let arc = &self.fsa.arcs()[arc as usize];
        f64::from(arc.score) + self.rest[arc.states().1]
    }

    /// Returns the arc with this rank, and the best score over it, if there is one.
    fn get(&mut self, state: usize, rank: usize) -> Option<(u32, f64)> {
        if rank == 0 {
            let best = self.best[state];
            return (best != NO_ARC).then(|| (best, self.over(best)));
        }
        let range = self.fsa.arc_range(state);
        if !std::mem::replace(&mut self.sorted[state], true) {
            let mut arcs = std::mem::take(&mut self.arcs);
            // The best arc also comes first among equals, so that paths never go round a cycle
            // without gain.
            let key = |&arc: &u32| (arc == self.best[state], self.over(arc));
            arcs[range.clone()].sort_by(|a, b| {
                let (a, b) = (key(a), key(b));
                b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
            });
            self.arcs = arcs;
        }
        let &arc = self.arcs[range].get(rank)?;
        Some((arc, self.over(arc)))
    }
}

fn best_paths(i: usize, fsa: FsaView<'_>, n: usize) -> Result<Paths, Error> {
    let mut found = Paths::default();
    let Some(last) = fsa.final_state().filter(|_| n > 0) else { return Ok(found) };
    let mut order = Order::new(i, fsa)?;
    let mut queue = Queue::new(n);
    queue.push(order.rest[0], Branch { path: 0, after: 0, score: 0.0, state: 0, rank: 0 });
    while found.ends.len() < n {
        let Some(Ranked { it: branch, .. }) = queue.pop() else { break };
        let first = found.arcs.len();
        let Branch { path, after, mut score, mut state, mut rank } = branch;
        let start = found.start(path);
        found.arcs.extend_from_within(start..start + after);
        let path = found.ends.len();
        while state != last {
            let Some((arc, _)) = order.get(state, rank) else { break };
            let after = found.arcs.len() - first;
            if let Some((_, over)) = order.get(state, rank + 1) {
                queue.push(score + over, Branch { path, after, score, state, rank: rank + 1 });
            }
            found.arcs.push(arc);
            Error::fit(Quantity::PathArcs, found.arcs.len())?;
            let arc = &fsa.arcs()[arc as usize];
            score += f64::from(arc.score);
            state = arc.states().1;
            rank = 0;
        }
        found.ends.push(found.arcs.len());
        found.check(queue.bytes())?;
    }
    Ok(found)
}

/// Best path so far to a state with a string.
#[derive(Debug, Clone, Copy)]
struct StringPath {
    state: u32,
    score: f64,
    /// Path that it extends, and the arc; [`NO_ARC`] at the start.
    before: u32,
    arc: u32,
}

/// The strings found so far.
struct Strings<'a> {
    fsa: FsaView<'a>,
    labels: &'a [i32],
    /// For each state the best score to the final one.
    rest: Vec<f64>,
    ways: Vec<StringPath>,
    /// For each state the way to it with the string at hand, if any.
    current: Vec<u32>,
}

/// The start of an extension of a string.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Paths to states over the last label. Paths over arcs without label are still to be added.
    String { first: u32, end: u32 },
    /// Path to the final state.
    Complete(u32),
}

impl<'a> Strings<'a> {
    fn new(i: usize, fsa: FsaView<'a>, labels: &'a [i32]) -> Result<Self, Error> {
        let (rest, _) = best_to_final(i, fsa)?;
        let current = vec![NO_ARC; fsa.num_states()];
        Ok(Self { fsa, labels, rest, ways: Vec::new(), current })
    }

    fn best(mut self, n: usize) -> Result<Paths, Error> {
        let mut found = Paths::default();
        let Some(last) = self.fsa.final_state() else { return Ok(found) };
        // Strings are taken before they are complete, so that none can be left out.
        let mut queue = Queue::new(usize::MAX);
        self.ways.push(StringPath { state: 0, score: 0.0, before: 0, arc: NO_ARC });
        queue.push(self.rest[0], Step::String { first: 0, end: 1 });
        while found.ends.len() < n {
            let Some(Ranked { it, .. }) = queue.pop() else { break };
            match it {
                Step::Complete(way) => {
                    let first = found.arcs.len();
                    let mut way = self.ways[way as usize];
                    while way.arc != NO_ARC {
                        found.arcs.push(way.arc);
                        way = self.ways[way.before as usize];
                    }
                    found.arcs[first..].reverse();
                    found.ends.push(found.arcs.len());
                }
                Step::String { first, end } => self.longer((first..end).collect(), last, &mut queue)?,
            }
            found.check(queue.bytes() + self.ways.capacity() * size_of::<StringPath>())?;
        }
        Ok(found)
    }

    /// Keeps a way.
    fn add(&mut self, way: StringPath) -> Result<u32, Error> {
        let at = Error::fit(Quantity::Ways, self.ways.len())?.cast_unsigned();
        self.ways.push(way);
        Ok(at)
    }

    /// The way over an arc after this one, with the label of the arc.
    fn over(&self, arc: usize, before: u32) -> (Option<i32>, StringPath) {
        let it = &self.fsa.arcs()[arc];
        let score = self.ways[before as usize].score + f64::from(it.score);
        let label = Some(self.labels[arc]).filter(|&label| label > EPSILON);
        (label, StringPath { state: number(it.states().1), score, before, arc: number(arc) })
    }

    /// The best score of a path that goes on from there.
    fn reach(&self, way: &StringPath) -> f64 {
        way.score + self.rest[way.state as usize]
    }

    /// Adds the paths that go on over arcs without label; for each state the best one stays.
    fn close(&mut self, ways: &mut Vec<u32>) -> Result<(), Error> {
        let state = |strings: &Self, way: u32| strings.ways[way as usize].state as usize;
        for &way in ways.iter() {
            let state = state(self, way);
            self.current[state] = way;
        }
        let (mut at, mut num_states) = (0_usize, ways.len());
        while let Some(&way) = ways.get(at) {
            at += 1;
            let from = state(self, way);
            if self.current[from] != way {
                continue;
            }
            for arc in self.fsa.arc_range(from) {
                let (label, next) = self.over(arc, way);
                let known = self.current[next.state as usize];
                // After as many rounds as there are states only rounding makes a path better, round
                // a cycle that should gain nothing.
                let better = match known {
                    NO_ARC => true,
                    known => {
                        self.ways[known as usize].score < next.score && at <= num_states.saturating_mul(num_states)
                    }
                };
                if label.is_none() && better && self.reach(&next) > f64::NEG_INFINITY {
                    num_states += usize::from(known == NO_ARC);
                    let added = self.add(next)?;
                    self.current[next.state as usize] = added;
                    ways.push(added);
                }
            }
        }
        ways.retain(|&way| self.current[state(self, way)] == way);
        for &way in ways.iter() {
            let state = state(self, way);
            self.current[state] = NO_ARC;
        }
        Ok(())
    }

    /// Adds all strings with one label more, and this one if it is complete.
    fn longer(&mut self, mut ways: Vec<u32>, last: usize, queue: &mut Queue<Step>) -> Result<(), Error> {
        self.close(&mut ways)?;
        let mut longer: Vec<(i32, StringPath)> = Vec::new();
        for &way in &ways {
            let StringPath { state, score, .. } = self.ways[way as usize];
            if state as usize == last {
                queue.push(score, Step::Complete(way));
            }
            for arc in self.fsa.arc_range(state as usize) {
                if let (Some(label), way) = self.over(arc, way)
                    && self.reach(&way) > f64::NEG_INFINITY
                {
                    longer.push((label, way));
                }
            }
        }
        longer.sort_by(|a, b| (a.0, a.1.state).cmp(&(b.0, b.1.state)).then(b.1.score.total_cmp(&a.1.score)));
        longer.dedup_by_key(|(label, way)| (*label, way.state));
        for same in longer.chunk_by(|a, b| a.0 == b.0) {
            let best = same.iter().fold(f64::NEG_INFINITY, |best, (_, way)| best.max(self.reach(way)));
            let first = number(self.ways.len());
            for &(_, way) in same {
                self.add(way)?;
            }
            queue.push(best, Step::String { first, end: number(self.ways.len()) });
        }
        Ok(())
    }
}
