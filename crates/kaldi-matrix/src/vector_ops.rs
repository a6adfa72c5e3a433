//! What can be done with vectors, element by element or with a sum over them.

use kaldera_base::Real;

use crate::error::Error;
use crate::kernels;
use crate::matrix::MatrixBase;
use crate::storage::{Storage, StorageMut};
use crate::vector::{VectorBase, check_range};

/// The scalar product of two vectors of one precision, in a fixed order of summation.
///
/// ```
/// # use kaldi_matrix::{Vector, vec_vec};
/// let v = Vector::from(vec![1.0_f32, 2.0, 3.0]);
/// assert_eq!(vec_vec(&v, &v)?, 14.0);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
///
/// # Errors
/// [`Error::DimMismatch`] if the lengths differ.
#[doc(alias = "VecVec")]
#[doc(alias = "dot")]
pub fn vec_vec<A: Storage, B: Storage<Elem = A::Elem>>(a: &VectorBase<A>, b: &VectorBase<B>) -> Result<A::Elem, Error> {
    check_dim("vec_vec", a.dim(), b.dim())?;
    Ok(kernels::dot(a.data(), b.data()))
}

impl<S: Storage> VectorBase<S> {
    /// The sum of the elements, in a fixed order; 0 for none.
    #[doc(alias = "Sum")]
    pub fn sum(&self) -> S::Elem {
        kernels::sum(self.data())
    }

    /// The smallest element that is not NaN; infinity for none.
    #[doc(alias = "Min")]
    pub fn min(&self) -> S::Elem {
        kernels::min(self.data())
    }

    /// The largest element that is not NaN; minus infinity for none.
    #[doc(alias = "Max")]
    pub fn max(&self) -> S::Elem {
        kernels::max(self.data())
    }

    /// The place of the smallest element, the first of equals, and the element; none if there are only NaN or nothing.
    #[doc(alias = "Min")]
    pub fn min_index(&self) -> Option<(usize, S::Elem)> {
        self.first_of(self.min())
    }

    /// The place of the largest element, the first of equals, and the element; none if there are only NaN or nothing.
    ///
    /// ```
    /// # use kaldi_matrix::Vector;
    /// let v = Vector::from(vec![1.0_f32, 5.0, 5.0]);
    /// assert_eq!(v.max_index(), Some((1, 5.0)));
    /// ```
    #[doc(alias = "Max")]
    pub fn max_index(&self) -> Option<(usize, S::Elem)> {
        self.first_of(self.max())
    }

    fn first_of(&self, value: S::Elem) -> Option<(usize, S::Elem)> {
        self.iter().position(|&x| x == value).map(|i| (i, value))
    }
}

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// All elements become zero.
    #[doc(alias = "SetZero")]
    pub fn set_zero(&mut self) {
        self.set(T::ZERO);
    }

    /// All elements become `value`.
    #[doc(alias = "Set")]
    pub fn set(&mut self, value: T) {
        self.data_mut().fill(value);
    }

    /// `self += c` for each element.
    #[doc(alias = "Add")]
    pub fn add(&mut self, c: T) {
        self.iter_mut().for_each(|x| *x += c);
    }

    /// `self *= alpha` for each element.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: T) {
        self.iter_mut().for_each(|x| *x *= alpha);
    }

    /// Raises elements below `floor` to it; how many that were. NaN stays.
    #[doc(alias = "ApplyFloor")]
    #[doc(alias = "Floor")]
    pub fn apply_floor(&mut self, floor: T) -> usize {
        kernels::floor(self.data_mut(), floor)
    }

    /// `x^power` for each element; NaN for a negative one and a fractional power.
    #[doc(alias = "ApplyPow")]
    #[doc(alias = "Pow")]
    pub fn apply_pow(&mut self, power: T) {
        self.iter_mut().for_each(|x| *x = x.powf(power));
    }

    /// The natural logarithm of each element; minus infinity for 0.
    ///
    /// # Errors
    /// [`Error::Negative`] for a negative element; the vector is as before then.
    #[doc(alias = "ApplyLog")]
    pub fn apply_log(&mut self) -> Result<(), Error> {
        if let Some(index) = self.iter().position(|&x| x < T::ZERO) {
            return Err(Error::Negative { operation: "apply_log", index, value: self[index].to_f64() });
        }
        self.iter_mut().for_each(|x| *x = x.ln());
        Ok(())
    }

    /// e to the power of each element.
    #[doc(alias = "ApplyExp")]
    pub fn apply_exp(&mut self) {
        self.iter_mut().for_each(|x| *x = x.exp());
    }

    /// `self = v`, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "CopyFromVec")]
    pub fn copy_from_vec(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("copy_from_vec", self.dim(), v.dim())?;
        kernels::copy(v.data(), self.data_mut());
        Ok(())
    }

    /// `self += alpha * v`, with `v` in either precision and the arithmetic in the wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "AddVec")]
    pub fn add_vec(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec", self.dim(), v.dim())?;
        kernels::add_scaled(alpha, v.data(), self.data_mut());
        Ok(())
    }

    /// `self += alpha * v * v`, element by element, with `v` in either precision and the arithmetic in the wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "AddVec2")]
    pub fn add_vec2(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec2", self.dim(), v.dim())?;
        let wide = alpha.to_f64();
        kernels::update(self.data_mut(), v.data(), |y, x| y + alpha * x * x, |y, x| y + wide * x * x);
        Ok(())
    }

    /// `self = alpha * v * r + beta * self`, element by element; with `beta` 0 the old values do not count, not even NaN.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "AddVecVec")]
    pub fn add_vec_vec(
        &mut self,
        alpha: T,
        v: &VectorBase<impl Storage<Elem = T>>,
        r: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_vec_vec", self.dim(), v.dim())?;
        check_dim("add_vec_vec", self.dim(), r.dim())?;
        kernels::scale(self.data_mut(), beta);
        for (y, (&v, &r)) in self.iter_mut().zip(v.iter().zip(r.iter())) {
            *y += alpha * v * r;
        }
        Ok(())
    }

    /// `self *= v`, element by element, with `v` in either precision and the arithmetic in the wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "MulElements")]
    pub fn mul_elements(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("mul_elements", self.dim(), v.dim())?;
        kernels::multiply(self.data_mut(), v.data());
        Ok(())
    }

    /// `self = m.row(row)`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] without such a row, [`Error::DimMismatch`] if it is not as long as this vector.
    #[doc(alias = "CopyRowFromMat")]
    pub fn copy_row_from_mat(&mut self, m: &MatrixBase<impl Storage>, row: usize) -> Result<(), Error> {
        check_range("rows", row, 1, m.num_rows())?;
        check_dim("copy_row_from_mat", m.num_cols(), self.dim())?;
        kernels::copy(m.row_data(row), self.data_mut());
        Ok(())
    }

    /// `self` = column `col` of `m`, in either precision.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] without such a column, [`Error::DimMismatch`] if it is not as long as this vector.
    #[doc(alias = "CopyColFromMat")]
    pub fn copy_col_from_mat(&mut self, m: &MatrixBase<impl Storage>, col: usize) -> Result<(), Error> {
        check_range("columns", col, 1, m.num_cols())?;
        check_dim("copy_col_from_mat", m.num_rows(), self.dim())?;
        for (y, row) in self.iter_mut().zip(m.rows()) {
            *y = kernels::convert(row[col]);
        }
        Ok(())
    }

    /// `self` = the rows of `m`, one after the other, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix.
    #[doc(alias = "CopyRowsFromMat")]
    pub fn copy_rows_from_mat(&mut self, m: &MatrixBase<impl Storage>) -> Result<(), Error> {
        check_dim("copy_rows_from_mat", m.num_rows() * m.num_cols(), self.dim())?;
        for (y, row) in self.data_mut().chunks_mut(m.num_cols().max(1)).zip(m.rows()) {
            kernels::copy(row, y);
        }
        Ok(())
    }

    /// `self` = the columns of `m`, one after the other, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless the vector has as many elements as the matrix.
    #[doc(alias = "CopyColsFromMat")]
    pub fn copy_cols_from_mat(&mut self, m: &MatrixBase<impl Storage>) -> Result<(), Error> {
        check_dim("copy_cols_from_mat", m.num_rows() * m.num_cols(), self.dim())?;
        for (c, y) in self.data_mut().chunks_mut(m.num_rows().max(1)).enumerate() {
            for (y, row) in y.iter_mut().zip(m.rows()) {
                *y = kernels::convert(row[c]);
            }
        }
        Ok(())
    }

    /// `self = alpha * (sum of the rows of m) + beta * self`, row after row.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless a row of `m` is as long as this vector.
    #[doc(alias = "AddRowSumMat")]
    pub fn add_row_sum_mat(&mut self, alpha: T, m: &MatrixBase<impl Storage<Elem = T>>, beta: T) -> Result<(), Error> {
        check_dim("add_row_sum_mat", m.num_cols(), self.dim())?;
        kernels::scale(self.data_mut(), beta);
        m.rows().for_each(|row| kernels::axpy(alpha, row, self.data_mut()));
        Ok(())
    }

    /// `self = alpha * (sum of the columns of m) + beta * self`; each row is summed in double precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless a column of `m` is as long as this vector.
    #[doc(alias = "AddColSumMat")]
    pub fn add_col_sum_mat(&mut self, alpha: T, m: &MatrixBase<impl Storage<Elem = T>>, beta: T) -> Result<(), Error> {
        check_dim("add_col_sum_mat", m.num_rows(), self.dim())?;
        kernels::scale(self.data_mut(), beta);
        for (y, row) in self.iter_mut().zip(m.rows()) {
            *y += alpha * T::from_f64(kernels::sum_f64(row));
        }
        Ok(())
    }
}

/// An error unless `found` is `expected`.
pub(crate) fn check_dim(operation: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::DimMismatch { operation, expected, found }) }
}
