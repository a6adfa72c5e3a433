//! Functions of each element of a matrix: `apply_...` in place, the others from a matrix of the same shape.

use kaldera_base::Real;

use crate::error::Error;
use crate::functions;
use crate::kernels;
use crate::matrix::MatrixBase;
use crate::matrix_ops::check_shape;
use crate::storage::{Storage, StorageMut};

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = max(self, floor)`; how many elements were below. NaN stays.
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor(&mut self, floor: T) -> usize {
        self.rows_mut().map(|row| kernels::floor(row, floor)).sum()
    }

    /// `self = max(src, floor)`; how many elements of `src` were below. NaN stays.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Floor")]
    pub fn floor(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, floor: T) -> Result<usize, Error> {
        self.copy_for("floor", src)?;
        Ok(self.apply_floor(floor))
    }

    /// `self = min(self, ceiling)`; how many elements were above. NaN stays.
    #[doc(alias = "ApplyCeiling")]
    pub fn apply_ceiling(&mut self, ceiling: T) -> usize {
        self.rows_mut().map(|row| kernels::ceiling(row, ceiling)).sum()
    }

    /// `self = min(src, ceiling)`; how many elements of `src` were above. NaN stays.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Ceiling")]
    pub fn ceiling(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, ceiling: T) -> Result<usize, Error> {
        self.copy_for("ceiling", src)?;
        Ok(self.apply_ceiling(ceiling))
    }

    /// `self = self^power`; NaN for a negative element and a fractional power.
    #[doc(alias = "ApplyPow")]
    pub fn apply_pow(&mut self, power: T) {
        self.rows_mut().for_each(|row| functions::pow(row, power));
    }

    /// `self = src^power`; NaN for a negative element and a fractional power.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Pow")]
    pub fn pow(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, power: T) -> Result<(), Error> {
        self.copy_for("pow", src)?;
        self.apply_pow(power);
        Ok(())
    }

    /// `self = |self|^power`, or with `include_sign` `sign(self) |self|^power`.
    ///
    /// For a negative power, 0 becomes infinity (but stays 0 in [a vector](crate::VectorBase::apply_pow_abs), as in Kaldi).
    #[doc(alias = "ApplyPowAbs")]
    pub fn apply_pow_abs(&mut self, power: T, include_sign: bool) {
        self.rows_mut().for_each(|row| functions::pow_abs(row, power, include_sign));
    }

    /// `self = |src|^power`, or with `include_sign` `sign(src) |src|^power`; for 0 see
    /// [`apply_pow_abs`](Self::apply_pow_abs).
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "PowAbs")]
    pub fn pow_abs(
        &mut self,
        src: &MatrixBase<impl Storage<Elem = T>>,
        power: T,
        include_sign: bool,
    ) -> Result<(), Error> {
        self.copy_for("pow_abs", src)?;
        self.apply_pow_abs(power, include_sign);
        Ok(())
    }

    /// `self = ln(self)`; minus infinity for 0.
    ///
    /// # Errors
    /// [`Error::Negative`] for a negative element (Kaldi's matrix, unlike its vector, would give NaN); the matrix is as
    /// before then.
    #[doc(alias = "ApplyLog")]
    pub fn apply_log(&mut self) -> Result<(), Error> {
        if let Some((index, &x)) = self.rows().flatten().enumerate().find(|&(_, &x)| x < T::ZERO) {
            return Err(Error::Negative { operation: "apply_log", index, value: x.to_f64() });
        }
        self.rows_mut().for_each(kernels::apply_log);
        Ok(())
    }

    /// `self = ln(src)`; minus infinity for 0, NaN for a negative element.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Log")]
    pub fn log(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("log", src, kernels::apply_log)
    }

    /// `self = e^self`.
    #[doc(alias = "ApplyExp")]
    pub fn apply_exp(&mut self) {
        self.rows_mut().for_each(kernels::apply_exp);
    }

    /// `self = e^src`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Exp")]
    pub fn exp(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("exp", src, kernels::apply_exp)
    }

    /// `self = e^self` where `self < 0`, else `self + 1`.
    #[doc(alias = "ApplyExpSpecial")]
    pub fn apply_exp_special(&mut self) {
        self.rows_mut().for_each(kernels::exp_special);
    }

    /// `self = e^src` where `src < 0`, else `src + 1`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "ExpSpecial")]
    pub fn exp_special(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("exp_special", src, kernels::exp_special)
    }

    /// `self = e^min(max(self, lower), upper)`; NaN counts as `lower`.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless `lower < upper`.
    #[doc(alias = "ApplyExpLimited")]
    pub fn apply_exp_limited(&mut self, lower: T, upper: T) -> Result<(), Error> {
        check_limits("apply_exp_limited", lower, upper)?;
        self.rows_mut().for_each(|row| kernels::exp_limited(row, lower, upper));
        Ok(())
    }

    /// `self = e^min(max(src, lower), upper)`; NaN counts as `lower`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ, [`Error::OutOfDomain`] unless `lower < upper`.
    #[doc(alias = "ExpLimited")]
    pub fn exp_limited(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, lower: T, upper: T) -> Result<(), Error> {
        check_limits("exp_limited", lower, upper)?;
        self.map_from("exp_limited", src, |row| kernels::exp_limited(row, lower, upper))
    }

    /// `self = 1` where `self > 0`, else 0.
    #[doc(alias = "ApplyHeaviside")]
    pub fn apply_heaviside(&mut self) {
        self.rows_mut().for_each(functions::heaviside);
    }

    /// `self = 1` where `src > 0`, else 0.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Heaviside")]
    pub fn heaviside(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("heaviside", src, functions::heaviside)
    }

    /// `self = tanh(self)`; Kaldi's `m.Tanh(m)`.
    pub fn apply_tanh(&mut self) {
        self.rows_mut().for_each(kernels::apply_tanh);
    }

    /// `self = tanh(src)`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Tanh")]
    pub fn tanh(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("tanh", src, kernels::apply_tanh)
    }

    /// `self = 1 / (1 + e^-self)`; Kaldi's `m.Sigmoid(m)`.
    pub fn apply_sigmoid(&mut self) {
        self.rows_mut().for_each(kernels::apply_sigmoid);
    }

    /// `self = 1 / (1 + e^-src)`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Sigmoid")]
    pub fn sigmoid(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("sigmoid", src, kernels::apply_sigmoid)
    }

    /// `self = ln(1 + e^self)`; Kaldi's `m.SoftHinge(m)`.
    ///
    /// Above 10 the element stays as it is, in both precisions, as in Kaldi; that is 4.5e-5 less than the formula there.
    pub fn apply_soft_hinge(&mut self) {
        self.rows_mut().for_each(functions::soft_hinge);
    }

    /// `self = ln(1 + e^src)`; see [`apply_soft_hinge`](Self::apply_soft_hinge).
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "SoftHinge")]
    pub fn soft_hinge(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("soft_hinge", src, functions::soft_hinge)
    }

    /// `self = f(src)`, row by row.
    fn map_from(
        &mut self,
        operation: &'static str,
        src: &MatrixBase<impl Storage<Elem = T>>,
        f: impl Fn(&mut [T]),
    ) -> Result<(), Error> {
        check_shape(operation, self.shape(), src.shape())?;
        for (to, from) in self.rows_mut().zip(src.rows()) {
            to.copy_from_slice(from);
            f(to);
        }
        Ok(())
    }

    /// `self = src`, on behalf of an operation that then changes it.
    fn copy_for(&mut self, operation: &'static str, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from(operation, src, |_| {})
    }
}

fn check_limits<T: Real>(operation: &'static str, lower: T, upper: T) -> Result<(), Error> {
    if lower < upper {
        return Ok(());
    }
    Err(Error::OutOfDomain { operation, parameter: "upper", value: upper.to_f64(), expected: "more than lower" })
}
