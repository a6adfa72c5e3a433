//! The forward pass of an LSTM, step by step.

use kaldera_base::Real;
use kaldera_base::simd::{Lanes, Simd};

use crate::kernels::lanes::{activate, clip, load, store};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Projection, Row, Sums, multiply};
use crate::kernels::sequence_buffers::SequenceBuffers;
use crate::kernels::steps::{Forward, Widths};
use crate::lstm::weights::{Lstm, LstmOptions};

/// The weights, packed once for a pass.
#[derive(Debug)]
pub(super) struct Packed<T> {
    options: LstmOptions,
    hidden: usize,
    outputs: usize,
    inputs: Projection<T, 4>,
    recurrent: Panels<T, 4>,
    /// Peepholes of the gates i, f, o; or empty.
    peepholes: Vec<T>,
    projection: Option<Panels<T, 4>>,
    cell_clip: Option<T>,
    projection_clip: Option<T>,
}

impl<T: Real> Packed<T> {
    pub(super) fn new(lstm: &Lstm<T>) -> Self {
        let Lstm { options, weights } = lstm;
        let (hidden, outputs) = (lstm.hidden_size(), weights.weight_hh.num_cols());
        let (matrix, bias) = (weights.weight_ih.as_ref(), weights.bias.as_ref());
        let inputs = matrix.map_or(4 * hidden, |w| w.num_cols());
        let offsets = (0..4).map(|gate| gate * hidden).collect();
        Self {
            options: *options,
            hidden,
            outputs,
            inputs: Projection::new(
                matrix.map(|w| w.data()),
                bias.map(|b| b.data()),
                inputs,
                hidden,
                offsets,
                4 * hidden,
            ),
            recurrent: Panels::transposed(weights.weight_hh.data(), outputs, 4),
            peepholes: weights.peepholes.as_ref().map_or(Vec::new(), |p| p.data().to_vec()),
            projection: weights.weight_hr.as_ref().map(|w| Panels::transposed(w.data(), hidden, 1)),
            cell_clip: options.cell_clip.map(T::from_f64),
            projection_clip: options.projection_clip.map(T::from_f64),
        }
    }
}

impl<T: Real> Forward<T> for Packed<T> {
    fn widths(&self) -> Widths {
        let Self { hidden, outputs, .. } = *self;
        let between = if self.projection.is_some() { hidden } else { 0 };
        Widths { inputs: self.inputs.inputs(), outputs, cells: hidden, gates: 4 * hidden, between }
    }

    #[inline(always)]
    fn project<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        self.inputs.run(s, sequences, rows);
    }

    #[inline(always)]
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        multiply(s, &Units(self), sequences, rows);
        if let Some(panels) = &self.projection {
            multiply(s, &Outputs { packed: self, panels }, sequences, rows);
        }
    }
}

/// U h', and all values that follow from it for the units of a panel.
struct Units<'a, T>(&'a Packed<T>);

impl<T: Real> Product<T, 4> for Units<'_, T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        &self.0.recurrent
    }

    #[inline(always)]
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        sequence.hidden_before(step, self.0.outputs)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let Packed { options, hidden, recurrent, peepholes, projection, cell_clip, .. } = self.0;
        let s = T::lanes(s);
        let units = recurrent.units_of(panel, 0);
        let row = sequence.row(step) * hidden;
        let gates_at = sequence.offset(sequence.gates, step, 4 * hidden);
        let c_at = sequence.offset(sequence.c, step, *hidden);
        let old = match step.checked_sub(1) {
            Some(before) => &sequence.c[sequence.offset(sequence.c, before, *hidden)..],
            None => sequence.c0,
        };
        let old = load::<T, S>(s, &old[units.clone()]);
        let gates = &mut sequence.gates[gates_at..][..4 * hidden];
        let peephole = |gate: usize| load::<T, S>(s, &peepholes[gate * hidden..][units.clone()]);
        let mut sums = *sums;
        for (gate, sum) in sums.iter_mut().enumerate() {
            *sum = s.add(*sum, load::<T, S>(s, &gates[gate * hidden..][units.clone()]));
        }
        if !peepholes.is_empty() {
            sums[0] = s.mul_add(peephole(0), old, sums[0]);
            sums[1] = s.mul_add(peephole(1), old, sums[1]);
        }
        let i = activate::<T, S>(s, options.gate_activation, sums[0]);
        let f = activate::<T, S>(s, options.gate_activation, sums[1]);
        let g = activate::<T, S>(s, options.candidate_activation, sums[2]);
        let c = clip::<T, S>(s, *cell_clip, s.mul_add(f, old, s.mul(i, g)));
        if !peepholes.is_empty() {
            sums[3] = s.mul_add(peephole(2), c, sums[3]);
        }
        let o = activate::<T, S>(s, options.gate_activation, sums[3]);
        let m = s.mul(o, activate::<T, S>(s, options.cell_activation, c));
        for (gate, v) in [i, f, g, o].into_iter().enumerate() {
            store::<T, S>(s, v, &mut gates[gate * hidden..][units.clone()]);
        }
        store::<T, S>(s, c, &mut sequence.c[c_at..][units.clone()]);
        let to = match projection {
            None => &mut sequence.y[row..],
            Some(_) => {
                let at = sequence.offset(sequence.m, step, *hidden);
                &mut sequence.m[at..]
            }
        };
        store::<T, S>(s, m, &mut to[units]);
    }
}

/// W_hr m, and the outputs that follow from it.
struct Outputs<'a, T> {
    packed: &'a Packed<T>,
    panels: &'a Panels<T, 4>,
}

impl<T: Real> Product<T, 4> for Outputs<'_, T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        let hidden = self.packed.hidden;
        &sequence.m[sequence.offset(sequence.m, step, hidden)..][..hidden]
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, step): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let Packed { options, outputs, projection_clip, .. } = self.packed;
        let s = T::lanes(s);
        let row = sequence.row(step) * outputs;
        for (v, &sum) in sums.iter().enumerate() {
            let y = activate::<T, S>(s, options.projection_activation, sum);
            let to = &mut sequence.y[row..][self.panels.units_of(panel, v)];
            store::<T, S>(s, clip::<T, S>(s, *projection_clip, y), to);
        }
    }
}
