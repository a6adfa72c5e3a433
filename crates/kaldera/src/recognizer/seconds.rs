//! Duration of samples.

/// Returns the duration in seconds of `samples` samples with a rate in Hz.
#[expect(clippy::cast_precision_loss, reason = "recordings have fewer than 2^53 samples")]
pub(super) fn seconds_of(samples: usize, samp_freq: f32) -> f64 {
    samples as f64 / f64::from(samp_freq)
}
