//! The sample rate of a model, and the warning about audio of another one.

use std::sync::atomic::{AtomicBool, Ordering};

/// The sample rate that a model was trained for.
#[derive(Debug)]
pub(super) struct ModelRate {
    samp_freq: f32,
    told: AtomicBool,
}

impl ModelRate {
    /// Creates a rate in Hz.
    pub(super) fn new(samp_freq: f32) -> Self {
        Self { samp_freq, told: AtomicBool::new(false) }
    }

    /// Returns the rate in Hz.
    pub(super) fn samp_freq(&self) -> f32 {
        self.samp_freq
    }

    /// Warns once that audio of another rate is resampled.
    pub(super) fn tell_resampling(&self, found: f32) {
        let expected = self.samp_freq;
        if expected != found && !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!("audio of {found} Hz is resampled to the model's {expected} Hz");
        }
    }
}
