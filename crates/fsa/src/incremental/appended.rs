//! The lattice of the stretches so far, to which the next one is appended.
//!
//! ```text
//!   the lattice so far            the next stretch
//!
//!   0 --> 1 --> 2 - - token 7     start --state 2--> 2' --> ... --> n - - token 9
//!           \-> 3 - - token 8           \-state 3--> 3' -->
//! ```
//!
//! A stretch ends in the tokens of its last frame: each is the label of an arc into a final state.
//! These arcs are stored apart. The states from which they leave, and the states behind these, are
//! determinized again with the next stretch, in which the tokens are the states where the frames go
//! on. An arc of its start has the label of such a state, so that the result says which state of
//! the lattice it continues. Costs of the paths before and behind a stretch guide its pruning, and
//! are subtracted afterwards.

use std::collections::{BTreeSet, HashMap};

use crate::core::arc::EPSILON;
use crate::error::Error;
use crate::incremental::chunk::{Chunk, ChunkState, Weight};
use crate::lattice::{Lattice, LatticeBuilder};
use crate::support::ids::id;

/// Labels of states begin here, above all words, and labels of tokens at [`FIRST_TOKEN`].
pub(super) const FIRST_STATE: i32 = 100_000_000;
/// The label of the first token.
pub(super) const FIRST_TOKEN: i32 = 200_000_000;
/// Labels of tokens end here.
const END_TOKEN: i32 = 300_000_000;

/// A state of the lattice.
#[derive(Debug, Clone, Default)]
struct State {
    arcs: Vec<Arc>,
    end: Option<Weight>,
    /// Arcs into this state: the state that each leaves and its place there. Some may have been
    /// replaced.
    entering: Vec<(usize, usize)>,
    /// Cost of the best path from the start.
    forward: f32,
}

#[derive(Debug, Clone)]
struct Arc {
    word: i32,
    weight: Weight,
    dest: usize,
}

/// An arc into a token of the last frame.
#[derive(Debug, Clone)]
struct TokenArc {
    source: usize,
    token: i32,
    weight: Weight,
}

/// The lattice so far.
#[derive(Debug, Clone, Default)]
#[doc(alias = "LatticeIncrementalDeterminizer")]
pub(super) struct Appended {
    states: Vec<State>,
    ends: Vec<TokenArc>,
    /// States that are determinized again with the next stretch.
    open: BTreeSet<usize>,
}

impl Appended {
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.ends.clear();
        self.open.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Returns `true` if a path may end in the start.
    pub(super) fn ends_at_start(&self) -> bool {
        self.states.first().is_some_and(|start| start.end.is_some())
    }

    /// Returns the next stretch with the states that are determinized again, and its state for each
    /// token.
    #[doc(alias = "InitializeRawLatticeChunk")]
    pub(super) fn begin_chunk(&mut self) -> (Chunk, HashMap<i32, usize>) {
        let mut chunk = Chunk::default();
        let start = chunk.add_state();
        let of_state: HashMap<usize, usize> = self.open.iter().map(|&state| (state, chunk.add_state())).collect();
        for (&state, &from) in self.open.iter().map(|state| (state, &of_state[state])) {
            for arc in std::mem::take(&mut self.states[state].arcs) {
                // All states behind an open one are open.
                if let Some(&to) = of_state.get(&arc.dest) {
                    chunk.add_chain((from, to), arc.word, &arc.weight);
                }
            }
            self.states[state].end = None;
        }
        let mut of_token = HashMap::new();
        for TokenArc { source, token, weight } in &self.ends {
            let Some(&from) = of_state.get(source) else { continue };
            let to = *of_token.entry(*token).or_insert_with(|| chunk.add_state());
            chunk.add_chain((from, to), EPSILON, weight);
        }
        for state in &self.open {
            let label = FIRST_STATE.saturating_add(id(*state));
            chunk.add_arc((start, of_state[state]), EPSILON, label, (self.states[*state].forward, 0.0));
        }
        (chunk, of_token)
    }

    /// Appends a determinized stretch. `ends` has the costs of the tokens in which it ends, by
    /// which it was pruned.
    #[doc(alias = "AcceptRawLatticeChunk")]
    pub(super) fn append(&mut self, chunk: &[ChunkState], ends: &HashMap<i32, f32>) {
        if chunk.is_empty() {
            self.clear();
            return;
        }
        // The state of the lattice for each state of the stretch.
        let mut state_of = vec![None; chunk.len()];
        for (_, _, dest) in chunk.iter().flat_map(|state| &state.arcs).filter(|(word, ..)| is_token(*word)) {
            state_of[*dest] = Some(TOKEN);
        }
        let is_first = self.connect(&chunk[0], &mut state_of);
        for &state in &self.open {
            self.states[state].arcs.clear();
            self.states[state].end = None;
        }
        self.ends.clear();
        let first = usize::from(!is_first);
        for state in state_of.iter_mut().skip(first).filter(|state| state.is_none()) {
            *state = Some(self.states.len());
            self.states.push(State { forward: f32::INFINITY, ..State::default() });
        }
        if is_first && let Some(start) = self.states.first_mut() {
            start.forward = 0.0;
        }
        for (state, &number) in chunk.iter().zip(&state_of).skip(first) {
            let Some(from) = number.filter(|&number| number != TOKEN) else { continue };
            self.states[from].end.clone_from(&state.end);
            for (word, weight, dest) in &state.arcs {
                match state_of[*dest] {
                    Some(TOKEN) => {
                        let end = chunk[*dest].end.clone().unwrap_or_default();
                        let old = ends.get(word).copied().unwrap_or(0.0);
                        let weight = weight.then(&end).with_graph(-old);
                        self.ends.push(TokenArc { source: from, token: *word, weight });
                    }
                    Some(dest) => self.add_arc(from, *word, weight, dest),
                    None => {}
                }
            }
        }
        self.find_open();
    }

    /// Finds the states of the lattice for the states behind the start of a stretch; returns `true`
    /// if it is the first stretch.
    #[doc(alias = "ProcessArcsFromChunkStartState")]
    fn connect(&mut self, start: &ChunkState, state_of: &mut [Option<usize>]) -> bool {
        for (word, weight, dest) in &start.arcs {
            let state = usize::try_from(word - FIRST_STATE).ok();
            let Some(state) = state.filter(|&state| state < self.states.len()) else { return true };
            // Two states may turn out to be one. Then arcs into the second one enter the first one.
            let to = *state_of[*dest].get_or_insert(state);
            let extra = weight.clone().with_graph(-self.states[state].forward);
            self.states[state].forward = f32::INFINITY;
            for (source, place) in std::mem::take(&mut self.states[state].entering) {
                let before = self.states[source].forward;
                let Some(arc) = self.states[source].arcs.get_mut(place).filter(|arc| arc.dest == state) else {
                    continue;
                };
                arc.dest = to;
                arc.weight = arc.weight.then(&extra);
                let forward = before + arc.weight.cost();
                let known = &mut self.states[to];
                known.forward = known.forward.min(forward);
                known.entering.push((source, place));
            }
        }
        false
    }

    fn add_arc(&mut self, source: usize, word: i32, weight: &Weight, dest: usize) {
        let forward = self.states[source].forward + weight.cost();
        if forward == f32::INFINITY {
            return;
        }
        let place = self.states[source].arcs.len();
        self.states[source].arcs.push(Arc { word, weight: weight.clone(), dest });
        let to = &mut self.states[dest];
        to.entering.push((source, place));
        to.forward = to.forward.min(forward);
    }

    #[doc(alias = "GetNonFinalRedetStates")]
    fn find_open(&mut self) {
        let is_reached = |end: &&TokenArc| self.states[end.source].forward < f32::INFINITY;
        self.open = self.ends.iter().filter(is_reached).map(|end| end.source).collect();
        let mut queue: Vec<_> = self.open.iter().copied().collect();
        while let Some(state) = queue.pop() {
            for arc in &self.states[state].arcs {
                if self.open.insert(arc.dest) {
                    queue.push(arc.dest);
                }
            }
        }
    }

    /// Sets the weights of paths that end in the tokens of the last frame; `cost` returns the cost
    /// of ending in a token.
    #[doc(alias = "SetFinalCosts")]
    pub(super) fn set_ends(&mut self, cost: impl Fn(i32) -> f32) {
        for end in &self.ends {
            self.states[end.source].end = None;
        }
        for end in &self.ends {
            let cost = cost(end.token);
            if cost == f32::INFINITY {
                continue;
            }
            let weight = end.weight.clone().with_graph(cost);
            let known = &mut self.states[end.source].end;
            if known.as_ref().is_none_or(|known| weight.cost() < known.cost()) {
                *known = Some(weight);
            }
        }
    }

    /// Returns the lattice, without states that are on no path.
    pub(super) fn lattice(&self) -> Result<Lattice, Error> {
        let mut builder = LatticeBuilder::new();
        self.states.iter().for_each(|_| {
            builder.add_state();
        });
        for (state, from) in self.states.iter().zip(0..) {
            for Arc { word, weight, dest } in &state.arcs {
                let Weight { graph, acoustic, labels } = weight;
                builder.add_arc(from, id(*dest), *word, 0.0 - graph, 0.0 - acoustic, labels);
            }
            if let Some(Weight { graph, acoustic, labels }) = &state.end {
                builder.add_final(from, 0.0 - graph, 0.0 - acoustic, labels);
            }
        }
        builder.build()?.connect()
    }
}

/// Marks a state of a stretch that stands for a token of the last frame.
const TOKEN: usize = usize::MAX;

fn is_token(label: i32) -> bool {
    (FIRST_TOKEN..END_TOKEN).contains(&label)
}
