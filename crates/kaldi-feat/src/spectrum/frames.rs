//! From samples to windowed frames in lanes.

use kaldera_base::random::Philox;
use kaldera_base::simd::{Kernel, Lines, Simd};

use crate::audio::samples::Samples;
use crate::error::Error;
use crate::spectrum::window::FrameExtractionOptions;

/// The frame whose log energy a feature needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnergySource {
    /// No energy is needed.
    None,
    /// The frame before preemphasis and window.
    RawFrame,
    /// The frame after them.
    WindowedFrame,
}

/// Samples of a signal that may have begun earlier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal<'a> {
    pub(crate) samples: Samples<'a>,
    /// The index of the first of these samples in the signal.
    pub(crate) first: u64,
}

impl Signal<'_> {
    /// Returns the number of samples of the signal so far.
    fn end(&self) -> u64 {
        self.first + self.samples.len() as u64
    }
}

/// The treatment of frames that extend beyond the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edges {
    /// There are no such frames (`snip-edges`).
    Snip,
    /// As many frames as shifts fit into the signal, rounded. The signal is mirrored, with its last
    /// sample twice.
    Mirror,
    /// The centres of frames lie at multiples of the shift, from 0 to the end of the signal, or
    /// before it without `last`.
    Centered {
        /// Mirrored, with the last sample once; else zeros.
        reflect: bool,
        last: bool,
    },
    /// As `Centered`, with zeros before the signal, and only frames after which the signal goes on
    /// by at least one sample.
    Semicausal,
}

/// The processing of each frame, from the options.
#[derive(Debug)]
pub struct Framing {
    pub(crate) options: FrameExtractionOptions,
    /// The window, times the factor that brings samples to the scale of the options.
    pub(crate) window: Vec<f32>,
    pub(crate) shift: usize,
    pub(crate) padded: usize,
    edges: Edges,
    /// The number of samples to which a shorter signal is filled up with zeros.
    least: u64,
    /// The number of samples to which a longer signal is cut.
    most: u64,
    pub(crate) scale: f32,
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

    /// Creates a framing with a window. Only the options for processing samples count; `padded` is
    /// at least the window's length.
    pub(crate) fn with_window(
        options: FrameExtractionOptions,
        mut window: Vec<f32>,
        shift: usize,
        padded: usize,
        edges: Edges,
    ) -> Self {
        let scale = options.full_scale / 32768.0;
        window.iter_mut().for_each(|w| *w *= scale);
        Self { options, window, shift, padded, edges, least: 0, most: u64::MAX, scale }
    }

    /// Fills up signals with zeros to `least` samples, and cuts them to `most`, which is not
    /// smaller.
    pub(crate) fn with_lengths(self, least: u64, most: u64) -> Self {
        Self { least, most, ..self }
    }

    /// Returns the number of samples after a signal of `num_samples` is filled up or cut.
    fn num_samples(&self, num_samples: u64) -> u64 {
        num_samples.max(self.least).min(self.most)
    }

    /// Returns the number of further samples that count, of a signal that has `num_samples` so far.
    pub(crate) fn room_behind(&self, num_samples: u64) -> u64 {
        self.most.saturating_sub(num_samples)
    }

    /// Returns the number of frames in a signal of `num_samples` samples.
    pub(crate) fn num_frames(&self, num_samples: u64) -> u64 {
        let (size, shift) = (self.window.len() as u64, self.shift as u64);
        let num_samples = self.num_samples(num_samples);
        match self.edges {
            Edges::Snip => num_samples.checked_sub(size).map_or(0, |rest| rest / shift + 1),
            Edges::Mirror => (num_samples + shift / 2) / shift,
            Edges::Centered { .. } if num_samples == 0 => 0,
            Edges::Centered { last, .. } => num_samples / shift + u64::from(last),
            Edges::Semicausal => {
                let behind_centre = size - size / 2;
                num_samples.checked_sub(behind_centre + 1).map_or(0, |rest| rest / shift + 1)
            }
        }
    }

    /// Returns the number of frames that can be made when the signal has `num_samples` samples so
    /// far, and its end is not known.
    #[inline]
    pub(crate) fn num_frames_ready(&self, num_samples: u64) -> u64 {
        if matches!(self.edges, Edges::Snip | Edges::Semicausal) && self.least == 0 {
            return self.num_frames(num_samples);
        }
        let first = self.first_sample(0);
        let end = first + self.window.len() as i64;
        // The samples before the signal are the mirror image of as many samples, perhaps after the
        // first one.
        let needed = end.max(1 - first).cast_unsigned();
        let have = num_samples.min(self.most);
        if have < needed {
            return 0;
        }
        // A frame that is shorter than the shift may be there before it is certain that it counts.
        ((have - end.max(0).cast_unsigned()) / self.shift as u64 + 1).min(self.num_frames(have))
    }

    /// Returns the start of a frame, in samples from the start of the signal.
    pub(crate) fn first_sample(&self, frame: u64) -> i64 {
        let (size, shift) = (self.window.len() as i64, self.shift as i64);
        let start = frame.cast_signed() * shift;
        match self.edges {
            Edges::Snip => start,
            Edges::Mirror => start + shift / 2 - size / 2,
            Edges::Centered { .. } | Edges::Semicausal => start - size / 2,
        }
    }

    /// Returns the first sample that frame `frame` and later frames take, wherever the signal ends.
    pub(crate) fn first_needed(&self, frame: u64) -> u64 {
        // A mirror at the end may reach one sample further back than the last frame.
        u64::try_from(self.first_sample(frame) - 1).unwrap_or(0)
    }

    /// Returns the sample of `num_samples` that is at a position, most likely outside of them;
    /// `None` for a zero.
    fn source(&self, position: i64, num_samples: u64) -> Option<u64> {
        let len = num_samples.cast_signed();
        match self.edges {
            Edges::Snip | Edges::Mirror => {
                let within = position.rem_euclid(2 * len);
                Some(within.min(2 * len - 1 - within).cast_unsigned())
            }
            Edges::Centered { reflect: false, .. } | Edges::Semicausal => None,
            Edges::Centered { .. } if len == 1 => Some(0),
            Edges::Centered { .. } => {
                let within = position.rem_euclid(2 * (len - 1));
                Some(within.min(2 * (len - 1) - within).cast_unsigned())
            }
        }
    }

    /// Returns the first of `samples` samples that is not checked when they are
    /// [gathered](Self::gather) for so many frames.
    pub(crate) fn first_not_gathered(&self, frames: u64, samples: usize) -> usize {
        let size = self.window.len();
        // If frames have gaps between them, the gaps are not checked.
        if frames == 0 || self.shift > size {
            return 0;
        }
        let end = self.first_sample(frames - 1) + size as i64;
        let end = usize::try_from(end).unwrap_or(0).min(samples);
        usize::try_from(self.num_samples(samples as u64)).map_or(end, |used| end.min(used))
    }

    /// Returns the number of rows that [`window`](Self::window) writes with vectors of `lanes`: it
    /// works in squares.
    pub(crate) fn rows(&self, lanes: usize) -> usize {
        self.padded.max(self.window.len().next_multiple_of(lanes))
    }

    /// Writes the samples of the frames from the first to the last of `frames` (inclusive) to
    /// `wave`, from `at` on: with dither, and with the ends filled up. Returns the position after
    /// them, where `wave` has as many numbers as reading whole vectors needs, and `true` if all
    /// samples are finite.
    #[inline(always)]
    pub(crate) fn gather<S: Simd>(
        &self,
        s: S,
        signal: Signal<'_>,
        dither: &Philox,
        frames: [u64; 2],
        wave: &mut Lines,
        at: usize,
    ) -> (usize, bool) {
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
    type Output = (usize, bool);

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> (usize, bool) {
        let Self { framing, signal, dither, frames: [first_frame, last_frame], wave, at } = self;
        let size = framing.window.len() as i64;
        let (start, end) = (framing.first_sample(first_frame), framing.first_sample(last_frame) + size);
        let len = (end - start) as usize;
        let behind = at + len;
        let wave = &mut wave.floats(behind + S::LANES)[at..behind];

        let have = signal.end();
        let num_samples = framing.num_samples(have);
        let have = have.min(num_samples);
        let before = (start.min(0).unsigned_abs() as usize).min(len);
        let after = ((end - have.cast_signed()).max(0) as usize).min(len - before);
        let first_sample = start.max(0).cast_unsigned();
        let inside = &mut wave[before..len - after];
        let are_finite = inside.is_empty() || signal.samples.copy(s, (first_sample - signal.first) as usize, inside);
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
        (behind, are_finite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn centered(reflect: bool, last: bool) -> Framing {
        Framing::with_window(FrameExtractionOptions::default(), vec![1.0; 4], 3, 4, Edges::Centered { reflect, last })
    }

    #[test]
    fn samples_outside_the_signal_are_mirrored() {
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
    fn ready_frames_do_not_depend_on_the_end() {
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
