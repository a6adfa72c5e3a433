//! From samples to windowed frames in lanes.

use std::borrow::Cow;

use kaldera_base::random::Philox;
use kaldera_base::simd::{Kernel, Lines, MAX_LANES, Simd, dispatch};

use crate::error::Error;
use crate::window::FrameExtractionOptions;

/// The samples of one channel, on the scale of 16-bit integers (-32768 to 32767), which is Kaldi's.
///
/// Slices, vectors and arrays of `i16` and `f32` become it by reference. Channels that lie interleaved are taken apart by
/// [`Interleaved`](crate::Interleaved).
#[derive(Debug, Clone, Copy)]
pub enum Samples<'a> {
    /// As they stand in a WAV file.
    I16(&'a [i16]),
    /// The same scale, with fractions.
    F32(&'a [f32]),
}

impl Samples<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::I16(samples) => samples.len(),
            Self::F32(samples) => samples.len(),
        }
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All as `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        match self {
            Self::I16(samples) => samples.iter().map(|&x| f32::from(x)).collect(),
            Self::F32(samples) => samples.to_vec(),
        }
    }

    fn get(&self, i: usize) -> f32 {
        match self {
            Self::I16(samples) => f32::from(samples[i]),
            Self::F32(samples) => samples[i],
        }
    }

    /// Writes the first samples to all of `to`, as vectors, so that frames can read them as vectors before they are in memory.
    pub(crate) fn copy_first(&self, to: &mut [f32]) {
        dispatch(CopyFirst { samples: *self, to });
    }

    /// Writes the samples from `first` on to all of `to`.
    #[inline(always)]
    fn copy<S: Simd>(&self, s: S, first: usize, to: &mut [f32]) {
        let end = first + to.len();
        let mut vectors = to.chunks_exact_mut(S::LANES);
        match self {
            Self::I16(samples) => {
                let mut from = samples[first..end].chunks_exact(S::LANES);
                for (to, from) in (&mut vectors).zip(&mut from) {
                    s.store(s.load_i16(from), to);
                }
                for (to, &from) in vectors.into_remainder().iter_mut().zip(from.remainder()) {
                    *to = f32::from(from);
                }
            }
            Self::F32(samples) => {
                let mut from = samples[first..end].chunks_exact(S::LANES);
                for (to, from) in (&mut vectors).zip(&mut from) {
                    s.store(s.load(from), to);
                }
                vectors.into_remainder().copy_from_slice(from.remainder());
            }
        }
    }
}

struct CopyFirst<'a> {
    samples: Samples<'a>,
    to: &'a mut [f32],
}

impl Kernel for CopyFirst<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        self.samples.copy(s, 0, self.to);
    }
}

impl<'a> From<&'a [i16]> for Samples<'a> {
    fn from(samples: &'a [i16]) -> Self {
        Self::I16(samples)
    }
}

impl<'a> From<&'a [f32]> for Samples<'a> {
    fn from(samples: &'a [f32]) -> Self {
        Self::F32(samples)
    }
}

/// Of a vector and of an array, which `&samples` of these is.
macro_rules! from_owned {
    ($t:ty, $variant:ident) => {
        impl<'a> From<&'a Vec<$t>> for Samples<'a> {
            fn from(samples: &'a Vec<$t>) -> Self {
                Self::$variant(samples)
            }
        }

        impl<'a, const N: usize> From<&'a [$t; N]> for Samples<'a> {
            fn from(samples: &'a [$t; N]) -> Self {
                Self::$variant(samples)
            }
        }

        impl<'a> From<&'a Cow<'_, [$t]>> for Samples<'a> {
            fn from(samples: &'a Cow<'_, [$t]>) -> Self {
                Self::$variant(samples)
            }
        }
    };
}

from_owned!(i16, I16);
from_owned!(f32, F32);

/// The logarithm of a frame's energy, when a feature wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnergyOf {
    /// It doesn't.
    Nothing,
    /// The frame before preemphasis and window.
    RawFrame,
    /// The frame after them.
    WindowedFrame,
}

/// Samples of a signal that may have begun earlier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal<'a> {
    pub(crate) samples: Samples<'a>,
    /// The place of the first of them in the signal.
    pub(crate) first: u64,
}

impl Signal<'_> {
    /// How many samples the signal has, as far as it goes.
    fn end(&self) -> u64 {
        self.first + self.samples.len() as u64
    }
}

/// What stands where a frame sticks out of the signal, and which frames do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edges {
    /// No frame does (`snip-edges`).
    Snip,
    /// As many frames as fit shifts into the signal, rounded; the signal is mirrored, its last sample coming twice.
    Mirror,
    /// The centres of frames lie at multiples of the shift, from 0 to the end of the signal, or before it without `last`.
    Centered {
        /// Mirrored, the last sample coming once; else zeros.
        reflect: bool,
        last: bool,
    },
}

/// What is done to each frame, worked out once from the options.
#[derive(Debug)]
pub struct Framing {
    pub(crate) options: FrameExtractionOptions,
    /// Times the factor that brings samples to the scale of the options.
    window: Vec<f32>,
    /// The same, for whole vectors.
    window_lines: Lines,
    pub(crate) shift: usize,
    pub(crate) padded: usize,
    edges: Edges,
    /// The samples that a signal is cut or filled up to.
    length: Option<u64>,
    scale: f32,
}

impl Framing {
    pub(crate) fn new(options: &FrameExtractionOptions) -> Result<Self, Error> {
        options.check()?;
        let edges = if options.snip_edges { Edges::Snip } else { Edges::Mirror };
        Ok(Self::with_window(
            options.clone(),
            options.window_function(),
            options.window_shift(),
            options.padded_window_size(),
            edges,
        ))
    }

    /// Of the options only those count that say what is done to samples; `padded` is the window's length or more.
    pub(crate) fn with_window(
        options: FrameExtractionOptions,
        mut window: Vec<f32>,
        shift: usize,
        padded: usize,
        edges: Edges,
    ) -> Self {
        let scale = options.full_scale / 32768.0;
        window.iter_mut().for_each(|w| *w *= scale);
        let mut window_lines = Lines::new();
        window_lines.floats(window.len()).copy_from_slice(&window);
        Self { options, window, window_lines, shift, padded, edges, length: None, scale }
    }

    /// Samples of a frame.
    pub(crate) fn len(&self) -> usize {
        self.window.len()
    }

    /// For signals that are cut, or filled up with zeros, to `length` samples.
    pub(crate) fn with_length(self, length: u64) -> Self {
        Self { length: Some(length), ..self }
    }

    /// How many more samples count, of a signal that has `num_samples` so far.
    pub(crate) fn room_behind(&self, num_samples: u64) -> u64 {
        self.length.map_or(u64::MAX, |length| length.saturating_sub(num_samples))
    }

    /// How many frames a signal of `num_samples` samples has.
    pub(crate) fn num_frames(&self, num_samples: u64) -> u64 {
        let (size, shift) = (self.window.len() as u64, self.shift as u64);
        let num_samples = self.length.unwrap_or(num_samples);
        match self.edges {
            Edges::Snip => num_samples.checked_sub(size).map_or(0, |rest| rest / shift + 1),
            Edges::Mirror => (num_samples + shift / 2) / shift,
            Edges::Centered { .. } if num_samples == 0 => 0,
            Edges::Centered { last, .. } => num_samples / shift + u64::from(last),
        }
    }

    /// How many frames can be made when the signal has `num_samples` samples so far, and its end is not known.
    #[inline]
    pub(crate) fn num_frames_ready(&self, num_samples: u64) -> u64 {
        if (self.edges, self.length) == (Edges::Snip, None) {
            return self.num_frames(num_samples);
        }
        let first = self.first_sample(0);
        let end = first + self.window.len() as i64;
        // What is before the signal is the mirror image of as many samples, behind the first one perhaps.
        let needed = end.max(1 - first).cast_unsigned();
        let have = self.length.map_or(num_samples, |length| num_samples.min(length));
        if have < needed {
            return 0;
        }
        // A frame that is shorter than the shift may be there before it is sure that it counts.
        ((have - end.max(0).cast_unsigned()) / self.shift as u64 + 1).min(self.num_frames(have))
    }

    /// Where a frame begins, in samples from the start of the signal.
    pub(crate) fn first_sample(&self, frame: u64) -> i64 {
        let (size, shift) = (self.window.len() as i64, self.shift as i64);
        let start = frame.cast_signed() * shift;
        match self.edges {
            Edges::Snip => start,
            Edges::Mirror => start + shift / 2 - size / 2,
            Edges::Centered { .. } => start - size / 2,
        }
    }

    /// The first sample that frame `frame` and those behind it take, wherever the signal ends.
    pub(crate) fn first_needed(&self, frame: u64) -> u64 {
        // A mirror at the end may reach one sample further back than the last frame.
        u64::try_from(self.first_sample(frame) - 1).unwrap_or(0)
    }

    /// Which of `num_samples` samples stands at a position, most likely outside of them; none for a zero.
    fn source(&self, position: i64, num_samples: u64) -> Option<u64> {
        let len = num_samples.cast_signed();
        match self.edges {
            Edges::Snip | Edges::Mirror => {
                let within = position.rem_euclid(2 * len);
                Some(within.min(2 * len - 1 - within).cast_unsigned())
            }
            Edges::Centered { reflect: false, .. } => None,
            Edges::Centered { .. } if len == 1 => Some(0),
            Edges::Centered { .. } => {
                let within = position.rem_euclid(2 * (len - 1));
                Some(within.min(2 * (len - 1) - within).cast_unsigned())
            }
        }
    }

    /// Rows that [`window`](Self::window) writes with vectors of `lanes`: it works in squares.
    fn rows(&self, lanes: usize) -> usize {
        self.padded.max(self.window.len().next_multiple_of(lanes))
    }

    /// Writes to `wave`, from `at` on, the samples that the frames from the first to the last of `frames` (inclusive) are made of: with
    /// dither, the ends filled up. Gives the place behind them, where `wave` has as many numbers as reading whole vectors takes.
    #[inline(always)]
    pub(crate) fn gather<S: Simd>(
        &self,
        s: S,
        signal: Signal<'_>,
        dither: &Philox,
        frames: [u64; 2],
        wave: &mut Lines,
        at: usize,
    ) -> usize {
        s.apart(Gather { framing: self, signal, dither, frames, wave, at })
    }
}

/// [`Framing::gather`], compiled once.
struct Gather<'a> {
    framing: &'a Framing,
    signal: Signal<'a>,
    dither: &'a Philox,
    frames: [u64; 2],
    wave: &'a mut Lines,
    at: usize,
}

impl Kernel for Gather<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> usize {
        let Self { framing, signal, dither, frames: [first_frame, last_frame], wave, at } = self;
        let size = framing.window.len() as i64;
        let (start, end) = (framing.first_sample(first_frame), framing.first_sample(last_frame) + size);
        let len = (end - start) as usize;
        let behind = at + len;
        let wave = &mut wave.floats(behind + S::LANES)[at..behind];

        let have = signal.end();
        let num_samples = framing.length.unwrap_or(have);
        let have = have.min(num_samples);
        let before = (start.min(0).unsigned_abs() as usize).min(len);
        let after = ((end - have.cast_signed()).max(0) as usize).min(len - before);
        let first_sample = start.max(0).cast_unsigned();
        let inside = &mut wave[before..len - after];
        if !inside.is_empty() {
            signal.samples.copy(s, (first_sample - signal.first) as usize, inside);
        }
        let amount = framing.options.dither / framing.scale;
        if amount != 0.0 {
            dither.add_gaussian(amount, first_sample, inside);
        }
        for i in (0..before).chain(len - after..len) {
            let Some(at) = framing.source(start + i as i64, num_samples).filter(|&at| at < have) else {
                wave[i] = 0.0;
                continue;
            };
            wave[i] = signal.samples.get((at - signal.first) as usize);
            if amount != 0.0 {
                dither.add_gaussian(amount, at, &mut wave[i..=i]);
            }
        }
        behind
    }
}

impl Framing {
    /// The samples of one frame: where they lie, if no dither and no end of the signal takes a copy, which would be in `wave`.
    #[inline(always)]
    pub(crate) fn samples_of<'a, S: Simd>(
        &self,
        s: S,
        signal: Signal<'a>,
        dither: &Philox,
        frame: u64,
        wave: &'a mut Lines,
    ) -> &'a [f32] {
        if let (Samples::F32(samples), Ok(start)) = (signal.samples, u64::try_from(self.first_sample(frame))) {
            let end = start + self.len() as u64;
            if self.options.dither == 0.0 && start >= signal.first && self.length.is_none_or(|length| end <= length) {
                let at = (start - signal.first) as usize;
                if let Some(samples) = samples.get(at..at + self.len()) {
                    return samples;
                }
            }
        }
        self.gather(s, signal, dither, [frame; 2], wave, 0);
        wave.floats(self.len())
    }

    /// Makes frames of `wave`, one in each lane, where frame `l` begins at `starts[l]`: rows 0 .. `padded` of `frames` are
    /// its samples, without their mean, with preemphasis, windowed, and zeros at the end. Returns Σ x² as `energy` asks.
    #[inline(always)]
    pub(crate) fn window<S: Simd>(
        &self,
        s: S,
        wave: &mut Lines,
        starts: &[usize],
        energy: EnergyOf,
        frames: &mut Lines,
    ) -> S::F32 {
        let size = self.window.len();
        let last = starts.iter().fold(0, |last, &start| start.max(last));
        let wave = wave.floats(last + size + S::LANES);
        let rows = frames.vectors(s, self.rows(S::LANES));
        let zero = s.splat(0.0);
        let mean = if self.options.remove_dc_offset {
            // As the samples lie, so that lone frames have the same sums; and first, so that they are in the first cache.
            let mut sums = [zero; MAX_LANES];
            for (sum, &start) in sums.iter_mut().zip(starts) {
                *sum = sums_of_one(s, &wave[start..start + size]);
            }
            s.mul(s.sum_each(&sums[..S::LANES]), s.splat(1.0 / size as f32))
        } else {
            zero
        };
        for (square, first) in
            rows[..size.next_multiple_of(S::LANES)].chunks_exact_mut(S::LANES).zip((0..).step_by(S::LANES))
        {
            for (row, &start) in square.iter_mut().zip(starts) {
                *row = s.load(&wave[start + first..]);
            }
            s.transpose(square);
        }
        let (frame, padding) = rows.split_at_mut(size);
        padding.fill(zero);

        let raw_energy = if energy == EnergyOf::RawFrame {
            s.mul(sum_of_squares(s, frame, mean), s.splat(self.scale * self.scale))
        } else {
            zero
        };

        let preemphasis = s.splat(self.options.preemph_coeff);
        // The first sample has itself before it.
        let mut before = s.sub(frame[0], mean);
        for (x, &w) in frame.iter_mut().zip(&self.window) {
            let centred = s.sub(*x, mean);
            *x = s.mul(s.neg_mul_add(preemphasis, before, centred), s.splat(w));
            before = centred;
        }
        if energy == EnergyOf::WindowedFrame { sum_of_squares(s, frame, zero) } else { raw_energy }
    }

    /// As [`window`](Self::window), of one frame whose samples lie in the lanes, with the same bits: to `frame`, zeros behind it.
    #[inline(always)]
    pub(crate) fn window_one<S: Simd>(&self, s: S, samples: &[f32], energy: EnergyOf, frame: &mut [f32]) -> f32 {
        let samples = &samples[..self.window.len()];
        let (frame, padding) = frame.split_at_mut(samples.len());
        padding.fill(0.0);
        let mean = if self.options.remove_dc_offset {
            s.sum(sums_of_one(s, samples)) * (1.0 / samples.len() as f32)
        } else {
            0.0
        };
        let mean_lanes = s.splat(mean);
        // The first sample has itself before it.
        let before = s.sub(s.splat(samples[0]), mean_lanes);
        let mut next = Windowed::<S> { preemphasis: s.splat(self.options.preemph_coeff), before };
        let (whole, rest) = self.window_lines.as_vectors(s).split_at(samples.len() / S::LANES);
        let (mut from, mut to) = (samples.chunks_exact(S::LANES), frame.chunks_exact_mut(S::LANES));
        for ((from, to), &window) in (&mut from).zip(&mut to).zip(whole) {
            s.store(next.windowed(s, s.sub(s.load(from), mean_lanes), window), to);
        }
        if let (from @ [_, ..], [window, ..]) = (from.remainder(), rest) {
            let centred = s.sub(s.load_partial(from, mean_lanes), mean_lanes);
            s.store_partial(next.windowed(s, centred, *window), to.into_remainder());
        }
        match energy {
            EnergyOf::Nothing => 0.0,
            EnergyOf::RawFrame => squares_of_one(s, samples, mean) * (self.scale * self.scale),
            EnergyOf::WindowedFrame => squares_of_one(s, frame, 0.0),
        }
    }
}

/// What goes from vector to vector of a frame whose samples lie in the lanes.
struct Windowed<S: Simd> {
    preemphasis: S::F32,
    /// The samples before.
    before: S::F32,
}

impl<S: Simd> Windowed<S> {
    /// The next samples, with preemphasis, windowed.
    #[inline(always)]
    fn windowed(&mut self, s: S, centred: S::F32, window: S::F32) -> S::F32 {
        let before = s.shift_in(self.before, centred);
        self.before = centred;
        s.mul(s.neg_mul_add(self.preemphasis, before, centred), window)
    }
}

/// How many sums a frame's samples are added up in, and their squares: sum i is of every 64th sample from the i-th on, so that few additions of a single
/// frame wait for each other. Then they are added in halves, as [`Simd::sum`] adds lanes: the lanes of vectors have the same sum.
const SUMS: usize = 64;

/// The least lanes of a vector.
const MIN_LANES: usize = 8;

/// Σ (x - mean)² of the rows, a frame in each lane. Passes over some of the sums each, which fit into registers: with each the one that it is
/// added to first.
#[inline(always)]
fn sum_of_squares<S: Simd>(s: S, rows: &[S::F32], mean: S::F32) -> S::F32 {
    const SOME: usize = 4;
    let mut sums = [s.splat(0.0); SUMS];
    let (chunks, rest) = rows.as_chunks::<SUMS>();
    for first in (0..SUMS / 2).step_by(SOME) {
        let mut some = [[s.splat(0.0); SOME]; 2];
        for chunk in chunks {
            for (half, sums) in some.iter_mut().enumerate() {
                for (i, sum) in sums.iter_mut().enumerate() {
                    let x = s.sub(chunk[half * SUMS / 2 + first + i], mean);
                    *sum = s.mul_add(x, x, *sum);
                }
            }
        }
        for (half, sums) in some.iter_mut().enumerate() {
            for (sum, &x) in sums.iter_mut().zip(rest.iter().skip(half * SUMS / 2 + first)) {
                let x = s.sub(x, mean);
                *sum = s.mul_add(x, x, *sum);
            }
        }
        for i in 0..SOME {
            sums[first + i] = s.add(some[0][i], some[1][i]);
        }
    }
    halved(s, sums, SUMS / 2)
}

/// The sum of the first `len` sums, a power of 2, added in halves.
#[inline(always)]
fn halved<S: Simd, const N: usize>(s: S, mut sums: [S::F32; N], mut len: usize) -> S::F32 {
    while len > 1 {
        len /= 2;
        for i in 0..len {
            sums[i] = s.add(sums[i], sums[i + len]);
        }
    }
    sums[0]
}

/// The sums of the samples of one frame, which lie in the lanes: to be added up themselves, as [`Simd::sum`] adds lanes.
#[inline(always)]
fn sums_of_one<S: Simd>(s: S, frame: &[f32]) -> S::F32 {
    let zero = s.splat(0.0);
    let mut sums = [zero; SUMS / MIN_LANES];
    let used = SUMS / S::LANES;
    let (chunks, rest) = frame.as_chunks::<SUMS>();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk.chunks_exact(S::LANES)) {
            *sum = s.add(*sum, s.load(x));
        }
    }
    let mut vectors = rest.chunks_exact(S::LANES);
    let mut sums_of_rest = sums.iter_mut();
    for (x, sum) in (&mut vectors).zip(&mut sums_of_rest) {
        *sum = s.add(*sum, s.load(x));
    }
    if let (rest @ [_, ..], Some(sum)) = (vectors.remainder(), sums_of_rest.next()) {
        *sum = s.add(*sum, s.load_partial(rest, zero));
    }
    halved(s, sums, used)
}

/// Σ (x - mean)² of one frame whose numbers lie in the lanes: the bits of [`sum_of_squares`].
#[inline(always)]
fn squares_of_one<S: Simd>(s: S, frame: &[f32], mean: f32) -> f32 {
    let mut sums = [s.splat(0.0); SUMS / MIN_LANES];
    let used = SUMS / S::LANES;
    let vectors = frame.chunks_exact(S::LANES);
    // Lanes without a number add a zero, which changes no sum.
    let mut last = [0.0; MAX_LANES];
    for (to, &x) in last.iter_mut().zip(vectors.remainder()) {
        *to = x - mean;
    }
    let num_vectors = vectors.len();
    for (i, x) in vectors.enumerate() {
        let x = s.sub(s.load(x), s.splat(mean));
        sums[i % used] = s.mul_add(x, x, sums[i % used]);
    }
    let x = s.load(&last);
    sums[num_vectors % used] = s.mul_add(x, x, sums[num_vectors % used]);
    s.sum(halved(s, sums, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn centered(reflect: bool, last: bool) -> Framing {
        Framing::with_window(FrameExtractionOptions::default(), vec![1.0; 4], 3, 4, Edges::Centered { reflect, last })
    }

    #[test]
    fn the_ends_are_mirrored_as_often_as_it_takes() {
        let mirrored = |framing: &Framing, len, range: std::ops::Range<i64>| -> Vec<_> {
            range.map(|position| framing.source(position, len).unwrap()).collect()
        };
        let kaldi = Framing::new(&FrameExtractionOptions { snip_edges: false, ..Default::default() }).unwrap();
        assert_eq!(mirrored(&kaldi, 3, -7..8), [0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert_eq!(mirrored(&kaldi, 1, -5..-4), [0]);
        assert_eq!(mirrored(&centered(true, true), 3, -5..6), [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1]);
        assert_eq!(mirrored(&centered(true, true), 1, -2..3), [0; 5]);
        assert_eq!(centered(false, true).source(-1, 3), None);
    }

    #[test]
    fn a_frame_that_is_ready_needs_no_end() {
        for framing in [
            Framing::new(&FrameExtractionOptions::default()).unwrap(),
            Framing::new(&FrameExtractionOptions { snip_edges: false, ..Default::default() }).unwrap(),
            Framing::new(&FrameExtractionOptions { snip_edges: false, frame_shift_ms: 70.0, ..Default::default() })
                .unwrap(),
            centered(true, true),
            centered(true, false),
            centered(false, true),
        ] {
            let size = framing.window.len() as i64;
            for n in 0..3000 {
                let ready = framing.num_frames_ready(n);
                let overhang = (1 - framing.first_sample(0)).max(0).cast_unsigned();
                let count = (0..)
                    .take_while(|&f| (framing.first_sample(f) + size).cast_unsigned() <= n && overhang <= n)
                    .count() as u64;
                assert_eq!(ready, count.min(framing.num_frames(n)), "{framing:?} {n}");
                let last = framing.num_frames(n).saturating_sub(1);
                assert!(last == 0 || framing.first_needed(last) < n);
            }
        }
    }
}
