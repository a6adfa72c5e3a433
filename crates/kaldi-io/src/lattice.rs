//! Kaldi's lattices in archives (feature `lattice`).
//!
//! [`Lattice`] has a transition identifier (input label) and a word (output label) on each arc.
//! [`CompactLattice`] has a word on each arc, and the identifiers in its weight. Either archive can
//! be read as either type. States and arcs keep their numbers and order, so that a copy has the
//! same bytes. For algorithms convert from and to [`fsa::lattice::Lattice`]:
//!
//! ```
//! use kaldi_io::{Holder, lattice::CompactLattice};
//!
//! let text = "\n0 1 7 1,20,3_3\n0 1 8 2,18.5,4_3\n1 0.5,0,\n\n";
//! let lattice = CompactLattice::read(&mut text.as_bytes())?;
//! let scores = fsa::lattice::Lattice::try_from(&lattice)?.scale(1.0, 0.1)?;
//! assert_eq!(scores.best_path(0)?.expect("a path").words, [7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! text               binary: OpenFst's file of the type "vector", without Kaldi's header
//! utt1 ⏎             utt1 ␣ magic "vector" "compactlattice44" ...
//! 0 1 7 1,20,3_3 ⏎   state, state, word, weight: graph cost, acoustic cost, identifiers
//! 1 0.5,0, ⏎         a final state and its weight; a weight of 0,0, may be left out
//! ⏎                  an empty line ends the lattice
//! ```

mod binary;
mod convert;
mod graph;
mod graph_fst;
mod holder;
mod phones;
mod text;

pub use phones::{PhoneBoundaries, PhoneTokens, PhoneType};

use std::fmt::Debug;

use kaldi_matrix::codec::{ByteReader, CodecError};

pub use graph_fst::GraphFst;

/// A weight of a [`Lattice`]: two costs, negated natural logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LatticeWeight {
    /// Cost of language model, lexicon and transitions.
    #[doc(alias = "Value1")]
    pub graph: f32,
    /// Cost of the acoustic model.
    #[doc(alias = "Value2")]
    pub acoustic: f32,
}

impl LatticeWeight {
    /// Creates a weight of both costs.
    pub const fn new(graph: f32, acoustic: f32) -> Self {
        Self { graph, acoustic }
    }
}

/// A weight of a [`CompactLattice`]: two costs and the transition identifiers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactLatticeWeight {
    /// The costs.
    pub weight: LatticeWeight,
    /// The transition identifiers, one for each frame.
    #[doc(alias = "String")]
    pub alignment: Vec<i32>,
}

/// The two kinds of weights.
pub trait Weight: Clone + Debug + PartialEq + Default + Send + Sync + 'static + sealed::Sealed {
    /// Returns the costs.
    fn costs(&self) -> LatticeWeight;

    /// Returns the costs for modification.
    fn costs_mut(&mut self) -> &mut LatticeWeight;
}

impl Weight for LatticeWeight {
    fn costs(&self) -> LatticeWeight {
        *self
    }

    fn costs_mut(&mut self) -> &mut LatticeWeight {
        self
    }
}

impl Weight for CompactLatticeWeight {
    fn costs(&self) -> LatticeWeight {
        self.weight
    }

    fn costs_mut(&mut self) -> &mut LatticeWeight {
        &mut self.weight
    }
}

pub(crate) mod sealed {
    use super::*;

    /// Form of a weight in files.
    pub trait Sealed: Sized {
        /// OpenFst's name of the arc type, without the sizes of numbers.
        const ARC_TYPE: &'static str;
        /// Sizes of numbers in written files.
        const SIZES: &'static str;
        /// `true` if an arc has one label in text.
        const ACCEPTOR: bool;

        /// Reads a weight; `double` costs have eight bytes.
        fn read(reader: &mut ByteReader<'_>, double: bool) -> Result<Self, CodecError>;
        fn push(&self, out: &mut Vec<u8>);
        fn parse(text: &str) -> Option<Self>;
        fn print(&self, out: &mut Vec<u8>);
    }
}

/// An arc.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatticeArc<W> {
    /// The transition identifier, 0 for none; in a [`CompactLattice`] the word.
    pub ilabel: i32,
    /// The word, 0 for none.
    pub olabel: i32,
    /// The costs.
    pub weight: W,
    /// The state that the arc enters.
    pub next_state: usize,
}

/// A state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatticeState<W> {
    /// Weight of paths that end here; `None` if the state is not final.
    pub final_weight: Option<W>,
    /// The arcs that leave it.
    pub arcs: Vec<LatticeArc<W>>,
}

/// States and arcs like OpenFst's `VectorFst`: any order, any start, any final states.
#[derive(Debug, Clone, PartialEq, Default)]
#[doc(alias = "VectorFst")]
pub struct LatticeFst<W> {
    start: Option<usize>,
    states: Vec<LatticeState<W>>,
}

/// A lattice with transition identifiers and words on its arcs.
pub type Lattice = LatticeFst<LatticeWeight>;

/// A lattice with words on its arcs and transition identifiers in its weights.
pub type CompactLattice = LatticeFst<CompactLatticeWeight>;

/// A start state, or the destination of an arc, that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no state {state} among the {num_states} states of the lattice")]
pub struct NoState {
    /// The state.
    pub state: usize,
    /// Number of states.
    pub num_states: usize,
}

impl<W: Weight> LatticeFst<W> {
    /// Creates a lattice from the states, after a check.
    ///
    /// # Errors
    /// [`NoState`].
    pub fn new(start: Option<usize>, states: Vec<LatticeState<W>>) -> Result<Self, NoState> {
        let num_states = states.len();
        let named = states.iter().flat_map(|state| state.arcs.iter().map(|arc| arc.next_state)).chain(start);
        match named.max().filter(|&state| state >= num_states) {
            Some(state) => Err(NoState { state, num_states }),
            None => Ok(Self { start, states }),
        }
    }

    /// Returns the start state; `None` if there is none, and so no path.
    pub fn start(&self) -> Option<usize> {
        self.start
    }

    /// Returns the states.
    pub fn states(&self) -> &[LatticeState<W>] {
        &self.states
    }

    /// Returns the number of arcs.
    pub fn num_arcs(&self) -> usize {
        self.states.iter().map(|state| state.arcs.len()).sum()
    }

    /// Renames the words on arcs; 0 is no word.
    pub fn rename_words(&mut self, name: impl Fn(i32) -> i32) {
        for arc in self.states.iter_mut().flat_map(|state| &mut state.arcs) {
            let is_acceptor = W::ACCEPTOR;
            arc.olabel = name(arc.olabel);
            if is_acceptor {
                arc.ilabel = arc.olabel;
            }
        }
    }

    /// Adds `cost` to the graph cost of each arc with a word.
    #[doc(alias = "AddWordInsPenToCompactLattice")]
    pub fn add_to_words(&mut self, cost: f32) {
        for arc in self.states.iter_mut().flat_map(|state| &mut state.arcs).filter(|arc| arc.olabel != 0) {
            arc.weight.costs_mut().graph += cost;
        }
    }

    /// Iterates over all weights, including final ones, for modification.
    pub fn weights_mut(&mut self) -> impl Iterator<Item = &mut W> {
        self.states.iter_mut().flat_map(|LatticeState { final_weight, arcs }| {
            final_weight.iter_mut().chain(arcs.iter_mut().map(|arc| &mut arc.weight))
        })
    }

    /// Multiplies the pair of costs of each weight by a matrix. The new graph cost is
    /// `scale[0][0] * graph + scale[0][1] * acoustic`; the new acoustic cost uses `scale[1]`.
    #[doc(alias = "ScaleLattice")]
    pub fn scale(&mut self, scale: [[f64; 2]; 2]) {
        if scale == [[1.0, 0.0], [0.0, 1.0]] {
            return;
        }
        for weight in self.weights_mut() {
            let costs = weight.costs_mut();
            let (graph, acoustic) = (f64::from(costs.graph), f64::from(costs.acoustic));
            // An infinite cost times 0 is 0.
            let times = |scale: f64, cost: f64| if scale == 0.0 { 0.0 } else { scale * cost };
            let row = |row: [f64; 2]| narrow(times(row[0], graph) + times(row[1], acoustic));
            *costs = LatticeWeight::new(row(scale[0]), row(scale[1]));
        }
    }
}

/// Rounds to the nearest f32.
#[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
fn narrow(cost: f64) -> f32 {
    cost as f32
}
