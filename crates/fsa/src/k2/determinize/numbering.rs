//! Numbering of the states of the result.

use kaldera_base::memory;

use crate::core::arc::{Arc, FINAL};
use crate::core::builder::{Lists, SortedFsaBuilder};
use crate::core::limits::{Limits, bytes_with};
use crate::core::view::FsaView;
use crate::error::{Error, Limited, Quantity};
use crate::k2::determinize::expansion::{Expansion, Open, STATES_AT_ONCE};
use crate::k2::determinize::subsets::{Packed, State, Step, Subset, Subsets, at};
use crate::support::ids::{NONE, id, index, narrow};
use crate::support::interner::Table;

/// The largest number of states unless another is given.
const MOST_STATES: usize = 1 << 24;

/// Builds the result. States are numbered in the order in which arcs lead to them.
pub(super) struct Numbering<'a> {
    fsa_index: usize,
    fsa: FsaView<'a>,
    /// Number of the next state, and the first number that is too large.
    next: i32,
    most: i32,
    limits: Limits,
    /// Number of each state of the FSA, or [`NONE`].
    single: Vec<u32>,
    table: Table,
    largest: usize,
    infinite: bool,
    /// Arcs into the final state, whose number is not known before the end.
    final_arcs: Vec<usize>,
    /// Subsets that are not yet known to the search for arcs. Their indexes count from the end of
    /// the known ones.
    new: Subsets,
    builder: SortedFsaBuilder,
    map: Lists,
}

impl<'a> Numbering<'a> {
    pub(super) fn new(fsa_index: usize, fsa: FsaView<'a>, limits: Limits) -> Self {
        let (num_states, num_arcs) = (fsa.num_states(), fsa.arcs().len());
        Self {
            fsa_index,
            fsa,
            next: 0,
            // The final state is one more.
            most: i32::try_from(limits.max_states.unwrap_or(MOST_STATES).saturating_sub(1)).unwrap_or(i32::MAX),
            limits,
            single: vec![NONE; num_states],
            table: Table::new(),
            largest: 1,
            infinite: false,
            final_arcs: vec![],
            new: Subsets::default(),
            // The result may be larger than the input.
            builder: SortedFsaBuilder {
                ends: Vec::with_capacity(num_states),
                arcs: memory::with_capacity(2 * num_arcs),
            },
            map: Lists::with_capacity(num_arcs),
        }
    }

    /// Adds the arcs that leave the next states, with the numbers of the states that they enter.
    pub(super) fn number(&mut self, known: &Subsets, expansion: &Expansion) -> Result<(), Error> {
        if expansion.too_large || self.bytes_with(known, expansion) > self.limits.bytes() {
            return Err(self.limit(known, State::Single(0), self.builder.arcs.len(), Limited::Bytes));
        }
        let (first_state, first_arc, first_place) =
            (id(self.builder.ends.len()), self.builder.arcs.len(), id(self.map.arcs.len()));
        let arcs = &expansion.arcs;
        // Appends everything at once: a call that may allocate for each arc is slow.
        Error::fit(Quantity::Arcs, self.builder.arcs.len() + arcs.len())?;
        if expansion.alone {
            let len = id(arcs.len());
            Error::fit(Quantity::ArcMapEntries, self.map.arcs.len() + arcs.len())?;
            self.builder.arcs.extend(arcs.iter().zip(first_state..).map(|(&arc, src_state)| Arc { src_state, ..arc }));
            self.builder.ends.extend(first_arc + 1..=first_arc + arcs.len());
            self.map.arcs.extend(arcs.iter().map(|arc| arc.src_state));
            self.map.splits.extend((0..len).map(|before| first_place + before + 1));
        } else {
            Error::fit(Quantity::ArcMapEntries, self.map.arcs.len() + expansion.map.len())?;
            self.builder.arcs.extend_from_slice(arcs);
            self.builder.ends.extend(expansion.ends.iter().map(|end| first_arc + end));
            self.map.arcs.extend_from_slice(&expansion.map);
            self.map.splits.extend(expansion.map_ends.iter().map(|end| first_place + end));
        }
        self.infinite |= expansion.infinite;
        let mut arcs = std::mem::take(&mut self.builder.arcs);
        let numbered = self.number_from(first_arc, &mut arcs, known, expansion);
        self.builder.arcs = arcs;
        numbered
    }

    /// Returns the number of bytes of the limit that are left for an expansion.
    pub(super) fn bytes_left(&self, known: &Subsets) -> usize {
        self.limits.bytes().saturating_sub(self.bytes_with(known, &Expansion::default()))
    }

    /// Returns the number of bytes of the result and the subsets, together with the expansion.
    fn bytes_with(&self, known: &Subsets, found: &Expansion) -> usize {
        let (arcs, steps, open) = (found.arcs.len(), found.steps.len(), found.open.len());
        let listed = if found.alone { arcs } else { found.map.len() };
        let of_known = bytes_with(&known.states, 0) + bytes_with(&known.open, 0) + bytes_with(&known.steps, 0);
        let of_new = bytes_with(&self.new.states, arcs)
            + bytes_with(&self.new.open, open)
            + bytes_with(&self.new.steps, 2 * steps);
        let of_result = bytes_with(&self.builder.arcs, arcs)
            + bytes_with(&self.builder.ends, STATES_AT_ONCE)
            + bytes_with(&self.map.splits, arcs)
            + bytes_with(&self.map.arcs, listed);
        of_result
            + self.single.len() * size_of::<u32>()
            + self.table.bytes_with(open)
            + of_known
            + of_new
            + found.bytes()
    }

    /// Numbers the states that arcs from index `first` on enter.
    fn number_from(
        &mut self,
        first: usize,
        arcs: &mut [Arc],
        known: &Subsets,
        expansion: &Expansion,
    ) -> Result<(), Error> {
        /// Number of arcs ahead for which the number of a state is prefetched.
        const AHEAD: usize = 16;

        self.new.states.reserve(arcs.len() - first);
        // The steps of the first state, which may be many, are in the buffer to which the steps of
        // the next states are appended.
        self.new.steps.reserve(2 * expansion.steps.len());
        for at_arc in first..arcs.len() {
            if let Some(next) = arcs.get(at_arc + AHEAD) {
                memory::prefetch(&self.single, usize::try_from(next.dest_state).unwrap_or(usize::MAX));
            }
            let Arc { dest_state, label, .. } = arcs[at_arc];
            arcs[at_arc].dest_state = match dest_state {
                _ if label == FINAL => {
                    self.final_arcs.push(at_arc);
                    -1
                }
                state if state >= 0 => self.single(known, state.cast_unsigned(), at_arc)?,
                open => self.open(known, expansion, &expansion.open[at((!open).cast_unsigned())], at_arc)?,
            };
        }
        Ok(())
    }

    /// Returns the number of a single state, which so many arcs precede.
    #[inline(always)]
    pub(super) fn single(&mut self, known: &Subsets, state: u32, arcs: usize) -> Result<i32, Error> {
        let found = self.single[at(state)];
        if found != NONE {
            return Ok(found.cast_signed());
        }
        let number = self.add(known, State::Single(state), arcs)?;
        self.single[at(state)] = number.cast_unsigned();
        Ok(number)
    }

    /// Returns the number of the subset with the same base and the same labels since, which has the
    /// same states and scores, or a new number.
    #[inline(never)]
    fn open(&mut self, known: &Subsets, expansion: &Expansion, open: &Open, arcs: usize) -> Result<i32, Error> {
        let steps = &expansion.steps[open.steps.clone()];
        let num_known = known.steps.len();
        let num_steps = |new: &Subsets| Error::fit(Quantity::OpenPaths, num_known + new.steps.len());
        let begin = num_steps(&self.new)?.cast_unsigned();
        self.new.steps.extend_from_slice(steps);
        let end = num_steps(&self.new)?.cast_unsigned();
        let (mut first, mut base) = (begin, open.base);
        if base == NONE {
            // The first step is the base of the others.
            (first, base) = (begin + 1, begin);
            self.new.steps[at(begin) - num_known + 1..].iter_mut().for_each(|step| step.before = begin);
        }
        self.largest = self.largest.max(at(end - first));
        let place = {
            let Self { table, new, fsa, .. } = self;
            let all = All { known, new, fsa: *fsa };
            let is_it = |place| {
                let found = all.subset(place);
                all.step(found.base).state == all.step(base).state
                    && all.labels(found.first, found.base).eq(all.labels(first, base))
            };
            let next = known.open.len() + new.open.len();
            table.find_or_insert(open.hash, is_it, next)
        };
        match place {
            Ok(place) => {
                self.new.steps.truncate(at(begin) - num_known);
                Ok(self.all(known).subset(place).number)
            }
            Err(place) => {
                let Open { base_score, pushed, .. } = *open;
                self.new.open.push(Subset { first, end, base, base_score, pushed, number: self.next });
                self.add(known, State::Open(place), arcs)
            }
        }
    }

    /// Assigns the next number to `state`; `arcs` arcs precede it.
    #[inline(always)]
    fn add(&mut self, known: &Subsets, state: State, arcs: usize) -> Result<i32, Error> {
        let number = self.next;
        if number >= self.most {
            return Err(self.limit(known, state, arcs, Limited::States));
        }
        self.next += 1;
        self.new.states.push(Packed::new(state));
        Ok(number)
    }

    /// Makes all new states known, and returns their number.
    ///
    /// # Errors
    /// [`Error::DeterminizeLimit`].
    pub(super) fn make_known(&mut self, known: &mut Subsets) -> Result<usize, Error> {
        if self.new.states.is_empty() {
            return Ok(0);
        }
        // Most subsets that result from a subset are smaller, and many are single states.
        let more = self.new.steps.len() / 4;
        let growth = |bytes: usize, grown: usize| grown.saturating_sub(bytes);
        let growth = growth(self.table.bytes_with(0), self.table.bytes_with(more))
            + growth(bytes_with(&known.open, 0), bytes_with(&known.open, self.new.open.len()))
            + growth(bytes_with(&known.steps, 0), bytes_with(&known.steps, self.new.steps.len()));
        if growth > self.bytes_left(known) {
            return Err(self.limit(known, State::Single(0), self.builder.arcs.len(), Limited::Bytes));
        }
        self.table.reserve(more);
        known.append(&mut self.new);
        Ok(known.states.len())
    }

    /// Returns the error for a state that exceeds a limit.
    #[cold]
    fn limit(&self, known: &Subsets, state: State, arcs: usize, limited: Limited) -> Error {
        let states = index(self.next) + 1;
        if let Err(too_large) = Error::fit(Quantity::States, states) {
            return too_large;
        }
        let (mut pending_labels, mut pending_score) = (0, 0.0);
        if let State::Open(place) = state {
            let all = self.all(known);
            let Subset { first, end, base, .. } = all.subset(place);
            let scores = (first..end).map(|step| all.step(step).score);
            pending_labels = all.labels(first, base).count();
            pending_score = scores.clone().fold(f64::NEG_INFINITY, f64::max) - scores.fold(f64::INFINITY, f64::min);
        }
        Error::DeterminizeLimit {
            fsa: self.fsa_index,
            limited,
            limit: match limited {
                Limited::Bytes => self.limits.bytes(),
                Limited::Arcs | Limited::States => self.limits.max_states.unwrap_or(MOST_STATES),
            },
            states,
            arcs,
            largest_subset: self.largest,
            pending_labels,
            pending_score: narrow(pending_score),
        }
    }

    fn all<'b>(&'b self, known: &'b Subsets) -> All<'b> {
        All { known, new: &self.new, fsa: self.fsa }
    }

    /// Returns the FSA and its arc map.
    ///
    /// # Errors
    /// [`Error::Score`].
    pub(super) fn finish(mut self) -> Result<(SortedFsaBuilder, Lists), Error> {
        if self.infinite {
            let arc = self.builder.arcs.iter().position(|arc| arc.score == f32::INFINITY).unwrap_or(0);
            return Err(Error::Score { arc, score: f32::INFINITY });
        }
        let last = Error::fit(Quantity::States, self.builder.ends.len())?;
        self.builder.end_state();
        self.final_arcs.iter().for_each(|&arc| self.builder.arcs[arc].dest_state = last);
        Ok((self.builder, self.map))
    }
}

/// The known subsets followed by the new ones.
struct All<'a> {
    known: &'a Subsets,
    new: &'a Subsets,
    fsa: FsaView<'a>,
}

impl<'a> All<'a> {
    fn step(&self, number: u32) -> Step {
        match at(number).checked_sub(self.known.steps.len()) {
            None => self.known.steps[at(number)],
            Some(place) => self.new.steps[place],
        }
    }

    fn subset(&self, place: u32) -> Subset {
        match at(place).checked_sub(self.known.open.len()) {
            None => self.known.open[at(place)],
            Some(place) => self.new.open[place],
        }
    }

    /// Returns the labels behind step `base` up to step `first`, from the last to the first; they
    /// are the same on all open paths of a subset.
    fn labels(&'a self, first: u32, base: u32) -> impl Iterator<Item = i32> + 'a {
        let mut number = first;
        std::iter::from_fn(move || {
            (number != base).then(|| {
                let Step { before, arc, .. } = self.step(number);
                number = before;
                self.fsa.arcs()[at(arc)].label
            })
        })
    }
}
