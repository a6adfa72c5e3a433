//! Rows times a matrix: what turns a network's states into scores.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, SubMatrix, SubMatrixMut, Trans};
use lod::{Lod, LodTensor};

use crate::{Error, Named, Parameters};

/// A linear layer, `y = x Wᵀ + b` row by row, as PyTorch's `nn.Linear`: W is `[outputs, inputs]`, b `[outputs]`.
///
/// Rows are all it sees: sequences keep their LoD. Its gradient is another `Linear`.
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::Parameters;
/// use recurrent::train::Linear;
///
/// let mut layer = Linear::zeros(2, 1);
/// layer.named_mut()[0].values.copy_from_slice(&[1.0, 10.0]); // W
/// layer.named_mut()[1].values[0] = 0.5; // b
/// let x = LodTensor::from_vec([3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Lod::from_lengths(&[[2, 1]])?)?;
/// let y = layer.forward(&x)?;
/// assert_eq!((y.sequence(0), y.sequence(1)), (&[21.5, 43.5][..], &[65.5][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Linear<T> {
    weight: Matrix<T>,
    bias: Option<Vec<T>>,
}

impl<T: Real> Linear<T> {
    /// A layer of zeros. (Outputs differ only where weights do: initialise it.)
    pub fn zeros(inputs: usize, outputs: usize) -> Self {
        Self { bias: Some(vec![T::ZERO; outputs]), ..Self::without_bias(inputs, outputs) }
    }

    /// A layer of zeros that has no b.
    pub fn without_bias(inputs: usize, outputs: usize) -> Self {
        Self { weight: Matrix::zeros(outputs, inputs), bias: None }
    }

    /// How many values a row has that goes in.
    pub fn inputs(&self) -> usize {
        self.weight.num_cols()
    }

    /// How many values a row has that comes out.
    pub fn outputs(&self) -> usize {
        self.weight.num_rows()
    }

    /// `[rows, outputs]` of `[rows, inputs]`, with the same LoD.
    ///
    /// # Errors
    /// [`Error::Width`] for rows of another length.
    pub fn forward(&self, x: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let x_rows = matrix(x, "the input of the linear layer", self.inputs())?;
        let outputs = self.outputs();
        let mut y = kaldera_base::memory::zeros(x.rows() * outputs);
        if let Some(bias) = &self.bias {
            y.chunks_exact_mut(outputs.max(1)).for_each(|row| row.copy_from_slice(bias));
        }
        let mut y_rows = SubMatrixMut::new(&mut y, x.rows(), outputs, outputs)?;
        y_rows.add_mat_mat(T::ONE, &x_rows, Trans::No, &self.weight, Trans::Yes, T::ONE)?;
        Ok(LodTensor::from_vec([x.rows(), outputs], y, x.lod().clone())?)
    }

    /// The gradients by x and by the layer, of which `grad` has that of the result of [`forward`](Self::forward).
    ///
    /// By x it is `g W`, by W `gᵀ x`, by b the sum of the rows of g.
    ///
    /// # Errors
    /// [`Error::Width`] for rows of another length; [`Error::Rows`], [`Error::OtherLod`] if `grad` has other rows than x.
    pub fn backward(&self, x: &LodTensor<T>, grad: &LodTensor<T>) -> Result<(LodTensor<T>, Self), Error> {
        let x_rows = matrix(x, "the input of the linear layer", self.inputs())?;
        let g_rows = matrix(grad, "the gradient of the linear layer's output", self.outputs())?;
        check_same_rows("the gradient of the linear layer's output", x, grad)?;
        let mut by_x = kaldera_base::memory::zeros(x.values().len());
        let mut by_x_rows = SubMatrixMut::new(&mut by_x, x.rows(), self.inputs(), self.inputs())?;
        by_x_rows.add_mat_mat(T::ONE, &g_rows, Trans::No, &self.weight, Trans::No, T::ZERO)?;
        let mut weight = Matrix::zeros(self.outputs(), self.inputs());
        weight.add_mat_mat(T::ONE, &g_rows, Trans::Yes, &x_rows, Trans::No, T::ZERO)?;
        let bias = self.bias.as_ref().map(|bias| {
            let mut sums = vec![T::ZERO; bias.len()];
            for row in grad.values().chunks_exact(bias.len().max(1)) {
                sums.iter_mut().zip(row).for_each(|(sum, &g)| *sum += g);
            }
            sums
        });
        Ok((x.like(x.rows(), by_x, x.lod().clone())?, Self { weight, bias }))
    }
}

impl<T: Real> Parameters<T> for Linear<T> {
    /// `weight` and, where there is one, `bias`: PyTorch's names.
    fn parameters(&self) -> Vec<Named<&[T]>> {
        let weight = Named::new("weight", [self.outputs(), self.inputs()], self.weight.data());
        let bias = self.bias.iter().map(|bias| Named::new("bias", [bias.len()], &bias[..]));
        std::iter::once(weight).chain(bias).collect()
    }

    fn parameters_mut(&mut self) -> Vec<Named<&mut [T]>> {
        let weight = Named::new("weight", [self.outputs(), self.inputs()], self.weight.data_mut());
        let bias = self.bias.iter_mut().map(|bias| Named::new("bias", [bias.len()], &mut bias[..]));
        std::iter::once(weight).chain(bias).collect()
    }
}

/// The rows of a tensor, each of `cols` values.
fn matrix<'a, T: Real>(
    tensor: &'a LodTensor<T>,
    what: &'static str,
    cols: usize,
) -> Result<SubMatrix<'a, T>, Error> {
    if tensor.width() != cols {
        return Err(Error::Width { what, expected: cols, found: tensor.width() });
    }
    Ok(SubMatrix::new(tensor.values(), tensor.rows(), cols, cols)?)
}

/// That a tensor has as many rows as `of`, and, if it has a LoD, the same.
pub(super) fn check_same_rows<T: Real>(
    what: &'static str,
    of: &LodTensor<T>,
    tensor: &LodTensor<T>,
) -> Result<(), Error> {
    if tensor.rows() != of.rows() {
        return Err(Error::Rows { what, expected: of.rows(), found: tensor.rows() });
    }
    if !tensor.lod().is_none() && tensor.lod() != of.lod() {
        return Err(Error::OtherLod { what, expected: of.lod().clone(), found: tensor.lod().clone() });
    }
    Ok(())
}
