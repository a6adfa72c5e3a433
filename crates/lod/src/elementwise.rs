//! What needs no sequences: element by element, and rows times a matrix. Works on LoD tensors and on packed steps alike, without
//! padding and without unpacking.

use std::borrow::Cow;

use kaldera_base::Real;
use kaldera_base::gemm::{Operand, gemm};
use tensor_strided::{Element, Shape, Tensor};

use crate::error::Error;
use crate::segment::Segments;
use crate::tensor::LodTensor;

impl<T: Element> LodTensor<T> {
    /// What `f` makes of each value, with the same LoD.
    pub fn map<U: Element>(&self, f: impl FnMut(&T) -> U) -> LodTensor<U> {
        let mapped = self.like(self.rows(), self.values().iter().map(f).collect::<Vec<_>>(), self.lod().clone());
        mapped.unwrap_or_else(|error| unreachable!("as many values as before: {error}"))
    }

    /// What `f` makes of each two values at the same place.
    ///
    /// Both must have the same shape and the same LoD; that it is the same memory is not needed, but quicker to see.
    ///
    /// # Errors
    /// [`Error::Tensor`] for different shapes; [`Error::OtherLod`] for different levels.
    pub fn zip_map<U: Element, V: Element>(
        &self,
        other: &LodTensor<U>,
        mut f: impl FnMut(&T, &U) -> V,
    ) -> Result<LodTensor<V>, Error> {
        if self.shape() != other.shape() {
            let (expected, found) = (self.shape().to_vec(), other.shape().to_vec());
            return Err(tensor_strided::Error::ShapeMismatch { what: "the other tensor", expected, found }.into());
        }
        if self.lod() != other.lod() {
            return Err(Error::OtherLod { expected: self.lod().clone(), found: other.lod().clone() });
        }
        let values: Vec<V> = self.values().iter().zip(other.values()).map(|(a, b)| f(a, b)).collect();
        self.like(self.rows(), values, self.lod().clone())
    }
}

impl<T: Element> Segments<T> {
    /// What an operator that is unaware of steps makes of all of them at once, as steps again.
    ///
    /// ```
    /// use lod::{LodTensor, concat_outputs, segment_inputs};
    ///
    /// let x = LodTensor::from_sequences(&[vec![1], vec![2, 3]])?;
    /// let steps = segment_inputs(&x, &x.lod().rank_table(0)?)?;
    /// let tenfold = steps.apply(|steps| Ok(steps.map(|x| 10 * x)))?;
    /// assert_eq!(concat_outputs(&tenfold)?.values(), [10, 20, 30]);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the operator returns; [`Error::Size`], [`Error::Rows`] if it changes the number of rows.
    pub fn apply<U: Element>(
        self,
        operator: impl FnOnce(Tensor<T>) -> Result<Tensor<U>, Error>,
    ) -> Result<Segments<U>, Error> {
        let table = self.table().clone();
        Segments::new(&table, self.into_packed().apply(operator)?)
    }
}

/// `y = x W + b`, row by row: x is `[rows, inputs]`, W `[inputs, outputs]`, b `[outputs]`.
///
/// It is an operator to [`LodTensor::apply`] and to [`Segments::apply`]; rows are all it sees.
///
/// ```
/// use lod::{LodTensor, Lod, linear};
/// use tensor_strided::Tensor;
///
/// let x = LodTensor::from_vec([3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Lod::from_lengths(&[[2, 1]])?)?;
/// let weights = Tensor::from_vec([2, 1], vec![1.0, 10.0])?;
/// let y = x.apply(|x| linear(&x, &weights, Some(&[0.5])))?;
/// assert_eq!(y.sequence(0), [21.5, 43.5]);
/// # Ok::<(), lod::Error>(())
/// ```
///
/// # Errors
/// [`Error::Axes`] where one has not two axes; [`Error::Size`] where they do not fit.
#[doc(alias = "mul")]
#[doc(alias = "fc")]
pub fn linear<T: Real>(x: &Tensor<T>, weights: &Tensor<T>, bias: Option<&[T]>) -> Result<Tensor<T>, Error> {
    let ([rows, inputs], [weight_rows, outputs]) = (matrix(x)?, matrix(weights)?);
    Error::check_size("the number of rows of the weights", inputs, weight_rows)?;
    let mut y = kaldera_base::memory::zeros(rows * outputs);
    if let Some(bias) = bias {
        Error::check_size("the length of the bias", outputs, bias.len())?;
        y.chunks_exact_mut(outputs.max(1)).for_each(|row| row.copy_from_slice(bias));
    }
    add_product(plain(&elements(x), inputs), plain(&elements(weights), outputs), inputs, outputs, &mut y);
    Ok(Tensor::from_vec([rows, outputs], y)?)
}

/// The gradients of [`linear`].
#[derive(Debug, Clone)]
pub struct LinearGradients<T: Element> {
    /// By x: g Wᵀ.
    pub x: Tensor<T>,
    /// By the weights: xᵀ g.
    pub weights: Tensor<T>,
    /// By the bias: the sum of the rows of g.
    pub bias: Vec<T>,
}

/// The gradients of [`linear`] by its inputs, of which `grad` has that of its result.
///
/// # Errors
/// As [`linear`].
pub fn linear_backward<T: Real>(
    x: &Tensor<T>,
    weights: &Tensor<T>,
    grad: &Tensor<T>,
) -> Result<LinearGradients<T>, Error> {
    let ([rows, inputs], [weight_rows, outputs], [grad_rows, grad_cols]) =
        (matrix(x)?, matrix(weights)?, matrix(grad)?);
    Error::check_size("the number of rows of the weights", inputs, weight_rows)?;
    Error::check_size("the number of rows of the gradient", rows, grad_rows)?;
    Error::check_size("the width of the gradient", outputs, grad_cols)?;
    let (x, weights, grad) = (elements(x), elements(weights), elements(grad));
    let mut by_x = kaldera_base::memory::zeros(rows * inputs);
    add_product(plain(&grad, outputs), transposed(&weights, outputs), outputs, inputs, &mut by_x);
    let mut by_weights = kaldera_base::memory::zeros(inputs * outputs);
    gemm(
        inputs,
        outputs,
        rows,
        T::ONE,
        transposed(&x, inputs),
        plain(&grad, outputs),
        T::ONE,
        &mut by_weights,
        outputs.max(1),
    );
    let mut bias = vec![T::ZERO; outputs];
    for row in grad.chunks_exact(outputs.max(1)) {
        bias.iter_mut().zip(row).for_each(|(sum, &g)| *sum += g);
    }
    Ok(LinearGradients {
        x: Tensor::from_vec([rows, inputs], by_x)?,
        weights: Tensor::from_vec([inputs, outputs], by_weights)?,
        bias,
    })
}

fn matrix<T: Element>(tensor: &Tensor<T>) -> Result<[usize; 2], Error> {
    let shape: &Shape = tensor.shape();
    <[usize; 2]>::try_from(&shape[..]).map_err(|_| Error::Axes { expected: 2, found: shape.len() })
}

/// All elements in C order, copied only if they lie otherwise.
fn elements<T: Element>(tensor: &Tensor<T>) -> Cow<'_, [T]> {
    tensor.as_slice().map_or_else(|| Cow::Owned(tensor.to_vec()), Cow::Borrowed)
}

fn plain<T>(data: &[T], cols: usize) -> Operand<'_, T> {
    Operand { data, row_step: cols, col_step: 1 }
}

fn transposed<T>(data: &[T], cols: usize) -> Operand<'_, T> {
    Operand { data, row_step: 1, col_step: cols }
}

/// c += a b, where a has `terms` columns and c `cols`; rows on several threads.
fn add_product<T: Real>(a: Operand<'_, T>, b: Operand<'_, T>, terms: usize, cols: usize, c: &mut [T]) {
    if terms == 0 || cols == 0 {
        return;
    }
    let part = |first: usize, c: &mut [T]| {
        let a = Operand { data: &a.data[first * a.row_step..], ..a };
        gemm(c.len() / cols, cols, terms, T::ONE, a, b, T::ONE, c, cols);
    };
    #[cfg(feature = "rayon")]
    {
        /// Rows that are worth a task of their own: the weights are packed for each.
        const ROWS: usize = 512;
        if c.len() / cols >= 2 * ROWS && rayon::current_num_threads() > 1 {
            use rayon::prelude::*;
            let rows = c.par_chunks_mut(ROWS * cols).enumerate();
            return rows.for_each(|(i, c)| part(i * ROWS, c));
        }
    }
    part(0, c);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lod::Lod;

    fn tensor(shape: [usize; 2]) -> Tensor<f64> {
        let values: Vec<f64> = (0..shape[0] * shape[1]).map(|i| (i * 7 % 11) as f64 - 5.0).collect();
        Tensor::from_vec(shape, values).unwrap()
    }

    #[test]
    fn products_and_their_gradients_are_those_of_the_definition() {
        for (rows, inputs, outputs) in [(3, 2, 4), (1500, 3, 2), (0, 2, 3), (2, 0, 3), (2, 3, 0)] {
            let (x, w, g) = (tensor([rows, inputs]), tensor([inputs, outputs]), tensor([rows, outputs]));
            let bias: Vec<f64> = (0..outputs).map(|j| j as f64).collect();
            let at = |t: &Tensor<f64>, i, j| *t.get([i, j]).unwrap();
            let y = linear(&x, &w, Some(&bias)).unwrap();
            let gradients = linear_backward(&x, &w, &g).unwrap();
            for i in 0..rows {
                for (j, bias) in bias.iter().enumerate() {
                    let sum: f64 = (0..inputs).map(|k| at(&x, i, k) * at(&w, k, j)).sum();
                    assert_eq!(at(&y, i, j), sum + bias);
                }
                for k in 0..inputs {
                    assert_eq!(at(&gradients.x, i, k), (0..outputs).map(|j| at(&g, i, j) * at(&w, k, j)).sum::<f64>());
                }
            }
            for j in 0..outputs {
                assert_eq!(gradients.bias[j], (0..rows).map(|i| at(&g, i, j)).sum::<f64>());
                for k in 0..inputs {
                    assert_eq!(
                        at(&gradients.weights, k, j),
                        (0..rows).map(|i| at(&x, i, k) * at(&g, i, j)).sum::<f64>()
                    );
                }
            }
        }
        assert!(linear(&tensor([2, 3]), &tensor([2, 3]), None).is_err());
        assert!(linear(&tensor([2, 3]), &tensor([3, 1]), Some(&[])).is_err());
        assert!(linear_backward(&tensor([2, 3]), &tensor([3, 1]), &tensor([2, 2])).is_err());
        assert!(linear(&Tensor::from_vec([3], vec![0.0; 3]).unwrap(), &tensor([3, 1]), None).is_err());
    }

    #[test]
    fn tensors_of_the_same_sequences_meet_element_by_element() {
        let x = LodTensor::from_sequences(&[vec![1, 2], vec![3]]).unwrap();
        // The same lengths from elsewhere.
        let y = LodTensor::from_sequences(&[vec![0.5, 0.25], vec![0.125]]).unwrap();
        let z = x.zip_map(&y, |&x, y| f64::from(x) * y).unwrap();
        assert_eq!(z.values(), [0.5, 0.5, 0.375]);
        assert!(z.lod().ptr_eq(x.lod()) && x.map(|x| x + 1).lod().ptr_eq(x.lod()));
        let other = y.with_lod(Lod::from_lengths(&[[1, 2]]).unwrap()).unwrap();
        assert!(matches!(x.zip_map(&other, |_, _| 0), Err(Error::OtherLod { .. })));
        let longer = LodTensor::from_vec([4], vec![0; 4], Lod::none()).unwrap();
        assert!(x.zip_map(&longer, |_, _| 0).is_err());
    }
}
