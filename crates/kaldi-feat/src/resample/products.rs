//! Dot products of short runs of a signal with short rows of weights, as many at once as there are
//! lanes.

use kaldera_base::simd::{Kernel, MAX_LANES, Simd, dispatch};

/// Rows of weights, filled up with zeros to whole vectors.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filters {
    /// The first sample of each row in the signal, for the first use of the row.
    firsts: Vec<isize>,
    /// Number of values in a row: a multiple of all numbers of lanes.
    width: usize,
    weights: Vec<f32>,
}

impl Filters {
    /// Creates filters from rows and their first samples, which must not go backwards. Zeros that
    /// all rows begin or end with are cut off.
    pub(super) fn new(rows: impl Iterator<Item = (isize, Vec<f32>)>) -> Self {
        let rows: Vec<_> = rows.collect();
        let zeros = |row: &[f32]| row.iter().take_while(|&&w| w == 0.0).count();
        let skip = rows.iter().map(|(_, row)| zeros(row)).min().unwrap_or(0);
        let end = |row: &[f32]| row.iter().rposition(|&w| w != 0.0).map_or(0, |last| last + 1);
        let longest = rows.iter().map(|(_, row)| end(row).saturating_sub(skip)).max().unwrap_or(0);
        let width = longest.max(1).next_multiple_of(MAX_LANES);
        let mut weights = vec![0.0; rows.len() * width];
        for (to, (_, row)) in weights.chunks_exact_mut(width).zip(&rows) {
            let kept = &row[skip..end(row).max(skip)];
            to[..kept.len()].copy_from_slice(kept);
        }
        Self { firsts: rows.iter().map(|(first, _)| first + skip.cast_signed()).collect(), width, weights }
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Returns the number of values that a product reads from the start of its row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the first sample of row `i`.
    pub(super) fn first(&self, i: usize) -> isize {
        self.firsts[i]
    }

    /// Returns the lowest of all first samples.
    pub(super) fn lowest(&self) -> isize {
        self.firsts.iter().copied().min().unwrap_or(0)
    }

    /// Computes the products with the rows `row`, `row + 1` ... After the last row comes the first
    /// again, `step` samples further on. `samples[0]` is the sample number `base` for the first
    /// round of rows.
    pub(super) fn products(&self, samples: &[f32], base: isize, row: usize, step: usize, out: &mut [f32]) {
        dispatch(Products { filters: self, samples, base, row, step, out });
    }
}

struct Products<'a> {
    filters: &'a Filters,
    samples: &'a [f32],
    base: isize,
    row: usize,
    step: usize,
    out: &'a mut [f32],
}

impl Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { filters, samples, base, mut row, step, out } = self;
        let width = filters.width;
        let mut from = -base;
        for block in out.chunks_mut(S::LANES) {
            let mut square = [s.splat(0.0); MAX_LANES];
            let square = &mut square[..S::LANES];
            for sums in &mut square[..block.len()] {
                let start = (filters.firsts[row] + from).cast_unsigned();
                let run = samples[start..start + width].chunks_exact(S::LANES);
                let weights = filters.weights[row * width..(row + 1) * width].chunks_exact(S::LANES);
                for (x, w) in run.zip(weights) {
                    *sums = s.mul_add(s.load(x), s.load(w), *sums);
                }
                row += 1;
                if row == filters.firsts.len() {
                    row = 0;
                    from += step.cast_signed();
                }
            }
            // Lane i of vector k becomes lane k of vector i: adding up the vectors then adds up
            // each product's lanes.
            s.transpose(square);
            let mut half = S::LANES / 2;
            while half > 0 {
                let (low, high) = square.split_at_mut(half);
                for (a, &b) in low.iter_mut().zip(&*high) {
                    *a = s.add(*a, b);
                }
                half /= 2;
            }
            s.store_partial(square[0], block);
        }
    }
}
