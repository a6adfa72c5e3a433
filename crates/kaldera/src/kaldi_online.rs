//! Kaldi's online folders: configuration files, model files, and the rows of features on the way to
//! i-vectors.

pub mod config;
mod decoder_model;
mod decoding_config;
mod endpoint_options;
pub mod files;
mod folder;
pub mod ivector_config;
pub mod ivector_rows;
mod json;
mod online_model;
mod pitched_rows;
mod recognizer;
mod rescoring;
mod results;
mod speaker_model;
mod spoken;

pub use config::read_config;
pub use decoder_model::{DecoderModel, UtteranceDecoder, ids_of_phones, transition_labels};
pub use decoding_config::DecodingConfig;
pub use endpoint_options::register_endpoint_rules;
pub use files::{read_model, write_model};
pub use folder::{Layout, OnlineFolder, Part};
pub use ivector_config::{IvectorConfig, read_cmvn_options};
pub use ivector_rows::{IvectorFrontEnd, IvectorSpeaker, IvectorStream};
pub use json::Json;
pub use online_model::{OnlineModel, OnlineModelOptions};
pub use pitched_rows::PitchedRows;
pub use recognizer::OnlineRecognizer;
pub use results::{Alternative, TimedWord, alternatives, best_words};
pub use speaker_model::{SpeakerModel, SpeakerVector};
pub use spoken::{OnlineResult, SpokenAlternative, SpokenWord};
