//! Values of a signal at arbitrary times.

use std::ops::Range;

use kaldi_matrix::{MatrixBase, Storage, StorageMut};

use crate::error::Error;
use crate::resample::sinc::WindowedSinc;

/// Interpolates a short signal between its samples: at times that are given once, by a sinc of the
/// given cutoff under a Hann window.
///
/// It is for many signals of one length: Kaldi takes the correlation of a frame, measured at whole
/// numbers of samples, to evenly spaced pitches with it.
///
/// ```
/// use kaldi_feat::ArbitraryResample;
///
/// let at = ArbitraryResample::new(8, 1000.0, 500.0, &[0.002, 0.0035], 5)?;
/// let mut values = [0.0; 2];
/// at.resample(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &mut values)?;
/// assert!((values[0] - 2.0).abs() < 1e-6); // sample 2 itself
/// assert!((values[1] - 3.5).abs() < 0.5);  // between two samples, and not far from the ends
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ArbitraryResample {
    num_samples_in: usize,
    /// For each output, its first input sample, and the range of its weights.
    outputs: Vec<(usize, Range<usize>)>,
    weights: Vec<f32>,
}

impl ArbitraryResample {
    /// Creates a resampler for signals of `num_samples_in` samples at `samp_rate_in` Hz, the first
    /// at time 0. It gives their values at `sample_points`, in seconds. The filter cuts off at
    /// `filter_cutoff` Hz (at most half of the sample rate) and has `num_zeros` zeros on each side.
    /// Samples outside of the signal count as zeros.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if such a filter is impossible.
    pub fn new(
        num_samples_in: usize,
        samp_rate_in: f32,
        filter_cutoff: f32,
        sample_points: &[f32],
        num_zeros: i32,
    ) -> Result<Self, Error> {
        let sinc = WindowedSinc::new(filter_cutoff, num_zeros)?;
        if !(samp_rate_in.is_finite() && f64::from(filter_cutoff) * 2.0 <= f64::from(samp_rate_in)) {
            let expected = "at most half of the sample rate";
            return Err(Error::BadFilter { what: "cutoff in Hz", value: filter_cutoff, expected });
        }
        let half_width = sinc.half_width() as f32;
        let (mut outputs, mut weights) = (Vec::with_capacity(sample_points.len()), Vec::new());
        for &t in sample_points {
            if !t.is_finite() {
                return Err(Error::BadFilter { what: "time in seconds", value: t, expected: "a finite number" });
            }
            let first = (samp_rate_in * (t - half_width)).ceil().max(0.0) as usize;
            let end = ((samp_rate_in * (t + half_width)).floor() + 1.0).max(0.0) as usize;
            let (first, end) = (first.min(num_samples_in), end.min(num_samples_in));
            let begin = weights.len();
            weights.extend((first..end).map(|i| sinc.at(t - i as f32 / samp_rate_in) / samp_rate_in));
            outputs.push((first, begin..weights.len()));
        }
        Ok(Self { num_samples_in, outputs, weights })
    }

    /// Returns the number of samples in a signal.
    #[doc(alias = "NumSamplesIn")]
    pub fn num_samples_in(&self) -> usize {
        self.num_samples_in
    }

    /// Returns the number of times for which it gives values.
    #[doc(alias = "NumSamplesOut")]
    pub fn num_samples_out(&self) -> usize {
        self.outputs.len()
    }

    /// Returns the first input sample of value `i`, and one weight for each sample from there on.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn weights(&self, i: usize) -> (usize, &[f32]) {
        let (first, weights) = &self.outputs[i];
        (*first, &self.weights[weights.clone()])
    }

    /// Computes value `i` of a signal.
    pub(crate) fn value(&self, i: usize, signal: &[f32]) -> f32 {
        let (first, weights) = self.weights(i);
        signal[first..].iter().zip(weights).fold(0.0, |sum, (x, w)| sum + x * w)
    }

    /// Computes the values of one signal.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the signal or `values` has another length.
    #[doc(alias = "Resample")]
    pub fn resample(&self, signal: &[f32], values: &mut [f32]) -> Result<(), Error> {
        check("the signal", self.num_samples_in, signal.len())?;
        check("the output", self.outputs.len(), values.len())?;
        for (i, value) in values.iter_mut().enumerate() {
            *value = self.value(i, signal);
        }
        Ok(())
    }

    /// Computes the values of several signals, one in each row.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if a dimension doesn't fit.
    pub fn resample_rows(
        &self,
        signals: &MatrixBase<impl Storage<Elem = f32>>,
        values: &mut MatrixBase<impl StorageMut<Elem = f32>>,
    ) -> Result<(), Error> {
        if signals.num_rows() != values.num_rows() {
            let (expected, found) = (signals.num_rows(), values.num_rows());
            return Err(Error::DimMismatch { what: "the transposed output", expected, found });
        }
        for (r, signal) in signals.rows().enumerate() {
            self.resample(signal, values.row_data_mut(r))?;
        }
        Ok(())
    }
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::DimMismatch { what, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smooth_signal_is_found_between_its_samples() {
        let f = |t: f32| (t * 200.0 * std::f32::consts::TAU).sin();
        let signal: Vec<f32> = (0..100).map(|i| f(i as f32 / 4000.0)).collect();
        let points: Vec<f32> = (0..300).map(|i| 0.005 + i as f32 * 0.00005).collect();
        let at = ArbitraryResample::new(100, 4000.0, 2000.0, &points, 5).unwrap();
        let mut values = vec![0.0; 300];
        at.resample(&signal, &mut values).unwrap();
        for (t, value) in points.iter().zip(values) {
            assert!((value - f(*t)).abs() < 0.01, "{value} for {} at {t}", f(*t));
        }
    }

    #[test]
    fn times_outside_have_no_samples() {
        let at = ArbitraryResample::new(3, 1000.0, 500.0, &[-1.0, 1.0, 0.001], 2).unwrap();
        let mut values = [5.0; 3];
        at.resample(&[1.0, 2.0, 3.0], &mut values).unwrap();
        assert_eq!(values[..2], [0.0, 0.0]);
        assert!((values[2] - 2.0).abs() < 1e-6);
        assert!(at.resample(&[1.0, 2.0], &mut values).is_err());
        assert!(ArbitraryResample::new(3, 1000.0, 501.0, &[], 2).is_err());
        assert!(ArbitraryResample::new(3, 1000.0, 500.0, &[f32::NAN], 2).is_err());
        assert!(ArbitraryResample::new(0, 1000.0, 500.0, &[0.0], 2).is_ok());
    }
}
