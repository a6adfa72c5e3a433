//! `kaldera transcribe`: recordings in, words out.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kaldera::Error;
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::pipeline::{Inputs, LineFile, RunId, Summary, Utterance};
use kaldera::recognizer::{AllOptions, DecodingOptions, PauseOptions, Recognizer, Transcript};

use super::corpus::{CorpusOptions, NOT_OF_RESULTS, trouble};
use super::files::read_text;
use super::operation::refuse_overwriting;
use super::transcripts::{FORMATS, Format, about_formats, key_of};
use super::{Trouble, arguments};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt, log};

const TOOL: &str = "transcribe";
const USAGE: &str = "\
Turn recordings into words.

Usage: kaldera transcribe [OPTIONS] MODEL INPUTS...

MODEL is a folder with a model.toml. INPUTS are those of 'kaldera features': audio files, folders,
data folders of Kaldi, FILE.scp and FILE.jsonl. Without -o there is a line 'KEY WORDS' for each
recording on standard output, or what --format says. OUT appears complete or not at all, in the
order of the inputs, whatever --jobs is. Recordings longer than --max-part are cut at pauses. Recordings of another
sample rate are resampled; those that cannot be used are left out and listed at the end.

Examples:
  kaldera transcribe model/ hello.wav
  kaldera transcribe --format=ctm model/ hello.wav
  kaldera transcribe model/ -o words.ctm recordings/
  kaldera transcribe model/ --lm=lm.arpa.gz --beam=50 --nbest=5 -o words.jsonl data/test

Exit status: 0 all went well, 1 some or all recordings failed or OUT cannot be written, 2 wrong
usage, 130 stopped by Ctrl-C, 143 by SIGTERM.";

/// How a model is used, for all commands that do.
pub(super) struct Decoding {
    lm: String,
    graph: String,
    hotwords: String,
    hotword_weight: f64,
    lm_weight: f64,
    word_score: f64,
    nbest: u64,
    beam: u64,
    acoustic_scale: f64,
    max_active: u64,
    /// The lines of the file of hot words, once a model is open.
    lines: Vec<String>,
}

impl Default for Decoding {
    fn default() -> Self {
        let of_model = f64::NAN;
        Self {
            lm: String::new(),
            graph: String::new(),
            hotwords: String::new(),
            hotword_weight: of_model,
            lm_weight: of_model,
            word_score: of_model,
            nbest: 0,
            beam: 0,
            acoustic_scale: of_model,
            max_active: 0,
            lines: vec![],
        }
    }
}

impl OptionSet for Decoding {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("lm", &mut self.lm, "Language model: ARPA, binary, or either compressed with gzip");
        registry.add("graph", &mut self.graph, "Decoding graph (HLG): OpenFst's binary form or text");
        registry.add("hotwords", &mut self.hotwords, "File of hot words and phrases, one to a line");
        registry.add("hotword-weight", &mut self.hotword_weight, "Bonus of a hot word; nan: as the model says");
        registry.add("lm-weight", &mut self.lm_weight, "Weight of the language model; nan: as the model says");
        registry.add("word-score", &mut self.word_score, "What each word adds; nan: as the model says");
        registry.add("nbest", &mut self.nbest, "How many hypotheses; 0: as the model says");
        registry.add("beam", &mut self.beam, "Hypotheses kept in each frame; 0: as the model says");
        registry.add(
            "acoustic-scale",
            &mut self.acoustic_scale,
            "Scale of the network's scores beside a graph's; nan: as the model says",
        );
        registry.add("max-active", &mut self.max_active, "States of a graph kept in a frame; 0: as the model says");
    }
}

impl Decoding {
    /// The model of a folder, used so.
    pub(super) fn open(&mut self, model: &Path) -> Result<Recognizer, Trouble> {
        if !self.hotwords.is_empty() {
            let text = read_text(&self.hotwords)?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            self.lines = lines.map(str::to_owned).collect();
        }
        // Relative to where the command runs, not to the model.
        let path = |name: &str| std::path::absolute(name).unwrap_or_else(|_| name.into());
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
        let single = |value: f64| value as f32;
        let change = |mut options: DecodingOptions| {
            if !self.lm.is_empty() {
                options = options.with_language_model(Some(path(&self.lm)));
            }
            if !self.graph.is_empty() {
                options = options.with_graph(Some(path(&self.graph)));
            }
            if !self.hotwords.is_empty() {
                options = options.with_hotwords(self.lines.clone());
            }
            if !self.hotword_weight.is_nan() {
                options = options.with_hotword_weight(self.hotword_weight);
            }
            if !self.lm_weight.is_nan() {
                options = options.with_lm_weight(self.lm_weight);
            }
            if !self.word_score.is_nan() {
                options = options.with_word_score(self.word_score);
            }
            if self.nbest > 0 {
                options = options.with_n_best(number(self.nbest));
            }
            if self.beam > 0 {
                options = options.with_beam(Some(number(self.beam)));
            }
            if !self.acoustic_scale.is_nan() {
                options = options.with_acoustic_scale(single(self.acoustic_scale));
            }
            if self.max_active > 0 {
                options = options.with_max_active(number(self.max_active));
            }
            options
        };
        Recognizer::open_with(model, change).map_err(|error| self.trouble(&error))
    }

    /// The trouble with a model; of what an option has set, with the option's name.
    fn trouble(&self, error: &Error) -> Trouble {
        let Error::ModelKey { key, reason, .. } = error else { return Trouble::failed(error) };
        let options = [
            ("decoding.hotwords", "hotwords", &self.hotwords),
            ("decoding.language-model", "lm", &self.lm),
            ("decoding.graph", "graph", &self.graph),
        ];
        match options.into_iter().find(|(of, _, value)| of == key && !value.is_empty()) {
            Some((_, name, _)) => Trouble::Failed(format!("option --{name}: {reason}")),
            None => Trouble::failed(error),
        }
    }

    /// All that decides the words but inputs and the files of the model: `options`, with the hot
    /// words that one of them names.
    pub(super) fn settings(&self, options: &str, model: &Path) -> String {
        format!("{options}\n{}\n{:?}", model.display(), self.lines)
    }

    /// The files that were read: those of the model and of the hot words.
    pub(super) fn files(&self, recognizer: &Recognizer) -> Vec<PathBuf> {
        let hotwords = Some(&self.hotwords).filter(|name| !name.is_empty());
        recognizer.files().iter().cloned().chain(hotwords.map(PathBuf::from)).collect()
    }
}

/// Of commands that write transcripts: which recordings, and what is written.
pub(super) struct TranscriptOptions {
    corpus: CorpusOptions,
    format: String,
}

impl Default for TranscriptOptions {
    fn default() -> Self {
        let corpus = CorpusOptions::new(
            "File to write; its ending tells the format, unless --format does",
            "Go on where a run of the same options was cut off; of .jsonl alone",
        );
        Self { corpus, format: String::new() }
    }
}

impl OptionSet for TranscriptOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.corpus.register(registry);
        registry.add(
            "format",
            &mut self.format,
            "text, jsonl, ctm, trn, srt, vtt or TextGrid, for standard output or in place of the ending",
        );
    }
}

/// What [`TranscriptOptions::write`] does with recordings.
type Job<'j> = dyn FnMut(
        &Inputs,
        &AllOptions<'_>,
        &mut (dyn FnMut(&Utterance, Transcript) -> Result<(), Error> + Send),
        &mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary, Error>
    + 'j;

impl TranscriptOptions {
    /// Lists the inputs, does `job` with them, and writes what it gives. `settings` stands, with the
    /// contents of the model's files, for all that decides the words, but the inputs; `read` are files
    /// that were read and may not be the output.
    pub(super) fn write(
        &self,
        tool: &'static str,
        (settings, recognizer): (&str, &Recognizer),
        read: &[PathBuf],
        paths: &[OsString],
        quiet: bool,
        job: &mut Job<'_>,
    ) -> Result<ExitCode, Trouble> {
        let corpus = &self.corpus;
        let run = corpus.run(tool, paths, quiet)?;
        let (inputs, output) = (&run.inputs, &run.output);
        inputs.refuse_overwriting(std::slice::from_ref(output)).map_err(trouble)?;
        let read = read.iter().map(|path| path.as_os_str()).chain(paths.iter().map(OsString::as_os_str));
        let named: Vec<String> = read.map(|path| path.to_string_lossy().into_owned()).collect();
        refuse_overwriting(named.iter(), [&output.to_string_lossy().into_owned()].into_iter())?;
        let format = match (self.format.as_str(), corpus.output.as_str()) {
            ("", "") => Format::Text,
            (name, output) => Format::of(name, output, inputs)?,
        };
        if corpus.resume && (format != Format::JsonLines || corpus.output.is_empty()) {
            let (found, instead) = match (corpus.output.as_str(), self.format.as_str()) {
                ("", _) => ("OUT is standard output".to_owned(), "-o OUT.jsonl"),
                (output, "") => (format!("OUT is {output}"), "-o OUT.jsonl"),
                (_, name) => (format!("--format={name} is another form"), "--format=jsonl"),
            };
            return Err(Trouble::Usage(format!(
                "--resume goes on with lines of JSON alone, and {found}: write {instead}, or leave --resume out"
            )));
        }
        let mut file = match corpus.output.as_str() {
            "" => None,
            _ if corpus.resume => {
                let id = RunId::new(settings, inputs).with_files(recognizer.files()).map_err(trouble)?;
                if let Some(code) = run.complete(LineFile::found(output, id).map_err(trouble)?)? {
                    return Ok(code);
                }
                Some(LineFile::resume(output, id, key_of).map_err(trouble)?)
            }
            _ => Some(LineFile::create(output).map_err(trouble)?),
        };
        let earlier = file.as_ref().map(|file| file.earlier().clone());
        let options = AllOptions::default()
            .with_jobs(corpus.jobs())
            .with_channel(corpus.channel)
            .with_reading(corpus.reading())
            .with_earlier(earlier.as_ref())
            .with_stop(corpus.stop(tool));
        let mut take = |utterance: &Utterance, transcript: Transcript| {
            let mut text = vec![];
            format.write(&mut text, &utterance.key, &transcript)?;
            match &mut file {
                Some(file) => file.write(&text),
                None => log::print(&String::from_utf8_lossy(&text)).map_err(|error| {
                    let reason = format!("cannot write to standard output: {error}");
                    io::Error::new(error.kind(), reason).into()
                }),
            }
        };
        let Some(summary) = run.work(|tell| job(inputs, &options, &mut take, tell))? else {
            drop(file);
            return Ok(interrupt::stopped());
        };
        let written = match file {
            Some(file) if !file.is_empty() => vec![file.finish().map_err(trouble)?],
            _ => vec![],
        };
        run.report(&summary, &written)
    }
}

/// Takes the model from the plain arguments.
pub(super) fn take_model(paths: &mut Vec<OsString>) -> Result<PathBuf, Trouble> {
    if paths.is_empty() {
        return Err(Trouble::Usage("MODEL is missing: a folder with a model.toml".to_owned()));
    }
    Ok(paths.remove(0).into())
}

/// Answers a call of `kaldera transcribe`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, transcribe(call))
}

fn transcribe(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let (mut decoding, mut transcripts) = (Decoding::default(), TranscriptOptions::default());
    let mut max_part = PauseOptions::default().max_seconds;
    let mut parser = ParseOptions::new(Syntax::Native, format!("{USAGE}\n\n{}", about_formats()));
    decoding.register(&mut parser);
    transcripts.register(&mut parser);
    parser.choices("format", &FORMATS);
    parser.add("max-part", &mut max_part, "Longer recordings (in seconds) are cut at pauses");
    CorpusOptions::letters(&mut parser);
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    let settings = parser.settings(&NOT_OF_RESULTS);
    drop(parser);
    if max_part.is_nan() || max_part <= 0.0 {
        return Err(Trouble::Usage(format!("option --max-part: {max_part} is not more than 0")));
    }
    let model = take_model(&mut paths)?;
    let recognizer = decoding.open(&model)?;
    let (settings, read) = (decoding.settings(&settings, &model), decoding.files(&recognizer));
    let of = (settings.as_str(), &recognizer);
    transcripts.write(TOOL, of, &read, &paths, quiet, &mut |inputs, options, take, progress| {
        let options = options.clone().with_pauses(PauseOptions::default().with_max_seconds(max_part));
        recognizer.transcribe_all(inputs, &options, take, progress)
    })
}
