//! Power spectra of many frames at once.
//!
//! Vectors hold one sample of 8 or 16 frames: lane `l` of row `i` is sample `i` of frame `l`. Then
//! a transform of one frame, written with vectors in place of numbers, transforms all of them
//! without a single shuffle, and the order of the results only decides which row to read. A step
//! has the radix of a prime factor of the size, whatever it is: as in Kaldi, time grows with the
//! largest one.

use std::f64::consts::TAU;

use kaldera_base::simd::Simd;
use num_complex::Complex;

use crate::spectrum::split_radix::SplitRadix;

/// Returns the radices of a transform of `n` values, from 1 on: 4, and primes.
pub(crate) fn factors(mut n: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    for radix in [4, 2].into_iter().chain((3..).step_by(2)) {
        while n.is_multiple_of(radix) {
            factors.push(radix);
            n /= radix;
        }
        if n == 1 {
            break;
        }
        // Without a divisor up to its root, it is a prime.
        if radix % 2 == 1 && radix * radix > n {
            factors.push(n);
            break;
        }
    }
    factors
}

/// Returns e^(-2πi k/n).
fn turn(k: usize, n: usize) -> Complex<f32> {
    let angle = -TAU * (k % n) as f64 / n as f64;
    Complex::new(angle.cos() as f32, angle.sin() as f32)
}

/// The transform of N real values as a transform of N/2 complex ones, whose real and imaginary
/// parts alternate in the input.
#[derive(Debug)]
pub(crate) struct LaneFft {
    /// N/2, 2 or more.
    pub(crate) half: usize,
    steps: Vec<Step>,
    /// In place of the steps: the transform that rounds as Kaldi does.
    as_kaldi: Option<SplitRadix>,
    /// For k = 1 .. N/4 (inclusive): the rows of the results k and N/2 - k, and e^(-2πi k/N).
    pairs: Vec<(usize, usize, Complex<f32>)>,
}

/// One step of the transform: blocks of `radix` · `part` values become `radix` smaller blocks.
#[derive(Debug)]
struct Step {
    radix: usize,
    part: usize,
    /// For each j of a part: w^j, w^2j .. w^(radix-1)j, where w = e^(-2πi/(radix part)). Empty for
    /// parts of one value.
    twiddles: Vec<Complex<f32>>,
    /// e^(-2πi k/radix) for k from 0.
    roots: Vec<Complex<f32>>,
}

impl LaneFft {
    pub(crate) fn new(radices: &[usize]) -> Self {
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
        // Each step sorts by one digit of the index, to the base of its radix, the lowest digit
        // first.
        let position = |k: usize| {
            let (mut k, mut at) = (k, 0);
            for step in &steps {
                at += k % step.radix * step.part;
                k /= step.radix;
            }
            2 * at
        };
        let pairs = (1..=half / 2).map(|k| (position(k), position(half - k), turn(k, 2 * half))).collect();
        Self { half, steps, as_kaldi: None, pairs }
    }

    /// Creates the transform of 2 * `half` values with Kaldi's rounding; `half` is a power of 2.
    pub(crate) fn as_kaldi(half: usize) -> Self {
        let log = half.ilog2() as usize;
        let position = |k: usize| 2 * SplitRadix::position(k, log);
        let pair = |(k, turn)| (position(k), position(half - k), turn);
        let pairs = (1..).zip(SplitRadix::turns(2 * half)).map(pair).collect();
        Self { half, steps: Vec::new(), as_kaldi: Some(SplitRadix::new(log)), pairs }
    }

    /// Computes the complex transform in place: even rows are real parts, odd ones imaginary. The
    /// results are in the order of `pairs`.
    #[inline(always)]
    pub(crate) fn transform<S: Simd>(&self, s: S, rows: &mut [S::F32]) {
        let rows = rows.as_chunks_mut::<2>().0;
        if let Some(split) = &self.as_kaldi {
            return split.transform(s, rows);
        }
        for step in &self.steps {
            step.apply(s, rows);
        }
    }

    /// Computes the power of the real signal's spectrum from the complex one.
    #[inline(always)]
    pub(crate) fn power<S: Simd>(&self, s: S, rows: &[S::F32], power: &mut [S::F32]) {
        let (re, im) = (rows[0], rows[1]);
        let square = |x| s.mul(x, x);
        power[0] = square(s.add(re, im));
        power[self.half] = square(s.sub(re, im));
        for (k, pair) in (1..).zip(&self.pairs) {
            let [x, y] = twice_the_spectrum(s, pair, rows, self.as_kaldi.is_none());
            let [x, y] = match self.as_kaldi {
                Some(_) => [x, y].map(|x| s.mul(s.splat(0.25), s.add(square(x[0]), square(x[1])))),
                None => [power_of_twice(s, x), power_of_twice(s, y)],
            };
            (power[k], power[self.half - k]) = (x, y);
        }
    }

    /// Computes the real signal's spectrum from the complex one, in the layout of
    /// [`SpectrumOf::Packed`].
    #[inline(always)]
    pub(crate) fn packed<S: Simd>(&self, s: S, rows: &[S::F32], out: &mut [S::F32]) {
        let (re, im) = (rows[0], rows[1]);
        out[0] = s.add(re, im);
        out[1] = s.sub(re, im);
        let half = s.splat(0.5);
        for (k, pair) in (1..).zip(&self.pairs) {
            let [x, y] = twice_the_spectrum(s, pair, rows, self.as_kaldi.is_none());
            for (k, [re, im], sign) in [(self.half - k, y, -0.5), (k, x, 0.5)] {
                out[2 * k] = s.mul(half, re);
                out[2 * k + 1] = s.mul(s.splat(sign), im);
            }
        }
    }
}

impl Step {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, rows: &mut [[S::F32; 2]]) {
        match self.radix {
            2 => small_step::<S, 2>(s, self, rows),
            3 => small_step::<S, 3>(s, self, rows),
            4 => step_of_4(s, self, rows),
            5 => small_step::<S, 5>(s, self, rows),
            7 => small_step::<S, 7>(s, self, rows),
            11 => small_step::<S, 11>(s, self, rows),
            13 => small_step::<S, 13>(s, self, rows),
            _ => large_step(s, self, rows),
        }
    }
}

/// Computes 2 X\[k\] and 2 X*\[N/2-k\] of the real signal. With the spectrum Z\[k\] of the complex
/// one, E = (Z\[k\] + Z*\[N/2-k\]) / 2 is the transform of the even samples and O = (Z\[k\] -
/// Z*\[N/2-k\]) / 2i the transform of the odd ones, and X\[k\] = E + w O, X*\[N/2-k\] = E - w O,
/// where w = e^(-2πi k/N).
#[inline(always)]
fn twice_the_spectrum<S: Simd>(
    s: S,
    &(at, partner, w): &(usize, usize, Complex<f32>),
    rows: &[S::F32],
    fused: bool,
) -> [[S::F32; 2]; 2] {
    let (a, b) = ([rows[at], rows[at + 1]], [rows[partner], rows[partner + 1]]);
    let e = [s.add(a[0], b[0]), s.sub(a[1], b[1])];
    let o = [s.add(a[1], b[1]), s.sub(b[0], a[0])];
    let t = if fused { turned(s, o, w) } else { turned_unfused(s, o, w) };
    [add(s, e, t), sub(s, e, t)]
}

/// Computes |x|², given 2 x.
#[inline(always)]
fn power_of_twice<S: Simd>(s: S, [re, im]: [S::F32; 2]) -> S::F32 {
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
fn turned<S: Simd>(s: S, x: [S::F32; 2], w: Complex<f32>) -> [S::F32; 2] {
    let w = [s.splat(w.re), s.splat(w.im)];
    [s.mul_sub(x[0], w[0], s.mul(x[1], w[1])), s.mul_add(x[0], w[1], s.mul(x[1], w[0]))]
}

#[inline(always)]
fn turned_unfused<S: Simd>(s: S, x: [S::F32; 2], w: Complex<f32>) -> [S::F32; 2] {
    let w = [s.splat(w.re), s.splat(w.im)];
    [s.sub(s.mul(x[0], w[0]), s.mul(x[1], w[1])), s.add(s.mul(x[1], w[0]), s.mul(x[0], w[1]))]
}

/// Runs a step with a transform of `R` values: value j of all parts of a block, transformed, then
/// turned by the twiddles of j. Without twiddles nothing is turned.
#[inline(always)]
fn small_step<S: Simd, const R: usize>(s: S, step: &Step, rows: &mut [[S::F32; 2]]) {
    let &Step { part, ref twiddles, ref roots, .. } = step;
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
                block[i * part + j] = turned(s, y[i], twiddles[i - 1]);
            }
        }
    }
}

/// Transforms 2 values, or an odd number of them.
#[inline(always)]
fn small_transform<S: Simd, const R: usize>(s: S, roots: &[Complex<f32>], x: [[S::F32; 2]; R]) -> [[S::F32; 2]; R] {
    if R != 2 {
        return odd_transform(s, roots, x);
    }
    let mut y = x;
    (y[0], y[1]) = (add(s, x[0], x[1]), sub(s, x[0], x[1]));
    y
}

/// Transforms an odd number of values.
#[inline(always)]
fn odd_transform<S: Simd, const R: usize>(s: S, roots: &[Complex<f32>], x: [[S::F32; 2]; R]) -> [[S::F32; 2]; R] {
    let roots: &[Complex<f32>; R] = roots.try_into().expect("as many roots as the radix");
    let mut y = [x[0]; R];
    let (mut sums, mut differences) = ([x[0]; R], [x[0]; R]);
    odd_transform_into(s, roots, &x, [&mut sums, &mut differences], &mut y);
    y
}

/// Transforms an odd number of values: x\[i\] and x\[R-i\] have the same cosines, and sines of
/// opposite signs.
#[inline(always)]
fn odd_transform_into<S: Simd>(
    s: S,
    roots: &[Complex<f32>],
    x: &[[S::F32; 2]],
    [sums, differences]: [&mut [[S::F32; 2]]; 2],
    y: &mut [[S::F32; 2]],
) {
    let radix = roots.len();
    y[0] = x[0];
    for i in 1..=radix / 2 {
        sums[i] = add(s, x[i], x[radix - i]);
        differences[i] = sub(s, x[i], x[radix - i]);
        y[0] = add(s, y[0], sums[i]);
    }
    for k in 1..=radix / 2 {
        let (mut even, mut odd) = (x[0], [s.splat(0.0); 2]);
        for i in 1..=radix / 2 {
            let root = roots[i * k % radix];
            let (cos, sin) = (s.splat(root.re), s.splat(root.im));
            even = [s.mul_add(sums[i][0], cos, even[0]), s.mul_add(sums[i][1], cos, even[1])];
            odd = [s.mul_add(differences[i][0], sin, odd[0]), s.mul_add(differences[i][1], sin, odd[1])];
        }
        // i times `odd` is [-odd[1], odd[0]].
        y[k] = [s.sub(even[0], odd[1]), s.add(even[1], odd[0])];
        y[radix - k] = [s.add(even[0], odd[1]), s.sub(even[1], odd[0])];
    }
}

/// Runs [`small_step`] for primes that have no special code.
#[inline(always)]
fn large_step<S: Simd>(s: S, step: &Step, rows: &mut [[S::F32; 2]]) {
    let &Step { radix, part, ref twiddles, ref roots } = step;
    let mut memory = vec![[s.splat(0.0); 2]; 4 * radix];
    let (x, rest) = memory.split_at_mut(radix);
    let (sums, rest) = rest.split_at_mut(radix);
    let (differences, y) = rest.split_at_mut(radix);
    for block in rows.chunks_exact_mut(radix * part) {
        for j in 0..part {
            x.iter_mut().zip(block[j..].iter().step_by(part)).for_each(|(to, from)| *to = *from);
            odd_transform_into(s, roots, x, [&mut *sums, &mut *differences], y);
            let mut to = block[j..].iter_mut().step_by(part).zip(&*y);
            if let Some(first) = to.next() {
                *first.0 = *first.1;
            }
            match &twiddles[..] {
                [] => to.for_each(|(to, y)| *to = *y),
                _ => {
                    let twiddles = &twiddles[j * (radix - 1)..];
                    to.zip(twiddles).for_each(|((to, y), w)| *to = turned(s, *y, *w));
                }
            }
        }
    }
}

#[inline(always)]
fn step_of_4<S: Simd>(s: S, step: &Step, rows: &mut [[S::F32; 2]]) {
    let &Step { part, ref twiddles, .. } = step;
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
            *b = turned(s, y[1], w[0]);
            *c = turned(s, y[2], w[1]);
            *d = turned(s, y[3], w[2]);
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
