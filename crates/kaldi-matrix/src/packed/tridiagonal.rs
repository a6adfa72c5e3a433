//! Conversion of symmetric matrices to tridiagonal, and then to diagonal form.
//!
//! G. H. Golub, C. F. Van Loan, *Matrix Computations*, 3rd edition, sections 5.1 (Householder
//! reflections and Givens rotations) and 8.3 (the two algorithms). Here the reflections go from the
//! last row up, which fits the layout of the lower triangle. Both compute in double precision, for
//! any precision of the matrix.

use kaldera_base::Real;

use crate::check::check_shape;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, SubMatrixMut};
use crate::packed::SpMatrix;

impl<T: Real> SpMatrix<T> {
    /// `self = Q self Q'` with an orthogonal Q that makes it tridiagonal, and writes Q to `q`.
    ///
    /// That is the transpose of the usual convention, and Kaldi's: the rows of Q are the new axes.
    /// The last row of Q is the last unit vector. The elements next to the diagonal are not
    /// negative, except the first one, (1, 0), and the ones in rows that had no other nonzero
    /// element left of them when they were reflected.
    ///
    /// ```
    /// # use kaldi_matrix::{Matrix, SpMatrix};
    /// let mut s = SpMatrix::from_vec(3, vec![1.0_f64, 2.0, 3.0, 4.0, 3.0, 6.0])?;
    /// let mut q = Matrix::zeros(3, 3);
    /// s.tridiagonalize(Some(q.view_mut()))?;
    /// assert!(s.is_tridiagonal(0.0));
    /// assert!((s[(2, 1)] - 5.0).abs() < 1e-14);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `q` has the size of this matrix, [`Error::NoConvergence`]
    /// for NaN or infinite elements; the matrix is then unchanged.
    #[doc(alias = "Tridiagonalize")]
    pub fn tridiagonalize(&mut self, q: Option<SubMatrixMut<'_, T>>) -> Result<(), Error> {
        let mut double = self.checked_double("tridiagonalize", q.as_ref())?;
        let mut rotation = q.is_some().then(|| Matrix::from_fn(self.dim, self.dim, |r, c| f64::from(u8::from(r == c))));
        for row in (2..self.dim).rev() {
            reflect(&mut double, row, rotation.as_mut());
        }
        if let (Some(mut q), Some(rotation)) = (q, rotation) {
            q.rows_mut().zip(rotation.rows()).for_each(|(to, from)| kernels::copy(from, to));
        }
        self.copy_from_sp(&double)
    }

    /// `self = D` for a tridiagonal matrix `self = G D G'`, with D diagonal in no order, and `q = q
    /// G`, so that `q self q'` keeps its value.
    ///
    /// After [`tridiagonalize`](Self::tridiagonalize), call it with the transpose of that Q. The
    /// columns of `q` are then the eigenvectors of the first matrix.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `q` has the size of this matrix, [`Error::OutOfDomain`] for
    /// a matrix that is not [tridiagonal](Self::is_tridiagonal), [`Error::NoConvergence`] for NaN
    /// or infinite elements; the matrix is then unchanged.
    #[doc(alias = "Qr")]
    pub fn qr(&mut self, q: Option<SubMatrixMut<'_, T>>) -> Result<(), Error> {
        const CUTOFF: f64 = 1e-5;
        let double = self.checked_double("qr", q.as_ref())?;
        if !double.is_tridiagonal(CUTOFF) {
            let outside = double.rows().flat_map(|row| &row[..row.len().saturating_sub(2)]);
            return Err(Error::OutOfDomain {
                operation: "qr",
                parameter: "the largest element outside of the three middle diagonals",
                value: outside.fold(0.0, |largest, x| largest.max(x.abs())),
                expected: "a tridiagonal matrix",
            });
        }
        let mut diagonal: Vec<f64> = double.diag().collect();
        let mut beside: Vec<f64> = (1..self.dim).map(|r| double[(r, r - 1)]).collect();
        // Rotations mix two columns of Q, which are rows of its transpose: adjacent in memory.
        let mut columns = q.as_ref().map(|q| Matrix::from_fn(self.dim, self.dim, |r, c| q[(c, r)].to_f64()));
        diagonalize(&mut diagonal, &mut beside, columns.as_mut())
            .ok_or(Error::NoConvergence { operation: "qr", shape: Shape { rows: self.dim, cols: self.dim } })?;
        if let (Some(mut q), Some(columns)) = (q, columns) {
            for (c, row) in q.rows_mut().enumerate() {
                row.iter_mut().enumerate().for_each(|(r, x)| *x = T::from_f64(columns[(r, c)]));
            }
        }
        self.set_zero();
        self.diag_mut().zip(diagonal).for_each(|(x, value)| *x = T::from_f64(value));
        Ok(())
    }

    /// Returns a copy in double precision, if its elements are finite and `q` has its size.
    fn checked_double(&self, operation: &'static str, q: Option<&SubMatrixMut<'_, T>>) -> Result<SpMatrix<f64>, Error> {
        let shape = Shape { rows: self.dim, cols: self.dim };
        if let Some(q) = q {
            check_shape(operation, shape, q.shape())?;
        }
        self.check_finite(operation)?;
        Ok(self.converted())
    }
}

/// Reflects the first `row` axes, so that only the last element left of the diagonal in `row` is
/// not zero.
fn reflect(s: &mut SpMatrix<f64>, row: usize, q: Option<&mut Matrix<f64>>) {
    let mut v = s.row_data(row)[..row].to_vec();
    let scale = v.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if v[..row - 1].iter().all(|&x| x == 0.0) {
        return;
    }
    v.iter_mut().for_each(|x| *x /= scale);
    let sigma = kernels::sum_of_squares(&v[..row - 1]);
    let last = v[row - 1];
    let length = (last * last + sigma).sqrt();
    // The reflection 1 - beta v v' maps the row to +length, without cancellation for either sign.
    let first = if last <= 0.0 { last - length } else { -sigma / (last + length) };
    let beta = 2.0 * first * first / (sigma + first * first);
    v.iter_mut().for_each(|x| *x /= first);
    v[row - 1] = 1.0;

    let mut p = vec![0.0; row];
    for (r, elements) in s.rows().take(row).enumerate() {
        kernels::axpy(v[r], &elements[..r], &mut p[..r]);
        p[r] += kernels::dot(elements, &v[..=r]);
    }
    let half = 0.5 * beta * beta * kernels::dot(&p, &v);
    let w: Vec<f64> = p.iter().zip(&v).map(|(p, v)| beta * p - half * v).collect();
    for (r, elements) in s.rows_mut().take(row).enumerate() {
        kernels::axpy(-v[r], &w[..=r], elements);
        kernels::axpy(-w[r], &v[..=r], elements);
    }
    let elements = s.row_data_mut(row);
    elements[..row - 1].fill(0.0);
    elements[row - 1] = length * scale;

    if let Some(q) = q {
        let mut product = vec![0.0; q.num_cols()];
        v.iter().zip(q.rows()).for_each(|(&v, row)| kernels::axpy(v, row, &mut product));
        v.iter().zip(q.rows_mut()).for_each(|(&v, row)| kernels::axpy(-beta * v, &product, row));
    }
}

/// Writes the eigenvalues of a symmetric tridiagonal matrix to its `diagonal`; the elements next to
/// it, `beside`, become zero.
///
/// The rotations are applied to adjacent rows of `rows`. `None` if it does not converge.
fn diagonalize(diagonal: &mut [f64], beside: &mut [f64], mut rows: Option<&mut Matrix<f64>>) -> Option<()> {
    /// Two or three steps per eigenvalue are usual.
    const STEPS: usize = 60;
    let mut steps = STEPS * diagonal.len();
    // The current block ends at `last`; it starts after the last negligible element before that.
    let mut last = diagonal.len().saturating_sub(1);
    while last > 0 {
        let negligible = |i: usize, beside: &[f64]| {
            beside[i].abs() <= f64::EPSILON * (diagonal[i].abs() + diagonal[i + 1].abs()) || beside[i] == 0.0
        };
        let start = (0..last).rev().find(|&i| negligible(i, beside)).map_or(0, |i| i + 1);
        if start == last {
            beside[last - 1] = 0.0;
            last -= 1;
            continue;
        }
        steps = steps.checked_sub(1)?;
        chase(&mut diagonal[start..=last], &mut beside[start..last], |k, c, s| {
            if let Some(rows) = rows.as_deref_mut() {
                rotate(rows, start + k, c, s);
            }
        });
    }
    Some(())
}

/// Does one implicit step with Wilkinson's shift, and calls `rotated(k, cos, sin)` for each
/// rotation of the axes k and k + 1.
fn chase(diagonal: &mut [f64], beside: &mut [f64], mut rotated: impl FnMut(usize, f64, f64)) {
    let last = beside.len();
    let corner = beside[last - 1];
    let delta = 0.5 * (diagonal[last - 1] - diagonal[last]);
    let shift = diagonal[last] - corner * (corner / (delta + delta.hypot(corner).copysign(delta)));
    let (mut x, mut bulge) = (diagonal[0] - shift, beside[0]);
    for k in 0..last {
        let length = x.hypot(bulge);
        let (c, s) = if length > 0.0 { (x / length, -bulge / length) } else { (1.0, 0.0) };
        if k > 0 {
            beside[k - 1] = length;
        }
        let (a, b, e) = (diagonal[k], diagonal[k + 1], beside[k]);
        diagonal[k] = c * c * a - 2.0 * c * s * e + s * s * b;
        diagonal[k + 1] = s * s * a + 2.0 * c * s * e + c * c * b;
        beside[k] = c * s * (a - b) + (c * c - s * s) * e;
        if k + 1 < last {
            (x, bulge) = (beside[k], -s * beside[k + 1]);
            beside[k + 1] *= c;
        }
        rotated(k, c, s);
    }
}

/// Rotates rows k and k + 1 to `c row_k - s row_(k+1)` and `s row_k + c row_(k+1)`.
fn rotate(rows: &mut Matrix<f64>, k: usize, c: f64, s: f64) {
    let stride = rows.stride();
    let (upper, lower) = rows.data_mut()[k * stride..].split_at_mut(stride);
    for (x, y) in upper.iter_mut().zip(lower) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matrix::Trans;

    fn largest(m: &Matrix<f64>) -> f64 {
        m.data().iter().fold(0.0, |largest, x| largest.max(x.abs()))
    }

    /// Returns the errors Q S Q' - T, and Q Q' - 1.
    fn errors(s: &SpMatrix<f64>, q: &Matrix<f64>, t: &SpMatrix<f64>) -> (f64, f64) {
        let n = s.dim();
        let mut half = Matrix::zeros(n, n);
        half.add_mat_sp(1.0, q, Trans::No, s, 0.0).unwrap();
        let mut difference = t.to_matrix();
        difference.add_mat_mat(1.0, &half, Trans::No, q, Trans::Yes, -1.0).unwrap();
        let mut skew = SpMatrix::unit(n).to_matrix();
        skew.add_mat_mat(1.0, q, Trans::No, q, Trans::Yes, -1.0).unwrap();
        (largest(&difference), largest(&skew))
    }

    proptest! {
        #[test]
        fn both_steps_keep_the_matrix(n in 0_usize..24, values in proptest::collection::vec(-4_i8..4, 300)) {
            let s = SpMatrix::from_fn(n, |r, c| f64::from(values[r * (r + 1) / 2 + c]) / 4.0);
            let bound = 1e-14 * (n as f64 + 1.0) * (1.0 + s.frobenius_norm());
            let (mut t, mut q) = (s.clone(), Matrix::zeros(n, n));
            t.tridiagonalize(Some(q.view_mut())).unwrap();
            prop_assert!(t.is_tridiagonal(0.0));
            let (difference, skew) = errors(&s, &q, &t);
            prop_assert!(difference <= bound && skew <= bound, "{} {}", difference, skew);

            let (mut d, mut p) = (t.clone(), q.transposed());
            d.qr(Some(p.view_mut())).unwrap();
            prop_assert!(d.is_diagonal(0.0));
            let (difference, skew) = errors(&s, &p.transposed(), &d);
            prop_assert!(difference <= bound && skew <= bound, "{} {}", difference, skew);

            let mut alone = t.clone();
            alone.qr(None).unwrap();
            prop_assert_eq!(alone, d);
        }
    }

    #[test]
    fn signs_are_kaldis() {
        let s = SpMatrix::from_fn(9, |r, c| ((r * 7 + c * 5) % 11) as f64 - 5.5);
        let (mut t, mut q) = (s.clone(), Matrix::zeros(9, 9));
        t.tridiagonalize(Some(q.view_mut())).unwrap();
        assert!((2..9).all(|r| t[(r, r - 1)] > 0.0));
        assert!((0..9).all(|c| q[(8, c)] == f64::from(u8::from(c == 8))));
    }

    #[test]
    fn ill_conditioned_matrices_converge() {
        // Wilkinson's matrix with close eigenvalues, a scale near the ends of the range, a graded
        // matrix.
        for scale in [1.0, 1e-150, 1e150] {
            let wilkinson = |r: usize, c: usize| match r - c {
                0 => scale * (r as f64 - 10.0).abs(),
                1 => scale,
                _ => 0.0,
            };
            let s = SpMatrix::from_fn(21, wilkinson);
            let (mut d, mut q) = (s.clone(), SpMatrix::unit(21).to_matrix());
            d.qr(Some(q.view_mut())).unwrap();
            let (difference, skew) = errors(&s, &q.transposed(), &d);
            assert!(difference <= 1e-13 * scale && skew < 1e-13, "{difference} {skew}");
            assert!((d.max() / scale - 10.746_194_182_903_4).abs() < 1e-11);
        }
        let mut graded = SpMatrix::from_fn(12, |r, _| 10_f64.powi(-2 * r as i32));
        graded.tridiagonalize(None).unwrap();
        graded.qr(None).unwrap();
    }

    #[test]
    fn invalid_input_is_refused() {
        let mut s = SpMatrix::from_fn(3, |_, _| 1.0_f32);
        let before = s.clone();
        assert!(matches!(s.qr(None), Err(Error::OutOfDomain { .. })));
        let mut q = Matrix::zeros(2, 3);
        assert!(s.tridiagonalize(Some(q.view_mut())).is_err());
        assert!(s.qr(Some(q.view_mut())).is_err());
        assert_eq!(s, before);
        s[(0, 0)] = f32::NAN;
        assert!(matches!(s.tridiagonalize(None), Err(Error::NoConvergence { .. })));
        let mut zero = SpMatrix::<f32>::zeros(4);
        zero.tridiagonalize(None).unwrap();
        zero.qr(None).unwrap();
        assert_eq!(zero, SpMatrix::zeros(4));
    }
}
