//! Determinization that keeps the best path of each word sequence, within a beam.
//!
//! The subset construction of D. Povey et al., *Generating exact lattices in the WFST framework*,
//! 2012: a state of the result is a set of states of the input, each with the pending score and
//! input labels. Both are normalized: the best score and the common prefix of the labels go to the
//! arcs before. Arcs are made in the order of the best path that they are on, so that the beam, or
//! the limit of memory, cuts off the worst.

use std::cmp::Ordering;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{BuildHasher, Hash, Hasher};

use kaldera_base::setters;

use crate::core::arc::FINAL;
use crate::core::each_fsa::for_each;
use crate::core::limits::Limits;
use crate::error::{Error, Limited, Operation, Quantity};
use crate::lattice::builder::LatticeBuilder;
use crate::lattice::container::Lattice;
use crate::lattice::prune::check_beam;
use crate::lattice::trie::{EMPTY, Trie};
use crate::lattice::utterance::Utterance;
use crate::support::ids::{id, index, narrow, number};

/// Options of the determinization of lattices. The defaults are Kaldi's.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "DeterminizeLatticePrunedOptions")]
pub struct DeterminizeOptions {
    /// Word sequences whose score is more than this below the best are left out; may be infinite.
    pub beam: f32,
    /// Pending scores that differ by no more are taken as equal.
    pub delta: f32,
    /// Compare pending scores by the sums of both. Lattices have fewer states then, and paths keep
    /// their sums; but a path may get another path's division between graph and network. `false`
    /// unless set.
    pub compare_sums: bool,
    /// Remove paths beyond the beam from the sets of states, too. Without it, sets are equal more
    /// often, whatever it costs to come to them, so that lattices have fewer states, and more
    /// combinations of words beyond the beam. `true` unless set.
    pub prune_sets: bool,
    /// If a limit ends the work below this share of the beam, the work is repeated with a smaller
    /// beam.
    pub retry_cutoff: f32,
    /// Limits for one lattice; 50 MB by default. Reaching a limit narrows the beam and is not an
    /// error.
    pub limits: Limits,
    /// The largest number of arcs; reaching it narrows the beam.
    pub max_arcs: Option<usize>,
}

impl Default for DeterminizeOptions {
    fn default() -> Self {
        Self {
            beam: 10.0,
            delta: 1.0 / 1024.0,
            compare_sums: false,
            prune_sets: true,
            retry_cutoff: 0.5,
            limits: Limits::default(),
            max_arcs: None,
        }
    }
}

setters! {
    DeterminizeOptions:
    beam, with_beam: f32, "With this beam.";
    delta, with_delta: f32, "With this difference of pending scores.";
    compare_sums, with_compare_sums: bool, "With or without a comparison of sums only.";
    prune_sets, with_prune_sets: bool, "With or without pruning of the sets of states.";
    retry_cutoff, with_retry_cutoff: f32, "With this share of the beam.";
    limits, with_limits: Limits, "With these limits.";
}

impl DeterminizeOptions {
    /// Returns options with which lattices have the states of Kaldi's: `compare_sums`, and no
    /// `prune_sets`.
    pub fn kaldi() -> Self {
        Self { compare_sums: true, prune_sets: false, ..Self::default() }
    }

    /// Sets the largest number of arcs.
    #[must_use]
    pub fn with_max_arcs(mut self, max_arcs: impl Into<Option<usize>>) -> Self {
        self.max_arcs = max_arcs.into();
        self
    }
}

/// Largest number of repeats with another beam.
const MOST_TRIES: usize = 6;
/// No beam is tried between two beams whose ratio is above this.
const NEAR: f32 = 0.9;

impl Lattice {
    /// Determinizes lattices: a state has at most one arc for a word and none without a word, so a
    /// word sequence has one path, with the scores and the alignment of its best path. Word
    /// sequences below the beam are left out, unless they share arcs with others. A sequence that
    /// stays has a path of the input, but its best path may have been left out. The second result
    /// is the beam of each lattice: smaller than requested if a limit was reached.
    ///
    /// # Errors
    /// [`Error::Beam`]; [`Error::Limit`] if a limit leaves not even the best path;
    /// [`Error::TooLarge`].
    #[doc(alias = "DeterminizeLatticePruned")]
    pub fn determinize(&self, options: &DeterminizeOptions) -> Result<(Self, Vec<f32>), Error> {
        check_beam(options.beam)?;
        let made = for_each(self.fsas(), |i, _| determinize_one(self, i, options))?;
        let lattices: Vec<_> = made.iter().map(|(lattice, _)| lattice).collect();
        Ok((Self::cat(&lattices)?, made.iter().map(|&(_, beam)| beam).collect()))
    }
}

fn determinize_one(lattices: &Lattice, i: usize, options: &DeterminizeOptions) -> Result<(Lattice, f32), Error> {
    let whole = lattices.utterance(i);
    let mut run = Run::new(whole, options.beam, options);
    let reached = run.run()?;
    let mut found = (run.pruned(reached)?, reached);
    // If a limit ended the work below the share `retry_cutoff` of the beam, a smaller beam gets
    // further: one between the widest beam reached so far and the smallest beam that was not.
    let (mut beam, mut last) = (options.beam, reached);
    let (mut lower, mut upper) = (reached, if beam.is_finite() { beam } else { run.spread() });
    for _ in 0..MOST_TRIES {
        let cut_off_late = last < beam && last >= beam * options.retry_cutoff;
        if found.1 == options.beam || cut_off_late || lower >= upper * NEAR {
            break;
        }
        beam = (lower.max(upper / 1024.0) * upper).sqrt();
        let narrowed = lattices.get(i)?.prune(beam)?;
        let mut run = Run::new(narrowed.utterance(0), beam, options);
        last = run.run()?;
        if last > found.1 {
            found = (run.pruned(last)?, last);
        }
        (lower, upper) = (lower.max(last), if last < beam { beam } else { upper });
    }
    // Without the best path the limit leaves nothing to return.
    if found.0.fsas().num_states() == 0 && run.best > f64::NEG_INFINITY {
        return Err(run.limit());
    }
    Ok(found)
}

/// A state of the input with the string and scores pending on the way to it.
#[derive(Debug, Clone, Copy)]
struct Element {
    state: u32,
    string: u32,
    graph: f64,
    acoustic: f64,
}

impl Element {
    fn score(&self) -> f64 {
        self.graph + self.acoustic
    }
}

/// A state of the result.
struct State {
    /// Only elements of states that arcs with words, or arcs into the final state, leave.
    elements: Box<[Element]>,
    arcs: Vec<OutArc>,
}

struct OutArc {
    word: i32,
    dest: u32,
    string: u32,
    graph: f64,
    acoustic: f64,
}

/// A set before its epsilons are followed, with its state and the string and scores of the arc.
struct Known {
    elements: Box<[Element]>,
    dest: u32,
    string: u32,
    graph: f64,
    acoustic: f64,
}

/// An arc of the result that is to be made.
struct Task {
    /// Score of the best path over it.
    priority: f64,
    /// Among equal priorities, smaller numbers come first.
    number: usize,
    state: u32,
    word: i32,
    /// Best score to `state`.
    forward: f64,
    elements: Box<[Element]>,
}

impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Task {}

impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Task {
    fn cmp(&self, other: &Self) -> Ordering {
        self.priority.total_cmp(&other.priority).then(other.number.cmp(&self.number))
    }
}

/// Kinds of arcs that leave a state of the input.
#[derive(Clone, Copy)]
struct Kind {
    /// `true` if there are arcs without a word.
    silent: bool,
    /// `true` if there are arcs with a word, or into the final state.
    loud: bool,
}

struct Run<'a> {
    input: Utterance<'a>,
    kinds: Vec<Kind>,
    backward: Vec<f64>,
    best: f64,
    beam: f32,
    delta: f64,
    compare_sums: bool,
    prune_sets: bool,
    max_bytes: usize,
    max_states: usize,
    max_arcs: usize,
    trie: Trie,
    states: Vec<State>,
    num_arcs: usize,
    num_tasks: usize,
    tasks: BinaryHeap<Task>,
    /// Number of elements of states, tasks and tables, for the limit.
    num_elements: usize,
    hasher: RandomState,
    initial: HashMap<u64, Vec<Known>>,
    minimal: HashMap<u64, Vec<u32>>,
}

impl<'a> Run<'a> {
    fn new(input: Utterance<'a>, beam: f32, options: &DeterminizeOptions) -> Self {
        /// Kaldi's `--max-mem`.
        const MAX_BYTES: usize = 50_000_000;
        let backward = input.best_backward();
        let kind = |state| {
            let arcs = input.fsa.arcs_of(state);
            Kind { silent: arcs.iter().any(|arc| arc.label == 0), loud: arcs.iter().any(|arc| arc.label != 0) }
        };
        let kinds = (0..input.fsa.num_states()).map(kind).collect();
        let best = backward.first().copied().unwrap_or(f64::NEG_INFINITY);
        Self {
            input,
            kinds,
            best,
            backward,
            beam,
            delta: f64::from(options.delta),
            compare_sums: options.compare_sums,
            prune_sets: options.prune_sets,
            max_bytes: options.limits.max_bytes.unwrap_or(MAX_BYTES),
            max_states: options.limits.states(),
            max_arcs: options.max_arcs.unwrap_or(usize::MAX),
            trie: Trie::new(),
            states: Vec::new(),
            num_arcs: 0,
            num_tasks: 0,
            tasks: BinaryHeap::new(),
            num_elements: 0,
            hasher: RandomState::new(),
            initial: HashMap::new(),
            minimal: HashMap::new(),
        }
    }

    fn bytes(&self) -> usize {
        self.trie.bytes()
            + self.num_elements * size_of::<Element>()
            + self.states.len() * size_of::<State>()
            + self.num_arcs * (size_of::<OutArc>() + size_of::<Known>())
            + self.tasks.len() * size_of::<Task>()
    }

    /// Returns the error for the limit that keeps even the best path from being finished.
    fn limit(&self) -> Error {
        let (limited, limit, needed) = if self.states.len() > self.max_states {
            (Limited::States, self.max_states, self.states.len())
        } else if self.num_arcs >= self.max_arcs {
            (Limited::Arcs, self.max_arcs, self.num_arcs + 1)
        } else {
            (Limited::Bytes, self.max_bytes, self.bytes())
        };
        let (states, arcs) = (self.states.len(), self.num_arcs);
        Error::Limit { operation: Operation::LatticeDeterminize, limited, limit, needed, states, arcs }
    }

    /// Makes the arcs within the beam; returns the beam that was reached.
    fn run(&mut self) -> Result<f32, Error> {
        if self.best == f64::NEG_INFINITY {
            return Ok(self.beam);
        }
        let start = Element { state: 0, string: EMPTY, graph: 0.0, acoustic: 0.0 };
        let elements = self.follow_epsilons(&[start], 0.0)?;
        self.add_state(elements, 0.0)?;
        while let Some(task) = self.tasks.pop() {
            if self.bytes() > self.max_bytes || self.states.len() > self.max_states || self.num_arcs >= self.max_arcs {
                let reached = narrow(self.best - task.priority);
                if reached < self.beam {
                    return Ok(reached.max(0.0));
                }
            }
            self.num_elements -= task.elements.len();
            self.make_arc(task)?;
        }
        Ok(self.beam)
    }

    /// Returns `true` if a path of this score is within the beam.
    fn keeps(&self, score: f64) -> bool {
        score > f64::NEG_INFINITY && score >= self.best - f64::from(self.beam) - 1e-9 * self.best.abs().max(1.0)
    }

    fn make_arc(&mut self, task: Task) -> Result<(), Error> {
        let Task { state, word, forward, elements, .. } = task;
        let arc = if word == FINAL {
            let Element { string, graph, acoustic, .. } = elements[0];
            OutArc { word, dest: u32::MAX, string, graph, acoustic }
        } else {
            let mut elements = elements;
            let common = self.normalize(&mut elements)?;
            let forward = forward + common.score();
            let known = match self.find_initial(&elements) {
                Some(known) => known,
                None => self.add_initial(elements, forward)?,
            };
            OutArc {
                word,
                dest: known.state,
                // The common prefix comes first.
                string: self.trie.concat(common.string, known.string)?,
                graph: common.graph + known.graph,
                acoustic: common.acoustic + known.acoustic,
            }
        };
        self.states[state as usize].arcs.push(arc);
        self.num_arcs += 1;
        Ok(())
    }

    /// Removes the best score and the common prefix from all elements; returns them as an element.
    fn normalize(&mut self, elements: &mut [Element]) -> Result<Element, Error> {
        let mut common = elements[0];
        for element in &elements[1..] {
            if better(element, &common) {
                (common.graph, common.acoustic) = (element.graph, element.acoustic);
            }
            common.string = self.trie.common_prefix(common.string, element.string);
        }
        let length = self.trie.len(common.string);
        for element in elements {
            element.graph -= common.graph;
            element.acoustic -= common.acoustic;
            element.string = self.trie.behind(element.string, length)?;
        }
        Ok(common)
    }

    fn hash(&self, elements: &[Element]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        for element in elements {
            (element.state, element.string).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns `true` if both have the same states and strings, and nearly the same scores.
    fn same(&self, a: &[Element], b: &[Element]) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= self.delta;
        let equal = |a: &Element, b: &Element| {
            if self.compare_sums {
                near(a.score(), b.score())
            } else {
                near(a.graph, b.graph) && near(a.acoustic, b.acoustic)
            }
        };
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a.state, a.string) == (b.state, b.string) && equal(a, b))
    }

    /// Returns the state, and the string and scores of the arc, as an element.
    fn find_initial(&self, elements: &[Element]) -> Option<Element> {
        let candidates = self.initial.get(&self.hash(elements))?;
        let known = candidates.iter().find(|known| self.same(&known.elements, elements))?;
        Some(Element { state: known.dest, string: known.string, graph: known.graph, acoustic: known.acoustic })
    }

    /// Follows the epsilons of a new set and finds or makes its state.
    fn add_initial(&mut self, elements: Box<[Element]>, forward: f64) -> Result<Element, Error> {
        let mut closed = self.follow_epsilons(&elements, forward)?;
        let common = self.normalize(&mut closed)?;
        let hash = self.hash(&closed);
        let found = self.minimal.get(&hash).and_then(|candidates| {
            candidates.iter().copied().find(|&state| self.same(&self.states[state as usize].elements, &closed))
        });
        let dest = match found {
            Some(state) => state,
            None => self.add_state(closed, forward + common.score())?,
        };
        let Element { string, graph, acoustic, .. } = common;
        self.num_elements += elements.len();
        let hash = self.hash(&elements);
        self.initial.entry(hash).or_default().push(Known { elements, dest, string, graph, acoustic });
        Ok(Element { state: dest, string, graph, acoustic })
    }

    /// Returns the states that epsilons reach within the beam and that other arcs leave. There is
    /// at least one.
    fn follow_epsilons(&mut self, elements: &[Element], forward: f64) -> Result<Box<[Element]>, Error> {
        let closed = self.closure(elements, forward, self.prune_sets)?;
        // If a set is exactly on the edge of the beam, rounding may leave nothing.
        if closed.is_empty() { self.closure(elements, forward, false) } else { Ok(closed) }
    }

    fn closure(&mut self, elements: &[Element], forward: f64, prunes: bool) -> Result<Box<[Element]>, Error> {
        if !elements.iter().any(|element| self.kinds[element.state as usize].silent) {
            return Ok(elements.iter().copied().filter(|element| self.kinds[element.state as usize].loud).collect());
        }
        let mut closed: BTreeMap<u32, Element> = elements.iter().map(|element| (element.state, *element)).collect();
        let mut next = closed.first_key_value().map(|(&state, _)| state);
        // Arcs go to later states, so that each is left once.
        while let Some(state) = next {
            let element = closed[&state];
            for arc in self.input.fsa.arc_range(state as usize) {
                let dest = self.input.arc(arc).states().1;
                if self.input.arc(arc).label != 0 || self.backward[dest] == f64::NEG_INFINITY {
                    continue;
                }
                let score = forward + element.score() + self.input.score(arc) + self.backward[dest];
                if prunes && !self.keeps(score) {
                    continue;
                }
                let to = self.step(&element, arc)?;
                if closed.get(&to.state).is_none_or(|old| self.is_better(&to, old)) {
                    closed.insert(to.state, to);
                }
            }
            next = closed.range(state + 1..).next().map(|(&state, _)| state);
        }
        Ok(closed.into_values().filter(|element| self.kinds[element.state as usize].loud).collect())
    }

    /// Returns the element behind an arc of the input.
    fn step(&mut self, element: &Element, arc: usize) -> Result<Element, Error> {
        Ok(Element {
            state: number(index(self.input.arc(arc).dest_state)),
            string: self.trie.extend(element.string, self.input.alignment(arc))?,
            graph: element.graph + self.input.graph(arc),
            acoustic: element.acoustic + self.input.acoustic(arc),
        })
    }

    /// Returns `true` if `a` is better than `b`: by score, then by graph score, then by the shorter
    /// alignment, then by the order of alignments.
    fn is_better(&self, a: &Element, b: &Element) -> bool {
        if a.score() != b.score() || a.graph != b.graph {
            return better(a, b);
        }
        self.trie.compare(a.string, b.string) == Ordering::Less
    }

    /// Adds a state of the result, with the tasks of its arcs.
    fn add_state(&mut self, elements: Box<[Element]>, forward: f64) -> Result<u32, Error> {
        let state = number(index(Error::fit(Quantity::States, self.states.len())?));
        let mut ways = Vec::new();
        for element in &elements {
            for arc in self.input.fsa.arc_range(element.state as usize) {
                let word = self.input.arc(arc).label;
                let dest = self.input.arc(arc).states().1;
                let best = forward + element.score() + self.input.score(arc) + self.backward[dest];
                let stays = if self.prune_sets { self.keeps(best) } else { best > f64::NEG_INFINITY };
                if word != 0 && stays {
                    ways.push((word, self.step(element, arc)?));
                }
            }
        }
        ways.sort_by(|(a_word, a), (b_word, b)| {
            (a_word, a.state).cmp(&(b_word, b.state)).then_with(|| {
                if self.is_better(a, b) {
                    Ordering::Less
                } else if self.is_better(b, a) {
                    Ordering::Greater
                } else {
                    Ordering::Equal
                }
            })
        });
        ways.dedup_by_key(|(word, element)| (*word, element.state));
        for group in ways.chunk_by(|(a, _), (b, _)| a == b) {
            let elements: Box<[_]> = group.iter().map(|(_, element)| *element).collect();
            let rest = |element: &Element| element.score() + self.backward[element.state as usize];
            let priority = forward + elements.iter().map(rest).fold(f64::NEG_INFINITY, f64::max);
            if !self.keeps(priority) {
                continue;
            }
            self.num_elements += elements.len();
            let word = group[0].0;
            self.tasks.push(Task { priority, number: self.num_tasks, state, word, forward, elements });
            self.num_tasks += 1;
        }
        self.num_elements += elements.len();
        let hash = self.hash(&elements);
        self.minimal.entry(hash).or_default().push(state);
        self.states.push(State { elements, arcs: Vec::new() });
        Ok(state)
    }

    /// Returns the difference of the best path and the worst one.
    fn spread(&self) -> f32 {
        let mut worst = vec![f64::INFINITY; self.input.fsa.num_states()];
        if let Some(end) = worst.last_mut() {
            *end = 0.0;
        }
        for (i, arc) in self.input.fsa.arcs().iter().enumerate().rev() {
            let ((from, to), score) = (arc.states(), self.input.score(i));
            if score > f64::NEG_INFINITY && self.backward[to] > f64::NEG_INFINITY {
                worst[from] = worst[from].min(score + worst[to]);
            }
        }
        narrow(self.best - worst.first().copied().unwrap_or(self.best))
    }

    /// Returns the lattice built so far, pruned with a beam.
    fn pruned(&self, beam: f32) -> Result<Lattice, Error> {
        self.lattice()?.connect()?.prune(beam)
    }

    /// Returns the lattice built so far. Some states may be dead ends.
    fn lattice(&self) -> Result<Lattice, Error> {
        let mut builder = LatticeBuilder::new();
        self.states.iter().for_each(|_| {
            builder.add_state();
        });
        for (from, state) in self.states.iter().enumerate() {
            for arc in &state.arcs {
                let (graph, acoustic) = (narrow(arc.graph), narrow(arc.acoustic));
                let labels = self.trie.labels(arc.string);
                if arc.word == FINAL {
                    builder.add_final(id(from), graph, acoustic, &labels);
                } else {
                    builder.add_arc(id(from), id(arc.dest as usize), arc.word, graph, acoustic, &labels);
                }
            }
        }
        builder.build()
    }
}

/// Compares by score, then by graph score.
fn better(a: &Element, b: &Element) -> bool {
    a.score() > b.score() || (a.score() == b.score() && a.graph > b.graph)
}
