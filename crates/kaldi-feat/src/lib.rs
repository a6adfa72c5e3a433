//! Kaldi's features: the same numbers, several times faster.

#![forbid(unsafe_code)]

mod batch;
mod error;
mod extractor;
mod fbank;
mod fft;
mod frames;
mod mel;
mod mfcc;
pub mod options;
mod resample;
mod window;

pub use batch::FeatureBatch;
pub use error::Error;
pub use extractor::{Audio, Extractor, Kind, Workspace};
pub use fbank::{Fbank, FbankKind, FbankOptions};
pub use frames::Samples;
pub use mel::{MelBanks, MelBanksOptions, MelBin, inverse_mel_scale, mel_scale};
pub use mfcc::{Mfcc, MfccKind, MfccOptions};
pub use resample::LinearResample;
pub use window::{FrameExtractionOptions, WindowType};
