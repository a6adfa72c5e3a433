//! The arcs that leave states of the result.

use std::ops::Range;

use kaldera_base::math::log_add;
use kaldera_base::memory::prefetch;

use crate::core::arc::Arc;
use crate::core::view::FsaView;
use crate::k2::determinize::subsets::{State, Step, Subset, Subsets, at};
use crate::k2::determinize::weight_pushing::WeightPushing;
use crate::support::ids::{NONE, id, narrow};
use crate::support::interner::mix;

/// Number of states whose arcs are found before the states that these enter are numbered: few
/// enough that they stay in the cache.
pub(super) const STATES_AT_ONCE: usize = 64;

/// The arcs that leave some states of the result, and the buffers used to find them.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    /// The destination of an arc is a single state of the FSA or, if it is negative, the complement
    /// of the index of a subset in `open`.
    pub(super) arcs: Vec<Arc>,
    /// True if each state is a single one with one leaving arc. Then an arc holds, in place of its
    /// source, the arc from which it comes, and nothing else is listed: passing data between
    /// processors takes time in proportion to its size.
    pub(super) alone: bool,
    /// End of the arcs of each state.
    pub(super) ends: Vec<usize>,
    /// For each arc, the arcs that it stands for, one after another, and where they end.
    pub(super) map: Vec<i32>,
    pub(super) map_ends: Vec<i32>,
    /// True if the score of an arc is plus infinity.
    pub(super) infinite: bool,
    pub(super) open: Vec<Open>,
    pub(super) steps: Vec<Step>,
    records: Vec<Record>,
    by_label: ByLabel,
    walk: Vec<u32>,
    /// True if the search ended early, with more than [`Search::most_bytes`].
    pub(super) too_large: bool,
}

/// A subset that an arc enters. Other arcs may enter the same subset.
#[derive(Debug)]
pub(super) struct Open {
    /// The open paths among the steps that were found with it.
    pub(super) steps: Range<usize>,
    /// The base; [`NONE`] if it is the first of `steps`, which is then not an open path.
    pub(super) base: u32,
    pub(super) base_score: f64,
    pub(super) pushed: f64,
    /// Hash of the base's state and the labels since.
    pub(super) hash: u64,
}

/// An arc that leaves a state of the result, before arcs with the same label are merged.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    /// The label as an unsigned number, then the state that it enters.
    key: u64,
    score: f64,
    /// The step that it leaves, or [`NONE`] if it leaves a single state.
    before: u32,
    arc: u32,
}

impl Record {
    fn label(&self) -> u32 {
        u32::try_from(self.key >> 32).expect("32 bits are left")
    }

    /// Returns the state that the arc enters, as in [`Arc::states`].
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
    fn state(&self) -> u32 {
        self.key as u32
    }
}

/// The inputs of the search for the arcs of a state.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) fsa: FsaView<'a>,
    pub(super) weight_pushing: WeightPushing,
    /// The states of the FSA that lead to the end, if not all do.
    pub(super) useful: Option<&'a [bool]>,
    pub(super) known: &'a Subsets,
    /// Limit of the bytes found in one search.
    pub(super) most_bytes: usize,
}

/// The source of the arcs: the steps of a subset, or a single state, whose base is [`NONE`].
struct From {
    number: i32,
    single: u32,
    base: u32,
    /// Score of the base, and the part that is pushed already.
    base_score: f64,
    pushed: f64,
}

impl Search<'_> {
    /// Finds the arcs that leave the states at these indexes.
    pub(super) fn leave(&self, states: Range<usize>, made: &mut Expansion) {
        made.begin();
        made.alone = self.leave_alone(states.clone(), made);
        if made.alone {
            return;
        }
        made.begin_lists(states.len(), self.known.steps.len().min(STATES_AT_ONCE));
        for place in states {
            self.look_ahead(place);
            let number = self.known.first + id(place);
            let single = From { number, single: NONE, base: NONE, base_score: 0.0, pushed: 0.0 };
            match self.known.states[place].state() {
                State::Single(state) => {
                    if let [arc] = self.fsa.arcs_of(at(state)) {
                        self.leave_by(arc, &From { single: state, ..single }, made);
                    } else {
                        let step = Step { state, before: NONE, arc: NONE, score: 0.0 };
                        made.by_label.fill(&mut made.records, || self.records(step, NONE));
                        self.enter_all(&From { single: state, ..single }, made);
                    }
                }
                State::Open(place) => {
                    let Subset { first, end, base, base_score, pushed, .. } = self.known.open[at(place)];
                    for step in first..end {
                        self.look_ahead_of_step(at(step));
                        made.records.extend(self.records(self.known.step(step), step));
                    }
                    self.enter_all(&From { base, base_score, pushed, ..single }, made);
                }
            }
            made.ends.push(made.arcs.len());
            if made.too_large {
                return;
            }
        }
    }

    /// Finds the arcs of these states, if each is a single state with exactly one arc.
    fn leave_alone(&self, states: Range<usize>, made: &mut Expansion) -> bool {
        made.arcs.resize(states.len(), Arc::default());
        for (slot, place) in made.arcs.iter_mut().zip(states) {
            self.look_ahead(place);
            let State::Single(state) = self.known.states[place].state() else { return false };
            let range = self.fsa.arc_range(at(state));
            let [arc] = &self.fsa.arcs()[range.clone()] else { return false };
            if !self.leads_to_end(arc) {
                return false;
            }
            // A sum that begins with 0 is never -0.
            *slot = Arc { src_state: id(self.fsa.first_arc() + range.start), score: 0.0 + arc.score, ..*arc };
        }
        true
    }

    /// Prefetches data of the next states, which are not in the order of memory.
    #[inline]
    fn look_ahead(&self, place: usize) {
        const STATES: usize = 24;
        const ARCS: usize = 12;

        if let Some(State::Single(state)) = self.known.states.get(place + STATES).map(|state| state.state()) {
            self.fsa.prefetch_state(at(state));
        }
        if let Some(State::Single(state)) = self.known.states.get(place + ARCS).map(|state| state.state()) {
            prefetch(self.fsa.arcs(), self.fsa.arc_range(at(state)).start);
        }
    }

    /// Does the same for the steps of subsets.
    #[inline]
    fn look_ahead_of_step(&self, step: usize) {
        const STATES: usize = 16;
        const ARCS: usize = 8;

        if let Some(step) = self.known.steps.get(step + STATES) {
            self.fsa.prefetch_state(at(step.state));
        }
        if let Some(step) = self.known.steps.get(step + ARCS) {
            prefetch(self.fsa.arcs(), self.fsa.arc_range(at(step.state)).start);
            prefetch(&self.known.steps, usize::try_from(step.before).unwrap_or(usize::MAX));
        }
    }

    #[inline]
    fn leads_to_end(&self, arc: &Arc) -> bool {
        self.useful.is_none_or(|useful| useful[arc.states().1])
    }

    /// Adds the only arc of a single state.
    #[inline]
    fn leave_by(&self, arc: &Arc, from: &From, made: &mut Expansion) {
        if self.leads_to_end(arc) {
            let place = self.fsa.arc_range(at(from.single)).start;
            made.map.push(id(self.fsa.first_arc() + place));
            made.push(from, arc.dest_state, arc.label, 0.0 + f64::from(arc.score));
        }
    }

    /// Returns the useful arcs that leave a step.
    #[inline]
    fn records(&self, Step { state, score, .. }: Step, before: u32) -> impl Iterator<Item = Record> {
        let range = self.fsa.arc_range(at(state));
        let arcs = self.fsa.arcs()[range.clone()].iter().zip(id(range.start).cast_unsigned()..);
        arcs.filter(|(arc, _)| self.leads_to_end(arc)).map(move |(arc, place)| Record {
            key: arc.sort_key(),
            score: score + f64::from(arc.score),
            before,
            arc: place,
        })
    }

    /// Adds one arc for each label of the records, which are used up.
    fn enter_all(&self, from: &From, made: &mut Expansion) {
        let mut records = std::mem::take(&mut made.records);
        // Of records with equal labels and states only the best is kept; among equal scores the
        // earliest.
        if !records.is_sorted_by(|a, b| a.key < b.key) {
            made.by_label.sort(&mut records);
            records.dedup_by_key(|record| record.key);
        }
        for group in records.chunk_by(|a, b| a.label() == b.label()) {
            match group {
                [only] => self.enter_single(from, only, made),
                _ => self.enter_open(from, group, made),
            }
            if made.bytes() > self.most_bytes {
                made.too_large = true;
                break;
            }
        }
        records.clear();
        made.records = records;
    }

    /// Adds an arc whose path is decided: it stands for the arcs since the base, and this one.
    fn enter_single(&self, from: &From, only: &Record, made: &mut Expansion) {
        self.list_path(from.base, only.before, &mut made.map);
        made.map.push(id(self.fsa.first_arc() + at(only.arc)));
        made.push(from, only.state().cast_signed(), only.label().cast_signed(), only.score);
    }

    fn enter_open(&self, from: &From, group: &[Record], made: &mut Expansion) {
        let begin = made.steps.len();
        let (base, base_state, base_score) = if from.base == NONE {
            made.steps.push(Step { state: from.single, before: NONE, arc: NONE, score: 0.0 });
            (NONE, from.single, 0.0)
        } else {
            let base = self.common_step(group, &mut made.walk);
            let Step { state, score, .. } = self.known.step(base);
            (base, state, score)
        };
        made.steps.extend(group.iter().map(|record| {
            let Record { score, before, arc, .. } = *record;
            Step { state: record.state(), before, arc, score }
        }));
        let undecided = group.iter().map(|record| record.score - base_score);
        let pushed = match self.weight_pushing {
            WeightPushing::No => 0.0,
            WeightPushing::Tropical => undecided.fold(f64::NEG_INFINITY, f64::max),
            WeightPushing::Log => undecided.fold(f64::NEG_INFINITY, log_add),
        };
        // If all paths score -inf, nothing can be pushed.
        let pushed = if pushed.is_finite() { pushed } else { 0.0 };
        self.list_path(from.base, base, &mut made.map);
        let mut hash = mix(mix(0, base_state.into()), group[0].label().into());
        let mut step = group[0].before;
        while step != base {
            let Step { before, arc, .. } = self.known.step(step);
            hash = mix(hash, self.fsa.arcs()[at(arc)].label.cast_unsigned().into());
            step = before;
        }
        let place = !id(made.open.len());
        made.open.push(Open { steps: begin..made.steps.len(), base, base_score, pushed, hash });
        made.push(from, place, group[0].label().cast_signed(), base_score + pushed);
    }

    /// Lists the arcs from step `base` to step `to`, which comes after it or is the same.
    fn list_path(&self, base: u32, to: u32, map: &mut Vec<i32>) {
        let begin = map.len();
        let mut step = to;
        while step != base {
            let Step { before, arc, .. } = self.known.step(step);
            map.push(id(self.fsa.first_arc() + at(arc)));
            step = before;
        }
        map[begin..].reverse();
    }

    /// Returns the last step that all of these came through.
    fn common_step(&self, group: &[Record], walk: &mut Vec<u32>) -> u32 {
        walk.clear();
        walk.extend(group.iter().map(|record| record.before));
        loop {
            walk.dedup();
            if walk.iter().all(|step| *step == walk[0]) {
                return walk[0];
            }
            walk.iter_mut().for_each(|step| *step = self.known.step(*step).before);
        }
    }
}

impl Expansion {
    /// Clears the results.
    fn begin(&mut self) {
        self.open.clear();
        self.steps.clear();
        self.infinite = false;
        self.too_large = false;
    }

    /// Returns the number of bytes of the lists, assuming that they have room for twice their
    /// length.
    pub(super) fn bytes(&self) -> usize {
        2 * (self.map.len() * size_of::<i32>()
            + self.arcs.len() * (size_of::<Arc>() + size_of::<i32>())
            + self.open.len() * size_of::<Open>()
            + self.steps.len() * size_of::<Step>())
    }

    /// Clears the lists and reserves room, enough in most cases for the given numbers of states and
    /// steps. Growing the lists bit by bit takes several times as long as filling them.
    fn begin_lists(&mut self, states: usize, steps: usize) {
        fn begin<T>(list: &mut Vec<T>, len: usize) {
            list.clear();
            list.reserve(len);
        }
        let arcs = states.max(steps);
        begin(&mut self.arcs, arcs);
        begin(&mut self.ends, states);
        begin(&mut self.map, 2 * arcs);
        begin(&mut self.map_ends, arcs);
        self.steps.reserve(steps);
        // A subset has two steps at least.
        self.open.reserve(steps / 2);
    }

    /// Adds an arc whose path has this score from the root on. The arcs that it stands for are in
    /// the lists.
    #[inline]
    fn push(&mut self, from: &From, dest_state: i32, label: i32, score: f64) {
        let score = score - from.base_score - from.pushed;
        // The difference of two scores that are -inf: the path was lost before.
        let score = if score.is_nan() { f32::NEG_INFINITY } else { narrow(score) };
        self.infinite |= score == f32::INFINITY;
        self.arcs.push(Arc { src_state: from.number, dest_state, label, score });
        self.map_ends.push(id(self.map.len()));
    }
}

/// Sorts records, by label first if labels are dense: a state that begins a list of words has as
/// many arcs as words.
#[derive(Debug, Default)]
struct ByLabel {
    sorted: Vec<Record>,
    places: Vec<usize>,
}

impl ByLabel {
    /// Fewer records are sorted by comparison.
    const FEW: usize = 48;

    /// Labels are dense if there are at most this many for each record.
    const DENSE: usize = 4;

    /// Sorts by key; of equal keys the best score comes first, of equal scores the earliest. Equal
    /// keys come in the order of steps and arcs.
    fn sort(&mut self, records: &mut Vec<Record>) {
        let mut sorted = std::mem::take(&mut self.sorted);
        let by_label = self.fill(&mut sorted, || records.iter().copied());
        self.sorted = std::mem::replace(records, sorted);
        if by_label {
            records.chunk_by_mut(|a, b| a.label() == b.label()).for_each(sort);
        } else {
            sort(records);
        }
    }

    /// Fills `sorted` with these records. Returns `true` if they are in the order of labels, which
    /// they are if that is faster than comparing.
    fn fill<R: Iterator<Item = Record>>(&mut self, sorted: &mut Vec<Record>, records: impl Fn() -> R) -> bool {
        sorted.clear();
        let (least, most, len) = records().fold((u32::MAX, 0, 0), |(least, most, len), record| {
            (least.min(record.label()), most.max(record.label()), len + 1)
        });
        if len < Self::FEW || at_most(most - least) > Self::DENSE * len {
            sorted.extend(records());
            return false;
        }
        let place_of = |record: &Record| at_most(record.label() - least);
        self.places.clear();
        self.places.resize(at_most(most - least) + 2, 0);
        records().for_each(|record| self.places[place_of(&record) + 1] += 1);
        let mut sum = 0;
        for place in &mut self.places {
            sum += *place;
            *place = sum;
        }
        sorted.resize(len, Record::default());
        for record in records() {
            let place = &mut self.places[place_of(&record)];
            sorted[*place] = record;
            *place += 1;
        }
        true
    }
}

fn at_most(label: u32) -> usize {
    usize::try_from(label).unwrap_or(usize::MAX)
}

fn sort(records: &mut [Record]) {
    if !records.is_sorted_by(|a, b| a.key < b.key) {
        records.sort_unstable_by(|a, b| {
            a.key.cmp(&b.key).then(b.score.total_cmp(&a.score)).then((a.before, a.arc).cmp(&(b.before, b.arc)))
        });
    }
}
