//! From samples to energies in bands of frequencies.
//!
//! ```text
//!   frames ──> windowing ──> power_spectrum (fft) ──> mel         several frames, one in each lane
//!      '─────> single_frame: window ──> fft ────────> mel         one frame, its values in the lanes: the same bits
//! ```

pub(crate) mod bands;
pub(crate) mod fft;
pub(crate) mod frames;
pub(crate) mod lanes;
pub(crate) mod mel;
pub(crate) mod power_spectrum;
pub(crate) mod single_frame;
pub(crate) mod slaney;
pub(crate) mod window;
mod windowing;
pub(crate) mod workspace;
