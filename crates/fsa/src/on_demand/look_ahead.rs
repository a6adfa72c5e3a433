//! One step of the composition with look-ahead: the arcs of a pair of states.

use std::ops::Range;
use std::sync::Arc as Shared;

use super::grammar::LookAheadGrammar;
use super::log_sums::add_costs;
use super::reach::output_reach;
use crate::core::arc::EPSILON;
use crate::core::label_reach::{LabelReach, contains};
use crate::core::limits::Limits;
use crate::core::transducer::{CostArc, Transducer};
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
    /// [`Error::LookAhead`] if the labels are of another transducer or of the other side, or the
    /// arcs of a state are not sorted by output label.
    pub fn new(transducer: Transducer, reach: LabelReach) -> Result<Self, Error> {
        if reach.of_input() || reach.num_states() != transducer.num_states() {
            let state = reach.num_states().min(transducer.num_states());
            return Err(Error::LookAhead { problem: LookAheadProblem::OtherReach, state });
        }
        let is_sorted = |&state: &usize| transducer.arcs(number(state)).is_sorted_by_key(|arc| arc.olabel);
        if let Some(state) = (0..transducer.num_states()).find(|state| !is_sorted(state)) {
            return Err(Error::LookAhead { problem: LookAheadProblem::UnsortedOutput, state });
        }
        Ok(Self { transducer, reach })
    }

    /// Computes the reachable labels, of a transducer whose arcs are in any order. Sets of labels
    /// are small if words with the same beginning have neighbouring numbers.
    ///
    /// # Errors
    /// [`Error::Limit`] if they take more than `limits` allow; [`Error::TooLarge`] for a label that
    /// leaves no number for the end.
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
#[derive(Debug, Clone, Copy)]
enum Ahead {
    /// No label that the right side can take next.
    Nothing,
    /// A single arc of the right side, by its position.
    One(u32),
    /// Several, and the cost of all of them together.
    Cost(f32),
}

/// With more intervals, their arcs are near each other.
const FEW_INTERVALS: usize = 4;

/// Slots of a [`Memory`].
const SLOTS: usize = 1 << 13;

/// What was found last, by the labels looked ahead for and the state of the right side. States of
/// the left side that follow one another have the same labels.
#[derive(Debug)]
pub(super) struct Memory {
    slots: Vec<Option<(Key, Ahead)>>,
}

/// The bounds of a single interval, or a state of the left side and -1; and a state of the right
/// side.
type Key = ([i32; 2], u32);

impl Memory {
    pub(super) fn new() -> Self {
        Self { slots: vec![None; SLOTS] }
    }

    #[inline]
    fn slot(&mut self, ([first, end], state): Key) -> &mut Option<(Key, Ahead)> {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let labels = u64::from(first.cast_unsigned()) << 32 | u64::from(end.cast_unsigned());
        let hash = (labels.wrapping_mul(ODD) ^ u64::from(state)).wrapping_mul(ODD);
        let slot = usize::try_from(hash >> 40).unwrap_or(0) & (SLOTS - 1);
        &mut self.slots[slot]
    }
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
        Some(Pair::new(self.left.transducer.start()?, self.right.start()?))
    }

    /// Returns the cost of ending in a state.
    pub(super) fn final_cost(&self, pair: Pair) -> f32 {
        if pair.taken() != EPSILON {
            return f32::INFINITY;
        }
        self.left.transducer.final_cost(pair.left) - pair.ahead() + self.right.final_cost(pair.right)
    }

    /// Appends the arcs of a state in OpenFst's order.
    pub(super) fn arcs(&self, pair: Pair, memory: &mut Memory, out: &mut Vec<PairArc>) {
        let left = self.left.transducer.arcs(pair.left);
        let all = self.right.range(pair.right);
        if pair.taken() != EPSILON {
            self.arcs_of_taken(pair, left, left.len() <= all.len(), out);
            return;
        }
        let num_epsilons = self.right.num_epsilons(pair.right);
        let ends = self.right.final_cost(pair.right) < f32::INFINITY;
        let at = At { pair, may_wait: ends || num_epsilons < all.len(), num_epsilons };
        if left.len() <= all.len() {
            (all.start..all.start + num_epsilons).for_each(|other| self.right_epsilon(pair, other, out));
            for arc in left {
                if arc.olabel == EPSILON {
                    self.left_epsilon(&at, arc, memory, out);
                } else {
                    let same = self.right.with_label(pair.right, arc.olabel);
                    same.for_each(|other| out.push(self.matched(pair, arc, other)));
                }
            }
        } else {
            let epsilons = left.iter().take_while(|arc| arc.olabel == EPSILON);
            epsilons.for_each(|arc| self.left_epsilon(&at, arc, memory, out));
            for other in all {
                let label = self.right.ilabels[other];
                if label == EPSILON {
                    self.right_epsilon(pair, other, out);
                } else {
                    with_olabel(left, label).for_each(|arc| out.push(self.matched(pair, arc, other)));
                }
            }
        }
    }

    /// Appends the arcs of a state whose label the right side has taken: only the left side moves,
    /// until it comes to the label.
    fn arcs_of_taken(&self, pair: Pair, left: &[CostArc], in_order: bool, out: &mut Vec<PairArc>) {
        let taken = pair.taken();
        let made = |arc: &CostArc, dest| PairArc { ilabel: arc.ilabel, olabel: EPSILON, cost: arc.cost, dest };
        let may_go = |arc: &&CostArc| left.len() == 1 || self.left.reach.reaches(arc.dest, taken);
        let epsilons = left.iter().take_while(|arc| arc.olabel == EPSILON).filter(may_go);
        let epsilons = epsilons.map(|arc| made(arc, Pair { left: arc.dest, ..pair }));
        let same = with_olabel(left, taken).map(|arc| made(arc, Pair::new(arc.dest, pair.right)));
        if in_order {
            out.extend(epsilons.chain(same));
        } else {
            out.extend(same.chain(epsilons));
        }
    }

    /// Appends an arc on which only the right side moves.
    fn right_epsilon(&self, pair: Pair, other: usize, out: &mut Vec<PairArc>) {
        if !pair.is_barred() {
            let (olabel, cost, dest) = self.right.arc(other);
            let dest = Pair::new(pair.left, dest);
            out.push(PairArc { ilabel: EPSILON, olabel, cost: cost - pair.ahead(), dest });
        }
    }

    /// Returns the arc of two arcs whose labels match.
    fn matched(&self, pair: Pair, arc: &CostArc, other: usize) -> PairArc {
        let (olabel, cost, dest) = self.right.arc(other);
        let cost = arc.cost + (cost - pair.ahead());
        PairArc { ilabel: arc.ilabel, olabel, cost, dest: Pair::new(arc.dest, dest) }
    }

    /// Appends the arc on which only the left side moves, if both sides can go on behind it.
    fn left_epsilon(&self, at: &At, arc: &CostArc, memory: &mut Memory, out: &mut Vec<PairArc>) {
        let At { pair, may_wait, num_epsilons } = *at;
        if !may_wait {
            return;
        }
        let barred = if num_epsilons == 0 { 0 } else { BARRED };
        let dest = Pair { left: arc.dest, right: pair.right, ahead: 0, rest: barred };
        let made = match self.look_ahead(arc.dest, pair.right, memory) {
            Ahead::Nothing => return,
            Ahead::One(place) => {
                // The right side takes its arc at once.
                let (olabel, cost, right) = self.right.arc(place as usize);
                let cost = arc.cost + (0.0 - pair.ahead() + cost);
                let label = self.right.ilabels[place as usize];
                let dest = Pair { right, rest: label.cast_unsigned() << 1 | barred, ..dest };
                PairArc { ilabel: arc.ilabel, olabel, cost, dest }
            }
            Ahead::Cost(ahead) => {
                let cost = arc.cost + (ahead - pair.ahead());
                PairArc { ilabel: arc.ilabel, olabel: EPSILON, cost, dest: Pair { ahead: steps(ahead), ..dest } }
            }
        };
        out.push(made);
    }

    /// Looks for arcs of a state of the right side that a state of the left side can reach.
    fn look_ahead(&self, left: u32, right: u32, memory: &mut Memory) -> Ahead {
        let intervals = self.left.reach.intervals(left);
        let key = match intervals {
            &[interval] => (interval, right),
            _ => ([left.cast_signed(), -1], right),
        };
        let slot = memory.slot(key);
        match *slot {
            Some((known, ahead)) if known == key => ahead,
            _ => slot.insert((key, self.find_ahead(intervals, right))).1,
        }
    }

    /// Looks for arcs of a state of the right side with labels in some intervals.
    fn find_ahead(&self, intervals: &[[i32; 2]], state: u32) -> Ahead {
        let right = &*self.right;
        let (all, final_cost) = (right.range(state), right.final_cost(state));
        let mut found: Option<Range<usize>> = None;
        let mut sum = f32::INFINITY;
        let mut take = |range: Range<usize>| {
            found = Some(found.as_ref().map_or(range.start, |found| found.start)..range.end);
        };
        if 2 * all.len() < intervals.len() {
            for at in all {
                let label = right.ilabels[at];
                if label != EPSILON && contains(intervals, label) {
                    take(at..at + 1);
                    sum = add_costs(sum, right.costs[at]);
                }
            }
        } else {
            let mut end = all.start;
            let are_near = intervals.len() > FEW_INTERVALS;
            for &[first, after] in intervals {
                let rest = end..all.end;
                let near = |rest| right.first_near(state, rest, first);
                let begin = if are_near { near(rest) } else { right.first_from(state, rest, first) };
                end = right.first_near(state, begin..all.end, after);
                if begin < end {
                    take(begin..end);
                    sum = right.add_costs(sum, state, begin..end);
                }
            }
        }
        let ends = final_cost < f32::INFINITY && contains(intervals, self.left.reach.final_label());
        let cost = match found {
            Some(found) if found.len() == 1 && !ends => return Ahead::One(number(found.start)),
            Some(_) if ends => sum.min(final_cost),
            Some(_) => sum,
            None if ends => final_cost,
            None => return Ahead::Nothing,
        };
        if cost == f32::INFINITY { Ahead::Nothing } else { Ahead::Cost(cost) }
    }
}

/// A state of the composition, and what its arcs depend on.
struct At {
    pair: Pair,
    /// Whether the right side may wait while the left side moves: it could do more than follow
    /// epsilons.
    may_wait: bool,
    num_epsilons: usize,
}

/// Returns the arcs with an output label, of arcs in the order of output labels.
fn with_olabel(arcs: &[CostArc], label: i32) -> impl Iterator<Item = &CostArc> {
    let begin = arcs.partition_point(|arc| arc.olabel < label);
    arcs[begin..].iter().take_while(move |arc| arc.olabel == label)
}

/// Returns a cost in steps, rounded.
#[expect(clippy::cast_possible_truncation, reason = "costs beyond the range of i32 become its ends")]
fn steps(cost: f32) -> i32 {
    (cost / STEP + 0.5).floor() as i32
}
