//! Kaldi's pitch: how high a voice speaks and how sure it is that one does, for every frame, and features made of that.
//!
//! ```text
//!  samples ──> 4 kHz ──> frames ──> correlation at whole lags ──> at 417 lags ──> search for ──> NCCF, pitch
//!              resample             (of 8 to 82 samples)          (50 to 400 Hz)  the path       process ──> features
//! ```

mod c_random;
mod extractor;
mod grid;
mod history;
mod interpolate;
mod nccf;
mod online_process;
mod options;
mod process;
mod search;
mod signal;
mod stream;
mod viterbi;

pub use extractor::{PitchExtractor, PitchWorkspace, compute_kaldi_pitch};
pub use interpolate::{PitchInterpolator, PitchInterpolatorOptions, interpolate_pitch_linearly};
pub use online_process::OnlineProcessPitch;
pub use options::{PitchExtractionOptions, ProcessPitchOptions};
pub use process::{PitchProcessor, ProcessPitchStream, process_pitch};
pub use stream::OnlinePitch;
