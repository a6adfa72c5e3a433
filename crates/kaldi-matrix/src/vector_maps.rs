//! Functions of each element of a vector.

use kaldera_base::Real;

use crate::error::Error;
use crate::functions;
use crate::kernels;
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;
use crate::vector_ops::check_dim;

impl<T: Real, S: StorageMut<Elem = T>> VectorBase<S> {
    /// `self = max(self, floor)`; how many elements were below. NaN stays.
    #[doc(alias = "ApplyFloor")]
    pub fn apply_floor(&mut self, floor: T) -> usize {
        kernels::floor(self.data_mut(), floor)
    }

    /// `self[i] = max(self[i], floors[i])`; how many elements were below. NaN stays.
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

    /// `self = max(v, floor)`; how many elements of `v` were below. NaN stays.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "Floor")]
    pub fn floor(&mut self, v: &VectorBase<impl Storage<Elem = T>>, floor: T) -> Result<usize, Error> {
        self.copy_for("floor", v)?;
        Ok(self.apply_floor(floor))
    }

    /// `self = min(self, ceiling)`; how many elements were above. NaN stays.
    #[doc(alias = "ApplyCeiling")]
    pub fn apply_ceiling(&mut self, ceiling: T) -> usize {
        kernels::ceiling(self.data_mut(), ceiling)
    }

    /// `self = min(v, ceiling)`; how many elements of `v` were above. NaN stays.
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
    /// For a negative power, 0 stays 0 here (but becomes infinity in
    /// [a matrix](crate::MatrixBase::apply_pow_abs), as in Kaldi). What overflows becomes infinity. Kaldi forgets
    /// `include_sign` if the power is negative; here the sign is kept.
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
            // Runs of zeros are left out, so that they stay.
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
    /// [`Error::Negative`] for a negative element; the vector is as before then.
    #[doc(alias = "ApplyLog")]
    pub fn apply_log(&mut self) -> Result<(), Error> {
        if kernels::min(self.data()) < T::ZERO {
            let negative = self.iter().enumerate().find(|&(_, &x)| x < T::ZERO);
            let (index, &value) = negative.expect("the smallest is one");
            return Err(Error::Negative { operation: "apply_log", index, value: value.to_f64() });
        }
        kernels::apply_log(self.data_mut());
        Ok(())
    }

    /// `self = ln(v)`; minus infinity for 0, NaN for a negative element.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "ApplyLogAndCopy")]
    pub fn apply_log_and_copy(&mut self, v: &VectorBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        self.copy_for("apply_log_and_copy", v)?;
        kernels::apply_log(self.data_mut());
        Ok(())
    }

    /// `self = e^self`.
    #[doc(alias = "ApplyExp")]
    pub fn apply_exp(&mut self) {
        kernels::apply_exp(self.data_mut());
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
        kernels::apply_tanh(self.data_mut());
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
        kernels::apply_sigmoid(self.data_mut());
    }

    /// `self = e^self / Σ e^self`; what it returns is `ln Σ e^self`, of the old elements.
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

    /// `self = self - ln Σ e^self`; what it returns is `ln Σ e^self`, of the old elements.
    #[doc(alias = "ApplyLogSoftMax")]
    pub fn apply_log_soft_max(&mut self) -> T {
        kernels::log_softmax_row(self.data_mut())
    }

    /// Elements that equal `orig` become `changed`.
    #[doc(alias = "ReplaceValue")]
    pub fn replace_value(&mut self, orig: T, changed: T) {
        self.iter_mut().filter(|x| **x == orig).for_each(|x| *x = changed);
    }

    /// `self = v`, on behalf of an operation that then changes it.
    fn copy_for(&mut self, operation: &'static str, v: &VectorBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        check_dim(operation, self.dim(), v.dim())?;
        self.data_mut().copy_from_slice(v.data());
        Ok(())
    }
}
