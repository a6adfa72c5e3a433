//! From recordings to features: several threads, one order, little memory.
//!
//! ```text
//!   Inputs ---> thread: read WAV, extract ---+
//!     keys ---> thread: read WAV, extract ---+--- in the order of Inputs ---> FeatureSink
//!               ...                          +--- failures by key ----------> Summary
//! ```
//!
//! - The output does not depend on the number of threads, to the byte.
//! - A recording that fails is left out, and the [`Summary`] tells which and why.
//! - Memory depends on the longest recordings and the number of threads; of the corpus only names are kept.

mod inputs;
mod ordered;
mod sink;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use kaldi_feat::{Audio, Extractor, Kind, Samples, Workspace};
use kaldi_io::rxfilename::Input;
use kaldi_io::wave::WaveData;
use kaldi_matrix::SubMatrix;

pub use self::inputs::{Inputs, Source, Utterance};
pub use self::sink::{ENDINGS, FeatureFile, FeatureSink};
use crate::Error;

/// Extracts the features of many recordings.
///
/// ```no_run
/// use kaldera::feat::{Fbank, FbankOptions};
/// use kaldera::pipeline::{Inputs, Pipeline};
///
/// let fbank = Fbank::new(FbankOptions::default())?;
/// let inputs = Inputs::from_paths(["recordings/"])?;
/// let summary = Pipeline::new(&fbank).jobs(2).run_to_file(&inputs, "fbank.ark")?;
/// println!("{} frames; {} recordings failed", summary.frames, summary.failures.len());
/// # Ok::<(), kaldera::Error>(())
/// ```
#[derive(Debug)]
pub struct Pipeline<'a, K: Kind> {
    extractor: &'a Extractor<K>,
    jobs: usize,
    channel: Option<usize>,
    min_seconds: f32,
    vtln_warp: f32,
    subtract_mean: bool,
}

impl<'a, K: Kind> Pipeline<'a, K> {
    /// A pipeline with a thread per processor.
    pub fn new(extractor: &'a Extractor<K>) -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self { extractor, jobs, channel: None, min_seconds: 0.0, vtln_warp: 1.0, subtract_mean: false }
    }

    /// Uses `jobs` threads; without the feature `rayon` it is always one.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Takes this channel of each recording, counted from 0. Otherwise it is the first one, with a warning if there are more.
    #[must_use]
    pub fn channel(self, channel: usize) -> Self {
        Self { channel: Some(channel), ..self }
    }

    /// Lets recordings shorter than this many seconds fail.
    #[must_use]
    #[doc(alias = "min-duration")]
    pub fn min_seconds(self, min_seconds: f32) -> Self {
        Self { min_seconds, ..self }
    }

    /// Warps the frequencies by this factor (vocal tract length normalisation); 1 is none.
    #[must_use]
    pub fn vtln_warp(self, vtln_warp: f32) -> Self {
        Self { vtln_warp, ..self }
    }

    /// Subtracts from each dimension its mean over the recording.
    #[must_use]
    pub fn subtract_mean(self, subtract_mean: bool) -> Self {
        Self { subtract_mean, ..self }
    }

    /// Writes the features of each recording to `sink`, in the order of `inputs`.
    ///
    /// # Errors
    /// When `sink` fails. A recording that fails is in the summary instead.
    pub fn run(&self, inputs: &Inputs, sink: &mut (impl FeatureSink + Send)) -> Result<Summary, Error> {
        self.run_with(inputs, sink, |_| ())
    }

    /// As [`run`](Self::run), and calls `progress` after each recording, in their order, from one thread at a time.
    ///
    /// # Errors
    /// When `sink` fails.
    pub fn run_with(
        &self,
        inputs: &Inputs,
        sink: &mut (impl FeatureSink + Send),
        mut progress: impl FnMut(&Summary) + Send,
    ) -> Result<Summary, Error> {
        let utterances = inputs.utterances();
        let dim = self.extractor.dim();
        let mut summary = Summary { dim, ..Summary::default() };
        let work = |workspace: &mut Workspace, index: usize, extracted: &mut Extracted| {
            extracted.outcome = self.extract(&utterances[index], workspace, &mut extracted.features);
        };
        let commit = |index: usize, extracted: &mut Extracted| -> Result<(), Error> {
            let utterance: &Utterance = &utterances[index];
            match std::mem::replace(&mut extracted.outcome, Ok(Extent::default())) {
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
        ordered::run(self.jobs, utterances.len(), Workspace::default, work, commit)?;
        Ok(summary)
    }

    /// As [`run`](Self::run), into a file (see [`FeatureFile`]), which is not made if every recording fails.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn run_to_file(&self, inputs: &Inputs, path: impl AsRef<Path>) -> Result<Summary, Error> {
        let mut file = FeatureFile::create(path)?;
        let summary = self.run(inputs, &mut file)?;
        if summary.utterances > 0 {
            file.finish()?;
        }
        Ok(summary)
    }

    /// Replaces `features` by those of `utterance`.
    fn extract(
        &self,
        utterance: &Utterance,
        workspace: &mut Workspace,
        features: &mut Vec<f32>,
    ) -> Result<Extent, Error> {
        let wave = read(&utterance.source)?;
        let seconds = wave.duration();
        if seconds < self.min_seconds {
            return Err(Error::TooShort { seconds, min_seconds: self.min_seconds });
        }
        let channel = self.choose_channel(&utterance.key, wave.num_channels)?;
        let samples = wave.channel(channel);
        let audio = Audio { samples: Samples::I16(&samples), samp_freq: wave.samp_freq, key: &utterance.key };
        let frames = self.extractor.compute_into(workspace, &audio, self.vtln_warp, features)?;
        if frames == 0 {
            return Err(Error::NoFrames { samples: samples.len(), samp_freq: wave.samp_freq });
        }
        if self.subtract_mean {
            subtract_mean(features, self.extractor.dim());
        }
        Ok(Extent { frames, seconds })
    }

    fn choose_channel(&self, key: &str, channels: usize) -> Result<usize, Error> {
        match self.channel {
            Some(channel) if channel >= channels => Err(Error::NoSuchChannel { channel, channels }),
            Some(channel) => Ok(channel),
            None => {
                if channels > 1 {
                    tracing::warn!("{key} has {channels} channels; taking the first (--channel=0)");
                }
                Ok(0)
            }
        }
    }
}

/// What a run did, or has done so far.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Recordings that went well.
    pub utterances: u64,
    /// Their duration.
    pub seconds: f64,
    /// Rows of their features.
    pub frames: u64,
    /// Columns of their features.
    pub dim: usize,
    /// Recordings that did not, in order.
    pub failures: Vec<Failure>,
}

/// A recording without features.
#[derive(Debug, thiserror::Error)]
#[error("{} ({}): {source}", utterance.key, utterance.source)]
#[non_exhaustive]
pub struct Failure {
    /// Which one.
    pub utterance: Utterance,
    /// Why.
    pub source: Error,
}

/// The features of one recording, or why there are none.
struct Extracted {
    features: Vec<f32>,
    outcome: Result<Extent, Error>,
}

impl Default for Extracted {
    fn default() -> Self {
        Self { features: Vec::new(), outcome: Ok(Extent::default()) }
    }
}

#[derive(Default)]
struct Extent {
    frames: usize,
    seconds: f32,
}

/// Enough to read a header at once; samples go past this buffer.
const HEADER_BYTES: usize = 1 << 10;

fn read(source: &Source) -> Result<WaveData, Error> {
    Ok(match source {
        Source::File(path) => {
            let file = File::open(path).map_err(|source| Error::Open { source })?;
            WaveData::read_whole(&mut BufReader::with_capacity(HEADER_BYTES, file))?
        }
        Source::Script(rxfilename) => WaveData::read_whole(&mut Input::open(rxfilename)?)?,
    })
}

fn subtract_mean(features: &mut [f32], dim: usize) {
    let mut mean = vec![0.0_f32; dim];
    for row in features.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value);
    }
    let frames = (features.len() / dim) as f32;
    for row in features.chunks_exact_mut(dim) {
        row.iter_mut().zip(&mean).for_each(|(value, sum)| *value -= sum / frames);
    }
}
