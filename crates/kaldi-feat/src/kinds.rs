//! The kinds of features, each computed from a frame's spectrum.

mod energy;
pub(crate) mod fbank;
pub(crate) mod lifter;
pub(crate) mod log_mel;
pub(crate) mod mfcc;
pub(crate) mod plp;
mod products;
pub(crate) mod spectrogram;
