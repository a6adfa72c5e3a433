//! The model of a command that recognises speech, and the options of decoding.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera::Error;
use kaldera::decoder::HotWord;
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::kaldi_online::SpeakerModel;
use kaldera::pipeline::{Inputs, Summary, Utterance};
use kaldera::recognizer::{AllOptions, AnyDecoder, DecodingOptions, Recognizer, Transcript};

use super::CliError;
use super::archives::Archives;
use super::corpus::trouble;
use super::files::{is_standard, read_text};

/// Help of `--allow-outside`.
pub(super) const ALLOW_OUTSIDE: &str = "Allow the model to use files outside its folder";

/// Options for the use of a model, for all commands. The defaults are in the model.
#[derive(Default)]
pub(super) struct Decoding {
    allow_outside: bool,
    /// File of hot words.
    hotwords: String,
    options: DecodingOptions,
}

impl OptionSet for Decoding {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("allow-outside", &mut self.allow_outside, ALLOW_OUTSIDE);
        registry.add(
            "hotwords",
            &mut self.hotwords,
            "File of hot words and phrases, one per line; 'PHRASE :2.5' sets the bonus of a phrase",
        );
        self.options.register(registry);
    }
}

impl Decoding {
    /// Creates options with the model's defaults. With `allow_outside` the model may name files
    /// outside its folder.
    pub(super) fn with_model_defaults(allow_outside: bool) -> Self {
        Self { allow_outside, ..Self::default() }
    }

    /// Opens the model of a folder with these options, or the archive in place of its network.
    pub(super) fn open(&mut self, model: &Path) -> Result<Opened, CliError> {
        self.read_files()?;
        self.or_archive(model, self.opened(model))
    }

    /// As [`open`](Self::open), for a check of the folder, which may also have no network.
    pub(super) fn open_to_check(&mut self, model: &Path) -> Result<Opened, CliError> {
        match self.opened(model) {
            Err(Error::NoNetwork { archive: None, .. }) => {
                Ok(Opened::Archives(Box::new(self.decoder(model, None)?), Archives::default()))
            }
            opened => self.or_archive(model, opened),
        }
    }

    fn or_archive(&self, model: &Path, opened: Result<Recognizer, Error>) -> Result<Opened, CliError> {
        match opened {
            Ok(recognizer) => Ok(Opened::Recognizer(Box::new(recognizer))),
            Err(Error::NoNetwork { path, archive: Some(archive) }) => {
                let read = Archives::read(&[archive]).map_err(|error| match error {
                    CliError::Failed(reason) => {
                        CliError::Failed(format!("{}: key network.file: {reason}", path.display()))
                    }
                    error => error,
                });
                self.with_archives(model, read?)
            }
            Err(error) => Err(self.trouble(&error)),
        }
    }

    /// Opens the model of a folder, whose network must not be an archive.
    pub(super) fn recognizer(&mut self, model: &Path) -> Result<Recognizer, CliError> {
        self.read_files()?;
        self.opened(model).map_err(|error| self.trouble(&error))
    }

    fn opened(&self, model: &Path) -> Result<Recognizer, Error> {
        match self.allow_outside {
            true => Recognizer::open_outside(model, |options| options.with_changes(self.options.clone())),
            false => Recognizer::open_with(model, |options| options.with_changes(self.options.clone())),
        }
    }

    /// Reads archives, and opens the decoder of a model's folder for them.
    pub(super) fn open_archives(&mut self, model: &Path, paths: &[PathBuf]) -> Result<Opened, CliError> {
        let read = Archives::read(paths)?;
        self.read_files()?;
        self.with_archives(model, read)
    }

    fn with_archives(&self, model: &Path, (archives, columns): (Archives, usize)) -> Result<Opened, CliError> {
        Ok(Opened::Archives(Box::new(self.decoder(model, Some(columns))?), archives))
    }

    /// Opens the decoder of a folder for so many outputs of a network.
    fn decoder(&self, model: &Path, num_outputs: Option<usize>) -> Result<AnyDecoder, CliError> {
        let changes = self.options.clone();
        let opened = match self.allow_outside {
            true => AnyDecoder::open_outside(model, num_outputs, |options| options.with_changes(changes)),
            false => AnyDecoder::open(model, num_outputs, |options| options.with_changes(changes)),
        };
        opened.map_err(|error| self.trouble(&error))
    }

    /// Reads the file of hot words. Names of other files get relative to the current folder, not to
    /// the model's; an empty name is none.
    fn read_files(&mut self) -> Result<(), CliError> {
        for path in [&mut self.options.language_model, &mut self.options.graph] {
            let given = path.take().filter(|path| !path.as_os_str().is_empty());
            *path = given.map(|path| std::path::absolute(&path).unwrap_or(path));
        }
        if !self.hotwords.is_empty() {
            let name = if is_standard(&self.hotwords) { "standard input" } else { &self.hotwords };
            let read =
                HotWord::read_lines(&read_text(&self.hotwords)?, name).map_err(|error| CliError::failed(&error))?;
            if read.is_empty() {
                return Err(CliError::Failed(format!("{name}: there is no hot word in it")));
            }
            self.options.hotwords = Some(read);
        }
        Ok(())
    }

    /// Converts an error; an error in the value of an option names the option.
    fn trouble(&self, error: &Error) -> CliError {
        let Error::ModelKey { key, reason, .. } = error else { return CliError::failed(error) };
        let options = &self.options;
        let options = [
            ("decoding.hotwords", "hotwords", options.hotwords.is_some()),
            ("decoding.hotword-weight", "hotword-weight", options.hotword_weight.is_some()),
            ("decoding.language-model", "lm", options.language_model.is_some()),
            ("decoding.lm-weight", "lm-weight", options.lm_weight.is_some()),
            ("decoding.word-score", "word-score", options.word_score.is_some()),
            ("decoding.beam", "beam", options.beam.is_some()),
            ("decoding.graph", "graph", options.graph.is_some()),
        ];
        match options.into_iter().find(|(of, _, is_given)| of == key && *is_given) {
            Some((_, name, _)) => CliError::Failed(format!("option --{name}: {reason}")),
            None => CliError::failed(error),
        }
    }

    /// Returns the settings that decide the words, except the inputs and the contents of the
    /// model's files: `options`, the name of the model, and the hot words.
    pub(super) fn settings(&self, options: &str, model: &Path) -> String {
        format!("{options}\n{}\n{:?}", model.display(), self.options.hotwords)
    }

    /// Returns the files that were read: the files of the model and of the hot words.
    pub(super) fn files(&self, model: &Opened) -> Vec<PathBuf> {
        let hotwords = Some(&self.hotwords).filter(|name| !name.is_empty());
        model.files().into_iter().chain(hotwords.map(PathBuf::from)).collect()
    }
}

/// A model that was opened, or its decoder and archives in place of its network.
pub(super) enum Opened {
    Recognizer(Box<Recognizer>),
    Archives(Box<AnyDecoder>, Archives),
}

impl Opened {
    /// Adds the speaker model of a folder.
    pub(super) fn with_speakers(self, folder: &str) -> Result<Self, CliError> {
        let speakers = Arc::new(SpeakerModel::open(folder).map_err(|error| CliError::failed(&error))?);
        let with = match &self {
            Self::Recognizer(recognizer) => recognizer.with_speaker_model(speakers),
            Self::Archives(..) => None,
        };
        let refused =
            "option --speakers: MODEL must be a Vosk or Kaldi folder, whose phones decide where there is speech";
        with.map(|recognizer| Self::Recognizer(Box::new(recognizer))).ok_or_else(|| CliError::Usage(refused.to_owned()))
    }

    /// Returns `true` if transcripts have vectors of speakers.
    pub(super) fn has_speakers(&self) -> bool {
        match self {
            Self::Recognizer(recognizer) => recognizer.speaker_model().is_some(),
            Self::Archives(..) => false,
        }
    }

    /// Returns the decoder; `None` for a Vosk or Kaldi folder.
    pub(super) fn decoder(&self) -> Option<&AnyDecoder> {
        match self {
            Self::Recognizer(recognizer) => recognizer.decoder(),
            Self::Archives(decoder, _) => Some(decoder),
        }
    }

    /// Returns `true` for a Vosk or Kaldi folder.
    pub(super) fn is_online(&self) -> bool {
        self.decoder().is_none()
    }

    /// Returns the maximum number of hypotheses of a recording.
    pub(super) fn n_best(&self) -> usize {
        match self {
            Self::Recognizer(recognizer) => recognizer.n_best(),
            Self::Archives(decoder, _) => decoder.n_best(),
        }
    }

    /// Returns the files of the model and of archives.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Recognizer(recognizer) => recognizer.files().to_vec(),
            Self::Archives(decoder, archives) => [decoder.files(), &archives.files()].concat(),
        }
    }

    /// Lists recordings, or keys of archives.
    pub(super) fn inputs(&self, paths: &[OsString]) -> Result<Inputs, CliError> {
        let inputs = match self {
            Self::Recognizer(_) => Inputs::from_paths(paths),
            Self::Archives(_, archives) => Inputs::from_paths_or_keys(paths, |path| archives.keys_of(path)),
        };
        inputs.map_err(trouble)
    }

    /// Finds the words of all inputs.
    pub(super) fn transcribe_all(
        &self,
        inputs: &Inputs,
        options: &AllOptions<'_>,
        take: impl FnMut(&Utterance, Transcript) -> Result<(), Error> + Send,
        progress: impl FnMut(&Summary) + Send,
    ) -> Result<Summary, Error> {
        match self {
            Self::Recognizer(recognizer) => recognizer.transcribe_all(inputs, options, take, progress),
            Self::Archives(decoder, archives) => {
                let log_probs = |key: &str| archives.log_probs(key);
                decoder.decode_all(inputs, options, log_probs, take, progress)
            }
        }
    }
}

/// The error of a call without a model.
pub(super) const NO_MODEL: &str = "MODEL is missing: a folder with a model.toml, or of Vosk or Kaldi";

/// Removes the model from the plain arguments.
pub(super) fn take_model(paths: &mut Vec<OsString>) -> Result<PathBuf, CliError> {
    if paths.is_empty() {
        return Err(CliError::Usage(NO_MODEL.to_owned()));
    }
    Ok(paths.remove(0).into())
}
