//! The features of an export.

use std::path::PathBuf;

use kaldera::feat::{FeatureKind, FrontEnd, GlobalCmvn, Preset};
use kaldera_onnx::{Description, Layout};
use serde_json::Value;

use super::family::Family;
use super::said::Said;
use super::settings::{Settings, beginning, quoted};

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
    /// A file `am.mvn` next to the network.
    pub(super) cmvn: Option<PathBuf>,
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
    fn sample_rate(&self) -> Result<Option<(u32, String)>, String> {
        if let Some(rate) = self.metadata("sample_rate") {
            let parsed = rate.trim().parse::<u32>().ok().filter(|&rate| rate > 0);
            let parsed =
                parsed.ok_or_else(|| format!("its metadata have sample_rate {}, no number of Hz", beginning(rate)))?;
            return Ok(Some((parsed, "metadata: sample_rate".to_owned())));
        }
        let configured = || self.preprocessor?["sampling_rate"].as_u64()?.try_into().ok();
        Ok(configured().map(|rate| (rate, "preprocessor_config.json: sampling_rate".to_owned())))
    }

    /// Writes the table `features`, or questions that nothing answers. Returns the text of a file
    /// with a normalisation of rows, which the table names `am.mvn`.
    pub(super) fn settings(&self, settings: &mut Settings, family: Option<Family>) -> Result<Option<String>, String> {
        let rate = self.sample_rate()?;
        let cmvn = self.cmvn_of(settings, family)?;
        let family = family.or_else(|| self.layout.takes_samples().then_some(Family::Wav2Vec2));
        if let Some(preset) = self.said.preset {
            self.given_preset(settings, preset, rate)?;
            return Ok(cmvn);
        }
        let Some(family) = family else {
            let kind = match self.metadata("model_type") {
                Some(kind) => format!("its model_type is {}, whose features are unknown", beginning(kind)),
                None => "the files do not specify the kind of features".to_owned(),
            };
            settings.ask(format!("{kind}: {SAY_PRESET}"));
            return Ok(cmvn);
        };
        self.ask_of_unknown(settings, family);
        let takes_samples = matches!(family, Family::Wav2Vec2 | Family::Omnilingual | Family::TOne);
        if takes_samples != self.layout.takes_samples() {
            let (takes, given) = if takes_samples { ("samples", "features") } else { ("features", "samples") };
            settings.ask(format!("{} takes {takes}, and the network {given}: {SAY_PRESET}", family.name()));
            return Ok(cmvn);
        }
        if let Some(normalize) = self.said.normalize.as_deref().filter(|_| !takes_samples && family != Family::Nemo)
            && (normalize != "none" || !matches!(family, Family::Icefall | Family::WeNet))
        {
            return Err(format!("the features of {} have no other normalisation: omit --normalize", family.name()));
        }
        let usual = if family == Family::TOne { 8_000 } else { 16_000 };
        let assumed = || (usual, format!("not in the files: {}'s", family.name()));
        let (sample_rate, source) = rate.unwrap_or_else(assumed);
        let kind = format!("{}'s", family.name());
        if sample_rate != usual && family.has_one_rate() {
            settings.ask(format!("{source} is {sample_rate}, and {} takes {usual} Hz: {SAY_PRESET}", family.name()));
        }
        match family {
            Family::Wav2Vec2 | Family::Omnilingual | Family::TOne => {
                self.samples(settings, family, (sample_rate, source));
            }
            Family::Nemo => self.nemo(settings, (sample_rate, source)),
            Family::GigaAm => self.giga_am(settings),
            Family::Icefall | Family::WeNet => self.fbank(settings, family, (sample_rate, source))?,
            Family::SenseVoice => settings.set(FEATURES, "preset", "\"sensevoice\"", kind),
            Family::Paraformer => settings.set(FEATURES, "preset", "\"paraformer\"", kind),
            Family::Dolphin => settings.set(FEATURES, "preset", "\"dolphin\"", kind),
            Family::MedAsr => settings.set(FEATURES, "preset", "\"medasr\"", kind),
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

    /// Writes icefall's and WeNet's features.
    fn fbank(&self, settings: &mut Settings, family: Family, rate: (u32, String)) -> Result<(), String> {
        let kind = format!("{}'s", family.name());
        let is_scaled = match self.metadata("normalize_samples") {
            None | Some("1") => family == Family::Icefall,
            Some("0") => false,
            Some(other) => {
                return Err(format!("normalize_samples {} of its metadata is unknown: {SAY_PRESET}", beginning(other)));
            }
        };
        let Some((width, of_width)) = self.width() else {
            settings.ask(format!("the files do not specify the feature dimension: {SAY_PRESET}"));
            return Ok(());
        };
        if self.metadata("model_type").is_none() && width != 80 {
            settings.ask(format!("the files do not specify the kind of the features of {width} values: {SAY_PRESET}"));
            return Ok(());
        }
        settings.set(FEATURES, "kind", "\"fbank\"", kind.clone());
        settings.set(FEATURES, "sample-frequency", rate.0, rate.1);
        settings.set(FEATURES, "num-mel-bins", width, of_width);
        if family == Family::Icefall {
            settings.set(FEATURES, "snip-edges", false, kind.clone());
            settings.set(FEATURES, "high-freq", "-400.0", kind.clone());
        }
        settings.set(FEATURES, "full-scale", if is_scaled { "1.0" } else { "32768.0" }, kind);
        Ok(())
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
        // FunASR's rows, which the presets have.
        let of_funasr = [("lfr_window_size", "7"), ("lfr_window_shift", "6"), ("normalize_samples", "0")];
        let others = of_funasr.into_iter().filter_map(|(key, usual)| {
            let is_funasr = matches!(family, Family::SenseVoice | Family::Paraformer);
            Some((key, self.metadata(key).filter(|value| is_funasr && value.trim() != usual)?))
        });
        for (key, value) in unknown.chain(others) {
            let value = beginning(value);
            settings.ask(format!(
                "its metadata have {key} = {value}, whose effect on the features is unknown: {SAY_PRESET}"
            ));
        }
    }

    /// Writes the features of a given preset, with as many filters as the network takes.
    fn given_preset(&self, settings: &mut Settings, preset: Preset, rate: Option<(u32, String)>) -> Result<(), String> {
        let options = preset.front_end();
        let kind = options.features.kind();
        let (takes_samples, has_filters) =
            (kind == FeatureKind::Samples, options.lfr_m == 1 && kind != FeatureKind::Mfcc);
        let front_end = FrontEnd::new(options).map_err(|error| error.to_string())?;
        let (name, dim) = (preset.name(), front_end.dim());
        if takes_samples != self.layout.takes_samples() {
            let (takes, gives) = if takes_samples { ("features", "samples") } else { ("samples", "features") };
            return Err(format!("the network takes {takes}, and preset {name} gives {gives}"));
        }
        settings.set(FEATURES, "preset", quoted(name), "--preset");
        match self.width().filter(|&(width, _)| width != dim) {
            Some((width, source)) if has_filters => {
                settings.set(FEATURES, "num-mel-bins", width, format!("{source}; the preset has {dim}"));
            }
            Some((width, _)) => return Err(format!("rows of {width} values, and preset {name} has {dim}")),
            None => {}
        }
        let rate = rate.filter(|&(rate, _)| f64::from(rate) != f64::from(front_end.samp_freq()));
        match preset {
            Preset::Nemo80 | Preset::Nemo128 => {
                nemo_rate(settings, rate.unwrap_or((16_000, "the preset".to_owned())));
                self.nemo_normalize(settings, true);
            }
            _ => {
                if let Some((rate, source)) = rate {
                    settings.set(FEATURES, "sample-frequency", rate, source);
                }
                if let Some(normalize) = &self.said.normalize {
                    settings.set(FEATURES, "normalize", quoted(normalize), "--normalize");
                }
            }
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

    fn nemo(&self, settings: &mut Settings, rate: (u32, String)) {
        let Some((width, of_width)) = self.width() else {
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
        nemo_rate(settings, rate);
        self.nemo_normalize(settings, self.config.is_some_and(|config| config["model_type"].is_string()));
    }

    /// Writes NeMo's normalisation; `has_usual` if it is per feature where no metadata name it.
    fn nemo_normalize(&self, settings: &mut Settings, has_usual: bool) {
        // Exporters write an empty text for "NA".
        match (self.said.normalize.as_deref(), self.description.metadata("normalize_type")) {
            (Some("per_feature"), _) => settings.note("normalize", "per_feature", "--normalize"),
            (Some(given), _) => settings.set(FEATURES, "normalize", quoted(given), "--normalize"),
            (None, Some("per_feature")) => settings.note("normalize", "per_feature", "metadata: normalize_type"),
            (None, Some("" | "NA" | "None")) => {
                settings.set(FEATURES, "normalize", "\"none\"", "metadata: normalize_type");
            }
            (None, Some(other)) => {
                let other = beginning(other);
                settings.ask(format!("normalize_type {other} of the network's metadata is unknown: give --normalize"));
            }
            (None, None) if has_usual => {
                settings.note("normalize", "per_feature", "the preset, or onnx-asr's config.json")
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
            Some(version) => (version, "config.json: version, or model_type"),
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
                let read = |path: &PathBuf| {
                    kaldera::text::read_file(path).map_err(|error| format!("{}: {error}", path.display()))
                };
                return self.cmvn.as_ref().map(read).transpose();
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

/// Writes NeMo's frames at a sample rate: window and shift have the same times at each, NeMo's
/// `window_size` and `window_stride`.
fn nemo_rate(settings: &mut Settings, (rate, source): (u32, String)) {
    if rate == 16_000 {
        return settings.note("sample rate", rate, source);
    }
    let samples = |milliseconds: u64| u64::from(rate) * milliseconds / 1000;
    settings.set(FEATURES, "sample-frequency", rate, source);
    let times = [("fft-size", samples(25).next_power_of_two()), ("window-size", samples(25)), ("hop", samples(10))];
    for (key, value) in times {
        settings.set(FEATURES, key, value, "NeMo's times at this rate");
    }
}

/// Reads a list of numbers with commas between them.
fn numbers(key: &str, text: &str) -> Result<Vec<f32>, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("its metadata {key}: '{}' is not a number", beginning(text)))
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
