//! The power spectrum of one frame, for streams that cannot wait for others.
//!
//! Its samples lie in the lanes of vectors, and each value goes through the same arithmetic as with
//! one frame in each lane ([`LaneFft`](crate::spectrum::fft::LaneFft)), so that the results have
//! the same bits.
//!
//! ```text
//!  first steps: values j, j+1 ... of a part in lanes         then, transposed: each block in a lane, as frames are otherwise
//!
//!    block 0 |  part 0 | part 1 | part 2 | part 3 |              row 0   first number of all blocks
//!    block 1 |  ====>  |                                         row 1   second number of all blocks
//! ```
//!
//! Steps sort by one digit of the index each, the lowest first. So the block gives the remainder k,
//! and the row the quotient: with the blocks taken in the right order, a row has consecutive
//! frequencies.

use kaldera_base::simd::{Lines, MAX_LANES, Simd};
use num_complex::Complex;

use crate::spectrum::fft::{LaneFft, Step, pair_of_spectrum, power_of_twice, step_of, turn};

/// Data for the transform of one frame, in addition to the plan for many.
#[derive(Debug)]
pub(crate) struct SingleFrameFft {
    /// For 8 and for 16 lanes.
    layouts: [Layout; 2],
    /// e^(-2πi k/N) for k from 0 to N/4 and beyond: as many real parts as there are lanes, then as
    /// many imaginary ones. For 8 and 16 lanes.
    pairs: [Lines; 2],
}

/// The places of the values of a frame.
#[derive(Debug)]
struct Layout {
    /// The steps before blocks are put into lanes.
    before: Vec<StepBefore>,
    /// Number of values in a block then.
    block: usize,
    /// Number of blocks.
    num_blocks: usize,
    /// For each remainder, its block; the last ones again up to a multiple of the lanes.
    blocks: Vec<usize>,
    /// For each quotient, its index in a block.
    rows: Vec<usize>,
}

/// A step over values in lanes.
#[derive(Debug)]
struct StepBefore {
    /// Number of vectors in a part.
    part: usize,
    /// For each of these vectors, the twiddles for values 1, 2 ..: real parts of all lanes, then
    /// imaginary ones.
    twiddles: Lines,
}

/// Splits complex values for each lane of vectors: real parts, then imaginary ones.
fn split(lanes: usize, numbers: impl Iterator<Item = Complex<f32>>) -> Lines {
    let numbers: Vec<_> = numbers.collect();
    let mut lines = Lines::new();
    for (to, from) in lines.floats(2 * numbers.len()).chunks_mut(2 * lanes).zip(numbers.chunks(lanes)) {
        let (re, im) = to.split_at_mut(lanes);
        for ((re, im), x) in re.iter_mut().zip(im).zip(from) {
            (*re, *im) = (x.re, x.im);
        }
    }
    lines
}

impl Layout {
    fn new(plan: &LaneFft, lanes: usize) -> Self {
        let num_blocks = |split: usize| plan.steps[..split].iter().map(|step| step.radix).product::<usize>();
        // A step before goes over the vectors of all blocks, possibly partly empty; a step behind,
        // over as many vectors of blocks.
        let cost = |split: usize| {
            let blocks = num_blocks(split);
            let block = plan.half / blocks;
            blocks * block.div_ceil(lanes) * split + blocks.div_ceil(lanes) * block * (plan.steps.len() - split)
        };
        let split = (0..plan.steps.len()).min_by_key(|&split| cost(split)).unwrap_or(0);
        let (before, behind) = plan.steps.split_at(split);
        let num_blocks = num_blocks(split);
        let block = plan.half / num_blocks;
        let blocks = 0..num_blocks.next_multiple_of(lanes);
        Self {
            before: before.iter().map(|step| StepBefore::new(step, block, lanes)).collect(),
            block,
            num_blocks,
            blocks: blocks.map(|i| place(before, i.min(num_blocks - 1)) / block).collect(),
            rows: (0..block).map(|i| place(behind, i)).collect(),
        }
    }
}

impl StepBefore {
    /// Creates a step for blocks of `block` values, each in its own vectors.
    fn new(step: &Step, block: usize, lanes: usize) -> Self {
        let factors = step.radix - 1;
        let vectors = (0..step.part / block).flat_map(|b| (0..block).step_by(lanes).map(move |i| (b * block, i)));
        // Lanes past the last number of a block are turned by the last twiddle.
        let number = |(first, i): (usize, usize), lane: usize| first + (i + lane).min(block - 1);
        let twiddles = vectors.flat_map(|at| {
            (0..factors).flat_map(move |p| (0..lanes).map(move |lane| step.twiddles[number(at, lane) * factors + p]))
        });
        Self { part: step.part / block * block.div_ceil(lanes), twiddles: split(lanes, twiddles) }
    }
}

/// Returns the position of value `i` after steps that sort by one digit each.
fn place(steps: &[Step], mut i: usize) -> usize {
    let mut at = 0;
    for step in steps {
        at += i % step.radix * step.part;
        i /= step.radix;
    }
    at
}

impl SingleFrameFft {
    /// The least N/2: two vectors.
    pub(crate) const LEAST: usize = 2 * MAX_LANES;

    /// Number of values behind a frame that are read.
    pub(crate) const PADDING: usize = 2 * MAX_LANES;

    pub(crate) fn new(plan: &LaneFft) -> Self {
        let pairs = |lanes: usize| {
            split(lanes, (0..(plan.half / 2 + 1).next_multiple_of(lanes)).map(|k| turn(k, 2 * plan.half)))
        };
        Self { layouts: [8, 16].map(|lanes| Layout::new(plan, lanes)), pairs: [8, 16].map(pairs) }
    }

    /// Returns the index of the layouts and pairs for `S`.
    #[inline(always)]
    fn lanes<S: Simd>(_: S) -> usize {
        usize::from(S::LANES == MAX_LANES)
    }

    /// Writes |X\[k\]|² of the N real values in `frame`, which has [`PADDING`](Self::PADDING) more
    /// behind, to `power`, and
    /// [`PADDING`](crate::spectrum::single_frame::mel::SingleFrameMel::PADDING) zeros after them.
    #[inline(always)]
    pub(crate) fn power<S: Simd>(
        &self,
        s: S,
        plan: &LaneFft,
        frame: &[f32],
        power: &mut [f32],
        [numbers, sorted]: [&mut Lines; 2],
    ) {
        let layout = &self.layouts[Self::lanes(s)];
        let (half, block, num_blocks) = (plan.half, layout.block, layout.num_blocks);
        power[half + 1..].fill(0.0);
        let vectors = block.div_ceil(S::LANES);
        let rows = numbers.vectors(s, 2 * (num_blocks + S::LANES) * vectors).as_chunks_mut::<2>().0;
        let (rows, transposed) = rows.split_at_mut(num_blocks * vectors);
        if block.is_multiple_of(S::LANES) {
            unzip(s, frame, rows);
        } else {
            for (rows, first) in rows.chunks_exact_mut(vectors).zip((0..).step_by(2 * block)) {
                unzip(s, &frame[first..], rows);
            }
        }
        let (before, behind) = plan.steps.split_at(layout.before.len());
        for (step, before) in before.iter().zip(&layout.before) {
            step_of(s, &step.roots, before.part, before.twiddles.as_vectors(s).as_chunks::<2>().0, rows);
        }
        // Real and imaginary parts in order, each with a vector after them.
        let stride = (half + MAX_LANES).next_multiple_of(MAX_LANES);
        let (sorted_re, sorted_im) = sorted.floats(2 * stride).split_at_mut(stride);
        for (blocks, first) in layout.blocks.chunks_exact(S::LANES).zip((0..).step_by(S::LANES)) {
            for (i, transposed) in transposed.chunks_exact_mut(S::LANES).enumerate() {
                for part in 0..2 {
                    let mut square = [s.splat(0.0); MAX_LANES];
                    for (to, &block) in square[..S::LANES].iter_mut().zip(blocks) {
                        *to = rows[block * vectors + i][part];
                    }
                    s.transpose(&mut square[..S::LANES]);
                    for (to, &row) in transposed.iter_mut().zip(&square[..S::LANES]) {
                        to[part] = row;
                    }
                }
            }
            let transposed = &mut transposed[..block];
            for step in behind {
                step.apply(s, transposed);
            }
            // The excess of one vector of blocks is overwritten by the next row.
            let whole = first + S::LANES <= num_blocks || first == 0;
            for (&row, at) in layout.rows.iter().zip((first..).step_by(num_blocks)) {
                let [x, y] = transposed[row];
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

    /// Computes the power as [`LaneFft`] does it: values k and N/2 - k go together.
    #[inline(always)]
    fn power_of_real<S: Simd>(&self, s: S, half: usize, re: &mut [f32], im: &mut [f32], power: &mut [f32]) {
        // Value N/2 is value 0 again.
        (re[half], im[half]) = (re[0], im[0]);
        let pairs = self.pairs[Self::lanes(s)].as_vectors(s).as_chunks::<2>().0;
        let pairs = pairs[..half / 2 / S::LANES + 1].split_last().expect("a middle");
        let ((&last_w, whole), k) = (pairs, half / 2 / S::LANES * S::LANES);
        let (low, high) = power.split_at_mut(half / 2);
        // From 0 up, and from N/2 down.
        let up = re.chunks_exact(S::LANES).zip(im.chunks_exact(S::LANES));
        let down = re[1..=half].rchunks_exact(S::LANES).zip(im[1..=half].rchunks_exact(S::LANES));
        let to = low.chunks_exact_mut(S::LANES).zip(high[..=half - half / 2].rchunks_exact_mut(S::LANES));
        for (((&w, up), down), (low, high)) in whole.iter().zip(up).zip(down).zip(to) {
            let [x, y] = power_of_pairs(s, up, down, w);
            s.store(x, low);
            s.store(s.reverse(y), high);
        }
        // Values past the middle belong to other pairs.
        let partner = half + 1 - k - S::LANES;
        let [x, y] = power_of_pairs(s, (&re[k..], &im[k..]), (&re[partner..], &im[partner..]), last_w);
        let mut last = [0.0; MAX_LANES];
        s.store(s.reverse(y), &mut last);
        let partners = half / 2 + 1 - k;
        s.store_partial(x, &mut power[k..=half / 2]);
        power[half + 1 - k - partners..=half - k].copy_from_slice(&last[S::LANES - partners..S::LANES]);
        let (sum, difference) = (re[0] + im[0], re[0] - im[0]);
        power[0] = sum * sum;
        power[half] = difference * difference;
    }
}

/// Moves every other number of `frame` to the real parts of the rows, the others to the imaginary
/// ones.
#[inline(always)]
fn unzip<S: Simd>(s: S, frame: &[f32], rows: &mut [[S::F32; 2]]) {
    for (row, frame) in rows.iter_mut().zip(frame.chunks_exact(2 * S::LANES)) {
        let (re, im) = s.unzip(s.load(frame), s.load(&frame[S::LANES..]));
        *row = [re, im];
    }
}

/// Computes the power of the values of `up`, and of the values of `down`, in lanes of the opposite
/// order.
#[inline(always)]
fn power_of_pairs<S: Simd>(s: S, up: (&[f32], &[f32]), down: (&[f32], &[f32]), w: [S::F32; 2]) -> [S::F32; 2] {
    let b = [s.reverse(s.load(down.0)), s.reverse(s.load(down.1))];
    let [x, y] = pair_of_spectrum(s, [s.load(up.0), s.load(up.1)], b, w);
    [power_of_twice(s, x), power_of_twice(s, y)]
}

#[cfg(test)]
mod tests {
    use kaldera_base::random::Philox;
    use kaldera_base::simd::{Kernel, available, dispatch_at};

    use super::*;
    use crate::spectrum::power_spectrum::{PowerSpectrum, SpectrumOf};
    use crate::spectrum::single_frame::mel::SingleFrameMel;

    struct Compare {
        size: usize,
    }

    impl Kernel for Compare {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let size = self.size;
            let plan = PowerSpectrum::new(size);
            assert!(plan.has_single_frame());
            let (mut frames, mut powers) = (Lines::new(), Lines::new());
            Philox::new(size as u64).add_gaussian(1000.0, 0, frames.floats(size * S::LANES));
            let signal = frames.floats(size * S::LANES).to_vec();
            plan.compute(s, SpectrumOf::Power, &mut frames, &mut powers);
            let powers = powers.floats((size / 2 + 1) * S::LANES);
            let mut lines = [Lines::new(), Lines::new()];
            for lane in 0..S::LANES {
                let in_lane =
                    |numbers: &[f32]| numbers.iter().skip(lane).step_by(S::LANES).copied().collect::<Vec<_>>();
                let mut frame = in_lane(&signal);
                frame.resize(size + SingleFrameFft::PADDING, 0.0);
                let mut power = vec![f32::NAN; size / 2 + 1 + SingleFrameMel::PADDING];
                let [numbers, rows] = &mut lines;
                plan.single_frame_power(s, &frame, &mut power, [numbers, rows]);
                let (power, padding) = power.split_at(size / 2 + 1);
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(power), bits(&in_lane(powers)), "{size}");
                assert_eq!(padding, [0.0; SingleFrameMel::PADDING]);
            }
        }
    }

    #[test]
    fn single_frame_spectrum_equals_lanes() {
        // 74, 1102 and 1202 have large prime factors.
        for size in [
            64, 66, 70, 74, 80, 100, 104, 110, 126, 128, 130, 160, 182, 200, 256, 320, 400, 480, 512, 720, 882, 1024,
            1102, 1202, 2048,
        ] {
            for level in available() {
                dispatch_at(level, Compare { size });
            }
        }
    }
}
