//! The resampled signal: its frames and its loudness.

use super::grid::Grid;
use crate::error::Error;
use crate::frames::Samples;
use crate::resample::{LinearResample, ResampleStream};
use crate::state::{StateReader, StateWriter};

/// The part of the resampled signal that frames to come may need.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Signal {
    resampler: ResampleStream,
    wave: Vec<f32>,
    /// The number of the first sample of `wave`.
    start: usize,
}

impl Signal {
    pub(super) fn new(resampler: &LinearResample) -> Self {
        Self { resampler: ResampleStream::new(resampler), wave: Vec::new(), start: 0 }
    }

    /// Resamples the next samples; without any, the rest.
    pub(super) fn append(&mut self, resampler: &LinearResample, samples: Option<Samples<'_>>) {
        match samples {
            Some(samples) => self.resampler.resample(resampler, samples, &mut self.wave),
            None => self.resampler.flush(resampler, &mut self.wave),
        }
    }

    /// Resampled samples so far.
    pub(super) fn len(&self) -> usize {
        self.start + self.wave.len()
    }

    /// Resampled samples from one to before another; those that are there.
    pub(super) fn part(&self, from: usize, to: usize) -> &[f32] {
        let [from, to] = [from, to].map(|at| at.saturating_sub(self.start).min(self.wave.len()));
        &self.wave[from..to.max(from)]
    }

    /// Writes a frame, with silence for what lies outside of the signal. `room` is longer than the frame by what reading whole
    /// vectors takes.
    #[inline]
    pub(super) fn copy_frame(&self, grid: &Grid, frame: usize, preemph_coeff: f32, room: &mut [f32]) {
        let first = grid.first_sample(frame);
        let before = first.min(0).unsigned_abs().min(grid.full_length);
        let from = first.max(0).cast_unsigned();
        let inside = self.part(from, from + grid.full_length - before);
        let end = before + inside.len();
        room[..before].fill(0.0);
        room[before..end].copy_from_slice(inside);
        room[end..].fill(0.0);
        if preemph_coeff != 0.0 {
            for i in (before + 1..end).rev() {
                room[i] -= preemph_coeff * room[i - 1];
            }
            if let Some(x) = room[before..end].first_mut() {
                *x = (f64::from(*x) * (1.0 - f64::from(preemph_coeff))) as f32;
            }
        }
    }

    /// Forgets what frames from `next_frame` on don't need.
    pub(super) fn forget_before(&mut self, grid: &Grid, next_frame: usize) {
        let needed = grid.first_sample(next_frame).max(0).cast_unsigned();
        let done = needed.saturating_sub(self.start).min(self.wave.len());
        // Moving what is left costs as much as it is long: not more often than it pays.
        if done >= self.wave.len() / 2 {
            self.wave.drain(..done);
            self.start += done;
        }
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        self.resampler.save(state);
        state.u64(self.start as u64);
        state.f32s(&self.wave);
    }

    pub(super) fn restore(resampler: &LinearResample, state: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self { resampler: ResampleStream::restore(resampler, state)?, start: state.usize()?, wave: state.f32s()? })
    }
}

/// How loud a signal is so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Loudness {
    count: usize,
    sum: f64,
    sum_of_squares: f64,
}

impl Loudness {
    pub(super) fn add(&mut self, samples: &[f32]) {
        let (mut sums, mut squares) = ([0.0; 8], [0.0; 8]);
        let (eights, rest) = samples.as_chunks::<8>();
        for eight in eights {
            for ((sum, square), &x) in sums.iter_mut().zip(&mut squares).zip(eight) {
                let x = f64::from(x);
                *sum += x;
                *square += x * x;
            }
        }
        for &x in rest {
            let x = f64::from(x);
            sums[0] += x;
            squares[0] += x * x;
        }
        self.count += samples.len();
        self.sum += sums.iter().sum::<f64>();
        self.sum_of_squares += squares.iter().sum::<f64>();
    }

    /// The mean of the squares, less the square of the mean; 0 of nothing.
    pub(super) fn mean_square(&self) -> f64 {
        let count = self.count.max(1) as f64;
        self.sum_of_squares / count - (self.sum / count).powi(2)
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        state.u64(self.count as u64);
        state.f64(self.sum);
        state.f64(self.sum_of_squares);
    }

    pub(super) fn restore(state: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self { count: state.usize()?, sum: state.f64()?, sum_of_squares: state.f64()? })
    }
}
