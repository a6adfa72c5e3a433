//! Frames in lanes: mean subtracted, preemphasis, window.

use kaldera_base::simd::{Lines, MAX_LANES, Simd};

use crate::spectrum::frames::{EnergySource, Framing};

impl Framing {
    /// Makes frames of `wave`, one in each lane; frame `l` begins at `starts[l]`. Rows 0 ..
    /// `padded` of `frames` are its samples, without their mean, with preemphasis, windowed, and
    /// zeros at the end. Returns Σ x² as `energy` asks.
    #[inline(always)]
    pub(crate) fn window<S: Simd>(
        &self,
        s: S,
        wave: &mut Lines,
        starts: &[usize],
        energy: EnergySource,
        frames: &mut Lines,
    ) -> S::F32 {
        let size = self.window.len();
        let last = starts.iter().fold(0, |last, &start| start.max(last));
        let wave = wave.floats(last + size + S::LANES);
        let rows = frames.vectors(s, self.rows(S::LANES));
        let zero = s.splat(0.0);
        let mean = if self.options.remove_dc_offset {
            // With each frame's samples in the lanes.
            let mut sums = [zero; MAX_LANES];
            for (sum, &start) in sums.iter_mut().zip(starts) {
                *sum = sums_of_frame(s, &wave[start..start + size]);
            }
            // The sum of samples that are 16-bit integers is exact; so this is Kaldi's mean.
            s.div(s.sum_each(&sums[..S::LANES]), s.splat(size as f32))
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

        let raw_energy = if energy == EnergySource::RawFrame {
            s.mul(sum_of_squares(s, frame, mean), s.splat(self.scale * self.scale))
        } else {
            zero
        };

        let preemphasis = s.splat(self.options.preemph_coeff);
        // The first sample has itself before it.
        let mut before = s.sub(frame[0], mean);
        for (x, &w) in frame.iter_mut().zip(&self.window) {
            let centred = s.sub(*x, mean);
            // Not fused, as in Kaldi: the rounding of loud samples shows in the quietest bands.
            *x = s.mul(s.sub(centred, s.mul(preemphasis, before)), s.splat(w));
            before = centred;
        }
        if energy == EnergySource::WindowedFrame { sum_of_squares(s, frame, zero) } else { raw_energy }
    }
}

/// Number of partial sums of a frame's samples, and of their squares: sum i is of every 64th sample
/// from the i-th on, so that few additions wait for each other. Then they are added in halves, as
/// [`Simd::sum`] adds lanes: vectors of any length have the same sum.
const SUMS: usize = 64;

/// The least number of lanes in a vector.
const MIN_LANES: usize = 8;

/// Computes Σ (x - mean)² of the rows, a frame in each lane. Each pass goes over some of the sums,
/// which fit into registers, each with the sum that it is added to first.
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

/// Adds the first `len` sums, a power of 2, in halves.
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

/// Returns the sums of the samples of one frame, which lie in the lanes. They are then to be added
/// up, as [`Simd::sum`] adds lanes.
#[inline(always)]
fn sums_of_frame<S: Simd>(s: S, frame: &[f32]) -> S::F32 {
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
