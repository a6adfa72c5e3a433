//! Common parts of the commands that work on recordings: options, progress, and the report of a
//! run.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kaldera::Error;
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::pipeline::{ChannelChoice, Failure, Found, Inputs, Pipes, ReadOptions, Shard, Summary};

use super::{CliError, print};
use crate::interrupt;
use crate::log::{self, say};
use crate::parse_options::ParseOptions;

/// Interval of progress lines in a run without a terminal.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Maximum number of threads; the registry of log messages has room for 4,096.
const MAX_JOBS: usize = 1024;

/// Help of `--channel`.
pub(super) const CHANNEL: &str = "Channel to use (-1 -> the first, 0 -> left, 1 -> right), or mean of all channels";

/// The options that do not change the results.
pub(super) const NOT_OF_RESULTS: [&str; 12] = [
    "output",
    "format",
    "jobs",
    "shard",
    "resume",
    "pipes",
    "no-pipes",
    "caption-length",
    "caption-lines",
    "caption-seconds",
    "caption-min-seconds",
    "caption-pause",
];

/// Options for the selection and processing of recordings.
#[derive(Default)]
pub(super) struct CorpusOptions {
    pub(super) output: String,
    jobs: Option<usize>,
    pub(super) shard: String,
    pub(super) resume: bool,
    pub(super) channel: ChannelChoice,
    allow_truncated: bool,
    pipes: bool,
    no_pipes: bool,
    about_output: &'static str,
    about_resume: &'static str,
    reads_audio: bool,
}

impl OptionSet for CorpusOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("output", &mut self.output, self.about_output);
        registry.add("jobs", &mut self.jobs, "Number of threads; default: one per processor");
        registry.add("shard", &mut self.shard, "Part of the inputs to process, such as 2/8 for the second of eight");
        registry.add("resume", &mut self.resume, self.about_resume);
        if !self.reads_audio {
            return;
        }
        registry.add("channel", &mut self.channel, CHANNEL);
        registry.add(
            "allow-truncated",
            &mut self.allow_truncated,
            "Use the available part of truncated recordings, which otherwise fail",
        );
        registry.add(
            "pipes",
            &mut self.pipes,
            "Also run commands of a wav.scp in a folder, not only of lists given by name",
        );
        registry.add("no-pipes", &mut self.no_pipes, "Do not run commands of lists: recordings that need one fail");
    }
}

impl CorpusOptions {
    /// Creates the options of a command, with its help of `--output` and `--resume`, and with the
    /// options of recordings if it `reads_audio`.
    pub(super) fn new(about_output: &'static str, about_resume: &'static str, reads_audio: bool) -> Self {
        Self { about_output, about_resume, reads_audio, ..Self::default() }
    }

    /// Adds the letters of options that are registered.
    pub(super) fn letters(parser: &mut ParseOptions<'_>) {
        parser.letter('o', "output");
        parser.letter('j', "jobs");
    }

    /// Returns the number of threads; 0 is one per processor.
    pub(super) fn jobs(&self) -> Result<usize, CliError> {
        match self.jobs.unwrap_or_default() {
            jobs if jobs <= MAX_JOBS => Ok(jobs),
            jobs => Err(CliError::Usage(format!("option --jobs: {jobs} is more than {MAX_JOBS}"))),
        }
    }

    /// Returns the options for reading recordings.
    pub(super) fn reading(&self) -> ReadOptions {
        let pipes = match (self.no_pipes, self.pipes) {
            (true, _) => Pipes::Never,
            (false, true) => Pipes::Always,
            (false, false) => Pipes::Named,
        };
        ReadOptions::default().with_allow_truncated(self.allow_truncated).with_pipes(pipes)
    }

    /// Returns the flag that a request to stop sets.
    pub(super) fn stop(&self, tool: &'static str) -> &'static AtomicBool {
        let left = match (self.resume, self.output.as_str()) {
            (true, _) => "--resume continues from here",
            (false, "") => "the lines on standard output are complete, others are missing",
            (false, _) => "nothing was written",
        };
        interrupt::watch(tool, left)
    }

    /// Lists the recordings in `paths`, or the shard of them, and starts a run.
    pub(super) fn run(&self, tool: &'static str, paths: &[OsString], quiet: bool) -> Result<Run, CliError> {
        self.run_with(tool, Inputs::from_paths(paths).map_err(trouble)?, quiet)
    }

    /// Starts a run with recordings, or the shard of them.
    pub(super) fn run_with(&self, tool: &'static str, mut inputs: Inputs, quiet: bool) -> Result<Run, CliError> {
        let begin = Instant::now();
        let mut output = PathBuf::from(&self.output);
        if !self.shard.is_empty() {
            let wrong =
                || CliError::Usage(format!("option --shard: '{}' is not a part such as 1/8, 2/8, ... 8/8", self.shard));
            let shard = Shard::parse(&self.shard).ok_or_else(wrong)?;
            inputs = inputs.shard(shard).map_err(trouble)?;
            if !self.output.is_empty() {
                output = shard.path(&output);
            }
        }
        Ok(Run { tool, inputs, output, quiet, begin })
    }
}

/// A run of a command over recordings.
pub(super) struct Run {
    tool: &'static str,
    pub(super) inputs: Inputs,
    /// The file to write; empty for standard output.
    pub(super) output: PathBuf,
    quiet: bool,
    begin: Instant,
}

impl Run {
    /// Returns the exit status if an earlier run has completed the output, except for failed
    /// recordings.
    pub(super) fn complete(&self, found: Found) -> Result<Option<ExitCode>, CliError> {
        let output = self.output.display();
        let failed = match found {
            Found::Complete { matrices } => (self.inputs.len() as u64).saturating_sub(matrices),
            Found::Other { reason } => {
                tracing::warn!("{output} {reason}: everything is done again");
                return Ok(None);
            }
            _ => return Ok(None),
        };
        if failed > 0 {
            say(format_args!(
                "kaldera {}: {output} is complete except for {} that failed: repair or remove them to run everything again",
                self.tool,
                recordings(failed)
            ));
            return Ok(Some(ExitCode::FAILURE));
        }
        if !self.quiet {
            print(&format!("{output} is complete: nothing to do\n"))?;
        }
        Ok(Some(ExitCode::SUCCESS))
    }

    /// Runs `job` and shows its progress; returns `None` if it was stopped.
    pub(super) fn work(
        &self,
        job: impl FnOnce(&mut (dyn FnMut(&Summary) + Send)) -> Result<Summary, Error>,
    ) -> Result<Option<Summary>, CliError> {
        let mut progress = Progress::new(self.inputs.len(), self.quiet);
        let ended = job(&mut |so_far| progress.tell(so_far));
        progress.end();
        match ended {
            Err(Error::Stopped) => Ok(None),
            summary => summary.map(Some).map_err(trouble),
        }
    }

    /// Reports the results and returns the exit status. Totals are not printed if the results go to
    /// standard output.
    pub(super) fn report(&self, summary: &Summary, written: &[PathBuf]) -> Result<ExitCode, CliError> {
        if !self.quiet && !self.output.as_os_str().is_empty() {
            print(&totals(summary, written, self.begin.elapsed().as_secs_f64()))?;
        }
        for rejected in &summary.rejected {
            say(format_args!("rejected: {}", log::one_line(rejected)));
        }
        let more = summary.num_rejected - summary.rejected.len();
        if more > 0 {
            say(format_args!("rejected: {more} more files or lines"));
        }
        tell_failures(&summary.failures);
        if !self.quiet {
            tell_others(self.inputs.others());
        }
        let all_went_well = summary.failures.is_empty() && summary.rejected.is_empty();
        Ok(if all_went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn totals(summary: &Summary, written: &[PathBuf], wall: f64) -> String {
    let Summary { utterances, seconds, frames, dim, .. } = summary;
    let mut text = format!("{}, {} of audio", recordings(*utterances), duration(*seconds));
    if *dim > 0 {
        let _ = write!(text, ", {frames} frames of {dim} dimensions");
    }
    let _ = writeln!(text, "\n{wall:.3} s: {:.0} x real time", seconds / wall);
    let files: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    let _ = match files.as_slice() {
        [] => writeln!(text, "nothing was written"),
        files => writeln!(text, "written to {}", files.join(" and ")),
    };
    if summary.earlier > 0 {
        let _ = writeln!(text, "{} were there from an earlier run", recordings(summary.earlier));
    }
    if !summary.failures.is_empty() {
        let _ = writeln!(text, "{} failed", recordings(summary.failures.len() as u64));
    }
    match summary.num_rejected {
        0 => {}
        1 => text.push_str("1 file or line was rejected\n"),
        count => {
            let _ = writeln!(text, "{count} files or lines were rejected");
        }
    }
    text
}

/// Converts an error; errors in the arguments are wrong usage.
pub(super) fn trouble(error: Error) -> CliError {
    match error {
        Error::NoInputs
        | Error::UnknownFormat { .. }
        | Error::EmptyShard { .. }
        | Error::DuplicateKey { .. }
        | Error::Overwrite { .. }
        | Error::Io(kaldera::io::Error::Overwrite { .. })
        | Error::Key { .. }
        | Error::MixedShards { .. } => CliError::Usage(log::one_line(&error)),
        error => CliError::failed(&error),
    }
}

/// Reports failed recordings: one line each, but two lines for many with the same reason, the
/// second with the names of the others.
fn tell_failures(failures: &[Failure]) {
    /// Smaller groups have one line for each failure.
    const MANY: usize = 5;
    /// Maximum number of names; `--verbose=1` shows all.
    const NAMED: usize = 10;
    // Numbers, such as rates and bytes, are ignored.
    let reason = |failure: &Failure| {
        let text = log::one_line(&failure.source);
        text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>()
    };
    let reasons: Vec<String> = failures.iter().map(reason).collect();
    let mut alike: HashMap<&str, Vec<&Failure>> = HashMap::new();
    for (reason, failure) in reasons.iter().zip(failures) {
        alike.entry(reason).or_default().push(failure);
    }
    for (reason, failure) in reasons.iter().zip(failures) {
        let group = alike.get(reason.as_str()).map_or(&[][..], |group| group);
        let is_first = group.first().is_some_and(|first| std::ptr::eq(*first, failure));
        if group.len() < MANY || is_first {
            say(format_args!("failed: {}", log::one_line(failure)));
        } else {
            tracing::debug!("failed: {}", log::one_line(failure));
        }
        if group.len() >= MANY && is_first {
            let others = &group[1..];
            let names = others.iter().take(NAMED).map(|failure| log::printable(&failure.utterance.key));
            let names = names.collect::<Vec<_>>().join(", ");
            let more = if others.len() > NAMED { ", ... (--verbose=1 has a line for each)" } else { "" };
            say(format_args!("failed: {} more for the same reason: {names}{more}", others.len()));
        }
    }
}

/// Reports the names of files in folders that are no audio.
fn tell_others(others: &[PathBuf]) {
    /// Maximum number of names; `--verbose=1` shows all.
    const NAMED: usize = 10;
    let names = |paths: &[PathBuf]| {
        paths.iter().map(|path| log::printable(&path.display().to_string())).collect::<Vec<_>>().join(", ")
    };
    for other in others {
        tracing::debug!("not audio: {}", other.display());
    }
    match others {
        [] => {}
        [other] => say(format_args!("1 other file is not audio: {}", names(std::slice::from_ref(other)))),
        others if others.len() <= NAMED => {
            say(format_args!("{} other files are not audio: {}", others.len(), names(others)));
        }
        others => say(format_args!(
            "{} other files are not audio: {}, ... (--verbose=1 names all)",
            others.len(),
            names(&others[..NAMED])
        )),
    }
}

fn recordings(count: u64) -> String {
    if count == 1 { "1 recording".to_owned() } else { format!("{count} recordings") }
}

/// Formats a duration in hours, or in seconds if it is short.
pub(super) fn duration(seconds: f64) -> String {
    if seconds < 360.0 { format!("{seconds:.2} s") } else { format!("{:.2} h", seconds / 3600.0) }
}

/// Progress of a run: a bar on a terminal, occasional lines elsewhere, nothing if quiet.
enum Progress {
    Quiet,
    Bar(ProgressBar),
    Lines { total: usize, next: Instant },
}

impl Progress {
    fn new(total: usize, quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            let bar = ProgressBar::new(total as u64);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} ({eta} left)") {
                bar.set_style(style);
            }
            Self::Bar(bar)
        } else {
            Self::Lines { total, next: Instant::now() + REPORT_EVERY }
        }
    }

    fn tell(&mut self, so_far: &Summary) {
        let done = so_far.earlier + so_far.utterances + so_far.failures.len() as u64;
        let detail = || format!("{}, {} failed", duration(so_far.seconds), so_far.failures.len());
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => {
                bar.set_position(done);
                bar.set_message(detail());
            }
            Self::Lines { total, next } => {
                if Instant::now() >= *next {
                    say(format_args!("{done} of {total} recordings, {}", detail()));
                    *next = Instant::now() + REPORT_EVERY;
                }
            }
        }
    }

    fn end(self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
