//! The low-pass filter: a sinc under a Kaiser window.

use std::f64::consts::PI;

/// Number of taps at the lower of the two rates (libswresample's `filter_size`).
const FILTER_SIZE: f64 = 32.0;
/// The point where the filter is 6 dB down, relative to half the lower rate (libswresample's
/// `cutoff`).
const CUTOFF: f64 = 0.97;
/// The shape of the window (libswresample's `kaiser_beta`): a stop band of 90 dB.
const KAISER_BETA: f64 = 9.0;

/// A filter that can be evaluated between input samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prototype {
    /// Zeros of the sinc in an input sample: 1 if nothing has to be filtered.
    factor: f64,
    num_taps: usize,
    /// The factor that makes the weights of phase 0 add up to 1.
    gain: f64,
}

impl Prototype {
    /// Creates the filter of a resampler between these rates, in Hz. Neither is more than
    /// [`MAX_FACTOR`](crate::resample::MAX_FACTOR) times the other.
    pub(super) fn new(rate_in: u32, rate_out: u32) -> Self {
        let (rate_in, rate_out) = (f64::from(rate_in), f64::from(rate_out));
        let factor = if rate_in == rate_out { 1.0 } else { (rate_out * CUTOFF / rate_in).min(1.0) };
        // An even number of 33,000 at the most.
        let num_taps = ((FILTER_SIZE / factor).ceil() as usize).next_multiple_of(2);
        let unscaled = Self { factor, num_taps, gain: 1.0 };
        let sum: f64 = (0..num_taps).map(|tap| unscaled.weight(tap, 0.0)).sum();
        Self { gain: 1.0 / sum, ..unscaled }
    }

    /// Returns the number of input samples that an output sample depends on: an even number.
    pub(super) fn num_taps(&self) -> usize {
        self.num_taps
    }

    /// Returns the zeros of the sinc in an input sample.
    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// Returns the weight of an input sample in an output sample that lies `phase` input samples, 0
    /// to 1, after tap `num_taps / 2 - 1`.
    pub(super) fn weight(&self, tap: usize, phase: f64) -> f64 {
        // Fewer taps than a double can count.
        let distance = tap as f64 - (self.num_taps / 2 - 1) as f64 - phase;
        let within = 2.0 * distance / self.num_taps as f64;
        let window = bessel_i0(KAISER_BETA * (1.0 - within * within).max(0.0).sqrt());
        self.gain * sinc(distance * self.factor) * window
    }
}

/// Computes sin(pi x) / (pi x), exactly 0 at its zeros.
fn sinc(x: f64) -> f64 {
    match x {
        0.0 => 1.0,
        x if x.fract() == 0.0 => 0.0,
        x => (PI * x).sin() / (PI * x),
    }
}

/// Computes the modified Bessel function of the first kind and order 0, by its series: the sum of
/// (x/2)^2k / (k!)^2.
fn bessel_i0(x: f64) -> f64 {
    let square = x * x / 4.0;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > sum * f64::EPSILON / 4.0 {
        term *= square / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bessel_function_has_the_values_of_tables() {
        // Abramowitz and Stegun, table 9.8, and its asymptote.
        for (x, expected) in [(0.0, 1.0), (1.0, 1.266_065_877_752_008), (9.0, 1_093.588_354_511_374_7)] {
            assert!((bessel_i0(x) / expected - 1.0).abs() < 1e-14, "{x}: {}", bessel_i0(x));
        }
    }

    #[test]
    fn taps_are_those_of_libswresample() {
        for (rate_in, rate_out, taps) in [
            (44_100, 16_000, 92),
            (48_000, 16_000, 100),
            (8000, 16_000, 32),
            (384_000, 16_000, 792),
            (16_000, 16_000, 32),
        ] {
            assert_eq!(Prototype::new(rate_in, rate_out).num_taps(), taps, "{rate_in} {rate_out}");
        }
    }

    #[test]
    fn weights_of_phase_0_add_up_to_1_and_are_symmetric() {
        let filter = Prototype::new(44_100, 16_000);
        let weights: Vec<f64> = (0..92).map(|tap| filter.weight(tap, 0.0)).collect();
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        for i in 0..45 {
            assert!((weights[45 - i] - weights[45 + i]).abs() < 1e-16);
        }
        // Without a filter the samples are unchanged.
        let copy = Prototype::new(8000, 16_000);
        assert!((0..32).all(|tap| copy.weight(tap, 0.0) == if tap == 15 { 1.0 } else { 0.0 }));
    }
}
