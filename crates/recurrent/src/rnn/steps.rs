//! The steps of an [`Rnn`], forward and backward.

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Lanes, Simd};

use crate::activation::Activation;
use crate::kernels::lanes::{activate, load, slope, store};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Projection, ToHidden, multiply};
use crate::kernels::steps::{Backward, Forward, Widths};
use crate::kernels::track::Track;
use crate::rnn::Rnn;

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
    fn project<S: Simd>(&self, s: S, tracks: &mut [Track<'_, T>], rows: &[(usize, usize)]) {
        self.inputs.run(s, tracks, rows);
    }

    #[inline(always)]
    fn step<S: Simd>(&self, s: S, tracks: &mut [Track<'_, T>], rows: &[(usize, usize)]) {
        multiply(s, self, tracks, rows);
    }
}

impl<T: Real> Product<T, 4> for PackedForward<T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        &self.recurrent
    }

    #[inline(always)]
    fn operand<'t>(&self, track: &'t Track<'_, T>, step: usize) -> &'t [T] {
        track.hidden_before(step, self.hidden)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, track: &mut Track<'_, T>, step: usize, panel: usize, sums: &[Vector<T, S>; 4]) {
        let s = T::lanes(s);
        let place = track.place(track.gates, step, self.hidden);
        let row = track.row(step) * self.hidden;
        for (v, &sum) in sums.iter().enumerate() {
            let units = self.recurrent.units_of(panel, v);
            let sum = s.add(sum, load::<T, S>(s, &track.gates[place..][units.clone()]));
            store::<T, S>(s, activate::<T, S>(s, self.activation, sum), &mut track.y[row..][units]);
        }
    }
}

/// The weights, packed once for the way back.
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
    fn step<S: Simd>(&self, s: S, tracks: &mut [Track<'_, T>], rows: &[(usize, usize)]) {
        for &(track, step) in rows {
            self.gates(s, &mut tracks[track], step);
        }
        multiply(s, &self.recurrent, tracks, rows);
    }
}

impl<T: Real> PackedBackward<T> {
    /// The gradient by what is activated.
    #[inline(always)]
    fn gates<S: Simd>(&self, s: S, track: &mut Track<'_, T>, step: usize) {
        let s = T::lanes(s);
        let lanes = T::Lanes::<S>::LANES;
        let row = track.row(step) * self.hidden;
        for begin in (0..self.hidden).step_by(lanes) {
            let units = begin..(begin + lanes).min(self.hidden);
            let mut grad = load::<T, S>(s, &track.dh[units.clone()]);
            if !track.grad_y.is_empty() {
                grad = s.add(grad, load::<T, S>(s, &track.grad_y[row..][units.clone()]));
            }
            let y = load::<T, S>(s, &track.out[row..][units.clone()]);
            store::<T, S>(s, slope::<T, S>(s, self.activation, y, grad), &mut track.gates[row..][units]);
        }
    }
}
