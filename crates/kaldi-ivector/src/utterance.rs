//! Statistics of whole utterances or speakers.

use kaldi_matrix::{Matrix, MatrixBase, Storage};

use crate::error::{Error, check_size};
use crate::posteriors::FramePosteriors;

/// Statistics of an utterance or of a speaker, from which one i-vector is computed: for each
/// Gaussian the sum of its posteriors, and the sum of the features times them.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "IvectorExtractorUtteranceStats")]
pub struct UtteranceStats {
    counts: Vec<f64>,
    sums: Matrix<f64>,
}

impl UtteranceStats {
    /// Creates statistics of no frames.
    pub fn new(gaussians: usize, feature_dim: usize) -> Self {
        Self { counts: vec![0.0; gaussians], sums: Matrix::zeros(gaussians, feature_dim) }
    }

    /// Returns the sum of posteriors of each Gaussian.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Returns the sums of features times posteriors, Gaussians x dimensions.
    pub fn sums(&self) -> &Matrix<f64> {
        &self.sums
    }

    /// Returns the number of frames: the sum of all posteriors.
    #[doc(alias = "NumFrames")]
    pub fn num_frames(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Adds features (frames x dimensions) with the posteriors of each frame.
    ///
    /// # Errors
    /// [`Error::Size`] for features of another dimension, or for another number of frames;
    /// [`Error::NoGaussian`] for a posterior of a Gaussian that does not exist. The statistics are
    /// then unchanged.
    #[doc(alias = "AccStats")]
    pub fn accumulate(
        &mut self,
        features: &MatrixBase<impl Storage<Elem = f32>>,
        posteriors: &[FramePosteriors],
    ) -> Result<(), Error> {
        let gaussians = self.counts.len();
        check_size("frames of posteriors", features.num_rows(), posteriors.len())?;
        if !features.is_empty() {
            check_size("columns of features for an extractor", self.sums.num_cols(), features.num_cols())?;
        }
        let pairs = || posteriors.iter().enumerate().flat_map(|(frame, pairs)| pairs.iter().map(move |p| (frame, *p)));
        if let Some((frame, gaussian)) = out_of_range(pairs().map(|(frame, pair)| (frame, pair.0)), gaussians) {
            return Err(Error::NoGaussian { frame, gaussian, gaussians });
        }
        for (frame, (gaussian, weight)) in pairs() {
            let (gaussian, weight) = (gaussian as usize, f64::from(weight));
            self.counts[gaussian] += weight;
            for (sum, &x) in self.sums.row_data_mut(gaussian).iter_mut().zip(features.row_data(frame)) {
                *sum += weight * f64::from(x);
            }
        }
        Ok(())
    }

    /// Multiplies all by `factor`.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, factor: f64) {
        self.counts.iter_mut().chain(self.sums.data_mut()).for_each(|x| *x *= factor);
    }
}

/// Returns the first frame and Gaussian that is not below `gaussians`.
pub(crate) fn out_of_range(pairs: impl Iterator<Item = (usize, i32)>, gaussians: usize) -> Option<(usize, i32)> {
    pairs.into_iter().find(|&(_, gaussian)| usize::try_from(gaussian).is_ok_and(|place| place < gaussians).eq(&false))
}
