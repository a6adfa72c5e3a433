//! Decompression: of a whole matrix, a rectangle, a row or a column.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_range;
use crate::check::check_shape;
use crate::compressed::{CompressedMatrix, Data};
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::storage::StorageMut;
use crate::vector::VectorBase;

impl CompressedMatrix {
    /// Decompresses the matrix.
    pub fn to_matrix<T: Real>(&self) -> Matrix<T> {
        let mut m = Matrix::zeros(self.rows, self.cols);
        self.decompress(0, 0, &mut m);
        m
    }

    /// `m = self`, or its transpose.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `m` has this shape.
    #[doc(alias = "CopyToMat")]
    pub fn copy_to_mat(&self, m: &mut MatrixBase<impl StorageMut>, trans: Trans) -> Result<(), Error> {
        let shape = match trans {
            Trans::No => Shape { rows: self.rows, cols: self.cols },
            Trans::Yes => Shape { rows: self.cols, cols: self.rows },
        };
        check_shape("copy_to_mat", shape, m.shape())?;
        match trans {
            Trans::No => self.decompress(0, 0, m),
            Trans::Yes => {
                for r in 0..self.rows {
                    self.row(r).enumerate().for_each(|(c, x)| m[(c, r)] = wide(x));
                }
            }
        }
        Ok(())
    }

    /// `m =` the rectangle of its shape whose first element is at (`row`, `col`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if it is not inside of this matrix.
    #[doc(alias = "CopyToMat")]
    pub fn copy_range_to_mat(&self, row: usize, col: usize, m: &mut MatrixBase<impl StorageMut>) -> Result<(), Error> {
        check_range("rows", row, m.num_rows(), self.rows)?;
        check_range("columns", col, m.num_cols(), self.cols)?;
        self.decompress(row, col, m);
        Ok(())
    }

    /// `v =` row `row`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such row, [`Error::DimMismatch`] unless `v` has its
    /// length.
    #[doc(alias = "CopyRowToVec")]
    pub fn copy_row_to_vec(&self, row: usize, v: &mut VectorBase<impl StorageMut>) -> Result<(), Error> {
        check_range("rows", row, 1, self.rows)?;
        check_dim("copy_row_to_vec", self.cols, v.dim())?;
        v.iter_mut().zip(self.row(row)).for_each(|(to, x)| *to = wide(x));
        Ok(())
    }

    /// `v =` column `col`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such column, [`Error::DimMismatch`] unless `v` has its
    /// length.
    #[doc(alias = "CopyColToVec")]
    pub fn copy_col_to_vec(&self, col: usize, v: &mut VectorBase<impl StorageMut>) -> Result<(), Error> {
        check_range("columns", col, 1, self.cols)?;
        check_dim("copy_col_to_vec", self.rows, v.dim())?;
        let mut column = Matrix::zeros(self.rows, 1);
        self.decompress(0, col, &mut column);
        v.data_mut().copy_from_slice(column.data());
        Ok(())
    }

    /// Returns the elements of a row.
    fn row(&self, r: usize) -> impl Iterator<Item = f32> {
        let (word, byte) = (self.scale.of_two_bytes(), self.scale.of_one_byte());
        (0..self.cols).map(move |c| match &self.data {
            Data::Columns { percentiles, bytes } => percentiles[c].knots(self.scale).value(bytes[c * self.rows + r]),
            Data::TwoBytes(words) => word(words[r * self.cols + c]),
            Data::OneByte(bytes) => byte(bytes[r * self.cols + c]),
        })
    }

    /// `m =` a rectangle, which must be inside of this matrix.
    fn decompress(&self, row: usize, col: usize, m: &mut MatrixBase<impl StorageMut>) {
        match &self.data {
            Data::Columns { percentiles, bytes } => {
                let columns = bytes.chunks_exact(self.rows.max(1)).zip(percentiles).skip(col);
                for (c, (bytes, percentiles)) in columns.take(m.num_cols()).enumerate() {
                    let knots = percentiles.knots(self.scale);
                    for (to, &byte) in m.rows_mut().zip(&bytes[row..]) {
                        to[c] = wide(knots.value(byte));
                    }
                }
            }
            Data::TwoBytes(words) => copy_rows(words, self.cols, row, col, m, self.scale.of_two_bytes()),
            Data::OneByte(bytes) => copy_rows(bytes, self.cols, row, col, m, self.scale.of_one_byte()),
        }
    }
}

/// Converts the element to the target's precision, without loss.
fn wide<T: Real>(x: f32) -> T {
    T::from_f64(x.into())
}

fn copy_rows<I: Copy>(
    integers: &[I],
    cols: usize,
    row: usize,
    col: usize,
    m: &mut MatrixBase<impl StorageMut>,
    value: impl Fn(I) -> f32,
) {
    for (to, from) in m.rows_mut().zip(integers.chunks_exact(cols.max(1)).skip(row)) {
        to.iter_mut().zip(&from[col..]).for_each(|(to, &integer)| *to = wide(value(integer)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompressionMethod, Vector};

    #[test]
    fn all_conversions_give_the_same_values() {
        let m = Matrix::from_fn(11, 4, |r, c| ((r * 7 + c * 5) % 13) as f32 / 3.0 - c as f32);
        for method in [CompressionMethod::SpeechFeature, CompressionMethod::TwoByteAuto, CompressionMethod::OneByteAuto]
        {
            let compressed = CompressedMatrix::new(&m, method).unwrap();
            let whole: Matrix<f64> = compressed.to_matrix();
            let mut transposed = Matrix::<f64>::zeros(4, 11);
            compressed.copy_to_mat(&mut transposed, Trans::Yes).unwrap();
            assert_eq!(transposed, whole.transposed());
            let mut rectangle = Matrix::<f64>::zeros(5, 2);
            compressed.copy_range_to_mat(6, 1, &mut rectangle).unwrap();
            assert_eq!(rectangle, whole.range(6, 5, 1, 2).unwrap().to_owned());
            let mut row = Vector::<f64>::zeros(4);
            compressed.copy_row_to_vec(10, &mut row).unwrap();
            assert_eq!(row.data(), whole.row_data(10));
            let mut col = Vector::<f64>::zeros(11);
            compressed.copy_col_to_vec(3, &mut col).unwrap();
            assert_eq!(col.data(), transposed.row_data(3));
        }
    }

    #[test]
    fn sizes_are_checked() {
        let m = CompressedMatrix::new(&Matrix::<f32>::zeros(3, 2), CompressionMethod::Automatic).unwrap();
        assert!(m.copy_to_mat(&mut Matrix::<f32>::zeros(2, 3), Trans::No).is_err());
        assert!(m.copy_to_mat(&mut Matrix::<f32>::zeros(3, 2), Trans::Yes).is_err());
        assert!(m.copy_range_to_mat(1, 0, &mut Matrix::<f32>::zeros(3, 2)).is_err());
        assert!(m.copy_row_to_vec(3, &mut Vector::<f32>::zeros(2)).is_err());
        assert!(m.copy_col_to_vec(0, &mut Vector::<f32>::zeros(2)).is_err());
    }
}
