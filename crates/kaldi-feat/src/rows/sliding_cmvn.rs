//! Mean and variance normalisation over a moving window.

use kaldi_matrix::{Matrix, MatrixBase, Storage};

use crate::error::Error;
use crate::rows::queue::RowQueue;
use crate::rows::stream::{RowStream, check_row};
use crate::rows::window::zeros;
use crate::state::{StateReader, StateWriter};

/// Options of the moving normalisation. Names and defaults are Kaldi's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct SlidingWindowCmnOptions {
    /// Number of frames in the window. Without `center` it has these and the frame itself.
    pub cmn_window: i32,
    /// The least number of frames in the window at the beginning, filled up with later frames. No
    /// effect on a centred window.
    pub min_window: i32,
    /// The largest number of warnings about variances of 0 in Kaldi. No effect here.
    pub max_warnings: i32,
    /// Makes the variance 1, too.
    pub normalize_variance: bool,
    /// Puts the frame in the middle of the window, rather than at its end.
    pub center: bool,
}

/// The variance floor: lower variances are raised to it.
const VARIANCE_FLOOR: f64 = 1e-10;

/// Subtracts from each row the mean of the rows in a window around or before it, and with
/// `normalize_variance` divides by their deviation.
#[derive(Debug, Clone)]
pub struct SlidingWindowCmn {
    options: SlidingWindowCmnOptions,
    window: u64,
    min_window: u64,
}

impl SlidingWindowCmn {
    /// Checks the options.
    ///
    /// # Errors
    /// For a window of no frames.
    pub fn new(options: SlidingWindowCmnOptions) -> Result<Self, Error> {
        let window = u64::try_from(options.cmn_window).unwrap_or(0);
        if window == 0 {
            return Err(Error::bad_option("cmn_window", options.cmn_window, "a number of frames, 1 or more"));
        }
        let min_window = u64::try_from(options.min_window).unwrap_or(0);
        if min_window == 0 && !options.center {
            return Err(Error::bad_option("min_window", options.min_window, "a number of frames, 1 or more"));
        }
        Ok(Self { options, window, min_window })
    }

    /// Returns the window of frame `t`, from its first frame to one after its last, as if the
    /// utterance went on for ever.
    fn wanted(&self, t: u64) -> (u64, u64) {
        if self.options.center {
            let begin = t.saturating_sub(self.window / 2);
            (begin, begin + self.window)
        } else {
            (t.saturating_sub(self.window), (t + 1).max(self.min_window))
        }
    }

    /// Returns the window of frame `t` of an utterance of `frames` frames: moved to the left if it
    /// goes beyond the end, and cut.
    fn within(&self, t: u64, frames: u64) -> (u64, u64) {
        let (begin, end) = self.wanted(t);
        (begin.saturating_sub(end.saturating_sub(frames)), end.min(frames))
    }

    /// Computes the rows of a whole utterance.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they are more than memory can hold.
    pub fn compute(&self, features: &MatrixBase<impl Storage<Elem = f32>>) -> Result<Matrix<f32>, Error> {
        let frames = features.num_rows();
        let mut out = zeros(frames, features.num_cols())?;
        let mut sums = Sums::new(features.num_cols());
        for (t, to) in out.rows_mut().enumerate() {
            let (begin, end) = self.within(t as u64, frames as u64);
            sums.move_to(begin, end, |i| features.row_data(i as usize));
            sums.normalise(&self.options, features.row_data(t), to);
        }
        Ok(out)
    }

    /// Creates a stream for rows of `dim` columns that arrive one by one. Its output
    /// equals the rows of [`compute`](Self::compute) bit for bit. It holds as many rows as the
    /// window has.
    pub fn stream(&self, dim: usize) -> SlidingWindowCmnStream {
        let cmn = self.clone();
        SlidingWindowCmnStream { cmn, dim, held: RowQueue::new(dim), emitted: 0, sums: Sums::new(dim) }
    }
}

/// The sums over the frames of a window.
#[derive(Debug, Clone)]
struct Sums {
    begin: u64,
    end: u64,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn new(dim: usize) -> Self {
        Self { begin: 0, end: 0, sum: vec![0.0; dim], squares: vec![0.0; dim] }
    }

    /// Adds the frames that a later window gains, and subtracts the frames that it loses.
    fn move_to<'a>(&mut self, begin: u64, end: u64, row: impl Fn(u64) -> &'a [f32]) {
        for frame in self.begin..begin.min(self.end) {
            self.add(row(frame), -1.0);
        }
        for frame in self.end.max(begin)..end {
            self.add(row(frame), 1.0);
        }
        (self.begin, self.end) = (begin, end);
    }

    fn add(&mut self, row: &[f32], sign: f64) {
        for ((sum, squares), &x) in self.sum.iter_mut().zip(&mut self.squares).zip(row) {
            let x = f64::from(x);
            *sum += sign * x;
            *squares += sign * x * x;
        }
    }

    fn normalise(&self, options: &SlidingWindowCmnOptions, row: &[f32], out: &mut [f32]) {
        let frames = self.end - self.begin;
        let inverse = 1.0 / frames as f64;
        let inverse_square = 1.0 / (frames as f64 * frames as f64);
        for (((to, &x), sum), squares) in out.iter_mut().zip(row).zip(&self.sum).zip(&self.squares) {
            let mean = sum * inverse;
            let mut value = f64::from(x) - mean;
            if options.normalize_variance {
                // If only rounding is left, its order decides whether the variance is floored.
                let variance = squares * inverse - inverse_square * sum * sum;
                value *= variance.max(VARIANCE_FLOOR).powf(-0.5);
                if frames == 1 {
                    value = 0.0;
                }
            }
            *to = value as f32;
        }
    }
}

/// A [`SlidingWindowCmn`] over rows that arrive one by one.
#[derive(Debug, Clone)]
pub struct SlidingWindowCmnStream {
    cmn: SlidingWindowCmn,
    dim: usize,
    held: RowQueue,
    emitted: u64,
    sums: Sums,
}

impl SlidingWindowCmnStream {
    /// Emits the next frame. For its window, the utterance has `frames` frames.
    fn emit(&mut self, frames: u64, out: &mut Vec<f32>) {
        let t = self.emitted;
        let (begin, end) = self.cmn.within(t, frames);
        let row = |i| self.held.get(i).expect("what a window needs is held");
        self.sums.move_to(begin, end, row);
        let at = out.len();
        out.resize(at + self.dim, 0.0);
        self.sums.normalise(&self.cmn.options, row(t), &mut out[at..]);
        self.emitted += 1;
        self.held.discard(begin.min(self.emitted));
    }

    fn options_text(&self) -> String {
        format!("{:?} {}", self.cmn.options, self.dim)
    }
}

impl RowStream for SlidingWindowCmnStream {
    fn input_dim(&self) -> usize {
        self.dim
    }

    fn output_dim(&self) -> usize {
        self.dim
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        check_row(row, self.dim)?;
        self.held.push(row);
        let received = self.held.end();
        while self.emitted < received && self.cmn.wanted(self.emitted).1 <= received {
            self.emit(u64::MAX, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<f32>) {
        let frames = self.held.end();
        while self.emitted < frames {
            self.emit(frames, out);
        }
        *self = self.cmn.stream(self.dim);
    }

    fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(*b"sliding ", &self.options_text());
        self.held.save(&mut state);
        for number in [self.emitted, self.sums.begin, self.sums.end] {
            state.u64(number);
        }
        state.f64s(&self.sums.sum);
        state.f64s(&self.sums.squares);
        state.finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, *b"sliding ", &self.options_text())?;
        let held = RowQueue::restore(self.dim, &mut state)?;
        let (emitted, begin, end) = (state.u64()?, state.u64()?, state.u64()?);
        let (sum, squares) = (state.f64s()?, state.f64s()?);
        state.finish()?;
        let in_order = [held.first(), begin, end, held.end()].is_sorted() && [begin, emitted, held.end()].is_sorted();
        if !in_order || sum.len() != self.dim || squares.len() != self.dim {
            return Err(Error::BadState { reason: "its numbers contradict each other" });
        }
        (self.held, self.emitted, self.sums) = (held, emitted, Sums { begin, end, sum, squares });
        Ok(())
    }
}

/// Normalises an utterance: [`SlidingWindowCmn`] in one call.
///
/// # Errors
/// Names the option that has a bad value.
#[doc(alias = "SlidingWindowCmn")]
pub fn sliding_window_cmn(
    options: &SlidingWindowCmnOptions,
    features: &MatrixBase<impl Storage<Elem = f32>>,
) -> Result<Matrix<f32>, Error> {
    SlidingWindowCmn::new(options.clone())?.compute(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest of constants is rounding, near the floor of the variance. Kaldi subtracts the row
    /// that leaves the window from the sums before it adds the row that enters.
    #[test]
    fn sums_and_variances_are_rounded_as_kaldis() {
        let options =
            SlidingWindowCmnOptions { cmn_window: 7, normalize_variance: true, center: true, ..Default::default() };
        let features = Matrix::from_fn(60, 2, |t, d| 777.77 + 0.0001 * (t % 3 * d) as f32);
        let found = sliding_window_cmn(&options, &features).unwrap();
        let mut floored = 0;
        for d in 0..2 {
            let x = |t: usize| f64::from(features[(t, d)]);
            let [mut sum, mut squares] = [0.0, 0.0];
            for t in 0..60_usize {
                let begin = t.saturating_sub(3).min(53);
                if t == 0 {
                    for i in 0..7 {
                        sum += x(i);
                        squares += x(i) * x(i);
                    }
                } else if (4..=56).contains(&t) {
                    sum -= x(begin - 1);
                    squares -= x(begin - 1) * x(begin - 1);
                    sum += x(begin + 6);
                    squares += x(begin + 6) * x(begin + 6);
                }
                let mut variance = squares * (1.0 / 7.0);
                variance += -1.0 / 49.0 * sum * sum;
                floored += usize::from(variance < VARIANCE_FLOOR);
                let expected = (x(t) - 1.0 / 7.0 * sum) * variance.max(VARIANCE_FLOOR).powf(-0.5);
                assert_eq!(found[(t, d)], expected as f32, "frame {t}, dimension {d}");
            }
        }
        assert!((1..120).contains(&floored), "{floored} floored");
    }
}
