//! The large products of the backward pass, over all rows at once: gradients by weights and by
//! inputs.
//!
//! The blocks have a fixed size, so that the results do not depend on the number of threads.

use std::ops::Range;

use kaldera_base::{Real, par};
use kaldi_matrix::{Matrix, SubMatrix, SubMatrixMut, Trans};

use crate::error::Error;

/// Number of columns of gates in one product of gradients by weights: few enough that the three
/// gates of a GRU are no odd number of blocks.
const COLUMNS: usize = 256;
/// Number of rows in one product of gradients by inputs.
const ROWS: usize = 1024;
/// Number of rows in a partial sum, so that sums of many rows stay exact.
const SUMMED: usize = 256;

/// Gradients by gates, row after row: `width` numbers each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GateGradients<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) width: usize,
}

impl<T: Real> GateGradients<'_, T> {
    fn rows(&self) -> usize {
        self.data.len() / self.width
    }

    /// Returns the columns of some gates.
    fn columns(&self, columns: Range<usize>) -> Result<SubMatrix<'_, T>, Error> {
        let (rows, first) = (self.rows(), columns.start.min(self.data.len()));
        Ok(SubMatrix::new(&self.data[first..], rows, columns.len(), self.width)?)
    }

    /// Returns the gradient by the weights that were multiplied with `operand`, `[rows, width]`:
    /// one row for each of these columns.
    pub(crate) fn by_weights(&self, columns: &[Range<usize>], operand: &[T], width: usize) -> Result<Matrix<T>, Error> {
        let total: usize = columns.iter().map(ExactSizeIterator::len).sum();
        let mut out = Matrix::zeros(total, width);
        if width == 0 || self.rows() == 0 {
            return Ok(out);
        }
        let operand = SubMatrix::new(operand, self.rows(), width, width)?;
        let mut blocks = Vec::new();
        let mut rest = out.data_mut();
        for columns in columns {
            for begin in columns.clone().step_by(COLUMNS) {
                let block = begin..(begin + COLUMNS).min(columns.end);
                let target;
                (target, rest) = std::mem::take(&mut rest).split_at_mut(block.len() * width);
                blocks.push((block, target));
            }
        }
        each(blocks, |(block, target)| {
            let gates = self.columns(block.clone())?;
            let mut target = SubMatrixMut::new(target, block.len(), width, width)?;
            Ok(target.add_mat_mat(T::ONE, &gates, Trans::Yes, &operand, Trans::No, T::ZERO)?)
        })?;
        Ok(out)
    }

    /// Returns the gradient by the operand of `weights`, which have a row for each of these
    /// columns: `[rows, width of the weights]`. Reuses the memory of `used` if it is large enough:
    /// fresh memory costs more than the writes to it.
    pub(crate) fn by_operand(
        &self,
        columns: &[Range<usize>],
        weights: &Matrix<T>,
        used: Vec<T>,
    ) -> Result<Vec<T>, Error> {
        let width = weights.num_cols();
        let len = self.rows() * width;
        let mut out = if used.len() < len { kaldera_base::memory::zeros(len) } else { used };
        out.truncate(len);
        let blocks = out.chunks_mut((ROWS * width).max(1)).enumerate().collect();
        each(blocks, |(block, target): (usize, &mut [T])| {
            let rows = target.len() / width;
            let part = GateGradients { data: &self.data[block * ROWS * self.width..][..rows * self.width], ..*self };
            let mut target = SubMatrixMut::new(target, rows, width, width)?;
            let mut first = 0;
            for columns in columns {
                let weights = weights.row_range(first, columns.len())?;
                let beta = if first == 0 { T::ZERO } else { T::ONE };
                target.add_mat_mat(T::ONE, &part.columns(columns.clone())?, Trans::No, &weights, Trans::No, beta)?;
                first += columns.len();
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Returns only these columns, row after row.
    pub(crate) fn only(&self, columns: &[Range<usize>]) -> Vec<T> {
        let rows = self.data.chunks_exact(self.width);
        rows.flat_map(|row| columns.iter().flat_map(|columns| row[columns.clone()].iter().copied())).collect()
    }

    /// Returns the sums of all columns: gradients by biases.
    pub(crate) fn sums(&self) -> Vec<T> {
        sum_rows(self.width, self.rows(), |sums, row| {
            let row = &self.data[row * self.width..][..self.width];
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
        })
    }
}

/// Returns the `width` sums that `add` accumulates over the rows `0..rows`, some rows at a time.
pub(crate) fn sum_rows<T: Real>(width: usize, rows: usize, add: impl Fn(&mut [T], usize) + Sync) -> Vec<T> {
    let part = |block: usize| {
        let mut sums = vec![T::ZERO; width];
        (block * SUMMED..rows.min((block + 1) * SUMMED)).for_each(|row| add(&mut sums, row));
        sums
    };
    let parts = par::map((0..rows.div_ceil(SUMMED)).collect(), part);
    let mut total = vec![T::ZERO; width];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total
}

/// Calls `run` with each block, on all threads.
fn each<B: Send>(blocks: Vec<B>, run: impl Fn(B) -> Result<(), Error> + Send + Sync) -> Result<(), Error> {
    par::map(blocks, run).into_iter().collect()
}
