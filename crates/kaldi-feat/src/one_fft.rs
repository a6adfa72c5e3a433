//! The power spectrum of one frame, for streams that cannot wait for others.
//!
//! Its samples lie in the lanes of vectors, and each number goes through the arithmetic that it goes through when each frame has a
//! lane of its own ([`LaneFft`](crate::fft::LaneFft)): the results have the same bits.
//!
//! ```text
//!  first steps: numbers j, j+1 ... of a part in lanes         then, transposed: each block in a lane, as frames are otherwise
//!
//!    block 0 |  part 0 | part 1 | part 2 | part 3 |              row 0   first number of all blocks
//!    block 1 |  ====>  |                                         row 1   second number of all blocks
//! ```
//!
//! Steps sort by one digit of the index each, the lowest first. So the block says which remainder k has, and the row which quotient:
//! with the blocks taken in the right order, a row has consecutive frequencies.

use kaldera_base::simd::{Lines, MAX_LANES, Simd};

use crate::fft::{LaneFft, Step, pair_of_spectrum, power_of_twice, small_transform, transform_4, turn, turned};

/// Complex numbers as two arrays.
#[derive(Debug, Default)]
struct Split {
    re: Vec<f32>,
    im: Vec<f32>,
}

impl Split {
    /// Vectors may be read from each of the numbers on.
    fn new(numbers: impl Iterator<Item = rustfft::num_complex::Complex<f32>>) -> Self {
        let (mut re, mut im): (Vec<_>, Vec<_>) = numbers.map(|x| (x.re, x.im)).unzip();
        re.resize(re.len() + MAX_LANES, 0.0);
        im.resize(im.len() + MAX_LANES, 0.0);
        Self { re, im }
    }

    #[inline(always)]
    fn load<S: Simd>(&self, s: S, at: usize) -> [S::F32; 2] {
        [s.load(&self.re[at..]), s.load(&self.im[at..])]
    }
}

/// What the transform of one frame takes beside the plan of many.
#[derive(Debug)]
pub(crate) struct OneFft {
    /// For 8 and for 16 lanes: when the blocks are put into lanes.
    splits: [Transposition; 2],
    /// For each step that may come before, the twiddles for number 1, 2 .. of each j, one after the other in memory.
    twiddles: Vec<Split>,
    /// e^(-2πi k/N) for k from 1.
    pairs: Split,
}

/// Where blocks are put into lanes.
#[derive(Debug)]
struct Transposition {
    /// How many steps come before.
    steps: usize,
    /// For each remainder, where its block begins.
    blocks: Vec<usize>,
    /// For each quotient, its number in a block.
    rows: Vec<usize>,
}

impl Transposition {
    fn new(plan: &LaneFft, lanes: usize) -> Self {
        // A step before costs its vectors, many of them part empty for short parts; one behind, all rows of each vector of blocks.
        let cost = |split: usize| {
            let (mut cost, mut blocks) = (0, 1);
            for step in &plan.steps[..split] {
                cost += blocks * step.radix * step.part.div_ceil(lanes);
                blocks *= step.radix;
            }
            cost + blocks.div_ceil(lanes) * (plan.half / blocks) * (plan.steps.len() - split)
        };
        let steps = (0..plan.steps.len()).min_by_key(|&split| cost(split)).unwrap_or(0);
        let (before, behind) = plan.steps.split_at(steps);
        let num_blocks = before.iter().map(|step| step.radix).product::<usize>();
        Self {
            steps,
            blocks: (0..num_blocks).map(|i| place(before, i)).collect(),
            rows: (0..plan.half / num_blocks).map(|i| place(behind, i)).collect(),
        }
    }
}

/// Where number `i` gets to by steps that sort by one digit each.
fn place(steps: &[Step], mut i: usize) -> usize {
    let mut at = 0;
    for step in steps {
        at += i % step.radix * step.part;
        i /= step.radix;
    }
    at
}

impl OneFft {
    /// The least N/2: two vectors.
    pub(crate) const LEAST: usize = 2 * MAX_LANES;

    pub(crate) fn new(plan: &LaneFft) -> Self {
        let splits = [8, 16].map(|lanes| Transposition::new(plan, lanes));
        let before = splits.iter().map(|split| split.steps).max().unwrap_or(0);
        let twiddles = plan.steps[..before].iter().map(|step| {
            let factors = step.radix - 1;
            Split::new((0..factors).flat_map(|p| step.twiddles.iter().skip(p).step_by(factors).copied()))
        });
        Self {
            twiddles: twiddles.collect(),
            pairs: Split::new((1..=plan.half / 2).map(|k| turn(k, 2 * plan.half))),
            splits,
        }
    }

    /// |X\[k\]|² of the real numbers in `frame`, N of them and some behind, to `power`.
    #[inline(always)]
    pub(crate) fn power<S: Simd>(
        &self,
        s: S,
        plan: &LaneFft,
        frame: &[f32],
        power: &mut [f32],
        [numbers, rows]: [&mut Lines; 2],
    ) {
        let half = plan.half;
        let split = &self.splits[usize::from(S::LANES == MAX_LANES)];
        // Real and imaginary parts, each with a vector behind them; they are sorted into memory of the same size.
        let stride = (half + MAX_LANES).next_multiple_of(MAX_LANES);
        let (numbers, sorted) = numbers.floats(4 * stride).split_at_mut(2 * stride);
        let (re, im) = numbers.split_at_mut(stride);
        let (sorted_re, sorted_im) = sorted.split_at_mut(stride);
        unzip(s, &frame[..2 * half], re, im);
        let (before, behind) = plan.steps.split_at(split.steps);
        for (step, twiddles) in before.iter().zip(&self.twiddles) {
            match step.radix {
                2 => step_before::<S, 2>(s, step, twiddles, half, re, im),
                3 => step_before::<S, 3>(s, step, twiddles, half, re, im),
                4 => step_before::<S, 4>(s, step, twiddles, half, re, im),
                5 => step_before::<S, 5>(s, step, twiddles, half, re, im),
                7 => step_before::<S, 7>(s, step, twiddles, half, re, im),
                11 => step_before::<S, 11>(s, step, twiddles, half, re, im),
                _ => step_before::<S, 13>(s, step, twiddles, half, re, im),
            }
        }
        let rows = rows.vectors(s, 2 * split.rows.len()).as_chunks_mut::<2>().0;
        let num_blocks = split.blocks.len();
        for first in (0..num_blocks).step_by(S::LANES) {
            // Lanes past the last block have the first of the vector once more.
            let mut starts = [split.blocks[first]; MAX_LANES];
            for (start, &block) in starts.iter_mut().zip(split.blocks[first..].iter().take(S::LANES)) {
                *start = block;
            }
            transpose(s, &starts[..S::LANES], re, rows, 0);
            transpose(s, &starts[..S::LANES], im, rows, 1);
            for step in behind {
                step.apply(s, rows);
            }
            // What is too much of one vector of blocks is overwritten by the next row.
            let whole = first + S::LANES <= num_blocks || first == 0;
            for (&row, at) in split.rows.iter().zip((first..).step_by(num_blocks)) {
                let [x, y] = rows[row];
                if whole {
                    s.store(x, &mut sorted_re[at..]);
                    s.store(y, &mut sorted_im[at..]);
                } else {
                    let end = at - first + num_blocks;
                    s.store_partial(x, &mut sorted_re[at..end]);
                    s.store_partial(y, &mut sorted_im[at..end]);
                }
            }
        }
        self.power_of_real(s, half, sorted_re, sorted_im, power);
    }

    /// As [`LaneFft`] does it: numbers k and N/2 - k go together.
    #[inline(always)]
    fn power_of_real<S: Simd>(&self, s: S, half: usize, re: &[f32], im: &[f32], power: &mut [f32]) {
        let (sum, difference) = (re[0] + im[0], re[0] - im[0]);
        power[0] = sum * sum;
        power[half] = difference * difference;
        let last = half / 2 - S::LANES + 1;
        for k in (1..half / 2 + 1).step_by(S::LANES) {
            let k = k.min(last);
            let partner = half - k - S::LANES + 1;
            let a = [s.load(&re[k..]), s.load(&im[k..])];
            let b = [s.reverse(s.load(&re[partner..])), s.reverse(s.load(&im[partner..]))];
            let [x, y] = pair_of_spectrum(s, a, b, self.pairs.load(s, k - 1));
            s.store(power_of_twice(s, x), &mut power[k..]);
            s.store(s.reverse(power_of_twice(s, y)), &mut power[partner..]);
        }
    }
}

/// Every other number of `frame` to `re`, the others to `im`, whole vectors.
#[inline(always)]
fn unzip<S: Simd>(s: S, frame: &[f32], re: &mut [f32], im: &mut [f32]) {
    let mut pairs = frame.chunks_exact(2 * S::LANES);
    let mut at = 0;
    for pair in &mut pairs {
        let (even, odd) = s.unzip(s.load(pair), s.load(&pair[S::LANES..]));
        s.store(even, &mut re[at..]);
        s.store(odd, &mut im[at..]);
        at += S::LANES;
    }
    for (i, &[even, odd]) in pairs.remainder().as_chunks::<2>().0.iter().enumerate() {
        (re[at + i], im[at + i]) = (even, odd);
    }
}

/// A step while the numbers of a part lie in the lanes.
#[inline(always)]
fn step_before<S: Simd, const R: usize>(
    s: S,
    step: &Step,
    twiddles: &Split,
    half: usize,
    re: &mut [f32],
    im: &mut [f32],
) {
    let part = step.part;
    for block in (0..half).step_by(R * part) {
        for j in (0..part).step_by(S::LANES) {
            let mut x = [[s.splat(0.0); 2]; R];
            for (p, x) in x.iter_mut().enumerate() {
                let at = block + p * part + j;
                *x = [s.load(&re[at..]), s.load(&im[at..])];
            }
            let y = if R == 4 {
                let mut y = x;
                y.copy_from_slice(&transform_4(s, [x[0], x[1], x[2 % R], x[3 % R]])[..R]);
                y
            } else {
                small_transform(s, &step.roots, x)
            };
            for (p, &y) in y.iter().enumerate() {
                let at = block + p * part + j;
                let [y_re, y_im] = if p == 0 { y } else { turned(s, y, twiddles.load(s, (p - 1) * part + j)) };
                if j + S::LANES <= part {
                    s.store(y_re, &mut re[at..]);
                    s.store(y_im, &mut im[at..]);
                } else {
                    let end = at - j + part;
                    s.store_partial(y_re, &mut re[at..end]);
                    s.store_partial(y_im, &mut im[at..end]);
                }
            }
        }
    }
}

/// Number e of the block that begins at `starts[l]` to lane l of row e, real or imaginary `half`.
#[inline(always)]
fn transpose<S: Simd>(s: S, starts: &[usize], numbers: &[f32], rows: &mut [[S::F32; 2]], half: usize) {
    for (first, rows) in (0..).step_by(S::LANES).zip(rows.chunks_mut(S::LANES)) {
        let mut square = [s.splat(0.0); MAX_LANES];
        for (v, &start) in square.iter_mut().zip(starts) {
            *v = s.load(&numbers[start + first..]);
        }
        s.transpose(&mut square[..S::LANES]);
        for (row, &v) in rows.iter_mut().zip(&square) {
            row[half] = v;
        }
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::random::Philox;
    use kaldera_base::simd::{Kernel, available, dispatch_at};

    use super::*;
    use crate::fft::{FrameScratch, PowerSpectrum, SpectrumOf};

    struct Compare {
        size: usize,
    }

    impl Kernel for Compare {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let size = self.size;
            let plan = PowerSpectrum::new(size);
            assert!(plan.has_one());
            let (mut frames, mut powers, mut scratch) = (Lines::new(), Lines::new(), FrameScratch::default());
            Philox::new(size as u64).add_gaussian(1000.0, 0, frames.floats(size * S::LANES));
            let signal = frames.floats(size * S::LANES).to_vec();
            plan.compute(s, SpectrumOf::Power, &mut frames, &mut powers, &mut scratch);
            let powers = powers.floats((size / 2 + 1) * S::LANES);
            let mut lines = [Lines::new(), Lines::new()];
            for lane in 0..S::LANES {
                let in_lane =
                    |numbers: &[f32]| numbers.iter().skip(lane).step_by(S::LANES).copied().collect::<Vec<_>>();
                let mut frame = in_lane(&signal);
                frame.resize(size + MAX_LANES, 0.0);
                let mut power = vec![f32::NAN; size / 2 + 1 + MAX_LANES];
                let [numbers, rows] = &mut lines;
                plan.power_of_one(s, &mut frame, &mut power, [numbers, rows], &mut scratch);
                let (power, padding) = power.split_at(size / 2 + 1);
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(power), bits(&in_lane(powers)), "{size}");
                assert_eq!(padding, [0.0; MAX_LANES]);
            }
        }
    }

    #[test]
    fn one_frame_has_the_bits_that_it_has_among_others() {
        // 34 and 1202 have a large prime factor.
        for size in [
            34, 64, 66, 70, 80, 100, 104, 110, 126, 128, 130, 160, 182, 200, 256, 320, 400, 480, 512, 720, 882, 1024,
            1202, 2048,
        ] {
            for level in available() {
                dispatch_at(level, Compare { size });
            }
        }
    }
}
