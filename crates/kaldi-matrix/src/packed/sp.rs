//! Symmetric matrices: elements, conversions and predicates.

use std::ops::{Index, IndexMut};

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_shape;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase};
use crate::packed::{PackedMatrix, SpMatrix, Symmetric, triangle};
use crate::storage::Storage;

/// Part of a square matrix from which a symmetric one is made; Kaldi's `SpCopyType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpCopyType {
    /// The lower triangle (`kTakeLower`).
    Lower,
    /// The upper triangle (`kTakeUpper`).
    Upper,
    /// (A + A') / 2 (`kTakeMean`).
    #[default]
    Mean,
    /// (A + A') / 2, and an error if the antisymmetric part is more than a hundredth of it
    /// (`kTakeMeanAndCheck`).
    MeanAndCheck,
}

/// Returns the position of (r, c) or its mirror image in the stored triangle.
#[inline]
fn place(dim: usize, r: usize, c: usize) -> usize {
    let (long, short) = if r < c { (c, r) } else { (r, c) };
    assert!(long < dim, "element ({r}, {c}) of a matrix with {dim} rows");
    triangle(long) + short
}

/// Index (row, column), in either order; panics outside of the matrix, as a slice does.
impl<T: Real> Index<(usize, usize)> for PackedMatrix<T, Symmetric> {
    type Output = T;

    #[inline]
    fn index(&self, (r, c): (usize, usize)) -> &T {
        &self.data[place(self.dim, r, c)]
    }
}

/// Index (row, column), in either order: both are the same element. Panics outside of the matrix,
/// as a slice does.
impl<T: Real> IndexMut<(usize, usize)> for PackedMatrix<T, Symmetric> {
    #[inline]
    fn index_mut(&mut self, (r, c): (usize, usize)) -> &mut T {
        let place = place(self.dim, r, c);
        &mut self.data[place]
    }
}

impl<T: Real> SpMatrix<T> {
    /// Creates a symmetric matrix from a square one of either precision.
    ///
    /// ```
    /// # use kaldi_matrix::{Matrix, SpCopyType, SpMatrix};
    /// let m = Matrix::from_vec(2, 2, vec![1.0_f32, 2.0, 4.0, 5.0])?;
    /// assert_eq!(SpMatrix::<f32>::from_mat(&m, SpCopyType::Mean)?.data(), [1.0, 3.0, 5.0]);
    /// assert_eq!(SpMatrix::<f32>::from_mat(&m, SpCopyType::Lower)?.data(), [1.0, 4.0, 5.0]);
    /// assert!(SpMatrix::<f32>::from_mat(&m, SpCopyType::MeanAndCheck).is_err());
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`copy_from_mat`](Self::copy_from_mat).
    pub fn from_mat(m: &MatrixBase<impl Storage>, copy_type: SpCopyType) -> Result<Self, Error> {
        let Shape { rows: dim, cols } = m.shape();
        if dim != cols {
            return Err(Error::NotSquare { operation: "from_mat", found: m.shape() });
        }
        let mut s = Self::zeros(dim);
        s.copy_from_mat(m, copy_type)?;
        Ok(s)
    }

    /// `self =` a triangle, or the symmetric part, of a square matrix of either precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for another size, [`Error::NotSymmetric`] with
    /// [`SpCopyType::MeanAndCheck`]; this matrix is then unchanged.
    #[doc(alias = "CopyFromMat")]
    pub fn copy_from_mat<U: Real>(
        &mut self,
        m: &MatrixBase<impl Storage<Elem = U>>,
        copy_type: SpCopyType,
    ) -> Result<(), Error> {
        check_shape("copy_from_mat", Shape { rows: self.dim, cols: self.dim }, m.shape())?;
        let mean = |r, c| {
            let (low, high): (T, T) = (kernels::convert(m[(r, c)]), kernels::convert(m[(c, r)]));
            T::from_f64(0.5) * (low + high)
        };
        if copy_type == SpCopyType::MeanAndCheck {
            check_symmetric(m)?;
        }
        for (r, row) in self.rows_mut().enumerate() {
            match copy_type {
                SpCopyType::Lower => kernels::copy(&m.row_data(r)[..=r], row),
                SpCopyType::Upper => {
                    row.iter_mut().enumerate().for_each(|(c, x)| *x = kernels::convert(m[(c, r)]));
                }
                SpCopyType::Mean | SpCopyType::MeanAndCheck => {
                    row.iter_mut().enumerate().for_each(|(c, x)| *x = mean(r, c));
                }
            }
        }
        Ok(())
    }

    /// `self = other`, of either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has the same number of rows.
    #[doc(alias = "CopyFromSp")]
    pub fn copy_from_sp<U: Real>(&mut self, other: &SpMatrix<U>) -> Result<(), Error> {
        self.copy_from_packed(other)
    }

    /// Returns the full matrix, with both triangles.
    pub fn to_matrix(&self) -> Matrix<T> {
        let mut full = Matrix::zeros(self.dim, self.dim);
        full.copy_from_sp(self).expect("the size is ours");
        full
    }

    /// `sqrt(sum_ij self(i, j)^2)`, added in double precision.
    #[doc(alias = "FrobeniusNorm")]
    pub fn frobenius_norm(&self) -> T {
        let twice = |row: &[T]| {
            let (&diagonal, others) = row.split_last().expect("a row has its diagonal element");
            2.0 * others.iter().map(|x| square(x.to_f64())).sum::<f64>() + square(diagonal.to_f64())
        };
        T::from_f64(self.rows().map(twice).sum::<f64>().sqrt())
    }

    /// `true` if the sum of the absolute values off the diagonal is at most `cutoff` times the sum
    /// on the diagonal. Each pair is counted once. Kaldi's default `cutoff` is 1e-5.
    #[doc(alias = "IsDiagonal")]
    pub fn is_diagonal(&self, cutoff: T) -> bool {
        let (mut off, mut on) = (0.0, 0.0);
        for row in self.rows() {
            let (diagonal, others) = row.split_last().expect("a row has its diagonal element");
            off += others.iter().map(|x| x.to_f64().abs()).sum::<f64>();
            on += diagonal.to_f64().abs();
        }
        off <= cutoff.to_f64() * on
    }

    /// `true` if no element differs from the unit matrix's by more than `cutoff`. Kaldi's default
    /// `cutoff` is 1e-5.
    #[doc(alias = "IsUnit")]
    pub fn is_unit(&self, cutoff: T) -> bool {
        self.rows().enumerate().all(|(r, row)| {
            row.iter().enumerate().all(|(c, &x)| (x - if r == c { T::ONE } else { T::ZERO }).abs() <= cutoff)
        })
    }

    /// `true` if no absolute value is larger than `cutoff`. Kaldi's default `cutoff` is 1e-5.
    #[doc(alias = "IsZero")]
    pub fn is_zero(&self, cutoff: T) -> bool {
        self.data.iter().all(|x| x.abs() <= cutoff)
    }

    /// `true` if the largest absolute value outside of the three middle diagonals is at most
    /// `cutoff` times the largest one on them. Kaldi's default `cutoff` is 1e-5.
    #[doc(alias = "IsTridiagonal")]
    pub fn is_tridiagonal(&self, cutoff: T) -> bool {
        let largest = |x: &[T]| x.iter().fold(0.0, |largest: f64, x| largest.max(x.to_f64().abs()));
        let (mut outside, mut inside) = (0.0_f64, 0.0_f64);
        for row in self.rows() {
            let (far, near) = row.split_at(row.len().saturating_sub(2));
            outside = outside.max(largest(far));
            inside = inside.max(largest(near));
        }
        outside <= cutoff.to_f64() * inside
    }

    /// `true` if the Frobenius norm of the difference is at most `tol` times the larger one of the
    /// two norms. Kaldi's default `tol` is 0.01.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless both have the same number of rows.
    #[doc(alias = "ApproxEqual")]
    pub fn approx_equal(&self, other: &Self, tol: T) -> Result<bool, Error> {
        check_dim("approx_equal", self.dim, other.dim)?;
        let mut difference = self.clone();
        kernels::axpy(-T::ONE, &other.data, &mut difference.data);
        let (a, b) = (self.frobenius_norm(), other.frobenius_norm());
        Ok(difference.frobenius_norm() <= tol * if a > b { a } else { b })
    }
}

/// Checks that the antisymmetric part is small compared with the symmetric one.
fn check_symmetric<U: Real>(m: &MatrixBase<impl Storage<Elem = U>>) -> Result<(), Error> {
    const LIMIT: f64 = 0.01;
    let (mut asymmetric, mut symmetric) = (0.0, 0.0);
    for r in 0..m.num_rows() {
        for c in 0..=r {
            let (low, high) = (m[(r, c)].to_f64(), m[(c, r)].to_f64());
            asymmetric += (0.5 * (low - high)).abs();
            symmetric += (0.5 * (low + high)).abs();
        }
    }
    if asymmetric <= LIMIT * symmetric {
        Ok(())
    } else {
        Err(Error::NotSymmetric { operation: "copy_from_mat", asymmetric, symmetric })
    }
}

fn square(x: f64) -> f64 {
    x * x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_indices_name_one_element() {
        let mut s = SpMatrix::from_fn(4, |r, c| (10 * r + c) as f32);
        s[(1, 3)] = -1.0;
        assert_eq!(s[(3, 1)], -1.0);
        let full = s.to_matrix();
        assert!((0..4).all(|r| (0..4).all(|c| full[(r, c)] == s[(r, c)])));
    }

    #[test]
    #[should_panic(expected = "element (0, 2) of a matrix with 2 rows")]
    fn an_element_that_is_not_there() {
        let _ = SpMatrix::<f32>::zeros(2)[(0, 2)];
    }

    #[test]
    fn predicates_answer_as_defined() {
        let unit = SpMatrix::<f64>::unit(3);
        assert!(unit.is_unit(0.0) && unit.is_diagonal(0.0) && unit.is_tridiagonal(0.0) && !unit.is_zero(0.5));
        let mut s = unit.clone();
        s[(1, 0)] = 0.5;
        assert!(s.is_tridiagonal(0.0) && !s.is_diagonal(0.1) && s.is_diagonal(0.2) && !s.is_unit(0.4));
        s[(2, 0)] = 0.5;
        assert!(!s.is_tridiagonal(0.4));
        assert!((s.frobenius_norm() - 2.0).abs() < 1e-15);
        assert!(s.approx_equal(&s, 0.0).unwrap() && !s.approx_equal(&unit, 0.4).unwrap());
        let nothing = SpMatrix::<f64>::zeros(0);
        assert!(nothing.is_unit(0.0) && nothing.is_zero(0.0) && nothing.is_tridiagonal(0.0));
        s[(2, 2)] = f64::NAN;
        assert!(!s.is_unit(1.0) && !s.is_zero(9.0) && !s.is_diagonal(9.0));
    }

    #[test]
    fn a_matrix_that_is_not_symmetric_changes_nothing() {
        let m = Matrix::from_vec(2, 2, vec![1.0_f32, 1.0, 0.9, 1.0]).unwrap();
        let mut s = SpMatrix::<f64>::unit(2);
        let error = s.copy_from_mat(&m, SpCopyType::MeanAndCheck).err().unwrap();
        assert!(matches!(error, Error::NotSymmetric { .. }), "{error}");
        assert_eq!(s, SpMatrix::unit(2));
        s.copy_from_mat(&m, SpCopyType::Upper).unwrap();
        assert_eq!(s.data(), [1.0, 1.0, 1.0]);
    }
}
