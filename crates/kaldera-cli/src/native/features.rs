//! `kaldera features`: recordings in, one file of features out.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kaldera::Error;
use kaldera::feat::options::{OptionSet, OptionValue as _, Registry};
use kaldera::feat::{
    DeltaFeaturesOptions, Fbank, FbankOptions, LogMel, LogMelOptions, Mfcc, MfccOptions, PitchExtractionOptions, Plp,
    PlpOptions, Preset, ProcessPitchOptions, SlidingWindowCmnOptions, Spectrogram, SpectrogramOptions,
    VadEnergyOptions,
};
use kaldera::pipeline::{
    Cmvn, ENDINGS, FeatureExtractor, FeatureFile, Found, Inputs, Pipeline, PitchFeatures, ReadOptions, RunId, Shard,
    Summary,
};

use super::{Trouble, arguments, print};
use crate::layout::columns;
use crate::log::{self, say};
use crate::parse_options::{ParseOptions, Syntax};
use crate::similar::did_you_mean;
use crate::{Call, interrupt};

const TOOL: &str = "features";
const USAGE: &str = "\
Turn recordings into features.

Usage: kaldera features --kind KIND [OPTIONS] -o OUT INPUTS...
       kaldera features --kind KIND --help   shows the options of a kind";
const INPUTS: &str = "\
Inputs:
  FILE            Audio; its key is its name without the ending
  FOLDER          Every audio file below, sorted; the key is the path below the folder, with - for /
  DATA            A data folder of Kaldi, with wav.scp, and perhaps segments and utt2spk
  FILE.scp        Lines 'KEY FILE' or 'KEY COMMAND |'
  FILE.jsonl[.gz] Recordings or cuts of lhotse

OUT ends in .ark (Kaldi's archive, with its index beside it as .scp), .npz (NumPy) or .safetensors. It
appears complete or not at all; its order is that of the inputs and does not depend on --jobs.
Recordings that cannot be used are left out and listed at the end, and so are files of folders that
are audio of other formats, lines of lists that are none, and recordings with the key of one before
them. With --no-pipes no command of a list is run. All recordings must have the sample rate of --sample-frequency (default 16000) unless
--allow-downsample or --allow-upsample is given.
The options are Kaldi's, as --name=value or --name value, those of pitch with --with-pitch. Only
dither, and the noise in the change of pitch, differ: they are 0 unless asked for.

Done to the features, in this order: --with-pitch beside them, --cmvn, --deltas, --vad (only voiced
frames stay). For a job array: --shard 2/8 does the second eighth of the inputs and writes
OUT.2-of-8.ark; 'kaldera merge -o OUT.ark' makes one file of all. With --resume a run goes on where one
of the same options and inputs was cut off, and does nothing if OUT is what such a run has completed;
OUT.resume, beside it, says so.

Examples:
  kaldera features --kind fbank --num-mel-bins 80 -o fbank.ark recordings/
  kaldera features --kind mfcc --with-pitch --cmvn=speaker -o mfcc.ark data/train
  kaldera features --kind fbank --preset lhotse -j4 -o fbank.npz cuts.jsonl.gz

Exit status: 0 all went well, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage
(also an OUT that is an input), 130 stopped by Ctrl-C, 143 by SIGTERM.";

/// The kinds of features.
const KINDS: [&str; 7] = ["fbank", "mfcc", "plp", "spectrogram", "pitch", "whisper", "librosa"];
/// What they are.
const ABOUT: [&str; KINDS.len()] = [
    "Log energies in mel filters, as of compute-fbank-feats",
    "Mel frequency cepstra, as of compute-mfcc-feats",
    "Cepstra of perceptual linear prediction, as of compute-plp-feats",
    "Log power spectra, as of compute-spectrogram-feats",
    "Voicing, log pitch and its change, as of compute-and-process-kaldi-pitch-feats",
    "Log mel spectrograms, as of whisper.log_mel_spectrogram",
    "Log mel spectrograms, as of librosa.feature.melspectrogram",
];
/// Names of [`Preset::ALL`].
const PRESETS: [&str; 5] = ["kaldi", "torchaudio", "lhotse", "whisper", "librosa"];

/// How often a run that has no terminal tells how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Answers a call of `kaldera features`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, features(call))
}

fn features(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let args = match call {
        Call::Run(args) => args,
        describe @ Call::Describe(_) => return of_no_kind(describe, true),
    };
    let preset = last_value(&args, "preset").map(|name| preset_named(&name)).transpose()?;
    let Some(kind) = last_value(&args, "kind").or_else(|| Some(preset?.only_kind()?.to_owned())) else {
        let asks_help = args.iter().any(|arg| arg == "--help" || arg == "-h");
        return of_no_kind(Call::Run(args), !asks_help);
    };
    let none = || {
        let preset = preset.map_or("", Preset::name);
        Trouble::Usage(format!(
            "option --preset: there is no {kind} of {preset}; 'kaldera features --help' lists presets with their kinds"
        ))
    };
    let of_kaldi = || if matches!(preset, None | Some(Preset::Kaldi)) { Ok(()) } else { Err(none()) };
    let log_mel = |own: Preset| LogMelOptions::preset(own).filter(|_| preset.is_none_or(|preset| preset == own));
    let given = preset.unwrap_or_default();
    let of = OfKind { kind: &kind, args: &args, preset };
    match kind.as_str() {
        "fbank" => of.run(FbankOptions::preset(given).ok_or_else(none)?, Fbank::new),
        "mfcc" => of.run(MfccOptions::preset(given).ok_or_else(none)?, Mfcc::new),
        "plp" => of_kaldi().and_then(|()| of.run(PlpOptions::default(), Plp::new)),
        "spectrogram" => of_kaldi().and_then(|()| of.run(SpectrogramOptions::default(), Spectrogram::new)),
        "pitch" => of_kaldi().and_then(|()| of.run(Pitch::default(), Pitch::plan)),
        "whisper" => of.run(log_mel(Preset::Whisper).ok_or_else(none)?, LogMel::new),
        "librosa" => of.run(log_mel(Preset::Librosa).ok_or_else(none)?, LogMel::new),
        other => {
            let hint = did_you_mean(other, KINDS);
            Err(Trouble::Usage(format!("option --kind: '{other}' is not one of {}{hint}", KINDS.join(", "))))
        }
    }
}

/// What there is without a kind: the help of all, completions, and slips in other options than
/// `--kind`.
fn of_no_kind(call: Call<'_>, with_options_of_all: bool) -> Result<ExitCode, Trouble> {
    let list = |rows: &[(&str, String)]| columns(rows.iter().map(|(name, about)| ((*name).to_owned(), about.clone())));
    let kinds: Vec<_> = KINDS.into_iter().zip(ABOUT.map(str::to_owned)).collect();
    let presets = Preset::ALL.map(|preset| (preset.name(), format!("{} ({})", preset.differences(), preset.kinds())));
    let usage = format!(
        "{USAGE}\n\nKinds:\n{}\nPresets, by what differs from Kaldi's defaults (and their kinds):\n{}\n{INPUTS}",
        list(&kinds),
        list(&presets)
    );
    let (mut options, mut all) = (Options::new(), OptionsOfAll::default());
    let mut parser = parser(usage, &mut options);
    if with_options_of_all {
        parser.add_others(&mut all);
    }
    match arguments(TOOL, &mut parser, call)? {
        None => Ok(ExitCode::SUCCESS),
        Some(_) => Err(Trouble::Usage(format!("--kind is missing: one of {}", KINDS.join(", ")))),
    }
}

/// A parser of the options that all kinds have.
fn parser(usage: String, options: &mut Options) -> ParseOptions<'_> {
    let mut parser = ParseOptions::new(Syntax::Native, usage);
    options.register(&mut parser);
    parser.letter('o', "output");
    parser.letter('j', "jobs");
    parser.choices("kind", &KINDS);
    parser.choices("preset", &PRESETS);
    parser.choices("cmvn", &["utterance", "speaker", "all", "sliding"]);
    parser
}

/// The options of all kinds.
#[derive(Default)]
struct OptionsOfAll {
    fbank: FbankOptions,
    mfcc: MfccOptions,
    plp: PlpOptions,
    spectrogram: SpectrogramOptions,
    log_mel: LogMelOptions,
    pitch: Pitch,
}

impl OptionSet for OptionsOfAll {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.fbank.register(registry);
        self.mfcc.register(registry);
        self.plp.register(registry);
        self.spectrogram.register(registry);
        self.log_mel.register(registry);
        self.pitch.register(registry);
    }
}

fn preset_named(name: &str) -> Result<Preset, Trouble> {
    let mut preset = Preset::default();
    let wrong = |error| Trouble::Usage(format!("option --preset: {error}{}", did_you_mean(name, PRESETS)));
    preset.set(name).map(|()| preset).map_err(wrong)
}

/// What presets are for.
trait PresetKinds {
    /// The kinds of features that it has.
    fn kinds(self) -> String;

    /// Its kind, if there is but one.
    fn only_kind(self) -> Option<&'static str>;
}

impl PresetKinds for Preset {
    fn kinds(self) -> String {
        match (self, self.only_kind()) {
            (_, Some(kind)) => kind.to_owned(),
            (Self::Kaldi, None) => "fbank, mfcc, plp, spectrogram, pitch".to_owned(),
            _ => "fbank, mfcc".to_owned(),
        }
    }

    fn only_kind(self) -> Option<&'static str> {
        FbankOptions::preset(self).is_none().then(|| self.name())
    }
}

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
    /// The native command's defaults, where they are not Kaldi's.
    fn native_defaults(&mut self) {}

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
            fn native_defaults(&mut self) {
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
    fn native_defaults(&mut self) {
        self.process.delta_pitch_noise_stddev = 0.0;
    }

    fn align(&self, pitch: &mut PitchExtractionOptions) {
        self.extraction.clone_into(pitch);
    }
}

/// The options that are not the extractor's.
#[derive(Default)]
struct Options {
    kind: String,
    preset: String,
    output: String,
    jobs: u64,
    quiet: bool,
    shard: String,
    resume: bool,
    channel: i32,
    min_duration: f32,
    allow_truncated: bool,
    no_pipes: bool,
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
const NOT_OF_FEATURES: [&str; 5] = ["output", "jobs", "shard", "resume", "no-pipes"];

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("kind", &mut self.kind, "fbank, mfcc, plp, spectrogram, pitch, whisper or librosa");
        registry.add(
            "preset",
            &mut self.preset,
            "Defaults of a toolkit: kaldi, torchaudio, lhotse, whisper or librosa; options that are given come on top",
        );
        registry.add("output", &mut self.output, "File to write, ending in .ark, .npz or .safetensors");
        registry.add("jobs", &mut self.jobs, "Number of threads; 0 is one per processor");
        registry.add("shard", &mut self.shard, "Which part of the inputs to do, as 2/8 for the second of eight");
        registry.add("resume", &mut self.resume, "Go on where a run of the same options was cut off");
        registry.add("channel", &mut self.channel, "Channel to extract (-1 -> the first, 0 -> left, 1 -> right)");
        registry.add("min-duration", &mut self.min_duration, "Shorter recordings (in seconds) fail");
        registry.add(
            "allow-truncated",
            &mut self.allow_truncated,
            "Of recordings that end early take what is there; they fail otherwise",
        );
        registry.add("no-pipes", &mut self.no_pipes, "Run no command of a list: recordings that need one fail");
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
    fn new() -> Self {
        Self { channel: -1, vtln_warp: 1.0, ..Self::default() }
    }

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

/// A call for features of a kind.
#[derive(Clone, Copy)]
struct OfKind<'a> {
    kind: &'a str,
    args: &'a [OsString],
    preset: Option<Preset>,
}

impl OfKind<'_> {
    fn run<O: KindOptions, E: FeatureExtractor>(
        self,
        mut of_kind: O,
        plan: impl Fn(O) -> Result<E, kaldera::feat::Error>,
    ) -> Result<ExitCode, Trouble> {
        let (mut options, mut pitch) = (Options::new(), Pitch::default());
        // A preset is what it says, dither too.
        if self.preset.is_none() {
            of_kind.native_defaults();
        }
        pitch.native_defaults();
        let mut parser = parser(self.usage(), &mut options);
        parser.add_others(&mut of_kind);
        if is_given(self.args, "with-pitch") {
            parser.add_others(&mut pitch);
        }
        let Some(paths) = arguments(TOOL, &mut parser, Call::Run(self.args.to_vec()))? else {
            return Ok(ExitCode::SUCCESS);
        };
        let settings = parser.settings(&NOT_OF_FEATURES);
        let quiet = parser.quiet();
        options.quiet = quiet;
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

    fn usage(self) -> String {
        let about = KINDS.iter().zip(ABOUT).find(|(kind, _)| **kind == self.kind).map_or("", |(_, about)| about);
        let kind = self.kind;
        format!(
            "{about}.\n\nUsage: kaldera features --kind {kind} [OPTIONS] -o OUT INPUTS...\n\n\
             'kaldera features --help' tells of kinds, presets, inputs and outputs; --with-pitch --help lists the options \
             of pitch, too. Options in brackets have these values unless others are given.\n\n\
             Examples:\n  kaldera features --kind {kind} -o {kind}.ark recordings/\n  \
             kaldera features --kind {kind} --config {kind}.conf --cmvn=speaker -o {kind}.npz data/train\n",
        )
    }
}

fn pipeline<'a, E: FeatureExtractor>(
    extractor: &'a E,
    pitch: Option<&'a PitchFeatures>,
    options: &Options,
) -> Result<Pipeline<'a, &'a E>, Trouble> {
    if options.output.is_empty() {
        return Err(Trouble::Usage(format!("-o OUT is missing; its ending tells the format: {ENDINGS}")));
    }
    if options.output == "-" || is_wspecifier(&options.output) {
        return Err(Trouble::Usage(format!(
            "-o {}: features go into a file, whose ending tells the format: {ENDINGS}; for standard output and Kaldi's \
             wspecifiers there are Kaldi's programs, such as kaldera compute-fbank-feats",
            options.output
        )));
    }
    check("min-duration", options.min_duration, options.min_duration >= 0.0, "0 or more")?;
    check("vtln-warp", options.vtln_warp, options.vtln_warp > 0.0, "more than 0")?;
    let mut pipeline = Pipeline::new(extractor)
        .min_seconds(options.min_duration)
        .vtln_warp(options.vtln_warp)
        .subtract_mean(options.subtract_mean)
        .reading(ReadOptions::default().with_allow_truncated(options.allow_truncated).with_pipes(!options.no_pipes))
        .stop_when(interrupt::watch(
            TOOL,
            if options.resume { "--resume goes on from here" } else { "nothing was written" },
        ));
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
    let file = if options.resume {
        let run = RunId::new(settings, &inputs);
        match FeatureFile::found(&output, run).map_err(trouble)? {
            Found::Complete { matrices } => {
                return complete(TOOL, &output, inputs.len() as u64 - matrices, options.quiet);
            }
            Found::Other { reason } => tracing::warn!("{} {reason}: all is done anew", output.display()),
            _ => {}
        }
        FeatureFile::resume(&output, run)
    } else {
        FeatureFile::create(&output)
    };
    let mut file = file.map_err(trouble)?;
    let mut progress = Progress::new(inputs.utterances().len(), options.quiet);
    let summary = match pipeline.run_with(&inputs, &mut file, |so_far| progress.tell(so_far)) {
        Err(Error::Stopped) => {
            progress.end();
            drop(file);
            return Ok(interrupt::stopped());
        }
        summary => summary.map_err(trouble)?,
    };
    progress.end();
    let written = if summary.utterances + summary.earlier > 0 { file.finish().map_err(trouble)? } else { Vec::new() };

    if !options.quiet {
        print(&totals(&summary, &written, begin.elapsed()))?;
    }
    for rejected in &summary.rejected {
        say(format_args!("rejected: {}", log::one_line(rejected)));
    }
    for failure in &summary.failures {
        say(format_args!("failed: {}", log::one_line(failure)));
    }
    if !options.quiet {
        tell_others(inputs.others());
    }
    let all_went_well = summary.failures.is_empty() && summary.rejected.is_empty();
    Ok(if all_went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Names files of folders that are no audio.
pub(super) fn tell_others(others: &[PathBuf]) {
    /// So many are named; all of them with `--verbose=1`.
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

/// Tells of an output that an earlier run has completed, but for some recordings that failed in it.
pub(super) fn complete(tool: &str, output: &Path, failed: u64, quiet: bool) -> Result<ExitCode, Trouble> {
    let output = output.display();
    if failed > 0 {
        say(format_args!(
            "kaldera {tool}: {output} is complete but for {} that failed: mend or remove them, and all is done anew",
            recordings(failed)
        ));
        return Ok(ExitCode::FAILURE);
    }
    if !quiet {
        print(&format!("{output} is complete: nothing to do\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(name: &str, value: f32, holds: bool, expected: &str) -> Result<(), Trouble> {
    if holds && value.is_finite() {
        return Ok(());
    }
    Err(Trouble::Usage(format!("option --{name}: {value} is not {expected}")))
}

/// Whether this is how Kaldi names an output, as in `ark,scp:x.ark,x.scp`.
fn is_wspecifier(output: &str) -> bool {
    output.split_once(':').is_some_and(|(options, _)| options.split(',').any(|option| matches!(option, "ark" | "scp")))
}

/// Errors of what was typed are wrong usage.
pub(super) fn trouble(error: Error) -> Trouble {
    match error {
        Error::NoInputs
        | Error::UnknownFormat { .. }
        | Error::EmptyShard { .. }
        | Error::DuplicateKey { .. }
        | Error::Overwrite { .. }
        | Error::Io(kaldera::io::Error::Overwrite { .. })
        | Error::Key { .. }
        | Error::MixedShards { .. } => Trouble::Usage(log::one_line(&error)),
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
    match summary.rejected.len() {
        0 => {}
        1 => text.push_str("1 file or line was rejected\n"),
        count => {
            let _ = writeln!(text, "{count} files or lines were rejected");
        }
    }
    text
}

pub(super) fn recordings(count: u64) -> String {
    if count == 1 { "1 recording".to_owned() } else { format!("{count} recordings") }
}

/// In hours, or in seconds if that is very little.
pub(super) fn duration(seconds: f64) -> String {
    if seconds < 360.0 { format!("{seconds:.2} s") } else { format!("{:.2} h", seconds / 3600.0) }
}

/// How far a run is: a bar on a terminal, a line now and then elsewhere, nothing when quiet.
pub(super) enum Progress {
    Quiet,
    Bar(ProgressBar),
    Lines { total: usize, next: Instant },
}

impl Progress {
    pub(super) fn new(total: usize, quiet: bool) -> Self {
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

    pub(super) fn tell(&mut self, so_far: &Summary) {
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

    pub(super) fn end(self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
