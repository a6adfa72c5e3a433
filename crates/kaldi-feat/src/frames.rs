//! From samples to windowed frames in lanes.

use kaldera_base::random::Philox;
use kaldera_base::simd::{Lines, Simd};

use crate::error::Error;
use crate::window::{FrameExtractionOptions, reflect};

/// The samples of one channel, on the scale of 16-bit integers (-32768 to 32767), which is Kaldi's.
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

    /// Writes the samples from `first` on to all of `to`.
    #[inline(always)]
    fn copy<S: Simd>(&self, s: S, first: usize, to: &mut [f32]) {
        match self {
            Self::I16(samples) => {
                let from = &samples[first..first + to.len()];
                let mut from_vectors = from.chunks_exact(S::LANES);
                let mut to_vectors = to.chunks_exact_mut(S::LANES);
                for (to, from) in (&mut to_vectors).zip(&mut from_vectors) {
                    s.store(s.load_i16(from), to);
                }
                for (to, &from) in to_vectors.into_remainder().iter_mut().zip(from_vectors.remainder()) {
                    *to = f32::from(from);
                }
            }
            Self::F32(samples) => to.copy_from_slice(&samples[first..first + to.len()]),
        }
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

/// What is done to each frame, worked out once from the options.
#[derive(Debug)]
pub(crate) struct Framing {
    pub(crate) options: FrameExtractionOptions,
    window: Vec<f32>,
    pub(crate) shift: usize,
    pub(crate) padded: usize,
}

impl Framing {
    pub(crate) fn new(options: &FrameExtractionOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            window: options.window_function(),
            shift: options.window_shift(),
            padded: options.padded_window_size(),
            options: options.clone(),
        })
    }

    /// Rows that [`window`](Self::window) writes with vectors of `lanes`: it works in squares.
    fn rows(&self, lanes: usize) -> usize {
        self.padded.max(self.window.len().next_multiple_of(lanes))
    }

    /// Writes to `wave` the samples that the frames from `first_frame` to `last_frame` (inclusive) are made of: with dither,
    /// the ends mirrored, and with as many numbers behind them as reading whole vectors takes.
    #[inline(always)]
    pub(crate) fn gather<S: Simd>(
        &self,
        s: S,
        samples: Samples<'_>,
        dither: &Philox,
        first_frame: usize,
        last_frame: usize,
        wave: &mut Vec<f32>,
    ) {
        let size = self.window.len();
        let start = self.options.first_sample_of_frame(first_frame);
        let end = self.options.first_sample_of_frame(last_frame) + size.cast_signed();
        let len = (end - start).cast_unsigned();
        if wave.len() < len + S::LANES {
            wave.resize(len + S::LANES, 0.0);
        }

        let before = start.min(0).unsigned_abs();
        let after = (end - samples.len().cast_signed()).max(0).cast_unsigned();
        let first_sample = start.max(0).cast_unsigned();
        let inside = &mut wave[before..len - after];
        samples.copy(s, first_sample, inside);
        let amount = self.options.dither;
        if amount != 0.0 {
            dither.add_gaussian(amount, first_sample as u64, inside);
        }
        for i in (0..before).chain(len - after..len) {
            let at = reflect(start + i.cast_signed(), samples.len());
            wave[i] = samples.get(at);
            if amount != 0.0 {
                dither.add_gaussian(amount, at as u64, &mut wave[i..=i]);
            }
        }
    }

    /// Makes frames of `wave`, one in each lane, where frame `l` begins at `starts[l]`: rows 0 .. `padded` of `frames` are
    /// its samples, without their mean, with preemphasis, windowed, and zeros at the end. Returns Σ x² as `energy` asks.
    #[inline(always)]
    pub(crate) fn window<S: Simd>(
        &self,
        s: S,
        wave: &[f32],
        starts: &[usize],
        energy: EnergyOf,
        frames: &mut Lines,
    ) -> S::F32 {
        let size = self.window.len();
        let rows = frames.vectors(s, self.rows(S::LANES));
        let zero = s.splat(0.0);
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

        let mean = if self.options.remove_dc_offset {
            let sum = sum_of(s, frame, |sum, x| s.add(sum, x));
            s.div(sum, s.splat(size as f32))
        } else {
            zero
        };
        let raw_energy = if energy == EnergyOf::RawFrame { squares_around(s, frame, mean) } else { zero };

        let preemphasis = s.splat(self.options.preemph_coeff);
        // The first sample has itself before it.
        let mut before = s.sub(frame[0], mean);
        for (x, &w) in frame.iter_mut().zip(&self.window) {
            let centred = s.sub(*x, mean);
            *x = s.mul(s.neg_mul_add(preemphasis, before, centred), s.splat(w));
            before = centred;
        }
        if energy == EnergyOf::WindowedFrame { squares_around(s, frame, zero) } else { raw_energy }
    }
}

/// Σ (x - mean)²
#[inline(always)]
fn squares_around<S: Simd>(s: S, rows: &[S::F32], mean: S::F32) -> S::F32 {
    sum_of(s, rows, |sum, x| {
        let x = s.sub(x, mean);
        s.mul_add(x, x, sum)
    })
}

/// Adds up rows in four sums, each of every fourth row, so that no addition has to wait for the one before it.
#[inline(always)]
fn sum_of<S: Simd>(s: S, rows: &[S::F32], add: impl Fn(S::F32, S::F32) -> S::F32) -> S::F32 {
    let mut sums = [s.splat(0.0); 4];
    let (fours, rest) = rows.as_chunks::<4>();
    for four in fours {
        for (sum, &x) in sums.iter_mut().zip(four) {
            *sum = add(*sum, x);
        }
    }
    for (sum, &x) in sums.iter_mut().zip(rest) {
        *sum = add(*sum, x);
    }
    s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3]))
}
