//! Model folders from the exports of other toolkits.

mod export;
mod family;
mod features;
mod files;
mod metadata;
mod said;
mod settings;
mod tokens;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera::Recognizer;
use kaldera_onnx::{
    Description, Error as OnnxError, Layout, OnnxDecoderJoint, OnnxPredictor, Predictor, PredictorOptions, Runtime,
    weight_files,
};

use self::export::{Export, Parts};
use self::family::Family;
use self::features::Described;
use self::files::{failed, file_name, folder_of};
use self::said::Said;
use self::settings::{Settings, quoted};
use self::tokens::Tokens;
use super::super::CliError;
use super::super::decoding::Decoding;
use super::{Given, TOOL, print};
use crate::interrupt;

/// Number of bytes that are copied between two checks for a signal.
const PIECE: u64 = 1 << 26;

/// Makes the folder `output` and returns its recogniser; `None` if a signal asked to stop.
pub(super) fn import(source: &Path, given: &Given, output: &Path) -> Result<Option<Recognizer>, CliError> {
    let runtime = match &*given.runtime {
        "" => Runtime::default(),
        name => name.parse().map_err(|error| CliError::Usage(format!("option --runtime: {error}")))?,
    };
    let said = Said::new(given)?;
    let export = Export::find(source, &given.tokens)?;
    export.warn_of_integers(runtime);
    let tokens = Tokens::read(&export.tokens)?;
    let (settings, cmvn) = settings(&export, &tokens, (runtime, &said))?;
    print(&settings.table())?;
    if let Some(questions) = settings.open_questions() {
        return Err(failed(&export.network, &questions));
    }
    let texts: Vec<(&str, String)> =
        [("tokens.txt", Some(tokens.text)), ("model.toml", Some(settings.toml())), ("am.mvn", cmvn)]
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .collect();
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
    let made = write(&part, &export, &texts, stop)
        .and_then(|()| unless(stop, || check(&part, &export)))
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
fn check(folder: &Path, export: &Export) -> Result<Recognizer, CliError> {
    Decoding::default().recognizer(folder).map_err(|trouble| {
        let networks = export.networks().into_iter().map(|path| (path.file_name().unwrap_or_default(), path));
        let others = [("tokens.txt".as_ref(), &*export.tokens), ("model.toml".as_ref(), "the new model.toml".as_ref())];
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

/// Writes the folder: networks with their weight files, and files of text.
fn write(folder: &Path, export: &Export, texts: &[(&str, String)], stop: &AtomicBool) -> Result<(), End> {
    unless(stop, || fs::create_dir(folder).map_err(|error| failed(folder, &error)))?;
    let mut files = BTreeSet::new();
    for network in export.networks() {
        files.insert(network.to_owned());
        files.extend(weight_files(network).map_err(|error| Some(CliError::failed(&error)))?);
    }
    let source = folder_of(&export.network);
    for from in files {
        // Weights may be in a subfolder.
        let to = folder.join(from.strip_prefix(source).unwrap_or(&from));
        copy(&from, &to, stop)?;
    }
    for (own, text) in texts {
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

/// Waits until the names in a folder are on the disk, if the system supports this.
fn sync_folder(folder: &Path) {
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Returns the settings of the new model, and the text of its `am.mvn`, if it has one.
fn settings(
    export: &Export,
    tokens: &Tokens,
    (runtime, said): (Runtime, &Said),
) -> Result<(Settings, Option<String>), CliError> {
    let network = &export.network;
    let description = Description::read(network, runtime).map_err(|error| CliError::failed(&error))?;
    let layout = Layout::of(&description).map_err(|error| failed(network, &error))?;
    let metadata = |key: &str| description.metadata(key).filter(|text| !text.is_empty());
    let config = export.json("config.json")?;
    let (family, of_family) = Family::find(&description, config.as_ref(), said.preset).unzip();
    let mut settings = Settings::default();
    let set = &mut settings;

    let names = export.networks().into_iter().map(file_name).collect::<Result<Vec<_>, _>>()?;
    let kind = if export.parts.is_some() { "transducer" } else { "ctc" };
    set.set("", "kind", quoted(kind), format!("the files: {}", names.join(", ")));
    set.note("family", family.map_or("unknown", Family::name), of_family.unwrap_or_default());
    set.set("", "tokens", "\"tokens.txt\"", file_name(&export.tokens)?);
    let (blank, of_blank) = tokens.blank(export, metadata("blank_id").or(family.and_then(Family::blank)))?;
    set.set("", "blank", blank, of_blank);
    // icefall's searches treat it as the blank, NeMo's do not.
    if let Some(unk) = tokens.number("<unk>").filter(|_| export.parts.is_some() && family == Some(Family::Icefall)) {
        set.set("", "unk", unk, "icefall's searches: <unk>");
    }
    let is_marked = |text: &str| text.starts_with('\u{2581}');
    let words =
        if tokens.any(|text| text == "\u{2581}") && !tokens.any(|text| is_marked(text) && text.chars().count() > 1) {
            set.set("", "separator", "\"\u{2581}\"", "the token \u{2581}");
            Some(("separator", "the token \u{2581}"))
        } else if tokens.any(is_marked) {
            Some(("marker", "tokens with \u{2581}"))
        } else if tokens.any(|text| text.starts_with("##")) {
            Some(("continuation", "tokens with ##"))
        } else if tokens.any(|text| text.ends_with("@@")) {
            Some(("joined", "tokens with @@"))
        } else if tokens.any(|text| text == "|") {
            set.set("", "separator", "\"|\"", "the token |");
            Some(("separator", "the token |"))
        } else {
            tokens.any(|text| text.trim().is_empty()).then_some(("separator", "the token of a space"))
        };
    if let Some((words, source)) = words {
        set.set("", "words", quoted(words), source);
    }
    if description.inputs.iter().any(|input| input.name == "prompt_index") {
        set.set("", "hide-tags", true, "tokens such as <en-US>, of a network with prompt_index");
    }
    let configured = config.as_ref().and_then(|config| config["subsampling_factor"].as_u64());
    match (metadata("subsampling_factor").map(str::parse::<u64>), configured) {
        (Some(Ok(factor)), _) => set.set("", "subsampling", factor, "metadata: subsampling_factor"),
        (_, Some(factor)) => set.set("", "subsampling", factor, "config.json: subsampling_factor"),
        _ => set.note("subsampling", "by trial", "not in the files: measured when the model is opened"),
    }

    let preprocessor = export.json("preprocessor_config.json")?;
    let cmvn = network.with_file_name("am.mvn");
    let described = Described {
        description: &description,
        layout,
        config: config.as_ref(),
        preprocessor: preprocessor.as_ref(),
        cmvn: if cmvn.is_file() {
            Some(kaldera::text::read_file(&cmvn).map_err(|error| failed(&cmvn, &error))?)
        } else {
            None
        },
        said,
    };
    let cmvn = described.settings(set, family).map_err(|reason| failed(network, &reason))?;

    set.set("network", "file", quoted(&file_name(network)?), "SOURCE");
    if runtime != Runtime::default() {
        set.set("network", "runtime", quoted(runtime.name()), "--runtime");
    }
    constants(set, &description, family, said);
    if family == Some(Family::Paraformer) {
        match tokens.number("</s>") {
            Some(end) => set.set("network", "end-token", end, "Paraformer's: </s>"),
            None => return Err(failed(&export.tokens, &"there is no </s> in it, the token that ends utterances")),
        }
    }
    if let Some(parts) = &export.parts {
        let files = match parts {
            Parts::Two(files) => &files[..],
            Parts::Fused(file) => std::slice::from_ref(file),
        };
        for (key, file) in ["predictor", "joiner"].into_iter().zip(files) {
            set.set("network", key, quoted(&file_name(file)?), "SOURCE");
        }
        if let Some(symbols) = family.and_then(Family::symbols_per_frame) {
            let options = PredictorOptions::default().with_blank(blank).with_runtime(runtime);
            let scores = num_scores(parts, &options).map_err(|error| CliError::failed(&error))?;
            // Scores after the tokens are durations, as in sherpa-onnx.
            match scores.saturating_sub(tokens.all.len()) {
                0 => {}
                count => {
                    let durations = (0..count).collect::<Vec<_>>();
                    set.set("network", "durations", format!("{durations:?}"), "the joiner's scores after the tokens");
                }
            }
            let configured = config.as_ref().and_then(|config| config["max_tokens_per_step"].as_u64());
            match configured {
                Some(most) => set.set("decoding", "symbols-per-frame", most, "config.json: max_tokens_per_step"),
                None => {
                    set.set("decoding", "symbols-per-frame", symbols, format!("{}'s", family.map_or("", Family::name)))
                }
            }
        }
    }
    metadata::say_what_is_not_used(&description);
    Ok((settings, cmvn))
}

fn num_scores(parts: &Parts, options: &PredictorOptions) -> Result<usize, OnnxError> {
    Ok(match parts {
        Parts::Two([predictor, joiner]) => OnnxPredictor::open(predictor, joiner, options)?.num_scores(),
        Parts::Fused(file) => OnnxDecoderJoint::open(file, options)?.num_scores(),
    })
}

/// Sets the integer inputs that are the same for all utterances, and the rows of the prompt.
fn constants(settings: &mut Settings, description: &Description, family: Option<Family>, said: &Said) {
    let number = |key: &str| description.metadata(key).and_then(|text| text.trim().parse::<i64>().ok());
    // SenseVoice's names (sherpa-onnx's and FunASR's), with their values for any language and for
    // text as it is spoken; NeMo's prompt for any language.
    let known = [
        ("language", number("lang_auto").unwrap_or(0), "any language: lang_auto"),
        ("text_norm", number("without_itn").unwrap_or(15), "text as it is spoken: without_itn"),
        ("textnorm", number("without_itn").unwrap_or(15), "text as it is spoken: without_itn"),
        ("prompt_index", number("auto_prompt_id").unwrap_or(101), "any language: auto_prompt_id"),
    ];
    let has = |name: &str| description.inputs.iter().any(|input| input.name == name);
    let known = known.into_iter().filter(|(name, ..)| has(name) && said.constants.iter().all(|(own, _)| own != name));
    let mut all: Vec<(String, i64)> = said.constants.clone();
    let mut sources: Vec<&str> = said.constants.iter().map(|_| "--constants").collect();
    for (name, value, source) in known {
        all.push((name.to_owned(), value));
        sources.push(source);
    }
    if !all.is_empty() {
        let values: Vec<String> = all.iter().map(|(name, value)| format!("{} = {value}", quoted(name))).collect();
        settings.set("network", "constants", format!("{{ {} }}", values.join(", ")), sources.join("; "));
    }
    if family == Some(Family::SenseVoice) {
        settings.set("network", "prompt-rows", 4, "SenseVoice's: language, emotion, event, text norm");
    }
}
