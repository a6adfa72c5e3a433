//! What can be done with matrices element by element, row by row or column by column.

use kaldera_base::Real;

use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{Matrix, MatrixBase, SubMatrix, Trans};
use crate::storage::{Storage, StorageMut};
use crate::vector::{VectorBase, check_range};
use crate::vector_ops::check_dim;

/// Side of the squares that a matrix is transposed in, so that both sides stay in the cache.
const TILE: usize = 16;

impl Shape {
    /// The shape of the operand as it enters an operation.
    pub(crate) fn seen(self, trans: Trans) -> Self {
        match trans {
            Trans::No => self,
            Trans::Yes => Self { rows: self.cols, cols: self.rows },
        }
    }
}

impl<T: Real> Matrix<T> {
    /// Rows become columns; any shape.
    #[doc(alias = "Transpose")]
    pub fn transpose(&mut self) {
        *self = self.transposed();
    }

    /// Exchanges two matrices without copying their elements.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }
}

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// The sum of the elements, in double precision and a fixed order.
    #[doc(alias = "Sum")]
    pub fn sum(&self) -> T {
        T::from_f64(self.rows().map(kernels::sum_f64).sum())
    }

    /// The smallest element that is not NaN; infinity for none.
    #[doc(alias = "Min")]
    pub fn min(&self) -> T {
        self.rows().map(kernels::min).fold(T::INFINITY, |a, b| if b < a { b } else { a })
    }

    /// The largest element that is not NaN; minus infinity for none.
    #[doc(alias = "Max")]
    pub fn max(&self) -> T {
        self.rows().map(kernels::max).fold(-T::INFINITY, |a, b| if b > a { b } else { a })
    }

    /// A copy whose rows are the columns of this matrix.
    pub fn transposed(&self) -> Matrix<T> {
        let mut result = Matrix::zeros(self.num_cols(), self.num_rows());
        update_transposed(&mut result, self.view(), |_, x| x);
        result
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// All elements become zero.
    #[doc(alias = "SetZero")]
    pub fn set_zero(&mut self) {
        self.set(T::ZERO);
    }

    /// All elements become `value`.
    #[doc(alias = "Set")]
    pub fn set(&mut self, value: T) {
        self.rows_mut().for_each(|row| row.fill(value));
    }

    /// `self += c` for each element.
    #[doc(alias = "Add")]
    pub fn add(&mut self, c: T) {
        self.for_each(|x| *x += c);
    }

    /// `self *= alpha` for each element.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: T) {
        self.for_each(|x| *x *= alpha);
    }

    /// Raises elements below `floor` to it; how many that were. NaN stays.
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor(&mut self, floor: T) -> usize {
        self.rows_mut().map(|row| kernels::floor(row, floor)).sum()
    }

    /// `x^power` for each element; NaN for a negative one and a fractional power.
    #[doc(alias = "ApplyPow")]
    pub fn apply_pow(&mut self, power: T) {
        self.for_each(|x| *x = x.powf(power));
    }

    /// The natural logarithm of each element; minus infinity for 0.
    ///
    /// # Errors
    /// [`Error::Negative`] for a negative element (Kaldi's matrix, unlike its vector, would give NaN); the matrix is as
    /// before then.
    #[doc(alias = "ApplyLog")]
    pub fn apply_log(&mut self) -> Result<(), Error> {
        if let Some((index, &x)) = self.rows().flatten().enumerate().find(|&(_, &x)| x < T::ZERO) {
            return Err(Error::Negative { operation: "apply_log", index, value: x.to_f64() });
        }
        self.for_each(|x| *x = x.ln());
        Ok(())
    }

    /// e to the power of each element.
    #[doc(alias = "ApplyExp")]
    pub fn apply_exp(&mut self) {
        self.for_each(|x| *x = x.exp());
    }

    fn for_each(&mut self, mut f: impl FnMut(&mut T)) {
        self.rows_mut().for_each(|row| row.iter_mut().for_each(&mut f));
    }

    /// `self = m` or its transpose, in either precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "CopyFromMat")]
    pub fn copy_from_mat(&mut self, m: &MatrixBase<impl Storage>, trans: Trans) -> Result<(), Error> {
        check_shape("copy_from_mat", self.shape().seen(trans), m.shape())?;
        match trans {
            Trans::No => self.rows_mut().zip(m.rows()).for_each(|(to, from)| kernels::copy(from, to)),
            Trans::Yes => update_transposed(self, m.view(), |_, x| kernels::convert(x)),
        }
        Ok(())
    }

    /// Column `col` = `v`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] without such a column, [`Error::DimMismatch`] if it is not as long as `v`.
    #[doc(alias = "CopyColFromVec")]
    pub fn copy_col_from_vec(&mut self, v: &VectorBase<impl Storage>, col: usize) -> Result<(), Error> {
        check_range("columns", col, 1, self.num_cols())?;
        check_dim("copy_col_from_vec", self.num_rows(), v.dim())?;
        for (row, &x) in self.rows_mut().zip(v.iter()) {
            row[col] = kernels::convert(x);
        }
        Ok(())
    }

    /// Row `row` = `v`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] without such a row, [`Error::DimMismatch`] if it is not as long as `v`.
    #[doc(alias = "CopyRowFromVec")]
    pub fn copy_row_from_vec(&mut self, v: &VectorBase<impl Storage>, row: usize) -> Result<(), Error> {
        check_range("rows", row, 1, self.num_rows())?;
        self.row_mut(row).copy_from_vec(v)
    }

    /// The matrix row by row from a vector of all its elements, or every row from a vector of one row's.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if `v` is neither.
    #[doc(alias = "CopyRowsFromVec")]
    pub fn copy_rows_from_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        let Shape { rows, cols } = self.shape();
        if v.dim() == rows * cols {
            let from = v.data().chunks(cols.max(1));
            self.rows_mut().zip(from).for_each(|(to, from)| kernels::copy(from, to));
            return Ok(());
        }
        check_dim("copy_rows_from_vec", cols, v.dim())?;
        self.rows_mut().for_each(|to| kernels::copy(v.data(), to));
        Ok(())
    }

    /// `self += alpha * a`, or its transpose.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "AddMat")]
    pub fn add_mat(&mut self, alpha: T, a: &MatrixBase<impl Storage<Elem = T>>, trans: Trans) -> Result<(), Error> {
        check_shape("add_mat", self.shape().seen(trans), a.shape())?;
        match trans {
            Trans::No => self.rows_mut().zip(a.rows()).for_each(|(y, x)| kernels::axpy(alpha, x, y)),
            Trans::Yes => update_transposed(self, a.view(), |y, x| y + alpha * x),
        }
        Ok(())
    }

    /// `self *= a`, element by element.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "MulElements")]
    pub fn mul_elements(&mut self, a: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        check_shape("mul_elements", self.shape(), a.shape())?;
        self.rows_mut().zip(a.rows()).for_each(|(y, x)| kernels::multiply(y, x));
        Ok(())
    }

    /// Each row `+= alpha * v`, with `v` in either precision and the arithmetic in the wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` is as long as a row.
    #[doc(alias = "AddVecToRows")]
    pub fn add_vec_to_rows(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec_to_rows", self.num_cols(), v.dim())?;
        self.rows_mut().for_each(|row| kernels::add_scaled(alpha, v.data(), row));
        Ok(())
    }

    /// Each column `+= alpha * v`, with `v` in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` is as long as a column.
    #[doc(alias = "AddVecToCols")]
    pub fn add_vec_to_cols(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec_to_cols", self.num_rows(), v.dim())?;
        for (row, &x) in self.rows_mut().zip(v.iter()) {
            let x = T::from_f64(alpha.to_f64() * x.to_f64());
            row.iter_mut().for_each(|y| *y += x);
        }
        Ok(())
    }

    /// Column j `*= v[j]`, with `v` in either precision and the arithmetic in the wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` is as long as a row.
    #[doc(alias = "MulColsVec")]
    pub fn mul_cols_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("mul_cols_vec", self.num_cols(), v.dim())?;
        self.rows_mut().for_each(|row| kernels::multiply(row, v.data()));
        Ok(())
    }

    /// Row i `*= v[i]`, with `v` in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` is as long as a column.
    #[doc(alias = "MulRowsVec")]
    pub fn mul_rows_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("mul_rows_vec", self.num_rows(), v.dim())?;
        for (row, &x) in self.rows_mut().zip(v.iter()) {
            let x: T = kernels::convert(x);
            row.iter_mut().for_each(|y| *y *= x);
        }
        Ok(())
    }
}

/// An error unless `found` is `expected`.
pub(crate) fn check_shape(operation: &'static str, expected: Shape, found: Shape) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::ShapeMismatch { operation, expected, found }) }
}

/// y(r, c) = f(y(r, c), x(c, r)), tile by tile.
fn update_transposed<T: Real, U: Real>(
    y: &mut MatrixBase<impl StorageMut<Elem = T>>,
    x: SubMatrix<'_, U>,
    f: impl Fn(T, U) -> T,
) {
    let Shape { rows, cols } = y.shape();
    for r0 in (0..rows).step_by(TILE) {
        for c0 in (0..cols).step_by(TILE) {
            for r in r0..rows.min(r0 + TILE) {
                let row = &mut y.row_data_mut(r)[c0..cols.min(c0 + TILE)];
                for (i, y) in row.iter_mut().enumerate() {
                    *y = f(*y, x[(c0 + i, r)]);
                }
            }
        }
    }
}
