//! The toolkit or model that an export is from.

use kaldera::feat::Preset;
use kaldera_onnx::Description;
use serde_json::Value;

use super::settings::beginning;

/// The toolkit or model that an export is from. It defines the features, and the numbers that the
/// files lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Icefall,
    WeNet,
    Nemo,
    GigaAm,
    /// Networks of Hugging Face that take samples.
    Wav2Vec2,
    Omnilingual,
    SenseVoice,
    Paraformer,
    Dolphin,
    TeleSpeech,
    FireRed,
    MedAsr,
    TOne,
}

/// Omnilingual's `model_type` has this anywhere.
const OMNILINGUAL: &str = "omnilingual";

/// Values of the metadata `model_type`, or their beginnings.
const MODEL_TYPES: [(&str, Family); 15] = [
    ("EncDec", Family::Nemo),
    ("conformer", Family::Icefall),
    ("dolphin", Family::Dolphin),
    ("emformer", Family::Icefall),
    ("fire-red-asr", Family::FireRed),
    ("lstm", Family::Icefall),
    (OMNILINGUAL, Family::Omnilingual),
    ("medasr", Family::MedAsr),
    ("paraformer", Family::Paraformer),
    ("pruned_transducer", Family::Icefall),
    ("sense_voice", Family::SenseVoice),
    ("t-one", Family::TOne),
    ("telespeech", Family::TeleSpeech),
    ("wenet", Family::WeNet),
    ("zipformer", Family::Icefall),
];

/// Values of `model_type` in a `config.json`, or their beginnings: onnx-asr's and Hugging Face's.
const CONFIG_TYPES: [(&str, Family); 10] = [
    ("data2vec-audio", Family::Wav2Vec2),
    ("gigaam", Family::GigaAm),
    ("hubert", Family::Wav2Vec2),
    ("kaldi", Family::Icefall),
    ("nemo-conformer", Family::Nemo),
    ("t-one", Family::TOne),
    ("unispeech", Family::Wav2Vec2),
    ("vosk", Family::Icefall),
    ("wav2vec2", Family::Wav2Vec2),
    ("wavlm", Family::Wav2Vec2),
];

/// Families whose names begin like the name of another one, and whose networks take features.
const OTHERS: [&str; 2] = ["wav2vec2-bert", "nemo-conformer-aed"];

impl Family {
    /// Finds the family by a given preset, the metadata, `config.json` or the names of inputs; also
    /// returns the source. `None` if they do not name one that is known.
    pub(super) fn find(
        description: &Description,
        config: Option<&Value>,
        preset: Option<Preset>,
    ) -> Option<(Self, String)> {
        let metadata = |key: &str| description.metadata(key).filter(|text| !text.is_empty());
        if metadata("is_giga_am").is_some_and(|value| value != "0") {
            return Some((Self::GigaAm, "metadata: is_giga_am".to_owned()));
        }
        let by_preset = match preset {
            Some(Preset::Nemo80 | Preset::Nemo128) => Some(Self::Nemo),
            Some(Preset::Zipformer) => Some(Self::Icefall),
            Some(Preset::GigaAmV2 | Preset::GigaAmV3) => Some(Self::GigaAm),
            Some(Preset::SenseVoice) => Some(Self::SenseVoice),
            Some(Preset::Dolphin) => Some(Self::Dolphin),
            Some(Preset::Paraformer) => Some(Self::Paraformer),
            Some(Preset::MedAsr) => Some(Self::MedAsr),
            _ => None,
        };
        if let Some(family) = by_preset {
            return Some((family, "--preset".to_owned()));
        }
        if let Some(kind) = metadata("model_type") {
            let found = MODEL_TYPES
                .iter()
                .find(|(part, _)| kind.starts_with(part) || *part == OMNILINGUAL && kind.contains(part));
            return Some((found?.1, format!("metadata: model_type {}", beginning(kind))));
        }
        if let Some(kind) = config.and_then(|config| config["model_type"].as_str()) {
            let found = CONFIG_TYPES.iter().find(|(begin, _)| kind.starts_with(begin) && !OTHERS.contains(&kind));
            return Some((found?.1, format!("config.json: model_type {}", beginning(kind))));
        }
        let input = |name: &str| description.inputs.iter().find(|input| input.name == name);
        let by_name = [
            ("audio_signal", Self::Nemo),
            ("x", Self::Icefall),
            ("input_values", Self::Wav2Vec2),
            ("signal", Self::TOne),
            ("textnorm", Self::SenseVoice),
        ];
        let output = description.outputs.iter().find(|output| output.name == "us_cif_peak");
        by_name
            .into_iter()
            .find_map(|(name, family)| Some((family, format!("input {}", input(name)?))))
            .or_else(|| Some((Self::Paraformer, format!("output {}", output?))))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Icefall => "icefall",
            Self::WeNet => "WeNet",
            Self::Nemo => "NeMo",
            Self::GigaAm => "GigaAM",
            Self::Wav2Vec2 => "wav2vec 2.0",
            Self::Omnilingual => "Omnilingual",
            Self::SenseVoice => "SenseVoice",
            Self::Paraformer => "Paraformer",
            Self::Dolphin => "Dolphin",
            Self::TeleSpeech => "TeleSpeech",
            Self::FireRed => "FireRed",
            Self::MedAsr => "MedASR",
            Self::TOne => "T-one",
        }
    }

    /// Returns `true` if its front end is for one sample rate.
    pub(super) fn has_one_rate(self) -> bool {
        matches!(
            self,
            Self::GigaAm
                | Self::SenseVoice
                | Self::Paraformer
                | Self::Dolphin
                | Self::TeleSpeech
                | Self::FireRed
                | Self::MedAsr
        )
    }

    /// Returns the number of the blank of a family whose lists of tokens have no name for it.
    pub(super) fn blank(self) -> Option<usize> {
        matches!(self, Self::SenseVoice | Self::Omnilingual).then_some(0)
    }

    /// Returns the most tokens of a frame in its own decoder, if that is more than one.
    pub(super) fn symbols_per_frame(self) -> Option<usize> {
        match self {
            Self::Nemo => Some(10),
            Self::GigaAm => Some(3),
            _ => None,
        }
    }
}
