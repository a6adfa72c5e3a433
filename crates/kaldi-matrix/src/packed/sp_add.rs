//! Additions to a symmetric matrix.

use kaldera_base::Real;

use crate::backend;
use crate::check::{check_dim, check_factors, check_shape};
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::packed::{SpMatrix, TpMatrix};
use crate::storage::Storage;
use crate::vector::VectorBase;

impl<T: Real> SpMatrix<T> {
    /// `self = self + alpha * other`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has the same number of rows.
    #[doc(alias = "AddSp")]
    pub fn add_sp(&mut self, alpha: T, other: &Self) -> Result<(), Error> {
        check_dim("add_sp", self.dim(), other.dim())?;
        kernels::axpy(alpha, other.data(), self.data_mut());
        Ok(())
    }

    /// `self = self + alpha * v v'`, for a vector of either precision.
    ///
    /// ```
    /// # use kaldi_matrix::{SpMatrix, Vector};
    /// let mut s = SpMatrix::zeros(2);
    /// s.add_vec2(0.5, &Vector::from(vec![2.0_f32, 4.0]))?;
    /// assert_eq!(s.data(), [2.0_f32, 4.0, 8.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has as many elements as this matrix has rows.
    #[doc(alias = "AddVec2")]
    #[doc(alias = "spr")]
    pub fn add_vec2(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec2", self.dim(), v.dim())?;
        for (row, &x) in self.rows_mut().zip(v.data()) {
            let x: T = kernels::convert(x);
            kernels::add_scaled(alpha * x, &v.data()[..row.len()], row);
        }
        Ok(())
    }

    /// `self = self + alpha * (v w' + w v')`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless both have as many elements as this matrix has rows.
    #[doc(alias = "AddVecVec")]
    #[doc(alias = "spr2")]
    pub fn add_vec_vec(
        &mut self,
        alpha: T,
        v: &VectorBase<impl Storage<Elem = T>>,
        w: &VectorBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        check_dim("add_vec_vec", self.dim(), v.dim())?;
        check_dim("add_vec_vec", self.dim(), w.dim())?;
        for (row, (&x, &y)) in self.rows_mut().zip(v.iter().zip(w.iter())) {
            kernels::axpy(alpha * x, &w.data()[..row.len()], row);
            kernels::axpy(alpha * y, &v.data()[..row.len()], row);
        }
        Ok(())
    }

    /// `self = alpha * diag(v) s diag(v) + beta * self`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has as many elements and `s` as many rows as this matrix.
    #[doc(alias = "AddVec2Sp")]
    pub fn add_vec2_sp(
        &mut self,
        alpha: T,
        v: &VectorBase<impl Storage<Elem = T>>,
        s: &Self,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_vec2_sp", self.dim(), v.dim())?;
        check_dim("add_vec2_sp", self.dim(), s.dim())?;
        for ((to, from), &x) in self.rows_mut().zip(s.rows()).zip(v.iter()) {
            kernels::scale(to, beta);
            for ((to, &from), &y) in to.iter_mut().zip(from).zip(v.iter()) {
                *to += alpha * x * y * from;
            }
        }
        Ok(())
    }

    /// `self = self + alpha * diag(v)`, for a vector of either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless it has as many elements as this matrix has rows.
    #[doc(alias = "AddDiagVec")]
    pub fn add_diag_vec(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_diag_vec", self.dim(), v.dim())?;
        for (x, &v) in self.diag_mut().zip(v.data()) {
            kernels::add_scaled(alpha, &[v], std::slice::from_mut(x));
        }
        Ok(())
    }

    /// `self = alpha * m m' + beta * self`, or with [`Trans::Yes`] `alpha * m' m + beta * self`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the product has as many rows as this matrix.
    #[doc(alias = "AddMat2")]
    #[doc(alias = "syrk")]
    pub fn add_mat2(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        beta: T,
    ) -> Result<(), Error> {
        let n = m.shape().seen(trans).rows;
        check_dim("add_mat2", self.dim(), n)?;
        let mut product = Matrix::zeros(n, n);
        backend::syrk(alpha, m.view(), trans, T::ZERO, product.view_mut());
        self.add_lower(&product, beta);
        Ok(())
    }

    /// `self = alpha * m s m' + beta * self`, or with [`Trans::Yes`] `alpha * m' s m + beta *
    /// self`.
    ///
    /// # Errors
    /// [`Error::ProductMismatch`] if `m` and `s` cannot be multiplied, [`Error::DimMismatch`]
    /// unless the product has as many rows as this matrix.
    #[doc(alias = "AddMat2Sp")]
    pub fn add_mat2_sp(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        s: &Self,
        beta: T,
    ) -> Result<(), Error> {
        let seen = self.check_mat2("add_mat2_sp", m, trans, s.dim())?;
        let mut half = Matrix::zeros(seen.rows, seen.cols);
        backend::gemm(T::ONE, (m.view(), trans), (s.to_matrix().view(), Trans::No), T::ZERO, half.view_mut());
        self.add_half(alpha, &half, m, trans, beta);
        Ok(())
    }

    /// `self = alpha * m s m' + beta * self` for a matrix `m` that is mostly zeros, which are
    /// skipped; with [`Trans::Yes`] `alpha * m' s m + beta * self`.
    ///
    /// # Errors
    /// As [`add_mat2_sp`](Self::add_mat2_sp).
    #[doc(alias = "AddSmat2Sp")]
    pub fn add_smat2_sp(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        s: &Self,
        beta: T,
    ) -> Result<(), Error> {
        let seen = self.check_mat2("add_smat2_sp", m, trans, s.dim())?;
        let full = s.to_matrix();
        let nonzeros = nonzeros(m, trans);
        // M S, row by row; then each row of it times the rows of M again.
        let mut half = vec![T::ZERO; seen.cols];
        for (r, (to, left)) in self.rows_mut().zip(&nonzeros).enumerate() {
            kernels::scale(to, beta);
            half.fill(T::ZERO);
            left.iter().for_each(|&(k, x)| kernels::axpy(x, full.row_data(k), &mut half));
            for (to, right) in to.iter_mut().zip(&nonzeros[..=r]) {
                *to += alpha * right.iter().map(|&(k, x)| x * half[k]).sum::<T>();
            }
        }
        Ok(())
    }

    /// `self = alpha * m diag(v) m' + beta * self`, or with [`Trans::Yes`] `alpha * m' diag(v) m +
    /// beta * self`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the product has as many rows as this matrix, and `v` an
    /// element for each inner index.
    #[doc(alias = "AddMat2Vec")]
    pub fn add_mat2_vec(
        &mut self,
        alpha: T,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        v: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        let seen = m.shape().seen(trans);
        check_dim("add_mat2_vec", self.dim(), seen.rows)?;
        check_dim("add_mat2_vec", seen.cols, v.dim())?;
        let half = Matrix::from_fn(seen.rows, seen.cols, |r, k| v[k] * at(m, trans, r, k));
        self.add_half(alpha, &half, m, trans, beta);
        Ok(())
    }

    /// `self = alpha * t t' + beta * self`, or with [`Trans::Yes`] `alpha * t' t + beta * self`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `t` has as many rows as this matrix.
    #[doc(alias = "AddTp2")]
    pub fn add_tp2(&mut self, alpha: T, t: &TpMatrix<T>, trans: Trans, beta: T) -> Result<(), Error> {
        check_dim("add_tp2", self.dim(), t.dim())?;
        self.add_mat2(alpha, &t.to_matrix(), trans, beta)
    }

    /// `self = alpha * t s t' + beta * self`, or with [`Trans::Yes`] `alpha * t' s t + beta *
    /// self`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `t` and `s` have as many rows as this matrix.
    #[doc(alias = "AddTp2Sp")]
    pub fn add_tp2_sp(&mut self, alpha: T, t: &TpMatrix<T>, trans: Trans, s: &Self, beta: T) -> Result<(), Error> {
        check_dim("add_tp2_sp", self.dim(), t.dim())?;
        check_dim("add_tp2_sp", self.dim(), s.dim())?;
        self.add_mat2_sp(alpha, &t.to_matrix(), trans, s, beta)
    }

    /// Returns the shape of `m` in `m s m'`, after transposing, if the sizes fit.
    fn check_mat2(
        &self,
        operation: &'static str,
        m: &MatrixBase<impl Storage<Elem = T>>,
        trans: Trans,
        inner: usize,
    ) -> Result<Shape, Error> {
        let seen = m.shape().seen(trans);
        check_factors(operation, seen, Shape { rows: inner, cols: inner })?;
        check_shape(
            operation,
            Shape { rows: self.dim(), cols: self.dim() },
            Shape { rows: seen.rows, cols: seen.rows },
        )?;
        Ok(seen)
    }

    /// `self = alpha * half op(m)' + beta * self`, whose product must be symmetric.
    fn add_half(&mut self, alpha: T, half: &Matrix<T>, m: &MatrixBase<impl Storage<Elem = T>>, trans: Trans, beta: T) {
        let mut product = Matrix::zeros(self.dim(), self.dim());
        let other = match trans {
            Trans::No => Trans::Yes,
            Trans::Yes => Trans::No,
        };
        backend::gemm(alpha, (half.view(), Trans::No), (m.view(), other), T::ZERO, product.view_mut());
        self.add_lower(&product, beta);
    }

    /// `self =` the lower triangle of `product + beta * self`.
    fn add_lower(&mut self, product: &Matrix<T>, beta: T) {
        for (r, row) in self.rows_mut().enumerate() {
            kernels::scale(row, beta);
            kernels::axpy(T::ONE, &product.row_data(r)[..=r], row);
        }
    }
}

/// Returns element (r, c) of the matrix as an operand.
fn at<T: Real>(m: &MatrixBase<impl Storage<Elem = T>>, trans: Trans, r: usize, c: usize) -> T {
    match trans {
        Trans::No => m[(r, c)],
        Trans::Yes => m[(c, r)],
    }
}

/// Returns the elements that are not zero, with their columns, for each row of the operand.
fn nonzeros<T: Real>(m: &MatrixBase<impl Storage<Elem = T>>, trans: Trans) -> Vec<Vec<(usize, T)>> {
    let mut rows = vec![Vec::new(); m.shape().seen(trans).rows];
    for (r, row) in m.rows().enumerate() {
        for (c, &x) in row.iter().enumerate().filter(|&(_, &x)| x != T::ZERO) {
            match trans {
                Trans::No => rows[r].push((c, x)),
                Trans::Yes => rows[c].push((r, x)),
            }
        }
    }
    rows
}
