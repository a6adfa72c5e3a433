//! Products of a BLAS: matrices with vectors and with matrices.

mod matrix_vec;
mod mostly_zero;
pub(crate) mod outer_product;
mod vector_mat;

use kaldera_base::Real;

use crate::backend;
use crate::check::{check_dim, check_factors, check_product, check_shape};
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self = alpha * m * v + beta * self`, or with the transpose of `m`; BLAS's gemv.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the length of a vector differs from its side of the matrix.
    #[doc(alias = "AddMatVec")]
    #[doc(alias = "gemv")]
    pub fn add_mat_vec(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        v: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        let Shape { rows, cols } = m.shape().seen(trans);
        check_dim("add_mat_vec", cols, v.dim())?;
        check_dim("add_mat_vec", rows, self.dim())?;
        backend::gemv(alpha, m.view(), trans, v.data(), beta, self.data_mut());
        Ok(())
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = alpha * a * b + beta * self`, each operand unchanged or transposed; BLAS's gemm.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// ```
    /// # use kaldi_matrix::{Matrix, Trans};
    /// let a = Matrix::from_vec(1, 2, vec![1.0_f32, 2.0])?;
    /// let mut c = Matrix::zeros(2, 2);
    /// c.add_mat_mat(1.0, &a, Trans::Yes, &a, Trans::No, 0.0)?;
    /// assert_eq!(c.data(), [1.0, 2.0, 2.0, 4.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ProductMismatch`] if `a` and `b` cannot be multiplied, [`Error::ShapeMismatch`] if
    /// the product has another shape than this matrix.
    #[doc(alias = "AddMatMat")]
    #[doc(alias = "gemm")]
    pub fn add_mat_mat(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        trans_a: Trans,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        beta: T,
    ) -> Result<(), Error> {
        let (left, right) = (a.shape().seen(trans_a), b.shape().seen(trans_b));
        check_product("add_mat_mat", left, right, self.shape())?;
        backend::gemm(alpha, (a.view(), trans_a), (b.view(), trans_b), beta, self.view_mut());
        Ok(())
    }

    /// `self = alpha * op(a) op(b) op(c) + beta * self`, in the order with fewer multiplications.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// # Errors
    /// [`Error::ProductMismatch`] if the three cannot be multiplied, [`Error::ShapeMismatch`] if
    /// the product has another shape than this matrix.
    #[doc(alias = "AddMatMatMat")]
    #[expect(clippy::too_many_arguments, reason = "three operands, each with its flag, as in Kaldi")]
    pub fn add_mat_mat_mat(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        trans_a: Trans,
        b: &MatrixBase<impl Storage<Elem = T>>,
        trans_b: Trans,
        c: &MatrixBase<impl Storage<Elem = T>>,
        trans_c: Trans,
        beta: T,
    ) -> Result<(), Error> {
        const OPERATION: &str = "add_mat_mat_mat";
        let [a_shape, b_shape, c_shape] = [a.shape().seen(trans_a), b.shape().seen(trans_b), c.shape().seen(trans_c)];
        check_factors(OPERATION, a_shape, b_shape)?;
        check_factors(OPERATION, b_shape, c_shape)?;
        check_shape(OPERATION, Shape { rows: a_shape.rows, cols: c_shape.cols }, self.shape())?;
        if left_first(a_shape, b_shape, c_shape) {
            let mut ab = Matrix::zeros(a_shape.rows, b_shape.cols);
            ab.add_mat_mat(T::ONE, a, trans_a, b, trans_b, T::ZERO)?;
            self.add_mat_mat(alpha, &ab, Trans::No, c, trans_c, beta)
        } else {
            let mut bc = Matrix::zeros(b_shape.rows, c_shape.cols);
            bc.add_mat_mat(T::ONE, b, trans_b, c, trans_c, T::ZERO)?;
            self.add_mat_mat(alpha, a, trans_a, &bc, Trans::No, beta)
        }
    }

    /// `self += alpha * v * r'`, the outer product; BLAS's ger.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the length of a vector differs from its side of the matrix.
    #[doc(alias = "AddVecVec")]
    #[doc(alias = "ger")]
    pub fn add_vec_vec(
        &mut self,
        alpha: T,
        v: &VectorBase<impl Storage<Elem = T>>,
        r: &VectorBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        check_dim("add_vec_vec", self.num_rows(), v.dim())?;
        check_dim("add_vec_vec", self.num_cols(), r.dim())?;
        backend::ger(alpha, v.data(), r.data(), self.view_mut());
        Ok(())
    }

    /// Lower triangle of `self = alpha * m m' + beta * self`, or with [`Trans::Yes`] of `alpha * m'
    /// m + beta * self`; BLAS's syrk. The elements above the diagonal do not change.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless this matrix is square and has the product's size.
    #[doc(alias = "SymAddMat2")]
    #[doc(alias = "syrk")]
    pub fn sym_add_mat2(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        beta: T,
    ) -> Result<(), Error> {
        let n = m.shape().seen(trans).rows;
        check_shape("sym_add_mat2", Shape { rows: n, cols: n }, self.shape())?;
        backend::syrk(alpha, m.view(), trans, beta, self.view_mut());
        Ok(())
    }
}

/// Returns `true` if `(a b) c` takes no more multiplications than `a (b c)`.
pub(crate) fn left_first(a: Shape, b: Shape, c: Shape) -> bool {
    let cost = |left: Shape, right: Shape| left.rows as f64 * left.cols as f64 * right.cols as f64;
    let ab = Shape { rows: a.rows, cols: b.cols };
    let bc = Shape { rows: b.rows, cols: c.cols };
    cost(a, b) + cost(ab, c) <= cost(b, c) + cost(a, bc)
}
