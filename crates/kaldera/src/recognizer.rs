//! From recordings to words: a model in a folder, and its recognisers.
//!
//! ```text
//! model folder: model.toml, tokens, network, perhaps graph, lexicon, language model;
//!      |        or a Vosk or Kaldi folder
//!      |
//! Recognizer --transcribe--> Recognition       one utterance
//!            --transcribe_long--> Transcript   a recording of any length, cut at pauses; by parts:
//!                                              LongTranscription
//!            --transcribe_all--> Transcripts   a corpus, on all processors, in order
//!            --stream--> RecognizerStream      an utterance as it comes: results so far, endpoints
//! LiveRecognizer --accept--> LiveUpdate        speech without an end, in utterances
//! AnyDecoder --decode--> Recognition           log-probabilities of another program
//! ```
//!
//! The folder's layout is in the facade's `MODEL.md`.
//!
//! A recognizer has one of two engines. `Stages` are the front end, network and decoder of a
//! `model.toml`, one after the other. The i-vectors of an online model of Kaldi depend on the words
//! so far: `Online` is a stream as a whole, samples in and words out.
//!
//! A transducer is one more search. Its encoder is a [`Network`], predictor and joiner are a
//! [`Predictor`](kaldera_network::Predictor). `Stages` have one path from samples to rows, and
//! [`AnyDecoder`] is the search over these rows. A network with states has one way to run, chunk by
//! chunk: an utterance is a stream that comes at once. A tokenizer, a decoder of audio or a runtime
//! may panic; the recording then fails with an error.
//!
//! A frame of live speech belongs to one utterance: the rows of the network's output are cut, not
//! the audio. A network with a state keeps it at an endpoint, and only the search begins anew. A
//! network that needs whole utterances runs again from a second before the cut; the rows of that
//! second are not decoded. So no word is found twice, and none is lost.

mod confinement;
mod decoding;
mod description;
mod digital_silence;
mod front_end;
mod live;
mod long;
mod many;
mod online;
mod parts;
mod pauses;
mod rate;
mod samples;
mod stages;
mod stream;
mod transducer;
mod utterances;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera_decoder::{FrameTimes, HotWord, Recognition, Segment, Vocabulary};
use kaldera_network::Network;
use kaldi_feat::Audio;
use lod::LodTensor;

pub use self::decoding::{AnyDecoder, DecodingOptions};
pub use self::live::LiveRecognizer;
pub use self::long::{LongTranscription, Transcript};
pub use self::many::AllOptions;
pub use self::pauses::{PauseOptions, cut_at_pauses};
pub use self::stream::RecognizerStream;
pub use self::utterances::LiveUpdate;
use crate::Error;
use crate::kaldi_online::{OnlineModel, SpeakerModel};
use crate::recognizer::decoding::NO_LOG_PROBS;
use crate::recognizer::description::Model;
use crate::recognizer::online::Online;
use crate::recognizer::rate::ModelRate;
use crate::recognizer::stages::Stages;

/// Recognises speech with the model of a folder.
///
/// ```
/// use kaldera::prelude::*;
/// # use kaldera::network::ParameterStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// // A model as small as can be: its scores are those of random weights.
/// let weights: Vec<f32> = (0_u8..120).map(|i| f32::from(i % 7) / 70.0 - 0.04).collect();
/// let mut network = ParameterStore::new();
/// network.insert("output.weight", &[3, 40], weights)?;
/// network.save(folder.join("network.safetensors"))?;
/// std::fs::write(folder.join("tokens.txt"), "<blk> 0\nyes 1\nno 2\n")?;
/// std::fs::write(folder.join("model.toml"), r#"
///     kind = "ctc"
///     tokens = "tokens.txt"
///     words = "tokens"
///     features = { kind = "fbank", num-mel-bins = 40, dither = 0.0 }
///     [network]
///     file = "network.safetensors"
///     layers = [{ kind = "linear", name = "output" }, { kind = "log-softmax" }]
/// "#)?;
///
/// let recognizer = Recognizer::open(folder)?;
/// let samples: Vec<i16> = (0..16_000).map(|i: i32| (i * i % 2000) as i16).collect();
/// let result = recognizer.transcribe(&Audio::new(&samples, 16_000.0).with_key("utt-1"))?;
/// println!("{}", result.text());
/// # assert_eq!((result.num_frames, result.hypotheses.len()), (98, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[doc(alias = "OfflineRecognizer")]
#[doc(alias = "OnlineRecognizer")]
pub struct Recognizer {
    engine: Engine,
}

/// The ways from samples to words.
#[derive(Debug)]
enum Engine {
    Stages(Arc<Stages>),
    Online(Box<Online>),
}

/// The problem of a Vosk or Kaldi folder where words are aligned.
const ALIGNMENT: &str = "a Vosk or Kaldi folder finds words, and aligns no given ones";

/// The problem of a Vosk or Kaldi folder where log-probabilities of tokens are needed.
const ROWS: &str = "a Vosk or Kaldi folder has no tokens, and no log-probabilities of them";

/// The problem of a Vosk or Kaldi folder where hot words are given.
const HOT_WORDS: &str = "a Vosk or Kaldi folder has no hot words";

impl Recognizer {
    /// Creates a recogniser from these parts. The front end's rows are the network's inputs, and
    /// the network's outputs are the decoder's tokens (for a transducer, the joiner's inputs). The
    /// front end and the network's subsampling determine the length of frames. Audio with a rate
    /// other than the front end's is resampled if its options allow that.
    ///
    /// ```
    /// use kaldera::feat::{FbankOptions, FeatureOptions, FrontEnd, FrontEndOptions};
    /// use kaldera::network::{Batch, Error, Network};
    /// use kaldera::prelude::*;
    ///
    /// /// A network of your own, which finds a "yes" in any speech.
    /// #[derive(Debug)]
    /// struct Yes;
    ///
    /// impl Network for Yes {
    ///     fn num_inputs(&self) -> usize {
    ///         23
    ///     }
    ///     fn num_outputs(&self) -> usize {
    ///         2
    ///     }
    ///     fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
    ///         let rows = batch.rows();
    ///         let values = [-20.0_f32, 0.0].repeat(rows.num_rows());
    ///         Ok(LodTensor::from_vec([rows.num_rows(), 2], values, rows.lod().clone())?)
    ///     }
    /// }
    ///
    /// let features = FeatureOptions::Fbank(FbankOptions::default());
    /// let front_end = FrontEnd::new(FrontEndOptions::from_features(features))?;
    /// let vocabulary = Vocabulary::new(["<blk>", "yes"], 0)?;
    /// let decoder = CtcDecoder::new(vocabulary, CtcDecoderOptions::default())?;
    /// let recognizer = Recognizer::new(front_end, Yes, decoder)?;
    /// assert_eq!(recognizer.transcribe(&Audio::new(&[100_i16; 8000], 16_000.0))?.text(), "yes");
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Network`] if the network takes rows of a width other than the front end's, and for
    /// a subsampling of 0; [`Error::Recognition`] if its outputs are not the decoder's.
    pub fn new(
        front_end: kaldi_feat::FrontEnd,
        network: impl Network + 'static,
        decoder: impl Into<AnyDecoder>,
    ) -> Result<Self, Error> {
        Stages::new(front_end, network, decoder.into()).map(Self::from_stages)
    }

    fn from_stages(stages: Stages) -> Self {
        Self { engine: Engine::Stages(Arc::new(stages)) }
    }

    /// Creates a recogniser from an online model of Kaldi, which may be shared.
    ///
    /// # Errors
    /// Errors of reading the folder's configuration.
    pub fn from_online_model(model: impl Into<Arc<OnlineModel>>) -> Result<Self, Error> {
        Ok(Self { engine: Engine::Online(Box::new(Online::new(model.into())?)) })
    }

    /// Returns an error for a phrase that cannot be a [hot word](Self::with_hot_words).
    ///
    /// # Errors
    /// As [`with_hot_words`](Self::with_hot_words).
    pub fn check_hot_word(&self, phrase: &str) -> Result<(), Error> {
        self.stages_for(HOT_WORDS)?.decoder().check_hot_word(phrase)
    }

    /// Returns a recogniser with these hot words in place of its own. It shares the network and the
    /// models of the decoder, so that a server can have one for each request. Phrases without a
    /// bonus have the default of [`DecodingOptions::hotword_weight`].
    ///
    /// # Errors
    /// [`Error::Recognition`] for a phrase that the tokens cannot spell, and for a decoding graph,
    /// which has no hot words.
    pub fn with_hot_words<T: Into<HotWord>>(&self, phrases: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let phrases = phrases.into_iter().map(Into::into).collect();
        self.stages_for(HOT_WORDS)?.with_hot_words(phrases).map(Self::from_stages)
    }

    /// Returns a recogniser that finds only the words of some phrases, in place of the grammar of a
    /// Vosk or Kaldi folder: a bigram of the phrases. The words that the model lacks are left out,
    /// and returned. `None` for a model whose grammar is fixed: of the folders, only one with the
    /// lexicon apart, `HCLr.fst`, takes another. Without phrases the grammar is the model's.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a grammar that is too large.
    pub fn with_phrases<T: Into<String>>(
        &self,
        phrases: impl IntoIterator<Item = T>,
    ) -> Result<Option<(Self, Vec<String>)>, Error> {
        let Engine::Online(online) = &self.engine else { return Ok(None) };
        let made = online.with_phrases(phrases.into_iter().map(Into::into).collect())?;
        Ok(made.map(|(online, unknown)| (Self { engine: Engine::Online(Box::new(online)) }, unknown)))
    }

    /// Returns a recogniser whose [`Transcript`]s have a vector of the speaker for each utterance.
    /// `None` for a model other than a Vosk or Kaldi folder, as the phones of the utterance decide
    /// where there is speech.
    pub fn with_speaker_model(&self, model: impl Into<Arc<SpeakerModel>>) -> Option<Self> {
        let Engine::Online(online) = &self.engine else { return None };
        Some(Self { engine: Engine::Online(Box::new(online.with_speaker_model(model.into()))) })
    }

    /// Opens the model of a folder, with the options of decoding in its description.
    ///
    /// # Errors
    /// [`Error::ModelFile`] and [`Error::ModelKey`] with the wrong file and key; [`Error::Network`]
    /// for weights that do not fit the description; [`Error::NoNetwork`] for a folder without a
    /// network, which [`AnyDecoder::open`] opens.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(folder, |options| options)
    }

    /// As [`open`](Self::open), with other options of decoding: `change` gets the options of the
    /// description.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        folder: impl AsRef<Path>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        Self::open_folder(folder.as_ref(), change, false)
    }

    /// As [`open_with`](Self::open_with), for a folder whose description names files outside it.
    /// Use it only for descriptions of your own: such a file may be any that you can read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_outside(
        folder: impl AsRef<Path>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        Self::open_folder(folder.as_ref(), change, true)
    }

    /// As [`open_with`](Self::open_with), for files that `read` returns by name, in places without
    /// a file system, such as a browser. The names are `model.toml` and those in it. A network in
    /// ONNX needs a folder.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::io;
    ///
    /// use kaldera::Recognizer;
    ///
    /// # let mut network = kaldera::network::ParameterStore::new();
    /// # network.insert("output.weight", &[3, 23], vec![0.1_f32; 69])?;
    /// let description = b"kind = 'ctc'\ntokens = 'tokens.txt'\nfeatures.kind = 'fbank'\n\
    ///     network = { file = 'network.safetensors', \
    ///     layers = [{ kind = 'linear', name = 'output' }] }";
    /// let mut files: HashMap<&str, Vec<u8>> = HashMap::new();
    /// files.insert("model.toml", description.to_vec());
    /// files.insert("tokens.txt", b"<blk> 0\nyes 1\nno 2\n".to_vec());
    /// files.insert("network.safetensors", network.to_bytes()?);
    /// let read = |name: &str| files.get(name).cloned().ok_or(io::ErrorKind::NotFound.into());
    /// let recognizer = Recognizer::from_files(read, |options| options)?;
    /// assert_eq!(recognizer.samp_freq(), 16_000.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_files(
        read: impl Fn(&str) -> io::Result<Vec<u8>>,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
    ) -> Result<Self, Error> {
        Stages::read(Model::from_files(&read)?, change).map(Self::from_stages)
    }

    fn open_folder(
        folder: &Path,
        change: impl FnOnce(DecodingOptions) -> DecodingOptions,
        outside: bool,
    ) -> Result<Self, Error> {
        match Online::find(folder)? {
            Some(found) => {
                let online = Online::open(found, &change(DecodingOptions::default()), outside)?;
                Ok(Self { engine: Engine::Online(Box::new(online)) })
            }
            None => Stages::read(Model::open(folder, outside)?, change).map(Self::from_stages),
        }
    }

    /// Returns front end, network and decoder; `reason` is the error of an online model.
    fn stages_for(&self, reason: &str) -> Result<&Arc<Stages>, Error> {
        match &self.engine {
            Engine::Stages(stages) => Ok(stages),
            Engine::Online(online) => Err(online.refuse(reason)),
        }
    }

    fn stages(&self) -> Option<&Stages> {
        match &self.engine {
            Engine::Stages(stages) => Some(stages),
            Engine::Online(_) => None,
        }
    }

    /// Returns the decoder; `None` for a Vosk or Kaldi folder.
    pub fn decoder(&self) -> Option<&AnyDecoder> {
        self.stages().map(Stages::decoder)
    }

    /// Returns the online model of a Vosk or Kaldi folder; `None` for other models.
    pub fn online_model(&self) -> Option<&Arc<OnlineModel>> {
        match &self.engine {
            Engine::Stages(_) => None,
            Engine::Online(online) => Some(online.model()),
        }
    }

    /// Returns the [speaker model](Self::with_speaker_model).
    pub fn speaker_model(&self) -> Option<&Arc<SpeakerModel>> {
        match &self.engine {
            Engine::Stages(_) => None,
            Engine::Online(online) => online.speaker_model(),
        }
    }

    /// Returns the files that the model was read from; none for files in memory. They determine its
    /// words, and no output may replace them.
    pub fn files(&self) -> &[PathBuf] {
        match &self.engine {
            Engine::Stages(stages) => stages.decoder().files(),
            Engine::Online(online) => online.files(),
        }
    }

    /// Returns the network's tokens; `None` for a Vosk or Kaldi folder.
    pub fn vocabulary(&self) -> Option<&Vocabulary> {
        self.decoder().map(AnyDecoder::vocabulary)
    }

    /// Returns the length of frames of the network's output.
    pub fn times(&self) -> &FrameTimes {
        match &self.engine {
            Engine::Stages(stages) => stages.decoder().times(),
            Engine::Online(online) => online.times(),
        }
    }

    /// Returns the sample rate that the model was trained for; audio of another rate is resampled.
    pub fn samp_freq(&self) -> f32 {
        self.rate().samp_freq()
    }

    fn rate(&self) -> &ModelRate {
        match &self.engine {
            Engine::Stages(stages) => stages.rate(),
            Engine::Online(online) => online.rate(),
        }
    }

    /// Warns once that audio is resampled.
    fn tell_resampling(&self, samp_freq: f32) {
        self.rate().tell_resampling(samp_freq);
    }

    /// Returns `true` for a transducer, which has no log-probabilities of frames.
    pub fn is_transducer(&self) -> bool {
        self.decoder().is_some_and(|decoder| decoder.transducer().is_some())
    }

    /// Returns the maximum number of hypotheses of an utterance.
    pub fn n_best(&self) -> usize {
        match &self.engine {
            Engine::Stages(stages) => stages.decoder().n_best(),
            Engine::Online(online) => online.n_best(),
        }
    }

    /// Returns the words of an utterance of one channel. Its key is its name in the result and in
    /// errors. Audio that is shorter than a frame has no words. Words have the times at which they
    /// are [heard](kaldera_decoder::align::Loudness), tokens the times of their frames.
    ///
    /// # Errors
    /// Errors of the features, the network and the decoder.
    pub fn transcribe(&self, audio: &Audio<'_>) -> Result<Recognition, Error> {
        let mut found = self.transcribe_frames(audio)?;
        self.widen(audio, &mut found);
        Ok(found)
    }

    /// As [`transcribe`](Self::transcribe); words have the times of their frames.
    fn transcribe_frames(&self, audio: &Audio<'_>) -> Result<Recognition, Error> {
        match &self.engine {
            Engine::Stages(stages) => stages.transcribe(audio),
            Engine::Online(online) => online.transcribe(audio),
        }
    }

    /// Gives words the times at which they are heard. An online model finds these itself.
    fn widen(&self, audio: &Audio<'_>, found: &mut Recognition) {
        if let Some(stages) = self.stages() {
            stages.widen(audio, found);
        }
    }

    /// As [`transcribe`](Self::transcribe) for each utterance; the network runs once over all of
    /// them, without padding.
    ///
    /// # Errors
    /// As [`transcribe`](Self::transcribe), for the first utterance that fails.
    pub fn transcribe_batch(&self, audio: &[Audio<'_>]) -> Result<Vec<Recognition>, Error> {
        match &self.engine {
            Engine::Stages(stages) => stages.transcribe_batch(audio),
            Engine::Online(online) => audio.iter().map(|audio| online.transcribe(audio)).collect(),
        }
    }

    /// Returns the network's log-probabilities of utterances: `[frames, tokens]`, one sequence for
    /// each.
    ///
    /// # Errors
    /// Errors of the features and the network; [`Error::ModelFile`] for a
    /// [transducer](Self::is_transducer).
    pub fn log_probs(&self, audio: &[Audio<'_>]) -> Result<LodTensor<f32>, Error> {
        self.stages_with_log_probs()?.network_rows(audio)
    }

    fn stages_with_log_probs(&self) -> Result<&Arc<Stages>, Error> {
        let stages = self.stages_for(ROWS)?;
        let path = || self.files().first().cloned().unwrap_or_default();
        match self.is_transducer() {
            true => Err(Error::ModelFile { path: path(), reason: NO_LOG_PROBS.to_owned() }),
            false => Ok(stages),
        }
    }

    /// Returns the words for log-probabilities, row by row.
    ///
    /// # Errors
    /// Errors of the decoder; [`Error::ModelFile`] for a [transducer](Self::is_transducer).
    pub fn decode(&self, utterance: &str, log_probs: &[f32]) -> Result<Recognition, Error> {
        self.stages_with_log_probs()?.decoder().decode(utterance, log_probs)
    }

    /// Aligns the words of a transcript with an utterance. The best fitting spelling of a word is
    /// used; a separator may stand between words and at both ends. For a transducer the first
    /// spelling is used; the separator, if there is one, stands between words, not at the ends.
    /// Times are as in [`transcribe`](Self::transcribe).
    ///
    /// # Errors
    /// [`Error::Recognition`] for a word that the tokens cannot spell, and for an utterance that is
    /// too short for its transcript; errors of the features and the network.
    #[doc(alias = "forced alignment")]
    pub fn align(&self, audio: &Audio<'_>, transcript: &str) -> Result<Vec<Segment>, Error> {
        Ok(self.stages_for(ALIGNMENT)?.align(audio, transcript)?.0)
    }

    /// Creates a stream of an utterance with samples of this rate, which shares the recognizer.
    ///
    /// # Errors
    /// An error for a rate that cannot be resampled.
    pub fn stream(self: &Arc<Self>, utterance: &str, samp_freq: f32) -> Result<RecognizerStream, Error> {
        self.tell_resampling(samp_freq);
        RecognizerStream::new(self, utterance, samp_freq)
    }
}
