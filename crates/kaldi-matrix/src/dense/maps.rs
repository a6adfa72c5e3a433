//! Functions of each element of a vector or matrix: `apply_...` in place, the others from an
//! operand of the same shape.

use kaldera_base::{Real, math};

use crate::check::check_dim;
use crate::check::check_shape;
use crate::error::Error;
use crate::kernels::{self, functions};
use crate::matrix::MatrixBase;
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self = max(self, floor)`. Returns the number of elements below. NaN stays.
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor(&mut self, floor: T) -> usize {
        kernels::floor(self.data_mut(), floor)
    }

    /// `self[i] = max(self[i], floors[i])`. Returns the number of elements below. NaN stays.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor_vec(&mut self, floors: &VectorBase<impl Storage<Elem = T>>) -> Result<usize, Error> {
        check_dim("apply_floor_vec", self.dim(), floors.dim())?;
        let mut count = 0;
        for (x, &floor) in self.iter_mut().zip(floors.iter()) {
            if *x < floor {
                *x = floor;
                count += 1;
            }
        }
        Ok(count)
    }

    /// `self = max(v, floor)`. Returns the number of elements of `v` below. NaN stays.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "Floor")]
    pub fn floor(&mut self, v: &VectorBase<impl Storage<Elem = T>>, floor: T) -> Result<usize, Error> {
        self.copy_for("floor", v)?;
        Ok(self.apply_floor(floor))
    }

    /// `self = min(self, ceiling)`. Returns the number of elements above. NaN stays.
    #[doc(alias = "ApplyCeiling")]
    pub fn apply_ceiling(&mut self, ceiling: T) -> usize {
        kernels::ceiling(self.data_mut(), ceiling)
    }

    /// `self = min(v, ceiling)`. Returns the number of elements of `v` above. NaN stays.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "Ceiling")]
    pub fn ceiling(&mut self, v: &VectorBase<impl Storage<Elem = T>>, ceiling: T) -> Result<usize, Error> {
        self.copy_for("ceiling", v)?;
        Ok(self.apply_ceiling(ceiling))
    }

    /// `self = |self|`.
    #[doc(alias = "ApplyAbs")]
    pub fn apply_abs(&mut self) {
        kernels::map(self.data_mut(), T::abs);
    }

    /// `self = 1 / self`; infinity for 0.
    #[doc(alias = "InvertElements")]
    pub fn invert_elements(&mut self) {
        kernels::map(self.data_mut(), |x| T::ONE / x);
    }

    /// `self = self^power`; NaN for a negative element and a fractional power.
    #[doc(alias = "ApplyPow")]
    pub fn apply_pow(&mut self, power: T) {
        functions::pow(self.data_mut(), power);
    }

    /// `self = v^power`; NaN for a negative element and a fractional power.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "Pow")]
    pub fn pow(&mut self, v: &VectorBase<impl Storage<Elem = T>>, power: T) -> Result<(), Error> {
        self.copy_for("pow", v)?;
        self.apply_pow(power);
        Ok(())
    }

    /// `self = |self|^power`, or with `include_sign` `sign(self) |self|^power`.
    ///
    /// For a negative power, 0 stays 0 (but becomes infinity in [a
    /// matrix](crate::MatrixBase::apply_pow_abs), as in Kaldi). Overflow gives infinity. Kaldi
    /// ignores `include_sign` if the power is negative; here the sign is kept.
    ///
    /// ```
    /// # use kaldi_matrix::Vector;
    /// let mut v = Vector::from(vec![-4.0_f32, 0.0, 4.0]);
    /// v.apply_pow_abs(-0.5, true);
    /// assert_eq!(v.data(), [-0.5, 0.0, 0.5]);
    /// ```
    #[doc(alias = "ApplyPowAbs")]
    pub fn apply_pow_abs(&mut self, power: T, include_sign: bool) {
        if power < T::ZERO {
            // Runs of zeros are skipped, so that they do not change.
            for run in self.data_mut().split_mut(|&x| x == T::ZERO) {
                functions::pow_abs(run, power, include_sign);
            }
        } else {
            functions::pow_abs(self.data_mut(), power, include_sign);
        }
    }

    /// `self = ln(self)`; minus infinity for 0.
    ///
    /// # Errors
    /// [`Error::Negative`] for a negative element; the vector is then unchanged.
    #[doc(alias = "ApplyLog")]
    pub fn apply_log(&mut self) -> Result<(), Error> {
        if kernels::min(self.data()) < T::ZERO {
            let negative = self.iter().enumerate().find(|&(_, &x)| x < T::ZERO);
            let (index, &value) = negative.expect("the smallest is one");
            return Err(Error::Negative { operation: "apply_log", index, value: value.to_f64() });
        }
        math::ln_in_place(self.data_mut());
        Ok(())
    }

    /// `self = ln(v)`; minus infinity for 0, NaN for a negative element.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "ApplyLogAndCopy")]
    pub fn apply_log_and_copy(&mut self, v: &VectorBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.copy_for("apply_log_and_copy", v)?;
        math::ln_in_place(self.data_mut());
        Ok(())
    }

    /// `self = e^self`.
    #[doc(alias = "ApplyExp")]
    pub fn apply_exp(&mut self) {
        math::exp_in_place(self.data_mut());
    }

    /// `self = tanh(v)`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "Tanh")]
    pub fn tanh(&mut self, v: &VectorBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.copy_for("tanh", v)?;
        self.apply_tanh();
        Ok(())
    }

    /// `self = tanh(self)`; Kaldi's `v.Tanh(v)`.
    pub fn apply_tanh(&mut self) {
        math::tanh_in_place(self.data_mut());
    }

    /// `self = 1 / (1 + e^-v)`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "Sigmoid")]
    pub fn sigmoid(&mut self, v: &VectorBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.copy_for("sigmoid", v)?;
        self.apply_sigmoid();
        Ok(())
    }

    /// `self = 1 / (1 + e^-self)`; Kaldi's `v.Sigmoid(v)`.
    pub fn apply_sigmoid(&mut self) {
        math::sigmoid_in_place(self.data_mut());
    }

    /// `self = e^self / Σ e^self`. Returns `ln Σ e^self` of the old elements.
    ///
    /// ```
    /// # use kaldi_matrix::Vector;
    /// let mut v = Vector::from(vec![1000.0_f64, 1000.0]);
    /// let log_sum = v.apply_soft_max();
    /// assert_eq!(v.data(), [0.5, 0.5]);
    /// assert!((log_sum - 1000.0 - 2.0_f64.ln()).abs() < 1e-12);
    /// ```
    #[doc(alias = "ApplySoftMax")]
    pub fn apply_soft_max(&mut self) -> T {
        kernels::softmax_row(self.data_mut())
    }

    /// `self = self - ln Σ e^self`. Returns `ln Σ e^self` of the old elements.
    #[doc(alias = "ApplyLogSoftMax")]
    pub fn apply_log_soft_max(&mut self) -> T {
        kernels::log_softmax_row(self.data_mut())
    }

    /// Replaces elements that equal `orig` with `changed`.
    #[doc(alias = "ReplaceValue")]
    pub fn replace_value(&mut self, orig: T, changed: T) {
        self.iter_mut().filter(|x| **x == orig).for_each(|x| *x = changed);
    }

    /// `self = v`, for an operation that then changes it.
    fn copy_for(&mut self, operation: &'static str, v: &VectorBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        check_dim(operation, self.dim(), v.dim())?;
        self.data_mut().copy_from_slice(v.data());
        Ok(())
    }
}

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = max(self, floor)`. Returns the number of elements below. NaN stays.
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor(&mut self, floor: T) -> usize {
        self.rows_mut().map(|row| kernels::floor(row, floor)).sum()
    }

    /// `self = max(src, floor)`. Returns the number of elements of `src` below. NaN stays.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Floor")]
    pub fn floor(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, floor: T) -> Result<usize, Error> {
        self.copy_for("floor", src)?;
        Ok(self.apply_floor(floor))
    }

    /// `self = min(self, ceiling)`. Returns the number of elements above. NaN stays.
    #[doc(alias = "ApplyCeiling")]
    pub fn apply_ceiling(&mut self, ceiling: T) -> usize {
        self.rows_mut().map(|row| kernels::ceiling(row, ceiling)).sum()
    }

    /// `self = min(src, ceiling)`. Returns the number of elements of `src` above. NaN stays.
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
    /// For a negative power, 0 becomes infinity (but stays 0 in [a
    /// vector](crate::VectorBase::apply_pow_abs), as in Kaldi).
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
    /// [`Error::Negative`] for a negative element (Kaldi's matrix, in contrast to its vector, gives
    /// NaN); the matrix is then unchanged.
    #[doc(alias = "ApplyLog")]
    pub fn apply_log(&mut self) -> Result<(), Error> {
        if let Some((index, &x)) = self.rows().flatten().enumerate().find(|&(_, &x)| x < T::ZERO) {
            return Err(Error::Negative { operation: "apply_log", index, value: x.to_f64() });
        }
        self.rows_mut().for_each(math::ln_in_place);
        Ok(())
    }

    /// `self = ln(src)`; minus infinity for 0, NaN for a negative element.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Log")]
    pub fn log(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("log", src, math::ln_in_place)
    }

    /// `self = e^self`.
    #[doc(alias = "ApplyExp")]
    pub fn apply_exp(&mut self) {
        self.rows_mut().for_each(math::exp_in_place);
    }

    /// `self = e^src`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Exp")]
    pub fn exp(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("exp", src, math::exp_in_place)
    }

    /// `self = e^self` if `self < 0`, else `self + 1`.
    #[doc(alias = "ApplyExpSpecial")]
    pub fn apply_exp_special(&mut self) {
        self.rows_mut().for_each(kernels::exp_special);
    }

    /// `self = e^src` if `src < 0`, else `src + 1`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "ExpSpecial")]
    pub fn exp_special(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("exp_special", src, kernels::exp_special)
    }

    /// `self = e^min(max(self, lower), upper)`; NaN is treated as `lower`.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless `lower < upper`.
    #[doc(alias = "ApplyExpLimited")]
    pub fn apply_exp_limited(&mut self, lower: T, upper: T) -> Result<(), Error> {
        check_limits("apply_exp_limited", lower, upper)?;
        self.rows_mut().for_each(|row| kernels::exp_limited(row, lower, upper));
        Ok(())
    }

    /// `self = e^min(max(src, lower), upper)`; NaN is treated as `lower`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ, [`Error::OutOfDomain`] unless `lower <
    /// upper`.
    #[doc(alias = "ExpLimited")]
    pub fn exp_limited(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, lower: T, upper: T) -> Result<(), Error> {
        check_limits("exp_limited", lower, upper)?;
        self.map_from("exp_limited", src, |row| kernels::exp_limited(row, lower, upper))
    }

    /// `self = 1` if `self > 0`, else 0.
    #[doc(alias = "ApplyHeaviside")]
    pub fn apply_heaviside(&mut self) {
        self.rows_mut().for_each(functions::heaviside);
    }

    /// `self = 1` if `src > 0`, else 0.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Heaviside")]
    pub fn heaviside(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("heaviside", src, functions::heaviside)
    }

    /// `self = tanh(self)`; Kaldi's `m.Tanh(m)`.
    pub fn apply_tanh(&mut self) {
        self.rows_mut().for_each(math::tanh_in_place);
    }

    /// `self = tanh(src)`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Tanh")]
    pub fn tanh(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("tanh", src, math::tanh_in_place)
    }

    /// `self = 1 / (1 + e^-self)`; Kaldi's `m.Sigmoid(m)`.
    pub fn apply_sigmoid(&mut self) {
        self.rows_mut().for_each(math::sigmoid_in_place);
    }

    /// `self = 1 / (1 + e^-src)`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "Sigmoid")]
    pub fn sigmoid(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.map_from("sigmoid", src, math::sigmoid_in_place)
    }

    /// `self = ln(1 + e^self)`; Kaldi's `m.SoftHinge(m)`.
    ///
    /// Above 10 the element does not change, in both precisions, as in Kaldi; at 10 that is 4.5e-5
    /// less than the formula.
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

    /// `self = src`, for an operation that then changes it.
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
