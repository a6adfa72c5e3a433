//! The forward pass of a GRU, step by step.

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Lanes, Simd};

use crate::gru::weights::{Gru, GruOptions, Layout, Reset, Update};
use crate::kernels::lanes::{activate, load, store};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Projection, Row, Sums, multiply};
use crate::kernels::sequence_buffers::SequenceBuffers;
use crate::kernels::steps::{Forward, Widths};

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
    /// Weights of r and z, then weights of n.
    Before(Panels<T, 4>, Panels<T, 4>),
    /// Weights of r, z and n; then b_hn, empty without it.
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
            layout.offsets(),
            layout.width(),
        );
        Self { options: gru.options, layout, inputs, recurrent }
    }

    /// Computes r or z of some units. `gate` holds the part of the input and is overwritten; `sum`
    /// is the part of h'.
    #[inline(always)]
    fn gate<S: Simd>(&self, s: T::Lanes<S>, gate: &mut [T], sum: Vector<T, S>) -> Vector<T, S> {
        let v = activate::<T, S>(s, self.options.gate_activation, s.add(sum, load::<T, S>(s, gate)));
        store::<T, S>(s, v, gate);
        v
    }

    /// Mixes the old state and n by z.
    #[inline(always)]
    fn mixed<S: Simd>(&self, s: T::Lanes<S>, z: Vector<T, S>, old: Vector<T, S>, n: Vector<T, S>) -> Vector<T, S> {
        match self.options.update {
            // z h' + (1 - z) n and (1 - z) h' + z n, each with one multiplication.
            Update::Old => s.mul_add(z, s.sub(old, n), n),
            Update::New => s.mul_add(z, s.sub(n, old), old),
        }
    }
}

impl<T: Real> Forward<T> for Packed<T> {
    fn widths(&self) -> Widths {
        let Layout { hidden, reset } = self.layout;
        let between = if reset == Reset::Before { hidden } else { 0 };
        Widths { inputs: self.inputs.inputs(), outputs: hidden, cells: 0, gates: self.layout.width(), between }
    }

    #[inline(always)]
    fn project<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        self.inputs.run(s, sequences, rows);
    }

    #[inline(always)]
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        match &self.recurrent {
            Recurrent::After(panels, bias) => multiply(s, &ResetAfter { packed: self, panels, bias }, sequences, rows),
            Recurrent::Before(gates, candidate) => {
                multiply(s, &Gates { packed: self, panels: gates }, sequences, rows);
                multiply(s, &Candidate { packed: self, panels: candidate }, sequences, rows);
            }
        }
    }
}

/// U h', and all values that follow from it for the units of a panel.
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
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        sequence.hidden_before(step, self.packed.layout.hidden)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let Packed { options, layout, .. } = self.packed;
        let hidden = layout.hidden;
        let s = T::lanes(s);
        let units = self.panels.units_of(panel, 0);
        let old = load::<T, S>(s, &sequence.hidden_before(step, hidden)[units.clone()]);
        let offset = sequence.offset(sequence.gates, step, layout.width());
        let gates = &mut sequence.gates[offset..][..layout.width()];
        let r = self.packed.gate::<S>(s, &mut gates[units.clone()], sums[0]);
        let z = self.packed.gate::<S>(s, &mut gates[hidden..][units.clone()], sums[1]);
        let mut product = sums[2];
        if !self.bias.is_empty() {
            product = s.add(product, load::<T, S>(s, &self.bias[units.clone()]));
        }
        let n = s.mul_add(r, product, load::<T, S>(s, &gates[3 * hidden..][units.clone()]));
        let n = activate::<T, S>(s, options.candidate_activation, n);
        store::<T, S>(s, product, &mut gates[2 * hidden..][units.clone()]);
        store::<T, S>(s, n, &mut gates[3 * hidden..][units.clone()]);
        let row = sequence.row(step) * hidden;
        store::<T, S>(s, self.packed.mixed::<S>(s, z, old, n), &mut sequence.y[row..][units]);
    }
}

/// U_r h' and U_z h': the gates, and the reset hidden state.
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
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        sequence.hidden_before(step, self.packed.layout.hidden)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let Layout { hidden, .. } = self.packed.layout;
        let width = self.packed.layout.width();
        let s = T::lanes(s);
        let offset = sequence.offset(sequence.gates, step, width);
        let m_at = sequence.offset(sequence.m, step, hidden);
        for v in 0..2 {
            let units = self.panels.units_of(panel, v);
            let old = load::<T, S>(s, &sequence.hidden_before(step, hidden)[units.clone()]);
            let gates = &mut sequence.gates[offset..][..width];
            let r = self.packed.gate::<S>(s, &mut gates[units.clone()], sums[v]);
            self.packed.gate::<S>(s, &mut gates[hidden..][units.clone()], sums[2 + v]);
            store::<T, S>(s, s.mul(r, old), &mut sequence.m[m_at..][units]);
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
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        let hidden = self.packed.layout.hidden;
        &sequence.m[sequence.offset(sequence.m, step, hidden)..][..hidden]
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let Packed { options, layout, .. } = self.packed;
        let hidden = layout.hidden;
        let s = T::lanes(s);
        let offset = sequence.offset(sequence.gates, step, layout.width());
        let row = sequence.row(step) * hidden;
        for (v, &sum) in sums.iter().enumerate() {
            let units = self.panels.units_of(panel, v);
            let old = load::<T, S>(s, &sequence.hidden_before(step, hidden)[units.clone()]);
            let gates = &mut sequence.gates[offset..][..layout.width()];
            let z = load::<T, S>(s, &gates[hidden..][units.clone()]);
            let n = s.add(sum, load::<T, S>(s, &gates[2 * hidden..][units.clone()]));
            let n = activate::<T, S>(s, options.candidate_activation, n);
            store::<T, S>(s, n, &mut gates[2 * hidden..][units.clone()]);
            store::<T, S>(s, self.packed.mixed::<S>(s, z, old, n), &mut sequence.y[row..][units]);
        }
    }
}
