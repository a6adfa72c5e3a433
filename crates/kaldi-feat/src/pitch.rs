//! Kaldi's pitch: for every frame the pitch of the voice and the certainty of voicing, and features
//! made of these.
//!
//! ```text
//!  samples ──> 4 kHz ──> frames ──> correlation ─────> at 417 lags ──> search for ──> NCCF, pitch
//!              resample             at whole lags      (50 to 400 Hz)  the path
//!                                   (of 8 to 82
//!                                   samples)
//!  NCCF, pitch ──> process ──> features
//! ```

mod c_random;
pub(crate) mod extractor;
pub(crate) mod frame_features;
mod grid;
mod history;
pub(crate) mod interpolate;
mod nccf;
pub(crate) mod online_process;
pub(crate) mod options;
mod plan;
pub(crate) mod process;
mod search;
mod signal;
pub(crate) mod stream;
mod viterbi;
