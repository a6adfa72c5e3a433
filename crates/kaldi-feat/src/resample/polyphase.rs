//! Resampling by a polyphase filter with the quality of ffmpeg's default.

mod interpolated;
mod kaiser;
mod phases;
mod ratio;
mod resamplers;

use std::sync::Arc;

use kaldera_base::simd::Lines;

use crate::audio::samples::Samples;
use crate::error::Error;
use crate::resample::limit::{self, check_resampled};
use crate::resample::polyphase::interpolated::Interpolated;
use crate::resample::polyphase::kaiser::Prototype;
use crate::resample::polyphase::phases::{GROUP, Phases};
use crate::resample::polyphase::ratio::Ratio;
pub use crate::resample::polyphase::resamplers::Resamplers;
use crate::resample::{check_factor, check_rates, gcd};

/// The largest number of weights in separate phases, 1 MiB; beyond that they are interpolated.
const MAX_WEIGHTS: usize = 1 << 18;

/// The largest number of phases that are not interpolated, as in ffmpeg.
const MAX_PHASES: u32 = 1024;

/// Number of input samples that are taken at once, about: few enough for the second-level cache,
/// and enough to fill the lanes.
const CHUNK: usize = 1 << 16;

/// Changes the sample rate of signals with the quality of ffmpeg's default resampler.
///
/// Each output sample is a weighted sum of the input samples around its time. The weights are a
/// sinc under a Kaiser window, with the defaults of ffmpeg's libswresample: 32 taps at the lower of
/// the two rates, a cutoff at 97 % of half that rate, beta 9. From 44.1 to 16 kHz the pass band is
/// flat within 0.001 dB to 6.4 kHz, 6 dB down at 7.76 kHz, and frequencies beyond 9.2 kHz are
/// attenuated by 91 dB. [`LinearResample`](crate::LinearResample), Kaldi's, has about a third of
/// the taps and a Hann window.
///
/// Output sample n is the value at n / [`samp_rate_out`](Self::samp_rate_out) seconds: the signal
/// has no delay. Beyond its ends the signal is mirrored, as in ffmpeg. Samples agree with ffmpeg's
/// within the rounding of single precision, and there are as many.
///
/// Rates whose ratio has more than 1024 phases, such as 44101 to 16000 Hz, share a table of weights
/// and interpolate between its rows; the error is 120 dB below the signal. No ratio takes more than
/// 1 MiB.
///
/// Whole signals go through [`resample`](Self::resample), signals that arrive in chunks through a
/// [`PolyphaseStream`].
///
/// ```
/// use kaldi_feat::PolyphaseResample;
///
/// let resampler = PolyphaseResample::new(44_100.0, 16_000.0)?;
/// let second: Vec<f32> = (0..44_100).map(|i| (i as f32 * 0.05).sin()).collect();
/// assert_eq!(resampler.resample(&second).len(), 16_000);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "swr_convert")]
pub struct PolyphaseResample {
    samp_rate_in: u32,
    samp_rate_out: u32,
    ratio: Ratio,
    num_taps: usize,
    weights: Weights,
}

#[derive(Debug, Clone, PartialEq)]
enum Weights {
    Phases(Phases),
    Interpolated(Interpolated),
}

impl PolyphaseResample {
    /// Creates a resampler from `samp_rate_in` to `samp_rate_out` Hz, each rounded to whole
    /// numbers. If they are equal, the output is the input. Rounding 22254.5454 Hz, a rate of old
    /// AIFF files, makes the output 20 millionths too long, 0.07 s in an hour.
    ///
    /// # Errors
    /// [`Error::BadSampleRate`] if a rate is not a number from 1 to 10 million,
    /// [`Error::ResamplingFactor`] if one is more than a thousand times the other.
    pub fn new(samp_rate_in: f32, samp_rate_out: f32) -> Result<Self, Error> {
        check_rates(samp_rate_in, samp_rate_out)?;
        let (rate_in, rate_out) = (samp_rate_in.round() as u32, samp_rate_out.round() as u32);
        check_factor(rate_in, rate_out)?;
        let divisor = gcd(rate_in, rate_out);
        let ratio = Ratio { input: rate_in / divisor, output: rate_out / divisor };
        let prototype = Prototype::new(rate_in, rate_out);
        let weights = match Phases::num_weights(ratio, prototype.num_taps()) {
            few if few <= MAX_WEIGHTS && ratio.output <= MAX_PHASES => Weights::Phases(Phases::new(ratio, &prototype)),
            _ => Weights::Interpolated(Interpolated::new(ratio, &prototype)),
        };
        let num_taps = prototype.num_taps();
        Ok(Self { samp_rate_in: rate_in, samp_rate_out: rate_out, ratio, num_taps, weights })
    }

    /// Returns the sample rate of the input, Hz.
    pub fn samp_rate_in(&self) -> u32 {
        self.samp_rate_in
    }

    /// Returns the sample rate of the output, Hz.
    pub fn samp_rate_out(&self) -> u32 {
        self.samp_rate_out
    }

    /// Returns the number of output samples of `num_samples` input samples: the number whose
    /// duration is nearest to theirs, the larger one of two, as in ffmpeg.
    pub fn num_output_samples(&self, num_samples: usize) -> usize {
        self.ratio.nearest_outputs(num_samples)
    }

    /// Returns the number of input samples after the time of an output sample that it depends on:
    /// 46, which are 1.04 ms, from 44.1 to 16 kHz. A stream is late by that, and by up to three
    /// output samples.
    pub fn num_lookahead_samples(&self) -> usize {
        self.num_taps / 2
    }

    /// Resamples a whole signal.
    pub fn resample<'a>(&self, signal: impl Into<Samples<'a>>) -> Vec<f32> {
        let mut out = Vec::new();
        self.resample_into(signal, &mut out);
        out
    }

    /// Same as [`resample`](Self::resample), but overwrites `out`.
    pub fn resample_into<'a>(&self, signal: impl Into<Samples<'a>>, out: &mut Vec<f32>) {
        let signal = signal.into();
        out.clear();
        // Whole groups, whose end is cut off.
        out.reserve(self.num_output_samples(signal.len()) + GROUP);
        let mut state = State::default();
        state.accept(self, signal, out);
        state.finish(self, out);
    }

    /// Same as [`resample_into`](Self::resample_into), for a signal of any rate, such as the rate
    /// in the header of a file.
    ///
    /// # Errors
    /// [`Error::TooManyResampled`], as of [`check_resampled`](crate::check_resampled);
    /// [`Error::BadSample`], [`Error::NoMemory`].
    pub fn try_resample_into<'a>(&self, signal: impl Into<Samples<'a>>, out: &mut Vec<f32>) -> Result<(), Error> {
        let signal = signal.into();
        signal.check_finite()?;
        let num_resampled = self.num_output_samples(signal.len());
        check_resampled(signal.len(), num_resampled)?;
        limit::reserve(out, num_resampled.saturating_add(GROUP))?;
        self.resample_into(signal, out);
        Ok(())
    }

    /// Returns the number of taps before the last input sample that is not after an output sample.
    fn center(&self) -> usize {
        self.num_taps / 2 - 1
    }

    /// Returns the first input sample that output sample `n` depends on. It is before 0 for the
    /// first ones.
    fn first_input(&self, n: usize) -> isize {
        self.ratio.position(n).0 - self.center().cast_signed()
    }

    /// Returns the number of output samples, in whole groups, that no sample after the first
    /// `num_samples` can change.
    fn num_ready(&self, num_samples: usize) -> usize {
        let ready = self.ratio.outputs_before(num_samples.saturating_sub(self.num_lookahead_samples()));
        ready - ready % GROUP
    }
}

/// A signal that is resampled in chunks. The output does not depend, to the bit, on the chunks.
///
/// ```
/// use std::sync::Arc;
///
/// use kaldi_feat::{PolyphaseResample, PolyphaseStream};
///
/// let resampler = Arc::new(PolyphaseResample::new(48_000.0, 16_000.0)?);
/// let signal: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.1).sin()).collect();
///
/// let (mut stream, mut out) = (PolyphaseStream::new(Arc::clone(&resampler)), Vec::new());
/// for chunk in signal.chunks(77) {
///     stream.accept(chunk, &mut out); // what no later sample changes
/// }
/// stream.finish(&mut out); // the rest
/// assert_eq!(out, resampler.resample(&signal));
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PolyphaseStream {
    resampler: Arc<PolyphaseResample>,
    state: State,
}

impl PolyphaseStream {
    /// Creates a stream before the first sample. `resampler` is a [`PolyphaseResample`] or an `Arc`
    /// of one, which any number of streams share.
    pub fn new(resampler: impl Into<Arc<PolyphaseResample>>) -> Self {
        Self { resampler: resampler.into(), state: State::default() }
    }

    /// Returns the resampler.
    pub fn resampler(&self) -> &PolyphaseResample {
        &self.resampler
    }

    /// Takes the next samples of the signal, and appends to `out` the output samples that no later
    /// input can change.
    pub fn accept<'a>(&mut self, chunk: impl Into<Samples<'a>>, out: &mut Vec<f32>) {
        self.state.accept(&self.resampler, chunk.into(), out);
    }

    /// Ends the signal: appends the remaining output samples, and goes back to the state before the
    /// first sample.
    pub fn finish(&mut self, out: &mut Vec<f32>) {
        self.state.finish(&self.resampler, out);
    }

    /// Returns the number of input samples taken so far.
    pub fn num_input_samples(&self) -> usize {
        self.state.num_in
    }

    /// Returns the number of output samples given so far.
    pub fn num_output_samples(&self) -> usize {
        self.state.num_out
    }
}

/// The state of a resampled signal. All calls up to [`finish`](Self::finish) are with one
/// resampler.
#[derive(Debug, Clone, Default)]
struct State {
    num_in: usize,
    num_out: usize,
    /// The number, in the input, of the first sample of `buffer`: below 0 once the mirrored samples
    /// before the first one are there.
    base: isize,
    buffer: Vec<f32>,
    scratch: Lines,
}

impl State {
    fn accept(&mut self, resampler: &PolyphaseResample, chunk: Samples<'_>, out: &mut Vec<f32>) {
        for part in chunk.chunks(CHUNK) {
            part.append_to(&mut self.buffer);
            self.take(resampler, part.len(), out);
        }
    }

    fn finish(&mut self, resampler: &PolyphaseResample, out: &mut Vec<f32>) {
        if self.num_in <= resampler.center() && self.num_in > 0 {
            self.mirror_begin(resampler);
        }
        let (end, len) = (resampler.num_output_samples(self.num_in), self.buffer.len());
        // Each sample after the end is as far from it as the sample that it mirrors.
        for i in 0..resampler.num_lookahead_samples() {
            self.buffer.push(if i < self.num_in { self.buffer[len - 1 - i] } else { 0.0 });
        }
        let groups_end = end.next_multiple_of(GROUP);
        if groups_end > self.num_out {
            let last = resampler.first_input(groups_end - 1) + resampler.num_taps.cast_signed();
            self.buffer.resize(self.buffer.len().max((last - self.base).cast_unsigned()), 0.0);
            let produced = out.len() + end - self.num_out;
            self.produce(resampler, groups_end, out);
            out.truncate(produced);
        }
        (self.num_in, self.num_out, self.base) = (0, 0, 0);
        self.buffer.clear();
    }

    /// Handles `num_samples` more samples in the buffer.
    fn take(&mut self, resampler: &PolyphaseResample, num_samples: usize, out: &mut Vec<f32>) {
        let before = self.num_in;
        self.num_in += num_samples;
        let center = resampler.center();
        if self.num_in <= center {
            return;
        }
        if before <= center {
            self.mirror_begin(resampler);
        }
        self.produce(resampler, resampler.num_ready(self.num_in), out);
    }

    /// Puts the samples that the first outputs need before the first sample, mirrored around it.
    fn mirror_begin(&mut self, resampler: &PolyphaseResample) {
        let center = resampler.center();
        let mirrored = (1..=center).rev().map(|i| self.buffer.get(i).copied().unwrap_or(0.0));
        let mut buffer: Vec<f32> = mirrored.collect();
        buffer.append(&mut self.buffer);
        self.buffer = buffer;
        self.base = -center.cast_signed();
    }

    /// Appends the output samples up to number `end`, in whole groups, and drops the input samples
    /// that no later one needs.
    fn produce(&mut self, resampler: &PolyphaseResample, end: usize, out: &mut Vec<f32>) {
        if end > self.num_out {
            let produced = out.len();
            out.resize(produced + end - self.num_out, 0.0);
            let Self { num_out, base, buffer, scratch, .. } = self;
            let out = &mut out[produced..];
            match &resampler.weights {
                Weights::Phases(phases) => phases.products(buffer, *base, *num_out / GROUP, out, scratch),
                Weights::Interpolated(weights) => weights.products(buffer, *base, *num_out, out),
            }
            self.num_out = end;
        }
        let done = (resampler.first_input(self.num_out) - self.base).max(0).cast_unsigned().min(self.buffer.len());
        // Moving the rest costs as much as it is long, so it is moved only when that pays.
        if done >= self.buffer.len() / 2 {
            self.buffer.drain(..done);
            self.base += done.cast_signed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{PI, TAU};

    use proptest::prelude::*;

    use super::*;

    /// The definition in double precision, for each sample that is a multiple of `step`.
    fn naive(resampler: &PolyphaseResample, signal: &[f32], step: usize) -> Vec<f64> {
        let (rate_in, rate_out) = (f64::from(resampler.samp_rate_in), f64::from(resampler.samp_rate_out));
        let factor = if rate_in == rate_out { 1.0 } else { (0.97 * rate_out / rate_in).min(1.0) };
        let half = (16.0 / factor).ceil();
        let half = if 2.0 * half - 2.0 >= 32.0 / factor { half - 1.0 } else { half };
        // The integral that defines it, over 32 points: the integrand is periodic.
        let bessel = |x: f64| (0..32).map(|k| (x * (TAU * f64::from(k) / 32.0).cos()).exp()).sum::<f64>() / 32.0;
        let weight = |d: f64| {
            if d <= -half || d > half {
                return 0.0;
            }
            let sinc = if d == 0.0 { 1.0 } else { (PI * d * factor).sin() / (PI * d * factor) };
            sinc * bessel(9.0 * (1.0 - (d / half).powi(2)).max(0.0).sqrt())
        };
        let halves = half as isize;
        let gain: f64 = (-halves..=halves).map(|d| weight(d as f64)).sum();
        let len = signal.len().cast_signed();
        let mirrored = |i: isize| {
            let i = if i < 0 {
                -i
            } else if i >= len {
                2 * len - 1 - i
            } else {
                i
            };
            usize::try_from(i).ok().and_then(|i| signal.get(i)).map_or(0.0, |&x| f64::from(x))
        };
        (0..(signal.len() as f64 * rate_out / rate_in + 0.5 + 1e-9).floor() as usize)
            .step_by(step)
            .map(|n| {
                let t = n as f64 * rate_in / rate_out;
                let near = t.round() as isize;
                (near - halves - 1..=near + halves + 1).map(|i| mirrored(i) * weight(i as f64 - t)).sum::<f64>() / gain
            })
            .collect()
    }

    /// The largest error of sums of single precision and of interpolated weights, relative to the
    /// largest sample.
    fn tolerance(resampler: &PolyphaseResample) -> f64 {
        let interpolated = matches!(resampler.weights, Weights::Interpolated(_));
        f64::from(f32::EPSILON) * resampler.num_taps as f64 + if interpolated { 4e-6 } else { 0.0 }
    }

    fn rates() -> impl Strategy<Value = (u32, u32)> {
        // The last of them have too many phases.
        prop::sample::select(
            &[
                (44_100, 16_000),
                (8000, 16_000),
                (48_000, 16_000),
                (22_050, 16_000),
                (16_000, 16_000),
                (3, 1),
                (1, 3),
                (5, 4),
                (100, 3),
                (7, 300),
                (16_000, 48_000),
                (44_101, 16_000),
                (16_000, 44_101),
                (9973, 1031),
            ][..],
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn chunked_resampling_equals_whole_and_the_sum_that_defines_it(
            (rate_in, rate_out) in rates(),
            signal in prop::collection::vec(-1000.0..1000.0_f32, 0..700),
            cuts in prop::collection::vec(0..200_usize, 0..10),
        ) {
            let resampler = PolyphaseResample::new(rate_in as f32, rate_out as f32).unwrap();
            let whole = resampler.resample(&signal);
            prop_assert_eq!(whole.len(), resampler.num_output_samples(signal.len()));
            let mut stream = PolyphaseStream::new(resampler.clone());
            let (mut out, mut rest) = (Vec::new(), &signal[..]);
            for cut in cuts {
                let chunk;
                (chunk, rest) = rest.split_at(cut.min(rest.len()));
                stream.accept(chunk, &mut out);
                prop_assert_eq!(out.len(), resampler.num_ready(signal.len() - rest.len()));
            }
            stream.accept(rest, &mut out);
            stream.finish(&mut out);
            let bits = |samples: &[f32]| samples.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&out), bits(&whole));
            prop_assert_eq!((stream.num_input_samples(), stream.num_output_samples()), (0, 0));

            let expected = naive(&resampler, &signal, 1);
            prop_assert_eq!(expected.len(), whole.len());
            let tolerance = 1000.0 * tolerance(&resampler);
            for (i, (&a, &b)) in whole.iter().zip(&expected).enumerate() {
                prop_assert!((f64::from(a) - b).abs() < tolerance, "sample {i}: {a} for {b}");
            }
        }
    }

    /// A long signal takes several chunks, and fills more lanes than there are.
    #[test]
    fn long_signals_equal_the_sum_that_defines_them() {
        const STEP: usize = 101;
        let signal: Vec<f32> =
            (0..150_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as f32 - 32_768.0).collect();
        for (rate_in, rate_out) in [(44_100.0, 16_000.0), (48_000.0, 16_000.0), (11_025.0, 16_000.0)] {
            let resampler = PolyphaseResample::new(rate_in, rate_out).unwrap();
            let whole = resampler.resample(&signal);
            let integers: Vec<i16> = signal.iter().map(|&x| x as i16).collect();
            assert_eq!(resampler.resample(&integers), whole);
            let (mut stream, mut out) = (PolyphaseStream::new(resampler.clone()), Vec::new());
            signal.chunks(4410).for_each(|chunk| stream.accept(chunk, &mut out));
            stream.finish(&mut out);
            assert_eq!(out, whole);
            let expected = naive(&resampler, &signal, STEP);
            let tolerance = 32_768.0 * tolerance(&resampler);
            let pairs = whole.iter().step_by(STEP).zip(&expected);
            let worst = pairs.map(|(&a, &b)| (f64::from(a) - b).abs()).fold(0.0, f64::max);
            assert!(worst < tolerance, "{rate_in}: {worst} of {tolerance}");
        }
    }

    /// The gain, in dB, of a tone of `frequency` Hz, which appears at `frequency` or is folded.
    fn gain(rate_in: u32, rate_out: u32, frequency: u32) -> f64 {
        let resampler = PolyphaseResample::new(rate_in as f32, rate_out as f32).unwrap();
        let turns = |i: u32, rate: u32| TAU * f64::from(i) * f64::from(frequency) / f64::from(rate);
        let tone: Vec<f32> = (0..3 * rate_in).map(|i| turns(i % rate_in, rate_in).cos() as f32).collect();
        // The second second: far from the ends, and whole turns.
        let out = &resampler.resample(&tone)[rate_out as usize..2 * rate_out as usize];
        let parts = (0..rate_out).zip(out).map(|(i, &y)| {
            let (sin, cos) = turns(i, rate_out).sin_cos();
            (f64::from(y) * cos, f64::from(y) * sin)
        });
        let (real, imaginary) = parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        20.0 * (real.hypot(imaginary) * 2.0 / f64::from(rate_out)).log10()
    }

    /// From the Fourier transform of the weights in double precision, 44.1 to 16 kHz: 0.0006 dB to
    /// 6.4 kHz, -6.02 dB at 7.76 kHz, -91 dB from 9.2 kHz on.
    #[test]
    fn response_is_that_of_ffmpegs_default() {
        const RIPPLE_DB: f64 = 0.001;
        const STOP_BAND_DB: f64 = -90.0;
        for frequency in [100, 1000, 3000, 5000, 6000, 6200, 6400] {
            let found = gain(44_100, 16_000, frequency);
            assert!(found.abs() < RIPPLE_DB, "{frequency} Hz: {found} dB");
        }
        let cutoff = gain(44_100, 16_000, 7760);
        assert!((cutoff + 6.02).abs() < 0.05, "{cutoff} dB");
        for frequency in [9200, 9300, 9400, 10_000, 11_000, 13_000, 15_900, 16_100, 20_000] {
            let found = gain(44_100, 16_000, frequency);
            assert!(found < STOP_BAND_DB, "{frequency} Hz: {found} dB");
        }
        for (rate_in, rate_out) in [(44_101, 16_000), (8000, 16_000), (48_000, 16_000), (16_000, 8000)] {
            let found = gain(rate_in, rate_out, 3000);
            assert!(found.abs() < RIPPLE_DB, "{rate_in} to {rate_out}: {found} dB");
        }
    }

    #[test]
    fn lengths_are_those_of_ffmpeg() {
        // From ffmpeg 5.1, by `-ar 16000`.
        let lengths = |rate: f32, of: [usize; 6]| {
            let resampler = PolyphaseResample::new(rate, 16_000.0).unwrap();
            of.map(|num_samples| resampler.resample(&vec![1.0; num_samples]).len())
        };
        assert_eq!(lengths(44_100.0, [1, 2, 3, 17, 442, 44_103]), [0, 1, 1, 6, 160, 16_001]);
        assert_eq!(lengths(48_000.0, [1, 2, 10, 442, 1_000, 44_104]), [0, 1, 3, 147, 333, 14_701]);
        assert_eq!(lengths(32_000.0, [0, 1, 2, 3, 4, 5]), [0, 1, 1, 2, 2, 3]);
        assert_eq!(lengths(44_101.0, [1, 3, 17, 1_001, 4_413, 44_102]), [0, 1, 6, 363, 1_601, 16_000]);
    }

    #[test]
    fn rates_that_cannot_be_are_refused() {
        for rate in [0.0, 0.4, -8000.0, f32::NAN, f32::INFINITY, 1.1e7] {
            assert!(matches!(PolyphaseResample::new(rate, 16_000.0), Err(Error::BadSampleRate { .. })), "{rate}");
        }
        let factor = PolyphaseResample::new(1.0, 16_000.0).unwrap_err().to_string();
        assert!(factor.contains("from 1 Hz to 16000 Hz") && factor.contains("1000"), "{factor}");
    }

    #[test]
    fn tables_are_small_whatever_the_ratio() {
        for (rate_in, rate_out) in [(9_999_991.0, 9_999_973.0), (9_999_990.0, 10_000.0), (9_999_991.0, 10_007.0)] {
            let resampler = PolyphaseResample::new(rate_in, rate_out).unwrap();
            let Weights::Interpolated(weights) = &resampler.weights else { panic!("too many phases") };
            assert!(weights.num_weights() <= MAX_WEIGHTS, "{}", weights.num_weights());
        }
    }

    #[test]
    fn equal_rates_and_original_samples_are_exact() {
        let signal: Vec<f32> = (0..1000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as f32 / 7.0).collect();
        assert_eq!(PolyphaseResample::new(8000.0, 8000.0).unwrap().resample(&signal), signal);
        let doubled = PolyphaseResample::new(8000.0, 16_000.0).unwrap().resample(&signal);
        assert!(doubled.iter().step_by(2).zip(&signal).all(|(a, b)| a == b));
    }
}
