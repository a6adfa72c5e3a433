//! Matrices reduced to a number or a yes or no.

use kaldera_base::Real;

use crate::error::Error;
use crate::functions;
use crate::kernels;
use crate::matrix::MatrixBase;
use crate::matrix_ops::check_shape;
use crate::storage::Storage;

impl<T: Real, S: Storage<Elem = T>> MatrixBase<S> {
    /// `Σ self(i, j)`, in double precision and a fixed order.
    #[doc(alias = "Sum")]
    pub fn sum(&self) -> T {
        T::from_f64(self.rows().map(kernels::sum_f64).sum())
    }

    /// `min self(i, j)`, the smallest element that is not NaN; infinity for none.
    #[doc(alias = "Min")]
    pub fn min(&self) -> T {
        self.rows().map(kernels::min).fold(T::INFINITY, |a, b| if b < a { b } else { a })
    }

    /// `max self(i, j)`, the largest element that is not NaN; minus infinity for none.
    #[doc(alias = "Max")]
    pub fn max(&self) -> T {
        self.rows().map(kernels::max).fold(-T::INFINITY, |a, b| if b > a { b } else { a })
    }

    /// `max |self(i, j)|`; 0 for none, NaN if any element is.
    #[doc(alias = "LargestAbsElem")]
    pub fn largest_abs_elem(&self) -> T {
        T::from_f64(functions::largest_abs(self.rows()))
    }

    /// `√(Σ self(i, j)²)`, in double precision; neither large nor small elements leave the range on the way.
    #[doc(alias = "FrobeniusNorm")]
    pub fn frobenius_norm(&self) -> T {
        T::from_f64(functions::norm(self.rows(), 2.0))
    }

    /// `ln Σ e^self(i, j)`, without overflow; with `prune`, of the terms that are not more than this below the largest.
    ///
    /// See [`VectorBase::log_sum_exp`](crate::VectorBase::log_sum_exp).
    #[doc(alias = "LogSumExp")]
    pub fn log_sum_exp(&self, prune: Option<T>) -> T {
        functions::log_sum_exp(self.rows(), prune)
    }

    /// Is it square, and `Σ |a - b| / 2 <= cutoff * Σ |a + b| / 2` over the pairs across the diagonal (where the right
    /// side counts the diagonal too)? Kaldi's default `cutoff` is 1e-5. A matrix with NaN is not symmetric.
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

    /// `Σ |self(i, j)|` beside the diagonal `<= cutoff *` that on the diagonal? Kaldi's default `cutoff` is 1e-5. The matrix
    /// need not be square. A matrix with NaN is not diagonal.
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

    /// `|self(i, j) - (1 if i = j else 0)| <= cutoff` everywhere? Kaldi's default `cutoff` is 1e-5. The matrix need not be
    /// square. A matrix with NaN is not the unit matrix.
    #[doc(alias = "IsUnit")]
    pub fn is_unit(&self, cutoff: T) -> bool {
        let unit = |r, c| if r == c { T::ONE } else { T::ZERO };
        let mut rows = self.rows().enumerate();
        rows.all(|(r, row)| row.iter().enumerate().all(|(c, &x)| (x - unit(r, c)).abs() <= cutoff))
    }

    /// `max |self(i, j)| <= cutoff`? Kaldi's default `cutoff` is 1e-5. NaN is not zero.
    #[doc(alias = "IsZero")]
    pub fn is_zero(&self, cutoff: T) -> bool {
        self.rows().flatten().all(|&x| x.abs() <= cutoff)
    }

    /// `‖self - other‖ <= tolerance ‖self‖`, of Frobenius norms? Kaldi's default `tolerance` is 0.01. With 0: are all
    /// elements equal?
    ///
    /// Not symmetric: the tolerance is relative to `self`. For element by element see the traits of `approx`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes differ.
    #[doc(alias = "ApproxEqual")]
    #[doc(alias = "AssertEqual")]
    pub fn approx_equal(&self, other: &MatrixBase<impl Storage<Elem = T>>, tolerance: T) -> Result<bool, Error> {
        check_shape("approx_equal", self.shape(), other.shape())?;
        Ok(functions::near(self.rows().zip(other.rows()), tolerance))
    }

    /// The same shape and the same elements? As `==`.
    #[doc(alias = "Equal")]
    pub fn equal(&self, other: &MatrixBase<impl Storage<Elem = T>>) -> bool {
        self == other
    }
}

/// Do two matrices have the same shape?
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
