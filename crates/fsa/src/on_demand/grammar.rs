//! The right side of a composition with look-ahead: arcs by label, and sums of their probabilities.

use std::ops::Range;

use super::log_sums::LogSums;
use crate::core::arc::EPSILON;
use crate::core::transducer::Transducer;
use crate::error::{Error, LookAheadProblem};
use crate::support::ids::{NONE, number};

/// The right side of a composition with look-ahead: a transducer, sorted by input label, with sums
/// of the probabilities of its arcs. `Gr.fst` of a Kaldi model is such a side.
///
/// An arc takes 12 bytes if its labels are equal, 16 otherwise; a state takes 12.
#[derive(Debug)]
pub struct LookAheadGrammar {
    start: Option<u32>,
    /// Per state: the end of its arcs, which begin where those of the state before end.
    ends: Vec<u32>,
    final_costs: Vec<f32>,
    /// Per arc.
    pub(super) ilabels: Vec<i32>,
    /// Empty if they are equal to the input labels.
    olabels: Vec<i32>,
    pub(super) costs: Vec<f32>,
    dests: Vec<u32>,
    sums: LogSums,
    index: LabelIndex,
}

impl LookAheadGrammar {
    /// Checks a transducer and computes the sums. O(arcs).
    ///
    /// # Errors
    /// [`Error::LookAhead`] if the arcs of a state are not sorted by input label.
    pub fn new(transducer: Transducer) -> Result<Self, Error> {
        let states = 0..number(transducer.num_states());
        let mut ends = Vec::with_capacity(states.len());
        let mut final_costs = Vec::with_capacity(states.len());
        for state in states {
            let arcs = transducer.arcs(state);
            if !arcs.is_sorted_by_key(|arc| arc.ilabel) {
                let state = state as usize;
                return Err(Error::LookAhead { problem: LookAheadProblem::UnsortedInput, state });
            }
            ends.push(number(transducer.arc_range(state).end));
            final_costs.push(transducer.final_cost(state));
        }
        let start = transducer.start();
        let arcs = transducer.into_arcs();
        let is_acceptor = arcs.iter().all(|arc| arc.ilabel == arc.olabel);
        let olabels = if is_acceptor { Vec::new() } else { arcs.iter().map(|arc| arc.olabel).collect() };
        let ilabels: Vec<i32> = arcs.iter().map(|arc| arc.ilabel).collect();
        let costs: Vec<f32> = arcs.iter().map(|arc| arc.cost).collect();
        let dests = arcs.iter().map(|arc| arc.dest).collect();
        drop(arcs);
        let (sums, index) = (LogSums::new(&ends, &costs), LabelIndex::new(&ends, &ilabels));
        Ok(Self { start, ends, final_costs, ilabels, olabels, costs, dests, sums, index })
    }

    /// Returns the start; `None` if there is none.
    pub fn start(&self) -> Option<u32> {
        self.start
    }

    /// Returns the number of states.
    pub fn num_states(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of arcs.
    pub fn num_arcs(&self) -> usize {
        self.costs.len()
    }

    /// Returns the number of bytes in memory.
    pub fn num_bytes(&self) -> usize {
        let words = self.ends.capacity() + self.final_costs.capacity() + self.ilabels.capacity();
        let words = words + self.olabels.capacity() + self.costs.capacity() + self.dests.capacity();
        4 * words + self.sums.bytes() + self.index.bytes()
    }

    /// Returns the positions of a state's arcs among all arcs.
    #[inline]
    pub(super) fn range(&self, state: u32) -> Range<usize> {
        range(&self.ends, state)
    }

    #[inline]
    pub(super) fn final_cost(&self, state: u32) -> f32 {
        self.final_costs[state as usize]
    }

    /// Returns the arc at a position: output label, cost and destination.
    #[inline]
    pub(super) fn arc(&self, at: usize) -> (i32, f32, u32) {
        let olabel = if self.olabels.is_empty() { self.ilabels[at] } else { self.olabels[at] };
        (olabel, self.costs[at], self.dests[at])
    }

    /// Returns the position of the first arc with this label or a higher one, among the arcs at
    /// some positions of a state.
    #[inline]
    pub(super) fn first_from(&self, state: u32, among: Range<usize>, label: i32) -> usize {
        let among = self.index.narrow(state, self.range(state).start, among, label);
        among.start + self.ilabels[among].partition_point(|&ilabel| ilabel < label)
    }

    /// Returns the same as [`first_from`](Self::first_from); it takes fewer steps if the position
    /// is near the first one.
    #[inline]
    pub(super) fn first_near(&self, state: u32, among: Range<usize>, label: i32) -> usize {
        let among = self.index.narrow(state, self.range(state).start, among, label);
        let labels = &self.ilabels[among.clone()];
        let mut bound = 1;
        while bound < labels.len() && labels[bound] < label {
            bound *= 2;
        }
        let from = if bound == 1 { 0 } else { bound / 2 };
        let rest = &labels[from.min(labels.len())..labels.len().min(bound + 1)];
        among.start + from + rest.partition_point(|&ilabel| ilabel < label)
    }

    /// Returns the positions of a state's arcs with a label.
    pub(super) fn with_label(&self, state: u32, label: i32) -> Range<usize> {
        let all = self.range(state);
        let begin = self.first_from(state, all.clone(), label);
        begin..begin + self.ilabels[begin..all.end].iter().take_while(|&&ilabel| ilabel == label).count()
    }

    /// Returns the number of a state's arcs that are epsilons; they come first.
    pub(super) fn num_epsilons(&self, state: u32) -> usize {
        self.ilabels[self.range(state)].iter().take_while(|&&ilabel| ilabel == EPSILON).count()
    }

    /// Adds the costs of the arcs at some positions of a state to a sum.
    #[inline]
    pub(super) fn add_costs(&self, sum: f32, state: u32, among: Range<usize>) -> f32 {
        let all = self.range(state);
        let (begin, end) = (among.start - all.start, among.end - all.start);
        self.sums.add(sum, state, &self.costs[all], begin..end)
    }
}

/// Returns the positions of a state's arcs.
#[inline]
pub(super) fn range(ends: &[u32], state: u32) -> Range<usize> {
    let first = state.checked_sub(1).map_or(0, |before| ends[before as usize]);
    first as usize..ends[state as usize] as usize
}

/// States with so many arcs have an index.
const LEAST_ARCS: usize = 1 << 12;
/// Number of labels for which an index has one entry, as a shift.
const BLOCK: u32 = 5;
/// An index has no more entries than this times the arcs of its state.
const MOST_BLOCKS: usize = 4;

/// For states with many arcs, the first arc of each block of labels, so that a search takes a few
/// steps in neighbouring memory.
#[derive(Debug)]
struct LabelIndex {
    /// Per state, the place of its index, or [`NONE`]; empty if no state has one.
    of_state: Vec<u32>,
    /// Number of arcs before each block.
    indexes: Vec<Vec<u32>>,
}

impl LabelIndex {
    fn new(ends: &[u32], ilabels: &[i32]) -> Self {
        let (mut of_state, mut indexes) = (Vec::new(), Vec::new());
        for state in 0..number(ends.len()) {
            let labels = &ilabels[range(ends, state)];
            let highest = labels.last().map_or(0, |&label| label.cast_unsigned() as usize);
            let num_blocks = (highest >> BLOCK) + 2;
            if labels.len() < LEAST_ARCS || num_blocks > MOST_BLOCKS * labels.len() {
                continue;
            }
            let mut index = Vec::with_capacity(num_blocks);
            for (at, &label) in labels.iter().enumerate() {
                while index.len() <= label.cast_unsigned() as usize >> BLOCK {
                    index.push(number(at));
                }
            }
            index.push(number(labels.len()));
            of_state.resize(ends.len(), NONE);
            of_state[state as usize] = number(indexes.len());
            indexes.push(index);
        }
        Self { of_state, indexes }
    }

    /// Narrows the positions among which the first arc with a label or a higher one is.
    #[inline]
    fn narrow(&self, state: u32, first: usize, among: Range<usize>, label: i32) -> Range<usize> {
        let place = self.of_state.get(state as usize).copied().unwrap_or(NONE);
        let Some(index) = self.indexes.get(place as usize) else { return among };
        let block = label.max(0).cast_unsigned() as usize >> BLOCK;
        let Some(&begin) = index.get(block) else { return among.end..among.end };
        let end = index.get(block + 1).map_or(among.end, |&end| first + end as usize);
        let begin = (first + begin as usize).clamp(among.start, among.end);
        begin..end.clamp(begin, among.end)
    }

    fn bytes(&self) -> usize {
        4 * self.of_state.capacity() + self.indexes.iter().map(|index| 4 * index.capacity()).sum::<usize>()
    }
}
