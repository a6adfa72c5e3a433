//! Compressed matrices: one or two bytes for each element.
//!
//! ```text
//!   CM: one byte, a scale for each column                       CM2: two bytes   CM3: one byte
//!
//!   min ----+---- p0 ---- p25 ---- p75 ---- p100 ---+---- min + range            the same scale
//!           |      0       64      192      255     |           0 .. 65535,      0 .. 255,
//!           |                                       |           row by row       row by row
//!           '--- percentiles: u16 of this scale ----'
//! ```
//!
//! The integers and the order of each calculation are Kaldi's, so that the bytes are equal, too.

mod copy;
mod quantise;

use kaldera_base::Real;

use crate::check::check_range;
use crate::error::Error;
use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;

pub(crate) use quantise::{Percentiles, Scale};

/// Compression of a matrix; Kaldi's `CompressionMethod`, with its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize), serde(rename_all = "snake_case"))]
#[doc(alias = "kAutomaticMethod")]
pub enum CompressionMethod {
    /// [`SpeechFeature`](Self::SpeechFeature) for more than 8 rows, else
    /// [`TwoByteAuto`](Self::TwoByteAuto).
    #[default]
    #[doc(alias = "kAutomaticMethod")]
    Automatic = 1,
    /// One byte, and 8 for each column: most precise where the values of a column are dense,
    /// between its quartiles.
    #[doc(alias = "kSpeechFeature")]
    SpeechFeature = 2,
    /// Two bytes, from the lowest to the highest element.
    #[doc(alias = "kTwoByteAuto")]
    TwoByteAuto = 3,
    /// Two bytes, for whole numbers from -32768 to 32767.
    #[doc(alias = "kTwoByteSignedInteger")]
    TwoByteSignedInteger = 4,
    /// One byte, from the lowest to the highest element.
    #[doc(alias = "kOneByteAuto")]
    OneByteAuto = 5,
    /// One byte, for whole numbers from 0 to 255.
    #[doc(alias = "kOneByteUnsignedInteger")]
    OneByteUnsignedInteger = 6,
    /// One byte, for numbers from 0 to 1.
    #[doc(alias = "kOneByteZeroOne")]
    OneByteZeroOne = 7,
}

impl CompressionMethod {
    /// Returns the method for a number from 1 to 7 of Kaldi's option `--compression-method`.
    pub fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::Automatic,
            2 => Self::SpeechFeature,
            3 => Self::TwoByteAuto,
            4 => Self::TwoByteSignedInteger,
            5 => Self::OneByteAuto,
            6 => Self::OneByteUnsignedInteger,
            7 => Self::OneByteZeroOne,
            _ => return None,
        })
    }
}

/// A matrix of `f32` in a quarter or half of the memory, at the cost of precision.
///
/// ```
/// use kaldi_matrix::{CompressedMatrix, CompressionMethod, Matrix};
///
/// let features = Matrix::from_fn(100, 13, |frame, bin| ((frame * 7 + bin * 3) % 50) as f32);
/// let small = CompressedMatrix::new(&features, CompressionMethod::Automatic)?;
/// let back: Matrix<f32> = small.to_matrix();
/// assert!((back[(50, 5)] - features[(50, 5)]).abs() < 0.3);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// Compression is not exact, except for whole numbers under the two methods for them. A matrix that
/// is read from a file and written again has the same bytes.
#[derive(Clone, Default, PartialEq)]
pub struct CompressedMatrix {
    scale: Scale,
    rows: usize,
    cols: usize,
    data: Data,
}

/// The integers: as many as the shape has elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    /// `CM`: percentiles for each column, and the bytes column by column.
    Columns { percentiles: Vec<Percentiles>, bytes: Vec<u8> },
    /// `CM2`, row by row.
    TwoBytes(Vec<u16>),
    /// `CM3`, row by row.
    OneByte(Vec<u8>),
}

impl Default for Data {
    fn default() -> Self {
        Self::Columns { percentiles: Vec::new(), bytes: Vec::new() }
    }
}

/// Sub-matrices with fewer rows are stored in two bytes per element: they need less memory than
/// percentiles for each column, with a very small error.
const FEW_ROWS: usize = 8;

impl CompressedMatrix {
    /// Returns the storage of the elements, in words.
    pub(crate) fn format_name(&self) -> &'static str {
        match self.data {
            Data::Columns { .. } => "one byte an element by column",
            Data::TwoBytes(_) => "two bytes an element",
            Data::OneByte(_) => "one byte an element",
        }
    }

    /// Compresses a matrix; elements of `f64` are rounded to `f32` first. A matrix without elements
    /// becomes 0 x 0.
    ///
    /// Numbers outside the range of a method with a fixed one become its ends.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] for an element that is NaN or infinite (as an `f32`), and if the
    /// difference between the highest and the lowest element does not fit in an `f32`.
    pub fn new(m: &MatrixBase<impl Storage>, method: CompressionMethod) -> Result<Self, Error> {
        if m.is_empty() {
            return Ok(Self::default());
        }
        let (lowest, highest) = extremes(m)?;
        let scale = match method {
            CompressionMethod::Automatic
            | CompressionMethod::SpeechFeature
            | CompressionMethod::TwoByteAuto
            | CompressionMethod::OneByteAuto => Scale::between(lowest, highest)?,
            CompressionMethod::TwoByteSignedInteger => Scale { min: -32768.0, range: 65535.0 },
            CompressionMethod::OneByteUnsignedInteger => Scale { min: 0.0, range: 255.0 },
            CompressionMethod::OneByteZeroOne => Scale { min: 0.0, range: 1.0 },
        };
        let elements = || m.rows().flatten().map(|&x| single(x));
        let data = match method {
            CompressionMethod::Automatic if m.num_rows() > FEW_ROWS => columns(m, scale),
            CompressionMethod::SpeechFeature => columns(m, scale),
            CompressionMethod::Automatic | CompressionMethod::TwoByteAuto | CompressionMethod::TwoByteSignedInteger => {
                Data::TwoBytes(elements().map(|x| scale.two_bytes(x)).collect())
            }
            CompressionMethod::OneByteAuto
            | CompressionMethod::OneByteUnsignedInteger
            | CompressionMethod::OneByteZeroOne => Data::OneByte(elements().map(|x| scale.one_byte(x)).collect()),
        };
        Ok(Self { scale, rows: m.num_rows(), cols: m.num_cols(), data })
    }

    /// Creates a matrix from the contents of a file: as many integers as the shape has elements, at
    /// least one.
    pub(crate) fn from_parts(scale: Scale, rows: usize, cols: usize, data: Data) -> Self {
        Self { scale, rows, cols, data }
    }

    pub(crate) fn scale_of_integers(&self) -> Scale {
        self.scale
    }

    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    /// Compresses another matrix into this one; as [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new); this matrix is then unchanged.
    #[doc(alias = "CopyFromMat")]
    pub fn copy_from_mat(&mut self, m: &MatrixBase<impl Storage>, method: CompressionMethod) -> Result<(), Error> {
        *self = Self::new(m, method)?;
        Ok(())
    }

    /// Returns the number of rows.
    #[doc(alias = "NumRows")]
    pub fn num_rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[doc(alias = "NumCols")]
    pub fn num_cols(&self) -> usize {
        self.cols
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Resizes to 0 x 0.
    #[doc(alias = "Clear")]
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Exchanges two matrices.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }

    /// `self *= alpha`. It changes only the scale, and adds no further error.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: f32) {
        self.scale.min *= alpha;
        self.scale.range *= alpha;
    }

    /// Returns the `num_rows` rows from `row` on and the `num_cols` columns from `col` on, without
    /// decompressing.
    ///
    /// Only a `CM` matrix with fewer than 8 rows left is decompressed and compressed again, with
    /// [`CompressionMethod::TwoByteAuto`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of them exist; [`Error::OutOfDomain`] if a matrix that is
    /// compressed again has become infinite, by [`scale`](Self::scale) or in a damaged file.
    #[doc(alias = "CompressedMatrix")]
    pub fn range(&self, row: usize, num_rows: usize, col: usize, num_cols: usize) -> Result<Self, Error> {
        check_range("rows", row, num_rows, self.rows)?;
        self.part((row..row + num_rows).collect(), col, num_cols)
    }

    /// As [`range`](Self::range), but rows before the first and after the last are copies of the
    /// first or the last row.
    ///
    /// # Errors
    /// As [`range`](Self::range) for the columns; [`Error::OutOfRange`] for rows of a matrix
    /// without rows.
    #[doc(alias = "CompressedMatrix")]
    pub fn range_with_padding(&self, row: isize, num_rows: usize, col: usize, num_cols: usize) -> Result<Self, Error> {
        let Some(last) = self.rows.checked_sub(1) else {
            return self.range(0, num_rows, col, num_cols);
        };
        let clamped = |r| row.saturating_add_unsigned(r).max(0).unsigned_abs().min(last);
        self.part((0..num_rows).map(clamped).collect(), col, num_cols)
    }

    /// Returns some columns of the rows of a list. All rows must exist.
    fn part(&self, rows: Vec<usize>, col: usize, num_cols: usize) -> Result<Self, Error> {
        check_range("columns", col, num_cols, self.cols)?;
        if rows.is_empty() || num_cols == 0 {
            return Ok(Self::default());
        }
        let data = match &self.data {
            Data::Columns { percentiles, bytes } => Data::Columns {
                percentiles: percentiles[col..col + num_cols].to_vec(),
                bytes: (col..col + num_cols)
                    .flat_map(|c| rows.iter().map(move |&r| bytes[c * self.rows + r]))
                    .collect(),
            },
            Data::TwoBytes(words) => Data::TwoBytes(rectangle(words, self.cols, &rows, col, num_cols)),
            Data::OneByte(bytes) => Data::OneByte(rectangle(bytes, self.cols, &rows, col, num_cols)),
        };
        let part = Self { scale: self.scale, rows: rows.len(), cols: num_cols, data };
        match part.data {
            Data::Columns { .. } if part.rows < FEW_ROWS => {
                Self::new(&part.to_matrix::<f32>(), CompressionMethod::TwoByteAuto)
            }
            _ => Ok(part),
        }
    }
}

fn rectangle<I: Copy>(integers: &[I], cols: usize, rows: &[usize], col: usize, num_cols: usize) -> Vec<I> {
    rows.iter().flat_map(|&r| &integers[r * cols + col..][..num_cols]).copied().collect()
}

/// Returns the nearest `f32`.
fn single<T: Real>(x: T) -> f32 {
    f32::from_f64(x.to_f64())
}

/// Returns the lowest and the highest element; the first of equal ones, such as +0 and -0.
fn extremes<S: Storage>(m: &MatrixBase<S>) -> Result<(f32, f32), Error> {
    let (mut lowest, mut highest) = (S::Elem::INFINITY, -S::Elem::INFINITY);
    for &x in m.rows().flatten() {
        if !single(x).is_finite() {
            let value = x.to_f64();
            let (operation, parameter, expected) = ("compress", "an element", "a finite number of f32's range");
            return Err(Error::OutOfDomain { operation, parameter, value, expected });
        }
        if x < lowest {
            lowest = x;
        }
        if x > highest {
            highest = x;
        }
    }
    Ok((single(lowest), single(highest)))
}

fn columns(m: &MatrixBase<impl Storage>, scale: Scale) -> Data {
    let mut percentiles = Vec::with_capacity(m.num_cols());
    let mut bytes = Vec::with_capacity(m.num_rows() * m.num_cols());
    let (mut column, mut scratch) = (Vec::new(), Vec::new());
    for c in 0..m.num_cols() {
        column.clear();
        column.extend(m.rows().map(|row| single(row[c])));
        scratch.clone_from(&column);
        let of_column = Percentiles::from_column(scale, &mut scratch);
        let knots = of_column.knots(scale);
        bytes.extend(column.iter().map(|&x| knots.byte(x)));
        percentiles.push(of_column);
    }
    Data::Columns { percentiles, bytes }
}

impl<T: Real> From<&CompressedMatrix> for Matrix<T> {
    fn from(compressed: &CompressedMatrix) -> Self {
        compressed.to_matrix()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns half a step, with a margin for rounding.
    fn error_of(method: CompressionMethod, range: f32) -> f32 {
        match method {
            CompressionMethod::TwoByteAuto => range / 65535.0 * 0.51,
            CompressionMethod::OneByteAuto => range / 255.0 * 0.51,
            // In the worst case a quarter of the column has 63 steps.
            _ => range / 63.0 * 0.51 + range / 65535.0 * 1.1,
        }
    }

    proptest! {
        #[test]
        fn elements_come_back_within_half_a_step(
            rows in 1_usize..30,
            cols in 1_usize..6,
            seed in any::<u32>(),
            method in prop::sample::select(vec![
                CompressionMethod::SpeechFeature, CompressionMethod::TwoByteAuto, CompressionMethod::OneByteAuto,
            ]),
        ) {
            let m = Matrix::from_fn(rows, cols, |r, c| {
                let x = seed.wrapping_mul(2_654_435_761).wrapping_add((r * 31 + c * 17) as u32 * 40_503);
                ((x >> 8) % 2000) as f32 / 100.0 - 7.0
            });
            let (lowest, highest) = extremes(&m).unwrap();
            let compressed = CompressedMatrix::new(&m, method).unwrap();
            let back: Matrix<f32> = compressed.to_matrix();
            let bound = error_of(method, highest - lowest) + if highest == lowest { 1e-3 * highest.abs() } else { 1e-5 };
            for (a, b) in m.rows().flatten().zip(back.rows().flatten()) {
                prop_assert!((a - b).abs() <= bound, "{a} became {b}, {bound} allowed");
            }
        }

        #[test]
        fn a_range_is_the_range_of_the_decompressed(
            row in -20_isize..20, num_rows in 0_usize..30, col in 0_usize..4, num_cols in 0_usize..4,
            method in prop::sample::select(vec![2, 3, 5]),
        ) {
            let m = Matrix::from_fn(12, 4, |r, c| ((r * 5 + c * 3) % 11) as f32 - 0.25 * c as f32);
            let method = CompressionMethod::from_number(method).unwrap();
            let compressed = CompressedMatrix::new(&m, method).unwrap();
            let part = compressed.range_with_padding(row, num_rows, col, num_cols);
            let inside = (0..=12).contains(&row) && row + num_rows as isize <= 12;
            prop_assert_eq!(col + num_cols <= 4, part.is_ok());
            prop_assert_eq!(col + num_cols <= 4 && inside,
                row >= 0 && compressed.range(row.unsigned_abs(), num_rows, col, num_cols).is_ok());
            if let Ok(part) = part {
                let whole: Matrix<f32> = compressed.to_matrix();
                let part: Matrix<f32> = part.to_matrix();
                for (r, values) in part.rows().enumerate() {
                    let from = (row + r as isize).clamp(0, 11).unsigned_abs();
                    for (a, b) in values.iter().zip(&whole.row_data(from)[col..col + num_cols]) {
                        prop_assert!((a - b).abs() < 2e-4);
                    }
                }
            }
        }
    }

    #[test]
    fn whole_numbers_are_exact() {
        let m = Matrix::from_fn(3, 5, |r, c| 17.0 * (r * 5 + c) as f64);
        for method in [CompressionMethod::TwoByteSignedInteger, CompressionMethod::OneByteUnsignedInteger] {
            let back: Matrix<f64> = CompressedMatrix::new(&m, method).unwrap().to_matrix();
            let exact = back.rows().flatten().zip(m.rows().flatten()).all(|(a, b)| (a - b).abs() < 1e-2);
            assert!(exact, "{method:?}");
        }
    }

    #[test]
    fn non_finite_matrices_are_not_compressed() {
        for bad in [f64::NAN, f64::INFINITY, -1e39] {
            let m = Matrix::from_vec(1, 3, vec![0.0, bad, 1.0]).unwrap();
            for method in (1..=7).map(|number| CompressionMethod::from_number(number).unwrap()) {
                assert!(
                    matches!(CompressedMatrix::new(&m, method), Err(Error::OutOfDomain { .. })),
                    "{bad} {method:?}"
                );
            }
        }
        let wide = Matrix::from_vec(1, 2, vec![f32::MAX, f32::MIN]).unwrap();
        assert!(CompressedMatrix::new(&wide, CompressionMethod::Automatic).is_err());
        assert!(CompressedMatrix::new(&wide, CompressionMethod::OneByteZeroOne).is_ok());
    }

    #[test]
    fn matrices_without_elements() {
        for (rows, cols) in [(0, 0), (3, 0), (0, 3)] {
            let m = CompressedMatrix::new(&Matrix::<f32>::zeros(rows, cols), CompressionMethod::Automatic).unwrap();
            assert!(m.is_empty());
            assert_eq!(m, CompressedMatrix::default());
            assert_eq!(m.to_matrix::<f32>(), Matrix::zeros(0, 0));
            assert!(m.range(0, 0, 0, 0).unwrap().is_empty());
            assert!(m.range_with_padding(-3, 4, 0, 0).is_err());
        }
    }

    #[test]
    fn seven_numbers_are_methods() {
        for number in -1..10 {
            let method = CompressionMethod::from_number(number);
            assert_eq!(method.map(|method| method as i32), (1..=7).contains(&number).then_some(number));
        }
    }
}
