//! Singular values without vectors, quantities from them, and the order of a decomposition.

use kaldera_base::Real;

use crate::backend;
use crate::check::check_dim;
use crate::decompositions::{Svd, check_finite, descending};
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase, SubMatrixMut};
use crate::storage::{Storage, StorageMut};
use crate::vector::{Vector, VectorBase};

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// Computes only the singular values, descending: as many as the shorter side has elements.
    /// Kaldi's `Svd(&s)`.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let m = Matrix::from_vec(1, 2, vec![3.0_f32, 4.0])?;
    /// assert!((m.singular_values()?[0] - 5.0).abs() < 1e-6);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`svd`](Self::svd).
    #[doc(alias = "Svd")]
    pub fn singular_values(&self) -> Result<Vector<T>, Error> {
        check_finite("singular_values", self)?;
        let mut s = vec![T::ZERO; self.num_rows().min(self.num_cols())];
        if !s.is_empty() {
            backend::singular_values(self.view(), &mut s)?;
        }
        Ok(descending(&s).iter().map(|&i| s[i]).collect())
    }

    /// Computes the largest singular value divided by the smallest one; infinity if that is zero.
    /// Computed in double precision.
    ///
    /// # Errors
    /// As [`svd`](Self::svd), and [`Error::NoElements`].
    #[doc(alias = "Cond")]
    pub fn cond(&self) -> Result<T, Error> {
        let (largest, smallest) = self.extreme_singular_values("cond")?;
        Ok(if smallest == 0.0 { T::INFINITY } else { T::from_f64(largest / smallest) })
    }

    /// Computes the smallest singular value, in double precision.
    ///
    /// # Errors
    /// As [`svd`](Self::svd), and [`Error::NoElements`].
    #[doc(alias = "MinSingularValue")]
    pub fn min_singular_value(&self) -> Result<T, Error> {
        Ok(T::from_f64(self.extreme_singular_values("min_singular_value")?.1))
    }

    /// Returns the largest singular value and the smallest one.
    fn extreme_singular_values(&self, operation: &'static str) -> Result<(f64, f64), Error> {
        let Shape { rows, cols } = self.shape();
        let s = Matrix::from_fn(rows, cols, |r, c| self[(r, c)].to_f64()).singular_values()?;
        match s.data() {
            [] => Err(Error::NoElements { operation, shape: self.shape() }),
            [largest, .., smallest] => Ok((*largest, *smallest)),
            [only] => Ok((*only, *only)),
        }
    }
}

impl<T: Real> Matrix<T> {
    /// Computes [`svd`](MatrixBase::svd) of a matrix that is not needed any more. Kaldi's
    /// overwrites the matrix, and needs at least as many rows as columns.
    ///
    /// # Errors
    /// As [`svd`](MatrixBase::svd).
    #[doc(alias = "DestructiveSvd")]
    pub fn destructive_svd(self) -> Result<Svd<T>, Error> {
        self.svd()
    }
}

/// Sorts singular values (or eigenvalues) in descending order, and with them the columns of U and
/// the rows of V'.
///
/// The order is of their absolute values, or of the signed values if `sort_on_absolute_value` is
/// `false`. Equal ones keep their order.
///
/// ```
/// # use kaldi_matrix::{Matrix, Vector};
/// # use kaldi_matrix::decompositions::sort_svd;
/// let mut s = Vector::from(vec![1.0_f32, -3.0]);
/// let mut u = Matrix::from_vec(1, 2, vec![10.0, 30.0])?;
/// sort_svd(&mut s, Some(u.view_mut()), None, true)?;
/// assert_eq!((s.data(), u.data()), (&[-3.0_f32, 1.0][..], &[30.0_f32, 10.0][..]));
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::DimMismatch`] unless there is one column of U and one row of V' for each value.
#[doc(alias = "SortSvd")]
pub fn sort_svd<T: Real>(
    s: &mut VectorBase<impl StorageMut<Elem = T>>,
    u: Option<SubMatrixMut<'_, T>>,
    vt: Option<SubMatrixMut<'_, T>>,
    sort_on_absolute_value: bool,
) -> Result<(), Error> {
    if let Some(u) = &u {
        check_dim("sort_svd", s.dim(), u.num_cols())?;
    }
    if let Some(vt) = &vt {
        check_dim("sort_svd", s.dim(), vt.num_rows())?;
    }
    let key = |x: &T| if sort_on_absolute_value { x.abs() } else { *x };
    let order = descending(&s.iter().map(key).collect::<Vec<_>>());
    let old = s.to_owned();
    s.iter_mut().zip(&order).for_each(|(s, &i)| *s = old[i]);
    if let Some(mut u) = u {
        let old = u.to_owned();
        for (r, row) in u.rows_mut().enumerate() {
            row.iter_mut().zip(&order).for_each(|(x, &i)| *x = old[(r, i)]);
        }
    }
    if let Some(mut vt) = vt {
        let old = vt.to_owned();
        vt.rows_mut().zip(&order).for_each(|(row, &i)| row.copy_from_slice(old.row_data(i)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_alone_are_those_of_the_whole() {
        for (rows, cols) in [(1, 1), (3, 7), (7, 3), (20, 20), (100, 30), (0, 3)] {
            let m = Matrix::from_fn(rows, cols, |r, c| ((r * 7 + c * 13 + r * c) % 10) as f64 - 4.5);
            let (alone, whole) = (m.singular_values().unwrap(), m.clone().destructive_svd().unwrap());
            assert_eq!(alone.dim(), whole.s.dim());
            assert!(alone.iter().zip(whole.s.iter()).all(|(a, b)| (a - b).abs() < 1e-12), "{alone} {}", whole.s);
            if let (Some(first), Some(last)) = (alone.data().first(), alone.data().last()) {
                assert_eq!(m.min_singular_value().unwrap(), *last);
                assert_eq!(m.cond().unwrap(), first / last);
            } else {
                assert!(matches!(m.cond(), Err(Error::NoElements { .. })));
                assert!(m.min_singular_value().is_err());
            }
        }
        assert_eq!(Matrix::<f32>::zeros(2, 3).cond().unwrap(), f32::INFINITY);
        assert!(Matrix::from_fn(2, 2, |_, _| f32::NAN).singular_values().is_err());
    }

    #[test]
    fn sorting_moves_the_vectors_along() {
        let mut s = Vector::from(vec![1.0_f64, -2.0, 1.5, f64::NAN, 0.0]);
        let mut vt = Matrix::from_fn(5, 2, |r, _| r as f64);
        sort_svd(&mut s, None, Some(vt.view_mut()), false).unwrap();
        assert_eq!(s.data()[1..], [1.5, 1.0, 0.0, -2.0]);
        assert_eq!(vt.data(), [3.0, 3.0, 2.0, 2.0, 0.0, 0.0, 4.0, 4.0, 1.0, 1.0]);
        assert!(sort_svd(&mut s, Some(vt.view_mut()), None, true).is_err());
        assert!(sort_svd(&mut s, None, Some(vt.row_range_mut(0, 4).unwrap()), true).is_err());
    }
}
