//! Data that an extraction of pitch computes once.

use crate::error::Error;
use crate::pitch::grid::Grid;
use crate::pitch::options::PitchExtractionOptions;
use crate::pitch::viterbi::Transitions;
use crate::resample::LinearResample;

/// Data that depends only on the options.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) options: PitchExtractionOptions,
    pub(super) resampler: LinearResample,
    pub(super) grid: Grid,
    pub(super) transitions: Transitions,
    /// The option of this name; 0 if nothing is found anew.
    pub(super) recompute_frame: usize,
}

impl Plan {
    pub(super) fn new(options: PitchExtractionOptions) -> Result<Self, Error> {
        options.check()?;
        let resampler = LinearResample::new(
            options.samp_freq as u32,
            options.resample_freq as u32,
            options.lowpass_cutoff,
            options.lowpass_filter_width,
        )?;
        let grid = Grid::new(&options)?;
        let step_squared = (1.0 + f64::from(options.delta_pitch)).ln().powi(2) as f32;
        let transitions = Transitions::new(grid.lags.len(), step_squared * options.penalty_factor);
        let recompute_frame = usize::try_from(options.recompute_frame).unwrap_or(0);
        Ok(Self { resampler, grid, transitions, recompute_frame, options })
    }

    /// Returns `true` if the first frames are found anew when more is known.
    pub(super) fn recomputes(&self) -> bool {
        !self.options.nccf_ballast_online
    }

    /// Returns the ballast in frames of a signal of this mean square.
    pub(super) fn ballast(&self, mean_square: f64) -> f32 {
        let energy = mean_square * self.grid.window_size as f64;
        (energy * energy * f64::from(self.options.nccf_ballast)) as f32
    }

    /// Returns a text that differs for other options.
    pub(super) fn fingerprint(&self) -> String {
        format!("{:?}", self.options)
    }
}
