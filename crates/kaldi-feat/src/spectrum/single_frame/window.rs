//! The samples of one frame in the lanes: mean subtracted, preemphasis, window.

use kaldera_base::simd::{MAX_LANES, Simd};

use crate::spectrum::frames::{EnergyOf, Framing};
use crate::spectrum::windowing::{MIN_LANES, SUMS, halved, sums_of_frame};

impl Framing {
    /// Same as [`window`](Self::window), for one frame whose samples lie in the lanes, with the
    /// same bits. Writes to `frame`, with zeros after it.
    #[inline(always)]
    pub(crate) fn window_single_frame<S: Simd>(
        &self,
        s: S,
        samples: &[f32],
        energy: EnergyOf,
        frame: &mut [f32],
    ) -> f32 {
        let samples = &samples[..self.window.len()];
        let (frame, padding) = frame.split_at_mut(samples.len());
        padding.fill(0.0);
        let mean = if self.options.remove_dc_offset {
            s.sum(sums_of_frame(s, samples)) * (1.0 / samples.len() as f32)
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
            EnergyOf::RawFrame => squares_of_frame(s, samples, mean) * (self.scale * self.scale),
            EnergyOf::WindowedFrame => squares_of_frame(s, frame, 0.0),
        }
    }
}

/// State between vectors of a frame whose samples lie in the lanes.
struct Windowed<S: Simd> {
    preemphasis: S::F32,
    /// The previous samples.
    before: S::F32,
}

impl<S: Simd> Windowed<S> {
    /// Computes the next samples, with preemphasis, windowed.
    #[inline(always)]
    fn windowed(&mut self, s: S, centred: S::F32, window: S::F32) -> S::F32 {
        let before = s.shift_in(self.before, centred);
        self.before = centred;
        s.mul(s.neg_mul_add(self.preemphasis, before, centred), window)
    }
}

/// Computes Σ (x - mean)² of one frame whose values lie in the lanes: the same bits as
/// [`sum_of_squares`].
#[inline(always)]
fn squares_of_frame<S: Simd>(s: S, frame: &[f32], mean: f32) -> f32 {
    let mut sums = [s.splat(0.0); SUMS / MIN_LANES];
    let used = SUMS / S::LANES;
    let vectors = frame.chunks_exact(S::LANES);
    // Lanes without a value add a zero, which changes no sum.
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
