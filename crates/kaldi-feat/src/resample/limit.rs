//! Limits on the number of samples after resampling.

use crate::error::Error;

/// Number of samples that resampling may make of any signal: 1 GiB, four and a half hours at 16
/// kHz.
const FREE_SAMPLES: u64 = 1 << 28;

/// Number of samples that it may make of one sample, beyond that: from 8 to 96 kHz it makes 12.
const SAMPLES_PER_SAMPLE: u64 = 16;

/// Refuses `resampled` samples if the rate in the header of `samples` makes far too many of them:
/// more than 2²⁸, and more than 16 of each.
///
/// ```
/// use kaldi_feat::check_resampled;
///
/// assert!(check_resampled(1_000_000, 160_000_000).is_ok());
/// assert!(check_resampled(50_000_000, 8_000_000_000).is_err()); // 100 MB that say 100 Hz
/// ```
///
/// # Errors
/// [`Error::TooManyResampled`].
pub fn check_resampled(samples: usize, resampled: usize) -> Result<(), Error> {
    let limit = FREE_SAMPLES.max(SAMPLES_PER_SAMPLE.saturating_mul(samples as u64));
    if resampled as u64 > limit { Err(Error::TooManyResampled { samples, resampled, limit }) } else { Ok(()) }
}

/// Makes room in an empty `out` for this number of samples.
pub(crate) fn reserve(out: &mut Vec<f32>, samples: usize) -> Result<(), Error> {
    out.clear();
    out.try_reserve_exact(samples).map_err(|_| Error::NoMemory { samples })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::Audio;
    use crate::front_end::FrontEnd;
    use crate::front_end::options::{FeatureOptions, FrontEndOptions};
    use crate::front_end::samples::SampleOptions;
    use crate::kinds::fbank::{Fbank, FbankOptions};
    use crate::resample::LinearResample;
    use crate::resample::polyphase::PolyphaseResample;

    /// A rate in a damaged header, and the rate of the features: 300 million samples of these.
    const RATES: [f32; 2] = [100.0, 100_000.0];
    const NUM_SAMPLES: usize = 300_000;

    fn is_refused<T>(result: Result<T, Error>) -> bool {
        matches!(result, Err(Error::TooManyResampled { samples: NUM_SAMPLES, resampled: 300_000_000, .. }))
    }

    #[test]
    fn whatever_resamples_a_whole_signal_has_the_limit() {
        let [from, to] = RATES;
        let (samples, mut out) = (vec![1_i16; NUM_SAMPLES], vec![]);
        let audio = Audio::new(&samples, from);
        assert!(is_refused(LinearResample::for_waveform(from, to).unwrap().try_resample_into(&samples, &mut out)));
        assert!(is_refused(PolyphaseResample::new(from, to).unwrap().try_resample_into(&samples, &mut out)));
        let mut fbank = FbankOptions::default();
        fbank.frame.samp_freq = to;
        fbank.frame.allow_upsample = true;
        assert!(is_refused(Fbank::new(fbank.clone()).unwrap().compute(&audio)));
        let rows = SampleOptions { samp_freq: to, allow_upsample: true, ..Default::default() };
        for features in [FeatureOptions::Fbank(fbank), FeatureOptions::Samples(rows)] {
            for preemphasis in [0.0, 0.97] {
                let options = FrontEndOptions { features: features.clone(), preemphasis, ..Default::default() };
                assert!(is_refused(FrontEnd::new(options).unwrap().compute(&audio)));
            }
        }
    }

    #[test]
    fn a_signal_within_the_limit_is_resampled_as_without_it() {
        let signal: Vec<f32> = (0..1000_u16).map(|i| f32::from(i % 37)).collect();
        let mut out = vec![1.0; 3];
        let linear = LinearResample::for_waveform(8000.0, 16_000.0).unwrap();
        linear.try_resample_into(&signal, &mut out).unwrap();
        assert_eq!(out, linear.resample(&signal));
        let polyphase = PolyphaseResample::new(8000.0, 16_000.0).unwrap();
        polyphase.try_resample_into(&signal, &mut out).unwrap();
        assert_eq!(out, polyphase.resample(&signal));
    }

    #[test]
    fn a_rate_that_makes_far_too_many_samples_is_refused() {
        assert!(check_resampled(1 << 20, 1 << 28).is_ok());
        assert!(check_resampled(1 << 26, 1 << 30).is_ok());
        let error = check_resampled(50_000_000, 8_000_000_000).unwrap_err().to_string();
        assert!(error.contains("50000000 samples") && error.contains("8000000000"), "{error}");
    }
}
