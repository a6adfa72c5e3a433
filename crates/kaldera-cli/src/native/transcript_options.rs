//! Options and output of the commands that write transcripts.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use kaldera::Error;
use kaldera::decoder::align::{CaptionOptions, write_srt};
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::pipeline::{Inputs, LineFile, RunId, Summary, Utterance};
use kaldera::recognizer::{AllOptions, Transcript};

use super::corpus::{CorpusOptions, NOT_OF_RESULTS, trouble};
use super::decoding::{Decoding, Opened, take_model};
use super::operation::refuse_overwriting;
use super::transcripts::{FORMATS, FORMATS_OF_RECOGNITION, Format, Writing, about_formats, key_of};
use super::{CliError, arguments, print_results};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt, log};

/// Options for recordings and output of the commands that write transcripts.
pub(super) struct TranscriptOptions {
    corpus: CorpusOptions,
    format: String,
    /// Default format of standard output.
    default_format: Format,
    /// Several hypotheses of a recording are written if the model gives them.
    writes_hypotheses: bool,
    /// NeMo's manifest is one of the formats.
    writes_nemo: bool,
    /// The inputs must have texts.
    needs_texts: bool,
    captions: CaptionOptions,
}

impl TranscriptOptions {
    /// Creates options with this default format of standard output. With `reads_audio` there are
    /// the options of recordings.
    pub(super) fn new(default_format: Format, reads_audio: bool) -> Self {
        let corpus = CorpusOptions::new(
            "File to write; its extension selects the format unless --format is given",
            "Continue an interrupted run with the same options; only for lines of JSON",
            reads_audio,
        );
        Self {
            corpus,
            format: String::new(),
            default_format,
            writes_hypotheses: true,
            writes_nemo: false,
            needs_texts: false,
            captions: CaptionOptions::default(),
        }
    }

    /// Writes one hypothesis of each recording.
    pub(super) fn with_one_hypothesis(self) -> Self {
        Self { writes_hypotheses: false, ..self }
    }

    /// Adds NeMo's manifest to the formats.
    pub(super) fn with_nemo(self) -> Self {
        Self { writes_nemo: true, ..self }
    }

    /// Refuses inputs without a text.
    pub(super) fn with_texts_of_inputs(self) -> Self {
        Self { needs_texts: true, ..self }
    }
}

impl OptionSet for TranscriptOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.corpus.register(registry);
        registry.add(
            "format",
            &mut self.format,
            match self.writes_nemo {
                true => "text, jsonl, nemo, ctm, trn, srt, vtt or TextGrid; default: by the extension of OUT",
                false => "text, jsonl, ctm, trn, srt, vtt or TextGrid; default: by the extension of OUT",
            },
        );
        let CaptionOptions { line_length, lines, max_seconds, min_seconds, pause_seconds, .. } = &mut self.captions;
        registry.add("caption-length", line_length, "Maximum number of characters of a line of .srt and .vtt");
        registry.add("caption-lines", lines, "Maximum number of lines of a caption");
        registry.add("caption-seconds", max_seconds, "Maximum duration of a caption in seconds");
        registry.add(
            "caption-min-seconds",
            min_seconds,
            "Minimum duration of a caption in seconds, if the next caption leaves time",
        );
        registry.add("caption-pause", pause_seconds, "Length of a pause in seconds after which a new caption begins");
    }
}

/// The call of a command that writes transcripts.
pub(super) struct TranscriptCall {
    tool: &'static str,
    quiet: bool,
    pub(super) model: PathBuf,
    /// The other plain arguments.
    pub(super) paths: Vec<OsString>,
    /// The settings that decide the words, except the inputs and the model.
    pub(super) settings: String,
    /// Files that were read, except inputs and files of the model.
    pub(super) read: Vec<PathBuf>,
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
    /// Reads the command line of a tool, with these options and the options that `add` adds.
    /// Returns `None` if nothing is left to do.
    pub(super) fn read<'a>(
        &'a mut self,
        (tool, usage): (&'static str, &str),
        call: Call<'_>,
        add: impl FnOnce(&mut ParseOptions<'a>),
    ) -> Result<Option<TranscriptCall>, CliError> {
        let formats = self.formats();
        let mut parser = ParseOptions::new(Syntax::Native, format!("{usage}\n\n{}", about_formats()));
        add(&mut parser);
        self.register(&mut parser);
        parser.choices("format", formats);
        CorpusOptions::letters(&mut parser);
        let Some(mut paths) = arguments(tool, &mut parser, call)? else { return Ok(None) };
        let (quiet, settings) = (parser.quiet(), parser.settings(&NOT_OF_RESULTS));
        let model = take_model(&mut paths)?;
        Ok(Some(TranscriptCall { tool, quiet, model, paths, settings, read: vec![] }))
    }

    /// Returns the checked options of captions.
    fn captions(&self) -> Result<CaptionOptions, CliError> {
        match write_srt(&mut io::sink(), &[], &self.captions) {
            Ok(()) => Ok(self.captions),
            Err(error) => Err(CliError::Usage(format!("options --caption-...: {error}"))),
        }
    }

    /// Returns the names of formats.
    fn formats(&self) -> &'static [&'static str] {
        if self.writes_nemo { &FORMATS_OF_RECOGNITION } else { &FORMATS }
    }

    /// Returns `true` if the output is a folder, for a file of each recording.
    fn is_folder(&self) -> bool {
        let output = &self.corpus.output;
        output.ends_with(std::path::is_separator) || Path::new(output).is_dir()
    }

    /// Lists the inputs, runs `job` on them, and writes the results.
    pub(super) fn write(
        &self,
        call: &TranscriptCall,
        decoding: &Decoding,
        model: &Opened,
        job: &mut Job<'_>,
    ) -> Result<ExitCode, CliError> {
        let corpus = &self.corpus;
        let captions = self.captions()?;
        let run = corpus.run_with(call.tool, model.inputs(&call.paths)?, call.quiet)?;
        let (inputs, output) = (&run.inputs, &run.output);
        if self.needs_texts && inputs.utterances().iter().all(|one| one.text.is_none()) {
            return Err(CliError::Usage("--text=FILE is missing, and the inputs have no texts".to_owned()));
        }
        let is_folder = self.is_folder();
        let format = match (self.format.as_str(), corpus.output.as_str()) {
            ("", "") => self.default_format,
            (name, output) => Format::select(name, self.formats(), (output, is_folder), inputs)?,
        };
        if model.has_speakers() && format != Format::JsonLines {
            let text = "--speakers supports only lines of JSON: use -o OUT.jsonl or --format=jsonl";
            return Err(CliError::Usage(text.to_owned()));
        }
        let files = model.files();
        let is_matrix = |one: &&Utterance| one.source.path().is_some_and(|path| files.iter().any(|file| file == path));
        if let (Format::Nemo, Some(one)) = (format, inputs.utterances().iter().find(is_matrix)) {
            let key = log::printable(&one.key);
            return Err(CliError::Usage(format!(
                "--format=nemo: '{key}' is a matrix of log-probabilities, and the manifest names recordings: use jsonl"
            )));
        }
        let outputs = match is_folder {
            true => files_of_each(output, format, inputs)?,
            false => vec![output.clone()],
        };
        inputs.refuse_overwriting(&outputs).map_err(trouble)?;
        let of_model = decoding.files(model);
        let read = of_model.iter().chain(&call.read).map(|path| path.as_os_str());
        let read = read.chain(call.paths.iter().map(OsString::as_os_str));
        let read: Vec<String> = read.map(|path| path.to_string_lossy().into_owned()).collect();
        let written: Vec<String> = outputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        refuse_overwriting(read.iter(), written.iter())?;
        let hypotheses = self.writes_hypotheses && model.n_best() > 1;
        let writing = Writing { format, captions, hypotheses, speakers: model.has_speakers(), channel: corpus.channel };
        let is_json = matches!(format, Format::JsonLines | Format::Nemo);
        if corpus.resume && (!is_json || corpus.output.is_empty() || is_folder) {
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
                // Of the formats that can be resumed, each is a run of its own.
                let settings = format!("{}\n{}", decoding.settings(&call.settings, &call.model), format.name());
                let id = RunId::new(&settings, inputs).with_texts(inputs).with_files(model.files());
                let id = id.map_err(trouble)?;
                if let Some(code) = run.complete(LineFile::found(output, id).map_err(trouble)?)? {
                    return Ok(code);
                }
                Some(LineFile::resume(output, id, |line| key_of(format, line)).map_err(trouble)?)
            }
            _ => Some(LineFile::create(output).map_err(trouble)?),
        };
        let earlier = file.as_ref().map(|file| file.earlier().clone());
        let stop = corpus.stop(call.tool);
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
    folder.join(format!("{key}.{}", format.ending()))
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
