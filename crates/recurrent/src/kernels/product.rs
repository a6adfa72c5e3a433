//! Products of rows of several sequences with packed weights. Each sum is used at once.

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Lanes, Simd};

use crate::kernels::lanes::{load, store};
use crate::kernels::panels::{MAX_ROWS, Panels, blocks};
use crate::kernels::sequence_buffers::SequenceBuffers;

/// A sequence, and one of its steps.
pub(crate) type Row<'r, 'b, T> = (&'r mut SequenceBuffers<'b, T>, usize);

/// Sums of a panel, one for each of its vectors.
pub(crate) type Sums<T, S> = [Vector<T, S>; 4];

/// A product whose operands and results are rows of sequences.
pub(crate) trait Product<T: Real, const VECTORS: usize> {
    /// Returns the weights.
    fn panels(&self) -> &Panels<T, VECTORS>;
    /// Returns the operand of the sequence at step `step`.
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T];
    /// Takes the sums of a panel. Mark it `#[inline(always)]`.
    fn take<S: Simd>(&self, s: S, row: Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>);
}

/// Computes the product for the sequences and steps of `rows`.
#[inline(always)]
pub(crate) fn multiply<T: Real, S: Simd, const VECTORS: usize>(
    s: S,
    product: &impl Product<T, VECTORS>,
    sequences: &mut [SequenceBuffers<'_, T>],
    rows: &[(usize, usize)],
) {
    let zero = T::lanes(s).splat(T::ZERO);
    let mut sums = [[zero; 4]; MAX_ROWS];
    let panels = product.panels();
    for panel in 0..panels.count() {
        for block in blocks(s, rows.len()) {
            let rows = &rows[block];
            let mut operands: [&[T]; MAX_ROWS] = [&[]; MAX_ROWS];
            for (operand, &(sequence, step)) in operands.iter_mut().zip(rows) {
                *operand = product.operand(&sequences[sequence], step);
            }
            panels.multiply(s, panel, &operands[..rows.len()], &mut sums);
            for (&(sequence, step), sums) in rows.iter().zip(&sums) {
                product.take(s, (&mut sequences[sequence], step), panel, sums);
            }
        }
    }
}

/// The gates before their activation, as far as the inputs go: W x + b.
#[derive(Debug)]
pub(crate) struct Projection<T, const VECTORS: usize> {
    /// W, or `None` if the input is projected already.
    panels: Option<Panels<T, VECTORS>>,
    /// One number for each unit of each gate, or empty.
    bias: Vec<T>,
    inputs: usize,
    units: usize,
    /// Offset of each gate in a row of gates, and the width of the row.
    offsets: Vec<usize>,
    width: usize,
}

impl<T: Real, const VECTORS: usize> Projection<T, VECTORS> {
    /// Creates a projection for `offsets.len()` gates of `units` units each.
    pub(crate) fn new(
        weights: Option<&[T]>,
        bias: Option<&[T]>,
        inputs: usize,
        units: usize,
        offsets: Vec<usize>,
        width: usize,
    ) -> Self {
        // Inputs of width 0 leave only the bias; such weights do not give the number of units.
        let panels = weights.map(|weights| match inputs {
            0 => Panels::zeros(0, offsets.len(), units),
            _ => Panels::transposed(weights, inputs, offsets.len()),
        });
        Self { panels, bias: bias.unwrap_or_default().to_vec(), inputs, units, offsets, width }
    }

    /// Returns the width of the inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Projects the inputs of the sequences and steps of `rows` into their gates.
    #[inline(always)]
    pub(crate) fn run<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        match &self.panels {
            Some(panels) => multiply(s, &Projected { whole: self, panels }, sequences, rows),
            None => {
                for &(sequence, step) in rows {
                    self.copy(&mut sequences[sequence], step);
                }
            }
        }
    }

    /// Copies an input that is projected already.
    fn copy(&self, sequence: &mut SequenceBuffers<'_, T>, step: usize) {
        let input = sequence.input(step, self.inputs);
        let offset = sequence.offset(sequence.gates, step, self.width);
        for (gate, (&at, x)) in self.offsets.iter().zip(input.chunks_exact(self.units)).enumerate() {
            let to = &mut sequence.gates[offset + at..][..self.units];
            to.copy_from_slice(x);
            if !self.bias.is_empty() {
                to.iter_mut().zip(&self.bias[gate * self.units..]).for_each(|(to, &bias)| *to += bias);
            }
        }
    }
}

struct Projected<'a, T, const VECTORS: usize> {
    whole: &'a Projection<T, VECTORS>,
    panels: &'a Panels<T, VECTORS>,
}

impl<T: Real, const VECTORS: usize> Product<T, VECTORS> for Projected<'_, T, VECTORS> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, VECTORS> {
        self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        sequence.input(step, self.whole.inputs)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let Projection { bias, units, offsets, width, .. } = self.whole;
        let s = T::lanes(s);
        let offset = sequence.offset(sequence.gates, step, *width);
        let per_gate = VECTORS / offsets.len();
        for (v, &sum) in sums.iter().enumerate().take(VECTORS) {
            let (gate, part) = (v / per_gate, self.panels.units_of(panel, v % per_gate));
            let sum = match bias.is_empty() {
                true => sum,
                false => s.add(sum, load::<T, S>(s, &bias[gate * units..][part.clone()])),
            };
            store::<T, S>(s, sum, &mut sequence.gates[offset + offsets[gate]..][part]);
        }
    }
}

/// Gradients by gates times their weights: the part of a step in the gradient by the hidden state
/// of the step before.
#[derive(Debug)]
pub(crate) struct ToHidden<T> {
    pub(crate) panels: Panels<T, 4>,
    /// Width of a row of gates, and the number of its first elements that are multiplied.
    pub(crate) width: usize,
    pub(crate) depth: usize,
    /// `true` if the product is added to dh; otherwise it overwrites dh.
    pub(crate) add: bool,
}

impl<T: Real> Product<T, 4> for ToHidden<T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        &self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        &sequence.gates[sequence.offset(sequence.gates, step, self.width)..][..self.depth]
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, _): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let s = T::lanes(s);
        for (v, &sum) in sums.iter().enumerate() {
            let to = &mut sequence.dh[self.panels.units_of(panel, v)];
            let sum = if self.add { s.add(sum, load::<T, S>(s, to)) } else { sum };
            store::<T, S>(s, sum, to);
        }
    }
}
