//! The lattices of a batch, and the origin of their arcs.

use kaldera_base::Real;

use crate::dense::scores::DenseFsaVec;
use crate::support::ids::index;
use crate::{AUX_LABELS, Attribute, Error, FINAL, FsaVec, Fsas, Graph, Quantity};

/// Result of an utterance.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// A lattice whose paths end in final states of the graph.
    Final,
    /// A lattice whose paths end in any states, since no final state was reached, or none was
    /// required.
    Partial,
    /// No lattice: the last frame has states, but none of them is final.
    NoFinalState,
    /// No lattice: no arc of an active state takes a class of this frame, counted from 0 on, with a
    /// score above -inf.
    Died {
        /// The frame.
        frame: usize,
    },
    /// No lattice: something is wrong with the utterance.
    Failed(Error),
}

impl Outcome {
    /// Returns `true` if there is a lattice.
    pub fn has_paths(&self) -> bool {
        matches!(self, Self::Final | Self::Partial)
    }
}

/// A lattice for each utterance; without states if there is none.
///
/// The labels of a lattice are the labels of the graph's arcs, and -1 on the arcs into the final
/// state. Its states are in the order of time, and so arcs lead to later ones. The score of an arc
/// is the score of its arc of the graph, plus the score of its class; an epsilon arc has no class.
/// The attributes of the graph are the attributes of the lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseLattices {
    pub(super) graph: Graph<FsaVec>,
    pub(super) graph_arcs: Vec<i32>,
    pub(super) frames: Vec<i32>,
    pub(super) graph_scores: Vec<f32>,
    pub(super) outcomes: Vec<Outcome>,
}

impl DenseLattices {
    /// Returns the lattices with the attributes of their arcs.
    #[inline]
    pub fn graph(&self) -> &Graph<FsaVec> {
        &self.graph
    }

    /// Returns the lattices and the result of each utterance.
    pub fn into_parts(self) -> (Graph<FsaVec>, Vec<Outcome>) {
        (self.graph, self.outcomes)
    }

    /// Returns the result of each utterance.
    #[inline]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Returns for each arc the arc of the graph that it comes from, counted over all graphs; -1 if
    /// there is none, as at the end of partial results.
    #[inline]
    #[doc(alias = "arc_map_a")]
    pub fn graph_arcs(&self) -> &[i32] {
        &self.graph_arcs
    }

    /// Returns for each arc the frame of its utterance in which it takes its class, from 0 on. Arcs
    /// into the final state have the frame behind the last one; epsilon arcs have -1.
    #[inline]
    #[doc(alias = "frame_idx")]
    pub fn frames(&self) -> &[i32] {
        &self.frames
    }

    /// Returns for each arc the class that it takes; -1 for epsilon arcs and arcs into the final
    /// state. O(arcs).
    pub fn classes(&self) -> Vec<i32> {
        let arcs = self.graph.fsas().arcs();
        let first = self.graph.graph_labels().label_of(0);
        (0..arcs.len()).map(|arc| self.class(arc).map_or(-1, |_| arcs[arc].label - first)).collect()
    }

    fn class(&self, arc: usize) -> Option<usize> {
        self.graph.graph_labels().class(self.graph.fsas().arcs()[arc].label).filter(|_| self.frames[arc] >= 0)
    }

    /// Returns for each arc the part of its score that comes from the graph; the other part is the
    /// network's.
    #[inline]
    pub fn graph_scores(&self) -> &[f32] {
        &self.graph_scores
    }

    /// Returns for each arc the frame of features at which it begins, counted over the whole
    /// sequence that its utterance is a part of; an epsilon arc has the frame of the arcs behind
    /// it.
    ///
    /// # Errors
    /// [`Error::Size`] if `dense` has another number of utterances than there are lattices.
    pub fn input_frames(&self, dense: &DenseFsaVec<'_>) -> Result<Vec<usize>, Error> {
        Error::same_size(Quantity::Utterances, self.outcomes.len(), dense.num_utterances())?;
        let mut made = Vec::with_capacity(self.frames.len());
        for (fsa, segment) in self.graph.fsas().iter().zip(dense.segments()) {
            let frames = &self.frames[fsa.first_arc()..][..fsa.arcs().len()];
            let first = frames.iter().find(|&&frame| frame >= 0).map_or(0, |&frame| index(frame));
            // The frame of each state, of which the arcs into it come first.
            let mut states = vec![first; fsa.num_states()];
            for (arc, &frame) in fsa.arcs().iter().zip(frames) {
                let (begin, end) = match usize::try_from(frame) {
                    Ok(frame) => (frame, frame + 1),
                    Err(_) => (states[index(arc.src_state)], states[index(arc.src_state)]),
                };
                states[index(arc.dest_state)] = end;
                made.push((segment.start + begin).saturating_mul(dense.frame_subsampling()));
            }
        }
        Ok(made)
    }

    /// Returns the derivative with respect to the score of each of the graph's arcs, given the
    /// derivative with respect to the score of each arc of the lattices. `num_arcs` is the number
    /// of arcs of all graphs. O(arcs).
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one for each arc; [`Error::ArcMap`] if the graph has fewer
    /// arcs.
    pub fn graph_gradient<T: Real>(&self, grads: &[T], num_arcs: usize) -> Result<Vec<T>, Error> {
        Error::same_size(Quantity::Gradients, self.graph_arcs.len(), grads.len())?;
        let mut sums = vec![T::ZERO; num_arcs];
        for (position, (&found, &grad)) in self.graph_arcs.iter().zip(grads).enumerate() {
            if let Ok(arc) = usize::try_from(found) {
                *sums.get_mut(arc).ok_or(Error::ArcMap { position, found, num_arcs })? += grad;
            }
        }
        Ok(sums)
    }

    /// Returns the derivative with respect to each of the [values](DenseFsaVec::values) of `dense`,
    /// from which the lattices were made, in the same order, given the derivative with respect to
    /// the score of each arc of the lattices. O(arcs + values).
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one for each arc, or `dense` is another one.
    pub fn score_gradient<T: Real>(&self, grads: &[T], dense: &DenseFsaVec<'_>) -> Result<Vec<T>, Error> {
        Error::same_size(Quantity::Gradients, self.graph_arcs.len(), grads.len())?;
        let mut sums = vec![T::ZERO; dense.values().len()];
        Error::same_size(Quantity::Utterances, self.outcomes.len(), dense.num_utterances())?;
        for (utterance, fsa) in self.graph.fsas().iter().enumerate() {
            for (arc, &grad) in grads.iter().enumerate().skip(fsa.first_arc()).take(fsa.arcs().len()) {
                let Some(class) = self.class(arc) else { continue };
                let place = dense.utterance(utterance)?.place(index(self.frames[arc]), class);
                let (expected, found) = (sums.len(), place + 1);
                *sums.get_mut(place).ok_or(Error::Size { what: Quantity::Values, expected, found })? += grad;
            }
        }
        Ok(sums)
    }
}

/// Returns the attributes of the graph at the arcs of lattices. An arc into the final state that
/// comes from no arc of the graph gets the output label -1, as others do.
pub(super) fn with_attributes<F: Fsas>(
    graphs: &Graph<F>,
    lattices: FsaVec,
    graph_arcs: &[i32],
) -> Result<Graph<FsaVec>, Error> {
    let mut attributes = graphs.attributes().carry(graph_arcs)?;
    let partial = lattices.arcs().iter().zip(graph_arcs).any(|(arc, &of_graph)| arc.label == FINAL && of_graph < 0);
    if let (true, Some(Attribute::Ints { values, filler })) = (partial, attributes.get(AUX_LABELS)) {
        let ends = lattices.arcs().iter().map(|arc| arc.label == FINAL);
        let values: Vec<_> = ends.zip(values.iter()).map(|(end, &label)| if end { FINAL } else { label }).collect();
        let filler = *filler;
        attributes.insert(AUX_LABELS, Attribute::Ints { values: values.into(), filler });
    }
    Graph::from_parts(lattices, attributes)
}
