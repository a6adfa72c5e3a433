//! Frames and lags in samples, and the interpolation from measured lags to the lags of pitches.

use kaldera_base::simd::{MAX_LANES, Simd};

use crate::error::Error;
use crate::pitch::options::PitchExtractionOptions;
use crate::resample::arbitrary::ArbitraryResample;

/// The options in samples at the resampled rate.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) window_shift: usize,
    pub(super) window_size: usize,
    /// Lags of `first_lag` .. `first_lag + num_measured` samples are measured.
    pub(super) first_lag: usize,
    pub(super) num_measured: usize,
    /// Length of the window and the longest lag.
    pub(super) full_length: usize,
    snip_edges: bool,
    /// The lags that stand for pitches, in seconds, each longer than the one before it by
    /// `delta-pitch`.
    pub(super) lags: Vec<f32>,
    /// Resamples from measured lags to `lags`.
    pub(super) resampler: ArbitraryResample,
    interpolation: Interpolation,
    /// `soft-min-f0` times the lag, padded with zeros to whole vectors.
    pub(super) soft_lags: Vec<f32>,
}

impl Grid {
    pub(super) fn new(options: &PitchExtractionOptions) -> Result<Self, Error> {
        let rate = options.resample_freq;
        let (first, last) = options.measured_lags();
        let (first_lag, last_lag) = (first as usize, last as usize);
        let num_measured = last_lag + 1 - first_lag;
        let lags = lags(options);
        // The correlation is a signal that begins at the first lag.
        let start = -(first_lag as f32) / rate;
        let points: Vec<f32> = lags.iter().map(|lag| lag + start).collect();
        let resampler = ArbitraryResample::new(num_measured, rate, rate * 0.5, &points, options.upsample_filter_width)?;
        let padded = lags.len().next_multiple_of(MAX_LANES);
        let soft_lags = (0..padded).map(|i| lags.get(i).map_or(0.0, |lag| options.soft_min_f0 * lag)).collect();
        Ok(Self {
            window_shift: options.window_shift(),
            window_size: options.window_size(),
            first_lag,
            num_measured,
            full_length: options.window_size() + last_lag,
            snip_edges: options.snip_edges,
            interpolation: Interpolation::new(&resampler),
            lags,
            resampler,
            soft_lags,
        })
    }

    /// Returns the length of a row of measured correlations, rounded up to whole vectors.
    pub(super) fn measured_row(&self) -> usize {
        self.num_measured.next_multiple_of(MAX_LANES)
    }

    /// Returns the number of frames of so many resampled samples. While audio still arrives, a
    /// frame waits for its longest lag.
    pub(super) fn num_frames(&self, num_samples: usize, input_finished: bool) -> usize {
        let length = if input_finished { self.window_size } else { self.full_length };
        if num_samples < length {
            0
        } else if self.snip_edges {
            (num_samples - length) / self.window_shift + 1
        } else {
            // In single precision, as Kaldi counts.
            let count = |samples: usize| (samples as f32 / self.window_shift as f32 + 0.5) as usize;
            if input_finished {
                count(num_samples)
            } else {
                // For odd lengths Kaldi asks for a frame a sample too early, and dies.
                let whole = (num_samples + self.window_shift.div_ceil(2) - length.div_ceil(2)) / self.window_shift;
                count(num_samples - length / 2).min(whole)
            }
        }
    }

    /// Returns the first resampled sample of a frame. It is before 0 for the first frames if edges
    /// are not snipped.
    pub(super) fn first_sample(&self, frame: usize) -> isize {
        let start = frame * self.window_shift;
        if self.snip_edges {
            start.cast_signed()
        } else {
            (start + self.window_shift / 2).cast_signed() - (self.full_length / 2).cast_signed()
        }
    }

    /// Computes the correlations at the pitches' lags from `first` on (a multiple of the number of
    /// lanes), from the correlations at measured lags.
    #[inline(always)]
    pub(super) fn at_lags<S: Simd>(&self, s: S, measured: &[f32], first: usize) -> S::F32 {
        self.interpolation.at(s, measured, first)
    }
}

/// Returns the lags from the period of the highest pitch to the period of the lowest. The repeated
/// product gives Kaldi's number of lags.
fn lags(options: &PitchExtractionOptions) -> Vec<f32> {
    let [shortest, longest] = [options.max_f0, options.min_f0].map(|f0| (1.0 / f64::from(f0)) as f32);
    let longer = |lag: &f32| {
        let next = (f64::from(*lag) * (1.0 + f64::from(options.delta_pitch))) as f32;
        // If the step is too small, there is no next lag.
        (next > *lag && next <= longest).then_some(next)
    };
    std::iter::successors(Some(shortest), longer).collect()
}

/// A resampler's weights in the order in which lanes of neighbouring lags need them.
#[derive(Debug)]
struct Interpolation {
    /// For each [`MAX_LANES`] lags: the first measured lag that any of them needs, and the range of
    /// their rows of weights.
    blocks: Vec<(usize, std::ops::Range<usize>)>,
    /// For one measured lag, its weight for each of [`MAX_LANES`] lags.
    rows: Vec<[f32; MAX_LANES]>,
}

impl Interpolation {
    fn new(resampler: &ArbitraryResample) -> Self {
        let (mut blocks, mut rows) = (Vec::new(), Vec::new());
        let outputs: Vec<_> = (0..resampler.num_samples_out()).map(|i| resampler.weights(i)).collect();
        for lanes in outputs.chunks(MAX_LANES) {
            let first = lanes.iter().map(|(first, _)| *first).min().unwrap_or(0);
            let end = lanes.iter().map(|(first, weights)| first + weights.len()).max().unwrap_or(first);
            let begin = rows.len();
            rows.extend((first..end).map(|i| {
                let mut row = [0.0; MAX_LANES];
                for (to, (first, weights)) in row.iter_mut().zip(lanes) {
                    *to = i.checked_sub(*first).and_then(|i| weights.get(i)).copied().unwrap_or(0.0);
                }
                row
            }));
            blocks.push((first, begin..rows.len()));
        }
        Self { blocks, rows }
    }

    #[inline(always)]
    fn at<S: Simd>(&self, s: S, measured: &[f32], first: usize) -> S::F32 {
        let (block, lane) = (first / MAX_LANES, first % MAX_LANES);
        let (first, rows) = &self.blocks[block];
        let mut sum = s.splat(0.0);
        for (row, &x) in self.rows[rows.clone()].iter().zip(&measured[*first..]) {
            sum = s.mul_add(s.load(&row[lane..]), s.splat(x), sum);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_grid_is_kaldis() {
        let grid = Grid::new(&PitchExtractionOptions::default()).unwrap();
        assert_eq!(grid.lags.len(), 417);
        assert_eq!((grid.window_size, grid.window_shift, grid.full_length), (100, 40, 182));
        assert_eq!((grid.first_lag, grid.num_measured), (8, 75));
        // While audio arrives, and at its end.
        assert_eq!([181, 182, 221, 222].map(|n| grid.num_frames(n, false)), [0, 1, 1, 2]);
        assert_eq!([99, 100, 139, 140].map(|n| grid.num_frames(n, true)), [0, 1, 1, 2]);
        assert_eq!(grid.first_sample(3), 120);
    }

    #[test]
    fn frames_with_edges_depend_on_the_shift() {
        let options = PitchExtractionOptions { snip_edges: false, ..Default::default() };
        let grid = Grid::new(&options).unwrap();
        assert_eq!([99, 100, 140].map(|n| grid.num_frames(n, true)), [0, 3, 4]);
        assert_eq!(grid.first_sample(0), 20 - 91);
    }
}
