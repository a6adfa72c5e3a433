//! Division of long recordings into parts that a network can take.

use std::ops::Range;

use kaldera_base::setters;

/// Options of cutting long recordings.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PauseOptions {
    /// Maximum length of a part, in seconds. Parts are at least half as long, except the last one.
    pub max_seconds: f32,
    /// Length of the stretch around a cut that must be the quietest, in seconds.
    pub pause_seconds: f32,
}

/// Parts of at most 30 s, cut in the quietest 0.3 s.
impl Default for PauseOptions {
    fn default() -> Self {
        Self { max_seconds: 30.0, pause_seconds: 0.3 }
    }
}

setters! {
    PauseOptions:
    max_seconds, with_max_seconds: f32, "With parts of at most this many seconds.";
    pause_seconds, with_pause_seconds: f32, "With cuts in the quietest stretch of this many seconds.";
}

/// Number of energies per second: each is a sum over 10 ms.
const STEPS_PER_SECOND: f32 = 100.0;

/// Returns the parts of a recording, cut at pauses: in the middle of the stretch with the least
/// energy in the second half of the longest possible part. A recording that is short enough is one
/// part.
///
/// ```
/// use kaldera::recognizer::{PauseOptions, cut_at_pauses};
///
/// // Two words of 4 s, and a pause of 1 s between them.
/// let samples: Vec<f32> =
///     (0..9000).map(|i| if (4000..5000).contains(&i) { 0.0 } else { 500.0 }).collect();
/// let parts = cut_at_pauses(&samples, 1000.0, &PauseOptions::default().with_max_seconds(6.0));
/// assert_eq!(parts.len(), 2);
/// assert!((4100..4900).contains(&parts[1].start) && parts[0].end == parts[1].start);
/// ```
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of samples from 1 on, which saturates"
)]
#[doc(alias = "VAD")]
pub fn cut_at_pauses(samples: &[f32], samp_freq: f32, options: &PauseOptions) -> Vec<Range<usize>> {
    let step = ((samp_freq / STEPS_PER_SECOND) as usize).max(1);
    let steps = |seconds: f32| ((seconds * STEPS_PER_SECOND) as usize).max(1);
    let (longest, pause) = (steps(options.max_seconds).max(4), steps(options.pause_seconds));
    let (mut parts, mut start) = (vec![], 0);
    while samples.len() - start > longest.saturating_mul(step) {
        let first = longest / 2;
        let window = &samples[start + first * step..start + longest * step];
        let energies: Vec<f64> =
            window.chunks(step).map(|chunk| chunk.iter().map(|&x| f64::from(x).powi(2)).sum()).collect();
        let width = pause.min(energies.len());
        let mut quietest = (f64::INFINITY, 0);
        for (at, stretch) in energies.windows(width).enumerate() {
            let energy: f64 = stretch.iter().sum();
            if energy < quietest.0 {
                quietest = (energy, at);
            }
        }
        let cut = start + (first + quietest.1 + width / 2) * step;
        parts.push(start..cut);
        start = cut;
    }
    parts.push(start..samples.len());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_and_none_is_too_long() {
        for (length, max_seconds) in [(0, 1.0), (1, 0.0), (99, 1.0), (100_000, 3.0), (100_000, 0.0), (5000, f32::NAN)] {
            let samples: Vec<f32> = (0_u16..977).cycle().map(f32::from).take(length).collect();
            let options = PauseOptions::default().with_max_seconds(max_seconds).with_pause_seconds(0.2);
            let parts = cut_at_pauses(&samples, 1000.0, &options);
            assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, length));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            let longest = parts.iter().map(Range::len).max();
            assert!(max_seconds.is_nan() || longest <= Some((max_seconds as usize * 1000).max(40)), "{longest:?}");
        }
    }
}
