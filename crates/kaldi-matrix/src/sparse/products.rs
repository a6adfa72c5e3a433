//! Sums and products of sparse matrices with full ones.

use kaldera_base::Real;

use crate::check::{check_product, check_shape};
use crate::error::Error;
use crate::kernels;
use crate::matrix::{MatrixBase, Trans};
use crate::sparse::SparseMatrix;
use crate::storage::{Storage, StorageMut};

/// `tr(a op(b))`: `Σ a[i][j] * op(b)[j][i]` over the stored elements of b.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `op(b)` has the shape of a's transpose.
#[doc(alias = "TraceMatSmat")]
pub fn trace_mat_smat<T: Real>(
    a: &MatrixBase<impl Storage<Elem = T>>,
    b: &SparseMatrix<T>,
    trans: Trans,
) -> Result<T, Error> {
    check_shape("trace_mat_smat", a.shape().seen(Trans::Yes), b.shape().seen(trans))?;
    let mut trace = 0.0;
    for (r, row) in b.rows().iter().enumerate() {
        for (c, x) in row.iter() {
            let y = if trans == Trans::No { a[(c, r)] } else { a[(r, c)] };
            trace += x.to_f64() * y.to_f64();
        }
    }
    Ok(T::from_f64(trace))
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = op(a)`, zeros included, of either precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless it has this shape.
    #[doc(alias = "CopyFromSmat")]
    pub fn copy_from_smat<U: Real>(&mut self, a: &SparseMatrix<U>, trans: Trans) -> Result<(), Error> {
        a.copy_to_mat(self, trans)
    }

    /// `self += alpha * op(a)`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless it has this shape.
    #[doc(alias = "AddSmat")]
    pub fn add_smat(&mut self, alpha: T, a: &SparseMatrix<T>, trans: Trans) -> Result<(), Error> {
        a.add_to_mat(alpha, self, trans)
    }

    /// `self = alpha * op(a) * b + beta * self`.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// [`Error::ProductMismatch`] if `op(a)` cannot be multiplied by b, [`Error::ShapeMismatch`]
    /// unless this matrix has the product's shape.
    #[doc(alias = "AddSmatMat")]
    pub fn add_smat_mat(
        &mut self,
        alpha: T,
        a: &SparseMatrix<T>,
        trans: Trans,
        b: &MatrixBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        check_product("add_smat_mat", a.shape().seen(trans), b.shape(), self.shape())?;
        self.rows_mut().for_each(|row| kernels::scale(row, beta));
        for (r, row) in a.rows().iter().enumerate() {
            for (c, x) in row.iter() {
                let (to, from) = if trans == Trans::No { (r, c) } else { (c, r) };
                kernels::axpy(alpha * x, b.row_data(from), self.row_data_mut(to));
            }
        }
        Ok(())
    }

    /// `self = alpha * a * op(b) + beta * self`.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// As [`add_smat_mat`](Self::add_smat_mat).
    #[doc(alias = "AddMatSmat")]
    pub fn add_mat_smat(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        b: &SparseMatrix<T>,
        trans: Trans,
        beta: T,
    ) -> Result<(), Error> {
        check_product("add_mat_smat", a.shape(), b.shape().seen(trans), self.shape())?;
        self.rows_mut().for_each(|row| kernels::scale(row, beta));
        for (to, from) in self.rows_mut().zip(a.rows()) {
            match trans {
                Trans::No => {
                    for (row, &x) in b.rows().iter().zip(from) {
                        row.add_to(alpha * x, to);
                    }
                }
                Trans::Yes => {
                    for (row, y) in b.rows().iter().zip(to) {
                        *y += alpha * row.iter().map(|(c, x)| x * from[c]).sum();
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Matrix, RandomState, Shape};

    fn close(a: &Matrix<f64>, b: &Matrix<f64>) -> bool {
        a.shape() == b.shape() && a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    proptest! {
        #[test]
        fn sparse_matrix_equals_dense(
            rows in 0_usize..5, inner in 0_usize..5, cols in 0_usize..5,
            trans in prop::sample::select(vec![Trans::No, Trans::Yes]),
            beta in prop::sample::select(vec![0.0, 1.0, -0.5]),
            seed in any::<u64>(),
        ) {
            let mut random = RandomState::new(seed);
            let mut dense = |rows, cols| {
                let mut m = Matrix::<f64>::zeros(rows, cols);
                m.set_randn(&mut random);
                m
            };
            let (a, b, old) = (dense(rows, inner), dense(inner, cols), dense(rows, cols));
            let sparse = |shape: Shape, seed| {
                let shape = shape.seen(trans);
                let mut m = SparseMatrix::<f64>::zeros(shape.rows, shape.cols);
                m.set_randn(0.5, &mut RandomState::new(seed)).unwrap();
                m
            };

            let left = sparse(a.shape(), seed ^ 1);
            let (mut came, mut expected) = (old.clone(), old.clone());
            came.add_smat_mat(1.5, &left, trans, &b, beta).unwrap();
            expected.add_mat_mat(1.5, &left.to_matrix(), trans, &b, Trans::No, beta).unwrap();
            prop_assert!(close(&came, &expected));

            let right = sparse(b.shape(), seed ^ 2);
            let (mut came, mut expected) = (old.clone(), old.clone());
            came.add_mat_smat(1.5, &a, &right, trans, beta).unwrap();
            expected.add_mat_mat(1.5, &a, Trans::No, &right.to_matrix(), trans, beta).unwrap();
            prop_assert!(close(&came, &expected));

            let same = sparse(old.shape(), seed ^ 3);
            let mut came = old.clone();
            came.add_smat(beta, &same, trans).unwrap();
            let mut expected = old.clone();
            expected.add_mat(beta, &same.to_matrix(), trans).unwrap();
            prop_assert!(close(&came, &expected));

            let transpose = sparse(old.transposed().shape(), seed ^ 4);
            let trace = trace_mat_smat(&old, &transpose, trans).unwrap();
            let mut op = Matrix::<f64>::zeros(cols, rows);
            op.copy_from_smat(&transpose, trans).unwrap();
            let expected: f64 = (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))).map(|(r, c)| old[(r, c)] * op[(c, r)]).sum();
            prop_assert!((trace - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn shapes_are_checked() {
        let (sparse, dense) = (SparseMatrix::<f32>::zeros(2, 3), Matrix::<f32>::zeros(3, 4));
        let mut m = Matrix::zeros(2, 4);
        assert!(m.add_smat_mat(1.0, &sparse, Trans::No, &dense, 0.0).is_ok());
        assert!(m.add_smat_mat(1.0, &sparse, Trans::Yes, &dense, 0.0).is_err());
        assert!(m.add_mat_smat(1.0, &dense, &sparse, Trans::No, 0.0).is_err());
        assert!(m.add_smat(1.0, &sparse, Trans::No).is_err());
        assert!(m.copy_from_smat(&sparse, Trans::Yes).is_err());
        assert!(Matrix::zeros(3, 4).add_smat_mat(1.0, &sparse, Trans::No, &dense, 0.0).is_err());
        assert!(trace_mat_smat(&m, &sparse, Trans::No).is_err());
    }
}
