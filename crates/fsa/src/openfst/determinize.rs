//! Weighted determinization of acceptors and of transducers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kaldera_base::setters;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::core::limits::{Limits, bytes_with};
use crate::core::semiring::Semiring;
use crate::core::view::FsaView;
use crate::error::{Error, Operation, Quantity};
use crate::openfst::element::Element;
use crate::openfst::epsilon_closure::{Closure, Obstacle};
use crate::openfst::factor::{Rest, factor};
use crate::openfst::machine::{Built, Machine, map_each};
use crate::openfst::strings::{EMPTY, Strings};
use crate::openfst::trim::trim;
use crate::paths::distance::{Direction, distances_of_one};
use crate::support::ids::{NONE, Ordered, index, narrow, number};
use crate::support::interner::SliceInterner;

/// Options of [`determinize`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct DeterminizeOptions {
    /// Residual scores are rounded to multiples of this, so that states with equal futures can be
    /// recognised. Default: OpenFst's 1/1024.
    pub delta: f32,
    /// If a transducer outputs different strings for the same input, keep the one with the best
    /// score instead of returning an error.
    pub disambiguate: bool,
    /// Treat arcs with label 0 as epsilons, and remove them, as Kaldi's `fstdeterminizestar` does.
    /// Otherwise 0 is a symbol like others.
    pub remove_epsilons: bool,
    /// Leave out states and arcs that lie on no path whose score is within this beam of the best
    /// one; `None` keeps everything.
    #[doc(alias = "weight_threshold")]
    pub beam: Option<f32>,
    /// Score of a string: its best path, or the sum of all its paths. The sum cannot be combined
    /// with a beam, removal of epsilons or disambiguation.
    pub semiring: Semiring,
    /// The largest size of one FSA of the result, with its subsets; by default half of the memory,
    /// and as many states as an i32 counts.
    pub limits: Limits,
}

impl Default for DeterminizeOptions {
    fn default() -> Self {
        Self {
            delta: 1.0 / 1024.0,
            disambiguate: false,
            remove_epsilons: false,
            beam: None,
            semiring: Semiring::Tropical,
            limits: Limits::default(),
        }
    }
}

setters! {
    DeterminizeOptions:
    delta, with_delta: f32, "With scores left behind that are rounded to multiples of `delta`.";
    disambiguate, with_disambiguate: bool, "With disambiguation.";
    remove_epsilons, with_remove_epsilons: bool, "With arcs with label 0 removed.";
    semiring, with_semiring: Semiring, "In this semiring.";
    limits, with_limits: Limits, "With these limits.";
}

impl DeterminizeOptions {
    /// Sets the beam.
    #[must_use]
    pub fn with_beam(mut self, beam: f32) -> Self {
        self.beam = Some(beam);
        self
    }
}

/// Builds equivalent FSAs in which no two arcs of a state have the same label. Each string has one
/// path, with the best score of its paths in the input.
///
/// The output labels of a transducer (ints under [`AUX_LABELS`](crate::AUX_LABELS)) come as early
/// as they are certain, one on an arc. Labels left over when the input ends follow on arcs with
/// label 0. Other attributes are rejected, as an arc of the result stands for several. States that
/// do not lead to the final state are not removed. Epsilons are symbols like others.
///
/// With [`remove_epsilons`](DeterminizeOptions::remove_epsilons), epsilons are not symbols: the
/// result has the strings without them, and no dead ends. All output labels come as early as they
/// are certain: labels that do not fit on one arc follow on arcs with label 0, each the only arc of
/// its state. ([`epsilon_normalize`](crate::openfst::epsilon_normalize()) moves these to the end,
/// if possible.) As Kaldi's `DeterminizeStar`, but smaller: states that only arcs with label 0
/// leave do not count when subsets are compared.
///
/// Without it, as OpenFst's `Determinize` with its quantisation, state by state. The result is
/// exponential in the worst case and, for some cyclic FSAs and for transducers that are not
/// functional, infinite; hence the limits. Time and memory are proportional to the subsets of
/// states.
///
/// ```
/// use fsa::{Arc, Fsa, Graph};
/// use fsa::openfst::{DeterminizeOptions, determinize};
///
/// let two_ways = [
///     Arc::new(0, 1, 7, -1.0),
///     Arc::new(0, 2, 7, -3.0),
///     Arc::new(1, 3, -1, 0.0),
///     Arc::new(2, 2, 8, 0.0),
///     Arc::new(2, 3, -1, 0.0)
/// ];
/// let fsa = Graph::new(Fsa::from_arcs(4, two_ways.to_vec())?);
/// let made = determinize(&fsa, &DeterminizeOptions::default())?;
/// assert_eq!(made.fsas().arcs()[0], Arc::new(0, 1, 7, -1.0));
/// assert_eq!(made.fsas().num_states(), 4);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotFunctional`]; [`Error::DeterminizeLimit`] if it reached a limit;
/// [`Error::LostAttribute`]; [`Error::Attribute`] if the output labels are lists; with a beam or
/// with epsilons removed, [`Error::EndlessCycle`]; [`Error::LogSemiring`].
#[doc(alias = "fstdeterminize")]
#[doc(alias = "determinizestar")]
pub fn determinize<F: Fsas>(graph: &Graph<F>, options: &DeterminizeOptions) -> Result<Graph<F>, Error> {
    map_each(graph, |fsa, machine| determinize_one(fsa, machine, options))
}

/// Determinizes one FSA.
pub(super) fn determinize_one(fsa: usize, machine: Machine<'_>, options: &DeterminizeOptions) -> Result<Built, Error> {
    let takes_the_best = options.beam.is_some() || options.remove_epsilons || options.disambiguate;
    if options.semiring == Semiring::Log && takes_the_best {
        return Err(Error::LogSemiring { operation: Operation::DeterminizePruned });
    }
    let mut strings = Strings::new();
    let (builder, outputs) = if options.remove_epsilons {
        without_epsilons(fsa, machine, options, &mut strings)?
    } else {
        determinize_parts(fsa, machine, options, &mut strings)?
    };
    let rest = if options.remove_epsilons { Rest::AtOnce } else { Rest::Waits };
    match machine.aux {
        None => Ok(Built { builder, aux: None }),
        Some(_) => factor(builder, outputs, &mut strings, rest, (Operation::Determinize, options.limits)),
    }
}

/// Runs [`determinize_parts`] for options that remove epsilons: epsilons and output labels on paths
/// that lead nowhere must not make the rest seem endless, or not functional.
pub(super) fn without_epsilons(
    fsa: usize,
    machine: Machine<'_>,
    options: &DeterminizeOptions,
    strings: &mut Strings,
) -> Result<(SortedFsaBuilder, Vec<u32>), Error> {
    let trimmed = trim(machine.fsa);
    if trimmed.builder.ends.is_empty() {
        return Ok(Default::default());
    }
    let splits = trimmed.builder.splits()?;
    let outputs: Vec<_> = trimmed.sources.iter().map(|&arc| machine.output(arc as usize)).collect();
    let useful = Machine { fsa: FsaView::new(&splits, &trimmed.builder.arcs), aux: machine.aux.map(|_| &outputs[..]) };
    determinize_parts(fsa, useful, options, strings).map_err(|error| trimmed.name_state(machine.fsa, error))
}

/// Runs [`determinize`] on one FSA; the result has a string for each arc if it is a transducer.
pub(super) fn determinize_parts(
    fsa: usize,
    machine: Machine<'_>,
    options: &DeterminizeOptions,
    strings: &mut Strings,
) -> Result<(SortedFsaBuilder, Vec<u32>), Error> {
    let Some(last) = machine.fsa.final_state() else { return Ok(Default::default()) };
    let beam = match options.beam {
        None => None,
        Some(beam) => Some(Beam::new(fsa, machine, beam)?),
    };
    let mut work = Determinizer {
        fsa,
        machine,
        options,
        last: number(last),
        strings,
        subsets: Subsets::new(last + 1),
        builder: SortedFsaBuilder::default(),
        outputs: Vec::new(),
        records: Vec::new(),
        group: Vec::new(),
        largest: 1,
        closure: options.remove_epsilons.then(|| Closure::new(fsa, machine, options.disambiguate)),
        beam,
    };
    work.run()?;
    Ok((work.builder, work.outputs))
}

/// An arc out of a subset, before arcs with the same label are merged.
#[derive(Debug, Clone, Copy)]
struct Record {
    label: i32,
    to: Element,
}

impl Record {
    /// Returns a key that orders labels as [`Arc::sort_key`] does, so that the result is
    /// arc-sorted.
    #[inline]
    fn key(&self) -> u64 {
        (u64::from(self.label.cast_unsigned()) << 32) | u64::from(self.to.state)
    }
}

/// The subsets found so far: they are the states of the result.
struct Subsets {
    subsets: SliceInterner<Element>,
    /// For each state of the input, the subset of only this state with no residual: most subsets of
    /// a lexicon.
    alone: Vec<u32>,
}

impl Subsets {
    fn new(num_states: usize) -> Self {
        Self { subsets: SliceInterner::new(), alone: vec![NONE; num_states] }
    }

    /// Returns the number of a subset, and `true` if it is new.
    #[inline]
    fn number(&mut self, subset: &[Element]) -> (u32, bool) {
        let [Element { state, string: EMPTY, cost: 0.0 }] = *subset else { return self.subsets.number(subset) };
        let alone = &mut self.alone[state as usize];
        let is_new = *alone == NONE;
        if is_new {
            *alone = self.subsets.push(subset);
        }
        (*alone, is_new)
    }

    /// Returns the number of bytes with `more` subsets that have so many elements.
    fn bytes_with(&self, more: usize, elements: usize) -> usize {
        self.subsets.bytes_with(more, elements) + self.alone.len() * size_of::<u32>()
    }
}

struct Determinizer<'a> {
    fsa: usize,
    machine: Machine<'a>,
    options: &'a DeterminizeOptions,
    /// The final state of the input.
    last: u32,
    strings: &'a mut Strings,
    subsets: Subsets,
    builder: SortedFsaBuilder,
    /// The output string of each arc, if it is a transducer.
    outputs: Vec<u32>,
    records: Vec<Record>,
    group: Vec<Element>,
    largest: usize,
    /// The closure, if epsilons are removed.
    closure: Option<Closure<'a>>,
    beam: Option<Beam>,
}

impl Determinizer<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let mut start = vec![Element { state: 0, string: EMPTY, cost: 0.0 }];
        self.close(EPSILON, &mut start)?;
        self.subsets.number(&start);
        if self.beam.is_some() {
            self.run_best_first()?
        } else {
            self.run_in_order()?
        }
        Ok(())
    }

    /// Expands each subset in turn; the final one, which nothing leaves, is put last.
    fn run_in_order(&mut self) -> Result<(), Error> {
        let mut next = 0;
        while next < self.subsets.subsets.len() {
            self.expand(next)?;
            self.builder.end_state();
            next += 1;
        }
        let order: Vec<_> = (0..number(self.subsets.subsets.len())).collect();
        self.put_final_last(&order)
    }

    /// Adds the arcs out of a subset.
    fn expand(&mut self, subset: usize) -> Result<(), Error> {
        self.gather(subset);
        self.check_limits()?;
        let records = std::mem::take(&mut self.records);
        let mut rest = &records[..];
        while let Some(first) = rest.first() {
            let length = rest.iter().take_while(|record| record.label == first.label).count();
            let (group, behind) = rest.split_at(length);
            self.arc(subset, group)?;
            rest = behind;
        }
        self.records = records;
        Ok(())
    }

    /// Gathers the arcs out of all members, sorted by label and state.
    fn gather(&mut self, subset: usize) {
        let Self { machine, subsets, strings, records, closure, .. } = self;
        records.clear();
        for &Element { state, string, cost } in subsets.subsets.get(number(subset)) {
            for arc in machine.fsa.arc_range(state as usize) {
                let Arc { dest_state, label, score, .. } = machine.fsa.arcs()[arc];
                let cost = (cost - score).max(f32::MIN);
                if cost < f32::INFINITY && (label != EPSILON || closure.is_none()) {
                    let string =
                        if machine.aux.is_some() { strings.append(string, machine.output(arc)) } else { string };
                    records.push(Record { label, to: Element { state: dest_state.cast_unsigned(), string, cost } });
                }
            }
        }
        if !records.is_sorted_by(|a, b| a.key() < b.key()) {
            records.sort_unstable_by(|a, b| {
                let string = |record: &Record| record.to.string;
                (a.key().cmp(&b.key())).then(a.to.cost.total_cmp(&b.to.cost)).then(string(a).cmp(&string(b)))
            });
        }
    }

    /// Builds the arc for all records of one label, which are sorted by state and then by cost.
    fn arc(&mut self, from: usize, records: &[Record]) -> Result<(), Error> {
        let mut group = std::mem::take(&mut self.group);
        group.clear();
        let label = records[0].label;
        for Record { to, .. } in records {
            match group.last_mut().filter(|before: &&mut Element| before.state == to.state) {
                None => group.push(*to),
                // The costs rise: the element before is not worse.
                Some(before) if before.string != to.string && !self.options.disambiguate => {
                    return Err(self.not_functional(label, before.string, to.string));
                }
                Some(before) => before.cost = self.options.semiring.add_costs(before.cost, to.cost),
            }
        }
        if label != FINAL {
            self.close(label, &mut group)?;
        }
        if !group.is_empty() {
            self.arc_to(from, label, &mut group)?;
        }
        self.group = group;
        Ok(())
    }

    /// Follows epsilons, if they are to be removed.
    fn close(&mut self, label: i32, group: &mut Vec<Element>) -> Result<(), Error> {
        let Some(closure) = &mut self.closure else { return Ok(()) };
        closure.close(group, self.strings).map_err(|obstacle| match obstacle {
            Obstacle::Strings(first, second) => self.not_functional(label, first, second),
            Obstacle::Cycle(error) => error,
        })
    }

    /// Returns the common next output of all members: all of it if epsilons are removed, otherwise
    /// one label at most.
    fn common_output(&mut self, group: &[Element]) -> u32 {
        let first = group[0].string;
        if self.closure.is_some() {
            return group[1..].iter().fold(first, |common, element| self.strings.common_prefix(common, element.string));
        }
        let Some((label, _)) = self.strings.split(first) else { return EMPTY };
        let same = |element: &Element| self.strings.split(element.string).is_some_and(|(other, _)| other == label);
        if group[1..].iter().all(same) { self.strings.cons(label, EMPTY) } else { EMPTY }
    }

    /// Adds the arc to a subset, with the output and the cost that its members have in common.
    fn arc_to(&mut self, from: usize, label: i32, group: &mut [Element]) -> Result<(), Error> {
        let together = |cost, element: &Element| self.options.semiring.add_costs(cost, element.cost);
        let cost = group.iter().fold(f32::INFINITY, together);
        let mut string = EMPTY;
        if label == FINAL {
            // All of it, as there is no later arc.
            (string, group[0].string) = (group[0].string, EMPTY);
        } else if self.machine.aux.is_some() {
            string = self.common_output(group);
            group.iter_mut().for_each(|element| element.string = self.strings.behind(element.string, string));
        }
        for element in &mut *group {
            element.cost = quantize(element.cost - cost, self.options.delta);
        }
        if self.beam.as_ref().is_none_or(|beam| beam.keeps(from, cost, group)) {
            self.largest = self.largest.max(group.len());
            let (to, new) = self.subsets.number(group);
            if let Some(beam) = &mut self.beam {
                beam.reach(from, cost, to, new, group);
            }
            let [src, dest] = [from, to as usize].map(|state| Error::fit(Quantity::States, state));
            self.builder.arcs.push(Arc::new(src?, dest?, label, 0.0 - cost));
            if self.machine.aux.is_some() {
                self.outputs.push(string);
            }
        }
        Ok(())
    }

    /// Renumbers the states by `order`, the order of their arcs, with the final one last; it is
    /// added if there is none.
    fn put_final_last(&mut self, order: &[u32]) -> Result<(), Error> {
        let the_final = self.subsets.alone[self.last as usize];
        let mut new = vec![NONE; self.subsets.subsets.len()];
        let others = order.iter().filter(|&&state| state != the_final);
        others.clone().zip(0..).for_each(|(&state, place)| new[state as usize] = place);
        let num_others = others.count();
        if the_final != NONE {
            new[the_final as usize] = number(num_others);
        }
        Error::fit(Quantity::States, num_others)?;
        for arc in &mut self.builder.arcs {
            for state in [&mut arc.src_state, &mut arc.dest_state] {
                *state = new[index(*state)].cast_signed();
            }
        }
        // It has no arcs, so that its end is one of two equal ones.
        if let Some(place) = order.iter().position(|&state| state == the_final) {
            self.builder.ends.remove(place);
        }
        self.builder.end_state();
        Ok(())
    }

    /// Checks that the expansion of the records stays within the limits: an arc to a subset for
    /// each label, and at most one string for each member.
    fn check_limits(&self) -> Result<(), Error> {
        let states = self.subsets.subsets.len();
        let (elements, more) = (self.records.len(), self.records.chunk_by(|a, b| a.label == b.label).count());
        let bytes = self.subsets.bytes_with(more, elements)
            + self.strings.bytes_with(elements)
            + bytes_with(&self.records, 0)
            + bytes_with(&self.builder.arcs, more)
            + bytes_with(&self.builder.ends, 1)
            + bytes_with(&self.outputs, more);
        let limits = self.options.limits;
        let Err(Error::Limit { limited, limit, .. }) =
            limits.check(Operation::Determinize, bytes, states, self.builder.arcs.len())
        else {
            return Ok(());
        };
        let newest = self.subsets.subsets.get(number(states - 1));
        Err(Error::DeterminizeLimit {
            fsa: self.fsa,
            limited,
            limit,
            states,
            arcs: self.builder.arcs.len(),
            largest_subset: self.largest,
            pending_labels: newest.iter().map(|element| self.strings.labels(element.string).count()).max().unwrap_or(0),
            pending_score: newest.iter().map(|element| element.cost).fold(0.0, f32::max),
        })
    }

    fn not_functional(&self, label: i32, first: u32, second: u32) -> Error {
        let of = |string| self.strings.labels(string).take(MOST_LABELS_SHOWN).collect();
        Error::NotFunctional { fsa: self.fsa, label, first: of(first), second: of(second) }
    }
}

/// Number of labels that is enough to recognize the string in a message.
const MOST_LABELS_SHOWN: usize = 16;

/// Returns the nearest multiple of `delta`, as OpenFst rounds.
#[inline]
pub(super) fn quantize(cost: f32, delta: f32) -> f32 {
    let rounded = (cost / delta + 0.5).floor() * delta;
    // Minus zero becomes plus zero; a cost that is too large to be rounded stays.
    if rounded.is_finite() { rounded + 0.0 } else { cost }
}

/// Data for pruning against the best path. Subsets are reached in the order of their best paths.
struct Beam {
    /// Costs from each state of the input to its final state.
    to_final: Vec<f32>,
    /// Cost of the longest path to be kept.
    limit: f32,
    /// Best known cost from the start to each subset.
    from_start: Vec<f32>,
    /// Costs of the best paths through pending subsets.
    queue: BinaryHeap<Reverse<(Ordered, u32)>>,
}

impl Beam {
    fn new(fsa: usize, machine: Machine<'_>, beam: f32) -> Result<Self, Error> {
        let scores = distances_of_one(fsa, machine.fsa, Semiring::Tropical, Direction::ToFinal)?;
        let to_final: Vec<_> = scores.into_iter().map(|score| narrow(0.0 - score).max(f32::MIN)).collect();
        let limit = to_final.first().copied().unwrap_or(f32::INFINITY) + beam.max(0.0);
        Ok(Self { to_final, limit, from_start: vec![0.0], queue: BinaryHeap::from([Reverse((Ordered(0.0), 0))]) })
    }

    fn ahead(&self, group: &[Element]) -> f32 {
        let costs = group.iter().map(|element| element.cost + self.to_final[element.state as usize]);
        costs.fold(f32::INFINITY, f32::min)
    }

    fn keeps(&self, from: usize, cost: f32, group: &[Element]) -> bool {
        self.from_start[from] + cost + self.ahead(group) <= self.limit
    }

    fn reach(&mut self, from: usize, cost: f32, to: u32, new: bool, group: &[Element]) {
        let so_far = self.from_start[from] + cost;
        if new {
            self.from_start.push(f32::INFINITY);
        }
        if so_far < self.from_start[to as usize] {
            self.from_start[to as usize] = so_far;
            self.queue.push(Reverse((Ordered(so_far + self.ahead(group)), to)));
        }
    }
}

impl Determinizer<'_> {
    /// The subset with the best path through it first, so that this path is known when its arcs are
    /// looked at.
    fn run_best_first(&mut self) -> Result<(), Error> {
        let (mut done, mut order) = (Vec::new(), Vec::new());
        while let Some(Reverse((_, subset))) = self.beam.as_mut().and_then(|beam| beam.queue.pop()) {
            let subset = subset as usize;
            done.resize(self.subsets.subsets.len(), false);
            if !std::mem::replace(&mut done[subset], true) {
                self.expand(subset)?;
                self.builder.end_state();
                order.push(number(subset));
            }
        }
        self.put_final_last(&order)
    }
}
