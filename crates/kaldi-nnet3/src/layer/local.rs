//! Functions of one row at a time.

use super::{Function, Layer};
use crate::pointwise::inverse_rms;

impl Layer {
    /// Computes rows of a function that needs only the row at the same index, from an input row
    /// for each.
    pub(crate) fn apply_rows(&self, x: &[&[f32]], y: &mut [&mut [f32]]) {
        match &self.function {
            Function::Product(product) => product.apply(x, &[self.inputs], y),
            Function::Blocks { products, blocks } => {
                let (inputs, outputs) = (self.inputs / blocks, self.outputs / blocks);
                for block in 0..*blocks {
                    let product = &products[block % products.len()];
                    let x: Vec<&[f32]> = x.iter().map(|row| &row[block * inputs..][..inputs]).collect();
                    let mut y: Vec<&mut [f32]> =
                        y.iter_mut().map(|row| &mut row[block * outputs..][..outputs]).collect();
                    product.apply(&x, &[inputs], &mut y);
                }
            }
            Function::Convolution(convolution) => convolution.apply_rows(x, y),
            Function::Gru(gru) => gru.apply_rows(x, y),
            Function::Composite(layers) => composite(layers, x, y),
            function => {
                for (x, y) in x.iter().zip(y.iter_mut()) {
                    function.row(x, y);
                }
            }
        }
        self.finish(y);
    }

    /// Does the operations that follow the function, with each row of the result.
    pub(crate) fn finish(&self, y: &mut [&mut [f32]]) {
        if !self.post.is_empty() {
            for row in y {
                self.post.iter().for_each(|operation| operation.apply(row));
            }
        }
    }
}

/// Fills a row with values, again and again.
pub(crate) fn repeat(values: &[f32], y: &mut [f32]) {
    y.chunks_mut(values.len().max(1)).for_each(|y| y.copy_from_slice(&values[..y.len()]));
}

fn composite(layers: &[Layer], x: &[&[f32]], y: &mut [&mut [f32]]) {
    let mut now: Vec<f32> = x.concat();
    for layer in layers {
        let x: Vec<&[f32]> = now.chunks_exact(layer.inputs).collect();
        let mut next = vec![0.0; y.len() * layer.outputs];
        layer.apply_rows(&x, &mut next.chunks_exact_mut(layer.outputs).collect::<Vec<_>>());
        now = next;
    }
    let width = now.len().checked_div(y.len()).unwrap_or(0).max(1);
    for (x, y) in now.chunks_exact(width).zip(y) {
        y.copy_from_slice(x);
    }
}

impl Function {
    /// Computes a row of a function that is not over several rows at a time.
    fn row(&self, x: &[f32], y: &mut [f32]) {
        match self {
            Self::Identity => y.copy_from_slice(x),
            Self::Constant(values) => repeat(values, y),
            Self::Norms(group) => {
                for (x, y) in x.chunks_exact(*group).zip(y) {
                    *y = x.iter().map(|x| x * x).sum::<f32>().sqrt();
                }
            }
            Self::Products => {
                let (first, rest) = x.split_at(y.len());
                y.copy_from_slice(first);
                for block in rest.chunks_exact(y.len()) {
                    y.iter_mut().zip(block).for_each(|(y, x)| *y *= x);
                }
            }
            Self::Sums(sizes) => {
                let mut rest = x;
                for (&size, y) in sizes.iter().zip(y) {
                    let (group, more) = rest.split_at(size);
                    *y = group.iter().sum();
                    rest = more;
                }
            }
            Self::BlockSum(scale) => {
                y.fill(0.0);
                for block in x.chunks_exact(y.len()) {
                    y.iter_mut().zip(block).for_each(|(y, x)| *y += x * scale);
                }
            }
            Self::Columns(columns) => y.iter_mut().zip(columns).for_each(|(y, &column)| *y = x[column]),
            Self::NormalizeLog { block, target_rms } => {
                for (x, y) in x.chunks_exact(*block).zip(y.chunks_exact_mut(block + 1)) {
                    let scale = inverse_rms(x, *target_rms);
                    y.iter_mut().zip(x).for_each(|(y, x)| *y = x * scale);
                    y[*block] = target_rms.ln() - scale.ln();
                }
            }
            Self::MaxPool(pool) => pool.row(x, y),
            Self::Lstm(lstm) => lstm.row(x, y),
            Self::OutputGru(gru) => gru.row(x, y),
            // These are computed over several rows at a time.
            Self::Product(_)
            | Self::Blocks { .. }
            | Self::Convolution(_)
            | Self::Gru(_)
            | Self::Composite(_)
            | Self::TimeHeight(_)
            | Self::Attention(_)
            | Self::Extraction { .. }
            | Self::Pooling(_)
            | Self::Distribute => unreachable!("a function of several rows"),
        }
    }
}
