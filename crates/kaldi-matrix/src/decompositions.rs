//! Decompositions and their results: eigenvalues, singular values, inverses, powers; with the
//! features `openblas` or `pure`.
//!
//! Both libraries give the same decomposition up to rounding, because order and signs are fixed
//! here. Values descend (equal ones keep the order of the library). The entry of the largest
//! absolute value in each eigenvector, or in each left singular vector, is positive (the first of
//! equal ones). Vectors of values that are equal, or nearly equal, span the right space but are
//! otherwise arbitrary.

mod general_eig;
mod inverse;
mod pca;
mod power;
mod singular_values;

use kaldera_base::Real;

use crate::backend;
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;
use crate::vector::Vector;

pub use crate::backend::log_det::LogDet;
pub use crate::decompositions::general_eig::{GeneralEig, create_eigenvalue_matrix};
pub use crate::decompositions::pca::compute_pca;
pub use crate::decompositions::power::attempt_complex_power;
pub use crate::decompositions::singular_values::sort_svd;

/// A symmetric matrix A = P diag(s) P', with P orthogonal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SymmetricEig<T: Real> {
    /// The eigenvalues s, descending.
    pub values: Vector<T>,
    /// P: column i is the eigenvector of value i, of length 1.
    pub vectors: Matrix<T>,
}

/// A matrix A = U diag(s) V', where U and V have orthonormal columns, as many as A's shorter side
/// has elements.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Svd<T: Real> {
    /// U: the left singular vectors are its columns.
    pub u: Matrix<T>,
    /// The singular values s, descending, none of them negative.
    pub s: Vector<T>,
    /// V': the right singular vectors are its rows.
    pub vt: Matrix<T>,
}

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// Computes the eigenvalues and eigenvectors of a symmetric matrix. Only the lower triangle is
    /// read.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let m = Matrix::from_vec(2, 2, vec![2.0_f64, 1.0, 1.0, 2.0])?;
    /// let eig = m.symmetric_eig()?;
    /// assert!((eig.values[0] - 3.0).abs() < 1e-14);
    /// assert!((eig.vectors[(0, 0)] - 0.5_f64.sqrt()).abs() < 1e-14);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotSquare`]; [`Error::NoConvergence`] for NaN or infinite elements;
    /// [`Error::TooLarge`] for a matrix beyond LAPACK's 32-bit sizes in a build with only OpenBLAS.
    #[doc(alias = "eigh")]
    #[doc(alias = "syev")]
    pub fn symmetric_eig(&self) -> Result<SymmetricEig<T>, Error> {
        let Shape { rows: n, cols } = self.shape();
        if n != cols {
            return Err(Error::NotSquare { operation: "symmetric_eig", found: self.shape() });
        }
        let full = Matrix::from_fn(n, n, |r, c| self[(r.max(c), r.min(c))]);
        check_finite("symmetric_eig", &full)?;
        let mut values = vec![T::ZERO; n];
        let mut vectors = Matrix::zeros(n, n);
        if n > 0 {
            backend::eigh(full.view(), &mut values, vectors.view_mut())?;
        }
        let order = descending(&values);
        let signs = signs(&vectors);
        Ok(SymmetricEig {
            values: order.iter().map(|&i| values[i]).collect(),
            vectors: Matrix::from_fn(n, n, |r, c| signs[order[c]] * vectors[(r, order[c])]),
        })
    }

    /// Computes [`symmetric_eig`](Self::symmetric_eig) of a matrix that is positive semi-definite
    /// up to rounding: eigenvalues below zero become zero.
    ///
    /// `tolerance` is the largest absolute value of a negative eigenvalue, relative to the largest
    /// one; Kaldi's default is 0.001.
    ///
    /// # Errors
    /// As [`symmetric_eig`](Self::symmetric_eig), and [`Error::NotPositiveSemiDefinite`].
    #[doc(alias = "SymPosSemiDefEig")]
    pub fn sym_pos_semi_def_eig(&self, tolerance: T) -> Result<SymmetricEig<T>, Error> {
        let mut eig = self.symmetric_eig()?;
        eig.floor_at_zero("sym_pos_semi_def_eig", tolerance)?;
        Ok(eig)
    }

    /// Computes the thin singular value decomposition: U is as tall and V' as wide as this matrix.
    ///
    /// # Errors
    /// [`Error::NoConvergence`] for NaN or infinite elements; [`Error::TooLarge`] for a matrix
    /// beyond LAPACK's 32-bit sizes in a build with only OpenBLAS.
    #[doc(alias = "Svd")]
    #[doc(alias = "LapackGesvd")]
    #[doc(alias = "JamaSvd")]
    #[doc(alias = "gesdd")]
    pub fn svd(&self) -> Result<Svd<T>, Error> {
        check_finite("svd", self)?;
        let Shape { rows, cols } = self.shape();
        let k = rows.min(cols);
        let (mut u, mut s, mut vt) = (Matrix::zeros(rows, k), vec![T::ZERO; k], Matrix::zeros(k, cols));
        if k > 0 {
            backend::svd(self.view(), u.view_mut(), &mut s, vt.view_mut())?;
        }
        let order = descending(&s);
        let signs = signs(&u);
        Ok(Svd {
            u: Matrix::from_fn(rows, k, |r, c| signs[order[c]] * u[(r, order[c])]),
            s: order.iter().map(|&i| s[i]).collect(),
            vt: Matrix::from_fn(k, cols, |r, c| signs[order[r]] * vt[(order[r], c)]),
        })
    }
}

/// Rejects elements that are not finite, for which a library may loop for long or return NaN.
pub(crate) fn check_finite<T: Real>(
    operation: &'static str,
    m: &MatrixBase<impl Storage<Elem = T>>,
) -> Result<(), Error> {
    if m.rows().flatten().all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(Error::NoConvergence { operation, shape: m.shape() })
    }
}

/// Returns the indexes of the values from the largest to the smallest.
fn descending<T: Real>(values: &[T]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[j].to_f64().total_cmp(&values[i].to_f64()));
    order
}

/// Returns for each column 1, or -1 if its entry of the largest absolute value is negative.
fn signs<T: Real>(m: &Matrix<T>) -> Vec<T> {
    let mut largest = vec![T::ZERO; m.num_cols()];
    for row in m.rows() {
        for (largest, &x) in largest.iter_mut().zip(row) {
            if x.abs() > largest.abs() {
                *largest = x;
            }
        }
    }
    largest.iter().map(|&x| if x < T::ZERO { -T::ONE } else { T::ONE }).collect()
}

/// Makes the entry of the largest absolute value in each column positive.
pub(crate) fn fix_signs<T: Real>(m: &mut Matrix<T>) {
    let signs = signs(m);
    m.rows_mut().for_each(|row| row.iter_mut().zip(&signs).for_each(|(x, &sign)| *x *= sign));
}
