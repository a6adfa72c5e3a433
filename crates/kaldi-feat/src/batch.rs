//! Features of many utterances at once.

use std::sync::{Mutex, PoisonError};

use kaldera_base::par;
use kaldi_matrix::{Matrix, SubMatrix};

use crate::audio::Audio;
use crate::error::Error;
use crate::extractor::{Extractor, Kind};
use crate::spectrum::workspace::Workspace;

/// The features of a batch of utterances, one below the other, without padding.
///
/// ```text
///              dim
///         +-----------+  0 = row_splits[0]
///         | utt 0     |
///         +-----------+  row_splits[1]
///         | utt 1     |
///         |           |
///         +-----------+  row_splits[2] = num_rows
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureBatch {
    /// All rows: total frames x dimension.
    pub values: Matrix<f32>,
    /// The first row of each utterance, and the total at the end: k2's row splits, Paddle's LoD
    /// offsets.
    pub row_splits: Vec<i32>,
}

impl FeatureBatch {
    /// Returns the number of utterances.
    pub fn num_utterances(&self) -> usize {
        self.row_splits.len() - 1
    }

    /// Returns the features of utterance `i`: frames x dimension.
    ///
    /// # Panics
    /// If there is no such utterance.
    pub fn utterance(&self, i: usize) -> SubMatrix<'_, f32> {
        let [begin, end] = [i, i + 1].map(|i| self.row_splits[i] as usize);
        let dim = self.values.num_cols();
        SubMatrix::new(&self.values.data()[begin * dim..end * dim], end - begin, dim, dim)
            .expect("row splits lie within the values")
    }

    /// Returns an iterator over the features of the utterances, in order.
    pub fn utterances(&self) -> impl ExactSizeIterator<Item = SubMatrix<'_, f32>> {
        (0..self.num_utterances()).map(|i| self.utterance(i))
    }
}

/// The same rows with a sequence for each utterance. Nothing is copied.
///
/// # Errors
/// [`lod::Error`] if `row_splits` was changed and does not divide the rows.
#[cfg(feature = "lod")]
impl TryFrom<FeatureBatch> for lod::LodTensor<f32> {
    type Error = lod::Error;

    fn try_from(batch: FeatureBatch) -> Result<Self, lod::Error> {
        let FeatureBatch { values, row_splits } = batch;
        let shape = [values.num_rows(), values.num_cols()];
        Self::from_vec(shape, values.into_vec(), lod::Lod::from_offsets(&[row_splits])?)
    }
}

impl<K: Kind> Extractor<K> {
    /// Computes features of many utterances, in parallel over rayon's current pool with the feature
    /// `rayon`. The result does not depend on the number of threads.
    ///
    /// ```
    /// use kaldi_feat::{Audio, Mfcc, MfccOptions};
    ///
    /// let mfcc = Mfcc::new(MfccOptions::default())?;
    /// let (long, short) = (vec![1.0_f32; 16000], vec![2.0_f32; 400]);
    /// let batch = mfcc.compute_batch(&[
    ///     Audio::new(&long, 16000.0).with_key("a"),
    ///     Audio::new(&short, 16000.0).with_key("b").with_vtln_warp(0.9),
    /// ])?;
    /// assert_eq!(batch.row_splits, [0, 98, 99]);
    /// assert_eq!(batch.utterance(1).num_rows(), 1);
    /// assert_eq!(batch.utterances().map(|rows| rows.num_rows()).collect::<Vec<_>>(), [98, 1]);
    /// # Ok::<(), kaldi_feat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`compute`](Self::compute), for the first utterance that fails; and if the frames don't
    /// fit in 32-bit row splits.
    pub fn compute_batch(&self, batch: &[Audio<'_>]) -> Result<FeatureBatch, Error> {
        let dim = self.dim();
        let mut row_splits = Vec::with_capacity(batch.len() + 1);
        row_splits.push(0);
        let mut frames = 0;
        for audio in batch {
            frames += self.num_frames(audio)?;
            row_splits.push(i32::try_from(frames).map_err(|_| Error::BatchTooLarge { frames })?);
        }
        let mut values = kaldera_base::memory::zeros(frames * dim);
        let mut rest = &mut values[..];
        let mut jobs = Vec::with_capacity(batch.len());
        for (audio, ends) in batch.iter().zip(row_splits.windows(2)) {
            let rows;
            (rows, rest) = rest.split_at_mut((ends[1] - ends[0]) as usize * dim);
            jobs.push((audio, rows));
        }
        // One workspace for each thread that works at a time.
        let workspaces = Mutex::new(Vec::new());
        let lock = || workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let done = par::map(jobs, |(audio, rows)| {
            let mut workspace: Workspace = lock().pop().unwrap_or_default();
            let done = self.extract_utterance(&mut workspace, audio, rows);
            lock().push(workspace);
            done
        });
        done.into_iter().collect::<Result<(), _>>()?;
        let cols = if frames == 0 { 0 } else { dim };
        let values = Matrix::from_vec(frames, cols, values).expect("as many values as rows and columns say");
        Ok(FeatureBatch { values, row_splits })
    }
}
