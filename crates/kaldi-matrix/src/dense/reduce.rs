//! Reductions of vectors and matrices to a number or a `bool`.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_shape;
use crate::error::Error;
use crate::kernels::{self, functions};
use crate::matrix::MatrixBase;
use crate::storage::Storage;
use crate::vector::VectorBase;

/// `Σ a[i] b[i]`, the scalar product, in a fixed order of summation.
///
/// Two vectors of the same precision are multiplied in it, others in the wider precision.
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
pub fn vec_vec<A: Storage, B: Storage>(a: &VectorBase<A>, b: &VectorBase<B>) -> Result<A::Elem, Error> {
    check_dim("vec_vec", a.dim(), b.dim())?;
    if let (Some(a), Some(b)) = (A::Elem::as_f32(a.data()), B::Elem::as_f32(b.data())) {
        return Ok(kernels::convert(kernels::dot(a, b)));
    }
    if let (Some(a), Some(b)) = (A::Elem::as_f64(a.data()), B::Elem::as_f64(b.data())) {
        return Ok(kernels::convert(kernels::dot(a, b)));
    }
    Ok(A::Elem::from_f64(functions::dot_f64(a.data(), b.data())))
}

/// `v1' m v2`.
///
/// # Errors
/// [`Error::DimMismatch`] unless `v1` has the length of a column of `m` and `v2` the length of a
/// row.
#[doc(alias = "VecMatVec")]
pub fn vec_mat_vec<T: Real>(
    v1: &VectorBase<impl Storage<Elem = T>>,
    m: &MatrixBase<impl Storage<Elem = T>>,
    v2: &VectorBase<impl Storage<Elem = T>>,
) -> Result<T, Error> {
    check_dim("vec_mat_vec", m.num_rows(), v1.dim())?;
    check_dim("vec_mat_vec", m.num_cols(), v2.dim())?;
    let terms = v1.iter().zip(m.rows()).map(|(x, row)| x.to_f64() * functions::dot_f64(row, v2.data()));
    Ok(T::from_f64(terms.sum()))
}

impl<T: Real, S: Storage<Elem = T>> VectorBase<S> {
    /// `Σ self[i]`, in a fixed order; 0 for an empty vector.
    #[doc(alias = "Sum")]
    pub fn sum(&self) -> T {
        kernels::sum(self.data())
    }

    /// `Σ ln(self[i])`, the logarithm of the product, in double precision; NaN for a negative
    /// element.
    ///
    /// Kaldi takes the logarithm of a running product: there, two negative elements are a positive
    /// factor.
    #[doc(alias = "SumLog")]
    pub fn sum_log(&self) -> T {
        T::from_f64(self.iter().map(|x| x.to_f64().ln()).sum())
    }

    /// `ln Σ e^self[i]`, without overflow; with `prune`, only over terms that are at most this much
    /// below the largest.
    ///
    /// Computed in the elements' precision and summed in double precision. Kaldi rounds each
    /// element to `f32` first, even if they are `f64`, and skips terms that would not change a sum
    /// in the elements' precision. A `prune` of 0 or less means none.
    #[doc(alias = "LogSumExp")]
    pub fn log_sum_exp(&self, prune: Option<T>) -> T {
        functions::log_sum_exp(std::iter::once(self.data()), prune)
    }

    /// `min self[i]`, the smallest element that is not NaN; infinity if there is none.
    #[doc(alias = "Min")]
    pub fn min(&self) -> T {
        kernels::min(self.data())
    }

    /// `max self[i]`, the largest element that is not NaN; minus infinity if there is none.
    #[doc(alias = "Max")]
    pub fn max(&self) -> T {
        kernels::max(self.data())
    }

    /// Returns the index of the smallest element (the first of equal ones), and the element; none
    /// if there are only NaN or no elements.
    #[doc(alias = "Min")]
    pub fn min_index(&self) -> Option<(usize, T)> {
        kernels::min_index(self.data())
    }

    /// Returns the index of the largest element (the first of equal ones), and the element; none if
    /// there are only NaN or no elements.
    ///
    /// ```
    /// # use kaldi_matrix::Vector;
    /// let v = Vector::from(vec![1.0_f32, 5.0, 5.0]);
    /// assert_eq!(v.max_index(), Some((1, 5.0)));
    /// ```
    #[doc(alias = "Max")]
    pub fn max_index(&self) -> Option<(usize, T)> {
        kernels::max_index(self.data())
    }

    /// `(Σ |self[i]|^p)^(1/p)`; for `p` 0 the number of elements that are not 0, for infinity the
    /// largest `|self[i]|`.
    ///
    /// Computed in double precision, without overflow or underflow for large or small elements.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] if `p` is negative or NaN.
    #[doc(alias = "Norm")]
    pub fn norm(&self, p: T) -> Result<T, Error> {
        if p >= T::ZERO {
            return Ok(T::from_f64(functions::norm(std::iter::once(self.data()), p.to_f64())));
        }
        Err(Error::OutOfDomain { operation: "norm", parameter: "p", value: p.to_f64(), expected: "0 or more" })
    }

    /// `true` if `max |self[i]| <= cutoff`. Kaldi's default `cutoff` is 1e-6. NaN is not zero.
    #[doc(alias = "IsZero")]
    pub fn is_zero(&self, cutoff: T) -> bool {
        self.iter().all(|&x| x.abs() <= cutoff)
    }

    /// `true` if `|self - other|₂ <= tolerance |self|₂`. Kaldi's default `tolerance` is 0.01. With
    /// 0: `true` if all elements are equal.
    ///
    /// Not symmetric: the tolerance is relative to `self`. To compare element by element, see the
    /// traits of `approx`.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    #[doc(alias = "ApproxEqual")]
    #[doc(alias = "AssertEqual")]
    pub fn approx_equal(&self, other: &VectorBase<impl Storage<Elem = T>>, tolerance: T) -> Result<bool, Error> {
        check_dim("approx_equal", self.dim(), other.dim())?;
        Ok(functions::near(std::iter::once((self.data(), other.data())), tolerance))
    }
}

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// `Σ self(i, j)`, in double precision and a fixed order.
    #[doc(alias = "Sum")]
    pub fn sum(&self) -> T {
        T::from_f64(self.rows().map(kernels::sum_f64).sum())
    }

    /// `min self(i, j)`, the smallest element that is not NaN; infinity for none.
    #[doc(alias = "Min")]
    pub fn min(&self) -> T {
        functions::min_of(self.rows())
    }

    /// `max self(i, j)`, the largest element that is not NaN; minus infinity for none.
    #[doc(alias = "Max")]
    pub fn max(&self) -> T {
        functions::max_of(self.rows())
    }

    /// `max |self(i, j)|`; 0 for an empty matrix, NaN if any element is.
    #[doc(alias = "LargestAbsElem")]
    pub fn largest_abs_elem(&self) -> T {
        T::from_f64(functions::largest_abs(self.rows()))
    }

    /// `√(Σ self(i, j)²)`, in double precision, without overflow or underflow for large or small
    /// elements.
    #[doc(alias = "FrobeniusNorm")]
    pub fn frobenius_norm(&self) -> T {
        T::from_f64(functions::norm(self.rows(), 2.0))
    }

    /// `ln Σ e^self(i, j)`, without overflow; with `prune`, only over terms that are at most this
    /// much below the largest.
    ///
    /// See [`VectorBase::log_sum_exp`](crate::VectorBase::log_sum_exp).
    #[doc(alias = "LogSumExp")]
    pub fn log_sum_exp(&self, prune: Option<T>) -> T {
        functions::log_sum_exp(self.rows(), prune)
    }

    /// `true` if it is square, and `Σ |a - b| / 2 <= cutoff * Σ |a + b| / 2` over the pairs across
    /// the diagonal (the right side includes the diagonal). Kaldi's default `cutoff` is 1e-5. A
    /// matrix with NaN is not symmetric.
    #[doc(alias = "IsSymmetric")]
    pub fn is_symmetric(&self, cutoff: T) -> bool {
        if self.num_rows() != self.num_cols() {
            return false;
        }
        let (mut bad, mut good) = (0.0, 0.0);
        for (r, row) in self.rows().enumerate() {
            for (c, x) in row[..r].iter().enumerate() {
                let (a, b) = (x.to_f64(), self[(c, r)].to_f64());
                bad += 0.5 * (a - b).abs();
                good += 0.5 * (a + b).abs();
            }
            good += row[r].to_f64().abs();
        }
        bad <= cutoff.to_f64() * good
    }

    /// `true` if `Σ |self(i, j)|` off the diagonal is `<= cutoff *` the sum on the diagonal.
    /// Kaldi's default `cutoff` is 1e-5. The matrix need not be square. A matrix with NaN is not
    /// diagonal.
    #[doc(alias = "IsDiagonal")]
    pub fn is_diagonal(&self, cutoff: T) -> bool {
        let (mut bad, mut good) = (0.0, 0.0);
        for (r, row) in self.rows().enumerate() {
            for (c, x) in row.iter().enumerate() {
                *if r == c { &mut good } else { &mut bad } += x.to_f64().abs();
            }
        }
        bad <= cutoff.to_f64() * good
    }

    /// `true` if `|self(i, j) - (1 if i = j else 0)| <= cutoff` everywhere. Kaldi's default
    /// `cutoff` is 1e-5. The matrix need not be square. A matrix with NaN is not the unit matrix.
    #[doc(alias = "IsUnit")]
    pub fn is_unit(&self, cutoff: T) -> bool {
        let unit = |r, c| if r == c { T::ONE } else { T::ZERO };
        let mut rows = self.rows().enumerate();
        rows.all(|(r, row)| row.iter().enumerate().all(|(c, &x)| (x - unit(r, c)).abs() <= cutoff))
    }

    /// `true` if `max |self(i, j)| <= cutoff`. Kaldi's default `cutoff` is 1e-5. NaN is not zero.
    #[doc(alias = "IsZero")]
    pub fn is_zero(&self, cutoff: T) -> bool {
        self.rows().flatten().all(|&x| x.abs() <= cutoff)
    }

    /// `true` if `‖self - other‖ <= tolerance ‖self‖`, with Frobenius norms. Kaldi's default
    /// `tolerance` is 0.01. With 0: `true` if all elements are equal.
    ///
    /// Not symmetric: the tolerance is relative to `self`. To compare element by element, see the
    /// traits of `approx`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "ApproxEqual")]
    #[doc(alias = "AssertEqual")]
    pub fn approx_equal(&self, other: &MatrixBase<impl Storage<Elem = T>>, tolerance: T) -> Result<bool, Error> {
        check_shape("approx_equal", self.shape(), other.shape())?;
        Ok(functions::near(self.rows().zip(other.rows()), tolerance))
    }

    /// `true` if the shapes and the elements are equal, as `==`.
    #[doc(alias = "Equal")]
    pub fn equal(&self, other: &MatrixBase<impl Storage<Elem = T>>) -> bool {
        self == other
    }
}

/// Returns `true` if two matrices have the same shape.
#[doc(alias = "SameDim")]
pub fn same_dim<A: Storage, B: Storage>(a: &MatrixBase<A>, b: &MatrixBase<B>) -> bool {
    a.shape() == b.shape()
}

/// Fails unless two matrices have the same shape.
///
/// # Errors
/// [`Error::ShapeMismatch`].
#[doc(alias = "AssertSameDim")]
pub fn assert_same_dim<A: Storage, B: Storage>(a: &MatrixBase<A>, b: &MatrixBase<B>) -> Result<(), Error> {
    check_shape("assert_same_dim", a.shape(), b.shape())
}
