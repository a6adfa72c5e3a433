//! Samples: their duration, and those that are no numbers.

use crate::Error;

/// Returns the duration in seconds of `samples` samples with a rate in Hz.
#[expect(clippy::cast_precision_loss, reason = "recordings have fewer than 2^53 samples")]
pub(super) fn seconds_of(samples: usize, samp_freq: f32) -> f64 {
    samples as f64 / f64::from(samp_freq)
}

/// Refuses samples that are not finite; `before` samples came before them.
pub(super) fn check_finite(samples: &[f32], before: usize) -> Result<(), Error> {
    match samples.iter().position(|sample| !sample.is_finite()) {
        Some(at) => {
            let (sample, value) = (before + at, samples[at]);
            Err(kaldera_audio::Error::NotFiniteSample { sample, channel: 0, value }.into())
        }
        None => Ok(()),
    }
}
