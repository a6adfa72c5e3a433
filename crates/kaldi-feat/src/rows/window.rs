//! Features computed from the rows around each row: one definition for whole matrices and for
//! streams.

use kaldi_matrix::{Matrix, SubMatrix};

use crate::error::Error;
use crate::rows::stream::{RowStream, check_row};
use crate::sealed::Sealed;
use crate::state::{StateReader, StateWriter};

/// A function of a row and of the rows before and after it. The first row is repeated at the start,
/// and the last row at the end.
///
/// The types are [`DeltaFeatures`](crate::DeltaFeatures),
/// [`ShiftedDeltaFeatures`](crate::ShiftedDeltaFeatures) and [`Splice`](crate::Splice).
pub trait RowWindow: Sealed + std::fmt::Debug + Clone + Send {
    /// Returns the number of rows before a row that it takes.
    fn left_context(&self) -> usize;
    /// Returns the number of rows after a row that it takes.
    fn right_context(&self) -> usize;
    /// Returns the number of columns of the result, from features of `dim` columns.
    fn output_dim(&self, dim: usize) -> usize;
    /// Writes one row to all of `out`; `row(k)` is the row that is `k` rows after it.
    #[doc(hidden)]
    fn write_row<'a>(&self, row: impl Fn(isize) -> &'a [f32], out: &mut [f32]);

    /// Computes the rows of whole features: as many, each of [`output_dim`](Self::output_dim)
    /// columns.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they are more than memory can hold.
    fn compute(&self, features: SubMatrix<'_, f32>) -> Result<Matrix<f32>, Error> {
        let rows = features.num_rows();
        let mut out = zeros(rows, self.output_dim(features.num_cols()))?;
        for (t, to) in out.rows_mut().enumerate() {
            self.write_row(|k| features.row_data(t.saturating_add_signed(k).min(rows - 1)), to);
        }
        Ok(out)
    }

    /// Creates a stream for rows of `dim` columns that arrive one by one. Its output
    /// equals the rows of [`compute`](Self::compute) bit for bit.
    fn stream(&self, dim: usize) -> WindowStream<Self>
    where
        Self: Sized,
    {
        WindowStream::new(self.clone(), dim)
    }
}

/// Creates a matrix of zeros; without rows there are no columns either, as in Kaldi.
pub(crate) fn zeros(rows: usize, cols: usize) -> Result<Matrix<f32>, Error> {
    if rows == 0 || cols == 0 {
        return Ok(Matrix::zeros(0, 0));
    }
    let too_large = Error::TooLarge { rows, cols };
    let Some(elements) = rows.checked_mul(cols) else { return Err(too_large) };
    // A failed allocation elsewhere would end the process.
    if Vec::<f32>::new().try_reserve_exact(elements).is_err() {
        return Err(too_large);
    }
    Ok(Matrix::zeros(rows, cols))
}

/// A [`RowWindow`] over rows that arrive one by one. It holds as many rows as the window has.
#[derive(Debug, Clone)]
pub struct WindowStream<W> {
    window: W,
    dim: usize,
    /// The ring of rows, with row i at `i % slots`.
    rows: Vec<f32>,
    received: u64,
    emitted: u64,
}

impl<W: RowWindow> WindowStream<W> {
    fn new(window: W, dim: usize) -> Self {
        Self { window, dim, rows: Vec::new(), received: 0, emitted: 0 }
    }

    fn slots(&self) -> usize {
        self.window.left_context() + 1 + self.window.right_context()
    }

    fn emit(&mut self, out: &mut Vec<f32>) {
        let (dim, slots, t, last) = (self.dim, self.slots() as u64, self.emitted, self.received - 1);
        let begin = out.len();
        out.resize(begin + self.window.output_dim(dim), 0.0);
        let row = |k: isize| {
            let slot = (t.saturating_add_signed(k as i64).min(last) % slots) as usize;
            &self.rows[slot * dim..][..dim]
        };
        self.window.write_row(row, &mut out[begin..]);
        self.emitted += 1;
    }
}

impl<W: RowWindow> RowStream for WindowStream<W> {
    fn input_dim(&self) -> usize {
        self.dim
    }

    fn output_dim(&self) -> usize {
        self.window.output_dim(self.dim)
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        check_row(row, self.dim)?;
        let slots = self.slots();
        let at = (self.received % slots as u64) as usize * self.dim;
        // The ring grows with the rows until it is full, so that a wide window over a short stream
        // costs nothing.
        if self.rows.len() < at + self.dim {
            self.rows.resize(at + self.dim, 0.0);
        }
        self.rows[at..at + self.dim].copy_from_slice(row);
        self.received += 1;
        if self.received > self.emitted + self.window.right_context() as u64 {
            self.emit(out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<f32>) {
        while self.emitted < self.received {
            self.emit(out);
        }
        (self.received, self.emitted) = (0, 0);
        self.rows.clear();
    }

    fn save_state(&self) -> Vec<u8> {
        let mut state = StateWriter::new(*b"window  ", &format!("{:?} {}", self.window, self.dim));
        state.u64(self.received);
        state.u64(self.emitted);
        state.f32s(&self.rows);
        state.finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        let mut state = StateReader::new(state, *b"window  ", &format!("{:?} {}", self.window, self.dim))?;
        let (received, emitted) = (state.u64()?, state.u64()?);
        let rows = state.f32s()?;
        state.finish()?;
        let held = received.min(self.slots() as u64);
        let waiting = received.min(self.window.right_context() as u64);
        if rows.len() as u64 != held * self.dim as u64 || emitted != received - waiting {
            return Err(Error::BadState { reason: "its rows are not as many as it says" });
        }
        (self.received, self.emitted, self.rows) = (received, emitted, rows);
        Ok(())
    }
}
