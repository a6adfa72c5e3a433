//! The determinization of a stretch of frames.
//!
//! As in Kaldi, this is done twice: first with the phones as words of their own, which keeps the
//! pending strings short, then without them. The words of each path stay the same. But the second
//! pass sees another automaton than the tokens were, so that the result may have fewer states.

use crate::core::arc::{EPSILON, FINAL};
use crate::error::Error;
use crate::incremental::labels::TransitionLabels;
use crate::incremental::options::IncrementalOptions;
use crate::lattice::{DeterminizeOptions, Lattice, LatticeBuilder};
use crate::support::ids::{id, index};

/// The states and arcs of a stretch before it is determinized.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    num_states: usize,
    pub(super) start: usize,
    arcs: Vec<RawArc>,
    /// Final states with the cost of ending.
    finals: Vec<(usize, f32)>,
}

#[derive(Debug, Clone, Copy)]
struct RawArc {
    source: usize,
    dest: usize,
    /// The transition identifier, or 0.
    label: i32,
    word: i32,
    graph: f32,
    acoustic: f32,
}

/// Costs and transition identifiers of an arc of a lattice.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Weight {
    pub(super) graph: f32,
    pub(super) acoustic: f32,
    pub(super) labels: Vec<i32>,
}

impl Weight {
    /// Returns the cost.
    pub(super) fn cost(&self) -> f32 {
        crate::support::ids::narrow(f64::from(self.graph) + f64::from(self.acoustic))
    }

    /// Returns the weight of this path and the one behind it.
    pub(super) fn then(&self, other: &Self) -> Self {
        let labels = [&self.labels[..], &other.labels].concat();
        Self { graph: self.graph + other.graph, acoustic: self.acoustic + other.acoustic, labels }
    }

    /// Adds to the graph cost.
    pub(super) fn with_graph(mut self, cost: f32) -> Self {
        self.graph += cost;
        self
    }
}

/// A state of a determinized stretch.
#[derive(Debug, Clone, Default)]
pub(super) struct ChunkState {
    /// Words, weights and destinations.
    pub(super) arcs: Vec<(i32, Weight, usize)>,
    pub(super) end: Option<Weight>,
}

impl Chunk {
    pub(super) fn add_state(&mut self) -> usize {
        self.num_states += 1;
        self.num_states - 1
    }

    pub(super) fn add_arc(&mut self, (source, dest): (usize, usize), label: i32, word: i32, costs: (f32, f32)) {
        self.arcs.push(RawArc { source, dest, label, word, graph: costs.0, acoustic: costs.1 });
    }

    /// Adds an arc with several identifiers, as a chain; the word and the costs are on its first
    /// arc.
    pub(super) fn add_chain(&mut self, (source, dest): (usize, usize), word: i32, weight: &Weight) {
        let costs = (weight.graph, weight.acoustic);
        let Some((&first, others)) = weight.labels.split_first() else {
            return self.add_arc((source, dest), EPSILON, word, costs);
        };
        let (mut from, mut label, mut word, mut costs) = (source, first, word, costs);
        for &next in others {
            let to = self.add_state();
            self.add_arc((from, to), label, word, costs);
            (from, label, word, costs) = (to, next, EPSILON, (0.0, 0.0));
        }
        self.add_arc((from, dest), label, word, costs);
    }

    pub(super) fn add_final(&mut self, state: usize, cost: f32) {
        self.finals.push((state, cost));
    }

    /// Returns the determinized stretch: its states in topological order, the start first.
    ///
    /// # Errors
    /// [`Error::Cycle`] for arcs without identifiers that form a cycle; [`Error::Limit`];
    /// [`Error::TooLarge`].
    pub(super) fn determinize(
        &self,
        labels: &TransitionLabels,
        options: &IncrementalOptions,
    ) -> Result<Vec<ChunkState>, Error> {
        if self.num_states == 0 {
            return Ok(Vec::new());
        }
        let determinize = DeterminizeOptions::kaldi().with_beam(options.lattice_beam);
        let (lattice, first_phone) = self.with_phones(labels)?;
        let (lattice, _) = lattice.determinize(&determinize)?;
        let (lattice, _) = without_phones(&lattice, first_phone)?.determinize(&determinize)?;
        Ok(states(&lattice.connect()?))
    }

    /// Returns the lattice with the phones behind the words, and the number of phone 0.
    fn with_phones(&self, labels: &TransitionLabels) -> Result<(Lattice, i32), Error> {
        let first_phone = self.arcs.iter().map(|arc| arc.word).max().unwrap_or(0).saturating_add(1);
        let mut builder = LatticeBuilder::new();
        (0..self.num_states).for_each(|_| {
            builder.add_state();
        });
        // The start is the first state.
        let state = |state: usize| match state {
            0 => id(self.start),
            start if start == self.start => 0,
            other => id(other),
        };
        for arc in &self.arcs {
            let (source, dest) = (state(arc.source), state(arc.dest));
            let own = [arc.label];
            let alignment = if arc.label == EPSILON { &[][..] } else { &own };
            let (graph, acoustic) = (0.0 - arc.graph, 0.0 - arc.acoustic);
            // Arcs of the start have no phones.
            let phone = if arc.source == self.start { 0 } else { labels.phone(arc.label) };
            let phone = if phone == 0 { 0 } else { first_phone.saturating_add(phone) };
            if arc.word != EPSILON && phone != 0 {
                let between = builder.add_state();
                builder.add_arc(source, between, arc.word, graph, acoustic, alignment);
                builder.add_arc(between, dest, phone, 0.0, 0.0, &[]);
            } else {
                builder.add_arc(source, dest, arc.word.max(phone), graph, acoustic, alignment);
            }
        }
        for &(end, cost) in &self.finals {
            builder.add_final(state(end), 0.0 - cost, 0.0, &[]);
        }
        Ok((builder.build()?, first_phone))
    }
}

/// Removes the phones from the words of a lattice.
fn without_phones(lattice: &Lattice, first_phone: i32) -> Result<Lattice, Error> {
    let mut builder = LatticeBuilder::new();
    let fsa = lattice.fsas().fsa(0);
    (1..fsa.num_states()).for_each(|_| {
        builder.add_state();
    });
    let utterance = lattice.utterance(0);
    for (at, arc) in fsa.arcs().iter().enumerate() {
        let (graph, acoustic) = utterance.scores(at);
        if arc.label == FINAL {
            builder.add_final(arc.src_state, graph, acoustic, utterance.alignment(at));
        } else {
            let word = if arc.label >= first_phone { EPSILON } else { arc.label };
            builder.add_arc(arc.src_state, arc.dest_state, word, graph, acoustic, utterance.alignment(at));
        }
    }
    builder.build()
}

fn states(lattice: &Lattice) -> Vec<ChunkState> {
    let utterance = lattice.utterance(0);
    let mut states = vec![ChunkState::default(); utterance.fsa.num_states().saturating_sub(1)];
    for (at, arc) in utterance.fsa.arcs().iter().enumerate() {
        let (graph, acoustic) = utterance.scores(at);
        let labels = utterance.alignment(at).to_vec();
        let weight = Weight { graph: 0.0 - graph, acoustic: 0.0 - acoustic, labels };
        let state = &mut states[index(arc.src_state)];
        if arc.label == FINAL {
            state.end = Some(weight);
        } else {
            state.arcs.push((arc.label, weight, index(arc.dest_state)));
        }
    }
    states
}
