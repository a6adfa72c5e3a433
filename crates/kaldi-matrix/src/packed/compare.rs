//! Approximate equality by the traits of `approx`, as for vectors and matrices.

use approx::{AbsDiffEq, RelativeEq};
use kaldera_base::Real;

use crate::packed::PackedMatrix;
use crate::vector::SubVector;

/// Compares the sizes, and each pair of stored elements with the tolerance `epsilon`.
impl<T: Real, K: PartialEq> AbsDiffEq for PackedMatrix<T, K> {
    type Epsilon = T;

    fn default_epsilon() -> T {
        T::EPSILON
    }

    fn abs_diff_eq(&self, other: &Self, epsilon: T) -> bool {
        SubVector::from(self.data()).abs_diff_eq(&SubVector::from(other.data()), epsilon)
    }
}

/// Compares the sizes, and each pair of stored elements with the tolerance `epsilon` or
/// `max_relative` times the larger one.
impl<T: Real, K: PartialEq> RelativeEq for PackedMatrix<T, K> {
    fn default_max_relative() -> T {
        T::EPSILON
    }

    fn relative_eq(&self, other: &Self, epsilon: T, max_relative: T) -> bool {
        SubVector::from(self.data()).relative_eq(&SubVector::from(other.data()), epsilon, max_relative)
    }
}

#[cfg(test)]
mod tests {
    use approx::{abs_diff_eq, relative_eq};

    use crate::SpMatrix;

    #[test]
    fn approximate_equality_uses_the_tolerance() {
        let a = SpMatrix::from_vec(2, vec![1.0_f32, 2.0, 3.0]).unwrap();
        let mut b = a.clone();
        b.scale(1.001);
        assert!(relative_eq!(a, b, max_relative = 0.0011) && !relative_eq!(a, b, max_relative = 0.0009));
        assert!(abs_diff_eq!(a, b, epsilon = 0.0031) && !abs_diff_eq!(a, b, epsilon = 0.0029));
        assert!(!relative_eq!(a, SpMatrix::zeros(1), epsilon = 9.0));
    }
}
