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
use kaldera::feat::{
    DeltaFeaturesOptions, Fbank, FbankOptions, LogMel, LogMelOptions, Mfcc, MfccOptions, PitchExtractionOptions, Plp,
    PlpOptions, ProcessPitchOptions, SlidingWindowCmnOptions, Spectrogram, SpectrogramOptions, VadEnergyOptions,
};
use kaldera::pipeline::{
    Cmvn, ENDINGS, FeatureExtractor, FeatureFile, Inputs, Pipeline, PitchFeatures, Shard, Summary,
};

use super::{Trouble, print};
use crate::interrupt;
use crate::log::{self, say};
use crate::parse_options::{ParseOptions, Request, Syntax};

const TOOL: &str = "features";
const USAGE: &str = "\
Turn recordings into features.
Usage: kaldera features --kind KIND [options] -o OUT INPUTS...

KIND is fbank, mfcc, plp, spectrogram, pitch, whisper or librosa (log-mel spectrograms as these compute them).
INPUTS: audio files (key: the name without its ending), folders (every audio file below, sorted; key: the path below the
folder, with - for /), Kaldi's data folders (wav.scp, segments, utt2spk), a wav.scp with lines 'KEY FILE' or
'KEY COMMAND |', lhotse's recordings or cuts (.jsonl, .jsonl.gz).
OUT ends in .ark (Kaldi's archive, with its index beside it as .scp), .npz (NumPy) or .safetensors. It appears
complete or not at all; its order is that of the inputs and does not depend on --jobs.
Recordings that cannot be used are left out and listed at the end. All must have the sample rate of
--sample-frequency (default 16000) unless --allow-downsample or --allow-upsample is given.
The options are Kaldi's, as --name=value or --name value, those of pitch with --with-pitch; only dither, and the noise
in the change of pitch, differ: they are 0 unless asked for.

Done to the features, in this order: --with-pitch beside them, --cmvn, --deltas, --vad (only voiced frames stay).
For a job array: --shard 2/8 does the second eighth of the inputs and writes OUT.2-of-8.ark; 'kaldera merge -o OUT.ark'
makes one file of all. With --resume a run goes on where one of the same options was cut off, and does nothing if OUT exists.

Example: kaldera features --kind mfcc --with-pitch --cmvn=speaker -o mfcc.ark data/train
Exit status: 0 all went well, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage, 130 stopped.";

/// How often a run that has no terminal tells how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Runs `kaldera features` with the arguments after its name.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    super::end(TOOL, features(&args))
}

fn features(args: &[OsString]) -> Result<ExitCode, Trouble> {
    let asks_help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    match last_value(args, "kind").as_deref() {
        Some("fbank") => with_options(args, FbankOptions::default(), Fbank::new),
        Some("mfcc") => with_options(args, MfccOptions::default(), Mfcc::new),
        Some("plp") => with_options(args, PlpOptions::default(), Plp::new),
        Some("spectrogram") => with_options(args, SpectrogramOptions::default(), Spectrogram::new),
        Some("whisper") => with_options(args, LogMelOptions::whisper(80), LogMel::new),
        Some("librosa") => with_options(args, LogMelOptions::librosa(16_000.0), LogMel::new),
        Some("pitch") => with_options(args, Pitch::default(), Pitch::plan),
        // The options of all kinds are much the same; help shows those of the usual one.
        None if asks_help => with_options(args, FbankOptions::default(), Fbank::new),
        Some(other) => Err(Trouble::Usage(format!("option --kind: '{other}' is not one of {KINDS}"))),
        None => Err(Trouble::Usage(format!("--kind is missing: one of {KINDS}"))),
    }
}

const KINDS: &str = "fbank, mfcc, plp, spectrogram, pitch, whisper, librosa";

/// The value of the last option `name`, for those that decide what other options there are.
fn last_value(args: &[OsString], name: &str) -> Option<String> {
    let mut last = None;
    let mut options = args.iter().take_while(|&arg| arg != "--").map(|arg| arg.to_string_lossy()).peekable();
    while let Some(option) = options.next() {
        match option.strip_prefix("--").and_then(|option| option.strip_prefix(name)) {
            Some("") => last = options.peek().map(|value| value.clone().into_owned()),
            Some(rest) => last = rest.strip_prefix('=').map(str::to_owned).or(last),
            None => {}
        }
    }
    last
}

/// Whether a bool that decides what other options there are is given.
fn is_given(args: &[OsString], name: &str) -> bool {
    args.iter()
        .take_while(|&arg| arg != "--")
        .filter_map(|arg| arg.to_str()?.strip_prefix("--"))
        .any(|option| option.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

/// What the pipeline needs to know of the options of a kind of features.
trait KindOptions: OptionSet {
    /// What people expect, where Kaldi does otherwise.
    fn for_people(&mut self) {}

    /// Whether column 0 is a log energy.
    fn begins_with_energy(&self) -> bool {
        false
    }

    /// Makes frames of pitch those of the features.
    fn align(&self, pitch: &mut PitchExtractionOptions);
}

/// For the kinds whose frames are Kaldi's.
macro_rules! impl_kind_options {
    ($options:ty, $this:ident => $begins_with_energy:expr) => {
        impl KindOptions for $options {
            fn for_people(&mut self) {
                self.frame.dither = 0.0;
            }

            fn begins_with_energy(&self) -> bool {
                let $this = self;
                $begins_with_energy
            }

            fn align(&self, pitch: &mut PitchExtractionOptions) {
                pitch.samp_freq = self.frame.samp_freq;
                pitch.frame_length_ms = self.frame.frame_length_ms;
                pitch.frame_shift_ms = self.frame.frame_shift_ms;
                pitch.snip_edges = self.frame.snip_edges;
            }
        }
    };
}

impl_kind_options!(FbankOptions, this => this.use_energy && !this.htk_compat);
impl_kind_options!(MfccOptions, this => this.use_energy && !this.htk_compat);
impl_kind_options!(PlpOptions, this => this.use_energy && !this.htk_compat);
impl_kind_options!(SpectrogramOptions, this => !this.return_raw_fft);

impl KindOptions for LogMelOptions {
    fn align(&self, pitch: &mut PitchExtractionOptions) {
        pitch.samp_freq = self.samp_freq;
        pitch.frame_shift_ms = self.hop as f32 / self.samp_freq * 1000.0;
        pitch.snip_edges = false;
    }
}

/// Pitch and what is made of it.
#[derive(Default)]
struct Pitch {
    extraction: PitchExtractionOptions,
    process: ProcessPitchOptions,
}

impl Pitch {
    fn plan(self) -> Result<PitchFeatures, kaldera::feat::Error> {
        PitchFeatures::new(self.extraction, self.process)
    }
}

impl OptionSet for Pitch {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.extraction.register(registry);
        self.process.register(registry);
    }
}

impl KindOptions for Pitch {
    fn for_people(&mut self) {
        self.process.delta_pitch_noise_stddev = 0.0;
    }

    fn align(&self, pitch: &mut PitchExtractionOptions) {
        self.extraction.clone_into(pitch);
    }
}

/// The options that are not the extractor's.
struct Options {
    kind: String,
    output: String,
    jobs: u64,
    quiet: bool,
    shard: String,
    resume: bool,
    channel: i32,
    min_duration: f32,
    vtln_warp: f32,
    subtract_mean: bool,
    with_pitch: bool,
    cmvn: String,
    sliding: SlidingWindowCmnOptions,
    add_deltas: bool,
    deltas: DeltaFeaturesOptions,
    select_voiced: bool,
    vad: VadEnergyOptions,
}

/// Options that do not decide what the features are.
const NOT_OF_FEATURES: [&str; 5] = ["output", "jobs", "quiet", "shard", "resume"];

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: String::new(),
            output: String::new(),
            jobs: 0,
            quiet: false,
            shard: String::new(),
            resume: false,
            channel: -1,
            min_duration: 0.0,
            vtln_warp: 1.0,
            subtract_mean: false,
            with_pitch: false,
            cmvn: String::new(),
            sliding: SlidingWindowCmnOptions::default(),
            add_deltas: false,
            deltas: DeltaFeaturesOptions::default(),
            select_voiced: false,
            vad: VadEnergyOptions::default(),
        }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("kind", &mut self.kind, "fbank, mfcc, plp, spectrogram, pitch, whisper or librosa");
        registry.add("output", &mut self.output, "File to write, ending in .ark, .npz or .safetensors");
        registry.add("jobs", &mut self.jobs, "Number of threads; 0 is one per processor");
        registry.add("quiet", &mut self.quiet, "Tell only what went wrong");
        registry.add("shard", &mut self.shard, "Which part of the inputs to do, as 2/8 for the second of eight");
        registry.add("resume", &mut self.resume, "Go on where a run of the same options was cut off");
        registry.add("channel", &mut self.channel, "Channel to extract (-1 -> the first, 0 -> left, 1 -> right)");
        registry.add("min-duration", &mut self.min_duration, "Shorter recordings (in seconds) fail");
        registry.add("vtln-warp", &mut self.vtln_warp, "Vtln warp factor");
        registry.add("subtract-mean", &mut self.subtract_mean, "Subtract the mean of each dimension per recording");
        registry.add("with-pitch", &mut self.with_pitch, "Put pitch beside the features");
        registry.add(
            "cmvn",
            &mut self.cmvn,
            "Normalise means over each utterance, speaker (reads twice), all (reads twice) or a sliding window",
        );
        self.sliding.register(registry);
        registry.add("deltas", &mut self.add_deltas, "Add deltas");
        self.deltas.register(registry);
        registry.add("vad", &mut self.select_voiced, "Keep only voiced frames, by the log energy in column 0");
        self.vad.register(registry);
    }
}

impl Options {
    fn cmvn(&self) -> Result<Option<Cmvn>, Trouble> {
        let norm_vars = self.sliding.normalize_variance;
        Ok(Some(match self.cmvn.as_str() {
            "" => return Ok(None),
            "utterance" => Cmvn::Utterance { norm_vars },
            "speaker" => Cmvn::Speaker { norm_vars },
            "all" => Cmvn::All { norm_vars },
            "sliding" => Cmvn::Sliding(self.sliding.clone()),
            other => {
                return Err(Trouble::Usage(format!(
                    "option --cmvn: '{other}' is not utterance, speaker, all or sliding"
                )));
            }
        }))
    }

    fn shard(&self) -> Result<Option<Shard>, Trouble> {
        match (self.shard.as_str(), self.cmvn.as_str()) {
            ("", _) => Ok(None),
            (_, cmvn @ ("speaker" | "all")) => Err(Trouble::Usage(format!(
                "--cmvn={cmvn} needs all recordings, and a shard has some: use compute-cmvn-stats and apply-cmvn on what is merged"
            ))),
            (text, _) => match Shard::parse(text) {
                Some(shard) => Ok(Some(shard)),
                None => {
                    Err(Trouble::Usage(format!("option --shard: '{text}' is not a part such as 1/8, 2/8, ... 8/8")))
                }
            },
        }
    }
}

fn with_options<O: KindOptions, E: FeatureExtractor>(
    args: &[OsString],
    mut of_kind: O,
    plan: impl Fn(O) -> Result<E, kaldera::feat::Error>,
) -> Result<ExitCode, Trouble> {
    let (mut options, mut pitch) = (Options::default(), Pitch::default());
    of_kind.for_people();
    pitch.for_people();
    let mut parser = ParseOptions::new(Syntax::People, USAGE);
    options.register(&mut parser);
    parser.add_others(&mut of_kind);
    if is_given(args, "with-pitch") {
        parser.add_others(&mut pitch);
    }
    parser.letter('o', "output");
    parser.letter('j', "jobs");
    parser.letter('q', "quiet");
    let paths = match parser.read(args)? {
        Request::Help => return print(&parser.help()).map(|()| ExitCode::SUCCESS),
        Request::Run(paths) => paths,
    };
    log::init(TOOL, parser.verbose());
    let settings = parser.settings(&NOT_OF_FEATURES);
    if options.select_voiced && !of_kind.begins_with_energy() {
        return Err(Trouble::Usage(
            "--vad needs a log energy in column 0: --kind mfcc has one, and others with --use-energy".to_owned(),
        ));
    }
    of_kind.align(&mut pitch.extraction);
    let wrong = |error| Trouble::Usage(log::one_line(&error));
    let pitch = if options.with_pitch { Some(pitch.plan().map_err(wrong)?) } else { None };
    let extractor = plan(of_kind).map_err(wrong)?;
    let pipeline = pipeline(&extractor, pitch.as_ref(), &options)?;
    extract(&pipeline, &options, &settings, &paths)
}

fn pipeline<'a, E: FeatureExtractor>(
    extractor: &'a E,
    pitch: Option<&'a PitchFeatures>,
    options: &Options,
) -> Result<Pipeline<'a, &'a E>, Trouble> {
    if options.output.is_empty() {
        return Err(Trouble::Usage(format!("-o OUT is missing; its ending tells the format: {ENDINGS}")));
    }
    check("min-duration", options.min_duration, options.min_duration >= 0.0, "0 or more")?;
    check("vtln-warp", options.vtln_warp, options.vtln_warp > 0.0, "more than 0")?;
    let mut pipeline = Pipeline::new(extractor)
        .min_seconds(options.min_duration)
        .vtln_warp(options.vtln_warp)
        .subtract_mean(options.subtract_mean)
        .stop_when(interrupt::watch());
    if options.jobs > 0 {
        pipeline = pipeline.jobs(usize::try_from(options.jobs).unwrap_or(usize::MAX));
    }
    match usize::try_from(options.channel) {
        Ok(channel) => pipeline = pipeline.channel(channel),
        Err(_) if options.channel == -1 => {}
        Err(_) => return Err(Trouble::Usage(format!("option --channel: {} is not -1, 0, 1, ...", options.channel))),
    }
    if let Some(pitch) = pitch {
        pipeline = pipeline.with_pitch(pitch);
    }
    if let Some(cmvn) = options.cmvn()? {
        pipeline = pipeline.cmvn(cmvn);
    }
    if options.add_deltas {
        pipeline = pipeline.deltas(options.deltas.clone());
    }
    if options.select_voiced {
        pipeline = pipeline.voiced_only(options.vad.clone());
    }
    Ok(pipeline)
}

fn extract<E: FeatureExtractor>(
    pipeline: &Pipeline<'_, E>,
    options: &Options,
    settings: &str,
    paths: &[OsString],
) -> Result<ExitCode, Trouble> {
    let begin = Instant::now();
    let mut inputs = Inputs::from_paths(paths).map_err(trouble)?;
    let mut output = PathBuf::from(&options.output);
    if let Some(shard) = options.shard()? {
        inputs = inputs.shard(shard).map_err(trouble)?;
        output = shard.path(&output);
    }
    if options.resume && output.exists() {
        if !options.quiet {
            print(&format!("{} is complete: nothing to do\n", output.display()))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let file =
        if options.resume { FeatureFile::resume(&output, fingerprint(settings)) } else { FeatureFile::create(&output) };
    let mut file = file.map_err(trouble)?;
    let mut progress = Progress::new(inputs.utterances().len(), options.quiet);
    let summary = match pipeline.run_with(&inputs, &mut file, |so_far| progress.tell(so_far)) {
        Err(Error::Stopped) => {
            progress.end();
            let left = if options.resume { "--resume goes on from here" } else { "nothing was written" };
            say(format_args!("kaldera {TOOL}: stopped; {left}"));
            return Ok(interrupt::stopped());
        }
        summary => summary.map_err(trouble)?,
    };
    progress.end();
    let written = if summary.utterances + summary.earlier > 0 { file.finish().map_err(trouble)? } else { Vec::new() };

    if !options.quiet {
        print(&totals(&summary, &written, begin.elapsed()))?;
    }
    for failure in &summary.failures {
        say(format_args!("failed: {}", log::one_line(failure)));
    }
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A number that stands for a text: FNV-1a, which is the same in every version of this program.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn check(name: &str, value: f32, holds: bool, expected: &str) -> Result<(), Trouble> {
    if holds && value.is_finite() {
        return Ok(());
    }
    Err(Trouble::Usage(format!("option --{name}: {value} is not {expected}")))
}

/// Errors of what was typed are wrong usage.
pub(super) fn trouble(error: Error) -> Trouble {
    match error {
        Error::NoInputs | Error::UnknownFormat { .. } | Error::EmptyShard { .. } | Error::DuplicateKey { .. } => {
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
    if summary.earlier > 0 {
        let _ = writeln!(text, "{} were there from an earlier run", recordings(summary.earlier));
    }
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
