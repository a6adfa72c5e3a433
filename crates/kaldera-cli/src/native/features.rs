//! `kaldera features`: recordings in, one file of features out.

use std::ffi::OsString;
use std::process::ExitCode;

use kaldera::feat::compute_deltas;
use kaldera::feat::options::{OptionSet, OptionValue as _, Registry};
use kaldera::feat::{
    DeltaFeaturesOptions, FeatureKind, FeatureOptions, FrontEnd, FrontEndOptions, GlobalCmvn, Normalize,
    PitchExtractionOptions, Preset, ProcessPitchOptions, SlidingWindowCmnOptions, VadEnergyOptions,
};
use kaldera::matrix::Matrix;
use kaldera::pipeline::{Cmvn, ENDINGS, FeatureExtractor, FeatureFile, Pipeline, PitchFeatures, RunId};

use super::corpus::{CorpusOptions, NOT_OF_RESULTS, trouble};
use super::{Trouble, arguments};
use crate::layout::columns;
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt, log};
use kaldera::similar::did_you_mean;

const TOOL: &str = "features";
const USAGE: &str = "\
Turn recordings into features.

Usage: kaldera features --kind KIND [OPTIONS] -o OUT INPUTS...
       kaldera features --kind KIND --help   shows the options of a kind";
const INPUTS: &str = "\
Inputs:
  FILE            Audio, told by its contents: WAV, AIFF, AU, CAF, Wave64, SPHERE, and as this build
                  has them FLAC, MP3, Ogg Vorbis and Opus; its key is its name without the ending
  FOLDER          Every audio file below, sorted; the key is the path below the folder, with - for /
  DATA            A data folder of Kaldi, with wav.scp, and perhaps segments and utt2spk
  FILE.scp        Lines 'KEY FILE' or 'KEY COMMAND |'
  FILE.jsonl[.gz] Recordings or cuts of lhotse (also .json)

OUT ends in .ark (Kaldi's archive, with its index beside it as .scp), .npz (NumPy) or .safetensors. It
appears complete or not at all; its order is that of the inputs and does not depend on --jobs.
Recordings that cannot be used are left out and listed at the end, and so are files of folders that
are audio of other formats, lines of lists that are none, and recordings with the key of one before
them. A wav.scp in a folder runs its commands only with --pipes, and no list does with --no-pipes. All recordings must have the sample rate of
--sample-frequency (default 16000) unless --resample is given (a filter of the quality of ffmpeg's), or
--allow-downsample or --allow-upsample (Kaldi's filter).
The options are Kaldi's, as --name=value or --name value, those of pitch with --with-pitch. Only
dither, and the noise in the change of pitch, differ: they are 0 unless asked for.

A preset of a model is its whole front end: what is done before and after the features, too
(--preemphasis, --lfr-m, --lfr-n, --normalize); --cmvn-file is the am.mvn of SenseVoice and Paraformer.

Done to the features, in this order: --with-pitch beside them, --cmvn, --deltas, --vad (only voiced
frames stay). For a job array: --shard 2/8 does the second eighth of the inputs and writes
OUT.2-of-8.ark; 'kaldera merge -o OUT.ark' makes one file of all. With --resume a run goes on where one
of the same options and inputs was cut off, and does nothing if OUT is what such a run has completed;
OUT.resume, beside it, says so.

Examples:
  kaldera features --kind fbank --num-mel-bins 80 -o fbank.ark recordings/
  kaldera features --kind mfcc --with-pitch --cmvn=speaker -o mfcc.ark data/train
  kaldera features --kind fbank --preset lhotse -j4 -o fbank.npz cuts.jsonl.gz
  kaldera features --preset paraformer --cmvn-file model/am.mvn -o rows.safetensors recordings/

Exit status: 0 all went well, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage
(also an OUT that is an input), 130 stopped by Ctrl-C, 143 by SIGTERM.";

/// The kinds of features.
const KINDS: [&str; 9] = ["fbank", "mfcc", "plp", "spectrogram", "pitch", "log-mel", "whisper", "librosa", "samples"];
/// Descriptions of the kinds.
const ABOUT: [&str; KINDS.len()] = [
    "Log energies in mel filters, as of compute-fbank-feats",
    "Mel frequency cepstra, as of compute-mfcc-feats",
    "Cepstra of perceptual linear prediction, as of compute-plp-feats",
    "Log power spectra, as of compute-spectrogram-feats",
    "Voicing, log pitch and its change, as of compute-and-process-kaldi-pitch-feats",
    "Log mel spectrograms of toolkits other than Kaldi; without a preset, those of whisper",
    "Log mel spectrograms, as of whisper.log_mel_spectrogram",
    "Log mel spectrograms, as of librosa.feature.melspectrogram",
    "Samples from -1 to 1, for networks that have their front end inside",
];
/// Names of [`Preset::ALL`].
const PRESETS: [&str; Preset::ALL.len()] = [
    "kaldi",
    "torchaudio",
    "lhotse",
    "whisper",
    "librosa",
    "zipformer",
    "whisper-30s",
    "whisper-large-v3",
    "qwen3-asr",
    "sensevoice",
    "paraformer",
    "nemo-80",
    "nemo-128",
    "gemma4",
    "wav2vec2",
    "moonshine",
    "silero-vad",
    "silero-vad-8k",
    "snfa",
];

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
        if let (false, Some(preset)) = (asks_help, preset) {
            let (name, kinds) = (preset.name(), preset.names_of_kinds());
            return Err(Trouble::Usage(format!("--kind is missing: {name} has {kinds}")));
        }
        return of_no_kind(Call::Run(args), !asks_help);
    };
    let none = || {
        let (name, kinds) = preset.map_or(("", String::new()), |preset| (preset.name(), preset.names_of_kinds()));
        Trouble::Usage(format!("option --preset: there is no {kind} of {name}, which has {kinds}"))
    };
    let of = OfKind { kind: &kind, args: &args, preset };
    // A kind with the name of a toolkit implies its preset.
    let (found, preset) = match kind.as_str() {
        "pitch" if matches!(preset, None | Some(Preset::Kaldi)) => {
            return of.run(Pitch::default(), |pitch, _| pitch.plan());
        }
        "pitch" => return Err(none()),
        "whisper" => (FeatureKind::LogMel, preset.map_or(Some(Preset::Whisper), Preset::of_whisper)),
        "librosa" => (FeatureKind::LogMel, preset.or(Some(Preset::Librosa)).filter(|&own| own == Preset::Librosa)),
        "samples" => (FeatureKind::Samples, preset.or(Some(Preset::Moonshine))),
        "log-mel" => (FeatureKind::LogMel, preset.or(Some(Preset::Whisper))),
        name => {
            let mut found = FeatureKind::default();
            found.set(name).map_err(|_| {
                let hint = did_you_mean(name, KINDS);
                Trouble::Usage(format!("option --kind: '{name}' is not one of {}{hint}", KINDS.join(", ")))
            })?;
            (found, Some(preset.unwrap_or_default()))
        }
    };
    let front_end = preset.and_then(|preset| preset.front_end_of(found)).ok_or_else(none)?;
    of.run(front_end, |options, cmvn| {
        let front_end = FrontEnd::new(options)?;
        match cmvn {
            Some(cmvn) => front_end.with_cmvn(cmvn),
            None => Ok(front_end),
        }
    })
}

/// Handles a call without a kind: the help of all kinds, completions, and errors in options other
/// than `--kind`.
fn of_no_kind(call: Call<'_>, with_options_of_all: bool) -> Result<ExitCode, Trouble> {
    let list = |rows: &[(&str, String)]| columns(rows.iter().map(|(name, about)| ((*name).to_owned(), about.clone())));
    let kinds: Vec<_> = KINDS.into_iter().zip(ABOUT.map(str::to_owned)).collect();
    let presets =
        Preset::ALL.map(|preset| (preset.name(), format!("{} ({})", preset.about(), preset.names_of_kinds())));
    let usage = format!(
        "{USAGE}\n\nKinds:\n{}\nPresets: models that they are for, what differs from Kaldi's defaults (and their kinds):\n{}\n{INPUTS}",
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

/// Creates a parser of the options that all kinds have.
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
struct OptionsOfAll {
    front_ends: [FrontEndOptions; FeatureKind::ALL.len()],
    pitch: Pitch,
}

impl Default for OptionsOfAll {
    fn default() -> Self {
        let front_ends = FeatureKind::ALL.map(|kind| FrontEndOptions::of(FeatureOptions::of(kind)));
        Self { front_ends, pitch: Pitch::default() }
    }
}

impl OptionSet for OptionsOfAll {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.front_ends.iter_mut().for_each(|options| options.register(registry));
        self.pitch.register(registry);
    }
}

pub(super) fn preset_named(name: &str) -> Result<Preset, Trouble> {
    let mut preset = Preset::default();
    preset.set(name).map(|()| preset).map_err(|error| {
        // The error names the presets for this model.
        let hint = if Preset::of_model(name).is_empty() { did_you_mean(name, PRESETS) } else { String::new() };
        Trouble::Usage(format!("option --preset: {error}{hint}"))
    })
}

/// Descriptions and kinds of presets.
trait PresetKinds: Sized {
    /// Returns the models that the preset is for, and the differences.
    fn about(self) -> String;

    /// Returns the names of the kinds of features that the preset has.
    fn names_of_kinds(self) -> String;

    /// Returns the only kind, if there is exactly one.
    fn only_kind(self) -> Option<&'static str>;

    /// Returns the preset, if it is of the kind `whisper`.
    fn of_whisper(self) -> Option<Self>;
}

impl PresetKinds for Preset {
    fn about(self) -> String {
        match self.models() {
            "" => self.differences().to_owned(),
            models => format!("{models}: {}", self.differences()),
        }
    }

    fn names_of_kinds(self) -> String {
        match (self, self.only_kind()) {
            (_, Some(kind)) => kind.to_owned(),
            (Self::Kaldi, None) => "fbank, mfcc, plp, spectrogram, pitch".to_owned(),
            _ => "fbank, mfcc".to_owned(),
        }
    }

    fn only_kind(self) -> Option<&'static str> {
        match (self, self.kinds()) {
            (Self::Whisper | Self::Librosa, _) => Some(self.name()),
            (_, [kind]) => Some(kind.name()),
            _ => None,
        }
    }

    fn of_whisper(self) -> Option<Self> {
        let whisper = [Self::Whisper, Self::Whisper30s, Self::WhisperLargeV3, Self::Qwen3Asr];
        whisper.contains(&self).then_some(self)
    }
}

/// Returns the last value of the option `name`, for options that decide which other options exist.
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

/// Returns `true` if a bool is given that decides which other options exist.
fn is_given(args: &[OsString], name: &str) -> bool {
    args.iter()
        .take_while(|&arg| arg != "--")
        .filter_map(|arg| arg.to_str()?.strip_prefix("--"))
        .any(|option| option.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

/// Properties of the options of a kind of features that the pipeline needs.
trait KindOptions: OptionSet {
    /// Sets the defaults of the native command that differ from Kaldi's.
    fn native_defaults(&mut self) {}

    /// Returns `true` if column 0 is a log energy.
    fn begins_with_energy(&self) -> bool {
        false
    }

    /// Returns `true` if the front end itself normalises rows.
    fn normalizes(&self) -> bool {
        false
    }

    /// Returns `true` if a warp factor has an effect.
    fn has_warp(&self) -> bool {
        false
    }

    /// Returns `true` if there is a row for each frame, to which the pitch of the frame can be
    /// added.
    fn has_row_per_frame(&self) -> bool {
        true
    }

    /// Gives frames of pitch the times of the frames of features.
    fn align(&self, pitch: &mut PitchExtractionOptions);
}

impl KindOptions for FrontEndOptions {
    fn begins_with_energy(&self) -> bool {
        match &self.features {
            FeatureOptions::Fbank(options) => options.use_energy && !options.htk_compat,
            FeatureOptions::Mfcc(options) => options.use_energy && !options.htk_compat,
            FeatureOptions::Plp(options) => options.use_energy && !options.htk_compat,
            FeatureOptions::Spectrogram(options) => !options.return_raw_fft,
            _ => false,
        }
    }

    fn normalizes(&self) -> bool {
        self.normalize != Normalize::None
    }

    fn has_warp(&self) -> bool {
        matches!(self.features.kind(), FeatureKind::Fbank | FeatureKind::Mfcc | FeatureKind::Plp)
    }

    fn has_row_per_frame(&self) -> bool {
        self.lfr_n == 1
            && match &self.features {
                FeatureOptions::LogMel(options) => options.pad_to == 0 && options.max_samples == 0,
                features => features.kind() != FeatureKind::Samples,
            }
    }

    fn align(&self, pitch: &mut PitchExtractionOptions) {
        if let Some(frame) = self.features.frame_options() {
            pitch.samp_freq = frame.samp_freq;
            pitch.frame_length_ms = frame.frame_length_ms;
            pitch.frame_shift_ms = frame.frame_shift_ms;
            pitch.snip_edges = frame.snip_edges;
        }
        match &self.features {
            FeatureOptions::LogMel(options) => {
                pitch.samp_freq = options.samp_freq;
                let milliseconds = |samples: i32| samples as f32 / options.samp_freq * 1000.0;
                pitch.frame_shift_ms = milliseconds(options.hop);
                pitch.snip_edges = options.snip_edges;
                if options.snip_edges {
                    // Otherwise frames have the same centres for any length.
                    pitch.frame_length_ms = milliseconds(options.fft_size);
                }
            }
            // Samples have no pitch, as their rows are not frames.
            FeatureOptions::Samples(options) => pitch.samp_freq = options.samp_freq,
            _ => {}
        }
    }
}

/// Options for the extraction and processing of pitch.
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

/// The options that do not belong to the extractor.
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
    cmvn_file: String,
    sliding: SlidingWindowCmnOptions,
    add_deltas: bool,
    deltas: DeltaFeaturesOptions,
    select_voiced: bool,
    vad: VadEnergyOptions,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "kind",
            &mut self.kind,
            "fbank, mfcc, plp, spectrogram, pitch, log-mel, whisper, librosa or samples",
        );
        registry.add(
            "preset",
            &mut self.preset,
            "Defaults of a toolkit or a model, such as lhotse or paraformer; options that are given come on top",
        );
        self.corpus.register(registry);
        registry.add("min-duration", &mut self.min_duration, "Shorter recordings (in seconds) fail");
        registry.add("resample", &mut self.resample, "Resample recordings of another rate, with ffmpeg's quality");
        registry.add("vtln-warp", &mut self.vtln_warp, "Vtln warp factor, of fbank, mfcc and plp");
        registry.add("subtract-mean", &mut self.subtract_mean, "Subtract the mean of each dimension per recording");
        registry.add("with-pitch", &mut self.with_pitch, "Put pitch beside the features");
        registry.add(
            "cmvn",
            &mut self.cmvn,
            "Normalise means over each utterance, speaker (reads twice), all (reads twice) or a sliding window",
        );
        registry.add(
            "cmvn-file",
            &mut self.cmvn_file,
            "File of a model that says how its features are normalised, as am.mvn of SenseVoice and Paraformer",
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
            true,
        );
        Self { corpus, vtln_warp: 1.0, ..Self::default() }
    }

    /// Returns the statistics in `--cmvn-file`, and the text of the file. The text is part of the
    /// settings of a run, and a pipe can be read only once.
    fn global_cmvn(&self) -> Result<(Option<GlobalCmvn>, String), Trouble> {
        if self.cmvn_file.is_empty() {
            return Ok((None, String::new()));
        }
        let wrong =
            |error: &dyn std::fmt::Display| Trouble::Usage(format!("option --cmvn-file: {}: {error}", self.cmvn_file));
        let text = kaldera::text::read_file(&self.cmvn_file).map_err(|error| wrong(&error))?;
        let cmvn = GlobalCmvn::from_text(&text).map_err(|error| wrong(&error))?;
        Ok((Some(cmvn), text))
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
        plan: impl Fn(O, Option<GlobalCmvn>) -> Result<E, kaldera::feat::Error>,
    ) -> Result<ExitCode, Trouble> {
        let (mut options, mut pitch) = (Options::new(), Pitch::default());
        // A preset is taken as it is, including its noise.
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
        let preset = self.preset.map_or("", Preset::name);
        for (name, used, found) in [("kind", self.kind, &options.kind), ("preset", preset, &options.preset)] {
            if !found.is_empty() && found != used {
                return Err(Trouble::Usage(format!(
                    "--{name} decides what other options there are: give --{name}={found} on the command line, in small \
                     letters, not in a file of --config"
                )));
            }
        }
        if options.select_voiced && (of_kind.normalizes() || !options.cmvn_file.is_empty()) {
            return Err(Trouble::Usage(
                "--vad needs a log energy that is not normalised: it goes with no --normalize and no --cmvn-file"
                    .to_owned(),
            ));
        }
        if options.vtln_warp != 1.0 && !of_kind.has_warp() {
            return Err(Trouble::Usage(format!(
                "--vtln-warp is for Kaldi's filters: it goes with the kinds fbank, mfcc and plp, not with {}",
                self.kind
            )));
        }
        if options.select_voiced && !of_kind.begins_with_energy() {
            return Err(Trouble::Usage(
                "--vad needs a log energy in column 0: --kind mfcc has one, and others with --use-energy".to_owned(),
            ));
        }
        if options.with_pitch && !of_kind.has_row_per_frame() {
            return Err(Trouble::Usage(
                "--with-pitch needs a row for each frame of a recording: it goes with no --kind samples, --lfr-n, --pad-to \
                 or --max-samples"
                    .to_owned(),
            ));
        }
        if self.kind == "pitch" && !options.cmvn_file.is_empty() {
            return Err(Trouble::Usage("--cmvn-file is a model's, and none takes --kind pitch alone".to_owned()));
        }
        of_kind.align(&mut pitch.extraction);
        let wrong = |error| Trouble::Usage(log::one_line(&error));
        let samp_freq = pitch.extraction.samp_freq;
        let pitch = if options.with_pitch { Some(pitch.plan().map_err(wrong)?) } else { None };
        let (cmvn, text) = options.global_cmvn()?;
        let settings = format!("{settings}\n{text}");
        let extractor = plan(of_kind, cmvn).map_err(wrong)?;
        let mut pipeline = pipeline(&extractor, pitch.as_ref(), &options)?;
        if options.resample {
            pipeline = pipeline.resample(samp_freq);
        }
        extract(&pipeline, &options.corpus, &settings, &paths, quiet)
    }

    fn usage(self) -> String {
        let about = KINDS.iter().zip(ABOUT).find(|(kind, _)| **kind == self.kind).map_or("", |(_, about)| about);
        let kind = self.kind;
        // For a preset with one kind, `--kind` is left out.
        let (chosen, file, about) = match self.preset {
            None => (format!("--kind {kind}"), kind, about.to_owned()),
            Some(preset) => {
                let of_kind = if preset.only_kind() == Some(kind) { String::new() } else { format!("--kind {kind} ") };
                (
                    format!("{of_kind}--preset {}", preset.name()),
                    preset.name(),
                    format!("{about}.\n\nThe preset {}: {}", preset.name(), preset.about()),
                )
            }
        };
        format!(
            "{about}.\n\nUsage: kaldera features {chosen} [OPTIONS] -o OUT INPUTS...\n\n\
             'kaldera features --help' tells of kinds, presets, inputs and outputs; --with-pitch --help lists the options \
             of pitch, too. Options in brackets have these values unless others are given.\n\n\
             Examples:\n  kaldera features {chosen} -o {file}.ark recordings/\n  \
             kaldera features {chosen} --config {kind}.conf --cmvn=speaker -o {file}.npz data/train\n",
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
        .channel(options.corpus.channel)
        .reading(options.corpus.reading())
        .stop_when(options.corpus.stop(TOOL));
    let jobs = options.corpus.jobs()?;
    if jobs > 0 {
        pipeline = pipeline.jobs(jobs);
    }
    if let Some(pitch) = pitch {
        pipeline = pipeline.with_pitch(pitch);
    }
    if let Some(cmvn) = options.cmvn()? {
        pipeline = pipeline.cmvn(cmvn);
    }
    if options.add_deltas {
        // The errors depend only on the options, so any features will do.
        compute_deltas(&options.deltas, &Matrix::<f32>::zeros(1, 1))
            .map_err(|error| Trouble::Usage(log::one_line(&error)))?;
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

/// Returns `true` for Kaldi's syntax of an output, as in `ark,scp:x.ark,x.scp`.
fn is_wspecifier(output: &str) -> bool {
    output.split_once(':').is_some_and(|(options, _)| options.split(',').any(|option| matches!(option, "ark" | "scp")))
}
