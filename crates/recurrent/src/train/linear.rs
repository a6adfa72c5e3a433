//! Linear layers: rows times a matrix, for example scores from a network's states.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, SubMatrix, SubMatrixMut, Trans, Vector};
use lod::LodTensor;

use crate::as_matrix::AsMatrix;
use crate::error::Error;
use crate::parameters;

/// A linear layer, `y = x Wᵀ + b` row by row, like PyTorch's `nn.Linear`: W is `[outputs, inputs]`,
/// b `[outputs]`.
///
/// It works row by row: sequences keep their LoD. Its gradient is another `Linear`.
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::Parameters;
/// use recurrent::train::Linear;
///
/// let mut layer = Linear::zeros(2, 1);
/// layer.named_mut()[0].values.copy_from_slice(&[1.0, 10.0]); // W
/// layer.named_mut()[1].values[0] = 0.5; // b
/// let x = LodTensor::from_vec(
///     [3, 2],
///     vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
///     Lod::from_lengths(&[[2, 1]])?
/// )?;
/// let y = layer.forward(&x)?;
/// assert_eq!((y.sequence(0), y.sequence(1)), (&[21.5, 43.5][..], &[65.5][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Linear<T: Real> {
    weight: Matrix<T>,
    bias: Option<Vector<T>>,
}

impl<T: Real> Linear<T> {
    /// Creates a layer of zeros. Initialise it: with equal weights all outputs are equal.
    pub fn zeros(inputs: usize, outputs: usize) -> Self {
        Self { bias: Some(Vector::zeros(outputs)), ..Self::without_bias(inputs, outputs) }
    }

    /// Creates a layer of zeros without b.
    pub fn without_bias(inputs: usize, outputs: usize) -> Self {
        Self { weight: Matrix::zeros(outputs, inputs), bias: None }
    }

    /// Creates a layer of these weights, W and b.
    ///
    /// # Errors
    /// [`Error::Shape`] unless b has one value for each row of W.
    pub fn new(weight: Matrix<T>, bias: Option<Vector<T>>) -> Result<Self, Error> {
        if let Some(bias) = &bias {
            Error::check_shape("the bias of the linear layer", &[weight.num_rows()], &[bias.dim()])?;
        }
        Ok(Self { weight, bias })
    }

    /// Returns the number of values in an input row.
    pub fn inputs(&self) -> usize {
        self.weight.num_cols()
    }

    /// Returns the number of values in an output row.
    pub fn outputs(&self) -> usize {
        self.weight.num_rows()
    }

    /// Maps `[rows, inputs]` to `[rows, outputs]`, with the same LoD.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another length.
    pub fn forward(&self, x: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let x_rows = matrix("the input of the linear layer", x, self.inputs())?;
        let outputs = self.outputs();
        let mut y = kaldera_base::memory::zeros(x.num_rows() * outputs);
        if let Some(bias) = &self.bias {
            y.chunks_exact_mut(outputs.max(1)).for_each(|row| row.copy_from_slice(bias.data()));
        }
        let mut y_rows = SubMatrixMut::new(&mut y, x.num_rows(), outputs, outputs)?;
        y_rows.add_mat_mat(T::ONE, &x_rows, Trans::No, &self.weight, Trans::Yes, T::ONE)?;
        Ok(LodTensor::from_vec([x.num_rows(), outputs], y, x.lod().clone())?)
    }

    /// Returns the gradients by x and by the layer, given the gradient `grad` by the result of
    /// [`forward`](Self::forward).
    ///
    /// The gradient by x is `g W`, by W `gᵀ x`, by b the sum of the rows of g.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit; [`Error::OtherLod`] if `grad` has a LoD that differs
    /// from the LoD of x.
    pub fn backward(&self, x: &LodTensor<T>, grad: &LodTensor<T>) -> Result<(LodTensor<T>, Self), Error> {
        let x_rows = matrix("the input of the linear layer", x, self.inputs())?;
        let what = "the gradient by the linear layer's output";
        check_gradient(what, grad, x, self.outputs())?;
        let g_rows = matrix(what, grad, self.outputs())?;
        let mut by_x = kaldera_base::memory::zeros(x.values().len());
        let mut by_x_rows = SubMatrixMut::new(&mut by_x, x.num_rows(), self.inputs(), self.inputs())?;
        by_x_rows.add_mat_mat(T::ONE, &g_rows, Trans::No, &self.weight, Trans::No, T::ZERO)?;
        let mut weight = Matrix::zeros(self.outputs(), self.inputs());
        weight.add_mat_mat(T::ONE, &g_rows, Trans::Yes, &x_rows, Trans::No, T::ZERO)?;
        let bias = self.bias.as_ref().map(|bias| {
            let mut sums = vec![T::ZERO; bias.dim()];
            for row in grad.values().chunks_exact(bias.dim().max(1)) {
                sums.iter_mut().zip(row).for_each(|(sum, &g)| *sum += g);
            }
            Vector::from(sums)
        });
        Ok((x.like(x.num_rows(), by_x, x.lod().clone())?, Self { weight, bias }))
    }
}

parameters! {
    impl<T: Real> Parameters<T> for Linear<T> { weight, bias }
}

/// Returns the rows of a tensor, each of `cols` values.
fn matrix<'a, T: Real>(what: &'static str, tensor: &'a LodTensor<T>, cols: usize) -> Result<SubMatrix<'a, T>, Error> {
    check_rows(what, tensor, tensor.num_rows(), cols)?;
    tensor.as_matrix()
}

/// Checks that a tensor has `rows` rows of `cols` values.
fn check_rows<T: Real>(what: &'static str, tensor: &LodTensor<T>, rows: usize, cols: usize) -> Result<(), Error> {
    Error::check_shape(what, &[rows, cols], &[tensor.num_rows(), tensor.width()])
}

/// Checks that a gradient has `cols` columns, the rows of `of`, and no LoD or the same LoD.
pub(super) fn check_gradient<T: Real>(
    what: &'static str,
    gradient: &LodTensor<T>,
    of: &LodTensor<T>,
    cols: usize,
) -> Result<(), Error> {
    check_rows(what, gradient, of.num_rows(), cols)?;
    if !gradient.lod().is_none() && gradient.lod() != of.lod() {
        let (expected, found) = (of.lod().clone(), gradient.lod().clone());
        return Err(Error::OtherLod { tensor: what, expected, found });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lod::Lod;
    use proptest::prelude::*;

    use super::*;
    use crate::parameters::Parameters;
    use crate::train::init::uniform;

    fn numbers(rows: usize, cols: usize, shift: usize) -> LodTensor<f64> {
        let values: Vec<f64> = (0..rows * cols).map(|i| ((i + shift) * 7 % 11) as f64 / 8.0 - 0.5).collect();
        LodTensor::from_vec([rows, cols], values, Lod::from_lengths(&[[rows]]).unwrap()).unwrap()
    }

    proptest! {
        /// All functions here are linear in each of their inputs: the difference of two values is
        /// the slope itself.
        #[test]
        fn gradients_are_slopes((rows, inputs, outputs) in (0_usize..4, 0_usize..4, 0_usize..4), bias: bool) {
            let mut layer = if bias { Linear::zeros(inputs, outputs) } else { Linear::without_bias(inputs, outputs) };
            uniform(&mut layer, 1.0, 3);
            let (x, g) = (numbers(rows, inputs, 0), numbers(rows, outputs, 5));
            let value = |layer: &Linear<f64>, x: &LodTensor<f64>| -> f64 {
                layer.forward(x).unwrap().values().iter().zip(g.values()).map(|(y, g)| y * g).sum()
            };
            let (by_x, by_layer) = layer.backward(&x, &g).unwrap();
            prop_assert!(by_x.lod().ptr_eq(x.lod()));
            for i in 0..x.values().len() {
                let mut more = x.clone();
                more.values_mut()[i] += 1.0;
                let slope = value(&layer, &more) - value(&layer, &x);
                prop_assert!((slope - by_x.values()[i]).abs() < 1e-9);
            }
            for (i, tensor) in by_layer.named().iter().enumerate() {
                for (j, grad) in tensor.values.iter().enumerate() {
                    let mut more = layer.clone();
                    more.named_mut()[i].values[j] += 1.0;
                    let slope = value(&more, &x) - value(&layer, &x);
                    prop_assert!((slope - grad).abs() < 1e-9, "{}", tensor.name);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let layer = Linear::zeros(3, 2);
        assert!(matches!(layer.forward(&numbers(2, 2, 0)), Err(Error::Shape { .. })));
        assert!(matches!(layer.backward(&numbers(2, 3, 0), &numbers(3, 2, 0)), Err(Error::Shape { .. })));
        assert!(matches!(layer.backward(&numbers(2, 3, 0), &numbers(2, 3, 0)), Err(Error::Shape { .. })));
        let other = numbers(2, 2, 0).with_lod(Lod::from_lengths(&[[1, 1]]).unwrap()).unwrap();
        assert!(matches!(layer.backward(&numbers(2, 3, 0), &other), Err(Error::OtherLod { .. })));
        // A gradient may lack a LoD, for example if its source knows only rows.
        assert!(layer.backward(&numbers(2, 3, 0), &other.with_lod(Lod::none()).unwrap()).is_ok());
    }
}
