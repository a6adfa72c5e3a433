//! Padding of rows to one length, as the rows of a matrix.

use std::fmt;

use kaldera_base::abridged::Abridged;
use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::{collect_rows, over_rows, rows_of};
use crate::ragged::{Ragged, check_size};
use crate::value_ops::number::Number;

/// The values that fill the rest of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PadMode {
    /// The filler.
    #[default]
    Constant,
    /// The row's value next to the gap; the filler if the row is empty.
    Replicate,
}

/// The side of a row that is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PadSide {
    /// Before the row.
    Left,
    /// After the row.
    #[default]
    Right,
}

/// A dense matrix, row after row: the result of [`Ragged::pad`].
///
/// With the feature `ndarray`, `Array2::from(padded)` takes it without a copy.
#[derive(Clone, PartialEq, Default)]
pub struct Padded<T> {
    values: Vec<T>,
    rows: usize,
    cols: usize,
}

impl<T> Padded<T> {
    /// Returns the number of rows, one for each row of the tensor.
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.rows
    }

    /// Returns the length of the longest row.
    #[inline]
    pub fn num_cols(&self) -> usize {
        self.cols
    }

    /// Returns all values, row after row: `num_rows` times `num_cols`.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        assert!(i < self.rows, "row {i} is out of range: the matrix has {} rows", self.rows);
        &self.values[i * self.cols..(i + 1) * self.cols]
    }

    /// Returns an iterator over the rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> + DoubleEndedIterator + Clone {
        (0..self.rows).map(|i| self.row(i))
    }

    /// Returns all values, row after row, as a vector.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

/// Prints an abridged form: the middle of more than 16 values is left out.
impl<T: fmt::Debug> fmt::Debug for Padded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = Abridged(&self.values);
        f.debug_struct("Padded").field("rows", &self.rows).field("cols", &self.cols).field("values", &values).finish()
    }
}

impl<T> Ragged<T> {
    /// Returns the size of the matrix that [`pad`](Self::pad) makes: the number of rows and the
    /// length of the longest.
    ///
    /// # Errors
    /// If there are not two axes, or the matrix has more elements than 32 bits can count.
    pub fn padded_size(&self) -> Result<(usize, usize), Error> {
        check_size("the number of axes", 2, self.num_axes())?;
        let (rows, cols) = (self.dim0(), self.shape().max_size(1));
        let size = rows as u64 * cols as u64;
        match i32::try_from(size) {
            Ok(_) => Ok((rows, cols)),
            Err(_) => Err(Error::TooLarge { what: "the size of the padded matrix", size }),
        }
    }
}

impl<T: Number> Ragged<T> {
    /// Makes a matrix with a row for each row, as long as the longest.
    ///
    /// ```
    /// # use ragged_core::{PadMode, PadSide, Ragged};
    /// let a = Ragged::from_lists(&[vec![1, 2, 3], vec![], vec![4]])?;
    /// let padded = a.pad(PadMode::Constant, PadSide::Right, 0)?;
    /// assert_eq!((padded.num_rows(), padded.num_cols()), (3, 3));
    /// assert_eq!(padded.values(), [1, 2, 3, 0, 0, 0, 4, 0, 0]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`padded_size`](Self::padded_size).
    #[doc(alias = "PadRagged")]
    pub fn pad(&self, mode: PadMode, side: PadSide, filler: T) -> Result<Padded<T>, Error> {
        let (rows, cols) = self.padded_size()?;
        let mut values = memory::zeros(rows * cols);
        match mode {
            // The zeros that are there need not be written again, which is most of the matrix if
            // few rows are as long as the longest.
            PadMode::Constant if filler.is_zero_bits() => self.write_lines(side, cols, &mut values, |_, _| ()),
            _ => self.pad_into(mode, side, filler, &mut values)?,
        }
        Ok(Padded { values, rows, cols })
    }

    /// Same as [`pad`](Self::pad), but writes to memory of exactly the size.
    ///
    /// # Errors
    /// As [`padded_size`](Self::padded_size), or if `out` has another size.
    pub fn pad_into(&self, mode: PadMode, side: PadSide, filler: T, out: &mut [T]) -> Result<(), Error> {
        let (rows, cols) = self.padded_size()?;
        check_size("the size of the matrix", rows * cols, out.len())?;
        self.write_lines(side, cols, out, |gap, beside| {
            gap.fill(match mode {
                PadMode::Constant => filler,
                PadMode::Replicate => *beside.unwrap_or(&filler),
            });
        });
        Ok(())
    }

    /// Writes each row to its side of a line of `cols` values; `fill` gets the rest of the line,
    /// and the value next to it.
    fn write_lines(&self, side: PadSide, cols: usize, out: &mut [T], fill: impl Fn(&mut [T], Option<&T>) + Sync) {
        let mut lines: Vec<&mut [T]> = out.chunks_exact_mut(cols.max(1)).collect();
        over_rows(self.shape().last_splits().as_ref(), &mut lines[..], |splits, lines| {
            for (line, row) in lines.iter_mut().zip(rows_of(splits)) {
                let list = &self.values()[row];
                let (gap, to, beside) = match side {
                    PadSide::Left => {
                        let (gap, to) = line.split_at_mut(cols - list.len());
                        (gap, to, list.first())
                    }
                    PadSide::Right => {
                        let (to, gap) = line.split_at_mut(list.len());
                        (gap, to, list.last())
                    }
                };
                to.copy_from_slice(list);
                fill(gap, beside);
            }
        });
    }

    /// Computes the gradient of [`pad`](Self::pad), with the same mode and side, from the gradient
    /// by its matrix.
    ///
    /// # Errors
    /// As [`padded_size`](Self::padded_size), or if `out_grad` has another size than the matrix.
    pub fn pad_grad(&self, mode: PadMode, side: PadSide, out_grad: &[T]) -> Result<Self, Error> {
        let (rows, cols) = self.padded_size()?;
        check_size("the number of output gradients", rows * cols, out_grad.len())?;
        let splits = self.shape().last_splits().as_ref();
        let grad = collect_rows(splits, |first_row, splits, room| {
            for (row, list) in (first_row..).zip(rows_of(splits)) {
                let (line, len) = (row * cols, list.len());
                let (gap, own) = match side {
                    PadSide::Left => (line..line + cols - len, line + cols - len),
                    PadSide::Right => (line + len..line + cols, line),
                };
                if mode == PadMode::Constant || len == 0 {
                    room.append(&out_grad[own..], len);
                    continue;
                }
                let with_gap = |beside: usize| out_grad[gap].iter().fold(out_grad[beside], |sum: T, &g| sum.plus(g));
                match side {
                    PadSide::Left => {
                        room.append(&[with_gap(own)], 1);
                        room.append(&out_grad[own + 1..], len - 1);
                    }
                    PadSide::Right => {
                        room.append(&out_grad[own..], len - 1);
                        room.append(&[with_gap(own + len - 1)], 1);
                    }
                }
            }
        });
        self.with_values(grad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_zeros_are_no_other_filler() {
        let a = Ragged::from_lists(&[vec![1.0, 2.0], vec![]]).unwrap();
        for filler in [0.0, -0.0, 5.0_f32] {
            for side in [PadSide::Left, PadSide::Right] {
                let padded = a.pad(PadMode::Constant, side, filler).unwrap().into_values();
                let mut expected = [f32::NAN; 4];
                a.pad_into(PadMode::Constant, side, filler, &mut expected).unwrap();
                assert_eq!(padded.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), expected.map(f32::to_bits));
            }
        }
    }
}
