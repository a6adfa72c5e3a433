//! Eigenvalues of matrices that are not symmetric.

use kaldera_base::Real;

use crate::backend;
use crate::check::check_dim;
use crate::decompositions::inverse::check_square;
use crate::error::Error;
use crate::matrix::{Matrix, MatrixBase};
use crate::storage::Storage;
use crate::vector::{Vector, VectorBase};

/// A square matrix with A P = P D, all real: D is [created](create_eigenvalue_matrix) from the
/// eigenvalues.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GeneralEig<T: Real> {
    /// P: the column of a real eigenvalue is its eigenvector, of length 1, with its entry of the
    /// largest absolute value positive. The two columns a and b of a pair are the real and the
    /// imaginary part of the eigenvector of its first value. Together they have length 1, and the
    /// entry of the largest absolute value is real and positive.
    pub p: Matrix<T>,
    /// Real parts of the eigenvalues, descending (of equal ones, larger imaginary parts first).
    /// Complex eigenvalues are pairs, the one with the positive imaginary part first.
    pub re: Vector<T>,
    /// Imaginary parts of the eigenvalues.
    pub im: Vector<T>,
}

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// Computes P and D with `self P = P D`: the eigenvalues and eigenvectors of any square matrix.
    /// Computed in double precision.
    ///
    /// Order and scale, which Kaldi does not define, are described at [`GeneralEig`]. A matrix
    /// without a full set of eigenvectors, such as (1 1; 0 1), has a P without an inverse.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let turn = Matrix::from_vec(2, 2, vec![0.0_f64, 1.0, -1.0, 0.0])?;
    /// let eig = turn.eig()?;
    /// assert_eq!((eig.re.data(), eig.im.data()), (&[0.0, 0.0][..], &[1.0, -1.0][..]));
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotSquare`]; [`Error::NoConvergence`] for NaN or infinite elements;
    /// [`Error::TooLarge`] for a matrix beyond LAPACK's 32-bit sizes in a build with only OpenBLAS.
    #[doc(alias = "Eig")]
    #[doc(alias = "geev")]
    pub fn eig(&self) -> Result<GeneralEig<T>, Error> {
        check_square("eig", self)?;
        let n = self.num_rows();
        let a = Matrix::from_fn(n, n, |r, c| self[(r, c)].to_f64());
        let (mut re, mut im, mut p) = (vec![0.0; n], vec![0.0; n], Matrix::zeros(n, n));
        if n > 0 {
            backend::eig(a.view(), &mut re, &mut im, p.view_mut())?;
        }
        normalise(&im, &mut p);
        let order = order(&re, &im);
        Ok(GeneralEig {
            p: Matrix::from_fn(n, n, |r, c| T::from_f64(p[(r, order[c])])),
            re: order.iter().map(|&i| T::from_f64(re[i])).collect(),
            im: order.iter().map(|&i| T::from_f64(im[i])).collect(),
        })
    }
}

/// Returns the order of the values, real parts descending; pairs stay together.
fn order(re: &[f64], im: &[f64]) -> Vec<usize> {
    let mut firsts: Vec<usize> = (0..re.len()).filter(|&i| im[i] >= 0.0).collect();
    firsts.sort_by(|&i, &j| re[j].total_cmp(&re[i]).then(im[j].total_cmp(&im[i])));
    firsts.iter().flat_map(|&i| if im[i] > 0.0 { i..i + 2 } else { i..i + 1 }).collect()
}

/// Scales each eigenvector as described at [`GeneralEig`].
fn normalise(im: &[f64], p: &mut Matrix<f64>) {
    for c in 0..im.len() {
        if im[c] < 0.0 {
            continue;
        }
        // The eigenvector's entries x + iy, with y = 0 for a real eigenvalue.
        let pair = im[c] > 0.0;
        let entries: Vec<(f64, f64)> = p.rows().map(|row| (row[c], if pair { row[c + 1] } else { 0.0 })).collect();
        let longer = |a: (f64, f64), b: (f64, f64)| if b.0.hypot(b.1) > a.0.hypot(a.1) { b } else { a };
        let (a, b) = entries.iter().copied().fold((0.0, 0.0), longer);
        let size = a.hypot(b);
        if size == 0.0 {
            continue;
        }
        // First to 1 for the largest entry, so that squares neither overflow nor vanish, then to
        // length 1.
        let squares = entries.iter().map(|(x, y)| (x / size) * (x / size) + (y / size) * (y / size));
        let scale = 1.0 / size / squares.sum::<f64>().sqrt();
        let (turn_re, turn_im) = (a / size, -b / size);
        for (row, (x, y)) in p.rows_mut().zip(entries) {
            row[c] = scale * x * turn_re - scale * y * turn_im;
            if pair {
                row[c + 1] = scale * x * turn_im + scale * y * turn_re;
            }
        }
    }
}

/// Creates D with the eigenvalues `re + i im`: a real one on the diagonal, a pair (x + iy, x - iy)
/// as the block (x y; -y x).
///
/// ```
/// # use kaldi_matrix::Vector;
/// # use kaldi_matrix::decompositions::create_eigenvalue_matrix;
/// let (re, im) = (Vector::from(vec![1.0_f32, 1.0, 5.0]), Vector::from(vec![2.0_f32, -2.0, 0.0]));
/// let d = create_eigenvalue_matrix(&re, &im)?;
/// assert_eq!(d.data(), [1.0, 2.0, 0.0, -2.0, 1.0, 0.0, 0.0, 0.0, 5.0]);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::DimMismatch`] unless both have the same length; [`Error::OutOfDomain`] for an imaginary
/// part without the opposite one after it, or with another real part.
#[doc(alias = "CreateEigenvalueMatrix")]
pub fn create_eigenvalue_matrix<T: Real>(
    re: &VectorBase<impl Storage<Elem = T>>,
    im: &VectorBase<impl Storage<Elem = T>>,
) -> Result<Matrix<T>, Error> {
    let n = re.dim();
    check_dim("create_eigenvalue_matrix", n, im.dim())?;
    let mut d = Matrix::zeros(n, n);
    let mut i = 0;
    while i < n {
        d[(i, i)] = re[i];
        if im[i] == T::ZERO {
            i += 1;
            continue;
        }
        if i + 1 == n || !is_pair((re[i], im[i]), (re[i + 1], im[i + 1])) {
            return Err(Error::OutOfDomain {
                operation: "create_eigenvalue_matrix",
                parameter: "an imaginary part",
                value: im[i].to_f64(),
                expected: "complex values in pairs, one behind its conjugate",
            });
        }
        d[(i, i + 1)] = im[i];
        d[(i + 1, i)] = -im[i];
        d[(i + 1, i + 1)] = re[i];
        i += 2;
    }
    Ok(d)
}

/// Returns `true` if the two are conjugate, up to rounding.
fn is_pair<T: Real>(x: (T, T), y: (T, T)) -> bool {
    let ((a, b), (c, d)) = (x, y);
    let tolerance = T::from_f64(10.0) * T::EPSILON * (a.abs() + b.abs());
    (a - c).abs() <= tolerance && (b + d).abs() <= tolerance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matrix::Trans;

    /// Returns the largest element of A P - P D, relative to the largest of A.
    fn error(a: &Matrix<f64>, eig: &GeneralEig<f64>) -> f64 {
        let n = a.num_rows();
        let d = create_eigenvalue_matrix(&eig.re, &eig.im).unwrap();
        let mut difference = Matrix::zeros(n, n);
        difference.add_mat_mat(1.0, a, Trans::No, &eig.p, Trans::No, 0.0).unwrap();
        difference.add_mat_mat(-1.0, &eig.p, Trans::No, &d, Trans::No, 1.0).unwrap();
        let largest = |m: &Matrix<f64>| m.data().iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        largest(&difference) / largest(a).max(f64::MIN_POSITIVE)
    }

    proptest! {
        #[test]
        fn a_times_p_is_p_times_d(n in 0_usize..16, values in proptest::collection::vec(-8_i8..8, 256)) {
            let a = Matrix::from_fn(n, n, |r, c| f64::from(values[r * n + c]) / 4.0);
            let eig = a.eig().unwrap();
            prop_assert!(error(&a, &eig) <= 1e-13 * (n as f64 + 1.0), "{}", error(&a, &eig));
            for c in 0..n {
                prop_assert!(c == 0 || eig.re[c] <= eig.re[c - 1]);
                let length = |c| (0..n).map(|r| eig.p[(r, c)] * eig.p[(r, c)]).sum::<f64>();
                if eig.im[c] > 0.0 {
                    prop_assert!((length(c) + length(c + 1) - 1.0).abs() < 1e-13);
                } else if eig.im[c] == 0.0 {
                    prop_assert!((length(c) - 1.0).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn extreme_and_defective_matrices_have_eigenvectors() {
        for scale in [1e-200, 1.0, 1e150] {
            let a = Matrix::from_fn(5, 5, |r, c| scale * ((r * 3 + c * c) % 7) as f64);
            assert!(error(&a, &a.eig().unwrap()) < 1e-12);
        }
        let jordan = Matrix::from_vec(2, 2, vec![1.0, 1.0, 0.0, 1.0]).unwrap();
        assert!(error(&jordan, &jordan.eig().unwrap()) < 1e-15);
        assert_eq!(Matrix::<f64>::zeros(3, 3).eig().unwrap().re.data(), [0.0; 3]);
        assert!(Matrix::<f64>::zeros(3, 2).eig().is_err());
    }

    #[test]
    fn unpaired_complex_eigenvalue_is_refused() {
        let v = |x: &[f64]| Vector::from(x.to_vec());
        assert!(create_eigenvalue_matrix(&v(&[1.0]), &v(&[1.0])).is_err());
        assert!(create_eigenvalue_matrix(&v(&[1.0, 1.0]), &v(&[1.0, 1.0])).is_err());
        assert!(create_eigenvalue_matrix(&v(&[1.0, 2.0]), &v(&[1.0, -1.0])).is_err());
        assert!(create_eigenvalue_matrix(&v(&[1.0, 2.0]), &v(&[1.0])).is_err());
    }
}
