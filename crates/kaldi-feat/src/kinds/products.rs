//! Products of a small matrix with the bands of frames.

use kaldera_base::simd::{Lines, MAX_LANES, Simd};

/// How many sums a product with a row of weights is added up in: sum i is of every eighth number
/// from the i-th on, so that few have to wait for each other. Then they are added in halves.
const ROW_SUMS: usize = 8;

/// Σ weight · row, of as many rows as weights.
#[inline(always)]
pub(crate) fn weighted_sum<S: Simd>(s: S, weights: &[f32], rows: &[S::F32]) -> S::F32 {
    let mut sums = [s.splat(0.0); ROW_SUMS];
    let (weights, last_weights) = weights.as_chunks::<ROW_SUMS>();
    let (rows, last_rows) = rows.as_chunks::<ROW_SUMS>();
    for (weights, rows) in weights.iter().zip(rows) {
        for i in 0..ROW_SUMS {
            sums[i] = s.mul_add(s.splat(weights[i]), rows[i], sums[i]);
        }
    }
    for ((&w, &x), sum) in last_weights.iter().zip(last_rows).zip(&mut sums) {
        *sum = s.mul_add(s.splat(w), x, *sum);
    }
    sum_of_row_sums(s, sums)
}

#[inline(always)]
fn sum_of_row_sums<S: Simd>(s: S, [a, b, c, d, e, f, g, h]: [S::F32; ROW_SUMS]) -> S::F32 {
    s.add(s.add(s.add(a, e), s.add(c, g)), s.add(s.add(b, f), s.add(d, h)))
}

/// A matrix for products with vectors, its columns one after the other, each with zeros after it
/// up to a multiple of [`MAX_LANES`].
#[derive(Debug)]
pub(crate) struct Columns {
    columns: Lines,
    /// Numbers of a column, the zeros too.
    stride: usize,
    num_columns: usize,
}

impl Columns {
    pub(crate) fn new(rows: &[Vec<f32>]) -> Self {
        let num_columns = rows.first().map_or(0, Vec::len);
        let stride = rows.len().next_multiple_of(MAX_LANES);
        let mut columns = Lines::new();
        for (i, column) in columns.floats(num_columns * stride).chunks_exact_mut(stride.max(1)).enumerate() {
            for (to, row) in column.iter_mut().zip(rows) {
                *to = row[i];
            }
        }
        Self { columns, stride, num_columns }
    }

    /// The product with x, of as many numbers as there are columns or more, for one frame: the bits
    /// of a [`weighted_sum`] of each row.
    #[inline(always)]
    pub(crate) fn times_single_frame<S: Simd>(&self, s: S, x: &[f32], y: &mut [f32]) {
        let (columns, stride) = (self.columns.as_vectors(s), self.stride / S::LANES);
        let (x, last) = x[..self.num_columns].as_chunks::<ROW_SUMS>();
        let (columns, last_columns) = columns.split_at(x.len() * ROW_SUMS * stride);
        for (at, y) in y.chunks_mut(S::LANES).enumerate() {
            let mut sums = [s.splat(0.0); ROW_SUMS];
            for (x, columns) in x.iter().zip(columns.chunks_exact(ROW_SUMS * stride)) {
                for i in 0..ROW_SUMS {
                    sums[i] = s.mul_add(columns[i * stride + at], s.splat(x[i]), sums[i]);
                }
            }
            for ((&x, column), sum) in last.iter().zip(last_columns.chunks_exact(stride)).zip(&mut sums) {
                *sum = s.mul_add(column[at], s.splat(x), *sum);
            }
            s.store_partial(sum_of_row_sums(s, sums), y);
        }
    }
}
