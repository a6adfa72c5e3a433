//! The model of a command that recognises speech, and the options of decoding.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kaldera::Error;
use kaldera::decoder::HotWord;
use kaldera::feat::options::{OptionSet, Registry};
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
    lm: String,
    graph: String,
    hotwords: String,
    hotword_weight: Option<f64>,
    lm_weight: Option<f64>,
    word_score: Option<f64>,
    nbest: Option<u64>,
    beam: Option<u64>,
    acoustic_scale: Option<f32>,
    max_active: Option<u64>,
    /// The hot words of the file, set by `open`.
    hot: Vec<HotWord>,
}

impl OptionSet for Decoding {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("allow-outside", &mut self.allow_outside, ALLOW_OUTSIDE);
        registry.add("lm", &mut self.lm, "Language model: ARPA, binary, or either compressed with gzip");
        registry.add("graph", &mut self.graph, "Decoding graph (HLG): OpenFst's binary form or text, or k2's text");
        registry.add(
            "hotwords",
            &mut self.hotwords,
            "File of hot words and phrases, one per line; 'PHRASE :2.5' sets the bonus of a phrase",
        );
        registry.add(
            "hotword-weight",
            &mut self.hotword_weight,
            "Bonus of each token of a hot word, or of each word if words are spelled",
        );
        registry.add("lm-weight", &mut self.lm_weight, "Weight of the language model");
        registry.add("word-score", &mut self.word_score, "Score added for each word");
        registry.add("nbest", &mut self.nbest, "Number of hypotheses");
        registry.add("beam", &mut self.beam, "Number of hypotheses kept in each frame");
        registry.add("acoustic-scale", &mut self.acoustic_scale, "Scale of the network's scores, with a graph");
        registry.add("max-active", &mut self.max_active, "Number of states of a graph kept in each frame");
    }
}

impl Decoding {
    /// Creates options with the model's defaults. With `allow_outside` the model may name files
    /// outside its folder.
    pub(super) fn of_model(allow_outside: bool) -> Self {
        Self { allow_outside, ..Self::default() }
    }

    /// Opens the model of a folder with these options, or the archive in place of its network.
    pub(super) fn open(&mut self, model: &Path) -> Result<Opened, CliError> {
        self.read_hotwords()?;
        match self.opened(model) {
            Err(Error::ModelArchive { path, archive }) => {
                let read = Archives::read(&[archive]).map_err(|error| match error {
                    CliError::Failed(reason) => {
                        CliError::Failed(format!("{}: key network.file: {reason}", path.display()))
                    }
                    error => error,
                });
                self.with_archives(model, read?)
            }
            Err(error) => Err(self.trouble(&error)),
            Ok(recognizer) => Ok(Opened::Recognizer(Box::new(recognizer))),
        }
    }

    /// Opens the model of a folder, whose network must not be an archive.
    pub(super) fn recognizer(&mut self, model: &Path) -> Result<Recognizer, CliError> {
        self.read_hotwords()?;
        self.opened(model).map_err(|error| self.trouble(&error))
    }

    fn opened(&self, model: &Path) -> Result<Recognizer, Error> {
        match self.allow_outside {
            true => Recognizer::open_outside(model, |options| self.changed(options)),
            false => Recognizer::open_with(model, |options| self.changed(options)),
        }
    }

    /// Reads archives, and opens the decoder of a model's folder for them.
    pub(super) fn open_archives(&mut self, model: &Path, paths: &[PathBuf]) -> Result<Opened, CliError> {
        self.with_archives(model, Archives::read(paths)?)
    }

    fn with_archives(&mut self, model: &Path, (archives, columns): (Archives, usize)) -> Result<Opened, CliError> {
        Ok(Opened::Archives(Box::new(self.decoder(model, columns)?), archives))
    }

    /// Opens the decoder of a folder for so many outputs of a network.
    fn decoder(&mut self, model: &Path, num_outputs: usize) -> Result<AnyDecoder, CliError> {
        self.read_hotwords()?;
        let opened = match self.allow_outside {
            true => AnyDecoder::open_outside(model, num_outputs, |options| self.changed(options)),
            false => AnyDecoder::open(model, num_outputs, |options| self.changed(options)),
        };
        opened.map_err(|error| self.trouble(&error))
    }

    /// Reads the file of hot words once.
    fn read_hotwords(&mut self) -> Result<(), CliError> {
        if !self.hotwords.is_empty() && self.hot.is_empty() {
            let name = if is_standard(&self.hotwords) { "standard input" } else { &self.hotwords };
            self.hot =
                HotWord::read_lines(&read_text(&self.hotwords)?, name).map_err(|error| CliError::failed(&error))?;
            if self.hot.is_empty() {
                return Err(CliError::Failed(format!("{name}: there is no hot word in it")));
            }
        }
        Ok(())
    }

    /// Returns the options of a model with these in their place.
    fn changed(&self, mut options: DecodingOptions) -> DecodingOptions {
        // Paths are relative to the current folder, not to the model.
        let path = |name: &str| std::path::absolute(name).unwrap_or_else(|_| name.into());
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        if !self.lm.is_empty() {
            options = options.with_language_model(Some(path(&self.lm)));
        }
        if !self.graph.is_empty() {
            options = options.with_graph(Some(path(&self.graph)));
        }
        if !self.hotwords.is_empty() {
            options = options.with_hotwords(self.hot.clone());
        }
        // NaN was once the value of an absent weight.
        if let Some(weight) = self.hotword_weight.filter(|weight| !weight.is_nan()) {
            options = options.with_hotword_weight(weight);
        }
        if let Some(weight) = self.lm_weight.filter(|weight| !weight.is_nan()) {
            options = options.with_lm_weight(weight);
        }
        if let Some(score) = self.word_score.filter(|score| !score.is_nan()) {
            options = options.with_word_score(score);
        }
        if let Some(count) = self.nbest {
            options = options.with_n_best(number(count));
        }
        if let Some(beam) = self.beam {
            options = options.with_beam(Some(number(beam)));
        }
        if let Some(scale) = self.acoustic_scale.filter(|scale| !scale.is_nan()) {
            options = options.with_acoustic_scale(scale);
        }
        if let Some(count) = self.max_active {
            options = options.with_max_active(number(count));
        }
        options
    }

    /// Converts an error; an error in the value of an option names the option.
    fn trouble(&self, error: &Error) -> CliError {
        let Error::ModelKey { key, reason, .. } = error else { return CliError::failed(error) };
        let options = [
            ("decoding.hotwords", "hotwords", &self.hotwords),
            ("decoding.language-model", "lm", &self.lm),
            ("decoding.graph", "graph", &self.graph),
        ];
        match options.into_iter().find(|(of, _, value)| of == key && !value.is_empty()) {
            Some((_, name, _)) => CliError::Failed(format!("option --{name}: {reason}")),
            None => CliError::failed(error),
        }
    }

    /// Returns the settings that decide the words, except the inputs and the contents of the
    /// model's files: `options`, the name of the model, and the hot words.
    pub(super) fn settings(&self, options: &str, model: &Path) -> String {
        format!("{options}\n{}\n{:?}", model.display(), self.hot)
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
    pub(super) fn decoder(&self) -> &AnyDecoder {
        match self {
            Self::Recognizer(recognizer) => recognizer.decoder(),
            Self::Archives(decoder, _) => decoder,
        }
    }

    /// Returns the files of the model and of archives.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let archives = match self {
            Self::Recognizer(_) => vec![],
            Self::Archives(_, archives) => archives.files(),
        };
        [self.decoder().files(), &archives].concat()
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

/// Removes the model from the plain arguments.
pub(super) fn take_model(paths: &mut Vec<OsString>) -> Result<PathBuf, CliError> {
    if paths.is_empty() {
        return Err(CliError::Usage("MODEL is missing: a folder with a model.toml".to_owned()));
    }
    Ok(paths.remove(0).into())
}
