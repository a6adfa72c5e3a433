//! Rescoring that expands the most promising paths first, and stops.
//!
//! The search is the one of Kaldi's `ComposeCompactLatticePruned`: a state of the result is a state
//! of the lattice and one of the model; it waits in a queue with the cost of the best path that its
//! next arc is expected to be on. This is the cost of its way from the start, the cost from the
//! lattice's state to the end in the lattice, the next arc's share of that, and a correction for
//! the model: the difference of the costs to the end in the result and in the lattice, known for
//! states from which the end was reached, and otherwise taken from the state before on the best
//! way. Until the first path reaches the end, deeper states come first. Whenever the result has
//! grown by a factor, costs are computed again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use kaldera_base::setters;

use crate::core::arc::{EPSILON, FINAL};
use crate::core::limits::Limits;
use crate::error::{Error, Operation};
use crate::lattice::builder::LatticeBuilder;
use crate::lattice::container::Lattice;
use crate::lattice::prune::check_beam;
use crate::lattice::rescore::LanguageModel;
use crate::lattice::utterance::Utterance;
use crate::support::ids::{Ordered, id, narrow, number};

/// Options of pruned rescoring. The defaults are Kaldi's.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "ComposeLatticePrunedOptions")]
pub struct PrunedRescoreOptions {
    /// An arc is not expanded if its best path is expected to be worse than the best one by more.
    pub beam: f32,
    /// The largest number of arcs that are expanded, once a path has reached the end.
    pub max_arcs: usize,
    /// Growth of the number of arcs between two computations of the expected costs; by one arc at
    /// least.
    pub growth_ratio: f32,
    /// Limits for one lattice.
    pub limits: Limits,
}

setters! {
    PrunedRescoreOptions:
    beam, with_beam: f32 = 6.0, "With this beam.";
    max_arcs, with_max_arcs: usize = 100_000, "With this largest number of arcs.";
    growth_ratio, with_growth_ratio: f32 = 1.5, "With this growth between computations of costs.";
    limits, with_limits: Limits = Limits::default(), "With these limits.";
}

/// Number of arcs that are expanded before costs are computed for the second time.
const FIRST_ARCS: usize = 100;
/// Share of a state's depth in its expected cost before a path has reached the end.
const DEPTH_BONUS: f32 = -1000.0;

impl Lattice {
    /// Adds the scores of a language model to the graph scores, as [`rescore`](Self::rescore), but
    /// only to the most promising paths. The model is the difference of the new one and the one
    /// with which the lattices were made, such as [`CombinedModels`](super::CombinedModels), and
    /// acoustic scores have their scale already. The beam is a beam of expected scores: paths
    /// within it may be missing.
    ///
    /// # Errors
    /// [`Error::Beam`], [`Error::Limit`], [`Error::TooLarge`].
    #[doc(alias = "lattice-lmrescore-pruned")]
    #[doc(alias = "ComposeCompactLatticePruned")]
    pub fn rescore_pruned<M: LanguageModel>(&self, model: &M, options: &PrunedRescoreOptions) -> Result<Self, Error> {
        check_beam(options.beam)?;
        // Every state must reach the end.
        let connected = self.connect()?;
        let lattices: Result<Vec<_>, _> = (0..self.num_lattices())
            .map(|i| match Search::new(connected.utterance(i), model, *options) {
                Some(search) => search.run(),
                None => LatticeBuilder::new().build(),
            })
            .collect();
        Self::cat(&lattices?.iter().collect::<Vec<_>>())
    }
}

/// A way out of a state of the lattice.
#[derive(Clone, Copy)]
struct Exit {
    /// Cost to the end on this way, above the cost of the state's best way.
    above_best: f32,
    arc: usize,
}

/// A state of the result.
struct State<S> {
    lattice: usize,
    model: S,
    /// Number of arcs from the start.
    depth: u32,
    /// Cost from the start.
    forward: f64,
    /// Cost to the end, infinite if the end was not reached.
    backward: f64,
    /// Correction of the lattice's cost to the end.
    correction: f32,
    /// The state before on the best way.
    before: u32,
    /// Number of exits of the lattice's state that were expanded.
    expanded: usize,
    arcs: Vec<OutArc>,
    ends: Vec<OutArc>,
}

/// An arc of the result.
struct OutArc {
    of_lattice: usize,
    dest: u32,
    graph: f32,
    cost: f64,
}

struct Search<'a, M: LanguageModel> {
    input: Utterance<'a>,
    last: usize,
    model: &'a M,
    options: PrunedRescoreOptions,
    /// For each state of the lattice its cost to the end, and its exits from the best down.
    backward: Vec<f64>,
    exits: Vec<Vec<Exit>>,
    states: Vec<State<M::State>>,
    pairs: HashMap<(usize, M::State), u32>,
    /// The states of the result at each state of the lattice that has any, which is a topological
    /// order.
    at_lattice: BTreeMap<usize, Vec<u32>>,
    /// Expected costs, above the best one of the lattice, with their states.
    queue: BinaryHeap<Reverse<(Ordered, u32)>>,
    num_arcs: usize,
    best: f64,
    cutoff: f32,
    depth_bonus: f32,
}

impl<'a, M: LanguageModel> Search<'a, M> {
    /// Returns `None` if the lattice has no path.
    fn new(input: Utterance<'a>, model: &'a M, options: PrunedRescoreOptions) -> Option<Self> {
        let last = input.fsa.final_state()?;
        let mut backward = vec![f64::INFINITY; input.fsa.num_states()];
        backward[last] = 0.0;
        let mut exits = vec![Vec::new(); last];
        for state in (0..last).rev() {
            // Costs are in single precision here, which decides ties.
            let cost = |arc: usize| narrow(backward[input.arc(arc).states().1] - input.score(arc));
            let mut arcs: Vec<_> = input.fsa.arc_range(state).map(|arc| (cost(arc), arc)).collect();
            arcs.retain(|(cost, _)| *cost < f32::INFINITY);
            // Of equal ways the end comes first.
            let key = |arc: usize| (input.arc(arc).label != FINAL, arc);
            arcs.sort_by(|(a, arc), (b, other)| a.total_cmp(b).then(key(*arc).cmp(&key(*other))));
            let Some(&(best, _)) = arcs.first() else { continue };
            backward[state] = best.into();
            exits[state] = arcs.into_iter().map(|(cost, arc)| Exit { above_best: cost - best, arc }).collect();
        }
        if backward.first() == Some(&f64::INFINITY) {
            return None;
        }
        let start = State {
            lattice: 0,
            model: model.start(),
            depth: 0,
            forward: 0.0,
            backward: f64::INFINITY,
            correction: 0.0,
            before: 0,
            expanded: 0,
            arcs: Vec::new(),
            ends: Vec::new(),
        };
        Some(Self {
            input,
            last,
            model,
            options,
            backward,
            exits,
            pairs: HashMap::from([((0, start.model), 0)]),
            states: vec![start],
            at_lattice: BTreeMap::from([(0, vec![0])]),
            queue: BinaryHeap::new(),
            num_arcs: 0,
            best: f64::INFINITY,
            cutoff: f32::INFINITY,
            depth_bonus: DEPTH_BONUS,
        })
    }

    fn run(mut self) -> Result<Lattice, Error> {
        while self.best == f64::INFINITY || self.num_arcs < self.options.max_arcs {
            self.compute_costs();
            let most = self.next_limit();
            while self.num_arcs < most {
                let Some(Reverse((_, state))) = self.queue.pop() else { break };
                self.expand(state as usize)?;
            }
            if self.queue.is_empty() {
                break;
            }
        }
        self.lattice()
    }

    /// Returns the number of arcs at which costs are computed again.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of arcs, and never exact")]
    #[expect(clippy::cast_precision_loss, reason = "a number of arcs, and never exact")]
    fn next_limit(&self) -> usize {
        if self.num_arcs == 0 {
            return FIRST_ARCS;
        }
        let grown = (self.num_arcs as f32 * self.options.growth_ratio) as usize;
        let grown = grown.max(self.num_arcs + 1);
        if self.best.is_finite() { grown.min(self.options.max_arcs) } else { grown }
    }

    /// Computes the costs of all states, and fills the queue.
    fn compute_costs(&mut self) {
        let order: Vec<u32> = self.at_lattice.values().flatten().copied().collect();
        for state in &mut self.states[1..] {
            state.forward = f64::INFINITY;
        }
        for &from in &order {
            let arcs = std::mem::take(&mut self.states[from as usize].arcs);
            let (forward, depth) = (self.states[from as usize].forward, self.states[from as usize].depth);
            for arc in &arcs {
                let state = &mut self.states[arc.dest as usize];
                if state.forward > forward + arc.cost {
                    (state.forward, state.before, state.depth) = (forward + arc.cost, from, depth + 1);
                }
            }
            self.states[from as usize].arcs = arcs;
        }
        for &at in order.iter().rev() {
            let state = &self.states[at as usize];
            let ends = state.ends.iter().map(|end| end.cost);
            let arcs = state.arcs.iter().map(|arc| arc.cost + self.states[arc.dest as usize].backward);
            self.states[at as usize].backward = ends.chain(arcs).fold(f64::INFINITY, f64::min);
        }
        self.best = self.states[0].backward;
        self.cutoff = narrow(self.best - self.backward[0] + f64::from(self.options.beam));
        for &at in &order {
            let state = &self.states[at as usize];
            let own = state.backward - self.backward[state.lattice];
            self.states[at as usize].correction = if own.is_finite() {
                #[expect(clippy::cast_precision_loss, reason = "a number of arcs")]
                let bonus = state.depth as f32 * self.depth_bonus;
                narrow(own + f64::from(bonus))
            } else if at == 0 {
                0.0
            } else {
                self.states[state.before as usize].correction + self.depth_bonus
            };
        }
        self.queue.clear();
        for at in order {
            self.enqueue(at);
        }
    }

    /// Puts a state into the queue if its next exit is within the beam.
    fn enqueue(&mut self, at: u32) {
        let state = &self.states[at as usize];
        let Some(exit) = self.exits[state.lattice].get(state.expanded) else { return };
        let expected =
            state.forward + self.backward[state.lattice] + f64::from(state.correction) + f64::from(exit.above_best)
                - self.backward[0];
        let expected = narrow(expected);
        if expected < self.cutoff {
            self.queue.push(Reverse((Ordered(expected), at)));
        }
    }

    /// Expands the next exit of a state.
    fn expand(&mut self, at: usize) -> Result<(), Error> {
        let (lattice, context) = (self.states[at].lattice, self.states[at].model);
        let Some(&Exit { arc, .. }) = self.exits[lattice].get(self.states[at].expanded) else { return Ok(()) };
        self.states[at].expanded += 1;
        self.enqueue(number(at));
        let (word, to) = (self.input.arc(arc).label, self.input.arc(arc).states().1);
        let (old, acoustic) = (self.input.graph(arc), self.input.acoustic(arc));
        let out = |dest: u32, score: f64| {
            let graph = narrow(old + score);
            OutArc { of_lattice: arc, dest, graph, cost: -(f64::from(graph) + acoustic) }
        };
        if to == self.last {
            if let Some(score) = self.model.end(context) {
                let end = out(0, score);
                self.states[at].backward = self.states[at].backward.min(end.cost);
                self.states[at].ends.push(end);
                if self.depth_bonus != 0.0 {
                    self.depth_bonus = 0.0;
                    self.compute_costs();
                }
            }
            return Ok(());
        }
        let step = if word == EPSILON { Some((context, 0.0)) } else { self.model.step(context, word) };
        let Some((next, score)) = step else { return Ok(()) };
        let new = number(self.states.len());
        let dest = *self.pairs.entry((to, next)).or_insert(new);
        let arc = out(dest, score);
        if dest == new {
            let source = &self.states[at];
            let depth = source.depth + 1;
            #[expect(clippy::cast_precision_loss, reason = "a number of arcs")]
            let bonus = depth as f32 * self.depth_bonus;
            let state = State {
                lattice: to,
                model: next,
                depth,
                forward: source.forward + arc.cost,
                backward: f64::INFINITY,
                correction: source.correction + bonus,
                before: number(at),
                expanded: 0,
                arcs: Vec::new(),
                ends: Vec::new(),
            };
            self.states.push(state);
            self.at_lattice.entry(to).or_default().push(new);
            self.enqueue(new);
            let (states, arcs) = (self.states.len(), self.num_arcs);
            let per_state = size_of::<State<M::State>>() + 3 * size_of::<(usize, M::State)>();
            let bytes = states * per_state + arcs * (2 * size_of::<OutArc>() + 64);
            self.options.limits.check(Operation::LatticeRescore, bytes, states, arcs)?;
        }
        self.states[at].arcs.push(arc);
        self.num_arcs += 1;
        Ok(())
    }

    fn lattice(&self) -> Result<Lattice, Error> {
        let mut builder = LatticeBuilder::new();
        self.states.iter().for_each(|_| {
            builder.add_state();
        });
        for (from, state) in self.states.iter().enumerate() {
            let data = |arc: usize| (self.input.scores(arc).1, self.input.alignment(arc));
            for arc in &state.arcs {
                let (acoustic, alignment) = data(arc.of_lattice);
                let word = self.input.arc(arc.of_lattice).label;
                builder.add_arc(id(from), id(arc.dest as usize), word, arc.graph, acoustic, alignment);
            }
            for end in &state.ends {
                let (acoustic, alignment) = data(end.of_lattice);
                builder.add_final(id(from), end.graph, acoustic, alignment);
            }
        }
        builder.build()?.connect()
    }
}
