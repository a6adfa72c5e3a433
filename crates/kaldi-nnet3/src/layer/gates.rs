//! The equations of recurrent cells. The loops around them are in the network.

use kaldera_base::math::{sigmoid_in_place, tanh_in_place};

use super::{Function, Layer, Values, rows_of};
use crate::product::Product;

/// Gates of an LSTM with peepholes.
///
/// ```text
/// i = σ(i + wi c'),  f = σ(f + wf c'),  c = sf f c' + si i tanh(c),
/// o = σ(o + wo c),  m = so o tanh(c)
/// ```
///
/// The input is i, f, c, o, c' and, with dropout, the three numbers si, sf, so. The result is c, m.
#[derive(Clone, Debug)]
pub(crate) struct Lstm {
    cells: usize,
    /// wi, wf, wo.
    peepholes: Vec<f32>,
    dropout: bool,
}

impl Lstm {
    pub(super) fn row(&self, x: &[f32], y: &mut [f32]) {
        let cells = self.cells;
        let [wi, wf, wo] = [0, 1, 2].map(|row| &self.peepholes[row * cells..][..cells]);
        let [i, f, g, o, old] = [0, 1, 2, 3, 4].map(|part| &x[part * cells..][..cells]);
        let [si, sf, so] = match self.dropout {
            true => [x[5 * cells], x[5 * cells + 1], x[5 * cells + 2]],
            false => [1.0; 3],
        };
        let (c, m) = y.split_at_mut(cells);
        let mut gates = vec![0.0; 2 * cells];
        let (input, forget) = gates.split_at_mut(cells);
        for k in 0..cells {
            input[k] = i[k] + wi[k] * old[k];
            forget[k] = f[k] + wf[k] * old[k];
        }
        m.copy_from_slice(g);
        tanh_in_place(m);
        sigmoid_in_place(&mut gates);
        let (input, forget) = gates.split_at_mut(cells);
        for k in 0..cells {
            c[k] = sf * forget[k] * old[k] + si * input[k] * m[k];
        }
        for k in 0..cells {
            input[k] = o[k] + wo[k] * c[k];
        }
        sigmoid_in_place(input);
        m.copy_from_slice(c);
        tanh_in_place(m);
        m.iter_mut().zip(&*input).for_each(|(m, o)| *m *= so * o);
    }
}

/// Gates of a GRU, whose state may be projected.
///
/// ```text
/// h = tanh(h + W (r s')),  c = (1 - z) h + z c'
/// ```
///
/// The input is z, r, h, c', and s' if the state is projected, else s' is c'. The result is h, c.
#[derive(Clone, Debug)]
pub(crate) struct Gru {
    cells: usize,
    recurrent: usize,
    weights: Product,
}

impl Gru {
    pub(super) fn products(&self) -> usize {
        self.cells * self.recurrent
    }

    pub(super) fn apply_rows(&self, x: &[&[f32]], y: &mut [&mut [f32]]) {
        let (cells, recurrent) = (self.cells, self.recurrent);
        let mut gated = Vec::with_capacity(y.len() * recurrent);
        for x in x {
            let reset = &x[cells..][..recurrent];
            let state = &x[x.len() - recurrent..];
            gated.extend(reset.iter().zip(state).map(|(r, s)| r * s));
        }
        let mut products = vec![0.0; y.len() * cells];
        self.weights.apply_rows(&gated, &mut products);
        for ((x, w), y) in x.iter().zip(products.chunks_exact(cells)).zip(y) {
            let part = &x[cells + recurrent..][..cells];
            let (h, c) = y.split_at_mut(cells);
            h.iter_mut().zip(part).zip(w).for_each(|((h, part), w)| *h = part + w);
            tanh_in_place(h);
            let (z, old) = (&x[..cells], &x[2 * cells + recurrent..][..cells]);
            mix(c, z, h, old);
        }
    }
}

/// c = (1 - z) h + z c'
fn mix(c: &mut [f32], z: &[f32], h: &[f32], old: &[f32]) {
    for (((c, z), h), old) in c.iter_mut().zip(z).zip(h).zip(old) {
        *c = (1.0 - z) * h + z * old;
    }
}

/// Gates of a GRU with a diagonal matrix, whose output gate is in the network.
///
/// ```text
/// h = tanh(h + w c'),  c = (1 - z) h + z c'
/// ```
///
/// The input is z, h, c'. The result is h, c.
#[derive(Clone, Debug)]
pub(crate) struct OutputGru {
    weights: Vec<f32>,
}

impl OutputGru {
    pub(super) fn row(&self, x: &[f32], y: &mut [f32]) {
        let cells = self.weights.len();
        let [z, part, old] = [0, 1, 2].map(|part| &x[part * cells..][..cells]);
        let (h, c) = y.split_at_mut(cells);
        for k in 0..cells {
            h[k] = part[k] + self.weights[k] * old[k];
        }
        tanh_in_place(h);
        mix(c, z, h, old);
    }
}

impl Values<'_> {
    pub(super) fn lstm(&self) -> Result<Layer, String> {
        let weights = self.matrix("Params")?;
        if weights.num_rows() != 3 {
            return Err(format!("<Params> has {} rows, expected 3", weights.num_rows()));
        }
        let cells = weights.num_cols();
        let dropout = self.0.bool("UseDropout").unwrap_or(false);
        let lstm = Lstm { cells, peepholes: rows_of(weights), dropout };
        let inputs = 5 * cells + if dropout { 3 } else { 0 };
        Ok(Layer::new(Function::Lstm(lstm), inputs, 2 * cells))
    }

    pub(super) fn gru(&self) -> Result<Layer, String> {
        let (cells, recurrent) = (self.size("CellDim", 1)?, self.size("RecurrentDim", 1)?);
        let weights = self.matrix("w_h")?;
        if weights.num_rows() != cells || weights.num_cols() != recurrent {
            return Err(format!("<w_h> is {} x {}", weights.num_rows(), weights.num_cols()));
        }
        let weights = Product::new(&rows_of(weights), recurrent, &[]);
        let inputs = if recurrent == cells { 4 * cells } else { 3 * cells + 2 * recurrent };
        Ok(Layer::new(Function::Gru(Gru { cells, recurrent, weights }), inputs, 2 * cells))
    }

    pub(super) fn output_gru(&self) -> Result<Layer, String> {
        let weights = self.vector("w_h")?;
        let cells = weights.len();
        Ok(Layer::new(Function::OutputGru(OutputGru { weights }), 3 * cells, 2 * cells))
    }
}
