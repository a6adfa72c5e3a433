//! Interpolated weights between a few phases, for ratios that have too many phases.

use kaldera_base::kernel;
use kaldera_base::simd::{MAX_LANES, Simd, dispatch};

use crate::resample::polyphase::kaiser::Prototype;
use crate::resample::polyphase::ratio::Ratio;

/// Number of phases between two zeros of the sinc. The error of a straight line between two is pi^2
/// / 24 of the square of their distance, 4e-7.
const PHASES: f64 = 1024.0;

/// Rows of weights, from phase 0 to phase 1, which is the first one shifted by a sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interpolated {
    ratio: Ratio,
    num_phases: u64,
    num_taps: usize,
    /// Number of weights in a row, with zeros at its end.
    width: usize,
    weights: Vec<f32>,
}

impl Interpolated {
    pub(super) fn new(ratio: Ratio, prototype: &Prototype) -> Self {
        let num_taps = prototype.num_taps();
        let width = num_taps.next_multiple_of(MAX_LANES);
        let num_phases = (PHASES * prototype.factor()).ceil() as u64;
        let mut weights = Vec::with_capacity((num_phases as usize + 1) * width);
        for phase in 0..=num_phases {
            let phase = phase as f64 / num_phases as f64;
            weights.extend((0..width).map(|tap| match tap < num_taps {
                true => prototype.weight(tap, phase) as f32,
                false => 0.0,
            }));
        }
        Self { ratio, num_phases, num_taps, width, weights }
    }

    /// Returns the number of weights.
    #[cfg(test)]
    pub(super) fn num_weights(&self) -> usize {
        self.weights.len()
    }

    /// Computes the outputs from number `first` on. `samples[0]` is the sample number `base` of the
    /// signal; all samples that the outputs need are there.
    pub(super) fn products(&self, samples: &[f32], base: isize, first: usize, out: &mut [f32]) {
        let weights = self;
        dispatch(kernel!(<'a>(
            s: S, weights: &'a Interpolated, samples: &'a [f32], base: isize, first: usize, out: &'a mut [f32],
        ) {
            for (i, y) in out.iter_mut().enumerate() {
                *y = weights.product(s, samples, base, first + i);
            }
        }));
    }

    /// Computes output `n`.
    #[inline(always)]
    fn product<S: Simd>(&self, s: S, samples: &[f32], base: isize, n: usize) -> f32 {
        let Self { ratio, num_phases, num_taps, width, ref weights } = *self;
        let (sample, rest) = ratio.position(n);
        let (rest, output) = (u64::from(rest) * num_phases, u64::from(ratio.output));
        let (row, between) = (rest / output, (rest % output) as f32 / output as f32);
        let begin = (sample - (num_taps / 2 - 1).cast_signed() - base).cast_unsigned();
        let row = row as usize * width;
        let (this, next) = weights[row..row + 2 * width].split_at(width);
        let (mut of_this, mut of_next) = (s.splat(0.0), s.splat(0.0));
        let pairs = this.chunks_exact(S::LANES).zip(next.chunks_exact(S::LANES));
        for (x, (this, next)) in samples[begin..begin + num_taps].chunks(S::LANES).zip(pairs) {
            let x = if x.len() == S::LANES { s.load(x) } else { s.load_partial(x, s.splat(0.0)) };
            of_this = s.mul_add(x, s.load(this), of_this);
            of_next = s.mul_add(x, s.load(next), of_next);
        }
        let (of_this, of_next) = (s.sum(of_this), s.sum(of_next));
        of_this + (of_next - of_this) * between
    }
}
