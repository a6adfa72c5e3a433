//! Power spectra of many frames at once.
//!
//! Vectors hold one sample of 8 or 16 frames: lane `l` of row `i` is sample `i` of frame `l`. Then a transform of one
//! frame, written with vectors in place of numbers, transforms all of them, without a single shuffle, and the order in
//! which results come out is a matter of which row to read. Sizes that are no power of two go frame by frame through
//! `realfft`.

use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

use kaldera_base::simd::{Lines, Simd};
use realfft::{RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;

/// A plan for frames of one size.
pub(crate) enum PowerSpectrum {
    Lanes(LaneFft),
    FrameByFrame(Arc<dyn RealToComplex<f32>>),
}

impl fmt::Debug for PowerSpectrum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes(plan) => write!(f, "PowerSpectrum::Lanes({})", 2 * plan.half),
            Self::FrameByFrame(plan) => write!(f, "PowerSpectrum::FrameByFrame({})", plan.len()),
        }
    }
}

/// Memory of the frame-by-frame path.
#[derive(Debug, Default)]
pub(crate) struct FrameScratch {
    frame: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
}

impl PowerSpectrum {
    /// For frames of `size` samples: even, 4 or more.
    pub(crate) fn new(size: usize) -> Self {
        if size.is_power_of_two() {
            Self::Lanes(LaneFft::new(size / 2))
        } else {
            Self::FrameByFrame(RealFftPlanner::new().plan_fft_forward(size))
        }
    }

    /// |X\[k\]|² for k = 0 ..= size/2 in the rows of `power`. The `size` rows of `frames` are used up.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(&self, s: S, frames: &mut Lines, power: &mut Lines, scratch: &mut FrameScratch) {
        match self {
            Self::Lanes(plan) => {
                let rows = frames.vectors(s, 2 * plan.half);
                plan.transform(s, rows);
                plan.power(s, rows, power.vectors(s, plan.half + 1));
            }
            Self::FrameByFrame(plan) => {
                let size = plan.len();
                let frames = frames.floats(size * S::LANES);
                let power = power.floats((size / 2 + 1) * S::LANES);
                let FrameScratch { frame, spectrum, scratch } = scratch;
                frame.resize(size, 0.0);
                spectrum.resize(size / 2 + 1, Complex::default());
                scratch.resize(plan.get_scratch_len(), Complex::default());
                for lane in 0..S::LANES {
                    for (x, row) in frame.iter_mut().zip(frames.chunks_exact(S::LANES)) {
                        *x = row[lane];
                    }
                    plan.process_with_scratch(frame, spectrum, scratch).expect("buffers of the plan's sizes");
                    for (x, row) in spectrum.iter().zip(power.chunks_exact_mut(S::LANES)) {
                        row[lane] = x.norm_sqr();
                    }
                }
            }
        }
    }
}

/// The transform of N real numbers as one of N/2 complex ones, whose real and imaginary parts are every other number.
pub(crate) struct LaneFft {
    /// N/2, a power of two from 2 up.
    half: usize,
    /// For each step of radix 4, for each j of a quarter: w^j, w^2j, w^3j, where w = e^(-2πi/4q), q the quarter.
    steps: Vec<Vec<[Complex<f32>; 3]>>,
    /// For k = 1 .. N/4 (inclusive): the rows where the results k and N/2 - k lie, and e^(-2πi k/N).
    pairs: Vec<(usize, usize, Complex<f32>)>,
}

impl LaneFft {
    fn new(half: usize) -> Self {
        let turn = |k: usize, n: usize| {
            let angle = -TAU * k as f64 / n as f64;
            Complex::new(angle.cos() as f32, angle.sin() as f32)
        };
        let mut steps = Vec::new();
        let mut size = half;
        while size >= 4 {
            let powers = |j| [1, 2, 3].map(|p| turn(p * j, size));
            steps.push((0..size / 4).map(powers).collect());
            size /= 4;
        }
        // Each step sorts by one digit of the index to base 4 (the last perhaps to base 2), the lowest digit first.
        let position = |k: usize| {
            let (mut k, mut size, mut at) = (k, half, 0);
            while size > 1 {
                let radix = if size >= 4 { 4 } else { 2 };
                size /= radix;
                at += k % radix * size;
                k /= radix;
            }
            2 * at
        };
        let pairs = (1..=half / 2).map(|k| (position(k), position(half - k), turn(k, 2 * half))).collect();
        Self { half, steps, pairs }
    }

    /// Complex transform in place: even rows are real parts, odd ones imaginary. Results come out in the order of `pairs`.
    #[inline(always)]
    fn transform<S: Simd>(&self, s: S, rows: &mut [S::F32]) {
        let mut size = self.half;
        for step in &self.steps {
            let quarter = size / 2;
            for block in rows.chunks_exact_mut(2 * size) {
                let (a, rest) = block.split_at_mut(quarter);
                let (b, rest) = rest.split_at_mut(quarter);
                let (c, d) = rest.split_at_mut(quarter);
                let (a, b) = (a.as_chunks_mut().0, b.as_chunks_mut().0);
                let (c, d) = (c.as_chunks_mut().0, d.as_chunks_mut().0);
                for ((((a, b), c), d), w) in a.iter_mut().zip(b).zip(c).zip(d).zip(step) {
                    radix_4(s, a, b, c, d, w);
                }
            }
            size /= 4;
        }
        if size == 2 {
            for block in rows.as_chunks_mut::<4>().0 {
                let [ar, ai, br, bi] = *block;
                *block = [s.add(ar, br), s.add(ai, bi), s.sub(ar, br), s.sub(ai, bi)];
            }
        }
    }

    /// The power of the real signal's spectrum from the complex one's: with Z\[k\] the latter, E = (Z\[k\] + Z*\[N/2-k\]) / 2
    /// is the transform of the even samples and O = (Z\[k\] - Z*\[N/2-k\]) / 2i that of the odd ones, and
    /// X\[k\] = E + w O, X\[N/2-k\]* = E - w O, where w = e^(-2πi k/N).
    #[inline(always)]
    fn power<S: Simd>(&self, s: S, rows: &[S::F32], power: &mut [S::F32]) {
        let (re, im) = (rows[0], rows[1]);
        let square = |x| s.mul(x, x);
        power[0] = square(s.add(re, im));
        power[self.half] = square(s.sub(re, im));
        let quarter = s.splat(0.25);
        for (k, &(at, partner, w)) in (1..).zip(&self.pairs) {
            let (ar, ai, br, bi) = (rows[at], rows[at + 1], rows[partner], rows[partner + 1]);
            let (er, ei) = (s.add(ar, br), s.sub(ai, bi));
            let (or, oi) = (s.add(ai, bi), s.sub(br, ar));
            let (wr, wi) = (s.splat(w.re), s.splat(w.im));
            let (tr, ti) = (s.mul_sub(wr, or, s.mul(wi, oi)), s.mul_add(wr, oi, s.mul(wi, or)));
            let norm = |re, im| s.mul(quarter, s.mul_add(re, re, square(im)));
            power[k] = norm(s.add(er, tr), s.add(ei, ti));
            power[self.half - k] = norm(s.sub(er, tr), s.sub(ei, ti));
        }
    }
}

#[inline(always)]
fn radix_4<S: Simd>(
    s: S,
    a: &mut [S::F32; 2],
    b: &mut [S::F32; 2],
    c: &mut [S::F32; 2],
    d: &mut [S::F32; 2],
    w: &[Complex<f32>; 3],
) {
    let add = |x: [S::F32; 2], y: [S::F32; 2]| [s.add(x[0], y[0]), s.add(x[1], y[1])];
    let sub = |x: [S::F32; 2], y: [S::F32; 2]| [s.sub(x[0], y[0]), s.sub(x[1], y[1])];
    let turn = |x: [S::F32; 2], w: Complex<f32>| {
        let (re, im) = (s.splat(w.re), s.splat(w.im));
        [s.mul_sub(x[0], re, s.mul(x[1], im)), s.mul_add(x[0], im, s.mul(x[1], re))]
    };
    let (ac, ac_diff) = (add(*a, *c), sub(*a, *c));
    let (bd, bd_diff) = (add(*b, *d), sub(*b, *d));
    // ac_diff - i bd_diff and ac_diff + i bd_diff
    let minus = [s.add(ac_diff[0], bd_diff[1]), s.sub(ac_diff[1], bd_diff[0])];
    let plus = [s.sub(ac_diff[0], bd_diff[1]), s.add(ac_diff[1], bd_diff[0])];
    *a = add(ac, bd);
    *b = turn(minus, w[0]);
    *c = turn(sub(ac, bd), w[1]);
    *d = turn(plus, w[2]);
}

#[cfg(test)]
mod tests {
    use kaldera_base::random::Philox;
    use kaldera_base::simd::{Kernel, available, dispatch_at};

    use super::*;

    struct Compare {
        size: usize,
    }

    impl Kernel for Compare {
        type Output = f64;

        /// The largest error, relative to the largest power of the frame.
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> f64 {
            let size = self.size;
            let (mut frames, mut power) = (Lines::new(), Lines::new());
            Philox::new(size as u64).add_gaussian(1.0, 0, frames.floats(size * S::LANES));
            let signal = frames.floats(size * S::LANES).to_vec();
            PowerSpectrum::new(size).compute(s, &mut frames, &mut power, &mut FrameScratch::default());
            let power = power.floats((size / 2 + 1) * S::LANES);
            let mut worst = 0.0_f64;
            for lane in 0..S::LANES {
                let exact: Vec<f64> = (0..=size / 2)
                    .map(|k| {
                        let terms = (0..size).map(|i| {
                            (f64::from(signal[i * S::LANES + lane]), TAU * ((i * k) % size) as f64 / size as f64)
                        });
                        let (re, im) = terms.fold((0.0, 0.0), |(re, im), (x, a)| (re + x * a.cos(), im - x * a.sin()));
                        re * re + im * im
                    })
                    .collect();
                let largest = exact.iter().fold(0.0_f64, |a, &b| a.max(b));
                for (k, exact) in exact.iter().enumerate() {
                    worst = worst.max((f64::from(power[k * S::LANES + lane]) - exact).abs() / largest);
                }
            }
            worst
        }
    }

    #[test]
    fn it_is_the_transform_of_the_definition() {
        for size in [4, 6, 8, 10, 16, 32, 64, 128, 200, 256, 400, 512, 1024] {
            for level in available() {
                let error = dispatch_at(level, Compare { size });
                // Rounding grows with the number of steps.
                assert!(error < 4e-7 * f64::from(size.ilog2()), "{error} for {size} at {level}");
            }
        }
    }
}
