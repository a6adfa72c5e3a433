//! Power spectra of many frames at once.
//!
//! Vectors hold one sample of 8 or 16 frames: lane `l` of row `i` is sample `i` of frame `l`. Then a transform of one
//! frame, written with vectors in place of numbers, transforms all of them, without a single shuffle, and the order in
//! which results come out is a matter of which row to read. Sizes that are no power of two go frame by frame through
//! `realfft`.

use std::f64::consts::TAU;
use std::fmt;

use kaldera_base::simd::{Kernel, Lines, Simd};
use kaldi_matrix::{FftScratch, SubVectorMut, real_fft_with};
use num_complex::Complex;

use crate::one_fft::OneFft;

/// A plan for frames of one size.
pub(crate) enum PowerSpectrum {
    Lanes(Box<LaneFft>, Box<OneFft>),
    /// Frames of as many samples.
    FrameByFrame(usize),
}

impl fmt::Debug for PowerSpectrum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes(plan, _) => write!(f, "PowerSpectrum::Lanes({})", 2 * plan.half),
            Self::FrameByFrame(size) => write!(f, "PowerSpectrum::FrameByFrame({size})"),
        }
    }
}

/// Memory of the frame-by-frame path.
#[derive(Debug, Default)]
pub(crate) struct FrameScratch {
    frame: Vec<f32>,
    fft: FftScratch,
}

impl FrameScratch {
    /// The transform of `frame`, as [`SpectrumOf::Packed`] says, in its place.
    fn transform(&mut self, frame: &mut [f32]) {
        real_fft_with(&mut SubVectorMut::from(frame), true, &mut self.fft).expect("an even number of samples");
    }
}

/// |X\[k\]|² of a packed spectrum for k = 0 ..= N/2.
fn power_of_packed(packed: &[f32]) -> impl Iterator<Item = f32> {
    let square = |x: f32| x * x;
    let inner = packed[2..].as_chunks().0.iter().map(|&[re, im]| re * re + im * im);
    std::iter::once(square(packed[0])).chain(inner).chain(std::iter::once(square(packed[1])))
}

/// What to make of the transform of each frame of N numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpectrumOf {
    /// |X\[k\]|² for k = 0 ..= N/2.
    Power,
    /// N numbers: X\[0\], X\[N/2\], which are real, then real and imaginary parts of X\[1\], X\[2\] ...
    Packed,
}

impl SpectrumOf {
    /// Rows for frames of `size` samples.
    pub(crate) fn rows(self, size: usize) -> usize {
        match self {
            Self::Power => size / 2 + 1,
            Self::Packed => size,
        }
    }
}

impl PowerSpectrum {
    /// For frames of `size` samples: even, 4 or more.
    pub(crate) fn new(size: usize) -> Self {
        match factors(size / 2) {
            Some(factors) => {
                let plan = LaneFft::new(&factors);
                let one = OneFft::new(&plan);
                Self::Lanes(Box::new(plan), Box::new(one))
            }
            None => Self::FrameByFrame(size),
        }
    }

    /// What `of` says, in the rows of `spectrum`. The rows of `frames`, as many as a frame has samples, are used up.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(
        &self,
        s: S,
        of: SpectrumOf,
        frames: &mut Lines,
        spectrum: &mut Lines,
        scratch: &mut FrameScratch,
    ) {
        s.vectorize(Transform { plan: self, of, frames, spectrum, scratch });
    }
}

impl PowerSpectrum {
    /// Frames of this size can be transformed one by one.
    #[inline(always)]
    pub(crate) fn has_one(&self) -> bool {
        match self {
            Self::Lanes(plan, _) => plan.half >= OneFft::LEAST,
            Self::FrameByFrame(_) => true,
        }
    }

    /// |X\[k\]|² of one frame whose samples lie in the lanes, and zeros behind them: the bits that [`compute`](Self::compute) gives.
    /// `frame` and `power` have [`PADDING`](OneFft::PADDING) more than the frame and its power.
    #[inline(always)]
    pub(crate) fn power_of_one<S: Simd>(
        &self,
        s: S,
        frame: &mut [f32],
        power: &mut [f32],
        lines: [&mut Lines; 2],
        scratch: &mut FrameScratch,
    ) {
        s.vectorize(TransformOne { plan: self, frame, power, lines, scratch });
    }
}

struct TransformOne<'a> {
    plan: &'a PowerSpectrum,
    frame: &'a mut [f32],
    power: &'a mut [f32],
    lines: [&'a mut Lines; 2],
    scratch: &'a mut FrameScratch,
}

impl Kernel for TransformOne<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { plan, frame, power, lines, scratch } = self;
        match plan {
            PowerSpectrum::Lanes(plan, one) => {
                one.power(s, plan, frame, power, lines);
            }
            PowerSpectrum::FrameByFrame(size) => {
                let frame = &mut frame[..*size];
                scratch.transform(frame);
                power.fill(0.0);
                power.iter_mut().zip(power_of_packed(frame)).for_each(|(to, x)| *to = x);
            }
        }
    }
}

/// The transform is the same for all kinds of features: it is compiled once, rather than into each of them.
struct Transform<'a> {
    plan: &'a PowerSpectrum,
    of: SpectrumOf,
    frames: &'a mut Lines,
    spectrum: &'a mut Lines,
    scratch: &'a mut FrameScratch,
}

impl Kernel for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { plan, of, frames, spectrum, scratch } = self;
        match plan {
            PowerSpectrum::Lanes(plan, _) => {
                let size = 2 * plan.half;
                let rows = frames.vectors(s, size);
                plan.transform(s, rows);
                let spectrum = spectrum.vectors(s, of.rows(size));
                match of {
                    SpectrumOf::Power => plan.power(s, rows, spectrum),
                    SpectrumOf::Packed => plan.packed(s, rows, spectrum),
                }
            }
            PowerSpectrum::FrameByFrame(size) => {
                let frames = frames.floats(size * S::LANES);
                let out = spectrum.floats(of.rows(*size) * S::LANES);
                let mut frame = std::mem::take(&mut scratch.frame);
                for lane in 0..S::LANES {
                    frame.clear();
                    frame.extend(frames.chunks_exact(S::LANES).map(|row| row[lane]));
                    scratch.transform(&mut frame);
                    let out = out.chunks_exact_mut(S::LANES).map(|row| &mut row[lane]);
                    match of {
                        SpectrumOf::Power => out.zip(power_of_packed(&frame)).for_each(|(to, x)| *to = x),
                        SpectrumOf::Packed => out.zip(&frame).for_each(|(to, &x)| *to = x),
                    }
                }
                scratch.frame = frame;
            }
        }
    }
}

/// The radices of a transform of `n` numbers, if they are among those that there are steps for.
fn factors(mut n: usize) -> Option<Vec<usize>> {
    let mut factors = Vec::new();
    for radix in [4, 2, 3, 5, 7, 11, 13] {
        while n.is_multiple_of(radix) {
            factors.push(radix);
            n /= radix;
        }
    }
    (n == 1).then_some(factors)
}

/// e^(-2πi k/n)
pub(crate) fn turn(k: usize, n: usize) -> Complex<f32> {
    let angle = -TAU * (k % n) as f64 / n as f64;
    Complex::new(angle.cos() as f32, angle.sin() as f32)
}

/// The transform of N real numbers as one of N/2 complex ones, whose real and imaginary parts are every other number.
pub(crate) struct LaneFft {
    /// N/2, 2 or more.
    pub(crate) half: usize,
    pub(crate) steps: Vec<Step>,
    /// For k = 1 .. N/4 (inclusive): the rows where the results k and N/2 - k lie, and e^(-2πi k/N).
    pairs: Vec<(usize, usize, Complex<f32>)>,
}

/// One step of the transform: blocks of `radix` · `part` numbers become `radix` smaller blocks.
pub(crate) struct Step {
    pub(crate) radix: usize,
    pub(crate) part: usize,
    /// For each j of a part: w^j, w^2j .. w^(radix-1)j, where w = e^(-2πi/(radix part)). None for parts of one number.
    pub(crate) twiddles: Vec<Complex<f32>>,
    /// e^(-2πi k/radix) for k from 0.
    pub(crate) roots: Vec<Complex<f32>>,
}

impl LaneFft {
    fn new(radices: &[usize]) -> Self {
        let half = radices.iter().product();
        let mut steps = Vec::new();
        let mut size = half;
        for &radix in radices {
            let part = size / radix;
            let turned = if part == 1 { 0 } else { part };
            let twiddles = (0..turned).flat_map(|j| (1..radix).map(move |p| turn(p * j, size))).collect();
            steps.push(Step { radix, part, twiddles, roots: (0..radix).map(|k| turn(k, radix)).collect() });
            size = part;
        }
        // Each step sorts by one digit of the index, to the base of its radix, the lowest digit first.
        let position = |k: usize| {
            let (mut k, mut at) = (k, 0);
            for step in &steps {
                at += k % step.radix * step.part;
                k /= step.radix;
            }
            2 * at
        };
        let pairs = (1..=half / 2).map(|k| (position(k), position(half - k), turn(k, 2 * half))).collect();
        Self { half, steps, pairs }
    }

    /// Complex transform in place: even rows are real parts, odd ones imaginary. Results come out in the order of `pairs`.
    #[inline(always)]
    fn transform<S: Simd>(&self, s: S, rows: &mut [S::F32]) {
        for step in &self.steps {
            step.apply(s, rows.as_chunks_mut::<2>().0);
        }
    }

    /// The power of the real signal's spectrum from the complex one's.
    #[inline(always)]
    fn power<S: Simd>(&self, s: S, rows: &[S::F32], power: &mut [S::F32]) {
        let (re, im) = (rows[0], rows[1]);
        let square = |x| s.mul(x, x);
        power[0] = square(s.add(re, im));
        power[self.half] = square(s.sub(re, im));
        for (k, pair) in (1..).zip(&self.pairs) {
            let [x, y] = twice_the_spectrum(s, pair, rows);
            power[k] = power_of_twice(s, x);
            power[self.half - k] = power_of_twice(s, y);
        }
    }

    /// The real signal's spectrum from the complex one's, as [`SpectrumOf::Packed`] says.
    #[inline(always)]
    fn packed<S: Simd>(&self, s: S, rows: &[S::F32], out: &mut [S::F32]) {
        let (re, im) = (rows[0], rows[1]);
        out[0] = s.add(re, im);
        out[1] = s.sub(re, im);
        let half = s.splat(0.5);
        for (k, pair) in (1..).zip(&self.pairs) {
            let [x, y] = twice_the_spectrum(s, pair, rows);
            for (k, [re, im], sign) in [(self.half - k, y, -0.5), (k, x, 0.5)] {
                out[2 * k] = s.mul(half, re);
                out[2 * k + 1] = s.mul(s.splat(sign), im);
            }
        }
    }
}

impl Step {
    #[inline(always)]
    pub(crate) fn apply<S: Simd>(&self, s: S, rows: &mut [[S::F32; 2]]) {
        step_of(s, &self.roots, self.part, &self.twiddles, rows);
    }
}

/// What a number is turned by.
pub(crate) trait Twiddle<S: Simd>: Copy {
    fn lanes(self, s: S) -> [S::F32; 2];
}

/// The same in all lanes.
impl<S: Simd> Twiddle<S> for Complex<f32> {
    #[inline(always)]
    fn lanes(self, s: S) -> [S::F32; 2] {
        [s.splat(self.re), s.splat(self.im)]
    }
}

/// Another one in each lane.
impl<S: Simd> Twiddle<S> for [S::F32; 2] {
    #[inline(always)]
    fn lanes(self, _: S) -> [S::F32; 2] {
        self
    }
}

/// A step whose parts have `part` rows each, and as many roots as its radix. Without twiddles nothing is turned.
#[inline(always)]
pub(crate) fn step_of<S: Simd, W: Twiddle<S>>(
    s: S,
    roots: &[Complex<f32>],
    part: usize,
    twiddles: &[W],
    rows: &mut [[S::F32; 2]],
) {
    match roots.len() {
        2 => small_step::<S, W, 2>(s, roots, part, twiddles, rows),
        3 => small_step::<S, W, 3>(s, roots, part, twiddles, rows),
        4 => step_of_4(s, part, twiddles, rows),
        5 => small_step::<S, W, 5>(s, roots, part, twiddles, rows),
        7 => small_step::<S, W, 7>(s, roots, part, twiddles, rows),
        11 => small_step::<S, W, 11>(s, roots, part, twiddles, rows),
        _ => small_step::<S, W, 13>(s, roots, part, twiddles, rows),
    }
}

/// 2 X\[k\] and 2 X*\[N/2-k\] of the real signal: with Z\[k\] the spectrum of the complex one, E = (Z\[k\] + Z*\[N/2-k\]) / 2
/// is the transform of the even samples and O = (Z\[k\] - Z*\[N/2-k\]) / 2i that of the odd ones, and
/// X\[k\] = E + w O, X*\[N/2-k\] = E - w O, where w = e^(-2πi k/N).
#[inline(always)]
fn twice_the_spectrum<S: Simd>(
    s: S,
    &(at, partner, w): &(usize, usize, Complex<f32>),
    rows: &[S::F32],
) -> [[S::F32; 2]; 2] {
    pair_of_spectrum(s, [rows[at], rows[at + 1]], [rows[partner], rows[partner + 1]], [s.splat(w.re), s.splat(w.im)])
}

#[inline(always)]
pub(crate) fn pair_of_spectrum<S: Simd>(s: S, a: [S::F32; 2], b: [S::F32; 2], w: [S::F32; 2]) -> [[S::F32; 2]; 2] {
    let e = [s.add(a[0], b[0]), s.sub(a[1], b[1])];
    let o = [s.add(a[1], b[1]), s.sub(b[0], a[0])];
    let t = turned(s, o, w);
    [add(s, e, t), sub(s, e, t)]
}

/// |x|² of x that is given twice.
#[inline(always)]
pub(crate) fn power_of_twice<S: Simd>(s: S, [re, im]: [S::F32; 2]) -> S::F32 {
    s.mul(s.splat(0.25), s.mul_add(re, re, s.mul(im, im)))
}

#[inline(always)]
fn add<S: Simd>(s: S, x: [S::F32; 2], y: [S::F32; 2]) -> [S::F32; 2] {
    [s.add(x[0], y[0]), s.add(x[1], y[1])]
}

#[inline(always)]
fn sub<S: Simd>(s: S, x: [S::F32; 2], y: [S::F32; 2]) -> [S::F32; 2] {
    [s.sub(x[0], y[0]), s.sub(x[1], y[1])]
}

#[inline(always)]
fn turned<S: Simd>(s: S, x: [S::F32; 2], w: [S::F32; 2]) -> [S::F32; 2] {
    [s.mul_sub(x[0], w[0], s.mul(x[1], w[1])), s.mul_add(x[0], w[1], s.mul(x[1], w[0]))]
}

/// A step with a transform of `R` numbers: number j of all parts of a block, transformed, then turned by the twiddles of j.
#[inline(always)]
fn small_step<S: Simd, W: Twiddle<S>, const R: usize>(
    s: S,
    roots: &[Complex<f32>],
    part: usize,
    twiddles: &[W],
    rows: &mut [[S::F32; 2]],
) {
    if twiddles.is_empty() {
        for block in rows.as_chunks_mut::<R>().0 {
            *block = small_transform(s, roots, *block);
        }
        return;
    }
    for block in rows.chunks_exact_mut(R * part) {
        for (j, twiddles) in twiddles.chunks_exact(R - 1).enumerate() {
            let mut x = [block[j]; R];
            for (i, x) in x.iter_mut().enumerate() {
                *x = block[i * part + j];
            }
            let y = small_transform(s, roots, x);
            block[j] = y[0];
            for i in 1..R {
                block[i * part + j] = turned(s, y[i], twiddles[i - 1].lanes(s));
            }
        }
    }
}

/// The transform of 2 numbers, or an odd number of them.
#[inline(always)]
fn small_transform<S: Simd, const R: usize>(s: S, roots: &[Complex<f32>], x: [[S::F32; 2]; R]) -> [[S::F32; 2]; R] {
    if R != 2 {
        return odd_transform(s, roots, x);
    }
    let mut y = x;
    (y[0], y[1]) = (add(s, x[0], x[1]), sub(s, x[0], x[1]));
    y
}

/// The transform of an odd number of numbers: x\[i\] and x\[R-i\] have the same cosines, and sines of opposite signs.
#[inline(always)]
fn odd_transform<S: Simd, const R: usize>(s: S, roots: &[Complex<f32>], x: [[S::F32; 2]; R]) -> [[S::F32; 2]; R] {
    let roots: &[Complex<f32>; R] = roots.try_into().expect("as many roots as the radix");
    let mut y = [x[0]; R];
    let (mut sums, mut differences) = ([x[0]; R], [x[0]; R]);
    for i in 1..=R / 2 {
        sums[i] = add(s, x[i], x[R - i]);
        differences[i] = sub(s, x[i], x[R - i]);
        y[0] = add(s, y[0], sums[i]);
    }
    for k in 1..=R / 2 {
        let (mut even, mut odd) = (x[0], [s.splat(0.0); 2]);
        for i in 1..=R / 2 {
            let root = roots[i * k % R];
            let (cos, sin) = (s.splat(root.re), s.splat(root.im));
            even = [s.mul_add(sums[i][0], cos, even[0]), s.mul_add(sums[i][1], cos, even[1])];
            odd = [s.mul_add(differences[i][0], sin, odd[0]), s.mul_add(differences[i][1], sin, odd[1])];
        }
        // i times `odd` is [-odd[1], odd[0]].
        y[k] = [s.sub(even[0], odd[1]), s.add(even[1], odd[0])];
        y[R - k] = [s.add(even[0], odd[1]), s.sub(even[1], odd[0])];
    }
    y
}

#[inline(always)]
fn step_of_4<S: Simd, W: Twiddle<S>>(s: S, part: usize, twiddles: &[W], rows: &mut [[S::F32; 2]]) {
    if twiddles.is_empty() {
        for block in rows.as_chunks_mut::<4>().0 {
            *block = transform_4(s, *block);
        }
        return;
    }
    let twiddles = twiddles.as_chunks::<3>().0;
    for block in rows.chunks_exact_mut(4 * part) {
        let (a, rest) = block.split_at_mut(part);
        let (b, rest) = rest.split_at_mut(part);
        let (c, d) = rest.split_at_mut(part);
        for ((((a, b), c), d), w) in a.iter_mut().zip(b).zip(c).zip(d).zip(twiddles) {
            let y = transform_4(s, [*a, *b, *c, *d]);
            *a = y[0];
            *b = turned(s, y[1], w[0].lanes(s));
            *c = turned(s, y[2], w[1].lanes(s));
            *d = turned(s, y[3], w[2].lanes(s));
        }
    }
}

#[inline(always)]
fn transform_4<S: Simd>(s: S, [a, b, c, d]: [[S::F32; 2]; 4]) -> [[S::F32; 2]; 4] {
    let (ac, ac_diff) = (add(s, a, c), sub(s, a, c));
    let (bd, bd_diff) = (add(s, b, d), sub(s, b, d));
    // ac_diff - i bd_diff and ac_diff + i bd_diff
    let minus = [s.add(ac_diff[0], bd_diff[1]), s.sub(ac_diff[1], bd_diff[0])];
    let plus = [s.sub(ac_diff[0], bd_diff[1]), s.add(ac_diff[1], bd_diff[0])];
    [add(s, ac, bd), minus, sub(s, ac, bd), plus]
}

#[cfg(test)]
mod tests {
    use kaldera_base::random::Philox;
    use kaldera_base::simd::{available, dispatch_at};

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
            let plan = PowerSpectrum::new(size);
            plan.compute(s, SpectrumOf::Power, &mut frames, &mut power, &mut FrameScratch::default());
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

    struct Packed {
        size: usize,
    }

    impl Kernel for Packed {
        type Output = f64;

        /// The largest error, relative to the largest magnitude.
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> f64 {
            let size = self.size;
            let (mut frames, mut packed) = (Lines::new(), Lines::new());
            Philox::new(size as u64).add_gaussian(1.0, 0, frames.floats(size * S::LANES));
            let signal = frames.floats(size * S::LANES).to_vec();
            let plan = PowerSpectrum::new(size);
            plan.compute(s, SpectrumOf::Packed, &mut frames, &mut packed, &mut FrameScratch::default());
            let packed = packed.floats(size * S::LANES);
            let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
            for k in 0..=size / 2 {
                let (mut re, mut im) = (0.0, 0.0);
                for i in 0..size {
                    let (sin, cos) = (TAU * ((i * k) % size) as f64 / size as f64).sin_cos();
                    let x = f64::from(signal[i * S::LANES]);
                    (re, im) = (re + x * cos, im - x * sin);
                }
                largest = largest.max(re.hypot(im));
                let row = |row: usize| f64::from(packed[row * S::LANES]);
                let error = match k {
                    0 => (row(0) - re).abs(),
                    k if k == size / 2 => (row(1) - re).abs(),
                    k => (row(2 * k) - re).abs().max((row(2 * k + 1) - im).abs()),
                };
                worst = worst.max(error);
            }
            worst / largest
        }
    }

    #[test]
    fn the_packed_spectrum_is_that_of_the_definition() {
        for size in [4, 6, 8, 18, 34, 50, 200, 256, 400] {
            for level in available() {
                let error = dispatch_at(level, Packed { size });
                assert!(error < 4e-7 * f64::from(size.ilog2()), "{error} for {size} at {level}");
            }
        }
    }

    #[test]
    fn it_is_the_transform_of_the_definition() {
        // 34 and 1202 have a large prime factor.
        for size in [4, 6, 8, 10, 14, 16, 18, 22, 26, 30, 32, 34, 50, 64, 128, 200, 256, 400, 512, 720, 882, 1024, 1202]
        {
            for level in available() {
                let error = dispatch_at(level, Compare { size });
                // Rounding grows with the number of steps.
                assert!(error < 4e-7 * f64::from(size.ilog2()), "{error} for {size} at {level}");
            }
        }
    }
}
