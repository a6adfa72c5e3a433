//! Decoding as methods of [`Graph`].

use crate::dense::{DenseFsaVec, DenseLattices, DenseOptions, intersect_dense, intersect_dense_pruned};
use crate::{Error, Fsas, Graph};

impl<F: Fsas> Graph<F> {
    /// [`intersect_dense`] of this graph, or of one for each utterance: all paths, without those
    /// worse than the best one by more than `output_beam`.
    ///
    /// ```
    /// use fsa::dense::DenseFsaVec;
    /// use fsa::graphs::ctc_topo;
    ///
    /// let scores = [-1.5_f32, -0.5, -2.0, -1.0, -3.0, -0.5];
    /// let lattices = ctc_topo(2, false)?.intersect_dense(&DenseFsaVec::from_frames(&scores, 3)?, 8.0)?;
    /// assert_eq!(lattices.graph().shortest_path()?.fsas().labels(), [1, 2, -1]);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// As the function.
    pub fn intersect_dense(&self, dense: &DenseFsaVec<'_>, output_beam: f32) -> Result<DenseLattices, Error> {
        intersect_dense(self, dense, output_beam)
    }

    /// [`intersect_dense_pruned`] of this graph, or of one for each utterance: the best states of
    /// each frame, as the options say.
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
