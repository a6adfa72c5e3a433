//! Products of rows of several sequences with packed weights, and what becomes of each sum at once.

use kaldera_base::Real;
use kaldera_base::real::Vector;
use kaldera_base::simd::{Lanes, Simd};

use crate::kernels::lanes::{load, store};
use crate::kernels::panels::{MAX_ROWS, Panels, blocks};
use crate::kernels::track::Track;

/// A product whose operands and results are rows of tracks.
pub(crate) trait Product<T: Real, const VECTORS: usize> {
    /// The weights.
    fn panels(&self) -> &Panels<T, VECTORS>;
    /// What of the track is multiplied at step `step`.
    fn operand<'t>(&self, track: &'t Track<'_, T>, step: usize) -> &'t [T];
    /// Takes the sums of a panel. Mark it `#[inline(always)]`.
    fn take<S: Simd>(&self, s: S, track: &mut Track<'_, T>, step: usize, panel: usize, sums: &[Vector<T, S>; 4]);
}

/// The product for the tracks and steps of `rows`.
#[inline(always)]
pub(crate) fn multiply<T: Real, S: Simd, const VECTORS: usize>(
    s: S,
    product: &impl Product<T, VECTORS>,
    tracks: &mut [Track<'_, T>],
    rows: &[(usize, usize)],
) {
    let zero = T::lanes(s).splat(T::ZERO);
    let mut sums = [[zero; 4]; MAX_ROWS];
    let panels = product.panels();
    for panel in 0..panels.count() {
        for block in blocks(s, rows.len()) {
            let rows = &rows[block];
            let mut operands: [&[T]; MAX_ROWS] = [&[]; MAX_ROWS];
            for (operand, &(track, step)) in operands.iter_mut().zip(rows) {
                *operand = product.operand(&tracks[track], step);
            }
            panels.multiply(s, panel, &operands[..rows.len()], &mut sums);
            for (&(track, step), sums) in rows.iter().zip(&sums) {
                product.take(s, &mut tracks[track], step, panel, sums);
            }
        }
    }
}

/// The gates before their activation, as far as the inputs go: W x + b.
#[derive(Debug)]
pub(crate) struct Projection<T, const VECTORS: usize> {
    /// W, or nothing if the input is projected already.
    panels: Option<Panels<T, VECTORS>>,
    /// A number for each unit of each gate, or empty.
    bias: Vec<T>,
    inputs: usize,
    units: usize,
    /// Where in a row of gates those of each gate begin, and the width of the row.
    places: Vec<usize>,
    width: usize,
}

impl<T: Real, const VECTORS: usize> Projection<T, VECTORS> {
    /// For `places.len()` gates of `units` units each.
    pub(crate) fn new(
        weights: Option<&[T]>,
        bias: Option<&[T]>,
        inputs: usize,
        units: usize,
        places: Vec<usize>,
        width: usize,
    ) -> Self {
        // Inputs without values leave the bias; how many units there are such weights do not tell.
        let panels = weights.map(|weights| match inputs {
            0 => Panels::zeros(0, places.len(), units),
            _ => Panels::transposed(weights, inputs, places.len()),
        });
        Self { panels, bias: bias.unwrap_or_default().to_vec(), inputs, units, places, width }
    }

    /// The width of the inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Projects the inputs of the tracks and steps of `rows` into their gates.
    #[inline(always)]
    pub(crate) fn run<S: Simd>(&self, s: S, tracks: &mut [Track<'_, T>], rows: &[(usize, usize)]) {
        match &self.panels {
            Some(panels) => multiply(s, &Projected { whole: self, panels }, tracks, rows),
            None => {
                for &(track, step) in rows {
                    self.copy(&mut tracks[track], step);
                }
            }
        }
    }

    /// An input that is projected already.
    fn copy(&self, track: &mut Track<'_, T>, step: usize) {
        let input = track.input(step, self.inputs);
        let place = track.place(track.gates, step, self.width);
        for (gate, (&at, x)) in self.places.iter().zip(input.chunks_exact(self.units)).enumerate() {
            let to = &mut track.gates[place + at..][..self.units];
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
    fn operand<'t>(&self, track: &'t Track<'_, T>, step: usize) -> &'t [T] {
        track.input(step, self.whole.inputs)
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, track: &mut Track<'_, T>, step: usize, panel: usize, sums: &[Vector<T, S>; 4]) {
        let Projection { bias, units, places, width, .. } = self.whole;
        let s = T::lanes(s);
        let place = track.place(track.gates, step, *width);
        let per_gate = VECTORS / places.len();
        for (v, &sum) in sums.iter().enumerate().take(VECTORS) {
            let (gate, part) = (v / per_gate, self.panels.units_of(panel, v % per_gate));
            let sum = match bias.is_empty() {
                true => sum,
                false => s.add(sum, load::<T, S>(s, &bias[gate * units..][part.clone()])),
            };
            store::<T, S>(s, sum, &mut track.gates[place + places[gate]..][part]);
        }
    }
}

/// Gradients by gates times their weights: what a step gives to the hidden state of the step before.
#[derive(Debug)]
pub(crate) struct ToHidden<T> {
    pub(crate) panels: Panels<T, 4>,
    /// The width of a row of gates, and which of it are multiplied: the first ones.
    pub(crate) width: usize,
    pub(crate) depth: usize,
    /// Whether dh has something already.
    pub(crate) add: bool,
}

impl<T: Real> Product<T, 4> for ToHidden<T> {
    #[inline(always)]
    fn panels(&self) -> &Panels<T, 4> {
        &self.panels
    }

    #[inline(always)]
    fn operand<'t>(&self, track: &'t Track<'_, T>, step: usize) -> &'t [T] {
        &track.gates[track.place(track.gates, step, self.width)..][..self.depth]
    }

    #[inline(always)]
    fn take<S: Simd>(&self, s: S, track: &mut Track<'_, T>, _: usize, panel: usize, sums: &[Vector<T, S>; 4]) {
        let s = T::lanes(s);
        for (v, &sum) in sums.iter().enumerate() {
            let to = &mut track.dh[self.panels.units_of(panel, v)];
            let sum = if self.add { s.add(sum, load::<T, S>(s, to)) } else { sum };
            store::<T, S>(s, sum, to);
        }
    }
}
