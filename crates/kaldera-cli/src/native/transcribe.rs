//! `kaldera transcribe`: recordings in, words out.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use kaldera::Error;
use kaldera::decoder::HotWord;
use kaldera::decoder::align::{CaptionOptions, write_srt};
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::pipeline::{Inputs, LineFile, RunId, Summary, Utterance};
use kaldera::recognizer::{AllOptions, AnyDecoder, DecodingOptions, PauseOptions, Recognizer, Transcript};

use super::align;
use super::corpus::{CorpusOptions, NOT_OF_RESULTS, trouble};
use super::decode::Archives;
use super::files::{is_standard, read_text};
use super::operation::refuse_overwriting;
use super::transcripts::{FORMATS, Format, Writing, about_formats, key_of};
use super::{CliError, arguments, print_results};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt, log};

const TOOL: &str = "transcribe";
const USAGE: &str = "\
Turn recordings into words.

Usage: kaldera transcribe [OPTIONS] MODEL INPUTS...

MODEL is a folder with a model.toml. INPUTS are as for 'kaldera features': audio files, folders,
data folders of Kaldi, FILE.scp and FILE.jsonl. For a model with an archive of log-probabilities as
its network, INPUTS are the archive or a list of its keys; 'kaldera decode' takes other archives.
Without -o a line 'KEY WORDS' for each recording is written to standard output, or the format of
--format. OUT appears complete or not at all, in the order of the inputs for any number of --jobs.
Recordings longer than --max-part are cut at pauses. Recordings of another sample rate are
resampled. Recordings that cannot be used are skipped and listed at the end.

Examples:
  kaldera transcribe model/ hello.wav
  kaldera transcribe --format=ctm model/ hello.wav
  kaldera transcribe model/ -o words.ctm recordings/
  kaldera transcribe model/ -o subtitles/ --format=srt recordings/
  kaldera transcribe model/ --lm=lm.arpa.gz --beam=50 --nbest=5 -o words.jsonl data/test

Exit status: 0 success, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage, 130
stopped by Ctrl-C, 141 the reader of the output is gone, 143 stopped by SIGTERM.";

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
            Err(Error::ModelArchive { archive, .. }) => Archives::open(self, model, &[archive]).map(Opened::Archives),
            Err(error) => Err(self.trouble(&error)),
            Ok(recognizer) => Ok(Opened::Recognizer(Box::new(recognizer))),
        }
    }

    /// Opens the model of a folder, whose network must be one.
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

    /// Opens the decoder of a folder for so many outputs of a network.
    pub(super) fn decoder(&mut self, model: &Path, num_outputs: usize) -> Result<AnyDecoder, CliError> {
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

/// A model that was opened.
pub(super) enum Opened {
    Recognizer(Box<Recognizer>),
    Archives(Archives),
}

impl Opened {
    pub(super) fn decoder(&self) -> &AnyDecoder {
        match self {
            Self::Recognizer(recognizer) => recognizer.decoder(),
            Self::Archives(archives) => &archives.decoder,
        }
    }

    /// Returns the files of the model and of archives.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let archives = match self {
            Self::Recognizer(_) => vec![],
            Self::Archives(archives) => archives.files(),
        };
        [self.decoder().files(), &archives].concat()
    }

    /// Lists recordings, or keys of archives.
    fn inputs(&self, paths: &[OsString]) -> Result<Inputs, CliError> {
        let inputs = match self {
            Self::Recognizer(_) => Inputs::from_paths(paths),
            Self::Archives(archives) => Inputs::from_paths_or_keys(paths, |path| archives.keys_of(path)),
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
            Self::Archives(archives) => {
                let log_probs = |key: &str| archives.log_probs(key);
                archives.decoder.decode_all(inputs, options, log_probs, take, progress)
            }
        }
    }
}

/// Options for recordings and output of the commands that write transcripts.
pub(super) struct TranscriptOptions {
    corpus: CorpusOptions,
    format: String,
    /// Default format of standard output.
    default_format: Format,
    captions: CaptionOptions,
    /// Characters per line of a caption, and lines.
    line_length: u64,
    lines: u64,
}

impl TranscriptOptions {
    /// Creates options with this default format of standard output. With `reads_audio` there are
    /// the options of recordings.
    pub(super) fn new(default_format: Format, reads_audio: bool) -> Self {
        let corpus = CorpusOptions::new(
            "File to write; its extension selects the format unless --format is given",
            "Continue an interrupted run with the same options; only for .jsonl",
            reads_audio,
        );
        let captions = CaptionOptions::default();
        let [line_length, lines] = [captions.line_length, captions.lines].map(|count| count as u64);
        Self { corpus, format: String::new(), default_format, captions, line_length, lines }
    }
}

impl OptionSet for TranscriptOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.corpus.register(registry);
        registry.add(
            "format",
            &mut self.format,
            "text, jsonl, ctm, trn, srt, vtt or TextGrid; default: by the extension of OUT",
        );
        registry.add(
            "caption-length",
            &mut self.line_length,
            "Maximum number of characters of a line of .srt and .vtt",
        );
        registry.add("caption-lines", &mut self.lines, "Maximum number of lines of a caption");
        let CaptionOptions { max_seconds, min_seconds, pause_seconds, .. } = &mut self.captions;
        registry.add("caption-seconds", max_seconds, "Maximum duration of a caption in seconds");
        registry.add(
            "caption-min-seconds",
            min_seconds,
            "Minimum duration of a caption in seconds, if the next caption leaves time",
        );
        registry.add("caption-pause", pause_seconds, "Length of a pause in seconds after which a new caption begins");
    }
}

/// The work of [`TranscriptOptions::write`] on recordings.
type Job<'j> = dyn FnMut(
        &Inputs,
        &AllOptions<'_>,
        &mut (dyn FnMut(&Utterance, Transcript) -> Result<(), Error> + Send),
        &mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary, Error>
    + 'j;

impl TranscriptOptions {
    /// Returns the checked options of captions.
    fn captions(&self) -> Result<CaptionOptions, CliError> {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let options = self.captions.with_line_length(count(self.line_length)).with_lines(count(self.lines));
        match write_srt(&mut io::sink(), &[], &options) {
            Ok(()) => Ok(options),
            Err(error) => Err(CliError::Usage(format!("options --caption-...: {error}"))),
        }
    }

    /// Returns `true` if the output is a folder, for a file of each recording.
    fn is_folder(&self) -> bool {
        let output = &self.corpus.output;
        output.ends_with(std::path::is_separator) || Path::new(output).is_dir()
    }

    /// Lists the inputs, runs `job` on them, and writes the results. `settings` and the contents of
    /// the model's files decide the words, together with the inputs. `read` are files that were
    /// read and may not be the output.
    pub(super) fn write(
        &self,
        tool: &'static str,
        (settings, model): (&str, &Opened),
        read: &[PathBuf],
        paths: &[OsString],
        quiet: bool,
        job: &mut Job<'_>,
    ) -> Result<ExitCode, CliError> {
        let corpus = &self.corpus;
        let captions = self.captions()?;
        let run = corpus.run_with(tool, model.inputs(paths)?, quiet)?;
        let (inputs, output) = (&run.inputs, &run.output);
        let is_folder = self.is_folder();
        let format = match (self.format.as_str(), corpus.output.as_str()) {
            ("", "") => self.default_format,
            (name, output) => Format::of(name, output, is_folder, inputs)?,
        };
        let outputs = match is_folder {
            true => files_of_each(output, format, inputs)?,
            false => vec![output.clone()],
        };
        inputs.refuse_overwriting(&outputs).map_err(trouble)?;
        let read = read.iter().map(|path| path.as_os_str()).chain(paths.iter().map(OsString::as_os_str));
        let read: Vec<String> = read.map(|path| path.to_string_lossy().into_owned()).collect();
        let written: Vec<String> = outputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        refuse_overwriting(read.iter(), written.iter())?;
        // Each recording has a single alignment.
        let (hypotheses, channel) = (tool != align::TOOL && model.decoder().n_best() > 1, corpus.channel);
        let writing = Writing { format, captions, hypotheses, channel };
        if corpus.resume && (format != Format::JsonLines || corpus.output.is_empty() || is_folder) {
            let (found, instead) = match (corpus.output.as_str(), self.format.as_str()) {
                ("", _) => ("OUT is standard output".to_owned(), "-o OUT.jsonl"),
                (output, _) if is_folder => (format!("OUT is the folder {output}"), "-o OUT.jsonl"),
                (output, "") => (format!("OUT is {output}"), "-o OUT.jsonl"),
                (_, name) => (format!("--format={name} is another form"), "--format=jsonl"),
            };
            return Err(CliError::Usage(format!(
                "--resume supports only lines of JSON, and {found}: use {instead}, or omit --resume"
            )));
        }
        let mut file = match corpus.output.as_str() {
            "" => None,
            _ if is_folder => {
                fs::create_dir_all(output).map_err(|error| {
                    CliError::Failed(format!("cannot make the folder '{}': {error}", output.display()))
                })?;
                None
            }
            _ if corpus.resume => {
                let id = RunId::new(settings, inputs).with_files(&model.files()).map_err(trouble)?;
                if let Some(code) = run.complete(LineFile::found(output, id).map_err(trouble)?)? {
                    return Ok(code);
                }
                Some(LineFile::resume(output, id, key_of).map_err(trouble)?)
            }
            _ => Some(LineFile::create(output).map_err(trouble)?),
        };
        let earlier = file.as_ref().map(|file| file.earlier().clone());
        let stop = corpus.stop(tool);
        let options = AllOptions::default()
            .with_jobs(corpus.jobs()?)
            .with_channel(corpus.channel)
            .with_reading(corpus.reading())
            .with_earlier(earlier.as_ref())
            .with_stop(stop);
        let (mut closed, mut of_each) = (false, 0_u64);
        let mut take = |utterance: &Utterance, transcript: Transcript| {
            let mut text = vec![];
            writing.write(&mut text, utterance, &transcript)?;
            match &mut file {
                Some(file) => file.write(&text),
                None if is_folder => {
                    let mut file = LineFile::create(file_of(output, format, &utterance.key))?;
                    file.write(&text)?;
                    of_each += 1;
                    file.finish().map(drop)
                }
                None => match print_results(&log::for_stdout(&String::from_utf8_lossy(&text))) {
                    Ok(()) => Ok(()),
                    Err(CliError::Closed) => {
                        closed = true;
                        stop.store(true, Ordering::Relaxed);
                        Err(Error::Stopped)
                    }
                    Err(CliError::Usage(reason) | CliError::Failed(reason)) => Err(io::Error::other(reason).into()),
                },
            }
        };
        let Some(summary) = run.work(|tell| job(inputs, &options, &mut take, tell))? else {
            drop(file);
            return if closed { Err(CliError::Closed) } else { Ok(interrupt::stopped()) };
        };
        let written = match file {
            Some(file) if !file.is_empty() => vec![file.finish().map_err(trouble)?],
            _ if of_each > 0 => vec![output.clone()],
            _ => vec![],
        };
        run.report(&summary, &written)
    }
}

/// Returns the file of a recording in a folder.
fn file_of(folder: &Path, format: Format, key: &str) -> PathBuf {
    folder.join(format!("{key}.{}", format.name()))
}

/// Returns the files of recordings in a folder, and an error for a file that would be elsewhere.
fn files_of_each(folder: &Path, format: Format, inputs: &Inputs) -> Result<Vec<PathBuf>, CliError> {
    let of_one = |utterance: &Utterance| {
        let key = &utterance.key;
        if key.is_empty() || key.starts_with('.') || key.contains(|c: char| c == '/' || c == '\\' || c.is_control()) {
            let key = log::printable(key);
            return Err(CliError::Usage(format!("the key '{key}' cannot be the name of a file: use .jsonl or .ctm")));
        }
        Ok(file_of(folder, format, key))
    };
    inputs.utterances().iter().map(of_one).collect()
}

/// Removes the model from the plain arguments.
pub(super) fn take_model(paths: &mut Vec<OsString>) -> Result<PathBuf, CliError> {
    if paths.is_empty() {
        return Err(CliError::Usage("MODEL is missing: a folder with a model.toml".to_owned()));
    }
    Ok(paths.remove(0).into())
}

/// Answers a call of `kaldera transcribe`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, transcribe(call))
}

fn transcribe(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut decoding, mut transcripts) = (Decoding::default(), TranscriptOptions::new(Format::Text, true));
    let mut max_part = PauseOptions::default().max_seconds;
    let mut parser = ParseOptions::new(Syntax::Native, format!("{USAGE}\n\n{}", about_formats()));
    decoding.register(&mut parser);
    transcripts.register(&mut parser);
    parser.choices("format", &FORMATS);
    parser.add("max-part", &mut max_part, "Maximum length in seconds; longer recordings are cut at pauses");
    CorpusOptions::letters(&mut parser);
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    let settings = parser.settings(&NOT_OF_RESULTS);
    drop(parser);
    if max_part.is_nan() || max_part <= 0.0 {
        return Err(CliError::Usage(format!("option --max-part: {max_part} is not more than 0")));
    }
    let model = take_model(&mut paths)?;
    let opened = decoding.open(&model)?;
    let (settings, read) = (decoding.settings(&settings, &model), decoding.files(&opened));
    let of = (settings.as_str(), &opened);
    transcripts.write(TOOL, of, &read, &paths, quiet, &mut |inputs, options, take, progress| {
        let options = options.clone().with_pauses(PauseOptions::default().with_max_seconds(max_part));
        opened.transcribe_all(inputs, &options, take, progress)
    })
}
