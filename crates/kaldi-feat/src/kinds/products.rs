//! Products of a small matrix with the bands of frames.

use kaldera_base::simd::Simd;

/// Number of partial sums in a product with a row of weights: sum i is of every eighth value from
/// the i-th on, so that few have to wait for each other. Then they are added in halves.
const ROW_SUMS: usize = 8;

/// Computes Σ weight · row, of as many rows as weights.
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
