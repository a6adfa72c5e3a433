//! The steps of an [`Rnn`], forward and backward.

use kaldera_base::Real;
use kaldera_base::simd::{Lanes, Simd};

use crate::activation::Activation;
use crate::kernels::lanes::{activate, load, slope, store};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Projection, Row, Sums, ToHidden, multiply};
use crate::kernels::sequence_buffers::SequenceBuffers;
use crate::kernels::steps::{Backward, Forward, Widths};
use crate::rnn::weights::Rnn;

/// The weights, packed once for a pass.
#[derive(Debug)]
pub(super) struct PackedForward<T> {
    activation: Activation,
    hidden: usize,
    inputs: Projection<T, 4>,
    recurrent: Panels<T, 4>,
}

impl<T: Real> PackedForward<T> {
    pub(super) fn new(rnn: &Rnn<T>) -> Self {
        let (hidden, weights) = (rnn.hidden_size(), &rnn.weights);
        let (matrix, bias) = (weights.weight_ih.as_ref(), weights.bias.as_ref());
        let inputs = matrix.map_or(hidden, |w| w.num_cols());
        Self {
            activation: rnn.activation,
            hidden,
            inputs: Projection::new(matrix.map(|w| w.data()), bias.map(|b| b.data()), inputs, hidden, vec![0], hidden),
            recurrent: Panels::transposed(weights.weight_hh.data(), hidden, 1),
        }
    }
}

impl<T: Real> Forward<T> for PackedForward<T> {
    fn widths(&self) -> Widths {
        let hidden = self.hidden;
        Widths { inputs: self.inputs.inputs(), outputs: hidden, cells: 0, gates: hidden, between: 0 }
    }

    #[inline(always)]
    fn project<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        self.inputs.run(s, sequences, rows);
    }

    #[inline(always)]
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        multiply(s, self, sequences, rows);
    }
}

impl<T: Real> Product<T, 4> for PackedForward<T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        &self.recurrent
    }

    #[inline(always)]
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        sequence.hidden_before(step, self.hidden)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let s = T::lanes(s);
        let offset = sequence.offset(sequence.gates, step, self.hidden);
        let row = sequence.row(step) * self.hidden;
        for (v, &sum) in sums.iter().enumerate() {
            let units = self.recurrent.units_of(panel, v);
            let sum = s.add(sum, load::<T, S>(s, &sequence.gates[offset..][units.clone()]));
            store::<T, S>(s, activate::<T, S>(s, self.activation, sum), &mut sequence.y[row..][units]);
        }
    }
}

/// The weights, packed once for the backward pass.
#[derive(Debug)]
pub(super) struct PackedBackward<T> {
    activation: Activation,
    hidden: usize,
    recurrent: ToHidden<T>,
}

impl<T: Real> PackedBackward<T> {
    pub(super) fn new(rnn: &Rnn<T>) -> Self {
        let hidden = rnn.hidden_size();
        let panels = Panels::plain(rnn.weights.weight_hh.data(), hidden);
        let recurrent = ToHidden { panels, width: hidden, depth: hidden, add: false };
        Self { activation: rnn.activation, hidden, recurrent }
    }
}

impl<T: Real> Backward<T> for PackedBackward<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        for &(sequence, step) in rows {
            self.gates(s, &mut sequences[sequence], step);
        }
        multiply(s, &self.recurrent, sequences, rows);
    }
}

impl<T: Real> PackedBackward<T> {
    /// Computes the gradient by the argument of the activation.
    #[inline(always)]
    fn gates<S: Simd>(&self, s: S, sequence: &mut SequenceBuffers<'_, T>, step: usize) {
        let s = T::lanes(s);
        let lanes = T::Lanes::<S>::LANES;
        let row = sequence.row(step) * self.hidden;
        for begin in (0..self.hidden).step_by(lanes) {
            let units = begin..(begin + lanes).min(self.hidden);
            let mut grad = load::<T, S>(s, &sequence.dh[units.clone()]);
            if !sequence.grad_y.is_empty() {
                grad = s.add(grad, load::<T, S>(s, &sequence.grad_y[row..][units.clone()]));
            }
            let y = load::<T, S>(s, &sequence.out[row..][units.clone()]);
            store::<T, S>(s, slope::<T, S>(s, self.activation, y, grad), &mut sequence.gates[row..][units]);
        }
    }
}
