//! One step of the composition with look-ahead: the arcs of a pair of states.

use std::ops::Range;
use std::sync::Arc as Shared;

use super::log_sums::{LogSums, add_costs};
use super::reach::output_reach;
use crate::core::arc::EPSILON;
use crate::core::label_reach::{LabelReach, contains};
use crate::core::transducer::{CostArc, Transducer};
use crate::core::limits::Limits;
use crate::error::{Error, LookAheadProblem, Quantity};
use crate::support::ids::number;

/// Costs that are part of a state are multiples of it.
const STEP: f32 = 1.0 / 1024.0;

/// The left side of a composition with look-ahead: a transducer, sorted by output label, and the
/// output labels that each of its states can reach. `HCLr.fst` of a Kaldi model is such a side.
#[derive(Debug, Clone, PartialEq)]
pub struct LookAheadLexicon {
    transducer: Transducer,
    reach: LabelReach,
}

impl LookAheadLexicon {
    /// Checks and takes a transducer and its reachable labels, as a file of OpenFst's type
    /// `olabel_lookahead` has them.
    ///
    /// # Errors
    /// [`Error::LookAhead`] if the labels are of another transducer or of the other side, or the arcs
    /// of a state are not sorted by output label.
    pub fn new(transducer: Transducer, reach: LabelReach) -> Result<Self, Error> {
        if reach.of_input() || reach.num_states() != transducer.num_states() {
            let state = reach.num_states().min(transducer.num_states());
            return Err(Error::LookAhead { problem: LookAheadProblem::OtherReach, state });
        }
        check_order(&transducer, |arc| arc.olabel, LookAheadProblem::UnsortedOutput)?;
        Ok(Self { transducer, reach })
    }

    /// Computes the reachable labels, of a transducer whose arcs are in any order. Sets of labels are
    /// small if words with the same beginning have neighbouring numbers.
    ///
    /// # Errors
    /// [`Error::Limit`] if they take more than `limits` allow.
    pub fn with_reach(mut transducer: Transducer, limits: Limits) -> Result<Self, Error> {
        for state in 0..number(transducer.num_states()) {
            transducer.arcs_mut(state).sort_by_key(|arc| arc.olabel);
        }
        let (_, highest) = transducer.highest_labels();
        let too_large = Error::TooLarge { what: Quantity::SymbolLabel, size: i32::MAX as u64 };
        let final_label = highest.checked_add(1).filter(|&label| label < i32::MAX).ok_or(too_large)?;
        Ok(Self { reach: output_reach(&transducer, final_label, limits.bytes())?, transducer })
    }

    /// Returns the transducer.
    pub fn transducer(&self) -> &Transducer {
        &self.transducer
    }

    /// Returns the reachable labels.
    pub fn reach(&self) -> &LabelReach {
        &self.reach
    }

    /// Returns the number of bytes in memory.
    pub fn num_bytes(&self) -> usize {
        self.transducer.num_bytes() + self.reach.num_bytes()
    }
}

/// The right side of a composition with look-ahead: a transducer, sorted by input label, with sums
/// of the probabilities of its arcs. `Gr.fst` of a Kaldi model is such a side.
#[derive(Debug)]
pub struct LookAheadGrammar {
    transducer: Transducer,
    sums: LogSums,
}

impl LookAheadGrammar {
    /// Checks a transducer and computes the sums. O(arcs).
    ///
    /// # Errors
    /// [`Error::LookAhead`] if the arcs of a state are not sorted by input label.
    pub fn new(transducer: Transducer) -> Result<Self, Error> {
        check_order(&transducer, |arc| arc.ilabel, LookAheadProblem::UnsortedInput)?;
        Ok(Self { sums: LogSums::new(&transducer), transducer })
    }

    /// Returns the transducer.
    pub fn transducer(&self) -> &Transducer {
        &self.transducer
    }

    /// Returns the number of bytes in memory.
    pub fn num_bytes(&self) -> usize {
        self.transducer.num_bytes() + self.sums.bytes()
    }
}

/// Checks that the arcs of each state are sorted by a label.
fn check_order(it: &Transducer, label: fn(&CostArc) -> i32, problem: LookAheadProblem) -> Result<(), Error> {
    let unsorted = (0..it.num_states()).find(|&state| !it.arcs(number(state)).is_sorted_by_key(label));
    unsorted.map_or(Ok(()), |state| Err(Error::LookAhead { problem, state }))
}

/// A state of the composition: states of both sides and the state of the filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) left: u32,
    pub(super) right: u32,
    /// Cost that was looked ahead for and is due back, in steps of [`STEP`].
    pub(super) ahead: i32,
    /// The filters' other two parts: a label of the left side that the right side has taken
    /// already, and whether epsilons of the right side are barred.
    pub(super) rest: u32,
}

/// Bit of [`Pair::rest`]: an epsilon of the left side came last, so those of the right side are
/// barred, which gives each pair of epsilons one order.
const BARRED: u32 = 1;

impl Pair {
    fn new(left: u32, right: u32) -> Self {
        Self { left, right, ahead: 0, rest: 0 }
    }

    fn is_barred(self) -> bool {
        self.rest & BARRED != 0
    }

    /// Returns the label that was taken before its time; 0 if there is none.
    fn taken(self) -> i32 {
        (self.rest >> 1).cast_signed()
    }

    fn ahead(self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "costs have fewer than 24 bits of steps")]
        let steps = self.ahead as f32;
        steps * STEP
    }
}

/// An arc of the composition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairArc {
    pub(super) ilabel: i32,
    pub(super) olabel: i32,
    pub(super) cost: f32,
    pub(super) dest: Pair,
}

/// What look-ahead finds behind a state of the left side.
enum Ahead {
    /// No label that the right side can take next.
    Nothing,
    /// A single arc of the right side, by its index in its state.
    One(usize),
    /// Several, and the cost of all of them together.
    Cost(f32),
}

/// Both sides of a composition.
#[derive(Debug, Clone)]
pub(super) struct Sides {
    pub(super) left: Shared<LookAheadLexicon>,
    pub(super) right: Shared<LookAheadGrammar>,
}

impl Sides {
    /// Returns the start.
    pub(super) fn start(&self) -> Option<Pair> {
        Some(Pair::new(self.left.transducer.start()?, self.right.transducer.start()?))
    }

    /// Returns the cost of ending in a state.
    pub(super) fn final_cost(&self, pair: Pair) -> f32 {
        if pair.taken() != EPSILON {
            return f32::INFINITY;
        }
        self.left.transducer.final_cost(pair.left) - pair.ahead() + self.right.transducer.final_cost(pair.right)
    }

    /// Appends the arcs of a state in OpenFst's order.
    pub(super) fn arcs(&self, pair: Pair, out: &mut Vec<PairArc>) {
        let left = self.left.transducer.arcs(pair.left);
        let right = self.right.transducer.arcs(pair.right);
        if pair.taken() != EPSILON {
            self.arcs_of_taken(pair, left, left.len() <= right.len(), out);
            return;
        }
        let num_epsilons = right.iter().take_while(|arc| arc.ilabel == EPSILON).count();
        let at = At { pair, right, num_epsilons };
        if left.len() <= right.len() {
            self.right_epsilons(&at, out);
            for arc in left {
                if arc.olabel == EPSILON {
                    self.left_epsilon(&at, arc, out);
                } else {
                    let same = equal_range(right, arc.olabel, |arc| arc.ilabel);
                    right[same].iter().for_each(|other| out.push(matched(pair, arc, other)));
                }
            }
        } else {
            let epsilons = left.iter().take_while(|arc| arc.olabel == EPSILON);
            epsilons.for_each(|arc| self.left_epsilon(&at, arc, out));
            for other in right {
                if other.ilabel == EPSILON {
                    self.right_epsilon(pair, other, out);
                } else {
                    let same = equal_range(left, other.ilabel, |arc| arc.olabel);
                    left[same].iter().for_each(|arc| out.push(matched(pair, arc, other)));
                }
            }
        }
    }

    /// Appends the arcs of a state whose label the right side has taken: only the left side moves,
    /// until it comes to the label.
    fn arcs_of_taken(&self, pair: Pair, left: &[CostArc], in_order: bool, out: &mut Vec<PairArc>) {
        let taken = pair.taken();
        let mut push = |arc: &CostArc, dest| out.push(PairArc { ilabel: arc.ilabel, olabel: 0, cost: arc.cost, dest });
        let epsilon = |arc: &CostArc, push: &mut dyn FnMut(&CostArc, Pair)| {
            if left.len() == 1 || self.left.reach.reaches(arc.dest, taken) {
                push(arc, Pair { left: arc.dest, ..pair });
            }
        };
        let epsilons = || left.iter().take_while(|arc| arc.olabel == EPSILON);
        let same = equal_range(left, taken, |arc| arc.olabel);
        if in_order {
            epsilons().for_each(|arc| epsilon(arc, &mut push));
        }
        left[same].iter().for_each(|arc| push(arc, Pair::new(arc.dest, pair.right)));
        if !in_order {
            epsilons().for_each(|arc| epsilon(arc, &mut push));
        }
    }

    fn right_epsilons(&self, at: &At<'_>, out: &mut Vec<PairArc>) {
        at.right[..at.num_epsilons].iter().for_each(|arc| self.right_epsilon(at.pair, arc, out));
    }

    /// Appends an arc on which only the right side moves.
    #[expect(clippy::unused_self, reason = "as its neighbours")]
    fn right_epsilon(&self, pair: Pair, arc: &CostArc, out: &mut Vec<PairArc>) {
        if !pair.is_barred() {
            let dest = Pair::new(pair.left, arc.dest);
            out.push(PairArc { ilabel: EPSILON, olabel: arc.olabel, cost: arc.cost - pair.ahead(), dest });
        }
    }

    /// Appends the arc on which only the left side moves, if both sides can go on behind it.
    fn left_epsilon(&self, at: &At<'_>, arc: &CostArc, out: &mut Vec<PairArc>) {
        let At { pair, right, num_epsilons } = *at;
        let final_cost = self.right.transducer.final_cost(pair.right);
        if num_epsilons == right.len() && final_cost == f32::INFINITY {
            return;
        }
        let barred = if num_epsilons == 0 { 0 } else { BARRED };
        let dest = Pair { left: arc.dest, right: pair.right, ahead: 0, rest: barred };
        let made = match self.look_ahead(arc.dest, pair.right, right, final_cost) {
            Ahead::Nothing => return,
            Ahead::One(place) => {
                // The right side takes its arc at once.
                let other = right[place];
                let cost = arc.cost + (0.0 - pair.ahead() + other.cost);
                let dest = Pair { right: other.dest, rest: other.ilabel.cast_unsigned() << 1 | barred, ..dest };
                PairArc { ilabel: arc.ilabel, olabel: other.olabel, cost, dest }
            }
            Ahead::Cost(ahead) => {
                let cost = arc.cost + (ahead - pair.ahead());
                PairArc { ilabel: arc.ilabel, olabel: EPSILON, cost, dest: Pair { ahead: steps(ahead), ..dest } }
            }
        };
        out.push(made);
    }

    /// Looks for arcs of a state of the right side that a state of the left side can reach.
    fn look_ahead(&self, left: u32, right_state: u32, right: &[CostArc], final_cost: f32) -> Ahead {
        let reach = &self.left.reach;
        let intervals = reach.intervals(left);
        let mut found: Option<Range<usize>> = None;
        let mut sum = f32::INFINITY;
        let mut take = |range: Range<usize>| {
            found = Some(found.as_ref().map_or(range.start, |found| found.start)..range.end);
        };
        if 2 * right.len() < intervals.len() {
            for (place, arc) in right.iter().enumerate() {
                if arc.ilabel != EPSILON && contains(intervals, arc.ilabel) {
                    take(place..place + 1);
                    sum = add_costs(sum, arc.cost);
                }
            }
        } else {
            let mut end = 0;
            for interval in intervals {
                let begin = end + right[end..].partition_point(|arc| arc.ilabel < interval[0]);
                end = begin + right[begin..].partition_point(|arc| arc.ilabel < interval[1]);
                if begin < end {
                    take(begin..end);
                    sum = self.right.sums.add(sum, right_state, right, begin..end);
                }
            }
        }
        let ends = final_cost < f32::INFINITY && contains(intervals, reach.final_label());
        let cost = match found {
            Some(found) if found.len() == 1 && !ends => return Ahead::One(found.start),
            Some(_) if ends => sum.min(final_cost),
            Some(_) => sum,
            None if ends => final_cost,
            None => return Ahead::Nothing,
        };
        if cost == f32::INFINITY { Ahead::Nothing } else { Ahead::Cost(cost) }
    }
}

/// A state of the composition, and the arcs of its right side.
struct At<'a> {
    pair: Pair,
    right: &'a [CostArc],
    num_epsilons: usize,
}

/// Returns the arc of two arcs whose labels match.
fn matched(pair: Pair, arc: &CostArc, other: &CostArc) -> PairArc {
    let cost = arc.cost + (other.cost - pair.ahead());
    PairArc { ilabel: arc.ilabel, olabel: other.olabel, cost, dest: Pair::new(arc.dest, other.dest) }
}

/// Returns the range of the arcs with a label, by which they are sorted.
fn equal_range(arcs: &[CostArc], label: i32, of: fn(&CostArc) -> i32) -> Range<usize> {
    let begin = arcs.partition_point(|arc| of(arc) < label);
    begin..begin + arcs[begin..].iter().take_while(|arc| of(arc) == label).count()
}

/// Returns a cost in steps, rounded.
#[expect(clippy::cast_possible_truncation, reason = "costs beyond the range of i32 become its ends")]
fn steps(cost: f32) -> i32 {
    (cost / STEP + 0.5).floor() as i32
}
