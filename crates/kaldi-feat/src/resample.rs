//! Resampling by a windowed sinc, as Kaldi's `LinearResample` does it.

use std::f64::consts::{PI, TAU};

/// The zeros of the sinc on each side that [`LinearResample::for_waveform`] keeps.
const NUM_ZEROS: i32 = 6;

/// Changes the sample rate of whole signals.
///
/// Each output sample is a weighted sum of the input samples around it, where the weights are a sinc of the given cutoff
/// under a Hann window; beyond the ends of the signal there is silence. The weights repeat themselves: there are as many
/// sets as the output has samples in the shortest stretch of time that holds whole numbers of both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinearResample {
    samp_rate_in: u64,
    samp_rate_out: u64,
    /// Samples in the stretch that repeats.
    in_unit: usize,
    /// For each output sample of that stretch, its first input sample and the weights from there on.
    phases: Vec<(isize, Vec<f32>)>,
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl LinearResample {
    /// From `samp_rate_in` to `samp_rate_out` Hz, with a low-pass filter that cuts off at `filter_cutoff` Hz (at most half of
    /// both rates) and has `num_zeros` zeros on each side.
    pub(crate) fn new(samp_rate_in: u32, samp_rate_out: u32, filter_cutoff: f32, num_zeros: i32) -> Self {
        let (samp_rate_in, samp_rate_out) = (u64::from(samp_rate_in), u64::from(samp_rate_out));
        let base = gcd(samp_rate_in, samp_rate_out);
        let (rate_in, rate_out) = (samp_rate_in as f64, samp_rate_out as f64);
        let cutoff = f64::from(filter_cutoff);
        let half_width = f64::from(num_zeros) / (2.0 * cutoff);
        // Kaldi's argument is a `float`, and so are the two factors.
        let weight = |delta: f64| {
            let t = f64::from(delta as f32);
            let window =
                if t.abs() < half_width { 0.5 * (1.0 + (TAU * cutoff / f64::from(num_zeros) * t).cos()) } else { 0.0 };
            let filter = if t == 0.0 { 2.0 * cutoff } else { (TAU * cutoff * t).sin() / (PI * t) };
            filter as f32 * window as f32 / rate_in as f32
        };
        let phases = (0..samp_rate_out / base)
            .map(|i| {
                let output_t = i as f64 / rate_out;
                let first = ((output_t - half_width) * rate_in).ceil() as isize;
                let last = ((output_t + half_width) * rate_in).floor() as isize;
                (first, (first..=last).map(|j| weight(j as f64 / rate_in - output_t)).collect())
            })
            .collect();
        Self { samp_rate_in, samp_rate_out, in_unit: (samp_rate_in / base) as usize, phases }
    }

    /// What Kaldi's `ResampleWaveform` uses: rates cut off to whole numbers, a cutoff at 99 % of what the lower of the
    /// two can hold, six zeros. Rates from 1 to 10 million.
    #[doc(alias = "ResampleWaveform")]
    pub(crate) fn for_waveform(samp_rate_in: f32, samp_rate_out: f32) -> Self {
        let cutoff = (0.99 * 0.5 * f64::from(samp_rate_in.min(samp_rate_out))) as f32;
        Self::new(samp_rate_in as u32, samp_rate_out as u32, cutoff, NUM_ZEROS)
    }

    /// Resamples a whole signal; `out` is overwritten.
    pub(crate) fn resample_into(&self, signal: &[f32], out: &mut Vec<f32>) {
        out.clear();
        out.extend((0..resampled_len(self, signal.len())).map(|i| {
            let unit = i / self.phases.len();
            let (first, weights) = &self.phases[i % self.phases.len()];
            let first = first + (unit * self.in_unit).cast_signed();
            let skip = first.min(0).unsigned_abs().min(weights.len());
            let begin = first.max(0).cast_unsigned().min(signal.len());
            let part = &signal[begin..signal.len().min(begin + weights.len() - skip)];
            dot(part, &weights[skip..])
        }));
    }
}

/// The number of output samples: those whose time lies before the end of the last input sample's stretch.
pub(crate) fn resampled_len(resampler: &LinearResample, num_samples: usize) -> usize {
    // Output sample i lies at i / rate_out, which must be below num_samples / rate_in.
    let ticks = num_samples as u128 * u128::from(resampler.samp_rate_out);
    ticks.div_ceil(u128::from(resampler.samp_rate_in)) as usize
}

/// Σ a b over the shorter of the two, in eight sums that are added at the end.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let len = a.len().min(b.len());
    let (a_eights, a_rest) = a[..len].as_chunks::<8>();
    let (b_eights, b_rest) = b[..len].as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (a, b) in a_eights.iter().zip(b_eights) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_sine_keeps_its_shape() {
        let sine = |rate: f32, n: usize| -> Vec<f32> {
            (0..n).map(|i| (i as f32 / rate * 440.0 * std::f32::consts::TAU).sin()).collect()
        };
        for (from, to) in [(16000.0, 8000.0), (8000.0, 16000.0), (44100.0, 16000.0), (16000.0, 22050.0)] {
            let mut out = Vec::new();
            LinearResample::for_waveform(from, to).resample_into(&sine(from, from as usize), &mut out);
            assert_eq!(out.len(), to as usize);
            let expected = sine(to, to as usize);
            let middle = 200..to as usize - 200;
            let worst = middle.map(|i| (out[i] - expected[i]).abs()).fold(0.0, f32::max);
            assert!(worst < 0.02, "{worst} from {from} to {to}");
        }
    }

    #[test]
    fn lengths_follow_the_open_interval() {
        let half = LinearResample::for_waveform(16000.0, 8000.0);
        assert_eq!([0, 1, 2, 3, 4].map(|n| resampled_len(&half, n)), [0, 1, 1, 2, 2]);
        let double = LinearResample::for_waveform(8000.0, 16000.0);
        assert_eq!([0, 1, 2].map(|n| resampled_len(&double, n)), [0, 2, 4]);
    }

    #[test]
    fn signals_shorter_than_the_filter_are_no_trouble() {
        for n in 0..30 {
            let mut out = Vec::new();
            LinearResample::for_waveform(16000.0, 11025.0).resample_into(&vec![1.0; n], &mut out);
            assert!(out.iter().all(|x| x.is_finite()));
        }
    }
}
