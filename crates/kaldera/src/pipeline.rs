//! From recordings to features: several threads, one order, little memory.
//!
//! ```text
//!   Inputs --> thread: read, extract, normalise -+
//!     keys --> thread: read, extract, normalise -+- in order of Inputs -> FeatureSink, or Batches
//!              ...                               +- failures by key ----> Summary
//! ```
//!
//! - The output does not depend on the number of threads, to the byte.
//! - A recording that fails is left out. The [`Summary`] names it and the reason.
//! - Memory depends on the longest recordings and the number of threads; of the whole corpus only
//!   names are kept.
//! - The features are processed in this order: pitch is appended, then normalisation, deltas, the
//!   choice of voiced frames.
//! - At most 8 MiB of features wait for an earlier recording, so an hour-long recording among short
//!   ones costs its own size and no more.
//! - CMVN per speaker reads the corpus twice and does not keep it.
//! - To resume, the incomplete file is kept under a hash of options and inputs, and a finished file
//!   has a record, `OUT.resume`, in the same folder. So no file of another run is taken for it.
//! - Shards are consecutive, so that merging them in order gives the bytes of a single run.

mod batches;
mod extract;
pub(crate) mod inputs;
pub(crate) mod limits;
mod merge;
pub(crate) mod ordered;
mod overwrite;
mod pitch;
mod post;
mod read_features;
pub(crate) mod reader;
mod sink;

use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use kaldera_audio::{ChannelChoice, Pipes, ReadOptions, Recording};
use kaldi_feat::{Audio, DeltaFeaturesOptions, PitchWorkspace, Resamplers, Samples, VadEnergyOptions};
use kaldi_matrix::{Matrix, MatrixBase, StorageMut, SubMatrix, SubMatrixMut, Vector};

pub use self::batches::{Batch, Batches};
pub use self::extract::FeatureExtractor;
pub use self::inputs::{Inputs, Shard, Source, Span, Utterance};
pub use self::merge::{merge, shards_of};
pub use self::pitch::{NccfAndPitch, PitchFeatures, PitchStream};
pub use self::post::Cmvn;
use self::post::{GroupStats, Post, check_finite};
pub use self::read_features::{read_features, read_features_with};
use self::reader::{Reader, channel_of, frames_of};
pub use self::sink::{ENDINGS, FeatureFile, FeatureSink, Found, LineFile, PartialFile, RunId};
use crate::Error;

/// Extracts the features of many recordings.
///
/// ```no_run
/// use kaldera::feat::{DeltaFeaturesOptions, FbankOptions};
/// use kaldera::pipeline::{Cmvn, Inputs, Pipeline};
///
/// let inputs = Inputs::from_paths(["data/train"])?;
/// let pipeline = Pipeline::fbank(FbankOptions::default())?
///     .with_jobs(2)
///     .with_cmvn(Cmvn::Speaker { norm_vars: true })
///     .with_deltas(DeltaFeaturesOptions::default());
/// let summary = pipeline.run_to_file(&inputs, "fbank.ark")?;
/// println!("{} frames; {} recordings failed", summary.frames, summary.failures.len());
/// # Ok::<(), kaldera::Error>(())
/// ```
#[derive(Debug)]
pub struct Pipeline<'a, E> {
    extractor: E,
    jobs: usize,
    channel: ChannelChoice,
    min_seconds: f32,
    vtln_warp: f32,
    subtract_mean: bool,
    resamplers: Option<Resamplers>,
    pitch: Option<&'a PitchFeatures>,
    post: Post,
    reading: ReadOptions,
    stop: Option<&'a AtomicBool>,
}

impl<'a, E: FeatureExtractor> Pipeline<'a, E> {
    /// A pipeline with a thread per processor. The extractor may be owned, borrowed or shared in an
    /// [`Arc`].
    pub fn new(extractor: E) -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            extractor,
            jobs,
            channel: ChannelChoice::First,
            min_seconds: 0.0,
            vtln_warp: 1.0,
            subtract_mean: false,
            resamplers: None,
            pitch: None,
            post: Post::default(),
            reading: ReadOptions::default(),
            stop: None,
        }
    }

    /// Uses `jobs` threads; without the feature `rayon` it is always one.
    #[must_use]
    pub fn with_jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Takes this channel of each recording, counted from 0, or the [mean](ChannelChoice::Mean)
    /// of all, unless its [`Utterance`] names a channel. The default is the first one, with a
    /// warning if there are more.
    #[must_use]
    pub fn with_channel(self, channel: impl Into<ChannelChoice>) -> Self {
        Self { channel: channel.into(), ..self }
    }

    /// Lets recordings shorter than this many seconds fail.
    #[must_use]
    #[doc(alias = "min-duration")]
    pub fn with_min_seconds(self, min_seconds: f32) -> Self {
        Self { min_seconds, ..self }
    }

    /// Resamples recordings of other rates to `samp_freq` Hz, with the quality of ffmpeg's default
    /// ([`PolyphaseResample`](kaldi_feat::PolyphaseResample)), before anything is computed of them.
    /// The options `allow_downsample` and `allow_upsample` of the features resample as Kaldi does.
    #[must_use]
    pub fn with_resampling(self, samp_freq: f32) -> Self {
        Self { resamplers: Some(Resamplers::new(samp_freq)), ..self }
    }

    /// Warps the frequencies by this factor (vocal tract length normalisation); 1 leaves them
    /// unchanged.
    #[must_use]
    pub fn with_vtln_warp(self, vtln_warp: f32) -> Self {
        Self { vtln_warp, ..self }
    }

    /// Subtracts from each dimension its mean over the recording.
    #[must_use]
    pub fn with_subtract_mean(self, subtract_mean: bool) -> Self {
        Self { subtract_mean, ..self }
    }

    /// Appends pitch columns to the features.
    #[must_use]
    #[doc(alias = "paste-feats")]
    pub fn with_pitch(self, pitch: &'a PitchFeatures) -> Self {
        Self { pitch: Some(pitch), ..self }
    }

    /// Normalises means, and variances.
    #[must_use]
    #[doc(alias = "apply-cmvn")]
    pub fn with_cmvn(mut self, cmvn: Cmvn) -> Self {
        self.post.cmvn = Some(cmvn);
        self
    }

    /// Adds deltas.
    #[must_use]
    #[doc(alias = "add-deltas")]
    pub fn with_deltas(mut self, deltas: DeltaFeaturesOptions) -> Self {
        self.post.deltas = Some(deltas);
        self
    }

    /// Keeps only voiced frames. Column 0 of the features must be a log energy.
    #[must_use]
    #[doc(alias = "select-voiced-frames")]
    pub fn with_voiced_only(mut self, vad: VadEnergyOptions) -> Self {
        self.post.vad = Some(vad);
        self
    }

    /// Reads recordings as `options` say.
    #[must_use]
    pub fn with_reading(self, options: ReadOptions) -> Self {
        Self { reading: options, ..self }
    }

    /// Ends a run with [`Error::Stopped`] soon after `stop` has become true. Incomplete outputs
    /// leave nothing.
    #[must_use]
    pub fn with_stop(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Numbers in a row of the features that come out.
    pub fn dim(&self) -> usize {
        self.post.dim(self.raw_dim())
    }

    /// Writes the features of each recording to `sink`, in the order of `inputs`.
    ///
    /// # Errors
    /// When `sink` fails, when one of its [outputs](FeatureSink::outputs) is an input, and when it
    /// refuses a key: these two before anything is written. A recording that fails is in the
    /// summary instead.
    pub fn run(&self, inputs: &Inputs, sink: &mut (impl FeatureSink + Send)) -> Result<Summary, Error> {
        self.run_with(inputs, sink, |_| ())
    }

    /// As [`run`](Self::run), and calls `progress` after each recording, in their order, from one
    /// thread at a time.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run), and [`Error::Stopped`].
    pub fn run_with(
        &self,
        inputs: &Inputs,
        sink: &mut (impl FeatureSink + Send),
        mut progress: impl FnMut(&Summary) + Send,
    ) -> Result<Summary, Error> {
        inputs.refuse_overwriting(&sink.outputs())?;
        inputs.utterances().iter().try_for_each(|utterance| sink.check_key(&utterance.key))?;
        let stats = self.group_stats(inputs)?;
        let utterances: Vec<_> = inputs.utterances().iter().filter(|utterance| !sink.has(&utterance.key)).collect();
        let dim = self.dim();
        let earlier = (inputs.utterances().len() - utterances.len()) as u64;
        let (rejected, num_rejected) = (inputs.rejected().to_vec(), inputs.num_rejected());
        let mut summary = Summary { dim, earlier, rejected, num_rejected, ..Summary::default() };
        let work = |worker: &mut Worker<E::Workspace>, index: usize, extracted: &mut Extracted| {
            extracted.outcome = self.extract(utterances[index], stats.as_ref(), worker, &mut extracted.features);
        };
        let commit = |index: usize, extracted: &mut Extracted| -> Result<(), Error> {
            self.check_stop()?;
            let utterance: &Utterance = utterances[index];
            match mem::replace(&mut extracted.outcome, Ok(Extent::default())) {
                Ok(Extent { frames, seconds }) => {
                    sink.write(&utterance.key, SubMatrix::new(&extracted.features, frames, dim, dim)?)?;
                    summary.utterances += 1;
                    summary.frames += frames as u64;
                    summary.seconds += f64::from(seconds);
                }
                Err(source) => summary.failures.push(Failure { utterance: utterance.clone(), source }),
            }
            progress(&summary);
            Ok(())
        };
        ordered::run(self.jobs, utterances.len(), Worker::default, work, commit)?;
        Ok(summary)
    }

    /// As [`run`](Self::run), into a file (see [`FeatureFile`]), which is not made if every
    /// recording fails.
    ///
    /// # Errors
    /// When the file cannot be written, is an input, or cannot hold a key.
    pub fn run_to_file(&self, inputs: &Inputs, path: impl AsRef<Path>) -> Result<Summary, Error> {
        let mut file = FeatureFile::create(path)?;
        let summary = self.run(inputs, &mut file)?;
        if summary.utterances > 0 {
            file.finish()?;
        }
        Ok(summary)
    }

    /// The statistics of a first run over all recordings, if features are normalised over more
    /// than one of them.
    fn group_stats(&self, inputs: &Inputs) -> Result<Option<GroupStats>, Error> {
        let Some(cmvn) = self.post.cmvn.as_ref().filter(|cmvn| cmvn.needs_others()) else { return Ok(None) };
        let utterances = inputs.utterances();
        let mut stats = GroupStats::new(cmvn);
        let work = |worker: &mut Worker<E::Workspace>, index: usize, extracted: &mut Extracted| {
            extracted.outcome = self.raw(&utterances[index], worker, &mut extracted.features);
        };
        let commit = |index: usize, extracted: &mut Extracted| -> Result<(), Error> {
            self.check_stop()?;
            // A recording that fails here fails again in the second run, and is reported then.
            if let Ok(Extent { frames, .. }) = extracted.outcome {
                let dim = self.raw_dim();
                stats.add(&utterances[index], SubMatrix::new(&extracted.features, frames, dim, dim)?)?;
            }
            Ok(())
        };
        ordered::run(self.jobs, utterances.len(), Worker::default, work, commit)?;
        Ok(Some(stats))
    }

    fn check_stop(&self) -> Result<(), Error> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Stopped),
            _ => Ok(()),
        }
    }

    /// Replaces `features` by the features of `utterance`, with all processing.
    fn extract(
        &self,
        utterance: &Utterance,
        stats: Option<&GroupStats>,
        worker: &mut Worker<E::Workspace>,
        features: &mut Vec<f32>,
    ) -> Result<Extent, Error> {
        let Extent { frames, seconds } = self.raw(utterance, worker, features)?;
        if self.post.is_nothing() {
            return Ok(Extent { frames, seconds });
        }
        let raw = Matrix::from_vec(frames, self.raw_dim(), mem::take(features))?;
        let done = self.post.apply(utterance, stats, raw)?;
        let frames = done.num_rows();
        *features = done.into_vec();
        check_finite(features, frames)?;
        Ok(Extent { frames, seconds })
    }

    fn raw_dim(&self) -> usize {
        self.extractor.dim() + self.pitch.map_or(0, PitchFeatures::dim)
    }

    /// Replaces `features` by the features of `utterance`, before any processing.
    fn raw(
        &self,
        utterance: &Utterance,
        worker: &mut Worker<E::Workspace>,
        features: &mut Vec<f32>,
    ) -> Result<Extent, Error> {
        self.check_stop()?;
        let recording = {
            // Warnings from the depths then name the recording.
            let _span = tracing::error_span!("reading", key = utterance.key, file = %utterance.source).entered();
            worker.reader.read(&utterance.source, utterance.span, &self.reading)?
        };
        let range = frames_of(&recording, utterance.span)?;
        let samp_freq = recording.samp_freq();
        let seconds = range.len() as f32 / samp_freq;
        if seconds < self.min_seconds {
            return Err(Error::TooShort { seconds, min_seconds: self.min_seconds });
        }
        let channel = channel_of(&recording, utterance, self.channel, range)?;
        let (samples, samp_freq) = if let Some(resamplers) = &self.resamplers
            && let Some(resampler) = resamplers.get(samp_freq)?
        {
            channel.resample_into(&resampler, &mut worker.samples)?;
            (Samples::F32(&worker.samples), resamplers.samp_rate_out())
        } else {
            (channel.samples(&mut worker.samples), samp_freq)
        };
        let audio = Audio::new(samples, samp_freq).with_key(&utterance.key).with_vtln_warp(self.vtln_warp);
        let extracted = self.extractor.compute_into(&mut worker.workspace, &audio, features);
        let mut frames = extracted.map_err(|error| match error {
            kaldi_feat::Error::SampleRateMismatch { found, expected, direction } => {
                Error::SampleRate { found, expected, direction }
            }
            error => error.into(),
        })?;
        if frames == 0 {
            return Err(Error::NoFrames { samples: audio.samples.len(), samp_freq: audio.samp_freq });
        }
        if let Some(pitch) = self.pitch {
            frames = pitch.paste(&mut worker.pitch, &audio, frames, features)?;
        }
        if self.subtract_mean {
            let dim = self.raw_dim();
            subtract_mean(&mut SubMatrixMut::new(features, frames, dim, dim)?)?;
        }
        check_finite(features, frames)?;
        Ok(Extent { frames, seconds })
    }
}

/// Subtracts from each column its mean.
///
/// # Errors
/// None that features can cause.
#[doc(alias = "subtract-mean")]
pub fn subtract_mean(features: &mut MatrixBase<impl StorageMut<Elem = f32>>) -> Result<(), kaldi_matrix::Error> {
    let mut mean = Vector::zeros(features.num_cols());
    mean.add_row_sum_mat(1.0 / features.num_rows() as f32, features, 0.0)?;
    features.add_vec_to_rows(-1.0, &mean)
}

/// The results of a run, so far or complete.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Recordings that went well.
    pub utterances: u64,
    /// Recordings that an earlier run has done, and that this one skipped.
    pub earlier: u64,
    /// The duration of those that went well.
    pub seconds: f64,
    /// Rows of their features.
    pub frames: u64,
    /// Columns of their features.
    pub dim: usize,
    /// Recordings that did not, in order.
    pub failures: Vec<Failure>,
    /// The inputs that could not even be listed: see [`Inputs::rejected`].
    pub rejected: Vec<Arc<Error>>,
    /// The number of these, of which the first hundred are kept.
    pub num_rejected: usize,
}

/// A recording without features.
#[derive(Debug, thiserror::Error)]
#[error("{} ({}): {source}", utterance.key, utterance.source)]
#[non_exhaustive]
pub struct Failure {
    /// The utterance that failed.
    pub utterance: Utterance,
    /// Why.
    pub source: Error,
}

/// The state of each thread.
#[derive(Default)]
struct Worker<W> {
    workspace: W,
    pitch: PitchWorkspace,
    reader: Reader,
    /// The samples of one channel of a recording.
    samples: Vec<f32>,
}

/// The features of one recording, or the reason why there are none.
struct Extracted {
    features: Vec<f32>,
    outcome: Result<Extent, Error>,
}

impl Default for Extracted {
    fn default() -> Self {
        Self { features: Vec::new(), outcome: Ok(Extent::default()) }
    }
}

impl ordered::Weighed for Extracted {
    fn bytes(&self) -> usize {
        self.features.len() * size_of::<f32>()
    }
}

#[derive(Default)]
struct Extent {
    frames: usize,
    seconds: f32,
}
