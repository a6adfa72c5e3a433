//! The integration tests of kaldi-feat, one program for all.

mod log_mel;
mod naive;
mod pitch;
mod pitch_lags;
mod streams;
