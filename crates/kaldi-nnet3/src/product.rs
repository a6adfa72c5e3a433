//! Products of rows with a matrix that is packed once.
//!
//! A row comes in segments, which lie anywhere: the rows of several frames of another layer, say,
//! which need not be copied side by side. Each sum of a product has one order, whatever the number
//! of rows, so that the rows of a stream equal the rows of the whole to the last bit.

use std::fmt;

use kaldera_base::par;
use kaldera_base::simd::{Kernel, Simd, dispatch};

/// Columns of the result that are packed side by side.
const PANEL: usize = 32;
/// Terms of a sum that are added up in registers at once: their panel stays in the first cache.
const DEPTH: usize = 256;
/// Multiply-adds that are worth a thread: a millisecond.
const TASK: usize = 1 << 25;
/// Rows whose results stay in the second cache.
const ROWS: usize = 128;

/// The matrix of y = W x + b.
#[derive(Clone)]
pub(crate) struct Product {
    /// For each panel of columns and each input, `PANEL` weights.
    packed: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Product({} x {})", self.outputs, self.inputs)
    }
}

impl Product {
    /// Packs W, `outputs` rows of `inputs` weights. An empty bias is zero.
    pub(crate) fn new(weights: &[f32], inputs: usize, bias: &[f32]) -> Self {
        let outputs = weights.len().checked_div(inputs).unwrap_or(0);
        let panels = outputs.div_ceil(PANEL);
        let mut packed = vec![0.0; panels * inputs * PANEL];
        for (output, row) in weights.chunks_exact(inputs.max(1)).enumerate() {
            let panel = &mut packed[output / PANEL * inputs * PANEL..][..inputs * PANEL];
            for (input, &weight) in row.iter().enumerate() {
                panel[input * PANEL + output % PANEL] = weight;
            }
        }
        let mut bias = bias.to_vec();
        bias.resize(panels * PANEL, 0.0);
        Self { packed, bias, inputs, outputs }
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns W row by row, and b.
    pub(crate) fn unpacked(&self) -> (Vec<f32>, Vec<f32>) {
        let mut weights = vec![0.0; self.inputs * self.outputs];
        for (output, row) in weights.chunks_exact_mut(self.inputs.max(1)).enumerate() {
            let panel = &self.packed[output / PANEL * self.inputs * PANEL..];
            for (input, weight) in row.iter_mut().enumerate() {
                *weight = panel[input * PANEL + output % PANEL];
            }
        }
        (weights, self.bias[..self.outputs].to_vec())
    }

    /// Computes y = W x + b for rows. `x` has the segments of each row, one row after the other;
    /// `lengths` the lengths of the segments of a row, `self.inputs` together.
    pub(crate) fn apply(&self, x: &[&[f32]], lengths: &[usize], y: &mut [&mut [f32]]) {
        debug_assert_eq!(lengths.iter().sum::<usize>(), self.inputs);
        debug_assert_eq!(x.len(), lengths.len() * y.len());
        let work = self.inputs * self.outputs * y.len();
        let blocks = x.chunks((ROWS * lengths.len()).max(1)).zip(y.chunks_mut(ROWS));
        match par::num_parts(work, TASK) {
            1 => blocks.for_each(|(x, y)| self.apply_block(x, lengths, y)),
            _ => par::for_each(blocks.collect(), |(x, y): (&[&[f32]], &mut [&mut [f32]])| {
                self.apply_block(x, lengths, y)
            }),
        }
    }

    fn apply_block(&self, x: &[&[f32]], lengths: &[usize], y: &mut [&mut [f32]]) {
        y.iter_mut().for_each(|row| row.copy_from_slice(&self.bias[..self.outputs]));
        let (mut start, segments) = (0, lengths.len());
        for (segment, &length) in lengths.iter().enumerate() {
            for from in (0..length).step_by(DEPTH) {
                let depth = DEPTH.min(length - from);
                let x = Strip { rows: x, segments, segment, from, depth };
                dispatch(Strips { product: self, start: start + from, x, y });
            }
            start += length;
        }
    }

    /// Computes y = W x + b for rows that lie one after the other.
    pub(crate) fn apply_rows(&self, x: &[f32], y: &mut [f32]) {
        let x: Vec<&[f32]> = x.chunks_exact(self.inputs.max(1)).collect();
        let mut y: Vec<&mut [f32]> = y.chunks_exact_mut(self.outputs.max(1)).collect();
        self.apply(&x, &[self.inputs], &mut y);
    }
}

/// Some columns of the inputs.
#[derive(Clone, Copy)]
struct Strip<'a> {
    rows: &'a [&'a [f32]],
    segments: usize,
    segment: usize,
    from: usize,
    depth: usize,
}

impl Strip<'_> {
    #[inline(always)]
    fn row(&self, row: usize) -> &[f32] {
        &self.rows[row * self.segments + self.segment][self.from..][..self.depth]
    }
}

/// y += a strip times its weights.
struct Strips<'a, 'b> {
    product: &'a Product,
    /// The strip's first column among all inputs.
    start: usize,
    x: Strip<'a>,
    y: &'a mut [&'b mut [f32]],
}

impl Kernel for Strips<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { product, start, x, y } = self;
        for panel in 0..product.outputs.div_ceil(PANEL) {
            let weights = &product.packed[(panel * product.inputs + start) * PANEL..][..x.depth * PANEL];
            let mut row = 0;
            let mut rest = &mut *y;
            // As many rows as the registers hold.
            if S::LANES == 16 {
                while rest.len() >= 12 {
                    let (some, more) = rest.split_at_mut(12);
                    block::<S, 12, 2>(s, x, row, weights, panel * PANEL, some);
                    (row, rest) = (row + 12, more);
                }
                while rest.len() >= 8 {
                    let (some, more) = rest.split_at_mut(8);
                    block::<S, 8, 2>(s, x, row, weights, panel * PANEL, some);
                    (row, rest) = (row + 8, more);
                }
            }
            while rest.len() >= 4 {
                let (some, more) = rest.split_at_mut(4);
                halves::<S, 4>(s, x, row, weights, panel * PANEL, some);
                (row, rest) = (row + 4, more);
            }
            match rest.len() {
                1 => halves::<S, 1>(s, x, row, weights, panel * PANEL, rest),
                2 => halves::<S, 2>(s, x, row, weights, panel * PANEL, rest),
                3 => halves::<S, 3>(s, x, row, weights, panel * PANEL, rest),
                _ => {}
            }
        }
    }
}

/// Adds the products of some rows with a panel, in as many columns at once as registers hold.
#[inline(always)]
fn halves<S: Simd, const MR: usize>(
    s: S,
    x: Strip<'_>,
    row: usize,
    weights: &[f32],
    column: usize,
    y: &mut [&mut [f32]],
) {
    if S::LANES == 16 {
        block::<S, MR, 2>(s, x, row, weights, column, y);
    } else {
        block::<S, MR, 2>(s, x, row, weights, column, y);
        block::<S, MR, 2>(s, x, row, &weights[PANEL / 2..], column + PANEL / 2, y);
    }
}

/// Adds the products of `MR` rows with `NV` vectors of columns.
#[inline(always)]
fn block<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    x: Strip<'_>,
    row: usize,
    weights: &[f32],
    column: usize,
    y: &mut [&mut [f32]],
) {
    let mut rows = [x.row(row); MR];
    for (i, x_row) in rows.iter_mut().enumerate() {
        *x_row = &x.row(row + i)[..x.depth];
    }
    let mut sums = [[s.splat(0.0); NV]; MR];
    for k in 0..x.depth {
        let weights = &weights[k * PANEL..][..NV * S::LANES];
        let mut columns = [s.splat(0.0); NV];
        for v in 0..NV {
            columns[v] = s.load(&weights[v * S::LANES..]);
        }
        for i in 0..MR {
            let a = s.splat(rows[i][k]);
            for v in 0..NV {
                sums[i][v] = s.mul_add(a, columns[v], sums[i][v]);
            }
        }
    }
    for (y, sums) in y.iter_mut().zip(sums) {
        // Columns after the last one are padding.
        let y = y.get_mut(column..).unwrap_or_default();
        for (v, sum) in sums.into_iter().enumerate() {
            let Some(y) = y.get_mut(v * S::LANES..) else { break };
            let y = &mut y[..];
            match y.get_mut(..S::LANES) {
                Some(y) => s.store(s.add(s.load(y), sum), y),
                None => s.store_partial(s.add(s.load_partial(y, s.splat(0.0)), sum), y),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::random::Philox;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_sums_of_products(
            (rows, outputs) in (0_usize..30, 1_usize..70),
            lengths in proptest::collection::vec(1_usize..300, 1..4),
        ) {
            let inputs = lengths.iter().sum::<usize>();
            let stream = Philox::new(7);
            let mut weights = vec![0.0_f32; inputs * outputs];
            let mut x = vec![0.0_f32; inputs * rows];
            let mut bias = vec![0.0_f32; outputs];
            stream.add_gaussian(1.0, 0, &mut weights);
            stream.add_gaussian(1.0, 1 << 24, &mut x);
            stream.add_gaussian(1.0, 1 << 25, &mut bias);
            let product = Product::new(&weights, inputs, &bias);
            prop_assert_eq!(product.unpacked(), (weights.clone(), bias.clone()));
            let mut segments = Vec::new();
            for mut row in x.chunks_exact(inputs) {
                for &length in &lengths {
                    let (segment, rest) = row.split_at(length);
                    segments.push(segment);
                    row = rest;
                }
            }
            let mut y = vec![f32::NAN; outputs * rows];
            let mut y_rows: Vec<&mut [f32]> = y.chunks_exact_mut(outputs).collect();
            product.apply(&segments, &lengths, &mut y_rows);
            for (x, y) in x.chunks_exact(inputs).zip(y.chunks_exact(outputs)) {
                let mut one = vec![0.0; outputs];
                let mut x_segments = Vec::new();
                let mut rest = x;
                for &length in &lengths {
                    let (segment, more) = rest.split_at(length);
                    x_segments.push(segment);
                    rest = more;
                }
                product.apply(&x_segments, &lengths, &mut [&mut one[..]]);
                prop_assert_eq!(&one, y);
                for (output, (weights, &y)) in weights.chunks_exact(inputs).zip(y).enumerate() {
                    let terms = weights.iter().zip(x).map(|(&w, &x)| f64::from(w) * f64::from(x));
                    let size: f64 = terms.clone().map(f64::abs).sum::<f64>() + 4.0;
                    let right = terms.sum::<f64>() + f64::from(bias[output]);
                    prop_assert!((f64::from(y) - right).abs() <= f64::from(f32::EPSILON) * 32.0 * size);
                }
            }
        }
    }
}
