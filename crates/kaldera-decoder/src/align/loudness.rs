//! From the frames of a word's peak to the time in which the word is heard.

use std::ops::Range;

use crate::result::Segment;

/// Steps of loudness per second.
const STEPS_PER_SECOND: f32 = 100.0;

/// A step is quiet if its level is below this part of the way, in dB, from the floor up to the
/// loudest step of a word. The limit is at least `ABOVE_FLOOR` above the floor and at least
/// `BELOW_TOP` below the loudest step.
const QUIET: f64 = 0.15;
const ABOVE_FLOOR: f64 = 3.0;
const BELOW_TOP: f64 = 10.0;

/// Maximum distance of the floor from the loudest step, in dB.
const DEEPEST: f64 = 60.0;

/// One in this many steps is below the floor.
const FLOOR_PART: usize = 10;

/// Numbers of steps: the reach of the floor on both sides of a word; the reach of its loudest step;
/// the shortest pause, as long as the closure of most stops; the most that a word is widened by.
const FLOOR_REACH: usize = 1000;
const TOP_REACH: usize = 30;
const PAUSE: usize = 8;
const MOST: usize = 100;

/// Loudness of an utterance over time, which gives words the times at which they are heard.
///
/// A CTC network emits most words in a few frames, their peaks, anywhere within the word. Their
/// times are too short, mostly at the end. [`widen`](Self::widen) makes a word as long as the sound
/// around its peak, by these rules:
///
/// - Loudness is the mean of the squared samples of 10 ms, in dB.
/// - The floor is the level that a tenth of the steps within 10 s of the word does not reach.
///   Digital silence does not count. The floor is at most 60 dB below the loudest step within 0.3 s
///   of the word.
/// - A word is quiet below a limit: the floor and 15 % of the way from there to its loudest step,
///   at least 3 dB above the floor and at least 10 dB below the loudest step. A pause is 80 ms or
///   more that are quiet.
/// - A word ends where the first pause after its peak begins. It begins where the last pause before
///   its peak ends. Two words without a pause between them meet in the quietest step between their
///   peaks.
/// - At most 1 s is added at either side, and nothing beyond the ends of the samples.
///
/// ```
/// use kaldera_decoder::align::Loudness;
/// use kaldera_decoder::{FrameTimes, Segment};
///
/// // A sound from 0.5 to 1.0 s in faint noise, and a peak within it.
/// let sample = |i: u32| (if (4000..8000).contains(&i) { 3000.0 } else { 3.0 })
///     * ((i * i % 71) as f32 - 35.0);
/// let mut loudness = Loudness::new(8000.0);
/// loudness.accept(&(0..16_000).map(sample).collect::<Vec<_>>());
/// let mut words = [Segment::new(1, "one", 20..21, &FrameTimes::new(0.03))];
/// loudness.widen(&mut words);
/// assert!((words[0].start - 0.5).abs() < 0.03 && (words[0].end - 1.0).abs() < 0.03);
/// assert_eq!(words[0].peak, Some(0.6..0.63));
/// ```
#[derive(Debug, Clone)]
pub struct Loudness {
    samp_freq: f32,
    /// Number of samples of a step.
    step: usize,
    /// Mean of the squared samples of each step.
    powers: Vec<f32>,
    /// Sum of the squared samples of the last, incomplete step, and the number of these samples.
    sum: f64,
    count: usize,
}

impl Loudness {
    /// Creates a `Loudness` without samples. `samp_freq` is the rate of the samples in Hz.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of samples, which saturates")]
    pub fn new(samp_freq: f32) -> Self {
        Self { samp_freq, step: ((samp_freq / STEPS_PER_SECOND) as usize).max(1), powers: vec![], sum: 0.0, count: 0 }
    }

    /// Takes more samples, on the scale of 16-bit integers.
    pub fn accept(&mut self, mut samples: &[f32]) {
        while !samples.is_empty() {
            let part = samples.split_off(..(self.step - self.count).min(samples.len())).unwrap_or_default();
            // Summed one by one, so that chunks give the same sums as the whole.
            self.sum = part.iter().fold(self.sum, |sum, &sample| sum + f64::from(sample).powi(2));
            self.count += part.len();
            if self.count == self.step {
                self.powers.push(self.mean());
                (self.sum, self.count) = (0.0, 0);
            }
        }
    }

    /// Drops the samples on which no word after `seconds` depends, and returns their duration in
    /// seconds. Later times count from there.
    #[expect(clippy::cast_precision_loss, reason = "utterances have fewer than 2^53 samples")]
    pub fn forget_before(&mut self, seconds: f64) -> f64 {
        let steps = self.steps(seconds).saturating_sub(FLOOR_REACH).min(self.powers.len());
        self.powers.drain(..steps);
        (steps * self.step) as f64 / f64::from(self.samp_freq)
    }

    /// Returns the mean of the squared samples of the last step.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a mean of a few samples")]
    fn mean(&self) -> f32 {
        (self.sum / self.count.max(1) as f64) as f32
    }

    /// Gives words the times at which they are heard; their [`peak`](Segment::peak) gets the times
    /// of their frames. Words are in the order of their times. O(steps + words).
    #[expect(clippy::cast_precision_loss, reason = "utterances have fewer than 2^53 samples")]
    pub fn widen(&self, words: &mut [Segment]) {
        let mut powers = self.powers.clone();
        if self.count > 0 {
            powers.push(self.mean());
        }
        let length = (self.powers.len() * self.step + self.count) as f64 / f64::from(self.samp_freq);
        let seconds = |at: f64| (at * self.step as f64 / f64::from(self.samp_freq)).min(length);
        let levels: Vec<f64> = powers.iter().map(|&power| 10.0 * f64::from(power).log10()).collect();
        let step_of = |seconds: f64| self.steps(seconds).min(levels.len());
        // Words that were widened before keep their peaks.
        let peak = |word: &Segment| word.peak.clone().unwrap_or(word.start..word.end);
        let peaks: Vec<Range<f64>> = words.iter().map(peak).collect();
        for (word, peak) in words.iter_mut().zip(&peaks) {
            (word.start, word.end) = (peak.start, peak.end);
        }
        let inside = peaks.iter().take_while(|peak| peak.start < length).count();
        for place in 0..=inside {
            let before = place.checked_sub(1);
            let after = Some(place).filter(|&place| place < inside);
            // Whole steps between the peaks.
            let begin = before.map_or(0, |before| step_of(peaks[before].end + 1.0 / f64::from(STEPS_PER_SECOND)));
            let end = after.map_or(levels.len(), |after| step_of(peaks[after].start));
            if begin >= end {
                continue;
            }
            let gap = &levels[begin..end];
            let quiet = |word: usize| {
                let [first, last] = [peaks[word].start, peaks[word].end].map(step_of);
                quiet_below(&levels, first..last)
            };
            let falls = before.and_then(|word| first_pause(gap.iter(), quiet(word), after.is_none()));
            let rises = after.and_then(|word| first_pause(gap.iter().rev(), quiet(word), before.is_none()));
            let rises = rises.map(|steps| gap.len() - steps);
            let (falls, rises) = match (falls, rises) {
                (Some(falls), Some(rises)) if falls <= rises => (falls as f64, rises as f64),
                // The ends of the samples.
                (falls, None) if after.is_none() => (falls.unwrap_or(gap.len()) as f64, 0.0),
                (None, rises) if before.is_none() => (0.0, rises.unwrap_or(0) as f64),
                _ => {
                    let quietest = (0..gap.len()).min_by(|&a, &b| gap[a].total_cmp(&gap[b])).unwrap_or(0);
                    (quietest as f64 + 0.5, quietest as f64 + 0.5)
                }
            };
            if let Some(word) = before {
                let heard = seconds(begin as f64 + falls.min(MOST as f64));
                words[word].end = heard.max(peaks[word].end);
            }
            if let Some(word) = after {
                let heard = seconds(begin as f64 + rises.max(gap.len() as f64 - MOST as f64));
                words[word].start = heard.min(peaks[word].start);
            }
        }
        for (word, peak) in words.iter_mut().zip(peaks) {
            word.peak = Some(peak);
        }
    }

    /// Returns the step of a time.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    #[expect(clippy::cast_precision_loss, reason = "a step has fewer than 2^53 samples")]
    fn steps(&self, seconds: f64) -> usize {
        // A little more, as times are sums of rounded values.
        (seconds * f64::from(self.samp_freq) / self.step as f64 + 1e-6) as usize
    }
}

/// Returns the level below which a word with its peak in these steps is quiet.
fn quiet_below(levels: &[f64], peak: Range<usize>) -> f64 {
    let around = |reach: usize| &levels[peak.start.saturating_sub(reach)..(peak.end + reach).min(levels.len())];
    let top = around(TOP_REACH).iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut own: Vec<f64> = around(FLOOR_REACH).iter().copied().filter(|level| level.is_finite()).collect();
    if own.is_empty() || !top.is_finite() {
        return f64::NEG_INFINITY;
    }
    let place = own.len() / FLOOR_PART;
    let floor = own.select_nth_unstable_by(place, f64::total_cmp).1.max(top - DEEPEST);
    (floor + (QUIET * (top - floor)).max(ABOVE_FLOOR)).min(top - BELOW_TOP)
}

/// Returns the number of steps before the first pause. With `cut`, a pause at the end may be short.
fn first_pause<'l>(levels: impl Iterator<Item = &'l f64>, quiet_below: f64, cut: bool) -> Option<usize> {
    let (mut begin, mut at) = (0, 0);
    for &level in levels {
        at += 1;
        if level >= quiet_below {
            begin = at;
        } else if at - begin >= PAUSE {
            return Some(begin);
        }
    }
    (cut && begin < at).then_some(begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::FrameTimes;

    /// Sounds at these times, in seconds, over noise.
    fn loudness(seconds: f64, noise: f32, sounds: &[Range<f64>]) -> Loudness {
        let samples: Vec<f32> = (0..(seconds * 8000.0) as u32)
            .map(|i| {
                let sounds = sounds.iter().any(|sound| sound.contains(&(f64::from(i) / 8000.0)));
                (if sounds { 1000.0 } else { noise }) * ((i * 7 % 71) as f32 / 35.0 - 1.0)
            })
            .collect();
        let mut whole = Loudness::new(8000.0);
        samples.chunks(777).for_each(|chunk| whole.accept(chunk));
        whole
    }

    fn widened(loudness: &Loudness, peaks: &[f64]) -> Vec<Segment> {
        let times = FrameTimes::new(0.01);
        let frame = |seconds: f64| (seconds * 100.0).round() as usize;
        let mut words: Vec<Segment> =
            peaks.iter().map(|&peak| Segment::new(1, "w", frame(peak)..frame(peak) + 3, &times)).collect();
        loudness.widen(&mut words);
        assert!(words.windows(2).all(|pair| pair[0].end <= pair[1].start), "{words:?}");
        words
    }

    #[test]
    fn words_are_as_long_as_their_sounds() {
        for noise in [0.0, 1.0, 30.0] {
            let sounds = [0.3..0.8, 1.0..1.5, 2.5..3.0];
            let words = widened(&loudness(4.0, noise, &sounds), &[0.4, 1.2, 2.9]);
            for (word, sound) in words.iter().zip(&sounds) {
                let near = |a: f64, b: f64| (a - b).abs() < 0.031;
                assert!(near(word.start, sound.start) && near(word.end, sound.end), "{noise}: {word:?} {sound:?}");
                assert!((word.peak.clone().unwrap().end - word.peak.clone().unwrap().start - 0.03).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_closure_is_no_pause_and_words_without_a_pause_meet() {
        let words = widened(&loudness(1.0, 1.0, &[0.2..0.5, 0.57..0.7]), &[0.3]);
        assert!((words[0].end - 0.7).abs() < 0.031, "{words:?}");
        let words = widened(&loudness(2.0, 1.0, &[0.3..0.8, 0.85..1.5]), &[0.4, 1.2]);
        assert!(words[0].end == words[1].start && (0.8..0.85).contains(&words[0].end), "{words:?}");
        let words = widened(&loudness(0.75, 1.0, &[0.02..0.7]), &[0.3]);
        assert!((words[0].end - 0.7).abs() < 0.031 && words[0].start < 0.031, "{words:?}");
    }

    #[test]
    fn words_grow_by_a_second_at_most_and_never_beyond_the_ends() {
        let words = widened(&loudness(9.0, 1.0, &[0.0..9.0]), &[0.5, 4.0, 8.98]);
        assert!(words[0].start == 0.0 && words[2].end <= 9.01);
        for word in &words {
            let peak = word.peak.clone().unwrap();
            assert!(peak.start - word.start <= 1.011 && word.end - peak.end <= 1.011, "{word:?}");
        }
        // Beyond the samples, or without any.
        for loudness in [loudness(0.0, 1.0, &[]), loudness(0.2, 0.0, &[])] {
            let words = widened(&loudness, &[0.5]);
            assert_eq!(words[0].start..words[0].end, words[0].peak.clone().unwrap());
        }
    }

    #[test]
    fn widened_words_stay_as_they_are() {
        let loudness = loudness(2.0, 1.0, &[0.3..0.8]);
        let mut words = widened(&loudness, &[0.5]);
        let once = words.clone();
        loudness.widen(&mut words);
        assert_eq!(words, once);
    }
}
