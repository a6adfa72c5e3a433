//! Options under the names of the toolkits that have them as defaults, and of the models that were
//! trained with them.

use crate::front_end::options::{FeatureKind, FeatureOptions, FrontEndOptions};
use crate::front_end::samples::SampleOptions;
use crate::kinds::fbank::FbankOptions;
use crate::kinds::log_mel::LogMelOptions;
use crate::kinds::mfcc::MfccOptions;
use crate::kinds::plp::PlpOptions;
use crate::kinds::spectrogram::SpectrogramOptions;
use crate::options::{OptionError, OptionValue};
use crate::rows::normalize::Normalize;
use crate::spectrum::window::{FrameExtractionOptions, WindowType};

/// Defines the presets: names, their models, and the differences from Kaldi's defaults.
macro_rules! presets {
    ($($(#[$attribute:meta])* $variant:ident, $name:literal, $models:literal, $differences:literal;)+) => {
        /// A toolkit whose features are made with its defaults, or a model whose input features are
        /// made.
        ///
        /// | toolkit | kaldi | torchaudio | lhotse | whisper | librosa |
        /// |---|---|---|---|---|---|
        /// | full-scale sample | 32768 | 1 | 1 | 1 | 1 |
        /// | dither | 0 (its programs: 1, seeded here) | 0 | 0 | none | none |
        /// | window | Povey | Povey | Povey | Hann, periodic | Hann, periodic |
        /// | length of the window | 25 ms | 25 ms | 25 ms | 400 samples | 2048 samples |
        /// | from frame to frame | 10 ms | 10 ms | 10 ms | 160 samples | 512 samples |
        /// | preemphasis | 0.97 | 0.97 | 0.97 | none | none |
        /// | mean of the frame | subtracted | subtracted | subtracted | kept | kept |
        /// | frames centred | | | | yes | yes |
        /// | ends of the signal | whole frames | whole frames | mirrored | mirrored (1) | silence |
        /// | mel filters | 23 | 23 | 80 (MFCC: 23) | 80 or 128 (2) | 128 (2) |
        /// | lowest frequency | 20 Hz | 20 Hz | 20 Hz | | |
        /// | highest frequency (3) | half | half | half - 400 Hz | | |
        /// | logarithm | ln | ln | ln | log10 | decibels |
        /// | least energy in a filter | 1.19e-7 | 1.19e-7 | 1.19e-7 | 1e-10 | 1e-10 |
        /// | bound below the largest value | | | | 8 | 80 |
        /// | then | | | | (x + 4) / 4 | |
        /// | energy floor (`use_energy`) | 0 | 1 | 1e-10 | | |
        ///
        /// (1) Around the last sample. (2) Slaney's, with area 1. (3) Of the sample rate.
        ///
        /// - `zipformer`: rows of 80 values every 10 ms; streams. As `lhotse.Fbank`, and
        ///   kaldi-native-fbank with `snip_edges = false`, `high_freq = -400`.
        /// - `whisper-30s`: rows of 80 values every 10 ms; no stream. As transformers'
        ///   `WhisperFeatureExtractor`, `whisper.pad_or_trim`.
        /// - `whisper-large-v3`: the same with 128 filters.
        /// - `qwen3-asr`: rows of 128 values every 10 ms; no stream. As transformers'
        ///   `Qwen3ASRFeatureExtractor`: the same, padded to half a second.
        /// - `sensevoice`, `paraformer`: rows of 560 values every 60 ms; streams. As FunASR's
        ///   `WavFrontend`, without dither; [`GlobalCmvn`](crate::GlobalCmvn) comes from the model.
        /// - `nemo-80`, `nemo-128`: rows of 80 and 128 values every 10 ms; no stream. As NeMo's
        ///   `AudioToMelSpectrogramPreprocessor`, transformers' `ParakeetFeatureExtractor`
        ///   (Parakeet, Canary).
        /// - `gigaam-v2`, `gigaam-v3`: rows of 64 values every 10 ms; streams. As the
        ///   preprocessors of GigaAM's ONNX exports in PyPI's `onnx-asr`.
        /// - `dolphin`: rows of 80 values every 10 ms; streams. As ESPnet's `DefaultFrontend` with
        ///   the settings of Dolphin; [`GlobalCmvn`](crate::GlobalCmvn) comes from the model.
        /// - `medasr`: rows of 128 values every 10 ms; streams. As transformers'
        ///   `LasrFeatureExtractor`.
        /// - `gemma4`: rows of 128 values every 10 ms; streams. As transformers'
        ///   `Gemma4AudioFeatureExtractor`.
        /// - `wav2vec2`: a row of 1 value for each sample; no stream. As transformers'
        ///   `Wav2Vec2FeatureExtractor` (HuBERT and WavLM, too).
        /// - `moonshine`: the same without normalisation; streams.
        /// - `silero-vad`, `silero-vad-8k`: rows of 576 and 288 values every 32 ms; streams. As
        ///   silero's `OnnxWrapper`: 512 or 256 samples after the 64 or 32 samples before them.
        /// - `snfa`: rows of 80 values every 20 ms; streams. As `snfa.stft.mel_spectrogram`.
        ///
        /// Rows are the rows that an extractor's attention mask counts: none are added to make
        /// batches even, and no recording changes the rows of another one.
        ///
        /// A signal that is too short for a row gives none. Packages differ here: FunASR shortens
        /// its window, snfa and silero report an error. A single row that NeMo normalises is 0, as
        /// in NeMo (in transformers' `ParakeetFeatureExtractor` it is NaN).
        ///
        /// ```
        /// use kaldi_feat::{FbankOptions, FrontEnd, Preset};
        ///
        /// let lhotse = FbankOptions::preset(Preset::Lhotse).expect("lhotse has filterbanks");
        /// assert_eq!((lhotse.mel.num_bins, lhotse.frame.full_scale), (80, 1.0));
        /// println!("{}", Preset::Lhotse.differences());
        ///
        /// assert_eq!(FrontEnd::new(Preset::Nemo80.front_end())?.dim(), 80);
        /// # Ok::<(), kaldi_feat::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum Preset {
            $(
                $(#[$attribute])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant,
            )+
        }

        impl Preset {
            /// All presets.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name in lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the models that it is for; empty for a toolkit.
            pub fn models(self) -> &'static str {
                match self {
                    $(Self::$variant => $models,)+
                }
            }

            /// Describes the differences from Kaldi's defaults.
            pub fn differences(self) -> &'static str {
                match self {
                    $(Self::$variant => $differences,)+
                }
            }
        }
    };
}

presets! {
    /// Kaldi's programs and classes, without their dither. The default of all options.
    #[default]
    Kaldi, "kaldi", "", "none, but for the dither, 0 where its programs have 1: samples count as 16-bit integers, Povey's window, only whole frames";
    /// `torchaudio.compliance.kaldi`, given samples in [-1, 1] as `torchaudio.load` gives them.
    Torchaudio, "torchaudio", "",
        "samples count as numbers from -1 to 1 (so values are lower by 20.8 and meet the floor sooner), no dither, \
         energy floor 1";
    /// `lhotse.Fbank` and `lhotse.Mfcc`.
    Lhotse, "lhotse", "",
        "samples count as numbers from -1 to 1, no dither, ends mirrored so that frames depend on the shift alone, filters \
         up to 400 Hz below half the sample rate, 80 of them (MFCC: 23) with C0 rather than energy, energy floor 1e-10";
    /// `whisper.log_mel_spectrogram`.
    Whisper, "whisper", "",
        "another transform altogether: samples from -1 to 1, centred frames of 400 samples under a periodic Hann window, \
         no dither, no preemphasis, Slaney's filters, log10, at most 8 below the largest value, (x + 4) / 4";
    /// `librosa.power_to_db(librosa.feature.melspectrogram(y))`.
    Librosa, "librosa", "",
        "another transform altogether: samples from -1 to 1, centred frames of 2048 samples every 512 under a periodic \
         Hann window, no dither, no preemphasis, 128 of Slaney's filters, decibels, at most 80 below the largest value";
    /// Zipformers, and icefall's other models: 80 filters, as in [`Lhotse`](Self::Lhotse).
    #[doc(alias = "icefall")]
    Zipformer, "zipformer", "Zipformer and other models of icefall", "those of lhotse, whose 80 filters icefall's models take";
    /// Whisper up to large-v2: 80 filters, 30 s.
    #[doc(alias = "pad_or_trim")]
    Whisper30s, "whisper-30s", "Whisper up to large-v2", "those of whisper; recordings are cut, or filled up with silence, to 30 s";
    /// Whisper large-v3 and turbo: 128 filters, 30 s.
    WhisperLargeV3, "whisper-large-v3", "Whisper large-v3, turbo", "those of whisper-30s, with 128 filters";
    /// Qwen3-ASR: 128 filters, half a second or more.
    Qwen3Asr, "qwen3-asr", "Qwen3-ASR", "those of whisper, with 128 filters; what is shorter than half a second is filled up with silence";
    /// SenseVoice; its `am.mvn` is [`GlobalCmvn`](crate::GlobalCmvn).
    #[doc(alias("FunASR", "WavFrontend"))]
    SenseVoice, "sensevoice", "SenseVoice of FunASR",
        "80 filters, Hamming's window, no dither, 7 frames beside each other in a row and 6 from row to row, then the \
         normalisation of the model's am.mvn if it is given";
    /// Paraformer; its `am.mvn` is [`GlobalCmvn`](crate::GlobalCmvn).
    Paraformer, "paraformer", "Paraformer of FunASR", "those of sensevoice";
    /// NeMo's models with 80 filters: Parakeet-CTC and Parakeet-RNNT, Conformers.
    #[doc(alias("Parakeet", "FastConformer"))]
    Nemo80, "nemo-80", "NeMo's Parakeet-CTC, Parakeet-RNNT, FastConformer, Conformer",
        "another transform altogether: samples from -1 to 1, preemphasis of the whole signal, silence at its ends, centred \
         frames of 400 samples under Hann's window, 80 of Slaney's filters, ln(x + 2^-24), mean 0 and variance 1 of each \
         column over the recording";
    /// NeMo's models with 128 filters: Canary, Parakeet-TDT v2 and v3.
    #[doc(alias = "Canary")]
    Nemo128, "nemo-128", "NeMo's Canary, Parakeet-TDT v2 and v3", "those of nemo-80, with 128 filters";
    /// GigaAM v1 and v2.
    GigaAmV2, "gigaam-v2", "GigaAM v1, v2",
        "another transform altogether: samples from -1 to 1, centred frames of 400 samples under a periodic Hann window, \
         the signal mirrored at its ends, 64 of HTK's filters, ln of at least 1e-9";
    /// GigaAM v3 and GigaAM Multilingual.
    GigaAmV3, "gigaam-v3", "GigaAM v3, Multilingual",
        "the features of gigaam-v2 in whole frames of 320 samples; window and filters are rounded to bfloat16";
    /// Dolphin; its mean and deviation are [`GlobalCmvn`](crate::GlobalCmvn).
    #[doc(alias = "ESPnet")]
    Dolphin, "dolphin", "Dolphin",
        "another transform altogether: samples from -1 to 1, centred frames of 512 samples under a periodic Hann window of \
         400, the signal mirrored at its ends, 80 of Slaney's filters, ln of at least 1e-10, then the normalisation of the \
         model if it is given";
    /// MedASR.
    #[doc(alias("LASR", "LasrFeatureExtractor"))]
    MedAsr, "medasr", "MedASR",
        "another transform altogether: samples from -1 to 1, whole frames of 400 samples under Hann's window, 128 of Kaldi's \
         filters from 125 to 7500 Hz, ln of at least 1e-5";
    /// Gemma 4 (E2B, E4B).
    #[doc(alias("USM", "Gemma4AudioFeatureExtractor"))]
    Gemma4, "gemma4", "Gemma 4 (E2B, E4B)",
        "another transform altogether: the first 30 s, samples from -1 to 1, silence before the signal, centred frames of \
         320 samples under a periodic Hann window, 128 of HTK's filters over magnitudes, ln(x + 0.001)";
    /// wav2vec 2.0, HuBERT, WavLM, as most of them were trained.
    #[doc(alias("HuBERT", "WavLM"))]
    Wav2Vec2, "wav2vec2", "wav2vec 2.0, HuBERT, WavLM", "samples from -1 to 1 themselves, with mean 0 and variance 1 over the recording";
    /// Moonshine.
    Moonshine, "moonshine", "Moonshine", "samples from -1 to 1 themselves";
    /// Silero's VAD at 16 kHz.
    SileroVad, "silero-vad", "Silero VAD", "samples from -1 to 1 themselves: a row has 512, after the 64 before them";
    /// Silero's VAD at 8 kHz.
    SileroVad8k, "silero-vad-8k", "Silero VAD", "at 8 kHz, samples from -1 to 1 themselves: a row has 256, after the 32 before them";
    /// snfa's aligner.
    Snfa, "snfa", "snfa's aligner",
        "another transform altogether: samples from -1 to 1, whole frames of 1024 samples every 320 under Hann's window, 80 \
         of HTK's filters in whole frequencies of the Fourier transform, ln(x + 1e-7)";
}

impl Preset {
    /// Returns the presets for a model of this name, which is looked up among
    /// [`models`](Self::models): the presets that share most words with it.
    ///
    /// ```
    /// use kaldi_feat::Preset;
    ///
    /// assert_eq!(Preset::for_model("nvidia/parakeet-tdt-0.6b-v2"), [Preset::Nemo128]);
    /// assert_eq!(Preset::for_model("matlab"), []);
    /// ```
    pub fn for_model(name: &str) -> Vec<Self> {
        let words = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_ascii_lowercase).collect()
        };
        let asked = words(name);
        let shared = |preset: &Self| {
            let own = words(preset.models());
            let shared = asked.iter().filter(|word| own.contains(word));
            // Versions by themselves name no model.
            if shared.clone().any(|word| word.len() > 3) { shared.count() } else { 0 }
        };
        let most = Self::ALL.iter().map(shared).max().filter(|&most| most > 0);
        Self::ALL.into_iter().filter(|preset| Some(shared(preset)) == most).collect()
    }

    /// Returns the kinds of features that it has, its own kind first.
    pub fn kinds(self) -> &'static [FeatureKind] {
        use FeatureKind::{Fbank, LogMel, Mfcc, Plp, Samples, Spectrogram};
        match self {
            Self::Kaldi => &[Fbank, Mfcc, Plp, Spectrogram],
            Self::Torchaudio | Self::Lhotse => &[Fbank, Mfcc],
            Self::Zipformer | Self::SenseVoice | Self::Paraformer => &[Fbank],
            Self::Wav2Vec2 | Self::Moonshine | Self::SileroVad | Self::SileroVad8k => &[Samples],
            Self::Whisper
            | Self::Librosa
            | Self::Whisper30s
            | Self::WhisperLargeV3
            | Self::Qwen3Asr
            | Self::Nemo80
            | Self::Nemo128
            | Self::GigaAmV2
            | Self::GigaAmV3
            | Self::Dolphin
            | Self::MedAsr
            | Self::Gemma4
            | Self::Snfa => &[LogMel],
        }
    }

    /// Returns its whole front end: features, with the steps before and after them.
    pub fn front_end(self) -> FrontEndOptions {
        let kind = self.kinds().first().copied().unwrap_or_default();
        self.front_end_of(kind).unwrap_or_default()
    }

    /// Returns its front end with features of a kind; `None` if it does not have this kind.
    pub fn front_end_of(self, kind: FeatureKind) -> Option<FrontEndOptions> {
        if !self.kinds().contains(&kind) {
            return None;
        }
        let features = match kind {
            FeatureKind::Fbank => FeatureOptions::Fbank(self.fbank()?),
            FeatureKind::Mfcc => FeatureOptions::Mfcc(self.mfcc()?),
            FeatureKind::Plp => FeatureOptions::Plp(PlpOptions::default()),
            FeatureKind::Spectrogram => FeatureOptions::Spectrogram(SpectrogramOptions::default()),
            FeatureKind::LogMel => FeatureOptions::LogMel(self.log_mel()?),
            FeatureKind::Samples => FeatureOptions::Samples(self.samples()?),
        };
        let alone = FrontEndOptions::from_features(features);
        Some(match self {
            Self::SenseVoice | Self::Paraformer => alone.with_lfr_m(7).with_lfr_n(6),
            Self::Nemo80 | Self::Nemo128 => alone.with_preemphasis(0.97).with_normalize(Normalize::PerFeature),
            Self::Wav2Vec2 => alone.with_normalize(Normalize::Samples),
            _ => alone,
        })
    }

    /// Returns the options that the filterbanks and the MFCCs of a toolkit after Kaldi have in
    /// common; `None` for another transform.
    fn frame_options(self) -> Option<FrameExtractionOptions> {
        let kaldi = FrameExtractionOptions::default();
        match self {
            Self::Kaldi => Some(kaldi),
            Self::Torchaudio => Some(FrameExtractionOptions { full_scale: 1.0, ..kaldi }),
            Self::Lhotse | Self::Zipformer => {
                Some(FrameExtractionOptions { full_scale: 1.0, snip_edges: false, ..kaldi })
            }
            Self::SenseVoice | Self::Paraformer => {
                Some(FrameExtractionOptions { window_type: WindowType::Hamming, ..kaldi })
            }
            _ => None,
        }
    }

    fn energy_floor(self) -> f32 {
        match self {
            Self::Torchaudio => 1.0,
            Self::Lhotse | Self::Zipformer => 1e-10,
            _ => 0.0,
        }
    }

    fn fbank(self) -> Option<FbankOptions> {
        let frame = self.frame_options()?;
        let mut options = FbankOptions { frame, energy_floor: self.energy_floor(), ..Default::default() };
        match self {
            Self::Lhotse | Self::Zipformer => (options.mel.num_bins, options.mel.high_freq) = (80, -400.0),
            Self::SenseVoice | Self::Paraformer => options.mel.num_bins = 80,
            _ => {}
        }
        Some(options)
    }

    fn mfcc(self) -> Option<MfccOptions> {
        let frame = self.frame_options()?;
        let mut options = MfccOptions { frame, energy_floor: self.energy_floor(), ..Default::default() };
        if self != Self::Kaldi {
            options.use_energy = false;
        }
        if self == Self::Lhotse {
            options.mel.high_freq = -400.0;
        }
        Some(options)
    }

    fn log_mel(self) -> Option<LogMelOptions> {
        Some(match self {
            Self::Whisper => LogMelOptions::whisper(80),
            Self::Librosa => LogMelOptions::librosa(16000.0),
            Self::Whisper30s => LogMelOptions::whisper(80).of_30_seconds(),
            Self::WhisperLargeV3 => LogMelOptions::whisper(128).of_30_seconds(),
            Self::Qwen3Asr => LogMelOptions::qwen3_asr(),
            Self::Nemo80 => LogMelOptions::nemo(80),
            Self::Nemo128 => LogMelOptions::nemo(128),
            Self::GigaAmV2 => LogMelOptions::gigaam_v2(),
            Self::GigaAmV3 => LogMelOptions::gigaam_v3(),
            Self::Dolphin => LogMelOptions::dolphin(),
            Self::MedAsr => LogMelOptions::medasr(),
            Self::Gemma4 => LogMelOptions::gemma4(),
            Self::Snfa => LogMelOptions::snfa(),
            _ => return None,
        })
    }

    fn samples(self) -> Option<SampleOptions> {
        let samples = SampleOptions::default();
        match self {
            Self::Wav2Vec2 | Self::Moonshine => Some(samples),
            Self::SileroVad => Some(samples.with_frame_samples(512).with_context_samples(64)),
            Self::SileroVad8k => {
                Some(samples.with_sample_frequency(8000.0).with_frame_samples(256).with_context_samples(32))
            }
            _ => None,
        }
    }

    /// Returns its features of a kind, if its front end has no other steps.
    fn features_alone(self, kind: FeatureKind) -> Option<FeatureOptions> {
        self.front_end_of(kind).filter(FrontEndOptions::is_features_alone).map(|options| options.features)
    }
}

impl OptionValue for Preset {
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == text);
        *self = found.ok_or_else(|| {
            let for_model = Self::for_model(text);
            let hints = for_model.iter().map(|preset| format!("; {} is for {}", preset.name(), preset.models()));
            let names = Self::ALL.map(Self::name).join(", ");
            OptionError::new(text, format!("one of {names}{}", hints.collect::<String>()))
        })?;
        Ok(())
    }
    fn show(&self) -> String {
        self.name().to_owned()
    }
    fn type_name(&self) -> &'static str {
        "string"
    }
}

impl FbankOptions {
    /// Returns the defaults of a toolkit or model; `None` if its features are of another kind, or
    /// have further steps: [`Preset::front_end`] has them all.
    pub fn preset(preset: Preset) -> Option<Self> {
        match preset.features_alone(FeatureKind::Fbank)? {
            FeatureOptions::Fbank(options) => Some(options),
            _ => None,
        }
    }
}

impl MfccOptions {
    /// Returns the defaults of a toolkit; `None` if they are not Kaldi's kind of MFCCs.
    pub fn preset(preset: Preset) -> Option<Self> {
        match preset.features_alone(FeatureKind::Mfcc)? {
            FeatureOptions::Mfcc(options) => Some(options),
            _ => None,
        }
    }
}

impl LogMelOptions {
    /// Returns the defaults of a toolkit or model, for audio of 16 kHz; `None` if its features are
    /// of another kind, or have further steps: [`Preset::front_end`] has them all.
    pub fn preset(preset: Preset) -> Option<Self> {
        match preset.features_alone(FeatureKind::LogMel)? {
            FeatureOptions::LogMel(options) => Some(options),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Audio, Error, Fbank, FrontEnd};

    #[test]
    fn each_has_a_name_a_front_end_and_says_what_differs() {
        for preset in Preset::ALL {
            assert!(!preset.differences().is_empty());
            let mut read = Preset::default();
            read.set(preset.name()).unwrap();
            assert_eq!(read, preset);
            for &kind in preset.kinds() {
                let options = preset.front_end_of(kind).unwrap();
                assert_eq!(options.features.kind(), kind);
                FrontEnd::new(options).unwrap();
            }
            assert_eq!(preset.front_end().features.kind(), preset.kinds()[0]);
        }
        assert!(Preset::Kaldi.set("matlab").unwrap_err().to_string().ends_with("silero-vad-8k, snfa"));
        let error = Preset::Kaldi.set("Parakeet_CTC").unwrap_err().to_string();
        assert!(
            error.contains("'Parakeet_CTC' is not one of kaldi, ") && error.contains("; nemo-80 is for NeMo's"),
            "{error}"
        );
        assert_eq!(FbankOptions::preset(Preset::Kaldi), Some(FbankOptions::default()));
        assert_eq!(FbankOptions::preset(Preset::SenseVoice), None);
        assert_eq!(LogMelOptions::preset(Preset::Nemo80), None);
    }

    #[test]
    fn models_are_found_by_words_of_their_names() {
        for (model, presets) in [
            ("parakeet", &[Preset::Nemo80, Preset::Nemo128][..]),
            ("stt_en_fastconformer_ctc_large", &[Preset::Nemo80]),
            ("canary-1b-v2", &[Preset::Nemo128]),
            ("openai/whisper-large-v2", &[Preset::Whisper30s]),
            ("whisper-large-v3-turbo", &[Preset::WhisperLargeV3]),
            ("icefall", &[Preset::Zipformer]),
            ("facebook/hubert-base-ls960", &[Preset::Wav2Vec2]),
            ("google/gemma-4-E2B-it", &[Preset::Gemma4]),
            ("silero", &[Preset::SileroVad, Preset::SileroVad8k]),
            ("Qwen3", &[Preset::Qwen3Asr]),
            ("v3", &[]),
            ("and of", &[]),
            ("", &[]),
        ] {
            assert_eq!(Preset::for_model(model), presets, "{model}");
        }
    }

    #[test]
    fn streams_give_what_the_whole_gives_or_say_why_there_are_none() {
        let samples: Vec<i16> = (0..40_000_i64).map(|i| (i * i * 7 % 20_011 - 10_005) as i16).collect();
        for preset in Preset::ALL {
            let mut options = preset.front_end();
            options.features.set_allow_resampling(true);
            let front_end = FrontEnd::new(options).unwrap();
            for samp_freq in [16_000.0, 11_025.0] {
                let audio = Audio::new(&samples, samp_freq).with_key("a");
                let whole = front_end.compute(&audio).unwrap();
                assert_eq!(whole.num_rows(), front_end.num_rows(&audio).unwrap(), "{preset:?}");
                assert!(in_chunks(&front_end, &samples, samp_freq, 777) == whole.data(), "{preset:?} {samp_freq}");
                let refused = front_end.stream("a", samp_freq).map(|_| ());
                assert_eq!(matches!(refused, Err(Error::NeedsUtterance { .. })), front_end.needs_utterance());
            }
            let no_stream = ["whisper", "librosa", "nemo", "qwen3", "wav2vec2"];
            let none = no_stream.iter().any(|name| preset.name().starts_with(name));
            assert_eq!(front_end.needs_utterance(), none, "{preset:?}");
        }
    }

    /// Returns the rows of a stream.
    fn in_chunks(front_end: &FrontEnd, samples: &[i16], samp_freq: f32, chunk: usize) -> Vec<f32> {
        let mut stream = front_end.unfinished_stream("a", samp_freq).unwrap();
        let mut rows = vec![];
        for chunk in samples.chunks(chunk) {
            stream.accept(chunk).unwrap();
            stream.take_rows(&mut rows);
        }
        stream.finish();
        stream.take_rows(&mut rows);
        assert_eq!((stream.take_rows(&mut rows), stream.dim()), (0, front_end.dim()));
        assert_eq!(stream.accept(samples), Err(Error::AfterEnd));
        front_end.finish_rows(&mut rows);
        rows
    }

    #[test]
    fn streams_do_not_depend_on_the_length_of_chunks() {
        let samples: Vec<i16> = (0..4200_i64).map(|i| (i * i * 7 % 20_011 - 10_005) as i16).collect();
        // 30 s take long without optimisation.
        let short = |preset: &Preset| !["whisper-30s", "whisper-large-v3"].contains(&preset.name());
        for preset in Preset::ALL.into_iter().filter(short) {
            let front_end = FrontEnd::new(preset.front_end()).unwrap();
            let samp_freq = front_end.samp_freq();
            let cases = [(4200, &[1, 160, 4000, 4200][..]), (399, &[1, 398]), (321, &[320]), (1, &[1]), (0, &[1])];
            for (len, chunks) in cases {
                let samples = &samples[..len];
                let whole = front_end.compute(&Audio::new(samples, samp_freq).with_key("a")).unwrap();
                for &chunk in chunks {
                    let rows = in_chunks(&front_end, samples, samp_freq, chunk);
                    assert!(rows == whole.data(), "{preset:?}: {len} samples by {chunk}");
                }
            }
        }
    }

    #[test]
    fn batches_are_their_utterances_one_below_the_other() {
        let samples: Vec<i16> = (0..20_000_i64).map(|i| (i * i * 7 % 20_011 - 10_005) as i16).collect();
        for preset in [Preset::SenseVoice, Preset::Nemo80, Preset::SileroVad, Preset::Gemma4] {
            let front_end = FrontEnd::new(preset.front_end()).unwrap();
            let audio = [20_000, 0, 100, 7000].map(|len| Audio::new(&samples[..len], 16_000.0));
            let batch = front_end.compute_batch(&audio).unwrap();
            for (i, audio) in audio.iter().enumerate() {
                let own = front_end.compute(audio).unwrap();
                assert_eq!(batch.utterance(i).num_rows(), own.num_rows(), "{preset:?} {i}");
                assert!(batch.utterance(i).rows().flatten().eq(own.data()), "{preset:?} {i}");
            }
            assert_eq!(front_end.compute_batch(&[]).unwrap().row_splits, [0]);
        }
    }

    #[test]
    fn audio_shorter_than_a_window_gives_finite_rows_or_none() {
        for preset in Preset::ALL {
            let front_end = FrontEnd::new(preset.front_end()).unwrap();
            for len in [0_usize, 1, 2, 159, 160, 161, 320, 321, 399, 400, 401, 1024] {
                let samples: Vec<i16> = (0..len).map(|i| (i * 100 % 3000) as i16).collect();
                let rows = front_end.compute(&Audio::new(&samples, front_end.samp_freq())).unwrap();
                assert!(rows.data().iter().all(|x| x.is_finite()), "{preset:?} {len}");
            }
        }
    }

    #[test]
    fn options_that_contradict_each_other_are_named() {
        let gemma = LogMelOptions::gemma4;
        for (name, options) in [
            ("semicausal", gemma().with_reflect(true)),
            ("semicausal", gemma().with_last_frame(true)),
            ("semicausal", gemma().with_snip_edges(true)),
            ("snip_edges", LogMelOptions::whisper(80).with_snip_edges(true)),
            ("max_samples", gemma().with_pad_to(480_000)),
            ("max_samples", gemma().with_max_samples(-1)),
            ("min_samples", gemma().with_min_samples(480_001)),
            ("min_samples", LogMelOptions::qwen3_asr().with_pad_to(480_000)),
            ("min_samples", gemma().with_min_samples(-1)),
            ("log_guard", gemma().with_log_guard(f32::NAN)),
        ] {
            let options = FrontEndOptions::from_features(FeatureOptions::LogMel(options));
            let Err(Error::BadOption { field, .. }) = FrontEnd::new(options) else { panic!("{name} was taken") };
            assert_eq!(field, name);
        }
        let sense_voice = || Preset::SenseVoice.front_end();
        for (name, options) in [
            ("lfr_m", sense_voice().with_lfr_m(0)),
            ("lfr_n", sense_voice().with_lfr_n(-6)),
            ("preemphasis", sense_voice().with_preemphasis(1.5)),
        ] {
            let Err(Error::BadOption { field, .. }) = FrontEnd::new(options) else { panic!("{name} was taken") };
            assert_eq!(field, name);
        }
        let cmvn = crate::GlobalCmvn::new(vec![0.0; 80], vec![1.0; 80]).unwrap();
        let refused = FrontEnd::new(sense_voice()).unwrap().with_cmvn(cmvn).map(|_| ());
        assert!(matches!(refused, Err(Error::DimMismatch { expected: 560, found: 80, .. })));
    }

    #[test]
    fn the_scale_moves_logarithms_by_a_constant() {
        let rows = |full_scale| {
            let mut options = FbankOptions { use_energy: true, ..Default::default() };
            options.frame.dither = 0.0;
            options.frame.full_scale = full_scale;
            let samples: Vec<i16> = (0..2000).map(|i| ((i * i * 7) % 20011) as i16).collect();
            Fbank::new(options).unwrap().compute(&Audio::new(&samples, 16000.0)).unwrap()
        };
        for (large, small) in rows(32768.0).data().iter().zip(rows(1.0).data()) {
            assert!((large - small - 30.0 * std::f32::consts::LN_2).abs() < 1e-4, "{large} {small}");
        }
    }
}
