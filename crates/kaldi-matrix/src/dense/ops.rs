//! Arithmetic of vectors and matrices, element by element.

use kaldera_base::Real;

use crate::check::{check_dim, check_shape};
use crate::error::{Error, Shape};
use crate::kernels;
use crate::matrix::{MatrixBase, SubMatrix, Trans};
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self = 0`.
    #[doc(alias = "SetZero")]
    pub fn set_zero(&mut self) {
        self.set(T::ZERO);
    }

    /// `self = value`, in each element.
    #[doc(alias = "Set")]
    pub fn set(&mut self, value: T) {
        self.data_mut().fill(value);
    }

    /// `self += c`, in each element.
    #[doc(alias = "Add")]
    pub fn add(&mut self, c: T) {
        kernels::map(self.data_mut(), move |x| x + c);
    }

    /// `self *= alpha`, in each element.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: T) {
        kernels::map(self.data_mut(), move |x| x * alpha);
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

    /// `self += alpha * v * v`, element by element, with `v` in either precision and the arithmetic
    /// in the wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "AddVec2")]
    pub fn add_vec2(&mut self, alpha: T, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("add_vec2", self.dim(), v.dim())?;
        let wide = alpha.to_f64();
        kernels::update(self.data_mut(), v.data(), move |y, x| y + alpha * x * x, move |y, x| y + wide * x * x);
        Ok(())
    }

    /// `self = alpha * v * r + beta * self`, element by element. With `beta` 0 the old values are
    /// ignored, even NaN.
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
        kernels::zip_map2(self.data_mut(), v.data(), r.data(), move |y, v, r| y + alpha * v * r);
        Ok(())
    }

    /// `self = alpha * v / r + beta * self`, element by element. With `beta` 0 the old values are
    /// ignored, even NaN.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "AddVecDivVec")]
    pub fn add_vec_div_vec(
        &mut self,
        alpha: T,
        v: &VectorBase<impl Storage<Elem = T>>,
        r: &VectorBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        check_dim("add_vec_div_vec", self.dim(), v.dim())?;
        check_dim("add_vec_div_vec", self.dim(), r.dim())?;
        kernels::scale(self.data_mut(), beta);
        kernels::zip_map2(self.data_mut(), v.data(), r.data(), move |y, v, r| y + alpha * v / r);
        Ok(())
    }

    /// `self *= v`, element by element, with `v` in either precision and the arithmetic in the
    /// wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "MulElements")]
    pub fn mul_elements(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("mul_elements", self.dim(), v.dim())?;
        kernels::multiply(self.data_mut(), v.data());
        Ok(())
    }

    /// `self /= v`, element by element, with `v` in either precision and the arithmetic in the
    /// wider one.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "DivElements")]
    pub fn div_elements(&mut self, v: &VectorBase<impl Storage>) -> Result<(), Error> {
        check_dim("div_elements", self.dim(), v.dim())?;
        kernels::update(self.data_mut(), v.data(), |y, x| y / x, |y, x| y / x);
        Ok(())
    }
}

impl Shape {
    /// Returns the shape of the operand after `trans`.
    pub(crate) fn seen(self, trans: Trans) -> Self {
        match trans {
            Trans::No => self,
            Trans::Yes => Self { rows: self.cols, cols: self.rows },
        }
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = 0`.
    #[doc(alias = "SetZero")]
    pub fn set_zero(&mut self) {
        self.set(T::ZERO);
    }

    /// `self = value`, in each element.
    #[doc(alias = "Set")]
    pub fn set(&mut self, value: T) {
        self.rows_mut().for_each(|row| row.fill(value));
    }

    /// `self(i, j) = 1` if i = j, else 0; the matrix need not be square.
    #[doc(alias = "SetUnit")]
    pub fn set_unit(&mut self) {
        self.set_zero();
        self.add_to_diag(T::ONE);
    }

    /// `self += c`, in each element.
    #[doc(alias = "Add")]
    pub fn add(&mut self, c: T) {
        self.map(move |x| x + c);
    }

    /// `self(i, i) += c`, up to the length of the shorter side.
    #[doc(alias = "AddToDiag")]
    pub fn add_to_diag(&mut self, c: T) {
        for (i, row) in self.rows_mut().enumerate() {
            if let Some(x) = row.get_mut(i) {
                *x += c;
            }
        }
    }

    /// `self *= alpha`, in each element.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: T) {
        self.map(move |x| x * alpha);
    }

    /// `self = 1 / self`, element by element; infinity for 0.
    #[doc(alias = "InvertElements")]
    pub fn invert_elements(&mut self) {
        self.map(|x| T::ONE / x);
    }

    fn map(&mut self, f: impl Fn(T) -> T + Copy) {
        self.rows_mut().for_each(|row| kernels::map(row, f));
    }

    /// `self += alpha * op(a)`.
    ///
    /// ```
    /// # use kaldi_matrix::{Matrix, Trans};
    /// let row = Matrix::from_vec(1, 2, vec![1.0_f32, 2.0])?;
    /// let mut column = Matrix::from_vec(2, 1, vec![10.0, 10.0])?;
    /// column.add_mat(-1.0, &row, Trans::Yes)?;
    /// assert_eq!(column.data(), [9.0, 8.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
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
        self.update("mul_elements", a, |y, x| y * x)
    }

    /// `self /= a`, element by element.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "DivElements")]
    pub fn div_elements(&mut self, a: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.update("div_elements", a, |y, x| y / x)
    }

    /// `self = max(self, a)`, element by element; NaN in either gives NaN.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Max")]
    pub fn max_elements(&mut self, a: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.update("max_elements", a, |y, x| if x > y || x.is_nan() { x } else { y })
    }

    /// `self = min(self, a)`, element by element; NaN in either gives NaN.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Min")]
    pub fn min_elements(&mut self, a: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.update("min_elements", a, |y, x| if x < y || x.is_nan() { x } else { y })
    }

    /// `self = alpha * a * b + beta * self`, element by element. With `beta` 0 the old values are
    /// ignored, even NaN.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "AddMatMatElements")]
    pub fn add_mat_mat_elements(
        &mut self,
        alpha: T,
        a: &MatrixBase<impl Storage<Elem = T>>,
        b: &MatrixBase<impl Storage<Elem = T>>,
        beta: T,
    ) -> Result<(), Error> {
        check_shape("add_mat_mat_elements", self.shape(), a.shape())?;
        check_shape("add_mat_mat_elements", self.shape(), b.shape())?;
        for (y, (a, b)) in self.rows_mut().zip(a.rows().zip(b.rows())) {
            kernels::scale(y, beta);
            kernels::zip_map2(y, a, b, move |y, a, b| y + alpha * a * b);
        }
        Ok(())
    }

    /// `self = a * (b / c)`, element by element; `a` if `c` is 0.
    ///
    /// For derivatives of a norm: with `c = ‖b‖`, a norm of zero gives `a`. Kaldi rounds to `f32`
    /// even if the elements are `f64`; here they keep their precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "SetMatMatDivMat")]
    pub fn set_mat_mat_div_mat(
        &mut self,
        a: &MatrixBase<impl Storage<Elem = T>>,
        b: &MatrixBase<impl Storage<Elem = T>>,
        c: &MatrixBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        for shape in [a.shape(), b.shape(), c.shape()] {
            check_shape("set_mat_mat_div_mat", self.shape(), shape)?;
        }
        for ((y, a), (b, c)) in self.rows_mut().zip(a.rows()).zip(b.rows().zip(c.rows())) {
            for ((y, &a), (&b, &c)) in y.iter_mut().zip(a).zip(b.iter().zip(c)) {
                *y = if c == T::ZERO { a } else { a * (b / c) };
            }
        }
        Ok(())
    }

    /// `self = f(self, a)`, element by element.
    fn update(
        &mut self,
        operation: &'static str,
        a: &MatrixBase<impl Storage<Elem = T>>,
        f: impl Fn(T, T) -> T,
    ) -> Result<(), Error> {
        check_shape(operation, self.shape(), a.shape())?;
        for (y, x) in self.rows_mut().zip(a.rows()) {
            kernels::zip_map(y, x, &f);
        }
        Ok(())
    }
}

/// Side of the square tiles of a transposition: both sides stay in the cache.
const TILE: usize = 16;

/// `y(r, c) = f(y(r, c), x(c, r))`, tile by tile.
pub(crate) fn update_transposed<T: Real, U: Real>(
    y: &mut MatrixBase<impl StorageMut<Elem = T>>,
    x: SubMatrix<'_, U>,
    f: impl Fn(T, U) -> T,
) {
    let Shape { rows, cols } = y.shape();
    for r0 in (0..rows).step_by(TILE) {
        for c0 in (0..cols).step_by(TILE) {
            let (height, width) = (TILE.min(rows - r0), TILE.min(cols - c0));
            // Reads and writes are row by row.
            let mut tile = [[U::ZERO; TILE]; TILE];
            for (i, line) in tile[..width].iter_mut().enumerate() {
                let from = &x.row_data(c0 + i)[r0..r0 + height];
                match from.first_chunk::<TILE>() {
                    Some(from) => *line = *from,
                    None => line[..height].copy_from_slice(from),
                }
            }
            for j in 0..height {
                let row = &mut y.row_data_mut(r0 + j)[c0..c0 + width];
                row.iter_mut().zip(&tile).for_each(|(y, line)| *y = f(*y, line[j]));
            }
        }
    }
}
