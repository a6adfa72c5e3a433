//! `kaldera features`: recordings in, one file of features out.

use std::ffi::OsString;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, OptionValue as _, Registry};
use kaldera::feat::{
    DeltaFeaturesOptions, Fbank, FbankOptions, LogMel, LogMelOptions, Mfcc, MfccOptions, PitchExtractionOptions, Plp,
    PlpOptions, Preset, ProcessPitchOptions, SlidingWindowCmnOptions, Spectrogram, SpectrogramOptions,
    VadEnergyOptions,
};
use kaldera::pipeline::{Cmvn, ENDINGS, FeatureExtractor, FeatureFile, Pipeline, PitchFeatures, RunId};

use super::corpus::{CorpusOptions, NOT_OF_RESULTS, trouble};
use super::{Trouble, arguments};
use crate::layout::columns;
use crate::parse_options::{ParseOptions, Syntax};
use crate::similar::did_you_mean;
use crate::{Call, interrupt, log};

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
them. With --no-pipes no command of a list is run. All recordings must have the sample rate of
--sample-frequency (default 16000) unless --resample is given (a filter of the quality of ffmpeg's), or
--allow-downsample or --allow-upsample (Kaldi's filter).
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
    CorpusOptions::letters(&mut parser);
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
    corpus: CorpusOptions,
    min_duration: f32,
    resample: bool,
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

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("kind", &mut self.kind, "fbank, mfcc, plp, spectrogram, pitch, whisper or librosa");
        registry.add(
            "preset",
            &mut self.preset,
            "Defaults of a toolkit: kaldi, torchaudio, lhotse, whisper or librosa; options that are given come on top",
        );
        self.corpus.register(registry);
        registry.add("min-duration", &mut self.min_duration, "Shorter recordings (in seconds) fail");
        registry.add("resample", &mut self.resample, "Resample recordings of another rate, with ffmpeg's quality");
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
        let corpus = CorpusOptions::new(
            "File to write, ending in .ark, .npz or .safetensors",
            "Go on where a run of the same options was cut off",
        );
        Self { corpus, vtln_warp: 1.0, ..Self::default() }
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
        let settings = parser.settings(&NOT_OF_RESULTS);
        let quiet = parser.quiet();
        if options.select_voiced && !of_kind.begins_with_energy() {
            return Err(Trouble::Usage(
                "--vad needs a log energy in column 0: --kind mfcc has one, and others with --use-energy".to_owned(),
            ));
        }
        of_kind.align(&mut pitch.extraction);
        let wrong = |error| Trouble::Usage(log::one_line(&error));
        let samp_freq = pitch.extraction.samp_freq;
        let pitch = if options.with_pitch { Some(pitch.plan().map_err(wrong)?) } else { None };
        let extractor = plan(of_kind).map_err(wrong)?;
        let mut pipeline = pipeline(&extractor, pitch.as_ref(), &options)?;
        if options.resample {
            pipeline = pipeline.resample(samp_freq);
        }
        extract(&pipeline, &options.corpus, &settings, &paths, quiet)
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
    let CorpusOptions { output, shard, .. } = &options.corpus;
    if output.is_empty() {
        return Err(Trouble::Usage(format!("-o OUT is missing; its ending tells the format: {ENDINGS}")));
    }
    if output == "-" || is_wspecifier(output) {
        return Err(Trouble::Usage(format!(
            "-o {output}: features go into a file, whose ending tells the format: {ENDINGS}; for standard output and Kaldi's \
             wspecifiers there are Kaldi's programs, such as kaldera compute-fbank-feats"
        )));
    }
    if let (false, cmvn @ ("speaker" | "all")) = (shard.is_empty(), options.cmvn.as_str()) {
        return Err(Trouble::Usage(format!(
            "--cmvn={cmvn} needs all recordings, and a shard has some: use compute-cmvn-stats and apply-cmvn on what is merged"
        )));
    }
    check("min-duration", options.min_duration, options.min_duration >= 0.0, "0 or more")?;
    check("vtln-warp", options.vtln_warp, options.vtln_warp > 0.0, "more than 0")?;
    let mut pipeline = Pipeline::new(extractor)
        .min_seconds(options.min_duration)
        .vtln_warp(options.vtln_warp)
        .subtract_mean(options.subtract_mean)
        .reading(options.corpus.reading())
        .stop_when(options.corpus.stop(TOOL));
    let jobs = options.corpus.jobs();
    if jobs > 0 {
        pipeline = pipeline.jobs(jobs);
    }
    if let Some(channel) = options.corpus.channel()? {
        pipeline = pipeline.channel(channel);
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
    corpus: &CorpusOptions,
    settings: &str,
    paths: &[OsString],
    quiet: bool,
) -> Result<ExitCode, Trouble> {
    let run = corpus.run(TOOL, paths, quiet)?;
    let file = if corpus.resume {
        let id = RunId::new(settings, &run.inputs);
        if let Some(code) = run.complete(FeatureFile::found(&run.output, id).map_err(trouble)?)? {
            return Ok(code);
        }
        FeatureFile::resume(&run.output, id)
    } else {
        FeatureFile::create(&run.output)
    };
    let mut file = file.map_err(trouble)?;
    let Some(summary) = run.work(|tell| pipeline.run_with(&run.inputs, &mut file, tell))? else {
        drop(file);
        return Ok(interrupt::stopped());
    };
    let written = if summary.utterances + summary.earlier > 0 { file.finish().map_err(trouble)? } else { Vec::new() };
    run.report(&summary, &written)
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
