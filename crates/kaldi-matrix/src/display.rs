//! Text of vectors and matrices for users: the output of Kaldi's `<<`, without the space before and
//! the line end after it.

use std::fmt;

use kaldera_base::Real;

use crate::codec::push_number;
use crate::compressed::CompressedMatrix;
use crate::matrix::MatrixBase;
use crate::numpy::NumpyArray;
use crate::packed::PackedMatrix;
use crate::sparse::{SparseMatrix, SparseVector};
use crate::storage::Storage;
use crate::vector::VectorBase;

/// `[ 1 2.5 3 ]`: seven significant digits, or with `{:.2}` two digits after the point.
impl<S: Storage> fmt::Display for VectorBase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[ ")?;
        write_row(f, self.data())?;
        f.write_str("]")
    }
}

/// `[`, one line for each row, `]`: seven significant digits, or with `{:.2}` two digits after the
/// point.
impl<S: Storage> fmt::Display for MatrixBase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("[ ]");
        }
        f.write_str("[")?;
        for row in self.rows() {
            f.write_str("\n  ")?;
            write_row(f, row)?;
        }
        f.write_str("]")
    }
}

/// `[`, one line for each row of the lower triangle, `]`: seven significant digits, or with `{:.2}`
/// two after the point.
impl<T: Real, K> fmt::Display for PackedMatrix<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.dim() == 0 { "[ " } else { "[" })?;
        for row in self.rows() {
            f.write_str("\n")?;
            write_row(f, row)?;
        }
        f.write_str("]")
    }
}

/// Writes the size and the elements. Of more than 500 elements, only the ends of rows and columns.
impl<T: Real, K> fmt::Debug for PackedMatrix<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dim = self.dim();
        write!(f, "Packed({dim}) ")?;
        f.write_str(if dim == 0 { "[ " } else { "[" })?;
        let most = Most::for_elements(dim * dim / 2);
        for row in ends(dim, most.rows) {
            f.write_str("\n")?;
            match row {
                Some(row) => write_ends(f, &self.data()[row * (row + 1) / 2..][..row + 1], most.cols)?,
                None => f.write_str("...")?,
            }
        }
        f.write_str("]")
    }
}

/// Writes the length and the elements. Of more than 500 elements, only the first and the last.
impl<S: Storage> fmt::Debug for VectorBase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vector({}) [ ", self.dim())?;
        write_ends(f, self.data(), Most::for_elements(self.dim()).cols)?;
        f.write_str("]")
    }
}

/// Writes the shape and the elements. Of more than 500 elements, only the ends of rows and columns.
impl<S: Storage> fmt::Debug for MatrixBase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({}) ", self.shape())?;
        if self.is_empty() {
            return f.write_str("[ ]");
        }
        f.write_str("[")?;
        let most = Most::for_elements(self.num_rows().saturating_mul(self.num_cols()));
        for row in ends(self.num_rows(), most.rows) {
            f.write_str("\n  ")?;
            match row {
                Some(row) => write_ends(f, self.row_data(row), most.cols)?,
                None => f.write_str("...")?,
            }
        }
        f.write_str("]")
    }
}

/// Writes the shape and the storage, without the elements.
impl fmt::Debug for CompressedMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, method) = (self.num_rows(), self.num_cols(), self.format_name());
        write!(f, "CompressedMatrix({rows} x {cols}, {method})")
    }
}

/// Writes the length, the number of stored elements, and the first ones.
impl<T: Real> fmt::Debug for SparseVector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparseVector({}, {} stored) ", self.dim(), self.num_elements())?;
        let mut shown = f.debug_map();
        shown.entries(self.iter().take(FEW));
        if self.num_elements() > FEW { shown.finish_non_exhaustive() } else { shown.finish() }
    }
}

/// Writes the shape, the number of stored elements, and the first rows.
impl<T: Real> fmt::Debug for SparseMatrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparseMatrix({}, {} stored) ", self.shape(), self.num_elements())?;
        let mut shown = f.debug_list();
        shown.entries((0..self.num_rows().min(FEW)).map(|r| self.row(r)));
        if self.num_rows() > FEW { shown.finish_non_exhaustive() } else { shown.finish() }
    }
}

/// Writes the shape and the elements. Of more than 500 elements, only the first and the last.
impl<T: Real> fmt::Debug for NumpyArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NumpyArray({:?}) [ ", self.shape())?;
        write_ends(f, self.data(), Most::for_elements(self.data().len()).cols)?;
        f.write_str("]")
    }
}

/// Number of entries of a sparse vector, and of rows of a sparse matrix, in the output of `Debug`.
const FEW: usize = 8;

/// Largest number of rows in the output of `Debug`, and of elements of each.
struct Most {
    rows: usize,
    cols: usize,
}

impl Most {
    /// Returns no limit for few elements, else one for a short output.
    fn for_elements(elements: usize) -> Self {
        if elements <= 500 { Self { rows: usize::MAX, cols: usize::MAX } } else { Self { rows: 6, cols: 10 } }
    }
}

/// Returns the indexes below `len`; if there are more than `most`, only the ones at both ends with
/// `None` between them.
fn ends(len: usize, most: usize) -> impl Iterator<Item = Option<usize>> {
    let (head, tail) = if len <= most { (len, len) } else { (most / 2, len - most / 2) };
    (0..head).map(Some).chain((head < tail).then_some(None)).chain((tail..len).map(Some))
}

/// Writes numbers with a space after each; if there are more than `most`, only the ones at both
/// ends with `...` between them.
fn write_ends<T: Real>(f: &mut fmt::Formatter<'_>, row: &[T], most: usize) -> fmt::Result {
    if row.len() <= most {
        return write_row(f, row);
    }
    write_row(f, &row[..most / 2])?;
    f.write_str("... ")?;
    write_row(f, &row[row.len() - most / 2..])
}

/// Writes numbers with a space after each.
fn write_row<T: Real>(f: &mut fmt::Formatter<'_>, row: &[T]) -> fmt::Result {
    let mut text = Vec::new();
    for x in row {
        if let Some(digits) = f.precision() {
            write!(f, "{x:.digits$} ")?;
        } else {
            text.clear();
            push_number(&mut text, x.to_f64());
            text.push(b' ');
            f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{
        CompressedMatrix, CompressionMethod, GeneralMatrix, Matrix, NumpyArray, SpMatrix, SparseMatrix, Vector,
    };

    #[test]
    fn prints_as_kaldi_does() {
        let v = Vector::from(vec![1.0_f32, -0.1, 1e-5]);
        assert_eq!(v.to_string(), "[ 1 -0.1 1e-05 ]");
        assert_eq!(format!("{v:.2}"), "[ 1.00 -0.10 0.00 ]");
        assert_eq!(format!("{v:?}"), "Vector(3) [ 1 -0.1 1e-05 ]");
        let m = Matrix::from_fn(2, 2, |r, c| (r + c) as f64);
        assert_eq!(m.to_string(), "[\n  0 1 \n  1 2 ]");
        assert_eq!(format!("{:?}", Matrix::<f32>::zeros(0, 0)), "Matrix(0 x 0) [ ]");
        let packed = SpMatrix::from_vec(2, vec![1.0_f32, 0.5, 2.0]).unwrap();
        assert_eq!(packed.to_string(), "[\n1 \n0.5 2 ]");
        assert_eq!(format!("{:?}", SpMatrix::<f32>::zeros(0)), "Packed(0) [ ]");
    }

    #[test]
    fn debug_of_large_things_is_short_and_keeps_their_ends() {
        let m = Matrix::from_fn(98, 23, |r, c| (100 * r + c) as f32);
        let text = format!("{m:?}");
        assert_eq!(
            text,
            "Matrix(98 x 23) [\n  0 1 2 3 4 ... 18 19 20 21 22 \n  100 101 102 103 104 ... 118 119 120 121 122 \n  \
             200 201 202 203 204 ... 218 219 220 221 222 \n  ...\n  \
             9500 9501 9502 9503 9504 ... 9518 9519 9520 9521 9522 \n  \
             9600 9601 9602 9603 9604 ... 9618 9619 9620 9621 9622 \n  \
             9700 9701 9702 9703 9704 ... 9718 9719 9720 9721 9722 ]"
        );
        assert_eq!(format!("{m:#?}"), text);
        assert_eq!(m.to_string().lines().count(), 99, "Display has all rows");
        let v: Vector<f64> = (0..501).map(f64::from).collect();
        assert_eq!(format!("{v:?}"), "Vector(501) [ 0 1 2 3 4 ... 496 497 498 499 500 ]");
        let array = NumpyArray::from(&v);
        assert_eq!(format!("{array:?}"), "NumpyArray([501]) [ 0 1 2 3 4 ... 496 497 498 499 500 ]");
        assert!(format!("{:?}", SpMatrix::<f32>::zeros(200)).len() < 200);

        let small = CompressedMatrix::new(&m, CompressionMethod::Automatic).unwrap();
        assert_eq!(format!("{small:?}"), "CompressedMatrix(98 x 23, one byte an element by column)");
        assert!(format!("{:#?}", GeneralMatrix::from(m.clone())).len() < 600);
        let sparse =
            SparseMatrix::new(1000, (0..100).map(|r| (0..50).map(move |c| (20 * c + r % 20, 1.0_f32)))).unwrap();
        let text = format!("{sparse:?}");
        assert!(
            text.starts_with("SparseMatrix(100 x 1000, 5000 stored) [SparseVector(1000, 50 stored) {0: 1.0, 20: 1.0")
        );
        assert!(text.ends_with("..}, ..]") && text.len() < 1500, "{text}");
    }
}
