//! Rows times a matrix.

use kaldera_base::gemm::{Operand, gemm};
use kaldera_base::{memory, par};
use lod::LodTensor;

use crate::error::Error;

/// Number of rows that a thread multiplies at once.
const ROWS_AT_ONCE: usize = 256;

/// y = x Wᵀ + b, row by row.
///
/// A matrix library may change the order of a sum with the number of rows. Here the sum of an
/// element has one order, so that the rows of a chunk equal the rows of the whole to the last bit.
#[derive(Debug)]
pub(crate) struct Product {
    /// `[outputs, inputs]`
    weight: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

impl Product {
    /// Creates the product of W, given row by row, and b, which has a value for each row of W.
    pub(crate) fn new(weight: Vec<f32>, bias: Vec<f32>, inputs: usize) -> Self {
        Self { weight, bias, inputs }
    }

    pub(crate) fn num_outputs(&self) -> usize {
        self.bias.len()
    }

    /// Multiplies one row of `inputs` values.
    pub(crate) fn row(&self, x: &[f32]) -> Vec<f32> {
        let mut y = self.bias.clone();
        if self.inputs > 0 {
            let x = Operand { data: x, row_step: self.inputs, col_step: 1 };
            let weight = Operand { data: &self.weight, row_step: 1, col_step: self.inputs };
            gemm(1, self.num_outputs(), self.inputs, 1.0, x, weight, 1.0, &mut y, self.bias.len());
        }
        y
    }

    /// Multiplies rows of `inputs` values.
    pub(super) fn apply(&self, x: &LodTensor<f32>) -> Result<LodTensor<f32>, Error> {
        let (inputs, outputs) = (self.inputs, self.num_outputs());
        let mut y = memory::zeros(x.num_rows() * outputs);
        let parts =
            y.chunks_mut((ROWS_AT_ONCE * outputs).max(1)).zip(x.values().chunks((ROWS_AT_ONCE * inputs).max(1)));
        par::for_each(parts.collect(), |(y, x): (&mut [f32], &[f32])| {
            let rows = y.len() / outputs.max(1);
            y.chunks_exact_mut(outputs.max(1)).for_each(|row| row.copy_from_slice(&self.bias));
            let x = Operand { data: x, row_step: inputs, col_step: 1 };
            let weight = Operand { data: &self.weight, row_step: 1, col_step: inputs };
            gemm(rows, outputs, inputs, 1.0, x, weight, 1.0, y, outputs);
        });
        if inputs == 0 {
            y.chunks_exact_mut(outputs.max(1)).for_each(|row| row.copy_from_slice(&self.bias));
        }
        Ok(LodTensor::from_vec([x.num_rows(), outputs], y, x.lod().clone())?)
    }
}
