//! The backward pass of an LSTM: the gradients by the gates of all steps and by the initial states.

use kaldera_base::Real;
use kaldera_base::simd::{Lanes, Simd};

use crate::kernels::lanes::{activate, load, slope, store, uncut};
use crate::kernels::panels::Panels;
use crate::kernels::product::{Product, Row, Sums, ToHidden, multiply};
use crate::kernels::sequence_buffers::SequenceBuffers;
use crate::kernels::steps::Backward;
use crate::lstm::weights::{Lstm, LstmOptions};

/// The weights, packed once for a pass.
#[derive(Debug)]
pub(super) struct Packed<T> {
    options: LstmOptions,
    hidden: usize,
    outputs: usize,
    recurrent: ToHidden<T>,
    peepholes: Vec<T>,
    projection: Option<Panels<T, 4>>,
    cell_clip: Option<T>,
    projection_clip: Option<T>,
}

impl<T: Real> Packed<T> {
    pub(super) fn new(lstm: &Lstm<T>) -> Self {
        let Lstm { options, weights } = lstm;
        let (hidden, outputs) = (lstm.hidden_size(), weights.weight_hh.num_cols());
        let panels = Panels::plain(weights.weight_hh.data(), 4 * hidden);
        Self {
            options: *options,
            hidden,
            outputs,
            recurrent: ToHidden { panels, width: 4 * hidden, depth: 4 * hidden, add: false },
            peepholes: weights.peepholes.as_ref().map_or(Vec::new(), |p| p.data().to_vec()),
            projection: weights.weight_hr.as_ref().map(|w| Panels::plain(w.data(), outputs)),
            cell_clip: options.cell_clip.map(T::from_f64),
            projection_clip: options.projection_clip.map(T::from_f64),
        }
    }
}

impl<T: Real> Backward<T> for Packed<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, s: S, sequences: &mut [SequenceBuffers<'_, T>], rows: &[(usize, usize)]) {
        for &(sequence, step) in rows {
            self.outputs(s, &mut sequences[sequence], step);
        }
        if let Some(panels) = &self.projection {
            multiply(s, &Projected { packed: self, panels }, sequences, rows);
        }
        for &(sequence, step) in rows {
            self.gates(s, &mut sequences[sequence], step);
        }
        multiply(s, &self.recurrent, sequences, rows);
    }
}

impl<T: Real> Packed<T> {
    /// Adds the gradient of the loss by the outputs of a step to dh. With a projection, passes it
    /// through the activation to dr.
    #[inline(always)]
    fn outputs<S: Simd>(&self, s: S, sequence: &mut SequenceBuffers<'_, T>, step: usize) {
        let s = T::lanes(s);
        let lanes = T::Lanes::<S>::LANES;
        let row = sequence.row(step) * self.outputs;
        if !sequence.grad_y.is_empty() {
            let from = sequence.grad_y[row..][..self.outputs].chunks(lanes);
            for (to, from) in sequence.dh.chunks_mut(lanes).zip(from) {
                store::<T, S>(s, s.add(load::<T, S>(s, to), load::<T, S>(s, from)), to);
            }
        }
        if self.projection.is_some() {
            let y = sequence.out[row..][..self.outputs].chunks(lanes);
            let to = sequence.dr[row..][..self.outputs].chunks_mut(lanes);
            for ((to, y), dh) in to.zip(y).zip(sequence.dh.chunks(lanes)) {
                let y = load::<T, S>(s, y);
                let grad = uncut::<T, S>(s, self.projection_clip, y, load::<T, S>(s, dh));
                store::<T, S>(s, slope::<T, S>(s, self.options.projection_activation, y, grad), to);
            }
        }
    }

    /// Computes the gradients by the gates, which overwrite the gates, and by the cell state
    /// before, given the gradients by the output and the cell state.
    #[inline(always)]
    fn gates<S: Simd>(&self, s: S, sequence: &mut SequenceBuffers<'_, T>, step: usize) {
        let Self { options, hidden, peepholes, cell_clip, .. } = self;
        let hidden = *hidden;
        let s = T::lanes(s);
        let lanes = T::Lanes::<S>::LANES;
        let row = sequence.row(step);
        let c = &sequence.c[row * hidden..][..hidden];
        let old = match step.checked_sub(1) {
            Some(before) => &sequence.c[sequence.row(before) * hidden..][..hidden],
            None => sequence.c0,
        };
        let gates = &mut sequence.gates[row * 4 * hidden..][..4 * hidden];
        let dm: &[T] = if self.projection.is_some() { sequence.dm } else { sequence.dh };
        for begin in (0..hidden).step_by(lanes) {
            let units = begin..(begin + lanes).min(hidden);
            let i = load::<T, S>(s, &gates[units.clone()]);
            let f = load::<T, S>(s, &gates[hidden..][units.clone()]);
            let g = load::<T, S>(s, &gates[2 * hidden..][units.clone()]);
            let o = load::<T, S>(s, &gates[3 * hidden..][units.clone()]);
            let (c, old) = (load::<T, S>(s, &c[units.clone()]), load::<T, S>(s, &old[units.clone()]));
            let dm = load::<T, S>(s, &dm[units.clone()]);
            let squashed = activate::<T, S>(s, options.cell_activation, c);
            let d_o = slope::<T, S>(s, options.gate_activation, o, s.mul(dm, squashed));
            let mut dc = load::<T, S>(s, &sequence.dc[units.clone()]);
            dc = s.add(dc, slope::<T, S>(s, options.cell_activation, squashed, s.mul(dm, o)));
            if !sequence.grad_cells.is_empty() {
                dc = s.add(dc, load::<T, S>(s, &sequence.grad_cells[row * hidden..][units.clone()]));
            }
            let peephole = |gate: usize| load::<T, S>(s, &peepholes[gate * hidden..][units.clone()]);
            if !peepholes.is_empty() {
                dc = s.mul_add(d_o, peephole(2), dc);
            }
            let dc = uncut::<T, S>(s, *cell_clip, c, dc);
            let di = slope::<T, S>(s, options.gate_activation, i, s.mul(dc, g));
            let df = slope::<T, S>(s, options.gate_activation, f, s.mul(dc, old));
            let dg = slope::<T, S>(s, options.candidate_activation, g, s.mul(dc, i));
            let mut dc = s.mul(dc, f);
            if !peepholes.is_empty() {
                dc = s.mul_add(di, peephole(0), s.mul_add(df, peephole(1), dc));
            }
            for (gate, v) in [di, df, dg, d_o].into_iter().enumerate() {
                store::<T, S>(s, v, &mut gates[gate * hidden..][units.clone()]);
            }
            store::<T, S>(s, dc, &mut sequence.dc[units]);
        }
    }
}

/// dr W_hr: the gradient by the values before the projection.
struct Projected<'a, T> {
    packed: &'a Packed<T>,
    panels: &'a Panels<T, 4>,
}

impl<T: Real> Product<T, 4> for Projected<'_, T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, sequence: &'t SequenceBuffers<'_, T>, step: usize) -> &'t [T] {
        let outputs = self.packed.outputs;
        &sequence.dr[sequence.row(step) * outputs..][..outputs]
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, (sequence, _): Row<'_, '_, T>, panel: usize, sums: &Sums<T, S>) {
        let s = T::lanes(s);
        for (v, &sum) in sums.iter().enumerate() {
            store::<T, S>(s, sum, &mut sequence.dm[self.panels.units_of(panel, v)]);
        }
    }
}
