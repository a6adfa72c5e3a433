//! The buffers of an extraction.

use kaldera_base::simd::Lines;

/// Buffers of an [`Extractor`](crate::Extractor). One workspace for each thread, kept from waveform
/// to waveform, saves allocating it anew.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) resampled: Vec<f32>,
    pub(crate) wave: Lines,
    /// `true` if a sample that was gathered since this was last set is NaN or infinite.
    pub(crate) has_not_finite: bool,
    /// Frames, then the energies of their bands.
    pub(crate) frames: Lines,
    pub(crate) spectrum: Lines,
    pub(crate) features: Lines,
    pub(crate) scratch: Lines,
    /// Rows of several signals.
    pub(crate) block: Vec<f32>,
}
