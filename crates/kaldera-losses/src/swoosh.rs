//! The Swoosh activations of k2's recipes: smooth, with a negative slope far to the left.

use kaldera_base::Real;

use crate::error::Error;

/// Computes `ln(1 + e^(x - 4)) - 0.08 x - 0.035` of each element (Yao et al. 2023, Zipformer).
///
/// ```
/// use kaldera_losses::swoosh_l;
///
/// assert!((swoosh_l(&[4.0_f64])[0] - (2.0_f64.ln() - 0.355)).abs() < 1e-12);
/// ```
pub fn swoosh_l<T: Real>(x: &[T]) -> Vec<T> {
    x.iter().map(|&x| SWOOSH_L.value(x)).collect()
}

/// Returns the derivative of [`swoosh_l`] by each element of `x`, given the derivative by each
/// result.
///
/// # Errors
/// [`Error::Count`] unless `grad` has one value for each element.
pub fn swoosh_l_backward<T: Real>(x: &[T], grad: &[T]) -> Result<Vec<T>, Error> {
    SWOOSH_L.backward(x, grad)
}

/// Computes `ln(1 + e^(x - 1)) - 0.08 x - 0.313261687` of each element, which is 0 at 0.
///
/// ```
/// assert!(kaldera_losses::swoosh_r(&[0.0_f64])[0].abs() < 1e-9);
/// ```
pub fn swoosh_r<T: Real>(x: &[T]) -> Vec<T> {
    x.iter().map(|&x| SWOOSH_R.value(x)).collect()
}

/// Returns the derivative of [`swoosh_r`] by each element of `x`, given the derivative by each
/// result.
///
/// # Errors
/// [`Error::Count`] unless `grad` has one value for each element.
pub fn swoosh_r_backward<T: Real>(x: &[T], grad: &[T]) -> Result<Vec<T>, Error> {
    SWOOSH_R.backward(x, grad)
}

struct Swoosh {
    shift: f64,
    offset: f64,
}

const SWOOSH_L: Swoosh = Swoosh { shift: 4.0, offset: 0.035 };
const SWOOSH_R: Swoosh = Swoosh { shift: 1.0, offset: 0.313_261_687 };
const SLOPE: f64 = 0.08;

impl Swoosh {
    fn value<T: Real>(&self, x: T) -> T {
        let x = x.to_f64();
        let z = x - self.shift;
        T::from_f64(z.max(0.0) + (-z.abs()).exp().ln_1p() - SLOPE * x - self.offset)
    }

    fn backward<T: Real>(&self, x: &[T], grad: &[T]) -> Result<Vec<T>, Error> {
        Error::check("the derivatives by the activations", x.len(), grad.len())?;
        let slope = |x: f64| 1.0 / (1.0 + (self.shift - x).exp()) - SLOPE;
        Ok(x.iter().zip(grad).map(|(&x, &grad)| grad * T::from_f64(slope(x.to_f64()))).collect())
    }
}
