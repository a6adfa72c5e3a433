//! Resampling by a windowed sinc: as Kaldi does it, at regular times ([`LinearResample`]) and at
//! any times ([`ArbitraryResample`]), and as ffmpeg does it
//! ([`PolyphaseResample`](polyphase::PolyphaseResample)).

pub(crate) mod arbitrary;
pub(crate) mod limit;
pub(crate) mod polyphase;
mod products;
mod sinc;

use std::sync::Arc;

use crate::audio::MAX_SAMPLE_RATE;
use crate::audio::samples::Samples;
use crate::error::Error;
use crate::resample::limit::check_resampled;
use crate::resample::products::Filters;
use crate::resample::sinc::WindowedSinc;
use crate::state::{StateReader, StateWriter};

/// Number of zeros of the sinc on each side that [`LinearResample::for_waveform`] keeps.
const NUM_ZEROS: i32 = 6;

/// The largest ratio of two rates: more makes a long signal from a short one, or next to nothing
/// from a long one.
const MAX_FACTOR: u32 = 1000;

/// The largest number of weights in a resampler: a quarter of a gigabyte.
const MAX_WEIGHTS: f64 = 67_108_864.0;

/// More samples than any stream has, and few enough to count with: 89 years at 100 kHz.
const MAX_SAMPLES: usize = usize::MAX >> 16;

/// Changes the sample rate of signals.
///
/// Each output sample is a weighted sum of the input samples around it. The weights are a sinc of
/// the given cutoff under a Hann window; beyond the ends of the signal there is silence. The
/// weights repeat: there are as many sets as the output has samples in the shortest stretch of time
/// that holds whole numbers of both.
///
/// Whole signals go through [`resample`](Self::resample), signals that arrive in chunks through a
/// [`ResampleStream`].
///
/// ```
/// use kaldi_feat::LinearResample;
///
/// let halve = LinearResample::for_waveform(16000.0, 8000.0)?;
/// let second: Vec<f32> = (0..16000).map(|i| (i as f32 * 0.1).sin()).collect();
/// assert_eq!(halve.resample(&second).len(), 8000);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinearResample {
    samp_rate_in: u32,
    samp_rate_out: u32,
    /// Ticks per input sample and per output sample, of a clock that all samples of both signals
    /// lie on.
    ticks_in: u64,
    ticks_out: u64,
    /// Number of ticks that the filter looks ahead.
    half_width_ticks: u64,
    /// Number of input samples in the stretch that repeats. Each of its output samples has a
    /// filter.
    in_unit: usize,
    filters: Filters,
}

/// Refuses rates that are not numbers from 1 to 10 million.
fn check_rates(samp_rate_in: f32, samp_rate_out: f32) -> Result<(), Error> {
    let is_wrong = |found: &f32| !(1.0..=MAX_SAMPLE_RATE).contains(found);
    [samp_rate_in, samp_rate_out].into_iter().find(is_wrong).map_or(Ok(()), |found| Err(Error::BadSampleRate { found }))
}

/// Refuses rates if one is more than a thousand times the other.
fn check_factor(from: u32, to: u32) -> Result<(), Error> {
    let is_wrong = u64::from(from.max(to)) > u64::from(from.min(to)) * u64::from(MAX_FACTOR);
    if is_wrong { Err(Error::ResamplingFactor { from, to, limit: MAX_FACTOR }) } else { Ok(()) }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl LinearResample {
    /// Creates a resampler from `samp_rate_in` to `samp_rate_out` Hz, with a low-pass filter that
    /// cuts off at `filter_cutoff` Hz (at most half of both rates) and has `num_zeros` zeros on
    /// each side.
    ///
    /// # Errors
    /// [`Error::ResamplingFactor`] if one rate is more than a thousand times the other;
    /// [`Error::BadFilter`] if such a filter is impossible, or would take more than 2²⁶ weights.
    pub fn new(samp_rate_in: u32, samp_rate_out: u32, filter_cutoff: f32, num_zeros: i32) -> Result<Self, Error> {
        check_factor(samp_rate_in, samp_rate_out)?;
        let sinc = WindowedSinc::new(filter_cutoff, num_zeros)?;
        let slower = samp_rate_in.min(samp_rate_out);
        if f64::from(filter_cutoff) * 2.0 > f64::from(slower) {
            let expected = "at most half of both sample rates";
            return Err(Error::BadFilter { what: "cutoff in Hz", value: filter_cutoff, expected });
        }
        let base = gcd(samp_rate_in, samp_rate_out);
        let (rate_in, rate_out) = (f64::from(samp_rate_in), f64::from(samp_rate_out));
        let (in_unit, out_unit) = (samp_rate_in / base, samp_rate_out / base);
        let half_width = sinc.half_width();
        let num_weights = f64::from(out_unit) * (2.0 * half_width * rate_in + 17.0);
        if num_weights > MAX_WEIGHTS {
            let expected = "67108864 or fewer (use rates with a larger common divisor, or a wider cutoff)";
            return Err(Error::BadFilter { what: "number of weights", value: num_weights as f32, expected });
        }
        let filters = Filters::new((0..out_unit).map(|i| {
            let output_t = f64::from(i) / rate_out;
            let first = ((output_t - half_width) * rate_in).ceil() as isize;
            let last = ((output_t + half_width) * rate_in).floor() as isize;
            let weight = |j: isize| sinc.at((j as f64 / rate_in - output_t) as f32) / rate_in as f32;
            (first, (first..=last).map(weight).collect())
        }));
        // Kaldi counts the ticks in single precision.
        let tick_freq = u64::from(in_unit) * u64::from(samp_rate_out);
        Ok(Self {
            samp_rate_in,
            samp_rate_out,
            ticks_in: u64::from(out_unit),
            ticks_out: u64::from(in_unit),
            half_width_ticks: (half_width as f32 * tick_freq as f32).floor() as u64,
            in_unit: in_unit as usize,
            filters,
        })
    }

    /// Creates the resampler of Kaldi's `ResampleWaveform`: rates truncated to whole numbers, a
    /// cutoff at 99 % of half the lower rate, six zeros.
    ///
    /// # Errors
    /// If a rate is not a number from 1 to 10 million, or as [`new`](Self::new).
    #[doc(alias = "ResampleWaveform")]
    pub fn for_waveform(samp_rate_in: f32, samp_rate_out: f32) -> Result<Self, Error> {
        check_rates(samp_rate_in, samp_rate_out)?;
        let cutoff = (0.99 * 0.5 * f64::from(samp_rate_in.min(samp_rate_out))) as f32;
        Self::new(samp_rate_in as u32, samp_rate_out as u32, cutoff, NUM_ZEROS)
    }

    /// Creates the resampler of Kaldi's features of streams: as
    /// [`for_waveform`](Self::for_waveform), with a cutoff at half the lower rate.
    ///
    /// # Errors
    /// As [`for_waveform`](Self::for_waveform).
    #[doc(alias = "MaybeCreateResampler")]
    pub fn for_stream(samp_rate_in: f32, samp_rate_out: f32) -> Result<Self, Error> {
        check_rates(samp_rate_in, samp_rate_out)?;
        let cutoff = 0.5 * samp_rate_in.min(samp_rate_out);
        Self::new(samp_rate_in as u32, samp_rate_out as u32, cutoff, NUM_ZEROS)
    }

    /// Returns the sample rate of the input, Hz.
    pub fn samp_rate_in(&self) -> u32 {
        self.samp_rate_in
    }

    /// Returns the sample rate of the output, Hz.
    pub fn samp_rate_out(&self) -> u32 {
        self.samp_rate_out
    }

    /// Returns the number of output samples of `num_samples` input samples: the output samples
    /// whose time lies before the end of the last input sample's stretch. With `flush` false, only
    /// the output samples that more input could not change.
    #[doc(alias = "GetNumOutputSamples")]
    pub fn num_output_samples(&self, num_samples: usize, flush: bool) -> usize {
        let ahead = if flush { 0 } else { self.half_width_ticks };
        let ticks = (num_samples as u128 * u128::from(self.ticks_in)).saturating_sub(u128::from(ahead));
        ticks.div_ceil(u128::from(self.ticks_out)) as usize
    }

    /// Resamples a whole signal.
    #[doc(alias = "Resample")]
    pub fn resample(&self, signal: &[f32]) -> Vec<f32> {
        let mut out = Vec::new();
        self.resample_into(signal, &mut out);
        out
    }

    /// Same as [`resample`](Self::resample), but overwrites `out`.
    pub fn resample_into(&self, signal: &[f32], out: &mut Vec<f32>) {
        out.clear();
        let mut state = ResampleState::new(self);
        state.accept(self, Samples::F32(signal), out);
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
        let num_resampled = self.num_output_samples(signal.len(), true);
        check_resampled(signal.len(), num_resampled)?;
        limit::reserve(out, num_resampled)?;
        let mut state = ResampleState::new(self);
        state.accept(self, signal, out);
        state.finish(self, out);
        Ok(())
    }

    /// Returns the first input sample, from the signal's start, that output sample `i` depends on.
    /// It is before 0 for the first ones.
    fn first_input(&self, i: usize) -> isize {
        let (unit, row) = (i / self.filters.len(), i % self.filters.len());
        self.filters.first(row) + (unit * self.in_unit).cast_signed()
    }
}

/// Number of input samples that are taken at once: their buffer stays in the first-level cache.
const CHUNK: usize = 4096;

/// A signal that is resampled in chunks. The output does not depend on the chunks.
///
/// ```
/// use std::sync::Arc;
///
/// use kaldi_feat::{LinearResample, ResampleStream};
///
/// let halve = Arc::new(LinearResample::for_waveform(16000.0, 8000.0)?);
/// let signal: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.1).sin()).collect();
///
/// let (mut stream, mut out) = (ResampleStream::new(Arc::clone(&halve)), Vec::new());
/// for chunk in signal.chunks(77) {
///     stream.accept(chunk, &mut out); // what is sure by now
/// }
/// stream.finish(&mut out); // the rest, as if silence followed
/// assert_eq!(out, halve.resample(&signal));
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ResampleStream {
    resampler: Arc<LinearResample>,
    state: ResampleState,
}

impl ResampleStream {
    /// Creates a stream before the first sample. `resampler` is a [`LinearResample`] or an `Arc` of
    /// one, which any number of streams share.
    pub fn new(resampler: impl Into<Arc<LinearResample>>) -> Self {
        let resampler = resampler.into();
        Self { state: ResampleState::new(&resampler), resampler }
    }

    /// Returns the resampler.
    pub fn resampler(&self) -> &LinearResample {
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

    /// Goes back to the state before the first sample, in the memory that it has.
    pub(crate) fn restart(&mut self) {
        self.state.restart(&self.resampler);
    }

    /// Returns the number of input samples taken so far.
    pub fn num_input_samples(&self) -> usize {
        self.state.num_in
    }

    /// Returns the number of output samples given so far.
    pub fn num_output_samples(&self) -> usize {
        self.state.num_out
    }

    pub(crate) fn save(&self, state: &mut StateWriter) {
        self.state.save(state);
    }

    /// Restores the state that [`save`](Self::save) wrote, of a stream through the same resampler.
    ///
    /// # Errors
    /// [`Error::BadState`] if `save` can't have written it.
    pub(crate) fn restored(&self, state: &mut StateReader<'_>) -> Result<Self, Error> {
        let resampler = Arc::clone(&self.resampler);
        Ok(Self { state: ResampleState::restore(&resampler, state)?, resampler })
    }
}

/// The state of a resampled signal, without its resampler. All calls are with one resampler.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResampleState {
    num_in: usize,
    num_out: usize,
    /// The number, in the input, of the first sample of `buffer`.
    base: isize,
    buffer: Vec<f32>,
}

impl ResampleState {
    /// Creates the state before the first sample.
    pub(crate) fn new(resampler: &LinearResample) -> Self {
        let before = resampler.filters.lowest().min(0);
        Self { num_in: 0, num_out: 0, base: before, buffer: vec![0.0; before.unsigned_abs()] }
    }

    pub(crate) fn accept(&mut self, resampler: &LinearResample, chunk: Samples<'_>, out: &mut Vec<f32>) {
        for part in chunk.chunks(CHUNK) {
            part.append_to(&mut self.buffer);
            self.take(resampler, part.len(), out);
        }
    }

    /// Ends the signal, as [`ResampleStream::finish`].
    pub(crate) fn finish(&mut self, resampler: &LinearResample, out: &mut Vec<f32>) {
        self.produce(resampler, true, out);
        self.restart(resampler);
    }

    /// Goes back to the state before the first sample, in the memory that it has.
    pub(crate) fn restart(&mut self, resampler: &LinearResample) {
        let Self { num_in, num_out, base, buffer } = self;
        (*num_in, *num_out, *base) = (0, 0, resampler.filters.lowest().min(0));
        buffer.clear();
        buffer.resize(base.unsigned_abs(), 0.0);
    }

    pub(crate) fn save(&self, state: &mut StateWriter) {
        state.u64(self.num_in as u64);
        state.u64(self.base as u64);
        state.f32s(&self.buffer);
    }

    /// Restores the state that [`save`](Self::save) wrote, of a stream through `resampler`.
    ///
    /// # Errors
    /// [`Error::BadState`] if `save` can't have written it.
    pub(crate) fn restore(resampler: &LinearResample, state: &mut StateReader<'_>) -> Result<Self, Error> {
        let num_in = state.usize()?;
        let base = state.u64()? as i64 as isize;
        let buffer = state.f32s()?;
        let num_out = resampler.num_output_samples(num_in, false);
        let fits = num_in < MAX_SAMPLES
            && isize::try_from(num_in).is_ok_and(|end| base.checked_add_unsigned(buffer.len()) == Some(end));
        if !fits || base > resampler.first_input(num_out) {
            return Err(Error::BadState { reason: "its samples are not those that the resampler needs" });
        }
        Ok(Self { num_in, num_out, base, buffer })
    }

    /// Handles `num_samples` more samples in the buffer.
    fn take(&mut self, resampler: &LinearResample, num_samples: usize, out: &mut Vec<f32>) {
        self.num_in += num_samples;
        self.produce(resampler, false, out);
    }

    fn produce(&mut self, resampler: &LinearResample, flush: bool, out: &mut Vec<f32>) {
        let filters = &resampler.filters;
        let end = resampler.num_output_samples(self.num_in, flush);
        if end > self.num_out {
            // Rows of weights end in zeros, for which there may be no samples.
            let len = self.buffer.len();
            let last = resampler.first_input(end - 1) - self.base + filters.width().cast_signed();
            self.buffer.resize(len.max(last.cast_unsigned()), 0.0);
            let produced = out.len();
            out.resize(produced + end - self.num_out, 0.0);
            let (unit, row) = (self.num_out / filters.len(), self.num_out % filters.len());
            let base = self.base - (unit * resampler.in_unit).cast_signed();
            filters.products(&self.buffer, base, row, resampler.in_unit, &mut out[produced..]);
            self.buffer.truncate(len);
            self.num_out = end;
        }
        // One more than needed is kept, as the starts of the rows are rounded.
        let done = (resampler.first_input(self.num_out) - self.base - 1).max(0).cast_unsigned().min(self.buffer.len());
        // Moving the rest costs as much as it is long, so it is moved only when that pays.
        if done >= self.buffer.len() / 2 {
            self.buffer.drain(..done);
            self.base += done.cast_signed();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Kaldi's definition, a sample at a time.
    fn naive(resampler: &LinearResample, cutoff: f64, num_zeros: f64, signal: &[f32]) -> Vec<f64> {
        let (rate_in, rate_out) = (f64::from(resampler.samp_rate_in), f64::from(resampler.samp_rate_out));
        let half_width = num_zeros / (2.0 * cutoff);
        let weight = |t: f64| {
            if t.abs() >= half_width {
                return 0.0;
            }
            let window = 0.5 + 0.5 * (std::f64::consts::TAU * cutoff / num_zeros * t).cos();
            let x = std::f64::consts::TAU * cutoff * t;
            2.0 * cutoff * window * if x == 0.0 { 1.0 } else { x.sin() / x }
        };
        (0..resampler.num_output_samples(signal.len(), true))
            .map(|i| {
                let at = |(j, &x): (usize, &f32)| f64::from(x) * weight(j as f64 / rate_in - i as f64 / rate_out);
                signal.iter().enumerate().map(at).sum::<f64>() / rate_in
            })
            .collect()
    }

    #[test]
    fn resampling_keeps_a_slow_sine() {
        let sine = |rate: f32, n: usize| -> Vec<f32> {
            (0..n).map(|i| (i as f32 / rate * 440.0 * std::f32::consts::TAU).sin()).collect()
        };
        for (from, to) in [(16000.0, 8000.0), (8000.0, 16000.0), (44100.0, 16000.0), (16000.0, 22050.0)] {
            let out = LinearResample::for_waveform(from, to).unwrap().resample(&sine(from, from as usize));
            assert_eq!(out.len(), to as usize);
            let expected = sine(to, to as usize);
            let middle = 200..to as usize - 200;
            let worst = middle.map(|i| (out[i] - expected[i]).abs()).fold(0.0, f32::max);
            assert!(worst < 0.02, "{worst} from {from} to {to}");
        }
    }

    #[test]
    fn lengths_follow_the_open_interval() {
        let half = LinearResample::for_waveform(16000.0, 8000.0).unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|n| half.num_output_samples(n, true)), [0, 1, 1, 2, 2]);
        let double = LinearResample::for_waveform(8000.0, 16000.0).unwrap();
        assert_eq!([0, 1, 2].map(|n| double.num_output_samples(n, true)), [0, 2, 4]);
        // The filter of the pitch extractor is 16 samples long: 8 of them lie ahead.
        let pitch = LinearResample::new(16000, 4000, 1000.0, 1).unwrap();
        assert_eq!([0, 8, 9, 12, 13, 70].map(|n| pitch.num_output_samples(n, false)), [0, 0, 1, 1, 2, 16]);
    }

    #[test]
    fn invalid_filters_are_refused() {
        let refused = |rate_in, rate_out, cutoff, zeros| LinearResample::new(rate_in, rate_out, cutoff, zeros).is_err();
        assert!(refused(16000, 4000, 2001.0, 1) && refused(16000, 4000, 0.0, 1) && refused(16000, 4000, f32::NAN, 1));
        let factor = LinearResample::for_waveform(15.0, 16000.0).unwrap_err().to_string();
        assert!(factor.contains("from 15 Hz to 16000 Hz") && factor.contains("1000"), "{factor}");
        assert!(LinearResample::for_waveform(16.0, 16000.0).is_ok());
        assert!(refused(16000, 4000, 1000.0, 0) && refused(0, 4000, 1000.0, 1) && refused(16000, 0, 1000.0, 1));
        assert!(refused(9_999_991, 9_999_973, 1.0, 6));
        assert!(LinearResample::for_waveform(f32::INFINITY, 16000.0).is_err());
    }

    fn rates() -> impl Strategy<Value = (u32, u32, f32, i32)> {
        (
            prop::sample::select(&[100_u32, 3, 8000, 11025, 16000, 22050][..]),
            1..6_u32,
            1..6_u32,
            0.2..=1.0_f32,
            1..8_i32,
        )
            .prop_map(|(base, a, b, part, zeros)| (base * a, base * b, part * 0.5 * (base * a.min(b)) as f32, zeros))
    }

    proptest! {
        #[test]
        fn chunked_resampling_equals_whole_and_kaldis_sum(
            (rate_in, rate_out, cutoff, zeros) in rates(),
            signal in prop::collection::vec(-1000.0..1000.0_f32, 0..300),
            cuts in prop::collection::vec(0..60_usize, 0..20),
        ) {
            let resampler = LinearResample::new(rate_in, rate_out, cutoff, zeros).unwrap();
            let whole = resampler.resample(&signal);
            let mut stream = ResampleStream::new(resampler.clone());
            let (mut out, mut rest) = (Vec::new(), &signal[..]);
            for cut in cuts {
                let chunk;
                (chunk, rest) = rest.split_at(cut.min(rest.len()));
                stream.accept(chunk, &mut out);
                prop_assert_eq!(out.len(), resampler.num_output_samples(signal.len() - rest.len(), false));
            }
            stream.accept(rest, &mut out);
            stream.finish(&mut out);
            prop_assert_eq!(&out, &whole);
            prop_assert_eq!(&stream, &ResampleStream::new(resampler.clone()));

            // Times are rounded to single precision: relative to the filter's length this moves a
            // weight by 1e-6 of the largest.
            let expected = naive(&resampler, f64::from(cutoff), f64::from(zeros), &signal);
            let gain = 2.0 * f64::from(cutoff) / f64::from(rate_in);
            let scale = 1000.0 * gain * (f64::from(zeros) / gain + 2.0);
            for (i, (&a, &b)) in whole.iter().zip(&expected).enumerate() {
                prop_assert!((f64::from(a) - b).abs() < 1e-5 * scale, "sample {i}: {a} for {b}");
            }
        }
    }
}
