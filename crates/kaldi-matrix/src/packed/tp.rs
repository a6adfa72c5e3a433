//! Lower triangular matrices: elements, copies, inverse, determinant.

use std::ops::{Index, IndexMut};

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_shape;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::packed::{LowerTriangular, PackedMatrix, TpMatrix, triangle};
use crate::storage::Storage;

/// Index (row, column), 0 above the diagonal; panics outside of the matrix, as a slice does.
impl<T: Real> Index<(usize, usize)> for PackedMatrix<T, LowerTriangular> {
    type Output = T;

    #[inline]
    fn index(&self, (r, c): (usize, usize)) -> &T {
        assert!(r < self.dim && c < self.dim, "element ({r}, {c}) of a matrix with {} rows", self.dim);
        if c <= r { &self.data[triangle(r) + c] } else { &self.zero }
    }
}

/// Index (row, column); panics outside of the lower triangle, as a slice does.
impl<T: Real> IndexMut<(usize, usize)> for PackedMatrix<T, LowerTriangular> {
    #[inline]
    fn index_mut(&mut self, (r, c): (usize, usize)) -> &mut T {
        assert!(c <= r, "element ({r}, {c}) lies above the diagonal of a lower triangular matrix and is always 0");
        &mut self.row_data_mut(r)[c]
    }
}

impl<T: Real> TpMatrix<T> {
    /// Creates a matrix from the lower triangle of a square one of either precision, or with
    /// [`Trans::Yes`] of its transpose.
    ///
    /// # Errors
    /// [`Error::NotSquare`].
    pub fn from_mat(m: &MatrixBase<impl Storage>, trans: Trans) -> Result<Self, Error> {
        let Shape { rows: dim, cols } = m.shape();
        if dim != cols {
            return Err(Error::NotSquare { operation: "from_mat", found: m.shape() });
        }
        let mut t = Self::zeros(dim);
        t.copy_from_mat(m, trans)?;
        Ok(t)
    }

    /// `self =` the lower triangle of a square matrix of either precision, or with [`Trans::Yes`]
    /// its upper triangle, transposed.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for another size.
    #[doc(alias = "CopyFromMat")]
    pub fn copy_from_mat(&mut self, m: &MatrixBase<impl Storage>, trans: Trans) -> Result<(), Error> {
        check_shape("copy_from_mat", Shape { rows: self.dim, cols: self.dim }, m.shape())?;
        for (r, row) in self.rows_mut().enumerate() {
            match trans {
                Trans::No => kernels::copy(&m.row_data(r)[..=r], row),
                Trans::Yes => row.iter_mut().enumerate().for_each(|(c, x)| *x = kernels::convert(m[(c, r)])),
            }
        }
        Ok(())
    }

    /// `self = other`, of either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has the same number of rows.
    #[doc(alias = "CopyFromTp")]
    pub fn copy_from_tp<U: Real>(&mut self, other: &TpMatrix<U>) -> Result<(), Error> {
        self.copy_from_packed(other)
    }

    /// Returns the full matrix, with zeros above the diagonal.
    pub fn to_matrix(&self) -> Matrix<T> {
        let mut full = Matrix::zeros(self.dim, self.dim);
        full.copy_from_tp(self, Trans::No).expect("the size is ours");
        full
    }

    /// `self = self + alpha * other`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has the same number of rows.
    #[doc(alias = "AddTp")]
    pub fn add_tp(&mut self, alpha: T, other: &Self) -> Result<(), Error> {
        check_dim("add_tp", self.dim, other.dim)?;
        kernels::axpy(alpha, &other.data, &mut self.data);
        Ok(())
    }

    /// Returns the product of the diagonal elements, multiplied in double precision.
    #[doc(alias = "Determinant")]
    pub fn determinant(&self) -> T {
        T::from_f64(self.diag().map(T::to_f64).product())
    }

    /// `self = self^-1`.
    ///
    /// ```
    /// # use kaldi_matrix::TpMatrix;
    /// let mut l = TpMatrix::from_vec(2, vec![2.0_f32, 3.0, 4.0])?;
    /// l.invert()?;
    /// assert_eq!(l.data(), [0.5, -0.375, 0.25]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Singular`] for a zero on the diagonal; the matrix is then unchanged.
    #[doc(alias = "Invert")]
    #[doc(alias = "tptri")]
    pub fn invert(&mut self) -> Result<(), Error> {
        self.check_diagonal("invert")?;
        let mut row = Vec::new();
        for r in 0..self.dim {
            let (above, rest) = self.data.split_at_mut(triangle(r));
            let (inverse_row, diagonal) = rest[..=r].split_at_mut(r);
            row.clear();
            row.extend_from_slice(inverse_row);
            inverse_row.fill(T::ZERO);
            let mut start = 0;
            for (k, &x) in row.iter().enumerate() {
                kernels::axpy(x, &above[start..=start + k], &mut inverse_row[..=k]);
                start += k + 1;
            }
            diagonal[0] = T::ONE / diagonal[0];
            let factor = -diagonal[0];
            inverse_row.iter_mut().for_each(|x| *x *= factor);
        }
        Ok(())
    }

    /// `self = self^-1`, computed in double precision.
    ///
    /// # Errors
    /// As [`invert`](Self::invert).
    #[doc(alias = "InvertDouble")]
    pub fn invert_double(&mut self) -> Result<(), Error> {
        let mut double = self.converted::<f64>();
        double.invert()?;
        self.copy_from_tp(&double)
    }

    /// Checks that no element on the diagonal is zero.
    pub(super) fn check_diagonal(&self, operation: &'static str) -> Result<(), Error> {
        if self.diag().any(|x| x == T::ZERO) {
            return Err(Error::Singular { operation, shape: Shape { rows: self.dim, cols: self.dim } });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(dim: usize) -> TpMatrix<f64> {
        TpMatrix::from_fn(dim, |r, c| if r == c { 2.0 + r as f64 } else { ((7 * r + 3 * c) % 5) as f64 / 4.0 - 0.5 })
    }

    #[test]
    fn elements_above_the_diagonal_are_zero() {
        let mut t = example(3);
        assert_eq!(t[(0, 2)], 0.0);
        t[(2, 0)] = 5.0;
        assert_eq!(t[(2, 0)], 5.0);
        let upper = t.to_matrix().transposed();
        assert_eq!(TpMatrix::<f64>::from_mat(&upper, Trans::Yes).unwrap(), t);
        assert!(TpMatrix::<f64>::from_mat(&Matrix::<f32>::zeros(2, 3), Trans::No).is_err());
    }

    #[test]
    #[should_panic(expected = "above the diagonal")]
    fn above_the_diagonal_nothing_can_be_set() {
        example(2)[(0, 1)] = 1.0;
    }

    #[test]
    fn the_inverse_times_the_matrix_is_the_unit_matrix() {
        for dim in 0..40 {
            let t = example(dim);
            let mut inverse = t.clone();
            inverse.invert().unwrap();
            let mut product = Matrix::zeros(dim, dim);
            product.add_tp_tp(1.0, &t, Trans::No, &inverse, Trans::No, 0.0).unwrap();
            let far = |r: usize, c: usize| (product[(r, c)] - f64::from(u8::from(r == c))).abs() > 1e-13;
            assert!((0..dim).all(|r| (0..dim).all(|c| !far(r, c))), "{dim}: {product}");
        }
    }

    #[test]
    fn a_zero_on_the_diagonal_has_no_inverse() {
        let mut t = example(4);
        t[(2, 2)] = 0.0;
        let before = t.clone();
        assert!(matches!(t.invert(), Err(Error::Singular { .. })));
        assert!(t.invert_double().is_err());
        assert_eq!(t, before);
        assert_eq!(t.determinant(), 0.0);
    }
}
