//! Operations of vectors with packed matrices.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_range;
use crate::error::Error;
use crate::kernels;
use crate::matrix::Trans;
use crate::packed::{PackedMatrix, SpMatrix, TpMatrix};
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self =` the stored elements of a packed matrix of either kind and precision, row by row.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has n (n + 1) / 2 elements.
    #[doc(alias = "CopyFromPacked")]
    pub fn copy_from_packed<U: Real, K>(&mut self, m: &PackedMatrix<U, K>) -> Result<(), Error> {
        check_dim("copy_from_packed", m.data().len(), self.dim())?;
        kernels::copy(m.data(), self.data_mut());
        Ok(())
    }

    /// `self =` row `row` of a symmetric matrix of either precision, with the elements right of the
    /// diagonal.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix rows,
    /// [`Error::OutOfRange`] if there is no such row.
    #[doc(alias = "CopyRowFromSp")]
    pub fn copy_row_from_sp<U: Real>(&mut self, s: &SpMatrix<U>, row: usize) -> Result<(), Error> {
        check_dim("copy_row_from_sp", s.dim(), self.dim())?;
        check_range("rows", row, 1, s.dim())?;
        self.iter_mut().enumerate().for_each(|(c, x)| *x = kernels::convert(s[(row, c)]));
        Ok(())
    }

    /// `self =` the diagonal of a packed matrix of either kind and precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix rows.
    #[doc(alias = "CopyDiagFromPacked")]
    pub fn copy_diag_from_packed<U: Real, K>(&mut self, m: &PackedMatrix<U, K>) -> Result<(), Error> {
        check_dim("copy_diag_from_packed", m.dim(), self.dim())?;
        self.iter_mut().zip(m.diag()).for_each(|(to, from)| *to = kernels::convert(from));
        Ok(())
    }

    /// `self =` the diagonal of a symmetric matrix of either precision.
    ///
    /// # Errors
    /// As [`copy_diag_from_packed`](Self::copy_diag_from_packed).
    #[doc(alias = "CopyDiagFromSp")]
    pub fn copy_diag_from_sp<U: Real>(&mut self, s: &SpMatrix<U>) -> Result<(), Error> {
        self.copy_diag_from_packed(s)
    }

    /// `self =` the diagonal of a triangular matrix of either precision.
    ///
    /// # Errors
    /// As [`copy_diag_from_packed`](Self::copy_diag_from_packed).
    #[doc(alias = "CopyDiagFromTp")]
    pub fn copy_diag_from_tp<U: Real>(&mut self, t: &TpMatrix<U>) -> Result<(), Error> {
        self.copy_diag_from_packed(t)
    }

    /// `self = alpha * s v + beta * self`.
    ///
    /// With `beta` 0 the old values are ignored, even NaN.
    ///
    /// ```
    /// # use kaldi_matrix::{SpMatrix, Vector};
    /// let s = SpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0])?;
    /// let mut y = Vector::zeros(2);
    /// y.add_sp_vec(1.0, &s, &Vector::from(vec![1.0, 10.0]), 0.0)?;
    /// assert_eq!(y.data(), [21.0, 32.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless both vectors have as many elements as the matrix rows.
    #[doc(alias = "AddSpVec")]
    #[doc(alias = "spmv")]
    pub fn add_sp_vec(
        &mut self,
        alpha: T,
        s: &SpMatrix<T>,
        v: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_sp_vec", s.dim(), v.dim())?;
        check_dim("add_sp_vec", s.dim(), self.dim())?;
        let (x, y) = (v.data(), self.data_mut());
        kernels::scale(y, beta);
        for (r, row) in s.rows().enumerate() {
            // The row is also the upper part of a column.
            kernels::axpy(alpha * x[r], &row[..r], &mut y[..r]);
            y[r] += alpha * kernels::dot(row, &x[..=r]);
        }
        Ok(())
    }

    /// `self = alpha * t v + beta * self`, or with the transpose of `t`.
    ///
    /// With `beta` 0 the old values are ignored, even NaN. For `self = t self` see
    /// [`mul_tp`](Self::mul_tp).
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless both vectors have as many elements as the matrix rows.
    #[doc(alias = "AddTpVec")]
    pub fn add_tp_vec(
        &mut self,
        alpha: T,
        t: &TpMatrix<T>,
        trans: Trans,
        v: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_tp_vec", t.dim(), v.dim())?;
        check_dim("add_tp_vec", t.dim(), self.dim())?;
        let (x, y) = (v.data(), self.data_mut());
        kernels::scale(y, beta);
        for (r, row) in t.rows().enumerate() {
            match trans {
                Trans::No => y[r] += alpha * kernels::dot(row, &x[..=r]),
                Trans::Yes => kernels::axpy(alpha * x[r], row, &mut y[..=r]),
            }
        }
        Ok(())
    }

    /// `self = t self`, or with the transpose of `t`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix rows.
    #[doc(alias = "MulTp")]
    #[doc(alias = "tpmv")]
    pub fn mul_tp(&mut self, t: &TpMatrix<T>, trans: Trans) -> Result<(), Error> {
        check_dim("mul_tp", t.dim(), self.dim())?;
        let x = self.data_mut();
        match trans {
            // An element depends on the ones above, so the last one is first.
            Trans::No => {
                for r in (0..x.len()).rev() {
                    x[r] = kernels::dot(t.row_data(r), &x[..=r]);
                }
            }
            Trans::Yes => {
                for (r, row) in t.rows().enumerate() {
                    let (above, rest) = x.split_at_mut(r);
                    kernels::axpy(rest[0], &row[..r], above);
                    rest[0] *= row[r];
                }
            }
        }
        Ok(())
    }

    /// `self = t^-1 self`, or with the transpose of `t`: the solution x of `t x = self`.
    ///
    /// ```
    /// # use kaldi_matrix::{TpMatrix, Trans, Vector};
    /// let t = TpMatrix::from_vec(2, vec![2.0_f32, 1.0, 4.0])?;
    /// let mut x = Vector::from(vec![6.0, 11.0]);
    /// x.solve(&t, Trans::No)?;
    /// assert_eq!(x.data(), [3.0, 2.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix rows,
    /// [`Error::Singular`] for a zero on the diagonal (Kaldi divides by it).
    #[doc(alias = "Solve")]
    #[doc(alias = "tpsv")]
    pub fn solve(&mut self, t: &TpMatrix<T>, trans: Trans) -> Result<(), Error> {
        check_dim("solve", t.dim(), self.dim())?;
        t.check_diagonal("solve")?;
        let x = self.data_mut();
        match trans {
            Trans::No => {
                for (r, row) in t.rows().enumerate() {
                    x[r] = (x[r] - kernels::dot(&row[..r], &x[..r])) / row[r];
                }
            }
            Trans::Yes => {
                for r in (0..x.len()).rev() {
                    let row = t.row_data(r);
                    let (above, rest) = x.split_at_mut(r);
                    rest[0] /= row[r];
                    kernels::axpy(-rest[0], &row[..r], above);
                }
            }
        }
        Ok(())
    }
}
