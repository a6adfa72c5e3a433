//! Arithmetic of vectors, element by element.

use kaldera_base::Real;

use crate::error::Error;
use crate::kernels;
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

    /// `self += alpha * v * v`, element by element, with `v` in either precision and the arithmetic in the wider one.
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
        kernels::zip_map2(self.data_mut(), v.data(), r.data(), move |y, v, r| y + alpha * v * r);
        Ok(())
    }

    /// `self = alpha * v / r + beta * self`, element by element; with `beta` 0 the old values do not count, not even NaN.
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

    /// `self /= v`, element by element, with `v` in either precision and the arithmetic in the wider one.
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

/// An error unless `found` is `expected`.
#[inline]
pub(crate) fn check_dim(operation: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::DimMismatch { operation, expected, found }) }
}
