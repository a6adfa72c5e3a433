//! Principal components; with the features `openblas` or `pure`.

use kaldera_base::Real;

use crate::check::check_shape;
use crate::decompositions::SymmetricEig;
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase, SubMatrixMut, Trans};
use crate::storage::{Storage, StorageMut};
use crate::vector::Vector;

/// `u =` the first principal directions of the rows of `x`, and `a = x u'`, the coordinates along
/// them. The mean is *not* subtracted: if `x` has a mean, it is a direction, too.
///
/// The G rows of `u` are orthonormal, in the order of descending eigenvalues of `x' x`. All
/// eigenvalues are returned, as many as the shorter side of `x` has elements. Computed in double
/// precision, from the smaller one of `x' x` and `x x'`.
///
/// ```
/// use kaldi_matrix::Matrix;
/// use kaldi_matrix::decompositions::compute_pca;
/// let x = Matrix::from_vec(3, 2, vec![1.0_f64, 1.0, -2.0, -2.0, 3.0, 3.0])?;
/// let (mut u, mut a) = (Matrix::zeros(1, 2), Matrix::zeros(3, 1));
/// let eigenvalues = compute_pca(&x, &mut u, Some(a.view_mut()))?;
/// assert!((u[(0, 0)] - 0.5_f64.sqrt()).abs() < 1e-14);
/// assert!((a[(2, 0)] - 18_f64.sqrt()).abs() < 1e-14);
/// assert!((eigenvalues[0] - 28.0).abs() < 1e-13);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// The sign of a direction is undefined. Directions of equal eigenvalues, and of eigenvalue zero,
/// are any orthonormal ones, the same each time (in Kaldi the directions of zero are random).
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `u` has as many columns as `x`, at most as many rows as either
/// side of it, and `a` is N x G; [`Error::NoConvergence`] for NaN or infinite elements.
#[doc(alias = "ComputePca")]
pub fn compute_pca<T: Real>(
    x: &MatrixBase<impl Storage<Elem = T>>,
    u: &mut MatrixBase<impl StorageMut<Elem = T>>,
    a: Option<SubMatrixMut<'_, T>>,
) -> Result<Vector<T>, Error> {
    let Shape { rows: n, cols: d } = x.shape();
    let g = u.num_rows();
    check_shape("compute_pca", Shape { rows: g.min(n).min(d), cols: d }, u.shape())?;
    if let Some(a) = &a {
        check_shape("compute_pca", Shape { rows: n, cols: g }, a.shape())?;
    }
    let mut wide = Matrix::<f64>::zeros(n, d);
    wide.copy_from_mat(x, Trans::No)?;
    let mut gram = Matrix::zeros(n.min(d), n.min(d));
    let trans = if d < n { Trans::Yes } else { Trans::No };
    gram.sym_add_mat2(1.0, &wide, trans, 0.0)?;
    let SymmetricEig { values, vectors, .. } = gram.symmetric_eig()?;
    let vectors = vectors.col_range(0, g)?;
    let mut directions = Matrix::zeros(g, d);
    if d < n {
        directions.copy_from_mat(&vectors, Trans::Yes)?;
    } else {
        // An eigenvector v of x x' gives one of x' x: x' v, of length √eigenvalue.
        directions.add_mat_mat(1.0, &vectors, Trans::Yes, &wide, Trans::No, 0.0)?;
        directions.orthogonalize_rows()?;
    }
    u.copy_from_mat(&directions, Trans::No)?;
    if let Some(mut a) = a {
        let mut coordinates = Matrix::zeros(n, g);
        coordinates.add_mat_mat(1.0, &wide, Trans::No, &directions, Trans::Yes, 0.0)?;
        a.copy_from_mat(&coordinates, Trans::No)?;
    }
    // Rounding can make a zero negative.
    Ok(values.iter().map(|&x| T::from_f64(x.max(0.0))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomState;

    fn check(n: usize, d: usize, g: usize, rank: usize) {
        let mut random = RandomState::new((n * 100 + d) as u64);
        let (mut left, mut right) = (Matrix::<f64>::zeros(n, rank), Matrix::zeros(rank, d));
        left.set_randn(&mut random);
        right.set_randn(&mut random);
        let mut x = Matrix::zeros(n, d);
        x.add_mat_mat(1.0, &left, Trans::No, &right, Trans::No, 0.0).unwrap();
        let (mut u, mut a) = (Matrix::zeros(g, d), Matrix::zeros(n, g));
        let eigenvalues = compute_pca(&x, &mut u, Some(a.view_mut())).unwrap();
        assert_eq!(eigenvalues.dim(), n.min(d));

        let mut product = Matrix::zeros(g, g);
        product.add_mat_mat(1.0, &u, Trans::No, &u, Trans::Yes, 0.0).unwrap();
        assert!(product.is_unit(1e-12), "{product:?}");
        let mut covariance = Matrix::zeros(g, g);
        covariance.add_mat_mat(1.0, &a, Trans::Yes, &a, Trans::No, 0.0).unwrap();
        let largest = eigenvalues[0].max(1.0);
        for r in 0..g {
            for c in 0..g {
                let expected = if r == c { eigenvalues[r] } else { 0.0 };
                assert!((covariance[(r, c)] - expected).abs() < 1e-11 * largest, "{n} {d} {g} {rank}: {covariance:?}");
            }
        }
    }

    #[test]
    fn directions_are_orthonormal_and_explain_what_their_eigenvalues_say() {
        for (n, d) in [(9, 4), (4, 9), (5, 5), (1, 3), (3, 1)] {
            for g in 0..=n.min(d) {
                check(n, d, g, n.min(d));
                check(n, d, g, 1);
            }
        }
    }

    #[test]
    fn invalid_input_is_refused() {
        let x = Matrix::<f32>::zeros(3, 2);
        assert!(compute_pca(&x, &mut Matrix::zeros(3, 2), None).is_err());
        assert!(compute_pca(&x, &mut Matrix::zeros(1, 3), None).is_err());
        assert!(compute_pca(&x, &mut Matrix::zeros(1, 2), Some(Matrix::zeros(2, 1).view_mut())).is_err());
        assert!(compute_pca(&x, &mut Matrix::zeros(2, 2), None).is_ok());
        let nan = Matrix::from_fn(3, 2, |_, _| f32::NAN);
        assert!(compute_pca(&nan, &mut Matrix::zeros(1, 2), None).is_err());
    }
}
