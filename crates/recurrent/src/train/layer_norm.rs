//! Layer normalisation: rows of mean 0 and variance 1.

use kaldera_base::Real;
use kaldera_base::math::mean_and_scale;
use kaldi_matrix::Vector;
use lod::LodTensor;

use crate::error::Error;
use crate::parameters;
use crate::train::linear::check_gradient;

/// PyTorch's `eps`.
const EPSILON: f64 = 1e-5;

/// Layer normalisation, like PyTorch's `nn.LayerNorm` over the last axis (J. Ba, J. Kiros, G.
/// Hinton, *Layer normalization*, arXiv:1607.06450):
///
/// ```text
/// y = weight (x - mean) / √(variance + 1e-5) + bias
///     of each row; the variance divides by its length
/// ```
///
/// It works row by row: sequences keep their LoD. Its gradient is another `LayerNorm`. Means and
/// variances are computed in double precision.
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::train::LayerNorm;
///
/// let x = LodTensor::from_vec([2, 2], vec![1.0, 3.0, -500.0, 500.0], Lod::none())?;
/// let y = LayerNorm::new(2).forward(&x)?;
/// assert!(
///     y.values()
///         .iter()
///         .zip([-1.0, 1.0, -1.0, 1.0])
///         .all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-5)
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LayerNorm<T: Real> {
    weight: Vector<T>,
    bias: Vector<T>,
}

impl<T: Real> LayerNorm<T> {
    /// Creates a layer for rows of `width` values, with weights of 1 and biases of 0.
    pub fn new(width: usize) -> Self {
        Self { weight: Vector::from(vec![T::ONE; width]), bias: Vector::zeros(width) }
    }

    /// Creates a layer of these weights and biases.
    ///
    /// # Errors
    /// [`Error::Shape`] if their lengths differ.
    pub fn from_weights(weight: Vector<T>, bias: Vector<T>) -> Result<Self, Error> {
        Error::check_shape("the bias of the layer normalisation", &[weight.dim()], &[bias.dim()])?;
        Ok(Self { weight, bias })
    }

    /// Returns the number of values in a row.
    pub fn width(&self) -> usize {
        self.weight.dim()
    }

    /// Returns the normalised rows, with the same LoD.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another length.
    pub fn forward(&self, x: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let width = self.check_input(x)?;
        let mut y = x.values().to_vec();
        for row in y.chunks_exact_mut(width.max(1)) {
            let (mean, scale) = moments(row);
            for ((y, &weight), &bias) in row.iter_mut().zip(self.weight.data()).zip(self.bias.data()) {
                *y = weight * ((*y - mean) * scale) + bias;
            }
        }
        Ok(x.like(x.num_rows(), y, x.lod().clone())?)
    }

    /// Returns the gradients by x and by the layer, given the gradient `grad` by the result of
    /// [`forward`](Self::forward).
    ///
    /// With z for the normalised row and h for `weight grad`, the gradient by x is
    /// `(h - mean(h) - z mean(h z)) / √(variance + 1e-5)`. The gradient by weight is the sum of
    /// `grad z` over the rows, the gradient by bias the sum of grad.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit; [`Error::OtherLod`] if `grad` has a LoD that differs
    /// from the LoD of x.
    pub fn backward(&self, x: &LodTensor<T>, grad: &LodTensor<T>) -> Result<(LodTensor<T>, Self), Error> {
        let width = self.check_input(x)?;
        check_gradient("the gradient by the layer normalisation's output", grad, x, width)?;
        let mut by_x = x.values().to_vec();
        let mut by_layer = Self { weight: Vector::zeros(width), bias: Vector::zeros(width) };
        let count = T::from_f64(1.0 / width.max(1) as f64);
        for (row, grad) in by_x.chunks_exact_mut(width.max(1)).zip(grad.values().chunks_exact(width.max(1))) {
            let (mean, scale) = moments(row);
            let (mut sum, mut sum_z) = (T::ZERO, T::ZERO);
            let by_weight = by_layer.weight.data_mut().iter_mut().zip(by_layer.bias.data_mut());
            for (((x, &g), &weight), (by_weight, by_bias)) in
                row.iter_mut().zip(grad).zip(self.weight.data()).zip(by_weight)
            {
                *x = (*x - mean) * scale;
                *by_weight += g * *x;
                *by_bias += g;
                sum += weight * g;
                sum_z += weight * g * *x;
            }
            let (mean_h, mean_hz) = (count * sum, count * sum_z);
            for ((x, &g), &weight) in row.iter_mut().zip(grad).zip(self.weight.data()) {
                *x = scale * (weight * g - mean_h - *x * mean_hz);
            }
        }
        Ok((x.like(x.num_rows(), by_x, x.lod().clone())?, by_layer))
    }

    fn check_input(&self, x: &LodTensor<T>) -> Result<usize, Error> {
        let width = self.width();
        Error::check_shape("the input of the layer normalisation", &[x.num_rows(), width], &[x.num_rows(), x.width()])?;
        Ok(width)
    }
}

parameters! {
    impl<T: Real> Parameters<T> for LayerNorm<T> { weight, bias }
}

/// Returns the mean of a row, and 1 / √(variance + ε).
fn moments<T: Real>(row: &[T]) -> (T, T) {
    let (mean, scale) = mean_and_scale(row.iter().map(|x| x.to_f64()), EPSILON);
    (T::from_f64(mean), T::from_f64(scale))
}

#[cfg(test)]
mod tests {
    use lod::Lod;

    use super::*;
    use crate::parameters::Parameters;
    use crate::train::init::uniform;

    const WIDTH: usize = 5;
    /// Step of the finite difference, whose error is of the order of its square.
    const STEP: f64 = 1e-5;
    const TOLERANCE: f64 = 2e-9;

    fn rows(seed: u64) -> LodTensor<f64> {
        let mut values = vec![0.0; 4 * WIDTH];
        crate::Named::new("x", [4, WIDTH], &mut values[..]).fill_uniform(2.0, seed);
        LodTensor::from_vec([4, WIDTH], values, Lod::from_lengths(&[[3, 0, 1]]).unwrap()).unwrap()
    }

    fn layer() -> LayerNorm<f64> {
        let mut layer = LayerNorm::new(WIDTH);
        uniform(&mut layer, 1.0, 3);
        layer
    }

    fn loss(layer: &LayerNorm<f64>, x: &LodTensor<f64>, weights: &LodTensor<f64>) -> f64 {
        layer.forward(x).unwrap().values().iter().zip(weights.values()).map(|(y, w)| y * w).sum()
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let (layer, x, grad) = (layer(), rows(1), rows(2));
        let (by_x, by_layer) = layer.backward(&x, &grad).unwrap();
        assert_eq!(by_x.lod(), x.lod());
        for i in 0..x.values().len() {
            let at = |step: f64| {
                let mut moved = x.clone();
                moved.values_mut()[i] += step;
                loss(&layer, &moved, &grad)
            };
            let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            assert!((difference - by_x.values()[i]).abs() < TOLERANCE * difference.abs().max(1.0), "x {i}");
        }
        for (tensor, gradient) in by_layer.named().iter().enumerate() {
            for (i, gradient) in gradient.values.iter().enumerate() {
                let at = |step: f64| {
                    let mut moved = layer.clone();
                    moved.named_mut()[tensor].values[i] += step;
                    loss(&moved, &x, &grad)
                };
                let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
                assert!((difference - gradient).abs() < TOLERANCE * difference.abs().max(1.0), "{tensor} {i}");
            }
        }
    }

    #[test]
    fn rows_have_mean_zero_and_variance_one() {
        let y = LayerNorm::new(WIDTH).forward(&rows(1)).unwrap();
        for row in y.rows() {
            let mean = row.iter().sum::<f64>() / WIDTH as f64;
            let variance = row.iter().map(|y| y * y).sum::<f64>() / WIDTH as f64;
            assert!(mean.abs() < 1e-12 && (variance - 1.0).abs() < 1e-4, "{mean} {variance}");
        }
        // A row without variance is its biases.
        let x = LodTensor::from_vec([1, WIDTH], vec![7.0; WIDTH], Lod::none()).unwrap();
        assert_eq!(layer().forward(&x).unwrap().values(), layer().bias.data());
    }

    #[test]
    fn no_rows_and_no_columns_are_fine_and_other_widths_are_refused() {
        let none = LodTensor::<f64>::from_vec([0, WIDTH], vec![], Lod::from_lengths(&[[0]]).unwrap()).unwrap();
        let (by_x, by_layer) = layer().backward(&none, &none).unwrap();
        assert_eq!((by_x.num_rows(), by_layer.bias.data()), (0, &[0.0; WIDTH][..]));
        let narrow = LodTensor::<f64>::from_vec([3, 0], vec![], Lod::none()).unwrap();
        assert_eq!(LayerNorm::new(0).forward(&narrow).unwrap().num_rows(), 3);
        assert!(matches!(LayerNorm::new(4).forward(&rows(1)), Err(Error::Shape { .. })));
        assert!(matches!(layer().backward(&rows(1), &narrow), Err(Error::Shape { .. })));
        assert!(LayerNorm::from_weights(Vector::<f32>::zeros(2), Vector::zeros(3)).is_err());
    }
}
