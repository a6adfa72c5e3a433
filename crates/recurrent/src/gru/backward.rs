//! The backward pass of a GRU: the gradients by the gates of all steps and by the initial states.

use kaldera_base::Real;
use kaldera_base::simd::{Lanes, Simd};

use crate::gru::weights::{Gru, GruOptions, Layout, Reset, Update};
use crate::kernels::lanes::{load, slope, store};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Row, Sums, ToHidden, multiply};
use crate::kernels::sequence_buffers::SequenceBuffers;
use crate::kernels::steps::Backward;

/// The weights, packed once for a pass.
#[derive(Debug)]
pub(super) struct Packed<T> {
    options: GruOptions,
    layout: Layout,
    /// Weights that are multiplied with h'.
    recurrent: ToHidden<T>,
    /// Weights that are multiplied with r h', if the reset gate is before the product.
    candidate: Option<Panels<T, 4>>,
}

impl<T: Real> Packed<T> {
    pub(super) fn new(gru: &Gru<T>) -> Self {
        let (layout, weights) = (gru.layout(), gru.weights.weight_hh.data());
        let depth = match layout.reset {
            Reset::Before => 2 * layout.hidden,
            Reset::After => 3 * layout.hidden,
        };
        let (direct, candidate) = weights.split_at(depth * layout.hidden);
        let recurrent = ToHidden { panels: Panels::plain(direct, depth), width: layout.width(), depth, add: true };
        let candidate = (!candidate.is_empty()).then(|| Panels::plain(candidate, layout.hidden));
        Self { options: gru.options, layout, recurrent, candidate }
    }
}

impl<T: Real> Backward<T> for Packed<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        for &(sequence, step) in rows {
            self.gates(s, &mut sequences[sequence], step);
        }
        if let Some(panels) = &self.candidate {
            multiply(s, &ResetHidden { packed: self, panels }, sequences, rows);
        }
        multiply(s, &self.recurrent, sequences, rows);
    }
}

impl<T: Real> Packed<T> {
    /// Computes the gradients by z, n and, with the reset gate after the product, r, given the
    /// gradient by the output. dh becomes the gradient that passes directly to the hidden state
    /// before.
    #[inline(always)]
    fn gates<S: Simd>(&self, s: S, sequence: &mut SequenceBuffers<'_, T>, step: usize) {
        let Self { options, layout, .. } = self;
        let hidden = layout.hidden;
        let s = T::lanes(s);
        let lanes = T::Lanes::<S>::LANES;
        let row = sequence.row(step);
        let old = hidden_before(sequence, step, hidden);
        let gates = &mut sequence.gates[row * layout.width()..][..layout.width()];
        let candidate = layout.candidate();
        for begin in (0..hidden).step_by(lanes) {
            let units = begin..(begin + lanes).min(hidden);
            let mut dh = load::<T, S>(s, &sequence.dh[units.clone()]);
            if !sequence.grad_y.is_empty() {
                dh = s.add(dh, load::<T, S>(s, &sequence.grad_y[row * hidden..][units.clone()]));
            }
            let r = load::<T, S>(s, &gates[units.clone()]);
            let z = load::<T, S>(s, &gates[hidden..][units.clone()]);
            let n = load::<T, S>(s, &gates[candidate..][units.clone()]);
            let old = load::<T, S>(s, &old[units.clone()]);
            let by_z = s.mul(dh, z);
            let (dz, dn, dh) = match options.update {
                Update::Old => (s.mul(dh, s.sub(old, n)), s.sub(dh, by_z), by_z),
                Update::New => (s.mul(dh, s.sub(n, old)), by_z, s.sub(dh, by_z)),
            };
            let dz = slope::<T, S>(s, options.gate_activation, z, dz);
            let dn = slope::<T, S>(s, options.candidate_activation, n, dn);
            if layout.reset == Reset::After {
                let product = load::<T, S>(s, &gates[2 * hidden..][units.clone()]);
                let dr = slope::<T, S>(s, options.gate_activation, r, s.mul(dn, product));
                store::<T, S>(s, dr, &mut gates[units.clone()]);
                store::<T, S>(s, s.mul(dn, r), &mut gates[2 * hidden..][units.clone()]);
            }
            store::<T, S>(s, dz, &mut gates[hidden..][units.clone()]);
            store::<T, S>(s, dn, &mut gates[candidate..][units.clone()]);
            store::<T, S>(s, dh, &mut sequence.dh[units]);
        }
    }
}

/// Returns the hidden state before step `step`, from the outputs of the forward pass.
#[inline(always)]
fn hidden_before<'a, T>(sequence: &SequenceBuffers<'a, T>, step: usize, width: usize) -> &'a [T] {
    match step.checked_sub(1) {
        Some(before) => &sequence.out[sequence.row(before) * width..][..width],
        None => sequence.h0,
    }
}

/// dn U_n: the gradient by r h', and from it the gradients by r and by h'.
struct ResetHidden<'a, T> {
    packed: &'a Packed<T>,
    panels: &'a Panels<T, 4>,
}

impl<T: Real> Product<T, 4> for ResetHidden<'_, T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        let Layout { hidden, .. } = self.packed.layout;
        &sequence.gates[sequence.row(step) * 3 * hidden + 2 * hidden..][..hidden]
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let Packed { options, layout: Layout { hidden, .. }, .. } = self.packed;
        let s = T::lanes(s);
        let row = sequence.row(step) * hidden;
        let old = hidden_before(sequence, step, *hidden);
        for (v, &sum) in sums.iter().enumerate() {
            let units = self.panels.units_of(panel, v);
            let gate = &mut sequence.gates[3 * row..][units.clone()];
            let (r, old) = (load::<T, S>(s, gate), load::<T, S>(s, &old[units.clone()]));
            store::<T, S>(s, slope::<T, S>(s, options.gate_activation, r, s.mul(sum, old)), gate);
            let dh = &mut sequence.dh[units];
            store::<T, S>(s, s.mul_add(sum, r, load::<T, S>(s, dh)), dh);
        }
    }
}
