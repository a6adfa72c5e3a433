//! Decoding with batches of network output.

use fsa::dense::DenseFsaVec;
use lod::LodTensor;

use crate::error::Error;

/// Takes the rows of a batch as frames of utterances, for decoding or training: each sequence of
/// the last level is an utterance, and a batch without LoD is one utterance. Nothing is copied.
///
/// ```
/// use kaldera::decoding::dense_fsa_vec;
/// use kaldera::fsa::graphs::ctc_topo;
/// use kaldera::lod::LodTensor;
///
/// // Two utterances, of two frames and of one, with scores of blank and two tokens.
/// let output = LodTensor::from_lengths(
///     &[2, 1],
///     3,
///     vec![-1.5_f32, -0.5, -2.0, -1.0, -3.0, -0.5, -0.25, -2.0, -2.0]
/// )?;
/// let lattices = ctc_topo(2, false)?.intersect_dense(&dense_fsa_vec(&output)?, 0.0)?;
/// assert_eq!(lattices.graph().fsas().labels(), [1, 2, -1, 0, -1]);
/// # Ok::<(), kaldera::Error>(())
/// ```
///
/// # Errors
/// [`fsa::Error::Size`] if rows have no values.
pub fn dense_fsa_vec(output: &LodTensor<f32>) -> Result<DenseFsaVec<'_>, Error> {
    Ok(match output.lod().last() {
        Some(sequences) => DenseFsaVec::from_row_splits(output.values(), output.width(), sequences)?,
        None => DenseFsaVec::from_frames(output.values(), output.width())?,
    })
}
