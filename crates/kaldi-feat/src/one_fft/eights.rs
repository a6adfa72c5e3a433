//! Frames of 400 samples, Whisper's, in vectors of 16 lanes: transforms of 8 blocks of 25 complex numbers.
//!
//! What is done is what [`OneFft::power`] does of any size. But here eight blocks fill half of the lanes: their imaginary parts are transposed
//! in the other half, and two rows of frequencies make a whole vector, which is read as it lies.

use kaldera_base::simd::{Lines, MAX_LANES, Simd};
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
        let layout = &self.layouts[Self::lanes(s)];
        let rows = numbers.vectors(s, 2 * (VECTORS * BLOCKS + BLOCK)).as_chunks_mut::<2>().0;
        let (rows, transposed) = rows.split_at_mut(VECTORS * BLOCKS);
        for (rows, first) in rows.chunks_exact_mut(VECTORS).zip((0..).step_by(2 * BLOCK)) {
            unzip(s, &frame[first..], rows);
        }
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
