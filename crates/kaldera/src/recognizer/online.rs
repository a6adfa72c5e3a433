//! A Vosk or Kaldi folder as a model.

mod options;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsa::incremental::IncrementalDecoder;
use kaldera_decoder::{FrameTimes, Recognition};
use kaldi_feat::Audio;

pub(super) use self::stream::OnlineStream;
use crate::Error;
use crate::kaldi_online::{OnlineFolder, OnlineModel, OnlineModelOptions, SpeakerModel};
use crate::recognizer::confinement::{self, Bounds};
use crate::recognizer::decoding::DecodingOptions;
use crate::recognizer::rate::ModelRate;

/// An online model: samples in, words out. The i-vectors of its network depend on the words so far,
/// so that there are no rows of a network without a search.
#[derive(Debug, Clone)]
pub(super) struct Online {
    model: Arc<OnlineModel>,
    speaker_model: Option<Arc<SpeakerModel>>,
    times: FrameTimes,
    n_best: usize,
    /// A grammar in place of the model's, unless there are none.
    phrases: Vec<String>,
    rate: Arc<ModelRate>,
    files: Vec<PathBuf>,
}

impl Online {
    /// Returns the folder of an online model, if there is one and no `model.toml`.
    pub(super) fn find(folder: &Path) -> Result<Option<OnlineFolder>, Error> {
        match OnlineFolder::is_one(folder) && !folder.join("model.toml").exists() {
            true => OnlineFolder::find(folder).map(Some),
            false => Ok(None),
        }
    }

    /// Opens a folder. With `outside` its files may be links to files outside it, and its
    /// configuration may name them.
    pub(super) fn open(folder: OnlineFolder, options: &DecodingOptions, outside: bool) -> Result<Self, Error> {
        options::refuse_idle(folder.root(), options)?;
        if !outside {
            confine(&folder)?;
        }
        let opening = OnlineModelOptions::default();
        let model = OnlineModel::open_with(folder, &opening, |config| options::changed(config, options))?;
        // Options without sense are told here, and not for each recording.
        IncrementalDecoder::new(model.decoder().config().search)?;
        let n_best = options.num_hypotheses();
        Ok(Self { n_best, ..Self::new(Arc::new(model))? })
    }

    /// Creates a recogniser with one hypothesis.
    pub(super) fn new(model: Arc<OnlineModel>) -> Result<Self, Error> {
        let subsampling = model.decoder().config().frame_subsampling_factor;
        let times = FrameTimes::default().with_subsampling(u32::try_from(subsampling).unwrap_or(u32::MAX));
        let (rate, files) = (ModelRate::new(model.samp_freq()).into(), OnlineModel::files(model.folder())?);
        Ok(Self { model, speaker_model: None, times, n_best: 1, phrases: vec![], rate, files })
    }

    /// Returns it with a grammar of phrases, and the words that the model lacks; `None` if its
    /// grammar is fixed.
    pub(super) fn with_phrases(&self, phrases: Vec<String>) -> Result<Option<(Self, Vec<String>)>, Error> {
        let made = self.model.decoder().phrase_decoder(phrases.iter().map(String::as_str))?;
        Ok(made.map(|(_, unknown)| (Self { phrases, ..self.clone() }, unknown)))
    }

    /// Returns it with a speaker model.
    pub(super) fn with_speaker_model(&self, model: Arc<SpeakerModel>) -> Self {
        let mut files = self.files.clone();
        if let Some(before) = &self.speaker_model {
            files.truncate(files.len() - before.files().len());
        }
        files.extend_from_slice(model.files());
        Self { speaker_model: Some(model), files, ..self.clone() }
    }

    /// Returns the speaker model.
    pub(super) fn speaker_model(&self) -> Option<&Arc<SpeakerModel>> {
        self.speaker_model.as_ref()
    }

    /// Returns the model.
    pub(super) fn model(&self) -> &Arc<OnlineModel> {
        &self.model
    }

    /// Returns the length of rows of the network's output.
    pub(super) fn times(&self) -> &FrameTimes {
        &self.times
    }

    /// Returns the maximum number of hypotheses.
    pub(super) fn n_best(&self) -> usize {
        self.n_best
    }

    /// Returns the sample rate.
    pub(super) fn rate(&self) -> &ModelRate {
        &self.rate
    }

    /// Returns the files that it was read from.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the error of a use that an online model does not have.
    pub(super) fn refuse(&self, reason: &str) -> Error {
        Error::ModelFile { path: self.model.folder().root().to_owned(), reason: reason.to_owned() }
    }

    /// Creates a stream of audio of this rate.
    pub(super) fn stream(&self, samp_freq: f32) -> Result<OnlineStream, Error> {
        let mut recognizer = self.model.recognizer(samp_freq)?;
        if self.n_best > 1 {
            recognizer.set_max_alternatives(self.n_best);
        }
        if !self.phrases.is_empty() {
            recognizer.set_phrases(self.phrases.iter().map(String::as_str))?;
        }
        if let Some(model) = &self.speaker_model {
            recognizer.set_speaker_model(Arc::clone(model))?;
        }
        Ok(OnlineStream::new(recognizer, self.times))
    }

    /// Returns the words of an utterance.
    pub(super) fn transcribe(&self, audio: &Audio<'_>) -> Result<Recognition, Error> {
        self.rate.tell_resampling(audio.samp_freq);
        let mut stream = self.stream(audio.samp_freq)?;
        let mut rest = &*audio.samples.to_f32();
        stream.check(rest)?;
        while stream.step(&mut rest)?.is_some() {}
        stream.finish_utterance(audio.key)
    }
}

/// Refuses files of a folder that are links to files outside it.
fn confine(folder: &OnlineFolder) -> Result<(), Error> {
    let check = |path: PathBuf| {
        let file = path.strip_prefix(folder.root()).unwrap_or(&path);
        confinement::check(folder.root(), file, Bounds::Folder)
            .map_err(|reason| Error::ModelFile { path: folder.root().to_owned(), reason })
    };
    // The parts first: one of them names other files.
    folder.parts().try_for_each(|(_, path)| check(path))?;
    OnlineModel::files(folder)?.into_iter().try_for_each(check)
}
