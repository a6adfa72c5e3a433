//! Kaldi's online folders: configuration files, model files, and the rows of features on the way to
//! i-vectors.

pub mod config;
pub mod files;
pub mod ivector_config;
pub mod ivector_rows;

pub use config::read_config;
pub use files::{read_model, write_model};
pub use ivector_config::IvectorConfig;
pub use ivector_rows::{IvectorFrontEnd, IvectorSpeaker, IvectorStream};
