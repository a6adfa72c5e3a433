//! Vectors and matrices as text for people: what Kaldi's `<<` prints, without the blank before and the line end after.

use std::fmt;

use kaldera_base::Real;

use crate::codec::push_number;
use crate::matrix::MatrixBase;
use crate::packed::PackedMatrix;
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

/// `[`, one line for each row, `]`: seven significant digits, or with `{:.2}` two digits after the point.
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

/// `[`, one line for each row of the lower triangle, `]`: seven significant digits, or with `{:.2}` two after the point.
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

/// The size, then as `Display`.
impl<T: Real, K> fmt::Debug for PackedMatrix<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({}) ", self.dim())?;
        fmt::Display::fmt(self, f)
    }
}

/// The length, then as `Display`.
impl<S: Storage> fmt::Debug for VectorBase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vector({}) ", self.dim())?;
        fmt::Display::fmt(self, f)
    }
}

/// The shape, then as `Display`.
impl<S: Storage> fmt::Debug for MatrixBase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({}) ", self.shape())?;
        fmt::Display::fmt(self, f)
    }
}

/// Numbers with a space behind each.
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
    use crate::{Matrix, SpMatrix, Vector};

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
}
