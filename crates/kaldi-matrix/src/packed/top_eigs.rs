//! A few eigenvalues of a large symmetric matrix, by the method of C. Lanczos (1950).

use kaldera_base::Real;
use kaldera_base::random::Philox;

use crate::decompositions::{SymmetricEig, fix_signs};
use crate::error::Error;
use crate::kernels;
use crate::matrix::{Matrix, Trans};
use crate::packed::SpMatrix;
use crate::vector::{SubVectorMut, Vector};

impl<T: Real> SpMatrix<T> {
    /// Returns the `num_eigs` eigenvalues of the largest absolute values, in descending order of
    /// these, with their eigenvectors as columns of a `dim` x `num_eigs` matrix.
    ///
    /// They are the eigenvalues of this matrix in a subspace of `lanczos_dim` dimensions around the
    /// top ones; 0 means Kaldi's default, the larger one of `num_eigs + 50` and `1.5 num_eigs`.
    /// With `dim` dimensions or more, and for a small matrix by default, they are exact. The
    /// subspace starts from a fixed pseudo-random vector, while Kaldi draws another one each time.
    /// The signs are as in [`symmetric_eig`](crate::MatrixBase::symmetric_eig).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for more eigenvalues than there are rows; as [`eig`](Self::eig).
    #[doc(alias = "TopEigs")]
    pub fn top_eigs(&self, num_eigs: usize, lanczos_dim: usize) -> Result<SymmetricEig<T>, Error> {
        let dim = self.dim();
        if num_eigs > dim {
            return Err(Error::OutOfRange { what: "rows", start: 0, len: num_eigs, size: dim });
        }
        let default = (num_eigs + 50).max(num_eigs + num_eigs / 2);
        let subspace = if lanczos_dim == 0 { default } else { lanczos_dim.max(num_eigs) };
        if subspace >= dim {
            return Ok(largest(&self.eig()?, num_eigs));
        }
        self.check_finite("top_eigs")?;
        let (basis, seen) = self.krylov(subspace)?;
        let top = largest(&seen.eig()?, num_eigs);
        let mut vectors = Matrix::zeros(dim, num_eigs);
        vectors.add_mat_mat(T::ONE, &basis, Trans::Yes, &top.vectors, Trans::No, T::ZERO)?;
        fix_signs(&mut vectors);
        Ok(SymmetricEig { values: top.values, vectors })
    }

    /// Returns orthonormal rows Q that span a start vector x, S x, S^2 x ..., and Q S Q'.
    fn krylov(&self, subspace: usize) -> Result<(Matrix<T>, SpMatrix<T>), Error> {
        let mut basis = Matrix::zeros(subspace, self.dim());
        let mut seen = SpMatrix::zeros(subspace);
        let mut next = Vector::zeros(self.dim());
        for r in 0..subspace {
            let mut attempt = 0;
            while !add_to_basis(&mut basis, r, &next) {
                // At the start, and if the space is closed under S, any other vector works.
                next.copy_from_vec(&random(self.dim(), r, attempt))?;
                attempt += 1;
            }
            next.add_sp_vec(T::ONE, self, &basis.row(r), T::ZERO)?;
            for c in 0..=r {
                seen[(r, c)] = kernels::dot(next.data(), basis.row_data(c));
            }
        }
        Ok((basis, seen))
    }
}

/// Sets row `r` to the part of `v` that is orthogonal to the rows above, scaled to length 1.
/// Returns `false` if there is none.
fn add_to_basis<T: Real>(basis: &mut Matrix<T>, r: usize, v: &Vector<T>) -> bool {
    /// A remainder shorter than this, relative to the vector, is only rounding.
    const ROUNDING: f64 = 100.0;
    let length = |v: &[T]| kernels::sum_of_squares(v).to_f64().sqrt();
    let mut v = v.to_owned();
    let before = length(v.data());
    // One pass leaves rounding errors of the old length, two are enough (B. N. Parlett, *The
    // Symmetric Eigenvalue Problem*).
    for _ in 0..2 {
        for row in basis.rows().take(r) {
            let along = kernels::dot(v.data(), row);
            kernels::axpy(-along, row, v.data_mut());
        }
    }
    let after = length(v.data());
    // Also if both are zero.
    if after <= ROUNDING * T::EPSILON.to_f64() * before {
        return false;
    }
    v.scale(T::from_f64(1.0 / after));
    // The first remainder may be short, and scaling makes its errors large.
    for row in basis.rows().take(r) {
        let along = kernels::dot(v.data(), row);
        kernels::axpy(-along, row, v.data_mut());
    }
    let mut row: SubVectorMut<'_, T> = basis.row_mut(r);
    row.copy_from_vec(&v).is_ok()
}

fn random(dim: usize, r: usize, attempt: u64) -> Vector<f32> {
    let mut v = Vector::zeros(dim);
    Philox::for_name(attempt, "lanczos").add_gaussian(1.0, (r * dim) as u64, v.data_mut());
    v
}

/// Returns the `count` eigenvalues of the largest absolute values, in descending order of these.
fn largest<T: Real>(eig: &SymmetricEig<T>, count: usize) -> SymmetricEig<T> {
    let mut order: Vec<usize> = (0..eig.values.dim()).collect();
    order.sort_by(|&i, &j| eig.values[j].abs().to_f64().total_cmp(&eig.values[i].abs().to_f64()));
    order.truncate(count);
    SymmetricEig {
        values: order.iter().map(|&i| eig.values[i]).collect(),
        vectors: Matrix::from_fn(eig.vectors.num_rows(), count, |r, c| eig.vectors[(r, order[c])]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eigenvalues 1, -1/2, 1/4, -1/8 ... along random axes.
    fn example(dim: usize) -> SpMatrix<f64> {
        let mut axes = Matrix::from_fn(dim, dim, |r, c| ((r * 31 + c * 17 + r * c * 7) % 101) as f64 - 50.0);
        axes.orthogonalize_rows().unwrap();
        let values = Vector::from_iter((0..dim).map(|i| (-0.5_f64).powi(i as i32)));
        let mut s = SpMatrix::zeros(dim);
        s.add_mat2_vec(1.0, &axes, Trans::Yes, &values, 0.0).unwrap();
        s
    }

    #[test]
    fn the_top_ones_are_those_of_the_whole() {
        let s = example(100);
        for (num, subspace) in [(3, 0), (3, 20), (5, 100), (0, 10), (100, 0)] {
            let top = s.top_eigs(num, subspace).unwrap();
            assert_eq!((top.vectors.num_rows(), top.vectors.num_cols(), top.values.dim()), (100, num, num));
            for i in 0..num.min(5) {
                assert!((top.values[i] - (-0.5_f64).powi(i as i32)).abs() < 1e-10, "{num} {subspace}: {}", top.values);
                let mut column = Vector::zeros(100);
                column.copy_col_from_mat(&top.vectors, i).unwrap();
                let mut error = column.clone();
                error.add_sp_vec(1.0, &s, &column, -top.values[i]).unwrap();
                assert!(kernels::sum_of_squares(error.data()).sqrt() < 1e-9);
            }
        }
        assert!(s.top_eigs(101, 0).is_err());
    }

    #[test]
    fn invariant_krylov_space_is_restarted() {
        let mut s = SpMatrix::<f32>::zeros(80);
        s[(7, 7)] = 3.0;
        s[(70, 70)] = -4.0;
        let top = s.top_eigs(2, 5).unwrap();
        assert!((top.values[0] + 4.0).abs() < 1e-5 && (top.values[1] - 3.0).abs() < 1e-5);
        assert!((top.vectors[(70, 0)] - 1.0).abs() < 1e-5);
        let zero = SpMatrix::<f64>::zeros(80).top_eigs(2, 5).unwrap();
        assert_eq!(zero.values.data(), [0.0; 2]);
    }
}
