//! The single-frame path, for streams whose rows cannot wait for other frames.

pub(crate) mod fft;
pub(crate) mod mel;
mod window;
