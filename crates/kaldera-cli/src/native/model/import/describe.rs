//! The description of a new model, from the files of an export.

use kaldera_onnx::{
    Description, Error as OnnxError, Layout, OnnxDecoderJoint, OnnxPredictor, Predictor as _, PredictorOptions, Runtime,
};
use serde_json::Value;

use super::super::super::CliError;
use super::export::{Export, Parts};
use super::family::Family;
use super::features::Described;
use super::files::{failed, file_name};
use super::metadata;
use super::said::Said;
use super::settings::{Settings, beginning, quoted};
use super::tokens::Tokens;

/// Returns the settings of the new model, and the text of its `am.mvn`, if it has one.
pub(super) fn describe(
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
    set.note(
        "family",
        family.map_or("unknown", Family::name),
        of_family.unwrap_or("neither metadata nor names".to_owned()),
    );
    set.set("", "tokens", "\"tokens.txt\"", file_name(&export.tokens)?);
    let (blank, of_blank) = tokens.blank(export, metadata("blank_id"), family)?;
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
    match words {
        Some((words, source)) => set.set("", "words", quoted(words), source),
        None => set.note("words", "tokens", "no token marks or separates words"),
    }
    let has = |name: &str| has_input(&description, name);
    if has("prompt_index") {
        set.set("", "hide-tags", true, "tokens such as <en-US>, of a network with prompt_index");
    }
    let configured = config.as_ref().and_then(|config| config["subsampling_factor"].as_u64());
    match (metadata("subsampling_factor").map(|factor| (factor, factor.trim().parse::<u64>())), configured) {
        _ if family == Some(Family::Paraformer) => set.note("subsampling", "1/6", "Paraformer's frames"),
        (Some((_, Ok(factor))), _) => set.set("", "subsampling", factor, "metadata: subsampling_factor"),
        (Some((factor, Err(_))), _) => {
            let reason = format!("its metadata have subsampling_factor {}, which is no number", beginning(factor));
            return Err(failed(network, &reason));
        }
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
        cmvn: cmvn.is_file().then_some(cmvn),
        said,
    };
    let cmvn = described.settings(set, family).map_err(|reason| failed(network, &reason))?;

    set.set("network", "file", quoted(&file_name(network)?), "SOURCE");
    if runtime != Runtime::default() {
        set.set("network", "runtime", quoted(runtime.name()), "--runtime");
    }
    constants(set, &description, family, said);
    if family == Some(Family::SenseVoice) && has("language") && (has("text_norm") || has("textnorm")) {
        set.set("network", "prompt-rows", 4, "SenseVoice's: language, emotion, event, text norm");
    }
    if family == Some(Family::Paraformer) {
        match tokens.number("</s>") {
            Some(end) => set.set("network", "end-token", end, "Paraformer's: </s>"),
            None => return Err(failed(&export.tokens, &"there is no </s> in it, the token that ends utterances")),
        }
    }
    if let Some(parts) = &export.parts {
        for (key, file) in ["predictor", "joiner"].into_iter().zip(parts.files()) {
            set.set("network", key, quoted(&file_name(file)?), "SOURCE");
        }
        if let Some(symbols) = family.and_then(Family::symbols_per_frame) {
            let options = PredictorOptions::default().with_blank(blank).with_runtime(runtime);
            let scores = num_scores(parts, &options).map_err(|error| CliError::failed(&error))?;
            // Scores after the tokens are durations, as in sherpa-onnx: two at least.
            match scores.saturating_sub(tokens.all.len()) {
                0 => {}
                1 => {
                    let count = tokens.all.len();
                    let reason = format!("the joiner gives {scores} scores for {count} tokens: is the list complete?");
                    return Err(failed(&export.tokens, &reason));
                }
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

fn has_input(description: &Description, name: &str) -> bool {
    description.inputs.iter().any(|input| input.name == name)
}

fn num_scores(parts: &Parts, options: &PredictorOptions) -> Result<usize, OnnxError> {
    Ok(match parts {
        Parts::Two([predictor, joiner]) => OnnxPredictor::open(predictor, joiner, options)?.num_scores(),
        Parts::Fused(file) => OnnxDecoderJoint::open(file, options)?.num_scores(),
    })
}

/// Sets the integer inputs that are the same for all utterances.
fn constants(settings: &mut Settings, description: &Description, family: Option<Family>, said: &Said) {
    let in_file = |key: &str| {
        let number = description.metadata(key)?.trim().parse::<i64>().ok()?;
        Some((number, format!("metadata: {key}")))
    };
    let or_usual = |key: &str, usual: i64| {
        let usual = || (usual, format!("SenseVoice's {key}"));
        in_file(key).or_else(|| (family == Some(Family::SenseVoice)).then(usual))
    };
    let automatic = || {
        let languages: Value = serde_json::from_str(description.metadata("prompt_dictionary")?).ok()?;
        Some((languages["auto"].as_i64()?, "metadata: auto in prompt_dictionary".to_owned()))
    };
    // SenseVoice's names (sherpa-onnx's and FunASR's), with their values for any language and for
    // text as it is spoken; NeMo's prompt for any language.
    let usual = [
        ("language", or_usual("lang_auto", 0)),
        ("text_norm", or_usual("without_itn", 15)),
        ("textnorm", or_usual("without_itn", 15)),
        ("prompt_index", in_file("auto_prompt_id").or_else(automatic)),
    ];
    let given = said.constants.iter().map(|(name, value)| (name.as_str(), *value, "--constants".to_owned()));
    let mut all: Vec<(&str, i64, String)> = given.collect();
    for (name, value) in usual {
        if all.iter().any(|(own, ..)| *own == name) || !has_input(description, name) {
            continue;
        }
        match value {
            Some((value, source)) => all.push((name, value, source)),
            None => settings.ask(format!("the files do not specify the input {name}: give --constants={name}=NUMBER")),
        }
    }
    if !all.is_empty() {
        let values: Vec<String> = all.iter().map(|(name, value, _)| format!("{} = {value}", quoted(name))).collect();
        let sources: Vec<&str> = all.iter().map(|(.., source)| &**source).collect();
        settings.set("network", "constants", format!("{{ {} }}", values.join(", ")), sources.join("; "));
    }
}
