//! Features and i-vectors of a stream, up to the network, as Kaldi's online decoders compute them.

use std::sync::Arc;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{
    CmvnStats, Extractor, Fbank, FbankOptions, FeatureStream, FrameExtractionOptions, Kind, Mfcc, MfccOptions,
    OnlineCmvn, OnlineCmvnOptions, PitchExtractionOptions, Plp, PlpOptions, ProcessPitchOptions, RowStream,
};
use kaldera::io::read_object;
use kaldera::ivector::SilenceWeightingOptions;
use kaldera::kaldi_online::{
    IvectorConfig, IvectorFrontEnd, IvectorSpeaker, IvectorStream, PitchedRows, read_cmvn_options, read_config,
};
use kaldera::matrix::Matrix;
use kaldera::nnet3::Stream;
use kaldera::pipeline::{FeatureExtractor, PitchFeatures};
use tracing::warn;

use crate::kaldi::{Failure, colon_list};

/// The options of features, which name files with more options.
pub(super) struct FeatureConfig {
    feature_type: String,
    mfcc_config: String,
    plp_config: String,
    fbank_config: String,
    cmvn_config: String,
    global_cmvn_stats: String,
    add_pitch: bool,
    online_pitch_config: String,
    ivector_extraction_config: String,
    silence_phones: String,
    silence_weight: f32,
    max_state_duration: f32,
}

impl Default for FeatureConfig {
    fn default() -> Self {
        Self {
            feature_type: "mfcc".to_owned(),
            mfcc_config: String::new(),
            plp_config: String::new(),
            fbank_config: String::new(),
            cmvn_config: String::new(),
            global_cmvn_stats: String::new(),
            add_pitch: false,
            online_pitch_config: String::new(),
            ivector_extraction_config: String::new(),
            silence_phones: String::new(),
            silence_weight: 1.0,
            max_state_duration: -1.0,
        }
    }
}

impl OptionSet for FeatureConfig {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("feature-type", &mut self.feature_type, "Kind of the features: mfcc, plp or fbank");
        registry.add("mfcc-config", &mut self.mfcc_config, "File with the options of MFCC");
        registry.add("plp-config", &mut self.plp_config, "File with the options of PLP");
        registry.add("fbank-config", &mut self.fbank_config, "File with the options of filterbanks");
        let doc = "File with the options of the online normalisation of the network's features; none without it";
        registry.add("cmvn-config", &mut self.cmvn_config, doc);
        let doc = "Global statistics of the network's features, for --cmvn-config (rxfilename)";
        registry.add("global-cmvn-stats", &mut self.global_cmvn_stats, doc);
        registry.add("add-pitch", &mut self.add_pitch, "Append the features of pitch; i-vectors are without them");
        let doc = "File with the options of pitch and of its features";
        registry.add("online-pitch-config", &mut self.online_pitch_config, doc);
        let doc = "File with the options of i-vectors, such as conf/ivector_extractor.conf";
        registry.add("ivector-extraction-config", &mut self.ivector_extraction_config, doc);
        let doc = "Phones that have --ivector-silence-weighting.silence-weight in i-vectors, such as 1:2:3";
        registry.add("ivector-silence-weighting.silence-phones", &mut self.silence_phones, doc);
        let doc = "Weight of frames of silence in i-vectors";
        registry.add("ivector-silence-weighting.silence-weight", &mut self.silence_weight, doc);
        let doc = "Frames of one transition from which its repetition counts as silence in i-vectors; -1 = never";
        registry.add("ivector-silence-weighting.max-state-duration", &mut self.max_state_duration, doc);
    }
}

impl FeatureConfig {
    /// Reads the files. `online` is `false` if each i-vector may see all frames.
    pub(super) fn open(&self, online: bool) -> Result<FeatureInfo, Failure> {
        let mut mfcc = MfccOptions::default();
        self.read("mfcc", &self.mfcc_config, &mut mfcc)?;
        let mut plp = PlpOptions::default();
        self.read("plp", &self.plp_config, &mut plp)?;
        let mut fbank = FbankOptions::default();
        self.read("fbank", &self.fbank_config, &mut fbank)?;
        let mut info = match &*self.feature_type {
            "mfcc" => FeatureInfo::new(Mfcc::new(mfcc)?),
            "plp" => FeatureInfo::new(Plp::new(plp)?),
            "fbank" => FeatureInfo::new(Fbank::new(fbank)?),
            other => {
                let (name, value) = ("feature-type", other.to_owned());
                return Err(Failure::Option { name, value, expected: "mfcc, plp or fbank" });
            }
        };
        info.pitch = self.pitch()?;
        if !self.cmvn_config.is_empty() {
            let options = read_cmvn_options(&self.cmvn_config, OnlineCmvnOptions::default())?;
            if self.global_cmvn_stats.is_empty() {
                return Err(Failure::Alone { name: "cmvn-config", needs: "global-cmvn-stats" });
            }
            let stats = CmvnStats::from_matrix(read_object::<Matrix<f64>>(&self.global_cmvn_stats)?)?;
            info.cmvn = Some(OnlineCmvn::new(options, stats)?);
        }
        if !self.ivector_extraction_config.is_empty() {
            let mut config = IvectorConfig::read(&self.ivector_extraction_config)?;
            if !online {
                config.options.use_most_recent_ivector = true;
                config.options.greedy_ivector_extractor = true;
            }
            info.ivector = Some(config.open()?);
        }
        Ok(info)
    }

    fn pitch(&self) -> Result<Option<PitchFeatures>, Failure> {
        let mut options = <(PitchExtractionOptions, ProcessPitchOptions)>::default();
        if !self.online_pitch_config.is_empty() {
            read_config(&self.online_pitch_config, &mut options)?;
            if !self.add_pitch {
                warn!("--online-pitch-config has no effect without --add-pitch");
            }
        }
        Ok(if self.add_pitch { Some(PitchFeatures::new(options.0, options.1)?) } else { None })
    }

    fn read(&self, kind: &str, file: &str, options: &mut impl OptionSet) -> Result<(), Failure> {
        if file.is_empty() {
            return Ok(());
        }
        if kind != self.feature_type {
            warn!("--{kind}-config has no effect: the features are {}", self.feature_type);
        }
        Ok(read_config(file, options)?)
    }

    /// Returns the phones of silence for i-vectors, and the weight of their frames.
    pub(super) fn silence(&self) -> Result<(Vec<i32>, SilenceWeightingOptions), Failure> {
        let name = "ivector-silence-weighting.silence-phones";
        let phones = phones(name, &self.silence_phones)?;
        let longest = Some(self.max_state_duration).filter(|&frames| frames > 0.0).map(|frames| frames as usize);
        let options = SilenceWeightingOptions::default().with_silence_weight(self.silence_weight);
        Ok((phones, options.with_max_state_duration(longest)))
    }
}

/// Reads phones with colons or commas between them.
pub(super) fn phones(name: &'static str, text: &str) -> Result<Vec<i32>, Failure> {
    let wrong = || Failure::Option { name, value: text.to_owned(), expected: "phones, such as 1:2:3" };
    colon_list(&text.replace(',', ":")).ok_or_else(wrong)
}

/// Features of a stream, row by row.
trait Rows {
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), Failure>;
    fn finish(&mut self, rows: &mut Vec<f32>);
}

impl<K: Kind> Rows for FeatureStream<K> {
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), Failure> {
        FeatureStream::accept(self, samples)?;
        self.take_rows(rows);
        Ok(())
    }

    fn finish(&mut self, rows: &mut Vec<f32>) {
        FeatureStream::finish(self);
        self.take_rows(rows);
    }
}

type NewRows = dyn Fn(&str, f32) -> Result<Box<dyn Rows>, Failure>;

/// The parts that all streams share.
pub(super) struct FeatureInfo {
    new_rows: Box<NewRows>,
    /// Number of columns without pitch.
    base_dim: usize,
    pitch: Option<PitchFeatures>,
    /// Seconds from a frame to the next.
    pub(super) frame_shift: f32,
    cmvn: Option<OnlineCmvn>,
    pub(super) ivector: Option<Arc<IvectorFrontEnd>>,
}

impl FeatureInfo {
    fn new<K: Kind>(extractor: Extractor<K>) -> Self {
        let FrameExtractionOptions { frame_shift_ms, .. } = extractor.frame_options();
        let (base_dim, frame_shift) = (extractor.dim(), frame_shift_ms / 1000.0);
        let extractor = Arc::new(extractor.rounded_as_kaldi());
        let new_rows = move |key: &str, samp_freq: f32| -> Result<Box<dyn Rows>, Failure> {
            Ok(Box::new(FeatureStream::new(Arc::clone(&extractor)).with_sample_rate(samp_freq)?.with_key(key)))
        };
        Self { new_rows: Box::new(new_rows), base_dim, pitch: None, frame_shift, cmvn: None, ivector: None }
    }

    /// Returns the number of columns of the network's features.
    pub(super) fn dim(&self) -> usize {
        self.base_dim + self.pitch.as_ref().map_or(0, PitchFeatures::dim)
    }

    /// Begins an utterance of a speaker.
    pub(super) fn stream(&self, key: &str, samp_freq: f32, speaker: &Speaker) -> Result<Features, Failure> {
        let mut cmvn = self.cmvn.clone();
        if let (Some(cmvn), Some(stats)) = (&mut cmvn, &speaker.cmvn) {
            cmvn.set_speaker(Some(stats.clone()))?;
        }
        let pitch = self.pitch.as_ref().map(|pitch| pitch.stream(samp_freq, key)).transpose()?;
        let new_ivector = |front_end: &Arc<_>| IvectorStream::new(Arc::clone(front_end), speaker.ivector.clone());
        Ok(Features {
            base: (self.new_rows)(key, samp_freq)?,
            rows: PitchedRows::new(self.base_dim, pitch),
            cmvn,
            ivector: self.ivector.as_ref().map(new_ivector).transpose()?,
            sums: speaker.cmvn.clone().unwrap_or_else(|| CmvnStats::new(self.dim())),
            new: Vec::new(),
        })
    }
}

/// A speaker's earlier utterances.
#[derive(Default)]
pub(super) struct Speaker {
    cmvn: Option<CmvnStats>,
    ivector: Option<IvectorSpeaker>,
}

/// The features of an utterance.
pub(super) struct Features {
    base: Box<dyn Rows>,
    rows: PitchedRows,
    cmvn: Option<OnlineCmvn>,
    pub(super) ivector: Option<IvectorStream>,
    /// Sums of the speaker's frames.
    sums: CmvnStats,
    new: Vec<f32>,
}

impl Features {
    /// Takes samples on the scale of 16-bit integers.
    pub(super) fn accept(&mut self, samples: &[f32]) -> Result<(), Failure> {
        self.new.clear();
        self.base.accept(samples, &mut self.new)?;
        self.rows.accept(samples, &self.new)?;
        if let Some(ivector) = &mut self.ivector {
            ivector.accept(&self.new)?;
        }
        Ok(())
    }

    /// Takes the end of the samples, and gives the last rows to the network.
    pub(super) fn finish(&mut self, network: &mut Stream) -> Result<(), Failure> {
        self.new.clear();
        self.base.finish(&mut self.new);
        self.rows.finish(&self.new)?;
        if let Some(ivector) = &mut self.ivector {
            ivector.accept(&self.new)?;
            ivector.finish()?;
        }
        network.push(&self.take(self.rows.num_waiting())?)?;
        network.end();
        Ok(())
    }

    /// Returns `true` if the network has the rows of a chunk, which it gets when all are there.
    pub(super) fn fill(&mut self, network: &mut Stream) -> Result<bool, Failure> {
        let missing = network.frames_to_chunk();
        if missing <= self.rows.num_waiting() {
            network.push(&self.take(missing)?)?;
        }
        Ok(network.ready())
    }

    /// Takes rows for the network.
    fn take(&mut self, count: usize) -> Result<Matrix<f32>, Failure> {
        let (dim, mut values) = (self.rows.dim(), Vec::new());
        self.rows.take(count, &mut values);
        let count = values.len() / dim;
        if count == 0 {
            return Ok(Matrix::default());
        }
        let rows = Matrix::from_vec(count, dim, values)?;
        let Some(cmvn) = &mut self.cmvn else { return Ok(rows) };
        self.sums.accumulate(&rows)?;
        let mut normalised = Vec::with_capacity(count * dim);
        for row in rows.rows() {
            cmvn.accept(row, &mut normalised)?;
        }
        Ok(Matrix::from_vec(count, dim, normalised)?)
    }

    /// Returns the number of frames whose features and i-vector are there.
    pub(super) fn num_frames_ready(&self) -> usize {
        let frames = self.rows.num_frames_ready();
        self.ivector.as_ref().map_or(frames, |ivector| ivector.num_frames_ready().min(frames))
    }

    /// Sets `out` to the newest i-vector, if there is one.
    pub(super) fn newest_ivector(&mut self, out: &mut [f32]) -> Result<(), Failure> {
        let newest = self.num_frames_ready().checked_sub(1);
        if let (Some(ivector), Some(frame)) = (&mut self.ivector, newest) {
            ivector.ivector(frame, out)?;
        }
        Ok(())
    }

    /// Returns the speaker for the next utterance.
    pub(super) fn speaker(mut self) -> Result<Speaker, Failure> {
        // Rows after the end of an utterance count for the normalisation of the next one.
        self.take(self.rows.num_waiting())?;
        let ivector = self.ivector.as_mut().map(IvectorStream::speaker).transpose()?;
        let cmvn = Some(self.sums).filter(|sums| self.cmvn.is_some() && sums.count() > 0.0);
        Ok(Speaker { cmvn, ivector })
    }
}
