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
use super::{CliError, apply};
use crate::layout::columns;
use crate::parse_options::{CommandLine, ParseOptions, Syntax};
use crate::{Call, interrupt, log};
use kaldera::similar::did_you_mean;

const TOOL: &str = "features";
const USAGE: &str = "\
Turn recordings into features.

Usage: kaldera features --kind KIND [OPTIONS] -o OUT INPUTS...
       kaldera features --kind KIND --help   shows the options of a kind";
const INPUTS: &str = "\
Inputs:
  FILE            Audio, recognised by content: WAV, AIFF, AU, CAF, Wave64, SPHERE, and depending on
                  the build FLAC, MP3, Ogg Vorbis, MP4 (M4A), WebM and Opus; the key is the name
                  without the extension
  FOLDER          All audio files in it and its subfolders, sorted; the key is the relative path,
                  with - for /
  DATA            A data folder of Kaldi with wav.scp, and optionally segments and utt2spk
  FILE.scp        Lines 'KEY FILE' or 'KEY COMMAND |'
  FILE.jsonl[.gz] Recordings or cuts of lhotse, or a manifest of NeMo (also .json)
  FILE.tar        A shard of WebDataset, or of NeMo next to its tarred manifest; a folder of lhotse's
                  Shar is read as well

OUT ends in .ark (Kaldi's archive, with an index in .scp), .npz (NumPy) or .safetensors. It appears
complete or not at all, in the order of the inputs for any number of --jobs.
Recordings that cannot be used are skipped and listed at the end. So are files of unsupported audio
formats, invalid lines of lists, and recordings with a duplicate key. Commands of a wav.scp in a
folder run only with --pipes; with --no-pipes no commands run. All recordings must have the sample
rate of --sample-frequency (default 16000) unless --resample (a filter of ffmpeg's quality),
--allow-downsample or --allow-upsample (Kaldi's filter) is given. The options are Kaldi's, as
--name=value or --name value; --with-pitch adds the options of pitch. Only the defaults of dither
and of the noise in delta pitch differ from Kaldi's: they are 0.

A preset of a model is its whole front end, including the steps before and after the features
(--preemphasis, --lfr-m, --lfr-n, --normalize); --cmvn-file is the am.mvn of SenseVoice and Paraformer.

Steps after the features, in this order: --with-pitch (appends pitch), --cmvn, --deltas, --vad
(keeps only voiced frames). For a job array: --shard 2/8 processes the second eighth of the inputs
and writes OUT.2-of-8.ark; 'kaldera merge -o OUT.ark' joins the parts. With --resume a run continues an
interrupted run with the same options and inputs. It does nothing if OUT is complete, as recorded in
OUT.resume.

Examples:
  kaldera features --kind fbank --num-mel-bins 80 -o fbank.ark recordings/
  kaldera features --kind mfcc --with-pitch --cmvn=speaker -o mfcc.ark data/train
  kaldera features --kind fbank --preset lhotse -j4 -o fbank.npz cuts.jsonl.gz
  kaldera features --preset paraformer --cmvn-file model/am.mvn -o rows.safetensors recordings/

Exit status: 0 success, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage
(also an OUT that is an input), 130 stopped by Ctrl-C, 143 stopped by SIGTERM.";

/// The kinds of features.
const KINDS: [&str; 9] = ["fbank", "mfcc", "plp", "spectrogram", "pitch", "log-mel", "whisper", "librosa", "samples"];
/// Descriptions of the kinds.
const ABOUT: [&str; KINDS.len()] = [
    "Log energies in mel filters, as of compute-fbank-feats",
    "Mel frequency cepstra, as of compute-mfcc-feats",
    "Cepstra of perceptual linear prediction, as of compute-plp-feats",
    "Log power spectra, as of compute-spectrogram-feats",
    "Voicing, log pitch and its change, as of compute-and-process-kaldi-pitch-feats",
    "Log mel spectrograms of toolkits other than Kaldi; the default preset is whisper",
    "Log mel spectrograms, as of whisper.log_mel_spectrogram",
    "Log mel spectrograms, as of librosa.feature.melspectrogram",
    "Samples from -1 to 1, for networks with their own front end",
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
    "gigaam-v2",
    "gigaam-v3",
    "dolphin",
    "medasr",
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

fn features(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut options, mut common) = (Options::new(), CommonOptions::default());
    let mut parser = parser(String::new(), &mut options);
    parser.add_others(&mut common);
    let line = match call {
        Call::Run(args) => parser.split(&args)?,
        Call::Complete(words, found) => {
            parser.complete(words, found);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let preset = line.last("preset").map(preset_named).transpose()?;
    let Some(kind) = line.last("kind").or_else(|| only_kind(preset?)).map(str::to_owned) else {
        if let (false, Some(preset)) = (line.asks(), preset) {
            let (name, kinds) = (preset.name(), names_of_kinds(preset));
            return Err(CliError::Usage(format!("--kind is missing: {name} has {kinds}")));
        }
        return usage_or_missing_kind(line);
    };
    let none = || {
        let (name, kinds) = preset.map_or(("", String::new()), |preset| (preset.name(), names_of_kinds(preset)));
        CliError::Usage(format!("option --preset: there is no {kind} of {name}, which has {kinds}"))
    };
    let command = KindCommand { kind: &kind, line, preset };
    // A kind with the name of a toolkit implies its preset.
    let (found, preset) = match kind.as_str() {
        "pitch" if matches!(preset, None | Some(Preset::Kaldi)) => {
            return command.run(Pitch::default(), |pitch, _| pitch.plan());
        }
        "pitch" => return Err(none()),
        "whisper" => (FeatureKind::LogMel, preset.map_or(Some(Preset::Whisper), of_whisper)),
        "librosa" => (FeatureKind::LogMel, preset.or(Some(Preset::Librosa)).filter(|&own| own == Preset::Librosa)),
        "samples" => (FeatureKind::Samples, preset.or(Some(Preset::Moonshine))),
        "log-mel" => (FeatureKind::LogMel, preset.or(Some(Preset::Whisper))),
        name => {
            let mut found = FeatureKind::default();
            found.set(name).map_err(|_| {
                let hint = did_you_mean(name, KINDS);
                CliError::Usage(format!("option --kind: '{name}' is not one of {}{hint}", KINDS.join(", ")))
            })?;
            (found, Some(preset.unwrap_or_default()))
        }
    };
    let front_end = preset.and_then(|preset| preset.front_end_of(found)).ok_or_else(none)?;
    command.run(front_end, |options, cmvn| {
        let front_end = FrontEnd::new(options)?;
        match cmvn {
            Some(cmvn) => front_end.with_cmvn(cmvn),
            None => Ok(front_end),
        }
    })
}

/// Handles a command line without a kind: the help of all kinds, errors in options, or the error
/// that the kind is missing.
fn usage_or_missing_kind(line: CommandLine) -> Result<ExitCode, CliError> {
    let list = |rows: &[(&str, String)]| columns(rows.iter().map(|(name, about)| ((*name).to_owned(), about.clone())));
    let kinds: Vec<_> = KINDS.into_iter().zip(ABOUT.map(str::to_owned)).collect();
    let presets =
        Preset::ALL.map(|preset| (preset.name(), format!("{} ({})", about_preset(preset), names_of_kinds(preset))));
    let usage = format!(
        "{USAGE}\n\nKinds:\n{}\nPresets, with their models, differences from Kaldi's defaults, and kinds:\n{}\n{INPUTS}",
        list(&kinds),
        list(&presets)
    );
    let (mut options, mut common) = (Options::new(), CommonOptions::default());
    let mut parser = parser(usage, &mut options);
    if !line.asks() {
        parser.add_others(&mut common);
    }
    match apply(TOOL, &mut parser, line)? {
        None => Ok(ExitCode::SUCCESS),
        Some(_) => Err(CliError::Usage(format!("--kind is missing: one of {}", KINDS.join(", ")))),
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
struct CommonOptions {
    front_ends: [FrontEndOptions; FeatureKind::ALL.len()],
    pitch: Pitch,
}

impl Default for CommonOptions {
    fn default() -> Self {
        let front_ends = FeatureKind::ALL.map(|kind| FrontEndOptions::from_features(FeatureOptions::for_kind(kind)));
        Self { front_ends, pitch: Pitch::default() }
    }
}

impl OptionSet for CommonOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.front_ends.iter_mut().for_each(|options| options.register(registry));
        self.pitch.register(registry);
    }
}

pub(super) fn preset_named(name: &str) -> Result<Preset, CliError> {
    let mut preset = Preset::default();
    preset.set(name).map(|()| preset).map_err(|error| {
        // The error names the presets for this model.
        let hint = if Preset::for_model(name).is_empty() { did_you_mean(name, PRESETS) } else { String::new() };
        CliError::Usage(format!("option --preset: {error}{hint}"))
    })
}

/// Returns the models that a preset is for, and the differences.
fn about_preset(preset: Preset) -> String {
    match preset.models() {
        "" => preset.differences().to_owned(),
        models => format!("{models}: {}", preset.differences()),
    }
}

/// Returns the names of the kinds of features that a preset has.
fn names_of_kinds(preset: Preset) -> String {
    match (preset, only_kind(preset)) {
        (_, Some(kind)) => kind.to_owned(),
        (Preset::Kaldi, None) => "fbank, mfcc, plp, spectrogram, pitch".to_owned(),
        _ => "fbank, mfcc".to_owned(),
    }
}

/// Returns the only kind of a preset, if there is exactly one.
fn only_kind(preset: Preset) -> Option<&'static str> {
    match (preset, preset.kinds()) {
        (Preset::Whisper | Preset::Librosa, _) => Some(preset.name()),
        (_, [kind]) => Some(kind.name()),
        _ => None,
    }
}

/// Returns the preset, if it is of the kind `whisper`.
fn of_whisper(preset: Preset) -> Option<Preset> {
    let whisper = [Preset::Whisper, Preset::Whisper30s, Preset::WhisperLargeV3, Preset::Qwen3Asr];
    whisper.contains(&preset).then_some(preset)
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
            "Defaults of a toolkit or a model, such as lhotse or paraformer; other options override them",
        );
        self.corpus.register(registry);
        registry.add("min-duration", &mut self.min_duration, "Shorter recordings (in seconds) fail");
        registry.add(
            "resample",
            &mut self.resample,
            "Resample recordings of another rate with a filter of ffmpeg's quality",
        );
        registry.add("vtln-warp", &mut self.vtln_warp, "VTLN warp factor, for fbank, mfcc and plp");
        registry.add("subtract-mean", &mut self.subtract_mean, "Subtract the mean of each dimension per recording");
        registry.add("with-pitch", &mut self.with_pitch, "Append pitch to the features");
        registry.add(
            "cmvn",
            &mut self.cmvn,
            "Normalise means per utterance, speaker (reads twice), all (reads twice) or in a sliding window",
        );
        registry.add(
            "cmvn-file",
            &mut self.cmvn_file,
            "Normalisation file of a model, such as am.mvn of SenseVoice and Paraformer",
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
            "Continue an interrupted run with the same options",
            true,
        );
        Self { corpus, vtln_warp: 1.0, ..Self::default() }
    }

    /// Returns the statistics in `--cmvn-file`, and the text of the file. The text is part of the
    /// settings of a run, and a pipe can be read only once.
    fn global_cmvn(&self) -> Result<(Option<GlobalCmvn>, String), CliError> {
        if self.cmvn_file.is_empty() {
            return Ok((None, String::new()));
        }
        let wrong =
            |error: &dyn std::fmt::Display| CliError::Usage(format!("option --cmvn-file: {}: {error}", self.cmvn_file));
        let text = kaldera::text::read_file(&self.cmvn_file).map_err(|error| wrong(&error))?;
        let cmvn = GlobalCmvn::from_text(&text).map_err(|error| wrong(&error))?;
        Ok((Some(cmvn), text))
    }

    fn cmvn(&self) -> Result<Option<Cmvn>, CliError> {
        let norm_vars = self.sliding.normalize_variance;
        Ok(Some(match self.cmvn.as_str() {
            "" => return Ok(None),
            "utterance" => Cmvn::Utterance { norm_vars },
            "speaker" => Cmvn::Speaker { norm_vars },
            "all" => Cmvn::All { norm_vars },
            "sliding" => Cmvn::Sliding(self.sliding.clone()),
            other => {
                return Err(CliError::Usage(format!(
                    "option --cmvn: '{other}' is not utterance, speaker, all or sliding"
                )));
            }
        }))
    }
}

/// A call for features of a kind.
struct KindCommand<'a> {
    kind: &'a str,
    line: CommandLine,
    preset: Option<Preset>,
}

impl KindCommand<'_> {
    fn run<O: KindOptions, E: FeatureExtractor>(
        self,
        mut of_kind: O,
        plan: impl Fn(O, Option<GlobalCmvn>) -> Result<E, kaldera::feat::Error>,
    ) -> Result<ExitCode, CliError> {
        let (mut options, mut pitch) = (Options::new(), Pitch::default());
        // A preset is taken as it is, including its noise.
        if self.preset.is_none() {
            of_kind.native_defaults();
        }
        pitch.native_defaults();
        let mut parser = parser(self.usage(), &mut options);
        parser.add_others(&mut of_kind);
        if self.line.has("with-pitch") {
            parser.add_others(&mut pitch);
        }
        let Some(paths) = apply(TOOL, &mut parser, self.line)? else { return Ok(ExitCode::SUCCESS) };
        let settings = parser.settings(&NOT_OF_RESULTS);
        let quiet = parser.quiet();
        let preset = self.preset.map_or("", Preset::name);
        for (name, used, found) in [("kind", self.kind, &options.kind), ("preset", preset, &options.preset)] {
            if !found.is_empty() && found != used {
                return Err(CliError::Usage(format!(
                    "--{name} determines the available options: give --{name}={found} on the command line, not \
                     in a --config file"
                )));
            }
        }
        if options.select_voiced && (of_kind.normalizes() || !options.cmvn_file.is_empty()) {
            return Err(CliError::Usage(
                "--vad needs a log energy that is not normalised: it cannot be used with --normalize or --cmvn-file"
                    .to_owned(),
            ));
        }
        if options.vtln_warp != 1.0 && !of_kind.has_warp() {
            return Err(CliError::Usage(format!(
                "--vtln-warp is for Kaldi's filters: use it with the kinds fbank, mfcc and plp, not with {}",
                self.kind
            )));
        }
        if options.select_voiced && !of_kind.begins_with_energy() {
            return Err(CliError::Usage(
                "--vad needs a log energy in column 0: --kind mfcc has one, and others with --use-energy".to_owned(),
            ));
        }
        if options.with_pitch && !of_kind.has_row_per_frame() {
            return Err(CliError::Usage(
                "--with-pitch needs a row for each frame of a recording: it cannot be used with --kind samples, \
                 --lfr-n, --pad-to or --max-samples"
                    .to_owned(),
            ));
        }
        if self.kind == "pitch" && !options.cmvn_file.is_empty() {
            return Err(CliError::Usage("--cmvn-file cannot be used with --kind pitch".to_owned()));
        }
        of_kind.align(&mut pitch.extraction);
        let wrong = |error| CliError::Usage(log::one_line(&error));
        let samp_freq = pitch.extraction.samp_freq;
        let pitch = if options.with_pitch { Some(pitch.plan().map_err(wrong)?) } else { None };
        let (cmvn, text) = options.global_cmvn()?;
        let settings = format!("{settings}\n{text}");
        let extractor = plan(of_kind, cmvn).map_err(wrong)?;
        let mut pipeline = pipeline(&extractor, pitch.as_ref(), &options)?;
        if options.resample {
            pipeline = pipeline.with_resampling(samp_freq);
        }
        extract(&pipeline, &options.corpus, &settings, &paths, quiet)
    }

    fn usage(&self) -> String {
        let about = KINDS.iter().zip(ABOUT).find(|(kind, _)| **kind == self.kind).map_or("", |(_, about)| about);
        let kind = self.kind;
        // For a preset with one kind, `--kind` is left out.
        let (chosen, file, about) = match self.preset {
            None => (format!("--kind {kind}"), kind, about.to_owned()),
            Some(preset) => {
                let of_kind = if only_kind(preset) == Some(kind) { String::new() } else { format!("--kind {kind} ") };
                (
                    format!("{of_kind}--preset {}", preset.name()),
                    preset.name(),
                    format!("{about}.\n\nThe preset {}: {}", preset.name(), about_preset(preset)),
                )
            }
        };
        format!(
            "{about}.\n\nUsage: kaldera features {chosen} [OPTIONS] -o OUT INPUTS...\n\n\
             'kaldera features --help' describes kinds, presets, inputs and outputs; --with-pitch --help also lists \
             the options of pitch. Values in brackets are defaults.\n\n\
             Examples:\n  kaldera features {chosen} -o {file}.ark recordings/\n  \
             kaldera features {chosen} --config {kind}.conf --cmvn=speaker -o {file}.npz data/train\n",
        )
    }
}

fn pipeline<'a, E: FeatureExtractor>(
    extractor: &'a E,
    pitch: Option<&'a PitchFeatures>,
    options: &Options,
) -> Result<Pipeline<'a, &'a E>, CliError> {
    let CorpusOptions { output, shard, .. } = &options.corpus;
    if output.is_empty() {
        return Err(CliError::Usage(format!("-o OUT is missing; its file extension selects the format: {ENDINGS}")));
    }
    if output == "-" || is_wspecifier(output) {
        return Err(CliError::Usage(format!(
            "-o {output}: features go into a file, whose extension selects the format: {ENDINGS}; for standard \
             output and Kaldi's wspecifiers use Kaldi's programs, such as kaldera compute-fbank-feats"
        )));
    }
    if let (false, cmvn @ ("speaker" | "all")) = (shard.is_empty(), options.cmvn.as_str()) {
        return Err(CliError::Usage(format!(
            "--cmvn={cmvn} needs all recordings, and a shard has only a part: use compute-cmvn-stats and apply-cmvn after 'kaldera merge'"
        )));
    }
    check("min-duration", options.min_duration, options.min_duration >= 0.0, "0 or more")?;
    check("vtln-warp", options.vtln_warp, options.vtln_warp > 0.0, "more than 0")?;
    let mut pipeline = Pipeline::new(extractor)
        .with_min_seconds(options.min_duration)
        .with_vtln_warp(options.vtln_warp)
        .with_subtract_mean(options.subtract_mean)
        .with_channel(options.corpus.channel)
        .with_reading(options.corpus.reading())
        .with_stop(options.corpus.stop(TOOL));
    let jobs = options.corpus.jobs()?;
    if jobs > 0 {
        pipeline = pipeline.with_jobs(jobs);
    }
    if let Some(pitch) = pitch {
        pipeline = pipeline.with_pitch(pitch);
    }
    if let Some(cmvn) = options.cmvn()? {
        pipeline = pipeline.with_cmvn(cmvn);
    }
    if options.add_deltas {
        // The errors depend only on the options, so any features will do.
        compute_deltas(&options.deltas, &Matrix::<f32>::zeros(1, 1))
            .map_err(|error| CliError::Usage(log::one_line(&error)))?;
        pipeline = pipeline.with_deltas(options.deltas.clone());
    }
    if options.select_voiced {
        pipeline = pipeline.with_voiced_only(options.vad.clone());
    }
    Ok(pipeline)
}

fn extract<E: FeatureExtractor>(
    pipeline: &Pipeline<'_, E>,
    corpus: &CorpusOptions,
    settings: &str,
    paths: &[OsString],
    quiet: bool,
) -> Result<ExitCode, CliError> {
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

fn check(name: &str, value: f32, holds: bool, expected: &str) -> Result<(), CliError> {
    if holds && value.is_finite() {
        return Ok(());
    }
    Err(CliError::Usage(format!("option --{name}: {value} is not {expected}")))
}

/// Returns `true` for Kaldi's syntax of an output, as in `ark,scp:x.ark,x.scp`.
fn is_wspecifier(output: &str) -> bool {
    output.split_once(':').is_some_and(|(options, _)| options.split(',').any(|option| matches!(option, "ark" | "scp")))
}
