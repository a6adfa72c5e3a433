//! One channel of audio in memory, with its metadata.

pub(crate) mod interleaved;
pub(crate) mod samples;

use crate::audio::samples::Samples;

/// The highest sample rate that is accepted, Hz.
pub(crate) const MAX_SAMPLE_RATE: f32 = 1e7;

/// One channel of audio to extract features from, with its metadata.
///
/// ```
/// use kaldi_feat::Audio;
///
/// let samples: Vec<i16> = vec![0; 16_000];
/// let audio = Audio::new(&samples, 16_000.0).with_key("utterance-1").with_vtln_warp(0.95);
/// assert_eq!((audio.samples.len(), audio.key), (16_000, "utterance-1"));
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Audio<'a> {
    /// The samples.
    pub samples: Samples<'a>,
    /// Samples per second, Hz.
    pub samp_freq: f32,
    /// The utterance's key: the seed and the key decide the dither.
    pub key: &'a str,
    /// The factor by which the mel filters are moved to normalise the length of the speaker's vocal
    /// tract; 1 = none.
    pub vtln_warp: f32,
}

impl<'a> Audio<'a> {
    /// Creates audio of `samp_freq` Hz, without a key and without warping. `samples` may be a
    /// slice, or a reference to a vector or an array.
    pub fn new(samples: impl Into<Samples<'a>>, samp_freq: f32) -> Self {
        Self { samples: samples.into(), samp_freq, key: "", vtln_warp: 1.0 }
    }

    /// Returns the same audio as the utterance `key`.
    pub fn with_key(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    /// Returns the same audio with the warp factor of its speaker.
    pub fn with_vtln_warp(self, vtln_warp: f32) -> Self {
        Self { vtln_warp, ..self }
    }
}
