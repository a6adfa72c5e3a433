//! From samples to energies in bands of frequencies.
//!
//! ```text
//!   frames ──> windowing ──> power_spectrum (fft) ──> mel         a frame in each lane
//! ```

pub(crate) mod bands;
pub(crate) mod fft;
pub(crate) mod frames;
pub(crate) mod mel;
pub(crate) mod power_spectrum;
pub(crate) mod slaney;
mod split_radix;
pub(crate) mod window;
mod windowing;
pub(crate) mod workspace;
