//! The normalised cross-correlation of a frame with later samples of itself.

use kaldera_base::simd::Simd;

use crate::pitch::grid::Grid;

/// Number of products in a group. The sums of groups are added up, as hundreds of roundings in a
/// row would show.
const GROUP: usize = 32;

/// Number of vectors of lags that are measured in one pass over the window. With two sums for each
/// they leave registers to spare.
const VECTORS: usize = 5;

/// A frame's correlations, one for each measured lag and padding to whole vectors.
pub(super) struct Rows<'a> {
    /// Σ a b / √(Σ a² Σ b² + ballast), for the search.
    pub(super) pitch: &'a mut [f32],
    /// The same without ballast, for the output.
    pub(super) pov: &'a mut [f32],
    /// Σ a² Σ b²
    pub(super) norm: &'a mut [f32],
}

impl Grid {
    /// Returns the length of the buffer of [`correlate`](Self::correlate)'s frame: after the frame
    /// there is room for whole vectors.
    pub(super) fn frame_room(&self) -> usize {
        self.window_size + self.first_lag + self.measured_row()
    }

    /// Subtracts the mean of the window from the whole frame, and writes the correlations. A window
    /// without energy has none.
    ///
    /// Products of samples are in single precision, as in Kaldi; the order of the sums differs, as
    /// Kaldi's depends on its BLAS.
    #[inline(always)]
    pub(super) fn correlate<S: Simd>(&self, s: S, frame: &mut [f32], ballast: f32, rows: Rows<'_>) {
        let (window, lag) = (self.window_size, self.first_lag);
        let mean = sum(s, &frame[..window]) / window as f32;
        for x in &mut frame[..self.full_length] {
            *x -= mean;
        }
        let energy = dot(s, &frame[..window]);

        let mut first = 0;
        while first < rows.pitch.len() {
            let vectors = ((rows.pitch.len() - first) / S::LANES).min(VECTORS);
            let later = &frame[lag + first..];
            let out = &mut rows.pitch[first..];
            let norm = &mut rows.norm[first..];
            match vectors {
                1 => products::<S, 1>(s, &frame[..window], later, out, norm),
                2 => products::<S, 2>(s, &frame[..window], later, out, norm),
                3 => products::<S, 3>(s, &frame[..window], later, out, norm),
                4 => products::<S, 4>(s, &frame[..window], later, out, norm),
                _ => products::<S, VECTORS>(s, &frame[..window], later, out, norm),
            }
            first += vectors * S::LANES;
        }

        let (energy, ballast) = (s.splat(energy), s.splat(ballast));
        let lanes = S::LANES;
        let outs = rows.pitch.chunks_exact_mut(lanes).zip(rows.pov.chunks_exact_mut(lanes));
        for ((pitch, pov), norm) in outs.zip(rows.norm.chunks_exact_mut(lanes)) {
            let (product, square) = (s.load(pitch), s.mul(energy, s.load(norm)));
            s.store(square, norm);
            s.store(quotient(s, product, s.add(square, ballast)), pitch);
            s.store(quotient(s, product, square), pov);
        }
    }
}

/// Returns the product over the root of the square; 0 if there is no energy, and if values are so
/// large that they overflow.
#[inline(always)]
fn quotient<S: Simd>(s: S, product: S::F32, square: S::F32) -> S::F32 {
    let (root, zero) = (s.sqrt(square), s.splat(0.0));
    let q = s.select_lt(zero, root, s.div(product, root), zero);
    s.select_lt(s.mul(q, q), s.splat(LIMIT * LIMIT), q, zero)
}

/// No correlation is larger than 1 by more than rounding; Kaldi stops at this limit.
const LIMIT: f32 = 1.01;

/// Computes Σ a\[n\] b\[n + l\] and Σ b\[n + l\]² over the window a, for l in the lanes of `V`
/// vectors.
#[inline(always)]
fn products<S: Simd, const V: usize>(s: S, window: &[f32], later: &[f32], out: &mut [f32], squares: &mut [f32]) {
    let mut sums = [[s.splat(0.0); V]; 2];
    let mut rest = later;
    for group in window.chunks(GROUP) {
        let mut part = [[s.splat(0.0); V]; 2];
        for &a in group {
            let a = s.splat(a);
            let run = &rest[..V * S::LANES];
            for v in 0..V {
                let b = s.load(&run[v * S::LANES..]);
                part[0][v] = s.mul_add(a, b, part[0][v]);
                part[1][v] = s.mul_add(b, b, part[1][v]);
            }
            rest = &rest[1..];
        }
        for (sums, part) in sums.iter_mut().zip(part) {
            for (sum, part) in sums.iter_mut().zip(part) {
                *sum = s.add(*sum, part);
            }
        }
    }
    for v in 0..V {
        s.store(sums[0][v], &mut out[v * S::LANES..]);
        s.store(sums[1][v], &mut squares[v * S::LANES..]);
    }
}

#[inline(always)]
fn sum<S: Simd>(s: S, x: &[f32]) -> f32 {
    let zero = s.splat(0.0);
    let mut sum = zero;
    for x in x.chunks(S::LANES) {
        sum = s.add(sum, s.load_partial(x, zero));
    }
    s.sum(sum)
}

#[inline(always)]
fn dot<S: Simd>(s: S, x: &[f32]) -> f32 {
    let zero = s.splat(0.0);
    let mut sum = zero;
    for x in x.chunks(S::LANES) {
        let x = s.load_partial(x, zero);
        sum = s.mul_add(x, x, sum);
    }
    s.sum(sum)
}
