//! The options of decoding in `conf/model.conf`.

use fsa::incremental::IncrementalOptions;
use kaldera_decoder::graph::EndpointRules;
use kaldi_feat::options::{OptionError, OptionSet, OptionValue, Registry};

use crate::error::Error;
use crate::kaldi_online::config::read_config;
use crate::kaldi_online::endpoint_options::register_endpoint_rules;
use crate::kaldi_online::folder::Part;

/// The options of the search, of endpoints and of the network of an online model, under Kaldi's
/// names: `conf/model.conf` of Vosk, `conf/online.conf` of Kaldi.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[doc(alias = "OnlineNnet3DecodingConfig")]
pub struct DecodingConfig {
    /// The search.
    pub search: IncrementalOptions,
    /// Factor of the network's scores.
    pub acoustic_scale: f32,
    /// Number of frames of features for a row of the network's output.
    pub frame_subsampling_factor: usize,
    /// Number of frames of features that the network takes at once.
    pub frames_per_chunk: usize,
    /// Number of frames of left context in addition to the network's own, at the start.
    pub extra_left_context_initial: usize,
    /// Phones that are silence, for endpoints and for the weights of i-vectors.
    pub silence_phones: Vec<i32>,
    /// Rules by which an utterance has ended.
    pub endpoints: EndpointRules,
    /// Kind of the features, `mfcc` or `fbank`; `None` if the files of the folder say it.
    pub feature_type: Option<String>,
    /// Appends pitch to the features. Vosk's folders have `pitch.conf` instead.
    pub add_pitch: bool,
    /// Parts of the folder that the configuration names, with these names.
    pub named: Vec<(Part, String)>,
}

impl Default for DecodingConfig {
    fn default() -> Self {
        Self {
            search: IncrementalOptions::default(),
            acoustic_scale: 0.1,
            frame_subsampling_factor: 1,
            frames_per_chunk: 24,
            extra_left_context_initial: 0,
            silence_phones: Vec::new(),
            endpoints: EndpointRules::kaldi(),
            feature_type: None,
            add_pitch: false,
            named: Vec::new(),
        }
    }
}

impl DecodingConfig {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// As [`read_config`]; [`Error::Option`] for silence phones that are no numbers, and for
    /// options that change the kind of determinization.
    pub fn read(rxfilename: &str) -> Result<Self, Error> {
        let mut options = Options::new(Self::default());
        read_config(rxfilename, &mut options)?;
        options.finish()
    }

    /// Returns the options of Vosk's older models, which have no `model.conf`.
    pub fn vosk_v1() -> Self {
        let search = IncrementalOptions::default().with_max_active(7000).with_beam(13.0).with_lattice_beam(6.0);
        let mut config = Self { search, acoustic_scale: 1.0, frame_subsampling_factor: 3, ..Self::default() };
        config.silence_phones = (1..=10).collect();
        for (rule, silence) in config.endpoints.rules[1..].iter_mut().zip([0.5, 1.0, 2.0]) {
            rule.min_trailing_silence = silence;
        }
        config
    }
}

/// An option that is read and has no effect here.
#[derive(Default)]
struct Unused(String);

impl OptionValue for Unused {
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        text.clone_into(&mut self.0);
        Ok(())
    }

    fn show(&self) -> String {
        self.0.clone()
    }

    fn type_name(&self) -> &'static str {
        "string"
    }

    fn is_bool(&self) -> bool {
        true
    }
}

/// Options that name parts of the folder.
const NAMED: [(&str, Part); 6] = [
    ("mfcc-config", Part::MfccConfig),
    ("fbank-config", Part::FbankConfig),
    ("online-pitch-config", Part::PitchConfig),
    ("cmvn-config", Part::CmvnConfig),
    ("global-cmvn-stats", Part::GlobalCmvn),
    ("ivector-extraction-config", Part::IvectorConfig),
];

/// Names of options that speed Kaldi's own computation up or print something, and of its limits of
/// memory.
const WITHOUT_EFFECT: [&str; 13] = [
    "hash-ratio",
    "delta",
    "max-mem",
    "debug-computation",
    "print-args",
    "verbose",
    "optimization.optimize",
    "optimization.memory-compression-level",
    "optimization.max-deriv-time",
    "optimization.min-deriv-time",
    "computation.debug",
    "computation.verbose",
    "extra-right-context",
];

struct Options {
    config: DecodingConfig,
    silence_phones: String,
    phone_determinize: bool,
    word_determinize: bool,
    minimize: bool,
    feature_type: String,
    named: [String; NAMED.len()],
    unused: [Unused; WITHOUT_EFFECT.len()],
}

impl Options {
    fn new(config: DecodingConfig) -> Self {
        Self {
            config,
            silence_phones: String::new(),
            phone_determinize: true,
            word_determinize: true,
            minimize: false,
            feature_type: String::new(),
            named: Default::default(),
            unused: Default::default(),
        }
    }

    fn finish(self) -> Result<DecodingConfig, Error> {
        let Self { mut config, silence_phones, .. } = self;
        for (name, value, expected) in [
            ("--phone-determinize", self.phone_determinize, true),
            ("--word-determinize", self.word_determinize, true),
            ("--minimize", self.minimize, false),
        ] {
            if value != expected {
                let only = format!("{expected}: {name} has no other value with incremental determinization");
                return Err(OptionError::new(&value.to_string(), only).into());
            }
        }
        config.feature_type = match &*self.feature_type {
            "" => None,
            "mfcc" | "fbank" => Some(self.feature_type),
            other => return Err(OptionError::new(other, "mfcc or fbank").into()),
        };
        let named = NAMED.into_iter().zip(self.named).map(|((_, part), name)| (part, name));
        config.named = named.filter(|(_, name)| !name.is_empty()).collect();
        for phone in silence_phones.split(':').filter(|phone| !phone.is_empty()) {
            let number = phone.trim().parse();
            config.silence_phones.push(number.map_err(|_| OptionError::new(phone, "the number of a phone"))?);
        }
        if config.frame_subsampling_factor == 0 || config.frames_per_chunk == 0 {
            return Err(OptionError::new("0", "a number of frames, 1 or more").into());
        }
        Ok(config)
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        let DecodingConfig {
            search,
            acoustic_scale,
            frame_subsampling_factor,
            frames_per_chunk,
            extra_left_context_initial,
            silence_phones: _,
            endpoints,
            feature_type: _,
            add_pitch,
            named: _,
        } = &mut self.config;
        registry.add("beam", &mut search.beam, "Decoding beam");
        registry.add("max-active", &mut search.max_active, "Maximum number of active states of a frame");
        registry.add("min-active", &mut search.min_active, "Minimum number of active states of a frame");
        registry.add("lattice-beam", &mut search.lattice_beam, "Beam of the lattice");
        registry.add("prune-interval", &mut search.prune_interval, "Frames from one pruning of tokens to the next");
        registry.add("beam-delta", &mut search.beam_delta, "Increment of the beam that numbers of states imply");
        let doc = "Maximum number of frames before they are determinized";
        registry.add("determinize-max-delay", &mut search.determinize_max_delay, doc);
        let doc = "Minimum number of frames that are determinized at once";
        registry.add("determinize-min-chunk-size", &mut search.determinize_min_chunk_size, doc);
        let doc = "Maximum number of tokens at the end of frames that are determinized";
        registry.add("determinize-max-active", &mut search.determinize_max_active, doc);
        registry.add("phone-determinize", &mut self.phone_determinize, "Must be true");
        registry.add("word-determinize", &mut self.word_determinize, "Must be true");
        registry.add("minimize", &mut self.minimize, "Must be false");
        registry.add("feature-type", &mut self.feature_type, "Kind of the features: mfcc or fbank");
        registry.add("add-pitch", add_pitch, "Append pitch to the features");
        registry.add("acoustic-scale", acoustic_scale, "Factor of log-likelihoods");
        let doc = "Frames of features for a row of the network's output";
        registry.add("frame-subsampling-factor", frame_subsampling_factor, doc);
        registry.add("frames-per-chunk", frames_per_chunk, "Frames that the network takes at once");
        let doc = "Left context in addition to the network's own, at the start";
        registry.add("extra-left-context-initial", extra_left_context_initial, doc);
        registry.add("endpoint.silence-phones", &mut self.silence_phones, "Phones of silence, such as 1:2:3");
        register_endpoint_rules(endpoints, registry);
        for ((name, part), value) in NAMED.into_iter().zip(&mut self.named) {
            registry.add(name, value, part.purpose());
        }
        for (name, value) in WITHOUT_EFFECT.into_iter().zip(&mut self.unused) {
            registry.add(name, value, "No effect here");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DecodingConfig, Error> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("model.conf");
        std::fs::write(&file, text).unwrap();
        DecodingConfig::read(file.to_str().unwrap())
    }

    #[test]
    fn options_of_a_model_are_read() {
        let config = read(
            "--min-active=200\n--max-active=3000\n--beam=10.0\n--lattice-beam=2.0\n--acoustic-scale=1.0\n\
             --frame-subsampling-factor=3\n--endpoint.silence-phones=1:2:10\n--hash-ratio=2\n\
             --endpoint.rule2.min-trailing-silence=0.4\n--endpoint.rule5.must-contain-nonsilence=true\n",
        )
        .unwrap();
        let search = IncrementalOptions::default().with_max_active(3000).with_beam(10.0).with_lattice_beam(2.0);
        assert_eq!(config.search, search);
        assert_eq!((config.acoustic_scale, config.frame_subsampling_factor), (1.0, 3));
        assert_eq!(config.silence_phones, [1, 2, 10]);
        let mut rules = EndpointRules::kaldi();
        rules.rules[1].min_trailing_silence = 0.4;
        rules.rules[4].must_contain_nonsilence = true;
        assert_eq!(config.endpoints, rules);
        assert_eq!(read("").unwrap(), DecodingConfig::default());
        assert!(read("--add-pitch").unwrap().add_pitch);
        let files = "--feature-type=fbank\n--fbank-config=a/conf/fbank.conf\n--ivector-extraction-config=a/b.conf\n";
        let read = read(files).unwrap();
        assert_eq!(read.feature_type.as_deref(), Some("fbank"));
        let named = [(Part::FbankConfig, "a/conf/fbank.conf"), (Part::IvectorConfig, "a/b.conf")];
        assert!(read.named.iter().map(|(part, name)| (*part, &**name)).eq(named));
    }

    #[test]
    fn options_without_sense_are_refused() {
        for text in [
            "--minimize=true",
            "--endpoint.silence-phones=a",
            "--frame-subsampling-factor=0",
            "--beem=3",
            "--feature-type=plp",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
