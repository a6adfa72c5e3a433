//! Frames of 400 samples, Whisper's, in vectors of 16 lanes: transforms of 8 blocks of 25 complex numbers.
//!
//! What is done is what [`OneFft::power`] does of any size. But here eight blocks fill half of the lanes: their imaginary parts are transposed
//! in the other half, and two rows of frequencies make a whole vector, which is read as it lies. Blocks do not begin where vectors do. So what was
//! windowed would have to wait until it is in the cache, and samples are windowed here, in the pieces that the blocks take.

use kaldera_base::simd::{Kernel, Lines, MAX_LANES, Simd};
use rustfft::num_complex::Complex;

use super::{Layout, OneFft, unzip};
use crate::fft::{LaneFft, pair_of_spectrum, power_of_twice, small_step, step_of_4};
use crate::one_mel::OneMel;

const BLOCKS: usize = 8;

/// Numbers of a block: 5 · 5.
const BLOCK: usize = 25;

const HALF: usize = BLOCKS * BLOCK;

/// Vectors of a block.
const VECTORS: usize = BLOCK.div_ceil(MAX_LANES);

/// Where the pieces of a block begin, from its first number on.
const PIECES: [usize; 4] = [0, MAX_LANES, 2 * MAX_LANES, 3 * MAX_LANES];

/// A window of 400 in the pieces of each block, with zeros for what is not the block's.
pub(crate) fn pieces_of_400(window: &[f32]) -> Lines {
    let mut lines = Lines::new();
    let pieces = lines.floats(BLOCKS * PIECES.len() * MAX_LANES);
    for (to, from) in pieces.chunks_exact_mut(PIECES.len() * MAX_LANES).zip(window.chunks_exact(2 * BLOCK)) {
        to[..2 * BLOCK].copy_from_slice(from);
    }
    lines
}

/// Whether [`OneFft::power_of_400`] takes a transform of `half` numbers in this layout.
#[inline(always)]
pub(super) fn takes<S: Simd>(_: S, half: usize, layout: &Layout) -> bool {
    S::LANES == MAX_LANES && half == HALF && layout.num_blocks == BLOCKS && layout.before.len() == 2
}

/// The block of each remainder, by steps of 4 and 2.
#[inline(always)]
fn block_of(remainder: usize) -> usize {
    remainder % 4 * 2 + remainder / 4
}

/// The number in a block of each quotient, by steps of 5.
#[inline(always)]
fn row_of(quotient: usize) -> usize {
    quotient % 5 * 5 + quotient / 5
}

/// Numbers `16 j` and on of the spectrum; behind the last one there is something else.
#[inline(always)]
fn spectrum<S: Simd>(s: S, transposed: &[[S::F32; 2]], j: usize) -> [S::F32; 2] {
    let [low, high] = [transposed[row_of(2 * j)], transposed[row_of((2 * j + 1).min(BLOCK - 1))]];
    let lane = s.lane_indexes();
    let halves = s.add_u32(lane, s.and_u32(lane, s.splat_u32(BLOCKS as u32)));
    [s.permute(low[0], high[0], halves), s.permute(low[1], high[1], halves)]
}

impl OneFft {
    /// As [`power`](Self::power), for a plan of 200 numbers.
    #[inline(always)]
    pub(super) fn power_of_400<S: Simd>(
        &self,
        s: S,
        plan: &LaneFft,
        frame: &[f32],
        power: &mut [f32],
        numbers: &mut Lines,
    ) {
        let rows = numbers.vectors(s, 2 * (VECTORS * BLOCKS + BLOCK)).as_chunks_mut::<2>().0;
        let (rows, transposed) = rows.split_at_mut(VECTORS * BLOCKS);
        for (rows, first) in rows.chunks_exact_mut(VECTORS).zip((0..).step_by(2 * BLOCK)) {
            unzip(s, &frame[first..], rows);
        }
        self.power_of_blocks(s, plan, rows, transposed, power);
    }

    /// As [`power_of_400`](Self::power_of_400), of samples and the [pieces](pieces_of_400) of their window. Whether it did: not of samples
    /// that are not finite, whose powers depend on what else is done to frames.
    #[inline(always)]
    pub(crate) fn power_of_400_samples<S: Simd>(
        &self,
        s: S,
        plan: &LaneFft,
        (samples, pieces): (&[f32; 2 * HALF], &Lines),
        power: &mut [f32],
        numbers: &mut Lines,
    ) -> bool {
        s.vectorize(PowerOfSamples { fft: self, plan, samples, pieces, power, numbers });
        // Number 0 is what all others are: a sum of all samples.
        power[0].is_finite()
    }

    /// What [`power_of_400`](Self::power_of_400) does when the blocks are in their rows.
    #[inline(always)]
    fn power_of_blocks<S: Simd>(
        &self,
        s: S,
        plan: &LaneFft,
        rows: &mut [[S::F32; 2]],
        transposed: &mut [[S::F32; 2]],
        power: &mut [f32],
    ) {
        let layout = &self.layouts[Self::lanes(s)];
        let (before, behind) = plan.steps.split_at(2);
        let first_twiddles = layout.before[0].twiddles.as_vectors(s).as_chunks::<2>().0;
        let next_twiddles = layout.before[1].twiddles.as_vectors(s).as_chunks::<2>().0;
        step_of_4(s, 2 * VECTORS, &first_twiddles[..6 * VECTORS], rows);
        small_step::<S, _, 2>(s, &before[1].roots, VECTORS, &next_twiddles[..VECTORS], rows);

        let transposed = &mut transposed[..BLOCK];
        let other_half = s.add_u32(s.lane_indexes(), s.splat_u32(BLOCKS as u32));
        for (i, transposed) in transposed.chunks_mut(MAX_LANES).enumerate() {
            let mut square = [s.splat(0.0); MAX_LANES];
            for remainder in 0..BLOCKS {
                [square[remainder], square[BLOCKS + remainder]] = rows[block_of(remainder) * VECTORS + i];
            }
            s.transpose(&mut square[..S::LANES]);
            for (to, &row) in transposed.iter_mut().zip(&square) {
                *to = [row, s.permute(row, row, other_half)];
            }
        }
        small_step::<S, _, 5>(s, &behind[0].roots, 5, &behind[0].twiddles[..20], transposed);
        small_step::<S, Complex<f32>, 5>(s, &behind[1].roots, 1, &[], transposed);

        let power = &mut power[..=HALF + OneMel::PADDING];
        power[HALF + BLOCKS..].fill(0.0);
        let pairs = &self.pairs[Self::lanes(s)].as_vectors(s).as_chunks::<2>().0[..7];
        let lanes = s.i32_to_f32(s.lane_indexes());
        let (mut above, mut power_before) = (spectrum(s, transposed, 12), s.splat(0.0));
        macro_rules! each {
            ($($j:literal)*) => { $(
                let (numbers, below) = (spectrum(s, transposed, $j), spectrum(s, transposed, 11 - $j));
                let [mut low, mut high] = powers(s, numbers, [below, above], pairs[$j]);
                if $j == 0 {
                    // The very first number is real, and its own partner.
                    let (sum, difference) = (s.add(numbers[0], numbers[1]), s.sub(numbers[0], numbers[1]));
                    low = s.select_lt(lanes, s.splat(1.0), s.mul(sum, sum), low);
                    high = s.select_lt(lanes, s.splat(1.0), s.mul(difference, difference), high);
                }
                s.store(low, &mut power[$j * MAX_LANES..]);
                s.store(mirrored(s, power_before, high), &mut power[(12 - $j) * MAX_LANES..]);
                (above, power_before) = (below, high);
            )* };
        }
        each!(0 1 2 3 4 5);
        // The middle is its own partner.
        let [low, high] = powers(s, above, [spectrum(s, transposed, 5), above], pairs[6]);
        let middle = s.select_lt(lanes, s.splat(4.0), low, mirrored(s, power_before, high));
        s.store(middle, &mut power[6 * MAX_LANES..]);
    }
}

struct PowerOfSamples<'a> {
    fft: &'a OneFft,
    plan: &'a LaneFft,
    samples: &'a [f32; 2 * HALF],
    pieces: &'a Lines,
    power: &'a mut [f32],
    numbers: &'a mut Lines,
}

impl Kernel for PowerOfSamples<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { fft, plan, samples, pieces, power, numbers } = self;
        let rows = numbers.vectors(s, 2 * (VECTORS * BLOCKS + BLOCK)).as_chunks_mut::<2>().0;
        let (rows, transposed) = rows.split_at_mut(VECTORS * BLOCKS);
        let pieces = pieces.as_vectors(s).as_chunks::<{ PIECES.len() }>().0;
        for ((rows, samples), pieces) in
            rows.as_chunks_mut::<VECTORS>().0.iter_mut().zip(samples.as_chunks::<{ 2 * BLOCK }>().0).zip(pieces)
        {
            let mut x = [s.splat(0.0); PIECES.len()];
            for (i, first) in PIECES.into_iter().enumerate() {
                let rest = &samples[first..];
                let from = if rest.len() < S::LANES { s.load_partial(rest, x[i]) } else { s.load(rest) };
                x[i] = s.mul(from, pieces[i]);
            }
            for (row, x) in rows.iter_mut().zip(x.as_chunks::<2>().0) {
                let (re, im) = s.unzip(x[0], x[1]);
                *row = [re, im];
            }
        }
        fft.power_of_blocks(s, plan, rows, transposed, power);
    }
}

/// The power of numbers `16 j` and on, and of their partners in the lanes that are theirs, which lie in two vectors.
#[inline(always)]
fn powers<S: Simd>(s: S, numbers: [S::F32; 2], [below, above]: [[S::F32; 2]; 2], w: [S::F32; 2]) -> [S::F32; 2] {
    let partners = [mirrored(s, below[0], above[0]), mirrored(s, below[1], above[1])];
    let [x, y] = pair_of_spectrum(s, numbers, partners, w);
    [power_of_twice(s, x), power_of_twice(s, y)]
}

/// Number 200 - k is lane 8 - k of the vector above, or lane 24 - k of the one below: from numbers to their partners, or from these back.
#[inline(always)]
fn mirrored<S: Simd>(s: S, below: S::F32, above: S::F32) -> S::F32 {
    s.permute(below, above, s.sub_u32(s.splat_u32(24), s.lane_indexes()))
}
