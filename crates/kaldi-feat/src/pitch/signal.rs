//! The resampled signal: its frames and its loudness.

use crate::audio::samples::Samples;
use crate::error::Error;
use crate::pitch::grid::Grid;
use crate::resample::{LinearResample, ResampleState};
use crate::state::{StateReader, StateWriter};

/// The part of the resampled signal that later frames may need.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Signal {
    resampling: ResampleState,
    wave: Vec<f32>,
    /// The number of the first sample of `wave`.
    start: usize,
}

impl Signal {
    pub(super) fn new(resampler: &LinearResample) -> Self {
        Self { resampling: ResampleState::new(resampler), wave: Vec::new(), start: 0 }
    }

    /// Goes back to the empty signal, in the memory that it has.
    pub(super) fn restart(&mut self, resampler: &LinearResample) {
        self.resampling.restart(resampler);
        self.wave.clear();
        self.start = 0;
    }

    /// Resamples the next samples; without any, the rest.
    pub(super) fn append(&mut self, resampler: &LinearResample, samples: Option<Samples<'_>>) {
        match samples {
            Some(samples) => self.resampling.accept(resampler, samples, &mut self.wave),
            None => self.resampling.finish(resampler, &mut self.wave),
        }
    }

    /// Returns the number of resampled samples so far.
    pub(super) fn len(&self) -> usize {
        self.start + self.wave.len()
    }

    /// Returns the resampled samples in `from..to` that are still there.
    pub(super) fn part(&self, from: usize, to: usize) -> &[f32] {
        let [from, to] = [from, to].map(|at| at.saturating_sub(self.start).min(self.wave.len()));
        &self.wave[from..to.max(from)]
    }

    /// Writes a frame, with silence outside of the signal. `room` is longer than the frame, so that
    /// whole vectors can be read.
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

    /// Forgets samples that frames from `next_frame` on don't need.
    pub(super) fn forget_before(&mut self, grid: &Grid, next_frame: usize) {
        let needed = grid.first_sample(next_frame).max(0).cast_unsigned();
        let done = needed.saturating_sub(self.start).min(self.wave.len());
        // Moving the rest costs as much as it is long, so it is moved only when that pays.
        if done >= self.wave.len() / 2 {
            self.wave.drain(..done);
            self.start += done;
        }
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        self.resampling.save(state);
        state.u64(self.start as u64);
        state.f32s(&self.wave);
    }

    pub(super) fn restore(resampler: &LinearResample, state: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self { resampling: ResampleState::restore(resampler, state)?, start: state.usize()?, wave: state.f32s()? })
    }
}

/// The loudness of a signal so far.
///
/// Samples are added up in sums of every eighth one, by their number in the signal, so that the
/// result does not depend on the chunks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Loudness {
    count: usize,
    sums: [f64; SUMS],
    squares: [f64; SUMS],
}

const SUMS: usize = 8;

impl Loudness {
    pub(super) fn add(&mut self, samples: &[f32]) {
        let to_whole = self.count.wrapping_neg() % SUMS;
        let (head, rest) = samples.split_at(to_whole.min(samples.len()));
        let (eights, tail) = rest.as_chunks::<SUMS>();
        self.add_few(head);
        for eight in eights {
            for ((sum, square), &x) in self.sums.iter_mut().zip(&mut self.squares).zip(eight) {
                let x = f64::from(x);
                *sum += x;
                *square += x * x;
            }
        }
        self.count += SUMS * eights.len();
        self.add_few(tail);
    }

    fn add_few(&mut self, samples: &[f32]) {
        for &x in samples {
            let (at, x) = (self.count % SUMS, f64::from(x));
            self.sums[at] += x;
            self.squares[at] += x * x;
            self.count += 1;
        }
    }

    /// Returns the mean of the squares minus the square of the mean; 0 without samples.
    pub(super) fn mean_square(&self) -> f64 {
        let count = self.count.max(1) as f64;
        let [sum, square] = [self.sums, self.squares].map(|sums| sums.iter().sum::<f64>());
        square / count - (sum / count).powi(2)
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        state.u64(self.count as u64);
        state.f64s(&self.sums);
        state.f64s(&self.squares);
    }

    pub(super) fn restore(state: &mut StateReader<'_>) -> Result<Self, Error> {
        let (count, sums, squares) = (state.usize()?, state.f64s()?, state.f64s()?);
        let bad = |_| Error::BadState { reason: "its sums are not those of such a stream" };
        Ok(Self { count, sums: sums.try_into().map_err(bad)?, squares: squares.try_into().map_err(bad)? })
    }
}
