//! Random numbers that are functions of a counter: the n-th number of a stream can be had without
//! the ones before it.
//!
//! So a result does not depend on the order of the work, on how it is cut in pieces or on the
//! number of threads. The generator is Philox 4x32-10 (J. K. Salmon, M. A. Moraes, R. O. Dror, D.
//! E. Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC 2011), the one of cuRAND, TensorFlow
//! and PyTorch's GPU kernels.

use crate::math::single::{ln_of_normal, sin_cos_turns};
use crate::simd::{Kernel, Simd, dispatch};

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// A stream of random numbers.
///
/// ```
/// use kaldera_base::random::Philox;
///
/// let stream = Philox::for_name(7, "utterance-1");
/// let mut whole = vec![0.0; 1000];
/// stream.add_gaussian(1.0, 0, &mut whole);
///
/// let mut part = vec![0.0; 10];
/// stream.add_gaussian(1.0, 500, &mut part);
/// assert_eq!(part, whole[500..510]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
}

impl Philox {
    /// The stream with this key.
    pub const fn new(key: u64) -> Self {
        Self { key: [key as u32, (key >> 32) as u32] }
    }

    /// The stream that belongs to a name, such as an utterance's key, under a seed.
    ///
    /// The key is the 64-bit FNV-1a hash of the name, started from the seed and mixed as in
    /// SplitMix64: fixed for all versions and machines.
    pub fn for_name(seed: u64, name: &str) -> Self {
        let start = 0xCBF2_9CE4_8422_2325 ^ mix(seed);
        let hash = name.bytes().fold(start, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        Self::new(mix(hash))
    }

    /// Four random words: the function of the counter that all else is made of.
    pub fn block(&self, counter: [u32; 4]) -> [u32; 4] {
        let [mut c0, mut c1, mut c2, mut c3] = counter;
        let [mut k0, mut k1] = self.key;
        for _ in 0..ROUNDS {
            let a = u64::from(MULTIPLIERS[0]) * u64::from(c0);
            let b = u64::from(MULTIPLIERS[1]) * u64::from(c2);
            (c0, c1, c2, c3) = ((b >> 32) as u32 ^ c1 ^ k0, b as u32, (a >> 32) as u32 ^ c3 ^ k1, a as u32);
            k0 = k0.wrapping_add(KEY_STEPS[0]);
            k1 = k1.wrapping_add(KEY_STEPS[1]);
        }
        [c0, c1, c2, c3]
    }

    /// Adds `scale` times a normally distributed number to each element of `to`: the numbers
    /// `first`, `first` + 1 ... of the stream.
    ///
    /// Numbers are made 128 at a time, of the four words of 32 blocks: word j of block 32g + i
    /// becomes number 128g + 32j + i, the words 0 and 1 together, and 2 and 3, by Box and Muller's
    /// transform of 24 bits each, which reaches 5.8 standard deviations.
    pub fn add_gaussian(&self, scale: f32, first: u64, to: &mut [f32]) {
        dispatch(AddGaussian { key: self.key, scale, first, to });
    }
}

/// The finishing function of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Number of blocks computed together.
const BLOCKS: usize = 32;
/// Numbers that are made together.
const GROUP: usize = 4 * BLOCKS;

struct AddGaussian<'a> {
    key: [u32; 2],
    scale: f32,
    first: u64,
    to: &'a mut [f32],
}

impl Kernel for AddGaussian<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { key, scale, first, to } = self;
        let scale = s.splat(scale);
        let mut group = first / GROUP as u64;
        let head = (first % GROUP as u64) as usize;
        let (start, rest) = to.split_at_mut(if head == 0 { 0 } else { (GROUP - head).min(to.len()) });
        add_part(s, key, scale, group, head, start);
        group += u64::from(head != 0);
        let mut whole = rest.chunks_exact_mut(GROUP);
        for part in &mut whole {
            add_group(s, key, scale, group, part);
            group += 1;
        }
        add_part(s, key, scale, group, 0, whole.into_remainder());
    }
}

/// Numbers `skip` .. of a group, as many as `to` takes.
#[inline(always)]
fn add_part<S: Simd>(s: S, key: [u32; 2], scale: S::F32, group: u64, skip: usize, to: &mut [f32]) {
    if to.is_empty() {
        return;
    }
    let mut whole = [0.0; GROUP];
    whole[skip..skip + to.len()].copy_from_slice(to);
    add_group(s, key, scale, group, &mut whole);
    to.copy_from_slice(&whole[skip..skip + to.len()]);
}

#[inline(always)]
fn add_group<S: Simd>(s: S, key: [u32; 2], scale: S::F32, group: u64, to: &mut [f32]) {
    let first = group.wrapping_mul(BLOCKS as u64);
    let (low, high) = (first as u32, (first >> 32) as u32);
    // Two vectors of blocks at a time: each round waits for the one before it, so that a single
    // vector would leave the processor idle.
    for offset in (0..BLOCKS).step_by(2 * S::LANES) {
        let offsets = [offset, offset + S::LANES];
        let counters = offsets.map(|offset| s.add_u32(s.splat_u32(low | offset as u32), s.lane_indexes()));
        let words = blocks(s, key, counters, high);
        for (half, pair) in to.chunks_exact_mut(2 * BLOCKS).zip([0, 2]) {
            let (left, right) = half.split_at_mut(BLOCKS);
            for (offset, words) in offsets.into_iter().zip(&words) {
                let (cosine, sine) = box_muller(s, words[pair], words[pair + 1]);
                let (left, right) = (&mut left[offset..], &mut right[offset..]);
                s.store(s.mul_add(scale, cosine, s.load(left)), left);
                s.store(s.mul_add(scale, sine, s.load(right)), right);
            }
        }
    }
}

/// [`Philox::block`] of two vectors of counters.
#[inline(always)]
fn blocks<S: Simd>(s: S, key: [u32; 2], low: [S::U32; 2], high: u32) -> [[S::U32; 4]; 2] {
    let mut blocks = low.map(|low| [low, s.splat_u32(high), s.splat_u32(0), s.splat_u32(0)]);
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        for block in &mut blocks {
            let [c0, c1, c2, c3] = *block;
            let (a_low, a_high) = s.mul_wide_u32(s.splat_u32(MULTIPLIERS[0]), c0);
            let (b_low, b_high) = s.mul_wide_u32(s.splat_u32(MULTIPLIERS[1]), c2);
            *block = [
                s.xor_u32(s.xor_u32(b_high, c1), s.splat_u32(k0)),
                b_low,
                s.xor_u32(s.xor_u32(a_high, c3), s.splat_u32(k1)),
                a_low,
            ];
        }
        k0 = k0.wrapping_add(KEY_STEPS[0]);
        k1 = k1.wrapping_add(KEY_STEPS[1]);
    }
    blocks
}

/// Two independent normal numbers of two uniform words (G. E. P. Box, M. E. Muller, 1958).
#[inline(always)]
fn box_muller<S: Simd>(s: S, u: S::U32, v: S::U32) -> (S::F32, S::F32) {
    let step = s.splat(1.0 / 16_777_216.0);
    // u in (0, 1], so that its logarithm is finite; v in [0, 1).
    let u = s.mul_add(s.i32_to_f32(s.shr_u32::<8>(u)), step, step);
    let v = s.mul(s.i32_to_f32(s.shr_u32::<8>(v)), step);
    let radius = s.sqrt(s.mul(ln_of_normal(s, u, s.splat(0.0)), s.splat(-2.0)));
    let (sine, cosine) = sin_cos_turns(s, v);
    (s.mul(radius, cosine), s.mul(radius, sine))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::{available, dispatch_at};

    /// From the file `kat_vectors` of the authors' Random123 library.
    #[test]
    fn the_known_answers_of_the_authors_come_out() {
        let philox = |key: [u32; 2]| Philox { key };
        assert_eq!(philox([0, 0]).block([0; 4]), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        assert_eq!(philox([u32::MAX; 2]).block([u32::MAX; 4]), [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
        assert_eq!(
            philox([0xA409_3822, 0x299F_31D0]).block([0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344]),
            [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]
        );
    }

    /// The same numbers one at a time, in double precision.
    fn gaussian(stream: &Philox, index: u64) -> f64 {
        let (group, within) = (index / 128, index % 128);
        let counter = group * 32 + within % 32;
        let words = stream.block([counter as u32, (counter >> 32) as u32, 0, 0]);
        let pair = if within < 64 { [words[0], words[1]] } else { [words[2], words[3]] };
        let [u, v] = pair.map(|w| f64::from(w >> 8) / 16_777_216.0);
        let radius = (-2.0 * (u + 1.0 / 16_777_216.0).ln()).sqrt();
        let angle = v * std::f64::consts::TAU;
        radius * if within % 64 < 32 { angle.cos() } else { angle.sin() }
    }

    #[test]
    fn every_instruction_set_gives_the_numbers_of_the_definition() {
        let stream = Philox::for_name(3, "a");
        for level in available() {
            for first in [0, 5, 128, 1000, (1 << 40) + 17] {
                let mut numbers = vec![0.0; 200];
                dispatch_at(level, AddGaussian { key: stream.key, scale: 2.0, first, to: &mut numbers });
                for (i, &x) in numbers.iter().enumerate() {
                    let right = 2.0 * gaussian(&stream, first + i as u64);
                    assert!(
                        (f64::from(x) - right).abs() < 1e-5,
                        "{level}, number {}: {x} for {right}",
                        first + i as u64
                    );
                }
            }
        }
    }

    #[test]
    fn the_numbers_are_normally_distributed() {
        let n = 1_000_000;
        let mut x = vec![0.0; n];
        Philox::for_name(1, "b").add_gaussian(1.0, 0, &mut x);
        let moment = |p: i32| x.iter().map(|&x| f64::from(x).powi(p)).sum::<f64>() / n as f64;
        // Five standard deviations of each estimate: the variance of x^p is E x^2p - (E x^p)^2.
        let bound = |variance: f64| 5.0 * (variance / n as f64).sqrt();
        assert!(moment(1).abs() < bound(1.0));
        assert!((moment(2) - 1.0).abs() < bound(2.0));
        assert!(moment(3).abs() < bound(15.0));
        assert!((moment(4) - 3.0).abs() < bound(96.0));
        let lag = x.windows(2).map(|w| f64::from(w[0]) * f64::from(w[1])).sum::<f64>() / n as f64;
        assert!(lag.abs() < bound(1.0));
        let tail = x.iter().filter(|x| x.abs() > 3.0).count() as f64 / n as f64;
        assert!((tail - 0.0027).abs() < bound(0.0027));
    }

    #[test]
    fn names_and_seeds_give_other_streams() {
        let streams = [(0, "a"), (0, "b"), (1, "a"), (0, ""), (1, "")].map(|(seed, name)| Philox::for_name(seed, name));
        for (i, a) in streams.iter().enumerate() {
            assert!(streams[..i].iter().all(|b| a != b));
        }
    }

    proptest! {
        #[test]
        fn any_part_is_the_part_of_the_whole(first in 0_u64..500, len in 0_usize..300) {
            let stream = Philox::new(99);
            let mut whole = vec![1.0; 800];
            stream.add_gaussian(0.5, 0, &mut whole);
            let mut part = vec![1.0; len];
            stream.add_gaussian(0.5, first, &mut part);
            prop_assert_eq!(&part[..], &whole[first as usize..first as usize + len]);
        }
    }
}
