//! The features of an export.

use kaldera::feat::{FrontEnd, GlobalCmvn, Preset};
use kaldera_onnx::{Description, Layout};
use serde_json::Value;

use super::family::Family;
use super::said::Said;
use super::settings::{Settings, quoted};

const FEATURES: &str = "features";

/// Advice for unknown features.
const SAY_PRESET: &str = "give --preset (see 'kaldera features --help': nemo-80, zipformer, ...), or write the \
                          model.toml by hand (MODEL.md) if none fits";

/// Metadata that describe features in ways that depend on the family.
const OF_FAMILIES: [&str; 13] = [
    "cmvn_inv_stddev",
    "cmvn_mean",
    "feature_type",
    "inv_stddev",
    "invstd",
    "lfr_window_shift",
    "lfr_window_size",
    "mean",
    "neg_mean",
    "scale",
    "stddev",
    "use_whisper_feature",
    "feature",
];

/// An export, as far as it describes features.
pub(super) struct Described<'a> {
    pub(super) description: &'a Description,
    pub(super) layout: Layout,
    /// The `config.json` next to the network.
    pub(super) config: Option<&'a Value>,
    /// The `preprocessor_config.json` of Hugging Face next to the network.
    pub(super) preprocessor: Option<&'a Value>,
    /// The text of a file `am.mvn` next to the network.
    pub(super) cmvn: Option<String>,
    pub(super) said: &'a Said,
}

impl Described<'_> {
    fn metadata(&self, key: &str) -> Option<&str> {
        self.description.metadata(key).filter(|text| !text.is_empty())
    }

    /// Returns the number of values of a row, and its source.
    fn width(&self) -> Option<(usize, String)> {
        if let Some(width) = self.layout.width() {
            return Some((width, "the input's shape".to_owned()));
        }
        let named = ["feat_dim", "feature_dim"].iter().find_map(|key| Some((key, self.metadata(key)?.parse().ok()?)));
        let configured = || self.config?["features_size"].as_u64()?.try_into().ok();
        named
            .map(|(key, width)| (width, format!("metadata: {key}")))
            .or_else(|| configured().map(|width| (width, "config.json: features_size".to_owned())))
    }

    /// Returns the sample rate, if the files give it, and its source.
    fn sample_rate(&self) -> Option<(u32, String)> {
        let rate = self.metadata("sample_rate").and_then(|rate| Some((rate.parse().ok()?, "metadata: sample_rate")));
        let configured = || self.preprocessor?["sampling_rate"].as_u64()?.try_into().ok();
        let rate = rate.or_else(|| Some((configured()?, "preprocessor_config.json: sampling_rate")));
        rate.map(|(rate, source)| (rate, source.to_owned()))
    }

    /// Writes the table `features`, or questions that nothing answers. Returns the text of a file
    /// with a normalisation of rows, which the table names `am.mvn`.
    pub(super) fn settings(&self, settings: &mut Settings, family: Option<Family>) -> Result<Option<String>, String> {
        let rate = self.sample_rate();
        let usual = match family {
            Some(Family::TOne) => (8_000, "T-one's".to_owned()),
            _ => (16_000, "not in the files: assumed".to_owned()),
        };
        let (sample_rate, source) = rate.clone().unwrap_or(usual);
        let cmvn = self.cmvn_of(settings, family)?;
        if let Some(preset) = self.said.preset {
            self.said_preset(settings, preset, rate)?;
            return Ok(cmvn);
        }
        let family = family.or_else(|| self.layout.takes_samples().then_some(Family::Wav2Vec2));
        let Some(family) = family else {
            let kind =
                self.metadata("model_type").map(|kind| format!("its model_type is {kind}, whose features are unknown"));
            let kind = kind.unwrap_or_else(|| "the files do not specify the kind of features".to_owned());
            settings.ask(format!("{kind}: {SAY_PRESET}"));
            return Ok(cmvn);
        };
        self.ask_of_unknown(settings, family);
        let kind = format!("{}'s", family.name());
        let width = self.width();
        match family {
            _ if self.layout.takes_samples() => self.samples(settings, family, (sample_rate, source)),
            Family::Wav2Vec2 | Family::Omnilingual | Family::TOne => {
                settings.ask(format!("{} takes samples, and the network does not: {SAY_PRESET}", family.name()));
            }
            Family::Nemo => self.nemo(settings, width, (sample_rate, source)),
            Family::GigaAm => self.giga_am(settings),
            Family::Icefall | Family::WeNet => {
                let is_scaled = match self.metadata("normalize_samples") {
                    None | Some("1") => family == Family::Icefall,
                    Some("0") => false,
                    Some(other) => return Err(format!("normalize_samples {other} of its metadata is unknown")),
                };
                if self.said.normalize.as_deref().is_some_and(|said| said != "none") {
                    return Err("the features of icefall and WeNet are not normalised: omit --normalize".to_owned());
                }
                let Some((width, of_width)) = width else {
                    settings.ask(format!("the files do not specify the feature dimension: {SAY_PRESET}"));
                    return Ok(cmvn);
                };
                if self.metadata("model_type").is_none() && width != 80 {
                    settings.ask(format!(
                        "the files do not specify the kind of the features of {width} values: {SAY_PRESET}"
                    ));
                    return Ok(cmvn);
                }
                settings.set(FEATURES, "kind", "\"fbank\"", kind.clone());
                settings.set(FEATURES, "sample-frequency", sample_rate, source);
                settings.set(FEATURES, "num-mel-bins", width, of_width);
                if family == Family::Icefall {
                    settings.set(FEATURES, "snip-edges", false, kind.clone());
                    settings.set(FEATURES, "high-freq", "-400.0", kind.clone());
                }
                settings.set(FEATURES, "full-scale", if is_scaled { "1.0" } else { "32768.0" }, kind);
            }
            Family::SenseVoice => settings.set(FEATURES, "preset", "\"sensevoice\"", kind),
            Family::Paraformer => settings.set(FEATURES, "preset", "\"paraformer\"", kind),
            Family::Dolphin => settings.set(FEATURES, "preset", "\"dolphin\"", kind),
            Family::FireRed => {
                settings.set(FEATURES, "kind", "\"fbank\"", kind.clone());
                settings.set(FEATURES, "num-mel-bins", 80, kind);
            }
            Family::TeleSpeech => {
                for (key, value) in [
                    ("kind", "\"mfcc\""),
                    ("num-ceps", "40"),
                    ("num-mel-bins", "40"),
                    ("low-freq", "40.0"),
                    ("high-freq", "-200.0"),
                    ("use-energy", "false"),
                    ("normalize", "\"per_feature_population\""),
                ] {
                    settings.set(FEATURES, key, value, kind.clone());
                }
            }
        }
        Ok(cmvn)
    }

    /// Asks for the features if metadata describe them and the family does not use these keys.
    fn ask_of_unknown(&self, settings: &mut Settings, family: Family) {
        let used: &[&str] = match family {
            Family::SenseVoice | Family::Paraformer => {
                &["neg_mean", "inv_stddev", "lfr_window_size", "lfr_window_shift"]
            }
            Family::Dolphin => &["mean", "invstd"],
            Family::FireRed => &["cmvn_mean", "cmvn_inv_stddev"],
            _ => &[],
        };
        let unknown = OF_FAMILIES.iter().filter(|key| !used.contains(key));
        let unknown = unknown.filter_map(|&key| Some((key, self.metadata(key).filter(|value| *value != "0")?)));
        for (key, value) in unknown {
            let value: String = value.chars().take(20).collect();
            settings.ask(format!(
                "its metadata have {key} = {value}, whose effect on the features is unknown: {SAY_PRESET}"
            ));
        }
    }

    /// Writes the features of a given preset, with as many filters as the network takes.
    fn said_preset(&self, settings: &mut Settings, preset: Preset, rate: Option<(u32, String)>) -> Result<(), String> {
        let front_end = FrontEnd::new(preset.front_end()).map_err(|error| error.to_string())?;
        settings.set(FEATURES, "preset", quoted(preset.name()), "--preset");
        if let Some((width, source)) = self.width().filter(|&(width, _)| width != front_end.dim()) {
            settings.set(FEATURES, "num-mel-bins", width, format!("{source}; the preset has {}", front_end.dim()));
        }
        if let Some((rate, source)) = rate.filter(|&(rate, _)| f64::from(rate) != f64::from(front_end.samp_freq())) {
            settings.set(FEATURES, "sample-frequency", rate, source);
        }
        if let Some(normalize) = &self.said.normalize {
            settings.set(FEATURES, "normalize", quoted(normalize), "--normalize");
        }
        Ok(())
    }

    fn samples(&self, settings: &mut Settings, family: Family, (sample_rate, source): (u32, String)) {
        settings.set(FEATURES, "kind", "\"samples\"", format!("the network's input, {}'s", family.name()));
        settings.set(FEATURES, "sample-frequency", sample_rate, source);
        let configured = self.preprocessor.and_then(|config| config["do_normalize"].as_bool());
        let normalize = match (self.said.normalize.as_deref(), self.metadata("normalize_samples"), configured) {
            (Some(said), ..) => Some((said, "--normalize")),
            (_, Some("1"), _) => Some(("samples", "metadata: normalize_samples")),
            (_, Some("0"), _) => Some(("none", "metadata: normalize_samples")),
            (_, Some(_), _) => None,
            (.., Some(true)) => Some(("samples", "preprocessor_config.json: do_normalize")),
            (.., Some(false)) => Some(("none", "preprocessor_config.json: do_normalize")),
            _ if family == Family::Omnilingual => Some(("samples", "Omnilingual's")),
            _ if family == Family::TOne => Some(("none", "T-one's")),
            _ => None,
        };
        match normalize {
            Some((normalize, source)) => settings.set(FEATURES, "normalize", quoted(normalize), source),
            None => settings.ask(
                "the network takes samples, and the files do not specify their normalisation: give \
                 --normalize=samples (most wav2vec 2.0 networks) or --normalize=none",
            ),
        }
    }

    fn nemo(&self, settings: &mut Settings, width: Option<(usize, String)>, (sample_rate, source): (u32, String)) {
        let Some((width, of_width)) = width else {
            return settings.ask(format!("the files do not specify the feature dimension: {SAY_PRESET}"));
        };
        let preset = match width {
            // GigaAM's networks have 64, and so have NeMo's oldest, with windows of another length.
            64 => {
                return settings.ask(format!(
                    "rows of 64 values may be the features of GigaAM or of NeMo's QuartzNet: {SAY_PRESET}"
                ));
            }
            _ if self.metadata("model_type").is_none() && !matches!(width, 80 | 128) => {
                return settings
                    .ask(format!("the files do not specify the kind of the features of {width} values: {SAY_PRESET}"));
            }
            128 => Preset::Nemo128,
            _ => Preset::Nemo80,
        };
        settings.set(FEATURES, "preset", quoted(preset.name()), format!("NeMo's, for {width} values: {of_width}"));
        if !matches!(width, 80 | 128) {
            settings.set(FEATURES, "num-mel-bins", width, of_width);
        }
        if sample_rate == 16_000 {
            settings.note("sample rate", sample_rate, source);
        } else {
            // Window and shift have the same times at this rate: NeMo's `window_size` and
            // `window_stride`.
            let samples = |milliseconds: u64| u64::from(sample_rate) * milliseconds / 1000;
            settings.set(FEATURES, "sample-frequency", sample_rate, source);
            for (key, value) in
                [("fft-size", samples(25).next_power_of_two()), ("window-size", samples(25)), ("hop", samples(10))]
            {
                settings.set(FEATURES, key, value, "NeMo's times at this rate");
            }
        }
        let of_onnx_asr = self.config.is_some_and(|config| config["model_type"].is_string());
        // Exporters write an empty text for "NA".
        match (self.said.normalize.as_deref(), self.description.metadata("normalize_type")) {
            (Some("per_feature"), _) => settings.note("normalize", "per_feature", "--normalize"),
            (Some(said), _) => settings.set(FEATURES, "normalize", quoted(said), "--normalize"),
            (None, Some("per_feature")) => settings.note("normalize", "per_feature", "metadata: normalize_type"),
            (None, Some("" | "NA" | "None")) => {
                settings.set(FEATURES, "normalize", "\"none\"", "metadata: normalize_type");
            }
            (None, Some(other)) => {
                settings.ask(format!("normalize_type {other} of the network's metadata is unknown: give --normalize"));
            }
            (None, None) if of_onnx_asr => {
                settings.note("normalize", "per_feature", "onnx-asr's, by the model_type of config.json");
            }
            (None, None) => settings.ask(
                "the files do not specify the normalisation of the features: give --normalize=per_feature (most NeMo \
                 networks) or --normalize=none (most streaming NeMo networks)",
            ),
        }
    }

    fn giga_am(&self, settings: &mut Settings) {
        let comment = self.metadata("comment").unwrap_or_default();
        let configured = self.config.and_then(|config| {
            let name = config["model_type"].as_str().unwrap_or_default();
            config["version"].as_str().or_else(|| ["v2", "v3"].into_iter().find(|version| name.contains(version)))
        });
        let (version, source) = match configured {
            Some(version) => (version, "config.json: the version"),
            None => (
                ["v2", "v3"].into_iter().find(|version| comment.starts_with(version)).unwrap_or(""),
                "metadata: comment",
            ),
        };
        match version {
            "v2" => settings.set(FEATURES, "preset", "\"gigaam-v2\"", source),
            "v3" => settings.set(FEATURES, "preset", "\"gigaam-v3\"", source),
            _ => settings.ask(
                "is_giga_am, and the files do not specify the version: give --preset=gigaam-v2 or --preset=gigaam-v3 \
                 (Multilingual, too)",
            ),
        }
    }

    /// Returns the text of a file with the normalisation of rows, and names it in the settings.
    fn cmvn_of(&self, settings: &mut Settings, family: Option<Family>) -> Result<Option<String>, String> {
        const FILE: &str = "\"am.mvn\"";
        let keys = match family {
            Some(Family::SenseVoice | Family::Paraformer) => ("neg_mean", "inv_stddev", 1.0),
            Some(Family::Dolphin) => ("mean", "invstd", -1.0),
            Some(Family::FireRed) => ("cmvn_mean", "cmvn_inv_stddev", -1.0),
            _ => return Ok(None),
        };
        let (shift, scale, sign) = keys;
        let text = match (self.metadata(shift), self.metadata(scale)) {
            (Some(mean), Some(deviation)) => {
                let (mean, deviation) = (numbers(shift, mean)?, numbers(scale, deviation)?);
                let shifts = mean.into_iter().map(|value| sign * value).collect();
                let cmvn = GlobalCmvn::new(shifts, deviation).map_err(|error| format!("{shift}, {scale}: {error}"))?;
                settings.set(FEATURES, "cmvn", FILE, format!("metadata: {shift}, {scale}"));
                mvn_text(&cmvn)
            }
            (None, None) if self.cmvn.is_some() => {
                settings.set(FEATURES, "cmvn", FILE, "am.mvn next to the network");
                return Ok(self.cmvn.clone());
            }
            _ => {
                settings.ask(format!(
                    "neither the metadata {shift} and {scale} nor a file am.mvn next to the network has the \
                     normalisation of rows: add the model's am.mvn"
                ));
                return Ok(None);
            }
        };
        Ok(Some(text))
    }
}

/// Reads a list of numbers with commas between them.
fn numbers(key: &str, text: &str) -> Result<Vec<f32>, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            format!("its metadata {key}: '{}' is not a number", text.chars().take(20).collect::<String>())
        })
    };
    text.split(',').map(number).collect()
}

/// Returns the text of a file `am.mvn`.
fn mvn_text(cmvn: &GlobalCmvn) -> String {
    let dim = cmvn.dim();
    let component = |name: &str, values: &[f32]| {
        let values = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        format!("<{name}> {dim} {dim}\n<LearnRateCoef> 0 [ {values} ]\n")
    };
    format!("<Nnet>\n{}{}</Nnet>\n", component("AddShift", cmvn.shift()), component("Rescale", cmvn.scale()))
}
