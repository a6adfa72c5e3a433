//! Whole front ends: from samples to the rows that a network takes.

pub(crate) mod options;
pub(crate) mod samples;
pub(crate) mod stream;

use std::fmt::Debug;
use std::sync::Arc;

use kaldera_base::par;
use kaldi_matrix::Matrix;

use crate::audio::Audio;
use crate::batch::FeatureBatch;
use crate::error::Error;
use crate::extractor::{Extractor, Kind, num_resampled};
use crate::front_end::options::{FeatureOptions, FrontEndOptions};
use crate::front_end::samples::{SampleRows, SampleStream};
use crate::front_end::stream::{AnyStream, FrontEndStream};
use crate::kinds::fbank::Fbank;
use crate::kinds::log_mel::LogMel;
use crate::kinds::mfcc::Mfcc;
use crate::kinds::plp::Plp;
use crate::kinds::spectrogram::Spectrogram;
use crate::resample::LinearResample;
use crate::rows::global_cmvn::GlobalCmvn;
use crate::rows::low_frame_rate::LowFrameRate;
use crate::rows::normalize::Normalize;
use crate::spectrum::workspace::Workspace;
use crate::stream::FeatureStream;

/// The whole front end of a model: features of any kind, with the steps before and after them.
///
/// ```text
///  samples ──> resampling, ──> features ──> LFR ────> (x + shift) scale ──> normalisation ──> rows
///              preemphasis     fbank,       m frames  GlobalCmvn            over the
///                              log-mel ...  in a row                        utterance
/// ```
///
/// ```
/// use kaldi_feat::{Audio, FrontEnd, Preset};
///
/// // Add .with_cmvn(...) of its am.mvn.
/// let sense_voice = FrontEnd::new(Preset::SenseVoice.front_end())?;
/// let second: Vec<i16> = (0..16000).map(|i| (1000.0 * (i as f32 * 0.2).sin()) as i16).collect();
/// let rows = sense_voice.compute(&Audio::new(&second, 16000.0))?;
/// assert_eq!((rows.num_rows(), rows.num_cols()), (17, 560));
///
/// let mut stream = sense_voice.stream("utterance", 16000.0)?;
/// let mut streamed = Vec::new();
/// for chunk in second.chunks(1600) {
///     stream.accept(chunk)?;
///     stream.take_rows(&mut streamed);
/// }
/// stream.finish();
/// stream.take_rows(&mut streamed);
/// assert_eq!(streamed, rows.data());
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias("feature_extractor", "WavFrontend", "FeatureExtractor"))]
pub struct FrontEnd {
    options: FrontEndOptions,
    features: Box<dyn AnyFeatures>,
    rate: LowFrameRate,
    cmvn: Option<GlobalCmvn>,
}

/// A workspace that can be reused.
#[derive(Debug, Default)]
pub struct FrontEndWorkspace {
    features: Workspace,
    /// The signal with preemphasis.
    samples: Vec<f32>,
    /// The rows before LFR.
    rows: Vec<f32>,
}

/// Features of any kind.
trait AnyFeatures: Debug + Send + Sync {
    fn dim(&self) -> usize;
    fn samp_freq(&self) -> f32;
    /// Returns the distance from one row to the next, in samples.
    fn shift(&self) -> usize;
    fn resampler(&self, samp_freq: f32) -> Result<Option<Arc<LinearResample>>, Error>;
    fn num_rows(&self, audio: &Audio<'_>) -> Result<usize, Error>;
    /// Overwrites `out` with the rows.
    fn compute(&self, workspace: &mut Workspace, audio: &Audio<'_>, out: &mut Vec<f32>) -> Result<(), Error>;
    fn stream(&self, key: &str, samp_freq: f32) -> Result<Box<dyn AnyStream>, Error>;
    fn needs_utterance(&self) -> bool;
    /// Applies the step that a stream's rows lack.
    fn finish_rows(&self, rows: &mut [f32]);
}

impl<K: Kind> AnyFeatures for Arc<Extractor<K>> {
    fn dim(&self) -> usize {
        Extractor::dim(self)
    }

    fn samp_freq(&self) -> f32 {
        self.frame_options().samp_freq
    }

    fn shift(&self) -> usize {
        self.frame_shift_samples()
    }

    fn resampler(&self, samp_freq: f32) -> Result<Option<Arc<LinearResample>>, Error> {
        Extractor::resampler(self, samp_freq)
    }

    fn num_rows(&self, audio: &Audio<'_>) -> Result<usize, Error> {
        self.num_frames(audio)
    }

    fn compute(&self, workspace: &mut Workspace, audio: &Audio<'_>, out: &mut Vec<f32>) -> Result<(), Error> {
        self.compute_into(workspace, audio, out).map(|_| ())
    }

    fn stream(&self, key: &str, samp_freq: f32) -> Result<Box<dyn AnyStream>, Error> {
        Ok(Box::new(FeatureStream::new(Arc::clone(self)).with_key(key).with_sample_rate(samp_freq)?))
    }

    fn needs_utterance(&self) -> bool {
        Extractor::needs_utterance(self)
    }

    fn finish_rows(&self, rows: &mut [f32]) {
        self.kind().finish(rows);
    }
}

impl AnyFeatures for SampleRows {
    fn dim(&self) -> usize {
        SampleRows::dim(self)
    }

    fn samp_freq(&self) -> f32 {
        self.options.samp_freq
    }

    fn shift(&self) -> usize {
        self.frame
    }

    fn resampler(&self, samp_freq: f32) -> Result<Option<Arc<LinearResample>>, Error> {
        Ok(SampleRows::resampler(self, samp_freq)?.map(Arc::new))
    }

    fn num_rows(&self, audio: &Audio<'_>) -> Result<usize, Error> {
        let resampler = SampleRows::resampler(self, audio.samp_freq)?;
        Ok(num_resampled(audio, resampler.as_ref())?.div_ceil(self.frame))
    }

    fn compute(&self, _: &mut Workspace, audio: &Audio<'_>, out: &mut Vec<f32>) -> Result<(), Error> {
        AnyFeatures::num_rows(self, audio)?;
        audio.samples.check_finite()?;
        let mut stream = SampleRows::stream(self, audio.samp_freq)?;
        stream.accept(audio.samples);
        stream.finish();
        out.clear();
        stream.take_rows(out);
        Ok(())
    }

    fn stream(&self, _: &str, samp_freq: f32) -> Result<Box<dyn AnyStream>, Error> {
        Ok(Box::new(SampleRows::stream(self, samp_freq)?))
    }

    fn needs_utterance(&self) -> bool {
        false
    }

    fn finish_rows(&self, _: &mut [f32]) {}
}

impl FrontEnd {
    /// Plans a front end.
    ///
    /// # Errors
    /// Names the first field of the options that has a bad value.
    pub fn new(options: FrontEndOptions) -> Result<Self, Error> {
        let rate = LowFrameRate::new(options.lfr_m, options.lfr_n)?;
        if !(0.0..=1.0).contains(&options.preemphasis) {
            return Err(Error::bad_option("preemphasis", options.preemphasis, "a number from 0 to 1"));
        }
        let features: Box<dyn AnyFeatures> = match options.features.clone() {
            FeatureOptions::Fbank(options) => Box::new(Arc::new(Fbank::new(options)?)),
            FeatureOptions::Mfcc(options) => Box::new(Arc::new(Mfcc::new(options)?)),
            FeatureOptions::Plp(options) => Box::new(Arc::new(Plp::new(options)?)),
            FeatureOptions::Spectrogram(options) => Box::new(Arc::new(Spectrogram::new(options)?)),
            FeatureOptions::LogMel(options) => Box::new(Arc::new(LogMel::new(options)?)),
            FeatureOptions::Samples(options) => Box::new(SampleRows::new(options)?),
        };
        Ok(Self { options, features, rate, cmvn: None })
    }

    /// Returns the same front end with the normalisation that comes with a model.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if its rows have another length.
    pub fn with_cmvn(self, cmvn: GlobalCmvn) -> Result<Self, Error> {
        let (expected, found) = (self.dim(), cmvn.dim());
        if expected != found {
            return Err(Error::DimMismatch { what: "the CMVN of the front end", expected, found });
        }
        Ok(Self { cmvn: Some(cmvn), ..self })
    }

    /// Returns the options.
    pub fn options(&self) -> &FrontEndOptions {
        &self.options
    }

    /// Returns the normalisation that comes with a model.
    pub fn cmvn(&self) -> Option<&GlobalCmvn> {
        self.cmvn.as_ref()
    }

    /// Returns the number of values in a row.
    pub fn dim(&self) -> usize {
        self.rate.output_dim(self.features.dim())
    }

    /// Returns the sample rate of the options, Hz.
    pub fn samp_freq(&self) -> f32 {
        self.features.samp_freq()
    }

    /// Returns the distance from one row to the next, in samples.
    pub fn shift_samples(&self) -> usize {
        self.features.shift() * self.rate.stride()
    }

    /// Returns the number of rows that `audio` gives.
    ///
    /// # Errors
    /// If the sample rate differs from the options' rate and resampling is not allowed.
    pub fn num_rows(&self, audio: &Audio<'_>) -> Result<usize, Error> {
        Ok(self.rate.num_rows(self.features.num_rows(audio)?))
    }

    /// Computes the rows of a whole waveform.
    ///
    /// # Errors
    /// As [`Extractor::compute`].
    pub fn compute(&self, audio: &Audio<'_>) -> Result<Matrix<f32>, Error> {
        let mut values = Vec::new();
        let rows = self.compute_into(&mut FrontEndWorkspace::default(), audio, &mut values)?;
        let cols = if rows == 0 { 0 } else { self.dim() };
        Ok(Matrix::from_vec(rows, cols, values).expect("as many values as rows and columns say"))
    }

    /// Same as [`compute`](Self::compute), but reuses memory: it overwrites `out` with the rows,
    /// one after the other, and returns their number.
    ///
    /// # Errors
    /// As `compute`.
    pub fn compute_into(
        &self,
        workspace: &mut FrontEndWorkspace,
        audio: &Audio<'_>,
        out: &mut Vec<f32>,
    ) -> Result<usize, Error> {
        let FrontEndWorkspace { features, samples, rows } = workspace;
        let audio = if self.options.preemphasis == 0.0 {
            *audio
        } else {
            self.features.num_rows(audio)?;
            audio.samples.check_finite()?;
            samples.clear();
            let mut stream = self.emphasized(audio.samp_freq)?;
            stream.accept(audio.samples, samples);
            stream.finish(samples);
            Audio::new(&*samples, self.samp_freq()).with_key(audio.key).with_vtln_warp(audio.vtln_warp)
        };
        if self.rate.is_identity() {
            self.features.compute(features, &audio, out)?;
            if let Some(cmvn) = &self.cmvn {
                cmvn.apply(out)?;
            }
        } else {
            self.features.compute(features, &audio, rows)?;
            out.clear();
            let normalized = |row: &mut [f32]| self.cmvn.iter().for_each(|cmvn| cmvn.apply_row(row));
            self.rate.append_rows(rows, self.features.dim(), normalized, out);
        }
        self.options.normalize.apply(out, self.dim());
        Ok(out.len() / self.dim())
    }

    /// Computes the rows of many utterances, in parallel over rayon's current pool with the feature
    /// `rayon`. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// As [`compute`](Self::compute), for the first utterance that fails; and if the rows don't fit
    /// in 32-bit row splits.
    pub fn compute_batch(&self, batch: &[Audio<'_>]) -> Result<FeatureBatch, Error> {
        let all = par::map(batch.iter().collect(), |audio: &Audio<'_>| {
            let mut out = Vec::new();
            self.compute_into(&mut FrontEndWorkspace::default(), audio, &mut out).map(|rows| (rows, out))
        });
        let (mut row_splits, mut values, mut rows) = (vec![0], Vec::new(), 0);
        for utterance in all {
            let (own, out) = utterance?;
            rows += own;
            row_splits.push(i32::try_from(rows).map_err(|_| Error::BatchTooLarge { frames: rows })?);
            values.extend(out);
        }
        let cols = if rows == 0 { 0 } else { self.dim() };
        let values = Matrix::from_vec(rows, cols, values).expect("as many values as rows and columns say");
        Ok(FeatureBatch { values, row_splits })
    }

    /// Returns the reason that rows depend on the whole utterance, if they do.
    fn utterance_reason(&self) -> Option<&'static str> {
        match self.options.normalize {
            _ if self.features.needs_utterance() => Some("its largest value is a bound of all others (`range`)"),
            Normalize::None => None,
            _ => Some("mean and variance are those of the utterance (`normalize`)"),
        }
    }

    /// Returns `true` if each row depends on all rows of its utterance, so that there is no
    /// [`stream`](Self::stream).
    pub fn needs_utterance(&self) -> bool {
        self.utterance_reason().is_some()
    }

    /// Opens a stream of the rows of the utterance `key`, whose samples arrive in chunks of
    /// `samp_freq` Hz. The rows equal the rows of [`compute`](Self::compute) bit for bit.
    ///
    /// # Errors
    /// [`Error::NeedsUtterance`] if each row [depends on all](Self::needs_utterance), and as
    /// [`compute`](Self::compute).
    pub fn stream(&self, key: &str, samp_freq: f32) -> Result<FrontEndStream, Error> {
        match self.utterance_reason() {
            Some(reason) => Err(Error::NeedsUtterance { reason }),
            None => self.unfinished_stream(key, samp_freq),
        }
    }

    /// Same as [`stream`](Self::stream), but for any front end: the rows lack the step that depends
    /// on the whole utterance, and [`finish_rows`](Self::finish_rows) applies it to all of them.
    ///
    /// # Errors
    /// As [`compute`](Self::compute).
    pub fn unfinished_stream(&self, key: &str, samp_freq: f32) -> Result<FrontEndStream, Error> {
        let emphasized = match self.options.preemphasis == 0.0 {
            true => None,
            false => Some(self.emphasized(samp_freq)?),
        };
        let features = self.features.stream(key, emphasized.as_ref().map_or(samp_freq, |_| self.samp_freq()))?;
        Ok(FrontEndStream::new(emphasized, features, self.features.dim(), self.rate, self.cmvn.clone()))
    }

    /// Applies the step that depends on the whole utterance to rows of an
    /// [`unfinished_stream`](Self::unfinished_stream), which are taken for all rows of the
    /// utterance.
    pub fn finish_rows(&self, rows: &mut [f32]) {
        self.features.finish_rows(rows);
        self.options.normalize.apply(rows, self.dim());
    }

    /// Creates the stream of the signal with preemphasis, at the rate of the options.
    fn emphasized(&self, samp_freq: f32) -> Result<SampleStream, Error> {
        let resampler = self.features.resampler(samp_freq)?;
        Ok(SampleStream::new(resampler).with_preemphasis(self.options.preemphasis))
    }
}
