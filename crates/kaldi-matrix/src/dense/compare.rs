//! Equality: exact, and approximate by the traits of `approx`.
//!
//! ```
//! use approx::assert_relative_eq;
//! use kaldi_matrix::Vector;
//! let v = Vector::from(vec![1.0_f32, 2.0]);
//! let w = Vector::from(vec![1.0_f32, 2.000_001]);
//! assert_ne!(v, w);
//! assert_relative_eq!(v, w, max_relative = 1e-6);
//! ```

use approx::{AbsDiffEq, RelativeEq};
use kaldera_base::Real;

use crate::matrix::MatrixBase;
use crate::storage::Storage;
use crate::vector::VectorBase;

/// Compares the lengths and the elements, for any storage.
impl<A: Storage, B: Storage<Elem = A::Elem>> PartialEq<VectorBase<B>> for VectorBase<A> {
    fn eq(&self, other: &VectorBase<B>) -> bool {
        self.data() == other.data()
    }
}

/// Compares the shapes and the elements, for any storage and any strides.
impl<A: Storage, B: Storage<Elem = A::Elem>> PartialEq<MatrixBase<B>> for MatrixBase<A> {
    fn eq(&self, other: &MatrixBase<B>) -> bool {
        self.shape() == other.shape() && self.rows().eq(other.rows())
    }
}

/// Compares the lengths, and each pair of elements with the tolerance `epsilon`.
impl<A: Storage, B: Storage<Elem = A::Elem>> AbsDiffEq<VectorBase<B>> for VectorBase<A> {
    type Epsilon = A::Elem;

    fn default_epsilon() -> A::Elem {
        A::Elem::EPSILON
    }

    fn abs_diff_eq(&self, other: &VectorBase<B>, epsilon: A::Elem) -> bool {
        all_near(self.data(), other.data(), epsilon, A::Elem::ZERO)
    }
}

/// Compares the lengths, and each pair of elements with the tolerance `epsilon` or `max_relative`
/// times the larger one.
impl<A: Storage, B: Storage<Elem = A::Elem>> RelativeEq<VectorBase<B>> for VectorBase<A> {
    fn default_max_relative() -> A::Elem {
        A::Elem::EPSILON
    }

    fn relative_eq(&self, other: &VectorBase<B>, epsilon: A::Elem, max_relative: A::Elem) -> bool {
        all_near(self.data(), other.data(), epsilon, max_relative)
    }
}

/// Compares the shapes, and each pair of elements with the tolerance `epsilon`.
impl<A: Storage, B: Storage<Elem = A::Elem>> AbsDiffEq<MatrixBase<B>> for MatrixBase<A> {
    type Epsilon = A::Elem;

    fn default_epsilon() -> A::Elem {
        A::Elem::EPSILON
    }

    fn abs_diff_eq(&self, other: &MatrixBase<B>, epsilon: A::Elem) -> bool {
        self.relative_eq(other, epsilon, A::Elem::ZERO)
    }
}

/// Compares the shapes, and each pair of elements with the tolerance `epsilon` or `max_relative`
/// times the larger one.
impl<A: Storage, B: Storage<Elem = A::Elem>> RelativeEq<MatrixBase<B>> for MatrixBase<A> {
    fn default_max_relative() -> A::Elem {
        A::Elem::EPSILON
    }

    fn relative_eq(&self, other: &MatrixBase<B>, epsilon: A::Elem, max_relative: A::Elem) -> bool {
        self.shape() == other.shape()
            && self.rows().zip(other.rows()).all(|(a, b)| all_near(a, b, epsilon, max_relative))
    }
}

fn all_near<T: Real>(a: &[T], b: &[T], epsilon: T, max_relative: T) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| near(a, b, epsilon, max_relative))
}

/// Returns `true` if two numbers are near. Infinity is near only to itself, NaN to nothing.
fn near<T: Real>(a: T, b: T, epsilon: T, max_relative: T) -> bool {
    if a == b {
        return true;
    }
    let larger = if a.abs() > b.abs() { a.abs() } else { b.abs() };
    let difference = (a - b).abs();
    difference.is_finite() && (difference <= epsilon || difference <= larger * max_relative)
}

#[cfg(test)]
mod tests {
    use approx::{abs_diff_eq, relative_eq};

    use crate::{Matrix, SubMatrix, Vector};

    #[test]
    fn equality_ignores_ownership_and_strides() {
        let m = Matrix::from_fn(2, 2, |r, c| (r + c) as f32);
        let wide = [0.0, 1.0, 7.0, 1.0, 2.0];
        let part = SubMatrix::new(&wide, 2, 2, 3).unwrap();
        assert_eq!(m, part);
        assert!(relative_eq!(part, m));
        assert_ne!(m, part.row_range(0, 1).unwrap());
        assert!(!abs_diff_eq!(m, Matrix::zeros(2, 2), epsilon = 1.0));
        assert!(abs_diff_eq!(m, Matrix::zeros(2, 2), epsilon = 2.0));
    }

    #[test]
    fn infinity_and_nan() {
        let v = |x: f32| Vector::from(vec![x]);
        assert!(relative_eq!(v(f32::INFINITY), v(f32::INFINITY)));
        assert!(!relative_eq!(v(f32::INFINITY), v(1.0), max_relative = 1.0));
        assert!(!relative_eq!(v(f32::NAN), v(f32::NAN), epsilon = f32::INFINITY));
    }
}
