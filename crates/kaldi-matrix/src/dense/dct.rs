//! The discrete cosine transform as a matrix.

use std::f64::consts::PI;

use kaldera_base::Real;

use crate::matrix::MatrixBase;
use crate::storage::StorageMut;

/// Fills `m` with the first rows of the orthonormal DCT-II of vectors with the length of a row.
///
/// With N columns, row 0 is √(1/N) everywhere, and row k is √(2/N) cos(π/N (n + ½) k) in column n.
/// Computed in double precision. `m` times its transpose is the unit matrix if `m` has at most as
/// many rows as columns.
#[doc(alias = "ComputeDctMatrix")]
pub fn compute_dct_matrix<S: StorageMut>(m: &mut MatrixBase<S>) {
    let size = m.num_cols() as f64;
    for (k, row) in m.rows_mut().enumerate() {
        let scale = if k == 0 { (1.0 / size).sqrt() } else { (2.0 / size).sqrt() };
        for (n, x) in row.iter_mut().enumerate() {
            *x = S::Elem::from_f64(scale * (PI / size * (n as f64 + 0.5) * k as f64).cos());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Matrix, Trans};

    #[test]
    fn the_rows_are_orthonormal() {
        let mut m = Matrix::<f64>::zeros(13, 23);
        compute_dct_matrix(&mut m);
        let mut product = Matrix::zeros(13, 13);
        product.add_mat_mat(1.0, &m, Trans::No, &m, Trans::Yes, 0.0).unwrap();
        for r in 0..13 {
            for c in 0..13 {
                let unit = if r == c { 1.0 } else { 0.0 };
                assert!((product[(r, c)] - unit).abs() < 1e-14);
            }
        }
    }
}
