//! A lattice from states and arcs in any order.

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::{Fsa, FsaVec};
use crate::error::{Error, Quantity};
use crate::lattice::container::Lattice;
use crate::support::ids::index;

/// Builds one lattice from states and arcs in any order, as [`FsaBuilder`](crate::FsaBuilder)
/// builds an FSA.
///
/// The first state is the start; any number of states may be final.
#[derive(Debug, Clone, Default)]
pub struct LatticeBuilder {
    num_states: usize,
    arcs: Vec<(Arc, Payload)>,
    labels: Vec<i32>,
}

/// Data of an arc in addition to its states and its word.
#[derive(Debug, Clone, Copy)]
struct Payload {
    graph: f32,
    acoustic: f32,
    /// Range of its input labels.
    labels: (usize, usize),
}

impl LatticeBuilder {
    /// Creates a builder without states.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a state and returns its number: 0 is the start.
    pub fn add_state(&mut self) -> i32 {
        self.num_states += 1;
        // More states than an i32 counts are refused by `build`.
        i32::try_from(self.num_states - 1).unwrap_or(i32::MAX)
    }

    /// Adds an arc: its word (0 for none), its scores, its input labels.
    pub fn add_arc(
        &mut self,
        src_state: i32,
        dest_state: i32,
        word: i32,
        graph: f32,
        acoustic: f32,
        alignment: &[i32],
    ) {
        self.push(Arc::new(src_state, dest_state, word, 0.0), graph, acoustic, alignment);
    }

    /// Makes a state final, with the scores and the alignment of paths that end there.
    pub fn add_final(&mut self, state: i32, graph: f32, acoustic: f32, alignment: &[i32]) {
        self.push(Arc::new(state, i32::MAX, FINAL, 0.0), graph, acoustic, alignment);
    }

    fn push(&mut self, arc: Arc, graph: f32, acoustic: f32, alignment: &[i32]) {
        let start = self.labels.len();
        self.labels.extend_from_slice(alignment);
        self.arcs.push((arc, Payload { graph, acoustic, labels: (start, self.labels.len()) }));
    }

    /// Builds the lattice. Arcs of a state keep their order, its arcs into the final state are the
    /// last. Without a path it has no state.
    ///
    /// # Errors
    /// [`Error::NoState`] for an arc of a state that was not added; [`Error::Label`] for words
    /// below 0; [`Error::Score`]; [`Error::Cycle`], [`Error::NotTopSorted`]; [`Error::TooLarge`].
    pub fn build(self) -> Result<Lattice, Error> {
        let Self { num_states, mut arcs, labels } = self;
        let last = Error::fit(Quantity::States, num_states)?;
        for (at, (arc, _)) in arcs.iter_mut().enumerate() {
            if arc.dest_state == i32::MAX && arc.label == FINAL {
                arc.dest_state = last;
            } else if arc.label < EPSILON {
                return Err(Error::Label { fsa: 0, arc: at, label: arc.label });
            } else if !(0..last).contains(&arc.dest_state) {
                return Err(Error::NoState { arc: at, state: arc.dest_state, num_states });
            }
            if !(0..last).contains(&arc.src_state) {
                return Err(Error::NoState { arc: at, state: arc.src_state, num_states });
            }
        }
        arcs.sort_by_key(|(arc, _)| (arc.src_state, arc.label == FINAL));
        let (mut ends, mut values) = (vec![0], Vec::with_capacity(labels.len()));
        for (_, payload) in &arcs {
            values.extend_from_slice(&labels[payload.labels.0..payload.labels.1]);
            ends.push(Error::fit(Quantity::ListEntries, values.len())?);
        }
        let alignment = Ragged::new(RaggedShape::new([RowSplits::new(ends)?])?, values)?;
        let graph = arcs.iter().map(|(_, payload)| payload.graph).collect();
        let acoustic = arcs.iter().map(|(_, payload)| payload.acoustic).collect();
        let arcs: Vec<_> = arcs.into_iter().map(|(arc, _)| arc).collect();
        let fsa = Fsa::from_arcs(if last == 0 { 0 } else { index(last) + 1 }, arcs)?;
        Lattice::new(&FsaVec::from_fsas(&[fsa])?, graph, acoustic, alignment)
    }
}
