//! The way forward of a GRU, step by step.

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Kernel, Lanes, Simd};

use super::{Gru, GruOptions, Layout, Reset, Update};
use crate::kernels::lanes::{activate, load, store};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Projection, multiply};
use crate::kernels::track::{Chunk, Track};

/// The weights, packed once for a pass.
#[derive(Debug)]
pub(super) struct Packed<T> {
    options: GruOptions,
    layout: Layout,
    inputs: Projection<T, 3>,
    recurrent: Recurrent<T>,
}

#[derive(Debug)]
enum Recurrent<T> {
    /// Those of r and z, then those of n.
    Before(Panels<T, 4>, Panels<T, 4>),
    /// Those of r, z and n; and b_hn, or nothing.
    After(Panels<T, 3>, Vec<T>),
}

impl<T: Real> Packed<T> {
    pub(super) fn new(gru: &Gru<T>) -> Self {
        let (hidden, layout, weights) = (gru.hidden_size(), gru.layout(), &gru.weights);
        let (matrix, bias) = (weights.weight_ih.as_ref(), weights.bias.as_ref());
        let inputs = matrix.map_or(3 * hidden, |w| w.num_cols());
        let weight_hh = weights.weight_hh.data();
        let recurrent = match layout.reset {
            Reset::Before => {
                let (gates, candidate) = weight_hh.split_at(2 * hidden * hidden);
                Recurrent::Before(Panels::transposed(gates, hidden, 2), Panels::transposed(candidate, hidden, 1))
            }
            Reset::After => {
                let bias = weights.bias_hn.as_ref().map_or(Vec::new(), |b| b.data().to_vec());
                Recurrent::After(Panels::transposed(weight_hh, hidden, 3), bias)
            }
        };
        let inputs = Projection::new(
            matrix.map(|w| w.data()),
            bias.map(|b| b.data()),
            inputs,
            hidden,
            layout.places(),
            layout.width(),
        );
        Self { options: gru.options, layout, inputs, recurrent }
    }

    /// What z makes of the old state and of n.
    #[inline(always)]
    fn mixed<S: Simd>(&self, s: T::Lanes<S>, z: Vector<T, S>, old: Vector<T, S>, n: Vector<T, S>) -> Vector<T, S> {
        match self.options.update {
            // z h' + (1 - z) n and (1 - z) h' + z n, each with one product.
            Update::Old => s.mul_add(z, s.sub(old, n), n),
            Update::New => s.mul_add(z, s.sub(n, old), old),
        }
    }
}

/// All steps of some sequences.
pub(super) struct Forward<'p, 't, 'a, T> {
    pub(super) packed: &'p Packed<T>,
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
                let rows = chunk.rows_of(step);
                match &packed.recurrent {
                    Recurrent::After(panels, bias) => {
                        multiply(s, &ResetAfter { packed, panels, bias }, tracks, rows);
                    }
                    Recurrent::Before(gates, candidate) => {
                        multiply(s, &Gates { packed, panels: gates }, tracks, rows);
                        multiply(s, &Candidate { packed, panels: candidate }, tracks, rows);
                    }
                }
            }
            begin = chunk.steps.end;
        }
    }
}

/// U h', and all that follows from it for the units of a panel.
struct ResetAfter<'a, T> {
    packed: &'a Packed<T>,
    panels: &'a Panels<T, 3>,
    bias: &'a [T],
}

impl<T: Real> Product<T, 3> for ResetAfter<'_, T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 3> {
        self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, track: &'t Track<'_, T>, step: usize) -> &'t [T] {
        track.hidden_before(step, self.packed.layout.hidden)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, track: &mut Track<'_, T>, step: usize, panel: usize, sums: &[Vector<T, S>; 4]) {
        let Packed { options, layout, .. } = self.packed;
        let hidden = layout.hidden;
        let s = T::lanes(s);
        let units = self.panels.units_of(panel, 0);
        let old = load::<T, S>(s, &track.hidden_before(step, hidden)[units.clone()]);
        let place = track.place(track.gates, step, layout.width());
        let gates = &mut track.gates[place..][..layout.width()];
        let r = s.add(sums[0], load::<T, S>(s, &gates[units.clone()]));
        let r = activate::<T, S>(s, options.gate_activation, r);
        let z = s.add(sums[1], load::<T, S>(s, &gates[hidden..][units.clone()]));
        let z = activate::<T, S>(s, options.gate_activation, z);
        let mut product = sums[2];
        if !self.bias.is_empty() {
            product = s.add(product, load::<T, S>(s, &self.bias[units.clone()]));
        }
        let n = s.mul_add(r, product, load::<T, S>(s, &gates[3 * hidden..][units.clone()]));
        let n = activate::<T, S>(s, options.candidate_activation, n);
        for (gate, v) in [r, z, product, n].into_iter().enumerate() {
            store::<T, S>(s, v, &mut gates[gate * hidden..][units.clone()]);
        }
        let row = track.row(step) * hidden;
        store::<T, S>(s, self.packed.mixed::<S>(s, z, old, n), &mut track.y[row..][units]);
    }
}

/// U_r h' and U_z h': the gates, and the hidden state that was reset.
struct Gates<'a, T> {
    packed: &'a Packed<T>,
    panels: &'a Panels<T, 4>,
}

impl<T: Real> Product<T, 4> for Gates<'_, T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, track: &'t Track<'_, T>, step: usize) -> &'t [T] {
        track.hidden_before(step, self.packed.layout.hidden)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, track: &mut Track<'_, T>, step: usize, panel: usize, sums: &[Vector<T, S>; 4]) {
        let Packed { options, layout, .. } = self.packed;
        let hidden = layout.hidden;
        let s = T::lanes(s);
        let place = track.place(track.gates, step, layout.width());
        for v in 0..2 {
            let units = self.panels.units_of(panel, v);
            let old = load::<T, S>(s, &track.hidden_before(step, hidden)[units.clone()]);
            let gates = &mut track.gates[place..][..layout.width()];
            let r = s.add(sums[v], load::<T, S>(s, &gates[units.clone()]));
            let r = activate::<T, S>(s, options.gate_activation, r);
            let z = s.add(sums[2 + v], load::<T, S>(s, &gates[hidden..][units.clone()]));
            let z = activate::<T, S>(s, options.gate_activation, z);
            store::<T, S>(s, r, &mut gates[units.clone()]);
            store::<T, S>(s, z, &mut gates[hidden..][units.clone()]);
            store::<T, S>(s, s.mul(r, old), &mut track.m[units]);
        }
    }
}

/// U_n (r h'), and the output that follows from it.
struct Candidate<'a, T> {
    packed: &'a Packed<T>,
    panels: &'a Panels<T, 4>,
}

impl<T: Real> Product<T, 4> for Candidate<'_, T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, track: &'t Track<'_, T>, _: usize) -> &'t [T] {
        track.m
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, track: &mut Track<'_, T>, step: usize, panel: usize, sums: &[Vector<T, S>; 4]) {
        let Packed { options, layout, .. } = self.packed;
        let hidden = layout.hidden;
        let s = T::lanes(s);
        let place = track.place(track.gates, step, layout.width());
        let row = track.row(step) * hidden;
        for (v, &sum) in sums.iter().enumerate() {
            let units = self.panels.units_of(panel, v);
            let old = load::<T, S>(s, &track.hidden_before(step, hidden)[units.clone()]);
            let gates = &mut track.gates[place..][..layout.width()];
            let z = load::<T, S>(s, &gates[hidden..][units.clone()]);
            let n = s.add(sum, load::<T, S>(s, &gates[2 * hidden..][units.clone()]));
            let n = activate::<T, S>(s, options.candidate_activation, n);
            store::<T, S>(s, n, &mut gates[2 * hidden..][units.clone()]);
            store::<T, S>(s, self.packed.mixed::<S>(s, z, old, n), &mut track.y[row..][units]);
        }
    }
}
