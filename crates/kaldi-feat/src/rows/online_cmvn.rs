//! Mean and variance normalisation of a stream, with earlier statistics of the speaker.

use crate::error::Error;
use crate::rows::cmvn::CmvnStats;
use crate::rows::queue::RowQueue;
use crate::rows::stream::{RowStream, check_row};
use crate::state::{StateReader, StateWriter};

/// Options of the normalisation of streams. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct OnlineCmvnOptions {
    /// The largest number of frames in a frame's statistics: the frame and the frames before it.
    pub cmn_window: i32,
    /// The largest number of frames that the speaker's statistics count for while the window is not
    /// full.
    pub speaker_frames: i32,
    /// The largest number of frames that the global statistics count for if it is still not full.
    pub global_frames: i32,
    /// Make the mean 0.
    pub normalize_mean: bool,
    /// Make the variance 1, too.
    pub normalize_variance: bool,
    /// The energy (first element) up to which a frame has the statistics of the frame before it,
    /// filled up once more; its own count for later frames. Kaldi has no such option; the Kaldi
    /// that Vosk is built with has it, with 50.
    pub cmn_min_energy: Option<f32>,
}

/// Normalises each row by the statistics of itself and of the rows before it, filled up with the
/// speaker's statistics and the global ones: no row has to wait for a later one.
///
/// ```
/// use kaldi_feat::{CmvnStats, OnlineCmvn, OnlineCmvnOptions, RowStream};
/// use kaldi_matrix::Matrix;
///
/// // 100 frames of mean 10.
/// let world = CmvnStats::from_matrix(Matrix::from_vec(2, 2, vec![1000.0, 100.0, 20000.0, 0.0])?)?;
/// let mut cmvn = OnlineCmvn::new(OnlineCmvnOptions::default().with_global_frames(1), world)?;
/// let mut out = Vec::new();
/// cmvn.accept(&[12.0], &mut out)?;
/// assert_eq!(out, [1.0]); // 12 less the mean of 10 and 12
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineCmvn {
    options: OnlineCmvnOptions,
    global: CmvnStats,
    speaker: Option<CmvnStats>,
    frozen: Option<CmvnStats>,
    /// The rows of the window.
    rows: RowQueue,
    /// Their sums and squares.
    sums: CmvnStats,
    /// The statistics of the last row, filled up.
    last: CmvnStats,
}

impl OnlineCmvn {
    /// Creates the normalisation with the statistics of many speakers.
    ///
    /// # Errors
    /// For a window of no frames, negative numbers of frames, and variances without means; for a
    /// least energy that is NaN, or has no global statistics to begin with;
    /// [`Error::NoVarianceStats`] for global statistics without variances; [`Error::TooFewFrames`]
    /// for global statistics of no frames.
    pub fn new(options: OnlineCmvnOptions, global: CmvnStats) -> Result<Self, Error> {
        for (option, value, least) in [
            ("cmn_window", options.cmn_window, 1),
            ("speaker_frames", options.speaker_frames, 0),
            ("global_frames", options.global_frames, 0),
        ] {
            if value < least {
                return Err(Error::bad_option(option, value, format!("{least} or more")));
            }
        }
        if options.normalize_variance && !options.normalize_mean {
            return Err(Error::bad_option("normalize_variance", true, "false where `normalize_mean` is"));
        }
        if let Some(least) = options.cmn_min_energy {
            if least.is_nan() {
                return Err(Error::bad_option("cmn_min_energy", least, "a number"));
            }
            if options.global_frames == 0 {
                return Err(Error::bad_option("global_frames", 0, "1 or more where `cmn_min_energy` is set"));
            }
        }
        check_stats(&global, global.dim())?;
        let dim = global.dim();
        let (rows, sums) = (RowQueue::new(dim), CmvnStats::new(dim));
        let last = sums.clone();
        Ok(Self { options, global, speaker: None, frozen: None, rows, sums, last })
    }

    /// Sets the statistics of the speaker's earlier speech; `None` for a new speaker.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if they are of other features, [`Error::NoVarianceStats`] without
    /// variances, [`Error::TooFewFrames`] if they are of no frames.
    pub fn set_speaker(&mut self, stats: Option<CmvnStats>) -> Result<(), Error> {
        if let Some(stats) = &stats {
            check_stats(stats, self.global.dim())?;
        }
        self.speaker = stats;
        Ok(())
    }

    /// Keeps the statistics unchanged from here on.
    pub fn freeze(&mut self) {
        self.frozen = Some(self.filled_up(&self.sums));
    }

    /// Returns statistics, filled up with the speaker's and the global ones.
    fn filled_up(&self, stats: &CmvnStats) -> CmvnStats {
        let mut stats = stats.clone();
        let window = f64::from(self.options.cmn_window);
        let speaker =
            self.speaker.as_ref().map(|stats| (stats, f64::from(self.options.speaker_frames).min(stats.count())));
        let global = Some((&self.global, f64::from(self.options.global_frames)));
        for (from, most) in [speaker, global].into_iter().flatten() {
            let frames = (window - stats.count()).min(most);
            if frames > 0.0 {
                stats.add_scaled(from, frames / from.count());
            }
        }
        stats
    }

    fn identity(&self) -> String {
        format!("{:?} {}", self.options, self.global.dim())
    }
}

fn check_stats(stats: &CmvnStats, dim: usize) -> Result<(), Error> {
    if stats.dim() != dim {
        return Err(Error::DimMismatch { what: "the statistics", expected: dim, found: stats.dim() });
    }
    if stats.matrix().num_rows() < 2 {
        return Err(Error::NoVarianceStats);
    }
    let count = stats.count();
    if count > 0.0 { Ok(()) } else { Err(Error::TooFewFrames { count }) }
}

impl RowStream for OnlineCmvn {
    fn input_dim(&self) -> usize {
        self.global.dim()
    }

    fn output_dim(&self) -> usize {
        self.global.dim()
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        check_row(row, self.global.dim())?;
        self.rows.push(row);
        self.sums.add_row_exactly(row, 1.0);
        if self.rows.end() - self.rows.first() > u64::from(self.options.cmn_window.unsigned_abs()) {
            let oldest = self.rows.first();
            if let Some(row) = self.rows.get(oldest) {
                self.sums.add_row_exactly(row, -1.0);
            }
            self.rows.discard(oldest + 1);
        }
        if !self.options.normalize_mean {
            out.extend_from_slice(row);
            return Ok(());
        }
        if self.frozen.is_none() {
            let is_loud = self.options.cmn_min_energy.is_none_or(|least| row[0] > least);
            self.last = self.filled_up(if is_loud { &self.sums } else { &self.last });
        }
        let stats = self.frozen.as_ref().unwrap_or(&self.last);
        let norm_vars = self.options.normalize_variance;
        out.extend(row.iter().enumerate().map(|(d, &x)| {
            let (scale, offset) = stats.scale_and_offset(d, norm_vars, false);
            x * scale + offset
        }));
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<f32>) {
        let dim = self.global.dim();
        (self.rows, self.sums, self.frozen) = (RowQueue::new(dim), CmvnStats::new(dim), None);
        self.last = self.sums.clone();
    }

    fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(*b"cmvn    ", &self.identity());
        self.rows.save(&mut state);
        let nothing = CmvnStats::new(0);
        for stats in
            [Some(&self.sums), Some(&self.last), Some(&self.global), self.speaker.as_ref(), self.frozen.as_ref()]
        {
            // Statistics of no columns stand for none.
            state.f64s(stats.unwrap_or(&nothing).matrix().data());
        }
        state.finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, *b"cmvn    ", &self.identity())?;
        let dim = self.global.dim();
        let rows = RowQueue::restore(dim, &mut state)?;
        let mut stats = || CmvnStats::from_slice(dim, &state.f64s()?);
        let [sums, last, global, speaker, frozen] = [stats()?, stats()?, stats()?, stats()?, stats()?];
        state.finish()?;
        let (Some(sums), Some(last), Some(global)) = (sums, last, global) else {
            return Err(Error::BadState { reason: "it has no statistics" });
        };
        *self = Self { options: self.options.clone(), global, speaker, frozen, rows, sums, last };
        Ok(())
    }
}
