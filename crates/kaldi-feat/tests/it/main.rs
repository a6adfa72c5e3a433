//! The integration tests of kaldi-feat, one program for all.

mod audio;
mod log_mel;
mod naive;
mod options;
mod pitch;
mod pitch_lags;
mod presets;
mod silence;
mod streams;
