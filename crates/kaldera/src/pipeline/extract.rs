//! Extractors, which turn samples into rows of numbers.

use std::sync::Arc;

use kaldi_feat::{
    Audio, Extractor, Fbank, FbankOptions, FrontEnd, FrontEndWorkspace, Kind, LogMel, LogMelOptions, Mfcc, MfccOptions,
    Plp, PlpOptions, Spectrogram, SpectrogramOptions, Workspace,
};

use crate::Error;
use crate::pipeline::Pipeline;

/// A kind of features that a [`Pipeline`] can be made of: an [`Extractor`] of any kind, a
/// [`FrontEnd`], or one of your own.
pub trait FeatureExtractor: Sync {
    /// Memory to work in, one for each thread.
    type Workspace: Default + Send;

    /// Numbers in a row.
    fn dim(&self) -> usize;

    /// Overwrites `out` with the rows of `audio`, one after the other, and returns their number.
    ///
    /// # Errors
    /// When `audio` cannot be used: its recording fails then, and no other.
    fn compute_into(
        &self,
        workspace: &mut Self::Workspace,
        audio: &Audio<'_>,
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
        out: &mut Vec<f32>,
    ) -> Result<usize, kaldi_feat::Error> {
        self.compute_into(workspace, audio, out)
    }
}

impl FeatureExtractor for FrontEnd {
    type Workspace = FrontEndWorkspace;

    fn dim(&self) -> usize {
        self.dim()
    }

    fn compute_into(
        &self,
        workspace: &mut FrontEndWorkspace,
        audio: &Audio<'_>,
        out: &mut Vec<f32>,
    ) -> Result<usize, kaldi_feat::Error> {
        self.compute_into(workspace, audio, out)
    }
}

/// Implements the trait for references and `Arc`s of an extractor.
macro_rules! by_reference {
    ($($reference:ty: $($bound:ident)?;)*) => {$(
        impl<E: FeatureExtractor + $($bound +)? ?Sized> FeatureExtractor for $reference {
            type Workspace = E::Workspace;

            fn dim(&self) -> usize {
                (**self).dim()
            }

            fn compute_into(
                &self,
                workspace: &mut E::Workspace,
                audio: &Audio<'_>,
                out: &mut Vec<f32>,
            ) -> Result<usize, kaldi_feat::Error> {
                (**self).compute_into(workspace, audio, out)
            }
        }
    )*};
}

by_reference! { &E: ; Arc<E>: Send; }

impl Pipeline<'_, Fbank> {
    /// A pipeline of log mel filterbanks, as [`new`](Self::new) of them.
    ///
    /// # Errors
    /// Names the first option that can't be.
    pub fn fbank(options: FbankOptions) -> Result<Self, Error> {
        Ok(Self::new(Fbank::new(options)?))
    }
}

impl Pipeline<'_, Mfcc> {
    /// A pipeline of mel-frequency cepstra, as [`new`](Self::new) of them.
    ///
    /// # Errors
    /// Names the first option that can't be.
    pub fn mfcc(options: MfccOptions) -> Result<Self, Error> {
        Ok(Self::new(Mfcc::new(options)?))
    }
}

impl Pipeline<'_, Plp> {
    /// A pipeline of perceptual linear prediction's cepstra, as [`new`](Self::new) of them.
    ///
    /// # Errors
    /// Names the first option that can't be.
    pub fn plp(options: PlpOptions) -> Result<Self, Error> {
        Ok(Self::new(Plp::new(options)?))
    }
}

impl Pipeline<'_, Spectrogram> {
    /// A pipeline of log power spectra, as [`new`](Self::new) of them.
    ///
    /// # Errors
    /// Names the first option that can't be.
    pub fn spectrogram(options: SpectrogramOptions) -> Result<Self, Error> {
        Ok(Self::new(Spectrogram::new(options)?))
    }
}

impl Pipeline<'_, LogMel> {
    /// A pipeline of log-mel spectrograms as Whisper, librosa and NeMo compute them, as
    /// [`new`](Self::new) of them.
    ///
    /// # Errors
    /// Names the first option that can't be.
    pub fn log_mel(options: LogMelOptions) -> Result<Self, Error> {
        Ok(Self::new(LogMel::new(options)?))
    }
}
