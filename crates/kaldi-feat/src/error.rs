//! What can go wrong.

use thiserror::Error;

/// Why features can't be computed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has a value that no features can be computed with.
    #[error("--{option}={value} can't be: it must be {expected}")]
    BadOption {
        /// Kaldi's name of the option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        expected: String,
    },

    /// The audio has another sample rate than the options, and they don't allow to resample it.
    #[error(
        "waveform and config sample frequency mismatch: {found} .vs {expected} (use --sample-frequency={found}, or \
         --allow-{direction}sample=true to resample the waveform)"
    )]
    SampleRateMismatch {
        /// The sample rate of the audio in Hz.
        found: f32,
        /// The option `sample-frequency` in Hz.
        expected: f32,
        /// `up` or `down`: how the audio would have to be resampled.
        direction: &'static str,
    },

    /// The audio's sample rate is not a positive number of Hz.
    #[error("the waveform says that it has {found} samples a second: that must be a number from 1 to 10000000")]
    BadSampleRate {
        /// The sample rate in Hz.
        found: f32,
    },

    /// A mel filter has no frequency of the spectrum in it.
    #[error(
        "mel filter {bin} of {num_bins} has no frequency in it: --num-mel-bins is too large for a spectrum of \
         {num_fft_bins} frequencies (use fewer bins, or a longer --frame-length)"
    )]
    EmptyMelBin {
        /// The filter, from 0.
        bin: usize,
        /// How many there are.
        num_bins: usize,
        /// Half the size of the FFT.
        num_fft_bins: usize,
    },

    /// The frequencies at which the VTLN warping bends don't lie within the mel filters' range.
    #[error(
        "can't warp by {warp}: --vtln-low ({vtln_low} Hz) and --vtln-high ({vtln_high} Hz), times the warp factor where it \
         moves them outwards, must lie in this order between --low-freq ({low_freq} Hz) and --high-freq ({high_freq} Hz)"
    )]
    BadVtln {
        /// The warp factor.
        warp: f32,
        /// `vtln-low`.
        vtln_low: f32,
        /// `vtln-high`, from zero up.
        vtln_high: f32,
        /// `low-freq`.
        low_freq: f32,
        /// `high-freq`, from zero up.
        high_freq: f32,
    },

    /// A batch has more frames than 32-bit row splits can count.
    #[error("a batch of {frames} frames is too large: 2147483647 is the most, so use smaller batches")]
    BatchTooLarge {
        /// The frames.
        frames: usize,
    },
}

impl Error {
    pub(crate) fn bad_option(option: &'static str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::BadOption { option, value: value.to_string(), expected: expected.into() }
    }
}
