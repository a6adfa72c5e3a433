//! Rows that are numbered from the start of a stream; the first ones are discarded.

use crate::error::Error;
use crate::state::{StateReader, StateWriter};

/// Rows from `first` to `end`, in one buffer.
#[derive(Debug, Clone)]
pub(crate) struct RowQueue {
    dim: usize,
    /// The values of discarded rows, `discarded` of them, and then of the rows that are there.
    values: Vec<f32>,
    discarded: usize,
    first: u64,
    end: u64,
}

impl RowQueue {
    pub(crate) fn new(dim: usize) -> Self {
        Self { dim, values: Vec::new(), discarded: 0, first: 0, end: 0 }
    }

    /// Returns the number of the first row that is there.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Returns one more than the number of the last row that is there.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns `true` if no row is there.
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Returns all rows that are there, concatenated.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values[self.discarded..]
    }

    /// Returns row `i`, if it is there.
    pub(crate) fn get(&self, i: u64) -> Option<&[f32]> {
        let at = usize::try_from(i.checked_sub(self.first)?).ok()?.checked_mul(self.dim)?;
        self.values().get(at..at.checked_add(self.dim)?)
    }

    pub(crate) fn push(&mut self, row: &[f32]) {
        self.push_rows(1).copy_from_slice(row);
    }

    /// Appends `rows` rows and returns them for writing.
    pub(crate) fn push_rows(&mut self, rows: usize) -> &mut [f32] {
        self.compact();
        let begin = self.values.len();
        self.values.resize(begin + rows * self.dim, 0.0);
        self.end += rows as u64;
        &mut self.values[begin..]
    }

    /// Counts `rows` rows that were returned at once, and discards all that are there.
    pub(crate) fn skip(&mut self, rows: u64) {
        self.end += rows;
        self.first = self.end;
        self.values.clear();
        self.discarded = 0;
    }

    /// Discards the rows before row `i`.
    pub(crate) fn discard(&mut self, i: u64) {
        let i = i.clamp(self.first, self.end);
        self.discarded += (i - self.first) as usize * self.dim;
        self.first = i;
    }

    /// Frees the memory of discarded rows if they are the larger half: a value is moved once on
    /// average.
    fn compact(&mut self) {
        const LEAST: usize = 2048;
        if self.discarded > (self.values.len() / 2).max(LEAST) {
            self.values.drain(..self.discarded);
            self.discarded = 0;
        }
    }

    pub(crate) fn save(&self, state: &mut StateWriter) {
        state.u64(self.first);
        state.f32s(self.values());
    }

    pub(crate) fn restore(dim: usize, state: &mut StateReader<'_>) -> Result<Self, Error> {
        let (first, values) = (state.u64()?, state.f32s()?);
        // Numbers of rows stay far from where they could overflow.
        if !values.len().is_multiple_of(dim) || first > u64::MAX / 4 {
            return Err(Error::BadState { reason: "its rows are not whole" });
        }
        let mut queue = Self { first, end: first, ..Self::new(dim) };
        queue.push_rows(values.len() / dim.max(1)).copy_from_slice(&values);
        Ok(queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_indexes() {
        let mut queue = RowQueue::new(2);
        for i in 0_u16..10_000 {
            queue.push(&[f32::from(i); 2]);
            queue.discard(u64::from(i).saturating_sub(5));
            assert_eq!((queue.first(), queue.end()), (u64::from(i.saturating_sub(5)), u64::from(i) + 1));
            for kept in i.saturating_sub(5)..=i {
                assert_eq!(queue.get(u64::from(kept)), Some(&[f32::from(kept); 2][..]));
            }
            assert_eq!(queue.get(u64::from(i) + 1), None);
        }
        assert!(queue.values.len() < 5000);
        assert_eq!(queue.get(9994), Some(&[9994.0; 2][..]));
        assert_eq!(queue.get(9993), None);
        queue.discard(u64::MAX);
        assert_eq!((queue.first(), queue.values().len()), (10_000, 0));
        queue.push_rows(2).copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((queue.end(), queue.get(10_001)), (10_002, Some(&[3.0, 4.0][..])));
        queue.skip(3);
        assert_eq!((queue.first(), queue.end(), queue.is_empty()), (10_005, 10_005, true));
    }
}
