//! Options of a front end.

use crate::error::Error;
use crate::extractor::must_resample;
use crate::front_end::samples::SampleOptions;
use crate::kinds::fbank::FbankOptions;
use crate::kinds::log_mel::LogMelOptions;
use crate::kinds::mfcc::MfccOptions;
use crate::kinds::plp::PlpOptions;
use crate::kinds::spectrogram::SpectrogramOptions;
use crate::options::{OptionSet, Registry, option_of_names};
use crate::rows::normalize::Normalize;
use crate::spectrum::window::FrameExtractionOptions;

/// A kind of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum FeatureKind {
    /// Kaldi's filterbank features.
    #[default]
    Fbank,
    /// Kaldi's mel frequency cepstra.
    Mfcc,
    /// Kaldi's cepstra of perceptual linear prediction.
    Plp,
    /// Kaldi's log power spectra.
    Spectrogram,
    /// Log-mel spectrograms of other toolkits.
    LogMel,
    /// Samples from -1 to 1.
    Samples,
}

impl FeatureKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [Self::Fbank, Self::Mfcc, Self::Plp, Self::Spectrogram, Self::LogMel, Self::Samples];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fbank => "fbank",
            Self::Mfcc => "mfcc",
            Self::Plp => "plp",
            Self::Spectrogram => "spectrogram",
            Self::LogMel => "log-mel",
            Self::Samples => "samples",
        }
    }
}

option_of_names!(FeatureKind);

/// The options of one kind of features.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
#[expect(missing_docs, reason = "a variant is named after its kind, whose options it has")]
pub enum FeatureOptions {
    Fbank(FbankOptions),
    Mfcc(MfccOptions),
    Plp(PlpOptions),
    Spectrogram(SpectrogramOptions),
    LogMel(LogMelOptions),
    Samples(SampleOptions),
}

impl Default for FeatureOptions {
    fn default() -> Self {
        Self::Fbank(FbankOptions::default())
    }
}

impl FeatureOptions {
    /// Returns the defaults of a kind.
    pub fn for_kind(kind: FeatureKind) -> Self {
        match kind {
            FeatureKind::Fbank => Self::Fbank(FbankOptions::default()),
            FeatureKind::Mfcc => Self::Mfcc(MfccOptions::default()),
            FeatureKind::Plp => Self::Plp(PlpOptions::default()),
            FeatureKind::Spectrogram => Self::Spectrogram(SpectrogramOptions::default()),
            FeatureKind::LogMel => Self::LogMel(LogMelOptions::default()),
            FeatureKind::Samples => Self::Samples(SampleOptions::default()),
        }
    }

    /// Returns the kind of the features.
    pub fn kind(&self) -> FeatureKind {
        match self {
            Self::Fbank(_) => FeatureKind::Fbank,
            Self::Mfcc(_) => FeatureKind::Mfcc,
            Self::Plp(_) => FeatureKind::Plp,
            Self::Spectrogram(_) => FeatureKind::Spectrogram,
            Self::LogMel(_) => FeatureKind::LogMel,
            Self::Samples(_) => FeatureKind::Samples,
        }
    }

    /// Returns the options of Kaldi's frames, if the features are of a kind of Kaldi's.
    pub fn frame_options(&self) -> Option<&FrameExtractionOptions> {
        match self {
            Self::Fbank(FbankOptions { frame, .. })
            | Self::Mfcc(MfccOptions { frame, .. })
            | Self::Plp(PlpOptions { frame, .. })
            | Self::Spectrogram(SpectrogramOptions { frame, .. }) => Some(frame),
            Self::LogMel(_) | Self::Samples(_) => None,
        }
    }

    /// Returns `true` if audio of `found` Hz must be resampled.
    ///
    /// # Errors
    /// [`Error::SampleRateMismatch`] if it must be and these options don't allow it,
    /// [`Error::BadSampleRate`] if `found` is not a sample rate.
    pub fn must_resample(&self, found: f32) -> Result<bool, Error> {
        let (samp_freq, down, up) = match self {
            Self::Fbank(FbankOptions { frame, .. })
            | Self::Mfcc(MfccOptions { frame, .. })
            | Self::Plp(PlpOptions { frame, .. })
            | Self::Spectrogram(SpectrogramOptions { frame, .. }) => {
                (frame.samp_freq, frame.allow_downsample, frame.allow_upsample)
            }
            Self::LogMel(own) => (own.samp_freq, own.allow_downsample, own.allow_upsample),
            Self::Samples(own) => (own.samp_freq, own.allow_downsample, own.allow_upsample),
        };
        must_resample(found, samp_freq, down, up)
    }

    /// Allows or forbids resampling audio of other sample rates.
    pub fn set_allow_resampling(&mut self, allow: bool) {
        let (down, up) = match self {
            Self::Fbank(FbankOptions { frame, .. })
            | Self::Mfcc(MfccOptions { frame, .. })
            | Self::Plp(PlpOptions { frame, .. })
            | Self::Spectrogram(SpectrogramOptions { frame, .. }) => {
                (&mut frame.allow_downsample, &mut frame.allow_upsample)
            }
            Self::LogMel(options) => (&mut options.allow_downsample, &mut options.allow_upsample),
            Self::Samples(options) => (&mut options.allow_downsample, &mut options.allow_upsample),
        };
        (*down, *up) = (allow, allow);
    }
}

impl OptionSet for FeatureOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        match self {
            Self::Fbank(options) => options.register(registry),
            Self::Mfcc(options) => options.register(registry),
            Self::Plp(options) => options.register(registry),
            Self::Spectrogram(options) => options.register(registry),
            Self::LogMel(options) => options.register(registry),
            Self::Samples(options) => options.register(registry),
        }
    }
}

/// Options of a [`FrontEnd`](crate::FrontEnd): a kind of features, with the steps before and after
/// it. The default is only Kaldi's filterbank features; a model's options come from
/// [`Preset::front_end`](crate::Preset::front_end).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct FrontEndOptions {
    /// The features.
    pub features: FeatureOptions,
    /// Before the features, x\[t\] - `preemphasis` x\[t-1\] replaces x\[t\], over the whole signal
    /// (the first sample stays); 0 = off.
    pub preemphasis: f32,
    /// Number of frames stacked in a row: the m of [`LowFrameRate`](crate::LowFrameRate).
    pub lfr_m: i32,
    /// Number of frames from one row to the next: the n of [`LowFrameRate`](crate::LowFrameRate).
    pub lfr_n: i32,
    /// The normalisation over the utterance, at the end.
    pub normalize: Normalize,
}

impl FrontEndOptions {
    /// Returns options of only this kind of features.
    pub fn from_features(features: FeatureOptions) -> Self {
        Self { features, ..Self::default() }
    }

    /// Returns `true` if there are no steps other than the features.
    pub(crate) fn is_features_alone(&self) -> bool {
        let Self { features: _, preemphasis, lfr_m, lfr_n, normalize } = self;
        (*preemphasis, *lfr_m, *lfr_n, *normalize) == (0.0, 1, 1, Normalize::None)
    }
}
