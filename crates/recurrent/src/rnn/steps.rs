//! The steps of an [`Rnn`], forward and backward.

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Kernel, Lanes, Simd};

use super::Rnn;
use crate::Activation;
use crate::kernels::lanes::{activate, load, slope, store};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Projection, ToHidden, multiply};
use crate::kernels::track::{Chunk, Track, rows_of_step};

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

/// All steps of some sequences.
pub(super) struct Forward<'p, 't, 'a, T> {
    pub(super) packed: &'p PackedForward<T>,
    pub(super) tracks: &'t mut [Track<'a, T>],
}

impl<T: Real> Kernel for Forward<'_, '_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { packed, tracks } = self;
        let mut begin = 0;
        while let Some(chunk) = Chunk::next(tracks, begin) {
            packed.inputs.run(s, tracks, chunk.rows());
            for step in chunk.steps.clone() {
                multiply(s, packed, tracks, chunk.rows_of(step));
            }
            begin = chunk.steps.end;
        }
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

/// All steps of some sequences, the last first.
pub(super) struct Backward<'p, 't, 'a, T> {
    pub(super) packed: &'p PackedBackward<T>,
    pub(super) tracks: &'t mut [Track<'a, T>],
}

impl<T: Real> Kernel for Backward<'_, '_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { packed, tracks } = self;
        let steps = tracks.first().map_or(0, |track| track.len);
        let mut rows = Vec::new();
        for step in (0..steps).rev() {
            rows_of_step(tracks, step, &mut rows);
            for &(track, _) in &rows {
                packed.gates(s, &mut tracks[track], step);
            }
            multiply(s, &packed.recurrent, tracks, &rows);
        }
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
