//! Gradients that are too long are made shorter.

use kaldera_base::Real;

use crate::{Error, Parameters};

/// Scales all gradients, if they are together longer than `max_norm` (in the Euclidean norm), to just that length. Returns how
/// long they were.
///
/// What keeps recurrent networks from leaping off a cliff of their loss (R. Pascanu, T. Mikolov, Y. Bengio, *On the difficulty of training
/// recurrent neural networks*, ICML 2013). As PyTorch, it scales by `max_norm / (norm + 1e-6)`.
///
/// ```
/// use recurrent::Parameters;
/// use recurrent::train::{Linear, clip_grad_norm};
///
/// let mut gradient = Linear::<f64>::zeros(1, 1);
/// gradient.named_mut()[0].values[0] = 3.0; // the weight
/// gradient.named_mut()[1].values[0] = -4.0; // the bias
/// assert_eq!(clip_grad_norm(&mut gradient, 1.0)?, 5.0);
/// assert!((gradient.named()[0].values[0] - 0.6).abs() < 1e-6);
/// assert!((gradient.named()[1].values[0] + 0.8).abs() < 1e-6);
/// # Ok::<(), recurrent::Error>(())
/// ```
///
/// # Errors
/// [`Error::TensorNotFinite`] for an infinite or NaN gradient: no scale would make it good; nothing has changed then. [`Error::Range`] for a
/// `max_norm` that is negative or NaN.
#[doc(alias = "clip_grad_norm_")]
pub fn clip_grad_norm<T: Real>(gradients: &mut (impl Parameters<T> + ?Sized), max_norm: f64) -> Result<f64, Error> {
    if max_norm.is_nan() || max_norm < 0.0 {
        return Err(Error::Range { what: "max_norm", low: 0.0, high: f64::INFINITY, found: max_norm });
    }
    gradients.check_finite()?;
    let norm = norm(gradients);
    let scale = max_norm / (norm + 1e-6);
    if scale < 1.0 {
        let scale = T::from_f64(scale);
        for tensor in gradients.named_mut() {
            tensor.values.iter_mut().for_each(|g| *g = scale * *g);
        }
    }
    Ok(norm)
}

/// The square root of the sum of all squares, in double precision.
fn norm<T: Real>(gradients: &(impl Parameters<T> + ?Sized)) -> f64 {
    let square = |values: &[T]| values.iter().map(|g| g.to_f64() * g.to_f64()).sum::<f64>();
    gradients.named().iter().map(|tensor| square(tensor.values)).sum::<f64>().sqrt()
}
