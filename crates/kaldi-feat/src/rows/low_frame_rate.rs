//! Low frame rate: several frames stacked in a row, and fewer rows.

use kaldi_matrix::{Matrix, SubMatrix};

use crate::error::Error;
use crate::rows::queue::RowQueue;
use crate::rows::stream::{RowStream, check_row};
use crate::rows::window::zeros;
use crate::state::{StateReader, StateWriter};

/// Low frame rate (LFR), as in FunASR's models: `m` frames stacked in a row, and `n` frames from
/// one row to the next.
///
/// Row i has the frames from n i - (m - 1) / 2 on. The first frame is repeated at the start, and
/// the last frame at the end. So T frames give ⌈T / n⌉ rows. SenseVoice and Paraformer have m = 7
/// and n = 6.
///
/// ```
/// use kaldi_feat::{LowFrameRate, Matrix};
///
/// let features = Matrix::from_vec(4, 1, vec![1.0, 2.0, 3.0, 4.0])?;
/// let rows = LowFrameRate::new(3, 2)?.compute(features.view())?;
/// assert_eq!(rows.data(), [1.0, 1.0, 2.0, /**/ 2.0, 3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias("apply_lfr", "LFR", "stacking"))]
pub struct LowFrameRate {
    m: usize,
    n: usize,
}

impl LowFrameRate {
    /// The largest number of frames in a row, and from one row to the next.
    pub const MAX: i32 = 1024;

    /// Creates rows of `lfr_m` frames, with `lfr_n` frames from one row to the next.
    ///
    /// # Errors
    /// [`Error::BadOption`] for numbers that are not from 1 to [`MAX`](Self::MAX).
    pub fn new(lfr_m: i32, lfr_n: i32) -> Result<Self, Error> {
        let frames = |option, value: i32| match usize::try_from(value) {
            Ok(frames) if (1..=Self::MAX).contains(&value) => Ok(frames),
            _ => Err(Error::bad_option(option, value, format!("a number of frames from 1 to {}", Self::MAX))),
        };
        Ok(Self { m: frames("lfr_m", lfr_m)?, n: frames("lfr_n", lfr_n)? })
    }

    /// Returns `true` if rows stay unchanged.
    pub fn is_identity(&self) -> bool {
        (self.m, self.n) == (1, 1)
    }

    /// Returns the number of frames from one row to the next.
    pub fn stride(&self) -> usize {
        self.n
    }

    /// Returns the number of rows of `frames` frames.
    pub fn num_rows(&self, frames: usize) -> usize {
        frames.div_ceil(self.n)
    }

    /// Returns the number of columns of a row, for frames of `dim` columns.
    pub fn output_dim(&self, dim: usize) -> usize {
        dim.saturating_mul(self.m)
    }

    /// Returns the number of frames in row i before frame n i.
    fn left(&self) -> usize {
        (self.m - 1) / 2
    }

    /// Returns the number of frames in row i after frame n i.
    fn right(&self) -> usize {
        self.m - 1 - self.left()
    }

    /// Computes the rows of whole features.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they are more than memory can hold.
    pub fn compute(&self, features: SubMatrix<'_, f32>) -> Result<Matrix<f32>, Error> {
        let dim = features.num_cols();
        let mut out = zeros(self.num_rows(features.num_rows()), self.output_dim(dim))?;
        for (i, to) in out.rows_mut().enumerate() {
            self.write_row(i, features.num_rows(), dim, |t| features.row_data(t), to);
        }
        Ok(out)
    }

    /// Appends the rows of features that lie one after the other, each changed by `change`.
    pub(crate) fn append_rows(
        &self,
        features: &[f32],
        dim: usize,
        mut change: impl FnMut(&mut [f32]),
        out: &mut Vec<f32>,
    ) {
        let frames = features.len() / dim.max(1);
        let begin = out.len();
        out.resize(begin + self.num_rows(frames) * self.output_dim(dim), 0.0);
        for (i, to) in out[begin..].chunks_exact_mut(self.output_dim(dim).max(1)).enumerate() {
            self.write_row(i, frames, dim, |t| &features[t * dim..][..dim], to);
            change(to);
        }
    }

    /// Writes row `i` of `frames` frames.
    fn write_row<'a>(&self, i: usize, frames: usize, dim: usize, frame: impl Fn(usize) -> &'a [f32], out: &mut [f32]) {
        let first = i * self.n;
        for (k, to) in out.chunks_exact_mut(dim.max(1)).enumerate() {
            to.copy_from_slice(frame((first + k).saturating_sub(self.left()).min(frames - 1)));
        }
    }

    /// Creates a stream for frames of `dim` columns that arrive one by one. Its output
    /// equals the rows of [`compute`](Self::compute) bit for bit.
    pub fn stream(&self, dim: usize) -> LowFrameRateStream {
        LowFrameRateStream { rate: *self, frames: RowQueue::new(dim), dim, emitted: 0 }
    }
}

/// A [`LowFrameRate`] over frames that arrive one by one. It holds as many frames as a row has.
#[derive(Debug, Clone)]
pub struct LowFrameRateStream {
    rate: LowFrameRate,
    dim: usize,
    frames: RowQueue,
    /// Number of rows since the start of the stream.
    emitted: u64,
}

impl LowFrameRateStream {
    /// Returns `true` if rows stay unchanged.
    pub(crate) fn is_identity(&self) -> bool {
        self.rate.is_identity()
    }

    /// Returns the number of rows that are ready after `frames` frames, if more frames may arrive.
    fn num_ready(&self, frames: u64) -> u64 {
        let rest = frames.checked_sub(self.rate.right() as u64 + 1);
        rest.map_or(0, |rest| rest / self.rate.n as u64 + 1)
    }

    fn first_needed(&self, row: u64) -> u64 {
        (row * self.rate.n as u64).saturating_sub(self.rate.left() as u64)
    }

    /// Appends the rows before row `end`.
    fn emit(&mut self, end: u64, out: &mut Vec<f32>) {
        let Self { rate, dim, frames, .. } = self;
        for row in self.emitted..end {
            let first = row * rate.n as u64;
            for k in 0..rate.m as u64 {
                let frame = (first + k).saturating_sub(rate.left() as u64).min(frames.end() - 1);
                out.extend_from_slice(frames.get(frame).expect("frames are held as long as rows need them"));
            }
        }
        debug_assert!(out.len().is_multiple_of((*dim).max(1)));
        self.emitted = end.max(self.emitted);
        self.frames.discard(self.first_needed(self.emitted));
    }
}

impl RowStream for LowFrameRateStream {
    fn input_dim(&self) -> usize {
        self.dim
    }

    fn output_dim(&self) -> usize {
        self.rate.output_dim(self.dim)
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        check_row(row, self.dim)?;
        self.frames.push(row);
        self.emit(self.num_ready(self.frames.end()), out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<f32>) {
        self.emit(self.frames.end().div_ceil(self.rate.n as u64), out);
        *self = self.rate.stream(self.dim);
    }

    fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(*b"lfr     ", &format!("{:?} {}", self.rate, self.dim));
        self.frames.save(&mut state);
        state.finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, *b"lfr     ", &format!("{:?} {}", self.rate, self.dim))?;
        let frames = RowQueue::restore(self.dim, &mut state)?;
        state.finish()?;
        let emitted = self.num_ready(frames.end());
        if frames.first() != self.first_needed(emitted).min(frames.end()) {
            return Err(Error::BadState { reason: "its rows are not as many as it says" });
        }
        (self.frames, self.emitted) = (frames, emitted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FunASR's loop: the first frame before the features, and the last one until a row is full.
    fn by_definition(frames: &[f32], m: usize, n: usize) -> Vec<f32> {
        let mut padded = vec![frames[0]; (m - 1) / 2];
        padded.extend_from_slice(frames);
        (0..frames.len().div_ceil(n))
            .flat_map(|i| {
                let last = *frames.last().unwrap();
                let row = padded[i * n..].iter().copied().chain(std::iter::repeat(last));
                row.take(m).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn rows_are_those_of_the_definition_whole_and_streaming() {
        for (m, n) in [(7, 6), (1, 1), (1, 3), (2, 1), (3, 7), (6, 5), (7, 1)] {
            let rate = LowFrameRate::new(m, n).unwrap();
            for frames in 1_u16..40 {
                let values: Vec<f32> = (0..frames).map(f32::from).collect();
                let expected = by_definition(&values, m as usize, n as usize);
                let features = Matrix::from_vec(frames.into(), 1, values.clone()).unwrap();
                assert_eq!(rate.compute(features.view()).unwrap().data(), expected, "{m} {n} {frames}");
                let mut appended = vec![-1.0];
                rate.append_rows(&values, 1, |_| {}, &mut appended);
                assert_eq!(appended[1..], expected);
                let (mut stream, mut out) = (rate.stream(1), vec![]);
                for (i, row) in values.chunks(1).enumerate() {
                    stream.accept(row, &mut out).unwrap();
                    if i % 3 == 0 {
                        let state = stream.save_state();
                        stream = rate.stream(1);
                        stream.restore_state(&state).unwrap();
                    }
                }
                stream.finish(&mut out);
                assert_eq!(out, expected, "{m} {n} {frames}");
            }
        }
    }

    #[test]
    fn without_frames_there_are_no_rows() {
        let rate = LowFrameRate::new(7, 6).unwrap();
        assert_eq!(rate.compute(Matrix::zeros(0, 0).view()).unwrap().num_rows(), 0);
        let mut out = vec![];
        rate.stream(80).finish(&mut out);
        rate.append_rows(&[], 80, |_| {}, &mut out);
        assert!(out.is_empty());
        for (m, n) in [(0, 1), (1, 0), (-7, 6), (7, 1025)] {
            assert!(matches!(LowFrameRate::new(m, n), Err(Error::BadOption { .. })));
        }
    }
}
