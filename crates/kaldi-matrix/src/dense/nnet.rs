//! Functions of neural networks on the rows of a matrix, and their derivatives.
//!
//! In the derivatives, `diff` is the derivative of the objective with respect to the output, and
//! `self` becomes the one with respect to the input. The functions themselves (sigmoid, tanh, soft
//! hinge ...) are with the other functions of each element.
//!
//! Groups: a row of `n * size` elements is `n` groups of `size` neighbours. Each group gives one
//! element of the output.

use kaldera_base::Real;

use crate::check::check_shape;
use crate::check::group_size;
use crate::error::{Error, Shape};
use crate::kernels;
use crate::kernels::functions;
use crate::matrix::MatrixBase;
use crate::storage::{Storage, StorageMut};

/// Lower bound of a group's maximum, as in Kaldi.
const LEAST_MAX: f64 = -1e20;

impl<T: Real, S: StorageMut<Elem = T>> MatrixBase<S> {
    /// `self = e^self / Σ e^self` over the whole matrix. Returns `ln Σ e^self` of the old elements.
    #[doc(alias = "ApplySoftMax")]
    pub fn apply_soft_max(&mut self) -> T {
        let mut rows: Vec<_> = self.rows_mut().collect();
        functions::soft_max(&mut rows)
    }

    /// Each row `= e^row / Σ e^row`.
    ///
    /// ```
    /// # use kaldi_matrix::Matrix;
    /// let mut m = Matrix::from_vec(2, 2, vec![0.0_f32, 0.0, 0.0, -200.0])?;
    /// m.apply_soft_max_per_row();
    /// assert_eq!(m.data(), [0.5, 0.5, 1.0, 0.0]);
    /// # Ok::<(), kaldi_matrix::Error>(())
    /// ```
    #[doc(alias = "ApplySoftMaxPerRow")]
    pub fn apply_soft_max_per_row(&mut self) {
        for row in self.rows_mut() {
            kernels::softmax_row(row);
        }
    }

    /// Each row `= row - ln Σ e^row`.
    pub fn apply_log_soft_max_per_row(&mut self) {
        for row in self.rows_mut() {
            kernels::log_softmax_row(row);
        }
    }

    /// `self = diff * value * (1 - value)`, element by element: the derivative of a sigmoid with
    /// the output `value`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "DiffSigmoid")]
    pub fn diff_sigmoid(
        &mut self,
        value: &MatrixBase<impl Storage<Elem = T>>,
        diff: &MatrixBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        self.set_from("diff_sigmoid", value, diff, |value, diff| diff * value * (T::ONE - value))
    }

    /// `self = diff * (1 - value²)`, element by element: the derivative of a tanh with the output
    /// `value`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "DiffTanh")]
    pub fn diff_tanh(
        &mut self,
        value: &MatrixBase<impl Storage<Elem = T>>,
        diff: &MatrixBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        self.set_from("diff_tanh", value, diff, |value, diff| diff * (T::ONE - value * value))
    }

    fn set_from(
        &mut self,
        operation: &'static str,
        a: &MatrixBase<impl Storage<Elem = T>>,
        b: &MatrixBase<impl Storage<Elem = T>>,
        f: impl Fn(T, T) -> T,
    ) -> Result<(), Error> {
        check_shape(operation, self.shape(), a.shape())?;
        check_shape(operation, self.shape(), b.shape())?;
        for (y, (a, b)) in self.rows_mut().zip(a.rows().zip(b.rows())) {
            kernels::zip_map2(y, a, b, |_, a, b| f(a, b));
        }
        Ok(())
    }

    /// `self(r, g) = (Σ |src(r, c)|^power)^(1 / power)` over the columns c of group g.
    ///
    /// `power` is as in [`VectorBase::norm`](crate::VectorBase::norm): 0 counts, infinity gives the
    /// largest value.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] if `power` is negative or NaN; [`Error::Groups`] unless the number of
    /// columns of `src` is a multiple of this matrix's, [`Error::ShapeMismatch`] if the numbers of
    /// rows differ.
    #[doc(alias = "GroupPnorm")]
    pub fn group_pnorm(&mut self, src: &MatrixBase<impl Storage<Elem = T>>, power: T) -> Result<(), Error> {
        check_power("group_pnorm", power)?;
        let power = power.to_f64();
        self.set_from_groups("group_pnorm", src, |group| T::from_f64(functions::norm([group].into_iter(), power)))
    }

    /// `self(r, c) = ∂ output(r, g) / ∂ input(r, c)`, where `output` is the
    /// [`group_pnorm`](Self::group_pnorm) of `input` and c a column of group g.
    ///
    /// It is `sign(x) (|x| / output)^(power - 1)`, and 0 if `output` or x is 0, for any power. For
    /// infinity it is `sign(x)` for each of the largest elements, and 0 for the others.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] if `power` is not positive; [`Error::ShapeMismatch`] and
    /// [`Error::Groups`] if the shapes do not fit.
    #[doc(alias = "GroupPnormDeriv")]
    pub fn group_pnorm_deriv(
        &mut self,
        input: &MatrixBase<impl Storage<Elem = T>>,
        output: &MatrixBase<impl Storage<Elem = T>>,
        power: T,
    ) -> Result<(), Error> {
        check_power("group_pnorm_deriv", power)?;
        if power == T::ZERO {
            return Err(Error::OutOfDomain {
                operation: "group_pnorm_deriv",
                parameter: "power",
                value: 0.0,
                expected: "more than 0",
            });
        }
        let exponent = power.to_f64() - 1.0;
        self.set_from_group_pairs("group_pnorm_deriv", input, output, |x, norm| {
            let size = if norm == T::ZERO || x == T::ZERO {
                0.0
            } else if power == T::INFINITY {
                f64::from(x.abs() == norm)
            } else if power == T::ONE {
                1.0
            } else {
                (x.abs().to_f64() / norm.to_f64()).powf(exponent)
            };
            T::from_f64(size * sign(x))
        })
    }

    /// `self(r, g) = max src(r, c)` over the columns c of group g, but at least -1e20, as in Kaldi.
    ///
    /// # Errors
    /// [`Error::Groups`] unless the number of columns of `src` is a multiple of this matrix's,
    /// [`Error::ShapeMismatch`] if the numbers of rows differ.
    #[doc(alias = "GroupMax")]
    pub fn group_max(&mut self, src: &MatrixBase<impl Storage<Elem = T>>) -> Result<(), Error> {
        let least = T::from_f64(LEAST_MAX);
        self.set_from_groups("group_max", src, |group| group.iter().fold(least, |a, &b| if b > a { b } else { a }))
    }

    /// `self(r, c) = 1` if `input(r, c) = output(r, g)`, else 0, where `output` is the
    /// [`group_max`](Self::group_max) of `input` and c a column of group g. If several elements are
    /// the largest, each has 1.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] and [`Error::Groups`] if the shapes do not fit.
    #[doc(alias = "GroupMaxDeriv")]
    pub fn group_max_deriv(
        &mut self,
        input: &MatrixBase<impl Storage<Elem = T>>,
        output: &MatrixBase<impl Storage<Elem = T>>,
    ) -> Result<(), Error> {
        let equal = |x, max| if x == max { T::ONE } else { T::ZERO };
        self.set_from_group_pairs("group_max_deriv", input, output, equal)
    }

    /// `self(r, g) = f(group g of row r of src)`.
    fn set_from_groups(
        &mut self,
        operation: &'static str,
        src: &MatrixBase<impl Storage<Elem = T>>,
        f: impl Fn(&[T]) -> T,
    ) -> Result<(), Error> {
        check_shape(operation, Shape { rows: self.num_rows(), cols: src.num_cols() }, src.shape())?;
        let size = group_size(operation, src.shape(), self.shape())?;
        for (y, x) in self.rows_mut().zip(src.rows()) {
            for (y, group) in y.iter_mut().zip(x.chunks_exact(size)) {
                *y = f(group);
            }
        }
        Ok(())
    }

    /// `self(r, c) = f(input(r, c), output(r, g))` for the columns c of each group g.
    fn set_from_group_pairs(
        &mut self,
        operation: &'static str,
        input: &MatrixBase<impl Storage<Elem = T>>,
        output: &MatrixBase<impl Storage<Elem = T>>,
        f: impl Fn(T, T) -> T,
    ) -> Result<(), Error> {
        check_shape(operation, self.shape(), input.shape())?;
        let size = group_size(operation, input.shape(), output.shape())?;
        for (y, (x, of_group)) in self.rows_mut().zip(input.rows().zip(output.rows())) {
            let groups = y.chunks_exact_mut(size).zip(x.chunks_exact(size)).zip(of_group);
            for ((y, x), &of_group) in groups {
                kernels::zip_map(y, x, |_, x| f(x, of_group));
            }
        }
        Ok(())
    }
}

/// Returns -1, 0 or 1; NaN for NaN.
fn sign<T: Real>(x: T) -> f64 {
    if x > T::ZERO {
        1.0
    } else if x < T::ZERO {
        -1.0
    } else {
        x.abs().to_f64()
    }
}

fn check_power<T: Real>(operation: &'static str, power: T) -> Result<(), Error> {
    if power >= T::ZERO {
        return Ok(());
    }
    Err(Error::OutOfDomain { operation, parameter: "power", value: power.to_f64(), expected: "0 or more" })
}
