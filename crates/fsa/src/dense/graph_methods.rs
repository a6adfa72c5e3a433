//! Decoding, and the reading of labels, as methods of [`Graph`].

use crate::dense::{DenseFsaVec, DenseLattices, DenseOptions, intersect_dense, intersect_dense_pruned};
use crate::error::Quantity;
use crate::support::ids::index;
use crate::{AUX_LABELS, Error, FINAL, Fsa, Fsas, Graph, GraphLabels};

impl<F: Fsas> Graph<F> {
    /// Calls [`intersect_dense`] with this graph, or with one for each utterance: all paths, except
    /// the ones worse than the best one by more than `output_beam`.
    ///
    /// ```
    /// use fsa::dense::DenseFsaVec;
    /// use fsa::graphs::ctc_topo;
    ///
    /// let scores = [-1.5_f32, -0.5, -2.0, -1.0, -3.0, -0.5];
    /// let lattices =
    ///     ctc_topo(2, false)?.intersect_dense(&DenseFsaVec::from_frames(&scores, 3)?, 8.0)?;
    /// assert_eq!(lattices.graph().shortest_path()?.fsas().labels(), [1, 2, -1]);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// As the function.
    pub fn intersect_dense(&self, dense: &DenseFsaVec<'_>, output_beam: f32) -> Result<DenseLattices, Error> {
        intersect_dense(self, dense, output_beam)
    }

    /// Calls [`intersect_dense_pruned`] with this graph, or with one for each utterance: the best
    /// states of each frame, as the options say.
    ///
    /// # Errors
    /// As the function.
    pub fn intersect_dense_pruned(
        &self,
        dense: &DenseFsaVec<'_>,
        options: &DenseOptions,
    ) -> Result<DenseLattices, Error> {
        intersect_dense_pruned(self, dense, options)
    }
}

impl Graph<Fsa> {
    /// Returns the same graph with labels that are [classes + 1](GraphLabels::ClassPlusOne), as
    /// OpenFst's files have them: an arc has one output label then, and lists are chains of arcs
    /// whose labels are epsilon. O(states + arcs).
    ///
    /// ```
    /// use fsa::graphs::ctc_topo;
    ///
    /// let graph = ctc_topo(1, false)?.into_class_plus_one()?;
    /// assert_eq!(graph.fsas().labels(), [1, 2, -1, 1, 2, -1]);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn into_class_plus_one(self) -> Result<Self, Error> {
        let shifted = match self.graph_labels() {
            GraphLabels::ClassPlusOne => self,
            GraphLabels::Class => {
                let (fsa, attributes) = self.into_parts();
                let mut arcs = fsa.arcs().to_vec();
                for arc in arcs.iter_mut().filter(|arc| arc.label != FINAL) {
                    Error::fit(Quantity::SymbolLabel, index(arc.label) + 1)?;
                    arc.label = GraphLabels::ClassPlusOne.label_of(arc.label);
                }
                let shifted = Self::from_parts(Fsa::from_arcs(fsa.num_states(), arcs)?, attributes)?;
                shifted.with_graph_labels(GraphLabels::ClassPlusOne)
            }
        };
        if shifted.attributes().lists(AUX_LABELS).is_some() { shifted.expand_aux_labels() } else { Ok(shifted) }
    }
}
