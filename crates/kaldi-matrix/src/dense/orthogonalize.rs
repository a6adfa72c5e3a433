//! Orthonormal rows.

use kaldera_base::Real;
use kaldera_base::random::Philox;

use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::storage::StorageMut;

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// Makes the rows orthogonal to each other and of length 1, from the top (Gram and Schmidt):
    /// row 0 keeps its direction, and the first k rows span the same space as before. Computed in
    /// double precision.
    ///
    /// A row that is in the span of the rows above, up to rounding, is replaced by another
    /// direction, the same one each time; in Kaldi by a random one.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let mut m = Matrix::from_vec(2, 2, vec![3.0_f32, 0.0, 5.0, 2.0])?;
    /// m.orthogonalize_rows()?;
    /// assert_eq!(m.data(), [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for more rows than columns, which cannot be orthonormal;
    /// [`Error::OutOfDomain`] for NaN or infinite elements. The matrix is then unchanged.
    #[doc(alias = "OrthogonalizeRows")]
    pub fn orthogonalize_rows(&mut self) -> Result<(), Error> {
        let Shape { rows, cols } = self.shape();
        if rows > cols {
            let expected = Shape { rows: cols, cols };
            return Err(Error::ShapeMismatch { operation: "orthogonalize_rows", expected, found: self.shape() });
        }
        if let Some(x) = self.rows().flatten().find(|x| !x.is_finite()) {
            return Err(Error::OutOfDomain {
                operation: "orthogonalize_rows",
                parameter: "an element",
                value: x.to_f64(),
                expected: "finite numbers",
            });
        }
        let mut m = Matrix::from_fn(rows, cols, |r, c| self[(r, c)].to_f64());
        for r in 0..rows {
            let (above, rest) = m.data_mut().split_at_mut(r * cols);
            let row = &mut rest[..cols];
            let mut attempt = 0;
            while !orthogonalize(above, row) {
                let mut random = vec![0.0_f32; cols];
                Philox::for_name(attempt, "orthogonalize").add_gaussian(1.0, (r * cols) as u64, &mut random);
                kernels::copy(&random, row);
                attempt += 1;
            }
        }
        self.copy_from_mat(&m, Trans::No)
    }
}

/// Subtracts the projection on the orthonormal rows `above` from `row`, and scales `row` to length
/// 1. Returns `false` if next to nothing remains.
fn orthogonalize(above: &[f64], row: &mut [f64]) -> bool {
    /// Below this part of its length, the rest of a row may be rounding errors along the rows
    /// above.
    const SUSPECT: f64 = 0.1;
    /// Below this part of its length, the rest of a row is only rounding errors.
    const ROUNDING: f64 = 1e-14;
    let scale = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if scale == 0.0 {
        return false;
    }
    row.iter_mut().for_each(|x| *x /= scale);
    let mut remains = 1.0;
    loop {
        let before = kernels::sum_of_squares(row).sqrt();
        for other in above.chunks_exact(row.len()) {
            kernels::axpy(-kernels::dot(row, other), other, row);
        }
        let after = kernels::sum_of_squares(row).sqrt();
        remains *= after / before;
        // NaN if the row was already zero.
        if remains <= ROUNDING || remains.is_nan() {
            return false;
        }
        row.iter_mut().for_each(|x| *x /= after);
        if after > SUSPECT * before {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn skewness(m: &Matrix<f64>) -> f64 {
        let n = m.num_rows();
        let mut product = Matrix::from_fn(n, n, |r, c| if r == c { -1.0 } else { 0.0 });
        product.add_mat_mat(1.0, m, Trans::No, m, Trans::Yes, 1.0).unwrap();
        product.data().iter().fold(0.0, |largest, x| largest.max(x.abs()))
    }

    proptest! {
        #[test]
        fn rows_end_orthonormal(rows in 0_usize..12, more in 0_usize..5,
                                values in proptest::collection::vec(-2_i8..3, 12 * 17)) {
            let cols = rows + more;
            let mut m = Matrix::from_fn(rows, cols, |r, c| f64::from(values[r * cols + c]));
            let first = m.rows().next().map(<[f64]>::to_vec);
            m.orthogonalize_rows().unwrap();
            prop_assert!(skewness(&m) < 1e-13, "{}", skewness(&m));
            if let Some(first) = first.filter(|row| row.iter().any(|&x| x != 0.0)) {
                let along = kernels::dot(&first, m.row_data(0));
                prop_assert!((along - kernels::sum_of_squares(&first).sqrt()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn nearly_dependent_rows_end_orthonormal_too() {
        let mut m = Matrix::from_fn(4, 6, |r, c| 1.0 + if c == r { 1e-9 } else { 0.0 });
        m.orthogonalize_rows().unwrap();
        assert!(skewness(&m) < 1e-14);
        let mut far = Matrix::from_fn(3, 3, |r, c| 1e-200 * ((r * r + c) % 4) as f64);
        far.orthogonalize_rows().unwrap();
        assert!(skewness(&far) < 1e-14);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert!(Matrix::<f32>::zeros(3, 2).orthogonalize_rows().is_err());
        let mut m = Matrix::from_fn(2, 2, |_, _| f32::NAN);
        assert!(matches!(m.orthogonalize_rows(), Err(Error::OutOfDomain { .. })));
    }
}
