//! Determinants as logarithms.

use kaldera_base::Real;

/// A determinant that may be outside the range of its type: `sign * exp(log)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogDet<T> {
    /// The natural logarithm of the absolute value; minus infinity for a singular matrix, 0 for one
    /// without elements.
    pub log: T,
    /// 1 or -1; 0 for a singular matrix.
    pub sign: T,
}

impl LogDet<f64> {
    /// The determinant of a singular matrix.
    pub(crate) const SINGULAR: Self = Self { log: f64::NEG_INFINITY, sign: 0.0 };

    /// Returns the product of these factors.
    pub(crate) fn of_product(factors: impl Iterator<Item = f64>) -> Self {
        let mut det = Self { log: 0.0, sign: 1.0 };
        for factor in factors {
            if factor == 0.0 {
                return Self::SINGULAR;
            }
            det.log += factor.abs().ln();
            det.sign *= factor.signum();
        }
        det
    }

    pub(crate) fn converted<T: Real>(self) -> LogDet<T> {
        LogDet { log: T::from_f64(self.log), sign: T::from_f64(self.sign) }
    }
}
