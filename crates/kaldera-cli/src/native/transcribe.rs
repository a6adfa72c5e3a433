//! `kaldera transcribe`: recordings in, words out.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use kaldera::Error;
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::pipeline::{Found, Inputs, LineFile, ReadOptions, RunId, Shard, Summary, Utterance};
use kaldera::recognizer::{AllOptions, DecodingOptions, PauseOptions, Recognizer, Transcript};

use super::features::{Progress, complete, duration, recordings, tell_others, trouble};
use super::fst::files::read_text;
use super::operation::refuse_overwriting;
use super::transcripts::{ENDINGS, Format, key_of};
use super::{Trouble, arguments, print};
use crate::log::{self, say};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt};

const TOOL: &str = "transcribe";
const USAGE: &str = "\
Turn recordings into words.

Usage: kaldera transcribe [OPTIONS] MODEL INPUTS...

MODEL is a folder with a model.toml. INPUTS are those of 'kaldera features': audio files, folders,
data folders of Kaldi, FILE.scp and FILE.jsonl. Without -o there is a line 'KEY WORDS' for each
recording on standard output. OUT appears complete or not at all, in the order of the inputs,
whatever --jobs is. Recordings longer than --max-part are cut at pauses. Recordings of another
sample rate are resampled; those that cannot be used are left out and listed at the end.

Examples:
  kaldera transcribe model/ hello.wav
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

/// Which recordings, and how they are worked on.
pub(super) struct Work {
    output: String,
    jobs: u64,
    shard: String,
    resume: bool,
    channel: i32,
    allow_truncated: bool,
    no_pipes: bool,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            output: String::new(),
            jobs: 0,
            shard: String::new(),
            resume: false,
            channel: -1,
            allow_truncated: false,
            no_pipes: false,
        }
    }
}

impl OptionSet for Work {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("output", &mut self.output, "File to write; its ending tells the format");
        registry.add("jobs", &mut self.jobs, "Number of threads; 0 is one per processor");
        registry.add("shard", &mut self.shard, "Which part of the inputs to do, as 2/8 for the second of eight");
        registry.add("resume", &mut self.resume, "Go on where a run of the same options was cut off; OUT is .jsonl");
        registry.add("channel", &mut self.channel, "Channel to extract (-1 -> the first, 0 -> left, 1 -> right)");
        registry.add(
            "allow-truncated",
            &mut self.allow_truncated,
            "Of recordings that end early take what is there; they fail otherwise",
        );
        registry.add("no-pipes", &mut self.no_pipes, "Run no command of a list: recordings that need one fail");
    }
}

/// What [`Work::run`] does with recordings.
type Job<'j> = dyn FnMut(
        &Inputs,
        &AllOptions<'_>,
        &mut (dyn FnMut(&Utterance, Transcript) -> Result<(), Error> + Send),
        &mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary, Error>
    + 'j;

impl Work {
    /// Lists the inputs, does `job` with them, and writes what it gives. `settings` stands, with the
    /// contents of the model's files, for all that decides the words, but the inputs; `read` are
    /// files that were read and may not be the output.
    pub(super) fn run(
        &self,
        tool: &'static str,
        (settings, recognizer): (&str, &Recognizer),
        read: &[PathBuf],
        paths: &[OsString],
        quiet: bool,
        job: &mut Job<'_>,
    ) -> Result<ExitCode, Trouble> {
        let begin = Instant::now();
        let channel = match usize::try_from(self.channel) {
            Ok(channel) => Some(channel),
            Err(_) if self.channel == -1 => None,
            Err(_) => return Err(Trouble::Usage(format!("option --channel: {} is not -1, 0, 1, ...", self.channel))),
        };
        let mut inputs = Inputs::from_paths(paths).map_err(trouble)?;
        let mut output = PathBuf::from(&self.output);
        if !self.shard.is_empty() {
            let wrong =
                || Trouble::Usage(format!("option --shard: '{}' is not a part such as 1/8, 2/8, ... 8/8", self.shard));
            let shard = Shard::parse(&self.shard).ok_or_else(wrong)?;
            inputs = inputs.shard(shard).map_err(trouble)?;
            if !self.output.is_empty() {
                output = shard.path(&output);
            }
        }
        inputs.refuse_overwriting(std::slice::from_ref(&output)).map_err(trouble)?;
        let read = read.iter().map(|path| path.as_os_str()).chain(paths.iter().map(OsString::as_os_str));
        let named: Vec<String> = read.map(|path| path.to_string_lossy().into_owned()).collect();
        refuse_overwriting(named.iter(), [&output.to_string_lossy().into_owned()].into_iter())?;
        let format = match self.output.as_str() {
            "" => None,
            name => Some(Format::of(name, &inputs)?),
        };
        if self.resume && format != Some(Format::JsonLines) {
            return Err(Trouble::Usage("--resume needs an output of lines of JSON: -o OUT.jsonl".to_owned()));
        }
        let mut file = match format {
            None => None,
            Some(_) if self.resume => {
                let run = RunId::new(settings, &inputs).with_files(recognizer.files()).map_err(trouble)?;
                match LineFile::found(&output, run).map_err(trouble)? {
                    Found::Complete { matrices } => {
                        return complete(tool, &output, inputs.len() as u64 - matrices, quiet);
                    }
                    Found::Other { reason } => tracing::warn!("{} {reason}: all is done anew", output.display()),
                    _ => {}
                }
                Some(LineFile::resume(&output, run, key_of).map_err(trouble)?)
            }
            Some(_) => Some(LineFile::create(&output).map_err(trouble)?),
        };
        let earlier = file.as_ref().map(|file| file.earlier().clone());
        let options = AllOptions::default()
            .with_jobs(usize::try_from(self.jobs).unwrap_or(usize::MAX))
            .with_channel(channel)
            .with_reading(ReadOptions::default().with_allow_truncated(self.allow_truncated).with_pipes(!self.no_pipes))
            .with_earlier(earlier.as_ref())
            .with_stop(interrupt::watch(
                tool,
                if self.resume { "--resume goes on from here" } else { "nothing was written" },
            ));
        let mut progress = Progress::new(inputs.len(), quiet);
        let mut take = |utterance: &Utterance, transcript: Transcript| {
            let mut text = vec![];
            format.unwrap_or(Format::Text).write(&mut text, &utterance.key, &transcript)?;
            match &mut file {
                Some(file) => file.write(&text),
                None => Ok(log::print(&String::from_utf8_lossy(&text))?),
            }
        };
        let summary = match job(&inputs, &options, &mut take, &mut |so_far: &Summary| progress.tell(so_far)) {
            Err(Error::Stopped) => {
                progress.end();
                drop(file);
                return Ok(interrupt::stopped());
            }
            summary => summary.map_err(trouble)?,
        };
        progress.end();
        let written = match file {
            Some(file) if !file.is_empty() => Some(file.finish().map_err(trouble)?),
            _ => None,
        };
        if !quiet && !self.output.is_empty() {
            print(&totals(&summary, written.as_deref(), begin.elapsed().as_secs_f64()))?;
        }
        for rejected in &summary.rejected {
            say(format_args!("rejected: {}", log::one_line(rejected)));
        }
        for failure in &summary.failures {
            say(format_args!("failed: {}", log::one_line(failure)));
        }
        if !quiet {
            tell_others(inputs.others());
        }
        let all_went_well = summary.failures.is_empty() && summary.rejected.is_empty();
        Ok(if all_went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn totals(summary: &Summary, written: Option<&Path>, wall: f64) -> String {
    let mut text = format!("{}, {} of audio\n", recordings(summary.utterances), duration(summary.seconds));
    let _ = writeln!(text, "{wall:.3} s: {:.0} x real time", summary.seconds / wall);
    let _ = match written {
        None => writeln!(text, "nothing was written"),
        Some(path) => writeln!(text, "written to {}", path.display()),
    };
    if summary.earlier > 0 {
        let _ = writeln!(text, "{} were there from an earlier run", recordings(summary.earlier));
    }
    if !summary.failures.is_empty() {
        let _ = writeln!(text, "{} failed", recordings(summary.failures.len() as u64));
    }
    text
}

/// Options that do not decide what the words are.
pub(super) const NOT_OF_WORDS: [&str; 5] = ["output", "jobs", "shard", "resume", "no-pipes"];

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
    let (mut decoding, mut work) = (Decoding::default(), Work::default());
    let mut max_part = PauseOptions::default().max_seconds;
    let mut parser = ParseOptions::new(Syntax::Native, format!("{USAGE}\n\nOUT ends in {ENDINGS}."));
    decoding.register(&mut parser);
    work.register(&mut parser);
    parser.add("max-part", &mut max_part, "Longer recordings (in seconds) are cut at pauses");
    parser.letter('o', "output");
    parser.letter('j', "jobs");
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    let settings = parser.settings(&NOT_OF_WORDS);
    drop(parser);
    if max_part.is_nan() || max_part <= 0.0 {
        return Err(Trouble::Usage(format!("option --max-part: {max_part} is not more than 0")));
    }
    let model = take_model(&mut paths)?;
    let recognizer = decoding.open(&model)?;
    let (settings, read) = (decoding.settings(&settings, &model), decoding.files(&recognizer));
    work.run(TOOL, (&settings, &recognizer), &read, &paths, quiet, &mut |inputs, options, take, progress| {
        let options = options.clone().with_pauses(PauseOptions::default().with_max_seconds(max_part));
        recognizer.transcribe_all(inputs, &options, take, progress)
    })
}
