//! Frames of 512 samples, 25 ms at 16 kHz, and of 2048, which are librosa's: transforms of 4⁴ and 4⁵ complex numbers.
//!
//! What is done is what [`OneFft::power`] does of any size, in the same layout. But here the compiler knows all sizes: counting and checking
//! them costs a single frame almost as much as its arithmetic. Powers are made of what the last step
//! leaves, wherever it lies.

use kaldera_base::simd::{Lines, Simd};

use super::{Layout, OneFft, StepBefore};
use crate::fft::{LaneFft, pair_of_spectrum, power_of_twice, step_of_4, transform_4, turned};
use crate::frames::{Energy, EnergyOf, Framing, No, OfWindowed, Raw, USUAL_LEN};
use crate::mel::first_lane;
use crate::one_mel::OneMel;

/// Blocks that two steps make.
const BLOCKS: usize = 16;

/// Where number `i` of `len`, a power of 4, gets to by steps of four.
#[inline(always)]
fn place(mut i: usize, len: usize) -> usize {
    let (mut at, mut part) = (0, len / 4);
    while part > 0 {
        at += i % 4 * part;
        i /= 4;
        part /= 4;
    }
    at
}

/// Whether [`OneFft::power_of_fours`] takes a transform of `half` numbers in this layout.
#[inline(always)]
pub(super) fn takes(half: usize, layout: &Layout) -> bool {
    (half == 256 || half == 1024) && layout.num_blocks == BLOCKS && layout.before.len() == 2
}

/// What three numbers of four are turned by, in lanes.
type Turns<S> = [[<S as Simd>::F32; 2]; 3];

/// The first step for number `i` of as many vectors as a `part` has.
#[inline(always)]
fn first_step_of<S: Simd>(s: S, frame: &[f32], (i, part): (usize, usize), w: &Turns<S>, rows: &mut [[S::F32; 2]]) {
    let mut x = [[s.splat(0.0); 2]; 4];
    for (q, x) in x.iter_mut().enumerate() {
        let at = 2 * S::LANES * (i + q * part);
        let (re, im) = s.unzip(s.load(&frame[at..]), s.load(&frame[at + S::LANES..]));
        *x = [re, im];
    }
    for (q, y) in step(s, x, w).into_iter().enumerate() {
        rows[i + q * part] = y;
    }
}

/// The first step of a transform by fours.
#[inline(always)]
fn first_step<S: Simd, const HALF: usize>(s: S, frame: &[f32], turns: &[Turns<S>], rows: &mut [[S::F32; 2]]) {
    let part = HALF / 4 / S::LANES;
    let (frame, turns, rows) = (&frame[..2 * HALF], &turns[..part], &mut rows[..4 * part]);
    if HALF != 256 {
        for (i, w) in turns.iter().enumerate() {
            first_step_of(s, frame, (i, part), w, rows);
        }
        return;
    }
    // Vector after vector, so that the compiler knows where each lies.
    macro_rules! each {
        ($($i:literal)*) => { $(if $i < part { first_step_of(s, frame, ($i, part), &turns[$i], rows); })* };
    }
    each!(0 1 2 3 4 5 6 7);
}

/// As [`first_step`], of a usual frame, which is windowed on the way, in vectors of 16 lanes: it is never in memory, and where it is filled up with
/// zeros there is nothing to do. Gives the energy.
///
/// Its vectors come in their order. The last one, whose neighbours are zeros, belongs to the first part, which waits for it.
#[inline(always)]
fn first_step_of_samples<S: Simd, E: Energy>(
    s: S,
    framing: &Framing,
    samples: &[f32; USUAL_LEN],
    turns: &[Turns<S>],
    rows: &mut [[S::F32; 2]],
) -> f32 {
    const PART: usize = 4;
    let (turns, rows) = (&turns[..PART], &mut rows[..4 * PART]);
    let mut windowing = framing.windowing::<S, E>(s, samples);
    macro_rules! next {
        () => {{
            let (first, second) = (windowing.next(s), windowing.next(s));
            let (re, im) = s.unzip(first, second);
            [re, im]
        }};
    }
    macro_rules! put {
        ($i:literal, $step:expr) => {
            for (q, y) in $step.into_iter().enumerate() {
                rows[$i + q * PART] = y;
            }
        };
    }
    let a = [next!(), next!(), next!(), next!()];
    let b = [next!(), next!(), next!(), next!()];
    let first_c = next!();
    put!(1, step_of_three(s, [a[1], b[1], next!()], &turns[1]));
    put!(2, step_of_three(s, [a[2], b[2], next!()], &turns[2]));
    put!(3, step_of_three(s, [a[3], b[3], next!()], &turns[3]));
    let (re, im) = s.unzip(windowing.next(s), s.splat(0.0));
    put!(0, step(s, [a[0], b[0], first_c, [re, im]], &turns[0]));
    windowing.energy(s)
}

/// As [`step`], the fourth number being 0.
#[inline(always)]
fn step_of_three<S: Simd>(s: S, [a, b, c]: [[S::F32; 2]; 3], w: &Turns<S>) -> [[S::F32; 2]; 4] {
    let sum = [s.add(a[0], c[0]), s.add(a[1], c[1])];
    let difference = [s.sub(a[0], c[0]), s.sub(a[1], c[1])];
    let minus = [s.add(difference[0], b[1]), s.sub(difference[1], b[0])];
    let plus = [s.sub(difference[0], b[1]), s.add(difference[1], b[0])];
    let first = [s.add(sum[0], b[0]), s.add(sum[1], b[1])];
    let third = [s.sub(sum[0], b[0]), s.sub(sum[1], b[1])];
    [first, turned(s, minus, w[0]), turned(s, third, w[1]), turned(s, plus, w[2])]
}

/// The twiddles of each of the step's vectors.
#[inline(always)]
fn twiddles<S: Simd>(s: S, step: &StepBefore, vectors: usize) -> &[Turns<S>] {
    &step.twiddles.as_vectors(s).as_chunks::<2>().0.as_chunks::<3>().0[..vectors]
}

/// A number of each of four parts, transformed and turned.
#[inline(always)]
fn step<S: Simd>(s: S, x: [[S::F32; 2]; 4], w: &Turns<S>) -> [[S::F32; 2]; 4] {
    let [a, b, c, d] = transform_4(s, x);
    [a, turned(s, b, w[0]), turned(s, c, w[1]), turned(s, d, w[2])]
}

/// Numbers `j * LANES` and on of the spectrum.
#[inline(always)]
fn spectrum<S: Simd, const HALF: usize>(_: S, transposed: &[[S::F32; 2]], j: usize) -> [S::F32; 2] {
    let (block, groups) = (HALF / BLOCKS, BLOCKS / S::LANES);
    transposed[j % groups * block + place(j / groups, block)]
}

impl OneFft {
    /// As [`power`](Self::power), for a plan of `HALF` numbers: 256 or 1024.
    #[inline(always)]
    pub(super) fn power_of_fours<S: Simd, const HALF: usize>(
        &self,
        s: S,
        plan: &LaneFft,
        frame: &[f32],
        power: &mut [f32],
        numbers: &mut Lines,
    ) {
        let turns = twiddles(s, &self.layouts[Self::lanes(s)].before[0], HALF / S::LANES / 4);
        first_step::<S, HALF>(s, frame, turns, numbers.vectors(s, 4 * HALF / S::LANES).as_chunks_mut::<2>().0);
        self.power_behind_first_step::<S, HALF>(s, plan, power, numbers);
    }

    /// As [`power_of_512`](Self::power_of_512), of a usual frame before it is windowed, in vectors of 16 lanes. Gives the frame's energy.
    #[inline(always)]
    pub(crate) fn power_of_400_in_512<S: Simd>(
        &self,
        s: S,
        plan: &LaneFft,
        (framing, samples, energy): (&Framing, &[f32; USUAL_LEN], EnergyOf),
        power: &mut [f32],
        numbers: &mut Lines,
    ) -> f32 {
        let turns = twiddles(s, &self.layouts[Self::lanes(s)].before[0], 4);
        let rows = numbers.vectors(s, 4 * 256 / S::LANES).as_chunks_mut::<2>().0;
        let energy = match energy {
            EnergyOf::Nothing => first_step_of_samples::<S, No>(s, framing, samples, turns, rows),
            EnergyOf::RawFrame => first_step_of_samples::<S, Raw>(s, framing, samples, turns, rows),
            EnergyOf::WindowedFrame => first_step_of_samples::<S, OfWindowed>(s, framing, samples, turns, rows),
        };
        self.power_behind_first_step::<S, 256>(s, plan, power, numbers);
        energy
    }

    /// What [`power_of_fours`](Self::power_of_fours) does behind the first step.
    #[inline(always)]
    fn power_behind_first_step<S: Simd, const HALF: usize>(
        &self,
        s: S,
        plan: &LaneFft,
        power: &mut [f32],
        numbers: &mut Lines,
    ) {
        let layout = &self.layouts[Self::lanes(s)];
        let (block, vectors) = (HALF / BLOCKS, HALF / S::LANES);
        let (rows, transposed) = numbers.vectors(s, 4 * vectors).as_chunks_mut::<2>().0.split_at_mut(vectors);
        let zero = [s.splat(0.0); 2];

        let part = block / S::LANES;
        for rows in rows.chunks_exact_mut(4 * part) {
            for (i, w) in twiddles(s, &layout.before[1], part).iter().enumerate() {
                let x = [rows[i], rows[i + part], rows[i + 2 * part], rows[i + 3 * part]];
                for (q, y) in step(s, x, w).into_iter().enumerate() {
                    rows[i + q * part] = y;
                }
            }
        }

        // The last step's numbers are few enough that the compiler need not write them all to memory.
        let in_registers = block == BLOCKS && S::LANES == BLOCKS;
        for (group, transposed) in transposed.chunks_exact_mut(block).enumerate() {
            for (i, transposed) in transposed.chunks_exact_mut(S::LANES).enumerate() {
                for number in 0..2 {
                    let mut square = [zero[0]; BLOCKS];
                    for (lane, to) in square[..S::LANES].iter_mut().enumerate() {
                        *to = rows[place(group * S::LANES + lane, BLOCKS) * part + i][number];
                    }
                    s.transpose(&mut square[..S::LANES]);
                    for (to, &row) in transposed.iter_mut().zip(&square[..S::LANES]) {
                        to[number] = row;
                    }
                }
            }
            if block == 64 {
                step_of_4(s, 16, &plan.steps[2].twiddles[..48], transposed);
            }
            step_of_4(s, 4, &plan.steps[plan.steps.len() - 2].twiddles[..12], transposed);
            if !in_registers {
                for four in transposed.as_chunks_mut::<4>().0 {
                    *four = transform_4(s, *four);
                }
            }
        }
        let mut last = [zero; BLOCKS];
        let transposed = if in_registers {
            for (to, from) in last.as_chunks_mut::<4>().0.iter_mut().zip(transposed.as_chunks::<4>().0) {
                *to = transform_4(s, *from);
            }
            &last[..]
        } else {
            &*transposed
        };

        let power = &mut power[..=HALF + OneMel::PADDING];
        power[HALF + 1..].fill(0.0);
        let pairs = &self.pairs[Self::lanes(s)].as_vectors(s).as_chunks::<2>().0[..=vectors / 2];
        // A vector's partners are the numbers of another one from the last to the second, behind the first number of the vector above that;
        // and so are their powers, which have to wait for the next vector's.
        let partners = s.sub_u32(s.splat_u32(S::LANES as u32), s.lane_indexes());
        let first = spectrum::<S, HALF>(s, transposed, 0);
        let (mut above, mut power_below) = (first, zero[0]);
        for (j, &w) in pairs[..vectors / 2].iter().enumerate() {
            let below = spectrum::<S, HALF>(s, transposed, vectors - 1 - j);
            let b = [s.permute(below[0], above[0], partners), s.permute(below[1], above[1], partners)];
            let [x, y] = pair_of_spectrum(s, spectrum::<S, HALF>(s, transposed, j), b, w);
            let mut low = power_of_twice(s, x);
            if j == 0 {
                // The very first number is real, and its own partner.
                let sum = s.add(first[0], first[1]);
                low = s.select_lt(s.i32_to_f32(s.lane_indexes()), s.splat(1.0), s.mul(sum, sum), low);
            }
            s.store(low, &mut power[j * S::LANES..]);
            let power_above = power_of_twice(s, y);
            if j > 0 {
                s.store(s.permute(power_below, power_above, partners), &mut power[HALF - j * S::LANES..]);
            }
            (above, power_below) = (below, power_above);
        }
        // The middle is its own partner.
        let [_, middle] = pair_of_spectrum(s, above, above, pairs[vectors / 2]);
        s.store(s.permute(power_below, power_of_twice(s, middle), partners), &mut power[HALF / 2..]);
        let difference = s.sub(first[0], first[1]);
        power[HALF] = first_lane(s, s.mul(difference, difference));
    }
}
