//! k2's determinization, which knows for each arc the arcs that it stands for.

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::algorithms::connect::useful_states;
use crate::algorithms::epsilon_closure::log_add;
use crate::arc::{id, index, narrow};
use crate::hash::mix;
use crate::parts::{Part, map_fsas};
use crate::view::FsaView;
use crate::{Arc, Error, FINAL, Fsas};

/// Where [`determinize`] puts the scores of paths that are still undecided; the score of a whole path is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WeightPushing {
    /// On the arc where they are decided: an arc's score is that of the arcs that it stands for.
    #[doc(alias = "kNoWeightPushing")]
    No,
    /// As early as possible: an arc has the best of the scores that are undecided after it.
    #[doc(alias = "kTropicalWeightPushing")]
    #[default]
    Tropical,
    /// As early as possible: an arc has the logarithm of the sum of the scores that are undecided after it.
    #[doc(alias = "kLogWeightPushing")]
    Log,
}

/// Up to so many states are made of one FSA, unless another number is given.
const MOST_STATES: usize = 1 << 24;

/// FSAs in which no two arcs of a state have the same label, so that each string has one path, with the score of the best one before; and for each arc
/// the arcs before that it stands for, in order. Label 0 is a symbol like others.
///
/// Where several paths are open, arcs stand for none until the best one is decided; the one after that stands for all of its arcs since. So attributes
/// of the best path follow by [`carry_ragged`](crate::Graph::carry_ragged), where a transducer that puts out different strings for one input keeps the best. States of no use are
/// left out. [`optimize::determinize`](crate::optimize::determinize) is smaller, as it puts states together whose scores ahead are equal.
///
/// A state of the result is the last state through which all open paths went, and the labels since. That takes time and memory in proportion to the
/// result and to the open paths; the result can be exponential, and infinite where paths stay open around a cycle.
///
/// # Errors
/// [`Error::DeterminizeLimit`] with more than 2^24 states ([`determinize_within`] sets another limit), [`Error::TooLarge`], [`Error::Score`] if scores overflow.
#[doc(alias = "Determinize")]
pub fn determinize<F: Fsas>(fsas: &F, weight_pushing: WeightPushing) -> Result<(F, Ragged<i32>), Error> {
    determinize_within(fsas, weight_pushing, MOST_STATES)
}

/// [`determinize`] of FSAs that become no more than `max_states` states each.
///
/// # Errors
/// [`Error::DeterminizeLimit`] where they would, and as [`determinize`].
pub fn determinize_within<F: Fsas>(
    fsas: &F,
    weight_pushing: WeightPushing,
    max_states: usize,
) -> Result<(F, Ragged<i32>), Error> {
    let (made, maps) = map_fsas(fsas.as_vec(), |i, fsa| {
        let mut work = Work::new(i, fsa, weight_pushing, max_states);
        work.run()?;
        Ok((work.part, (work.map_ends, work.map)))
    })?;
    let num_places: usize = maps.iter().map(|(_, places)| places.len()).sum();
    Error::fit("the number of entries of the arc map", num_places)?;
    let (mut splits, mut places) = (Vec::with_capacity(made.num_arcs() + 1), Vec::with_capacity(num_places));
    splits.push(0);
    for (ends, more) in maps {
        let first = id(places.len());
        splits.extend(ends.iter().map(|&end| first + id(end)));
        places.extend_from_slice(&more);
    }
    let shape = RaggedShape::new([RowSplits::new(splits)?])?;
    Ok((fsas.same_kind(made), Ragged::new(shape, places)?))
}

/// A state of the FSA at the end of an open path. Those of a subset are steps of equal depth in a tree.
#[derive(Clone, Copy)]
struct Step {
    state: u32,
    /// The step before and the arc from there, or [`ROOT`].
    before: u32,
    arc: u32,
    /// The score from the root of the tree on.
    score: f64,
}

const ROOT: u32 = u32::MAX;

/// A state of the result: the ends of the open paths, `first..end` in the arena, and what all of them went through last.
#[derive(Clone, Copy)]
struct Subset {
    first: u32,
    end: u32,
    base: u32,
    /// The score of the base, and what of the open paths' scores is on the arcs already.
    base_score: f64,
    pushed: f64,
}

/// An arc that leaves a subset, before those of a label are put together.
#[derive(Clone, Copy)]
struct Record {
    /// The label as an unsigned number, then the state that it enters.
    key: u64,
    score: f64,
    before: u32,
    arc: u32,
}

struct Work<'a> {
    fsa_index: usize,
    fsa: FsaView<'a>,
    weight_pushing: WeightPushing,
    max_states: usize,
    useful: Vec<bool>,
    steps: Vec<Step>,
    subsets: Vec<Subset>,
    /// The subset of each single state, or [`ROOT`].
    single: Vec<u32>,
    /// Open addressing: the hash of a base and the labels since, and the number of the subset, or [`ROOT`].
    table: Vec<(u64, u32)>,
    num_in_table: usize,
    records: Vec<Record>,
    largest: usize,
    part: Part,
    map_ends: Vec<usize>,
    map: Vec<i32>,
    /// Scratch of [`common_step`](Self::common_step).
    walk: Vec<u32>,
}

impl<'a> Work<'a> {
    fn new(fsa_index: usize, fsa: FsaView<'a>, weight_pushing: WeightPushing, max_states: usize) -> Self {
        let useful = useful_states(fsa);
        let num_states = fsa.num_states();
        Self {
            fsa_index,
            fsa,
            weight_pushing,
            max_states,
            useful,
            steps: Vec::with_capacity(num_states),
            subsets: Vec::with_capacity(num_states),
            single: vec![ROOT; num_states],
            table: vec![(0, ROOT); 64],
            num_in_table: 0,
            records: vec![],
            largest: 1,
            part: Part::with_capacity(num_states, fsa.arcs().len()),
            map_ends: Vec::with_capacity(fsa.arcs().len()),
            map: Vec::with_capacity(fsa.arcs().len()),
            walk: vec![],
        }
    }

    fn run(&mut self) -> Result<(), Error> {
        if self.useful.first() != Some(&true) {
            return Ok(());
        }
        self.single_subset(0)?;
        let mut at = 0;
        while at < self.subsets.len() {
            self.leave(at)?;
            self.part.end_state();
            at += 1;
        }
        self.part.end_state();
        let last = Error::fit("the number of states", at)?;
        self.part.arcs.iter_mut().filter(|arc| arc.dest_state < 0).for_each(|arc| arc.dest_state = last);
        match self.part.arcs.iter().position(|arc| arc.score == f32::INFINITY) {
            None => Ok(()),
            Some(arc) => Err(Error::Score { arc, score: f32::INFINITY }),
        }
    }

    /// The arcs that leave subset `number`.
    fn leave(&mut self, number: usize) -> Result<(), Error> {
        let Subset { first, end, .. } = self.subsets[number];
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        for before in first..end {
            let Step { state, score, .. } = self.steps[at(before)];
            let range = self.fsa.arc_range(at(state));
            for (arc, place) in self.fsa.arcs()[range.clone()].iter().zip(id(range.start).cast_unsigned()..) {
                if self.useful[arc.states().1] {
                    records.push(Record {
                        key: arc.sort_key(),
                        score: score + f64::from(arc.score),
                        before,
                        arc: place,
                    });
                }
            }
        }
        // Of equal labels and states the best comes first, of equal ones the earliest.
        if records.len() > 1 {
            records.sort_unstable_by(|a, b| {
                a.key.cmp(&b.key).then(b.score.total_cmp(&a.score)).then((a.before, a.arc).cmp(&(b.before, b.arc)))
            });
            records.dedup_by_key(|record| record.key);
        }
        for group in records.chunk_by(|a, b| a.key >> 32 == b.key >> 32) {
            self.enter(number, group)?;
        }
        self.records = records;
        Ok(())
    }

    /// The arc from subset `number` with the label of this group, to the subset of its states.
    fn enter(&mut self, number: usize, group: &[Record]) -> Result<(), Error> {
        let from = self.subsets[number];
        let label = self.fsa.arcs()[at(group[0].arc)].label;
        if let [only] = group {
            // The path is decided: its arcs since the base, and this one.
            self.list_path(from.base, only.before);
            self.map.push(id(self.fsa.first_arc() + at(only.arc)));
            let state = self.fsa.arcs()[at(only.arc)].states().1;
            let dest_state = if label == FINAL { -1 } else { self.single_subset(state)? };
            self.push(number, dest_state, label, only.score - from.base_score - from.pushed);
            return Ok(());
        }
        let first = self.num_steps()?;
        self.steps.extend(group.iter().map(|record| {
            let state = id(self.fsa.arcs()[at(record.arc)].states().1).cast_unsigned();
            Step { state, before: record.before, arc: record.arc, score: record.score }
        }));
        let end = self.num_steps()?;
        self.largest = self.largest.max(group.len());
        let base = self.common_step(first, end);
        let base_score = self.steps[at(base)].score;
        let undecided = self.steps[at(first)..at(end)].iter().map(|step| step.score - base_score);
        let pushed = match self.weight_pushing {
            WeightPushing::No => 0.0,
            WeightPushing::Tropical => undecided.fold(f64::NEG_INFINITY, f64::max),
            WeightPushing::Log => undecided.fold(f64::NEG_INFINITY, log_add),
        };
        // If all paths score -inf, nothing can be put off.
        let pushed = if pushed.is_finite() { pushed } else { 0.0 };
        self.list_path(from.base, base);
        let dest_state = self.number_of(Subset { first, end, base, base_score, pushed })?;
        self.push(number, dest_state, label, base_score + pushed - from.base_score - from.pushed);
        Ok(())
    }

    fn push(&mut self, number: usize, dest_state: i32, label: i32, score: f64) {
        // The difference of two that are -inf: the path was lost before.
        let score = if score.is_nan() { f32::NEG_INFINITY } else { narrow(score) };
        self.part.arcs.push(Arc { src_state: id(number), dest_state, label, score });
        self.map_ends.push(self.map.len());
    }

    /// Lists the arcs from step `base` to step `to`, which comes after it or is it.
    fn list_path(&mut self, base: u32, to: u32) {
        let begin = self.map.len();
        let mut step = to;
        while step != base {
            let Step { before, arc, .. } = self.steps[at(step)];
            self.map.push(id(self.fsa.first_arc() + at(arc)));
            step = before;
        }
        self.map[begin..].reverse();
    }

    /// The last step that all of these steps came through.
    fn common_step(&mut self, first: u32, end: u32) -> u32 {
        self.walk.clear();
        self.walk.extend(first..end);
        while self.walk.len() > 1 {
            for step in &mut self.walk {
                *step = self.steps[at(*step)].before;
            }
            self.walk.dedup();
            if self.walk.iter().all(|step| *step == self.walk[0]) {
                break;
            }
        }
        self.walk[0]
    }

    fn num_steps(&self) -> Result<u32, Error> {
        Ok(Error::fit("the number of open paths", self.steps.len())?.cast_unsigned())
    }

    fn single_subset(&mut self, state: usize) -> Result<i32, Error> {
        if self.single[state] == ROOT {
            let first = self.num_steps()?;
            self.steps.push(Step { state: id(state).cast_unsigned(), before: ROOT, arc: ROOT, score: 0.0 });
            let new = Subset { first, end: first + 1, base: first, base_score: 0.0, pushed: 0.0 };
            self.single[state] = self.add(new)?;
        }
        Ok(self.single[state].cast_signed())
    }

    fn add(&mut self, subset: Subset) -> Result<u32, Error> {
        let number = Error::fit("the number of states", self.subsets.len() + 1)? - 1;
        // The final state is one more.
        if self.subsets.len() + 2 > self.max_states {
            let pending_labels = self.labels_since(subset).count();
            let scores = self.steps[at(subset.first)..at(subset.end)].iter().map(|step| step.score);
            let spread = scores.clone().fold(f64::NEG_INFINITY, f64::max) - scores.fold(f64::INFINITY, f64::min);
            return Err(Error::DeterminizeLimit {
                fsa: self.fsa_index,
                what: "states",
                limit: self.max_states,
                states: self.subsets.len() + 1,
                arcs: self.part.arcs.len(),
                largest_subset: self.largest,
                pending_labels,
                pending_score: narrow(spread),
            });
        }
        self.subsets.push(subset);
        Ok(number.cast_unsigned())
    }

    /// The labels of the open paths since their base, from the last to the first; they are the same on all.
    fn labels_since(&self, subset: Subset) -> impl Iterator<Item = i32> {
        let mut step = subset.first;
        std::iter::from_fn(move || {
            (step != subset.base).then(|| {
                let Step { before, arc, .. } = self.steps[at(step)];
                step = before;
                self.fsa.arcs()[at(arc)].label
            })
        })
    }

    /// The number of the subset with the same base and the same labels since, which has the same states and scores, or a new one.
    fn number_of(&mut self, subset: Subset) -> Result<i32, Error> {
        let base_state = |work: &Self, subset: &Subset| work.steps[at(subset.base)].state;
        let state = base_state(self, &subset);
        let hash =
            self.labels_since(subset).fold(mix(0, state.into()), |hash, label| mix(hash, label.cast_unsigned().into()));
        let mask = self.table.len() - 1;
        let mut place = low_bits(hash) & mask;
        while self.table[place].1 != ROOT {
            let (known_hash, number) = self.table[place];
            let known = self.subsets[at(number)];
            if known_hash == hash
                && base_state(self, &known) == state
                && self.labels_since(known).eq(self.labels_since(subset))
            {
                self.steps.truncate(at(subset.first));
                return Ok(number.cast_signed());
            }
            place = (place + 1) & mask;
        }
        let number = self.add(subset)?;
        self.table[place] = (hash, number);
        self.num_in_table += 1;
        if self.num_in_table * 2 > self.table.len() {
            self.grow();
        }
        Ok(number.cast_signed())
    }

    fn grow(&mut self) {
        let len = self.table.len() * 4;
        let old = std::mem::replace(&mut self.table, vec![(0, ROOT); len]);
        for entry in old.into_iter().filter(|entry| entry.1 != ROOT) {
            let mut place = low_bits(entry.0) & (len - 1);
            while self.table[place].1 != ROOT {
                place = (place + 1) & (len - 1);
            }
            self.table[place] = entry;
        }
    }
}

/// A number of a step, a state, an arc or a subset as an index.
#[inline]
fn at(number: u32) -> usize {
    index(number.cast_signed())
}

fn low_bits(hash: u64) -> usize {
    usize::try_from(hash & 0x7FFF_FFFF).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsa::fsa;
    use crate::{Fsa, Graph};

    /// Case 168 of k2's known answers, with shorter numbers.
    #[test]
    fn scores_wait_or_are_pushed() {
        let arcs =
            [(0, 1, 3, -1.0), (0, 2, 3, -0.5), (1, 3, -1, 0.5), (1, 2, 2, -0.25), (2, 3, -1, -0.5), (2, 3, -1, 0.75)];
        let graph = Graph::new(fsa(4, &arcs)).with_aux_labels(vec![3, 1, -1, 1, -1, -1]).unwrap();
        let scores = |pushing| determinize(graph.fsas(), pushing).unwrap().0.scores();
        assert_eq!(scores(WeightPushing::No), [0.0, -1.25, 0.25, 0.75]);
        assert_eq!(scores(WeightPushing::Tropical), [-0.5, -0.75, 0.75, 0.75]);
        let (made, map) = determinize(graph.fsas(), WeightPushing::No).unwrap();
        assert_eq!(made.labels(), [3, 2, -1, -1]);
        assert_eq!(map.rows().collect::<Vec<_>>(), [&[][..], &[0, 3], &[1, 5], &[5]]);
        let aux = graph.determinize(WeightPushing::No).unwrap();
        let lists = aux.attributes().lists(crate::AUX_LABELS).unwrap();
        assert_eq!(lists.rows().collect::<Vec<_>>(), [&[][..], &[3, 1], &[1, -1], &[-1]]);
    }

    #[test]
    fn dead_ends_and_nothing() {
        let dead = fsa(4, &[(0, 1, 3, 0.0), (0, 2, 3, 1.0), (1, 3, -1, 0.5)]);
        let (made, map) = determinize(&dead, WeightPushing::default()).unwrap();
        assert_eq!(made, fsa(3, &[(0, 1, 3, 0.0), (1, 2, -1, 0.5)]));
        assert_eq!(map.values(), [0, 2]);
        assert_eq!(determinize(&Fsa::empty(), WeightPushing::No).unwrap().0, Fsa::empty());
        assert_eq!(determinize(&fsa(3, &[(0, 1, 3, 0.0)]), WeightPushing::No).unwrap().0, Fsa::empty());
    }

    #[test]
    fn what_stays_open_is_refused() {
        let twins =
            fsa(4, &[(0, 1, 3, 0.0), (0, 2, 3, 1.0), (1, 1, 5, 0.0), (1, 3, -1, 0.0), (2, 2, 5, 0.5), (2, 3, -1, 0.0)]);
        let made = determinize_within(&twins, WeightPushing::Log, 100);
        assert!(matches!(made, Err(Error::DeterminizeLimit { limit: 100, largest_subset: 2, .. })), "{made:?}");
    }
}
