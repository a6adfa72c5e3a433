//! `kaldera features`: recordings in, one file of features out.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kaldera::Error;
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{Extractor, Fbank, FbankOptions, Kind, Mfcc, MfccOptions};
use kaldera::pipeline::{ENDINGS, FeatureFile, Inputs, Pipeline, Summary};

use super::{Trouble, print};
use crate::log::{self, say};
use crate::parse_options::{ParseOptions, Request, Syntax};

const TOOL: &str = "features";
const USAGE: &str = "\
Turn recordings into features.
Usage: kaldera features --kind fbank|mfcc [options] -o OUT FILES-OR-FOLDERS...

Inputs: WAV files (key: the name without .wav), folders (every *.wav below, sorted; key: the path below
the folder, with - for /), or a wav.scp with lines 'KEY FILE' or 'KEY COMMAND |'.
OUT ends in .ark (Kaldi's archive, with its index beside it as .scp), .npz (NumPy) or .safetensors. It appears
complete or not at all; its order is that of the inputs and does not depend on --jobs.
Recordings that cannot be used are left out and listed at the end. All must have the sample rate of
--sample-frequency (default 16000) unless --allow-downsample or --allow-upsample is given.
The options are Kaldi's, as --name=value or --name value; only dither differs: it is 0 unless asked for.

Example: kaldera features --kind fbank --num-mel-bins 80 -o fbank.ark recordings/
Exit status: 0 all went well, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage.";

/// How often a run that has no terminal tells how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Runs `kaldera features` with the arguments after its name.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    super::end(TOOL, features(&args))
}

fn features(args: &[OsString]) -> Result<ExitCode, Trouble> {
    let asks_help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    match kind_of(args).as_deref() {
        Some("mfcc") => with_options(args, MfccOptions::default(), |options| &mut options.frame.dither, Mfcc::new),
        Some("fbank") => with_options(args, FbankOptions::default(), |options| &mut options.frame.dither, Fbank::new),
        // The options of both kinds are much the same; help shows those of the usual one.
        None if asks_help => {
            with_options(args, FbankOptions::default(), |options| &mut options.frame.dither, Fbank::new)
        }
        Some(other) => Err(Trouble::Usage(format!("option --kind: '{other}' is not fbank or mfcc"))),
        None => Err(Trouble::Usage("--kind fbank or --kind mfcc is missing".to_owned())),
    }
}

/// The last `--kind`, which decides what other options there are.
fn kind_of(args: &[OsString]) -> Option<String> {
    let options = || args.iter().take_while(|&arg| arg != "--").map(|arg| arg.to_string_lossy());
    let following = options().zip(options().skip(1)).filter(|(name, _)| name == "--kind").map(|(_, value)| value);
    let attached = options().filter_map(|arg| arg.strip_prefix("--kind=").map(str::to_owned));
    following.map(|value| value.into_owned()).chain(attached).last()
}

/// The options that are not the extractor's.
struct Options {
    kind: String,
    output: String,
    jobs: u64,
    quiet: bool,
    channel: i32,
    min_duration: f32,
    vtln_warp: f32,
    subtract_mean: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: String::new(),
            output: String::new(),
            jobs: 0,
            quiet: false,
            channel: -1,
            min_duration: 0.0,
            vtln_warp: 1.0,
            subtract_mean: false,
        }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("kind", &mut self.kind, "Kind of features: fbank or mfcc");
        registry.add("output", &mut self.output, "File to write, ending in .ark, .npz or .safetensors");
        registry.add("jobs", &mut self.jobs, "Number of threads; 0 is one per processor");
        registry.add("quiet", &mut self.quiet, "Tell only what went wrong");
        registry.add("channel", &mut self.channel, "Channel to extract (-1 -> the first, 0 -> left, 1 -> right)");
        registry.add("min-duration", &mut self.min_duration, "Shorter recordings (in seconds) fail");
        registry.add("vtln-warp", &mut self.vtln_warp, "Vtln warp factor");
        registry.add("subtract-mean", &mut self.subtract_mean, "Subtract the mean of each dimension per recording");
    }
}

fn with_options<K: Kind, O: OptionSet>(
    args: &[OsString],
    mut of_kind: O,
    dither: impl Fn(&mut O) -> &mut f32,
    plan: impl Fn(O) -> Result<Extractor<K>, kaldera::feat::Error>,
) -> Result<ExitCode, Trouble> {
    *dither(&mut of_kind) = 0.0;
    let mut options = Options::default();
    let mut parser = ParseOptions::new(Syntax::People, USAGE);
    options.register(&mut parser);
    of_kind.register(&mut parser);
    parser.letter('o', "output");
    parser.letter('j', "jobs");
    parser.letter('q', "quiet");
    let paths = match parser.read(args)? {
        Request::Help => return print(&parser.help()).map(|()| ExitCode::SUCCESS),
        Request::Run(paths) => paths,
    };
    log::init(TOOL, parser.verbose());
    let extractor = plan(of_kind).map_err(|error| Trouble::Usage(log::one_line(&error)))?;
    extract(&extractor, &options, &paths)
}

fn extract<K: Kind>(extractor: &Extractor<K>, options: &Options, paths: &[OsString]) -> Result<ExitCode, Trouble> {
    let begin = Instant::now();
    if options.output.is_empty() {
        return Err(Trouble::Usage(format!("-o OUT is missing; its ending tells the format: {ENDINGS}")));
    }
    check("min-duration", options.min_duration, options.min_duration >= 0.0, "0 or more")?;
    check("vtln-warp", options.vtln_warp, options.vtln_warp > 0.0, "more than 0")?;
    let mut pipeline = Pipeline::new(extractor)
        .min_seconds(options.min_duration)
        .vtln_warp(options.vtln_warp)
        .subtract_mean(options.subtract_mean);
    if options.jobs > 0 {
        pipeline = pipeline.jobs(usize::try_from(options.jobs).unwrap_or(usize::MAX));
    }
    match usize::try_from(options.channel) {
        Ok(channel) => pipeline = pipeline.channel(channel),
        Err(_) if options.channel == -1 => {}
        Err(_) => return Err(Trouble::Usage(format!("option --channel: {} is not -1, 0, 1, ...", options.channel))),
    }

    let inputs = Inputs::from_paths(paths).map_err(trouble)?;
    let mut file = FeatureFile::create(&options.output).map_err(trouble)?;
    let mut progress = Progress::new(inputs.utterances().len(), options.quiet);
    let summary = pipeline.run_with(&inputs, &mut file, |so_far| progress.tell(so_far)).map_err(trouble)?;
    progress.end();
    let written = if summary.utterances > 0 { file.finish().map_err(trouble)? } else { Vec::new() };

    if !options.quiet {
        print(&totals(&summary, &written, begin.elapsed()))?;
    }
    for failure in &summary.failures {
        say(format_args!("failed: {}", log::one_line(failure)));
    }
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(name: &str, value: f32, holds: bool, expected: &str) -> Result<(), Trouble> {
    if holds && value.is_finite() {
        return Ok(());
    }
    Err(Trouble::Usage(format!("option --{name}: {value} is not {expected}")))
}

/// Errors of what was typed are wrong usage.
fn trouble(error: Error) -> Trouble {
    match error {
        Error::NoInputs | Error::UnknownFormat { .. } | Error::DuplicateKey { .. } => {
            Trouble::Usage(log::one_line(&error))
        }
        error => Trouble::failed(&error),
    }
}

fn totals(summary: &Summary, written: &[PathBuf], wall: Duration) -> String {
    let Summary { utterances, seconds, frames, dim, .. } = summary;
    let (audio, wall) = (duration(*seconds), wall.as_secs_f64());
    let mut text = format!("{}, {audio} of audio, {frames} frames of {dim} dimensions\n", recordings(*utterances));
    let _ = writeln!(text, "{wall:.3} s: {:.0} x real time", seconds / wall);
    let files: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    let _ = match files.as_slice() {
        [] => writeln!(text, "nothing was written"),
        files => writeln!(text, "written to {}", files.join(" and ")),
    };
    if !summary.failures.is_empty() {
        let _ = writeln!(text, "{} failed", recordings(summary.failures.len() as u64));
    }
    text
}

fn recordings(count: u64) -> String {
    if count == 1 { "1 recording".to_owned() } else { format!("{count} recordings") }
}

/// In hours, or in seconds if that is very little.
fn duration(seconds: f64) -> String {
    if seconds < 360.0 { format!("{seconds:.2} s") } else { format!("{:.2} h", seconds / 3600.0) }
}

/// How far a run is: a bar on a terminal, a line now and then elsewhere, nothing when quiet.
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
        let done = so_far.utterances + so_far.failures.len() as u64;
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
