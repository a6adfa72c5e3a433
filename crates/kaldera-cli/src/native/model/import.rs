//! Model folders from the exports of icefall, sherpa-onnx and NeMo.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera::Recognizer;
use kaldera::feat::{FrontEnd, Preset};
use kaldera_onnx::{Description, Layout, OnnxPredictor, Predictor as _, PredictorOptions, Runtime, weight_files};

use super::super::CliError;
use super::super::decoding::Decoding;
use super::super::features::preset_named;
use super::{Given, TOOL};
use crate::interrupt;
use crate::log::say;

/// Names of the blank token: icefall, sherpa-onnx and NeMo; WeNet; ESPnet; wav2vec 2.0. If there
/// are several, the first in this list is used.
const BLANKS: [&str; 5] = ["<blk>", "<blank>", "<eps>", "[blank]", "<pad>"];

/// Prefixes of the file names of the parts of a transducer.
const PARTS: [&str; 3] = ["encoder", "decoder", "joiner"];

/// Marks in the names of files with weights of another precision than in training.
const QUANTISED: [&str; 3] = ["int8", "int4", "fp16"];

/// Number of bytes that are copied between two checks for a signal.
const PIECE: u64 = 1 << 26;

/// Maximum number of tokens per frame of NeMo's transducers: its `max_symbols`.
const NEMO_SYMBOLS: usize = 10;

/// Properties of the network from the command line.
struct Said {
    preset: Option<Preset>,
    normalize: Option<String>,
}

impl Said {
    fn of(given: &Given) -> Result<Self, CliError> {
        const NORMALIZE: [&str; 3] = ["none", "per_feature", "samples"];
        let preset = match &*given.preset {
            "" => None,
            name => {
                let preset = preset_named(name)?;
                if preset.kinds().len() != 1 {
                    let text = format!(
                        "option --preset: {name} has several kinds of features, and is not a preset of a model"
                    );
                    return Err(CliError::Usage(text));
                }
                Some(preset)
            }
        };
        let normalize = (!given.normalize.is_empty()).then(|| given.normalize.clone());
        if let Some(other) = normalize.as_deref().filter(|kind| !NORMALIZE.contains(kind)) {
            let text = format!("option --normalize: '{other}' is not one of {}", NORMALIZE.join(", "));
            return Err(CliError::Usage(text));
        }
        Ok(Self { preset, normalize })
    }
}

/// The files of an export.
struct Export {
    /// A network trained with CTC, or the encoder of a transducer.
    network: PathBuf,
    /// The predictor and the joiner of a transducer.
    parts: Option<[PathBuf; 2]>,
}

impl Export {
    fn networks(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.network).chain(self.parts.iter().flatten())
    }
}

/// Makes the folder `output` and returns its recogniser; `None` if a signal asked to stop.
pub(super) fn import(source: &Path, given: &Given, output: &Path) -> Result<Option<Recognizer>, CliError> {
    let runtime = match &*given.runtime {
        "" => Runtime::default(),
        name => name.parse().map_err(|error| CliError::Usage(format!("option --runtime: {error}")))?,
    };
    let said = Said::of(given)?;
    let export = export_of(source)?;
    let network = &export.network;
    let beside = network.parent().unwrap_or(Path::new("")).join("tokens.txt");
    let tokens = if given.tokens.is_empty() { &*beside } else { Path::new(&given.tokens) };
    let text = kaldera::text::read_file(tokens).map_err(|error| failed(tokens, &error))?;
    let description = Description::read(network, runtime).map_err(|error| CliError::failed(&error))?;
    let layout = Layout::of(&description).map_err(|error| failed(network, &error))?;
    let toml = model_toml(&description, layout, (tokens, &text), &export, (runtime, &said))?;
    if output.symlink_metadata().is_ok() {
        return Err(failed(output, &"it exists: remove it, or choose another name"));
    }
    // A trailing slash is no part of the name.
    let mut part = output.file_name().ok_or_else(|| failed(output, &"choose a name of a new folder"))?.to_owned();
    let output = &output.with_file_name(&part);
    part.push(format!(".{}.part", std::process::id()));
    let part = output.with_file_name(part);
    // Networks have gigabytes: a signal must not leave a partial copy.
    let stop = interrupt::watch_folder(TOOL, "nothing was written", part.clone());
    let made = write(&part, &export, (&text, &toml), stop)
        .and_then(|()| unless(stop, || check(&part, &export, tokens)))
        .and_then(|made| unless(stop, || publish(&part, output).map(|()| made)));
    match made {
        Ok(recognizer) => Ok(Some(recognizer)),
        Err(end) => {
            // The remaining files are no model, and their folder has a temporary name.
            let _ = fs::remove_dir_all(&part);
            end.map_or(Ok(None), |trouble| Err(renamed(trouble, &part, output)))
        }
    }
}

/// Reason why a folder is not made: an error, or `None` if a signal asked to stop.
type End = Option<CliError>;

/// Runs a step, unless a signal asked to stop.
fn unless<T>(stop: &AtomicBool, step: impl FnOnce() -> Result<T, CliError>) -> Result<T, End> {
    if stop.load(Ordering::Relaxed) {
        return Err(None);
    }
    step().map_err(Some)
}

/// Opens the folder like a recogniser. Errors name the source files instead of their copies.
fn check(folder: &Path, export: &Export, tokens: &Path) -> Result<Recognizer, CliError> {
    Decoding::default().recognizer(folder).map_err(|trouble| {
        let networks = export.networks().map(|path| (path.file_name().unwrap_or_default(), &**path));
        let others = [("tokens.txt".as_ref(), tokens), ("model.toml".as_ref(), "the new model.toml".as_ref())];
        let named = |trouble, (own, name): (&OsStr, &Path)| renamed(trouble, &folder.join(own), name);
        networks.chain(others).fold(trouble, named)
    })
}

/// Returns the error with `name` in place of a path.
fn renamed(trouble: CliError, path: &Path, name: &Path) -> CliError {
    let rename = |text: String| text.replace(&*path.to_string_lossy(), &name.to_string_lossy());
    match trouble {
        CliError::Usage(text) => CliError::Usage(rename(text)),
        CliError::Failed(text) => CliError::Failed(rename(text)),
        CliError::Closed => CliError::Closed,
    }
}

/// Renames the finished folder to its final name.
fn publish(part: &Path, output: &Path) -> Result<(), CliError> {
    sync_folder(part);
    fs::rename(part, output).map_err(|error| failed(output, &error))?;
    sync_folder(folder_of(output));
    Ok(())
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> CliError {
    CliError::Failed(format!("{}: {error}", path.display()))
}

fn file_name(path: &Path) -> Result<String, CliError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| failed(path, &"its name must be UTF-8"))
}

/// Returns the files of an export: in a folder, or belonging to this file.
fn export_of(source: &Path) -> Result<Export, CliError> {
    let is_folder = fs::metadata(source).map_err(|error| failed(source, &error))?.is_dir();
    let folder = if is_folder { source } else { folder_of(source) };
    let mut names = vec![];
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "onnx") {
            names.push(file_name(&path)?);
        }
    }
    names.sort();
    let named = if is_folder { None } else { Some(file_name(source)?) };
    let is_part = |name: &String| PARTS.iter().any(|part| name.starts_with(part));
    match named {
        Some(name) if !is_part(&name) => Ok(Export { network: source.to_owned(), parts: None }),
        Some(name) if !name.starts_with(PARTS[0]) => {
            Err(failed(source, &"a part of a transducer: name its encoder, or the folder"))
        }
        None if !names.iter().any(is_part) => {
            let plain: Vec<&String> = names.iter().filter(is_plain).collect();
            let one = match (&names[..], &plain[..]) {
                ([one], _) => one,
                ([], _) => return Err(failed(source, &"there is no .onnx file in it")),
                (_, [one]) => {
                    say(format_args!("using this one of {}: {one}", names.join(", ")));
                    one
                }
                _ => return Err(failed(source, &format!("there are {}: name one of them", names.join(", ")))),
            };
            Ok(Export { network: folder.join(one), parts: None })
        }
        named => {
            let one =
                |part: &str, like: Option<&str>| part_of(&names, part, like).map_err(|reason| failed(folder, &reason));
            let encoder = named.map_or_else(|| one(PARTS[0], None), Ok)?;
            let ending = encoder.strip_prefix(PARTS[0]);
            let (predictor, joiner) = (one(PARTS[1], ending)?, one(PARTS[2], ending)?);
            say(format_args!("a transducer: {encoder}, {predictor}, {joiner}"));
            let parts = Some([folder.join(predictor), folder.join(joiner)]);
            Ok(Export { network: folder.join(encoder), parts })
        }
    }
}

/// Returns `true` if the name does not mark a quantised file.
fn is_plain(name: &&String) -> bool {
    !QUANTISED.iter().any(|kind| name.contains(kind))
}

/// Returns the file of a part of a transducer: the file with the encoder's ending, with or without
/// the precision; otherwise the only file that is not quantised, or the only file.
fn part_of(names: &[String], part: &str, ending: Option<&str>) -> Result<String, String> {
    let all: Vec<&String> = names.iter().filter(|name| name.starts_with(part)).collect();
    if let Some(ending) = ending {
        let plain = QUANTISED.iter().fold(ending.to_owned(), |name, kind| name.replace(&format!(".{kind}"), ""));
        let wanted = [ending, &*plain].map(|ending| format!("{part}{ending}"));
        if let Some(found) = wanted.into_iter().find(|name| all.contains(&name)) {
            return Ok(found);
        }
    }
    let plain: Vec<&String> = all.iter().copied().filter(is_plain).collect();
    match (&plain[..], &all[..]) {
        ([one], _) => Ok((*one).clone()),
        ([], [one]) => Ok((*one).clone()),
        (_, []) => Err(format!(
            "a transducer needs {}, and there is no {part}*.onnx next to {}",
            PARTS.join(", "),
            names.join(", ")
        )),
        _ => {
            let all: Vec<&str> = all.iter().map(|name| name.as_str()).collect();
            Err(format!("there are {}: name the encoder, or move the others away", all.join(", ")))
        }
    }
}

/// Writes the folder: networks with their weight files, the tokens and the description.
fn write(folder: &Path, export: &Export, (tokens, toml): (&str, &str), stop: &AtomicBool) -> Result<(), End> {
    unless(stop, || fs::create_dir(folder).map_err(|error| failed(folder, &error)))?;
    let mut files = BTreeSet::new();
    for network in export.networks() {
        files.insert(network.clone());
        files.extend(weight_files(network).map_err(|error| Some(CliError::failed(&error)))?);
    }
    let source = folder_of(&export.network);
    for from in files {
        // Weights may be in a subfolder.
        let to = folder.join(from.strip_prefix(source).unwrap_or(&from));
        copy(&from, &to, stop)?;
    }
    for (own, text) in [("tokens.txt", tokens), ("model.toml", toml)] {
        let path = folder.join(own);
        let write = || fs::write(&path, text).and_then(|()| fs::File::open(&path)?.sync_all());
        unless(stop, || write().map_err(|error| failed(&path, &error)))?;
    }
    Ok(())
}

/// Copies a file in pieces, until a signal asks to stop.
fn copy(from: &Path, to: &Path, stop: &AtomicBool) -> Result<(), End> {
    let source = unless(stop, || fs::File::open(from).map_err(|error| failed(from, &error)))?;
    let create = || fs::create_dir_all(folder_of(to)).and_then(|()| fs::File::create(to));
    let mut copied = unless(stop, || create().map_err(|error| failed(to, &error)))?;
    let both = |error: io::Error| CliError::Failed(format!("{} to {}: {error}", from.display(), to.display()));
    let mut piece = || io::copy(&mut (&source).take(PIECE), &mut copied).map_err(both);
    while unless(stop, &mut piece)? > 0 {}
    unless(stop, || copied.sync_all().map_err(|error| failed(to, &error)))
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Waits until the names in a folder are on the disk, if the system supports this.
fn sync_folder(folder: &Path) {
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Returns the description of a network; `tokens` are a file and its text.
fn model_toml(
    description: &Description,
    layout: Layout,
    tokens: (&Path, &str),
    export: &Export,
    (runtime, said): (Runtime, &Said),
) -> Result<String, CliError> {
    let (tokens, text) = tokens;
    let metadata = |key: &str| description.metadata(key).filter(|text| !text.is_empty());
    let kind = if export.parts.is_some() { "transducer" } else { "ctc" };
    let mut toml = format!("kind = \"{kind}\"\ntokens = \"tokens.txt\"\n");
    let texts: Vec<(&str, &str)> = text.lines().filter_map(|line| line.trim_end().rsplit_once([' ', '\t'])).collect();
    // The order of the names matters: some of NeMo's lists have a <pad> before the blank.
    let blank = BLANKS.iter().find_map(|blank| texts.iter().find(|(text, _)| text.trim() == *blank));
    let blank: usize = match blank {
        Some((_, number)) => {
            number.parse().map_err(|_| failed(tokens, &format!("the blank's number is '{number}'")))?
        }
        None => {
            return Err(failed(tokens, &format!("there is no blank in it: one of {}", BLANKS.join(", "))));
        }
    };
    line(&mut toml, "blank", blank);
    let is_nemo = is_nemo(description, layout);
    // icefall's searches treat it as the blank, NeMo's do not.
    let unk = texts.iter().find(|(text, _)| text.trim() == "<unk>").filter(|_| export.parts.is_some() && !is_nemo);
    if let Some((_, number)) = unk {
        line(&mut toml, "unk", number);
    }
    let any = |is: &dyn Fn(&str) -> bool| texts.iter().any(|(text, _)| is(text));
    if any(&|text| text.starts_with('\u{2581}')) {
        line(&mut toml, "words", "\"marker\"");
    } else if any(&|text| text.starts_with("##")) {
        line(&mut toml, "words", "\"continuation\"");
    } else if any(&|text| text == "|") {
        line(&mut toml, "words", "\"separator\"\nseparator = \"|\"");
    } else if any(&|text| text.trim().is_empty()) {
        line(&mut toml, "words", "\"separator\"");
    }
    match metadata("subsampling_factor").map(str::parse::<usize>) {
        Some(Ok(factor)) => line(&mut toml, "subsampling", factor),
        _ => say("subsampling: not in the file; measured by a trial when the model is opened"),
    }
    let samp_freq = match metadata("sample_rate").map(str::parse::<u32>) {
        Some(Ok(samp_freq)) => Some(samp_freq),
        _ => {
            say("sample rate: not in the file; assumed: 16000 Hz");
            None
        }
    };
    toml.push_str("\n[features]\n");
    features(&mut toml, description, layout, samp_freq, said).map_err(|reason| failed(&export.network, &reason))?;
    toml.push_str("\n[network]\n");
    line(&mut toml, "file", format_args!("{:?}", file_name(&export.network)?));
    if runtime != Runtime::default() {
        line(&mut toml, "runtime", format_args!("{:?}", runtime.name()));
    }
    if let Some([predictor, joiner]) = &export.parts {
        line(&mut toml, "predictor", format_args!("{:?}", file_name(predictor)?));
        line(&mut toml, "joiner", format_args!("{:?}", file_name(joiner)?));
        if is_nemo {
            let options = PredictorOptions::default().with_blank(blank).with_runtime(runtime);
            let scores = OnnxPredictor::open(predictor, joiner, &options).map_err(|error| CliError::failed(&error))?;
            // Scores after the tokens are durations, as in sherpa-onnx.
            match scores.num_scores().saturating_sub(texts.len()) {
                0 => {}
                count => line(&mut toml, "durations", format_args!("{:?}", (0..count).collect::<Vec<_>>())),
            }
            toml.push_str("\n[decoding]\n");
            line(&mut toml, "symbols-per-frame", NEMO_SYMBOLS);
        }
    }
    Ok(toml)
}

fn is_nemo(description: &Description, layout: Layout) -> bool {
    description.metadata("model_type").is_some_and(|kind| kind.starts_with("EncDec"))
        || matches!(layout, Layout::Columns { .. })
}

fn line(toml: &mut String, key: &str, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(toml, "{key} = {value}");
}

/// Metadata that describe features in ways unknown to the importer: GigaAM's, and the low frame
/// rate, the normalisation and the prompts of FunASR's and other networks.
const FEATURES: [&str; 12] = [
    "feature_type",
    "inv_stddev",
    "is_giga_am",
    "lfr_window_shift",
    "lfr_window_size",
    "mean",
    "neg_mean",
    "scale",
    "stddev",
    "use_whisper_feature",
    "with_itn",
    "without_itn",
];

/// Metadata that are used, or do not affect the computation.
const KNOWN: [&str; 27] = [
    "T",
    "author",
    "blank_id",
    "chunk_shift",
    "comment",
    "context_size",
    "decode_chunk_len",
    "description",
    "feat_dim",
    "feature_dim",
    "joiner_dim",
    "language",
    "license",
    "model_author",
    "model_type",
    "normalize_samples",
    "normalize_type",
    "onnx.infer",
    "pred_hidden",
    "pred_rnn_layers",
    "sample_rate",
    "subsampling_factor",
    "url",
    "version",
    "vocab_size",
    "window_size",
    "window_stride",
];

/// Prefixes of metadata that are used by their numbers, or describe the structure of the layers.
const KNOWN_BEGINNINGS: [&str; 15] = [
    "attention_",
    "cache_",
    "cnn_module_kernel",
    "d_model",
    "dim_feedforward",
    "encoder_",
    "left_",
    "num_",
    "onnx.",
    "output_",
    "pad_length",
    "query_head_dim",
    "rnn_hidden_size",
    "right_context",
    "value_head_dim",
];

/// Prefixes of the `model_type` of icefall's networks.
const ICEFALL: [&str; 5] = ["conformer", "emformer", "lstm", "pruned_transducer", "zipformer"];

/// Writes the table `features`. It is determined by the command line, the metadata, or icefall's
/// and NeMo's names of inputs. Returns an error if these do not determine it.
fn features(
    toml: &mut String,
    description: &Description,
    layout: Layout,
    samp_freq: Option<u32>,
    said: &Said,
) -> Result<(), String> {
    let metadata = |key: &str| description.metadata(key).filter(|text| !text.is_empty());
    let model_type = metadata("model_type").unwrap_or_default();
    let named = || ["feat_dim", "feature_dim"].iter().find_map(|key| metadata(key)).and_then(|dim| dim.parse().ok());
    let width = layout.width().or_else(named);
    say_what_is_not_used(description);
    if let Some(preset) = said.preset {
        return preset_said(toml, preset, width, samp_freq, said.normalize.as_deref());
    }
    let unknown = FEATURES.iter().find_map(|&key| Some((key, metadata(key).filter(|value| *value != "0")?)));
    if let Some((key, value)) = unknown {
        let value: String = value.chars().take(20).collect();
        return Err(format!(
            "its metadata have {key} = {value}, whose effect on the features is unknown: {SAY_PRESET}"
        ));
    }
    let sample_rate = samp_freq.unwrap_or(16_000);
    if layout.takes_samples() {
        line(toml, "kind", "\"samples\"");
        line(toml, "sample-frequency", sample_rate);
        let normalize = match (said.normalize.as_deref(), metadata("normalize_samples")) {
            (Some(said), _) => said,
            (None, Some("1")) => "samples",
            (None, Some("0")) => "none",
            (None, Some(other)) => return Err(format!("normalize_samples {other} of its metadata is unknown")),
            (None, None) if model_type.contains("omnilingual") => "samples",
            (None, None) => {
                return Err("the network takes samples, and the file does not specify their normalisation: give \
                            --normalize=samples (most wav2vec 2.0 networks) or --normalize=none"
                    .to_owned());
            }
        };
        if normalize != "none" {
            line(toml, "normalize", format_args!("{normalize:?}"));
        }
        return Ok(());
    }
    let Some(width) = width else {
        return Err(format!("the file does not specify the feature dimension: {SAY_PRESET}"));
    };
    if is_nemo(description, layout) {
        let has_nemos_names = description.inputs.iter().any(|input| input.name == "audio_signal");
        let preset = match width {
            // GigaAM's networks have 64, and so have NeMo's oldest, with windows of another length.
            64 => {
                return Err(format!(
                    "rows of 64 values may be the features of GigaAM or of NeMo's QuartzNet: {SAY_PRESET}"
                ));
            }
            _ if model_type.is_empty() && !(has_nemos_names && matches!(width, 80 | 128)) => {
                return Err(format!(
                    "the file does not specify the kind of its features of {width} values: {SAY_PRESET}"
                ));
            }
            128 => Preset::Nemo128,
            _ => Preset::Nemo80,
        };
        line(toml, "preset", format_args!("{:?}", preset.name()));
        if !matches!(width, 80 | 128) {
            line(toml, "num-mel-bins", width);
        }
        if sample_rate != 16_000 {
            // Window and shift have the same times at this rate: NeMo's `window_size` and
            // `window_stride`.
            let samples = |milliseconds: u64| u64::from(sample_rate) * milliseconds / 1000;
            line(toml, "sample-frequency", sample_rate);
            line(toml, "fft-size", samples(25).next_power_of_two());
            line(toml, "window-size", samples(25));
            line(toml, "hop", samples(10));
        }
        // Exporters write an empty text for "NA".
        match (said.normalize.as_deref(), description.metadata("normalize_type")) {
            (Some("per_feature"), _) | (None, Some("per_feature")) => {}
            (Some(said), _) => line(toml, "normalize", format_args!("{said:?}")),
            (None, Some("" | "NA" | "None")) => line(toml, "normalize", "\"none\""),
            (None, Some(other)) => {
                return Err(format!("normalize_type {other} of the network's metadata is unknown: give --normalize"));
            }
            (None, None) => {
                return Err("the file does not specify the normalisation of the features: give \
                            --normalize=per_feature (most NeMo networks) or --normalize=none (most streaming NeMo \
                            networks)"
                    .to_owned());
            }
        }
        return Ok(());
    }
    let is_wenet = model_type.starts_with("wenet");
    if model_type.is_empty() {
        if width != 80 || description.inputs.iter().all(|input| input.name != "x") {
            return Err(format!("the file does not specify the kind of its features of {width} values: {SAY_PRESET}"));
        }
        say("features: icefall's, by the name of its input, x (fbank of samples from -1 to 1)");
    } else if !is_wenet && !ICEFALL.iter().any(|begin| model_type.starts_with(begin)) {
        return Err(format!("its model_type is {model_type}, whose features are unknown: {SAY_PRESET}"));
    }
    if said.normalize.as_deref().is_some_and(|said| said != "none") {
        return Err("the features of icefall and WeNet are not normalised: omit --normalize".to_owned());
    }
    // WeNet trains on samples as in WAV files, icefall on lhotse's samples from -1 to 1.
    let is_scaled = match metadata("normalize_samples") {
        None | Some("1") => !is_wenet,
        Some("0") => false,
        Some(other) => return Err(format!("normalize_samples {other} of its metadata is unknown")),
    };
    line(toml, "kind", "\"fbank\"");
    line(toml, "sample-frequency", sample_rate);
    line(toml, "num-mel-bins", width);
    line(toml, "snip-edges", false);
    line(toml, "high-freq", "-400.0");
    line(toml, "full-scale", if is_scaled { "1.0" } else { "32768.0" });
    Ok(())
}

/// Advice for unknown features.
const SAY_PRESET: &str = "give --preset (see 'kaldera features --help': nemo-80, zipformer, ...), or write the \
                          model.toml by hand (MODEL.md) if none fits";

/// Writes the features of a given preset, with as many filters as the network takes.
fn preset_said(
    toml: &mut String,
    preset: Preset,
    width: Option<usize>,
    samp_freq: Option<u32>,
    normalize: Option<&str>,
) -> Result<(), String> {
    let front_end = FrontEnd::new(preset.front_end()).map_err(|error| error.to_string())?;
    line(toml, "preset", format_args!("{:?}", preset.name()));
    if let Some(width) = width.filter(|&width| width != front_end.dim()) {
        say(format_args!(
            "preset {} has {} values a row, and the network takes {width}",
            preset.name(),
            front_end.dim()
        ));
        line(toml, "num-mel-bins", width);
    }
    if let Some(samp_freq) = samp_freq.filter(|&samp_freq| f64::from(samp_freq) != f64::from(front_end.samp_freq())) {
        line(toml, "sample-frequency", samp_freq);
    }
    if let Some(normalize) = normalize {
        line(toml, "normalize", format_args!("{normalize:?}"));
    }
    Ok(())
}

/// Reports the metadata that are not used.
fn say_what_is_not_used(description: &Description) {
    let is_used = |key: &str| {
        KNOWN.contains(&key) || KNOWN_BEGINNINGS.iter().any(|begin| key.starts_with(begin)) || FEATURES.contains(&key)
    };
    let unused: Vec<&str> = description.metadata.iter().map(|(key, _)| &**key).filter(|key| !is_used(key)).collect();
    if !unused.is_empty() {
        say(format_args!("unknown metadata, which are not used: {}", unused.join(", ")));
    }
}
