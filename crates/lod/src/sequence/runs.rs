//! Results whose rows are copies of rows of their source, in another order. A row may occur
//! several times or not at all.

use std::ops::Range;

use kaldera_base::{Real, memory};
use tensor_strided::{Element, Shape};

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::{add_to, check_gradient};
use crate::tensor::LodTensor;

/// The source rows of each row of a result: the data that the gradient of an operator needs if
/// the operator only moves rows.
#[derive(Debug, Clone)]
pub struct MovedRows {
    source_shape: Shape,
    source_lod: Lod,
    /// The rows of the result, in order, as runs of rows of the source.
    runs: Vec<Range<usize>>,
}

impl MovedRows {
    /// The caller's runs are within the rows of `source`.
    pub(super) fn new<T: Element>(source: &LodTensor<T>, runs: Vec<Range<usize>>) -> Self {
        Self { source_shape: source.shape().clone(), source_lod: source.lod().clone(), runs }
    }

    /// The number of rows of the result.
    pub(super) fn rows(&self) -> usize {
        self.runs.iter().map(Range::len).sum()
    }

    /// Gathers the rows of the result from the rows of the source.
    pub(super) fn gather<T: Element>(&self, source: &LodTensor<T>) -> Vec<T> {
        let mut values = memory::with_capacity(self.rows() * source.width());
        self.runs.iter().for_each(|run| values.extend_from_slice(source.values_of(run.clone())));
        values
    }

    /// The gradient of the source: each of its rows has the sum of the gradients of the rows that
    /// it became.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let width = self.source_shape[1..].iter().product::<usize>();
        check_gradient(self.rows(), width, out_grad)?;
        let mut grad = memory::zeros(self.source_shape[0] * width);
        let mut begin = 0;
        for run in &self.runs {
            let end = begin + run.len();
            add_to(&mut grad[run.start * width..run.end * width], out_grad.values_of(begin..end));
            begin = end;
        }
        LodTensor::from_vec(&self.source_shape, grad, self.source_lod.clone())
    }
}
