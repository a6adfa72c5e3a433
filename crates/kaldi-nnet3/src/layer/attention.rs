//! Attention restricted to some frames before and after.

use super::{Function, Layer, MAX_WINDOW, Times, Values};
use crate::config_line::MAX_DIM;
use crate::pointwise::softmax;

/// Self attention. A head's input is a key, a value, and a query with a term for each position of
/// the context; its result is the mean of the values and, perhaps, their weights.
///
/// ```text
/// c = softmax over o of (scale q · k[t + o] + p[o]),  y = Σ c[o] v[t + o]
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Attention {
    key: usize,
    value: usize,
    /// Number of positions.
    context: usize,
    /// Position of the query's own frame.
    own: usize,
    scale: f32,
    weights_too: bool,
}

impl Attention {
    fn head_inputs(&self) -> usize {
        2 * self.key + self.value + self.context
    }

    /// Computes a row of the rows at each position. A row that is not there is zero.
    pub(crate) fn row(&self, rows: &[&[f32]], y: &mut [f32]) {
        let head_outputs = self.value + if self.weights_too { self.context } else { 0 };
        let mut weights = vec![0.0; self.context];
        for (head, y) in y.chunks_exact_mut(head_outputs).enumerate() {
            let start = head * self.head_inputs();
            let query = &rows[self.own][start + self.key + self.value..][..self.key + self.context];
            let (query, positions) = query.split_at(self.key);
            for ((weight, row), position) in weights.iter_mut().zip(rows).zip(positions) {
                let dot: f32 = query.iter().zip(&row[start..]).map(|(q, k)| q * k).sum();
                *weight = self.scale * dot + position;
            }
            softmax(&mut weights);
            let (mean, rest) = y.split_at_mut(self.value);
            mean.fill(0.0);
            for (weight, row) in weights.iter().zip(rows) {
                let values = &row[start + self.key..][..self.value];
                mean.iter_mut().zip(values).for_each(|(y, v)| *y += weight * v);
            }
            if self.weights_too {
                rest.copy_from_slice(&weights);
            }
        }
    }
}

impl Values<'_> {
    pub(super) fn attention(&self) -> Result<Layer, String> {
        let heads = self.size("NumHeads", 1)?;
        let (key, value) = (self.size("KeyDim", 1)?, self.size("ValueDim", 1)?);
        let (left, right) = (self.frames("NumLeftInputs", 0)?, self.frames("NumRightInputs", 0)?);
        let stride = self.frames("TimeStride", 1)?;
        let needed = [self.frames("NumLeftInputsRequired", 0)?, self.frames("NumRightInputsRequired", 0)?];
        let reach = left.max(right).checked_mul(stride).is_some_and(|reach| reach <= MAX_WINDOW);
        if !reach || needed[0] > left || needed[1] > right || left + right == 0 || left + right > 1 << 12 {
            return Err(format!("a context of {left} and {right} frames, {stride} apart"));
        }
        let positions = (-left..=right).map(|o| (o * stride, o >= -needed[0] && o <= needed[1]));
        let positions: Vec<_> = positions.collect();
        let attention = Attention {
            key,
            value,
            context: positions.len(),
            own: left.unsigned_abs() as usize,
            scale: self.real("KeyScale")?,
            weights_too: self.bool("OutputContext")?,
        };
        let inputs = attention.head_inputs().checked_mul(heads).filter(|&inputs| inputs <= MAX_DIM);
        let inputs = inputs.ok_or_else(|| format!("its input has more than {MAX_DIM} columns"))?;
        let outputs = heads * (value + if attention.weights_too { attention.context } else { 0 });
        Ok(Layer::new(Function::Attention(attention), inputs, outputs).at(Times::Offsets(positions)))
    }
}
