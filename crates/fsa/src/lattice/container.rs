//! The type of lattices.

use ragged_core::Ragged;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::attributes::Attribute;
use crate::core::fsa::FsaVec;
use crate::core::graph::{AUX_LABELS, Graph};
use crate::core::properties::Properties;
use crate::dense::DenseLattices;
use crate::error::{AttributeProblem, Error, Quantity};
use crate::lattice::utterance::Utterance;

/// Name of the attribute with the acoustic score of each arc.
pub const ACOUSTIC_SCORES: &str = "acoustic_scores";
/// Name of the attribute with the graph score of each arc.
pub const GRAPH_SCORES: &str = "graph_scores";
/// Name of the attribute with the input labels of each arc, one for each frame.
pub const ALIGNMENT: &str = "alignment";

/// Lattices of words, one for each utterance: acyclic, with their states in topological order. The
/// [module](crate::lattice) describes the data of its arcs.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "CompactLattice")]
pub struct Lattice {
    graph: Graph<FsaVec>,
}

impl Lattice {
    /// Creates lattices of these words (labels), with two scores and the input labels of each arc.
    /// The scores of `words` are replaced by the sums. States that are in no topological order are
    /// sorted.
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one of each for each arc; [`Error::Score`] for a sum that is
    /// NaN or plus infinity; [`Error::Cycle`], [`Error::NotTopSorted`].
    pub fn new(
        words: &FsaVec,
        graph_scores: Vec<f32>,
        acoustic_scores: Vec<f32>,
        alignment: Ragged<i32>,
    ) -> Result<Self, Error> {
        Error::same_size(Quantity::Scores, words.num_arcs(), graph_scores.len())?;
        Error::same_size(Quantity::Scores, words.num_arcs(), acoustic_scores.len())?;
        let sums: Vec<_> =
            graph_scores.iter().zip(&acoustic_scores).map(|(graph, acoustic)| graph + acoustic).collect();
        let graph = Graph::new(words.with_scores(&sums)?)
            .with(GRAPH_SCORES, floats(graph_scores))?
            .with(ACOUSTIC_SCORES, floats(acoustic_scores))?
            .with(ALIGNMENT, alignment)?;
        Self { graph }.sorted()
    }

    /// Creates lattices from transducers: labels are the tokens of frames (0 for none), output
    /// labels the words, scores the sums of both scores, of which `acoustic_scores` are a part.
    /// Arcs that output several words become chains.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Attribute`] without output labels.
    pub fn from_transducers(graph: &Graph<FsaVec>, acoustic_scores: Vec<f32>) -> Result<Self, Error> {
        Error::same_size(Quantity::Scores, graph.fsas().num_arcs(), acoustic_scores.len())?;
        let all: Vec<_> = graph.fsas().scores().iter().zip(&acoustic_scores).map(|(all, own)| all - own).collect();
        Self::of_words(graph, all, acoustic_scores, |_, arc| arc.label > EPSILON)
    }

    /// Creates the lattices of a search over the output of a network: words are the output labels
    /// of the graph, input labels the labels of its arcs, one for each frame. Utterances without a
    /// lattice have one without states.
    ///
    /// # Errors
    /// As [`from_transducers`](Self::from_transducers).
    pub fn from_dense(lattices: &DenseLattices) -> Result<Self, Error> {
        let (graph, own) = (lattices.graph(), lattices.graph_scores());
        let acoustic = graph.fsas().scores().iter().zip(own).map(|(all, own)| all - own).collect();
        // Epsilon arcs are in no frame.
        Self::of_words(graph, own.to_vec(), acoustic, |at, arc| arc.label != FINAL && lattices.frames()[at] >= 0)
    }

    /// Creates lattices of output labels; `has_label` returns `true` for arcs whose label is the
    /// label of a frame.
    fn of_words(
        graph: &Graph<FsaVec>,
        graph_scores: Vec<f32>,
        acoustic_scores: Vec<f32>,
        has_label: impl Fn(usize, &Arc) -> bool,
    ) -> Result<Self, Error> {
        let no_words = || Error::Attribute { problem: AttributeProblem::NoAuxLabels };
        let labels = |(at, arc): (usize, &Arc)| if has_label(at, arc) { vec![arc.label] } else { vec![] };
        let lists: Vec<_> = graph.fsas().arcs().iter().enumerate().map(labels).collect();
        let graph = Graph::new(graph.fsas().clone())
            .with_aux_labels(graph.attributes().get(AUX_LABELS).cloned().ok_or_else(no_words)?)?
            .with(GRAPH_SCORES, floats(graph_scores))?
            .with(ACOUSTIC_SCORES, floats(acoustic_scores))?
            .with(ALIGNMENT, Ragged::from_lists(&lists)?)?;
        // An arc that is expanded to a chain keeps its frame on the first arc of the chain.
        let graph = match graph.attributes().get(AUX_LABELS) {
            Some(Attribute::Lists(_)) => graph.expand_aux_labels()?,
            _ => graph,
        };
        let words = graph.aux_labels().ok_or_else(no_words)?;
        let word = |(arc, &word): (&Arc, &i32)| Arc { label: if arc.label == FINAL { FINAL } else { word }, ..*arc };
        let words: Vec<_> = graph.fsas().arcs().iter().zip(words).map(word).collect();
        let words = FsaVec::new(graph.fsas().as_ragged().with_values(words)?)?;
        let scores = |name| match graph.attributes().get(name) {
            Some(Attribute::Floats { values, .. }) => values.to_vec(),
            _ => Vec::new(),
        };
        let alignment = graph.attributes().lists(ALIGNMENT).cloned().unwrap_or_default();
        Self::new(&words, scores(GRAPH_SCORES), scores(ACOUSTIC_SCORES), alignment)
    }

    /// Concatenates lattices into one batch. O(states + arcs + alignments).
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn cat(lattices: &[&Self]) -> Result<Self, Error> {
        if lattices.is_empty() {
            return Self::new(&FsaVec::empty(), vec![], vec![], Ragged::from_lists(&[] as &[Vec<i32>])?);
        }
        let graphs: Vec<_> = lattices.iter().map(|lattice| &lattice.graph).collect();
        Ok(Self { graph: Graph::cat(&graphs)? })
    }

    /// Returns lattice `i` on its own.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, i: usize) -> Result<Self, Error> {
        let indexes = [Error::fit(Quantity::FsaIndex, i)?];
        Ok(Self { graph: self.graph.carry(self.graph.fsas().index(&indexes)?)? })
    }

    /// Returns the FSAs of words with the attributes of their arcs.
    #[inline]
    pub fn graph(&self) -> &Graph<FsaVec> {
        &self.graph
    }

    /// Returns the FSAs of words.
    #[inline]
    pub fn fsas(&self) -> &FsaVec {
        self.graph.fsas()
    }

    /// Returns the number of lattices.
    #[inline]
    pub fn num_lattices(&self) -> usize {
        self.fsas().num_fsas()
    }

    /// Returns the graph score of each arc.
    pub fn graph_scores(&self) -> &[f32] {
        self.scores(GRAPH_SCORES)
    }

    /// Returns the acoustic score of each arc.
    pub fn acoustic_scores(&self) -> &[f32] {
        self.scores(ACOUSTIC_SCORES)
    }

    /// Returns the input labels of each arc.
    pub fn alignment(&self) -> &Ragged<i32> {
        self.graph.attributes().lists(ALIGNMENT).expect("every lattice has alignments")
    }

    fn scores(&self, name: &str) -> &[f32] {
        match self.graph.attributes().get(name) {
            Some(Attribute::Floats { values, .. }) => values,
            _ => unreachable!("every lattice has both scores"),
        }
    }

    /// Multiplies both scores.
    ///
    /// # Errors
    /// [`Error::Score`] if a score becomes NaN or plus infinity.
    #[doc(alias = "ScaleLattice")]
    pub fn scale(&self, graph_scale: f32, acoustic_scale: f32) -> Result<Self, Error> {
        let scaled = |scores: &[f32], scale: f32| scores.iter().map(|score| score * scale).collect::<Vec<_>>();
        let graph_scores = scaled(self.graph_scores(), graph_scale);
        self.with_scores(graph_scores, scaled(self.acoustic_scores(), acoustic_scale))
    }

    /// Replaces the scores.
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one of each for each arc; [`Error::Score`].
    pub fn with_scores(&self, graph_scores: Vec<f32>, acoustic_scores: Vec<f32>) -> Result<Self, Error> {
        Self::new(self.fsas(), graph_scores, acoustic_scores, self.alignment().clone())
    }

    /// Returns lattice `i`, borrowed.
    pub(crate) fn utterance(&self, i: usize) -> Utterance<'_> {
        Utterance::new(self.fsas().fsa(i), self.graph_scores(), self.acoustic_scores(), self.alignment())
    }

    /// Returns the lattices of the result of an algorithm on FSAs with its arc map.
    pub(crate) fn carry(&self, made: (FsaVec, Vec<i32>)) -> Result<Self, Error> {
        Ok(Self { graph: self.graph.carry(made)? })
    }

    /// Removes states that are on no path, which may change the numbers of states.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn connect(&self) -> Result<Self, Error> {
        Self { graph: self.graph.connect()? }.sorted()
    }

    fn sorted(self) -> Result<Self, Error> {
        if self.fsas().properties().contains(Properties::TOP_SORTED_AND_ACYCLIC) {
            return Ok(self);
        }
        let graph = self.graph.top_sort()?;
        for (i, fsa) in graph.fsas().iter().enumerate() {
            // Sorting accepts self-loops.
            if let Some(arc) = fsa.arcs().iter().position(|arc| arc.dest_state <= arc.src_state) {
                let Arc { src_state, dest_state, .. } = fsa.arcs()[arc];
                return Err(Error::NotTopSorted { fsa: i, arc, src_state, dest_state });
            }
        }
        Ok(Self { graph })
    }
}

/// Returns scores of arcs; arcs without a source add nothing.
fn floats(values: Vec<f32>) -> Attribute {
    Attribute::Floats { values: values.into(), filler: 0.0 }
}
