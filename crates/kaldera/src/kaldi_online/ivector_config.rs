//! The configuration of i-vector extraction in streams, and its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldi_feat::options::{OptionError, OptionSet, Registry};
use kaldi_feat::{CmvnStats, OnlineCmvnOptions, Splice};
use kaldi_io::rxfilename::{Rxfilename, classify};
use kaldi_ivector::{IvectorExtractor, IvectorModel, IvectorOptions, IvectorTerms};
use kaldi_matrix::Matrix;

use crate::error::Error;
use crate::kaldi_online::config::read_config;
use crate::kaldi_online::files::read_model;
use crate::kaldi_online::folder::{Layout, OnlineFolder, Part, missing, text};
use crate::kaldi_online::ivector_rows::IvectorFrontEnd;

/// The files and options of i-vector extraction, under Kaldi's names: the contents of
/// `conf/ivector_extractor.conf`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
#[doc(alias = "OnlineIvectorExtractionConfig")]
pub struct IvectorConfig {
    /// The matrix that is applied to spliced features, perhaps with a column of offsets.
    pub lda_matrix: String,
    /// Global statistics for the online normalisation.
    pub global_cmvn_stats: String,
    /// Configuration of the online normalisation.
    pub cmvn_config: String,
    /// Configuration of splicing: `--left-context` and `--right-context`.
    pub splice_config: String,
    /// The universal background model.
    pub diag_ubm: String,
    /// The extractor.
    pub ivector_extractor: String,
    /// The options of the online normalisation before those of `cmvn_config`.
    pub cmvn: OnlineCmvnOptions,
    /// The options of the estimation.
    pub options: IvectorOptions,
}

impl OptionSet for IvectorConfig {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("lda-matrix", &mut self.lda_matrix, "Matrix that is applied to spliced features (rxfilename)");
        let doc = "Global statistics for the online normalisation of the features that choose Gaussians (rxfilename)";
        registry.add("global-cmvn-stats", &mut self.global_cmvn_stats, doc);
        let doc = "File with the options of the online normalisation, as of apply-cmvn-online";
        registry.add("cmvn-config", &mut self.cmvn_config, doc);
        let doc = "File with the options --left-context and --right-context of splicing";
        registry.add("splice-config", &mut self.splice_config, doc);
        registry.add("diag-ubm", &mut self.diag_ubm, "The mixture that chooses Gaussians, such as final.dubm");
        registry.add("ivector-extractor", &mut self.ivector_extractor, "The i-vector extractor, such as final.ie");
        let options = &mut self.options;
        let doc = "Accumulate normalised features, not only choose Gaussians by them";
        registry.add("online-cmvn-iextractor", &mut options.online_cmvn_iextractor, doc);
        registry.add("ivector-period", &mut options.ivector_period, "Frames from one i-vector to the next");
        registry.add("num-gselect", &mut options.num_gselect, "Number of Gaussians for a frame, at the most");
        registry.add("min-post", &mut options.min_post, "Posteriors below it are left out");
        registry.add("posterior-scale", &mut options.posterior_scale, "Factor of posteriors");
        let doc = "Count of frames times --posterior-scale from which the prior becomes stronger; 0 = never";
        registry.add("max-count", &mut options.max_count, doc);
        let doc = "Use the newest i-vector that there is, not the one for the frame";
        registry.add("use-most-recent-ivector", &mut options.use_most_recent_ivector, doc);
        let doc = "Look at all frames that are there for each i-vector";
        registry.add("greedy-ivector-extractor", &mut options.greedy_ivector_extractor, doc);
        let doc = "Frames of a speaker's earlier utterances that count for the next one, at the most";
        registry.add("max-remembered-frames", &mut options.max_remembered_frames, doc);
    }
}

/// Splicing, with Kaldi's defaults for streams.
struct SpliceOptions {
    left_context: i32,
    right_context: i32,
}

impl OptionSet for SpliceOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("left-context", &mut self.left_context, "Number of frames of left context");
        registry.add("right-context", &mut self.right_context, "Number of frames of right context");
    }
}

impl IvectorConfig {
    /// Reads a configuration file, such as `conf/ivector_extractor.conf`.
    ///
    /// # Errors
    /// As [`read_config`].
    pub fn read(rxfilename: &str) -> Result<Self, Error> {
        let mut config = Self::default();
        read_config(rxfilename, &mut config)?;
        Ok(config)
    }

    /// Returns the configuration of a folder as Vosk's models have it (`ivector`), with Vosk's
    /// `max_count` of 100 and `cmn_min_energy` of 50.
    pub fn vosk(folder: impl AsRef<Path>) -> Self {
        let file = |name: &str| folder.as_ref().join(name).to_string_lossy().into_owned();
        Self {
            lda_matrix: file("final.mat"),
            global_cmvn_stats: file("global_cmvn.stats"),
            cmvn_config: file("online_cmvn.conf"),
            splice_config: file("splice.conf"),
            diag_ubm: file("final.dubm"),
            ivector_extractor: file("final.ie"),
            cmvn: vosk_cmvn_options(),
            options: IvectorOptions::default().with_max_count(100.0),
        }
    }

    /// Returns the configuration of a folder; `None` if it has no i-vector extractor. The files
    /// that `conf/ivector_extractor.conf` names are files of the folder, which may have been moved.
    ///
    /// # Errors
    /// As [`read_config`]; [`Error::ModelFile`] for the name of a file that is not in the folder.
    pub fn of_folder(folder: &OnlineFolder) -> Result<Option<Self>, Error> {
        if folder.find_part(Part::IvectorExtractor).is_some() {
            return Ok(Some(Self::vosk(folder.root().join("ivector"))));
        }
        let path = folder.find_part(Part::IvectorConfig).filter(|_| folder.layout() == Layout::Kaldi);
        let Some(path) = path else { return Ok(None) };
        let mut config = Self::read(&text(path.clone())?)?;
        config.cmvn = vosk_cmvn_options();
        for name in config.names() {
            let missing = || format!("'{name}' is not in the folder: copy it into {}", folder.root().display());
            let file = folder.named(name);
            *name = text(file.ok_or_else(|| Error::ModelFile { path: path.clone(), reason: missing() })?)?;
        }
        Ok(Some(config))
    }

    /// Returns the names of its files.
    fn names(&mut self) -> [&mut String; 6] {
        let Self { lda_matrix, global_cmvn_stats, cmvn_config, splice_config, diag_ubm, ivector_extractor, .. } = self;
        [lda_matrix, global_cmvn_stats, cmvn_config, splice_config, diag_ubm, ivector_extractor]
    }

    /// Returns its files.
    pub fn files(mut self) -> [PathBuf; 6] {
        self.names().map(|name| std::mem::take(name).into())
    }

    /// Reads the files.
    ///
    /// # Errors
    /// [`Error::NoFile`] for a file that is not named, [`Error::ModelFile`] for a missing one; the
    /// errors of reading them;
    /// errors of parts that do not fit each other.
    #[doc(alias = "OnlineIvectorExtractionInfo")]
    pub fn open(&self) -> Result<Arc<IvectorFrontEnd>, Error> {
        let named = |option: &'static str, file: &str, purpose: &str| -> Result<String, Error> {
            if file.is_empty() {
                return Err(Error::NoFile { option });
            }
            match classify(file) {
                Ok(Rxfilename::File { .. }) if !Path::new(file).exists() => Err(missing(file.into(), purpose)),
                _ => Ok(file.to_owned()),
            }
        };
        let file = named("lda-matrix", &self.lda_matrix, "the matrix for spliced features of i-vectors")?;
        let lda: Matrix<f32> = kaldi_io::read_object(&file)?;
        let file = named("global-cmvn-stats", &self.global_cmvn_stats, "the global statistics of i-vectors' features")?;
        let stats: Matrix<f64> = kaldi_io::read_object(&file)?;
        let file = named("cmvn-config", &self.cmvn_config, "the options of i-vectors' online normalisation")?;
        let cmvn = read_cmvn_options(&file, self.cmvn.clone())?;
        let mut splice = SpliceOptions { left_context: 4, right_context: 4 };
        read_config(&named("splice-config", &self.splice_config, "the options of i-vectors' splicing")?, &mut splice)?;
        let ubm = read_model(&named("diag-ubm", &self.diag_ubm, "the mixture that chooses i-vectors' Gaussians")?)?;
        let file = named("ivector-extractor", &self.ivector_extractor, Part::IvectorExtractor.purpose())?;
        let extractor: IvectorExtractor = read_model(&file)?;
        let model = IvectorModel::new(ubm, IvectorTerms::new(&extractor)?, self.options.clone())?;
        let splice = Splice::new(splice.left_context, splice.right_context)?;
        IvectorFrontEnd::new(Arc::new(model), CmvnStats::from_matrix(stats)?, cmvn, splice, &lda).map(Arc::new)
    }
}

/// Returns the options of Vosk's Kaldi, whose default of `cmn_min_energy` is 50.
pub(super) fn vosk_cmvn_options() -> OnlineCmvnOptions {
    OnlineCmvnOptions::default().with_cmn_min_energy(Some(50.0))
}

/// Reads the options of the online normalisation from a configuration file; `options` are the
/// defaults.
///
/// # Errors
/// As [`read_config`]; [`Error::Option`] for `--skip-dims`.
pub fn read_cmvn_options(rxfilename: &str, options: OnlineCmvnOptions) -> Result<OnlineCmvnOptions, Error> {
    let mut cmvn = CmvnConfig { options, ..CmvnConfig::default() };
    read_config(rxfilename, &mut cmvn)?;
    if !cmvn.skip_dims.is_empty() {
        return Err(OptionError::new(&cmvn.skip_dims, "an empty list: --skip-dims is not supported here").into());
    }
    Ok(cmvn.options)
}

/// Options of the online normalisation, and Kaldi's options of its caches, which have no effect
/// here.
#[derive(Default)]
struct CmvnConfig {
    options: OnlineCmvnOptions,
    modulus: i32,
    ring_buffer_size: i32,
    skip_dims: String,
}

impl OptionSet for CmvnConfig {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.options.register(registry);
        registry.add("modulus", &mut self.modulus, "No effect: distance of the statistics that are kept");
        registry.add("ring-buffer-size", &mut self.ring_buffer_size, "No effect: number of statistics that are kept");
        registry.add("skip-dims", &mut self.skip_dims, "Dimensions to leave as they are; must be empty");
    }
}
