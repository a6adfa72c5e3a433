//! Packed matrices: symmetric and lower triangular ones, with one stored triangle.
//!
//! ```text
//!        0   1   2
//!   0  [ a         ]       data: a b c d e f       element (r, c), c <= r, at r (r + 1) / 2 + c
//!   1  [ b   c     ]             0 1 2 3 4 5
//!   2  [ d   e   f ]
//! ```
//!
//! In a symmetric matrix (2, 1) and (1, 2) are the same element e; in a triangular one the elements
//! above the diagonal are zero.

mod compare;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod quadratic;
#[cfg(feature = "serde")]
mod serde;
mod sp;
mod sp_add;
mod sp_cholesky;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod sp_eig;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod sp_floor;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod sp_invert;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod top_eigs;
mod tp;
mod traces;
mod tridiagonal;
mod with_matrix;
mod with_vector;

use std::marker::PhantomData;

use kaldera_base::Real;

use crate::check::check_dim;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::random::RandomState;
use crate::storage::Storage;
use crate::vector::{ResizeType, VectorBase};

#[cfg(any(feature = "openblas", feature = "pure"))]
pub use crate::packed::quadratic::{
    SolverOptions, solve_double_quadratic_matrix_problem, solve_quadratic_matrix_problem, solve_quadratic_problem,
};
pub use crate::packed::sp::SpCopyType;
pub use crate::packed::traces::{
    trace_mat_sp_mat, trace_mat_sp_mat_sp, trace_sp_mat, trace_sp_sp, trace_sp_sp_lower, vec_sp_vec,
};

/// A square matrix whose lower triangle is stored row by row; use it through [`SpMatrix`] and
/// [`TpMatrix`].
#[derive(Clone, Default, PartialEq)]
pub struct PackedMatrix<T, K> {
    data: Vec<T>,
    dim: usize,
    /// Always zero: the target of an index above the diagonal of a triangular matrix.
    zero: T,
    kind: PhantomData<K>,
}

/// A symmetric matrix.
///
/// ```
/// # use kaldi_matrix::SpMatrix;
/// let s = SpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0])?;
/// assert_eq!(s[(0, 1)], 2.0);
/// assert_eq!(s.to_matrix().data(), [1.0, 2.0, 2.0, 3.0]);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
pub type SpMatrix<T> = PackedMatrix<T, Symmetric>;

/// A lower triangular matrix.
///
/// ```
/// # use kaldi_matrix::TpMatrix;
/// let l = TpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0])?;
/// assert_eq!(l[(0, 1)], 0.0);
/// assert_eq!(l.to_matrix().data(), [1.0, 0.0, 2.0, 3.0]);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
pub type TpMatrix<T> = PackedMatrix<T, LowerTriangular>;

/// Kind of an [`SpMatrix`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symmetric;

/// Kind of a [`TpMatrix`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerTriangular;

/// Returns the number of elements of the lower triangle; the allocator rejects a number beyond
/// `usize`.
fn triangle(dim: usize) -> usize {
    checked_triangle(dim).unwrap_or(usize::MAX)
}

/// Returns dim (dim + 1) / 2, if it fits in a machine word.
pub(crate) fn checked_triangle(dim: usize) -> Option<usize> {
    let next = dim.checked_add(1)?;
    if dim.is_multiple_of(2) { (dim / 2).checked_mul(next) } else { dim.checked_mul(next / 2) }
}

impl<T: Real, K> PackedMatrix<T, K> {
    /// Creates a matrix of `dim` by `dim` zeros.
    ///
    /// # Panics
    /// As `vec!`, if the triangle is more than memory can hold.
    pub fn zeros(dim: usize) -> Self {
        Self { data: vec![T::ZERO; triangle(dim)], dim, zero: T::ZERO, kind: PhantomData }
    }

    /// Creates the unit matrix.
    ///
    /// # Panics
    /// As [`zeros`](Self::zeros).
    pub fn unit(dim: usize) -> Self {
        let mut unit = Self::zeros(dim);
        unit.add_to_diag(T::ONE);
        unit
    }

    /// Creates a matrix from its lower triangle, row by row, without copying.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless there are `dim * (dim + 1) / 2` elements.
    pub fn from_vec(dim: usize, data: Vec<T>) -> Result<Self, Error> {
        check_dim("from_vec", triangle(dim), data.len())?;
        Ok(Self { data, dim, zero: T::ZERO, kind: PhantomData })
    }

    /// Creates a matrix whose element at (r, c), c <= r, is `f(r, c)`.
    ///
    /// # Panics
    /// As [`zeros`](Self::zeros), and if `f` does.
    pub fn from_fn(dim: usize, mut f: impl FnMut(usize, usize) -> T) -> Self {
        let mut data = Vec::with_capacity(triangle(dim));
        for r in 0..dim {
            data.extend((0..=r).map(|c| f(r, c)));
        }
        Self { data, dim, zero: T::ZERO, kind: PhantomData }
    }

    /// Returns the lower triangle row by row, without copying.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Returns the number of rows, which is also the number of columns.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of rows.
    #[doc(alias = "NumRows")]
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.dim
    }

    /// Returns the number of columns.
    #[doc(alias = "NumCols")]
    #[inline]
    pub fn num_cols(&self) -> usize {
        self.dim
    }

    /// Returns the size of the stored elements in bytes.
    #[doc(alias = "SizeInBytes")]
    pub fn size_in_bytes(&self) -> usize {
        size_of_val(self.data())
    }

    /// Returns the lower triangle row by row.
    #[doc(alias = "Data")]
    #[inline]
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Returns the lower triangle row by row, mutably.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns the stored elements of row `r`: `r + 1` elements, the last one on the diagonal.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row_data(&self, r: usize) -> &[T] {
        assert!(r < self.dim, "row {r} of a matrix with {} rows", self.dim);
        &self.data[triangle(r)..][..=r]
    }

    /// Returns the stored elements of row `r`, mutably.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row_data_mut(&mut self, r: usize) -> &mut [T] {
        assert!(r < self.dim, "row {r} of a matrix with {} rows", self.dim);
        &mut self.data[triangle(r)..][..=r]
    }

    /// Returns the stored elements of each row, top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &[T]> {
        let mut rest = self.data();
        (1..=self.dim).map(move |len| {
            let (row, below) = rest.split_at(len);
            rest = below;
            row
        })
    }

    /// Returns the stored elements of each row, top to bottom, mutably.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let mut rest = &mut self.data[..];
        (1..=self.dim).map(move |len| {
            let (row, below) = std::mem::take(&mut rest).split_at_mut(len);
            rest = below;
            row
        })
    }

    /// Returns the elements on the diagonal.
    pub fn diag(&self) -> impl Iterator<Item = T> {
        self.rows().map(|row| row[row.len() - 1])
    }

    /// Returns the elements on the diagonal, mutably.
    fn diag_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows_mut().filter_map(<[T]>::last_mut)
    }

    /// Rejects NaN and infinity, for which a library may loop for long or return NaN.
    fn check_finite(&self, operation: &'static str) -> Result<(), Error> {
        if self.data.iter().all(|x| x.is_finite()) {
            Ok(())
        } else {
            Err(Error::NoConvergence { operation, shape: Shape { rows: self.dim, cols: self.dim } })
        }
    }

    /// Returns the same numbers in another precision, or in the same.
    ///
    /// ```
    /// # use kaldi_matrix::SpMatrix;
    /// let single = SpMatrix::from_vec(1, vec![0.5_f32])?;
    /// let double: SpMatrix<f64> = single.converted();
    /// assert_eq!(double.data(), [0.5]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    pub fn converted<U: Real>(&self) -> PackedMatrix<U, K> {
        let data = self.data.iter().map(|&x| kernels::convert(x)).collect();
        PackedMatrix { data, dim: self.dim, zero: U::ZERO, kind: PhantomData }
    }

    /// Changes the size. [`ResizeType::CopyData`] keeps the top left part.
    ///
    /// # Panics
    /// As [`zeros`](Self::zeros), if the triangle is more than memory can hold.
    #[doc(alias = "Resize")]
    pub fn resize(&mut self, dim: usize, resize_type: ResizeType) {
        if resize_type == ResizeType::SetZero {
            self.data.clear();
        }
        self.data.resize(triangle(dim), T::ZERO);
        self.dim = dim;
    }

    /// Exchanges two matrices of any sizes, without copying elements.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }

    /// Sets all elements to zero.
    #[doc(alias = "SetZero")]
    pub fn set_zero(&mut self) {
        self.data.fill(T::ZERO);
    }

    /// `self = 1`, the unit matrix.
    #[doc(alias = "SetUnit")]
    pub fn set_unit(&mut self) {
        self.set_zero();
        self.set_diag(T::ONE);
    }

    /// Sets each stored element to a normally distributed number with mean 0 and variance 1.
    #[doc(alias = "SetRandn")]
    pub fn set_randn(&mut self, random: &mut RandomState) {
        self.data.iter_mut().for_each(|x| *x = T::from_f64(random.gauss()));
    }

    /// `self = alpha * self`.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: T) {
        kernels::scale(&mut self.data, alpha);
    }

    /// `self = self + alpha * 1`: adds to each element of the diagonal.
    #[doc(alias = "AddToDiag")]
    pub fn add_to_diag(&mut self, alpha: T) {
        self.diag_mut().for_each(|x| *x += alpha);
    }

    /// Multiplies each element of the diagonal by `alpha`.
    #[doc(alias = "ScaleDiag")]
    pub fn scale_diag(&mut self, alpha: T) {
        self.diag_mut().for_each(|x| *x *= alpha);
    }

    /// Sets each element of the diagonal to `alpha`.
    #[doc(alias = "SetDiag")]
    pub fn set_diag(&mut self, alpha: T) {
        self.diag_mut().for_each(|x| *x = alpha);
    }

    /// `sum_i self(i, i)`, added in double precision.
    #[doc(alias = "Trace")]
    pub fn trace(&self) -> T {
        T::from_f64(self.diag().map(T::to_f64).sum())
    }

    /// Returns the largest stored element that is not NaN; minus infinity if there is none.
    ///
    /// For a triangular matrix, the zeros above the diagonal are ignored.
    #[doc(alias = "Max")]
    pub fn max(&self) -> T {
        kernels::max(&self.data)
    }

    /// Returns the smallest stored element that is not NaN; infinity if there is none.
    ///
    /// For a triangular matrix, the zeros above the diagonal are ignored.
    #[doc(alias = "Min")]
    pub fn min(&self) -> T {
        kernels::min(&self.data)
    }

    /// `self = other`: the stored elements of a packed matrix of either kind and precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has the same number of rows.
    #[doc(alias = "CopyFromPacked")]
    pub fn copy_from_packed<U: Real, L>(&mut self, other: &PackedMatrix<U, L>) -> Result<(), Error> {
        check_dim("copy_from_packed", self.dim, other.dim)?;
        kernels::copy(&other.data, &mut self.data);
        Ok(())
    }

    /// Copies the stored elements, row by row, from a vector of either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has the same number of elements.
    #[doc(alias = "CopyFromVec")]
    pub fn copy_from_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("copy_from_vec", self.data.len(), v.dim())?;
        kernels::copy(v.data(), &mut self.data);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert!(SpMatrix::from_vec(2, vec![0.0_f32; 2]).is_err());
        assert!(SpMatrix::from_vec(usize::MAX, vec![0.0_f32; 2]).is_err());
        assert_eq!(checked_triangle(usize::MAX), None);
        for dim in 0..9 {
            assert_eq!(checked_triangle(dim), Some((1..=dim).sum()));
            let mut m = TpMatrix::<f64>::from_fn(dim, |r, c| (r * 10 + c) as f64);
            assert_eq!(m.rows().count(), dim);
            assert!(m.rows().enumerate().all(|(r, row)| row == m.row_data(r)));
            m.rows_mut().for_each(|row| row.fill(1.0));
            assert_eq!(m.data(), vec![1.0; triangle(dim)]);
        }
    }

    #[test]
    fn resizing_keeps_what_it_promises() {
        let mut m = SpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0]).unwrap();
        m.resize(3, ResizeType::CopyData);
        assert_eq!(m.data(), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]);
        m.resize(1, ResizeType::CopyData);
        assert_eq!(m.data(), [1.0]);
        m.resize(2, ResizeType::SetZero);
        assert_eq!((m.dim(), m.data()), (2, &[0.0; 3][..]));
        m.resize(4, ResizeType::Undefined);
        assert_eq!((m.num_rows(), m.num_cols(), m.size_in_bytes()), (4, 4, 40));
    }

    #[test]
    fn the_diagonal() {
        let mut m = SpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0]).unwrap();
        assert_eq!(m.trace(), 4.0);
        m.add_to_diag(1.0);
        assert_eq!(m.data(), [2.0, 2.0, 4.0]);
        m.scale_diag(0.5);
        assert_eq!(m.data(), [1.0, 2.0, 2.0]);
        m.set_diag(-1.0);
        assert_eq!((m.data(), m.max(), m.min()), (&[-1.0, 2.0, -1.0][..], 2.0, -1.0));
        m.set_unit();
        assert_eq!(m, SpMatrix::unit(2));
        assert_eq!(SpMatrix::<f32>::zeros(0).max(), f32::NEG_INFINITY);
    }

    #[test]
    fn copies_have_the_size_and_any_precision() {
        let mut m = SpMatrix::<f32>::zeros(2);
        m.copy_from_packed(&TpMatrix::from_vec(2, vec![1.0_f64, 2.0, 3.0]).unwrap()).unwrap();
        assert_eq!(m.data(), [1.0, 2.0, 3.0]);
        assert!(m.copy_from_packed(&SpMatrix::<f32>::zeros(3)).is_err());
        m.copy_from_vec(&crate::Vector::from(vec![4.0_f64, 5.0, 6.0])).unwrap();
        assert_eq!(m.into_vec(), [4.0, 5.0, 6.0]);
    }
}
