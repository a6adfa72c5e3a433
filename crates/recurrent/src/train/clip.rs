//! Gradient clipping.

use kaldera_base::Real;

use crate::error::Error;
use crate::parameters::Parameters;

/// Scales all gradients to the length `max_norm` if they are longer together, in the Euclidean
/// norm. Returns their length before.
///
/// This keeps recurrent networks from leaping off a cliff of their loss (R. Pascanu, T. Mikolov, Y.
/// Bengio, *On the difficulty of training recurrent neural networks*, ICML 2013). Like PyTorch, it
/// scales by `max_norm / (norm + 1e-6)`.
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
/// [`Error::TensorNotFinite`] for an infinite or NaN gradient; [`Error::Range`] for a `max_norm`
/// that is negative or NaN. In both cases nothing has changed.
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

/// Returns the square root of the sum of all squares, in double precision.
fn norm<T: Real>(gradients: &(impl Parameters<T> + ?Sized)) -> f64 {
    let square = |values: &[T]| values.iter().map(|g| g.to_f64() * g.to_f64()).sum::<f64>();
    gradients.named().iter().map(|tensor| square(tensor.values)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::ParameterStore;

    fn gradients(values: [f32; 3]) -> ParameterStore<f32> {
        let mut store = ParameterStore::new();
        store.insert("a", &[2], values[..2].to_vec()).unwrap();
        store.insert("b", &[1], values[2..].to_vec()).unwrap();
        store
    }

    #[test]
    fn clip_shortens_only_long_gradients() {
        let mut long = gradients([3.0, 4.0, 12.0]);
        assert_eq!(clip_grad_norm(&mut long, 2.0).unwrap(), 13.0);
        // Values of PyTorch 2.5.1.
        let values: Vec<f32> = long.named().iter().flat_map(|tensor| tensor.values).copied().collect();
        let expected = [0.46153842603550577_f64, 0.615384568047341, 1.846153704142023];
        assert!(values.iter().zip(expected).all(|(&a, b)| (f64::from(a) - b).abs() < 1e-6), "{values:?}");
        let mut short = gradients([3.0, 4.0, 12.0]);
        assert_eq!(clip_grad_norm(&mut short, 13.5).unwrap(), 13.0);
        assert_eq!(short, gradients([3.0, 4.0, 12.0]));
        let mut none = ParameterStore::<f32>::new();
        assert_eq!(clip_grad_norm(&mut none, 1.0).unwrap(), 0.0);
    }

    #[test]
    fn clip_refuses_non_finite_gradients() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut gradients = gradients([1.0, 2.0, bad]);
            let Err(Error::TensorNotFinite { tensor, position: 0, .. }) = clip_grad_norm(&mut gradients, 1.0) else {
                panic!("it was taken");
            };
            assert_eq!(tensor, "b");
            assert_eq!(gradients.named()[0].values, [1.0, 2.0]);
        }
        for bad in [f64::NAN, -1.0] {
            assert!(matches!(clip_grad_norm(&mut gradients([1.0; 3]), bad), Err(Error::Range { .. })));
        }
    }
}
