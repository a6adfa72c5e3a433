//! What turns samples into rows of numbers.

use kaldi_feat::{Audio, Extractor, Kind, Workspace};

/// A kind of features that a [`Pipeline`](super::Pipeline) can be made of: an [`Extractor`] of any kind, or one of your own.
pub trait FeatureExtractor: Sync {
    /// Memory to work in, one for each thread.
    type Workspace: Default + Send;

    /// Numbers in a row.
    fn dim(&self) -> usize;

    /// Overwrites `out` with the rows of `audio`, one after the other, and returns their number. `vtln_warp` 1 is no warping.
    ///
    /// # Errors
    /// When `audio` cannot be used: its recording fails then, and no other.
    fn compute_into(
        &self,
        workspace: &mut Self::Workspace,
        audio: &Audio<'_>,
        vtln_warp: f32,
        out: &mut Vec<f32>,
    ) -> Result<usize, kaldi_feat::Error>;
}

impl<K: Kind> FeatureExtractor for Extractor<K> {
    type Workspace = Workspace;

    fn dim(&self) -> usize {
        self.dim()
    }

    fn compute_into(
        &self,
        workspace: &mut Workspace,
        audio: &Audio<'_>,
        vtln_warp: f32,
        out: &mut Vec<f32>,
    ) -> Result<usize, kaldi_feat::Error> {
        self.compute_into(workspace, &audio.with_vtln_warp(vtln_warp), out)
    }
}
